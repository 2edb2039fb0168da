"""Why a plan holds no other items: best plans with other vendors and types, items, break-even."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from planner import api
from planner.analysis.variants import (
    Best,
    Variants,
    figures_of,
    operation_of,
    storage_of,
    systems_of,
    value_of,
)
from planner.case import Case, Storage, System, resolve
from planner.case.figures import discount, it_power_kw, support_usd_per_year, unit_net_usd
from planner.errors import Finding, InputError, did_you_mean
from planner.figures import OBJECTIVES
from planner.inputs import Change, Inputs
from planner.limits import BY_NAME
from planner.optimizer.bill import bill
from planner.optimizer.checks import broken_limits
from planner.optimizer.objective import floors, measure, natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import bounds_with, share
from planner.schema.explanation import (
    Bought,
    BreakEven,
    Certificate,
    Figures,
    Forced,
    ForcedKind,
    Item,
    ItemKind,
    WhyNot,
)
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
    known: Sequence[Run] = (),
) -> WhyNot:
    """Plans beside the best one, and why each item is not in it.

    Args:
        asked: items to answer exactly, with their break-even prices; the others are bounded.
        known: plans of the problem, or of problems like it, to start with.

    Raises:
        InputError: an asked name is no item, or is in the plan.
    """
    _check(inputs, plan, asked)
    solved, goal = Solved(inputs, plan, Variants(inputs, options, list(known))), plan.objective
    base = WhyNot(
        problem=plan.problem,
        objective=goal.name,
        sense=goal.sense,
        unit=goal.unit,
        value=goal.value,
        bound=goal.bound,
        tie=solved.tie,
        plan=None,
    )
    planned = operation_of(solved.case, plan)
    if goal.value is None or planned is None:
        return base.model_copy(update={"message": "there is no plan to compare with"})
    rows = tuple(_forced_plans(solved))
    return base.model_copy(
        update={
            "plan": _figures_of(inputs, solved.case, planned),
            "bought": _bought_by(inputs, solved.case, planned),
            "forced": rows,
            "items": tuple(_items(solved, rows, asked)),
        }
    )


def _check(inputs: Inputs, plan: Plan, asked: Sequence[str]) -> None:
    """Refuse questions about an item that is no GPU system or storage, or is in the plan."""
    known = inputs.by_id
    kinds = [item.id for item in inputs.items if item.category in CATEGORIES]
    held = {line.sku for line in plan.lines if line.parent is None and line.working}
    for name in asked:
        if name not in known:
            message = f"no item named '{name[:60]}' in the catalogs of the problem"
            fix = did_you_mean(name, kinds) or "planner catalog lists every item"
        elif known[name].category not in CATEGORIES:
            message = f"'{name}' is a companion: it comes with GPU systems and storage as needed"
            fix = "ask about a GPU system or a storage item"
        elif name in held:
            message, fix = f"'{name}' is in the plan", "ask about an item that is not"
        else:
            continue
        raise InputError(Finding("why-not", message, "--why-not", fix=fix))


@dataclass(frozen=True)
class Solved:
    """A solved problem: its value, the values that tie with it, and losses against it."""

    inputs: Inputs
    plan: Plan
    variants: Variants

    @cached_property
    def case(self) -> Case:
        """The problem's case."""
        return resolve(self.inputs)

    @cached_property
    def units(self) -> Mapping[str, int]:
        """Units of everything on offer in the plan."""
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

    @property
    def tie(self) -> float:
        """Share of the objective within which plans count as equally good."""
        options = self.variants.options
        return max(min(TIE_TOLERANCE, options.gap / 2.0), self.case.indifference)

    @cached_property
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

    def loss(self, value: float) -> float:
        """Excess of the plan's value over a worse one, as a share of it."""
        worse = self.value - value if self.case.maximise else value - self.value
        return worse / max(abs(self.value), 1e-12)

    @property
    def tied_loss(self) -> float:
        """The largest loss that still ties with the best."""
        return self.loss(self.tied)


# Other storage vendors and GPU types


def _forced_plans(solved: Solved) -> Iterator[Forced]:
    """Yield the best plan with each other storage vendor, and on each other GPU type."""
    case, units = solved.case, solved.units
    held = {item.vendor for item in case.flash if units[item.id]}
    alone = held if len(held) == 1 else set()
    for vendor in sorted({item.vendor for item in case.flash} - alone):
        yield _forced(solved, "storage_vendor", vendor, vendor, storage_of(case, {vendor}))
    types = {system.id for system in case.systems if units[system.id]}
    for system in case.systems:
        if {system.id} != types:
            model = solved.inputs.item(system.id).model
            yield _forced(solved, "gpu_type", system.id, model, systems_of({system.id}))


def _forced(
    solved: Solved, kind: ForcedKind, key: str, label: str, changes: tuple[Change, ...]
) -> Forced:
    settings = tuple(change.setting for change in changes)
    row = Forced(kind=kind, key=key, label=label, setting=settings, outcome="no_plan")
    best = solved.variants.best(changes, ties=True)
    case, run, proof = best.case, best.run, best.proof
    if case is None or best.impossible:
        return row.model_copy(update={"reason": best.reason or "no plan meets every limit"})
    if run is None or proof is None or best.value is None or best.bound is None:
        return row.model_copy(update={"outcome": "not_found", "reason": LATE})
    assert proof.value is not None and proof.bound is not None
    gap = share(case, proof.value, proof.bound)
    inputs = solved.inputs
    return row.model_copy(
        update={
            "outcome": "plan",
            "figures": _figures_of(inputs, case, run),
            "bought": _bought_by(inputs, case, run),
            "certificate": Certificate(value=best.value, bound=best.bound, gap=gap),
            "loss": solved.loss(best.value),
        }
    )


def _figures_of(inputs: Inputs, case: Case, run: Run) -> Figures:
    """Figures of an operation; those of an unknown power draw are None."""
    spent = bill(case, run.units, run.ways)
    held = {item.id for item in case.bill_items() if spent.counts[item.id]}
    drawn = all(it_power_kw(item, inputs) is not None for item in inputs.items if item.id in held)
    unknown = () if drawn else ("it_power_kw", "facility_power_kw", "tco_usd")
    figures = figures_of(case, run) | dict.fromkeys(unknown)
    if inputs.problem.term is None:
        figures["tco_usd"] = None
    counts = {
        "gpus_used": run.gpus,
        "systems": sum(run.units[system.id] for system in case.systems),
        "appliances": sum(run.units[item.id] for item in case.flash),
    }
    return Figures.model_validate(figures | counts)


def _bought_by(inputs: Inputs, case: Case, run: Run) -> tuple[Bought, ...]:
    systems = {system.id for system in case.systems}
    return tuple(
        Bought(
            sku=offer.id,
            model=inputs.item(offer.id).model,
            category="gpu_system" if offer.id in systems else "storage",
            quantity=run.units[offer.id],
        )
        for offer in case.offers()
        if run.units[offer.id]
    )


# Items that the plan does not hold


def _items(solved: Solved, forced: Sequence[Forced], asked: Sequence[str]) -> Iterator[Item]:
    """Yield why each GPU system and storage item that the plan does not hold is not in it."""
    case, variants = solved.case, solved.variants
    offers = (*case.systems, *case.storage)
    names = [offer.id for offer in offers if not solved.units[offer.id]]
    bounds = bounds_with(case, names, BOUNDED, variants.options.effort)
    found = [
        _asked_item(solved, name)
        if name in asked
        else _bounded_item(solved, name, bounds[name], forced)
        for name in names
    ]
    for name, why in case.not_considered:
        found.append(_item(solved, name, "left_out", reason=why, asked=name in asked))
    yield from sorted(found, key=lambda item: (item.category, item.sku))


def _bounded_item(
    solved: Solved, name: str, bound: float | str | None, forced: Sequence[Forced]
) -> Item:
    """An item by its bound and by the forced plans that hold it."""
    if isinstance(bound, str):
        return _item(solved, name, "no_plan", exact=True)
    least = solved.loss(solved.bound)
    if bound is not None:
        least = max(least, solved.loss(natural(solved.case.objective, bound)))
    most, extra_usd = None, None
    for row in forced:
        if row.loss is None or not any(each.sku == name for each in row.bought):
            continue
        if most is None or row.loss < most:
            most, extra_usd = row.loss, _extra_usd(solved, row)
    return _placed(solved, name, least, most, extra_usd)


def _extra_usd(solved: Solved, row: Forced) -> float:
    assert solved.plan.totals is not None and row.figures is not None
    return row.figures.capex_usd - (solved.plan.totals.capex_usd or 0.0)


def _placed(
    solved: Solved,
    name: str,
    least: float | None,
    most: float | None,
    extra_usd: float | None,
    **more: Any,
) -> Item:
    """An item whose best plan loses from ``least`` to ``most``."""
    kind: ItemKind = "open"
    if least is not None and least >= solved.tied_loss:
        kind = "worse"
    elif most is not None and most <= solved.tied_loss + VALUE_NOISE:
        kind = "as_good"
    close = least is not None and most is not None and most - least <= ENOUGH
    disliked = kind == "as_good" and name in solved.case.policy.disliked
    return _item(
        solved,
        name,
        kind,
        reason="the problem prefers other vendors" if disliked else None,
        at_least=least,
        at_most=most,
        exact=kind != "open" and close,
        extra_capex_usd=extra_usd if kind == "as_good" else None,
        **more,
    )


def _item(solved: Solved, name: str, kind: ItemKind, **known: Any) -> Item:
    """Item with its price."""
    item, inputs = solved.inputs.item(name), solved.inputs
    price, net_usd = inputs.prices.get(name), None
    if price is not None:
        net_usd = unit_net_usd(item, price, inputs.discounts, inputs.problem.shown_in)
    return Item(
        sku=name,
        model=item.model,
        vendor=item.vendor,
        category="gpu_system" if item.category == "gpu_system" else "storage",
        kind=kind,
        net_usd=net_usd,
        list_usd=None if price is None else price.list_usd,
        **known,
    )


def _asked_item(solved: Solved, name: str) -> Item:
    """An item by the best plan that holds it, with its break-even price."""
    case, variants = solved.case, solved.variants
    best = variants.best_of(case_with(case, name))
    if best.impossible:
        return _item(solved, name, "no_plan", exact=True, asked=True)
    if best.run is None or best.value is None or best.bound is None:
        price = BreakEven(outcome="not_computed", reason=LATE)
        return _item(solved, name, "open", break_even=price, asked=True)
    least, most = solved.loss(best.bound), solved.loss(best.value)
    extra_usd = None
    if least <= solved.tied_loss:
        cheapest = variants.best_of(case_with(case_no_worse(case, solved.tied), name))
        if cheapest.impossible:
            least = max(least, solved.tied_loss)
        elif cheapest.run is not None:
            most = min(most, solved.loss(value_of(case, cheapest.run)))
            spent_usd = natural("cost", measure(case, "cost")(cheapest.run))
            assert solved.plan.totals is not None
            extra_usd = spent_usd - (solved.plan.totals.capex_usd or 0.0)
    price = break_even(solved, name, best)
    return _placed(solved, name, least, most, extra_usd, break_even=price, asked=True)


# Changed cases


def case_with(case: Case, name: str) -> Case:
    """Case of plans with at least one unit of an item (of a GPU system: in use)."""
    return replace(case, must_use=(name,))


def money_of(case: Case) -> Money:
    """Money that decides between plans: the objective, or capex on ties."""
    return case.objective if case.objective in MONEY else "cost"


def case_no_worse(case: Case, worst: float) -> Case:
    """Case of least money whose plans are no worse in the case's objective.

    Args:
        worst: in the objective's own unit.
    """
    limits, job, asked = case.limits, case.job, OBJECTIVES[case.objective]
    if case.objective == "gpus":
        job = replace(job, gpus_min=max(job.gpus_min, math.ceil(worst * (1.0 - 1e-9))))
    else:
        row = BY_NAME[asked.limit]
        pick = max if row.sense == ">=" else min
        limits = _tighter(limits, row.field, worst / asked.per, pick)
    least = replace(case, limits=limits, job=job, objective=money_of(case), indifference=0.0)
    return least.billed_as(case)


def _tighter(limits: Any, name: str, value: float, pick: Any) -> Any:
    before = limits[name]
    kept: dict[str, Any] = {name: value if before is None else pick(before, value)}
    return limits.with_values(**kept)


# Break-even: the highest price at which an item is bought

CENT_USD = 0.01
MONEY_NOISE = 1e-9
STEP, LEAST_STEP = 0.004, 1e-5
"""Step above a price that is good enough, as a share of it, and at least of today's price."""
MOST_SEARCHES = 16


class Rival(NamedTuple):
    """A plan that holds the item, and the highest list price at which it is no worse."""

    run: Run
    list_usd: float


def break_even(solved: Solved, name: str, best: Best) -> BreakEven:
    """Highest price of an item at which it enters the plan: a plan there, no plan a step above.

    Args:
        best: the best plan with the item at today's price.
    """
    reason = _no_price(solved, name)
    if reason is not None:
        return BreakEven(outcome="not_computed", reason=reason)
    contest = Contest(solved, name)
    found = (best.run and contest.rival(best.run)) or contest.find(0.0)
    if found == "no plan":
        return BreakEven(outcome="no_price_helps")
    step, today = STEP, contest.today_usd
    for _ in range(MOST_SEARCHES):
        if not isinstance(found, Rival):
            break
        if found.list_usd >= today:
            return contest.record(found, None)
        price = max(found.list_usd * (1.0 + step), found.list_usd + today * LEAST_STEP)
        price = min(today, round(price, 2) + CENT_USD)
        above = contest.find(price)
        if above == "no plan":
            return contest.record(found, price)
        found, step = (above, step) if isinstance(above, Rival) else (found, 2.0 * step)
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

    @cached_property
    def _free(self) -> Case:
        """The problem with the item for nothing: its companions reach for any price."""
        inputs = self.solved.inputs
        free = inputs.prices[self.name].model_copy(update={"list_usd": 0.0})
        return resolve(replace(inputs, prices={**inputs.prices, self.name: free}))

    def case_at(self, list_usd: float) -> Case:
        """The problem with the item at another price; support follows where it is a share."""
        inputs, case = self.solved.inputs, self._free
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

    def find(self, list_usd: float) -> Rival | Literal["no plan", "open"]:
        """Rival at a list price."""
        solved, case = self.solved, self.case_at(list_usd)
        name = BY_NAME[OBJECTIVES[money_of(case)].limit].field
        tied = case_no_worse(case, solved.tied)
        asked = [replace(tied, limits=_tighter(tied.limits, name, self.most_usd, min))]
        limited = any(case.limits[each] is not None for each in MONEY_LIMITS)
        if limited and case.objective not in MONEY:  # cheaper, a better plan keeps the budget
            asked.append(case_no_worse(case, solved.beyond))
        left_open = False
        for one in asked:
            best = solved.variants.best_of(case_with(one, self.name), gap=ENOUGH)
            rival = None if best.run is None else self.rival(best.run)
            if rival is not None:
                return Rival(rival.run, max(rival.list_usd, list_usd))
            left_open = left_open or not best.impossible
        return "open" if left_open else "no plan"

    def rival(self, run: Run) -> Rival | None:
        """A plan with the highest list price at which it is no worse than the plan, if any.

        A plan's cost is linear in the price, so bisection finds it without another search.
        """
        if not run.units.get(self.name):
            return None
        if self._wins(run, self.today_usd):
            return Rival(run, self.today_usd)
        if not self._wins(run, 0.0):
            return None
        low, high = 0.0, self.today_usd
        while high - low > CENT_USD / 2.0:
            middle = (low + high) / 2.0
            low, high = (middle, high) if self._wins(run, middle) else (low, middle)
        return Rival(run, math.floor(low * 100.0) / 100.0)

    def _wins(self, run: Run, list_usd: float) -> bool:
        """Whether a plan is a rival at a list price."""
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

    def record(self, best: Rival, not_at_list_usd: float | None) -> BreakEven:
        """Break-even price of the best rival; ``not_at_list_usd``: where there is none."""
        inputs, item = self.solved.inputs, self.solved.inputs.item(self.name)

        def net_usd(list_usd: float) -> float:
            price = inputs.prices[self.name].model_copy(update={"list_usd": list_usd})
            return unit_net_usd(item, price, inputs.discounts, inputs.problem.shown_in)

        return BreakEven(
            outcome="found",
            enters_at_usd=net_usd(best.list_usd),
            enters_at_list_usd=best.list_usd,
            not_at_usd=None if not_at_list_usd is None else net_usd(not_at_list_usd),
            not_at_list_usd=not_at_list_usd,
            units=best.run.units[self.name],
        )
