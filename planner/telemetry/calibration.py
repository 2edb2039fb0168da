"""A job's own log: measured figures as changes of a problem, and repairs.

A log may have the events ``unit_out`` and ``unit_back``, and the columns ``unit``, ``level`` (of a
``resume``: local or remote) and ``class`` (of a ``failure``).

The log says when the job saves, fails and computes again: a CSV file with the columns ``time``,
``job`` and ``event``. Changes stand with their ranges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, get_args

import numpy as np
import pandas as pd

from planner.errors import Finding, InputError, did_you_mean
from planner.figures import FIGURES
from planner.paths import job_path
from planner.schema.problem import FixedInterval, Job, Problem
from planner.schema.telemetry import Calibration, JobFound, Measured, Override
from planner.telemetry.raw import (
    difference,
    median_with_range,
    per_event,
    poisson,
    ratio,
    scaled,
)
from planner.telemetry.tables import read_table
from planner.telemetry.times import read_times
from planner.units import DAY_S, HOUR_S
from planner.untrusted_files import regular

LEVELS = ("local", "remote")
COMPLETE = 0.9
"""Share of the failures of which a log must tell the class, for shares to be taken from it."""
_PLACES = 4


class LogRow(Protocol):
    """A row of a log, in order of time, s."""

    @property
    def at_s(self) -> float:
        """When."""

    @property
    def event(self) -> str:
        """Event."""

    @property
    def unit(self) -> str:
        """Which unit went out or came back; empty where it is not told."""

    @property
    def kind(self) -> str:
        """Of which class a failure was; empty where it is not told."""


@dataclass(frozen=True)
class LoggedRepairs:
    """Hardware and failure classes in a log; None or empty where data are too few.

    Attributes:
        repair_s: mean time that a unit is out.
        share: of the failures, those that took a unit out.
        out: how many units went out.
        classes: share of the failures by class; they add up to 1.
    """

    repair_s: Measured | None
    share: Measured | None
    out: int
    classes: dict[str, float]


def logged_repairs(rows: Sequence[LogRow]) -> LoggedRepairs:
    """Hardware and failure classes in a job's log.

    Time that units are still out at the end of the log counts, so that long repairs are not left
    out: the mean is all time out over the repairs that ended.
    """
    since: dict[str, list[float]] = {}
    out_s, ended = 0.0, 0
    for row in rows:
        if row.event == "unit_out":
            since.setdefault(row.unit, []).append(row.at_s)
        elif row.event == "unit_back" and since.get(row.unit):
            out_s += row.at_s - since[row.unit].pop(0)
            ended += 1
    out_s += sum(rows[-1].at_s - began for times in since.values() for began in times)
    failures = [row for row in rows if row.event == "failure"]
    out = sum(row.event == "unit_out" for row in rows)
    return LoggedRepairs(
        per_event(out_s, ended), _share(out, len(failures)), out, _by_kind(failures)
    )


def _share(part: int, whole: int) -> Measured | None:
    """Return a share of failures with the range of a Poisson count; None without failures."""
    if not part or part > whole:
        return None
    low, high = poisson(part)
    return Measured(value=part / whole, low=low / whole, high=min(1.0, high / whole))


def _by_kind(failures: Sequence[LogRow]) -> dict[str, float]:
    """Return the share of each class, rounded so that they add up to 1 as written."""
    counts = Counter(row.kind for row in failures if row.kind)
    known = sum(counts.values())
    if not known or known < COMPLETE * len(failures):
        return {}
    first, *others = [name for name, _ in counts.most_common()]
    shares = {name: round(counts[name] / known, _PLACES) for name in others}
    return {first: round(1.0 - sum(shares.values()), _PLACES), **shares}


COLUMNS = ("time", "job", "event")
MORE_COLUMNS = ("unit", "level", "class")
"""Columns that a log may have as well."""
Event = Literal[
    "start", "checkpoint_begin", "checkpoint_end", "failure", "stop", "resume", "end",
    "unit_out", "unit_back",
]  # fmt: skip
"""``checkpoint_begin``: the GPUs stop for it; ``checkpoint_end``: they go on, while it may still be
on its way; ``stop``: planned; ``resume``: computing again; ``unit_out``, ``unit_back``: hardware
goes out for repair and is there again."""

EVENTS: tuple[Event, ...] = get_args(Event)
_MOST_BYTES = 64_000_000
_LEAST = 3
"""So many stalls or restarts are needed for a figure with a range."""

_JOB = job_path()


@dataclass(frozen=True)
class JobLog:
    """One job in a log; None where data are too few.

    Attributes:
        job: its name there.
        stall_s: how long the GPUs stop for a checkpoint.
        restart_s: from a failure until computing goes on, the restoring read included.
        local_restart_s: the same of restarts from the local level, ``remote_restart_s`` of those
            from storage; None where the log does not tell the levels.
        repairs: repairs and failure classes.
        mtti_s: wall-clock time per failure.
        failures, checkpoints: how many the log has.
        start_s, end_s: its first and last event, on its own clock.
    """

    job: str
    stall_s: Measured | None
    restart_s: Measured | None
    mtti_s: Measured | None
    failures: int
    checkpoints: int
    start_s: float
    end_s: float
    repairs: LoggedRepairs
    local_restart_s: Measured | None = None
    remote_restart_s: Measured | None = None


@dataclass(frozen=True)
class _Row:
    at_s: float
    job: str
    event: str
    unit: str = ""
    level: str = ""
    kind: str = ""


def read_log(path: Path, job: str | None = None) -> JobLog:
    """Return the figures that a log holds of a job.

    Args:
        path: a CSV, Excel, JSON or Parquet file with the columns time, job, event.
        job: the job's name in it; None where there is only one.

    Raises:
        InputError: the file or a row is wrong, or it is not clear which job is meant.
    """
    rows = sorted(_rows(path), key=lambda row: row.at_s)
    names = list(dict.fromkeys(row.job for row in rows))
    if job is None and len(names) == 1:
        job = names[0]
    if job is None or job not in names:
        known = ", ".join(names[:9])
        message = "the log has several jobs" if job is None else f"the log has no job '{job}'"
        hint = did_you_mean(job, names) if job else None
        fix = hint or f"name one of them with --log-job: {known}"
        raise InputError(Finding("log", message, str(path), fix=fix))
    return _log([row for row in rows if row.job == job], job)


def _rows(path: Path) -> list[_Row]:
    regular(path, most_bytes=_MOST_BYTES, what="log")
    table = read_table(path, "log")
    frame, line = table.frame.dropna(how="all"), table.first_line
    for name in COLUMNS:
        if name not in frame:
            fix = f"a log has the columns {', '.join(COLUMNS)}"
            raise InputError(Finding("log", f"no column '{name}'", str(path), 1, fix=fix))
    times, _ = read_times(frame["time"], None, str(path), line)
    empty = pd.Series("", index=frame.index)
    text = {
        name: frame.get(name, empty).astype("string").fillna("").str.strip()
        for name in (*COLUMNS[1:], *MORE_COLUMNS)
    }
    for name, known in (("event", EVENTS), ("level", ("", *LEVELS))):
        wrong = text[name][~text[name].isin(known)]
        if len(wrong):
            cell, at = str(wrong.iloc[0])[:40], None if line is None else line + wrong.index[0]
            fix = did_you_mean(cell, known) or f"one of {', '.join(filter(None, known))}"
            message = f"'{cell}' is no {name}"
            raise InputError(Finding("log", message, str(path), at, name, fix))
    if not np.isfinite(times).all():
        at = int(np.flatnonzero(~np.isfinite(times))[0])
        at_line = None if line is None else line + int(frame.index[at])
        raise InputError(Finding("log", "a row without a time", str(path), at_line, "time"))
    columns = (text[name] for name in ("job", "event", "unit", "level", "class"))
    return [_Row(at_s, *map(str, row)) for at_s, *row in zip(times, *columns, strict=True)]


def _log(rows: list[_Row], job: str) -> JobLog:
    stalls = _spans(rows, "checkpoint_begin", "checkpoint_end", ("failure", "stop", "end"))
    restarts = _spans(rows, *RESTART)
    failures = sum(row.event == "failure" for row in rows)
    return JobLog(
        job,
        stall_s=_usual(stalls),
        restart_s=_usual(restarts),
        mtti_s=per_event(rows[-1].at_s - rows[0].at_s, failures),
        failures=failures,
        checkpoints=sum(row.event == "checkpoint_begin" for row in rows),
        start_s=rows[0].at_s,
        end_s=rows[-1].at_s,
        repairs=logged_repairs(rows),
        local_restart_s=_usual(_spans(rows, *RESTART, "local")),
        remote_restart_s=_usual(_spans(rows, *RESTART, "remote")),
    )


RESTART = ("failure", "resume", ("stop", "end"))
"""From where to where a restart goes, and what breaks it off."""


def _spans(
    rows: list[_Row], first: str, last: str, broken: tuple[str, ...], level: str = ""
) -> list[float]:
    """Durations from one event to another; the last of several first ones counts.

    Args:
        rows: of a job, in order.
        first, last: the events.
        broken: events after which it counts no more.
        level: the level of checkpoints that the last one names; any where it is empty.
    """
    found, since = [], None
    for row in rows:
        if row.event == first:
            since = row.at_s
        elif row.event in broken:
            since = None
        elif row.event == last and since is not None:
            if not level or row.level == level:
                found.append(row.at_s - since)
            since = None
    return found


def _usual(spans: list[float]) -> Measured | None:
    return median_with_range(np.array(spans)) if len(spans) >= _LEAST else None


@dataclass(frozen=True)
class Known:
    """Inputs that telemetry cannot measure.

    Attributes:
        gpus: GPUs that the job ran on.
        write_gb_per_s, read_gb_per_s: nameplate bandwidth of the storage that was measured.
        log: the job's log.
    """

    gpus: int | None = None
    write_gb_per_s: float | None = None
    read_gb_per_s: float | None = None
    log: JobLog | None = None


def calibration(found: JobFound, problem: Problem, name: str, known: Known) -> Calibration:
    """Return the measurements of a job as overrides of a problem.

    Args:
        name: the problem's file, for the record.
        known: inputs that telemetry cannot measure.
    """
    job = problem.job
    made: list[Override] = []
    left: list[str] = []
    for each in (
        _size(found, job),
        _interval(found, job),
        _stall(job, known.log),
        *_restarts(found, job, known.log),
        *_repair(job, known.log),
        *_classes(job, known.log),
        _failures(found, known),
        _delivered("write", found.write_gb_per_s, known.write_gb_per_s, problem),
        _delivered("read", found.read_gb_per_s, known.read_gb_per_s, problem),
    ):
        if isinstance(each, Override):
            made.append(each)
        elif each:
            left.append(each)
    if job.checkpoint.drain_slowdown:
        left.append("slowdown while draining: neither telemetry nor the log tells")
    return Calibration(
        job=found.name,
        problem=name,
        gpus=known.gpus,
        overrides=tuple(made),
        not_measured=tuple(left),
    )


def _override(
    path: str, label: str, unit: str, measured: Measured, source: str, now: str | None
) -> Override:
    def text(value: float) -> str:
        return f"{value:.6g} {unit}".rstrip()

    drawn = None
    if measured.low is not None and measured.high is not None and measured.high > measured.low:
        ends = (measured.low, measured.value, measured.high)
        drawn = f"{path}=triangular({', '.join(text(end) for end in ends)})"
    return Override(
        path=path,
        label=label,
        unit=unit,
        measured=measured,
        setting=f"{path}={text(measured.value)}",
        distribution=drawn,
        now=now,
        source=source,
    )


def _seen(found: JobFound) -> str:
    return f"telemetry, {_many(found.checkpoints, 'checkpoint')}"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _size(found: JobFound, job: Job) -> Override:
    if job.parameters is not None and job.checkpoint.size_gb is None:
        per = scaled(found.size_gb, 1e9 / job.parameters)
        now = f"{job.bytes_per_parameter}"
        path = f"{_JOB}.bytes_per_parameter"
        return _override(path, "bytes per parameter", "", per, _seen(found), now)
    path, size = f"{_JOB}.checkpoint.size", job.checkpoint.size_gb
    text = None if size is None else f"{size:g} GB"
    return _override(path, FIGURES["checkpoint_gb"].label, "GB", found.size_gb, _seen(found), text)


def _interval(found: JobFound, job: Job) -> Override | None:
    """Return the interval where the problem fixes one; else it is the planner's to choose."""
    if not isinstance(job.checkpoint.interval, FixedInterval):
        return None
    now = f"{job.checkpoint.interval.every_s:g} s"
    path = f"{_JOB}.checkpoint.interval.every"
    return _override(path, "interval", "s", found.interval_s, _seen(found), now)


def _asked_of_a_log(log: JobLog | None) -> str:
    return "a job log does (--log)" if log is None else "the job log says too little of it"


def _stall(job: Job, log: JobLog | None) -> Override | str:
    if job.checkpoint.mode == "sync":
        return "stall: the problem's job waits for storage, so its stall follows from the drain"
    if log is None or log.stall_s is None:
        return f"stall: storage does not see it; {_asked_of_a_log(log)}"
    source = f"job log, {_many(log.checkpoints, 'checkpoint')}"
    if job.checkpoint.stall_s == "derived":
        return "stall: the problem derives it from the copy to the hosts"
    now = f"{job.checkpoint.stall_s:g} s"
    return _override(f"{_JOB}.checkpoint.stall", "stall", "s", log.stall_s, source, now)


def _restarts(found: JobFound, job: Job, log: JobLog | None) -> Iterator[Override | str]:
    """Yield the restart time, by level where both the problem and the log tell the levels."""
    if job.levels is None:
        yield _restart(found, job, log)
        return
    if log is None or log.local_restart_s is None:
        yield "restarts from the local level: a job log tells, with its column level (--log)"
    else:
        now = None if job.restart.local_s is None else f"{job.restart.local_s:g} s"
        source = "job log, restarts from the local level"
        path = f"{_JOB}.restart.local"
        yield _override(path, "local restart", "s", log.local_restart_s, source, now)
    if log is None or log.remote_restart_s is None:
        yield "restarts from storage: a job log tells, with its column level (--log)"
        return
    source, time = "job log, restarts from storage", log.remote_restart_s
    if found.restore_s is not None:
        source, time = f"{source}, less the restoring read", difference(time, found.restore_s)
    path = f"{_JOB}.restart.remote"
    yield _override(path, "restart time", "s", time, source, f"{job.restart_s:g} s")


def _repair(job: Job, log: JobLog | None) -> Iterator[Override | str]:
    """Yield the share of failures that take a unit out and its time of repair, where the problem
    states them as one share and one time."""
    if job.repair is None:
        return
    if job.repair.classes:
        yield "repair: the problem states it by class, and a log tells one mean"
        return
    repairs = None if log is None else log.repairs
    if repairs is None or repairs.repair_s is None or repairs.share is None:
        yield "repair: a job log tells, with its events unit_out and unit_back (--log)"
        return
    source = f"job log, {_many(repairs.out, 'unit')} out"
    share, time_s = job.repair.share, job.repair.time_s
    path = f"{_JOB}.repair"
    now = None if share is None else f"{share:g}"
    yield _override(f"{path}.share", "hardware share of failures", "", repairs.share, source, now)
    hours = scaled(repairs.repair_s, 1.0 / HOUR_S)
    now = None if time_s is None else f"{time_s / HOUR_S:g} h"
    yield _override(f"{path}.time", "time of repair", "h", hours, source, now)


def _classes(job: Job, log: JobLog | None) -> Iterator[Override | str]:
    """Yield the share of each class of failures, where the problem has the log's classes."""
    stated = job.failure_shares
    if not stated:
        return
    logged = {} if log is None else log.repairs.classes
    if log is None or not logged:
        yield "shares of failures: a job log tells, with its column class (--log)"
    elif set(logged) != set(stated):
        yield (
            f"shares of failures: the log has {', '.join(sorted(logged))}, "
            f"the problem {', '.join(sorted(stated))}"
        )
    else:
        source = f"job log, {_many(log.failures, 'failure')}"
        for name, share in logged.items():
            path, now = f"{_JOB}.failures.shares.{name}", f"{stated[name]:g}"
            yield _override(path, f"share of {name}", "", Measured(value=share), source, now)


def _restart(found: JobFound, job: Job, log: JobLog | None) -> Override | str:
    if log is None or log.restart_s is None:
        return f"restart time: storage does not see when a job fails; {_asked_of_a_log(log)}"
    source, time = f"job log, {_many(log.failures, 'failure')}", log.restart_s
    if found.restore_s is not None:
        source += ", less the restoring read"
        time = difference(time, found.restore_s)
    now = f"{job.restore.restart_s:g} s"
    return _override(f"{_JOB}.restore.restart", "restart time", "s", time, source, now)


def _failures(found: JobFound, known: Known) -> Override | str:
    log = known.log
    mtti, source = found.mtti_s, f"telemetry, {_many(found.restarts, 'restart')}"
    from_trace = log is None or log.mtti_s is None
    if log is not None and log.mtti_s is not None:
        mtti, source = log.mtti_s, f"job log, {_many(log.failures, 'failure')}"
    if mtti is None:
        return f"failures: none seen in {found.observed_s / HOUR_S:.1f} h"
    if from_trace and found.contested:
        reads = _many(found.contested, "restoring read")
        return f"failures: {reads} may be this job's or another's; a job log tells (--log)"
    if known.gpus is None:
        return f"failures: one every {mtti.value / HOUR_S:.3g} h, on how many GPUs? say --gpus"
    rate = DAY_S / known.gpus
    low, high = mtti.high, mtti.low
    measured = Measured(
        value=rate / mtti.value,
        low=None if low is None else rate / low,
        high=None if high is None else rate / high,
    )
    path, label = f"{_JOB}.failures.per_gpu_day", "failures per GPU and day"
    return _override(path, label, "", measured, source, None)


def _delivered(
    way: str, measured: Measured | None, nameplate: float | None, problem: Problem
) -> Override | str:
    label = f"delivered fraction, {way}"
    if measured is None:
        return f"{label}: no restoring read was seen"
    if nameplate is None:
        return f"{label}: of what? say the nameplate of the storage (--nameplate)"
    if measured.high is None:
        least = measured.low or measured.value
        return f"{label}: at least {least / nameplate:.3g}; samples do not resolve the drains"
    share = ratio(measured, Measured(value=nameplate, low=nameplate, high=nameplate))
    if share.value > 1:
        return f"{label}: {measured.value:.4g} GB/s was seen, more than the nameplate"
    now = f"{getattr(problem.storage.delivered_fraction, way):g}"
    path = f"storage.delivered_fraction.{way}"
    high = None if share.high is None else min(1.0, share.high)
    share = share.model_copy(update={"high": high})
    return _override(path, label, "", share, "telemetry, bandwidth of the job's bursts", now)
