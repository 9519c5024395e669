"""check: every fault of some data, each with its path, its value and what is legal."""

from typing import Annotated, Any, Literal

import msgspec
import pytest

from scalepan.check import in_order, problems

Color = Literal["red", "green", "blue"]


class Leaf(msgspec.Struct, forbid_unknown_fields=True):
    color: Annotated[Color, in_order(Color)]
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    count: Annotated[int, msgspec.Meta(gt=0)] | None = None
    on: bool = True

    def __post_init__(self) -> None:
        if self.color == "blue" and not self.on:
            raise ValueError("blue is always on")


class Tree(msgspec.Struct):
    leaves: Annotated[list[Leaf], msgspec.Meta(min_length=1)]
    name: Annotated[str, msgspec.Meta(pattern="^tree:")] = "tree:"
    by_name: dict[str, Leaf] = {}
    tags: str | list[str] | None = None


def tree(**leaf: Any) -> dict[str, Any]:
    return {"leaves": [{"color": "red"}, {"color": "red", **leaf}]}


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (tree(color="pink"), "leaves[1].color: 'pink' is not one of red, green, blue"),
        (tree(share=1.7), "leaves[1].share: 1.7 is not between 0 and 1"),
        (tree(share=float("nan")), "leaves[1].share: nan is not a finite number"),
        (tree(share=True), "leaves[1].share: true is not a number"),
        (tree(share="high"), "leaves[1].share: 'high' is not a number"),
        (tree(count=0), "leaves[1].count: 0 is not more than 0"),
        (tree(count=1.5), "leaves[1].count: 1.5 is not a whole number"),
        (tree(on="yes"), "leaves[1].on: 'yes' is not true or false"),
        (tree(colour="red"), "leaves[1].colour: unknown key; did you mean 'color'?"),
        (tree(color="blue", on=False), "leaves[1]: blue is always on"),
        ({"leaves": [{}]}, "leaves[0].color: is missing"),
        ({"leaves": []}, "leaves: is empty; at least one is needed"),
        ({"leaves": "red"}, "leaves: 'red' is not a list"),
        ({"leaves": [3]}, "leaves[0]: 3 is not an object"),
        ({**tree(), "name": "bush"}, "name: 'bush' does not start with 'tree:'"),
        ({**tree(), "by_name": {"a": {"color": 1}}}, "by_name.a.color: 1 is not one of red, green, blue"),
        ({**tree(), "tags": ["x", 3]}, "tags[1]: 3 is not text"),
        ([], "a list is not an object"),
    ],
)
def test_a_fault_has_a_path_a_value_and_what_is_legal(data: object, fault: str) -> None:
    assert [str(problem) for problem in problems(data, Tree)] == [fault]


@pytest.mark.parametrize(
    "data", [tree(), tree(color="blue", count=3), {**tree(), "tags": "x"}, {**tree(), "tags": None}]
)
def test_what_fits_has_no_fault(data: object) -> None:
    assert problems(data, Tree) == []


def test_every_fault_is_found() -> None:
    faults = problems({"leaves": [{"color": "pink"}, {"color": "red", "share": 2}], "name": 4}, Tree)
    assert [fault.path for fault in faults] == ["leaves[0].color", "leaves[1].share", "name"]
