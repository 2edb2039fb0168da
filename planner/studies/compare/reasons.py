"""What changed and why it matters: from inputs to the bill, the work, the money and the limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.outputs.comparison_words import counted, listed, shown, valued
from planner.schema.comparison import FigureRow, LineRow
from planner.schema.plan import Plan
from planner.studies.compare.differences import same
from planner.studies.compare.effects import money_and_power, work
from planner.studies.compare.sides import Read

_MOST_INPUTS, _MOST_LINES, _MOST_EDITS = 4, 4, 6
_WANTED = ("Compute", "Storage")
"""Sections of what is decided; all other lines follow from them."""

_TOLD = ("Where it comes from",)
"""Inputs that only say where others come from."""


def sentences(
    first: Read, side: Read, place: int, inputs: Sequence[FigureRow], lines: Sequence[LineRow]
) -> Iterator[str]:
    """Yield what a plan changes against the first, cause before effect.

    Args:
        first: the first plan.
        side: the other.
        place: which of the sides it is.
        inputs: every input of the comparison.
        lines: every line of it.
    """
    yield _changed(first, side, place, inputs)
    if not side.there:
        yield f"It has no plan: {side.reason or 'none was found'}."
        return
    if not first.there:
        yield "It has a plan where the first has none, so there is nothing to tell it from."
        yield from _limits(side)
        return
    yield _bought(place, lines)
    yield work(first.plan, side.plan)
    yield money_and_power(first.plan, side.plan)
    yield from _limits(side, first)


def _changed(first: Read, side: Read, place: int, inputs: Sequence[FigureRow]) -> str:
    """Say which inputs differ; where none that a plan states does, what was set for the run."""
    rows = [row for row in inputs if _differs(row, place, both=first.there and side.there)]
    told = [row for row in rows if row.group not in _TOLD] or rows
    parts = [_input(row, place) for row in told[:_MOST_INPUTS]]
    if len(told) > _MOST_INPUTS:
        parts.append(f"and {counted(len(told) - _MOST_INPUTS, 'more input')}")
    inputs_told = f"Inputs that differ: {'; '.join(parts)}."
    if not side.edits:
        return inputs_told if parts else "All inputs that a plan states are the same."
    edited = f"Edited in the workbook: {'; '.join(_edits(side))}."
    same_origin = first.plan.provenance.input_sha256 == side.plan.provenance.input_sha256
    # Against its own solved plan, the inputs that differ are the edits.
    return f"{edited} {inputs_told}" if parts and not same_origin else edited


def _edits(side: Read) -> list[str]:
    """Return the first edits of a workbook, and how many more there are."""
    more = len(side.edits) - _MOST_EDITS
    rest = [f"and {counted(more, 'more edit')}"] if more > 0 else []
    return [*side.edits[:_MOST_EDITS], *rest]


def _differs(row: FigureRow, place: int, *, both: bool) -> bool:
    """Return whether an input differs; where a plan is missing, much of its input is not known."""
    before, after = row.series.values[0], row.series.values[place]
    if not both and (before is None or after is None):
        return False
    return not same(before, after)


def _input(row: FigureRow, place: int) -> str:
    before, after = row.series.values[0], row.series.values[place]
    if before is None:
        return f"{row.label}: {valued(after or 0.0, row.unit)} is new"
    if after is None:
        return f"{row.label}: {valued(before, row.unit)} is gone"
    return f"{row.label}: {valued(after, row.unit)} instead of {valued(before, row.unit)}"


def _bought(place: int, lines: Sequence[LineRow]) -> str:
    """Say what else is bought, the GPU systems and the storage by name."""
    other = [row for row in lines if not same(row.quantity.values[0], row.quantity.values[place])]
    wanted = [row for row in other if row.section in _WANTED]
    wanted.sort(key=lambda row: -abs(row.capex_usd.changes[place] or 0.0))
    more = len(other) - len(wanted[:_MOST_LINES])
    rest = f"{counted(more, 'other line')} of the bill {'differs' if more == 1 else 'differ'}"
    if not other:
        return "It buys the same."
    if not wanted:
        return f"It buys the same GPU systems and storage; {rest}."
    parts = listed([_line(row, place) for row in wanted[:_MOST_LINES]])
    return f"It buys {parts}{f'; {rest}' if more else ''}."


def _line(row: LineRow, place: int) -> str:
    before, after = row.quantity.values[0], row.quantity.values[place]
    if not before:
        return f"{shown(after, '')} {row.product} instead of none"
    if not after:
        return f"no {row.product} instead of {shown(before, '')}"
    return f"{shown(after, '')} {row.product} instead of {shown(before, '')}"


def _limits(side: Read, first: Read | None = None) -> Iterator[str]:
    """Say which limits stop a better plan, here and in the first, and which are broken."""
    here = _binding(side.plan)
    there = None if first is None else _binding(first.plan)
    stops = "Limits with no room left" if side.edits else "What stops a better plan"
    if there is None or there == here:
        yield f"{stops}{'' if there is None else ' in both'}: {here}."
    else:
        yield f"{stops}: {here}. In the first: {there}."
    if side.broken:
        yield f"As edited it breaks {'; '.join(side.broken)}."


def _binding(plan: Plan) -> str:
    """Return what binds in a plan; counts that are given stop nothing."""
    names = [limit.label for limit in plan.limits if limit.binding and not limit.exact]
    return "; ".join(names) or "no limit"
