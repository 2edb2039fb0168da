"""Why a plan holds what it holds: the best plans with other vendors and types, and each item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planner import api
from planner.analysis.break_even import break_even
from planner.analysis.changes import storage_of, systems_of
from planner.analysis.purchases import figures_of, operation_of
from planner.analysis.questions import (
    ENOUGH,
    Study,
    case_no_worse,
    case_with_item,
    costs_least,
    limits_money,
    only_type,
    without_money,
)
from planner.api import Options
from planner.case import Case, System, resolve, with_companions
from planner.case.figures import it_power_kw
from planner.case.money import unit_net_usd
from planner.errors import Finding, InputError, did_you_mean
from planner.inputs import Change, Inputs, applied, changed
from planner.optimizer.bill import bill
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Bound, bounds_with, share
from planner.optimizer.optimise import Certificate as Answer
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

WORK = 6000.0
"""Search effort after which questions that were not asked are left."""
PATIENCE = 4.0
"""Multiple of it after which even forced plans are left."""
CATEGORIES = ("gpu_system", "storage")


def why_not(
    inputs: Inputs,
    plan: Plan,
    options: Options,
    *,
    asked: tuple[str, ...] = (),
    work: float = WORK,
    questions: int | None = None,
    known: Sequence[Run] = (),
) -> WhyNot:
    """Plans beside the best one, and why each item is not in it.

    Args:
        asked: items to answer exactly, with their break-even prices, whatever effort it takes.
        work: search effort after which answers that were not asked for are left; bounds are
            computed in any case, forced plans unless they take several times as much.
        questions: proofs for what was not asked for beyond the forced plans, None for any number.
        known: plans of the problem, or of problems like it, to start with.

    Raises:
        InputError: an asked name is no item, or is in the plan.
    """
    study = Study(inputs, plan, options, work, PATIENCE * work, options.effort, runs=list(known))
    _check(inputs, plan, asked)
    goal = plan.objective
    base = WhyNot(
        problem=plan.problem,
        objective=goal.name,
        sense=goal.sense,
        unit=goal.unit,
        value=goal.value,
        bound=goal.bound,
        tie=study.tie,
        plan=None,
    )
    planned = operation_of(study.case, plan)
    if goal.value is None or planned is None:
        message = "there is no plan to compare with"
        return base.model_copy(update={"message": message})
    base = base.model_copy(
        update={
            "plan": _figures_of(inputs, study.case, planned),
            "bought": _bought_by(inputs, study.case, planned),
        }
    )
    rows = tuple(_forced_plans(study))
    study.proofs, study.questions = 0, questions
    return base.model_copy(update={"forced": rows, "items": _items(study, rows, asked)})


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


# Figures


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


# Forced plans: another storage vendor, another GPU type

LITTLE = 0.01
"""Share of capex below which storage is not worth a search for less of it."""
LATE = "not computed, as it takes too long"


def _forced_plans(study: Study) -> Iterator[Forced]:
    """Yield the best plan with each other storage vendor, and on each other GPU type."""
    case, units = study.case, study.units
    held = {item.vendor for item in case.flash if units[item.id]}
    alone = held if len(held) == 1 else set()
    for vendor in sorted({item.vendor for item in case.flash} - alone):
        yield _forced(study, "storage_vendor", vendor, vendor, storage_of(case, {vendor}))
    types = {system.id for system in case.systems if units[system.id]}
    for system in case.systems:
        if {system.id} != types:
            model = study.inputs.item(system.id).model
            yield _forced(study, "gpu_type", system.id, model, systems_of({system.id}))


def _forced(
    study: Study, kind: ForcedKind, key: str, label: str, changes: tuple[Change, ...]
) -> Forced:
    settings = tuple(change.setting for change in changes)
    row = Forced(kind=kind, key=key, label=label, setting=settings, outcome="no_plan")
    if study.out_of_patience:
        return row.model_copy(update={"outcome": "not_found", "reason": LATE})
    inputs = applied(study.inputs, changes, recorded=True)
    try:
        case = resolve(inputs)
    except InputError as error:
        return row.model_copy(update={"reason": _refusal(error)})
    answer = study.prove(case)
    if answer.operation is None:
        if answer.status != "infeasible":
            return row.model_copy(update={"outcome": "not_found"})
        return row.model_copy(update={"reason": "no plan meets every limit"})
    run = cheap(study, case, answer)
    study.remember(run)
    value = measure(case, case.objective)(run)
    pick = max if case.maximise else min
    bound = value if answer.bound is None else pick(answer.bound, value)
    certificate = Certificate(
        value=natural(case.objective, value),
        bound=natural(case.objective, bound),
        gap=share(case, value, bound),
    )
    return row.model_copy(
        update={
            "outcome": "plan",
            "figures": _figures_of(inputs, case, run),
            "bought": _bought_by(inputs, case, run),
            "certificate": certificate,
            "loss": study.loss(certificate.value),
        }
    )


def _refusal(error: InputError) -> str:
    """Reason of a contradiction: a demand for an item that is no longer on offer."""
    demands = [(f.path or "").removeprefix("items.") for f in error.findings]
    if all(finding.code == "demanded" for finding in error.findings):
        return f"the problem demands {', '.join(demands)}"
    return "; ".join(finding.message for finding in error.findings)


def cheap(study: Study, case: Case, answer: Answer) -> Run:
    """A cheap plan among those as good as an answer, with the GPU systems that it needs.

    The first plan found may hold far more than it needs, which would compare unfairly.
    """
    found = answer.operation
    assert found is not None
    assert answer.value is not None
    wanted = {system.id: _wanted(case, found, system) for system in case.systems}
    idle = any(found.units[name] > count for name, count in wanted.items())
    if costs_least(case) or (not idle and _storage_share(case, found) < LITTLE):
        return found
    value = natural(case.objective, answer.value)
    slack = 1.0 - study.tie if case.maximise else 1.0 + study.tie
    fixed = tuple(
        replace(system, low=wanted[system.id], high=wanted[system.id]) for system in case.systems
    )
    trimmed = study.prove(replace(case_no_worse(case, value * slack), systems=fixed), gap=1e-3)
    return found if trimmed.operation is None else trimmed.operation


def _wanted(case: Case, found: Run, system: System) -> int:
    """Systems of a type that a plan needs: in use, hot spares, or demanded."""
    bought, used = found.units[system.id], found.used.get(system.id, 0)
    if case.job.repair is not None:  # spares are there because they pay
        return bought
    return min(bought, max(system.low, used + case.job.hot(used) if used else 0))


def _storage_share(case: Case, run: Run) -> float:
    spent = bill(case, run.units, run.ways)
    storage = (spent.purchased[item.id] * (item.unit_net_usd or 0.0) for item in case.flash)
    return sum(storage) / max(spent["capex_usd"], 1.0)


# Items that the plan does not hold

BOUNDED = 1e-3
"""Gap to which the loss of every item is bounded at first."""
VALUE_NOISE = 2e-7
"""Relative miss of a floor."""
NOT_PREFERRED = "the problem prefers other vendors"
IN_THE_WAY = "no plan meets every limit; "


@dataclass
class ItemReason:
    """Knowledge so far of an item on offer that the plan does not hold."""

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
        """Take over bounds on the loss where they are closer than those known."""
        if at_least is not None:
            self.at_least = at_least if self.at_least is None else max(self.at_least, at_least)
        if at_most is not None:
            self.at_most = at_most if self.at_most is None else min(self.at_most, at_most)


def _items(study: Study, forced: Sequence[Forced], asked: Sequence[str]) -> tuple[Item, ...]:
    """Why each GPU system and storage item that the plan does not hold is not in it."""
    reasons = [
        ItemReason(offer.id, offer.id in asked)
        for offer in (*study.case.systems, *study.case.storage)
        if not study.units[offer.id]
    ]
    _bound(study, reasons)
    _compare(study, forced, reasons)
    for reason in reasons:
        if reason.asked:
            _settle(study, reason)
    _in_time(study, reasons)
    shown = [_item(study, reason) for reason in reasons]
    for name, why in study.case.not_considered:
        left = _shown(study, name, "left_out", asked=name in asked)
        shown.append(left.model_copy(update={"reason": why}))
    return tuple(sorted(shown, key=lambda item: (item.category, item.sku)))


def _bound(study: Study, reasons: Sequence[ItemReason]) -> None:
    """Bound every loss: at today's prices, and whatever the price."""
    names, case = [reason.name for reason in reasons], study.case
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
    """Take over bounds from the forced plans: on the items they hold, and on all others."""
    rows = {(row.kind, row.key): row for row in forced}
    systems = {system.id for system in study.case.systems}
    one_family = study.case.max_families == 1
    for reason in reasons:
        of_type = reason.name in systems
        row = None
        if of_type and only_type(study):
            row = rows.get(("gpu_type", reason.name))
        elif not of_type and one_family:
            row = rows.get(("storage_vendor", _vendor_of_family(study, reason.name)))
        if row is not None and row.outcome == "no_plan":
            reason.impossible = True
        if row is not None and row.certificate is not None:
            reason.closer(study.loss(row.certificate.bound), row.loss if of_type else None)
            reason.exact = of_type
        for run in study.known.get(reason.name, []):
            if not of_type or run.used.get(reason.name):
                reason.closer(None, study.loss_of(run))


def _vendor_of_family(study: Study, name: str) -> str:
    """Vendor of all items on offer in an item's family; "" where there are several."""
    (family,) = (item.family for item in study.case.storage if item.id == name)
    vendors = {item.vendor for item in study.case.storage if item.family == family}
    return vendors.pop() if len(vendors) == 1 else ""


def _settle(study: Study, reason: ItemReason) -> None:
    """Answer what was asked for, whatever it takes."""
    _exactly(study, reason)
    if reason.impossible:
        _conflict(study, reason)
        return
    if _tied_perhaps(study, reason):
        _cheapest(study, reason)
    reason.break_even = _price(study, reason)


def _in_time(study: Study, reasons: Sequence[ItemReason]) -> None:
    """Answer what there is effort left for: items near the plan first, then prices."""
    rest = [reason for reason in reasons if not reason.asked and not reason.impossible]
    rest.sort(key=lambda reason: (reason.priceless, reason.at_least or 0.0, reason.name))
    by_money = costs_least(study.case)
    for reason in rest:
        if _tied_perhaps(study, reason) and not by_money and not study.late:
            _cheapest(study, reason)
    for reason in rest:
        # Where money is the objective, the best plan with an item is the way to its price.
        if by_money and not study.late:
            _exactly(study, reason)
        if not reason.impossible:
            reason.break_even = _price(study, reason)
    for reason in rest:
        if not study.late:
            _exactly(study, reason)


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
    reason.at_least = study.loss(natural(case.objective, answer.bound))
    reason.at_most = study.loss(natural(case.objective, answer.value))
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
        reason.closer(None, study.loss_of(whole))
        spent_usd = natural("cost", measure(study.case, "cost")(whole))
        assert study.plan.totals is not None
        reason.extra_usd = spent_usd - (study.plan.totals.capex_usd or 0.0)


def _conflict(study: Study, reason: ItemReason) -> None:
    """Find the limits that conflict with an item.

    A GPU system is made the only one, since one that is demanded may stand idle.
    """
    path, value = f"items.{reason.name}.required", True
    inputs = changed(study.inputs, path, value)
    if reason.name in {system.id for system in study.case.systems}:
        path = "consider.gpu_systems"
        inputs = changed(study.inputs, path, (reason.name,))
    try:
        resolve(inputs)
    except InputError:
        return
    found = api.why_infeasible(inputs, replace(study.options, keep=(path,)))
    reason.because = found.summary.removeprefix(IN_THE_WAY)


def _price(study: Study, reason: ItemReason) -> BreakEven:
    if reason.priceless:
        return BreakEven(outcome="no_price_helps")
    return break_even(study, reason.name, asked=reason.asked)


def _item(study: Study, reason: ItemReason) -> Item:
    if reason.impossible:
        shown = _shown(study, reason.name, "no_plan", asked=reason.asked)
        return shown.model_copy(update={"reason": reason.because, "exact": True})
    least, most = reason.at_least, reason.at_most
    kind: ItemKind = "open"
    if least is not None and least >= study.tied_loss:
        kind = "worse"
    elif most is not None and most <= study.tied_loss + VALUE_NOISE:
        kind = "as_good"
    close = least is not None and most is not None and most - least <= ENOUGH
    disliked = kind == "as_good" and reason.name in study.case.policy.disliked
    return _shown(study, reason.name, kind, asked=reason.asked).model_copy(
        update={
            "reason": NOT_PREFERRED if disliked else None,
            "at_least": least,
            "at_most": most,
            "exact": kind != "open" and (reason.exact or close),
            "extra_capex_usd": reason.extra_usd if kind == "as_good" else None,
            "break_even": reason.break_even,
        }
    )


def _shown(study: Study, name: str, kind: ItemKind, *, asked: bool) -> Item:
    """Item with its price, whatever is known of plans with it."""
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
