"""The shipped catalogs, price books and schemas: every figure cited, nothing that cannot be."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner import shipped
from planner.commands.check import json_schema
from planner.figures import ITEM_UNITS
from planner.files import shorten_path
from planner.loader.catalogs import (
    Catalogs,
    catalog_figures,
    implausible,
    load_catalogs,
)
from planner.loader.prices import Prices, load_prices
from planner.schema.catalog import Item, Link, Port

SCHEMAS = Path(__file__).parent.parent / "schemas"
WRITES_FASTER: dict[str, str] = {
    "everpure_exa_30dn": "measured so: MLPerf Storage v3.0, checkpoint of 1T parameters",
    "everpure_exa_15dn": "measured so: MLPerf Storage v3.0, checkpoint of 1T parameters",
}
"""Storage that writes faster than it reads, and why."""
UNPRICED = {
    **dict.fromkeys(("nvidia_q3450_ld", "nvidia_sn6810_ld", "nvidia_sn6800_ld"), "no source"),
    "nvidia_dgx_a100": "no list price is found any more",
    "everpure_exa_30dn": "no source",
    "hpe_cray_k3000": "no source",
    "intel_gaudi3_8x": "only the baseboard kit has a published price",
    "legrand_nvidpd13": "no source",
    "pdu_raritan_px3_5747": "no source",
    "cisco_9336c_fx2": "no source",
    "nvidia_mfp7e40": "no source",
    "nvidia_mca4k50": "no source",
}
NEEDS = {
    # category: the figures that a plan asks of it
    "switch": ("consumes.it_power", "consumes.rack_units"),
    "transceiver": ("consumes.it_power",),
    "cdu": ("provides.cooling", "consumes.it_power"),
    "management": ("consumes.it_power", "consumes.rack_units"),
}
TRANSCEIVER_KW = (0.001, 0.05)


@cache
def catalogs() -> Catalogs:
    return load_catalogs(list(shipped.catalog_files().values()))


@cache
def prices() -> Prices:
    return load_prices(list(shipped.price_files().values()), catalogs().items)


@cache
def unknown() -> dict[str, tuple[str, ...]]:
    """Return what is known and cannot be planned for lack of a figure, with what it lacks."""
    lacking = {name: tuple(_lacking(item)) for name, item in catalogs().items.items()}
    return {name: words for name, words in lacking.items() if words}


def _lacking(item: Item) -> Iterator[str]:
    parts = [catalogs().items[part.id] for part in item.components] or [item]
    if item.category == "gpu_system":
        known: dict[str, object] = {"dense rate": item.gpu.bf16_dense or item.gpu.fp8_dense}
        known["compute ports"] = item.ports.compute
    elif item.category == "storage":
        known = {"read": item.provides.read, "usable": item.provides.usable}
        known["write"] = item.is_bulk or item.provides.write
    else:
        return
    yield from (name for name, figure in known.items() if not figure)
    if any(part.consumes.it_power is None for part in parts):
        yield "power draw"
    if item.consumes.racks is None and any(part.consumes.rack_units is None for part in parts):
        yield "rack units"


def ports(item: Item) -> Iterator[tuple[str, Port]]:
    for name in type(item.ports).model_fields:
        port = getattr(item.ports, name)
        if port is not None:
            yield name, port


def test_systems_and_storage_say_how_they_are_connected() -> None:
    for item in catalogs().items.values():
        named = {name for name, _ in ports(item)}
        if "compute ports" in unknown().get(item.id, ()):
            continue
        if item.category == "gpu_system" and item.lifecycle != "announced":
            assert named == {"compute", "storage", "in_band", "out_of_band"}, item.id
            assert item.ports.compute is not None
            assert item.provides.gpus is not None
            assert item.ports.compute.count == item.provides.gpus.value, "one port per GPU"
            assert item.ports.compute.count % item.ports.compute.rails == 0
        if item.category == "storage" and item.id not in unknown():
            assert {"storage", "out_of_band"} <= named, item.id


def links() -> Iterator[tuple[Item, float, int, Link]]:
    """Yield (switch, speed in Gb/s, ports, link) of every port group."""
    for item in catalogs().items.values():
        for group in item.switch.ports if item.switch else ():
            if group.link is not None:
                yield item, group.speed_gbit_per_s, group.count, group.link


def wired_here() -> Iterator[Item]:
    """Yield the switches that fabrics are built of: those of clusters come wired."""
    clusters = [family.cluster for family in catalogs().families.values() if family.cluster]
    own = {part.item for cluster in clusters for part in cluster.parts}
    yield from (item for item in catalogs().items.values() if item.switch and item.id not in own)


def test_only_uplinks_of_management_switches_are_without_a_link() -> None:
    """Their cable comes with the switch above."""
    for item in wired_here():
        groups = item.switch.ports if item.switch else ()
        missing = [group.speed_gbit_per_s for group in groups if group.link is None]
        assert missing == ([100.0] if item.id == "nvidia_sn2201" else []), item.id


def test_links_are_made_of_priced_cables_and_transceivers() -> None:
    for switch, _, _, link in links():
        parts = {link.cable: "cable"}
        for end in (link.switch_end, link.system_end):
            if end is not None:
                parts[end.item] = "transceiver"
        for part, category in parts.items():
            assert catalogs().items[part].category == category, (switch.id, part)
            assert part in prices().prices, (switch.id, part)
        assert (link.switch_end is None) == (link.system_end is None), switch.id


def test_port_groups_split_the_same_front_panel() -> None:
    for item in wired_here():
        assert item.switch is not None
        groups = [group for group in item.switch.ports if group.link is not None]
        capacities = {group.speed_gbit_per_s * group.count for group in groups}
        assert len(capacities) == 1, item.id


def test_companions_have_the_figures_that_a_plan_asks_for() -> None:
    for item in catalogs().items.values():
        known = {name for name, _ in catalog_figures(item)}
        for needed in NEEDS.get(item.category, ()):
            on_the_floor = needed == "consumes.rack_units" and "consumes.racks" in known
            assert needed in known or on_the_floor, (item.id, needed)
        if item.category == "transceiver":
            assert item.consumes.it_power is not None
            assert TRANSCEIVER_KW[0] <= item.consumes.it_power.value <= TRANSCEIVER_KW[1], item.id
        assert (item.category == "switch") == (item.switch is not None), item.id
        assert (item.category == "software") == (item.licence is not None), item.id


@pytest.mark.parametrize(
    ("switch", "transceiver", "cages", "published_kw"),
    [
        ("nvidia_qm9700", "nvidia_mms4x00_nm", 32, 1.72),
        ("nvidia_q3400", "nvidia_mms4a00", 72, 7.0),
        ("nvidia_sn5610", "nvidia_mms4x00_nm", 64, 2.08),
    ],
)
def test_switches_and_their_optics_draw_what_is_published(
    switch: str, transceiver: str, cages: int, published_kw: float
) -> None:
    own, each = (catalogs().items[name].consumes.it_power for name in (switch, transceiver))
    assert own is not None
    assert each is not None
    assert own.value + cages * each.value == pytest.approx(published_kw)


UNIT_USD = {
    "transceiver": (200, 2_500), "cable": (20, 1_500), "rack": (2_000, 8_000),
    "pdu": (1_000, 6_000), "switch": (4_000, 200_000), "management": (5_000, 50_000),
}  # fmt: skip
"""The least and the most that a unit of a dependent item costs."""


def test_a_figure_far_from_those_of_its_kind_is_found() -> None:
    """A DGX B200 of 4.3 kW draws less than its GPUs; a transceiver of 8,790 USD is ten."""
    assert list(implausible(catalogs().items, prices().prices)) == []
    for name, price in prices().prices.items():
        low, high = UNIT_USD.get(catalogs().items[name].category, (0, math.inf))
        assert low <= price.list_usd <= high, name


def test_a_figure_read_10_percent_high_is_found() -> None:
    """Figures typed from the makers' pages, whatever the catalogs have."""
    published = yaml.safe_load((SCHEMAS.parent / "tests/data/published.yaml").read_text("utf-8"))
    for path, figures in published.items():
        for name, value in figures.items():
            found: Any = prices().prices[name] if path == "list_usd" else catalogs().items[name]
            for step in path.split("."):
                found = found[int(step)] if step.isdigit() else getattr(found, step)
            assert getattr(found, "value", found) == value, (path, name)


def test_every_source_says_what_it_is_and_none_is_left_over() -> None:
    for path in shipped.catalog_files().values():
        text = path.read_text("utf-8")
        for name in load_catalogs([path]).sources[shorten_path(path)]:
            assert re.search(rf"source: {name}\b", text), f"{path.name}: {name} is never cited"


def test_every_source_of_a_catalog_has_a_date() -> None:
    """When it was published, or when it was read where it bears no date."""
    for path in shipped.catalog_files().values():
        for name, source in load_catalogs([path]).sources[shorten_path(path)].items():
            assert (source.date is None) != (source.read is None), f"{path.name}: {name}"
            if source.date is not None and re.search(r"20\d\d-\d\d-\d\d", source.title):
                assert source.date[:4] in source.title, f"{path.name}: {name}"


def test_an_incomplete_item_states_the_missing_figure() -> None:
    """Each lacks a figure that plans ask for, and its notes say that it cannot be planned."""
    for name, words in unknown().items():
        item = catalogs().items[name]
        if set(words) - {"power draw", "rack units"}:
            notes = " ".join(item.notes)
            assert re.search("cannot be planned|leaves|No dense rate", notes), name
    assert {"ddn_ai400x3", "nvidia_gh200", "ibm_sss_6000", "netapp_afx_1k"} <= set(unknown())


def test_each_figure_has_its_unit() -> None:
    """Burst bandwidth stood without a unit on the screen and among a plan's assumptions."""
    found = [each for item in catalogs().items.values() for each in catalog_figures(item)]
    names = {name for name, each in found if isinstance(getattr(each, "value", ""), float | int)}
    names = {name for name in names if not name.startswith("facts.")}
    assert names - ITEM_UNITS.keys() == {"consumes.liquid_share"}


def test_bandwidths_of_storage_hang_together() -> None:
    """Ports carry them, reads are no slower than writes, and a basis is stated."""
    for item in catalogs().items.values():
        if item.category != "storage":
            continue
        given, rates = item.provides, []
        if given.read is not None and given.write is not None:
            rates.append((given.read.value, given.write.value))
        if item.id not in WRITES_FASTER:
            assert all(read >= write for read, write in rates), item.id
        if given.read is not None and item.id not in unknown():
            port = item.ports.storage
            assert port is not None
            assert port.count * port.speed_gbit_per_s / 8 >= given.read.value, item.id
        assert item.is_bulk or rates or "write" in unknown()[item.id], item.id
        for figure in (given.read, given.write):
            if figure is not None:  # else not public, so that it cannot be planned
                assert figure.basis is not None, item.id
                assert figure.basis != "measured" or figure.benchmark is not None, item.id


def test_no_storage_price_is_below_its_drives() -> None:
    """Added up here from what the catalogs say of the drives and the index of 2026-08."""
    usd_per_tb = {"tlc": 753.0, "qlc": 603.0, "hdd": 41.0}
    known = catalogs().items
    for item in known.values():
        if item.category != "storage":
            continue
        drives = [*item.media]
        for part in item.components:
            drives += [media for media in known[part.id].media for _ in range(part.quantity)]
        usd = sum(usd_per_tb[media.type] * media.raw_tb for media in drives)
        price = prices().prices.get(item.id)
        if price is None:
            continue
        assert usd > 0, item.id
        assert price.list_usd > usd, item.id
        low, high = price.range_usd
        assert low < price.list_usd < high, item.id


def test_parts_cost_together_what_their_cluster_costs() -> None:
    """Spares of a cluster are spares of its parts: without prices they would be had for nothing."""
    known, listed = catalogs().items, prices().prices
    bundles = [item for name, item in known.items() if item.components and name in listed]
    assert len(bundles) > 10
    for bundle in bundles:
        parts = sum(part.quantity * listed[part.id].list_usd for part in bundle.components)
        assert parts == pytest.approx(listed[bundle.id].list_usd, rel=1e-9), bundle.id


def test_every_price_has_a_range() -> None:
    for name, price in prices().prices.items():
        low, high = price.range_usd
        assert low < high or price.list_usd == 0, name
        if price.per_year_usd:
            low, high = price.per_year_range_usd
            assert low < price.per_year_usd < high, name


def test_prices_are_for_items_that_exist() -> None:
    sold = set(catalogs().items)
    assert set(prices().prices) <= sold
    unpriced = sold - set(prices().prices)
    assert set(UNPRICED) <= unpriced
    asked = {item.id for item in catalogs().items.values() if item.category == "service"}
    assert unpriced - set(UNPRICED) - asked <= set(unknown()), "priced, or not to be planned"


def test_every_price_is_dated_sourced_and_never_nothing() -> None:
    for name, price in prices().prices.items():
        assert price.list_usd > 0 or price.per_year_usd, name
        assert price.source in prices().sources[name], name
        assert re.match(r"20\d\d", price.date), name
        if price.support_per_year is not None:
            assert price.support_source in prices().sources[name], name
            assert price.support_confidence is not None, name


@pytest.mark.parametrize("name", sorted(path.stem for path in SCHEMAS.glob("*.json")))
def test_committed_schemas_are_those_of_the_code(name: str) -> None:
    path, now = SCHEMAS / f"{name}.json", json_schema(name)
    if os.environ.get("PLANNER_GOLDEN") == "write":
        path.write_text(now, "utf-8")
    again = "PLANNER_GOLDEN=write pytest tests/test_catalogs.py writes every schema again"
    assert path.read_text("utf-8") == now, again
    assert next(iter(json.loads(now))) == "$schema"
