"""The items of catalogs as a list or in full, and checks of catalogs beyond the schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from planner import shipped
from planner.errors import Finding, InputError, did_you_mean, listed
from planner.figures import ITEM_UNITS
from planner.loader.catalogs import (
    Catalogs,
    catalog_figures,
    implausible,
    load_catalogs,
    never_planned,
)
from planner.loader.prices import (
    OLD_MONTHS,
    Prices,
    below_drives,
    is_old,
    is_to_come,
    load_prices,
    today,
)
from planner.removed import successor
from planner.report.words import money
from planner.schema.catalog import Item, PortGroup
from planner.schema.prices import Price, SupportShare

_HEADS = {"gives": "gives per unit", "price": "list price", "reason": "missing"}


def show(
    names: Sequence[str], books: Sequence[Path] = (), *, as_json: bool, incomplete: bool = False
) -> str:
    """Items in full, or the list of items with category, vendor, price and figures.

    Args:
        names: items to show in full; categories, vendors and catalogs to list.
        books: price books; by default the shipped one.
        as_json: as JSON.
        incomplete: list GPU systems and storage that cannot be planned, with missing figures.

    Raises:
        InputError: a catalog is wrong, or no item, category or vendor has a name.
    """
    known = shipped.catalog_files()
    files = [name for name in names if name in known or name.endswith((".yaml", ".yml"))]
    words = [name for name in names if name not in files]
    catalogs, prices = _load([Path(file) for file in files], books)
    items = [catalogs.items[word] for word in words if word in catalogs.items]
    groups = [word for word in words if word not in catalogs.items]
    rows = [each for each in catalogs.items.values() if not groups or _is_in(each, groups)]
    for word in groups:
        if not any(_is_in(each, [word]) for each in rows):
            raise _unknown(word, catalogs)
    if items and not groups:
        return _details(items, catalogs, prices, as_json=as_json)
    return _table([*items, *rows] if groups else rows, catalogs, prices, as_json, incomplete)


def _load(files: Sequence[Path], books: Sequence[Path]) -> tuple[Catalogs, Prices]:
    known, priced = shipped.catalog_files(), shipped.price_files()
    catalogs = load_catalogs([known.get(str(f), f) for f in files] or list(known.values()))
    chosen = [priced.get(str(f), f) for f in books] or [priced[shipped.DEFAULT_PRICES]]
    return catalogs, load_prices(chosen, catalogs.items)


def _is_in(item: Item, groups: Sequence[str]) -> bool:
    """Whether an item's category is one of some words, or its vendor begins with one."""
    return any(
        item.category == group or item.vendor.casefold().startswith(group.casefold())
        for group in groups
    )


def _unknown(word: str, catalogs: Catalogs) -> InputError:
    if now := successor(f"catalog {word}"):
        message = f"planner catalog has no subcommand '{word}'"
        return InputError(Finding("usage", message, fix=f"it is now {now}"))
    categories = sorted({item.category for item in catalogs.items.values()})
    hint = did_you_mean(word, [*catalogs.items, *categories])
    hint = hint or f"name an item, a vendor, or one of {', '.join(categories)}"
    return InputError(Finding("unknown-id", f"no item '{word}' in the catalogs", fix=hint))


# The list.


def _table(
    items: Sequence[Item], catalogs: Catalogs, prices: Prices, as_json: bool, incomplete: bool
) -> str:
    items = sorted(items, key=lambda item: (item.category, item.id))
    rows = [_row(item, prices) for item in items]
    if incomplete:
        rows = [row for item in items for row in _missing(item, catalogs, prices)]
    if as_json:
        return json.dumps(rows, indent=2)
    if not rows:
        return "every GPU system and storage item has a price and the figures that plans need"
    table = [{key: _HEADS.get(key, key) for key in rows[0]}, *rows]
    widths = {key: max(len(row[key]) for row in table) for key in rows[0]}
    lines = ("  ".join(row[key].ljust(width) for key, width in widths.items()) for row in table)
    return "\n".join(line.rstrip() for line in lines)


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


def _missing(item: Item, catalogs: Catalogs, prices: Prices) -> Iterator[dict[str, str]]:
    """Yield the row of an item that cannot be planned."""
    lacking = never_planned(item, catalogs.items, priced=item.id in prices.prices)
    figures = [name for name in lacking if name != "price"]
    counts = {"power draw": "where power counts", "rack units": "where racks are counted"}
    if figures and all(name in counts for name in figures):
        figures[-1] += f" ({', '.join(counts[name] for name in figures)})"
    reasons = [f"not known: {', '.join(figures)}"] if figures else []
    reasons += ["no price in the price book"] if "price" in lacking else []
    if reasons:
        named = {"id": item.id, "vendor": item.vendor, "model": item.model}
        yield named | {"lifecycle": item.lifecycle, "reason": "; ".join(reasons)}


def _gives(item: Item) -> str:
    provides = item.provides
    if provides.gpus is not None:
        return f"{provides.gpus.value} GPUs"
    if item.sizes is not None:
        return f"{item.sizes.rows[0].units} to {item.sizes.rows[-1].units} units by table"
    if provides.read is not None and provides.write is not None:
        return f"{provides.read.value:g}/{provides.write.value:g} GB/s read/write"
    if item.switch is not None:
        return f"{', '.join(map(_group, item.switch.ports))} Gb/s"
    if provides.feed is not None:
        return f"feeds {provides.feed.value:g} kW"
    if provides.cooling is not None:
        return f"cools {provides.cooling.value:g} kW"
    return f"per {item.licence.per.replace('_', ' ')}" if item.licence is not None else ""


def _group(group: PortGroup) -> str:
    return f"{group.count} x {group.speed_gbit_per_s:g}"


# Items in full.


def _details(items: Sequence[Item], catalogs: Catalogs, prices: Prices, *, as_json: bool) -> str:
    """Every field of items; figures with confidence, source and note."""
    if not as_json:
        return "\n\n".join("\n".join(_item_lines(item, catalogs, prices)) for item in items)
    rows: list[dict[str, Any]] = []
    for item in items:
        price = prices.prices.get(item.id)
        shown = price.model_dump(mode="json", by_alias=True) if price else None
        rows.append(item.model_dump(mode="json", exclude_defaults=True) | {"price": shown})
    return json.dumps(rows[0] if len(rows) == 1 else rows, indent=2)


_HEAD = ("id", "category", "vendor", "model", "lifecycle", "description", "notes")


def _item_lines(item: Item, catalogs: Catalogs, prices: Prices) -> Iterator[str]:
    yield f"{item.vendor} {item.model}  ({item.id}, {item.category}, {item.lifecycle})"
    if item.description:
        yield item.description
    titles = {name: source.title for name, source in catalogs.sources[item.id].items()}
    yield from _lines_of(item, "", titles, leave_out=_HEAD)
    price = prices.prices.get(item.id)
    if price is not None:
        titles = {name: source.title for name, source in prices.sources[item.id].items()}
        yield from _price_lines(price, titles[price.source])
    yield from (f"  note: {note}" for note in item.notes)


def _lines_of(
    part: Any, path: str, titles: Mapping[str, str], leave_out: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the stated fields of a part of an item, one a line, nested ones by their path."""
    if isinstance(part, BaseModel):
        stated = part.model_dump(exclude_defaults=True).keys() - {*leave_out}
        source = getattr(part, "source", None)
        if source is None:
            for name in type(part).model_fields:
                if name in stated:
                    yield from _lines_of(getattr(part, name), f"{path}.{name}", titles)
            return
        fields = [name for name in type(part).model_fields if name in stated and name not in _BASIS]
        values = {name: _plain(getattr(part, name)) for name in fields}
        label, value = path.removeprefix("."), values.pop("value", "")
        unit = f" {ITEM_UNITS[label]}" if ITEM_UNITS.get(label) else ""
        more = "; ".join(f"{name.replace('_', ' ')} {text}" for name, text in values.items())
        shown = "; ".join(filter(None, (f"{value}{unit}", more, part.note)))  # type: ignore[attr-defined]
        yield f"  {label} = {shown}  [{part.confidence}] {titles[source]}"  # type: ignore[attr-defined]
    elif isinstance(part, Mapping):
        for name, inside in part.items():
            yield from _lines_of(inside, f"{path}.{name}", titles)
    elif isinstance(part, tuple) and part and isinstance(part[0], BaseModel):
        for inside in part:
            yield from _lines_of(inside, path, titles)
    else:
        yield f"  {path.removeprefix('.')} = {_plain(part)}"


_BASIS = ("source", "confidence", "note")


def _plain(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, BaseModel):
        stated = value.model_dump(exclude_defaults=True)
        return ", ".join(f"{name} {_plain(getattr(value, name))}" for name in stated)
    if isinstance(value, tuple):
        return "; ".join(map(_plain, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _price_lines(price: Price, title: str) -> Iterator[str]:
    yield (
        f"  list price {money(price.list_usd)}{_from_to(price.range_usd)} of {price.date}  "
        f"[{price.confidence}] {title}"
    )
    if price.per_year_usd is not None:
        yield f"  {money(price.per_year_usd)} a year{_from_to(price.per_year_range_usd)}"
    if price.parts and price.note:
        yield f"  {price.note}"
    support = price.support_per_year
    if isinstance(support, SupportShare):
        yield f"  support {100.0 * support.share:g} % of the price a year"
    elif support is not None:
        yield f"  support {money(support.usd)} a year"
    if price.lead_time is not None:
        yield f"  lead time {price.lead_time}"


def _from_to(ends: tuple[float, float]) -> str:
    low, high = ends
    return "" if low == high else f" ({money(low)} to {money(high)})"


# Checks.


def check(files: Sequence[Path], books: Sequence[Path], *, as_json: bool) -> tuple[str, bool]:
    """The findings of catalogs and prices as text or JSON, and whether one is an error.

    Catalogs and price books go by file or shipped name; without any the shipped ones.
    """
    try:
        catalogs, prices = _load(files, books)
        errors = [*_cheap(catalogs, prices)]
        doubts = [*_implausible(catalogs, prices), *_without_basis(catalogs)]
        doubts += _old(catalogs, prices, today())
    except InputError as error:
        errors, doubts, catalogs = list(error.findings), [], Catalogs()
    if as_json:
        return json.dumps([vars(found) for found in (*errors, *doubts)], indent=2), bool(errors)
    lines = listed([*errors, *doubts])
    if not errors:
        count = sum(1 for item in catalogs.items.values() for _ in catalog_figures(item))
        lines.append(f"valid: {len(catalogs.items)} items, {count} figures, each with its source")
    return "\n".join(lines), bool(errors)


def _cheap(catalogs: Catalogs, prices: Prices) -> Iterator[Finding]:
    """Yield prices below the drives in the product."""
    for finding in below_drives(prices, catalogs.items):
        yield replace(finding, severity="error")


def _implausible(catalogs: Catalogs, prices: Prices) -> Iterator[Finding]:
    fix = "check value and unit against the source"
    for id_, text in implausible(catalogs.items, prices.prices):
        place = catalogs.places[id_]
        yield Finding("implausible", text, *place, id_, fix, "warning")


def _without_basis(catalogs: Catalogs) -> Iterator[Finding]:
    """Yield storage items with bandwidths of no stated basis, nameplate or measured."""
    fix = "add basis: nameplate, certified or measured (with its benchmark)"
    for item in catalogs.items.values():
        figures = [item.provides.read, item.provides.write] if item.sizes is None else [item.sizes]
        silent = any(figure is not None and figure.basis is None for figure in figures)
        if item.category == "storage" and silent:
            message = f"'{item.id}' does not state the basis of its bandwidth"
            place = catalogs.places[item.id]
            yield Finding("basis", message, *place, item.id, fix, severity="warning")


def _old(catalogs: Catalogs, prices: Prices, day: date) -> Iterator[Finding]:
    """Yield a finding for all old prices of a date, and one for each of a date to come."""
    dated: dict[tuple[str, str], list[str]] = {}
    priced = {id_: each for id_, each in prices.prices.items() if id_ in catalogs.items}
    for id_, price in priced.items():
        if is_old(price.date, day):
            dated.setdefault((prices.entries[id_].place[0], price.date), []).append(id_)
    for (file, text), ids in sorted(dated.items()):
        message = f"older than {OLD_MONTHS} months on {day}, prices of {text}: {', '.join(ids)}"
        fix = "request a quote, or date them anew"
        yield Finding("old-price", message, file, None, "prices", fix, severity="warning")
    for id_, price in priced.items():
        if is_to_come(price.date, day):
            message, fix = f"the price of '{id_}' is of {price.date}, a day to come", "date it anew"
            place = prices.entries[id_].place
            yield Finding("old-price", message, *place, f"prices.{id_}", fix, severity="warning")
