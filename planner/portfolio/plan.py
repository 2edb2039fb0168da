"""Plans: solve, save, read; whole counts, orders by date, runs, money, limits from a solution.

Counts of dependent items are counted anew by the rules of the bill, and money is summed from the
orders: a plan states what its orders are, not what a solver was content with.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from planner.case.figures import weights
from planner.errors import Finding, InputError, VerificationError
from planner.files import contents
from planner.optimizer.bill import bill
from planner.optimizer.counts import Expression, value_of
from planner.optimizer.solvers import SolverName
from planner.optimizer.useful_work import Point
from planner.portfolio.check import faults
from planner.portfolio.inputs import MOST_PLAN_BYTES, Instance, Place, TrainingColumn
from planner.portfolio.model import Program, Run, tokens_per_pflops
from planner.portfolio.purchases import SITE_LIMITS, Limit
from planner.portfolio.schema import (
    JobResult,
    JobRun,
    MoneyOfPeriod,
    Order,
    PortfolioPlan,
    Standing,
    TrainingJob,
    Use,
)
from planner.portfolio.search import Answer, search
from planner.shipped import __version__


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
    program, answer = search(
        instance, solver=solver, gap=gap, time_limit_s=time_limit_s, cancelled=cancelled
    )
    plan = assemble(instance, program, answer, solver)
    wrong = faults(instance, plan)
    if wrong:
        raise VerificationError(wrong)
    return plan


def to_json(plan: PortfolioPlan) -> bytes:
    """A plan as JSON."""
    return (json.dumps(plan.model_dump(mode="json"), indent=1) + "\n").encode()


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
    objective, size = instance.portfolio.objective, program.problem
    head = {
        "problem": instance.portfolio.name,
        "version": __version__,
        "status": answer.status,
        "objective": objective.name,
        "solver": f"{'HiGHS' if solver == 'highs' else 'CBC'}, {answer.rounds} programs, "
        f"{size.numVariables():,} columns, {size.numConstraints():,} rows",
        "tolerance": objective.tolerance,
        "settings": instance.settings,
    }
    if answer.values:
        return _Assembly(instance, program, answer).plan(head)
    message = "the time limit was reached before any plan was found"
    if answer.status == "infeasible":
        message = "no plan meets every limit"
    return PortfolioPlan(message=message, **head)


class _Assembly:
    """One plan in the making."""

    def __init__(self, instance: Instance, program: Program, answer: Answer) -> None:
        self.instance, self.program, self.answer = instance, program, answer
        self.values, self.periods = answer.values, instance.periods
        self.place = {place.name: place for place in instance.places}
        self.counts: dict[tuple[int, int], Mapping[str, float]] = {}
        self.needed: dict[tuple[int, int], dict[str, int]] = {}
        for at, place in enumerate(instance.places):
            for period in self.periods:
                units = {s: self._whole(program.units[at, s, period]) for s in place.offers}
                counts = bill(place.case, units, ()).counts
                every = units | {s: round(counts[s]) for s in place.items if s not in units}
                self.counts[at, period] = counts
                self.needed[at, period] = {sku: count for sku, count in every.items() if count}
        self.needs: dict[tuple[int, str], list[int]] = {}
        self.bought = self._bought()
        self.orders = sorted(
            self._orders(), key=lambda o: (o.period, o.site, -o.extended_usd, o.item)
        )
        self.money = [*self._money()]

    def plan(self, head: Mapping[str, object]) -> PortfolioPlan:
        """The plan."""
        answer, runs, instance = self.answer, [*self._runs()], self.instance
        orders, money = self.orders, self.money
        residual = instance.discount(len(self.periods) * instance.years) * math.fsum(
            o.quantity
            * instance.residual_share(self.place[o.site], o.item, o.arrives - 1)
            * o.unit_net_usd
            for o in orders
        )
        capex = math.fsum(order.extended_usd for order in orders)
        tco = -residual + math.fsum(
            m.discount * (m.capex_usd + m.energy_usd + m.support_usd - m.resale_usd) for m in money
        )
        best, bound = answer.worth[0], answer.bounds[0]
        scale = 1e6 if head["objective"] in ("cost", "tco") else 1.0
        proven = math.isfinite(bound)
        items = sorted({sku for counts in self.needed.values() for sku in counts})
        known = {sku: place.inputs for place in instance.places for sku in place.items}
        named = {sku: known[sku].item(sku) for sku in items}
        return PortfolioPlan(
            value=self._value(runs, capex, tco),
            best=best * scale,
            bound=bound * scale if proven else None,
            gap=abs(best - bound) / max(abs(best), 1e-9) if proven else None,
            capex_usd=capex,
            tco_usd=tco,
            residual_usd=residual,
            orders=tuple(orders),
            standing=tuple(self._standing()),
            runs=tuple(runs),
            jobs=tuple(self._jobs(runs)),
            uses=tuple(self._use(limit, runs, capex, tco) for limit in self.program.limits),
            money=tuple(money),
            models={sku: item.product for sku, item in named.items()},
            notes=tuple(self._notes()),
            **head,
        )

    def _value_of(self, expression: Expression) -> float:
        return value_of(expression, self.values)

    def _whole(self, expression: Expression) -> int:
        return round(value_of(expression, self.values))

    # Counts

    def _bought(self) -> dict[tuple[int, str], list[int]]:
        """The units bought by site and item, by period of arrival; no more than needed."""
        found = {}
        for at, place in enumerate(self.instance.places):
            for sku, item in place.items.items():
                orders = [self._whole(self.program.bought[at, sku, p]) for p in self.periods]
                needs = [self._units_to_buy(at, place, sku, p) for p in self.periods]
                if any(orders) or any(needs):
                    self.needs[at, sku] = needs
                    found[at, sku] = _trimmed(orders, needs, item.pack, item.min_order)
        return found

    def _left(self, at: int, sku: str, period: int) -> int:
        """Owned units of an item that are not retired in a period; -1 is before the first."""
        owned = float(self.instance.places[at].owned.get(sku, 0))
        return self._whole(self.program.old.get((at, sku, period), owned))

    def _units_to_buy(self, at: int, place: Place, sku: str, period: int) -> int:
        """The units that must have been bought until a period."""
        count = self.needed[at, period].get(sku, 0)
        share, owned = place.items[sku].spare_share, 0
        if sku in place.offers:
            count -= self._left(at, sku, period)
        else:
            owned = place.owned.get(sku, 0)
        return max(0, count + math.ceil(share * count - 1e-9) - owned)

    def _standing(self) -> Iterator[Standing]:
        for period in self.periods:
            for at, place in enumerate(self.instance.places):
                for sku in place.items:
                    bought = sum(self.bought.get((at, sku), [])[: period + 1])
                    left = self._left(at, sku, period)
                    standing = Standing(
                        period=period + 1,
                        site=place.name,
                        item=sku,
                        needed=self.needed[at, period].get(sku, 0),
                        held=left + bought,
                        retired=place.owned.get(sku, 0) - left,
                    )
                    if standing.held or standing.needed or standing.retired:
                        yield standing

    # Money

    def _orders(self) -> Iterator[Order]:
        instance = self.instance
        for (at, sku), counts in self.bought.items():
            place, needs = instance.places[at], self.needs[at, sku]
            item, lead = place.inputs.item(sku), instance.rule(place, sku).lead
            for arrives, quantity in enumerate(counts):
                if not quantity:
                    continue
                price, before = (
                    instance.price_usd(place, sku, arrives - lead),
                    sum(counts[:arrives]),
                )
                used = (p for p in self.periods[arrives:] if needs[p] > before)
                yield Order(
                    period=arrives - lead + 1,
                    arrives=arrives + 1,
                    in_use_from=next(used, arrives) + 1,
                    date=instance.start(arrives - lead),
                    site=place.name,
                    item=sku,
                    model=item.product,
                    category=item.category,
                    quantity=quantity,
                    unit_net_usd=price,
                    extended_usd=round(price * quantity, 2),
                    support_usd_per_year=place.items[sku].support_usd_per_year * quantity,
                )

    def _money(self) -> Iterator[MoneyOfPeriod]:
        instance = self.instance
        for period in self.periods:
            energy = [self._sum(at, period, "energy_usd_per_year") for at in self._sites]
            paid = (o.extended_usd for o in self.orders if o.period == period + 1)
            support = (
                o.quantity * instance.support_usd(self.place[o.site], o.item, o.arrives - 1)[period]
                for o in self.orders
            )
            yield MoneyOfPeriod(
                period=period + 1,
                start=instance.start(period),
                discount=instance.discount(period * instance.years),
                capex_usd=math.fsum(paid),
                energy_usd=math.fsum(energy) * instance.years,
                support_usd=math.fsum(support),
                resale_usd=math.fsum(self._resale(period)),
            )

    def _resale(self, period: int) -> Iterator[float]:
        """Yield the income from owned units retired at the start of a period, USD."""
        for at, sku, when in self.program.old:
            if when == period:
                place = self.instance.places[at]
                share = self.instance.rule(place, sku).resale
                gone = self._left(at, sku, period - 1) - self._left(at, sku, period)
                yield gone * share * self.instance.price_usd(place, sku, period)

    @property
    def _sites(self) -> range:
        return range(len(self.instance.places))

    def _sum(self, at: int, period: int, figure: str) -> float:
        counts, case = self.counts[at, period], self.instance.places[at].case
        return math.fsum(each * n for each, n in weights(case, figure, counts, counts))

    # Runs

    def _runs(self) -> Iterator[JobRun]:
        tokens: dict[int, float] = {}
        for run in sorted(self.program.runs, key=lambda run: (run.period, run.column.job)):
            if self._value_of(run.runs) > 0.5:
                yield self._run(run, tokens)
        for (column, period), runs in self.program.placed.items():
            if not isinstance(column, TrainingColumn) and self._value_of(runs) > 0.5:
                yield JobRun(
                    job=self.instance.portfolio.jobs[column.job].name,
                    period=period + 1,
                    site=self.instance.places[column.site].name,
                    item=column.system.id,
                    way=column.system.id,
                    systems=column.systems,
                    gpus=column.systems * column.system.gpus,
                )

    def _run(self, run: Run, tokens: dict[int, float]) -> JobRun:
        column, instance = run.column, self.instance
        at = self._point(run)
        gpus = round(at.gpus)
        kept, pflops = column.work.goodput(at) or 0.0, column.work.value(at, "pflops") or 0.0
        each = tokens_per_pflops(instance, column.job)
        if each is not None:
            tokens[column.job] = tokens.get(column.job, 0.0) + each * pflops
        return JobRun(
            job=instance.portfolio.jobs[column.job].name,
            period=run.period + 1,
            site=instance.places[column.site].name,
            item=column.system.id,
            way=column.way.id,
            systems=math.ceil(gpus / column.way.usable_gpus),
            gpus=gpus,
            spares=column.work.team.spares,
            delivered_write_gb_per_s=at.write,
            delivered_read_gb_per_s=at.read,
            endurance_tb_per_day=None if math.isinf(at.endured) else at.endured,
            interval_s=column.work.interval_s(at),
            goodput=kept,
            useful_gpus=gpus * kept,
            useful_pflops=pflops,
            tokens=tokens.get(column.job),
        )

    def _point(self, run: Run) -> Point:
        """The operating point, its shares within the delivered bandwidth and that of clients."""
        column, case, way = run.column, run.column.case, run.column.way
        delivered = self.program.delivered(column.site, run.period)
        write, read = (self._value_of(each) for each in delivered)
        here = [
            each
            for each in self.program.runs
            if (each.column.site, each.period) == (column.site, run.period)
            and self._value_of(each.runs) > 0.5
        ]
        _, at = run.point(self.values)
        at = _fewest(run, at._replace(gpus=float(round(at.gpus))))
        shared = math.fsum(self._value_of(each.write) for each in here)
        share = at.write * min(1.0, write / shared) if shared else at.write
        if self.program.portfolio.restores == "alone":
            at = at._replace(
                read=read
                - math.fsum(
                    each.column.case.job.ingest_per_gpu_gb_per_s * self._value_of(each.gpus)
                    for each in here
                    if each is not run
                )
            )
        families = [
            family
            for family in self.instance.places[column.site].case.families
            if self._value_of(self.program.family[column.site, family.id]) > 0.5
        ]
        systems = math.ceil(at.gpus / way.usable_gpus)
        writers = float(systems)
        if case.job.one_replica_writes:
            writers = float(math.ceil((way.replica_gpus or 0) / way.usable_gpus))
        writers *= min((f.write_factor for f in families), default=1.0)
        readers = systems * min((f.read_factor for f in families), default=1.0)
        share = min(share, writers * column.system.client_write_gb_per_s)
        read = min(at.read, readers * column.system.client_read_gb_per_s)
        return at._replace(write=share, safe_write=share, read=read)

    def _jobs(self, runs: list[JobRun]) -> Iterator[JobResult]:
        for number, job in enumerate(self.instance.portfolio.jobs):
            mine = [run for run in runs if run.job == job.name]
            asked = job.tokens if isinstance(job, TrainingJob) else None
            by = None if asked is None else asked.by or self.instance.portfolio.last_of(job)
            until = [run.tokens for run in mine if by is None or run.period <= by]
            starved, note = self._starved(number, mine)
            work = [run.useful_pflops for run in mine if run.useful_pflops is not None]
            yield JobResult(
                job=job.name,
                site=mine[0].site if mine else None,
                mean_useful_pflops=math.fsum(work) / len(self.periods) if work else None,
                tokens=until[-1] if until else None,
                tokens_demand=None if asked is None else asked.count,
                tokens_by=by,
                starved=starved,
                note=note,
            )

    def _starved(self, number: int, mine: list[JobRun]) -> tuple[bool, str]:
        """True if a job gets only its minimum to run, and the remedy."""
        if not mine:
            return True, "not placed: optional, and others use what there is better"
        portfolio = self.instance.portfolio
        if not isinstance(portfolio.jobs[number], TrainingJob):
            return False, ""
        training = (c for c in self.instance.columns if isinstance(c, TrainingColumn))
        columns = {c.way.id: c for c in training if c.job == number}
        for run in mine:
            work, way = columns[run.way].work, columns[run.way].way
            if run.systems > math.ceil(max(work.gpus_range[0], 1.0) / way.usable_gpus):
                return False, ""
        if len(portfolio.jobs) == 1 or portfolio.objective.minimize:
            return False, ""
        fix = "give it tokens, min_useful_pflops, a higher weight or a lower priority number"
        return True, f"starved: on the fewest GPUs it can run on in every period; {fix}"

    def _value(self, runs: list[JobRun], capex: float, tco: float) -> float:
        """The objective of the plan: of several classes that of the first."""
        name, periods = self.instance.portfolio.objective.name, len(self.periods)
        if name in ("cost", "tco"):
            return capex if name == "cost" else tco
        if name == "power":
            each = [
                self._sum(at, p, "facility_power_kw") for at in self._sites for p in self.periods
            ]
            return math.fsum(each) / periods
        first = self.program.classes()[0]
        jobs = {j.name: j for _, j in self.program.training() if j.priority == first}
        mine = [(jobs[r.job].weight, r.useful_pflops or 0.0) for r in runs if r.job in jobs]
        if name == "fairness":
            return min((work / weight for weight, work in mine), default=0.0)
        return math.fsum(weight * work for weight, work in mine) / periods

    def _use(self, limit: Limit, runs: list[JobRun], capex: float, tco: float) -> Use:
        period, (kind, _, job) = limit.period, limit.name.partition("_of_")
        figure = next((each.figure for each in SITE_LIMITS if each.name == limit.name), None)
        mine = [run for run in runs if run.job == job]
        if figure is not None and period is not None:
            names = [place.name for place in self.instance.places]
            used = self._sum(names.index(limit.site or ""), period, figure)
        elif limit.name == "capex":
            used = (capex if period is None else self.money[period].capex_usd) / 1e6
        elif limit.name == "tco":
            used = tco / 1e6
        elif kind == "work":
            used = math.fsum(r.useful_pflops or 0.0 for r in mine if r.period - 1 == period)
        else:
            until = [run.tokens or 0.0 for run in mine if run.period - 1 <= (period or 0)]
            used = max(until, default=0.0) / 1e12
        return limit.use(used)

    def _notes(self) -> Iterator[str]:
        left_out = self.instance.left_out
        if len(self.answer.worth) > 1:
            yield "Priorities: value and bound are those of the first class; later ones follow it."
        yield "Not counted: labour of rewiring and of moves; idle shares of write bandwidth, lent."
        if self.answer.status == "limit":
            yield "The gap is above the target: stopped by the time limit or by rounds."
        if left_out:
            yield f"{len(left_out)} catalog items are not considered ({left_out[0]}; ...)"


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
