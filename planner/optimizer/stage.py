"""One objective over the master problem, to a proven gap: outer approximation with branching on N.

The master's bound is true because it only ever relaxes; each of its purchases, run as well as it
can be, is a feasible plan. Tangents at both points bring the two together. Where they do not meet
although every link holds, more GPUs would hurt and the whole number of systems in use lies between
two neighbours: then the GPUs in use are split there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from planner.case import System
from planner.errors import SolverError
from planner.optimizer import operate, purchase
from planner.optimizer.context import Build
from planner.optimizer.guess import guesses
from planner.optimizer.master import Bounds, Master
from planner.optimizer.model import Linear, Ratio, evaluate
from planner.optimizer.objective import LOGARITHMIC
from planner.optimizer.operate import Operation
from planner.optimizer.solver import Outcome

MOST_ROUNDS = 200
RELAXED_ROUNDS = 12
LEAST_VIOLATION = 2e-8
PROBE_MARGIN = 1e-4
MOST_PRETENDED = 3
MOST_MAGNIFIED = 3
MOST_PASSED = 1e-6
AMOUNT_NOISE = 1e-3
SPLIT_MARGIN = 0.4
LEAST_WIDTH = 1e-8


@dataclass(frozen=True)
class Goal:
    """What a stage optimises: on the model, on a feasible operation, and how exactly.

    ``value`` and ``expression`` are in the same scale. ``allowed`` says whether an operation meets
    every floor, those of earlier stages included; ``prefer`` orders uses of the same purchase.
    """

    name: str
    expression: Linear
    maximise: bool
    value: Callable[[Operation], float]
    allowed: Callable[[Operation], bool]
    prefer: Callable[[Operation], float]
    gap: float
    relative: bool

    def width(self, value: float) -> float:
        """Return the absolute gap allowed at ``value``."""
        return self.gap * max(abs(value), 1e-9) if self.relative else self.gap

    def better(self, one: float, other: float) -> bool:
        """Say whether ``one`` is better than ``other``."""
        return one > other if self.maximise else one < other

    def beyond(self, value: float, bound: float) -> float:
        """Return how much better than ``value`` a bound is; less than 0 where it is passed."""
        return bound - value if self.maximise else value - bound

    def disproves(self, value: float, bound: float) -> bool:
        """Say whether a plan's value passes a bound by more than the solver's tolerance."""
        return -self.beyond(value, bound) > MOST_PASSED * max(1.0, abs(value))


@dataclass
class Found:
    """Where a stage ended: the best operation, the proven bound, and whether it was stopped."""

    operation: Operation | None = None
    value: float | None = None
    bound: float | None = None
    stopped: bool = False
    unbounded: bool = False

    def closed(self, goal: Goal, bound: float) -> bool:
        """Say whether ``bound`` leaves no more than the goal's gap."""
        if self.value is None:
            return False
        return goal.beyond(self.value, bound) <= goal.width(self.value)

    def take(self, goal: Goal, operation: Operation) -> None:
        """Keep an operation that the goal allows if it is better than the one kept."""
        if not goal.allowed(operation):
            return
        value = goal.value(operation)
        if self.value is None or goal.better(value, self.value):
            self.operation, self.value = operation, value


@dataclass
class Node:
    """A part of the search: narrowed bounds, and the bound proven so far."""

    bound: float
    bounds: Bounds = field(default_factory=dict)


def run(master: Master, goal: Goal, start: Operation | None = None) -> Found:
    """Return the best operation of ``goal`` with a proven bound.

    Args:
        master: the model; keeps the tangents that are added.
        goal: what to optimise.
        start: a feasible operation to begin with.
    """
    master.objective(goal.expression, goal.maximise)
    found = Found()
    if start is not None:
        found.take(goal, start)
    worst = math.inf if goal.maximise else -math.inf
    nodes, settled = [Node(worst)], []
    while nodes and not found.stopped and not found.unbounded:
        nodes.sort(key=lambda node: node.bound if goal.maximise else -node.bound)
        node = nodes.pop()
        if found.closed(goal, node.bound):
            settled.append(node.bound)
            continue
        master.narrow(node.bounds)
        children = _explore(master, goal, node, found, begun=start is None)
        if found.stopped or not children:
            settled.append(node.bound)
        nodes += children
    master.narrow({})
    open_bounds = [b for b in [*settled, *(node.bound for node in nodes)] if math.isfinite(b)]
    if start is None:
        _require_true(goal, found, open_bounds)
    found.bound = _overall(goal, found, open_bounds)
    return found


def _require_true(goal: Goal, found: Found, bounds: list[float]) -> None:
    """Refuse a bound that the plan itself passes by more than the solver's tolerance."""
    if found.value is None or not bounds:
        return
    bound = max(bounds) if goal.maximise else min(bounds)
    if goal.disproves(found.value, bound):
        raise SolverError(f"the plan's {goal.name} {found.value:.9g} passes its bound {bound:.9g}")


def _overall(goal: Goal, found: Found, bounds: list[float]) -> float | None:
    """Return the bound over all parts; parts proven empty or worse than the plan count as it."""
    if found.value is not None:
        bounds = [*bounds, found.value]
    if not bounds:
        return None
    return max(bounds) if goal.maximise else min(bounds)


def _explore(master: Master, goal: Goal, node: Node, found: Found, *, begun: bool) -> list[Node]:
    """Work on one node until it is closed, empty (bound set beyond reach) or must be split."""
    relaxed = _relax(master, goal, node, found)
    if relaxed is None:
        return []
    _begin(master, goal, node, relaxed, found)
    pretended = 0
    for _ in range(MOST_ROUNDS):
        outcome = _solve_whole(master, goal, node, found, begun)
        if _ended(outcome, goal, node, found):
            return []
        moved = bool(outcome.values) and _improve(master, goal, outcome, found)
        if outcome.status == "limit" or not outcome.values:
            found.stopped = True
            return []
        if found.closed(goal, node.bound):
            return []
        if not node.bounds:
            _probe(master, goal, found)
        overdrawn = [r for r in master.build.model.ratios if r.overdrawn(outcome.values)]
        pretended += _pretends(master, outcome) or bool(overdrawn)
        # Tangents cannot keep the master from counting GPUs it does not pay for; a split can.
        if pretended >= MOST_PRETENDED or not moved:
            children = _split(master, goal, node, outcome, overdrawn)
            if children or not moved:
                return children
    found.stopped = True
    return []


def _solve(master: Master, goal: Goal, *, relaxed: bool, careful: bool = False) -> Outcome:
    gap, relative = goal.gap / 4.0, goal.relative
    return master.solve(relaxed=relaxed, gap=gap, relative=relative, careful=careful)


def _solve_whole(master: Master, goal: Goal, node: Node, found: Found, begun: bool) -> Outcome:
    """Solve in whole numbers; a verdict that the plan in hand disproves is asked for again.

    Raises:
        SolverError: it stands. Only asked where the search begins: what ties with earlier stages
            may do so more closely than the solver sees.
    """
    outcome = _solve(master, goal, relaxed=False)
    if node.bounds or not _belies(goal, found, outcome):
        return outcome
    outcome = _solve(master, goal, relaxed=False, careful=True)
    if begun and _belies(goal, found, outcome):
        raise SolverError(f"the solver rules out a plan that exists ({goal.name})")
    return outcome


def _belies(goal: Goal, found: Found, outcome: Outcome) -> bool:
    """Say whether a solver's verdict on the whole problem is one that the plan in hand disproves.

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
        outcome = _solve(master, goal, relaxed=True)
        if _ended(outcome, goal, node, found):
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
    if found.value is not None or node.bounds or not relaxed.values:
        return
    _narrow_ratios(master, goal)
    solve = partial(_solve, master, goal, relaxed=True)
    for operation in guesses(master, relaxed.values, solve):
        found.take(goal, operation)
    _probe(master, goal, found)


def _ended(outcome: Outcome, goal: Goal, node: Node, found: Found) -> bool:
    """Take over the outcome's bound; say whether the node is empty or without end."""
    if outcome.status == "infeasible":
        node.bound = -math.inf if goal.maximise else math.inf
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
    broken = purchase.broken_rows(case, bought.units)
    if broken and master.magnified < MOST_MAGNIFIED:
        master.tighten(broken)
        return True
    if broken:
        return False
    mode = master.build.mode
    proposed = operate.operate(case, mode, bought.units, bought.used, bought.gpus)
    best = operate.best(case, mode, bought.units, bought.used, bought.gpus, goal.prefer)
    # Of uses of equal value the first one stays: the preferred one.
    candidates = [operation for operation in (best, proposed) if operation is not None]
    for operation in candidates:
        found.take(goal, operation)
    added = master.cut(
        outcome.values, max(LEAST_VIOLATION, goal.gap / 50 if not goal.relative else 0)
    )
    for operation in candidates:
        added += master.cut_at(outcome.values, operation)
    return added > 0


def _pretends(master: Master, outcome: Outcome) -> bool:
    """Say whether the master counts GPUs in use whose logarithm it does not pay for."""
    build = master.build
    if "n" not in vars(build):
        return False
    asked = math.exp(evaluate(build.n, outcome.values))
    return asked < outcome.values[build.gpus.name] * (1 - 1e-9)


def _probe(master: Master, goal: Goal, found: Found) -> None:
    """Rule out GPU types and families whose relaxation is worse than the plan in hand, for good.

    Later stages keep this goal within the tolerance of ties, which ``PROBE_MARGIN`` exceeds by far.
    """
    if found.value is None or master.probed:
        return
    master.probed = True
    build = master.build
    case = build.case
    share = max(PROBE_MARGIN, 2.0 * case.given_away)
    margin = share * max(1.0, abs(found.value))
    floor = found.value - margin if goal.maximise else found.value + margin
    master.row(f"worse_{goal.name}", goal.expression, ">=" if goal.maximise else "<=", floor)
    for flag in (*build.type_used.values(), *build.serves.values()):
        low, high = master.original(flag)
        if low > 0.5 or high < 0.5:
            continue
        master.session.bounds(flag, 1.0, 1.0)
        outcome = _solve(master, goal, relaxed=True)
        if outcome.status == "infeasible":
            master.exclude(flag)
        else:
            master.session.bounds(flag, low, high)
    _narrow_ratios(master, goal)
    _narrow_sizes(master, goal)


def _narrow_sizes(master: Master, goal: Goal) -> None:
    """Rule out sizes of fabrics that no plan close to the one in hand, or better, needs."""
    for steps in master.build.units.steps.values():
        least = _end(master, goal, steps.amount, maximise=False)
        most = _end(master, goal, steps.amount, maximise=True)
        for run, flag in steps.runs:
            low, high = run.low + 1, run.high + run.steps * run.stride
            beyond = most is not None and low > most + AMOUNT_NOISE
            if beyond or (least is not None and high < least - AMOUNT_NOISE):
                master.exclude(flag)
    master.objective(goal.expression, goal.maximise)


def _narrow_ratios(master: Master, goal: Goal) -> None:
    """Bring the ends of useful work together where money is limited per work: chords fit better."""
    for ratio in master.build.model.ratios:
        least = _end(master, goal, ratio.work, maximise=False)
        most = _end(master, goal, ratio.log + 0, maximise=True)
        master.confine(ratio.log, least, most)
    master.narrow({})
    master.objective(goal.expression, goal.maximise)


def _end(master: Master, goal: Goal, amount: Linear, *, maximise: bool) -> float | None:
    """Return the least or the most of an amount in the relaxation; None where not settled."""
    master.objective(amount, maximise)
    outcome = master.solve(relaxed=True, gap=goal.gap, relative=False)
    return outcome.bound if outcome.status == "optimal" else None


def _split_ratio(master: Master, ratio: Ratio, node: Node, outcome: Outcome) -> list[Node]:
    """Split useful work where the chord pretends too much: it is exact at the ends."""
    name, log = ratio.log.name, ratio.log
    _, low, high = node.bounds.get(name, (log, *master.original(log)))
    if high - low < LEAST_WIDTH:
        return []
    margin = SPLIT_MARGIN * (high - low)
    point = min(max(outcome.values[name], low + margin), high - margin)
    parts: list[Bounds] = [{name: (log, low, point)}, {name: (log, point, high)}]
    return [Node(node.bound, {**node.bounds, **part}) for part in parts]


def _split(
    master: Master, goal: Goal, node: Node, outcome: Outcome, overdrawn: list[Ratio]
) -> list[Node]:
    """Split useful work where money per work is overdrawn, else the GPUs in use."""
    if overdrawn:
        return _split_ratio(master, overdrawn[0], node, outcome)
    return _split_gpus(master, goal, node, outcome)


def _split_gpus(master: Master, goal: Goal, node: Node, outcome: Outcome) -> list[Node]:
    """Split the GPUs in use between what their logarithm asks for and what their number is.

    GPUs in use come in steps: those of the type in use, or the greatest common part of all types.
    With one type the split is of that type only, and a third part holds the other types.
    """
    build, values = master.build, outcome.values
    if "n" not in vars(build):
        return []
    asked, now = math.exp(evaluate(build.n, values)), values[build.gpus.name]
    if not _pretends(master, outcome):
        return []
    types = [s for s in build.case.systems if values[build.type_used[s.id].name] > 0.5]
    single = types[0] if len(types) == 1 and build.case.job.max_types == 1 else None
    step = _step(build, single)
    _, low, high = node.bounds.get(build.gpus.name, (build.gpus, *build.gpus_range))
    # More GPUs than asked for hurt: that point decides. Where it is only the end of the range, or
    # what a floor asks for, halve instead.
    inside = goal.name in LOGARITHMIC and asked >= low + step
    point = asked if inside else math.sqrt(asked * now)
    below = min(math.floor(point / step + 1e-9), round(now / step) - 1) * step
    flags: Bounds = {}
    children = []
    if single is not None:
        flag = build.type_used[single.id]
        flags = {flag.name: (flag, 1.0, 1.0)}
        if node.bounds.get(flag.name, (flag, 0.0, 1.0))[1] < 1.0:
            children.append(Node(node.bound, {**node.bounds, flag.name: (flag, 0.0, 0.0)}))
    for least, most in ((low, float(below)), (float(below + step), high)):
        if 0 < least <= most:
            bounds: Bounds = {
                build.gpus.name: (build.gpus, least, most),
                build.n.name: (build.n, math.log(least), math.log(most)),
            }
            children.append(Node(node.bound, {**node.bounds, **flags, **bounds}))
    return children


def _step(build: Build, single: System | None) -> int:
    job = build.case.job
    if job.whole_replicas and job.replica_gpus is not None:
        return job.replica_gpus
    return single.gpus if single else math.gcd(*(system.gpus for system in build.case.systems))
