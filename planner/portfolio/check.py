"""A portfolio plan checked: its totals made again, and every rule that its parts have to keep.

The operation of each job and its goodput are computed by `planner.verifier`, with the job's share
of the bandwidth; everything in place by `planner.portfolio.totals`, by the verifier's rules too.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

from pydantic import BaseModel

from planner.portfolio.instance import Instance
from planner.portfolio.schema import InferenceJob, JobRun, PortfolioPlan, TrainingJob
from planner.portfolio.totals import Totals
from planner.schema.operation import JobPlan, WayPlan
from planner.verifier import BROKEN, excluded
from planner.verifier.basis import Basis, Findings, Near, value
from planner.verifier.bill import Bill
from planner.verifier.job import Run, Share, check_gpus, choose_ways
from planner.verifier.limits import Reached, best_interval

NEAR = 2e-6
"""Shares and floors may be missed by this share: the solver's tolerance."""
CENTS = 0.02
KEPT = 1e-8
"""Noise of goodput."""


def faults(instance: Instance, plan: PortfolioPlan) -> tuple[str, ...]:
    """Differences between a plan and its recomputation; empty where it agrees."""
    if not plan.orders and not plan.runs and not plan.standing:
        return ()
    try:
        return _Check(instance, plan).check().all
    except BROKEN as error:
        return (f"the plan: parts are missing or wrong, not computed ({error!r})",)


class _Check(Totals):
    """The check of a plan by its own totals."""

    def check(self) -> Findings:
        """Check every part; all that is wrong."""
        for name, own in self.fields().items():
            self._compare(name, getattr(self.plan, name), own)
        for use in self.uses:
            ends = (use.limit, use.used) if use.is_floor else (use.used, use.limit)
            self._at_most(f"{use.name} {use.site or ''} {use.period or ''}", *ends)
        for key, hall in self.halls.items():
            self._check_hall(*key, hall)
        self._check_orders()
        self._check_balances()
        self._check_places()
        self._check_systems()
        self._check_work()
        self._check_bound()
        return self.found

    def _compare(self, name: str, stated: Any, own: Any) -> None:
        """Compare a part of the plan with the same made again, records field by field."""
        if isinstance(own, tuple):
            if self.found.require(len(stated) == len(own), f"{name}: {len(own)} rows are right"):
                for at, (one, other) in enumerate(zip(stated, own, strict=True)):
                    self._compare(f"{name}.{at}", one, other)
        elif isinstance(own, BaseModel):
            for field in type(own).model_fields:
                self._compare(f"{name}.{field}", getattr(stated, field), getattr(own, field))
        elif isinstance(own, float):
            self.found.expect(name, stated, Near(own, 1e-7 * abs(own) + 1e-9))
        else:
            self.found.expect(name, stated, own)

    def _at_most(self, name: str, used: float, limit: float | None) -> None:
        if limit is not None:
            holds = used <= limit * (1 + NEAR) + 1e-12
            self.found.require(holds, f"{name}: {used:,.6g}, limit {limit:,.6g}")

    # Units

    def _check_hall(self, name: str, period: int, hall: Bill) -> None:
        """Check limits on items and families of storage."""
        basis, where = self.basis[name], f"{name} in period {period}"
        for sku, count in hall.cluster.items():
            item, rule = basis.items[sku], basis.rule(sku)
            owned = self.site[name].owned.get(sku, 0)
            most = None if rule.max is None else max(rule.max, owned)
            self._at_most(f"{where}: {sku}, at most", count, most)
            self._at_most(f"{where}: {sku}, in all", count, value(item.max_units))
            if count > owned:
                self._at_most(f"{where}: least {sku}", value(item.min_units) or 0, count)
        stored = [basis.items[sku] for sku in basis.of_kind(hall.cluster, "storage")]
        families = {item.family for item in stored}
        most = basis.problem.storage.max_families
        self._at_most(f"{where}: storage families", len(families), most)
        for family in basis.inputs.families:
            units = sum(hall.cluster[item.id] for item in stored if item.family == family.id)
            self._at_most(f"{where}: units of {family.id}", units, value(family.max_units))

    def _check_orders(self) -> None:
        """Check prices, dates, packs, minimum orders and stock."""
        bought, stocks = Counter[str](), dict[str, int | None]()
        for order in self.plan.orders:
            place, name = self.site[order.site], f"order of {order.item} in {order.period}"
            item, basis = place.inputs.item(order.item), self.basis[order.site]
            rule, sale = self.portfolio.rule(item.id, item.category), basis.sale(item)
            reason = excluded(basis, item, order.quantity)
            self.found.require(reason is None, f"{name}: {reason}")
            self.found.require(order.quantity > 0, f"{name}: {order.quantity} units")
            given = basis.rule(item.id).stock
            stocks[item.id] = sale.price.stock if given is None and sale.price else given
            bought[item.id] += order.quantity
            steps = order.arrives - 1, order.quantity, order.in_use_from - 1
            self._compare(name, order, self.instance.order(place, item.id, *steps))
            own = {
                "unit_net_usd": Near(self.price(order.site, item.id, order.period), CENTS),
                "support_usd_per_year": Near(self.support(order), CENTS * order.quantity),
            }
            self.found.expect(name, order, own)
            inside = order.period <= order.arrives <= order.in_use_from <= self.periods[-1]
            self.found.require(inside, f"{name}: in use before it arrives, or too late")
            self._at_most(f"{name}: first period", rule.available_from, order.period)
            self._at_most(f"{name}: minimum order", sale.min_order, order.quantity)
            packs = order.quantity % sale.pack == 0
            self.found.require(packs, f"{name}: {order.quantity} units, packs of {sale.pack}")
        for sku, count in bought.items():
            self._at_most(f"{sku} bought, of stock", count, stocks[sku])

    def _check_balances(self) -> None:
        """Check that those in service and cold spares are held, and that units may retire."""
        for s in self.plan.standing:
            item, bought, place = self.basis[s.site].items[s.item], s.needed, self.site[s.site]
            if s.item in place.offers:
                bought += s.retired - place.owned.get(s.item, 0)
            stored = bought > 0 and item.category != "component"
            spares = self.basis[s.site].spares(item, bought) if stored else 0
            name = f"{s.item} at {s.site} in period {s.period}: in service and spares"
            self._at_most(name, s.needed + spares, s.held)
        left = Counter({(o.site, o.item, o.arrives): o.quantity for o in self.plan.orders})
        for site, place in self.site.items():
            left.update({(site, sku, 0): count for sku, count in place.owned.items()})
        for gone in self.plan.retired:
            rule, _ = self._sale(gone.site, gone.item)
            left[gone.site, gone.item, gone.arrived] -= gone.quantity
            there = left[gone.site, gone.item, gone.arrived] >= 0 and gone.arrived < gone.period
            text = f"{gone.item} retired in {gone.period}: may not be, or is not there"
            self.found.require(rule.retire and there and gone.quantity > 0, text)

    # Jobs

    def _check_places(self) -> None:
        """Check that each job runs once in each period of its window, where it may."""
        for name, job in self.jobs.items():
            runs, last = self.runs[name], self.portfolio.last_of(job)
            periods, window = [run.period for run in runs], [*range(job.window.first, last + 1)]
            right = periods == window or (job.optional and not runs)
            self.found.require(right, f"job {name}: runs in {periods}, window {window}")
            where = [(run.site, run.item, run.way) for run in runs]
            moves = sum(one != other for one, other in pairwise(where))
            self._at_most(f"job {name}: moves", moves, job.moves)
            allowed = {*(job.sites or self.basis)} >= {run.site for run in runs}
            self.found.require(allowed, f"job {name}: runs at a site that is not allowed")
            if isinstance(job, InferenceJob):
                for run in runs:
                    self._check_inference(run, job)

    def _check_inference(self, run: JobRun, job: InferenceJob) -> None:
        item, rate = self.basis[run.site].items[run.item], job.rates.get(run.item)
        kept = run.model_dump(include={"job", "period", "site", "item", "systems"})
        gpus = run.systems * value(item.provides.gpus)
        self._compare(f"job {run.job}", run, JobRun(way=run.item, gpus=gpus, **kept))
        self._at_most(f"job {run.job}: least GPUs", job.gpus or 0, run.gpus)
        served = rate.per_gpu * run.gpus if rate else 0.0
        self._at_most(f"job {run.job}: least tokens/s", job.tokens_per_s or 0.0, served)
        memory = value(item.gpu.memory) or 0.0
        self._at_most(f"job {run.job}: least memory, GB", job.min_memory_gb or 0.0, memory)
        allowed = job.types is None or run.item in job.types
        self.found.require(allowed, f"job {run.job}: {run.item} is not among its types")

    def _check_systems(self) -> None:
        """Check systems in use and hot spares against those in service, trays as trays."""
        used: defaultdict[tuple[str, str, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
        for run in self.plan.runs:
            item, job = self.basis[run.site].items[run.item], self.jobs[run.job]
            systems = taken = float(run.systems)
            if isinstance(job, TrainingJob):
                held: int = value(item.provides.gpus)
                unit = value(item.spare_unit.tray) if item.spare_unit else held
                if job.repair is not None and (job.repair.unit == "system" or unit == held):
                    systems, taken = systems + run.spares, taken + run.spares
                elif job.repair is not None and run.spares:
                    taken = (run.gpus / unit + run.spares) * unit / held
            for at, more in enumerate((systems, taken)):
                used[run.site, run.item, run.period][at] += more
        for key, counts in used.items():
            needed = self.standing[key].needed if key in self.standing else 0
            self._at_most(f"{key[1]} at {key[0]} in period {key[2]}", max(counts), needed)

    def _check_work(self) -> None:
        """Check the operation of each training job, and the shares of those at a site."""
        for (site, period), hall in self.halls.items():
            here = [
                self._check_run(run, job)
                for run in self.plan.runs
                if (run.site, run.period) == (site, period)
                and isinstance(job := self.jobs[run.job], TrainingJob)
            ]
            if here:
                self._check_shares(f"{site} in period {period}", self.basis[site], hall, here)

    def _check_run(self, run: JobRun, job: TrainingJob) -> tuple[JobRun, Run]:
        """Check how a job runs in a period; the same as the verifier computes it."""
        name, found = f"job {run.job} in period {run.period}", self.found
        own = operation(self, run, job, found)
        check_gpus(found, own)
        f, repair = own.f, job.repair
        near = {"delivered_read_gb_per_s": NEAR, "delivered_write_gb_per_s": NEAR}
        near |= dict.fromkeys(("goodput", "useful_pflops"), KEPT)
        figures = {key: (getattr(f, key) or 0.0, share) for key, share in near.items()}
        found.expect(name, run, {key: Near(at, share * at) for key, (at, share) in figures.items()})
        spares = 0 if repair is None or f.repair["in_rack"] else repair.spares
        if spares != "open":
            found.expect(f"{name}: spares", run.spares, spares)
        limits = {
            "overlap": (f.overlap, job.checkpoint.max_overlap),
            "drain_fits": (f.stall_s + f.drain_s, run.interval_s),
            "endurance": (f.write_volume_tb_per_day, run.endurance_tb_per_day),
            "restore_time": (f.restore_s, job.restore.max_time_s),
            "gpus_max": (float(run.gpus), job.gpus.max),
            "gpus_min": (float(job.gpus.min or 0), run.gpus),
        }
        reached = dict[str, Reached]()
        for label, (used, most) in limits.items():
            self._at_most(f"{name}: {label}", used, most)
            if most is not None:
                reached[label] = Reached(label, used, most)
        wrong = best_interval(own, reached)
        found.require(wrong is None, f"{name}: interval: {wrong}")
        return run, own

    def _check_shares(
        self, where: str, basis: Basis, hall: Bill, here: Sequence[tuple[JobRun, Run]]
    ) -> None:
        """Check that shares add up to what storage delivers: bandwidth, capacity, endurance."""
        stored, (read, write) = basis.flash(hall.cluster), delivered(basis, hall.cluster)
        self._at_most(f"{where}: write GB/s", math.fsum(own.sustained[1] for _, own in here), write)
        ingest = math.fsum(own.f.ingest_demand_gb_per_s for _, own in here)
        restored, together = ingest, self.portfolio.restores == "together"
        for run, own in here:
            job, mine = self.jobs[run.job], 0.0 if together else own.f.ingest_demand_gb_per_s
            least = (getattr(job, "storage_share", None) or 0.0) * write
            self._at_most(f"job {run.job}: least write GB/s", least, own.sustained[1])
            self._at_most(f"job {run.job}: read GB/s", own.sustained[0], read - ingest + mine)
            restored += own.sustained[0] if together else 0.0
        self._at_most(f"{where}: read GB/s", restored, read)
        usable = {sku: value(basis.items[sku].provides.usable) or 0.0 for sku in stored}
        held = math.fsum(each * stored[sku] for sku, each in usable.items())
        needed = math.fsum(own.f.capacity_needed_tb for _, own in here)
        self._at_most(f"{where}: TB to keep", needed, held)
        ends = {sku: basis.unit_endurance(sku) for sku in stored}
        if None not in ends.values():
            endured = math.fsum(stored[sku] * (each or 0.0) for sku, each in ends.items())
            written = math.fsum(run.endurance_tb_per_day or math.inf for run, _ in here)
            self._at_most(f"{where}: TB/day written", written, endured)

    def _check_bound(self) -> None:
        """Check the value against the best, and the distance of that to its bound."""
        plan, best, bound = self.plan, self.plan.best, self.plan.bound
        sign = -1.0 if self.portfolio.objective.minimize else 1.0
        if not self.found.require(best is not None, "best: missing") or best is None:
            return
        lost = sign * (best - (plan.value or 0.0)) - plan.tolerance * abs(best)
        text = f"value: {plan.value}, the best is {best:,.6g}"
        self.found.require(lost <= 1e-5 * abs(best) + 1e-6, text)
        if bound is not None:
            beaten = sign * (best - bound) > NEAR * max(abs(best), 1e-9)
            self.found.require(not beaten, f"bound {bound:,.6g}: beaten by {best:,.6g}")
            gap = abs(best - bound) / max(abs(best), 1e-9)
            self.found.expect("gap", plan.gap, Near(gap, 1e-9))


def delivered(basis: Basis, cluster: Mapping[str, int]) -> tuple[float, float]:
    """Read and write bandwidth that the storage of a site delivers, GB/s."""
    fraction = basis.problem.storage.delivered_fraction
    plates = [basis.nameplate(sku, count) for sku, count in basis.flash(cluster).items()]
    read, write = (math.fsum(plate[side] for plate in plates) for side in (0, 1))
    return fraction.read * read, fraction.write * write


def operation(totals: Totals, run: JobRun, job: TrainingJob, found: Findings) -> Run:
    """The operation of a job in a period, computed with its share of the bandwidth."""
    parts, precisions = run.way.removeprefix(run.item).split("__"), job.training.precisions
    options: list[str | None] = [option.name for option in job.options] or [None]
    held = [int(part.removesuffix("gpus")) for part in parts if part.endswith("gpus")]
    way: dict[str, Any] = {
        "gpu_type": run.item,
        "precision": next((p for p in precisions if p in parts), precisions[0]),
        "option": next((o for o in options if o in parts), options[0]),
        **dict.fromkeys(("gpu_cap", "power_share", "throughput"), 1.0),
    }
    decided = SimpleNamespace(
        gpu_type=run.item,
        systems_used=run.systems,
        systems_by_type={},
        gpus_used=run.gpus,
        interval_s=run.interval_s,
        per_system_gpus=held[0] if held else None,
        ways=(WayPlan.model_construct(**way),),
        mode="async",
        local=None,
    )
    j, basis = cast(JobPlan, decided), replace(totals.basis[run.site], job=job)
    share = Share(
        run.delivered_read_gb_per_s or 0.0, run.delivered_write_gb_per_s or 0.0, run.spares
    )
    cluster = totals.halls[run.site, run.period].cluster
    return Run(choose_ways(found, basis, j), cluster, j, share)
