"""The rows of a sweep: read by what its columns are, and kept as Parquet and CSV.

The CSV has one record per line, the columns as the record names them. Text is quoted and no program
takes it for a formula; numbers are written as short as they can be to be read back the same. The
caller opens the stream: UTF-8, ``newline=""``. The Parquet is written and read some rows at a time.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from planner.outputs.bill import harmless
from planner.outputs.sensitivity_words import units
from planner.outputs.words import plain
from planner.schema.sensitivity import PLANNED, VARIED, Column, Sweep
from planner.whole_files import whole

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
    def said(self) -> str:
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
    """Return a cell's value, None for what is not a number."""
    return None if isinstance(value, float) and value != value else value


def cell(rows: Rows, name: str, place: int) -> Any:
    """Return a value by column and row, None where the table has no such column."""
    column = rows.get(name)
    return None if column is None else known(column[place])


def length(rows: Rows) -> int:
    """Return how many rows there are."""
    return min((len(column) for column in rows.values()), default=0)


def varied(study: Sweep, rows: Rows) -> list[Column]:
    """Return the inputs that take more than one value, or all where none does."""
    inputs = [column for column in study.columns if column.kind == "input"]
    moving = [c for c in inputs if len({known(value) for value in rows.get(c.name, ())}) > 1]
    return moving or inputs


def is_number(value: Any) -> bool:
    """Return whether a value is a number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def numeric(rows: Rows, column: Column) -> bool:
    """Return whether every value of an input is a number."""
    values = rows.get(column.name, ())
    return len(values) > 0 and all(is_number(known(value)) for value in values)


def write_value(value: Any) -> str:
    """Return the value of an input that is not a number everywhere."""
    value = known(value)
    if value is None:
        return "-"
    return plain(float(value)) if is_number(value) else str(value)


def bought(study: Sweep, rows: Rows, place: int) -> str:
    """Return what the plan of a row buys."""
    counts = {c.label: cell(rows, c.name, place) or 0 for c in study.columns if c.kind == "count"}
    return units(counts)


def stretches(study: Sweep, rows: Rows, over: Column) -> list[Stretch]:
    """Return where the plan changes along one input: purchase, GPUs in use, or that there is one.

    Args:
        study: what the columns are.
        rows: the table.
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
    """Return why rows have no plan, the most frequent reason first.

    Args:
        rows: the table.
        places: which of its rows, all by default.
    """
    told: dict[tuple[str, str], Counter[str]] = {}
    for place in range(length(rows)) if places is None else places:
        status, text = str(cell(rows, "status", place)), str(cell(rows, "reason", place) or "")
        if status not in PLANNED:
            told.setdefault((status, _NUMBER.sub("", text)), Counter())[text] += 1
    found = [
        NoPlanReason(status, next(iter(texts)), texts.total(), len(texts) > 1)
        for (status, _), texts in told.items()
    ]
    return sorted(found, key=lambda each: -each.rows)


def best(study: Sweep, rows: Rows) -> int | None:
    """Return the place of the row with the best objective, None where none can be told."""
    if study.objective == VARIED:
        return None
    sign = 1.0 if study.sense == "maximize" else -1.0
    there = [
        (sign * cell(rows, "objective", place), -place)
        for place in range(length(rows))
        if cell(rows, "objective", place) is not None
    ]
    return -max(there)[1] if there else None


_PLAIN = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
"""Names that need no quotes."""

_TYPES = {"int": pa.int64(), "float": pa.float64(), "str": pa.string()}
COMPRESSION = "zstd"


def write_csv(columns: Sequence[Column], rows: Iterable[Mapping[str, Any]], stream: TextIO) -> int:
    """Write a table row by row, as they come; return how many there were.

    Args:
        columns: what stands in a row, in this order.
        rows: values by the names of columns; what is missing or None is an empty cell.
        stream: where the text goes.
    """
    count = -1  # the heads are no row
    for record in _records([column.name for column in columns], rows):
        stream.write(record)
        count += 1
    return count


def _records(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    yield _record(name if _PLAIN.fullmatch(name) else _quoted(name) for name in names)
    for row in rows:
        yield _record(_cell(row.get(name)) for name in names)


def _record(cells: Iterable[str]) -> str:
    return ",".join(cells) + "\n"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        # As a plain float: those of numpy would name their type.
        return float.__repr__(value) if math.isfinite(value) else ""
    if isinstance(value, str):
        return _quoted(value) if value else ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    return "" if value is None else _cell(float(value) if isinstance(value, Real) else str(value))


@lru_cache(maxsize=4096)
def _quoted(text: str) -> str:
    return '"' + harmless(text).replace('"', '""') + '"'


def table_schema(columns: Sequence[Column], types: Mapping[str, str]) -> pa.Schema:
    """Return the Parquet schema of columns; each field tells its label, unit, kind and path."""
    fields = []
    for column in columns:
        told = {key: str(value) for key, value in column.model_dump().items() if value}
        fields.append(pa.field(column.name, _TYPES[types[column.name]], metadata=told))
    return pa.schema(fields, metadata={"columns": json.dumps([c.name for c in columns])})


class Writer:
    """A Parquet file that grows by groups of rows."""

    def __init__(self, path: Path, of: pa.Schema) -> None:
        self._schema = of
        self._file = pq.ParquetWriter(path, of, compression=COMPRESSION)

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add a group of rows; what a row does not have is empty."""
        names = self._schema.names
        arrays = [
            pa.array([row.get(name) for row in rows], type=self._schema.field(name).type)
            for name in names
        ]
        self._file.write_table(pa.Table.from_arrays(arrays, schema=self._schema))

    def close(self) -> None:
        """Write what ends the file."""
        self._file.close()


def save(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows with whatever columns they have."""
    pq.write_table(pa.Table.from_pylist(list(rows), schema=_loose(rows)), path)


def _loose(rows: Iterable[Mapping[str, Any]]) -> pa.Schema:
    kinds: dict[str, type] = {}
    for row in rows:
        for name, value in row.items():
            if value is not None and kinds.get(name) is not float:
                kinds[name] = type(value)
    names = {int: pa.int64(), float: pa.float64(), str: pa.string()}
    return pa.schema([pa.field(name, names[kind]) for name, kind in sorted(kinds.items())])


def load(path: Path) -> list[dict[str, Any]]:
    """Return all rows of a file."""
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


def names(path: Path) -> list[str]:
    """Return the names of a file's columns."""
    found: list[str] = pq.read_schema(path).names
    return found


def columns_of(path: Path, most: int | None = None) -> dict[str, list[Any]]:
    """Return the columns of a file by name, of the first rows only where ``most`` is given."""
    if most is None:
        return dict(pq.read_table(path).to_pydict())
    rows = next(pq.ParquetFile(path).iter_batches(batch_size=max(1, most)), None)
    return {} if rows is None else dict(rows.to_pydict())


def batches(path: Path) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a file, some at a time."""
    for batch in pq.ParquetFile(path).iter_batches():
        yield batch.to_pylist()


@dataclass(frozen=True)
class Counted:
    """The rows that were written, by status and by certificate, and the first of them by column."""

    statuses: Counter[str]
    proofs: Counter[str]
    first: dict[str, list[Any]]


def write_files(
    parquet: Path,
    csv: Path,
    columns: Sequence[Column],
    types: Mapping[str, str],
    blocks: Iterable[Sequence[Mapping[str, Any]]],
    shown: int,
) -> Counted:
    """Write a table in both forms and return what is in it.

    Args:
        parquet: where the Parquet file goes.
        csv: where the CSV file goes.
        columns: what stands in a row, in this order.
        types: what each column holds.
        blocks: rows by the names of columns, some at a time.
        shown: so many of the first rows are returned.

    Raises:
        InputError: a file cannot be written, or the disk is full; the former files then stay.
    """
    statuses: Counter[str] = Counter()
    proofs: Counter[str] = Counter()

    def counted() -> Iterator[Sequence[Mapping[str, Any]]]:
        for rows in blocks:
            statuses.update(row["status"] for row in rows)
            proofs.update(row.get("certificate") or "" for row in rows)
            yield rows

    with whole((parquet, csv)) as (one, other):
        _write(one, other, columns, types, counted())
        # Now, since from where the file goes nothing may come back: it can be a pipe.
        first = columns_of(one, shown)
    return Counted(statuses, proofs, first)


def _write(
    parquet: Path,
    csv: Path,
    columns: Sequence[Column],
    types: Mapping[str, str],
    blocks: Iterable[Sequence[Mapping[str, Any]]],
) -> None:
    schema = table_schema(columns, types)
    with ExitStack() as stack:
        table = stack.enter_context(closing(Writer(parquet, schema)))
        stream = stack.enter_context(csv.open("w", encoding="utf-8", newline=""))
        write_csv(columns, (), stream)
        for rows in blocks:
            table.write(rows)
            text = io.StringIO()
            write_csv(columns, rows, text)
            stream.write(text.getvalue().partition("\n")[2])
        stream.flush()
        os.fsync(stream.fileno())
