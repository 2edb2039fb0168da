"""Totals of a portfolio plan from its orders, units in place and runs: money, limits, jobs, value.

Figures of units, racks and everything that comes with GPU systems and storage are those of
`planner.verifier`, which shares no code with the optimiser: a plan states these totals, and `check`
makes them again from the plan.
"""

from __future__ import annotations

import math
import operator
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import product
from types import SimpleNamespace
from typing import Any, cast

from planner.limits import MILLION, named
from planner.optimizer.bill import bill
from planner.plan.hall import fabric_reports, rack_groups
from planner.portfolio.instance import SECONDS_PER_YEAR, Instance, Place
from planner.portfolio.schema import (
    AnyJob,
    JobResult,
    JobRun,
    MarketRule,
    MoneyOfPeriod,
    Order,
    PortfolioPlan,
    Rewiring,
    Standing,
    TrainingJob,
    Use,
)
from planner.report.formats import spans
from planner.schema.catalog import Item
from planner.schema.plan import Plan
from planner.sizing.throughput import FLOP_PER_PARAMETER_TOKEN
from planner.verifier.basis import Basis, Findings, Sale
from planner.verifier.bill import HOURS_PER_YEAR, Bill, build_bill, check_racks, stored_parts
from planner.verifier.physics import least_replicas, usable_gpus, whole_replica

MET = 1e-6
"""Share by which the solver may miss a limit."""
TIGHT = 0.005
"""Share of a limit that is left where it binds, of one that no job takes more of."""
TRILLION = 1e12


class Totals:
    """Totals of a plan.

    Attributes:
        halls: everything in place, by site and period.
        found: dependent items or racks that cannot be built.
    """

    def __init__(self, instance: Instance, plan: PortfolioPlan) -> None:
        self.instance, self.plan, self.portfolio = instance, plan, instance.portfolio
        self.periods, self.years = range(1, len(instance.periods) + 1), instance.years
        self.site = {place.name: place for place in instance.places}
        self.basis = {place.name: Basis.from_inputs(place.inputs) for place in instance.places}
        self.jobs = {job.name: job for job in self.portfolio.jobs}
        self.standing = {(s.site, s.item, s.period): s for s in plan.standing}
        self.runs: dict[str, list[JobRun]] = {name: [] for name in self.jobs}
        for run in sorted(plan.runs, key=lambda run: run.period):
            self.runs[run.job].append(run)
        self.found, self.halls = Findings(), dict[tuple[str, int], Bill]()
        for (name, place), period in product(self.site.items(), self.periods):
            units = {sku: self.standing.get((name, sku, period)) for sku in place.offers}
            cluster = {sku: s.needed for sku, s in units.items() if s and s.needed}
            self.halls[name, period] = _build_hall(self.found, place, self.basis[name], cluster)
        self.units = {key: self._count_units(*key) for key in self.halls}
        self.rewired = [each for name in self.site for each in self._rewired(name)]
        self.sums = {key: self._sums(*key) for key in self.halls}
        self.money, self.residual = [*map(self._money, self.periods)], self._residual()
        self.capex = math.fsum(money.capex_usd for money in self.money)
        costs = (m.capex_usd + m.energy_usd + m.support_usd - m.resale_usd for m in self.money)
        rates = (m.discount for m in self.money)
        self.tco = math.fsum(map(operator.mul, costs, rates)) - self.residual
        self.uses = [self._use(limit) for limit in instance.limits()]

    def fields(self) -> dict[str, Any]:
        """All totals as fields of the plan."""
        tokens = (self._tokens(self.jobs[run.job], run.period) for run in self.plan.runs)
        runs = zip(self.plan.runs, tokens, strict=True)
        return {
            "value": self._value(),
            "capex_usd": self.capex,
            "tco_usd": self.tco,
            "residual_usd": self.residual,
            "standing": tuple(self._standing()),
            "money": tuple(self.money),
            "rewired": tuple(self.rewired),
            "uses": tuple(self.uses),
            "jobs": tuple(self._result(name) for name in self.jobs),
            "runs": tuple(run.model_copy(update={"tokens": count}) for run, count in runs),
        }

    # Units

    def _count_units(self, site: str, period: int) -> tuple[Counter[str], Counter[str]]:
        """Units held at a site in a period, owned or ordered, and those retired so far."""
        held, retired = Counter(self.site[site].owned), Counter[str]()
        for order in self.plan.orders:
            if order.site == site and order.arrives <= period:
                held[order.item] += order.quantity
        for gone in self.plan.retired:
            if gone.site == site and gone.period <= period:
                retired[gone.item] += gone.quantity
                held[gone.item] -= gone.quantity
        return held, retired

    def _standing(self) -> Iterator[Standing]:
        """Yield everything in service, held or retired, by period and site."""
        for period, (name, basis) in product(self.periods, self.basis.items()):
            (held, retired), hall = self.units[name, period], self.halls[name, period]
            needed = {**hall.companions, **stored_parts(basis, hall.cluster), **hall.cluster}
            for sku in sorted({*needed, *held, *retired}):
                counts = needed.get(sku, 0), held[sku], retired[sku]
                if any(counts):
                    fields = dict(zip(("needed", "held", "retired"), counts, strict=True))
                    of = {"item": sku, "category": basis.items[sku].category}
                    yield Standing(period=period, site=name, **of, **fields)

    # Money

    def _sale(self, site: str, sku: str) -> tuple[MarketRule, Sale]:
        """Market rule of an item and the terms of buying it at a site."""
        item = self.basis[site].items[sku]
        return self.portfolio.rule(sku, item.category), self.basis[site].sale(item)

    def price(self, site: str, sku: str, period: int) -> float:
        """Net price of a unit that is ordered in a period, USD before it is rounded."""
        rule, sale = self._sale(site, sku)
        change = float((1.0 + rule.price_trend) ** ((period - 1) * self.years))
        return (sale.net_usd or 0.0) * change

    def support(self, order: Order) -> float:
        """Support of an order while it is paid, USD per year."""
        price = self.price(order.site, order.item, order.period)
        return self._sale(order.site, order.item)[1].support_usd_per_year(price) * order.quantity

    def _left(self, order: Order, period: int) -> float:
        """Share of an order that is not retired until a period."""
        key = order.site, order.item, order.arrives
        gone = (r for r in self.plan.retired if (r.site, r.item, r.arrived) == key)
        return 1.0 - sum(r.quantity for r in gone if r.period <= period) / order.quantity

    def _rewired(self, name: str) -> Iterator[Rewiring]:
        """Yield what is laid anew at a site: layers of fabrics of another kind than before."""
        place, before = self.site[name], self.site[name].wired_before
        for period in self.periods:
            cluster = self.halls[name, period].cluster
            wired = place.wired({sku: cluster.get(sku, 0) for sku in place.offers})
            for fabric in place.case.companions.fabrics:
                ends = (each.get(fabric.prefix, ()) for each in (before, wired))
                layers = zip(*ends, strict=False)  # none where there is none
                links = sum(count for (kind, count), (other, _) in layers if kind != other)
                if links:
                    usd = self.portfolio.rule(fabric.switch, "switch").rewiring_usd * links
                    found = {"network": fabric.network, "switch": fabric.switch, "usd": usd}
                    yield Rewiring(period=period, site=name, links=links, **found)
            before = wired

    def _money(self, period: int) -> MoneyOfPeriod:
        plan, rate = self.plan, self.portfolio.term.discount_rate
        spent = [order.extended_usd for order in plan.orders if order.period == period]
        spent += [each.usd for each in self.rewired if each.period == period]
        return MoneyOfPeriod(
            period=period,
            start=self.instance.start(period - 1),
            discount=(1.0 + rate) ** -((period - 1) * self.years),
            capex_usd=math.fsum(spent),
            energy_usd=math.fsum(self._energy(name, period) for name in self.site) * self.years,
            support_usd=math.fsum(self._supported(order, period) for order in plan.orders),
            resale_usd=math.fsum(
                each.quantity
                * self._sale(each.site, each.item)[0].resale
                * self.price(each.site, each.item, period)
                for each in plan.retired
                if each.period == period
            ),
        )

    def _energy(self, name: str, period: int) -> float:
        """Energy of a site in a period, USD per year."""
        term, basis, own = self.portfolio.term, self.basis[name], self.portfolio.sites[name]
        price, usd = own.electricity_usd_per_kwh, 0.0
        price = term.electricity_usd_per_kwh if price is None else price
        drawn_kw = basis.typical_kw if term.energy_basis == "typical" else basis.rated_kw
        for item, count in self._items(name, period):
            usd += price * (drawn_kw(item) or 0.0) * basis.pue(item) * count
        return usd * HOURS_PER_YEAR

    def _supported(self, order: Order, period: int) -> float:
        """Support and subscription of an order in a period, USD."""
        _, sale = self._sale(order.site, order.item)
        begun = (period - order.arrives) * self.years
        if begun < 0.0 or sale.price is None:
            return 0.0
        rent = (sale.price.per_year_usd or 0.0) * (1.0 - sale.discount) * order.quantity
        paid = max(0.0, begun + self.years - max(begun, sale.start))
        return self._left(order, period) * (rent * self.years + self.support(order) * paid)

    def _residual(self) -> float:
        """Present value of bought units at the end, USD."""
        usd, end = 0.0, self.periods[-1]
        for order in self.plan.orders:
            loss = self.portfolio.rule(order.item, order.category).residual_loss
            if loss is not None:
                kept = float((1.0 - loss) ** ((end + 1 - order.arrives) * self.years))
                usd += order.extended_usd * self._left(order, end) * kept
        rate = self.portfolio.term.discount_rate
        return float(usd * (1.0 + rate) ** -(end * self.years))

    # Limits

    def _items(self, name: str, period: int) -> list[tuple[Item, int]]:
        items = self.basis[name].items
        return [(items[sku], n) for sku, n in self.halls[name, period].in_place.items()]

    def _sums(self, name: str, period: int) -> Mapping[str, float]:
        """Sums over everything in place at a site that it may limit."""
        sums = defaultdict[str, float](float, racks=float(self.halls[name, period].room.racks))
        for item, count in self._items(name, period):
            for figure, each in _unit_figures(self.basis[name], item).items():
                sums[figure] += each * count
        return sums

    def _used(self, limit: Use) -> float:
        """What the plan uses of a limit."""
        if limit.site is not None and limit.period is not None:
            return self.sums[limit.site, limit.period][named(limit.name).field]
        if limit.name == "tco":
            return self.tco / MILLION
        if limit.name == "capex":
            usd = self.capex if limit.period is None else self.money[limit.period - 1].capex_usd
            return usd / MILLION
        kind, _, name = limit.name.partition("_of_")
        if kind == "tokens":
            return (self._tokens(self.jobs[name], limit.period or 0) or 0.0) / TRILLION
        runs = (run for run in self.runs[name] if run.period == limit.period)
        return sum(run.useful_pflops or 0.0 for run in runs)

    def _use(self, limit: Use) -> Use:
        use = limit.model_copy(update={"used": self._used(limit)})
        steps = [step for run in self.plan.runs if (step := self._step(use, run))]
        step = min(steps, default=1.0 if use.unit == "racks" else TIGHT * use.limit)
        full, short = use.used + step > use.limit * (1.0 + MET), use.used - step < use.limit
        return use.model_copy(update={"binding": short if use.is_floor else full})

    def _step(self, use: Use, run: JobRun) -> float:
        """What one more replica or system of a run takes of a limit; 0 where it takes nothing."""
        job, basis, item = self.jobs[run.job], self.basis[run.site], self._item(run)
        if not isinstance(job, TrainingJob):
            return 0.0
        usable = max(usable_gpus(job, item), 1)
        gpus = max(whole_replica(job), 1 if job.whole_replicas else usable)
        systems = math.ceil(gpus / usable)
        if use.site == run.site and use.period == run.period:
            return systems * _unit_figures(basis, item).get(named(use.name).field, 0.0)
        if use.name == "capex":
            when = self.periods if use.period is None else (use.period,)
            prices = [self.price(run.site, run.item, period) for period in when]
            return systems * min(prices) / MILLION
        mine = use.name == f"work_of_{run.job}" and use.period == run.period
        return use.used * gpus / run.gpus if mine else 0.0

    def _item(self, run: JobRun) -> Item:
        return self.basis[run.site].items[run.item]

    # Jobs

    def _tokens(self, job: AnyJob, by: int) -> float | None:
        """Tokens that a job trains until the end of a period; None without parameters."""
        active = None
        if isinstance(job, TrainingJob):
            active = job.training.active_parameters or job.parameters
        if not active:
            return None
        seconds = self.years * SECONDS_PER_YEAR
        work = (run.useful_pflops or 0.0 for run in self.runs[job.name] if run.period <= by)
        return math.fsum(work) * 1e15 * seconds / (FLOP_PER_PARAMETER_TOKEN * active)

    def _result(self, name: str) -> JobResult:
        job, runs = self.jobs[name], self.runs[name]
        starved, note = self._starved(name)
        found = {"job": name, "site": runs[0].site if runs else None}
        if not isinstance(job, TrainingJob) or not runs:
            return JobResult(starved=starved, note=note, **found)
        goal, last = job.tokens, self.portfolio.last_of(job)
        by = None if goal is None else goal.by or last
        done = {run.period: self._tokens(job, run.period) or 0.0 for run in runs}
        reached = (p for p, n in done.items() if goal and n >= goal.count * (1.0 - MET))
        return JobResult(
            mean_useful_pflops=math.fsum(r.useful_pflops or 0.0 for r in runs) / len(self.periods),
            tokens=self._tokens(job, last if by is None else by),
            tokens_demand=None if goal is None else goal.count,
            tokens_by=by,
            tokens_in=next(reached, None),
            starved=starved,
            note=note,
            **found,
        )

    def _starved(self, name: str) -> tuple[bool, str]:
        """True if a job gets only its minimum to run; the reason and the remedy."""
        job, runs = self.jobs[name], self.runs[name]
        if not runs:
            return True, "not placed: optional, and others use what there is better"
        alone = len(self.jobs) == 1 or self.portfolio.objective.minimize is not None
        if alone or not isinstance(job, TrainingJob):
            return False, ""
        more, replica = "a higher weight or a lower priority number", whole_replica(job)
        fewest = (
            max((least_replicas(self._item(run), job) or 1) * replica, job.gpus.min or 1)
            for run in runs
        )
        usable = (max(usable_gpus(job, self._item(run)), 1) for run in runs)
        least = map(math.ceil, map(operator.truediv, fewest, usable))
        if all(run.systems <= systems for run, systems in zip(runs, least, strict=True)):
            fix = f"give it tokens, min_useful_pflops, {more}"
            return True, f"starved: on the fewest GPUs it can run on in every period; {fix}"
        floors = (use for use in self.uses if use.binding and use.name == f"work_of_{name}")
        held = spans((use.period or 0 for use in floors), "period")
        floor = f"held at its floor of {job.min_useful_pflops or 0.0:g} PFLOP/s"
        return False, f"{floor} in {held}; for more give it {more}" if held else ""

    def _value(self) -> float:
        """The objective: of several classes of priority that of the first."""
        name, count = self.portfolio.objective.name, len(self.periods)
        if name in ("cost", "tco"):
            return self.capex if name == "cost" else self.tco
        if name == "power":
            return math.fsum(each["facility_power_kw"] for each in self.sums.values()) / count
        jobs = [job for job in self.jobs.values() if isinstance(job, TrainingJob)]
        first = min((job.priority for job in jobs), default=1)
        jobs = [job for job in jobs if job.priority == first]
        work = [(j.weight, r.useful_pflops or 0.0) for j in jobs for r in self.runs[j.name]]
        if name == "fairness":
            placed = all(self.runs[job.name] for job in jobs)
            return min((p / w for w, p in work), default=0.0) if placed else 0.0
        return math.fsum(w * p for w, p in work) / count


def _build_hall(found: Findings, place: Place, basis: Basis, cluster: Mapping[str, int]) -> Bill:
    """Everything that comes with GPU systems and storage of a site.

    Trees of fabrics and places in racks are a choice of the plan, and checked.
    """
    units = {sku: cluster.get(sku, 0) for sku in place.offers}
    fabrics = tuple(fabric_reports(place.case, bill(place.case, units, ())))
    racks = rack_groups(place.inputs, place.case, cast(Any, SimpleNamespace(units=units, ways=())))
    plan = cast(Plan, SimpleNamespace(fabrics=fabrics, racks=racks, lines=()))
    hall = build_bill(found, basis, cluster, plan)
    check_racks(found, basis, plan, hall)
    return hall


def _unit_figures(basis: Basis, item: Item) -> dict[str, float]:
    """What a unit of an item takes of the limits of a site."""
    draw_kw, liquid_kw = basis.rated_kw(item) or 0.0, basis.liquid_kw(item)
    return {
        "it_power_kw": draw_kw,
        "facility_power_kw": draw_kw * basis.pue(item),
        "heat_air_kw": draw_kw - liquid_kw,
        "heat_liquid_kw": liquid_kw,
        "weight_kg": basis.of_unit(item, "weight_kg") or 0.0,
    }
