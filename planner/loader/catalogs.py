"""Catalogs: merged, items laid over those that they extend, cross-checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from planner.errors import Finding, InputError, did_you_mean
from planner.figures import STATED
from planner.inputs import Document, FileLine
from planner.loader.documents import read, validated
from planner.paths import steps_of
from planner.schema.catalog import (
    Catalog,
    Cited,
    Consumes,
    Family,
    Figure,
    Item,
    Port,
    Ports,
    Source,
    Switch,
)
from planner.schema.prices import Price

MAX_EXTENDS = 20
Items = Mapping[str, Item]
Fault = tuple[str, str | None, str]
"""Cause, fix, and the dotted part of the item."""


@dataclass
class Catalogs:
    """All items and families of the catalogs in use, by id, with the digests of the files."""

    items: dict[str, Item] = field(default_factory=dict)
    families: dict[str, Family] = field(default_factory=dict)
    sources: dict[str, dict[str, Source]] = field(default_factory=dict)
    places: dict[str, FileLine] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)


class _Written(NamedTuple):
    """An item as its file has it."""

    data: dict[str, Any]
    document: Document
    at: int

    def place(self, *steps: str | int) -> FileLine:
        """File and line of a part."""
        return self.document.place(("items", self.at, *steps))


def load_catalogs(files: list[Path]) -> Catalogs:
    """The merged catalogs of ``files``.

    Raises:
        InputError: a file or an item is wrong, or the items do not go together.
    """
    documents = [read(path, "catalog") for path in dict.fromkeys(files)]
    written = _written_items(documents)
    chains = {name: _chain(name, written) for name in written}
    result = Catalogs()
    for document in documents:
        if isinstance(items := document.data.get("items"), tuple):
            whole = tuple(
                reduce(_merged, (written[name].data for name in chains[item["id"]]))
                if _is_item(item)
                else item
                for item in items
            )
            document.data = {**document.data, "items": whole}
        catalog = validated(Catalog, document)
        result.names.append(catalog.catalog)
        result.digests.append(document.digest)
        result.sources[document.file] = catalog.sources
        for index, family in enumerate(catalog.families):
            place = document.place(("families", index))
            if family.id in result.families:
                raise _used_twice(family.id, result.places[family.id], place, "families")
            result.families[family.id], result.places[family.id] = family, place
        for item in catalog.items:
            result.items[item.id], result.places[item.id] = item, written[item.id].place()
    for name, chain in chains.items():
        result.sources[name] = _sources(chain, written, result)
    _cross_check(result, written)
    return result


def _cross_check(result: Catalogs, written: Mapping[str, _Written]) -> None:
    wrong: list[Finding] = []
    parts: list[Item | Family] = [*result.items.values(), *result.families.values()]
    for each in parts:
        place = result.places[each.id]
        sources = result.sources[each.id if isinstance(each, Item) else place[0]]
        for message, fix, part in catalog_faults(each, sources, result.items, result.families):
            if isinstance(each, Item):
                place = written[each.id].place(*steps_of(part))
            wrong.append(Finding("catalog", message, *place, each.id, fix))
    if wrong:
        raise InputError(wrong)


def _used_twice(name: str, first: FileLine, place: FileLine, path: str) -> InputError:
    message = f"the id '{name}' is used twice (first in {first[0]}:{first[1]})"
    return InputError(Finding("duplicate-id", message, *place, path, "rename one of them"))


def _is_item(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("id"), str)


def _written_items(documents: list[Document]) -> dict[str, _Written]:
    """Every item by id; the schema refuses items without one."""
    found: dict[str, _Written] = {}
    for document in documents:
        items = document.data.get("items", ())
        for index, item in enumerate(items if isinstance(items, tuple) else ()):
            if not _is_item(item):
                continue
            here = _Written(item, document, index)
            first = found.setdefault(item["id"], here)
            if first is not here:
                path = f"items.{index}.id"
                raise _used_twice(item["id"], first.place(), here.place(), path)
    return found


def _chain(name: str, written: Mapping[str, _Written]) -> list[str]:
    """An item with those that it extends, the oldest first."""
    chain = [name]
    while isinstance(parent := (item := written[chain[0]]).data.get("extends"), str):
        if parent not in written:
            path, hint = f"items.{item.at}.extends", did_you_mean(parent, list(written))
            place = item.place("extends")
            raise InputError(Finding("unknown-id", f"no item '{parent}'", *place, path, hint))
        if parent in chain or len(chain) > MAX_EXTENDS:
            kind = "circular extends" if parent in chain else f"over {MAX_EXTENDS} extends"
            message = f"{kind}: {' -> '.join((*reversed(chain), parent))}"
            place, fix = written[name].place("extends"), "remove one of these extends"
            raise InputError(Finding("circular-extends", message, *place, fix=fix))
        chain.insert(0, parent)
    return chain


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Lay ``over`` on ``base``: groups are merged, figures and lists are replaced whole."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        if isinstance(old, dict) and isinstance(value, dict) and "value" not in value:
            result[key] = _merged(old, value)
        else:
            result[key] = value
    return result


def _sources(
    chain: list[str], written: Mapping[str, _Written], result: Catalogs
) -> dict[str, Source]:
    """The sources that an item may cite: those of its file and of the files that it extends."""
    merged: dict[str, Source] = {}
    for file in dict.fromkeys(written[name].document.file for name in chain):
        for name, source in result.sources[file].items():
            if merged.setdefault(name, source) != source:
                message = f"the source '{name}' is another one where '{chain[0]}' is defined"
                place, fix = result.places[chain[-1]], f"rename it in {file}"
                raise InputError(Finding("source-clash", message, *place, chain[-1], fix))
    return merged


# Rules beyond the schema.

LIST_IT = "list it there with its title"
_SKIPPED = frozenset({str, int, float, bool, tuple})
_OWNERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("power_points", "achieved", "spare_unit"), ("gpu_system",)),
    **dict.fromkeys(("family", "fail_units"), ("storage",)),
    "reach": ("cable", "transceiver"),
}
"""Categories of optional parts."""
_REQUIRED = {
    "switch": ("switch", "switch: {protocol: ethernet, ports: [...]}"),
    "software": ("licence", "licence: {per: gpu}"),
    "service": ("service", "service: {per: rack}"),
}
"""By category, the part that its items and no others have, and an example."""


def catalog_figures(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Figure[object]]]:
    """Every figure inside a model with its dotted name."""
    for name, value in model.__dict__.items():
        if value is None or type(value) in _SKIPPED:  # isinstance of a pydantic model is slow
            continue
        if isinstance(value, Figure):
            yield prefix + name, value
        elif isinstance(value, BaseModel):
            yield from catalog_figures(value, f"{prefix}{name}.")
        elif isinstance(value, dict):
            for key, entry in value.items():
                if isinstance(entry, Figure):
                    yield f"{prefix}{name}.{key}", entry


class _Shelf(NamedTuple):
    """Parts of catalogs that an entry may refer to; ``sources`` None where all are known."""

    sources: Mapping[str, Source] | None
    items: Items
    families: Mapping[str, Family]

    def source(self, cited: Cited | None, path: str) -> Iterator[Fault]:
        """The fault of a source that is not listed."""
        if cited is not None and self.sources is not None and cited.source not in self.sources:
            message = f"{path}: the source '{cited.source}' is not listed under sources"
            yield message, did_you_mean(cited.source, list(self.sources)) or LIST_IT, path

    def part(self, name: str, categories: str, path: str) -> Iterator[Fault]:
        """The fault of an item that is missing or not of one of the categories."""
        if name not in self.items:
            hint = did_you_mean(name, list(self.items)) or f"add an item of category {categories}"
            yield f"no {categories} '{name}'", hint, path
        elif self.items[name].category not in categories.split(" or "):
            yield f"'{name}' is not a {categories}", f"give it category: {categories}", path


def catalog_faults(
    each: Item | Family,
    sources: Mapping[str, Source] | None,
    items: Items,
    families: Mapping[str, Family],
) -> Iterator[Fault]:
    """Faults of an item or a family, with fixes; ``sources`` None where none need be checked."""
    shelf = _Shelf(sources, items, families)
    return _of_item(each, shelf) if isinstance(each, Item) else _of_family(each, shelf)


def _of_item(item: Item, shelf: _Shelf) -> Iterator[Fault]:
    cited: list[tuple[str, Cited | None]] = [*catalog_figures(item)]
    for name in ("power_points", "achieved", "media"):
        cited += [(f"{name}.{place}", row) for place, row in enumerate(getattr(item, name))]
    ports = [(name, getattr(item.ports, name)) for name in Ports.model_fields]
    cited += [(f"ports.{name}", port) for name, port in ports]
    for path, part in (*cited, ("switch", item.switch)):
        yield from shelf.source(part, path)
    yield from _parts_of_categories(item)
    yield from _counts(item)
    yield from _family(item, shelf)
    yield from _components(item, shelf)
    for name, port in ports:
        if port is not None:
            yield from _port(name, port, shelf)
    if item.switch is not None:
        yield from _switch(item.switch, shelf)


def _parts_of_categories(item: Item) -> Iterator[Fault]:
    """Parts that only one category has, and parts that a category must have."""
    for name, owners in _OWNERS.items():
        if getattr(item, name) and item.category not in owners:
            yield f"{name} is for {' and '.join(owners)}", "leave it out", name
    for category, (name, example) in _REQUIRED.items():
        if (getattr(item, name) is None) == (item.category == category):
            message = f"{name} belongs to items of category {category}, and to all of them"
            yield message, f"add {example}, or change the category", "id"
    if item.category == "gpu_system" and item.provides.gpus is None:
        fix = "add gpus: {value: 8, source: ..., confidence: ...}"
        yield "a GPU system needs provides.gpus", fix, "provides"


def _counts(item: Item) -> Iterator[Fault]:
    """Counts that contradict each other."""
    low, high, gpus, tray = item.min_units, item.max_units, item.provides.gpus, item.spare_unit
    if low is not None and high is not None and low.value > high.value:
        yield f"min_units {low.value} is more than max_units {high.value}", None, "min_units"
    if tray is not None and gpus is not None and gpus.value % tray.tray.value:
        message = f"trays of {tray.tray.value} GPUs do not make up a system of {gpus.value}"
        yield message, "give a number that divides provides.gpus", "spare_unit.tray"


def _family(item: Item, shelf: _Shelf) -> Iterator[Fault]:
    if item.category != "storage":
        if item.is_bulk:
            yield "tier is for storage", "leave it out", "tier"
        return
    known = list(shelf.families)
    if item.family is None:
        yield "a storage item needs its family", "add family: " + " or ".join(known), "id"
    elif item.family not in known:
        hint = did_you_mean(item.family, known)
        fix = "list it under families, or name its catalog, too"
        yield f"no family '{item.family}'", hint or fix, "family"


def _components(item: Item, shelf: _Shelf) -> Iterator[Fault]:
    consumed = (f"consumes.{name}" for name in Consumes.model_fields if name != "racks")
    summed = [*consumed, *(path for row in STATED.values() for path in row.paths)]
    stated = [path for path in dict.fromkeys(summed) if attrgetter(path)(item) is not None]
    if item.components and stated:
        fix = f"leave out {', '.join(stated)}"
        yield "a bundle consumes the sum of its components", fix, "consumes"
    if item.components and item.category == "component":
        yield "a component has no components of its own", "list them in the bundle", "components"
    yield from _listed_twice([part.id for part in item.components], "components")
    for part in item.components:
        yield from shelf.part(part.id, "component", "components")


def _listed_twice(names: list[str], path: str) -> Iterator[Fault]:
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{path}: '{name}' is listed twice", "add up its quantities", path


def _port(name: str, port: Port, shelf: _Shelf) -> Iterator[Fault]:
    path, split = f"ports.{name}", port.split.transceiver if port.split is not None else None
    if port.count % port.rails:
        message = f"{port.count} ports do not spread evenly over {port.rails} rails"
        yield message, None, f"{path}.rails"
    # The catalog of a transceiver need not be in use where no fabric is: see `checks`.
    for end, place in ((port.transceiver, "transceiver"), (split, "split.transceiver")):
        if end is not None and end.item in shelf.items:
            yield from shelf.part(end.item, "transceiver", f"{path}.{place}")
    if name != "compute" and (port.split is not None or port.rail_group is not None):
        message = "rail groups and planes are those of compute ports"
        yield message, "leave out rail_group and split", path
    if name in ("compute", "out_of_band") and port.form is not None:
        yield "forms are those of storage and in-band ports", "leave out form", f"{path}.form"


def _switch(switch: Switch, shelf: _Shelf) -> Iterator[Fault]:
    for name in ("count", "speed_gbit_per_s"):
        values = [getattr(group, name) for group in switch.ports]
        if len(set(values)) < len(values):
            yield "two port groups are the same", "give each group once", "switch.ports"
    for index, group in enumerate(switch.ports):
        links = {f"forms.{place}": link for place, link in enumerate(group.forms)}
        for key, link in {"link": group.link, **links}.items():
            path = f"switch.ports.{index}.{key}"
            if link is not None:
                yield from shelf.part(link.cable, "cable", path)
                for end in filter(None, (link.switch_end, link.system_end)):
                    yield from shelf.part(end.item, "transceiver", path)


def _of_family(family: Family, shelf: _Shelf) -> Iterator[Fault]:
    cluster = family.cluster
    for name, figure in catalog_figures(family):
        yield from shelf.source(figure, name)
    if cluster is None:
        return
    yield from _listed_twice([part.item for part in cluster.parts], "cluster.parts")
    for part in cluster.parts:
        yield from shelf.source(part, f"cluster.parts.{part.item}")
        yield from shelf.part(part.item, "switch or management", "cluster")
    alone, most = cluster.alone, cluster.max_units.value
    if alone is not None and alone.value > most:
        message = f"cluster.alone {alone.value} is more than the {most} units of a cluster"
        yield message, "give cluster.max_units or fewer", "cluster"


# Figures outside the usual.
#
# Each band is about twice as wide as the range of the shipped catalogs, so that an error of a
# factor of two to ten shows. A figure outside is a warning: new products may leave a band.


class Band(NamedTuple):
    """The usual range of a figure, or of one ``per`` another, for items of a category."""

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
    Band("gpu_system", "bf16 rate per kW of TDP", "bf16", "tdp_kw", 400.0, 5000.0, "TFLOP/s"),
    Band("gpu_system", "fp8 per bf16 rate", "fp8", "bf16", 0.95, 4.1),
    Band("gpu_system", "memory per TFLOP/s of bf16", "memory_gb", "bf16", 0.035, 0.5, "GB"),
    Band("gpu_system", "typical per nameplate power", "typical_kw", "draw_kw", 0.3, 1.0),
    Band("gpu_system", "failures per GPU and day", "failures", "", *FAILURES),
    Band("gpu_system", "list price per GPU", "usd", "gpus", 10_000.0, 150_000.0, "USD"),
    Band("storage", "typical per nameplate power", "typical_kw", "draw_kw", 0.3, 1.0),
    Band("storage", "draw per rack unit", "draw_kw", "rack_units", 0.2, 4.0, "kW"),
    Band("storage", "read bandwidth per rack unit", "read", "rack_units", 3.0, 350.0, "GB/s"),
    Band("storage", "read bandwidth per speed of all ports", "read", "ports", 0.05, 1.0),
    Band("storage", "read bandwidth per kW", "read", "draw_kw", 4.0, 180.0, "GB/s"),
    Band("storage", "read per write bandwidth", "read", "write", 0.5, 12.0),
    Band("storage", "usable capacity per rack unit", "usable_tb", "rack_units", 8.0, 700.0, "TB"),
    Band("storage", "usable per raw capacity", "usable_tb", "raw_tb", 0.4, 1.0),
    Band("storage", "list price per GB/s of reading", "usd", "read", 700.0, 35_000.0, "USD"),
    Band("storage", "list price per usable TB", "usd", "usable_tb", 300.0, 5_000.0, "USD"),
)


def implausible(items: Items, prices: Mapping[str, Price]) -> Iterator[tuple[str, str]]:
    """(item id, message) of every figure or ratio outside its band."""
    for sku, item in items.items():
        known = _figures(item, prices.get(sku))
        for band in BANDS:
            part, whole = known.get(band.figure), known.get(band.per) if band.per else 1.0
            if item.is_bulk or band.category != item.category or part is None or not whole:
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
        "gpus": provides.gpus,
        "read": provides.read,
        "write": provides.write,
        "usable_tb": provides.usable,
        "tdp_kw": gpu.tdp,
        "bf16": gpu.bf16_dense,
        "fp8": gpu.fp8_dense,
        "memory_gb": gpu.memory,
        "failures": gpu.failures_per_day,
        "typical_kw": consumes.typical_power,
    }
    found = {name: float(figure.value) for name, figure in stated.items() if figure is not None}
    found["gpus_tdp_kw"] = found.get("gpus", 0.0) * found.get("tdp_kw", 0.0)
    found["raw_tb"] = sum(media.raw_tb for media in item.media)
    port = item.ports.storage
    found["ports"] = 0.0 if port is None else port.count * port.speed_gbit_per_s / 8
    return found if price is None else found | {"usd": price.list_usd}
