"""A trace in a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet

from planner.errors import Finding, InputError
from planner.telemetry.columns import find
from planner.telemetry.options import ReadOptions
from planner.telemetry.order import unbroken
from planner.telemetry.unreadable import unreadable

PARQUET = {".parquet", ".pq"}
_BATCH_ROWS = 1 << 18


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
        return unbroken(batch.column(0) for batch in batches)

    def pieces(self) -> Iterator[pa.RecordBatch]:
        """Yield its rows in order."""
        try:
            yield from self._file.iter_batches(_BATCH_ROWS, columns=self.columns.names)
        except (OSError, pa.ArrowInvalid) as error:
            raise unreadable(self.path, error) from None
