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
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from openpyxl.formula import Tokenizer
from openpyxl.formula.tokenizer import Token
from openpyxl.utils import coordinate_to_tuple
from openpyxl.workbook import Workbook
from pydantic import ValidationError

from planner.api import Options, solve_with
from planner.case import Case, resolve, with_companions
from planner.case.items import Offer
from planner.case.job import Mode
from planner.case.model import Limits
from planner.case.ways import ways_in_plan
from planner.errors import Finding, InputError, VerificationError
from planner.inputs import Inputs, changed, inputs_from_text
from planner.limits import COUNTED_IN, named, path_of
from planner.optimizer.bill import bill
from planner.optimizer.objective import measure
from planner.optimizer.operate import Run, run_at
from planner.optimizer.optimise import Certificate
from planner.paths import job_path
from planner.plan import assemble
from planner.report import plan_json
from planner.report.edition import restated
from planner.schema.catalog import Item
from planner.schema.explanation import Audit, Edit, Shortage, Stale, breaches_of
from planner.schema.job import FailureRate, FixedInterval
from planner.schema.operation import JobPlan
from planner.schema.plan import Plan
from planner.schema.prices import AS_LISTED, Discount, Price
from planner.schema.problem import Extra, Pue, Quantity
from planner.untrusted_workbooks import NO_VALUE, open_xlsx, reading
from planner.verifier import Recheck, faults, recheck
from planner.version import __version__
from planner.workbook import basis, performance, quote, write
from planner.workbook.book import Book, Input, Place
from planner.workbook.live import Scalar

_MOST_FINDINGS, _CLOSE, _MOST_YEARS = 8, 1e-9, 50.0
_FIRST_ONLY = "undo it; only the yellow cells may be edited"
_BY_SOLVE = "give the PROBLEM.xlsx that planner solve writes"
_TYPED: Mapping[str, Any] = {"date": "0000", "source": "workbook", "confidence": "low"}


OfferT = TypeVar("OfferT", bound=Offer)


class EditError(ValueError):
    """An edit that does not fit the problem; the text says what would be right."""


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
        solved = opened.plan
        edits, added = _find_edits(opened)
    sheet = _sheet(opened, {(edit.sheet, edit.cell): edit.after for edit in edits})
    edits = _in_usd(edits, solved)
    entries = [entry for entry in sheet.inputs if entry.of.kind == "quantity"]
    counts = {e.of.key: round(sheet.at[e.sheet, e.cell].number) for e in entries}
    draft = _draft(opened, edits, counts)
    draft.gpus = round(sheet.names["gpus_used"].number)
    best: Plan | None = solved
    if not all(_is_decision(edit, solved.jobs[0]) for edit in edits):
        best = solve_with(draft.inputs, options or Options()) if solve_again else None
    found = Audit(
        workbook=opened.name,
        problem=solved.problem,
        edits=edits,
        solved=solved,
        edited=solved,
        best=best if best is not None and best.jobs else None,
        added_sheets=added,
        reason=best.message if best is not None and not best.jobs else None,
    )
    return _judged(found, opened, draft, sheet)


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
    cells = open_xlsx(path, without=without)
    if basis.NAME not in cells.sheetnames:
        raise InputError(_not_ours(name, cells))
    texts = [cell.value for cell in _filled(cells[basis.NAME]) if cell.column == 2]
    chunks = [t for t in texts if isinstance(t, str) and len(t) > 100 and " " not in t]
    try:
        found = basis.unpack("".join(chunks))
        plan = plan_json.from_bytes(found.plan.encode())
    except basis.UnreadableError as error:
        raise InputError(_broken(name, f"the plan it carries cannot be read: {error}")) from None
    except ValidationError:
        raise InputError(_broken(name, "what it carries is no plan")) from None
    if found.tool != (here := f"planner {__version__}"):
        message, fix = f"written by {found.tool}, this is {here}", "use that version or solve again"
        raise InputError(Finding("version", message, name, fix=fix))
    inputs = inputs_from_text(found.inputs)
    if not plan.jobs:
        raise InputError(_broken(name, "it holds no plan, only the reason why there is none"))
    if wrong := faults(inputs, plan):
        message = f"the plan it carries does not hold: {wrong[0]}"
        raise InputError(Finding("verify", message, name, fix="solve the problem again"))
    shown = open_xlsx(path, without=without, shown=True)
    return _Opened(name, cells, shown, plan, inputs, found.created)


def _broken(name: str, message: str) -> Finding:
    return Finding("workbook", message, name, path=basis.NAME, fix=_BY_SOLVE)


def _not_ours(name: str, cells: Workbook) -> Finding:
    if quote.NAME in cells.sheetnames and performance.NAME in cells.sheetnames:
        message = "an edition for the outside carries no plan, or its sheet 'Basis' was removed"
        return Finding("workbook", message, name, fix="give the internal edition")
    if {"About", "BOM", "Checkpoint"} <= set(cells.sheetnames):
        message = "an earlier version of planner wrote this workbook"
        return Finding("version", message, name, fix="solve the problem again")
    message = "planner did not write this workbook as that of a plan"
    return Finding("workbook", message, name, fix=_BY_SOLVE)


def _filled(sheet: Any) -> list[Any]:
    """The cells that hold something; empty ones with a format may lie anywhere."""
    cells = [cell for cell in sheet._cells.values() if cell.value not in (None, "")]
    return sorted(cells, key=lambda cell: (cell.row, cell.column))


def _sheet(opened: _Opened, typed: Mapping[Place, Scalar] | None = None) -> Book:
    """The workbook as planner writes it, with values typed into its cells."""
    return write(opened.plan, io.BytesIO(), created=opened.created, typed=typed, keep=True)


# Differences from the workbook as written.


def _find_edits(opened: _Opened) -> tuple[tuple[Edit, ...], tuple[str, ...]]:
    """The edits of inputs, and the sheets that were added; raises InputError for other changes."""
    written, there = _sheet(opened), opened.cells.sheetnames
    sheets = sorted({sheet for sheet, _ in written.cells})
    found = [
        Finding("sheet", "the sheet is gone", opened.name, path=each, fix="undo it")
        for each in sheets
        if each not in there
    ]
    if found:
        raise InputError(found)
    found = [f for sheet in sheets if sheet != basis.NAME for f in _fixed(opened, written, sheet)]
    edits: list[Edit] = []
    for entry in written.inputs:
        try:
            edits += _edit(opened, entry)
        except ValueError as error:
            place, fix = f"{entry.sheet}!{entry.cell}", f"write {entry.allowed.expected}"
            message = f"{entry.of.label}: {error}"
            found.append(Finding("input-cell", message, opened.name, path=place, fix=fix))
    if len(found) > _MOST_FINDINGS:  # one slip can touch thousands of cells
        more = f"and {len(found) - _MOST_FINDINGS:,} more cells that were changed"
        more_ = Finding("edited-cell", more, opened.name, fix=_FIRST_ONLY)
        found = [*found[:_MOST_FINDINGS], more_]
    if found:
        raise InputError(found)
    return tuple(edits), tuple(each for each in there if each not in {*sheets, basis.NAME})


def _edit(opened: _Opened, entry: Input) -> Iterator[Edit]:
    """Yield the edit of an input; raise ValueError where it holds what it cannot hold."""
    cell = opened.cells[entry.sheet][entry.cell]
    value = cell.value
    if cell.data_type == "f":
        value = opened.shown[entry.sheet][entry.cell].value
        if value in (None, "", NO_VALUE):
            raise ValueError(f"holds the formula {_short(cell.value)}, which was never computed")
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float, str))):
        raise ValueError(f"holds {str(value)[:40]}, which is no number")
    after: float | str | None = value.strip() or None if isinstance(value, str) else value
    after = float(after) if isinstance(after, (int, float)) else after
    if entry.of.kind is None or _alike(entry.value, after):
        return
    if not entry.allowed.takes(after):
        shown = f"'{after[:40]}'" if isinstance(after, str) else f"{after or 0:,.12g}"
        raise ValueError("is blank" if after is None else f"holds {shown}")
    yield entry.edit(after)


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=0.0)
    return bool((one or None) == (other or None)) if 0 not in (one, other) else bool(one == other)


def _fixed(opened: _Opened, written: Book, sheet: str) -> Iterator[Finding]:
    """Yield the cells of a sheet, inputs apart, that hold something else than was written."""
    opens = {(entry.sheet, entry.cell) for entry in written.inputs} | written.free
    there = {cell.coordinate: cell.value for cell in _filled(opened.cells[sheet])}
    ours = {cell: held for (name, cell), held in written.cells.items() if name == sheet}
    rows, columns = zip(*map(coordinate_to_tuple, ours), strict=True)
    for place in sorted({*there, *ours}, key=coordinate_to_tuple):
        row, column = coordinate_to_tuple(place)
        if (sheet, place) in opens or row > max(rows) or column > max(columns):
            continue
        if (wrong := _changed(ours.get(place), there.get(place))) is not None:
            at = f"{sheet}!{place}"
            yield Finding("edited-cell", wrong, opened.name, path=at, fix=_FIRST_ONLY)


def _changed(before: Scalar, after: Any) -> str | None:
    """The fault of a locked cell; None without one."""
    now = "is blank" if after in (None, "") else f"holds {_short(after)}"
    if isinstance(before, str) and before.startswith("="):
        same = _same_formula(before, str(getattr(after, "text", after)))
        return None if same else f"held the formula {_short(before)}, now {now}"
    one, other = (
        text.replace("\r\n", "\n").strip() if isinstance(text, str) else text
        for text in (before, after)
    )
    if _alike(one, other):
        return None
    return f"was empty, now {now}" if before is None else f"held {_short(before)}, now {now}"


def _short(value: Any) -> str:
    text = " ".join(str(getattr(value, "text", value)).split())
    return f"'{text[:40]}…'" if len(text) > 40 else f"'{text}'"


_QUOTED = re.compile(r"^'([A-Za-z_][A-Za-z0-9_.]*)'!")


def _same_formula(one: str, other: str) -> bool:
    """Whether two formulas are the same token by token.

    Spreadsheet programs change spaces, the spelling of numbers and functions, and quotes around the
    names of sheets when they save a file.
    """
    if one == other:
        return True
    try:
        return other.startswith("=") and _tokens(one) == _tokens(other)
    except Exception:  # no formula, such as =cmd|'/C calc'!A0: the tokenizer fails in many ways
        return False


def _tokens(formula: str) -> list[str]:
    return [_spelled(token) for token in Tokenizer(formula).items if token.type != Token.WSPACE]


def _spelled(token: Token) -> str:
    value = str(token.value)
    if token.type != Token.OPERAND:
        return value.upper().removeprefix("_XLFN.")
    if token.subtype == Token.NUMBER:
        return f"{float(value):.15g}"
    if token.subtype == Token.TEXT:
        return value
    return _QUOTED.sub(r"\1!", value).removeprefix("$").lower()


def _in_usd(edits: Sequence[Edit], plan: Plan) -> tuple[Edit, ...]:
    """Edits with their amounts in USD; a workbook has them in the currency it shows."""
    rate = plan.shown_in.usd

    def amount(value: float | str | None) -> float | str | None:
        return float(f"{value * rate:.15g}") if isinstance(value, float) else value

    return tuple(
        edit.model_copy(update={"before": amount(edit.before), "after": amount(edit.after)})
        if "USD" in edit.unit and rate != 1.0
        else edit
        for edit in edits
    )


# Edits laid over the problem.


@dataclass
class Draft:
    """The inputs with edits, and what the edited workbook decides itself.

    ``quantities`` are the units in place by catalog id, companions included, ``gpus`` those in use,
    None for as many as planned; ``hot`` systems of a type are not used by the job. ``own`` are the
    entries of open lines.
    """

    inputs: Inputs
    plan: Plan
    quantities: dict[str, int]
    gpus: int | None = None
    interval_s: float = 0.0
    hot: dict[str, int] = field(default_factory=dict)
    own: dict[int, dict[str, float | str | None]] = field(default_factory=dict)

    def working(self, sku: str) -> int:
        """Units of an item in the cluster: all but owned ones that stay idle."""
        idle = next((line.idle for line in self.plan.lines if line.sku == sku and line.idle), 0)
        return max(0, self.quantities.get(sku, 0) - idle)

    def set(self, path: str, value: Any) -> None:
        """Put a value, in its canonical unit, in the problem's path."""
        self.inputs = changed(self.inputs, path, value)

    def change_problem(self, **changes: Any) -> None:
        """Replace fields of the problem."""
        self.inputs = replace(self.inputs, problem=self.inputs.problem.model_copy(update=changes))

    def change_job(self, **changes: Any) -> None:
        """Replace fields of the job."""
        self.change_problem(jobs=(self.inputs.problem.job.model_copy(update=changes),))

    def change_checkpoint(self, **changes: Any) -> None:
        """Replace fields of the job's checkpoint."""
        self.change_job(checkpoint=self.inputs.problem.job.checkpoint.model_copy(update=changes))

    def change_item(self, sku: str, **changes: Any) -> None:
        """Replace the rule of an item's count."""
        rule = self.inputs.problem.items.get(sku, Quantity()).model_copy(update=changes)
        self.change_problem(items={**self.inputs.problem.items, sku: rule})

    def set_price(self, sku: str, price: Price) -> None:
        """Set the price of an item."""
        self.inputs = replace(self.inputs, prices={**self.inputs.prices, sku: price})

    def set_discount(self, sku: str, share: float) -> None:
        """Set the discount of an item, whatever else applies to it."""
        others = tuple(each for each in self.inputs.discounts if each.item != sku)
        own = Discount.model_construct(discount=share, item=sku, vendor=None, category=None)
        self.inputs = replace(self.inputs, discounts=(*others, own))


def _draft(opened: _Opened, edits: Sequence[Edit], quantities: dict[str, int]) -> Draft:
    """The problem with the edits, amounts in USD; raises InputError where one does not fit."""
    plan, job = opened.plan, opened.plan.jobs[0]
    draft = Draft(opened.inputs, plan, quantities, interval_s=job.interval_s)
    types = [line for line in plan.lines if line.parent is None and line.sku in job.gpu_types]
    draft.hot = {line.sku: line.working - job.systems_by_type.get(line.sku, 0) for line in types}
    steps: list[tuple[str, str, Callable[[], None]]] = [
        (f"{edit.sheet}!{edit.cell}", f"{edit.label}: ", partial(_apply, draft, edit))
        for edit in edits
    ]
    steps.append(("Quote", "", partial(_finish_own, draft)))
    findings = []
    for place, label, step in steps:
        try:
            step()
        except EditError as error:
            findings.append(Finding("input-cell", f"{label}{error}", opened.name, path=place))
    if findings:
        raise InputError(findings)
    return draft


def _apply(draft: Draft, edit: Edit) -> None:
    value = edit.after
    if edit.kind == "own_line":
        _, number, part = edit.key.split("|")
        draft.own.setdefault(int(number), {})[part] = value
        return
    assert not isinstance(value, str)
    if edit.kind == "limit":
        large = value is not None and edit.unit == "MW"
        _set_limit(draft, edit.key, 1000.0 * (value or 0.0) if large else value)
    elif value is None:
        raise EditError("is blank")
    elif edit.kind == "figure":
        _set_figure(draft, edit.key, value)
    elif edit.kind == "unit_list":
        draft.set_price(edit.key, _priced(draft.inputs.prices.get(edit.key), value))
    elif edit.kind == "discount":
        draft.set_discount(edit.key, value)
    else:
        draft.quantities[edit.key] = round(value)


def _priced(price: Price | None, list_usd: float) -> Price:
    """A price that was typed into the workbook; what comes with the price stays."""
    if price is None:
        return Price.model_construct(list_usd=list_usd, **_TYPED)
    cleared = {"low_usd": None, "high_usd": None, "parts": (), "note": None}
    return price.model_copy(update={"list_usd": list_usd, **_TYPED, **cleared})


def _set_limit(draft: Draft, name: str, value: float | None) -> None:
    """Set a limit of the problem, in the limit's unit; None removes it."""
    row = named(name)
    if not row.editable:
        raise EditError("this limit follows from a product or a rule and is no input")
    path, group, sku = path_of(name), *name.partition(".")[::2]
    if value is not None and row.file_unit in COUNTED_IN:
        value = round(value)
    draft.set(path, 1.0 if value is None and group == "split" else value)
    if name == "facility_power":  # what the feeds leave is the same limit
        draft.change_problem(site=draft.inputs.problem.site.model_copy(update={"feeds": None}))
    if value is None and row.name == "items.*.min":
        draft.set(path.removesuffix("min") + "required", False)
    price = draft.inputs.prices.get(sku)
    if value is None and group == "stock" and price is not None:
        draft.set_price(sku, price.model_copy(update={"stock": None}))


# What each figure of the sheets means in the problem.

_PATHS: dict[str, tuple[str, float]] = {
    "async_stall_s": (job_path("checkpoint.stall"), 1.0),
    "drain_slowdown": (job_path("checkpoint.drain_slowdown"), 1.0),
    "delivered_fraction_write": ("storage.delivered_fraction.write", 1.0),
    "delivered_fraction_read": ("storage.delivered_fraction.read", 1.0),
    "fill_limit": ("storage.fill_limit", 1.0),
    "mfu": (job_path("training.mfu"), 1.0),
    "tokens_trillion": (job_path("training.tokens"), 1e12),
    "active_parameters_billion": (job_path("training.active_parameters"), 1e9),
    "max_overlap": (job_path("checkpoint.max_overlap"), 1.0),
    "max_blocking": (job_path("checkpoint.max_blocking"), 1.0),
    "max_restore_s": (job_path("restore.max_time"), 1.0),
    "electricity_usd_per_kwh": ("term.electricity", 1.0),
    "years": ("term.years", 1.0),
    "discount_rate": ("term.discount_rate", 1.0),
    "colocation_usd_per_kw_month": ("term.colocation", 1.0),
}
"""By the key of the input: its path in the problem, and how many of its unit one is."""


def _set_figure(draft: Draft, key: str, value: float) -> None:
    if key.startswith("hot_spares."):
        draft.hot[key.removeprefix("hot_spares.")] = round(value)
        _hot_spares(draft)
    elif key in _PATHS:
        path, scale = _PATHS[key]
        draft.set(path, value * scale if scale != 1.0 else value)
    else:
        _SETTERS[key](draft, value)


def _hot_spares(draft: Draft) -> None:
    """Set the hot spares, where the problem gives their number."""
    asked, planned = draft.inputs.problem.job.repair, draft.plan.jobs[0].repair
    if asked is None or planned is None or planned.decided or planned.in_rack:
        return
    if planned.unit == "system":
        draft.change_job(repair=asked.model_copy(update={"spares": sum(draft.hot.values())}))


def _checkpoint(draft: Draft, value: float) -> None:
    """Set the size; its bytes per parameter stay, from which the problem would derive it."""
    draft.change_checkpoint(size_gb=value)
    if draft.plan.jobs[0].bytes_per_parameter is not None:
        draft.change_job(bytes_per_parameter=draft.plan.jobs[0].bytes_per_parameter)


def _interval(draft: Draft, value: float) -> None:
    """Set the interval; where the problem does not leave it to the planner, in the problem too."""
    draft.interval_s = value
    if draft.inputs.problem.job.checkpoint.interval.policy != "optimal":
        fixed = FixedInterval.model_construct(policy="fixed", every_s=value)
        draft.change_checkpoint(interval=fixed)


def _failures(draft: Draft, value: float) -> None:
    shares = draft.inputs.problem.job.failure_shares
    draft.change_job(failures=FailureRate.model_construct(per_gpu_day=value, shares=shares))


def _restart(draft: Draft, value: float) -> None:
    """Set the restart from storage, where the problem has it."""
    remote = draft.inputs.problem.job.restart.remote_s is not None
    draft.set(job_path("restart.remote" if remote else "restore.restart"), value)


def _lost_time(draft: Draft, value: float) -> None:
    draft.change_job(lost_time=value)


def _repair(name: str, draft: Draft, value: float) -> None:
    """Set a figure of repairs; classes become one share and one time."""
    asked, stated = draft.inputs.problem.job.repair, draft.plan.jobs[0].repair
    if asked is None or stated is None:
        return
    one: dict[str, Any] = {"share": stated.hardware_share, "time_s": stated.repair_s}
    if asked.share is not None:
        one = {"share": asked.share, "time_s": asked.time_s}
    draft.change_job(repair=asked.model_copy(update={**one, "classes": (), name: value}))


def _pue(side: str, draft: Draft, value: float) -> None:
    site = draft.inputs.problem.site
    if isinstance(site.pue, Pue):
        draft.change_problem(
            site=site.model_copy(update={"pue": site.pue.model_copy(update={side: value})})
        )
    elif side == "liquid":
        raise EditError("the problem has one PUE")
    else:
        draft.change_problem(site=site.model_copy(update={"pue": value}))


_SETTERS: dict[str, Callable[[Draft, float], None]] = {
    "checkpoint_gb": _checkpoint,
    "interval_s": _interval,
    "failures_per_gpu_day": _failures,
    "restart_s": _restart,
    "lost_time": _lost_time,
    "hardware_share": partial(_repair, "share"),
    "swap_s": partial(_repair, "swap_s"),
    "pue": partial(_pue, "air"),
    "pue_liquid": partial(_pue, "liquid"),
}


def _finish_own(draft: Draft) -> None:
    """Add the lines of one's own to the problem, as services that are counted once."""
    for number, parts in sorted(draft.own.items()):
        quantity, model, price = (parts.get(key) for key in ("quantity", "model", "unit_list"))
        if quantity == 0 or (price is None and quantity is None and parts.get("discount") is None):
            continue
        if model is None:
            raise EditError(f"own line {number}: it has no description; say what it is")
        if price is None:
            raise EditError(f"own line {number}: it has no price; give one, 0 for nothing")
        count = 1 if quantity is None else round(float(quantity))
        sku = f"own_line_{number}"
        item = Item(
            id=sku,
            vendor="not named",
            model=str(model),
            part_number=None,
            category="service",
            description="added to the bill",
        )
        draft.inputs = replace(draft.inputs, items=(*draft.inputs.items, item))
        draft.change_problem(extras={**draft.inputs.problem.extras, sku: Extra(count=count)})
        draft.set_price(sku, Price.model_construct(list_usd=float(price), **_TYPED))
        draft.change_item(sku, spares=0.0, support_level=AS_LISTED, support_years=_MOST_YEARS)
        draft.set_discount(sku, float(parts.get("discount") or 0.0))
        draft.quantities[sku] = count


# The plan that the edited workbook describes, computed and verified again.


def _case_of(draft: Draft) -> Case:
    """The case of the edited inputs, with fabrics as large as the edited counts need."""
    # What comes too late may not be bought any more, yet the edited bill buys it: a broken limit.
    targets = draft.inputs.problem.targets.model_copy(update={"max_lead_time_days": None})
    inputs = replace(
        draft.inputs, problem=draft.inputs.problem.model_copy(update={"targets": targets})
    )
    chosen = (item.id for item in inputs.items if item.category in ("gpu_system", "storage"))
    return _enlarged(inputs, {sku: draft.working(sku) for sku in chosen})


def _enlarged(inputs: Inputs, counts: Mapping[str, int]) -> Case:
    """A case without limits on sums, its fabrics as large as counts of an edited plan need."""
    case = resolve(inputs)

    def fixed(offers: tuple[OfferT, ...]) -> tuple[OfferT, ...]:
        return tuple(
            replace(offer, low=counts.get(offer.id, 0), high=counts.get(offer.id, 0))
            for offer in offers
            if offer.id in counts or offer.installed > 0
        )

    limits = Limits.from_values({})
    systems, storage = fixed(case.systems), fixed(case.storage)
    larger = replace(case, limits=limits, systems=systems, storage=storage)
    return replace(case, companions=with_companions(inputs, larger).companions)


def evaluate_draft(draft: Draft) -> tuple[Plan, Recheck]:
    """The edited plan with the companions it needs, and which limits it breaks.

    Raises:
        NothingRunsError: without progress there is no plan to compute.
        VerificationError: a figure disagrees with its independent re-computation.
    """
    case = _case_of(draft)
    operation = _operation(case, draft)
    value = measure(case, case.objective)(operation)
    answer = Certificate("feasible", operation, value, None, None, 0, 0.0, False)
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
    used = _used(case, draft, units, gpus)
    running = case.in_use(used, ways)
    if gpus <= 0 or not running:
        raise NothingRunsError("no GPUs are in use")
    most = sum(way.most_gpus(used[system.id]) for system, way in running)
    if gpus > most:
        raise NothingRunsError(f"{gpus:,} GPUs in use, and the systems hold {most:,} of the job")
    every = 1 if job.local is None else job.local.every
    mode: Mode = "sync" if job.mode == "sync" else "async" if job.local is None else "local"
    repair = case.job.repair
    if repair is not None and repair.spares is not None and len(running) == 1:
        system, way = running[0]
        short = -repair.standing_by(way.spare_unit, units[system.id], gpus)
        if short > 0:
            asked = f"{repair.spares:,} hot spares are asked for"
            raise NothingRunsError(f"{asked}, and the GPUs in use leave {repair.spares - short:,}")
    operation = run_at(case, mode, units, used, gpus, draft.interval_s, ways, every)
    try:
        bill(case, units, ways)
    except ValueError as error:  # a fabric larger than three tiers can be
        raise NothingRunsError(str(error)) from None
    if operation is None:
        reason = "the job makes no progress: no storage bandwidth, or stalls fill the interval"
        raise NothingRunsError(reason)
    return operation


def _used(case: Case, draft: Draft, units: Mapping[str, int], gpus: int) -> dict[str, int]:
    """The systems in use by type."""
    types = [s for s in case.systems if s.id in draft.plan.jobs[0].gpu_types and units[s.id]]
    if not types:
        raise NothingRunsError("no GPU system of a type that the job uses is left")
    if len(draft.plan.jobs[0].gpu_types) == 1:
        way = types[0].way(ways_in_plan(case, draft.plan))
        return {types[0].id: max(0, way.systems_for(gpus))}
    used = {s.id: max(0, units[s.id] - draft.hot.get(s.id, 0)) for s in types}
    return {sku: count for sku, count in used.items() if count}


def _check_units(case: Case, units: Mapping[str, int]) -> None:
    """Raise where a count cannot be: outside known sizes, without a price, of no use."""
    for item in case.storage:
        count = units[item.id]
        if count and item.segments:
            low, high = item.segments[0].low, item.segments[-1].high
            if not low <= count <= high:
                known = f"the bandwidth of {item.id} is known for {low} to {high} units"
                raise NothingRunsError(f"{known}, not {count}")
    for offer in case.standing:
        if units[offer.id]:
            raise NothingRunsError(f"more of {offer.id} than is installed, and nothing may use it")
    for offer in case.offers():
        if offer.unit_net_usd is None and offer.purchased(units[offer.id]):
            lacks = f"the price of {offer.id} is not known and more of it is bought"
            raise NothingRunsError(f"{lacks}: fill in its price")


# The verdict: limits broken, counts that lack, figures that are stale, distance from the best.


def _is_decision(edit: Edit, job: JobPlan) -> bool:
    """Whether the best plan stays the same: the planner decides what was edited."""
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
    models = {item.id: item.model for item in draft.inputs.items}
    needed = {line.sku: line.quantity for line in edited.lines if line.parent is None}
    listed = draft.quantities
    lacking = tuple(
        Shortage(sku=sku, model=models[sku], listed=listed.get(sku, 0), needed=needed.get(sku, 0))
        for sku in dict.fromkeys((*listed, *needed))
        if listed.get(sku, 0) != needed.get(sku, 0)
    )
    remarks = [text for name, text in checked.breaches if name == "jobs.interval_s"]
    return found.model_copy(
        update={
            "edited": edited,
            "breaches": breaches_of(edited.limits, {name for name, _ in checked.breaches}),
            "remarks": tuple(_LONG.sub(lambda n: f"{float(n[0]):.6g}", text) for text in remarks),
            "shortages": lacking,
            "sheet_capex_usd": sheet.names["bill_amount"].number * found.solved.shown_in.usd,
            "stale": tuple(_stale(opened, sheet, edited, whole=not lacking)),
            "shortfall": None if found.best is None else _shortfall(edited, found.best),
        }
    )


_LONG = re.compile(r"\d+\.\d{3,}")
_JOB_FIGURES = (
    "gpus_used",
    "drain_s",
    "overlap",
    "restore_s",
    "mtti_s",
    "goodput",
    "useful_gpus",
    "useful_pflops",
    "days_to_train",
    "capacity_needed_tb",
)
_SUMS = (
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


def _stale(opened: _Opened, sheet: Book, edited: Plan, *, whole: bool) -> Iterator[Stale]:
    """Yield figures that the file shows otherwise than they are: stale, or as planned.

    Args:
        whole: whether the workbook lists the counts that the edited cluster needs, so that totals
            compare.
    """
    stated = restated(edited)
    expected = {name: getattr(stated.jobs[0], name) for name in _JOB_FIGURES}
    if whole and stated.totals is not None:
        expected |= {name: getattr(stated.totals, name) for name in _SUMS}
    for name, computed in expected.items():
        if name not in sheet.places or computed is None:
            continue
        place, cell = sheet.places[name]
        shown = opened.shown[place][cell].value
        if isinstance(shown, (int, float)) and not math.isclose(
            shown, computed, rel_tol=_CLOSE, abs_tol=1e-12
        ):
            yield Stale(name=name, shown=float(shown), computed=float(computed))


def _shortfall(edited: Plan, best: Plan) -> float | None:
    """The loss of the edited plan, as a share of the best objective."""
    value, most = edited.objective.value, best.objective.value
    if value is None or not most:
        return None
    return (most - value) / abs(most) * (1.0 if best.objective.sense == "maximize" else -1.0)
