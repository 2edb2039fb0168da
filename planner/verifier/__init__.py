"""The plan recomputed by own arithmetic from the problem and the catalogs.

Decisions are read from the plan: counts of GPU systems and storage, operation of the job, trees
of fabrics, places in racks. Everything that decides follows from them once more: lines, totals,
figures of the job, limits, money. Shares no code with the optimiser, the case, the sizing or the
assembly of plans. Texts and figures that decide nothing are compared by assembling the plan again
(`planner.analysis.verification`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from planner.errors import VerificationError
from planner.schema.catalog import Item
from planner.schema.operation import JobPlan
from planner.schema.plan import Plan
from planner.verifier.basis import DECIDED, Basis, Findings, Near
from planner.verifier.basis import unit_faults as unit_faults
from planner.verifier.bill import (
    build_bill,
    check_lines,
    check_options,
    check_racks,
    check_totals,
    fits,
)
from planner.verifier.fabric import choose_fabric, plug_of
from planner.verifier.job import Run, check_job, choose_ways
from planner.verifier.limits import Reached, check_limits, check_objective, given
from planner.verifier.physics import measured_rate, peak_tflops

if TYPE_CHECKING:
    from planner.inputs import Inputs

SUMMED = 1e-7
"""Relative difference of a sum over lines and one over units."""
UNWANTED = ("excluded", "bulk storage", "not among", "vendor", "lifecycle", "no price")
"""Beginnings of reasons to leave an item out that problem or price book alone can give."""
NO_ROOM = "draws more than", "one unit does not fit"
"""Beginnings of reasons of items too large for a rack."""
SIZES = {"power draw": "it_power_kw", "rack units": "rack_units", "weight": "weight_kg"}
SELDOM = "set point", "local.", "ports"
"""Figures in a reason that a system need not state."""
BROKEN = AssertionError, TypeError, AttributeError, ArithmeticError, ValueError, LookupError
"""Errors of a plan with missing or impossible parts."""


def verify(inputs: Inputs, plan: Plan) -> None:
    """Recompute a plan and refuse it where anything differs.

    Raises:
        VerificationError: a figure is wrong, a limit is broken or missing.
    """
    if wrong := recheck(inputs, plan).all:
        raise VerificationError(wrong)


def faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Everything wrong with a plan from outside, each with its place in the plan."""
    return (*recheck(inputs, plan).all, *origin_faults(inputs, plan))


def confirms(inputs: Inputs, plan: Plan) -> bool:
    """True if every figure of a plan without cables is right and every limit is kept.

    Without racks in the plan, network devices are put into them first-fit; a plan with fewer racks
    than that may still be right, as its placement shows.
    """
    return not recheck(inputs, plan, drawn=False).all


def passed(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Broken limits on supplies of a plan that was confirmed under looser ones."""
    values = {report.name: report.value for report in plan.limits}
    supplies = given(inputs.problem, "supply")
    reached = (Reached(row.name, values.get(row.name, math.nan), limit) for row, limit in supplies)
    return tuple(f"{each.name}: broken limit: {each.text}" for each in reached if not each.holds)


def total_faults(plan: Plan, searched: Mapping[str, float]) -> tuple[str, ...]:
    """Known totals of a plan that are not the sums, by name, that the search compared plans by."""
    found = Findings()
    for name, own in searched.items():
        if getattr(plan.totals, name, None) is not None:
            near = Near(own, SUMMED * max(1.0, abs(own)))
            found.expect(f"totals.{name}", getattr(plan.totals, name), near)
    return found.disagreements


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
    return found.disagreements


def recheck(inputs: Inputs, plan: Plan, *, drawn: bool = True) -> Findings:
    """Recompute a plan that may be wrong anywhere; one not ``drawn`` has no racks and cables."""
    found, basis = Findings(), Basis.from_inputs(inputs)
    try:
        if plan.status in ("optimal", "feasible"):
            found.require(plan.message is None, "message: a plan has none")
            _check_solved(found, basis, plan, drawn)
        else:
            empty = not plan.lines and not plan.jobs and plan.totals is None
            text = f"lines: a plan that is {plan.status} has none"
            found.require(empty and plan.objective.value is None, text)
        if drawn:
            _check_searched(found, basis, plan)
    except BROKEN as error:
        found.require(False, f"the plan: parts are missing or wrong, not computed ({error!r})")
    return found


def _check_solved(found: Findings, basis: Basis, plan: Plan, drawn: bool) -> None:
    counts: Counter[str] = Counter()
    for line in plan.lines:
        if line.parent is None:
            counts[line.sku] += line.quantity - line.idle
            owned = basis.sale(basis.items[line.sku]).owned
            idle = f"lines.{line.sku}.idle: {line.idle} of {owned} owned idle, yet units are bought"
            found.require(not line.idle or line.idle <= line.quantity <= owned, idle)
    (j,) = plan.jobs
    basis = choose_fabric(found, basis, plan)
    _check_items(found, basis, plan, counts)
    _check_decisions(found, basis, counts, j)
    if found.disagreements:
        return
    basis = choose_ways(found, basis, j)
    cluster = {s: n for s, n in counts.items() if basis.items[s].category in DECIDED and n}
    bill, run = build_bill(found, basis, cluster, plan), Run(basis, cluster, j)
    check_lines(found, basis, plan, bill)
    if drawn or plan.racks:
        check_racks(found, basis, plan, bill)
    check_job(found, run)
    check_totals(found, basis, plan, bill.room)
    check_options(found, basis, plan)
    check_limits(found, plan, bill, run)
    check_objective(found, plan, run)


def _check_decisions(found: Findings, basis: Basis, counts: Mapping[str, int], j: JobPlan) -> None:
    """Check GPU types, storage families, mode and local level of the job."""
    types, used, checkpoint = sorted(j.gpu_types), j.systems_by_type, basis.job.checkpoint
    used = used if len(types) > 1 or used else {j.gpu_type: j.systems_used}
    families = sorted({basis.items[sku].family or sku for sku in basis.flash(counts)})
    modes = ("async", "sync") if checkpoint.mode == "open" else (checkpoint.mode,)
    wired = len(types) == 1 or not basis.network.compute or plug_of(basis, *types) is not None
    local, asked = j.local, checkpoint.local
    use, levels = ("no", ()) if asked is None else (asked.use, asked.every)
    systems = {sku: n for sku, n in counts.items() if basis.items[sku].category == "gpu_system"}
    for name, holds in {
        "systems_used, systems_by_type": j.systems_used == sum(used.values()),
        "systems_by_type, gpu_types": sorted(used) == types and j.gpu_type in types,
        "systems_used: in place": all(1 <= used[s] <= systems.get(s, 0) for s in used),
        "gpu_types: in one compute fabric": wired,
        "storage_families": sorted(j.storage_families) == families,
        "storage_family": j.storage_family in families,
        "storage_families: allowed": len(families) <= basis.problem.storage.max_families,
        "mode: asked for": j.mode in modes,
        "local: used": use == "open" or (local is not None) == (use == "yes"),
        "local: every, async": local is None or (local.every in levels and j.mode == "async"),
    }.items():
        found.require(holds, f"jobs.{name}: not as the problem and the lines have it")


# Items that may be bought.


def _check_items(found: Findings, basis: Basis, plan: Plan, counts: Mapping[str, int]) -> None:
    """Require that the problem allows every item in the cluster, and that none was left out."""
    for sku, count in counts.items():
        item = basis.items[sku]
        reason = excluded(basis, item, basis.bought(item, count)) if count else None
        reason = "listed as not considered" if count and sku in plan.not_considered else reason
        found.require(reason is None, f"lines.{sku}: {reason}")


def _check_searched(found: Findings, basis: Basis, plan: Plan) -> None:
    """Require that each item that may be bought was searched, or is listed with a reason."""
    searched = frozenset(plan.searched)
    for sku, item in basis.items.items():
        if item.category in DECIDED:
            reason = excluded(basis, item, 0 if basis.owned(sku) else 1)
            listed = plan.not_considered.get(sku)
            real = listed is not None and _unfit(basis, item, listed)
            right = listed is not None if reason else (sku in searched) != real
            found.require(right, f"searched: {sku} was not, excluded by {reason or 'nothing'}")


def _unfit(basis: Basis, item: Item, reason: str) -> bool:
    """True if a reason of the catalog holds: a missing figure, a unit too large for a rack.

    Of figures that some problems alone need any reason is believed.
    """
    if reason.startswith(UNWANTED):
        return False
    if reason.startswith(NO_ROOM):
        return not (fits(basis, item) or (0, 1))[1]
    if not reason.startswith("not known: ") or any(name in reason for name in SELDOM):
        return True
    sizes = [basis.of_unit(item, name) for label, name in SIZES.items() if label in reason]
    job, has = basis.job, item.provides
    if item.category == "storage":
        return None in (*sizes, has.read, has.write, has.usable)
    rate = measured_rate if job.training.model else lambda item, _, at: peak_tflops(item, at)
    return None in (*sizes, *(rate(item, job, each) for each in job.training.precisions))


def excluded(basis: Basis, item: Item, bought: int) -> str | None:
    """Why the problem or the price book keeps an item out of the cluster; None if neither does."""
    problem, consider = basis.problem, basis.problem.consider
    system, decided = item.category == "gpu_system", item.category in DECIDED
    names = consider.gpu_systems if system else consider.storage_families
    named = names is None or item.is_bulk or (item.id if system else item.family) in names
    named = named and (consider.vendors is None or item.vendor in consider.vendors)
    clusters = [family.cluster for family in basis.inputs.families if family.cluster]
    part = any(part.item == item.id for cluster in clusters for part in cluster.parts)
    old = decided and bought > 0 and item.lifecycle not in consider.lifecycle
    reasons = {
        "a component is not bought alone": item.category == "component",
        "excluded by the problem": basis.rule(item.id).exclude,
        "no data set is on the bulk tier": item.is_bulk and not problem.job.in_bulk,
        f"vendor {item.vendor} is forbidden": item.vendor in problem.policy.forbid_vendors,
        "not to be considered": decided and not named,
        f"lifecycle is {item.lifecycle}": old,
        "no price": bought > 0 and not part and item.id not in basis.inputs.prices,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
