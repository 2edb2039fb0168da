"""From a certified operation to the plan that every output reads."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from planner.case import Case
from planner.currency import USD
from planner.figures import OBJECTIVES
from planner.inputs import Inputs
from planner.optimizer import Certificate
from planner.optimizer.bill import bill
from planner.optimizer.objective import LOGARITHMIC, natural
from planner.plan.hall import fabric_reports, rack_groups
from planner.plan.job import job_plan
from planner.plan.limits import limits, next_step
from planner.plan.lines import lines, totals
from planner.plan.notes import Facts, assumptions, notes, verdict
from planner.schema.plan import (
    Infeasibility,
    ObjectiveReport,
    Plan,
    ProgramReport,
    Provenance,
    Site,
)
from planner.shipped import __version__

if TYPE_CHECKING:
    from planner.optimizer.proof import Proof


def assemble(
    inputs: Inputs,
    case: Case,
    answer: Certificate,
    *,
    solver: str,
    gap: float,
    message: str | None = None,
    infeasibility: Infeasibility | None = None,
    drawn: bool = True,
    proof: Proof | None = None,
) -> Plan:
    """Assemble the plan of a certificate.

    Args:
        message: why there is no plan, where there is none.
        infeasibility: the same in parts, where limits are the reason.
        drawn: whether to add racks, cables, next step, assumptions and notes to lines, totals, job
            and limits.
        proof: the integer program's proof.
    """
    base = Plan(
        **inputs.once("head", case, lambda: _head(inputs, case)),
        status=answer.status,
        message=message,
        infeasibility=infeasibility,
        objective=_objective(case, answer, gap, proof),
        provenance=_provenance(inputs, answer, solver, gap),
    )
    run = answer.operation
    if run is None:
        return base
    fabrics = tuple(fabric_reports(case, bill(case, run.units, run.ways)))
    bill_lines = lines(inputs, case, run, fabrics)
    job = job_plan(inputs, case, run)
    sums = totals(inputs, case, run, bill_lines, job)
    reported = limits(inputs, case, run, sums, job)
    figures = base.model_copy(
        update={
            "lines": bill_lines,
            "totals": sums,
            "jobs": (job,),
            "limits": reported,
            "fabrics": fabrics,
            "not_counted": case.companions.missing,
        }
    )
    if not drawn:
        return figures
    value = base.objective.value
    own_lines = [line for line in bill_lines if line.parent is None]
    facts = Facts(inputs, case, run, own_lines, job)
    plan = figures.model_copy(
        update={
            "next_step": None if value is None else next_step(case, run, reported, value),
            "racks": rack_groups(inputs, case, run),
            "assumptions": assumptions(inputs, case, run),
            "warnings": notes(facts),
        }
    )
    cut = None
    if answer.ties_cut:
        cut = "the time limit" if answer.late else "the end of the search"
    return plan.model_copy(update={"verdict": verdict(plan, cut)})


def _head(inputs: Inputs, case: Case) -> dict[str, Any]:
    """Fields that all plans of a case share."""
    return {
        "problem": inputs.problem.name,
        "description": inputs.problem.description,
        "site": _site(inputs, case),
        "not_considered": dict(case.not_considered),
        "searched": tuple(
            sorted((*case.covered, *(each.id for each in (*case.systems, *case.storage))))
        ),
        "currency": None if inputs.problem.shown_in == USD else inputs.problem.shown_in,
    }


def _objective(case: Case, answer: Certificate, gap: float, proof: Proof | None) -> ObjectiveReport:
    unit = OBJECTIVES[case.objective].unit

    def in_unit(value: float | None) -> float | None:
        return None if value is None else natural(case.objective, value)

    return ObjectiveReport(
        name=case.objective,
        sense="maximize" if case.maximise else "minimize",
        value=in_unit(answer.value),
        unit=unit,
        bound=in_unit(answer.bound),
        gap=answer.gap,
        log_value=answer.value if case.objective in LOGARITHMIC else None,
        gap_asked=gap,
        best=in_unit(answer.best),
        near_optimal_loss=answer.near_optimal_loss,
        best_capex_usd=_best_capex_usd(case, answer),
        indifference=case.indifference,
        program=None if proof is None else ProgramReport(unit=unit, **proof._asdict()),
    )


def _best_capex_usd(case: Case, answer: Certificate) -> float | None:
    """Capex of the cheapest of the best plans, where the plan taken is another."""
    taken, best = answer.operation, answer.untouched
    if taken is None or best is None or dict(best.units) == dict(taken.units):
        return None
    if case.objective == "cost":  # capex of the best is its value
        return None
    return bill(case, best.units, best.ways)["capex_usd"]


def _site(inputs: Inputs, case: Case) -> Site:
    site, term = inputs.problem.site, inputs.problem.term
    stated = {name: getattr(term, name) for name in Site.model_fields if hasattr(term, name)}
    return Site(
        pue=site.pue_air,
        pue_liquid=site.pue_liquid,
        delivered_fraction_read=case.delivered_read_share,
        delivered_fraction_write=case.delivered_write_share,
        fill_limit=inputs.problem.storage.fill_limit,
        **stated,
    )


def _provenance(inputs: Inputs, answer: Certificate, solver: str, gap: float) -> Provenance:
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
        gap=gap,
    )


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that decide the course of a search."""
    packages = {name: metadata.version(name) for name in ("pulp", "highspy", "pydantic")}
    return {"python": platform.python_version(), **packages}
