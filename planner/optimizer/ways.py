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

import math
from dataclasses import replace

from planner.case import Case, System, Way
from planner.case.model import Job
from planner.optimizer.branch import Found, Goal, Node, solve
from planner.optimizer.master import Master, families_of, flags_of, parts_of


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
    alike = replace(
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
    return (
        alike == one
        and one.tflops_per_gpu >= other.tflops_per_gpu
        and one.power_share <= other.power_share
        and other.step_gpus % one.step_gpus == 0
        and one.least_gpus <= other.least_gpus
        and one.bubble <= other.bubble
        and (_replicas(one) == _replicas(other) or not _of_replicas(case.job))
        and set(case.unplaced.get(one.id, ())) <= set(case.unplaced.get(other.id, ()))
    )


def _replicas(way: Way) -> tuple[int | None, int, int, int]:
    return way.replica_gpus, way.step_gpus, way.min_replicas, way.least_running


def _of_replicas(job: Job) -> bool:
    """Say whether the size of a replica decides more than which numbers of GPUs can be used."""
    shrinks = job.repair is not None and job.repair.shrinks
    each = job.one_replica_writes or job.one_replica_reads or job.fan_out != "broadcast"
    return each or shrinks


# Where several ways are left, each is searched by itself: a purchase for one way is a small
# problem. Linear programs alone rule most ways out once there is a plan in one, and of the others
# the model is asked for better plans only.


AHEAD = 1e-6
"""By how much less than better a plan may be that the model is still asked for: more than the
solver's tolerance."""


def divide_ways(master: Master, goal: Goal, node: Node, found: Found) -> list[Node]:
    """Return a part for each way that is left, with the bound of its relaxation; of a way for each
    family of storage, where there are many products.

    None where the node knows both already, or there is but one.
    """
    choices = (flags_of(master), families_of(master))
    open_ones = (flags for flags in choices if all(f.name not in node.bounds for f in flags))
    flags = next((flags for flags in open_ones if flags), [])
    parts = []
    for flag in flags:
        if master.original(flag)[1] < 0.5:
            continue
        part = Node(node.bound, {**node.bounds, flag.name: (flag, 1.0, 1.0)})
        bound_part(master, goal, part, found)
        parts.append(part)
    return parts


def bound_part(master: Master, goal: Goal, part: Node, found: Found) -> None:
    """Bound a part by its relaxation."""
    master.narrow(part.bounds)
    outcome = solve(master, goal, relaxed=True)
    if outcome.status == "infeasible":
        part.bound = bound_of_none(master, goal, found)
    elif outcome.bound is not None:
        part.bound = (min if goal.maximise else max)(part.bound, outcome.bound)


def ask_for_better(master: Master, goal: Goal, node: Node, found: Found) -> None:
    """Hold the model to plans that are sought: no worse than the best one found, where ways are
    searched one by one, or counts before."""
    asked = found.asked(goal)
    one_by_one = node.counted or master.final or parts_of(master) or found.least is not None
    if asked is None or not one_by_one:
        return
    margin = AHEAD * max(1.0, abs(asked))
    sign = -1.0 if goal.maximise else 1.0
    master.ask_for(sign * goal.expression, sign * asked + margin)


def bound_of_none(master: Master, goal: Goal, found: Found) -> float:
    """Return the bound of a part in which the model has nothing, or nothing that is sought."""
    asked = found.asked(goal)
    if master.asked is not None and asked is not None:
        return asked
    return -math.inf if goal.maximise else math.inf


def holds(master: Master, goal: Goal, node: Node, found: Found) -> bool:
    """Say whether a part holds the plan in hand, and that is asked for: all parts of the search do,
    and all of the plan's way and family."""
    if found.asked(goal) != found.value:
        return False
    build, run = master.build, found.operation
    if run is None:
        return not node.bounds
    families = {item.family for item in build.case.bought(run.units)}
    for name, (_, low, high) in node.bounds.items():
        what, known = build.decided_by.get(name, ("", ""))
        value: float | None = None
        if what == "way":
            value = float(known in run.ways)
        elif what == "family":
            value = float(known in families)
        elif what == "count" and node.counted:
            value = float(run.units.get(known, 0))
        if value is None and node.counted:
            continue
        if value is None or not low <= value <= high:
            return False
    return True
