"""Any study in a report: each family of charts tells its own, in a file of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from planner.figures import capital
from planner.outputs.charts import bids, frontier, rules, sweep, tornado, uncertain
from planner.outputs.charts.model import Chart
from planner.outputs.charts.words import DataTable
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


FAMILIES: dict[type[AnyStudy], Family] = {
    Bids: bids,
    Frontier: frontier,
    RulesTable: rules,
    Sweep: sweep,
    Tornado: tornado,
    Uncertain: uncertain,
}
"""The kinds of studies that have charts."""


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
