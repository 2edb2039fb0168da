"""The table of a sweep as Parquet, written and read some rows at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from planner.schema.sensitivity import Column

_TYPES = {"int": pa.int64(), "float": pa.float64(), "str": pa.string()}
COMPRESSION = "zstd"


def schema(columns: Sequence[Column], types: Mapping[str, str]) -> pa.Schema:
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
