"""Checkpoints and jobs found in telemetry as tables: CSV and Parquet, a million rows at once."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from planner.outputs import sweep_csv
from planner.outputs.bill_csv import harmless
from planner.outputs.sweep_parquet import COMPRESSION
from planner.outputs.telemetry_figures import instant
from planner.outputs.text_safety import clean
from planner.schema.sensitivity import Column
from planner.schema.telemetry import CHECKPOINT_COLUMNS, Characterization, JobFound, Measured

Table = Mapping[str, NDArray[Any]]
"""The columns of ``CHECKPOINT_COLUMNS``, all of one length."""

_NEVER = np.datetime64("NaT")
_LAST_S = 253_402_300_799.0
"""The end of the year 9999, the last that ISO 8601 writes with four digits."""


def checkpoints_csv(record: Characterization, table: Table) -> bytes:
    """Return the table of checkpoints as CSV; where times have dates, ``start`` has them in UTC."""
    columns = _columns(table, harmless)
    if record.clock == "unix":
        names = list(columns)
        place = names.index("start_s")
        dated = {"start": pa.array(_dates(table["start_s"]), pa.string())}
        columns = {
            **{name: columns[name] for name in names[:place]},
            **dated,
            **{name: columns[name] for name in names[place:]},
        }
    stream = io.BytesIO()
    stream.write(f"{','.join(columns)}\n".encode())
    pa_csv.write_csv(pa.table(columns), stream, pa_csv.WriteOptions(include_header=False))
    return stream.getvalue()


def checkpoints_parquet(record: Characterization, table: Table) -> bytes:
    """Return the table of checkpoints as Parquet; fields tell their unit, the file its clock."""
    columns = _columns(table, lambda text: clean(text, limit=None))
    fields = [
        pa.field(name, column.type, metadata={"unit": unit} if unit else None)
        for (name, unit), column in zip(CHECKPOINT_COLUMNS.items(), columns.values(), strict=True)
    ]
    of = pa.schema(fields, metadata={"clock": record.clock})
    stream = io.BytesIO()
    pq.write_table(
        pa.Table.from_arrays(list(columns.values()), schema=of), stream, compression=COMPRESSION
    )
    return stream.getvalue()


def jobs_csv(record: Characterization) -> bytes:
    """Return the jobs as CSV: a measured figure beside its ``_low`` and ``_high``."""
    rows = [dict(_cells(job, record.clock)) for job in record.jobs]
    names = list(JobFound.model_fields)
    order = dict.fromkeys(name for field in names for name in _named(field, record.clock))
    stream = io.StringIO(newline="")
    sweep_csv.write([Column(name=name, label=name, kind="answer") for name in order], rows, stream)
    return stream.getvalue().encode()


def _columns(table: Table, safe: Callable[[str], str]) -> dict[str, pa.Array]:
    return {
        name: _numbers(table[name]) if unit else _texts(table[name], safe)
        for name, unit in CHECKPOINT_COLUMNS.items()
    }


def _numbers(values: NDArray[Any]) -> pa.Array:
    """Return numbers; what is none is empty."""
    numbers = np.asarray(values, dtype=np.float64)
    return pa.array(numbers, pa.float64(), mask=~np.isfinite(numbers))


def _texts(values: NDArray[Any], safe: Callable[[str], str]) -> pa.Array:
    """Return texts, each different one made safe once; empty ones are left out."""
    texts = values.tolist()
    made = {text: safe(str(text)) or None for text in dict.fromkeys(texts) if text is not None}
    return pa.array([made.get(text) for text in texts], pa.string())


def _dates(seconds: NDArray[Any]) -> list[str | None]:
    """Return times since 1970 as ISO 8601 in UTC, to the millisecond."""
    numbers = np.asarray(seconds, dtype=np.float64)
    there = np.isfinite(numbers) & (np.abs(numbers) <= _LAST_S)
    milliseconds = np.round(np.where(there, numbers, 0.0) * 1000.0).astype(np.int64)
    dates = np.where(there, milliseconds.astype("datetime64[ms]"), _NEVER)
    texts: list[str] = np.datetime_as_string(dates, timezone="UTC").tolist()
    return [None if text.startswith("NaT") else text for text in texts]


def _named(field: str, clock: str) -> tuple[str, ...]:
    """Return the columns that tell a field of a job."""
    if field in ("segments", "notes"):
        return (field,)
    if field in ("start_s", "end_s"):
        return (field.removesuffix("_s"), field) if clock == "unix" else (field,)
    measured = "Measured" in str(JobFound.model_fields[field].annotation)
    return (field, f"{field}_low", f"{field}_high") if measured else (field,)


def _cells(job: JobFound, clock: str) -> Iterator[tuple[str, Any]]:
    for field in JobFound.model_fields:
        value = getattr(job, field)
        names = _named(field, clock)
        if isinstance(value, Measured):
            yield from zip(names, (value.value, value.low, value.high), strict=True)
        elif field in ("start_s", "end_s"):
            yield from zip(names[::-1], (value, instant(value, clock)), strict=False)
        elif field == "segments":
            yield field, len(value)
        elif field == "notes":
            yield field, "; ".join(value)
        else:
            yield field, value
