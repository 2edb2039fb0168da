"""Checkpoints of a job alone repeat until something disturbs it: whole cycles in one step."""

from __future__ import annotations

import numpy as np

from planner.simulation.lane_state import RUN, WAIT, Cells, LaneState


def skip_cycles(lanes: LaneState, cells: Cells) -> None:
    """Take whole cycles up to the next disturbance in one step.

    A cycle of a job alone goes from the end of a capture to the end of the next one, or from the
    start of computing to the end of a synchronous write.

    Args:
        lanes: runs of one job.
        cells: those at the start of a cycle.
    """
    now = lanes.now[cells]
    until = np.minimum(lanes.next_failure[cells], lanes.next_planned[cells])
    until = np.minimum(np.minimum(until, lanes.next_change[cells]), lanes.length_s)
    with np.errstate(divide="ignore"):
        drain = lanes.checkpoint[cells] / lanes.alone_write[cells]
    sync, compute = lanes.sync[cells], lanes.compute[cells]
    cycle = np.where(sync, compute + drain, np.maximum(compute, drain) + lanes.stall[cells])
    times = np.floor((until - now) / cycle)
    there = times > 0
    cells, now, until = cells[there], now[there], until[there]
    times, drain, sync = times[there], drain[there], sync[there]
    compute, cycle = compute[there], cycle[there]
    slow = lanes.slowdown[cells] * np.minimum(drain, compute)
    waits = np.where(sync, 0.0, np.maximum(0.0, drain - compute))
    lanes.slow[cells] += times * slow
    lanes.work[cells] += times * (compute - slow)
    lanes.captured[cells] = lanes.work[cells]
    lanes.safe[cells] = lanes.work[cells] - np.where(sync, 0.0, compute - slow)
    stood = np.where(sync, drain, lanes.stall[cells])
    lanes.spent[RUN * lanes.cells + cells] += times * stood
    lanes.spent[WAIT * lanes.cells + cells] += times * waits
    lanes.waited[cells] += times * (waits > 0)
    lanes.now[cells] = np.minimum(now + times * cycle, until)
    lanes.until[cells] += times * cycle
