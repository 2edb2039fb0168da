"""The sizing model in one row: what a purchase does under conditions other than its own."""

from __future__ import annotations

import string
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from xlsxwriter.utility import xl_col_to_name

from planner.figures import FIGURES
from planner.outputs import scope
from planner.outputs.workbook import formulas
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import (
    DECIMAL_1,
    DECIMAL_2,
    DECIMAL_3,
    PERCENT,
    PERCENT_2,
    SMALL,
    Role,
)
from planner.outputs.workbook.formulas import TIME_TOLERANCE
from planner.outputs.workbook.page import Page
from planner.outputs.workbook.rows import UNKNOWN


@dataclass(frozen=True)
class Step:
    """A cell of a row: its formula, where ``{key}`` is another cell of the row.

    What cannot be computed shows `UNKNOWN`.
    """

    key: str
    title: str
    formula: str
    number: str = DECIMAL_2
    role: Role = "formula"
    align: str = "right"

    @cached_property
    def needs(self) -> set[str]:
        """The cells of the row that the formula reads."""
        return {name for _, name, _, _ in string.Formatter().parse(self.formula) if name}


@dataclass
class LiveRow:
    """A row of cells that read each other.

    ``columns`` says where each key stands; ``terms`` holds what stands for a key in a formula: an
    address or a name.
    """

    page: Page
    row: int
    columns: Mapping[str, int]
    terms: dict[str, str] = field(default_factory=dict)

    def write(
        self,
        steps: Iterable[Step],
        emphasis: Role | None = None,
        emphasised: Container[str] | None = None,
    ) -> None:
        """Write cells, each after those it reads.

        Args:
            emphasis: the look of the cells instead of their own.
            emphasised: keys of the cells that have that look, None for all.
        """
        for step in steps:
            column = self.columns[step.key]
            formula = f'=IFERROR({step.formula.format_map(self.terms)},"{UNKNOWN}")'
            marked = emphasised is None or step.key in emphasised
            role = emphasis if emphasis is not None and marked else step.role
            self.page.formula(self.row, column, formula, step.number, role, step.align)
            self.know(step.key, column)

    def know(self, key: str, column: int) -> None:
        """Note a cell that is already written."""
        self.terms[key] = cell(self.row, column)


def cell(row: int, column: int) -> str:
    """Return the absolute address of a cell on its own sheet."""
    return f"${_letters(column)}${row + 1}"


@cache
def _letters(column: int) -> str:
    return str(xl_col_to_name(column))


def needed(steps: Collection[Step], keys: Iterable[str]) -> list[Step]:
    """Return the steps that some of them rest on, in their order.

    Args:
        steps: all there are, each after those it reads.
        keys: what is asked for.
    """
    wanted = set(keys)
    for step in reversed(list(steps)):
        if step.key in wanted:
            wanted |= step.needs
    return [step for step in steps if step.key in wanted]


_NOTHING_LEFT = "OVER: no bandwidth left when down"
_ABOVE = f"(1+{TIME_TOLERANCE:G})"


def is_degraded(book: Book) -> bool:
    """Return whether the plan's limits hold with storage appliances down."""
    return book.has("degraded_write_gb_per_s", "lost_write_gb_per_s", "lost_read_gb_per_s")


def limit_steps(book: Book) -> list[Step]:
    """Return the steps from stall, drain and restore to whether the limits hold.

    Args:
        book: the workbook, with the names of Checkpoint defined.
    """
    rules = _rules(book)
    marks = "&".join(f'IF({broken},"{name} ","")' for name, broken in rules.items())
    return [
        *(_degraded() if is_degraded(book) else []),
        Step("over", "Limits not held", marks),
        Step("verdict", "Limits, in words",
             'IF(ISNUMBER({goodput}),IF({over}="","OK",'
             f'IF({{over}}="{UNKNOWN}","{_NOTHING_LEFT}",'
             f'"OVER: "&SUBSTITUTE(TRIM({{over}})," ",", "))),"{UNKNOWN}")', role="text",
             align="center"),
        Step("holds", "Limits of the job", "LEFT({verdict},4)", align="center"),
    ]  # fmt: skip


def _rules(book: Book) -> dict[str, str]:
    """Return the word for each limit there is, and the formula of when it is broken."""
    held = "held_" if is_degraded(book) else ""
    stall, drain, restore = (f"{{{held}{key}}}" for key in ("stall", "drain", "restore"))
    needed_tb = "(other_data_tb+checkpoints_held*{size}/1000)/fill_limit"
    arrives = "{read}"
    if book.has("client_data_limit_gb_per_s"):
        arrives = "MIN({share_read}*{rated_read},client_data_limit_gb_per_s)"
    rules = {
        "overlap": _at_most(f"{drain}/{{interval}}", "max_overlap"),
        "interval": f"{stall}+{drain}>{{interval}}*{_ABOVE}",
        "blocking": _at_most(f"{stall}/{{interval}}", "max_blocking"),
        "restore": _at_most(restore, "max_restore_s"),
        "ingest": f"{arrives}*{_ABOVE}<ingest_gb_per_s",
        "capacity": f"{needed_tb}>{{usable}}*{_ABOVE}",
    }
    there = {
        "overlap": book.has("max_overlap"),
        "interval": True,
        "blocking": book.has("max_blocking"),
        "restore": book.has("max_restore_s"),
        "ingest": scope.limited(book.plan, "ingest"),
        "capacity": scope.limited(book.plan, "capacity") and _knows_capacity(book),
    }
    return {name: broken for name, broken in rules.items() if there[name]}


def _at_most(value: str, limit: str) -> str:
    return f"ISNUMBER({limit})*({value}>{limit}*{_ABOVE})"


def _knows_capacity(book: Book) -> bool:
    """Return whether the capacity can be judged: every line of storage says what it holds."""
    names = ("other_data_tb", "checkpoints_held", "fill_limit", "usable_tb", "bom_usable_tb_flag")
    return book.has(*names) and not book.value("bom_usable_tb_flag")


def _degraded() -> list[Step]:
    def formula(kind: str) -> str:
        lost = f"{{rated_{kind}}}-lost_{kind}_gb_per_s"
        return f"MIN({{share_{kind}}}*MAX(0,{lost}),client_{kind}_limit_gb_per_s)"

    return [
        Step("held_write", "Delivered write, degraded, GB/s", formula("write")),
        Step("held_read", "Delivered read, degraded, GB/s", formula("read")),
        Step("held_save", FIGURES["degraded_drain_s"].column, "{size}/{held_write}", DECIMAL_3),
        Step("held_stall", "Stall, degraded, s", 'IF(save_mode="sync",{held_save},{stall_given})',
             DECIMAL_3),
        Step("held_drain", "Drain, degraded, s", 'IF(save_mode="sync",0,{held_save})', DECIMAL_3),
        Step("held_restore", f"{FIGURES['degraded_restore_s'].heading}, s",
             "fan_out*{size}/{held_read}", DECIMAL_2),
    ]  # fmt: skip


VARIED = {
    "failures": ("failures_per_gpu_day", "Failures per GPU and day", SMALL),
    "size": ("checkpoint_gb", FIGURES["checkpoint_gb"].column, DECIMAL_1),
    "rated_write": ("nameplate_write_gb_per_s", FIGURES["write_gb_per_s"].column, DECIMAL_1),
    "share_write": ("delivered_fraction_write", "Delivered share, write", PERCENT),
    "rated_read": ("nameplate_read_gb_per_s", FIGURES["read_gb_per_s"].column, DECIMAL_1),
    "share_read": ("delivered_fraction_read", "Delivered share, read", PERCENT),
    "stall_given": ("async_stall_s", "Stall given, s", DECIMAL_2),
    "restart": ("restart_s", "Restart, s", DECIMAL_1),
    "slowdown": ("drain_slowdown", "Slowdown while draining", PERCENT),
    "mfu": ("mfu", "MFU", PERCENT),
    "interval": ("interval_s", FIGURES["interval_s"].column, DECIMAL_1),
    "usable": ("usable_tb", FIGURES["usable_tb"].column, DECIMAL_1),
}
"""What may differ from the plan: the name of the plan's own figure, its title and format."""


def saving(book: Book) -> tuple[str, str]:
    """Return the figure that says how much of the interval saving takes, and what it is called.

    Args:
        book: the workbook, with the names of Checkpoint defined.
    """
    sync = book.value("save_mode") == "sync"
    return (
        ("blocking", FIGURES["blocking"].heading)
        if sync
        else ("overlap", FIGURES["overlap"].heading)
    )


def steps(book: Book) -> list[Step]:
    """Return the model, each step after those it reads.

    Args:
        book: the workbook, with the names of Checkpoint defined.
    """
    return [
        *_checkpoint(),
        *_goodput(book),
        *limit_steps(book),
        *_best(book),
    ]


def write_case(
    page: Page,
    row: int,
    shown: Mapping[str, int],
    workings: int,
    varied: Mapping[str, str],
    model: list[Step],
    emphasis: Role | None = None,
) -> LiveRow:
    """Write the model for one condition: what is asked for, and to the right how it comes about.

    Args:
        shown: keys of the model that are asked for, with their columns.
        workings: first column of the others that these rest on, in the order of `workings_titles`.
        varied: formulas of what is not as in the plan, by keys of `VARIED`.
        model: `steps`.
        emphasis: the look of what is asked for, instead of its own.
    """
    own = [Step(key, VARIED[key][1], text, VARIED[key][2]) for key, text in varied.items()]
    wanted = needed(model, shown)
    rest = [step.key for step in (*own, *wanted) if step.key not in shown]
    columns = dict(shown) | {key: workings + place for place, key in enumerate(rest)}
    terms = {key: name for key, (name, _, _) in VARIED.items() if key not in varied}
    line = LiveRow(page, row, columns, terms)
    line.write([*own, *wanted], emphasis, shown)
    return line


def workings_titles(
    model: list[Step], shown: Mapping[str, int], varied: Iterable[str] = ()
) -> list[str]:
    """Return the headings of the workings of `write_case`, column by column.

    Args:
        model: `steps`.
        shown: keys that are asked for.
        varied: keys that are not as in the plan.
    """
    own = [VARIED[key][1] for key in varied if key not in shown]
    return own + [step.title for step in needed(model, shown) if step.key not in shown]


def _checkpoint() -> list[Step]:
    return [
        Step("write", FIGURES["delivered_write_gb_per_s"].column,
             "MIN({share_write}*{rated_write},client_write_limit_gb_per_s)"),
        Step("read", FIGURES["delivered_read_gb_per_s"].column,
             "MIN({share_read}*{rated_read},client_read_limit_gb_per_s)"),
        Step("save", "Write of one checkpoint, s", "{size}/{write}", DECIMAL_3),
        Step("stall", FIGURES["stall_s"].column, 'IF(save_mode="sync",{save},{stall_given})',
             DECIMAL_3),
        Step("drain", FIGURES["drain_s"].column, 'IF(save_mode="sync",0,{save})', DECIMAL_3),
        Step("overlap", FIGURES["overlap"].heading, "{drain}/{interval}", PERCENT_2),
        Step("blocking", FIGURES["blocking"].heading, "{stall}/{interval}", PERCENT_2),
        Step("restore", FIGURES["restore_s"].column, "fan_out*{size}/{read}"),
    ]  # fmt: skip


def _goodput(book: Book) -> list[Step]:
    return [
        Step("mtti", FIGURES["mtti_s"].column, f"86400/({{failures}}*gpus_in_use{_seen(book)})",
             DECIMAL_1),
        *_repair_steps(book),
        Step("charged", "Stall plus slowdown x drain, s", "{stall}+{slowdown}*{drain}", DECIMAL_3),
        Step("goodput", FIGURES["goodput"].heading, _goodput_formula("{interval}", book),
             PERCENT_2),
        Step("lost", "Time lost", "ROUND(1-{goodput},9)", PERCENT_2),
        Step("useful", FIGURES["useful_gpus"].heading, "gpus_in_use*{goodput}", DECIMAL_1),
        Step("days", FIGURES["days_to_train"].heading,
             "training_pflops_days/({useful}*tflops_per_gpu*{mfu}/1000)", DECIMAL_1),
    ]  # fmt: skip


def _seen(book: Book) -> str:
    """Return the factor on failures of a job that goes on with fewer replicas, as on Checkpoint."""
    shrinks = book.job is not None and book.job.repair is not None and book.job.repair.shrunk
    return "*failing_share" if shrinks else ""


def _repair_steps(book: Book) -> list[Step]:
    """Return what repairs and swaps leave, where the problem states them."""
    if book.job is None or book.job.repair is None:
        return []
    repair, per_gpu = book.job.repair, "{failures}*hardware_share*repair_s/86400"
    swaps = "1-hardware_share+hardware_share*EXP(-swap_s/{mtti})"
    kept = Step("swapped", "What swaps leave", swaps, "0.000000")
    if repair.shrunk is not None:
        return [kept, Step("mended", "Work not lost to units out", "1-time_waiting", PERCENT_2)]
    if not repair.in_rack:
        waits = formulas.waiting("spares", f"({per_gpu}*gpus_in_use)")
        return [kept, Step("mended", "Time not waiting", f"1-{waits}", PERCENT_2)]
    usable = book.job.usable_gpus_by_type[book.job.gpu_type]
    each = formulas.waiting(str(repair.spares // book.job.systems_used), f"({per_gpu}*{usable})")
    waits = formulas.waiting_in_racks("{short}", f"(gpus_in_use/{usable})")
    return [
        kept,
        Step("short", "Time one system is short", each, "0.000000"),
        Step("mended", "Time not waiting", f"1-{waits}", PERCENT_2),
    ]


def _goodput_formula(interval: str, book: Book) -> str:
    z = f"({interval}/{{mtti}})"
    rework = formulas.rework_factor(z)
    after = "EXP(-({drain}+{restart}+{restore})/{mtti})"
    mended = "*{swapped}*{mended}" if book.job is not None and book.job.repair else ""
    return f"MAX(0,1-{{charged}}/{interval})*{after}*{rework}{mended}"


def _best(book: Book) -> list[Step]:
    """Return the steps with the interval chosen anew; limits may ask for a longer one."""
    held = "held_" if is_degraded(book) else ""
    stall, drain = f"{held}stall", f"{held}drain"
    bounds = [f"{{{stall}}}+{{{drain}}}"]
    for limit, key in (("max_overlap", drain), ("max_blocking", stall)):
        if book.has(limit):
            bounds.append(f"IF(ISNUMBER({limit}),{{{key}}}/{limit},0)")
    daly = formulas.daly_s("{charged}", "{mtti}")
    return [
        Step("best", "Best interval, s", f"MAX({{charged}}+{daly},{','.join(bounds)})", DECIMAL_1),
        Step("best_goodput", "Goodput at the best interval", _goodput_formula("{best}", book),
             PERCENT_2),
        Step("best_useful", "Useful GPUs at the best interval", "gpus_in_use*{best_goodput}",
             DECIMAL_1),
    ]  # fmt: skip


LABEL, CASE, F1, F2, F3, F4, F5, F6, F7, F8, F9, F10, NOTE = range(13)
"""Columns of the grid that all tables of the sheet share; F1 to F10 hold figures."""

WIDTHS = (37.0, 8.0, *(10.2,) * 10, 40.0)
"""Their widths in characters."""

WHOLE_PERCENT = "0%"
CHANGE = "+#,##0.00;-#,##0.00;0.00"

_HEADER_HEIGHT = 42
_WORKINGS_WIDTH = 13.0
_MOST_WORKINGS = 40


class GridPage(Page):
    """A worksheet whose tables share their columns; a row's workings stand to its right.

    Attributes:
        widths: of the columns of the grid, in characters.
        workings: first column of the workings, to the right of what is printed.
        model: the sizing model, for the rows of `write_case`.
        saving: the figure of the model that says how much of the interval saving takes.
        saving_title: what it is called.
    """

    def __init__(self, book: Book, name: str, title: str, widths: Sequence[float]) -> None:
        super().__init__(book, name, title)
        self.widths = widths
        self.workings = len(widths) + 1
        self.model = steps(book)
        self.saving, self.saving_title = saving(book)
        for column, width in enumerate(widths):
            self.sheet.set_column(column, column, width)
        self.sheet.set_column(len(widths), len(widths), 3)
        self.sheet.set_column(self.workings, self.workings + _MOST_WORKINGS, _WORKINGS_WIDTH)

    def heading(self, row: int, text: str, *remarks: str) -> int:
        """Write a table's heading with remarks under it; return the next free row."""
        self.fill(row, (text,), "heading")
        for remark in remarks:
            row += 1
            self.text(row, 0, remark, "subtitle")
        return row + 1

    def table(self, row: int, titles: Sequence[str], workings: Sequence[str] = ()) -> int:
        """Write the headers of a table and of its workings; return the row under them."""
        self.sheet.set_row(row, _HEADER_HEIGHT)
        for column, title in enumerate(titles):
            self.text(row, column, title, "header")
        for place, title in enumerate(workings):
            self.text(row, self.workings + place, title, "header")
        if workings:
            self.text(row - 1, self.workings, "Workings, not printed", "subtitle")
        return row + 1

    def fill(self, row: int, texts: Sequence[str], role: Role, columns: int | None = None) -> None:
        """Write a row in one look, by default over the whole grid."""
        super().fill(row, texts, role, columns or len(self.widths))
