"""The pictures of a fleet's study: bandwidth by model size, by GPU, and by interval."""

from __future__ import annotations

import math

import numpy as np

from planner.outputs.charts.model import Axis, Band, Chart, Layer, Line, Panel, Points, powers
from planner.outputs.fleet_text import FINDINGS, law_text, trend_text, under_text
from planner.outputs.telemetry_words import figure
from planner.outputs.words import HOUR_S, percent
from planner.schema.telemetry import CONFIDENCE, FleetJob, FleetStudy, Trend

_ROOM = 1.25


def charts(study: FleetStudy) -> tuple[Chart, ...]:
    """Return the three pictures."""
    return bandwidth(study), per_gpu(study), interval(study)


def bandwidth(study: FleetStudy) -> Chart:
    """Return the chart of bandwidth against parameters."""
    x = [job.parameters / 1e9 for job in study.jobs]
    y = [job.write_gb_per_s for job in study.jobs]
    axes = _axis("parameters", "10⁹", x), _axis("write bandwidth", "GB/s", y)
    return _chart("model_size", "bandwidth", study, axes, x, y, study.bandwidth)


def per_gpu(study: FleetStudy) -> Chart:
    """Return the chart of bandwidth per GPU against parameters."""
    x = [job.parameters / 1e9 for job in study.jobs]
    y = [job.mb_per_s_per_gpu for job in study.jobs]
    axes = _axis("parameters", "10⁹", x), _axis("write bandwidth per GPU", "MB/s", y)
    return _chart("per_gpu", "per_gpu", study, axes, x, y, study.per_gpu)


def interval(study: FleetStudy) -> Chart:
    """Return the chart of bandwidth over size against interval, with the demand law.

    Bandwidth over size is 1 / (overlap x interval) by the law, so that jobs of all sizes lie on
    one line.
    """
    x = [job.interval_s / HOUR_S for job in study.jobs]
    y = [HOUR_S * job.write_gb_per_s / job.size_gb for job in study.jobs]
    axes = _axis("interval", "h", x), _axis("bandwidth over size", "1/h", y)
    ends = (min(x) / _ROOM, max(x) * _ROOM)
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


def _axis(label: str, unit: str, values: list[float]) -> Axis:
    return Axis(label, unit, True, powers([min(values) / _ROOM, max(values) * _ROOM]))
