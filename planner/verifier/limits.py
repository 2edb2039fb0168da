"""Every limit of the problem kept and listed; the best interval; the objective with its gap."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from planner.figures import OBJECTIVES
from planner.limits import TIMED, Group, Limit, named, of_group
from planner.paths import value_at
from planner.schema.plan import LimitReport, Plan, ProgramReport
from planner.schema.problem import CustomRule, FixedInterval, Problem
from planner.schema.site import Site
from planner.verifier import physics
from planner.verifier.basis import (
    NEARLY_ZERO,
    RELATIVE,
    Basis,
    Findings,
    Near,
    agrees,
    value,
    write,
)
from planner.verifier.bill import Bill
from planner.verifier.hall import takes
from planner.verifier.job import Run, replica_gpus
from planner.verifier.physics import DAY_S

BEST_WITHIN = 1e-6
GAP_NOISE = 1e-9
TRIED = 4001
"""Intervals among which a better one is looked for."""
TIES = 2e-6
"""Share of the objective that breaking ties may take, each of a few times."""
AGREED = 4e-6
"""Program and search may differ by so much, as a share: each proves to 2e-6 at most."""
RULES = {
    "light": (1.0, 0.75, 1),
    "medium": (2.0, 1.5, 1),
    "high": (4.0, 3.0, 1),
    "good": (15.0, 7.0, 256),
    "better": (40.0, 20.0, 256),
    "best": (125.0, 62.0, 256),
}
"""GB/s of reading and writing for so many GPUs: DDN's AI400X2 rules per GPU; NVIDIA's SuperPOD
rules per scalable unit of 32 systems."""


class Reached(NamedTuple):
    """A limit with the value that the plan reaches; ``listed`` where the plan must report it."""

    name: str
    value: float | None
    limit: float
    listed: bool = True

    @property
    def row(self) -> Limit:
        """Its row in the table of limits."""
        return named(self.name)

    @property
    def slack(self) -> float:
        """What is left, negative where the limit is broken."""
        return -math.inf if self.value is None else self.row.looser * (self.limit - self.value)

    @property
    def holds(self) -> bool:
        """Whether the plan keeps the limit within its tolerance."""
        if self.value is None:
            return False
        allowed = self.row.tolerance * max(abs(self.value), abs(self.limit))
        return self.slack >= -allowed and (not self.row.exact or abs(self.slack) <= allowed)

    @property
    def text(self) -> str:
        """The broken limit in words."""
        sense = "=" if self.row.exact else self.row.sense
        return f"plan reaches {write(self.value)}, limit {sense} {self.limit:.12g} {self.row.unit}"


def facility_limit_kw(site: Site) -> float | None:
    """Power limit at the meter: as given, and with the feeds' redundancy kept."""
    limits = [] if site.facility_power_kw is None else [site.facility_power_kw]
    if site.feeds is not None:
        left = {"N": 1.0, "N+1": 1.0 - 1.0 / site.feeds.count, "2N": 0.5}[site.feeds.redundancy]
        limits.append(site.feeds.power_kw * site.feeds.count * left)
    return min(limits, default=None)


def given(problem: Problem, *groups: Group) -> Iterator[tuple[Limit, float]]:
    """Yield the limits of some groups that the problem gives, each with its number."""
    racks = problem.site.racks
    for row in of_group(*groups):
        limit = value_at(problem, row.path)
        if row.name == "facility_power":
            limit = facility_limit_kw(problem.site)
        if row.name == "racks" and isinstance(racks, tuple):
            limit = sum(group.count for group in racks)
        if limit is not None:
            yield row, limit


@dataclass(frozen=True)
class Judged:
    """A plan whose figures are compared: its limits and its objective."""

    found: Findings
    plan: Plan
    bill: Bill
    run: Run

    @property
    def basis(self) -> Basis:
        """The problem and the catalogs."""
        return self.run.basis

    def figure(self, name: str) -> Any:
        """A figure of the totals, or of the job."""
        return (
            getattr(self.plan.totals, name, None)
            if hasattr(self.plan.totals, name)
            else getattr(self.run.j, name)
        )

    def limits(self) -> Iterator[Reached]:
        """Yield every limit of the problem with what the plan reaches."""
        for of in (self._supplies, self._positions, self._times, self._storage, self._counts):
            yield from of()

    def _supplies(self) -> Iterator[Reached]:
        problem, lines = self.basis.problem, [x for x in self.plan.lines if x.parent is None]
        for row, limit in given(problem, "supply", "ratio", "target"):
            reached = self.figure(row.figure)
            if row.known_part:
                reached = sum(getattr(line, row.figure) or 0.0 for line in lines)
            yield Reached(row.name, reached, limit)
        most_days, days = problem.targets.max_lead_time_days, self.figure("lead_time_days")
        if most_days is not None:
            yield Reached("lead_time", days or 0.0, most_days, listed=days is not None)

    def _positions(self) -> Iterator[Reached]:
        """Yield, for each set of position groups, the racks that fit no other."""
        groups, wanted = self.basis.problem.site.positions, []
        for each in self.bill.room.sets if groups else ():
            sku = each.sku if each.product else None
            fit = {n for n, g in enumerate(groups) if takes(self.basis, g, sku, each.rack_class)}
            wanted.append((fit, each.racks))
        for bits in range(2 ** len(groups) - 1):  # all groups together: the limit on racks
            chosen = {n for n in range(len(groups)) if bits >> n & 1}
            racks = sum(count for fit, count in wanted if fit <= chosen)
            most, name = sum(groups[n].count for n in chosen), "_".join(map(str, sorted(chosen)))
            yield Reached(f"rack_positions.{name or 'none'}", racks, most, listed=racks > most)

    def _times(self) -> Iterator[Reached]:
        j, job, bounds = self.run.j, self.run.basis.job, self.run.basis.job.gpus
        (stall_s, drain_s, restore_s), local = self.run.worst_times, self.run.j.local
        if job.restore.max_time_s is not None:
            yield Reached("restore_time", restore_s, job.restore.max_time_s)
        if j.mode == "sync":
            yield Reached("blocking", stall_s / j.interval_s, job.checkpoint.max_blocking)
        elif self.basis.problem.storage.rule == "demand":
            yield Reached("overlap", drain_s / j.to_storage_s, job.checkpoint.max_overlap)
        if local is not None:
            longest_s = local.restart_s + (0.0 if j.repair is None else j.repair.swap_s)
            yield Reached("drain_fits", drain_s, local.remote_interval_s)
            yield Reached("local_fits", stall_s + local.drain_s, j.interval_s)
            yield Reached("local_lag", longest_s + local.drain_s, j.mtti_s)
            yield Reached("local_room", local.room_tb, local.capacity_tb)
            if local.endurance_tb_per_day is not None:
                worn = local.volume_tb_per_day, local.endurance_tb_per_day
                yield Reached("local_endurance", *worn)
        elif j.mode == "async":
            yield Reached("drain_fits", stall_s + drain_s, j.interval_s)
        if job.parallelism is not None:
            yield Reached("replica_fits", j.gpus_used, replica_gpus(job.parallelism))
        for name, limit in (("gpus_min", bounds.min), ("gpus_max", bounds.max)):
            if limit is not None:
                yield Reached(name, j.gpus_used, limit)
        yield Reached("gpu_types", len(self.run.systems), bounds.max_types, listed=False)

    def endurance_tb_per_day(self) -> float | None:
        """Write endurance of the storage in use; None where any has none."""
        stored = self.basis.flash(self.run.counts)
        rated = [(self.basis.unit_endurance(sku), count) for sku, count in stored.items()]
        known = [each * count for each, count in rated if each is not None]
        return sum(known) if len(known) == len(rated) else None

    def _storage(self) -> Iterator[Reached]:
        j, totals, rule = self.run.j, self.plan.totals, self.basis.problem.storage.rule
        needed, ingest, endured = (
            j.capacity_needed_tb,
            j.ingest_gb_per_s,
            self.endurance_tb_per_day(),
        )
        assert totals is not None
        yield Reached("capacity", totals.usable_tb, needed, listed=needed > 0)
        if ingest > 0:
            yield Reached("ingest", ingest, j.delivered_read_gb_per_s)
        if j.bulk is not None:
            yield Reached("bulk_capacity", j.bulk.usable_tb, j.bulk.needed_tb)
        if j.bulk is not None and ingest > 0:
            yield Reached("bulk_read", ingest, j.bulk.read_gb_per_s)
            yield Reached("staging", ingest, j.bulk.staging_gb_per_s)
        if j.burst is not None:
            yield Reached("burst_recovery", j.burst.recovery_s, j.to_storage_s)
        if endured is not None:
            yield Reached("endurance", j.write_volume_tb_per_day, endured)
        if rule == "demand":
            return
        of = (rule.read, rule.write, 1) if isinstance(rule, CustomRule) else RULES[rule]
        for side, each in zip(("read", "write"), of, strict=False):
            asked = -(-totals.gpus // of[2]) * each
            yield Reached(f"rule_{side}", getattr(totals, f"{side}_gb_per_s"), asked, asked > 0)

    def _counts(self) -> Iterator[Reached]:
        basis, bill, policy = self.basis, self.bill, self.basis.problem.policy
        for sku in {**bill.in_place, **basis.problem.items}:
            if sku in basis.items:
                yield from self._of_item(sku)
        for family in basis.inputs.families:
            units = sum(n for s, n in bill.cluster.items() if basis.items[s].family == family.id)
            if family.max_units is not None:
                name = f"family_max_units.{family.id}"
                yield Reached(name, units, family.max_units.value, listed=units > 0)
        for place, vendor in enumerate(policy.require_vendors):
            units = sum(n for sku, n in bill.cluster.items() if basis.items[sku].vendor == vendor)
            yield Reached(f"require_vendor.{place}", units, 1)
        for place, split in enumerate(policy.split):
            amounts: dict[str, int] = {}
            for sku, count in basis.of_kind(bill.cluster, split.category).items():
                vendor = basis.items[sku].vendor
                amounts[vendor] = amounts.get(vendor, 0) + count
            largest = max(amounts.values()) / sum(amounts.values()) if amounts else 0.0
            yield Reached(f"split.{place}", largest, split.max_share)
        for sku, hot in self.run.hot_spares.items():
            if hot:
                ready = bill.cluster[sku] - self.run.systems[sku]
                yield Reached(f"hot_spares.{sku}", ready, hot)

    def _of_item(self, sku: str) -> Iterator[Reached]:
        """Yield the limits that catalog, price and problem set on the units of an item."""
        basis, bill, item, rule = self.basis, self.bill, self.basis.items[sku], self.basis.rule(sku)
        count, in_place = {**bill.companions, **bill.cluster}.get(sku, 0), bill.in_place.get(sku, 0)
        for name in ("min_units", "max_units") if count else ():
            figure = getattr(item, name)
            if figure is not None:
                yield Reached(f"{name}.{sku}", count, figure.value)
        price, bought = basis.inputs.prices.get(sku), basis.bought(item, count) if count else 0
        stock = rule.stock if rule.stock is not None or price is None else price.stock
        if stock is not None and bought:
            yield Reached(f"stock.{sku}", bought, stock)
        least, name = max(rule.min or 0, int(rule.required)), f"items.{sku}"
        if rule.fixed is not None:
            yield Reached(f"{name}.fixed", in_place, rule.fixed, rule.fixed > 0 or in_place > 0)
        if rule.min is not None or rule.required:
            yield Reached(f"{name}.min", in_place, least, least > 0)
        if rule.max is not None:
            yield Reached(f"{name}.max", in_place, rule.max, in_place > 0)
        if bill.standing.get(sku, 0) > bill.cluster.get(sku, 0):
            yield Reached(f"{name}.installed", in_place, basis.sale(item).owned)

    # The plan's list of limits.

    def check_limits(self) -> None:
        """Require that every limit holds and is listed with its numbers, and no other is."""
        expected = {limit.name: limit for limit in self.limits()}
        for limit in expected.values():
            if not limit.holds:
                self.found.breach(limit.name, f"broken limit: {limit.text}")
        self._check_interval()
        listed = [report.name for report in self.plan.limits]
        for report in self.plan.limits:
            name, known = f"limits.{report.name}", expected.get(report.name)
            once = known is not None and listed.count(report.name) == 1
            self.found.require(
                once, f"{name}: the problem has no such limit, or it is listed twice"
            )
            if known is not None:
                self._check_report(name, report, known)
        for limit in expected.values():
            there = not limit.listed or limit.name in listed
            self.found.require(there, f"limits.{limit.name}: missing, {limit.text}")

    def _check_report(self, name: str, report: LimitReport, limit: Reached) -> None:
        row, reached, limit_at = limit.row, limit.value or 0.0, limit.limit
        near: Any = limit.value
        if isinstance(near, float):  # rounding that is nothing against the limit
            near = Near(reached, NEARLY_ZERO * abs(limit_at))
        own = {"value": near, "limit": limit_at, "unit": row.unit, "exact": row.exact}
        own["slack"] = Near(
            0.0 if row.exact else limit.slack, RELATIVE * max(abs(reached), abs(limit_at))
        )
        if limit.value is None or (report.slack == 0 and limit.slack < 0):
            del own["slack"]
        self.found.expect(name, report, own if row.exact else {**own, "sense": row.sense})
        text = f"{name}.binding: no slack, yet plan says not binding"
        self.found.require(report.binding or not agrees(limit.value, limit_at), text)

    # The interval.

    def _check_interval(self) -> None:
        """Require a fixed interval; of an open one, the best goodput that limits allow."""
        run, j, name, policy = (
            self.run,
            self.run.j,
            "jobs.interval_s",
            self.basis.job.checkpoint.interval,
        )
        if isinstance(policy, FixedInterval):
            if not agrees(j.interval_s, policy.every_s):
                text = f"plan says {j.interval_s:.12g} s, policy asks {policy.every_s:.12g} s"
                self.found.breach(name, text)
            return
        if not policy.min_s * (1 - TIMED) <= j.interval_s <= policy.max_s * (1 + TIMED):
            text = f"{j.interval_s:.12g} s is outside {policy.min_s:g} to {policy.max_s:g} s"
            self.found.breach(name, text)
            return
        local = self.basis.job.checkpoint.local
        if run.states:  # time waited follows from the interval, and is taken from the plan
            return
        for every in local.every if run.every and local is not None else (0,):
            shortest_s = max(policy.min_s, self._shortest_interval_s(every))
            if every and shortest_s > policy.max_s:
                continue
            tried = np.geomspace(shortest_s, max(policy.max_s, shortest_s), TRIED)
            worth = physics.goodput(run.times(tried, every))
            best = worth.argmax()
            if j.goodput < worth[best] * (1 - BEST_WITHIN):
                each = f", every {every}th to storage" if every else ""
                text = f"{j.interval_s:.12g} s is not the best allowed interval: "
                text += f"{tried[best]:.12g} s{each} gives a goodput of {worth[best]:.12g}"
                self.found.breach(name, text)

    def _shortest_interval_s(self, every: int) -> float:
        """Shortest interval that overlap, stall, drains and endurance allow, s."""
        run, j, saved = self.run, self.run.j, self.basis.job.checkpoint
        (stall_s, drain_s, _), endured = run.worst_times, self.endurance_tb_per_day()
        by_demand = self.basis.problem.storage.rule == "demand"
        shortest_s = drain_s / (saved.max_overlap if by_demand else 1.0)
        if j.mode == "sync":
            shortest_s = stall_s / saved.max_blocking
        if j.burst is not None:
            shortest_s = max(shortest_s, j.burst.recovery_s)
        if endured is not None:
            shortest_s = max(shortest_s, j.checkpoint_gb / 1000 * DAY_S / endured)
        if not every or j.local is None:
            return shortest_s if j.mode == "sync" else max(shortest_s, stall_s + drain_s)
        endures = [(gb, value(item.local.endurance)) for gb, item in run.drives]
        worn = [gb / 1000 * DAY_S / each for gb, each in endures if each is not None]
        return max(shortest_s / every, stall_s + j.local.drain_s, *worn)

    # The objective and its proof.

    def check_objective(self) -> None:
        """Recompute the objective's value; require a best value, bound and gap that fit it."""
        asked, stated, found = self.basis.problem.objective, self.plan.objective, self.found
        row, maximise = OBJECTIVES[asked.name], not asked.minimize
        own, capex_usd = self.figure(row.figure.name), self.figure("capex_usd")
        fields = {"name": asked.name, "sense": row.sense, "unit": row.unit, "value": own}
        found.expect("objective", stated, {**fields, "indifference": asked.indifferent})
        if own is None or stated.best is None:
            found.require(False, f"objective.{'value' if own is None else 'best'}: missing")
            return
        steps = [("given_away", stated.given_away, own, stated.best)]
        if stated.bound is not None or stated.gap is not None or self.plan.status == "optimal":
            steps.append(("gap", stated.gap, stated.best, stated.bound))
        for field, share, worse, better in steps:
            if share is None or better is None:
                found.require(False, f"objective.{field}: missing, or its bound")
                continue
            ahead = better - worse if maximise else worse - better
            own_share = max(0.0, ahead) / abs(stated.best) if stated.best else share
            near = math.isclose(share, own_share, rel_tol=1e-6, abs_tol=GAP_NOISE)
            right = ahead >= -RELATIVE * max(abs(better), abs(worse))
            found.require(right, f"objective: {better!r} is worse than {worse:.12g}")
            found.require(near, f"objective.{field}: plan says {share!r}, own {own_share:.12g}")
        prefer, indifferent = self.basis.problem.policy.prefer, asked.indifferent
        within = 0.0 if prefer is None else prefer.within
        most = (1 + within) * (1 + indifferent) * (1 + TIES) - 1
        if maximise:
            most = 1 - (1 - within) * (1 - indifferent) / (1 + TIES)
        away, gap, cheapest = stated.given_away or 0.0, stated.gap or 0.0, stated.best_capex_usd
        found.require(away <= most, f"objective.given_away: {away:.6g} exceeds {most:.6g}")
        proven = gap <= stated.gap_asked + GAP_NOISE or self.plan.status != "optimal"
        found.require(proven, f"status: optimal, but the gap is {gap}")
        dearer = prefer is None and cheapest is not None and cheapest < capex_usd * (1 - TIES)
        found.require(not dearer, f"objective.best_capex_usd: {cheapest} is less than {capex_usd}")
        if (
            own > 0
            and stated.log_value is not None
            and stated.log_bound is not None
            and stated.bound
        ):
            bound = own * math.exp(stated.log_bound - stated.log_value)
            fits = math.isclose(bound, stated.bound, rel_tol=1e-6)
            found.require(fits, "objective.log_bound: does not fit the bound")


def program_faults(plan: Plan) -> tuple[str, ...]:
    """Where the integer program's figures do not follow from one another or the plan's."""
    program, goal, findings = plan.objective.program, plan.objective, Findings()
    if not isinstance(program, ProgramReport):
        return () if program is None else ("objective.program: not the record of a program",)
    for name, text in (("solver", plan.provenance.solver), ("unit", goal.unit)):
        findings.expect(f"objective.program.{name}", getattr(program, name), text)
    capex_usd = None if plan.totals is None else plan.totals.capex_usd
    for name, mine, bound, own in (
        ("gap", program.value, program.bound, goal.best),
        ("capex_gap", program.capex_usd, program.capex_bound_usd, capex_usd),
    ):
        gap, near = getattr(program, name), mine is None or own is None
        if mine is not None and own is not None:
            near = abs(mine - own) <= AGREED * max(abs(own), 1.0)
        findings.require(near, f"objective.program: {mine!r}, not {own!r}")
        other = None
        if mine is not None and bound is not None:
            other = abs(bound - mine) / max(abs(mine), RELATIVE)
        same = gap == other or abs((gap or 0.0) - (other or 0.0)) <= RELATIVE
        findings.require(
            same and (gap is None) == (other is None),
            f"objective.program.{name}: {gap!r}, not {other!r}",
        )
        wide = program.status == "optimal" and gap is not None and gap > AGREED
        findings.require(not wide, f"objective.program.status: optimal, with a {name} of {gap}")
    return tuple(findings.disagreements)
