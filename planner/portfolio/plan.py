"""Plans: solve, save, read; whole counts, orders by date and runs from a solution.

Counts of dependent items are counted anew by the rules of the bill, and totals are summed from the
orders: a plan states what its orders are, not what a solver was content with.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

from planner.errors import Finding, InputError, VerificationError
from planner.files import contents
from planner.limits import MILLION
from planner.optimizer.bill import bill
from planner.optimizer.counts import Expression, value_of
from planner.optimizer.solvers import SolverName
from planner.optimizer.useful_work import Point
from planner.portfolio.check import faults
from planner.portfolio.inputs import MOST_PLAN_BYTES
from planner.portfolio.instance import Column, Instance, Place, TrainingColumn
from planner.portfolio.model import Program, Run
from planner.portfolio.schema import JobRun, Order, PortfolioPlan, Retirement, Standing
from planner.portfolio.search import Answer, Search
from planner.portfolio.totals import Totals
from planner.shipped import __version__

MISSED = 1e-6
"""Share of a limit below which it counts as kept."""


def solve(
    instance: Instance,
    *,
    solver: SolverName = "highs",
    gap: float | None = None,
    time_limit_s: float | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> PortfolioPlan:
    """The best plan of an instance, recomputed by independent arithmetic.

    Args:
        instance: the portfolio in numbers.
        solver: HiGHS, or CBC as a cross-check.
        gap: where to stop, as a share; by default 1e-6, of a large problem 0.5 %.
        time_limit_s: how long the search may take.
        cancelled: whether to stop now, at the best plan so far.

    Raises:
        VerificationError: the plan does not agree with its recomputation.
    """
    begun, program = time.monotonic(), Program(instance)
    if time_limit_s is not None:
        time_limit_s -= time.monotonic() - begun
    answer = Search(program, solver, gap, time_limit_s, cancelled).solve()
    plan = assemble(instance, program, answer, solver)
    wrong = faults(instance, plan)
    if wrong:
        raise VerificationError(wrong)
    return plan


def relaxations(instance: Instance, *, limit_s: float = 60.0) -> tuple[str, ...]:
    """The least changes of limits that together give a plan, as sentences."""
    program = Program(instance, elastic=True)
    found = Search(program, gap=1e-3, time_limit_s=limit_s).least_missed()
    if not found:
        return (
            "no change of budgets, power, racks, floors or tokens alone gives a plan: see "
            "storage capacity and shares, restore time, lead times, a replica's needs, windows",
        )
    texts = []
    for use, _ in program.limits:
        missed = value_of(program.missed[use.key], found)
        if missed > MISSED:
            missed *= max(abs(use.limit), 1e-9)
            most = use.limit - missed if use.is_floor else use.limit + missed
            sense = "at most" if use.is_floor else "at least"
            texts.append(f"{use.label()}: {sense} {most:,.6g} {use.unit}, now {use.limit:,.6g}")
    return tuple(texts)


def to_json(plan: PortfolioPlan) -> bytes:
    """A plan as JSON."""
    return f"{plan.model_dump_json(indent=1)}\n".encode()


def read_plan(path: Path) -> PortfolioPlan:
    """A saved plan.

    Raises:
        InputError: it is no output of `to_json`.
    """
    try:
        return PortfolioPlan.model_validate_json(
            contents(path, most_bytes=MOST_PLAN_BYTES, what="plan")
        )
    except ValueError:
        message = "no portfolio plan that planner wrote"
        raise InputError(Finding("plan", message, str(path), fix="solve it again")) from None


def assemble(instance: Instance, program: Program, answer: Answer, solver: str) -> PortfolioPlan:
    """The plan of an answer; one without values states the reason."""
    objective, messages = instance.portfolio.objective, {"infeasible": "no plan meets every limit"}
    size = program.problem
    head = {
        "problem": instance.portfolio.name,
        "problem_file": instance.document.file,
        "version": __version__,
        "status": answer.status,
        "objective": objective.name,
        "solver": f"{'HiGHS' if solver == 'highs' else 'CBC'}, {answer.rounds} programs, "
        f"{size.numVariables():,} columns, {size.numConstraints():,} rows",
        "tolerance": objective.tolerance,
        "scenario": instance.scenario,
        "settings": instance.settings,
    }
    if not answer.values:
        late = "the time limit was reached before any plan was found"
        return PortfolioPlan(message=messages.get(answer.status, late), **head)
    made, scale = _Assembly(instance, program, answer), 1.0
    if objective.name in ("cost", "tco"):
        scale = MILLION
    best, bound = answer.worth[0] * scale, answer.bounds[0] * scale + 0.0
    proven, items = math.isfinite(bound), instance.places[0].inputs.by_id
    plan = PortfolioPlan(
        best=best,
        bound=bound if proven else None,
        gap=abs(best - bound) / max(abs(best), 1e-9 * scale) if proven else None,
        orders=tuple(made.orders()),
        standing=tuple(made.standing()),
        retired=tuple(made.retired),
        runs=tuple(made.runs()),
        notes=tuple(_notes(instance, answer)),
        **head,
    )
    totals = Totals(instance, plan).fields()
    models = {sku: items[sku].product for sku in sorted({s.item for s in totals["standing"]})}
    return plan.model_copy(update={**totals, "models": models})


def _notes(instance: Instance, answer: Answer) -> Iterator[str]:
    left_out = instance.left_out
    if len(answer.worth) > 1:
        yield "Priorities: value and bound are those of the first class; later ones follow it."
    free = not any(rule.rewiring_usd for rule in instance.portfolio.market.values())
    rewiring = "labour of rewiring (market.switch.rewiring) and of moves"
    labour = rewiring if free else "labour of moves"
    yield f"Not counted: {labour}; idle shares of write bandwidth, lent."
    if answer.status == "limit":
        yield "The gap is above the target: stopped by the time limit or by rounds."
    if left_out:
        yield f"{len(left_out)} catalog items are not considered ({left_out[0]}; ...)"


class _Assembly:
    """Decisions of a solution: units in place, orders, runs."""

    def __init__(self, instance: Instance, program: Program, answer: Answer) -> None:
        self.instance, self.program, self.values = instance, program, answer.values
        self.periods, self.places = instance.periods, instance.places
        self.needed: dict[tuple[int, int], dict[str, int]] = {}
        for (at, place), period in product(enumerate(self.places), self.periods):
            units = {sku: self._count(program.units[at, sku, period]) for sku in place.offers}
            counts = bill(place.case, units, ()).counts
            self.needed[at, period] = {sku: round(counts[sku]) for sku in place.items} | units
        self.retired = [*self._retirements()]
        self.bought: dict[tuple[int, str], list[int]] = {}
        for at, place in enumerate(self.places):
            for sku, item in place.items.items():
                orders = [self._count(program.bought[at, sku, p]) for p in self.periods]
                needs = [self._units_to_buy(at, place, sku, p) for p in self.periods]
                if any(orders) or any(needs):
                    self.bought[at, sku] = _trimmed(orders, needs, item.pack, item.min_order)

    def _value(self, expression: Expression) -> float:
        return value_of(expression, self.values)

    def _count(self, expression: Expression) -> int:
        return round(self._value(expression))

    # Units

    def _retirements(self) -> Iterator[Retirement]:
        """Yield the units that leave, by site and item."""
        for (at, sku, arrived, period), gone in self.program.gone.items():
            if quantity := self._count(gone):
                where = {"site": self.places[at].name, "item": sku, "arrived": arrived}
                yield Retirement(period=period + 1, quantity=quantity, **where)

    def _count_retired(self, place: Place, sku: str, period: int) -> int:
        """Units that are retired until a period."""
        here = (r for r in self.retired if (r.site, r.item) == (place.name, sku))
        return sum(each.quantity for each in here if each.period <= period + 1)

    def _units_to_buy(self, at: int, place: Place, sku: str, period: int) -> int:
        """The units that must have been bought until a period."""
        count = self.needed[at, period][sku] + self._count_retired(place, sku, period)
        owned = place.owned.get(sku, 0)
        if sku in place.offers:  # spares are those of units bought
            count, owned = count - owned, 0
        return max(0, count + math.ceil(place.items[sku].spare_share * count - 1e-9) - owned)

    def standing(self) -> Iterator[Standing]:
        """Yield GPU systems and storage in service, by period and site."""
        for period, (at, place) in product(self.periods, enumerate(self.places)):
            for sku in place.offers:
                where = {"site": place.name, "item": sku, "category": ""}
                needed = self.needed[at, period][sku]
                yield Standing(period=period + 1, needed=needed, held=needed, **where)

    def orders(self) -> list[Order]:
        """Orders by date and site, the largest first."""
        found = [
            self.instance.order(self.places[at], sku, arrives, quantity)
            for (at, sku), counts in self.bought.items()
            for arrives, quantity in enumerate(counts)
            if quantity
        ]
        return sorted(found, key=lambda o: (o.period, o.site, -o.extended_usd, o.item))

    # Runs

    def runs(self) -> Iterator[JobRun]:
        """Yield the runs of training jobs by period, then those of inference."""
        for run in sorted(self.program.runs, key=lambda run: (run.period, run.column.job)):
            if self._value(run.runs) > 0.5:
                yield self._run(run)
        for (column, period), runs in self.program.placed.items():
            if not isinstance(column, TrainingColumn) and self._value(runs) > 0.5:
                gpus, where = column.systems * column.system.gpus, self._where(column, period)
                yield JobRun(way=column.system.id, systems=column.systems, gpus=gpus, **where)

    def _where(self, column: Column, period: int) -> dict[str, Any]:
        job, site = self.instance.portfolio.jobs[column.job], self.places[column.site]
        place = {"site": site.name, "item": column.system.id}
        return {"job": job.name, "period": period + 1, **place}

    def _run(self, run: Run) -> JobRun:
        column, at = run.column, self._point(run)
        gpus, work = round(at.gpus), column.work
        kept, pflops = work.goodput(at) or 0.0, work.value(at, "pflops") or 0.0
        return JobRun(
            way=column.way.id,
            systems=math.ceil(gpus / column.way.usable_gpus),
            gpus=gpus,
            spares=work.team.spares,
            delivered_write_gb_per_s=at.write,
            delivered_read_gb_per_s=at.read,
            endurance_tb_per_day=None if math.isinf(at.endured) else at.endured,
            interval_s=work.interval_s(at),
            goodput=kept,
            useful_pflops=pflops,
            **self._where(column, run.period),
        )

    def _point(self, run: Run) -> Point:
        """The operating point; a restore that is alone reads all that clients and others leave."""
        column, (_, at) = run.column, run.point(self.values)
        at = _fewest(run, at._replace(gpus=float(round(at.gpus))))
        if self.program.portfolio.restores != "alone":
            return at
        read = self._value(self.program.delivered(column.site, run.period)[1])
        for other in self.program.runs_at(column.site, run.period):
            if other is not run and self._value(other.runs) > 0.5:
                each = other.column.case.job.ingest_per_gpu_gb_per_s
                read -= each * self._value(other.gpus)
        factors = [
            family.read_factor
            for family in self.places[column.site].case.families
            if self._value(self.program.family[column.site, family.id]) > 0.5
        ]
        readers = math.ceil(at.gpus / column.way.usable_gpus) * min(factors, default=1.0)
        return at._replace(read=min(read, readers * column.system.client_read_gb_per_s))


def _fewest(run: Run, at: Point) -> Point:
    """The point with fewer GPUs where those do more work."""
    work, way = run.column.work, run.column.way
    step = float(way.step_gpus)
    while at.gpus - step >= max(step, work.gpus_range[0]):
        fewer = at._replace(gpus=at.gpus - step)
        if (work.value(fewer, "pflops") or 0.0) <= (work.value(at, "pflops") or 0.0):
            break
        at = fewer
    return at


def _trimmed(orders: list[int], needs: list[int], pack: int, least: int) -> list[int]:
    """Orders without unneeded units, and with units lost to rounding."""
    found = list(orders)
    for period in range(len(found)):
        missing = max(needs[: period + 1]) - sum(found[: period + 1])
        if missing > 0:
            found[period] += -(-max(missing, least if not found[period] else 0) // pack) * pack
    top = max(needs, default=0)
    for period in reversed(range(len(found))):
        over = (sum(found) - top) // pack * pack
        spare = min(sum(found[: q + 1]) - max(needs[: q + 1]) for q in range(period, len(found)))
        cut = max(0, min(found[period], over, spare // pack * pack))
        if found[period] - cut < least:
            cut = found[period] if cut == found[period] else min(cut, max(0, found[period] - least))
        found[period] -= cut // pack * pack
    return found
