"""A problem without a plan: conflicting constraints, and the changes that give one."""

from __future__ import annotations

from collections.abc import Iterator

from planner.report.blocks import Block, Text
from planner.report.words import listed, percent
from planner.schema.plan import (
    UNDECIDED,
    Combined,
    Infeasibility,
    Step,
)


def blocks(found: Infeasibility) -> Iterator[Block]:
    """Yield the reasons for no plan as blocks."""
    yield Text(found.reasons)
    for conflict in found.conflicts:
        names = tuple(limit.in_words for limit in conflict.limits)
        yield Text(names, _conflict_title(len(names)), points=True)
    changes = tuple(text for step in found.changes for text in _change(step))
    each = "Each of these changes gives a plan"
    yield Text(changes, each if len(found.changes) > 1 else "This change gives a plan", points=True)
    if found.combined is not None:
        title = "Smallest combined change that gives a plan"
        texts = tuple(text for step in found.combined.steps for text in _change(step))
        yield Text(texts, title, points=True)
        yield Text((_proof(found.combined),))
    if found.undecided:
        yield Text((f"{UNDECIDED}: {', '.join(found.undecided)}",))


def _conflict_title(count: int) -> str:
    if count == 1:
        return "Infeasible constraint, whatever is bought"
    rest = "either is feasible alone" if count == 2 else "each is feasible without the others"
    return f"Conflicting constraints (minimal set; {rest})"


def _change(step: Step) -> Iterator[str]:
    text = step.in_words
    if step.because:
        limits = listed([f"{limit.label} {limit.text}".rstrip() for limit in step.because])
        text += f"; no smaller change because of {limits}"
    if step.value is None:
        text += f": {' '.join(f'--set {setting!r}' for setting in step.settings)}"
    yield text


def _proof(combined: Combined) -> str:
    if combined.weighted is None or combined.bound is None:
        return "each change is the smallest beside the others; another choice may be smaller in sum"
    return (
        f"sum of changes, each as a share of its limit: {percent(combined.weighted)}; proven lower "
        f"bound {percent(combined.bound)}"
    )
