"""The tables of `planner characterize`: jobs as they write and as they ran, and clusters."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from planner.outputs.size_text import Rows, table
from planner.outputs.telemetry_figures import day, figure, measured, most
from planner.outputs.telemetry_words import labels, largest, median_overlap, one_line
from planner.outputs.words import DAY_S, INDENT, duration, number, percent, wrapped
from planner.schema.telemetry import Characterization, ClusterFound, JobFound, Measured
from planner.terminal import width

MOST_ROWS = 20
"""Jobs and clusters on the screen; the files have all."""

_NAME, _LEAST_NAME = 24, 10
_SPREAD_FROM = 3


def jobs(record: Characterization) -> list[str]:
    """Return the tables of jobs: what they write, how they ran, what their restores read."""
    shown = largest(record, MOST_ROWS)
    if not shown:
        return []
    cut = (
        f"the {MOST_ROWS} with the largest checkpoints of {len(record.jobs):,}; the files have all"
    )
    more = f": {cut}" if len(record.jobs) > MOST_ROWS else ""
    each = sorted({job.bytes_per_parameter for job in shown})
    at = " to ".join(f"{one:g}" for one in dict.fromkeys((each[0], each[-1])))
    note = f"parameters follow from the size at {at} bytes each; every: start to start"
    texts = [
        [f"What the jobs write{more}", *_named(record, shown, _writing(shown)), *wrapped(note)],
        ["How the jobs ran", *_named(record, shown, _running(record, shown))],
    ]
    read = [job for job in shown if job.restore_gb is not None]
    if read:
        texts.append(["What restores read", *_named(record, read, _restores(read))])
    return ["\n".join(lines) for lines in texts]


def _named(record: Characterization, shown: Sequence[JobFound], rows: Rows) -> list[str]:
    """Return a table with the jobs' names, as long as there is room, in front of its rows."""
    heads = [""] * (len(rows) - len(shown))
    names = [*heads, *labels(record, shown, max(_LEAST_NAME, min(_NAME, _room(rows))))]
    return table([[name, *row] for name, row in zip(names, rows, strict=True)], (0,))


def _room(rows: Rows) -> int:
    """Return how many columns of the screen are left for names."""
    widths = (max(map(len, column)) for column in zip(*rows, strict=True))
    return width() - len(INDENT) - sum(2 + each for each in widths)


def _writing(shown: Sequence[JobFound], *, narrow: bool = False) -> list[list[str]]:
    rows = [["size", "para-", "every", "drain", "overlap", "write"],
            ["", "meters", "", "", "%", "GB/s"]]  # fmt: skip
    for job in shown:
        drain, overlap = most(job.drain_s, "s"), most(job.overlap, "share")
        if job.resolved:
            drain = measured(job.drain_s, "s", narrow=narrow)
            overlap = measured(job.overlap, "share", narrow=narrow)
        rows.append([
            measured(job.size_gb, "GB", narrow=narrow),
            figure(job.parameters.value, "parameters"),
            measured(job.interval_s, "s", narrow=narrow),
            drain,
            overlap.replace(" %", ""),
            _rate(job.write_gb_per_s, narrow=narrow),
        ])  # fmt: skip
    return rows if narrow or _room(rows) >= _LEAST_NAME else _writing(shown, narrow=True)


def _running(record: Characterization, shown: Sequence[JobFound]) -> list[list[str]]:
    """Return how jobs ran, without the columns in which there is nothing."""
    rows = [["from", "seen for", "checkpoints", "missed", "aborted", "restarts", "a restart every"]]
    for job in shown:
        rows.append([
            day(job.start_s, record.clock), duration(job.observed_s), f"{job.checkpoints:,}",
            _count(job.missed), _count(job.aborted), _count(job.restarts),
            measured(job.mtti_s, "s"),
        ])  # fmt: skip
    columns = [column for column in zip(*rows, strict=True) if set(column[1:]) != {"-"}]
    return [list(row) for row in zip(*columns, strict=True)]


def _restores(read: Sequence[JobFound]) -> list[list[str]]:
    rows = [["restores", "read", "of its", "in", "read"],
            ["seen", "", "checkpoint", "", "GB/s"]]  # fmt: skip
    for job in read:
        size, whole = job.restore_gb, job.size_gb.value
        times = f"{size.value / whole:,.2f} x" if size is not None and whole > 0 else "-"
        rows.append([
            f"{job.confirmed:,}", measured(size, "GB"), times, measured(job.restore_s, "s"),
            _rate(job.read_gb_per_s),
        ])  # fmt: skip
    return rows


def _rate(found: Measured | None, *, narrow: bool = False) -> str:
    return measured(found, "GB/s", narrow=narrow).replace(" GB/s", "")


def _count(count: int) -> str:
    return f"{count:,}" if count else "-"


def clusters(record: Characterization) -> str:
    """Return the clusters, the busiest first, and how far they spread; nothing for a single one."""
    if len(record.clusters) < 2:
        return ""
    order = sorted(record.clusters, key=lambda each: -each.checkpoints)
    rows = [
        ["", "days", "jobs", "checkpoints", "other", "overlap", "background", "peak"],
        ["", "", "", "", "bursts", "median", "GB/s", "GB/s"],
    ]
    rows += [_cluster(record, each) for each in order[:MOST_ROWS]]
    title = "Clusters"
    if len(order) > MOST_ROWS:
        title += f": the {MOST_ROWS} with most checkpoints of {len(order):,}"
    rows += _spread(record) if len(order) >= _SPREAD_FROM else []
    return "\n".join([title, *table(rows, (0,))])


def _cluster(record: Characterization, each: ClusterFound) -> list[str]:
    return [one_line(each.name, _NAME), *_cells(_figures(record, each))]


def _figures(record: Characterization, each: ClusterFound) -> list[float | None]:
    overlap = median_overlap([job for job in record.jobs if job.cluster == each.name])
    days = (each.end_s - each.start_s) / DAY_S
    return [days, each.jobs, each.checkpoints, each.other, overlap, each.background_gb_per_s,
            each.peak_gb_per_s]  # fmt: skip


def _cells(figures: Sequence[float | None]) -> list[str]:
    days, *counts, overlap, background, peak = figures
    return [
        number(days, 1),
        *(number(count) for count in counts),
        "-" if overlap is None else percent(overlap),
        figure(background, "GB/s").removesuffix(" GB/s"),
        figure(peak, "GB/s").removesuffix(" GB/s"),
    ]


def _spread(record: Characterization) -> list[list[str]]:
    columns = list(zip(*(_figures(record, each) for each in record.clusters), strict=True))
    known = [[value for value in column if value is not None] for column in columns]
    parts = (("least", min), ("median", median), ("most", max))
    return [
        [name, *_cells([of(column) if column else None for column in known])] for name, of in parts
    ]
