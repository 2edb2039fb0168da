"""The picture of a frontier: the best work at each x, its bound, its knee and its best plan."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from planner.figures import capital
from planner.outputs.charts.model import (
    Axis,
    Band,
    Chart,
    Layer,
    Line,
    Mark,
    Panel,
    Points,
    Shape,
    Steps,
    powers,
)
from planner.outputs.charts.words import (
    BOUND,
    amount,
    axis_scale,
    counted_lines,
    gap,
    in_scale,
    plain,
    proven,
    short,
    shows,
)
from planner.outputs.frontier_text import INCOMPLETE, ruled
from planner.outputs.frontier_text import heading as heading
from planner.outputs.words import Scale, counted, duration, listed, percent
from planner.schema.sensitivity import Frontier, FrontierMark, FrontierPoint

_FEW = 60
_TOUCHING = 1.001
_OPEN_SHARE, _OPEN_FACTOR = 0.04, 1.25
"""How far the last stretch is drawn beyond its plan, where nothing ends it."""

_RULES: tuple[Shape, ...] = ("square", "triangle", "down", "left", "right", "pentagon")


def charts(study: Frontier) -> tuple[Chart, ...]:
    """Return the chart of a frontier."""
    return (_chart(study),)


def _chart(study: Frontier) -> Chart:
    title = heading(study)
    if not study.points:
        return Chart("frontier", title, study.message or "There is no plan to draw.")
    xs, ys = [point.x for point in study.points], [point.y for point in study.points]
    x, y = axis_scale(xs, study.x_unit), axis_scale(ys, study.y_unit)
    log = study.x_name == "storage" and min(xs) > 0
    panel = Panel(
        Axis(study.x_label, x.unit, log, powers(in_scale(xs, x), x.unit) if log else ()),
        Axis(study.y_label, y.unit),
        (*_layers(study, x, y, log), *_rules(study, x, y)),
        marks=tuple(_marks(study, x, y)),
    )
    return Chart("frontier", title, " ".join(_words(study)), (panel,))


def _words(study: Frontier) -> Iterator[str]:
    how = {"storage": "bought", "cost": "spent", "power": "drawn"}[study.x_name]
    yield (
        f"{counted(len(study.points), 'plan')}: each is the best for the {study.x_label} {how}, "
        "everything else optimal."
    )
    yield proven([point.gap for point in study.points], "above")
    if any(
        one.to_x is not None and other.from_x > one.to_x * _TOUCHING
        for one, other in pairwise(study.points)
    ):
        yield "Where the line slants, further plans lie between."
    if study.knee is not None and study.knee_rule:
        yield f"Knee: {study.knee_rule.rstrip('.')}."
    for mark in study.marks:
        if mark.x is None or mark.y is None:
            yield f"{capital(mark.label)}: {ruled(study, mark)}."
    if not study.complete:
        yield INCOMPLETE
    if study.message:
        yield study.message


def _stretches(study: Frontier, log: bool) -> list[tuple[float, float]]:
    """Return where each plan is the best, its open ends cut to what a picture can show."""
    xs = [point.x for point in study.points]
    span = max(xs) - min(xs) or abs(max(xs)) or 1.0
    low = min(xs) / _OPEN_FACTOR if log else max(0.0, min(xs) - _OPEN_SHARE * span)
    high = max(xs) * _OPEN_FACTOR if log else max(xs) + _OPEN_SHARE * span
    return [
        (max(point.from_x, low), high if point.to_x is None else max(point.to_x, low))
        for point in study.points
    ]


def _layers(study: Frontier, x: Scale, y: Scale, log: bool) -> Iterator[Layer]:
    points = study.points
    spans = _stretches(study, log)
    places = in_scale([point.x for point in points], x)
    heights = in_scale([point.y for point in points], y)
    tops = in_scale([point.bound for point in points], y)
    line: Line | Steps = Line(f"best {study.y_label}", places, heights)
    band = Band(BOUND, places, heights, tops)
    if sum(end > start for start, end in spans) > len(spans) / 2:
        starts, ends = (in_scale(side, x) for side in zip(*spans, strict=True))
        line = Steps(line.name, starts, ends, heights)
        at, low = zip(*line.path(), strict=True)
        high = tuple(top for _, top in Steps("", starts, ends, tops).path())
        band = Band(BOUND, at, low, high)
    if shows(heights, tops):
        yield band
    yield line
    hovers = tuple(_hover(study, point) for point in points)
    yield Points("a plan", places, heights, hovers, size=6.0 if len(points) <= _FEW else 4.0)


def _rules(study: Frontier, x: Scale, y: Scale) -> Iterator[Points]:
    """Yield where the vendors' rules land, those of one plan together, their figures as a name."""
    landed: dict[tuple[float, float], list[FrontierMark]] = {}
    for mark in study.marks:
        if mark.x is not None and mark.y is not None and (mark.x > 0 or study.x_name != "storage"):
            landed.setdefault((mark.x, mark.y), []).append(mark)
    for place, ((at, height), marks) in enumerate(landed.items()):
        names, found = listed([mark.label for mark in marks]), ruled(study, marks[0])
        hover = f"{short(names, 60)}\n{found}"
        shape = _RULES[place % len(_RULES)]
        name = f"{names}: {found}"
        yield Points(name, (at / x.size,), (height / y.size,), (hover,), "bad", shape, True, 10.0)


def _marks(study: Frontier, x: Scale, y: Scale) -> Iterator[Mark]:
    def mark(name: str, place: int, *, knee: bool = False) -> Mark:
        point = study.points[place]
        at, height = point.x / x.size, point.y / y.size
        text = f"{name}: {plain(height, y.unit)} {y.unit}".rstrip()
        text += f"\nat {plain(at, x.unit)} {x.unit}".rstrip()
        hover = f"{name}\n{_hover(study, point)}"
        if knee:
            return Mark(text, at, height, "diamond", "third", False, hover)
        return Mark(text, at, height, "star", "second", True, hover)

    if study.best is not None and study.best == study.knee:
        yield mark("Best and knee", study.best)
        return
    if study.knee is not None:
        yield mark("Knee", study.knee, knee=True)
    if study.best is not None:
        yield mark("Best", study.best)


def _hover(study: Frontier, point: FrontierPoint) -> str:
    lines = counted_lines(point.counts)
    lines.append(f"{point.gpus_in_use:,} GPUs in use, goodput {percent(point.goodput, 2)}")
    lines.append(f"{study.y_label}: {amount(point.y, study.y_unit)}")
    lines.append(
        f"no plan has more than {amount(point.bound, study.y_unit)} (gap {gap(point.gap)})"
    )
    lines.append(f"{study.x_label}: {amount(point.x, study.x_unit)}")
    if study.x_name != "storage":
        lines.append(f"writes {amount(point.write_gb_per_s, 'GB/s')}")
    lines.append(f"a checkpoint every {duration(point.interval_s)}")
    if study.x_name != "cost" and point.capex_usd is not None:
        lines.append(f"capex {amount(point.capex_usd, 'USD')}")
    if study.x_name != "power":
        lines.append(f"{amount(point.facility_power_kw, 'kW')} at the meter")
    if point.binding:
        lines.append(f"holds it: {short(', '.join(point.binding), 60)}")
    return "\n".join(lines)
