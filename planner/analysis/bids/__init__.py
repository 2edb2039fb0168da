"""Bids on one problem: each planned and ranked, the best mix, and each bid's break-even price."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planner.analysis.bids.evaluation import Evaluated, Evaluator, figures_of, offered_prices
from planner.analysis.bids.offers import LETTERS, LOTS, Offer, offer_of, read_bids, trace_lines
from planner.analysis.bids.overlay import all_lots
from planner.analysis.bids.ranking import (
    DRAWS,
    best_mix,
    break_even,
    is_money_alone,
    money_of,
    order_scores,
    rank_stability,
    score_of,
)
from planner.analysis.request import PROBLEMS, Found, Request, head_of
from planner.errors import Finding, InputError
from planner.quotes.lines import is_total
from planner.schema.bill import (
    Bid,
    BidLine,
    Bids,
    BidState,
    Holding,
    Quantities,
    Quote,
    Remedy,
)
from planner.schema.plan import Plan

__all__ = ["evaluate", "run"]


@dataclass
class Entry:
    """A bid while it is evaluated; ``at`` keeps its plans by share of its prices and freedom."""

    offer: Offer
    evaluated: Evaluated | None = None
    rank: int | None = None
    at: dict[tuple[float, bool], Evaluated] = field(default_factory=dict)

    def plan_at(self, evaluator: Evaluator, share: float, *, free: bool) -> Evaluated:
        """The bid planned at a share of its prices."""
        key = share, free
        if key not in self.at:
            offer = self.offer.at(share)
            lots = all_lots(offer, evaluator.inputs, free=free)
            prices = offered_prices(evaluator, (offer,), lots, {})
            self.at[key] = evaluator.evaluate((offer,), prices, lots, pay_surplus=not free)
        return self.at[key]

    def lines(self, evaluator: Evaluator) -> list[BidLine]:
        """The bill of its plan."""
        assert self.evaluated is not None
        lots = all_lots(self.offer, evaluator.inputs, free=evaluator.free)
        prices = offered_prices(evaluator, (self.offer,), lots, {})
        return evaluator.lines(self.evaluated, prices)


def run(
    request: Request,
    *,
    quotes: Sequence[Path],
    quantities: Quantities,
    vendor: Sequence[str],
    mapping: Sequence[str],
    date: Sequence[str],
    currency: Sequence[str],
    rate: Sequence[str],
) -> Found:
    """Evaluate bids on a problem.

    Args:
        request: the problem and how to solve; its further paths are bids, too.
        quotes: files of bids.
        quantities: as quoted, or free.
        vendor, mapping, date, currency: statements on a file, as FILE=VALUE, or on all.
        rate: exchange rates, as EUR=1.08.

    Raises:
        InputError: the problem, a file or an option is wrong.
    """
    if request.path.suffix.lower() not in PROBLEMS:
        message = f"'{request.path}' is no problem file"
        fix = "planner quote bid PROBLEM.yaml a.xlsx b.csv"
        raise InputError(Finding("files", message, fix=fix))
    read, inputs = read_bids(
        (*quotes, *request.paths[1:]),
        request.inputs,
        vendor=vendor,
        mapping=mapping,
        date=date,
        currency=currency,
        rate=rate,
    )
    evaluator = Evaluator(inputs, request.options(), quantities)
    found, plan = evaluate(evaluator, read, progress=request.progress)
    return Found((found,), (found.status,), plan=None if plan is None else lambda: plan)


def evaluate(
    evaluator: Evaluator,
    quotes: Sequence[Quote],
    *,
    progress: Callable[[int, int], None] = lambda done, asked: None,
) -> tuple[Bids, Plan | None]:
    """Return the evaluation of bids, and the plan of the best of them.

    Args:
        evaluator: the problem, and whether quantities are as quoted.
        quotes: the bids.
        progress: takes the parts that are done, and their total.
    """
    parts = 2 * len(quotes) + 2
    entries = [
        Entry(offer_of(key, quote, evaluator.inputs, free=evaluator.free))
        for key, quote in zip(LETTERS, quotes, strict=False)
    ]
    for done, entry in enumerate(entries, 1):
        if not entry.offer.open:
            entry.evaluated = entry.plan_at(evaluator, 1.0, free=evaluator.free)
        progress(done, parts)
    ranked = _rank(evaluator, entries)
    best = ranked[0].evaluated if ranked else None
    closed = [entry.offer for entry in entries if entry.evaluated is not None]
    mix, remark = None, "no bid can be evaluated"
    if closed:
        mix, remark = best_mix(evaluator, closed, best)
    progress(len(entries) + 1, parts)
    money = {
        entry.offer.key: money_of(evaluator, entry.evaluated, entry.lines(evaluator))
        for entry in ranked
        if entry.evaluated is not None
    }
    held, settled = rank_stability(evaluator, money)
    records = []
    for done, entry in enumerate(entries, len(entries) + 2):
        records.append(_record(evaluator, entry, ranked, held))
        progress(done, parts)
    base, bound = evaluator.base
    found = Bids(
        **head_of(evaluator.inputs, evaluator.options.gap),
        base=None if base is None else base.objective.value,
        base_bound=bound,
        quantities=evaluator.quantities,
        measure=evaluator.measure,
        money=evaluator.money,
        bids=tuple(records),
        trace=tuple(
            row for entry in entries for row in trace_lines(entry.offer, evaluator.shown_in)
        ),
        mix=mix,
        mix_reason=remark,
        settled=settled,
        draws=DRAWS if held else 0,
        message=None if ranked else "no bid meets every limit",
        status="optimal" if ranked else "infeasible",
    )
    planned = (each.evaluated for each in entries if each.evaluated and each.evaluated.plan)
    shown = best or next(planned, None)
    return found, None if shown is None else shown.plan


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


def _record(
    evaluator: Evaluator, entry: Entry, ranked: Sequence[Entry], held: Mapping[str, Holding]
) -> Bid:
    offer, evaluated = entry.offer, entry.evaluated
    quote = offer.quote
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
    found = found.model_copy(
        update={
            "state": state if evaluated.plan is not None or evaluated.against else "open",
            "breaches": evaluated.breaches,
            "against": evaluated.against,
            "open": (evaluated.why,) if evaluated.why else (),
            "rank": entry.rank,
        }
    )
    if evaluated.plan is None:
        return found
    others = [each.evaluated.plan for each in ranked if each is not entry and each.evaluated]
    lines = entry.lines(evaluator)
    lacks = tuple(evaluator.lacks(evaluated, lines))
    return found.model_copy(
        update={
            "measured": evaluator.value(evaluated.plan),
            "figures": figures_of(evaluated.plan),
            "findings": (*found.findings, *_doubled_services(lines, offer)),
            "lines": tuple(lines),
            "charges": tuple(charge for _, charge in evaluated.charges),
            "lacks": lacks,
            "lacks_usd": math.fsum(lack.usd for lack in lacks),
            "break_even": break_even(
                evaluator,
                evaluated,
                offer.quoted_usd,
                [score_of(evaluator, plan) for plan in others if plan is not None],
                lambda share: entry.plan_at(evaluator, share, free=evaluator.free),
            ),
            "remedy": None if evaluated.meets else _remedy(evaluator, entry),
            "holding": held.get(offer.key),
        }
    )


def _unread_cells(quote: Quote) -> Iterator[str]:
    """Yield the cells of lines and totals whose money is in no figure of a bid."""
    for line in quote.lines:
        if line.kind == "not_understood" and not is_total(line.description):
            yield next(iter(line.cells.values()), f"row {line.row}")
    yield from (each.cell for each in quote.sums if not each.agrees)


def _doubled_services(lines: Sequence[BidLine], offer: Offer) -> Iterator[str]:
    """Yield services of the problem beside services of the bid: they may be the same."""
    book = [line.sku for line in lines if line.section == "Services" and line.priced_by == "book"]
    own = [charge for charge in offer.charges if charge.kind in ("service", "freight")]
    if book and own:
        cells = ", ".join(cell for charge in own for cell in charge.cells)
        yield (
            f"{cells}: its own services count, and {', '.join(book)} of the problem at the book's "
            "rate: name them in a mapping where they are the same"
        )


def _remedy(evaluator: Evaluator, entry: Entry) -> Remedy | None:
    """Quantities of a bid's products with which it meets every limit."""
    assert entry.evaluated is not None
    products = [each for lot in LOTS for each in entry.offer.lot(lot).values()]
    bundled = any(each.included for each in products)
    if evaluator.free or bundled or is_money_alone(entry.evaluated):
        return None
    found = entry.plan_at(evaluator, 1.0, free=True)
    if not found.meets or found.plan is None:
        return None
    bought = found.bought
    counts = {each.item.id: bought[each.item.id] for each in products if bought.get(each.item.id)}
    return Remedy(counts=counts, measured=evaluator.value(found.plan))
