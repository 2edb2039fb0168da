"""Random cases with sensible parameters, by class and seed."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from tests.telemetry.flow import Background
from tests.telemetry.sampling import Faults, Sampling
from tests.telemetry.timeline import Job
from tests.telemetry.truth import Case

Random = np.random.Generator
DAY_S = 86_400.0
LEAST_CHECKPOINTS = 24


def random_case(kind: str, seed: int) -> Case:
    """Return a case of a class (see ``CLASSES``)."""
    random = np.random.default_rng([seed, zlib.crc32(kind.encode())])
    return replace(CLASSES[kind](random), name=f"{kind}-{seed}", seed=seed)


def _log(random: Random, low: float, high: float) -> float:
    return float(np.exp(random.uniform(np.log(low), np.log(high))))


def _shape(random: Random) -> Job:
    """A job's size, interval and drain, at a rate that is seen in the field."""
    while True:
        interval = _log(random, 180, 6 * 3600)
        overlap = random.uniform(max(0.01, 10 / interval), min(0.12, 480 / interval))
        size, drain = _log(random, 100, 20_000), overlap * interval
        if 1 <= size / drain <= 400:
            return Job("", size, interval, drain, 0.0, 0.0)


def _varied(job: Job, random: Random) -> Job:
    """Give a job its jitter, noise and reads."""
    jitter = random.uniform(0.01, 0.03) * job.interval_s
    if random.random() < 0.5:
        jitter = min(jitter, random.uniform(1, 6))
    return replace(
        job,
        jitter_s=jitter,
        noise=random.uniform(0.01, 0.10),
        drift=random.choice([0.0, random.uniform(0.01, 0.10)]),
        ramp=bool(random.random() < 0.3),
        read_gb_per_s=job.gb_per_s * _log(random, 0.7, 5),
        fan_out=float(random.choice([1.0, 1.0, 1.0, random.integers(2, 7)])),
    )


def _group(count: int, random: Random, twins: bool = False) -> list[Job]:
    """Jobs on one storage: sizes 12 % apart, except for two, where they are to be the same."""
    while count:
        jobs = [_shape(random) for _ in range(count)]
        if twins:
            jobs[1] = replace(jobs[1], size_gb=jobs[0].size_gb)
        sizes = np.sort([job.size_gb for job in jobs[twins:]])
        rates = [job.gb_per_s for job in jobs]
        rhythm = jobs[0].interval_s / jobs[-1].interval_s
        if np.any(sizes[1:] / sizes[:-1] < 1.12) or max(rates) > 30 * min(rates):
            continue
        if twins and (max(rates) > 400 or 1 / 1.3 < rhythm < 1.3):
            continue
        return [replace(_varied(job, random), name=f"j{n}") for n, job in enumerate(jobs)]
    return []


def _lives(jobs: list[Job], length_s: float, random: Random, together: bool) -> list[Job]:
    """Let jobs start and end at different times, at once (``together``: always) or one after
    another."""
    if len(jobs) > 1 and not together and random.random() < 0.3:
        cuts = np.linspace(-0.1, 1.1, len(jobs) + 1) * length_s
        spans = [(a, b - random.uniform(0.005, 0.03) * length_s) for a, b in pairwise(cuts)]
    else:
        spans = []
        for job in jobs:
            least = max(LEAST_CHECKPOINTS * job.interval_s, 0.3 * length_s)
            latest = min(0.3 * length_s, length_s - least) if together else length_s - least
            start = random.uniform(-0.2 * length_s, latest)
            earliest = max(max(start, 0) + least, 0.6 * length_s * together)
            end = random.uniform(earliest, 1.2 * length_s)
            spans.append((start, end))
    return [
        replace(job, start_s=float(start), end_s=float(end))
        for job, (start, end) in zip(jobs, spans, strict=True)
    ]


def _quiet(jobs: list[Job], random: Random) -> tuple[Background, Background]:
    """A background that is always there: a base far below the drains, little unrelated work."""
    rate = min((job.gb_per_s for job in jobs), default=20.0)
    size = min((job.size_gb for job in jobs), default=1000.0)
    base = Background(
        base_gb_per_s=rate * _log(random, 0.001, 0.01),
        swing=random.uniform(0, 0.4),
        wander=random.uniform(0, 0.2),
        noise=random.uniform(0.05, 0.3),
        bursts_per_hour=random.uniform(0, 1),
        burst_gb=(0.0005 * size, 0.02 * size),
    )
    return base, replace(base, base_gb_per_s=base.base_gb_per_s * _log(random, 0.5, 5))


def _busy(jobs: list[Job], random: Random) -> tuple[Background, Background]:
    """A background with much unrelated work, large writes included."""
    rate = min((job.gb_per_s for job in jobs), default=20.0)
    size = min((job.size_gb for job in jobs), default=1000.0)
    base = Background(
        base_gb_per_s=rate * _log(random, 0.005, 0.05),
        swing=random.uniform(0.2, 0.8),
        wander=random.uniform(0.1, 0.5),
        noise=random.uniform(0.2, 0.6),
        bursts_per_hour=random.uniform(1, 6),
        burst_gb=(0.002 * size, 0.05 * size),
        large_per_day=random.uniform(0.2, 3),
        large_gb=(0.2 * size, 5 * size),
        large_gb_per_s=rate * _log(random, 0.1, 0.9),
    )
    return base, replace(base, base_gb_per_s=base.base_gb_per_s * _log(random, 0.5, 5))


def _plain(
    random: Random, count: int, twins: bool = False, together: bool = False, busy: bool = False
) -> Case:
    jobs = _group(count, random, twins)
    longest = max((job.interval_s for job in jobs), default=3600.0)
    least = max(7.0, 1.5 * LEAST_CHECKPOINTS * max(count, 1) * longest / DAY_S)
    length = DAY_S * random.uniform(least, max(30.0, least))
    jobs = _lives(jobs, length, random, together)
    write, read = (_busy if busy else _quiet)(jobs, random)
    most = None
    if count > 1 and random.random() < 0.5:
        most = max(job.gb_per_s for job in jobs) * random.uniform(1.0, 1.3)
    epoch = 1_735_689_600.0 + 10.0 * float(random.integers(0, 4_000_000))
    return Case("", 0, length, tuple(jobs), most, write, read, epoch_s=epoch)


def _few(random: Random) -> int:
    return int(random.choice([1, 1, 2, 2, 3]))


def _failing(case: Case, random: Random) -> Case:
    """Let jobs fail: every few intervals at worst, a few times in the trace at best."""
    jobs = []
    for job in case.jobs:
        often = max(4 * job.interval_s, 7200.0)
        jobs.append(
            replace(
                job,
                mtti_s=_log(random, often, max(2 * often, (job.end_s - job.start_s) / 4)),
                again=float(random.choice([0.0, 0.1, 0.25])),
            )
        )
    return replace(case, jobs=tuple(jobs))


def _lossy(random: Random, harsh: bool) -> Faults:
    return Faults(
        single=_log(random, 1e-4, 2e-3),
        stretches_per_day=random.uniform(0, 2),
        outages=int(random.integers(0, 3 if harsh else 2)),
        repeated=float(random.choice([0.0, 0.002])),
        blank=bool(random.random() < 0.3),
    )


def _restarts(random: Random) -> Case:
    return _failing(_plain(random, _few(random)), random)


def _several(random: Random) -> Case:
    return _failing(_plain(random, int(random.integers(2, 5))), random)


def _counters(random: Random) -> Case:
    form = "counter" if random.random() < 0.8 else "bytes"
    jitter = float(random.choice([0.0, 0.1]))
    faults = Faults(resets=int(random.integers(0, 6)), single=float(random.choice([0.0, 1e-3])))
    if form == "bytes":
        faults, jitter = Faults(), 0.0
    sampling = Sampling(form=form, jitter=jitter)
    return replace(_plain(random, _few(random)), sampling=sampling, faults=faults)


def _clocks(random: Random) -> Case:
    faults = Faults(steps=int(random.integers(1, 5)))
    return replace(_plain(random, _few(random)), faults=faults)


def _missing(random: Random) -> Case:
    sampling = Sampling(jitter=float(random.choice([0.0, 0.05, 0.3])))
    return replace(_plain(random, _few(random)), faults=_lossy(random, True), sampling=sampling)


def _sampled(random: Random) -> Case:
    sampling = Sampling(
        sample_s=float(random.choice([1.0, 5.0, 15.0, 30.0, 60.0])),
        stamp="end" if random.random() < 0.5 else "start",
    )
    while True:
        case = replace(_plain(random, 1), sampling=sampling)
        if case.length_s < 800_000 * sampling.sample_s:
            return case


def _everything(random: Random) -> Case:
    case = _failing(_plain(random, _few(random), busy=True), random)
    form = "counter" if random.random() < 0.3 else "rate"
    steps = int(random.integers(0, 3)) if random.random() < 0.3 else 0
    faults = replace(_lossy(random, False), steps=steps, resets=2 * (form == "counter"))
    sampling = Sampling(form=form, jitter=float(random.choice([0.0, 0.05, 0.2])))
    return replace(case, sampling=sampling, faults=faults)


def year_case(name: str, seed: int) -> Case:
    """Return a year of one cluster: one to three jobs of weeks to months, every half hour to six
    hours, restarts, some samples missing. 18 of them hold some 80,000 checkpoints."""
    random = np.random.default_rng([seed, 365])
    while True:
        jobs = _group(int(random.integers(1, 4)), random)
        if min(job.interval_s for job in jobs) >= 1800:
            break
    length = 365 * DAY_S
    write, read = _quiet(jobs, random)
    faults = Faults(single=1e-4, stretches_per_day=0.05, outages=3)
    for n, job in enumerate(jobs):
        start, lasts = random.uniform(-0.1, 0.8) * length, _log(random, 0.15, 0.7) * length
        jobs[n] = replace(job, start_s=float(start), end_s=float(start + lasts))
    return _failing(Case(name, seed, length, tuple(jobs), None, write, read, faults=faults), random)


CLASSES: dict[str, Callable[[Random], Case]] = {
    "one": lambda random: _plain(random, 1),
    "two": lambda random: _plain(random, 2),
    "three": lambda random: _plain(random, 3),
    "twins": lambda random: _plain(random, 2, twins=True, together=True),
    "restarts": _restarts,
    "several": _several,
    "counters": _counters,
    "clocks": _clocks,
    "missing": _missing,
    "background": lambda random: _plain(random, int(random.integers(1, 3)), busy=True),
    "sampling": _sampled,
    "empty": lambda random: _plain(random, 0, busy=True),
    "everything": _everything,
}
"""Classes of cases by name: ``twins`` are two jobs of one size, ``several`` are two to
four that fail, ``empty`` is a trace without."""
