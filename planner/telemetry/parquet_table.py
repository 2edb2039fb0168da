"""A trace in a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
from pyarrow import types

from planner.errors import Finding, InputError
from planner.telemetry.cells import is_text
from planner.telemetry.columns import Columns, find
from planner.telemetry.options import ReadOptions
from planner.telemetry.order import unbroken
from planner.telemetry.unreadable import unreadable

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
        self.columns = self._settled(find(self._schema.names, options, str(path)))
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

    def _settled(self, columns: Columns) -> Columns:
        """Return the columns without that of dates where times are whole without it."""
        kind = self._schema.field(columns.time).type
        return columns if types.is_time(kind) or is_text(kind) else replace(columns, date=None)

    def _is_time(self, kind: Any) -> bool:
        dated = types.is_timestamp(kind) or types.is_date(kind) or types.is_duration(kind)
        of_day = types.is_time(kind) and self.columns.date is not None
        return bool(dated or of_day or _is_number(kind))

    def _must_hold(self, name: str, right: Any, what: str) -> None:
        kind = self._schema.field(name).type
        if not right(kind):
            message = f"column '{name}' holds {str(kind)[:60]}, not {what}"
            raise InputError(Finding("trace", message, str(self.path)))

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
