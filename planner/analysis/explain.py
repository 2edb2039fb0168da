"""Why a plan is the best: worth of each limit and open lever, why nothing else; or why none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from planner.analysis.request import Request
from planner.analysis.variants import FOR_THE_PLAN, Best, no_worse, value_of
from planner.analysis.why_not import SAME, Prober, check_items, why_not_of
from planner.api import FOR_THE_SEARCH, Options, solve_with
from planner.errors import Finding, InputError, did_you_mean
from planner.infeasible import Oracle, UndecidedError, threshold
from planner.inputs import Change, Inputs
from planner.levers import Lever, levers, one_of
from planner.optimizer.alternatives import fitted
from planner.optimizer.search import NEXT_WORK
from planner.paths import job_path
from planner.plan.limits import binding
from planner.schema.analysis import Explanation, Known, Marginal, Moved, NextStep, Without
from planner.schema.plan import Plan
from planner.terminal import Progress, ignore

PAYS = 1e-3
"""Least gain of the objective that counts as a next step, as a share."""


def explain(
    inputs: Inputs,
    options: Options,
    *,
    asked: Sequence[str] = (),
    plan: Plan | None = None,
    progress: Progress = ignore,
) -> Explanation:
    """Explain the best plan of a problem.

    Args:
        asked: items whose absence is explained exactly, with their break-even price.
        plan: the best plan, where it is known.
        progress: called with the numbers of questions answered and of all.

    Raises:
        InputError: an asked name is no item.
        VerificationError: the plan does not agree with its re-computation.
    """
    options = options.started()
    check_items(inputs, asked)
    plan = plan or solve_with(inputs, options, search=FOR_THE_PLAN)
    if not plan.jobs:
        return Explanation(plan=plan)
    prober = Prober(inputs, options.searching(FOR_THE_SEARCH), plan)
    base = prober.base
    found = Explanation(plan=plan)
    if base.run is None:
        prober.undecided.append("the worth of each limit")
    else:
        worths = {
            "value": base.value,
            "bound": base.bound,
            "gpus_used": base.run.gpus,
            "without": tuple(_fix_levers(prober)),
            "marginals": marginals(prober, progress),
        }
        found = found.model_copy(update=worths)
    items = why_not_of(prober, asked)
    return found.model_copy(update={"undecided": tuple(prober.undecided), "why_not": items})


def run(
    request: Request,
    *,
    why_not: Sequence[str],
    weight: Sequence[str],
    keep: Sequence[str],
) -> Explanation:
    """Explain the plan of a problem, or why there is none.

    Args:
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
    return explain(inputs, options, asked=why_not, progress=request.progress)


# Steps of limits

_MINUTE_S, _HOUR_S = 60.0, 3600.0
_POINT = 0.01


def movable(inputs: Inputs) -> list[Lever]:
    """Limits with a value that nothing else determines."""
    return [lever for lever in levers(inputs) if lever.value is not None]


def step_of(lever: Lever) -> float:
    """Step of a lever that suits its unit."""
    value = abs(lever.value or 0.0)
    if lever.unit == "s" and value >= 2.0 * _MINUTE_S:
        return _HOUR_S if value >= 10.0 * _HOUR_S else _MINUTE_S
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


def _weights(texts: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """``path=number`` texts as pairs."""
    found = []
    for each in texts:
        path, _, text = (part.strip() for part in each.partition("="))
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not path or not 0.0 < number < 1e6:
            fix = "write PATH=NUMBER, the number above 0: --weight budget.capex=2"
            raise InputError(Finding("weight", f"'{each[:80]}' is no weight", "--weight", fix=fix))
        found.append((path, number))
    return tuple(found)


# Worth of a limit: the best plan with it a step looser or tighter

_PAUSES = (".stall", ".stall_overhead", ".restart")
"""Times that the job stands still: each second counts, so that none is without worth."""


def marginals(prober: Prober, progress: Progress = ignore) -> tuple[Marginal, ...]:
    """Worth of a step of each limit, the binding ones first."""
    assert prober.base.run is not None
    tight = {limit.name for limit in prober.plan.limits if limit.binding}
    tight |= binding(prober.case, prober.base.run)
    limits = sorted(movable(prober.inputs), key=lambda lever: lever.limit not in tight)
    slack = [one for one in limits if one.limit not in tight and not one.path.endswith(_PAUSES)]
    idle = {lever.path for lever in _idle(prober, slack)}
    rows = []
    for done, lever in enumerate(limits):
        progress(done, len(limits))
        step, value = step_of(lever) * lever.looser, lever.value or 0.0
        looser, tighter = (
            min(max(value + side * step, lever.least), lever.most) for side in (1, -1)
        )
        row = Marginal(
            path=lever.path,
            label=lever.label,
            source=lever.place,
            unit=lever.unit,
            value=value,
            text=lever.text(value),
            binding=lever.limit in tight,
            looser=_looser(prober, lever, looser, idle=lever.path in idle),
            tighter=_tighter(prober, lever, tighter),
            next_step=_next_step(prober, lever) if lever.limit in tight else None,
        )
        rows.append(row)
    return tuple(rows)


def _idle(prober: Prober, slack: Sequence[Lever]) -> list[Lever]:
    """Levers without which no plan is better: all at once, else without those that a better plan
    shows to matter, else in halves."""
    if not slack:
        return []
    free = prober.variants.best(tuple(change for lever in slack for change in lever.off))
    if free.bound is not None and not prober.better(free.bound):
        return [*slack]
    if len(slack) == 1:
        return []
    rest = [each for each in slack if not prober.better(prober.value_of(free.run, each.off))]
    if len(rest) < len(slack):
        return _idle(prober, rest)
    half = len(slack) // 2
    return [each for part in (slack[:half], slack[half:]) for each in _idle(prober, part)]


def _looser(prober: Prober, lever: Lever, place: float, *, idle: bool) -> Moved:
    if place == lever.value:
        return _moved(lever, place, "at_its_end")
    found = prober.base if idle else prober.variants.best(lever.to(place))
    return _best_at(prober, lever, place, found)


def _tighter(prober: Prober, lever: Lever, place: float) -> Moved:
    if place == lever.value or place < 0 or (place == 0 and not lever.whole):
        return _moved(lever, max(place, 0.0), "at_its_end")
    case, run, found = prober.changed(lever.to(place)), prober.base.run, Best(None, None)
    if case is not None and run is not None:
        again = fitted(case, run)
        apart = math.inf if again is None else abs(value_of(case, again) - prober.value)
        fits = apart <= SAME * abs(prober.value)
        found = prober.base if fits else prober.variants.best_of(case)
    return _best_at(prober, lever, place, found)


def _moved(lever: Lever, place: float, known: Known, **figures: float | int | None) -> Moved:
    text = lever.text(place)
    row = {"to_text": text, "setting": f"{lever.path}={text}", "known": known}
    return Moved.model_validate(row | figures)


def _best_at(prober: Prober, lever: Lever, place: float, found: Best) -> Moved:
    """A move of a lever with its best plan."""
    if found.value is None or found.run is None:
        return _moved(lever, place, "no_plan" if found.impossible else "not_decided")
    figures = {"value": found.value, "change": found.value - prober.value}
    return _moved(lever, place, "solved", **figures, gpus_used=found.run.gpus)


def _next_step(prober: Prober, lever: Lever) -> NextStep | None:
    """Where loosening a limit that binds begins to pay; None where it never does."""
    name, value = prober.case.objective, prober.value
    share = PAYS if prober.case.maximise else -PAYS
    wanted = value + 1.0 if name == "gpus" else value * (1.0 + share)
    floor = no_worse(prober.inputs, name, wanted)
    if lever.path == floor.path:
        return None
    oracle = Oracle(prober.inputs, prober.options.effort.part(NEXT_WORK))
    try:
        found = threshold(oracle, lever, (floor,))
        if found is None:
            return None
    except UndecidedError:
        found = None
    if found is None or found.short is None:
        prober.undecided.append(f"where more room for {lever.label} begins to pay")
        return None
    text = lever.text(found.enough)
    return NextStep(
        to_text=text,
        short_text=lever.text(found.short),
        setting=f"{lever.path}={text}",
        gain=abs(wanted - value),
    )


# Open levers fixed another way


def _fix_levers(prober: Prober) -> Iterator[Without]:
    """Yield the best plan with each open lever fixed another way."""
    for label, path, value, text in _open_levers(prober.inputs, prober.plan):
        change = Change(path, value, text)
        end = prober.variants.best((change,))
        if end.value is None and not end.impossible:
            prober.undecided.append(f"the plan with {label}")
            continue
        worth = None if end.value is None else end.value - prober.value
        yield Without(label=label, setting=change.setting, value=end.value, change=worth)


def _open_levers(inputs: Inputs, plan: Plan) -> Iterator[tuple[str, str, object, str]]:
    """Yield label, path, value and text of the problem's open levers, each fixed as if nobody had
    thought of it; spares by one."""
    job = inputs.problem.job
    yield from _fabrics(inputs, plan)
    if job.power is not None and job.power.asked != (1.0,):
        yield "GPUs at full power", job_path("power.points"), 1.0, "100 %"
    precision = job.training.precision
    if isinstance(precision, tuple) and len(precision) > 1:
        first = precision[0]
        yield f"{first} alone", job_path("training.precision"), first, first
    if job.levels is not None:
        yield "checkpoints on storage alone", job_path("checkpoint.local.use"), "no", "no"
    if job.repair is not None and job.repair.when_short == "shrink":
        yield "waiting where units are short", job_path("repair.when_short"), "wait", "wait"
    if any(limit.name == "endurance" for limit in plan.limits):
        yield "drives written without limit", "storage.endurance", "off", "off"
    repair = plan.jobs[0].repair
    if repair is not None and not repair.in_rack:
        yield from _spares(inputs, repair.spares)
    elif repair is not None and job.gpus.most_of(plan.jobs[0].gpu_type) is None:
        gpus = inputs.item(plan.jobs[0].gpu_type).provides.gpus
        if gpus is not None:
            label = "every GPU of each system used"
            yield label, job_path("gpus.per_system"), gpus.value, f"{gpus.value}"


def _fabrics(inputs: Inputs, plan: Plan) -> Iterator[tuple[str, str, object, str]]:
    """Yield the compute fabrics that the plan could have chosen instead."""
    asked, path = inputs.problem.network.compute, "network.compute"
    built = [fabric for fabric in plan.fabrics if fabric.network == "compute"]
    if asked is None or not built:
        return
    for name in sorted(set(asked.switches) - {fabric.switch_sku for fabric in built}):
        label = f"a compute fabric of {inputs.item(name).model}"
        yield label, f"{path}.switches", (name,), f"[{name}]"
    for planes in sorted(set(asked.planes_allowed) - {fabric.planes for fabric in built}):
        yield f"{planes} planes of it", f"{path}.planes", planes, f"{planes}"
    ratios = set(asked.oversubscriptions) - {fabric.oversubscription for fabric in built}
    for ratio in sorted(ratios):
        yield f"a compute fabric at {ratio:g}:1", f"{path}.oversubscription", ratio, f"{ratio:g}"


def _spares(inputs: Inputs, spares: int) -> Iterator[tuple[str, str, object, str]]:
    repair, path = inputs.problem.job.repair, job_path("repair.spares")
    if repair is None or repair.spares != "open":
        return
    if spares > 0:
        yield "no spares", path, 0, "0"
    if spares > 1:
        yield f"one spare less ({spares - 1})", path, spares - 1, f"{spares - 1}"
    yield f"one spare more ({spares + 1})", path, spares + 1, f"{spares + 1}"
