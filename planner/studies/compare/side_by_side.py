"""Plans side by side: which inputs differ, what that does to the bill, the work and the money."""

from __future__ import annotations

from collections.abc import Sequence

from planner.schema.comparison import Comparison, Explanation, Side
from planner.studies.compare.differences import figure_rows, input_rows, limit_rows, line_rows
from planner.studies.compare.reasons import sentences
from planner.studies.compare.sides import MOST_SIDES, Read

_KEYS = "ABCDEFGHI"[:MOST_SIDES]


def compare(sides: Sequence[Read]) -> Comparison:
    """Return the plans side by side, each told from the first.

    Args:
        sides: what `read_sides` returned, in the order to show.
    """
    plans = [side.plan for side in sides]
    inputs, lines = input_rows(plans), line_rows(plans)
    return Comparison(
        sides=tuple(_side(key, side) for key, side in zip(_KEYS, sides, strict=False)),
        inputs=inputs,
        lines=lines,
        figures=figure_rows(plans),
        limits=limit_rows(plans),
        explanations=tuple(
            Explanation(
                key=_KEYS[place],
                sentences=tuple(sentences(sides[0], side, place, inputs, lines)),
            )
            for place, side in enumerate(sides)
            if place
        ),
    )


def _side(key: str, side: Read) -> Side:
    return Side(
        key=key,
        source=side.source,
        kind=side.kind,
        problem=side.plan.problem,
        status=side.plan.status,
        message=side.reason,
        edits=side.edits,
    )
