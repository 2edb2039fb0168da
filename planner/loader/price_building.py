"""Prices built from their parts, and what no price can be: below its drives, or older than half a
year without anyone being told."""

from __future__ import annotations

import calendar
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime

from planner.errors import Finding, InputError
from planner.schema.catalog import Confidence, Item, MediaType
from planner.schema.prices import Price, Rate

OLD_MONTHS = 6
"""After so many months a price is pointed out: flash moves by a fifth in a quarter."""
NO_DATE = "0000"
"""The date of a price that somebody edited in a workbook."""
_ORDER: tuple[Confidence, ...] = ("low", "medium", "high")


class NoQuantityError(ValueError):
    """A rate that cannot be applied to an item; the text says what its catalog lacks."""


def raw_tb(item: Item, items: Mapping[str, Item], flash: MediaType | None = None) -> float:
    """Return the raw capacity of a unit, TB: of its drives of one type, or of all; its components'
    count too.

    Args:
        items: all items by id, for the components of bundles.
        flash: which drives; all of them if None.
    """
    own = sum(m.raw_tb for m in item.media if flash is None or m.type == flash)
    parts = ((items[p.id], p.quantity) for p in item.components if p.id in items)
    return own + sum(quantity * raw_tb(part, items, flash) for part, quantity in parts)


def quantity(rate: Rate, item: Item, items: Mapping[str, Item]) -> float:
    """Return what one unit of an item has of what a rate is paid for: TB, or 1.

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


def build_price(
    price: Price, item: Item, items: Mapping[str, Item], rates: Mapping[str, Rate]
) -> Price:
    """Return a price with parts as the sum of them: once, every year, low, high, and how it came.

    Its date is the oldest of its rates', its confidence the least, its source that of the rate
    that most of the price comes from; the note tells every part.

    Args:
        item: what it is the price of.
        rates: the rates of the books in use.

    Raises:
        NoQuantityError: a rate is paid for something that the catalog does not state.
    """
    used = [(rates[part.rate], part.count) for part in price.parts]
    sized = [(rate, count * quantity(rate, item, items)) for rate, count in used]
    once = [(rate, amount) for rate, amount in sized if rate.every == "once"]
    yearly = [(rate, amount) for rate, amount in sized if rate.every == "year"]
    main = max(once or yearly, key=lambda pair: pair[0].usd * pair[1])[0]
    values: dict[str, object] = {
        "list_usd": _sum(once, "usd"),
        "low_usd": _sum(once, "low_usd"),
        "high_usd": _sum(once, "high_usd"),
        "date": min((rate.date for rate, _ in sized), key=latest_day),
        "source": main.source,
        "confidence": min((rate.confidence for rate, _ in sized), key=_ORDER.index),
        "note": "; ".join(["built of " + ", ".join(_text_of_part(*pair) for pair in sized)]
                          + ([price.note] if price.note else [])),
    }  # fmt: skip
    if yearly:
        values["per_year_usd"] = _sum(yearly, "usd")
        values["per_year_low_usd"] = _sum(yearly, "low_usd")
        values["per_year_high_usd"] = _sum(yearly, "high_usd")
    return price.model_copy(update=values)


def _sum(sized: list[tuple[Rate, float]], field: str) -> float:
    each: list[float] = [getattr(rate, field) * amount for rate, amount in sized]
    return round(sum(each), 2)


def _text_of_part(rate: Rate, amount: float) -> str:
    unit = {"unit": "", "raw_tb": " TB", "usable_tb": " TB usable", "used_tb": " TB"}[rate.per]
    often = " a year" if rate.every == "year" else ""
    whole = rate.usd * amount
    return f"{amount:,.6g}{unit} {rate.label} at {rate.usd:,.6g} USD ({whole:,.0f} USD{often})"


def with_range(price: Price, ranges: Mapping[Confidence, float]) -> Price:
    """Return a price with a low and a high: its own, or as far off as its confidence lets it be."""
    share = ranges.get(price.confidence)
    if share is None:
        return price
    low, high, each = 1.0 - share, 1.0 + share, price.per_year_usd
    values = {"low_usd": price.list_usd * low, "high_usd": price.list_usd * high}
    if each is not None:
        values |= {"per_year_low_usd": each * low, "per_year_high_usd": each * high}
    new = {name: round(usd, 2) for name, usd in values.items() if getattr(price, name) is None}
    return price.model_copy(update=new)


def drives_usd(item: Item, items: Mapping[str, Item], rates: Mapping[str, Rate]) -> float:
    """Return what the bare drives of a unit cost, USD, as far as their types have a price."""
    flash = {rate.flash: rate for rate in rates.values() if rate.flash is not None}
    return sum(rate.usd * raw_tb(item, items, kind) for kind, rate in flash.items())


def below_drives(
    prices: Mapping[str, Price], items: Mapping[str, Item], rates: Mapping[str, Rate]
) -> Iterator[tuple[str, str, str]]:
    """Yield (item id, what cannot be, what would be right) for prices below the bare drives."""
    for name, price in prices.items():
        item = items.get(name)
        if item is None or item.category != "storage":
            continue
        drives = drives_usd(item, items, rates)
        if price.list_usd < drives * (1.0 - 1e-9):
            yield (
                name,
                f"the price of '{name}', {price.list_usd:,.0f} USD, is below its bare drives, "
                f"{drives:,.0f} USD",
                "build it from parts, or state what you pay for flash in rates",
            )


# How old a price is.


def latest_day(text: str) -> date:
    """Return the last day that a date as books write it can mean."""
    year, month, day = (*map(int, text.split("-")), 0, 0)[:3]
    month = min(month, 12) or 12
    return date(year, month, min(day, _days(year, month)) or _days(year, month))


def _days(year: int, month: int) -> int:
    return calendar.monthrange(year, month)[1]


def is_old(text: str, day: date) -> bool:
    """Say whether a price of such a date is older than half a year on a day; "0000" is no date."""
    if text == NO_DATE:
        return False
    months = day.year * 12 + day.month - 1 - OLD_MONTHS
    year, month = divmod(months, 12)
    limit = date(year, month + 1, min(day.day, _days(year, month + 1)))
    return latest_day(text) < limit


def is_to_come(text: str, day: date) -> bool:
    """Return whether all of a date lies after a day: it is mistyped, or the price not yet valid."""
    if text == NO_DATE:
        return False
    year, month, first = (*map(int, text.split("-")), 1, 1)[:3]
    return date(year, month, first) > day


def today() -> date:
    """Return today, or the day SOURCE_DATE_EPOCH asks for, so that bytes can be reproduced.

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
