"""Any study in a report: each family of charts tells its own, in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from planner.figures import capital
from planner.outputs.blocks import Block, Heading, Table, Text
from planner.outputs.charts import bids, frontier, rules, sweep, tornado, uncertain
from planner.outputs.charts.model import Chart
from planner.outputs.charts.words import DataTable, table_of
from planner.outputs.sensitivity_words import STATUS
from planner.outputs.sweep_rows import Rows
from planner.schema.bids import Bids
from planner.schema.comparison import RulesTable
from planner.schema.sensitivity import Frontier, Study, Sweep, Tornado, Uncertain

AnyStudy = Study | RulesTable


class Family(Protocol):
    """How a report shows one kind of study; ``rows`` is the table of a sweep, by column."""

    def charts(self, study: Any, rows: Rows, /) -> tuple[Chart, ...]:
        """Return its charts."""

    def heading(self, study: Any, /) -> str:
        """Return the title of its part of a report."""

    def findings(self, study: Any, rows: Rows, /) -> Iterator[str]:
        """Yield what was found, in sentences."""

    def tables(self, study: Any, rows: Rows, /) -> dict[str, tuple[DataTable, ...]]:
        """Return the tables that follow each chart, by the chart's name."""


class _ToldByView:
    """A kind of study without charts, shown by the blocks of its view."""

    def __init__(self, view: Callable[[Any], list[Block]]) -> None:
        self.view = view

    def charts(self, study: Any, _rows: Rows) -> tuple[Chart, ...]:
        """Return a chart that draws nothing, under which the tables stand."""
        return (Chart(_TABLES, self.heading(study), ""),)

    def heading(self, study: Any) -> str:
        """Return the heading of the view."""
        return next(each.text for each in self.view(study) if isinstance(each, Heading))

    def findings(self, study: Any, _rows: Rows) -> Iterator[str]:
        """Yield the sentences of the view."""
        for block in self.view(study):
            if isinstance(block, Text) and "page" in block.on:
                yield from filter(None, block.texts)

    def tables(self, study: Any, _rows: Rows) -> dict[str, tuple[DataTable, ...]]:
        """Return the tables of the view."""
        tables = (each for each in self.view(study) if isinstance(each, Table) and each.count)
        return {_TABLES: tuple(map(table_of, tables))}


_TABLES = "tables"

FAMILIES: dict[type[AnyStudy], Family] = {
    Bids: bids,
    Frontier: frontier,
    RulesTable: rules,
    Sweep: sweep,
    Tornado: tornado,
    Uncertain: uncertain,
}
"""The kinds of studies that have charts, and those that a report was asked for without any."""


def tell_by_view(kind: type[AnyStudy], view: Callable[[Any], list[Block]]) -> None:
    """Have a kind of study that draws nothing told by its view.

    Args:
        view: takes one and returns what it says.
    """
    FAMILIES.setdefault(kind, _ToldByView(view))


def _family(study: AnyStudy) -> Family:
    """Return what tells of a study; one that has its rows with it is a kind of its record."""
    return next(FAMILIES[kind] for kind in type(study).__mro__ if kind in FAMILIES)


def charts(study: AnyStudy, rows: Rows | None = None) -> tuple[Chart, ...]:
    """Return the charts of a study.

    Args:
        rows: the table of a sweep, by column; other studies have none.
    """
    return _family(study).charts(study, rows or {})


def heading(study: AnyStudy) -> str:
    """Return the title of a study's part of a report."""
    return _family(study).heading(study)


def headline(study: AnyStudy, rows: Rows | None = None) -> str:
    """Return the finding of a study in a sentence or two.

    Args:
        rows: the table of a sweep, by column.
    """
    parts = list(_family(study).findings(study, rows or {}))
    if not parts and isinstance(study, (Bids, Frontier, Tornado, Uncertain)):
        parts = [study.message or f"{capital(STATUS[study.status])}."]
    return " ".join(parts)


def tables(study: AnyStudy, rows: Rows | None = None) -> dict[str, tuple[DataTable, ...]]:
    """Return the tables that follow each chart of a study, by the chart's name.

    Args:
        rows: the table of a sweep, by column.
    """
    found = _family(study).tables(study, rows or {})
    return {name: tuple(table for table in each if table.total) for name, each in found.items()}
