"""Plans nearly as good as the best that differ from it as much as possible.

Searched for: other storage vendors and GPU types, and the extremes of money, power and counts, with
the objective within the tolerance. Of the plans found those that differ most are returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, get_args

from planner.analysis.changes import no_worse, storage_of, systems_of
from planner.analysis.pool import Progress, ignore
from planner.analysis.purchases import value_of
from planner.analysis.request import Found, Request
from planner.api import Options, solve_with
from planner.case import Case, resolve
from planner.case.model import CountName
from planner.errors import InputError
from planner.inputs import Change, Inputs, applied
from planner.optimizer.effort import QUESTION_WORK
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Certificate, optimise, share
from planner.plan import assemble
from planner.plan.storage_options import with_options
from planner.schema.analysis import (
    Alternative,
    Alternatives,
    Direction,
    DirectionName,
    Way,
)
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
FOR_THE_PLAN = 0.5
"""Share of a time limit that finding the best plan may take."""
FLOOR_MARGIN = 2e-7
"""Relative tightening of floors, which plans may miss by less."""
FLOOR_NOISE = 1e-9
UNPROVEN = "the search ended before anything was proven about how good a plan can be"


class Extreme(NamedTuple):
    """A direction to an extreme plan: changes of the problem, and a count that is least or most."""

    name: DirectionName
    changes: tuple[Change, ...]
    least: CountName | None = None


def extremes(inputs: Inputs, case: Case, worst: float) -> Iterator[Extreme]:
    """Yield every direction to an extreme plan.

    Args:
        worst: the worst value of the objective that will do.
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


def merge_equal(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates with equal purchases and GPUs in use merged."""
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
    """The first candidate, then each time the one farthest from those before it."""
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


@dataclass
class Search:
    """The search for plans near the best: the problem, its bound, and the plans found so far."""

    inputs: Inputs
    case: Case
    options: Options
    bound: float
    within: float
    candidates: list[Candidate] = field(default_factory=list)
    directions: list[Direction] = field(default_factory=list)

    @property
    def worst(self) -> float:
        """The worst value of the objective within the tolerance."""
        return self.bound * (1.0 + (-self.within if self.case.maximise else self.within))

    def shortfall(self, value: float) -> float:
        """Distance of a value behind the bound, as a share of the bound."""
        behind = self.bound - value if self.case.maximise else value - self.bound
        return max(0.0, behind) / max(abs(self.bound), 1e-12)

    def shortfall_of(self, run: Run) -> float:
        """Distance of a plan of the whole problem behind the bound, as a share of it."""
        return self.shortfall(value_of(self.case, run))

    def changed(self, changes: Sequence[Change]) -> Case | None:
        """Case of the changed problem; None where it contradicts."""
        try:
            return resolve(applied(self.inputs, changes, recorded=True))
        except InputError:
            return None

    def solve(self, case: Case, *, ties: bool) -> Certificate:
        """Best plan of a case, as one of the whole problem."""
        effort = self.options.effort.part(QUESTION_WORK)
        found = optimise(case, gap=self.options.gap, effort=effort, ties=ties)
        if found.operation is None:
            return found
        units = {o.id: found.operation.units.get(o.id, 0) for o in self.case.offers()}
        return replace(found, operation=replace(found.operation, units=units))

    def keep(
        self, run: Run, name: DirectionName, detail: str, setting: tuple[str, ...] | None
    ) -> None:
        """Keep a plan as a candidate."""
        way = Way(name=name, label=LABELS[name], detail=detail, setting=setting)
        self.candidates.append(Candidate(run, [way]))

    def note(self, name: DirectionName, ended: str, **known: Any) -> None:
        """Record how a direction ended."""
        named = {"name": name, "label": LABELS[name], "ended": ended}
        self.directions.append(Direction.model_validate(named | known))


def search(found: Search, held: Run, progress: Progress) -> None:
    """Search every direction, starting from the best plan."""
    case = found.case
    vendors = {item.id: item.vendor for item in case.flash}
    types = {system.id: found.inputs.item(system.id).model for system in case.systems}
    other_vendors = set(vendors.values()) - {vendors[name] for name in vendors if held.units[name]}
    other_types = {name for name in types if not held.units[name]}
    ends = list(extremes(found.inputs, case, found.worst))
    asked, done = len(other_vendors) + len(other_types) + len(ends), len(other_vendors)
    by_vendor = {vendor: vendor for vendor in vendors.values()}
    _others(found, "storage_vendor", other_vendors, vendors, by_vendor, partial(storage_of, case))
    progress(done, asked)
    _others(found, "gpu_type", other_types, {name: name for name in types}, types, systems_of)
    for place, extreme in enumerate(ends, done + len(other_types)):
        progress(place, asked)
        _extreme(found, extreme)
    progress(asked, asked)


def _others(
    found: Search,
    name: DirectionName,
    left: set[str],
    key_of: Mapping[str, str],
    label_of: Mapping[str, str],
    only: Callable[[Collection[str]], tuple[Change, ...]],
) -> None:
    """Keep the best plan without the keys of earlier plans, as long as it is good enough.

    Args:
        left: keys (vendors, types) that may be used.
        key_of: key by item.
        label_of: label by key.
        only: the changes that leave only some keys on offer.
    """
    while left:
        case = found.changed(only(left))
        proof = None if case is None else found.solve(case, ties=False)
        if case is None or proof is None or proof.operation is None:
            late = proof is not None and proof.status != "infeasible"
            return found.note(name, "not_found" if late else "no_plan")
        if proof.value is None or proof.bound is None:
            return found.note(name, "not_found")
        run = proof.operation
        value, bound = (natural(case.objective, each) for each in (proof.value, proof.bound))
        within = found.shortfall(value) <= found.within
        if within:
            settled = found.solve(case, ties=True).operation or run
            # What ties may give away goes beyond the tolerance.
            run = settled if found.shortfall_of(settled) <= found.within + FLOOR_NOISE else run
        keys = {key: label_of[key] for item, key in key_of.items() if run.units[item]}
        detail = ", ".join(keys.values())
        found.note(
            name,
            "within" if within else "beyond",
            shortfall=found.shortfall_of(run) if within else found.shortfall(value),
            at_least=found.shortfall(bound),
            proven=proof.status == "optimal",
            detail=detail,
        )
        if not within:
            return None
        found.keep(run, name, detail, tuple(each.setting for each in only(set(keys))))
        left = left - set(keys)
    return None


def _extreme(found: Search, extreme: Extreme) -> None:
    """Keep the extreme plan of a direction."""
    case = found.changed(extreme.changes)
    if case is not None and extreme.least is not None:
        policy = replace(case.policy, within=0.0, disliked=())
        case = replace(case, objective=extreme.least, indifference=0.0, policy=policy)
    answer = None if case is None else found.solve(case, ties=True)
    run = None if answer is None else answer.operation
    shortfall = math.inf if run is None else found.shortfall_of(run)
    if answer is None or run is None or shortfall > found.within + FLOOR_NOISE:
        found.note(extreme.name, "not_found")
        return
    found.note(extreme.name, "within", shortfall=shortfall, proven=answer.status == "optimal")
    settings = tuple(change.setting for change in extreme.changes)
    found.keep(run, extreme.name, "", settings if extreme.least is None else None)


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
    answer = optimise(case, gap=options.gap, effort=options.part(FOR_THE_PLAN).effort)
    if answer.operation is None:
        plan = solve_with(inputs, options)
        return _head(inputs, case, within, plan).model_copy(update={"message": plan.message})
    best = assemble(inputs, case, answer, solver=options.solver, gap=options.gap)
    check = partial(verify, inputs)
    best = with_options(inputs, case, answer, best, solver=options.solver, check=check)
    verify(inputs, best)
    base = _head(inputs, case, within, best)
    if answer.bound is None:
        return base.model_copy(update={"message": UNPROVEN})
    found = Search(inputs, case, options, natural(case.objective, answer.bound), within)
    found.candidates.append(Candidate(answer.operation, [Way(name="best", label="the best plan")]))
    search(found, answer.operation, progress)
    different = merge_equal(found.candidates)
    records: list[Alternative] = []
    for candidate in most_different(case, different, most):
        run = candidate.operation
        record = Alternative(
            ways=tuple(candidate.ways),
            plan=_plan(found, answer, run) if records else best,
            value=value_of(case, run),
            shortfall=found.shortfall_of(run),
            distance=candidate.distance,
        )
        records.append(record)
    return base.model_copy(
        update={
            "bound": found.bound,
            "worst": found.worst,
            "alternatives": tuple(records),
            "directions": tuple(found.directions),
            "found": len(different),
        }
    )


def _head(inputs: Inputs, case: Case, within: float, plan: Plan) -> Alternatives:
    """Record without plans."""
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


def _plan(found: Search, best: Certificate, run: Run) -> Plan:
    """A candidate as a complete plan under the bound of the best, verified."""
    case = found.case
    assert best.bound is not None
    value = measure(case, case.objective)(run)
    bound = (max if case.maximise else min)(best.bound, value)
    gap = share(case, value, bound)
    # The tolerance is a share of the bound, a gap one of the value.
    asked = max(gap, found.within / (1.0 - found.within))
    proven = Certificate(
        "optimal", run, value, bound, gap, best.iterations, best.seconds, best.late
    )
    plan = assemble(found.inputs, case, proven, solver=found.options.solver, gap=asked)
    verify(found.inputs, plan)
    return plan


def run(request: Request, *, within: float, most: int) -> Found:
    """Plans of a problem that are nearly as good as the best and differ from it.

    Raises:
        InputError: the problem is wrong.
    """
    options = request.running()
    found = alternatives(
        request.inputs, options, within=within, most=most, progress=request.progress
    )
    best = found.alternatives[0].plan if found.alternatives else None
    return Found((found,), (found.status,), plan=None if best is None else lambda: best)
