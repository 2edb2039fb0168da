"""Checks of catalogs: rules beyond the schema, impossible figures, and ratios outside the usual.

Each band is about twice as wide as the range of the shipped catalogs, so that an error of a factor
of two to ten shows. A figure outside is a warning: new products may leave a band.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from pydantic import BaseModel

from planner.errors import did_you_mean
from planner.figures import FIGURES, STATED
from planner.schema.catalog import Consumes, Family, Figure, Item, Port, Ports, Source, Switch
from planner.schema.prices import Price
from planner.schema.running import check_range

Fault = tuple[str, str | None, str]
"""Cause, fix, and the dotted part of the item."""

Row = tuple[bool, str, str | None, str]
"""A rule: whether the item breaks it, then its fault."""

LIST_IT = "list it there with its title"
OUT = "leave it out"
KW_PER_RACK_UNIT = 6.0
RANGES = {
    "provides.gpus": (1, 1024),
    "provides.read": (0.5, 5000.0),
    "provides.write": (0.2, 5000.0),
    "provides.usable": (1.0, 100_000.0),
    "consumes.it_power": (0.0, 300.0),
    "consumes.rack_units": (0.0, 60.0),
    "consumes.weight": (0.0, 5000.0),
    "consumes.typical_power": (0.0, 300.0),
    "provides.cooling": (1.0, 20_000.0),
    "provides.feed": (0.5, 500.0),
    "gpu.memory": (8.0, 2000.0),
    "gpu.bf16_dense": (50.0, 50_000.0),
    "gpu.fp8_dense": (50.0, 100_000.0),
    "gpu.tdp": (0.1, 5.0),
}


_PLAIN = frozenset({str, int, float, bool, tuple})


def catalog_figures(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Figure[object]]]:
    """Every figure inside a model with its dotted name."""
    for name, value in model.__dict__.items():
        if value is None or type(value) in _PLAIN:  # isinstance of a pydantic model is slow
            continue
        if isinstance(value, Figure):
            yield prefix + name, value
        elif isinstance(value, BaseModel):
            yield from catalog_figures(value, f"{prefix}{name}.")
        elif isinstance(value, dict):
            for key, entry in value.items():
                if isinstance(entry, Figure):
                    yield f"{prefix}{name}.{key}", entry


class Shelf(NamedTuple):
    """Parts of catalogs that an entry may refer to."""

    sources: Mapping[str, Source]
    items: Mapping[str, Item]
    families: Mapping[str, Family] = {}

    def source(self, name: str, path: str) -> Iterator[Fault]:
        """The fault of a source that is not listed."""
        if name not in self.sources:
            message = (
                f"{path.removesuffix('.source')}: the source '{name}' is not listed under sources"
            )
            yield message, did_you_mean(name, list(self.sources)) or LIST_IT, path

    def part(self, name: str, category: str, path: str) -> Iterator[Fault]:
        """The fault of an item that is missing or of another category."""
        if name not in self.items:
            hint = did_you_mean(name, list(self.items)) or f"add an item of category {category}"
            yield f"no {category} '{name}'", hint, path
        elif self.items[name].category != category:
            yield f"'{name}' is not a {category}", f"give it category: {category}", path


def check_item(
    item: Item,
    sources: Mapping[str, Source],
    items: Mapping[str, Item],
    families: Mapping[str, Family],
) -> Iterator[Fault]:
    """Faults of an item, each with a fix."""
    shelf = Shelf(sources, items, families)
    yield from _cited(item, shelf)
    yield from (row[1:] for row in (*_belongs(item), *_kinds(item), *_units(item)) if row[0])
    yield from _family(item, shelf)
    yield from _running(item)
    yield from _components(item, shelf)
    for name in Ports.model_fields:
        if (port := getattr(item.ports, name)) is not None:
            yield from _port(name, port, shelf)
    if item.switch is not None:
        yield from _switch(item.switch, shelf)
    if item.beyond is not None and item.category in ("cable", "transceiver"):
        yield from _beyond(item, item.beyond, shelf)


def _cited(item: Item, shelf: Shelf) -> Iterator[Fault]:
    """Sources that figures, tables and parts cite and no file lists."""
    rows = [*((name, figure.source) for name, figure in catalog_figures(item))]
    tables: tuple[tuple[str, tuple[Any, ...]], ...] = (
        ("power_points", item.power_points),
        ("achieved", item.achieved),
    )
    for name, table in tables:
        rows += [(f"{name}.{number}.source", row.source) for number, row in enumerate(table)]
    single: dict[str, Any] = {
        f"ports.{name}": getattr(item.ports, name) for name in Ports.model_fields
    }
    single |= {"sizes": item.sizes, "switch": item.switch, "lengths": item.lengths}
    for name, part in single.items():
        if part is not None:
            rows.append((f"{name}.source", part.source))
    for path, source in rows:
        yield from shelf.source(source, path)


def _belongs(item: Item) -> Iterator[Row]:
    """Parts of an item that another category has."""
    category, storage, gpus = item.category, "storage items only", "GPU systems only"
    links = category in ("cable", "transceiver")
    rows = (
        ("gpu_system", "power_points", bool(item.power_points), gpus),
        ("gpu_system", "achieved", bool(item.achieved), gpus),
        ("gpu_system", "spare_unit", item.spare_unit is not None, gpus),
        ("storage", "family", item.family is not None, storage),
        ("storage", "sizes", item.sizes is not None, storage),
        ("storage", "tier", item.is_bulk, storage),
        ("storage", "fail_units", item.fail_units is not None, storage),
        ("cable", "lengths", item.lengths is not None, "cables"),
        (category if links else "", "reach", item.reach is not None, "cables and transceivers"),
        (category if links else "", "beyond", item.beyond is not None, "cables and transceivers"),
    )
    for owner, part, given, whose in rows:
        plural = "belong" if part.endswith(("s", "th")) and part != "fail_units" else "belongs"
        yield given and category != owner, f"{part} {plural} to {whose}", OUT, part


def _kinds(item: Item) -> Iterator[Row]:
    """Parts that a category must have."""
    rows = (
        ("switch", item.switch, "add switch: {protocol: ethernet, ports: [...]}"),
        ("software", item.licence, "add licence: {per: gpu}"),
        ("service", item.service, "add service: {per: rack}"),
    )
    for category, part, fix in rows:
        name = "licence" if category == "software" else category
        message = f"{name} belongs to items of category {category}, and to all of them"
        wrong = (part is None) == (item.category == category)
        yield wrong, message, f"{fix}, or change the category", "id"
    fix = "add gpus: {value: 8, source: ..., confidence: ...}"
    gpus = item.category == "gpu_system" and item.provides.gpus is None
    yield gpus, "a GPU system needs provides.gpus", fix, "provides"


def _units(item: Item) -> Iterator[Row]:
    """Counts and reaches that contradict each other."""
    low, high, gpus, tray = item.min_units, item.max_units, item.provides.gpus, item.spare_unit
    if low is not None and high is not None:
        message = f"min_units {low.value} is more than max_units {high.value}"
        yield low.value > high.value, message, None, "min_units"
    if tray is not None and gpus is not None and item.category == "gpu_system":
        message = f"trays of {tray.tray.value} GPUs do not make up a system of {gpus.value}"
        fix = "give a number that divides provides.gpus"
        yield gpus.value % tray.tray.value > 0, message, fix, "spare_unit.tray"
    if item.sizes is not None:
        counts = [row.units for row in item.sizes.rows]
        fix = "order the rows from the fewest units to the most"
        message = "sizes: the rows must have rising units"
        yield counts != sorted(set(counts)), message, fix, "sizes.rows"


def _family(item: Item, shelf: Shelf) -> Iterator[Fault]:
    if item.category != "storage":
        return
    known = list(shelf.families)
    if item.family is None:
        yield "a storage item needs its family", "add family: " + " or ".join(known), "id"
    elif item.is_bulk and item.sizes is not None:
        fix = "state provides.read and provides.usable of a unit"
        yield "a bulk item has no table of sizes", fix, "sizes"
    elif item.family not in known:
        hint = did_you_mean(item.family, known)
        fix = "list it under families, or include its catalog, as in include: [storage_ddn]"
        yield f"no family '{item.family}'", hint or fix, "family"


def _running(item: Item) -> Iterator[Fault]:
    """Measured rates and set points of a GPU system outside their ranges, or given twice."""
    for number, row in enumerate(item.achieved):
        if not (row.low_tflops or 0.0) <= row.rate_tflops <= (row.high_tflops or row.rate_tflops):
            place = f"achieved.{number}"
            yield f"{place}: the rate is outside its range", "give low <= rate <= high", place
    seen = set()
    for number, point in enumerate(item.power_points):
        place = f"power_points.{number}"
        try:
            check_range(point.throughput, point.low, point.high)
        except ValueError as error:
            yield f"{place}: {error}", "give low <= throughput <= high", place
        key = (point.gpu_cap, point.of, point.precision)
        if key in seen:
            yield f"{place}: the cap {point.gpu_cap:.4g} is there twice", "give each once", place
        seen.add(key)


def _components(item: Item, shelf: Shelf) -> Iterator[Fault]:
    consumed = (f"consumes.{name}" for name in Consumes.model_fields if name != "racks")
    summed = dict.fromkeys((*consumed, *(path for row in STATED.values() for path in row.paths)))
    if item.components and any(attrgetter(path)(item) is not None for path in summed):
        first, *others = summed
        *others, last = (path.removeprefix("consumes.") for path in others)
        fix = f"leave out {', '.join((first, *others))} and {last}"
        yield "a bundle consumes the sum of its components", fix, "consumes"
    yield from _listed_twice([part.id for part in item.components], "the component ", "components")
    for part in item.components:
        yield from shelf.part(part.id, "component", "components")


def _listed_twice(names: list[str], what: str, path: str) -> Iterator[Fault]:
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{what}'{name}' is listed twice", "add up its quantities", path


def _port(name: str, port: Port, shelf: Shelf) -> Iterator[Fault]:
    path, split = f"ports.{name}", port.split.transceiver if port.split is not None else None
    if port.count % port.rails:
        message = f"{port.count} ports do not spread evenly over {port.rails} rails"
        yield message, None, f"{path}.rails"
    # The catalog of a transceiver need not be in use where no fabric is: see network_checks.
    for end, place in ((port.transceiver, "transceiver"), (split, "split.transceiver")):
        if end is not None and end.item in shelf.items:
            yield from shelf.part(end.item, "transceiver", f"{path}.{place}")
    if name != "compute" and (port.split is not None or port.rail_group is not None):
        message = "rail groups and planes are those of compute ports"
        yield message, "leave out rail_group and split", path
    if name in ("compute", "out_of_band") and port.form is not None:
        yield "forms are those of storage and in-band ports", "leave out form", f"{path}.form"


def _switch(switch: Switch, shelf: Shelf) -> Iterator[Fault]:
    for what in ("count", "speed_gbit_per_s"):
        values = [getattr(group, what) for group in switch.ports]
        if len(set(values)) < len(values):
            yield "two port groups are the same", "give each group once", "switch.ports"
    for index, group in enumerate(switch.ports):
        path = f"switch.ports.{index}"
        links = [(f"forms.{place}", link) for place, link in enumerate(group.forms)]
        for key, link in [("link", group.link), *links]:
            if link is None:
                continue
            yield from shelf.part(link.cable, "cable", f"{path}.{key}")
            for end in (link.switch_end, link.system_end):
                if end:
                    yield from shelf.part(end.item, "transceiver", f"{path}.{key}")
        for place, copper in enumerate(group.copper):
            yield from shelf.part(copper.cable, "cable", f"{path}.copper.{place}")


def _beyond(item: Item, name: str, shelf: Shelf) -> Iterator[Fault]:
    """A longer part that is missing, of another category, or reaches no further."""
    yield from shelf.part(name, item.category, "beyond")
    other = shelf.items.get(name)
    if item.reach is None:
        yield "beyond goes with reach", "give reach: {value: 50 m, ...}", "beyond"
    elif other is not None and other.reach and other.reach.value <= item.reach.value:
        message = f"'{name}' reaches no further than {item.reach.value:g} m"
        yield message, "name a part that reaches further, or leave beyond out", "beyond"


def check_family(
    family: Family, sources: Mapping[str, Source], items: Mapping[str, Item]
) -> Iterator[Fault]:
    """Faults of a storage family, each with a fix."""
    shelf, cluster = Shelf(sources, items), family.cluster
    for name, figure in catalog_figures(family):
        yield from shelf.source(figure.source, name)
    if cluster is None:
        return
    yield from _listed_twice([part.item for part in cluster.parts], "cluster.parts: ", "cluster")
    for part in cluster.parts:
        yield from shelf.source(part.source, f"cluster.parts.{part.item}.source")
        other = items.get(part.item)
        if other is None:
            hint = did_you_mean(part.item, list(items)) or "add it under items"
            yield f"cluster.parts: no item '{part.item}'", hint, "cluster"
        elif other.category not in ("switch", "management"):
            message = f"cluster.parts: '{part.item}' is of category {other.category}"
            yield message, "name a switch or a management item", "cluster"
    alone, most = cluster.alone, cluster.max_units.value
    if alone is not None and alone.value > most:
        message = f"cluster.alone {alone.value} is more than the {most} units of a cluster"
        yield message, "give cluster.max_units or fewer", "cluster"


def never_planned(item: Item, items: Mapping[str, Item], *, priced: bool) -> tuple[str, ...]:
    """Labels of the figures that plans need and a GPU system or storage lacks.

    Limits and prices of power need the draw, counts of racks the height.
    """
    if item.category not in ("gpu_system", "storage"):
        return ()
    parts = [items[part.id] for part in item.components] or [item]
    lacking: list[str] = []
    if item.category == "gpu_system":
        if item.gpu.bf16_dense is None and item.gpu.fp8_dense is None:
            lacking.append("dense rate")
        if item.ports.compute is None:
            lacking.append("compute ports")
    else:
        if item.sizes is None:
            names = ("read",) if item.is_bulk else ("read", "write")
            lacking += [name for name in names if getattr(item.provides, name) is None]
        if item.provides.usable is None:
            lacking.append(FIGURES["usable_tb"].label)
    if any(part.consumes.it_power is None for part in parts):
        lacking.append("power draw")
    if item.consumes.racks is None and any(part.consumes.rack_units is None for part in parts):
        lacking.append(FIGURES["rack_units"].label)
    return (*lacking, *(() if priced else ("price",)))


def impossible_figures(item: Item) -> Iterator[tuple[str, str]]:
    """(item id, message) of figures outside their range or that contradict each other."""
    known = {name: figure.value for name, figure in catalog_figures(item)}
    for name, (low, high) in RANGES.items():
        value = known.get(name)
        if isinstance(value, (int, float)) and not low <= value <= high:
            yield item.id, f"{name} = {value:g} is outside {low:g} to {high:g}"
    bf16, fp8 = item.gpu.bf16_dense, item.gpu.fp8_dense
    if bf16 is not None and fp8 is not None and fp8.value < bf16.value:
        yield item.id, f"fp8 {fp8.value:g} is slower than bf16 {bf16.value:g} TFLOP/s"
    power, height = item.consumes.it_power, item.consumes.rack_units
    if (
        power is not None
        and height is not None
        and 0 < height.value * KW_PER_RACK_UNIT < power.value
    ):
        yield item.id, f"{power.value:g} kW in {height.value:g} RU is denser than anything sold"
    typical = item.consumes.typical_power
    if typical is not None and power is not None and typical.value > power.value:
        yield item.id, f"typical power {typical.value:g} kW is more than {power.value:g} kW"
    tdp, gpus = item.gpu.tdp, item.provides.gpus
    if power is not None and tdp is not None and gpus is not None:
        gpus_kw = tdp.value * gpus.value
        if gpus_kw > power.value:
            yield item.id, f"the GPUs alone draw {gpus_kw:g} kW of {power.value:g} kW"


class Band(NamedTuple):
    """The usual range of a figure, or of one ``per`` another, for items of a category, or of the
    bulk tier."""

    category: str
    label: str
    figure: str
    per: str
    low: float
    high: float
    unit: str = ""


FAILURES = (5e-5, 1e-2)
"""Failures per GPU and day: published are 2.9e-4 to 3e-3, arXiv 2410.21680 and 2407.21783."""
BANDS = (
    Band("gpu_system", "draw per TDP of all GPUs", "draw_kw", "gpus_tdp_kw", 1.05, 2.6),
    Band("gpu_system", "draw per GPU", "draw_kw", "gpus", 0.4, 4.0, "kW"),
    Band("gpu_system", "draw per rack unit", "draw_kw", "rack_units", 0.5, 6.0, "kW"),
    Band("gpu_system", "weight per rack unit", "weight_kg", "rack_units", 5.0, 60.0, "kg"),
    Band("gpu_system", "bf16 rate per kW of TDP", "bf16", "tdp_kw", 400.0, 5000.0, "TFLOP/s"),
    Band("gpu_system", "fp8 per bf16 rate", "fp8", "bf16", 0.95, 4.1),
    Band("gpu_system", "memory per TFLOP/s of bf16", "memory_gb", "bf16", 0.035, 0.5, "GB"),
    Band("gpu_system", "failures per GPU and day", "failures", "", *FAILURES),
    Band("gpu_system", "list price per GPU", "usd", "gpus", 10_000.0, 150_000.0, "USD"),
    Band("storage", "draw per rack unit", "draw_kw", "rack_units", 0.2, 4.0, "kW"),
    Band("storage", "weight per rack unit", "weight_kg", "rack_units", 4.0, 40.0, "kg"),
    Band("storage", "read bandwidth per rack unit", "read", "rack_units", 3.0, 350.0, "GB/s"),
    Band("storage", "read bandwidth per speed of all ports", "read", "ports", 0.05, 1.0),
    Band("storage", "read bandwidth per kW", "read", "draw_kw", 4.0, 180.0, "GB/s"),
    Band("storage", "read per write bandwidth", "read", "write", 0.5, 12.0),
    Band("storage", "usable capacity per rack unit", "usable_tb", "rack_units", 8.0, 700.0, "TB"),
    Band("storage", "usable per raw capacity", "usable_tb", "raw_tb", 0.4, 1.0),
    Band("storage", "list price per GB/s of reading", "usd", "read", 700.0, 35_000.0, "USD"),
    Band("storage", "list price per usable TB", "usd", "usable_tb", 300.0, 5_000.0, "USD"),
    Band("bulk", "draw per rack unit", "draw_kw", "rack_units", 0.1, 1.5, "kW"),
    Band("bulk", "read bandwidth per rack unit", "read", "rack_units", 0.3, 60.0, "GB/s"),
    Band("bulk", "read bandwidth per speed of all ports", "read", "ports", 0.02, 1.0),
    Band("bulk", "usable capacity per rack unit", "usable_tb", "rack_units", 30.0, 2_000.0, "TB"),
    Band("bulk", "usable per raw capacity", "usable_tb", "raw_tb", 0.4, 1.0),
    Band("bulk", "list price per usable TB", "usd", "usable_tb", 15.0, 3_000.0, "USD"),
    Band("switch", "draw per rack unit", "draw_kw", "rack_units", 0.04, 3.0, "kW"),
    Band("switch", "weight per rack unit", "weight_kg", "rack_units", 3.0, 30.0, "kg"),
    Band("switch", "draw per Gb/s of all ports", "draw_kw", "switched", 8e-6, 7e-4, "kW"),
    Band("switch", "list price per Gb/s of all ports", "usd", "switched", 0.4, 20.0, "USD"),
    Band("transceiver", "draw", "draw_kw", "", 0.001, 0.06, "kW"),
    Band("transceiver", "list price", "usd", "", 20.0, 6_000.0, "USD"),
    Band("cable", "list price", "usd", "", 2.0, 4_000.0, "USD"),
)


def implausible(
    items: Mapping[str, Item], prices: Mapping[str, Price]
) -> Iterator[tuple[str, str]]:
    """(item id, message) of every figure or ratio outside its band."""
    for sku, item in items.items():
        known = _figures(item, prices.get(sku))
        for band in BANDS:
            part, whole = known.get(band.figure), known.get(band.per) if band.per else 1.0
            kind = "bulk" if item.is_bulk else item.category
            if band.category != kind or part is None or not whole:
                continue
            if not band.low <= part / whole <= band.high:
                unit = f" {band.unit}" if band.unit else ""
                usual = f"usually {band.low:g} to {band.high:g}"
                yield sku, f"{band.label} of '{sku}' is {part / whole:.3g}{unit}, {usual}"


def _figures(item: Item, price: Price | None) -> dict[str, float]:
    """Figures of an item by the names that bands use."""
    consumes, provides, gpu = item.consumes, item.provides, item.gpu
    stated = {
        "draw_kw": consumes.it_power,
        "rack_units": consumes.rack_units,
        "weight_kg": consumes.weight,
        "gpus": provides.gpus,
        "read": provides.read,
        "write": provides.write,
        "usable_tb": provides.usable,
        "tdp_kw": gpu.tdp,
        "bf16": gpu.bf16_dense,
        "fp8": gpu.fp8_dense,
        "memory_gb": gpu.memory,
        "failures": gpu.failures_per_day,
    }
    found = {name: float(figure.value) for name, figure in stated.items() if figure is not None}
    found["gpus_tdp_kw"] = found.get("gpus", 0.0) * found.get("tdp_kw", 0.0)
    found["raw_tb"] = sum(media.raw_tb for media in item.media)
    port = item.ports.storage
    found["ports"] = 0.0 if port is None else port.count * port.speed_gbit_per_s / 8
    groups = item.switch.ports if item.switch else ()
    found["switched"] = max((g.count * g.speed_gbit_per_s for g in groups), default=0.0)
    return found if price is None else found | {"usd": price.list_usd}
