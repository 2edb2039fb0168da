"""Plans nearly as good as the best that differ from it as much as possible.

Every direction is searched: other vendors and types, and the extremes of what a plan comes to, with
the objective kept within the tolerance. Of what is found those that differ most are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import get_args

from planner.api import Options, solve_with
from planner.assemble import assemble
from planner.assemble.rivals import with_options
from planner.case import Case, resolve
from planner.case.model import CountName
from planner.errors import InputError
from planner.inputs import Change, Inputs
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Certificate, optimise, share
from planner.schema.comparison import Alternative, Alternatives, Direction, DirectionName, Way
from planner.schema.plan import Plan
from planner.schema.problem import Objective
from planner.studies.changes import apply, no_worse, storage_of, systems_of
from planner.studies.explain import QUESTION_WORK
from planner.studies.pool import Progress, ignore
from planner.studies.request import Found, Request
from planner.verifier import verify

LABELS: dict[DirectionName, str] = {
    "storage_vendor": "another storage vendor",
    "gpu_type": "another GPU system",
    "least_capex": "least capex",
    "least_tco": "least TCO",
    "least_power": "least power",
    "fewest_storage": "fewest storage units",
    "most_storage": "most storage units",
    "fewest_systems": "fewest GPU systems",
    "most_systems": "most GPU systems in use",
}
FLOOR_MARGIN = 2e-7
"""Floors are asked for a little tighter, because plans may miss them by less."""


@dataclass(frozen=True)
class Extreme:
    """The extreme plan of one direction: the changes of the problem, and the count that is least.

    ``count`` is None where the changed problem says by itself what is to be least.
    """

    name: DirectionName
    changes: tuple[Change, ...]
    count: CountName | None = None

    def case(self, inputs: Inputs) -> Case:
        """Return the case of the direction.

        Raises:
            InputError: the changed problem demands what cannot be planned.
        """
        case = resolve(apply(inputs, self.changes))
        if self.count is None:
            return case
        policy = replace(case.policy, within=0.0, disliked=())
        return replace(case, objective=self.count, indifference=0.0, policy=policy)


def extremes(inputs: Inputs, case: Case, worst: float) -> Iterator[Extreme]:
    """Yield every direction that leads to an extreme plan of the problem.

    Args:
        worst: the worst value of its objective that will do.
    """
    floor = no_worse(inputs, case.objective, worst, FLOOR_MARGIN)
    money: tuple[tuple[DirectionName, str, str], ...] = (
        ("least_capex", "cost", "{minimize: cost}"),
        ("least_tco", "tco", "{minimize: tco}"),
        ("least_power", "power", "{minimize: power, indifference: 0}"),
    )
    for name, objective, text in money:
        if objective == case.objective or (objective == "tco" and inputs.problem.term is None):
            continue
        least = Objective.model_validate({"minimize": objective, "indifference": 0})
        yield Extreme(name, (floor, Change("objective", least, text)))
    for count in get_args(CountName):
        yield Extreme(count, (floor,), count)


@dataclass
class Candidate:
    """A plan within the tolerance and the ways that led to it."""

    operation: Run
    ways: list[Way]
    distance: float = 0.0


def distance(case: Case, one: Run, other: Run) -> float:
    """Return how different two plans are, from 0 to 4.

    The share of storage vendors and of GPU types they do not have in common, and the relative
    differences in the number of storage units and of GPU systems.
    """
    storage, systems = case.storage, case.systems
    vendors = ({item.vendor for item in storage if run.units[item.id]} for run in (one, other))
    types = ({system.id for system in systems if run.units[system.id]} for run in (one, other))
    units = (sum(run.units[item.id] for item in storage) for run in (one, other))
    counts = (sum(run.units[system.id] for system in systems) for run in (one, other))
    return _unlike(*vendors) + _unlike(*types) + _relative(*units) + _relative(*counts)


def _unlike(one: set[str], other: set[str]) -> float:
    return 1.0 - len(one & other) / len(one | other) if one | other else 0.0


def _relative(one: int, other: int) -> float:
    return abs(one - other) / max(one, other, 1)


def merge_equal(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates with equal purchases and GPUs in use made one."""
    kept: dict[tuple[object, ...], Candidate] = {}
    for candidate in candidates:
        run = candidate.operation
        key = (*sorted(run.units.items()), run.gpus, run.mode)
        if key in kept:
            kept[key].ways += candidate.ways
        else:
            kept[key] = candidate
    return list(kept.values())


def most_different(case: Case, candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """Return so many candidates, the first first: each next is farthest from those before it."""
    rest = list(candidates)
    chosen = [rest.pop(0)] if rest else []
    while rest and len(chosen) < most:
        for candidate in rest:
            candidate.distance = min(
                distance(case, candidate.operation, other.operation) for other in chosen
            )
        best = max(rest, key=lambda candidate: candidate.distance)  # of equals the first
        rest.remove(best)
        chosen.append(best)
    return chosen


FLOOR_NOISE = 1e-9


@dataclass
class Search:
    """The search for plans near the best: the problem, its bound, and what was found so far."""

    inputs: Inputs
    options: Options
    bound: float
    within: float
    progress: Progress = ignore
    candidates: list[Candidate] = field(default_factory=list)
    directions: list[Direction] = field(default_factory=list)
    asked: int = 0

    @cached_property
    def case(self) -> Case:
        """The problem in numbers."""
        return resolve(self.inputs)

    @property
    def worst(self) -> float:
        """The worst value of the objective within the tolerance."""
        share = -self.within if self.case.maximise else self.within
        return self.bound * (1.0 + share)

    def shortfall(self, value: float) -> float:
        """Return how far behind the bound a value is, as a share of the bound."""
        behind = self.bound - value if self.case.maximise else value - self.bound
        return max(0.0, behind) / max(abs(self.bound), 1e-12)

    def value(self, operation: Run) -> float:
        """Return what a plan is worth in the problem's own objective."""
        name = self.case.objective
        return natural(name, measure(self.case, name)(operation))

    def run(self, held: Run) -> None:
        """Look in every direction."""
        vendors = {item.vendor for item in self.case.flash}
        here = {item.vendor for item in self.case.flash if held.units[item.id]}
        others = vendors - here
        types = {system.id for system in self.case.systems if not held.units[system.id]}
        ends = [*extremes(self.inputs, self.case, self.worst)]
        self.asked = len(others) + len(types) + len(ends)
        self._others("storage_vendor", others, self._vendors_in, self._storage)
        self.progress(len(others), self.asked)
        self._others("gpu_type", types, self._types_in, systems_of)
        for place, extreme in enumerate(ends, len(others) + len(types)):
            self.progress(place, self.asked)
            self._extreme(extreme)
        self.progress(self.asked, self.asked)

    def _storage(self, vendors: Collection[str]) -> tuple[Change, ...]:
        return storage_of(self.case, vendors)

    def _vendors_in(self, operation: Run) -> dict[str, str]:
        return {i.vendor: i.vendor for i in self.case.flash if operation.units[i.id]}

    def _types_in(self, operation: Run) -> dict[str, str]:
        models = {item.id: item.model for item in self.inputs.items}
        return {s.id: models[s.id] for s in self.case.systems if operation.units[s.id]}

    def _others(
        self,
        name: DirectionName,
        left: set[str],
        names_in: Callable[[Run], dict[str, str]],
        only: Callable[[Collection[str]], tuple[Change, ...]],
    ) -> None:
        """Take the best plan without what earlier plans hold, as long as it is good enough."""
        while left:
            changes = only(left)
            operation, ended = self._best(name, changes)
            if operation is None:
                self.directions.append(ended)
                return
            named = names_in(operation)
            detail = ", ".join(named.values())
            self.directions.append(ended.model_copy(update={"detail": detail}))
            if ended.ended != "within":
                return
            used = only(set(named))
            self._keep(operation, name, detail, tuple(change.setting for change in used))
            left = left - set(named)

    def _best(self, name: DirectionName, changes: Sequence[Change]) -> tuple[Run | None, Direction]:
        """Return the best plan of a changed problem, and how it stands."""
        direction = Direction(name=name, label=LABELS[name], ended="no_plan")
        try:
            case = resolve(apply(self.inputs, changes))
        except InputError:
            return None, direction
        proof = self._solve(case, ties=False)
        if proof.operation is None or proof.value is None or proof.bound is None:
            ended = "no_plan" if proof.status == "infeasible" else "not_found"
            return None, direction.model_copy(update={"ended": ended})
        value, bound = (natural(case.objective, v) for v in (proof.value, proof.bound))
        outcome = direction.model_copy(
            update={
                "shortfall": self.shortfall(value),
                "at_least": self.shortfall(bound),
                "proven": proof.status == "optimal",
            }
        )
        if self.shortfall(value) > self.within:
            return self._whole(proof.operation), outcome.model_copy(update={"ended": "beyond"})
        settled = self._solve(case, ties=True).operation or proof.operation
        if not self._good_enough(settled):  # what ties may give away goes beyond the tolerance
            settled = proof.operation
        whole = self._whole(settled)
        update = {"ended": "within", "shortfall": self.shortfall(self.value(whole))}
        return whole, outcome.model_copy(update=update)

    def _extreme(self, extreme: Extreme) -> None:
        """Take the extreme plan of a direction."""
        direction = Direction(name=extreme.name, label=LABELS[extreme.name], ended="not_found")
        try:
            answer = self._solve(extreme.case(self.inputs), ties=True)
        except InputError:
            self.directions.append(direction)
            return
        if answer.operation is None or not self._good_enough(answer.operation):
            self.directions.append(direction)
            return
        settings = None
        if extreme.count is None:
            settings = tuple(change.setting for change in extreme.changes)
        shortfall = self.shortfall(self.value(self._whole(answer.operation)))
        proven = answer.status == "optimal"
        found = direction.model_copy(
            update={"ended": "within", "shortfall": shortfall, "proven": proven}
        )
        self.directions.append(found)
        self._keep(answer.operation, extreme.name, "", settings)

    def _good_enough(self, operation: Run) -> bool:
        return self.shortfall(self.value(self._whole(operation))) <= self.within + FLOOR_NOISE

    def _keep(
        self,
        operation: Run,
        name: DirectionName,
        detail: str,
        setting: tuple[str, ...] | None,
    ) -> None:
        way = Way(name=name, label=LABELS[name], detail=detail, setting=setting)
        self.candidates.append(Candidate(self._whole(operation), [way]))

    def _whole(self, operation: Run) -> Run:
        """Return an operation of a case with fewer offers as one of the problem."""
        units = {offer.id: operation.units.get(offer.id, 0) for offer in self.case.offers()}
        return replace(operation, units=units)

    def _solve(self, case: Case, *, ties: bool) -> Certificate:
        return optimise(
            case,
            gap=self.options.gap,
            effort=self.options.effort.part(QUESTION_WORK),
            ties=ties,
        )


__all__ = ["alternatives"]

FOR_THE_PLAN = 0.5
"""The share of a time limit that finding the best plan may take; the rest is for the others."""
UNPROVEN = "the search ended before anything was proven about how good a plan can be"


def alternatives(
    inputs: Inputs,
    options: Options,
    *,
    within: float = 0.01,
    most: int = 8,
    progress: Progress = ignore,
) -> Alternatives:
    """Return the best plan and plans nearly as good that differ from it.

    Each is a plan of the same problem, verified like any other, and certified: it lies no further
    than ``within`` behind what no plan passes. Looked for are the best plans with other storage
    vendors and GPU types, the extremes in money, power and counts; of those found, the ones that
    differ most are returned.

    Args:
        within: how far behind the best a plan may be, as a share of the objective.
        most: how many plans to return, the best one included.
        progress: is progress how many directions of how many were looked in.

    Raises:
        VerificationError: a plan does not agree with its independent re-computation.
    """
    options = options.started()
    case = resolve(inputs)
    effort = options.part(FOR_THE_PLAN).effort
    answer = optimise(case, gap=options.gap, effort=effort)
    if answer.operation is None:
        return _without_plan(inputs, case, within, solve_with(inputs, options))
    best = assemble(inputs, case, answer, solver=options.solver, gap=options.gap)
    check = partial(verify, inputs)
    best = with_options(inputs, case, answer, best, solver=options.solver, check=check)
    verify(inputs, best)
    base = _head(inputs, case, within, best)
    if answer.bound is None:
        return base.model_copy(update={"message": UNPROVEN})
    search = Search(inputs, options, natural(case.objective, answer.bound), within, progress)
    search.candidates.append(Candidate(answer.operation, [Way(name="best", label="the best plan")]))
    search.run(answer.operation)
    different = merge_equal(search.candidates)
    shown = most_different(case, different, most)
    rest = [_alternative(search, answer, candidate, options) for candidate in shown[1:]]
    first = Alternative(
        ways=tuple(shown[0].ways),
        plan=best,
        value=search.value(answer.operation),
        shortfall=search.shortfall(search.value(answer.operation)),
        distance=0.0,
    )
    return base.model_copy(
        update={
            "bound": search.bound,
            "worst": search.worst,
            "alternatives": (first, *rest),
            "directions": tuple(search.directions),
            "found": len(different),
        }
    )


def _head(inputs: Inputs, case: Case, within: float, plan: Plan) -> Alternatives:
    """Return the answer without plans."""
    return Alternatives(
        currency=plan.currency,
        problem=plan.problem,
        problem_file=inputs.problem_file,
        scenario=inputs.scenario,
        overrides=inputs.overrides,
        status=plan.status,
        objective=case.objective,
        sense="maximize" if case.maximise else "minimize",
        unit=plan.objective.unit,
        within=within,
    )


def _without_plan(inputs: Inputs, case: Case, within: float, plan: Plan) -> Alternatives:
    return _head(inputs, case, within, plan).model_copy(update={"message": plan.message})


def _alternative(
    search: Search, best: Certificate, candidate: Candidate, options: Options
) -> Alternative:
    """Return a candidate as a complete plan under the bound of the best, verified."""
    plan = _plan(search, best, candidate.operation, options)
    value = search.value(candidate.operation)
    return Alternative(
        ways=tuple(candidate.ways),
        plan=plan,
        value=value,
        shortfall=search.shortfall(value),
        distance=candidate.distance,
    )


def _plan(search: Search, best: Certificate, operation: Run, options: Options) -> Plan:
    case = search.case
    assert best.bound is not None
    value = measure(case, case.objective)(operation)
    pick = max if case.maximise else min
    bound = pick(best.bound, value)
    gap = share(case, value, bound)
    # The tolerance is a share of the bound, a gap one of the value.
    asked = max(gap, search.within / (1.0 - search.within))
    proven = Certificate(
        "optimal", operation, value, bound, gap, best.iterations, best.seconds, best.late
    )
    plan = assemble(search.inputs, case, proven, solver=options.solver, gap=asked)
    verify(search.inputs, plan)
    return plan


def run(request: Request, *, within: float, most: int) -> Found:
    """Find plans of a problem that are nearly as good as the best and differ from it.

    Args:
        within: how far behind the best a plan may be, as a share of the objective.
        most: how many plans to show.

    Raises:
        InputError: the problem is wrong.
    """
    options = request.running()
    found = alternatives(
        request.inputs, options, within=within, most=most, progress=request.progress
    )
    best = found.alternatives[0].plan if found.alternatives else None
    return Found((found,), (found.status,), plan=None if best is None else lambda: best)


NEAR, SEVERAL = 0.01, 8
"""How far behind the best, and how many, where a plan's workbook has them."""


def beside(inputs: Inputs, plan: Plan, options: Options) -> Alternatives | None:
    """Return the plans near a problem's best one, for its workbook; None where there is none."""
    found = alternatives(inputs, options, within=NEAR, most=SEVERAL)
    return found if found.alternatives else None
