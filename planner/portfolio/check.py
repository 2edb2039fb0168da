"""A portfolio plan recomputed: balances, orders, money, power, shares, goodput, tokens.

Figures come from the catalogs by the verifier's own reading (`planner.verifier.basis`), goodput by
its own formula. Counts of switches, cables and racks follow from the systems in place by the rules
of the bill (`planner.case`), which the verifier of a single plan checks by a second set of rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise, product

from planner.optimizer.bill import bill
from planner.portfolio.inputs import SECONDS_PER_YEAR, Instance
from planner.portfolio.schema import JobRun, MarketRule, PortfolioPlan, TrainingJob
from planner.schema.catalog import Item
from planner.schema.job import FixedInterval, OptimalInterval
from planner.verifier.basis import Basis
from planner.verifier.job import BYTES_PER_PARAMETER, CLIENT_GB_PER_S_PER_GPU, failure_rate
from planner.verifier.physics import Times, goodput, measured_rate, peak_tflops, usable_gpus

NEAR = 2e-6
"""Shares and floors may be missed by this share: the solver's tolerance."""
CENTS = 0.02
HOURS = SECONDS_PER_YEAR / 3600.0


def faults(instance: Instance, plan: PortfolioPlan) -> tuple[str, ...]:
    """Differences between a plan and its recomputation; empty where it agrees."""
    if not plan.orders and not plan.runs and not plan.standing:
        return ()
    check = _Check(instance, plan)
    parts = (
        *(check.orders, check.balances, check.counts, check.supplies, check.money),
        *(check.places, check.systems, check.shares, check.work, check.results),
    )
    return tuple(fault for part in parts for fault in part())


def _over(name: str, used: float, limit: float | None) -> Iterator[str]:
    if limit is not None and used > limit * (1 + NEAR):
        yield f"{name}: {used:,.6g}, limit {limit:,.6g}"


def _sum_differs(name: str, listed: float | None, own: float) -> Iterator[str]:
    return _differs(f"{name}, USD", listed, own, CENTS + 1e-7 * abs(own))


def _differs(name: str, listed: float | None, own: float, near: float = CENTS) -> Iterator[str]:
    if listed is None or abs(own - listed) > near:
        yield f"{name}: {listed}, recomputed {own:.10g}"


class _Check:
    """One recomputation."""

    def __init__(self, instance: Instance, plan: PortfolioPlan) -> None:
        self.instance, self.plan = instance, plan
        self.portfolio, self.periods = instance.portfolio, range(1, len(instance.periods) + 1)
        self.site = {place.name: place for place in instance.places}
        self.basis = {place.name: Basis.from_inputs(place.inputs) for place in instance.places}
        self.jobs = {job.name: job for job in self.portfolio.jobs}
        self.standing = {(s.site, s.item, s.period): s for s in plan.standing}
        self.runs_of: dict[str, list[JobRun]] = {name: [] for name in self.jobs}
        for run in sorted(plan.runs, key=lambda run: run.period):
            self.runs_of.setdefault(run.job, []).append(run)

    def _needed(self, name: str, period: int) -> dict[str, int]:
        """Units in service at a site in a period, by the plan."""
        return {
            s.item: s.needed for s in self.plan.standing if (s.site, s.period) == (name, period)
        }

    def _rule(self, item: Item) -> MarketRule:
        return self.portfolio.rule(item.id, item.category)

    # Units and money

    def orders(self) -> Iterator[str]:
        """Prices, dates, packs, minimum orders and stock."""
        bought: dict[str, int] = {}
        for order in self.plan.orders:
            place, name = self.site.get(order.site), f"order of {order.item} in {order.period}"
            if place is None or order.item not in place.inputs.by_id or order.quantity < 1:
                yield f"{name}: no such site, item or quantity"
                continue
            item, basis = place.inputs.item(order.item), self.basis[order.site]
            rule, sale = self._rule(item), basis.sale(item)
            bought[item.id] = bought.get(item.id, 0) + order.quantity
            years = (order.period - 1) * self.portfolio.periods.months / 12.0
            price = (sale.net_usd or 0.0) * float((1.0 + rule.price_trend) ** years)
            extended = order.unit_net_usd * order.quantity
            yield from _differs(f"{name}: lead", order.arrives - order.period, rule.lead)
            yield from _over(f"{name}: first period", rule.available_from, order.period)
            yield from _differs(f"{name}: unit price", order.unit_net_usd, price)
            yield from _differs(f"{name}: price", order.extended_usd, extended)
            yield from _over(f"{name}: minimum order", sale.min_order, order.quantity)
            if order.quantity % sale.pack:
                yield f"{name}: {order.quantity} units, packs of {sale.pack}"
        for sku, asked in self.portfolio.items.items():
            yield from _over(f"{sku} bought, of stock", bought.get(sku, 0), asked.stock)

    def balances(self) -> Iterator[str]:
        """Held = owned - retired + arrived; in service and spares <= held."""
        arrived: dict[tuple[str, str, int], int] = {}
        for o in self.plan.orders:
            for period in range(o.arrives, len(self.periods) + 1):
                key = o.site, o.item, period
                arrived[key] = arrived.get(key, 0) + o.quantity
        for key, s in self.standing.items():
            name = f"{s.item} at {s.site} in period {s.period}"
            place, before = self.site[s.site], self.standing.get((s.site, s.item, s.period - 1))
            item, left = place.inputs.item(s.item), place.owned.get(s.item, 0) - s.retired
            held, bought = left + arrived.get(key, 0), s.needed - left
            spares = self.basis[s.site].spares(item, bought) if bought > 0 else 0
            yield from _differs(f"{name}: held", s.held, held)
            yield from _over(f"{name}: in service and spares", s.needed + spares, held)
            retired = before.retired if before else 0
            if s.retired < retired or (s.retired and not self._rule(item).retire):
                yield f"{name}: {s.retired} retired is not allowed"

    def counts(self) -> Iterator[str]:
        """Counts of dependent items, by the rules of the bill; the most of an item."""
        for (name, place), period in product(self.site.items(), self.periods):
            needed = self._needed(name, period)
            units = {sku: needed.get(sku, 0) for sku in place.offers}
            counted = bill(place.case, units, ()).counts
            where = f"at {name} in period {period}"
            for item in place.case.companions.items:
                yield from _differs(
                    f"{item.id} {where}", needed.get(item.id, 0), round(counted[item.id])
                )
            for sku, rule in self.portfolio.items.items():
                most = None if rule.max is None else max(rule.max, place.owned.get(sku, 0))
                yield from _over(f"{sku} {where}", units.get(sku, 0), most)

    def _draw_kw(self, name: str, period: int, *, meter: bool, typical: bool = False) -> float:
        """Power of everything in service, at the facility meter or at the IT load."""
        basis, total = self.basis[name], 0.0
        for sku, count in self._needed(name, period).items():
            item = self.site[name].inputs.item(sku)
            kw = basis.typical_kw(item) if typical else None
            kw = basis.rated_kw(item) if kw is None else kw
            total += count * (kw or 0.0) * (basis.pue(item) if meter else 1.0)
        return total

    def supplies(self) -> Iterator[str]:
        """Power of each site in each period against its limit; all limits of the plan."""
        for (name, place), period in product(self.site.items(), self.periods):
            for meter, field in ((True, "facility_power_kw"), (False, "it_power_kw")):
                kw = self._draw_kw(name, period, meter=meter)
                what = f"{name} in period {period}: {field}"
                yield from _over(what, kw, place.limit(field, period - 1))
        for use in self.plan.uses:
            ends = (use.limit, use.used) if "_of_" in use.name else (use.used, use.limit)
            yield from _over(f"{use.name}, {use.unit}", *ends)

    def money(self) -> Iterator[str]:
        """Capital by period and in total; energy from the draw; TCO discounted."""
        budget, total, tco = self.portfolio.budget.capex, 0.0, -self.plan.residual_usd
        years, rate = self.instance.years, self.portfolio.term.discount_rate
        for period, listed in zip(self.periods, self.plan.money, strict=True):
            paid = math.fsum(o.extended_usd for o in self.plan.orders if o.period == period)
            energy = math.fsum(self._energy(name, period) for name in self.site) * years
            name, each = f"of period {period}", budget.per_period_usd
            yield from _sum_differs(f"capex {name}", listed.capex_usd, paid)
            yield from _sum_differs(f"energy {name}", listed.energy_usd, energy)
            most = each[min(period, len(each)) - 1] if each else None
            yield from _over(f"capex {name}, budget", paid, most)
            total += paid
            running = energy + listed.support_usd - listed.resale_usd
            tco += (paid + running) * (1 + rate) ** -((period - 1) * years)
        yield from _over("capex, budget", total, budget.total_usd)
        yield from _sum_differs("capex", self.plan.capex_usd, total)
        yield from _sum_differs("TCO", self.plan.tco_usd, tco)

    def _energy(self, name: str, period: int) -> float:
        term, own = self.portfolio.term, self.portfolio.sites[name].electricity_usd_per_kwh
        each = term.electricity_usd_per_kwh if own is None else own
        typical = term.energy_basis == "typical"
        return self._draw_kw(name, period, meter=True, typical=typical) * HOURS * each

    # Jobs

    def places(self) -> Iterator[str]:
        """Each job runs once in each period of its window, at an allowed site, moves as allowed."""
        for name, runs in self.runs_of.items():
            job = self.jobs.get(name)
            if job is None:
                yield f"job {name}: not in the problem"
                continue
            window = [*range(job.window.first, self.portfolio.last_of(job) + 1)]
            periods = [run.period for run in runs]
            if periods != window and not (job.optional and not runs):
                yield f"job {name}: runs in {periods}, window {window}"
            where = [(run.site, run.item, run.way) for run in runs]
            moves = sum(one != other for one, other in pairwise(where))
            yield from _over(f"job {name}: moves", moves, job.moves)
            if any(run.site not in (job.sites or self.site) for run in runs):
                yield f"job {name}: runs at a site that is not allowed"

    def systems(self) -> Iterator[str]:
        """Systems in use and spares <= in service; GPUs in use fit their systems."""
        used: dict[tuple[str, str, int], float] = {}
        for run in self.plan.runs:
            item, job = self.site[run.site].inputs.item(run.item), self.jobs[run.job]
            systems: float = run.systems
            if isinstance(job, TrainingJob):
                replica = _replica(job)
                if job.repair is not None and job.repair.unit == "system":
                    systems += run.spares
                held = run.systems * usable_gpus(job, item)
                yield from _over(f"job {run.job}: GPUs of its systems", run.gpus, held)
                if job.whole_replicas and replica and run.gpus % replica:
                    yield f"job {run.job}: {run.gpus} GPUs are no whole replicas of {replica}"
            else:
                rate = job.rates.get(run.item)
                served = rate.per_gpu * run.gpus if rate else 0.0
                yield from _over(f"job {run.job}: GPUs", job.gpus or 0, run.gpus)
                yield from _over(f"job {run.job}: tokens/s", job.tokens_per_s or 0.0, served)
            key = run.site, run.item, run.period
            used[key] = used.get(key, 0.0) + systems
        for key, systems in used.items():
            needed = self.standing[key].needed if key in self.standing else 0
            yield from _over(f"{key[1]} at {key[0]} in period {key[2]}", systems, needed)

    def shares(self) -> Iterator[str]:
        """Shares add up to the delivered bandwidth; reads, capacity, endurance."""
        fraction = self.portfolio.storage.delivered_fraction
        for (name, basis), period in product(self.basis.items(), self.periods):
            here = [
                run
                for run in self.plan.runs
                if (run.site, run.period) == (name, period) and run.interval_s is not None
            ]
            where = f"{name} in period {period}"
            stored = basis.of_kind(self._needed(name, period), "storage")
            plates = [basis.nameplate(sku, n) for sku, n in stored.items()]
            read = fraction.read * math.fsum(each[0] for each in plates)
            write = fraction.write * math.fsum(each[1] for each in plates)
            shared = math.fsum(run.delivered_write_gb_per_s or 0.0 for run in here)
            yield from _over(f"{where}: write GB/s", shared, write)
            for run in here:
                least = (self._training(run).storage_share or 0.0) * write
                own = run.delivered_write_gb_per_s or 0.0
                yield from _over(f"job {run.job}: least write GB/s", least, own)
            yield from self._reads(where, here, read)
            yield from self._capacity(where, basis, stored, here)

    def _reads(self, where: str, here: list[JobRun], read: float) -> Iterator[str]:
        ingest = {run.job: self._training(run).ingest_per_gpu_gb_per_s * run.gpus for run in here}
        total, together = math.fsum(ingest.values()), self.portfolio.restores == "together"
        for run in here:
            left = read - total + (0.0 if together else ingest[run.job])
            yield from _over(f"job {run.job}: read GB/s", run.delivered_read_gb_per_s or 0.0, left)
        if together:
            total += math.fsum(run.delivered_read_gb_per_s or 0.0 for run in here)
            yield from _over(f"{where}: read GB/s of all restores", total, read)

    def _capacity(
        self, where: str, basis: Basis, stored: Mapping[str, int], here: list[JobRun]
    ) -> Iterator[str]:
        usable = 0.0
        for sku, count in stored.items():
            figure = basis.items[sku].provides.usable
            usable += count * (figure.value if figure else 0.0)
        fill = self.portfolio.storage.fill_limit
        need = math.fsum(_capacity_tb(self._training(run)) / fill for run in here)
        yield from _over(f"{where}: TB to keep", need, usable)
        ends = {sku: basis.unit_endurance(sku) for sku in stored}
        if stored and None not in ends.values():
            endured = math.fsum(stored[sku] * (each or 0.0) for sku, each in ends.items())
            shares = math.fsum(run.endurance_tb_per_day or 0.0 for run in here)
            yield from _over(f"{where}: TB/day written", shares, endured)

    def _training(self, run: JobRun) -> TrainingJob:
        job = self.jobs[run.job]
        assert isinstance(job, TrainingJob)
        return job

    def work(self) -> Iterator[str]:
        """Interval, overlap, restore time, goodput and useful work of each run."""
        for run in self.plan.runs:
            if run.interval_s and run.delivered_write_gb_per_s and run.delivered_read_gb_per_s:
                job = self._training(run)
                drain_s = _size_gb(job) / run.delivered_write_gb_per_s
                restore_s = _copies(job, run) * _size_gb(job) / run.delivered_read_gb_per_s
                yield from self._limits_of(run, job, run.interval_s, drain_s, restore_s)
                yield from self._clients(run)
                # swaps, waiting and derived stalls: of the single plan's verifier alone
                if job.repair is None and job.checkpoint.stall_s != "derived":
                    yield from self._goodput_of(run, job, run.interval_s, drain_s, restore_s)

    def _limits_of(
        self, run: JobRun, job: TrainingJob, interval: float, drain_s: float, restore_s: float
    ) -> Iterator[str]:
        rule, stop_s = job.checkpoint.interval, job.checkpoint.known_stall_s
        written = _size_gb(job) / 1000.0 * 86_400.0 / interval
        low, high = 0.0, math.inf
        if isinstance(rule, FixedInterval):
            yield from _differs(f"job {run.job}: interval", interval, rule.every_s, 1e-6)
        elif isinstance(rule, OptimalInterval):
            low, high = rule.min_s, rule.max_s
        limits: tuple[tuple[str, float, float | None], ...] = (
            ("least PFLOP/s", job.min_useful_pflops or 0.0, run.useful_pflops or 0.0),
            ("fewest GPUs", job.gpus.min or 0, run.gpus),
            ("GPUs", run.gpus, job.gpus.max),
            ("drain, s of overlap", drain_s, job.checkpoint.max_overlap * interval),
            ("stall and drain, s of the interval", stop_s + drain_s, interval),
            ("least interval, s", low, interval),
            ("interval, s", interval, high),
            ("TB/day written", written, run.endurance_tb_per_day),
            ("restore, s", restore_s, job.restore.max_time_s),
        )
        for name, used, limit in limits:
            yield from _over(f"job {run.job} in period {run.period}: {name}", used, limit)

    def _clients(self, run: JobRun) -> Iterator[str]:
        """Shares against the client bandwidth of the systems in use."""
        place = self.site[run.site]
        item = place.inputs.item(run.item)
        stored = self.basis[run.site].of_kind(self._needed(run.site, run.period), "storage")
        families = {place.inputs.item(sku).family for sku in stored}
        factors = [f.client_factor for f in place.inputs.families if f.id in families]
        gpus = item.provides.gpus.value if item.provides.gpus else 0
        for side in ("write", "read"):
            share = getattr(run, f"delivered_{side}_gb_per_s")
            given = getattr(self.portfolio.storage.client_limit, side)
            figure = getattr(item.client, side)
            own = gpus * CLIENT_GB_PER_S_PER_GPU if figure is None else figure.value
            factor = min((getattr(f, side).value for f in factors if f), default=1.0)
            most = run.systems * factor * (own if given is None else given)
            yield from _over(f"job {run.job}: {side} GB/s of its clients", share, most)

    def _goodput_of(
        self, run: JobRun, job: TrainingJob, interval: float, drain_s: float, restore_s: float
    ) -> Iterator[str]:
        item = self.site[run.site].inputs.item(run.item)
        times = Times(
            interval_s=interval,
            stopped_s=job.checkpoint.known_stall_s,
            drain_s=drain_s,
            restart_s=job.restart_s,
            restore_s=restore_s,
            mtti_s=86_400.0 / (failure_rate(job, [item]) * run.gpus),
        )
        kept, name = goodput(times) * (1.0 - job.lost_share), f"job {run.job} in {run.period}"
        yield from _differs(f"{name}: goodput", run.goodput, kept, 1e-7)
        if job.training.scale is None and len(job.training.precisions) == 1:
            precision = job.training.precisions[0]
            measured = measured_rate(item, job, precision) if job.training.model else None
            peak = measured[0] if measured else peak_tflops(item, precision) or 0.0
            tflops = peak * (1.0 if measured else job.training.mfu or 0.0)
            first = job.options[0].factor if job.options else 1.0
            factor = next((o.factor for o in job.options if o.name in run.way), first)
            own = run.gpus * kept * tflops * factor / 1000.0
            if tflops:
                yield from _differs(f"{name}: PFLOP/s", run.useful_pflops, own, 1e-6 * own)

    def results(self) -> Iterator[str]:
        """Tokens from the work, against the demand; gap from value and bound."""
        seconds = self.instance.years * SECONDS_PER_YEAR
        for result in self.plan.jobs:
            job = self.jobs[result.job]
            if not isinstance(job, TrainingJob) or job.tokens is None:
                continue
            active = job.training.active_parameters or job.parameters or math.inf
            by = job.tokens.by or self.portfolio.last_of(job)
            runs = [run for run in self.runs_of[job.name] if run.period <= by]
            pflops = math.fsum(run.useful_pflops or 0.0 for run in runs)
            done = pflops * 1e15 * seconds / (6.0 * active)
            yield from _differs(
                f"job {job.name}: tokens", result.tokens or 0.0, done, 1e-6 * max(done, 1.0)
            )
            yield from _over(f"job {job.name}: tokens by {by}", job.tokens.count, done)
        best, bound = self.plan.best, self.plan.bound
        if best is not None and bound is not None:
            sign = -1.0 if self.portfolio.objective.minimize else 1.0
            if sign * (best - bound) > NEAR * max(abs(best), 1e-9):
                yield f"the bound {bound:,.6g} is beaten by the plan, {best:,.6g}"


def _replica(job: TrainingJob) -> int | None:
    return job.parallelism.replica_gpus if len(job.options) == 1 and job.parallelism else None


def _bytes(job: TrainingJob) -> float:
    each = job.bytes_per_parameter
    return float(BYTES_PER_PARAMETER[each] if isinstance(each, str) else each)


def _size_gb(job: TrainingJob) -> float:
    given = job.checkpoint.size_gb
    return (job.parameters or 0.0) * _bytes(job) / 1e9 if given is None else given


def _capacity_tb(job: TrainingJob) -> float:
    return (job.checkpoint.keep_last + 1) * _size_gb(job) / 1000.0 + job.dataset_tb


def _copies(job: TrainingJob, run: JobRun) -> float:
    """Reads of the checkpoint in a restore."""
    replica = _replica(job)
    if job.restore.fan_out == "broadcast" or replica is None:
        return 1.0
    copies = run.gpus / replica
    if job.restore.fan_out == "every_replica":
        return copies
    return (_bytes(job) - 2.0) / _bytes(job) + 2.0 / _bytes(job) * copies
