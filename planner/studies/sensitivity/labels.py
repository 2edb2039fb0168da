"""What inputs that are varied are called."""

from __future__ import annotations

from planner.inputs import Inputs
from planner.levers import levers

_WORDS = {"it": "IT", "gpu": "GPU", "gpus": "GPUs", "pue": "PUE", "mfu": "MFU", "pdu": "PDU"}
_COUNTS = {"max": "most", "min": "least", "fixed": "exactly", "installed": "installed"}
_PLAIN = {"consumes", "provides", "jobs", "targets"}
"""Steps that say nothing that the next one does not."""


def labels(inputs: Inputs) -> dict[str, str]:
    """Return what the limits of a problem are called, by their paths."""
    return {lever.path: lever.label for lever in levers(inputs) if not lever.choice}


def label(inputs: Inputs, path: str, known: dict[str, str]) -> str:
    """Return what a path is called: as its limit, or in the words of the path.

    Args:
        inputs: the problem.
        path: what is varied.
        known: what limits are called.
    """
    if path in known:
        return known[path]
    steps = path.split(".")
    if steps[0] not in {"items", "extras", "catalog", "prices"} or len(steps) < 3:
        return _worded([step for step in steps if step not in _PLAIN])
    name = _name(inputs, steps[1])
    if steps[0] == "items" and steps[2] in _COUNTS:
        return f"{_COUNTS[steps[2]]} {name}"
    rest = ["list", "price"] if steps[2] == "list" else steps[2:]
    return f"{_worded([step for step in rest if step not in _PLAIN])} of {name}"


def _name(inputs: Inputs, step: str) -> str:
    """Return what an item or a family is called."""
    families = {family.id: family.name for family in inputs.families}
    models = families | {item.id: item.model for item in inputs.items}
    return "every item" if step == "*" else models.get(step, step)


def _worded(steps: list[str]) -> str:
    """Return the last two steps in words."""
    words = [word for step in steps for word in [step.split("_")] if not step.isdigit()][-2:]
    return " ".join(_WORDS.get(each, each) for word in words for each in word)
