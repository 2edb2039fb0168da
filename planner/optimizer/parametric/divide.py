"""How a part of the plans is divided into smaller ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from planner.optimizer.parametric.node import Node
from planner.optimizer.parametric.relaxed import Kept
from planner.optimizer.parametric.rows import Vector

FRACTION = 1e-6


def divide(kept: Kept, node: Node, values: Vector) -> list[Node] | None:
    """Return smaller parts, split at what matters most; None where all that is whole.

    First the GPU type, then how many systems, to one number: that settles the sizes of their
    fabrics, which a relaxation mixes. Then the storage family.
    """
    build = kept.build
    systems = [v for key, v in build.counts.items() if key.sku in build.used]
    types, families = list(build.type_used.values()), list(build.serves.values())
    for variables in (types, systems):
        column = _most_fractional(kept, node, values, variables)
        if column is not None:
            return _split(kept, node, column, math.floor(values[column]))
    for variable in systems:
        column = kept.index[variable.name]
        value, low, high = round(float(values[column])), node.low[column], node.high[column]
        if high - low > 0.5 and value > 0:
            return _split(kept, node, column, value if value < high else value - 1)
    column = _most_fractional(kept, node, values, families)
    return None if column is None else _split(kept, node, column, 0)


def _split(kept: Kept, node: Node, column: int, below: int) -> list[Node]:
    """Return the part in which a column is more than ``below``, and the rest."""
    parts = []
    for up in (True, False):
        low, high = node.low.copy(), node.high.copy()
        if up:
            low[column] = below + 1.0
        else:
            high[column] = float(below)
        if kept.tighten(low, high):
            parts.append(node.within(low, high))
    return parts


def _most_fractional(
    kept: Kept, node: Node, values: Vector, variables: Sequence[Any]
) -> int | None:
    """Return the column of the largest value that is not whole but must be, or None."""
    columns = [kept.index[variable.name] for variable in variables]
    open_ = [c for c in columns if node.high[c] - node.low[c] > 0.5]
    mixed = [c for c in open_ if abs(values[c] - round(float(values[c]))) > FRACTION]
    return max(mixed, key=lambda c: (values[c], -c), default=None)
