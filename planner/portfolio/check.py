"""A portfolio plan recomputed: balances, orders, money, power, shares, goodput, tokens.

Figures come from the catalogs by the verifier's own reading (`planner.verifier.basis`), goodput by
its own formula. Counts of switches, cables and racks follow from the systems in place by the rules
of the bill (`planner.case`), which the verifier of a single plan checks by a second set of rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise

from planner.optimizer.bill import bill
from planner.portfolio.inputs import SECONDS_PER_YEAR, Instance
from planner.portfolio.schema import (
    InferenceJob,
    JobRun,
    MarketRule,
    PortfolioPlan,
    TrainingJob,
)
from planner.schema.catalog import Item
from planner.schema.job import FixedInterval, OptimalInterval
from planner.verifier.basis import Basis
from planner.verifier.job import (
    BYTES_PER_PARAMETER,
    CLIENT_GB_PER_S_PER_GPU,
    DEFAULT_FAILURES,
    FAILURES_PER_GPU_DAY,
)
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


def _over(used: float, limit: float) -> bool:
    return used > limit * (1 + NEAR)


class _Check:
    """One recomputation."""

    def __init__(self, instance: Instance, plan: PortfolioPlan) -> None:
        self.instance, self.plan = instance, plan
        self.portfolio, self.periods = instance.portfolio, range(1, len(instance.periods) + 1)
        self.site = {place.name: place for place in instance.places}
        self.basis = {place.name: Basis.of(place.inputs) for place in instance.places}
        self.jobs = {job.name: job for job in self.portfolio.jobs}
        self.standing = {(s.site, s.item, s.period): s for s in plan.standing}

    def _needed(self, name: str, period: int) -> dict[str, int]:
        """Units in service at a site in a period, by the plan."""
        return {
            s.item: s.needed for s in self.plan.standing if (s.site, s.period) == (name, period)
        }

    def _arrived(self, site: str, sku: str, period: int) -> int:
        return sum(
            o.quantity
            for o in self.plan.orders
            if (o.site, o.item) == (site, sku) and o.arrives <= period
        )

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
            if order.arrives - order.period != rule.lead:
                yield f"{name}: arrives in {order.arrives}, lead is {rule.lead} periods"
            if order.period < rule.available_from:
                yield f"{name}: cannot be ordered before period {rule.available_from}"
            years = (order.period - 1) * self.portfolio.periods.months / 12.0
            price = (sale.net_usd or 0.0) * float((1.0 + rule.price_trend) ** years)
            if abs(order.unit_net_usd - price) > CENTS:
                yield f"{name}: unit price {order.unit_net_usd:,.2f}, {price:,.2f} by the book"
            if abs(order.extended_usd - order.unit_net_usd * order.quantity) > CENTS:
                yield f"{name}: {order.quantity} units do not cost {order.extended_usd:,.2f}"
            if order.quantity % sale.pack or order.quantity < sale.min_order:
                yield f"{name}: {order.quantity} no whole packs, or below the minimum order"
        for sku, asked in self.portfolio.items.items():
            if asked.stock is not None and bought.get(sku, 0) > asked.stock:
                yield f"{sku}: {bought[sku]} bought, stock {asked.stock}"

    def balances(self) -> Iterator[str]:
        """Held = owned - retired + arrived; in service and spares <= held."""
        for s in self.plan.standing:
            name = f"{s.item} at {s.site} in period {s.period}"
            place, before = self.site[s.site], self.standing.get((s.site, s.item, s.period - 1))
            item, arrived = place.inputs.item(s.item), self._arrived(s.site, s.item, s.period)
            left = place.owned.get(s.item, 0) - s.retired
            if s.held != left + arrived:
                yield f"{name}: {s.held} held, {left + arrived} by owned units and orders"
            bought = s.needed - left
            spares = self.basis[s.site].spares(item, bought) if bought > 0 else 0
            if s.needed + spares > left + arrived:
                yield f"{name}: {s.needed} in service and {spares} spares, {left + arrived} held"
            retired = before.retired if before else 0
            if s.retired < retired or (s.retired and not self._rule(item).retire):
                yield f"{name}: {s.retired} retired is not allowed"

    def counts(self) -> Iterator[str]:
        """Counts of dependent items, by the rules of the bill; the most of an item."""
        for name, place in self.site.items():
            for period in self.periods:
                needed = self._needed(name, period)
                units = {sku: needed.get(sku, 0) for sku in place.offers}
                counted = bill(place.case, units, ()).counts
                for item in place.case.companions.items:
                    listed, own = needed.get(item.id, 0), round(counted[item.id])
                    if listed != own:
                        yield f"{item.id} at {name} in period {period}: {listed}, needed {own}"
                for sku, rule in self.portfolio.items.items():
                    most = None if rule.max is None else max(rule.max, place.owned.get(sku, 0))
                    if most is not None and units.get(sku, 0) > most:
                        yield f"{sku} at {name}: {units[sku]}, at most {rule.max}"

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
        for name, place in self.site.items():
            for period in self.periods:
                for meter, field in ((True, "facility_power_kw"), (False, "it_power_kw")):
                    most = place.limit(field, period - 1)
                    kw = self._draw_kw(name, period, meter=meter)
                    if most is not None and _over(kw, most):
                        yield f"{name} draws {kw:,.1f} kW in period {period}, limit {most:,.1f} kW"
        for use in self.plan.uses:
            missed = use.limit - use.used if "_of_" in use.name else use.used - use.limit
            if missed > NEAR * max(abs(use.limit), 1e-6):
                yield f"{use.name}: {use.used:,.6g} {use.unit}, limit {use.limit:,.6g}"

    def money(self) -> Iterator[str]:
        """Capital by period and in total; energy from the draw; TCO discounted."""
        budget, total, tco = self.portfolio.budget.capex, 0.0, -self.plan.residual_usd
        years, rate = self.instance.years, self.portfolio.term.discount_rate
        for period, listed in zip(self.periods, self.plan.money, strict=True):
            paid = math.fsum(o.extended_usd for o in self.plan.orders if o.period == period)
            energy = math.fsum(self._energy(name, period) for name in self.site) * years
            yield from _differs(f"capex of period {period}", paid, listed.capex_usd)
            yield from _differs(f"energy of period {period}", energy, listed.energy_usd)
            each = budget.per_period_usd
            if each and _over(paid, each[min(period, len(each)) - 1]):
                yield f"capex of period {period} is over its budget: {paid:,.0f} USD"
            total += paid
            running = energy + listed.support_usd - listed.resale_usd
            tco += (paid + running) * (1 + rate) ** -((period - 1) * years)
        if budget.total_usd is not None and _over(total, budget.total_usd):
            yield f"capex is over its budget: {total:,.0f} USD"
        yield from _differs("capex", total, self.plan.capex_usd)
        yield from _differs("TCO", tco, self.plan.tco_usd)

    def _energy(self, name: str, period: int) -> float:
        term, own = self.portfolio.term, self.portfolio.sites[name].electricity_usd_per_kwh
        each = term.electricity_usd_per_kwh if own is None else own
        typical = term.energy_basis == "typical"
        return self._draw_kw(name, period, meter=True, typical=typical) * HOURS * each

    # Jobs

    @cached_property
    def runs_of(self) -> Mapping[str, list[JobRun]]:
        """Runs by job, in the order of periods."""
        found: dict[str, list[JobRun]] = {name: [] for name in self.jobs}
        for run in sorted(self.plan.runs, key=lambda run: run.period):
            found.setdefault(run.job, []).append(run)
        return found

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
            if moves > job.moves:
                yield f"job {name}: {moves} moves between sites or types, {job.moves} allowed"
            if any(run.site not in (job.sites or self.site) for run in runs):
                yield f"job {name}: runs at a site that is not allowed"

    def systems(self) -> Iterator[str]:
        """Systems in use and spares <= in service; GPUs in use fit their systems."""
        used: dict[tuple[str, str, int], float] = {}
        for run in self.plan.runs:
            item, job = self.site[run.site].inputs.item(run.item), self.jobs[run.job]
            systems: float = run.systems
            if isinstance(job, TrainingJob):
                hot = job.gpus.hot
                systems += hot[0] + math.ceil(hot[1] * run.systems - 1e-9)
                if job.repair is not None and job.repair.unit == "system":
                    systems += run.spares
                if run.gpus > run.systems * usable_gpus(job, item):
                    yield f"job {run.job}: {run.gpus} GPUs on {run.systems} {run.item}"
                replica = _replica(job)
                if job.whole_replicas and replica and run.gpus % replica:
                    yield f"job {run.job}: {run.gpus} GPUs are no whole replicas of {replica}"
            elif isinstance(job, InferenceJob):
                yield from _serves(job, run)
            key = run.site, run.item, run.period
            used[key] = used.get(key, 0.0) + systems
        for key, systems in used.items():
            if key not in self.standing or systems > self.standing[key].needed:
                yield f"{key[1]} at {key[0]} in period {key[2]}: {systems:g} used, fewer there"

    def shares(self) -> Iterator[str]:
        """Write shares add up to the delivered bandwidth; reads, capacity, endurance."""
        fraction = self.portfolio.storage.delivered_fraction
        for name, basis in self.basis.items():
            for period in self.periods:
                here = [
                    run
                    for run in self.plan.runs
                    if (run.site, run.period) == (name, period) and run.interval_s is not None
                ]
                stored = basis.of_kind(self._needed(name, period), "storage")
                plates = [basis.nameplate(sku, n) for sku, n in stored.items()]
                read = fraction.read * math.fsum(each[0] for each in plates)
                write = fraction.write * math.fsum(each[1] for each in plates)
                shared = math.fsum(run.delivered_write_gb_per_s or 0.0 for run in here)
                for run in here:
                    least = (self._training(run).storage_share or 0.0) * write
                    if _over(least, run.delivered_write_gb_per_s or 0.0):
                        yield f"job {run.job}: write share below {least:,.2f} GB/s"
                where = f"{name} in period {period}"
                if _over(shared, write):
                    yield f"{where}: shares of {shared:,.2f} GB/s of {write:,.2f}"
                yield from self._reads(where, here, read)
                yield from self._capacity(where, basis, stored, here)

    def _reads(self, where: str, here: list[JobRun], read: float) -> Iterator[str]:
        ingest = {run.job: self._training(run).ingest_per_gpu_gb_per_s * run.gpus for run in here}
        total, together = math.fsum(ingest.values()), self.portfolio.restores == "together"
        for run in here:
            left = read - total + (0.0 if together else ingest[run.job])
            if _over(run.delivered_read_gb_per_s or 0.0, left):
                yield f"job {run.job}: reads more than the {left:,.2f} GB/s left"
        if together and _over(
            math.fsum(r.delivered_read_gb_per_s or 0.0 for r in here) + total, read
        ):
            yield f"{where}: restores together read more than {read:,.2f} GB/s"

    def _capacity(
        self, where: str, basis: Basis, stored: Mapping[str, int], here: list[JobRun]
    ) -> Iterator[str]:
        usable = 0.0
        for sku, count in stored.items():
            figure = basis.items[sku].provides.usable
            usable += count * (figure.value if figure else 0.0)
        fill = self.portfolio.storage.fill_limit
        need = math.fsum(_capacity_tb(self._training(run)) / fill for run in here)
        if _over(need, usable):
            yield f"{where}: {need:,.1f} TB to keep, {usable:,.1f} TB usable"
        ends = {sku: basis.unit_endurance(sku) for sku in stored}
        if stored and None not in ends.values():
            endured = math.fsum(stored[sku] * (each or 0.0) for sku, each in ends.items())
            shares = math.fsum(run.endurance_tb_per_day or 0.0 for run in here)
            if _over(shares, endured):
                yield f"{where}: {shares:,.1f} of {endured:,.1f} TB/day"

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
        rule, name = job.checkpoint.interval, f"job {run.job}"
        floor, low, high = job.min_useful_pflops or 0.0, job.gpus.min or 0, job.gpus.max
        if _over(floor, run.useful_pflops or 0.0):
            yield f"{name}: {run.useful_pflops or 0.0:,.2f} of {floor:,.2f} PFLOP/s"
        if run.gpus < low or (high is not None and run.gpus > high):
            yield f"{name}: {run.gpus} GPUs, allowed {low} to {high}"
        if _over(drain_s, job.checkpoint.max_overlap * interval):
            yield f"{name}: a drain of {drain_s:,.1f} s overlaps too much of {interval:,.1f} s"
        if _over(job.checkpoint.known_stall_s + drain_s, interval):
            yield f"{name}: stall and drain do not fit the interval of {interval:,.1f} s"
        outside = isinstance(rule, FixedInterval) and abs(interval - rule.every_s) > 1e-6
        if isinstance(rule, OptimalInterval):
            outside = _over(rule.min_s, interval) or _over(interval, rule.max_s)
        if outside:
            yield f"{name}: interval {interval:,.1f} s is not allowed"
        written = _size_gb(job) / 1000.0 * 86_400.0 / interval
        if run.endurance_tb_per_day is not None and _over(written, run.endurance_tb_per_day):
            yield f"{name}: writes {written:,.2f} TB/day of {run.endurance_tb_per_day:,.2f}"
        if job.restore.max_time_s is not None and _over(restore_s, job.restore.max_time_s):
            yield f"{name}: restore {restore_s:,.1f} s, at most {job.restore.max_time_s:,.1f} s"

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
            if _over(share, most):
                yield f"job {run.job}: {side} share {share:,.2f} GB/s, clients {most:,.2f}"

    def _goodput_of(
        self, run: JobRun, job: TrainingJob, interval: float, drain_s: float, restore_s: float
    ) -> Iterator[str]:
        item, asked = self.site[run.site].inputs.item(run.item), job.failure_rate
        rate = DEFAULT_FAILURES if asked is None else asked
        if asked is None and item.gpu.failures_per_day is not None:
            rate = item.gpu.failures_per_day.value
        each_day = FAILURES_PER_GPU_DAY[rate] if isinstance(rate, str) else rate
        times = Times(
            interval_s=interval,
            stopped_s=job.checkpoint.known_stall_s,
            drain_s=drain_s,
            restart_s=job.restart_s,
            restore_s=restore_s,
            mtti_s=86_400.0 / (each_day * run.gpus),
        )
        kept, name = goodput(times) * (1.0 - job.lost_share), f"job {run.job} in {run.period}"
        if abs(kept - (run.goodput or 0.0)) > 1e-7:
            yield f"{name}: goodput {run.goodput:.8f}, recomputed {kept:.8f}"
        if job.training.scale is None and len(job.training.precisions) == 1:
            precision = job.training.precisions[0]
            measured = measured_rate(item, job, precision) if job.training.model else None
            peak = measured.rate_tflops if measured else peak_tflops(item, precision) or 0.0
            tflops = peak * (1.0 if measured else job.training.mfu or 0.0)
            first = job.options[0].factor if job.options else 1.0
            factor = next((o.factor for o in job.options if o.name in run.way), first)
            own = run.gpus * kept * tflops * factor / 1000.0
            if tflops and abs(own - (run.useful_pflops or 0.0)) > 1e-6 * max(own, 1e-9):
                yield f"{name}: {run.useful_pflops} PFLOP/s, recomputed {own}"

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
            if abs(done - (result.tokens or 0.0)) > 1e-6 * max(done, 1.0):
                yield f"job {job.name}: {result.tokens} tokens, {done:.6g} by its runs"
            if _over(job.tokens.count, done):
                yield f"job {job.name}: {done:.6g} of {job.tokens.count:.6g} tokens by {by}"
        best, bound = self.plan.best, self.plan.bound
        if best is not None and bound is not None:
            sign = -1.0 if self.portfolio.objective.minimize else 1.0
            if sign * (best - bound) > NEAR * max(abs(best), 1e-9):
                yield f"the bound {bound:,.6g} is beaten by the plan, {best:,.6g}"


def _differs(name: str, own: float, listed: float | None) -> Iterator[str]:
    if listed is None or abs(own - listed) > CENTS + 1e-7 * abs(own):
        yield f"{name}: {listed} USD, {own:,.2f} by the orders"


def _serves(job: InferenceJob, run: JobRun) -> Iterator[str]:
    rate = job.rates.get(run.item)
    if run.gpus < (job.gpus or 0):
        yield f"job {job.name}: {run.gpus} GPUs, demand {job.gpus}"
    if _over(job.tokens_per_s or 0.0, rate.per_gpu * run.gpus if rate else 0.0):
        yield f"job {job.name}: serves fewer than {job.tokens_per_s:g} tokens/s"


def _replica(job: TrainingJob) -> int | None:
    return job.parallelism.replica_gpus if len(job.options) == 1 and job.parallelism else None


def _bytes(job: TrainingJob) -> float:
    each = job.bytes_per_parameter
    return float(BYTES_PER_PARAMETER[each] if isinstance(each, str) else each)


def _size_gb(job: TrainingJob) -> float:
    given = job.checkpoint.size_gb
    return (job.parameters or 0.0) * _bytes(job) / 1e9 if given is None else given


def _capacity_tb(job: TrainingJob) -> float:
    kept, weights_tb = job.checkpoint, 2.0 * (job.parameters or 0.0) / 1e12
    held = (kept.keep_last + 1 + kept.milestones) * _size_gb(job) / 1000.0
    return held + kept.exports * weights_tb + job.dataset_tb


def _copies(job: TrainingJob, run: JobRun) -> float:
    """Reads of the checkpoint in a restore."""
    replica = _replica(job)
    if job.restore.fan_out == "broadcast" or replica is None:
        return 1.0
    copies = run.gpus / replica
    if job.restore.fan_out == "every_replica":
        return copies
    return (_bytes(job) - 2.0) / _bytes(job) + 2.0 / _bytes(job) * copies
