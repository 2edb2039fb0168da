"""Storage telemetry: findings, jobs, calibration, a fleet; its tables and parts of a problem."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, TypeAlias

from planner.report import formats as fmt
from planner.report.blocks import (
    Axis,
    Block,
    Chart,
    Column,
    Facts,
    Heading,
    Layer,
    Line,
    Panel,
    Table,
    Text,
    figures,
    notes_block,
    words,
)
from planner.report.exports import COMPRESSION
from planner.schema.operation import (
    CHECKPOINT_COLUMNS,
    Calibration,
    Characterization,
    FleetStudy,
    JobFound,
    Measured,
    Trend,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_ROWS, _NAME, _TEXT, _MOST_NAMES = 20, 24, 400, 5
_LONGER = 1.25
"""Samples of a window above which it is shown."""

USUAL_OVERLAP = 0.10
"""The overlap that studies and problems take as the limit."""


def view(record: Characterization) -> list[Block]:
    """A characterization as blocks."""
    found, study = record.calibration, record.study
    count, clusters = fmt.count_noun(record.checkpoints, "checkpoint"), len(record.clusters)
    where = f"{fmt.count_noun(len(record.jobs), 'job')} on {fmt.count_noun(clusters, 'cluster')}"
    facts = [
        ("Found", _finding(record)),
        *(() if study is None else _fleet_facts(study)),
        ("Trace", _trace(record) if record.clusters else ""),
    ]
    return [
        Heading(f"Storage telemetry  ({count} of {where})"),
        Facts(tuple(facts)),
        _jobs(record),
        *(() if found is None else _calibration(found)),
        notes_block((*_notes(record), *(() if study is None else _fleet_notes(study)))),
    ]


def _finding(record: Characterization) -> str:
    jobs = record.jobs
    if not jobs:
        return "No job was found: no bursts of one size recur at an interval."
    rates = [job.write_gb_per_s.value for job in jobs]
    middle = fmt.percent(median(job.overlap.value for job in jobs))
    if len(jobs) == 1:
        return f"overlap {middle}, bandwidth {fmt.significant(rates[0], 'GB/s')}"
    under = sum(job.overlap.value < USUAL_OVERLAP for job in jobs)
    ends = f"{fmt.significant(min(rates), 'GB/s')} to {fmt.significant(max(rates), 'GB/s')}"
    text = f"overlap {middle} (median), {under:,} of {len(jobs):,} jobs under "
    return f"{text}{fmt.percent(USUAL_OVERLAP, 0)}; bandwidth {ends}"


def _jobs(record: Characterization) -> Table:
    """The jobs, the largest checkpoints first; of several clusters with their own."""
    jobs = sorted(record.jobs, key=lambda job: -job.size_gb.value)

    def bounded(job: JobFound, name: str, unit: str) -> str:
        found = getattr(job, name)
        return fmt.with_range(found, unit) if job.resolved else fmt.upper_end(found, unit)

    def column(label: str, write: Callable[[JobFound], str], *, detail: bool = True) -> Column:
        return figures(label, map(write, jobs), str, detail=detail)

    columns = (
        words("job", (fmt.one_line(job.name, _NAME) for job in jobs)),
        words(
            "cluster", (fmt.one_line(j.cluster, 16) for j in jobs), detail=len(record.clusters) < 2
        ),
        column("size", lambda job: fmt.with_range(job.size_gb, "GB"), detail=False),
        column("interval", lambda job: fmt.with_range(job.interval_s, "s"), detail=False),
        column("drain", lambda job: bounded(job, "drain_s", "s"), detail=False),
        column(
            "write", lambda job: fmt.significant(job.write_gb_per_s.value, "GB/s"), detail=False
        ),
        column("overlap", lambda job: bounded(job, "overlap", "share"), detail=False),
        column("parameters", lambda job: fmt.significant(job.parameters.value, "parameters")),
        column("from", lambda job: fmt.clock_time(job.start_s, record.clock, day=True)),
        column("seen for", lambda job: fmt.duration(job.observed_s)),
        figures("checkpoints", (job.checkpoints for job in jobs), 0, detail=True),
        figures("restarts", (job.restarts for job in jobs), 0, detail=True),
        column("MTTI", lambda job: fmt.with_range(job.mtti_s, "s")),
        column("restore", lambda job: fmt.with_range(job.restore_s, "s")),
    )
    return Table("Jobs", columns, most=_MOST_ROWS, rows="jobs", first=6)


def _trace(record: Characterization) -> str:
    every = record.clusters
    ends = min(each.start_s for each in every), max(each.end_s for each in every)
    span = " to ".join(fmt.clock_time(end, record.clock) for end in ends)
    utc = " UTC" if record.clock == "unix" else ""
    samples = fmt.count_noun(sum(each.samples for each in every), "sample")
    step = f"{min(each.sample_s for each in every):g}"
    text = f"{span}{utc}; {samples}, one every {step} s, read as {record.read_as}"
    return f"{text}; {_some(record.traces)}"


def _notes(record: Characterization) -> Iterator[str]:
    jobs, every = record.jobs, record.clusters
    blind = [each.name for each in every if not each.reads]
    for text, names in (
        ("drains shorter than two samples, upper bounds", [j.name for j in jobs if not j.resolved]),
        ("no reads in the trace, so no restores and unconfirmed restarts", blind),
    ):
        yield f"{text}: {_some(names)}" if names else ""
    if any(each.window_s and each.window_s > _LONGER * each.sample_s for each in every):
        yield "each sample is a mean over a longer window; drains are given without it"
    for count, text in (
        (sum(job.inferred for job in jobs), "checkpoints written together with others, inferred"),
        (sum(job.missed for job in jobs), "checkpoints missed"),
        (sum(job.restarts - job.confirmed for job in jobs), "restarts without a restoring read"),
        (sum(each.other for each in every), "bursts of no job"),
        (sum(each.missing for each in every), "missing samples"),
        (sum(each.steps for each in every), "steps of the clock"),
    ):
        yield f"{fmt.number(count)} {text}" if count > 0 else ""
    yield from (fmt.one_line(text, _TEXT) for text in record.notes)
    for job in jobs:
        yield from (f"{fmt.one_line(job.name, _NAME)}: {fmt.one_line(t, _TEXT)}" for t in job.notes)


def _some(names: Sequence[str]) -> str:
    return fmt.list_first([fmt.one_line(name, 40) for name in names], _MOST_NAMES)


def _calibration(found: Calibration) -> Iterator[Block]:
    rows = found.overrides
    gpus = "" if found.gpus is None else f", {found.gpus:,} GPUs"
    title = (
        f"Calibration of {fmt.one_line(found.problem, 36)} by {fmt.one_line(found.job, 28)}{gpus}"
    )
    columns = (
        words("input", (fmt.one_line(each.label, 34) for each in rows)),
        figures("now", (fmt.one_line(each.now or "-", 18) for each in rows), str),
        figures("measured", (fmt.with_range(each.measured, each.unit) for each in rows), str),
        words("source", (fmt.one_line(each.source, _TEXT) for each in rows)),
        words("for sweep --mode uncertain --vary", (each.distribution for each in rows)),
    )
    notes = ("with -o: planner solve PROBLEM.yaml --set @NAME.overrides.yaml",)
    if rows:
        yield Table(title, columns, notes, detail=True)
    texts = tuple(fmt.one_line(text, _TEXT) for text in found.not_measured)
    yield Text(texts, "Not measured" if rows else title, points=True, first=3)


# The study of a fleet: trends, overlaps, and the storage that suffices.

_SURE = 0.05


def _range(found: Measured, form: str = ".2f", scale: float = 1.0) -> str:
    """A figure with its range: ``1.02 (0.97 to 1.07)``."""
    value = f"{scale * found.value:{form}}"
    if found.low is None or found.high is None:
        return value
    return f"{value} ({scale * found.low:{form}} to {scale * found.high:{form}})"


def trend_text(trend: Trend | None) -> str:
    """The direction of a trend, with its exponent and its rank correlation."""
    if trend is None:
        return "too few jobs for a trend"
    low, high = trend.exponent.low or 0.0, trend.exponent.high or 0.0
    way = "decreases" if high < 0 else "increases" if low > 0 else "independent"
    chance = "" if trend.p_value < _SURE else ", no more than chance"
    return (
        f"{way}: exponent {_range(trend.exponent)}, rank correlation "
        f"{trend.rank_correlation:+.2f}{chance}, {fmt.count_noun(trend.jobs, 'job')}"
    )


def _law_text(study: FleetStudy) -> str:
    """The fitted demand law beside the law itself."""
    law = study.law
    if law is None:
        return "too few jobs for a fit of the demand law"
    overlap = f"overlap {_range(law.overlap, '.1f', 100)} %"
    if law.size_exponent is None or law.interval_exponent is None:
        return f"{overlap}; exponents not determined, since size and interval go together"
    exponents = f"{_range(law.size_exponent)}, of interval -{_range(law.interval_exponent)}"
    explained = f"{fmt.percent(law.explained, 0)} of the variance explained"
    return f"{overlap}; exponent of size {exponents} (law: 1, -1); {explained}"


def _storage_text(study: FleetStudy) -> str:
    """The storage that suffices for all clusters, in watts and GPUs; empty if unknown."""
    known = [each for each in study.storage if each.enough_kw is not None]
    names = ("enough_kw", "seen_kw", "gpus_more")
    enough, seen, gpus = (sum(getattr(each, name) or 0.0 for each in known) for name in names)
    text = f"{enough:,.1f} kW of storage suffice, {seen:,.1f} kW for the bandwidth seen: "
    text += f"{seen - enough:,.1f} kW power {math.floor(gpus):,} more GPUs"
    return text if known else ""


def _fleet_facts(study: FleetStudy) -> Iterator[tuple[str, str]]:
    """Yield the findings on a fleet."""
    yield "Model size", trend_text(study.bandwidth)
    yield "Per GPU", trend_text(study.per_gpu)
    yield "Interval", trend_text(study.interval)
    yield "Demand law", _law_text(study)
    checkpoints = fmt.percent(study.under_limit_checkpoints, 0)
    jobs = f"{_range(study.under_limit_jobs, '.0f', 100)} % of jobs"
    yield f"Overlap < {fmt.percent(study.limit, 0)}", f"{jobs}, {checkpoints} of their checkpoints"
    yield "Storage", _storage_text(study)


def _fleet_notes(study: FleetStudy) -> Iterator[str]:
    """Yield jobs that were not matched, and jobs outside of the fits."""
    brief = [job.name for job in study.jobs if not job.resolved]
    for text, names in (
        ("jobs of the table without telemetry", study.unmatched),
        ("jobs of the telemetry that the table lacks", study.unknown),
        ("drains under two samples, not in the fits", brief),
    ):
        yield f"{text}: {_some(names)}" if names else ""


def charts(study: FleetStudy) -> tuple[Chart, ...]:
    """The charts of bandwidth against model size, per GPU, and against interval."""
    jobs = study.jobs
    sizes = [job.parameters / 1e9 for job in jobs]
    hours = [job.interval_s / fmt.HOUR_S for job in jobs]
    total = [job.write_gb_per_s for job in jobs]
    each = [job.mb_per_s_per_gpu for job in jobs]
    share = [fmt.HOUR_S * job.write_gb_per_s / job.size_gb for job in jobs]
    # By the law bandwidth over size is 1 / (overlap x interval): a line.
    ends = (min(hours) / 1.25, max(hours) * 1.25)
    heights = tuple(1.0 / (study.limit * end) for end in ends)
    law = Line(f"law, overlap {fmt.percent(study.limit, 0)}", ends, heights, "second", "--")
    size = Axis("parameters", "10⁹", True)
    up = Axis("write bandwidth", "GB/s", True)
    up_each = Axis("write bandwidth per GPU", "MB/s", True)
    of_size = Axis("interval", "h", True), Axis("bandwidth over size", "1/h", True)
    named = (
        ("model_size", "Checkpoint bandwidth against model size", study.bandwidth),
        ("per_gpu", "Checkpoint bandwidth per GPU against model size", study.per_gpu),
        ("interval", "Checkpoint bandwidth over size against interval", study.interval),
    )
    axes = ((size, up), (size, up_each), of_size)
    found = []
    values = ((sizes, total), (sizes, each), (hours, share))
    for (name, title, trend), pair, (x, y) in zip(named, axes, values, strict=True):
        layers: list[Layer] = [] if trend is None else [_fitted(x, y, trend)]
        layers += [law] if name == "interval" else []
        panel = Panel(*pair, (*layers, Line("job", tuple(x), tuple(y), style="o")))
        text = f"{trend_text(trend)}." + (f" {_law_text(study)}." if name == "interval" else "")
        found.append(Chart(name, title, text, panel))
    return tuple(found)


def _fitted(x: Sequence[float], y: Sequence[float], trend: Trend) -> Line:
    exponent = trend.exponent.value
    level = math.exp(fmean(map(math.log, y)) - exponent * fmean(map(math.log, x)))
    ends = (min(x), max(x))
    return Line("fitted power law", ends, tuple(level * end**exponent for end in ends), "third")


# A characterization: checkpoints, jobs, a fleet.

CheckpointTable: TypeAlias = "Mapping[str, NDArray[Any]]"
"""The columns of ``CHECKPOINT_COLUMNS``, all of one length."""


def checkpoints_parquet(record: Characterization, table: CheckpointTable) -> bytes:
    """The table of checkpoints as Parquet; fields have their unit, the file its clock."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays, fields = [], []
    for name, unit in CHECKPOINT_COLUMNS.items():
        if unit:
            numbers = np.asarray(table[name], dtype=np.float64)
            arrays.append(pa.array(numbers, pa.float64(), mask=~np.isfinite(numbers)))
        else:
            texts = (fmt.clean(str(text), limit=None) or None for text in table[name].tolist())
            arrays.append(pa.array(list(texts), pa.string()))
        fields.append(pa.field(name, arrays[-1].type, metadata={"unit": unit} if unit else None))
    schema, stream = pa.schema(fields, metadata={"clock": record.clock}), io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), stream, compression=COMPRESSION)
    return stream.getvalue()


# Parts of a problem file.

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_COMMENT = 200


def overrides_yaml(calibration: Calibration) -> str:
    """The overrides as a mapping of paths to values, as a scenario of a problem has it."""
    lines = [
        _comment(f"{calibration.problem}, with what was measured of {calibration.job}"),
        "# For --set @FILE, or below scenarios: {measured: ...} of the problem.",
    ]
    for each in calibration.overrides:
        now = f"; now {each.now}" if each.now else ""
        about = f"{each.label}: {fmt.range_text(each.measured, each.unit)}{now}; {each.source}"
        value = fmt.one_line(each.setting.removeprefix(f"{each.path}="), _COMMENT)
        lines += [_comment(about), f"{_key(each.path)}: {value}"]
    lines += [] if calibration.overrides else ["{}"]
    lines += [_comment(f"not measured: {text}") for text in calibration.not_measured]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    return f"# {fmt.one_line(text, _COMMENT)}"


def _key(path: str) -> str:
    """A path as a key, where needed between quotes as JSON and YAML both read them."""
    plain = _PLAIN_KEY.fullmatch(path)
    return path if plain else json.dumps(fmt.one_line(path, _COMMENT), ensure_ascii=False)
