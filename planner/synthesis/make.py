"""Make a trace: run clusters one after another, and write what each leaves.

Each cluster runs the same plans, with failures of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from planner.schema.plan import JobPlan, Plan
from planner.schema.synthesis import ClusterTruth, JobTruth
from planner.simulation.disturbances import draw
from planner.simulation.history import History
from planner.simulation.record import record
from planner.simulation.world import World, appliances, job_run, world_of
from planner.synthesis import truth as true
from planner.synthesis.files import Format, LogFile, TruthFile, open_trace
from planner.synthesis.quality import Quality
from planner.synthesis.samples import Sampler
from planner.synthesis.truth import events
from planner.whole_files import whole

_FAULTS = 1
"""Marks random numbers that are not the simulation's."""


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


def clusters_of(plans: Sequence[Plan], count: int) -> Clusters:
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


@dataclass(frozen=True)
class Targets:
    """Where the files of a trace go."""

    trace: Path
    truth: Path
    log: Path


@dataclass
class Made:
    """What was written, over all clusters."""

    jobs: tuple[JobTruth, ...] = ()
    clusters: int = 0
    samples: int = 0
    missing: int = 0
    checkpoints: int = 0
    broken_off: int = 0
    restores: int = 0
    interruptions: int = 0
    peak_write_gb_per_s: float = 0.0
    peak_read_gb_per_s: float = 0.0

    def add(self, cluster: ClusterTruth) -> None:
        """Count what happened on a cluster, too."""
        self.jobs = self.jobs or cluster.jobs
        self.clusters += 1
        self.samples += cluster.samples
        self.missing += cluster.missing
        whole_ones = sum(one.complete for one in cluster.checkpoints)
        self.checkpoints += whole_ones
        self.broken_off += len(cluster.checkpoints) - whole_ones
        self.restores += sum(one.complete for one in cluster.restores)
        self.interruptions += len(cluster.interruptions)
        self.peak_write_gb_per_s = max(self.peak_write_gb_per_s, cluster.peak_write_gb_per_s)
        self.peak_read_gb_per_s = max(self.peak_read_gb_per_s, cluster.peak_read_gb_per_s)


def make(
    clusters: Clusters,
    quality: Quality,
    targets: Targets,
    *,
    plans: Sequence[str],
    kind: Format = "csv",
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
    written_as: Callable[[str], str] = str,
) -> Made:
    """Write the trace of some clusters, the truth behind it, and their jobs' log.

    Args:
        clusters: what runs.
        quality: how it is sampled.
        targets: where the files go.
        plans: the files that it is made from, for the record.
        kind: CSV or Parquet.
        seed: of all that is drawn; the same gives the same bytes.
        progress: is told how many of how many samples are made.
        written_as: how a job's name is written in the log.

    Raises:
        InputError: a file cannot be written; the former files then stay.
    """
    made, named = Made(), len(clusters.names) > 1
    record = true.truth(quality, plans=plans, trace=targets.trace.name, seed=seed)
    with (
        whole((targets.trace, targets.truth, targets.log)) as (trace, truth, log),
        closing(open_trace(trace, kind, quality, named)) as traces,
        closing(TruthFile(truth, record)) as truths,
        closing(LogFile(log, quality, named)) as logs,
    ):
        for number, name in enumerate(clusters.names):
            history = clusters.history(number, quality.sampled_s, seed)
            logs.write(name, ((at_s, written_as(job), what) for at_s, job, what in events(history)))
            sampler = Sampler(history, quality, (seed, number, _FAULTS), clusters.ingest_gb_per_s)
            for block in sampler.blocks():
                traces.write(name, block)
                if progress is not None:
                    progress(made.samples + sampler.done, quality.samples * len(clusters.names))
            happened = true.of_cluster(name, history, clusters.jobs, quality, sampler)
            truths.write(happened)
            made.add(happened)
    return made
