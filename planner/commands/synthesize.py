"""Make storage telemetry: the trace, the truth behind it and the jobs' log as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from planner.api import Options
from planner.commands import EXIT_CODES
from planner.commands.progress import progress
from planner.commands.report import Report
from planner.commands.solve import PROBLEMS, stem_of_side
from planner.errors import Finding, InputError
from planner.outputs.bill_csv import harmless
from planner.outputs.sensitivity_words import printable
from planner.outputs.words import DAY_S, duration, size, wrapped

if TYPE_CHECKING:
    from planner.schema.synthesis import JobTruth
    from planner.studies.compare.sides import Read
    from planner.synthesis.make import Format, Made
    from planner.synthesis.quality import Quality


@dataclass(frozen=True)
class Request:
    """What to make: of how many clusters, in which format, with which seed, changes to problems."""

    clusters: int = 1
    kind: Format = "csv"
    seed: int = 1
    settings: tuple[str, ...] = ()
    scenario: str | None = None
    folder: Path = Path()
    quiet: bool = False


def report(files: Sequence[Path], quality: Quality, request: Request) -> Report:
    """Write the telemetry of clusters that run plans.

    Args:
        files: plans, problem files and workbooks, a job each; the storage is the first one's.
            Problem files are solved first.
        quality: how it is sampled, and what is wrong with it.
        request: what to make.

    Raises:
        InputError: a file or an option is wrong, or a file cannot be written.
    """
    from planner.synthesis.make import Targets, clusters_of, make
    from planner.synthesis.quality import require

    require(quality, request.clusters)
    _no_idle_changes(files, request)
    sides = [_read(path, request) for path in files]
    for side in sides:
        if not side.there:
            said = f"{side.source}: no plan, so nothing leaves a trace: "
            said += side.reason or side.plan.status
            return Report(said, (), EXIT_CODES[side.plan.status])
    plans = [side.plan for side in sides]
    stem = stem_of_side(files[0], plans[0])
    names = (f"{stem}.trace.{request.kind}", f"{stem}.truth.json", f"{stem}.log.csv")
    targets = Targets(*(request.folder / name for name in names))
    with progress("samples", quiet=request.quiet) as told:
        made = make(
            clusters_of(plans, request.clusters),
            quality,
            targets,
            plans=[path.name.encode(errors="replace").decode() for path in files],
            kind=request.kind,
            seed=request.seed,
            progress=told,
            written_as=harmless,
        )
    written = (targets.trace, targets.truth, targets.log)
    return Report(_text(stem, quality, made), written, 0)


def _no_idle_changes(files: Sequence[Path], request: Request) -> None:
    changes = request.settings or request.scenario is not None
    if changes and not any(path.suffix.lower() in PROBLEMS for path in files):
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
