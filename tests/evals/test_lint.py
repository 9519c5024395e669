"""lint: what in a golden case can never fail, never pass, or contradicts itself."""

from typing import Any

import msgspec
import pytest

from scalepan.evals import Case, Evaluator, lint
from scalepan.policy import Policy

POLICY = Policy()


def case(operation: dict[str, Any] | None = None, **changes: Any) -> Case:
    """A sound case with one operation, changed."""
    return msgspec.convert(
        {
            "id": "c",
            "pages": [{"id": "p", "blocks": [{"id": "a", "content": "one"}, {"id": "b", "content": "two"}]}],
            "expected": {
                "operations": [
                    {
                        "pageId": "p",
                        "operations": [
                            {"type": "replace", "targetBlockId": "a", "expectedContentPatterns": ["three|3"]}
                            | (operation or {})
                        ],
                    }
                ],
                "totalSuccessCount": 1,
            },
        }
        | changes,
        Case,
    )


def kinds(tried: Case) -> list[str]:
    return [finding.kind for finding in lint(tried, Evaluator(None, POLICY).bound_for(tried), POLICY.evals)]


def test_a_sound_case_has_no_finding() -> None:
    assert kinds(case()) == []
    assert kinds(case({"targetIndex": 0})) == []


@pytest.mark.parametrize(
    ("operation", "kind", "words"),
    [
        ({"expectedContentPatterns": ["x*"]}, "never-fails", "matches the empty text"),
        ({"expectedContentPatterns": ["^完全に一致するテキスト$"]}, "full-match-only", "matches only a whole page"),
        ({"expectedContentPatterns": ["^cost 5 yen$"]}, "full-match-only", "matches only a whole page"),
        ({"targetBlockId": "z"}, "never-passes", "'z' is not a block of page 'p'"),
        ({"targetBlockId": None, "targetIndex": 7}, "never-passes", "7 is out of range: the page has 2 blocks"),
        ({"targetBlockId": None}, "never-passes", "neither targetBlockId nor targetIndex"),
        ({"targetIndex": 1}, "id-and-index-disagree", "'a' is not the block at 1, which is 'b'"),
    ],
)
def test_faults_of_an_operation(operation: dict[str, Any], kind: str, words: str) -> None:
    (finding,) = lint(case(operation), [], POLICY.evals)
    assert finding.kind == kind
    assert words in finding.message
    assert finding.path.startswith("expected.operations[0].operations[0]")


@pytest.mark.parametrize("pattern", ["^.*要約.*$", "^要約|まとめ$", r"^cost 5\$", "^[Ss]ummary$"])
def test_patterns_with_anchors_that_are_fine(pattern: str) -> None:
    assert kinds(case({"expectedContentPatterns": [pattern]})) == []


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"scorers": [{"type": "exact"}]}, "never-passes"),
        ({"scorers": [{"type": "contains"}], "expected": {"output": ""}}, "never-fails"),
        ({"scorers": [{"type": "regex"}], "expected": {"output": "("}}, "never-passes"),
        ({"scorers": [{"type": "content-quality", "threshold": 0}]}, "never-fails"),
        ({"pages": [{"id": "p", "blocks": [{"id": "a"}, {"id": "a"}]}]}, "duplicate-id"),
        ({"pages": [{"id": "p", "blocks": [{"id": "a"}]}] * 2}, "duplicate-id"),
        ({"pages": []}, "never-passes"),
    ],
)
def test_faults_of_scorers_and_pages(changes: dict[str, Any], kind: str) -> None:
    assert kinds(case(**changes)) == [kind]


def test_a_count_that_disagrees() -> None:
    tried = case()
    wrong = msgspec.structs.replace(tried, expected=msgspec.structs.replace(tried.expected, total_success_count=2))
    assert kinds(wrong) == ["count-disagrees"]


@pytest.mark.parametrize(
    ("scorer", "found"),
    [
        ({"type": "content-quality"}, []),  # only what was generated is searched (contract evals.17)
        ({"type": "content-quality", "scope": "page"}, ["never-fails"]),
        ({"type": "operation-result"}, ["never-fails"]),
    ],
)
def test_what_stands_on_the_page_before_is_found_in_the_whole_page_only(
    scorer: dict[str, Any], found: list[str]
) -> None:
    assert kinds(case({"expectedContentPatterns": ["two"]}, scorers=[scorer])) == found


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"pages": [], "expected": {}}, ["nothing-measured"]),
        ({"pages": [], "expected": {"operations": [], "totalSuccessCount": 0}}, ["nothing-measured"]),
        ({"pages": [], "expected": {"output": "Paris"}}, []),
        (
            {"pages": [], "expected": {"output": "Paris"}, "scorers": [{"type": "operation-accuracy"}]},
            ["nothing-measured"],
        ),
        ({"expected": {"operations": []}, "scorers": [{"type": "content-quality"}]}, ["nothing-measured"]),
        ({"expected": {"operations": []}}, []),  # a case in which nothing is to be changed
        ({"pages": [], "expected": {"contains": ["", ""]}}, ["never-fails"]),
        ({"pages": [], "expected": {"matches": "x*"}}, ["never-fails"]),
    ],
)
def test_a_case_in_which_nothing_is_measured_is_told(changes: dict[str, Any], found: list[str]) -> None:
    """Contract evals.31: a case in which nothing was measured has not passed; lint says so."""
    assert kinds(case(**changes)) == found
