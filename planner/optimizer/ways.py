"""Ways of running the job that no plan needs, because another does all they do and no less.

Take a plan that runs in way b, and run it in way a of the same type instead: the same units, GPUs
in use, interval and mode. Where a

- counts GPUs in steps that divide b's, asks for no more of them at least, allows no fewer at most,
  and fills systems as b does, N is one of its numbers, on as many systems;
- is interrupted, mended, checkpointed and restored as b is, goodput E is the same to the last bit;
- provisions no more power, no sum over the bill is larger;
- has no lower rate and no larger bubble, of as many copies of the model, useful work N E f s(N)
  is no less, s the law of scale;

every limit that the plan keeps it keeps in a, since every limit is a ceiling on the bill, a floor
on work, or of what is the same in both; and the objective is no worse. So b goes, whatever is
asked. Where the size of a replica decides more, it must be the same: how often a restore reads it,
the systems that write or read one replica, what is left when a job goes on without one.
"""

from __future__ import annotations

from dataclasses import replace

from planner.case import Case, System, Way
from planner.case.model import Job


def needed(case: Case) -> Case:
    """Return the case without the ways that no plan needs; of ways that are alike the first stays.

    The ways that stay keep their ids and their order.
    """
    systems = tuple(
        replace(system, ways=_needed(case, system)) if len(system.ways) > 1 else system
        for system in case.systems
    )
    if sum(len(system.ways) for system in systems) == len(case.ways):
        return case
    return replace(case, systems=systems)


def _needed(case: Case, system: System) -> tuple[Way, ...]:
    kept: list[Way] = []
    for way in system.ways:
        if any(_covers(case, other, way) for other in kept):
            continue
        kept = [other for other in kept if not _covers(case, way, other)]
        kept.append(way)
    return tuple(sorted(kept, key=system.ways.index))


def _covers(case: Case, one: Way, other: Way) -> bool:
    """Say whether every plan in the other way is one in this, and no worse."""
    no_worse = (
        one.tflops_per_gpu >= other.tflops_per_gpu
        and one.power_share <= other.power_share
        and other.step_gpus % one.step_gpus == 0
        and one.least_gpus <= other.least_gpus
        and one.bubble <= other.bubble
        and (_replicas(one) == _replicas(other) or not _of_replicas(case.job))
        and set(case.unplaced.get(one.id, ())) <= set(case.unplaced.get(other.id, ()))
    )
    return no_worse and one == replace(
        other,
        id=one.id,
        choice=one.choice,
        tflops_per_gpu=one.tflops_per_gpu,
        power_share=one.power_share,
        step_gpus=one.step_gpus,
        min_replicas=one.min_replicas,
        least_running=one.least_running,
        bubble=one.bubble,
        replica_gpus=one.replica_gpus,
        tensor_gpus=one.tensor_gpus,
        option=one.option,
    )


def _replicas(way: Way) -> tuple[int | None, int, int, int]:
    return way.replica_gpus, way.step_gpus, way.min_replicas, way.least_running


def _of_replicas(job: Job) -> bool:
    """Say whether the size of a replica decides more than which numbers of GPUs can be used."""
    shrinks = job.repair is not None and job.repair.shrinks
    each = job.one_replica_writes or job.one_replica_reads or job.fan_out != "broadcast"
    return each or shrinks
