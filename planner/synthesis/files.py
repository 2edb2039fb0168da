"""The files of a trace, written block by block: samples as CSV or Parquet, job log, truth."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from planner.schema.synthesis import ClusterTruth, Truth
from planner.synthesis.quality import Quality
from planner.synthesis.samples import Block, Whole
from planner.synthesis.truth import Entry

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


def open_trace(path: Path, kind: Format, quality: Quality, named: bool) -> TraceFile:
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
        options = arrow_csv.WriteOptions(include_header=False, quoting_style="none")
        arrow_csv.write_csv(table, self._stream, options)

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


class LogFile:
    """A job log as CSV; ``named`` ones tell clusters apart."""

    def __init__(self, path: Path, quality: Quality, named: bool) -> None:
        self._start, self._named = quality.start, named
        self._stream = path.open("w", encoding="utf-8", newline="")
        self._rows = csv.writer(self._stream, lineterminator="\n")
        self._rows.writerow(("time", *(("cluster",) if named else ()), "job", "event"))

    def write(self, cluster: str, events: Iterable[Entry]) -> None:
        """Add what happened on a cluster."""
        name = (cluster,) if self._named else ()
        self._rows.writerows((self._time(at), *name, job, event) for at, job, event in events)

    def _time(self, at_s: float) -> str:
        when = self._start + timedelta(milliseconds=round(1000 * at_s))
        return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def close(self) -> None:
        """Write what ends the file."""
        self._stream.close()


class TruthFile:
    """The record of the truth as JSON, a cluster a line, so that not all must be held at once."""

    def __init__(self, path: Path, truth: Truth) -> None:
        head = truth.model_copy(update={"clusters": ()}).model_dump_json()
        self._stream = path.open("w", encoding="utf-8")
        self._stream.write(head.removesuffix("]}"))
        self._before = "\n"

    def write(self, cluster: ClusterTruth) -> None:
        """Add a cluster."""
        self._stream.write(self._before + cluster.model_dump_json())
        self._before = ",\n"

    def close(self) -> None:
        """Write what ends the file."""
        self._stream.write("\n]}\n")
        self._stream.close()
