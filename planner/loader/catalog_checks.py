"""What must hold in every catalog entry beyond its shape, and what hardware cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter

from pydantic import BaseModel

from planner.errors import did_you_mean
from planner.figures import FIGURES, STATED
from planner.schema.catalog import (
    Consumes,
    Family,
    Figure,
    Item,
    Port,
    Ports,
    Sizes,
    Source,
    Switch,
)
from planner.schema.running import check_range

Fault = tuple[str, str | None, str]
"""What is wrong, what would be right, and the dotted part it is about."""

LIST_IT = "list it there with its title"

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
    """Yield every figure inside a model with its dotted name."""
    for name, value in model.__dict__.items():
        if value is None or type(value) in _PLAIN:  # which pydantic takes its time to tell
            continue
        if isinstance(value, Figure):
            yield prefix + name, value
        elif isinstance(value, BaseModel):
            yield from catalog_figures(value, f"{prefix}{name}.")
        elif isinstance(value, dict):
            for key, entry in value.items():
                if isinstance(entry, Figure):
                    yield f"{prefix}{name}.{key}", entry


def check_item(
    item: Item,
    sources: Mapping[str, Source],
    items: Mapping[str, Item],
    families: Mapping[str, Family],
) -> Iterator[Fault]:
    """Yield what is wrong with an item, with a hint."""
    yield from _missing_sources(item, sources)
    if item.sizes is not None:
        yield from _sizes(item.sizes, sources)
    yield from _running(item, sources)
    yield from _category(item, families)
    yield from _components(item, items)
    yield from _networking(item, items, sources)
    yield from _reaches(item, items, sources)
    low, high = item.min_units, item.max_units
    if low is not None and high is not None and low.value > high.value:
        yield f"min_units {low.value} is more than max_units {high.value}", None, "min_units"


def _category(item: Item, families: Mapping[str, Family]) -> Iterator[Fault]:
    if item.category == "gpu_system" and item.provides.gpus is None:
        fix = "add gpus: {value: 8, source: ..., confidence: ...}"
        yield "a GPU system needs provides.gpus", fix, "provides"
    if item.category != "storage":
        if item.family is not None or item.sizes is not None:
            yield "family and sizes belong to storage items only", "leave them out", "family"
        if item.is_bulk:
            yield "tier belongs to storage items only", "leave it out", "tier"
    elif item.family is None:
        yield "a storage item needs its family", "add family: " + " or ".join(families), "id"
    elif item.is_bulk and item.sizes is not None:
        fix = "state provides.read and provides.usable of a unit"
        yield "a bulk item has no table of sizes", fix, "sizes"
    elif item.family not in families:
        hint = (
            did_you_mean(item.family, list(families))
            or "list it under families, or include its catalog, as in include: [storage_ddn]"
        )
        yield f"no family '{item.family}'", hint, "family"


def _networking(
    item: Item, items: Mapping[str, Item], sources: Mapping[str, Source]
) -> Iterator[Fault]:
    if (item.switch is None) == (item.category == "switch"):
        fix = "add switch: {protocol: ethernet, ports: [...]}, or change the category"
        yield "switch belongs to items of category switch, and to all of them", fix, "id"
    if (item.licence is None) == (item.category == "software"):
        fix = "add licence: {per: gpu}, or change the category"
        yield "licence belongs to items of category software, and to all of them", fix, "id"
    if (item.service is None) == (item.category == "service"):
        fix = "add service: {per: rack}, or change the category"
        yield "service belongs to items of category service, and to all of them", fix, "id"
    if item.fail_units is not None and item.category != "storage":
        yield "fail_units belongs to storage items only", "leave it out", "fail_units"
    yield from _trays(item)
    for name in Ports.model_fields:
        port = getattr(item.ports, name)
        if port is not None:
            yield from _port(name, port, items, sources)
    if item.switch is not None:
        yield from _switch(item.switch, items, sources)


def _trays(item: Item) -> Iterator[Fault]:
    if item.spare_unit is None:
        return
    gpus, tray = item.provides.gpus, item.spare_unit.tray.value
    if item.category != "gpu_system" or gpus is None:
        yield "spare_unit belongs to GPU systems only", "leave it out", "spare_unit"
    elif gpus.value % tray:
        message = f"trays of {tray} GPUs do not make up a system of {gpus.value}"
        yield message, "give a number that divides provides.gpus", "spare_unit.tray"


def _port(
    name: str, port: Port, items: Mapping[str, Item], sources: Mapping[str, Source]
) -> Iterator[Fault]:
    yield from _source(port.source, sources, f"ports.{name}.source")
    if port.count % port.rails:
        message = f"{port.count} ports do not spread evenly over {port.rails} rails"
        yield message, None, f"ports.{name}.rails"
    # Its catalog need not be in use where no fabric is: see checks.
    split = port.split.transceiver if port.split is not None else None
    for end, path in ((port.transceiver, "transceiver"), (split, "split.transceiver")):
        if end is not None and end.item in items:
            yield from _part(end.item, "transceiver", items, f"ports.{name}.{path}")
    if name != "compute" and (port.split is not None or port.rail_group is not None):
        message = "rail groups and planes are those of compute ports"
        yield message, "leave out rail_group and split", f"ports.{name}"
    if name in ("compute", "out_of_band") and port.form is not None:
        message = "forms are those of storage and in-band ports"
        yield message, "leave out form", f"ports.{name}.form"


def _switch(
    switch: Switch, items: Mapping[str, Item], sources: Mapping[str, Source]
) -> Iterator[Fault]:
    yield from _source(switch.source, sources, "switch.source")
    for what in ("count", "speed_gbit_per_s"):
        values = [getattr(group, what) for group in switch.ports]
        if len(set(values)) < len(values):
            yield "two port groups are the same", "give each group once", "switch.ports"
    for index, group in enumerate(switch.ports):
        links = [("link", group.link)] if group.link is not None else []
        links += [(f"forms.{place}", link) for place, link in enumerate(group.forms)]
        for key, link in links:
            ends = [end.item for end in (link.switch_end, link.system_end) if end]
            parts = [(link.cable, "cable"), *((end, "transceiver") for end in ends)]
            for name, category in parts:
                yield from _part(name, category, items, f"switch.ports.{index}.{key}")
        for place, copper in enumerate(group.copper):
            path = f"switch.ports.{index}.copper.{place}"
            yield from _part(copper.cable, "cable", items, path)


def _reaches(
    item: Item, items: Mapping[str, Item], sources: Mapping[str, Source]
) -> Iterator[Fault]:
    """Yield what is wrong with how far a part of links reaches, and with what goes further."""
    if item.category not in ("cable", "transceiver"):
        if item.reach is not None or item.beyond is not None:
            yield "reach and beyond belong to cables and transceivers", "leave them out", "reach"
    elif item.beyond is not None:
        yield from _part(item.beyond, item.category, items, "beyond")
        other = items.get(item.beyond)
        if item.reach is None:
            yield "beyond goes with reach", "give reach: {value: 50 m, ...}", "beyond"
        elif other is not None and other.reach and other.reach.value <= item.reach.value:
            message = f"'{other.id}' reaches no further than {item.reach.value:g} m"
            yield message, "name what goes further, or leave beyond out", "beyond"
    if item.lengths is not None:
        if item.category != "cable":
            yield "lengths belong to cables", "leave them out", "lengths"
        yield from _source(item.lengths.source, sources, "lengths.source")


def _part(name: str, category: str, items: Mapping[str, Item], path: str) -> Iterator[Fault]:
    other = items.get(name)
    if other is None:
        hint = did_you_mean(name, list(items)) or f"add an item of category {category}"
        yield f"no {category} '{name}'", hint, path
    elif other.category != category:
        yield f"'{name}' is not a {category}", f"give it category: {category}", path


def _source(name: str, sources: Mapping[str, Source], path: str) -> Iterator[Fault]:
    if name not in sources:
        message = f"{path.rpartition('.')[0]}: the source '{name}' is not listed under sources"
        yield message, did_you_mean(name, list(sources)) or LIST_IT, path


def _components(item: Item, items: Mapping[str, Item]) -> Iterator[Fault]:
    consumed = (f"consumes.{name}" for name in Consumes.model_fields if name != "racks")
    summed = dict.fromkeys((*consumed, *(path for row in STATED.values() for path in row.of)))
    if item.components and any(attrgetter(path)(item) is not None for path in summed):
        first, *others = summed
        *others, last = (path.removeprefix("consumes.") for path in others)
        fix = f"leave out {', '.join((first, *others))} and {last}"
        yield "what a bundle consumes is the sum of its components'", fix, "consumes"
    names = [part.id for part in item.components]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"the component '{name}' is listed twice", "add up its quantities", "components"
    for part in item.components:
        other = items.get(part.id)
        if other is None:
            hint = did_you_mean(part.id, list(items)) or "add an item of category component"
            yield f"no component '{part.id}'", hint, "components"
        elif other.category != "component":
            yield f"'{part.id}' is not a component", "give it category: component", "components"


def _missing_sources(model: BaseModel, sources: Mapping[str, Source]) -> Iterator[Fault]:
    for name, figure in catalog_figures(model):
        if figure.source not in sources:
            hint = did_you_mean(figure.source, list(sources)) or LIST_IT
            yield f"{name}: the source '{figure.source}' is not listed under sources", hint, name


def _running(item: Item, sources: Mapping[str, Source]) -> Iterator[Fault]:
    """Yield what is wrong with the set points and the measured rates of a GPU system."""
    cited = (
        ("power_points", [row.source for row in item.power_points]),
        ("achieved", [row.source for row in item.achieved]),
    )
    for name, names in cited:
        if names and item.category != "gpu_system":
            yield f"{name} belongs to GPU systems only", "leave it out", name
        for number, source in enumerate(names):
            yield from _source(source, sources, f"{name}.{number}.source")
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


def _sizes(sizes: Sizes, sources: Mapping[str, Source]) -> Iterator[Fault]:
    if sizes.source not in sources:
        message = f"sizes: the source '{sizes.source}' is not listed under sources"
        yield message, did_you_mean(sizes.source, list(sources)) or LIST_IT, "sizes.source"
    counts = [row.units for row in sizes.rows]
    if counts != sorted(set(counts)):
        fix = "order the rows from the fewest units to the most"
        yield "sizes: the rows must have rising units", fix, "sizes.rows"


def never_planned(item: Item, items: Mapping[str, Item], *, priced: bool) -> tuple[str, ...]:
    """Return what a GPU system or storage lacks that plans ask for, in words; () where it has all.

    Draw and height are asked for where power is limited or paid for, and where racks are counted.
    """
    if item.category not in ("gpu_system", "storage"):
        return ()
    parts = [items[part.id] for part in item.components] or [item]
    lacking = []
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


def check_family(
    family: Family, sources: Mapping[str, Source], items: Mapping[str, Item]
) -> Iterator[Fault]:
    """Yield what is wrong with a family, with a hint."""
    yield from _missing_sources(family, sources)
    cluster = family.cluster
    if cluster is None:
        return
    names = [part.item for part in cluster.parts]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"cluster.parts lists '{name}' twice", "add up its quantities", "cluster"
    for part in cluster.parts:
        yield from _source(part.source, sources, f"cluster.parts.{part.item}.source")
        other = items.get(part.item)
        if other is None:
            hint = did_you_mean(part.item, list(items)) or "add it under items"
            yield f"cluster.parts: no item '{part.item}'", hint, "cluster"
        elif other.category not in ("switch", "management"):
            message = f"cluster.parts: '{part.item}' is of category {other.category}"
            yield message, "name a switch or a management item", "cluster"
    if cluster.alone is not None and cluster.alone.value > cluster.max_units.value:
        message = (
            f"cluster.alone {cluster.alone.value} is more than the {cluster.max_units.value} units "
            "of a cluster"
        )
        yield message, "give cluster.max_units or fewer", "cluster"


def impossible_figures(item: Item) -> Iterator[tuple[str, str]]:
    """Yield (item id, what cannot be) for figures out of range or at odds with one another."""

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
