"""Limits of the problem on a plan: value, limit, slack, whether it binds; and the next step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from planner.case import Case, System
from planner.case.fabrics import WORDS
from planner.case.items import sum_terms
from planner.inputs import NOTHING_ASKED, Inputs
from planner.limits import BY_NAME, named, of_group, path_of
from planner.optimizer.bill import bill, given_supplies
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import (
    Run,
    broken_by_counts,
    broken_limits,
    exceeded_limits,
    largest_share,
    limits_on,
    operate,
)
from planner.optimizer.work import most_gpus
from planner.schema.operation import JobPlan
from planner.schema.plan import LimitReport, NextStep, StepNeed, Totals
from planner.sizing.checkpoint import rule_demand
from planner.sizing.fabric import smallest_size

CLOSE = 1e-6
_DEGRADED = ("blocking", "overlap", "drain_fits", "restore_time")
"""Limits that hold with storage units down."""
FULL_FROM = 0.98
"""Share of its capacity from which on the largest fabric limits a plan."""

# Binding: one more of a GPU type in use, or one less of an item, breaks the limit.


def binding_limits(case: Case, run: Run) -> frozenset[str]:
    """Names of the limits that hold the plan where it is.

    If more is better, limits bind that more GPUs of a type in use would break: one more system, or
    as many as another replica takes; so do limits on the GPUs. A demand on storage and GPUs binds
    where one unit less of something bought would miss it, too.
    """
    names = set(_missed_with_less(case, run))
    if case.maximise:
        names |= {*_broken_with_more(case, run)}
        step = min(way.step_gpus for _, way in case.in_use(run.used, run.ways))
        if case.job.gpus_max is not None and run.gpus + step > case.job.gpus_max:
            names.add("gpus_max")
    return frozenset(names)


def _broken_with_more(case: Case, run: Run) -> Iterator[str]:
    value = measure(case, case.objective)
    for system in (system for system in case.systems if system.id in run.used):
        way, count = system.way(run.ways), run.units[system.id] + 1
        now = most_gpus(case.job, way, np.array([count - 1]))[0]
        while most_gpus(case.job, way, np.array([count]))[0] <= now:
            count += 1
        if system.high is None or count <= system.high:
            units = {**run.units, system.id: count}
            yield from broken_limits(case, units, run.ways)
        more = _with_more_gpus(case, run, system)
        if more is None or "fabric" in broken_limits(case, more.units, more.ways):
            continue  # no fabric is so large: there is no bill of it
        if value(more) > value(run):
            yield from exceeded_limits(case, more)


def _with_more_gpus(case: Case, run: Run, system: System) -> Run | None:
    """The job with a step more GPUs of a type, without the limits on its operation.

    They are of systems in use that are not full, else of more systems, beside the same spares
    where enough may be had.
    """
    units, used, more = run.units, run.used, system.way(run.ways).step_gpus
    full = sum(each.most_gpus(used[s.id]) for s, each in case.in_use(used, run.ways))
    if run.gpus + more > full:
        step = _next_systems(run, system)
        if step is None:
            return None
        units, used, more = step
    loose = _without_limits(case)
    return operate(loose, run.mode, units, used, run.gpus + more, run.ways)


def _next_systems(
    run: Run, system: System
) -> tuple[Mapping[str, int], Mapping[str, int], int] | None:
    """Units, systems in use and more GPUs with the fewest additional systems that hold more GPUs.

    No more units are bought than may be had; None where these do not hold more GPUs.
    """
    way, now, units = system.way(run.ways), run.used[system.id], run.units
    step = 1
    while way.most_gpus(now + step) <= way.most_gpus(now):
        step += 1
    if system.high is None or units[system.id] + step <= system.high:
        units = {**units, system.id: units[system.id] + step}
    if units[system.id] < now + step:
        return None
    more = way.most_gpus(now + step) - way.most_gpus(now)
    return units, {**run.used, system.id: now + step}, more


def _missed_with_less(case: Case, run: Run) -> Iterator[str]:
    loose = _without_limits(case)
    for offer in case.offers():
        count = run.units[offer.id] - 1
        if count < max(offer.low, 0):
            continue
        units = {**run.units, offer.id: count}
        used = {key: min(number, units[key]) for key, number in run.used.items()}
        used = {key: number for key, number in used.items() if number}
        gpus = sum(way.most_gpus(used[s.id]) for s, way in case.in_use(used, run.ways))
        yield from broken_by_counts(case, units)
        less = operate(loose, run.mode, units, used, min(gpus, run.gpus), run.ways)
        if less is not None:
            yield from exceeded_limits(case, less)


@lru_cache(maxsize=4)
def _without_limits(case: Case) -> Case:
    """The case without the limits that ``operate`` enforces, so that misses can be seen.

    A free interval adapts to storage, so the overlap it allows stays as it is.
    """
    changes: dict[str, Any] = {"max_restore_s": None, "ingest_per_gpu_gb_per_s": 0.0, "gpus_min": 1}
    if case.job.interval.policy != "optimal":
        changes |= {"max_overlap": 1.0, "max_blocking": 0.99}
    systems = (
        replace(system, ways=tuple(replace(way, min_replicas=0) for way in system.ways))
        for system in case.systems
    )
    job = replace(case.job, **changes)
    return replace(case, job=job, systems=tuple(systems)).share_bills_of(case)


def next_step(case: Case, run: Run, limits: Sequence[LimitReport], value: float) -> NextStep | None:
    """Marginal gain and need of the next GPU systems, of the type most of which is in place.

    Args:
        limits: the limits as the plan reports them.
        value: the plan's value of the objective, in its own unit.

    Returns:
        None where less of something is wanted, where no looser limit lets more systems in, and
        where more of them do no more work.
    """
    if not case.maximise:
        return None
    in_use = [system for system in case.systems if system.id in run.used]
    system = max(in_use, key=lambda system: run.units[system.id])
    found = _next_systems(run, system)
    if found is None or found[0] is run.units:
        return None
    units, used, more = found
    broken = set(broken_limits(case, units, run.ways))
    supplies = given_supplies(case.limits)
    if not broken <= {row.name for row in supplies}:
        return None  # no fabric, no stock, not allowed: no looser limit mends that
    larger = operate(case, run.mode, units, used, run.gpus + more, run.ways)
    if larger is None or exceeded_limits(case, larger):
        return None  # storage is too small for more, or a target is missed
    gained = natural(case.objective, measure(case, case.objective)(larger))
    if gained <= value * (1.0 + CLOSE):
        return None
    spent, labels = bill(case, units, run.ways), {limit.name: limit.label for limit in limits}
    needs = tuple(
        StepNeed(label=labels[row.name], value=spent[row.figure], unit=row.unit)
        for row in supplies
        if row.name in broken
    )
    systems = units[system.id] - run.units[system.id]
    return NextStep(sku=system.id, systems=systems, value=gained, needs=needs)


# The limits with their values.


class _Plan(NamedTuple):
    inputs: Inputs
    case: Case
    run: Run
    totals: Totals
    job: JobPlan

    @property
    def down(self) -> str:
        """Suffix of labels for appliances that are down."""
        return f", {self.case.tolerate_down} down" if self.case.tolerate_down else ""


class _Entry(NamedTuple):
    """The value of a limit of the table; ``item`` fills the ``*`` of its label, before ``suffix``.

    ``path`` is given where the file has it in another place than the table; ``full`` fabrics bind.
    """

    name: str
    value: float | None
    limit: float | None
    item: str = ""
    suffix: str = ""
    path: str | None = None
    full: bool = False


def limits(
    inputs: Inputs, case: Case, run: Run, totals: Totals, job: JobPlan
) -> tuple[LimitReport, ...]:
    """A report for each limit that the problem or the catalogs set."""
    plan = _Plan(inputs, case, run, totals, job)
    running = sorted(_operation(plan), key=lambda entry: list(BY_NAME).index(entry.name))
    entries = [*_supplies(plan), *_supply_chain(plan), *running, *_counts(plan)]
    tight, reports = binding_limits(case, run), []
    for entry in entries:
        if entry.limit is not None:
            reports.append(_report(inputs, entry, entry.limit, tight))
    return tuple(reports)


def _report(inputs: Inputs, entry: _Entry, limit: float, tight: frozenset[str]) -> LimitReport:
    row, value = named(entry.name), entry.value
    assert value is not None, f"{row.name} is not known, and no figure of STATED"
    slack = row.looser * (limit - value)
    near = slack <= CLOSE * max(abs(limit), abs(value), 1e-12)
    path = path_of(entry.name) if entry.path is None else entry.path
    return LimitReport(
        name=entry.name,
        label=row.label.replace("*", entry.item) + entry.suffix,
        value=value,
        sense=row.sense,
        limit=limit,
        unit=row.unit,
        binding=near or entry.full or entry.name in tight or entry.name.partition(".")[0] in tight,
        source=inputs.where(path) if path else None,
        exact=row.exact,
    )


def _supplies(plan: _Plan) -> Iterator[_Entry]:
    """Power, space, money, lead time."""
    spent, site = bill(plan.case, plan.run.units, plan.run.ways), plan.inputs.problem.site
    for row in of_group("supply", "ratio"):
        value, suffix, path = getattr(plan.totals, row.figure), "", None
        if value is None and row.known_part:
            value, suffix = spent[row.figure], ", known part"
        if row.name == "facility_power":
            by_feeds = site.feeds is not None and site.facility_limit_kw == site.feeds.usable_kw
            path = "site.feeds" if by_feeds else "site.facility_power"
        yield _Entry(row.name, value, plan.case.limits[row.field], suffix=suffix, path=path)
    longest_days = plan.inputs.problem.targets.max_lead_time_days
    yield _Entry("lead_time", plan.totals.lead_time_days or 0.0, longest_days)


def _supply_chain(plan: _Plan) -> Iterator[_Entry]:
    """Stock and vendor policy."""
    case, run, problem = plan.case, plan.run, plan.inputs.problem
    spent = bill(case, run.units, run.ways)
    for stocked in case.bill_items():
        if stocked.stock is not None and (bought := spent.purchased[stocked.id]):
            model = plan.inputs.item(stocked.id).model
            yield _Entry(f"stock.{stocked.id}", bought, stocked.stock, model)
    for number, ids in enumerate(case.policy.required):
        count, vendor = sum(run.units[i] for i in ids), problem.policy.require_vendors[number]
        yield _Entry(f"require_vendor.{number}", count, 1, vendor)
    for number, split in enumerate(case.policy.splits):
        rule, share = problem.policy.split[number], largest_share(split, run.units)
        words = f"{rule.category.replace('_', ' ')} units"
        yield _Entry(f"split.{number}", share, rule.max_share, words)


def _operation(plan: _Plan) -> Iterator[_Entry]:
    """Limits on running, and on storage and GPUs in use."""
    case, run, job, gpus = plan.case, plan.run, plan.job, plan.inputs.problem.job.gpus
    absent = {"gpus_min", *(row.name for row in of_group("ratio"))}
    absent |= set() if case.job.ingest_per_gpu_gb_per_s else {"ingest"}
    absent |= set() if job.burst is not None else {"burst_recovery"}
    for name, value, allowed in limits_on(case, run):
        if allowed is not None and name not in absent:
            suffix = plan.down if name in _DEGRADED else ""
            yield _Entry(name, value, allowed, suffix=suffix)
    yield _Entry("gpus_min", run.gpus, gpus.min)
    idle_type = any(s.installed and s.id not in run.used for s in case.systems)
    if "max_types" in gpus.model_fields_set or idle_type:
        yield _Entry("gpu_types", len(run.used), gpus.max_types)
    yield _Entry("capacity", plan.totals.usable_tb, job.capacity_needed_tb)
    if job.bulk is not None:
        yield _Entry("bulk_capacity", job.bulk.usable_tb, job.bulk.needed_tb)
    if (local := job.local) is not None:
        swap_s = 0.0 if job.repair is None else job.repair.swap_s
        yield _Entry("local_lag", local.restart_s + swap_s + local.drain_s, job.mtti_s)
        yield _Entry("local_room", local.room_tb, local.capacity_tb)
    if (rule := case.rule) is not None:
        read, write = rule_demand(rule, plan.totals.gpus)
        yield _Entry("rule_read", plan.totals.nameplate_read_gb_per_s, read, rule.name)
        yield _Entry("rule_write", plan.totals.nameplate_write_gb_per_s, write, rule.name)


def _counts(plan: _Plan) -> Iterator[_Entry]:
    """Units of items and families, by catalogs and by the problem."""
    inputs, units = plan.inputs, plan.run.units
    counts = bill(plan.case, units, plan.run.ways).counts
    places = {offer.id: offer.place for offer in plan.case.offers()}
    skus = {*units, *places, *inputs.problem.items} & inputs.by_id.keys()
    for item in (inputs.item(sku) for sku in sorted(skus)):
        count = units.get(item.id, 0)
        in_place = round(counts[places[item.id]]) if item.id in places else 0
        if count and item.min_units is not None:
            yield _Entry(f"min_units.{item.id}", count, item.min_units.value, item.model)
        if count and item.max_units is not None:
            yield _Entry(f"max_units.{item.id}", count, item.max_units.value, item.model)
        yield from _demanded(inputs, item.id, in_place)
        if in_place > count:
            least = inputs.problem.items.get(item.id, NOTHING_ASKED).in_place
            yield _Entry(f"items.{item.id}.installed", in_place, least, item.model)
    for family in inputs.families:
        count = sum(n for sku, n in units.items() if n and inputs.item(sku).family == family.id)
        if count > 0 and family.max_units is not None:
            name = f"family_max_units.{family.id}"
            yield _Entry(name, count, family.max_units.value, family.name)
    for fabric in plan.case.companions.fabrics:
        amount = round(sum_terms(fabric.amount, counts))
        if fabric.largest and amount and smallest_size(fabric.sizes, amount) is fabric.sizes[-1]:
            each = fabric.ports_per_amount / fabric.parts_per_port
            name, most = f"fabric.{fabric.network}", fabric.sizes[-1].capacity
            full, words = amount >= FULL_FROM * most, WORDS[fabric.network]
            yield _Entry(name, amount * each, most * each, words, full=full)


def _demanded(inputs: Inputs, sku: str, count: int) -> Iterator[_Entry]:
    rule = inputs.problem.items.get(sku, NOTHING_ASKED)
    for key, limit in (("fixed", rule.fixed), ("min", rule.min), ("max", rule.max)):
        if limit is not None:
            yield _Entry(f"items.{sku}.{key}", count, limit, inputs.item(sku).model)
