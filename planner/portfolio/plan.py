"""From the solution of the program to a plan: whole counts, orders by date, runs, money, limits.

Counts of what comes with systems are counted anew by the rules of the bill, and money is summed
from the orders, so that a plan says what its orders say and not what a solver was content with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from planner.case.figures import weights
from planner.optimizer.bill import bill
from planner.optimizer.counts import value_of
from planner.optimizer.useful_work import Point
from planner.portfolio.instance import Instance, Place
from planner.portfolio.model import Program, Run, tokens_per_pflops
from planner.portfolio.purchases import SITE_LIMITS
from planner.portfolio.schema import (
    InferenceJob,
    JobResult,
    JobRun,
    MoneyOfPeriod,
    Order,
    PortfolioPlan,
    Standing,
    Use,
)
from planner.portfolio.search import Answer
from planner.version import __version__

Counts = dict[tuple[int, int], dict[str, int]]
"""Units needed of each item, by site and period."""


def assemble(instance: Instance, program: Program, answer: Answer, solver: str) -> PortfolioPlan:
    """The plan of an answer; one without values says why there is none."""
    objective = instance.portfolio.objective
    head = {
        "problem": instance.portfolio.name,
        "version": __version__,
        "objective": objective.name,
        "solver": f"{'HiGHS' if solver == 'highs' else 'CBC'}, {answer.rounds} programs, "
        f"{answer.columns:,} columns, {answer.rows:,} rows",
        "tolerance": objective.tolerance,
        "settings": instance.settings,
    }
    if not answer.values:
        message = (
            "no plan meets every limit"
            if answer.status == "infeasible"
            else ("the time limit was reached before any plan was found")
        )
        return PortfolioPlan(status=answer.status, message=message, **head)
    return _Assembly(instance, program, answer).plan(head)


class _Assembly:
    """One plan in the making."""

    def __init__(self, instance: Instance, program: Program, answer: Answer) -> None:
        self.instance, self.program, self.answer = instance, program, answer
        self.values = answer.values
        self.units = {
            key: round(value_of(units, self.values)) for key, units in program.units.items()
        }
        self.needed = {
            (at, period): self._needed(at, place, period)
            for at, place in enumerate(instance.places)
            for period in instance.periods
        }
        self.bought = self._bought()

    def plan(self, head: Mapping[str, object]) -> PortfolioPlan:
        """The plan."""
        answer, runs = self.answer, [*self._runs()]
        orders, money = [*self._orders()], [*self._money()]
        residual = self._residual()
        capex = math.fsum(order.extended_usd for order in orders)
        tco = (
            math.fsum(
                m.discount * (m.capex_usd + m.energy_usd + m.support_usd - m.resale_usd)
                for m in money
            )
            - residual
        )
        jobs = [*self._jobs(runs)]
        value = self._value(runs, capex, tco)
        best, bound = answer.worth[0], answer.bounds[0]
        scale = 1e6 if head["objective"] in ("cost", "tco") else 1.0
        several = len(answer.worth) > 1
        return PortfolioPlan(
            status=answer.status,
            value=value,
            best=best * scale,
            bound=bound * scale if math.isfinite(bound) else None,
            gap=abs(best - bound) / max(abs(best), 1e-9) if math.isfinite(bound) else None,
            capex_usd=capex,
            tco_usd=tco,
            residual_usd=residual,
            orders=tuple(orders),
            standing=tuple(self._standing()),
            runs=tuple(runs),
            jobs=tuple(jobs),
            uses=tuple(self._uses(runs, capex, tco)),
            money=tuple(money),
            models=self._models(),
            notes=tuple(self._notes(several=several)),
            **head,
        )

    def _models(self) -> dict[str, str]:
        """Vendor and model of every item in place, by id."""
        found = {}
        for at, place in enumerate(self.instance.places):
            for period in self.instance.periods:
                for sku in self.needed[at, period]:
                    item = place.inputs.item(sku)
                    found[sku] = f"{item.vendor} {item.model}"
        return dict(sorted(found.items()))

    # Counts

    def _needed(self, at: int, place: Place, period: int) -> dict[str, int]:
        """The units in service of each item, 0 left out."""
        units = {sku: self.units[at, sku, period] for sku in place.offers}
        counted = bill(place.case, units, ()).counts
        found = {sku: round(counted[sku]) for sku in place.items if sku not in units}
        return {sku: count for sku, count in {**units, **found}.items() if count}

    def _bought(self) -> dict[tuple[int, str], list[int]]:
        """The units bought by site and item, by period of arrival; no more than needed."""
        found = {}
        for at, place in enumerate(self.instance.places):
            for sku, item in place.items.items():
                orders = [
                    round(value_of(self.program.bought[at, sku, p], self.values))
                    for p in self.instance.periods
                ]
                if not any(orders) and not any(
                    sku in self.needed[at, p] for p in self.instance.periods
                ):
                    continue
                needs = [self._units_to_buy(at, place, sku, p) for p in self.instance.periods]
                found[at, sku] = _trimmed(orders, needs, item.pack, item.min_order)
        return found

    def _units_to_buy(self, at: int, place: Place, sku: str, period: int) -> int:
        """The units that must have been bought until a period."""
        item, count = place.items[sku], self.needed[at, period].get(sku, 0)
        owned = place.owned.get(sku, 0)
        if sku in place.offers:
            left = self.program.old.get((at, sku, period))
            stays = owned if left is None else round(value_of(left, self.values))
            count, owned = count - stays, 0
        spares = math.ceil(item.spare_share * count - 1e-9)
        return max(0, count + spares - owned)

    def _standing(self) -> Iterator[Standing]:
        for period in self.instance.periods:
            for at, place in enumerate(self.instance.places):
                for sku in place.items:
                    bought = sum(self.bought.get((at, sku), [])[: period + 1])
                    owned, retired = place.owned.get(sku, 0), 0
                    if (at, sku, period) in self.program.old:
                        left = round(value_of(self.program.old[at, sku, period], self.values))
                        owned, retired = left, owned - left
                    needed = self.needed[at, period].get(sku, 0)
                    if owned + bought or needed or retired:
                        yield Standing(
                            period=period + 1,
                            site=place.name,
                            item=sku,
                            needed=needed,
                            held=owned + bought,
                            retired=retired,
                        )

    # Money

    def _orders(self) -> Iterator[Order]:
        found = []
        for (at, sku), counts in self.bought.items():
            place = self.instance.places[at]
            item, lead = place.inputs.item(sku), self.instance.rule(place, sku).lead
            for arrives, quantity in enumerate(counts):
                if not quantity:
                    continue
                paid, before = arrives - lead, sum(counts[:arrives])
                needs = [self._units_to_buy(at, place, sku, p) for p in self.instance.periods]
                used = (p for p in range(arrives, len(needs)) if needs[p] > before)
                price = self.instance.price_usd(place, sku, paid)
                found.append(
                    Order(
                        period=paid + 1,
                        arrives=arrives + 1,
                        in_use_from=next(used, arrives) + 1,
                        date=self.instance.start(paid),
                        site=place.name,
                        item=sku,
                        model=f"{item.vendor} {item.model}",
                        category=item.category,
                        quantity=quantity,
                        unit_net_usd=price,
                        extended_usd=round(price * quantity, 2),
                        support_usd_per_year=place.items[sku].support_usd_per_year * quantity,
                    )
                )
        yield from sorted(found, key=lambda o: (o.period, o.site, -o.extended_usd, o.item))

    def _money(self) -> Iterator[MoneyOfPeriod]:
        instance = self.instance
        for period in instance.periods:
            capex = energy = support = resale = 0.0
            for at, place in enumerate(instance.places):
                energy += self._sum(at, place, period, "energy_usd_per_year") * instance.years
                for sku in place.items:
                    counts = self.bought.get((at, sku), [])
                    lead = instance.rule(place, sku).lead
                    if period + lead < len(counts):
                        quantity = counts[period + lead]
                        capex += round(instance.price_usd(place, sku, period) * quantity, 2)
                    for arrives, quantity in enumerate(counts):
                        if quantity:
                            each = instance.support_usd(place, sku, arrives)[period]
                            support += each * quantity
                    gone = self._retired(at, place, sku, period)
                    share = instance.rule(place, sku).resale
                    resale += gone * share * instance.price_usd(place, sku, period)
            yield MoneyOfPeriod(
                period=period + 1,
                start=instance.start(period),
                discount=instance.discount(period * instance.years),
                capex_usd=capex,
                energy_usd=energy,
                support_usd=support,
                resale_usd=resale,
            )

    def _retired(self, at: int, place: Place, sku: str, period: int) -> int:
        """The owned units that are retired at the start of a period."""
        left = self.program.old.get((at, sku, period))
        if left is None:
            return 0
        before = self.program.old.get((at, sku, period - 1), float(place.owned.get(sku, 0)))
        return round(value_of(before, self.values)) - round(value_of(left, self.values))

    def _residual(self) -> float:
        instance, total = self.instance, 0.0
        for (at, sku), counts in self.bought.items():
            place = instance.places[at]
            lead = instance.rule(place, sku).lead
            for arrives, quantity in enumerate(counts):
                if quantity:
                    share = instance.residual_share(place, sku, arrives)
                    total += quantity * share * instance.price_usd(place, sku, arrives - lead)
        return total * instance.discount(len(instance.periods) * instance.years)

    def _sum(self, at: int, place: Place, period: int, figure: str) -> float:
        units = {sku: self.units[at, sku, period] for sku in place.offers}
        counts = bill(place.case, units, ()).counts
        return math.fsum(each * n for each, n in weights(place.case, figure, counts, counts))

    # Runs

    def _runs(self) -> Iterator[JobRun]:
        tokens: dict[int, float] = {}
        order = sorted(self.program.runs, key=lambda run: (run.period, run.column.job))
        for run in order:
            if value_of(run.runs, self.values) < 0.5:
                continue
            yield self._run(run, tokens)
        for (column, period), runs in self.program.placed.items():
            if column.work is None and value_of(runs, self.values) > 0.5:
                yield JobRun(
                    job=self.instance.portfolio.jobs[column.job].name,
                    period=period + 1,
                    site=self.instance.places[column.site].name,
                    item=column.system.id,
                    way=column.system.id,
                    systems=column.systems,
                    gpus=column.systems * column.system.gpus,
                    spares=0,
                    **dict.fromkeys(_OF_TRAINING),
                )

    def _run(self, run: Run, tokens: dict[int, float]) -> JobRun:
        column, instance = run.column, self.instance
        assert column.work is not None and column.way is not None
        at = self._point(run)
        gpus = round(at.gpus)
        kept, pflops = column.work.goodput(at) or 0.0, column.work.value(at, "pflops") or 0.0
        trained = None
        try:
            each = tokens_per_pflops(instance, column.job)
            trained = tokens[column.job] = tokens.get(column.job, 0.0) + each * pflops
        except ValueError:
            pass
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
            tokens=trained,
        )

    def _point(self, run: Run) -> Point:
        """The operating point, its shares within the delivered bandwidth."""
        write, read = (
            value_of(each, self.values)
            for each in self.program.delivered(run.column.site, run.period)
        )
        here = [
            each
            for each in self.program.runs
            if (each.column.site, each.period) == (run.column.site, run.period)
            and value_of(each.runs, self.values) > 0.5
        ]
        _, at = run.point(self.values)
        at = self._fewest(run, at._replace(gpus=float(round(at.gpus))))
        shared = math.fsum(value_of(each.write, self.values) for each in here)
        client_write, client_read = self._clients(run, at.gpus)
        own = at.write * min(1.0, write / shared) if shared else at.write
        own = min(own, client_write)
        if self.program.portfolio.restores == "alone":
            ingest = math.fsum(
                each.column.case.job.ingest_per_gpu_gb_per_s * value_of(each.gpus, self.values)
                for each in here
                if each is not run and each.column.case is not None
            )
            read = min(read - ingest, client_read)
        else:
            read = min(at.read, client_read)
        return at._replace(write=own, safe_write=own, read=read)

    def _clients(self, run: Run, gpus: float) -> tuple[float, float]:
        """Client bandwidth of the systems in use at a site, write and read, GB/s."""
        column, case = run.column, run.column.case
        assert case is not None and column.way is not None
        families = [
            family
            for family in self.instance.places[column.site].case.families
            if value_of(self.program.family[column.site, family.id], self.values) > 0.5
        ]
        systems = math.ceil(gpus / column.way.usable_gpus)
        replica = math.ceil((column.way.replica_gpus or 0) / column.way.usable_gpus)
        write = min((f.write_factor for f in families), default=1.0)
        read = min((f.read_factor for f in families), default=1.0)
        write *= replica if case.job.one_replica_writes else systems
        read *= systems
        system = column.system
        return write * system.client_write_gb_per_s, read * system.client_read_gb_per_s

    def _fewest(self, run: Run, at: Point) -> Point:
        """The point with fewer GPUs where those do more work."""
        work, way = run.column.work, run.column.way
        assert work is not None and way is not None
        step = float(way.step_gpus)
        while at.gpus - step >= max(step, work.gpus_range[0]):
            fewer = at._replace(gpus=at.gpus - step)
            if (work.value(fewer, "pflops") or 0.0) <= (work.value(at, "pflops") or 0.0):
                break
            at = fewer
        return at

    def _jobs(self, runs: list[JobRun]) -> Iterator[JobResult]:
        periods = len(self.instance.periods)
        for number, job in enumerate(self.instance.portfolio.jobs):
            mine = [run for run in runs if run.job == job.name]
            site = mine[0].site if mine else None
            if isinstance(job, InferenceJob):
                note = "" if mine else "not placed: optional, and nothing is left for it"
                yield JobResult(
                    job=job.name,
                    kind="inference",
                    site=site,
                    priority=1,
                    weight=1.0,
                    mean_useful_pflops=None,
                    tokens=None,
                    tokens_demand=None,
                    tokens_by=None,
                    starved=not mine,
                    note=note,
                )
                continue
            by = (
                None
                if job.tokens is None
                else job.tokens.by or self.instance.portfolio.last_of(job)
            )
            until = [run.tokens for run in mine if by is None or run.period <= by]
            starved, note = self._starved(number, mine)
            yield JobResult(
                job=job.name,
                kind="training",
                site=site,
                priority=job.priority,
                weight=job.weight,
                mean_useful_pflops=math.fsum(run.useful_pflops or 0.0 for run in mine) / periods,
                tokens=until[-1] if until else None,
                tokens_demand=None if job.tokens is None else job.tokens.count,
                tokens_by=by,
                starved=starved,
                note=note,
            )

    def _starved(self, number: int, mine: list[JobRun]) -> tuple[bool, str]:
        """True if a job gets only its minimum to run, and the remedy."""
        if not mine:
            return True, "not placed: optional, and others use what there is better"
        columns = {c.way.id: c for c in self.instance.columns if c.job == number and c.way}
        for run in mine:
            column = columns[run.way]
            assert column.work is not None and column.way is not None
            fewest = math.ceil(max(column.work.gpus_range[0], 1.0) / column.way.usable_gpus)
            if run.systems > fewest:
                return False, ""
        if len(self.instance.portfolio.jobs) == 1 or self.instance.portfolio.objective.minimize:
            return False, ""
        fix = "give it tokens, min_useful_pflops, a higher weight or a lower priority number"
        return True, f"starved: on the fewest GPUs it can run on in every period; {fix}"

    def _value(self, runs: list[JobRun], capex: float, tco: float) -> float:
        """The objective of the plan: of several classes that of the first."""
        name = self.instance.portfolio.objective.name
        if name in ("cost", "tco"):
            return capex if name == "cost" else tco
        periods = self.instance.periods
        if name == "power":
            places = enumerate(self.instance.places)
            each = [
                self._sum(at, place, p, "facility_power_kw")
                for at, place in places
                for p in periods
            ]
            return math.fsum(each) / len(periods)
        first = self.program.classes()[0]
        jobs = {j.name: j for _, j in self.program.training() if j.priority == first}
        mine = [(jobs[r.job].weight, r.useful_pflops or 0.0) for r in runs if r.job in jobs]
        if name == "fairness":
            return min((work / weight for weight, work in mine), default=0.0)
        return math.fsum(weight * work for weight, work in mine) / len(periods)

    def _uses(self, runs: list[JobRun], capex: float, tco: float) -> Iterator[Use]:
        money = {each.period: each.capex_usd for each in self._money()}
        for limit in self.program.limits:
            at = next((n for n, p in enumerate(self.instance.places) if p.name == limit.site), None)
            figure = next((each.figure for each in SITE_LIMITS if each.name == limit.name), None)
            if at is not None and figure is not None and limit.period is not None:
                used = self._sum(at, self.instance.places[at], limit.period, figure)
            elif limit.name == "capex":
                used = (capex if limit.period is None else money[limit.period + 1]) / 1e6
            elif limit.name == "tco":
                used = tco / 1e6
            else:
                used = self._reached(limit.name, limit.period, runs)
            yield Use(
                name=limit.name,
                period=None if limit.period is None else limit.period + 1,
                site=limit.site,
                unit=limit.unit,
                used=used,
                limit=limit.most,
            )

    def _reached(self, name: str, period: int | None, runs: list[JobRun]) -> float:
        kind, _, job = name.partition("_of_")
        mine = [run for run in runs if run.job == job and period is not None]
        if kind == "work":
            return math.fsum(r.useful_pflops or 0.0 for r in mine if r.period - 1 == period)
        until = [run.tokens or 0.0 for run in mine if run.period - 1 <= (period or 0)]
        return max(until, default=0.0) / 1e12

    def _notes(self, *, several: bool) -> Iterator[str]:
        if several:
            yield "Priorities: value and bound are those of the first class; later ones follow it."
        if any(job.moves for job in self.instance.portfolio.jobs):
            yield "Time and labour of a job's move to another site or type are not counted."
        yield "Jobs stay at one site on one GPU type unless they have moves; checkpoints are async."
        yield "Write bandwidth is a guaranteed share per job; idle shares are lent, not counted on."
        if self.instance.portfolio.network.compute is not None:
            yield "Switches bought early serve later; labour of rewiring is not priced."
        if self.answer.status == "limit":
            yield "The gap is above the target: stopped by the time limit or by rounds."
        excluded = len(self.instance.left_out)
        if excluded:
            yield f"{excluded} catalog items are not considered ({self.instance.left_out[0]}; ...)"


_OF_TRAINING = (
    "delivered_write_gb_per_s",
    "delivered_read_gb_per_s",
    "endurance_tb_per_day",
    "interval_s",
    "goodput",
    "useful_gpus",
    "useful_pflops",
    "tokens",
)


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
