"""A frontier: the best work for each amount of storage, money or power, its knee, the rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.figures import FIGURES, capital
from planner.report.blocks import (
    Block,
    Facts,
    Heading,
    Table,
    Text,
    figures,
    proof_block,
    words,
)
from planner.report.charts.model import (
    Chart,
    Layer,
    Line,
    Mark,
    Panel,
    Points,
    Shape,
    bound_band,
    in_size,
    proven,
    sized_axis,
)
from planner.report.words import (
    Scale,
    as_it_stands,
    counted,
    exact_amount,
    listed,
    millions,
    named,
    percent,
    plain,
    relative,
    results,
    short,
    units,
)
from planner.schema.analysis import Frontier, FrontierMark, FrontierPoint

MOST_ROWS, _FIRST_ROWS = 40, 6
_RULES: tuple[Shape, ...] = ("square", "triangle", "down", "left", "right", "pentagon")


def view(study: Frontier) -> list[Block]:
    """A frontier as blocks."""
    title = f"{named(study)}  (frontier: {study.y_label} against {study.x_label})"
    if not study.points:
        return [Heading(title), Text((study.message or "no plan",))]
    best = None if study.best is None else study.points[study.best]
    at = "" if best is None else f"{_across(study).with_unit(best.x)} of {study.x_label}: "
    facts = (
        (
            "Best",
            ""
            if best is None
            else f"{at}{_up(study).with_unit(best.y)} with {units(best.counts, study.products)}",
        ),
        ("Knee", _knee(study)),
        ("", study.message or ""),
    )
    rules = tuple(f"{mark.label}: {_rule(study, mark)}" for mark in study.marks)
    proof = f"Each point is the best plan for its {study.x_label}."
    return [
        Heading(title),
        Facts(facts),
        _points(study),
        Text(rules, "Best plan by each storage rule", points=True),
        proof_block((
            proof,
            proven([point.gap for point in study.points]),
            as_it_stands(study),
        )),
    ]  # fmt: skip


def _across(study: Frontier) -> Scale:
    return results([point.x for point in study.points], study.x_unit)


def _up(study: Frontier) -> Scale:
    return results([y for point in study.points for y in (point.y, point.bound)], study.y_unit)


def _knee(study: Frontier) -> str:
    if study.knee is None:
        return ""
    bend = study.points[study.knee]
    start = f"{_across(study).with_unit(bend.x)} of {study.x_label}"
    if study.best is None:
        return start
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
    """The best plan by a rule for storage, or the reason for none."""
    if mark.x is None or mark.y is None:
        return f"no plan: {mark.reason}" if mark.reason else "no plan"
    text = f"{_across(study).with_unit(mark.x)}, {study.y_label} {_up(study).with_unit(mark.y)}"
    best = None if study.best is None else study.points[study.best].y
    if not best:
        return text
    return f"{text}, {relative(1.0 - mark.y / best)} {'below' if mark.y < best else 'above'} best"


def _points(study: Frontier) -> Table:
    points, places = study.points, range(len(study.points))
    names = {study.knee: "knee", study.best: "best"}
    if study.knee == study.best:
        names[study.best] = "best, knee"
    million = study.shown_in.large[1]
    columns = [
        figures("", (at + 1 for at in places), 0),
        words("", (names.get(at, "") for at in places)),
        figures(study.x_label, (point.x for point in points), study.x_unit),
        figures(study.y_label, (point.y for point in points), study.y_unit),
        figures("bound", (point.bound for point in points), study.y_unit, detail=True),
        figures(FIGURES["gpus_used"].label, (each.gpus_in_use for each in points), 0, detail=True),
    ]
    if study.x_name != "cost":
        columns.append(figures(f"capex, {million}", (p.capex_usd for p in points), millions))
    if study.x_name != "power":
        power = (point.facility_power_kw for point in points)
        columns.append(figures(FIGURES["facility_power_kw"].title, power, 0, detail=True))
    columns.append(words("buys", (units(point.counts, study.products) for point in points)))
    kept = tuple(at for at in (study.knee, study.best) if at is not None)
    return Table(_title(study), tuple(columns), most=MOST_ROWS, first=_FIRST_ROWS, kept=kept,
                 rows="points")  # fmt: skip


def _title(study: Frontier) -> str:
    return f"{capital(study.y_label)} against {study.x_label}"


# The curve with its bound, the knee, the best plan and the plans by rules.


def charts(study: Frontier) -> tuple[Chart, ...]:
    """The chart of a frontier."""
    points, title = study.points, _title(study)
    if not points:
        return (Chart("frontier", title, study.message or "No plan."),)
    log = study.x_name == "storage" and min(point.x for point in points) > 0
    across, wide = sized_axis(study.x_label, (p.x for p in points), study.x_unit, log=log)
    up, high = sized_axis(study.y_label, (p.y for p in points), study.y_unit)
    layers = (
        *_curve(study, wide, high),
        *_rules(study, wide, high),
        *_marks(study, (wide, across.unit), (high, up.unit)),
    )
    texts = [f"{counted(len(points), 'plan')}, each the best for its {study.x_label}."]
    texts.append(proven([point.gap for point in points]))
    return (Chart("frontier", title, " ".join(texts), (Panel(across, up, layers),)),)


def _curve(study: Frontier, wide: float, high: float) -> Iterator[Layer]:
    points = study.points
    places = in_size((point.x for point in points), wide)
    heights = in_size((point.y for point in points), high)
    tops = in_size((point.bound for point in points), high)
    yield from bound_band(places, heights, tops)
    yield Line(f"best {study.y_label}", places, heights)
    hovers = tuple(_hover(study, point) for point in points)
    yield Points("a plan", places, heights, hovers, size=6.0 if len(points) <= 60 else 4.0)


def _rules(study: Frontier, wide: float, high: float) -> Iterator[Points]:
    """Yield the plans by storage rules; rules with the same plan share a point."""
    landed: dict[tuple[float, float], list[FrontierMark]] = {}
    for mark in study.marks:
        if mark.x is not None and mark.y is not None and (mark.x > 0 or study.x_name != "storage"):
            landed.setdefault((mark.x, mark.y), []).append(mark)
    for shape, ((at, height), marks) in zip(3 * _RULES, landed.items(), strict=False):
        name = f"{listed([mark.label for mark in marks])}: {_rule(study, marks[0])}"
        place = (at / wide,), (height / high,), (short(name, 120),)
        yield Points(name, *place, "bad", shape, True, 10.0)


def _marks(study: Frontier, across: tuple[float, str], up: tuple[float, str]) -> Iterator[Mark]:
    """Yield knee and best point, which may be one."""
    named_: Sequence[tuple[str, int | None]] = (("Knee", study.knee), ("Best", study.best))
    if study.best == study.knee:
        named_ = (("Best and knee", study.best),)
    for name, place in named_:
        if place is None:
            continue
        at, height = study.points[place].x / across[0], study.points[place].y / up[0]
        text = f"{name}: {plain(float(f'{height:.4g}'), up[1])}\nat {plain(at, across[1])}"
        if name == "Knee":
            yield Mark(text, at, height, "diamond", "third", above=False)
        else:
            yield Mark(text, at, height, "star")


def _hover(study: Frontier, point: FrontierPoint) -> str:
    bound = exact_amount(point.bound, study.y_unit)
    across = exact_amount(point.x, study.x_unit)
    lines = (
        units(point.counts, study.products),
        f"{study.y_label} {exact_amount(point.y, study.y_unit)}",
        f"bound {bound}, gap {relative(point.gap)}",
        f"{study.x_label} {across}, goodput {percent(point.goodput, 2)}",
        f"binding: {short(', '.join(point.binding), 60)}" if point.binding else "",
    )
    return "\n".join(lines).strip()
