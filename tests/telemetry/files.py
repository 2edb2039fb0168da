"""Traces as CSV and Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from tests.telemetry.flow import Floats
from tests.telemetry.sampling import Trace

Names = tuple[str, str, str]
TimeForm = Literal["epoch", "milliseconds", "iso", "timestamp"]

NAMES: dict[str, Names] = {
    "rate": ("time_s", "write_gb_per_s", "read_gb_per_s"),
    "bytes": ("time_s", "write_bytes", "read_bytes"),
    "counter": ("time_s", "write_bytes_total", "read_bytes_total"),
}
"""What columns are called where nothing else is asked for, by the form of the trace."""


def table(
    trace: Trace,
    names: Names | None = None,
    time: TimeForm = "epoch",
    scale: float = 1.0,
    reads: bool = True,
    cluster: str | None = None,
) -> pa.Table:
    """Return a trace's columns; figures are multiplied by ``scale`` (1e9 for bytes/s of a rate)."""
    names = names or NAMES[trace.form]
    columns = {names[0]: _times(trace.time_s, time), names[1]: _figures(trace, trace.write, scale)}
    if reads:
        columns[names[2]] = _figures(trace, trace.read, scale)
    if cluster is not None:
        columns["cluster"] = pa.array([cluster] * len(trace.time_s)).dictionary_encode()
    return pa.table(columns)


def write_csv(path: Path, columns: pa.Table) -> Path:
    pyarrow.csv.write_csv(columns, path)
    return path


def write_parquet(path: Path, columns: pa.Table) -> Path:
    pq.write_table(columns, path)
    return path


def _figures(trace: Trace, column: Floats, scale: float) -> pa.Array:
    gone = np.isnan(column)
    if trace.form == "rate":
        return pa.array(column * scale, mask=gone)
    return pa.array(np.where(gone, 0, column).astype(np.int64), mask=gone)


def _times(time_s: Floats, form: TimeForm) -> pa.Array:
    if form == "epoch":
        whole = bool(np.all(time_s == np.round(time_s)))
        return pa.array(time_s.astype(np.int64) if whole else time_s)
    milliseconds = np.round(time_s * 1000).astype(np.int64)
    if form == "milliseconds":
        return pa.array(milliseconds)
    stamps = milliseconds.astype("datetime64[ms]")
    if form == "timestamp":
        return pa.array(stamps, pa.timestamp("ms", "UTC"))
    return pa.array(np.char.add(np.datetime_as_string(stamps, unit="ms"), "Z"))
