"""Make storage telemetry: the trace, the truth behind it and the jobs' log as files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.api import Options
from planner.errors import Finding, InputError
from planner.outputs.bill_csv import harmless
from planner.outputs.blocks import printable
from planner.outputs.words import DAY_S, duration, size, wrapped
from planner.studies.request import PROBLEMS, Found, Request, stem_of_side

if TYPE_CHECKING:
    from planner.schema.telemetry import JobTruth
    from planner.studies.compare.sides import Read
    from planner.synthesis.make import Format, Made
    from planner.synthesis.quality import Quality


def run(
    request: Request, *, clusters: int, seed: int, format_: Format, start: str, **sampled: Any
) -> Found:
    """Write the telemetry of clusters that run plans.

    Args:
        request: plans, problem files and workbooks, a job each; the storage is the first one's.
            Problem files are solved first.
        clusters: so many run the same, each with its own failures.
        seed: the same one makes the same trace.
        format_: of the trace.
        start: when it begins.
        sampled: how it is sampled and what is wrong with it, as ``Quality`` names it.

    Raises:
        InputError: a file or an option is wrong, or a file cannot be written.
    """
    from planner.synthesis.make import Targets, clusters_of, make
    from planner.synthesis.quality import Quality, require, start_of

    quality = Quality(start=start_of(start), **sampled)
    require(quality, clusters)
    _no_idle_changes(request)
    sides = [_read(path, request) for path in request.paths]
    for side in sides:
        if not side.there:
            why = side.reason or side.plan.status
            text = f"{side.source}: no plan, so nothing leaves a trace: {why}"
            return Found(ended=(side.plan.status,), text=text)
    plans = [side.plan for side in sides]
    stem = stem_of_side(request.path, plans[0])
    folder = request.folder or Path()
    names = (f"{stem}.trace.{format_}", f"{stem}.truth.json", f"{stem}.log.csv")
    targets = Targets(*(folder / name for name in names))
    made = make(
        clusters_of(plans, clusters),
        quality,
        targets,
        plans=[path.name.encode(errors="replace").decode() for path in request.paths],
        kind=format_,
        seed=seed,
        progress=request.progress,
        written_as=harmless,
    )
    written = (targets.trace, targets.truth, targets.log)
    return Found(text=_text(stem, quality, made), written=written)


def _no_idle_changes(request: Request) -> None:
    changes = request.settings or request.scenario is not None
    if changes and not any(path.suffix.lower() in PROBLEMS for path in request.paths):
        message = "--set and --scenario change problem files, and none is given"
        raise InputError(Finding("option", message, fix="give the problem file, not its plan"))


def _read(path: Path, request: Request) -> Read:
    """Return the plan in a file, or the best one of a problem."""
    from planner.studies.compare.sides import read_side

    options = Options(explain=False)
    if path.suffix.lower() not in PROBLEMS:
        return read_side(path, options=options)
    return read_side(path, settings=request.settings, scenario=request.scenario, options=options)


def _text(stem: str, quality: Quality, made: Made) -> str:
    """Return what was made, in a few lines."""
    title = f"{stem}  (synthetic storage telemetry)"
    lines = [line for text in _texts(quality, made) for line in wrapped(text)]
    return printable("\n".join([title, *lines]))


def _texts(quality: Quality, made: Made) -> Iterator[str]:
    where = "" if made.clusters == 1 else f" on each of {made.clusters} clusters"
    lost = f", {made.missing:,} lost" if made.missing else ""
    yield (
        f"{quality.sampled_s / DAY_S:,.4g} days{where}: {made.samples:,} samples, one every "
        f"{quality.sample_s:g} s{lost}"
    )
    yield from (_job(job) for job in made.jobs)
    broken = f" and {made.broken_off:,} broken off" if made.broken_off else ""
    yield (
        f"in all {made.checkpoints:,} checkpoints{broken}, {made.restores:,} restores, "
        f"{made.interruptions:,} interruptions"
    )
    yield (
        f"largest rate of a sample: {made.peak_write_gb_per_s:,.1f} GB/s written, "
        f"{made.peak_read_gb_per_s:,.1f} GB/s read"
    )


def _job(job: JobTruth) -> str:
    if job.size_gb is None or job.drain_s is None:
        return f"{job.name}: {job.gpus:,} GPUs, no checkpoint"
    every = "" if job.interval_s is None else f" every {duration(job.interval_s)}"
    return (
        f"{job.name}: {job.gpus:,} GPUs, a checkpoint of {size(job.size_gb)}{every}, written in "
        f"{duration(job.drain_s)}"
    )
