"""A problem of one job, or of several jobs, sites or periods, explored."""

from __future__ import annotations

import contextlib
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

from planner import api
from planner.analysis.tornado import limit_labels
from planner.case import Case, resolve
from planner.errors import InputError
from planner.explore.explorer import AS_IT_IS, Asked, Choice, Explorer, go_on, sliders_of
from planner.figures import FIGURES, OBJECTIVES, capital
from planner.inputs import Change, Inputs, inputs_to_text
from planner.loader import load, read_document
from planner.loader.axes import Variable
from planner.loader.checks import checked
from planner.optimizer import optimise
from planner.optimizer.objective import natural
from planner.optimizer.search import Effort
from planner.plan import assemble
from planner.portfolio import views
from planner.portfolio.inputs import load as load_portfolio
from planner.portfolio.plan import solve as solve_portfolio
from planner.portfolio.rounds import LARGE_GAP
from planner.portfolio.schema import PortfolioPlan, Use
from planner.report import edition, formats
from planner.report.edition import in_currency
from planner.report.plan import reached, status, used_share
from planner.results import created_today
from planner.schema.plan import DEFAULT_GAP, Plan
from planner.sources import is_portfolio
from planner.verifier import verify
from planner.workbook import write

SOLVE_S, PORTFOLIO_S = (0.5, 10.0, 60.0), (4.0, 20.0, 60.0)
"""Time limits of the answer to a move and of what follows, s."""
CURVE_S, CURVE_AT = 4.0, (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Time limit of the curve, s, and its storage units as multiples of the plan's."""
MOST_LIMITS = 12
"""Limits on the page, all binding ones and the nearest others."""
_TILES = (
    "useful_pflops",
    "useful_gpus",
    "gpus_used",
    "goodput",
    "days_to_train",
    "capex_usd",
    "tco_usd",
    "usd_per_useful_gpu_hour",
    "facility_power_kw",
)
_BETTER = {"useful_pflops": 1, "useful_gpus": 1, "goodput": 1, "gpus_used": 0}
"""Sense of figures: 1 more is better, 0 neither; of all other figures less is better."""
Figures = Mapping[str, tuple[float, str, int]]
"""Value, unit and whether more is better (1) or less (-1), by label."""


def explorer_of(path: Path, settings: tuple[str, ...], scenario: str | None) -> Explorer:
    """The explorer of a problem file.

    Raises:
        InputError: the problem is wrong.
    """
    if not is_portfolio(path):
        inputs = load(path, settings=settings, scenario=scenario)
        return SingleExplorer(path, inputs, settings=settings, scenario=scenario)
    title = load_portfolio(path, settings, scenario).places[0].inputs.problem.name
    sliders = tuple(sliders_of(read_document(path, settings, scenario).data))
    return PortfolioExplorer(path, settings, scenario, sliders, title=title, stages_s=PORTFOLIO_S)


class SingleExplorer(Explorer):
    """A problem of one job with its inputs."""

    def __init__(self, path: Path, inputs: Inputs, **given: Any) -> None:
        assert inputs.document is not None
        known = limit_labels(inputs)
        super().__init__(
            path,
            sliders=tuple(
                replace(each, label=capital(known.get(each.path, each.label)))
                for each in sliders_of(inputs.document.data)
            ),
            choices=tuple(each for each in _choices(inputs) if len(each.options) > 1),
            title=inputs.problem.name,
            stages_s=SOLVE_S,
            **given,
        )
        self.inputs = inputs

    @cached_property
    def base(self) -> Plan:
        """The plan of the problem as it is, to compare with."""
        return self.solve(AS_IT_IS, Effort.within(SOLVE_S[-1]))[0]

    def changes(self, asked: Asked) -> tuple[Change, ...]:
        """The changes of a position."""
        read = (Variable(self.inputs, path).read(text) for path, text in self.changed(asked))
        return tuple(change for each in read for change in each.changes)

    def settings_of(self, asked: Asked) -> tuple[str, ...]:
        """The settings of a position, as ``--set`` takes them."""
        return tuple(change.setting for change in self.changes(asked))

    def inputs_of(self, asked: Asked) -> Inputs:
        """The problem at a position.

        Raises:
            InputError: its values do not go together.
        """
        changes = self.changes(asked)
        return checked(self.inputs, changes, recorded=True) if changes else self.inputs

    def solve(self, asked: Asked, effort: Effort) -> tuple[Plan, Case]:
        """The plan of a position, verified, and its case."""
        inputs, gap = self.inputs_of(asked), DEFAULT_GAP
        case = resolve(inputs)
        answer = optimise(case, gap=gap, effort=effort)
        go_on(effort)
        message = None
        if answer.operation is None:
            message = "No plan found yet, or nothing limits the purchase."
        if answer.status == "infeasible":
            options = api.Options(time_limit_s=max(effort.left_s, 0.1)).started()
            reasons = api.why_infeasible(inputs, options)
            message = reasons.model_copy(update={"undecided": ()}).summary
        plan = assemble(inputs, case, answer, solver="highs", gap=gap, message=message)
        verify(inputs, plan)
        return plan, case

    def shown(self, asked: Asked, effort: Effort, stage: int) -> dict[str, Any]:
        """The plan of a position as data of the page."""
        first = asked == AS_IT_IS and "base" not in vars(self)
        base = None if first else self.base
        plan, _ = self.solve(asked, effort)
        if base is None:
            vars(self)["base"] = base = plan
        found = _single_page(in_currency(plan), in_currency(base))
        found["proving"] |= plan.status == "infeasible" and not stage  # the reason takes longer
        return found

    def curve(self, asked: Asked, tab: str) -> dict[str, Any]:
        """The objective by storage units, each point solved with exactly that number."""
        with self.turn(tab, CURVE_S) as effort:
            plan, case = self.solve(asked, effort)
            lines = [line for line in edition.decided_lines(plan, "Storage") if not line.installed]
            if plan.status != "optimal" or len(lines) != 1:
                return {"points": []}
            line, points = lines[0], []
            inputs = self.inputs_of(asked)
            fixed = Variable(inputs, f"items.{line.sku}.fixed")
            for count in sorted({max(1, round(part * line.quantity)) for part in CURVE_AT}):
                with contextlib.suppress(InputError):
                    case = resolve(checked(inputs, fixed.read(str(count)).changes))
                    found = optimise(case, gap=DEFAULT_GAP, effort=effort, ties=False)
                    go_on(effort)
                    if found.status == "optimal" and found.value is not None:
                        points.append((count, natural(case.objective, found.value)))
        each = line.nameplate_write_gb_per_s * plan.site.delivered_fraction_write / line.quantity
        figure = OBJECTIVES[plan.objective.name].figure
        return {
            "title": f"Best {figure.label} by number of {formats.product(line)}",
            "x": "delivered write bandwidth, GB/s",
            "y": plan.objective.unit,
            "points": [{"x": count * each, "y": y, "n": count} for count, y in points],
            "plan": {"x": line.quantity * each, "y": plan.objective.value},
        }

    def workbook(self, asked: Asked) -> bytes:
        """The workbook of a position, as `planner solve` writes it."""
        with self._one:
            inputs = self.inputs_of(asked)
            plan = api.solve_with(inputs, api.Options(time_limit_s=SOLVE_S[-1]))
        stream = io.BytesIO()
        write(plan, stream, created=created_today(), inputs=inputs_to_text(inputs))
        return stream.getvalue()


def _choices(inputs: Inputs) -> Iterator[Choice]:
    """Yield GPU systems and storage families on offer."""
    case = resolve(inputs)
    systems = tuple((each.id, inputs.item(each.id).product) for each in case.systems)
    yield Choice("consider.gpu_systems", "GPU systems", systems)
    offered = {each.family for each in case.flash}
    families = [
        (each.id, formats.with_vendor(each.vendor, each.name))
        for each in inputs.families
        if each.id in offered
    ]
    yield Choice("consider.storage_families", "Storage", tuple(sorted(families, key=itemgetter(1))))


class PortfolioExplorer(Explorer):
    """A portfolio problem; its items are narrowed in the problem file."""

    _before: PortfolioPlan | None = None

    def solve(self, asked: Asked, limit_s: float, effort: Effort) -> PortfolioPlan:
        """The plan of a position."""
        instance = load_portfolio(
            self.path, (*self.settings, *self.settings_of(asked)), self.scenario
        )
        return solve_portfolio(
            instance,
            gap=LARGE_GAP,
            time_limit_s=limit_s,
            cancelled=lambda: effort.left_work <= 0.0,
        )

    def shown(self, asked: Asked, effort: Effort, stage: int) -> dict[str, Any]:
        """The plan of a position as data of the page."""
        plan = self.solve(asked, PORTFOLIO_S[stage], effort)
        go_on(effort)
        if asked == AS_IT_IS and plan.runs:
            self._before = plan
        return _portfolio_page(plan, self._before or plan)

    def workbook(self, asked: Asked) -> bytes:
        """The workbook of a position."""
        stream = io.BytesIO()
        views.workbook(self.solve(asked, PORTFOLIO_S[-1], Effort()), stream, created_today())
        return stream.getvalue()


# The page


def _page(
    head: Mapping[str, Any],
    now: Figures,
    before: Figures,
    bars: Iterable[tuple[str, float, str, bool]],
    sections: Mapping[str, float],
    **more: Any,
) -> dict[str, Any]:
    """The data of the page: tiles beside those of the problem as it is, limit bars, costs."""
    whole, amounts = sum(sections.values()) or 1.0, formats.result_scale(sections.values(), "USD")
    rows = [
        {"label": name, "share": usd / whole, "text": amounts.with_unit(usd)}
        for name, usd in sections.items()
    ]
    keys = ("label", "share", "text", "binding")
    limits: list[dict[str, Any]] = [dict(zip(keys, bar, strict=True)) for bar in bars]
    limits.sort(key=lambda limit: (not limit["binding"], -limit["share"]))
    tiles = [
        _tile(label, value, unit, sense, before.get(label, (value,))[0])
        for label, (value, unit, sense) in now.items()
    ]
    most = max(MOST_LIMITS, sum(limit["binding"] for limit in limits))
    return {**head, "tiles": tiles, "limits": limits[:most], "sections": rows, **more}


def _tile(label: str, value: float, unit: str, sense: int, before: float) -> dict[str, Any]:
    """A figure with its difference to the problem as it is."""
    text, change = formats.tile_text(value, unit), value - before
    if text == formats.tile_text(before, unit):
        return {"label": label, "text": text, "change": "", "better": 0}
    size = formats.tile_text(abs(change), unit).replace(" %", " points")
    better = (sense * change > 0) - (sense * change < 0)
    signed = f"{'+' if change > 0 else '−'}{size}"
    return {"label": label, "text": text, "change": signed, "better": better}


def _single_page(plan: Plan, base: Plan) -> dict[str, Any]:
    cut = plan.status in ("feasible", "no_solution") or "search" in plan.verdict
    head = {"status": plan.status, "proving": cut, "proof": status(plan)}
    if plan.totals is None or not plan.jobs:
        return head | {"message": plan.message or formats.STATUS_WORDS[plan.status]}
    return _page(
        head,
        _single_figures(plan),
        _single_figures(base),
        [
            (capital(limit.label), used_share(limit), reached(limit), limit.binding)
            for limit in plan.limits
            if edition.can_run_short(limit)
        ],
        plan.totals.capex_by_section_usd,
        buys=edition.bought_text(plan),
        notes=len(plan.warnings),
    )


def _single_figures(plan: Plan) -> Figures:
    found: dict[str, tuple[float, str, int]] = {}
    if plan.totals is None or not plan.jobs:
        return found
    for name in _TILES:
        value = getattr(plan.jobs[0], name, None) or getattr(plan.totals, name, None)
        if value is not None and not (name == "useful_gpus" and plan.jobs[0].useful_pflops):
            figure = FIGURES[name]
            found[capital(figure.label)] = value, figure.unit, _BETTER.get(name, -1)
    return found


def _portfolio_page(plan: PortfolioPlan, before: PortfolioPlan) -> dict[str, Any]:
    gap = "no bound" if plan.gap is None else f"gap {formats.gap(plan.gap)}"
    late = plan.status == "limit"
    head = {"status": plan.status, "proving": late, "proof": f"{plan.status}, {gap}"}
    if not plan.runs:
        return head | {"message": plan.message or "no plan"}
    bought, sections = Counter[str](), defaultdict[str, float](float)
    for order in plan.orders:
        sections[views.kind(order.category)] += order.extended_usd
        if order.category in views.MAIN:
            bought[order.model] += order.quantity
    return _page(
        head,
        _portfolio_figures(plan),
        _portfolio_figures(before),
        map(_bar, plan.uses),
        dict(sorted(sections.items(), key=lambda each: -each[1])),
        buys=", ".join(f"{count:,} x {name}" for name, count in bought.items()) or "nothing",
        notes=len(plan.notes),
        more=views.explored(plan),
    )


def _portfolio_figures(plan: PortfolioPlan) -> Figures:
    found = {"Capex": (plan.capex_usd or 0.0, "USD", -1), "TCO": (plan.tco_usd or 0.0, "USD", -1)}
    return found | {
        f"{job.job}, mean": (job.mean_useful_pflops, "PFLOP/s", 1)
        for job in plan.jobs
        if job.mean_useful_pflops is not None
    }


def _bar(use: Use) -> tuple[str, float, str, bool]:
    used, whole = (use.limit, use.used) if use.is_floor else (use.used, use.limit)
    text = f"{use.used:,.4g}{', at least' if use.is_floor else ' of'} {use.limit:,.4g} {use.unit}"
    return capital(use.label()), min(1.0, used / whole) if whole else 1.0, text, use.binding
