"""The columns of the sheet ``Rules``: what each shows of a plan, and how wide it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner.outputs.workbook.book import Scalar
from planner.outputs.workbook.formats import DECIMAL_1, GENERAL, INTEGER, PERCENT_2
from planner.schema.comparison import Bought, Measure, Outcome

POWER, AGAINST = "Storage, kW", "Against what the job needs"
"""Titles of the columns that are drawn."""

DIFFERENCE = '+0.00%;-0.00%;"–"'
_SMALL_SHARE = "0.0000%"


@dataclass(frozen=True)
class Column:
    """A column: its header, its width in characters, its number format, what it shows of a plan."""

    title: str
    width: float
    number: str
    read: Callable[[Outcome], Scalar]


def columns(measure: Measure, *, money: bool) -> list[Column]:
    """Return the columns between what a row asks and how to get it.

    Args:
        measure: what the rows are measured by.
        money: whether the edition shows money.
    """
    shown = [
        Column("Storage bought", 31, GENERAL, lambda plan: _bought(plan.storage)),
        Column("Storage units", 9, INTEGER, lambda plan: plan.storage_units),
        Column(POWER, 10, DECIMAL_1, lambda plan: plan.storage_it_power_kw),
        Column("IT power, kW", 10, DECIMAL_1, lambda plan: plan.it_power_kw),
    ]
    if money:
        shown += [
            Column("Storage, USD", 13, INTEGER, lambda plan: plan.storage_capex_usd),
            Column("Capex, USD", 14, INTEGER, lambda plan: plan.capex_usd),
        ]
    shown += [
        Column("GPUs bought", 9, INTEGER, lambda plan: plan.gpus),
        Column("GPUs in use", 9, INTEGER, lambda plan: plan.gpus_used),
    ]
    if money or measure.unit != "USD":
        shown += _measured(measure)
    shown += [
        Column("Days to train", 9, DECIMAL_1, lambda plan: plan.days_to_train),
        Column("Checkpoint every, min", 11, DECIMAL_1, lambda plan: plan.interval_s / 60),
        Column("Goodput", 9, PERCENT_2, lambda plan: plan.goodput),
        Column("Proven within", 10, _SMALL_SHARE, lambda plan: plan.gap),
    ]
    return shown


def _measured(measure: Measure) -> list[Column]:
    """Return what rows are measured by, and how far they are from what the job needs."""
    title = measure.label[0].upper() + measure.label[1:]
    if measure.name == "useful_gpus":
        title = "Useful GPUs"
    elif measure.name == "useful_pflops":
        title = "Useful PFLOP/s"
    else:
        title = f"{title}, {measure.unit}"
    number = INTEGER if measure.unit == "USD" else DECIMAL_1
    return [
        Column(title, 14 if measure.unit == "USD" else 10, number, lambda plan: plan.measured),
        Column(AGAINST, 11, DIFFERENCE, lambda plan: plan.difference),
    ]


def _bought(bought: Sequence[Bought]) -> str:
    return ", ".join(f"{each.quantity:,} {each.product}" for each in bought) or "none"
