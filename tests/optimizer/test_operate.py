"""How a purchase is run: no other interval and no other number of GPUs is better."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from planner.case import resolve
from planner.case.items import System
from planner.case.job import Mode
from planner.case.model import Case
from planner.optimizer.gpus_in_use import BestUse
from planner.optimizer.operate import Run, operate
from planner.optimizer.stores import stored
from planner.schema.plan import Plan
from planner.sizing.goodput import goodput
from tests.world.random_cases import inputs_of, random_case
from tests.world.requests import Request
from tests.world.solved import solve

SEEDS = range(100, 160)


@dataclass(frozen=True)
class Solved:
    """A case, and a purchase that some plan for it makes."""

    case: Case
    mode: Mode
    units: dict[str, int]
    plan: Plan


def runs() -> Iterator[Solved]:
    for seed in SEEDS:
        inputs = inputs_of(random_case(seed))
        plan = solve(inputs, explain=False)
        if plan.status == "optimal":
            bill = {line.sku: line.working for line in plan.lines if line.parent is None}
            case = resolve(inputs)
            units = {offer.id: bill.get(offer.id, 0) for offer in case.offers()}
            yield Solved(case, plan.jobs[0].mode, units, plan)


@pytest.fixture(scope="module")
def solved() -> list[Solved]:
    found = list(runs())
    assert len(found) > len(SEEDS) / 3
    return found


def uses(run: Solved, system: System) -> Iterator[tuple[dict[str, int], int]]:
    """Yield every use of one type's systems: systems in use and GPUs in use."""
    job = run.case.job
    if job.whole_replicas:
        assert job.replica_gpus is not None
        for gpus in range(job.replica_gpus, run.units[system.id] * system.way().usable_gpus + 1):
            if gpus % job.replica_gpus == 0:
                yield {system.id: -(-gpus // system.way().usable_gpus)}, gpus
        return
    for count in range(1, run.units[system.id] + 1):
        yield {system.id: count}, count * system.way().usable_gpus


def operations(run: Solved, system: System) -> list[Run]:
    found = [operate(run.case, run.mode, run.units, u, n) for u, n in uses(run, system)]
    return [operation for operation in found if operation is not None]


@pytest.mark.parametrize("per_gpu_day", [0.02, 0.1, 0.4, 2.5])
def test_the_best_number_of_gpus_may_lie_inside(per_gpu_day: float) -> None:
    # N exp(-N R/M1) has its top at M1/R: 86400/(0.1 * 1000) = 864 GPUs, less what intervals lose.
    request = Request(maximize="useful_gpus")
    request.job |= {"failures": {"per_gpu_day": per_gpu_day}, "restore": {"restart": "1000 s"}}
    request.checkpoint |= {
        "size": "10 GB",
        "interval": {"policy": "optimal", "min": "10 s", "max": "2 h"},
    }
    case = resolve(inputs_of(request.case()))
    units = {"gpu": 200, "box": 5}
    found = (operate(case, "async", units, {"gpu": n}, 8 * n) for n in range(1, 201))
    every = [operation for operation in found if operation is not None]
    work, count = BestUse(case, "async"), np.array([200])
    stores = stored(case, np.array([[5]]))
    _, gpus = work.best(np.array([0]), count, work.most_gpus(0, count), stores)
    top = max(every, key=lambda operation: operation.useful_gpus)
    assert gpus[0] == top.gpus
    assert (top.gpus < every[-1].gpus) == (per_gpu_day > 0.05)
    assert top.gpus < max(8.0, 86_400 / (per_gpu_day * 1000)) + 8


def test_no_neighbouring_interval_is_better(solved: list[Solved]) -> None:
    free = [run for run in solved if run.case.job.interval.policy == "optimal"]
    every = [(r, o) for r in free for s in r.case.systems for o in operations(r, s)]
    inside = 0
    for run, operation in every:
        high_s = run.case.job.interval.high_s
        here = kept(run, operation, operation.interval_s)
        assert here == pytest.approx(operation.goodput, rel=1e-12)
        shorter, longer = operation.interval_s * 0.999, operation.interval_s * 1.001
        if longer <= high_s:
            assert kept(run, operation, longer) <= here * (1 + 1e-12)
        if shorter >= shortest(run, operation):
            assert kept(run, operation, shorter) <= here * (1 + 1e-12)
            inside += longer <= high_s
    assert inside > 10


def kept(run: Solved, operation: Run, interval_s: float) -> float:
    """Return the goodput of an operation at another interval."""
    job, o = run.case.job, operation
    slowdown = job.drain_slowdown if run.mode == "async" else 0.0
    restart_s = job.restart_s + o.restore_s
    kept = goodput(interval_s, o.stall_s, o.drain_s, restart_s, o.mtti_s, slowdown)
    return kept * (1.0 - job.lost_time)


def shortest(run: Solved, operation: Run) -> float:
    """Return the shortest interval that the limits in docs/model.md allow, s."""
    job, case = run.case.job, run.case
    transfer_s = job.checkpoint_gb / operation.delivered_write_gb_per_s
    bounds = [job.interval.low_s]
    if run.mode == "sync":
        bounds.append(transfer_s / job.max_blocking)
    else:
        bounds.append(job.stall_s + transfer_s)
        bounds.append(0.0 if case.rule else transfer_s / job.max_overlap)
    bought = [item for item in case.storage if run.units[item.id]]
    endured = [(item.endurance_tb_per_day, run.units[item.id]) for item in bought]
    if all(rated is not None for rated, _ in endured):
        total = sum((rated or 0.0) * count for rated, count in endured)
        bounds.append(job.checkpoint_gb / 1000 * 86_400 / total)
    return max(bounds)


def test_plans_are_run_as_well_as_their_purchase_can_be(solved: list[Solved]) -> None:
    checked = 0
    for run in solved:
        job = run.plan.jobs[0]
        if run.plan.objective.name != "useful_gpus" or len(job.gpu_types) > 1:
            continue
        every = [o for s in run.case.systems for o in operations(run, s)]
        top = max(o.useful_gpus for o in every)
        floors = run.case.limits
        if floors["min_goodput"] is None:
            assert job.useful_gpus == pytest.approx(top, rel=2e-6)
            checked += 1
    assert checked >= 2


def test_every_limit_makes_a_use_impossible() -> None:
    def run(request: Request, gpus: int = 8, boxes: int = 2) -> Run | None:
        case = resolve(inputs_of(request.case()))
        return operate(case, "async", {"gpu": 4, "box": boxes}, {"gpu": gpus // 8}, gpus)

    assert run(Request(maximize="gpus")) is not None
    assert run(Request(maximize="gpus"), boxes=0) is None  # nothing writes
    assert run(Request(maximize="gpus"), boxes=1) is None  # 100 s of drain, 60 s allowed
    assert run(Request(maximize="gpus"), gpus=40) is None  # four systems are bought
    changes = {
        "gpus": {"max": 4},
        "ingest_per_gpu": "1.1 GB/s",  # 8 GB/s are read
        "restore": {"max_time": "12 s", "restart": "600 s"},  # 12.5 s at 8 GB/s
    }
    for key, value in changes.items():
        request = Request(maximize="gpus")
        request.job[key] = value
        assert run(request) is None, key
        request.job["restore"] = {"max_time": "13 s", "restart": "600 s"}
    for change in ({"max_overlap": 0.08}, {"stall": "551 s"}):
        request = Request(maximize="gpus")
        request.checkpoint |= change
        assert run(request) is None, change
