"""The objective, its bound and its gap; and what each status allows."""

from __future__ import annotations

import math

from planner.figures import OBJECTIVES
from planner.schema.plan import ObjectiveReport, Plan
from planner.verifier.basis import RELATIVE, Basis, Ledger
from planner.verifier.limits import Recomputed

_GAP_NOISE = 1e-9
_TIES = 2e-6
"""What breaking ties may take besides, each of a few times: see docs/model.md."""


def check_status(ledger: Ledger, plan: Plan) -> None:
    """Require that a plan without a solution carries none.

    Args:
        ledger: takes the disagreements.
        plan: the plan to check.
    """
    if plan.status in ("optimal", "feasible"):
        return
    ledger.require(not plan.lines, f"lines: a plan that is {plan.status} has none")
    ledger.require(not plan.jobs, f"jobs: a plan that is {plan.status} has none")
    ledger.require(plan.totals is None, f"totals: a plan that is {plan.status} has none")
    no_value = plan.objective.value is None
    ledger.require(no_value, f"objective.value: a plan that is {plan.status} has none")


def check_objective(ledger: Ledger, basis: Basis, plan: Plan, found: Recomputed) -> None:
    """Re-compute the objective and require a bound and a gap that fit it.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        plan: the plan to check.
        found: the figures as re-computed.
    """
    asked, stated = basis.problem.objective, plan.objective
    name = asked.maximize or asked.minimize or ""
    ledger.equal("objective.name", stated.name, name)
    sense = "maximize" if asked.maximize else "minimize"
    ledger.equal("objective.sense", stated.sense, sense)
    ledger.equal("objective.unit", stated.unit, OBJECTIVES[name].unit)
    value = _value(name, found)
    ledger.same("objective.value", stated.value, value)
    if value is None:
        ledger.fail(f"objective.value: {name} cannot be computed, a figure is not known")
    else:
        _check_given_away(ledger, basis, stated, value, found.totals.capex_usd)
        _check_bound(ledger, stated)
        _check_logs(ledger, stated, value)
    _check_optimal(ledger, plan)


def _value(name: str, found: Recomputed) -> float | None:
    figure = OBJECTIVES[name].figure.name
    holder = next(h for h in (found.totals, found.ratios, found.figures) if hasattr(h, figure))
    value: float | None = getattr(holder, figure)
    return value


def _check_best_capex(
    ledger: Ledger,
    stated: ObjectiveReport,
    capex_usd: float | None,
    *,
    preferred: bool,
) -> None:
    """Require that money is saved where something is given away; preferred vendors may cost."""
    best = stated.best_capex_usd
    if best is None or capex_usd is None:
        return
    if not preferred and not best >= capex_usd * (1 - _TIES):
        ledger.fail(f"objective.best_capex_usd: {best!r} is less than the plan's {capex_usd:.12g}")


def _check_given_away(
    ledger: Ledger,
    basis: Basis,
    stated: ObjectiveReport,
    value: float,
    capex_usd: float | None,
) -> None:
    """Compare what the plan gives away with what the problem allows."""
    asked, prefer = basis.problem.objective, basis.problem.policy.prefer
    ledger.same("objective.indifference", stated.indifference, asked.indifferent)
    best, maximise = stated.best, stated.sense == "maximize"
    if best is None or stated.given_away is None:
        ledger.fail("objective.best: a plan states the best value found, and what it gives away")
        return
    less = best - value if maximise else value - best
    if not less >= -RELATIVE * max(abs(value), abs(best)):
        ledger.fail(f"objective.best: {best!r} is worse than the value {value:.12g}")
    share = max(0.0, less) / abs(best) if best else 0.0
    if not math.isclose(stated.given_away, share, rel_tol=1e-6, abs_tol=_GAP_NOISE):
        said = f"the plan says {stated.given_away!r}, computed {share:.12g}"
        ledger.fail(f"objective.given_away: {said}")
    _check_best_capex(ledger, stated, capex_usd, preferred=prefer is not None)
    within = 0.0 if prefer is None else prefer.within
    kept = (1 - within) * (1 - asked.indifferent) / (1 + _TIES)
    most = 1 - kept if maximise else (1 + within) * (1 + asked.indifferent) * (1 + _TIES) - 1
    if not share <= most:
        ledger.fail(
            f"objective.given_away: {share:.6g} is more than the problem allows, {most:.6g}"
        )


def _check_bound(ledger: Ledger, stated: ObjectiveReport) -> None:
    """Compare bound and gap with the best value that the plan states."""
    bound, gap, best = stated.bound, stated.gap, stated.best
    if (bound is None) != (gap is None):
        ledger.fail("objective.gap: bound and gap go together")
    if bound is None or gap is None or best is None:
        return
    better = bound - best if stated.sense == "maximize" else best - bound
    if not better >= -RELATIVE * max(abs(best), abs(bound)):
        ledger.fail(f"objective.bound: {bound!r} is on the wrong side of the best, {best:.12g}")
    if not gap >= 0:
        ledger.fail(f"objective.gap: {gap!r} is negative")
    elif best != 0:
        expected = max(0.0, better / abs(best))
        if not math.isclose(gap, expected, rel_tol=1e-6, abs_tol=_GAP_NOISE):
            ledger.fail(f"objective.gap: the plan says {gap!r}, computed {expected:.12g}")


def _check_logs(ledger: Ledger, stated: ObjectiveReport, value: float) -> None:
    """The optimiser may leave constants out of its logarithms; their difference has none."""
    bound = stated.bound
    if stated.log_value is None or stated.log_bound is None or bound is None:
        return
    if bound <= 0 or value <= 0:
        return
    stated_log, log = stated.log_bound - stated.log_value, math.log(bound / value)
    if not math.isclose(stated_log, log, rel_tol=1e-6, abs_tol=_GAP_NOISE):
        ledger.fail(
            f"objective.log_bound: it lies {stated_log!r} from log_value, computed {log:.12g}"
        )


def _check_optimal(ledger: Ledger, plan: Plan) -> None:
    if plan.status != "optimal":
        return
    gap = plan.objective.gap
    if gap is None or not gap <= plan.objective.gap_asked + _GAP_NOISE:
        ledger.fail(
            f"status: optimal, but the gap {gap!r} is not within {plan.objective.gap_asked!r}"
        )
