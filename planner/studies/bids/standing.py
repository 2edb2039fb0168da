"""The best mix of bids, their ranks, and how these hold over what is not quoted.

A lot is the GPU systems or the storage of one bid: as many as are quoted, or as many as are best.
Everything else comes line by line from whoever of those who are taken asks least for it, and from
bids beside them where they ask less still. Whoever is taken is paid every charge on the order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from planner.limits import known
from planner.schema.bids import Award, BidLine, BidLot, BreakEven, Holding, Mix
from planner.schema.plan import Plan
from planner.studies.bids.judging import Judge, Judged, figures_of, offered_prices
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


def best_mix(
    judge: Judge, tenders: Sequence[Tender], best: Judged | None
) -> tuple[Mix | None, str]:
    """Return the best award of lots among bids, and why there is none or not all were tried.

    Args:
        tenders: the bids that can be judged.
        best: the best bid by itself, where one meets every limit.
    """
    choices, cut = _choices(judge, tenders, book=False)
    found, proven = _planned(judge, choices)
    if not found:  # a lot that bids have may still have to come from elsewhere
        choices, cut = _choices(judge, tenders, book=True)
        found, proven = _planned(judge, choices)
    bounds = [judged.bound for _, _, judged in found if judged.bound is not None]
    if not found:
        return None, f"none of {len(choices)} awards of lots meets every limit"
    least = judge.measure.sense == "minimize"
    found.sort(key=lambda entry: len(entry[1].taken))  # of equal ones that of fewer bids
    plans = [judged.plan for _, _, judged in found if judged.plan is not None]
    value, choice, judged = found[order_scores(judge, [score_of(judge, plan) for plan in plans])[0]]
    assert judged.plan is not None
    totals = judged.plan.totals
    assert totals is not None
    own_bound = judge.measure.name == judged.plan.objective.name
    own = None if best is None or best.plan is None else best.plan
    saves = better = None
    if own is not None and own.totals is not None:
        name = f"{judge.money}_usd"
        saves = (getattr(own.totals, name) or 0.0) - (getattr(totals, name) or 0.0)
        was = judge.value(own)
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
    judge: Judge, choices: Sequence[TriedAward]
) -> tuple[list[tuple[float, TriedAward, Judged]], bool]:
    """Return the awards that keep every limit, and whether all were planned to a proof."""
    found, proven = [], True
    for choice in choices:
        prices = offered_prices(judge, choice.taken, choice.lots, choice.owners)
        judged = judge.assess(choice.taken, prices, choice.lots, whole=False, broken=False)
        proven = proven and judged.proven
        if judged.plan is not None and judged.meets:
            found.append((judge.value(judged.plan), choice, judged))
    return found, proven


def _choices(
    judge: Judge, tenders: Sequence[Tender], *, book: bool
) -> tuple[list[TriedAward], bool]:
    """Return every award to be tried, and whether there are too many to try all.

    Args:
        book: whether a lot may be bought at the book's prices though there are bids on it.
    """
    found = list(islice(_every(judge, tenders, book=book), MOST_AWARDS + 1))
    if len(found) <= MOST_AWARDS:
        return found, False
    return list(_every(judge, tenders, book=book, beside=False)), True


def _every(
    judge: Judge, tenders: Sequence[Tender], *, book: bool, beside: bool = True
) -> Iterator[TriedAward]:
    """Yield each way to give out lots, alone and with bids ``beside`` cheaper in the rest."""
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
                category: lot_counts(
                    tender, category, judge.inputs, free=judge.quantities == "free"
                )
                for category, tender in owners.items()
            }
            main = list(dict.fromkeys(id(tender) for tender in owners.values()))
            taken = [t for t in tenders if id(t) in main]
            others = [t for t in tenders
                      if beside and id(t) not in main and _cheaper(judge, t, taken)]  # fmt: skip
            for count in range(len(others) + 1):
                for more in combinations(others, count):
                    whole = tuple(t for t in tenders if t in taken or t in more)
                    if whole:
                        yield TriedAward(whole, owners, lots)


def _cheaper(judge: Judge, tender: Tender, taken: Sequence[Tender]) -> bool:
    """Say whether a bid asks less for anything but a lot than those who are taken, or the book."""
    for sku, goods in tender.goods.items():
        if goods.item.category in LOTS or goods.included:
            continue
        book = judge.inputs.prices.get(sku)
        others = [judge.unit_usd(t.goods[sku].item, price_of(t.goods[sku], t, judge.inputs),
                                discounted=False)
                  for t in taken if sku in t.goods]  # fmt: skip
        if not others:
            others = [math.inf if book is None else judge.unit_usd(goods.item, book)]
        if judge.unit_usd(
            goods.item, price_of(goods, tender, judge.inputs), discounted=False
        ) < min(others):
            return True
    return False


def _awards(choice: TriedAward, judged: Judged) -> Iterator[Award]:
    """Yield an award for each lot and one for all else: whose they are, and how many units."""
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


STEP = 1e-4
"""Break-even prices are told to a hundredth of a percent of the bid."""
MOST, LEAST = 4.0, 1e-3
"""No price beyond these shares of a bid is asked about."""
_MOST_TRIES = 24
DRAWS = 4096
_SEED = 1


@dataclass(frozen=True)
class Score:
    """What a bid is ranked by: its value in the measure, and its money."""

    value: float
    usd: float


def score_of(judge: Judge, plan: Plan) -> Score:
    """Return what a plan is ranked by."""
    return Score(judge.value(plan), judge.usd(plan))


def order_scores(judge: Judge, scores: Sequence[Score]) -> list[int]:
    """Return the places of scores, the best first.

    Where the measure is the problem's own and no money, values within its indifference of the best
    count as equal, and the one that costs least comes first.
    """
    sign = 1.0 if judge.measure.sense == "minimize" else -1.0
    left, found = list(range(len(scores))), []
    while left:
        best = min(left, key=lambda at: sign * scores[at].value)
        room = judge.indifferent * abs(scores[best].value)
        near = [at for at in left if sign * (scores[at].value - scores[best].value) <= room]
        first = min(near, key=lambda at: scores[at].usd) if judge.indifferent else best
        found.append(first)
        left.remove(first)
    return found


def money_alone(found: Judged) -> bool:
    """Say whether what a bid breaks are limits on money, which a lower price may keep."""
    rows = [known(breach.name) for breach in found.breaches]
    return not found.against and all(
        row is not None and row.path.startswith("budget.") for row in rows
    )


@dataclass
class PriceShares:
    """A bid at other shares of its prices; each is planned once.

    Args:
        judged: plans the bid at a share of its prices.
        others: what the other bids are ranked by, the best first.
    """

    judge: Judge
    judged: Callable[[float], Judged]
    others: Sequence[Score]

    def score(self, share: float) -> Score | None:
        """Return what the bid is ranked by at a share of its prices; None where it is not."""
        found = self.judged(share)
        return score_of(self.judge, found.plan) if found.meets and found.plan else None

    def wins(self, share: float) -> bool:
        """Say whether the bid is first there."""
        own = self.score(share)
        return own is not None and order_scores(self.judge, [*self.others, own])[0] == len(
            self.others
        )


def break_even(
    judge: Judge, found: Judged, quoted_usd: float, others: Sequence[Score],
    judged: Callable[[float], Judged],
) -> BreakEven:  # fmt: skip
    """Return the highest price of a whole bid at which it is first.

    The lower its prices the better a bid is, so between a price at which it is first and one at
    which it is not there is one where that changes. It is sought where a straight line has it.

    Args:
        found: the bid as quoted.
        quoted_usd: what it asks for.
        others: what the other bids that meet every limit are ranked by, the best first.
        judged: plans it at a share of its prices.
    """
    if found.plan is None or (not found.meets and not money_alone(found)):
        return _none("no price helps: it breaks other limits than those on money")
    if not others:
        return _none("no other bid meets every limit")
    prices = PriceShares(judge, judged, others)
    wins, loses = _bracket(prices)
    if wins is None:
        return _none("at no price")
    if loses is None:
        return _none("at any price up to four times its own")
    for _ in range(_MOST_TRIES):
        if loses - wins <= STEP:
            break
        wins, loses = _closer(prices, wins, loses)
    return BreakEven(share=wins, usd=quoted_usd * wins, not_at=loses)


def _none(reason: str) -> BreakEven:
    return BreakEven(share=None, usd=None, not_at=None, reason=reason)


def _bracket(prices: PriceShares) -> tuple[float | None, float | None]:
    """Return a share at which the bid is first and a larger one at which it is not."""
    if prices.wins(1.0):
        return (1.0, None) if prices.wins(MOST) else (1.0, MOST)
    return (LEAST, 1.0) if prices.wins(LEAST) else (None, 1.0)


def _closer(prices: PriceShares, wins: float, loses: float) -> tuple[float, float]:
    """Return a smaller bracket: about where a line through both ends meets the target."""
    low, high = prices.score(wins), prices.score(loses)
    middle = 0.5 * (wins + loses)
    if low is not None and high is not None and prices.judge.in_money and high.value != low.value:
        part = (prices.others[0].value - low.value) / (high.value - low.value)
        guess = wins + part * (loses - wins)
        for share in (guess - 0.45 * STEP, guess + 0.45 * STEP):
            if wins < share < loses:
                wins, loses = (share, loses) if prices.wins(share) else (wins, share)
        middle = 0.5 * (wins + loses)
    if loses - wins > STEP:
        wins, loses = (middle, loses) if prices.wins(middle) else (wins, middle)
    return wins, loses


# How ranks hold where the book's prices come in elsewhere within their ranges.


@dataclass(frozen=True)
class Money:
    """The money of a bid over the book's prices: ``fixed``, and by product from low to high.

    ``work`` is what it is divided by in a measure of money; ``value`` the value in any other.
    """

    fixed: float
    spans: Mapping[str, tuple[float, float]]
    work: float
    value: float

    def money_in_draws(
        self, skus: Sequence[str], draws: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the money in each of some draws, each a share of every product's range."""
        usd = np.full(len(draws), self.fixed)
        for at, sku in enumerate(skus):
            if sku in self.spans:
                low, high = self.spans[sku]
                usd += low + draws[:, at] * (high - low)
        return usd


def money_of(judge: Judge, found: Judged, lines: Sequence[BidLine]) -> Money:
    """Return what of a bid's money the book's prices decide."""
    assert found.plan is not None
    whole, value = judge.usd(found.plan), judge.value(found.plan)
    open_ = [line for line in lines if line.high_usd - line.low_usd > 0.005]
    at_list = math.fsum(line.usd + line.years_usd for line in open_)
    spans = {line.sku: (line.low_usd, line.high_usd) for line in open_}
    return Money(whole - at_list, spans, whole / value if value else 1.0, value)


def rank_stability(
    judge: Judge, bids: Mapping[str, Money]
) -> tuple[dict[str, Holding], bool | None]:
    """Return how the rank of each bid holds, and whether the first is first whatever comes.

    The book's prices are drawn evenly from low to high, each by itself and the same for every bid;
    plans stay as they are. Whether the first stays first is settled exactly: money is linear in
    prices, so the least lead over each other bid lies in a corner of the ranges.

    Args:
        bids: the bids that meet every limit, by key, the first one first.
    """
    if not bids:
        return {}, None
    keys = list(bids)
    skus = sorted({sku for each in bids.values() for sku in each.spans})
    draws: NDArray[np.float64] = np.random.default_rng(_SEED).random((DRAWS, len(skus)))
    money = [bids[key].money_in_draws(skus, draws).tolist() for key in keys]
    ranks: list[list[int]] = [[] for _ in keys]
    for drawn in zip(*money, strict=True):
        scores = [Score(usd / bids[key].work if judge.in_money else bids[key].value, usd)
                  for key, usd in zip(keys, drawn, strict=True)]  # fmt: skip
        for rank, at in enumerate(order_scores(judge, scores), 1):
            ranks[at].append(rank)
    found = {
        key: Holding(first=own.count(1) / DRAWS, best_rank=min(own), worst_rank=max(own))
        for key, own in zip(keys, ranks, strict=True)
    }
    first, *rest = keys
    return found, all(_always_ahead(judge, bids[first], bids[key]) for key in rest)


def _always_ahead(judge: Judge, one: Money, other: Money) -> bool:
    """Say whether a bid is before another one wherever the book's prices come in."""
    works = (one.work, other.work) if judge.in_money else (1.0, 1.0)
    if not judge.in_money:
        far = abs(one.value - other.value) > judge.indifferent * abs(one.value)
        if far or not judge.indifferent:
            return order_scores(judge, [Score(one.value, 0.0), Score(other.value, 0.0)])[0] == 0
    lead = other.fixed / works[1] - one.fixed / works[0]
    for sku in one.spans.keys() | other.spans.keys():
        low_one, high_one = one.spans.get(sku, (0.0, 0.0))
        low_other, high_other = other.spans.get(sku, (0.0, 0.0))
        ends = (low_other / works[1] - low_one / works[0],
                high_other / works[1] - high_one / works[0])  # fmt: skip
        lead += min(ends)
    return lead > 0.0
