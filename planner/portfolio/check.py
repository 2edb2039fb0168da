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
from planner.portfolio.instance import SECONDS_PER_YEAR, Instance
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
"""Shares and floors may be missed by so much, as a share: the solver's tolerance."""
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


class _Check:
    """One recomputation."""

    def __init__(self, instance: Instance, plan: PortfolioPlan) -> None:
        self.instance, self.plan = instance, plan
        self.portfolio, self.periods = instance.portfolio, range(1, len(instance.periods) + 1)
        self.site = {place.name: place for place in instance.places}
        self.basis = {place.name: Basis.of(place.inputs) for place in instance.places}
        self.jobs = {job.name: job for job in self.portfolio.jobs}

    @cached_property
    def held(self) -> Mapping[tuple[str, str, int], int]:
        """Units held by site, item and period, from owned units and orders alone."""
        found: dict[tuple[str, str, int], int] = {}
        retired = {(s.site, s.item, s.period): s.retired for s in self.plan.standing}
        for name, place in self.site.items():
            skus = {*place.owned, *(o.item for o in self.plan.orders if o.site == name)}
            for sku in skus:
                for period in self.periods:
                    arrived = sum(
                        o.quantity
                        for o in self.plan.orders
                        if (o.site, o.item) == (name, sku) and o.arrives <= period
                    )
                    gone = retired.get((name, sku, period), 0)
                    found[name, sku, period] = place.owned.get(sku, 0) - gone + arrived
        return found

    @cached_property
    def needed(self) -> Mapping[tuple[str, str, int], int]:
        """Units in service by site, item and period, as the plan says."""
        return {(s.site, s.item, s.period): s.needed for s in self.plan.standing}

    def _rule(self, item: Item) -> MarketRule:
        return self.portfolio.rule(item.id, item.category)

    def _price(self, site: str, item: Item, period: int) -> float:
        """The net price of an order in a period, before rounding to cents."""
        years = (period - 1) * self.portfolio.periods.months / 12.0
        factor: float = (1.0 + self._rule(item).price_trend) ** years
        return (self.basis[site].sale(item).net_usd or 0.0) * factor

    def orders(self) -> Iterator[str]:
        """Prices, dates, packs and minimum orders."""
        for order in self.plan.orders:
            place, name = self.site.get(order.site), f"order of {order.item} in {order.period}"
            if place is None or order.item not in place.inputs.by_id or order.quantity < 1:
                yield f"{name}: no such site, item or quantity"
                continue
            item = place.inputs.item(order.item)
            rule, sale = self._rule(item), self.basis[order.site].sale(item)
            if order.arrives - order.period != rule.lead:
                yield f"{name}: arrives in {order.arrives}, lead is {rule.lead} periods"
            if order.period < rule.available_from:
                yield f"{name}: cannot be ordered before period {rule.available_from}"
            known = self._price(order.site, item, order.period)
            if abs(order.unit_net_usd - known) > CENTS:
                yield f"{name}: unit price {order.unit_net_usd:,.2f}, {known:,.2f} by the book"
            if abs(order.extended_usd - order.unit_net_usd * order.quantity) > CENTS:
                yield f"{name}: {order.quantity} units do not come to {order.extended_usd:,.2f}"
            if order.quantity % sale.pack or order.quantity < sale.min_order:
                yield f"{name}: {order.quantity} no whole packs, or below the minimum order"

    def balances(self) -> Iterator[str]:
        """Held = owned - retired + arrived; in service and spares <= held; stock."""
        for s in self.plan.standing:
            name = f"{s.item} at {s.site} in period {s.period}"
            held = self.held.get((s.site, s.item, s.period), 0)
            if s.held != held:
                yield f"{name}: {s.held} held, {held} by owned units and orders"
            item = self.site[s.site].inputs.item(s.item)
            bought = s.needed - (held - sum(self._arrived(s.site, s.item, s.period)))
            spares = self.basis[s.site].spares(item, max(0, bought)) if bought > 0 else 0
            if s.needed + spares > held:
                yield f"{name}: {s.needed} in service and {spares} spares, {held} held"
            before = [
                o.retired
                for o in self.plan.standing
                if (o.site, o.item, o.period) == (s.site, s.item, s.period - 1)
            ]
            if s.retired < max(before, default=0) or (s.retired and not self._rule(item).retire):
                yield f"{name}: {s.retired} retired is not allowed"
        yield from self._stock()

    def _arrived(self, site: str, sku: str, period: int) -> list[int]:
        return [
            o.quantity
            for o in self.plan.orders
            if (o.site, o.item) == (site, sku) and o.arrives <= period
        ]

    def _stock(self) -> Iterator[str]:
        for sku in {order.item for order in self.plan.orders}:
            rule = self.portfolio.items.get(sku)
            bought = sum(o.quantity for o in self.plan.orders if o.item == sku)
            if rule is not None and rule.stock is not None and bought > rule.stock:
                yield f"{sku}: {bought} bought, {rule.stock} can be had"

    def counts(self) -> Iterator[str]:
        """Counts of dependent items, by the rules of the bill."""
        for name, place in self.site.items():
            for period in self.periods:
                units = {sku: self.needed.get((name, sku, period), 0) for sku in place.offers}
                counted = bill(place.case, units, ()).counts
                for item in place.case.companions.items:
                    said, own = self.needed.get((name, item.id, period), 0), counted[item.id]
                    if said != round(own):
                        yield f"{item.id} at {name} in period {period}: {said}, needed {own:g}"
                for sku, rule in self.portfolio.items.items():
                    if rule.max is not None and units.get(sku, 0) > max(
                        rule.max, place.owned.get(sku, 0)
                    ):
                        yield f"{sku} at {name}: {units[sku]}, at most {rule.max}"

    def _draw_kw(self, name: str, period: int, *, meter: bool) -> float:
        basis, total = self.basis[name], 0.0
        for (site, sku, at), count in self.needed.items():
            item = self.site[name].inputs.item(sku)
            if (site, at) == (name, period):
                each = basis.rated_kw(item) or 0.0
                total += count * each * (basis.pue(item) if meter else 1.0)
        return total

    def supplies(self) -> Iterator[str]:
        """Power of each site in each period against its limit of that period."""
        for name, place in self.site.items():
            for period in self.periods:
                for meter, field in ((True, "facility_power_kw"), (False, "it_power_kw")):
                    most = place.limit(field, period - 1)
                    kw = self._draw_kw(name, period, meter=meter)
                    if most is not None and kw > most * (1 + NEAR):
                        yield f"{name} draws {kw:,.1f} kW in period {period}, limit {most:,.1f} kW"
        for use in self.plan.uses:
            floor = "_of_" in use.name
            missed = use.limit - use.used if floor else use.used - use.limit
            if missed > NEAR * max(abs(use.limit), 1e-6):
                yield f"{use.name}: {use.used:,.6g} {use.unit}, limit {use.limit:,.6g}"

    def money(self) -> Iterator[str]:
        """Capital by period and in total; energy from the draw; TCO discounted."""
        budget, total, tco = self.portfolio.budget.capex, 0.0, 0.0
        years, rate = self.instance.years, self.portfolio.term.discount_rate
        for period, said in zip(self.periods, self.plan.money, strict=True):
            paid = math.fsum(o.extended_usd for o in self.plan.orders if o.period == period)
            total += paid
            energy = math.fsum(self._energy(name, period) for name in self.site) * years
            for label, own, given in (
                ("capex", paid, said.capex_usd),
                ("energy", energy, said.energy_usd),
            ):
                if abs(own - given) > CENTS + 1e-7 * abs(own):
                    yield f"{label} of period {period}: {given:,.2f} USD, {own:,.2f} by the orders"
            each = budget.per_period_usd
            if each and paid > each[min(period, len(each)) - 1] * (1 + NEAR):
                yield f"capex of period {period} is over its budget: {paid:,.0f} USD"
            present = (1 + rate) ** -((period - 1) * years)
            tco += present * (paid + energy + said.support_usd - said.resale_usd)
        if budget.total_usd is not None and total > budget.total_usd * (1 + NEAR):
            yield f"capex is over its budget: {total:,.0f} USD"
        tco -= self.plan.residual_usd
        for label, own, told in (
            ("capex", total, self.plan.capex_usd),
            ("TCO", tco, self.plan.tco_usd),
        ):
            if told is None or abs(own - told) > CENTS + 1e-7 * abs(own):
                yield f"{label}: {told} USD, {own:,.2f} by the orders"

    def _energy(self, name: str, period: int) -> float:
        basis, site = self.basis[name], self.portfolio.sites[name]
        term = self.portfolio.term
        own = site.electricity_usd_per_kwh
        each = term.electricity_usd_per_kwh if own is None else own
        kw = 0.0
        for (where, sku, at), count in self.needed.items():
            if (where, at) == (name, period):
                item = self.site[name].inputs.item(sku)
                drawn = basis.typical_kw(item) if term.energy_basis == "typical" else None
                drawn = basis.rated_kw(item) if drawn is None else drawn
                kw += count * (drawn or 0.0) * basis.pue(item)
        return kw * HOURS * each

    # Jobs

    @cached_property
    def runs_of(self) -> Mapping[str, list[JobRun]]:
        """Runs by job, in the order of periods."""
        found: dict[str, list[JobRun]] = {name: [] for name in self.jobs}
        for run in sorted(self.plan.runs, key=lambda run: run.period):
            found.setdefault(run.job, []).append(run)
        return found

    def _places_of(self, name: str) -> tuple[str, ...]:
        job = self.jobs[name]
        return job.sites or tuple(self.site)

    def places(self) -> Iterator[str]:
        """Each job runs once in each period of its window, at an allowed site, moves as allowed."""
        for name, runs in self.runs_of.items():
            job = self.jobs.get(name)
            if job is None:
                yield f"job {name}: not in the problem"
                continue
            window = range(job.window.first, self.portfolio.last_of(job) + 1)
            if runs and [run.period for run in runs] != [*window]:
                yield f"job {name}: runs in {[run.period for run in runs]}, window {[*window]}"
            if not runs and not job.optional:
                yield f"job {name}: does not run"
            where = [(run.site, run.item, run.way) for run in runs]
            moves = sum(one != other for one, other in pairwise(where))
            if moves > job.moves:
                yield f"job {name}: {moves} moves between sites or types, {job.moves} allowed"
            if any(run.site not in self._places_of(name) for run in runs):
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
                replica = self._replica(job)
                if job.whole_replicas and replica and run.gpus % replica:
                    yield f"job {run.job}: {run.gpus} GPUs are no whole replicas of {replica}"
            elif isinstance(job, InferenceJob):
                yield from self._serves(job, run, item)
            key = run.site, run.item, run.period
            used[key] = used.get(key, 0.0) + systems
        for key, systems in used.items():
            if systems > self.needed.get(key, 0):
                yield f"{key[1]} at {key[0]} in period {key[2]}: {systems:g} used, fewer there"

    def _serves(self, job: InferenceJob, run: JobRun, item: Item) -> Iterator[str]:
        if job.gpus is not None and run.gpus < job.gpus:
            yield f"job {job.name}: {run.gpus} GPUs, {job.gpus} asked for"
        rate = job.rates.get(item.id)
        if job.tokens_per_s is not None and (
            rate is None or rate.per_gpu * run.gpus < job.tokens_per_s * (1 - NEAR)
        ):
            yield f"job {job.name}: serves fewer than {job.tokens_per_s:g} tokens per second"

    def _replica(self, job: TrainingJob) -> int | None:
        return job.parallelism.replica_gpus if len(job.options) == 1 and job.parallelism else None

    def shares(self) -> Iterator[str]:
        """Write shares add up to the delivered bandwidth; reads, capacity, endurance."""
        for name, basis in self.basis.items():
            fraction = self.portfolio.storage.delivered_fraction
            for period in self.periods:
                here = [
                    r
                    for r in self.plan.runs
                    if (r.site, r.period) == (name, period)
                    and r.delivered_write_gb_per_s is not None
                ]
                plates = [basis.nameplate(sku, n) for sku, n in self._storage(name, period).items()]
                read = fraction.read * math.fsum(each[0] for each in plates)
                write = fraction.write * math.fsum(each[1] for each in plates)
                shared = math.fsum(run.delivered_write_gb_per_s or 0.0 for run in here)
                for run in here:
                    least = (self._training(run).storage_share or 0.0) * write
                    if (run.delivered_write_gb_per_s or 0.0) < least * (1 - NEAR):
                        yield f"job {run.job}: write share below {least:,.2f} GB/s"
                if shared > write * (1 + NEAR):
                    yield f"{name} in period {period}: shares of {shared:,.2f} GB/s of {write:,.2f}"
                yield from self._reads(name, period, here, read)
                yield from self._capacity(name, period, here)

    def _storage(self, name: str, period: int) -> dict[str, int]:
        found = {
            sku: count
            for (site, sku, at), count in self.needed.items()
            if (site, at) == (name, period)
        }
        return self.basis[name].of_kind(found, "storage")

    def _reads(self, name: str, period: int, here: list[JobRun], read: float) -> Iterator[str]:
        ingest = {run.job: self._training(run).ingest_per_gpu_gb_per_s * run.gpus for run in here}
        total = math.fsum(ingest.values())
        together = self.portfolio.restores == "together"
        for run in here:
            left = read - total + (0.0 if together else ingest[run.job])
            if (run.delivered_read_gb_per_s or 0.0) > left * (1 + NEAR):
                yield f"job {run.job}: reads more than the {left:,.2f} GB/s left"
        if together and math.fsum(r.delivered_read_gb_per_s or 0.0 for r in here) + total > read * (
            1 + NEAR
        ):
            yield f"{name} in period {period}: restores together read more than {read:,.2f} GB/s"

    def _capacity(self, name: str, period: int, here: list[JobRun]) -> Iterator[str]:
        basis, stored = self.basis[name], self._storage(name, period)
        usable = 0.0
        for sku, count in stored.items():
            figure = basis.items[sku].provides.usable
            usable += count * (figure.value if figure else 0.0)
        need = math.fsum(self._capacity_tb(self._training(run)) for run in here)
        if need > usable * (1 + NEAR):
            yield f"{name} in period {period}: {need:,.1f} TB to keep, {usable:,.1f} TB usable"
        ends = {sku: basis.unit_endurance(sku) for sku in stored}
        if stored and None not in ends.values():
            endured = math.fsum(stored[sku] * (each or 0.0) for sku, each in ends.items())
            shares = math.fsum(run.endurance_tb_per_day or 0.0 for run in here)
            if shares > endured * (1 + NEAR):
                yield f"{name} in period {period}: {shares:,.1f} of {endured:,.1f} TB/day"

    def _training(self, run: JobRun) -> TrainingJob:
        job = self.jobs[run.job]
        assert isinstance(job, TrainingJob)
        return job

    def _size_gb(self, job: TrainingJob) -> float:
        if job.checkpoint.size_gb is not None:
            return job.checkpoint.size_gb
        each = job.bytes_per_parameter
        number = BYTES_PER_PARAMETER[each] if isinstance(each, str) else each
        return (job.parameters or 0.0) * number / 1e9

    def _capacity_tb(self, job: TrainingJob) -> float:
        kept, size_tb = job.checkpoint, self._size_gb(job) / 1000.0
        weights_tb = 2.0 * (job.parameters or 0.0) / 1e12
        held = (kept.keep_last + 1 + kept.milestones) * size_tb + kept.exports * weights_tb
        return (held + job.dataset_tb) / self.portfolio.storage.fill_limit

    def work(self) -> Iterator[str]:
        """Interval, overlap, restore time, goodput and useful work of each run."""
        for run in self.plan.runs:
            if (
                run.interval_s is None
                or run.delivered_write_gb_per_s is None
                or run.delivered_read_gb_per_s is None
            ):
                continue
            yield from self._limits_of(run, self._training(run))
            yield from self._goodput_of(run, self._training(run))

    def _limits_of(self, run: JobRun, job: TrainingJob) -> Iterator[str]:
        assert run.interval_s and run.delivered_write_gb_per_s and run.delivered_read_gb_per_s
        size, rule, name = self._size_gb(job), job.checkpoint.interval, f"job {run.job}"
        floor, low, high = job.min_useful_pflops or 0.0, job.gpus.min or 0, job.gpus.max
        if (run.useful_pflops or 0.0) < floor * (1 - NEAR):
            yield f"{name}: {run.useful_pflops or 0.0:,.2f} of {floor:,.2f} PFLOP/s"
        if run.gpus < low or (high is not None and run.gpus > high):
            yield f"{name}: {run.gpus} GPUs, allowed {low} to {high}"
        drain, interval = size / run.delivered_write_gb_per_s, run.interval_s
        if drain > job.checkpoint.max_overlap * interval * (1 + NEAR):
            yield f"{name}: a drain of {drain:,.1f} s overlaps too much of {interval:,.1f} s"
        if job.checkpoint.known_stall_s + drain > interval * (1 + NEAR):
            yield f"{name}: stall and drain do not fit the interval of {interval:,.1f} s"
        outside = isinstance(rule, FixedInterval) and abs(interval - rule.every_s) > 1e-6
        if isinstance(rule, OptimalInterval):
            outside = not rule.min_s * (1 - NEAR) <= interval <= rule.max_s * (1 + NEAR)
        if outside:
            yield f"{name}: interval {interval:,.1f} s is not allowed"
        if run.endurance_tb_per_day is not None:
            written = size / 1000.0 * 86_400.0 / interval
            if written > run.endurance_tb_per_day * (1 + NEAR):
                yield f"{name}: writes {written:,.2f} TB/day of {run.endurance_tb_per_day:,.2f}"
        restore = self._copies(job, run) * size / run.delivered_read_gb_per_s
        if job.restore.max_time_s is not None and restore > job.restore.max_time_s * (1 + NEAR):
            yield f"{name}: a restore takes {restore:,.1f} s, {job.restore.max_time_s:,.1f} allowed"
        yield from self._client(run)

    def _client(self, run: JobRun) -> Iterator[str]:
        """Shares against the client bandwidth of the systems in use."""
        place = self.site[run.site]
        item, stored = place.inputs.item(run.item), self._storage(run.site, run.period)
        families = {place.inputs.item(sku).family for sku in stored}
        factors = [f.client_factor for f in place.inputs.families if f.id in families]
        for side, share in (
            ("write", run.delivered_write_gb_per_s),
            ("read", run.delivered_read_gb_per_s),
        ):
            given = getattr(self.portfolio.storage.client_limit, side)
            figure = getattr(item.client, side)
            gpus = item.provides.gpus.value if item.provides.gpus else 0
            own = gpus * CLIENT_GB_PER_S_PER_GPU if figure is None else figure.value
            factor = min((getattr(f, side).value for f in factors if f), default=1.0)
            most = run.systems * factor * (own if given is None else given)
            if (share or 0.0) > most * (1 + NEAR):
                yield f"job {run.job}: {side} share {share:,.2f} GB/s, clients {most:,.2f}"

    def _copies(self, job: TrainingJob, run: JobRun) -> float:
        """Reads of the checkpoint in a restore."""
        replica = self._replica(job)
        if job.restore.fan_out == "broadcast" or replica is None:
            return 1.0
        copies = run.gpus / replica
        if job.restore.fan_out == "every_replica":
            return copies
        each = job.bytes_per_parameter
        number = BYTES_PER_PARAMETER[each] if isinstance(each, str) else each
        return (number - 2.0) / number + 2.0 / number * copies

    def _goodput_of(self, run: JobRun, job: TrainingJob) -> Iterator[str]:
        assert run.interval_s and run.delivered_write_gb_per_s and run.delivered_read_gb_per_s
        if job.repair is not None or job.checkpoint.stall_s == "derived" or run.goodput is None:
            return  # swaps, waiting and derived stalls: of the single plan's verifier alone
        item, size = self.site[run.site].inputs.item(run.item), self._size_gb(job)
        asked = job.failure_rate
        rate = DEFAULT_FAILURES if asked is None else asked
        if asked is None and item.gpu.failures_per_day is not None:
            rate = item.gpu.failures_per_day.value
        each_day = FAILURES_PER_GPU_DAY[rate] if isinstance(rate, str) else rate
        kept = goodput(
            Times(
                interval_s=run.interval_s,
                stopped_s=job.checkpoint.known_stall_s,
                drain_s=size / run.delivered_write_gb_per_s,
                restart_s=job.restart_s,
                restore_s=self._copies(job, run) * size / run.delivered_read_gb_per_s,
                mtti_s=86_400.0 / (each_day * run.gpus),
            )
        ) * (1.0 - job.lost_share)
        if abs(kept - run.goodput) > 1e-7:
            yield f"job {run.job} in period {run.period}: goodput {run.goodput:.8f}, {kept:.8f}"
        if job.training.scale is None and len(job.training.precisions) == 1:
            precision = job.training.precisions[0]
            measured = measured_rate(item, job, precision) if job.training.model else None
            peak = measured.rate_tflops if measured else peak_tflops(item, precision) or 0.0
            tflops = peak * (1.0 if measured else job.training.mfu or 0.0)
            first = job.options[0].factor if job.options else 1.0
            factor = next((o.factor for o in job.options if o.name in run.way), first)
            own = run.gpus * kept * tflops * factor / 1000.0
            if tflops and abs(own - (run.useful_pflops or 0.0)) > 1e-6 * max(own, 1e-9):
                yield f"job {run.job} in period {run.period}: {run.useful_pflops} PFLOP/s, {own}"

    def results(self) -> Iterator[str]:
        """Tokens from the work, against the demand; gap from value and bound."""
        seconds = self.instance.years * SECONDS_PER_YEAR
        for result in self.plan.jobs:
            job = self.jobs[result.job]
            if not isinstance(job, TrainingJob) or job.tokens is None:
                continue
            active = job.training.active_parameters or job.parameters or math.inf
            by = job.tokens.by or self.portfolio.last_of(job)
            done = math.fsum(
                (run.useful_pflops or 0.0) * 1e15 * seconds / (6.0 * active)
                for run in self.runs_of[job.name]
                if run.period <= by
            )
            if abs(done - (result.tokens or 0.0)) > 1e-6 * max(done, 1.0):
                yield f"job {job.name}: {result.tokens} tokens, {done:.6g} by its runs"
            if done < job.tokens.count * (1 - NEAR):
                yield f"job {job.name}: {done:.6g} of {job.tokens.count:.6g} tokens by {by}"
        best, bound = self.plan.best, self.plan.bound
        if best is not None and bound is not None:
            sign = -1.0 if self.portfolio.objective.minimize else 1.0
            if sign * (best - bound) > NEAR * max(abs(best), 1e-9):
                yield f"the bound {bound:,.6g} is beaten by the plan, {best:,.6g}"
