"""How far the goodput of a job that goes on with fewer replicas is from what it keeps.

The law of the rules takes means where states differ; `planner.sizing.states` takes the states.
"""

from __future__ import annotations

from planner.case import Case
from planner.optimizer.operate import Run
from planner.sizing import states
from planner.sizing.availability import Shrinking
from planner.sizing.goodput import mtti_s


def off_by(case: Case, o: Run) -> float | None:
    """Return by what share a run keeps more than its goodput states, less below 0; None where there
    are too many states to tell.

    Args:
        o: how the job runs.
    """
    job, repair = case.job, case.job.repair
    ((_, way),) = case.in_use(o.used, o.ways)
    assert repair is not None and repair.shrinks
    count, least = o.gpus // way.step_gpus, way.least_running
    units = way.spare_unit.in_use(o.gpus) + o.spares
    shape = Shrinking(units, way.spare_unit.holding_gpus, way.step_gpus, count, least)
    running = [shape.running(0)]
    while running[-1]:
        running.append(shape.running(len(running)))
    running = states.likely(running, repair.load(o.failures_per_gpu_day, o.gpus))
    slowed_s = 0.0 if o.mode == "sync" else job.drain_slowdown * o.drain_s / o.every
    computed_s = o.interval_s - o.stall_s - slowed_s
    restart_s, mends = job.restart_s + o.restore_s, (repair.hardware_share, repair.swap_s)
    rhythm = states.Rhythm(o.interval_s, computed_s, o.drain_s, ((1.0, restart_s),), *mends,
                           repair.repair_s)  # fmt: skip
    if o.mode == "local" and job.levels is not None:
        near, far = job.levels.local_restart_s, job.levels.remote_share
        rhythm = rhythm._replace(
            safe_s=o.local_drain_s, restarts=((1.0 - far, near), (far, restart_s)),
            every=o.every, drain_s=o.drain_s, drain_restarts=job.levels.drain_restarts,
            slowed_s=slowed_s,
        )  # fmt: skip
    each_s = mtti_s(o.failures_per_gpu_day, way.step_gpus)
    kept = states.kept(running, 1.0 / each_s, rhythm)
    return None if kept is None or o.goodput <= 0.0 else kept / o.goodput - 1.0
