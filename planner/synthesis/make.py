"""Make a trace: run the clusters one after another, and write what each leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from planner.schema.synthesis import ClusterTruth, JobTruth, Truth
from planner.synthesis import truth as true
from planner.synthesis.clusters import Clusters
from planner.synthesis.job_log import Told, events
from planner.synthesis.quality import Quality
from planner.synthesis.samples import Sampler
from planner.synthesis.text_files import LogFile, TruthFile
from planner.synthesis.trace_files import Format, TraceFile, opened
from planner.whole_files import whole

_FAULTS = 1
"""Marks random numbers that are not the simulation's."""


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


@dataclass(frozen=True)
class _Files:
    """The files of a trace while they are being written."""

    trace: TraceFile
    truth: TruthFile
    log: LogFile


def make(
    clusters: Clusters,
    quality: Quality,
    targets: Targets,
    *,
    plans: Sequence[str],
    kind: Format = "csv",
    seed: int = 1,
    told: Callable[[int, int], None] | None = None,
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
        told: what is told how many of how many samples are made.
        written_as: how a job's name is written in the log.

    Raises:
        InputError: a file cannot be written; the former files then stay.
    """
    made, named = Made(), len(clusters.names) > 1
    record = true.truth(quality, plans=plans, trace=targets.trace.name, seed=seed)
    with _files(targets, kind, quality, record, named=named) as files:
        for number, name in enumerate(clusters.names):
            history = clusters.history(number, quality.sampled_s, seed)
            files.log.write(name, _renamed(events(history), written_as))
            sampler = Sampler(history, quality, (seed, number, _FAULTS), clusters.ingest_gb_per_s)
            for block in sampler.blocks():
                files.trace.write(name, block)
                if told is not None:
                    told(made.samples + sampler.done, quality.samples * len(clusters.names))
            truth = true.of_cluster(name, history, clusters.jobs, quality, sampler)
            files.truth.write(truth)
            made.add(truth)
    return made


@contextmanager
def _files(
    targets: Targets, kind: Format, quality: Quality, record: Truth, *, named: bool
) -> Iterator[_Files]:
    with (
        whole((targets.trace, targets.truth, targets.log)) as (trace, truth, log),
        closing(opened(trace, kind, quality, named)) as traces,
        closing(TruthFile(truth, record)) as truths,
        closing(LogFile(log, quality, named)) as logs,
    ):
        yield _Files(traces, truths, logs)


def _renamed(told: Iterable[Told], written_as: Callable[[str], str]) -> Iterator[Told]:
    return ((at_s, written_as(job), event) for at_s, job, event in told)
