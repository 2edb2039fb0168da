"""Telemetry characterised: checkpoints and jobs in traces, calibration of a problem, files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from planner import units
from planner.errors import Finding, InputError, suggest
from planner.files import contents, remove, write_all
from planner.library import File, check_files, load
from planner.report.exports import stem_of
from planner.results import draw
from planner.schema.telemetry import Characterization
from planner.terminal import Progress, ignore

if TYPE_CHECKING:
    from planner.schema.telemetry import JobFound
    from planner.telemetry import CheckpointColumns, ClusterTrace


class Reading(TypedDict, total=False):
    """Keywords of the layout of a trace.

    Attributes:
        time, write, read, cluster: columns; by default by their names.
        sum: add up the columns of writes and of reads, and rows of one time.
        unit: of the figures, such as "MiB/s".
        decimal: decimal mark.
        time_format: as strptime has it.
        read_as: bandwidth, bytes per sample, or counters of bytes.
        stamp: whether a time is the start or the end of its sample.
    """

    time: str | None
    write: str | None
    read: str | None
    cluster: str | None
    sum: bool
    unit: str | None
    decimal: str | None
    time_format: str | None
    read_as: Literal["rate", "bytes", "counter"] | None
    stamp: Literal["start", "end"]


def characterize(
    *traces: File,
    window: str | None = None,
    jobs: File | None = None,
    problem: File | None = None,
    job: str | None = None,
    gpus: int | None = None,
    nameplate: str | None = None,
    output: File | None = None,
    progress: Progress = ignore,
    **reading: Unpack[Reading],
) -> Characterization:
    """The checkpoints and training jobs in storage telemetry.

    Args:
        traces: CSV, Excel, JSON or Parquet files.
        window: averaging window of each sample, such as "5 min".
        jobs: table of jobs, for the study of a fleet.
        problem: problem file to calibrate; with ``jobs`` its catalogs have the storage.
        job: job found to calibrate by; by default the largest writer.
        gpus: GPUs of the job.
        nameplate: nameplate bandwidth of the storage, or "WRITE,READ".
        output: folder for files; without it none are written.
        progress: called with the numbers of parts done and of all.

    Raises:
        InputError: a file or an option is wrong, or a file cannot be written.
    """
    from planner.analysis.fleet import add_storage, read_jobs, study_fleet
    from planner.telemetry import ReadOptions
    from planner.telemetry import characterize as read_traces
    from planner.telemetry.jobs import calibration

    check_files(traces)
    files = [Path(each) for each in traces]
    if not files:
        raise InputError(Finding("files", "nothing is given", fix="give a trace"))
    for path in files:
        _refuse_yaml(path)
    window_s = None if window is None else units.seconds("--window", window)
    options = ReadOptions(**reading, window_s=window_s)
    rows = None if jobs is None else read_jobs(Path(jobs))
    inputs = None if problem is None else load(Path(problem))
    given = {"--job": job, "--gpus": gpus, "--nameplate": nameplate}
    if inputs is None and (idle := [option for option, value in given.items() if value]):
        message = f"{', '.join(idle)}: only to calibrate a problem, and none is given"
        raise InputError(Finding("option", message, fix="add --problem PROBLEM.yaml"))
    done: list[str] = []

    def seen(cluster: ClusterTrace) -> None:
        done.append(cluster.record.name)
        progress(len(done), max(len(done), len(files)))

    record, table = read_traces(files, options, seen)
    if rows is not None:
        study = study_fleet(record, rows)
        if inputs is not None:
            study = add_storage(study, inputs, progress)
        record = record.model_copy(update={"study": study})
    elif inputs is not None and record.jobs:
        chosen, count = (
            _job_named(record.jobs, job),
            None if gpus is None else units.whole("--gpus", gpus),
        )
        texts = filter(None, map(str.strip, (nameplate or "").split(",")))
        rates = [units.quantity("--nameplate", each, units.BANDWIDTH) for each in texts]
        made = calibration(chosen, inputs.problem, inputs.problem_file, count, *rates[:2])
        record = record.model_copy(update={"calibration": made})
    if output is not None:
        _write(record, table, Path(output), files[0])
    return record


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


def _write(record: Characterization, table: CheckpointColumns, folder: Path, trace: Path) -> None:
    from planner.report import telemetry as files

    stem = stem_of(trace, None).removesuffix(".trace")
    contents = {
        "characterization.json": f"{record.model_dump_json(indent=2)}\n".encode(),
        "checkpoints.parquet": files.checkpoints_parquet(record, table),
    }
    if record.calibration is not None and record.calibration.overrides:
        contents["overrides.yaml"] = files.overrides_yaml(record.calibration).encode()
    pictures: dict[Path, bytes] = {}
    if record.study is not None and record.study.jobs:
        pictures |= draw(files.charts(record.study), folder / stem)
    write_all({folder / f"{stem}.{end}": data for end, data in contents.items()} | pictures)
    if "overrides.yaml" not in contents:  # of an earlier run that calibrated a problem
        remove(folder / f"{stem}.overrides.yaml")
