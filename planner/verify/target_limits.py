"""The floors the user sets: GPUs, goodput, useful work, days."""

from __future__ import annotations

from collections.abc import Iterator

from planner.schema.problem import Problem
from planner.verify.decisions import Decisions
from planner.verify.figures import JobFigures
from planner.verify.limit import TIMED, Limit


def target_limits(problem: Problem, decisions: Decisions, figures: JobFigures) -> Iterator[Limit]:
    """Yield the targets and the bounds on the GPUs in use.

    Args:
        problem: the user's problem.
        decisions: what the plan decided.
        figures: the job as re-computed.
    """
    targets, bounds, used = problem.targets, problem.job.gpus, decisions.gpus_used
    if problem.job.parallelism is not None:
        replica = problem.job.parallelism.replica_gpus
        yield Limit("replica_fits", used, ">=", replica, "GPUs")
    if bounds.min is not None:
        yield Limit("gpus_min", used, ">=", bounds.min, "GPUs")
    if bounds.max is not None:
        yield Limit("gpus_max", used, "<=", bounds.max, "GPUs")
    if targets.min_gpus is not None:
        yield Limit("min_gpus", used, ">=", targets.min_gpus, "GPUs")
    if targets.min_goodput is not None:
        yield Limit("min_goodput", figures.goodput, ">=", targets.min_goodput, "share", TIMED)
    if targets.min_useful_gpus is not None:
        value, limit = figures.useful_gpus, targets.min_useful_gpus
        yield Limit("min_useful_gpus", value, ">=", limit, "GPUs", TIMED)
    if targets.min_useful_pflops is not None:
        pflops, limit = figures.useful_pflops, targets.min_useful_pflops
        yield Limit("min_useful_pflops", pflops, ">=", limit, "PFLOP/s", TIMED)
    if targets.max_days_to_train is not None:
        days, limit = figures.days_to_train, targets.max_days_to_train
        yield Limit("max_days_to_train", days, "<=", limit, "days", TIMED)
