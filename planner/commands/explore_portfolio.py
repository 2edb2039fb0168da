"""The page of `planner explore` for a portfolio: sliders, tiles, timeline, jobs and orders.

The server, its checks and the page are those of a single job (`planner.commands.explore`).
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from planner.commands.deliver import created_today
from planner.commands.explore import Asked, Choice, Explorer, Slider, go_on
from planner.loader import read_document
from planner.loader.yaml12 import dump
from planner.optimizer.effort import Effort
from planner.portfolio import api, views
from planner.portfolio.inputs import load
from planner.portfolio.schema import PortfolioPlan
from planner.portfolio.search import LARGE_GAP

STAGES_S = (4.0, 20.0, 60.0)
"""Time limits of the answer to a move, and of what follows while its gap is above the target."""
STEPS = 40
_NUMBER = re.compile(r"([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(.*)\Z")
_OF_SITE = {"facility_power": "power", "pue": "PUE", "electricity": "electricity", "racks": "racks"}
_OF_JOB = {"min_useful_pflops": "least work", "weight": "weight", "gpus": "GPUs"}
_TERM = {"electricity": "electricity price", "discount_rate": "discount rate"}


@dataclass
class PortfolioExplorer(Explorer):
    """A portfolio problem with its sliders; ``inputs`` are those of its first site."""

    @cached_property
    def data(self) -> dict[str, Any]:
        """The problem file as it is, with settings and scenario."""
        data: dict[str, Any] = read_document(self.path, self.settings, self.scenario).data
        return data

    @cached_property
    def sliders(self) -> tuple[Slider, ...]:
        """Budgets, powers by site and period, floors and weights of jobs."""
        return tuple(_sliders(self.data))

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """None: items are narrowed in the problem file."""
        return ()

    @cached_property
    def before(self) -> PortfolioPlan:
        """The plan of the problem as it is, to compare with."""
        return self._plan(Asked({}, {}), STAGES_S[-1], Effort())

    def changed(self, asked: Asked) -> tuple[str, ...]:
        """Return the settings of a position."""
        own = {each.path: each for each in self.sliders}
        moved = (own[p].path + "=" + own[p].text(v) for p, v in asked.values.items())
        return (*self.settings, *moved)

    def _plan(self, asked: Asked, limit_s: float, effort: Effort) -> PortfolioPlan:
        instance = load(self.path, self.changed(asked), self.scenario)
        return api.solve(
            instance,
            gap=LARGE_GAP,
            time_limit_s=limit_s,
            cancelled=lambda: effort.left_work <= 0.0,
        )

    def answer(self, asked: Asked, tab: str, stage: int) -> dict[str, Any]:
        """The data of the page at a position."""
        begun = time.perf_counter()
        with self._turn(tab, STAGES_S[stage]) as effort:
            plan = self._plan(asked, STAGES_S[stage], effort)
            go_on(effort)
            if not asked.values and plan.runs:
                vars(self)["before"] = plan
        found = shown(plan, vars(self).get("before", plan))
        milliseconds = round(1e3 * (time.perf_counter() - begun))
        return found | {"command": self.command_of(asked), "ms": milliseconds}

    def command_of(self, asked: Asked) -> str:
        """Return the command line that repeats the plan of a position."""
        sets = " ".join(f"--set '{each}'" for each in self.changed(asked))
        scenario = f" --scenario {self.scenario}" if self.scenario else ""
        return f"planner solve {self.path.name}{scenario} {sets}".rstrip()

    def curve(self, asked: Asked, tab: str) -> dict[str, Any]:
        """Return no curve: a portfolio has no single storage to count along."""
        return {"points": []}

    def workbook(self, asked: Asked) -> bytes:
        """Return the workbook of a position."""
        stream = io.BytesIO()
        views.workbook(self._plan(asked, STAGES_S[-1], Effort()), stream, created_today())
        return stream.getvalue()

    def problem_file(self, asked: Asked) -> bytes:
        """Return the problem file of a position."""
        document = read_document(self.path, self.changed(asked), self.scenario)
        return dump(document.data).encode()


def _sliders(data: Mapping[str, Any]) -> Iterator[Slider]:
    found = [*_money(data), *_sites(data), *_jobs(data)]
    for path, label, group, value in found:
        match = _NUMBER.match(str(value))
        if match is None or float(match[1]) <= 0.0:
            continue
        now, unit = float(match[1]), match[2].strip()
        whole = isinstance(value, int) and not unit
        steps = {round(now * (0.25 + 2.0 * k / STEPS), 0 if whole else 6) for k in range(STEPS + 1)}
        values = sorted({v for v in steps if v > 0.0} | {now})
        if not whole or now.is_integer():
            yield Slider(path, label, group, unit, tuple(float(v) for v in values), now)


Found = tuple[str, str, str, Any]
"""Path, label, group and text of an input."""


def _money(data: Mapping[str, Any]) -> Iterator[Found]:
    budget = data.get("budget") or {}
    capex = budget.get("capex")
    if isinstance(capex, Mapping):
        if "total" in capex:
            yield "budget.capex.total", "Capital budget, total", "Money", capex["total"]
        for n, each in enumerate(capex.get("per_period") or ()):
            yield f"budget.capex.per_period.{n}", f"Budget of period {n + 1}", "Money", each
    elif capex is not None:
        yield "budget.capex", "Capital budget", "Money", capex
    if "tco" in budget:
        yield "budget.tco", "TCO budget", "Money", budget["tco"]
    for key, label in _TERM.items():
        if key in (data.get("term") or {}):
            yield f"term.{key}", label.capitalize(), "Money", data["term"][key]


def _sites(data: Mapping[str, Any]) -> Iterator[Found]:
    sites = data.get("sites") or {"": data.get("site") or {}}
    for name, site in sites.items():
        path = f"sites.{name}" if name else "site"
        for key, label in _OF_SITE.items():
            if key in site:
                yield f"{path}.{key}", f"{name} {label}".strip(), "Sites", site[key]
        for period, value in (site.get("facility_power_from") or {}).items():
            label = f"{name} power from period {period}".strip()
            yield f"{path}.facility_power_from.{period}", label, "Sites", value


def _jobs(data: Mapping[str, Any]) -> Iterator[Found]:
    for n, job in enumerate(data.get("jobs") or ()):
        for key, label in _OF_JOB.items():
            value = job.get(key)
            if value is not None and not isinstance(value, Mapping):
                yield f"jobs.{n}.{key}", f"{job['name']}: {label}", "Jobs", value
        if isinstance(job.get("tokens"), Mapping):
            label = f"{job['name']}: tokens"
            yield f"jobs.{n}.tokens.count", label, "Jobs", job["tokens"]["count"]


def shown(plan: PortfolioPlan, before: PortfolioPlan) -> dict[str, Any]:
    """The data of the page for a plan beside the base plan."""
    late = plan.status == "limit"
    gap = "no bound" if plan.gap is None else f"gap {100 * plan.gap:.2g} %"
    head = {"status": plan.status, "proving": late, "proof": f"{plan.status}, {gap}"}
    if not plan.runs:
        return head | {"message": plan.message or "no plan"}
    main = [o for o in plan.orders if o.category in views.MAIN]
    units: dict[str, int] = {}
    for order in main:
        units[order.model] = units.get(order.model, 0) + order.quantity
    capex = plan.capex_usd or 0.0
    sections: dict[str, float] = {}
    for order in plan.orders:
        kind = order.category.replace("_", " ")
        sections[kind] = sections.get(kind, 0.0) + order.extended_usd
    limits = sorted(plan.uses, key=lambda use: not views.binds(use))
    return head | {
        "buys": ", ".join(f"{count:,} x {name}" for name, count in units.items()) or "nothing",
        "tiles": [*_tiles(plan, before)],
        "limits": [_bar(use) for use in limits],
        "sections": [
            {"label": kind, "share": usd / (capex or 1.0), "text": f"{usd / 1e6:,.2f} MUSD"}
            for kind, usd in sorted(sections.items(), key=lambda each: -each[1])
        ],
        "notes": len(plan.notes),
        "more": views.explored(plan),
    }


def _tiles(plan: PortfolioPlan, before: PortfolioPlan) -> Iterator[dict[str, Any]]:
    def figures(of: PortfolioPlan) -> dict[str, tuple[float, str, int]]:
        work = {j.job: j.mean_useful_pflops for j in of.jobs if j.mean_useful_pflops is not None}
        return {
            "capex": ((of.capex_usd or 0.0) / 1e6, "MUSD", -1),
            "TCO": ((of.tco_usd or 0.0) / 1e6, "MUSD", -1),
            **{f"{name}, mean": (each, "PFLOP/s", 1) for name, each in work.items()},
        }

    then = figures(before)
    for label, (value, unit, sense) in figures(plan).items():
        change = value - then.get(label, (value, "", 0))[0]
        moved = abs(change) >= 5e-3 * max(abs(value), 1e-9)
        yield {
            "label": label,
            "text": f"{value:,.4g} {unit}",
            "change": f"{change:+,.3g} {unit}" if moved else "",
            "better": 0 if not moved else 1 if sense * change > 0 else -1,
        }


def _bar(use: Any) -> dict[str, Any]:
    floor = "_of_" in use.name
    used, whole = (use.limit, use.used) if floor else (use.used, use.limit)
    return {
        "label": views.label(use),
        "share": min(1.0, used / whole) if whole else 1.0,
        "text": f"{use.used:,.4g} {'at least' if floor else 'of'} {use.limit:,.4g} {use.unit}",
        "binding": views.binds(use),
    }


def explorer_of(path: Path, settings: tuple[str, ...], scenario: str | None) -> PortfolioExplorer:
    """Return the explorer of a portfolio problem file.

    Raises:
        InputError: something in it is wrong.
    """
    instance = load(path, settings, scenario)
    return PortfolioExplorer(path, instance.places[0].inputs, settings, scenario)


__all__ = ["PortfolioExplorer", "explorer_of", "shown"]
