"""Why a plan holds no other items: best plans with other vendors and types, items, break-even."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from planner import api
from planner.analysis.variants import (
    NO_PLAN,
    Best,
    Other,
    Variants,
    case_no_worse,
    operation_of,
    others,
    value_of,
)
from planner.case import Case, Storage, System, resolve
from planner.case.figures import discount, support_usd_per_year, unit_net_usd
from planner.errors import Finding, InputError, did_you_mean
from planner.figures import OBJECTIVES
from planner.inputs import Inputs
from planner.limits import BY_NAME
from planner.optimizer.bill import bill
from planner.optimizer.objective import floors, measure, natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import bounds_with
from planner.optimizer.stores import broken_limits
from planner.schema.explanation import BreakEven, Forced, Item, ItemKind, WhyNot
from planner.schema.plan import Plan

CATEGORIES = ("gpu_system", "storage")
TIE_TOLERANCE, FLOOR_NOISE, VALUE_NOISE = 1e-6, 1e-7, 2e-7
"""Shares within which plans tie, and by which they may miss a floor."""
ENOUGH, BOUNDED = 1e-4, 1e-3
"""Gap of the best plan with an item, and of the bounds on the loss of every item."""
LATE = "not computed, as it takes too long"

OfferT = TypeVar("OfferT", System, Storage)
Money = Literal["cost", "tco", "usd_per_useful_gpu_hour", "usd_per_million_tokens"]
MONEY: frozenset[Money] = frozenset(get_args(Money))
MONEY_LIMITS = (
    "capex_usd",
    "opex_usd_per_year",
    "tco_usd",
    "per_useful_gpu_hour",
    "per_million_tokens",
)


def why_not(
    inputs: Inputs,
    plan: Plan,
    options: api.Options,
    *,
    asked: Sequence[str] = (),
) -> WhyNot:
    """Plans beside the best one, and why each item is not in it.

    Args:
        asked: items to answer exactly, with their break-even prices; the others are bounded.

    Raises:
        InputError: an asked name is no item, or is in the plan.
    """
    check_items(inputs, asked)
    for line in plan.lines:
        if line.sku in asked and line.parent is None and line.working:
            fix = "ask about an item that is not"
            message = f"'{line.sku}' is in the plan"
            raise InputError(Finding("why-not", message, "--why-not", fix=fix))
    goal, case = plan.objective, resolve(inputs)
    planned = operation_of(case, plan)
    base = WhyNot(objective=goal.name, sense=goal.sense, tie=case.indifference)
    if goal.value is None or planned is None:
        return base.model_copy(update={"message": "there is no plan to compare with"})
    solved = Solved(inputs, plan, Variants(inputs, options), case, planned)
    rivals = [_rival_plan(solved, other) for other in others(inputs, case, planned.units)]
    return base.model_copy(
        update={
            "tie": solved.tie,
            "forced": tuple(row for row, _ in rivals),
            "items": tuple(_items(solved, rivals, asked)),
        }
    )


def check_items(inputs: Inputs, asked: Sequence[str]) -> None:
    """Refuse questions about an item that is no GPU system or storage.

    Raises:
        InputError: with the nearest name.
    """
    kinds = [item.id for item in inputs.items if item.category in CATEGORIES]
    for name in asked:
        if name in kinds:
            continue
        message = f"no item named '{name[:60]}' in the catalogs of the problem"
        fix = did_you_mean(name, kinds) or "planner catalog lists every item"
        if name in inputs.by_id:
            message = f"'{name}' is a companion: it comes with GPU systems and storage as needed"
            fix = "ask about a GPU system or a storage item"
        raise InputError(Finding("why-not", message, "--why-not", fix=fix))


@dataclass(frozen=True)
class Solved:
    """A solved problem: its plan and operation, the values that tie with it, losses against it."""

    inputs: Inputs
    plan: Plan
    variants: Variants
    case: Case
    run: Run

    @property
    def value(self) -> float:
        """The plan's objective in its own unit."""
        assert self.plan.objective.value is not None
        return self.plan.objective.value

    @property
    def bound(self) -> float:
        """Bound of the objective; the value where nothing is proven."""
        bound = self.plan.objective.bound
        return self.value if bound is None else bound

    @property
    def tie(self) -> float:
        """Share of the objective within which plans count as equally good."""
        return max(min(TIE_TOLERANCE, self.variants.options.gap / 2.0), self.case.indifference)

    @property
    def tied(self) -> float:
        """The worst value that still ties with the best; the plan's own does in any case."""
        share = self.tie - FLOOR_NOISE
        if self.case.maximise:
            return min(self.value, self.bound * (1.0 - share))
        return max(self.value, self.bound * (1.0 + share))

    @property
    def beyond(self) -> float:
        """The worst value that is better than the plan by more than ties allow."""
        if self.case.objective == "gpus":
            return math.floor(self.bound * (1.0 + self.tie)) + 1.0
        return self.bound * (1.0 + (self.tie if self.case.maximise else -self.tie))

    @property
    def tied_loss(self) -> float:
        """The largest loss that still ties with the best."""
        return self.loss(self.tied)

    def loss(self, value: float) -> float:
        """Excess of the plan's value over a worse one, as a share of it."""
        worse = self.value - value if self.case.maximise else value - self.value
        return worse / max(abs(self.value), 1e-12)

    def extra_usd(self, capex_usd: float) -> float:
        """Excess of a capex over the plan's."""
        assert self.plan.totals is not None
        return capex_usd - (self.plan.totals.capex_usd or 0.0)


# Other storage vendors and GPU types, and items that the plan does not hold


class Rival(NamedTuple):
    """Units of the best plan with another vendor or type, its loss, and its excess capex."""

    units: dict[str, int]
    loss: float
    extra_usd: float


def _rival_plan(solved: Solved, other: Other) -> tuple[Forced, Rival | None]:
    settings = tuple(change.setting for change in other.changes)
    named = {"kind": other.kind, "key": other.key, "label": other.label, "setting": settings}
    best = solved.variants.best(other.changes, ties=True)
    if best.case is None or best.impossible:
        why = {"outcome": "no_plan", "reason": best.reason or NO_PLAN}
        return Forced.model_validate(named | why), None
    if best.run is None or best.value is None:
        return Forced.model_validate(named | {"outcome": "not_found", "reason": LATE}), None
    loss = solved.loss(best.value)
    row = {"outcome": "plan", "value": best.value, "loss": loss}
    extra_usd = solved.extra_usd(bill(best.case, best.run.units, best.run.ways)["capex_usd"])
    return Forced.model_validate(named | row), Rival(dict(best.run.units), loss, extra_usd)


def _items(
    solved: Solved, rivals: Sequence[tuple[Forced, Rival | None]], asked: Sequence[str]
) -> Iterator[Item]:
    """Yield why each GPU system and storage item that the plan does not hold is not in it."""
    case, variants = solved.case, solved.variants
    names = [offer.id for offer in case.offers() if not solved.run.units[offer.id]]
    bounds = bounds_with(case, names, BOUNDED, variants.options.effort)
    plans = [rival for _, rival in rivals if rival is not None]
    found = []
    for name in names:
        if name in asked:
            found.append(_asked_item(solved, name))
            continue
        bound, least = bounds[name], solved.loss(solved.bound)
        if isinstance(bound, str):
            found.append(_item(solved, name, "no_plan", exact=True))
            continue
        if bound is not None:
            least = max(least, solved.loss(natural(case.objective, bound)))
        holding = [rival for rival in plans if rival.units.get(name)]
        best = min(holding, key=lambda rival: rival.loss, default=None)
        most, extra_usd = (None, None) if best is None else (best.loss, best.extra_usd)
        found.append(_placed(solved, name, least, most, extra_usd))
    for name, why in case.not_considered:
        found.append(_item(solved, name, "left_out", reason=why, asked=name in asked))
    yield from sorted(found, key=lambda item: (item.category, item.sku))


def _asked_item(solved: Solved, name: str) -> Item:
    """An item by the best plan that holds it, with its break-even price."""
    case, variants = solved.case, solved.variants
    best = variants.best_of(replace(case, must_use=(name,)))
    if best.impossible:
        return _item(solved, name, "no_plan", exact=True, asked=True)
    if best.run is None or best.value is None or best.bound is None:
        price = BreakEven(outcome="not_computed", reason=LATE)
        return _item(solved, name, "open", break_even=price, asked=True)
    least, most = solved.loss(best.bound), solved.loss(best.value)
    extra_usd = None
    if least <= solved.tied_loss:
        tied = case_no_worse(case, solved.tied, money_of(case))
        cheapest = variants.best_of(replace(tied, must_use=(name,)))
        if cheapest.impossible:
            least = max(least, solved.tied_loss)
        elif cheapest.run is not None:
            most = min(most, solved.loss(value_of(case, cheapest.run)))
            extra_usd = solved.extra_usd(natural("cost", measure(case, "cost")(cheapest.run)))
    price = break_even(solved, name, best)
    return _placed(solved, name, least, most, extra_usd, break_even=price, asked=True)


def _placed(
    solved: Solved,
    name: str,
    least: float,
    most: float | None,
    extra_usd: float | None,
    **more: Any,
) -> Item:
    """An item whose best plan loses from ``least`` to ``most``."""
    kind: ItemKind = "open"
    if least >= solved.tied_loss:
        kind = "worse"
    elif most is not None and most <= solved.tied_loss + VALUE_NOISE:
        kind = "as_good"
    disliked = kind == "as_good" and name in solved.case.policy.disliked
    return _item(
        solved,
        name,
        kind,
        reason="the problem prefers other vendors" if disliked else None,
        at_least=least,
        at_most=most,
        exact=kind != "open" and most is not None and most - least <= ENOUGH,
        extra_capex_usd=extra_usd if kind == "as_good" else None,
        **more,
    )


def _item(solved: Solved, name: str, kind: ItemKind, **known: Any) -> Item:
    """Item with its price."""
    item, inputs = solved.inputs.item(name), solved.inputs
    price, net_usd = inputs.prices.get(name), None
    if price is not None:
        net_usd = unit_net_usd(item, price, inputs.discounts, inputs.problem.shown_in)
    category = "gpu_system" if item.category == "gpu_system" else "storage"
    known |= {"sku": name, "model": item.model, "kind": kind, "category": category}
    return Item.model_validate(known | {"net_usd": net_usd})


# Break-even: the highest price at which an item is bought

CENT_USD = 0.01
MONEY_NOISE = 1e-9
STEP, LEAST_STEP = 0.004, 1e-5
"""Step above a price that is good enough, as a share of it, and at least of today's price."""
MOST_SEARCHES = 16


def money_of(case: Case) -> Money:
    """Money that decides between plans: the objective, or capex on ties."""
    return case.objective if case.objective in MONEY else "cost"


def break_even(solved: Solved, name: str, best: Best) -> BreakEven:
    """Highest price of an item at which it enters the plan: a plan there, no plan a step above.

    Args:
        best: the best plan with the item at today's price.
    """
    reason = _no_price(solved, name)
    if reason is not None:
        return BreakEven(outcome="not_computed", reason=reason)
    contest = Contest(solved, name)
    found = (best.run and contest.highest_usd(best.run)) or contest.find(0.0)
    if found == "no plan":
        return BreakEven(outcome="no_price_helps")
    step, today = STEP, contest.today_usd
    for _ in range(MOST_SEARCHES):
        if not isinstance(found, float):
            break
        if found >= today:
            return contest.record(found, None)
        price = max(found * (1.0 + step), found + today * LEAST_STEP)
        price = min(today, round(price, 2) + CENT_USD)
        above = contest.find(price)
        if above == "no plan":
            return contest.record(found, price)
        found, step = (above, step) if isinstance(above, float) else (found, 2.0 * step)
    return BreakEven(outcome="not_computed", reason="the search did not settle it")


def _no_price(solved: Solved, name: str) -> str | None:
    """Reason why there is no break-even price, or None."""
    inputs = solved.inputs
    if solved.plan.status != "optimal":
        return "the plan itself is not proven best"
    if name not in inputs.prices:
        return "it has no price"
    if discount(inputs.item(name), inputs.discounts) >= 1.0:
        return "it is discounted to nothing"
    if inputs.problem.policy.prefer is not None:
        return "the problem prefers vendors, which goes before money"
    return None


@dataclass(frozen=True)
class Contest:
    """One item against the plan, at any list price up to that of today."""

    solved: Solved
    name: str

    @property
    def today_usd(self) -> float:
        """List price in the price books."""
        return self.solved.inputs.prices[self.name].list_usd

    def case_at(self, list_usd: float) -> Case:
        """Case with the item at a list price."""
        case, inputs = self.solved.case, self.solved.inputs
        item, shown_in = inputs.item(self.name), inputs.problem.shown_in
        price = inputs.prices[self.name].model_copy(update={"list_usd": list_usd})
        money: dict[str, Any] = {
            "unit_net_usd": unit_net_usd(item, price, inputs.discounts, shown_in),
            "support_usd_per_year": support_usd_per_year(item, price, inputs.discounts, shown_in),
        }

        def sold(offer: OfferT) -> OfferT:
            return replace(offer, **money) if offer.id == self.name else offer

        systems, storage = map(sold, case.systems), map(sold, case.storage)
        return replace(case, systems=tuple(systems), storage=tuple(storage))

    @cached_property
    def most_usd(self) -> float:
        """Money of the plan: the most that a plan that ties may cost."""
        figure = OBJECTIVES[money_of(self.solved.case)].figure.name
        most: float | None = getattr(self.solved.plan.totals, figure)
        assert most is not None
        return most

    def find(self, list_usd: float) -> float | Literal["no plan", "open"]:
        """The highest list price, at least this, at which a plan found at this price is bought."""
        solved, case = self.solved, self.case_at(list_usd)
        money = money_of(case)
        tied = case_no_worse(case, solved.tied, money)
        row = BY_NAME[OBJECTIVES[money].limit].field
        own: float | None = tied.limits[row]
        most: dict[str, Any] = {row: min(self.most_usd, math.inf if own is None else own)}
        asked = [replace(tied, limits=tied.limits.with_values(**most))]
        limited = any(case.limits[each] is not None for each in MONEY_LIMITS)
        if limited and case.objective not in MONEY:  # cheaper, a better plan keeps the budget
            asked.append(case_no_worse(case, solved.beyond, money))
        left_open = False
        for one in asked:
            best = solved.variants.best_of(replace(one, must_use=(self.name,)), gap=ENOUGH)
            highest = None if best.run is None else self.highest_usd(best.run)
            if highest is not None:
                return max(highest, list_usd)
            left_open = left_open or not best.impossible
        return "open" if left_open else "no plan"

    def highest_usd(self, run: Run) -> float | None:
        """The highest list price at which a plan is no worse than the plan, None for none.

        A plan's cost is linear in the price, so bisection finds it without another search.
        """
        if not run.units.get(self.name) or not self._wins(run, 0.0):
            return None
        if self._wins(run, self.today_usd):
            return self.today_usd
        low, high = 0.0, self.today_usd
        while high - low > CENT_USD / 2.0:
            middle = (low + high) / 2.0
            low, high = (middle, high) if self._wins(run, middle) else (low, middle)
        return math.floor(low * 100.0) / 100.0

    def _wins(self, run: Run, list_usd: float) -> bool:
        """True if a plan is as good as the plan, or better, at a list price."""
        solved, case = self.solved, self.solved.case
        at, money = self.case_at(list_usd), money_of(case)
        if broken_limits(at, run.units, run.ways) or not floors(at)(run):
            return False
        spent_usd = natural(money, measure(at, money)(run))
        affordable = spent_usd <= self.most_usd * (1.0 + MONEY_NOISE)
        if case.objective in MONEY:
            return affordable
        loss = solved.loss(value_of(case, run))
        better = loss <= solved.loss(solved.beyond) + VALUE_NOISE
        return better or (affordable and loss <= solved.tied_loss + VALUE_NOISE)

    def record(self, enters_usd: float, not_at_usd: float | None) -> BreakEven:
        """Break-even by list prices; ``not_at_usd``: where the item is not bought."""
        inputs, item = self.solved.inputs, self.solved.inputs.item(self.name)

        def net_usd(list_usd: float) -> float:
            price = inputs.prices[self.name].model_copy(update={"list_usd": list_usd})
            return unit_net_usd(item, price, inputs.discounts, inputs.problem.shown_in)

        return BreakEven(
            outcome="found",
            enters_at_usd=net_usd(enters_usd),
            enters_at_list_usd=enters_usd,
            not_at_usd=None if not_at_usd is None else net_usd(not_at_usd),
            not_at_list_usd=not_at_usd,
        )
