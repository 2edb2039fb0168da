"""One objective over the master problem, to a proven gap: outer approximation with branching on N.

The master's bound is true because it only ever relaxes; each of its purchases, run as well as it
can be, is a feasible plan. Tangents at both points bring the two together. Where they do not meet
although every link holds, more GPUs would hurt and the whole number of systems in use lies between
two neighbours: then the GPUs in use are split there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from planner.case import Case
from planner.errors import SolverError
from planner.optimizer import operate, purchase
from planner.optimizer.branch import (
    SPLIT_MARGIN,
    Found,
    Goal,
    Node,
    crowded,
    narrow_chords,
    overdraws,
    pretends,
    probe,
    solve,
    split,
    split_counts,
)
from planner.optimizer.counting import as_good, count_down
from planner.optimizer.guess import guesses
from planner.optimizer.master import Master
from planner.optimizer.operate import Run
from planner.optimizer.ratio import divide_money, prune
from planner.optimizer.solver import Outcome
from planner.optimizer.ways import (
    ask_for_better,
    bound_of_none,
    bound_part,
    divide_ways,
    holds,
)

MOST_ROUNDS = 200
RELAXED_ROUNDS = 12
LEAST_VIOLATION = 2e-8
MOST_PRETENDED = 3
MOST_MAGNIFIED = 3


def run(
    master: Master,
    goal: Goal,
    start: Run | None = None,
    least: float | None = None,
    known: Run | None = None,
) -> Found:
    """Return the best operation of ``goal`` with a proven bound.

    Args:
        master: the model; keeps the tangents that are added.
        start: a feasible operation to begin with, of a goal before this.
        least: what is worse is not sought.
        known: a feasible operation where there was no goal before.
    """
    master.objective(goal.expression, goal.maximise)
    found = Found(least=least)
    for operation in (start, known):
        if operation is not None:
            found.take(goal, operation)
    bounds = _search(master, goal, found, begun=start is None)
    if start is None and _disproved(goal, found, bounds) and not master.careful:
        # HiGHS (1.15.1) loses an optimum in its presolve at times: a plan shows it afterwards.
        master.careful = True
        bounds = _search(master, goal, found, begun=True)
    if start is None and _disproved(goal, found, bounds):
        said = max(bounds) if goal.maximise else min(bounds)
        raise SolverError(f"the plan's {goal.name} {found.value:.9g} passes its bound {said:.9g}")
    found.bound = _overall(goal, found, bounds)
    found.boxes = as_good(goal, found)
    return found


def _search(master: Master, goal: Goal, found: Found, *, begun: bool) -> list[float]:
    """Work on parts until all are settled; return the finite bounds of the parts."""
    worst = math.inf if goal.maximise else -math.inf
    nodes = [Node(worst, dict(part)) for part in master.parts]
    if master.boxes:
        nodes = [Node(worst, boxes=master.boxes)]
    settled: list[Node] = []
    for node in nodes if master.by_way else ():
        bound_part(master, goal, node, found)
    while nodes and not found.stopped and not found.unbounded:
        nodes.sort(key=lambda node: node.bound if goal.maximise else -node.bound)
        node = nodes.pop()
        prune(master, goal, found)
        if found.closed(goal, node.bound):
            settled.append(node)
            continue
        master.narrow(node.bounds)
        children = _explore(master, goal, node, found, begun=begun)
        if found.stopped or not children:
            settled.append(node)
        nodes += children
    master.narrow({})
    master.ask_for_all()
    found.parts = [] if found.stopped or found.unbounded else settled
    return [node.bound for node in (*settled, *nodes) if math.isfinite(node.bound)]


def _disproved(goal: Goal, found: Found, bounds: list[float]) -> bool:
    """Say whether the plan itself passes the bound by more than the solver's tolerance."""
    if found.value is None or not bounds:
        return False
    return goal.disproves(found.value, max(bounds) if goal.maximise else min(bounds))


def _overall(goal: Goal, found: Found, bounds: list[float]) -> float | None:
    """Return the bound over all parts; parts proven empty or worse than the plan count as it."""
    if found.value is not None:
        bounds = [*bounds, found.value]
    if not bounds:
        return None
    return max(bounds) if goal.maximise else min(bounds)


def _explore(master: Master, goal: Goal, node: Node, found: Found, *, begun: bool) -> list[Node]:
    """Work on one node until it is closed, empty (bound set beyond reach) or must be split."""
    children = None if node.counted else _explore_relaxed(master, goal, node, found)
    if children is not None:
        return children
    pretended = 0
    outcome = Outcome("limit", None, None)
    for _ in range(MOST_ROUNDS):
        ask_for_better(master, goal, node, found)
        outcome = _solve_whole(master, goal, node, found, begun)
        if _ended(master, outcome, goal, node, found):
            return []
        moved = bool(outcome.values) and _improve(master, goal, outcome, found)
        found.stopped = outcome.status == "limit"
        if found.stopped or found.closed(goal, node.bound):
            return []
        if not outcome.values:
            break
        if not node.bounds:
            probe(master, goal, found)
        overdrawn = overdraws(master, outcome)
        pretended += pretends(master, outcome) or bool(overdrawn)
        children = divide_money(master, goal, node, outcome, found, 0.0)
        if children:  # where the master's own purchase stands the chords are then exact
            return children
        # Tangents cannot keep the master from counting GPUs it does not pay for; a split can.
        if pretended >= MOST_PRETENDED or not moved:
            children = split(master, goal, node, outcome, overdrawn)
            if children or not moved:
                return children or _count_out(master, goal, node, outcome)
    return _count_out(master, goal, node, outcome)


def _explore_relaxed(master: Master, goal: Goal, node: Node, found: Found) -> list[Node] | None:
    """Work on a node by linear programs alone; return its parts; None: it must be searched."""
    if node.boxes is not None:
        return count_down(master, goal, node, found)
    relaxed = _relax(master, goal, node, found)
    if relaxed is None:
        return []
    _begin(master, goal, node, relaxed, found)
    parts = divide_ways(master, goal, node, found)
    parts = parts or divide_money(master, goal, node, relaxed, found, SPLIT_MARGIN)
    if not parts and master.counts_decide:
        return count_down(master, goal, node, found)
    return parts or None


def _count_out(master: Master, goal: Goal, node: Node, outcome: Outcome) -> list[Node]:
    """Go on by counts where the model shows nothing more, so that a search ends with a proof.

    A purchase that is settled in all counts is worth what it is run for, whatever the model says.
    """
    children = split_counts(master, node, outcome.values)
    if children or not outcome.values:
        return children
    build = master.build
    bought = purchase.read(build, outcome.values)
    best = None
    if not purchase.broken_rows(build.case, bought.units, bought.ways):
        best = operate.best(
            build.case, build.mode, bought.units, bought.used, bought.gpus, goal.prefer, bought.ways
        )
    if best is not None and goal.allowed(best):
        node.bound = goal.value(best)
    else:
        node.bound = -math.inf if goal.maximise else math.inf
    return []


def _solve_whole(master: Master, goal: Goal, node: Node, found: Found, begun: bool) -> Outcome:
    """Solve in whole numbers; a verdict that the plan in hand disproves is asked for again, and
    that there is no plan at all, or among equally good ones none that is cheaper.

    Raises:
        SolverError: it stands. Only asked where the search begins: what ties with earlier stages
            may do so more closely than the solver sees.
    """
    outcome = solve(master, goal, relaxed=False)
    if outcome.status == "infeasible" and found.asked(goal) is None and not master.final:
        return solve(master, goal, relaxed=False, careful=True)  # no plan is there to disprove it
    if not begun and _is_cheapest(goal, found, outcome):
        return solve(master, goal, relaxed=False, careful=True)  # no plan would disprove it
    if not holds(master, goal, node, found) or not _is_disproved(goal, found, outcome):
        return outcome
    outcome = solve(master, goal, relaxed=False, careful=True)
    if begun and not node.bounds and _is_disproved(goal, found, outcome):
        raise SolverError(f"the solver rules out a plan that exists ({goal.name})")
    return outcome


def _is_cheapest(goal: Goal, found: Found, outcome: Outcome) -> bool:
    """Say whether the solver has no plan that is cheaper than the one in hand, and as good."""
    if goal.name != "capex" or found.value is None or outcome.bound is None:
        return False
    return found.closed(goal, outcome.bound)


def _is_disproved(goal: Goal, found: Found, outcome: Outcome) -> bool:
    """Return whether the plan in hand disproves a verdict of the solver on the whole problem.

    HiGHS (1.15.1) has been seen to lose the optimum in its presolve.
    """
    if found.value is None:
        return False
    if outcome.status == "infeasible" or outcome.bound is None:
        return outcome.status == "infeasible"
    return goal.disproves(found.value, outcome.bound)


def _relax(master: Master, goal: Goal, node: Node, found: Found) -> Outcome | None:
    """Cut on the linear relaxation first, which is cheap; None where that settles the node."""
    outcome = None
    for _ in range(RELAXED_ROUNDS):
        outcome = solve(master, goal, relaxed=True)
        if _ended(master, outcome, goal, node, found):
            return None
        if outcome.status == "limit":
            found.stopped = True
            return None
        if found.closed(goal, node.bound):
            return None
        if not outcome.values or not master.cut(outcome.values, 1e-4):
            break
    return outcome


def _begin(master: Master, goal: Goal, node: Node, relaxed: Outcome, found: Found) -> None:
    """Look for a first plan near the relaxation, and rule out what it shows to be worse."""
    begun = found.value is not None
    if (begun and master.probed) or node.bounds or not relaxed.values:
        return
    narrow_chords(master, goal)
    again = partial(solve, master, goal, relaxed=True)
    for operation in () if begun else guesses(master, relaxed.values, again):
        found.take(goal, operation)
    for operation in _every(master.build.case, found.operation):
        master.cut_at(relaxed.values, operation)
    probe(master, goal, found)


def _ended(master: Master, outcome: Outcome, goal: Goal, node: Node, found: Found) -> bool:
    """Take over the outcome's bound; say whether the node is empty or without end."""
    if outcome.status == "infeasible":
        node.bound = bound_of_none(master, goal, found)
        return True
    if outcome.status == "unbounded":
        found.unbounded = True
        return True
    if outcome.bound is not None:
        pick = min if goal.maximise else max
        node.bound = pick(node.bound, outcome.bound)
    return False


def _improve(master: Master, goal: Goal, outcome: Outcome, found: Found) -> bool:
    """Try the outcome's purchase, cut around it; say whether the model has changed."""
    bought = purchase.read(master.build, outcome.values)
    case = master.build.case
    broken = purchase.broken_rows(case, bought.units, bought.ways)
    added = master.price(purchase.sharing(case, bought.units), outcome.values)
    if broken:
        return added > 0 or (crowded(master, outcome) is None and _magnify(master, broken))
    mode = master.build.mode
    near = (case, mode, bought.units, bought.used, bought.gpus)
    proposed = operate.operate(*near, bought.ways)
    # Of uses of equal value the first one stays: the preferred one.
    flags = master.build.way_used.items()
    excluded = {way for way, flag in flags if master.original(flag)[1] < 0.5}
    candidates = [*operate.best_ways(*near, goal.prefer, bought.ways, excluded)]
    candidates += [proposed] if proposed is not None else []
    for operation in candidates:
        found.take(goal, operation)
    added += master.cut(
        outcome.values, max(LEAST_VIOLATION, goal.gap / 50 if not goal.relative else 0)
    )
    for operation in (*candidates, *_every(case, *candidates[:1])):
        added += master.cut_at(outcome.values, operation)
    return added > 0


def _every(case: Case, operation: Run | None = None) -> Iterator[Run]:
    """Yield an operation as it is best with each k alone, where checkpoints have a local level.

    Each k has tangents of its own: one without any near its best interval would be the next that
    the master believes in.
    """
    if operation is None or operation.mode != "local":
        return
    near = (operation.mode, operation.units, operation.used, operation.gpus, operation.ways)
    for one in case.by_every:
        at = operate.operate(one, *near)
        if at is not None:
            yield at


def _magnify(master: Master, broken: list[str]) -> bool:
    """Make the solver look at broken rows more closely; say whether it has not done so enough."""
    if master.magnified >= MOST_MAGNIFIED:
        return False
    master.tighten(broken)
    return True
