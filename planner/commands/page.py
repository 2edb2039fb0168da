"""The HTML page of plans, side by side, and of studies of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from planner.commands.solve import Edition
from planner.outputs.audience import for_audience
from planner.schema.plan import Plan


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
    from planner.outputs.charts.html import ShownPlan, report

    edition = edition or Edition()
    shown = [
        ShownPlan(name, for_audience(plan, edition.audience, edition.prices))
        for name, plan in plans
    ]
    problems = [each.plan.problem for each in shown] or [studies[0][0].problem]
    title = " and ".join(dict.fromkeys(problems))
    return {path: report(title, shown, studies).encode()}
