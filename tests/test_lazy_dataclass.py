"""Dataclasses that are compiled late against those of the standard library."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pytest

import planner
from planner import lazy_dataclass

Maker = Callable[..., Any]


def _plain(dataclass: Maker) -> type:
    @dataclass
    class Thing:
        """A thing."""

        kind: ClassVar[str] = "no field"
        a: int
        b: str = "b"
        c: list[int] = field(default_factory=list)

        def __post_init__(self) -> None:
            self.c = [*self.c, self.a]

    return Thing


def _frozen(dataclass: Maker) -> type:
    @dataclass(frozen=True)
    class Thing:
        """A thing."""

        a: int
        b: float = 1.5
        c: tuple[int, ...] = field(default_factory=tuple, compare=False)
        d: str = field(default="x", repr=False)

        @cached_property
        def double(self) -> int:
            return 2 * self.a

    return Thing


def _identical(dataclass: Maker) -> type:
    @dataclass(frozen=True, eq=False)
    class Thing:
        """Equal to itself alone."""

        a: object

    return Thing


def _inherits(dataclass: Maker) -> type:
    @dataclass(frozen=True)
    class Base:
        """Below."""

        a: int
        b: int = 2

    @dataclass(frozen=True)
    class Thing(Base):
        """Above."""

        b: int = 3
        c: dict[str, int] = field(default_factory=dict, hash=False)

    return Thing


def _own(dataclass: Maker) -> type:
    @dataclass(frozen=True)
    class Thing:
        """Says itself how it reads and hashes, and takes no b."""

        a: int
        b: int = field(default=7, init=False)

        def __repr__(self) -> str:
            return f"<{self.a}>"

        def __hash__(self) -> int:
            return 11

    return Thing


def _equals(dataclass: Maker) -> type:
    @dataclass(frozen=True)
    class Thing:
        """Says itself what is equal: its hash is that of its fields."""

        a: int

        def __eq__(self, other: object) -> bool:
            return True

    return Thing


def _empty(dataclass: Maker) -> type:
    @dataclass(frozen=True)
    class Thing:
        """Has nothing."""

    return Thing


SHAPES = (_plain, _frozen, _identical, _inherits, _own, _equals, _empty)
NAN = float("nan")
CALLS: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    ((), {}),
    ((1,), {}),
    ((NAN,), {}),
    ((1, 2), {}),
    ((1,), {"b": 2}),
    ((), {"a": 1}),
    ((1,), {"c": {3: 4}}),
    ((1, 2, 3, 4, 5), {}),
    ((1,), {"nothing": 2}),
    (([],), {}),
)


def _outcome(ask: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Return what comes of it: a value, or the kind of error and what it says."""
    try:
        return ask(*given, **named)
    except (TypeError, AttributeError) as error:
        return type(error), str(error)


def _assign(thing: Any, name: str) -> None:
    setattr(thing, name, 9)


def _delete(thing: Any, name: str) -> None:
    delattr(thing, name)


@pytest.mark.parametrize("shape", SHAPES)
def test_it_does_what_the_standard_one_does(shape: Callable[[Maker], type]) -> None:
    standard, lazy = shape(dataclasses.dataclass), shape(lazy_dataclass._lazily)
    made = []
    for given, named in CALLS:
        first, second = (_outcome(kind, *given, **named) for kind in (standard, lazy))
        assert isinstance(first, tuple) == isinstance(second, tuple)
        if isinstance(first, tuple):
            assert first == second
            continue
        made.append((first, second))
        assert repr(first) == repr(second)
        by_identity = [getattr(each, "__hash__") is object.__hash__ for each in (standard, lazy)]  # noqa: B009
        assert by_identity[0] == by_identity[1]
        assert by_identity[0] or _outcome(hash, first) == _outcome(hash, second)
        assert first.__dict__ == second.__dict__
        changed = [k(*given, **named) for k in (standard, lazy)]
        for name in ("a", "other"):
            for change in (_assign, _delete):
                results = [_outcome(change, thing, name) for thing in changed]
                assert results[0] == results[1]
                assert changed[0].__dict__ == changed[1].__dict__
    assert made
    for i, (first, second) in enumerate(made):
        for j, (third, fourth) in enumerate(made):
            assert (first == third) == (second == fourth), (i, j)
    assert (made[0][1] == 5) == (made[0][0] == 5)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_asks_for_fields_and_signatures_is_told(shape: Callable[[Maker], type]) -> None:
    standard, lazy = shape(dataclasses.dataclass), shape(lazy_dataclass._lazily)
    told = [
        [(f.name, f.type, f.init, f.repr, f.compare, f.hash) for f in dataclasses.fields(kind)]
        for kind in (standard, lazy)
    ]
    assert told[0] == told[1]
    assert getattr(lazy, "__match_args__", ()) == getattr(standard, "__match_args__", ())
    signatures = [inspect.signature(kind) for kind in (standard, lazy)]
    assert [*signatures[0].parameters] == [*signatures[1].parameters]
    for one, other in zip(*(s.parameters.values() for s in signatures), strict=True):
        assert one.annotation == other.annotation and one.kind == other.kind
        assert (one.default is one.empty) == (other.default is other.empty)


def test_nothing_is_compiled_before_it_is_asked_for() -> None:
    kind = _frozen(lazy_dataclass._lazily)
    waiting = [name for name, value in vars(kind).items() if type(value).__name__ == "_Uncompiled"]
    assert sorted(waiting) == ["__eq__", "__hash__", "__init__", "__repr__"]
    assert kind(1) == kind(1) and kind(1).double == 2
    assert sorted(
        name for name, value in vars(kind).items() if type(value).__name__ == "_Uncompiled"
    ) == ["__hash__", "__repr__"]


@lazy_dataclass.dataclass(frozen=True)
class Carried:
    """Goes from one process to another."""

    a: int
    b: tuple[str, ...] = ()


class Below(Carried):
    """A class of its own, which is no dataclass, under one."""


def test_they_are_carried_copied_and_replaced() -> None:
    """A copy that is made without `__init__` compares, too: the class may never have been made."""
    one = Carried(1, ("x",))
    assert pickle.loads(pickle.dumps(one)) == one == copy.copy(one) == copy.deepcopy(one)
    assert dataclasses.replace(one, a=2) == Carried(2, ("x",))
    unmade: Any = _frozen(lazy_dataclass._lazily)
    first, second = (object.__new__(unmade) for _ in range(2))
    for each in (first, second):
        each.__dict__.update(a=1, b=2.0, c=(), d="")
    assert first == second and hash(first) == hash(second)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
        first.a = 2


def test_a_plain_class_below_one_is_made_as_it_is() -> None:
    below = Below(3)
    assert below == Below(3) and below != Carried(3) and repr(below) == "Below(a=3, b=())"
    below.other = 5  # type: ignore[attr-defined]
    with pytest.raises(FrozenInstanceError):
        below.a = 4  # type: ignore[misc]


def test_what_it_does_not_know_is_used_nowhere() -> None:
    """Fields by keyword alone and values for `__post_init__` alone are not written here."""
    unknown = {"InitVar", "KW_ONLY", "kw_only"}
    for path in Path(planner.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            name = getattr(node, "id", None) or getattr(node, "arg", None)
            assert name not in unknown, path
