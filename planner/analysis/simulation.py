"""A plan's job simulated many times, beside the goodput that the formula predicts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from planner import units
from planner.analysis.verification import problem_name
from planner.errors import Finding, InputError, NoPlanError, did_you_mean
from planner.files import regular
from planner.schema.operation import (
    Estimate,
    FailuresAssumed,
    IntervalTried,
    JobSimulated,
    LossBudget,
    RepairSeen,
    Simulation,
)
from planner.schema.plan import Plan
from planner.simulation.job import (
    Array,
    JobRun,
    Law,
    empirical,
    full_mtti_s,
    job_of,
)
from planner.simulation.run import simulate
from planner.telemetry.tables import names_line, read_table, read_times
from planner.verifier.physics import (
    States,
    Times,
    goodput,
    log_goodput,
    running_odds,
    with_fewer,
)

YEAR_S = 365 * 86_400.0
POWERS = (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0)
"""Powers of 2 by which other intervals are longer than the simulated one."""
WORN = ("endurance",)
"""Limits on data written a day, which grows as intervals get shorter."""
_SHAPES = 0.2, 20.0
_MOST_YEARS, _MOST_FAILURES = 1000, 2e6
_COUNTED = ("slowdown", "rework", "drain", "restart", "restore", "other")
_KINDS = "write exponential, weibull:0.7 (its shape) or the name of a file"


@dataclass(frozen=True)
class SimulationOptions:
    """Failures, runs and intervals to simulate.

    Attributes:
        failures: "exponential", "weibull:SHAPE" or a file of failures.
        column, time_format: of that file.
        scaled: stretch the file's times to the plan's mean.
        replications, length_s, seed: number, length and seed of the runs.
        interval_s: another interval than the plan's.
        intervals: whether to try other intervals under the same failures.
    """

    failures: str = "exponential"
    column: str | None = None
    time_format: str | None = None
    scaled: bool = False
    replications: int = 1000
    length_s: float = YEAR_S
    seed: int = 1
    interval_s: float | None = None
    intervals: bool = True


def study(
    plan: Plan, options: SimulationOptions, progress: Callable[[int, int], None] | None = None
) -> Simulation:
    """The record of `planner.simulate`.

    Raises:
        NoPlanError: there is no plan.
    """
    if not plan.jobs:
        why = plan.message or plan.status
        raise NoPlanError(f"{problem_name(plan)}: no plan, so nothing to simulate: {why}")
    job = _job(plan, options)
    tried = [job, *(_other_intervals(job) if options.intervals else ())]
    found = simulate(tried, options.length_s, options.replications, options.seed, progress)
    found["other"] = found["kept"] * job.lost_time
    found["kept"] = found["kept"] * (1.0 - job.lost_time)
    compared = _compare(plan, found["kept"] / options.length_s, tried) if len(tried) > 1 else ()
    allowed = [place for place, each in enumerate(compared) if not each.breaks]
    best = max(allowed, key=lambda place: compared[place].goodput, default=None)
    return Simulation(
        problem=plan.problem,
        problem_file=plan.provenance.problem_file,
        scenario=plan.provenance.scenario,
        length_s=options.length_s,
        replications=options.replications,
        seed=options.seed,
        jobs=(_simulated(plan, job, found, options),),
        intervals=compared,
        best=best,
        better=best is not None and compared[best].low > 0,
    )


# Options


def _wrong(message: str, fix: str | None = None, place: str | None = None) -> InputError:
    return InputError(Finding("option", message, place, fix=fix))


def _job(plan: Plan, options: SimulationOptions) -> JobRun:
    failures = _failures(options, full_mtti_s(plan.jobs[0]))
    try:
        job = job_of(plan.jobs[0], failures, options.interval_s)
    except ValueError as error:
        message = f"--interval {options.interval_s or 0:g} s is too short: {error}"
        raise _wrong(message, "give a longer interval") from None
    years, count = options.length_s / YEAR_S, options.length_s / failures.mean_s
    if job.compute_s <= 0:
        message = f"--interval {job.interval_s:g} s is within the stall time, {job.stall_s:.3g} s"
        raise _wrong(message, "give a longer interval")
    if years > _MOST_YEARS:
        message = f"--length {years:,.0f} years is longer than {_MOST_YEARS:,} years"
        raise _wrong(message, "add replications instead")
    if options.length_s <= job.interval_s:
        message = f"--length {options.length_s:g} s ends before the first checkpoint"
        raise _wrong(message, f"give more than the interval, {job.interval_s:.0f} s")
    if count > _MOST_FAILURES:
        message = f"{count:,.0f} failures in a run are more than {_MOST_FAILURES:,.0f}"
        raise _wrong(message, "give a shorter --length")
    return job


def _failures(options: SimulationOptions, mean_s: float) -> Law:
    """Law of the failures; ``mean_s`` is the plan's mean time between interruptions."""
    text = options.failures.strip()
    kind, colon, shape = text.partition(":")
    kind = kind.lower()
    known = kind == "weibull" or (kind == "exponential" and not colon)
    if kind not in ("exponential", "weibull") and Path(text).suffix:
        found = read_failures(Path(text), options.column, options.time_format)
        return replace(found, mean_s=mean_s) if options.scaled else found
    if not known:
        raise _wrong(f"--failures '{text[:60]}' is not known", _KINDS)
    given = {"a column": options.column, "--time-format": options.time_format}
    for name, value in (given | {"--scaled": options.scaled or None}).items():
        if value is not None:
            message = f"{name} is about a file of failures"
            raise _wrong(message, "give the file: --failures FILE.csv")
    if kind == "exponential":
        return Law(mean_s)
    (low, high), number = _SHAPES, math.nan
    with suppress(ValueError):
        number = float(shape)
    if not low <= number <= high:
        message = f"'{shape[:40]}' is no shape of a Weibull distribution"
        raise _wrong(message, f"write weibull:0.7, between {low:g} and {high:g}", "--failures")
    return Law(mean_s, "weibull", number)


# Prediction by the formula


def _times(job: JobRun) -> Times:
    """Times that the formula predicts goodput from."""
    local, units, load = job.local, job.units, job.repair_load
    slowed_s = job.drain_slowdown * job.drain_s / (1 if local is None else local.every)
    restarts = job.restart_s, job.restore_s, job.failures.mean_s
    times = Times(job.interval_s, job.stall_s + slowed_s, job.drain_s, *restarts)
    times = replace(times, idle=job.lost_time)
    if local is not None:
        near: dict[str, Any] = {"near_drain_s": local.settle_s, "near_restart_s": local.restart_s}
        times = replace(times, every=local.every, far=job.remote_share, **near)
    if units is None or job.repair is None:
        return times
    times = replace(times, swapped=job.hardware_share, swap_s=units.swap_s)
    if units.shrinks:
        states = States.balanced(units.running, load, job.repair.mean_s)
        return with_fewer(times, states, job.hardware_share)
    odds = units.racks / running_odds(units.spares, load / units.racks)
    return replace(times, waits=odds / (1.0 + odds))


def _losses(t: Times) -> dict[str, float]:
    """1 - goodput by cause: idle units, the rest by each cause's share of the logarithm."""
    causes = ("stall", "rework", "drain", "restart", "restore", "waiting")
    if t.stopped_s >= t.interval_s:
        return dict.fromkeys(causes, 0.0) | {"stall": 1.0, "other": 0.0}
    own = ("drain_s", "near_drain_s"), ("restart_s", "near_restart_s", "swap_s"), ("restore_s",)
    none = dict.fromkeys((field for fields in own for field in fields), 0.0)
    steps = [replace(t, stopped_s=0.0, **none)]
    for fields in own:
        steps.append(replace(steps[-1], **{field: getattr(t, field) for field in fields}))
    found = [log_goodput(each) for each in steps]
    logs = [math.log1p(-t.stopped_s / t.interval_s), found[0]]
    logs += [after - before for before, after in pairwise(found)] + [math.log1p(-t.waits)]
    lost = -math.expm1(sum(logs))
    parts = {cause: lost * log / sum(logs) for cause, log in zip(causes, logs, strict=True)}
    return parts | {"other": (1.0 - lost) * t.idle}


def _predict_loss(job: JobRun) -> LossBudget:
    """Loss by the formula; slowdown is split from the stall by its share."""
    times = _times(job)
    parts, slowed = _losses(times), 1.0 - job.stall_s / times.stopped_s if times.stopped_s else 0.0
    stopped, waits = parts.pop("stall"), parts.pop("waiting")
    shrinks = job.units is not None and job.units.shrinks
    parts |= {"stall": stopped * (1.0 - slowed), "slowdown": stopped * slowed}
    return LossBudget(**parts, **{"shrunk" if shrinks else "waiting": waits})


# Intervals


def _other_intervals(job: JobRun) -> Iterator[JobRun]:
    settle_s = 0.0 if job.local is None else job.local.settle_s
    for power in POWERS:
        interval_s = 2.0**power * job.interval_s
        if interval_s - job.stall_s > max(settle_s, 1e-9 * interval_s):
            yield replace(job, interval_s=interval_s)


def _compare(plan: Plan, kept: Array, tried: Sequence[JobRun]) -> tuple[IntervalTried, ...]:
    """Intervals from short to long, each against the first of ``tried``; ``kept``: a row each."""
    found = []
    for variant, values in zip(tried, kept, strict=True):
        apart = values - kept[0]
        mean = float(apart.mean())
        room = _confidence(apart, len(tried) - 1) if variant is not tried[0] else 0.0
        one = IntervalTried(
            factor=variant.interval_s / tried[0].interval_s,
            interval_s=variant.interval_s,
            predicted=float(goodput(_times(variant))),
            goodput=float(values.mean()),
            difference=mean,
            low=mean - room,
            high=mean + room,
            breaks=_broken_limits(variant, plan),
        )
        found.append(one)
    return tuple(sorted(found, key=lambda each: each.interval_s))


def _broken_limits(job: JobRun, plan: Plan) -> tuple[str, ...]:
    """Limits that an interval breaks, by their names in the problem."""
    planned, cycle_s = plan.jobs[0], job.interval_s * (job.local.every if job.local else 1)
    longer = planned.interval_s / job.interval_s
    takes = [(each.name, each.value * longer, each.limit) for each in plan.limits]
    takes = [each for each in takes if each[0] in WORN]
    if job.sync:
        share, most = job.stall_s / job.interval_s, planned.max_blocking
        takes.append(("max_blocking", share, math.inf if most is None else most))
    else:
        most, captured_s = planned.max_overlap, 0.0 if job.local else job.stall_s
        takes.append(("max_overlap", job.drain_s / cycle_s, math.inf if most is None else most))
        takes.append(("drain", captured_s + job.drain_s, cycle_s))
    return tuple(name for name, value, limit in takes if value > limit * (1.0 + 1e-6))


# Records


def _simulated(
    plan: Plan, job: JobRun, found: dict[str, Array], options: SimulationOptions
) -> JobSimulated:
    share = {name: float(values[0].mean()) / options.length_s for name, values in found.items()}
    a_year = {name: value * YEAR_S for name, value in share.items()}
    failures, repair = job.failures, None
    if job.units is not None:
        repair = RepairSeen(
            shrinks=job.units.shrinks,
            taken_per_year=a_year["taken"],
            waits_per_year=a_year["short_of_units"],
            grown_per_year=a_year["grown"],
        )
    return JobSimulated(
        name=job.name,
        interval_s=job.interval_s,
        failures=FailuresAssumed(
            kind=failures.kind,
            mean_s=failures.mean_s,
            shape=failures.shape if failures.kind == "weibull" else None,
            file=options.failures if failures.measured_s else None,
            times=len(failures.measured_s) or None,
            scaled=options.scaled,
        ),
        predicted=float(goodput(_times(job))),
        predicted_loss=_predict_loss(job),
        goodput=_estimate(found["kept"][0] / options.length_s),
        loss=LossBudget(
            stall=share["capture"] + share["wait"],
            waiting=share["repair"],
            shrunk=share["short"],
            **{name: share[name] for name in _COUNTED},
        ),
        interruptions_per_year=a_year["failures"],
        repair=repair,
        remote_restores_per_year=a_year["far"] if job.local is not None else None,
    )


def _estimate(values: Array) -> Estimate:
    mean, room = float(values.mean()), _confidence(values)
    p5, p95 = (float(each) for each in np.percentile(values, (5.0, 95.0)))
    return Estimate(mean=mean, low=mean - room, high=mean + room, p5=p5, p95=p95)


def _confidence(values: Array, statements: int = 1) -> float:
    """Half of the 95 % confidence interval of a mean; ``statements`` hold together (Bonferroni)."""
    from scipy.special import stdtrit

    quantile = float(stdtrit(len(values) - 1, 1.0 - 0.025 / statements))
    return quantile * float(np.std(values, ddof=1)) / math.sqrt(len(values))


# Failure logs

_MOST_LOG_BYTES = 200_000_000
_FEWEST = 2
_STATES = ("FAILED", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY")
"""States of Slurm's `sacct` that end a job by a failure."""

_UNIT = re.compile(r"(?i)[^a-z](ms|s|sec|min|h|hours?|d|days?)\W*$|^(hours|days|minutes|seconds)$")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_DATE = re.compile(r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_UNIT_FIX = "name the column for its unit (gap_h, gap_s), or write the unit: '3.2 h'"


def read_failures(path: Path, column: str | None = None, form: str | None = None) -> Law:
    """Law of the times between interruptions in a file.

    A column holds times between interruptions, in the unit that ends its name (``gap_h``) or each
    cell states (``3.2 h``); or dates, in any order, which `read_times` reads. Of the answer of
    `sacct -P` rows of jobs (not steps) that failed count, by ``End`` where no column is named.

    Args:
        path: a CSV, Excel, JSON or Parquet file.
        column: the column; None where there is no other, and for `sacct`.
        form: format of dates, as ``strptime`` has it.

    Raises:
        InputError: the file cannot be read, or the column holds something else.
    """
    regular(path, most_bytes=_MOST_LOG_BYTES, what="file of failures")
    frame = read_table(path, "failures", as_text=True)
    line, names = names_line(frame), [str(each) for each in frame.columns]
    if {"JobID", "State"} <= set(names):
        column = column or ("End" if "End" in names else None)
        state = frame["State"].astype("string").str.split().str[0]
        step = frame["JobID"].astype("string").str.contains(".", regex=False)
        frame = frame[state.isin(_STATES) & ~step]
    name = names[0] if column is None and len(names) == 1 else column
    if name not in names:
        message, fix = f"there is no column '{(name or '')[:60]}'", did_you_mean(name or "", names)
        if name is None:
            message, fix = "there are several columns", "choose one: --failures FILE=COLUMN"
        message = f"{message}; columns: {', '.join(names[:12])}"
        raise InputError(Finding("column", message, str(path), line, fix=fix or None))
    cells = frame[name].dropna()
    if form is None and not any(_DATE.match(str(cell)) for cell in cells):
        gaps = _gaps(cells, path)
    else:
        seconds, _ = read_times(frame[name], form, str(path))
        gaps = np.diff(np.unique(seconds[np.isfinite(seconds)]))
    if len(gaps) < _FEWEST:
        message = f"column '{name}' has {len(gaps)} times between interruptions"
        fix = f"{_FEWEST} or more are needed"
        raise InputError(Finding("failures", message, str(path), fix=fix))
    return empirical(tuple(gaps.tolist()))


def _gaps(cells: pd.Series[Any], path: Path) -> Array:
    """Times between interruptions, s."""
    unit, found = _UNIT.search(str(cells.name)), np.zeros(len(cells))
    named = "" if unit is None else unit[1] or unit[2]
    for place, cell in enumerate(map(str, cells)):
        bare = _NUMBER.fullmatch(cell) is not None
        message, fix = f"a time between interruptions must be more than 0: '{cell}'", None
        try:
            found[place] = units.parse(f"{cell} {named}" if bare else cell, units.TIME)
        except units.QuantityError as error:
            message, fix = str(error), error.fix
            if bare and not named:
                message, fix = f"'{cell[:40]}' has no unit", _UNIT_FIX
        if not found[place] > 0:
            line, text = int(cells.index[place]), f"column '{cells.name}': {message}"
            raise InputError(Finding("failures", text, str(path), line, fix=fix))
    return found
