"""The enumerator against answers worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planner.schema.catalog import Item
from planner.schema.site import Site
from tests.oracle import facility
from tests.oracle.enumerate import best
from tests.oracle.goodput import best_interval_s, goodput, unconstrained_interval_s
from tests.world.random_cases import random_case
from tests.world.random_hardware import Raw, figure
from tests.world.requests import Request, gpu_system, price, store


def array(value: float) -> Any:
    return np.array([value])


@pytest.mark.parametrize(
    ("interval", "stall", "drain", "mtti", "expected"),
    [(1800.0, 5.0, 50.5, 11123.0, 0.86652), (3600.0, 0.6, 360.0, 6480.0, 0.64473)],
)
def test_goodput_known_answers(
    interval: float, stall: float, drain: float, mtti: float, expected: float
) -> None:
    found = goodput(array(interval), array(stall), array(drain), array(600.0), mtti)
    assert found[0] == pytest.approx(expected, abs=5e-6)


def test_exact_interval_known_answer() -> None:
    # The published optimum is the work between two checkpoints; ours runs from start to start.
    found = unconstrained_interval_s(array(50.5), 11123.0)[0]
    assert found - 50.5 == pytest.approx(1026.5, abs=0.05)


@pytest.mark.parametrize("stall", [0.0, 0.3, 40.0, 900.0])
@pytest.mark.parametrize("mtti", [200.0, 9000.0, 4e6])
@pytest.mark.parametrize("low", [1000.0, 5000.0])
def test_no_interval_on_a_fine_grid_is_better(stall: float, mtti: float, low: float) -> None:
    high = low * 8.0
    chosen = best_interval_s(array(stall), mtti, array(low), high)
    nothing = np.zeros(1)
    grid = np.geomspace(low, high, 20_001)
    top = goodput(grid, np.full_like(grid, stall), nothing, nothing, mtti).max()
    assert goodput(chosen, array(stall), nothing, nothing, mtti)[0] >= top * (1 - 1e-14)


def test_most_gpus_under_power() -> None:
    # Two boxes take 10 of 50 kW, which leaves room for four systems.
    plan = Request(maximize="gpus").plan()
    assert plan.counts == {"gpu": 4, "box": 2}
    assert (plan.value, plan.capex_usd, plan.it_power_kw, plan.units) == (32, 420_000, 50, 6)


def test_least_cost_for_sixteen_gpus() -> None:
    request = Request(minimize="cost")
    request.more["targets"] = {"min_gpus": 9}
    plan = request.plan()
    assert plan.counts == {"gpu": 2, "box": 2}
    assert plan.value == 220_000


def test_facility_power_counts_the_overhead() -> None:
    request = Request(maximize="gpus")
    request.site = {"pue": 1.25, "facility_power": "62.4 kW"}
    assert request.plan().gpus_used == 24


def test_infeasible_when_stores_and_one_system_exceed_the_power() -> None:
    request = Request(maximize="gpus")
    request.site["it_power"] = "19.9 kW"
    assert request.best() is None


def test_restore_by_every_replica_limits_the_gpus() -> None:
    # Two boxes read 8 GB/s: d replicas take 12.5 d seconds, so 30 s allow two.
    request = Request(maximize="gpus")
    request.job |= {"parallelism": {"tensor": 8, "pipeline": 1}}
    request.job["restore"] |= {"fan_out": "every_replica", "max_time": "30 s"}
    request.more["items"] = {"box": {"max": 2}}
    assert request.plan().counts == {"gpu": 2, "box": 2}
    # Three boxes serve three replicas in 25 s, and 45 of 50 kW are taken.
    del request.more["items"]
    assert request.plan().counts == {"gpu": 3, "box": 3}


def test_sharded_optimizer_reads_less_than_every_replica() -> None:
    # F = (12 + 2 d)/14, so four replicas read 100 * 20/14 = 142.9 GB in 17.86 s at 8 GB/s.
    request = Request(maximize="gpus")
    del request.checkpoint["size"]
    request.job |= {"parameters": 100e9 / 14, "bytes_per_parameter": 14.0}
    request.job["parallelism"] = {"tensor": 8, "pipeline": 1}
    request.job["restore"] |= {"fan_out": "sharded_optimizer", "max_time": "17.9 s"}
    assert request.plan().gpus_used == 32
    request.job["restore"]["max_time"] = "17.8 s"
    assert request.plan().gpus_used == 24


def test_whole_replicas_take_the_fewest_systems() -> None:
    # Replicas of 12 on systems of 8: 36 GPUs would need five systems, 24 need three.
    request = Request(maximize="gpus")
    request.job |= {"parallelism": {"tensor": 4, "pipeline": 3}, "gpus": {"whole": "replicas"}}
    plan = request.plan()
    assert (plan.gpus_used, plan.counts) == (24, {"gpu": 3, "box": 2})


def test_one_writing_replica_is_limited_by_its_clients() -> None:
    # One system writes at most 8 GB/s by default, 1 GB/s where stated: 100 s of drain is too long.
    request = Request(maximize="gpus")
    request.job["parallelism"] = {"tensor": 8, "pipeline": 1}
    request.checkpoint["writers"] = "one_replica"
    assert request.best() is not None
    request.items[0]["client"] = {"write": figure("1 GB/s")}
    assert request.best() is None
    request.families[0]["client_factor"] = {"write": figure(1.7), "read": figure(1.0)}
    assert request.best() is not None


def test_lost_work_interval() -> None:
    # M = 86400/(0.01 * 16) = 540,000 s, and 0.1 % of it is 540 s.
    request = Request(minimize="cost")
    request.more["targets"] = {"min_gpus": 16}
    request.checkpoint["interval"] = {"policy": "lost_work", "kappa": "0.1 %"}
    plan = request.plan()
    assert plan.interval_s == pytest.approx(540.0)
    # 54 s of drain need 1.85 GB/s.
    assert plan.counts == {"gpu": 2, "box": 2}


def test_sync_blocks_and_ignores_the_overlap() -> None:
    # At most 5 % of 600 s may block: 30 s need 3.33 GB/s.
    request = Request(minimize="cost")
    request.checkpoint |= {"mode": "sync", "max_blocking": 0.05, "max_overlap": 0.001}
    plan = request.plan()
    assert plan.counts == {"gpu": 1, "box": 4}
    # Four boxes write 100 GB in 25 s; eight clients of 1 GB/s read it in 12.5 s.
    mtti_s = 86_400 / 0.08
    expected = goodput(array(600.0), array(25.0), array(0.0), array(612.5), mtti_s)[0]
    assert plan.goodput == pytest.approx(expected, rel=1e-12)


def test_vendor_rule_counts_whole_units_of_gpus() -> None:
    # Three systems are 24 GPUs: two units of 16 ask for 2 * 2.1 = 4.2 GB/s of writing.
    request = Request(minimize="cost")
    request.site["it_power"] = "1 MW"
    request.more["targets"] = {"min_gpus": 24}
    request.storage["rule"] = {"read": "1 GB/s", "write": "2.1 GB/s", "per_gpus": 16}
    assert request.plan().counts == {"gpu": 3, "box": 5}


def test_capacity_and_fill_limit() -> None:
    # 150 TB + 3 * 0.1 TB fill 85 % of 177 TB: two boxes; at 75 % they would not do.
    request = Request(minimize="cost")
    request.job["dataset"] = "150 TB"
    assert request.plan().counts["box"] == 2
    request.storage["fill_limit"] = 0.75
    assert request.plan().counts["box"] == 3


def test_endurance_bounds_the_interval() -> None:
    # 0.1 TB * 86400/I <= 2 * 4 TB/day from I = 1080 s on.
    request = Request(minimize="cost")
    request.items[1]["provides"]["endurance"] = figure("4 TB/day")
    request.checkpoint["interval"] = {"policy": "optimal", "min": "600 s", "max": "2000 s"}
    request.checkpoint |= {"stall": "0 s", "max_overlap": 0.05}
    plan = request.plan()
    # One box would do from 2160 s on, beyond the maximum.
    assert plan.counts["box"] == 2
    assert plan.interval_s == pytest.approx(1080.0)


def test_money_in_cents_installed_units_and_support() -> None:
    request = Request(minimize="tco")
    request.more |= {
        "targets": {"min_gpus": 16},
        "term": {"years": 3, "electricity": "0.1 USD/kWh"},
        "items": {"gpu": {"installed": 1}},
    }
    request.prices = {
        "gpu": price("99999.99", support_per_year="10 %"),
        "box": price("10000", support_per_year="123.45 USD"),
    }
    request.discounts = [
        {"discount": 0.5, "category": "gpu_system"},
        {"discount": 0.15, "item": "gpu"},
    ]
    # gpu: 84,999.99 (of 84,999.9915) and 8,500.00 a year; one is bought, two run.
    capex = 84_999.99 + 2 * 10_000
    support = 8_500.00 + 2 * 123.45
    energy = (20 + 10) * 1.25 * 8760 * 0.1
    plan = request.plan()
    assert plan.counts == {"gpu": 2, "box": 2}
    assert plan.capex_usd == pytest.approx(capex, abs=1e-6)
    assert plan.value == pytest.approx(capex + 3 * (support + energy), rel=1e-12)


def test_ties_go_to_cost_then_power_then_units() -> None:
    request = Request(maximize="gpus")
    request.families.append({"id": "other", "vendor": "Beta", "name": "other"})
    request.items.append(store("rival", "other", draw="4.9 kW"))
    request.prices["rival"] = price("10000.01")
    assert request.plan().counts["rival"] == 2  # a cent in 420,000 is a tie, power decides
    request.prices["rival"] = price("10001")
    assert request.plan().counts["box"] == 2


def test_families_do_not_mix_unless_allowed() -> None:
    request = Request(minimize="cost")
    request.families.append({"id": "other", "vendor": "Beta", "name": "other"})
    request.items.append(store("half", "other", write="0.7 GB/s"))
    request.prices["half"] = price("6000")
    assert request.plan().counts == {"gpu": 1, "half": 3}
    request.storage["max_families"] = 2
    assert request.plan().counts == {"gpu": 1, "box": 1, "half": 1}


def test_two_types_run_at_the_pace_of_the_slower() -> None:
    request = Request(maximize="goodput")
    request.items.append(gpu_system("fast", 8, "20 kW", "3000 TFLOP/s"))
    request.prices["fast"] = price("100000")
    request.job["gpus"] = {"max_types": 2}
    plan = request.plan()
    # Two fast ones: 16 GPUs * 3000; four slow ones: 32 * 1000; one and two: 24 * 1000.
    assert plan.counts == {"fast": 2, "box": 2}
    assert plan.value == pytest.approx(16 * 3000 * 0.5 / 1000 * plan.goodput)
    request.more["items"] = {"fast": {"fixed": 1}}
    plan = request.plan()
    # Alone the fast one does 8 * 3000 = 24,000 as well, but fails less often.
    assert (plan.gpus_used, plan.counts.get("gpu")) == (8, None)


def test_two_types_join_their_gpus_where_allowed() -> None:
    request = Request(maximize="gpus")
    request.items.append(gpu_system("big", 16, "20 kW"))
    request.prices["big"] = price("100000")
    request.more["items"] = {"big": {"fixed": 1}, "gpu": {"max": 1}}
    assert request.plan().gpus_used == 16
    request.job["gpus"] = {"max_types": 2}
    assert request.plan().gpus_used == 24


def test_buying_more_can_hurt() -> None:
    # N exp(-N/N0)-like: with a failure per GPU every 0.4 days and 10,000 s of restart, few win.
    request = Request(maximize="useful_gpus")
    request.site["it_power"] = "300 kW"
    request.job |= {"failures": {"per_gpu_day": 2.5}, "restore": {"restart": "10000 s"}}
    request.checkpoint |= {"max_overlap": 0.2, "interval": {"policy": "fixed", "every": "60 s"}}
    request.checkpoint["size"] = "10 GB"
    found = request.plan().gpus_used
    # d/dN of ln N - N (R + I/2)/M1 = 0 at N = 34560/10030 = 3.4: one system of eight.
    assert found == 8


def test_tables_of_sizes() -> None:
    # 2 units: 2 GB/s, 6 units: 4 GB/s; 3.4 GB/s are read off at 5 units (3.5).
    request = Request(minimize="cost")
    request.site["it_power"] = "1 MW"
    rows = [
        {"units": 2, "read": "4 GB/s", "write": "2 GB/s"},
        {"units": 6, "read": "8 GB/s", "write": "4 GB/s"},
    ]
    request.items[1]["sizes"] = {"source": "made_up", "confidence": "low", "rows": rows}
    request.checkpoint["size"] = "204 GB"
    assert request.plan().counts["box"] == 5


def racks(item: Item, catalog: facility.Catalog, rack: Raw, units: int) -> int:
    standing = facility.standing(item, catalog, Site.model_validate({"pue": 1.0, "rack": rack}))
    assert standing is not None
    return int(standing.racks(np.array([units]))[0])


def test_racks_hold_what_height_and_power_allow() -> None:
    rack = {"height": "48 RU", "power": "45 kW"}
    catalog = {item.id: item for item in Request(maximize="gpus").case().items}
    assert racks(catalog["gpu"], catalog, rack, 4) == 1
    assert racks(catalog["gpu"], catalog, rack, 5) == 2
    assert racks(catalog["box"], catalog, rack, 10) == 2


def test_a_bundle_taller_than_a_rack_is_placed_first_fit() -> None:
    def part(name: str, height: str, **more: Any) -> Item:
        consumes = {"it_power": figure("1 kW"), "rack_units": figure(height)}
        core = {"id": name, "vendor": "Alpha", "model": name, "category": "component"}
        return Item.model_validate(core | {"consumes": consumes} | more)

    head, shelf = part("head", "20 RU"), part("shelf", "11 RU")
    parts = ({"id": "head", "quantity": 1}, {"id": "shelf", "quantity": 5})
    bundle = part("bundle", "1 RU", components=parts, consumes={})
    catalog = {item.id: item for item in (head, shelf, bundle)}
    # 20 + 11 + 11 RU, then 33 RU: two racks for each bundle.
    assert racks(bundle, catalog, {"height": "48 RU"}, 3) == 6
    # All 75 RU in one rack of 80, one bundle each; two in one of 150.
    assert racks(bundle, catalog, {"height": "80 RU"}, 3) == 3
    assert racks(bundle, catalog, {"height": "150 RU"}, 3) == 2
    assert facility.power_kw(bundle, catalog) == 6


@pytest.mark.exhaustive(keep=0)
def test_skipping_what_cannot_win_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [random_case(seed) for seed in range(40)]
    quick = [best(c.problem, c.items, c.families, c.prices, c.discounts) for c in cases]
    monkeypatch.setattr("tests.oracle.enumerate._Search._hope", lambda *_: float("inf"))
    slow = [best(c.problem, c.items, c.families, c.prices, c.discounts) for c in cases]
    assert quick == slow
