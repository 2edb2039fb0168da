"""Every limit of the problem on the plan: value, limit, slack, whether it binds, and its line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from planner.assemble.binding import binding
from planner.case import Case
from planner.loader.inputs import Inputs
from planner.optimizer.operate import Operation
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
    groups = (_plant, _checkpoint, _storage, _rule, _gpus, _targets, _counts)
    entries = [entry for group in groups for entry in group(context)]
    tight = binding(case, operation)
    return tuple(_report(inputs, entry, tight) for entry in entries if entry[4] is not None)


def _report(inputs: Inputs, entry: Entry, tight: frozenset[str]) -> LimitReport:
    name, label, value, sense, limit, unit, path = entry
    assert value is not None
    assert limit is not None
    slack = limit - value if sense == "<=" else value - limit
    near = slack <= CLOSE * max(abs(limit), abs(value), 1e-12)
    return LimitReport(
        name=name,
        label=label,
        value=value,
        sense=sense,
        limit=limit,
        unit=unit,
        slack=max(slack, 0.0),
        binding=near or name in tight or (name == "facility_power" and "it_power" in tight),
        source=inputs.where(path) if path else None,
    )


def _plant(c: _Context) -> Iterator[Entry]:
    site, budget, totals = c.inputs.problem.site, c.inputs.problem.budget, c.totals
    yield ("it_power", "IT power", totals.it_power_kw, "<=", site.it_power_kw, "kW",
           "site.it_power")  # fmt: skip
    yield ("facility_power", "facility power", totals.facility_power_kw, "<=",
           site.facility_power_kw, "kW", "site.facility_power")  # fmt: skip
    yield "racks", "racks", totals.racks, "<=", site.racks, "racks", "site.racks"
    money = (
        ("capex", "capital budget", totals.capex_usd, budget.capex_usd, "USD", "capex"),
        ("opex", "operating budget", totals.opex_usd_per_year, budget.opex_usd_per_year,
         "USD/year", "opex_per_year"),
        ("tco", "TCO budget", totals.tco_usd, budget.tco_usd, "USD", "tco"),
    )  # fmt: skip
    for name, label, value, limit, unit, key in money:
        yield name, label, value, "<=", limit, unit, f"budget.{key}"


def _checkpoint(c: _Context) -> Iterator[Entry]:
    checkpoint, job = c.inputs.problem.job.checkpoint, c.job
    path = "jobs.0.checkpoint"
    if job.mode == "sync":
        yield ("blocking", "time blocked by checkpoints", job.blocking, "<=",
               checkpoint.max_blocking, "share", f"{path}.max_blocking")  # fmt: skip
        return
    if c.case.rule is None:
        yield ("overlap", "drain overlap", job.overlap, "<=", checkpoint.max_overlap, "share",
               f"{path}.max_overlap")  # fmt: skip
    yield ("drain_fits", "stall and drain within the interval", job.stall_s + job.drain_s, "<=",
           job.interval_s, "s", f"{path}.interval")  # fmt: skip


def _storage(c: _Context) -> Iterator[Entry]:
    problem, job = c.inputs.problem, c.job
    restore = problem.job.restore.max_time_s
    yield ("restore_time", "restore time", job.restore_s, "<=", restore, "s",
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
    for item in sorted(c.inputs.items, key=lambda item: item.id):
        count = units.get(item.id, 0)
        if count and item.min_units is not None:
            least = item.min_units.value
            label = f"least order of {item.model}"
            yield f"min_units.{item.id}", label, count, ">=", least, "units", ""
        if count and item.max_units is not None:
            most = item.max_units.value
            yield f"max_units.{item.id}", f"most {item.model}", count, "<=", most, "units", ""
        yield from _demanded(c, item.id, item.model, count)
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
