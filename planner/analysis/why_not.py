"""Why a plan holds no other items: best plans with other vendors and types, items, break-even."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeVar, get_args

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
from planner.api import Options
from planner.case import Case, Storage, System, resolve
from planner.case.figures import discount, support_usd_per_year, unit_net_usd
from planner.errors import Finding, InputError, did_you_mean
from planner.figures import OBJECTIVES
from planner.inputs import Change, Inputs, applied
from planner.limits import BY_NAME
from planner.optimizer.alternatives import bounds_with, fitted
from planner.optimizer.bill import bill
from planner.optimizer.objective import natural
from planner.optimizer.operate import Run
from planner.schema.analysis import BreakEven, Forced, Item, ItemKind, WhyNot
from planner.schema.plan import Plan

SAME = 1e-9
TIE_TOLERANCE, FLOOR_NOISE, VALUE_NOISE = 1e-6, 1e-7, 2e-7
"""Shares within which plans tie, and by which they may miss a floor."""
CATEGORIES = ("gpu_system", "storage")
ENOUGH, BOUNDED = 1e-4, 1e-3
"""Gap of the best plan with an item, and of the bounds on the loss of every item."""
LATE = "not computed, as it takes too long"


@dataclass
class Prober:
    """A solved problem and questions about changes of it; ``undecided`` collects open ones."""

    inputs: Inputs
    options: Options
    plan: Plan
    undecided: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.case = resolve(self.inputs)
        self.run = operation_of(self.case, self.plan)
        self.variants = Variants(self.inputs, self.options)

    @cached_property
    def base(self) -> Best:
        """The best plan, without near-optimal tolerance."""
        return self.variants.best()

    @property
    def value(self) -> float:
        """Objective of the best plan."""
        assert self.base.value is not None
        return self.base.value

    def better(self, value: float | None) -> bool:
        """True if a value is better than the best by more than its gap."""
        width = max(2.0 * self.options.gap, SAME) * abs(self.value)
        sign = 1.0 if self.case.maximise else -1.0
        return value is not None and sign * (value - self.value) > width

    def changed(self, changes: Sequence[Change]) -> Case | None:
        """Case of the changed problem; None where the changes contradict."""
        try:
            return resolve(applied(self.inputs, changes))
        except InputError:
            return None

    def value_of(self, run: Run | None, changes: Sequence[Change]) -> float | None:
        """Value of a plan in the changed problem; None where it is none."""
        case = None if run is None else self.changed(changes)
        again = None if case is None or run is None else fitted(case, run)
        return None if case is None or again is None else value_of(case, again)

    # Plans that tie with the plan, whose values are in the objective's own unit

    @property
    def planned(self) -> float:
        """The plan's objective."""
        assert self.plan.objective.value is not None
        return self.plan.objective.value

    @property
    def bound(self) -> float:
        """Bound of the objective; the plan's value where nothing is proven."""
        bound = self.plan.objective.bound
        return self.planned if bound is None else bound

    @property
    def tie(self) -> float:
        """Share of the objective within which plans count as equally good."""
        return max(min(TIE_TOLERANCE, self.options.gap / 2.0), self.case.indifference)

    @property
    def tied(self) -> float:
        """The worst value that still ties with the best; the plan's own does in any case."""
        share = self.tie - FLOOR_NOISE
        if self.case.maximise:
            return min(self.planned, self.bound * (1.0 - share))
        return max(self.planned, self.bound * (1.0 + share))

    @property
    def beyond(self) -> float:
        """The worst value that is better than the plan by more than ties allow."""
        if self.case.objective == "gpus":
            return math.floor(self.bound * (1.0 + self.tie)) + 1.0
        return self.bound * (1.0 + (self.tie if self.case.maximise else -self.tie))

    def loss(self, value: float) -> float:
        """Excess of the plan's value over a worse one, as a share of it."""
        worse = self.planned - value if self.case.maximise else value - self.planned
        return worse / max(abs(self.planned), 1e-12)

    def extra_usd(self, case: Case, run: Run) -> float:
        """Excess of the capex of an operation over the plan's."""
        assert self.plan.totals is not None
        return bill(case, run.units, run.ways)["capex_usd"] - (self.plan.totals.capex_usd or 0.0)


# Other vendors and types, and items that the plan does not hold


def why_not(inputs: Inputs, plan: Plan, options: Options, *, asked: Sequence[str] = ()) -> WhyNot:
    """Plans beside the best one, and why each item is not in it.

    Args:
        asked: items to answer exactly, with their break-even prices; the others are bounded.

    Raises:
        InputError: an asked name is no item, or is in the plan.
    """
    check_items(inputs, asked)
    return why_not_of(Prober(inputs, options, plan), asked)


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


def why_not_of(prober: Prober, asked: Sequence[str]) -> WhyNot:
    """Plans beside that of a solved problem, and items that are not in it."""
    goal, case = prober.plan.objective, prober.case
    for line in prober.plan.lines:
        if line.sku in asked and line.parent is None and line.working:
            message, fix = f"'{line.sku}' is in the plan", "ask about an item that is not"
            raise InputError(Finding("why-not", message, "--why-not", fix=fix))
    base = WhyNot(objective=goal.name, sense=goal.sense, tie=case.indifference)
    run = prober.run
    if goal.value is None or run is None:
        return base.model_copy(update={"message": "there is no plan to compare with"})
    rivals = [_rival_plan(prober, other) for other in others(prober.inputs, case, run.units)]
    names = [offer.id for offer in case.offers() if not run.units[offer.id]]
    items = sorted(_items(prober, names, rivals, asked), key=lambda item: (item.category, item.sku))
    forced = tuple(row for row, _ in rivals)
    return base.model_copy(update={"tie": prober.tie, "forced": forced, "items": tuple(items)})


class Rival(NamedTuple):
    """Units of the best plan with another vendor or type, its loss, and its excess capex."""

    units: Mapping[str, int]
    loss: float
    extra_usd: float


def _rival_plan(prober: Prober, other: Other) -> tuple[Forced, Rival | None]:
    named: dict[str, Any] = other._asdict()
    named["setting"] = tuple(change.setting for change in named.pop("changes"))
    best = prober.variants.best(other.changes, ties=True)
    if best.case is None or best.impossible:
        return Forced(**named, outcome="no_plan", reason=best.reason or NO_PLAN), None
    if best.run is None or best.value is None:
        return Forced(**named, outcome="not_found", reason=LATE), None
    loss = prober.loss(best.value)
    extra = prober.extra_usd(best.case, best.run)
    row = Forced(**named, outcome="plan", value=best.value, loss=loss, extra_capex_usd=extra)
    return row, Rival(best.run.units, loss, extra)


def _items(
    prober: Prober,
    names: Sequence[str],
    rivals: Sequence[tuple[Forced, Rival | None]],
    asked: Sequence[str],
) -> Iterator[Item]:
    """Yield why each GPU system and storage item that the plan does not hold is not in it."""
    case = prober.case
    bounds = bounds_with(case, names, BOUNDED, prober.options.effort)
    for name in names:
        bound, least = bounds[name], prober.loss(prober.bound)
        if name in asked:
            yield _asked_item(prober, name)
            continue
        if isinstance(bound, str):
            yield _item(prober, name, "no_plan", exact=True)
            continue
        if bound is not None:
            least = max(least, prober.loss(natural(case.objective, bound)))
        holding = [rival for _, rival in rivals if rival is not None and rival.units.get(name)]
        best = min(holding, key=lambda rival: rival.loss, default=None)
        known = (None, None) if best is None else (best.loss, best.extra_usd)
        yield _placed(prober, name, least, *known)
    for name, why in case.not_considered:
        yield _item(prober, name, "left_out", reason=why, asked=name in asked)


def _asked_item(prober: Prober, name: str) -> Item:
    """An item by the best plan that holds it, with its break-even price."""
    case, variants = prober.case, prober.variants
    best = variants.best_of(replace(case, must_use=(name,)))
    if best.impossible:
        return _item(prober, name, "no_plan", exact=True, asked=True)
    if best.run is None or best.value is None or best.bound is None:
        price = BreakEven(outcome="not_computed", reason=LATE)
        return _item(prober, name, "open", break_even=price, asked=True)
    least, most, extra_usd = prober.loss(best.bound), prober.loss(best.value), None
    if least <= prober.loss(prober.tied):
        tied = case_no_worse(case, prober.tied, money_of(case))
        cheapest = variants.best_of(replace(tied, must_use=(name,)))
        if cheapest.impossible:
            least = max(least, prober.loss(prober.tied))
        elif cheapest.run is not None:
            most = min(most, prober.loss(value_of(case, cheapest.run)))
            extra_usd = prober.extra_usd(case, cheapest.run)
    price = break_even(prober, name)
    return _placed(prober, name, least, most, extra_usd, break_even=price, asked=True)


def _placed(
    prober: Prober,
    name: str,
    least: float,
    most: float | None,
    extra_usd: float | None,
    **more: Any,
) -> Item:
    """An item whose best plan loses from ``least`` to ``most``."""
    kind: ItemKind = "open"
    if least >= prober.loss(prober.tied):
        kind = "worse"
    elif most is not None and most <= prober.loss(prober.tied) + VALUE_NOISE:
        kind = "as_good"
        more["extra_capex_usd"] = extra_usd
        if name in prober.case.policy.disliked:
            more["reason"] = "the problem prefers other vendors"
    exact = kind != "open" and most is not None and most - least <= ENOUGH
    return _item(prober, name, kind, at_least=least, at_most=most, exact=exact, **more)


def _item(prober: Prober, name: str, kind: ItemKind, **known: Any) -> Item:
    """Item with its price."""
    item, price = prober.inputs.item(name), prober.inputs.prices.get(name)
    category = "gpu_system" if item.category == "gpu_system" else "storage"
    known |= {"sku": name, "model": item.model, "kind": kind, "category": category}
    net_usd = None if price is None else _net_usd(prober.inputs, name, price.list_usd)
    return Item.model_validate(known | {"net_usd": net_usd})


def _net_usd(inputs: Inputs, name: str, list_usd: float) -> float:
    price = inputs.prices[name].model_copy(update={"list_usd": list_usd})
    return unit_net_usd(inputs.item(name), price, inputs.discounts, inputs.problem.shown_in)


# Break-even: the highest price at which an item is bought

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
FINE, COARSE = 0.004, 9e-4
"""Distance of both ends of a break-even price: a share of it, and at least of today's price."""


def money_of(case: Case) -> Money:
    """Money that decides between plans: the objective, or capex on ties."""
    return case.objective if case.objective in MONEY else "cost"


def break_even(prober: Prober, name: str) -> BreakEven:
    """Highest list price of an item, up to today's, at which it enters the plan.

    A lower price never keeps it out, so bisection ends with a price at which a plan with the item
    exists and one a little higher at which none does.
    """
    reason = _no_price(prober, name)
    if reason is not None:
        return BreakEven(outcome="not_computed", reason=reason)
    today = prober.inputs.prices[name].list_usd
    low, high = 0.0, today
    enters = enters_at(prober, name, today)
    if enters:
        low = today
    elif enters is not None:
        enters = enters_at(prober, name, 0.0)
        if enters is False:
            return BreakEven(outcome="no_price_helps")
    while enters is not None and high - low > max(FINE * low, COARSE * today):
        middle = round((low + high) / 2.0, 2)
        enters = enters_at(prober, name, middle)
        low, high = (middle, high) if enters else (low, middle)
    if enters is None:
        return BreakEven(outcome="not_computed", reason="the search did not settle it")
    return BreakEven(
        outcome="found",
        enters_at_usd=_net_usd(prober.inputs, name, low),
        enters_at_list_usd=low,
        not_at_list_usd=None if low == today else high,
    )


def _no_price(prober: Prober, name: str) -> str | None:
    """Reason why there is no break-even price, or None."""
    inputs = prober.inputs
    if prober.plan.status != "optimal":
        return "the plan itself is not proven best"
    if name not in inputs.prices:
        return "it has no price"
    if discount(inputs.item(name), inputs.discounts) >= 1.0:
        return "it is discounted to nothing"
    if inputs.problem.policy.prefer is not None:
        return "the problem prefers vendors, which goes before money"
    return None


def enters_at(prober: Prober, name: str, list_usd: float) -> bool | None:
    """True if a plan with an item at a list price ties and costs no more than the plan, or is
    better by more than ties allow; None where the search did not end."""
    case = _with_price(prober, name, list_usd)
    money = money_of(case)
    tied, goal = case_no_worse(case, prober.tied, money), OBJECTIVES[money]
    row = BY_NAME[goal.limit].field
    own: float | None = tied.limits[row]
    spent_usd: float = getattr(prober.plan.totals, goal.figure.name)
    most: dict[str, Any] = {row: min(spent_usd, math.inf if own is None else own)}
    asked = [replace(tied, limits=tied.limits.with_values(**most))]
    limited = any(case.limits[each] is not None for each in MONEY_LIMITS)
    if limited and case.objective not in MONEY:  # cheaper, a better plan keeps the budget
        asked.append(case_no_worse(case, prober.beyond, money))
    left_open = False
    for one in asked:
        best = prober.variants.best_of(replace(one, must_use=(name,)), gap=ENOUGH)
        if best.run is not None:
            return True
        left_open = left_open or not best.impossible
    return None if left_open else False


def _with_price(prober: Prober, name: str, list_usd: float) -> Case:
    """Case with an item at a list price."""
    case, inputs = prober.case, prober.inputs
    price = inputs.prices[name].model_copy(update={"list_usd": list_usd})
    priced = (inputs.item(name), price, inputs.discounts, inputs.problem.shown_in)
    money: dict[str, Any] = {
        "unit_net_usd": unit_net_usd(*priced),
        "support_usd_per_year": support_usd_per_year(*priced),
    }

    def sold(offer: OfferT) -> OfferT:
        return replace(offer, **money) if offer.id == name else offer

    systems, storage = map(sold, case.systems), map(sold, case.storage)
    return replace(case, systems=tuple(systems), storage=tuple(storage))
