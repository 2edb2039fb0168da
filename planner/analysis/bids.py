"""Bids on one problem: each planned and ranked, and the best mix of their lots.

A lot is the GPU systems or the storage of one bid. All other products come from the awarded bid
with the lowest price, or from a further bid that is lower still. An awarded bid is paid all its
charges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice, product
from pathlib import Path
from typing import Any, NamedTuple

from planner.analysis.offers import (
    LETTERS,
    LOTS,
    Charges,
    Counts,
    Offer,
    Prices,
    lacks_of,
    lot_counts,
    money_of,
    objections,
    offer_of,
    read_bids,
    unit_usd,
    with_offers,
)
from planner.analysis.request import PROBLEMS, Request, head_of
from planner.analysis.variants import NO_PLAN
from planner.api import Options, why_infeasible
from planner.case import resolve
from planner.case.figures import unit_net_usd
from planner.errors import Finding, InputError
from planner.figures import OBJECTIVES
from planner.inputs import Inputs
from planner.optimizer.optimise import optimise
from planner.plan import assemble
from planner.quotes.lines import is_total
from planner.schema.analysis import Measure
from planner.schema.bill import Award, Bid, BidCharge, BidFigures, Bids, Mix, Quote
from planner.schema.plan import Infeasibility, Line, Plan
from planner.schema.prices import Price
from planner.terminal import Progress, ignore
from planner.verifier import verify


def run(
    request: Request,
    *,
    quotes: Sequence[Path],
    vendor: Sequence[str],
    mapping: Sequence[str],
    date: Sequence[str],
    currency: Sequence[str],
    rate: Sequence[str],
) -> Bids:
    """Evaluate bids on a problem; the request's further paths are bids, too.

    ``vendor``, ``mapping``, ``date`` and ``currency`` are FILE=VALUE, or a value for all files;
    ``rate`` is EUR=1.08. InputError: the problem, a file or an option is wrong.
    """
    if request.path.suffix.lower() not in PROBLEMS:
        message = f"'{request.path}' is no problem file"
        fix = "planner quote bid PROBLEM.yaml a.xlsx b.csv"
        raise InputError(Finding("files", message, fix=fix))
    files = (*quotes, *request.paths[1:])
    given = {"vendor": vendor, "mapping": mapping, "date": date, "currency": currency}
    read = read_bids(files, request.inputs, **given, rate=rate)
    return evaluate(request.inputs, request.options(), read, progress=request.progress)


def evaluate(
    inputs: Inputs, options: Options, quotes: Sequence[Quote], *, progress: Progress = ignore
) -> Bids:
    """Plan quotes, rank them, and find the best mix.

    ``progress`` takes the bids that are planned, and the number of all.
    """
    offers = [offer_of(*pair, inputs) for pair in zip(LETTERS, quotes, strict=False)]
    plans: dict[str, Planned] = {}
    for done, offer in enumerate(offers, 1):
        if not offer.open:
            owners = {lot: offer for lot in LOTS if offer.lot(lot)}
            plans[offer.key] = plan_offers(inputs, options, [offer], owners, whole=True)
        progress(done, len(offers))
    measure = measure_of(inputs)
    scores = {key: score(each.plan, inputs) for key, each in plans.items() if each.plan}
    order = order_scores(inputs, list(scores.values()))
    ranks = {list(scores)[at]: rank for rank, at in enumerate(order, 1)}
    mix, remark = None, "no bid can be evaluated"
    if plans:
        mix, remark = best_mix(inputs, options, [o for o in offers if not o.open])
    return Bids(
        **head_of(inputs, options.gap),
        measure=measure,
        money=money_of(inputs),
        bids=tuple(_record(inputs, o, plans.get(o.key), ranks.get(o.key)) for o in offers),
        mix=mix,
        mix_reason=remark,
        message=None if ranks else "no bid meets every limit",
        status="optimal" if ranks else "infeasible",
    )


# Offers planned on the problem


@dataclass(frozen=True)
class Planned:
    """The result of offers on the problem, ``inputs`` with them.

    Without a ``plan``, ``against`` are the rules or limits that leave none, or the search ended
    before (``why``); ``proven``: to the gap asked for, or to have no plan.
    """

    inputs: Inputs
    prices: Prices
    charges: Charges
    plan: Plan | None = None
    against: tuple[str, ...] = ()
    why: str = ""
    proven: bool = True


def plan_offers(
    inputs: Inputs,
    options: Options,
    offers: Sequence[Offer],
    owners: Mapping[str, Offer],
    *,
    whole: bool,
) -> Planned:
    """The best plan of offers, or the reasons why they have none.

    Args:
        owners: the bid of each lot, by category.
        whole: all quoted units are paid, and conflicting limits are looked for.
    """
    lots = {lot: lot_counts(offer, lot, inputs) for lot, offer in owners.items()}
    prices: dict[str, tuple[Price, Offer]] = {}
    for offer in offers:
        for id_, each in offer.products.items():
            if each.item.category in LOTS and owners.get(each.item.category) is not offer:
                continue
            usd = unit_usd(inputs, each.item, each.price, ())
            if id_ not in prices or usd < unit_usd(inputs, each.item, prices[id_][0], ()):
                prices[id_] = each.price, offer
    charges = [(offer, charge) for offer in offers for charge in offer.charges]
    found = _planned(inputs, options, prices, lots, charges, explained=whole)
    if found.plan is None:
        return found
    settled, surplus = _settle(inputs, found, pay_surplus=whole)
    if settled == prices and not surplus:
        return found
    return _planned(inputs, options, settled, lots, [*charges, *surplus], explained=whole)


def _bought(plan: Plan) -> list[Line]:
    """Purchased products of a plan, without parts of others."""
    return [line for line in plan.lines if line.parent is None and line.purchased]


def _settle(inputs: Inputs, found: Planned, *, pay_surplus: bool) -> tuple[Prices, Charges]:
    """Prices for the counts of a plan, and charges for surplus units.

    Units included in another price are free; those beyond them cost as in the book.
    """
    settled, surplus = dict(found.prices), []
    assert found.plan is not None
    bought = {line.sku: line.purchased for line in _bought(found.plan)}
    for id_, (price, offer) in found.prices.items():
        each, need = offer.products[id_], bought.get(id_, 0)
        book, over = inputs.prices.get(id_), each.units - need
        if each.included and over < 0 and book is not None:
            net = unit_net_usd(each.item, book, inputs.discounts, inputs.problem.shown_in)
            settled[id_] = price.model_copy(update={"list_usd": net * -over / need}), offer
        if pay_surplus and over > 1e-9 and each.price.list_usd:
            label, usd = f"{over:g} {each.item.model} more than are needed", each.price.list_usd
            charge = BidCharge(kind="surplus", label=label, usd=over * usd, cells=each.cells)
            surplus.append((offer, charge))
    return settled, surplus


def _planned(
    own: Inputs,
    options: Options,
    prices: Prices,
    lots: Counts,
    charges: Charges,
    *,
    explained: bool,
) -> Planned:
    """Plan the problem with prices, lots and charges laid over it, and verify the plan."""
    inputs = with_offers(own, prices, lots, charges)
    bare = Planned(inputs, prices, charges, against=tuple(objections(own, lots)))
    if bare.against:
        return bare
    try:
        case = resolve(inputs)
        answer = optimise(case, gap=options.gap, effort=options.effort)
        if answer.operation is None:
            late = answer.status != "infeasible"
            why = "the search ended before a plan was found" if late else NO_PLAN
            if late or not explained:
                return replace(bare, why=why, proven=not late)
            return replace(bare, against=(_needed(why_infeasible(inputs, options)),))
        plan = assemble(inputs, case, answer, solver=options.solver, gap=options.gap)
    except InputError as error:
        return replace(bare, against=(error.findings[0].message,))
    verify(inputs, plan)
    return replace(bare, plan=plan, proven=plan.status == "optimal")


def _needed(found: Infeasibility) -> str:
    """Values of limits, other than counts of items, with which there would be a plan."""
    both = found.combined.steps if found.combined is not None else ()
    steps = [
        f"{step.label} {step.from_text}, {step.to_text} needed"
        for step in found.changes or both
        if step.value is not None and not step.path.startswith("items.")
    ]
    if not steps or (not found.changes and len(steps) < len(both)):
        return found.summary
    return (", or " if found.changes else ", and ").join(steps)


# Measure, ranks and records


def measure_of(inputs: Inputs) -> Measure:
    """The measure of the ranking: the problem's objective.

    Most work is ranked by money per work: a larger bid is no better.
    """
    goal, money = inputs.problem.objective, money_of(inputs)
    if goal.maximize is None:
        row = OBJECTIVES[goal.name]
        return Measure(name=goal.name, label=row.label, unit=row.unit, sense=goal.sense)
    flops = goal.maximize == "goodput"
    work = "useful PFLOP/s" if flops else "useful GPU"
    return Measure(
        name=f"{money}_per_useful_{'pflops' if flops else 'gpu'}",
        label=f"{'TCO' if money == 'tco' else 'capex'} per {work}",
        unit=f"USD per {work}",
        sense="minimize",
    )


class Score(NamedTuple):
    """A plan's value in the measure, and its money that counts."""

    value: float
    usd: float


def score(plan: Plan | None, inputs: Inputs) -> Score:
    """Score of a plan with offers; ``inputs`` are the problem's own."""
    assert plan is not None and plan.totals is not None
    totals, job, measure = plan.totals, plan.jobs[0], measure_of(inputs)
    usd = (totals.tco_usd if money_of(inputs) == "tco" else totals.capex_usd) or 0.0
    if measure.name in OBJECTIVES:
        assert plan.objective.value is not None
        return Score(plan.objective.value, usd)
    work = job.useful_pflops if measure.name.endswith("pflops") else job.useful_gpus
    return Score(usd / (work or math.nan), usd)


def order_scores(inputs: Inputs, scores: Sequence[Score]) -> list[int]:
    """Places of scores, the best first; within the tolerance the cheapest is first.

    In money there is no tolerance.
    """
    measure = measure_of(inputs)
    sign = 1.0 if measure.sense == "minimize" else -1.0
    own = OBJECTIVES.get(measure.name)
    in_money = own is None or own.figure.money
    tolerance = 0.0 if in_money else inputs.problem.objective.indifferent
    left, found = list(range(len(scores))), []
    while left:
        best = min(left, key=lambda at: sign * scores[at].value)
        room = tolerance * abs(scores[best].value)
        near = [at for at in left if sign * (scores[at].value - scores[best].value) <= room]
        found.append(min(near, key=lambda at: scores[at].usd) if tolerance else best)
        left.remove(found[-1])
    return found


def _record(inputs: Inputs, offer: Offer, planned: Planned | None, rank: int | None) -> Bid:
    quote = offer.quote
    same = ("vendor", "file", "sha256", "date", "currency", "usd_per_unit", "findings")
    unread = [
        next(iter(line.cells.values()), f"row {line.row}")
        for line in quote.lines
        if line.kind == "not_understood" and not is_total(line.description)
    ]
    found = Bid(
        key=offer.key,
        quoted_usd=offer.quoted_usd,
        rebate=offer.rebate,
        state="open",
        charges=offer.charges,
        open=offer.open,
        unread=(*unread, *(each.cell for each in quote.sums if not each.agrees)),
        **{name: getattr(quote, name) for name in same},
    )
    if planned is None:
        return found
    update: dict[str, Any] = {
        "against": planned.against,
        "open": (planned.why,) if planned.why else (),
        "rank": rank,
    }
    if planned.plan is not None or planned.against:
        update["state"] = "meets" if planned.plan is not None else "breaks"
    if planned.plan is not None:
        bought = _bought(planned.plan)
        lacks = tuple(lacks_of(inputs, planned.inputs, bought, planned.prices))
        update |= {
            "measured": score(planned.plan, inputs).value,
            "figures": _figures(planned.plan),
            "charges": tuple(charge for _, charge in planned.charges),
            "lacks": lacks,
            "lacks_usd": math.fsum(lack.usd for lack in lacks),
        }
    return found.model_copy(update=update)


def _figures(plan: Plan) -> BidFigures:
    parts = (plan.totals, plan.jobs[0])
    known = {
        name: next(getattr(part, name) for part in parts if hasattr(part, name))
        for name in BidFigures.model_fields
    }
    return BidFigures.model_validate(known | {"capex_usd": known["capex_usd"] or 0.0})


# The best mix

_MOST_AWARDS = 600
"""Of more awards the first are planned, those of the fewest bids."""


class Choice(NamedTuple):
    """An award to plan: the bids, and the owner of each lot."""

    bids: tuple[Offer, ...]
    owners: Mapping[str, Offer]


def best_mix(inputs: Inputs, options: Options, offers: Sequence[Offer]) -> tuple[Mix | None, str]:
    """The best award of lots, or the reason why there is none."""
    found: list[tuple[Choice, Plan]] = []
    tried = 0
    for book in (False, True):  # a lot may have to be bought at the book's prices
        choices = list(islice(_choices(inputs, offers, book=book), _MOST_AWARDS + 1))
        proven, tried = len(choices) <= _MOST_AWARDS, min(len(choices), _MOST_AWARDS)
        for choice in choices[:_MOST_AWARDS]:
            each = plan_offers(inputs, options, choice.bids, choice.owners, whole=False)
            proven = proven and each.proven
            if each.plan is not None:
                found.append((choice, each.plan))
        if found:
            break
    else:
        return None, f"none of {tried} awards of lots meets every limit"
    scores = [score(plan, inputs) for _, plan in found]
    at = order_scores(inputs, scores)[0]
    choice, plan = found[at]
    return Mix(
        awards=tuple(_awards(choice, plan)),
        bids=tuple(offer.key for offer in choice.bids),
        measured=scores[at].value,
        proven=proven,
        figures=_figures(plan),
        tried=tried,
    ), ""


def _choices(inputs: Inputs, offers: Sequence[Offer], *, book: bool) -> Iterator[Choice]:
    """Yield each award of the lots, alone, then with bids beside that are cheaper in the rest.

    Args:
        book: whether a lot with bids may be bought at the book's prices.
    """
    having: list[list[Offer | None]] = []
    for lot in LOTS:
        bidders: list[Offer | None] = [offer for offer in offers if offer.lot(lot)]
        having.append([*bidders, None] if book or not bidders else bidders)
    for count, pair in product(range(len(offers) + 1), list(product(*having))):
        owners = {lot: offer for lot, offer in zip(LOTS, pair, strict=True) if offer is not None}
        main = list(owners.values())
        cheaper = [each for each in offers if _is_cheaper(inputs, each, main)]
        for beside in combinations(cheaper, count):
            if main or beside:
                yield Choice(tuple(each for each in offers if each in (*main, *beside)), owners)


def _is_cheaper(inputs: Inputs, offer: Offer, main: Sequence[Offer]) -> bool:
    """True if a bid is cheaper in any product outside the lots than the main bids, or the book."""
    for id_, own in offer.products.items():
        if offer in main or own.item.category in LOTS or own.included:
            continue
        bids = [bid for bid in main if id_ in bid.products]
        others = [unit_usd(inputs, own.item, bid.products[id_].price, ()) for bid in bids]
        if not others and id_ in inputs.prices:
            others = [unit_usd(inputs, own.item, inputs.prices[id_], inputs.discounts)]
        if unit_usd(inputs, own.item, own.price, ()) < min(others, default=math.inf):
            return True
    return False


def _awards(choice: Choice, plan: Plan) -> Iterator[Award]:
    """Yield an award for each lot and one for all else, with its bids and purchased units."""
    lines = _bought(plan)
    for lot in LOTS:
        counts = {line.sku: line.purchased for line in lines if line.category == lot}
        owner = choice.owners.get(lot)
        yield Award(lot=lot, bids=() if owner is None else (owner.key,), counts=counts)
    sellers = {
        line.sku: offer.key
        for offer in choice.bids
        for line in lines
        if line.category not in LOTS and line.sku in offer.products
        if line.price is not None and line.price.book == offer.title
    }
    counts = {line.sku: line.purchased for line in lines if line.sku in sellers}
    yield Award(lot="others", bids=tuple(sorted(set(sellers.values()))), counts=counts)
