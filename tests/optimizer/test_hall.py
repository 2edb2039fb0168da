"""What the hall can take, and what storage still does with appliances down."""

from __future__ import annotations

import pytest

from planner.case import resolve
from planner.infeasible import explain
from planner.optimizer.bill import Numbers
from planner.optimizer.optimise import optimise
from planner.optimizer.useful_work import BestUse
from planner.optimizer.work import Uses
from planner.schema.plan import Plan
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import Raw, figure
from tests.world.requests import Request
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


def test_a_goodput_out_of_reach_is_explained_after_few_numbers_of_gpus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every number of GPUs of a large hall was tried: none was refused for its goodput alone."""
    tried, worth = list[int](), BestUse.worth

    def counted(self: BestUse, use: Uses) -> tuple[Numbers, Numbers, Numbers]:
        tried.append(len(use.team))
        return worth(self, use)

    monkeypatch.setattr(BestUse, "worth", counted)
    request = Request(maximize="goodput")
    request.site["it_power"] = "200 MW"
    request.checkpoint |= {"interval": {"policy": "optimal", "min": "1 min", "max": "4 h"}}
    request.more["targets"] = {"min_goodput": 0.999}
    assert optimise(resolve(inputs_of(request.case()))).status == "infeasible"
    assert sum(tried) < 5_000  # of 20,000 systems: 548; 99,956 without the floor in ranges
    request.site["it_power"] = "1 MW"
    found = explain(inputs_of(request.case()))
    least = {step.path: step.least for step in found.changes}  # the floor that one system reaches
    assert least["targets.min_goodput"] == pytest.approx(0.996383, abs=2e-6)
    assert not found.undecided
