"""What is made of each result: its screen, its charts, its files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from planner.outputs.blocks import Block
from planner.outputs.views import (
    alternatives,
    bids,
    comparison,
    explain,
    frontier,
    rules,
    simulation,
    sweep,
    telemetry,
    tornado,
    uncertain,
    verification,
)
from planner.schema.bids import Bids
from planner.schema.comparison import Alternatives, Comparison, RulesTable
from planner.schema.explanation import Explanation
from planner.schema.sensitivity import Frontier, Sweep, Tornado, Uncertain
from planner.schema.simulation import Simulation
from planner.schema.telemetry import Characterization
from planner.schema.verification import Audit, Verification


@dataclass(frozen=True)
class View:
    """What is made of one kind of record.

    Attributes:
        name: of its JSON Schema; files end in it unless ``suffix`` says otherwise.
        blocks: returns a record as blocks; takes the rows of a sweep besides.
        charts: returns its charts.
        table: what `to_frame` gives by default, where that is not the first table.
        has_json: whether ``-o`` writes the record as JSON.
        has_workbook: whether ``-o`` writes a workbook, where there is a plan.
        has_page: whether ``-o`` writes an HTML page.
        suffix: of the names of files.
    """

    name: str
    blocks: Callable[..., list[Block]]
    charts: Callable[..., Any] | None = None
    table: str = ""
    has_json: bool = False
    has_workbook: bool = True
    has_page: bool = False
    suffix: str | None = None

    def file_stem(self, stem: str) -> str:
        """Return the stem of a result's files."""
        suffix = self.name if self.suffix is None else self.suffix
        return f"{stem}.{suffix}" if suffix else stem


VIEWS: dict[type[BaseModel], View] = {
    Comparison: View(
        "comparison",
        comparison.view,
        table="figures",
        suffix="",
    ),
    RulesTable: View(
        "rules",
        rules.view,
        rules.charts,
        has_json=True,
        has_page=True,
    ),
    Alternatives: View("alternatives", alternatives.view),
    Audit: View("audit", verification.audit),
    Verification: View("verification", verification.verification),
    Explanation: View("explanation", explain.view, suffix="explain"),
    Sweep: View("sweep", sweep.view, sweep.charts, has_page=True),
    Frontier: View(
        "frontier",
        frontier.view,
        frontier.charts,
        has_json=True,
        has_page=True,
    ),
    Tornado: View(
        "tornado",
        tornado.view,
        tornado.charts,
        has_json=True,
        has_page=True,
    ),
    Uncertain: View(
        "uncertain",
        uncertain.view,
        uncertain.charts,
        table="outcomes",
        has_json=True,
        has_page=True,
    ),
    Bids: View(
        "bids",
        bids.view,
        bids.charts,
        table="bids",
        has_json=True,
        has_page=True,
    ),
    Characterization: View("characterization", telemetry.view, table="jobs"),
    Simulation: View(
        "simulation",
        simulation.view,
        simulation.charts,
        has_json=True,
        has_workbook=False,
    ),
}


def view_of(record: object) -> View | None:
    """Return the view of a result, None where it is no study's."""
    return next((VIEWS[kind] for kind in type(record).__mro__ if kind in VIEWS), None)
