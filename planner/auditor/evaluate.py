"""The plan that an edited workbook describes, re-computed, against its bill and what it shows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from openpyxl.workbook import Workbook

from planner.assemble import assemble
from planner.assemble.ways import enlarged
from planner.auditor.draft import Draft
from planner.auditor.reader import Opened
from planner.case import Case
from planner.case.chosen import ways_of
from planner.case.model import Mode, Way
from planner.errors import VerificationError
from planner.optimizer.joint import Certificate
from planner.optimizer.objective import measure
from planner.optimizer.operate import Run, Running, run_at
from planner.optimizer.purchase import bill
from planner.outputs import scope
from planner.outputs.restated import restated
from planner.outputs.workbook import recalculated
from planner.outputs.workbook.book import RATE
from planner.outputs.workbook.cells import InputCell
from planner.outputs.workbook.fingerprint import live_of
from planner.schema.beside import SHARED_RACKS
from planner.schema.plan import Plan
from planner.schema.verification import Edit, Shortage, Stale
from planner.verify import Recheck, recheck

# The bill as the workbook lists it, against what the edited cluster needs.


@dataclass(frozen=True)
class Listed:
    """What the edited workbook lists, worked out from its formulas whatever the file shows.

    Units in place and cold spares by catalog id, the racks that several lines share, what the bill
    comes to.
    """

    quantities: Mapping[str, int]
    spares: Mapping[str, int]
    shared_racks: int
    capex_usd: float

    @classmethod
    def of(
        cls, opened: Opened, plan: Plan, edits: Sequence[Edit], cells: Sequence[InputCell]
    ) -> Listed:
        """Return what a workbook lists.

        Args:
            plan: the plan that it was made from.
        """
        typed = {(edit.sheet, edit.cell): edit.after for edit in edits}
        packed = opened.packed
        book = recalculated(plan, typed, created=packed.created, live=live_of(packed))

        def counts(kind: str) -> dict[str, int]:
            shown = ((cell.key, book.value_of(cell)) for cell in cells if cell.kind == kind)
            return {key: round(count) for key, count in shown if isinstance(count, float)}

        return cls(
            quantities=counts("quantity"),
            spares=counts("spares"),
            shared_racks=round(book.number("bom_shared_racks") or 0.0),
            capex_usd=(book.number("bom_capex_usd") or 0.0) * (book.number(RATE) or 1.0),
        )


def shortages(draft: Draft, edited: Plan, sheet: Listed) -> tuple[Shortage, ...]:
    """Return the lines whose count in the workbook is not what the edited cluster needs.

    Args:
        edited: the edited plan with the companions it needs.
        sheet: what the workbook lists.
    """
    needed = {line.sku: line.quantity for line in edited.lines if line.parent is None}
    models = {item.id: item.model for item in draft.inputs.items}
    pairs = {
        sku: (models[sku], draft.quantities.get(sku, 0), needed.get(sku, 0))
        for sku in dict.fromkeys((*draft.quantities, *needed))
    }
    shared = scope.shared_racks(edited)
    pairs[SHARED_RACKS] = "racks that several lines share", sheet.shared_racks, shared
    return tuple(
        Shortage(sku=sku, model=model, listed=listed, needed=count)
        for sku, (model, listed, count) in pairs.items()
        if listed != count
    )


# The plan that an edited workbook describes, re-computed and re-verified.


class NothingRunsError(ValueError):
    """The edited purchase cannot run the job at all; the text says why."""


def evaluate(draft: Draft, case: Case) -> tuple[Plan, Recheck]:
    """Return the edited plan with the companions it needs, and which limits it breaks.

    Args:
        draft: the inputs with edits, and what the workbook decides.

    Raises:
        NothingRunsError: without progress there is no plan to compute.
        VerificationError: a figure disagrees with its independent re-computation.
    """
    operation = _operation(case, draft)
    value = measure(case, case.objective)(operation)
    answer = Certificate("feasible", operation, value, None, None, 0, 0.0, False)
    solved = draft.plan
    plan = assemble(
        draft.inputs, case, answer, solver=solved.provenance.solver, gap=solved.objective.gap_asked
    )
    plan = plan.model_copy(update={"provenance": solved.provenance})
    found = recheck(draft.inputs, plan)
    if found.disagreements:
        raise VerificationError(found.disagreements)
    return plan, found


def case_of(draft: Draft) -> Case:
    """Return the case of the edited inputs, with fabrics as large as the edited counts need.

    Fabrics are worked out only as far as the limits let a plan grow, and an edit may go further.
    """
    # What comes too late may not be bought any more, yet the edited bill buys it: a broken limit.
    targets = draft.problem.targets.model_copy(update={"max_lead_time_days": None})
    problem = draft.problem.model_copy(update={"targets": targets})
    inputs = replace(draft.inputs, problem=problem)
    chosen = (item.id for item in inputs.items if item.category in ("gpu_system", "storage"))
    return enlarged(inputs, {sku: draft.working(sku) for sku in chosen})


def _operation(case: Case, draft: Draft) -> Run:
    units = {offer.id: draft.working(offer.id) for offer in case.offers()}
    _check_sizes(case, units)
    for offer in case.standing:
        if units[offer.id]:
            raise NothingRunsError(f"more of {offer.id} than is installed, and nothing may use it")
    ways = draft.way_ids or ways_of(case, draft.plan)
    used = _used(case, draft, units, ways)
    running = case.in_use(used, ways)
    gpus = sum(way.most_gpus(used[s.id]) for s, way in running)
    if len(running) == 1:
        ((system, way),) = running
        gpus = draft.most_gpus(way, units[system.id])
        _check_spares(case, way, units[system.id], gpus)
    _check_whole(case, running, used, gpus)
    local = draft.plan.jobs[0].local
    mode: Mode = "sync" if draft.mode == "sync" else "async"
    if mode == "async" and local is not None:
        mode = "local"
    every = 1 if local is None else local.every
    operation = run_at(case, mode, units, used, gpus, draft.interval_s, ways, every)
    _check_prices(case, units)
    try:
        bill(case, units, ways)
    except ValueError as error:  # a fabric larger than three tiers can be
        raise NothingRunsError(str(error)) from None
    if operation is None:
        reason = "the job makes no progress: no storage bandwidth, or stalls fill the interval"
        raise NothingRunsError(reason)
    return operation


def _check_whole(case: Case, running: Running, used: Mapping[str, int], gpus: int) -> None:
    """Raise where the GPUs in use are no whole systems, or no whole replicas if that is asked."""
    if gpus <= 0:
        raise NothingRunsError("no GPUs are in use")
    replica = running[0][1].replica_gpus
    if case.job.whole_replicas and replica is not None:
        if gpus % replica:
            raise NothingRunsError(f"idle GPUs must leave whole replicas of {replica} GPUs")
    elif gpus != sum(way.usable_gpus * used[s.id] for s, way in running):
        raise NothingRunsError("idle GPUs must leave whole systems")


def _check_spares(case: Case, way: Way, systems: int, gpus: int) -> None:
    """Raise where fewer units stand by than the problem asks for."""
    repair = case.job.repair
    if repair is None or repair.spares is None or gpus <= 0:
        return
    short = -repair.standing_by(way.spare_unit, systems, gpus)
    if short > 0:
        asked = f"{repair.spares:,} spares are to stand by"
        raise NothingRunsError(f"{asked}, and the GPUs in use leave {repair.spares - short:,}")


def _check_sizes(case: Case, units: Mapping[str, int]) -> None:
    """Raise where a count lies outside the sizes that a product's bandwidth is known for."""
    for item in case.storage:
        count = units[item.id]
        if count and item.segments:
            low, high = item.segments[0].low, item.segments[-1].high
            if not low <= count <= high:
                raise NothingRunsError(
                    f"the bandwidth of {item.id} is known for {low} to {high} units, not {count}"
                )


def _check_prices(case: Case, units: Mapping[str, int]) -> None:
    """Raise where the edited bill buys something that has no price."""
    for offer in case.offers():
        if offer.unit_net_usd is None and offer.purchased(units[offer.id]):
            raise NothingRunsError(
                f"the price of {offer.id} is not known and more of it is bought: fill in its price"
            )


def _used(
    case: Case, draft: Draft, units: Mapping[str, int], way_ids: tuple[str, ...]
) -> dict[str, int]:
    """Return the systems in use by type: all but the idle ones.

    Where several types run the job, each keeps its idle systems of the solved plan, and a change of
    the idle GPUs goes to the type with most systems.
    """
    job = draft.job
    types = [s for s in case.systems if s.id in job.gpu_types and units[s.id]]
    if not types:
        raise NothingRunsError("no GPU system of a type that the job uses is left")
    if len(job.gpu_types) == 1:
        way = types[0].way(way_ids)
        gpus = draft.most_gpus(way, units[types[0].id])
        return {types[0].id: max(0, way.systems_for(gpus))}
    solved = {line.sku: line.working for line in draft.plan.lines}
    idle = {s.id: solved[s.id] - job.systems_by_type.get(s.id, 0) for s in types}
    largest = max(types, key=lambda s: (units[s.id], s.id))
    ways = {s.id: s.way(way_ids) for s in types}
    most = {s.id: ways[s.id].most_gpus(units[s.id]) for s in types}
    held = {s.id: ways[s.id].most_gpus(units[s.id] - idle[s.id]) for s in types}
    more = draft.gpus_idle - sum(most[s.id] - held[s.id] for s in types)
    step = ways[largest.id].step_gpus
    if more % step:
        raise NothingRunsError(f"idle GPUs must leave whole steps of {step} on {largest.id}")
    held[largest.id] -= more
    used = {s.id: max(0, ways[s.id].systems_for(held[s.id])) for s in types}
    return {sku: count for sku, count in used.items() if count}


# Figures that the file shows, against the re-computation: was it recalculated after the edit?


_OF_JOB = {
    "gpus_in_use": "gpus_used",
    "stall_s": "stall_s",
    "drain_s": "drain_s",
    "overlap": "overlap",
    "restore_s": "restore_s",
    "mtti_s": "mtti_s",
    "goodput": "goodput",
    "useful_gpus": "useful_gpus",
    "useful_pflops": "useful_pflops",
    "days_to_train": "days_to_train",
    "capacity_needed_tb": "capacity_needed_tb",
}
_OF_TOTALS = (
    "racks",
    "it_power_kw",
    "facility_power_kw",
    "usable_tb",
    "support_usd_per_year",
    "subscriptions_usd_per_year",
    "energy_usd_per_year",
    "opex_usd_per_year",
    "capex_usd",
    "tco_usd",
)
_CLOSE = 1e-9


def stale_figures(
    opened: Opened, written: Workbook, draft: Draft, edited: Plan, sheet: Listed
) -> tuple[Stale, ...]:
    """Return the figures that the file shows otherwise than they are.

    A file that holds no values (some tools drop them) shows none. Totals are compared only where
    the workbook lists what the edited cluster needs, cold spares included.

    Args:
        written: the same as planner writes it, whose names say where the figures are.
        draft: its quantities.
        edited: the plan as re-computed.
        sheet: what the workbook lists.
    """
    job = edited.jobs[0].model_dump()
    expected = {name: job[field] for name, field in _OF_JOB.items()}
    stored = {line.sku: line.spares for line in edited.lines if line.parent is None and line.spares}
    listed = {sku: count for sku, count in sheet.spares.items() if count}
    counted = not shortages(draft, edited, sheet)
    if edited.totals is not None and counted and stored == listed:
        stated = restated(edited).totals  # as the sheets have it
        totals = {} if stated is None else stated.model_dump()
        expected |= {name: totals[name] for name in _OF_TOTALS}
    found = []
    for name, computed in expected.items():
        shown = _number_in(opened, written, name)
        if shown is None or computed is None:
            continue
        if not math.isclose(shown, computed, rel_tol=_CLOSE, abs_tol=1e-12):
            found.append(Stale(name=name, shown=shown, computed=computed))
    return tuple(found)


def _number_in(opened: Opened, written: Workbook, name: str) -> float | None:
    defined = written.defined_names.get(name)
    if defined is None:
        return None
    sheet, cell = next(iter(defined.destinations))
    value = opened.shown.value(sheet, cell.replace("$", ""))
    return float(value) if isinstance(value, (int, float)) else None
