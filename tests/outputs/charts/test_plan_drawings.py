"""The hall from above and the fabrics: every rack in its place once, every count as planned."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from planner.outputs.charts.model import Boxes, Chart
from planner.outputs.charts.picture import png, svg
from planner.outputs.charts.plan_drawings import MOST_BOXES, fabrics, hall
from planner.schema.plan import Plan, RackGroup, RackPlaces
from planner.schema.site import Site
from tests.world.gear_plans import plan
from tests.world.setups import CASES

PLAN = plan(CASES["complete"])
FLOOR = {
    "racks_per_row": 4, "rack_width": "80 cm", "row_pitch": "3 m", "riser": "1.5 m",
}  # fmt: skip


def site(racks: object, **more: object) -> Site:
    rack = {"height": "48 RU", "power": "70 kW"}
    return Site.model_validate({"pue": 1.2, "racks": racks, "rack": rack, **more})


def drawn(chart: Chart) -> list[Boxes]:
    return [layer for layer in chart.panels[0].layers if isinstance(layer, Boxes)]


def corners(chart: Chart) -> dict[str, tuple[float, float]]:
    """Return where each rack is drawn, by its number."""
    return {
        text: (x, y)
        for layer in drawn(chart)
        for text, x, y in zip(layer.texts, layer.x, layer.y, strict=True)
        if text
    }


def with_racks(*groups: RackGroup) -> Plan:
    return PLAN.model_copy(update={"racks": groups})


def group(first: int, count: int, role: str = "gpu", **more: object) -> RackGroup:
    one = next(each for each in PLAN.racks if each.rack_class == role)
    return one.model_copy(update={"first": first, "count": count, **more})


def of(some: Plan, where: Site | None = None) -> Chart:
    found = hall(some, where)
    assert found is not None
    return found[0]


def test_every_rack_is_drawn_once_in_the_colour_of_its_role() -> None:
    chart = of(PLAN)
    named = Counter(layer.name for layer in drawn(chart) for text in layer.texts if text)
    expected: Counter[str] = Counter()
    names = {"gpu": "GPU systems", "storage": "Storage",
             "network": "Network, cooling and management"}  # fmt: skip
    for each in PLAN.racks:
        expected[names[each.rack_class]] += each.count
    assert named == expected
    count = sum(expected.values())
    assert set(corners(chart)) == {str(rack) for rack in range(1, count + 1)}
    assert len(set(corners(chart).values())) == count
    looks = {(layer.tone, layer.look) for layer in drawn(chart)}
    assert len(looks) == len({layer.name for layer in drawn(chart)})
    assert "Schematic" in chart.subtitle


def test_a_floor_is_drawn_to_scale_with_its_free_positions() -> None:
    chart = of(with_racks(group(1, 6)), site(10, floor=FLOOR))
    at = corners(chart)
    assert at["1"] == (0.0, 0.0) and at["4"] == (pytest.approx(2.4), 0.0)
    assert at["5"] == (0.0, -3.0) and at["6"] == (pytest.approx(0.8), -3.0)
    (free,) = (layer for layer in drawn(chart) if layer.name == "Free position")
    assert len(free.x) == 4 and free.hovers == tuple(
        f"position {place}: free" for place in (7, 8, 9, 10)
    )
    assert "3 m apart" in chart.subtitle and "Schematic" not in chart.subtitle
    assert "6 racks of 10 positions" in chart.subtitle


def test_racks_stand_at_the_positions_that_the_plan_gives_them() -> None:
    places = (
        RackPlaces(group="b", first=2, count=1, hall_first=6),
        RackPlaces(group="c", first=1, count=2, hall_first=8),
    )
    groups = tuple({"count": count, "name": name} for count, name in ((4, "a"), (3, "b"), (2, "c")))
    where = site(groups, floor=FLOOR)
    chart = of(with_racks(group(1, 3, places=places)), where)
    at = corners(chart)
    assert at["1"] == (pytest.approx(0.8), -3.0)  # position 6: the second of row 2
    assert at["2"] == (pytest.approx(2.4), -3.0) and at["3"] == (0.0, -6.0)
    hovers = [hover for layer in drawn(chart) for hover in layer.hovers]
    assert any(hover.startswith("Rack 1, position b-02: GPU systems") for hover in hovers)
    assert any(hover.startswith("Rack 3, position c-02") for hover in hovers)
    (free,) = (layer for layer in drawn(chart) if layer.name == "Free position")
    assert len(free.x) == 9 - 3


def test_the_pointer_and_the_table_tell_kw_weight_and_content() -> None:
    found = hall(PLAN)
    assert found is not None
    chart, table = found
    first = PLAN.racks[0]
    (said,) = (hover for layer in drawn(chart) for hover in layer.hovers
               if hover.startswith("Rack 1:"))  # fmt: skip
    assert f"{first.it_power_kw:,.1f} of {first.power_limit_kw:,.1f} kW" in said
    assert f"{first.weight_kg:,.0f} kg" in said and f"{len(first.devices)} ×" in said
    assert table.total == len(PLAN.racks) == len(table.rows)
    assert table.rows[0][0] == f"1 to {first.count}"


@pytest.mark.parametrize("count", [MOST_BOXES, MOST_BOXES + 1, 5003])
def test_a_large_hall_draws_neighbours_together(count: int) -> None:
    chart = of(with_racks(group(1, count - 3), group(count - 2, 3, "storage")))
    boxes = [pair for layer in drawn(chart) for pair in zip(layer.x, layer.hovers, strict=True)]
    assert len(boxes) <= MOST_BOXES * 1.25
    racks = 0
    for _, hover in boxes:
        words = hover.split(":")[0].split()
        racks += 1 if words[0] == "Rack" else int(words[3]) - int(words[1]) + 1
    assert racks == count
    rows: dict[float, list[tuple[float, float]]] = {}
    for layer in drawn(chart):
        for x, y in zip(layer.x, layer.y, strict=True):
            rows.setdefault(y, []).append((x, x + layer.width))
    for row in rows.values():
        assert all(one[1] < other[0] for one, other in pairwise(sorted(row)))


def test_fabrics_tell_their_switches_links_and_oversubscription() -> None:
    found = fabrics(PLAN)
    assert found is not None
    chart, table = found
    assert len(chart.panels) == len(PLAN.fabrics) == table.total
    for fabric, panel in zip(PLAN.fabrics, chart.panels, strict=True):
        devices, switches, links = (x for x in panel.layers if isinstance(x, Boxes))
        tiers = [
            n for n in (fabric.leaf_switches, fabric.spine_switches, fabric.core_switches) if n
        ]
        assert [int(text.split()[0].replace(",", "")) for text in switches.texts] == tiers
        assert len(links.texts) == len(tiers) and len(devices.texts) == 1
        assert links.texts[0].startswith(f"{fabric.system_links:,} link")
        if fabric.spine_switches:
            ratio = f"{fabric.oversubscription:g}:1"
            assert links.texts[1] == f"{fabric.leaf_spine_links:,} links, {ratio}"
        lowest = sorted(switches.y)
        assert list(switches.y) == lowest and devices.y[0] < lowest[0]
    assert table.rows[0][3:9] == ("8", "4", "0", "256", "256", "0")


def test_what_is_not_there_is_not_drawn() -> None:
    assert hall(PLAN.model_copy(update={"racks": ()})) is None
    assert fabrics(PLAN.model_copy(update={"fabrics": ()})) is None


def test_drawings_are_pictures_too_the_same_each_time() -> None:
    chart = of(PLAN)
    assert png(chart).startswith(b"\x89PNG") and svg(chart) == svg(chart)
    found = fabrics(PLAN)
    assert found is not None and b"<svg" in svg(found[0])
