"""Traces in tables: CSV and Parquet, read in pieces, a cluster at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from planner.errors import Finding, InputError
from planner.telemetry.columns import Columns
from planner.telemetry.csv_table import CsvTable
from planner.telemetry.options import ReadOptions
from planner.telemetry.parquet_table import PARQUET, ParquetTable
from planner.telemetry.raw import DATED_FROM_S, Raw


class Table(Protocol):
    """A file of columns that is read in pieces."""

    columns: Columns

    def pieces(self) -> Iterator[pa.RecordBatch]:
        """Yield its rows in order, only the columns that are wanted."""

    def contiguous(self) -> bool:
        """Return whether each cluster's rows are known to stand together."""


def opened(path: Path, options: ReadOptions) -> Table:
    """Return a table by its file's ending.

    Raises:
        InputError: it cannot be read, or a column is missing.
    """
    return (ParquetTable if path.suffix.lower() in PARQUET else CsvTable)(path, options)


def read(path: Path, options: ReadOptions) -> Iterator[Raw]:
    """Yield each cluster of a table; as soon as it is whole where the table's order allows.

    Raises:
        InputError: the file, a column or a cell is wrong.
    """
    table = opened(path, options)
    early = table.contiguous()
    held: dict[str, list[tuple[Any, ...]]] = {}
    for piece in table.pieces():
        for cluster, rows in _by_cluster(piece, table.columns, path.stem.removesuffix(".trace")):
            if early and held and cluster not in held:
                yield _joined(held, table.columns, path)
            held.setdefault(cluster, []).append(rows)
    if not held:
        fix = "a trace has a row per sample"
        raise InputError(Finding("trace", "no rows", str(path), fix=fix))
    while held:
        yield _joined(held, table.columns, path)


def _by_cluster(
    piece: pa.RecordBatch, columns: Columns, stem: str
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    dtype = np.float32 if columns.is_rate else np.float64
    time, dated = _seconds(piece.column(columns.time), columns.time_unit_s)
    with np.errstate(over="ignore"):  # what is beyond all reason becomes infinite, so missing
        figures = [
            _numbers(piece.column(name)).astype(dtype)
            for name in (columns.write, columns.read)
            if name is not None
        ]
    if columns.cluster is None:
        yield stem, (dated, time, *figures)
        return
    codes = piece.column(columns.cluster).cast(pa.string()).fill_null("").dictionary_encode()
    index = codes.indices.to_numpy()
    for code, name in enumerate(codes.dictionary.to_pylist()):
        chosen = index == code
        yield name or stem, (dated, time[chosen], *(each[chosen] for each in figures))


def _numbers(column: Any) -> Any:
    return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _seconds(column: Any, unit_s: float | None) -> tuple[Any, bool]:
    """Return times in seconds, NaN where there is none, and whether they have a date.

    Args:
        column: times with a date, or numbers.
        unit_s: the unit of numbers; None for seconds, or what suits a date since 1970.
    """
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = pc.cast(column, pa.timestamp("us", tz="UTC"))
        kind = column.type
    if pa.types.is_date(kind):
        column, kind = column.cast(pa.timestamp("us")), pa.timestamp("us")
    if pa.types.is_timestamp(kind):
        whole = column.cast(pa.timestamp("us", tz=kind.tz)).cast(pa.int64())
        return _numbers(whole) / 1e6, True
    seconds = _numbers(column)
    if unit_s is not None:
        seconds = seconds * unit_s
    largest = float(np.abs(seconds[np.isfinite(seconds)]).max(initial=0.0))
    for scale in (1e9, 1e6, 1e3):  # nanoseconds, microseconds, milliseconds since 1970
        if unit_s in (None, 1.0) and largest > DATED_FROM_S * scale:
            return seconds / scale, True
    return seconds, largest > DATED_FROM_S


def _joined(held: dict[str, list[tuple[Any, ...]]], columns: Columns, path: Path) -> Raw:
    cluster = next(iter(held))
    parts = held.pop(cluster)
    dated = all(part[0] for part in parts)
    arrays = [np.concatenate(each) for each in list(zip(*parts, strict=True))[1:]]
    parts.clear()
    for figures in arrays[1:]:
        figures *= figures.dtype.type(columns.to_gb)
    read_ = arrays[2] if columns.read is not None else None
    return Raw(cluster, str(path), arrays[0], arrays[1], read_, columns.is_rate, dated)
