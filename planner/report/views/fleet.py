"""The study of a fleet as blocks: its three findings, overlaps, and the storage that suffices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from planner.report.blocks import Block, Column, Table
from planner.report.charts.model import Axis, Band, Chart, Layer, Line, Panel, Points
from planner.report.telemetry_words import figure, one_line
from planner.report.words import HOUR_S, counted, percent
from planner.schema.telemetry import (
    CONFIDENCE,
    FleetJob,
    FleetStudy,
    Measured,
    Trend,
)

_NAME = 24
_SURE = 0.05
FINDINGS = {
    "bandwidth": "Checkpoint bandwidth against model size",
    "per_gpu": "Checkpoint bandwidth per GPU against model size",
    "interval": "Checkpoint bandwidth against interval",
}
"""Titles of the findings, by the fields of ``FleetStudy``."""


def range_text(found: Measured, form: str = ".2f", scale: float = 1.0) -> str:
    """Return a figure with its range: ``1.02 (0.97 to 1.07)``."""
    value = f"{scale * found.value:{form}}"
    if found.low is None or found.high is None:
        return value
    return f"{value} ({scale * found.low:{form}} to {scale * found.high:{form}})"


def trend_text(trend: Trend | None) -> str:
    """Return the direction of a trend, with its exponent and its rank correlation."""
    if trend is None:
        return "too few jobs for a trend"
    low, high = trend.exponent.low or 0.0, trend.exponent.high or 0.0
    way = "decreases" if high < 0 else "increases" if low > 0 else "independent"
    chance = "" if trend.p_value < _SURE else ", no more than chance"
    return (
        f"{way}: exponent {range_text(trend.exponent)}, rank correlation "
        f"{trend.rank_correlation:+.2f}{chance}, {counted(trend.jobs, 'job')}"
    )


def law_text(study: FleetStudy) -> str:
    """Return the fitted demand law beside the law itself."""
    law = study.law
    if law is None:
        return "too few jobs for a fit of the demand law"
    overlap = f"overlap {range_text(law.overlap, '.1f', 100)} %"
    if law.size_exponent is None or law.interval_exponent is None:
        return f"{overlap}; exponents not determined, since size and interval go together"
    return (
        f"bandwidth = size^{range_text(law.size_exponent)} / (overlap x "
        f"interval^{range_text(law.interval_exponent)}), {overlap}; law: 1, 1; explains "
        f"{percent(law.explained, 0)} of the variance"
    )


def under_text(study: FleetStudy) -> str:
    """Return the shares of jobs and checkpoints under the limit."""
    jobs = range_text(study.under_limit_jobs, ".0f", 100)
    checkpoints = percent(study.under_limit_checkpoints, 0)
    limit = percent(study.limit, 0)
    return f"overlap under {limit}: {jobs} % of jobs, {checkpoints} of their checkpoints"


def storage_text(study: FleetStudy) -> str:
    """Return the storage that suffices for all clusters, in watts and GPUs; empty if unknown."""
    known = [each for each in study.storage if each.enough_kw is not None]
    if not known:
        return ""
    enough, seen = (sum(getattr(each, name) or 0.0 for each in known)
                    for name in ("enough_kw", "seen_kw"))  # fmt: skip
    gpus = math.floor(sum(each.gpus_more or 0.0 for each in known))
    return (
        f"{enough:,.1f} kW of storage suffice on {counted(len(known), 'cluster')}, {seen:,.1f} kW "
        f"for the bandwidth seen: {seen - enough:,.1f} kW power {gpus:,} more GPUs"
    )


def facts(study: FleetStudy) -> Iterator[tuple[str, str]]:
    """Yield the findings on a fleet."""
    yield "Model size", trend_text(study.bandwidth)
    yield "Per GPU", trend_text(study.per_gpu)
    yield "Interval", trend_text(study.interval)
    yield "Demand law", law_text(study)
    yield "Overlap", under_text(study)
    yield "Storage", storage_text(study)


def notes(study: FleetStudy) -> Iterator[str]:
    """Yield jobs that were not matched, and jobs outside of the fits."""
    if study.unmatched:
        yield f"jobs of the table without telemetry: {_some(study.unmatched)}"
    if study.unknown:
        yield f"jobs of the telemetry that the table lacks: {_some(study.unknown)}"
    short = [job.name for job in study.jobs if not job.resolved]
    if short:
        yield f"drains under two samples, not in the fits: {_some(short)}"
    if not any(each.enough_kw is not None for each in study.storage):
        yield "--problem PROBLEM.yaml adds the storage that suffices, from its catalogs"


def _some(names: tuple[str, ...] | list[str]) -> str:
    more = len(names) - 8
    return ", ".join(one_line(name, _NAME) for name in names[:8]) + (
        f" and {more:,} more" if more > 0 else ""
    )


def blocks(study: FleetStudy) -> tuple[Block, ...]:
    """Return the study as three tables of findings, a table of storage, and what they say."""
    by_size = sorted(study.jobs, key=lambda job: -job.parameters)
    names = tuple(one_line(job.name, _NAME) for job in by_size)
    size = Column(
        "parameters",
        tuple(job.parameters for job in by_size),
        texts=tuple(figure(job.parameters, "parameters") for job in by_size),
    )
    first = Table(
        FINDINGS["bandwidth"],
        (
            Column("job", names, words=True, gives_way=True),
            Column("cluster", tuple(one_line(job.cluster, 16) for job in by_size), words=True),
            size,
            _texts("size", [job.size_gb for job in by_size], "GB"),
            Column(
                "checkpoints",
                tuple(job.checkpoints for job in by_size),
                texts=tuple(f"{job.checkpoints:,}" for job in by_size),
            ),
            _texts("bandwidth", [job.write_gb_per_s for job in by_size], "GB/s"),
        ),
        notes=(trend_text(study.bandwidth),),
    )
    second = Table(
        FINDINGS["per_gpu"],
        (
            Column("job", names, words=True, gives_way=True),
            size,
            Column(
                "GPUs",
                tuple(job.gpus for job in by_size),
                texts=tuple(f"{job.gpus:,}" for job in by_size),
            ),
            Column(
                "MB/s per GPU",
                tuple(job.mb_per_s_per_gpu for job in by_size),
                "MB/s",
                texts=tuple(f"{job.mb_per_s_per_gpu:.3g}" for job in by_size),
            ),
        ),
        notes=(trend_text(study.per_gpu),),
    )
    tables = (first, second, _by_interval(study), *_storage(study))
    return tuple(replace(table, detail=True) for table in tables)


def _by_interval(study: FleetStudy) -> Table:
    jobs = sorted(study.jobs, key=lambda job: job.interval_s)
    overlap = study.limit if study.law is None else study.law.overlap.value
    return Table(
        FINDINGS["interval"],
        (
            Column("job", tuple(one_line(job.name, _NAME) for job in jobs), words=True,
                   gives_way=True),
            _texts("interval", [job.interval_s for job in jobs], "s"),
            Column("overlap", tuple(job.overlap for job in jobs), "share",
                   tuple(percent(job.overlap) for job in jobs)),
            _texts("bandwidth", [job.write_gb_per_s for job in jobs], "GB/s"),
            _texts(f"law at {percent(overlap)}", [job.law_gb_per_s for job in jobs], "GB/s"),
            _texts(f"law at {percent(study.limit, 0)}", [job.demand_gb_per_s for job in jobs],
                   "GB/s"),
        ),
        notes=(
            trend_text(study.interval),
            law_text(study),
            f"law: size / (overlap x interval); ranges hold the truth with "
            f"{percent(CONFIDENCE, 0)}",
            under_text(study),
        ),
    )  # fmt: skip


def _storage(study: FleetStudy) -> Iterator[Table]:
    rows = study.storage
    columns = [
        Column("cluster", tuple(one_line(each.cluster, _NAME) for each in rows), words=True),
        Column("GPUs", tuple(each.gpus for each in rows),
               texts=tuple(f"{each.gpus:,}" for each in rows)),
        _texts("demand", [each.demand_gb_per_s for each in rows], "GB/s"),
        _texts("seen", [each.seen_gb_per_s for each in rows], "GB/s"),
    ]  # fmt: skip
    if any(each.enough_kw is not None for each in rows):
        columns += [
            Column("suffices", tuple(each.enough or "-" for each in rows), words=True,
                   gives_way=True),
            _kw("kW", [each.enough_kw for each in rows]),
            _kw("kW, seen", [each.seen_kw for each in rows]),
            _kw("GPUs more", [each.gpus_more for each in rows]),
        ]  # fmt: skip
    yield Table(
        f"Storage for an overlap of {percent(study.limit, 0)}",
        tuple(columns),
        notes=(storage_text(study),),
    )


def _texts(label: str, values: list[float], unit: str) -> Column:
    return Column(label, tuple(values), unit, tuple(figure(value, unit) for value in values))


def _kw(label: str, values: list[float | None]) -> Column:
    texts = tuple("-" if value is None else f"{value:,.1f}" for value in values)
    return Column(label, tuple(values), texts=texts)


# Charts


def charts(study: FleetStudy) -> tuple[Chart, ...]:
    """Return the three pictures."""
    return bandwidth(study), per_gpu(study), interval(study)


def bandwidth(study: FleetStudy) -> Chart:
    """Return the chart of bandwidth against parameters."""
    x = [job.parameters / 1e9 for job in study.jobs]
    y = [job.write_gb_per_s for job in study.jobs]
    axes = Axis("parameters", "10⁹", True), Axis("write bandwidth", "GB/s", True)
    return _chart("model_size", "bandwidth", study, axes, x, y, study.bandwidth)


def per_gpu(study: FleetStudy) -> Chart:
    """Return the chart of bandwidth per GPU against parameters."""
    x = [job.parameters / 1e9 for job in study.jobs]
    y = [job.mb_per_s_per_gpu for job in study.jobs]
    axes = Axis("parameters", "10⁹", True), Axis("write bandwidth per GPU", "MB/s", True)
    return _chart("per_gpu", "per_gpu", study, axes, x, y, study.per_gpu)


def interval(study: FleetStudy) -> Chart:
    """Return the chart of bandwidth over size against interval, with the demand law.

    Bandwidth over size is 1 / (overlap x interval) by the law, so that jobs of all sizes lie on
    one line.
    """
    x = [job.interval_s / HOUR_S for job in study.jobs]
    y = [HOUR_S * job.write_gb_per_s / job.size_gb for job in study.jobs]
    axes = Axis("interval", "h", True), Axis("bandwidth over size", "1/h", True)
    ends = (min(x) / 1.25, max(x) * 1.25)
    layers: list[Layer] = [_law(f"law, overlap {percent(study.limit, 0)}", study.limit, ends, True)]
    if study.law is not None:
        found = study.law.overlap
        low, high = found.low or found.value, found.high or found.value
        least, most = (tuple(1.0 / (each * end) for end in ends) for each in (high, low))
        layers.insert(0, Band(f"its {percent(CONFIDENCE, 0)} range", ends, least, most))
        layers.append(_law(f"fitted, overlap {percent(found.value)}", found.value, ends))
    words = f"{trend_text(study.interval)}. {law_text(study)}. {under_text(study)}."
    panel = Panel(*axes, (*layers, _points(study.jobs, x, y)))
    return Chart("interval", f"{FINDINGS['interval']}, over size", words, (panel,))


def _law(name: str, overlap: float, ends: tuple[float, float], dashed: bool = False) -> Line:
    heights = tuple(1.0 / (overlap * end) for end in ends)
    return Line(name, ends, heights, "second" if dashed else "third", dashed=dashed)


def _chart(
    name: str,
    finding: str,
    study: FleetStudy,
    axes: tuple[Axis, Axis],
    x: list[float],
    y: list[float],
    trend: Trend | None,
) -> Chart:
    layers: list[Line | Points] = [_points(study.jobs, x, y)]
    if trend is not None:
        exponent = trend.exponent.value
        level = float(np.mean(np.log(y) - exponent * np.log(x)))
        ends = (min(x), max(x))
        heights = tuple(math.exp(level) * end**exponent for end in ends)
        layers.insert(0, Line("fitted power law", ends, heights, "third"))
    return Chart(name, FINDINGS[finding], f"{trend_text(trend)}.", (Panel(*axes, tuple(layers)),))


def _points(jobs: tuple[FleetJob, ...], x: list[float], y: list[float]) -> Points:
    hovers = tuple(
        f"{job.name}\n{figure(job.parameters, 'parameters')} on {job.gpus:,} GPUs\n"
        f"{figure(job.size_gb, 'GB')} every {figure(job.interval_s, 's')}, "
        f"{figure(job.write_gb_per_s, 'GB/s')}, overlap {percent(job.overlap)}"
        for job in jobs
    )
    return Points("job", tuple(x), tuple(y), hovers)
