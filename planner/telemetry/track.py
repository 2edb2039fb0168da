"""A job while it is being found: its size, its rhythm, and the bursts that are its checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from planner.telemetry.figures import scatter
from planner.telemetry.raw import Numbers, Places
from planner.telemetry.rhythm import neighbours

WHOLE, INFERRED, CUT = 0, 1, 2
"""What an event is: a burst of its own, a part of one, one that a hole in the trace cuts."""

MOST_MISSED = 40
"""A rhythm is followed over so many intervals without an event."""


@dataclass(frozen=True)
class Track:
    """A job's events in order of time.

    Attributes:
        size_gb, drain_s: of its checkpoints, the usual ones.
        interval_s, tolerance_s: its rhythm, and how far a gap may be from it.
        spread: scatter of its sizes, as a share.
        times: when its checkpoints begin, elapsed s.
        places: the burst of each.
        kinds: what each is.
        hints: times at which further ones were made out before all jobs were known.
    """

    size_gb: float
    drain_s: float
    interval_s: float
    tolerance_s: float
    spread: float
    times: Numbers
    places: Places
    kinds: NDArray[np.int8]
    hints: Numbers = field(default_factory=lambda: np.zeros(0))

    @property
    def seen(self) -> Numbers:
        """When its checkpoints begin; what was made out before where none is sure yet."""
        return self.times if len(self.times) else self.hints

    @property
    def start_s(self) -> float:
        """When its first checkpoint begins."""
        return float(self.seen[0])

    @property
    def end_s(self) -> float:
        """When its last checkpoint begins."""
        return float(self.seen[-1])

    def with_events(self, times: Numbers, places: Places, kinds: int | NDArray[np.int8]) -> Track:
        """Return the job with further events, of one kind or each of its own."""
        every = np.concatenate((self.times, times))
        order = np.argsort(every, kind="stable")
        more = np.broadcast_to(np.asarray(kinds, dtype=np.int8), len(times))
        return replace(
            self,
            times=every[order],
            places=np.concatenate((self.places, places))[order],
            kinds=np.concatenate((self.kinds, more))[order],
        )

    def multiples(self, slack_s: Numbers | None = None) -> NDArray[np.int64]:
        """Return how many intervals each gap is, 0 where it is no multiple.

        Args:
            slack_s: how far each gap may be from one interval, by default the tolerance.
        """
        slack_s = np.full(len(self.times) - 1, self.tolerance_s) if slack_s is None else slack_s
        gaps = np.diff(self.times)
        count = np.maximum(np.round(gaps / self.interval_s), 1.0)
        off = np.abs(gaps - count * self.interval_s)
        fits = off <= slack_s * np.sqrt(count)
        return np.where(fits & (count <= MOST_MISSED), count, 0).astype(np.int64)

    def expected(self) -> Numbers:
        """Return when the rhythm asks for checkpoints that are not among the events, in order."""
        if not len(self.times):
            return self.hints
        count = self.multiples()
        found = [self.times[-1:] + self.interval_s, self.times[:1] - self.interval_s]
        found.append(self._new(self.hints))
        broken = count == 0
        found.append(self.times[:-1][broken] + self.interval_s)
        found.append(self.times[1:][broken] - self.interval_s)
        gaps = np.diff(self.times)
        for many in np.unique(count[count > 1]):
            which = count == many
            for step in range(1, int(many)):
                found.append(self.times[:-1][which] + gaps[which] * step / many)
        return np.sort(np.concatenate(found))

    def _new(self, times: Numbers) -> Numbers:
        """Return the times that are not near an event."""
        if len(self.times) < 2:
            return times
        before, after = neighbours(self.times, times)
        near = np.minimum(times - before, after - times) < 0.5 * self.interval_s
        return np.asarray(times[~near])

    def is_steady(self) -> bool:
        """Return whether the rhythm is kept more often than broken: else chance made it."""
        kept = self.multiples() > 0
        return bool(len(kept) and np.mean(kept) >= 0.5)

    def anchors(self) -> Track:
        """Return the job with the events whose time is sure; all of them where none is."""
        sure = self.kinds != INFERRED
        return self.cleaned(sure) if sure.any() else self

    def cleaned(self, which: NDArray[np.bool_]) -> Track:
        """Return the job with some of its events, the others as hints."""
        return replace(
            self,
            times=self.times[which],
            places=self.places[which],
            kinds=self.kinds[which],
            hints=np.sort(np.concatenate((self.hints, self.times[~which]))),
        )

    def refitted(self, sample_s: float) -> Track:
        """Return the job with its rhythm measured anew over its events."""
        count = self.multiples()
        one = count == 1
        if one.sum() < 2:
            return self
        gaps = np.diff(self.times)[one]
        interval = float(np.median(gaps))
        low = max(0.02 * interval, 1.5 * sample_s)
        tolerance = min(max(4 * scatter(gaps), low), max(0.12 * interval, low))
        return replace(self, interval_s=interval, tolerance_s=tolerance)
