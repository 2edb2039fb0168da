"""Tables as Parquet and CSV; a characterization as tables, jobs and overrides of a problem file.

A CSV has one record per line; its cells are those of `planner.report.exports`.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from planner.atomic_files import whole
from planner.report import words as fmt
from planner.report.exports import cell, quoted
from planner.report.views.telemetry import USUAL_OVERLAP
from planner.schema.analysis import Column
from planner.schema.telemetry import (
    CHECKPOINT_COLUMNS,
    Calibration,
    Characterization,
    FleetJob,
    FleetStudy,
    JobFound,
)

_PLAIN = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
"""Names that need no quotes."""
_TYPES = {"int": pa.int64(), "float": pa.float64(), "str": pa.string()}
_COMPRESSION = "zstd"

Values = Mapping[str, Sequence[Any]]
"""Columns of a table by their names, of as many rows each."""


def csv_text(values: Values) -> str:
    """A table as CSV."""
    heads = ",".join(name if _PLAIN.fullmatch(name) else quoted(name) for name in values)
    rows = zip(*(list(map(cell, column)) for column in values.values()), strict=True)
    return "\n".join([heads, *map(",".join, rows), ""])


def write_files(
    parquet: Path, csv: Path, columns: Sequence[Column], types: Mapping[str, str], values: Values
) -> None:
    """Write the table of a sweep in both forms, whole or not at all.

    Args:
        columns: in this order; Parquet fields have their label, unit, kind and path as metadata.
        types: "int", "float" or "str" by column.

    Raises:
        InputError: a file cannot be written, or the disk is full; the former files then stay.
    """
    fields = []
    for column in columns:
        metadata = {key: str(value) for key, value in column.model_dump().items() if value}
        fields.append(pa.field(column.name, _TYPES[types[column.name]], metadata=metadata))
    names = [column.name for column in columns]
    schema = pa.schema(fields, metadata={"columns": json.dumps(names)})
    arrays = [pa.array(values[field.name], field.type) for field in fields]
    with whole((parquet, csv)) as (one, other):
        table = pa.Table.from_arrays(arrays, schema=schema)
        pq.write_table(table, one, compression=_COMPRESSION, row_group_size=20_000)
        with other.open("w", encoding="utf-8", newline="") as stream:
            stream.write(csv_text({name: values[name] for name in names}))
            stream.flush()
            os.fsync(stream.fileno())


# A characterization: checkpoints, jobs, a fleet.

Table = Mapping[str, NDArray[Any]]
"""The columns of ``CHECKPOINT_COLUMNS``, all of one length."""


def checkpoints_csv(record: Characterization, table: Table) -> bytes:
    """The table of checkpoints as CSV; where times have dates, ``start`` has them in UTC."""
    columns: dict[str, Sequence[Any]] = {}
    for name, unit in CHECKPOINT_COLUMNS.items():
        values = table[name].tolist()
        if name == "start_s" and record.clock == "unix":
            columns["start"] = [fmt.instant(value, record.clock) for value in values]
        columns[name] = list(map(float, values)) if unit else list(map(str, values))
    return csv_text(columns).encode()


def checkpoints_parquet(record: Characterization, table: Table) -> bytes:
    """The table of checkpoints as Parquet; fields have their unit, the file its clock."""
    arrays, fields = [], []
    for name, unit in CHECKPOINT_COLUMNS.items():
        if unit:
            numbers = np.asarray(table[name], dtype=np.float64)
            arrays.append(pa.array(numbers, pa.float64(), mask=~np.isfinite(numbers)))
        else:
            texts = (fmt.clean(str(text), limit=None) or None for text in table[name].tolist())
            arrays.append(pa.array(list(texts), pa.string()))
        fields.append(pa.field(name, arrays[-1].type, metadata={"unit": unit} if unit else None))
    schema, stream = pa.schema(fields, metadata={"clock": record.clock}), io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), stream, compression=_COMPRESSION)
    return stream.getvalue()


def jobs_csv(record: Characterization) -> bytes:
    """The jobs as CSV: a measured figure beside its ``_low`` and ``_high``."""
    rows = [dict(_cells(job, record.clock)) for job in record.jobs]
    order = dict.fromkeys(name for row in rows for name in row)
    return csv_text({name: [row.get(name) for row in rows] for name in order}).encode()


def fleet_csv(study: FleetStudy) -> bytes:
    """The jobs of a fleet's study as CSV."""
    names = [name for name in FleetJob.model_fields if name != "found"]
    return csv_text({name: [getattr(job, name) for job in study.jobs] for name in names}).encode()


def _cells(job: JobFound, clock: str) -> Iterator[tuple[str, Any]]:
    for name, info in JobFound.model_fields.items():
        value = getattr(job, name)
        if name in ("start_s", "end_s") and clock == "unix":
            yield name.removesuffix("_s"), fmt.instant(value, clock)
        if "Measured" in str(info.annotation):
            for part, column in (("value", name), ("low", f"{name}_low"), ("high", f"{name}_high")):
                yield column, None if value is None else getattr(value, part)
        else:
            yield name, value


# Parts of a problem file.

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_NAME, _COMMENT = 200, 200
_HEAD = (
    "# Found in storage telemetry. A problem holds one job: keep one entry of the list.",
    "# Not measured, so at their defaults: stall, writers, slowdown while draining, restart.",
    "# Where the objective is goodput, add training: {mfu: 40 %} with what the job reaches.",
)


def jobs_yaml(record: Characterization) -> str:
    """The jobs found as a ``jobs:`` section for a problem file.

    Comments tell ranges, derived figures, and unmeasured ones.
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
        about = f"{each.label}: {fmt.span(each.measured, each.unit)}{now}; {each.source}"
        value = fmt.short(each.setting.removeprefix(f"{each.path}="), _COMMENT)
        lines += [_comment(about), f"{_key(each.path)}: {value}"]
    lines += [] if calibration.overrides else ["{}"]
    lines += [_comment(f"not measured: {text}") for text in calibration.not_measured]
    return "\n".join(lines) + "\n"


def _entry(record: Characterization, job: JobFound) -> Iterator[str]:
    seen = f"{fmt.counted(job.checkpoints, 'checkpoint')} in {fmt.duration(job.observed_s)}"
    yield f"  - name: {_yaml_text(fmt.short(job.name, _NAME) or 'job')}"
    yield "    " + _comment(f"{job.cluster}: {seen}")
    size = f"{fmt.stated(job.size_gb, 'GB')}  # {fmt.span(job.size_gb, 'GB')}, implied parameters: "
    every = f"{{policy: fixed, every: {fmt.stated(job.interval_s, 's')}}}"
    top = max(job.overlap.value, job.overlap.high or 0.0, USUAL_OVERLAP)
    overlap = fmt.measured(job.overlap, "share") if job.resolved else fmt.most(job.overlap, "share")
    rate = fmt.measured(job.write_gb_per_s, "GB/s")
    yield "    checkpoint:"
    yield f"      size: {size}{fmt.measured(job.parameters, 'parameters')}"
    yield "      mode: async  # telemetry does not tell"
    yield f"      interval: {every}  # {fmt.span(job.interval_s, 's')}"
    yield f"      max_overlap: {min(100, math.ceil(100 * top))} %  # measured {overlap} at {rate}"
    yield f"    {_failures(record, job)}"
    yield from (f"    {_comment(text)}" for text in job.notes)


def _failures(record: Characterization, job: JobFound) -> str:
    """The failure rate where a number of GPUs is known, else how to get it."""
    if job.mtti_s is None or job.mtti_s.value <= 0:
        return f"# failures: no restart seen in {fmt.duration(job.observed_s)}"
    found, every = record.calibration, f"a restart every {fmt.measured(job.mtti_s, 's')}"
    if found is None or not found.gpus or found.job != job.name:
        seconds = f"{job.mtti_s.value:.0f} s"
        return f"# failures: {{per_gpu_day: 86,400 / ({seconds} x GPUs)}}  # {every}"
    rate = fmt.DAY_S / (job.mtti_s.value * found.gpus)
    return f"failures: {{per_gpu_day: {rate:.3g}}}  # {every} of {found.gpus:,} GPUs"


def _comment(text: str) -> str:
    return f"# {fmt.short(text, _COMMENT)}"


def _yaml_text(text: str) -> str:
    """A text between double quotes, as JSON and YAML both read it."""
    return json.dumps(text, ensure_ascii=False)


def _key(path: str) -> str:
    return path if _PLAIN_KEY.fullmatch(path) else _yaml_text(fmt.short(path, _COMMENT))
