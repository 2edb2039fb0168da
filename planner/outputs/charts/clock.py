"""The axis of time of a trace: round times, in UTC where the trace has dates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime

from planner.outputs.charts.amounts import plain
from planner.outputs.charts.model import Axis
from planner.outputs.words import DAY_S, HOUR_S, MINUTE_S

_MOST_TICKS = 8
_STEPS_S = (
    1.0, 5.0, 10.0, 30.0, MINUTE_S, 2 * MINUTE_S, 5 * MINUTE_S, 10 * MINUTE_S, 15 * MINUTE_S,
    30 * MINUTE_S, HOUR_S, 2 * HOUR_S, 3 * HOUR_S, 6 * HOUR_S, 12 * HOUR_S, DAY_S, 2 * DAY_S,
    7 * DAY_S, 14 * DAY_S, 28 * DAY_S, 56 * DAY_S,
)  # fmt: skip
_FIRST_S, _LAST_S = -62_135_596_800.0, 253_402_300_799.0
"""The times that have a date of four digits."""


def time_axis(start_s: float, end_s: float, clock: str) -> Axis:
    """Return the axis of a stretch of a trace.

    Args:
        start_s: where it begins, on the trace's clock.
        end_s: where it ends.
        clock: ``unix`` for seconds since 1970, else the zero is the trace's own.
    """
    dated = clock == "unix" and start_s >= _FIRST_S and end_s <= _LAST_S
    step = _step(end_s - start_s)
    places = list(_places(start_s, end_s, step))
    if not dated:
        size, unit = _unit(end_s)
        ticks = tuple((place, plain(place / size)) for place in places)
        return Axis("time from the zero of the trace", unit, ticks=ticks)
    layout = "%m-%d" if step >= DAY_S else "%H:%M:%S" if step < MINUTE_S else "%H:%M"
    days = [datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d") for at in (start_s, end_s)]
    if step < DAY_S and end_s - start_s > DAY_S:
        layout = f"%m-%d {layout}"
    ticks = tuple((at, datetime.fromtimestamp(at, UTC).strftime(layout)) for at in places)
    return Axis(" to ".join(dict.fromkeys(days)), "UTC", ticks=ticks)


def _step(span_s: float) -> float:
    for step in _STEPS_S:
        if span_s / step <= _MOST_TICKS:
            return step
    return _STEPS_S[-1] * math.ceil(span_s / _STEPS_S[-1] / _MOST_TICKS)


def _places(start_s: float, end_s: float, step: float) -> Iterator[float]:
    for count in range(math.ceil(start_s / step), math.floor(end_s / step) + 1):
        yield count * step


def _unit(seconds: float) -> tuple[float, str]:
    for size, unit in ((DAY_S, "days"), (HOUR_S, "h"), (MINUTE_S, "min")):
        if seconds >= 2 * size:
            return size, unit
    return 1.0, "s"
