"""Why each item that the plan does not hold is not in it, and at which price it would be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planner import api
from planner.case import with_companions
from planner.case.money import unit_net_usd
from planner.optimizer.objective import measure, natural
from planner.optimizer.optimise import Bound, bounds_with
from planner.schema.explanation import BreakEven, Forced, Item, ItemKind
from planner.studies.why_not.plans import Contest, Rival
from planner.studies.why_not.question import (
    ENOUGH,
    Study,
    case_no_worse,
    case_with_item,
    costs_least,
    limits_money,
    only_type,
    problem_demanding,
    without_money,
)

BOUNDED = 1e-3
"""How closely the loss of every item is bounded at first, as a share."""
VALUE_NOISE = 2e-7
"""By how much a floor may be missed, as a share."""
NOT_PREFERRED = "the problem prefers other vendors"


@dataclass
class ItemReason:
    """What is known so far of an item that is on offer and not in the plan."""

    name: str
    asked: bool
    impossible: bool = False
    because: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    exact: bool = False
    extra_usd: float | None = None
    priceless: bool = False
    break_even: BreakEven | None = None

    def closer(self, at_least: float | None, at_most: float | None) -> None:
        """Take over bounds on the loss where they say more than those known."""
        if at_least is not None:
            self.at_least = at_least if self.at_least is None else max(self.at_least, at_least)
        if at_most is not None:
            self.at_most = at_most if self.at_most is None else min(self.at_most, at_most)


def left_out(study: Study, asked: Sequence[str]) -> Iterator[Item]:
    """Yield the items that cannot be planned with."""
    for name, reason in study.case.not_considered:
        shown = _make_shown_item(study, name, "left_out", asked=name in asked)
        yield shown.model_copy(update={"reason": reason})


def make_item(study: Study, reason: ItemReason) -> Item:
    """Return what is known of an item as the answer has it."""
    if reason.impossible:
        shown = _make_shown_item(study, reason.name, "no_plan", asked=reason.asked)
        return shown.model_copy(update={"reason": reason.because, "exact": True})
    kind = _kind(study, reason)
    exact = kind != "open" and (reason.exact or _known_well(reason))
    disliked = kind == "as_good" and reason.name in study.case.policy.disliked
    return _make_shown_item(study, reason.name, kind, asked=reason.asked).model_copy(
        update={
            "reason": NOT_PREFERRED if disliked else None,
            "at_least": reason.at_least,
            "at_most": reason.at_most,
            "exact": exact,
            "extra_capex_usd": reason.extra_usd if kind == "as_good" else None,
            "break_even": reason.break_even,
        }
    )


def _kind(study: Study, reason: ItemReason) -> ItemKind:
    if reason.at_least is not None and reason.at_least >= study.tied_loss:
        return "worse"
    if reason.at_most is not None and reason.at_most <= study.tied_loss + VALUE_NOISE:
        return "as_good"
    return "open"


def _known_well(reason: ItemReason) -> bool:
    if reason.at_least is None or reason.at_most is None:
        return False
    return reason.at_most - reason.at_least <= ENOUGH


def _make_shown_item(study: Study, name: str, kind: ItemKind, *, asked: bool) -> Item:
    """Return what is told of an item whatever is known of plans with it."""
    item, inputs = study.inputs.item(name), study.inputs
    price, net_usd = inputs.prices.get(name), None
    if price is not None:
        net_usd = unit_net_usd(item, price, inputs.discounts, inputs.problem.shown_in)
    return Item.model_validate(
        {
            "sku": name,
            "model": item.model,
            "vendor": item.vendor,
            "category": item.category,
            "kind": kind,
            "net_usd": net_usd,
            "list_usd": None if price is None else price.list_usd,
            "asked": asked,
        }
    )


STEP = 0.004
"""How far above a price that is good enough the next one is asked for, as a share."""
LEAST_STEP = 1e-5
"""The same for prices near nothing, as a share of today's."""
MOST_SEARCHES = 16
ASK = "not computed, as it takes too long; ask with --why-not {name}"


def break_even(study: Study, name: str, *, asked: bool) -> BreakEven:
    """Return the highest price of an item at which it enters the plan.

    Args:
        name: an item on offer that the plan does not hold.
        asked: whether to go on when the time is over.
    """
    contest = Contest(study, name)
    reason = _no_answer(study, contest)
    if reason is not None:
        return BreakEven(outcome="not_computed", reason=reason)
    found: Rival | bool | None = _nearest(study, contest)
    if found is None:
        if study.late and not asked:
            return _late(name)
        found = contest.find(0.0)
    if found is True:
        return BreakEven(outcome="not_computed", reason="the solver did not settle it")
    if found is False:
        return BreakEven(outcome="no_price_helps")
    return _climb(study, contest, found, asked=asked)


def _late(name: str) -> BreakEven:
    return BreakEven(outcome="not_computed", reason=ASK.format(name=name))


def _no_answer(study: Study, contest: Contest) -> str | None:
    """Return why no break-even price can be told, or None."""
    policy = study.inputs.problem.policy
    if not study.proven:
        return "the plan itself is not proven best"
    if contest.name not in study.inputs.prices:
        return "it has no price"
    if contest.free_of_charge:
        return "it is discounted to nothing"
    if policy.prefer is not None:
        return "the problem prefers vendors, which goes before money"
    if any(split.measure == "money" for split in policy.split):
        return "the problem splits money between vendors, so that a lower price may hurt"
    return None


def _nearest(study: Study, contest: Contest) -> Rival | None:
    """Return the rival of the highest price among plans met before, or None."""
    rivals = (contest.priced(operation) for operation in study.known.get(contest.name, []))
    return max((r for r in rivals if r is not None), key=lambda r: r.list_usd, default=None)


def _climb(study: Study, contest: Contest, best: Rival, *, asked: bool) -> BreakEven:
    """Raise the price until there is provably no rival any more."""
    today, step = contest.today_list_usd, STEP
    for _ in range(MOST_SEARCHES):
        if best.list_usd >= today:
            return _found(contest, best, None)
        if study.late and not asked:
            return _late(contest.name)
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
        units=best.operation.units[contest.name],
    )


IN_THE_WAY = "no plan meets every limit; "


def items(study: Study, forced: Sequence[Forced], asked: Sequence[str]) -> tuple[Item, ...]:
    """Return the reason of every GPU system and storage item that the plan does not hold."""
    reasons = [
        ItemReason(offer.id, offer.id in asked)
        for offer in (
            *study.case.systems,
            *study.case.storage,
        )  # what only stands there is left out
        if not study.units[offer.id]
    ]
    _bound(study, reasons)
    _compare(study, forced, reasons)
    for reason in reasons:
        if reason.asked:
            _settle(study, reason)
    _in_time(study, reasons)
    shown = [*left_out(study, asked), *(make_item(study, reason) for reason in reasons)]
    return tuple(sorted(shown, key=lambda item: (item.category, item.sku)))


def _bound(study: Study, reasons: Sequence[ItemReason]) -> None:
    """Bound every loss: at today's prices, and whatever the price."""
    names = [reason.name for reason in reasons]
    case = study.case
    today = bounds_with(case, names, BOUNDED, study.effort)
    ever: Mapping[str, Bound] = today
    if costs_least(case):
        ever = {}
    elif limits_money(case):
        free = with_companions(study.inputs, without_money(case))
        ever = bounds_with(free, names, BOUNDED, study.effort)
    for reason in reasons:
        bound = today[reason.name]
        reason.impossible = bound == "no plan"
        reason.closer(study.loss(study.bound), None)
        reason.closer(_loss(study, bound), None)
        at_best = _loss(study, ever.get(reason.name))
        reason.priceless = at_best is not None and at_best > study.tied_loss


def _loss(study: Study, bound: Bound) -> float | None:
    if bound is None or isinstance(bound, str):
        return None
    return study.loss(natural(study.case.objective, bound))


def _compare(study: Study, forced: Sequence[Forced], reasons: Sequence[ItemReason]) -> None:
    """Take over what the forced plans say of the items: of those they hold, and of all others."""
    rows = {(row.kind, row.key): row for row in forced}
    systems = {system.id for system in study.case.systems}
    one_family = (study.case.exact_families or study.case.max_families) == 1
    for reason in reasons:
        if reason.name in systems:
            row = rows.get(("gpu_type", reason.name)) if only_type(study) else None
            exact = True
        else:
            row = rows.get(("storage_vendor", _vendor_of_family(study, reason.name)))
            row, exact = (row if one_family else None), False
        if row is not None:
            _take(study, reason, row, exact=exact)
        for operation in study.known.get(reason.name, []):
            if reason.name not in systems or operation.used.get(reason.name):
                name = study.case.objective
                value = natural(name, measure(study.case, name)(study.whole(operation)))
                reason.closer(None, study.loss(value))


def _vendor_of_family(study: Study, name: str) -> str:
    """Return the vendor of all items on offer in an item's family; "" where they are several's."""
    (family,) = (item.family for item in study.case.storage if item.id == name)
    vendors = {item.vendor for item in study.case.storage if item.family == family}
    return vendors.pop() if len(vendors) == 1 else ""


def _take(study: Study, reason: ItemReason, row: Forced, *, exact: bool) -> None:
    """Take over a forced plan that is as good as any with the item can be."""
    if row.outcome == "no_plan":
        reason.impossible = True
    if row.certificate is not None:
        reason.closer(study.loss(row.certificate.bound), row.loss if exact else None)
        reason.exact = exact


def _settle(study: Study, reason: ItemReason) -> None:
    """Answer what was asked for, whatever it takes."""
    _exactly(study, reason)
    if reason.impossible:
        _stands_in_the_way(study, reason)
        return
    if _tied_perhaps(study, reason):
        _cheapest(study, reason)
    reason.break_even = _price(study, reason)


def _exactly(study: Study, reason: ItemReason) -> None:
    """Find and prove the best plan with an item."""
    if reason.impossible or reason.exact:
        return
    case = case_with_item(study, reason.name)
    answer = study.prove(case, gap=study.options.gap)
    if answer.status == "infeasible":
        reason.impossible = True
    if answer.operation is None or answer.value is None or answer.bound is None:
        return
    name = case.objective
    reason.at_least = study.loss(natural(name, answer.bound))
    reason.at_most = study.loss(natural(name, answer.value))
    reason.exact = answer.status == "optimal"
    study.remember(answer.operation)


def _tied_perhaps(study: Study, reason: ItemReason) -> bool:
    return reason.at_least is None or reason.at_least <= study.tied_loss


def _cheapest(study: Study, reason: ItemReason) -> None:
    """Find the cheapest plan with an item among those that tie, or prove that there is none."""
    case = case_with_item(study, reason.name)
    answer = study.prove(case_no_worse(case, study.tied))
    if answer.status == "infeasible":
        reason.closer(study.tied_loss, None)
    elif answer.operation is not None and answer.value is not None:
        study.remember(answer.operation)
        whole = study.whole(answer.operation)
        name = study.case.objective
        reason.closer(None, study.loss(natural(name, measure(study.case, name)(whole))))
        spent_usd = natural("cost", measure(study.case, "cost")(whole))
        assert study.plan.totals is not None
        reason.extra_usd = spent_usd - (study.plan.totals.capex_usd or 0.0)


def _stands_in_the_way(study: Study, reason: ItemReason) -> None:
    """Tell which limits keep every plan with an item out."""
    insisted = problem_demanding(study, reason.name)
    if insisted is not None:
        inputs, path = insisted
        found = api.why_infeasible(inputs, replace(study.options, keep=(path,)))
        reason.because = found.summary.removeprefix(IN_THE_WAY)


def _in_time(study: Study, reasons: Sequence[ItemReason]) -> None:
    """Answer what there is time left for: items near the plan first, then prices."""
    rest = [reason for reason in reasons if not reason.asked and not reason.impossible]
    rest.sort(key=lambda reason: (reason.priceless, reason.at_least or 0.0, reason.name))
    by_money = costs_least(study.case)
    for reason in rest:
        if _tied_perhaps(study, reason) and not by_money and not study.late:
            _cheapest(study, reason)
    for reason in rest:
        # Where money is the objective, the best plan with an item is the way to its price, too.
        if by_money and not study.late:
            _exactly(study, reason)
        if not reason.impossible:
            reason.break_even = _price(study, reason)
    for reason in rest:
        if not study.late:
            _exactly(study, reason)


def _price(study: Study, reason: ItemReason) -> BreakEven:
    if reason.priceless:
        return BreakEven(outcome="no_price_helps")
    return break_even(study, reason.name, asked=reason.asked)
