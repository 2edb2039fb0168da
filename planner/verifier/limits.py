"""Every limit of the problem obeyed and listed with its numbers; the objective and its gap."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from planner.figures import OBJECTIVES
from planner.limits import Group, Limit, named, of_group
from planner.paths import value_at
from planner.schema.catalog import Item
from planner.schema.plan import JobPlan, LimitReport, ObjectiveReport, Plan
from planner.schema.problem import CustomRule, Problem, Split
from planner.sizing.demand import VENDOR_RULES
from planner.verifier.basis import DECIDED, RELATIVE, Basis, Ledger, close, facility_limit_kw
from planner.verifier.decisions import Decisions
from planner.verifier.interval import check_interval, endurance_tb_per_day, stall_and_drain_s
from planner.verifier.job import Degraded, JobFigures, hot_spares, systems_by_type
from planner.verifier.levels import find_levels, near_limits
from planner.verifier.money import owned, purchased, sale, stock
from planner.verifier.racks import Room, space
from planner.verifier.totals import Ratios, TotalFigures


class Reached(NamedTuple):
    """What the plan reaches of a limit and what is allowed, as computed here.

    Its sense, unit and tolerance (relative) are those of the table of limits. A limit need not be
    listed where it cannot matter, for example the most units of an item that is not bought.
    """

    name: str
    value: float | None
    limit: float
    must_be_listed: bool = True

    @property
    def row(self) -> Limit:
        """The row of the table; an ``exact`` limit asks for equality."""
        return named(self.name)

    def slack(self) -> float:
        """Return how much is left, negative where the limit is broken."""
        if self.value is None:
            return float("-inf")
        left = self.limit - self.value
        return self.row.looser * left

    def holds(self) -> bool:
        """Return whether the plan keeps the limit, within the tolerance."""
        if self.value is None:
            return False
        row, slack = self.row, self.slack()
        allowed = row.tolerance * max(abs(self.value), abs(self.limit))
        return slack >= -allowed and (not row.exact or abs(slack) <= allowed)

    def text(self) -> str:
        """Return the limit in words."""
        unit, sense = self.row.unit, self.row.sense
        if self.value is None:
            return f"a figure is not known, allowed is {sense} {self.limit:.12g} {unit}"
        sense_text = "=" if self.row.exact else sense
        return f"{self.value:.12g} {unit} is to be {sense_text} {self.limit:.12g} {unit}"


class Recomputed(NamedTuple):
    """The plan as re-computed: its sums, its job, and that with appliances down."""

    companions: Mapping[str, int]
    room: Room
    totals: TotalFigures
    ratios: Ratios
    figures: JobFigures
    degraded: Degraded


def check_limits(
    ledger: Ledger,
    basis: Basis,
    decisions: Decisions,
    plan: Plan,
    found: Recomputed,
) -> None:
    """Require that every limit holds and stands in the plan as it is, and no other does."""
    totals, figures = found.totals, found.figures
    expected = (
        *_plant_limits(basis, decisions, found),
        *_storage_limits(basis, decisions, totals, figures, found.degraded),
        *_target_limits(basis, decisions, figures),
        *_count_limits(basis, decisions, found.companions),
        *_policy_limits(basis, decisions, plan.jobs[0]),
    )
    for limit in expected:
        if not limit.holds():
            ledger.breach(limit.name, f"the plan breaks the limit, {limit.text()}")
    check_interval(ledger, basis, decisions, figures, found.degraded)
    _check_reports(ledger, plan, {limit.name: limit for limit in expected})


def _check_reports(ledger: Ledger, plan: Plan, expected: dict[str, Reached]) -> None:
    listed: set[str] = set()
    for report in plan.limits:
        name = f"limits.{report.name}"
        if report.name in listed:
            ledger.fail(f"{name}: listed twice")
        elif report.name not in expected:
            ledger.fail(f"{name}: the problem has no such limit")
        else:
            _check_report(ledger, name, report, expected[report.name])
        listed.add(report.name)
    for limit in expected.values():
        if limit.must_be_listed and limit.name not in listed:
            ledger.fail(f"limits.{limit.name}: missing, {limit.text()}")


def _check_report(ledger: Ledger, name: str, report: LimitReport, limit: Reached) -> None:
    row = limit.row
    ledger.all_same(name, vars(report), {"value": limit.value, "limit": limit.limit})
    ledger.all_equal(name, vars(report), {"unit": row.unit, "exact": row.exact})
    if report.sense != row.sense and not row.exact:
        ledger.fail(f"{name}.sense: the plan says {report.sense!r}, expected {row.sense!r}")
    if limit.value is not None:
        slack = 0.0 if row.exact else limit.slack()
        scale = max(abs(limit.value), abs(limit.limit))
        near = math.isclose(report.slack, slack, rel_tol=1e-9, abs_tol=1e-9 * scale)
        clamped = report.slack == 0 and slack < 0
        if not (near or clamped):
            ledger.fail(f"{name}.slack: the plan says {report.slack!r}, computed {slack:.12g}")
        # Whatever counts as the smallest unit, nothing is left where the slack is nothing.
        if close(limit.value, limit.limit) and not report.binding:
            ledger.fail(f"{name}.binding: nothing is left, yet the plan says it does not bind")


def limits_given(problem: Problem, *groups: Group) -> list[tuple[Limit, float]]:
    """Return the limits of some groups that a problem gives, each with what it allows."""
    found = []
    for row in of_group(*groups):
        limit = value_at(problem, row.path)
        if row.name == "facility_power":
            limit = facility_limit_kw(problem.site)
        if row.name == "racks":
            limit = problem.site.rack_count
        if limit is not None:
            found.append((row, limit))
    return found


def _given(basis: Basis, *groups: Group) -> list[tuple[Limit, float]]:
    problem = basis.problem
    return basis.known.kept("limits", groups[0], (problem,), lambda: limits_given(problem, *groups))


def _plant_limits(basis: Basis, decisions: Decisions, found: Recomputed) -> Iterator[Reached]:
    """Yield the limits of the site, of the budget and of the delivery.

    Args:
        found: the sums as re-computed, and what the cluster's work costs.
    """
    totals = found.totals
    figures = totals.by_name() | vars(found.ratios)
    for row, limit in _given(basis, "supply", "ratio"):
        value = figures[row.figure]
        if row.known_part:
            counts = {**decisions.standing, **found.companions}
            value = sum(
                (basis.unit_stated(basis.items[sku], row.figure) or 0.0) * count
                for sku, count in counts.items()
            )
        yield Reached(row.name, value, limit)
    yield from _position_limits(basis, found.room)
    longest_days, most_days = totals.lead_time_days, basis.problem.targets.max_lead_time_days
    if most_days is not None:
        # Without a stated lead time nothing is known to be late.
        known = longest_days is not None
        yield Reached("lead_time", longest_days or 0.0, most_days, must_be_listed=known)


def _position_limits(basis: Basis, room: Room) -> Iterator[Reached]:
    """Yield, for every set of positions that racks ask for together, the racks with no others."""
    groups = basis.problem.site.positions
    wanted: list[tuple[set[int], int]] = []
    for each in room.sets if groups else ():
        if each.product and each.sku is not None:
            item = basis.items[each.sku]
            spread = item.consumes.racks.value if item.consumes.racks is not None else 1
            power_kw: float | None = (basis.unit_it_power_kw(item) or 0.0) / spread
            height_ru = (basis.unit_rack_units(item) or 0.0) / spread
        else:
            rack = space(basis, each.rack_class)
            assert rack is not None
            power_kw, height_ru = rack.power_kw, rack.height_ru
        fitting = {
            number
            for number, group in enumerate(groups)
            if (group.power_kw is None or (power_kw is not None and power_kw <= group.power_kw))
            and (group.height_ru is None or height_ru <= group.height_ru)
        }
        wanted.append((fitting, each.racks))
    for bits in range(2 ** len(groups) - 1):  # all but all of them, which is the limit on racks
        chosen = {number for number in range(len(groups)) if bits >> number & 1}
        racks = sum(count for fitting, count in wanted if fitting <= chosen)
        most = sum(groups[number].count for number in chosen)
        listed = "_".join(map(str, sorted(chosen))) or "none"
        yield Reached(f"rack_positions.{listed}", racks, most, must_be_listed=racks > most)


def _storage_limits(
    basis: Basis,
    decisions: Decisions,
    totals: TotalFigures,
    figures: JobFigures,
    degraded: Degraded,
) -> Iterator[Reached]:
    """Yield the limits on storage.

    Args:
        degraded: the same with appliances down, where the problem asks for that.
    """
    job = basis.problem.job
    yield from _checkpoint_limits(basis, decisions, figures, degraded)
    if job.restore.max_time_s is not None:
        limit, down_s = job.restore.max_time_s, degraded.restore_s
        restore_s = figures.restore_s if down_s is None else down_s
        yield Reached("restore_time", restore_s, limit)
    needed_tb = figures.capacity_needed_tb
    yield Reached("capacity", totals.usable_tb, needed_tb, must_be_listed=needed_tb > 0)
    if job.ingest_per_gpu_gb_per_s > 0:
        yield Reached("ingest", figures.ingest_gb_per_s, _data_gb_per_s(basis, totals, figures))
    endurance = endurance_tb_per_day(basis, decisions)
    if endurance is not None:
        value = figures.write_volume_tb_per_day
        yield Reached("endurance", value, endurance)
    yield from _rule_limits(basis, totals)


def _data_gb_per_s(basis: Basis, totals: TotalFigures, figures: JobFigures) -> float:
    """Return the bandwidth of training data: the lesser of storage and all systems in use."""
    clients = figures.client_data_limit_gb_per_s
    if clients is None:  # all of them read in a restore, too
        return figures.delivered_read_gb_per_s
    stored = basis.problem.storage.delivered_fraction.read * totals.read_gb_per_s
    return min(stored, clients)


def _checkpoint_limits(
    basis: Basis, decisions: Decisions, figures: JobFigures, degraded: Degraded
) -> Iterator[Reached]:
    checkpoint, interval_s = basis.problem.job.checkpoint, decisions.interval_s
    stall_s, drain_s = stall_and_drain_s(decisions, figures, degraded)
    if decisions.mode == "sync":
        limit = checkpoint.max_blocking
        yield Reached("blocking", stall_s / interval_s, limit)
        return
    if basis.problem.storage.rule == "demand":
        overlap, limit = drain_s / decisions.remote_interval_s, checkpoint.max_overlap
        yield Reached("overlap", overlap, limit)
    levels, near = find_levels(basis, decisions), near_limits(basis, decisions)
    if levels is None or near is None:
        yield Reached("drain_fits", stall_s + drain_s, interval_s)
        return
    yield Reached("drain_fits", drain_s, decisions.remote_interval_s)
    yield Reached("local_fits", stall_s + levels.drain_s, interval_s)
    repair = basis.problem.job.repair
    longest_s = levels.restart_s + (0.0 if repair is None else repair.swap_s)
    yield Reached("local_lag", longest_s + levels.drain_s, figures.mtti_s)
    yield Reached("local_room", near.room_tb, near.capacity_tb)
    if near.endurance_tb_per_day is not None:
        yield Reached("local_endurance", near.volume_tb_per_day, near.endurance_tb_per_day)


def _rule_limits(basis: Basis, totals: TotalFigures) -> Iterator[Reached]:
    rule = basis.problem.storage.rule
    if rule == "demand":
        return
    if isinstance(rule, CustomRule):
        read, write, per_gpus = rule.read, rule.write, rule.per_gpus
    else:
        vendor = VENDOR_RULES[rule]
        read, write, per_gpus = vendor.read_gb_per_s, vendor.write_gb_per_s, vendor.per_gpus
    units = -(-totals.gpus // per_gpus)
    sides = (
        ("rule_read", totals.read_gb_per_s, units * read),
        ("rule_write", totals.write_gb_per_s, units * write),
    )
    for name, rated, asked in sides:
        yield Reached(name, rated, asked, must_be_listed=asked > 0)


def _target_limits(basis: Basis, decisions: Decisions, figures: JobFigures) -> Iterator[Reached]:
    """Yield the targets and the bounds on the GPUs in use."""
    job, used = basis.problem.job, decisions.gpus_used
    bounds = job.gpus
    if job.parallelism is not None:
        yield Reached("replica_fits", used, job.parallelism.replica_gpus)
    if bounds.min is not None:
        yield Reached("gpus_min", used, bounds.min)
    if bounds.max is not None:
        yield Reached("gpus_max", used, bounds.max)
    law = job.training.scale
    if law is not None and law.micro_batches is not None and job.parallelism is not None:
        spread = job.parallelism
        copy_gpus = spread.tensor * spread.pipeline * spread.context
        yield Reached("micro_batches", used, law.micro_batches * copy_gpus)
    for row, limit in _given(basis, "target"):
        value = used if row.figure == "gpus_used" else getattr(figures, row.figure)
        yield Reached(row.name, value, limit)


def _count_limits(
    basis: Basis, decisions: Decisions, companions: Mapping[str, int]
) -> Iterator[Reached]:
    """Yield the limits on unit counts.

    Args:
        companions: units of everything that follows from it.
    """
    bought = {*decisions.counts, *companions, *decisions.standing, *basis.problem.items}
    for sku, item in basis.items.items():
        if sku not in bought:
            continue
        count = decisions.counts.get(sku, 0) or companions.get(sku, 0)
        if count > 0:
            yield from _catalog_limits(item, count)
            yield from _stock_limits(basis, item, count)
        in_place = decisions.standing.get(sku, 0) or count
        yield from _demanded_limits(basis, sku, in_place)
        if in_place > decisions.counts.get(sku, 0) and sku in decisions.standing:
            yield Reached(f"items.{sku}.installed", in_place, owned(basis, item))
    yield from _family_limits(basis, decisions)
    types, most = len(decisions.gpu_types), basis.problem.job.gpus.max_types
    yield Reached("gpu_types", types, most, must_be_listed=False)


def _catalog_limits(item: Item, count: int) -> Iterator[Reached]:
    if item.min_units is not None:
        yield Reached(f"min_units.{item.id}", count, item.min_units.value)
    if item.max_units is not None:
        yield Reached(f"max_units.{item.id}", count, item.max_units.value)


def _stock_limits(basis: Basis, item: Item, count: int) -> Iterator[Reached]:
    there_are = stock(basis, item)
    if there_are is not None and (bought := purchased(basis, item, count)) > 0:
        yield Reached(f"stock.{item.id}", bought, there_are)


def _demanded_limits(basis: Basis, sku: str, count: int) -> Iterator[Reached]:
    rule, name = basis.demanded(sku), f"items.{sku}"
    if rule.fixed is not None:
        must_be_listed = rule.fixed > 0 or count > 0
        yield Reached(
            f"{name}.fixed",
            count,
            rule.fixed,
            must_be_listed=must_be_listed,
        )
    least = max(rule.min or 0, 1 if rule.required else 0)
    if rule.min is not None or rule.required:
        yield Reached(f"{name}.min", count, least, must_be_listed=least > 0)
    if rule.max is not None:
        yield Reached(f"{name}.max", count, rule.max, must_be_listed=count > 0)


def _family_limits(basis: Basis, decisions: Decisions) -> Iterator[Reached]:
    for family in basis.families.values():
        if family.max_units is None:
            continue
        members = [
            count for sku, count in decisions.counts.items() if basis.items[sku].family == family.id
        ]
        yield Reached(
            f"family_max_units.{family.id}",
            sum(members),
            family.max_units.value,
            must_be_listed=sum(members) > 0,
        )


def _policy_limits(basis: Basis, decisions: Decisions, stated: JobPlan) -> Iterator[Reached]:
    """Yield the limits on vendors, families and hot spares.

    Args:
        stated: the plan's job, for how many systems of each type it runs on.
    """
    policy = basis.problem.policy
    for place, vendor in enumerate(policy.require_vendors):
        units = _by_vendor(basis, decisions, DECIDED).get(vendor, 0)
        yield Reached(f"require_vendor.{place}", units, 1)
    for place, split in enumerate(policy.split):
        largest = _largest_share(basis, decisions, split)
        yield Reached(f"split.{place}", largest, split.max_share)
    families = basis.problem.storage.exact_families
    if families is not None:
        serving = len(decisions.families)
        yield Reached("exact_families", serving, families)
    used = systems_by_type(decisions, stated)
    for sku, hot in hot_spares(basis, used).items():
        if hot > 0:
            idle = decisions.counts[sku] - used[sku]
            yield Reached(f"hot_spares.{sku}", idle, hot)


def _by_vendor(basis: Basis, decisions: Decisions, categories: tuple[str, ...]) -> dict[str, int]:
    units: dict[str, int] = {}
    for sku, count in decisions.counts.items():
        item = basis.items[sku]
        if item.category in categories:
            units[item.vendor] = units.get(item.vendor, 0) + count
    return units


def _largest_share(basis: Basis, decisions: Decisions, split: Split) -> float:
    """Return the largest vendor's share of a category, by units or by money; 0 of nothing."""
    if split.measure == "units":
        amounts: Mapping[str, float] = _by_vendor(basis, decisions, (split.category,))
    else:
        amounts = _money_by_vendor(basis, decisions, split.category)
    total = sum(amounts.values())
    return max(amounts.values()) / total if total else 0.0


def _money_by_vendor(basis: Basis, decisions: Decisions, category: str) -> dict[str, float]:
    amounts: dict[str, float] = {}
    for sku, count in decisions.counts.items():
        item = basis.items[sku]
        if item.category == category:
            # Half a cent goes up, as in the lines.
            unit = sale(basis, item).unit
            net_usd = 0.0 if unit is None else max(unit.net_usd)
            amounts[item.vendor] = amounts.get(item.vendor, 0.0) + net_usd * count
    return amounts


_GAP_NOISE = 1e-9
_TIES = 2e-6
"""What breaking ties may take besides, each of a few times: see docs/model.md."""


def check_status(ledger: Ledger, plan: Plan) -> None:
    """Require that a plan without a solution carries none."""
    if plan.status in ("optimal", "feasible"):
        return
    ledger.require(not plan.lines, f"lines: a plan that is {plan.status} has none")
    ledger.require(not plan.jobs, f"jobs: a plan that is {plan.status} has none")
    ledger.require(plan.totals is None, f"totals: a plan that is {plan.status} has none")
    no_value = plan.objective.value is None
    ledger.require(no_value, f"objective.value: a plan that is {plan.status} has none")


def check_objective(ledger: Ledger, basis: Basis, plan: Plan, found: Recomputed) -> None:
    """Re-compute the objective and require a bound and a gap that fit it."""
    asked, stated = basis.problem.objective, plan.objective
    name = asked.maximize or asked.minimize or ""
    ledger.equal("objective.name", stated.name, name)
    sense = "maximize" if asked.maximize else "minimize"
    ledger.equal("objective.sense", stated.sense, sense)
    ledger.equal("objective.unit", stated.unit, OBJECTIVES[name].unit)
    value = _value(name, found)
    ledger.same("objective.value", stated.value, value)
    if value is None:
        ledger.fail(f"objective.value: {name} cannot be computed, a figure is not known")
    else:
        _check_given_away(ledger, basis, stated, value, found.totals.money.capex_usd)
        _check_bound(ledger, stated)
        _check_logs(ledger, stated, value)
    _check_optimal(ledger, plan)


def _value(name: str, found: Recomputed) -> float | None:
    known = vars(found.figures) | vars(found.ratios) | found.totals.by_name()
    value: float | None = known[OBJECTIVES[name].figure.name]
    return value


def _check_best_capex(
    ledger: Ledger,
    stated: ObjectiveReport,
    capex_usd: float | None,
    *,
    preferred: bool,
) -> None:
    """Require that money is saved where something is given away; preferred vendors may cost."""
    best = stated.best_capex_usd
    if best is None or capex_usd is None:
        return
    if not preferred and not best >= capex_usd * (1 - _TIES):
        ledger.fail(f"objective.best_capex_usd: {best!r} is less than the plan's {capex_usd:.12g}")


def _check_given_away(
    ledger: Ledger,
    basis: Basis,
    stated: ObjectiveReport,
    value: float,
    capex_usd: float | None,
) -> None:
    """Compare what the plan gives away with what the problem allows."""
    asked, prefer = basis.problem.objective, basis.problem.policy.prefer
    ledger.same("objective.indifference", stated.indifference, asked.indifferent)
    best, maximise = stated.best, stated.sense == "maximize"
    if best is None or stated.given_away is None:
        ledger.fail("objective.best: a plan states the best value found, and what it gives away")
        return
    less = best - value if maximise else value - best
    if not less >= -RELATIVE * max(abs(value), abs(best)):
        ledger.fail(f"objective.best: {best!r} is worse than the value {value:.12g}")
    share = max(0.0, less) / abs(best) if best else 0.0
    if not math.isclose(stated.given_away, share, rel_tol=1e-6, abs_tol=_GAP_NOISE):
        said = f"the plan says {stated.given_away!r}, computed {share:.12g}"
        ledger.fail(f"objective.given_away: {said}")
    _check_best_capex(ledger, stated, capex_usd, preferred=prefer is not None)
    within = 0.0 if prefer is None else prefer.within
    kept = (1 - within) * (1 - asked.indifferent) / (1 + _TIES)
    most = 1 - kept if maximise else (1 + within) * (1 + asked.indifferent) * (1 + _TIES) - 1
    if not share <= most:
        ledger.fail(
            f"objective.given_away: {share:.6g} is more than the problem allows, {most:.6g}"
        )


def _check_bound(ledger: Ledger, stated: ObjectiveReport) -> None:
    """Compare bound and gap with the best value that the plan states."""
    bound, gap, best = stated.bound, stated.gap, stated.best
    if (bound is None) != (gap is None):
        ledger.fail("objective.gap: bound and gap go together")
    if bound is None or gap is None or best is None:
        return
    better = bound - best if stated.sense == "maximize" else best - bound
    if not better >= -RELATIVE * max(abs(best), abs(bound)):
        ledger.fail(f"objective.bound: {bound!r} is on the wrong side of the best, {best:.12g}")
    if not gap >= 0:
        ledger.fail(f"objective.gap: {gap!r} is negative")
    elif best != 0:
        expected = max(0.0, better / abs(best))
        if not math.isclose(gap, expected, rel_tol=1e-6, abs_tol=_GAP_NOISE):
            ledger.fail(f"objective.gap: the plan says {gap!r}, computed {expected:.12g}")


def _check_logs(ledger: Ledger, stated: ObjectiveReport, value: float) -> None:
    """The optimiser may leave constants out of its logarithms; their difference has none."""
    bound = stated.bound
    if stated.log_value is None or stated.log_bound is None or bound is None:
        return
    if bound <= 0 or value <= 0:
        return
    stated_log, log = stated.log_bound - stated.log_value, math.log(bound / value)
    if not math.isclose(stated_log, log, rel_tol=1e-6, abs_tol=_GAP_NOISE):
        ledger.fail(
            f"objective.log_bound: it lies {stated_log!r} from log_value, computed {log:.12g}"
        )


def _check_optimal(ledger: Ledger, plan: Plan) -> None:
    if plan.status != "optimal":
        return
    gap = plan.objective.gap
    if gap is None or not gap <= plan.objective.gap_asked + _GAP_NOISE:
        ledger.fail(
            f"status: optimal, but the gap {gap!r} is not within {plan.objective.gap_asked!r}"
        )
