"""Dataclasses whose methods are compiled when they are first needed.

The standard library writes and compiles up to seven methods of every dataclass while its module is
imported, 0.4 ms a class: of the 300 that a command imports that would be a sixth of its time, and
half of them are never made. Here a class gets its fields at once; `__init__`, `__repr__`, `__eq__`
and `__hash__` are compiled when one is first asked for. They do what the standard ones do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

AnyClass = TypeVar("AnyClass", bound=type)

_UNGIVEN = dataclasses.MISSING
_Named = dict[str, object]
"""What the text of a method calls by name: defaults, and where they are made."""


def _init(kind: type, names: _Named) -> Iterator[str]:
    """Write the method that takes the fields in their order."""
    names["_set"] = object.__setattr__
    names["_UNGIVEN"] = _UNGIVEN
    takes, sets = ["self"], []
    for each in dataclasses.fields(kind):
        name, made = each.name, each.default_factory is not _UNGIVEN
        value = name
        if made:
            names[f"_make_{name}"] = each.default_factory
            value = f"_make_{name}()"
        if each.init and made:
            value = f"{value} if {name} is _UNGIVEN else {name}"
        if each.init and each.default is not _UNGIVEN:
            names[f"_default_{name}"] = each.default
        if each.init:
            otherwise = "_UNGIVEN" if made else f"_default_{name}"
            takes.append(f"{name}={otherwise}" if made or otherwise in names else name)
        if each.init or made:
            sets.append(f" _set(self, {name!r}, {value})")
    yield f"def __init__({', '.join(takes)}):"
    yield from sets
    yield " self.__post_init__()" if hasattr(kind, "__post_init__") else " return None"


def _repr(kind: type, _: _Named) -> Iterator[str]:
    """Write the method that tells the fields by name."""
    told = ", ".join(f"{f.name}={{self.{f.name}!r}}" for f in dataclasses.fields(kind) if f.repr)
    yield "def __repr__(self):"
    yield f" return self.__class__.__qualname__ + f{f'({told})'!r}"


def _all_of(who: str, names: list[str]) -> str:
    return "(" + "".join(f"{who}.{name}, " for name in names) + ")"


def _eq(kind: type, _: _Named) -> Iterator[str]:
    """Write the method that compares the fields of two of the same class."""
    names = [field.name for field in dataclasses.fields(kind) if field.compare]
    yield "def __eq__(self, other):"
    yield " if other.__class__ is self.__class__:"
    yield f"  return {_all_of('self', names)} == {_all_of('other', names)}"
    yield " return NotImplemented"


def _hash(kind: type, _: _Named) -> Iterator[str]:
    """Write the method that hashes the fields that are compared."""
    fields = dataclasses.fields(kind)
    names = [each.name for each in fields if (each.compare if each.hash is None else each.hash)]
    yield "def __hash__(self):"
    yield f" return hash({_all_of('self', names)})"


_Writer = Callable[[type, _Named], Iterator[str]]
_WRITERS: dict[str, _Writer] = {
    "__init__": _init,
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
}


class _Uncompiled:
    """A method that is not there yet; asking for it puts it there."""

    def __init__(self, kind: type, name: str) -> None:
        self.kind, self.name = kind, name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        names: _Named = {}
        text = "\n".join(_WRITERS[self.name](self.kind, names))
        exec(text, names)
        method: Any = names[self.name]
        method.__qualname__ = f"{self.kind.__qualname__}.{self.name}"
        method.__module__ = self.kind.__module__
        if self.name == "__init__":
            taken = (each for each in dataclasses.fields(self.kind) if each.init)
            method.__annotations__ = {**{each.name: each.type for each in taken}, "return": None}
        setattr(self.kind, self.name, method)
        return method.__get__(instance, owner)


def _freeze(kind: Any) -> None:
    """Have fields of instances neither assigned nor deleted."""
    fields = frozenset(each.name for each in dataclasses.fields(kind))

    def assign(self: Any, name: str, value: object) -> None:
        if type(self) is kind or name in fields:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(kind, self).__setattr__(name, value)

    def delete(self: Any, name: str) -> None:
        if type(self) is kind or name in fields:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(kind, self).__delattr__(name)

    kind.__setattr__, kind.__delattr__ = assign, delete


def _lazily(
    kind: AnyClass | None = None, /, *, frozen: bool = False, eq: bool = True
) -> AnyClass | Callable[[AnyClass], AnyClass]:
    """Make a dataclass as `dataclasses.dataclass` does, its methods when they are needed."""

    def made(kind: AnyClass) -> AnyClass:
        own = kind.__dict__
        # Where a class says what is equal, Python says that it has no hash: that is not its word.
        hashed = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
        dataclasses.dataclass(init=False, repr=False, eq=False)(kind)
        for name in ("__init__", "__repr__", "__eq__") if eq else ("__init__", "__repr__"):
            if name not in own:
                setattr(kind, name, _Uncompiled(kind, name))
        if eq and not hashed:
            method = _Uncompiled(kind, "__hash__") if frozen else None
            kind.__hash__ = method  # type: ignore[assignment]
        if frozen:
            _freeze(kind)
        return kind

    return made if kind is None else made(kind)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _lazily
