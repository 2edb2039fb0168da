"""Clusters that run plans, each with failures of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.schema.plan import JobPlan, Plan
from planner.simulation.disturbances import draw
from planner.simulation.history import History
from planner.simulation.record import record
from planner.simulation.world import World, appliances, job_run, world_of


@dataclass(frozen=True)
class Clusters:
    """So many equal clusters; on each, the jobs of all plans share the storage of the first."""

    world: World
    jobs: tuple[JobPlan, ...]
    names: tuple[str, ...]

    @property
    def ingest_gb_per_s(self) -> tuple[float, ...]:
        """How fast each job reads training data while it computes."""
        return tuple(job.ingest_gb_per_s for job in self.jobs)

    def history(self, cluster: int, length_s: float, seed: int) -> History:
        """Return what happens on one of the clusters.

        Args:
            cluster: which one, from 0 on; the first runs as ``planner simulate`` has it.
            length_s: for how long.
            seed: of all that is drawn.
        """
        return record(self.world, draw(self.world, length_s, seed, block=cluster), length_s)[0]


def clusters(plans: Sequence[Plan], count: int) -> Clusters:
    """Return clusters that run the jobs of plans that have one.

    Args:
        plans: a plan for each job; jobs of one name are numbered.
        count: how many clusters.
    """
    jobs = [plan.jobs[0] for plan in plans]
    stores = appliances(plans[0])
    beside = [job_run(job, stores) for job in jobs[1:]]
    world = world_of(plans[0], beside=beside)
    names = _numbered([job.name for job in jobs])
    runs = tuple(replace(run, name=name) for run, name in zip(world.jobs, names, strict=True))
    digits = len(str(count))
    numbers = tuple(f"cluster-{number:0{digits}}" for number in range(1, count + 1))
    return Clusters(replace(world, jobs=runs), tuple(jobs), numbers)


def _numbered(names: Sequence[str]) -> list[str]:
    seen: Counter[str] = Counter()
    found: list[str] = []
    for name in names:
        seen[name] += 1
        own = name if seen[name] == 1 else f"{name} {seen[name]}"
        while own in found:
            seen[name] += 1
            own = f"{name} {seen[name]}"
        found.append(own)
    return found
