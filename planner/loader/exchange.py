"""Rates of exchange: those of the problem and its price books, before any amount is read.

An amount in euros can only be read by who knows what a euro is, and the rate may stand in the same
file, or in a price book that the file names. So rates are gathered first. What is wrong with one is
left to the schema, which says so with file and line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner import currency
from planner.currency import OLD_DAYS, Currency
from planner.errors import Finding, InputError
from planner.inputs import Document, Inputs
from planner.loader.price_building import latest_day, today
from planner.schema.prices import ExchangeRate
from planner.schema.problem import Problem
from planner.units import rate_wanted

Rates = Mapping[str, Currency]


def stated_rates(document: Document) -> dict[str, Currency]:
    """Return the rates of exchange that a file states, those left out that are wrong."""
    found: dict[str, Currency] = {}
    data = document.data.get("exchange")
    for code, rate in data.items() if isinstance(data, dict) else ():
        try:
            found[str(code)] = ExchangeRate.model_validate(rate).of(str(code))
        except ValidationError:
            continue
    return found


def lacks_rate(document: Document, rates: Rates) -> bool:
    """Say whether a file has amounts in a currency whose rate is not known."""
    return any(code not in rates for code in _codes(document.data))


def _codes(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        code = currency.code_of(data)
        if code is not None:
            yield code
    elif isinstance(data, dict):
        for part in data.values():
            yield from _codes(part)
    elif isinstance(data, tuple):
        for part in data:
            yield from _codes(part)


def settle_rates(
    problem: Problem,
    book_rates: Mapping[str, ExchangeRate],
    shown: str | None,
    place: tuple[str, int | None],
) -> Problem:
    """Return the problem with the rates of its price books, and the currency that they are in.

    What the problem says itself counts first.

    Args:
        book_rates: rates of its price books.
        shown: the currency of the last price book that names one.
        place: file and line that name the currency.

    Raises:
        InputError: money is to be shown in a currency whose rate nobody gives.
    """
    rates = {**book_rates, **problem.exchange}
    code = problem.currency or shown
    if code not in (None, currency.USD.code) and code not in rates:
        message = f"money is to be shown in {code}, and no rate of {code} is known"
        fix = rate_wanted(str(code))
        raise InputError(Finding("exchange", message, *place, "currency", fix))
    changes: dict[str, object] = {}
    if rates != problem.exchange:
        changes["exchange"] = rates
    if code != problem.currency:
        changes["currency"] = code
    return problem.model_copy(update=changes) if changes else problem


def doubtful_rates(inputs: Inputs) -> Iterator[Finding]:
    """Yield rates in use that are old, or dated in the future.

    Args:
        inputs: a problem with the rates of its price books, and the prices.
    """
    problem, document = inputs.problem, inputs.document
    used = {price.currency for price in inputs.prices.values()} | {problem.currency}
    here = stated_rates(document) if document is not None else {}
    for code, rate in sorted(problem.exchange.items()):
        if code not in used and code not in here:
            continue
        path = ("exchange", code)
        place = document.place(path) if document is not None and code in here else (None, None)
        file, line = place
        finding = Finding("old-rate", "", file, line, f"exchange.{code}", severity="warning")
        day = latest_day(rate.on)
        fix = f"give the rate of today: exchange.{code}.usd and on"
        if day < today() - timedelta(days=OLD_DAYS):
            message = f"the rate of {code} is of {rate.on}, more than {OLD_DAYS} days ago"
            yield replace(finding, message=message, fix=fix)
        elif day > today():
            yield replace(finding, message=f"the rate of {code} is of {rate.on}, a day to come")


def price_names(document: Document) -> tuple[str, ...] | None:
    """Return the price books that a file names, None where it names none or not as it should."""
    names = document.data.get("prices")
    if isinstance(names, str):
        return (names,)
    if isinstance(names, tuple) and all(isinstance(name, str) for name in names):
        return names
    return None


def of_books(documents: list[tuple[Path, Document]]) -> dict[str, Currency]:
    """Return the rates of price books; later ones override earlier ones."""
    found: dict[str, Currency] = {}
    for _, document in documents:
        found |= stated_rates(document)
    return found
