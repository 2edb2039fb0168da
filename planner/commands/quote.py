"""Quotes of vendors read into price books and catalogs, and what is said of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from planner import shipped
from planner.errors import Finding, InputError
from planner.loader import load
from planner.loader.market import load_catalogs
from planner.quotes.importing import Said, read_quote
from planner.quotes.products import catalog_text, one_line, yaml_text
from planner.schema.catalog import Item
from planner.schema.quote import Quote, Quoted, QuoteMap
from planner.studies.bids.asking import iso_date, mapping_of, rates_of
from planner.whole_files import write_all


@dataclass(frozen=True)
class Asking:
    """What the command line says of a quote; see ``planner quote import --help``."""

    vendor: str
    mapping: Path | None = None
    problem: Path | None = None
    date: str | None = None
    currency: str | None = None
    rates: tuple[str, ...] = ()


def import_quote(path: Path, asking: Asking, folder: Path) -> tuple[Quote, tuple[Path, ...]]:
    """Read a vendor's quote; write its prices, its mapping, and what it sells that is not known.

    Raises:
        InputError: the file or an option is wrong, or a file cannot be written.
    """
    known = _known(asking.problem)
    mapping = mapping_of(asking.mapping, known)
    date, rates = iso_date(asking.date), rates_of(asking.rates)
    said = Said(asking.vendor.strip(), mapping, date, asking.currency, rates)
    if not said.vendor:
        raise InputError(Finding("option", "--vendor is empty", fix="say who quotes"))
    quote = read_quote(path, said, known)
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", path.stem)
    texts = {folder / f"{stem}.map.yaml": map_text(quote, mapping)}
    if quote.prices:
        texts[folder / f"{stem}.prices.yaml"] = price_text(quote)
    if any(each.category for each in quote.asked):
        texts[folder / f"{stem}.catalog.yaml"] = catalog_text(quote)
    texts[folder / f"{stem}.quote.json"] = json_text(quote)
    write_all({name: text.encode() for name, text in texts.items()})
    return quote, tuple(texts)


def json_text(quote: Quote) -> str:
    """Return the record as JSON."""
    return quote.model_dump_json(indent=2) + "\n"


def _known(problem: Path | None) -> Mapping[str, Item]:
    if problem is None:
        return load_catalogs(list(shipped.catalog_files().values())).items
    return {item.id: item for item in load(problem).items}


# The files, each as somebody would write it by hand.


def price_text(quote: Quote) -> str:
    """Return a price book of what a quote says."""
    return "\n".join(_price_lines(quote)) + "\n"


def _price_lines(quote: Quote) -> Iterator[str]:
    rate = "" if quote.currency == "USD" else f", 1 {quote.currency} = {quote.usd_per_unit:.6g} USD"
    who = one_line(quote.vendor)
    yield f"# Net prices per unit, as quoted by {who}. Laid over the other books:"
    yield "#   prices: [estimates_2026, this file]"
    yield f"price_book: {yaml_text(f'{quote.vendor}, quote of {quote.date}')}"
    yield "currency: USD"
    yield "sources:"
    yield "  quote:"
    title = f"Quote of {quote.vendor}, {quote.date}, file {quote.file}{rate}"
    yield f"    title: {yaml_text(title)}"
    yield "prices:"
    for price in quote.prices:
        yield from _price(price, quote.date)
    yield "discounts:   # these prices are net: no discount of another book comes off them"
    yield from (f"  - {{item: {price.item}, discount: 0 %}}" for price in quote.prices)


def _price(price: Quoted, date: str) -> Iterator[str]:
    yield f"  {price.item}:"
    yield f"    list: {price.net_usd:.2f} USD"
    yield f"    date: {yaml_text(date)}"
    yield "    source: quote"
    yield "    confidence: high"
    if price.support_usd_per_year is not None:
        yield f"    support_per_year: {price.support_usd_per_year:.2f} USD"
        yield "    support_source: quote"
        yield "    support_confidence: high"
    if price.support_included_years is not None:
        yield f"    support_included_years: {price.support_included_years:g}"
    if price.lead_time is not None:
        yield f"    lead_time: {yaml_text(price.lead_time)}"
    listed = "" if price.list_usd is None else f"; list {price.list_usd:,.2f} USD"
    cells = ", ".join(price.cells)
    yield f"    note: {yaml_text(f'{price.quantity:g} quoted, cells {cells}{listed}')}"


def map_text(quote: Quote, mapping: QuoteMap) -> str:
    """Return the mapping that was used, for the vendor's next quote."""
    lines = [
        f"quote_map: {yaml_text(f'{quote.vendor}, as in {quote.file}')}",
        f"currency: {quote.currency}",
        f"decimal: {quote.decimal}",
        "columns:",
        *(f"  {field}: {yaml_text(text)}" for field, text in quote.columns.items()),
    ]
    if mapping.sheets:
        lines.append(f"sheets: [{', '.join(yaml_text(name) for name in mapping.sheets)}]")
    if mapping.leave_out:
        lines.append(f"leave_out: [{', '.join(yaml_text(name) for name in mapping.leave_out)}]")
    if mapping.quantities:
        lines += ["quantities:", *(f"  {yaml_text(n)}: {q}" for n, q in mapping.quantities.items())]
    items = dict(mapping.items)
    for line in quote.lines:
        if line.item is not None and (line.part_number or line.description):
            items.setdefault(line.part_number or line.description, line.item)
    if items:
        lines += ["items:", *(f"  {yaml_text(key)}: {item}" for key, item in items.items())]
    for product in quote.asked:
        key = yaml_text(product.part_number or product.description)
        lines.append(f"# not known; name the item here: items: {{{key}: ...}}")
    return "\n".join(lines) + "\n"
