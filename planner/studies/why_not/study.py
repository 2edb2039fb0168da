"""What every question about a plan starts from: its inputs, its value, and what ties with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from planner.api import Options
from planner.case import Case, resolve
from planner.inputs import Inputs
from planner.optimizer.joint import Certificate, optimise
from planner.optimizer.operate import Operation
from planner.optimizer.solver import Effort
from planner.schema.catalog import Item
from planner.schema.plan import Plan

TIE_TOLERANCE = 1e-6
FLOOR_NOISE = 1e-7
ENOUGH = 1e-4
"""The gap, as a share, within which questions are answered; the plan itself is proven closer."""


@dataclass
class Study:
    """A solved problem under questioning; ``known`` are plans met on the way, by item held.

    ``work`` is how much may be done before what was not asked for is left, ``patience`` before even
    other forced plans are; ``questions`` is how many proofs what was not asked for may take in all,
    None for any number.
    """

    inputs: Inputs
    plan: Plan
    options: Options
    work: float
    patience: float
    effort: Effort
    questions: int | None = None
    proofs: int = 0
    known: dict[str, list[Operation]] = field(default_factory=dict)

    @cached_property
    def case(self) -> Case:
        """The problem in numbers."""
        return resolve(self.inputs)

    @cached_property
    def catalog(self) -> Mapping[str, Item]:
        """The items of the catalogs by id."""
        return {item.id: item for item in self.inputs.items}

    @cached_property
    def units(self) -> Mapping[str, int]:
        """Units in the cluster of everything on offer."""
        held = {line.sku: line.working for line in self.plan.lines if line.parent is None}
        return {offer.id: held.get(offer.id, 0) for offer in self.case.offers()}

    @property
    def value(self) -> float:
        """The plan's objective in its own unit."""
        value = self.plan.objective.value
        assert value is not None
        return value

    @property
    def bound(self) -> float:
        """What no plan's objective passes; the value where nothing is proven."""
        bound = self.plan.objective.bound
        return self.value if bound is None else bound

    @property
    def proven(self) -> bool:
        """Whether the plan is proven best."""
        return self.plan.status == "optimal"

    @cached_property
    def tie(self) -> float:
        """The share of the objective within which plans count as equally good."""
        return max(min(TIE_TOLERANCE, self.options.gap / 2.0), self.case.indifference)

    @cached_property
    def tied(self) -> float:
        """The worst value that still ties with the best; the plan's own does in any case."""
        share = self.tie - FLOOR_NOISE  # a floor lets plans through that miss it by so much
        if self.case.maximise:
            return min(self.value, self.bound * (1.0 - share))
        return max(self.value, self.bound * (1.0 + share))

    def loss(self, value: float) -> float:
        """Return how much worse a value is than the plan's, as a share of it."""
        worse = self.value - value if self.case.maximise else value - self.value
        return worse / max(abs(self.value), 1e-12)

    @cached_property
    def tied_loss(self) -> float:
        """The largest loss that still ties with the best."""
        return self.loss(self.tied)

    @property
    def out_of_patience(self) -> bool:
        """Whether even what is always told takes too much."""
        return self.effort.late or self.effort.work >= self.patience

    @property
    def late(self) -> bool:
        """Whether it is over with what was not asked for."""
        spent = self.questions is not None and self.proofs >= self.questions
        return spent or self.effort.late or self.effort.work >= self.work

    def prove(self, case: Case, gap: float = ENOUGH) -> Certificate:
        """Return the first best plan of a case with its proof."""
        self.proofs += 1
        return optimise(
            case,
            solver=self.options.solver,
            gap=max(gap, self.options.gap),
            effort=self.effort,
            ties=False,
        )

    def whole(self, operation: Operation) -> Operation:
        """Return an operation of a case with less on offer as one of the problem's."""
        return replace(operation, units={**dict.fromkeys(self.units, 0), **operation.units})

    def remember(self, operation: Operation) -> None:
        """Keep a plan of the problem for questions about the items it holds."""
        for name, count in operation.units.items():
            if count:
                self.known.setdefault(name, []).append(operation)
