"""Editions for readers outside, and the HTML page of plans and studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from planner.outputs.audience import Audience, for_audience
from planner.outputs.restated import restated_view
from planner.schema.base import Prices
from planner.schema.plan import Plan

if TYPE_CHECKING:
    from planner.outputs.page import ShownStudy


class Edition(NamedTuple):
    """Readers of files, and the prices that these show; None for those of the audience."""

    audience: Audience = "internal"
    prices: Prices | None = None


EDITIONS = {
    "internal": Edition(),
    "customer": Edition("customer"),
    "customer-list": Edition("customer", "list+net"),
    "customer-no-prices": Edition("customer", "none"),
    "partner": Edition("partner"),
}
"""Editions by the word that asks for them."""


def page_of(
    path: Path,
    plans: Sequence[tuple[str, Plan]],
    studies: Sequence[tuple[Any, Mapping[str, Sequence[Any]] | None]],
    edition: Edition | None = None,
) -> dict[Path, bytes]:
    """Return one page that opens offline, by its path.

    Args:
        path: where it goes.
        plans: plans by name; several are shown side by side.
        studies: records with the rows of those that have rows.
        edition: of the page.
    """
    from planner.outputs.page import ShownPlan, report

    edition = edition or Edition()
    shown = [
        ShownPlan(name, for_audience(plan, edition.audience, edition.prices))
        for name, plan in plans
    ]
    problems = [each.plan.problem for each in shown] or [studies[0][0].problem]
    title = " and ".join(dict.fromkeys(problems))
    told = [shown_study(record, rows) for record, rows in studies]
    return {path: report(title, shown, told).encode()}


def shown_study(record: Any, rows: Mapping[str, Sequence[Any]] | None) -> ShownStudy:
    """Return a study with what its view says and its charts."""
    from planner.commands.views import view_of
    from planner.outputs.page import ShownStudy

    view = view_of(record)
    assert view is not None
    stated, beside = restated_view(record, {} if rows is None else {"rows": rows})
    blocks = tuple(view.blocks(stated, **beside))
    charts = view.charts(stated, **beside) if view.charts is not None else ()
    return ShownStudy(record, blocks, tuple(charts))
