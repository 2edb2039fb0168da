"""What may stand at one place of the input: its parser, its unit, its numbers as text."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError, create_model

from planner import units
from planner.errors import Finding
from planner.loader import locate, yaml12
from planner.loader.yaml12 import Document
from planner.schema.base import Model, Unit
from planner.schema.prices import SupportMoney, SupportShare

Cell = float | int | str | bool | None
"""What stands in an input column of a table."""

_TEXT = re.compile(r"-?\d{1,30}(\.\d{1,30})? [A-Za-z%][A-Za-z%/]{0,20}\Z")
_WHOLE = re.compile(r"-?\d{1,18}\Z")
_DECIMAL = re.compile(r"-?\d{1,30}\.\d{1,30}\Z")


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
    nothing: bool

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

    def read(self, raw: Any) -> Any:
        """Return the value of what a file has here, as the file's own reading gives it.

        Raises:
            ValidationError: it is refused.
        """
        return self.model.model_validate({"value": raw}).value  # type: ignore[attr-defined]

    def faults(self, error: ValidationError, raw: Any) -> list[Finding]:
        """Return what is wrong with a value that was refused, as of a file."""
        return locate.findings(error, Document("", {"value": raw}), self.model)

    def inside(self) -> tuple[Any, Slot] | None:
        """Return the type of the keys and the slot of the entries of a mapping or list."""
        for kind, _ in _kinds(self.annotation):
            origin, parts = get_origin(kind), get_args(kind)
            if origin in (dict, Mapping):
                return parts[0], slot_for(parts[1])
            if origin is tuple:
                return int, slot_for(parts[0])
        return None


@lru_cache(maxsize=4096)
def slot_of(model: type[BaseModel], name: str) -> Slot:
    """Return the slot of a field."""
    field = model.model_fields[name]
    marks: tuple[Any, ...] = tuple(field.metadata)
    if field.discriminator is not None:
        marks = (Field(discriminator=field.discriminator), *marks)
    annotation: Any = field.annotation
    return slot_for(Annotated[(annotation, *marks)] if marks else annotation)


def slot_for(annotation: Any) -> Slot:
    """Return the slot of a type."""
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
        nothing=len(some) < len(kinds),
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
    """Return what a file would have for a text, as ``--set`` reads it.

    Raises:
        InputError: it is not readable as YAML.
    """
    if _TEXT.match(text):
        return text
    if _WHOLE.match(text):
        return int(text)
    return float(text) if _DECIMAL.match(text) else yaml12.scalar(text, "")


def plain(number: Decimal) -> str:
    """Return a number without exponent and without zeros that say nothing."""
    return format(number.normalize(), "f") if number else "0"


def number_of(value: Any) -> float | int | None:
    """Return the number that a value is, in its canonical unit, or None."""
    if isinstance(value, SupportShare):
        return value.share
    if isinstance(value, SupportMoney):
        return value.usd
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if known else None


def symbol_of(value: Any, slot: Slot) -> str:
    """Return the canonical unit of a value's number."""
    if isinstance(value, (SupportShare, SupportMoney)):
        return "USD" if isinstance(value, SupportMoney) else ""
    return slot.symbol


def shown_unit(value: Any, slot: Slot) -> str:
    """Return the unit of a value's number as a table names it: shares are called so."""
    if isinstance(value, SupportShare) or (slot.unit and slot.unit.dimension is units.SHARE):
        return "share"
    return symbol_of(value, slot)


def written(number: Decimal, slot: Slot, like: Any = None) -> str:
    """Return a number in the canonical unit of a slot as a file has it.

    Args:
        number: in the canonical unit.
        slot: where it is to stand.
        like: the value that stands there, which tells shares of support from amounts.
    """
    if isinstance(like, SupportShare):
        return f"{plain(100 * number)} %"
    return f"{plain(number)} {symbol_of(like, slot)}".rstrip()


def short(value: Any, most: int = 80) -> str:
    """Return a value that is no number as one short text, as a file would have it."""
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
