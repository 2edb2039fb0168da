"""The table of a sweep as Parquet and CSV at once, block by block, whole or not at all.

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
from planner.schema.sensitivity import Column
from planner.whole_files import whole

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
