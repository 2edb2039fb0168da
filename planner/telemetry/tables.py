"""Traces in tables: CSV and Parquet, read in pieces, a cluster at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as parquet

from planner.errors import Finding, InputError
from planner.telemetry.columns import Columns, find
from planner.telemetry.options import ReadOptions
from planner.telemetry.raw import Raw

DATED_FROM_S = 5e8
"""Numbers above this are taken for seconds since 1970 (it was 1985); smaller ones have no date."""

_BLOCK_BYTES = 8 << 20
_LARGE_BYTES = 256 << 20
_BATCH_ROWS = 1 << 18
_EMPTY = ["", "NaN", "nan", "NA", "N/A", "null", "NULL", "None", "-"]
_ROW = re.compile(r"Row #(\d+): (.*)", re.DOTALL)
_ZONED = re.compile(r"(Z|[+-]\d\d:?\d\d)$")
_NUMBER = re.compile(r"[+-]?[\d.]+([eE][+-]?\d+)?$")


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


PARQUET = {".parquet", ".pq"}


class CsvTable:
    """A CSV file with a line of names."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path = path
        head = _first_lines(path)
        self.columns = find(head[0], options, str(path))
        self._types = {name: pa.float64() for name in (self.columns.write, self.columns.read)}
        self._types[self.columns.time] = _time_type(head, self.columns.time)
        if self.columns.cluster is not None:
            self._types[self.columns.cluster] = pa.string()

    def contiguous(self) -> bool:
        """Return whether no cluster's rows go on after another's began; small files are not read
        twice to know it.
        """
        cluster = self.columns.cluster
        if cluster is None or self.path.stat().st_size < _LARGE_BYTES:
            return cluster is None
        return _unbroken(piece.column(0) for piece in self._read([cluster]))

    def pieces(self) -> Iterator[pa.RecordBatch]:
        """Yield its rows in order.

        Raises:
            InputError: a row is broken, named by its line.
        """
        return self._read(self.columns.names)

    def _read(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        types = {name: kind for name, kind in self._types.items() if name is not None}
        convert = csv.ConvertOptions(column_types=types, include_columns=names, null_values=_EMPTY)
        read = csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES)
        try:
            yield from csv.open_csv(self.path, read_options=read, convert_options=convert)
        except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
            raise _broken(self.path, error) from None


def _first_lines(path: Path) -> tuple[list[str], list[str]]:
    """Return the cells of the first line and of the first row below it."""
    import csv as plain

    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            lines = plain.reader(stream)
            names, first = next(lines, []), next(lines, [])
    except (OSError, UnicodeDecodeError, plain.Error) as error:
        raise unreadable(path, error) from None
    if not first:
        message = "no rows" if names else "the file is empty"
        fix = "a trace has a line of names and a line per sample"
        raise InputError(Finding("trace", message, str(path), 1, fix=fix))
    return [name.strip() for name in names], first


def unreadable(path: Path, error: Exception) -> InputError:
    """Return what to say of a file that cannot be read at all."""
    if isinstance(error, FileNotFoundError):
        return InputError(Finding("file", "no such file", str(path)))
    reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
    message = f"cannot be read: {str(reason)[:160].lower()}"
    fix = "give a CSV, Parquet or HDF5 file"
    return InputError(Finding("trace", message, str(path), fix=fix))


def _broken(path: Path, error: Exception) -> InputError:
    text = " ".join(str(error).split())
    match = _ROW.search(text)
    line = int(match[1]) if match else None
    said = match[2] if match else text
    wrong = re.search(r"conversion error to (\w+).*: invalid value '(.{0,60})", said)
    if wrong:
        kind = "a number" if wrong[1] == "double" else "a time"
        cell = wrong[2].rstrip("'")
        return InputError(Finding("trace", f"'{cell}' is not {kind}", str(path), line))
    return InputError(Finding("trace", said[:200], str(path), line))


def _time_type(head: tuple[list[str], list[str]], name: str) -> Any:
    place = head[0].index(name)
    cell = head[1][place].strip() if place < len(head[1]) else ""
    if _NUMBER.match(cell):
        return pa.float64()
    return pa.timestamp("us", tz="UTC") if _ZONED.search(cell) else pa.timestamp("us")


class ParquetTable:
    """A Parquet file."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path = path
        try:
            self._file = parquet.ParquetFile(path, pre_buffer=False)  # it would keep all it reads
        except (OSError, pa.ArrowInvalid) as error:
            raise unreadable(path, error) from None
        self.columns = find(self._file.schema_arrow.names, options, str(path))
        for name in (self.columns.write, self.columns.read):
            if name is not None:
                self._must_hold_numbers(name)

    def _must_hold_numbers(self, name: str) -> None:
        kind = self._file.schema_arrow.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            message = f"column '{name}' holds {kind}, not numbers"
            raise InputError(Finding("trace", message, str(self.path)))

    def contiguous(self) -> bool:
        """Return whether no cluster's rows go on after another's began."""
        if self.columns.cluster is None:
            return True
        batches = self._file.iter_batches(_BATCH_ROWS, columns=[self.columns.cluster])
        return _unbroken(batch.column(0) for batch in batches)

    def pieces(self) -> Iterator[pa.RecordBatch]:
        """Yield its rows in order."""
        try:
            yield from self._file.iter_batches(_BATCH_ROWS, columns=self.columns.names)
        except (OSError, pa.ArrowInvalid) as error:
            raise unreadable(self.path, error) from None


def _unbroken(pieces: Iterable[Any]) -> bool:
    """Return whether no value of a column comes again after another one."""
    seen: set[str | None] = set()
    last: str | None = None
    for piece in pieces:
        for run in _runs(piece):
            if run != last and run in seen:
                return False
            seen.add(run)
            last = run
    return True


def _runs(column: Any) -> list[str | None]:
    """Return the values of a column, neighbours that are equal once."""
    codes = column.dictionary_encode()
    index = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    starts = np.flatnonzero(np.diff(index, prepend=index[:1] - 1))
    names = codes.dictionary.cast(pa.string()).to_pylist()
    return [names[index[start]] if index[start] >= 0 else None for start in starts]


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
    while held:
        yield _joined(held, table.columns, path)


def _by_cluster(
    piece: pa.RecordBatch, columns: Columns, stem: str
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    dtype = np.float32 if columns.is_rate else np.float64
    time, dated = _seconds(piece.column(columns.time))
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


def _seconds(column: Any) -> tuple[Any, bool]:
    """Return times in seconds, NaN where there is none, and whether they have a date."""
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
    largest = float(np.nanmax(np.abs(seconds))) if len(seconds) else 0.0
    for scale in (1e9, 1e6, 1e3):  # nanoseconds, microseconds, milliseconds since 1970
        if largest > DATED_FROM_S * scale:
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


__all__: Sequence[str] = ("DATED_FROM_S", "PARQUET", "opened", "read", "unreadable")
