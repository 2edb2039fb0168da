"""A trace in a CSV file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv

from planner.errors import Finding, InputError
from planner.telemetry.columns import find
from planner.telemetry.options import ReadOptions
from planner.telemetry.order import unbroken
from planner.telemetry.unreadable import unreadable

_BLOCK_BYTES = 8 << 20
_LARGE_BYTES, _HEAD_BYTES = 256 << 20, 1 << 16
_EMPTY = ["", "NaN", "nan", "NA", "N/A", "null", "NULL", "None", "-"]
_ROW = re.compile(r"Row #(\d+): (.*)", re.DOTALL)
_ZONED = re.compile(r"(Z|[+-]\d\d:?\d\d)$")
_NUMBER = re.compile(r"[+-]?[\d.]+([eE][+-]?\d+)?$")


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
        return unbroken(piece.column(0) for piece in self._read([cluster]))

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
        with pa.input_stream(path, compression="detect") as stream:
            head = stream.read(_HEAD_BYTES).decode("utf-8-sig", errors="strict")
        lines = plain.reader(head.splitlines())
        names, first = next(lines, []), next(lines, [])
    except UnicodeDecodeError:
        message = "is not text in UTF-8"
        fix = "give a CSV, Parquet or HDF5 file"
        raise InputError(
            Finding("trace", f"cannot be read: {message}", str(path), fix=fix)
        ) from None
    except (OSError, plain.Error, pa.ArrowInvalid) as error:
        raise unreadable(path, error) from None
    other = [mark for mark in ";\t" if mark in (names or [""])[0]]
    if len(names) == 1 and other:
        message = f"columns are separated by {other[0]!r}"
        raise InputError(Finding("trace", message, str(path), 1, fix="separate them by commas"))
    if not first:
        message = "no rows" if names else "the file is empty"
        fix = "a trace has a line of names and a line per sample"
        raise InputError(Finding("trace", message, str(path), 1, fix=fix))
    return [name.strip() for name in names], first


def _broken(path: Path, error: Exception) -> InputError:
    text = " ".join(str(error).split())
    match = _ROW.search(text)
    line = int(match[1]) if match else None
    said = match[2] if match else text
    wrong = re.search(r"conversion error to (\w+).*: invalid value '(.{0,60})", said)
    if wrong:
        kind = "a number" if wrong[1] == "double" else "a time"
        cell = wrong[2].rstrip("'")
        fix = None if kind == "a number" else "write seconds, or for example 2026-01-01T00:00:00Z"
        return InputError(Finding("trace", f"'{cell}' is not {kind}", str(path), line, fix=fix))
    return InputError(Finding("trace", said[:200], str(path), line))


def _time_type(head: tuple[list[str], list[str]], name: str) -> Any:
    place = head[0].index(name)
    cell = head[1][place].strip() if place < len(head[1]) else ""
    if _NUMBER.match(cell):
        return pa.float64()
    return pa.timestamp("us", tz="UTC") if _ZONED.search(cell) else pa.timestamp("us")
