"""A tornado on the screen: bars from low to high about the base, the widest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from planner.outputs.comparison_words import changed_by, fitted, shown
from planner.outputs.sensitivity_words import (
    STATUS,
    as_it_stands,
    asked_gap,
    changes,
    ended,
    goal,
    named,
    no_plan,
    printable,
    sentence,
)
from planner.outputs.size_text import table
from planner.outputs.words import INDENT, wrapped
from planner.schema.sensitivity import PLANNED, End, Swing, Tornado

_HALF = 12
"""Characters of a bar on either side of the base."""

_LABEL, _TEXT = 24, 10
_LOW, _HIGH = "=", "#"
_MOST_REASONS = 8


def render(study: Tornado) -> str:
    """Return the whole screen, at most 100 columns wide."""
    parts = [f"{named(study)}  (inputs one at a time, from low to high)"]
    if study.message:
        parts.append("\n".join(wrapped(study.message)))
    if study.swings:
        parts += [_bars(study), _notes(study), _why_none(study)]
    return printable("\n\n".join(part for part in parts if part) + "\n")


def _bars(study: Tornado) -> str:
    moved = [changes(study, swing) for swing in study.swings]
    most = max((abs(each) for pair in moved for each in pair if each is not None), default=0.0)
    lines = [
        [
            "",
            "",
            "low",
            f"{'= at low':<{_HALF}} {'at high #':>{_HALF}}",
            "high",
            "at low",
            "at high",
        ]
    ]
    for place, (swing, pair) in enumerate(zip(study.swings, moved, strict=True), start=1):
        lines.append(_row(study, place, swing, (pair, most)))
    if study.base is None:
        lines = [[*row[:3], *row[4:]] for row in lines]
    what = f"Change of {goal(study)}" if study.base is not None else goal(study).capitalize()
    unit = "" if study.unit == "USD" else f", {study.unit}"
    return "\n".join([f"{what}{unit}", *table(lines, left=(1,))])


def _row(
    study: Tornado,
    place: int,
    swing: Swing,
    drawn: tuple[tuple[float | None, float | None], float],
) -> list[str]:
    pair, most = drawn
    return [
        f"{place}",
        fitted(swing.label, _LABEL),
        fitted(swing.low.text, _TEXT),
        _bar(pair, most),
        fitted(swing.high.text, _TEXT),
        _told(study, swing.low, pair[0]),
        _told(study, swing.high, pair[1]),
    ]


def _told(study: Tornado, end: End, change: float | None) -> str:
    """Return the change at an end, the objective where there is no base, or that it has no plan."""
    if end.objective is None:
        return STATUS[end.status]
    if study.base is None or change is None:
        return shown(end.objective, study.unit)
    return changed_by(change, study.unit)


def _bar(pair: Sequence[float | None], most: float) -> str:
    """Return a bar about its base; where both ends lie on one side, the nearer one in front."""
    cells = [" "] * (2 * _HALF + 1)
    ends = [(change, mark) for change, mark in zip(pair, (_LOW, _HIGH), strict=True) if change]
    for change, mark in sorted(ends, key=lambda end: -abs(end[0])):
        reach = max(1, round(_HALF * abs(change) / most))
        step = 1 if change > 0 else -1
        for at in range(1, reach + 1):
            cells[_HALF + step * at] = mark
    cells[_HALF] = "|"
    return "".join(cells)


def _notes(study: Tornado) -> str:
    statuses: dict[str, int] = {}
    for end in (end for swing in study.swings for end in (swing.low, swing.high)):
        statuses[end.status] = statuses.get(end.status, 0) + 1
    texts = [
        sentence(as_it_stands(study)),
        f"Each bar is two plans of the same problem with one input changed, each proven within "
        f"{asked_gap(study)}: {ended(statuses)}.",
        *_alike(study),
    ]
    return "\n".join(line for text in texts for line in wrapped(text))


def _alike(study: Tornado) -> Iterator[str]:
    """Yield that neighbours may rank the other way round, where their proofs overlap."""
    ranked = [swing for swing in study.swings if swing.width is not None]
    unsure = [
        f"{one.label} and {other.label}"
        for one, other in pairwise(ranked)
        if (one.least_width or 0.0) < (other.most_width or 0.0) and one.width
    ]
    if unsure:
        yield f"Too near to each other to rank within that: {'; '.join(unsure)}."


def _why_none(study: Tornado) -> str:
    said = [
        f"{swing.label} {end.text}: {no_plan(end)}"
        for swing in study.swings
        for end in (swing.low, swing.high)
        if end.status not in PLANNED
    ]
    lines = [line for text in said[:_MOST_REASONS] for line in wrapped(text, f"{INDENT}- ", "    ")]
    if len(said) > _MOST_REASONS:
        lines.append(f"{INDENT}- {len(said) - _MOST_REASONS:,} more in the files")
    return "\n".join(["Where there is no plan", *lines]) if said else ""
