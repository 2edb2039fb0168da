"""The table of a sweep as Parquet and CSV at once, whole or not at all.

The CSV has one record per line, the columns as the record names them. Text is quoted and no program
takes it for a formula; numbers are written as short as they can be to be read back the same. The
caller opens the stream: UTF-8, ``newline=""``.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from numbers import Integral, Real
from operator import index
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from planner.atomic_files import whole
from planner.report.bill import harmless
from planner.schema.analysis import Column

_PLAIN = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
"""Names that need no quotes."""

_TYPES = {"int": pa.int64(), "float": pa.float64(), "str": pa.string()}
COMPRESSION = "zstd"
ROWS = 2_000
"""So many rows are written together."""

Values = Mapping[str, Sequence[Any]]
"""Columns of a table by their names, of as many rows each."""


def write_csv(columns: Sequence[Column], rows: Iterable[Mapping[str, Any]], stream: TextIO) -> int:
    """Write a table some rows at a time, as they come; return how many there were.

    Args:
        columns: what stands in a row, in this order.
        rows: values by the names of columns; what is missing or None is an empty cell.
    """
    names = [column.name for column in columns]
    _write_heads(names, stream)
    count, waiting = 0, iter(rows)
    while some := list(islice(waiting, ROWS)):
        _write_records([[row.get(name) for row in some] for name in names], stream)
        count += len(some)
    return count


def _write_heads(names: Iterable[str], stream: TextIO) -> None:
    heads = (name if _PLAIN.fullmatch(name) else _quoted(name) for name in names)
    stream.write(",".join(heads) + "\n")


def _write_records(columns: Iterable[Sequence[Any]], stream: TextIO) -> None:
    """Write a record for each place of some columns."""
    cells = [_cells(values) for values in columns]
    stream.writelines(",".join(record) + "\n" for record in zip(*cells, strict=True))


def _cells(values: Sequence[Any]) -> list[str]:
    """The cells of a column: each value is written once, where they are of one type."""
    if set(map(type, values)) - {type(None)} in ({float}, {int}, {str}):
        known = _Known()
        return [known[value] for value in values]
    return [_cell(value) for value in values]


class _Known(dict[Any, str]):
    """The cells of values; not of zeros, of which there are two that are equal."""

    def __missing__(self, value: Any) -> str:
        cell = _cell(value)
        if value != 0:
            self[value] = cell
        return cell


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
    """The Parquet schema of columns; each field tells its label, unit, kind and path."""
    fields = []
    for column in columns:
        metadata = {key: str(value) for key, value in column.model_dump().items() if value}
        fields.append(pa.field(column.name, _TYPES[types[column.name]], metadata=metadata))
    return pa.schema(fields, metadata={"columns": json.dumps([c.name for c in columns])})


_PLAIN_TYPES = {pa.int64(): np.int64, pa.float64(): np.float64}


def _array(values: Sequence[Any], of: pa.DataType) -> pa.Array:
    """A column as an array; None is empty.

    By its buffers: what makes arrays of Python's values first looks for pandas, whose import takes
    longer than writing a table.
    """
    empty, known = values.count(None), None
    if empty:
        there = np.fromiter((value is not None for value in values), np.bool_, len(values))
        known = pa.py_buffer(np.packbits(there, bitorder="little"))
    if of in _PLAIN_TYPES:
        numbers = (0 if value is None else value for value in values) if empty else values
        whole_numbers = map(index, numbers) if of == pa.int64() else numbers
        data = np.fromiter(whole_numbers, _PLAIN_TYPES[of], len(values))
        return pa.Array.from_buffers(of, len(values), [known, pa.py_buffer(data)], empty)
    texts = [b"" if value is None else value.encode() for value in values]
    ends = np.zeros(len(texts) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, texts), np.int32, len(texts)), out=ends[1:])
    buffers = [known, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(of, len(values), buffers, empty)


def _listed(column: Any) -> list[Any]:
    """The values of a column; those of numbers at once where none is missing."""
    if column.null_count or column.type not in _PLAIN_TYPES:
        return list(column.to_pylist())
    found: list[Any] = []
    for chunk in getattr(column, "chunks", [column]):
        if len(chunk):
            numbers = np.frombuffer(chunk.buffers()[1], _PLAIN_TYPES[column.type])
            found += numbers[chunk.offset : chunk.offset + len(chunk)].tolist()
    return found


def write_files(
    parquet: Path, csv: Path, columns: Sequence[Column], types: Mapping[str, str], values: Values
) -> None:
    """Write a table in both forms.

    Args:
        parquet: where the Parquet file goes.
        csv: where the CSV file goes.
        columns: what stands in a row, in this order.
        types: "int", "float" or "str" by column.
        values: columns by their names.

    Raises:
        InputError: a file cannot be written, or the disk is full; the former files then stay.
    """
    schema = table_schema(columns, types)
    arrays = [_array(values[field.name], field.type) for field in schema]
    with whole((parquet, csv)) as (one, other):
        table = pa.Table.from_arrays(arrays, schema=schema)
        pq.write_table(table, one, compression=COMPRESSION, row_group_size=20_000)
        with other.open("w", encoding="utf-8", newline="") as stream:
            _write_heads(schema.names, stream)
            _write_records([values[name] for name in schema.names], stream)
            stream.flush()
            os.fsync(stream.fileno())
