"""What the command line says of the files of bids, and the quotes in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date as date_type
from pathlib import Path

from pydantic import ValidationError

from planner.errors import Finding, InputError
from planner.inputs import Inputs
from planner.loader import locate, yaml12
from planner.loader.catalog_checks import check_item
from planner.loader.market import validated
from planner.loader.price_building import today
from planner.quotes.answers import catalog_text
from planner.quotes.importing import QuoteOptions, read_quote
from planner.quotes.products import unlikely_prices
from planner.schema.bill import Asked, Quote, QuoteMap
from planner.schema.catalog import Catalog, Item

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def mapping_of(path: Path | None, items: Mapping[str, Item]) -> QuoteMap:
    """Return how a vendor's quotes are laid out; nothing is said of it where there is no file.

    Args:
        items: the products that it may name, by id.

    Raises:
        InputError: it is no mapping, or names a product that is not known.
    """
    if path is None:
        return QuoteMap(quote_map="none")
    document = yaml12.read(path, "mapping")
    try:
        mapping = QuoteMap.model_validate(document.data)
    except ValidationError as error:
        raise InputError(locate.findings(error, document, QuoteMap)) from None
    wrong = [item for item in mapping.items.values() if item not in items]
    if wrong:
        message = f"the mapping names '{wrong[0]}', which no catalog in use has"
        fix = "see planner catalog, or give the catalog's problem with --problem"
        raise InputError(Finding("unknown-item", message, str(path), fix=fix))
    return mapping


def _is_day(text: str) -> bool:
    try:
        return date_type.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def iso_date(given: str | None) -> str | None:
    """Return a date of the command line.

    Raises:
        InputError: it is none.
    """
    if given is not None and not _is_day(given):
        message = f"'{given}' is no date of --date"
        raise InputError(Finding("option", message, fix="write it as 2026-11-20"))
    return given


def currency_code(given: str | None) -> str | None:
    """Return a currency of the command line.

    Raises:
        InputError: it is no code of one.
    """
    if given is not None and not re.fullmatch(r"[A-Z]{3}", given):
        message = f"'{given}' is no currency of --currency"
        raise InputError(Finding("option", message, fix="write it as EUR"))
    return given


def rates_of(given: Sequence[str]) -> dict[str, float]:
    """Return rates of exchange by currency, USD for one unit of each.

    Raises:
        InputError: the text of one is none.
    """
    rates = {}
    for text in given:
        match = re.fullmatch(r"([A-Z]{3})=(\d+(?:\.\d+)?)", text)
        if match is None or float(match[2]) <= 0.0:
            message = f"'{text}' is no rate"
            raise InputError(Finding("option", message, fix="write it as --rate EUR=1.08"))
        rates[match[1]] = float(match[2])
    return rates


def read_bids(
    files: Sequence[Path],
    inputs: Inputs,
    *,
    vendor: Sequence[str],
    mapping: Sequence[str],
    date: Sequence[str],
    currency: Sequence[str],
    rate: Sequence[str],
) -> tuple[tuple[Quote, ...], Inputs]:
    """Return the quotes of the bids, in the order of their files, and the problem they are on.

    Options are ``FILE=VALUE``, or a value for all files. Who bids is called after the file where
    nobody says otherwise. Products that no catalog has and their vendor describes in full are
    products of the problem from then on.

    Args:
        files: XLSX and CSV files.
        vendor: who bids.
        mapping: how a file is laid out.
        date: of a quote.
        currency: of a quote's amounts.
        rate: rates of exchange, as ``EUR=1.08``; they count before those of the problem.

    Raises:
        InputError: a file or an option is wrong, or a file does not tell its currency.
    """
    _check_files(files)
    vendors, maps, dates, currencies = (
        _by_file(files, option, given)
        for option, given in (("--vendor", vendor), ("--map", mapping), ("--date", date),
                              ("--currency", currency))
    )  # fmt: skip
    known = {code: each.usd for code, each in inputs.problem.currencies.items()}
    rates = known | rates_of(rate)
    quotes = []
    for path in files:
        where = maps.get(path)
        items = inputs.by_id
        options = QuoteOptions(
            (vendors.get(path) or path.stem).strip(),
            mapping_of(None if where is None else Path(where), items),
            iso_date(dates.get(path)),
            currency_code(currencies.get(path)),
            rates,
            dated=False,
        )
        quote = read_quote(path, options, items)
        in_full = [
            each for each in quote.asked if each.category and each.known and not each.figures
        ]
        more, remarks = _described(quote, in_full, inputs)
        if more is not inputs:
            names = {each.part_number or each.description: each.id for each in in_full}
            named = options.mapping.model_copy(update={"items": {**names, **options.mapping.items}})
            inputs, items = more, {item.id: item for item in more.items}
            quote = read_quote(path, replace(options, mapping=named), items)
        findings = (*quote.findings, *remarks, *unlikely_prices(quote.prices, inputs.prices),
                    *_expired(quote))  # fmt: skip
        quotes.append(quote.model_copy(update={"findings": findings}))
    names_given = [quote.vendor for quote in quotes]
    twice = next((name for name in names_given if names_given.count(name) > 1), None)
    if twice is not None:
        message = f"two bids are called '{twice}'"
        fix = "name them: --vendor FILE=NAME"
        raise InputError(Finding("option", message, fix=fix))
    return tuple(quotes), inputs


def _expired(quote: Quote) -> Iterator[str]:
    """Yield that a quote's prices no longer hold."""
    if quote.valid_until and date_type.fromisoformat(quote.valid_until) < today():
        yield f"its prices held until {quote.valid_until}: ask for them anew"


def _described(
    quote: Quote, in_full: Sequence[Asked], inputs: Inputs
) -> tuple[Inputs, tuple[str, ...]]:
    """Return the problem with products that a vendor describes in full, and what is to be said."""
    taken = {item.id for item in inputs.items}
    in_full = [each for each in in_full if each.id not in taken]
    if not in_full:
        return inputs, ()
    text = catalog_text(quote.model_copy(update={"asked": tuple(in_full)}))
    try:
        catalog = validated(Catalog, yaml12.parse(text, f"what {quote.file} describes", "catalog"))
    except InputError as error:
        return inputs, tuple(finding.message for finding in error.findings)
    known = {item.id: item for item in (*inputs.items, *catalog.items)}
    families = {family.id: family for family in (*inputs.families, *catalog.families)}
    faults = [f"{item.model}: {message}" for item in catalog.items
              for message, *_ in check_item(item, catalog.sources, known, families)]  # fmt: skip
    if faults:
        return inputs, tuple(faults)
    sources = {item.id: dict(catalog.sources) for item in catalog.items}
    remarks = tuple(
        f"{each.cell}: {each.description or each.part_number} is in no catalog of the problem; it "
        "is planned with the figures that its vendor states"
        for each in in_full
    )
    return replace(
        inputs,
        items=(*inputs.items, *catalog.items),
        families=(*inputs.families, *catalog.families),
        item_sources={**inputs.item_sources, **sources},
    ), remarks


def _check_files(files: Sequence[Path]) -> None:
    if not files:
        message = "there is no bid to evaluate"
        fix = "give the vendors' files: --quotes a.xlsx b.csv"
        raise InputError(Finding("option", message, fix=fix))
    if len(files) > len(LETTERS):
        message = f"{len(files)} bids, and {len(LETTERS)} are compared at most"
        raise InputError(Finding("option", message, fix="leave some out"))
    twice = next((path for path in files if files.count(path) > 1), None)
    if twice is not None:
        raise InputError(Finding("option", f"'{twice}' is given twice", fix="give it once"))


def _by_file(files: Sequence[Path], option: str, given: Sequence[str]) -> dict[Path, str]:
    """Return the values of an option by file: what is said of one counts before what is for all."""
    for_all = [text for text in given if "=" not in text]
    if len(for_all) > 1:
        message = f"{option} is given twice without a file"
        raise InputError(Finding("option", message, fix=f"write it as {option} FILE={for_all[1]}"))
    found = dict.fromkeys(files, for_all[0]) if for_all else {}
    for text in (each for each in given if "=" in each):
        named = [
            (path, text.removeprefix(f"{name}=").strip())
            for path in files
            for name in dict.fromkeys((path.name, str(path), path.stem))
            if text.startswith(f"{name}=")
        ]
        if len({path for path, _ in named}) != 1 or not named[0][1]:
            message = f"{option} {text}: '{text.partition('=')[0]}' is none of the bids' files"
            fix = "name one of " + ", ".join(path.name for path in files)
            raise InputError(Finding("option", message, fix=fix))
        found[named[0][0]] = named[0][1]
    return found
