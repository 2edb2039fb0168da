"""What moving a limit is worth, in words: for the screen and the workbook."""

from __future__ import annotations

from planner.figures import OBJECTIVES, RATIOS
from planner.outputs.words import money, ratio
from planner.schema.explanation import Explanation, Marginal, Moved

_SAME = 5e-6
"""A share of the objective that counts as no change: it is within the proof."""

_FEW = 0.005
_WITHOUT_FIGURE = {
    "no_plan": "no plan is left",
    "at_its_end": "cannot be moved further",
    "not_decided": "not decided",
}


def holds(found: Explanation, row: Marginal) -> bool:
    """Say whether moving a limit either way changes anything."""
    return any(matters(found, moved) for moved in (row.looser, row.tighter))


def matters(found: Explanation, moved: Moved) -> bool:
    """Say whether a move changes the best objective, or what is possible at all."""
    if moved.known in ("no_plan", "not_decided"):
        return True
    return moved.change is not None and not small(found, moved.change)


def small(found: Explanation, change: float) -> bool:
    """Say whether a change of the objective is within its proof."""
    return abs(change) <= _SAME * abs(found.value or 1.0)


def worth(found: Explanation, moved: Moved, *, unit: bool = True) -> str:
    """Return what a move does to the objective, in words, without its unit if that is told."""
    if moved.known in _WITHOUT_FIGURE:
        return _WITHOUT_FIGURE[moved.known]
    if not matters(found, moved) or moved.change is None:
        return "no change"
    change = signed(found, moved.change, unit=unit)
    gpus = _gpus(found, moved)
    return f"{change} ({gpus})" if gpus else change


def signed(found: Explanation, change: float, *, unit: bool = True) -> str:
    """Return a change of the objective with its sign and unit; money always has one."""
    objective = OBJECTIVES[found.plan.objective.name]
    sign = "+" if change > 0 else "-"
    if objective.name in RATIOS:
        return f"{sign}{ratio(abs(change))}"
    if objective.figure.money:
        return f"{sign}{money(abs(change))}"
    digits = 0 if objective.name == "gpus" else 2 if abs(change) < 10 else 1
    text = f"{sign}{abs(change):,.{digits}f}" if abs(change) >= _FEW else f"{sign}{abs(change):.1g}"
    what = objective.label if objective.figure.says(objective.unit) else objective.unit
    return f"{text} {what}" if unit else text


def _gpus(found: Explanation, moved: Moved) -> str:
    """Return how many GPUs more or fewer run then, where the objective is not GPUs itself."""
    if found.plan.objective.name == "gpus" or moved.gpus_used is None or not found.plan.jobs:
        return ""
    more = moved.gpus_used - (found.gpus_used or found.plan.jobs[0].gpus_used)
    return f"{more:+,} GPUs" if more else ""
