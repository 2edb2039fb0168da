"""The plan recomputed by own arithmetic from the problem and the catalogs, field by field.

Shares no code with the optimiser, the case, the sizing or the assembly of plans. Each module
computes figures from others of the plan, under the plan's names; `Findings.expect` compares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from planner.errors import VerificationError
from planner.schema.catalog import Item
from planner.schema.operation import JobPlan
from planner.schema.plan import SCHEMA_VERSION, Plan
from planner.verifier.basis import DECIDED, Basis, Either, Findings, Recheck, unit_faults
from planner.verifier.bill import build_bill, check_lines, check_totals
from planner.verifier.fabric import choose_fabric, shared_plug
from planner.verifier.hall import check_racks
from planner.verifier.job import Run, check_job, check_ways, choose_option
from planner.verifier.limits import (
    Reached,
    check_limits,
    check_objective,
    given,
    program_faults,
)
from planner.verifier.physics import measured_rate, peak_tflops

if TYPE_CHECKING:
    from planner.inputs import Inputs

__all__ = [
    "Recheck",
    "confirms",
    "excluded",
    "faults",
    "origin_faults",
    "passed",
    "program_faults",
    "recheck",
    "total_faults",
    "unit_faults",
    "unproven_faults",
    "verify",
]

SUMMED = 1e-7
"""Relative difference of a sum over lines and one over units."""
MISSING = (AssertionError, TypeError, AttributeError)
"""Raised by parts of a plan that are not there."""


def verify(inputs: Inputs, plan: Plan) -> None:
    """Recompute a plan and refuse it where anything differs.

    Args:
        inputs: the problem, catalogs and prices.
        plan: the plan as it would be handed out.

    Raises:
        VerificationError: a figure is wrong, a limit is broken or missing.
    """
    if wrong := (*recheck(inputs, plan).all, *program_faults(plan)):
        raise VerificationError(wrong)


def faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Everything wrong with a plan from outside, each with its place in the plan."""
    found = recheck(inputs, plan).all
    return (*found, *unproven_faults(plan), *program_faults(plan), *origin_faults(inputs, plan))


def confirms(inputs: Inputs, plan: Plan) -> bool:
    """True if every figure of a plan without cables is right and every limit is kept.

    Without racks in the plan, network devices are put into them first-fit; a plan with fewer racks
    than that may still be right, as its placement shows.
    """
    return not recheck(inputs, plan, drawn=False).all


def passed(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Broken limits on supplies of a plan that was confirmed under looser ones.

    Args:
        inputs: a problem that differs from the plan's own in these limits alone.
        plan: the plan, whose figures are confirmed.
    """
    values = {report.name: report.value for report in plan.limits}
    supplies = given(inputs.problem, "supply")
    reached = (Reached(row.name, values.get(row.name), limit) for row, limit in supplies)
    return tuple(f"{each.name}: broken limit: {each.text}" for each in reached if not each.holds)


def total_faults(plan: Plan, searched: Mapping[str, float]) -> tuple[str, ...]:
    """Totals of a plan that are not the sums that the search compared plans by.

    Args:
        plan: the plan, whose figures are confirmed.
        searched: the sums by the name of the total; a total that is not known is left out.
    """
    stated = {name: getattr(plan.totals, name, None) for name in searched}
    pairs = {name: (own, searched[name]) for name, own in stated.items() if own is not None}
    return tuple(
        f"totals.{name}: plan says {own:.12g}, the search counted {sum_:.12g}"
        for name, (own, sum_) in pairs.items()
        if not math.isclose(own, sum_, rel_tol=SUMMED, abs_tol=SUMMED)
    )


def unproven_faults(plan: Plan) -> tuple[str, ...]:
    """Where a plan calls itself unproven though its own gap proves it."""
    goal = plan.objective
    if plan.status != "feasible" or goal.gap is None or goal.gap > goal.gap_asked:
        return ()
    return (f"status: feasible, but the gap {goal.gap!r} is within {goal.gap_asked!r}",)


def origin_faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Where a plan names other inputs than it was made from."""
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


def recheck(inputs: Inputs, plan: Plan, *, drawn: bool = True) -> Recheck:
    """Recompute a plan that may break limits or be wrong anywhere, as an edited one.

    Args:
        inputs: the problem, catalogs and prices.
        plan: the plan, right or wrong.
        drawn: whether it has its racks and cables.
    """
    found, basis = Findings(), Basis.of(inputs)
    try:
        if plan.status in ("optimal", "feasible"):
            _check_solved(found, basis, plan, drawn)
        else:
            empty = not plan.lines and not plan.jobs and plan.totals is None
            text = f"lines: a plan that is {plan.status} has none"
            found.require(empty and plan.objective.value is None, text)
        _check_repeated(found, basis, plan)
        if drawn:
            _check_searched(found, basis, plan)
    except (*MISSING, ArithmeticError, ValueError, LookupError) as error:
        found.require(False, f"the plan: parts are missing or wrong, not computed ({error!r})")
    return Recheck(tuple(found.disagreements), tuple(found.breaches))


def _check_repeated(found: Findings, basis: Basis, plan: Plan) -> None:
    """Compare the plan's copies of problem values."""
    problem, site, storage = basis.problem, basis.problem.site, basis.problem.storage
    own: dict[str, Any] = {"description": problem.description, "problem": problem.name}
    own |= {"schema_version": SCHEMA_VERSION}
    found.expect("plan", plan, own)
    found.expect("objective.gap_asked", plan.objective.gap_asked, plan.provenance.gap)
    of_site: dict[str, Any] = {
        "pue": site.pue_air,
        "pue_liquid": site.pue_liquid,
        "fill_limit": storage.fill_limit,
        "delivered_fraction_read": storage.delivered_fraction.read,
        "delivered_fraction_write": storage.delivered_fraction.write,
    }
    of_term = ("years", "electricity_usd_per_kwh", "colocation_usd_per_kw_month", "discount_rate")
    for name in of_term:
        of_site[name] = getattr(problem.term, name, Either((None, 0.0)))
    of_site["energy_basis"] = getattr(problem.term, "energy_basis", "maximum")
    found.expect("site", plan.site, of_site)
    money = {key: getattr(problem.shown_in, key) for key in ("code", "usd", "on", "source")}
    shown = None if plan.currency is None else plan.currency.model_dump()
    found.expect("currency", shown, None if problem.shown_in.code == "USD" else money)
    pue = {"pue": site.pue_air, "pue.air": site.pue_air, "pue.liquid": site.pue_liquid}
    for each in plan.assumptions:
        sku, _, path = each.name.partition(".")
        if each.name in pue:
            found.expect(f"assumptions.{each.name}", each.value, pue[each.name])
        elif sku in basis.items and isinstance(each.value, float):
            figure = attrgetter(path)(basis.items[sku])
            found.expect(f"assumptions.{each.name}", each.value, getattr(figure, "value", figure))


def _check_solved(found: Findings, basis: Basis, plan: Plan, drawn: bool) -> None:
    _check_names(found, basis, plan)
    counts = {} if found.disagreements else _read_counts(found, basis, plan)
    basis = choose_fabric(found, basis, plan)
    _check_allowed(found, basis, plan, counts)
    if found.disagreements or not _has_decisions(found, basis, plan, counts):
        return
    j, options = plan.jobs[0], basis.job.options
    basis = choose_option(found, basis, j)
    check_ways(found, basis, j, options)
    cluster = {s: n for s, n in counts.items() if basis.items[s].category in DECIDED and n}
    bill, run = build_bill(found, basis, cluster, plan), Run(basis, cluster, j)
    check_lines(found, basis, plan, bill)
    if drawn or plan.racks:
        check_racks(found, basis, bill.standing, bill.companions, bill.room, plan)
    check_job(found, run)
    check_totals(found, basis, plan, bill.room)
    check_limits(found, plan, bill, run)
    check_objective(found, plan, run)


# The decisions of a plan, without which nothing can be recomputed.


def _check_names(found: Findings, basis: Basis, plan: Plan) -> None:
    named = {f"lines.{line.sku}": line.sku for line in plan.lines}
    named |= {f"racks.{g.first}.{d.sku}": d.sku for g in plan.racks for d in g.devices}
    for report in plan.fabrics:
        skus = (*report.serves, report.switch_sku)
        named |= {f"fabrics.{report.network}.{sku}": sku for sku in skus}
    for place, sku in named.items():
        found.require(sku in basis.items, f"{place}: not in the catalogs")


def _read_counts(found: Findings, basis: Basis, plan: Plan) -> dict[str, int]:
    """Units of each line in the cluster."""
    counts: dict[str, int] = {}
    for line in plan.lines:
        if line.parent is not None:
            continue
        name, owned = f"lines.{line.sku}", basis.sale(basis.items[line.sku]).owned
        found.require(line.sku not in counts, f"{name}: listed twice")
        whole = all(type(n) is int and n >= 0 for n in (line.quantity, line.idle))
        found.require(whole, f"{name}.quantity: not a whole number of at least 0")
        idle = f"{name}.idle: {line.idle} of {owned} owned idle, yet units are bought"
        found.require(not line.idle or line.quantity <= owned, idle)
        found.require(line.idle <= line.quantity, f"{name}.idle: more than there are")
        counts[line.sku] = line.quantity - line.idle
    return counts


def _has_decisions(found: Findings, basis: Basis, plan: Plan, counts: Mapping[str, int]) -> bool:
    """Check that the job's decisions make sense."""
    one = f"jobs: plan says {len(plan.jobs)}, expected one"
    if not found.require(len(plan.jobs) == 1, one):
        return False
    j = plan.jobs[0]
    types, used = j.gpu_types, j.systems_by_type
    once = bool(types) and len(set(types)) == len(types) and j.gpu_type in types
    found.require(once, f"jobs.gpu_types: {types} are none, one twice or not {j.gpu_type}")
    if len(types) > 1 or used:
        found.expect("jobs.systems_by_type", sorted(used), sorted(types))
        found.expect("jobs.systems_used, systems_by_type", j.systems_used, sum(used.values()))
    for sku in types:
        there = counts.get(sku, 0) if basis.items[sku].category == "gpu_system" else 0
        busy = used.get(sku, 0) if len(types) > 1 else j.systems_used
        ok = type(busy) is int and 1 <= busy <= there
        found.require(ok, f"jobs.systems_used: plan says {busy} of {there} {sku}")
    shared = len(types) == 1 or not basis.network.compute or shared_plug(basis, types) is not None
    found.require(shared, "jobs.gpu_types: not in one compute fabric")
    found.require(plan.totals is not None, "totals: missing")
    whole = type(j.gpus_used) is int and j.gpus_used > 0
    found.require(whole, f"jobs.gpus_used: {j.gpus_used!r} is not a whole number of at least 1")
    positive = math.isfinite(j.interval_s) and j.interval_s > 0
    found.require(positive, f"jobs.interval_s: {j.interval_s!r} is not a positive time")
    _check_mode(found, basis, j)
    families = sorted({basis.items[sku].family or sku for sku in basis.flash(counts)})
    found.expect("jobs.storage_families", sorted(j.storage_families), families)
    few = 1 <= len(families) <= basis.problem.storage.max_families
    found.require(few, f"jobs.storage_families: {len(families)} serve the job")
    own = j.storage_family in j.storage_families
    found.require(own, f"jobs.storage_family: {j.storage_family} is not in storage_families")
    return not found.disagreements


def _check_mode(found: Findings, basis: Basis, j: JobPlan) -> None:
    """Check that the checkpoint mode and the local level are allowed by the problem."""
    checkpoint = basis.job.checkpoint
    modes = ("async", "sync") if checkpoint.mode == "open" else (checkpoint.mode,)
    found.require(j.mode in modes, f"jobs.mode: {j.mode} is not asked for")
    local, asked = j.local, checkpoint.local
    if local is None or asked is None or asked.use == "no":
        wanted = asked is not None and asked.use == "yes"
        found.expect("jobs.local: used", local is not None, wanted)
        return
    found.require(j.mode == "async", "jobs.mode: a local level needs async")
    allowed = local.every in asked.every and type(local.every) is int
    found.require(allowed, f"jobs.local.every: {local.every!r} is not in {list(asked.every)}")


# Items that may be bought.


def _check_allowed(found: Findings, basis: Basis, plan: Plan, counts: Mapping[str, int]) -> None:
    """Require that the problem allows every item in the cluster, and that none was left out."""
    left_out = {entry.sku for entry in plan.not_considered}
    for sku, count in counts.items():
        item = basis.items[sku]
        reason = excluded(basis, item, basis.bought(item, count)) if count else None
        if reason is None and count and item.sizes is not None:
            low, high = item.sizes.rows[0].units, item.sizes.rows[-1].units
            reason = None if low <= count <= high else f"sizes go from {low} to {high} units"
        found.require(reason is None, f"lines.{sku}: {reason}")
        found.require(not count or sku not in left_out, f"lines.{sku}: listed as not considered")


def _check_searched(found: Findings, basis: Basis, plan: Plan) -> None:
    """Require that each item that may be bought was searched, or is listed with a reason."""
    left_out = {entry.sku: entry.reason for entry in plan.not_considered}
    searched = {*plan.searched}
    for sku, item in basis.items.items():
        if item.category in DECIDED:
            reason = excluded(basis, item, 0 if basis.sale(item).owned else 1)
            real = reason is not None or _can_be_left_out(basis, item, left_out.get(sku, ""))
            once = (sku in searched) != (sku in left_out) and (real or sku in searched)
            found.require(once, f"searched: {sku} was not, and nothing excludes it")
            right = reason is None or sku in left_out
            found.require(right, f"not_considered: {sku} is missing, {reason}")


def _can_be_left_out(basis: Basis, item: Item, reason: str) -> bool:
    """True if a reason to leave an item out can be true."""
    if reason.startswith("no price"):
        return item.id not in basis.inputs.prices
    if not reason.startswith("not known"):
        return True
    facts: list[Any] = [basis.rated_kw(item), basis.stated(item, "rack_units")]
    if item.category == "storage":
        read, write = item.provides.read, item.provides.write
        facts += [item.sizes or (read and (item.is_bulk or write)) or None, item.provides.usable]
    else:
        local, job = item.local, basis.job
        rates = [
            measured_rate(item, job, each) if job.training.model else peak_tflops(item, each)
            for each in job.training.precisions
        ]
        facts += [item.provides.gpus, local.host_copy, local.write, local.capacity, *rates]
        facts += [item.ports.compute] if basis.problem.network.compute else []
    return None in facts


def excluded(basis: Basis, item: Item, bought: int) -> str | None:
    """Why the problem or the price book keeps an item out of the cluster; None if neither does."""
    problem, consider = basis.problem, basis.problem.consider
    system, decided = item.category == "gpu_system", item.category in DECIDED
    names = consider.gpu_systems if system else consider.storage_families
    named = names is None or item.is_bulk or (item.id if system else item.family) in names
    named = named and (consider.vendors is None or item.vendor in consider.vendors)
    clusters = [family.cluster for family in basis.inputs.families if family.cluster]
    part = any(part.item == item.id for cluster in clusters for part in cluster.parts)
    reasons = {
        "a component is not bought alone": item.category == "component",
        "excluded by the problem": basis.rule(item.id).exclude,
        "no data set is on the bulk tier": item.is_bulk and not problem.job.in_bulk,
        f"vendor {item.vendor} is forbidden": item.vendor in problem.policy.forbid_vendors,
        "not to be considered": decided and not named,
        f"lifecycle is {item.lifecycle}": decided
        and bought > 0
        and item.lifecycle not in consider.lifecycle,
        "no price": bought > 0 and not part and item.id not in basis.inputs.prices,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
