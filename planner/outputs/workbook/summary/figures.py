"""The headline figures of the sheet ``Summary``, each by the name another sheet gave its cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.outputs.numbering import blocks
from planner.outputs.workbook.bom.lines import working_name
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.checkpoint.money import TCO_FLAG
from planner.outputs.workbook.formats import DECIMAL_1, DECIMAL_2, INTEGER, PERCENT_2
from planner.outputs.workbook.page import Page
from planner.outputs.workbook.summary.grid import HEADLINES, heading, live

_POWER_FLAG = "bom_it_power_kw_flag"


@dataclass(frozen=True)
class _Figure:
    """A headline: a formula over one name, and by how much that name's number is divided.

    ``flag`` are the names that mark an incomplete sum; ``goal`` is the objective it stands for.
    """

    name: str
    label: str
    unit: str
    number: str
    flag: str = ""
    goal: str = ""
    divided_by: float = 1.0

    @property
    def formula(self) -> str:
        return self.name if self.divided_by == 1 else f"{self.name}/{self.divided_by:g}"


_JOB = (
    _Figure("useful_pflops", "Useful training rate", "PFLOP/s", DECIMAL_1, goal="goodput"),
    _Figure("goodput", "Goodput", "of time", PERCENT_2),
    _Figure("bom_gpus", "GPUs in the bill", "GPUs", INTEGER),
    _Figure("gpus_in_use", "GPUs in use", "GPUs", INTEGER, goal="gpus"),
    _Figure("useful_gpus", "Useful GPUs: in use x goodput", "GPUs", DECIMAL_1, goal="useful_gpus"),
    _Figure("days_to_train", "Days to train", "days", DECIMAL_1),
)
_CHECKPOINT = (
    _Figure("checkpoint_gb", "Checkpoint", "TB", DECIMAL_2, divided_by=1000),
    _Figure("interval_s", "Checkpoint interval", "min", DECIMAL_1, divided_by=60),
    _Figure("stall_s", "Stall of the GPUs per checkpoint", "s", DECIMAL_1),
    _Figure("drain_s", "Drain of a checkpoint to storage", "s", DECIMAL_1),
    _Figure("restore_s", "Restore after a failure, reading", "s", DECIMAL_1),
)
_SITE = (
    _Figure("usable_tb", "Usable storage capacity", "TB", DECIMAL_1, "bom_usable_tb_flag"),
    _Figure("it_power_kw", "IT power", "kW", DECIMAL_1, _POWER_FLAG, goal="power"),
    _Figure("facility_power_kw", "Facility power", "kW", DECIMAL_1, _POWER_FLAG),
    _Figure("racks", "Racks", "racks", INTEGER, "bom_racks_flag"),
)
_MONEY = (
    _Figure("capex_usd", "Capex", "USD", INTEGER, "bom_capex_usd_flag", goal="cost"),
    _Figure("opex_usd_per_year", "Opex per year", "USD", INTEGER, _POWER_FLAG),
    _Figure("tco_usd", "TCO over the term", "USD", INTEGER, TCO_FLAG, goal="tco"),
    _Figure("usd_per_useful_gpu_hour", "Cost of a useful GPU-hour", "USD", DECIMAL_2, TCO_FLAG),
)
_GOALS = {"maximize": " (maximised)", "minimize": " (minimised)"}


def add(page: Page, row: int) -> int:
    """Write the table of headline figures.

    Args:
        page: the sheet.
        row: its first row.

    Returns:
        The row under it.
    """
    heading(page, row, HEADLINES, ("Headline figures", "Value", ""))
    for figure in _known(page.book, (*_JOB, *_CHECKPOINT)):
        row += 1
        _write(page, row, figure)
    row = _appliances(page, row)
    for figure in _known(page.book, (*_SITE, *(_MONEY if page.book.money else ()))):
        row += 1
        _write(page, row, figure)
    return row + 1


def _known(book: Book, figures: tuple[_Figure, ...]) -> Iterator[_Figure]:
    return (figure for figure in figures if book.number(figure.name) is not None)


def _write(page: Page, row: int, figure: _Figure) -> None:
    goal = page.book.plan.objective
    label = figure.label
    if figure.goal == goal.name:
        label += _GOALS[goal.sense]
    page.flagged(row, HEADLINES, figure.flag, (label, f"{label}, known part"))
    live(page, row, HEADLINES + 1, figure.formula, figure.number, text="n/a")
    page.text(row, HEADLINES + 2, figure.unit)


def _appliances(page: Page, row: int) -> int:
    """Write how many storage appliances there are; return the last row written."""
    stores = [
        entry
        for block in blocks(page.book.plan)
        if block.section == "Storage"
        for entry in block.entries
    ]
    if not stores:
        return row
    units = sum(entry.line.working for entry in stores)
    text = "+".join(working_name(entry.line, entry.number) for entry in stores)
    row += 1
    page.text(row, HEADLINES, "Storage appliances")
    page.formula(row, HEADLINES + 1, f"={text}", INTEGER, "cross", plan=units)
    page.text(row, HEADLINES + 2, "units")
    return row
