"""Purchases as arrays: bills and operations are those of the code for one purchase."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from planner.case import Case, resolve
from planner.case.bandwidth import bought_nameplate, safe_bandwidth
from planner.case.model import Mode
from planner.case.quantities import Steps
from planner.errors import InputError
from planner.limits import SUPPLIES
from planner.loader import load
from planner.optimizer import operate, purchase
from planner.optimizer.kernel import Bills, Kernel
from planner.optimizer.operations import (
    Operation,
    Stores,
    Uses,
    covers,
    most_gpus,
    nameplates,
    stored,
    ways_to_save,
)
from tests.test_all_levers import together
from tests.test_ways import with_levers
from tests.world.random_cases import Case as Drawn
from tests.world.random_cases import inputs_of, random_case
from tests.world.random_repair import repaired_case, shrinking
from tests.world.solved import FILES

SEEDS = range(1, 41)
COUNT = 24
NOTHING_RUNS = (2, 35, 36)
"""Seeds whose jobs no purchase drawn can run."""
FIGURES = tuple(dict.fromkeys(limit.figure for limit in SUPPLIES))


def with_fewer(seed: int) -> Drawn:
    return shrinking(random_case(seed), seed)


def cases(seed: int) -> Iterator[Case]:
    """Yield cases of a seed: a plain one, one with repairs, one whose job may run in many ways, one
    that goes on with fewer replicas, and one with all of it that saves on two levels."""
    repaired = partial(repaired_case, wide=False)
    for make in (random_case, repaired, with_levers, with_fewer, together):
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


def bill_of(
    case: Case, units: Mapping[str, int], ways: Collection[str]
) -> purchase.PurchaseSums | None:
    try:
        return purchase.bill(case, units, ways)
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
        sums = kernel.sums(case, bills, FIGURES)
        for place in range(COUNT):
            chosen = {way.id for way in case.ways[ways[place] : ways[place] + 1]}
            one = bill_of(case, column(case, units, place), chosen)
            assert bills.known[place] == (one is not None)
            if one is not None:
                same(kernel, bills, one, place)
                wanted = [one[figure] for figure in FIGURES]
                assert sums[:, place] == pytest.approx(wanted, rel=1e-13, abs=1e-9)


def same(kernel: Kernel, bills: Bills, one: purchase.PurchaseSums, place: int) -> None:
    """Compare counts and purchases to the last bit."""
    for name, row in kernel.index.items():
        assert bills.counts[row, place] == one.counts[name], name
    for row, item in enumerate(kernel.items):
        assert bills.purchased[row, place] == one.purchased[item.id], item.id


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize("seed", SEEDS)
def test_bill_lies_between_its_monotone_bounds(seed: int) -> None:
    """More of anything takes no less of anything: what proofs count on."""
    for case in cases(seed):
        units, kernel = drawn(case, seed), Kernel(case)
        exact, least = kernel.bills(units), kernel.bills(units, least=True)
        known = exact.known
        assert (least.counts <= exact.counts + 1e-9)[:, known].all()
        assert (kernel.bills(units, apart=True).counts >= exact.counts - 1e-9)[:, known].all()
        for row in range(len(units)):
            more = units.copy()
            more[row] += random.Random(seed).randint(1, 5)
            bigger = kernel.bills(more, least=True)
            both = least.known & bigger.known
            assert (bigger.counts >= least.counts - 1e-9)[:, both].all()
            assert (bigger.purchased >= least.purchased - 1e-9)[:, both].all()


def test_a_fabric_in_a_range_is_the_least_of_that_range() -> None:
    """A larger fabric of three tiers may have fewer switches: beyond the range that is no help."""
    settings = ("site.facility_power='500 MW'", "budget={}", "site.racks=null")
    case = resolve(load(FILES["hall_10MW"], settings=settings))
    kernel, row = Kernel(case), [o.id for o in case.offers()].index("nvidia_gb300_nvl72")
    fabric = next(q for q in case.companions.quantities if isinstance(q, Steps) and q.falls)
    assert any("nvidia_gb300_nvl72" in name for _, name in fabric.terms)
    few = np.arange(1, fabric.sizes[-1].capacity - 41, dtype=np.int64)

    def switches(low: NDArray[np.int64], high: NDArray[np.int64] | None) -> NDArray[np.float64]:
        units = np.zeros((2, len(case.offers()), len(few)), dtype=np.int64)
        units[:, row] = low, low if high is None else high
        bills = kernel.bills(
            units[0], least=high is not None, most=None if high is None else units[1]
        )
        return bills.counts[kernel.index[fabric.outputs[0]]]

    exact = [switches(few + more, None) for more in range(41)]
    assert (switches(few, few) == exact[0]).all()
    assert (switches(few, few + 40) == np.min(exact, axis=0)).all()
    assert (np.min(exact, axis=0) < exact[0]).any()


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize("seed", SEEDS)
def test_operations_of_many_are_the_operations_of_each(seed: int) -> None:
    compared = 0
    for case in cases(seed):
        for one, mode in ways_to_save(case):
            if covers(one, mode) and case.systems and case.storage:
                compared += operations_agree(one, mode, seed)
    assert (compared > 0) == (seed not in NOTHING_RUNS)


def operations_agree(case: Case, mode: Mode, seed: int) -> int:
    draw = random.Random(seed)
    rows = []
    for _ in range(4 * COUNT):
        number = draw.randrange(len(case.ways))
        way = case.ways[number]
        system = next(s for s in case.systems if way in s.ways)
        item = draw.choice(case.storage)
        count, systems = draw.randint(1, 60), draw.randint(1, 60)
        most = systems * way.usable_gpus // way.step_gpus
        gpus = draw.randint(1, max(1, most)) * way.step_gpus
        rows.append((number, system, systems, item, count, gpus))
    family = {f.id: f for f in case.families}
    worn = []
    for *_, item, count, _ in rows:
        rated = item.endurance_tb_per_day
        worn.append(case.job.checkpoint_gb / 1e3 * 86_400 / (rated * count) if rated else 0.0)
    plates = [nameplates(r[3], np.array([float(r[4])])) for r in rows]
    safe = [safe_bandwidth([(r[3], r[4])]) for r in rows]
    if not case.tolerate_down:
        safe = [(float(read[0]), float(write[0])) for read, write in plates]
    stores = Stores(
        write=np.array([w[0] for _, w in plates]),
        read=np.array([r[0] for r, _ in plates]),
        safe_write=np.array([w for _, w in safe]),
        safe_read=np.array([r for r, _ in safe]),
        worn_s=np.array(worn),
        write_factor=np.array([family[r[3].family].write_factor for r in rows]),
        read_factor=np.array([family[r[3].family].read_factor for r in rows]),
        plate=np.array([w[0] for _, w in plates]),
        bulk_read=np.zeros(len(rows)),
        bulk_tb=np.zeros(len(rows)),
    )
    numbers, systems, gpus = (np.array([row[place] for row in rows]) for place in (0, 2, 5))
    use = Uses(numbers, systems, gpus, stores)
    ran, found = Operation(case, mode).run(use), 0
    for place, (number, system, systems, item, count, gpus) in enumerate(rows):
        way = case.ways[number]
        units = {o.id: 0 for o in case.offers()} | {system.id: systems, item.id: count}
        assert bought_nameplate(case.storage, units) == pytest.approx(
            (stores.read[place], stores.write[place]), rel=1e-13
        )
        used = {system.id: way.systems_for(gpus)}
        one = operate.operate(case, mode, units, used, gpus, (way.id,))
        assert ran.allowed[place] == (one is not None), (place, one)
        if one is not None:
            found += 1
            assert ran.goodput[place] == pytest.approx(one.goodput, rel=1e-12)
            sought = one.shrunk is not None or mode == "local"  # the peak is not solved for
            flat = 1e-5 if sought else 1e-7
            assert ran.interval_s[place] == pytest.approx(one.interval_s, rel=flat)
            pflops = ran.pflops_per_gpu[place] * gpus * ran.goodput[place]
            assert pflops == pytest.approx(one.useful_pflops(case.job.mfu or 0.0), rel=1e-12)
    return found


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
    stores, _ = stored(case, drawn(case, seed)[-len(case.storage) :])
    draw = random.Random(seed)
    way = np.array([draw.randrange(len(case.ways)) for _ in range(COUNT)])
    systems = np.array([draw.randint(1, most_systems) for _ in way])
    for one, mode in ways_to_save(case):
        if covers(one, mode):
            operation = Operation(one, mode)
            pairs = zip(way.tolist(), systems, strict=True)
            most = np.array([operation.most_gpus(number, n)[()] for number, n in pairs])
            assert (
                most <= [most_gpus(case, w, n)[()] for w, n in zip(way, systems, strict=True)]
            ).all()
            operation.rate = operation.rate * failures
            operation.client_read = operation.client_read * port
            found, chosen = operation.best(way, systems, most, stores)
            steps = operation.step[way]
            gpus = [np.arange(n, m + 1, n) for n, m in zip(steps, most, strict=True)]
            each = np.repeat(np.arange(COUNT), [len(numbers) for numbers in gpus])
            use = Uses(way[each], systems[each], np.concatenate(gpus), stores.at(each))
            worth = np.array(operation.worth(use))
            for place, step in enumerate(steps):
                scores, patient = worth[:, each == place]
                if failures > 1.0 and not np.isfinite(patient[-1:]).all():
                    continue  # less is left of the goodput than floats can tell
                best = scores.max(initial=-np.inf)
                assert found[place] == pytest.approx(best, rel=1e-12)
                # What no fewer GPUs pass, where that is said of them.
                if case.job.repair is not None and case.job.repair.shrinks:
                    assert (np.maximum.accumulate(scores) <= patient + 1e-12).all()
                yield float(best), int((most[place] - chosen[place]) // step)


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("restore_s", [None, 0.3, 1.0])
def test_the_best_use_is_that_of_all_numbers_of_gpus(seed: int, restore_s: float | None) -> None:
    """With the time of a restore as drawn, and shares of what this storage takes for one."""
    for case in cases(seed):
        stores, _ = stored(case, drawn(case, seed)[-len(case.storage) :])
        reads = stores.safe_read[stores.safe_read > 0]
        if not len(reads) or not case.ways:
            continue
        if restore_s is not None:
            slowest = case.job.checkpoint_gb / (case.delivered_read * float(np.median(reads)))
            case = replace(case, job=replace(case.job, max_restore_s=restore_s * slowest))
        assert list(expect_the_best_of_all(case, seed, 12))


@pytest.mark.parametrize("readers", ["all", "one_replica"])
@pytest.mark.parametrize("ingest", [0.0, 0.02])
def test_the_best_use_is_found_where_fewer_gpus_do_more(readers: str, ingest: float) -> None:
    """Of hundreds of systems that fail often; all that is read for goes through their ports."""
    steps = []
    for seed in SEEDS[:12]:
        for case in cases(seed):
            repair = case.job.repair
            if case.ways and not (repair and repair.shrinks):
                job = replace(
                    case.job, one_replica_reads=readers == "one_replica",
                    ingest_per_gpu_gb_per_s=ingest,
                )  # fmt: skip
                case = replace(case, job=job)
                steps += expect_the_best_of_all(case, seed, 200, failures=10.0)
    served = [fewer for score, fewer in steps if score > -np.inf]
    assert sum(fewer > 5 for fewer in served) > 20
    assert len(served) < len(steps)
