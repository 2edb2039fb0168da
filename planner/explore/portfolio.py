"""A problem of several jobs, sites or periods, explored: its timeline and orders, too."""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from planner.commands.deliver import created_today
from planner.explore.explorer import AS_IT_IS, Asked, Explorer, go_on, sliders_of, tile
from planner.loader import read_document
from planner.optimizer.effort import Effort
from planner.portfolio import api, views
from planner.portfolio.inputs import load
from planner.portfolio.schema import PortfolioPlan
from planner.portfolio.search import LARGE_GAP

STAGES_S = (4.0, 20.0, 60.0)


class PortfolioExplorer(Explorer):
    """A portfolio problem; its items are narrowed in the problem file."""

    _before: PortfolioPlan | None = None

    def solve(self, asked: Asked, limit_s: float, effort: Effort) -> PortfolioPlan:
        """The plan of a position."""
        instance = load(self.path, (*self.settings, *self.settings_of(asked)), self.scenario)
        return api.solve(
            instance,
            gap=LARGE_GAP,
            time_limit_s=limit_s,
            cancelled=lambda: effort.left_work <= 0.0,
        )

    def shown(self, asked: Asked, effort: Effort, stage: int) -> dict[str, Any]:
        """The plan of a position as data of the page."""
        plan = self.solve(asked, STAGES_S[stage], effort)
        go_on(effort)
        if asked == AS_IT_IS and plan.runs:
            self._before = plan
        return page_data(plan, self._before or plan)

    def workbook(self, asked: Asked) -> bytes:
        """The workbook of a position."""
        stream = io.BytesIO()
        views.workbook(self.solve(asked, STAGES_S[-1], Effort()), stream, created_today())
        return stream.getvalue()


def explorer_of(path: Path, settings: tuple[str, ...], scenario: str | None) -> PortfolioExplorer:
    """The explorer of a portfolio problem file.

    Raises:
        InputError: something in it is wrong.
    """
    title = load(path, settings, scenario).places[0].inputs.problem.name
    data = read_document(path, settings, scenario).data
    sliders = tuple(sliders_of(data))
    return PortfolioExplorer(path, settings, scenario, sliders, title=title, stages_s=STAGES_S)


# The page


def page_data(plan: PortfolioPlan, before: PortfolioPlan) -> dict[str, Any]:
    """The data of the page for a plan beside the plan of the problem as it is."""
    gap = "no bound" if plan.gap is None else f"gap {100 * plan.gap:.2g} %"
    late = plan.status == "limit"
    head = {"status": plan.status, "proving": late, "proof": f"{plan.status}, {gap}"}
    if not plan.runs:
        return head | {"message": plan.message or "no plan"}
    units, sections = Counter[str](), defaultdict[str, float](float)
    for order in plan.orders:
        sections[order.category.replace("_", " ")] += order.extended_usd
        if order.category in views.MAIN:
            units[order.model] += order.quantity
    return head | {
        "buys": ", ".join(f"{count:,} x {name}" for name, count in units.items()) or "nothing",
        "tiles": [*_tiles(plan, before)],
        "limits": [_bar(use) for use in sorted(plan.uses, key=lambda use: not views.binds(use))],
        "sections": [
            {
                "label": kind,
                "share": usd / (plan.capex_usd or 1.0),
                "text": f"{usd / 1e6:,.2f} MUSD",
            }
            for kind, usd in sorted(sections.items(), key=lambda each: -each[1])
        ],
        "notes": len(plan.notes),
        "more": views.explored(plan),
    }


def _figures(plan: PortfolioPlan) -> dict[str, tuple[float, str, int]]:
    """Value, unit and whether more is better (1) or less (-1), by label."""
    return {
        "capex": ((plan.capex_usd or 0.0) / 1e6, "MUSD", -1),
        "TCO": ((plan.tco_usd or 0.0) / 1e6, "MUSD", -1),
    } | {
        f"{job.job}, mean": (job.mean_useful_pflops, "PFLOP/s", 1)
        for job in plan.jobs
        if job.mean_useful_pflops is not None
    }


def _tiles(plan: PortfolioPlan, before: PortfolioPlan) -> Iterator[dict[str, Any]]:
    then = _figures(before)
    for label, (value, unit, sense) in _figures(plan).items():
        change = value - then.get(label, (value, "", 0))[0]
        text, moved = f"{value:,.4g} {unit}", abs(change) >= 5e-3 * max(abs(value), 1e-9)
        yield tile(label, text, "" if moved else text, f"{change:+,.3g} {unit}", sense * change)


def _bar(use: Any) -> dict[str, Any]:
    floor = "_of_" in use.name
    used, whole = (use.limit, use.used) if floor else (use.used, use.limit)
    return {
        "label": views.label(use),
        "share": min(1.0, used / whole) if whole else 1.0,
        "text": f"{use.used:,.4g} {'at least' if floor else 'of'} {use.limit:,.4g} {use.unit}",
        "binding": views.binds(use),
    }
