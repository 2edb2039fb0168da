"""A tornado on the screen: bars from low to high about the base, the widest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from planner.figures import RATIOS
from planner.outputs.blocks import (
    PAGE,
    SCREEN,
    Block,
    Column,
    FirstScreen,
    Heading,
    Table,
    Text,
)
from planner.outputs.sensitivity_words import (
    STATUS,
    amount,
    as_it_stands,
    asked_gap,
    changes,
    ended,
    goal,
    named,
    no_plan,
    sentence,
)
from planner.outputs.words import changed_by, counted, fitted, listed, ratio, write_figure
from planner.schema.sensitivity import PLANNED, End, Swing, Tornado

_HALF = 12
"""Characters of a bar on either side of the base."""

_LABEL, _TEXT = 24, 10
_LOW, _HIGH = "=", "#"
_MOST_REASONS = 8

_FIRST, _FIRST_LABEL, _FIRST_HALF = 12, 22, 5
"""Rows of the first screen's table, the width of their labels and of half a bar."""


def view(study: Tornado) -> list[Block]:
    """Return what a tornado says."""
    blocks: list[Block] = [Heading(f"{named(study)}  (inputs one at a time, from low to high)")]
    blocks.append(Text((study.message or "",)))
    if study.swings:
        blocks += [_swings(study), _notes(study), _why_none(study)]
    return blocks


def first(study: Tornado) -> FirstScreen:
    """Return what one page says: what moves the plan most, and what does not at all."""
    if not study.swings or study.base is None:
        return FirstScreen(entire=True)
    moving = [swing for swing in study.swings if _moves(study, swing)]
    still = [swing.label for swing in study.swings if swing not in moving]
    shown = moving[:_FIRST]
    without = [
        f"{swing.label} {end.text}"
        for swing in study.swings
        for end in (swing.low, swing.high)
        if end.status not in PLANNED
    ]
    left = len(moving) - len(shown)
    answer = [
        ("Now", f"{goal(study)} {amount(study, study.base)}"),
        ("Most", _most(study, moving[0]) if moving else "no input changes anything"),
        ("No plan", listed(without[:_MOST_REASONS])),
    ]
    notes = tuple(_alike(study))
    swings = "every input with both ends" + (f", {left} more that matter less" if left else "")
    return FirstScreen(
        f"{named(study)}  (inputs one at a time, from low to high)",
        tuple(answer),
        below=(_first_swings(study, shown), Text((_nothing(still),))),
        notes=notes,
        proof=tuple(text for text in _notes(study).texts if text not in notes),
        full=swings,
    )


def _moves(study: Tornado, swing: Swing) -> bool:
    """Say whether an input changes the best plan's worth at either end, or leaves none."""
    return any(change is None or change for change in changes(study, swing))


def _nothing(still: Sequence[str]) -> str:
    """Return what changes nothing, neither low nor high."""
    if not still:
        return ""
    many = f"{counted(len(still), 'other')} change{'s' if len(still) == 1 else ''} nothing"
    return f"{many}, low or high: {listed(list(still))}."


def _most(study: Tornado, swing: Swing) -> str:
    ends = [
        f"at {end.text} {_change(study, end, change)}"
        for end, change in zip((swing.low, swing.high), changes(study, swing), strict=True)
    ]
    unit = "" if study.unit == "USD" else f" {study.unit}"
    return f"{swing.label}: {', '.join(ends)}{unit}"


def _first_swings(study: Tornado, swings: Sequence[Swing]) -> Table:
    """Return the widest swings, with bars where there is room for them."""
    moved = [changes(study, swing) for swing in swings]
    most = max((abs(each) for pair in moved for each in pair if each is not None), default=0.0)
    lows, highs = [swing.low for swing in swings], [swing.high for swing in swings]
    labels = tuple(fitted(swing.label, _FIRST_LABEL) for swing in swings)
    columns = [
        Column("input", labels, head=("",), words=True, gives_way=True),
        _words("low", [end.text for end in lows], _TEXT),
        Column("at low", _changes(study, lows, [pair[0] for pair in moved]), head=("change",)),
        _words("high", [end.text for end in highs], _TEXT),
        Column("at high", _changes(study, highs, [pair[1] for pair in moved]), head=("change",)),
    ]
    bars = tuple(_bar(pair, most, _FIRST_HALF) for pair in moved)
    columns.insert(3, Column("bar", bars, head=("= low   high #",), words=True, spare=1))
    unit = "" if study.unit == "USD" else f", {study.unit}"
    return Table(f"Change of {goal(study)}{unit}", tuple(columns))


def _swings(study: Tornado) -> Table:
    swings, unit = study.swings, "" if study.unit == "USD" else f", {study.unit}"
    moved = [changes(study, swing) for swing in swings]
    most = max((abs(each) for pair in moved for each in pair if each is not None), default=0.0)
    there = f"{goal(study)} there"
    lows, highs = ([getattr(swing, side) for swing in swings] for side in ("low", "high"))
    columns = [
        Column("rank", tuple(range(1, len(swings) + 1)), head=("",), on=SCREEN),
        _words("input", [swing.label for swing in swings], _LABEL, head=("",), words=True),
        Column("now", tuple(swing.base_text for swing in swings), on=PAGE),
        _words("low", [end.text for end in lows], _TEXT),
        Column(there, tuple(_objective(study, end) for end in lows), on=PAGE),
        Column(
            "change",
            tuple(_bar(pair, most) for pair in moved),
            head=(f"{'= at low':<{_HALF}} {'at high #':>{_HALF}}",),
            on=SCREEN if study.base is not None else frozenset(),
        ),
        _words("high", [end.text for end in highs], _TEXT),
        Column(there, tuple(_objective(study, end) for end in highs), on=PAGE),
        Column("at low", _changes(study, lows, [pair[0] for pair in moved]), on=SCREEN),
        Column("at high", _changes(study, highs, [pair[1] for pair in moved]), on=SCREEN),
        Column("swing", tuple(_swing(study, swing) for swing in swings), on=PAGE),
    ]
    what = f"Change of {goal(study)}" if study.base is not None else goal(study).capitalize()
    return Table(f"{what}{unit}", tuple(columns))


def _words(label: str, texts: Sequence[str], width: int, **more: Any) -> Column:
    short = tuple(_brief(text, width) for text in texts)
    return Column(label, tuple(texts), texts=short, **more)


def _brief(text: str, width: int) -> str:
    """Return a text within a width: a number loses its last decimals, words are cut."""
    number, space, unit = text.partition(" ")
    whole, point, decimals = number.partition(".")
    room = width - len(whole) - 1 - len(space + unit)
    if len(text) > width and room > 0 and point and (whole + decimals).isdecimal():
        return f"{float(number):.{room}f}{space}{unit}"
    return fitted(text, width)


def _objective(study: Tornado, end: End) -> str:
    return no_plan(end) if end.objective is None else amount(study, end.objective)


def _swing(study: Tornado, swing: Swing) -> str:
    return "" if swing.width is None else amount(study, swing.width)


def _changes(study: Tornado, ends: Sequence[End], moved: Sequence[float | None]) -> tuple[str, ...]:
    return tuple(_change(study, end, change) for end, change in zip(ends, moved, strict=True))


def _change(study: Tornado, end: End, change: float | None) -> str:
    """Return the change at an end, the objective where there is no base, or that it has no plan."""
    if end.objective is None:
        return STATUS[end.status]
    if study.base is None or change is None:
        return write_figure(end.objective, study.unit)
    if study.objective in RATIOS and change:
        return f"{'+' if change > 0 else '-'}{ratio(abs(change))}"
    return changed_by(change, study.unit)


def _bar(pair: Sequence[float | None], most: float, half: int = _HALF) -> str:
    """Return a bar about its base; where both ends lie on one side, the nearer one in front."""
    cells = [" "] * (2 * half + 1)
    ends = [(change, mark) for change, mark in zip(pair, (_LOW, _HIGH), strict=True) if change]
    for change, mark in sorted(ends, key=lambda end: -abs(end[0])):
        reach = max(1, round(half * abs(change) / most))
        step = 1 if change > 0 else -1
        for at in range(1, reach + 1):
            cells[half + step * at] = mark
    cells[half] = "|"
    return "".join(cells)


def _notes(study: Tornado) -> Text:
    statuses: dict[str, int] = {}
    for end in (end for swing in study.swings for end in (swing.low, swing.high)):
        statuses[end.status] = statuses.get(end.status, 0) + 1
    return Text(
        (
            sentence(as_it_stands(study)),
            f"Each bar is two plans of the same problem with one input changed, each proven within "
            f"{asked_gap(study)}: {ended(statuses)}.",
            *_alike(study),
        )
    )


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


def _why_none(study: Tornado) -> Text:
    reasons = (
        f"{swing.label} {end.text}: {no_plan(end)}"
        for swing in study.swings
        for end in (swing.low, swing.high)
        if end.status not in PLANNED
    )
    return Text(tuple(reasons), "Where there is no plan", points=True, most=_MOST_REASONS)
