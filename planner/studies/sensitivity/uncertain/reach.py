"""By how much a purchase, and the way it is run, passes each limit of a case.

Limits have the names that the limits of a plan have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from planner.case import Case
from planner.limits import BY_NAME
from planner.optimizer import purchase
from planner.optimizer.joint import FLOOR_TOLERANCE
from planner.optimizer.missed import amount
from planner.optimizer.operate import TOLERANCE, Operation
from planner.sizing.demand import write_volume_tb_per_day

Passed = float | None
"""By what share of itself a limit is passed; None where that is no matter of more or less."""

_NUMBERED = re.compile(r"(stock|require_vendor|split)_(.+)")


def spent_over(case: Case, units: Mapping[str, int]) -> dict[str, Passed]:
    """Return the limits that a purchase passes, however it is run."""
    found: dict[str, Passed] = {}
    for row in purchase.broken_rows(case, units):
        found[_name(row)] = _over(case, units, row)
    return found


def _name(row: str) -> str:
    """Return the name that a plan's limits have for a row of the model."""
    numbered = _NUMBERED.fullmatch(row)
    if numbered is None:
        return row
    kind, rest = numbered.groups()
    return f"{kind}.{rest.partition('_')[0] if kind == 'split' else rest}"


def _over(case: Case, units: Mapping[str, int], row: str) -> Passed:
    if row == "capacity":
        usable_tb = sum(item.usable_tb * units[item.id] for item in case.storage)
        return 1.0 - usable_tb / case.job.capacity_needed_tb
    supply = BY_NAME.get(row)
    if supply is None or supply.group != "supply":
        return None
    limit, used = getattr(case.limits, supply.field), purchase.bill(case, units)[supply.figure]
    return used / limit - 1.0 if limit else None


def passed_by(case: Case, run: Operation) -> dict[str, Passed]:
    """Return the limits on how a job runs that an operation passes."""
    found: dict[str, Passed] = {}
    for name, value, most in _ceilings(case, run):
        if value > most * (1 + TOLERANCE):
            found[name] = value / most - 1.0 if most else None
    for name, value, least in _floors(case, run):
        if value < least * (1 - FLOOR_TOLERANCE):
            found[name] = 1.0 - value / least
    return found


def _ceilings(case: Case, run: Operation) -> Iterator[tuple[str, float, float]]:
    """Yield (limit, what is reached, the most that is allowed)."""
    job, limits = case.job, case.limits
    if job.max_restore_s is not None:
        yield "restore_time", amount(case, run, "restore_time"), job.max_restore_s
    if run.mode == "sync":
        yield "blocking", amount(case, run, "blocking"), job.max_blocking
    else:
        overlap = amount(case, run, "overlap")
        if case.rule is None:
            yield "overlap", overlap, job.max_overlap
        yield "drain_fits", job.stall_s + overlap * run.interval_s, run.interval_s
    yield "ingest", run.gpus * job.ingest_per_gpu_gb_per_s, run.read_gb_per_s
    rated = [item.endurance_tb_per_day for item in case.storage if run.units[item.id]]
    if None not in rated:
        written = write_volume_tb_per_day(job.checkpoint_gb, run.interval_s)
        endured = sum((i.endurance_tb_per_day or 0.0) * run.units[i.id] for i in case.storage)
        yield "endurance", written, endured
    if job.gpus_max is not None:
        yield "gpus_max", float(run.gpus), float(job.gpus_max)
    if limits.max_days_to_train is not None:
        yield "max_days_to_train", amount(case, run, "max_days_to_train"), limits.max_days_to_train
    tco_usd = purchase.bill(case, run.units)["tco_usd"]
    if limits.per_useful_gpu_hour is not None:
        each = tco_usd / (run.useful_gpus * case.rates.hours)
        yield "per_useful_gpu_hour", each, limits.per_useful_gpu_hour
    if limits.per_million_tokens is not None:
        tokens = run.useful_pflops(job.mfu or 0.0) * case.million_tokens_per_pflops()
        yield "per_million_tokens", tco_usd / tokens, limits.per_million_tokens


def _floors(case: Case, run: Operation) -> Iterator[tuple[str, float, float]]:
    """Yield (limit, what is reached, the least that is asked for)."""
    job, limits = case.job, case.limits
    others = max(1, job.replica_gpus or 1, limits.min_gpus or 1)
    asked = (
        ("replica_fits", float(run.gpus), job.replica_gpus),
        ("min_gpus", float(run.gpus), limits.min_gpus),
        ("gpus_min", float(run.gpus), job.gpus_min if job.gpus_min > others else None),
        ("min_goodput", run.goodput, limits.min_goodput),
        ("min_useful_gpus", run.useful_gpus, limits.min_useful_gpus),
        ("min_useful_pflops", run.useful_pflops(job.mfu or 0.0), limits.min_useful_pflops),
    )
    for name, value, least in asked:
        if least is not None:
            yield name, value, float(least)
