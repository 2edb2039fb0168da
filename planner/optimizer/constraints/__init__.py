"""Constraint families, which never import one another.

A family is a function ``add(build)`` that adds named rows and links over the shared expressions of
``build``. A limit on a sum over the bill needs none: its row follows from the table of limits.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.optimizer.constraints import (
    bandwidth,
    capacity,
    checkpoint,
    held_write,
    in_use,
    policy,
    ratios,
    restore,
    rules,
    selection,
    supply,
    targets,
)
from planner.optimizer.context import Build


def families() -> tuple[Callable[[Build], None], ...]:
    """Return every family in the order of its rows, which decides between equally good searches."""
    return (
        bandwidth.add,
        capacity.add,
        checkpoint.add,
        held_write.add,
        in_use.add,
        supply.add_money,
        policy.add,
        supply.add_power,
        ratios.add,
        restore.add,
        rules.add,
        selection.add,
        supply.add_racks,
        targets.add,
    )
