"""The items of catalogs as a list or in full, and checks of catalogs beyond the schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

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
    is_old,
    is_to_come,
    load_prices,
    today,
)
from planner.removed import COMMANDS
from planner.report.words import money
from planner.schema.catalog import Item

_HEADS = {"gives": "gives per unit", "price": "list price"}


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
    items = list(catalogs.items.values())
    if words:
        items = [item for word in words for item in _items_named(word, catalogs)]
    if words and all(word in catalogs.items for word in words):
        full = [_full(item, prices) for item in items]
        if as_json:
            return json.dumps(full[0] if len(full) == 1 else full, indent=2)
        return "\n\n".join(_text(item, catalogs, prices) for item in items)
    items.sort(key=lambda item: (item.category, item.id))
    rows = [_row(item, prices) for item in items]
    if incomplete:
        rows = [row for item in items for row in _missing(item, catalogs, prices)]
    if as_json:
        return json.dumps(rows, indent=2)
    if not rows:
        return "every GPU system and storage item has a price and the figures that plans need"
    table = [[_HEADS.get(key, key) for key in rows[0]], *(list(row.values()) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in table)
    return "\n".join(lines)


def _load(files: Sequence[Path], books: Sequence[Path]) -> tuple[Catalogs, Prices]:
    known, priced = shipped.catalog_files(), shipped.price_files()
    catalogs = load_catalogs([known.get(str(f), f) for f in files] or list(known.values()))
    chosen = [priced.get(str(f), f) for f in books] or [priced[shipped.DEFAULT_PRICES]]
    return catalogs, load_prices(chosen, catalogs.items)


def _items_named(word: str, catalogs: Catalogs) -> list[Item]:
    """The item of an id, or the items of a category or of vendors that begin with a word."""
    if word in catalogs.items:
        return [catalogs.items[word]]
    every, small = catalogs.items.values(), word.casefold()
    found = [
        each for each in every if each.category == word or each.vendor.casefold().startswith(small)
    ]
    if found:
        return found
    if now := COMMANDS.get(f"catalog {word}"):
        message = f"planner catalog has no subcommand '{word}'"
        raise InputError(Finding("usage", message, fix=f"it is now {now}"))
    categories = sorted({item.category for item in every})
    hint = did_you_mean(word, [*catalogs.items, *categories])
    hint = hint or f"name an item, a vendor, or one of {', '.join(categories)}"
    raise InputError(Finding("unknown-id", f"no item '{word}' in the catalogs", fix=hint))


# The list.


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
    missing = never_planned(item, catalogs.items, priced=item.id in prices.prices)
    if missing:
        named = {"id": item.id, "vendor": item.vendor, "model": item.model}
        yield named | {"lifecycle": item.lifecycle, "missing": ", ".join(missing)}


def _gives(item: Item) -> str:
    provides = item.provides
    if provides.gpus is not None:
        return f"{provides.gpus.value} GPUs"
    if item.sizes is not None:
        return f"{item.sizes.rows[0].units} to {item.sizes.rows[-1].units} units by table"
    if provides.read is not None and provides.write is not None:
        return f"{provides.read.value:g}/{provides.write.value:g} GB/s read/write"
    if item.switch is not None:
        ports = (f"{group.count} x {group.speed_gbit_per_s:g}" for group in item.switch.ports)
        return f"{', '.join(ports)} Gb/s"
    if provides.feed is not None:
        return f"feeds {provides.feed.value:g} kW"
    if provides.cooling is not None:
        return f"cools {provides.cooling.value:g} kW"
    return f"per {item.licence.per.replace('_', ' ')}" if item.licence is not None else ""


# Items in full.


def _full(item: Item, prices: Prices) -> dict[str, Any]:
    """Every stated field of an item, and its price."""
    price = prices.prices.get(item.id)
    cost = price.model_dump(mode="json", by_alias=True) if price else None
    return item.model_dump(mode="json", exclude_defaults=True) | {"price": cost}


_HEAD = ("id", "category", "vendor", "model", "lifecycle", "description", "notes")


def _text(item: Item, catalogs: Catalogs, prices: Prices) -> str:
    fields = item.model_dump(mode="json", exclude_defaults=True, exclude=set(_HEAD))
    price = prices.prices.get(item.id)
    if price is not None:
        stated = price.model_dump(mode="json", exclude_defaults=True)
        fields["price"] = {name: value for name, value in stated.items() if name != "item"}
    sources = catalogs.sources[item.id] | prices.sources.get(item.id, {})
    titles = {name: source.title for name, source in sources.items()}
    return "\n".join([
        f"{item.vendor} {item.model}  ({item.id}, {item.category}, {item.lifecycle})",
        *([item.description] if item.description else []),
        *_lines(fields, "", titles),
        *(f"  note: {note}" for note in item.notes),
    ])  # fmt: skip


_LABELS = {
    "provides.gpus": "GPUs",
    "provides.read": "read bandwidth",
    "provides.write": "write bandwidth",
    "provides.usable": "usable capacity",
    "provides.endurance": "write endurance",
    "provides.cooling": "cooling capacity",
    "provides.feed": "power feed",
    "consumes.it_power": "power, nameplate",
    "consumes.typical_power": "power, typical",
    "consumes.rack_units": "height",
    "gpu.memory": "memory of a GPU",
    "gpu.bf16_dense": "BF16 rate of a GPU, dense",
    "gpu.fp8_dense": "FP8 rate of a GPU, dense",
    "gpu.tdp": "rated power of a GPU",
    "gpu.failures_per_day": "failures of a GPU",
    "local.host_copy": "copy of GPU memory to host",
    "achieved": "achieved training rate",
    "power_points": "operating point",
}
"""Labels of fields by their path, where the path in words is not one."""
_UNITS = {
    "gb_per_s": "GB/s", "gbit_per_s": "Gb/s", "usd_per_year": "USD/year", "tflops": "TFLOP/s",
    "kw": "kW", "tb": "TB", "gb": "GB", "ru": "RU", "kg": "kg", "usd": "USD", "m": "m", "s": "s",
    "days": "days", "years": "years",
}  # fmt: skip
"""Units by the end of a name."""


def _label(path: str) -> str:
    """The label of a field: words of its path, the group behind its part."""
    group, _, name = path.rpartition(".")
    words = name.replace("_", " ")
    if path in _LABELS:
        return _LABELS[path]
    if group in ("", "facts", "provides", "consumes"):
        return words
    return f"{words} {group}" if group == "ports" else f"{group.replace('.', ' ')} {words}"


def _stated(name: str, value: Any) -> str:
    """A part of a figure: label, number, unit."""
    for end, unit in _UNITS.items():
        if name.endswith(f"_{end}"):
            return f"{name.removesuffix(f'_{end}').replace('_', ' ')} {_plain(value)} {unit}"
    return f"{name.replace('_', ' ')} {_plain(value)}"


def _lines(value: Any, path: str, titles: Mapping[str, str]) -> Iterator[str]:
    """Yield the stated fields: label, number, unit; confidence and source of a figure."""
    if isinstance(value, dict) and "source" in value:
        rest, unit = dict(value), ITEM_UNITS.get(path) or ""
        title, confidence = titles[rest.pop("source")], rest.pop("confidence")
        parts = [f"{_plain(rest.pop('value'))} {unit}".rstrip()] if "value" in rest else []
        note = rest.pop("note", None)
        parts += [_stated(name, each) for name, each in rest.items()]
        text = "; ".join([*parts, *filter(None, [note])])
        yield f"  {_label(path)}: {text}  [{confidence}] {title}"
    elif isinstance(value, dict):
        for name, inside in value.items():
            yield from _lines(inside, f"{path}.{name}".removeprefix("."), titles)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for inside in value:
            yield from _lines(inside, path, titles)
    else:
        yield f"  {_label(path)}: {_plain(value)}"


def _plain(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return ", ".join(_stated(name, each) for name, each in value.items())
    if isinstance(value, list):
        return "; ".join(map(_plain, value))
    return f"{value:.12g}" if isinstance(value, float) else str(value)


# Checks.


def check(files: Sequence[Path], books: Sequence[Path], *, as_json: bool) -> tuple[str, bool]:
    """The findings of catalogs and prices as text or JSON, and whether one is an error.

    Catalogs and price books go by file or shipped name; without any the shipped ones.
    """
    try:
        catalogs, prices = _load(files, books)
        findings = [*_of_figures(catalogs, prices), *_of_prices(catalogs, prices, today())]
    except InputError as error:
        findings, catalogs = list(error.findings), Catalogs()
    findings.sort(key=lambda each: each.severity != "error")
    faulty = any(each.severity == "error" for each in findings)
    if as_json:
        return json.dumps([asdict(found) for found in findings], indent=2), faulty
    lines = listed(findings)
    if not faulty:
        count = sum(1 for item in catalogs.items.values() for _ in catalog_figures(item))
        lines.append(f"valid: {len(catalogs.items)} items, {count} figures, each with its source")
    return "\n".join(lines), faulty


def _of_figures(catalogs: Catalogs, prices: Prices) -> Iterator[Finding]:
    """Yield figures outside their bands, and bandwidths without a basis."""
    fix = "check value and unit against the source"
    for id_, text in implausible(catalogs.items, prices.prices):
        yield Finding("implausible", text, *catalogs.places[id_], id_, fix, "warning")
    fix = "add basis: nameplate, certified or measured (with its benchmark)"
    for item in catalogs.items.values():
        figures = [item.provides.read, item.provides.write] if item.sizes is None else [item.sizes]
        silent = any(figure is not None and figure.basis is None for figure in figures)
        if item.category == "storage" and silent:
            message = f"'{item.id}' does not state the basis of its bandwidth"
            yield Finding("basis", message, *catalogs.places[item.id], item.id, fix, "warning")


def _of_prices(catalogs: Catalogs, prices: Prices, day: date) -> Iterator[Finding]:
    """Yield old prices by their date, and dates to come."""
    dated: dict[tuple[str, str], list[str]] = {}
    priced = {id_: each for id_, each in prices.prices.items() if id_ in catalogs.items}
    for id_, price in priced.items():
        place = prices.entries[id_].place
        if is_old(price.date, day):
            dated.setdefault((place[0], price.date), []).append(id_)
        if is_to_come(price.date, day):
            message, fix = f"the price of '{id_}' is of {price.date}, a day to come", "date it anew"
            yield Finding("old-price", message, *place, f"prices.{id_}", fix, "warning")
    for (file, text), ids in sorted(dated.items()):
        message = f"older than {OLD_MONTHS} months on {day}, prices of {text}: {', '.join(ids)}"
        fix = "request a quote, or date them anew"
        yield Finding("old-price", message, file, None, "prices", fix, "warning")
