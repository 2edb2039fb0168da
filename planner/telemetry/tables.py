"""Traces in tables: read in pieces, a cluster at a time, whatever the format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from planner.foreign_files import regular
from planner.telemetry import excel_json
from planner.telemetry.cells import Cells
from planner.telemetry.columns import Columns
from planner.telemetry.csv_parquet import MOST_CLUSTERS, PACKED, CsvTable, ParquetTable
from planner.telemetry.raw import (
    MOST_SAMPLES,
    Numbers,
    Raw,
    ReadOptions,
    refusal,
    too_long,
    unreadable,
)

_MOST_BYTES = 64_000_000_000
_MOST_HELD, _MOST_NAME = 60_000_000, 100
_PARTIAL = 0.2
"""A larger share of times at which some rows are missing tells that they are not of one time."""

_MIXED = 0.5
"""Where hosts change from more of the rows to the next, they were written down in turn."""

_HEAD_BYTES = 1 << 16
_ENDINGS = {
    ".parquet": "parquet", ".pq": "parquet", ".xlsx": "book", ".xlsm": "book", ".json": "json",
    ".jsonl": "json", ".ndjson": "json",
}  # fmt: skip
_STARTS = (
    (b"PAR1", "parquet"),
    (b"PK\x03\x04", "zip"),
    (b"\xd0\xcf\x11\xe0", "old"),
    (b"\x1f\x8b", "gzip"),
    (b"{", "json"),
    (b"[", "json"),
)


class TraceTable(Protocol):
    """A file of columns that is read in pieces."""

    columns: Columns
    first_line: int | None

    def pieces(self) -> Iterator[pa.RecordBatch]:
        """Yield its rows in order, only the columns that are wanted."""

    def contiguous(self) -> bool:
        """Return whether each cluster's rows are known to stand together."""


def open_table(path: Path, options: ReadOptions) -> TraceTable:
    """Return a table by how its file begins, else by its ending.

    Raises:
        InputError: it cannot be read, or a column is missing.
    """
    regular(path, most_bytes=_MOST_BYTES, what="trace")
    try:
        with pa.input_stream(path, compression="detect") as stream:
            head = stream.read(_HEAD_BYTES)
    except (OSError, pa.ArrowException, MemoryError) as error:
        raise unreadable(path, error) from None
    kind = _kind(path, head)
    if path.suffix.lower() in PACKED and kind in ("parquet", "book"):
        raise refusal(path, "is packed twice", "unpack it first")
    if kind == "parquet":
        return ParquetTable(path, options)
    if kind == "book":
        return excel_json.book(path, options)
    if kind == "json":
        text = head.decode("utf-8-sig", errors="replace")
        if excel_json.is_lines(text):
            return excel_json.JsonLines(path, options, text)
        return excel_json.whole_json(path, options)
    return CsvTable(path, options)


def _kind(path: Path, head: bytes) -> str:
    ending = path.suffix.lower()
    begin = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    kind = next((kind for start, kind in _STARTS if begin.startswith(start)), None)
    if kind == "zip":
        if b"xl/" in head or ending in (".xlsx", ".xlsm"):
            return "book"
        raise refusal(path, "is a zip archive", "unpack it and give the table in it")
    if kind == "old":
        raise refusal(path, "is an Excel file of the old kind", "save it as .xlsx or CSV")
    if kind == "gzip":
        message, fix = "is packed by gzip, and its name does not end in .gz", "rename or unpack it"
        raise refusal(path, message, fix)
    return kind or _ENDINGS.get(ending, "csv")


def read(path: Path, options: ReadOptions) -> Iterator[Raw]:
    """Yield each cluster of a table; as soon as it is whole where the table's order allows.

    Raises:
        InputError: the file, a column or a cell is wrong.
    """
    table = open_table(path, options)
    cells = Cells(table.columns, options, str(path), table.first_line)
    early = table.contiguous()
    held = _Held(path, options, cells, table.columns)
    for piece in table.pieces():
        for cluster, rows in held.split(piece):
            if early and held.parts and cluster not in held.parts:
                yield held.whole()
            held.add(cluster, rows)
    if not held.parts:
        raise refusal(path, "no rows", "a trace has a row per sample")
    while held.parts:
        yield held.whole()


class _Held:
    """Rows of the clusters that are not whole yet."""

    def __init__(self, path: Path, options: ReadOptions, cells: Cells, columns: Columns) -> None:
        self.parts: dict[str, list[tuple[Any, ...]]] = {}
        self._path, self._options, self._cells, self._columns = path, options, cells, columns
        self._apart: dict[str, str] = {}
        self._rows = 0

    def split(self, piece: pa.RecordBatch) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Yield the rows of each cluster in a piece."""
        dated, time, figures = self._cells.read(piece)
        try:
            yield from self._split(piece, dated, time, figures)
        except (pa.ArrowException, UnicodeDecodeError) as error:  # names that are no text
            raise unreadable(self._path, error) from None

    def _split(
        self, piece: pa.RecordBatch, dated: bool, time: Numbers, figures: list[Numbers]
    ) -> Iterator[tuple[str, tuple[Any, ...]]]:
        columns = self._columns
        write = _add_up(figures[: len(columns.writes)])
        arrays = [time, write]
        if columns.reads:
            arrays.append(_add_up(figures[len(columns.writes) :]))
        dtype = np.float32 if self._cells.is_rate else np.float64
        with np.errstate(over="ignore"):  # what is beyond all reason becomes infinite, so missing
            arrays[1:] = [each.astype(dtype, copy=False) for each in arrays[1:]]
        apart = None if columns.apart is None else _codes(piece.column(columns.apart))
        stem = self._path.stem.removesuffix(".trace")
        if columns.cluster is None:
            self._must_suit(stem, apart, slice(None), time)
            yield stem, (dated, *arrays)
            return
        index, names = _codes(piece.column(columns.cluster))
        for code in dict.fromkeys(index.tolist()):
            chosen = index == code
            name = names[code] or stem
            self._must_suit(name, apart, chosen, time)
            yield name, (dated, *(each[chosen] for each in arrays))

    def _must_suit(self, cluster: str, apart: Any, rows: Any, time: Numbers) -> None:
        """Refuse rows of several hosts, or with ``sum`` those that have no times in common."""
        if apart is None:
            return
        index, names = apart
        index = index[rows]
        if self._options.sum:
            mixed = np.mean(index[1:] != index[:-1]) > _MIXED if len(index) > 1 else False
            if mixed and len(np.unique(time[rows])) == len(index):
                message = "rows of several hosts have times of their own, and cannot be added up"
                fix = "bring them to common times, or make a cluster of each with --cluster COLUMN"
                raise refusal(self._path, message, fix)
            return
        for code in np.unique(index).tolist():
            name = names[code]
            before = self._apart.setdefault(cluster, name) if name else name
            if name != before:
                message = f"rows of several hosts: column '{self._columns.apart}' has "
                message += f"'{before[:40]}' and '{name[:40]}'"
                fix = f"a cluster each: --cluster '{self._columns.apart}'; or add them up: --sum"
                raise refusal(self._path, message, fix)

    def add(self, cluster: str, rows: tuple[Any, ...]) -> None:
        """Hold more rows of a cluster."""
        if cluster not in self.parts and len(self.parts) >= MOST_CLUSTERS:
            message = f"more than {MOST_CLUSTERS:,} clusters: is it the right column?"
            raise refusal(self._path, message, "name that of the clusters with --cluster COLUMN")
        if len(cluster) > _MOST_NAME:
            message = f"a cluster's name has {len(cluster):,} characters: is it the right column?"
            raise refusal(self._path, message, "name that of the clusters with --cluster COLUMN")
        held = self.parts.setdefault(cluster, [])
        held.append(rows)
        self._rows += len(rows[1])
        most = _MOST_HELD if self._options.sum else MOST_SAMPLES
        if sum(len(part[1]) for part in held) > most:
            raise too_long(cluster, str(self._path), most)
        if self._rows > _MOST_HELD:
            message = f"more than {_MOST_HELD:,} rows of clusters that are mixed with one another"
            raise refusal(self._path, message, "sort them by cluster, or put each into a file")

    def whole(self) -> Raw:
        """Return the first cluster held, and let go of it."""
        cluster = next(iter(self.parts))
        parts = self.parts.pop(cluster)
        dated = all(part[0] for part in parts)
        arrays = [np.concatenate(each) for each in list(zip(*parts, strict=True))[1:]]
        parts.clear()
        self._rows -= len(arrays[0])
        time, write, *reads = arrays
        read, is_rate = reads[0] if reads else None, self._cells.is_rate
        file, summed = str(self._path), self._options.sum
        raw = Raw(cluster, file, time, write, read, is_rate, dated, summed)
        return _sum_by_time(raw) if self._options.sum else raw


def _add_up(columns: list[Any]) -> Any:
    """Return the sum of columns; where one says nothing the sum is not known."""
    total = columns[0]
    for column in columns[1:]:
        total = total + column
    return total


def _codes(column: Any) -> tuple[Any, list[str]]:
    """Return names as places in a list; an empty one where there is none."""
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    names = column.dictionary.cast(pa.string()).to_pylist()
    index = column.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
    return index, [name or "" for name in names] + [""]


def _sum_by_time(raw: Raw) -> Raw:
    """Return one row for each time, the sum of all; missing where rows of that time are.

    Raises:
        InputError: the rows have no times in common.
    """
    known = np.isfinite(raw.time_s)
    time, place, rows = np.unique(raw.time_s[known], return_inverse=True, return_counts=True)
    if not len(time):
        return raw
    usual = int(np.median(rows))
    if np.mean(rows != usual) > _PARTIAL:
        others = int(np.sum(rows != usual))
        message = (
            f"{others:,} of {len(time):,} times have more or fewer than the usual {usual:,} rows"
        )
        fix = "give every host a row at each time, 0 where it did nothing"
        raise refusal(raw.file, message, fix)

    def added(figures: Any) -> Any:
        total = np.bincount(place, weights=figures[known], minlength=len(time))
        return np.where(rows == usual, total, np.nan).astype(figures.dtype)

    read_ = None if raw.read is None else added(raw.read)
    return Raw(raw.cluster, raw.file, time, added(raw.write), read_, raw.is_rate, raw.dated, True)
