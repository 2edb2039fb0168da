"""How a plan is simulated, as the command line says it: failures, outages, jobs beside it."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from pydantic import Field

from planner import units
from planner.errors import Finding, InputError, did_you_mean
from planner.foreign_files import contents
from planner.inputs import Document, job_size
from planner.loader import yaml12
from planner.loader.market import validated
from planner.paths import DataPath
from planner.schema.base import Model
from planner.schema.plan import JobPlan, Plan
from planner.schema.problem import FixedInterval, Job, LostWorkInterval
from planner.schema.running import DEFAULT_FAILURES
from planner.simulation.from_plan import RepairChoices, job_run
from planner.simulation.operation import (
    Constant,
    Empirical,
    Exponential,
    Failures,
    Law,
    LogNormal,
    Weibull,
)
from planner.simulation.world import Appliances, JobRun, Outages, Planned, World
from planner.sizing.checkpoint import restore_fan_out
from planner.sizing.goodput import FAILURES_PER_GPU_DAY, mtti_s
from planner.studies.compare.side_by_side import read_side

YEAR_S = 365 * 86_400.0
MOST_SIGMA = 2.0
"""Spread of repair times beyond which the mean of a thousand runs says little."""
MOST_REPLICATIONS = 100_000
LONGEST_S = 1000 * YEAR_S
MOST_EVENTS = 2e7
"""Events of one run that are stepped through before somebody has waited too long."""

_SHAPES = (0.2, 20.0)
_KINDS = "write exponential, weibull:0.7 (its shape) or the name of a CSV file"


@dataclass(frozen=True)
class SimulationOptions:
    """What to simulate of a plan, and how often.

    ``failures`` is "exponential", "weibull:SHAPE" or a file, of which ``column`` names the column
    and ``scaled`` stretches the times to the plan's mean. ``planned`` and ``outages`` are texts of
    two times. ``intervals`` says whether to try other intervals, None where the job is alone.
    ``repairs`` is how times of repair are spread, "exponential", "constant" or "lognormal:SIGMA";
    ``when_short`` whether the job waits or shrinks where units are short, or does as planned.
    ``processes`` of 0 are as many as there are cores.
    """

    failures: str = "exponential"
    column: str | None = None
    scaled: bool = False
    planned: str | None = None
    outages: str | None = None
    beside: tuple[Path, ...] = ()
    replications: int = 1000
    length_s: float = YEAR_S
    seed: int = 1
    interval_s: float | None = None
    intervals: bool | None = None
    repairs: str = "exponential"
    when_short: str = "plan"
    processes: int = 0


def planned_of(text: str | None) -> Planned | None:
    """Return the planned stops that a text asks for.

    Raises:
        InputError: it is not two times, or a stop would last until the next.
    """
    if text is None:
        return None
    every, lasting = _two_times("--planned", text, "'30 days,4 h': every 30 days, for 4 hours")
    if lasting >= every:
        message = f"--planned {text}: a stop lasts until the next one is due"
        raise InputError(Finding("option", message, fix="write '30 days,4 h': how often, how long"))
    return Planned(every, lasting)


def outages_of(text: str | None) -> Outages | None:
    """Return the outages that a text asks for.

    Raises:
        InputError: it is not two times.
    """
    if text is None:
        return None
    fix = "'2 years,8 h': one appliance fails every 2 years and is repaired in 8 hours"
    return Outages(*_two_times("--outages", text, fix))


def repairs_of(options: SimulationOptions, plan: Plan) -> RepairChoices:
    """Return how units of a plan's job are repaired.

    Args:
        plan: it must say how hardware is repaired where anything is asked.

    Raises:
        InputError: nothing of the kind is known, or the plan has no repair.
    """
    known = {"plan": None, "wait": False, "shrink": True}
    if options.when_short not in known:
        message = f"--when-short '{options.when_short[:40]}' is not known"
        raise InputError(Finding("option", message, fix="write plan, wait or shrink"))
    repairs = RepairChoices(_law(options.repairs), known[options.when_short])
    asked = "--repairs" if options.repairs != "exponential" else "--when-short"
    repair = plan.jobs[0].repair
    if repair is None and repairs != RepairChoices():
        message = f"{asked} is about repair, and the plan says nothing of it"
        fix = "state jobs[0].repair in the problem, for example {share: 78 %, time: 24 h}"
        raise InputError(Finding("option", message, fix=fix))
    if repair is not None and repair.in_rack and repairs.shrinks:
        message = "--when-short shrink: the plan's spares stay in their racks"
        raise InputError(Finding("option", message, fix="leave it out: the job waits"))
    return repairs


def _law(text: str) -> Law:
    kind, _, sigma = text.strip().lower().partition(":")
    if kind in ("exponential", "constant") and not sigma:
        return Exponential(1.0) if kind == "exponential" else Constant(1.0)
    if kind == "lognormal":
        try:
            spread = float(sigma)
        except ValueError:
            spread = -1.0
        if 0 < spread <= MOST_SIGMA:
            return LogNormal(1.0, spread)
    message = f"--repairs '{text[:40]}' is not known"
    fix = f"write exponential, constant or lognormal:1.2, at most lognormal:{MOST_SIGMA:g}"
    raise InputError(Finding("option", message, fix=fix))


def _two_times(option: str, text: str, example: str) -> tuple[float, float]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2:
        message = f"{option} '{text[:60]}' is not two times"
        raise InputError(Finding("option", message, fix=f"write {example}"))
    first, second = (_time(option, part) for part in parts)
    return first, second


def _time(option: str, text: str) -> float:
    try:
        value = units.parse(text, units.TIME)
    except units.QuantityError as error:
        raise InputError(Finding("option", f"{option}: {error}", fix=error.fix)) from None
    if value <= 0:
        raise InputError(Finding("option", f"{option}: {text} must be more than 0"))
    return value


def failures_of(options: SimulationOptions, mean_s: float) -> Failures:
    """Return when a plan's job fails.

    Args:
        mean_s: the plan's mean time between interruptions.

    Raises:
        InputError: nothing of the kind is known, or its file is wrong.
    """
    text = options.failures.strip()
    kind, colon, shape = text.partition(":")
    drawn = kind.lower()
    if drawn not in ("exponential", "weibull"):
        return _measured(options, text, mean_s)
    if options.column is not None or options.scaled:
        name = "--column" if options.column is not None else "--scaled"
        fix = "give the file: --failures FILE.csv"
        raise InputError(Finding("option", f"{name} is about a file of failures", fix=fix))
    if drawn == "weibull":
        return Weibull(mean_s, _shape(shape))
    if colon:
        raise InputError(Finding("option", f"--failures '{text[:60]}' is not known", fix=_KINDS))
    return Exponential(mean_s)


def _measured(options: SimulationOptions, text: str, mean_s: float) -> Failures:
    if not text.lower().endswith(".csv"):
        raise InputError(Finding("option", f"--failures '{text[:60]}' is not known", fix=_KINDS))
    found = read_times(Path(text), options.column)
    return found.scaled(mean_s) if options.scaled else found


def _shape(text: str) -> float:
    try:
        shape = float(text)
    except ValueError:
        shape = -1.0
    low, high = _SHAPES
    if not low <= shape <= high:
        message = f"'{text[:40]}' is no shape of a Weibull distribution"
        fix = f"write weibull:0.7; it must lie between {low:g} and {high:g}"
        raise InputError(Finding("option", message, "--failures", fix=fix))
    return shape


def require_numbers(options: SimulationOptions) -> None:
    """Refuse counts and lengths that make no sense.

    Raises:
        InputError: one is too small or too large.
    """
    count, length_s = options.replications, options.length_s
    if not 2 <= count <= MOST_REPLICATIONS:
        message = f"--replications {count} must lie between 2 and {MOST_REPLICATIONS:,}"
        raise InputError(Finding("option", message, fix="1000 are usual"))
    if length_s > LONGEST_S:
        message = f"--length {length_s / YEAR_S:,.0f} years is longer than 1,000 years"
        raise InputError(Finding("option", message, fix="add replications instead"))


def require_sense(world: World, options: SimulationOptions, events: float) -> None:
    """Refuse what cannot be simulated, or not in any sensible time.

    Args:
        events: of one run, about.

    Raises:
        InputError: something does not fit.
    """
    for job in world.jobs:
        if job.compute_s <= 0:
            raise InputError(_too_short(job, options))
    longest = max(job.interval_s for job in world.jobs)
    if options.length_s <= longest:
        message = f"--length {options.length_s:g} s ends before the first checkpoint"
        fix = f"give more than the interval, {longest:.0f} s"
        raise InputError(Finding("option", message, fix=fix))
    if events > MOST_EVENTS:
        message = (
            f"a run would have about {events:,.0f} events, at most {MOST_EVENTS:,.0f} are made"
        )
        raise InputError(Finding("option", message, fix="give a shorter --length"))


def _too_short(job: JobRun, options: SimulationOptions) -> Finding:
    what = f"the interval of {job.name}, {job.interval_s:g} s,"
    if options.interval_s == job.interval_s:
        what = f"--interval {job.interval_s:g} s"
    message = f"{what} is no longer than the {job.stall_s:.3g} s that the GPUs stand still for it"
    return Finding("option", message, fix="give a longer interval")


MOST_BYTES = 50_000_000
_FEWEST = 2
_UNIT_FIX = "name the column for its unit (gap_h, gap_s), or write the unit: '3.2 h'"


def read_times(path: Path, column: str | None) -> Empirical:
    """Return the times between interruptions of a file.

    A column holds times, whose unit its name ends in (``gap_h``) or each of them states
    (``3.2 h``), or dates with a time of day (ISO 8601), which need not be in order.

    Args:
        path: the file; its first row names the columns.
        column: which one, None where there is no other.

    Raises:
        InputError: the file cannot be read, or the column holds something else.
    """
    rows = _rows(path)
    name, place = _column(path, rows[0][1], column)
    cells = [(line, row[place].strip()) for line, row in rows[1:] if len(row) > place]
    cells = [(line, cell) for line, cell in cells if cell]
    dated = bool(cells) and _moment(cells[0][1]) is not None
    gaps = _between(path, name, cells) if dated else _gaps(path, name, cells)
    if len(gaps) < _FEWEST:
        message = f"column '{name}' has {len(gaps)} times between interruptions"
        raise InputError(
            Finding("failures", message, str(path), fix=f"{_FEWEST} or more are needed")
        )
    return Empirical(tuple(gaps))


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows that are not empty, with their lines; the first names the columns."""
    data = contents(path, most_bytes=MOST_BYTES, what="file of failures")
    try:
        stream = io.StringIO(data.decode("utf-8-sig"), newline="")
        mark = ";" if ";" in (first := stream.readline()) and "," not in first else ","
        stream.seek(0)
        reader = csv.reader(stream, delimiter=mark)
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error):
        message = "not a text file; failures are CSV in UTF-8"
        raise InputError(Finding("not-text", message, str(path))) from None
    if not rows:
        fix = "its first row names the columns, each further one is an interruption"
        raise InputError(Finding("failures", "the file is empty", str(path), fix=fix))
    return rows


def _column(path: Path, names: Sequence[str], column: str | None) -> tuple[str, int]:
    known = [name.strip() for name in names]
    if column is None and len(known) == 1:
        return known[0], 0
    if column in known:
        return column, known.index(column)
    listed = ", ".join(known[:8])
    if column is None:
        message, fix = f"there are several columns: {listed}", "choose one with --column"
    else:
        message = f"there is no column '{column[:40]}'"
        fix = did_you_mean(column, known) or f"there are: {listed}"
    raise InputError(Finding("column", message, str(path), 1, fix=fix))


def _gaps(path: Path, name: str, cells: Sequence[tuple[int, str]]) -> list[float]:
    unit = _unit_of(name)
    gaps = []
    for line, cell in cells:
        bare = cell.replace(".", "", 1).replace("e", "", 1).lstrip("+-").isdigit()
        if bare and unit is None:
            message = f"'{cell[:40]}' in column '{name}' has no unit"
            raise InputError(Finding("failures", message, str(path), line, fix=_UNIT_FIX))
        try:
            value = units.parse(f"{cell} {unit}" if bare else cell, units.TIME)
        except units.QuantityError as error:
            raise InputError(
                Finding("failures", f"column '{name}': {error}", str(path), line, fix=error.fix)
            ) from None
        if not 0 < value < math.inf:
            message = f"column '{name}': a time between interruptions must be more than 0: '{cell}'"
            raise InputError(Finding("failures", message, str(path), line))
        gaps.append(value)
    return gaps


def _unit_of(name: str) -> str | None:
    """Return the unit of time that a column's name ends in."""
    last = name.strip().rstrip(")]").replace("(", "_").replace("[", "_").replace(" ", "_")
    unit = last.rsplit("_", 1)[-1]
    try:
        units.parse(f"1 {unit}", units.TIME)
    except units.QuantityError:
        return None
    return unit


def _between(path: Path, name: str, cells: Sequence[tuple[int, str]]) -> list[float]:
    moments = set()
    for line, cell in cells:
        moment = _moment(cell)
        if moment is None:
            message = f"column '{name}': cannot read '{cell[:40]}' as a date"
            fix = "write for example 2026-03-01T14:30:00"
            raise InputError(Finding("failures", message, str(path), line, fix=fix))
        moments.add(moment)
    return [(late - early).total_seconds() for early, late in pairwise(sorted(moments))]


def _moment(text: str) -> datetime | None:
    if len(text) < len("2026-03-01") or text[4:5] != "-":
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


MOST_JOBS = 8
_YAML = (".yaml", ".yml")
_WHAT = "file of jobs"


class JobsFile(Model):
    """A file of jobs in the form of a problem file's."""

    jobs: Annotated[tuple[Job, ...], Field(min_length=1)]


def beside(
    paths: Sequence[Path], plan: Plan, stores: Sequence[Appliances]
) -> tuple[tuple[JobRun, ...], tuple[JobPlan | None, ...]]:
    """Return the jobs of some files, and what their plans say of those that are planned.

    Args:
        paths: plans, or files with a ``jobs`` section.
        plan: whose storage they share; jobs of a file are its clients as its own job is.
        stores: that storage.

    Raises:
        InputError: a file is wrong, or there are too many jobs.
    """
    runs: list[JobRun] = []
    planned: list[JobPlan | None] = []
    for path in paths:
        if path.suffix.lower() in _YAML:
            found = _from_file(path, plan.jobs[0], stores)
            runs += found
            planned += [None] * len(found)
        else:
            job = _planned_job(path)
            runs.append(job_run(job, stores))
            planned.append(job)
    if len(runs) >= MOST_JOBS:
        message = f"{len(runs) + 1} jobs are more than can share storage here"
        raise InputError(Finding("option", message, "--beside", fix=f"at most {MOST_JOBS} in all"))
    return tuple(runs), tuple(planned)


def _planned_job(path: Path) -> JobPlan:
    plan = read_side(path).plan
    if not plan.jobs:
        raise InputError(Finding("plan", "there is no plan in it, so no job", str(path)))
    return plan.jobs[0]


def _from_file(path: Path, first: JobPlan, stores: Sequence[Appliances]) -> list[JobRun]:
    document = yaml12.read(path, _WHAT)
    if "jobs" not in document.data:
        message = "there are no jobs in it"
        fix = "give a plan, or a file that begins with 'jobs:'"
        raise InputError(Finding("missing-key", message, document.file, 1, fix=fix))
    document.data = {"jobs": document.data["jobs"]}
    jobs = validated(JobsFile, document).jobs
    return [_job(job, ("jobs", at), document, first, stores) for at, job in enumerate(jobs)]


def _job(
    job: Job,
    path: DataPath,
    document: Document,
    first: JobPlan,
    stores: Sequence[Appliances],
) -> JobRun:
    gpus = job.gpus.min
    if gpus is None:
        fix = "write gpus: {min: 512}"
        raise _wrong(document, path, "it does not say how many GPUs it uses", fix)
    rate = job.failure_rate or DEFAULT_FAILURES
    per_day = FAILURES_PER_GPU_DAY[rate].value if isinstance(rate, str) else rate
    if job.repair is not None:
        fix = "leave repair out, or solve the job and give its plan"
        raise _wrong(document, path, "nothing decides the spares of a job beside", fix)
    if job.checkpoint.stall_s == "derived" or job.levels is not None:
        fix = "write its stall as a time, and leave out checkpoint.local"
        raise _wrong(document, path, "a stall is not derived, nor a local level planned here", fix)
    mean_s = mtti_s(per_day, gpus)
    size_gb, bytes_each = job_size(job)
    interval = job.checkpoint.interval
    if isinstance(interval, FixedInterval):
        interval_s = interval.every_s
    elif isinstance(interval, LostWorkInterval):
        interval_s = interval.kappa * mean_s
    else:
        fix = "write checkpoint: {interval: {policy: fixed, every: 30 min}}"
        raise _wrong(document, path, "its interval is not fixed, and nothing chooses one here", fix)
    share = gpus / first.gpus_used
    write = first.client_write_limit_gb_per_s * share
    sync = job.checkpoint.mode == "sync"
    alone = min(World((), tuple(stores)).write_gb_per_s, write)
    return JobRun(
        name=job.name,
        interval_s=interval_s,
        stall_s=size_gb / alone if sync else job.checkpoint.known_stall_s,
        checkpoint_gb=size_gb,
        restore_gb=size_gb * _fan_out(job, bytes_each, gpus),
        restart_s=job.restart_s,
        failures=Exponential(mean_s),
        drain_slowdown=0.0 if sync else job.checkpoint.drain_slowdown,
        sync=sync,
        client_write_gb_per_s=write,
        client_read_gb_per_s=first.client_read_limit_gb_per_s * share,
    )


def _fan_out(job: Job, bytes_each: float, gpus: int) -> float:
    kind = job.restore.fan_out
    if kind == "broadcast" or job.parallelism is None:
        return 1.0
    return restore_fan_out(kind, bytes_each, max(1.0, gpus / job.parallelism.replica_gpus))


def _wrong(document: Document, path: DataPath, message: str, fix: str) -> InputError:
    dotted = ".".join(str(step) for step in path)
    return InputError(Finding("job", message, *document.place(path), dotted, fix))
