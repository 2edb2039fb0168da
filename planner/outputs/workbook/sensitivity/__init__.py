"""The sheet ``Sensitivity``: this purchase under other conditions; nothing is solved again."""

from __future__ import annotations

from typing import NamedTuple

from planner.figures import FIGURES
from planner.outputs.words import in_money
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_1, DECIMAL_2, PERCENT, SMALL, Range, Role
from planner.outputs.workbook.page import BANNER_ROW, FIRST_ROW
from planner.outputs.workbook.rows import UNKNOWN
from planner.outputs.workbook.sensitivity.charts import TORNADO_ROWS, Tornado, add_tornado
from planner.outputs.workbook.sensitivity.model import (
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
    LiveRow,
    Step,
    workings_titles,
    write_case,
)
from planner.outputs.workbook.sensitivity.ranges import add_bandwidth, add_interval, add_power
from planner.sizing.checkpoint import BYTES_PER_PARAMETER
from planner.sizing.goodput import FAILURES_PER_GPU_DAY

_TITLE = "Sensitivity: this purchase under other conditions"
_INTRODUCTION = (
    "The purchase stays as it is on BOM: nothing on this sheet is optimised again, and another "
    "purchase may suit other conditions better. All figures follow every edit of the workbook."
)

_AS_ON_CHECKPOINT = (
    "What units that are out take is that of Checkpoint in every row: other failures, restarts and "
    "intervals would change it a little. Change them on Checkpoint, where it follows."
)


def add(book: Book) -> None:
    """Add the sheet, where there is a plan to ask about."""
    if book.job is None:
        return
    page = GridPage(book, "Sensitivity", _TITLE, WIDTHS)
    page.banner()
    page.legend()
    page.text(FIRST_ROW, 0, _INTRODUCTION, "subtitle")
    if book.job.repair is not None and book.job.repair.shrunk is not None:
        page.text(FIRST_ROW + 1, 0, _AS_ON_CHECKPOINT, "subtitle")
    asked, row = _add_questions(page, FIRST_ROW + 2)
    answers = add_interval(page, add_bandwidth(page, row))
    add_power(page, _add_answers(page, asked, answers))
    page.sheet.set_h_pagebreaks([row - 1, answers - 1])
    page.sheet.repeat_rows(0, BANNER_ROW)
    page.finish(NOTE, (FIRST_ROW, 1))


class _Question(NamedTuple):
    """An input to try at several shares of its value. ``key`` is the figure of the model that
    varies, ``name`` its cell; ``low`` and ``high`` are factors to begin with, ``share`` a figure
    that cannot be above 1."""

    key: str
    name: str
    label: str
    unit: str
    low: float
    high: float
    number: str
    why: str
    share: bool = False


def _range(values: list[float], digits: str) -> str:
    return f"{min(values):{digits}} to {max(values):{digits}}"


_RATES = [preset.value for preset in FAILURES_PER_GPU_DAY.values()]
_BYTES = [preset.value for preset in BYTES_PER_PARAMETER.values()]

_QUESTIONS = (
    _Question(
        "failures", "failures_per_gpu_day", "Failures per GPU and day", "1/day", 0.5, 2.0, SMALL,
        f"published rates run from {_range(_RATES, '.2g')} per GPU and day",
    ),
    _Question(
        "size", "checkpoint_gb", FIGURES["checkpoint_gb"].heading, "GB", 0.5, 2.0, DECIMAL_1,
        f"from {_range(_BYTES, 'g')} bytes per parameter, by what the optimizer keeps",
    ),
    _Question(
        "share_write", "delivered_fraction_write", FIGURES["delivered_fraction_write"].heading,
        "share", 0.5, 1.25, PERCENT, "production systems have shown 16 % to 40 % for writes; "
        "at most 100 %", share=True,
    ),
    _Question(
        "share_read", "delivered_fraction_read", FIGURES["delivered_fraction_read"].heading,
        "share", 0.75, 1.25, PERCENT, "reads come nearer to the rating than writes; at most 100 %",
        share=True,
    ),
    _Question(
        "stall_given", "async_stall_s", "Stall of one checkpoint", "s", 0.5, 2.0, DECIMAL_2,
        "depends on the training framework and on host memory; not measured on this cluster",
    ),
    _Question(
        "restart", "restart_s", FIGURES["restart_s"].heading, "s", 0.5, 2.0, DECIMAL_1,
        "depends on detection, on spare systems and on the scheduler",
    ),
    _Question(
        "slowdown", "drain_slowdown", FIGURES["drain_slowdown"].heading, "share", 0.5, 2.0,
        PERCENT, "depends on how saving shares hosts and network with the training; at most 100 %",
        share=True,
    ),
    _Question(
        "mfu", "mfu", FIGURES["mfu"].heading, "share", 0.75, 1.25, PERCENT,
        "changes the days to train, not the useful GPUs; at most 100 %", share=True,
    ),
)  # fmt: skip


def _questions(book: Book) -> list[_Question]:
    """Return what is asked about this plan: what it has, and what can matter to it.

    Args:
        book: the workbook, with the names of Checkpoint defined.
    """
    return [question for question in _QUESTIONS if _matters(book, question)]


def _matters(book: Book, question: _Question) -> bool:
    if question.key in ("stall_given", "slowdown"):
        # A synchronous save has no stall but the write; no slowdown asks no question.
        return book.value("save_mode") != "sync" and bool(book.number(question.name))
    return book.number(question.name) is not None


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
    FIGURES["goodput"].heading,
    FIGURES["useful_gpus"].heading,
    "{saving}",
    FIGURES["restore_s"].column,
    FIGURES["days_to_train"].heading,
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


class _Asked(NamedTuple):
    """A question with the row it stands in, and what low, as it stands and high are."""

    question: _Question
    row: int
    low: str
    high: str


def _add_questions(page: GridPage, row: int) -> tuple[list[_Asked], int]:
    """Write the inputs with their low and high values, and the chart of what they matter.

    Returns:
        What is asked, and the next free row.
    """
    row = page.heading(row, "One at a time: where it matters to be right", _STEPS)
    first = page.table(row, _ASKED)
    listed = _questions(page.book)
    asked = [_ask(page, first + place, question) for place, question in enumerate(listed)]
    moving = [entry for entry in asked if entry.question.key != "mfu"]
    chart_row = first + len(asked) + 1
    add_tornado(page, Tornado(first, first + len(moving) - 1, chart_row))
    return asked, chart_row + TORNADO_ROWS


def _add_answers(page: GridPage, asked: list[_Asked], row: int) -> int:
    """Write what each condition does, its swing next to the question; return the next free row.

    Args:
        asked: what `_add_questions` returned.
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


def _ask(page: GridPage, row: int, question: _Question) -> _Asked:
    """Write an input's factors and values."""
    page.fill(row, (question.label, in_money(question.unit)), "text")
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
    return _Asked(question, row, line.terms["low"], line.terms["high"])


def _scaled(question: _Question, side: str) -> Step:
    text = f"{{stands}}*{{by_{side}}}"
    return Step(side, "", f"MIN(1,{text})" if question.share else text, question.number)


def _answer(page: GridPage, row: int, question: _Question, side: str, term: str) -> str:
    """Write what a condition does and return its useful GPUs."""
    label = question.label if side == "low" else ""
    useful = _case(page, row, label, side, {question.key: term})
    page.text(row, F2, in_money(question.unit))
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
