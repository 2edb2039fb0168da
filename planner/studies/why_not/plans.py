"""Other plans: with another vendor, type or rule forced, or with an item at a given price."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar, get_args

from planner.case import Case, Storage, System, resolve
from planner.case.model import BandwidthRule
from planner.case.money import discount, support_usd_per_year, unit_net_usd
from planner.errors import InputError
from planner.figures import OBJECTIVES, RATIOS
from planner.inputs import Change
from planner.optimizer.goals import floors
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Certificate as Answer
from planner.optimizer.optimise import share
from planner.optimizer.purchase import bill, broken_rows
from planner.schema.explanation import Certificate, Forced, ForcedKind
from planner.schema.problem import RuleName
from planner.studies.changes import apply, storage_of, systems_of
from planner.studies.why_not import question as figures
from planner.studies.why_not.question import (
    ENOUGH,
    Study,
    at_price,
    case_no_worse,
    case_with_item,
    case_within_money,
    costs_least,
    limits_money,
    money_of,
)

LEAST_USD = 0.005
VALUE_NOISE = 1e-7
MONEY_NOISE = 1e-9
RATIO_NOISE = 1e-7
"""By how much a bound on a ratio must pass what is allowed to rule it out, as a share."""
OfferT = TypeVar("OfferT", System, Storage)


@dataclass(frozen=True)
class Rival:
    """A plan that holds the item, and the highest list price at which it would be taken."""

    operation: Run
    list_usd: float


@dataclass(frozen=True)
class Contest:
    """One item against the plan, at any list price up to that of today."""

    study: Study
    name: str

    @cached_property
    def today_list_usd(self) -> float:
        """The list price in the price books."""
        return self.study.inputs.prices[self.name].list_usd

    def net_usd(self, list_usd: float) -> float:
        """Return what a unit costs after discount."""
        item, inputs = self.study.inputs.item(self.name), self.study.inputs
        at = inputs.prices[self.name].model_copy(update={"list_usd": list_usd})
        return unit_net_usd(item, at, inputs.discounts, inputs.problem.shown_in)

    @property
    def free_of_charge(self) -> bool:
        """Whether a discount of all of it leaves no price to change."""
        return discount(self.study.inputs.item(self.name), self.study.inputs.discounts) >= 1.0

    def find(self, list_usd: float) -> Rival | bool:
        """Return a rival at a list price; False where there is none, True where it stays open."""
        case = case_with_item(self.study, self.name, at_price(self.study, self.name, list_usd))
        if case.objective in RATIOS:
            found = self._at_least_ratio(case, list_usd)
            if found is not None:
                return found
        left_open = False
        for variant in self._variants(case):
            answer = self.study.prove(replace(variant, must_use=case.must_use))
            if answer.operation is not None:
                rival = self.priced(answer.operation)
                if rival is not None:
                    return Rival(rival.operation, max(rival.list_usd, list_usd))
            left_open = left_open or answer.status != "infeasible"
        return left_open

    def _at_least_ratio(self, case: Case, list_usd: float) -> Rival | bool | None:
        """Return the rival of the least ratio at a list price; None where it does not settle that.

        The least is found sooner than that no plan keeps within a ratio.
        """
        least = replace(case, indifference=0.0)
        answer = self.study.prove(least, gap=self.study.options.gap)
        rival = None if answer.operation is None else self.priced(answer.operation)
        if rival is not None and rival.list_usd >= list_usd - 2.0 * LEAST_USD:
            return Rival(rival.operation, max(rival.list_usd, list_usd))
        if answer.status == "infeasible":
            return False
        beyond = self.most_usd * (1.0 + RATIO_NOISE)
        out = answer.bound is not None and natural(case.objective, answer.bound) > beyond
        return False if out else None

    def _variants(self, case: Case) -> list[Case]:
        """Return the cases of least money of the two kinds of rivals."""
        study = self.study
        cases = [self._tied(case)]
        if not costs_least(case) and limits_money(case):
            cases.append(case_no_worse(case, _beyond(study)))
        return cases

    def _tied(self, case: Case) -> Case:
        kept = case_no_worse(case, self.study.tied)
        return case_within_money(kept, self.most_usd)

    @cached_property
    def most_usd(self) -> float:
        """What a plan that ties may cost: what the plan does."""
        figure = OBJECTIVES[money_of(self.study.case)].figure.name
        most: float | None = getattr(self.study.plan.totals, figure)
        assert most is not None
        return most

    def priced(self, operation: Run) -> Rival | None:
        """Return a plan with the highest list price at which it is a rival, None if at none.

        What a plan with the item costs is linear in the price, so what it may cost is found by
        halving; no search for another plan is needed.
        """
        if not operation.units.get(self.name):
            return None
        wins = self._wins(operation)
        if wins(self.today_list_usd):
            return Rival(operation, self.today_list_usd)
        if not wins(0.0):
            return None
        low, high = 0.0, self.today_list_usd
        while high - low > LEAST_USD:
            middle = (low + high) / 2.0
            low, high = (middle, high) if wins(middle) else (low, middle)
        return Rival(operation, math.floor(low * 100.0) / 100.0)

    def _wins(self, operation: Run) -> Callable[[float], bool]:
        """Return what says whether a plan is a rival at a list price."""
        study, case = self.study, self.study.case
        whole = study.whole(operation)
        loss = study.loss(natural(case.objective, measure(case, case.objective)(whole)))
        money = money_of(case)
        by_money = costs_least(case)
        tied = by_money or loss <= study.tied_loss + VALUE_NOISE
        better = not by_money and loss <= study.loss(_beyond(study)) + VALUE_NOISE

        def wins(list_usd: float) -> bool:
            at = self._repriced(list_usd)
            if broken_rows(at, whole.units, whole.ways) or not floors(at)(whole):
                return False
            spent_usd = natural(money, measure(at, money)(whole))
            return better or (tied and spent_usd <= self.most_usd * (1.0 + MONEY_NOISE))

        return wins

    @cached_property
    def _free(self) -> Case:
        """The case with the item for nothing: its companions reach for any price."""
        return resolve(at_price(self.study, self.name, 0.0))

    def _repriced(self, list_usd: float) -> Case:
        """Return the case with the item at another price."""
        item, inputs = self.study.inputs.item(self.name), self.study.inputs
        at = inputs.prices[self.name].model_copy(update={"list_usd": list_usd})
        off, shown_in = inputs.discounts, inputs.problem.shown_in
        net_usd = unit_net_usd(item, at, off, shown_in)
        support_usd = support_usd_per_year(item, at, off, shown_in)

        def sold(offer: OfferT) -> OfferT:
            if offer.id != self.name:
                return offer
            return replace(offer, unit_net_usd=net_usd, support_usd_per_year=support_usd)

        case = self._free
        systems, storage = map(sold, case.systems), map(sold, case.storage)
        return replace(case, systems=tuple(systems), storage=tuple(storage))


def _beyond(study: Study) -> float:
    """Return the worst value that is better than the plan by more than ties allow."""
    if study.case.objective == "gpus":
        return math.floor(study.bound * (1.0 + study.tie)) + 1.0
    if study.case.maximise:
        return study.bound * (1.0 + study.tie)
    return study.bound * (1.0 - study.tie)


LITTLE = 0.01
"""The share of capex below which storage is not worth a search for less of it."""
LATE = "not computed, as it takes too long"
LABELS = {"demand": "what the job needs"}


@dataclass(frozen=True)
class Question:
    """Something to force, and the changes that do."""

    kind: ForcedKind
    key: str
    label: str
    changes: tuple[Change, ...]

    @property
    def setting(self) -> tuple[str, ...]:
        """The changes as ``--set`` would take them."""
        return tuple(change.setting for change in self.changes)


def forced_plans(study: Study) -> tuple[Forced, ...]:
    """Return the plan beside the best ones with something else forced."""
    chosen = [*_vendors(study), *_types(study)]
    return (*(_answer(study, question) for question in chosen), *_rules(study))


def _vendors(study: Study) -> Iterator[Question]:
    """Yield each storage vendor on offer that the plan does not buy from alone."""
    held = {item.vendor for item in study.case.flash if study.units[item.id]}
    for vendor in sorted({item.vendor for item in study.case.flash} - _alone(held)):
        yield Question("storage_vendor", vendor, vendor, storage_of(study.case, {vendor}))


def _types(study: Study) -> Iterator[Question]:
    held = {system.id for system in study.case.systems if study.units[system.id]}
    for system in study.case.systems:
        if {system.id} != held:
            model = study.inputs.item(system.id).model
            yield Question("gpu_type", system.id, model, systems_of({system.id}))


def _alone(held: set[str]) -> set[str]:
    return held if len(held) == 1 else set()


def _rules(study: Study) -> Iterator[Forced]:
    """Yield each other sizing rule; one that the plan meets as it is needs no plan of its own."""
    free_bound: float | None = None
    for name in get_args(RuleName):
        if name == study.inputs.problem.storage.rule:
            continue
        question = Question(
            "storage_rule", name, LABELS.get(name, name), (Change("storage.rule", name, name),)
        )
        if study.out_of_patience:
            yield _answer(study, question)
            continue
        case = resolve(apply(study.inputs, question.changes))
        if case.rule is not None and not broken_rows(case, study.units, study.ways):
            if free_bound is None:
                free_bound = _bound_without_rule(study, case.rule)
            if abs(study.loss(free_bound)) <= study.tied_loss + study.tie + 1e-6:
                yield _as_is(study, question, free_bound)
                continue
        yield _answer(study, question)


def _bound_without_rule(study: Study, rule: BandwidthRule) -> float:
    """Return a bound on the plans of any rule: those whose storage may be as slow as it will."""
    loosest = replace(rule, name="none", read_gb_per_s=0.0, write_gb_per_s=0.0)
    answer = study.prove(replace(study.case, rule=loosest), gap=max(ENOUGH, study.tie))
    found = answer.bound if answer.bound is not None else answer.value
    if found is None:
        return study.bound
    return natural(study.case.objective, found)


def _as_is(study: Study, question: Question, bound: float) -> Forced:
    """Return the row of a rule that the plan meets as it is, and under which it is as good."""
    pick = max if study.case.maximise else min
    bound = pick(bound, study.value)
    gap = abs(bound - study.value) / max(abs(study.value), 1e-12)
    return Forced(
        kind=question.kind,
        key=question.key,
        label=question.label,
        setting=question.setting,
        outcome="as_is",
        figures=figures.of_plan(study.plan),
        bought=figures.bought_in(study.plan),
        certificate=Certificate(value=study.value, bound=bound, gap=gap),
        loss=0.0,
    )


def _answer(study: Study, question: Question) -> Forced:
    """Return the best plan of a question beside the plan."""
    row = Forced(
        kind=question.kind,
        key=question.key,
        label=question.label,
        setting=question.setting,
        outcome="no_plan",
    )
    if study.out_of_patience:
        return row.model_copy(update={"outcome": "not_found", "reason": LATE})
    inputs = apply(study.inputs, question.changes)
    try:
        case = resolve(inputs)
    except InputError as error:
        return row.model_copy(update={"reason": _refusal(error)})
    answer = study.prove(case)
    if answer.operation is None:
        if answer.status != "infeasible":
            return row.model_copy(update={"outcome": "not_found"})
        return row.model_copy(update={"reason": "no plan meets every limit"})
    operation = cheap(study, case, answer)
    if question.kind != "storage_rule":  # a plan of the problem itself, for other questions
        study.remember(operation)
    certificate = certificate_under(case, answer, operation)
    return row.model_copy(
        update={
            "outcome": "plan",
            "figures": figures.of_operation(inputs, case, operation),
            "bought": figures.bought_by(inputs, case, operation),
            "certificate": certificate,
            "loss": study.loss(certificate.value),
        }
    )


def _refusal(error: InputError) -> str:
    """Return why a changed problem is none: it demands what is no longer on offer."""
    demands = [(f.path or "").removeprefix("items.") for f in error.findings]
    if all(finding.code == "demanded" for finding in error.findings):
        return f"the problem demands {', '.join(demands)}"
    return "; ".join(finding.message for finding in error.findings)


def certificate_under(case: Case, answer: Answer, operation: Run) -> Certificate:
    """Return the certificate of an operation under the bound of an answer."""
    value = measure(case, case.objective)(operation)
    pick = max if case.maximise else min
    bound = value if answer.bound is None else pick(answer.bound, value)
    return Certificate(
        value=natural(case.objective, value),
        bound=natural(case.objective, bound),
        gap=share(case, value, bound),
    )


def cheap(study: Study, case: Case, answer: Answer) -> Run:
    """Return a cheap plan among those as good as an answer: the GPU systems that it needs, other
    storage.

    The first plan found may hold far more than it needs, which would compare unfairly; where
    storage is next to nothing and no GPU system is left over it stays.
    """
    found = answer.operation
    assert found is not None
    assert answer.value is not None
    wanted = {system.id: _wanted(case, found, system) for system in case.systems}
    idle = any(found.units[name] > count for name, count in wanted.items())
    if costs_least(case) or (_storage_share(case, found) < LITTLE and not idle):
        return found
    value = natural(case.objective, answer.value)
    slack = 1.0 - study.tie if case.maximise else 1.0 + study.tie
    fixed = tuple(
        replace(system, low=wanted[system.id], high=wanted[system.id]) for system in case.systems
    )
    trimmed = study.prove(replace(case_no_worse(case, value * slack), systems=fixed), gap=1e-3)
    return found if trimmed.operation is None else trimmed.operation


def _wanted(case: Case, found: Run, system: System) -> int:
    """Return how many systems of a type a plan needs: in use, standing by, or demanded."""
    bought, used = found.units[system.id], found.used.get(system.id, 0)
    if case.job.repair is not None:  # as many as stand by are spares that pay
        return bought
    return min(bought, max(system.low, used + case.job.hot(used) if used else 0))


def _storage_share(case: Case, operation: Run) -> float:
    """Return what share of capex is for storage."""
    spent = bill(case, operation.units, operation.ways)
    storage = (spent.purchased[item.id] * (item.unit_net_usd or 0.0) for item in case.flash)
    return sum(storage) / max(spent["capex_usd"], 1.0)
