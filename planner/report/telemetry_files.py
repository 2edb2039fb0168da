"""A characterization as files: tables, the jobs as a problem has them, overrides."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from planner.report import sweep_files
from planner.report.bill import harmless
from planner.report.sweep_files import COMPRESSION
from planner.report.telemetry_words import (
    USUAL_OVERLAP,
    day,
    figure,
    instant,
    measured,
    most,
    one_line,
    span,
    stated,
)
from planner.report.views.telemetry import value_of
from planner.report.words import DAY_S, clean, counted, duration
from planner.schema.analysis import Column
from planner.schema.telemetry import (
    CHECKPOINT_COLUMNS,
    Calibration,
    Characterization,
    FleetJob,
    FleetStudy,
    JobFound,
    Measured,
)

Table = Mapping[str, NDArray[Any]]
"""The columns of ``CHECKPOINT_COLUMNS``, all of one length."""

_NEVER = np.datetime64("NaT")
_LAST_S = 253_402_300_799.0
"""The end of the year 9999, the last that ISO 8601 writes with four digits."""


def checkpoints_csv(record: Characterization, table: Table) -> bytes:
    """The table of checkpoints as CSV; where times have dates, ``start`` has them in UTC."""
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
    """The table of checkpoints as Parquet; fields tell their unit, the file its clock."""
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
    """The jobs as CSV: a measured figure beside its ``_low`` and ``_high``."""
    rows = [dict(_cells(job, record.clock)) for job in record.jobs]
    names = list(JobFound.model_fields)
    order = dict.fromkeys(name for field in names for name in _named(field, record.clock))
    stream = io.StringIO(newline="")
    sweep_files.write_csv(
        [Column(name=name, label=name, kind="answer") for name in order], rows, stream
    )
    return stream.getvalue().encode()


def fleet_csv(study: FleetStudy) -> bytes:
    """The jobs of a fleet's study as CSV."""
    names = [name for name in FleetJob.model_fields if name != "found"]
    rows = [job.model_dump(include=set(names)) for job in study.jobs]
    stream = io.StringIO(newline="")
    columns = [Column(name=name, label=name, kind="answer") for name in names]
    sweep_files.write_csv(columns, rows, stream)
    return stream.getvalue().encode()


def _columns(table: Table, safe: Callable[[str], str]) -> dict[str, pa.Array]:
    return {
        name: _numbers(table[name]) if unit else _texts(table[name], safe)
        for name, unit in CHECKPOINT_COLUMNS.items()
    }


def _numbers(values: NDArray[Any]) -> pa.Array:
    """Numbers; what is none is empty."""
    numbers = np.asarray(values, dtype=np.float64)
    return pa.array(numbers, pa.float64(), mask=~np.isfinite(numbers))


def _texts(values: NDArray[Any], safe: Callable[[str], str]) -> pa.Array:
    """Texts, each different one made safe once; empty ones are left out."""
    texts = values.tolist()
    made = {text: safe(str(text)) or None for text in dict.fromkeys(texts) if text is not None}
    return pa.array([made.get(text) for text in texts], pa.string())


def _dates(seconds: NDArray[Any]) -> list[str | None]:
    """Times since 1970 as ISO 8601 in UTC, to the millisecond."""
    numbers = np.asarray(seconds, dtype=np.float64)
    there = np.isfinite(numbers) & (np.abs(numbers) <= _LAST_S)
    milliseconds = np.round(np.where(there, numbers, 0.0) * 1000.0).astype(np.int64)
    dates = np.where(there, milliseconds.astype("datetime64[ms]"), _NEVER)
    texts: list[str] = np.datetime_as_string(dates, timezone="UTC").tolist()
    return [None if text.startswith("NaT") else text for text in texts]


def _named(field: str, clock: str) -> tuple[str, ...]:
    """The columns that tell a field of a job."""
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


_PLAIN_KEY = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_NAME, _COMMENT = 200, 200
_HEAD = (
    "# Found in storage telemetry. A problem holds one job: keep one entry of the list.",
    "# Not measured, so at their defaults: stall, writers, slowdown while draining, restart.",
    "# Where the objective is goodput, add training: {mfu: 40 %} with what the job reaches.",
)


def jobs_yaml(record: Characterization) -> str:
    """The jobs found as a ``jobs:`` section for a problem file.

    Comments tell ranges, what follows from the figures, and what was not measured.
    """
    lines = [*_HEAD, "jobs:" if record.jobs else "jobs: []"]
    for job in record.jobs:
        lines += _entry(record, job)
    return "\n".join(lines) + "\n"


def overrides_yaml(calibration: Calibration) -> str:
    """The overrides as a mapping of paths to values, as a scenario of a problem has it."""
    lines = [
        _comment(f"{calibration.problem}, with what was measured of {calibration.job}"),
        "# For --set @FILE, or below scenarios: {measured: ...} of the problem.",
    ]
    for each in calibration.overrides:
        now = f"; now {each.now}" if each.now else ""
        about = f"{each.label}: {span(each.measured, each.unit)}{now}; {each.source}"
        lines += [_comment(about), f"{_key(each.path)}: {value_of(each)}"]
    lines += [] if calibration.overrides else ["{}"]
    lines += [_comment(f"not measured: {text}") for text in calibration.not_measured]
    return "\n".join(lines) + "\n"


def _entry(record: Characterization, job: JobFound) -> Iterator[str]:
    seen = f"from {day(job.start_s, record.clock)}, seen for {duration(job.observed_s)}"
    yield "  " + _comment(f"{job.cluster}: {counted(job.checkpoints, 'checkpoint')} {seen}")
    yield f"  - name: {_quoted(one_line(job.name, _NAME) or 'job')}"
    parameters = f"{measured(job.parameters, 'parameters')}, {job.bytes_per_parameter:g} bytes each"
    yield f"    # parameters: {stated(job.parameters, 'parameters')}  # implied: {parameters}"
    yield "    checkpoint:"
    yield f"      size: {stated(job.size_gb, 'GB')}  # {span(job.size_gb, 'GB')}"
    yield "      mode: async  # telemetry does not tell"
    every = f"{{policy: fixed, every: {stated(job.interval_s, 's')}}}"
    yield f"      interval: {every}  # {span(job.interval_s, 's')}"
    yield f"      max_overlap: {_limit(job)}"
    yield f"    {_failures(record, job)}"
    yield f"    {_restore(job)}"
    yield f"    {_gpus(record, job)}"
    yield from (f"    {_comment(text)}" for text in job.notes)


def _limit(job: JobFound) -> str:
    """A limit that the job keeps to: the usual one where it does, and what was measured."""
    top = max(job.overlap.value, job.overlap.high or 0.0)
    usual = top <= USUAL_OVERLAP
    limit = 100 * USUAL_OVERLAP if usual else min(100, math.ceil(100 * top))
    text = "usual; measured" if usual else "as measured:"
    overlap, drain = most(job.overlap, "share"), most(job.drain_s, "s")
    if job.resolved:
        overlap, drain = measured(job.overlap, "share"), measured(job.drain_s, "s")
    rate = measured(job.write_gb_per_s, "GB/s")
    return f"{limit:g} %  # {text} {overlap}, drain {drain} at {rate}"


def _failures(record: Characterization, job: JobFound) -> str:
    """The failure rate where a number of GPUs is known, else how to get it."""
    if job.mtti_s is None or job.mtti_s.value <= 0:
        return f"# failures: no restart seen in {duration(job.observed_s)}"
    every = f"a restart every {measured(job.mtti_s, 's')}"
    found = record.calibration
    if found is None or not found.gpus or found.job != job.name:
        seconds = f"{job.mtti_s.value:.0f} s"
        return f"# failures: {{per_gpu_day: 86,400 / ({seconds} x GPUs)}}  # {every}"
    rate = DAY_S / (job.mtti_s.value * found.gpus)
    return f"failures: {{per_gpu_day: {rate:.3g}}}  # {every} of {found.gpus:,} GPUs"


def _gpus(record: Characterization, job: JobFound) -> str:
    """The GPUs of the job as a comment: the planner decides their number."""
    found = record.calibration
    count = found.gpus if found is not None and found.job == job.name else None
    return f"# gpus: {{min: {count or 'N'}}}  # what it ran on"


def _restore(job: JobFound) -> str:
    """Restores as a comment: past times are no limits of a purchase."""
    if job.restore_s is None or job.restore_s.value <= 0:
        return "# restore: no read of one was seen"
    parts = [f"{measured(job.restore_s, 's')} each"]
    if job.restore_gb is not None and job.size_gb.value > 0:
        times = f"{job.restore_gb.value / job.size_gb.value:.2f} x the checkpoint"
        parts.append(f"{figure(job.restore_gb.value, 'GB')} ({times})")
    if job.read_gb_per_s is not None:
        parts.append(f"at {measured(job.read_gb_per_s, 'GB/s')}")
    seen = counted(job.confirmed, "restore")
    return f"# restore: {seen}, {', '.join(parts)}; set max_time to what it may take"


def _comment(text: str) -> str:
    return f"# {one_line(text, _COMMENT)}"


def _quoted(text: str) -> str:
    """A text between double quotes, as JSON and YAML both read it."""
    return json.dumps(text, ensure_ascii=False)


def _key(path: str) -> str:
    return path if _PLAIN_KEY.fullmatch(path) else _quoted(one_line(path))
