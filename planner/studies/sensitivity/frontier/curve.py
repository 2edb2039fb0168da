"""What every frontier ends with: its points, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass

from planner.optimizer.joint import Certificate
from planner.schema.sensitivity import FrontierMark, FrontierPoint


class Ended(Exception):  # noqa: N818
    """The search ended without a frontier: there is no plan, no proof, or no end to it."""

    def __init__(self, answer: Certificate) -> None:
        super().__init__(answer.status)
        self.answer = answer


@dataclass(frozen=True)
class Curve:
    """Points from the least x on, which of them bends most and is best, and whether all are there.

    ``stopped`` says that the search ended before the end of the curve. ``marks`` are further plans
    to show beside them.
    """

    points: tuple[FrontierPoint, ...]
    knee: int | None
    best: int
    knee_rule: str
    complete: bool
    stopped: bool
    marks: tuple[FrontierMark, ...] = ()
