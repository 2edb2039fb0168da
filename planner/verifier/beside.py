"""Statements beside the plan: other storage, and the next step of GPU systems.

The job is run on the other counts; what else they cost or draw is taken as stated, for each such
plan was verified as a whole when it was made.
"""

from __future__ import annotations

from dataclasses import replace

from planner.figures import OBJECTIVES
from planner.schema.beside import StorageOption
from planner.verifier.ledger import Either, Ledger
from planner.verifier.limits import Found
from planner.verifier.operation import operate

ENOUGH = 1e-6
"""Share by which a figure may differ: tolerances of the search."""
PAID_FOR = {"usd_per_useful_gpu_hour": "useful_gpus", "usd_per_million_tokens": "useful_pflops"}


def check_beside(ledger: Ledger, found: Found) -> None:
    """Check the options of storage and the next step, where the plan states them."""
    options = found.plan.storage_options
    for option in options.options if options else ():
        _check_option(ledger, found, option)
    if options is not None:
        chosen = sum(option.chosen for option in options.options)
        ledger.same("storage_options: chosen", chosen, 1)
        own = {"usable_tb": found.values["capacity_needed_tb"]}
        own["read_gb_per_s"] = _read_needed(found)
        ledger.all_same("storage_options", options, own)
    _check_next_step(ledger, found)


def _read_needed(found: Found) -> float:
    """Return the read bandwidth that data and restores need, GB/s."""
    most_s = found.run.job.restore.max_time_s
    restore = found.run.fan_out * found.run.size_gb / most_s if most_s is not None else 0.0
    return max(found.run.gpus * found.run.job.ingest_per_gpu_gb_per_s, restore)


def _check_option(ledger: Ledger, found: Found, option: StorageOption) -> None:
    """Check items, sums and the shortfall of the work on other storage."""
    basis, name = found.basis, f"storage_options.{option.family}"
    units = {each.sku: each.units for each in option.items}
    stored = [sku for sku in units if sku in basis.items and basis.items[sku].family]
    if len(stored) < len(units) or option.interval_s <= 0:
        ledger.fail(f"{name}: not storage of the catalogs, or no interval")
        return
    for each in option.items:
        item, price = basis.items[each.sku], basis.inputs.prices.get(each.sku)
        own: dict[str, object] = {"model": item.model, "vendor": item.vendor}
        own["purchased"] = basis.bought(item, each.units)
        own["unit_list_usd"] = None if price is None else price.list_usd
        ends = (None, None) if price is None else price.range_usd
        own |= {"unit_low_usd": ends[0], "unit_high_usd": ends[1]}
        ledger.all_same(f"{name}.{each.sku}", each, own)
    plates = [basis.nameplate(sku, count) for sku, count in units.items()]
    usable = [(basis.items[sku].provides.usable, count) for sku, count in units.items()]
    families = sorted({str(basis.items[sku].family) for sku in units})
    own = {"read_gb_per_s": sum(p[0] for p in plates), "write_gb_per_s": sum(p[1] for p in plates)}
    own |= {"usable_tb": sum(tb.value * n for tb, n in usable if tb is not None)}
    ledger.all_same(name, option, own | {"family": " and ".join(families)})
    if option.chosen:
        mine = basis.flash(found.bill.cluster)
        ledger.same(f"{name}.items", sorted(units.items()), sorted(mine.items()))
        own = {"interval_s": found.run.interval_s, "every": found.run.every}
        ledger.all_same(name, option, own | {"beside_usd": 0.0, "fewer_systems": 0})
    if not option.fewer_systems and all(min(plate) > 0 for plate in plates):
        _check_shortfall(ledger, found, option, families)


def _check_shortfall(
    ledger: Ledger, found: Found, option: StorageOption, families: list[str]
) -> None:
    goal = found.plan.objective
    name = found.basis.problem.objective.name
    objective, per_work = OBJECTIVES[name], PAID_FOR.get(name)
    best = goal.bound if per_work is None else found.values[per_work]
    if best is None or (per_work is None and objective.sense == "minimize"):
        return
    systems = found.basis.of_kind(found.run.counts, "gpu_system")
    counts = systems | {each.sku: each.units for each in option.items}
    run = replace(found.run, counts=counts, families=tuple(families), every=option.every)
    figures = operate(replace(run, interval_s=option.interval_s)).figures
    value = {**figures, "gpus_used": run.gpus}[per_work or objective.figure.name]
    behind = max(0.0, best - (value or 0.0)) / max(abs(best), 1e-12)
    near = abs(option.shortfall - behind) <= ENOUGH
    own = option.shortfall if near else behind
    ledger.same(f"storage_options.{option.family}.shortfall", option.shortfall, own)


def _check_next_step(ledger: Ledger, found: Found) -> None:
    """Run the job on the systems of the next step; its needs exceed limits that are listed."""
    step, run, name = found.plan.next_step, found.run, found.basis.problem.objective.name
    if step is None:
        return
    levels = (step.every > 0) == (run.every > 0)
    positive = min(step.systems, step.gpus, step.interval_s) > 0
    if step.sku not in run.systems or not levels or not positive:
        ledger.fail(f"next_step: {step.systems} more {step.sku} are no step of the plan")
        return
    counts = {**run.counts, step.sku: run.counts[step.sku] + step.systems}
    systems = {**run.systems, step.sku: run.systems[step.sku] + step.systems}
    more = replace(run, counts=counts, systems=systems, gpus=run.gpus + step.gpus)
    figures = operate(replace(more, interval_s=step.interval_s, every=step.every)).figures
    value = {**figures, "gpus_used": more.gpus}.get(OBJECTIVES[name].figure.name)
    if value is not None:
        near = abs(step.value - value) <= ENOUGH * abs(value)
        ledger.same("next_step.value", step.value, Either((step.value,)) if near else value)
    limits = {limit.name: limit for limit in found.plan.limits}
    for need in step.needs:
        limit = limits.get(need.name)
        over = limit is not None and limit.sense == "<=" and need.value > limit.limit == need.limit
        ledger.require(over, f"next_step.{need.name}: {need.value:.12g} exceeds no limit")
