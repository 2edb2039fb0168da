"""A frontier: the best work for each amount of storage, money or power, its knee, the rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from planner.figures import FIGURES, capital
from planner.report.blocks import (
    EVERYWHERE,
    PAGE,
    SCREEN,
    Block,
    Column,
    Facts,
    Heading,
    Medium,
    Table,
    Text,
    proof_block,
)
from planner.report.charts.model import (
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
)
from planner.report.charts.words import (
    BOUND,
    amount,
    axis_scale,
    in_scale,
    plain,
    proven,
    short,
    shows,
)
from planner.report.sensitivity_words import as_it_stands, asked_gap, named, sentence, units
from planner.report.words import (
    Scale,
    counted,
    listed,
    millions,
    number,
    percent,
    relative,
    results,
    small_share,
)
from planner.schema.analysis import Frontier, FrontierMark, FrontierPoint

MOST_ROWS, _FIRST_ROWS = 40, 6
_INCOMPLETE = "The points leave out some plans of the curve."
_TOUCHING, _OPEN_SHARE, _OPEN_FACTOR = 1.001, 0.04, 1.25
_SPENT = {"storage": "bought", "cost": "spent", "power": "drawn"}
_RULES: tuple[Shape, ...] = ("square", "triangle", "down", "left", "right", "pentagon")


def view(study: Frontier) -> list[Block]:
    """Return a frontier as blocks."""
    title = f"{named(study)}  (frontier: {study.y_label} against {study.x_label})"
    if not study.points:
        return [Heading(title), Text((study.message or "no plan",))]
    best = None if study.best is None else study.points[study.best]
    at = "" if best is None else f"{across(study).with_unit(best.x)} of {study.x_label}: "
    facts = (
        ("Best", "" if best is None else f"{at}{up(study).with_unit(best.y)} with "
         f"{units(best.counts, study.products)}"),
        ("Knee", _knee(study)),
        ("", study.message or ""),
    )  # fmt: skip
    rules = tuple(f"{mark.label}: {_rule(study, mark)}" for mark in study.marks)
    return [
        Heading(title),
        Facts(facts),
        _points(study),
        Text(rules, "Best plan by each storage rule", points=True),
        Text(() if study.complete else (_INCOMPLETE,)),
        proof_block((
            f"Each point is the best plan for the {study.x_label} {_SPENT[study.x_name]}, proven "
            f"within {asked_gap(study)}.",
            f"Knee: {study.knee_rule}." if study.knee is not None and study.knee_rule else "",
            sentence(as_it_stands(study)),
        )),
    ]  # fmt: skip


def across(study: Frontier) -> Scale:
    """The unit and decimals of the horizontal axis."""
    return results([point.x for point in study.points], study.x_unit)


def up(study: Frontier) -> Scale:
    """The unit and decimals of the vertical axis."""
    return results([y for point in study.points for y in (point.y, point.bound)], study.y_unit)


def heading(study: Frontier) -> str:
    """Return the title of a frontier."""
    return f"{capital(study.y_label)} against {study.x_label}"


def _knee(study: Frontier) -> str:
    if study.knee is None:
        return ""
    bend = study.points[study.knee]
    start = f"{across(study).with_unit(bend.x)} of {study.x_label}"
    if study.best is None:
        return f"{start}, where the curve bends most"
    if study.best == study.knee:
        return f"{start}, the best point: nothing beyond it adds {study.y_label}"
    best = study.points[study.best]
    share = f"{_share(bend.y, best.y)} of the best point's {study.y_label}"
    if best.x > 0:
        share += f" with {_share(bend.x, best.x)} of its {study.x_label}"
    return f"{start}: {share}"


def _share(part: float, whole: float) -> str:
    return "all" if part == whole or whole == 0 else relative(part / whole)


def _rule(study: Frontier, mark: FrontierMark) -> str:
    """Return the best plan by a rule for storage, or why there is none."""
    if mark.x is None or mark.y is None:
        return f"no plan: {mark.reason}" if mark.reason else "no plan"
    text = f"{across(study).with_unit(mark.x)}, {study.y_label} {up(study).with_unit(mark.y)}"
    best = None if study.best is None else study.points[study.best].y
    if not best:
        return text
    return f"{text}, {relative(1.0 - mark.y / best)} {'below' if mark.y < best else 'above'} best"


def _points(study: Frontier) -> Table:
    x, y = across(study), up(study)
    points, against, ys = study.points, study.x_name, study.y_unit
    names = [(study.knee, "knee"), (study.best, "best")]
    marks = [", ".join(n for at, n in names if at == place) for place in range(len(points))]
    bounds = _axis("bound", [each.bound for each in points], ys, y, ("bound", y.unit))
    columns = [
        Column("point", tuple(range(1, len(points) + 1)), head=("",), on=SCREEN),
        Column("", tuple(marks), words=True),
        _axis(study.x_label, [point.x for point in points], study.x_unit, x),
        _axis(study.y_label, [point.y for point in points], ys, y),
        replace(bounds, detail=True),
        Column("gap", tuple(small_share(point.gap) for point in points), on=PAGE),
        replace(_figure("gpus_used", [each.gpus_in_use for each in points], ("GPUs", "in use")),
                detail=True),
        _figure("goodput", [point.goodput for point in points], (), PAGE),
    ]  # fmt: skip
    if against != "cost":
        capex = [point.capex_usd for point in points]
        column = _figure("capex_usd", capex, ("capex", study.shown_in.large[1]))
        columns.append(replace(column, texts=tuple(map(millions, capex))))
    if against != "power":
        meter = [point.facility_power_kw for point in points]
        on = EVERYWHERE if against == "cost" else PAGE
        column = _figure("facility_power_kw", meter, ("facility", "kW"), on)
        columns.append(replace(column, texts=tuple(map(number, meter))))
    bought = tuple(units(point.counts, study.products, len(point.counts)) for point in points)
    short_ = tuple(units(point.counts, study.products) for point in points)
    columns.append(Column("buys", bought, texts=short_, words=True, gives_way=True))
    kept = tuple(at for at in (study.knee, study.best) if at is not None)
    return Table(heading(study), tuple(columns), most=MOST_ROWS, first=_FIRST_ROWS, kept=kept,
                 rows="points")  # fmt: skip


def _figure(
    name: str,
    values: Sequence[float | None],
    head: tuple[str, ...],
    on: frozenset[Medium] = EVERYWHERE,
) -> Column:
    figure = FIGURES[name]
    unit = "" if figure.unit in figure.label else figure.unit
    return Column(figure.label, tuple(values), unit, head=head, on=on)


def _axis(
    label: str, values: Sequence[float | None], unit: str, scale: Scale, head: tuple[str, ...] = ()
) -> Column:
    texts = tuple(scale.text(value) for value in values)
    return Column(label, tuple(values), unit, texts, head or ("", scale.unit))


def charts(study: Frontier) -> tuple[Chart, ...]:
    """Return the curve with its bound, the knee, the best plan and the plans by rules."""
    title = heading(study)
    if not study.points:
        return (Chart("frontier", title, study.message or "No plan."),)
    xs, ys = [point.x for point in study.points], [point.y for point in study.points]
    x, y = axis_scale(xs, study.x_unit), axis_scale(ys, study.y_unit)
    log = study.x_name == "storage" and min(xs) > 0
    panel = Panel(
        Axis(study.x_label, x.unit, log),
        Axis(study.y_label, y.unit),
        (*_layers(study, x, y, log), *_rules(study, x, y)),
        marks=tuple(_marks(study, x, y)),
    )
    return (Chart("frontier", title, " ".join(_words(study)), (panel,)),)


def _words(study: Frontier) -> Iterator[str]:
    yield f"{counted(len(study.points), 'plan')}, each the best for the {study.x_label}."
    yield proven([point.gap for point in study.points], "above")
    pairs = pairwise(study.points)
    if any(one.to_x is not None and two.from_x > one.to_x * _TOUCHING for one, two in pairs):
        yield "Where the line slants, further plans lie between."
    if not study.complete:
        yield _INCOMPLETE


def _layers(study: Frontier, x: Scale, y: Scale, log: bool) -> Iterator[Layer]:
    points = study.points
    spans = _spans(study, log)
    places = in_scale([point.x for point in points], x)
    heights = in_scale([point.y for point in points], y)
    tops = in_scale([point.bound for point in points], y)
    line: Line | Steps = Line(f"best {study.y_label}", places, heights)
    band = Band(BOUND, places, heights, tops)
    if sum(end > start for start, end in spans) > len(spans) / 2:
        starts, ends = (in_scale(side, x) for side in zip(*spans, strict=True))
        line = Steps(line.name, starts, ends, heights)
        at, low = zip(*line.path(), strict=True)
        band = Band(BOUND, at, low, tuple(y for _, y in Steps("", starts, ends, tops).path()))
    if shows(heights, tops):
        yield band
    yield line
    hovers = tuple(_hover(study, point) for point in points)
    yield Points("a plan", places, heights, hovers, size=6.0 if len(points) <= 60 else 4.0)


def _spans(study: Frontier, log: bool) -> list[tuple[float, float]]:
    """The stretch of each plan; open ends are cut to the picture."""
    xs = [point.x for point in study.points]
    span = max(xs) - min(xs) or abs(max(xs)) or 1.0
    low = min(xs) / _OPEN_FACTOR if log else max(0.0, min(xs) - _OPEN_SHARE * span)
    high = max(xs) * _OPEN_FACTOR if log else max(xs) + _OPEN_SHARE * span
    return [
        (max(point.from_x, low), high if point.to_x is None else max(point.to_x, low))
        for point in study.points
    ]


def _rules(study: Frontier, x: Scale, y: Scale) -> Iterator[Points]:
    """Yield the plans by storage rules; rules with the same plan share a point."""
    landed: dict[tuple[float, float], list[FrontierMark]] = {}
    for mark in study.marks:
        if mark.x is not None and mark.y is not None and (mark.x > 0 or study.x_name != "storage"):
            landed.setdefault((mark.x, mark.y), []).append(mark)
    for shape, ((at, height), marks) in zip(3 * _RULES, landed.items(), strict=False):
        name = f"{listed([mark.label for mark in marks])}: {_rule(study, marks[0])}"
        hovers = (short(name, 120),)
        yield Points(name, (at / x.size,), (height / y.size,), hovers, "bad", shape, True, 10.0)


def _marks(study: Frontier, x: Scale, y: Scale) -> Iterator[Mark]:
    def mark(name: str, place: int, *, above: bool) -> Mark:
        at, height = study.points[place].x / x.size, study.points[place].y / y.size
        text = f"{name}: {plain(height, y.unit)} {y.unit}".rstrip()
        text += f"\nat {plain(at, x.unit)} {x.unit}".rstrip()
        shape: Shape = "star" if above else "diamond"
        return Mark(text, at, height, shape, "second" if above else "third", above)

    if study.best is not None and study.best == study.knee:
        yield mark("Best and knee", study.best, above=True)
        return
    if study.knee is not None:
        yield mark("Knee", study.knee, above=False)
    if study.best is not None:
        yield mark("Best", study.best, above=True)


def _hover(study: Frontier, point: FrontierPoint) -> str:
    return "\n".join((
        units(point.counts, study.products),
        f"{study.y_label} {amount(point.y, study.y_unit)}",
        f"bound {amount(point.bound, study.y_unit)}, gap {small_share(point.gap)}",
        f"{study.x_label} {amount(point.x, study.x_unit)}, goodput {percent(point.goodput, 2)}",
        f"binding: {short(', '.join(point.binding), 60)}" if point.binding else "",
    )).strip()  # fmt: skip
