"""A frontier in words: its points, the knee and the best of them, where rules land."""

from __future__ import annotations

from planner.outputs.comparison_words import relative
from planner.outputs.scales import Scale, results
from planner.outputs.sensitivity_words import (
    as_it_stands,
    asked_gap,
    named,
    narrowed,
    printable,
    sentence,
    units,
)
from planner.outputs.size_text import table
from planner.outputs.words import INDENT, millions, number, wrapped
from planner.schema.sensitivity import Frontier, FrontierMark, FrontierPoint


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
    said = [
        f"Each point is the best plan for the {study.x_label} {how}, proven within "
        f"{asked_gap(study)}."
    ]
    if study.knee is not None and study.knee_rule:
        said.append(f"How the knee is found: {study.knee_rule}.")
    if not study.complete:
        said.append("Not every plan of the curve is among these points.")
    return said


MOST_ROWS = 40
"""Points on the screen; knee, best and the ends are always among them."""

_BUYS = 7


def render(study: Frontier) -> str:
    """Return the whole screen, at most 100 columns wide."""
    parts = [f"{named(study)}  (frontier: {study.y_label} against {study.x_label})"]
    if study.message:
        parts.append("\n".join(wrapped(study.message)))
    if study.points:
        said = [knee(study), *rules(study), sentence(as_it_stands(study))]
        parts.append(_points(study))
        parts.append(_rules(study))
        parts.append("\n".join(line for text in said if text for line in wrapped(text)))
    return printable("\n\n".join(part for part in parts if part) + "\n")


def _points(study: Frontier) -> str:
    scales = across(study), up(study)
    x, y = scales
    other = ("at the", "meter kW") if study.x_name == "cost" else ("capex", "MUSD")
    lines = [
        ["", "", "", "", "no plan", "GPUs", other[0], ""],
        ["", "", x.unit, y.unit, "passes", "in use", other[1], "buys"],
    ]
    shown = _shown(study)
    lines += [_row(study, place, scales) for place in shown]
    title = f"{study.y_label[:1].upper()}{study.y_label[1:]} against {study.x_label}"
    if len(shown) < len(study.points):
        title += f": {len(shown)} of {len(study.points):,} points; the files have all"
    return "\n".join([*wrapped(title, "", ""), *table(narrowed(lines, _BUYS), left=(1, _BUYS))])


def _rules(study: Frontier) -> str:
    """Return where the vendors' rules land."""
    said = [f"{mark.label}: {ruled(study, mark)}" for mark in study.marks]
    lines = [line for text in said for line in wrapped(text, f"{INDENT}- ", f"{INDENT}  ")]
    return "\n".join(["By a rule for storage, the best plan", *lines]) if said else ""


def _shown(study: Frontier) -> list[int]:
    """Return the places of the points to show, evenly chosen where there are many."""
    count = len(study.points)
    if count <= MOST_ROWS:
        return list(range(count))
    chosen = {at * (count - 1) // (MOST_ROWS - 3) for at in range(MOST_ROWS - 2)}
    return sorted(chosen | {at for at in (study.knee, study.best) if at is not None})


def _row(study: Frontier, place: int, scales: tuple[Scale, Scale]) -> list[str]:
    point, (x, y) = study.points[place], scales
    spent = study.x_name == "cost"
    return [
        f"{place + 1}",
        marks(study, place),
        x.text(point.x),
        y.text(point.y),
        y.text(point.bound),
        f"{point.gpus_in_use:,}",
        number(point.facility_power_kw) if spent else millions(point.capex_usd),
        units(point.counts),
    ]
