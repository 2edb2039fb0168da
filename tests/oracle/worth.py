"""What a plan is worth: objectives, targets, budgets on useful work, the vendors' rules."""

from __future__ import annotations

import math

import numpy as np

from planner.schema.problem import CustomRule, Problem
from planner.verifier.limits import RULES
from tests.oracle.compute import Compute
from tests.oracle.money import CAPEX, HOURS_PER_YEAR, POWER, TCO, Array, Mask
from tests.oracle.stores import Stores

ROUNDING = 1e-9
BTU_PER_H = 3412.14
SECONDS_PER_DAY = 86_400.0


def useful_pflops(problem: Problem, choice: Compute, rate: Array) -> Array:
    """Return the useful PFLOP/s at each goodput."""
    training = problem.job.training
    if training.mfu is None and training.model is None:
        raise ValueError("useful FLOP/s need training.mfu or training.model")
    return choice.gpus_used * choice.useful_tflops * rate / 1000.0


def value(problem: Problem, choice: Compute, rate: Array, consumed: Array) -> Array:
    """Return the objective of each plan."""
    goal = problem.objective
    if goal.maximize == "goodput":
        return useful_pflops(problem, choice, rate)
    if goal.maximize == "useful_gpus":
        return choice.gpus_used * rate
    if goal.maximize == "gpus":
        return np.full(len(rate), float(choice.gpus_used))
    if goal.minimize == "usd_per_useful_gpu_hour":
        return np.asarray(consumed[:, TCO] / _useful_hours(problem, choice, rate))
    if goal.minimize == "usd_per_million_tokens":
        return np.asarray(consumed[:, TCO] / _million_tokens(problem, choice, rate))
    column = {"cost": CAPEX, "tco": TCO, "power": POWER, "heat": POWER}[goal.minimize or "cost"]
    return np.asarray(consumed[:, column] * (BTU_PER_H if goal.minimize == "heat" else 1.0))


def reaches(problem: Problem, choice: Compute, rate: Array) -> Mask:
    """Return whether the targets that depend on goodput are met."""
    targets, training = problem.targets, problem.job.training
    useful = choice.gpus_used * rate * (1.0 + ROUNDING)
    met = rate * (1.0 + ROUNDING) >= (targets.min_goodput or 0.0)
    met &= useful >= (targets.min_useful_gpus or 0.0)
    if targets.min_useful_pflops is None and targets.max_days_to_train is None:
        return met
    pflops = useful_pflops(problem, choice, rate) * (1.0 + ROUNDING)
    met &= pflops >= (targets.min_useful_pflops or 0.0)
    if targets.max_days_to_train is not None:
        active = training.active_parameters or problem.job.parameters
        work_flop = 6.0 * (active or 0.0) * (training.tokens or 0.0)
        met &= pflops * 1e15 * targets.max_days_to_train * SECONDS_PER_DAY >= work_flop
    return np.asarray(met)


def pays(problem: Problem, choice: Compute, rate: Array, tco_usd: Array) -> Mask:
    """Return whether the budgets on useful work are kept."""
    budget = problem.budget
    met = np.ones(len(rate), dtype=bool)
    if problem.term is None:
        return met
    if budget.per_useful_gpu_hour_usd is not None:
        most = budget.per_useful_gpu_hour_usd * (1.0 + ROUNDING)
        met &= tco_usd <= most * _useful_hours(problem, choice, rate)
    if budget.per_million_tokens_usd is not None:
        most = budget.per_million_tokens_usd * (1.0 + ROUNDING)
        met &= tco_usd <= most * _million_tokens(problem, choice, rate)
    return met


def _useful_hours(problem: Problem, choice: Compute, rate: Array) -> Array:
    """Return the useful GPU-hours of the term at each goodput."""
    assert problem.term is not None
    # No goodput at all is no plan; it must not divide by zero before it is left out.
    return choice.gpus_used * np.maximum(rate, 1e-300) * HOURS_PER_YEAR * problem.term.years


def _million_tokens(problem: Problem, choice: Compute, rate: Array) -> Array:
    """Return the million tokens trained in the term at each goodput."""
    assert problem.term is not None
    active = problem.job.training.active_parameters or problem.job.parameters or 0.0
    useful_flop = useful_pflops(problem, choice, np.maximum(rate, 1e-300)) * 1e15
    tokens = useful_flop * HOURS_PER_YEAR * problem.term.years * 3600.0 / (6.0 * active)
    return np.maximum(tokens / 1e6, 1e-300)


def rule_holds(problem: Problem, choice: Compute, purchases: Stores) -> Mask:
    """Return which purchases a vendor's rule, if one is asked for, is content with."""
    rule = problem.storage.rule
    if rule == "demand":
        return np.ones(len(purchases), dtype=bool)
    if isinstance(rule, CustomRule):
        read, write, per_gpus = rule.read, rule.write, 1
    else:
        read, write, per_gpus = RULES[rule]
    times = math.ceil(choice.gpus_bought / per_gpus) * (1.0 - ROUNDING)
    enough = (purchases.read_gb_per_s >= read * times) & (purchases.write_gb_per_s >= write * times)
    return np.asarray(enough)
