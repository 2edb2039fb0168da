"""A frontier on the screen: its points, the knee and the best of them."""

from __future__ import annotations

from planner.outputs.frontier_words import across, knee, marks, ruled, rules, up
from planner.outputs.scales import Scale
from planner.outputs.sensitivity_words import (
    as_it_stands,
    named,
    narrowed,
    printable,
    sentence,
    units,
)
from planner.outputs.size_text import table
from planner.outputs.words import INDENT, millions, number, wrapped
from planner.schema.sensitivity import Frontier

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
