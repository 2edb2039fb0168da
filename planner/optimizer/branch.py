"""What a stage optimises and has found, and how what is still open is narrowed and divided."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from planner.case import Way
from planner.optimizer import purchase
from planner.optimizer.constraints.shrinking import UnitsChord
from planner.optimizer.context import Build
from planner.optimizer.master import Bounds, Master
from planner.optimizer.model import (
    OVERDRAWN,
    Chord,
    Linear,
    Variable,
    evaluate,
)
from planner.optimizer.objective import LOGARITHMIC
from planner.optimizer.operate import Run
from planner.optimizer.solver import Outcome
from planner.optimizer.tightening import Box

# What one stage of the search optimises, what it has found, and the parts still open.


MOST_PASSED = 1e-6


@dataclass(frozen=True)
class Goal:
    """What a stage optimises: on the model, on a feasible operation, and how exactly.

    ``value`` and ``expression`` are in the same scale. ``allowed`` says whether an operation meets
    every floor, those of earlier stages included; ``prefer`` orders uses of the same purchase.
    """

    name: str
    expression: Linear
    maximise: bool
    value: Callable[[Run], float]
    allowed: Callable[[Run], bool]
    prefer: Callable[[Run], float]
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
class Node:
    """A part of the search: narrowed bounds, and the bound proven so far.

    ``boxes`` hold all of its plans that are as good as the best; None where that is not known.
    ``counted``: it is what linear programs left open.
    """

    bound: float
    bounds: Bounds = field(default_factory=dict)
    boxes: list[Box] | None = None
    counted: bool = False


@dataclass
class Found:
    """Where a stage ended: the best operation, the proven bound, and whether it was stopped.

    ``untouched`` is the cheapest of the best, where the operation kept is another. ``parts`` are
    the parts that were settled, each with its bound, ``boxes`` of counts hold all plans as good as
    the best, None where that is not known. What is worse than ``least`` is not sought.
    """

    operation: Run | None = None
    value: float | None = None
    bound: float | None = None
    stopped: bool = False
    unbounded: bool = False
    untouched: Run | None = None
    parts: list[Node] = field(default_factory=list)
    boxes: list[Box] | None = None
    least: float | None = None

    def closed(self, goal: Goal, bound: float) -> bool:
        """Say whether ``bound`` leaves no more than the goal's gap, or nothing that is sought."""
        if self.least is not None and not goal.better(bound, self.least):
            return True
        if self.value is None:
            return False
        return goal.beyond(self.value, bound) <= goal.width(self.value)

    def asked(self, goal: Goal) -> float | None:
        """Return what a plan must reach to be sought, None where any plan is."""
        if self.value is None or self.least is None:
            return self.least if self.value is None else self.value
        return self.least if goal.better(self.least, self.value) else self.value

    def take(self, goal: Goal, operation: Run) -> None:
        """Keep an operation that the goal allows if it is better than the one kept."""
        if not goal.allowed(operation):
            return
        value = goal.value(operation)
        if self.value is None or goal.better(value, self.value):
            self.operation, self.value = operation, value


def solve(master: Master, goal: Goal, *, relaxed: bool, careful: bool = False) -> Outcome:
    """Solve the model as it stands, or its relaxation, as exactly as the goal asks."""
    gap, relative = goal.gap / 4.0, goal.relative
    return master.solve(relaxed=relaxed, gap=gap, relative=relative, careful=careful)


# Ruling out, by linear programs alone, what no plan worth having needs.


PROBE_MARGIN = 1e-4
AMOUNT_NOISE = 1e-3


def probe(master: Master, goal: Goal, found: Found) -> None:
    """Rule out GPU types and families whose relaxation is worse than the plan in hand, for good.

    Later stages keep this goal within the tolerance of ties, which ``PROBE_MARGIN`` exceeds by far.
    """
    if found.value is None or master.probed:
        return
    master.probed = True
    build = master.build
    case = build.case
    share = PROBE_MARGIN if master.final else max(PROBE_MARGIN, 2.0 * case.given_away)
    margin = share * max(1.0, abs(found.value))
    floor = found.value - margin if goal.maximise else found.value + margin
    master.row(f"worse_{goal.name}", goal.expression, ">=" if goal.maximise else "<=", floor)
    ways = (build.way_used[way.id] for s in case.systems if len(s.ways) > 1 for way in s.ways)
    for flag in (*build.type_used.values(), *ways, *build.serves.values()):
        low, high = master.original(flag)
        if low > 0.5 or high < 0.5:
            continue
        master.session.bounds(flag, 1.0, 1.0)
        outcome = solve(master, goal, relaxed=True)
        if outcome.status == "infeasible":
            master.exclude(flag)
        else:
            master.session.bounds(flag, low, high)
    narrow_chords(master, goal)
    if not master.counts_decide:
        _narrow_sizes(master, goal)


def _narrow_sizes(master: Master, goal: Goal) -> None:
    """Rule out sizes of fabrics that no plan close to the one in hand, or better, needs."""
    for steps in master.build.units.steps.values():
        least = end(master, goal, steps.amount, maximise=False)
        most = end(master, goal, steps.amount, maximise=True)
        for run, flag in steps.ramps:
            low, high = run.low + 1, run.high + run.steps * run.stride
            beyond = most is not None and low > most + AMOUNT_NOISE
            if beyond or (least is not None and high < least - AMOUNT_NOISE):
                master.exclude(flag)
    master.objective(goal.expression, goal.maximise)


def narrow_chords(master: Master, goal: Goal) -> None:
    """Bring the ends of chords closer together: then they fit better."""
    for chord in master.build.model.chords:
        least, most = chord.ends
        low = end(master, goal, least, maximise=False)
        high = end(master, goal, most, maximise=True)
        master.confine(chord.divided, low, high)
    tables = [chord for chord in master.build.model.chords if isinstance(chord, UnitsChord)]
    for table in tables[:1]:  # these are of the job, whatever it runs on
        fewest = end(master, goal, table.gpus + 0, maximise=False)
        master.confine(table.gpus, fewest, end(master, goal, table.gpus + 0, maximise=True))
        master.confine(table.longer, end(master, goal, table.longer + 0, maximise=False), None)
    master.narrow({})
    master.objective(goal.expression, goal.maximise)


def end(master: Master, goal: Goal, amount: Linear, *, maximise: bool) -> float | None:
    """Return the least or the most of an amount in the relaxation; None where not settled."""
    master.objective(amount, maximise)
    outcome = master.solve(relaxed=True, gap=goal.gap, relative=False)
    return outcome.bound if outcome.status == "optimal" else None


# Splitting a part of the search where tangents do not close the gap.


SPLIT_MARGIN = 0.4
INTERVAL_MARGIN = 0.1
LEAST_WIDTH = 1e-8
NOISE = 1e-5


def pretends(master: Master, outcome: Outcome) -> bool:
    """Return whether the master counts more GPUs in use than their logarithm allows."""
    build = master.build
    if "n" not in vars(build) or not _counts_n(build):
        return False
    asked = math.exp(evaluate(build.n, outcome.values))
    return asked < outcome.values[build.gpus.name] * (1 - 1e-9)


def _counts_n(build: Build) -> bool:
    """Say whether the GPUs in use matter by their logarithm: of a job that goes on with fewer
    replicas it is the logarithm of those that run that does, unless something asks for both."""
    case = build.case
    if build.log_running is None or case.job.fan_out != "broadcast":
        return True
    return case.job.scale is not None or case.limits["min_goodput"] is not None


def overdraws(master: Master, outcome: Outcome) -> list[Chord]:
    """Return the chords that allow the master more than their curves do, most of all first."""
    pairs = [(chord.overdrawn(outcome.values), chord) for chord in master.build.model.chords]
    beyond = [pair for pair in pairs if pair[0] > OVERDRAWN]
    return [chord for _, chord in sorted(beyond, key=lambda pair: -pair[0])]


def split_chord(master: Master, chord: Chord, node: Node, at: float, least: float) -> list[Node]:
    """Split a range where its chord pretends too much: it is exact at the ends, or at one count."""
    variable = chord.divided
    _, low, high = node.bounds.get(variable.name, (variable, *master.original(variable)))
    if chord.width(low, high) < LEAST_WIDTH:
        return []
    margin = least * (high - low)
    point = min(max(at, low + margin), high - margin)
    parts = [_part(master, node, variable, high=point), _part(master, node, variable, low=point)]
    return [part for part in parts if part is not None]


def split_table(
    master: Master, table: UnitsChord, node: Node, values: Mapping[str, float]
) -> list[Node]:
    """Split what a job that goes on with fewer replicas has: at its units, at those in use, or its
    intervals."""
    count, replicas = table.at(values)
    step = table.units.replica_gpus
    here = float(replicas * step)
    _, low, high = node.bounds.get(table.gpus.name, (table.gpus, *master.build.gpus_range))
    one_use = low > here - step and high < here + step
    if table.split_counts(values, lambda each: master.ends(each, node.bounds), alone=one_use):
        _, low, high = node.bounds.get(
            table.count.name, (table.count, *master.original(table.count))
        )
        ends = ((low, count - 1.0), (count, count), (count + 1.0, high))
        found = [_part(master, node, table.count, low=one, high=other) for one, other in ends]
        return [part for part in found if part is not None]
    if one_use:
        return _split_interval(master, table, node, values)
    return _parts_of_gpus(
        master, node, table.flag, ((low, here - step), (here, here), (here + step, high))
    )


def _split_interval(
    master: Master, table: UnitsChord, node: Node, values: Mapping[str, float]
) -> list[Node]:
    """Split the intervals of units and replicas that are known, near that of the solver."""
    low, high = master.ends(table.interval, node.bounds)
    if high - low < LEAST_WIDTH:
        return []
    margin = INTERVAL_MARGIN * (high - low)
    point = min(max(values[table.interval.name], low + margin), high - margin)
    ends = ((-math.inf, point), (point, math.inf))
    parts = [_part(master, node, table.interval, low=one, high=other) for one, other in ends]
    return [part for part in parts if part is not None]


def split(
    master: Master, goal: Goal, node: Node, outcome: Outcome, overdrawn: list[Chord]
) -> list[Node]:
    """Split shared racks where there are too few for the purchase and no prices say so; useful work
    or money where a chord pretends too much; else the GPUs in use."""
    crowd = crowded(master, outcome)
    if crowd is not None:
        return _split_racks(master, node, crowd)
    if overdrawn and isinstance(overdrawn[0], UnitsChord):
        return split_table(master, overdrawn[0], node, outcome.values)
    if overdrawn:
        at = outcome.values[overdrawn[0].divided.name]
        return split_chord(master, overdrawn[0], node, at, SPLIT_MARGIN)
    return _split_gpus(master, goal, node, outcome)


def crowded(master: Master, outcome: Outcome) -> tuple[int, ...] | None:
    """Return what shares racks where the master has fewer for its purchase than that takes."""
    build, shared = master.build, master.build.model.shared
    if shared is None:
        return None
    counts = purchase.sharing(build.case, purchase.read(build, outcome.values).units)
    racks = round(outcome.values[shared.racks.name])
    return counts if counts and shared.packing.least(counts) > racks else None


def _split_racks(master: Master, node: Node, counts: tuple[int, ...]) -> list[Node]:
    """Split into more racks, and fewer of some kind.

    Where even the best prices round up to fewer racks than so many devices take, all purchases with
    as many take as many racks: those with less of some kind are the other parts.
    """
    shared = master.build.model.shared
    assert shared is not None
    packing, least = shared.packing, shared.packing.least(counts)
    for kind in range(len(counts)):
        while counts[kind] and packing.least(_one_less(counts, kind)) == least:
            counts = _one_less(counts, kind)
    if counts in packing.open:
        return []
    parts = [_part(master, node, shared.racks, low=float(least))]
    kinds = [(kind, count) for kind, count in zip(shared.kinds, counts, strict=True) if count]
    parts += [_part(master, node, kind, high=count - 1.0) for kind, count in kinds]
    return [part for part in parts if part is not None]


def _part(
    master: Master,
    node: Node,
    variable: Variable,
    *,
    low: float = -math.inf,
    high: float = math.inf,
) -> Node | None:
    """Return the part of a node in which a variable stays within closer bounds."""
    _, least, most = node.bounds.get(variable.name, (variable, *master.original(variable)))
    least, most = max(least, low), min(most, high)
    if least > most:
        return None
    return Node(node.bound, {**node.bounds, variable.name: (variable, least, most)})


def _one_less(counts: tuple[int, ...], kind: int) -> tuple[int, ...]:
    return (*counts[:kind], counts[kind] - 1, *counts[kind + 1 :])


def _split_gpus(master: Master, goal: Goal, node: Node, outcome: Outcome) -> list[Node]:
    """Split the GPUs in use between what their logarithm asks for and what their number is.

    GPUs in use come in steps: those of the type in use, or the greatest common part of all types.
    With one type the split is of its way in use only, and a third part holds all other ways.
    """
    build, values = master.build, outcome.values
    if "n" not in vars(build):
        return []
    asked, now = math.exp(evaluate(build.n, values)), values[build.gpus.name]
    if not pretends(master, outcome):
        return []
    ways = [way for way in build.case.ways if values[build.way_used[way.id].name] > 0.5]
    single = ways[0] if len(ways) == 1 and build.case.job.max_types == 1 else None
    step = _step(build, single)
    _, low, high = node.bounds.get(build.gpus.name, (build.gpus, *build.gpus_range))
    # More GPUs than asked for hurt: that point decides. Where it is only the end of the range, or
    # what a floor asks for, halve instead.
    inside = goal.name in LOGARITHMIC and asked >= low + step
    point = asked if inside else math.sqrt(asked * now)
    below = min(math.floor(point / step + 1e-9), round(now / step) - 1) * step
    flag = None if single is None else build.way_used[single.id]
    return _parts_of_gpus(master, node, flag, ((low, float(below)), (float(below + step), high)))


def _parts_of_gpus(
    master: Master, node: Node, flag: Variable | None, ends: Iterable[tuple[float, float]]
) -> list[Node]:
    """Return the parts of a node with ranges of GPUs in use, of one way: a last part has all other
    ways."""
    build, children = master.build, []
    flags: Bounds = {}
    if flag is not None:
        flags = {flag.name: (flag, 1.0, 1.0)}
        if node.bounds.get(flag.name, (flag, 0.0, 1.0))[1] < 1.0:
            children.append(Node(node.bound, {**node.bounds, flag.name: (flag, 0.0, 0.0)}))
    for least, most in ends:
        if 0 < least <= most:
            bounds: Bounds = {build.gpus.name: (build.gpus, least, most)}
            if "n" in vars(build):
                bounds[build.n.name] = (build.n, math.log(least), math.log(most))
            children.append(Node(node.bound, {**node.bounds, **flags, **bounds}))
    return children


def split_counts(master: Master, node: Node, values: Mapping[str, float]) -> list[Node]:
    """Split a count that is still open in a node: at its value, below and beyond.

    It always can, until every count is settled; then there are no parts, and the purchase is one
    whose worth is known without the model.

    Args:
        values: the solver's, none where it gave none: then a range is halved.
    """
    build = master.build
    for variable in (*build.used.values(), *build.systems_of.values(), *build.counts.values()):
        name = variable.name
        _, low, high = node.bounds.get(name, (variable, *master.original(variable)))
        low, high = math.ceil(low - NOISE), math.floor(high + NOISE)
        if low >= high:
            continue
        here = round(values[name]) if name in values else (low + high) // 2
        here = min(max(here, low), high)
        ranges = ((low, here - 1), (here, here), (here + 1, high))
        return [
            Node(node.bound, {**node.bounds, name: (variable, float(least), float(most))})
            for least, most in ranges
            if least <= most
        ]
    return []


def _step(build: Build, single: Way | None) -> int:
    return math.gcd(*(way.step_gpus for way in ([single] if single else build.case.ways)))
