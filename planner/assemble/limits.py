"""Every limit of the problem on the plan: value, limit, slack, whether it binds, and its line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from planner.assemble.binding import binding
from planner.case import Case, figures
from planner.inputs import Inputs
from planner.optimizer.operate import Operation
from planner.optimizer.purchase import bill, largest_share
from planner.schema.plan import JobPlan, LimitReport, Totals

CLOSE = 1e-6


@dataclass(frozen=True)
class _Context:
    inputs: Inputs
    case: Case
    operation: Operation
    totals: Totals
    job: JobPlan


Entry = tuple[str, str, float | None, Literal["<=", ">="], float | None, str, str]
"""(name, label, value, sense, limit, unit, path in the problem file)"""


def limits(
    inputs: Inputs, case: Case, operation: Operation, totals: Totals, job: JobPlan
) -> tuple[LimitReport, ...]:
    """Return a report for each limit that the problem or the catalogs set."""
    context = _Context(inputs, case, operation, totals, job)
    groups = (_plant, _supply, _checkpoint, _storage, _rule, _gpus, _targets, _counts)
    entries = [entry for group in groups for entry in group(context)]
    tight = binding(case, operation)
    return tuple(_report(inputs, entry, tight) for entry in entries if entry[4] is not None)


def _report(inputs: Inputs, entry: Entry, tight: frozenset[str]) -> LimitReport:
    name, label, value, sense, limit, unit, path = entry
    assert value is not None
    assert limit is not None
    slack = limit - value if sense == "<=" else value - limit
    exact = name.endswith(".fixed") or name == "exact_families"
    near = slack <= CLOSE * max(abs(limit), abs(value), 1e-12)
    return LimitReport(
        name=name,
        label=label,
        value=value,
        sense=sense,
        limit=limit,
        unit=unit,
        slack=0.0 if exact else max(slack, 0.0),
        binding=near or name in tight,
        source=inputs.where(path) if path else None,
        exact=exact,
    )


def _plant(c: _Context) -> Iterator[Entry]:
    site, budget, totals = c.inputs.problem.site, c.inputs.problem.budget, c.totals
    yield ("it_power", "IT power", totals.it_power_kw, "<=", site.it_power_kw, "kW",
           "site.it_power")  # fmt: skip
    yield ("facility_power", "facility power", totals.facility_power_kw, "<=",
           site.facility_limit_kw, "kW", _power_path(c))  # fmt: skip
    yield ("heat_air", "heat to air", totals.heat_air_kw, "<=", site.cooling.air_limit_kw, "kW",
           "site.cooling.air_limit")  # fmt: skip
    yield ("heat_liquid", "heat to liquid", totals.heat_liquid_kw, "<=",
           site.cooling.liquid_limit_kw, "kW", "site.cooling.liquid_limit")  # fmt: skip
    yield "racks", "racks", totals.racks, "<=", site.racks, "racks", "site.racks"
    money = (
        ("capex", "capital budget", totals.capex_usd, budget.capex_usd, "USD", "capex"),
        ("opex", "operating budget", totals.opex_usd_per_year, budget.opex_usd_per_year,
         "USD/year", "opex_per_year"),
        ("tco", "TCO budget", totals.tco_usd, budget.tco_usd, "USD", "tco"),
        ("support", "support budget", totals.support_usd_per_year, budget.support_usd_per_year,
         "USD/year", "support_per_year"),
        ("subscriptions", "subscription budget", totals.subscriptions_usd_per_year,
         budget.subscriptions_usd_per_year, "USD/year", "subscriptions_per_year"),
        ("energy", "energy budget", totals.energy_usd_per_year, budget.energy_usd_per_year,
         "USD/year", "energy_per_year"),
        ("colocation", "colocation budget", totals.colocation_usd_per_year,
         budget.colocation_usd_per_year, "USD/year", "colocation_per_year"),
        ("per_useful_gpu_hour", "money per useful GPU-hour", totals.usd_per_useful_gpu_hour,
         budget.per_useful_gpu_hour_usd, "USD/h", "per_useful_gpu_hour"),
        ("per_million_tokens", "money per million tokens", totals.usd_per_million_tokens,
         budget.per_million_tokens_usd, "USD", "per_million_tokens"),
    )  # fmt: skip
    for name, label, value, limit, unit, key in money:
        yield name, label, value, "<=", limit, unit, f"budget.{key}"
    yield ("lead_time", "lead time", totals.lead_time_days or 0.0, "<=",
           c.inputs.problem.targets.max_lead_time_days, "days",
           "targets.max_lead_time")  # fmt: skip


def _power_path(c: _Context) -> str:
    """Return which of the two limits at the meter counts."""
    site = c.inputs.problem.site
    if site.feeds is not None and site.facility_limit_kw == site.feeds.usable_kw:
        return "site.feeds"
    return "site.facility_power"


def _supply(c: _Context) -> Iterator[Entry]:
    """Yield stock, hot spares and what policy asks."""
    spent, problem = bill(c.case, c.operation.units), c.inputs.problem
    models = {item.id: item.model for item in c.inputs.items}
    for item in c.case.bill_items():
        bought = spent.purchased[item.id]
        if bought and item.stock is not None:
            label, path = f"stock of {models[item.id]}", f"items.{item.id}.stock"
            yield f"stock.{item.id}", label, bought, "<=", item.stock, "units", path
    for sku, used in sorted(c.operation.used.items()):
        hot = c.case.job.hot(used)
        if hot:
            label, idle = f"hot spares of {models[sku]}", c.operation.units[sku] - used
            path = "jobs.0.gpus.hot_spares"
            yield f"hot_spares.{sku}", label, idle, ">=", hot, "systems", path
    for number, ids in enumerate(c.case.policy.required):
        label = f"units from {problem.policy.require_vendors[number]}"
        count, path = sum(c.operation.units[i] for i in ids), f"policy.require_vendors.{number}"
        yield f"require_vendor.{number}", label, count, ">=", 1, "units", path
    for number, split in enumerate(c.case.policy.splits):
        rule = problem.policy.split[number]
        label = f"largest vendor's share of {rule.category.replace('_', ' ')} {rule.measure}"
        value = largest_share(split, c.operation.units)
        path = f"policy.split.{number}.max_share"
        yield f"split.{number}", label, value, "<=", rule.max_share, "share", path
    yield ("exact_families", "storage families", len(c.job.storage_families), "<=",
           c.case.exact_families, "families", "storage.exact_families")  # fmt: skip


def _checkpoint(c: _Context) -> Iterator[Entry]:
    checkpoint, job = c.inputs.problem.job.checkpoint, c.job
    path, down = "jobs.0.checkpoint", _down(c)
    drain_s = c.case.job.checkpoint_gb / c.operation.safe_write_gb_per_s
    share = drain_s / job.interval_s
    if job.mode == "sync":
        yield (
            "blocking", f"time blocked by checkpoints{down}",
            share if down else job.blocking, "<=",
            checkpoint.max_blocking, "share", f"{path}.max_blocking",
        )  # fmt: skip
        return
    if c.case.rule is None:
        yield ("overlap", f"drain overlap{down}", share if down else job.overlap, "<=",
               checkpoint.max_overlap, "share", f"{path}.max_overlap")  # fmt: skip
    busy_s = job.stall_s + (drain_s if down else job.drain_s)
    yield ("drain_fits", f"stall and drain within the interval{down}", busy_s, "<=",
           job.interval_s, "s", f"{path}.interval")  # fmt: skip


def _down(c: _Context) -> str:
    """Return what a label says of appliances that are down."""
    return f", {c.case.tolerate_down} down" if c.case.tolerate_down else ""


def _storage(c: _Context) -> Iterator[Entry]:
    problem, job = c.inputs.problem, c.job
    restore = problem.job.restore.max_time_s
    restore_s = job.restore_s if job.degraded_restore_s is None else job.degraded_restore_s
    yield ("restore_time", f"restore time{_down(c)}", restore_s, "<=", restore, "s",
           "jobs.0.restore.max_time")  # fmt: skip
    yield ("capacity", "usable capacity", c.totals.usable_tb, ">=", job.capacity_needed_tb, "TB",
           "jobs.0.checkpoint.keep_last")  # fmt: skip
    if c.case.job.ingest_per_gpu_gb_per_s > 0:
        yield ("ingest", "ingest", job.ingest_gb_per_s, "<=", job.delivered_read_gb_per_s, "GB/s",
               "jobs.0.ingest_per_gpu")  # fmt: skip
    rated = [i.endurance_tb_per_day for i in c.case.storage if c.operation.units[i.id]]
    if None not in rated:
        endured = sum(
            (i.endurance_tb_per_day or 0.0) * c.operation.units[i.id] for i in c.case.storage
        )
        yield ("endurance", "write endurance", job.write_volume_tb_per_day, "<=", endured,
               "TB/day", "")  # fmt: skip


def _rule(c: _Context) -> Iterator[Entry]:
    rule = c.case.rule
    if rule is None:
        return
    units = -(-c.totals.gpus // rule.per_gpus)
    sides = (
        ("read", c.totals.read_gb_per_s, rule.read_gb_per_s),
        ("write", c.totals.write_gb_per_s, rule.write_gb_per_s),
    )
    for side, value, each in sides:
        yield (f"rule_{side}", f"{rule.name} rule, {side}", value, ">=", each * units, "GB/s",
               "storage.rule")  # fmt: skip


def _gpus(c: _Context) -> Iterator[Entry]:
    used, gpus = c.job.gpus_used, c.inputs.problem.job.gpus
    yield ("replica_fits", "GPUs that hold one replica", used, ">=", c.job.replica_gpus, "GPUs",
           "jobs.0.parallelism")  # fmt: skip
    yield "gpus_min", "least GPUs in use", used, ">=", gpus.min, "GPUs", "jobs.0.gpus.min"
    yield "gpus_max", "most GPUs in use", used, "<=", gpus.max, "GPUs", "jobs.0.gpus.max"
    if "max_types" in gpus.model_fields_set or _owned_but_not_in_use(c):
        types, path = len(c.operation.used), "jobs.0.gpus.max_types"
        yield "gpu_types", "GPU types (max_types)", types, "<=", gpus.max_types, "types", path


def _owned_but_not_in_use(c: _Context) -> bool:
    return any(s.installed and s.id not in c.operation.used for s in c.case.systems)


def _targets(c: _Context) -> Iterator[Entry]:
    targets, job = c.inputs.problem.targets, c.job
    yield ("min_gpus", "GPUs in use", job.gpus_used, ">=", targets.min_gpus, "GPUs",
           "targets.min_gpus")  # fmt: skip
    yield ("min_goodput", "goodput", job.goodput, ">=", targets.min_goodput, "share",
           "targets.min_goodput")  # fmt: skip
    yield ("min_useful_gpus", "useful GPUs", job.useful_gpus, ">=", targets.min_useful_gpus,
           "GPUs", "targets.min_useful_gpus")  # fmt: skip
    yield ("min_useful_pflops", "useful PFLOP/s", job.useful_pflops, ">=",
           targets.min_useful_pflops, "PFLOP/s", "targets.min_useful_pflops")  # fmt: skip
    yield ("max_days_to_train", "days to train", job.days_to_train, "<=",
           targets.max_days_to_train, "days", "targets.max_days_to_train")  # fmt: skip


def _counts(c: _Context) -> Iterator[Entry]:
    units = c.operation.units
    standing = bill(c.case, units).counts
    places = {offer.id: offer.place for offer in c.case.offers()}
    for item in sorted(c.inputs.items, key=lambda item: item.id):
        count = units.get(item.id, 0)
        in_place = round(standing[places[item.id]]) if item.id in places else 0
        if count and item.min_units is not None:
            least = item.min_units.value
            label = f"least order of {item.model}"
            yield f"min_units.{item.id}", label, count, ">=", least, "units", ""
        if count and item.max_units is not None:
            most = item.max_units.value
            yield f"max_units.{item.id}", f"most {item.model}", count, "<=", most, "units", ""
        yield from _demanded(c, item.id, item.model, in_place)
        if in_place > count:
            label, path = f"{item.model} installed, which stay", f"items.{item.id}.installed"
            least = figures.owned(item, c.inputs.problem)
            yield path, label, in_place, ">=", least, "units", path
    for family in c.inputs.families:
        count = sum(units.get(i.id, 0) for i in c.inputs.items if i.family == family.id)
        if family.max_units is not None and count > 0:
            label = f"most units in one {family.name} system"
            yield (f"family_max_units.{family.id}", label, count, "<=",
                   family.max_units.value, "units", "")  # fmt: skip


def _demanded(c: _Context, sku: str, model: str, count: int) -> Iterator[Entry]:
    rule = c.inputs.problem.items.get(sku)
    if rule is None:
        return
    path = f"items.{sku}"
    if rule.fixed is not None:
        label = f"{model} fixed"
        yield f"{path}.fixed", label, count, "<=", rule.fixed, "units", f"{path}.fixed"
    if rule.min is not None or rule.required:
        least = max(rule.min or 0, int(rule.required))
        key = "min" if rule.min is not None else "required"
        yield f"{path}.min", f"{model} at least", count, ">=", least, "units", f"{path}.{key}"
    if rule.max is not None:
        yield f"{path}.max", f"{model} at most", count, "<=", rule.max, "units", f"{path}.max"
