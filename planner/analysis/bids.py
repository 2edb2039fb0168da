"""Bids on one problem: each planned and ranked, and the best mix of their lots.

A lot is the GPU systems or the storage of one bid. All other products come from the awarded bid
with the lowest price. An awarded bid is paid all its charges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Literal, NamedTuple

from planner.analysis.offers import (
    LETTERS,
    LOTS,
    Charges,
    Counts,
    Offer,
    Prices,
    apply_offers,
    list_objections,
    lot_counts,
    make_offer,
)
from planner.analysis.variants import solve_confirmed, study_head
from planner.api import NO_PLAN, Options, why_infeasible
from planner.case.figures import discount, support_factor, support_usd_per_year, unit_net_usd
from planner.currency import discounted_years
from planner.figures import OBJECTIVES
from planner.inputs import Inputs
from planner.quotes.lines import COUNTED, is_total
from planner.report.formats import product as product_name
from planner.schema.analysis import Measure
from planner.schema.bill import Award, Bid, BidCharge, BidFigures, Bids, Lack, Mix, Quote
from planner.schema.catalog import Item
from planner.schema.plan import Infeasibility, Line, Plan
from planner.schema.prices import Discount, Price
from planner.terminal import Progress, ignore


def evaluate(
    inputs: Inputs, options: Options, quotes: Sequence[Quote], *, progress: Progress = ignore
) -> Bids:
    """Plan quotes, rank them, and find the best mix."""
    offers = [make_offer(*pair, inputs) for pair in zip(LETTERS, quotes, strict=False)]
    plans: dict[str, Planned] = {}
    for done, offer in enumerate(offers, 1):
        owners = {lot: offer for lot in LOTS if offer.lot(lot)}
        plans[offer.key] = plan_offers(inputs, options, [offer], owners, whole=True)
        progress(done, len(offers))
    scores = {key: score(each.plan, inputs) for key, each in plans.items() if each.plan}
    measure = measure_of(inputs)
    order = sorted(scores, key=scores.__getitem__, reverse=measure.sense == "maximize")
    ranks = {key: rank for rank, key in enumerate(order, 1)}
    mix, remark = best_mix(inputs, options, [offer for offer in offers if not offer.open])
    return Bids(
        **study_head(inputs, options.gap),
        measure=measure,
        money=money_of(inputs),
        bids=tuple(_record(inputs, o, plans[o.key], ranks.get(o.key)) for o in offers),
        mix=mix,
        mix_reason=remark,
        message=None if ranks else "no bid meets every limit",
        status="optimal" if ranks else "infeasible",
    )


# Offers planned on the problem


class Planned(NamedTuple):
    """The result of offers on the problem, ``inputs`` with them.

    Without a ``plan``, ``against`` are the rules or limits that leave none, or ``open`` the reasons
    why it is not known; ``proven``: to the gap asked for, or to have no plan.
    """

    inputs: Inputs
    prices: Prices
    charges: Charges
    plan: Plan | None = None
    against: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
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
    charges = [(offer, charge) for offer in offers for charge in offer.charges]
    if reasons := tuple(reason for offer in offers for reason in offer.open):
        return Planned(inputs, {}, charges, open=reasons)
    lots = {lot: lot_counts(offer, lot, inputs) for lot, offer in owners.items()}
    prices: dict[str, tuple[Price, Offer]] = {}
    for offer in offers:
        for id_, each in offer.products.items():
            if each.item.category in LOTS and owners.get(each.item.category) is not offer:
                continue
            usd = unit_usd(inputs, each.item, each.price)
            if id_ not in prices or usd < unit_usd(inputs, each.item, prices[id_][0]):
                prices[id_] = each.price, offer
    found = _planned(inputs, options, prices, lots, charges, explained=whole)
    surplus = [] if found.plan is None or not whole else [*_surplus(inputs, prices, found.plan)]
    if not surplus:
        return found
    return _planned(inputs, options, prices, lots, [*charges, *surplus], explained=True)


def _surplus(inputs: Inputs, prices: Prices, plan: Plan) -> Iterator[tuple[Offer, BidCharge]]:
    """Yield a charge for units beyond those needed, and for units missing in a bundle's price."""
    bought = {line.sku: line.purchased for line in _bought(plan)}
    for id_, (price, offer) in prices.items():
        each, book = offer.products[id_], inputs.prices.get(id_)
        over, usd = each.units - bought.get(id_, 0), price.list_usd
        if over < 0.0 and not usd and book is not None:  # held in another price, but too few
            usd = -unit_net_usd(each.item, book, inputs.discounts, inputs.problem.shown_in)
        if (over > 1e-9 or usd < 0.0) and usd:
            words = "needed" if over > 0.0 else "included"
            label = f"{abs(over):g} {each.item.model} more than are {words}"
            yield offer, BidCharge(kind="surplus", label=label, usd=over * usd, cells=each.cells)


def _bought(plan: Plan) -> list[Line]:
    """Purchased products of a plan, without parts of others."""
    return [line for line in plan.lines if line.parent is None and line.purchased]


def _planned(
    own: Inputs,
    options: Options,
    prices: Prices,
    lots: Counts,
    charges: Charges,
    *,
    explained: bool,
) -> Planned:
    """Plan the problem with prices, lots and charges laid over it."""
    inputs = apply_offers(own, prices, lots, charges)
    bare = Planned(inputs, prices, charges, against=tuple(list_objections(own, lots)))
    if bare.against:
        return bare
    found = solve_confirmed(inputs, options)
    if found.plan is not None:
        return bare._replace(plan=found.plan, proven=found.status == "optimal")
    if found.status != "infeasible":
        return bare._replace(open=(found.reason or "",), proven=False)
    if found.reason == NO_PLAN and explained:
        return bare._replace(against=(_needed(why_infeasible(inputs, options)),))
    return bare._replace(against=(found.reason or "",))


def _needed(found: Infeasibility) -> str:
    """Values of limits, other than counts of items, each of which alone would give a plan."""
    steps = [
        f"{step.label} {step.from_text}, {step.to_text} needed"
        for step in found.changes
        if step.value is not None and not step.path.startswith("items.")
    ]
    return ", or ".join(steps) or found.summary


# Measure and ranks


def money_of(inputs: Inputs) -> Literal["tco", "capex"]:
    """The money that counts: over the term where there is one and capex is not the goal."""
    problem = inputs.problem
    return "capex" if problem.term is None or problem.objective.minimize == "cost" else "tco"


def unit_usd(inputs: Inputs, item: Item, price: Price) -> float:
    """Cost of an offered unit with support and subscription where they count."""
    return unit_net_usd(item, price, (), inputs.problem.shown_in) + sum(
        term_usd(inputs, item, price, ())
    )


def term_usd(
    inputs: Inputs, item: Item, price: Price, off: Sequence[Discount]
) -> tuple[float, float]:
    """Support and subscription of a unit over the term; 0 where capex counts."""
    term, shown_in = inputs.problem.term, inputs.problem.shown_in
    if term is None or money_of(inputs) == "capex":
        return 0.0, 0.0
    support = support_usd_per_year(item, price, off, shown_in)
    support *= support_factor(item, replace(inputs, prices={item.id: price}))
    yearly = shown_in.rounded_usd((price.per_year_usd or 0.0) * (1.0 - discount(item, off)))
    return support, yearly * discounted_years(0.0, term.years, term.discount_rate)


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


def score(plan: Plan, inputs: Inputs) -> float:
    """A plan with offers in the measure; ``inputs`` are the problem's own."""
    measure, totals, job = measure_of(inputs), plan.totals, plan.jobs[0]
    if measure.name in OBJECTIVES:
        assert plan.objective.value is not None
        return plan.objective.value
    assert totals is not None
    usd = (totals.tco_usd if money_of(inputs) == "tco" else totals.capex_usd) or 0.0
    work = job.useful_pflops if measure.name.endswith("pflops") else job.useful_gpus
    return usd / (work or math.nan)


# Records


def _record(inputs: Inputs, offer: Offer, planned: Planned, rank: int | None) -> Bid:
    quote, plan = offer.quote, planned.plan
    same = ("vendor", "file", "sha256", "date", "currency", "usd_per_unit", "findings")
    unread = [
        next(iter(line.cells.values()), f"row {line.row}")
        for line in quote.lines
        if line.kind == "not_understood" and not is_total(line.description)
    ]
    amounts = (line.amount or 0.0 for line in quote.lines if line.kind in COUNTED)
    lacks = () if plan is None else tuple(list_lacks(inputs, planned, plan))
    return Bid(
        key=offer.key,
        quoted_usd=quote.usd_per_unit * math.fsum(amounts),
        rebate=offer.rebate,
        state="meets" if plan is not None else "breaks" if planned.against else "open",
        rank=rank,
        measured=None if plan is None else score(plan, inputs),
        figures=None if plan is None else _figures(plan),
        against=planned.against,
        open=planned.open,
        charges=tuple(charge for _, charge in planned.charges),
        lacks=lacks,
        lacks_usd=math.fsum(lack.usd for lack in lacks),
        unread=(*unread, *(each.cell for each in quote.sums if not each.agrees)),
        **{name: getattr(quote, name) for name in same},
    )


def _figures(plan: Plan) -> BidFigures:
    known = {**dict(plan.jobs[0]), **dict(plan.totals or ())}
    known["capex_usd"] = known["capex_usd"] or 0.0
    return BidFigures.model_validate({name: known[name] for name in BidFigures.model_fields})


def list_lacks(inputs: Inputs, planned: Planned, plan: Plan) -> Iterator[Lack]:
    """Yield purchased units that are not quoted, and support and subscriptions that are not, at
    their cost in the book."""
    for line in _bought(plan):
        price, count = planned.inputs.prices.get(line.sku), line.purchased
        if line.sku not in inputs.by_id:  # a charge
            continue
        offered = planned.prices.get(line.sku)
        more = count - (0.0 if offered is None else offered[1].products[line.sku].units)
        named = {"sku": line.sku, "product": product_name(line)}
        if offered is None or (more > 1e-9 and line.unit_net_usd):
            usd = line.extended_net_usd or 0.0
            usd = usd if offered is None else more * (line.unit_net_usd or 0.0)
            yield Lack(**named, kind="units", units=more, usd=usd)
        if price is not None:
            item, off = planned.inputs.item(line.sku), planned.inputs.discounts
            support, yearly = term_usd(inputs, item, price, off)
            usd = count * (yearly + (0.0 if price.support_source == "quote" else support))
            if usd:
                yield Lack(**named, kind="support", units=count, usd=usd)


# The best mix


def best_mix(inputs: Inputs, options: Options, offers: Sequence[Offer]) -> tuple[Mix | None, str]:
    """The best award of lots, or the reason why there is none."""
    if not offers:
        return None, "no bid can be evaluated"
    for book in (False, True):  # a lot may have to be bought at the book's prices
        having: list[list[Offer | None]] = []
        for lot in LOTS:
            bidders: list[Offer | None] = [offer for offer in offers if offer.lot(lot)]
            having.append([*bidders, None] if book or not bidders else bidders)
        awards = [dict(zip(LOTS, owners, strict=True)) for owners in product(*having)]
        choices = [{lot: o for lot, o in award.items() if o is not None} for award in awards]
        plans = [
            (owners, plan_offers(inputs, options, _sellers(owners, offers), owners, whole=False))
            for owners in choices
            if owners
        ]
        found = [(owners, each, each.plan) for owners, each in plans if each.plan is not None]
        if found:
            break
    else:
        return None, f"none of {len(plans)} awards of lots meets every limit"
    scores = [score(plan, inputs) for *_, plan in found]
    pick = max if measure_of(inputs).sense == "maximize" else min
    at = scores.index(pick(scores))
    owners, _, plan = found[at]
    bids = _sellers(owners, offers)
    return Mix(
        awards=tuple(_awards(owners, bids, plan)),
        bids=tuple(offer.key for offer in bids),
        measured=scores[at],
        proven=all(each.proven for _, each in plans),
        figures=_figures(plan),
        tried=len(plans),
    ), ""


def _sellers(owners: Mapping[str, Offer], offers: Sequence[Offer]) -> list[Offer]:
    return [offer for offer in offers if offer in owners.values()]


def _awards(owners: Mapping[str, Offer], bids: Sequence[Offer], plan: Plan) -> Iterator[Award]:
    """Yield an award for each lot and one for all else, with its bids and purchased units."""
    lines = _bought(plan)
    for lot in LOTS:
        counts = {line.sku: line.purchased for line in lines if line.category == lot}
        yield Award(lot=lot, bids=(owners[lot].key,) if lot in owners else (), counts=counts)
    sellers = {
        line.sku: offer.key
        for offer in bids
        for line in lines
        if line.category not in LOTS and line.sku in offer.products
        if line.price is not None and line.price.book == offer.title
    }
    counts = {line.sku: line.purchased for line in lines if line.sku in sellers}
    yield Award(lot="others", bids=tuple(sorted(set(sellers.values()))), counts=counts)
