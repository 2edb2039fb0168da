"""The check of a plan file, and the audit of an edited workbook."""

from __future__ import annotations

from collections.abc import Iterator

from planner.currency import Currency
from planner.figures import FIGURES
from planner.report.blocks import (
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    figures,
    notes_block,
    words,
)
from planner.report.restated import restated
from planner.report.words import (
    COUNTED,
    breach_text,
    changed_by,
    counted,
    gap,
    money,
    percent,
    quantity,
    write_figure,
)
from planner.schema.explanation import Audit, Edit, Verification
from planner.schema.plan import Plan

_MOST_FINDINGS, _MOST_EDITS, _FIRST_EDITS = 10, 40, 8
_RESULTS = {"holds": "holds", "fails": "FAILS", "not_checked": "not checked"}


def verification(found: Verification) -> list[Block]:
    """The checks of a plan as blocks."""
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
    """The audit of a workbook as blocks: verdict, edits, figures, stale figures."""
    title = Heading(f"{found.problem}  (audit of {found.workbook})")
    unread = f"sheets not read: {', '.join(found.added_sheets)}" if found.added_sheets else ""
    if found.edited is None:
        verdict = f"nothing to compare: {found.reason}"
        return [title, Facts((("Verdict", verdict),)), _edits(found), notes_block((unread,))]
    shown_in = found.edited.shown_in
    facts = (
        ("Verdict", _verdict(found, found.edited)),
        ("Changes", ", ".join(_changes(found, found.edited)) if found.edits else ""),
        ("Broken", "; ".join(breach_text(restated(each, shown_in)) for each in found.breaches)),
        ("Edited", "" if found.edits else "nothing"),
    )
    lacking = [
        f"{each.model}: {each.listed:,} listed, {each.needed:,} needed" for each in found.shortages
    ]
    stale = [
        f"{each.name}: {each.shown:,.9g} in the file, {each.computed:,.9g} computed"
        for each in found.stale
    ]
    several = len(found.solved.jobs[0].gpu_types) > 1
    why = "approximate with several GPU types" if several else "recalculate the workbook"
    return [
        title,
        Facts(facts),
        _edits(found),
        _figures(found),
        notes_block(lacking, "Counts the edited cluster needs"),
        notes_block(stale, f"Stale figures ({why})"),
        notes_block((unread, *(f"interval: {text}" for text in found.remarks))),
    ]


def _edits(found: Audit) -> Table:
    rows = found.edits
    before, after = found.solved.shown_in, (found.edited or found.solved).shown_in
    columns = (
        words("cell", (f"{each.sheet}!{each.cell}" for each in rows)),
        words("input", (each.label for each in rows)),
        figures("solved", (_value(each, each.before, before) for each in rows), str),
        figures("edited", (_value(each, each.after, after) for each in rows), str),
    )
    return Table("Edits", columns, most=_MOST_EDITS, first=_FIRST_EDITS, rows="edits")


def _value(edit: Edit, value: float | str | None, money_: Currency) -> str:
    """The value of a cell, amounts in the currency of its workbook."""
    if value is None or isinstance(value, str):
        return value or "blank"
    if edit.unit == "share":
        return f"{100 * value:,.6g} %"
    if edit.unit in ("USD", "USD/year"):
        return quantity(money_.of(value), edit.unit)
    if "USD" in edit.unit and edit.unit != f"USD/{money_.code}":  # which is a rate of exchange
        return f"{money_.of(value):,.6g} {money_.named(edit.unit)}"
    unit = COUNTED.get(edit.unit, edit.unit) if value == 1 else edit.unit
    return f"{value:,.6g} {unit}".rstrip()


_MAIN = (
    "useful_pflops",
    "useful_gpus",
    "gpus_used",
    "goodput",
    "facility_power_kw",
    "capex_usd",
    "tco_usd",
)
_ROWS = (
    *_MAIN,
    "interval_s",
    "overlap",
    "restore_s",
    "days_to_train",
    "racks",
    "opex_usd_per_year",
)
"""Figures to compare, by name; the main ones are on the first screen."""


def _figure(plan: Plan, name: str) -> float | None:
    """A figure of a plan's job or totals."""
    value = getattr(plan.jobs[0], name, None) if plan.jobs else None
    return getattr(plan.totals, name, None) if value is None else value


def _figures(found: Audit) -> Table:
    """The figures of the solved, the edited and the best plan."""
    plans = [restated(plan) for plan in (found.solved, found.edited, found.best) if plan]
    names = [name for name in _ROWS if any(_figure(plan, name) is not None for plan in plans)]
    shown = (found.edited or found.solved).shown_in
    columns = [words("figure", (shown.named(FIGURES[name].title) for name in names))]
    for head, plan in zip(("solved", "edited", "best now"), plans, strict=False):
        texts = (write_figure(_figure(plan, name), FIGURES[name].unit) for name in names)
        columns.append(Column(head, tuple(texts)))
    return Table("Figures", tuple(columns), first=len(_MAIN), rows="figures")


def _changes(found: Audit, edited: Plan) -> Iterator[str]:
    """Yield changes of work, power and money, and the cost of the workbook's own counts."""
    shown, solved = edited.shown_in, restated(found.solved, edited.shown_in)
    edited, texts = restated(edited), []
    for name in ("useful_pflops", "facility_power_kw", "capex_usd", "tco_usd"):
        before, now, unit = _figure(solved, name), _figure(edited, name), FIGURES[name].unit
        least = 0.005 if "USD" in unit else 0.05
        if before is not None and now is not None and abs(now - before) >= least:
            text = changed_by(now - before, unit) + ("" if "USD" in unit else f" {unit}")
            texts.append(f"{FIGURES[name].label} {text}")
    yield from texts or ["none in money, power and work"]
    needed = _figure(edited, "capex_usd")
    listed = None if found.sheet_capex_usd is None else shown.of(found.sheet_capex_usd)
    if needed is not None and listed is not None and abs(listed - needed) >= 0.005:
        yield f"capex {money(listed)} with the counts listed, {money(needed)} with those needed"


def _verdict(found: Audit, edited: Plan) -> str:
    """Limits that the edited plan breaks, and its distance from the best."""
    goal, count, best = edited.objective, len(found.breaches), found.best
    broken = f"breaks {counted(count, 'limit')}" if count else "keeps every limit"
    if best is None and found.reason is None:
        return f"{broken}; not compared with the best plan"
    if best is None:
        return f"{broken}; no plan keeps every limit under the edited inputs: {found.reason}"
    if found.shortfall is None:
        return broken
    proven = f"(proven within {gap(best.objective.gap)})"
    if abs(found.shortfall) <= max(best.objective.gap or 0.0, 1e-9):
        return f"{broken}, as good as the best plan {proven}"
    share = percent(abs(found.shortfall), 3)
    worse, better = ("less", "more") if goal.sense == "maximize" else ("more", "less")
    if found.shortfall > 0:
        return f"{broken}, {share} {worse} than the best plan {proven}"
    only = " by breaking limits" if count else ""
    return f"{broken}, {share} {better} than the best plan found{only} {proven}"
