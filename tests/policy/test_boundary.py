"""Who may read what: deny over redact over allow, and no layer opens what one above it shut."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.errors import BoundaryError, PolicyError
from scalepan.memory.recall.boundary import check_invariants, effect, reach
from scalepan.policy import Layer, Policy, resolve
from scalepan.policy.boundary import CLASSES, SCOPES, Access, Boundary, covers
from scalepan.policy.invariants import holds
from scalepan.store.request import Who

PURPOSES = ["answer:task", "answer:chat", "tool:mail", "tool:contact-lookup", "tool:", "x"]
PATTERNS = ["*", "tool:*", "answer:*", "tool:contact*", *PURPOSES]
MILDNESS = {"deny": 0, "redact": 1, "allow": 2}


@pytest.mark.parametrize(
    ("boundary_class", "purpose", "expected"),
    [
        ("public", "answer:task", "allow"),
        ("public", "anything at all", "allow"),
        ("internal", "answer:task", "allow"),
        ("internal", "tool:mail", "allow"),
        ("internal", "answer:chat", "deny"),
        ("internal", "tool", "deny"),  # tool:* begins with the colon
        ("pii", "tool:contact-lookup", "redact"),
        ("pii", "tool:contact-lookups", "deny"),
        ("pii", "tool:mail", "deny"),
        ("pii", "answer:task", "deny"),
        ("secret", "answer:task", "deny"),
        ("secret", "tool:contact-lookup", "deny"),
        ("unheard-of", "answer:task", "deny"),
    ],
)
def test_the_defaults_of_the_notes(boundary_class: str, purpose: str, expected: str) -> None:
    assert effect(Boundary(), boundary_class, [purpose]) == expected


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        (Access(), "deny"),  # nobody mentions it
        (Access(allow=["tool:mail"]), "allow"),
        (Access(allow=["tool:mail"], redact=["tool:mail"]), "redact"),
        (Access(allow=["tool:mail"], redact=["tool:mail"], deny=["tool:mail"]), "deny"),
        # However narrow the grant and however wide the denial.
        (Access(allow=["tool:mail"], deny=["*"]), "deny"),
        (Access(allow=["tool:mail"], redact=["tool:*"]), "redact"),
        (Access(allow=["*"], deny=["tool:*"]), "deny"),
        (Access(allow=["tool:mai"]), "deny"),
        (Access(allow=["TOOL:MAIL"]), "deny"),
        (Access(allow=["t*l:mail"]), "deny"),  # a star counts at the end only
        (Access(allow=[""]), "deny"),
    ],
)
def test_deny_over_redact_over_allow(access: Access, expected: str) -> None:
    assert access.effect("tool:mail") == expected


@pytest.mark.parametrize(
    ("purposes", "expected"),
    [
        (["a"], "allow"),
        (["b"], "redact"),
        (["c"], "deny"),
        (["a", "b"], "redact"),
        (["a", "c"], "deny"),
        (["b", "a", "c"], "deny"),
        (["a", "unmentioned"], "allow"),
        (["unmentioned"], "deny"),
        ([], "deny"),
    ],
)
def test_several_purposes_get_what_the_strictest_word_about_them_says(purposes: list[str], expected: str) -> None:
    policy = Boundary(classes={"internal": Access(allow=["a"], redact=["b"], deny=["c"])})
    assert effect(policy, "internal", purposes) == expected


def test_a_class_that_the_policy_does_not_name_is_shut() -> None:
    policy = Boundary(classes={"public": Access(allow=["*"])})
    assert reach(Who(), "search", policy).classes == ("public",)


def test_the_reach_holds_what_is_open_and_what_is_cut() -> None:
    found = reach(Who("acme", "web", "s1", ("tool:contact-lookup",)), "search", Boundary(), ["session", "project"])
    open_, cut = ("public", "internal", "pii"), frozenset({"pii"})
    assert found == ("acme", "web", "s1", ("session", "project"), open_, cut, (), None, None)


def test_a_scope_that_the_policy_shuts_cannot_be_asked_for() -> None:
    assert reach(Who(), "search", Boundary(scopes=["project"]), ["session", "principle"]).scopes == ()
    assert reach(Who(), "search", Boundary(scopes=["project"])).scopes == ("project",)


def test_patterns_cover_by_prefix() -> None:
    for pattern, purpose in product(PATTERNS, PURPOSES):
        expected = purpose.startswith(pattern.removesuffix("*")) if pattern.endswith("*") else pattern == purpose
        assert covers(pattern, purpose) is expected


# Layers: the file may relax, everybody above it only tightens.

patterns = st.lists(st.sampled_from(PATTERNS), max_size=3)
accesses = st.fixed_dictionaries({}, optional={"allow": patterns, "redact": patterns, "deny": patterns})
RULES = ["true", "false", "actor == 'ann'", "facts.level > 2", "actor == 'ann' || facts.level > 2", "!facts.draft"]
boundaries = st.fixed_dictionaries(
    {},
    optional={
        "classes": st.dictionaries(st.sampled_from(CLASSES), accesses, max_size=4),
        "scopes": st.lists(st.sampled_from(SCOPES), max_size=3, unique=True),
        "invariants": st.dictionaries(st.sampled_from(["one", "two"]), st.sampled_from(RULES), max_size=2),
    },
)


def layered(file: dict[str, Any], *lower: dict[str, Any]) -> Boundary:
    layers = [Layer("file", {"boundary": file}, source="named")]
    layers += [Layer(f"layer {i}", {"boundary": values}) for i, values in enumerate(lower)]
    return resolve(layers).boundary


def allowed(policy: Boundary, facts: dict[str, Any]) -> bool:
    try:
        return all(holds(rule, facts) for rule in policy.invariants.values())
    except ValueError:
        return False


FACTS: list[dict[str, Any]] = [
    {},
    {"actor": "ann"},
    {"facts.level": 3},
    {"actor": "bob", "facts.level": 1, "facts.draft": True},
]


@given(boundaries, st.lists(boundaries, min_size=1, max_size=3))
def test_a_lower_layer_never_opens_what_a_higher_one_shuts(file: dict[str, Any], lower: list[dict[str, Any]]) -> None:
    before = layered(file)
    for count in range(1, len(lower) + 1):
        after = layered(file, *lower[:count])
        for boundary_class, purpose in product(CLASSES, PURPOSES):
            upper, now = (effect(policy, boundary_class, [purpose]) for policy in (before, after))
            assert MILDNESS[now] <= MILDNESS[upper], (boundary_class, purpose)
        assert set(after.scopes) <= set(before.scopes)
        for facts in FACTS:
            assert allowed(before, facts) or not allowed(after, facts)
        before = after


@given(boundaries, boundaries)
def test_what_a_lower_layer_denies_or_redacts_it_does(file: dict[str, Any], lower: dict[str, Any]) -> None:
    before, after = layered(file), layered(file, lower)
    for boundary_class, access in lower.get("classes", {}).items():
        for purpose in PURPOSES:
            now = effect(after, boundary_class, [purpose])
            if any(covers(pattern, purpose) for pattern in access.get("deny", [])):
                assert now == "deny"
            elif any(covers(pattern, purpose) for pattern in access.get("redact", [])):
                assert now != "allow"
            # And it takes nothing away that it does not speak of.
            elif access.keys().isdisjoint({"allow", "redact", "deny"}):
                assert now == effect(before, boundary_class, [purpose])


@given(boundaries)
def test_tightening_twice_by_the_same_changes_nothing_more(lower: dict[str, Any]) -> None:
    once, twice = layered({}, lower), layered({}, lower, lower)
    for boundary_class, purpose in product(CLASSES, PURPOSES):
        assert effect(once, boundary_class, [purpose]) == effect(twice, boundary_class, [purpose])
    assert once.scopes == twice.scopes


def test_the_file_may_relax_and_a_layer_above_it_may_not() -> None:
    wide = {"classes": {"secret": {"allow": ["*"]}}}
    assert effect(layered(wide), "secret", ["x"]) == "allow"
    assert effect(layered({}, wide), "secret", ["x"]) == "deny"


@pytest.mark.parametrize(
    "injected",
    [
        "true) || (true",
        "true ) || ( true",
        "true) || true || (true",
        "x) || !(x",
    ],
)
def test_a_lower_layer_cannot_break_out_of_a_higher_rule(injected: str) -> None:
    """Two rules of one name are joined by &&: a text that is no rule alone must not become one by the joining."""
    file = {"invariants": {"no_forget": "action != 'forget'"}}
    try:
        policy = layered(file, {"invariants": {"no_forget": injected}})
    except PolicyError as error:
        assert "no_forget" in str(error)  # noqa: PT017 - refusing it is as good
    else:
        with pytest.raises(BoundaryError):
            check_invariants(Who(), "forget", policy)


@pytest.mark.parametrize(
    ("file", "lower"),
    [
        ({"classes": 5}, {"classes": {"pii": {"deny": ["x"]}}}),
        ({"classes": {"pii": {"allow": 5}}}, {"classes": {"pii": {"allow": ["x"]}}}),
        ({"classes": {"pii": {"deny": "x"}}}, {"classes": {"pii": {"deny": ["y"]}}}),
        ({"scopes": 5}, {"scopes": ["project"]}),
        ({"scopes": [["project"]]}, {"scopes": ["project"]}),
        ({"invariants": ["true"]}, {"invariants": {"one": "true"}}),
        ({"invariants": {"one": 5}}, {"invariants": {"one": "true"}}),
        ({}, {"classes": None}),
        ({}, {"classes": {"pii": None}}),
        ({}, {"classes": {"pii": {"allow": "x"}}}),
        ({}, {"classes": {"pii": {"alow": ["x"]}}}),
        ({}, {"classes": {"privat": {"allow": ["x"]}}}),
        ({}, {"scopes": None}),
        ({}, {"scopes": "project"}),
        ({}, {"scopes": ["projekt"]}),
        ({}, {"scopes": [{"project": 1}]}),
        ({}, {"invariants": None}),
        ({}, {"invariants": {"one": None}}),
        ({}, {"invariants": {"one": "action =="}}),
        ({}, {"clases": {}}),
    ],
)
def test_what_has_the_wrong_shape_is_named_and_never_lets_anybody_in(
    file: dict[str, Any], lower: dict[str, Any]
) -> None:
    with pytest.raises(PolicyError, match="boundary"):
        layered(file, lower)


# Invariants: all must hold, and one that cannot be evaluated does not.


@pytest.mark.parametrize(
    ("rule", "facts", "problem"),
    [
        ("action == 'search'", {}, None),
        ("action != 'search'", {}, "invariant 'rule' forbids to search: action != 'search'"),
        ("tenant == 'acme' && project == 'web' && session == null", {}, None),
        ("'answer:task' in purposes", {}, None),
        ("actor == 'ann'", {}, None),
        ("facts.mfa", {"mfa": True}, None),
        ("facts.mfa", {"mfa": False}, "forbids"),
        ("facts.mfa", {"mfa": "yes"}, "cannot be evaluated"),
        ("facts.level > 2", {}, "cannot be evaluated"),
        ("facts.level > 2", {"level": 3}, None),
        ("facts.level > 2", {"level": "3"}, "cannot be evaluated"),
        ("'x' in facts.groups", {}, "cannot be evaluated"),
        # What the request does not supply denies, whatever is said of it; only null can be asked for.
        ("facts.mfa", {}, "cannot be evaluated.*'facts.mfa' is not known"),
        ("!facts.guest", {}, "cannot be evaluated"),
        ("facts.guest == false", {}, "cannot be evaluated"),
        ("facts.role != 'guest'", {}, "cannot be evaluated"),
        ("session != 's1'", {}, "cannot be evaluated.*'session' is not known"),
        ("session == null || session != 's1'", {}, None),
        ("facts.mfa != null && facts.mfa", {}, "forbids"),
        # A rule over claims that the request alone decides.
        ("action == 'search' || claim.kind == 'fact'", {}, None),
        ("action == 'forget' && claim.kind == 'fact'", {}, "forbids"),
        ("facts.mfa || claim.kind == 'fact'", {}, "cannot be evaluated"),
        # What the request says of itself is not the caller's to rename.
        ("action == 'search'", {"action": "forget"}, None),
        ("tenant == 'evil'", {"tenant": "evil"}, "forbids"),
        ("actor == 'root'", {"actor": "root"}, "forbids"),
        ("'admin' in purposes", {"purposes": ["admin"]}, "forbids"),
    ],
)
def test_invariants_of_a_request(rule: str, facts: dict[str, Any], problem: str | None) -> None:
    who, policy = Who("acme", "web", actor="ann", facts=facts), Boundary(invariants={"rule": rule})
    if problem is None:
        check_invariants(who, "search", policy)
        assert reach(who, "search", policy).tenant == "acme"
    else:
        with pytest.raises(BoundaryError, match=problem):
            reach(who, "search", policy)


def test_all_invariants_must_hold() -> None:
    policy = Boundary(invariants={"first": "true", "second": "false"})
    with pytest.raises(BoundaryError, match="'second'"):
        check_invariants(Who(), "add", policy)


def test_the_version_of_the_section_follows_its_content() -> None:
    shut = Policy(boundary=Boundary(classes={}))
    assert shut.version("boundary") != Policy().version("boundary")
    assert shut.version("retrieval") == Policy().version("retrieval")
