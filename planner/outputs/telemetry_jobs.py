"""Jobs found in telemetry as text for problem files: a ``jobs:`` section, and overrides."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator

from planner.outputs.comparison_words import counted
from planner.outputs.telemetry_calibration import value_of
from planner.outputs.telemetry_figures import day, figure, measured, most, span, stated
from planner.outputs.telemetry_words import USUAL_OVERLAP, one_line
from planner.outputs.words import DAY_S, duration
from planner.schema.telemetry import Calibration, Characterization, JobFound

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_NAME, _COMMENT = 200, 200
_HEAD = (
    "# Found in storage telemetry. A problem holds one job: keep one entry of the list.",
    "# Not measured, so at their defaults: stall, writers, slowdown while draining, restart.",
    "# Where the objective is goodput, add training: {mfu: 40 %} with what the job reaches.",
)


def jobs_yaml(record: Characterization) -> str:
    """Return the jobs found as a ``jobs:`` section for a problem file.

    Comments tell ranges, what follows from the figures, and what was not measured.
    """
    lines = [*_HEAD, "jobs:" if record.jobs else "jobs: []"]
    for job in record.jobs:
        lines += _entry(record, job)
    return "\n".join(lines) + "\n"


def overrides_yaml(calibration: Calibration) -> str:
    """Return the overrides as a mapping of paths to values, as a scenario of a problem has it."""
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
    """Return a limit that the job keeps to: the usual one where it does, and what was measured."""
    top = max(job.overlap.value, job.overlap.high or 0.0)
    usual = top <= USUAL_OVERLAP
    limit = 100 * USUAL_OVERLAP if usual else min(100, math.ceil(100 * top))
    said = "usual; measured" if usual else "as measured:"
    overlap, drain = most(job.overlap, "share"), most(job.drain_s, "s")
    if job.resolved:
        overlap, drain = measured(job.overlap, "share"), measured(job.drain_s, "s")
    rate = measured(job.write_gb_per_s, "GB/s")
    return f"{limit:g} %  # {said} {overlap}, drain {drain} at {rate}"


def _failures(record: Characterization, job: JobFound) -> str:
    """Return the failure rate where a number of GPUs is known, else how to get it."""
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
    """Return how many GPUs it ran on, as a comment: how many to use is the planner's to decide."""
    found = record.calibration
    count = found.gpus if found is not None and found.job == job.name else None
    return (
        f"# gpus: {{min: {count or 'N'}}}  # what it ran on; planner simulate --beside asks for it"
    )


def _restore(job: JobFound) -> str:
    """Return what restores took, as a comment: what was is no limit for what will be bought."""
    if job.restore_s is None or job.restore_s.value <= 0:
        return "# restore: no read of one was seen"
    told = [f"{measured(job.restore_s, 's')} each"]
    if job.restore_gb is not None and job.size_gb.value > 0:
        times = f"{job.restore_gb.value / job.size_gb.value:.2f} x the checkpoint"
        told.append(f"{figure(job.restore_gb.value, 'GB')} ({times})")
    if job.read_gb_per_s is not None:
        told.append(f"at {measured(job.read_gb_per_s, 'GB/s')}")
    seen = counted(job.confirmed, "restore")
    return f"# restore: {seen}, {', '.join(told)}; set max_time to what it may take"


def _comment(text: str) -> str:
    return f"# {one_line(text, _COMMENT)}"


def _quoted(text: str) -> str:
    """Return a text between double quotes, as JSON and YAML both read it."""
    return json.dumps(text, ensure_ascii=False)


def _key(path: str) -> str:
    return path if _PLAIN_KEY.fullmatch(path) else _quoted(one_line(path))
