"""A tornado: each input at its low and its high end, the widest swing first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.figures import RATIOS
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
    ROW_MIDDLE,
    Axis,
    Bars,
    Chart,
    Panel,
    Reference,
    Tone,
    sized_axis,
)
from planner.report.words import (
    STATUS_WORDS,
    amount,
    as_it_stands,
    changed_by,
    counted,
    ended,
    goal,
    listed,
    named,
    percent,
    ratio,
    short,
    units,
    write_figure,
)
from planner.schema.analysis import PLANNED, End, Swing, Tornado

_FIRST, _MOST_REASONS, _MOST_BARS = 12, 8, 20
_APART = 0.17


def view(study: Tornado) -> list[Block]:
    """A tornado as blocks."""
    title = Heading(f"{named(study)}  (inputs one at a time, from low to high)")
    if not study.swings:
        return [title, Text((study.message or "no input was changed",))]
    moving = [swing for swing in study.swings if _moves(study, swing)]
    still = [swing.label for swing in study.swings if swing not in moving]
    without = [
        f"{swing.label} {end.text}: {end.reason or STATUS_WORDS[end.status]}"
        for swing in study.swings
        for end in (swing.low, swing.high)
        if end.status not in PLANNED
    ]
    facts = (
        ("Largest", _largest(study, moving[0]) if moving else "no input changes the plan"),
        ("Now", "no plan" if study.base is None else f"{goal(study)} {amount(study, study.base)}"),
        ("No effect", listed(still)),
        ("", study.message or ""),
    )
    shown = sorted(study.swings, key=lambda swing: swing in moving, reverse=True)
    return [
        title,
        Facts(facts),
        *charts(study),
        _swings(study, shown, len(moving)),
        Text(tuple(without), "No plan", points=True, most=_MOST_REASONS, first=3),
        proof_block(_proof(study)),
    ]


def _changes(study: Tornado, swing: Swing) -> tuple[float | None, float | None]:
    """Changes of the objective at low and at high; None without a plan."""

    def change(end: End) -> float | None:
        if study.base is None or end.objective is None:
            return None
        return end.objective - study.base

    return change(swing.low), change(swing.high)


def _moves(study: Tornado, swing: Swing) -> bool:
    """Whether an input changes the objective at an end, or leaves no plan there."""
    return any(change is None or change for change in _changes(study, swing))


def _largest(study: Tornado, swing: Swing) -> str:
    pairs = zip((swing.low, swing.high), _changes(study, swing), strict=True)
    ends = ", ".join(f"at {end.text} {_change(study, end, change)}" for end, change in pairs)
    return f"{swing.label}: {ends}" + ("" if study.unit == "USD" else f" {study.unit}")


def _change(study: Tornado, end: End, change: float | None) -> str:
    """The change at an end; the objective without a base, the status without a plan."""
    if end.objective is None:
        return STATUS_WORDS[end.status]
    if study.base is None or change is None:
        return write_figure(end.objective, study.unit)
    if study.objective in RATIOS and change:
        return f"{'+' if change > 0 else '-'}{ratio(abs(change))}"
    return changed_by(change, study.unit)


def _swings(study: Tornado, swings: Sequence[Swing], moving: int) -> Table:
    moved = [(swing, *_changes(study, swing)) for swing in swings]
    unit = f", {study.unit}" if study.unit and study.unit != "USD" else ""
    columns = (
        words("input", (swing.label for swing in swings)),
        figures("now", (swing.base_text for swing in swings), str, detail=True),
        figures("low", (swing.low.text for swing in swings), str),
        figures("at low", (_change(study, s.low, low) for s, low, _ in moved), str),
        figures("high", (swing.high.text for swing in swings), str),
        figures("at high", (_change(study, s.high, high) for s, _, high in moved), str),
    )
    title = f"{'Change of ' if study.base is not None else ''}{goal(study)}{unit}"
    return Table(title, columns, first=min(_FIRST, max(moving, 1)), rows="inputs")


def _proof(study: Tornado) -> Iterator[str]:
    statuses: dict[str, int] = {}
    for end in (end for swing in study.swings for end in (swing.low, swing.high)):
        statuses[end.status] = statuses.get(end.status, 0) + 1
    yield as_it_stands(study)
    within = percent(study.gap_asked, 4)
    yield f"Each end is a plan of its own, proven within {within}: {ended(statuses)}."


def charts(study: Tornado) -> tuple[Chart, ...]:
    """Bars from the low to the high end of each input."""
    title = f"Change of {goal(study)} by input"
    moving = [swing for swing in study.swings if _moves(study, swing)][:_MOST_BARS]
    if study.base is None or not moving:
        return (Chart("tornado", title, study.message or "No input changes the plan."),)
    ends = [end.objective for swing in moving for end in (swing.low, swing.high)]
    axis, size = sized_axis(goal(study), [study.base, *ends], study.unit)
    base = study.base / size
    sides: tuple[tuple[str, Tone], ...] = (("low", "main"), ("high", "second"))
    layers = []
    for side, tone in sides:
        bars = [(row, swing, getattr(swing, side)) for row, swing in enumerate(moving)]
        bars = [bar for bar in bars if bar[2].objective is not None]
        layers.append(
            Bars(
                f"input at its {side} end",
                tuple(row + ROW_MIDDLE + _offset(study, swing, side) for row, swing, _ in bars),
                (base,) * len(bars),
                tuple(end.objective / size for *_, end in bars),
                tuple(_hover(study, swing, end) for _, swing, end in bars),
                tuple(short(end.text, 24) for *_, end in bars),
                tone,
                side == "high",
            )
        )
    now = Reference(f"now: {amount(study, study.base)}", base, False)
    panel = Panel(axis, Axis(""), (*layers, now), rows=tuple(map(_row, moving)))
    text = f"{counted(len(study.swings), 'input')} changed one at a time; beside each bar its "
    text += f"value there. {len(study.swings) - len(moving)} not drawn."
    return (Chart("tornado", title, text, (panel,)),)


def _offset(study: Tornado, swing: Swing, side: str) -> float:
    """The shift of a bar beside another on the same side of the base."""
    low, high, base = swing.low.objective, swing.high.objective, study.base or 0.0
    if low is None or high is None or (low - base) * (high - base) <= 0:
        return 0.0
    return -_APART if side == "low" else _APART


def _row(swing: Swing) -> str:
    without = [
        f"{short(end.text, 24)}: {STATUS_WORDS[end.status]}"
        for end in (swing.low, swing.high)
        if end.objective is None
    ]
    return "; ".join([short(f"{swing.label}, now {swing.base_text}", 52), *without])


def _hover(study: Tornado, swing: Swing, end: End) -> str:
    change = _change(study, end, (end.objective or 0.0) - (study.base or 0.0))
    bound = "" if end.bound is None else f", bound {amount(study, end.bound)}"
    value = f"{goal(study)} {amount(study, end.objective or 0.0)} ({change}){bound}"
    return f"{short(swing.label, 60)}: {short(end.text, 60)}\n{value}\n{units(end.counts, {})}"
