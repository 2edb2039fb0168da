"""The check of a plan file, and the audit of an edited workbook."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from planner.currency import Currency
from planner.figures import FIGURES
from planner.report.blocks import Block, Column, Facts, Heading, Table, Text, notes_block
from planner.report.restated import in_its_currency, restated
from planner.report.words import (
    COUNTED,
    breach_text,
    duration,
    gap,
    money,
    number,
    percent,
    quantity,
)
from planner.schema.explanation import Audit, Edit, Verification
from planner.schema.operation import JobPlan
from planner.schema.plan import Plan, Totals

_MOST_FINDINGS, _MOST_EDITS, _FIRST_EDITS = 10, 40, 8
_RESULTS = {"holds": "holds", "fails": "FAILS", "not_checked": "not checked"}
_MAIN = (
    "useful_pflops", "useful_gpus", "gpus_used", "storage_units", "goodput", "facility_power_kw",
    "capex_usd", "tco_usd",
)  # fmt: skip


def verification(found: Verification) -> list[Block]:
    """Return the checks of a plan as blocks."""
    left = sum(check.result == "not_checked" for check in found.checks)
    title = "the plan holds" if found.result == "holds" else "the plan DOES NOT HOLD"
    if left:
        title += f"; {left} of {len(found.checks)} checks could not be made"
    rows = tuple((each.name, f"{_RESULTS[each.result]}: {each.text}") for each in found.checks)
    blocks: list[Block] = [Heading(f"{found.problem}: {title}"), Facts(rows)]
    for check in found.checks:
        more = len(check.findings) - _MOST_FINDINGS
        texts = (*check.findings[:_MOST_FINDINGS], f"{more:,} more" if more > 0 else "")
        blocks.append(Text(texts, f"Findings: {check.name}", points=True))
    return blocks


def audit(found: Audit) -> list[Block]:
    """Return the audit of a workbook as blocks: verdict, edits, figures, what is stale."""
    title = Heading(f"{found.problem}  (audit of {found.workbook})")
    unread = f"sheets not read: {', '.join(found.added_sheets)}" if found.added_sheets else ""
    if found.edited is None:
        verdict = f"nothing to compare: {found.reason}"
        return [title, Facts((("Verdict", verdict),)), _edits(found), notes_block((unread,))]
    money_ = found.edited.shown_in
    facts = (
        ("Verdict", _standing(found, found.edited)),
        ("Changes", "; ".join(_changes(found, found.edited))),
        ("Broken", "; ".join(breach_text(restated(each, money_)) for each in found.breaches)),
        ("Edited", "" if found.edits else "nothing"),
    )
    short = [f"{each.model}: {each.listed:,} listed, {each.needed:,} needed"
             for each in found.shortages]  # fmt: skip
    stale = [f"{each.name}: {each.shown:,.9g} in the file, {each.computed:,.9g} computed"
             for each in found.stale]  # fmt: skip
    why = "approximate with several GPU types" if len(found.solved.jobs[0].gpu_types) > 1 else (
        "recalculate the workbook")  # fmt: skip
    return [
        title,
        Facts(facts),
        _edits(found),
        _figures(found),
        notes_block(short, "Counts the edited cluster needs"),
        notes_block(stale, f"Stale figures ({why})"),
        notes_block((unread, *(f"interval: {text}" for text in found.remarks))),
    ]


def _edits(found: Audit) -> Table:
    before = found.solved.shown_in
    after = (found.edited or found.solved).shown_in
    columns = (
        Column("cell", tuple(f"{e.sheet}!{e.cell}" for e in found.edits), words=True),
        Column("input", tuple(each.label for each in found.edits), words=True),
        Column("solved", tuple(_value(each, each.before, before) for each in found.edits)),
        Column("edited", tuple(_value(each, each.after, after) for each in found.edits)),
    )
    kept = tuple(range(_FIRST_EDITS))
    return Table("Edits", columns, most=_MOST_EDITS, first=_FIRST_EDITS, kept=kept, rows="edits")


def _value(edit: Edit, value: float | str | None, money_: Currency) -> str:
    """The value of a cell, amounts in the currency of its workbook."""
    if value is None:
        return "blank"
    if isinstance(value, str):
        return value
    if edit.unit == "share":
        return f"{100 * value:,.6g} %"
    if edit.unit in ("USD", "USD/year"):
        return quantity(money_.of(value), edit.unit)
    if "USD" in edit.unit and edit.unit != f"USD/{money_.code}":  # which is a rate of exchange
        return f"{money_.of(value):,.6g} {money_.named(edit.unit)}"
    unit = COUNTED.get(edit.unit, edit.unit) if value == 1 else edit.unit
    return f"{value:,.6g} {unit}".rstrip()


def _of_job(read: Callable[[JobPlan], str]) -> Callable[[Plan], str]:
    return lambda plan: read(plan.jobs[0]) if plan.jobs else "-"


def _of_totals(read: Callable[[Totals], str]) -> Callable[[Plan], str]:
    return lambda plan: read(plan.totals) if plan.totals is not None else "-"


def _storage(plan: Plan) -> str:
    units = [line.quantity for line in plan.lines if line.section == "Storage" and not line.parent]
    return number(sum(units))


_ROWS: dict[str, Callable[[Plan], str]] = {
    "useful_pflops": _of_job(lambda job: number(job.useful_pflops, 1)),
    "useful_gpus": _of_job(lambda job: number(job.useful_gpus, 1)),
    "gpus_used": _of_job(lambda job: number(job.gpus_used)),
    "storage_units": _storage,
    "goodput": _of_job(lambda job: percent(job.goodput, 2)),
    "facility_power_kw": _of_totals(lambda totals: number(totals.facility_power_kw, 1)),
    "capex_usd": _of_totals(lambda totals: money(totals.capex_usd)),
    "tco_usd": _of_totals(lambda totals: money(totals.tco_usd)),
    "interval_s": _of_job(lambda job: duration(job.interval_s)),
    "overlap": _of_job(lambda job: percent(job.overlap, 2)),
    "restore_s": _of_job(lambda job: duration(job.restore_s)),
    "days_to_train": _of_job(lambda job: number(job.days_to_train, 1)),
    "racks": _of_totals(lambda totals: number(totals.racks)),
    "opex_usd_per_year": _of_totals(lambda totals: money(totals.opex_usd_per_year)),
}
"""Figures to compare, by name; the first ones are on the first screen."""


def _figures(found: Audit) -> Table:
    """Return the figures of the solved, the edited and the best plan."""
    plans = [plan for plan in (found.solved, found.edited, found.best) if plan is not None]
    cells = {name: [in_its_currency(read)(plan) for plan in plans] for name, read in _ROWS.items()}
    cells = {name: texts for name, texts in cells.items() if {*texts} - {"-", "not known"}}
    shown = (found.edited or found.solved).shown_in
    labels = tuple(shown.named(FIGURES[name].title) for name in cells)
    columns = [Column("", labels, words=True, gives_way=True)]
    columns += [
        Column(head, tuple(texts[at] for texts in cells.values()))
        for at, head in enumerate(("solved", "edited", "best now")[: len(plans)])
    ]
    first = sum(name in _MAIN for name in cells)
    kept = tuple(range(first))
    return Table("Figures", tuple(columns), first=first, kept=kept, rows="figures")


def _changes(found: Audit, edited: Plan) -> Iterator[str]:
    """Yield changes of money, power and work, and the cost of the workbook's own counts."""
    shown, solved = edited.shown_in, restated(found.solved, edited.shown_in)
    edited = restated(edited)
    before, now = solved.totals, edited.totals
    if not found.edits or before is None or now is None:
        return
    work = (solved.jobs[0].useful_pflops, edited.jobs[0].useful_pflops)
    rows: tuple[tuple[str, Any, Any, Callable[[float], str], float], ...] = (
        ("capex_usd", before.capex_usd, now.capex_usd, money, 0.005),
        ("tco_usd", before.tco_usd, now.tco_usd, money, 0.005),
        ("facility_power_kw", before.facility_power_kw, now.facility_power_kw,
         lambda kw: quantity(kw, "kW"), 0.05),
        ("useful_pflops", *work, lambda rate: quantity(rate, "PFLOP/s"), 0.05),
    )  # fmt: skip
    texts = [
        f"{FIGURES[name].label} {'+' if new > old else '-'}{write(abs(new - old))}"
        for name, old, new, write, least in rows
        if old is not None and new is not None and abs(new - old) >= least
    ]
    yield ", ".join(texts) or "none in money, power and work"
    listed = None if found.sheet_capex_usd is None else shown.of(found.sheet_capex_usd)
    if now.capex_usd is not None and listed is not None and abs(listed - now.capex_usd) >= 0.005:
        yield (
            f"capex {money(listed)} with the counts listed, {money(now.capex_usd)} with the counts "
            "needed"
        )


def _standing(found: Audit, edited: Plan) -> str:
    """True if the edited plan keeps the limits, and its distance from the best."""
    goal, count = edited.objective, len(found.breaches)
    broken = "keeps every limit"
    if count:
        broken = f"breaks {count} limit{'s' if count > 1 else ''}"
    if found.best is None and found.reason is None:
        return f"{broken}; not compared with the best plan"
    if found.best is None:
        return f"{broken}; no plan keeps every limit under the edited inputs: {found.reason}"
    if found.shortfall is None:
        return broken
    proven = f"(proven within {gap(found.best.objective.gap)})"
    if abs(found.shortfall) <= max(found.best.objective.gap or 0.0, 1e-9):
        return f"{broken}, as good as the best plan {proven}"
    share = percent(abs(found.shortfall), 3)
    worse, better = ("less", "more") if goal.sense == "maximize" else ("more", "less")
    if found.shortfall > 0:
        return f"{broken}, {share} {worse} than the best plan {proven}"
    only = " by breaking limits" if count else ""
    return f"{broken}, {share} {better} than the best plan found{only} {proven}"
