"""The sheet ``Checks``: one row per limit, with its slack, live where the figures are.

A limit compares cells (`check_for`), so that its row follows every edit; `add` lays the rows out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xlsxwriter.utility import xl_rowcol_to_cell

from planner.limits import COUNTED_IN, known, named
from planner.outputs.scope import CORE_SECTIONS, Entry, blocks
from planner.outputs.words import in_money
from planner.outputs.workbook import formulas
from planner.outputs.workbook.bom.columns import (
    installed_name,
    purchased_name,
    quantity_name,
    working_name,
)
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_2, INTEGER, PERCENT_2, Range, paid
from planner.outputs.workbook.checkpoint.money import TCO_FLAG
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.schema.plan import JobPlan, LimitReport, Plan
from planner.sizing.demand import VENDOR_RULES

_COLUMNS = (
    ("Limit", 36),
    ("Value", 17),
    ("Sense", 8),
    ("Allowed", 17),
    ("Unit", 12),
    ("Slack", 17),
    ("Result", 17),
    ("In the solved plan", 12),
    ("Follows edits", 15),
    ("Allowed, as solved", 17),
    ("Where the limit comes from", 34),
    ("Id", 30),
)
(
    _LABEL,
    _VALUE,
    _SENSE,
    _LIMIT,
    _UNIT,
    _SLACK,
    _RESULT,
    _BINDS,
    _FOLLOWS,
    _SOLVED,
    _SOURCE,
    _ID,
) = range(len(_COLUMNS))
NOT_NOW = "n/a"
"""The result of a limit that says nothing as things stand."""

_SENSE_TEXT = {"<=": "≤", ">=": "≥"}
_SUMMARY_ROW = FIRST_ROW
_HEADER_ROW = FIRST_ROW + 2


def add(book: Book) -> None:
    """Add the sheet; limits that are nowhere else in the workbook are inputs here."""
    page = Page(book, "Checks", "Checks")
    page.banner()
    page.legend()
    page.headers(_HEADER_ROW, _COLUMNS)
    limits = (*book.plan.limits, *waiting(book))
    first, last = _HEADER_ROW + 1, _HEADER_ROW + len(limits)
    for number, limit in enumerate(limits, start=1):
        _row(page, _HEADER_ROW + number, limit, number)
    _summary(page, first, last)
    for row in range(first, last + 1):
        page.mark(row, _RESULT, "begins with", "OVER", "bad")
        page.mark(row, _RESULT, "begins with", "OK", "good")
    if limits:
        page.sheet.autofilter(_HEADER_ROW, 0, last, _ID)
    page.finish(_ID, (_HEADER_ROW + 1, 1))


def _row(page: Page, row: int, limit: LimitReport, number: int) -> None:
    """Write one limit."""
    check = check_for(page.book, limit)
    style = _number_format(limit)
    page.text(row, _LABEL, limit.label)
    _side(page, row, _VALUE, check.value, limit.value, style)
    page.text(row, _SENSE, "=" if limit.exact else _SENSE_TEXT[limit.sense], align="center")
    _allowed(page, row, limit, check, style)
    page.define(f"check_value_{number}", row, _VALUE)
    page.define(f"check_limit_{number}", row, _LIMIT)
    page.text(row, _UNIT, in_money(limit.unit))
    _verdict(page, row, limit, check, style)
    page.text(row, _BINDS, "binds" if limit.binding else "")
    page.text(row, _FOLLOWS, _follows(check))
    page.text(row, _SOURCE, limit.source or "")
    page.text(row, _ID, limit.name)
    page.grow(row, [(limit.label, 36), (limit.source or "", 34), (limit.name, 30)])


def _allowed(page: Page, row: int, limit: LimitReport, check: Check, style: str) -> None:
    """Write what is allowed: from another sheet, an input, or what the catalogs say."""
    if check.limit:
        _side(page, row, _LIMIT, check.limit, limit.limit, style)
        page.number(row, _SOLVED, None)
        return
    page.number(row, _SOLVED, limit.limit, style, "fixed")
    if not editable(limit.name) or (limit.name == "racks" and _of_several_kinds(page.book)):
        page.number(row, _LIMIT, limit.limit, style)
        return
    highest = 1.0 if limit.unit == "share" else 1e15
    # A budget or a count may be 0; a time, a rate or a price of work may not.
    counted = whole_number(limit) or limit.unit in ("USD", "USD/year", "kW")
    lowest = 0.0 if counted and not limit.name.startswith("per_") else 1e-9
    page.input(
        "",
        row,
        _LIMIT,
        limit.limit,
        style,
        label=limit.label,
        unit=limit.unit,
        allowed=Range(lowest, highest, whole_number(limit), blank=True),
        kind="limit",
        key=limit.name,
    )


def _of_several_kinds(book: Book) -> bool:
    """Return whether the racks of the hall are no one number that could be edited."""
    return any(limit.name.startswith("rack_positions.") for limit in book.plan.limits)


def whole_number(limit: LimitReport) -> bool:
    """Return whether a limit counts things."""
    return limit.unit in COUNTED_IN and float(limit.limit).is_integer()


def _number_format(limit: LimitReport) -> str:
    if limit.unit in ("share", "1"):
        return PERCENT_2
    if limit.unit in ("USD", "USD/h") and limit.name.startswith("per_"):
        return "#,##0.0000"
    whole = float(limit.value).is_integer() and float(limit.limit).is_integer()
    if limit.unit in ("USD", "USD/year"):
        return paid(DECIMAL_2)
    return INTEGER if whole else DECIMAL_2


def _side(page: Page, row: int, column: int, formula: str, value: float, number: str) -> None:
    if formula:
        page.formula(row, column, f"={formula}", number, "cross", plan=value)
    else:
        page.number(row, column, value, number)


def _verdict(page: Page, row: int, limit: LimitReport, check: Check, number: str) -> None:
    """Write slack and result; what cannot be computed any more does not pass."""
    value, allowed = (xl_rowcol_to_cell(row, column) for column in (_VALUE, _LIMIT))
    slack = f"{allowed}-{value}" if limit.sense == "<=" else f"{value}-{allowed}"
    if limit.exact:
        slack = f"-ABS({slack})"
    both = formulas.known(value, allowed)
    page.formula(row, _SLACK, f'=IF({both},{slack},"n/a")', number)
    good = f'IF({check.about}="","OK","OK (about)")' if check.about else '"OK"'
    if check.flag:
        good = f'IF({check.flag}="",{good},"OK (known part)")'
    holds = f"{slack}>=-{check.tolerance:G}*ABS({allowed})"
    # A limit that was cleared limits nothing; a value that is no number reaches no limit.
    cleared = f"ISBLANK({check.limit or allowed})"
    text = f'IF({cleared},"no limit",IF({both},IF({holds},{good},"OVER"),"OVER"))'
    if check.applies:
        text = f'IF({check.applies},{text},"{NOT_NOW}")'
    page.formula(row, _RESULT, f"={text}", align="center")


def _follows(check: Check) -> str:
    if not check.value:
        return "no: as solved"
    return "yes" if check.limit else "the value"


def _summary(page: Page, first: int, last: int) -> None:
    """Say how many limits are broken, and count the limits edited on this sheet."""
    text, edits, limits = '="No limits"', "0", last - first + 1
    if limits:
        cells = formulas.cell_range(first, _RESULT, last)
        over, idle = f'COUNTIF({cells},"OVER")', f'COUNTIF({cells},"{NOT_NOW}")'
        count = f"({limits}-{idle})"
        text = (
            f'=IF({over}=0,"All "&{count}&" limits hold","OVER: "&{over}&" of "&{count}&" limits")'
        )
        limit, solved = (formulas.cell_range(first, at, last) for at in (_LIMIT, _SOLVED))
        edits = f'SUMPRODUCT(({solved}<>"")*({limit}<>{solved}))'
    page.strip(_SUMMARY_ROW, text, ("OVER",))
    page.text(_SUMMARY_ROW, _FOLLOWS, "Limits edited here", "subtitle", "right")
    page.formula(_SUMMARY_ROW, _SOLVED, f"={edits}", INTEGER, plan=0.0)
    page.define("checks_edits", _SUMMARY_ROW, _SOLVED)


@dataclass(frozen=True)
class Check:
    """Formulas of a limit's two sides; an empty one stays the planner's number.

    ``flag`` marks a value that is an incomplete sum, ``about`` one whose companions were not
    counted anew; ``tolerance`` is relative to the limit; ``applies`` is a condition without which
    the limit says nothing.
    """

    value: str = ""
    limit: str = ""
    flag: str = ""
    tolerance: float = 1e-9
    applies: str = ""
    about: str = ""


_ASYNC, _SYNC = 'save_mode="async"', 'save_mode="sync"'
_POWER_FLAG = "bom_it_power_kw_flag"

_CELLS = {
    "gpus_used": "gpus_in_use",
    "rule_read": "nameplate_read_gb_per_s",
    "rule_write": "nameplate_write_gb_per_s",
}
"""Names of cells by figure or limit, where they are not those of the figure."""
_FLAGS = {
    "facility_power_kw": _POWER_FLAG,
    "heat_air_kw": _POWER_FLAG,
    "heat_liquid_kw": _POWER_FLAG,
    "energy_usd_per_year": _POWER_FLAG,
    "colocation_usd_per_year": _POWER_FLAG,
    "subscriptions_usd_per_year": "",  # what is not paid by the year is paid once
    "read_gb_per_s": "",
    "write_gb_per_s": "",
    "opex_usd_per_year": "bom_it_power_kw_flag&bom_support_usd_per_year_flag",
    "tco_usd": TCO_FLAG,
    "usd_per_useful_gpu_hour": TCO_FLAG,
    "usd_per_million_tokens": TCO_FLAG,
}
"""What marks a sum as incomplete, where that is no flag of its own on the sheet ``BOM``."""
_ALLOWED = {
    "overlap": "max_overlap",
    "drain_fits": "interval_s",
    "local_fits": "interval_s",
    "blocking": "max_blocking",
    "restore_time": "max_restore_s",
    "capacity": "capacity_needed_tb",
    "ingest": "read_gb_per_s",
    "replica_fits": "replica_gpus",
}
"""What is allowed, where that stands on another sheet."""
_APPLIES = {
    "overlap": _ASYNC,
    "drain_fits": _ASYNC,
    **dict.fromkeys(("local_fits", "local_lag", "local_room", "local_endurance"), _ASYNC),
    "blocking": _SYNC,
    "ingest": "ingest_gb_per_s>0",
}


def editable(name: str) -> bool:
    """Return whether the problem file sets a limit, so that a reader may try another one.

    What follows from a product or a rule (endurance, a vendor's rule, least orders) is no input.
    """
    row = known(name)
    return row is not None and row.editable


# What is held against a limit with appliances down, where the plan must bear that.
_DEGRADED = {
    "overlap": "degraded_overlap",
    "drain_fits": "degraded_stall_and_drain_s",
    "blocking": "degraded_blocking",
    "restore_time": "degraded_restore_s",
}
_COUNTED = ("family_max_units", "require_vendor", "items", "stock", "hot_spares", "max_units",
            "min_units")  # fmt: skip
_TERM = re.compile(r"([+-]?)([a-z_0-9.]+)")


def waiting(book: Book) -> list[LimitReport]:
    """Return the limits of the problem that say nothing of the solved plan but may after an edit.

    Those of the other way to save checkpoints, and of training data where none is read.
    """
    job = book.job
    if job is None or (job.max_blocking is None and job.max_overlap is None):
        return []
    there = {limit.name for limit in book.plan.limits}
    busy_s = job.stall_s + (0.0 if job.mode == "sync" else job.drain_s)
    arrives = book.number("data_gb_per_s") or job.delivered_read_gb_per_s
    found = []
    for name, value, limit in (
        ("overlap", job.overlap, job.max_overlap),
        ("drain_fits", busy_s, job.interval_s),
        ("blocking", job.blocking, job.max_blocking),
        ("ingest", job.ingest_gb_per_s, arrives),
    ):
        if name not in there and limit is not None:
            row = named(name)
            report = LimitReport(
                name=name,
                label=row.label,
                value=value,
                sense=row.sense,
                limit=limit,
                unit=row.unit,
                slack=limit - value,
                binding=False,
                source=None,
            )
            found.append(report)
    return found


def check_for(book: Book, limit: LimitReport) -> Check:
    """Return what a limit compares; an unknown limit keeps the planner's numbers.

    Args:
        book: the workbook, with the names of BOM and Checkpoint defined.
    """
    check = _check(book, limit)
    row = known(limit.name)
    if row and row.group in ("supply", "ratio") and book.has("bom_companions_flag"):
        if book.follows:  # companions follow an edit, and were not counted anew
            check = replace(check, about="bom_companions_flag")
        else:  # companions keep their solved counts
            check = replace(check, flag="&".join(filter(None, (check.flag, "bom_companions_flag"))))
    degraded = _DEGRADED.get(limit.name, "")
    if book.has(degraded):
        check = replace(check, value=degraded)
    for mode in ("async", "sync"):
        if book.has(f"{check.limit}_if_{mode}"):
            check = replace(check, limit=f"{check.limit}_if_{mode}")
    if limit.name in ("rule_read", "rule_write"):
        return replace(check, limit=_rule(book, limit))
    if limit.name == "gpu_types":
        return replace(check, value=_types_in_use(book.plan, limit))
    if limit.name == "micro_batches":
        return replace(check, limit=_filled(book, limit))
    if row and "*" not in row.name and limit.sense != row.sense:
        # A plan may state the same comparison the other way round.
        check = replace(check, value=check.limit, limit=check.value)
    return replace(
        check,
        value=_if_same(book, check.value, limit.value),
        limit=_if_same(book, check.limit, limit.limit),
    )


def _check(book: Book, limit: LimitReport) -> Check:
    row = known(limit.name)
    if row is None:
        return Check("")
    if "*" in row.name:
        value, allowed = _quantity(book.plan, limit), ""
        if row.name == "items.*.installed":  # its own cell on the bill
            entries = (entry for block in book.blocks for entry in block.entries)
            sku = limit.name.split(".")[1]
            allowed = next((installed_name(each.number) for each in entries
                            if each.line.sku == sku), "")  # fmt: skip
        return Check(value, allowed, tolerance=row.tolerance)
    flag, total = f"bom_{row.figure}_flag", f"bom_{row.figure}"
    own = total if book.has(total) and not book.has(row.figure) else row.figure
    allowed = _ALLOWED.get(row.name, "")
    if row.name == "drain_fits" and book.has("remote_interval_s"):
        allowed = "remote_interval_s"
    if row.name == "ingest" and book.has("data_gb_per_s"):
        allowed = "data_gb_per_s"
    return Check(
        _CELLS.get(row.name, _CELLS.get(row.figure, own)),
        allowed,
        _FLAGS.get(row.figure, flag if book.has(flag) else ""),
        row.tolerance,
        _APPLIES.get(row.name, ""),
    )


def _rule(book: Book, limit: LimitReport) -> str:
    """Return what a vendor's rule asks for the GPUs of BOM; a user's own rule stays a number."""
    rule = VENDOR_RULES.get(limit.label.partition(" rule,")[0])
    gpus = book.number("bom_gpus")
    if rule is None or gpus is None:
        return ""
    each = rule.read_gb_per_s if limit.name == "rule_read" else rule.write_gb_per_s
    asked = each * math.ceil(gpus / rule.per_gpus)
    if abs(asked - limit.limit) > 1e-9 * limit.limit:
        return ""
    return f"{each!r}*ROUNDUP(bom_gpus/{rule.per_gpus},0)"


def _filled(book: Book, limit: LimitReport) -> str:
    """Return the GPUs that micro-batches fill where a replica takes one; with experts a number."""
    replica = book.number("replica_gpus")
    if not replica or limit.limit % replica:
        return ""
    return f"{limit.limit / replica:.0f}*replica_gpus"


def _if_same(book: Book, formula: str, planned: float) -> str:
    """Return the formula if it means what the planner's number means, else nothing."""
    terms = [
        (-1.0 if sign == "-" else 1.0, _number(book, term)) for sign, term in _TERM.findall(formula)
    ]
    known = [sign * value for sign, value in terms if value is not None]
    if not known or len(known) < len(terms):
        return ""
    return formula if abs(sum(known) - planned) <= 1e-6 * max(abs(planned), 1e-9) else ""


def _number(book: Book, term: str) -> float | None:
    return float(term) if term[0].isdigit() else book.number(term)


def _quantity(plan: Plan, limit: LimitReport) -> str:
    """Return the cells a limit on quantities counts, empty if it counts none."""
    kind, _, rest = limit.name.partition(".")
    if kind not in _COUNTED:
        return ""
    entries = [entry for block in blocks(plan) for entry in block.entries]
    core = [entry for entry in entries if entry.line.section in CORE_SECTIONS]
    job = plan.jobs[0] if plan.jobs else None
    if kind == "family_max_units":
        only = job is not None and len(job.storage_families) == 1
        counted = [entry for entry in entries if only and entry.line.section == "Storage"]
    elif kind == "require_vendor":
        counted = _of_vendor(core, limit.label)
    else:
        sku = rest.rpartition(".")[0] if kind == "items" else rest
        counted = [entry for entry in entries if entry.line.sku == sku]
        if kind == "stock":
            return "+".join(purchased_name(entry.number) for entry in counted)
        if kind == "hot_spares":
            return "".join(_spare(job, entry) for entry in counted)
        counted = counted if kind in ("items", "max_units", "min_units") else []
    counts = quantity_name if kind == "items" else None
    return "+".join(
        counts(entry.number) if counts else working_name(entry.line, entry.number)
        for entry in counted
    )


def _types_in_use(plan: Plan, limit: LimitReport) -> str:
    """Return how many GPU systems have units in the cluster; nothing if one does no work."""
    working = [
        entry
        for block in blocks(plan)
        for entry in block.entries
        if entry.line.section == "Compute" and entry.line.working
    ]
    if len(working) != limit.value:
        return ""
    counted = "+".join(f"({working_name(each.line, each.number)}>0)" for each in working)
    return counted if len(working) > 1 else f"1*{counted}"  # a number, not TRUE


def _of_vendor(entries: Sequence[Entry], label: str) -> list[Entry]:
    """Return the lines of the vendor that a limit's label names, the longest name that fits."""
    vendors = {entry.line.vendor for entry in entries if entry.line.vendor.strip()}
    named = [vendor for vendor in vendors if vendor.casefold() in label.casefold()]
    vendor = max(named, key=lambda name: (len(name), name), default="")
    return [entry for entry in entries if vendor and entry.line.vendor == vendor]


def _spare(job: JobPlan | None, entry: Entry) -> str:
    """Return the systems of a line that the job does not use."""
    if job is None:
        return ""
    if len(job.gpu_types) == 1:
        return f"{working_name(entry.line, entry.number)}-systems_in_use"
    return f"{working_name(entry.line, entry.number)}-{job.systems_by_type.get(entry.line.sku, 0)}"
