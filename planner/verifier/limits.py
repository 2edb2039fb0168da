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
from planner.schema.job import FixedInterval
from planner.schema.plan import LimitReport, Plan, ProgramReport
from planner.schema.problem import (
    CustomRule,
    Problem,
    Site,
    Split,
)
from planner.verifier.basis import (
    NEARLY_ZERO,
    RELATIVE,
    Basis,
    Difference,
    Findings,
    agrees,
    value,
    write,
)
from planner.verifier.bill import Bill
from planner.verifier.goodput import DAY_S, peak
from planner.verifier.job import Operation, Run, hot_spares
from planner.verifier.rates import replica_gpus

BEST_WITHIN = 1e-6
GAP_NOISE = 1e-9
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


@dataclass(frozen=True)
class Found:
    """A plan as recomputed: basis, bill, totals and operation."""

    basis: Basis
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


def facility_limit_kw(site: Site) -> float | None:
    """Return the power limit at the meter: as given, and with the feeds' redundancy kept."""
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


def reached_limits(found: Found) -> Iterator[Reached]:
    """Yield every limit of the problem with what the plan reaches."""
    for of in (_supplies, job_limits, _storage, _counts, _policy):
        yield from of(found)


def job_limits(found: Found) -> Iterator[Reached]:
    """Yield the limits that hold or break by the job's operation alone."""
    yield from _checkpoints(found)
    yield from _targets(found)


def _supplies(found: Found) -> Iterator[Reached]:
    basis, values = found.basis, found.values
    for row, limit in given(basis.problem, "supply", "ratio"):
        reached = values[row.figure]
        if row.known_part:
            in_place = [(basis.items[sku], n) for sku, n in found.bill.in_place.items()]
            reached = sum((basis.stated(item, row.figure) or 0.0) * n for item, n in in_place)
        yield Reached(row.name, reached, limit)
    most_days, days = basis.problem.targets.max_lead_time_days, values["lead_time_days"]
    if most_days is not None:
        yield Reached("lead_time", days or 0.0, most_days, listed=days is not None)


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
    rated = [(unit_endurance(run.basis, s), n) for s, n in run.basis.flash(run.counts).items()]
    known = [each * count for each, count in rated if each is not None]
    return sum(known) if len(known) == len(rated) else None


def unit_endurance(basis: Basis, sku: str) -> float | None:
    """Return what one unit endures, TB per day: as stated, or by the flash in it."""
    item, asked = basis.items[sku], basis.problem.storage
    stated: float | None = value(item.provides.endurance)
    if asked.endurance == "off" or stated is not None or asked.endurance == "stated":
        return None if asked.endurance == "off" else stated
    inside = [(basis.items[part.id], part.quantity) for part in item.components] or [(item, 1)]
    endured = []
    for kind, often in (("tlc", asked.dwpd.tlc), ("qlc", asked.dwpd.qlc), ("scm", asked.dwpd.scm)):
        raw_tb = sum(n * m.raw_tb for part, n in inside for m in part.media if m.type == kind)
        if raw_tb > 0:
            endured.append(often * raw_tb)
    return min(endured, default=None)


def _storage(found: Found) -> Iterator[Reached]:
    values, run, rule = found.values, found.run, found.basis.problem.storage.rule
    needed, ingest, bulk = values["capacity_needed_tb"], values["ingest_gb_per_s"], values["bulk"]
    yield Reached("capacity", values["usable_tb"], needed, listed=needed > 0)
    if ingest > 0:
        yield Reached("ingest", ingest, values["delivered_read_gb_per_s"])
    if bulk is not None:
        yield Reached("bulk_capacity", bulk["usable_tb"], bulk["needed_tb"])
    if bulk is not None and ingest > 0:
        yield Reached("bulk_read", ingest, bulk["read_gb_per_s"])
        yield Reached("staging", ingest, bulk["staging_gb_per_s"])
    if values["burst"] is not None:
        yield Reached("burst_recovery", values["burst"]["recovery_s"], run.remote_s)
    endured = endurance_tb_per_day(run)
    if endured is not None:
        yield Reached("endurance", values["write_volume_tb_per_day"], endured)
    if rule == "demand":
        return
    of = (rule.read, rule.write, 1) if isinstance(rule, CustomRule) else RULES[rule]
    for side, each in zip(("read", "write"), of, strict=False):
        asked = -(-values["gpus"] // of[2]) * each
        yield Reached(f"rule_{side}", values[f"{side}_gb_per_s"], asked, listed=asked > 0)


def _targets(found: Found) -> Iterator[Reached]:
    run, bounds, option = found.run, found.run.job.gpus, found.run.job.parallelism
    if option is not None:
        yield Reached("replica_fits", run.gpus, replica_gpus(option))
    for name, limit in (("gpus_min", bounds.min), ("gpus_max", bounds.max)):
        if limit is not None:
            yield Reached(name, run.gpus, limit)
    for row, floor in given(found.basis.problem, "target"):
        yield Reached(row.name, found.values[row.figure], floor)


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
    price, own = basis.inputs.prices.get(sku), basis.rule(sku).stock
    stock = own if own is not None or price is None else price.stock
    bought = basis.bought(item, count) if count else 0
    if stock is not None and bought:
        yield Reached(f"stock.{sku}", bought, stock)


def _of_rule(found: Found, sku: str) -> Iterator[Reached]:
    """Yield the limits that the problem sets on the units in place of an item."""
    rule, in_place, bill = found.basis.rule(sku), found.bill.in_place.get(sku, 0), found.bill
    least = max(rule.min or 0, int(rule.required))
    if rule.fixed is not None:
        listed = rule.fixed > 0 or in_place > 0
        yield Reached(f"items.{sku}.fixed", in_place, rule.fixed, listed=listed)
    if rule.min is not None or rule.required:
        yield Reached(f"items.{sku}.min", in_place, least, listed=least > 0)
    if rule.max is not None:
        yield Reached(f"items.{sku}.max", in_place, rule.max, listed=in_place > 0)
    if bill.standing.get(sku, 0) > bill.cluster.get(sku, 0):
        owned = found.basis.sale(found.basis.items[sku]).owned
        yield Reached(f"items.{sku}.installed", in_place, owned)


def _policy(found: Found) -> Iterator[Reached]:
    basis, cluster, policy = found.basis, found.bill.cluster, found.basis.problem.policy
    for place, vendor in enumerate(policy.require_vendors):
        units = sum(n for sku, n in cluster.items() if basis.items[sku].vendor == vendor)
        yield Reached(f"require_vendor.{place}", units, 1)
    for place, split in enumerate(policy.split):
        yield Reached(f"split.{place}", _largest_share(basis, cluster, split), split.max_share)
    for sku, hot in hot_spares(found.run).items():
        if hot:
            yield Reached(f"hot_spares.{sku}", cluster[sku] - found.run.systems[sku], hot)


def _largest_share(basis: Basis, cluster: Mapping[str, int], split: Split) -> float:
    """Return the largest vendor's share of the units of a category; 0 of nothing."""
    amounts: dict[str, int] = {}
    for sku, count in basis.of_kind(cluster, split.category).items():
        vendor = basis.items[sku].vendor
        amounts[vendor] = amounts.get(vendor, 0) + count
    whole = sum(amounts.values())
    return max(amounts.values()) / whole if whole else 0.0


# The plan's list of limits.


def check_limits(findings: Findings, found: Found, plan: Plan) -> None:
    """Require that every limit holds and is listed with its numbers, and no other is."""
    expected = {limit.name: limit for limit in reached_limits(found)}
    for limit in expected.values():
        if not limit.holds:
            findings.breach(limit.name, f"broken limit: {limit.text}")
    _check_interval(findings, found)
    listed = [report.name for report in plan.limits]
    for report in plan.limits:
        name = f"limits.{report.name}"
        if report.name not in expected or listed.count(report.name) > 1:
            findings.fail(f"{name}: the problem has no such limit, or it is listed twice")
        else:
            _check_report(findings, name, report, expected[report.name])
    for limit in expected.values():
        if limit.listed and limit.name not in listed:
            findings.fail(f"limits.{limit.name}: missing, {limit.text}")


def _check_report(findings: Findings, name: str, report: LimitReport, limit: Reached) -> None:
    row = limit.row
    reached: Any = limit.value
    if isinstance(reached, float):  # rounding that is nothing against the limit
        reached = Difference(reached, NEARLY_ZERO * abs(limit.limit))
    own = {"value": reached, "limit": limit.limit, "unit": row.unit, "exact": row.exact}
    findings.expect(name, report, own if row.exact else {**own, "sense": row.sense})
    if limit.value is None:
        return
    slack, scale = 0.0 if row.exact else limit.slack, max(abs(limit.value), abs(limit.limit))
    near = math.isclose(report.slack, slack, rel_tol=RELATIVE, abs_tol=RELATIVE * scale)
    if not near and not (report.slack == 0 and slack < 0):
        findings.expect(f"{name}.slack", report.slack, slack)
    if agrees(limit.value, limit.limit):
        findings.require(report.binding, f"{name}.binding: no slack, yet plan says not binding")


# The interval.


def _check_interval(findings: Findings, found: Found) -> None:
    """Require the policy's interval; of an open one, the goodput of the best that limits allow."""
    run, name, policy = found.run, "jobs.interval_s", found.run.job.checkpoint.interval
    if isinstance(policy, FixedInterval):
        asked = policy.every_s
        if not agrees(run.interval_s, asked):
            findings.breach(name, f"plan says {run.interval_s:.12g} s, policy asks {asked:.12g} s")
        return
    if not policy.min_s * (1 - TIMED) <= run.interval_s <= policy.max_s * (1 + TIMED):
        text = f"{run.interval_s:.12g} s is outside {policy.min_s:g} to {policy.max_s:g} s"
        findings.breach(name, text)
        return
    local = run.job.checkpoint.local
    for every in local.every if run.every and local is not None else (0,):
        best_s = best_interval_s(found, every)
        best = 0.0 if best_s is None else found.operation.goodput_at(best_s, every)
        if found.values["goodput"] < best * (1 - BEST_WITHIN):
            each = f", every {every}th to storage" if every else ""
            text = f"{run.interval_s:.12g} s is not the best allowed interval: "
            findings.breach(name, f"{text}{best_s:.12g} s{each} gives a goodput of {best:.12g}")


def best_interval_s(found: Found, every: int) -> float | None:
    """Return the interval of the highest goodput, s; None where limits allow none with a local
    level of ``every``."""
    policy = found.run.job.checkpoint.interval
    if isinstance(policy, FixedInterval):
        return policy.every_s
    shortest_s = max(policy.min_s, shortest_interval_s(found, every))
    if every and shortest_s > policy.max_s:
        return None
    longest_s = max(policy.max_s, shortest_s)
    if every:
        return peak(partial(found.operation.goodput_at, every=every), shortest_s, longest_s)
    exact_s: float = found.values["exact_s"]
    return min(max(exact_s, shortest_s), longest_s)


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
        shortest_s = max(shortest_s, run.size_gb / 1000 * DAY_S / endured)
    if not every:
        return shortest_s if run.mode == "sync" else max(shortest_s, stall_s + drain_s)
    drives = [drive for drive in run.drives if drive.endurance is not None]
    worn = [each.part_gb / 1000 * DAY_S / (each.endurance or 1.0) for each in drives]
    near_drain_s = max(drive.part_gb / drive.write_gb_per_s for drive in run.drives)
    return max(shortest_s / every, stall_s + near_drain_s, *worn)


# The objective and its proof.


def check_objective(findings: Findings, found: Found, plan: Plan) -> None:
    """Recompute the objective's value; require a best value, bound and gap that fit it."""
    asked, stated = found.basis.problem.objective, plan.objective
    name, maximise = asked.name, not asked.minimize
    own, capex_usd = found.values[OBJECTIVES[name].figure.name], found.values["capex_usd"]
    sense = "maximize" if maximise else "minimize"
    fields = {"name": name, "sense": sense, "unit": OBJECTIVES[name].unit, "value": own}
    findings.expect("objective", stated, {**fields, "indifference": asked.indifferent})
    if own is None or stated.best is None:
        findings.fail("objective.value: not known" if own is None else "objective.best: missing")
        return
    steps: list[tuple[str, float | None, float, float | None]]
    steps = [("given_away", stated.given_away, own, stated.best)]
    if stated.bound is not None or stated.gap is not None or plan.status == "optimal":
        steps.append(("gap", stated.gap, stated.best, stated.bound))
    for field, share, worse, better in steps:
        if share is None or better is None:
            findings.fail(f"objective.{field}: missing, or its bound")
            continue
        ahead = better - worse if maximise else worse - better
        own_share = max(0.0, ahead) / abs(stated.best) if stated.best else share
        near = math.isclose(share, own_share, rel_tol=1e-6, abs_tol=GAP_NOISE)
        right = ahead >= -RELATIVE * max(abs(better), abs(worse))
        findings.require(right, f"objective: {better!r} is worse than {worse:.12g}")
        findings.require(near, f"objective.{field}: plan says {share!r}, own {own_share:.12g}")
    prefer = found.basis.problem.policy.prefer
    within, indifferent = 0.0 if prefer is None else prefer.within, asked.indifferent
    most = (1 + within) * (1 + indifferent) * (1 + TIES) - 1
    if maximise:
        most = 1 - (1 - within) * (1 - indifferent) / (1 + TIES)
    given_away, gap, cheapest_usd = (
        stated.given_away or 0.0,
        stated.gap or 0.0,
        stated.best_capex_usd,
    )
    dearer = prefer is None and cheapest_usd is not None and cheapest_usd < capex_usd * (1 - TIES)
    proven, bound = gap <= stated.gap_asked + GAP_NOISE, stated.bound
    if own > 0 and stated.log_value is not None and stated.log_bound is not None and bound:
        bound = own * math.exp(stated.log_bound - stated.log_value)
    rules = {
        f"objective.given_away: {given_away:.6g} exceeds {most:.6g}": given_away <= most,
        f"status: optimal, but the gap is {gap}": proven or plan.status != "optimal",
        f"objective.best_capex_usd: {cheapest_usd} is less than {capex_usd}": not dearer,
        "objective.log_bound: does not fit the bound": bound is None
        or math.isclose(bound, stated.bound or 0.0, rel_tol=1e-6),
    }
    findings.require_all(rules)


def program_faults(plan: Plan) -> tuple[str, ...]:
    """Return where the integer program's figures do not follow from one another or the plan's."""
    program = plan.objective.program
    if program is None:
        return ()
    if not isinstance(program, ProgramReport):
        return ("objective.program: not the record of a program",)
    findings, goal = Findings(), plan.objective
    for name, text in (("solver", plan.provenance.solver), ("unit", goal.unit)):
        findings.expect(f"objective.program.{name}", getattr(program, name), text)
    capex_usd = None if plan.totals is None else plan.totals.capex_usd
    gaps = _gap(program.value, program.bound), _gap(program.capex_usd, program.capex_bound_usd)
    pairs = (
        ("value", program.value, goal.best, AGREED, True),
        ("capex_usd", program.capex_usd, capex_usd, AGREED, True),
        ("gap", program.gap, gaps[0], RELATIVE, False),
        ("capex_gap", program.capex_gap, gaps[1], RELATIVE, False),
    )
    for name, mine, own, room, open_ends in pairs:
        near = (mine is None) == (own is None) or open_ends
        if mine is not None and own is not None:
            near = abs(mine - own) <= room * max(abs(own), 1.0)
        findings.require(near, f"objective.program.{name}: {mine!r}, not {own!r}")
    proven = [each for each in (program.gap, program.capex_gap) if each is not None]
    wrong = program.status == "optimal" and any(gap > AGREED for gap in proven)
    findings.require(not wrong, f"objective.program.status: optimal, with gaps of {proven}")
    return tuple(findings.disagreements)


def _gap(best: float | None, bound: float | None) -> float | None:
    """Return the distance from value to bound, as a share of the value."""
    if best is None or bound is None:
        return None
    return abs(bound - best) / max(abs(best), RELATIVE)
