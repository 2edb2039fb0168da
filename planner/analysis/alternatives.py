"""Plans nearly as good as the best that differ from it as much as possible.

Searched for: other storage vendors and GPU types, and the extremes of money, power and counts, with
the objective within the tolerance. Of the plans found those that differ most are returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, get_args

from planner.analysis.pool import Progress, ignore
from planner.analysis.request import Request
from planner.analysis.variants import (
    FOR_THE_PLAN,
    Best,
    Variants,
    no_worse,
    storage_of,
    systems_of,
    value_of,
)
from planner.api import Options, solve_with
from planner.case import Case, resolve
from planner.case.model import CountName
from planner.inputs import Change, Inputs
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Certificate, optimise, share
from planner.plan import assemble
from planner.schema.analysis import Alternative, Alternatives, Direction, DirectionName, Way
from planner.schema.plan import Plan
from planner.schema.problem import Objective
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
SEVERAL = 8
"""Plans returned, where nothing else is asked for."""
FLOOR_MARGIN, FLOOR_NOISE = 2e-7, 1e-9
"""Relative tightening of floors, which plans may miss by less; and how far plans may miss them."""
UNPROVEN = "the search ended before anything was proven about how good a plan can be"


def alternatives(
    inputs: Inputs,
    options: Options,
    *,
    within: float = 0.01,
    most: int = SEVERAL,
    progress: Progress = ignore,
) -> Alternatives:
    """The best plan and plans nearly as good that differ from it, each verified.

    Args:
        within: how far behind the bound a plan may be, as a share of the objective.
        most: plans to return, the best one included.
        progress: called with the numbers of directions searched and of all.

    Raises:
        VerificationError: a plan does not agree with its re-computation.
    """
    options = options.started()
    case = resolve(inputs)
    best = solve_with(inputs, options, search=FOR_THE_PLAN)
    base = Alternatives(
        currency=best.currency,
        problem=best.problem,
        problem_file=inputs.problem_file,
        scenario=inputs.scenario,
        overrides=inputs.overrides,
        status=best.status,
        objective=case.objective,
        sense="maximize" if case.maximise else "minimize",
        unit=best.objective.unit,
        within=within,
    )
    if not best.jobs:
        return base.model_copy(update={"message": best.message})
    answer = optimise(case, gap=options.gap, effort=options.effort)
    if answer.operation is None or answer.bound is None:
        return base.model_copy(update={"message": UNPROVEN})
    found = Search(Variants(inputs, options), case, answer, within)
    found.candidates.append(Candidate(answer.operation, [Way(name="best", label="the best plan")]))
    found.run(progress)
    different = merge_equal(found.candidates)
    first, *others = most_different(case, different, most)
    records = [_alternative(found, first, best)]
    records += [_alternative(found, each, _plan(found, each.operation)) for each in others]
    return base.model_copy(
        update={
            "bound": found.bound,
            "worst": found.worst,
            "alternatives": tuple(records),
            "directions": tuple(sorted(found.directions, key=_nearest_last)),
            "found": len(different),
        }
    )


def _nearest_last(direction: Direction) -> tuple[bool, float]:
    """Order of directions: those within the tolerance, then the others, the nearest last."""
    missed = 1e9 if direction.shortfall is None else direction.shortfall
    return direction.ended != "within", -missed


@dataclass
class Candidate:
    """A plan within the tolerance and the ways that led to it."""

    operation: Run
    ways: list[Way]
    distance: float = 0.0


class Extreme(NamedTuple):
    """A direction: changes of the problem, the vendor or type left, the count that is extreme."""

    name: DirectionName
    changes: tuple[Change, ...]
    detail: str = ""
    least: CountName | None = None


@dataclass
class Search:
    """The search for plans near the best, and the plans found so far."""

    variants: Variants
    case: Case
    best: Certificate
    within: float
    candidates: list[Candidate] = field(default_factory=list)
    directions: list[Direction] = field(default_factory=list)

    @property
    def bound(self) -> float:
        """The bound of the objective in its own unit."""
        assert self.best.bound is not None
        return natural(self.case.objective, self.best.bound)

    @property
    def worst(self) -> float:
        """The worst value of the objective within the tolerance."""
        return self.bound * (1.0 + (-self.within if self.case.maximise else self.within))

    def shortfall(self, value: float) -> float:
        """Distance of a value behind the bound, as a share of the bound."""
        behind = self.bound - value if self.case.maximise else value - self.bound
        return max(0.0, behind) / max(abs(self.bound), 1e-12)

    def whole(self, run: Run) -> Run:
        """A plan of a problem with less on offer as one of the problem."""
        units = {offer.id: run.units.get(offer.id, 0) for offer in self.case.offers()}
        return replace(run, units=units)

    def shortfall_of(self, run: Run) -> float:
        """Distance of a plan behind the bound, as a share of it."""
        return self.shortfall(value_of(self.case, run))

    def run(self, progress: Progress) -> None:
        """Search every direction: other vendors and types alone, then extremes."""
        ends = [*self._others(), *self._extremes()]
        for place, end in enumerate(ends):
            progress(place, len(ends))
            self._try(end)
        progress(len(ends), len(ends))

    def _others(self) -> Iterator[Extreme]:
        """Yield each other storage vendor, and each other GPU type."""
        case, held = self.case, self.best.operation
        assert held is not None
        used = {item.vendor for item in case.flash if held.units[item.id]}
        for vendor in sorted({item.vendor for item in case.flash} - used):
            yield Extreme("storage_vendor", storage_of(case, {vendor}), vendor)
        for system in case.systems:
            if not held.units[system.id]:
                model = self.variants.inputs.item(system.id).model
                yield Extreme("gpu_type", systems_of({system.id}), model)

    def _extremes(self) -> Iterator[Extreme]:
        """Yield every direction to an extreme plan."""
        inputs, case = self.variants.inputs, self.case
        floor = no_worse(inputs, case.objective, self.worst, FLOOR_MARGIN)
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
            yield Extreme(count, (floor,), least=count)

    def _try(self, end: Extreme) -> None:
        """Keep the best plan of a direction where it is within the tolerance."""
        found = self._best(end)
        known: dict[str, Any] = {"detail": end.detail}
        proof, case = found.proof, found.case
        if case is None or proof is None or proof.operation is None or proof.best is None:
            return self._note(end, "no_plan" if found.impossible else "not_found", **known)
        run = self.whole(proof.operation)
        if self.shortfall_of(run) > self.within + FLOOR_NOISE and proof.untouched is not None:
            run = self.whole(proof.untouched)  # the near-optimal tolerance goes beyond
        shortfall = self.shortfall_of(run)
        known |= {"shortfall": shortfall, "proven": proof.status == "optimal"}
        if end.detail and found.bound is not None:
            known["at_least"] = self.shortfall(found.bound)
        if shortfall > self.within + FLOOR_NOISE:
            return self._note(end, "beyond" if end.detail else "not_found", **known)
        self._note(end, "within", **known)
        setting = None if end.least else tuple(change.setting for change in end.changes)
        way = Way(name=end.name, label=LABELS[end.name], detail=end.detail, setting=setting)
        self.candidates.append(Candidate(run, [way]))
        return None

    def _best(self, end: Extreme) -> Best:
        if end.least is None:
            return self.variants.best(end.changes, ties=True)
        case = resolve(self.variants.inputs_of(end.changes))
        policy = replace(case.policy, within=0.0, disliked=())
        case = replace(case, objective=end.least, indifference=0.0, policy=policy)
        return self.variants.best_of(case, ties=True)

    def _note(self, end: Extreme, ended: str, **known: Any) -> None:
        """Record how a direction ended."""
        named = {"name": end.name, "label": LABELS[end.name], "ended": ended}
        self.directions.append(Direction.model_validate(named | known))


# The most different of the plans found


def merge_equal(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates with equal purchases, configurations and GPUs in use merged."""
    kept: dict[tuple[object, ...], Candidate] = {}
    for candidate in candidates:
        run = candidate.operation
        key = (*sorted(run.units.items()), run.gpus, run.mode, run.ways)
        if key in kept:
            kept[key].ways += candidate.ways
        else:
            kept[key] = candidate
    return list(kept.values())


def most_different(case: Case, candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """The first candidate, then each time the one farthest from those before it."""
    rest = list(candidates)
    chosen = [rest.pop(0)]
    while rest and len(chosen) < most:
        for candidate in rest:
            candidate.distance = min(
                distance(case, candidate.operation, other.operation) for other in chosen
            )
        best = max(rest, key=lambda candidate: candidate.distance)  # of equals the first
        rest.remove(best)
        chosen.append(best)
    return chosen


def distance(case: Case, one: Run, other: Run) -> float:
    """Difference of two plans, from 0 to 4.

    The shares of storage vendors and of GPU types not in common, and the relative differences in
    storage units and in GPU systems.
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


# Records


def _alternative(found: Search, candidate: Candidate, plan: Plan) -> Alternative:
    run = candidate.operation
    return Alternative(
        ways=tuple(candidate.ways),
        plan=plan,
        value=value_of(found.case, run),
        shortfall=found.shortfall_of(run),
        distance=candidate.distance,
    )


def _plan(found: Search, run: Run) -> Plan:
    """A candidate as a complete plan under the bound of the best, verified."""
    case, inputs, options = found.case, found.variants.inputs, found.variants.options
    assert found.best.bound is not None
    value = measure(case, case.objective)(run)
    bound = (max if case.maximise else min)(found.best.bound, value)
    gap = share(case, value, bound)
    # The tolerance is a share of the bound, a gap one of the value.
    asked = max(gap, found.within / (1.0 - found.within))
    proven = Certificate("optimal", run, value, bound, gap, 0, 0.0, late=False)
    plan = assemble(inputs, case, proven, solver=options.solver, gap=asked)
    verify(inputs, plan)
    return plan


def run(request: Request, *, within: float, most: int) -> Alternatives:
    """Plans of a problem that are nearly as good as the best and differ from it.

    Raises:
        InputError: the problem is wrong.
    """
    return alternatives(
        request.inputs, request.running(), within=within, most=most, progress=request.progress
    )
