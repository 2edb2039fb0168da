import pytest

from planner.outputs import frame
from tests.world.gear_plans import plan
from tests.world.setups import CASES
from tests.world.solved import solved as solved_once


def test_frames_carry_the_bill_and_foot_with_the_totals() -> None:
    solved = solved_once("10MW")
    assert solved.totals is not None
    bill = frame.bill(solved)
    assert list(bill["sku"]) == [line.sku for line in solved.lines]
    assert bill["extended_net_usd"].sum() == pytest.approx(solved.totals.capex_usd)
    assert bill["it_power_kw"].sum() == pytest.approx(solved.totals.it_power_kw)
    limits = frame.limits(solved).set_index("name")
    assert limits.loc["facility_power", "limit"] == 10_000.0
    assert {"name", "value", "source"} <= set(frame.assumptions(solved).columns)


def test_frames_of_fabrics_and_racks() -> None:
    document = plan(CASES["complete"])
    fabrics = frame.fabrics(document).set_index("network")
    assert fabrics.loc["compute", "spine_switches"] == 4
    racks = frame.racks(document)
    assert (racks["count"] * racks["it_power_kw"]).sum() == pytest.approx(516.4, abs=0.1)
    assert frame.racks(plan(CASES["async"])).empty
