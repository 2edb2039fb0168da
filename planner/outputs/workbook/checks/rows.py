"""Which cells a limit of the plan compares, so that its row follows every edit."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.limits import known, named
from planner.outputs.scope import CORE_SECTIONS, Entry, blocks
from planner.outputs.workbook.bom.columns import (
    installed_name,
    purchased_name,
    quantity_name,
    working_name,
)
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.checkpoint.money import TCO_FLAG
from planner.schema.plan import JobPlan, LimitReport, Plan
from planner.sizing.demand import VENDOR_RULES


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
    found = []
    for name, value, limit in (
        ("overlap", job.overlap, job.max_overlap),
        ("drain_fits", busy_s, job.interval_s),
        ("blocking", job.blocking, job.max_blocking),
        ("ingest", job.ingest_gb_per_s, job.delivered_read_gb_per_s),
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
        limit: the plan's limit.
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
