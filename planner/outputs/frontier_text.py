"""A frontier in words: its points, the knee and the best of them, where rules land."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planner.figures import FIGURES, capital
from planner.outputs.blocks import (
    EVERYWHERE,
    PAGE,
    SCREEN,
    Block,
    Column,
    FirstScreen,
    Heading,
    Medium,
    Table,
    Text,
)
from planner.outputs.sensitivity_words import (
    as_it_stands,
    asked_gap,
    named,
    sentence,
    units,
)
from planner.outputs.words import (
    LEAST_TOLD,
    Scale,
    listed,
    millions,
    number,
    relative,
    results,
    small_share,
)
from planner.schema.sensitivity import Frontier, FrontierMark, FrontierPoint

INCOMPLETE = "Not every plan of the curve is among these points."


def across(study: Frontier) -> Scale:
    """Return how the figures of the horizontal axis are written."""
    return results([point.x for point in study.points], study.x_unit)


def up(study: Frontier) -> Scale:
    """Return how the figures of the vertical axis are written."""
    return results([y for point in study.points for y in (point.y, point.bound)], study.y_unit)


def marks(study: Frontier, place: int) -> str:
    """Return whether a point is the knee, the best, or both."""
    names = [name for name, at in (("knee", study.knee), ("best", study.best)) if at == place]
    return ", ".join(names)


def heading(study: Frontier) -> str:
    """Return the title of a frontier."""
    return f"{capital(study.y_label)} against {study.x_label}"


def knee(study: Frontier) -> str:
    """Return in one sentence what the knee means; empty where there is none."""
    if study.knee is None:
        return ""
    bend = study.points[study.knee]
    start = f"The knee is point {study.knee + 1}, at {across(study).with_unit(bend.x)} of "
    start += f"{study.x_label}"
    if study.best is None:
        return f"{start}, where the curve bends most."
    if study.best == study.knee:
        return f"{start}, and it is the best point, too: nothing beyond it adds {study.y_label}."
    return f"{start}: {_share(study, bend, study.points[study.best])}."


def _share(study: Frontier, bend: FrontierPoint, best: FrontierPoint) -> str:
    """Return what share of the best point's work the knee has, for what share of its cost."""
    reached = f"it has {_percent(bend.y, best.y)} of the best point's {study.y_label}"
    if best.x > 0:
        reached += f" with {_percent(bend.x, best.x)} of its {study.x_label}"
    if study.x_name != "storage":
        return f"{reached}, and beyond it more {study.x_label} buys less than before it"
    return f"{reached}, and beyond it more {study.x_label} buys little"


def _percent(part: float, whole: float) -> str:
    return "all" if part == whole or whole == 0 else relative(part / whole)


def ruled(study: Frontier, mark: FrontierMark) -> str:
    """Return what the best plan by a rule for storage comes to, or why there is none."""
    if mark.x is None or mark.y is None:
        return f"no plan: {mark.reason}" if mark.reason else "no plan"
    text = f"{across(study).with_unit(mark.x)}, {study.y_label} {up(study).with_unit(mark.y)}"
    best = None if study.best is None else study.points[study.best].y
    if not best:
        return text
    behind = f"{relative(1.0 - mark.y / best)} {'less' if mark.y < best else 'more'}"
    return f"{text}, {behind} than the best"


def rules(study: Frontier) -> list[str]:
    """Return how the points are to be read, and whether all are there."""
    how = {"storage": "bought", "cost": "spent", "power": "drawn"}[study.x_name]
    texts = [
        f"Each point is the best plan for the {study.x_label} {how}, proven within "
        f"{asked_gap(study)}."
    ]
    if study.knee is not None and study.knee_rule:
        texts.append(f"How the knee is found: {study.knee_rule}.")
    if not study.complete:
        texts.append(INCOMPLETE)
    return texts


MOST_ROWS = 40
"""Points on the screen; knee, best and the ends are always among them."""


def view(study: Frontier) -> list[Block]:
    """Return what a frontier says."""
    blocks: list[Block] = [Heading(_heading(study)), Text((study.message or "",))]
    if study.points:
        marked = tuple(f"{mark.label}: {ruled(study, mark)}" for mark in study.marks)
        blocks += [
            _points(study),
            Text(marked, "By a rule for storage, the best plan", points=True),
            Text((knee(study), *rules(study), sentence(as_it_stands(study)))),
        ]
    return blocks


_FIRST_ROWS = 6


def first(study: Frontier) -> FirstScreen:
    """Return what one page says: the best point, the knee, where rules land, some points."""
    if not study.points:
        return FirstScreen(entire=True)
    best = None if study.best is None else study.points[study.best]
    answer = [
        ("Best", "" if best is None else f"{across(study).with_unit(best.x)} of {study.x_label}: "
         f"{up(study).with_unit(best.y)} with {units(best.counts, study.products)}"),
        ("Knee", knee(study)),
        ("Rules", listed([_landed(study, mark) for mark in study.marks])),
    ]  # fmt: skip
    points = replace(_points(study), most=_FIRST_ROWS)
    columns = tuple(c for c in points.columns if c.label not in _ONLY_FULL)
    how, *proof = rules(study)
    return FirstScreen(
        _heading(study),
        tuple(answer),
        below=(replace(points, columns=columns),),
        notes=tuple(text for text in proof if not text.startswith("How the knee")),
        proof=(how, *(text for text in proof if text.startswith("How the knee"))),
        full=f"all {len(study.points)} points",
    )


_ONLY_FULL = ("no plan passes", FIGURES["gpus_used"].label)


def _landed(study: Frontier, mark: FrontierMark) -> str:
    """Return where a rule lands, and how far behind the best that is."""
    if mark.x is None or mark.y is None:
        return f"{mark.label} no plan"
    best = None if study.best is None else study.points[study.best].y
    text = f"{mark.label} {across(study).with_unit(mark.x)}"
    less = 1.0 - mark.y / best if best else 0.0
    return f"{text} ({relative(less)} less)" if less >= LEAST_TOLD else text


def _heading(study: Frontier) -> str:
    return f"{named(study)}  (frontier: {study.y_label} against {study.x_label})"


def _points(study: Frontier) -> Table:
    x, y = across(study), up(study)
    points, against = study.points, study.x_name
    ys = study.y_unit
    columns = [
        Column("point", tuple(range(1, len(points) + 1)), head=("",), on=SCREEN),
        Column("", tuple(marks(study, at) for at in range(len(points))), words=True),
        _axis(study.x_label, [point.x for point in points], study.x_unit, x),
        _axis(study.y_label, [point.y for point in points], ys, y),
        _axis("no plan passes", [each.bound for each in points], ys, y, ("no plan", "passes")),
        Column("gap", tuple(small_share(point.gap) for point in points), on=PAGE),
        _figure("gpus_used", [each.gpus_in_use for each in points], ("GPUs", "in use"), EVERYWHERE),
        _figure("goodput", [point.goodput for point in points], (), PAGE),
    ]
    if against != "cost":
        capex = [point.capex_usd for point in points]
        column = _figure("capex_usd", capex, ("capex", study.shown_in.large[1]), EVERYWHERE)
        columns.append(replace(column, texts=tuple(map(millions, capex))))
    if against != "power":
        meter = [point.facility_power_kw for point in points]
        on = EVERYWHERE if against == "cost" else PAGE
        column = _figure("facility_power_kw", meter, ("at the", "meter kW"), on)
        columns.append(replace(column, texts=tuple(map(number, meter))))
    bought = tuple(units(point.counts, study.products, len(point.counts)) for point in points)
    short = tuple(units(point.counts, study.products) for point in points)
    columns.append(Column("buys", bought, texts=short, words=True, gives_way=True))
    kept = tuple(at for at in (study.knee, study.best) if at is not None)
    title = heading(study)
    return Table(
        title,
        tuple(columns),
        most=MOST_ROWS,
        kept=kept,
        rows="points",
    )


def _figure(
    name: str, values: Sequence[float | None], head: tuple[str, ...], on: frozenset[Medium]
) -> Column:
    figure = FIGURES[name]
    unit = "" if figure.unit in figure.label else figure.unit
    return Column(figure.label, tuple(values), unit, head=head, on=on)


def _axis(
    label: str,
    values: Sequence[float | None],
    unit: str,
    scale: Scale,
    head: tuple[str, ...] = (),
) -> Column:
    texts = tuple(scale.text(value) for value in values)
    return Column(label, tuple(values), unit, texts, head or ("", scale.unit))
