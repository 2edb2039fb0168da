"""Purchases as arrays: counts of `planner.case.model`, goodput of `planner.verifier`."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from planner.case import Case, resolve
from planner.case.figures import weights
from planner.case.job import Mode
from planner.case.model import AtLeast, Ceil, Companions, Steps, Sum
from planner.errors import InputError
from planner.limits import SUPPLIES
from planner.optimizer.bill import Bill, Kernel, bill, sum_storage
from planner.optimizer.operate import Run, operate, run_at
from planner.optimizer.useful_work import BestUse
from planner.optimizer.work import Uses, Work, list_modes, most_gpus
from planner.sizing.availability import waiting_share
from planner.units import DAY_S
from planner.verifier.physics import States, Times, goodput, replicas_running, with_fewer
from tests.world.random_cases import Case as Drawn
from tests.world.random_cases import inputs_of, random_case
from tests.world.random_jobs import repaired_case, shrinking, together, with_levers

SEEDS = range(1, 41)
COUNT = 24
NOTHING_RUNS = (2, 21)
"""Seeds whose jobs no purchase drawn can run."""
FIGURES = tuple(dict.fromkeys(limit.figure for limit in SUPPLIES))


def going_on_with_fewer(seed: int) -> Drawn:
    return shrinking(random_case(seed), seed)


def cases(seed: int) -> Iterator[Case]:
    """Yield cases of a seed: a plain one, one with repairs, one whose job may run in many ways, one
    that goes on with fewer replicas, and one with all of it that saves on two levels."""
    repaired = partial(repaired_case, wide=False)
    for make in (random_case, repaired, with_levers, going_on_with_fewer, together):
        try:
            yield resolve(inputs_of(make(seed)))
        except InputError:  # what is drawn does not always go together
            continue


def drawn(case: Case, seed: int) -> NDArray[np.int64]:
    draw = random.Random(seed)
    most = [draw.choice((0, 1, 3, 40)) for _ in case.offers()]
    return np.array([[draw.randint(0, m) for _ in range(COUNT)] for m in most], dtype=np.int64)


def column(case: Case, units: NDArray[np.int64], place: int) -> dict[str, int]:
    return {o.id: int(n) for o, n in zip(case.offers(), units[:, place], strict=True)}


def bill_of(case: Case, units: Mapping[str, int], ways: Collection[str]) -> Bill | None:
    try:
        return bill(case, units, ways)
    except ValueError:
        return None


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize("seed", SEEDS)
def test_bills_of_many_are_the_bills_of_each(seed: int) -> None:
    for case in cases(seed):
        units, kernel = drawn(case, seed), Kernel(case)
        ways = np.array(
            [random.Random(seed + n).randrange(len(case.ways) or 1) for n in range(COUNT)]
        )
        bills = kernel.bills(units, ways)
        sums = kernel.sums(bills, FIGURES)
        for place in range(COUNT):
            chosen = {way.id for way in case.ways[ways[place] : ways[place] + 1]}
            one = bill_of(case, column(case, units, place), chosen)
            assert bills.known[place] == (one is not None)
            if one is None:
                continue
            bought = {i.id: i.purchased(round(one.counts[i.id])) for i in case.bill_items()}
            assert dict(one.purchased) == bought
            for name, row in kernel.index.items():
                assert bills.counts[row, place] == one.counts[name], name
            for row, item in enumerate(kernel.items):
                assert bills.purchased[row, place] == bought[item.id], item.id
            for row, figure in enumerate(FIGURES):
                wanted = sum(each * n for each, n in weights(case, figure, one.counts, bought))
                assert sums[row, place] == pytest.approx(wanted, rel=1e-12, abs=1e-9)
                assert one[figure] == pytest.approx(wanted, rel=1e-12, abs=1e-9)


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize("seed", SEEDS)
def test_bill_lies_between_its_monotone_bounds(seed: int) -> None:
    """More of anything takes no less of anything: what proofs count on."""
    for case in cases(seed):
        units, kernel = drawn(case, seed), Kernel(case)
        exact, least = kernel.bills(units), kernel.bills(units, least=True)
        known = exact.known
        assert (least.counts <= exact.counts + 1e-9)[:, known].all()
        for row in range(len(units)):
            more = units.copy()
            more[row] += random.Random(seed).randint(1, 5)
            bigger = kernel.bills(more, least=True)
            both = least.known & bigger.known
            assert (bigger.counts >= least.counts - 1e-9)[:, both].all()
            assert (bigger.purchased >= least.purchased - 1e-9)[:, both].all()


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize("seed", SEEDS)
def test_goodput_is_that_of_the_verifier(seed: int) -> None:
    compared = 0
    for case in cases(seed):
        for mode in case.job.modes:
            if case.systems and case.storage:
                compared += goodput_agrees(case, mode, seed)
    assert (compared > 0) == (seed not in NOTHING_RUNS)


def goodput_agrees(case: Case, mode: Mode, seed: int) -> int:
    draw, found = random.Random(seed), 0
    for _ in range(2 * COUNT):
        way = draw.choice(case.ways)
        system = next(s for s in case.systems if way in s.ways)
        item, count, systems = draw.choice(case.storage), draw.randint(1, 60), draw.randint(1, 60)
        most = systems * way.usable_gpus // way.step_gpus
        gpus = draw.randint(1, max(1, most)) * way.step_gpus
        units = {o.id: 0 for o in case.offers()} | {system.id: systems, item.id: count}
        run = operate(case, mode, units, {system.id: way.systems_for(gpus)}, gpus, (way.id,))
        if run is None:
            continue
        found += 1
        here = by_verifier(case, run, run.interval_s)
        assert run.goodput == pytest.approx(here, rel=1e-12)
        if mode != "local":  # whose k the search chooses
            counts = np.array([[units[store.id]] for store in case.storage])
            at = [np.array([n]) for n in (case.ways.index(way), systems, gpus)]
            seen = Work(case, mode).run(Uses(*at, sum_storage(case, counts)))
            assert seen.goodput[0] == pytest.approx(run.goodput, rel=1e-9)
        plate = item.nameplate_read_gb_per_s * count
        assert run.delivered_read_gb_per_s <= case.delivered_read_share * plate * (1 + 1e-12)
        if case.job.interval.policy == "optimal":
            longer = min(run.interval_s * 1.01, case.job.interval.high_s)
            assert by_verifier(case, run, longer) <= here * (1 + 1e-12)
        again = run_at(case, mode, units, run.used, gpus, run.interval_s, run.ways, run.every)
        assert again is not None and again.goodput == pytest.approx(run.goodput, rel=1e-14)
    return found


def by_verifier(case: Case, run: Run, interval_s: float) -> float:
    """Return the goodput of a run at an interval by the verifier's formulas."""
    job, repair, levels = case.job, case.job.repair, case.job.levels
    slowed_s = 0.0 if run.mode == "sync" else job.drain_slowdown * run.drain_s / max(1, run.every)
    full_s = DAY_S / (run.failures_per_gpu_day * run.gpus)
    restarts = job.restart_s, run.restore_s, full_s
    times = Times(interval_s, run.stall_s + slowed_s, run.drain_s, *restarts)
    times = replace(times, idle=1.0 - job.progress)
    if run.mode == "local" and levels is not None:
        times = replace(times, every=run.every, far=levels.remote_share)
        near = {"near_drain_s": run.local_drain_s, "near_restart_s": levels.local_restart_s}
        times = replace(times, **near)
    if repair is None:
        return float(goodput(times))
    times = replace(times, swapped=repair.hardware_share, swap_s=repair.swap_s)
    ((_, way),) = case.in_use(run.used, run.ways)
    unit, rate = way.spare_unit, run.failures_per_gpu_day
    if not repair.shrinks:
        odds = run.gpus * repair.waiting_odds_in_rack(unit, rate) if unit.in_rack else 0.0
        pooled = waiting_share(run.spares, repair.load(rate, run.gpus))
        waits = odds / (1.0 + odds) if unit.in_rack else pooled
        return float(goodput(replace(times, waits=waits)))
    each, units = unit.holding_gpus / way.step_gpus, unit.in_use(run.gpus) + run.spares
    running = replicas_running(units, each, (way.min_replicas, run.gpus // way.step_gpus))
    states = States.balanced(running, repair.load(rate, run.gpus), repair.repair_s)
    return float(goodput(with_fewer(times, states, repair.hardware_share)))


def expect_the_best_of_all(
    case: Case, seed: int, most_systems: int, *, failures: float = 1.0, port: float = 1.0
) -> Iterator[tuple[float, int]]:
    """Hold the best use of some purchases against all numbers of GPUs.

    Yields its score, and how many steps fewer than could be it takes.

    Args:
        case: the problem in numbers.
        seed: of the storage and the systems.
        most_systems: so many GPU systems at most.
        failures: so many times as often as the case says.
        port: what a system reads, as a share of what the case says.
    """
    stores = sum_storage(case, drawn(case, seed)[-len(case.storage) :])
    draw = random.Random(seed)
    way = np.array([draw.randrange(len(case.ways)) for _ in range(COUNT)])
    systems = np.array([draw.randint(1, most_systems) for _ in way])
    for one, mode in list_modes(case):
        operation = BestUse(one, mode)
        pairs = zip(way.tolist(), systems, strict=True)
        most = np.array([operation.most_gpus(number, n)[()] for number, n in pairs])
        assert (
            most
            <= [most_gpus(case.job, case.ways[w], n) for w, n in zip(way, systems, strict=True)]
        ).all()
        operation.rate = operation.rate * failures
        operation.client_read = operation.client_read * port
        found, chosen = operation.best(way, systems, most, stores)
        steps = operation.step[way]
        gpus = [np.arange(n, m + 1, n) for n, m in zip(steps, most, strict=True)]
        each = np.repeat(np.arange(COUNT), [len(numbers) for numbers in gpus])
        use = Uses(way[each], systems[each], np.concatenate(gpus), stores.take(each))
        worth = np.array(operation.score_uses(use))
        for place, step in enumerate(steps):
            scores, patient, waited = worth[:, each == place]
            if failures > 1.0 and not np.isfinite(patient[-1:]).all():
                continue  # less is left of the goodput than floats can tell
            best = scores.max(initial=-np.inf)
            assert found[place] == pytest.approx(best, rel=1e-12)
            # What no fewer GPUs pass, where that is said of them.
            if case.job.repair is not None and case.job.repair.shrinks:
                assert (np.maximum.accumulate(scores) <= patient + 1e-12).all()
            else:  # one peak, and less is waited for with fewer GPUs
                peak = int(np.argmax(patient)) if len(patient) else 0
                steps_up = np.diff(np.where(np.isfinite(patient), patient, -1e9))
                assert (steps_up[:peak] >= -1e-9).all() and (steps_up[peak:] <= 1e-9).all()
                assert (np.diff(waited) <= 1e-12).all()
            yield float(best), int((most[place] - chosen[place]) // step)


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("restore_s", [None, 0.3, 1.0])
def test_the_best_use_is_that_of_all_numbers_of_gpus(seed: int, restore_s: float | None) -> None:
    """With the time of a restore as drawn, and shares of what this storage takes for one."""
    for case in cases(seed):
        stores = sum_storage(case, drawn(case, seed)[-len(case.storage) :])
        reads = stores.degraded_read[stores.degraded_read > 0]
        if not len(reads) or not case.ways:
            continue
        if restore_s is not None:
            slowest = case.job.checkpoint_gb / (case.delivered_read_share * float(np.median(reads)))
            case = replace(case, job=replace(case.job, max_restore_s=restore_s * slowest))
        assert list(expect_the_best_of_all(case, seed, 12))


@pytest.mark.parametrize("ingest", [0.0, 0.02])
def test_the_best_use_is_found_where_fewer_gpus_do_more(ingest: float) -> None:
    """Of hundreds of systems that fail often; all that is read for goes through their ports."""
    steps = []
    for seed in SEEDS[:12]:
        for case in cases(seed):
            repair = case.job.repair
            if case.ways and not (repair and repair.shrinks):
                job = replace(case.job, ingest_per_gpu_gb_per_s=ingest)
                case = replace(case, job=job)
                steps += expect_the_best_of_all(case, seed, 200, failures=10.0)
    served = [fewer for score, fewer in steps if score > -np.inf]
    assert sum(fewer > 5 for fewer in served) > 20
    assert len(served) < len(steps)


# Counts that follow.


def test_owned_parts_of_what_is_not_built_stay_in_sums() -> None:
    """The program left the switches out that stay of a fabric not chosen: freight was too low."""
    owned = AtLeast("owned", ((1.0, "switches"),), 8)
    companions = Companions(
        quantities=(owned, Sum("new", ((1.0, "switches"),)), Ceil("freight", ((4.6, "owned"),))),
        items=(),
    )
    left = companions.rename_counts({"switches": None}).quantities
    assert [quantity.name for quantity in left if not isinstance(quantity, Steps)] == [
        "owned",
        "freight",
    ]
    assert left[1].terms == ((4.6, "owned"),)
