"""A tornado: each input at its low and its high end, the widest swing first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from planner.figures import RATIOS
from planner.report.blocks import (
    PAGE,
    SCREEN,
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    notes_block,
    proof_block,
)
from planner.report.charts.model import ROW_MIDDLE, Axis, Bars, Chart, Panel, Reference, Tone
from planner.report.charts.words import axis_scale, in_scale, short
from planner.report.sensitivity_words import (
    STATUS,
    amount,
    as_it_stands,
    asked_gap,
    changes,
    ended,
    goal,
    named,
    sentence,
    units,
)
from planner.report.words import changed_by, counted, fitted, listed, ratio, write_figure
from planner.schema.analysis import (
    PLANNED,
    End,
    Swing,
    Tornado,
)

_HALF, _LABEL, _TEXT = 8, 24, 10
_LOW, _HIGH = "=", "#"
_FIRST, _MOST_REASONS, _MOST_BARS = 12, 8, 20
_THICKNESS, _APART = 0.34, 0.17


def view(study: Tornado) -> list[Block]:
    """Return a tornado as blocks."""
    blocks: list[Block] = [Heading(f"{named(study)}  (inputs one at a time, from low to high)")]
    if not study.swings:
        return [*blocks, Text((study.message or "no input was changed",))]
    moving = [swing for swing in study.swings if _moves(study, swing)]
    still = [swing.label for swing in study.swings if swing not in moving]
    without = [
        f"{swing.label} {end.text}: {end.reason or STATUS[end.status]}"
        for swing in study.swings
        for end in (swing.low, swing.high)
        if end.status not in PLANNED
    ]
    now = "no plan" if study.base is None else f"{goal(study)} {amount(study, study.base)}"
    facts = (
        ("Largest", _largest(study, moving[0]) if moving else "no input changes the plan"),
        ("Now", now),
        ("No effect", listed(still)),
        ("", study.message or ""),
    )
    shown = sorted(study.swings, key=lambda swing: swing in moving, reverse=True)
    return [
        *blocks,
        Facts(facts),
        _swings(study, shown, len(moving)),
        Text(tuple(without), "No plan", points=True, most=_MOST_REASONS, first=3),
        notes_block(_close(study)),
        proof_block(_proof(study)),
    ]


def charts(study: Tornado) -> tuple[Chart, ...]:
    """Return bars from the low to the high end of each input."""
    title = f"Change of {goal(study)} by input"
    moving = [swing for swing in study.swings if _moves(study, swing)][:_MOST_BARS]
    if study.base is None or not moving:
        return (Chart("tornado", title, study.message or "No input changes the plan."),)
    ends = [end.objective for swing in moving for end in (swing.low, swing.high)]
    unit = axis_scale([study.base, *ends], study.unit)
    base = study.base / unit.size
    looks: dict[str, Tone] = {"low": "main", "high": "second"}
    layers = []
    for side, tone in looks.items():
        at = [(row, swing) for row, swing in enumerate(moving)
              if getattr(swing, side).objective is not None]  # fmt: skip
        found = [getattr(swing, side) for _, swing in at]
        layers.append(
            Bars(
                f"input at its {side} end",
                tuple(row + ROW_MIDDLE + _offset(study, swing, side) for row, swing in at),
                (base,) * len(at),
                in_scale([end.objective for end in found], unit),
                tuple(_hover(study, swing, end) for (_, swing), end in zip(at, found, strict=True)),
                tuple(short(end.text, 24) for end in found),
                tone,
                side == "high",
                _THICKNESS,
            )
        )
    panel = Panel(
        Axis(goal(study), unit.unit),
        Axis(""),
        tuple(layers),
        references=(Reference(f"now: {amount(study, study.base)}", base, False),),
        rows=tuple(_row(swing) for swing in moving),
    )
    words = f"{counted(len(study.swings), 'input')} changed one at a time; beside each bar its "
    words += f"value there. {len(study.swings) - len(moving)} not drawn."
    return (Chart("tornado", title, words, (panel,)),)


def _moves(study: Tornado, swing: Swing) -> bool:
    """True if an input changes the objective at an end, or leaves no plan there."""
    return any(change is None or change for change in changes(study, swing))


def _largest(study: Tornado, swing: Swing) -> str:
    ends = [
        f"at {end.text} {_change(study, end, change)}"
        for end, change in zip((swing.low, swing.high), changes(study, swing), strict=True)
    ]
    unit = "" if study.unit == "USD" else f" {study.unit}"
    return f"{swing.label}: {', '.join(ends)}{unit}"


def _swings(study: Tornado, swings: Sequence[Swing], moving: int) -> Table:
    moved = [changes(study, swing) for swing in swings]
    most = max((abs(each) for pair in moved for each in pair if each is not None), default=0.0)
    lows, highs = [swing.low for swing in swings], [swing.high for swing in swings]
    unit = f", {study.unit}" if study.unit and study.unit != "USD" else ""
    bars = tuple(_bar(pair, most or 1.0) for pair in moved)
    columns = (
        _words("input", [swing.label for swing in swings], _LABEL),
        Column("now", tuple(swing.base_text for swing in swings), on=PAGE),
        _words("low", [end.text for end in lows], _TEXT),
        Column("at low", _ends(study, lows, moved, 0)),
        Column("", bars, head=(f"{'= low':<{_HALF}} {'high #':>{_HALF}}",), on=SCREEN, spare=1),
        _words("high", [end.text for end in highs], _TEXT),
        Column("at high", _ends(study, highs, moved, 1)),
        Column("swing", tuple(_swing(study, swing) for swing in swings), on=PAGE),
    )
    what = "Change of " if study.base is not None else ""
    first = min(_FIRST, max(moving, 1))
    order = tuple(range(first))
    return Table(f"{what}{goal(study)}{unit}", columns, first=first, rows="inputs", kept=order)


def _words(label: str, texts: Sequence[str], width: int) -> Column:
    return Column(label, tuple(texts), texts=tuple(_brief(text, width) for text in texts),
                  words=label == "input")  # fmt: skip


def _brief(text: str, width: int) -> str:
    """Return a text within a width: a number loses its last decimals, words are cut."""
    number, space, unit = text.partition(" ")
    whole, point, decimals = number.partition(".")
    room = width - len(whole) - 1 - len(space + unit)
    if len(text) > width and room > 0 and point and (whole + decimals).isdecimal():
        return f"{float(number):.{room}f}{space}{unit}"
    return fitted(text, width)


def _swing(study: Tornado, swing: Swing) -> str:
    return "" if swing.width is None else amount(study, swing.width)


def _ends(
    study: Tornado, ends: Sequence[End], moved: Sequence[tuple[float | None, ...]], side: int
) -> tuple[str, ...]:
    pairs = zip(ends, moved, strict=True)
    return tuple(_change(study, end, pair[side]) for end, pair in pairs)


def _change(study: Tornado, end: End, change: float | None) -> str:
    """Return the change at an end; the objective without a base, the status without a plan."""
    if end.objective is None:
        return STATUS[end.status]
    if study.base is None or change is None:
        return write_figure(end.objective, study.unit)
    if study.objective in RATIOS and change:
        return f"{'+' if change > 0 else '-'}{ratio(abs(change))}"
    return changed_by(change, study.unit)


def _bar(pair: Sequence[float | None], most: float) -> str:
    """Return a bar about its base; of two ends on one side the nearer is in front."""
    cells = [" "] * (2 * _HALF + 1)
    ends = [(change, mark) for change, mark in zip(pair, (_LOW, _HIGH), strict=True) if change]
    for change, mark in sorted(ends, key=lambda end: -abs(end[0])):
        step = 1 if change > 0 else -1
        for at in range(1, max(1, round(_HALF * abs(change) / most)) + 1):
            cells[_HALF + step * at] = mark
    cells[_HALF] = "|"
    return "".join(cells)


def _proof(study: Tornado) -> Iterator[str]:
    statuses: dict[str, int] = {}
    for end in (end for swing in study.swings for end in (swing.low, swing.high)):
        statuses[end.status] = statuses.get(end.status, 0) + 1
    yield sentence(as_it_stands(study))
    yield f"Each end is a plan of its own, proven within {asked_gap(study)}: {ended(statuses)}."


def _close(study: Tornado) -> Iterator[str]:
    """Yield neighbours whose proofs overlap, so that they may rank the other way round."""
    ranked = [swing for swing in study.swings if swing.width is not None]
    unsure = [
        f"{one.label} and {other.label}"
        for one, other in pairwise(ranked)
        if (one.least_width or 0.0) < (other.most_width or 0.0) and one.width
    ]
    if unsure:
        yield f"too close to rank within the gap: {'; '.join(unsure)}"


def _offset(study: Tornado, swing: Swing, side: str) -> float:
    """The shift of a bar beside another on the same side of the base."""
    low, high, base = swing.low.objective, swing.high.objective, study.base or 0.0
    if low is None or high is None or (low - base) * (high - base) <= 0:
        return 0.0
    return -_APART if side == "low" else _APART


def _row(swing: Swing) -> str:
    without = [
        f"{short(end.text, 24)}: {STATUS[end.status]}"
        for end in (swing.low, swing.high)
        if end.objective is None
    ]
    return "; ".join([short(f"{swing.label}, now {swing.base_text}", 52), *without])


def _hover(study: Tornado, swing: Swing, end: End) -> str:
    change = _change(study, end, (end.objective or 0.0) - (study.base or 0.0))
    bound = "" if end.bound is None else f", bound {amount(study, end.bound)}"
    value = f"{goal(study)} {amount(study, end.objective or 0.0)} ({change}){bound}"
    return f"{short(swing.label, 60)}: {short(end.text, 60)}\n{value}\n{units(end.counts, {})}"
