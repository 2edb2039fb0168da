"""The order of bids, their best mix, break-even prices, and ranks over the book's price ranges.

A lot is the GPU systems or the storage of one bid. All other products come from the awarded bid
with the lowest price, or from a further bid that is lower still. An awarded bid is paid all its
charges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.analysis.bids.evaluation import Evaluated, Evaluator, figures_of, offered_prices
from planner.analysis.bids.offers import LOTS, Offer, price_of
from planner.analysis.bids.overlay import Counts, lot_counts
from planner.limits import known
from planner.schema.bill import (
    Award,
    BidLine,
    BreakEven,
    Holding,
    Mix,
)
from planner.schema.plan import Plan


class Score(NamedTuple):
    """A bid's value in the measure, and its money."""

    value: float
    usd: float


def score_of(evaluator: Evaluator, plan: Plan) -> Score:
    """Return the score of a plan."""
    return Score(evaluator.value(plan), evaluator.usd(plan))


def order_scores(evaluator: Evaluator, scores: Sequence[Score]) -> list[int]:
    """Return the places of scores, the best first; within the tolerance the cheapest is first."""
    sign = 1.0 if evaluator.measure.sense == "minimize" else -1.0
    left, found = list(range(len(scores))), []
    while left:
        best = min(left, key=lambda at: sign * scores[at].value)
        room = evaluator.tolerance * abs(scores[best].value)
        near = [at for at in left if sign * (scores[at].value - scores[best].value) <= room]
        first = min(near, key=lambda at: scores[at].usd) if evaluator.tolerance else best
        found.append(first)
        left.remove(first)
    return found


# The best mix.

MOST_AWARDS = 600
"""Of more awards only those without a bid beside the owners of the lots are planned."""


@dataclass(frozen=True)
class Choice:
    """An award to plan: the bids, the owner of each lot, and the counts."""

    bids: tuple[Offer, ...]
    owners: Mapping[str, Offer]
    lots: Counts


def best_mix(
    evaluator: Evaluator, offers: Sequence[Offer], best: Evaluated | None
) -> tuple[Mix | None, str]:
    """Return the best award of lots, and a remark where there is none or not all were planned.

    Args:
        evaluator: the problem.
        offers: the bids.
        best: the best single bid that meets every limit.
    """
    choices, cut = _choices(evaluator, offers, book=False)
    found, proven = _plan_awards(evaluator, choices)
    if not found:  # a lot may have to be bought at the book's prices though there are bids on it
        choices, cut = _choices(evaluator, offers, book=True)
        found, proven = _plan_awards(evaluator, choices)
    if not found:
        return None, f"none of {len(choices)} awards of lots meets every limit"
    found.sort(key=lambda entry: len(entry[0].bids))  # of equal ones that of fewer bids
    plans = [evaluated.plan for _, evaluated in found if evaluated.plan is not None]
    at = order_scores(evaluator, [score_of(evaluator, plan) for plan in plans])[0]
    (choice, evaluated), plan = found[at], plans[at]
    value, least = evaluator.value(plan), evaluator.measure.sense == "minimize"
    bounds = [each.bound for _, each in found if each.bound is not None]
    bounded = evaluator.measure.name == plan.objective.name and len(bounds) == len(found)
    saves = better = None
    if best is not None and best.plan is not None:
        was = evaluator.value(best.plan)
        saves = evaluator.usd(best.plan) - evaluator.usd(plan)
        better = (was - value if least else value - was) / abs(was) if was else None
    remark = "too many awards: only those in which every bid has a lot were planned"
    return Mix(
        awards=tuple(_awards(choice, evaluated)),
        bids=tuple(offer.key for offer in choice.bids),
        measured=value,
        bound=(min if least else max)(bounds) if bounded else None,
        proven=proven and not cut,
        figures=figures_of(plan),
        tried=len(choices),
        possible=len(found),
        saves_usd=saves,
        better=better,
    ), remark if cut else ""


def _plan_awards(
    evaluator: Evaluator, choices: Sequence[Choice]
) -> tuple[list[tuple[Choice, Evaluated]], bool]:
    """The awards that meet every limit, and whether all were planned to a proof."""
    found, proven = [], True
    for choice in choices:
        prices = offered_prices(evaluator, choice.bids, choice.lots, choice.owners)
        evaluated = evaluator.evaluate(
            choice.bids, prices, choice.lots, pay_surplus=False, show_broken=False
        )
        proven = proven and evaluated.proven
        if evaluated.meets:
            found.append((choice, evaluated))
    return found, proven


def _choices(
    evaluator: Evaluator, offers: Sequence[Offer], *, book: bool
) -> tuple[list[Choice], bool]:
    """The awards to plan, and whether there are too many for all; ``book``: lots without a bid."""
    found = list(islice(_every_choice(evaluator, offers, book=book), MOST_AWARDS + 1))
    if len(found) <= MOST_AWARDS:
        return found, False
    return list(_every_choice(evaluator, offers, book=book, beside=False)), True


def _every_choice(
    evaluator: Evaluator, offers: Sequence[Offer], *, book: bool, beside: bool = True
) -> Iterator[Choice]:
    """Yield each award of the lots, alone and with bids ``beside`` that are cheaper in the rest."""
    having: list[list[Offer | None]] = []
    for lot in LOTS:
        bidders: list[Offer | None] = [offer for offer in offers if offer.lot(lot)]
        having.append([*bidders, None] if book or not bidders else bidders)
    for pair in product(*having):
        owners = {lot: offer for lot, offer in zip(LOTS, pair, strict=True) if offer is not None}
        lots = {
            lot: lot_counts(offer, lot, evaluator.inputs, free=evaluator.free)
            for lot, offer in owners.items()
        }
        keys = {offer.key for offer in owners.values()}
        main = [offer for offer in offers if offer.key in keys]
        others = [
            offer
            for offer in offers
            if beside and offer.key not in keys and _is_cheaper(evaluator, offer, main)
        ]
        for count in range(len(others) + 1):
            for more in combinations(others, count):
                bids = tuple(offer for offer in offers if offer in main or offer in more)
                if bids:
                    yield Choice(bids, owners, lots)


def _is_cheaper(evaluator: Evaluator, offer: Offer, main: Sequence[Offer]) -> bool:
    """Whether a bid is cheaper in any product outside the lots than other bids, or the book."""

    def price(bid: Offer, id_: str) -> float:
        own = bid.products[id_]
        quoted = price_of(own, bid, evaluator.inputs)
        return evaluator.unit_usd(own.item, quoted, discounted=False)

    for id_, own in offer.products.items():
        if own.item.category in LOTS or own.included:
            continue
        book = evaluator.inputs.prices.get(id_)
        others = [price(bid, id_) for bid in main if id_ in bid.products]
        others = others or [math.inf if book is None else evaluator.unit_usd(own.item, book)]
        if price(offer, id_) < min(others):
            return True
    return False


def _awards(choice: Choice, evaluated: Evaluated) -> Iterator[Award]:
    """Yield an award for each lot and one for all else, with its bids and purchased units."""
    assert evaluated.plan is not None
    bought = evaluated.bought
    lines = [line for line in evaluated.plan.lines if line.parent is None]
    books = {line.sku: line.price.book if line.price else "" for line in lines}

    def sellers(id_: str) -> list[str]:
        begins = (f"Bid {offer.key}," for offer in choice.bids)
        book = books.get(id_) or ""
        return [offer.key for offer, begin in zip(choice.bids, begins, strict=True)
                if book.startswith(begin)]  # fmt: skip

    for lot in ("gpu_system", "storage"):
        counts = {line.sku: bought[line.sku] for line in lines
                  if line.category == lot and bought[line.sku]}  # fmt: skip
        owner = choice.owners.get(lot)
        yield Award(lot=lot, bids=() if owner is None else (owner.key,), counts=counts)
    others = {
        id_: offer.key
        for offer in choice.bids
        for id_, own in offer.products.items()
        if own.item.category not in LOTS and bought.get(id_) and offer.key in sellers(id_)
    }
    yield Award(
        lot="others",
        bids=tuple(sorted(set(others.values()))),
        counts={id_: bought[id_] for id_ in others},
    )


# Break-even prices.

STEP = 1e-4
"""Precision of break-even prices, as a share of the bid."""
LEAST, MOST = 1e-3, 4.0
"""Shares of a bid's prices in which a break-even is sought."""
_MOST_TRIES = 24


def is_money_alone(found: Evaluated) -> bool:
    """Whether only limits on money are broken, which a lower price may keep."""
    rows = [known(breach.name) for breach in found.breaches]
    return not found.against and all(
        row is not None and row.path.startswith("budget.") for row in rows
    )


def break_even(
    evaluator: Evaluator,
    found: Evaluated,
    quoted_usd: float,
    others: Sequence[Score],
    evaluate_at: Callable[[float], Evaluated],
) -> BreakEven:
    """Return the highest share of its prices at which a bid is first.

    A lower price never lowers the rank, so the rank changes once between a share at which the bid
    is first and one at which it is not: sought on a straight line, otherwise by bisection.

    Args:
        evaluator: the problem.
        found: the bid as quoted.
        quoted_usd: its sum.
        others: scores of the other bids that meet every limit, the best first.
        evaluate_at: plans the bid at a share of its prices.
    """

    def score(share: float) -> Score | None:
        at = evaluate_at(share)
        return score_of(evaluator, at.plan) if at.meets and at.plan else None

    def is_first(share: float) -> bool:
        own = score(share)
        return own is not None and order_scores(evaluator, [*others, own])[0] == len(others)

    if found.plan is None or (not found.meets and not is_money_alone(found)):
        return _no_price("no price helps: it breaks other limits than those on money")
    if not others:
        return _no_price("no other bid meets every limit")
    wins, loses = (1.0, MOST) if is_first(1.0) else (LEAST, 1.0)
    if wins == LEAST and not is_first(LEAST):
        return _no_price("at no price")
    if loses == MOST and is_first(MOST):
        return _no_price("at any price up to four times its own")
    target = others[0].value if evaluator.in_money else None
    for _ in range(_MOST_TRIES):
        if loses - wins > STEP:
            wins, loses = _narrow(wins, loses, score, is_first, target)
    return BreakEven(share=wins, usd=quoted_usd * wins, not_at=loses)


def _narrow(
    wins: float,
    loses: float,
    score: Callable[[float], Score | None],
    is_first: Callable[[float], bool],
    target: float | None,
) -> tuple[float, float]:
    """A smaller bracket: about the share at which a line through its scores meets a target."""
    tries = [0.5 * (wins + loses)]
    low, high = score(wins), score(loses)
    if target is not None and low is not None and high is not None and high.value != low.value:
        part = (target - low.value) / (high.value - low.value)
        share = wins + part * (loses - wins)
        tries = [share - 0.45 * STEP, share + 0.45 * STEP]
    for share in tries:
        if wins < share < loses:
            wins, loses = (share, loses) if is_first(share) else (wins, share)
    middle = 0.5 * (wins + loses)
    if loses - wins > STEP:
        wins, loses = (middle, loses) if is_first(middle) else (wins, middle)
    return wins, loses


def _no_price(reason: str) -> BreakEven:
    return BreakEven(share=None, usd=None, not_at=None, reason=reason)


# Ranks over the ranges of the book's prices.

DRAWS = 4096
_SEED = 1


@dataclass(frozen=True)
class Money:
    """A bid's money: a fixed part, and from low to high by product at the book's prices.

    ``work`` divides it in a measure of money; ``value`` is the value in any other.
    """

    fixed: float
    spans: Mapping[str, tuple[float, float]]
    work: float
    value: float

    def draw(self, items: Sequence[str], shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the money in each draw; rows of ``shares`` are places in the products' ranges."""
        usd = np.full(len(shares), self.fixed)
        for at, item in enumerate(items):
            low, high = self.spans.get(item, (0.0, 0.0))
            usd += low + shares[:, at] * (high - low)
        return usd


def money_of(evaluator: Evaluator, found: Evaluated, lines: Sequence[BidLine]) -> Money:
    """Return the money of a bid with the parts that the book's prices decide."""
    assert found.plan is not None
    whole, value = evaluator.usd(found.plan), evaluator.value(found.plan)
    ranged = [line for line in lines if line.high_usd - line.low_usd > 0.005]
    at_list = math.fsum(line.usd + line.years_usd for line in ranged)
    spans = {line.sku: (line.low_usd, line.high_usd) for line in ranged}
    return Money(whole - at_list, spans, whole / value if value else 1.0, value)


def rank_stability(
    evaluator: Evaluator, bids: Mapping[str, Money]
) -> tuple[dict[str, Holding], bool | None]:
    """Return the stability of each rank, and whether the first is first at all book prices.

    Draws take each book price uniformly in its range, the same for every bid; plans stay as they
    are. Whether the first stays first is exact: money is linear in prices, so the least lead over
    another bid is at an end of each range.

    Args:
        evaluator: the problem.
        bids: the bids that meet every limit by key, the first one first.
    """
    if not bids:
        return {}, None
    keys, every = list(bids), list(bids.values())
    items = sorted({item for each in every for item in each.spans})
    shares = np.random.default_rng(_SEED).random((DRAWS, len(items)))
    money = [each.draw(items, shares).tolist() for each in every]
    ranks: list[list[int]] = [[] for _ in keys]
    for drawn in zip(*money, strict=True):
        scores = [
            Score(usd / each.work if evaluator.in_money else each.value, usd)
            for each, usd in zip(every, drawn, strict=True)
        ]
        for rank, at in enumerate(order_scores(evaluator, scores), 1):
            ranks[at].append(rank)
    held = {
        key: Holding(first=own.count(1) / DRAWS, best_rank=min(own), worst_rank=max(own))
        for key, own in zip(keys, ranks, strict=True)
    }
    return held, all(_is_always_ahead(evaluator, every[0], other) for other in every[1:])


def _is_always_ahead(evaluator: Evaluator, one: Money, other: Money) -> bool:
    """Whether a bid is before another one at all book prices."""
    works = (one.work, other.work) if evaluator.in_money else (1.0, 1.0)
    if not evaluator.in_money:
        far = abs(one.value - other.value) > evaluator.tolerance * abs(one.value)
        if far or not evaluator.tolerance:
            scores = [Score(one.value, 0.0), Score(other.value, 0.0)]
            return order_scores(evaluator, scores)[0] == 0
    lead = other.fixed / works[1] - one.fixed / works[0]
    for item in one.spans.keys() | other.spans.keys():
        ours, theirs = one.spans.get(item, (0.0, 0.0)), other.spans.get(item, (0.0, 0.0))
        lead += min(b / works[1] - a / works[0] for a, b in zip(ours, theirs, strict=True))
    return lead > 0.0
