"""Every limit of the problem kept and listed; the best interval; the objective with its gap."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np

from planner.figures import OBJECTIVES
from planner.limits import TIMED, Group, Limit, named, of_group
from planner.paths import value_at
from planner.schema.job import FixedInterval
from planner.schema.plan import Plan
from planner.schema.problem import CustomRule, Problem
from planner.verifier import physics
from planner.verifier.basis import (
    NEARLY_ZERO,
    RELATIVE,
    Basis,
    Either,
    Findings,
    Near,
    agrees,
    times,
    total,
    write,
)
from planner.verifier.bill import Bill
from planner.verifier.job import Run

OF_INTERVAL = (
    *("overlap", "blocking", "drain_fits", "local_fits"),
    *("burst_recovery", "endurance"),
)
"""Limits that a longer interval keeps."""
BEST_WITHIN = 1e-6
GAP_NOISE = 1e-9
TRIED = 4001
"""Intervals among which a better one is looked for."""
TIES = 2e-6
"""Share of the objective that breaking ties may take, each of a few times."""
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
        """Slack, negative where the limit is broken."""
        return -math.inf if self.value is None else self.row.looser * (self.limit - self.value)

    @property
    def holds(self) -> bool:
        """True if the plan keeps the limit within its tolerance."""
        if self.value is None:
            return False
        allowed = self.row.tolerance * max(abs(self.value), abs(self.limit))
        return self.slack >= -allowed and (not self.row.exact or abs(self.slack) <= allowed)

    @property
    def text(self) -> str:
        """The broken limit in words."""
        sense = "=" if self.row.exact else self.row.sense
        return f"plan reaches {write(self.value)}, limit {sense} {self.limit:.12g} {self.row.unit}"


def given(problem: Problem, *groups: Group) -> Iterator[tuple[Limit, float]]:
    """Yield the limits of some groups that the problem gives, each with its number."""
    for row in of_group(*groups):
        limit = value_at(problem, row.path)
        if row.name == "facility_power":
            limit = problem.site.facility_limit_kw
        if limit is not None:
            yield row, limit


def _supplies(plan: Plan, run: Run) -> Iterator[Reached]:
    problem, lines = run.basis.problem, [x for x in plan.lines if x.parent is None]
    for row, limit in given(problem, "supply", "ratio", "target"):
        reached = getattr(plan.totals if hasattr(plan.totals, row.figure) else run.j, row.figure)
        if row.known_part:
            reached = sum(getattr(line, row.figure) or 0.0 for line in lines)
        yield Reached(row.name, reached, limit)
    assert plan.totals is not None
    most_days, days = problem.targets.max_lead_time_days, plan.totals.lead_time_days
    if most_days is not None:
        yield Reached("lead_time", days or 0.0, most_days, listed=days is not None)


def _times(run: Run) -> Iterator[Reached]:
    j, job, bounds = run.j, run.basis.job, run.basis.job.gpus
    stall_s, drain_s, restore_s, local = j.stall_s, j.drain_s, j.restore_s, j.local
    if j.degraded_write_gb_per_s is not None and j.degraded_read_gb_per_s is not None:
        restore_s = j.fan_out * j.checkpoint_gb / j.degraded_read_gb_per_s
        write_s = j.checkpoint_gb / j.degraded_write_gb_per_s
        stall_s, drain_s = (write_s, 0.0) if j.mode == "sync" else (stall_s, write_s)
    if job.restore.max_time_s is not None:
        yield Reached("restore_time", restore_s, job.restore.max_time_s)
    if j.mode == "sync":
        yield Reached("blocking", stall_s / j.interval_s, job.checkpoint.max_blocking)
    elif run.basis.problem.storage.rule == "demand":
        yield Reached("overlap", drain_s / j.to_storage_s, job.checkpoint.max_overlap)
    if local is not None:
        longest_s = local.restart_s + (0.0 if j.repair is None else j.repair.swap_s)
        yield Reached("drain_fits", drain_s, local.remote_interval_s)
        yield Reached("local_fits", stall_s + local.drain_s, j.interval_s)
        yield Reached("local_lag", longest_s + local.drain_s, j.mtti_s)
        yield Reached("local_room", local.room_tb, local.capacity_tb)
    elif j.mode == "async":
        yield Reached("drain_fits", stall_s + drain_s, j.interval_s)
    least = None if job.parallelism is None else job.parallelism.replica_gpus
    for name, limit in (
        ("replica_fits", least),
        ("gpus_min", bounds.min),
        ("gpus_max", bounds.max),
    ):
        if limit is not None:
            yield Reached(name, j.gpus_used, limit)
    yield Reached("gpu_types", len(run.systems), bounds.max_types, listed=False)


def _storage(plan: Plan, run: Run) -> Iterator[Reached]:
    j, totals, rule = run.j, plan.totals, run.basis.problem.storage.rule
    needed, ingest = j.capacity_needed_tb, j.ingest_demand_gb_per_s
    assert totals is not None
    yield Reached("capacity", totals.usable_tb, needed, listed=needed > 0)
    if ingest > 0:
        yield Reached("ingest", ingest, j.delivered_read_gb_per_s)
    if j.bulk is not None:
        yield Reached("bulk_capacity", j.bulk.usable_tb, j.bulk.needed_tb)
    if j.bulk is not None and ingest > 0:
        yield Reached("bulk_read", ingest, j.bulk.delivered_read_gb_per_s)
        yield Reached("staging", ingest, j.bulk.staging_gb_per_s)
    if j.burst is not None:
        yield Reached("burst_recovery", j.burst.recovery_s, j.to_storage_s)
    stored = run.basis.flash(run.counts)
    endured = total(times(run.basis.unit_endurance(sku), count) for sku, count in stored.items())
    if endured is not None:
        yield Reached("endurance", j.write_volume_tb_per_day, endured)
    if rule == "demand":
        return
    of = (rule.read, rule.write, 1) if isinstance(rule, CustomRule) else RULES[rule]
    for side, each in zip(("read", "write"), of, strict=False):
        asked = -(-totals.gpus // of[2]) * each
        bought = getattr(totals, f"nameplate_{side}_gb_per_s")
        yield Reached(f"rule_{side}", bought, asked, asked > 0)


def _counts(bill: Bill, run: Run) -> Iterator[Reached]:
    basis, policy = run.basis, run.basis.problem.policy
    for sku in {**bill.in_place, **basis.problem.items}:
        if sku in basis.items:
            yield from _item_limits(basis, bill, sku)
    kinds = [(basis.items[sku], count) for sku, count in bill.cluster.items()]
    for family in basis.inputs.families:
        units = sum(n for item, n in kinds if item.family == family.id)
        if family.max_units is not None:
            name = f"family_max_units.{family.id}"
            yield Reached(name, units, family.max_units.value, listed=units > 0)
    for place, vendor in enumerate(policy.require_vendors):
        units = sum(n for item, n in kinds if item.vendor == vendor)
        yield Reached(f"require_vendor.{place}", units, 1)
    for place, split in enumerate(policy.split):
        amounts: Counter[str] = Counter()
        for item, count in kinds:
            amounts[item.vendor] += count * (item.category == split.category)
        largest = max(amounts.values()) / (sum(amounts.values()) or 1) if amounts else 0.0
        yield Reached(f"split.{place}", largest, split.max_share)
    for sku, hot in run.hot_spares.items():
        if hot:
            yield Reached(f"hot_spares.{sku}", bill.cluster[sku] - run.systems[sku], hot)


def _fabrics(plan: Plan) -> Iterator[Reached]:
    """Yield the ports of each fabric whose size is checked; a plan lists the largest ones."""
    for fabric in plan.fabrics:
        if fabric.network != "out_of_band":
            ports, most = (n / fabric.parts_per_port for n in (fabric.endpoints, fabric.capacity))
            yield Reached(f"fabric.{fabric.network}", ports, most, listed=False)


def _item_limits(basis: Basis, bill: Bill, sku: str) -> Iterator[Reached]:
    """Yield the limits that catalog, price and problem set on the units of an item."""
    item, rule, price = basis.items[sku], basis.rule(sku), basis.inputs.prices.get(sku)
    count, in_place = {**bill.companions, **bill.cluster}.get(sku, 0), bill.in_place.get(sku, 0)
    for name in ("min_units", "max_units") if count else ():
        figure = getattr(item, name)
        if figure is not None:
            yield Reached(f"{name}.{sku}", count, figure.value)
    bought = basis.bought(item, count) if count else 0
    stock = rule.stock if rule.stock is not None or price is None else price.stock
    if stock is not None and bought:
        yield Reached(f"stock.{sku}", bought, stock)
    name = f"items.{sku}"
    if rule.fixed is not None:
        yield Reached(f"{name}.fixed", in_place, rule.fixed, rule.fixed > 0 or in_place > 0)
    if rule.min is not None:
        yield Reached(f"{name}.min", in_place, rule.min, rule.min > 0)
    if rule.max is not None:
        yield Reached(f"{name}.max", in_place, rule.max, in_place > 0)
    if bill.standing.get(sku, 0) > bill.cluster.get(sku, 0):
        yield Reached(f"{name}.installed", in_place, basis.sale(item).owned)


# The plan's list of limits.


def check_limits(found: Findings, plan: Plan, bill: Bill, run: Run) -> None:
    """Require that every limit holds and is listed with its numbers, and no other is."""
    parts = _supplies(plan, run), _times(run), _storage(plan, run), _counts(bill, run)
    expected = {limit.name: limit for limit in chain(*parts, _fabrics(plan))}
    _check_interval(found, run, expected)
    for limit in expected.values():
        if not limit.holds:
            found.breach(limit.name, f"broken limit: {limit.text}")
    for report in plan.limits:
        name, known = f"limits.{report.name}", expected.pop(report.name, None)
        text = f"{name}: the problem has no such limit, or it is listed twice"
        if not found.require(known is not None, text) or known is None or known.value is None:
            continue
        row, reached, limit_at = known.row, known.value, known.limit
        own = {"value": Near(reached, NEARLY_ZERO * abs(limit_at)), "limit": limit_at}
        own |= {"unit": row.unit, "exact": row.exact}
        if not row.exact:
            slack = Near(known.slack, RELATIVE * max(abs(reached), abs(limit_at)))
            own |= {"sense": row.sense, "slack": Either((slack, max(0.0, known.slack)))}
        found.expect(name, report, own)
        text = f"{name}.binding: no slack, yet plan says not binding"
        found.require(report.binding or not agrees(reached, limit_at), text)
    for name, limit in expected.items():
        found.require(not limit.listed, f"limits.{name}: missing, {limit.text}")


def _check_interval(found: Findings, run: Run, reached: Mapping[str, Reached]) -> None:
    """Require a fixed interval; of an open one, the best goodput that limits allow.

    A limit in ``OF_INTERVAL`` is reached at the stated interval times its value over its limit.
    """
    j, saved, name = run.j, run.basis.job.checkpoint, "jobs.interval_s"
    policy, local = saved.interval, saved.local
    if isinstance(policy, FixedInterval):
        if not agrees(j.interval_s, policy.every_s):
            found.breach(name, f"plan says {j.interval_s:g} s, policy asks {policy.every_s:g} s")
        return
    if not policy.min_s * (1 - TIMED) <= j.interval_s <= policy.max_s * (1 + TIMED):
        text = f"{j.interval_s:g} s is outside {policy.min_s:g} to {policy.max_s:g} s"
        found.breach(name, text)
        return
    for every in local.every if run.every and local is not None else (0,):
        shortest_s = policy.min_s
        for each in (reached[name] for name in OF_INTERVAL if name in reached):
            of_remote = every and not each.name.startswith("local")
            share = (each.value or 0.0) / each.limit * (run.every / every if of_remote else 1.0)
            shortest_s = max(shortest_s, j.interval_s * share)
        if not every or shortest_s <= policy.max_s:
            tried = np.geomspace(shortest_s, max(policy.max_s, shortest_s), TRIED)
            worth = physics.goodput(run.times(tried, every))
            best = worth.argmax()
            if j.goodput < worth[best] * (1 - BEST_WITHIN):
                text = f"{tried[best]:g} s gives a goodput of {worth[best]:.12g}"
                found.breach(name, f"{j.interval_s:g} s is not the best allowed interval: {text}")


# The objective and its proof.


def check_objective(found: Findings, plan: Plan, run: Run) -> None:
    """Recompute the objective's value; require a best value, bound and gap that fit it."""
    asked, goal, totals = run.basis.problem.objective, plan.objective, plan.totals
    row, sign = OBJECTIVES[asked.name], -1.0 if asked.minimize else 1.0
    own = getattr(totals if hasattr(totals, row.figure.name) else run.j, row.figure.name)
    fields = {"name": asked.name, "sense": row.sense, "unit": row.unit, "value": own}
    found.expect("objective", goal, {**fields, "indifference": asked.indifferent})
    if not found.require(None not in (goal.best, own), "objective.best: missing"):
        return
    best, proven = goal.best or 0.0, plan.status == "optimal" or goal.gap is not None
    for field, share, worse, better in (
        ("near_optimal_loss", goal.near_optimal_loss, own, best),
        ("gap", goal.gap if proven else 0.0, best, goal.bound if proven else best),
    ):
        if not found.require(None not in (share, better), f"objective.{field}: missing"):
            continue
        ahead = sign * ((better or 0.0) - worse)
        own_share = max(0.0, ahead) / abs(best) if best else share
        near = math.isclose(share or 0.0, own_share or 0.0, rel_tol=1e-6, abs_tol=GAP_NOISE)
        right = ahead >= -RELATIVE * max(abs(better or 0.0), abs(worse))
        found.require(right, f"objective: {better!r} is worse than {worse:.12g}")
        found.require(near, f"objective.{field}: plan says {share!r}, own {own_share:.12g}")
    prefer, away, gap = run.basis.problem.policy.prefer, goal.near_optimal_loss, goal.gap or 0.0
    kept = (1 - sign * (prefer.within if prefer else 0.0)) * (1 - sign * asked.indifferent)
    most = sign * (1 - kept * (1 + TIES) ** -sign)
    small = (away or 0.0) <= most
    found.require(small, f"objective.near_optimal_loss: {away} exceeds {most:.6g}")
    within = gap <= goal.gap_asked + GAP_NOISE or plan.status != "optimal"
    found.require(within, f"status: optimal, but the gap is {gap}")
    capex_usd, cheapest = (totals.capex_usd or 0.0 if totals else 0.0), goal.best_capex_usd
    dearer = prefer is None and cheapest is not None and cheapest < capex_usd * (1 - TIES)
    found.require(not dearer, f"objective.best_capex_usd: {cheapest} is less than {capex_usd}")
