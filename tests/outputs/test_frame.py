from pathlib import Path

import pytest

from planner import api
from planner.outputs import frame

PROBLEM = Path(__file__).resolve().parents[2] / "problems" / "10MW.yaml"


def test_frames_carry_the_bill_and_foot_with_the_totals() -> None:
    plan = api.solve(PROBLEM)
    assert plan.totals is not None
    bill = frame.bill(plan)
    assert list(bill["sku"]) == [line.sku for line in plan.lines]
    assert bill["extended_net_usd"].sum() == pytest.approx(plan.totals.capex_usd)
    assert bill["it_power_kw"].sum() == pytest.approx(plan.totals.it_power_kw)
    limits = frame.limits(plan).set_index("name")
    assert limits.loc["facility_power", "limit"] == 10_000.0
    assert {"name", "value", "source"} <= set(frame.assumptions(plan).columns)
