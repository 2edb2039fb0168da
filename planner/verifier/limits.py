"""Limits kept and listed; an open interval at its best; the objective with its gap."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np

from planner.figures import FIGURES
from planner.limits import TIMED, Group, Limit, named, of_group
from planner.paths import value_at
from planner.schema.job import FixedInterval
from planner.schema.plan import Plan
from planner.schema.problem import CustomRule, Problem
from planner.verifier import physics
from planner.verifier.basis import RELATIVE, Findings, Near, agrees, times, total, value, write
from planner.verifier.bill import Bill
from planner.verifier.job import Run
from planner.verifier.physics import replica_gpus

OF_INTERVAL = ["overlap", "blocking", "drain_fits", "local_fits", "burst_recovery", "endurance"]
"""Limits that a longer interval keeps."""
UNLISTED = ("gpu_types", "fabric.")
"""Limits that a plan lists only where they decide."""
NOTHING = 1e-9
"""Bandwidth in place of none, GB/s."""
BEST_WITHIN = 1e-9
GAP_NOISE = 1e-9
TRIED = 4001
"""Intervals among which a better one is looked for."""
TIES = 2e-6
"""Share of the objective that breaking ties may take, each of a few times."""
INDIFFERENT = 0.005
"""Default share within which plans are equal, of an objective that is not money."""
PROVEN = 4e-6
"""Share by which search and integer program may differ."""
OBJECTIVE = {
    "goodput": "useful_pflops",
    "gpus": "gpus_used",
    "cost": "capex_usd",
    "tco": "tco_usd",
    "power": "it_power_kw",
    "heat": "heat_btu_per_h",
}
"""Figure of an objective, where it is not named alike."""
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
    """A limit with the value that the plan reaches."""

    name: str
    value: float
    limit: float

    @property
    def holds(self) -> bool:
        """True if the plan keeps the limit within its tolerance."""
        row = named(self.name)
        allowed = row.tolerance * max(abs(self.value), abs(self.limit))
        slack = row.looser * (self.limit - self.value)
        return slack >= -allowed and (not row.exact or abs(slack) <= allowed)

    @property
    def text(self) -> str:
        """The limit with its value in words."""
        row = named(self.name)
        sense = "=" if row.exact else row.sense
        return f"plan reaches {write(self.value)}, limit {sense} {self.limit:.12g} {row.unit}"


def given(problem: Problem, *groups: Group) -> Iterator[tuple[Limit, float]]:
    """Yield the limits of some groups that the problem gives, each with its number."""
    for row in of_group(*groups):
        limit = value_at(problem, row.path)
        feeds = problem.site.feeds if row.name == "facility_power" else None
        if feeds is not None:
            left = {"N": feeds.count, "N+1": feeds.count - 1, "2N": feeds.count // 2}
            limit = min(limit or math.inf, feeds.power_kw * left[feeds.redundancy])
        if limit is not None:
            yield row, limit


def _reached(plan: Plan, run: Run) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield name, value and limit of every limit on the whole; no limit or no value: none there."""
    problem, totals, f, j, job = run.basis.problem, plan.totals, run.f, run.j, run.job
    saved, local, sync, rule = job.checkpoint, f.local, j.mode == "sync", problem.storage.rule
    assert totals is not None
    for row, limit in given(problem, "supply", "ratio", "target"):
        reached = getattr(totals if hasattr(totals, row.figure) else f, row.figure)
        if row.known_part:
            lines = (line for line in plan.lines if line.parent is None)
            reached = sum(getattr(line, row.figure) or 0.0 for line in lines)
        yield row.name, math.nan if reached is None else reached, limit
    restore_s, write_s, stall_s, ingest = f.restore_s, f.drain_s, f.stall_s, None
    if f.degraded_write_gb_per_s is not None:
        restore_s = f.fan_out * f.checkpoint_gb / max(NOTHING, f.degraded_read_gb_per_s)
        write_s = f.checkpoint_gb / max(NOTHING, f.degraded_write_gb_per_s)
        stall_s = write_s if sync else stall_s
    if f.ingest_demand_gb_per_s > 0:
        ingest = f.ingest_demand_gb_per_s
    yield "gpu_types", len(run.systems), job.gpus.max_types
    yield "lead_time", totals.lead_time_days or 0.0, problem.targets.max_lead_time_days
    yield "capacity", totals.usable_tb or 0.0, f.capacity_needed_tb
    yield "restore_time", restore_s, job.restore.max_time_s
    yield "blocking", stall_s / j.interval_s if sync else None, saved.max_blocking
    overlap = write_s / run.to_storage_s
    yield "overlap", None if sync or rule != "demand" else overlap, saved.max_overlap
    drains_s = write_s if local else stall_s + write_s
    yield "drain_fits", None if sync else drains_s, run.to_storage_s
    yield "ingest", ingest, f.delivered_read_gb_per_s
    least = None if job.parallelism is None else replica_gpus(job.parallelism)
    for name, gpus in (
        ("replica_fits", least),
        ("gpus_min", job.gpus.min),
        ("gpus_max", job.gpus.max),
    ):
        yield name, j.gpus_used, gpus
    if local is not None:
        swap_s = 0.0 if job.repair is None else job.repair.swap_s
        yield "local_fits", stall_s + local["drain_s"], j.interval_s
        yield "local_lag", local["restart_s"] + swap_s + local["drain_s"], f.mtti_s
        yield "local_room", local["room_tb"], local["capacity_tb"]
    if f.bulk is not None:
        yield "bulk_capacity", f.bulk["usable_tb"], f.bulk["needed_tb"]
        yield "bulk_read", ingest, f.bulk["delivered_read_gb_per_s"]
        yield "staging", ingest, f.bulk["staging_gb_per_s"]
    if f.burst is not None:
        yield "burst_recovery", f.burst["recovery_s"], run.to_storage_s
    worn = run.basis.flash(run.counts).items()
    endured = total(times(run.basis.unit_endurance(sku), count) for sku, count in worn)
    yield "endurance", f.write_volume_tb_per_day, endured
    if rule != "demand":
        of = (rule.read, rule.write, 1) if isinstance(rule, CustomRule) else RULES[rule]
        groups = -(-totals.gpus // of[2])
        yield "rule_read", totals.nameplate_read_gb_per_s, groups * of[0]
        yield "rule_write", totals.nameplate_write_gb_per_s, groups * of[1]


def _counted(plan: Plan, bill: Bill, run: Run) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield name, value and limit of every limit on counts; those of 0 need no line."""
    basis, policy = run.basis, run.basis.problem.policy
    for sku in {*bill.in_place, *basis.problem.items} & basis.items.keys():
        item, rule, price = basis.items[sku], basis.rule(sku), basis.inputs.prices.get(sku)
        count, here = {**bill.companions, **bill.cluster}.get(sku), bill.in_place.get(sku, 0)
        bought, owned = (basis.bought(item, count) if count else 0), basis.sale(item).owned
        stock = rule.stock if rule.stock is not None or price is None else price.stock
        idle = bill.standing.get(sku, 0) > bill.cluster.get(sku, 0)
        yield f"min_units.{sku}", count, value(item.min_units)
        yield f"max_units.{sku}", count, value(item.max_units)
        yield f"stock.{sku}", bought or None, stock
        yield f"items.{sku}.fixed", here, rule.fixed
        yield f"items.{sku}.min", here, rule.min
        yield f"items.{sku}.max", here, rule.max
        yield f"items.{sku}.installed", here, owned if idle else None
    kinds = [(basis.items[sku], count) for sku, count in bill.cluster.items()]
    for family in basis.inputs.families:
        units = sum(n for item, n in kinds if item.family == family.id)
        yield f"family_max_units.{family.id}", units, value(family.max_units)
    for place, vendor in enumerate(policy.require_vendors):
        yield f"require_vendor.{place}", sum(n for i, n in kinds if i.vendor == vendor), 1
    for place, split in enumerate(policy.split):
        of_kind = [(item.vendor, n) for item, n in kinds if item.category == split.category]
        amounts = [sum(n for vendor, n in of_kind if vendor == each) for each, _ in of_kind]
        largest = max(amounts, default=0) / (sum(n for _, n in of_kind) or 1)
        yield f"split.{place}", largest, split.max_share
    for fabric in plan.fabrics:
        if fabric.network != "out_of_band":
            ports, most = (n / fabric.parts_per_port for n in (fabric.endpoints, fabric.capacity))
            yield f"fabric.{fabric.network}", ports, most


def check_limits(found: Findings, plan: Plan, bill: Bill, run: Run) -> None:
    """Require that every limit holds and is listed with its numbers, and no other is."""
    parts = chain(_reached(plan, run), _counted(plan, bill, run))
    limits = {
        name: Reached(name, reached, limit)
        for name, reached, limit in parts
        if reached is not None and limit is not None
    }
    if (wrong := best_interval(run, limits)) is not None:
        found.breaches += (("jobs.interval_s", wrong),)
    stated = {report.name: report for report in plan.limits}
    once = len(stated) == len(plan.limits) and stated.keys() <= limits.keys()
    text = f"limits: listed twice, or not of the problem: {sorted(stated.keys() - limits.keys())}"
    found.require(once, text)
    for name, each in limits.items():
        if not each.holds:
            found.breaches += ((name, f"broken limit: {each.text}"),)
        if name in stated:
            own = {"value": Near(each.value, 1e-12 * abs(each.limit)), "limit": each.limit}
            found.expect(f"limits.{name}", stated[name], own)
        else:
            needless = name.startswith(UNLISTED) or 0 in (each.value, each.limit)
            found.require(needless, f"limits.{name}: missing, {each.text}")


def best_interval(run: Run, reached: Mapping[str, Reached]) -> str | None:
    """Require a fixed interval; of an open one, the best goodput that limits allow.

    A limit in ``OF_INTERVAL`` is reached at the stated interval times its value over its limit.
    """
    interval_s, policy = run.j.interval_s, run.job.checkpoint.interval
    if isinstance(policy, FixedInterval):
        same = agrees(interval_s, policy.every_s)
        return None if same else f"plan says {interval_s:g} s, policy asks {policy.every_s:g} s"
    if not policy.min_s * (1 - TIMED) <= interval_s <= policy.max_s * (1 + TIMED):
        return f"{interval_s:g} s is outside {policy.min_s:g} to {policy.max_s:g} s"
    local = run.job.checkpoint.local
    for every in local.every if run.every and local is not None else (0,):
        shortest_s = policy.min_s
        for each in (reached[limit] for limit in OF_INTERVAL if limit in reached):
            of_remote = every and each.name != "local_fits"
            share = each.value / each.limit * (run.every / every if of_remote else 1.0)
            shortest_s = max(shortest_s, interval_s * share)
        if not every or shortest_s <= policy.max_s:
            tried = np.geomspace(shortest_s, max(policy.max_s, shortest_s), TRIED)
            worth = physics.goodput(run.times(tried, every))
            best = worth.argmax()
            if run.f.goodput < worth[best] * (1 - BEST_WITHIN):
                text = f"{tried[best]:g} s gives a goodput of {worth[best]:.12g}"
                return f"{interval_s:g} s is not the best allowed interval: {text}"
    return None


def check_objective(found: Findings, plan: Plan, run: Run) -> None:
    """Recompute the objective's value; require a best value, bound and gap that fit it."""
    asked, goal, totals = run.basis.problem.objective, plan.objective, plan.totals
    name, sign = OBJECTIVE.get(asked.name, asked.name), -1.0 if asked.minimize else 1.0
    own = getattr(totals if hasattr(totals, name) else run.f, name)
    free = 0.0 if asked.minimize == "cost" else asked.indifference
    if free is None:
        free = 0.0 if FIGURES[name].money else INDIFFERENT
    fields = {"name": asked.name, "value": own, "unit": FIGURES[name].unit}
    fields |= {"sense": "minimize" if asked.minimize else "maximize"}
    fields |= {"indifference": free, "gap_asked": plan.provenance.gap}
    found.expect("objective", goal, fields)
    if goal.log_value is not None and own:
        found.expect("objective.log_value", goal.log_value, Near(math.log(own), GAP_NOISE))
    best, proven = goal.best, plan.status == "optimal" or goal.gap is not None
    bound, gap = (goal.bound, goal.gap) if proven else (best, 0.0)
    if not found.require(None not in (best, own, bound, gap), "objective.best: missing"):
        return
    assert best is not None and bound is not None and gap is not None
    given_away, prefer = goal.near_optimal_loss or 0.0, run.basis.problem.policy.prefer
    for field, share, worse, better in (
        ("near_optimal_loss", given_away, own, best),
        ("gap", gap, best, bound),
    ):
        ahead = sign * (better - worse)
        own_share = max(0.0, ahead) / abs(best) if best else share
        near = math.isclose(share, own_share, rel_tol=1e-6, abs_tol=GAP_NOISE)
        right = ahead >= -RELATIVE * max(abs(better), abs(worse))
        found.require(right, f"objective: {better!r} is worse than {worse:.12g}")
        found.require(near, f"objective.{field}: plan says {share!r}, own {own_share:.12g}")
    kept = (1 - sign * (prefer.within if prefer else 0.0)) * (1 - sign * free)
    most = sign * (1 - kept * (1 + TIES) ** -sign)
    text = f"objective.near_optimal_loss: {given_away} exceeds {most:.6g}"
    found.require(given_away <= most, text)
    within = gap <= goal.gap_asked + GAP_NOISE or plan.status != "optimal"
    found.require(within, f"status: optimal, but the gap is {gap}")
    if goal.best_capex_usd is not None and totals is not None and prefer is None:
        least = (totals.capex_usd or 0.0) * (1 - PROVEN)
        found.at_most("objective.best_capex_usd: of the cheapest", least, goal.best_capex_usd)
    program, capex_usd = goal.program, totals.capex_usd if totals else None
    pairs = ("value", best), ("bound", best), ("capex_usd", capex_usd)
    for field, known in (*pairs, ("capex_bound_usd", capex_usd)):
        stated = getattr(program, field, None)
        if program is not None and program.status == "optimal" and stated and known is not None:
            own_value = Near(known, PROVEN * abs(known))
            found.expect(f"objective.program.{field}", stated, own_value)
