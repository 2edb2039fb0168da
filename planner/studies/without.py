"""The levers that a plan decides, and the problem without each: what a lever is worth is the rest.

A lever is left out by the change that fixes it where it would stand if nobody had thought of it:
GPUs at full power, no spares, waiting where units are short, checkpoints on storage alone, the
first precision. Spares are also moved by one, which says why there are so many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.inputs import Change, Inputs
from planner.paths import job_path


@dataclass(frozen=True)
class LeftOut:
    """A lever left out or fixed elsewhere: what that is called, and the change that does it."""

    label: str
    change: Change


def left_out(inputs: Inputs, spares: int | None) -> Iterator[LeftOut]:
    """Yield the problem's open levers, each left out, then its spares moved by one.

    Args:
        inputs: the problem.
        spares: how many stand by in its best plan; None where their number cannot be given.
    """
    job = inputs.problem.job
    if job.power is not None and job.power.asked != (1.0,):
        yield LeftOut("GPUs at full power", Change(job_path("power.points"), 1.0, "100 %"))
    precision = job.training.precision
    if isinstance(precision, tuple) and len(precision) > 1:
        change = Change(job_path("training.precision"), precision[0], precision[0])
        yield LeftOut(f"{precision[0]} alone", change)
    local = job.checkpoint.local
    if local is not None and local.use != "no":
        change = Change(job_path("checkpoint.local.use"), "no", "no")
        yield LeftOut("checkpoints on storage alone", change)
    if job.repair is not None and job.repair.when_short == "shrink":
        change = Change(job_path("repair.when_short"), "wait", "wait")
        yield LeftOut("waiting where units are short", change)
    yield from _spares(inputs, spares)


def _spares(inputs: Inputs, spares: int | None) -> Iterator[LeftOut]:
    repair = inputs.problem.job.repair
    if repair is None or repair.spares != "open" or spares is None:
        return
    path = job_path("repair.spares")
    if spares > 0:
        yield LeftOut("no spares", Change(path, 0, "0"))
    if spares > 1:
        yield LeftOut(f"one spare less ({spares - 1})", Change(path, spares - 1, f"{spares - 1}"))
    yield LeftOut(f"one spare more ({spares + 1})", Change(path, spares + 1, f"{spares + 1}"))
