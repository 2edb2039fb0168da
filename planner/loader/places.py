"""Places of paths in validated inputs, with the type of their values; checked changes of them."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError, create_model

from planner import units
from planner.errors import Finding, InputError, clip, suggest
from planner.inputs import Change, Document, Inputs, applied, root_of
from planner.loader import NoPlaceError, documents, list_position
from planner.loader.catalogs import check_family, check_item
from planner.loader.checks import check_problem
from planner.paths import CATALOG, PRICES, field_of
from planner.removed import setting_successor
from planner.schema import CANONICAL, Model, Unit
from planner.schema.catalog import Figure
from planner.schema.problem import Problem

Cell = float | int | str | bool | None
"""A cell in an input column of a table."""
ALL = "*"
"""Step of a path to every entry of a mapping or list."""


# Changes of validated inputs.


def checked(inputs: Inputs, changes: Iterable[Change], *, recorded: bool = False) -> Inputs:
    """Inputs with changes made, checked as if read from files.

    Args:
        inputs: validated inputs.
        changes: in this order, each value as its field takes it.
        recorded: whether plans record the changes in their provenance.

    Raises:
        InputError: the values do not go together.
    """
    changes = tuple(changes)
    new = applied(inputs, changes, recorded=recorded)
    data = new.problem.model_dump(exclude_unset=True, by_alias=True)
    try:  # rules between the fields
        Problem.model_validate(data, context=CANONICAL)
        findings = _catalog_faults(changes, new) or check_problem(new)
    except ValidationError as error:
        document = replace(new.document or Document("", {}), data=data)
        findings = documents.findings(error, document, Problem)
    wrong = [finding for finding in findings if finding.severity == "error"]
    for at, finding in enumerate(wrong):  # at the changes that caused it, instead of at a line
        path = f"{finding.path}."
        own = ((f"{change.path}.", change.setting) for change in changes)
        about = [setting for p, setting in own if p.startswith(path) or path.startswith(p)]
        if about:
            wrong[at] = replace(finding, file=f"with {clip(', '.join(about), 160)}", line=None)
    if wrong:
        raise InputError(wrong)
    return replace(new, warnings=tuple(f"{f.path}: {f.message}" for f in findings))


def _catalog_faults(changes: tuple[Change, ...], inputs: Inputs) -> list[Finding]:
    """Faults of changed items and families; changes are of values, never of sources."""
    names = {name for root, name in (root_of(change.path) for change in changes) if root == CATALOG}
    families = {family.id: family for family in inputs.families}
    found = []
    for name in sorted(names):
        faults = (
            check_family(families[name], None, inputs.by_id)
            if name in families
            else check_item(inputs.item(name), None, inputs.by_id, families)
        )
        for message, fix, part in faults:
            found.append(Finding("catalog", message, path=f"{CATALOG}.{name}.{part}", fix=fix))
    return found


# The type of a place.


class Slot(NamedTuple):
    """A type of the schema as a place of a file has it.

    ``model``: with it as the field ``value``; ``unit``: that of its numbers, if any; ``whole``:
    they are counts; ``models``: those that a mapping here may be of; ``inside``: the types of keys
    and entries of a mapping or list.
    """

    model: type[BaseModel]
    unit: Unit | None
    whole: bool
    models: tuple[type[BaseModel], ...]
    inside: tuple[Any, Any] | None

    @property
    def numeric(self) -> bool:
        """True if the place takes numbers."""
        return self.unit is not None or self.whole

    @property
    def symbol(self) -> str:
        """The canonical unit of the numbers; empty for shares, counts and plain numbers."""
        return "" if self.unit is None or self.unit.dimension.bare else self.unit.dimension.unit

    @property
    def column_unit(self) -> str:
        """The unit as a table names it, "share" of a share."""
        share = self.unit is not None and self.unit.dimension is units.SHARE
        return "share" if share else self.symbol

    def read(self, text: str, rates: units.Rates) -> Any:
        """The value of a text, as in a file.

        Raises:
            InputError: it is refused; findings name no place.
        """
        try:
            raw = documents.scalar(text, "")
            found: Any = self.model.model_validate({"value": raw}, context={"rates": rates})
            return found.value
        except InputError as error:
            faults: Sequence[Finding] = error.findings
        except ValidationError as error:
            faults = documents.findings(error, Document("", {"value": raw}), self.model)
        raise InputError([replace(fault, file=None, path=None) for fault in faults])

    def text_of(self, number: Decimal) -> str:
        """A number in the canonical unit as a file has it."""
        if self.unit is not None and 0 < number < self.unit.dimension.least_bare:
            return f"{plain(number / 1000)} k"
        return f"{plain(number)} {self.symbol}".rstrip()


@lru_cache(maxsize=4096)
def _slot_of(model: type[BaseModel], name: str) -> Slot:
    """The slot of a field."""
    field = model.model_fields[name]
    marks: tuple[Any, ...] = tuple(field.metadata)
    if field.discriminator is not None:
        marks = (Field(discriminator=field.discriminator), *marks)
    annotation: Any = field.annotation
    return _slot_for(Annotated[(annotation, *marks)] if marks else annotation)


def _slot_for(annotation: Any) -> Slot:
    """The slot of a type."""
    kinds = list(_kinds(annotation))
    marks = [mark for _, found in kinds for mark in found if isinstance(mark, Unit)]
    inside: tuple[Any, Any] | None = None
    for kind, _ in kinds:
        parts = get_args(kind)
        if get_origin(kind) in (dict, Mapping, tuple):
            inside = (int, parts[0]) if get_origin(kind) is tuple else (parts[0], parts[1])
    return Slot(
        create_model("Value", __base__=Model, value=(annotation, ...)),
        marks[0] if marks else None,
        not marks and any(kind is int for kind, _ in kinds),
        tuple(k for k, _ in kinds if isinstance(k, type) and issubclass(k, BaseModel)),
        inside,
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


def number_of(value: Any) -> float | int | None:
    """The number that a value is, in its canonical unit, or None."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if known else None


def plain(number: Decimal) -> str:
    """A number without exponent and trailing zeros."""
    return format(number.normalize(), "f") if number else "0"


def short(value: Any, most: int = 80) -> str:
    """A value that is no number as one short text, as a file would have it."""
    if isinstance(value, BaseModel):
        value = value.model_dump(exclude_unset=True, by_alias=True)
    return clip(documents.in_line(value), most)


# Places of a path.


class Place(NamedTuple):
    """A place that can be varied, the type of its value, and the value.

    A place inside a part that is not given (``jobs.0.failures.per_gpu_day`` where a preset is
    named) is filled by giving that part whole: ``parent`` is its path, ``made`` its model and the
    key of the value.
    """

    path: str
    slot: Slot
    value: Any
    parent: str = ""
    made: tuple[type[BaseModel], str] | None = None

    def change(self, value: Any, text: str) -> Change:
        """The change that puts a validated value here."""
        if self.made is None:
            return Change(self.path, value, text)
        model, key = self.made
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
    return tuple(map(_value_of_figure, found))


def _roots(inputs: Inputs, steps: list[str]) -> tuple[list[Place], list[str]]:
    """The first places of a path, and the steps from there on."""
    root, name, *_ = (*steps, "")
    if root == "catalogs" or (root == PRICES and (not name or name.isdigit())):
        fix = "name them in a scenario of the problem file, and give --scenarios"
        named = "price books" if root == PRICES else root
        raise NoPlaceError(f"which {named} are read cannot be varied", fix)
    if root not in (CATALOG, PRICES):
        return [Place("", _slot_for(Problem), inputs.problem)], steps
    known: Mapping[str, Any] = inputs.prices
    kind, example = "price", "list"
    if root == CATALOG:
        known = {**{family.id: family for family in inputs.families}, **inputs.by_id}
        kind, example = "item", "consumes.it_power"
    if name not in (ALL, *known):
        raise NoPlaceError(f"no {kind} '{name[:60]}' in the files in use", suggest(name, [*known]))
    if len(steps) < 3:
        message = f"'{root}.{name}' is no single value"
        raise NoPlaceError(message, f"such as {root}.{name}.{example}")
    kinds: dict[str, Any] = {each: type(value) for each, value in known.items()}
    having = [each for each, kind in kinds.items() if field_of(kind, steps[2])]
    names = (having or list(known)[:1]) if name == ALL else [name]
    return [Place(f"{root}.{n}", _slot_for(kinds[n]), known[n]) for n in names], steps[2:]


def _below(inputs: Inputs, place: Place, step: str, several: bool) -> Iterator[Place]:
    """Yield the places one step below; of a mapping also an entry that is not given."""
    value, path = place.value, f"{place.path}.{step}".lstrip(".")
    if isinstance(value, BaseModel):
        name = field_of(type(value), step)
        if name is None:
            raise _no_key(place, type(value), step)
        yield Place(path, _slot_of(type(value), name), getattr(value, name))
    elif isinstance(value, (Mapping, tuple)) and place.slot.inside is not None:
        keys, entry = place.slot.inside
        slot = _slot_for(entry)
        if step == ALL:
            entries = enumerate(value) if isinstance(value, tuple) else value.items()
            for key, each in entries:
                yield Place(f"{place.path}.{key}", slot, each)
        elif isinstance(value, tuple):
            index = list_position(value, step, place.path)
            yield Place(f"{place.path}.{index}", slot, value[index])
        else:
            known = get_args(keys) if get_origin(keys) is Literal else value
            known = inputs.by_id if place.path in {"items", "extras"} else known
            if step not in known:
                fix = suggest(step, list(known))
                raise NoPlaceError(f"'{place.path}' has no '{step[:60]}'", fix)
            yield Place(path, slot, value.get(step))
    elif not several:
        yield _in_missing(place, step)


def _no_key(place: Place, model: type[BaseModel], step: str) -> NoPlaceError:
    """The error of an unknown key."""
    keys = list(documents.by_key(model))
    if model is Problem:
        keys = [key for key in keys if key not in ("catalogs", PRICES)] + [CATALOG, PRICES]
    where = f"'{place.path}'" if place.path else "the problem"
    fix = setting_successor([*place.path.split("."), step]) or suggest(step, keys)
    return NoPlaceError(f"{where} has no '{step[:60]}'", fix)


def _in_missing(place: Place, step: str) -> Place:
    """A place inside a part that is not given, where that value alone gives the part."""
    for model in place.slot.models:
        name = field_of(model, step)
        if name is None:
            continue
        needed = [key for key, field in model.model_fields.items() if field.is_required()]
        if place.made is not None or needed not in ([], [name]):
            is_now = "not given" if place.value is None else f"'{place.value}'"
            fix = "give the whole part in the file, where it can be varied then"
            raise NoPlaceError(f"'{place.path}' is {is_now}, so it has no '{step}'", fix)
        found = Place(f"{place.path}.{step}", _slot_of(model, name), None)
        if place.path.startswith("items."):  # laid over the other counts of the item
            return found
        return found._replace(parent=place.path, made=(model, step))
    raise NoPlaceError(f"'{place.path}' is a single value and has no '{step[:60]}'")


def _value_of_figure(place: Place) -> Place:
    """The place at the end of a path; of a figure that of its value."""
    value = place.value
    if isinstance(value, Figure):
        return Place(place.path, _slot_of(type(value), "value"), value.value)
    if value is None and any(issubclass(model, Figure) for model in place.slot.models):
        fix = "add the figure and its source to a catalog"
        raise NoPlaceError(f"no catalog states '{place.path}'", fix)
    return place
