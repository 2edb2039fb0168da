"""The joint optimisation: purchase, GPUs in use and interval, with a certificate and tie-breaks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from planner.case import Case
from planner.case.model import Mode
from planner.optimizer import purchase
from planner.optimizer.build import build
from planner.optimizer.master import Master
from planner.optimizer.model import save_mps
from planner.optimizer.objective import EXPRESSIONS, LOGARITHMIC, MILLION, TIE_BREAKS, name_weight
from planner.optimizer.operate import Operation
from planner.optimizer.solver import session
from planner.optimizer.stage import Found, Goal, run

TIE_TOLERANCE = 1e-6
FLOOR_TOLERANCE = 1e-9
Status = Literal["optimal", "feasible", "infeasible", "unbounded", "no_solution"]
SolverName = Literal["highs", "cbc"]


@dataclass(frozen=True)
class Certificate:
    """The answer with its proof. ``value`` and ``bound`` are natural logarithms where the objective
    is maximised by its logarithm; ``gap`` is a share of the objective itself."""

    status: Status
    operation: Operation | None
    value: float | None
    bound: float | None
    gap: float | None
    iterations: int
    seconds: float


def optimise(
    case: Case,
    *,
    solver: SolverName = "highs",
    gap: float = 2e-6,
    time_limit_s: float | None = None,
    save_model: Path | None = None,
) -> Certificate:
    """Return the best plan of a case with its certificate.

    Args:
        case: the problem in numbers.
        solver: HiGHS in process, or the CBC that PuLP bundles as a cross-check.
        gap: the largest distance to the bound, as a share of the objective.
        time_limit_s: stop then with the best plan so far.
        save_model: where to write the last master problem as MPS.
    """
    started = time.monotonic()
    deadline = started + (math.inf if time_limit_s is None else time_limit_s)
    answers = [_in_mode(case, mode, solver, gap, deadline, save_model) for mode in case.job.modes]
    found = [answer for answer, _ in answers]
    solves = sum(count for _, count in answers)
    seconds = time.monotonic() - started
    return _certificate(case, _best_of(case, found), found, gap, solves, seconds)


def _in_mode(
    case: Case,
    mode: Mode,
    solver: SolverName,
    gap: float,
    deadline: float,
    save_model: Path | None,
) -> tuple[Found, int]:
    if not case.systems or not case.storage:
        return Found(), 0
    master_problem = build(case, mode)
    expression = EXPRESSIONS[case.objective](master_problem)
    master = Master(master_problem, session(solver, master_problem.model), deadline)
    value = _value(case, case.objective)
    relative = case.objective not in LOGARITHMIC
    meets_floors = _floors(case)
    prefer = _preference(case, meets_floors)
    # Half the gap is for what breaking ties may give away. The proof goes further than the other
    # half, so that the value ties are held at hardly depends on the way it was found.
    proof = gap / 20.0
    goal = Goal(
        case.objective, expression, case.maximise, value, meets_floors, prefer, proof, relative
    )
    found = run(master, goal)
    if save_model is not None:  # as the proof left it, before ties add their rows
        save_mps(master_problem.model, expression, case.maximise, save_model)
    if found.operation is not None and not found.stopped:
        _break_ties(master, goal, found, min(TIE_TOLERANCE, gap / 2.0))
    return found, master.solves


def _break_ties(master: Master, goal: Goal, found: Found, tolerance: float) -> None:
    """Among equally good plans take the cheapest, then the least power, then the fewest units."""
    case = master.build.case
    allowed, last, last_value = goal.allowed, goal, found.value
    for name, expression_of in TIE_BREAKS.items():
        if name == {"cost": "capex"}.get(case.objective, case.objective):
            continue
        assert last_value is not None
        width = max(tolerance, case.indifference) if last is goal else tolerance
        allowed = _hold(master, last, last_value, allowed, width)
        gap, relative = (0.5, False) if name == "units" else (tolerance / 5, True)
        expression = expression_of(master.build)
        value = _value(case, name)
        stage = Goal(name, expression, False, value, allowed, goal.prefer, gap, relative)
        better = run(master, stage, found.operation)
        if better.operation is None or better.stopped:
            return
        found.operation, last, last_value = better.operation, stage, better.value
        found.value = goal.value(found.operation)


def _hold(
    master: Master,
    goal: Goal,
    value: float,
    allowed: Callable[[Operation], bool],
    tolerance: float,
) -> Callable[[Operation], bool]:
    """Keep ``goal`` at ``value`` within the tolerance of ties from now on."""
    width = tolerance if goal.name in LOGARITHMIC else tolerance * max(abs(value), 1e-9)
    # The row is a little stricter than the check, so that what the solver's tolerance lets through
    # the row still passes the check.
    strict = 0.9 * width
    floor = value - width if goal.maximise else value + width
    row = value - strict if goal.maximise else value + strict
    sense: Literal[">=", "<="] = ">=" if goal.maximise else "<="
    master.row(f"hold_{goal.name}", goal.expression, sense, row)

    def still_allowed(operation: Operation) -> bool:
        return allowed(operation) and not goal.better(floor, goal.value(operation))

    return still_allowed


def _value(case: Case, name: str) -> Callable[[Operation], float]:
    """Return the value of an objective or tie-break on an operation, scaled as in the model."""
    mfu = case.job.mfu or 0.0
    measures: dict[str, Callable[[Operation], float]] = {
        "goodput": lambda o: math.log(o.useful_pflops(mfu)),
        "useful_gpus": lambda o: math.log(o.useful_gpus),
        "gpus": lambda o: float(o.gpus),
        "cost": lambda o: purchase.capex_usd(case, o.units) / MILLION,
        "capex": lambda o: purchase.capex_usd(case, o.units) / MILLION,
        "tco": lambda o: purchase.tco_usd(case, o.units) / MILLION,
        "power": lambda o: purchase.it_power_kw(case, o.units),
        "units": lambda o: float(sum(o.units.values())),
        "name": lambda o: sum(name_weight(name) * count for name, count in o.units.items()),
    }
    return measures[name]


def _floors(case: Case) -> Callable[[Operation], bool]:
    limits, mfu, pflops = case.limits, case.job.mfu or 0.0, case.useful_pflops_floor()

    def meets(operation: Operation) -> bool:
        checks = (
            (limits.min_goodput, operation.goodput),
            (limits.min_useful_gpus, operation.useful_gpus),
            (pflops, operation.useful_pflops(mfu)),
        )
        return all(f is None or value >= f * (1 - FLOOR_TOLERANCE) for f, value in checks)

    return meets


def _preference(
    case: Case, meets_floors: Callable[[Operation], bool]
) -> Callable[[Operation], float]:
    """Return how uses of one purchase are ordered: by useful work, or by GPUs if those count."""
    if case.objective == "gpus":
        return lambda o: (1e6 if meets_floors(o) else 0.0) + o.gpus
    if case.limits.min_goodput is not None and case.objective not in LOGARITHMIC:
        floor = case.limits.min_goodput
        return lambda o: o.useful_gpus if o.goodput >= floor else o.goodput - 1.0
    if case.limits.min_goodput is not None:
        return lambda o: o.useful_gpus if meets_floors(o) else o.goodput - 1.0
    return lambda o: o.useful_gpus


def _best_of(case: Case, answers: list[Found]) -> Found:
    """Return the best answer over the modes; ties by cost, power, units, then the first mode."""
    best = answers[0]
    for answer in answers[1:]:
        if answer.operation is None:
            continue
        if best.operation is None or _beats(case, answer, best):
            best = answer
    return best


def _beats(case: Case, one: Found, other: Found) -> bool:
    assert one.operation is not None
    assert other.operation is not None
    order = [(case.objective, case.maximise), *((name, False) for name in TIE_BREAKS)]
    for name, maximise in order:
        value = _value(case, name)
        ours, theirs = value(one.operation), value(other.operation)
        width = TIE_TOLERANCE if name in LOGARITHMIC else TIE_TOLERANCE * max(abs(theirs), 1e-9)
        if abs(ours - theirs) > width:
            return (ours > theirs) == maximise
    return False


def _certificate(
    case: Case, best: Found, answers: list[Found], gap: float, iterations: int, seconds: float
) -> Certificate:
    if any(answer.unbounded for answer in answers):
        return Certificate("unbounded", None, None, None, None, iterations, seconds)
    stopped = any(answer.stopped for answer in answers)
    bounds = [answer.bound for answer in answers if answer.bound is not None]
    unknown = any(answer.stopped and answer.bound is None for answer in answers)
    pick = max if case.maximise else min
    bound = pick(bounds) if bounds and not unknown else None
    if best.operation is None:
        # A bound without a plan: something was left open, so nothing is proven impossible.
        status: Status = "no_solution" if stopped or bounds else "infeasible"
        return Certificate(status, None, None, bound, None, iterations, seconds)
    value = best.value
    assert value is not None
    if bound is None and not stopped:
        bound = value
    elif bound is not None:
        # Breaking ties may find what the bound misses by the solver's tolerance.
        bound = pick(bound, value)
    distance = None if bound is None else share(case, value, bound)
    proven = distance is not None and distance <= gap + case.indifference + 1e-12
    return Certificate(
        "optimal" if proven else "feasible",
        best.operation, value, bound, distance, iterations, seconds,
    )  # fmt: skip


def share(case: Case, value: float, bound: float) -> float:
    """Return the distance from value to bound as a share of the objective."""
    if case.objective in LOGARITHMIC:
        return max(0.0, math.expm1(bound - value))
    distance = bound - value if case.maximise else value - bound
    return max(0.0, distance) / max(abs(value), 1e-12)
