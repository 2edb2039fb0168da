"""Levers and thresholds as parts of an explanation."""

from __future__ import annotations

from collections.abc import Sequence

from planner.infeasible.single import Threshold
from planner.levers import Lever
from planner.schema.infeasibility import Named, Step


def named(lever: Lever) -> Named:
    """Return a lever as a limit that is named."""
    return Named(
        path=lever.path,
        label=lever.label,
        text="" if lever.value is None else lever.text(lever.value),
        source=lever.place,
        stated=lever.stated,
    )


def step(lever: Lever, found: Threshold, because: Sequence[Lever]) -> Step:
    """Return a lever moved to what is enough, and what asks for no less."""
    assert lever.value is not None
    return Step(
        path=lever.path,
        label=lever.label,
        source=lever.place,
        unit=lever.unit,
        value=lever.value,
        least=found.enough,
        not_enough=found.short,
        from_text=lever.text(lever.value),
        to_text=lever.text(found.enough),
        not_enough_text="" if found.short is None else lever.text(found.short),
        what="",
        settings=tuple(change.setting for change in lever.to(found.enough)),
        because=tuple(named(other) for other in because),
    )


def choice_step(lever: Lever) -> Step:
    """Return a choice given up."""
    return Step(
        path=lever.path,
        label=lever.label,
        source=lever.place,
        unit="",
        value=None,
        least=None,
        not_enough=None,
        from_text="",
        to_text="",
        not_enough_text="",
        what=lever.choice,
        settings=tuple(change.setting for change in lever.off),
    )
