"""What storage telemetry shows, on the screen: what was read, jobs, clusters, calibration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median

from planner.outputs.comparison_words import counted, listed
from planner.outputs.sensitivity_words import printable
from planner.outputs.size_text import block
from planner.outputs.telemetry_calibration import calibration
from planner.outputs.telemetry_figures import figure, moment
from planner.outputs.telemetry_tables import clusters, jobs
from planner.outputs.telemetry_words import (
    USUAL_OVERLAP,
    labels,
    median_overlap,
    one_line,
    within,
)
from planner.outputs.words import INDENT, duration, percent, wrapped
from planner.schema.telemetry import CONFIDENCE, Characterization, ClusterFound

_READ_AS = {"rate": "rates", "bytes": "bytes in each sample", "counter": "counters that grow"}
_MOST_NAMES = 5
_LONGER = 1.25
"""A window of so many samples and more is told."""

_MOST_NOTES, _LONGEST = 12, 400


def render(record: Characterization) -> str:
    """Return the whole screen, at most 100 columns wide but for commands to copy."""
    parts = [
        _title(record),
        "\n".join(line for text in _findings(record) for line in wrapped(text)),
    ]
    parts += [_read(record), *jobs(record), clusters(record)]
    parts += [_list("Not resolved", _unresolved(record)), _list("Left aside", _aside(record))]
    if record.calibration is not None:
        parts.append(calibration(record.calibration))
    parts.append(_list("Read this too", _notes(record)))
    return printable("\n\n".join(part for part in parts if part) + "\n")


def _title(record: Characterization) -> str:
    found = counted(record.checkpoints, "checkpoint")
    where = counted(len(record.clusters), "cluster")
    return f"Storage telemetry  ({found} of {counted(len(record.jobs), 'job')} on {where})"


def _findings(record: Characterization) -> Iterator[str]:
    """Yield the headline: overlap over checkpoints, jobs that keep to the limit, bandwidth."""
    overlap = median_overlap(record.jobs)
    if overlap is None:
        yield "No job was found: no bursts of one size come in a rhythm."
        return
    rates = [job.write_gb_per_s.value for job in record.jobs]
    if len(rates) == 1:
        most, least = ("", "") if record.jobs[0].resolved else ("at most ", "at least ")
        yield (
            f"The drain of a checkpoint takes {most}{percent(overlap)} of the interval, "
            f"{'under' if within(record.jobs) else 'not under'} {percent(USUAL_OVERLAP, 0)}. "
            f"The job writes at {least}{figure(rates[0], 'GB/s')}."
        )
        return
    yield (
        f"Half of the checkpoints are of jobs whose drain takes {percent(overlap)} of the interval "
        f"or less. {_kept(record)}"
    )
    least, middle, greatest = (
        figure(each, "GB/s") for each in (min(rates), median(rates), max(rates))
    )
    span = middle if least == greatest else f"{least} to {greatest}, {middle} in the median"
    yield f"Jobs write their checkpoints at {span}."


def _kept(record: Characterization) -> str:
    count, limit = len(record.jobs), percent(USUAL_OVERLAP, 0)
    under = within(record.jobs)
    if under == count:
        return f"{'Both' if count == 2 else f'All {count:,}'} jobs stay under {limit}."
    return f"{under:,} of {count:,} jobs ({percent(under / count, 0)}) stay under {limit}."


def _read(record: Characterization) -> str:
    if not record.clusters:
        return ""
    return block("What was read", *_read_texts(record))


def _read_texts(record: Characterization) -> Iterator[str]:
    all_of = record.clusters
    start, end = min(each.start_s for each in all_of), max(each.end_s for each in all_of)
    time_s = sum(each.end_s - each.start_s for each in all_of)
    utc = " (UTC)" if record.clock == "unix" else ""
    span = f"from {moment(start, record.clock)} to {moment(end, record.clock)}{utc}"
    many = "" if len(all_of) == 1 else f"{len(all_of):,} clusters, together "
    yield f"{many}{duration(time_s)}, {span}, from {_traces(record)}"
    samples = sum(each.samples for each in all_of)
    yield f"{counted(samples, 'sample')}, {_sampling(all_of)}, read as {_READ_AS[record.read_as]}"
    windows = sorted({one.window_s for one in all_of if one.window_s and _smoothed(one)})
    if windows:
        yield (
            f"each sample is a mean over {listed([duration(each) for each in windows])}, longer "
            "than the time between them: drains are given without it"
        )
    flaws = list(_flaws(record, samples))
    if flaws:
        yield f"in them {listed(flaws)}"
    blind = [one_line(each.name, 40) for each in all_of if not each.reads]
    if blind:
        where = "" if len(blind) == len(all_of) else f" of {_some(blind)}"
        yield f"no reads in the trace{where}: restores are not seen, restarts not confirmed"
    yield (
        f"{counted(record.bursts, 'burst')} of writing; ± and ranges hold the truth with "
        f"{percent(CONFIDENCE, 0)}"
    )


def _smoothed(cluster: ClusterFound) -> bool:
    return cluster.window_s is not None and cluster.window_s > _LONGER * cluster.sample_s


def _traces(record: Characterization) -> str:
    names = [one_line(name, 60) for name in record.traces]
    return _some(names) if names else "one trace"


def _some(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    return listed([*names[:_MOST_NAMES], *([f"{more:,} more"] if more > 0 else [])])


def _sampling(all_of: Iterable[ClusterFound]) -> str:
    steps = sorted({each.sample_s for each in all_of})
    if len(steps) == 1:
        return f"one every {steps[0]:g} s"
    return f"one every {steps[0]:g} to {steps[-1]:g} s"


def _flaws(record: Characterization, samples: int) -> Iterator[str]:
    """Yield what is wrong with the samples, only what there is."""
    missing, steps, resets, repeated = (
        sum(getattr(each, name) for each in record.clusters)
        for name in ("missing", "steps", "resets", "repeated")
    )
    if missing:
        share = missing / (samples + missing)
        told = percent(share, 2) if share >= 5e-5 else "less than 0.01 %"
        yield f"{counted(missing, 'sample')} missing ({told})"
    if repeated:
        yield counted(repeated, "repeated sample")
    if steps:
        yield counted(steps, "sudden step of the clock", "sudden steps of the clock")
    if resets:
        yield counted(resets, "reset of a counter", "resets of counters")


def _unresolved(record: Characterization) -> Iterator[str]:
    names = dict(zip(map(id, record.jobs), labels(record, record.jobs, 40), strict=True))
    short = [names[id(job)] for job in record.jobs if not job.resolved]
    if short:
        yield (
            f"the drain of {counted(len(short), 'job')} is shorter than two samples: drain and "
            f"overlap are upper bounds there ({_some(short)})"
        )
    inferred = sum(job.inferred for job in record.jobs)
    if inferred:
        yield (
            f"{counted(inferred, 'checkpoint was', 'checkpoints were')} written at the same time "
            "as others: told apart by the jobs' rhythm, not seen by themselves"
        )
    missed = sum(job.missed for job in record.jobs)
    if missed:
        yield (
            f"{counted(missed, 'checkpoint')} that the rhythm asks for "
            f"{'was' if missed == 1 else 'were'} not seen"
        )
    contested = sum(job.contested for job in record.jobs)
    if contested:
        yield (
            f"{counted(contested, 'time')} a restoring read suits two jobs: their restarts are not "
            "sure"
        )
    unsure = sum(job.restarts - job.confirmed for job in record.jobs)
    if unsure > 0:
        yield (
            f"{counted(unsure, 'restart')} {'is' if unsure == 1 else 'are'} told by a break of the "
            "rhythm alone, no restoring read confirms it"
        )


def _aside(record: Characterization) -> Iterator[str]:
    other = sum(each.other for each in record.clusters)
    if other:
        share = f" ({percent(other / record.bursts)} of all)" if record.bursts else ""
        yield f"{counted(other, 'burst')} of writing of no job{share}"
    aborted = sum(job.aborted for job in record.jobs)
    if aborted:
        yield (
            f"{counted(aborted, 'checkpoint')} broken off before all was written: in no figure "
            "of a job"
        )


def _notes(record: Characterization) -> Iterator[str]:
    yield from record.notes
    names = labels(record, record.jobs, 40)
    for job, name in zip(record.jobs, names, strict=True):
        for text in job.notes:
            yield f"{name}: {text}"


def _list(title: str, texts: Iterable[str]) -> str:
    said = [one_line(text, _LONGEST) for text in texts]
    lines = [
        line for text in said[:_MOST_NOTES] for line in wrapped(text, f"{INDENT}- ", f"{INDENT}  ")
    ]
    if len(said) > _MOST_NOTES:
        lines.append(f"{INDENT}- {len(said) - _MOST_NOTES:,} more in the files")
    return "\n".join([title, *lines]) if said else ""
