"""What is made of each result: its screen, its charts, its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from planner.outputs import (
    alternatives_text,
    bids_text,
    compare_text,
    explain_text,
    frontier_text,
    simulation_text,
    sweep_text,
    telemetry_text,
    tornado_text,
    uncertain_text,
    verification_text,
)
from planner.outputs.blocks import Block, FirstScreen, Heading, Text, screen
from planner.outputs.charts import bids, frontier, rules, sweep, tornado, uncertain
from planner.outputs.charts import simulation as simulation_charts
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
        whole: returns all of a record, as blocks or text.
        first: returns its first screen; without one the whole is it.
        charts: returns its charts.
        table: what `to_frame` gives by default, where that is not the first table.
        has_json: whether ``-o`` writes the record as JSON.
        has_workbook: whether ``-o`` writes a workbook, where there is a plan.
        has_page: whether ``-o`` writes an HTML page.
        suffix: of the names of files.
    """

    name: str
    whole: Callable[..., Iterable[Block] | str]
    first: Callable[..., FirstScreen] | None = None
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

    def text(self, record: Any, shown: Mapping[str, Any]) -> str:
        """Return all of a record as a screen shows it."""
        found = self.whole(record, **shown)
        return found if isinstance(found, str) else screen(found)

    def blocks(self, record: Any, shown: Mapping[str, Any]) -> Iterator[Block]:
        """Yield the blocks of a record, those of its first screen where its whole is a text."""
        found = self.whole(record, **shown)
        page = self.first(record, **shown) if self.first is not None else None
        if not isinstance(found, str):
            yield from found
        elif page is None or page.entire:
            heading, _, rest = found.partition("\n")
            yield Heading(heading)
            yield Text(tuple(" ".join(part.split()) for part in rest.split("\n\n")))
        else:
            yield Heading(page.title)
            yield Text(tuple(f"{label}: {text}" for label, text in page.answer if text))
            yield from page.below


VIEWS: dict[type[BaseModel], View] = {
    Comparison: View(
        "comparison",
        compare_text.render_comparison,
        compare_text.first_comparison,
        table="figures",
        suffix="",
    ),
    RulesTable: View(
        "rules",
        compare_text.render_rules,
        compare_text.first_rules,
        rules.charts,
        has_json=True,
        has_page=True,
    ),
    Alternatives: View("alternatives", alternatives_text.render, alternatives_text.first),
    Audit: View("audit", verification_text.render_audit, verification_text.first_audit),
    Verification: View("verification", verification_text.render_verification),
    Explanation: View("explanation", explain_text.render, explain_text.first, suffix="explain"),
    Sweep: View("sweep", sweep_text.view, sweep_text.first, sweep.charts, has_page=True),
    Frontier: View(
        "frontier",
        frontier_text.view,
        frontier_text.first,
        frontier.charts,
        has_json=True,
        has_page=True,
    ),
    Tornado: View(
        "tornado",
        tornado_text.view,
        tornado_text.first,
        tornado.charts,
        has_json=True,
        has_page=True,
    ),
    Uncertain: View(
        "uncertain",
        uncertain_text.view,
        uncertain_text.first,
        uncertain.charts,
        table="outcomes",
        has_json=True,
        has_page=True,
    ),
    Bids: View(
        "bids",
        bids_text.view,
        bids_text.first,
        bids.charts,
        table="bids",
        has_json=True,
        has_page=True,
    ),
    Characterization: View(
        "characterization", telemetry_text.render, telemetry_text.first, table="jobs"
    ),
    Simulation: View(
        "simulation",
        simulation_text.render,
        simulation_text.first,
        simulation_charts.charts,
        has_json=True,
        has_workbook=False,
    ),
}


def view_of(record: object) -> View | None:
    """Return the view of a result, None where it is no study's."""
    return next((VIEWS[kind] for kind in type(record).__mro__ if kind in VIEWS), None)
