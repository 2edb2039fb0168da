"""The inputs nobody can be sure of: from where to where each is asked about, and why so far."""

from __future__ import annotations

from dataclasses import dataclass

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.formats import DECIMAL_1, DECIMAL_2, PERCENT, SMALL
from planner.sizing.checkpoint import BYTES_PER_PARAMETER
from planner.sizing.reliability import FAILURES_PER_GPU_DAY


@dataclass(frozen=True)
class Question:
    """An input that is asked about: what if it were so much of what it is.

    ``key`` is the figure of the model that varies, ``name`` its cell; ``low`` and ``high`` are
    factors to begin with, ``share`` a figure that cannot be above 1.
    """

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

_ALL = (
    Question(
        "failures", "failures_per_gpu_day", "Failures per GPU and day", "1/day", 0.5, 2.0, SMALL,
        f"published rates run from {_range(_RATES, '.2g')} per GPU and day",
    ),
    Question(
        "size", "checkpoint_gb", "Checkpoint size", "GB", 0.5, 2.0, DECIMAL_1,
        f"from {_range(_BYTES, 'g')} bytes per parameter, by what the optimizer keeps",
    ),
    Question(
        "share_write", "delivered_fraction_write", "Delivered share of the rated write bandwidth",
        "share", 0.5, 1.25, PERCENT, "production systems have shown 16 % to 40 % for writes; "
        "at most 100 %", share=True,
    ),
    Question(
        "share_read", "delivered_fraction_read", "Delivered share of the rated read bandwidth",
        "share", 0.75, 1.25, PERCENT, "reads come nearer to the rating than writes; at most 100 %",
        share=True,
    ),
    Question(
        "stall_given", "async_stall_s", "Stall of one checkpoint", "s", 0.5, 2.0, DECIMAL_2,
        "depends on the training framework and on host memory; not measured on this cluster",
    ),
    Question(
        "restart", "restart_s", "Restart without the read", "s", 0.5, 2.0, DECIMAL_1,
        "depends on detection, on spare systems and on the scheduler",
    ),
    Question(
        "slowdown", "drain_slowdown", "Slowdown of the GPUs while draining", "share", 0.5, 2.0,
        PERCENT, "depends on how saving shares hosts and network with the training; at most 100 %",
        share=True,
    ),
    Question(
        "mfu", "mfu", "Model FLOP/s utilisation (MFU)", "share", 0.75, 1.25, PERCENT,
        "changes the days to train, not the useful GPUs; at most 100 %", share=True,
    ),
)  # fmt: skip


def questions(book: Book) -> list[Question]:
    """Return what is asked about this plan: what it has, and what can matter to it.

    Args:
        book: the workbook, with the names of Checkpoint defined.
    """
    return [question for question in _ALL if _matters(book, question)]


def _matters(book: Book, question: Question) -> bool:
    if question.key in ("stall_given", "slowdown"):
        # A synchronous save has no stall but the write; no slowdown asks no question.
        return book.value("save_mode") != "sync" and bool(book.number(question.name))
    return book.number(question.name) is not None
