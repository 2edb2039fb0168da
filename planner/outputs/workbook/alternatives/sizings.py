"""The ways to size the storage that are compared, and the grid they are compared on."""

from __future__ import annotations

from dataclasses import dataclass

from planner.outputs import scope
from planner.outputs.workbook.alternatives.rows import limit_steps, plan_steps, rule_steps
from planner.outputs.workbook.alternatives.storage import Lines
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.formats import Role
from planner.outputs.workbook.sensitivity.live import Step
from planner.outputs.workbook.sensitivity.page import GridPage
from planner.sizing.demand import VENDOR_RULES, RuleFamily, VendorRule

LABEL, F1, F2, F3, F4, F5, F6, F7, F8, F9, F10, F11, F12, NOTE = range(14)
"""Columns of the grid that both tables share; F1 to F12 hold figures."""

WIDTHS = (33.0, *(9.6,) * 12, 44.0)
"""Their widths in characters."""

_INDENT = 3
_FAMILIES: dict[RuleFamily, str] = {
    "ddn_per_gpu": "DDN",
    "nvidia_superpod_h100": "NVIDIA SuperPOD",
}


@dataclass(frozen=True)
class Sizing:
    """A way to size the storage: how it is called, its steps, and what is said of it.

    ``asks_most`` marks the vendors' rule that asks for the most bandwidth per GPU.
    """

    label: str
    steps: list[Step]
    source: str
    note: str
    asks_most: bool = False


def sizings(book: Book, lines: Lines) -> list[Sizing]:
    """Return the plan's own sizing, what its limits need, and the vendors' rules.

    Args:
        book: the workbook, with the names of BOM and Checkpoint defined.
        lines: what is counted in.
    """
    least = "overlap or blocking, restore time, data read and capacity"
    if book.job is not None and book.job.tolerate_down:
        least += f", with {book.job.tolerate_down} down"
    if scope.limited(book.plan, "endurance"):
        least += "; endurance is not counted"
    most = max(VENDOR_RULES.values(), key=lambda rule: rule.write_gb_per_s / rule.per_gpus)
    return [
        Sizing("This plan", plan_steps(lines), "  rated, not asked", "  as on BOM"),
        Sizing("Just what the limits need", limit_steps(book, lines), least, "not optimised"),
        *(
            Sizing(f"{_FAMILIES[rule.family]}: {rule.name}", rule_steps(lines, rule),
                   _source(rule), rule.note, rule is most)
            for rule in VENDOR_RULES.values()
        ),
    ]  # fmt: skip


def _source(rule: VendorRule) -> str:
    per = "GPU" if rule.per_gpus == 1 else f"{rule.per_gpus} GPUs"
    rates = f"{rule.read_gb_per_s:g} read and {rule.write_gb_per_s:g} write GB/s per {per}"
    return f"{rates}; {rule.source}"


def begin_row(page: GridPage, row: int, label: str, note: str) -> Role | None:
    """Write the texts of a row; return the look of its figures, None for their own.

    Args:
        page: the sheet.
        row: the row.
        label: how the sizing is called.
        note: what its last column says; one that is indented is the plan's own.
    """
    emphasis: Role | None = "total" if note.startswith(" ") else None
    page.fill(row, (label, *("",) * F12, note), emphasis or "text")
    page.grow(row, [(note, WIDTHS[NOTE] - _INDENT)])
    return emphasis
