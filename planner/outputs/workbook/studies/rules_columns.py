"""The columns of the sheet ``Rules``: what each shows of a plan, and how wide it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner.figures import FIGURES, OBJECTIVES
from planner.outputs.workbook.book import Scalar
from planner.outputs.workbook.formats import DECIMAL_1, GENERAL, INTEGER
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


def _figure(name: str, width: float, read: Callable[[Outcome], Scalar]) -> Column:
    figure = FIGURES[name]
    return Column(figure.column, width, figure.excel, read)


def columns(measure: Measure, *, money: bool) -> list[Column]:
    """Return the columns between what a row asks and how to get it.

    Args:
        measure: what the rows are measured by.
        money: whether the edition shows money.
    """
    shown = [
        Column("Storage bought", 31, GENERAL, lambda plan: _bought(plan.storage)),
        _figure("storage_units", 9, lambda plan: plan.storage_units),
        Column(POWER, 10, DECIMAL_1, lambda plan: plan.storage_it_power_kw),
        _figure("it_power_kw", 10, lambda plan: plan.it_power_kw),
    ]
    if money:
        shown += [
            Column("Storage, USD", 13, INTEGER, lambda plan: plan.storage_capex_usd),
            _figure("capex_usd", 14, lambda plan: plan.capex_usd),
        ]
    shown += [
        _figure("gpus", 9, lambda plan: plan.gpus),
        _figure("gpus_used", 9, lambda plan: plan.gpus_used),
    ]
    if money or measure.unit != "USD":
        shown += _measured(measure)
    shown += [
        _figure("days_to_train", 9, lambda plan: plan.days_to_train),
        Column(
            FIGURES["interval_s"].column_in("min"), 11, DECIMAL_1, lambda plan: plan.interval_s / 60
        ),
        _figure("goodput", 9, lambda plan: plan.goodput),
        Column("Proven within", 10, _SMALL_SHARE, lambda plan: plan.gap),
    ]
    return shown


def _measured(measure: Measure) -> list[Column]:
    """Return what rows are measured by, and how far they are from what the job needs."""
    name = OBJECTIVES[measure.name].figure.name if measure.sense == "minimize" else measure.name
    return [
        _figure(name, 14 if measure.unit == "USD" else 10, lambda plan: plan.measured),
        Column(AGAINST, 11, DIFFERENCE, lambda plan: plan.difference),
    ]


def _bought(bought: Sequence[Bought]) -> str:
    return ", ".join(f"{each.quantity:,} {each.product}" for each in bought) or "none"
