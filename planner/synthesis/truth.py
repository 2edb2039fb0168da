"""What happened behind a trace: the record of it, and what the jobs' own logs would say."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from math import fsum
from statistics import median

from planner.schema.plan import JobPlan
from planner.schema.telemetry import ClockStep, ClusterTruth, Interrupted, JobTruth, Moved, Truth
from planner.simulation.history import History, Stay, Transfer
from planner.synthesis.samples import Quality, Sampler
from planner.telemetry.calibration import Event

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


def truth(quality: Quality, *, plans: Sequence[str], trace: str, seed: int) -> Truth:
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
