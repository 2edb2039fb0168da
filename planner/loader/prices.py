"""Price books: read, laid over each other, built from parts, checked; age.

A price keeps the terms of an earlier book that it does not state. Support is one term: its price
and the years in the list price are stated together. A subscription is kept by a price that is
stated; a price of parts has its own.

Amounts in other currencies need the rates of exchange of the problem.
"""

from __future__ import annotations

import calendar
import os
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from pathlib import Path
from typing import NamedTuple

from planner.errors import Finding, InputError, did_you_mean
from planner.inputs import Document, FileLine
from planner.loader.catalogs import LIST_IT
from planner.loader.documents import read, validated
from planner.paths import steps_of
from planner.schema.catalog import Confidence, Item, MediaType, Source
from planner.schema.prices import Discount, Price, PriceBook, Rate
from planner.units import NO_RATES, Rates

_ORDER: tuple[Confidence, ...] = ("low", "medium", "high")
_SUPPORT = frozenset(name for name in Price.model_fields if name.startswith("support_"))
_SUPPORT_TERMS = frozenset({"support_per_year", "support_included_years"})
_SUBSCRIPTION = ("per_year_usd", "per_year_low_usd", "per_year_high_usd")
_SINGLE = {"lead_time": "lead time", "pack": "pack", "min_order": "minimum order", "stock": "stock"}
Items = Mapping[str, Item]


CitedRates = dict[str, tuple[Rate, dict[str, Source]]]
"""Rates of the parts of prices by name, with the sources that they may cite."""


class Entry(NamedTuple):
    """The price of an item in a book, with the sources that it may cite."""

    price: Price
    book: str
    sources: dict[str, Source]
    place: FileLine


@dataclass
class Prices:
    """The prices of all books in use; later books override earlier ones."""

    entries: dict[str, Entry] = field(default_factory=dict)
    rates: CitedRates = field(default_factory=dict)
    discounts: list[Discount] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)

    @property
    def prices(self) -> dict[str, Price]:
        """Price by item."""
        return {name: entry.price for name, entry in self.entries.items()}

    @property
    def sources(self) -> dict[str, dict[str, Source]]:
        """Sources that a price may cite, by item."""
        return {name: entry.sources for name, entry in self.entries.items()}


def load_prices(files: list[Path], items: Items, rates: Rates = NO_RATES) -> Prices:
    """The merged price books of ``files``, later ones on top of earlier ones.

    Args:
        files: the price books.
        items: all items by id; prices built of parts are omitted for other items.
        rates: the rates of exchange of amounts in other currencies.

    Raises:
        InputError: a book is wrong, or a price cannot be built.
    """
    result, layers = Prices(), defaultdict[str, list[Entry]](list)
    for path in dict.fromkeys(files):
        document = read(path, "price book")
        book = validated(PriceBook, document, rates)
        _check_sources(document, book)
        result.digests.append(document.digest)
        result.names.append(book.price_book)
        result.discounts += book.discounts
        sources = dict(book.sources)
        result.rates |= {name: (rate, sources) for name, rate in book.rates.items()}
        for name, price in book.prices.items():
            ranged, place = with_range(price, book.ranges), document.place(("prices", name))
            layers[name].append(Entry(ranged, book.price_book, sources, place))
    wrong: list[Finding] = []
    for name, (*below, top) in layers.items():
        try:
            built = _built(top, name, items, result.rates)
        except InputError as error:
            wrong += error.findings
            continue
        if built is not None:
            for at, entry in enumerate(below):  # of an overridden price only terms are kept
                with suppress(InputError):
                    below[at] = _built(entry, name, items, result.rates) or entry
            result.entries[name] = reduce(_over, [*below, built])
    if wrong:
        raise InputError(wrong)
    return result


def _check_sources(document: Document, book: PriceBook) -> None:
    cited = [(f"rates.{name}", rate.source) for name, rate in book.rates.items()]
    for name, price in book.prices.items():
        own = (None if price.parts else price.source), price.support_source
        rent = None if price.rent is None else price.rent.source
        cited += [(f"prices.{name}", source) for source in (*own, rent) if source is not None]
    for place, source in cited:
        if source not in book.sources:
            message = f"the source '{source}' is not listed under sources"
            hint = did_you_mean(source, list(book.sources)) or LIST_IT
            where = document.place(steps_of(place))
            raise InputError(Finding("source", message, *where, place, hint))


# Prices of parts.


def _built(entry: Entry, name: str, items: Items, known: CitedRates) -> Entry | None:
    """An entry with the sum of its parts; None where its item is unknown.

    Raises:
        InputError: a rate is unknown, or the catalog lacks the quantity that it is paid for.
    """
    place, used = (*entry.place, f"prices.{name}.parts"), [p.rate for p in entry.price.parts]
    for rate in used:
        if rate not in known:
            fix = did_you_mean(rate, list(known)) or "list it under rates"
            raise InputError(Finding("rate", f"no rate '{rate}'", *place, fix))
    if not used or name not in items:
        return None if used else entry
    rates = {rate: known[rate][0] for rate in used}
    try:
        whole = _build_price(entry.price, items[name], items, rates)
    except ValueError as error:
        fix = "state it in the catalog, or give list, date, source and confidence"
        raise InputError(Finding("rate", f"'{name}': {error}", *place, fix)) from None
    main = next(rate for rate in used if rates[rate].source == whole.source)
    return entry._replace(price=whole, sources={**entry.sources, **known[main][1]})


def _build_price(price: Price, item: Item, items: Items, rates: Mapping[str, Rate]) -> Price:
    """A price with parts as the sum of them: once, every year, low and high.

    Its date is the oldest of its rates', its confidence the least, its source that of the rate
    that most of the price comes from; the note lists every part.

    Raises:
        ValueError: the catalog lacks the quantity that a rate is paid for.
    """
    used = [(rates[part.rate], part.count) for part in price.parts]
    sized = [(rate, count * _quantity(rate, item, items)) for rate, count in used]
    once = [(rate, amount) for rate, amount in sized if rate.every == "once"]
    yearly = [(rate, amount) for rate, amount in sized if rate.every == "year"]
    main = max(once or yearly, key=lambda pair: pair[0].usd * pair[1])[0]
    units = {"unit": "", "raw_tb": " TB", "usable_tb": " TB usable", "used_tb": " TB"}
    built = "built of " + ", ".join(
        f"{amount:,.6g}{units[rate.per]} {rate.label} at {rate.usd:,.6g} USD "
        f"({rate.usd * amount:,.0f} USD{' a year' if rate.every == 'year' else ''})"
        for rate, amount in sized
    )
    values: dict[str, object] = {
        "date": min((rate.date for rate, _ in sized), key=latest_day),
        "source": main.source,
        "confidence": min((rate.confidence for rate, _ in sized), key=_ORDER.index),
        "note": f"{built}; {price.note}" if price.note else built,
    }
    for prefix, rows in (("", once), ("per_year_", yearly)):
        for end in ("low_usd", "usd", "high_usd") if rows or not prefix else ():
            amounts = (getattr(rate, end) * amount for rate, amount in rows)
            name = "list_usd" if prefix + end == "usd" else prefix + end
            values[name] = round(sum(amounts), 2)
    return price.model_copy(update=values)


def _quantity(rate: Rate, item: Item, items: Items) -> float:
    """Quantity that a rate is paid for in one unit of an item: TB, or 1."""
    if rate.per == "unit":
        return 1.0
    if rate.per == "raw_tb":
        if (raw := raw_tb(item, items, rate.flash)) > 0.0:
            return raw
        drives = f"{rate.flash} drives" if rate.flash else "drives"
        raise ValueError(f"the catalog states no {drives} (media)")
    if item.provides.usable is None:
        raise ValueError("the catalog states no usable capacity (provides.usable)")
    return item.provides.usable.value


def raw_tb(item: Item, items: Items, flash: MediaType | None = None) -> float:
    """Raw capacity of a unit and its components, TB: of drives of one type, or of all."""
    own = sum(m.raw_tb for m in item.media if flash is None or m.type == flash)
    parts = ((items[p.id], p.quantity) for p in item.components if p.id in items)
    return own + sum(count * raw_tb(part, items, flash) for part, count in parts)


def with_range(price: Price, ranges: Mapping[Confidence, float]) -> Price:
    """A price with a low and a high: its own, or by the range of its confidence."""
    share = ranges.get(price.confidence)
    if share is None or price.parts:
        return price
    amounts = {"": price.list_usd, "per_year_": price.per_year_usd}
    new = {
        f"{prefix}{end}_usd": round(usd * factor, 2)
        for prefix, usd in amounts.items()
        for end, factor in (("low", 1.0 - share), ("high", 1.0 + share))
        if usd is not None and getattr(price, f"{prefix}{end}_usd") is None
    }
    return price.model_copy(update=new)


# Terms kept from earlier books.


def _over(below: Entry, entry: Entry) -> Entry:
    """An entry with the terms of an earlier one that it leaves open."""
    price, stated, known = entry.price, entry.price.model_fields_set, below.price
    values: dict[str, object] = {}
    sources, labels = dict(entry.sources), []
    if known.support_per_year is not None and not stated & _SUPPORT_TERMS:
        values |= {name: getattr(known, name) for name in _SUPPORT if name not in stated}
        values["support_source"] = _cite(sources, known.support_source or known.source, below)
        values["support_confidence"] = known.support_confidence or known.confidence
        labels.append("support")
    if known.per_year_usd and "per_year_usd" not in stated and not price.parts:
        values |= {name: getattr(known, name) for name in _SUBSCRIPTION if name not in stated}
        labels.append("subscription")
    for name, label in _SINGLE.items():
        if name not in stated and getattr(known, name) != Price.model_fields[name].default:
            values[name] = getattr(known, name)
            labels.append(label)
    if labels:
        note = f"{', '.join(labels)} as in '{below.book}'"
        values["note"] = f"{price.note}; {note}" if price.note else note
    return entry._replace(price=price.model_copy(update=values), sources=sources)


def _cite(sources: dict[str, Source], name: str, below: Entry) -> str:
    """The name of a source of the book below, which is added to the sources."""
    source = below.sources[name]
    while sources.get(name, source) != source:
        name = f"{name}_below"
    sources[name] = source
    return name


# Age of prices.

OLD_MONTHS = 6
"""Age above which a price is stale: flash moves by a fifth in a quarter."""
NO_DATE = "0000"
"""The date of a price that was edited in a workbook."""


def latest_day(text: str) -> date:
    """The last day of a date of a price book, which may be a month or a year."""
    if text == NO_DATE:
        return date.max
    year, month, day = (*map(int, text.split("-")), 12, 31)[:3]
    return date(year, month, min(day, calendar.monthrange(year, month)[1]))


def is_old(text: str, day: date) -> bool:
    """True if a price of a date is stale on a day."""
    return latest_day(text) < day - timedelta(days=365.25 / 12 * OLD_MONTHS)


def today() -> date:
    """Today, or the day of SOURCE_DATE_EPOCH, for reproducible outputs.

    Raises:
        InputError: SOURCE_DATE_EPOCH is no time.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        now = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        message, fix = f"'{epoch}' is not seconds since 1970", "write for example 1767225600"
        raise InputError(Finding("environment", message, "SOURCE_DATE_EPOCH", fix=fix)) from None
    return now.date()
