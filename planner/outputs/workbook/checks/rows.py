"""Which cells a limit of the plan compares, so that its row follows every edit."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.outputs.numbering import Entry, blocks
from planner.outputs.scope import CORE_SECTIONS
from planner.outputs.workbook.bom.rows import purchased_name, quantity_name, working_name
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.checkpoint.money import TCO_FLAG
from planner.outputs.workbook.formulas import TIME_TOLERANCE
from planner.schema.plan import JobPlan, LimitReport, Plan
from planner.sizing.demand import VENDOR_RULES


@dataclass(frozen=True)
class Check:
    """Formulas of a limit's two sides; an empty one stays the planner's number.

    ``flag`` marks a value that is an incomplete sum; ``tolerance`` is relative to the limit;
    ``applies`` is a condition without which the limit says nothing.
    """

    value: str = ""
    limit: str = ""
    flag: str = ""
    tolerance: float = 1e-9
    applies: str = ""


_SUMS = frozenset(
    ("it_power", "facility_power", "racks", "capex", "opex", "tco", "heat_air", "heat_liquid",
     "support", "subscriptions", "energy", "colocation", "per_useful_gpu_hour",
     "per_million_tokens")
)  # fmt: skip
"""Limits on sums over the whole bill, companions included, which keep their solved counts."""

_ASYNC, _SYNC = 'save_mode="async"', 'save_mode="sync"'

_CHECKS: dict[str, Check] = {
    "it_power": Check("it_power_kw", flag="bom_it_power_kw_flag"),
    "facility_power": Check("facility_power_kw", flag="bom_it_power_kw_flag"),
    "racks": Check("racks", flag="bom_racks_flag"),
    "capex": Check("capex_usd", flag="bom_capex_usd_flag"),
    "opex": Check("opex_usd_per_year", flag="bom_it_power_kw_flag&bom_support_usd_per_year_flag"),
    "tco": Check("tco_usd", flag=TCO_FLAG),
    "heat_air": Check("heat_air_kw", flag="bom_it_power_kw_flag"),
    "heat_liquid": Check("heat_liquid_kw", flag="bom_it_power_kw_flag"),
    "support": Check("support_usd_per_year", flag="bom_support_usd_per_year_flag"),
    "subscriptions": Check("subscriptions_usd_per_year"),
    "energy": Check("energy_usd_per_year", flag="bom_it_power_kw_flag"),
    "colocation": Check("colocation_usd_per_year", flag="bom_it_power_kw_flag"),
    "per_useful_gpu_hour": Check(
        "usd_per_useful_gpu_hour", flag=TCO_FLAG, tolerance=TIME_TOLERANCE
    ),
    "per_million_tokens": Check("usd_per_million_tokens", flag=TCO_FLAG, tolerance=TIME_TOLERANCE),
    "lead_time": Check("lead_time_days"),
    "overlap": Check("overlap", "max_overlap", tolerance=TIME_TOLERANCE, applies=_ASYNC),
    "drain_fits": Check(
        "stall_and_drain_s", "interval_s", tolerance=TIME_TOLERANCE, applies=_ASYNC
    ),
    "blocking": Check("blocking", "max_blocking", tolerance=TIME_TOLERANCE, applies=_SYNC),
    "restore_time": Check("restore_s", "max_restore_s", tolerance=TIME_TOLERANCE),
    "capacity": Check("usable_tb", "capacity_needed_tb", flag="bom_usable_tb_flag"),
    "ingest": Check("read_gb_per_s", "ingest_gb_per_s", applies="ingest_gb_per_s>0"),
    "endurance": Check("write_volume_tb_per_day", tolerance=TIME_TOLERANCE),
    "rule_read": Check("nameplate_read_gb_per_s"),
    "rule_write": Check("nameplate_write_gb_per_s"),
    "min_gpus": Check("gpus_in_use"),
    "gpus_min": Check("gpus_in_use"),
    "gpus_max": Check("gpus_in_use"),
    "replica_fits": Check("gpus_in_use", "replica_gpus"),
    "min_goodput": Check("goodput", tolerance=TIME_TOLERANCE),
    "min_useful_gpus": Check("useful_gpus", tolerance=TIME_TOLERANCE),
    "min_useful_pflops": Check("useful_pflops", tolerance=TIME_TOLERANCE),
    "max_days_to_train": Check("days_to_train", tolerance=TIME_TOLERANCE),
}

BUDGETS = (
    "it_power", "facility_power", "heat_air", "heat_liquid", "racks", "capex", "opex", "tco",
    "support", "subscriptions", "energy", "colocation", "per_useful_gpu_hour",
    "per_million_tokens", "lead_time", "gpus_min", "gpus_max", "min_gpus", "min_goodput",
    "min_useful_gpus", "min_useful_pflops", "max_days_to_train",
)  # fmt: skip
"""Limits of the problem that a reader may edit, by name."""

_PER_ITEM = ("items", "stock", "split")


def editable(name: str) -> bool:
    """Return whether the problem file sets a limit, so that a reader may try another one.

    What follows from a product or a rule (endurance, a vendor's rule, least orders) is no input.
    """
    return name in BUDGETS or name.partition(".")[0] in _PER_ITEM


# The direction in which each comparison is written above, where it has two live sides.
_SENSES = {"capacity": ">=", "ingest": ">=", "endurance": "<="}


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
    for name, label, value, limit, unit in (
        ("overlap", "drain overlap", job.overlap, job.max_overlap, "share"),
        ("drain_fits", "stall and drain within the interval", busy_s, job.interval_s, "s"),
        ("blocking", "time blocked by checkpoints", job.blocking, job.max_blocking, "share"),
        ("ingest", "ingest", job.ingest_gb_per_s, job.delivered_read_gb_per_s, "GB/s"),
    ):
        if name not in there and limit is not None:
            fields = {"name": name, "label": label, "value": value, "limit": limit, "unit": unit}
            fields |= {"sense": "<=", "slack": limit - value, "binding": False, "source": None}
            found.append(LimitReport.model_validate(fields))
    return found


def check_for(book: Book, limit: LimitReport) -> Check:
    """Return what a limit compares; an unknown limit keeps the planner's numbers.

    Args:
        book: the workbook, with the names of BOM and Checkpoint defined.
        limit: the plan's limit.
    """
    check = _CHECKS.get(limit.name) or Check(_quantity(book.plan, limit))
    if limit.name in _SUMS and book.has("bom_companions_flag"):
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
    if limit.sense != _SENSES.get(limit.name, limit.sense):
        check = replace(check, value=check.limit, limit=check.value)
    return replace(
        check,
        value=_if_same(book, check.value, limit.value),
        limit=_if_same(book, check.limit, limit.limit),
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
