"""Traces as files, CSV or Parquet, written block by block."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from planner.synthesis.faults import Whole
from planner.synthesis.quality import Quality
from planner.synthesis.samples import Block

Format = Literal["csv", "parquet"]


def columns(quality: Quality, named: bool) -> tuple[str, ...]:
    """Return the names of a trace's columns; ``named`` traces tell clusters apart."""
    figures = ("write_gb_per_s", "read_gb_per_s")
    if quality.counter:
        figures = ("write_bytes", "read_bytes")
    return ("time", "cluster", *figures) if named else ("time", *figures)


class TraceFile(Protocol):
    """A trace that grows by blocks."""

    def write(self, cluster: str, block: Block) -> None:
        """Add samples of a cluster."""

    def close(self) -> None:
        """Write what ends the file."""


def opened(path: Path, kind: Format, quality: Quality, named: bool) -> TraceFile:
    """Return a trace to write into.

    Args:
        path: where it goes.
        kind: CSV, with times as ISO 8601 has them, or Parquet, with timestamps.
        quality: how it is sampled.
        named: whether it has a column with the clusters' names.
    """
    return (CsvTrace if kind == "csv" else ParquetTrace)(path, quality, named)


class CsvTrace:
    """A trace as CSV; times are in whole seconds where all of them are."""

    def __init__(self, path: Path, quality: Quality, named: bool) -> None:
        self._names = columns(quality, named)
        broken = quality.jitter_s or quality.start_ms % 1000 or quality.sample_ms % 1000
        self._digits: Literal["s", "ms"] = "ms" if broken else "s"
        self._stream = path.open("wb")
        self._stream.write((",".join(self._names) + "\n").encode())

    def write(self, cluster: str, block: Block) -> None:
        """Add samples of a cluster."""
        table = _table(self._names, pa.array(self._text(block.time_ms)), cluster, block)
        options = csv.WriteOptions(include_header=False, quoting_style="none")
        csv.write_csv(table, self._stream, options)

    def _text(self, time_ms: Whole) -> np.typing.NDArray[np.str_]:
        times = time_ms.astype("datetime64[ms]")
        return np.datetime_as_string(times, unit=self._digits, timezone="UTC")

    def close(self) -> None:
        """Write what ends the file."""
        self._stream.close()


class ParquetTrace:
    """A trace as Parquet."""

    def __init__(self, path: Path, quality: Quality, named: bool) -> None:
        self._names = columns(quality, named)
        figure = pa.int64() if quality.counter else pa.float64()
        kinds = {"time": pa.timestamp("ms", tz="UTC"), "cluster": pa.string()}
        self._schema = pa.schema([(name, kinds.get(name, figure)) for name in self._names])
        self._file = pq.ParquetWriter(path, self._schema, compression="zstd")

    def write(self, cluster: str, block: Block) -> None:
        """Add samples of a cluster."""
        time = pa.array(block.time_ms, self._schema.field("time").type)
        self._file.write_table(_table(self._names, time, cluster, block))

    def close(self) -> None:
        """Write what ends the file."""
        self._file.close()


def _table(names: tuple[str, ...], time: pa.Array, cluster: str, block: Block) -> pa.Table:
    figures = [pa.array(block.write), pa.array(block.read)]
    named = [pa.array([cluster]).take(pa.nulls(len(time), pa.int64()).fill_null(0))]
    return pa.Table.from_arrays([time, *(named if "cluster" in names else ()), *figures], names)
