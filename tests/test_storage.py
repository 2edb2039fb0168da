"""Storage: reads, wear, local checkpoints, bulk tiers and bursts, by hand and by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

from planner import api, shipped
from planner.case import resolve
from planner.errors import InputError
from planner.inputs import Inputs
from planner.loader import load
from planner.schema.catalog import Family, Item
from planner.schema.job import Job
from planner.schema.operation import LocalPlan
from planner.schema.plan import LimitReport, Plan
from planner.schema.prices import Price
from planner.schema.problem import Problem
from planner.size_report import size_report
from planner.verifier import recheck
from planner.verifier.physics import Times, goodput
from tests.oracle.operation import best_interval_s
from tests.world.catalog import figures
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import figure
from tests.world.requests import Request
from tests.world.solved import solve
from tests.world.solved import solved as solved_once

# By hand: each system has 8 GPUs, which are a replica, and reads at most 4 GB/s, as a box gives.


def hall(port: str = "4 GB/s") -> Request:
    """Return a hall of 200 kW whose GPUs ask for 0.2 GB/s each: 1.6 GB/s of a system's 4."""
    request = Request(maximize="gpus")
    request.site["it_power"] = "200 kW"
    request.items[0]["client"] = {"read": figure(port)}
    request.job |= {
        "parallelism": {"tensor": 8, "pipeline": 1},
        "ingest_per_gpu": "0.2 GB/s",
    }
    return request


def solved(request: Request) -> tuple[Inputs, Plan]:
    inputs = inputs_of(request.case())
    return inputs, solve(inputs, explain=False)


def ingest(plan: Plan) -> LimitReport:
    return next(limit for limit in plan.limits if limit.name == "ingest")


def test_data_is_read_by_all_systems_in_use() -> None:
    """160 + 35 kW are 16 systems and the 7 boxes that give their 25.6 GB/s; a seventeenth makes it
    205 kW."""
    _, plan = solved(hall())
    job = plan.jobs[0]
    assert job.gpus_used == 128
    assert ingest(plan).value == pytest.approx(25.6)
    assert ingest(plan).limit == pytest.approx(28.0)
    assert job.delivered_read_gb_per_s == pytest.approx(28.0)


def test_size_asks_all_systems_for_data() -> None:
    """At 128 GPUs data takes 25.6 GB/s: 7 boxes, read by 16 systems; at 1.5 GB/s they cannot."""
    report = size_report(inputs_of(hall().case()), 128)
    row = next(row for row in report.rules if row.chosen)
    assert [each.units for each in row.appliances] == [7]
    assert not [note for note in report.notes if "can move" in note]
    report = size_report(inputs_of(hall(port="1.5 GB/s").case()), 128)
    row = next(row for row in report.rules if row.chosen)
    assert not row.appliances
    assert any("reading needs 26 GB/s" in n for n in report.notes)


# Write endurance of flash: derived from media and drive writes a day, a stated figure wins.


TLC = {"type": "tlc", "raw": "4 TB", "source": "made_up", "confidence": "low"}
QLC = {"type": "qlc", "raw": "16 TB", "source": "made_up", "confidence": "low"}
HDD = {"type": "hdd", "raw": "1 TB", "source": "made_up", "confidence": "low"}


def hall_endurance(media: list[dict[str, Any]], **storage: Any) -> Request:
    """Return a hall whose checkpoints of 0.1 TB are to be as often as every 10 min."""
    request = Request(minimize="cost")
    request.items[1]["media"] = media
    request.storage |= storage
    request.checkpoint["interval"] = {"policy": "optimal", "min": "600 s", "max": "2000 s"}
    request.checkpoint |= {"stall": "0 s", "max_overlap": 0.05}
    return request


def planned(request: Request) -> Plan:
    return solve(inputs_of(request.case()), explain=False)


SHELVES = {
    "id": "shelf", "vendor": "Other", "model": "shelf", "category": "component", "media": [TLC],
    "consumes": {"it_power": figure("5 kW"), "rack_units": figure("2 RU")},
}  # fmt: skip


@pytest.mark.parametrize(
    ("media", "storage", "box", "each"),
    [
        ([TLC], {}, {}, 4.0),
        ([QLC], {}, {}, 8.0),
        ([TLC, QLC], {}, {}, 4.0),  # both take all that is written
        ([TLC, TLC], {}, {}, 8.0),
        ([TLC, HDD], {}, {}, 4.0),
        ([], {}, {"components": [{"id": "shelf", "quantity": 2}], "consumes": {}}, 8.0),
        ([TLC], {}, {"endurance": figure("5 TB/day")}, 5.0),  # a stated figure wins
        ([HDD], {}, {}, None),
        ([TLC], {"endurance": "off"}, {}, None),
        ([TLC], {"endurance": "stated"}, {}, None),
    ],
)
def test_endurance_is_that_of_the_flash(
    media: list[dict[str, Any]], storage: dict[str, Any], box: dict[str, Any], each: float | None
) -> None:
    """Of each box; None where it has no flash, or its wear is left out."""
    request = hall_endurance(media, **storage)
    request.items.append(SHELVES)
    stated = {name: box[name] for name in box if name == "endurance"}
    request.items[1]["provides"] |= stated
    request.items[1] |= {name: box[name] for name in box if name != "endurance"}
    plan = planned(request)
    boxes = sum(line.quantity for line in plan.lines if line.sku == "box")
    limits = [limit.limit for limit in plan.limits if limit.name == "endurance"]
    assert limits == ([] if each is None else [pytest.approx(each * boxes)])
    assert plan.jobs[0].write_volume_tb_per_day <= (each or np.inf) * boxes * (1 + 1e-9)
    derived = any("write endurance of box is derived" in text for text in plan.warnings)
    assert derived == (each is not None and not stated)


# The local level of checkpoints: optimum, verifier, workbook, screens and what is refused.


PROBLEM = "local_level"


@cache
def shipped_plan(scenario: str | None = None) -> Plan:
    return solved_once(PROBLEM, scenario=scenario, explain=False)


def local_of(plan: Plan) -> LocalPlan:
    local = plan.jobs[0].local
    assert local is not None
    return local


def test_the_level_leaves_storage_little_to_do() -> None:
    """The finding: drains of few MB/s per GPU, within 10 % of the time between them."""
    near, alone = shipped_plan().jobs[0], shipped_plan("storage_alone").jobs[0]
    assert local_of(shipped_plan()).every > 8 and alone.local is None
    assert near.overlap <= 0.1 * (1 + 1e-7)
    assert near.delivered_write_gb_per_s < alone.delivered_write_gb_per_s / 5
    assert 1000 * near.delivered_write_gb_per_s / near.gpus_used < 15
    assert near.goodput > alone.goodput + 0.01
    assert near.interval_s < alone.interval_s


@pytest.mark.parametrize(
    ("capacity", "status"), [("0.1 TB", "optimal"), ("0.099 TB", "infeasible")]
)
def test_local_checkpoints_need_room_on_the_drives(capacity: str, status: str) -> None:
    """Each of two systems holds two parts of 50 GB of a checkpoint of 100 GB."""
    request = Request(maximize="useful_gpus")
    request.items[0]["local"] = {"write": figure("2 GB/s"), "capacity": figure(capacity)}
    request.job |= {"gpus": {"min": 16, "max": 16}}
    request.job["failures"] |= {"shares": {"software": 0.9, "rack": 0.1}}
    recovers = {"software": "yes", "rack": "no"}
    local = {"use": "yes", "copies": 1, "keep": 2, "restart": "60 s", "recovers": recovers}
    request.checkpoint["local"] = local
    assert planned(request).status == status


JOB = "jobs.frontier-1t"
LOCAL = f"{JOB}.checkpoint.local"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({f"{JOB}.checkpoint.stall": "5 s"}, "stall_overhead adds to a derived stall"),
        ({f"{JOB}.failures.shares.rack": "4 %"}, "add up to 101 %"),
        ({f"{JOB}.checkpoint.mode": "sync"}, "is for checkpoints that drain while GPUs go on"),
        ({f"{LOCAL}.recovers.pdu": "no"}, "name different classes: pdu"),
        ({f"{LOCAL}.recovers.rack": "yes"}, "survives every class of failures"),
        ({f"{LOCAL}.k": "some"}, "'some' is not known here; expected one of: open"),
        ({f"{LOCAL}.k": "0"}, "k"),
        ({f"{LOCAL}.copies": "0"}, "copies"),
    ],
)
def test_a_local_level_that_contradicts_itself_is_refused(
    settings: Mapping[str, str], said: str
) -> None:
    file = shipped.problem_files()[PROBLEM]
    with pytest.raises(InputError) as caught:
        load(file, settings=tuple(f"{path}={value}" for path, value in settings.items()))
    assert said in str(caught.value)


# Bulk tiers and bursts: storage of several kinds, bought in the same optimum, by enumeration.


FILL, SIZE_GB, INTERVAL_S = 0.85, 1000.0, 1800.0
KW = {"large": 10.0, "gpu": 10.0, "store": 2.0, "disk": 1.5, "dense": 1.0, "buffered": 2.0}
SLOW, WINDOW_S = 8.0, 30.0


def item(name: str, category: str, provides: dict[str, Any], **more: Any) -> Item:
    consumes = figures(it_power=f"{KW[name]} kW", rack_units="2 RU")
    return Item.model_validate({
        "id": name, "vendor": "W", "model": name, "category": category,
        "provides": figures(**provides), "consumes": consumes, **more,
    })  # fmt: skip


def system(name: str, gpus: int) -> Item:
    return item(name, "gpu_system", {"gpus": gpus}, gpu=figures(bf16_dense="1000 TFLOP/s"))


def bulk(name: str, read: float, usable_tb: float) -> Item:
    provides = {"read": f"{read} GB/s", "usable": f"{usable_tb} TB"}
    return item(name, "storage", provides, family="files", tier="bulk")


def buffered(fast: float) -> Item:
    provides = {
        "read": "60 GB/s",
        "write": f"{SLOW} GB/s",
        "usable": "200 TB",
        "burst_write": f"{fast} GB/s",
        "burst_window": f"{WINDOW_S} s",
    }
    return item("buffered", "storage", provides, family="quick")


GPU = system("gpu", 8)
STORE = item(
    "store", "storage", {"read": "90 GB/s", "write": "65 GB/s", "usable": "250 TB"}, family="files"
)
FAMILIES = tuple(
    Family.model_validate({"id": name, "vendor": "W", "name": name}) for name in ("files", "quick")
)


def hall_of(items: list[Item], usd: dict[str, float], **over: Any) -> Inputs:
    """Return a hall whose job is that of ``over``, with prices of the items."""
    problem = {"name": "edge", "site": {"pue": 1.0}, **over}
    problem["storage"] = {"delivered_fraction": {"read": 1.0, "write": 1.0}} | over.get(
        "storage", {}
    )
    job = {"name": "job", "lost_time": "none", "training": {"mfu": 0.4}} | over.pop("job", {})
    problem["jobs"] = ({"checkpoint": {"size": "1 TB"}} | job,)
    problem.pop("job", None)
    dated = {"date": "2026", "source": "made_up", "confidence": "high"}
    prices = {name: Price.model_validate({"list": f"{p} USD"} | dated) for name, p in usd.items()}
    return Inputs(problem=Problem.model_validate(problem), items=tuple(items), families=FAMILIES,
                  prices=prices)  # fmt: skip


def kept(
    every_s: Any, stall_s: float, drain_s: float, back_s: float, gpus: int, rate: float
) -> float:
    """Return the useful GPUs of so many."""
    times = Times(every_s, stall_s, drain_s, back_s, 0.0, 86_400 / (rate * gpus))
    return float(gpus * goodput(times))


class BulkDraw:
    """A random hall with a bulk tier."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.usd = {
            "gpu": 300_000.0,
            "store": random.choice((200_000.0, 500_000.0)),
            "disk": random.uniform(40_000, 150_000),
            "dense": random.uniform(60_000, 500_000),
        }
        self.capex_usd, self.it_kw = random.uniform(1.5e6, 4.5e6), random.uniform(30, 110)
        self.dataset_tb = random.choice((0.0, 500.0, 1500.0, 3000.0)) + 100
        self.staged_tb = random.choice((0.0, 100.0))
        self.ingest = random.choice((0.0, 0.1, 0.4, 0.8))
        self.lost = random.choice((0.0, 0.05))
        interval = {"policy": "fixed", "every": f"{INTERVAL_S} s"}
        job = {
            "lost_time": self.lost,
            "checkpoint": {"size": "1 TB", "interval": interval},
            "ingest_per_gpu": f"{self.ingest} GB/s",
            "dataset": {
                "size": f"{self.dataset_tb + 20} TB",
                "tier": "bulk",
                "staged": f"{self.staged_tb} TB",
            },
        }
        items = [GPU, STORE, bulk("disk", 4, 900), bulk("dense", 30, 1300)]
        site, budget = {"pue": 1.0, "it_power": f"{self.it_kw} kW"}, f"{self.capex_usd} USD"
        goal = {"maximize": "useful_gpus", "indifference": 0}
        self.inputs = hall_of(
            items, self.usd, job=job, site=site, budget={"capex": budget}, objective=goal
        )

    def best(self) -> float:
        best = 0.0
        counts = itertools.product(range(13), range(1, 5), range(6), range(5))
        for gpu, store, disk, dense in counts:
            units = dict(zip(self.usd, (gpu, store, disk, dense), strict=True))
            over = sum(self.usd[name] * count for name, count in units.items()) > self.capex_usd
            if over or sum(KW[name] * count for name, count in units.items()) > self.it_kw:
                continue
            archived_tb, latest_tb = 20 * SIZE_GB / 1000, 3 * SIZE_GB / 1000
            if 900 * disk + 1300 * dense < (self.dataset_tb + archived_tb) / FILL:
                continue
            if 250 * store >= (latest_tb + self.staged_tb) / FILL:
                used = (self.useful(used, store, disk, dense) for used in range(1, gpu + 1))
                best = max(best, *used, 0.0)
        return best

    def useful(self, used: int, store: int, disk: int, dense: int) -> float:
        gpus, ports = 8 * used, 8.0 * used
        reads = min(90 * store, ports, 4 * disk + 30 * dense, 0.9 * 65 * store)
        drain_s = SIZE_GB / min(65 * store, ports)
        if gpus * self.ingest > reads or drain_s > 0.1 * INTERVAL_S:
            return 0.0
        back_s = 600 + SIZE_GB / min(90 * store, ports)
        return kept(INTERVAL_S, 5.0, drain_s, back_s, gpus, 4.74e-4) * (1.0 - self.lost)


class BurstDraw:
    """A random hall whose storage is one that bursts or one that does not."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.size_gb = random.choice((300.0, 1200.0, 2500.0, 6000.0))
        self.fast = random.choice((20.0, 40.0, 160.0))
        self.usd = {"gpu": 300_000.0, "store": 500_000.0}
        self.usd["buffered"] = random.choice((60_000.0, 200_000.0))
        self.capex_usd = random.uniform(1.5e6, 5e6)
        self.mode = random.choice(("async", "async", "sync"))
        self.families = random.choice((1, 2))
        self.stall_s = random.choice((0.1, 5.0))
        self.overlap = random.choice((0.1, 0.5))
        checkpoint = {
            "size": f"{self.size_gb} GB",
            "mode": self.mode,
            "keep_last": 0,
            "stall": f"{self.stall_s} s",
            "max_overlap": self.overlap,
            "interval": {"policy": "optimal", "min": "10 s", "max": "2 h"},
        }
        job = {"failures": {"per_gpu_day": 0.02}, "checkpoint": checkpoint}
        shares = {"delivered_fraction": {"read": 1.0, "write": 0.8}, "max_families": self.families}
        goal = {"maximize": "useful_gpus", "indifference": 0}
        self.inputs = hall_of([GPU, STORE, buffered(self.fast)], self.usd, job=job,
                                storage=shares, budget={"capex": f"{self.capex_usd} USD"},
                                objective=goal)  # fmt: skip

    def best(self) -> float:
        best = 0.0
        for gpu, store, fast in itertools.product(range(1, 17), range(7), range(40)):
            if (not store and not fast) or (self.families == 1 and store and fast):
                continue
            units = dict(zip(self.usd, (gpu, store, fast), strict=True))
            if sum(self.usd[name] * count for name, count in units.items()) <= self.capex_usd:
                best = max(best, *(self.useful(used, store, fast) for used in range(1, gpu + 1)))
        return best

    def useful(self, used: int, store: int, fast: int) -> float:
        gpus, ports = 8 * used, 8.0 * used
        if 250 * store + 200 * fast < self.size_gb / 1000 / FILL:
            return 0.0
        sustained, burst = 0.8 * (65 * store + SLOW * fast), 0.8 * (65 * store + self.fast * fast)
        buffers = 0.8 * (self.fast - SLOW) * WINDOW_S * fast
        drain_s = max(self.size_gb / burst, (self.size_gb - buffers) / sustained)
        drain_s = max(drain_s, self.size_gb / ports)
        stall_s, lag_s = (drain_s, 0.0) if self.mode == "sync" else (self.stall_s, drain_s)
        share = 0.05 if self.mode == "sync" else self.overlap
        low = max(drain_s / share, self.size_gb / sustained, 10.0, stall_s + lag_s)
        if low > 7200.0:
            return 0.0
        every = best_interval_s(
            np.array([stall_s]), 86_400 / (0.02 * gpus), np.array([low]), 7200.0
        )
        back_s = 600 + self.size_gb / min(90 * store + 60 * fast, ports)
        return kept(every[0], stall_s, lag_s, back_s, gpus, 0.02)


Draw = BulkDraw | BurstDraw
KINDS: dict[str, tuple[Callable[[int], Draw], int]] = {
    "bulk": (BulkDraw, 24),
    "bursts": (BurstDraw, 30),
}


@cache
def drawn(kind: str, seed: int) -> tuple[Draw, Plan]:
    draw = KINDS[kind][0](seed)
    return draw, api.solve_with(draw.inputs, api.Options(explain=False))


def all_drawn(kind: str) -> list[tuple[Draw, Plan]]:
    return [drawn(kind, seed) for seed in range(KINDS[kind][1])]


@pytest.mark.parametrize(
    ("kind", "seed"), [(kind, seed) for kind, (_, count) in KINDS.items() for seed in range(count)]
)
def test_the_optimum_is_the_enumerated_one(kind: str, seed: int) -> None:
    draw, plan = drawn(kind, seed)
    best = draw.best()
    assert plan.status == ("optimal" if best else "infeasible")
    if best:
        assert plan.jobs[0].useful_gpus == pytest.approx(best, rel=5e-6)


def test_verifier_refuses_too_little_bulk_and_an_overstated_window() -> None:
    draw, plan = drawn("bulk", 3)
    lines = tuple(
        line.model_copy(update={"quantity": line.quantity - 1}) if line.bulk_tb else line
        for line in plan.lines
    )
    found = recheck(draw.inputs, plan.model_copy(update={"lines": lines})).disagreements
    assert any("bulk" in text for text in found)
    draw, plan = next((d, p) for d, p in all_drawn("bursts") if p.jobs and p.jobs[0].burst)
    job = plan.jobs[0]
    assert job.burst is not None
    wrong = job.burst.model_copy(update={"buffer_gb": 2 * job.burst.buffer_gb})
    told = plan.model_copy(update={"jobs": (job.model_copy(update={"burst": wrong}),)})
    assert any("burst" in text for text in recheck(draw.inputs, told).disagreements)


def test_bulk_items_are_left_out_without_such_a_data_set() -> None:
    items, usd = [GPU, STORE, bulk("disk", 4, 900)], {"gpu": 1e5, "store": 1e5, "disk": 1e5}
    case = resolve(hall_of(items, usd, objective={"maximize": "gpus"}))
    assert {item.id for item in case.storage} == {"store"}
    assert dict(case.not_considered)["disk"] == "bulk storage, and no data set is on the bulk tier"


def test_units_that_may_be_down_leave_no_bursts() -> None:
    usd = {"gpu": 1e5, "store": 1e5, "buffered": 1e5}
    for down in (0, 1):
        inputs = hall_of([GPU, STORE, buffered(40.0)], usd, storage={"tolerate_down": down},
                           objective={"maximize": "gpus"})  # fmt: skip
        assert bool(resolve(inputs).bursts) == (down == 0)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"size": "10 TB", "tier": "bulk", "staged": "20 TB"}, "more than size"),
        ({"size": "10 TB", "staged": "2 TB"}, "staged needs tier: bulk"),
    ],
)
def test_a_data_set_that_contradicts_itself_is_refused(given: dict[str, str], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        Job.model_validate({"name": "x", "parameters": "1 B", "dataset": given})


# Edges at which a proof would be worth nothing: budgets to the cent, nothing that limits.


@pytest.mark.parametrize(("cents_over", "gpus"), [(0, 16), (6, 8), (50, 8)])
def test_a_budget_is_met_to_the_cent_or_not(cents_over: int, gpus: int) -> None:
    usd = {"large": 40e6 + cents_over / 100, "gpu": 40e6, "store": 10e6}
    over = {"budget": {"capex": "50 MUSD"}, "objective": {"maximize": "gpus"}}
    plan = solve(hall_of([system("large", 16), GPU, STORE], usd, **over))
    assert plan.status == "optimal"
    assert plan.totals is not None
    assert plan.totals.gpus_used == gpus
    free = hall_of([system("large", 16), STORE], {"large": 0.0, "store": 10e6}, **over)
    assert solve(free).status == "unbounded"
