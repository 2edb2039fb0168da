"""A solved problem under questioning: its value, its ties, and changed cases."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

from planner.api import Options
from planner.case import Case, Storage, resolve
from planner.errors import InputError
from planner.figures import OBJECTIVES
from planner.inputs import Inputs, changed
from planner.limits import BY_NAME
from planner.optimizer.effort import Effort
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Certificate, optimise
from planner.schema.plan import Plan

TIE_TOLERANCE = 1e-6
FLOOR_NOISE = 1e-7
ENOUGH = 1e-4
"""Gap to which questions are answered; the plan itself is proven closer."""
MOST_KNOWN = 8
"""Plans found before with which each question is started."""
ROUNDING = 1e-9


@dataclass
class Study:
    """A solved problem under questioning.

    Attributes:
        work: search effort after which questions that were not asked are left.
        patience: effort after which even other forced plans are.
        questions: proofs for what was not asked, None for any number.
        known: plans found on the way, by item held.
        runs: plans that questions start with.
    """

    inputs: Inputs
    plan: Plan
    options: Options
    work: float
    patience: float
    effort: Effort
    questions: int | None = None
    proofs: int = 0
    known: dict[str, list[Run]] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)

    @cached_property
    def case(self) -> Case:
        """The problem's case."""
        return resolve(self.inputs)

    @cached_property
    def units(self) -> Mapping[str, int]:
        """Units of everything on offer in the cluster."""
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
        """The bound of the objective; the value where nothing is proven."""
        bound = self.plan.objective.bound
        return self.value if bound is None else bound

    @cached_property
    def tie(self) -> float:
        """Share of the objective within which plans count as equally good."""
        return max(min(TIE_TOLERANCE, self.options.gap / 2.0), self.case.indifference)

    @cached_property
    def tied(self) -> float:
        """The worst value that still ties with the best; the plan's own does in any case."""
        share = self.tie - FLOOR_NOISE  # plans may miss a floor by so much
        if self.case.maximise:
            return min(self.value, self.bound * (1.0 - share))
        return max(self.value, self.bound * (1.0 + share))

    @property
    def beyond(self) -> float:
        """The worst value that is better than the plan by more than ties allow."""
        if self.case.objective == "gpus":
            return math.floor(self.bound * (1.0 + self.tie)) + 1.0
        sign = 1.0 if self.case.maximise else -1.0
        return self.bound * (1.0 + sign * self.tie)

    def loss(self, value: float) -> float:
        """Excess of the plan's value over a worse one, as a share of it."""
        worse = self.value - value if self.case.maximise else value - self.value
        return worse / max(abs(self.value), 1e-12)

    @cached_property
    def tied_loss(self) -> float:
        """The largest loss that still ties with the best."""
        return self.loss(self.tied)

    def loss_of(self, run: Run) -> float:
        """Loss of a plan of this problem, maybe with less on offer."""
        name = self.case.objective
        return self.loss(natural(name, measure(self.case, name)(self.whole(run))))

    @property
    def out_of_patience(self) -> bool:
        """Whether even forced plans take too much."""
        return self.effort.late or self.effort.work >= self.patience

    @property
    def late(self) -> bool:
        """Whether questions that were not asked are left."""
        spent = self.questions is not None and self.proofs >= self.questions
        return spent or self.effort.late or self.effort.work >= self.work

    def prove(self, case: Case, gap: float = ENOUGH) -> Certificate:
        """Best plan of a case with its proof; equally good plans are not told apart."""
        self.proofs += 1
        answer = optimise(
            case,
            gap=max(gap, self.options.gap),
            effort=self.effort,
            ties=False,
            known=self.runs[-MOST_KNOWN:] if costs_least(case) else (),
        )
        if answer.operation is not None:
            self.runs.append(answer.operation)
        return answer

    def whole(self, run: Run) -> Run:
        """An operation of a case with less on offer as one of the problem."""
        return replace(run, units={**dict.fromkeys(self.units, 0), **run.units})

    def remember(self, run: Run) -> None:
        """Keep a plan of the problem for questions about the items it holds."""
        for name, count in run.units.items():
            if count:
                self.known.setdefault(name, []).append(run)


# Changed cases


def case_with_item(study: Study, name: str, inputs: Inputs | None = None) -> Case:
    """Case of plans with at least one unit of an item (of a GPU system: in use)."""
    inputs, case = inputs or study.inputs, study.case
    item = next((each for each in case.flash if each.id == name), None)
    narrowed = inputs
    if isinstance(item, Storage):
        if case.max_families == 1:
            narrowed = changed(inputs, "consider.storage_families", (item.family,))
    elif only_type(study):
        narrowed = changed(inputs, "consider.gpu_systems", (name,))
    try:
        found = resolve(narrowed)
    except InputError:  # something else is demanded
        found = resolve(inputs)
    return replace(found, must_use=(name,))


def only_type(study: Study) -> bool:
    """Whether a plan on one GPU type is one of that type alone."""
    case = study.case
    named = {item_id for ids in case.policy.required for item_id in ids}
    split = {item_id for each in case.policy.splits for item_id, _ in each.weights}
    idle = any(system.low > 0 or system.id in named | split for system in case.systems)
    return case.job.max_types == 1 and not idle


Money = Literal["cost", "tco", "usd_per_useful_gpu_hour", "usd_per_million_tokens"]
MONEY: frozenset[Money] = frozenset(get_args(Money))


def money_of(case: Case) -> Money:
    """Money that decides between plans: the objective, or capex on ties."""
    return case.objective if case.objective in MONEY else "cost"


def costs_least(case: Case) -> bool:
    """Whether money is the objective."""
    return case.objective == money_of(case)


def case_no_worse(case: Case, worst: float) -> Case:
    """Case of least money whose plans are no worse in the case's objective.

    Args:
        worst: in the objective's own unit.
    """
    limits, job = case.limits, case.job
    asked = OBJECTIVES[case.objective]
    if case.objective == "gpus":
        job = replace(job, gpus_min=max(job.gpus_min, math.ceil(worst * (1 - ROUNDING))))
    else:
        row = BY_NAME[asked.limit]
        pick = max if row.sense == ">=" else min
        limits = _tighter(limits, row.field, worst / asked.per, pick)
    least = replace(case, limits=limits, job=job, objective=money_of(case), indifference=0.0)
    return least.billed_as(case)


def case_within_money(case: Case, most_usd: float) -> Case:
    """Case of least money with a limit on it."""
    name = BY_NAME[OBJECTIVES[money_of(case)].limit].field
    return replace(case, limits=_tighter(case.limits, name, most_usd, min))


def _tighter(limits: Any, name: str, value: float, pick: Any) -> Any:
    before = limits[name]
    kept: dict[str, Any] = {name: value if before is None else pick(before, value)}
    return limits.with_values(**kept)


def without_money(case: Case) -> Case:
    """Case without limits on money; its companions are to be derived anew."""
    limits = case.limits.with_values(
        capex_usd=None,
        opex_usd_per_year=None,
        tco_usd=None,
        per_useful_gpu_hour=None,
        per_million_tokens=None,
    )
    return replace(case, limits=limits)


def limits_money(case: Case) -> bool:
    """Whether a price can decide what is possible."""
    return case.limits != without_money(case).limits
