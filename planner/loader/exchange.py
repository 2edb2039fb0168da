"""Rates of exchange, gathered from the problem and its price books first, and the age of prices.

Amounts in euros need the rate of the euro, which may be in the same file or in a price book that
the file names. The schema reports wrong rates with file and line.
"""

from __future__ import annotations

import calendar
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner import currency
from planner.currency import OLD_DAYS, Currency
from planner.errors import Finding, InputError
from planner.inputs import Document, Inputs
from planner.schema.prices import ExchangeRate
from planner.schema.problem import Problem
from planner.units import rate_wanted

OLD_MONTHS = 6
"""Age above which a price is stale: flash moves by a fifth in a quarter."""
NO_DATE = "0000"
"""The date of a price that was edited in a workbook."""
Rates = Mapping[str, Currency]


def stated_rates(document: Document) -> dict[str, Currency]:
    """The rates of exchange that a file states, those left out that are wrong."""
    found: dict[str, Currency] = {}
    data = document.data.get("exchange")
    for code, rate in data.items() if isinstance(data, dict) else ():
        try:
            found[str(code)] = ExchangeRate.model_validate(rate).of(str(code))
        except ValidationError:
            continue
    return found


def lacks_rate(document: Document, rates: Rates) -> bool:
    """True if a file has amounts in a currency whose rate is not known."""
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
    """The problem with the rates of its price books, and the currency that they are in.

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
    """The price books that a file names, None where it names none or not as it should."""
    names = document.data.get("prices")
    if isinstance(names, str):
        return (names,)
    if isinstance(names, tuple) and all(isinstance(name, str) for name in names):
        return names
    return None


def of_books(documents: list[tuple[Path, Document]]) -> dict[str, Currency]:
    """The rates of price books; later ones override earlier ones."""
    found: dict[str, Currency] = {}
    for _, document in documents:
        found |= stated_rates(document)
    return found


# Age of prices.


def latest_day(text: str) -> date:
    """The last day of a date of a price book, which may be a month or a year."""
    year, month, day = (*map(int, text.split("-")), 0, 0)[:3]
    month = min(month, 12) or 12
    return date(year, month, min(day, _days(year, month)) or _days(year, month))


def _days(year: int, month: int) -> int:
    return calendar.monthrange(year, month)[1]


def is_old(text: str, day: date) -> bool:
    """True if a price of a date is stale on a day."""
    if text == NO_DATE:
        return False
    months = day.year * 12 + day.month - 1 - OLD_MONTHS
    year, month = divmod(months, 12)
    limit = date(year, month + 1, min(day.day, _days(year, month + 1)))
    return latest_day(text) < limit


def is_to_come(text: str, day: date) -> bool:
    """True if all of a date is after a day."""
    if text == NO_DATE:
        return False
    year, month, first = (*map(int, text.split("-")), 1, 1)[:3]
    return date(year, month, first) > day


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
