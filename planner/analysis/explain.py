"""Why a plan is the best: worth of each limit and open lever, why nothing else; or why none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, get_args

from planner.analysis.variants import (
    FOR_THE_PLAN,
    Best,
    Variants,
    fix_open_levers,
    floor_change,
    floored_case,
    list_others,
    objective_value,
    read_operation,
)
from planner.api import FOR_THE_SEARCH, NO_PLAN, Options, solve_with
from planner.case import Case, resolve, unwanted_reason
from planner.case.figures import discount, unit_net_usd
from planner.errors import Finding, InputError, did_you_mean
from planner.figures import OBJECTIVES
from planner.infeasible import Oracle, UndecidedError, find_threshold
from planner.inputs import Change, Inputs, applied
from planner.levers import Lever, levers, unit_in_usd
from planner.limits import BY_NAME
from planner.optimizer.bill import bill
from planner.optimizer.objective import natural
from planner.optimizer.operate import Run, fit_operation
from planner.optimizer.search import NEXT_WORK
from planner.optimizer.sweep import bounds_with
from planner.plan.limits import binding_limits
from planner.schema.analysis import (
    BreakEven,
    Explanation,
    Forced,
    Item,
    ItemKind,
    Marginal,
    Moved,
    NextStep,
    WhyNot,
    Without,
)
from planner.schema.plan import Plan
from planner.terminal import Progress, ignore

PAYS = 1e-3
"""Least gain of the objective that counts as a next step, as a share."""
SAME = 1e-9
TIE_TOLERANCE, FLOOR_NOISE, VALUE_NOISE = 1e-6, 1e-7, 2e-7
"""Shares within which plans tie, and by which they may miss a floor."""
CATEGORIES = ("gpu_system", "storage")
ENOUGH, BOUNDED = 1e-4, 1e-3
"""Gap of the best plan with an item, and of the bounds on the loss of every item."""
LATE = "not computed, as it takes too long"


def limits_kept(inputs: Inputs, paths: Sequence[str]) -> tuple[str, ...]:
    """Paths of limits that must stay where there is no plan.

    Raises:
        InputError: a path is no limit.
    """
    known = sorted({lever.path for lever in levers(inputs)})
    for path in paths:
        if path not in known:
            fix = did_you_mean(path, known) or "limits: " + ", ".join(known)
            message = f"the problem has no limit '{path[:80]}'"
            raise InputError(Finding("limit", message, "--keep", fix=fix))
    return tuple(paths)


def explain(
    inputs: Inputs,
    options: Options,
    *,
    asked: Sequence[str] = (),
    plan: Plan | None = None,
    progress: Progress = ignore,
) -> Explanation:
    """The record of `planner.explain`.

    Args:
        asked: items whose absence is explained exactly, with their break-even price.
        plan: the best plan, where it is known.
    """
    asked, options = items_named(inputs, asked), options.started()
    plan = plan or solve_with(inputs, options, search=FOR_THE_PLAN)
    if not plan.jobs:
        return Explanation(plan=plan)
    prober = Prober(inputs, options.for_search(FOR_THE_SEARCH), plan)
    base, worths = prober.base, dict[str, Any]()
    if base.run is None:
        prober.undecided.append("the worth of each limit")
    else:
        worths = {
            "value": base.value,
            "bound": base.bound,
            "gpus_used": base.run.gpus,
            "without": tuple(_fix_levers(prober)),
            "marginals": marginals(prober, progress),
        }
    items = explain_absence(prober, asked)
    return Explanation(plan=plan, why_not=items, undecided=tuple(prober.undecided), **worths)


class Prober:
    """A solved problem and questions about changes of it; ``undecided`` collects open ones.

    Values are in the objective's own unit.

    Attributes:
        planned: the plan's objective; ``bound`` of all plans, where nothing is proven the same.
        tie: share of the objective within which plans count as equally good.
        tied: the worst value that still ties with the best; the plan's own does in any case.
        beyond: the worst value that is better than the plan by more than ties allow.
    """

    def __init__(self, inputs: Inputs, options: Options, plan: Plan) -> None:
        self.inputs, self.options, self.plan = inputs, options, plan
        self.undecided: list[str] = []
        self.case = resolve(inputs)
        run, goal = read_operation(self.case, plan), plan.objective
        assert run is not None
        assert goal.value is not None
        self.run: Run = run
        self.variants = Variants(inputs, options)
        self.sign = 1.0 if self.case.maximise else -1.0
        self.planned = goal.value
        self.bound = goal.value if goal.bound is None else goal.bound
        self.tie = max(min(TIE_TOLERANCE, options.gap / 2.0), self.case.indifference)
        worst = self.bound * (1.0 - self.sign * (self.tie - FLOOR_NOISE))
        self.tied = min(self.planned, worst) if self.case.maximise else max(self.planned, worst)
        self.beyond = self.bound * (1.0 + self.sign * self.tie)
        if self.case.objective == "gpus":
            self.beyond = math.floor(self.bound * (1.0 + self.tie)) + 1.0

    @cached_property
    def base(self) -> Best:
        """The best plan, without near-optimal tolerance."""
        return self.variants.best()

    @property
    def value(self) -> float:
        """Objective of the best plan."""
        assert self.base.value is not None
        return self.base.value

    def changed(self, changes: Sequence[Change]) -> Case | None:
        """Case of the changed problem; None where the changes contradict."""
        try:
            return resolve(applied(self.inputs, changes))
        except InputError:
            return None

    def loss(self, value: float) -> float:
        """Excess of the plan's value over a worse one, as a share of it."""
        return self.sign * (self.planned - value) / max(abs(self.planned), 1e-12)

    def extra_usd(self, case: Case, run: Run) -> float:
        """Excess of the capex of an operation over the plan's."""
        assert self.plan.totals is not None
        return bill(case, run.units, run.ways)["capex_usd"] - (self.plan.totals.capex_usd or 0.0)


# Worth of a limit: the best plan with it a step looser or tighter

_MINUTE_S, _HOUR_S, _POINT = 60.0, 3600.0, 0.01
_PAUSES = (".stall", ".stall_overhead", ".restart", ".repair.time", ".repair.swap")
"""Downtimes of the job, of which each second counts."""


def choose_step(lever: Lever) -> float:
    """Step of a lever that suits its unit."""
    value = abs(lever.value or 0.0)
    if lever.unit == "s" and value >= 2.0 * _MINUTE_S:
        return _HOUR_S if value >= 10.0 * _HOUR_S else _MINUTE_S
    if lever.unit == "share" and value >= 2.0 * _POINT:
        return _POINT
    if lever.unit == "days" or (lever.whole and lever.unit != "GPUs"):
        return 1.0
    one = 1.0 if lever.whole else unit_in_usd(lever.unit, lever.money)
    step = float(f"{value / 100.0 / one:.0e}") or 1.0  # one digit
    return max(1.0, round(step)) if lever.whole else step * one


def marginals(prober: Prober, progress: Progress = ignore) -> tuple[Marginal, ...]:
    """Worth of a step of each limit that has a value, the binding ones first."""
    assert prober.base.run is not None
    tight = {limit.name for limit in prober.plan.limits if limit.binding}
    tight |= binding_limits(prober.case, prober.base.run)
    limits = [lever for lever in levers(prober.inputs) if lever.value is not None]
    limits.sort(key=lambda lever: lever.limit not in tight)
    slack = [one for one in limits if one.limit not in tight and not one.path.endswith(_PAUSES)]
    idle = {lever.path for lever in _idle(prober, slack)}
    rows = []
    for done, lever in enumerate(limits):
        progress(done, len(limits))
        value = lever.value or 0.0
        row = Marginal(
            path=lever.path,
            label=lever.label,
            source=lever.place,
            unit=lever.unit,
            value=value,
            text=lever.text(value),
            binding=lever.limit in tight,
            looser=_move(prober, lever, lever.looser, idle=lever.path in idle),
            tighter=_move(prober, lever, -lever.looser, idle=False),
            next_step=_next_step(prober, lever) if lever.limit in tight else None,
        )
        rows.append(row)
    return tuple(rows)


def _idle(prober: Prober, slack: Sequence[Lever]) -> list[Lever]:
    """Levers without which no plan is better: all at once, else in halves."""
    if not slack:
        return []
    free = prober.variants.best(tuple(change for lever in slack for change in lever.off))
    width = max(2.0 * prober.options.gap, SAME) * abs(prober.value)
    if free.bound is not None and prober.sign * (free.bound - prober.value) <= width:
        return [*slack]
    half = len(slack) // 2
    parts = (slack[:half], slack[half:]) if half else ()
    return [each for part in parts for each in _idle(prober, part)]


def _move(prober: Prober, lever: Lever, direction: float, *, idle: bool) -> Moved:
    """The best plan with a lever a step away; ``idle``: no plan is better without the lever."""
    value, looser = lever.value or 0.0, direction == lever.looser
    place = min(max(value + direction * choose_step(lever), lever.least), lever.most)
    text, known, found = lever.text(max(place, 0.0)), "solved", prober.base
    at_zero = place < 0 or (place == 0 and not lever.whole)
    if place == lever.value or (at_zero and not looser):
        known = "at_its_end"
    elif looser and not idle:
        found = prober.variants.best(lever.to(place))
    elif not looser:
        case, run = prober.changed(lever.to(place)), prober.base.run
        kept = None if case is None or run is None else fit_operation(case, run)
        kept_value = None if case is None or kept is None else objective_value(case, kept)
        if case is None:
            found = Best(None, None)
        elif kept_value is None or abs(kept_value - prober.value) > SAME * abs(prober.value):
            found = prober.variants.best_of(case)
    row: dict[str, Any] = {"to_text": text, "setting": f"{lever.path}={text}"}
    if known == "solved" and found.value is not None and found.run is not None:
        row |= {"change": found.value - prober.value, "gpus_used": found.run.gpus}
    elif known == "solved":
        known = "no_plan" if found.impossible else "not_decided"
    return Moved(known=known, **row)


def _next_step(prober: Prober, lever: Lever) -> NextStep | None:
    """Where loosening a limit that binds begins to pay; None where it never does."""
    name, share = prober.case.objective, prober.sign * PAYS
    wanted = prober.value + 1.0 if name == "gpus" else prober.value * (1.0 + share)
    floor = floor_change(prober.inputs, name, wanted)
    if lever.path == floor.path:
        return None
    oracle = Oracle(prober.inputs, prober.options.effort.part(NEXT_WORK))
    try:
        found = find_threshold(oracle, lever, (floor,))
    except UndecidedError:
        prober.undecided.append(f"where more room for {lever.label} begins to pay")
        return None
    text = "" if found is None else lever.text(found.enough)
    gain, setting = abs(wanted - prober.value), f"{lever.path}={text}"
    return NextStep(to_text=text, setting=setting, gain=gain) if text else None


def _fix_levers(prober: Prober) -> Iterator[Without]:
    """Yield the best plan with each open lever fixed another way."""
    for label, change in fix_open_levers(prober.inputs, prober.plan):
        end = prober.variants.best((change,))
        if end.value is None and not end.impossible:
            prober.undecided.append(f"the plan with {label}")
            continue
        worth = None if end.value is None else end.value - prober.value
        yield Without(label=label, setting=change.setting, change=worth)


# Other vendors and types, and items that the plan does not hold


def items_named(inputs: Inputs, names: Sequence[str]) -> tuple[str, ...]:
    """Ids of GPU systems and storage items by id or model.

    Raises:
        InputError: there is no such item, with the nearest name.
    """
    kinds = {item.id: item.model for item in inputs.items if item.category in CATEGORIES}
    known = {text.casefold(): id_ for id_, model in kinds.items() for text in (model, id_)}
    for name in (each for each in names if each.casefold() not in known):
        message = f"no item named '{name[:60]}' in the catalogs of the problem"
        fix = did_you_mean(name, [*kinds, *kinds.values()]) or "planner catalog lists every item"
        if name in inputs.by_id:
            message = f"'{name}' is a companion: it comes with GPU systems and storage as needed"
            fix = "name a GPU system or a storage item"
        raise InputError(Finding("why-not", message, "--why-not", fix=fix))
    return tuple(known[name.casefold()] for name in names)


def explain_absence(prober: Prober, asked: Sequence[str] = ()) -> WhyNot:
    """Plans beside that of a solved problem, and why each item is not in it.

    Args:
        asked: items to answer exactly, with their break-even prices; the others are bounded.

    Raises:
        InputError: an asked item is in the plan.
    """
    case, run = prober.case, prober.run
    held = next((name for name in asked if run.units.get(name)), None)
    if held is not None:
        message, fix = f"'{held}' is in the plan", "name an item that is not"
        raise InputError(Finding("why-not", message, "--why-not", fix=fix))
    rivals: list[tuple[Forced, Run | None]] = []
    for other in list_others(prober.inputs, case, run.units):
        best = prober.variants.best(other.changes, ties=True)
        setting = tuple(change.setting for change in other.changes)
        row = Forced(label=other.label, setting=setting)
        if best.case is not None and best.run is not None and best.value is not None:
            extra_usd = prober.extra_usd(best.case, best.run)
            known = {"value": best.value, "loss": prober.loss(best.value)}
            row = row.model_copy(update={**known, "extra_capex_usd": extra_usd})
        else:
            reason = (best.reason or NO_PLAN) if best.impossible else LATE
            row = row.model_copy(update={"reason": reason})
        rivals.append((row, best.run))
    names = [offer.id for offer in case.offers() if not run.units[offer.id]]
    items = sorted(_items(prober, names, rivals, asked), key=lambda item: (item.category, item.sku))
    forced = tuple(row for row, _ in rivals)
    return WhyNot(tie=prober.tie, forced=forced, items=tuple(items))


def _items(
    prober: Prober,
    names: Sequence[str],
    rivals: Sequence[tuple[Forced, Run | None]],
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
        holding = [row for row, run in rivals if run is not None and run.units.get(name)]
        best = min(holding, key=lambda row: row.loss or 0.0, default=None)
        known = (None, None) if best is None else (best.loss, best.extra_capex_usd)
        yield _placed(prober, name, least, *known)
    for name, why in case.not_considered:
        _, change = unwanted_reason(prober.inputs.item(name), prober.inputs.problem) or ("", "")
        reason = f"{why}; {change}" if change and name in asked else why
        yield _item(prober, name, "left_out", reason=reason, asked=name in asked)


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
        tied = floored_case(case, prober.tied, money_of(case))
        cheapest = variants.best_of(replace(tied, must_use=(name,)))
        if cheapest.impossible:
            least = max(least, prober.loss(prober.tied))
        elif cheapest.run is not None:
            most = min(most, prober.loss(objective_value(case, cheapest.run)))
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
    net_usd = None if price is None else _net_usd(prober.inputs, name, price.list_usd)
    known |= {"sku": name, "model": item.model, "category": item.category, "net_usd": net_usd}
    return Item.model_validate({**known, "kind": kind})


def _net_usd(inputs: Inputs, name: str, list_usd: float) -> float:
    price = inputs.prices[name].model_copy(update={"list_usd": list_usd})
    return unit_net_usd(inputs.item(name), price, inputs.discounts, inputs.problem.shown_in)


# Break-even: the highest price at which an item is bought

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
    inputs, reason = prober.inputs, ""
    if prober.plan.status != "optimal":
        reason = "the plan itself is not proven best"
    elif name not in inputs.prices or discount(inputs.item(name), inputs.discounts) >= 1.0:
        reason = "it has no price"
    elif inputs.problem.policy.prefer is not None:
        reason = "preferred vendors come before money"
    if reason:
        return BreakEven(outcome="not_computed", reason=reason)
    low = high = today = inputs.prices[name].list_usd
    enters = item_enters(prober, name, today)
    if enters is False:
        low, enters = 0.0, item_enters(prober, name, 0.0)
        if enters is False:
            return BreakEven(outcome="no_price_helps")
    while enters is not None and high - low > max(FINE * low, COARSE * today):
        middle = round((low + high) / 2.0, 2)
        enters = item_enters(prober, name, middle)
        low, high = (middle, high) if enters else (low, middle)
    if enters is None:
        return BreakEven(outcome="not_computed", reason="the search did not settle it")
    return BreakEven(
        outcome="found",
        enters_at_usd=_net_usd(inputs, name, low),
        enters_at_list_usd=low,
        not_at_list_usd=None if low == today else high,
    )


def item_enters(prober: Prober, name: str, list_usd: float) -> bool | None:
    """True if a plan with an item at a list price ties and costs no more than the plan, or is
    better by more than ties allow; None where the search did not end."""
    case = prober.changed([Change(f"prices.{name}.list", list_usd, "")])
    assert case is not None
    money = money_of(case)
    tied, goal = floored_case(case, prober.tied, money), OBJECTIVES[money]
    row = BY_NAME[goal.limit].field
    own: float | None = tied.limits[row]
    spent_usd: float = getattr(prober.plan.totals, goal.figure.name)
    most: dict[str, Any] = {row: min(spent_usd, math.inf if own is None else own)}
    asked = [replace(tied, limits=tied.limits.replace_values(**most))]
    limited = any(case.limits[each] is not None for each in MONEY_LIMITS)
    if limited and case.objective not in MONEY:  # cheaper, a better plan keeps the budget
        asked.append(floored_case(case, prober.beyond, money))
    left_open = False
    for one in asked:
        best = prober.variants.best_of(replace(one, must_use=(name,)), gap=ENOUGH)
        if best.run is not None:
            return True
        left_open = left_open or not best.impossible
    return None if left_open else False
