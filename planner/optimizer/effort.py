"""How far a search may go: a moment in time, and so much work, which no clock decides."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import ClassVar

WORK_OF_BOX = 1.5e-3
"""Work of one box."""

# Caps of work of each kind of search: a search that reaches one says so in its result ("feasible",
# "undecided", "not settled", "cut") unless noted. Measured on the shipped problems; 1 is 667 boxes.

MOST_WORK = 400.0
"""One search for a plan, 270,000 boxes; the incumbent is taken. Shipped problems: at most 2.3; 1 GW
for least money: 75 (50,191 boxes)."""
MOST_BOXES = 2_000_000
"""Boxes open at once, for memory."""
QUESTION_WORK = 100.0
"""One variant of `explain` or `compare --near`. Of 90 of six problems the longest reach it and
are "undecided"."""
NEXT_WORK = 400.0
"""From where on more of a limit pays, in several questions. Of 22 at most 4.9."""
END_WORK = 100.0
"""The end of an axis of a frontier, and the farthest of plans of equal work: where that is cut a
point is as good, but may lie nearer. Neither is a plan to buy."""
POSSIBLE_WORK = 500.0
"""Whether a changed problem has any plan. Of 53 at most 3.1."""
CONFLICT_WORK = 2000.0
"""The limits of one scenario that conflict: up to six in a sweep."""
REASONS_WORK = 6000.0
"""All of why a problem has no plan, its parts above included: 22."""


@dataclass
class Effort:
    """How far a search may go: up to a moment where the user gave a time, and for so much work.

    Work is boxes looked at (`WORK_OF_BOX` each). It is the same on every machine, however busy, so
    that an answer depends on a clock only where the user asked for one; as a rule a hundred take
    one to five seconds. What is spent counts for the whole that this is a part of, too. ``boxes``
    counts those of the process, for whoever shows how far it is.
    """

    boxes: ClassVar[int] = 0

    deadline: float = math.inf
    most_work: float = MOST_WORK
    whole: Effort | None = None
    work: float = 0.0

    @classmethod
    def within(cls, time_limit_s: float | None) -> Effort:
        """The effort of a time from now on, s; None: no limit of time."""
        return cls(math.inf if time_limit_s is None else time.monotonic() + time_limit_s)

    @property
    def left_s(self) -> float:
        """Time left, s."""
        return self.deadline - time.monotonic()

    @property
    def left_work(self) -> float:
        """Work left, here and in the whole."""
        here = self.most_work - self.work
        return here if self.whole is None else min(here, self.whole.left_work)

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return self.left_s <= 0.0

    @property
    def over(self) -> bool:
        """Whether time or work is over."""
        return self.left_work <= 0.0 or self.late

    def part(self, most_work: float = MOST_WORK, *, share: float = 1.0) -> Effort:
        """A part with so much work at most, and a share of the time left."""
        deadline = self.deadline
        if math.isfinite(deadline):
            deadline = time.monotonic() + share * self.left_s
        return Effort(deadline, most_work, self)

    def look(self, boxes: int) -> None:
        """Count boxes that were looked at."""
        Effort.boxes += boxes
        self.count(WORK_OF_BOX * boxes)

    def count(self, work: float) -> None:
        """Count work, for the whole, too."""
        self.work += work
        if self.whole is not None:
            self.whole.count(work)
