"""Traces in tables that are read in pieces, however long they are: CSV and Parquet.

The dialect of a CSV file is told by its first lines; a Parquet file says itself what it holds.
"""

from __future__ import annotations

import codecs
import csv as plain_csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet
from pyarrow import types

from planner.errors import Finding, InputError
from planner.foreign_files import in_words
from planner.telemetry.cells import EMPTY, NUMBER, PLAIN_TIME, TIME_OF_DAY, is_text
from planner.telemetry.columns import find
from planner.telemetry.raw import ReadOptions, refusal, unreadable

PACKED = {".gz", ".bz2", ".zst", ".lz4"}
_BLOCK_BYTES = 8 << 20
_LARGE_BYTES, _HEAD_BYTES = 256 << 20, 1 << 16
_MOST_UNPACKED_BYTES = 8_000_000_000
_ROW = re.compile(r"Row #(\d+): (.*)", re.DOTALL)
_ZONED = re.compile(r"(Z|[+-]\d\d(:?\d\d)?)$")
_DELIMITERS = "\t;|,"
_SEPARATOR = re.compile(r"sep=(.)$", re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """How a file of separated values is written.

    Attributes:
        names: its columns.
        rows: the first rows, for a look at their cells.
        delimiter: what separates cells.
        first_line: where the first row stands.
        encoding: of its text.
    """

    names: list[str]
    rows: list[list[str]]
    delimiter: str
    first_line: int
    encoding: str

    def cells(self, name: str) -> list[str]:
        """Return the cells of a column in the first rows, those that say something."""
        place = self.names.index(name)
        shown = (row[place].strip() for row in self.rows if place < len(row))
        return [cell for cell in shown if cell not in EMPTY]


class CsvTable:
    """A file of separated values with a line of names."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path = path
        self._dialect = dialect(path, "trace", "a trace has a line of names and a line per sample")
        self.first_line: int | None = self._dialect.first_line
        columns = find(self._dialect.names, options, str(path))
        times = self._dialect.cells(columns.time)
        self.columns = columns = columns.settled(times and TIME_OF_DAY.match(times[0]))
        self._types = {name: self._figure_type(name, options) for name in columns.figures}
        self._types[columns.time] = self._time_type(columns.time, options)
        for name in (columns.date, columns.cluster, columns.apart):
            if name is not None:
                self._types[name] = pa.string()

    def _figure_type(self, name: str, options: ReadOptions) -> Any:
        are_plain = all(NUMBER.match(cell) for cell in self._dialect.cells(name))
        return pa.float64() if are_plain and options.decimal != "," else pa.string()

    def _time_type(self, name: str, options: ReadOptions) -> Any:
        if self.columns.date is not None or options.time_format is not None:
            return pa.string()
        cells = self._dialect.cells(name)
        if all(NUMBER.match(cell) for cell in cells):
            return pa.float64() if options.decimal != "," else pa.string()
        zoned = {bool(_ZONED.search(cell[10:])) for cell in cells}
        if len(zoned) > 1 or not all(PLAIN_TIME.match(cell) for cell in cells):
            return pa.string()
        return pa.timestamp("us", tz="UTC") if zoned == {True} else pa.timestamp("us")

    def contiguous(self) -> bool:
        """Return whether no cluster's rows go on after another's began; small files are not read
        twice to know it.
        """
        cluster = self.columns.cluster
        if cluster is None or self.path.stat().st_size < _LARGE_BYTES:
            return cluster is None
        return unbroken(piece.column(0) for piece in self._read([cluster]))

    def pieces(self) -> Iterator[pa.RecordBatch]:
        """Yield its rows in order.

        Raises:
            InputError: a row is broken, named by its line.
        """
        return self._read(self.columns.names)

    def _read(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        convert = arrow_csv.ConvertOptions(
            column_types=self._types, include_columns=names, null_values=EMPTY
        )
        every = self._dialect.names  # of which none may come twice; the first keeps its own
        distinct = [f"{each}\0{n}" if each in every[:n] else each for n, each in enumerate(every)]
        read = arrow_csv.ReadOptions(
            use_threads=False,
            block_size=_BLOCK_BYTES,
            encoding=self._dialect.encoding,
            column_names=distinct,
            skip_rows=self._dialect.first_line - 1,
        )
        parse = arrow_csv.ParseOptions(delimiter=self._dialect.delimiter)
        try:
            with _stream(self.path) as stream:
                yield from arrow_csv.open_csv(
                    stream, read_options=read, parse_options=parse, convert_options=convert
                )
        except (pa.ArrowException, OSError, MemoryError) as error:
            raise _broken_row(self.path, error, self._dialect) from None


def dialect(path: Path, what: str, rule: str, rows_are: str = "rows") -> Dialect:
    """Return how a file of separated values is written.

    Args:
        path: the file, which is a plain one.
        what: it in a word.
        rule: what such a file has, for one that has less.
        rows_are: what its rows are called.

    Raises:
        InputError: it is no text, or has no line of names with rows below it.
    """
    text, encoding, whole = _head(path, what)
    lines = text.splitlines()
    if not whole and lines:
        if len(lines) == 1:
            message = "the first line has no end: a line of names should stand there"
            raise InputError(Finding(what, message, str(path), 1))
        lines.pop()  # it may have been cut
    place, delimiters = _top(lines)
    if place >= len(lines):
        raise InputError(Finding(what, "the file is empty", str(path), 1, fix=rule))
    delimiter = _delimiter(lines[place:], delimiters)
    names, *rows = plain_csv.reader(lines[place:], delimiter=delimiter)
    names = [name.strip() for name in names]
    names[0] = names[0].lstrip("#").strip()
    if not any(rows):
        raise InputError(Finding(what, f"no {rows_are}", str(path), place + 1, fix=rule))
    _must_be_names(names, lines[place], path, place + 1, what)
    return Dialect(names, rows, delimiter, place + 2, encoding)


def _head(path: Path, what: str) -> tuple[str, str, bool]:
    """Return the first of a file's text, its encoding, and whether that is all of it."""
    try:
        with pa.input_stream(path, compression="detect") as stream:
            head = stream.read(_HEAD_BYTES)
    except (OSError, pa.ArrowException, MemoryError) as error:
        raise unreadable(path, error) from None
    wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and 3 * head.count(0) > len(
        head
    )
    encoding = "utf-16" if wide else "utf-8"
    whole = len(head) < _HEAD_BYTES
    decoder = codecs.getincrementaldecoder("utf-16" if wide else "utf-8-sig")()
    try:
        text = decoder.decode(head, final=whole)
        if "\0" in text:
            raise UnicodeError
        return text, encoding, whole
    except UnicodeError:
        message = "cannot be read: is not text in UTF-8"
        fix = f"save the {what} as UTF-8" + (
            ", or give a CSV, Excel, JSON, Parquet or HDF5 file" if what == "trace" else ""
        )
        raise InputError(Finding(what, message, str(path), fix=fix)) from None


def _top(lines: Sequence[str]) -> tuple[int, str]:
    """Return where the names stand, below remarks and empty lines, and what may separate them."""
    delimiters, remark, place = _DELIMITERS, None, 0
    for place, line in enumerate(lines):
        match = _SEPARATOR.match(line.strip())
        if match:
            delimiters = match[1]
        elif line.startswith("#"):
            remark = place
        elif line.strip():
            break
    else:
        place = len(lines)
    if remark is not None and place < len(lines) and _is_row(lines[place]):
        place = remark  # names may stand in the last remark
    return place, delimiters


def _is_row(line: str) -> bool:
    """Return whether a line begins with a time or a number, so holds no names."""
    cell = re.split(r"[\t;|,]", line.strip().lstrip('"'))[0].strip().rstrip('"')
    return bool(NUMBER.match(cell) or PLAIN_TIME.match(cell) or re.match(r"\d+[./-]\d+[./-]", cell))


def _delimiter(lines: Sequence[str], known: str) -> str:
    """Return what cuts the most lines into as many cells as the first has."""

    def fit(delimiter: str) -> tuple[float, int]:
        rows = [len(row) for row in plain_csv.reader(lines[:50], delimiter=delimiter) if row]
        return (0.0 if rows[0] < 2 else rows.count(rows[0]) / len(rows), rows[0])

    return max(known, key=fit) if any(fit(each)[0] for each in known) else ","


def _must_be_names(names: Sequence[str], line: str, path: Path, number: int, what: str) -> None:
    if _is_row(line):
        message = "the first line holds a sample, not the names of columns"
        fix = "put a line such as time,write_gb_per_s above it"
        raise InputError(Finding(what, message, str(path), number, fix=fix))
    if len(names) == 1 and len(names[0].split()) > 1 and "{" not in names[0]:
        message = "columns are separated by spaces, or there is only one"
        raise InputError(Finding(what, message, str(path), number, fix="separate them by commas"))


def _stream(path: Path) -> Any:
    if path.suffix.lower() not in PACKED:
        return pa.input_stream(path)
    return pa.PythonFile(_Unpacked(path), "r")


class _Unpacked:
    """A packed file as it is unpacked; it stops where that goes on without reason."""

    closed = False

    def __init__(self, path: Path) -> None:
        self._stream, self._path, self._bytes = pa.input_stream(path), path, 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        found: bytes = self._stream.read(size)
        self._bytes += len(found)
        if self._bytes > _MOST_UNPACKED_BYTES:
            message = f"unpacks to more than {in_words(_MOST_UNPACKED_BYTES)}"
            raise refusal(self._path, message, "unpack it first, if that is right")
        return found

    def close(self) -> None:
        """Close the file."""
        self.closed = True
        self._stream.close()


def _broken_row(path: Path, error: Exception, found: Dialect) -> InputError:
    text = " ".join((str(error) or "not enough memory").split())
    match = _ROW.search(text)
    line = int(match[1]) if match else None
    words = match[2] if match else text
    wrong = re.search(r"conversion error to (\w+).*: invalid value '(.{0,60})", words)
    if wrong:
        kind = "a number" if wrong[1] == "double" else "a time"
        cell = wrong[2].rstrip("'")
        fix = "write seconds, or for example 2026-01-01T00:00:00Z"
        fix = "write every figure alike, as those above it" if kind == "a number" else fix
        return refusal(path, f"'{cell}' is not {kind}", fix, line=line)
    fix = "each row has as many cells as there are names"
    if "Expected" in words and found.delimiter == ",":
        fix += "; quote figures with decimal commas, or separate columns by semicolons"
    if "straddling" in words:
        words, fix = "a line is longer than 8 MB, or has no end", "a trace has a line per sample"
    return refusal(path, words[:200], fix, line=line)


_BATCH_ROWS = 1 << 18
_BROKEN = (OSError, pa.ArrowException, MemoryError, OverflowError, UnicodeDecodeError)
"""What pyarrow lets pass of a broken file."""


class ParquetTable:
    """A Parquet file."""

    first_line: int | None = None

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path = path
        try:
            self._schema = parquet.read_schema(path)
        except _BROKEN as error:
            raise unreadable(path, error) from None
        columns = find(self._schema.names, options, str(path))
        kind = self._schema.field(columns.time).type
        self.columns = columns.settled(types.is_time(kind) or is_text(kind))
        names = [name for name in (self.columns.cluster, self.columns.apart) if name is not None]
        for name in self.columns.figures:
            self._must_hold(name, _is_number, "numbers")
        self._must_hold(self.columns.time, self._is_time, "times")
        for name in names:
            self._must_hold(name, _is_name, "names")
        coded = [name for name in names if not types.is_integer(self._schema.field(name).type)]
        try:
            # Names as codes: written out, long ones would fill the memory. No buffer beforehand: it
            # would keep all it reads.
            self._file = parquet.ParquetFile(path, pre_buffer=False, read_dictionary=coded)
        except _BROKEN as error:
            raise unreadable(path, error) from None

    def _is_time(self, kind: Any) -> bool:
        dated = types.is_timestamp(kind) or types.is_date(kind) or types.is_duration(kind)
        of_day = types.is_time(kind) and self.columns.date is not None
        return bool(dated or of_day or _is_number(kind))

    def _must_hold(self, name: str, right: Any, what: str) -> None:
        kind = self._schema.field(name).type
        if not right(kind):
            raise refusal(self.path, f"column '{name}' holds {str(kind)[:60]}, not {what}")

    def contiguous(self) -> bool:
        """Return whether no cluster's rows go on after another's began."""
        if self.columns.cluster is None:
            return True
        try:
            return unbroken(batch.column(0) for batch in self._read([self.columns.cluster]))
        except _BROKEN as error:  # names that are no text
            raise unreadable(self.path, error) from None

    def pieces(self) -> Iterator[pa.RecordBatch]:
        """Yield its rows in order."""
        return self._read(self.columns.names)

    def _read(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._file.iter_batches(_BATCH_ROWS, columns=names)
        except _BROKEN as error:
            raise unreadable(self.path, error) from None


def _is_number(kind: Any) -> bool:
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return bool(numeric or is_text(kind))


def _is_name(kind: Any) -> bool:
    return bool(is_text(kind) or types.is_integer(kind) or types.is_binary(kind))


MOST_CLUSTERS = 1_000
"""More names than this are those of another column."""


def unbroken(pieces: Iterable[Any]) -> bool:
    """Return whether no value of a column comes again after another one; no more are looked at
    than there can be clusters.
    """
    seen: set[str | None] = set()
    last: str | None = None
    for piece in pieces:
        for run in _runs(piece):
            if (run != last and run in seen) or len(seen) > MOST_CLUSTERS:
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
