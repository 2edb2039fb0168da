"""Price books: read, laid over each other, built from parts, checked against bare drives.

A price keeps the terms of an earlier book that it does not state. Support is one term: its price,
its levels and the years in the list price are stated together; ``support_level`` alone chooses
among the levels below, ``none`` none of them. A subscription is kept by a price that is stated; a
price of parts has its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from planner import currency, shipped
from planner.currency import Currency
from planner.errors import Finding, InputError, did_you_mean
from planner.inputs import Document
from planner.loader import exchange
from planner.loader.catalog_checks import LIST_IT
from planner.loader.documents import FileLine, read_with_includes, validated
from planner.loader.exchange import latest_day
from planner.schema.catalog import Confidence, Item, MediaType, Source
from planner.schema.prices import (
    NO_SUPPORT,
    Discount,
    ExchangeRate,
    Price,
    PriceBook,
    Rate,
    SupportShare,
)

_ORDER: tuple[Confidence, ...] = ("low", "medium", "high")
_SUPPORT = frozenset(name for name in Price.model_fields if name.startswith("support_"))
_SUPPORT_TERMS = frozenset({"support_per_year", "support_included_years", "support_levels"})
_SUBSCRIPTION = ("per_year_usd", "per_year_low_usd", "per_year_high_usd")
_SINGLE = {"lead_time": "lead time", "pack": "pack", "min_order": "minimum order", "stock": "stock"}
_MOST_NAMES = 5
Items = Mapping[str, Item]


class Entry(NamedTuple):
    """The price of an item in a book, with the sources that it may cite.

    ``terms`` are those kept from earlier books: text and book by label.
    """

    price: Price
    book: str
    sources: dict[str, Source]
    place: FileLine
    terms: Mapping[str, tuple[str, str]] = {}


@dataclass
class Prices:
    """The prices of all books in use; later books override earlier ones.

    ``exchange`` are the rates of the books, ``currency`` that of the last book that names one.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    rates: dict[str, Rate] = field(default_factory=dict)
    discounts: list[Discount] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    files: list[tuple[Path, str]] = field(default_factory=list)
    exchange: dict[str, ExchangeRate] = field(default_factory=dict)
    currency: str | None = None
    currency_place: FileLine = ("", None)

    @property
    def prices(self) -> dict[str, Price]:
        """Price by item."""
        return {name: entry.price for name, entry in self.entries.items()}

    @property
    def books(self) -> dict[str, str]:
        """Title of the book of a price, by item."""
        return {name: entry.book for name, entry in self.entries.items()}

    @property
    def sources(self) -> dict[str, dict[str, Source]]:
        """Sources that a price may cite, by item."""
        return {name: entry.sources for name, entry in self.entries.items()}


def price_documents(files: list[Path]) -> list[tuple[Path, Document]]:
    """The unchecked price books of ``files`` and those that they include."""
    return read_with_includes(files, "price book", shipped.price_files())


def load_prices(
    files: list[Path],
    items: Items | None = None,
    rates: Mapping[str, Currency] | None = None,
) -> Prices:
    """The merged price books of ``files``, later ones on top of earlier ones.

    Args:
        files: the price books.
        items: all items by id, for prices with parts, which stay unbuilt without items; prices of
            parts of unknown items are omitted.
        rates: rates of exchange that override those of the books.
    """
    result = Prices()
    layers: dict[str, list[Entry]] = {}
    rate_sources: dict[str, dict[str, Source]] = {}
    documents = price_documents(files)
    known = {**exchange.of_books(documents), **(rates or {})}
    books = [
        (path, document, validated(PriceBook, document, known)) for path, document in documents
    ]
    for path, document, book in books:
        _add_book(result, path, document, book)
        sources = dict(book.sources)
        rate_sources |= dict.fromkeys(book.rates, sources)
        for name, price in book.prices.items():
            ranged = price if price.parts else with_range(price, book.ranges)
            place = document.place(("prices", name))
            layers.setdefault(name, []).append(Entry(ranged, book.price_book, sources, place))
    tops = {name: entries[-1] for name, entries in layers.items()}
    if items is not None:
        tops = _build_all(tops, items, result.rates, rate_sources)
    for name, top in tops.items():
        below = [_built_if_known(e, name, items, result.rates) for e in layers[name][:-1]]
        result.entries[name] = _merge([*below, top])
        if (fault := _unknown_level(result.entries[name].price)) is not None:
            path_of = f"prices.{name}.support_level"
            finding = Finding("support-level", fault, *top.place, path_of, "choose one of them")
            raise InputError(finding)
    return result


def _add_book(result: Prices, path: Path, document: Document, book: PriceBook) -> None:
    result.exchange |= book.exchange
    if book.currency != currency.USD.code:
        result.currency = book.currency
        result.currency_place = document.place(("currency",))
    result.names.append(book.price_book)
    result.files.append((path, document.digest))
    result.discounts += book.discounts
    result.rates |= book.rates
    cited = [(f"rates.{name}", rate.source) for name, rate in book.rates.items()]
    for name, price in book.prices.items():
        own = (None if price.parts else price.source), price.support_source
        rent = None if price.rent is None else price.rent.source
        cited += [(f"prices.{name}", source) for source in (*own, rent) if source is not None]
    for place, source in cited:
        if source not in book.sources:
            message = f"the source '{source}' is not listed under sources"
            hint = did_you_mean(source, list(book.sources)) or LIST_IT
            line = document.line(tuple(place.split(".")))
            raise InputError(Finding("source", message, document.file, line, place, hint))


# Prices of parts.


class NoQuantityError(ValueError):
    """A rate that cannot be applied to an item; the text names the missing figure."""


def _build_all(
    tops: Mapping[str, Entry],
    items: Items,
    rates: Mapping[str, Rate],
    rate_sources: Mapping[str, dict[str, Source]],
) -> dict[str, Entry]:
    """Entries with the sums of their parts; those of unknown items are left out."""
    problems: list[Finding] = []
    found: dict[str, Entry] = {}
    for name, entry in tops.items():
        item, used = items.get(name), [part.rate for part in entry.price.parts]
        unknown = [rate for rate in used if rate not in rates]
        place = (*entry.place, f"prices.{name}.parts")
        if not used:
            found[name] = entry
        elif unknown:
            fix = did_you_mean(unknown[0], list(rates)) or "list it under rates"
            problems.append(Finding("rate", f"no rate '{unknown[0]}'", *place, fix))
        elif item is not None:
            try:
                whole = build_price(entry.price, item, items, rates)
            except NoQuantityError as error:
                fix = "state it in the catalog, or give list, date, source and confidence"
                problems.append(Finding("rate", f"'{name}': {error}", *place, fix))
                continue
            main = next(rate for rate in used if rates[rate].source == whole.source)
            sources = {**entry.sources, **rate_sources[main]}
            found[name] = entry._replace(price=whole, sources=sources)
    if problems:
        raise InputError(problems)
    return found


def _built_if_known(
    entry: Entry, name: str, items: Items | None, rates: Mapping[str, Rate]
) -> Entry:
    """An overridden price as the sum of its parts; unchanged where a part is not known."""
    item = None if items is None else items.get(name)
    if not entry.price.parts or item is None or items is None:
        return entry
    try:
        return entry._replace(price=build_price(entry.price, item, items, rates))
    except (KeyError, NoQuantityError):  # nothing of it is paid: it only lends its terms
        return entry


def build_price(price: Price, item: Item, items: Items, rates: Mapping[str, Rate]) -> Price:
    """A price with parts as the sum of them: once, every year, low and high.

    Its date is the oldest of its rates', its confidence the least, its source that of the rate
    that most of the price comes from; the note lists every part.

    Args:
        item: the item of the price.
        rates: the rates of the books in use.

    Raises:
        NoQuantityError: the catalog lacks the quantity that a rate is paid for.
    """
    used = [(rates[part.rate], part.count) for part in price.parts]
    sized = [(rate, count * quantity(rate, item, items)) for rate, count in used]
    once = [(rate, amount) for rate, amount in sized if rate.every == "once"]
    yearly = [(rate, amount) for rate, amount in sized if rate.every == "year"]
    main = max(once or yearly, key=lambda pair: pair[0].usd * pair[1])[0]
    built = "built of " + ", ".join(_text_of_part(*pair) for pair in sized)
    values: dict[str, object] = {
        "list_usd": _sum(once, "usd"),
        "low_usd": _sum(once, "low_usd"),
        "high_usd": _sum(once, "high_usd"),
        "date": min((rate.date for rate, _ in sized), key=latest_day),
        "source": main.source,
        "confidence": min((rate.confidence for rate, _ in sized), key=_ORDER.index),
        "note": f"{built}; {price.note}" if price.note else built,
    }
    if yearly:
        values["per_year_usd"] = _sum(yearly, "usd")
        values["per_year_low_usd"] = _sum(yearly, "low_usd")
        values["per_year_high_usd"] = _sum(yearly, "high_usd")
    return price.model_copy(update=values)


def quantity(rate: Rate, item: Item, items: Items) -> float:
    """Quantity that a rate is paid for in one unit of an item: TB, or 1.

    Raises:
        NoQuantityError: the catalog does not state it.
    """
    if rate.per == "unit":
        return 1.0
    if rate.per == "raw_tb":
        raw = raw_tb(item, items, rate.flash)
        if raw > 0.0:
            return raw
        drives = f"{rate.flash} drives" if rate.flash else "drives"
        raise NoQuantityError(f"the catalog states no {drives} (media)")
    usable = item.provides.usable
    if usable is None:
        raise NoQuantityError("the catalog states no usable capacity (provides.usable)")
    return usable.value


def raw_tb(item: Item, items: Items, flash: MediaType | None = None) -> float:
    """Raw capacity of a unit and its components, TB: of drives of one type, or of all."""
    own = sum(m.raw_tb for m in item.media if flash is None or m.type == flash)
    parts = ((items[p.id], p.quantity) for p in item.components if p.id in items)
    return own + sum(count * raw_tb(part, items, flash) for part, count in parts)


def _sum(sized: list[tuple[Rate, float]], usd: str) -> float:
    each: list[float] = [getattr(rate, usd) * amount for rate, amount in sized]
    return round(sum(each), 2)


def _text_of_part(rate: Rate, amount: float) -> str:
    unit = {"unit": "", "raw_tb": " TB", "usable_tb": " TB usable", "used_tb": " TB"}[rate.per]
    often = " a year" if rate.every == "year" else ""
    whole = rate.usd * amount
    return f"{amount:,.6g}{unit} {rate.label} at {rate.usd:,.6g} USD ({whole:,.0f} USD{often})"


def with_range(price: Price, ranges: Mapping[Confidence, float]) -> Price:
    """A price with a low and a high: its own, or by the range of its confidence."""
    share = ranges.get(price.confidence)
    if share is None:
        return price
    low, high, each = 1.0 - share, 1.0 + share, price.per_year_usd
    values = {"low_usd": price.list_usd * low, "high_usd": price.list_usd * high}
    if each is not None:
        values |= {"per_year_low_usd": each * low, "per_year_high_usd": each * high}
    new = {name: round(usd, 2) for name, usd in values.items() if getattr(price, name) is None}
    return price.model_copy(update=new)


def below_drives(
    prices: Mapping[str, Price], items: Items, rates: Mapping[str, Rate]
) -> Iterator[tuple[str, str, str]]:
    """(item id, message, fix) of storage priced below its bare drives."""
    flash = {rate.flash: rate for rate in rates.values() if rate.flash is not None}
    for name, price in prices.items():
        item = items.get(name)
        if item is None or item.category != "storage":
            continue
        drives_usd = sum(rate.usd * raw_tb(item, items, kind) for kind, rate in flash.items())
        if price.list_usd < drives_usd * (1.0 - 1e-9):
            message = (
                f"the price of '{name}', {price.list_usd:,.0f} USD, is below its bare drives, "
                f"{drives_usd:,.0f} USD"
            )
            yield name, message, "build it from parts, or state what you pay for flash in rates"


# Terms kept from earlier books.


def _merge(entries: Sequence[Entry]) -> Entry:
    """The last of several prices of an item with the terms that it leaves to the earlier ones."""
    result = entries[0]
    for entry in entries[1:]:
        result = _over(entry, result)
    return result


def _over(entry: Entry, below: Entry) -> Entry:
    price, stated, known = entry.price, entry.price.model_fields_set, below.price
    values: dict[str, object] = {}
    sources, terms = dict(entry.sources), {}
    if known.levels and price.support_level != NO_SUPPORT and not stated & _SUPPORT_TERMS:
        values |= {name: getattr(known, name) for name in _SUPPORT if name not in stated}
        values["support_source"] = _cite(sources, known.support_source or known.source, below)
        values["support_confidence"] = known.support_confidence or known.confidence
        terms["support"] = _support_text(known)
    if known.per_year_usd and "per_year_usd" not in stated and not price.parts:
        values |= {name: getattr(known, name) for name in _SUBSCRIPTION if name not in stated}
        terms["subscription"] = f"{known.per_year_usd:,.0f} USD a year"
    for name, label in _SINGLE.items():
        value = getattr(known, name)
        if name not in stated and value != Price.model_fields[name].default:
            values[name] = value
            terms[label] = str(value)
    kept = {
        label: (text, below.terms[label][1] if label in below.terms else below.book)
        for label, text in terms.items()
    }
    if kept:
        books = ", ".join(dict.fromkeys(f"'{book}'" for _, book in kept.values()))
        note = f"{_listed(kept)} as in {books}"
        values["note"] = f"{price.note}; {note}" if price.note else note
    return entry._replace(price=price.model_copy(update=values), sources=sources, terms=kept)


def _support_text(price: Price) -> str:
    if price.support_levels:
        return f"levels {', '.join(price.support_levels)}"
    support, years = price.support_per_year, price.support_included_years
    if isinstance(support, SupportShare):
        text = f"{100.0 * support.share:.6g} % a year"
    else:
        text = f"{0.0 if support is None else support.usd:,.0f} USD a year"
    return f"{text}, {years:g} years included" if years else text


def _cite(sources: dict[str, Source], name: str, below: Entry) -> str | None:
    """The name of a source of the book below, which is added to the sources."""
    source = below.sources.get(name)
    if source is None:
        return None
    while sources.get(name, source) != source:
        name = f"{name}_below"
    sources[name] = source
    return name


def _listed(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _unknown_level(price: Price) -> str | None:
    levels, level = price.support_levels, price.support_level
    if not levels or level in {*levels, NO_SUPPORT, None}:
        return None
    return f"no level '{level}' of support; known: {', '.join(levels)}"


def kept_terms(entries: Mapping[str, Entry]) -> Iterator[Finding]:
    """A warning for each book and set of terms that it leaves to earlier books."""
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    for name, entry in entries.items():
        terms = tuple((label, book) for label, (_, book) in entry.terms.items())
        if terms:
            groups.setdefault((entry.book, terms), []).append(name)
    for (book, terms), names in groups.items():
        below = ", ".join(dict.fromkeys(f"'{other}'" for _, other in terms))
        labels, shown = _listed(label for label, _ in terms), []
        for name in names[:_MOST_NAMES]:
            kept = entries[name].terms.items()
            shown.append(f"{name} ({', '.join(f'{label} {text}' for label, (text, _) in kept)})")
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        message = f"'{book}' leaves {labels} to {below} for {', '.join(shown)}{more}"
        example = ", for example support_per_year: none" if "support" in labels else ""
        place = (*entries[names[0]].place, f"prices.{names[0]}")
        yield Finding("kept-terms", message, *place, f"state what differs{example}", "warning")
