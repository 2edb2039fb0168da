"""A characterization on the screen: what was read, jobs, calibration, what was left aside."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from planner.outputs import fleet_text
from planner.outputs.blocks import (
    Column,
    FirstScreen,
    Table,
    Text,
    aligned,
    join_parts,
    narrow_column,
    screen,
    titled_text,
)
from planner.outputs.telemetry_words import (
    USUAL_OVERLAP,
    day,
    exact,
    figure,
    labels,
    largest,
    measured,
    median_overlap,
    moment,
    most,
    one_line,
    stated,
    within,
)
from planner.outputs.words import (
    DAY_S,
    INDENT,
    counted,
    duration,
    fitted,
    listed,
    number,
    percent,
    points,
    wrapped,
)
from planner.schema.telemetry import (
    CONFIDENCE,
    Calibration,
    Characterization,
    ClusterFound,
    JobFound,
    Measured,
    Override,
)
from planner.terminal import width

MOST_ROWS = 20
"""Jobs and clusters on the screen; the files have all."""

_NAME, _LEAST_NAME = 24, 10
_SPREAD_FROM = 3

Lines = Sequence[Sequence[str]]


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


def _named(record: Characterization, shown: Sequence[JobFound], rows: Lines) -> list[str]:
    """Return a table with the jobs' names, as long as there is room, in front of its rows."""
    heads = [""] * (len(rows) - len(shown))
    names = [*heads, *labels(record, shown, max(_LEAST_NAME, min(_NAME, _room(rows))))]
    return aligned([[name, *row] for name, row in zip(names, rows, strict=True)], (0,))


def _room(rows: Lines) -> int:
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
    rows += [
        [one_line(each.name, _NAME), *_cells(_figures(record, each))] for each in order[:MOST_ROWS]
    ]
    title = "Clusters"
    if len(order) > MOST_ROWS:
        title += f": the {MOST_ROWS} with most checkpoints of {len(order):,}"
    rows += _spread(record) if len(order) >= _SPREAD_FROM else []
    return "\n".join([title, *aligned(rows, (0,))])


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


_LABEL, _NOW, _TEXT = 34, 18, 400


def value_of(override: Override) -> str:
    """Return what an override puts in its place, as a problem file says it."""
    return one_line(override.setting.removeprefix(f"{override.path}="))


def calibration(found: Calibration) -> str:
    """Return the overrides with their ranges, how to use them, and what was not measured."""
    gpus = "" if found.gpus is None else f" on {found.gpus:,} GPUs"
    title = f"{one_line(found.problem, 36)}, calibrated by {one_line(found.job, 28)}{gpus}"
    parts = [title]
    if found.overrides:
        parts += [
            *aligned(narrow_column(_rows(found.overrides), 0), (0,)),
            *_sources(found.overrides),
            "",
            *_use(found),
        ]
    if found.not_measured:
        parts += ["", f"{INDENT}not measured, as the problem has it:"]
        parts += points(*(one_line(text, _TEXT) for text in found.not_measured))
    return "\n".join(parts)


def _rows(overrides: Sequence[Override]) -> list[list[str]]:
    rows = [["", "now", "measured", "[low,", "high]"]]
    for each in overrides:
        written = exact(each.measured, each.unit)
        rows.append([
            fitted(one_line(each.label), _LABEL),
            "-" if each.now is None else fitted(one_line(each.now), _NOW),
            written.with_unit(each.measured.value),
            f"[{written.text(each.measured.low)},",
            f"{written.text(each.measured.high)}]",
        ])  # fmt: skip
    return rows


def _sources(overrides: Sequence[Override]) -> list[str]:
    sources = dict.fromkeys(f"{each.label}: {each.source}" for each in overrides if each.source)
    return points(*(one_line(text, _TEXT) for text in sources))


def _use(found: Calibration) -> list[str]:
    settings = [f"{each.path}={value_of(each)}" for each in found.overrides]
    drawn = [
        f"{each.path}={one_line(each.distribution.removeprefix(f'{each.path}='))}"
        for each in found.overrides
        if each.distribution is not None
    ]
    lines = ["To plan with it", *_options("planner solve", "--set", settings)]
    if drawn:
        lines += ["To plan with its ranges", *_options("planner uncertain", "--dist", drawn)]
    return lines


def _options(command: str, option: str, values: Sequence[str]) -> list[str]:
    """Return a command, an option a line, each whole: a shell must be able to read it."""
    lines = [f"{command} PROBLEM.yaml", *(f"{option} {shlex.quote(value)}" for value in values)]
    last = len(lines) - 1
    return [
        f"{INDENT if place == 0 else 2 * INDENT}{line}{'' if place == last else ' ' + chr(92)}"
        for place, line in enumerate(lines)
    ]


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
    if record.study is not None:
        parts.append(screen(fleet_text.blocks(record.study)))
    if record.calibration is not None:
        parts.append(calibration(record.calibration))
    parts.append(_list("Read this too", _notes(record)))
    return join_parts(parts)


_FIRST_JOBS = 6


def first(record: Characterization) -> FirstScreen:
    """Return what one page says: the findings, the largest jobs, what was calibrated."""
    if not record.jobs:
        return FirstScreen(entire=True)
    read, *_ = _read_texts(record)
    found = record.calibration
    measured_texts = [
        f"{each.label} {stated(each.measured, each.unit)}" for each in
        (found.overrides if found is not None else ())
    ]  # fmt: skip
    answer = [
        ("Found", " ".join(_findings(record))),
        ("Read", read),
        ("Measured", "; ".join(measured_texts)),
        ("Not seen", "; ".join(one_line(text, _TEXT) for text in _unresolved(record))),
        ("Aside", "; ".join(_aside(record))),
    ]
    if record.study is not None:
        answer[1:1] = list(fleet_text.answers(record.study))
    notes = [one_line(text, _LONGEST) for text in _notes(record)]
    if record.study is not None:
        notes += fleet_text.notes(record.study)
    if found is not None:
        notes += [f"not measured: {one_line(text, _TEXT)}" for text in found.not_measured]
    full = "every figure of each job, how they ran, what was read"
    return FirstScreen(
        _title(record),
        tuple(answer),
        below=(_first_jobs(record),),
        notes=tuple(notes),
        full=f"{full}, the options that plan with what was measured" if measured_texts else full,
    )


def _first_jobs(record: Characterization) -> Table:
    """Return the jobs with the largest checkpoints, a line each."""
    shown = largest(record, _FIRST_JOBS)
    left = len(record.jobs) - len(shown)
    return Table(
        "Jobs, the largest checkpoints first",
        (
            Column("", tuple(labels(record, shown, _NAME)), words=True, gives_way=True),
            Column("size", tuple(figure(job.size_gb.value, "GB") for job in shown)),
            Column("every", tuple(figure(job.interval_s.value, "s") for job in shown)),
            Column("drain", tuple(
                ("" if job.resolved else "< ") + figure(job.drain_s.value, "s") for job in shown
            )),
            Column("write", tuple(figure(job.write_gb_per_s.value, "GB/s") for job in shown)),
            Column("restarts", tuple(_count(job.restarts) for job in shown)),
        ),
        notes=(f"{left:,} more under --full",) if left > 0 else (),
    )  # fmt: skip


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
    return titled_text("What was read", *_read_texts(record))


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
        text = percent(share, 2) if share >= 5e-5 else "less than 0.01 %"
        yield f"{counted(missing, 'sample')} missing ({text})"
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
    parts = tuple(one_line(text, _LONGEST) for text in texts)
    return screen([Text(parts, title, points=True, most=_MOST_NOTES)]).rstrip("\n")
