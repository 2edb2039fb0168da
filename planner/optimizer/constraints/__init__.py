"""Constraint families, which never import one another.

A family is a function ``add_...(build)`` that adds named rows and links over the shared expressions
of ``build``. A limit on a sum over the bill needs none: its row follows from the table of limits.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.optimizer.constraints import repair, storage, supply, work
from planner.optimizer.context import Build


def families() -> tuple[Callable[[Build], None], ...]:
    """Return every family in the order of its rows, which decides between equally good searches."""
    return (
        storage.add_bandwidth,
        storage.add_capacity,
        work.add_checkpoint,
        storage.add_held_write,
        supply.add_in_use,
        supply.add_money,
        supply.add_policy,
        supply.add_power,
        work.add_ratios,
        storage.add_restore,
        storage.add_rules,
        supply.add_selection,
        repair.add_spares,
        supply.add_racks,
        supply.add_unplaced,
        work.add_targets,
    )
