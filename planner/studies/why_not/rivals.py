"""Plans with a given item at a given price that would be taken instead of the plan.

Two kinds would: plans that tie with the best in the objective and cost no more than the plan, and
plans that are better in the objective by more than ties allow. Each is a case of least money: it
has a plan, or it is proven that no such plan exists.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from planner.case import Case, Storage, System, resolve
from planner.case.money import discount, support_usd_per_year, unit_net_usd
from planner.optimizer.joint import floors
from planner.optimizer.measure import measure
from planner.optimizer.objective import natural
from planner.optimizer.operate import Operation
from planner.optimizer.purchase import broken_rows
from planner.studies.why_not.demand import at_price, demanding
from planner.studies.why_not.floors import keeping, limits_money, money_of, within_money
from planner.studies.why_not.study import Study

LEAST_USD = 0.005
VALUE_NOISE = 1e-7
MONEY_NOISE = 1e-9
OfferT = TypeVar("OfferT", System, Storage)


@dataclass(frozen=True)
class Rival:
    """A plan that holds the item, and the highest list price at which it would be taken."""

    operation: Operation
    list_usd: float


@dataclass(frozen=True)
class Contest:
    """One item against the plan, at any price up to today's."""

    study: Study
    name: str

    @cached_property
    def today_list_usd(self) -> float:
        """The list price in the price books."""
        return self.study.inputs.prices[self.name].list_usd

    def net_usd(self, list_usd: float) -> float:
        """Return what a unit costs after discount."""
        item, price = self.study.catalog[self.name], self.study.inputs.prices[self.name]
        at = price.model_copy(update={"list_usd": list_usd})
        return unit_net_usd(item, at, self.study.inputs.discounts)

    @property
    def free_of_charge(self) -> bool:
        """Whether a discount of all of it leaves no price to change."""
        return discount(self.study.catalog[self.name], self.study.inputs.discounts) >= 1.0

    def find(self, list_usd: float) -> Rival | bool:
        """Return a rival at a list price; False where there is none, True where it stays open."""
        case = demanding(self.study, self.name, at_price(self.study, self.name, list_usd))
        left_open = False
        for variant in self._variants(case):
            answer = self.study.prove(replace(variant, must_use=case.must_use))
            if answer.operation is not None:
                rival = self.priced(answer.operation)
                if rival is not None:
                    return Rival(rival.operation, max(rival.list_usd, list_usd))
            left_open = left_open or answer.status != "infeasible"
        return left_open

    def _variants(self, case: Case) -> list[Case]:
        """Return the cases of least money of the two kinds of rivals."""
        study = self.study
        cases = [self._tied(case)]
        if case.objective not in ("cost", "tco") and limits_money(case):
            cases.append(keeping(case, _beyond(study)))
        return cases

    def _tied(self, case: Case) -> Case:
        kept = keeping(case, self.study.tied)
        return within_money(kept, self.most_usd)

    @cached_property
    def most_usd(self) -> float:
        """What a plan that ties may cost: what the plan does."""
        totals = self.study.plan.totals
        assert totals is not None
        most = totals.tco_usd if self.study.case.objective == "tco" else totals.capex_usd
        assert most is not None
        return most

    def priced(self, operation: Operation) -> Rival | None:
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

    def _wins(self, operation: Operation) -> Callable[[float], bool]:
        """Return what says whether a plan is a rival at a list price."""
        study, case = self.study, self.study.case
        whole = study.whole(operation)
        loss = study.loss(natural(case.objective, measure(case, case.objective)(whole)))
        money = money_of(case)
        by_money = case.objective == money
        tied = by_money or loss <= study.tied_loss + VALUE_NOISE
        better = not by_money and loss <= study.loss(_beyond(study)) + VALUE_NOISE

        def wins(list_usd: float) -> bool:
            at = self._repriced(list_usd)
            if broken_rows(at, whole.units) or not floors(at)(whole):
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
        item, discounts = self.study.catalog[self.name], self.study.inputs.discounts
        at = self.study.inputs.prices[self.name].model_copy(update={"list_usd": list_usd})
        net_usd = unit_net_usd(item, at, discounts)
        support_usd = support_usd_per_year(item, at, discounts)

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
