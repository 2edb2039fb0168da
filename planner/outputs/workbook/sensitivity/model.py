"""The sizing model in one row: what a purchase does under conditions other than its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.outputs.workbook import formulas
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.formats import (
    DECIMAL_1,
    DECIMAL_2,
    DECIMAL_3,
    PERCENT,
    PERCENT_2,
    SMALL,
    Role,
)
from planner.outputs.workbook.page import Page
from planner.outputs.workbook.sensitivity.limits import is_degraded, limit_steps
from planner.outputs.workbook.sensitivity.live import LiveRow, Step, needed

VARIED = {
    "failures": ("failures_per_gpu_day", "Failures per GPU and day", SMALL),
    "size": ("checkpoint_gb", "Checkpoint, GB", DECIMAL_1),
    "rated_write": ("nameplate_write_gb_per_s", "Rated write, GB/s", DECIMAL_1),
    "share_write": ("delivered_fraction_write", "Delivered share, write", PERCENT),
    "rated_read": ("nameplate_read_gb_per_s", "Rated read, GB/s", DECIMAL_1),
    "share_read": ("delivered_fraction_read", "Delivered share, read", PERCENT),
    "stall_given": ("async_stall_s", "Stall given, s", DECIMAL_2),
    "restart": ("restart_s", "Restart, s", DECIMAL_1),
    "slowdown": ("drain_slowdown", "Slowdown while draining", PERCENT),
    "mfu": ("mfu", "MFU", PERCENT),
    "interval": ("interval_s", "Interval, s", DECIMAL_1),
    "usable": ("usable_tb", "Usable, TB", DECIMAL_1),
}
"""What may differ from the plan: the name of the plan's own figure, its title and format."""


def saving(book: Book) -> tuple[str, str]:
    """Return the figure that says how much of the interval saving takes, and what it is called.

    Args:
        book: the workbook, with the names of Checkpoint defined.
    """
    sync = book.value("save_mode") == "sync"
    return ("blocking", "Blocking") if sync else ("overlap", "Overlap")


def steps(book: Book) -> list[Step]:
    """Return the model, each step after those it reads.

    Args:
        book: the workbook, with the names of Checkpoint defined.
    """
    return [
        *_checkpoint(),
        *_goodput(),
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
        page: the sheet.
        row: the row.
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
        Step(
            "write",
            "Delivered write, GB/s",
            "MIN({share_write}*{rated_write},client_write_limit_gb_per_s)",
        ),
        Step(
            "read",
            "Delivered read, GB/s",
            "MIN({share_read}*{rated_read},client_read_limit_gb_per_s)",
        ),
        Step("save", "Write of one checkpoint, s", "{size}/{write}", DECIMAL_3),
        Step("stall", "Stall, s", 'IF(save_mode="sync",{save},{stall_given})', DECIMAL_3),
        Step("drain", "Drain, s", 'IF(save_mode="sync",0,{save})', DECIMAL_3),
        Step("overlap", "Overlap", "{drain}/{interval}", PERCENT_2),
        Step("blocking", "Blocking", "{stall}/{interval}", PERCENT_2),
        Step("restore", "Restore read, s", "fan_out*{size}/{read}"),
    ]


def _goodput() -> list[Step]:
    return [
        Step("mtti", "Mean time to interruption, s", "86400/({failures}*gpus_in_use)", DECIMAL_1),
        Step("charged", "Stall plus slowdown x drain, s", "{stall}+{slowdown}*{drain}", DECIMAL_3),
        Step("goodput", "Goodput", _goodput_formula("{interval}"), PERCENT_2),
        Step("lost", "Time lost", "ROUND(1-{goodput},9)", PERCENT_2),
        Step("useful", "Useful GPUs", "gpus_in_use*{goodput}", DECIMAL_1),
        Step(
            "days",
            "Days to train",
            "training_pflops_days/({useful}*tflops_per_gpu*{mfu}/1000)",
            DECIMAL_1,
        ),
    ]


def _goodput_formula(interval: str) -> str:
    z = f"({interval}/{{mtti}})"
    rework = formulas.rework_factor(z)
    after = "EXP(-({drain}+{restart}+{restore})/{mtti})"
    return f"MAX(0,1-{{charged}}/{interval})*{after}*{rework}"


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
        Step("best_goodput", "Goodput at the best interval", _goodput_formula("{best}"), PERCENT_2),
        Step(
            "best_useful",
            "Useful GPUs at the best interval",
            "gpus_in_use*{best_goodput}",
            DECIMAL_1,
        ),
    ]
