"""Why there is no plan, in one line."""

from __future__ import annotations

from collections.abc import Sequence

from planner.schema.infeasibility import Infeasibility, Step

_MOST = 3
"""Changes named in one line; the whole list stands below it."""


def message(found: Infeasibility) -> str:
    """Return an explanation as one line."""
    parts = list(found.reasons) or ["no plan meets every limit"]
    for conflict in found.conflicts:
        names = [limit.said for limit in conflict.limits]
        if len(names) == 1:
            parts.append(f"{names[0]} cannot be met")
        else:
            parts.append(f"{_list(names)} cannot hold together")
    if found.changes:
        more = len(found.changes) - _MOST
        told = ", or ".join(_short(step) for step in found.changes[:_MOST])
        rest = f" ({more} more ways)" if more > 0 else ""
        parts.append(f"there is a plan if you {told}{rest}")
    elif found.combined is not None:
        told = " and ".join(_short(step) for step in found.combined.steps)
        parts.append(f"there is a plan if you {told}")
    if found.undecided:
        parts.append(f"not decided in time: {', '.join(found.undecided)}")
    return "; ".join(parts)


def _short(step: Step) -> str:
    return step.said.removeprefix(f"{step.label}: ").split("; ")[0]


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1]
