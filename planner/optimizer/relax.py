"""Which single limits stand in the way of an infeasible problem: drop each in turn and solve."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from planner.case import Case, resolve, with_kit
from planner.errors import SolverError
from planner.loader.inputs import Inputs
from planner.optimizer.joint import optimise
from planner.optimizer.solver import SolverName

MOST_SECONDS = 5.0
MOST_SECONDS_IN_ALL = 30.0
EVERY_STORAGE = "no storage item is on offer"
EVERY_SYSTEM = "no GPU system is on offer"


def culprits(inputs: Inputs, case: Case, solver: SolverName) -> str:
    """Return one line that names the limits whose removal alone makes the case feasible.

    Args:
        inputs: for the lines of the limits in the problem file.
        case: the infeasible case.
        solver: which solver to ask.
    """
    if not case.systems:
        return f"{EVERY_SYSTEM}: {_reasons(case)}"
    if not case.storage:
        return f"{EVERY_STORAGE}: {_reasons(case) or 'the catalogs hold none'}"
    if _possible(case, solver):
        raise SolverError("the problem was found infeasible, yet it has a plan of least power")
    helpful, undecided = [], []
    end = time.monotonic() + MOST_SECONDS_IN_ALL
    for label, path, relaxed in _looser(inputs, case):
        late = time.monotonic() > end
        possible = None if late else _possible(relaxed, solver)
        if possible:
            place = inputs.where(path)
            helpful.append(f"{label}{f' ({place})' if place else ''}")
        elif possible is None:
            undecided.append(label)
    return _conclusion(helpful, undecided)


def _looser(inputs: Inputs, case: Case) -> Iterator[tuple[str, str, Case]]:
    """Yield (what is dropped, its place in the problem file, the case without it)."""
    for label, path, relaxed in _relaxations(inputs, case):
        yield label, path, with_kit(inputs, relaxed)
    yield from _supply_relaxations(inputs)


def _conclusion(helpful: list[str], undecided: list[str]) -> str:
    """Say what dropping one limit does, and for which limits there was no time to tell."""
    untold = f"; not decided in time: without {', '.join(undecided)}" if undecided else ""
    if helpful:
        without = ", or without ".join(helpful)
        return f"no plan meets every limit; there is one without {without}{untold}"
    other = "other " if undecided else ""
    return (
        f"no plan meets every limit, and dropping any one {other}budget or limit of the job does "
        f"not help{untold}"
    )


def _reasons(case: Case) -> str:
    return "; ".join(f"{sku}: {reason}" for sku, reason in case.not_considered)[:400]


def _possible(case: Case, solver: SolverName) -> bool | None:
    """Say whether the case has a plan, by the easiest objective; None where time ran out."""
    least = replace(case, objective="power")
    answer = optimise(least, solver=solver, gap=0.9, time_limit_s=MOST_SECONDS)
    if answer.operation is not None:
        return True
    return False if answer.status == "infeasible" else None


def _supply_relaxations(inputs: Inputs) -> Iterator[tuple[str, str, Case]]:
    """Yield cases without a limit on what can be had; they decide which items are on offer."""
    problem = inputs.problem
    if problem.targets.max_lead_time_days is not None:
        targets = problem.targets.model_copy(update={"max_lead_time_days": None})
        loose = replace(inputs, problem=problem.model_copy(update={"targets": targets}))
        yield "the longest lead time", "targets.max_lead_time", resolve(loose)
    items = {name: rule.model_copy(update={"stock": None}) for name, rule in problem.items.items()}
    prices = {
        name: price.model_copy(update={"stock": None}) for name, price in inputs.prices.items()
    }
    if items != problem.items or prices != inputs.prices:
        loose = replace(inputs, problem=problem.model_copy(update={"items": items}), prices=prices)
        yield "the limits on stock", "items", resolve(loose)


def _power_path(inputs: Inputs) -> str:
    """Return where the limit at the meter stands."""
    return "site.facility_power" if inputs.problem.site.facility_power_kw else "site.feeds"


def _relaxations(inputs: Inputs, case: Case) -> Iterator[tuple[str, str, Case]]:
    limits, job = case.limits, case.job
    for name, label, path in (
        ("meter_kw", "the power limit", _power_path(inputs)),
        ("it_power_kw", "the limit on IT power", "site.it_power"),
        ("air_kw", "the limit on heat to air", "site.cooling.air_limit"),
        ("liquid_kw", "the limit on heat to liquid", "site.cooling.liquid_limit"),
        ("racks", "the limit on racks", "site.racks"),
        ("capex_usd", "the capital budget", "budget.capex"),
        ("opex_usd_per_year", "the operating budget", "budget.opex_per_year"),
        ("tco_usd", "the TCO budget", "budget.tco"),
        ("support_usd_per_year", "the support budget", "budget.support_per_year"),
        (
            "subscriptions_usd_per_year",
            "the subscription budget",
            "budget.subscriptions_per_year",
        ),
        ("energy_usd_per_year", "the energy budget", "budget.energy_per_year"),
        ("colocation_usd_per_year", "the colocation budget", "budget.colocation_per_year"),
        (
            "per_useful_gpu_hour_usd",
            "the budget per useful GPU-hour",
            "budget.per_useful_gpu_hour",
        ),
        ("per_million_tokens_usd", "the budget per million tokens", "budget.per_million_tokens"),
        ("min_goodput", "the floor on goodput", "targets.min_goodput"),
        ("min_useful_gpus", "the floor on useful GPUs", "targets.min_useful_gpus"),
        ("min_useful_pflops", "the floor on useful PFLOP/s", "targets.min_useful_pflops"),
        ("max_days_to_train", "the deadline", "targets.max_days_to_train"),
    ):
        if getattr(limits, name) is not None:
            # The model has no row for a limit that is None.
            yield label, path, replace(case, limits=replace(limits, **{name: None}))
    yield from _job_relaxations(case)
    yield from _policy_relaxations(case)
    if case.rule is not None:
        yield "the bandwidth rule", "storage.rule", replace(case, rule=None)
    if job.gpus_max is not None:
        path = "jobs.0.gpus.max"
        yield "the most GPUs in use", path, replace(case, job=replace(job, gpus_max=None))
    least = job.replica_gpus or 1
    if job.gpus_min > least:
        label = "the least GPUs in use"
        path = "targets.min_gpus" if limits.min_gpus else "jobs.0.gpus.min"
        yield label, path, replace(case, job=replace(job, gpus_min=least))


def _policy_relaxations(case: Case) -> Iterator[tuple[str, str, Case]]:
    policy = case.policy
    if policy.required:
        relaxed = replace(policy, required=())
        yield "the required vendors", "policy.require_vendors", replace(case, policy=relaxed)
    if policy.splits:
        relaxed = replace(policy, splits=())
        yield "the split between vendors", "policy.split", replace(case, policy=relaxed)
    if case.exact_families is not None:
        relaxed_case = replace(case, exact_families=None, max_families=case.exact_families)
        yield "the exact number of storage families", "storage.exact_families", relaxed_case
    if case.tolerate_down:
        storage = tuple(replace(item, units_lost=0.0) for item in case.storage)
        relaxed_case = replace(case, tolerate_down=0, storage=storage)
        yield "the appliances that may be down", "storage.tolerate_down", relaxed_case
    if case.job.hot_spares or case.job.hot_share:
        job = replace(case.job, hot_spares=0, hot_share=0.0)
        yield "the hot spares", "jobs.0.gpus.hot_spares", replace(case, job=job)


def _job_relaxations(case: Case) -> Iterator[tuple[str, str, Case]]:
    job = case.job
    if job.max_restore_s is not None:
        relaxed = replace(job, max_restore_s=None)
        yield "the restore time limit", "jobs.0.restore.max_time", replace(case, job=relaxed)
    if "async" in job.modes and case.rule is None:
        relaxed = replace(job, max_overlap=1.0)
        label = "the overlap limit"
        yield label, "jobs.0.checkpoint.max_overlap", replace(case, job=relaxed)
    if "sync" in job.modes:
        relaxed = replace(job, max_blocking=0.99)
        label = "the blocking limit"
        yield label, "jobs.0.checkpoint.max_blocking", replace(case, job=relaxed)
    relaxed = replace(job, capacity_needed_tb=0.0)
    yield "the capacity needed", "jobs.0.checkpoint.keep_last", replace(case, job=relaxed)
    if job.ingest_per_gpu_gb_per_s > 0:
        relaxed = replace(job, ingest_per_gpu_gb_per_s=0.0)
        yield "ingest", "jobs.0.ingest_per_gpu", replace(case, job=relaxed)
    if job.replica_gpus is not None and job.gpus_min == job.replica_gpus:
        relaxed = replace(job, gpus_min=1)
        yield "the GPUs one replica needs", "jobs.0.parallelism", replace(case, job=relaxed)
