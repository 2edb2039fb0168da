"""Every limit of the problem kept and listed; the best interval; the objective with its gap."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from planner.figures import OBJECTIVES
from planner.limits import TIMED, Group, Limit, named, of_group
from planner.paths import value_at
from planner.schema.plan import LimitReport, Plan
from planner.schema.problem import CustomRule, FixedInterval, LostWorkInterval, Problem, Split
from planner.schema.site import Site
from planner.verifier.basis import Basis
from planner.verifier.bill import Bill
from planner.verifier.goodput import DAY_S, peak
from planner.verifier.job import Run
from planner.verifier.ledger import RELATIVE, Ledger, agrees, write
from planner.verifier.operation import Operation, hot_spares
from planner.verifier.published import RULES
from planner.verifier.racks import rack_needs, takes
from planner.verifier.rates import batch_gpus, replica_gpus

BEST_WITHIN = 1e-6
GAP_NOISE = 1e-9
TIES = 2e-6
"""Share of the objective that breaking ties may take, each of a few times."""


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
        if self.value is None:
            return -math.inf
        return self.row.looser * (self.limit - self.value)

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


@dataclass(frozen=True)
class Found:
    """A plan as recomputed: basis, bill, totals and operation."""

    basis: Basis
    plan: Plan
    bill: Bill
    totals: Mapping[str, Any]
    operation: Operation

    @property
    def run(self) -> Run:
        """The job's decisions."""
        return self.operation.run

    @property
    def values(self) -> dict[str, Any]:
        """Totals and figures of the job by name."""
        return {**self.operation.figures, **self.totals}


def check_limits(ledger: Ledger, found: Found) -> None:
    """Require that every limit holds and is listed with its numbers, and no other is."""
    every = (_supplies, _positions, _checkpoints, _storage, _targets, _counts, _policy)
    expected = {limit.name: limit for of in every for limit in of(found)}
    for limit in expected.values():
        if not limit.holds:
            ledger.breach(limit.name, f"broken limit: {limit.text}")
    _check_interval(ledger, found)
    listed = [report.name for report in found.plan.limits]
    for report in found.plan.limits:
        name = f"limits.{report.name}"
        if report.name not in expected or listed.count(report.name) > 1:
            ledger.fail(f"{name}: the problem has no such limit, or it is listed twice")
        else:
            _check_report(ledger, name, report, expected[report.name])
    for limit in expected.values():
        if limit.listed and limit.name not in listed:
            ledger.fail(f"limits.{limit.name}: missing, {limit.text}")


def _check_report(ledger: Ledger, name: str, report: LimitReport, limit: Reached) -> None:
    row = limit.row
    own = {"value": limit.value, "limit": limit.limit, "unit": row.unit, "exact": row.exact}
    ledger.all_same(name, report, own if row.exact else {**own, "sense": row.sense})
    if limit.value is None:
        return
    slack, scale = 0.0 if row.exact else limit.slack, max(abs(limit.value), abs(limit.limit))
    near = math.isclose(report.slack, slack, rel_tol=RELATIVE, abs_tol=RELATIVE * scale)
    if not near and not (report.slack == 0 and slack < 0):
        ledger.same(f"{name}.slack", report.slack, slack)
    if agrees(limit.value, limit.limit):
        ledger.require(report.binding, f"{name}.binding: no slack, yet plan says not binding")


def facility_limit_kw(site: Site) -> float | None:
    """Return the power limit at the meter: as given, and with the feeds' redundancy kept."""
    limits = [] if site.facility_power_kw is None else [site.facility_power_kw]
    if site.feeds is not None:
        left = {"N": 1.0, "N+1": 1.0 - 1.0 / site.feeds.count, "2N": 0.5}[site.feeds.redundancy]
        limits.append(site.feeds.power_kw * site.feeds.count * left)
    return min(limits, default=None)


def given(problem: Problem, *groups: Group) -> Iterator[tuple[Limit, float]]:
    """Yield the limits of some groups that the problem gives, each with its number."""
    site = problem.site
    racks = site.racks
    for row in of_group(*groups):
        limit = value_at(problem, row.path)
        if row.name == "facility_power":
            limit = facility_limit_kw(site)
        if row.name == "racks" and isinstance(racks, tuple):
            limit = sum(group.count for group in racks)
        if limit is not None:
            yield row, limit


def _supplies(found: Found) -> Iterator[Reached]:
    basis, values = found.basis, found.values
    for row, limit in given(basis.problem, "supply", "ratio"):
        value = values[row.figure]
        if row.known_part:
            parts = [
                (basis.stated(basis.items[s], row.figure), n)
                for s, n in found.bill.in_place.items()
            ]
            value = sum(each * count for each, count in parts if each is not None)
        yield Reached(row.name, value, limit)
    most_days, days = basis.problem.targets.max_lead_time_days, values["lead_time_days"]
    if most_days is not None:
        yield Reached("lead_time", days or 0.0, most_days, listed=days is not None)


def _positions(found: Found) -> Iterator[Reached]:
    """Yield, for each set of position groups, the racks that fit no other."""
    groups, wanted = found.basis.problem.site.positions, []
    for each in found.bill.room.sets if groups else ():
        needs = rack_needs(found.basis, each.sku if each.product else None, each.rack_class)
        fitting = {n for n, group in enumerate(groups) if takes(group, *needs)}
        wanted.append((fitting, each.racks))
    for bits in range(2 ** len(groups) - 1):  # all groups together: the limit on racks
        chosen = {n for n in range(len(groups)) if bits >> n & 1}
        racks = sum(count for fitting, count in wanted if fitting <= chosen)
        most, name = sum(groups[n].count for n in chosen), "_".join(map(str, sorted(chosen)))
        yield Reached(f"rack_positions.{name or 'none'}", racks, most, listed=racks > most)


def _checkpoints(found: Found) -> Iterator[Reached]:
    run, checkpoint, times = found.run, found.run.job.checkpoint, found.operation.times
    stall_s, drain_s, restore_s = found.operation.worst_times
    if run.job.restore.max_time_s is not None:
        yield Reached("restore_time", restore_s, run.job.restore.max_time_s)
    if run.mode == "sync":
        yield Reached("blocking", stall_s / run.interval_s, checkpoint.max_blocking)
        return
    if found.basis.problem.storage.rule == "demand":
        yield Reached("overlap", drain_s / run.remote_s, checkpoint.max_overlap)
    if not run.every:
        yield Reached("drain_fits", stall_s + drain_s, run.interval_s)
        return
    near, repair = run.local_limits(), run.job.repair
    longest_s = times.near_restart_s + (0.0 if repair is None else repair.swap_s)
    yield Reached("drain_fits", drain_s, run.remote_s)
    yield Reached("local_fits", stall_s + times.near_drain_s, run.interval_s)
    yield Reached("local_lag", longest_s + times.near_drain_s, times.mtti_s)
    yield Reached("local_room", near["room_tb"], near["capacity_tb"])
    if near["endurance_tb_per_day"] is not None:
        yield Reached("local_endurance", near["volume_tb_per_day"], near["endurance_tb_per_day"])


def endurance_tb_per_day(run: Run) -> float | None:
    """Return the write endurance of the storage in use, TB per day; None where one has none."""
    stored = run.basis.flash(run.counts)
    rated = [(_unit_endurance(run.basis, sku), count) for sku, count in stored.items()]
    known = [each * count for each, count in rated if each is not None]
    return sum(known) if len(known) == len(rated) else None


def _unit_endurance(basis: Basis, sku: str) -> float | None:
    """Return what one unit endures, TB per day: as stated, or by the flash in it."""
    item, asked = basis.items[sku], basis.problem.storage
    stated = item.provides.endurance
    if asked.endurance == "off" or (stated is None and asked.endurance == "stated"):
        return None
    if stated is not None:
        return stated.value
    inside = [(basis.items[part.id], part.quantity) for part in item.components] or [(item, 1)]
    endured = []
    for kind, often in (("tlc", 1.0), ("qlc", 0.5), ("scm", 30.0)):
        raw_tb = sum(n * m.raw_tb for part, n in inside for m in part.media if m.type == kind)
        if raw_tb > 0:
            endured.append(often * raw_tb)
    return min(endured, default=None)


def _storage(found: Found) -> Iterator[Reached]:
    values, storage = found.values, found.basis.problem.storage
    needed = values["capacity_needed_tb"]
    yield Reached("capacity", values["usable_tb"], needed, listed=needed > 0)
    if found.run.job.ingest_per_gpu_gb_per_s > 0:
        data = values["client_data_limit_gb_per_s"]
        stored = values["stored_read"]
        read = values["delivered_read_gb_per_s"] if data is None else min(data, stored)
        yield Reached("ingest", values["ingest_gb_per_s"], read)
    if found.run.job.in_bulk:
        usable_tb, read = found.run.bulk
        yield Reached("bulk_capacity", usable_tb, values["bulk"]["needed_tb"])
        if found.run.job.ingest_per_gpu_gb_per_s > 0:
            yield Reached("bulk_read", values["ingest_gb_per_s"], read)
            most = values["bulk"]["staging_gb_per_s"]
            yield Reached("staging", values["ingest_gb_per_s"], most)
    if values["burst"] is not None:
        yield Reached("burst_recovery", values["burst"]["recovery_s"], found.run.remote_s)
    endured = endurance_tb_per_day(found.run)
    if endured is not None:
        yield Reached("endurance", values["write_volume_tb_per_day"], endured)
    rule = storage.rule
    if rule == "demand":
        return
    asked_rule = rule if isinstance(rule, CustomRule) else RULES[rule]
    for side, each in (("read", asked_rule.read), ("write", asked_rule.write)):
        asked = -(-values["gpus"] // asked_rule.per_gpus) * each
        yield Reached(f"rule_{side}", values[f"{side}_gb_per_s"], asked, listed=asked > 0)


def _targets(found: Found) -> Iterator[Reached]:
    run, bounds, option = found.run, found.run.job.gpus, found.run.job.parallelism
    if option is not None:
        yield Reached("replica_fits", run.gpus, replica_gpus(option))
        law = run.job.training.scale
        if law is not None and law.micro_batches is not None:
            most = law.micro_batches * batch_gpus(option)
            yield Reached("micro_batches", run.gpus, most)
    if bounds.min is not None:
        yield Reached("gpus_min", run.gpus, bounds.min)
    if bounds.max is not None:
        yield Reached("gpus_max", run.gpus, bounds.max)
    for row, limit in given(found.basis.problem, "target"):
        yield Reached(row.name, found.values[row.figure], limit)


def _counts(found: Found) -> Iterator[Reached]:
    basis, bill = found.basis, found.bill
    for sku in {**bill.in_place, **basis.problem.items}:
        if sku in basis.items:
            yield from _of_catalog(found, sku)
            yield from _of_rule(found, sku)
    for family in basis.inputs.families:
        units = sum(n for sku, n in bill.cluster.items() if basis.items[sku].family == family.id)
        if family.max_units is not None:
            name = f"family_max_units.{family.id}"
            yield Reached(name, units, family.max_units.value, listed=units > 0)
    types = len(found.run.systems)
    yield Reached("gpu_types", types, found.run.job.gpus.max_types, listed=False)


def _of_catalog(found: Found, sku: str) -> Iterator[Reached]:
    """Yield the limits that a catalog or a price sets on the units in use of an item."""
    basis, item = found.basis, found.basis.items[sku]
    count = {**found.bill.companions, **found.bill.cluster}.get(sku, 0)
    for name in ("min_units", "max_units") if count else ():
        figure = getattr(item, name)
        if figure is not None:
            yield Reached(f"{name}.{sku}", count, figure.value)
    price, own = basis.inputs.prices.get(sku), basis.demand(sku).stock
    stock = own if own is not None or price is None else price.stock
    bought = basis.bought(item, count) if count else 0
    if stock is not None and bought:
        yield Reached(f"stock.{sku}", bought, stock)


def _of_rule(found: Found, sku: str) -> Iterator[Reached]:
    """Yield the limits that the problem sets on the units in place of an item."""
    rule, in_place = found.basis.demand(sku), found.bill.in_place.get(sku, 0)
    least = max(rule.min or 0, int(rule.required))
    if rule.fixed is not None:
        listed = rule.fixed > 0 or in_place > 0
        yield Reached(f"items.{sku}.fixed", in_place, rule.fixed, listed=listed)
    if rule.min is not None or rule.required:
        yield Reached(f"items.{sku}.min", in_place, least, listed=least > 0)
    if rule.max is not None:
        yield Reached(f"items.{sku}.max", in_place, rule.max, listed=in_place > 0)
    if found.bill.standing.get(sku, 0) > found.bill.cluster.get(sku, 0):
        owned = found.basis.sale(found.basis.items[sku]).owned
        yield Reached(f"items.{sku}.installed", in_place, owned)


def _policy(found: Found) -> Iterator[Reached]:
    basis, cluster, policy = found.basis, found.bill.cluster, found.basis.problem.policy
    for place, vendor in enumerate(policy.require_vendors):
        units = sum(n for sku, n in cluster.items() if basis.items[sku].vendor == vendor)
        yield Reached(f"require_vendor.{place}", units, 1)
    for place, split in enumerate(policy.split):
        yield Reached(f"split.{place}", _largest_share(basis, cluster, split), split.max_share)
    families = basis.problem.storage.exact_families
    if families is not None:
        yield Reached("exact_families", len(found.run.families), families)
    for sku, hot in hot_spares(found.run).items():
        if hot:
            yield Reached(f"hot_spares.{sku}", cluster[sku] - found.run.systems[sku], hot)


def _largest_share(basis: Basis, cluster: Mapping[str, int], split: Split) -> float:
    """Return the largest vendor's share of the units of a category; 0 of nothing."""
    amounts: dict[str, float] = {}
    for sku, count in basis.of_kind(cluster, split.category).items():
        item = basis.items[sku]
        amounts[item.vendor] = amounts.get(item.vendor, 0.0) + count
    total = sum(amounts.values())
    return max(amounts.values()) / total if total else 0.0


# The interval.


def _check_interval(ledger: Ledger, found: Found) -> None:
    """Require the policy's interval; of an open one, the goodput of the best that limits allow."""
    run, name, policy = found.run, "jobs.interval_s", found.run.job.checkpoint.interval
    if isinstance(policy, (FixedInterval, LostWorkInterval)):
        mtti_s: float = found.values["mtti_s"]
        asked = policy.every_s if isinstance(policy, FixedInterval) else policy.kappa * mtti_s
        if not agrees(run.interval_s, asked):
            ledger.breach(name, f"plan says {run.interval_s:.12g} s, policy asks {asked:.12g} s")
        return
    low_s, high_s = policy.min_s * (1 - TIMED), policy.max_s * (1 + TIMED)
    if not low_s <= run.interval_s <= high_s:
        text = f"{run.interval_s:.12g} s is outside {policy.min_s:g} to {policy.max_s:g} s"
        ledger.breach(name, text)
        return
    local = run.job.checkpoint.local
    for every in local.every if run.every and local is not None else (0,):
        shortest_s = max(policy.min_s, shortest_interval_s(found, every))
        if every and shortest_s > policy.max_s:
            continue
        longest_s = max(policy.max_s, shortest_s)
        best_s = min(max(found.values["exact_s"], shortest_s), longest_s)
        if every:
            best_s = peak(partial(found.operation.goodput_at, every=every), shortest_s, longest_s)
        best = found.operation.goodput_at(best_s, every)
        if found.values["goodput"] < best * (1 - BEST_WITHIN):
            each = f", every {every}th to storage" if every else ""
            text = (
                f"{run.interval_s:.12g} s is not the best allowed interval: {best_s:.12g} s{each}"
            )
            ledger.breach(name, f"{text} gives a goodput of {best:.12g}")


def shortest_interval_s(found: Found, every: int) -> float:
    """Return the shortest interval that overlap, stall, drains and endurance allow, s."""
    run, checkpoint = found.run, found.run.job.checkpoint
    stall_s, drain_s, _ = found.operation.worst_times
    if run.mode == "sync" and not every:
        shortest_s = stall_s / checkpoint.max_blocking
    else:
        by_demand = found.basis.problem.storage.rule == "demand"
        shortest_s = drain_s / (checkpoint.max_overlap if by_demand else 1.0)
    if run.burst is not None:
        shortest_s = max(shortest_s, run.burst["recovery_s"])
    endured = endurance_tb_per_day(run)
    if endured is not None:
        shortest_s = max(shortest_s, found.values["checkpoint_gb"] / 1000 * DAY_S / endured)
    if not every:
        return shortest_s if run.mode == "sync" else max(shortest_s, stall_s + drain_s)
    drives = list(run.drives())
    worn = [d.part_gb / 1000 * DAY_S / d.endurance for d in drives if d.endurance is not None]
    near_drain_s = max(drive.part_gb / drive.write_gb_per_s for drive in drives)
    return max(shortest_s / every, stall_s + near_drain_s, *worn)


# The objective.


def check_objective(ledger: Ledger, found: Found) -> None:
    """Recompute the objective's value; require a best value, bound and gap that fit it."""
    plan, asked, stated = found.plan, found.basis.problem.objective, found.plan.objective
    name = asked.maximize or asked.minimize or ""
    value = found.values[OBJECTIVES[name].figure.name]
    sense = "maximize" if asked.maximize else "minimize"
    own = {"name": name, "sense": sense, "unit": OBJECTIVES[name].unit, "value": value}
    ledger.all_same("objective", stated, {**own, "indifference": asked.indifferent})
    if value is None or stated.best is None:
        missing = "value: not known" if value is None else "best: missing"
        ledger.fail(f"objective.{missing}")
        return
    prefer, maximise = found.basis.problem.policy.prefer, sense == "maximize"
    within, indifferent = 0.0 if prefer is None else prefer.within, asked.indifferent
    most = 1 - (1 - within) * (1 - indifferent) / (1 + TIES)
    if not maximise:
        most = (1 + within) * (1 + indifferent) * (1 + TIES) - 1
    steps: list[tuple[str, float | None, float, float | None]]
    steps = [("given_away", stated.given_away, value, stated.best)]
    if stated.bound is not None or stated.gap is not None or plan.status == "optimal":
        steps.append(("gap", stated.gap, stated.best, stated.bound))
    for field, said, worse, better in steps:
        if said is None or better is None:
            ledger.fail(f"objective.{field}: missing, or what it follows from")
            continue
        ahead = better - worse if maximise else worse - better
        own_share = max(0.0, ahead) / abs(stated.best) if stated.best else 0.0
        right = ahead >= -RELATIVE * max(abs(better), abs(worse))
        ledger.require(right, f"objective: {better!r} is worse than {worse:.12g}")
        near = math.isclose(said, own_share, rel_tol=1e-6, abs_tol=GAP_NOISE)
        text = f"plan says {said!r}, recomputed {own_share:.12g}"
        ledger.require(near or not stated.best, f"objective.{field}: {text}")
    given_away, gap = stated.given_away or 0.0, stated.gap or 0.0
    text = f"objective.given_away: {given_away:.6g} exceeds the allowed {most:.6g}"
    ledger.require(given_away <= most, text)
    proven = plan.status != "optimal" or gap <= stated.gap_asked + GAP_NOISE
    ledger.require(proven, f"status: optimal, but the gap {gap} is over {stated.gap_asked}")
    cheapest, capex_usd = stated.best_capex_usd, found.values["capex_usd"]
    if prefer is None and cheapest is not None:
        text = f"objective.best_capex_usd: {cheapest!r} is less than {capex_usd:.12g}"
        ledger.require(cheapest >= capex_usd * (1 - TIES), text)
    if None not in (stated.log_value, stated.log_bound, stated.bound) and value > 0:
        logs = (stated.log_bound or 0.0) - (stated.log_value or 0.0)
        near = math.isclose(value * math.exp(logs), stated.bound or 0.0, rel_tol=1e-6)
        ledger.require(near, f"objective.log_bound: {logs!r} over log_value does not fit")
