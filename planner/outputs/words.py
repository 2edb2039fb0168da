"""Numbers as people read them."""

from __future__ import annotations

import textwrap

from planner.schema.plan import Line

WIDTH = 100
INDENT = "  "
UNDECIDED = "not decided, as it takes too long"
"""Said of what was cut short, by a time limit or by how much work an answer may take."""

NETWORKS = {
    "compute": "compute fabric",
    "storage": "storage fabric",
    "in_band": "in-band network",
    "out_of_band": "out-of-band network",
}
"""What a plan's networks are called."""

DAY_S, HOUR_S, MINUTE_S = 86_400.0, 3600.0, 60.0


def wrapped(text: str, first: str = INDENT, rest: str = INDENT) -> list[str]:
    """Return a text in lines that fit the screen."""
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest)


def number(value: float | None, digits: int = 0) -> str:
    """Return a number with thousands separators, or 'not known'."""
    return "not known" if value is None else f"{value:,.{digits}f}"


def money(usd: float | None) -> str:
    """Return an amount of money in USD, thousands or millions of it."""
    if usd is None:
        return "not known"
    for size, unit in ((1e9, "BUSD"), (1e6, "MUSD"), (1e3, "kUSD")):
        if abs(usd) >= size:
            return f"{usd / size:,.2f} {unit}"
    return f"{usd:,.2f} USD"


def millions(usd: float | None) -> str:
    """Return an amount of money in millions of USD, for tables whose heads say so."""
    return "" if usd is None else f"{usd / 1e6:,.2f}"


def duration(seconds: float) -> str:
    """Return a time span in the unit that suits it."""
    for size, unit in ((DAY_S, "days"), (HOUR_S, "h"), (MINUTE_S, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.1f} s"


def days(count: float) -> str:
    """Return a number of days, whole weeks as weeks."""
    return f"{count / 7:,.0f} weeks" if count >= 14 and count % 7 == 0 else f"{count:,.0f} days"


def product(line: Line) -> str:
    """Return manufacturer and model, without naming the manufacturer twice."""
    named = line.model.casefold().startswith(line.vendor.casefold())
    return line.model if named else f"{line.vendor} {line.model}"


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent."""
    return f"{100 * share:.{digits}f} %"


def gap(share: float | None) -> str:
    """Return a gap as percent, small ones by their power of ten."""
    if share is None:
        return "no bound"
    return "0 %" if share == 0 else f"{100 * share:.2g} %"


def size(gigabytes: float) -> str:
    """Return a data size in GB, TB or PB."""
    for scale, unit in ((1e6, "PB"), (1e3, "TB")):
        if gigabytes >= scale:
            return f"{gigabytes / scale:,.2f} {unit}"
    return f"{gigabytes:,.1f} GB"


COUNTED = {"systems": "system", "units": "unit", "racks": "rack", "families": "family"}


def quantity(value: float, unit: str) -> str:
    """Return a value with a plan's unit."""
    if unit == "share":
        return percent(value)
    if unit in ("USD", "USD/year"):
        return money(value) + ("/year" if unit == "USD/year" else "")
    if unit == "s":
        return duration(value)
    if value == 1 and unit in COUNTED:
        unit = COUNTED[unit]
    digits = 0 if float(value).is_integer() else 1 if abs(value) >= 100 else 2
    return f"{value:,.{digits}f} {unit}"
