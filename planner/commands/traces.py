"""Telemetry characterised: calibration of a problem, and the files that are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from planner.analysis.request import Found, Request, bandwidth, stem_of, whole
from planner.atomic_files import remove, write_all
from planner.commands.files import draw
from planner.errors import Finding, InputError, did_you_mean

if TYPE_CHECKING:
    from planner.inputs import Inputs
    from planner.report.charts.telemetry import Window
    from planner.schema.plan import Plan
    from planner.schema.telemetry import Calibration, Characterization, JobFound
    from planner.telemetry import Characterized, ClusterTrace, ReadOptions
    from planner.telemetry.calibration import JobLog, Known

_MOST_WINDOWS = 4
_OF_JOBS = ("jobs.yaml", "overrides.yaml", "fleet.csv")
_SHOWN_INTERVALS = 24.0
_LEAST_WINDOW_S, _MOST_WINDOW_S = 3600.0, 5 * 86_400.0


@dataclass(frozen=True)
class Target:
    """The problem to calibrate by measurements, with known figures of the job.

    Attributes:
        problem: the problem file, None for no calibration.
        job: the found job to calibrate by, None for the largest writer.
        plan: the plan that ran, for GPUs and nameplate of the storage.
        gpus, write_gb_per_s, read_gb_per_s: GPUs and nameplate bandwidths.
        log, log_job: the job's log, and its name there.
    """

    problem: Path | None = None
    job: str | None = None
    plan: Path | None = None
    gpus: int | None = None
    write_gb_per_s: float | None = None
    read_gb_per_s: float | None = None
    log: Path | None = None
    log_job: str | None = None

    @classmethod
    def of(
        cls,
        problem: Path | None,
        job: str | None,
        plan: Path | None,
        gpus: int | None,
        nameplate: str | None,
        log: str | None,
    ) -> Target:
        """The target of command-line options: nameplate WRITE[,READ], log FILE[=JOB].

        Raises:
            InputError: a text cannot be read.
        """
        write, _, read = (nameplate or "").partition(",")
        file, _, name = (log or "").partition("=")
        return cls(
            problem,
            job,
            plan,
            None if gpus is None else whole("--gpus", gpus),
            bandwidth("--nameplate", write.strip()) if nameplate else None,
            bandwidth("--nameplate", read.strip()) if read else None,
            Path(file) if file else None,
            name or None,
        )


def run_characterize(
    request: Request, *, options: ReadOptions, target: Target, listed: Path | None
) -> Found:
    """Find checkpoints and jobs in traces, calibrate a problem by them; ``listed``: a fleet's jobs.

    Raises:
        InputError: a file or an option is wrong, or a file cannot be written.
    """
    from planner.analysis.fleet_storage import add_storage
    from planner.telemetry import characterize
    from planner.telemetry.fleet import read_jobs, study_fleet

    problem, folder = _problem(target), request.folder
    rows = None if listed is None else read_jobs(listed)
    windows: list[Window] = []
    done: list[str] = []

    def seen(cluster: ClusterTrace) -> None:
        done.append(cluster.record.name)
        request.progress(len(done), max(len(done), len(request.paths)))
        if folder is not None and len(windows) < _MOST_WINDOWS:
            windows.append(_window(cluster))

    found = characterize(request.paths, options, seen)
    record = found.record
    if rows is not None:
        study = study_fleet(record, rows)
        if problem is not None:
            study = add_storage(study, problem, request.progress)
        record = record.model_copy(update={"study": study})
    elif problem is not None and record.jobs:
        measured = _calibration(record, problem, target)
        record = record.model_copy(update={"calibration": measured})
    written = () if folder is None else _write(record, found, windows, folder, request.path)
    return Found((record,), ("optimal" if record.jobs else "no_solution",), written=written)


def _problem(target: Target) -> Inputs | None:
    """The problem to calibrate; all that only helps to is refused without one."""
    if target.problem is not None:
        from planner.api import load

        return load(target.problem)
    idle = {
        "--plan": target.plan, "--gpus": target.gpus, "--nameplate": target.write_gb_per_s,
        "--log": target.log, "--job": target.job,
    }  # fmt: skip
    for option, value in idle.items():
        if value:
            message = f"{option} serves to calibrate a problem, and none is given"
            raise InputError(Finding("option", message, fix="add --problem PROBLEM.yaml"))
    return None


def _calibration(record: Characterization, inputs: Inputs, target: Target) -> Calibration:
    from planner.telemetry.calibration import calibration

    job = _chosen(record.jobs, target.job)
    known = _known(target)
    if record.clock == "unix" and known.log is not None:
        _same_time(job, known.log, target)
    return calibration(job, inputs.problem, inputs.problem_file, known)


def _same_time(job: JobFound, log: JobLog, target: Target) -> None:
    """Refuse a log of another time than the job's."""
    from planner.telemetry.tables import DATED_FROM_S

    dated = log.start_s > DATED_FROM_S
    if dated and (log.end_s < job.start_s or log.start_s > job.end_s):
        message = f"the log ends before '{job.name}' begins, or begins after it ends"
        fix = "give the log of the job in this trace"
        raise InputError(Finding("log", message, str(target.log), fix=fix))


def _chosen(jobs: Sequence[JobFound], name: str | None) -> JobFound:
    """The job of a name, or the one that wrote most."""
    if name is None:
        return max(jobs, key=lambda one: one.size_gb.value * one.checkpoints)
    names = [job.name for job in jobs]
    if name not in names:
        known = ", ".join(names[:9])
        message = f"the trace shows no job '{name}'"
        fix = did_you_mean(name, names) or f"its jobs: {known}"
        raise InputError(Finding("option", message, path="--job", fix=fix))
    return jobs[names.index(name)]


def _known(target: Target) -> Known:
    from planner.telemetry.calibration import Known, read_log

    gpus, write, read = target.gpus, target.write_gb_per_s, target.read_gb_per_s
    if target.plan is not None:
        plan = _plan(target.plan)
        gpus = gpus or plan.jobs[0].gpus_used
        stores = [line for line in plan.lines if line.section == "Storage"]
        write = write or sum(line.write_gb_per_s for line in stores)
        read = read or sum(line.read_gb_per_s for line in stores)
    log = None if target.log is None else read_log(target.log, target.log_job)
    return Known(gpus, write or None, read or None, log)


def _plan(path: Path) -> Plan:
    from planner.analysis.compare import read_side

    plan = read_side(path).plan
    if not plan.jobs:
        raise InputError(Finding("plan", "there is no job in this plan", str(path)))
    return plan


def _window(cluster: ClusterTrace) -> Window:
    """A stretch of a cluster's trace: of its largest job, around an interruption if any."""
    import numpy as np

    from planner.report.charts.telemetry import Window

    length, centre = _MOST_WINDOW_S, cluster.record.start_s
    if cluster.jobs:
        job = _chosen(cluster.jobs, None)
        length = min(max(_SHOWN_INTERVALS * job.interval_s.value, _LEAST_WINDOW_S), length)
        whole = (job.start_s + job.end_s) / 2
        centre = job.segments[0].end_s if len(job.segments) > 1 else whole
    low = max(cluster.record.start_s, centre - length / 2)
    high = min(low + length, cluster.record.end_s)
    trace = cluster.trace
    inside = (trace.clock_s >= low) & (trace.clock_s < high)
    start = cluster.table["start_s"]
    rows = np.flatnonzero((start >= low) & (start < high))
    return Window(
        cluster.record.name,
        trace.clock_s[inside],
        trace.write[inside],
        None if trace.read is None else trace.read[inside],
        {name: column[rows] for name, column in cluster.table.items()},
    )


def _write(
    record: Characterization,
    found: Characterized,
    windows: Sequence[Window],
    folder: Path,
    trace: Path,
) -> tuple[Path, ...]:
    from planner.report.charts.telemetry import trace as trace_chart
    from planner.report.telemetry_files import (
        checkpoints_csv,
        checkpoints_parquet,
        fleet_csv,
        jobs_csv,
        jobs_yaml,
        overrides_yaml,
    )
    from planner.report.views.fleet import charts

    stem = stem_of(trace, None).removesuffix(".trace")
    contents = {
        folder / f"{stem}.characterization.json": f"{record.model_dump_json(indent=2)}\n".encode(),
        folder / f"{stem}.checkpoints.parquet": checkpoints_parquet(record, found.table),
        folder / f"{stem}.checkpoints.csv": checkpoints_csv(record, found.table),
        folder / f"{stem}.jobs.csv": jobs_csv(record),
    }
    if record.jobs:
        contents[folder / f"{stem}.jobs.yaml"] = jobs_yaml(record).encode()
    if record.study is not None and record.study.jobs:
        contents[folder / f"{stem}.fleet.csv"] = fleet_csv(record.study)
        for chart in charts(record.study):
            contents |= draw(chart, folder, f"{stem}.{chart.name}")
    if record.calibration is not None and record.calibration.overrides:
        text = overrides_yaml(record.calibration)
        contents[folder / f"{stem}.overrides.yaml"] = text.encode()
    for window in windows:
        name = (
            stem if len(record.clusters) == 1 else f"{stem}.{stem_of(Path(window.cluster), None)}"
        )
        contents |= draw(trace_chart(record, window), folder, f"{name}.trace")
    write_all(contents)
    for old in _OF_JOBS:  # of an earlier run that found jobs, or calibrated a problem
        if (path := folder / f"{stem}.{old}") not in contents:
            remove(path)
    return tuple(contents)
