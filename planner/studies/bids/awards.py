"""The best mix of bids: every award of lots planned, so the best of them is proven to be it.

A lot is the GPU systems or the storage of one bid: as many as are quoted, or as many as are best.
Everything else comes line by line from whoever of those who are taken asks least for it, and from
bids beside them where they ask less still. Whoever is taken is paid every charge on the order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from planner.schema.bids import Award, BidLot, Mix
from planner.studies.bids.judging import Desk, Judged, figures_of, offered
from planner.studies.bids.standing import order, score_of
from planner.studies.bids.tenders import LOTS, Counts, Tender, lot_counts, price_of

MOST_AWARDS = 600
"""Of more only those are tried in which nobody is taken who has no lot."""
OWNERS_ALONE = "of so many awards only those were tried in which every bid taken has a lot"


@dataclass(frozen=True)
class TriedAward:
    """An award that is tried: who is taken, whose each lot is, and its counts."""

    taken: tuple[Tender, ...]
    owners: Mapping[str, Tender]
    lots: Counts


def best_mix(desk: Desk, tenders: Sequence[Tender], best: Judged | None) -> tuple[Mix | None, str]:
    """Return the best award of lots among bids, and why there is none or not all were tried.

    Args:
        desk: the problem and how to solve.
        tenders: the bids that can be judged.
        best: the best bid by itself, where one meets every limit.
    """
    choices, cut = _choices(desk, tenders, book=False)
    found, proven = _planned(desk, choices)
    if not found:  # a lot that bids have may still have to come from elsewhere
        choices, cut = _choices(desk, tenders, book=True)
        found, proven = _planned(desk, choices)
    bounds = [judged.bound for _, _, judged in found if judged.bound is not None]
    if not found:
        return None, f"none of {len(choices)} awards of lots meets every limit"
    least = desk.measure.sense == "minimize"
    found.sort(key=lambda entry: len(entry[1].taken))  # of equal ones that of fewer bids
    plans = [judged.plan for _, _, judged in found if judged.plan is not None]
    value, choice, judged = found[order(desk, [score_of(desk, plan) for plan in plans])[0]]
    assert judged.plan is not None
    totals = judged.plan.totals
    assert totals is not None
    own_bound = desk.measure.name == judged.plan.objective.name
    own = None if best is None or best.plan is None else best.plan
    saves = better = None
    if own is not None and own.totals is not None:
        name = f"{desk.money}_usd"
        saves = (getattr(own.totals, name) or 0.0) - (getattr(totals, name) or 0.0)
        was = desk.value(own)
        better = (was - value if least else value - was) / abs(was) if was else None
    return Mix(
        awards=tuple(_awards(choice, judged)),
        bids=tuple(tender.key for tender in choice.taken),
        measured=value,
        bound=(min if least else max)(bounds) if own_bound and len(bounds) == len(found) else None,
        proven=proven and not cut,
        figures=figures_of(judged.plan),
        tried=len(choices),
        possible=len(found),
        saves_usd=saves,
        better=better,
    ), OWNERS_ALONE if cut else ""


def _planned(
    desk: Desk, choices: Sequence[TriedAward]
) -> tuple[list[tuple[float, TriedAward, Judged]], bool]:
    """Return the awards that keep every limit, and whether all were planned to a proof."""
    found, proven = [], True
    for choice in choices:
        prices = offered(desk, choice.taken, choice.lots, choice.owners)
        judged = desk.judge(choice.taken, prices, choice.lots, whole=False, broken=False)
        proven = proven and judged.proven
        if judged.plan is not None and judged.meets:
            found.append((desk.value(judged.plan), choice, judged))
    return found, proven


def _choices(desk: Desk, tenders: Sequence[Tender], *, book: bool) -> tuple[list[TriedAward], bool]:
    """Return every award to be tried, and whether there are too many to try all.

    Args:
        desk: the problem.
        tenders: the bids.
        book: whether a lot may be bought at the book's prices though there are bids on it.
    """
    found = list(islice(_every(desk, tenders, book=book), MOST_AWARDS + 1))
    if len(found) <= MOST_AWARDS:
        return found, False
    return list(_every(desk, tenders, book=book, beside=False)), True


def _every(
    desk: Desk, tenders: Sequence[Tender], *, book: bool, beside: bool = True
) -> Iterator[TriedAward]:
    """Yield who has each lot, alone and with those ``beside`` who ask less for something else."""
    having: dict[str, list[Tender | None]] = {
        category: [t for t in tenders if t.lot(category)] for category in LOTS
    }
    for lot in having.values():
        lot += [None] if book or not lot else []
    for system in having["gpu_system"]:
        for storage in having["storage"]:
            pairs = (("gpu_system", system), ("storage", storage))
            owners = {category: tender for category, tender in pairs if tender is not None}
            lots = {
                category: lot_counts(tender, category, desk.inputs, free=desk.quantities == "free")
                for category, tender in owners.items()
            }
            main = list(dict.fromkeys(id(tender) for tender in owners.values()))
            taken = [t for t in tenders if id(t) in main]
            others = [t for t in tenders
                      if beside and id(t) not in main and _cheaper(desk, t, taken)]  # fmt: skip
            for count in range(len(others) + 1):
                for more in combinations(others, count):
                    whole = tuple(t for t in tenders if t in taken or t in more)
                    if whole:
                        yield TriedAward(whole, owners, lots)


def _cheaper(desk: Desk, tender: Tender, taken: Sequence[Tender]) -> bool:
    """Say whether a bid asks less for anything but a lot than those who are taken, or the book."""
    for sku, goods in tender.goods.items():
        if goods.item.category in LOTS or goods.included:
            continue
        book = desk.inputs.prices.get(sku)
        others = [desk.unit_usd(t.goods[sku].item, price_of(t.goods[sku], t, desk.inputs),
                                discounted=False)
                  for t in taken if sku in t.goods]  # fmt: skip
        if not others:
            others = [math.inf if book is None else desk.unit_usd(goods.item, book)]
        if desk.unit_usd(goods.item, price_of(goods, tender, desk.inputs), discounted=False) < min(
            others
        ):
            return True
    return False


def _awards(choice: TriedAward, judged: Judged) -> Iterator[Award]:
    """Yield who has each lot and how many units; whoever sells anything else stands in one."""
    assert judged.plan is not None
    bought = {line.sku: line.purchased for line in judged.plan.lines if line.parent is None}
    prices = {line.sku: line.price for line in judged.plan.lines if line.parent is None}
    for lot in LOTS:
        skus = (
            [sku for tender in choice.taken for sku in tender.lot(lot)]
            if lot in choice.lots
            else [line.sku for line in judged.plan.lines if line.category == lot]
        )
        counts = {sku: bought[sku] for sku in dict.fromkeys(skus) if bought.get(sku)}
        names: list[str] = []
        for sku in counts if lot in choice.lots else ():
            owner = choice.owners.get(lot)
            names += [owner.key] if owner is not None else _sellers(choice, sku, prices)
        kind: BidLot = "gpu_system" if lot == "gpu_system" else "storage"
        yield Award(lot=kind, bids=tuple(dict.fromkeys(names)), counts=counts)
    others = {
        sku: tender.key
        for tender in choice.taken
        for sku, goods in tender.goods.items()
        if goods.item.category not in LOTS and bought.get(sku)
        and tender.key in _sellers(choice, sku, prices)
    }  # fmt: skip
    yield Award(lot="others", bids=tuple(sorted(set(others.values()))),
                counts={sku: bought[sku] for sku in others})  # fmt: skip


def _sellers(choice: TriedAward, sku: str, prices: Mapping[str, object]) -> list[str]:
    """Return whose price the plan took of a product."""
    title = getattr(prices.get(sku), "book", "")
    return [t.key for t in choice.taken if title.startswith(f"Bid {t.key},")]
