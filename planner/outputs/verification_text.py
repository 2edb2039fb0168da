"""What a plan file, or an edited workbook, was found to be worth: checks, edits, what they do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from planner.currency import Currency
from planner.figures import FIGURES
from planner.outputs.blocks import Column, FirstScreen, Table, aligned, join_parts, printable
from planner.outputs.restated import in_its_currency, restated
from planner.outputs.words import (
    COUNTED,
    INDENT,
    breach_text,
    duration,
    fitted,
    gap,
    money,
    number,
    percent,
    quantity,
    wrapped,
)
from planner.schema.plan import Plan
from planner.schema.verification import Audit, Check, Edit, Verification

_MOST_FINDINGS = 10
_RESULTS = {"holds": "holds", "fails": "FAILS", "not_checked": "not checked"}

_MOST_EDITS, _LABEL = 40, 46


def render_verification(found: Verification) -> str:
    """Return the screen: the result, then what was checked, each with its findings."""
    lines = list(_title(found))
    for check in found.checks:
        lines += _lines(check)
    return printable("\n".join(lines))


def _title(found: Verification) -> Iterator[str]:
    left = sum(check.result == "not_checked" for check in found.checks)
    text = "the plan holds" if found.result == "holds" else "the plan DOES NOT HOLD"
    if left:
        text += f"; {left} of {len(found.checks)} checks could not be made"
    yield f"{found.problem}: {text}"


def _lines(check: Check) -> Iterator[str]:
    head = f"{check.name:<9} {_RESULTS[check.result]:<12}"
    yield from wrapped(check.text, f"{INDENT}{head}", INDENT + " " * len(head))
    for finding in check.findings[:_MOST_FINDINGS]:
        yield from wrapped(finding, f"{INDENT * 2}- ", INDENT * 3)
    more = len(check.findings) - _MOST_FINDINGS
    if more > 0:
        yield f"{INDENT * 2}- and {more:,} more"


def render_audit(audit: Audit) -> str:
    """Return the whole screen."""
    parts = [
        _heading(audit),
        _edits(audit),
        _figures(audit),
        _broken(audit),
        _shortages(audit),
        _stale(audit),
        "\n".join(line for text in _verdict(audit) for line in wrapped(text, "", INDENT)),
    ]
    return join_parts(parts)


_PROVEN = re.compile(r" \(proven within [^)]*\)")
_FIRST_EDITS = 8
_TOLD_FIRST = (
    "useful_pflops", "useful_gpus", "gpus_used", "storage_units", "goodput", "facility_power_kw",
    "capex_usd", "tco_usd",
)  # fmt: skip


def first_audit(audit: Audit) -> FirstScreen:
    """Return what one page says: whether the edited plan keeps its limits, what it costs."""
    if audit.edited is None:
        return FirstScreen(entire=True)
    *money_said, standing = [text for text in _verdict(audit) if "Not read:" not in text]
    before, after = _currencies(audit)
    edits = [
        f"{edit.sheet}!{edit.cell} {edit.label}: {_value(edit, edit.before, before)} -> "
        f"{_value(edit, edit.after, after)}"
        for edit in audit.edits[:_FIRST_EDITS]
    ]
    left = len(audit.edits) - len(edits)
    edits += [f"{left:,} more"] if left > 0 else []
    proven = _PROVEN.search(standing)
    answer = [
        ("Verdict", _PROVEN.sub("", standing)),
        ("Changes", " ".join(money_said)),
        ("Broken", "; ".join(_breaches(audit))),
        ("Edited", "; ".join(edits) or "Nothing was edited."),
    ]
    short = [f"{each.model}: {each.listed:,} listed, {each.needed:,} needed"
             for each in audit.shortages]  # fmt: skip
    stale = [f"{each.name}: the file shows {each.shown:,.9g}, it is {each.computed:,.9g}"
             for each in audit.stale]  # fmt: skip
    unread = [text for text in _verdict(audit) if "Not read:" in text]
    return FirstScreen(
        _heading(audit),
        tuple(answer),
        below=(_main_figures(audit),),
        notes=(*unread, *short, *stale),
        proof=(f"the best plan is {proven[0].strip(' ()')}",) if proven else (),
        full="every figure, every edit",
    )


def _main_figures(audit: Audit) -> Table:
    """Return the main figures of the solved, the edited and the best plan."""
    plans = [plan for plan in (audit.solved, audit.edited, audit.best) if plan is not None]
    heads = ("solved", "edited", "best now")
    rows = {name: read for name, read in _ROWS if name in _TOLD_FIRST}
    cells_of = {
        name: [in_its_currency(read)(plan) for plan in plans] for name, read in rows.items()
    }
    cells_of = {name: cells for name, cells in cells_of.items() if set(cells) - {"-", "not known"}}
    money = _currencies(audit)[1]
    labels = Column(
        "", tuple(money.named(FIGURES[name].title) for name in cells_of), words=True, gives_way=True
    )
    columns = [
        Column(head, tuple(cells[at] for cells in cells_of.values()))
        for at, head in enumerate(heads[: len(plans)])
    ]
    return Table("Main figures", (labels, *columns))


def _breaches(audit: Audit) -> list[str]:
    money = _currencies(audit)[1]
    return [breach_text(restated(each, money)) for each in audit.breaches]


def _heading(audit: Audit) -> str:
    return f"{audit.problem}  (audit of {audit.workbook})"


def _edits(audit: Audit) -> str:
    if not audit.edits:
        return "Nothing was edited."
    before, after = _currencies(audit)
    rows = [
        (f"{edit.sheet}!{edit.cell}", edit.label, f"{_value(edit, edit.before, before)} -> "
         f"{_value(edit, edit.after, after)}")
        for edit in audit.edits[:_MOST_EDITS]
    ]  # fmt: skip
    more = len(audit.edits) - len(rows)
    lines = _aligned(rows)
    if more:
        lines.append(f"{INDENT}and {more:,} more")
    return "\n".join(["Edited", *lines])


def _aligned(rows: list[tuple[str, str, str]]) -> list[str]:
    return aligned([(a, fitted(b, _LABEL), c) for a, b, c in rows], left=(0, 1, 2))


def _currencies(audit: Audit) -> tuple[Currency, Currency]:
    """Return what the workbook showed money in as solved, and what it does as edited."""
    return audit.solved.shown_in, (audit.edited or audit.solved).shown_in


def _value(edit: Edit, value: float | str | None, money: Currency) -> str:
    """Return what a cell held, amounts in the currency of its workbook."""
    if value is None:
        return "blank"
    if isinstance(value, str):
        return value
    if edit.unit == "share":
        return f"{100 * value:,.6g} %"
    if edit.unit in ("USD", "USD/year"):
        return quantity(money.of(value), edit.unit)
    if "USD" in edit.unit and edit.unit != f"USD/{money.code}":  # which is a rate of exchange
        return f"{money.of(value):,.6g} {money.named(edit.unit)}"
    unit = COUNTED.get(edit.unit, edit.unit) if value == 1 else edit.unit
    return f"{value:,.6g} {unit}".rstrip()


def _figures(audit: Audit) -> str:
    plans = (audit.solved, audit.edited, audit.best)
    rows, money = [["", "solved", "edited", "best now"]], _currencies(audit)[1]
    for name, read in _ROWS:
        cells = [in_its_currency(read)(plan) if plan is not None else "-" for plan in plans]
        if any(cell not in ("-", "not known") for cell in cells):
            rows.append([money.named(FIGURES[name].title), *cells])
    return "\n".join(["Compared", *aligned(rows, left=(0,))])


def _of_job(read: Callable[[Any], str]) -> Callable[[Plan], str]:
    return lambda plan: read(plan.jobs[0]) if plan.jobs else "-"


def _of_totals(read: Callable[[Any], str]) -> Callable[[Plan], str]:
    return lambda plan: read(plan.totals) if plan.totals is not None else "-"


def _storage(plan: Plan) -> str:
    units = [line.quantity for line in plan.lines if line.section == "Storage" and not line.parent]
    return number(sum(units))


_ROWS: tuple[tuple[str, Callable[[Plan], str]], ...] = (
    ("useful_pflops", _of_job(lambda job: number(job.useful_pflops, 1))),
    ("useful_gpus", _of_job(lambda job: number(job.useful_gpus, 1))),
    ("gpus_used", _of_job(lambda job: number(job.gpus_used))),
    ("storage_units", _storage),
    ("goodput", _of_job(lambda job: percent(job.goodput, 2))),
    ("interval_s", _of_job(lambda job: duration(job.interval_s))),
    ("overlap", _of_job(lambda job: percent(job.overlap, 2))),
    ("restore_s", _of_job(lambda job: duration(job.restore_s))),
    ("days_to_train", _of_job(lambda job: number(job.days_to_train, 1))),
    ("facility_power_kw", _of_totals(lambda totals: number(totals.facility_power_kw, 1))),
    ("racks", _of_totals(lambda totals: number(totals.racks))),
    ("capex_usd", _of_totals(lambda totals: money(totals.capex_usd))),
    ("opex_usd_per_year", _of_totals(lambda totals: money(totals.opex_usd_per_year))),
    ("tco_usd", _of_totals(lambda totals: money(totals.tco_usd))),
)
"""The figures to compare, by their names."""


def _broken(audit: Audit) -> str:
    if not audit.breaches:
        return ""
    return "\n".join(["Limits broken", *(f"{INDENT}{each}" for each in _breaches(audit))])


def _shortages(audit: Audit) -> str:
    if not audit.shortages:
        return ""
    rows = [
        (each.model, f"{each.listed:,} listed", f"{each.needed:,} needed")
        for each in audit.shortages
    ]
    return "\n".join(["The edited cluster needs other counts than the workbook lists",
                      *_aligned(rows)])  # fmt: skip


def _stale(audit: Audit) -> str:
    if not audit.stale:
        return ""
    rows = [
        (each.name, f"the file shows {each.shown:,.9g}", f"it is {each.computed:,.9g}")
        for each in audit.stale
    ]
    several = len(audit.solved.jobs[0].gpu_types) > 1
    why = "with several GPU types some are approximate" if several else "recalculate it"
    return "\n".join([f"Figures that the file shows otherwise than they are ({why})",
                      *_aligned(rows)])  # fmt: skip


def _verdict(audit: Audit) -> Iterator[str]:
    if audit.added_sheets:
        yield "Not read: the added sheets " + ", ".join(audit.added_sheets) + "."
    if audit.edited is None:
        yield f"Nothing to compare: {audit.reason}."
        return
    yield from (f"The interval: {text}." for text in audit.remarks)
    yield from _money(audit, audit.edited)
    yield _standing(audit, audit.edited)


def _money(audit: Audit, edited: Plan) -> Iterator[str]:
    """Say what the edits cost, and what the workbook's own counts would."""
    if not audit.edits or edited.totals is None or audit.solved.totals is None:
        return
    shown = edited.shown_in
    yield from _against(restated(audit.solved, shown), restated(edited))
    now, before = edited.totals.capex_usd, audit.solved.totals.capex_usd
    if now is not None and before is not None and abs(now - before) >= 0.005:
        more = "more" if now > before else "less"
        yield f"It costs {money(shown.of(abs(now - before)))} {more} at once."
    listed = audit.sheet_capex_usd
    if now is not None and listed is not None and abs(listed - now) >= 0.005:
        yield (
            f"With the counts that the workbook lists the bill is {money(shown.of(listed))}; "
            f"with what the cluster needs it is {money(shown.of(now))}."
        )


def _against(solved: Plan, edited: Plan) -> Iterator[str]:
    """Say what changed in money, watts and work, where anything did."""
    before, now = solved.totals, edited.totals
    if before is None or now is None:
        return
    work = (solved.jobs[0].useful_pflops, edited.jobs[0].useful_pflops)
    changes = (
        (FIGURES["capex_usd"].label, before.capex_usd, now.capex_usd, money, 0.005),
        (FIGURES["tco_usd"].label, before.tco_usd, now.tco_usd, money, 0.005),
        (FIGURES["facility_power_kw"].label, before.facility_power_kw, now.facility_power_kw,
         lambda kw: quantity(kw, "kW"), 0.05),
        (FIGURES["useful_pflops"].label, *work, lambda rate: quantity(rate, "PFLOP/s"), 0.05),
    )  # fmt: skip
    texts = [
        f"{name} {'+' if new > old else '-'}{write(abs(new - old))}"
        for name, old, new, write, least in changes
        if old is not None and new is not None and abs(new - old) >= least
    ]
    yield f"Against the solved plan: {', '.join(texts) or 'the same money, power and work'}."


def _standing(audit: Audit, edited: Plan) -> str:
    """Say whether the edited plan keeps the limits, and how far it is from the best."""
    goal = edited.objective
    count = len(audit.breaches)
    if count:
        broken = f"The edited plan breaks {count} limit{'s' if count > 1 else ''}"
    else:
        broken = "The edited plan keeps every limit"
    if audit.best is None and audit.reason is None:
        return f"{broken}. It was not compared with the best plan."
    if audit.best is None:
        return f"{broken}. No plan keeps every limit under the edited inputs: {audit.reason}"
    if audit.shortfall is None:
        return f"{broken}."
    proven = f"(proven within {gap(audit.best.objective.gap)})"
    what = "does less than" if goal.sense == "maximize" else "takes more than"
    if abs(audit.shortfall) <= max(audit.best.objective.gap or 0.0, 1e-9):
        return f"{broken} and is as good as the best plan {proven}."
    share = percent(abs(audit.shortfall), 3)
    if audit.shortfall > 0:
        return f"{broken}; it {what} the best plan by {share} {proven}."
    more = "more" if goal.sense == "maximize" else "less"
    verb = "would do" if goal.sense == "maximize" else "would take"
    if not count:
        return f"{broken}; it {verb} {share} {more} than the best plan found {proven}."
    what = "that limit" if count == 1 else "those limits"
    return (
        f"{broken}; it {verb} {share} {more} than the best plan, only by breaking {what} {proven}."
    )
