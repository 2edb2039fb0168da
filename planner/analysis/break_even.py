"""The highest price at which an item would be bought: its break-even price, with proof."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

from planner.analysis.questions import (
    Study,
    case_no_worse,
    case_with_item,
    case_within_money,
    costs_least,
    limits_money,
    money_of,
)
from planner.case import Case, Storage, System, resolve
from planner.case.money import discount, support_usd_per_year, unit_net_usd
from planner.figures import OBJECTIVES, RATIOS
from planner.inputs import Inputs
from planner.optimizer.checks import broken_limits
from planner.optimizer.objective import floors, measure, natural
from planner.optimizer.operate import Run
from planner.schema.explanation import BreakEven
from planner.schema.prices import Price

LEAST_USD = 0.005
VALUE_NOISE = 1e-7
MONEY_NOISE = 1e-9
RATIO_NOISE = 1e-7
"""Relative excess of a bound on a ratio that rules the ratio out."""
STEP, LEAST_STEP = 0.004, 1e-5
"""Step above a price that is good enough, as a share of it, and at least of today's price."""
MOST_SEARCHES = 16
LATE = "not computed, as it takes too long; ask with --why-not {name}"
OfferT = TypeVar("OfferT", System, Storage)


class Rival(NamedTuple):
    """A plan that holds the item, and the highest list price at which it would be taken."""

    run: Run
    list_usd: float


def break_even(study: Study, name: str, *, asked: bool) -> BreakEven:
    """Highest price of an item at which it enters the plan.

    Args:
        name: an item on offer that the plan does not hold.
        asked: whether to go on when the time is over.
    """
    contest = Contest(study, name)
    reason = _no_answer(study, contest)
    if reason is not None:
        return BreakEven(outcome="not_computed", reason=reason)
    rivals = [contest.priced(run) for run in study.known.get(name, [])]
    known = [rival for rival in rivals if rival is not None]
    found: Rival | bool
    if known:
        found = max(known, key=lambda rival: rival.list_usd)
    elif study.late and not asked:
        return BreakEven(outcome="not_computed", reason=LATE.format(name=name))
    else:
        found = contest.find(0.0)
    if found is True:
        return BreakEven(outcome="not_computed", reason="the solver did not settle it")
    if found is False:
        return BreakEven(outcome="no_price_helps")
    return _climb(study, contest, found, asked=asked)


def _no_answer(study: Study, contest: Contest) -> str | None:
    """Reason why there is no break-even price, or None."""
    inputs = study.inputs
    policy = inputs.problem.policy
    if study.plan.status != "optimal":
        return "the plan itself is not proven best"
    if contest.name not in inputs.prices:
        return "it has no price"
    if discount(inputs.item(contest.name), inputs.discounts) >= 1.0:
        return "it is discounted to nothing"
    if policy.prefer is not None:
        return "the problem prefers vendors, which goes before money"
    return None


def _climb(study: Study, contest: Contest, best: Rival, *, asked: bool) -> BreakEven:
    """Raise the price until there is provably no rival."""
    today, step = contest.today_list_usd, STEP
    for _ in range(MOST_SEARCHES):
        if best.list_usd >= today:
            return _found(contest, best, None)
        if study.late and not asked:
            return BreakEven(outcome="not_computed", reason=LATE.format(name=contest.name))
        price = max(best.list_usd * (1.0 + step), best.list_usd + today * LEAST_STEP)
        price = min(today, round(price, 2) + 0.01)
        found = contest.find(price)
        if found is False:
            return _found(contest, best, price)
        if isinstance(found, Rival):
            best = found
        else:
            step *= 2.0
    return BreakEven(outcome="not_computed", reason="the search did not settle it")


def _found(contest: Contest, best: Rival, not_at_list_usd: float | None) -> BreakEven:
    return BreakEven(
        outcome="found",
        enters_at_usd=contest.net_usd(best.list_usd),
        enters_at_list_usd=best.list_usd,
        not_at_usd=None if not_at_list_usd is None else contest.net_usd(not_at_list_usd),
        not_at_list_usd=not_at_list_usd,
        units=best.run.units[contest.name],
    )


@dataclass(frozen=True)
class Contest:
    """One item against the plan, at any list price up to that of today."""

    study: Study
    name: str

    @property
    def today_list_usd(self) -> float:
        """The list price in the price books."""
        return self.study.inputs.prices[self.name].list_usd

    def _price(self, list_usd: float) -> Price:
        return self.study.inputs.prices[self.name].model_copy(update={"list_usd": list_usd})

    def _inputs(self, list_usd: float) -> Inputs:
        """Inputs with another list price; support follows where it is a share."""
        inputs = self.study.inputs
        return replace(inputs, prices={**inputs.prices, self.name: self._price(list_usd)})

    def net_usd(self, list_usd: float) -> float:
        """Price of a unit after discount."""
        inputs = self.study.inputs
        item, shown_in = inputs.item(self.name), inputs.problem.shown_in
        return unit_net_usd(item, self._price(list_usd), inputs.discounts, shown_in)

    def find(self, list_usd: float) -> Rival | bool:
        """Rival at a list price; False where there is none, True where it stays open."""
        study = self.study
        case = case_with_item(study, self.name, self._inputs(list_usd))
        if case.objective in RATIOS:
            found = self._least_ratio(case, list_usd)
            if found is not None:
                return found
        variants = [case_within_money(case_no_worse(case, study.tied), self.most_usd)]
        if not costs_least(case) and limits_money(case):
            variants.append(case_no_worse(case, study.beyond))
        left_open = False
        for variant in variants:
            answer = study.prove(replace(variant, must_use=case.must_use))
            rival = None if answer.operation is None else self.priced(answer.operation)
            if rival is not None:
                return Rival(rival.run, max(rival.list_usd, list_usd))
            left_open = left_open or answer.status != "infeasible"
        return left_open

    def _least_ratio(self, case: Case, list_usd: float) -> Rival | bool | None:
        """Rival of the least ratio at a list price; None where that stays open.

        The least is found sooner than that no plan keeps within a ratio.
        """
        least = replace(case, indifference=0.0)
        answer = self.study.prove(least, gap=self.study.options.gap)
        rival = None if answer.operation is None else self.priced(answer.operation)
        if rival is not None and rival.list_usd >= list_usd - 2.0 * LEAST_USD:
            return Rival(rival.run, max(rival.list_usd, list_usd))
        if answer.status == "infeasible":
            return False
        beyond = self.most_usd * (1.0 + RATIO_NOISE)
        out = answer.bound is not None and natural(case.objective, answer.bound) > beyond
        return False if out else None

    @cached_property
    def most_usd(self) -> float:
        """Most that a plan that ties may cost: the money of the plan."""
        figure = OBJECTIVES[money_of(self.study.case)].figure.name
        most: float | None = getattr(self.study.plan.totals, figure)
        assert most is not None
        return most

    def priced(self, run: Run) -> Rival | None:
        """A plan with the highest list price at which it is a rival, None if at none.

        A plan's cost is linear in the price, so bisection finds it without another search.
        """
        if not run.units.get(self.name):
            return None
        wins = self._wins(run)
        if wins(self.today_list_usd):
            return Rival(run, self.today_list_usd)
        if not wins(0.0):
            return None
        low, high = 0.0, self.today_list_usd
        while high - low > LEAST_USD:
            middle = (low + high) / 2.0
            low, high = (middle, high) if wins(middle) else (low, middle)
        return Rival(run, math.floor(low * 100.0) / 100.0)

    def _wins(self, run: Run) -> Callable[[float], bool]:
        """Predicate whether a plan is a rival at a list price."""
        study, case = self.study, self.study.case
        whole, loss = study.whole(run), study.loss_of(run)
        money, by_money = money_of(case), costs_least(case)
        tied = by_money or loss <= study.tied_loss + VALUE_NOISE
        better = not by_money and loss <= study.loss(study.beyond) + VALUE_NOISE

        def wins(list_usd: float) -> bool:
            at = self._repriced(list_usd)
            if broken_limits(at, whole.units, whole.ways) or not floors(at)(whole):
                return False
            spent_usd = natural(money, measure(at, money)(whole))
            return better or (tied and spent_usd <= self.most_usd * (1.0 + MONEY_NOISE))

        return wins

    @cached_property
    def _free(self) -> Case:
        """The case with the item for nothing: its companions reach for any price."""
        return resolve(self._inputs(0.0))

    def _repriced(self, list_usd: float) -> Case:
        """Case with the item at another price."""
        inputs, at = self.study.inputs, self._price(list_usd)
        item, shown_in = inputs.item(self.name), inputs.problem.shown_in
        net_usd = unit_net_usd(item, at, inputs.discounts, shown_in)
        support_usd = support_usd_per_year(item, at, inputs.discounts, shown_in)

        def sold(offer: OfferT) -> OfferT:
            if offer.id != self.name:
                return offer
            return replace(offer, unit_net_usd=net_usd, support_usd_per_year=support_usd)

        case = self._free
        systems, storage = map(sold, case.systems), map(sold, case.storage)
        return replace(case, systems=tuple(systems), storage=tuple(storage))
