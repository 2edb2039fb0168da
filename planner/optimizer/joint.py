"""The joint optimisation: purchase, GPUs in use and interval, with a certificate and tie-breaks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from planner.case import Case
from planner.case.model import Mode
from planner.errors import SolverError
from planner.optimizer import operate, purchase
from planner.optimizer.branch import Found, Goal
from planner.optimizer.build import build
from planner.optimizer.counting import room
from planner.optimizer.dominance import outgrown, without_dominated
from planner.optimizer.enumerated import enumerated
from planner.optimizer.goals import (
    FLOOR_TOLERANCE,
    TIE_TOLERANCE,
    floors,
    goal_of,
    width_of,
    without_end,
)
from planner.optimizer.guess import orderly
from planner.optimizer.master import Master, session
from planner.optimizer.model import Linear, Row, save_mps
from planner.optimizer.objective import (
    AGAIN,
    EXPRESSIONS,
    LOGARITHMIC,
    TIE_BREAKS,
    disliked,
    measure,
    overrun,
    tie_breaks,
)
from planner.optimizer.operate import Run
from planner.optimizer.ratio import left_of_parts
from planner.optimizer.solver import Effort, SolverName
from planner.optimizer.stage import run
from planner.optimizer.ways import needed

LOOSE = 2e-7
Status = Literal["optimal", "feasible", "infeasible", "unbounded", "no_solution"]


@dataclass(frozen=True)
class Certificate:
    """The answer with its proof.

    ``value`` is the plan's, ``best`` the best that was found: the plan may give something away to
    ``indifference`` and preferred vendors. ``gap`` is from ``best`` to ``bound``; it and
    ``given_away`` are shares of the objective itself, the three values natural logarithms where
    the objective is maximised by its logarithm. ``untouched`` is the cheapest plan as good as
    ``best``, where the plan taken is not. ``ties_cut``: the search was cut short before one of
    equally good plans was chosen.
    """

    status: Status
    operation: Run | None
    value: float | None
    bound: float | None
    gap: float | None
    iterations: int
    seconds: float
    late: bool
    best: float | None = None
    given_away: float | None = None
    untouched: Run | None = None
    ties_cut: bool = False

    def __post_init__(self) -> None:
        """Where nothing else is said, the plan is the best found and gives nothing away."""
        if self.best is None and self.value is not None:
            object.__setattr__(self, "best", self.value)
            object.__setattr__(self, "given_away", 0.0)


def optimise(
    case: Case,
    *,
    solver: SolverName = "highs",
    gap: float = 2e-6,
    effort: Effort | None = None,
    save_model: Path | None = None,
    ties: bool = True,
    known: Sequence[Run] = (),
) -> Certificate:
    """Return the best plan of a case with its certificate.

    Args:
        solver: HiGHS in process, or the CBC that PuLP bundles as a cross-check.
        gap: the largest distance to the bound, as a share of the objective.
        effort: how far to go; beyond it the best plan so far is taken. Without: to the end.
        save_model: where to write the last master problem as MPS.
        ties: whether to choose among equally good plans; without, the first one found is taken,
            nothing is given away, and it takes a fraction of the time.
        known: plans of similar cases. Those that are plans of this one, too, are begun with: what
            is worse is ruled out from the start.
    """
    started = time.monotonic()
    effort = effort or Effort()
    whole, case = case, without_dominated(case)
    answer = _optimise(case, solver, gap, effort, save_model, ties=ties, known=known)
    if case is not whole and (answer.status == "unbounded" or outgrown(whole, answer.best)):
        answer = _optimise(whole, solver, gap, effort, save_model, ties=ties, known=known)
    elif case is not whole:
        answer = _of_whole(whole, answer)
    return replace(answer, seconds=time.monotonic() - started)


def _of_whole(whole: Case, answer: Certificate) -> Certificate:
    """Return an answer as one of the whole case: products that were left out count 0."""
    none = {offer.id: 0 for offer in whole.offers()}

    def filled(run: Run | None) -> Run | None:
        return None if run is None else replace(run, units={**none, **run.units})

    return replace(answer, operation=filled(answer.operation), untouched=filled(answer.untouched))


def _optimise(
    case: Case,
    solver: SolverName,
    gap: float,
    effort: Effort,
    save_model: Path | None,
    *,
    ties: bool,
    known: Sequence[Run] = (),
) -> Certificate:
    """Return the best plan of a case, as it stands, with its certificate.

    HiGHS is asked what enumeration does not settle; CBC stays a check of another kind.
    """
    case = needed(case)
    if solver == "highs" and save_model is None and not effort.over:
        runs = [run for one in known if (run := fitted(case, one)) is not None]
        quick = enumerated(case, gap, runs, ties=ties, effort=effort)
        if quick is not None and (quick.settled or (effort.late and quick.best is not None)):
            found, late = quick.taken, not quick.settled
            answer = _certificate(case, found, quick.best, [found], gap, 0, 0.0, late)
            return replace(answer, ties_cut=late)
        if quick is not None and quick.taken.operation is not None:
            known = (*known, quick.taken.operation)
    return _by_models(case, solver, gap, effort, save_model, ties=ties, known=known)


def _by_models(
    case: Case,
    solver: SolverName,
    gap: float,
    effort: Effort,
    save_model: Path | None,
    *,
    ties: bool,
    known: Sequence[Run],
) -> Certificate:
    """Return the best plan of a case with its certificate, as a solver proves it."""
    started = time.monotonic()
    proofs: list[_Proof] = []
    if case.systems and case.storage:
        modes = sorted(case.job.modes, key=lambda mode: mode != "local")  # as a rule the best
        for left, mode in zip(range(len(modes), 0, -1), modes, strict=True):
            if effort.over:  # building the model alone takes its time
                break
            part = effort.part(effort.left_work / left, share=1.0 / left)
            least = _least(case, proofs)
            prove = partial(_prove, case, mode, solver, gap, part, least, final=not ties)
            begin = _best_known(case, mode, known)
            try:
                proofs.append(prove(begin))
            except SolverError:  # by rounding the model may not hold a plan that is known
                if begin is None:
                    raise
                proofs.append(prove(None))
        proofs.sort(key=lambda proof: case.job.modes.index(proof.master.build.mode))
    if save_model is not None and proofs:  # as the proof left it, before ties add their rows
        last = proofs[-1]
        save_mps(last.master.build.model, last.goal.expression, case.maximise, save_model)
    best = _best(case, proofs)
    taken, settled = _first(case, proofs), True
    if without_end(case, taken.operation):  # a cheaper plan may stand below the end of the model
        taken.unbounded = True
    elif ties:
        taken, settled = _settle(case, proofs, best, gap, effort)
    solves = sum(proof.master.solves for proof in proofs)
    late = effort.late
    seconds = time.monotonic() - started
    answers = [proof.found for proof in proofs]
    if case.systems and case.storage:  # a mode that was not looked at leaves everything open
        answers += [Found(stopped=True) for _ in case.job.modes[len(proofs) :]]
    certificate = _certificate(case, taken, best, answers, gap, solves, seconds, late)
    return replace(certificate, ties_cut=not settled)


class _Proof(NamedTuple):
    """One mode's master problem, its goal, and what was found."""

    master: Master
    goal: Goal
    ties: Mapping[str, Linear]
    found: Found


def _least(case: Case, proofs: list[_Proof]) -> float | None:
    """Return the value from which on plans of another mode count, once there is one on two levels.

    It is worse than the best by all that may be given away: no plan that may be taken is missed.
    """
    best = _best(case, proofs)
    if best is None or case.job.levels is None:
        return None
    width = width_of(case.objective, best, case.given_away) + LOOSE * max(1.0, abs(best))
    width += width_of(case.objective, best, TIE_TOLERANCE)
    return best - width if case.maximise else best + width


def _best_known(case: Case, mode: Mode, known: Sequence[Run]) -> Run | None:
    """Return the best of the known plans that are plans of a case in a mode; None without any.

    One that meets a floor by the tolerance of rounding alone is not counted: the model has no such
    plan.
    """
    runs = (fitted(case, run) for run in known if run.mode == mode)
    value, meets = measure(case, case.objective), floors(case, -FLOOR_TOLERANCE)
    pick = max if case.maximise else min
    return pick((run for run in runs if run is not None and meets(run)), key=value, default=None)


def _prove(
    case: Case,
    mode: Mode,
    solver: SolverName,
    gap: float,
    effort: Effort,
    least: float | None,
    begin: Run | None,
    *,
    final: bool,
) -> _Proof:
    """Return the best operation in one mode with its bound, None that is worse than ``least``."""
    master_problem = build(case, mode)
    expression_of = overrun if case.objective == "overrun" else EXPRESSIONS[case.objective]
    expression = expression_of(master_problem)
    # Counts come into being when asked for, so everything is asked for before the solver starts.
    ties = {name: tie_break(master_problem) for name, tie_break in TIE_BREAKS.items()}
    master = Master(master_problem, session(solver, master_problem.model), effort, final=final)
    # Half the gap is for what breaking ties may give away. The proof goes further than the other
    # half, so that the value ties are held at hardly depends on the way it was found.
    goal = goal_of(case, expression, gap / 20.0)
    return _Proof(master, goal, ties, run(master, goal, least=least, known=begin))


def _best(case: Case, proofs: list[_Proof]) -> float | None:
    """Return the best value over the modes, None where there is no plan."""
    pick = max if case.maximise else min
    values = [proof.found.value for proof in proofs if proof.found.value is not None]
    return pick(values) if values else None


def _first(case: Case, proofs: list[_Proof]) -> Found:
    """Return the best answer over the modes, of equal ones the first."""
    found = [proof.found for proof in proofs if proof.found.value is not None]
    pick = max if case.maximise else min
    return pick(found, key=lambda answer: answer.value or 0.0) if found else Found()


def _settle(
    case: Case, proofs: list[_Proof], best: float | None, gap: float, effort: Effort
) -> tuple[Found, bool]:
    """Return the answer over the modes: of those as good as the best, the first by tie-breaks.

    Also whether there was time to tell which that is.
    """
    found = [proof for proof in proofs if proof.found.value is not None]
    if best is None:
        return Found(), True
    tolerance = min(TIE_TOLERANCE, gap / 2.0)
    width = width_of(case.objective, best, max(tolerance, case.given_away))
    rivals = [proof for proof in found if abs((proof.found.value or 0.0) - best) <= width]
    settled = True
    for proof in rivals:
        if not proof.found.stopped:
            proof.master.effort = effort
            settled &= _break_ties(proof, best, tolerance)
    answer = rivals[0].found
    for proof in rivals[1:]:
        if _cheaper(case, proof.found, answer):
            answer = proof.found
    untouched = [o for proof in rivals if (o := proof.found.untouched) is not None]
    cost = measure(case, "capex")
    return replace(answer, untouched=min(untouched, key=cost, default=None)), settled


def _break_ties(proof: _Proof, best: float, tolerance: float) -> bool:
    """Among plans as good as ``best`` take the cheapest, then least power, then fewest units.

    Say whether there was time for all of it.
    """
    master, goal, found = proof.master, proof.goal, proof.found
    case = master.build.case
    _keep_untouched(proof, best, tolerance)
    if case.policy.disliked:
        preferred = _prefer(master, goal, found, best, tolerance)
        if preferred is None:
            return False
        goal, best = preferred
    allowed, last, last_value, left = goal.allowed, goal, best, found
    for name in tie_breaks(case):
        if name == {"cost": "capex"}.get(case.objective, case.objective):
            continue
        share = max(tolerance, case.indifference) if last is goal else tolerance
        allowed = _hold(master, last, last_value, allowed, share, left)
        stage = _stage(proof, goal, name, allowed, tolerance)
        better = run(master, stage, found.operation)
        if better.operation is None or better.value is None or better.stopped:
            return not better.stopped
        found.operation, last, last_value = better.operation, stage, better.value
        left = better
        found.value = goal.value(found.operation)
    return True


def _stage(
    proof: _Proof, goal: Goal, name: str, allowed: Callable[[Run], bool], tolerance: float
) -> Goal:
    """Return the goal of a tie-break."""
    if name == AGAIN:
        return replace(goal, allowed=allowed)
    return Goal(
        name=name,
        expression=proof.ties[name],
        maximise=False,
        value=measure(proof.master.build.case, name),
        allowed=allowed,
        prefer=goal.prefer,
        gap=0.5 if name == "units" else tolerance / 5,
        relative=name != "units",
    )


def _keep_untouched(proof: _Proof, best: float, tolerance: float) -> None:
    """Where something may be given away, find the cheapest plan that gives nothing away.

    What indifference saves is told against this plan; the plan taken is looked for from it on.
    """
    master, goal, found = proof.master, proof.goal, proof.found
    case = master.build.case
    least = width_of(goal.name, best, tolerance)
    if case.given_away <= tolerance or goal.beyond(found.value or best, best) > least:
        return
    found.untouched = found.operation
    if case.objective == "cost":
        return
    row, allowed = _hold_row(master, goal, best, goal.allowed, tolerance)
    cheapest = Goal(
        name="capex",
        expression=proof.ties["capex"],
        maximise=False,
        value=measure(case, "capex"),
        allowed=allowed,
        prefer=goal.prefer,
        gap=tolerance / 5,
        relative=True,
    )
    probed, master.probed = master.probed, True  # nothing is ruled out for good by a passing row
    better = run(master, cheapest, found.operation)
    master.probed = probed
    master.release(row)
    if better.operation is not None and not better.stopped:
        found.untouched = found.operation = better.operation
        found.value = goal.value(better.operation)


def _prefer(
    master: Master, goal: Goal, found: Found, best: float, tolerance: float
) -> tuple[Goal, float] | None:
    """Buy as little as ``within`` allows from vendors that are not preferred.

    Returns the goal with that kept, and its best value then; None where time ran out.
    """
    case = master.build.case
    share = max(tolerance, case.policy.within)
    allowed = _hold(master, goal, best, goal.allowed, share, found)
    least = Goal(
        name="disliked",
        expression=disliked(master.build),
        maximise=False,
        value=measure(case, "disliked"),
        allowed=allowed,
        prefer=goal.prefer,
        gap=0.5,
        relative=False,
    )
    fewest = run(master, least, found.operation)
    if fewest.operation is None or fewest.value is None or fewest.stopped:
        return None
    found.operation = fewest.operation
    allowed = _hold(master, least, fewest.value, allowed, 0.0, fewest)
    again = replace(goal, allowed=allowed)
    better = run(master, again, found.operation)
    if better.operation is None or better.value is None or better.stopped:
        return None
    found.operation, found.value = better.operation, better.value
    found.parts, found.boxes = better.parts, better.boxes
    return again, better.value


def _hold(
    master: Master,
    goal: Goal,
    value: float,
    allowed: Callable[[Run], bool],
    tolerance: float,
    left: Found,
) -> Callable[[Run], bool]:
    """Keep ``goal`` at ``value`` within the tolerance of ties from now on.

    Searches begin in the parts that the stage of ``goal`` has left.
    """
    width = width_of(goal.name, value, tolerance)
    master.parts = left_of_parts(master, goal, left.parts, value, width)
    master.boxes = left.boxes if width <= room(value) else None
    return _hold_row(master, goal, value, allowed, tolerance)[1]


def _hold_row(
    master: Master,
    goal: Goal,
    value: float,
    allowed: Callable[[Run], bool],
    tolerance: float,
) -> tuple[Row, Callable[[Run], bool]]:
    """Return the row that keeps ``goal`` at ``value``, and the check that goes with it."""
    width = width_of(goal.name, value, tolerance)
    # The check is a little looser than the row, so that what the solver's tolerance lets through
    # the row passes it.
    loose = width + width_of(goal.name, value, min(LOOSE, tolerance / 5))
    floor = value - loose if goal.maximise else value + loose
    sign = -1.0 if goal.maximise else 1.0
    # A preference for vendors holds the objective twice: within its share, then at its best.
    name = f"hold_{goal.name}_{len(master.build.model.rows)}"
    row = master.row(name, sign * goal.expression, "<=", sign * value + width)

    def still_allowed(operation: Run) -> bool:
        return allowed(operation) and not goal.better(floor, goal.value(operation))

    return row, still_allowed


def _cheaper(case: Case, one: Found, other: Found) -> bool:
    """Say whether one of two equally good answers goes first by the tie-breaks."""
    if one.operation is None or other.operation is None:
        return other.operation is None
    if case.policy.disliked:
        fewest = measure(case, "disliked")
        ours, theirs = fewest(one.operation), fewest(other.operation)
        if ours != theirs:
            return ours < theirs
        ours, theirs = one.value or 0.0, other.value or 0.0
        if abs(ours - theirs) > width_of(case.objective, theirs, TIE_TOLERANCE):
            return ours > theirs if case.maximise else ours < theirs
    for name in tie_breaks(case):
        value = measure(case, name)
        ours, theirs = value(one.operation), value(other.operation)
        scale = case.objective if name == AGAIN else name
        if abs(ours - theirs) > width_of(scale, theirs, TIE_TOLERANCE):
            return ours < theirs
    return False


def _certificate(
    case: Case,
    taken: Found,
    best: float | None,
    answers: list[Found],
    gap: float,
    solves: int,
    seconds: float,
    late: bool,
) -> Certificate:
    if any(answer.unbounded for answer in (*answers, taken)) or without_end(case, taken.operation):
        return Certificate("unbounded", None, None, None, None, solves, seconds, late)
    stopped = any(answer.stopped for answer in answers)
    bounds = [answer.bound for answer in answers if answer.bound is not None]
    unknown = any(answer.stopped and answer.bound is None for answer in answers)
    pick = max if case.maximise else min
    bound = pick(bounds) if bounds and not unknown else None
    if taken.operation is None:
        # A bound without a plan: something was left open, so nothing is proven impossible.
        status: Status = "no_solution" if stopped or bounds else "infeasible"
        return Certificate(status, None, None, bound, None, solves, seconds, late)
    value = taken.value
    assert value is not None and best is not None
    best = pick(best, value)  # breaking ties may find more by the solver's tolerance
    if bound is None and not stopped:
        bound = best
    elif bound is not None:
        bound = pick(bound, best)
    distance = None if bound is None else share(case, best, bound)
    proven = distance is not None and distance <= gap + 1e-12
    return Certificate(
        status="optimal" if proven else "feasible",
        operation=taken.operation,
        value=value,
        bound=bound,
        gap=distance,
        iterations=solves,
        seconds=seconds,
        late=late,
        best=best,
        given_away=_given_away(case, value, best),
        untouched=taken.untouched,
    )


def _given_away(case: Case, value: float, best: float) -> float:
    """Return how much less than the best the plan is worth, as a share of the best."""
    if case.objective in LOGARITHMIC:
        more = math.expm1(value - best)
        return max(0.0, -more if case.maximise else more)
    return abs(best - value) / max(abs(best), 1e-12)


def share(case: Case, value: float, bound: float) -> float:
    """Return the distance from value to bound as a share of the objective."""
    if case.objective in LOGARITHMIC:
        beyond = math.expm1(bound - value)
        return max(0.0, beyond if case.maximise else -beyond)
    distance = bound - value if case.maximise else value - bound
    return max(0.0, distance) / max(abs(value), 1e-12)


# Whether a plan in hand is one of another problem, too: found by arithmetic, without a solver.


def fitted(case: Case, run: Run) -> Run | None:
    """Return an operation at its best under a case; None where that refuses its purchase or use.

    Args:
        run: an operation of another case with the same products.
    """
    ids = {offer.id for offer in case.offers()}
    if any(count and name not in ids for name, count in run.units.items()):
        return None
    units = {name: run.units.get(name, 0) for name in ids}
    if not orderly(case, units) or purchase.broken_rows(case, units, run.ways):
        return None
    if len(run.used) > case.job.max_types or run.mode not in case.job.modes:
        return None
    found = operate.operate(case, run.mode, units, run.used, run.gpus, run.ways)
    if found is None or not floors(case)(found):
        return None
    held = units | {system.id: found.used.get(system.id, 0) for system in case.systems}
    if not all(held[name] for name in case.must_use):
        return None
    return replace(found, units=units)
