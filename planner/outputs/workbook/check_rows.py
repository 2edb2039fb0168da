"""Which cells a limit of the plan compares, so that its row follows every edit."""

from __future__ import annotations

from dataclasses import dataclass

from planner.outputs.workbook.bom_lines import blocks, quantity_name
from planner.outputs.workbook.book import Book
from planner.schema.plan import LimitReport, Plan


@dataclass(frozen=True)
class Check:
    """Formulas of a limit's two sides; an empty one stays the planner's number.

    ``flag`` marks a value that is an incomplete sum; ``tolerance`` is relative to the limit.
    """

    value: str = ""
    limit: str = ""
    flag: str = ""
    tolerance: float = 1e-9


# Times are quotients of floats that a plan drives to its very limit.
_TIME_TOLERANCE = 1e-7

_CHECKS: dict[str, Check] = {
    "it_power": Check("it_power_kw", flag="bom_it_power_kw_flag"),
    "facility_power": Check("facility_power_kw", flag="bom_it_power_kw_flag"),
    "racks": Check("racks", flag="bom_racks_flag"),
    "capex": Check("capex_usd", flag="bom_capex_usd_flag"),
    "opex": Check("opex_usd_per_year", flag="bom_it_power_kw_flag&bom_support_usd_per_year_flag"),
    "tco": Check(
        "tco_usd",
        flag="bom_it_power_kw_flag&bom_support_usd_per_year_flag&bom_capex_usd_flag",
    ),
    "overlap": Check("overlap", "max_overlap", tolerance=_TIME_TOLERANCE),
    "drain_fits": Check("stall_and_drain_s", "interval_s", tolerance=_TIME_TOLERANCE),
    "blocking": Check("blocking", "max_blocking", tolerance=_TIME_TOLERANCE),
    "restore_time": Check("restore_s", "max_restore_s", tolerance=_TIME_TOLERANCE),
    "capacity": Check("usable_tb", "capacity_needed_tb", flag="bom_usable_tb_flag"),
    "ingest": Check("read_gb_per_s", "ingest_gb_per_s"),
    "endurance": Check("write_volume_tb_per_day", tolerance=_TIME_TOLERANCE),
    "rule_read": Check("nameplate_read_gb_per_s"),
    "rule_write": Check("nameplate_write_gb_per_s"),
    "min_gpus": Check("gpus_in_use"),
    "gpus_min": Check("gpus_in_use"),
    "gpus_max": Check("gpus_in_use"),
    "replica_fits": Check("gpus_in_use", "replica_gpus"),
    "min_goodput": Check("goodput", tolerance=_TIME_TOLERANCE),
    "min_useful_gpus": Check("useful_gpus", tolerance=_TIME_TOLERANCE),
    "min_useful_pflops": Check("useful_pflops", tolerance=_TIME_TOLERANCE),
    "max_days_to_train": Check("days_to_train", tolerance=_TIME_TOLERANCE),
}

# The direction in which each comparison is written above, where it has two live sides.
_SENSES = {"capacity": ">=", "ingest": ">=", "endurance": "<="}


def check_for(book: Book, limit: LimitReport) -> Check:
    """Return what a limit compares; an unknown limit keeps the planner's numbers.

    Args:
        book: the workbook, with the names of BOM and Checkpoint defined.
        limit: the plan's limit.
    """
    check = _CHECKS.get(limit.name) or Check(_quantity(book.plan, limit.name))
    if limit.sense != _SENSES.get(limit.name, limit.sense):
        check = Check(check.limit, check.value, check.flag, check.tolerance)
    return Check(
        _if_same(book, check.value, limit.value),
        _if_same(book, check.limit, limit.limit),
        check.flag,
        check.tolerance,
    )


def _if_same(book: Book, formula: str, planned: float) -> str:
    """Return the formula if it means what the planner's number means, else nothing."""
    if formula.count("+"):
        shown: float | None = sum(book.number(name) or 0.0 for name in formula.split("+"))
    else:
        shown = book.number(formula)
    if shown is None or abs(shown - planned) > 1e-6 * max(abs(planned), 1e-9):
        return ""
    return formula


def _quantity(plan: Plan, name: str) -> str:
    """Return the cells a limit on quantities counts, empty if it counts none."""
    kind, _, rest = name.partition(".")
    entries = [entry for block in blocks(plan) for entry in block.entries]
    if kind == "family_max_units":
        only = len(plan.jobs[0].storage_families) == 1 if plan.jobs else False
        counted = [entry for entry in entries if only and entry.line.section == "Storage"]
    else:
        sku = rest.rpartition(".")[0] if kind == "items" else rest
        known = kind in ("items", "max_units", "min_units")
        counted = [entry for entry in entries if known and entry.line.sku == sku]
    return "+".join(quantity_name(entry.number) for entry in counted)
