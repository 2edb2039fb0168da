"""A problem while the edits of a workbook are laid over it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from planner.inputs import Inputs
from planner.schema.plan import JobPlan, Plan
from planner.schema.prices import Discount, Price
from planner.schema.problem import Problem


class EditError(ValueError):
    """An edit that the problem has no room for; the text says what would be right."""


@dataclass
class Draft:
    """The inputs with edits, and what the edited workbook decides itself.

    ``quantities`` holds the units in place by catalog id, companions included.
    """

    inputs: Inputs
    plan: Plan
    quantities: dict[str, int] = field(default_factory=dict)
    mode: str = "async"
    interval_s: float = 0.0
    gpus_idle: int = 0
    term: dict[str, float | None] = field(default_factory=dict)

    @property
    def problem(self) -> Problem:
        """The problem as it stands."""
        return self.inputs.problem

    @property
    def job(self) -> JobPlan:
        """The job of the solved plan."""
        return self.plan.jobs[0]

    def working(self, sku: str) -> int:
        """Return the units of an item in the cluster: owned ones that stood idle still do."""
        idle = next((line.idle for line in self.plan.lines if line.sku == sku and line.idle), 0)
        return max(0, self.quantities.get(sku, 0) - idle)

    def change_problem(self, **changes: Any) -> None:
        """Replace fields of the problem."""
        self.inputs = replace(self.inputs, problem=self.problem.model_copy(update=changes))

    def change(self, part: str, **changes: Any) -> None:
        """Replace fields of a part of the problem, such as ``site`` or ``budget``."""
        self.change_problem(**{part: getattr(self.problem, part).model_copy(update=changes)})

    def change_job(self, part: str = "", **changes: Any) -> None:
        """Replace fields of the job, or of a part of it, such as ``checkpoint``."""
        job = self.problem.job
        if part:
            changes = {part: getattr(job, part).model_copy(update=changes)}
        self.change_problem(jobs=(job.model_copy(update=changes),))

    def set_price(self, sku: str, price: Price) -> None:
        """Let an item have this price."""
        self.inputs = replace(self.inputs, prices={**self.inputs.prices, sku: price})

    def change_discount(self, sku: str, share: float) -> None:
        """Let an item have this discount, whatever else applies to it."""
        others = tuple(each for each in self.inputs.discounts if each.item != sku)
        own = Discount.model_construct(discount=share, item=sku, vendor=None, category=None)
        self.inputs = replace(self.inputs, discounts=(*others, own))
