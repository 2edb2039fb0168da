"""The plan recomputed in own arithmetic from the problem and the catalogs, field by field.

Shares no code with the optimiser, the case, the sizing or the assembly of plans. Each module
returns what a plan should say, by the plan's names; `Findings.expect` compares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from planner.errors import VerificationError
from planner.schema.operation import JobPlan
from planner.schema.plan import SCHEMA_VERSION, Plan
from planner.verifier.allowed import check_allowed, check_searched
from planner.verifier.basis import DECIDED, Basis, Findings, Recheck
from planner.verifier.bill import build_bill, check_lines, check_totals, paid_by, totals_of
from planner.verifier.fabric import UnbuildableError, check_fabrics, choose_fabric, shared_plug
from planner.verifier.job import CLIENT_GB_PER_S_PER_GPU, Operation, Run, check_job, operate
from planner.verifier.limits import (
    Found,
    Reached,
    check_limits,
    check_objective,
    facility_limit_kw,
    given,
    program_faults,
)
from planner.verifier.racks import check_racks
from planner.verifier.rates import check_paces, choose_option
from planner.verifier.readback import unit_faults

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

"""Returns the links of a plan, each with its ends, as the cable schedule lists them."""
SOLVED = ("optimal", "feasible")
LEAST_GOODPUT, MOST_STORAGE, EDGE = 0.8, 0.1, 1e-6


def verify(inputs: Inputs, plan: Plan) -> None:
    """Recompute a plan and refuse it where anything differs.

    Args:
        inputs: the problem, catalogs and prices.
        plan: the plan as it would be handed out.

    Raises:
        VerificationError: a figure is wrong, a limit is broken or missing.
    """
    found = recheck(inputs, plan)
    if wrong := (*_all(found), *program_faults(plan)):
        raise VerificationError(wrong)


def _all(found: Recheck) -> tuple[str, ...]:
    return (*found.disagreements, *(f"{name}: {text}" for name, text in found.breaches))


def confirms(inputs: Inputs, plan: Plan) -> bool:
    """Whether every figure of a plan without cables is right and every limit is kept.

    Without racks in the plan, network devices are put into them first-fit; a plan with fewer racks
    than that may still be right, as its placement shows.
    """
    return not _all(recheck(inputs, plan, drawn=False))


def passed(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Return the broken limits on supplies of a plan that was confirmed under looser ones.

    Args:
        inputs: a problem that differs from the plan's own in these limits alone.
        plan: the plan, whose figures are confirmed.
    """
    values = {report.name: report.value for report in plan.limits}
    supplies = given(inputs.problem, "supply")
    reached = (Reached(row.name, values.get(row.name), limit) for row, limit in supplies)
    return tuple(f"{each.name}: broken limit: {each.text}" for each in reached if not each.holds)


def recheck(inputs: Inputs, plan: Plan, *, drawn: bool = True) -> Recheck:
    """Recompute a plan that may break limits, such as an edited one.

    Args:
        inputs: the problem, catalogs and prices.
        plan: the plan, right or wrong.
        drawn: whether it has its racks and cables.
    """
    found, basis = Findings(), Basis.of(inputs)
    _check_site(found, basis, plan)
    if plan.status in SOLVED:
        _check_solved(found, basis, plan, drawn)
    else:
        empty = not plan.lines and not plan.jobs and plan.totals is None
        text = f"lines: a plan that is {plan.status} has none"
        found.require(empty and plan.objective.value is None, text)
    if drawn:
        check_searched(found, basis, plan)
    return Recheck(tuple(found.disagreements), tuple(found.breaches))


def faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Return everything wrong with a plan from outside, each with its place in the plan."""
    found = _all(recheck_from_outside(inputs, plan))
    proof = *unproven_faults(plan), *program_faults(plan)
    return (*found, *proof, *origin_faults(inputs, plan))


def recheck_from_outside(inputs: Inputs, plan: Plan) -> Recheck:
    """Recompute a plan that anybody may have changed: what cannot be computed is wrong."""
    try:
        return recheck(inputs, plan)
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


def origin_faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Return where a plan names other inputs than it was made from."""
    found = Findings()
    own = {
        "input_sha256": inputs.sha256,
        "catalogs": inputs.catalog_names,
        "price_books": inputs.price_book_names,
        "scenario": inputs.scenario,
        "overrides": inputs.overrides,
    }
    found.expect("provenance", plan.provenance, own)
    return tuple(found.disagreements)


def _check_site(found: Findings, basis: Basis, plan: Plan) -> None:
    """Compare what the plan repeats of the problem."""
    problem, term, site = basis.problem, basis.problem.term, basis.problem.site
    own = {"description": problem.description, "problem": problem.name}
    found.expect("plan.schema_version", plan.schema_version, SCHEMA_VERSION)
    found.expect("plan", plan, {**own, "public_notes": problem.public_notes})
    found.expect("objective.gap_asked", plan.objective.gap_asked, plan.provenance.gap)
    racks, fraction = site.racks, problem.storage.delivered_fraction
    of_site: dict[str, Any] = {
        "pue": site.pue_air,
        "pue_liquid": site.pue_liquid,
        "racks_limit": sum(g.count for g in racks) if isinstance(racks, tuple) else racks,
        "it_power_limit_kw": site.it_power_kw,
        "facility_power_limit_kw": facility_limit_kw(site),
        "fill_limit": problem.storage.fill_limit,
        "delivered_fraction_read": fraction.read,
        "delivered_fraction_write": fraction.write,
        "years": term and term.years,
        "electricity_usd_per_kwh": term and term.electricity_usd_per_kwh,
        "colocation_usd_per_kw_month": term.colocation_usd_per_kw_month if term else 0.0,
        "discount_rate": term.discount_rate if term else 0.0,
        "energy_basis": term.energy_basis if term else "maximum",
    }
    found.expect("site", plan.site, of_site)
    money = {key: getattr(problem.shown_in, key) for key in ("code", "usd", "on", "source")}
    shown = None if plan.currency is None else plan.currency.model_dump()
    found.expect("currency", shown, None if problem.shown_in.code == "USD" else money)


def _check_solved(found: Findings, basis: Basis, plan: Plan, drawn: bool) -> None:
    before = len(found.disagreements)
    _check_names(found, basis, plan)
    counts = _read_counts(found, basis, plan) if len(found.disagreements) == before else {}
    basis = choose_fabric(found, basis, plan)
    check_allowed(found, basis, plan, counts)
    if len(found.disagreements) > before or not _has_decisions(found, basis, plan, counts):
        return
    stated = plan.jobs[0]
    job = choose_option(found, basis, stated)
    paces = check_paces(found, basis, job, stated)
    capped = {sku: pace.power_share for sku, pace in paces.items() if pace.power_share != 1.0}
    basis = basis.with_job(job, capped)
    cluster = {s: n for s, n in counts.items() if basis.items[s].category in DECIDED and n}
    try:
        bill = build_bill(found, basis, cluster, plan)
    except UnbuildableError as error:
        found.fail(str(error))
        return
    check_fabrics(found, plan, bill.fabrics)
    check_lines(found, basis, plan, bill)
    if drawn or plan.racks:
        check_racks(found, basis, bill.standing, bill.companions, bill.room, plan)
    systems = {sku: stated.systems_by_type.get(sku, 0) for sku in stated.gpu_types}
    if len(systems) == 1:
        systems = {stated.gpu_type: stated.systems_used}
    every = 0 if stated.local is None else stated.local.every
    used = stated.gpus_used, stated.interval_s, every, stated.mode, stated.storage_families
    operation = operate(Run(basis, job, cluster, systems, *used, paces))
    check_job(found, operation, stated)
    paid = paid_by(basis, plan)
    totals = totals_of(basis, bill, paid, operation.figures, stated.gpus_used)
    check_totals(found, plan, totals, paid)
    whole = Found(basis, bill, totals, operation)
    check_limits(found, whole, plan)
    check_objective(found, whole, plan)
    if drawn:
        _check_assumptions(found, basis, plan, operation)
        _check_verdict(found, plan)


def _check_assumptions(found: Findings, basis: Basis, plan: Plan, operation: Operation) -> None:
    """Compare the values of assumptions with the catalogs and the problem."""
    problem, job, repairs, saved = basis.problem, basis.job, operation.repairs, basis.job.checkpoint
    fraction, term, figures = problem.storage.delivered_fraction, problem.term, operation.figures
    own: dict[str, Any] = {
        "delivered_fraction.write": fraction.write,
        "delivered_fraction.read": fraction.read,
        "pue": problem.site.pue_air,
        "pue.air": problem.site.pue_air,
        "pue.liquid": problem.site.pue_liquid,
        "checkpoint_size": figures["checkpoint_gb"],
        "failures": figures["failures_per_gpu_day"],
        "lost_time": job.lost_share,
        "stall": saved.stall_overhead_s or 0.0 if saved.stall_s == "derived" else saved.stall_s,
        "restart": job.restart_s,
        "local_restart": job.restart.local_s,
        "remote_share": operation.times.far,
        "client_limit": CLIENT_GB_PER_S_PER_GPU,
        "repair.share": repairs and repairs.share,
        "repair.time": repairs and repairs.repair_s / 3600,
        "repair.swap": repairs and repairs.repair.swap_s,
        "electricity": term and term.electricity_usd_per_kwh,
        "years": term and term.years,
        **{f"dwpd.{kind}": getattr(problem.storage.dwpd, kind) for kind in ("tlc", "qlc", "scm")},
    }
    for each in plan.assumptions:
        sku, _, path = each.name.partition(".")
        name, stated = f"assumptions.{each.name}", each.value
        if sku in basis.items and isinstance(stated, float):
            figure = attrgetter(path)(basis.items[sku])
            found.expect(name, stated, getattr(figure, "value", figure))
        elif each.name in own:
            found.expect(name, stated, own[each.name])


def _check_verdict(found: Findings, plan: Plan) -> None:
    """Require that a plan with little goodput, or with much storage, says so."""
    codes, totals = {each.code for each in plan.verdict}, plan.totals
    above = {"goodput": LEAST_GOODPUT - plan.jobs[0].goodput}
    owned = any(line.section == "Compute" and line.installed for line in plan.lines)
    if totals is not None and totals.capex_usd and not owned:
        spent_usd = totals.capex_by_section_usd.get("Storage", 0.0)
        above["storage"] = spent_usd / totals.capex_usd - MOST_STORAGE
    for code, by in above.items():
        if abs(by) > EDGE:
            found.expect(f"verdict.{code}", code in codes, by > 0)


def _check_names(found: Findings, basis: Basis, plan: Plan) -> None:
    """Require that everything a plan names is in the catalogs."""
    named = {f"lines.{line.sku}": line.sku for line in plan.lines}
    named |= {f"racks.{g.first}.{d.sku}": d.sku for g in plan.racks for d in g.devices}
    for report in plan.fabrics:
        place = f"fabrics.{report.network}"
        named[f"{place}.switch_sku"] = report.switch_sku
        named |= {f"{place}.serves.{sku}": sku for sku in report.serves}
    named |= {f"jobs.gpu_types.{sku}": sku for job in plan.jobs for sku in job.gpu_types}
    for place, sku in named.items():
        found.require(sku in basis.items, f"{place}: not in the catalogs")


def _read_counts(found: Findings, basis: Basis, plan: Plan) -> dict[str, int]:
    """Return the units of each line in the cluster."""
    counts: dict[str, int] = {}
    for line in plan.lines:
        name = f"lines.{line.sku}"
        if line.parent is not None:
            continue
        if line.sku in counts:
            found.fail(f"{name}: listed twice")
        elif not all(type(n) is int and n >= 0 for n in (line.quantity, line.idle)):
            found.fail(f"{name}.quantity: not a whole number of at least 0")
        elif line.idle and line.quantity > (owned := basis.sale(basis.items[line.sku]).owned):
            found.fail(f"{name}.idle: {line.idle} of {owned} owned idle, yet units are bought")
        else:
            counts[line.sku] = line.quantity - line.idle
            found.require(counts[line.sku] >= 0, f"{name}.idle: more than there are")
    return counts


def _has_decisions(found: Findings, basis: Basis, plan: Plan, counts: Mapping[str, int]) -> bool:
    """Check that the job's decisions make sense; without them nothing can be recomputed."""
    if len(plan.jobs) != 1:
        found.fail(f"jobs: plan says {len(plan.jobs)}, expected one")
        return False
    before, job = len(found.disagreements), plan.jobs[0]
    types, used = job.gpu_types, job.systems_by_type
    once = bool(types) and len(set(types)) == len(types) and job.gpu_type in types
    found.require(once, f"jobs.gpu_types: {types} are none, one twice or not {job.gpu_type}")
    if len(types) > 1 or used:
        found.expect("jobs.systems_by_type", sorted(used), sorted(types))
        found.expect("jobs.systems_used, systems_by_type", job.systems_used, sum(used.values()))
    for sku in types:
        there = counts.get(sku, 0) if basis.items[sku].category == "gpu_system" else 0
        busy = used.get(sku, 0) if len(types) > 1 else job.systems_used
        ok = type(busy) is int and 1 <= busy <= there
        found.require(ok, f"jobs.systems_used: plan says {busy} of {there} {sku}")
    if basis.problem.network.compute is not None:
        one = len(types) == 1 or shared_plug(basis, types) is not None
        found.require(one, "jobs.gpu_types: not in one compute fabric")
    whole = type(job.gpus_used) is int and job.gpus_used > 0
    found.require(whole, f"jobs.gpus_used: {job.gpus_used!r} is not a whole number of at least 1")
    positive = math.isfinite(job.interval_s) and job.interval_s > 0
    found.require(positive, f"jobs.interval_s: {job.interval_s!r} is not a positive time")
    _check_mode(found, basis, job)
    stored = basis.flash(counts)
    families = sorted({basis.items[sku].family or sku for sku in stored})
    found.expect("jobs.storage_families", sorted(job.storage_families), families)
    storage = basis.problem.storage
    few = 1 <= len(families) <= storage.max_families
    found.require(few, f"jobs.storage_families: {len(families)} serve the job")
    own = job.storage_family in job.storage_families
    found.require(own, f"jobs.storage_family: {job.storage_family} is not in storage_families")
    return len(found.disagreements) == before


def _check_mode(found: Findings, basis: Basis, job: JobPlan) -> None:
    """Check that the checkpoint mode and the local level are allowed by the problem."""
    checkpoint = basis.job.checkpoint
    modes = ("async", "sync") if checkpoint.mode == "open" else (checkpoint.mode,)
    found.require(job.mode in modes, f"jobs.mode: {job.mode} is not asked for")
    local, asked = job.local, checkpoint.local
    if local is None or asked is None or asked.use == "no":
        wanted = asked is not None and asked.use == "yes"
        found.expect("jobs.local: used", local is not None, wanted)
        return
    found.require(job.mode == "async", "jobs.mode: a local level needs async")
    allowed = local.every in asked.every and type(local.every) is int
    found.require(allowed, f"jobs.local.every: {local.every!r} is not in {list(asked.every)}")
    for sku in job.gpu_types:
        drives = basis.items[sku].local
        known = drives.write is not None and drives.capacity is not None
        found.require(known, f"jobs.local: drives of {sku} are not known")
