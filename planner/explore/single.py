"""A problem of one job at one site, explored."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

from planner import api
from planner.case import Case, resolve
from planner.errors import InputError
from planner.explore.explorer import AS_IT_IS, Asked, Choice, Explorer, go_on, sliders_of, tile
from planner.figures import FIGURES, OBJECTIVES, capital
from planner.inputs import Change, Inputs, inputs_to_text
from planner.loader import load
from planner.loader.axes import Variable
from planner.loader.overrides import checked
from planner.optimizer.effort import Effort
from planner.optimizer.objective import natural
from planner.optimizer.optimise import optimise
from planner.plan import assemble
from planner.report import edition, words
from planner.report.edition import restated
from planner.report.views.plan import reached, status, used_share
from planner.schema.plan import DEFAULT_GAP, Plan
from planner.verifier import verify

SOLVE_S = (0.5, 10.0, 60.0)
CURVE_S, CURVE_AT = 4.0, (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Time limit of the curve, s, and its storage units as multiples of the plan's."""
_TILES = ("useful_pflops", "useful_gpus", "gpus_used", "goodput", "days_to_train", "capex_usd",
          "tco_usd", "usd_per_useful_gpu_hour", "facility_power_kw")  # fmt: skip
_BETTER = {"useful_pflops": 1, "useful_gpus": 1, "goodput": 1, "gpus_used": 0}
"""Whether more is better (1) or neither; of all other figures less is."""


class SingleExplorer(Explorer):
    """A problem of one job with its inputs."""

    def __init__(self, path: Path, inputs: Inputs, **given: Any) -> None:
        assert inputs.document is not None
        super().__init__(
            path,
            sliders=tuple(sliders_of(inputs.document.data)),
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
            message = api.why_infeasible(inputs, options).summary
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
        found = page_data(restated(plan), restated(base))
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
        each = line.write_gb_per_s * plan.site.delivered_fraction_write / line.quantity
        figure = OBJECTIVES[plan.objective.name].figure
        return {
            "title": f"{capital(figure.label)} by number of {words.product(line)}",
            "x": "delivered write bandwidth, GB/s",
            "y": plan.objective.unit,
            "points": [{"x": count * each, "y": y, "n": count} for count, y in points],
            "at": line.quantity,
        }

    def workbook(self, asked: Asked) -> bytes:
        """The workbook of a position, as `planner solve` writes it."""
        from planner.commands.deliver import created_today
        from planner.workbook import write

        with self._one:
            inputs = self.inputs_of(asked)
            plan = api.solve_with(inputs, api.Options(time_limit_s=SOLVE_S[-1]))
        stream = io.BytesIO()
        write(plan, stream, created=created_today(), inputs=inputs_to_text(inputs))
        return stream.getvalue()


def explorer_of(path: Path, settings: tuple[str, ...], scenario: str | None) -> SingleExplorer:
    """The explorer of a problem file of one job.

    Raises:
        InputError: the problem is wrong.
    """
    inputs = load(path, settings=settings, scenario=scenario)
    return SingleExplorer(path, inputs, settings=settings, scenario=scenario)


def _choices(inputs: Inputs) -> Iterator[Choice]:
    """Yield GPU systems and storage families on offer."""
    case = resolve(inputs)
    systems = tuple((each.id, inputs.item(each.id).product) for each in case.systems)
    yield Choice("consider.gpu_systems", "GPU systems", systems)
    offered = {each.family for each in case.flash}
    families = [
        (each.id, words.with_vendor(each.vendor, each.name))
        for each in inputs.families
        if each.id in offered
    ]
    yield Choice("consider.storage_families", "Storage", tuple(sorted(families, key=itemgetter(1))))


# The page


def page_data(plan: Plan, base: Plan) -> dict[str, Any]:
    """The data of the page for a plan beside the base plan."""
    cut = plan.status in ("feasible", "no_solution") or any(
        v.code == "search" for v in plan.verdict
    )
    head = {"status": plan.status, "proving": cut, "proof": status(plan)}
    if plan.totals is None or not plan.jobs:
        return head | {"message": plan.message or words.STATUS_WORDS[plan.status]}
    bought = [
        words.so_many(line.working, words.product(line)) for line in edition.decided_lines(plan)
    ]
    sections = plan.totals.capex_by_section_usd
    whole, amounts = sum(sections.values()) or 1.0, words.results(sections.values(), "USD")
    return head | {
        "buys": words.listed(bought),
        "tiles": list(_tiles(plan, base)),
        "limits": [
            {
                "label": capital(limit.label),
                "share": used_share(limit),
                "text": reached(limit),
                "binding": limit.binding,
            }
            for limit in sorted(plan.limits, key=lambda each: not each.binding)
            if edition.can_run_short(limit)
        ],
        "sections": [
            {"label": name, "share": usd / whole, "text": amounts.with_unit(usd)}
            for name, usd in sections.items()
        ],
        "notes": len(plan.warnings),
    }


def _value(plan: Plan, name: str) -> float | None:
    if plan.totals is None or not plan.jobs:
        return None
    return getattr(plan.jobs[0], name, None) or getattr(plan.totals, name, None)


def _tiles(plan: Plan, base: Plan) -> Iterator[dict[str, Any]]:
    """Yield figures of a plan with their differences to the plan as it was."""
    for name in _TILES:
        value, before, figure = _value(plan, name), _value(base, name), FIGURES[name]
        if value is None or (name == "useful_gpus" and _value(plan, "useful_pflops")):
            continue
        text, change = _short(value, figure.unit), 0.0 if before is None else value - before
        then = text if before is None else _short(before, figure.unit)
        size = _short(abs(change), figure.unit).replace(" %", " points")
        signed = f"{'+' if change > 0 else '−'}{size}"
        yield tile(capital(figure.label), text, then, signed, _BETTER.get(name, -1) * change)


def _short(value: float, unit: str) -> str:
    """A figure with its unit, from 1,000 on without decimals."""
    bare = unit not in ("share", "s") and "USD" not in unit
    return f"{value:,.0f} {unit}" if bare and abs(value) >= 1e3 else words.quantity(value, unit)
