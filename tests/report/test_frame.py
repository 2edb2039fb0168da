import pytest

from planner.results import frame
from tests.world.shown import CASES, plan
from tests.world.solved import solved as solved_once


def test_frames_carry_the_bill_and_foot_with_the_totals() -> None:
    solved = solved_once("10MW")
    assert solved.totals is not None
    bill = frame(solved)
    assert list(bill["sku"]) == [line.sku for line in solved.lines]
    assert bill["extended_net_usd"].sum() == pytest.approx(solved.totals.capex_usd)
    assert bill["it_power_kw"].sum() == pytest.approx(solved.totals.it_power_kw)
    assert list(bill["price.confidence"].dropna()) == [
        line.price.confidence for line in solved.lines if line.price is not None
    ]
    limits = frame(solved, "limits").set_index("name")
    assert limits.loc["facility_power", "limit"] == 10_000.0
    assert {"name", "value", "source"} <= set(frame(solved, "assumptions").columns)


def test_frames_of_fabrics_and_racks() -> None:
    document = plan(CASES["complete"])
    fabrics = frame(document, "fabrics").set_index("network")
    assert fabrics.loc["compute", "spine_switches"] == document.fabrics[0].spine_switches
    racks = frame(document, "racks")
    expected = sum(group.count * group.it_power_kw for group in document.racks)
    assert (racks["count"] * racks["it_power_kw"]).sum() == pytest.approx(expected)
    assert frame(document.model_copy(update={"racks": ()}), "racks").empty
