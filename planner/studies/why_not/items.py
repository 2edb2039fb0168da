"""Why each item of the catalogs that the plan does not hold is not in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from planner import api
from planner.case import with_kit
from planner.optimizer.entry import Bound, bounds_with
from planner.optimizer.measure import measure
from planner.optimizer.objective import natural
from planner.outputs.infeasible_text import message
from planner.schema.why_not import BreakEven, Forced, Item
from planner.studies.why_not.break_even import break_even
from planner.studies.why_not.demand import demanding, insisting, only_type
from planner.studies.why_not.floors import keeping, limits_money, money_of, without_money
from planner.studies.why_not.reasons import Reason, left_out, told
from planner.studies.why_not.study import Study

IN_THE_WAY = "no plan meets every limit; "


def items(study: Study, forced: Sequence[Forced], asked: Sequence[str]) -> tuple[Item, ...]:
    """Return the reason of every GPU system and storage item that the plan does not hold."""
    reasons = [
        Reason(offer.id, offer.id in asked)
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
    shown = [*left_out(study, asked), *(told(study, reason) for reason in reasons)]
    return tuple(sorted(shown, key=lambda item: (item.category, item.sku)))


def _bound(study: Study, reasons: Sequence[Reason]) -> None:
    """Bound every loss by linear programs: at today's prices, and whatever the price."""
    names = [reason.name for reason in reasons]
    case, solver = study.case, study.options.solver
    today = bounds_with(case, names, solver, study.effort)
    ever: Mapping[str, Bound] = today
    if case.objective == money_of(case):
        ever = {}
    elif limits_money(case):
        free = with_kit(study.inputs, without_money(case))
        ever = bounds_with(free, names, solver, study.effort)
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


def _compare(study: Study, forced: Sequence[Forced], reasons: Sequence[Reason]) -> None:
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


def _take(study: Study, reason: Reason, row: Forced, *, exact: bool) -> None:
    """Take over a forced plan that is as good as any with the item can be."""
    if row.outcome == "no_plan":
        reason.impossible = True
    if row.certificate is not None:
        reason.closer(study.loss(row.certificate.bound), row.loss if exact else None)
        reason.exact = exact


def _settle(study: Study, reason: Reason) -> None:
    """Answer what was asked for, whatever it takes."""
    _exactly(study, reason)
    if reason.impossible:
        _stands_in_the_way(study, reason)
        return
    if _tied_perhaps(study, reason):
        _cheapest(study, reason)
    reason.break_even = _price(study, reason)


def _exactly(study: Study, reason: Reason) -> None:
    """Find and prove the best plan with an item."""
    if reason.impossible or reason.exact:
        return
    case = demanding(study, reason.name)
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


def _tied_perhaps(study: Study, reason: Reason) -> bool:
    return reason.at_least is None or reason.at_least <= study.tied_loss


def _cheapest(study: Study, reason: Reason) -> None:
    """Find the cheapest plan with an item among those that tie, or prove that there is none."""
    case = demanding(study, reason.name)
    answer = study.prove(keeping(case, study.tied))
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


def _stands_in_the_way(study: Study, reason: Reason) -> None:
    """Tell which limits keep every plan with an item out."""
    insisted = insisting(study, reason.name)
    if insisted is not None:
        inputs, path = insisted
        found = api.why_infeasible(inputs, replace(study.options, keep=(path,)))
        reason.told = message(found).removeprefix(IN_THE_WAY)


def _in_time(study: Study, reasons: Sequence[Reason]) -> None:
    """Do what else there is time for: what comes close to the plan first, prices after standing."""
    rest = [reason for reason in reasons if not reason.asked and not reason.impossible]
    rest.sort(key=lambda reason: (reason.priceless, reason.at_least or 0.0, reason.name))
    by_money = study.case.objective == money_of(study.case)
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


def _price(study: Study, reason: Reason) -> BreakEven:
    if reason.priceless:
        return BreakEven(outcome="no_price_helps")
    return break_even(study, reason.name, asked=reason.asked)
