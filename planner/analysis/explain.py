"""Why a plan is the best: worth of each limit and open lever, why nothing else; or why none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from planner.analysis.changes import no_worse
from planner.analysis.pool import Progress, ignore
from planner.analysis.purchases import operation_of
from planner.analysis.request import Found, Request
from planner.analysis.why_not import why_not as items_not_bought
from planner.api import FOR_THE_SEARCH, Options, solve_with
from planner.case import Case, resolve
from planner.errors import Finding, InputError, did_you_mean
from planner.infeasible.moves import threshold
from planner.infeasible.oracle import Oracle, UndecidedError
from planner.inputs import Inputs, key_of
from planner.levers import Change, Lever, applied, levers
from planner.levers.model import one_of, read
from planner.optimizer.effort import NEXT_WORK, QUESTION_WORK
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import fitted, optimise
from planner.paths import job_path
from planner.plan.limits import binding
from planner.schema.explanation import Explanation, Known, Marginal, Moved, NextStep, Without
from planner.schema.plan import Plan
from planner.units import QuantityError

FOR_THE_PLAN = 0.5
"""Share of a time limit that finding the plan may take."""
QUESTIONS = 4
"""Proofs of items that were not asked for; a count, so that explanations are reproducible."""
SAME = 1e-9
MOST_KNOWN = 8
"""Plans found before with which each question is started."""


# Changed problems


class Best(NamedTuple):
    """Best plan of a problem with its proof, in the objective's own unit.

    ``value`` is None where there is no plan, ``bound`` where nothing is proven.
    """

    case: Case
    value: float | None
    bound: float | None
    run: Run | None

    @property
    def gpus_used(self) -> int | None:
        """GPUs in use."""
        return None if self.run is None else self.run.gpus


@dataclass
class Prober:
    """Solves changed problems, each started with the plans found before (``runs``).

    ``undecided`` collects questions that were cut short.
    """

    inputs: Inputs
    options: Options
    runs: list[Run] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    _last: tuple[object, Case | None] = (None, None)

    def case(self, changes: tuple[Change, ...]) -> Case | None:
        """Case of the changed problem without near-optimal tolerance; None where it contradicts."""
        if self._last[0] != key_of(changes):
            self._last = key_of(changes), self._resolved(changes)
        return self._last[1]

    def _resolved(self, changes: tuple[Change, ...]) -> Case | None:
        try:
            case = resolve(applied(self.inputs, changes))
        except InputError:
            return None
        return replace(case, indifference=0.0, policy=replace(case.policy, within=0.0, disliked=()))

    def best(self, changes: tuple[Change, ...]) -> Best | None:
        """Best plan of the changed problem; None where that is not decided in time."""
        options = self.options
        if options.effort.late:
            return None
        case = self.case(changes)
        if case is None:
            return Best(resolve(self.inputs), None, None, None)
        effort, known = options.effort.part(QUESTION_WORK), self.runs[-MOST_KNOWN:]
        answer = optimise(case, gap=options.gap, effort=effort, ties=False, known=known)
        if answer.operation is None and answer.status != "infeasible":
            return None
        value, bound = (
            None if each is None else natural(case.objective, each)
            for each in (answer.value, answer.bound)
        )
        if answer.operation is not None:
            self.runs.append(answer.operation)
        return Best(case, value, bound, answer.operation)

    def better(self, value: float, than: Best) -> bool:
        """Whether a value is better than the best by more than its gap."""
        assert than.value is not None
        width = max(2.0 * self.options.gap, SAME) * abs(than.value)
        return value > than.value + width if than.case.maximise else value < than.value - width

    def value_of(self, run: Run | None, changes: tuple[Change, ...]) -> float | None:
        """Value of a plan in the changed problem; None where it is none, or time is over."""
        case = None if run is None or self.options.effort.late else self.case(changes)
        again = None if case is None or run is None else fitted(case, run)
        if case is None or again is None:
            return None
        return natural(case.objective, measure(case, case.objective)(again))


# Steps of limits

_MINUTE_S, _HOUR_S = 60.0, 3600.0
_MANY_HOURS_S = 10.0 * _HOUR_S
_POINT = 0.01


def step_of(lever: Lever, steps: Mapping[str, str]) -> float:
    """Step of a lever: the user's by path, or one that suits its unit.

    Raises:
        InputError: the user's is no quantity of that kind.
    """
    given = steps.get(lever.path)
    if given is not None:
        return _read_step(lever, given)
    value = abs(lever.value or 0.0)
    if lever.unit == "s" and value >= 2.0 * _MINUTE_S:
        return _HOUR_S if value >= _MANY_HOURS_S else _MINUTE_S
    if lever.unit == "share" and value >= 2.0 * _POINT:
        return _POINT
    if lever.whole:
        return float(max(1, round(_one_digit(value / 100.0)))) if lever.unit == "GPUs" else 1.0
    if lever.unit == "days":
        return 1.0
    one = one_of(lever.unit, lever.money)
    return _one_digit(value / 100.0 / one) * one


def _one_digit(value: float) -> float:
    return float(f"{value:.0e}") if value > 0 else 1.0


def _read_step(lever: Lever, text: str) -> float:
    origin = f"--step {lever.path}"
    try:
        step = (
            float(text) if lever.whole else read(text, lever.unit, {lever.money.code: lever.money})
        )
    except QuantityError as error:
        raise InputError(Finding("step", str(error), origin, fix=error.fix)) from None
    except ValueError:
        step = math.nan
    if not (math.isfinite(step) and step > 0) or (lever.whole and step != round(step)):
        fix = "give a whole number of at least 1" if lever.whole else "give more than 0"
        raise InputError(Finding("step", f"'{text[:40]}' is no step", origin, fix=fix))
    return step


def check_names(names: Sequence[str], levers: Sequence[Lever], option: str) -> None:
    """Refuse a name that is no limit of the problem.

    Raises:
        InputError: with the nearest names.
    """
    known = sorted({lever.path for lever in levers})
    for name in names:
        if name not in known:
            fix = did_you_mean(name, known) or "limits: " + ", ".join(known)
            message = f"the problem has no limit '{name[:80]}'"
            raise InputError(Finding("limit", message, option, fix=fix))


# Worth of a limit: the best plan with it a step looser or tighter

_PAUSES = (".stall", ".stall_overhead", ".restart", ".restart.remote", ".restart.local")
"""Times that the job stands still: each second counts, so that none is without worth."""


def movable(inputs: Inputs) -> list[Lever]:
    """Limits with a value that nothing else determines."""
    return [lever for lever in levers(inputs) if lever.value is not None]


def without_worth(prober: Prober, base: Best, slack: Sequence[Lever]) -> frozenset[str]:
    """Paths of limits without which no plan is better, found for many at once."""
    asked = [lever for lever in slack if not lever.path.endswith(_PAUSES)]
    return frozenset(lever.path for lever in _idle(prober, base, asked, base.run))


def _idle(prober: Prober, base: Best, slack: Sequence[Lever], run: Run | None) -> list[Lever]:
    """Levers without worth: all at once, else in halves; ``run`` rules out some first."""
    slack = [lever for lever in slack if not _pays(prober, base, lever, run)]
    if not slack:
        return []
    free = prober.best(tuple(change for lever in slack for change in lever.off))
    if free is not None and free.bound is not None and not prober.better(free.bound, base):
        return slack
    if len(slack) == 1:
        return []
    run = None if free is None else free.run
    if any(_pays(prober, base, lever, run) for lever in slack):
        return _idle(prober, base, slack, run)
    half = len(slack) // 2
    return [
        each for part in (slack[:half], slack[half:]) for each in _idle(prober, base, part, None)
    ]


def _pays(prober: Prober, base: Best, lever: Lever, run: Run | None) -> bool:
    """Whether a plan in hand is better than the best one once a lever is gone."""
    value = prober.value_of(run, lever.off)
    return value is not None and prober.better(value, base)


def marginal(
    prober: Prober, base: Best, lever: Lever, step: float, *, binds: bool, idle: bool
) -> Marginal:
    """Worth of a step of a limit to either side, and its next step where it binds.

    Args:
        idle: whether no plan is better without the limit.
    """
    assert lever.value is not None
    places = [
        min(max(lever.value + side * lever.looser * step, lever.least), lever.most)
        for side in (1, -1)
    ]
    return Marginal(
        path=lever.path,
        label=lever.label,
        source=lever.place,
        unit=lever.unit,
        value=lever.value,
        text=lever.text(lever.value),
        step_text=lever.text(step),
        binding=binds,
        looser=_looser(prober, base, lever, places[0], idle=idle),
        tighter=_tighter(prober, base, lever, places[1]),
        next_step=_next(prober, base, lever) if binds else None,
    )


def _looser(prober: Prober, base: Best, lever: Lever, place: float, *, idle: bool) -> Moved:
    if place == lever.value:
        return _moved(lever, place, "at_its_end")
    if idle:
        return _unchanged(base, lever, place, "no_limit_helps")
    return _solved(prober, base, lever, place)


def _tighter(prober: Prober, base: Best, lever: Lever, place: float) -> Moved:
    if place == lever.value or place < 0 or (place == 0 and not lever.whole):
        return _moved(lever, max(place, 0.0), "at_its_end")
    value = prober.value_of(base.run, lever.to(place))
    if value is not None and base.value is not None:
        if abs(value - base.value) <= SAME * abs(base.value):
            return _unchanged(base, lever, place, "plan_fits")
    return _solved(prober, base, lever, place)


def _moved(lever: Lever, place: float, known: Known, **figures: float | int | None) -> Moved:
    text = lever.text(place)
    row = {"to_text": text, "setting": f"{lever.path}={text}", "known": known}
    return Moved.model_validate(row | figures)


def _unchanged(base: Best, lever: Lever, place: float, known: Known) -> Moved:
    """A move after which the best is proven to be the same."""
    assert base.value is not None
    assert base.bound is not None
    width = abs(base.bound - base.value)
    return _moved(
        lever,
        place,
        known,
        value=base.value,
        bound=base.bound,
        change=0.0,
        change_least=-width,
        change_most=width,
        gpus_used=base.gpus_used,
    )


def _solved(prober: Prober, base: Best, lever: Lever, place: float) -> Moved:
    found = prober.best(lever.to(place))
    if found is None or found.value is None:
        return _moved(lever, place, "not_decided" if found is None else "no_plan")
    assert base.value is not None
    assert base.bound is not None
    ends: list[float | None] = [None, None]
    if found.bound is not None:  # each optimum is between its value and its bound
        between = [a - b for a in (found.value, found.bound) for b in (base.value, base.bound)]
        ends = [min(between), max(between)]
    return _moved(
        lever,
        place,
        "solved",
        value=found.value,
        bound=found.bound,
        change=found.value - base.value,
        change_least=ends[0],
        change_most=ends[1],
        gpus_used=found.gpus_used,
    )


# Next step of a limit: where loosening it begins to pay

PAYS = 1e-3
"""Least gain of the objective that counts, as a share."""


def _next(prober: Prober, base: Best, lever: Lever) -> NextStep | None:
    """Where loosening a limit that binds begins to pay; None where it never does."""
    assert base.value is not None
    name, sign = base.case.objective, 1.0 if base.case.maximise else -1.0
    wanted = base.value + 1.0 if name == "gpus" else base.value * (1.0 + sign * PAYS)
    floor = no_worse(prober.inputs, name, wanted)
    if lever.path == floor.path:
        return None
    oracle = Oracle(prober.inputs, prober.options.effort.part(NEXT_WORK))
    oracle.remember(prober.runs)
    try:
        found = threshold(oracle, lever, (floor,))
    except UndecidedError:
        found = None
    else:
        if found is None:
            return None
    if found is None or found.short is None:
        prober.undecided.append(f"where more room for {lever.label} begins to pay")
        return None
    text = lever.text(found.enough)
    return NextStep(
        to_text=text,
        short_text=lever.text(found.short),
        setting=f"{lever.path}={text}",
        gain=abs(wanted - base.value),
    )


# Open levers fixed another way


class OpenLever(NamedTuple):
    """A lever that the problem leaves open, fixed another way."""

    label: str
    change: Change


def _fixed(label: str, path: str, value: object, text: str = "") -> OpenLever:
    return OpenLever(label, Change(path, value, text or f"{value}"))


def open_levers(inputs: Inputs, plan: Plan) -> Iterator[OpenLever]:
    """Yield the problem's open levers, each fixed as if nobody had thought of it; spares by one."""
    job = inputs.problem.job
    yield from _fabrics(inputs, plan)
    if job.power is not None and job.power.asked != (1.0,):
        yield _fixed("GPUs at full power", job_path("power.points"), 1.0, "100 %")
    precision = job.training.precision
    if isinstance(precision, tuple) and len(precision) > 1:
        yield _fixed(f"{precision[0]} alone", job_path("training.precision"), precision[0])
    if job.levels is not None:
        yield _fixed("checkpoints on storage alone", job_path("checkpoint.local.use"), "no")
    if job.repair is not None and job.repair.when_short == "shrink":
        yield _fixed("waiting where units are short", job_path("repair.when_short"), "wait")
    if any(limit.name == "endurance" for limit in plan.limits):
        yield _fixed("drives written without limit", "storage.endurance", "off")
    repair = plan.jobs[0].repair if plan.jobs else None
    if repair is None:
        return
    if not repair.in_rack:
        yield from _spares(inputs, repair.spares)
    elif job.gpus.most_of(plan.jobs[0].gpu_type) is None:
        gpus = inputs.item(plan.jobs[0].gpu_type).provides.gpus
        if gpus is not None:
            yield _fixed("every GPU of each system used", job_path("gpus.per_system"), gpus.value)


def _fabrics(inputs: Inputs, plan: Plan) -> Iterator[OpenLever]:
    """Yield the compute fabrics that the plan could have chosen instead."""
    asked, path = inputs.problem.network.compute, "network.compute"
    built = [fabric for fabric in plan.fabrics if fabric.network == "compute"]
    if asked is None or not built:
        return
    for name in sorted(set(asked.switches) - {fabric.switch_sku for fabric in built}):
        label = f"a compute fabric of {inputs.item(name).model}"
        yield _fixed(label, f"{path}.switches", (name,), f"[{name}]")
    for planes in sorted(set(asked.planes_allowed) - {fabric.planes for fabric in built}):
        yield _fixed(f"{planes} planes of it", f"{path}.planes", planes)
    ratios = set(asked.oversubscriptions) - {fabric.oversubscription for fabric in built}
    for ratio in sorted(ratios):
        label = f"a compute fabric at {ratio:g}:1"
        yield _fixed(label, f"{path}.oversubscription", ratio, f"{ratio:g}")


def _spares(inputs: Inputs, spares: int) -> Iterator[OpenLever]:
    repair, path = inputs.problem.job.repair, job_path("repair.spares")
    if repair is None or repair.spares != "open":
        return
    if spares > 0:
        yield _fixed("no spares", path, 0)
    if spares > 1:
        yield _fixed(f"one spare less ({spares - 1})", path, spares - 1)
    yield _fixed(f"one spare more ({spares + 1})", path, spares + 1)


def without(prober: Prober, base: Best, lever: OpenLever) -> Without | str:
    """Best plan with an open lever fixed, or the name of the undecided question."""
    end = prober.best((lever.change,))
    if end is None:
        return f"the plan with {lever.label}"
    assert base.value is not None
    return Without(
        label=lever.label,
        setting=lever.change.setting,
        known="no_plan" if end.value is None else "plan",
        value=end.value,
        bound=end.bound,
        change=None if end.value is None else end.value - base.value,
        gpus_used=end.gpus_used,
    )


# The study


def base_of(prober: Prober, plan: Plan) -> Best | None:
    """Best plan of the unchanged problem without near-optimal tolerance; None if undecided."""
    planned = operation_of(resolve(prober.inputs), plan)
    prober.runs += [] if planned is None else [planned]
    base = prober.best(())
    return None if base is None or base.run is None else base


def marginals(
    prober: Prober,
    base: Best,
    plan: Plan,
    steps: Mapping[str, str],
    progress: Progress = ignore,
) -> tuple[Marginal, ...]:
    """Worth of a step of each limit, the binding ones first.

    Raises:
        InputError: a step is none of its limit.
    """
    limits = movable(prober.inputs)
    tight = {limit.name for limit in plan.limits if limit.binding}
    if base.run is not None:
        tight |= binding(base.case, base.run)
    limits.sort(key=lambda lever: lever.limit not in tight)
    idle = without_worth(prober, base, [lever for lever in limits if lever.limit not in tight])
    rows = []
    for done, lever in enumerate(limits):
        progress(done, len(limits))
        binds, step = lever.limit in tight, step_of(lever, steps)
        row = marginal(prober, base, lever, step, binds=binds, idle=lever.path in idle)
        rows.append(row)
    return tuple(rows)


def explain(
    inputs: Inputs,
    options: Options,
    *,
    steps: Mapping[str, str] | None = None,
    asked: tuple[str, ...] = (),
    questions: int | None = QUESTIONS,
    plan: Plan | None = None,
    progress: Progress = ignore,
) -> Explanation:
    """Explain the best plan of a problem.

    Args:
        steps: by how much to move a limit, by path, as the user wrote it.
        asked: items whose absence is explained exactly, with their break-even price.
        questions: proofs for items that were not asked for, None for any number.
        plan: the best plan, where it is known.
        progress: called with the numbers of questions answered and of all.

    Raises:
        InputError: a step names no limit of the problem, or an asked name is no item.
        VerificationError: the plan does not agree with its re-computation.
    """
    steps, options = steps or {}, options.started()
    limits = movable(inputs)
    check_names(list(steps), limits, "--step")
    for lever in limits:
        step_of(lever, steps)
    plan = solve_with(inputs, options, search=FOR_THE_PLAN) if plan is None else plan
    if not plan.jobs:
        return Explanation(plan=plan)
    prober = Prober(inputs, options.searching(FOR_THE_SEARCH))
    best = base_of(prober, plan)
    rows: tuple[Marginal, ...] = ()
    others: list[Without | str] = []
    if best is not None:
        others = [without(prober, best, lever) for lever in open_levers(inputs, plan)]
        rows = marginals(prober, best, plan, steps, progress)
    known = () if best is None or best.run is None else (best.run,)
    undecided = [*prober.undecided, *(each for each in others if isinstance(each, str))]
    return Explanation(
        plan=plan,
        value=None if best is None else best.value,
        bound=None if best is None else best.bound,
        gpus_used=None if best is None else best.gpus_used,
        marginals=rows,
        without=tuple(each for each in others if isinstance(each, Without)),
        undecided=("the worth of each limit",) if best is None else tuple(undecided),
        why_not=items_not_bought(
            inputs, plan, prober.options, asked=asked, questions=questions, known=known
        ),
    )


def run(
    request: Request,
    *,
    step: Sequence[str],
    why_not: Sequence[str],
    weight: Sequence[str],
    keep: Sequence[str],
) -> Found:
    """Explain the plan of a problem, or why there is none.

    Args:
        step: how far to move limits, each as ``path=value``.
        why_not: items whose absence to explain exactly.
        weight: without a plan, weights of changes, each as ``path=number``.
        keep: without a plan, limits that must stay.

    Raises:
        InputError: the problem or an option is wrong.
    """
    options = request.running(weights=_weights(weight), keep=tuple(keep))
    inputs = request.inputs
    check_names([name for name, _ in options.weights], levers(inputs), "--weight")
    check_names(list(options.keep), levers(inputs), "--keep")
    found = explain(
        inputs,
        options,
        steps=dict(_pairs("--step", step)),
        asked=tuple(why_not),
        progress=request.progress,
    )
    plan = found.plan
    return Found((found,), (plan.status,), plan=lambda: plan, title=f"{plan.problem}: why")


def _pairs(option: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield ``path=value`` texts as pairs."""
    for text in texts:
        path, _, value = (part.strip() for part in text.partition("="))
        if not path or not value:
            fix = f"write for example {option} site.facility_power='100 kW'"
            raise InputError(Finding("option", f"'{text[:80]}' is not PATH=VALUE", option, fix=fix))
        yield path, value


def _weights(texts: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """``path=number`` texts as pairs."""
    found = []
    for path, text in _pairs("--weight", texts):
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not 0.0 < number < 1e6:
            fix = "give a number above 0, such as 2"
            raise InputError(Finding("weight", f"'{text[:40]}' is no weight", "--weight", fix=fix))
        found.append((path, number))
    return tuple(found)
