"""Traces as files: CSV, Parquet, and HDF5 in the layouts of TOKIO time series and of LMT."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from tests.telemetry.flow import Floats
from tests.telemetry.sampling import Trace

Names = tuple[str, str, str]
TimeForm = Literal["epoch", "milliseconds", "iso", "timestamp"]
Layout = Literal["rates", "bytes", "lmt"]

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


def write_hdf5(path: Path, trace: Trace, layout: Layout = "rates", targets: int = 8) -> Path:
    """Spread a trace of rates over targets on a regular grid; samples not there are -0.0, as
    TOKIO leaves them (LMT: plain 0)."""
    assert trace.form == "rate"
    step = trace.sample_s
    first, last = trace.time_s.min(), trace.time_s.max()
    steps = np.arange(round((last - first) / step) + 1)
    place = np.round((trace.time_s - first) / step).astype(int)
    share = np.random.default_rng(targets).dirichlet(np.full(targets, 5.0))
    with h5py.File(path, "w") as file:
        times = np.round(first + steps * step).astype(np.int64)
        for kind, column in (("write", trace.write), ("read", trace.read)):
            total = np.full(len(steps), 0.0 if layout == "lmt" else -0.0)
            known = ~np.isnan(column)
            total[place[known]] = column[known] * 1e9 * (step if layout == "bytes" else 1.0)
            spread = np.where(np.signbit(total)[:, None], -0.0, total[:, None] * share)
            if layout == "lmt":
                name = f"OST{kind.title()}Group/OSTBulk{kind.title()}DataSet"
                file.create_dataset(name, data=spread.T, compression="gzip", compression_opts=1)
            else:
                name = f"datatargets/{kind}{layout}"
                made = file.create_dataset(
                    name, data=spread, compression="gzip", compression_opts=1
                )
                made.attrs["version"] = "1"
                made.attrs["units"] = "bytes/sec" if layout == "rates" else "bytes"
                made.attrs["columns"] = [f"ost{n:02}".encode() for n in range(targets)]
        if layout == "lmt":
            file["FSStepsGroup/FSStepsDataSet"] = times
        else:
            file["datatargets/timestamps"] = times
            file.attrs["version"] = "1"
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
