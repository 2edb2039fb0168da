"""The plan recomputed in own arithmetic from the problem and the catalogs, line by line.

Shares no code with the optimiser, the case or the assembly of plans; of `planner.sizing` only the
tables of presets and vendor rules are read, which are data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from planner.errors import VerificationError
from planner.schema.beside import Cable
from planner.schema.plan import JobPlan, Plan
from planner.verifier.allowed import check_allowed, check_searched
from planner.verifier.basis import Basis
from planner.verifier.bill import check_lines, count_needed, read_counts
from planner.verifier.cabling import check_cabling
from planner.verifier.fabric import choose_fabric, shared_plug
from planner.verifier.job import Run
from planner.verifier.ledger import Ledger, Recheck
from planner.verifier.limits import (
    Found,
    Reached,
    check_limits,
    check_objective,
    facility_limit_kw,
    given,
)
from planner.verifier.operation import check_job, operate
from planner.verifier.program import program_faults
from planner.verifier.racks import check_racks
from planner.verifier.rates import check_paces, choose_option
from planner.verifier.readback import check_units
from planner.verifier.totals import check_totals

if TYPE_CHECKING:
    from planner.inputs import Inputs

__all__ = [
    "Recheck",
    "confirms",
    "faults",
    "origin_faults",
    "passed",
    "program_faults",
    "recheck",
    "recheck_from_outside",
    "unit_faults",
    "unproven_faults",
    "verify",
]

Schedule = Callable[["Inputs", Plan], Sequence[Cable]]
"""Returns the links of a plan, each with its ends, as the cable schedule lists them."""
TERM = {
    "years": None,
    "electricity_usd_per_kwh": None,
    "colocation_usd_per_kw_month": 0.0,
    "discount_rate": 0.0,
    "energy_basis": "maximum",
}
"""What a plan repeats of the term, and what it has without one."""
SOLVED = ("optimal", "feasible")


def verify(inputs: Inputs, plan: Plan, schedule: Schedule | None = None) -> None:
    """Recompute a plan and refuse it where anything differs.

    Args:
        inputs: the problem, catalogs and prices.
        plan: the plan as it would be handed out.
        schedule: returns the links of a plan, to check runs and lengths of cables too.

    Raises:
        VerificationError: a figure is wrong, a limit is broken or missing.
    """
    found = recheck(inputs, plan, schedule=schedule)
    broken = tuple(f"{name}: {text}" for name, text in found.breaches)
    wrong = (*found.disagreements, *broken, *program_faults(plan))
    if wrong:
        raise VerificationError(wrong)


def confirms(inputs: Inputs, plan: Plan) -> bool:
    """Whether every figure of a plan without cables is right and every limit is kept.

    Without racks in the plan, network devices are put into them first-fit; a plan with fewer racks
    than that may still be right, as its placement shows.
    """
    found = recheck(inputs, plan, drawn=False)
    return not found.disagreements and not found.breaches


def passed(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Return the broken limits on supplies of a plan that was confirmed under looser ones.

    Args:
        inputs: a problem that differs from the plan's own in these limits alone.
        plan: the plan, whose figures are confirmed.
    """
    values = {report.name: report.value for report in plan.limits}
    reached = (
        Reached(row.name, values.get(row.name), limit)
        for row, limit in given(inputs.problem, "supply")
    )
    return tuple(f"{each.name}: broken limit: {each.text}" for each in reached if not each.holds)


def recheck(
    inputs: Inputs, plan: Plan, *, drawn: bool = True, schedule: Schedule | None = None
) -> Recheck:
    """Recompute a plan that may break limits, such as an edited one.

    Args:
        inputs: the problem, catalogs and prices.
        plan: the plan, right or wrong.
        drawn: whether it has its racks and cables.
        schedule: returns the links of a plan, to check runs and lengths of cables too.
    """
    ledger, basis = Ledger(), Basis.of(inputs)
    _check_site(ledger, basis, plan)
    if plan.status in SOLVED:
        _check_solved(ledger, basis, plan, drawn, schedule)
    else:
        empty = not plan.lines and not plan.jobs and plan.totals is None
        ledger.require(
            empty and plan.objective.value is None, f"lines: a plan that is {plan.status} has none"
        )
    if drawn:
        check_searched(ledger, basis, plan)
    return Recheck(tuple(ledger.disagreements), tuple(ledger.breaches))


def faults(inputs: Inputs, plan: Plan, schedule: Schedule | None = None) -> tuple[str, ...]:
    """Return everything wrong with a plan from outside, each with its place in the plan."""
    found = recheck_from_outside(inputs, plan, schedule)
    broken = (f"{name}: {text}" for name, text in found.breaches)
    return (
        *found.disagreements,
        *broken,
        *unproven_faults(plan),
        *program_faults(plan),
        *origin_faults(inputs, plan),
    )


def recheck_from_outside(inputs: Inputs, plan: Plan, schedule: Schedule | None = None) -> Recheck:
    """Recompute a plan that anybody may have changed: what cannot be computed is wrong."""
    try:
        return recheck(inputs, plan, schedule=schedule)
    except (ArithmeticError, ValueError, LookupError, AssertionError):
        return Recheck(("lines: with such counts nothing can be computed",), ())
    except (TypeError, AttributeError):
        return Recheck(("the plan: parts are missing, so nothing can be computed",), ())


def unproven_faults(plan: Plan) -> tuple[str, ...]:
    """Return where a plan calls itself unproven though its own gap proves it."""
    goal = plan.objective
    if plan.status != "feasible" or goal.gap is None or goal.gap > goal.gap_asked:
        return ()
    return (f"status: feasible, but the gap {goal.gap!r} is within {goal.gap_asked!r}",)


def unit_faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Return quantities of the plan's files that were read otherwise than they are written.

    Args:
        inputs: as they were loaded from files, without later changes.
        plan: whose items are read back.
    """
    ledger = Ledger()
    check_units(ledger, inputs, plan)
    return tuple(ledger.disagreements)


def origin_faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Return where a plan names other inputs than it was made from."""
    ledger = Ledger()
    own: dict[str, object] = {"input_sha256": inputs.sha256, "catalogs": inputs.catalog_names}
    own |= {"price_books": inputs.price_book_names, "scenario": inputs.scenario}
    own |= {"overrides": inputs.overrides}
    ledger.all_same("provenance", plan.provenance, own)
    return tuple(ledger.disagreements)


def _check_site(ledger: Ledger, basis: Basis, plan: Plan) -> None:
    """Compare what the plan repeats of the problem."""
    problem, term, site = basis.problem, basis.problem.term, basis.problem.site
    own: dict[str, object] = {"description": problem.description, "problem": problem.name}
    ledger.all_same("plan", plan, {**own, "public_notes": problem.public_notes})
    racks, fraction = site.racks, problem.storage.delivered_fraction
    if isinstance(racks, tuple):
        racks = sum(group.count for group in racks)
    own = {"pue": site.pue_air, "pue_liquid": site.pue_liquid, "racks_limit": racks}
    own |= {"it_power_limit_kw": site.it_power_kw, "fill_limit": problem.storage.fill_limit}
    own |= {"facility_power_limit_kw": facility_limit_kw(site)}
    own |= {"delivered_fraction_read": fraction.read, "delivered_fraction_write": fraction.write}
    for name, default in TERM.items():
        own[name] = default if term is None else getattr(term, name)
    ledger.all_same("site", plan.site, own)
    money = {key: getattr(basis.money, key) for key in ("code", "usd", "on", "source")}
    shown = None if plan.currency is None else plan.currency.model_dump()
    ledger.same("currency", shown, None if basis.money.code == "USD" else money)


def _check_solved(
    ledger: Ledger, basis: Basis, plan: Plan, drawn: bool, schedule: Schedule | None
) -> None:
    before = len(ledger.disagreements)
    _check_names(ledger, basis, plan)
    counts = read_counts(ledger, basis, plan) if len(ledger.disagreements) == before else {}
    basis = choose_fabric(ledger, basis, plan)
    check_allowed(ledger, basis, plan, counts)
    if len(ledger.disagreements) > before or not _has_decisions(ledger, basis, plan, counts):
        return
    stated = plan.jobs[0]
    job = choose_option(ledger, basis, stated)
    paces = check_paces(ledger, basis, job, stated)
    capped = {sku: pace.power_share for sku, pace in paces.items() if pace.power_share != 1.0}
    basis = basis.with_job(job, capped)
    bill = count_needed(ledger, basis, plan, counts)
    check_lines(ledger, basis, plan, bill)
    if drawn or plan.racks:
        check_racks(ledger, basis, bill.standing, bill.companions, bill.room, plan)
    systems = {sku: stated.systems_by_type.get(sku, 0) for sku in stated.gpu_types}
    if len(systems) == 1:
        systems = {stated.gpu_type: stated.systems_used}
    every = 0 if stated.local is None else stated.local.every
    gpus, interval_s, families = stated.gpus_used, stated.interval_s, stated.storage_families
    used = (bill.cluster, systems, gpus, interval_s, every, stated.mode, families)
    run = Run(basis, job, *used, paces)
    operation = operate(run)
    check_job(ledger, operation, stated)
    totals = check_totals(ledger, basis, plan, bill, operation.figures, run.gpus)
    found = Found(basis, plan, bill, totals, operation)
    check_limits(ledger, found)
    check_objective(ledger, found)
    if drawn:
        _check_verdict(ledger, plan)
        right = schedule is not None and plan.cabling and not ledger.disagreements
        links = schedule(basis.inputs, plan) if right and schedule else None
        check_cabling(ledger, basis, plan, links)


LEAST_GOODPUT, MOST_STORAGE, EDGE = 0.8, 0.1, 1e-6


def _check_verdict(ledger: Ledger, plan: Plan) -> None:
    """Require that a plan with little goodput, or with much storage, says so."""
    said, totals = {each.code for each in plan.verdict}, plan.totals
    above = {"goodput": LEAST_GOODPUT - plan.jobs[0].goodput}
    owned = [line for line in plan.lines if line.section == "Compute" and line.installed]
    if totals is not None and totals.capex_usd and not owned:
        spent = totals.capex_by_section_usd.get("Storage", 0.0)
        above["storage"] = spent / totals.capex_usd - MOST_STORAGE
    for code, by in above.items():
        if abs(by) > EDGE:
            ledger.same(f"verdict.{code}", code in said, by > 0)


def _check_names(ledger: Ledger, basis: Basis, plan: Plan) -> None:
    """Require that everything a plan names is in the catalogs."""
    named = {f"lines.{line.sku}": line.sku for line in plan.lines}
    named |= {f"racks.{g.first}.{d.sku}": d.sku for g in plan.racks for d in g.devices}
    for report in plan.fabrics:
        place = f"fabrics.{report.network}"
        named[f"{place}.switch_sku"] = report.switch_sku
        named |= {f"{place}.serves.{sku}": sku for sku in report.serves}
    named |= {f"jobs.gpu_types.{sku}": sku for job in plan.jobs for sku in job.gpu_types}
    for place, sku in named.items():
        ledger.require(sku in basis.items, f"{place}: not in the catalogs")


def _has_decisions(ledger: Ledger, basis: Basis, plan: Plan, counts: dict[str, int]) -> bool:
    """Check that the job's decisions make sense; without them nothing can be recomputed."""
    if len(plan.jobs) != 1:
        ledger.fail(f"jobs: plan says {len(plan.jobs)}, expected one")
        return False
    before, job = len(ledger.disagreements), plan.jobs[0]
    types, used = job.gpu_types, job.systems_by_type
    ledger.require(
        bool(types) and len(set(types)) == len(types), "jobs.gpu_types: none, or one twice"
    )
    ledger.require(job.gpu_type in types, f"jobs.gpu_type: {job.gpu_type} is not in gpu_types")
    if len(types) > 1 or used:
        ledger.same("jobs.systems_by_type", sorted(used), sorted(types))
        total = sum(used.values())
        ledger.same("jobs.systems_used, systems_by_type", job.systems_used, total)
    for sku in types:
        there = counts.get(sku, 0) if basis.items[sku].category == "gpu_system" else 0
        busy = used.get(sku, 0) if len(types) > 1 else job.systems_used
        ok = type(busy) is int and 1 <= busy <= there
        ledger.require(ok, f"jobs.systems_used: plan says {busy} of {there} {sku}")
    if basis.problem.network.compute is not None:
        one = len(types) == 1 or shared_plug(basis, types) is not None
        ledger.require(one, "jobs.gpu_types: not in one compute fabric")
    whole = type(job.gpus_used) is int and job.gpus_used > 0
    ledger.require(whole, f"jobs.gpus_used: {job.gpus_used!r} is not a whole number of at least 1")
    positive = math.isfinite(job.interval_s) and job.interval_s > 0
    ledger.require(positive, f"jobs.interval_s: {job.interval_s!r} is not a positive time")
    _check_mode(ledger, basis, job)
    stored = [sku for sku, count in basis.flash(counts).items() if count]
    families = sorted({basis.items[sku].family or sku for sku in stored})
    ledger.same("jobs.storage_families", sorted(job.storage_families), families)
    storage = basis.problem.storage
    few = 1 <= len(families) <= (storage.exact_families or storage.max_families)
    ledger.require(few, f"jobs.storage_families: {len(families)} serve the job")
    own = job.storage_family in job.storage_families
    ledger.require(own, f"jobs.storage_family: {job.storage_family} is not in storage_families")
    return len(ledger.disagreements) == before


def _check_mode(ledger: Ledger, basis: Basis, job: JobPlan) -> None:
    """Check that the checkpoint mode and the local level are allowed by the problem."""
    checkpoint = basis.job.checkpoint
    modes = ("async", "sync") if checkpoint.mode == "open" else (checkpoint.mode,)
    ledger.require(job.mode in modes, f"jobs.mode: {job.mode} is not asked for")
    local, asked = job.local, checkpoint.local
    if local is None or asked is None or asked.use == "no":
        wanted = asked is not None and asked.use == "yes"
        ledger.same("jobs.local: used", local is not None, wanted)
        return
    ledger.require(job.mode == "async", "jobs.mode: a local level needs async")
    allowed = local.every in asked.every and type(local.every) is int
    ledger.require(allowed, f"jobs.local.every: {local.every!r} is not in {list(asked.every)}")
    for sku in job.gpu_types:
        drives = basis.items[sku].local
        known = drives.write is not None and drives.capacity is not None
        ledger.require(known, f"jobs.local: drives of {sku} are not known")
