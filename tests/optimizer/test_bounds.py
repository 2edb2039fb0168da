"""Bounds are tight enough: searches that took 25,000 to 250,000 boxes, counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from planner.case import resolve
from planner.loader import load
from planner.optimizer.optimise import optimise
from planner.shipped import problem_files


def test_a_rule_limits_the_gpus_in_use_before_storage_is_counted_out() -> None:
    """Owned GPU systems cost nothing, and so their number alone tells nothing of storage."""
    rule = ("storage.rule=light", "storage.max_families=2", "budget.capex=4.36 MUSD")
    case = resolve(load(Path(problem_files()["gpt3_octet"]), settings=rule))
    case = case.under(case.limits.with_values(facility_power_kw=None, racks=None))
    case = replace(case, objective="power", job=replace(case.job, max_types=4)).billed_as(case)
    answer = optimise(case, ties=False)
    assert answer.status == "infeasible"
    assert answer.iterations < 1_000


def test_least_write_bandwidth_counts_switches_and_systems() -> None:
    case = resolve(load(Path(problem_files()["10MW"])))
    best = optimise(case, ties=False)
    assert best.operation is not None
    work = 0.999 * best.operation.useful_pflops(case.job.mfu or 0.0)
    limits = case.limits.with_values(min_useful_pflops=work)
    least = replace(case.under(limits), objective="least_write").billed_as(case)
    answer = optimise(least, gap=1e-3, ties=False)
    assert answer.status == "optimal"
    assert answer.iterations < 10_000
