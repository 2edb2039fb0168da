"""What the hall can take, and what storage still does with appliances down."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from planner.case import Case, with_companions
from planner.inputs import Inputs
from planner.optimizer.operate import bought_write_gb_per_s
from planner.optimizer.optimise import optimise
from planner.schema.plan import Plan
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import Raw, figure
from tests.world.requests import Request, price, store
from tests.world.solved import solve


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
    plan = solve(inputs_of(request.case()), explain=False)
    limit = next(limit for limit in plan.limits if limit.name == "facility_power")
    assert limit.limit == limit_kw
    assert plan.jobs[0].gpus_used == 8 * int((limit_kw / 1.25 - 10) // 10)
    request.site["facility_power"] = "45 kW"  # the lesser of the two counts
    plan = solve(inputs_of(request.case()), explain=False)
    assert next(x for x in plan.limits if x.name == "facility_power").limit == 45


def cooled(liquid_share: float, **site: Raw) -> Plan:
    request = Request(maximize="gpus")
    request.items[0]["consumes"]["liquid_share"] = figure(liquid_share)
    request.site = {"pue": {"air": 1.5, "liquid": 1.1}, **site}
    return solve(inputs_of(request.case()), explain=False)


def test_pue_follows_the_heat() -> None:
    # A system: 8 kW at 1.1 and 2 kW at 1.5, 11.8 kW; two boxes on air, 15 kW.
    assert cooled(0.8, facility_power="62.2 kW").jobs[0].gpus_used == 32
    plan = cooled(0.8, facility_power="62.1 kW")
    assert plan.jobs[0].gpus_used == 24
    assert plan.totals is not None
    assert plan.totals.facility_power_kw == pytest.approx(3 * 11.8 + 15)
    assert (plan.totals.heat_liquid_kw, plan.totals.heat_air_kw) == pytest.approx((24, 16))


# Appliances that are down.


# The write bandwidth of the storage bought, held from below, from above, and at its ends.


GAP = 1e-6


def hall() -> Inputs:
    """Return 10 systems' worth of power: 1 kW and 0.1 GB/s a box, or up to 4 drawers by table."""
    request = Request(maximize="goodput")
    request.items[1] = store("box", "fs", "1 kW", "0.1 GB/s")
    drawer = store("drawer", "fs", "1.5 kW")
    rows = [
        {"units": 2, "read": "4 GB/s", "write": "0.3 GB/s"},
        {"units": 4, "read": "8 GB/s", "write": "0.5 GB/s"},
    ]
    drawer["sizes"] = {"source": "made_up", "confidence": "low", "rows": rows}
    request.items.append(drawer)
    request.prices["drawer"] = price("30000")
    request.storage["delivered_fraction"]["write"] = 0.8
    request.site["it_power"] = "100 kW"
    request.checkpoint |= {"interval": {"policy": "optimal", "min": "1 min", "max": "4 h"}}
    return inputs_of(request.case())


def held(case: Case, inputs: Inputs, **limits: float) -> Case:
    return with_companions(inputs, replace(case, limits=case.limits.with_values(**limits)))


def bought(case: Case) -> tuple[float, float]:
    """Return the bandwidth of the best plan's storage, and its useful work."""
    answer = optimise(case, gap=GAP, ties=False)
    assert answer.operation is not None
    assert answer.value is not None
    write = bought_write_gb_per_s(case, answer.operation.units)
    return write, math.exp(answer.value) if case.maximise else answer.value
