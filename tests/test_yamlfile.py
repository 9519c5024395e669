"""YAML files that are made to hurt: each is one line of error, soon, and what is merely unusual is read."""

from pathlib import Path

import pytest
import yaml

from scalepan.errors import InputError
from scalepan.yamlfile import DEEPEST, parse_yaml, read_yaml

NINE = "[{}]".format(",".join(["x"] * 9))


def doubling(item: str, lines: int) -> str:
    """Each line holds the one before it several times: ten lines are a billion values."""
    rows = [f"k0: &a0 {NINE}"]
    rows += [f"k{n}: &a{n} {item.format(n=n - 1)}" for n in range(1, lines)]
    return "\n".join(rows)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (doubling("[*a{n}, *a{n}, *a{n}, *a{n}]", 30), "aliases make it more than 1,000,000 values"),
        (doubling("{{p: *a{n}, q: *a{n}}}", 40), "aliases make it more than 1,000,000 values"),
        ("k0: &a0 {x: 1}\n" + doubling("{{<<: [*a{n}, *a{n}, *a{n}]}}", 40)[len("k0: &a0 " + NINE) + 1 :], "aliases"),
        (doubling("[*a{n}]", DEEPEST + 5), "more than 100 deep"),
        ("[" * 100_000 + "]" * 100_000, "is nested more than 100 deep"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "is nested more than 100 deep"),
        ("- " * 5_000 + "x", "is nested more than 100 deep"),
        ("".join(f"{' ' * n}a:\n" for n in range(300)), "is nested more than 100 deep"),
        ("a: &a {b: *a}", "an anchor refers to itself"),
        ("a: &a [[*a]]", "an anchor refers to itself"),
        ("!!python/object/apply:os.system [id]", "could not determine a constructor"),
        ("a: " + "9" * 5_000, "not YAML"),
    ],
)
def test_what_would_hang_or_crash_is_one_line(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(InputError, match=problem) as caught:
        read_yaml(tmp_path / "x.yaml")
    assert len(str(caught.value)) < 300


def test_aliases_are_fine_where_they_are_few() -> None:
    assert parse_yaml("a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: [*a, *a]") == {
        "a": {"x": 1},
        "b": {"x": 1, "y": 2},
        "c": [{"x": 1}, {"x": 1}],
    }


def test_brackets_in_text_are_not_depth() -> None:
    text = "patterns: ['" + "[(" * 500 + "']\nprose: >\n  " + "{ " * 500
    assert len(parse_yaml(text)["patterns"][0]) == 1000


def test_as_deep_as_it_may_be() -> None:
    assert parse_yaml("[" * DEEPEST + "]" * DEEPEST)
    with pytest.raises(yaml.YAMLError):
        parse_yaml("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1))


def test_nothing_is_nothing() -> None:
    assert parse_yaml("") is None
    assert parse_yaml("# nothing\n") is None
