"""What one more unit of each limit is worth: by solving again, with a certificate each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.api import Options
from planner.infeasible.oracle import UndecidedError
from planner.inputs import Inputs
from planner.levers import Lever, levers
from planner.schema.explanation import Marginal, Moved, NextStep
from planner.schema.plan import Plan
from planner.studies.explain.next_step import next_step
from planner.studies.explain.probe import Best, Prober
from planner.studies.explain.steps import check_names, step_of

NO_LIMITS = ("jobs.0.parallelism.",)
EVERY = "what a step of each limit is worth"
PAUSES = (".stall", ".restart")


@dataclass(frozen=True)
class Base:
    """The best objective with its bound, in the objective's own unit, and what was cut short."""

    value: float | None
    bound: float | None
    gpus_used: int | None = None
    undecided: tuple[str, ...] = ()


def marginals(
    inputs: Inputs, plan: Plan, options: Options, steps: Mapping[str, str]
) -> tuple[Base, tuple[Marginal, ...]]:
    """Return the best objective and what moving each limit by a step does to it.

    Args:
        inputs: the problem.
        plan: its best plan, for what binds.
        options: how to solve.
        steps: the user's own steps, by path.

    Raises:
        InputError: a step names no limit, or is none.
    """
    movable = [lever for lever in levers(inputs) if _is_moved(lever)]
    check_names(list(steps), movable, "--step")
    prober = Prober(inputs, options)
    base = prober.best(())
    if base is None or base.operation is None or not plan.jobs:
        return Base(None, None, undecided=(EVERY,) if plan.jobs else ()), ()
    tight = {limit.name for limit in plan.limits if limit.binding}
    binding = [lever for lever in movable if lever.limit in tight]
    slack = [lever for lever in movable if lever.limit not in tight]
    # Time that the job stands still is never idle: every second of it counts.
    idle = _idle(prober, base, [lever for lever in slack if not lever.path.endswith(PAUSES)])
    rows = []
    for lever in sorted(movable, key=lambda one: one not in binding):
        step = step_of(lever, steps)
        rows.append(_marginal(prober, base, lever, step, idle, lever in binding))
    return Base(base.value, base.bound, base.gpus_used, tuple(prober.undecided)), tuple(rows)


def _is_moved(lever: Lever) -> bool:
    """Say whether a lever has a worth: what is fixed, or follows from the model, has none."""
    moved = lever.value is not None and not lever.between
    return moved and not lever.path.startswith(NO_LIMITS)


def _idle(prober: Prober, base: Best, slack: Sequence[Lever]) -> frozenset[Lever]:
    """Return levers without which no plan is better, found for many at once."""
    if not slack:
        return frozenset()
    free = prober.best(tuple(change for lever in slack for change in lever.off))
    if free is not None and free.bound is not None and not prober.better(free.bound, base):
        return frozenset(slack)
    if len(slack) == 1:
        return frozenset()
    half = len(slack) // 2
    return _idle(prober, base, slack[:half]) | _idle(prober, base, slack[half:])


def _marginal(
    prober: Prober, base: Best, lever: Lever, step: float, idle: frozenset[Lever], binding: bool
) -> Marginal:
    assert lever.value is not None
    looser = _looser(prober, base, lever, step, idle)
    return Marginal(
        path=lever.path,
        label=lever.label,
        source=lever.place,
        unit=lever.unit,
        value=lever.value,
        text=lever.text(lever.value),
        step_text=lever.text(step),
        binding=binding,
        looser=looser,
        tighter=_tighter(prober, base, lever, step),
        next_step=_next(prober, base, lever) if binding else None,
    )


def _next(prober: Prober, base: Best, lever: Lever) -> NextStep | None:
    try:
        return next_step(prober.inputs, prober.options, base, lever)
    except UndecidedError:
        prober.undecided.append(f"where more room for {lever.label} begins to pay")
        return None


def _moved_to(lever: Lever, step: float) -> float:
    assert lever.value is not None
    return min(max(lever.value + step, lever.least), lever.most)


def _blank(lever: Lever, place: float, known: str) -> Moved:
    text = lever.text(place)
    return Moved.model_validate(
        {"to_text": text, "setting": f"{lever.path}={text}", "known": known}
    )


def _looser(prober: Prober, base: Best, lever: Lever, step: float, idle: frozenset[Lever]) -> Moved:
    place = _moved_to(lever, lever.looser * step)
    if place == lever.value:
        return _blank(lever, place, "at_its_end")
    if lever in idle:
        return _unchanged(base, _blank(lever, place, "no_limit_helps"))
    return _solved(prober, base, lever, place)


def _tighter(prober: Prober, base: Best, lever: Lever, step: float) -> Moved:
    place = _moved_to(lever, -lever.looser * step)
    if place == lever.value or place < 0 or (place == 0 and not lever.whole):
        return _blank(lever, max(place, 0.0), "at_its_end")
    if prober.still_fits(lever.to(place), base):
        return _unchanged(base, _blank(lever, place, "plan_fits"))
    return _solved(prober, base, lever, place)


def _unchanged(base: Best, moved: Moved) -> Moved:
    """Return a move after which the best is proven to be what it was."""
    assert base.value is not None
    assert base.bound is not None
    width = abs(base.bound - base.value)
    return moved.model_copy(
        update={
            "value": base.value,
            "bound": base.bound,
            "change": 0.0,
            "change_least": -width,
            "change_most": width,
            "gpus_used": base.gpus_used,
        }
    )


def _solved(prober: Prober, base: Best, lever: Lever, place: float) -> Moved:
    found = prober.best(lever.to(place))
    if found is None:
        return _blank(lever, place, "not_decided")
    if found.value is None:
        return _blank(lever, place, "no_plan")
    assert base.value is not None
    assert base.bound is not None
    ends: tuple[float | None, float | None] = (None, None)
    if found.bound is not None:
        ends = _ends(base.value, base.bound, found.value, found.bound)
    return _blank(lever, place, "solved").model_copy(
        update={
            "value": found.value,
            "bound": found.bound,
            "change": found.value - base.value,
            "change_least": ends[0],
            "change_most": ends[1],
            "gpus_used": found.gpus_used,
        }
    )


def _ends(value: float, bound: float, other: float, other_bound: float) -> tuple[float, float]:
    """Return between what the true change lies: each optimum is between its value and bound."""
    changes = (other - bound, other_bound - value, other - value, other_bound - bound)
    return min(changes), max(changes)
