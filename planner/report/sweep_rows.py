"""The rows of a sweep, read by what its columns are: stretches of one plan, reasons, the best."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from planner.report.sensitivity_words import units
from planner.report.words import plain
from planner.schema.analysis import (
    PLANNED,
    VARIED,
    Column,
    Sweep,
)

Rows = Mapping[str, Sequence[Any]]
"""Columns by name."""


_NUMBER = re.compile(r"\d[\d.,]*(?: (?:[kMB]?[A-Z]{3}|[kM]?W|[TP]B|GB/s|s|min|h|days?|%)(?!\w))?")


@dataclass(frozen=True)
class NoPlanReason:
    """Why rows have no plan: the text of the first of them, and how many say so.

    They may differ in its numbers; ``example`` says whether they do.
    """

    status: str
    text: str
    rows: int
    example: bool

    @property
    def in_words(self) -> str:
        """The text, as an example where other rows have other numbers in it."""
        return f"for example {self.text}" if self.example else self.text


@dataclass(frozen=True)
class Stretch:
    """Neighbouring values of an input at which the plan is the same, or there is none.

    ``first`` and ``last`` are places of rows; ``rows`` how many there are from one to the other.
    ``reasons`` say why there is no plan.
    """

    first: int
    last: int
    rows: int
    status: str
    reasons: tuple[NoPlanReason, ...] = ()


def known(value: Any) -> Any:
    """A cell's value, None for what is not a number."""
    return None if isinstance(value, float) and value != value else value


def cell(rows: Rows, name: str, place: int) -> Any:
    """A value by column and row, None where the table has no such column."""
    column = rows.get(name)
    return None if column is None else known(column[place])


def length(rows: Rows) -> int:
    """The number of rows."""
    return min((len(column) for column in rows.values()), default=0)


def varied(study: Sweep, rows: Rows) -> list[Column]:
    """The inputs that take more than one value, or all where none does."""
    inputs = [column for column in study.columns if column.kind == "input"]
    moving = [c for c in inputs if len({known(value) for value in rows.get(c.name, ())}) > 1]
    return moving or inputs


def is_number(value: Any) -> bool:
    """Whether a value is a number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def numeric(rows: Rows, column: Column) -> bool:
    """Whether every value of an input is a number."""
    values = rows.get(column.name, ())
    return len(values) > 0 and all(is_number(known(value)) for value in values)


def write_value(value: Any) -> str:
    """The value of an input that is not a number everywhere."""
    value = known(value)
    if value is None:
        return "-"
    return plain(float(value)) if is_number(value) else str(value)


def bought(study: Sweep, rows: Rows, place: int) -> str:
    """The purchase of a row."""
    counted = [column for column in study.columns if column.kind == "count"]
    counts = {column.name: cell(rows, column.name, place) or 0 for column in counted}
    return units(counts, {column.name: column.label for column in counted})


def stretches(study: Sweep, rows: Rows, over: Column) -> list[Stretch]:
    """Stretches of one input with the same purchase, GPUs in use and status.

    Args:
        over: the input, which has numbers alone.
    """
    names = ("gpus_in_use", *(c.name for c in study.columns if c.kind == "count"))
    values = rows[over.name]
    found: list[tuple[object, list[int]]] = []
    for place in sorted(range(length(rows)), key=lambda row: values[row]):
        status = str(cell(rows, "status", place))
        plan = tuple(cell(rows, name, place) or 0 for name in names) if status in PLANNED else ()
        if not found or found[-1][0] != (status, plan):
            found.append(((status, plan), []))
        found[-1][1].append(place)
    return [_stretch(rows, places) for _, places in found]


def _stretch(rows: Rows, places: Sequence[int]) -> Stretch:
    status = str(cell(rows, "status", places[0]))
    why = () if status in PLANNED else tuple(e for e in reasons(rows, places) if e.text)
    return Stretch(places[0], places[-1], len(places), status, why)


def reasons(rows: Rows, places: Iterable[int] | None = None) -> list[NoPlanReason]:
    """Reasons of rows without a plan, the most frequent first.

    Args:
        places: which of its rows, all by default.
    """
    counts: dict[tuple[str, str], Counter[str]] = {}
    for place in range(length(rows)) if places is None else places:
        status, text = str(cell(rows, "status", place)), str(cell(rows, "reason", place) or "")
        if status not in PLANNED:
            counts.setdefault((status, _NUMBER.sub("", text)), Counter())[text] += 1
    found = [
        NoPlanReason(status, next(iter(texts)), texts.total(), len(texts) > 1)
        for (status, _), texts in counts.items()
    ]
    return sorted(found, key=lambda each: -each.rows)


def best(study: Sweep, rows: Rows) -> int | None:
    """The place of the row with the best objective, None where none can be told."""
    if study.objective == VARIED:
        return None
    sign = 1.0 if study.sense == "maximize" else -1.0
    there = [
        (sign * cell(rows, "objective", place), -place)
        for place in range(length(rows))
        if cell(rows, "objective", place) is not None
    ]
    return -max(there)[1] if there else None
