"""What a problem is worth with a limit moved, or with a lever that it leaves open settled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from planner.api import Options
from planner.assemble.limits import binding
from planner.case import Case, resolve
from planner.errors import Finding, InputError, did_you_mean
from planner.infeasible.moves import threshold
from planner.infeasible.oracle import Oracle, UndecidedError
from planner.inputs import Inputs, key_of
from planner.levers import Change, Lever, applied, levers
from planner.levers.model import one_of, read
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import fitted, optimise
from planner.paths import job_path
from planner.schema.explanation import Marginal, Moved, NextStep, Without
from planner.schema.plan import Plan
from planner.studies.changes import LeftOut, left_out, no_worse
from planner.units import QuantityError

_MINUTE_S, _HOUR_S = 60.0, 3600.0
_MANY_HOURS_S = 10.0 * _HOUR_S
"""From here on a minute more or less says nothing."""
_POINT = 0.01


def step_of(lever: Lever, steps: Mapping[str, str]) -> float:
    """Return the step of a lever: what the user gave, or what suits its unit.

    Raises:
        InputError: what the user gave is no quantity of that kind.
    """
    given = steps.get(lever.path)
    if given is not None:
        return _given(lever, given)
    value = abs(lever.value or 0.0)
    if lever.unit == "s" and value >= 2.0 * _MINUTE_S:
        return _HOUR_S if value >= _MANY_HOURS_S else _MINUTE_S
    if lever.unit == "share" and value >= 2.0 * _POINT:
        return _POINT
    if lever.whole:
        return float(max(1, round(_one_digit(value / 100.0)))) if lever.unit == "GPUs" else 1.0
    if lever.unit == "days":
        return 1.0
    one = one_of(lever.unit)
    return _one_digit(value / 100.0 / one) * one


def _one_digit(value: float) -> float:
    """Return a value rounded to one digit, as its owner writes it."""
    return float(f"{value:.0e}") if value > 0 else 1.0


def _given(lever: Lever, text: str) -> float:
    origin = f"--step {lever.path}"
    try:
        step = _number(text) if lever.whole else read(text, lever.unit)
    except QuantityError as error:
        raise InputError(Finding("step", str(error), origin, fix=error.fix)) from None
    if not (math.isfinite(step) and step > 0) or (lever.whole and step != round(step)):
        fix = "give a whole number of at least 1" if lever.whole else "give more than 0"
        raise InputError(Finding("step", f"'{text[:40]}' is no step", origin, fix=fix))
    return step


def _number(text: str) -> float:
    """Return a number, not a number where the text is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def check_names(names: Sequence[str], levers: Sequence[Lever], option: str) -> None:
    """Refuse a name that is no limit of the problem.

    Raises:
        InputError: with the names that are nearest.
    """
    known = sorted({lever.path for lever in levers})
    for name in names:
        if name not in known:
            fix = did_you_mean(name, known) or "limits: " + ", ".join(known)
            message = f"the problem has no limit '{name[:80]}'"
            raise InputError(Finding("limit", message, option, fix=fix))


SAME = 1e-9
MOST_KNOWN = 8
"""Plans found before that each question is begun with."""


@dataclass(frozen=True)
class Best:
    """The best plan of a problem with its proof; values in the objective's own unit.

    ``value`` is None where there is no plan, ``bound`` where nothing is proven.
    """

    case: Case
    value: float | None
    bound: float | None
    operation: Run | None

    @property
    def gpus_used(self) -> int | None:
        """GPUs in use."""
        return None if self.operation is None else self.operation.gpus


@dataclass
class Prober:
    """Solves changed problems, each once; ``undecided`` collects questions that were cut short.

    ``known`` are plans to begin with.
    """

    inputs: Inputs
    options: Options
    undecided: list[str] = field(default_factory=list)
    known: tuple[Run, ...] = ()
    _known: dict[tuple[tuple[str, str], ...], Best | None] = field(default_factory=dict)

    def case(self, changes: tuple[Change, ...]) -> Case | None:
        """Return the changed problem in numbers, None where what it demands cannot be had."""
        try:
            case = resolve(applied(self.inputs, changes))
        except InputError:
            return None
        # What is given away to the cheaper of nearly equal plans is no worth of a limit.
        return replace(case, indifference=0.0, policy=replace(case.policy, within=0.0, disliked=()))

    def best(self, changes: tuple[Change, ...]) -> Best | None:
        """Return the best plan of the changed problem; None where that is not settled in time."""
        key = key_of(changes)
        if key not in self._known and self.options.effort.late:
            return None
        if key not in self._known:
            self._known[key] = self._solve(changes)
        return self._known[key]

    def _solve(self, changes: tuple[Change, ...]) -> Best | None:
        case, options = self.case(changes), self.options
        if case is None:
            return Best(resolve(self.inputs), None, None, None)
        answer = optimise(
            case,
            gap=options.gap,
            effort=options.effort.part(QUESTION_WORK),
            ties=False,
            known=self.runs[-MOST_KNOWN:],
        )
        if answer.operation is None and answer.status != "infeasible":
            return None
        value, bound = (
            None if each is None else natural(case.objective, each)
            for each in (answer.value, answer.bound)
        )
        return Best(case, value, bound, answer.operation)

    @property
    def runs(self) -> list[Run]:
        """The plans found so far, the last ones last."""
        found = (best.operation for best in self._known.values() if best is not None)
        return [*self.known, *(run for run in found if run is not None)]

    def better(self, value: float, than: Best) -> bool:
        """Say whether a value is better than the best by more than its own gap."""
        assert than.value is not None
        width = max(2.0 * self.options.gap, SAME) * abs(than.value)
        return value > than.value + width if than.case.maximise else value < than.value - width

    def value_of(self, run: Run | None, changes: tuple[Change, ...]) -> float | None:
        """Return what a plan is worth in the changed problem; None where it is none there.

        Once the time is over it is not looked at.
        """
        case = None if run is None or self.options.effort.late else self.case(changes)
        again = None if case is None or run is None else fitted(case, run)
        if case is None or again is None:
            return None
        return natural(case.objective, measure(case, case.objective)(again))

    def still_fits(self, changes: tuple[Change, ...], best: Best) -> bool:
        """Say whether the best plan is one of the changed problem, too, and as good there."""
        value = self.value_of(best.operation, changes)
        if value is None or best.value is None:
            return False
        return abs(value - best.value) <= SAME * abs(best.value)


PAYS = 1e-3
"""The least gain that counts as one, as a share of the objective."""
WORK = 400.0
"""How much that may take; see ``Effort``."""


def next_step(
    inputs: Inputs, options: Options, base: Best, lever: Lever, known: Sequence[Run] = ()
) -> NextStep | None:
    """Return where loosening a limit begins to pay, None where it never does.

    Args:
        lever: a limit that binds.
        known: plans that may do with the limit loosened.

    Raises:
        UndecidedError: work or time ran out.
    """
    assert base.value is not None
    sign = 1.0 if base.case.maximise else -1.0
    wanted = base.value * (1.0 + sign * PAYS)
    if base.case.objective == "gpus":
        wanted = base.value + 1.0
    floor = no_worse(inputs, base.case.objective, wanted)
    if lever.path == floor.path:
        return None
    oracle = Oracle(inputs, options.effort.part(WORK))
    oracle.remember(known)
    found = threshold(oracle, lever, (floor,))
    if found is None:
        return None
    if found.short is None:
        raise UndecidedError
    text = lever.text(found.enough)
    return NextStep(
        to_text=text,
        short_text=lever.text(found.short),
        setting=f"{lever.path}={text}",
        gain=abs(wanted - base.value),
    )


NO_LIMITS = (job_path("parallelism."),)
PAUSES = (".stall", ".stall_overhead", ".restart", ".restart.remote", ".restart.local")


QUESTION_WORK = 100.0
"""Search effort of one question, some ten seconds; beyond it the question is undecided."""


@dataclass(frozen=True)
class Idle:
    """Limits without which no plan is better, by path, and the plans met on the way there."""

    paths: frozenset[str]
    known: tuple[Run, ...]


@dataclass(frozen=True)
class Worths:
    """What changes of a problem are worth; each question is answered from the same start, so that
    answers are the same in any order and in any process.

    Attributes:
        inputs: the problem.
        plan: its best plan, for what binds.
        options: how to solve.
        steps: the user's own steps, by path.
        base: the best there is, None where there is none or that is not settled.
    """

    inputs: Inputs
    plan: Plan
    options: Options
    steps: Mapping[str, str]
    base: Best | None

    @classmethod
    def of(cls, inputs: Inputs, plan: Plan, options: Options, steps: Mapping[str, str]) -> Worths:
        """Return the questions about a plan, once what it is worth itself is known.

        Raises:
            InputError: a step names no limit, or is none.
        """
        movable = [lever for lever in levers(inputs) if _is_moved(lever)]
        check_names(list(steps), movable, "--step")
        for lever in movable:
            step_of(lever, steps)
        base = Prober(inputs, options).best(())
        there = base is not None and base.operation is not None and bool(plan.jobs)
        return cls(inputs, plan, options, steps, base if there else None)

    @cached_property
    def movable(self) -> tuple[Lever, ...]:
        """The limits that are moved, those that bind first."""
        found = [lever for lever in levers(self.inputs) if _is_moved(lever)]
        return tuple(sorted(found, key=lambda lever: not self._binds(lever)))

    @cached_property
    def open(self) -> tuple[LeftOut, ...]:
        """What the problem leaves open, each settled another way."""
        return tuple(left_out(self.inputs, self.plan)) if self.base is not None else ()

    @cached_property
    def _tight(self) -> frozenset[str]:
        """Limits that bind the plan, or the best one that it may be slightly worse than."""
        named = frozenset(limit.name for limit in self.plan.limits if limit.binding)
        if self.base is None or self.base.operation is None:
            return named
        return named | binding(self.base.case, self.base.operation)

    def _binds(self, lever: Lever) -> bool:
        return lever.limit in self._tight

    def _prober(self, known: tuple[Run, ...] = ()) -> tuple[Prober, Best]:
        """Return what solves changed problems, from the best plan and others that are known."""
        assert self.base is not None
        return Prober(self.inputs, self.options, known=known, _known={(): self.base}), self.base

    def idle(self) -> Idle:
        """Return the limits without which no plan is better, found for many at once."""
        prober, base = self._prober()
        # Time that the job stands still is never idle: every second of it counts.
        slack = [each for each in self.movable if not self._binds(each)]
        slack = [each for each in slack if not each.path.endswith(PAUSES)]
        found = _idle(prober, base, slack, base.operation)
        return Idle(frozenset(lever.path for lever in found), tuple(prober.runs[1:]))

    def limit(self, place: int, idle: Idle) -> tuple[Marginal, tuple[str, ...]]:
        """Return what moving a limit by a step does, and what of that is undecided."""
        prober, base = self._prober(idle.known)
        lever = self.movable[place]
        step = step_of(lever, self.steps)
        row = _marginal(
            prober, base, lever, step, self._binds(lever), idle=lever.path in idle.paths
        )
        return row, tuple(prober.undecided)

    def without(self, place: int) -> Without | str:
        """Return the best plan with something settled that is open, or what is undecided."""
        prober, base = self._prober()
        each = self.open[place]
        end = prober.best((each.change,))
        if end is None:
            return f"the plan with {each.label}"
        assert base.value is not None
        return Without(
            label=each.label,
            setting=each.change.setting,
            known="no_plan" if end.value is None else "plan",
            value=end.value,
            bound=end.bound,
            change=None if end.value is None else end.value - base.value,
            gpus_used=end.gpus_used,
        )


def _is_moved(lever: Lever) -> bool:
    """Say whether a lever has a worth: what is fixed, or follows from the model, has none."""
    moved = lever.value is not None and not lever.between
    return moved and not lever.path.startswith(NO_LIMITS)


def _idle(prober: Prober, base: Best, slack: Sequence[Lever], run: Run | None) -> frozenset[Lever]:
    """Return levers without which no plan is better, found for many at once.

    Those without which a plan in hand is better are told by arithmetic; the rest is asked together,
    and where the answer is a better plan that is tried next.

    Args:
        slack: the levers.
        run: a plan to try without each of them.
    """
    slack = [lever for lever in slack if not _pays(prober, base, lever, run)]
    if not slack:
        return frozenset()
    free = prober.best(tuple(change for lever in slack for change in lever.off))
    if free is not None and free.bound is not None and not prober.better(free.bound, base):
        return frozenset(slack)
    if len(slack) == 1:
        return frozenset()
    run = None if free is None else free.operation
    if any(_pays(prober, base, lever, run) for lever in slack):
        return _idle(prober, base, slack, run)
    half = len(slack) // 2
    return _idle(prober, base, slack[:half], None) | _idle(prober, base, slack[half:], None)


def _pays(prober: Prober, base: Best, lever: Lever, run: Run | None) -> bool:
    """Say whether a plan in hand is better than the best one once a lever is gone."""
    value = prober.value_of(run, lever.off)
    return value is not None and prober.better(value, base)


def _marginal(
    prober: Prober, base: Best, lever: Lever, step: float, binding: bool, *, idle: bool
) -> Marginal:
    assert lever.value is not None
    looser = _looser(prober, base, lever, step, idle=idle)
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
        return next_step(prober.inputs, prober.options, base, lever, prober.runs)
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


def _looser(prober: Prober, base: Best, lever: Lever, step: float, *, idle: bool) -> Moved:
    place = _moved_to(lever, lever.looser * step)
    if place == lever.value:
        return _blank(lever, place, "at_its_end")
    if idle:
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
