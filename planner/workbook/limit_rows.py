"""The limits of a plan on a sheet: what is reached and allowed, with bars of the share used."""

from __future__ import annotations

from collections.abc import Mapping

from planner.currency import Currency
from planner.figures import capital
from planner.limits import COUNTED_IN, known
from planner.report.words import MW_FROM_KW
from planner.schema.plan import LimitReport
from planner.workbook.book import BAR, GREY, INK, RED, THIN, Allowed, Kind, Meaning, height
from planner.workbook.columns import Row
from planner.workbook.live import V, if_, is_number, of, or_na
from planner.workbook.performance import Performance

_LABEL, _REACHED, _ALLOWED, _USED = range(4)
_OVER = 1 + 1e-6

_OF_JOB = {"overlap": "max_overlap", "blocking": "max_blocking", "restore_time": "max_restore_s"}
"""Limits that are fields of the job, by the key of their edit."""

_OF_CELLS = {
    "gpus_min": "gpus_used",
    "gpus_max": "gpus_used",
    "min_gpus": "gpus_used",
    "replica_fits": "gpus_used",
    "min_goodput": "goodput",
    "min_useful_gpus": "useful_gpus",
    "min_useful_pflops": "useful_pflops",
    "max_days_to_train": "days_to_train",
}


def write(found: Performance, totals: Mapping[str, V]) -> None:
    """Write the limits below the figures of the job.

    Args:
        totals: sums over the bill by the name they have in a plan.
    """
    sheet, limits = found.sheet, found.plan.limits
    if not limits:
        return
    sheet.heading("Limits", titles={_REACHED: "Reached", _ALLOWED: "Allowed"})
    style = found.book.look(bold=True, font_size=9, font_color=GREY, bottom=2, bottom_color=INK)
    sheet.put(sheet.at - 1, _USED, "Used", style)
    first, reached = sheet.at, Reached(found, totals)
    for limit in limits:
        _write(found, limit, reached.of(limit))
    page, last = sheet.page, sheet.at - 1
    bold = found.book.file.add_format({"font_color": RED, "bold": True})
    over = {"type": "cell", "criteria": ">", "value": _OVER, "format": bold}
    page.conditional_format(first, _USED, last, _USED, over)
    bars = {
        "type": "data_bar",
        "data_bar_2010": True,
        "bar_solid": True,
        "bar_color": BAR,
        "min_type": "num",
        "min_value": 0,
        "max_type": "num",
        "max_value": 1,
    }
    page.conditional_format(first, _USED, last, _USED, bars)


def _write(found: Performance, limit: LimitReport, reached: V | None) -> None:
    sheet, book, at = found.sheet, found.book, found.sheet.at
    right, look = {"align": "right", **THIN}, _look(limit)
    label = _label(limit, sheet.book.currency, as_planned=reached is None)
    sheet.put(at, _LABEL, label, book.look("wrap", **THIN))
    sheet.page.set_row(at, height(label, sheet.widths[_LABEL]))
    size = 1000.0 if _unit(limit) == "MW" else 1.0
    shown = limit.value / size if reached is None else or_na(_per(reached, size))
    value = sheet.put(at, _REACHED, shown, book.look(look, **right))
    follows = {"capacity": "capacity_needed_tb", "drain_fits": "to_storage_s"}.get(limit.name, "")
    opened = _opened(found, limit)
    if follows in found:
        allowed = sheet.put(at, _ALLOWED, found[follows], book.look(look, **right))
    elif opened is None:
        allowed = sheet.put(at, _ALLOWED, limit.limit / size, book.look(look, **right))
    else:
        kind, key, takes = opened
        meaning = Meaning(kind, key, f"limit on {limit.label}", _unit(limit))
        name = f"limit.{limit.name}"
        allowed = sheet.input(at, _ALLOWED, limit.limit / size, look, takes, meaning, name)
    used = value / allowed if limit.sense == "<=" else allowed / value
    share = or_na(if_(is_number(allowed), used, "no limit"))
    sheet.put(at, _USED, share, book.look("pct2", align="left", indent=1, **THIN))
    sheet.at += 1


def _label(limit: LimitReport, money: Currency, *, as_planned: bool) -> str:
    label = capital(limit.label)
    unit = "" if limit.unit in ("share", "1", "") else money.named(_unit(limit))
    said = unit.casefold() in label.casefold().split()
    sense = {"<=": "at most", ">=": "at least"}[limit.sense]
    parts = ["" if said else unit, "exactly" if limit.exact else sense]
    parts += ["as planned"] if as_planned else []
    return f"{label}, {', '.join(part for part in parts if part)}"


def _unit(limit: LimitReport) -> str:
    """The unit on the sheet: large powers are in MW."""
    large = limit.unit == "kW" and max(limit.value, limit.limit) > MW_FROM_KW
    return "MW" if large else limit.unit


def _per(cell: V, size: float) -> V:
    return cell / size if size != 1.0 else cell


def _look(limit: LimitReport) -> str:
    if limit.unit in ("share", "1"):
        return "pct2"
    if limit.name.startswith("per_"):
        return "n4"
    if _unit(limit) == "MW":
        return "fine"
    if "USD" in limit.unit:
        return "usd"
    whole = float(limit.value).is_integer() and float(limit.limit).is_integer()
    return "n0" if whole else "n1"


def _opened(found: Performance, limit: LimitReport) -> tuple[Kind, str, Allowed] | None:
    """As which input a limit may be edited, None where it follows from something else."""
    row = known(limit.name)
    if row is None:
        return None
    highest = 1.0 if limit.unit == "share" else 1e15
    if limit.name in _OF_JOB:
        return "figure", _OF_JOB[limit.name], Allowed(1e-9, highest)
    if not row.editable:
        return None
    whole = limit.unit in COUNTED_IN and float(limit.limit).is_integer()
    counted = whole or limit.unit in ("USD", "USD/year", "kW")
    lowest = 0.0 if counted and not limit.name.startswith("per_") else 1e-9
    return "limit", limit.name, Allowed(lowest, highest, whole, blank=True)


class Reached:
    """What is reached of limits, as far as the workbook follows edits; the rest is as planned."""

    def __init__(self, found: Performance, totals: Mapping[str, V]) -> None:
        self.found, self.totals = found, totals
        self.rows = {row.line.sku: row for row in found.bill.rows}

    def of(self, limit: LimitReport) -> V | None:
        """The cell of what is reached of a limit."""
        found, row = self.found, known(limit.name)
        if row is None:
            return None
        if row.group == "supply" or row.group == "ratio":
            return self.totals.get(row.figure)
        if limit.name in _OF_CELLS:
            name = _OF_CELLS[limit.name]
            return found.get(name)
        if row.group == "count":
            return self._counted(limit.name, row.figure)
        if found.job.local is not None and limit.name not in ("restore_time", "capacity"):
            return None
        return self._of_job(limit.name)

    def _counted(self, name: str, figure: str) -> V | None:
        parts = name.split(".")
        row: Row | None = self.rows.get(parts[1]) if len(parts) > 1 else None
        if row is None:
            return None
        if figure == "idle":
            hot = f"hot_spares.{parts[1]}"
            return self.found.get(hot)
        cells = {"quantity": row.cells["quantity"], "purchased": row.cells["order"]}
        return row.working if figure == "working" else cells.get(figure)

    def _of_job(self, name: str) -> V | None:
        found, job = self.found, self.found.job
        down, sync = "degraded_drain_s" in found, job.mode == "sync"
        drain = of(found["degraded_drain_s"] if down else found["drain_s"])
        stall = found["stall_s"]
        if down and sync:
            stall, drain = drain, of(0)
        found_of: dict[str, V | None] = {
            "overlap": drain / found["to_storage_s"],
            "blocking": stall / found["interval_s"],
            "drain_fits": stall + drain,
            "restore_time": found["degraded_restore_s" if down else "restore_s"],
            "capacity": found.get("usable_tb"),
        }
        return found_of.get(name)
