"""Places of paths in the problem, a catalog or prices, with the type of their values."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError, create_model

from planner import units
from planner.errors import Finding, FixableError, clip, suggest
from planner.inputs import Change, Document, Inputs
from planner.loader import documents
from planner.paths import CATALOG, PRICES
from planner.removed import setting_successor
from planner.schema.base import CANONICAL, Model, Unit
from planner.schema.catalog import Figure
from planner.schema.prices import SupportMoney, SupportShare
from planner.schema.problem import Problem

Cell = float | int | str | bool | None
"""A cell in an input column of a table."""

ALL = "*"
_FIXED = {"id", "extends", "source", "support_source", "components"}
"""Keys that other parts refer to, and keys that nothing is computed from."""
_READ_ONCE = {"catalogs": "catalogs", "prices": "price books"}
_ADD_FIGURE = "add the figure and its source to a catalog"


# The type of a place.


@dataclass(frozen=True)
class Slot:
    """A type of the schema as a place of a file has it.

    ``unit``: that of its numbers, if any; ``whole``: they are counts; ``only_numbers``: nothing
    else may be here.
    """

    annotation: Any
    model: type[BaseModel]
    unit: Unit | None
    whole: bool
    only_numbers: bool

    @property
    def numeric(self) -> bool:
        """True if the place takes numbers."""
        return self.unit is not None or self.whole or SupportShare in self.models

    @property
    def symbol(self) -> str:
        """The canonical unit of the numbers; empty for shares, counts and plain numbers."""
        return "" if self.unit is None or self.unit.dimension.bare else self.unit.dimension.unit

    @property
    def models(self) -> list[type[BaseModel]]:
        """The models that a mapping here may be of."""
        kinds = (kind for kind, _ in _kinds(self.annotation))
        return [k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)]

    def read(self, raw: Any, rates: units.Rates = units.NO_RATES) -> Any:
        """The value of a part of a file, read as the file is.

        Raises:
            ValidationError: it is refused.
        """
        read = self.model.model_validate({"value": raw}, context={"rates": rates})
        return read.value  # type: ignore[attr-defined]

    def faults(self, error: ValidationError, raw: Any) -> list[Finding]:
        """Findings on a refused value, as of a file."""
        return documents.findings(error, Document("", {"value": raw}), self.model)

    def inside(self) -> tuple[Any, Slot] | None:
        """The type of the keys and the slot of the entries of a mapping or list."""
        for kind, _ in _kinds(self.annotation):
            origin, parts = get_origin(kind), get_args(kind)
            if origin in (dict, Mapping):
                return parts[0], slot_for(parts[1])
            if origin is tuple:
                return int, slot_for(parts[0])
        return None


@lru_cache(maxsize=4096)
def slot_of(model: type[BaseModel], name: str) -> Slot:
    """The slot of a field."""
    field = model.model_fields[name]
    marks: tuple[Any, ...] = tuple(field.metadata)
    if field.discriminator is not None:
        marks = (Field(discriminator=field.discriminator), *marks)
    annotation: Any = field.annotation
    return slot_for(Annotated[(annotation, *marks)] if marks else annotation)


def slot_for(annotation: Any) -> Slot:
    """The slot of a type."""
    kinds = list(_kinds(annotation))
    marks = [mark for _, found in kinds for mark in found if isinstance(mark, Unit)]
    some = [kind for kind, _ in kinds if kind is not type(None)]
    whole = int in some and not marks
    return Slot(
        annotation=annotation,
        model=create_model("Value", __base__=Model, value=(annotation, ...)),
        unit=marks[0] if marks else None,
        whole=whole,
        only_numbers=some == [int] if whole else some == [float],
    )


def _kinds(annotation: Any, marks: tuple[Any, ...] = ()) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yield the types that a value may be of, each with its marks."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *more = get_args(annotation)
        yield from _kinds(inner, (*more, *marks))
    elif origin in (Union, types.UnionType):
        for part in get_args(annotation):
            yield from _kinds(part, marks)
    else:
        yield annotation, marks


def field_of(model: type[BaseModel], key: str) -> str | None:
    """The field that a key of a file fills, None where there is none."""
    return next((name for name in model.model_fields if _key(model, name) == key), None)


def _key(model: type[BaseModel], name: str) -> str:
    return model.model_fields[name].alias or name


def number_of(value: Any) -> float | int | None:
    """The number that a value is, in its canonical unit, or None."""
    if isinstance(value, (SupportShare, SupportMoney)):
        return value.share if isinstance(value, SupportShare) else value.usd
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if known else None


def name_unit(value: Any, slot: Slot) -> str:
    """The unit of a value's number as a table names it, "share" of a share."""
    if isinstance(value, SupportMoney):
        return "USD"
    share = isinstance(value, SupportShare) or (slot.unit and slot.unit.dimension is units.SHARE)
    return "share" if share else slot.symbol


def written(number: Decimal, slot: Slot, like: Any) -> str:
    """A number in the canonical unit of a slot as a file has it, of the kind of another value."""
    if isinstance(like, SupportShare):
        return f"{plain(100 * number)} %"
    if slot.unit is not None and 0 < number < slot.unit.dimension.least_bare:
        return f"{plain(number / 1000)} k"
    unit = "USD" if isinstance(like, SupportMoney) else slot.symbol
    return f"{plain(number)} {unit}".rstrip()


def plain(number: Decimal) -> str:
    """A number without exponent and trailing zeros."""
    return format(number.normalize(), "f") if number else "0"


def short(value: Any, most: int = 80) -> str:
    """A value that is no number as one short text, as a file would have it."""
    return clip(_flow(value), most)


def _flow(value: Any) -> str:
    if isinstance(value, BaseModel):
        value = value.model_dump(exclude_unset=True, by_alias=True)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else str(value)


# Places of a path.


class NoPlaceError(FixableError):
    """A path that leads nowhere."""


@dataclass(frozen=True)
class Place:
    """A place that can be varied, the type of its value, and the value.

    A place inside a part that is not given (``jobs.0.failures.per_gpu_day`` where a preset is
    named) is filled by giving that part whole: ``parent`` is its path, ``made`` its model and the
    field of the value.
    """

    path: str
    slot: Slot
    value: Any
    parent: str = ""
    made: tuple[type[BaseModel], str] | None = None

    @property
    def changed(self) -> str:
        """The path that a change of this place replaces."""
        return self.path if self.made is None else self.parent

    def change(self, value: Any, text: str) -> Change:
        """The change that puts a validated value here."""
        if self.made is None:
            return Change(self.path, value, text)
        model, name = self.made
        key = _key(model, name)
        whole = model.model_validate({key: value}, context=CANONICAL)
        return Change(self.parent, whole, f"{{{key}: {text}}}")


def places(inputs: Inputs, path: str) -> tuple[Place, ...]:
    """The places of a path; several where a step of it is ``*``: every entry that has the value.

    Raises:
        NoPlaceError: there is none.
    """
    steps = [step.strip() for step in path.strip().split(".")]
    if not all(steps):
        raise NoPlaceError(f"'{path[:80]}' is not a path", "write for example site.facility_power")
    several = ALL in steps
    found, rest = _roots(inputs, steps)
    for step in rest:
        found = [below for place in found for below in _below(inputs, place, step, several)]
    found = [place for place in found if not several or place.value is not None]
    if not found:
        raise NoPlaceError(f"nothing states '{path[:80]}'")
    return tuple(map(_ended, found))


def _roots(inputs: Inputs, steps: list[str]) -> tuple[list[Place], list[str]]:
    first = steps[0]
    known: dict[str, Any]
    if first == CATALOG:
        known = {family.id: family for family in inputs.families} | dict(inputs.by_id)
        return _entries(steps, known, "item", "catalogs", "consumes.it_power")
    if first == PRICES and len(steps) > 1 and not steps[1].isdigit():
        return _entries(steps, dict(inputs.prices), "price for", "price books", "list")
    if first in _READ_ONCE:
        fix = "name them in a scenario of the problem file, and give --scenarios"
        raise NoPlaceError(f"which {_READ_ONCE[first]} are read cannot be varied", fix)
    return [Place("", slot_for(Problem), inputs.problem)], steps


def _entries(
    steps: list[str], known: dict[str, Any], what: str, where: str, example: str
) -> tuple[list[Place], list[str]]:
    root, name = steps[0], steps[1] if len(steps) > 1 else ""
    if name != ALL and name not in known:
        message = f"no {what} '{name[:60]}' in the {where} in use"
        raise NoPlaceError(message, suggest(name, list(known)))
    if len(steps) < 3:
        message = f"'{root}.{name}' is no single value"
        raise NoPlaceError(message, f"such as {root}.{name}.{example}")
    having = [each for each, value in known.items() if field_of(type(value), steps[2])]
    names = (having or list(known)[:1]) if name == ALL else [name]
    return [Place(f"{root}.{n}", slot_for(type(known[n])), known[n]) for n in names], steps[2:]


def _below(inputs: Inputs, place: Place, step: str, several: bool) -> Iterator[Place]:
    value = place.value
    if isinstance(value, BaseModel):
        yield _in_model(place, value, step)
    elif isinstance(value, (Mapping, tuple)):
        inside = place.slot.inside()
        assert inside is not None
        within = _in_list if isinstance(value, tuple) else _in_mapping
        for key, entry in within(inputs, place, step, inside[0]):
            yield Place(f"{place.path}.{key}", inside[1], entry)
    elif not several:
        yield _in_nothing(place, step)


def _in_model(place: Place, model: BaseModel, step: str) -> Place:
    kind, path = type(model), f"{place.path}.{step}".lstrip(".")
    name = field_of(kind, step)
    if name is None:
        keys = [_key(kind, field) for field in kind.model_fields]
        if isinstance(model, Problem):
            keys = [key for key in keys if key not in _READ_ONCE] + [CATALOG, PRICES]
        where = f"'{place.path}'" if place.path else "the problem"
        fix = setting_successor(path.split(".")) or suggest(step, keys)
        raise NoPlaceError(f"{where} has no '{step[:60]}'", fix)
    if step in _FIXED:
        raise NoPlaceError(f"'{step}' of '{place.path}' cannot be varied")
    return Place(path, slot_of(kind, name), getattr(model, name))


def _in_mapping(inputs: Inputs, place: Place, step: str, keys: Any) -> Iterable[tuple[str, object]]:
    entries: Mapping[str, Any] = place.value
    if step == ALL:
        return entries.items()
    known = list(entries)
    if get_origin(keys) is Literal:
        known = list(get_args(keys))
    elif place.path in {"items", "extras"}:
        known = [item.id for item in inputs.items]
    if step not in known:
        raise NoPlaceError(f"'{place.path}' has no '{step[:60]}'", suggest(step, known))
    return [(step, entries.get(step))]


def _in_list(_inputs: Inputs, place: Place, step: str, _: Any) -> Iterable[tuple[str, object]]:
    entries: tuple[Any, ...] = place.value
    names = [getattr(entry, "name", None) for entry in entries]
    if step == ALL:
        return [(str(index), entry) for index, entry in enumerate(entries)]
    index = names.index(step) if step in names else -1
    if step.isascii() and step.isdigit() and len(step) < 9 and int(step) < len(entries):
        index = int(step)
    if index < 0:
        known = [f"{index} ({name})" if name else f"{index}" for index, name in enumerate(names)]
        fix = "its entries: " + (", ".join(known[:9]) or "none")
        raise NoPlaceError(f"'{place.path}': the list has no entry '{step[:60]}'", fix)
    return [(str(index), entries[index])]


def _in_nothing(place: Place, step: str) -> Place:
    """A place inside a part that is not given, where that value alone gives the part."""
    for model in place.slot.models:
        name = field_of(model, step)
        if name is None:
            continue
        needed = [key for key, field in model.model_fields.items() if field.is_required()]
        if place.made is not None or needed not in ([], [name]):
            is_now = "not given" if place.value is None else f"'{place.value}'"
            message = f"'{place.path}' is {is_now}, so it has no '{step}'"
            raise NoPlaceError(message, _how_to_give(model))
        path, slot = f"{place.path}.{_key(model, name)}", slot_of(model, name)
        if path.startswith("items."):  # laid over the other counts of the item
            return Place(path, slot, None)
        return Place(path, slot, None, place.path, (model, name))
    raise NoPlaceError(f"'{place.path}' is a single value and has no '{step[:60]}'")


def _ended(place: Place) -> Place:
    """The place at the end of a path; a figure is its value."""
    value = place.value
    if isinstance(value, Figure):
        return Place(place.path, slot_of(type(value), "value"), value.value)
    if value is None and any(issubclass(model, Figure) for model in place.slot.models):
        raise NoPlaceError(f"no catalog states '{place.path}'", _ADD_FIGURE)
    return place


def _how_to_give(model: type[BaseModel]) -> str:
    if issubclass(model, Figure):
        return _ADD_FIGURE
    needed = [_key(model, name) for name, f in model.model_fields.items() if f.is_required()]
    hints = [documents.hint([model], key) or "" for key in needed]
    parts = [hint.removeprefix("add ").removeprefix("for example ") for hint in hints]
    return f"give it whole, with {', '.join(parts)}"
