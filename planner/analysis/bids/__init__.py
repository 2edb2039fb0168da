"""Bids on one problem: each planned and ranked, the best mix, and each bid's break-even price.

A lot is the GPU systems or the storage of one bid. All other products come from the awarded bid
with the lowest price, or from a further bid that is lower still. An awarded bid is paid all its
charges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

from planner.analysis.bids.evaluation import Evaluated, Evaluator, figures_of, offered_prices
from planner.analysis.bids.offers import (
    LETTERS,
    LOTS,
    Offer,
    lot_counts,
    offer_of,
    price_of,
    read_bids,
)
from planner.analysis.request import PROBLEMS, Request, head_of
from planner.errors import Finding, InputError
from planner.limits import known
from planner.quotes.lines import is_total
from planner.schema.bill import Award, Bid, BidLine, Bids, BidState, BreakEven, Mix, Quote
from planner.schema.plan import Plan

__all__ = ["evaluate", "run"]


class Score(NamedTuple):
    """A bid's value in the measure, and its money."""

    value: float
    usd: float


@dataclass
class Entry:
    """A bid while it is evaluated; ``at`` keeps its plans by share of its prices."""

    offer: Offer
    evaluated: Evaluated | None = None
    lines: Sequence[BidLine] = ()
    rank: int | None = None
    at: dict[float, Evaluated] = field(default_factory=dict)

    def plan_at(self, evaluator: Evaluator, share: float) -> Evaluated:
        """The bid planned at a share of its prices."""
        if share not in self.at:
            offer = self.offer.at(share)
            lots = {
                category: lot_counts(offer, category, evaluator.inputs)
                for category in LOTS
                if offer.lot(category)
            }
            prices = offered_prices(evaluator, (offer,), lots, {})
            found = evaluator.evaluate((offer,), prices, lots, pay_surplus=True)
            self.at[share] = found
            if share == 1.0 and found.plan is not None:
                self.lines = evaluator.lines(found, prices)
        return self.at[share]


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
    """Evaluate bids on a problem.

    Args:
        request: the problem and how to solve; its further paths are bids, too.
        quotes: files of bids.
        vendor, mapping, date, currency: statements on a file, as FILE=VALUE, or on all.
        rate: exchange rates, as EUR=1.08.

    Raises:
        InputError: the problem, a file or an option is wrong.
    """
    if request.path.suffix.lower() not in PROBLEMS:
        message = f"'{request.path}' is no problem file"
        fix = "planner quote bid PROBLEM.yaml a.xlsx b.csv"
        raise InputError(Finding("files", message, fix=fix))
    files = (*quotes, *request.paths[1:])
    given = {"vendor": vendor, "mapping": mapping, "date": date, "currency": currency}
    read = read_bids(files, request.inputs, **given, rate=rate)
    evaluator = Evaluator(request.inputs, request.options())
    found, _ = evaluate(evaluator, read, progress=request.progress)
    return found


def evaluate(
    evaluator: Evaluator,
    quotes: Sequence[Quote],
    *,
    progress: Callable[[int, int], None] = lambda done, asked: None,
) -> tuple[Bids, Plan | None]:
    """The evaluation of bids, and the plan of the best of them.

    Args:
        evaluator: the problem.
        quotes: the bids.
        progress: takes the parts that are done, and their total.
    """
    parts = 2 * len(quotes) + 1
    entries = [
        Entry(offer_of(key, quote, evaluator.inputs))
        for key, quote in zip(LETTERS, quotes, strict=False)
    ]
    for done, entry in enumerate(entries, 1):
        if not entry.offer.open:
            entry.evaluated = entry.plan_at(evaluator, 1.0)
        progress(done, parts)
    ranked = _rank(evaluator, entries)
    best = ranked[0].evaluated if ranked else None
    mix, remark = None, "no bid can be evaluated"
    closed = [entry.offer for entry in entries if entry.evaluated is not None]
    if closed:
        mix, remark = best_mix(evaluator, closed, best)
    records = []
    for done, entry in enumerate(entries, len(entries) + 2):
        records.append(_record(evaluator, entry, ranked))
        progress(done, parts)
    base, bound = evaluator.base
    found = Bids(
        **head_of(evaluator.inputs, evaluator.options.gap),
        base=None if base is None else base.objective.value,
        base_bound=bound,
        measure=evaluator.measure,
        money=evaluator.money,
        bids=tuple(records),
        mix=mix,
        mix_reason=remark,
        message=None if ranked else "no bid meets every limit",
        status="optimal" if ranked else "infeasible",
    )
    planned = (each.evaluated for each in entries if each.evaluated and each.evaluated.plan)
    shown = best or next(planned, None)
    return found, None if shown is None else shown.plan


# Records


def _record(evaluator: Evaluator, entry: Entry, ranked: Sequence[Entry]) -> Bid:
    offer, evaluated = entry.offer, entry.evaluated
    quote, lines = offer.quote, entry.lines
    stated = [each.stated for each in quote.sums]
    found = Bid(
        key=offer.key,
        vendor=quote.vendor,
        file=quote.file,
        sha256=quote.sha256,
        date=quote.date,
        currency=quote.currency,
        usd_per_unit=quote.usd_per_unit,
        quoted_usd=offer.quoted_usd,
        stated_usd=stated[-1] * quote.usd_per_unit if stated else None,
        rebate=offer.rebate,
        state="open",
        charges=offer.charges,
        open=offer.open,
        unread=tuple(_unread_cells(quote)),
        findings=quote.findings,
    )
    if evaluated is None:
        return found
    state: BidState = "meets" if evaluated.meets else "breaks"
    update: dict[str, Any] = {
        "state": state if evaluated.plan is not None or evaluated.against else "open",
        "breaches": evaluated.breaches,
        "against": evaluated.against,
        "open": (evaluated.why,) if evaluated.why else (),
        "rank": entry.rank,
    }
    if evaluated.plan is not None:
        lacks = tuple(evaluator.lacks(evaluated, lines))
        update |= {
            "measured": evaluator.value(evaluated.plan),
            "figures": figures_of(evaluated.plan),
            "lines": tuple(lines),
            "charges": tuple(charge for _, charge in evaluated.charges),
            "lacks": lacks,
            "lacks_usd": math.fsum(lack.usd for lack in lacks),
            "break_even": break_even(evaluator, entry, ranked),
        }
    return found.model_copy(update=update)


def _unread_cells(quote: Quote) -> Iterator[str]:
    """Yield the cells of lines and totals whose money is in no figure of a bid."""
    for line in quote.lines:
        if line.kind == "not_understood" and not is_total(line.description):
            yield next(iter(line.cells.values()), f"row {line.row}")
    yield from (each.cell for each in quote.sums if not each.agrees)


# Ranks


def score_of(evaluator: Evaluator, plan: Plan) -> Score:
    """Score of a plan."""
    return Score(evaluator.value(plan), evaluator.usd(plan))


def order_scores(evaluator: Evaluator, scores: Sequence[Score]) -> list[int]:
    """Places of scores, the best first; within the tolerance the cheapest is first."""
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


def _rank(evaluator: Evaluator, entries: Sequence[Entry]) -> list[Entry]:
    """The bids that meet every limit, the best first."""
    meeting = [
        (entry, score_of(evaluator, entry.evaluated.plan))
        for entry in entries
        if entry.evaluated is not None and entry.evaluated.meets and entry.evaluated.plan
    ]
    order = order_scores(evaluator, [score for _, score in meeting])
    ranked = [meeting[at][0] for at in order]
    for rank, entry in enumerate(ranked, 1):
        entry.rank = rank
    return ranked


# The best mix

_MOST_AWARDS = 600
"""Of more awards only those without a bid beside the owners of the lots are planned."""


class Choice(NamedTuple):
    """An award to plan: the bids, and the owner of each lot."""

    bids: tuple[Offer, ...]
    owners: Mapping[str, Offer]


def best_mix(
    evaluator: Evaluator, offers: Sequence[Offer], best: Evaluated | None
) -> tuple[Mix | None, str]:
    """The best award of lots, and a remark where there is none or not all were planned.

    Args:
        evaluator: the problem.
        offers: the bids.
        best: the best single bid that meets every limit.
    """
    found: list[tuple[Choice, Evaluated]] = []
    choices: list[Choice] = []
    remark, proven = "", True
    for book in (False, True):  # a lot may have to be bought at the book's prices
        choices = list(_choices(evaluator, offers, book=book))
        if len(choices) > _MOST_AWARDS:
            choices = list(_choices(evaluator, offers, book=book, beside=False))
            remark = "too many awards: only those in which every bid has a lot were planned"
        evaluated = [(choice, _plan_award(evaluator, choice)) for choice in choices]
        proven = not remark and all(each.proven for _, each in evaluated)
        found = [(choice, each) for choice, each in evaluated if each.meets]
        if found:
            break
    else:
        return None, f"none of {len(choices)} awards of lots meets every limit"
    found.sort(key=lambda entry: len(entry[0].bids))  # of equal ones that of fewer bids
    plans = [each.plan for _, each in found if each.plan is not None]
    at = order_scores(evaluator, [score_of(evaluator, plan) for plan in plans])[0]
    (choice, chosen), plan = found[at], plans[at]
    value, least = evaluator.value(plan), evaluator.measure.sense == "minimize"
    bounds = [each.bound for _, each in found if each.bound is not None]
    bounded = evaluator.measure.name == plan.objective.name and len(bounds) == len(found)
    saves = better = None
    if best is not None and best.plan is not None:
        was = evaluator.value(best.plan)
        saves = evaluator.usd(best.plan) - evaluator.usd(plan)
        better = (was - value if least else value - was) / abs(was) if was else None
    return Mix(
        awards=tuple(_awards(choice, chosen)),
        bids=tuple(offer.key for offer in choice.bids),
        measured=value,
        bound=(min if least else max)(bounds) if bounded else None,
        proven=proven,
        figures=figures_of(plan),
        tried=len(choices),
        possible=len(found),
        saves_usd=saves,
        better=better,
    ), remark


def _plan_award(evaluator: Evaluator, choice: Choice) -> Evaluated:
    lots = {lot: lot_counts(each, lot, evaluator.inputs) for lot, each in choice.owners.items()}
    prices = offered_prices(evaluator, choice.bids, lots, choice.owners)
    return evaluator.evaluate(choice.bids, prices, lots, pay_surplus=False, show_broken=False)


def _choices(
    evaluator: Evaluator, offers: Sequence[Offer], *, book: bool, beside: bool = True
) -> Iterator[Choice]:
    """Yield each award of the lots, alone and with bids ``beside`` that are cheaper in the rest.

    Args:
        book: whether a lot with bids may be bought at the book's prices.
    """
    having: list[list[Offer | None]] = []
    for lot in LOTS:
        bidders: list[Offer | None] = [offer for offer in offers if offer.lot(lot)]
        having.append([*bidders, None] if book or not bidders else bidders)
    for pair in product(*having):
        owners = {lot: offer for lot, offer in zip(LOTS, pair, strict=True) if offer is not None}
        main = [offer for offer in offers if offer in owners.values()]
        others = [offer for offer in offers if beside and _is_cheaper(evaluator, offer, main)]
        for count in range(len(others) + 1):
            for more in combinations(others, count):
                if main or more:
                    bids = tuple(offer for offer in offers if offer in (*main, *more))
                    yield Choice(bids, owners)


def _is_cheaper(evaluator: Evaluator, offer: Offer, main: Sequence[Offer]) -> bool:
    """Whether a bid is cheaper in any product outside the lots than the main bids, or the book."""
    if offer in main:
        return False
    for id_, own in offer.products.items():
        if own.item.category in LOTS or own.included:
            continue
        book = evaluator.inputs.prices.get(id_)
        price, *others = (
            evaluator.unit_usd(
                own.item, price_of(bid.products[id_], bid, evaluator.inputs), discounted=False
            )
            for bid in (offer, *main)
            if id_ in bid.products
        )
        others = others or [math.inf if book is None else evaluator.unit_usd(own.item, book)]
        if price < min(others):
            return True
    return False


def _awards(choice: Choice, evaluated: Evaluated) -> Iterator[Award]:
    """Yield an award for each lot and one for all else, with its bids and purchased units."""
    assert evaluated.plan is not None
    lines = [line for line in evaluated.plan.lines if line.parent is None and line.purchased]
    for lot in ("gpu_system", "storage"):
        counts = {line.sku: line.purchased for line in lines if line.category == lot}
        owner = choice.owners.get(lot)
        yield Award(lot=lot, bids=() if owner is None else (owner.key,), counts=counts)
    sellers = {
        line.sku: offer.key
        for offer in choice.bids
        for line in lines
        if line.category not in LOTS
        and line.sku in offer.products
        and line.price is not None
        and line.price.book == offer.title
    }
    counts = {line.sku: line.purchased for line in lines if line.sku in sellers}
    yield Award(lot="others", bids=tuple(sorted(set(sellers.values()))), counts=counts)


# Break-even prices

_STEP = 1e-4
"""Precision of break-even prices, as a share of the bid."""
_LEAST, _MOST = 1e-3, 4.0
"""Shares of a bid's prices in which a break-even is sought."""


def break_even(evaluator: Evaluator, entry: Entry, ranked: Sequence[Entry]) -> BreakEven:
    """The highest share of its prices at which a bid is first.

    A lower price never lowers the rank, so the rank changes once between a share at which the bid
    is first and one at which it is not: sought on a straight line, otherwise by bisection.
    """
    found = entry.evaluated
    plans = [each.evaluated.plan for each in ranked if each is not entry and each.evaluated]
    others = [score_of(evaluator, plan) for plan in plans if plan is not None]

    def score(share: float) -> Score | None:
        at = entry.plan_at(evaluator, share)
        return score_of(evaluator, at.plan) if at.meets and at.plan is not None else None

    def is_first(share: float) -> bool:
        own = score(share)
        return own is not None and order_scores(evaluator, [*others, own])[0] == len(others)

    def none(reason: str) -> BreakEven:
        return BreakEven(share=None, usd=None, not_at=None, reason=reason)

    if found is None or found.plan is None or not (found.meets or _is_money_alone(found)):
        return none("no price helps: it breaks other limits than those on money")
    if not others:
        return none("no other bid meets every limit")
    wins, loses = (1.0, _MOST) if is_first(1.0) else (_LEAST, 1.0)
    end, whether = (_LEAST, True) if wins == _LEAST else (_MOST, False)
    if is_first(end) != whether:
        return none("at no price" if whether else "at any price up to four times its own")
    while loses - wins > _STEP:
        ends = (wins, score(wins)), (loses, score(loses))
        tried = _on_line(ends, others[0].value) if evaluator.in_money else ()
        for share in (*tried, 0.5 * (wins + loses)):
            if wins < share < loses and loses - wins > _STEP:
                wins, loses = (share, loses) if is_first(share) else (wins, share)
    return BreakEven(share=wins, usd=entry.offer.quoted_usd * wins, not_at=loses)


def _on_line(ends: Sequence[tuple[float, Score | None]], target: float) -> tuple[float, ...]:
    """Shares just below and above the one at which a line through two scores meets a value."""
    (low, first), (high, last) = ends
    if first is None or last is None or first.value == last.value:
        return ()
    share = low + (target - first.value) / (last.value - first.value) * (high - low)
    return share - 0.45 * _STEP, share + 0.45 * _STEP


def _is_money_alone(found: Evaluated) -> bool:
    """Whether only limits on money are broken, which a lower price may keep."""
    rows = [known(breach.name) for breach in found.breaches]
    return not found.against and all(
        row is not None and row.path.startswith("budget.") for row in rows
    )
