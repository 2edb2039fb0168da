"""Hardware out for repair and what stands by for it, re-computed from the decisions.

Units out are those of a loss system: with units coming at a load, the number out is a Poisson
number cut off at its places. So the job runs with the probability that a Poisson number is at most
the spares, given that it is at most one more.

A job that goes on with fewer replicas has the same kind of law, each state weighted by what ran in
those below it: the flow of failures out of a state equals the flow of repairs back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from planner.schema.plan import JobPlan, Plan, ShrunkPlan
from planner.schema.running import Repair
from planner.verifier.basis import Basis, Ledger
from planner.verifier.decisions import Decisions, replica_gpus, usable_gpus
from planner.verifier.levels import ProgressTimes, log_spared
from planner.verifier.ways import least_replicas

SECONDS_PER_DAY = 86_400
HOURS_PER_YEAR = 8_760
LONGEST_SWAP = 1e-7
"""Tolerance of the limit on swaps."""


@dataclass(frozen=True)
class RepairFigures:
    """Figures of the plan's ``repair`` as re-computed, under the names it gives them."""

    unit: str
    unit_gpus: int
    in_rack: bool
    spares: int
    decided: bool
    hardware_share: float
    repair_s: float
    swap_s: float
    load: float
    availability: float
    units_out: float | None
    waiting_h_per_year: float
    next_spare_gpus: float | None
    other_unit: str | None
    other_waiting_h_per_year: float | None
    shrunk: ShrunkPlan | None = None

    @property
    def waits(self) -> float:
        """Share of time waited for repairs, without cancellation."""
        return self.waiting_h_per_year / HOURS_PER_YEAR


class _Unit(NamedTuple):
    """What is swapped: its GPUs, how many make up a system, those of a system the job uses."""

    gpus: int
    per_system: int
    usable_gpus: int
    in_rack: bool


def waiting_share(spares: int, load: float) -> float:
    """Return the share of time in which more units are out than stood by.

    Args:
        spares: units standing by.
        load: units out on average if the job never waited.
    """
    return 1.0 / (1.0 + _odds_of_running(spares, load))


def units_out(spares: int, load: float) -> float:
    """Return the units out on average, of which there are as many fewer as the job waits.

    Args:
        spares: units standing by.
        load: units out on average if the job never waited.
    """
    running = _odds_of_running(spares, load)
    return load * (running / (1.0 + running))


def _odds_of_running(spares: int, load: float) -> float:
    """Return the time in which the job runs over that in which it waits.

    Terms of the Poisson law relative to that at the cut: those below it, one by one.
    """
    term, below = 1.0, 0.0
    for count in range(spares + 1, 0, -1):
        term *= count / load
        below += term
        if term < 1e-18 * below or below > 1e250:
            break
    return below


class _Rise(NamedTuple):
    """A rise in replicas: how often a second one of the units ``out`` comes back, how many replicas
    ran before, and how many could run then."""

    per_s: float
    out: int
    could: int
    ran: int


@dataclass(frozen=True)
class _Running:
    """The shares of time with 0, 1, ... units out, and the replicas that run in each state."""

    shares: list[float]
    replicas: list[int]
    repair_s: float

    @cached_property
    def all_share(self) -> float:
        """Share of the replicas that run on average."""
        return math.fsum(map(float.__mul__, self.shares, map(float, self.replicas))) / self.all

    @property
    def all(self) -> int:
        """Replicas with nothing out."""
        return self.replicas[0]

    @cached_property
    def seen(self) -> float:
        """Return the share of failures that kept work sees: replicas weighted by what they do."""
        parts = zip(self.shares, self.replicas, strict=True)
        return math.fsum(p * d * d for p, d in parts) / self.all**2 / self.all_share

    @cached_property
    def idle(self) -> float:
        """Replicas that do not run on average."""
        states = zip(self.shares, self.replicas, strict=True)
        return math.fsum(p * (self.all - d) for p, d in states)

    @cached_property
    def rises(self) -> list[_Rise]:
        """Return what comes back that lets more replicas run: not where none ran, which is the end
        of a restart anyway."""
        found = []
        for out in range(1, len(self.shares)):
            if 0 < self.replicas[out] < self.replicas[out - 1]:
                per_s = self.shares[out] * out / self.repair_s
                found.append(_Rise(per_s, out, self.replicas[out - 1], self.replicas[out]))
        return found

    @cached_property
    def eased(self) -> float:
        """Return how much of what runs less comes back, because less fails then."""
        out = math.fsum(j * p for j, p in enumerate(self.shares))
        states = enumerate(zip(self.shares, self.replicas, strict=True))
        return out - math.fsum(j * p * d for j, (p, d) in states) / (self.all_share * self.all)


class _Short(NamedTuple):
    """What units that are out take of a job that goes on with fewer replicas: of its work, of what
    units back wait for a capture, and how often a second it restarts to be more."""

    waits: float
    late: float
    grows_per_s: float


def _short(now: _Running, rhythm: ProgressTimes, share: float, full_s: float) -> _Short:
    """Return what such a job loses.

    What a restart takes after a failure is taken of the replicas that are left, though goodput
    takes it of those before.

    Args:
        now: its states.
        rhythm: its times; the failures that its work sees follow from the states.
        share: of interruptions, that take a unit out.
        full_s: mean time between failures of all replicas, s.
    """
    rises = now.rises
    grows_per_s, stops, late = _grows(now, rises, rhythm, share, full_s * now.all)
    gained = math.fsum(each.per_s * (each.could - each.ran) for each in rises)
    longest_s = max(each_s for _, each_s in rhythm.starting_s)
    out = now.repair_s * -math.expm1(-longest_s / now.repair_s) / longest_s if longest_s else 1.0
    fewer_per_s = out * gained / (now.all * now.all_share)
    spared = log_spared(replace(rhythm, mtti_s=full_s / now.seen), fewer_per_s)
    lost = (now.idle + stops) / now.all + late
    return _Short(max(0.0, lost - (1.0 - lost) * math.expm1(spared)), late, grows_per_s)


def _grows(
    now: _Running, rises: list[_Rise], rhythm: ProgressTimes, share: float, each_s: float
) -> tuple[float, float, float]:
    """Return how often a second a job restarts to be more, the replicas that stand still for it on
    average, and the share of all replicas that stands still before.

    A unit that is back finds the job in a restart, which some unit that is out, or a failure that
    took none, began; or in a planned one; or computing, early in an interval if one was shortly
    before. Then it waits for the next capture or for a failure, and is brought back by a planned
    restart if the capture comes first and no unit after it brings one. A failure in a planned
    restart begins it anew.

    Args:
        now: its states.
        rises: what comes back.
        share: of interruptions, that take a unit out.
        each_s: mean time between failures of one replica, s.
    """
    often = math.fsum(each.per_s for each in rises)
    if not often:
        return 0.0, 0.0, 0.0
    out, could, ran = (
        math.fsum(each.per_s * count for each, count in zip(rises, counts, strict=True)) / often
        for counts in zip(*((each.out, each.could, each.ran) for each in rises), strict=True)
    )
    began = out / now.repair_s + (1.0 - share) * ran / each_s
    alone = math.fsum(part * math.exp(-began * start_s) for part, start_s in rhythm.starting_s)
    fails, others = ran / each_s, (out - 1.0) / now.repair_s
    first = alone * _captured(began, fails + others, rhythm.interval_s)
    start_s, more_s = rhythm.growing_s
    anew = math.exp(min(start_s * could / each_s, 700.0))
    takes_s = (anew - 1.0) * each_s / could if start_s else 0.0
    first /= 1.0 + share * fails * takes_s * first
    stops = math.fsum(each.per_s * each.could for each in rises) * first
    gained = math.fsum(each.per_s * (each.could - each.ran) for each in rises)
    late = gained * alone / fails * (1.0 - _captured(began, fails, rhythm.interval_s))
    late *= max(0.0, 1.0 - now.eased) / now.all
    return often * first, stops * (takes_s + anew * more_s), late


def _captured(began: float, comes: float, interval_s: float) -> float:
    """Return how likely the next capture is the first to come, of it and of what comes so often a
    second, where the interval began as if by events that come ``began`` times a second.

    The mean of exp(-comes (I - t)) over t in the interval, each with the weight exp(-began t).
    """
    low, high = sorted((began * interval_s, comes * interval_s))
    part = -math.expm1(low - high) / (high - low) if high > low else 1.0
    whole = -math.expm1(-began * interval_s) / (began * interval_s)
    return math.exp(-low) * part / whole


def _run_on(
    basis: Basis, decisions: Decisions, unit: _Unit, spares: int, per_gpu: float, repair_s: float
) -> _Running:
    """Return the states of a job that goes on with fewer replicas.

    From the likeliest state, where weights are 1, up and down: nothing overflows.
    """
    job, gpus = basis.problem.job, decisions.gpus_used
    replica = replica_gpus(job) or 1
    holds = unit.usable_gpus if unit.per_system == 1 else unit.gpus
    units, least = math.ceil(gpus / holds) + spares, _least(basis, decisions)
    replicas = [gpus // replica]
    while replicas[-1] > 0:
        left = max(0, units - len(replicas)) * holds // replica
        replicas.append(min(gpus // replica, left) if left >= least else 0)
    rates = [per_gpu * replica * count for count in replicas]
    top = next(j for j in range(len(replicas)) if rates[j] <= j + 1)
    weights = {top: 1.0}
    for j in range(top, len(replicas) - 1):
        weights[j + 1] = weights[j] * rates[j] / (j + 1)
    for j in range(top, 0, -1):
        weights[j - 1] = weights[j] * j / rates[j - 1]
    whole = math.fsum(weights.values())
    return _Running([weights[j] / whole for j in range(len(replicas))], replicas, repair_s)


@dataclass(frozen=True)
class Units:
    """What the decisions make of the repairs, at any interval: the units, their failures, and the
    states of a job that goes on with fewer replicas."""

    basis: Basis
    decisions: Decisions
    repair: Repair
    unit: _Unit
    failures_per_gpu_day: float
    share: float
    """Of interruptions, that take a unit out."""
    repair_s: float

    @property
    def shrinks(self) -> bool:
        """Whether the job goes on with fewer replicas."""
        return self.repair.when_short == "shrink"

    @property
    def per_gpu(self) -> float:
        """Units out on average for each GPU."""
        return self.failures_per_gpu_day / SECONDS_PER_DAY * self.share * self.repair_s

    @cached_property
    def spares(self) -> int:
        """Units that stand by; fewer than none where the purchase has not what is asked."""
        return _spares(self.decisions, self.repair, self.unit)

    @cached_property
    def states(self) -> _Running:
        """The states of a job that goes on with fewer replicas."""
        return self.states_with(max(0, self.spares))

    def states_with(self, spares: int) -> _Running:
        """Return them with so many spares."""
        return _run_on(self.basis, self.decisions, self.unit, spares, self.per_gpu, self.repair_s)

    def short(self, states: _Running, rhythm: ProgressTimes) -> _Short:
        """Return what a job in these states loses."""
        a_day = self.failures_per_gpu_day * self.decisions.gpus_used
        return _short(states, rhythm, self.share, SECONDS_PER_DAY / a_day)

    def with_repairs(self, rhythm: ProgressTimes) -> ProgressTimes:
        """Return the times of the job with its swaps, and what it waits for repairs."""
        gpus = self.decisions.gpus_used
        rhythm = replace(rhythm, swapped=self.share, swap_s=self.repair.swap_s)
        if self.shrinks:
            seen, waits = self.states.seen, self.short(self.states, rhythm).waits
        else:
            seen, waits = 1.0, _waits(self.unit, self.spares, self.per_gpu, gpus)
        mtti_s = SECONDS_PER_DAY / (self.failures_per_gpu_day * gpus * seen)
        return replace(rhythm, mtti_s=mtti_s, waits=waits)


def find_units(basis: Basis, decisions: Decisions, failures_per_gpu_day: float) -> Units | None:
    """Return what the decisions make of the repairs, None where the problem states none.

    Args:
        failures_per_gpu_day: of the type in use.
    """
    repair = basis.problem.job.repair
    if repair is None:
        return None
    unit = _unit(basis, decisions, by_tray=repair.unit == "tray")
    out_s = math.fsum(share * time_s for share, time_s in _kinds(repair))
    share = math.fsum(share for share, _ in _kinds(repair))
    return Units(basis, decisions, repair, unit, failures_per_gpu_day, share, out_s / share)


def compute(units: Units, kept: float, rhythm: ProgressTimes) -> RepairFigures:
    """Return every figure of the repair.

    Args:
        units: what the decisions make of it.
        kept: goodput while the job does not wait.
    """
    basis, decisions, repair, unit = units.basis, units.decisions, units.repair, units.unit
    gpus, spares, per_gpu = decisions.gpus_used, units.spares, units.per_gpu
    load = per_gpu * gpus
    other, other_h = _unit(basis, decisions, by_tray=unit.per_system == 1), None
    tell_other = other != unit and not isinstance(repair.spares, int) and not units.shrinks
    if units.shrinks:
        short, out = units.short(units.states, rhythm), _out(units.states)
        waits, grow_s = short.waits, sum(rhythm.growing_s)
        shrunk = _shrunk_figures(basis, decisions, units.states, short, grow_s)
        more = waits - units.short(units.states_with(max(0, spares) + 1), rhythm).waits
    else:
        waits, shrunk = _waits(unit, spares, per_gpu, gpus), None
        out = units_out(max(0, spares), load)
        more = waits - waiting_share(max(0, spares) + 1, load)
    if tell_other:
        left = _spares(decisions, repair, other)
        other_h = HOURS_PER_YEAR * _waits(other, left, per_gpu, gpus)
    return RepairFigures(
        unit="tray" if unit.per_system > 1 else "system",
        unit_gpus=unit.gpus,
        in_rack=unit.in_rack,
        spares=spares,
        decided=not isinstance(repair.spares, int),
        hardware_share=units.share,
        repair_s=units.repair_s,
        swap_s=repair.swap_s,
        load=load,
        availability=1.0 - waits,
        units_out=None if unit.in_rack else out,
        waiting_h_per_year=HOURS_PER_YEAR * waits,
        next_spare_gpus=None if unit.in_rack else gpus * kept * more,
        other_unit=("tray" if other.per_system > 1 else "system") if tell_other else None,
        other_waiting_h_per_year=other_h,
        shrunk=shrunk,
    )


def _least(basis: Basis, decisions: Decisions) -> int:
    """Return the fewest replicas whose memory holds what they share."""
    option, (sku,) = basis.problem.job.parallelism, decisions.gpu_types
    if option is None:
        return 1
    return least_replicas(basis.items[sku], basis.problem.job, option) or 1


def _out(running: _Running) -> float:
    return math.fsum(out * share for out, share in enumerate(running.shares))


def _shrunk_figures(
    basis: Basis, decisions: Decisions, running: _Running, short: _Short, grow_s: float
) -> ShrunkPlan:
    states = list(zip(running.shares, running.replicas, strict=True))
    return ShrunkPlan(
        running=running.all_share,
        failing=running.seen,
        least_replicas=_least(basis, decisions),
        restarts_per_year=SECONDS_PER_DAY * 365 * short.grows_per_s,
        restart_s=grow_s,
        short_h_per_year=HOURS_PER_YEAR * math.fsum(p for p, d in states if d < running.all),
        stopped_h_per_year=HOURS_PER_YEAR * math.fsum(p for p, d in states if d == 0),
        late=short.late,
    )


def _waits(unit: _Unit, spares: int, per_gpu: float, gpus: int) -> float:
    """Return the share of time waited; ``per_gpu`` is the load of one GPU."""
    if not unit.in_rack:
        return waiting_share(max(0, spares), per_gpu * gpus)
    each = waiting_share(_in_each(unit), per_gpu * unit.usable_gpus)
    odds = gpus / unit.usable_gpus * each / (1.0 - each)
    return odds / (1.0 + odds)


def _kinds(repair: Repair) -> list[tuple[float, float]]:
    """Return (share of interruptions, repair time in seconds) of each kind of failure."""
    if repair.share is not None and repair.time_s is not None:
        return [(repair.share, repair.time_s)]
    return [(each.share, each.time_s) for each in repair.classes]


def _unit(basis: Basis, decisions: Decisions, *, by_tray: bool) -> _Unit:
    """Return what is swapped of the type in use: its trays where they are known, or all of it."""
    (sku,) = decisions.gpu_types
    item, job = basis.items[sku], basis.problem.job
    size = 0 if item.provides.gpus is None else item.provides.gpus.value
    tray = size
    if by_tray and item.spare_unit is not None:
        tray = item.spare_unit.tray.value
    whole = job.parallelism is not None and job.gpus.whole != "systems"
    tensor = job.parallelism.tensor if whole and job.parallelism is not None else 1
    spans = tray < size and tray % tensor != 0
    return _Unit(tray, size // tray, usable_gpus(job, sku, size), spans)


def with_use(ledger: Ledger, basis: Basis, plan: Plan) -> Basis:
    """Return what a plan is judged by where its job uses as many GPUs of each system as it says.

    It decides that where spare trays stay in their racks, and the problem does not say it.
    """
    job, said = basis.problem.job, plan.jobs[0].per_system_gpus if plan.jobs else None
    if said is None or job.repair is None or len(plan.jobs[0].gpu_types) != 1:
        return basis
    item = basis.items.get(plan.jobs[0].gpu_type)
    if item is None or item.spare_unit is None or item.provides.gpus is None:
        return basis
    size, tray = item.provides.gpus.value, item.spare_unit.tray.value
    whole = job.parallelism is not None and job.gpus.whole != "systems"
    tensor = job.parallelism.tensor if whole and job.parallelism is not None else 1
    spans = job.repair.unit == "tray" and tray < size and tray % tensor != 0
    if not spans or job.gpus.most_of(item.id) is not None:
        return basis
    if not 0 < said <= size:
        ledger.fail(f"jobs.per_system_gpus: {said!r} is not one to {size}")
        return basis
    given = job.gpus.per_system if isinstance(job.gpus.per_system, dict) else {}
    gpus = job.gpus.model_copy(update={"per_system": {**given, item.id: said}})
    jobs = (job.model_copy(update={"gpus": gpus}),)
    return replace(basis, problem=basis.problem.model_copy(update={"jobs": jobs}))


def _in_each(unit: _Unit) -> int:
    return unit.per_system - math.ceil(unit.usable_gpus / unit.gpus)


def _spares(decisions: Decisions, repair: Repair, unit: _Unit) -> int:
    """Return the units that stand by; fewer than none where the purchase has not what is asked."""
    (sku,) = decisions.gpu_types
    if unit.in_rack:
        return _in_each(unit) * decisions.systems_used
    used = decisions.systems_used
    if unit.per_system > 1:
        used = math.ceil(decisions.gpus_used / unit.gpus)
    left = decisions.counts[sku] * unit.per_system - used
    if isinstance(repair.spares, int):
        return repair.spares if left >= repair.spares else left - repair.spares
    return left


def check(
    ledger: Ledger,
    repair: Repair | None,
    stated: JobPlan,
    found: RepairFigures | None,
    mtti_s: float,
) -> None:
    """Compare what the plan states of repairs, and require what the problem asks of them.

    Args:
        repair: what the problem says.
        found: as re-computed.
        mtti_s: mean time to interruption, s.
    """
    if repair is None or found is None or stated.repair is None:
        ledger.equal("jobs.repair", stated.repair is None, found is None)
        return
    _check_shrunk(ledger, stated.repair.shrunk, found.shrunk)
    for name, computed in vars(found).items():
        said = getattr(stated.repair, name)
        if name == "shrunk" or said == computed:
            continue
        if computed is None or isinstance(computed, (bool, str)):
            ledger.equal(f"jobs.repair.{name}", said, computed)
        else:
            ledger.same(f"jobs.repair.{name}", said, computed)
    ledger.require(found.spares >= 0, "jobs.repair.spares: fewer stand by than the job needs")
    longest_s = longest_swap_share(found.hardware_share) * mtti_s
    if found.swap_s > longest_s * (1 + LONGEST_SWAP):
        text = f"a swap of {found.swap_s:.6g} s is longer than the {longest_s:.6g} s of the proof"
        ledger.breach("jobs.repair.swap_s", text)


def _check_shrunk(ledger: Ledger, stated: ShrunkPlan | None, computed: ShrunkPlan | None) -> None:
    if stated is None or computed is None:
        ledger.equal("jobs.repair.shrunk", stated is None, computed is None)
        return
    for name in ShrunkPlan.model_fields:
        ledger.same(f"jobs.repair.shrunk.{name}", getattr(stated, name), getattr(computed, name))


def longest_swap_share(hardware_share: float) -> float:
    """Return how long a swap may be over the MTTI, by bisection on where the proof's curve turns.

    The logarithm of what swaps keep, over the logarithm of the MTTI, bends down while
    g (1 - p) <= 1: g the swap over the MTTI, p the share of hardware in what is kept.
    """
    low, high = 0.0, 700.0
    while high - low > 1e-12 * high:
        g = (low + high) / 2
        kept = hardware_share * math.exp(-g)
        other = 1.0 - hardware_share
        low, high = (g, high) if g * other <= kept + other else (low, g)
    return low
