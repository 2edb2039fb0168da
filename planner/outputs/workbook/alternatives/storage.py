"""Which lines of the bill an alternative counts in: the storage that grows, the GPU system it
would cost."""

from __future__ import annotations

from dataclasses import dataclass

from planner.outputs import scope
from planner.outputs.numbering import Entry, blocks
from planner.outputs.words import product
from planner.outputs.workbook.bom.lines import figure_name, quantity_name
from planner.outputs.workbook.book import Book


@dataclass(frozen=True)
class Lines:
    """The largest line of storage and the largest line of GPU systems that the job uses.

    ``fewest`` is the least number of appliances the product is sold in, as the plan's limits say.
    """

    storage: Entry
    systems: Entry
    fewest: int

    @property
    def quantity(self) -> str:
        """The name of how many appliances there are."""
        return quantity_name(self.storage.number)

    @property
    def appliance(self) -> str:
        """What an appliance is called."""
        return product(self.storage.line)

    def of_storage(self, key: str) -> str:
        """Return the name of a figure of the storage line."""
        return figure_name(key, self.storage.number)

    def of_systems(self, key: str) -> str:
        """Return the name of a figure of the line of GPU systems."""
        return figure_name(key, self.systems.number)


def find_lines(book: Book) -> Lines | None:
    """Return the lines to count in, None where the plan has no such lines.

    Args:
        book: the workbook, with the names of BOM defined.
    """
    entries = [entry for block in blocks(book.plan) for entry in block.entries]
    types = book.job.gpu_types if book.job else ()
    storage = [
        entry
        for entry in entries
        if entry.line.section == "Storage"
        and entry.line.read_gb_per_s > 0
        and entry.line.write_gb_per_s > 0
        and not entry.line.idle  # more of what stands idle would cost nothing, and have no place
    ]
    systems = [entry for entry in entries if entry.line.gpus and entry.line.sku in types]
    if not storage or not systems:
        return None
    largest = max(storage, key=lambda entry: (entry.line.write_gb_per_s, -entry.number))
    return Lines(
        largest,
        max(systems, key=lambda entry: (entry.line.gpus, -entry.number)),
        _fewest(book, largest.line.sku),
    )


def _fewest(book: Book, sku: str) -> int:
    limits = [limit for limit in book.plan.limits if limit.name == f"min_units.{sku}"]
    return max((round(limit.limit) for limit in limits), default=0)


def meter_factor(book: Book, lines: Lines) -> str:
    """Return the formula of the PUE of the storage line: of liquid and air in proportion.

    Args:
        book: the workbook.
        lines: what `find_lines` returned.
    """
    share = lines.storage.line.liquid_share
    if not scope.two_pues(book.plan) or share == 0:
        return "pue"
    return f"({share!r}*pue_liquid+{1 - share!r}*pue)"
