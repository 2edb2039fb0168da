"""Lists of figures on a sheet: label, value, unit and how it comes about; some may be edited."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from planner.figures import FIGURES as COMMON
from planner.report.words import MW_FROM_KW
from planner.workbook.book import GREY, THIN, Allowed, Meaning, Sheet, height
from planner.workbook.live import Scalar, Term, V, of, or_na

LABEL, VALUE, UNIT, NOTE = range(4)
"""The columns of a list."""


class Figure(NamedTuple):
    """A figure's label, its unit and the look of its number; without a label that of its name."""

    label: str
    unit: str = ""
    look: str = "n1"


FIGURES = {
    # Inputs of the job.
    "async_stall_s": Figure("GPU stall per checkpoint", "s", "n2"),
    "drain_slowdown": Figure("", "", "pct"),
    "failures_per_gpu_day": Figure("", "1/day", "small"),
    "lost_time": Figure("", "", "pct"),
    "hardware_share": Figure("Interruptions with hardware out", "", "pct"),
    "swap_s": Figure("Replacement time", "s"),
    "hot_spares": Figure("Hot spares", "systems", "n0"),
    "delivered_fraction_write": Figure("", "", "pct"),
    "delivered_fraction_read": Figure("", "", "pct"),
    "client_write_gb_per_s": Figure("Client write limit", "GB/s", "n2"),
    "client_read_gb_per_s": Figure("Client read limit", "GB/s", "n2"),
    "fill_limit": Figure("", "", "pct"),
    "mfu": Figure("", "", "pct"),
    "tokens_trillion": Figure("Training tokens", "trillion", "n2"),
    "active_parameters_billion": Figure("Active parameters per token", "billion"),
    # How the job runs.
    "systems_used": Figure("", "systems", "n0"),
    "gpus_used": Figure("", "GPUs", "n0"),
    "nameplate_write": Figure("Nameplate write bandwidth", "GB/s"),
    "nameplate_read": Figure("Nameplate read bandwidth", "GB/s"),
    "stall_s": Figure("", "s", "n2"),
    "mtti_s": Figure("Mean time to interruption (MTTI)", "s", "n0"),
    "waiting": Figure("Waiting for repairs (spare exhaustion)", "", "pct2"),
    # Power and cost.
    "pue": Figure("", "", "n2"),
    "pue_liquid": Figure("", "", "n2"),
    "electricity_usd_per_kwh": Figure("", "USD/kWh", "n4"),
    "years": Figure("", "years", "n2"),
    "discount_rate": Figure("", "per year", "pct"),
    "colocation_usd_per_kw_month": Figure("", "USD/kW/month", "n2"),
    "heat_btu_per_h": Figure("", "BTU/h", "n0"),
    "discounted_years": Figure("Years of the term, discounted", "years", "n2"),
    "support_over_term": Figure("Support over the term", "USD", "usd"),
    "tco_usd": Figure("Total cost of ownership (TCO)", "USD", "usd"),
    "usd_per_useful_gpu_hour": Figure("", "USD", "n4"),
    "usd_per_million_tokens": Figure("", "USD", "n4"),
}
"""By their name in formulas; all others are named as everywhere, with the look of their unit."""

_LOOKS = {"share": "pct2", "USD": "usd", "USD/year": "usd"}


def _figure(name: str) -> Figure:
    found = FIGURES.get(name) or FIGURES.get(name.partition(".")[0])
    if found is None:
        unit = COMMON[name].unit
        found = Figure("", "" if unit == "share" else unit, _LOOKS.get(unit, "n1"))
    return found if found.label else found._replace(label=COMMON[name].heading)


class Fact(NamedTuple):
    """A figure that follows from others, or stands as planned; the note says how."""

    name: str
    value: Term
    note: str = ""


class Given(NamedTuple):
    """A figure that may be edited; its key, to the first dot, is its name."""

    key: str
    value: Scalar
    note: str = ""
    allowed: Allowed = Allowed()
    more: str = ""
    """What the label says besides."""


def write(sheet: Sheet, rows: Iterable[Fact | Given]) -> dict[str, V]:
    """Write figures one below the other; return their cells by name."""
    return {row.key if isinstance(row, Given) else row.name: _write(sheet, row) for row in rows}


def _write(sheet: Sheet, row: Fact | Given) -> V:
    book, at = sheet.book, sheet.at
    name = row.key if isinstance(row, Given) else row.name
    label, unit, look = _figure(name)
    if unit == "kW" and isinstance(row, Fact) and of(row.value).number > MW_FROM_KW:
        unit, look = "MW", "mega"
    if isinstance(row, Given) and row.more:
        label = f"{label}, {row.more}"
    sheet.put(at, LABEL, label, book.look("wrap", **THIN))
    sheet.put(at, UNIT, book.currency.named(unit), book.look(font_color=GREY, **THIN))
    quiet = book.look("wrap", font_color=GREY, font_size=9, **THIN)
    sheet.over(at, NOTE, sheet.last, row.note, quiet)
    room = sum(sheet.widths[NOTE:])
    high = max(height(label, sheet.widths[LABEL]), height(row.note, room, 9))
    sheet.page.set_row(at, high)
    sheet.at += 1
    if isinstance(row, Given):
        meaning = Meaning("figure", row.key, label, unit)
        return sheet.input(at, VALUE, row.value, look, row.allowed, meaning, row.key)
    value = or_na(row.value) if isinstance(row.value, V) else row.value
    return sheet.put(at, VALUE, value, book.look(look, align="right", **THIN), name)
