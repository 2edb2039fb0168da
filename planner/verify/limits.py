"""Every limit of the problem: obeyed, and listed in the plan with the right numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from planner.schema.plan import LimitReport, Plan
from planner.verify.basis import Basis
from planner.verify.count_limits import count_limits
from planner.verify.decisions import Decisions
from planner.verify.degraded import Degraded
from planner.verify.figures import JobFigures
from planner.verify.interval import check_interval
from planner.verify.ledger import Ledger, close
from planner.verify.limit import Limit
from planner.verify.plant_limits import plant_limits
from planner.verify.policy_limits import policy_limits
from planner.verify.running import Ratios
from planner.verify.storage_limits import storage_limits
from planner.verify.target_limits import target_limits
from planner.verify.totals import TotalFigures


@dataclass(frozen=True)
class Found:
    """The plan as re-computed: its sums, its job, and that with appliances down."""

    companions: Mapping[str, int]
    totals: TotalFigures
    ratios: Ratios
    figures: JobFigures
    degraded: Degraded


def check_limits(
    ledger: Ledger,
    basis: Basis,
    decisions: Decisions,
    plan: Plan,
    found: Found,
) -> None:
    """Require that every limit holds and stands in the plan as it is, and no other does.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        decisions: what the plan decided.
        plan: the plan to check.
        found: everything as re-computed.
    """
    totals, figures = found.totals, found.figures
    expected = (
        *plant_limits(basis.problem, totals, found.ratios),
        *storage_limits(basis, decisions, totals, figures, found.degraded),
        *target_limits(basis.problem, decisions, figures),
        *count_limits(basis, decisions, found.companions),
        *policy_limits(basis, decisions, plan.jobs[0]),
    )
    for limit in expected:
        if not limit.holds():
            ledger.breach(limit.name, f"the plan breaks the limit, {limit.text()}")
    check_interval(ledger, basis, decisions, figures, found.degraded)
    _check_reports(ledger, plan, {limit.name: limit for limit in expected})


def _check_reports(ledger: Ledger, plan: Plan, expected: dict[str, Limit]) -> None:
    listed: set[str] = set()
    for report in plan.limits:
        name = f"limits.{report.name}"
        if report.name in listed:
            ledger.fail(f"{name}: listed twice")
        elif report.name not in expected:
            ledger.fail(f"{name}: the problem has no such limit")
        else:
            _check_report(ledger, name, report, expected[report.name])
        listed.add(report.name)
    for limit in expected.values():
        if limit.must_be_listed and limit.name not in listed:
            ledger.fail(f"limits.{limit.name}: missing, {limit.text()}")


def _check_report(ledger: Ledger, name: str, report: LimitReport, limit: Limit) -> None:
    ledger.same(f"{name}.value", report.value, limit.value)
    ledger.same(f"{name}.limit", report.limit, limit.limit)
    ledger.equal(f"{name}.unit", report.unit, limit.unit)
    ledger.equal(f"{name}.exact", report.exact, limit.exact)
    ledger.require(
        report.sense == limit.sense or limit.exact,
        f"{name}.sense: the plan says {report.sense!r}, expected {limit.sense!r}",
    )
    if limit.value is not None:
        slack = 0.0 if limit.exact else limit.slack()
        scale = max(abs(limit.value), abs(limit.limit))
        near = math.isclose(report.slack, slack, rel_tol=1e-9, abs_tol=1e-9 * scale)
        clamped = report.slack == 0 and slack < 0
        if not (near or clamped):
            ledger.fail(f"{name}.slack: the plan says {report.slack!r}, computed {slack:.12g}")
        # Whatever counts as the smallest unit, nothing is left where the slack is nothing.
        if close(limit.value, limit.limit) and not report.binding:
            ledger.fail(f"{name}.binding: nothing is left, yet the plan says it does not bind")
