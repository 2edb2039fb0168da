"""What happens when one input is not what the plan takes it to be, the others staying."""

from __future__ import annotations

from dataclasses import dataclass

from planner.outputs.workbook.checkpoint.rows import UNKNOWN
from planner.outputs.workbook.formats import (
    DECIMAL_1,
    DECIMAL_2,
    Role,
)
from planner.outputs.workbook.inputs import Range
from planner.outputs.workbook.sensitivity.charts import TORNADO_ROWS, Tornado, add_tornado
from planner.outputs.workbook.sensitivity.live import LiveRow, Step
from planner.outputs.workbook.sensitivity.model import workings_titles, write_case
from planner.outputs.workbook.sensitivity.page import (
    CHANGE,
    F1,
    F2,
    F3,
    F4,
    F5,
    F6,
    F7,
    F8,
    F9,
    F10,
    LABEL,
    NOTE,
    WHOLE_PERCENT,
    WIDTHS,
    GridPage,
)
from planner.outputs.workbook.sensitivity.questions import Question, questions

_ASKED = (
    "Input",
    "Unit",
    "Low: times what the plan takes",
    "High: times what the plan takes",
    "Low",
    "As it stands",
    "High",
    "Useful GPUs, low",
    "Useful GPUs, high",
    "Change of useful GPUs, low",
    "Change of useful GPUs, high",
    "Swing of useful GPUs",
    "Why this far",
)
_ANSWERED = (
    "Condition",
    "Case",
    "Value",
    "Unit",
    "Goodput",
    "Useful GPUs",
    "{saving}",
    "Restore read, s",
    "Days to train",
    "Interval chosen anew, s",
    "Goodput at that interval",
    "Useful GPUs at that interval",
    "Limits of the job, at the interval of the plan",
)
_SHOWN = {
    "goodput": F3,
    "useful": F4,
    "restore": F6,
    "days": F7,
    "best": F8,
    "best_goodput": F9,
    "best_useful": F10,
    "verdict": NOTE,
}
_FACTOR = Range(0.0, 100.0)
_STEPS = (
    "Low and high are questions, not forecasts: the yellow factors are there to be changed. One "
    "input moves at a time; the purchase and the interval stay as they are."
)
_ANEW = (
    "Interval chosen anew: Daly's formula for the changed condition, longer where overlap or "
    "blocking ask for it; not bounded by what the problem allows intervals to be."
)


@dataclass(frozen=True)
class Asked:
    """A question with the row it stands in, and what low, as it stands and high are."""

    question: Question
    row: int
    low: str
    high: str


def add_questions(page: GridPage, row: int) -> tuple[list[Asked], int]:
    """Write the inputs with their low and high values, and the chart of what they matter.

    Args:
        page: the sheet.
        row: first row.

    Returns:
        What is asked, and the next free row.
    """
    row = page.heading(row, "One at a time: where it matters to be right", _STEPS)
    first = page.table(row, _ASKED)
    listed = questions(page.book)
    asked = [_ask(page, first + place, question) for place, question in enumerate(listed)]
    moving = [entry for entry in asked if entry.question.key != "mfu"]
    chart_row = first + len(asked) + 1
    add_tornado(page, Tornado(first, first + len(moving) - 1, chart_row))
    return asked, chart_row + TORNADO_ROWS


def add_answers(page: GridPage, asked: list[Asked], row: int) -> int:
    """Write what each condition does, its swing next to the question; return the next free row.

    Args:
        page: the sheet.
        asked: what `add_questions` returned.
        row: first row.
    """
    row = page.heading(row, "What each condition does", _ANEW, *_down(page))
    titles = [title.format(saving=page.saving_title) for title in _ANSWERED]
    shown = _SHOWN | {page.saving: F5}
    row = page.table(row, titles, workings_titles(page.model, shown))
    base = _case(page, row, "As it stands", "", {})
    for entry in asked:
        useful = []
        for side, term in (("low", entry.low), ("high", entry.high)):
            row += 1
            useful.append(_answer(page, row, entry.question, side, term))
        _swing(page, entry.row, useful[0], useful[1], base)
    return row + 2


def _down(page: GridPage) -> tuple[str, ...]:
    job = page.book.job
    if job is None or job.tolerate_down == 0:
        return ()
    units = "appliance" if job.tolerate_down == 1 else "appliances"
    return (
        f"Limits are judged with {job.tolerate_down} storage {units} down, as the plan asks; "
        "the figures are with all of them up.",
    )


def _ask(page: GridPage, row: int, question: Question) -> Asked:
    """Write an input's factors and values."""
    page.fill(row, (question.label, question.unit), "text")
    line = LiveRow(page, row, {"low": F3, "stands": F4, "high": F5})
    for key, column, factor in (("by_low", F1, question.low), ("by_high", F2, question.high)):
        side = key.removeprefix("by_")
        name = f"sensitivity_{question.key}_{side}"
        label = f"{question.label}: {side} value, times what the plan takes"
        page.input(
            name, row, column, factor, WHOLE_PERCENT, label=label, unit="share", allowed=_FACTOR
        )
        line.know(key, column)
    text = f'IF(ISNUMBER({question.name}),{question.name},"{UNKNOWN}")'
    stands = Step("stands", "", text, question.number, "cross")
    line.write([stands, *(_scaled(question, side) for side in ("low", "high"))])
    page.text(row, NOTE, question.why)
    page.grow(row, [(question.why, WIDTHS[NOTE]), (question.label, WIDTHS[LABEL])])
    return Asked(question, row, line.terms["low"], line.terms["high"])


def _scaled(question: Question, side: str) -> Step:
    text = f"{{stands}}*{{by_{side}}}"
    return Step(side, "", f"MIN(1,{text})" if question.share else text, question.number)


def _answer(page: GridPage, row: int, question: Question, side: str, term: str) -> str:
    """Write what a condition does and return its useful GPUs."""
    label = question.label if side == "low" else ""
    useful = _case(page, row, label, side, {question.key: term})
    page.text(row, F2, question.unit)
    return useful


def _case(page: GridPage, row: int, label: str, side: str, varied: dict[str, str]) -> str:
    """Write one condition and return its useful GPUs."""
    emphasis: Role | None = None if varied else "total"
    page.fill(row, (label, side), emphasis or "text")
    shown = _SHOWN | {page.saving: F5} | dict.fromkeys(varied, F1)
    line = write_case(page, row, shown, page.workings, varied, page.model, emphasis)
    page.mark(row, NOTE, "begins with", "OVER", "bad")
    return line.terms["useful"]


def _swing(page: GridPage, row: int, low: str, high: str, base: str) -> None:
    line = LiveRow(
        page,
        row,
        {"low": F6, "high": F7, "at_low": F8, "at_high": F9, "swing": F10},
        {"low_": low, "high_": high, "base": base},
    )
    line.write(
        [
            Step("low", "", "{low_}", DECIMAL_1),
            Step("high", "", "{high_}", DECIMAL_1),
            Step("at_low", "", "ROUND({low}-{base},2)", CHANGE),
            Step("at_high", "", "ROUND({high}-{base},2)", CHANGE),
            Step("swing", "", "ROUND(ABS({high}-{low}),2)", DECIMAL_2),
        ]
    )
