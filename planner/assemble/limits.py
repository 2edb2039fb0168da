"""Every limit of the problem on the plan: value, limit, slack, whether it binds, and its line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from planner.case import Case, System, suitability
from planner.case.model import Way
from planner.case.quantities import total
from planner.inputs import Inputs
from planner.limits import named, of_group, path_of
from planner.optimizer import operate, purchase
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import Run
from planner.optimizer.purchase import bill, largest_share
from planner.schema.plan import JobPlan, LimitReport, LocalPlan, NextStep, StepNeed, Totals

# Which limits bind: one unit more of what is wanted, or one less of what is bought, breaks it.


def binding(case: Case, operation: Run) -> frozenset[str]:
    """Return the names of the limits that hold the plan where it is.

    If more is better, what more GPUs of a type in use would break binds: for one more system, or as
    many as another replica takes. So do limits on the GPUs. What storage and GPUs must reach binds
    where one unit less of something bought would miss it, too.
    """
    names = set(_missed(case, operation))
    if case.maximise:
        names |= {*_exceeded(case, operation), *_full(case, operation)}
    return frozenset(names)


def _exceeded(case: Case, operation: Run) -> Iterator[str]:
    worth = measure(case, case.objective)
    for system in case.systems:
        if system.id not in operation.used:
            continue
        count = operation.units[system.id] + systems_of_a_step(case, operation, system)
        if system.high is None or count <= system.high:
            units = {**operation.units, system.id: count}
            yield from purchase.broken_rows(case, units, operation.ways)
        run = _with_more(case, operation, system)
        if run is None or "fabric" in purchase.broken_rows(case, run.units, run.ways):
            continue  # no fabric is so large: there is no bill of it
        if worth(run) > worth(operation):
            yield from operate.passed_by(case, run)


def _with_more(case: Case, operation: Run, system: System) -> Run | None:
    """Return the job with a step more GPUs of a type, whatever limits on its operation that breaks.

    They are of systems in use that are not full, else of more systems, beside the same spares
    where so many may be had.
    """
    way, now = system.way(operation.ways), operation.used[system.id]
    units, used, more = operation.units, operation.used, way.step_gpus
    full = sum(each.most_gpus(used[s.id]) for s, each in case.in_use(used, operation.ways))
    if operation.gpus + more > full:
        step = _systems_more(way, now)
        more = way.most_gpus(now + step) - way.most_gpus(now)
        used = {**used, system.id: now + step}
        if system.high is None or units[system.id] + step <= system.high:
            units = {**units, system.id: units[system.id] + step}
        if operate.most_in_use(case, units[system.id]) < now + step:
            return None  # hot spares would grow with it
    loose, gpus = _without_limits(case), operation.gpus + more
    return operate.operate(loose, operation.mode, units, used, gpus, operation.ways)


def _systems_more(way: Way, systems: int) -> int:
    """Return how many systems more hold more GPUs in use."""
    step = 1
    while way.most_gpus(systems + step) <= way.most_gpus(systems):
        step += 1
    return step


def _full(case: Case, operation: Run) -> Iterator[str]:
    step = min(way.step_gpus for _, way in case.in_use(operation.used, operation.ways))
    for name, most in operate.most_by(case, operation).items():
        if most is not None and operation.gpus + step > most:
            yield name


def systems_of_a_step(case: Case, operation: Run, system: System) -> int:
    """Return how many more systems of a type let the job use more GPUs of it."""
    units, way = operation.units[system.id], system.way(operation.ways)
    now = operate.most_gpus(case, way, units)
    more = 1
    while operate.most_gpus(case, way, units + more) <= now:
        more += 1
    return more


def next_step(
    case: Case, operation: Run, limits: Sequence[LimitReport], value: float
) -> NextStep | None:
    """Return what more GPU systems would give and need, of the type most of which is in place.

    Args:
        limits: the limits as the plan reports them.
        value: the plan's value of the objective, in its own unit.

    Returns:
        None where less of something is asked for, where no looser limit lets so many systems in,
        and where more of them do no more work.
    """
    if not case.maximise:
        return None
    here = [system for system in case.systems if system.id in operation.used]
    system = max(here, key=lambda system: operation.units[system.id])
    way, now = system.way(operation.ways), operation.used[system.id]
    step = _systems_more(way, now)
    more = way.most_gpus(now + step) - way.most_gpus(now)
    count = operation.units[system.id] + step
    if system.high is not None and count > system.high:
        return None
    if operate.most_in_use(case, count) < now + step:
        return None  # hot spares would grow with it
    units = {**operation.units, system.id: count}
    used = {**operation.used, system.id: now + step}
    broken = set(purchase.broken_rows(case, units, operation.ways))
    supplies = purchase.given(case.limits)
    if not broken <= {row.name for row in supplies}:
        return None  # no fabric, no stock, not allowed: nothing that a looser limit would mend
    gpus = operation.gpus + more
    run = operate.operate(case, operation.mode, units, used, gpus, operation.ways)
    if run is None or operate.passed_by(case, run):
        return None  # storage as it is does not do for so many, or a target is missed
    then = natural(case.objective, measure(case, case.objective)(run))
    if then <= value * (1.0 + CLOSE):
        return None
    spent = bill(case, units, operation.ways)
    by_name = {limit.name: limit for limit in limits}
    needs = [
        StepNeed(name=row.name, label=by_name[row.name].label, value=spent[row.figure],
                 limit=by_name[row.name].limit, unit=row.unit)
        for row in supplies
        if row.name in broken
    ]  # fmt: skip
    return NextStep(
        sku=system.id, systems=step, gpus=more, value=then, interval_s=run.interval_s,
        every=run.every if run.mode == "local" else 0, needs=tuple(needs),
    )  # fmt: skip


def _missed(case: Case, operation: Run) -> Iterator[str]:
    loose = _without_limits(case)
    for offer in case.offers():
        count = operation.units[offer.id] - 1
        if count < offer.low or count < 0:
            continue
        units = {**operation.units, offer.id: count}
        used = {key: min(number, units[key]) for key, number in operation.used.items()}
        used = {key: number for key, number in used.items() if number}
        ways = operation.ways
        gpus = sum(way.most_gpus(used[s.id]) for s, way in case.in_use(used, ways))
        yield from purchase.broken_by_counts(case, units)
        run = operate.operate(loose, operation.mode, units, used, min(gpus, operation.gpus), ways)
        if run is not None:
            yield from operate.passed_by(case, run)


@lru_cache(maxsize=4)
def _without_limits(case: Case) -> Case:
    """Return the case without the limits that ``operate`` enforces, so that misses can be seen.

    A free interval adapts to storage, so the overlap it allows stays as it is.
    """
    changes: dict[str, Any] = {"max_restore_s": None, "ingest_per_gpu_gb_per_s": 0.0}
    if case.job.interval.policy != "optimal":
        changes |= {"max_overlap": 1.0, "max_blocking": 0.99}
    if all(getattr(case.job, name) == value for name, value in changes.items()):
        return case.of_any_size()
    return replace(case, job=replace(case.job, **changes)).of_any_size()


CLOSE = 1e-6


class _Context(NamedTuple):
    inputs: Inputs
    case: Case
    operation: Run
    totals: Totals
    job: JobPlan


class _Entry(NamedTuple):
    """The value of a limit of the table: ``of`` fills the ``*`` of its label, ``more`` follows it.

    ``path`` is given where the file has it in another place than the table.
    """

    name: str
    value: float | None
    limit: float | None
    of: str = ""
    more: str = ""
    path: str | None = None


def limits(
    inputs: Inputs, case: Case, operation: Run, totals: Totals, job: JobPlan
) -> tuple[LimitReport, ...]:
    """Return a report for each limit that the problem or the catalogs set."""
    context = _Context(inputs, case, operation, totals, job)
    groups = (_plant, _supply, _checkpoint, _storage, _rule, _gpus, _targets, _counts)
    entries = [entry for group in groups for entry in group(context)]
    tight = binding(case, operation)
    return tuple(_report(inputs, entry, tight) for entry in entries if entry.limit is not None)


def _report(inputs: Inputs, entry: _Entry, tight: frozenset[str]) -> LimitReport:
    row, value, limit = named(entry.name), entry.value, entry.limit
    assert value is not None, f"{row.name} is not known, and no figure of STATED"
    assert limit is not None
    slack = row.looser * (limit - value)
    near = slack <= CLOSE * max(abs(limit), abs(value), 1e-12)
    path = path_of(entry.name) if entry.path is None else entry.path
    return LimitReport(
        name=entry.name,
        label=row.label.replace("*", entry.of) + entry.more,
        value=value,
        sense=row.sense,
        limit=limit,
        unit=row.unit,
        slack=0.0 if row.exact else max(slack, 0.0),
        binding=near or entry.name in tight,
        source=inputs.where(path) if path else None,
        exact=row.exact,
    )


def _plant(c: _Context) -> Iterator[_Entry]:
    for row in of_group("supply", "ratio"):
        value, more = getattr(c.totals, row.figure), ""
        if value is None and row.known_part:
            value, more = (
                bill(c.case, c.operation.units, c.operation.ways)[row.figure],
                ", known part",
            )
        path = _power_path(c) if row.name == "facility_power" else None
        yield _Entry(row.name, value, c.case.limits[row.field], more=more, path=path)
    counts = bill(c.case, c.operation.units, c.operation.ways).counts
    for some in c.case.companions.positions:
        yield _Entry(some.name, round(total(some.racks, counts)), some.count, some.label)
    longest_days = c.inputs.problem.targets.max_lead_time_days
    yield _Entry("lead_time", c.totals.lead_time_days or 0.0, longest_days)


def _power_path(c: _Context) -> str:
    """Return which of the two limits at the meter counts."""
    site = c.inputs.problem.site
    if site.feeds is not None and site.facility_limit_kw == site.feeds.usable_kw:
        return "site.feeds"
    return "site.facility_power"


def _supply(c: _Context) -> Iterator[_Entry]:
    """Yield stock, hot spares and what policy asks."""
    spent = bill(c.case, c.operation.units, c.operation.ways)
    problem = c.inputs.problem
    for item in c.case.stocked:
        if bought := spent.purchased[item.id]:
            yield _Entry(f"stock.{item.id}", bought, item.stock, c.inputs.item(item.id).model)
    for sku, used in sorted(c.operation.used.items()):
        hot = c.case.job.hot(used)
        if hot:
            idle = c.operation.units[sku] - used
            yield _Entry(f"hot_spares.{sku}", idle, hot, c.inputs.item(sku).model)
    for number, ids in enumerate(c.case.policy.required):
        count, vendor = (
            sum(c.operation.units[i] for i in ids),
            problem.policy.require_vendors[number],
        )
        yield _Entry(f"require_vendor.{number}", count, 1, vendor)
    for number, split in enumerate(c.case.policy.splits):
        rule, share = problem.policy.split[number], largest_share(split, c.operation.units)
        of = f"{rule.category.replace('_', ' ')} units"
        yield _Entry(f"split.{number}", share, rule.max_share, of)
    yield _Entry("exact_families", len(c.job.storage_families), c.case.exact_families)


def _checkpoint(c: _Context) -> Iterator[_Entry]:
    checkpoint, job, down = c.inputs.problem.job.checkpoint, c.job, _down(c)
    drain_s = c.case.job.checkpoint_gb / c.operation.safe_write_gb_per_s
    share = drain_s / c.operation.remote_interval_s
    if job.mode == "sync":
        blocking = share if down else job.blocking
        yield _Entry("blocking", blocking, checkpoint.max_blocking, more=down)
        return
    if c.case.rule is None:
        overlap = share if down else job.overlap
        yield _Entry("overlap", overlap, checkpoint.max_overlap, more=down)
    if job.local is not None:
        yield from _local(job, job.local, drain_s if down else job.drain_s, down)
        return
    busy_s = job.stall_s + (drain_s if down else job.drain_s)
    yield _Entry("drain_fits", busy_s, job.interval_s, more=down)


def _local(job: JobPlan, local: LocalPlan, drain_s: float, down: str) -> Iterator[_Entry]:
    """Yield what the local level of checkpoints needs."""
    yield _Entry("drain_fits", drain_s, local.remote_interval_s, more=down)
    yield _Entry("local_fits", job.stall_s + local.drain_s, job.interval_s)
    swap_s = 0.0 if job.repair is None else job.repair.swap_s
    yield _Entry("local_lag", local.restart_s + swap_s + local.drain_s, job.mtti_s)
    yield _Entry("local_room", local.room_tb, local.capacity_tb)
    yield _Entry("local_endurance", local.volume_tb_per_day, local.endurance_tb_per_day)


def _down(c: _Context) -> str:
    """Return what a label says of appliances that are down."""
    return f", {c.case.tolerate_down} down" if c.case.tolerate_down else ""


def _storage(c: _Context) -> Iterator[_Entry]:
    job, most_s = c.job, c.inputs.problem.job.restore.max_time_s
    restore_s = job.restore_s if job.degraded_restore_s is None else job.degraded_restore_s
    yield _Entry("restore_time", restore_s, most_s, more=_down(c))
    yield _Entry("capacity", c.totals.usable_tb, job.capacity_needed_tb)
    if c.case.job.ingest_per_gpu_gb_per_s > 0:
        yield _Entry("ingest", job.ingest_gb_per_s, c.operation.data_gb_per_s)
    if job.bulk is not None:
        yield _Entry("bulk_capacity", job.bulk.usable_tb, job.bulk.needed_tb)
        if c.case.job.ingest_per_gpu_gb_per_s > 0:
            yield _Entry("bulk_read", job.ingest_gb_per_s, job.bulk.read_gb_per_s)
            yield _Entry("staging", job.ingest_gb_per_s, job.bulk.staging_gb_per_s)
    if job.burst is not None:
        yield _Entry("burst_recovery", job.burst.recovery_s, c.operation.remote_interval_s)
    rated = [i.endurance_tb_per_day for i in c.case.storage if c.operation.units[i.id]]
    if None not in rated:
        endured = sum(
            (i.endurance_tb_per_day or 0.0) * c.operation.units[i.id] for i in c.case.storage
        )
        yield _Entry("endurance", job.write_volume_tb_per_day, endured)


def _rule(c: _Context) -> Iterator[_Entry]:
    rule = c.case.rule
    if rule is None:
        return
    units = -(-c.totals.gpus // rule.per_gpus)
    yield _Entry("rule_read", c.totals.read_gb_per_s, rule.read_gb_per_s * units, rule.name)
    yield _Entry("rule_write", c.totals.write_gb_per_s, rule.write_gb_per_s * units, rule.name)


def _gpus(c: _Context) -> Iterator[_Entry]:
    used, gpus = c.job.gpus_used, c.inputs.problem.job.gpus
    yield _Entry("replica_fits", used, c.job.replica_gpus)
    yield _Entry("gpus_min", used, gpus.min)
    for name, most in operate.most_by(c.case, c.operation).items():
        yield _Entry(name, used, most)
    if "max_types" in gpus.model_fields_set or _owned_but_not_in_use(c):
        yield _Entry("gpu_types", len(c.operation.used), gpus.max_types)


def _owned_but_not_in_use(c: _Context) -> bool:
    return any(s.installed and s.id not in c.operation.used for s in c.case.systems)


def _targets(c: _Context) -> Iterator[_Entry]:
    for row in of_group("target"):
        yield _Entry(row.name, getattr(c.job, row.figure), c.case.limits[row.field])


def _counts(c: _Context) -> Iterator[_Entry]:
    units = c.operation.units
    standing = bill(c.case, units, c.operation.ways).counts
    places = {offer.id: offer.place for offer in c.case.offers()}
    asked = {*units, *places, *c.inputs.problem.items} & c.inputs.by_id.keys()
    for item in (c.inputs.item(sku) for sku in sorted(asked)):
        count = units.get(item.id, 0)
        in_place = round(standing[places[item.id]]) if item.id in places else 0
        if count and item.min_units is not None:
            yield _Entry(f"min_units.{item.id}", count, item.min_units.value, item.model)
        if count and item.max_units is not None:
            yield _Entry(f"max_units.{item.id}", count, item.max_units.value, item.model)
        yield from _demanded(c, item.id, item.model, in_place)
        if in_place > count:
            least = suitability.owned(item, c.inputs.problem)
            yield _Entry(f"items.{item.id}.installed", in_place, least, item.model)
    for family in c.inputs.families:
        if family.max_units is None:
            continue
        count = sum(n for sku, n in units.items() if n and c.inputs.item(sku).family == family.id)
        if count > 0:
            name = f"family_max_units.{family.id}"
            yield _Entry(name, count, family.max_units.value, family.name)


def _demanded(c: _Context, sku: str, model: str, count: int) -> Iterator[_Entry]:
    rule, path = c.inputs.problem.items.get(sku), f"items.{sku}"
    if rule is None:
        return
    if rule.fixed is not None:
        yield _Entry(f"{path}.fixed", count, rule.fixed, model)
    if rule.min is not None or rule.required:
        least = max(rule.min or 0, int(rule.required))
        given = f"{path}.min" if rule.min is not None else f"{path}.required"
        yield _Entry(f"{path}.min", count, least, model, path=given)
    if rule.max is not None:
        yield _Entry(f"{path}.max", count, rule.max, model)
