"""Places of paths in the problem, a catalog or prices, with the type of their values."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError, create_model

from planner import units
from planner.errors import Finding, FixableError, did_you_mean
from planner.inputs import Change, Document, Inputs
from planner.loader import locate, yaml12
from planner.loader.locate import hint
from planner.paths import CATALOG, PRICES
from planner.removed import setting_successor
from planner.schema.base import CANONICAL, Model, Unit
from planner.schema.catalog import Figure
from planner.schema.prices import SupportMoney, SupportShare
from planner.schema.problem import Problem

Cell = float | int | str | bool | None
"""A cell in an input column of a table."""

_TEXT = re.compile(r"-?\d{1,30}(\.\d{1,30})? [A-Za-z%][A-Za-z%/]{0,20}\Z")
_WHOLE = re.compile(r"-?\d{1,18}\Z")
_DECIMAL = re.compile(r"-?\d{1,30}\.\d{1,30}\Z")

ALL = "*"
_FIXED = {"id", "extends", "source", "support_source", "components"}
"""Keys that other parts refer to, and keys that nothing is computed from."""
_READ_ONCE = {"catalogs": "catalogs", "prices": "price books"}
ADD_FIGURE = "add the figure and its source to a catalog"


@dataclass(frozen=True)
class Slot:
    """A type of the schema as a place of a file has it.

    ``unit`` is that of its numbers, where it may have any; ``whole`` says that they are counts,
    ``only_numbers`` that nothing else may stand here.
    """

    annotation: Any
    model: type[BaseModel]
    unit: Unit | None
    whole: bool
    only_numbers: bool

    @property
    def numeric(self) -> bool:
        """Whether a number may stand here."""
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
        return locate.findings(error, Document("", {"value": raw}), self.model)

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


def raw(text: str) -> Any:
    """A text as ``--set`` reads it.

    Raises:
        InputError: it is not readable as YAML.
    """
    if _TEXT.match(text):
        return text
    if _WHOLE.match(text):
        return int(text)
    return float(text) if _DECIMAL.match(text) else yaml12.scalar(text, "")


def plain(number: Decimal) -> str:
    """A number without exponent and without zeros that say nothing."""
    return format(number.normalize(), "f") if number else "0"


def number_of(value: Any) -> float | int | None:
    """The number that a value is, in its canonical unit, or None."""
    if isinstance(value, SupportShare):
        return value.share
    if isinstance(value, SupportMoney):
        return value.usd
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if known else None


def symbol_of(value: Any, slot: Slot) -> str:
    """The canonical unit of a value's number."""
    if isinstance(value, (SupportShare, SupportMoney)):
        return "USD" if isinstance(value, SupportMoney) else ""
    return slot.symbol


def name_unit(value: Any, slot: Slot) -> str:
    """The unit of a value's number as a table names it: shares are called so."""
    if isinstance(value, SupportShare) or (slot.unit and slot.unit.dimension is units.SHARE):
        return "share"
    return symbol_of(value, slot)


def written(number: Decimal, slot: Slot, like: Any = None) -> str:
    """A number in the canonical unit of a slot as a file has it.

    Args:
        number: in the canonical unit.
        slot: where it is to stand.
        like: the value that stands there, which tells shares of support from amounts.
    """
    if isinstance(like, SupportShare):
        return f"{plain(100 * number)} %"
    if slot.unit is not None and 0 < number < slot.unit.dimension.least_bare:
        return f"{plain(number / 1000)} k"
    return f"{plain(number)} {symbol_of(like, slot)}".rstrip()


def short(value: Any, most: int = 80) -> str:
    """A value that is no number as one short text, as a file would have it."""
    text = _flow(value)
    return text if len(text) <= most else text[: most - 3] + "..."


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


class NoPlaceError(FixableError):
    """A path that leads nowhere."""


@dataclass(frozen=True)
class Place:
    """A place that can be varied, the type of its value, and the value.

    A place inside something that is not given (``jobs.0.failures.per_gpu_day`` where a preset is
    named) is filled by giving that something whole: ``parent`` is its path, ``made`` its model and
    the field of the value.
    """

    path: str
    slot: Slot
    standing: Any
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
        key = key_of(model, name)
        whole = model.model_validate({key: value}, context=CANONICAL)
        return Change(self.parent, whole, f"{{{key}: {text}}}")


@dataclass(frozen=True)
class _Node:
    """A point on the way to a place."""

    steps: tuple[str, ...]
    value: Any
    slot: Slot | None = None
    made: tuple[str, type[BaseModel], str] | None = None

    @property
    def path(self) -> str:
        return ".".join(self.steps)


def places(inputs: Inputs, path: str) -> tuple[Place, ...]:
    """The places that a path means; several where a step of it is ``*``.

    A ``*`` stands for every entry that states the value.

    Raises:
        NoPlaceError: there is none.
    """
    steps = [step.strip() for step in path.strip().split(".")]
    if not all(steps):
        raise NoPlaceError(f"'{path[:80]}' is not a path", "write for example site.facility_power")
    several = ALL in steps
    nodes, rest = _roots(inputs, steps)
    for step in rest:
        nodes = [below for node in nodes for below in _below(inputs, node, step, several)]
    nodes = [node for node in nodes if not several or node.value is not None]
    if not nodes:
        raise NoPlaceError(f"nothing states '{path[:80]}'")
    return tuple(_ended(node) for node in nodes)


def _roots(inputs: Inputs, steps: list[str]) -> tuple[list[_Node], list[str]]:
    first = steps[0]
    if first == CATALOG:
        known: dict[str, Any] = {family.id: family for family in inputs.families}
        return _entries(
            first, known | {item.id: item for item in inputs.items}, steps, "item", "catalogs"
        )
    if first == PRICES and len(steps) > 1 and not steps[1].isdigit():
        return _entries(first, dict(inputs.prices), steps, "price for", "price books")
    if first in _READ_ONCE:
        fix = "name them in a scenario of the problem file, and give --scenarios"
        if first == "catalogs":
            fix += "; a figure of an item is catalog.ITEM.GROUP.FIGURE"
        raise NoPlaceError(f"which {_READ_ONCE[first]} are read cannot be varied", fix)
    return [_Node((), inputs.problem)], steps


def _entries(
    root: str, known: dict[str, Any], steps: list[str], what: str, where: str
) -> tuple[list[_Node], list[str]]:
    name = steps[1] if len(steps) > 1 else ""
    if name != ALL and name not in known:
        message = f"no {what} '{name[:60]}' in the {where} in use"
        raise NoPlaceError(message, suggest(name, list(known)))
    if len(steps) < 3:
        figure = {CATALOG: "consumes.it_power", PRICES: "list"}[root]
        raise NoPlaceError(f"'{root}.{name}' is no single value", f"such as {root}.{name}.{figure}")
    having = [each for each, value in known.items() if field_of(type(value), steps[2])]
    names = (having or list(known)[:1]) if name == ALL else [name]
    return [_Node((root, each), known[each]) for each in names], steps[2:]


def _below(inputs: Inputs, node: _Node, step: str, several: bool) -> Iterator[_Node]:
    value = node.value
    if isinstance(value, BaseModel):
        yield _in_model(node, value, step)
    elif isinstance(value, Mapping):
        yield from _in_mapping(inputs, node, value, step)
    elif isinstance(value, tuple):
        yield from _in_list(node, value, step)
    elif not several:
        yield _in_nothing(node, step)


def _in_model(node: _Node, model: BaseModel, step: str) -> _Node:
    name = field_of(type(model), step)
    if name is None:
        keys = [key_of(type(model), field) for field in type(model).model_fields]
        if isinstance(model, Problem):
            keys = [key for key in keys if key not in _READ_ONCE] + [CATALOG, PRICES]
        where = f"'{node.path}'" if node.steps else "the problem"
        fix = setting_successor((*node.steps, step)) or key_hint(model, node.path, step, keys)
        raise NoPlaceError(f"{where} has no '{step[:60]}'", fix)
    if step in _FIXED:
        raise NoPlaceError(f"'{step}' of '{node.path}' cannot be varied")
    key = key_of(type(model), name)
    return _Node((*node.steps, key), getattr(model, name), slot_of(type(model), name))


def _in_mapping(
    inputs: Inputs, node: _Node, entries: Mapping[str, Any], step: str
) -> Iterator[_Node]:
    inside = node.slot.inside() if node.slot is not None else None
    assert inside is not None
    known = list(entries) if step == ALL else _names(inputs, node, inside[0], entries)
    if step != ALL and step not in known:
        raise NoPlaceError(f"'{node.path}' has no '{step[:60]}'", suggest(step, known))
    for name in known if step == ALL else [step]:
        yield _Node((*node.steps, name), entries.get(name), inside[1])


def _names(inputs: Inputs, node: _Node, keys: Any, entries: Mapping[str, Any]) -> list[str]:
    """The keys that a mapping may have."""
    if get_origin(keys) is Literal:
        return list(get_args(keys))
    if node.path in {"items", "extras"}:
        return [item.id for item in inputs.items]
    return list(entries)


def _in_list(node: _Node, entries: tuple[Any, ...], step: str) -> Iterator[_Node]:
    inside = node.slot.inside() if node.slot is not None else None
    assert inside is not None
    names = [getattr(entry, "name", None) for entry in entries]
    if step == ALL:
        numbers = list(range(len(entries)))
    elif step.isascii() and step.isdigit() and len(step) < 9 and int(step) < len(entries):
        numbers = [int(step)]
    elif step in names:
        numbers = [names.index(step)]
    else:
        known = [f"{index} ({name})" if name else f"{index}" for index, name in enumerate(names)]
        fix = "its entries: " + (", ".join(known[:9]) or "none")
        raise NoPlaceError(f"'{node.path}': the list has no entry '{step[:60]}'", fix)
    for number in numbers:
        yield _Node((*node.steps, str(number)), entries[number], inside[1])


def _in_nothing(node: _Node, step: str) -> _Node:
    """A place inside a part that is not given, where that value alone gives the part."""
    models = node.slot.models if node.slot is not None else []
    for model, name in ((model, field_of(model, step)) for model in models):
        if name is None:
            continue
        needed = [key for key, field in model.model_fields.items() if field.is_required()]
        if node.made is not None or needed not in ([], [name]):
            what = "not given" if node.value is None else f"'{node.value}'"
            message = f"'{node.path}' is {what}, so it has no '{step}'"
            raise NoPlaceError(message, how_to_give(model))
        # A count of an item that is not named yet is laid over its other counts.
        made = None if node.steps[0] == "items" else (node.path, model, name)
        return _Node((*node.steps, key_of(model, name)), None, slot_of(model, name), made)
    raise NoPlaceError(f"'{node.path}' is a single value and has no '{step[:60]}'")


def _ended(node: _Node) -> Place:
    """The place at the end of a path; a figure is its value."""
    value, slot = node.value, node.slot
    assert slot is not None
    if isinstance(value, Figure):
        return Place(node.path, slot_of(type(value), "value"), value.value)
    if value is None and any(issubclass(model, Figure) for model in slot.models):
        raise NoPlaceError(f"no catalog states '{node.path}'", ADD_FIGURE)
    if get_origin(slot.annotation) is Literal and len(get_args(slot.annotation)) == 1:
        fix = f"vary '{'.'.join(node.steps[:-1])}' whole, such as {{policy: fixed, every: 10 min}}"
        raise NoPlaceError(f"'{node.path}' can only be '{value}' here", fix)
    if node.made is None:
        return Place(node.path, slot, value)
    parent, model, name = node.made
    return Place(node.path, slot, value, parent, (model, name))


def key_of(model: type[BaseModel], name: str) -> str:
    """A field as a file has it."""
    return model.model_fields[name].alias or name


def field_of(model: type[BaseModel], key: str) -> str | None:
    """The field that a key of a file fills, None where there is none."""
    return next((name for name in model.model_fields if key_of(model, name) == key), None)


def suggest(word: str, words: Sequence[str]) -> str:
    """The words nearest to one that is not known, or all that are."""
    return did_you_mean(word, words) or "expected one of: " + (", ".join(words) or "none")


def how_to_give(model: type[BaseModel]) -> str:
    """The hint how to give the part that a value belongs to."""
    if issubclass(model, Figure):
        return ADD_FIGURE
    needed = [key_of(model, name) for name, f in model.model_fields.items() if f.is_required()]
    hints = [hint([model], key) or "" for key in needed]
    parts = [hint.removeprefix("add ").removeprefix("for example ") for hint in hints]
    return f"give it whole, with {', '.join(parts)}"


def key_hint(model: BaseModel, path: str, step: str, keys: Sequence[str]) -> str:
    """Fix for an unknown key: a similar key, or the same one further in."""
    deeper = [inner for inner in _inner(model) if inner.rpartition(".")[2] == step]
    if not deeper:
        return suggest(step, keys)
    before = f"{path}." if path else ""
    return "did you mean " + " or ".join(f"'{before}{inner}'" for inner in deeper[:2]) + "?"


def _inner(value: Any, depth: int = 6) -> Iterator[str]:
    """Yield the dotted paths inside a model, as far as its parts are given."""
    parts: dict[str, Any] = {}
    if isinstance(value, BaseModel) and not isinstance(value, Figure):
        parts = {key_of(type(value), name): part for name, part in value}
    elif isinstance(value, (tuple, Mapping)):
        entries = value if isinstance(value, Mapping) else dict(enumerate(value))
        parts = {str(key): part for key, part in entries.items()}
    for key, part in parts.items():
        yield key
        if depth:
            yield from (f"{key}.{path}" for path in _inner(part, depth - 1))
