"""The study of a fleet as blocks and charts: trends, overlaps, and the storage that suffices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from planner.report.blocks import Table, figures, words
from planner.report.charts.model import Axis, Band, Chart, Layer, Line, Panel, Points
from planner.report.telemetry_words import figure, one_line
from planner.report.words import HOUR_S, counted, percent, some
from planner.schema.telemetry import (
    CONFIDENCE,
    FleetJob,
    FleetStudy,
    Measured,
    Trend,
)

_NAME, _MOST_NAMES, _SURE = 24, 8, 0.05
_TITLES = {
    "bandwidth": "Checkpoint bandwidth against model size",
    "per_gpu": "Checkpoint bandwidth per GPU against model size",
    "interval": "Checkpoint bandwidth over size against interval",
}


def range_text(found: Measured, form: str = ".2f", scale: float = 1.0) -> str:
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
        f"{way}: exponent {range_text(trend.exponent)}, rank correlation "
        f"{trend.rank_correlation:+.2f}{chance}, {counted(trend.jobs, 'job')}"
    )


def law_text(study: FleetStudy) -> str:
    """The fitted demand law beside the law itself."""
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
    """The shares of jobs and checkpoints under the limit."""
    jobs = range_text(study.under_limit_jobs, ".0f", 100)
    checkpoints = percent(study.under_limit_checkpoints, 0)
    limit = percent(study.limit, 0)
    return f"overlap under {limit}: {jobs} % of jobs, {checkpoints} of their checkpoints"


def storage_text(study: FleetStudy) -> str:
    """The storage that suffices for all clusters, in watts and GPUs; empty if unknown."""
    known = [each for each in study.storage if each.enough_kw is not None]
    if not known:
        return ""
    enough, seen, gpus = (
        sum(getattr(each, name) or 0.0 for each in known)
        for name in ("enough_kw", "seen_kw", "gpus_more")
    )
    return (
        f"{enough:,.1f} kW of storage suffice on {counted(len(known), 'cluster')}, {seen:,.1f} kW "
        f"for the bandwidth seen: {seen - enough:,.1f} kW power {math.floor(gpus):,} more GPUs"
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
    short = [job.name for job in study.jobs if not job.resolved]
    for text, names in (
        ("jobs of the table without telemetry", study.unmatched),
        ("jobs of the telemetry that the table lacks", study.unknown),
        ("drains under two samples, not in the fits", short),
    ):
        listed = some([one_line(name, _NAME) for name in names], _MOST_NAMES)
        yield f"{text}: {listed}" if names else ""
    if not any(each.enough_kw is not None for each in study.storage):
        yield "--problem PROBLEM.yaml adds the storage that suffices, from its catalogs"


def blocks(study: FleetStudy) -> Iterator[Table]:
    """Yield a table of jobs and one of clusters."""
    jobs = sorted(study.jobs, key=lambda job: -job.parameters)
    limit = percent(study.limit, 0)
    columns = (
        words("job", (one_line(job.name, _NAME) for job in jobs)),
        words("cluster", (one_line(job.cluster, 16) for job in jobs)),
        figures("parameters", (job.parameters for job in jobs), lambda n: figure(n, "parameters")),
        figures("GPUs", (job.gpus for job in jobs), 0),
        figures("size", (job.size_gb for job in jobs), lambda gb: figure(gb, "GB")),
        figures("interval", (job.interval_s for job in jobs), lambda s: figure(s, "s")),
        figures("overlap", (job.overlap for job in jobs), percent),
        figures("GB/s", (job.write_gb_per_s for job in jobs), lambda v: f"{v:.3g}"),
        figures("MB/s per GPU", (job.mb_per_s_per_gpu for job in jobs), lambda v: f"{v:.3g}"),
        figures(f"GB/s at {limit}", (job.demand_gb_per_s for job in jobs), lambda v: f"{v:.3g}"),
    )
    text = f"law: size / (overlap x interval); ranges hold the truth with {percent(CONFIDENCE, 0)}"
    yield Table("Jobs of the fleet", columns, (text,), detail=True)
    rows = study.storage
    clusters = (
        words("cluster", (one_line(each.cluster, _NAME) for each in rows)),
        figures("GPUs", (each.gpus for each in rows), 0),
        figures("demand GB/s", (each.demand_gb_per_s for each in rows), 1),
        figures("seen GB/s", (each.seen_gb_per_s for each in rows), 1),
        words("suffices", (each.enough for each in rows)),
        figures("kW", (each.enough_kw for each in rows), 1),
        figures("kW, seen", (each.seen_kw for each in rows), 1),
        figures("GPUs more", (each.gpus_more for each in rows), 1),
    )
    yield Table(f"Storage for an overlap of {limit}", clusters, detail=True)


# Charts.


def charts(study: FleetStudy) -> tuple[Chart, ...]:
    """The charts of bandwidth against model size, per GPU, and against interval."""
    jobs = study.jobs
    sizes = [job.parameters / 1e9 for job in jobs]
    parameters = Axis("parameters", "10⁹", True)
    total = [job.write_gb_per_s for job in jobs]
    each = [job.mb_per_s_per_gpu for job in jobs]
    up = Axis("write bandwidth", "GB/s", True), Axis("write bandwidth per GPU", "MB/s", True)
    return (
        _trend("bandwidth", jobs, (parameters, up[0]), sizes, total, study.bandwidth),
        _trend("per_gpu", jobs, (parameters, up[1]), sizes, each, study.per_gpu),
        _interval(study),
    )


def _trend(
    name: str,
    jobs: Sequence[FleetJob],
    axes: tuple[Axis, Axis],
    x: list[float],
    y: list[float],
    trend: Trend | None,
) -> Chart:
    layers: list[Layer] = []
    if trend is not None:
        exponent = trend.exponent.value
        level = float(np.mean(np.log(y) - exponent * np.log(x)))
        ends = (min(x), max(x))
        heights = tuple(math.exp(level) * end**exponent for end in ends)
        layers.append(Line("fitted power law", ends, heights, "third"))
    panel = Panel(*axes, (*layers, _points(jobs, x, y)))
    place = "model_size" if name == "bandwidth" else name
    return Chart(place, _TITLES[name], f"{trend_text(trend)}.", (panel,))


def _interval(study: FleetStudy) -> Chart:
    """Bandwidth over size against interval: by the law 1 / (overlap x interval), one line."""
    x = [job.interval_s / HOUR_S for job in study.jobs]
    y = [HOUR_S * job.write_gb_per_s / job.size_gb for job in study.jobs]
    ends = (min(x) / 1.25, max(x) * 1.25)

    def law(overlap: float) -> tuple[float, ...]:
        return tuple(1.0 / (overlap * end) for end in ends)

    layers: list[Layer] = []
    name = f"law, overlap {percent(study.limit, 0)}"
    if study.law is not None:
        found = study.law.overlap
        low, high = law(found.high or found.value), law(found.low or found.value)
        layers.append(Band(f"its {percent(CONFIDENCE, 0)} range", ends, low, high))
        fitted = f"fitted, overlap {percent(found.value)}"
        layers.append(Line(fitted, ends, law(found.value), "third"))
    layers.append(Line(name, ends, law(study.limit), "second", dashed=True))
    axes = Axis("interval", "h", True), Axis("bandwidth over size", "1/h", True)
    text = f"{trend_text(study.interval)}. {law_text(study)}. {under_text(study)}."
    panel = Panel(*axes, (*layers, _points(study.jobs, x, y)))
    return Chart("interval", _TITLES["interval"], text, (panel,))


def _points(jobs: Sequence[FleetJob], x: list[float], y: list[float]) -> Points:
    hovers = tuple(
        f"{job.name}\n{figure(job.parameters, 'parameters')} on {job.gpus:,} GPUs\n"
        f"{figure(job.size_gb, 'GB')} every {figure(job.interval_s, 's')}, "
        f"{figure(job.write_gb_per_s, 'GB/s')}, overlap {percent(job.overlap)}"
        for job in jobs
    )
    return Points("job", tuple(x), tuple(y), hovers)
