"""An edited workbook, read back: each edit found, the plan it describes, the best one in its place.

Edits are found against the workbook as planner writes it of the plan that the file carries. Edits
of inputs go into the problem; anything else is refused.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from openpyxl.utils import coordinate_to_tuple
from openpyxl.workbook import Workbook

from planner.api import Options, solve_with
from planner.case import Case, resolve, with_companions
from planner.case.items import Offer
from planner.case.job import Mode
from planner.case.model import Limits
from planner.case.ways import ways_in_plan
from planner.errors import Finding, InputError, VerificationError
from planner.files import NO_VALUE, open_xlsx, reading
from planner.inputs import Inputs, changed, inputs_from_text
from planner.limits import COUNTED_IN, named, path_of
from planner.optimizer import Certificate
from planner.optimizer.bill import bill
from planner.optimizer.objective import measure
from planner.optimizer.operate import Run, run_at
from planner.paths import job_path
from planner.plan import assemble
from planner.report.edition import in_currency
from planner.schema.analysis import Audit, Edit
from planner.schema.catalog import Item
from planner.schema.job import FailureRate, FixedInterval
from planner.schema.operation import JobPlan
from planner.schema.plan import Plan
from planner.schema.prices import Discount, Price
from planner.schema.problem import Extra, Pue
from planner.shipped import __version__
from planner.verifier import faults, recheck
from planner.verifier.basis import Findings
from planner.workbook import BASIS, performance, quote, unpack, write
from planner.workbook.book import Book, Input, Place
from planner.workbook.formulas import Scalar, spelled

_MOST_FINDINGS, _CLOSE = 8, 1e-9
_UNDO = "undo it; only the yellow cells may be edited"
_BY_SOLVE = "give the PROBLEM.xlsx that planner solve writes"
_TYPED: Mapping[str, Any] = {"date": "0000", "source": "workbook", "confidence": "low"}

OfferT = TypeVar("OfferT", bound=Offer)


class NothingRunsError(ValueError):
    """The edited purchase cannot run the job at all; the text says why."""


def audit(path: Path, options: Options | None = None, *, solve_again: bool = True) -> Audit:
    """Read an edited workbook back and compare it with the solved and with the best plan.

    Args:
        path: the workbook.
        options: how to solve again under the edited inputs.
        solve_again: whether to; without, edited inputs have no best plan to compare with.

    Raises:
        InputError: planner did not write the file, or more than its inputs was edited.
        VerificationError: a figure disagrees with its independent re-computation.
    """
    with reading(str(path)):
        opened = _read(path)
        found, added = _find_edits(opened)
    solved, best = opened.plan, None
    sheet = _sheet(opened, {entry.place: after for entry, after in found})
    edits = tuple(_in_usd(entry, after, solved.shown_in.usd) for entry, after in found)
    draft = _draft(opened, edits, sheet)
    if all(_is_decision(edit, solved.jobs[0]) for edit in edits):
        best = solved
    elif solve_again:
        best = solve_with(draft.inputs, options or Options())
    begun = Audit(
        workbook=opened.name,
        problem=solved.problem,
        edits=edits,
        solved=solved,
        edited=solved,
        best=best if best is not None and best.jobs else None,
        added_sheets=added,
        reason=best.message if best is not None and not best.jobs else None,
    )
    return _judged(begun, opened, draft, sheet)


# The file: its formulas, the values it last showed, and the plan that it carries.


class _Opened(NamedTuple):
    name: str
    cells: Workbook
    shown: Workbook
    plan: Plan
    inputs: Inputs
    created: datetime


def _read(path: Path) -> _Opened:
    """A workbook that planner wrote; raises InputError for any other."""
    name, without = str(path), "verify a copy without what was added to it"

    def refuse(message: str, fix: str = _BY_SOLVE, kind: str = "workbook") -> InputError:
        return InputError(Finding(kind, message, name, fix=fix))

    cells = open_xlsx(path, without=without)
    if BASIS not in cells.sheetnames:
        if {quote.NAME, performance.NAME} <= {*cells.sheetnames}:
            message = "an edition for the outside carries no plan, or its sheet 'Basis' was removed"
            raise refuse(message, "give the internal edition")
        raise refuse("planner did not write this workbook as that of a plan")
    texts = [cell.value for cell in _filled(cells[BASIS]) if cell.column == 2]
    chunks = [t for t in texts if isinstance(t, str) and len(t) > 100 and " " not in t]
    try:
        plan, text, created = unpack("".join(chunks))
    except ValueError:
        message = "the plan it carries was changed or cut off, or another version wrote it"
        raise refuse(message) from None
    if (tool := plan.provenance.tool) != (here := f"planner {__version__}"):
        message, fix = f"written by {tool}, this is {here}", "use that version or solve again"
        raise refuse(message, fix, "version")
    inputs = inputs_from_text(text)
    if not plan.jobs:
        raise refuse("it holds no plan, only the reason why there is none")
    if wrong := faults(inputs, plan):
        message = f"the plan it carries does not hold: {wrong[0]}"
        raise refuse(message, "solve the problem again", "verify")
    shown = open_xlsx(path, without=without, shown=True)
    return _Opened(name, cells, shown, plan, inputs, created)


def _filled(sheet: Any) -> list[Any]:
    """The cells that hold something; empty ones with a format may lie anywhere."""
    return [cell for _, cell in sorted(sheet._cells.items()) if cell.value not in (None, "")]


def _sheet(opened: _Opened, typed: Mapping[Place, Scalar] | None = None) -> Book:
    """The workbook as planner writes it, with values typed into its cells."""
    return write(opened.plan, io.BytesIO(), created=opened.created, typed=typed, keep=True)


# Differences from the workbook as written.

Found = tuple[Input, float | str | None]
"""An input, and what its cell holds now."""


def _find_edits(opened: _Opened) -> tuple[list[Found], tuple[str, ...]]:
    """The edits of inputs, and the sheets that were added; raises InputError for other changes."""
    written, there = _sheet(opened), opened.cells.sheetnames
    sheets = sorted({sheet for sheet, _ in written.cells})
    for each in sheets:
        if each not in there:
            gone = Finding("sheet", "the sheet is gone", opened.name, path=each, fix="undo it")
            raise InputError(gone)
    findings = [f for each in sheets if each != BASIS for f in _fixed(opened, written, each)]
    edits: list[Found] = []
    for entry in written.inputs:
        try:
            after = _cell_value(opened, entry)
        except ValueError as error:
            place, fix = "!".join(entry.place), f"write {entry.of.allowed.expected}"
            message = f"{entry.of.label}: {error}"
            findings.append(Finding("input-cell", message, opened.name, path=place, fix=fix))
        else:
            edits += [] if spelled(entry.value) == spelled(after) else [(entry, after)]
    if len(findings) > _MOST_FINDINGS:  # one slip can touch thousands of cells
        more = f"and {len(findings) - _MOST_FINDINGS:,} more cells that were changed"
        findings[_MOST_FINDINGS:] = [Finding("edited-cell", more, opened.name, fix=_UNDO)]
    if findings:
        raise InputError(findings)
    return edits, tuple(each for each in there if each not in {*sheets, BASIS})


def _cell_value(opened: _Opened, entry: Input) -> float | str | None:
    """Value in the cell of an input; raises ValueError where it is not allowed."""
    sheet, place = entry.place
    cell = opened.cells[sheet][place]
    value = cell.value
    if cell.data_type == "f":
        value = opened.shown[sheet][place].value
        if value in (None, "", NO_VALUE):
            raise ValueError(f"holds the formula {_short(cell.value)}, which was never computed")
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float, str))):
        raise ValueError(f"holds {str(value)[:40]}, which is no number")
    after = (value.strip() or None) if isinstance(value, str) else value
    if spelled(entry.value) != spelled(after) and not entry.of.allowed.takes(after):
        raise ValueError("is blank" if after is None else f"holds {_short(after)}")
    return float(after) if isinstance(after, int) else after


def _fixed(opened: _Opened, written: Book, sheet: str) -> Iterator[Finding]:
    """Yield the cells of a sheet, inputs apart, that hold something else than was written."""
    opens = {entry.place for entry in written.inputs} | written.free
    there = {cell.coordinate: cell.value for cell in _filled(opened.cells[sheet])}
    ours = {cell: held for (name, cell), held in written.cells.items() if name == sheet}
    rows, columns = zip(*map(coordinate_to_tuple, ours), strict=True)
    for place in sorted({*there, *ours}, key=coordinate_to_tuple):
        row, column = coordinate_to_tuple(place)
        if (sheet, place) in opens or row > max(rows) or column > max(columns):
            continue
        if (wrong := _changed(ours.get(place), there.get(place))) is not None:
            at = f"{sheet}!{place}"
            yield Finding("edited-cell", wrong, opened.name, path=at, fix=_UNDO)


def _changed(before: Scalar, after: Any) -> str | None:
    """The fault of a locked cell; None without one."""
    if spelled(before) == spelled(after):
        return None
    formula = isinstance(before, str) and before.startswith("=")
    held = f"held {'the formula ' * formula}{_short(before)}"
    now = "is blank" if after in (None, "") else f"holds {_short(after)}"
    return f"{'was empty' if before is None else held}, now {now}"


def _short(value: Any) -> str:
    if isinstance(value, (int, float)):
        return f"{value:,.12g}"
    text = " ".join(str(getattr(value, "text", value)).split())
    return f"'{text[:40]}…'" if len(text) > 40 else f"'{text}'"


def _in_usd(entry: Input, after: float | str | None, rate: float) -> Edit:
    """An edit with its amounts in USD; a workbook has them in the currency it shows."""
    paid = rate if "USD" in entry.of.unit else 1.0

    def amount(value: Scalar) -> float | str | None:
        if isinstance(value, str) or value is None:
            return value
        return float(f"{value * paid:.15g}") if paid != 1.0 else float(value)

    meaning = {name: value for name, value in entry.of._asdict().items() if name != "allowed"}
    place = dict(zip(("sheet", "cell"), entry.place, strict=True))
    values = {"before": amount(entry.value), "after": amount(after)}
    return Edit.model_validate(meaning | place | values)


# Edits laid over the problem.


@dataclass
class Draft:
    """The inputs with edits, and decisions of the edited workbook.

    ``quantities`` are the units in place by catalog id, companions included, ``gpus`` those in use,
    None for as many as planned; ``hot`` systems of a type are not used by the job.
    """

    inputs: Inputs
    plan: Plan
    quantities: dict[str, int]
    gpus: int | None = None
    interval_s: float = 0.0
    hot: dict[str, int] = field(default_factory=dict)

    def working(self, sku: str) -> int:
        """Units of an item in the cluster: all but owned ones that stay idle."""
        idle = next((line.idle for line in self.plan.lines if line.sku == sku and line.idle), 0)
        return max(0, self.quantities.get(sku, 0) - idle)

    def set(self, path: str, value: Any) -> None:
        """Put a value, in its canonical unit, in the problem's path."""
        self.inputs = changed(self.inputs, path, value)

    def set_price(self, sku: str, list_usd: float) -> None:
        """Set the list price of an item; its other terms stay."""
        price = self.inputs.prices.get(sku)
        if price is None:
            price = Price.model_construct(list_usd=list_usd, **_TYPED)
        else:
            cleared = {"low_usd": None, "high_usd": None, "parts": (), "note": None}
            price = price.model_copy(update={"list_usd": list_usd, **_TYPED, **cleared})
        self.inputs = replace(self.inputs, prices={**self.inputs.prices, sku: price})

    def set_discount(self, sku: str, share: float) -> None:
        """Set the discount of an item, whatever else applies to it."""
        others = tuple(each for each in self.inputs.discounts if each.item != sku)
        own = Discount.model_construct(discount=share, item=sku, vendor=None, category=None)
        self.inputs = replace(self.inputs, discounts=(*others, own))


def _draft(opened: _Opened, edits: Sequence[Edit], sheet: Book) -> Draft:
    """The problem with the edits, amounts in USD; raises InputError where one does not fit."""
    plan, job = opened.plan, opened.plan.jobs[0]
    inputs = [entry for entry in sheet.inputs if entry.of.kind == "quantity"]
    counts = {entry.of.key: round(entry.cell.number) for entry in inputs}
    draft = Draft(opened.inputs, plan, counts, interval_s=job.interval_s)
    types = [line for line in plan.lines if line.parent is None and line.sku in job.gpu_types]
    draft.hot = {line.sku: line.working - job.systems_by_type.get(line.sku, 0) for line in types}
    draft.gpus = round(sheet.names["gpus_used"].number)
    for edit in edits:
        if edit.kind == "limit":
            _set_limit(draft, edit)
        elif isinstance(edit.after, float) and edit.kind in _SETTERS:
            _SETTERS[edit.kind](draft, edit.key, edit.after)
    own: dict[int, dict[str, Any]] = {}
    for edit in (each for each in edits if each.kind == "own_line"):
        _, number, part = edit.key.split("|")
        own.setdefault(int(number), {})[part] = edit.after
    findings = []
    for line, parts in sorted(own.items()):
        try:
            _add_line(draft, line, parts)
        except ValueError as error:
            message = f"own line {line}: {error}"
            findings.append(Finding("input-cell", message, opened.name, path=quote.NAME))
    if findings:
        raise InputError(findings)
    return draft


def _set_limit(draft: Draft, edit: Edit) -> None:
    """Set a limit of the problem, in the limit's unit; a blank one removes it."""
    name, value = edit.key, edit.after
    row, path, group, sku = named(name), path_of(name), *name.partition(".")[::2]
    if isinstance(value, float):
        value = round(value) if row.file_unit in COUNTED_IN else value
    draft.set(path, 1.0 if value is None and group == "split" else value)
    if name == "facility_power":  # the limit by the feeds is the same
        draft.set("site.feeds", None)
    if value is None and group == "stock" and sku in draft.inputs.prices:
        draft.set(f"prices.{sku}.stock", None)


_PATHS = {
    "checkpoint_gb": job_path("checkpoint.size"),
    "async_stall_s": job_path("checkpoint.stall"),
    "drain_slowdown": job_path("checkpoint.drain_slowdown"),
    "restart_s": job_path("restore.restart"),
    "lost_time": job_path("lost_time"),
    "repair.hardware_share": job_path("repair.share"),
    "repair.swap_s": job_path("repair.swap"),
    "delivered_fraction_write": "storage.delivered_fraction.write",
    "delivered_fraction_read": "storage.delivered_fraction.read",
    "fill_limit": "storage.fill_limit",
    "mfu": job_path("training.mfu"),
    "tokens_trillion": job_path("training.tokens"),
    "active_parameters_billion": job_path("training.active_parameters"),
    "max_overlap": job_path("checkpoint.max_overlap"),
    "max_blocking": job_path("checkpoint.max_blocking"),
    "max_restore_s": job_path("restore.max_time"),
    "pue": "site.pue",
    "pue_liquid": "site.pue.liquid",
    "electricity_usd_per_kwh": "term.electricity",
    "years": "term.years",
    "discount_rate": "term.discount_rate",
    "colocation_usd_per_kw_month": "term.colocation",
}
"""Paths of the inputs in the problem, by key."""
_SCALES = {"tokens_trillion": 1e12, "active_parameters_billion": 1e9}


def _set_figure(draft: Draft, key: str, value: float) -> None:
    """Set a figure of the job, the site or the term; equivalent figures of the file are removed."""
    problem, planned = draft.inputs.problem, draft.plan.jobs[0]
    job = problem.job
    if key.startswith("hot_spares."):
        draft.hot[key.removeprefix("hot_spares.")] = round(value)
        repair = planned.repair
        if repair and repair.unit == "system" and not (repair.decided or repair.in_rack):
            draft.set(job_path("repair.spares"), sum(draft.hot.values()))
    elif key == "interval_s":
        draft.interval_s = value
        if job.checkpoint.interval.policy != "optimal":
            fixed = FixedInterval.model_construct(policy="fixed", every_s=value)
            draft.set(job_path("checkpoint.interval"), fixed)
    elif key == "failures_per_gpu_day":
        rate = FailureRate.model_construct(per_gpu_day=value, shares=job.failure_shares)
        draft.set(job_path("failures"), rate)
    else:
        _set_path(draft, key, value)


def _set_path(draft: Draft, key: str, value: float) -> None:
    problem, planned = draft.inputs.problem, draft.plan.jobs[0]
    job = problem.job
    path = _PATHS[key]
    if key == "mfu" and job.training.model is not None:  # rates by type, measured
        path = job_path("training.rate_factor")
        value *= job.training.rate_factor / (planned.mfu or 1.0)
    if key == "pue" and isinstance(problem.site.pue, Pue):
        path = "site.pue.air"
    draft.set(path, value * _SCALES[key] if key in _SCALES else value)
    if key == "checkpoint_gb" and planned.bytes_per_parameter is not None:
        draft.set(job_path("bytes_per_parameter"), planned.bytes_per_parameter)


_SETTERS: dict[str, Callable[[Draft, str, float], None]] = {
    "unit_list": Draft.set_price,
    "discount": Draft.set_discount,
    "figure": _set_figure,
}
"""By the kind of an edit; quantities are read from the sheet."""


def _add_line(draft: Draft, number: int, parts: Mapping[str, Any]) -> None:
    """Add an own line to the problem, as a service that is counted once."""
    count, price, model = (parts.get(name) for name in ("quantity", "unit_list", "model"))
    if count == 0 or (price is None and count is None and "discount" not in parts):
        return
    if model is None:
        raise ValueError("it has no description; say what it is")
    if price is None:
        raise ValueError("it has no price; give one, 0 for nothing")
    sku, count = f"own_line_{number}", 1 if count is None else round(count)
    rest: dict[str, Any] = {"category": "service", "description": "added", "part_number": None}
    item = Item(id=sku, vendor="not named", model=model, **rest)
    draft.inputs = replace(draft.inputs, items=(*draft.inputs.items, item))
    draft.set(f"extras.{sku}", Extra(count=count))
    draft.set_price(sku, price)
    draft.set(f"items.{sku}.spares", 0.0)
    draft.set_discount(sku, parts.get("discount") or 0.0)
    draft.quantities[sku] = count


# The plan that the edited workbook describes, computed and verified again.


def _case_of(draft: Draft) -> Case:
    """The case of the edited inputs without limits on sums, fabrics as large as counts need.

    What comes too late may not be bought any more, yet the edited bill buys it: a broken limit.
    """
    inputs = changed(draft.inputs, "targets.max_lead_time", None)
    case = resolve(inputs)
    chosen = {item.id for item in inputs.items if item.category in ("gpu_system", "storage")}

    def fixed(offers: tuple[OfferT, ...]) -> tuple[OfferT, ...]:
        kept = [offer for offer in offers if offer.id in chosen or offer.installed > 0]
        counts = [draft.working(offer.id) for offer in kept]
        return tuple(replace(o, low=n, high=n) for o, n in zip(kept, counts, strict=True))

    limits = Limits(dict.fromkeys(case.limits))
    systems, storage = fixed(case.systems), fixed(case.storage)
    larger = replace(case, limits=limits, systems=systems, storage=storage)
    return replace(case, companions=with_companions(inputs, larger).companions)


def evaluate_draft(draft: Draft) -> tuple[Plan, Findings]:
    """The edited plan with the companions it needs, and which limits it breaks.

    Raises:
        NothingRunsError: without progress there is no plan to compute.
        VerificationError: a figure disagrees with its independent re-computation.
    """
    case = _case_of(draft)
    operation = _operation(case, draft)
    value = measure(case, case.objective)(operation)
    answer = Certificate("feasible", operation, value)
    made, gap = draft.plan.provenance, draft.plan.objective.gap_asked
    plan = assemble(draft.inputs, case, answer, solver=made.solver, gap=gap)
    plan = plan.model_copy(update={"provenance": made})
    found = recheck(draft.inputs, plan)
    if found.disagreements:
        raise VerificationError(found.disagreements)
    return plan, found


def _operation(case: Case, draft: Draft) -> Run:
    units = {offer.id: draft.working(offer.id) for offer in case.offers()}
    _check_units(case, units)
    ways, job = ways_in_plan(case, draft.plan), draft.plan.jobs[0]
    gpus = job.gpus_used if draft.gpus is None else draft.gpus
    used = {s.id: units[s.id] for s in case.systems if s.id in job.gpu_types and units[s.id]}
    if len(job.gpu_types) == 1 and used:
        way = next(s for s in case.systems if s.id in used).way(ways)
        used = dict.fromkeys(used, max(0, way.systems_for(gpus)))
    else:
        used = {sku: count - draft.hot.get(sku, 0) for sku, count in used.items()}
    used = {sku: count for sku, count in used.items() if count > 0}
    running = case.in_use(used, ways)
    if gpus <= 0 or not running:
        raise NothingRunsError("no GPUs are in use")
    most = sum(way.most_gpus(used[system.id]) for system, way in running)
    if gpus > most:
        raise NothingRunsError(f"{gpus:,} GPUs in use, and the systems hold {most:,} of the job")
    every = 1 if job.local is None else job.local.every
    mode: Mode = "sync" if job.mode == "sync" else "async" if job.local is None else "local"
    operation = run_at(case, mode, units, used, gpus, draft.interval_s, ways, every)
    try:
        bill(case, units, ways)
    except ValueError as error:  # a fabric larger than three tiers can be
        raise NothingRunsError(str(error)) from None
    if operation is None:
        reason = "no storage bandwidth, or stalls that fill the interval"
        raise NothingRunsError(f"the job makes no progress: {reason}")
    return operation


def _check_units(case: Case, units: Mapping[str, int]) -> None:
    """Raise where a count cannot be: without a price, of no use."""
    for offer in case.unusable:
        if units[offer.id]:
            raise NothingRunsError(f"more of {offer.id} than is installed, and nothing may use it")
    for offer in case.offers():
        if offer.unit_net_usd is None and offer.purchased(units[offer.id]):
            lacks = f"the price of {offer.id} is not known and more of it is bought"
            raise NothingRunsError(f"{lacks}: fill in its price")


# The verdict: limits broken, counts that lack, figures that are stale, distance from the best.


def _is_decision(edit: Edit, job: JobPlan) -> bool:
    """True if the best plan stays the same: the planner decides the edited value."""
    if edit.key == "interval_s":
        return job.interval_policy == "optimal"
    if edit.key.startswith("hot_spares."):
        return job.repair is None or job.spares_move
    return edit.kind == "quantity"


def _judged(found: Audit, opened: _Opened, draft: Draft, sheet: Book) -> Audit:
    """Re-compute the edited plan and compare it."""
    try:
        edited, checked = evaluate_draft(draft)
    except NothingRunsError as error:
        return found.model_copy(update={"edited": None, "reason": str(error)})
    needed = {line.sku: line.quantity for line in edited.lines if line.parent is None}
    listed = draft.quantities
    counts = {sku: (listed.get(sku, 0), needed.get(sku, 0)) for sku in (*listed, *needed)}
    lacking = {sku: (there, all_) for sku, (there, all_) in counts.items() if there != all_}
    broken = {name for name, _ in checked.breaches}
    remarks = [text for name, text in checked.breaches if name == "jobs.interval_s"]
    return found.model_copy(
        update={
            "edited": edited,
            "breaches": tuple(each for each in edited.limits if each.name in broken),
            "remarks": tuple(_LONG.sub(lambda n: f"{float(n[0]):.6g}", text) for text in remarks),
            "shortages": lacking,
            "stale": dict(_stale(opened, sheet, edited, whole=not lacking)),
            "shortfall": None if found.best is None else _shortfall(edited, found.best),
        }
    )


_LONG = re.compile(r"\d+\.\d{3,}")


def _stale(
    opened: _Opened, sheet: Book, edited: Plan, *, whole: bool
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield figures that the file shows otherwise than they are: stale, or as planned.

    Args:
        whole: whether the workbook lists the counts that the edited cluster needs, so that totals
            compare.
    """
    stated = in_currency(edited)
    totals = stated.totals if whole else None
    for name, (place, cell) in sheet.places.items():
        computed = getattr(stated.jobs[0], name, getattr(totals, name, None))
        shown = opened.shown[place][cell].value
        if not isinstance(shown, (int, float)) or not isinstance(computed, (int, float)):
            continue
        if not math.isclose(shown, computed, rel_tol=_CLOSE, abs_tol=1e-12):
            yield name, (float(shown), float(computed))


def _shortfall(edited: Plan, best: Plan) -> float | None:
    """The loss of the edited plan, as a share of the best objective."""
    value, most = edited.objective.value, best.objective.value
    if value is None or not most:
        return None
    return (most - value) / abs(most) * (1.0 if best.objective.sense == "maximize" else -1.0)
