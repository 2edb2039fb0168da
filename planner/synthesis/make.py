"""Make a trace: run clusters one after another, write what each leaves, and the truth of it.

Each cluster runs the same plans, with failures of its own. A trace is CSV or Parquet; beside it
stand its jobs' log and the truth behind it.
"""

from __future__ import annotations

import csv
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby, pairwise
from math import fsum
from pathlib import Path
from statistics import median
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from planner.schema.plan import JobPlan, Plan
from planner.schema.telemetry import ClockStep, ClusterTruth, Interrupted, JobTruth, Moved, Truth
from planner.simulation.from_plan import appliances, job_run, world_of
from planner.simulation.history import History, Stay, Transfer
from planner.simulation.record import record
from planner.simulation.world import World, draw
from planner.synthesis.samples import Quality, Sampler, TraceRows, Whole
from planner.telemetry.calibration import COLUMNS, Event
from planner.whole_files import whole

Entry = tuple[float, str, Event]
"""When (s from the start), which job, what."""

_KINDS = {"compute": "compute", "capture": "save", "wait": "save"}


def events(history: History) -> list[Entry]:
    """Return what the logs of all jobs say, in order of time.

    A checkpoint that is broken off while the GPUs stand still for it has no end.
    """
    found: list[Entry] = []
    for job, name in enumerate(history.jobs):
        breaks = [one for one in history.interruptions if one.job == job]
        log: list[tuple[float, Event]] = [(0.0, "start")]
        log += [(one.at_s, "stop" if one.planned else "failure") for one in breaks]
        log += _stops(history, job)
        log.sort(key=lambda one: one[0])
        found += [(at, name, what) for at, what in (*log, (history.length_s, "end"))]
    return sorted(found, key=lambda one: one[0])


def _stops(history: History, job: int) -> Iterator[tuple[float, Event]]:
    """Tell where the GPUs stopped for a checkpoint and went on, or went on after a failure."""
    spans = _spans([stay for stay in history.stays if stay.job == job])
    saves = [(0.0, 0.0)]
    for before, (kind, start_s, end_s) in pairwise([("compute", 0.0, 0.0), *spans]):
        if kind == "save" and before[0] == "compute":
            saves.append((start_s, end_s))
            yield start_s, "checkpoint_begin"
        elif kind == "compute" and before[0] == "save":
            yield start_s, "checkpoint_end"
        elif kind == "compute" and before[0] == "down":
            yield start_s, "resume"
    writes = [one for one in history.transfers if one.job == job and one.kind == "checkpoint"]
    for at_s in (one.start_s for one in writes):
        _, end_s = saves[bisect_right(saves, (at_s, at_s)) - 1]
        if at_s > end_s:  # the GPUs did not stop at all
            yield at_s, "checkpoint_begin"
            yield at_s, "checkpoint_end"


def _spans(stays: Sequence[Stay]) -> list[tuple[str, float, float]]:
    """Return what a job does in turn: compute, save, or be down."""
    found = []
    for kind, group in groupby(stays, lambda stay: _KINDS.get(stay.state, "down")):
        members = list(group)
        found.append((kind, members[0].start_s, members[-1].end_s))
    return found


def record_of(quality: Quality, *, plans: Sequence[str], trace: str, seed: int) -> Truth:
    """Return what is true of a whole trace, no cluster in it yet.

    Args:
        quality: how it is sampled.
        plans: the files that it is made from.
        trace: the name of its file.
        seed: of all that is drawn.
    """
    return Truth(
        plans=tuple(plans),
        trace=trace,
        read_as="counter" if quality.counter else "rate",
        start=quality.start.isoformat().replace("+00:00", "Z"),
        start_s=quality.start_ms / 1000,
        length_s=quality.sampled_s,
        sample_s=quality.sample_s,
        seed=seed,
        background_gb_per_s=quality.background_gb_per_s,
        noise=quality.noise,
        missing=quality.missing,
        jitter_s=quality.jitter_s,
        clusters=(),
    )


def of_cluster(
    name: str, history: History, jobs: Sequence[JobPlan], quality: Quality, sampler: Sampler
) -> ClusterTruth:
    """Return what is true of one cluster, all of whose samples have been made."""
    steps = zip(sampler.steps.at_s.tolist(), sampler.steps.by_s.tolist(), strict=True)
    return ClusterTruth(
        name=name,
        samples=quality.samples,
        missing=sampler.missing,
        peak_write_gb_per_s=sampler.peak_write_gb_per_s,
        peak_read_gb_per_s=sampler.peak_read_gb_per_s,
        clock_steps=tuple(ClockStep(at_s=at, by_s=by) for at, by in steps),
        resets_s=tuple(sampler.resets_s.tolist()),
        jobs=tuple(_true_job(history, position, job) for position, job in enumerate(jobs)),
        checkpoints=_moved(history, "checkpoint"),
        restores=_moved(history, "restore"),
        interruptions=tuple(
            Interrupted(
                job=history.jobs[one.job],
                at_s=_to_us(one.at_s),
                planned=one.planned,
                lost_s=_to_us(one.lost_s),
            )
            for one in history.interruptions
        ),
    )


def _moved(history: History, kind: str) -> tuple[Moved, ...]:
    return tuple(
        Moved(
            job=history.jobs[one.job],
            start_s=_to_us(one.start_s),
            end_s=_to_us(one.end_s),
            size_gb=_arrived_gb(one),
            complete=one.complete,
        )
        for one in history.transfers
        if one.kind == kind
    )


def _true_job(history: History, position: int, plan: JobPlan) -> JobTruth:
    moved = [one for one in history.transfers if one.job == position]
    saved = [one for one in moved if one.kind == "checkpoint"]
    whole = [one for one in saved if one.complete]
    breaks = [one for one in history.interruptions if one.job == position]
    failures = sum(not one.planned for one in breaks)
    interval_s = _median(_intervals(saved, [one.at_s for one in breaks]))
    drain_s = _median([one.end_s - one.start_s for one in whole])
    return JobTruth(
        name=history.jobs[position],
        gpus=plan.gpus_used,
        checkpoints=len(whole),
        restores=sum(one.kind == "restore" and one.complete for one in moved),
        restarts=len(breaks),
        size_gb=_median([_arrived_gb(one) for one in whole]),
        interval_s=interval_s,
        drain_s=drain_s,
        overlap=drain_s / interval_s if drain_s is not None and interval_s else None,
        mtti_s=history.length_s / failures if failures else None,
        planned_size_gb=plan.checkpoint_gb,
        planned_interval_s=plan.interval_s,
        planned_drain_s=plan.stall_s if plan.mode == "sync" else plan.drain_s,
        planned_mtti_s=plan.mtti_s,
    )


def _intervals(saved: Sequence[Transfer], breaks_s: Sequence[float]) -> list[float]:
    """Return times from one checkpoint to the next, where the job ran on from one to the other."""
    found, broken = [], iter([*breaks_s, float("inf")])
    next_break = next(broken)
    for one, other in pairwise(saved):
        while next_break < one.start_s:
            next_break = next(broken)
        if other.start_s <= next_break:
            found.append(other.start_s - one.start_s)
    return found


def _median(values: Sequence[float]) -> float | None:
    return _to_us(median(values)) if values else None


def _arrived_gb(transfer: Transfer) -> float:
    """Return what was moved, to the byte."""
    return round(fsum((end - start) * rate for start, end, rate in transfer.stretches), 9)


def _to_us(seconds: float) -> float:
    return round(seconds, 6)


_FAULTS = 1
"""Marks random numbers that are not the simulation's."""


@dataclass(frozen=True)
class Clusters:
    """So many equal clusters; on each, the jobs of all plans share the storage of the first."""

    world: World
    jobs: tuple[JobPlan, ...]
    names: tuple[str, ...]

    @property
    def ingest_gb_per_s(self) -> tuple[float, ...]:
        """How fast each job reads training data while it computes."""
        return tuple(job.ingest_gb_per_s for job in self.jobs)

    def history(self, cluster: int, length_s: float, seed: int) -> History:
        """Return what happens on one of the clusters.

        Args:
            cluster: which one, from 0 on; the first runs as ``planner simulate`` has it.
            length_s: for how long.
            seed: of all that is drawn.
        """
        return record(self.world, draw(self.world, length_s, seed, block=cluster), length_s)[0]


def clusters_of(plans: Sequence[Plan], count: int) -> Clusters:
    """Return clusters that run the jobs of plans that have one.

    Args:
        plans: a plan for each job; jobs of one name are numbered.
        count: how many clusters.
    """
    jobs = [plan.jobs[0] for plan in plans]
    stores = appliances(plans[0])
    beside = [job_run(job, stores) for job in jobs[1:]]
    world = world_of(plans[0], beside=beside)
    names = _numbered([job.name for job in jobs])
    runs = tuple(replace(run, name=name) for run, name in zip(world.jobs, names, strict=True))
    digits = len(str(count))
    numbers = tuple(f"cluster-{number:0{digits}}" for number in range(1, count + 1))
    return Clusters(replace(world, jobs=runs), tuple(jobs), numbers)


def _numbered(names: Sequence[str]) -> list[str]:
    seen: Counter[str] = Counter()
    found: list[str] = []
    for name in names:
        seen[name] += 1
        own = name if seen[name] == 1 else f"{name} {seen[name]}"
        while own in found:
            seen[name] += 1
            own = f"{name} {seen[name]}"
        found.append(own)
    return found


@dataclass(frozen=True)
class Targets:
    """Where the files of a trace go."""

    trace: Path
    truth: Path
    log: Path


@dataclass
class Made:
    """What was written, over all clusters."""

    jobs: tuple[JobTruth, ...] = ()
    clusters: int = 0
    samples: int = 0
    missing: int = 0
    checkpoints: int = 0
    broken_off: int = 0
    restores: int = 0
    interruptions: int = 0
    peak_write_gb_per_s: float = 0.0
    peak_read_gb_per_s: float = 0.0

    def add(self, cluster: ClusterTruth) -> None:
        """Count what happened on a cluster, too."""
        self.jobs = self.jobs or cluster.jobs
        self.clusters += 1
        self.samples += cluster.samples
        self.missing += cluster.missing
        whole_ones = sum(one.complete for one in cluster.checkpoints)
        self.checkpoints += whole_ones
        self.broken_off += len(cluster.checkpoints) - whole_ones
        self.restores += sum(one.complete for one in cluster.restores)
        self.interruptions += len(cluster.interruptions)
        self.peak_write_gb_per_s = max(self.peak_write_gb_per_s, cluster.peak_write_gb_per_s)
        self.peak_read_gb_per_s = max(self.peak_read_gb_per_s, cluster.peak_read_gb_per_s)


def make(
    clusters: Clusters,
    quality: Quality,
    targets: Targets,
    *,
    plans: Sequence[str],
    kind: Format = "csv",
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
    written_as: Callable[[str], str] = str,
) -> Made:
    """Write the trace of some clusters, the truth behind it, and their jobs' log.

    Args:
        clusters: what runs.
        quality: how it is sampled.
        targets: where the files go.
        plans: the files that it is made from, for the record.
        kind: CSV or Parquet.
        seed: of all that is drawn; the same gives the same bytes.
        progress: is told how many of how many samples are made.
        written_as: how a job's name is written in the log.

    Raises:
        InputError: a file cannot be written; the former files then stay.
    """
    made, named = Made(), len(clusters.names) > 1
    record = record_of(quality, plans=plans, trace=targets.trace.name, seed=seed)
    with (
        whole((targets.trace, targets.truth, targets.log)) as (trace, truth, log),
        closing(open_trace(trace, kind, quality, named)) as traces,
        closing(TruthFile(truth, record)) as truths,
        closing(LogFile(log, quality, named)) as logs,
    ):
        for number, name in enumerate(clusters.names):
            history = clusters.history(number, quality.sampled_s, seed)
            logs.write(name, ((at_s, written_as(job), what) for at_s, job, what in events(history)))
            sampler = Sampler(history, quality, (seed, number, _FAULTS), clusters.ingest_gb_per_s)
            for block in sampler.blocks():
                traces.write(name, block)
                if progress is not None:
                    progress(made.samples + sampler.done, quality.samples * len(clusters.names))
            happened = of_cluster(name, history, clusters.jobs, quality, sampler)
            truths.write(happened)
            made.add(happened)
    return made


Format = Literal["csv", "parquet"]


def _columns(quality: Quality, named: bool) -> tuple[str, ...]:
    """Return the names of a trace's columns; ``named`` traces tell clusters apart."""
    figures = ("write_gb_per_s", "read_gb_per_s")
    if quality.counter:
        figures = ("write_bytes", "read_bytes")
    return ("time", "cluster", *figures) if named else ("time", *figures)


class TraceFile(Protocol):
    """A trace that grows by blocks."""

    def write(self, cluster: str, block: TraceRows) -> None:
        """Add samples of a cluster."""

    def close(self) -> None:
        """Write what ends the file."""


def open_trace(path: Path, kind: Format, quality: Quality, named: bool) -> TraceFile:
    """Return a trace to write into.

    Args:
        kind: CSV, with times as ISO 8601 has them, or Parquet, with timestamps.
        quality: how it is sampled.
        named: whether it has a column with the clusters' names.
    """
    return (CsvTrace if kind == "csv" else ParquetTrace)(path, quality, named)


class CsvTrace:
    """A trace as CSV; times are in whole seconds where all of them are."""

    def __init__(self, path: Path, quality: Quality, named: bool) -> None:
        self._names = _columns(quality, named)
        broken = quality.jitter_s or quality.start_ms % 1000 or quality.sample_ms % 1000
        self._digits: Literal["s", "ms"] = "ms" if broken else "s"
        self._stream = path.open("wb")
        self._stream.write((",".join(self._names) + "\n").encode())

    def write(self, cluster: str, block: TraceRows) -> None:
        """Add samples of a cluster."""
        table = _table(self._names, pa.array(self._text(block.time_ms)), cluster, block)
        options = arrow_csv.WriteOptions(include_header=False, quoting_style="none")
        arrow_csv.write_csv(table, self._stream, options)

    def _text(self, time_ms: Whole) -> np.typing.NDArray[np.str_]:
        times = time_ms.astype("datetime64[ms]")
        return np.datetime_as_string(times, unit=self._digits, timezone="UTC")

    def close(self) -> None:
        """Write what ends the file."""
        self._stream.close()


class ParquetTrace:
    """A trace as Parquet."""

    def __init__(self, path: Path, quality: Quality, named: bool) -> None:
        self._names = _columns(quality, named)
        figure = pa.int64() if quality.counter else pa.float64()
        kinds = {"time": pa.timestamp("ms", tz="UTC"), "cluster": pa.string()}
        self._schema = pa.schema([(name, kinds.get(name, figure)) for name in self._names])
        self._file = pq.ParquetWriter(path, self._schema, compression="zstd")

    def write(self, cluster: str, block: TraceRows) -> None:
        """Add samples of a cluster."""
        time = pa.array(block.time_ms, self._schema.field("time").type)
        self._file.write_table(_table(self._names, time, cluster, block))

    def close(self) -> None:
        """Write what ends the file."""
        self._file.close()


def _table(names: tuple[str, ...], time: pa.Array, cluster: str, block: TraceRows) -> pa.Table:
    figures = [pa.array(block.write), pa.array(block.read)]
    named = [pa.array([cluster]).take(pa.nulls(len(time), pa.int64()).fill_null(0))]
    return pa.Table.from_arrays([time, *(named if "cluster" in names else ()), *figures], names)


class LogFile:
    """A job log as CSV; ``named`` ones tell clusters apart."""

    def __init__(self, path: Path, quality: Quality, named: bool) -> None:
        self._start, self._named = quality.start, named
        self._stream = path.open("w", encoding="utf-8", newline="")
        self._rows = csv.writer(self._stream, lineterminator="\n")
        time, *others = COLUMNS
        self._rows.writerow((time, *(("cluster",) if named else ()), *others))

    def write(self, cluster: str, events: Iterable[Entry]) -> None:
        """Add what happened on a cluster."""
        name = (cluster,) if self._named else ()
        self._rows.writerows((self._time(at), *name, job, event) for at, job, event in events)

    def _time(self, at_s: float) -> str:
        when = self._start + timedelta(milliseconds=round(1000 * at_s))
        return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def close(self) -> None:
        """Write what ends the file."""
        self._stream.close()


class TruthFile:
    """The record of the truth as JSON, a cluster a line, so that not all must be held at once."""

    def __init__(self, path: Path, truth: Truth) -> None:
        head = truth.model_copy(update={"clusters": ()}).model_dump_json()
        self._stream = path.open("w", encoding="utf-8")
        self._stream.write(head.removesuffix("]}"))
        self._before = "\n"

    def write(self, cluster: ClusterTruth) -> None:
        """Add a cluster."""
        self._stream.write(self._before + cluster.model_dump_json())
        self._before = ",\n"

    def close(self) -> None:
        """Write what ends the file."""
        self._stream.write("\n]}\n")
        self._stream.close()
