"""A job's own log: when it saves, fails and computes again.

A CSV file with the columns ``time``, ``job`` and ``event``.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from planner.errors import Finding, InputError, did_you_mean
from planner.foreign_files import contents, regular
from planner.schema.telemetry import Measured
from planner.telemetry.csv_parquet import dialect
from planner.telemetry.ranges import middle, per_event
from planner.telemetry.raw import LAST_S

COLUMNS = ("time", "job", "event")
Event = Literal["start", "checkpoint_begin", "checkpoint_end", "failure", "stop", "resume", "end"]
"""``checkpoint_begin``: the GPUs stop for it; ``checkpoint_end``: they go on, while it may still be
on its way; ``stop``: planned; ``resume``: computing again."""

EVENTS: tuple[Event, ...] = get_args(Event)
_MOST_BYTES = 64_000_000
_LEAST = 3
"""So many stalls or restarts are needed for a figure with a range."""


@dataclass(frozen=True)
class JobLog:
    """What a log says of one job; None where it says too little.

    Attributes:
        job: its name there.
        stall_s: how long the GPUs stop for a checkpoint.
        restart_s: from a failure until computing goes on, the restoring read included.
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


@dataclass(frozen=True)
class _Row:
    at_s: float
    job: str
    event: str


def read(path: Path, job: str | None = None) -> JobLog:
    """Return what a log says of a job.

    Args:
        path: the CSV file.
        job: the job's name in it; it may be left out where there is only one.

    Raises:
        InputError: the file or a row is wrong, or it is not clear which job is meant.
    """
    try:
        rows = sorted(_rows(path), key=lambda row: row.at_s)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        said = getattr(error, "strerror", None) or str(error)
        message = f"cannot be read: {said[:160].lower()}"
        raise InputError(Finding("log", message, str(path), fix="a log is CSV in UTF-8")) from None
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


def _rows(path: Path) -> Iterator[_Row]:
    regular(path, most_bytes=_MOST_BYTES, what="log")
    rule = f"a log has the columns {', '.join(COLUMNS)}"
    found = dialect(path, "log", rule, rows_are="events")
    missing = [name for name in COLUMNS if name not in found.names]
    if missing:
        raise InputError(Finding("log", f"no column '{missing[0]}'", str(path), 1, fix=rule))
    text = contents(path, most_bytes=_MOST_BYTES, what="log").decode(
        "utf-16" if found.encoding == "utf-16" else "utf-8-sig"
    )
    lines = text.splitlines()[found.first_line - 1 :]
    rows = csv.reader(lines, delimiter=found.delimiter)
    at, job, event = (found.names.index(name) for name in COLUMNS)
    for cells in rows:
        line = found.first_line - 1 + rows.line_num
        if not any(cell.strip() for cell in cells):
            continue
        cells += [""] * (len(found.names) - len(cells))
        what = _event(cells[event].strip(), path, line)
        yield _Row(_time(cells[at], path, line), cells[job].strip(), what)


def _event(text: str, path: Path, line: int) -> str:
    if text not in EVENTS:
        fix = did_you_mean(text, EVENTS) or f"events are {', '.join(EVENTS)}"
        raise InputError(
            Finding("log", f"'{text[:40]}' is no event", str(path), line, "event", fix)
        )
    return text


def _time(text: str, path: Path, line: int) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = _moment(text.strip())
    if not abs(seconds) <= LAST_S:
        fix = "write seconds, or for example 2026-01-01T00:00:00Z"
        message = f"'{text[:40]}' is not a time"
        raise InputError(Finding("log", message, str(path), line, "time", fix))
    return seconds


def _moment(text: str) -> float:
    """Return a point in time in seconds since 1970, NaN where it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return math.nan
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _log(rows: list[_Row], job: str) -> JobLog:
    stalls = _spans(rows, "checkpoint_begin", "checkpoint_end", ("failure", "stop", "end"))
    restarts = _spans(rows, "failure", "resume", ("stop", "end"))
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
    )


def _spans(rows: list[_Row], first: str, last: str, broken: tuple[str, ...]) -> list[float]:
    """Return how long it takes from one event to another; the last of several first ones counts."""
    found, since = [], None
    for row in rows:
        if row.event == first:
            since = row.at_s
        elif row.event in broken:
            since = None
        elif row.event == last and since is not None:
            found.append(row.at_s - since)
            since = None
    return found


def _usual(spans: list[float]) -> Measured | None:
    return middle(np.array(spans)) if len(spans) >= _LEAST else None
