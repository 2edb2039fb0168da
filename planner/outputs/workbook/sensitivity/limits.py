"""Which limits of the job hold under a condition: the words ``OK``, or ``OVER`` and which."""

from __future__ import annotations

from planner.outputs import scope
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.checkpoint.rows import UNKNOWN
from planner.outputs.workbook.formats import DECIMAL_2, DECIMAL_3
from planner.outputs.workbook.formulas import TIME_TOLERANCE
from planner.outputs.workbook.sensitivity.live import Step

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
        Step(
            "verdict",
            "Limits, in words",
            'IF(ISNUMBER({goodput}),IF({over}="","OK",'
            f'IF({{over}}="{UNKNOWN}","{_NOTHING_LEFT}",'
            f'"OVER: "&SUBSTITUTE(TRIM({{over}})," ",", "))),"{UNKNOWN}")',
            role="text",
            align="center",
        ),
        Step("holds", "Limits of the job", "LEFT({verdict},4)", align="center"),
    ]


def _rules(book: Book) -> dict[str, str]:
    """Return the word for each limit there is, and the formula of when it is broken."""
    held = "held_" if is_degraded(book) else ""
    stall, drain, restore = (f"{{{held}{key}}}" for key in ("stall", "drain", "restore"))
    needed_tb = "(other_data_tb+checkpoints_held*{size}/1000)/fill_limit"
    rules = {
        "overlap": _at_most(f"{drain}/{{interval}}", "max_overlap"),
        "interval": f"{stall}+{drain}>{{interval}}*{_ABOVE}",
        "blocking": _at_most(f"{stall}/{{interval}}", "max_blocking"),
        "restore": _at_most(restore, "max_restore_s"),
        "ingest": f"{{read}}*{_ABOVE}<ingest_gb_per_s",
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
        Step("held_save", "Write of one checkpoint, degraded, s", "{size}/{held_write}", DECIMAL_3),
        Step(
            "held_stall",
            "Stall, degraded, s",
            'IF(save_mode="sync",{held_save},{stall_given})',
            DECIMAL_3,
        ),
        Step("held_drain", "Drain, degraded, s", 'IF(save_mode="sync",0,{held_save})', DECIMAL_3),
        Step("held_restore", "Restore read, degraded, s", "fan_out*{size}/{held_read}", DECIMAL_2),
    ]
