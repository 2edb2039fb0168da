"""Look at catalogs: lists, single items, and checks beyond the schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from planner import shipped
from planner.errors import Finding, InputError, did_you_mean, listed
from planner.loader.catalog_checks import catalog_figures, never_planned
from planner.loader.market import (
    Catalogs,
    Prices,
    file_and_line,
    load_catalogs,
    load_prices,
    place_of,
)
from planner.loader.plausible import implausible
from planner.loader.price_building import OLD_MONTHS, below_drives, is_old, is_to_come, today
from planner.outputs.words import money
from planner.removed import successor
from planner.schema.catalog import Achieved, Item, Port, PortGroup, Ports, Source
from planner.schema.prices import Price, SupportShare


def _load(files: tuple[Path, ...], books: tuple[Path, ...] = ()) -> tuple[Catalogs, Prices]:
    known, priced = shipped.catalog_files(), shipped.price_files()
    catalogs = load_catalogs([known.get(str(f), f) for f in files] or list(known.values()))
    chosen = [priced.get(str(f), f) for f in books] or [priced[shipped.DEFAULT_PRICES]]
    return catalogs, load_prices(chosen, catalogs.items)


HEAD = {"id": "id", "category": "category", "vendor": "vendor", "model": "model",
        "gives": "gives per unit", "price": "list price"}  # fmt: skip
WHY_NOT = {"id": "id", "vendor": "vendor", "model": "model", "lifecycle": "lifecycle",
           "reason": "cannot be planned"}  # fmt: skip


def listing(
    files: tuple[Path, ...],
    books: tuple[Path, ...] = (),
    *,
    as_json: bool,
    incomplete: bool = False,
) -> str:
    """Return the items with category, vendor, price and what they give.

    ``incomplete`` leaves GPU systems and storage without a price or a required figure, each with
    its missing fields.
    """
    catalogs, prices = _load(files, books)
    items = sorted(catalogs.items.values(), key=_order)
    if incomplete:
        rows = [row for item in items for row in _lacking(item, catalogs, prices)]
    else:
        rows = [_row(item, prices) for item in items]
    if as_json:
        return json.dumps(rows, indent=2)
    if not rows:
        return "every GPU system and storage item has a price and the figures that plans ask for"
    head = WHY_NOT if incomplete else HEAD
    table = [head, *rows]
    widths = {key: max(len(str(row[key])) for row in table) for key in head}
    lines = ["  ".join(str(row[key]).ljust(widths[key]) for key in head) for row in table]
    return "\n".join(line.rstrip() for line in lines)


def _lacking(item: Item, catalogs: Catalogs, prices: Prices) -> Iterator[dict[str, str]]:
    """Yield the row of an item that plans lack something of."""
    lacking = never_planned(item, catalogs.items, priced=item.id in prices.prices)
    if not lacking:
        return
    figures = [name for name in lacking if name != "price"]
    counts = {"power draw": "where power counts", "rack units": "where racks are counted"}
    if figures and all(name in counts for name in figures):
        figures[-1] += f" ({', '.join(counts[name] for name in figures)})"
    reasons = [f"not known: {', '.join(figures)}"] if figures else []
    reasons += ["no price in the price book"] if "price" in lacking else []
    named = {"id": item.id, "vendor": item.vendor, "model": item.model, "lifecycle": item.lifecycle}
    yield named | {"reason": "; ".join(reasons)}


def _order(item: Item) -> tuple[str, str]:
    return item.category, item.id


def _row(item: Item, prices: Prices) -> dict[str, str]:
    price = prices.prices.get(item.id)
    cost = f"{money(price.list_usd)} ({price.confidence})" if price else "not known"
    return {
        "id": item.id,
        "category": item.category,
        "vendor": item.vendor,
        "model": item.model,
        "gives": _gives(item),
        "price": "" if item.category == "component" else cost,
    }


def _gives(item: Item) -> str:
    provides = item.provides
    if provides.gpus is not None:
        return f"{provides.gpus.value} GPUs"
    if item.sizes is not None:
        return f"{item.sizes.rows[0].units} to {item.sizes.rows[-1].units} units by table"
    if provides.read is not None and provides.write is not None:
        return f"{provides.read.value:g}/{provides.write.value:g} GB/s read/write"
    if item.switch is not None:
        return f"{', '.join(_group(group) for group in item.switch.ports)} Gb/s"
    if provides.feed is not None:
        return f"feeds {provides.feed.value:g} kW"
    if provides.cooling is not None:
        return f"cools {provides.cooling.value:g} kW"
    return f"per {item.licence.per.replace('_', ' ')}" if item.licence is not None else ""


def _group(group: PortGroup) -> str:
    return f"{group.count} x {group.speed_gbit_per_s:g}"


def _running(item: Item, sources: Mapping[str, Source]) -> Iterator[str]:
    """Yield the power set points of a GPU system and the rates that were measured on it."""
    for point in item.power_points:
        low, high = point.low or point.throughput, point.high or point.throughput
        span = f" ({low:.4g} to {high:.4g})" if low != high else ""
        power = "" if point.power is None else f", {point.power:.4g} of the system's power"
        only = f" in {point.precision}" if point.precision else ""
        note = f"; {point.note}" if point.note else ""
        text = f"[{point.confidence}] {sources[point.source].title}{note}"
        yield (
            f"  {point.of} with GPUs capped at {point.gpu_cap:.4g}{only}: "
            f"{point.throughput:.4g} of the rate{span}{power}  {text}"
        )
    for row in item.achieved:
        note = f"; {row.note}" if row.note else ""
        text = f"[{row.confidence}] {sources[row.source].title}{note}"
        yield (
            f"  achieved: {row.model} in {row.precision} on {row.gpus:,} GPUs: "
            f"{row.rate_tflops:,.0f} TFLOP/s a GPU{_span(row)}  {text}"
        )


def _span(row: Achieved) -> str:
    if row.low_tflops is None or row.high_tflops is None:
        return ""
    return f" ({row.low_tflops:,.0f} to {row.high_tflops:,.0f})"


def _ports(item: Item, sources: Mapping[str, Source]) -> Iterator[str]:
    """Yield the ports of an item, and of a switch what each of its port groups takes."""
    for name in Ports.model_fields:
        port: Port | None = getattr(item.ports, name)
        if port is None:
            continue
        rails = f" on {port.rails} rails" if port.rails > 1 else ""
        protocol = f" {port.protocol}" if port.protocol else ""
        note = f"; {port.note}" if port.note else ""
        yield (
            f"  {name.replace('_', '-')} ports: {port.count} x {port.speed_gbit_per_s:g} Gb/s"
            f"{protocol}{rails}  [{port.confidence}] {sources[port.source].title}{note}"
        )
    if item.switch is None:
        return
    switch = item.switch
    title = sources[switch.source].title
    yield f"  {switch.protocol} ports, one or the other  [{switch.confidence}] {title}"
    for group in switch.ports:
        yield f"    {_group(group)} Gb/s{_link(group)}"
        for copper in group.copper:
            links = f"{copper.links} links" if copper.links > 1 else "a link"
            yield f"      or {copper.cable} between two switches, in place of {links}"


def _link(group: PortGroup) -> str:
    link = group.link
    if link is None:
        return ""
    ends = (("switch", link.switch_end), ("system", link.system_end))
    fitted = [f"{end.item} at the {side}" for side, end in ends if end is not None]
    return f": {', '.join([link.cable, *fitted])}"


def _reaches(item: Item) -> Iterator[str]:
    """Yield in which lengths a cable is sold, and what goes where a part does not reach."""
    if item.lengths is not None and item.lengths.offered:
        offered = ", ".join(
            f"{each.length_m:g} m" + (f" ({each.part_number})" if each.part_number else "")
            for each in item.lengths.offered
        )
        yield f"  in {offered}"
    if item.beyond is not None and item.reach is not None:
        yield f"  beyond {item.reach.value:g} m {item.beyond} takes its place"


def _price_lines(price: Price, title: str) -> Iterator[str]:
    each, yearly = price.range_usd, price.per_year_range_usd
    yield (
        f"  list price {money(price.list_usd)}{_from_to(each)} of {price.date}  "
        f"[{price.confidence}] {title}"
    )
    if price.per_year_usd is not None:
        yield f"  {money(price.per_year_usd)} a year{_from_to(yearly)}"
    if price.parts and price.note:
        yield f"  {price.note}"
    support = price.support_per_year
    if isinstance(support, SupportShare):
        yield f"  support {support.share:.3%} of the price a year".replace(".000%", " %")
    elif support is not None:
        yield f"  support {money(support.usd)} a year"
    if price.lead_time is not None:
        yield f"  lead time {price.lead_time}"


def _from_to(ends: tuple[float, float]) -> str:
    low, high = ends
    return "" if low == high else f" ({money(low)} to {money(high)})"


def items_and_files(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Return the ids of items and the catalog files among names.

    Raises:
        InputError: a name is a subcommand of version 0.1.
    """
    shipped_names = shipped.catalog_files()
    files = [n for n in names if n in shipped_names or Path(n).suffix in (".yaml", ".yml")]
    items = [n for n in names if n not in files]
    for name in items:
        if now := successor(f"catalog {name}"):
            message = f"planner catalog has no subcommand '{name}'"
            raise InputError(Finding("usage", message, fix=f"it is now {now}"))
    return tuple(items), tuple(map(Path, files))


def details(
    names: Sequence[str], files: tuple[Path, ...], books: tuple[Path, ...], *, as_json: bool
) -> str:
    """Return every figure of items with its source and confidence.

    Raises:
        InputError: a catalog is wrong, or has no such item.
    """
    catalogs, prices = _load(files, books)
    for name in names:
        if name not in catalogs.items:
            hint = did_you_mean(name, list(catalogs.items)) or "planner catalog lists all"
            raise InputError(Finding("unknown-id", f"no item '{name}' in the catalogs", fix=hint))
    if as_json:
        rows = [_json(catalogs.items[name], prices) for name in names]
        return json.dumps(rows[0] if len(rows) == 1 else rows, indent=2)
    return "\n\n".join("\n".join(_item_lines(name, catalogs, prices)) for name in names)


def _json(item: Item, prices: Prices) -> dict[str, Any]:
    content = item.model_dump(mode="json", exclude_defaults=True)
    price = prices.prices.get(item.id)
    content["price"] = price.model_dump(mode="json", by_alias=True) if price else None
    return content


def _item_lines(name: str, catalogs: Catalogs, prices: Prices) -> list[str]:
    item, price = catalogs.items[name], prices.prices.get(name)
    lines = [f"{item.vendor} {item.model}  ({item.id}, {item.category}, {item.lifecycle})"]
    lines += [item.description] if item.description else []
    lines += [f"  part number {item.part_number}"] if item.part_number else []
    sources = catalogs.sources[item.id]
    for label, figure in catalog_figures(item):
        unit = _unit(label)
        lines.append(
            f"  {label} = {figure.value}{unit}  [{figure.confidence}] "
            f"{sources[figure.source].title}{f'; {figure.note}' if figure.note else ''}"
        )
    lines += _running(item, sources)
    lines += _ports(item, sources)
    lines += _reaches(item)
    lines += [f"  made of {part.quantity} x {part.id}" for part in item.components]
    if item.sizes is not None:
        lines += [f"  {r.units} units: {r.read:g}/{r.write:g} GB/s" for r in item.sizes.rows]
    if price is not None:
        lines += _price_lines(price, prices.sources[name][price.source].title)
    lines += [f"  note: {note}" for note in item.notes]
    return lines


def _unit(label: str) -> str:
    from planner.figures import ITEM_UNITS

    unit = ITEM_UNITS.get(label, "")
    return f" {unit}" if unit else ""


def check(files: tuple[Path, ...], books: tuple[Path, ...], *, as_json: bool) -> tuple[str, bool]:
    """Return what is wrong with catalogs and prices as text or JSON, and whether anything is.

    Args:
        files: the catalogs; all that are shipped where none is named.
        books: the price books; the shipped one where none is named.
        as_json: as JSON.
    """
    day = today()
    try:
        catalogs, prices = _load(files, books)
        problems = [
            *(
                Finding("invariant", message, *file_and_line(catalogs.places[sku]), sku)
                for sku, message in _invariants(catalogs)
            ),
            *_cheap(catalogs, prices),
        ]
        doubts = [*_implausible(catalogs, prices)]
        doubts += [*_without_basis(catalogs), *_old(catalogs, prices, day)]
    except InputError as error:
        problems, doubts, catalogs = list(error.findings), [], Catalogs()
    if as_json:
        return json.dumps([vars(found) for found in (*problems, *doubts)], indent=2), bool(problems)
    lines = listed([*problems, *doubts])
    if not problems:
        count = sum(1 for item in catalogs.items.values() for _ in catalog_figures(item))
        lines.append(f"valid: {len(catalogs.items)} items, {count} figures, each with its source")
    return "\n".join(lines), bool(problems)


def _cheap(catalogs: Catalogs, prices: Prices) -> Iterator[Finding]:
    """Yield prices that are below the drives they pay for."""
    for sku, message, fix in below_drives(prices.prices, catalogs.items, prices.rates):
        yield Finding("below-drives", message, *place_of(prices, sku), f"prices.{sku}", fix)


def _implausible(catalogs: Catalogs, prices: Prices) -> Iterator[Finding]:
    """Yield figures and prices outside the plausibility bands."""
    fix = "check value and unit against the source"
    for sku, text in implausible(catalogs.items, prices.prices):
        place = file_and_line(catalogs.places[sku])
        yield Finding("implausible", text, *place, sku, fix, "warning")


def _without_basis(catalogs: Catalogs) -> Iterator[Finding]:
    """Yield storage items that do not say whether their bandwidth is a nameplate or measured."""
    fix = "add basis: nameplate, certified or measured (with its benchmark)"
    for item in catalogs.items.values():
        figures = [item.provides.read, item.provides.write] if item.sizes is None else [item.sizes]
        silent = any(figure is not None and figure.basis is None for figure in figures)
        if item.category == "storage" and silent:
            message = f"'{item.id}' does not state the basis of its bandwidth"
            place = file_and_line(catalogs.places[item.id])
            yield Finding("basis", message, *place, item.id, fix, severity="warning")


def _old(catalogs: Catalogs, prices: Prices, day: date) -> Iterator[Finding]:
    """Yield one finding for all prices of a date too far back, one for each of a day to come."""
    dated: dict[tuple[str, str], list[str]] = {}
    for sku, price in prices.prices.items():
        if sku in catalogs.items and is_old(price.date, day):
            dated.setdefault((prices.places[sku].rpartition(":")[0], price.date), []).append(sku)
    for (file, text), skus in sorted(dated.items()):
        message = f"older than {OLD_MONTHS} months on {day}, prices of {text}: {', '.join(skus)}"
        fix = "ask for a quote, or date them anew"
        yield Finding("old-price", message, file, None, "prices", fix, severity="warning")
    for sku, price in prices.prices.items():
        if sku in catalogs.items and is_to_come(price.date, max(day, today())):
            message, fix = f"the price of '{sku}' is of {price.date}, a day to come", "date it anew"
            place = file_and_line(prices.places[sku])
            yield Finding("old-price", message, *place, f"prices.{sku}", fix, severity="warning")


def _invariants(catalogs: Catalogs) -> list[tuple[str, str]]:
    from planner.loader.catalog_checks import impossible_figures

    return [fault for item in catalogs.items.values() for fault in impossible_figures(item)]
