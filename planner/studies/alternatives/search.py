"""Looking in every direction: the best plan with other vendors and types, and the extremes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from planner.api import Options
from planner.case import Case, resolve
from planner.errors import InputError
from planner.inputs import Change, Inputs
from planner.optimizer.joint import Certificate, optimise
from planner.optimizer.measure import measure
from planner.optimizer.objective import natural
from planner.optimizer.operate import Operation
from planner.schema.alternatives import Direction, DirectionName, Way
from planner.studies.alternatives.directions import LABELS, Extreme, extremes
from planner.studies.alternatives.pick import Candidate
from planner.studies.changes import apply, storage_of, systems_of

FLOOR_NOISE = 1e-9


@dataclass
class Search:
    """A problem, what no plan of it passes, and what was found so far."""

    inputs: Inputs
    options: Options
    bound: float
    within: float
    candidates: list[Candidate] = field(default_factory=list)
    directions: list[Direction] = field(default_factory=list)

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

    def value(self, operation: Operation) -> float:
        """Return what a plan is worth in the problem's own objective."""
        name = self.case.objective
        return natural(name, measure(self.case, name)(operation))

    def run(self, held: Operation) -> None:
        """Look in every direction.

        Args:
            held: the best plan.
        """
        vendors = {item.vendor for item in self.case.storage}
        here = {item.vendor for item in self.case.storage if held.units[item.id]}
        self._others("storage_vendor", vendors - here, self._vendors_in, self._storage)
        types = {system.id for system in self.case.systems}
        here = {system.id for system in self.case.systems if held.units[system.id]}
        self._others("gpu_type", types - here, self._types_in, systems_of)
        for extreme in extremes(self.inputs, self.case, self.worst):
            self._extreme(extreme)

    def _storage(self, vendors: Collection[str]) -> tuple[Change, ...]:
        return storage_of(self.case, vendors)

    def _vendors_in(self, operation: Operation) -> dict[str, str]:
        return {i.vendor: i.vendor for i in self.case.storage if operation.units[i.id]}

    def _types_in(self, operation: Operation) -> dict[str, str]:
        models = {item.id: item.model for item in self.inputs.items}
        return {s.id: models[s.id] for s in self.case.systems if operation.units[s.id]}

    def _others(
        self,
        name: DirectionName,
        left: set[str],
        names_in: Callable[[Operation], dict[str, str]],
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

    def _best(
        self, name: DirectionName, changes: Sequence[Change]
    ) -> tuple[Operation | None, Direction]:
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
        told = direction.model_copy(
            update={
                "shortfall": self.shortfall(value),
                "at_least": self.shortfall(bound),
                "proven": proof.status == "optimal",
            }
        )
        if self.shortfall(value) > self.within:
            return self._whole(proof.operation), told.model_copy(update={"ended": "beyond"})
        settled = self._solve(case, ties=True).operation or proof.operation
        if not self._good_enough(settled):  # what ties may give away goes beyond the tolerance
            settled = proof.operation
        whole = self._whole(settled)
        update = {"ended": "within", "shortfall": self.shortfall(self.value(whole))}
        return whole, told.model_copy(update=update)

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

    def _good_enough(self, operation: Operation) -> bool:
        return self.shortfall(self.value(self._whole(operation))) <= self.within + FLOOR_NOISE

    def _keep(
        self,
        operation: Operation,
        name: DirectionName,
        detail: str,
        setting: tuple[str, ...] | None,
    ) -> None:
        way = Way(name=name, label=LABELS[name], detail=detail, setting=setting)
        self.candidates.append(Candidate(self._whole(operation), [way]))

    def _whole(self, operation: Operation) -> Operation:
        """Return an operation of a case with less on offer as one of the problem's."""
        units = {offer.id: operation.units.get(offer.id, 0) for offer in self.case.offers()}
        return replace(operation, units=units)

    def _solve(self, case: Case, *, ties: bool) -> Certificate:
        return optimise(
            case,
            solver=self.options.solver,
            gap=self.options.gap,
            effort=self.options.effort,
            ties=ties,
        )
