"""From a proven operation to the plan that every output reads."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from planner.assemble.cable_lengths import length_notes, parts_by_length
from planner.assemble.cables import cable_schedule
from planner.assemble.limits import limits, next_step
from planner.assemble.lines import fabric_reports, idle_units, lines
from planner.assemble.racks import rack_groups
from planner.assemble.totals import job_plan, totals
from planner.assemble.verdict import verdict
from planner.assemble.warnings import assumptions, warnings
from planner.case import Case
from planner.case.cabling import longest_run_m
from planner.figures import OBJECTIVES
from planner.inputs import Inputs
from planner.optimizer.bill import bill as bill_of
from planner.optimizer.objective import LOGARITHMIC, natural
from planner.optimizer.optimise import Certificate
from planner.schema.infeasibility import Infeasibility
from planner.schema.plan import (
    NotConsidered,
    ObjectiveReport,
    Plan,
    ProgramReport,
    Provenance,
    Site,
)
from planner.schema.prices import ShownIn
from planner.version import __version__

if TYPE_CHECKING:
    from planner.optimizer.proof import Proof

"""How the note ends on a search that was over before ties were broken."""


def assemble(
    inputs: Inputs,
    case: Case,
    answer: Certificate,
    *,
    solver: str,
    gap: float,
    message: str | None = None,
    infeasibility: Infeasibility | None = None,
    seconds: float | None = None,
    drawn: bool = True,
    proof: Proof | None = None,
) -> Plan:
    """Return the plan of a certificate.

    Args:
        message: why there is no plan, where there is none.
        infeasibility: the same in parts, where limits are the reason.
        seconds: the time to state; None keeps the plan's bytes reproducible.
        proof: what the integer program proved of it.
        drawn: whether its racks, cables, next step and what there is to say about it are worked
            out, too; without them it has its lines, totals, job and limits.
    """
    base = Plan(
        **inputs.once("head", case, lambda: _head(inputs, case)),
        status=answer.status,
        message=message,
        infeasibility=infeasibility,
        objective=_objective(case, answer, gap, proof),
        provenance=_provenance(inputs, answer, solver, seconds),
    )
    operation = answer.operation
    if operation is None:
        return base
    idle = idle_units(inputs, case, operation)
    fabrics = tuple(fabric_reports(case, bill_of(case, operation.units, operation.ways)))
    bill = lines(inputs, case, operation, fabrics, idle)
    job = job_plan(inputs, case, operation)
    sums = totals(inputs, case, operation, bill, job)
    reported = limits(inputs, case, operation, sums, job)
    figures = base.model_copy(
        update={
            "lines": bill,
            "totals": sums,
            "jobs": (job,),
            "limits": reported,
            "fabrics": fabrics,
            "not_counted": case.companions.missing,
            "idle": idle,
        }
    )
    if not drawn:
        return figures
    value = base.objective.value
    plan = figures.model_copy(
        update={
            "next_step": None if value is None else next_step(case, operation, reported, value),
            "racks": rack_groups(inputs, case, operation),
            "assumptions": assumptions(inputs, case, operation),
            "warnings": warnings(inputs, case, operation, bill, job, fabrics),
        }
    )
    plan = plan.model_copy(update={"verdict": verdict(plan, _cut(answer))})
    return with_cables(inputs, case, plan)


def with_cables(inputs: Inputs, case: Case, plan: Plan) -> Plan:
    """Return a plan with its cables by length, where the problem gives the rows of its hall."""
    if longest_run_m(inputs) is None:
        return plan
    schedule = cable_schedule(inputs, plan, case)
    plan = plan.model_copy(update={"cabling": parts_by_length(inputs, plan, schedule)})
    return plan.model_copy(update={"warnings": (*plan.warnings, *length_notes(plan, schedule))})


def _cut(answer: Certificate) -> str | None:
    """Return what cut short the choice of the cheapest among equally good plans."""
    if not answer.ties_cut:
        return None
    return "the time limit" if answer.late else "the end of the search"


def _head(inputs: Inputs, case: Case) -> dict[str, Any]:
    """Return what all plans of a case say alike."""
    left_out = case.not_considered
    return {
        "problem": inputs.problem.name,
        "description": inputs.problem.description,
        "site": _site(inputs, case),
        "not_considered": tuple(NotConsidered(sku=sku, reason=why) for sku, why in left_out),
        "searched": tuple(sorted(each.id for each in (*case.systems, *case.storage))),
        "public_notes": inputs.problem.public_notes,
        "currency": ShownIn.of(inputs.problem.shown_in),
    }


def _objective(case: Case, answer: Certificate, gap: float, proof: Proof | None) -> ObjectiveReport:
    logarithmic = case.objective in LOGARITHMIC
    unit = OBJECTIVES[case.objective].unit
    return ObjectiveReport(
        name=case.objective,
        sense="maximize" if case.maximise else "minimize",
        value=_natural(case, answer.value),
        unit=unit,
        bound=_natural(case, answer.bound),
        gap=answer.gap,
        log_value=answer.value if logarithmic else None,
        log_bound=answer.bound if logarithmic else None,
        gap_asked=gap,
        best=_natural(case, answer.best),
        given_away=answer.given_away,
        best_capex_usd=_best_capex_usd(case, answer),
        indifference=case.indifference,
        program=None if proof is None else ProgramReport(unit=unit, **proof._asdict()),
    )


def _best_capex_usd(case: Case, answer: Certificate) -> float | None:
    """Return what the cheapest of the best plans costs, where the plan taken is another."""
    taken, best = answer.operation, answer.untouched
    if taken is None or best is None or dict(best.units) == dict(taken.units):
        return None
    if case.objective == "cost":  # what the best costs is its value
        return None
    return bill_of(case, best.units, best.ways)["capex_usd"]


def _natural(case: Case, value: float | None) -> float | None:
    """Return an optimiser's value in the objective's own unit."""
    return None if value is None else natural(case.objective, value)


def _site(inputs: Inputs, case: Case) -> Site:
    problem = inputs.problem
    return Site(
        pue=problem.site.pue_air,
        pue_liquid=problem.site.pue_liquid,
        colocation_usd_per_kw_month=problem.term.colocation_usd_per_kw_month
        if problem.term
        else 0.0,
        discount_rate=problem.term.discount_rate if problem.term else 0.0,
        energy_basis=problem.term.energy_basis if problem.term else "maximum",
        it_power_limit_kw=problem.site.it_power_kw,
        facility_power_limit_kw=problem.site.facility_limit_kw,
        racks_limit=problem.site.rack_count,
        years=problem.term.years if problem.term else None,
        electricity_usd_per_kwh=problem.term.electricity_usd_per_kwh if problem.term else None,
        delivered_fraction_read=case.delivered_read,
        delivered_fraction_write=case.delivered_write,
        fill_limit=problem.storage.fill_limit,
    )


def _provenance(
    inputs: Inputs, answer: Certificate, solver: str, seconds: float | None
) -> Provenance:
    return Provenance(
        tool=f"planner {__version__}",
        catalogs=inputs.catalog_names,
        price_books=inputs.price_book_names,
        problem_file=inputs.problem_file,
        scenario=inputs.scenario,
        overrides=inputs.overrides,
        input_sha256=inputs.sha256,
        solver=solver,
        versions=versions(),
        iterations=answer.iterations,
        seconds=seconds,
    )


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that decide how a search goes."""
    packages = {name: metadata.version(name) for name in ("pulp", "highspy", "pydantic")}
    return {"python": platform.python_version(), **packages}
