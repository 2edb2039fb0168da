"""What is bought for what stands in place, what it costs over time, what the hall can take."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planner import api
from planner.case import resolve
from planner.case.caps import cap_in_use
from planner.case.goods import support_factor, support_span
from planner.case.model import Good
from planner.optimizer import purchase
from planner.schema.plan import Plan
from planner.sizing.finance import discounted_years
from tests.optimizer.cases import companion, furnish, inputs_of
from tests.oracle.by_hand import Request
from tests.oracle.hardware import Raw, figure

TERM = {"years": 4, "electricity": "0.1 USD/kWh"}
PLAIN = Good(
    id="good", vendor="V", installed=0, unit_net_usd=1.0, support_usd_per_year=0.0,
    subscription_usd_per_year=0.0, support_factor=0.0, it_power_kw=0.0, meter_kw=0.0,
    energy_kw=0.0, liquid_kw=0.0, spare_share=0.0, pack=1, min_order=0, stock=None,
)  # fmt: skip


@pytest.mark.parametrize(
    ("count", "sold", "bought"),
    [
        (7, {}, 7),
        (7, {"installed": 3}, 4),
        (7, {"installed": 9}, 0),
        (20, {"spare_share": 0.05}, 21),
        (21, {"spare_share": 0.05}, 23),  # 1.05 spares are two
        (60, {"spare_share": 0.05}, 63),  # 0.05 * 60 is 3.0000000000000004 of a spare
        (20, {"spare_share": 0.1, "installed": 5}, 17),
        (7, {"pack": 4}, 8),
        (8, {"pack": 4}, 8),
        (9, {"pack": 4, "installed": 1}, 8),
        (3, {"min_order": 10}, 10),
        (0, {"min_order": 10}, 0),
        (3, {"min_order": 10, "installed": 3}, 0),
        (3, {"min_order": 10, "pack": 4}, 12),  # ten in packs of four
        (13, {"min_order": 10, "pack": 4}, 16),
        (100, {"spare_share": 0.02, "installed": 40, "pack": 25, "min_order": 80}, 100),
        (0, {"spare_share": 0.5, "pack": 4}, 0),
    ],
)
def test_what_is_bought(count: int, sold: dict[str, Any], bought: int) -> None:
    assert replace(PLAIN, **sold).purchased(count) == bought


def test_a_plan_buys_in_packs_with_spares() -> None:
    request = Request(minimize="cost")
    request.more |= {
        "targets": {"min_gpus": 24},
        "spares": {"gpu_system": 0.25, "storage": 0.5},
        "items": {"box": {"installed": 1}},
    }
    request.prices["gpu"]["pack"] = 2
    plan = api.solve_inputs(inputs_of(request.case()))
    lines = {line.sku: line for line in plan.lines}
    gpu, box = lines["gpu"], lines["box"]
    assert (gpu.quantity, gpu.spares, gpu.pack, gpu.purchased) == (3, 1, 2, 4)
    assert (box.quantity, box.spares, box.installed, box.purchased) == (2, 1, 1, 2)
    assert plan.totals is not None
    assert plan.totals.capex_usd == pytest.approx(4 * 100_000 + 2 * 10_000)
    assert plan.totals.it_power_kw == pytest.approx(3 * 10 + 2 * 5)  # spares stand in no rack


def test_the_next_pack_is_not_bought_where_stock_ends() -> None:
    request = Request(maximize="gpus")
    request.more["items"] = {"gpu": {"stock": 3}}
    request.prices["gpu"]["pack"] = 2
    plan = api.solve_inputs(inputs_of(request.case()))
    assert {line.sku: line.purchased for line in plan.lines}["gpu"] == 2
    assert {limit.name: limit.value for limit in plan.limits}["stock.gpu"] == 2


@pytest.mark.parametrize(("stock", "gpus"), [(13, 24), (12, 16), (0, None)])
def test_a_companion_out_of_stock_keeps_the_cluster_small(stock: int, gpus: int | None) -> None:
    request = furnish(Request(maximize="gpus"))
    request.site["it_power"] = "60 kW"
    for section in ("storage", "in_band", "out_of_band"):
        del request.more["network"][section]
    request.more["items"] = {"optic": {"stock": stock}}
    request.more["spares"] = {"transceiver": 0.05}  # twelve optics of three systems take one more
    plan = api.solve_inputs(inputs_of(request.case()))
    assert (plan.jobs[0].gpus_used if plan.jobs else None) == gpus
    if gpus is None:
        assert plan.status == "infeasible"


# Money over time.


@pytest.mark.parametrize(
    ("start", "end", "rate", "years"),
    [
        (0, 4, 0.0, 4.0),
        (0, 4, 0.1, (1.1**-1 + 1.1**-2 + 1.1**-3 + 1.1**-4)),
        (1, 3, 0.1, 1.1**-2 + 1.1**-3),
        (0.5, 2.25, 0.1, 0.5 * 1.1**-1 + 1.1**-2 + 0.25 * 1.1**-3),
        (2.25, 2.75, 0.1, 0.5 * 1.1**-3),
        (3, 3, 0.1, 0.0),
        (4, 2, 0.1, 0.0),
    ],
)
def test_discounted_years(start: float, end: float, rate: float, years: float) -> None:
    assert discounted_years(start, end, rate) == pytest.approx(years, rel=1e-12)


@pytest.mark.parametrize(
    ("own", "term_years", "included", "span"),
    [
        (None, None, None, (0.0, 4.0)),
        (None, 3, None, (0.0, 3.0)),
        (2.5, 3, None, (0.0, 2.5)),
        (0, 3, None, (0.0, 0.0)),
        (9, None, None, (0.0, 4.0)),  # never beyond the term
        (None, 3, 1.5, (1.5, 3.0)),
        (None, 3, 5.0, (5.0, 3.0)),  # all of it is in the price
    ],
)
def test_support_years(
    own: float | None, term_years: float | None, included: float | None, span: tuple[float, float]
) -> None:
    request = Request(minimize="tco")
    request.more["term"] = TERM | {"discount_rate": 0.1}
    request.more["targets"] = {"min_gpus": 8}
    request.prices["gpu"]["support_per_year"] = "10 %"
    if own is not None:
        request.more["items"] = {"gpu": {"support_years": own}}
    if term_years is not None:
        request.more["term"]["support_years"] = term_years
    if included is not None:
        request.prices["gpu"]["support_included_years"] = included
    inputs = inputs_of(request.case())
    gpu = next(item for item in inputs.items if item.id == "gpu")
    assert support_span(gpu, inputs) == span
    paid = sum(max(0.0, min(t, span[1]) - max(t - 1, span[0])) / 1.1**t for t in range(1, 5))
    assert support_factor(gpu, inputs) == pytest.approx(paid)
    plan = api.solve_inputs(inputs)
    line = next(line for line in plan.lines if line.sku == "gpu")
    assert line.support_years == pytest.approx(max(0.0, span[1] - span[0]))
    assert plan.totals is not None
    energy = 20 * 1.25 * 8760 * 0.1
    running = energy * discounted_years(0, 4, 0.1)
    assert plan.totals.tco_usd == pytest.approx(120_000 + 10_000 * paid + running)


def test_subscriptions_and_colocation_run_the_whole_term() -> None:
    request = Request(minimize="tco")
    request.more["term"] = TERM | {"discount_rate": 0.1, "colocation": "150 USD/kW/month"}
    request.more["targets"] = {"min_gpus": 8}
    request.prices["gpu"]["per_year"] = "1000.01 USD"
    request.discounts = [{"item": "gpu", "discount": 0.25}]
    plan = api.solve_inputs(inputs_of(request.case()))
    assert plan.totals is not None
    assert plan.totals.subscriptions_usd_per_year == 750.01  # of 750.0075
    assert plan.totals.colocation_usd_per_year == pytest.approx(20 * 12 * 150)
    yearly = 750.01 + 20 * 12 * 150 + 20 * 1.25 * 8760 * 0.1
    assert plan.totals.opex_usd_per_year == pytest.approx(yearly)
    assert plan.totals.tco_usd == pytest.approx(95_000 + yearly * discounted_years(0, 4, 0.1))


@pytest.mark.parametrize(("basis", "drawn_kw"), [("maximum", 20.0), ("typical", 7.0 + 10.0)])
def test_energy_is_charged_on_the_draw_it_is_charged_on(basis: str, drawn_kw: float) -> None:
    request = Request(minimize="tco")
    request.items[0]["consumes"]["typical_power"] = figure("7 kW")
    request.more["term"] = TERM | {"energy_basis": basis}
    request.more["targets"] = {"min_gpus": 8}
    plan = api.solve_inputs(inputs_of(request.case()))
    assert plan.totals is not None
    assert plan.totals.energy_usd_per_year == pytest.approx(drawn_kw * 1.25 * 876)
    assert plan.totals.it_power_kw == 20.0
    assert plan.totals.typical_power_kw == 17.0


# The hall.


@pytest.mark.parametrize(
    ("count", "redundancy", "limit_kw"),
    [(4, "N", 200), (4, "N+1", 150), (4, "2N", 100), (2, "N+1", 50), (1, "N", 50)],
)
def test_feeds_leave_what_their_redundancy_leaves(
    count: int, redundancy: str, limit_kw: float
) -> None:
    request = Request(maximize="gpus")
    feeds = {"count": count, "power": "50 kW", "redundancy": redundancy}
    request.site = {"pue": 1.25, "feeds": feeds}
    plan = api.solve_inputs(inputs_of(request.case()))
    limit = next(limit for limit in plan.limits if limit.name == "facility_power")
    assert limit.limit == limit_kw
    assert plan.jobs[0].gpus_used == 8 * int((limit_kw / 1.25 - 10) // 10)
    request.site["facility_power"] = "45 kW"  # the lesser of the two counts
    plan = api.solve_inputs(inputs_of(request.case()))
    assert next(x for x in plan.limits if x.name == "facility_power").limit == 45


def cooled(liquid_share: float, **site: Raw) -> Plan:
    request = Request(maximize="gpus")
    request.items[0]["consumes"]["liquid_share"] = figure(liquid_share)
    request.site = {"pue": {"air": 1.5, "liquid": 1.1}, **site}
    return api.solve_inputs(inputs_of(request.case()))


def test_pue_follows_the_heat() -> None:
    # A system: 8 kW at 1.1 and 2 kW at 1.5, 11.8 kW; two boxes on air, 15 kW.
    assert cooled(0.8, facility_power="62.2 kW").jobs[0].gpus_used == 32
    plan = cooled(0.8, facility_power="62.1 kW")
    assert plan.jobs[0].gpus_used == 24
    assert plan.totals is not None
    assert plan.totals.facility_power_kw == pytest.approx(3 * 11.8 + 15)
    assert (plan.totals.heat_liquid_kw, plan.totals.heat_air_kw) == pytest.approx((24, 16))
    assert plan.totals.heat_air_btu_per_h == pytest.approx(16 * 3412.14, rel=1e-5)


@pytest.mark.parametrize(
    ("cooling", "gpus"),
    [
        ({"liquid_limit": "24 kW"}, 24),
        ({"liquid_limit": "23.9 kW"}, 16),
        ({"air_limit": "16 kW"}, 24),  # 2 kW each and 10 kW of the boxes
        ({"air_limit": "15.9 kW"}, 16),
        ({"air_limit": "16 kW", "liquid_limit": "9 kW"}, 8),
    ],
)
def test_heat_has_limits_of_its_own(cooling: Raw, gpus: int) -> None:
    plan = cooled(0.8, it_power="60 kW", cooling=cooling)
    assert plan.jobs[0].gpus_used == gpus
    names = {"air_limit": "heat_air", "liquid_limit": "heat_liquid"}
    assert {names[key] for key in cooling} <= {limit.name for limit in plan.limits}


def test_bundles_are_cooled_by_their_parts() -> None:
    request = Request(maximize="gpus")
    gpu = request.items[0]
    gpu["consumes"] = {}
    gpu["components"] = [{"id": "wet", "quantity": 2}, {"id": "dry", "quantity": 1}]
    wet = companion("wet", "component", draw="4 kW", height="3 RU")
    wet["consumes"]["liquid_share"] = figure(0.5)
    request.items += [wet, companion("dry", "component", draw="2 kW", height="1 RU")]
    request.site = {"pue": {"air": 1.5, "liquid": 1.1}, "it_power": "50 kW"}
    system = resolve(inputs_of(request.case())).systems[0]
    assert (system.it_power_kw, system.liquid_kw) == (10.0, 4.0)
    assert system.meter_kw == pytest.approx(4 * 1.1 + 6 * 1.5)


# Spare systems and lead times.


@pytest.mark.parametrize(
    ("hot", "systems"),
    [(0, 5), (1, 6), (3, 8), ("20 %", 6), ("25 %", 7), ("0.1 %", 6)],
)
def test_hot_spares_are_bought_and_run_idle(hot: int | str, systems: int) -> None:
    request = Request(minimize="cost")
    request.site["it_power"] = "100 kW"
    request.job["gpus"] = {"hot_spares": hot}
    request.more["targets"] = {"min_gpus": 40}
    plan = api.solve_inputs(inputs_of(request.case()))
    assert {line.sku: line.quantity for line in plan.lines} == {"gpu": systems, "box": 2}
    job = plan.jobs[0]
    assert (job.gpus_used, job.hot_spare_systems) == (40, systems - 5)
    limits = {limit.name: (limit.value, limit.limit) for limit in plan.limits}
    assert limits.get("hot_spares.gpu") == ((systems - 5, systems - 5) if hot else None)


def test_hot_spares_leave_the_fewer_for_the_job() -> None:
    request = Request(maximize="gpus")
    request.job["gpus"] = {"hot_spares": "30 %"}
    plan = api.solve_inputs(inputs_of(request.case()))
    assert plan.jobs[0].gpus_used == 24  # four fit beside two boxes: three and one spare
    case = resolve(inputs_of(request.case()))
    assert [case.job.hot(used) for used in (0, 1, 3, 4, 10)] == [0, 1, 1, 2, 3]
    request.job["gpus"]["max"] = 20
    system = resolve(inputs_of(request.case())).systems[0]
    assert cap_in_use(resolve(inputs_of(request.case())), system) == 4  # three in use and one spare


@pytest.mark.parametrize(
    ("lead_time", "most", "bought"),
    [
        ("12 weeks", "84 days", True),
        ("8-13 weeks", "84 days", False),  # the upper end counts
        ("3 months", "91.3125 days", True),
        ("3 months", "91.31 days", False),
        ("3 months", "14 weeks", True),
    ],
)
def test_lead_times_have_a_limit(lead_time: str, most: str, bought: bool) -> None:
    request = Request(maximize="gpus")
    request.prices["gpu"]["lead_time"] = lead_time
    request.more["targets"] = {"max_lead_time": most}
    request.more["items"] = {"gpu": {"installed": 1}}
    plan = api.solve_inputs(inputs_of(request.case()))
    assert plan.jobs[0].gpus_used == (32 if bought else 8)
    assert plan.totals is not None
    assert plan.totals.critical_skus == (("gpu",) if bought else ())
    limit = next(limit for limit in plan.limits if limit.name == "lead_time")
    assert limit.value == (plan.totals.lead_time_days or 0.0)


def test_a_companion_that_comes_too_late_is_used_as_installed_only() -> None:
    request = furnish(Request(maximize="gpus"))
    for section in ("storage", "in_band", "out_of_band"):
        del request.more["network"][section]
    request.prices["spider"]["lead_time"] = "20-30 weeks"
    request.site["it_power"] = "80 kW"
    request.more["targets"] = {"max_lead_time": "200 days"}
    assert api.solve_inputs(inputs_of(request.case())).status == "infeasible"
    request.more["items"] = {"spider": {"installed": 1}}
    plan = api.solve_inputs(inputs_of(request.case()))
    assert plan.jobs[0].gpus_used == 8  # one switch alone holds one system and the manager
    assert next(line for line in plan.lines if line.sku == "spider").purchased == 0


# Appliances that are down.


@pytest.mark.parametrize(
    ("tolerate", "fail_units", "boxes"),
    [(0, 1, 2), (1, 1, 3), (2, 1, 4), (1, 2, 3), (1, 13, 2), (1, 12, 3), (2, 13, 3), (2, 26, 2)],
)
def test_restores_hold_with_appliances_down(tolerate: int, fail_units: int, boxes: int) -> None:
    # 100 GB in 13 s are 7.69 GB/s of 4 GB/s a box: two, and 1/13 of one to spare.
    request = Request(minimize="cost")
    request.items[1]["fail_units"] = figure(fail_units)
    request.items[1]["provides"]["write"] = figure("9 GB/s")
    request.job["restore"] |= {"max_time": "13 s"}
    request.storage["tolerate_down"] = tolerate
    request.more["targets"] = {"min_gpus": 16}
    inputs = inputs_of(request.case())
    plan = api.solve_inputs(inputs)
    assert {line.sku: line.quantity for line in plan.lines} == {"gpu": 2, "box": boxes}
    job, left = plan.jobs[0], 4 * (boxes - tolerate / fail_units)
    assert job.delivered_read_gb_per_s == pytest.approx(min(16, 4 * boxes))
    assert job.tolerate_down == tolerate
    if not tolerate:
        assert job.degraded_restore_s is None
        return
    assert job.degraded_read_gb_per_s == pytest.approx(min(16, left))
    assert job.degraded_restore_s == pytest.approx(100 / left)
    limit = next(limit for limit in plan.limits if limit.name == "restore_time")
    assert (limit.value, limit.label) == (
        pytest.approx(100 / left), f"restore time, {tolerate} down",
    )  # fmt: skip


def test_drains_hold_with_an_appliance_down() -> None:
    # 100 GB in a tenth of 600 s are 1.67 GB/s of 1 GB/s a box: two, and one that may be down.
    request = Request(minimize="cost")
    request.storage["tolerate_down"] = 1
    request.more["targets"] = {"min_gpus": 8}
    plan = api.solve_inputs(inputs_of(request.case()))
    job = plan.jobs[0]
    assert {line.sku: line.quantity for line in plan.lines} == {"gpu": 1, "box": 3}
    assert (job.drain_s, job.degraded_drain_s) == pytest.approx((100 / 3, 50))
    assert (job.overlap, job.degraded_overlap) == pytest.approx((1 / 18, 1 / 12))
    assert next(x for x in plan.limits if x.name == "overlap").value == pytest.approx(1 / 12)


def test_nothing_else_changes_where_nothing_may_be_down() -> None:
    request = Request(minimize="cost")
    request.items[1]["fail_units"] = figure(8)
    request.more["targets"] = {"min_gpus": 8}
    case = resolve(inputs_of(request.case()))
    assert case.storage[0].units_lost == 0.0
    assert purchase.broken_rows(case, {"gpu": 1, "box": 2}) == []
