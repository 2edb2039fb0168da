"""The plan re-checked in plain arithmetic, from the problem and the catalogs alone.

Nothing here shares code with the optimiser or with the sizing formulas it is judged by; only the
tables of presets and vendor rules, which are data, are read from `planner.sizing`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from planner.errors import VerificationError
from planner.schema.plan import Plan
from planner.verifier.basis import Basis, Ledger, facility_limit_kw
from planner.verifier.cabling import check_cabling
from planner.verifier.companions import count_companions
from planner.verifier.decisions import Decisions, read_decisions
from planner.verifier.fabrics import check_fabrics, with_fabric
from planner.verifier.job import check_degraded, check_job
from planner.verifier.levels import check_choice
from planner.verifier.limits import (
    Reached,
    Recomputed,
    check_limits,
    check_objective,
    check_status,
    limits_given,
)
from planner.verifier.lines import check_lines
from planner.verifier.options import check_next_step, check_options
from planner.verifier.placement import check_placement, check_places, shared_racks
from planner.verifier.repair import with_use
from planner.verifier.totals import check_ratios, check_totals
from planner.verifier.ways import check_ways, with_option

if TYPE_CHECKING:
    from planner.inputs import Inputs


__all__ = [
    "Recheck",
    "confirms",
    "faults",
    "origin_faults",
    "passed",
    "recheck",
    "recheck_from_outside",
    "unproven_faults",
    "verify",
]


def verify(inputs: Inputs, plan: Plan) -> None:
    """Re-compute a whole plan from its decisions and refuse it where anything disagrees.

    Args:
        plan: the plan as it would be handed out.

    Raises:
        VerificationError: a figure is wrong, a limit is broken, or a declared limit is missing.

    Source of the rules: docs/model.md.
    """
    found = recheck(inputs, plan)
    broken = tuple(f"{name}: {text}" for name, text in found.breaches)
    if found.disagreements or broken:
        raise VerificationError((*found.disagreements, *broken))


class Recheck(NamedTuple):
    """What a re-computation found: figures that are wrong, and (name, text) of broken limits."""

    disagreements: tuple[str, ...]
    breaches: tuple[tuple[str, str], ...]


def confirms(inputs: Inputs, plan: Plan) -> bool:
    """Say whether every figure of a plan without cables and next step is confirmed.

    In a plan without racks, devices that share them are put into them here, each into the first
    that has room. Where that takes more than the plan counts it may still be right, which its racks
    show.

    Args:
        plan: the plan, its lines, totals, job and limits.
    """
    found = recheck(inputs, plan, drawn=False)
    return not found.disagreements and not found.breaches


def passed(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Return which limits on supplies a plan passes that was confirmed under looser ones.

    Args:
        inputs: a problem that differs from the plan's own in these limits alone.
        plan: the plan, whose figures are confirmed.
    """
    taken = {report.name: report.value for report in plan.limits}
    limits = (
        Reached(row.name, taken.get(row.name), limit)
        for row, limit in limits_given(inputs.problem, "supply")
    )
    return tuple(
        f"{each.name}: the plan breaks the limit, {each.text()}"
        for each in limits
        if not each.holds()
    )


def recheck(inputs: Inputs, plan: Plan, *, drawn: bool = True) -> Recheck:
    """Re-compute a plan that may break limits, such as one that somebody edited.

    Args:
        drawn: whether it has its racks, cables and next step.
    """
    ledger = Ledger()
    basis = Basis.from_inputs(inputs)
    check_site(ledger, basis, plan)
    check_status(ledger, plan)
    if plan.status in ("optimal", "feasible"):
        before = len(ledger.disagreements)
        basis = with_fabric(ledger, with_option(ledger, basis, plan), plan)
        basis = with_use(ledger, basis, plan)
        if plan.jobs:
            check_choice(ledger, basis, plan.jobs[0])
        chosen = len(ledger.disagreements) == before
        decisions = read_decisions(ledger, basis, plan) if chosen else None
        if decisions is not None:
            several = len(inputs.problem.job.options) > 1
            paces = check_ways(ledger, basis, plan.jobs[0], open_spread=several)
            shares = {sku: pace.power_share for sku, pace in paces.items()}
            capped = {sku: share for sku, share in shares.items() if share != 1.0}
            basis = replace(basis, provisioned=capped) if capped else basis
            _check_figures(ledger, basis, replace(decisions, paces=paces), plan, drawn=drawn)
    return Recheck(tuple(ledger.disagreements), tuple(ledger.breaches))


def faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Return all that is wrong with a plan from outside, each with its place in the plan.

    Args:
        inputs: what the plan says it was made from.
        plan: the plan, which anybody may have changed.
    """
    found = recheck_from_outside(inputs, plan)
    broken = (f"{name}: {text}" for name, text in found.breaches)
    return (*found.disagreements, *broken, *unproven_faults(plan), *origin_faults(inputs, plan))


def recheck_from_outside(inputs: Inputs, plan: Plan) -> Recheck:
    """Re-compute a plan that anybody may have changed: what cannot be computed is wrong."""
    try:
        return recheck(inputs, plan)
    except (ArithmeticError, ValueError):
        return Recheck(("lines: with such counts nothing can be computed",), ())


def unproven_faults(plan: Plan) -> tuple[str, ...]:
    """Return where a plan calls itself unproven though its own gap proves it."""
    goal = plan.objective
    if plan.status != "feasible" or goal.gap is None or goal.gap > goal.gap_asked:
        return ()
    return (f"status: feasible, but the gap {goal.gap!r} is within {goal.gap_asked!r}",)


def origin_faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Return where a plan does not say truly what it was made from."""
    ledger, made = Ledger(), plan.provenance
    ledger.equal("provenance.input_sha256", made.input_sha256, inputs.sha256)
    ledger.equal("provenance.catalogs", made.catalogs, inputs.catalog_names)
    ledger.equal("provenance.price_books", made.price_books, inputs.price_book_names)
    ledger.equal("provenance.scenario", made.scenario, inputs.scenario)
    ledger.equal("provenance.overrides", made.overrides, inputs.overrides)
    return tuple(ledger.disagreements)


def _check_figures(
    ledger: Ledger, basis: Basis, decisions: Decisions, plan: Plan, *, drawn: bool
) -> None:
    placed = drawn or bool(plan.racks)
    shared = shared_racks(basis, plan) if placed else None
    companions = count_companions(basis, decisions.counts, shared)
    check_lines(ledger, basis, decisions, companions, plan)
    check_fabrics(ledger, basis, companions.fabrics, plan)
    if placed:
        check_placement(ledger, basis, decisions, companions, plan)
        check_places(ledger, basis, plan)
    if drawn:
        check_cabling(ledger, basis, decisions.counts, companions, plan)
    totals = check_totals(ledger, basis, decisions, companions, plan)
    figures = check_job(ledger, basis, decisions, plan)
    if figures is None:
        return
    degraded = check_degraded(ledger, basis, decisions, plan.jobs[0], figures)
    ratios = check_ratios(ledger, basis, plan, totals.money.tco_usd, figures)
    found = Recomputed(companions.counts, companions.room, totals, ratios, figures, degraded)
    check_limits(ledger, basis, decisions, plan, found)
    check_objective(ledger, basis, plan, found)
    check_options(ledger, basis, decisions, plan)
    if drawn:
        check_next_step(ledger, basis, decisions, plan)
        _check_verdict(ledger, plan)


_LEAST_GOODPUT, _MOST_STORAGE, _EDGE = 0.8, 0.1, 1e-6


def _check_verdict(ledger: Ledger, plan: Plan) -> None:
    """Require that a plan with little goodput, or much storage, says so."""
    said = {each.code for each in plan.verdict}
    shares = {"goodput": (plan.jobs[0].goodput, _LEAST_GOODPUT, -1)}
    totals = plan.totals
    owned = [line for line in plan.lines if line.section == "Compute" and line.installed]
    if totals is not None and totals.capex_usd and not owned:
        spent = totals.capex_by_section_usd.get("Storage", 0.0)
        shares["storage"] = (spent / totals.capex_usd, _MOST_STORAGE, 1)
    for code, (share, limit, sign) in shares.items():
        if abs(share - limit) > _EDGE:
            ledger.equal(f"verdict.{code}", code in said, sign * (share - limit) > 0)


def check_site(ledger: Ledger, basis: Basis, plan: Plan) -> None:
    """Compare what the plan repeats of the problem."""
    problem, site = basis.problem, plan.site
    term = problem.term
    ledger.equal("problem", plan.problem, problem.name)
    ledger.equal("description", plan.description, problem.description)
    expected = {
        "pue": problem.site.pue_air,
        "pue_liquid": problem.site.pue_liquid,
        "it_power_limit_kw": problem.site.it_power_kw,
        "facility_power_limit_kw": facility_limit_kw(problem.site),
        "racks_limit": problem.site.rack_count,
        "years": None if term is None else term.years,
        "electricity_usd_per_kwh": None if term is None else term.electricity_usd_per_kwh,
        "colocation_usd_per_kw_month": 0.0 if term is None else term.colocation_usd_per_kw_month,
        "discount_rate": 0.0 if term is None else term.discount_rate,
        "delivered_fraction_read": problem.storage.delivered_fraction.read,
        "delivered_fraction_write": problem.storage.delivered_fraction.write,
        "fill_limit": problem.storage.fill_limit,
    }
    ledger.all_same("site", vars(site), expected)
    money = {name: getattr(basis.money, name) for name in ("code", "usd", "on", "source")}
    usual = basis.money.code == "USD"
    shown = None if plan.currency is None else plan.currency.model_dump()
    ledger.equal("currency", shown, None if usual else money)
    ledger.equal("public_notes", plan.public_notes, problem.public_notes)
    energy_basis = "maximum" if term is None else term.energy_basis
    ledger.equal("site.energy_basis", site.energy_basis, energy_basis)
