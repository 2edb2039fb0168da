"""Which limits of the job hold under a condition: the words ``OK``, or ``OVER`` and which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.outputs import scope
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.checkpoint.rows import UNKNOWN
from planner.outputs.workbook.formats import DECIMAL_2, DECIMAL_3
from planner.outputs.workbook.formulas import TIME_TOLERANCE
from planner.outputs.workbook.sensitivity.live import Figures, NotKnownError, Step

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
    marks = "&".join(f'IF({rule.broken},"{rule.name} ","")' for rule in rules)

    def over(f: Figures) -> str:
        return "".join(f"{rule.name} " for rule in rules if rule.holds_not(f))

    def verdict(f: Figures) -> str:
        if not f.has("goodput"):
            raise NotKnownError("goodput")
        if f.text("over") == UNKNOWN:
            return _NOTHING_LEFT
        broken = f.text("over").split()
        return "OVER: " + ", ".join(broken) if broken else "OK"

    return [
        *(_degraded() if is_degraded(book) else []),
        Step("over", "Limits not held", marks, over),
        Step("verdict", "Limits, in words",
             'IF(ISNUMBER({goodput}),IF({over}="","OK",'
             f'IF({{over}}="{UNKNOWN}","{_NOTHING_LEFT}",'
             f'"OVER: "&SUBSTITUTE(TRIM({{over}})," ",", "))),"{UNKNOWN}")', verdict,
             role="text", align="center"),
        Step("holds", "Limits of the job", "LEFT({verdict},4)",
             lambda f: f.text("verdict")[:4], align="center"),
    ]  # fmt: skip


@dataclass(frozen=True)
class _Rule:
    """One limit: a word for it, and when it is broken."""

    name: str
    broken: str
    holds_not: Callable[[Figures], bool]


def _rules(book: Book) -> list[_Rule]:
    held = "held_" if is_degraded(book) else ""
    stall, drain, restore = (f"{held}{key}" for key in ("stall", "drain", "restore"))
    rules = [
        _at_most("overlap", f"{{{drain}}}/{{interval}}", "max_overlap",
                 lambda f: f[drain] / f["interval"]),
        _Rule("interval", f"{{{stall}}}+{{{drain}}}>{{interval}}*{_ABOVE}",
              lambda f: f[stall] + f[drain] > f["interval"] * (1 + TIME_TOLERANCE)),
        _at_most("blocking", f"{{{stall}}}/{{interval}}", "max_blocking",
                 lambda f: f[stall] / f["interval"]),
        _at_most("restore", f"{{{restore}}}", "max_restore_s", lambda f: f[restore]),
        _Rule("ingest", f"{{read}}*{_ABOVE}<ingest_gb_per_s",
              lambda f: f["read"] * (1 + TIME_TOLERANCE) < f["ingest_gb_per_s"]),
        _Rule("capacity", f"{_NEEDED_TB}>{{usable}}*{_ABOVE}",
              lambda f: _needed_tb(f) > f["usable"] * (1 + TIME_TOLERANCE)),
    ]  # fmt: skip
    names = {"overlap": "max_overlap", "blocking": "max_blocking", "restore": "max_restore_s"}
    there = {
        **{rule: book.has(name) for rule, name in names.items()},
        "interval": True,
        "ingest": scope.limited(book.plan, "ingest"),
        "capacity": scope.limited(book.plan, "capacity") and _knows_capacity(book),
    }
    return [rule for rule in rules if there[rule.name]]


def _at_most(name: str, value: str, limit: str, figure: Callable[[Figures], float]) -> _Rule:
    return _Rule(
        name,
        f"ISNUMBER({limit})*({value}>{limit}*{_ABOVE})",
        lambda f: f.has(limit) and figure(f) > f[limit] * (1 + TIME_TOLERANCE),
    )


_NEEDED_TB = "(other_data_tb+checkpoints_held*{size}/1000)/fill_limit"


def _needed_tb(f: Figures) -> float:
    data_tb = f["other_data_tb"] + f["checkpoints_held"] * f["size"] / 1000
    return data_tb / f["fill_limit"]


def _knows_capacity(book: Book) -> bool:
    """Return whether the capacity can be judged: every line of storage says what it holds."""
    names = ("other_data_tb", "checkpoints_held", "fill_limit", "usable_tb", "bom_usable_tb_flag")
    return book.has(*names) and not book.value("bom_usable_tb_flag")


def _degraded() -> list[Step]:
    def rate(f: Figures, kind: str) -> float:
        rated = max(0.0, f[f"rated_{kind}"] - f[f"lost_{kind}_gb_per_s"])
        return min(f[f"share_{kind}"] * rated, f[f"client_{kind}_limit_gb_per_s"])

    def formula(kind: str) -> str:
        lost = f"{{rated_{kind}}}-lost_{kind}_gb_per_s"
        return f"MIN({{share_{kind}}}*MAX(0,{lost}),client_{kind}_limit_gb_per_s)"

    def sync(f: Figures) -> bool:
        return f.text("save_mode") == "sync"

    return [
        Step("held_write", "Delivered write, degraded, GB/s", formula("write"),
             lambda f: rate(f, "write")),
        Step("held_read", "Delivered read, degraded, GB/s", formula("read"),
             lambda f: rate(f, "read")),
        Step("held_save", "Write of one checkpoint, degraded, s", "{size}/{held_write}",
             lambda f: f["size"] / f["held_write"], DECIMAL_3),
        Step("held_stall", "Stall, degraded, s",
             'IF(save_mode="sync",{held_save},{stall_given})',
             lambda f: f["held_save"] if sync(f) else f["stall_given"], DECIMAL_3),
        Step("held_drain", "Drain, degraded, s", 'IF(save_mode="sync",0,{held_save})',
             lambda f: 0.0 if sync(f) else f["held_save"], DECIMAL_3),
        Step("held_restore", "Restore read, degraded, s", "fan_out*{size}/{held_read}",
             lambda f: f["fan_out"] * f["size"] / f["held_read"], DECIMAL_2),
    ]  # fmt: skip
