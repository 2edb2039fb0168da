"""Made-up traces of jobs that checkpoint and fail, with the truth, and the match of a result to it.

A case is drawn from a class and a seed. What flows is a table of stretches (start, end, GB/s) whose
rates add; a sample is the exact mean over its time. Faults are done to the samples afterwards.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.schema.operation import JobFound

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Random = np.random.Generator
DAY_S = 86_400.0
LEAST_CHECKPOINTS = 24
CLASSES = (
    "one", "two", "three", "twins", "restarts", "several", "counters", "clocks", "missing",
    "background", "sampling", "empty", "everything",
)  # fmt: skip
"""``twins`` are two jobs of one size, ``several`` are two to four that fail, ``empty`` has none."""
BUSY = ("background", "empty", "everything")
FAILING = ("restarts", "several", "everything")


@dataclass(frozen=True)
class Job:
    """A job; ``noise`` is the share by which the rate varies from drain to drain."""

    size_gb: float
    interval_s: float
    drain_s: float
    start_s: float = 0.0
    end_s: float = 0.0
    jitter_s: float = 0.0
    noise: float = 0.0
    mtti_s: float | None = None
    read_gb_per_s: float = 10.0
    fan_out: float = 1.0

    @property
    def gb_per_s(self) -> float:
        return self.size_gb / self.drain_s


@dataclass(frozen=True)
class Faults:
    """Samples lost singly (a share) or in outages of hours, rows that come twice (a share), steps
    of the clock, counters that begin again; ``blank``: lost rows are there without figures."""

    single: float = 0.0
    outages: int = 0
    repeated: float = 0.0
    blank: bool = False
    steps: int = 0
    resets: int = 0


@dataclass(frozen=True)
class Case:
    """A trace to be made. ``form`` is rate, bytes or counter; ``jitter`` a share of a sample by
    which times scatter."""

    length_s: float
    jobs: tuple[Job, ...]
    busy: bool
    faults: Faults = Faults()
    sample_s: float = 10.0
    form: str = "rate"
    jitter: float = 0.0


@dataclass(frozen=True)
class TrueJob:
    """A job as it was between its first and last complete checkpoint."""

    start_s: float
    end_s: float
    size_gb: float
    interval_s: float
    drain_s: float
    restarts: int
    mtti_s: float | None


@dataclass(frozen=True)
class Truth:
    """Jobs, and a row per write: job, start, end, size, complete, every sample as it was taken."""

    jobs: tuple[TrueJob, ...]
    writes: Floats
    sample_s: float


@dataclass(frozen=True)
class Trace:
    """Rows as stored: s since 1970, and GB/s or (bytes, counters) bytes."""

    time_s: Floats
    write: Floats
    read: Floats


def _log(random: Random, low: float, high: float) -> float:
    return float(np.exp(random.uniform(np.log(low), np.log(high))))


def random_case(kind: str, seed: int) -> Case:
    """Return a case of one of the CLASSES."""
    random = np.random.default_rng([seed, zlib.crc32(kind.encode())])
    few = int(random.choice([1, 1, 2, 2, 3]))
    count = {"one": 1, "two": 2, "three": 3, "twins": 2, "sampling": 1, "empty": 0}.get(kind, few)
    if kind == "several":
        count = int(random.integers(2, 5))
    sample_s = float(random.choice([1.0, 5.0, 15.0, 30.0, 60.0])) if kind == "sampling" else 10.0
    jobs = _group(count, random, twins=kind == "twins", sample_s=sample_s)
    longest = max((job.interval_s for job in jobs), default=3600.0)
    length = max(7 * DAY_S, 1.5 * LEAST_CHECKPOINTS * max(count, 1) * longest)
    length = min(length * random.uniform(1, 2), 800_000 * sample_s)
    jobs = [_living(job, length, random, kind) for job in jobs]
    form = "rate"
    if kind == "counters" or (kind == "everything" and random.random() < 0.5):
        form = "counter" if random.random() < 0.8 else "bytes"
    lossy = kind in ("missing", "everything")
    faults = Faults(
        single=_log(random, 1e-4, 2e-3) if lossy else 0.0,
        outages=int(random.integers(0, 3)) if lossy else 0,
        repeated=0.002 if lossy and form == "rate" else 0.0,
        blank=lossy and bool(random.random() < 0.3),
        steps=int(random.integers(1, 5)) if kind == "clocks" else 0,
        resets=int(random.integers(0, 6)) if form == "counter" else 0,
    )
    jitter = float(random.choice([0.0, 0.1])) if lossy or form == "counter" else 0.0
    return Case(length, tuple(jobs), kind in BUSY, faults, sample_s, form, jitter)


def _shape(random: Random, sample_s: float) -> Job:
    """Return a job's size, interval and drain, at a rate that is seen in the field."""
    while True:
        interval = _log(random, max(180, 12 * sample_s), 6 * 3600)
        overlap = random.uniform(max(0.01, 10 / interval), min(0.12, 480 / interval))
        size, drain = _log(random, 100, 20_000), overlap * interval
        if 1 <= size / drain <= 400:
            return Job(size, interval, drain)


def _group(count: int, random: Random, *, twins: bool, sample_s: float) -> list[Job]:
    """Return jobs on one storage: sizes 12 % apart, but for twins."""
    while count:
        jobs = [_shape(random, sample_s) for _ in range(count)]
        if twins:
            jobs[1] = replace(jobs[1], size_gb=jobs[0].size_gb)
        sizes = np.sort([job.size_gb for job in jobs[twins:]])
        rates = [job.gb_per_s for job in jobs]
        rhythm = jobs[0].interval_s / jobs[-1].interval_s
        near = np.any(sizes[1:] / sizes[:-1] < 1.12) or max(rates) > 30 * min(rates)
        if not near and not (twins and (max(rates) > 400 or 1 / 1.3 < rhythm < 1.3)):
            return jobs
    return []


def _living(job: Job, length_s: float, random: Random, kind: str) -> Job:
    """Give a job its span of time, scatter, reads and failures."""
    least = max(LEAST_CHECKPOINTS * job.interval_s, (0.6 if kind == "twins" else 0.3) * length_s)
    start = random.uniform(-0.2 * length_s, length_s - least)
    end = random.uniform(max(start, 0) + least, 1.2 * length_s)
    often = max(4 * job.interval_s, 7200.0)
    fails = _log(random, often, max(2 * often, (end - start) / 4))
    return replace(
        job,
        start_s=start,
        end_s=end,
        jitter_s=random.uniform(0.01, 0.03) * job.interval_s,
        noise=random.uniform(0.01, 0.10),
        mtti_s=fails if kind in FAILING else None,
        read_gb_per_s=job.gb_per_s * _log(random, 0.7, 5),
        fan_out=float(random.choice([1, 1, 1, 4])),
    )


def _table(rows: list[tuple[float, ...]], width: int = 3) -> Floats:
    return np.array(rows, dtype=float).reshape(-1, width)


def _moved_gb(flow: Floats, at_s: Floats) -> Floats:
    """Return what has flowed by each of these times."""
    times = np.concatenate((flow[:, 0], flow[:, 1]))
    order = np.argsort(times, kind="stable")
    rates = np.cumsum(np.concatenate((flow[:, 2], -flow[:, 2]))[order])
    rates[rates < 1e-9] = 0.0  # what rounding leaves of a sum that is nothing
    done = np.concatenate(([0.0], np.cumsum(rates[:-1] * np.diff(times[order]))))
    return np.interp(at_s, times[order], done)


@dataclass(frozen=True)
class _Life:
    """Drains (start, end, GB/s, run), restores (start, end, GB/s), runs (start, end), failures."""

    drains: Floats
    restores: Floats
    runs: Floats
    failures_s: Floats


def _lived(job: Job, random: Random) -> _Life:
    """Live through a job: run, fail, restart, read, run on, each a whole interval from there."""
    drains: list[tuple[float, ...]] = []
    restores: list[tuple[float, ...]] = []
    runs: list[tuple[float, ...]] = []
    failures: list[float] = []
    now = job.start_s
    while now < job.end_s:
        fails = now + random.exponential(job.mtti_s) if job.mtti_s else np.inf
        until = min(fails, job.end_s)
        begins = now
        while True:
            scatter = float(np.clip(random.standard_normal(), -3, 3))
            begins += job.interval_s + job.jitter_s * scatter
            if begins >= until:
                break
            rate = job.gb_per_s * float(np.exp(job.noise * random.standard_normal()))
            ends = min(begins + job.size_gb / rate, fails)
            drains.append((begins, ends, rate, len(runs)))
        runs.append((now, until))
        if fails >= job.end_s:
            break
        failures.append(fails)
        reads_at = fails + random.uniform(120.0, 1200.0)
        now = reads_at + job.fan_out * job.size_gb / job.read_gb_per_s
        restores.append((reads_at, now, job.read_gb_per_s))
    return _Life(_table(drains, 4), _table(restores), _table(runs, 2), np.array(failures))


def _background(case: Case, random: Random) -> Floats:
    """Return a noisy base with a daily swing, small bursts, and large writes where it is busy."""
    rate = min((job.gb_per_s for job in case.jobs), default=20.0)
    size = min((job.size_gb for job in case.jobs), default=1000.0)
    at = np.arange(0.0, case.length_s, case.sample_s)
    level = 1 + (0.6 if case.busy else 0.3) * np.sin(2 * np.pi * at / DAY_S)
    noise = np.exp((0.5 if case.busy else 0.2) * random.standard_normal(len(at)))
    base = rate * _log(random, 0.005, 0.05) if case.busy else rate * _log(random, 0.001, 0.01)
    flow = [np.column_stack((at, at + case.sample_s, base * level * noise))]
    days = case.length_s / DAY_S
    small = (48 * days, 0.0005 * size, (0.05 if case.busy else 0.02) * size)
    for count, least, most in (small, (2 * days * case.busy, 0.2 * size, 5 * size)):
        start = random.uniform(0, case.length_s, int(count))
        moved = np.exp(random.uniform(np.log(least), np.log(most), len(start)))
        lasts = random.uniform(5, 60, len(start))
        if least == 0.2 * size:
            lasts = moved / (rate * random.uniform(0.1, 0.9, len(start)))
        flow.append(np.column_stack((start, start + lasts, moved / lasts)))
    return np.concatenate(flow)


def made(case: Case, seed: int) -> tuple[Trace, Truth]:
    """Make a trace, and the truth on the trace's own clock."""
    random = np.random.default_rng([seed, 20_260_301])
    lives = [_lived(job, random) for job in case.jobs]
    writing = [_background(case, random), *(life.drains[:, :3] for life in lives)]
    reading = [_background(case, random), *(life.restores for life in lives)]
    count = round(case.length_s / case.sample_s)
    edges = np.arange(count + 1) * case.sample_s
    edges += case.jitter * case.sample_s * random.uniform(-0.5, 0.5, count + 1)
    steps = np.sort(random.uniform(0.05, 0.95, case.faults.steps) * case.length_s)
    sizes = np.round(np.exp(random.uniform(np.log(5), np.log(3600), len(steps))))
    offsets = np.concatenate(([0.0], np.cumsum(sizes * random.choice([-1.0, 1.0], len(steps)))))
    gone = random.random(count + 1) < case.faults.single
    for start in random.uniform(0, case.length_s, 4 * case.faults.outages):
        gone |= (edges >= start) & (edges < start + random.uniform(120.0, 4 * 3600.0))
    resets = np.searchsorted(edges, random.uniform(0.01, 0.99, case.faults.resets) * case.length_s)
    lost = gone[:-1] | (gone[1:] if case.form == "counter" else False)
    lost[np.clip(np.searchsorted(edges, steps) - 1, 0, count - 1)] = True
    lost[np.clip(resets - 1, 0, count - 1)] = True

    def clock(at_s: Floats) -> Floats:
        return np.asarray(at_s + 1_767_225_600.0 + offsets[np.searchsorted(steps, at_s)])

    stamps = edges if case.form == "counter" else edges[:-1]
    columns = [
        _column(case.form, edges, _moved_gb(np.concatenate(flow), edges), np.sort(resets), random)
        for flow in (writing, reading)
    ]
    trace = _stored(case.faults, np.round(clock(stamps), 3), columns, gone, random)
    parts = [
        _truth(n, job, life, case.length_s)
        for n, (job, life) in enumerate(zip(case.jobs, lives, strict=True))
    ]
    jobs = tuple(
        replace(
            job,
            start_s=float(clock(np.array([job.start_s]))[0]),
            end_s=float(clock(np.array([job.end_s]))[0]),
        )
        for job, _ in parts
    )
    writes = np.concatenate([_table([], 5), *(rows for _, rows in parts)])
    before = np.concatenate(([0], np.cumsum(lost)))
    first = np.clip(np.searchsorted(edges, writes[:, 1], "right") - 2, 0, count)
    last = np.clip(np.searchsorted(edges, writes[:, 2], "left") + 1, 0, count)
    clear = before[last] == before[first]
    writes[:, 1:3] = clock(writes[:, 1]).T[:, None] * [1, 0] + clock(writes[:, 2])[:, None] * [0, 1]
    return trace, Truth(jobs, np.column_stack((writes, clear)), case.sample_s)


def _column(
    form: str, edges: Floats, moved_gb: Floats, resets: NDArray[np.intp], random: Random
) -> Floats:
    if form == "rate":
        return np.diff(moved_gb) / np.diff(edges)
    if form == "bytes":
        return np.round(np.diff(moved_gb) * 1e9)
    count = np.floor(moved_gb * 1e9) + float(random.integers(0, 10**14))
    for at in resets:
        missed = (moved_gb[at] - moved_gb[at - 1]) * 1e9 * random.random()
        count[at:] -= count[at] - np.floor(missed)
    return count


def _stored(
    faults: Faults, time: Floats, columns: list[Floats], gone: Flags, random: Random
) -> Trace:
    gone = gone[: len(time)]
    times = 1 + (random.random(len(time)) < faults.repeated)
    if faults.blank:
        columns = [np.where(gone, np.nan, column) for column in columns]
    else:
        times = np.where(gone, 0, times)
    return Trace(*(np.repeat(column, times) for column in (time, *columns)))


def _truth(number: int, job: Job, life: _Life, length_s: float) -> tuple[TrueJob, Floats]:
    """Return a job as it was, and its writes in the trace without the last column."""
    start, end, rate, run = life.drains.T
    size = rate * (end - start)
    complete = (size >= job.size_gb * (1 - 1e-9)) & (start >= 0) & (end <= length_s)
    done = start[complete]
    gaps = np.diff(start)[(np.diff(run) == 0) & complete[1:] & complete[:-1]]
    fails = life.failures_s[(life.failures_s > done[0]) & (life.failures_s < done[-1])]
    within = np.clip(life.runs, done[0], done[-1])
    running = float((within[:, 1] - within[:, 0]).sum())
    true = TrueJob(
        max(job.start_s, 0.0),
        min(job.end_s, length_s),
        job.size_gb,
        float(np.median(gaps)) if len(gaps) else job.interval_s,
        float(np.median((end - start)[complete])),
        len(fails),
        running / len(fails) if len(fails) else None,
    )
    rows = np.column_stack((np.full(len(start), number), start, end, size, complete))
    return true, rows[(end > 0) & (start < length_s)]


def matched(truth: Truth, found: tuple[JobFound, ...]) -> list[JobFound | None]:
    """Return for each true job the found one nearest in size, interval and span, one to one."""
    choices = [*found, *([None] * len(truth.jobs))]
    pairs = [[_apart(a, b) if b else 1.0 for b in choices] for a in truth.jobs]
    places = permutations(range(len(choices)), len(truth.jobs))
    best = min(places, key=lambda choice: sum(pairs[n][p] for n, p in enumerate(choice)))
    return [choices[p] if pairs[n][p] < 1 else None for n, p in enumerate(best)]


def _apart(true: TrueJob, found: JobFound) -> float:
    """Return how far apart two jobs are; from 1 on they are not the same."""
    size = abs(np.log(max(found.size_gb.value, 1e-9) / true.size_gb)) / 0.3
    interval = abs(np.log(max(found.interval_s.value, 1e-9) / true.interval_s)) / 0.8
    both = min(true.end_s, found.end_s) - max(true.start_s, found.start_s)
    either = max(true.end_s, found.end_s) - min(true.start_s, found.start_s)
    span = 1 - max(both, 0.0) / either
    if max(size, interval, span / 0.8) >= 1:
        return 9.0
    return float(0.5 * size + 0.3 * interval + 0.2 * span)


def counted(truth: Truth, table: Mapping[str, Any]) -> tuple[int, int, int, int]:
    """Return (whole writes, of which found, rows of checkpoints, of which false).

    A start may be off by two samples or half the drain, a size by 10 %. A write that was broken
    off at nearly its whole size, or that samples are missing of, may be found but need not be.
    """
    kept = np.isin(np.asarray(table["kind"], dtype=str), ("checkpoint", "inferred"))
    start, size = (np.asarray(table[name], dtype=float)[kept] for name in ("start_s", "size_gb"))
    whole = np.array([job.size_gb for job in truth.jobs] or [0.0])
    taken = np.zeros(len(start), dtype=bool)
    wanted = hit = 0
    for job, begins, ends, written, complete, clear in truth.writes:
        reach = max(2 * truth.sample_s, 0.5 * (ends - begins))
        off = np.abs(size / whole[int(job)] - 1)
        near = np.flatnonzero(~taken & (np.abs(start - begins) <= reach) & (off <= 0.1))
        wanted += bool(complete and clear)
        if len(near) and written >= 0.9 * whole[int(job)]:
            taken[near[np.argmin(np.abs(start[near] - begins))]] = True
            hit += bool(complete and clear)
    return wanted, hit, len(start), int((~taken).sum())
