"""Values by path: places in validated inputs, texts read as their values, axes of sweeps.

Each text is read once, as a file would read it; a wrong one refuses its axis. Ranges are of exact
decimals.
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError, create_model

from planner import units
from planner.errors import Finding, FixableError, InputError, clip, suggest
from planner.inputs import NOTHING_ASKED, Change, Document, Inputs
from planner.loader import NoPathError, documents, list_position
from planner.paths import CATALOG, PRICES, field_of
from planner.removed import setting_successor
from planner.schema import Model, Unit
from planner.schema.catalog import Figure
from planner.schema.problem import Problem

Cell = float | int | str | bool | None
"""A cell in an input column of a table."""
ALL = "*"
"""Step of a path to every entry of a mapping or list."""
FACTOR = "x"
"""The unit of a column of factors on the values of the problem."""


# The type of a place.

_PERCENT_CHANGE = re.compile(r"[+-].*%\s*\Z")


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
        """The canonical unit of the numbers; empty of shares, counts and plain numbers."""
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
        if self.numeric and _PERCENT_CHANGE.match(text):
            fix = "write x0.8 for 20 % less"
            raise InputError(Finding("vary", f"'{text[:40]}' is no value", fix=fix))
        data = Document("", {"value": documents.scalar(text, "")})
        try:
            found: Any = self.model.model_validate(data.data, context={"rates": rates})
        except ValidationError as error:
            raise InputError(documents.findings(error, data, self.model)) from None
        return found.value

    def text_of(self, number: Decimal) -> str:
        """A number in the canonical unit as a file has it."""
        if self.unit is not None and 0 < number < self.unit.dimension.least_bare:
            return f"{_plain(number / 1000)} k"
        return f"{_plain(number)} {self.symbol}".rstrip()


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
        if (parts := get_args(kind)) and get_origin(kind) in (dict, Mapping, tuple):
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


def _plain(number: Decimal) -> str:
    """A number without exponent and trailing zeros."""
    return format(number.normalize(), "f") if number else "0"


def short(value: Any, most: int = 80) -> str:
    """A value that is no number as one short text, as a file would have it."""
    if isinstance(value, BaseModel):
        value = value.model_dump(exclude_unset=True, by_alias=True)
    return clip(documents.in_line(value), most)


# Places of a path.


class Place(NamedTuple):
    """A place that can be varied, the type of its value, and the value."""

    path: str
    slot: Slot
    value: Any

    def scaled(self, share: Decimal) -> str:
        """The text of a share of the number here.

        Raises:
            InputError: here is no number.
        """
        number = number_of(self.value)
        if number is None:
            raise InputError(Finding("vary", f"there is no number here to take x{share} of"))
        return self.slot.text_of(Decimal(f"{Decimal(repr(number)) * share:.15g}"))


def places(inputs: Inputs, path: str) -> tuple[Place, ...]:
    """The places of a path; several where a step of it is ``*``: every entry that has the value.

    Raises:
        NoPathError: there is none.
    """
    steps = [step.strip() for step in path.strip().split(".")]
    if not all(steps):
        raise NoPathError(f"'{path[:80]}' is not a path", "write for example site.facility_power")
    several, (found, rest) = ALL in steps, _roots(inputs, steps)
    for step in rest:
        found = [below for place in found for below in _below(inputs, place, step, several)]
    found = [place for place in found if not several or place.value is not None]
    if not found:
        raise NoPathError(f"nothing states '{path[:80]}'")
    return tuple(map(_value_of_figure, found))


def _roots(inputs: Inputs, steps: list[str]) -> tuple[list[Place], list[str]]:
    """The first places of a path, and the steps from there on."""
    root, name, *_ = (*steps, "")
    if root == "catalogs" or (root == PRICES and (not name or name.isdigit())):
        fix = "name them in a scenario of the problem file, and give --scenarios"
        named = "price books" if root == PRICES else root
        raise NoPathError(f"which {named} are read cannot be varied", fix)
    if root not in (CATALOG, PRICES):
        return [Place("", _slot_for(Problem), inputs.problem)], steps
    known: Mapping[str, Any] = inputs.prices
    if root == CATALOG:
        known = {**{family.id: family for family in inputs.families}, **inputs.by_id}
    if name not in (ALL, *known):
        fix = suggest(name, list(known))
        raise NoPathError(f"the files in use have no '{root}.{name[:60]}'", fix)
    if len(steps) < 3:
        fix = f"such as {root}.{name}.{'list' if root == PRICES else 'consumes.it_power'}"
        raise NoPathError(f"'{root}.{name}' is no single value", fix)
    kinds: dict[str, Any] = {each: type(part) for each, part in known.items()}
    having = [each for each, part in kinds.items() if field_of(part, steps[2])]
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
                raise NoPathError(f"'{place.path}' has no '{step[:60]}'", fix)
            missing = NOTHING_ASKED if place.path == "items" else None
            yield Place(path, slot, value.get(step, missing))
    elif not several:
        raise _not_given(place, step)


def _no_key(place: Place, model: type[BaseModel], step: str) -> NoPathError:
    """The error of an unknown key."""
    keys = list(documents.by_key(model))
    if model is Problem:
        keys = [key for key in keys if key not in ("catalogs", PRICES)] + [CATALOG, PRICES]
    where = f"'{place.path}'" if place.path else "the problem"
    fix = setting_successor([*place.path.split("."), step])
    if fix is None:
        fix = documents.suggest_key(step, keys, model) if model is Problem else suggest(step, keys)
    return NoPathError(f"{where} has no '{step[:60]}'", fix)


def _not_given(place: Place, step: str) -> NoPathError:
    """The error of a step below a single value, or below a part that is not given."""
    if not any(field_of(model, step) for model in place.slot.models):
        return NoPathError(f"'{place.path}' is a single value and has no '{step[:60]}'")
    is_now = "not given" if place.value is None else f"'{place.value}'"
    fix = "give the whole part in the file, where it can be varied then"
    return NoPathError(f"'{place.path}' is {is_now}, so it has no '{step}'", fix)


def _value_of_figure(place: Place) -> Place:
    """The place at the end of a path; of a figure that of its value."""
    value = place.value
    if isinstance(value, Figure):
        return Place(place.path, _slot_of(type(value), "value"), value.value)
    if value is None and any(issubclass(model, Figure) for model in place.slot.models):
        fix = "add the figure and its source to a catalog"
        raise NoPathError(f"no catalog states '{place.path}'", fix)
    return place


# A path and the texts that it takes.

_NUMBER = re.compile(
    r"\s*(x?)\s*([+-]?(?:\d{1,25}\.?\d{0,25}|\.\d{1,25})(?:[eE][+-]?\d{1,2})?)\s*(\S.*?)?\s*\Z",
    re.ASCII,
)


def factor(text: str) -> Decimal | None:
    """The factor of a text such as ``x0.8``, None for any other text."""
    match = _NUMBER.match(text) if text.startswith(FACTOR) else None
    return None if match is None or match[3] else Decimal(match[2])


class Reading(NamedTuple):
    """A text read as a ``value`` of the first place, and the changes that set it at all."""

    text: str
    changes: tuple[Change, ...]
    factor: float | None
    value: object


class Variable:
    """A path that is varied, in the inputs that it varies.

    Raises:
        NoPathError: the path leads nowhere.
    """

    def __init__(self, inputs: Inputs, path: str) -> None:
        self.places: tuple[Place, ...] = places(inputs, path)
        self.first = self.places[0]
        self.several = ALL in path.split(".")
        self.rates = inputs.problem.currencies
        self.path = path.strip() if self.several else self.first.path

    def text_of(self, number: float, *, factors: bool = False) -> str:
        """A number in the canonical unit, or a factor, as ``read`` takes it."""
        if not math.isfinite(number):
            return str(number)
        exact = Decimal(f"{number:.15g}")
        return f"x{exact:f}" if factors else self.first.slot.text_of(exact)

    def read(self, text: str, origin: str | None = None) -> Reading:
        """A text at every place of the path.

        Raises:
            InputError: it is refused; ``origin`` names it in findings.
        """
        share = factor(text) if self.first.slot.numeric else None
        try:
            own = [text if share is None else place.scaled(share) for place in self.places]
            known = list(zip(self.places, own, strict=True))
            values = [place.slot.read(each, self.rates) for place, each in known]
        except InputError as error:
            raise error.placed(file=origin, line=None, path=self.path) from None
        new = zip(known, values, strict=True)
        changes = tuple(Change(place.path, value, each) for (place, each), value in new)
        shown = text if self.several or share is None else changes[0].text
        return Reading(shown, changes, None if share is None else float(share), values[0])

    def takes(self, text: str) -> bool:
        """True if a text is a value here."""
        try:
            self.read(text)
        except InputError:
            return False
        return True

    def column(self, readings: Sequence[Reading]) -> tuple[str, tuple[Cell, ...]]:
        """The unit and cells of a column: of numbers, of factors, or of texts where they differ."""
        factors, values = [each.factor for each in readings], [each.value for each in readings]
        if self.several and None not in factors:
            return FACTOR, tuple(factors)
        numbers = self.first.slot.numeric and all(
            value is None or number_of(value) is not None for value in values
        )
        if numbers and not (self.several and any(factors)):
            return self.first.slot.column_unit, tuple(map(number_of, values))
        return "", tuple(None if each.value is None else each.text for each in readings)


# Ranges and lists of values.

MOST = 100_000
"""Scenarios of a sweep."""
_FORMS = "write LOW:HIGH:STEP, LOW:HIGH:log:COUNT or a,b,c"
_ROUNDING = Decimal("1e-9")
"""Distance from the end of a range, as a share of a step, within which the last step ends there."""


def _texts(spec: str, variable: Variable) -> Sequence[str]:
    """Values of a range or list, as texts."""
    parts = _split(spec, ",")
    if not all(parts):
        fix = f"{_FORMS}; null takes a value away"
        raise FixableError(f"'{clip(spec)}' has an empty value", fix)
    ends = [_split(part, ":") for part in parts]
    if not variable.first.slot.numeric or all(len(end) == 1 for end in ends):
        return parts
    if len(parts) > 1:
        raise FixableError(f"'{clip(spec)}' is a range and a list in one", _FORMS)
    return _range(ends[0], clip(spec), variable)


def _split(text: str, mark: str) -> list[str]:
    """Split a text at a mark outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[{") - (letter in "]}")
        if letter == mark and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _range(parts: list[str], spec: str, variable: Variable) -> tuple[str, ...]:
    """Values of a range, ends included, in the unit of its ends."""
    counted = len(parts) == 4 and parts[2] == "log"
    if not counted and len(parts) != 3:
        raise FixableError(f"'{spec}' is neither a range nor a list", _FORMS)
    (low, high, *step), unit, prefix = _numbers(parts[:2] if counted else parts, variable)
    size = 0
    if counted and re.fullmatch("[0-9]{1,9}", parts[3]) and low != high and min(low, high) > 0:
        size = int(parts[3])
    elif not counted and step[0] > 0:
        size = int(abs(high - low) / step[0] + _ROUNDING) + 1
    if size < 2:
        fix = (
            f"{_FORMS}; STEP above 0 and at most the difference, COUNT from 2, ends of log above 0"
        )
        raise FixableError(f"'{spec}' has no two values", fix)
    if size > MOST:
        raise FixableError(f"'{spec}' has more than {MOST:,} values", "take larger steps")
    if counted:
        ratio = math.log(high) - math.log(low)
        inner = (float(low) * math.exp(ratio * index / (size - 1)) for index in range(1, size - 1))
        numbers = [low, *(Decimal(f"{number:.12g}") for number in inner), high]
    else:
        numbers = [low + index * step[0] * (1 if high > low else -1) for index in range(size)]
    return tuple(f"{prefix}{_plain(number)} {unit}".rstrip() for number in numbers)


def _numbers(parts: list[str], variable: Variable) -> tuple[list[Decimal], str, str]:
    """Numbers of one unit, that unit, and ``x`` for factors; of several units, the canonical."""
    found = []
    for part in parts:
        match = _NUMBER.match(part)
        if match is None:
            raise FixableError(f"'{clip(part)}' is no number", _FORMS)
        found.append((match[1], Decimal(match[2]), match[3] or ""))
    prefixes, numbers, names = (list(column) for column in zip(*found, strict=True))
    if len(set(prefixes)) > 1 or (prefixes[0] and any(names)):
        fix = "write x0.8:x1.2:x0.1 for 80 % to 120 % of the present value"
        raise FixableError(f"'{':'.join(parts)}' is not a range of factors", fix)
    slot = variable.first.slot
    if len(set(names)) == 1 or slot.unit is None:
        return numbers, names[0], prefixes[0]
    each = [units.parse(part, slot.unit.dimension, variable.rates) for part in parts]
    return [Decimal(repr(number)) for number in each], slot.symbol, ""


# Axes.


class Axis(NamedTuple):
    """A direction of a grid: a variable, its readings, and the unit and cells of its column."""

    variable: Variable
    readings: tuple[Reading, ...]
    unit: str
    cells: tuple[Cell, ...]


def values(inputs: Inputs, option: str) -> Axis:
    """The axis of a ``PATH=SPEC``.

    Raises:
        InputError: it cannot be read, the path leads nowhere, or a value is refused.
    """
    origin = f"--vary {clip(option, 80)}"
    path, separator, spec = option.partition("=")
    if not separator or not path.strip() or not spec.strip():
        fix = "write for example --vary site.facility_power=5MW:20MW:1MW"
        raise InputError(Finding("vary", "not PATH=VALUES", origin, fix=fix))
    try:
        variable = Variable(inputs, path)
        texts = _texts(spec.strip(), variable)
    except FixableError as error:
        raise InputError(Finding("vary", str(error), origin, fix=error.fix)) from None
    readings = tuple(variable.read(text, origin) for text in texts)
    return Axis(variable, readings, *variable.column(readings))


def refuse_overlap(variables: Iterable[Variable]) -> None:
    """Refuse variables of which one would undo another.

    Raises:
        InputError: two of them replace the same value, or one a part of another.
    """
    paths = (place.path for each in variables for place in each.places)
    for before, path in pairwise(sorted(f"{path}." for path in paths)):
        if path.startswith(before):
            message = f"'{before[:-1]}' is varied twice"
            raise InputError(Finding("vary", message, fix="vary it once"))
