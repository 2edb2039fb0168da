"""How far the goodput of a job that goes on with fewer replicas is from what it keeps.

The law of the rules takes means where states differ; `planner.sizing.states` takes the states.
"""

from __future__ import annotations

import math
from dataclasses import replace

from planner.case import Case
from planner.optimizer.operate import Run, on_two_levels, short_of_units
from planner.sizing import states, two_levels
from planner.sizing.availability import Shrinking
from planner.sizing.goodput import mtti_s


def off_by(case: Case, o: Run) -> float | None:
    """Return which share more a run keeps than its goodput says, less below 0, state by state; None
    where there are too many states.

    Of two levels the far one is left out of both, for both take it at one rate of failures; what
    that leaves out is added: the same at the rate of each state.

    Args:
        case: the case.
        o: how the job runs.
    """
    job, repair = case.job, case.job.repair
    ((_, way),) = case.in_use(o.used, o.ways)
    assert repair is not None and o.shrunk is not None
    count, least = o.gpus // way.step_gpus, way.least_running
    units = way.spare_unit.in_use(o.gpus) + o.spares
    shape = Shrinking(units, way.spare_unit.holding_gpus, way.step_gpus, count, least)
    running = [shape.running(0)]
    while running[-1]:
        running.append(shape.running(len(running)))
    running, shares = states.likely(running, repair.load(o.failures_per_gpu_day, o.gpus))
    full_s = mtti_s(o.failures_per_gpu_day, o.gpus)
    law, restart_s, ratio = o.goodput, job.restart_s + o.restore_s, 1.0
    computed_s = o.interval_s - o.stall_s
    after: tuple[tuple[float, float], ...] = ((1.0, restart_s),)
    if o.mode == "local" and job.levels is not None:
        near, far = job.levels.local_restart_s, job.levels.remote_share
        safe_s, after = o.local_drain_s, ((1.0 - far, near), (far, restart_s))
        alone = replace(o, every=1, drain_s=0.0)
        law = two_levels.goodput(on_two_levels(job, alone)) * o.kept_by_swaps
        law *= 1.0 - short_of_units(job, alone, o.shrunk)
        ratio = _spread(case, o, running, shares) / _spread(case, alone, running, shares)
    else:
        safe_s = o.drain_s
        computed_s -= o.drain_s * (0.0 if o.mode == "sync" else job.drain_slowdown)
    rhythm = states.Rhythm(o.interval_s, computed_s, safe_s, after, repair.hardware_share,
                           repair.swap_s, repair.repair_s)  # fmt: skip
    kept = states.kept(running, 1.0 / full_s / count, rhythm)
    return None if kept is None or law <= 0.0 else kept / law * ratio - 1.0


def _spread(case: Case, o: Run, running: list[int], shares: list[float]) -> float:
    """Return the goodput of two levels, of states each at its own rate of failures over that of
    all at their mean."""
    works = [share * now for share, now in zip(shares, running, strict=True)]
    levels = on_two_levels(case.job, o)
    full_s = mtti_s(o.failures_per_gpu_day, o.gpus)
    seen = math.fsum(w * now for w, now in zip(works, running, strict=True)) / math.fsum(works)
    mean = two_levels.goodput(replace(levels, mtti_s=full_s * running[0] / seen))
    each = (
        work * two_levels.goodput(replace(levels, mtti_s=full_s * running[0] / now))
        for work, now in zip(works, running, strict=True) if now
    )  # fmt: skip
    return math.fsum(each) / math.fsum(works) / mean
