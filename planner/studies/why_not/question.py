"""What every question about a plan starts from: its inputs and value, and cases of other plans."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

from planner.api import Options
from planner.case import Case, Storage, resolve
from planner.case.chosen import ways_of
from planner.case.figures import it_power_kw
from planner.errors import InputError
from planner.figures import OBJECTIVES
from planner.inputs import Inputs, changed
from planner.limits import BY_NAME
from planner.optimizer.effort import Effort
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Certificate, optimise
from planner.optimizer.purchase import bill
from planner.schema.explanation import Bought, Figures
from planner.schema.plan import Plan
from planner.schema.prices import Price

TIE_TOLERANCE = 1e-6
FLOOR_NOISE = 1e-7
ENOUGH = 1e-4
"""The gap, as a share, within which questions are answered; the plan itself is proven closer."""
MOST_KNOWN = 8
"""Plans met before that each question is begun with."""


@dataclass
class Study:
    """A solved problem under questioning; ``known`` are plans met on the way, by item held.

    ``runs`` are those, and others like them, to begin questions with.

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
    known: dict[str, list[Run]] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)

    @cached_property
    def case(self) -> Case:
        """The problem in numbers."""
        return resolve(self.inputs)

    @cached_property
    def units(self) -> Mapping[str, int]:
        """Units in the cluster of everything on offer."""
        held = {line.sku: line.working for line in self.plan.lines if line.parent is None}
        return {offer.id: held.get(offer.id, 0) for offer in self.case.offers()}

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways in which the job runs, by id."""
        return ways_of(self.case, self.plan)

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

    def whole(self, operation: Run) -> Run:
        """Return an operation of a case with less on offer as one of the problem's."""
        return replace(operation, units={**dict.fromkeys(self.units, 0), **operation.units})

    def remember(self, operation: Run) -> None:
        """Keep a plan of the problem for questions about the items it holds."""
        for name, count in operation.units.items():
            if count:
                self.known.setdefault(name, []).append(operation)


def case_with_item(study: Study, name: str, inputs: Inputs | None = None) -> Case:
    """Return the case of plans with at least one unit of an item (of a GPU system: in use)."""
    inputs = inputs or study.inputs
    for path, value in _unneeded_offers(study, name):
        try:
            narrowed = changed(inputs, path, value)
            resolve(narrowed)
        except InputError:  # something else is demanded
            continue
        inputs = narrowed
    return replace(resolve(inputs), must_use=(name,))


def problem_demanding(study: Study, name: str) -> tuple[Inputs, str] | None:
    """Return the problem with an item demanded, and the path of that demand.

    A GPU system is made the only one, since one that is demanded may stand idle. None where the
    problem's other demands do not allow it.
    """
    path = f"items.{name}.required"
    if name in {system.id for system in study.case.systems}:
        path = "consider.gpu_systems"
    inputs = changed(study.inputs, path, True if path.startswith("items.") else (name,))
    try:
        resolve(inputs)
    except InputError:
        return None
    return inputs, path


def _unneeded_offers(study: Study, name: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return what need not be on offer where a plan holds the item."""
    case = study.case
    item = next((each for each in case.flash if each.id == name), None)
    if isinstance(item, Storage):
        one = (case.exact_families or case.max_families) == 1
        return [("consider.storage_families", (item.family,))] if one else []
    return [("consider.gpu_systems", (name,))] if only_type(study) else []


def only_type(study: Study) -> bool:
    """Say whether a plan on one GPU type is one of that type alone.

    Idle systems of other types, which a fabric may gain by, are then no part of the question.
    """
    case = study.case
    named = {item_id for ids in case.policy.required for item_id in ids}
    split = {item_id for each in case.policy.splits for item_id, _ in each.weights}
    idle = any(system.low > 0 or system.id in named | split for system in case.systems)
    return case.job.max_types == 1 and not idle


def at_price(study: Study, name: str, list_usd: float) -> Inputs:
    """Return the inputs with another list price of an item; its support follows where a share."""
    price: Price = study.inputs.prices[name]
    prices = {**study.inputs.prices, name: price.model_copy(update={"list_usd": list_usd})}
    return replace(study.inputs, prices=prices)


def of_plan(plan: Plan) -> Figures | None:
    """Return the figures of a finished plan, None where it has none."""
    totals, job = plan.totals, plan.jobs[0] if plan.jobs else None
    if totals is None or job is None or totals.capex_usd is None:
        return None
    held = bought_in(plan)
    return Figures(
        gpus_used=job.gpus_used,
        goodput=job.goodput,
        useful_gpus=job.useful_gpus,
        useful_pflops=job.useful_pflops,
        days_to_train=job.days_to_train,
        capex_usd=totals.capex_usd,
        tco_usd=totals.tco_usd,
        it_power_kw=totals.it_power_kw,
        facility_power_kw=totals.facility_power_kw,
        systems=sum(each.quantity for each in held if each.category == "gpu_system"),
        appliances=sum(each.quantity for each in held if each.category == "storage"),
    )


def bought_in(plan: Plan) -> tuple[Bought, ...]:
    """Return the GPU systems and storage of a finished plan."""
    sections = {"Compute": "gpu_system", "Storage": "storage"}
    return tuple(
        Bought.model_validate(
            {
                "sku": line.sku,
                "model": line.model,
                "category": sections[line.section],
                "quantity": line.working,
            }
        )
        for line in plan.lines
        if line.parent is None and line.section in sections and line.working
    )


def of_operation(inputs: Inputs, case: Case, operation: Run) -> Figures:
    """Return the figures of an operation."""
    spent, job = bill(case, operation.units, operation.ways), case.job
    known = _draw_known(inputs, case, operation)
    pflops = operation.useful_pflops(job.mfu) if job.mfu and operation.tflops_per_gpu else None
    trained = job.tokens is not None and job.active_parameters is not None
    return Figures(
        gpus_used=operation.gpus,
        goodput=operation.goodput,
        useful_gpus=operation.useful_gpus,
        useful_pflops=pflops,
        days_to_train=case.days_at_one_pflops() / pflops if pflops and trained else None,
        capex_usd=spent["capex_usd"],
        tco_usd=spent["tco_usd"] if known and inputs.problem.term is not None else None,
        it_power_kw=spent["it_power_kw"] if known else None,
        facility_power_kw=spent["facility_power_kw"] if known else None,
        systems=sum(operation.units[system.id] for system in case.systems),
        appliances=sum(operation.units[item.id] for item in case.flash),
    )


def bought_by(inputs: Inputs, case: Case, operation: Run) -> tuple[Bought, ...]:
    """Return the GPU systems and storage of an operation."""
    models = {item.id: item.model for item in inputs.items}
    systems = {system.id for system in case.systems}
    return tuple(
        Bought(
            sku=offer.id,
            model=models[offer.id],
            category="gpu_system" if offer.id in systems else "storage",
            quantity=operation.units[offer.id],
        )
        for offer in case.offers()
        if operation.units[offer.id]
    )


def _draw_known(inputs: Inputs, case: Case, operation: Run) -> bool:
    """Say whether the draw of everything in the bill is known; in the case it is 0 where not."""
    counts = bill(case, operation.units, operation.ways).counts
    held = {item.id for item in case.bill_items() if counts[item.id]}
    return all(it_power_kw(item, inputs) is not None for item in inputs.items if item.id in held)


Money = Literal["cost", "tco", "usd_per_useful_gpu_hour", "usd_per_million_tokens"]
MONEY: frozenset[Money] = frozenset(get_args(Money))
ROUNDING = 1e-9


def money_of(case: Case) -> Money:
    """Return which money decides between plans: what is to be least, or capex on ties."""
    return case.objective if case.objective in MONEY else "cost"


def costs_least(case: Case) -> bool:
    """Say whether money itself is what is to be least."""
    return case.objective == money_of(case)


def case_no_worse(case: Case, worst: float) -> Case:
    """Return the case of least money whose plans are no worse in the case's objective.

    Args:
        worst: the worst value of its objective that will do, in the objective's own unit.
    """
    limits, job = case.limits, case.job
    asked = OBJECTIVES[case.objective]
    if case.objective == "gpus":
        job = replace(job, gpus_min=max(job.gpus_min, math.ceil(worst * (1 - ROUNDING))))
    else:
        row = BY_NAME[asked.limit]
        closer = _most if row.sense == ">=" else _least
        kept: dict[str, Any] = {row.field: closer(limits[row.field], worst / asked.per)}
        limits = limits.with_values(**kept)
    least = replace(case, limits=limits, job=job, objective=money_of(case), indifference=0.0)
    return least.billed_as(case)


def case_within_money(case: Case, most_usd: float) -> Case:
    """Return a case of least money that may spend so much of it at most."""
    name = BY_NAME[OBJECTIVES[money_of(case)].limit].field
    kept: dict[str, Any] = {name: _least(case.limits[name], most_usd)}
    return replace(case, limits=case.limits.with_values(**kept))


def limits_money(case: Case) -> bool:
    """Say whether a price can decide what is possible."""
    return case.limits != without_money(case).limits


def without_money(case: Case) -> Case:
    """Return the case with no limit that a price bears on; its companions are to be made anew."""
    limits = case.limits.with_values(
        capex_usd=None,
        support_usd_per_year=None,
        opex_usd_per_year=None,
        tco_usd=None,
        per_useful_gpu_hour=None,
        per_million_tokens=None,
    )
    return replace(case, limits=limits)


def _most(one: float | None, other: float) -> float:
    return other if one is None else max(one, other)


def _least(one: float | None, other: float) -> float:
    return other if one is None else min(one, other)
