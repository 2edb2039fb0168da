"""Traces studied: a problem calibrated by a job; a fleet against model size and interval.

Clusters' traces and a table of jobs give three findings and the demand law: a checkpoint of S bytes
that drains during a share (the overlap) of the interval I takes a bandwidth of S / (overlap x I).
Model size enters through S alone, the GPUs not at all. Sufficient storage is the planner's, in
watts and in GPUs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from planner import api, units
from planner.errors import Finding, InputError, suggest
from planner.files import contents, regular
from planner.inputs import Inputs
from planner.schema.job import Job
from planner.schema.operation import (
    CONFIDENCE,
    Characterization,
    ClusterStorage,
    DemandLaw,
    FleetJob,
    FleetStudy,
    JobFound,
    Measured,
    Trend,
)
from planner.schema.plan import Plan
from planner.schema.problem import Problem
from planner.telemetry import CheckpointColumns, ClusterTrace, ReadOptions, characterize
from planner.telemetry.jobs import calibration
from planner.telemetry.tables import Numbers, names_line, read_table
from planner.terminal import Progress

LIMIT = 0.10
"""Overlap that most builders keep below."""

COLUMNS = ("job", "cluster", "gpus", "parameters")
_MOST_BYTES = 64_000_000
_NEAR = math.log(1.5)
"""Largest distance between the parameters of the table and those that checkpoints imply."""

_LEAST_JOBS = 4
_WIDEST = 2.0
"""Widest range of an exponent that says something."""


def run(
    traces: Sequence[Path],
    options: ReadOptions,
    *,
    jobs: Path | None,
    inputs: Inputs | None,
    job: str | None,
    gpus: int | None,
    nameplate: str | None,
    progress: Progress,
) -> tuple[Characterization, CheckpointColumns]:
    """The record of `planner.characterize`, and the checkpoints as columns.

    Args:
        inputs: problem to calibrate; with ``jobs`` its catalogs have the storage.
    """
    for path in traces:
        _refuse_yaml(path)
    listed = None if jobs is None else read_jobs(jobs)
    given = {"--job": job, "--gpus": gpus, "--nameplate": nameplate}
    if inputs is None and (idle := [option for option, value in given.items() if value]):
        message = f"{', '.join(idle)}: only to calibrate a problem, and none is given"
        raise InputError(Finding("option", message, fix="add --problem PROBLEM.yaml"))
    done: list[str] = []

    def seen(cluster: ClusterTrace) -> None:
        done.append(cluster.record.name)
        progress(len(done), max(len(done), len(traces)))

    record, table = characterize(traces, options, seen)
    if listed is not None:
        study = study_fleet(record, listed)
        if inputs is not None:
            study = add_storage(study, inputs, progress)
        record = record.model_copy(update={"study": study})
    elif inputs is not None and record.jobs:
        count = None if gpus is None else units.whole("--gpus", gpus)
        texts = filter(None, map(str.strip, (nameplate or "").split(",")))
        rates = [units.quantity("--nameplate", each, units.BANDWIDTH) for each in texts]
        chosen = _job_named(record.jobs, job)
        made = calibration(chosen, inputs.problem, inputs.problem_file, count, *rates[:2])
        record = record.model_copy(update={"calibration": made})
    return record, table


def _refuse_yaml(path: Path) -> None:
    """Refuse a problem file, catalog or price book in place of a trace, with its own command."""
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return
    head = contents(path, most_bytes=100_000_000, what="trace").decode(errors="replace")
    named = re.search(r"^(catalog|price_book|jobs):", head, re.MULTILINE)
    kind, command = {
        "catalog": ("a catalog", "planner catalog --check {}"),
        "price_book": ("a price book", "planner catalog --check --prices {}"),
        "jobs": (
            "a problem file",
            "planner solve {0}, or to calibrate: planner characterize TRACE --problem {0}",
        ),
    }.get(named[1] if named else "", ("a YAML file", "CSV, Excel, JSON or Parquet"))
    message = f"is {kind}, not a trace"
    raise InputError(Finding("trace", message, str(path), fix=f"use {command.format(path)}"))


def _job_named(jobs: Sequence[JobFound], name: str | None) -> JobFound:
    """The job of a name, or the one that wrote most."""
    if name is None:
        return max(jobs, key=lambda one: one.size_gb.value * one.checkpoints)
    found = next((job for job in jobs if job.name == name), None)
    if found is None:
        names = [job.name for job in jobs]
        message, fix = f"the trace shows no job '{name}'", suggest(name, names[:99], "its jobs")
        raise InputError(Finding("option", message, path="--job", fix=fix))
    return found


# A fleet: the table of jobs.


@dataclass(frozen=True)
class ListedJob:
    """A row of the table of jobs."""

    name: str
    cluster: str
    gpus: int
    parameters: float


def read_jobs(path: Path) -> list[ListedJob]:
    """The rows of a table with the columns job, cluster, gpus, parameters.

    Parameters are a number, or a number with a letter (``405 B``, ``1.8 T``).

    Raises:
        InputError: the file, a column or a cell is wrong.
    """
    regular(path, most_bytes=_MOST_BYTES, what="table of jobs")
    frame = read_table(path, "jobs")
    frame = frame.rename(columns={name: str(name).strip().lower() for name in frame})
    for name in COLUMNS:
        if name not in frame:
            listed = ", ".join(map(str, frame.columns))
            message = f"no column '{name}'; columns: {listed[:200]}"
            fix = f"a table of jobs has the columns {', '.join(COLUMNS)}"
            raise InputError(Finding("jobs", message, str(path), names_line(frame), fix=fix))
    rows = []
    for line, *row in frame[list(COLUMNS)].dropna(how="all").itertuples():
        gpus, parameters = (_number(row[at], COLUMNS[at], path, line) for at in (2, 3))
        rows.append(ListedJob(str(row[0]), str(row[1]), round(gpus), parameters))
    return rows


def _number(cell: Any, name: str, path: Path, line: int) -> float:
    """A number above 0; of parameters also with a letter."""
    value = math.nan
    with suppress(ValueError):
        value = float(str(cell).replace(",", ""))
    with suppress(units.QuantityError):
        if name == "parameters" and isinstance(cell, str):
            value = units.parse(cell, units.PARAMETERS)
    if not 0 < value < math.inf:
        message = f"'{str(cell)[:40]}' is no number above 0"
        raise InputError(Finding("jobs", message, str(path), line, name))
    return value


def study_fleet(
    record: Characterization, listed: Sequence[ListedJob], limit: float = LIMIT
) -> FleetStudy:
    """The study of the jobs that both the telemetry and the table have.

    Args:
        record: clusters and jobs of the telemetry.
        listed: the table of jobs.
        limit: overlap for the demand and for the share of jobs below it.
    """
    matched, unknown = match_jobs(record.jobs, listed)
    some = [(row, parts) for row, parts in zip(listed, matched, strict=True) if parts]
    known = [parts for _, parts in some if all(part.resolved for part in parts)]
    law = _fit_law([_merged(parts) for parts in known])
    jobs = tuple(_fleet_job(row, parts, limit) for row, parts in some)
    fitted = [job for job in jobs if job.resolved]
    under = [job for job in jobs if job.overlap < limit]
    checkpoints = sum(job.checkpoints for job in jobs)
    return FleetStudy(
        limit=limit,
        jobs=jobs,
        bandwidth=_trend(fitted, "parameters", "write_gb_per_s"),
        per_gpu=_trend(fitted, "parameters", "mb_per_s_per_gpu"),
        interval=_trend(fitted, "interval_s", "write_gb_per_s"),
        law=law,
        under_limit_jobs=_share(len(under), len(jobs)),
        under_limit_checkpoints=sum(job.checkpoints for job in under) / max(checkpoints, 1),
        storage=tuple(
            _storage(record, name, jobs) for name in dict.fromkeys(job.cluster for job in jobs)
        ),
        unmatched=tuple(row.name for row, parts in zip(listed, matched, strict=True) if not parts),
        unknown=tuple(unknown),
    )


def match_jobs(
    found: Sequence[JobFound], listed: Sequence[ListedJob]
) -> tuple[list[list[JobFound]], list[str]]:
    """The jobs of the telemetry that belong to each row, and the names of those left.

    A job belongs to the row of its name, else to a row of its cluster whose parameters are nearest
    to those that its checkpoints imply, within a factor of 1.5: one row for each job as far as
    possible, then several jobs for a row, since a training may have had several intervals.
    """
    from scipy.optimize import linear_sum_assignment

    matched: list[list[JobFound]] = [[] for _ in listed]
    names, left, unknown = [row.name for row in listed], list[JobFound](), list[str]()
    for job in found:
        if job.name in names:
            matched[names.index(job.name)].append(job)
        else:
            left.append(job)
    far = np.full((len(left), len(listed)), np.inf)
    for number, job in enumerate(left):
        for place, row in enumerate(listed):
            if job.cluster == row.cluster:
                far[number, place] = abs(math.log(job.parameters.value / row.parameters))
    taken = np.array([bool(parts) for parts in matched], dtype=bool)
    cost = np.where(far <= _NEAR, far, 1e3) + 1e3 * taken
    chosen = dict(zip(*linear_sum_assignment(cost), strict=True)) if cost.size else {}
    for number, job in enumerate(left):
        at = chosen.get(number)
        if listed and (at is None or cost[number, at] >= 1e3):
            at = int(np.argmin(far[number]))
        if at is None or far[number, at] > _NEAR:
            unknown.append(job.name)
        else:
            matched[at].append(job)
    return matched, unknown


def _merged(parts: Sequence[JobFound]) -> tuple[float, float, float]:
    """Size, interval and drain of a job: geometric means of its parts by their checkpoints."""
    weights = [part.checkpoints for part in parts]
    figures = [(part.size_gb, part.interval_s, part.drain_s) for part in parts]
    logs = np.log([[each.value for each in part] for part in figures])
    size, interval, drain = np.exp(np.average(logs, axis=0, weights=weights)).tolist()
    return size, interval, drain


def _fleet_job(row: ListedJob, parts: Sequence[JobFound], limit: float) -> FleetJob:
    size_gb, interval_s, drain_s = _merged(parts)
    return FleetJob(
        **asdict(row),
        found=tuple(part.name for part in parts),
        checkpoints=sum(part.checkpoints for part in parts),
        size_gb=size_gb,
        interval_s=interval_s,
        drain_s=drain_s,
        overlap=drain_s / interval_s,
        write_gb_per_s=size_gb / drain_s,
        mb_per_s_per_gpu=1e3 * size_gb / drain_s / row.gpus,
        demand_gb_per_s=size_gb / (limit * interval_s),
        resolved=all(part.resolved for part in parts),
    )


# Fits


def fit_logarithms(columns: Sequence[Numbers], y: Numbers) -> tuple[list[Measured], float]:
    """The exponents of a power law with their ranges, and the share of variance explained.

    Args:
        columns: figures above 0, each with an exponent to fit.
        y: the figure that they explain, above 0.
    """
    from scipy.special import stdtrit

    matrix = np.column_stack([np.ones(len(y)), *(np.log(column) for column in columns)])
    target = np.log(y)
    values, *_ = np.linalg.lstsq(matrix, target)
    residual = target - matrix @ values
    free = len(y) - matrix.shape[1]
    covariance = np.linalg.pinv(matrix.T @ matrix) * float(residual @ residual) / free
    half = float(stdtrit(free, 0.5 + CONFIDENCE / 2)) * np.sqrt(np.diag(covariance))
    spread = float(np.sum((target - target.mean()) ** 2))
    explained = 1.0 - float(residual @ residual) / spread if spread else 0.0
    fitted = zip(values[1:].tolist(), half[1:].tolist(), strict=True)
    return [Measured(value=v, low=v - h, high=v + h) for v, h in fitted], explained


def _trend(jobs: Sequence[FleetJob], x: str, y: str) -> Trend | None:
    """The power law between two figures of jobs; None for too few jobs."""
    from scipy.stats import spearmanr

    across = np.array([getattr(job, x) for job in jobs], dtype=float)
    up = np.array([getattr(job, y) for job in jobs], dtype=float)
    if len(jobs) < _LEAST_JOBS or np.ptp(across) == 0 or np.ptp(up) == 0:
        return None
    (exponent,), _ = fit_logarithms([across], up)
    rank = spearmanr(across, up)
    return Trend(
        x=x,
        y=y,
        jobs=len(jobs),
        exponent=exponent,
        rank_correlation=float(rank.statistic),
        p_value=float(rank.pvalue),
    )


def _fit_law(jobs: Sequence[tuple[float, float, float]]) -> DemandLaw | None:
    """The demand law of jobs, each with size (GB), interval and drain (s)."""
    from scipy.special import stdtrit

    if len(jobs) < _LEAST_JOBS:
        return None
    size, interval, drain = (np.array(column) for column in zip(*jobs, strict=True))
    (c, b), explained = fit_logarithms([size, 1.0 / interval], size / drain)
    known = (c.high or 0.0) - (c.low or 0.0) <= _WIDEST
    logs = np.log(drain / interval)
    half = float(stdtrit(len(jobs) - 1, 0.5 + CONFIDENCE / 2)) * float(logs.std(ddof=1))
    ends = logs.mean() + half / math.sqrt(len(jobs)) * np.array((-1.0, 0.0, 1.0))
    low, value, high = np.exp(ends).tolist()
    return DemandLaw(
        jobs=len(jobs),
        size_exponent=c if known else None,
        interval_exponent=b if known else None,
        overlap=Measured(value=value, low=low, high=high),
        explained=explained,
    )


def _share(part: int, whole: int) -> Measured:
    """Share with the exact (Clopper-Pearson) range of a binomial count."""
    from scipy.stats import binomtest

    if not whole:
        return Measured(value=0.0, low=0.0, high=1.0)
    span = binomtest(part, whole).proportion_ci(CONFIDENCE, "exact")
    return Measured(value=part / whole, low=float(span.low), high=float(span.high))


# Storage


def _storage(record: Characterization, cluster: str, jobs: Sequence[FleetJob]) -> ClusterStorage:
    """The demand of a cluster: the largest sum over the jobs that run at one time."""
    lives = {job.name: (job.start_s, job.end_s) for job in record.jobs if job.cluster == cluster}
    own = [(job, lives[part]) for job in jobs if job.cluster == cluster for part in job.found]
    best: list[FleetJob] = []
    for _, (start_s, _) in own:
        running = {job.name: job for job, (begin, end) in own if begin <= start_s < end}
        together = list(running.values())
        if sum(j.demand_gb_per_s for j in together) > sum(j.demand_gb_per_s for j in best):
            best = together
    seen = next(each for each in record.clusters if each.name == cluster)
    return ClusterStorage(
        cluster=cluster,
        gpus=sum(job.gpus for job in best),
        demand_gb_per_s=sum(job.demand_gb_per_s for job in best),
        seen_gb_per_s=seen.peak_gb_per_s,
    )


_INTERVAL_S = 1800.0
"""Interval of the job that stands for a cluster's demand; only size over interval counts."""

_KEPT = ("name", "catalogs", "prices", "consider", "storage")


def add_storage(
    study: FleetStudy, inputs: Inputs, progress: Callable[[int, int], None] | None = None
) -> FleetStudy:
    """A study with the storage of least power that suffices, for each cluster.

    The planner minimises power twice for each cluster, for its demand at the overlap limit and for
    the bandwidth that was seen; the GPUs are those of the table, the items those of the problem's
    catalogs. Limits, budgets and networks of the problem are left out.

    Args:
        study: the study of the fleet.
        inputs: a problem with the catalogs to choose from.
    """
    found = []
    for place, cluster in enumerate(study.storage, start=1):
        rates = (cluster.demand_gb_per_s, max(cluster.seen_gb_per_s, cluster.demand_gb_per_s))
        enough, seen = (_least_power(cluster.gpus, rate, study.limit, inputs) for rate in rates)
        seen_kw = None if seen is None else _power_kw(seen, "Storage")
        known: dict[str, object] = {"seen_kw": seen_kw}
        if enough is not None:
            stores = [line for line in enough.lines if line.section == "Storage"]
            names = ", ".join(f"{line.working:,} x {line.model}" for line in stores)
            enough_kw = _power_kw(enough, "Storage")
            known |= {"enough": names or None, "enough_kw": enough_kw}
            if seen_kw is not None:
                gpus = sum(line.gpus or 0 for line in enough.lines if line.section == "Compute")
                more_kw = seen_kw - enough_kw
                known["gpus_more"] = more_kw * gpus / _power_kw(enough, "Compute")
        found.append(cluster.model_copy(update=known))
        if progress is not None:
            progress(place, len(study.storage))
    return study.model_copy(update={"storage": tuple(found)})


def _power_kw(plan: Plan, section: str) -> float:
    return sum(line.it_power_kw or 0.0 for line in plan.lines if line.section == section)


def _least_power(gpus: int, write_gb_per_s: float, limit: float, inputs: Inputs) -> Plan | None:
    """Plan of least power that delivers a write bandwidth to some GPUs; None where the
    catalogs hold none."""
    checkpoint = {
        "size": f"{write_gb_per_s * limit * _INTERVAL_S:.9g} GB",
        "mode": "async",
        "stall": "0 s",
        "interval": {"policy": "fixed", "every": f"{_INTERVAL_S:g} s"},
        "max_overlap": f"{100 * limit:.9g} %",
    }
    job = Job.model_validate({"name": "fleet", "gpus": {"min": gpus}, "checkpoint": checkpoint})
    old = inputs.problem
    bare = {name: getattr(old, name) for name in _KEPT}
    site = type(old.site).model_validate({"pue": old.site.pue})
    objective = type(old.objective).model_validate({"minimize": "power"})
    problem = Problem.model_construct(**bare, site=site, jobs=(job,), objective=objective)
    try:
        plan = api.solve_with(replace(inputs, problem=problem), api.Options(explain=False))
    except InputError:
        return None
    return plan if plan.jobs else None
