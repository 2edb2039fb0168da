"""Bids on one problem: each planned, ranked, mixed, and asked what it would take to win."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planner.errors import Finding, InputError
from planner.inputs import Inputs
from planner.quotes.lines import is_total
from planner.schema.bids import (
    Bid,
    BidLine,
    Bids,
    BidState,
    BreakEven,
    Holding,
    Quantities,
    Remedy,
)
from planner.schema.bill import Quote
from planner.schema.plan import Plan
from planner.studies.bids.asking import LETTERS, read_bids
from planner.studies.bids.judging import Judge, Judged, figures_of, offered_prices
from planner.studies.bids.standing import (
    DRAWS,
    Score,
    best_mix,
    break_even,
    money_alone,
    money_of,
    order_scores,
    rank_stability,
    score_of,
)
from planner.studies.bids.tenders import LOTS, Tender, lot_counts, tender_of, trace_lines
from planner.studies.request import PROBLEMS, Found, Request, head_of

__all__ = ["evaluate", "run"]


@dataclass
class Standing:
    """A bid while it is evaluated."""

    tender: Tender
    judged: Judged | None = None
    rank: int | None = None
    kept: dict[float, Judged] = field(default_factory=dict)

    @property
    def ranked(self) -> bool:
        """Whether it can be judged and meets every limit."""
        return self.judged is not None and self.judged.meets


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
        vendor: who bids, as FILE=NAME.
        mapping: how a file is laid out, as FILE=MAP.yaml.
        date: of a quote, as FILE=2026-11-20.
        currency: of a quote, as FILE=EUR.
        rate: rates of exchange, as EUR=1.08.

    Raises:
        InputError: the problem, a file or an option is wrong.
    """
    if request.path.suffix.lower() not in PROBLEMS:
        message = f"'{request.path}' is no problem file"
        fix = "planner quote bid PROBLEM.yaml a.xlsx b.csv"
        raise InputError(Finding("files", message, fix=fix))
    files = (*quotes, *request.paths[1:])
    read, inputs = read_bids(
        files,
        request.inputs,
        vendor=vendor,
        mapping=mapping,
        date=date,
        currency=currency,
        rate=rate,
    )
    judge = Judge(inputs, request.options(), quantities)
    found, plan = evaluate(judge, read, progress=request.progress)
    ended = "optimal" if any(bid.rank for bid in found.bids) else "infeasible"
    return Found((found,), (ended,), plan=None if plan is None else lambda: plan)


def evaluate(
    judge: Judge,
    quotes: Sequence[Quote],
    *,
    progress: Callable[[int, int], None] = lambda done, asked: None,
) -> tuple[Bids, Plan | None]:
    """Return bids evaluated on a problem, and the plan of the best of them.

    Args:
        judge: the problem, how to solve, and whether quantities are as quoted.
        progress: is told how many parts of the work are done, of how many.
    """
    inputs = judge.inputs
    asked = 2 * len(quotes) + 2
    bids = [Standing(tender_of(key, quote, inputs, free=judge.quantities == "free"))
            for key, quote in zip(LETTERS, quotes, strict=False)]  # fmt: skip
    for done, bid in enumerate(bids, 1):
        if not bid.tender.open:
            bid.judged = _at(judge, bid, 1.0)
        progress(done, asked)
    ranked = _ranked(judge, bids)
    best = ranked[0].judged if ranked else None
    judged = [bid.tender for bid in bids if bid.judged is not None]
    mix, reason = best_mix(judge, judged, best) if judged else (None, "no bid can be judged")
    progress(len(bids) + 1, asked)
    money = {bid.tender.key: money_of(judge, bid.judged, _lines(judge, bid))
             for bid in ranked if bid.judged is not None}  # fmt: skip
    held, settled = rank_stability(judge, money)
    records = []
    for done, bid in enumerate(bids, len(bids) + 2):
        records.append(_record(judge, bid, ranked, held))
        progress(done, asked)
    progress(asked, asked)
    found = _head(judge).model_copy(
        update={
            "bids": tuple(records),
            "trace": tuple(row for bid in bids for row in trace_lines(bid.tender, judge.shown_in)),
            "mix": mix,
            "mix_reason": reason,
            "settled": settled,
            "draws": DRAWS if held else 0,
            "message": None if ranked else "no bid meets every limit",
            "status": "optimal" if ranked else "infeasible",
        }
    )
    shown = best or next((bid.judged for bid in bids if bid.judged and bid.judged.plan), None)
    return found, None if shown is None else shown.plan


def _head(judge: Judge) -> Bids:
    """Return the record without bids."""
    base, bound = judge.base
    return Bids(
        **head_of(judge.inputs, judge.options.gap),
        base=None if base is None else base.objective.value,
        base_bound=bound,
        quantities=judge.quantities,
        measure=judge.measure,
        money=judge.money,
        bids=(),
        trace=(),
    )


def _lots(tender: Tender, inputs: Inputs, *, free: bool) -> dict[str, dict[str, int | None]]:
    found = {category: lot_counts(tender, category, inputs, free=free) for category in LOTS}
    return {category: lot for category, lot in found.items() if lot}


def _lines(judge: Judge, bid: Standing) -> list[BidLine]:
    """Return the bill of a bid that was planned."""
    assert bid.judged is not None
    lots = _lots(bid.tender, judge.inputs, free=judge.quantities == "free")
    return judge.lines(bid.judged, offered_prices(judge, (bid.tender,), lots, {}))


def _at(judge: Judge, bid: Standing, share: float, *, free: bool | None = None) -> Judged:
    """Return a bid planned at a share of its prices."""
    free = judge.quantities == "free" if free is None else free
    key = -share if free and judge.quantities == "quoted" else share
    if key not in bid.kept:
        tender = bid.tender if share == 1.0 else bid.tender.at(share)
        lots = _lots(tender, judge.inputs, free=free)
        prices = offered_prices(judge, (tender,), lots, {})
        bid.kept[key] = judge.assess((tender,), prices, lots, whole=not free)
    return bid.kept[key]


def _score(judge: Judge, bid: Standing) -> Score:
    assert bid.judged is not None
    assert bid.judged.plan is not None
    return score_of(judge, bid.judged.plan)


def _ranked(judge: Judge, bids: Sequence[Standing]) -> list[Standing]:
    """Return the bids that meet every limit, the best first."""
    meeting = [bid for bid in bids if bid.ranked]
    ranked = [meeting[at] for at in order_scores(judge, [_score(judge, bid) for bid in meeting])]
    for rank, bid in enumerate(ranked, 1):
        bid.rank = rank
    return ranked


def _record(
    judge: Judge, bid: Standing, ranked: Sequence[Standing], held: dict[str, Holding]
) -> Bid:
    tender, judged = bid.tender, bid.judged
    quote = tender.quote
    totals = [each.stated for each in quote.sums]
    found = Bid(
        key=tender.key,
        vendor=quote.vendor,
        file=quote.file,
        sha256=quote.sha256,
        date=quote.date,
        currency=quote.currency,
        usd_per_unit=quote.usd_per_unit,
        quoted_usd=tender.quoted_usd,
        stated_usd=totals[-1] * quote.usd_per_unit if totals else None,
        rebate=tender.rebate,
        state="open",
        charges=tender.charges,
        open=tender.open,
        unread=tuple(_unread(quote)),
        findings=quote.findings,
    )
    if judged is None:
        return found
    state: BidState = "meets" if judged.meets else "breaks"
    found = found.model_copy(update={
        "state": state if judged.plan is not None or judged.against else "open",
        "breaches": judged.breaches,
        "against": judged.against,
        "open": (judged.why,) if judged.why else (),
        "rank": bid.rank,
    })  # fmt: skip
    if judged.plan is None:
        return found
    lines = _lines(judge, bid)
    lacks = tuple(judge.lacks(judged, lines))
    return found.model_copy(update={
        "measured": judge.value(judged.plan),
        "figures": figures_of(judged.plan),
        "findings": (*found.findings, *_twice(lines, tender)),
        "lines": tuple(lines),
        "charges": tuple(charge for _, charge in judged.charges),
        "lacks": lacks,
        "lacks_usd": math.fsum(lack.usd for lack in lacks),
        "break_even": _break_even(judge, bid, ranked),
        "remedy": None if judged.meets else _remedy(judge, bid),
        "holding": held.get(tender.key),
    })  # fmt: skip


def _unread(quote: Quote) -> Iterator[str]:
    """Yield the cells of lines and totals whose money is in no figure of a bid."""
    for line in quote.lines:
        if line.kind == "not_understood" and not is_total(line.description):
            yield next(iter(line.cells.values()), f"row {line.row}")
    yield from (each.cell for each in quote.sums if not each.agrees)


def _twice(lines: Sequence[BidLine], tender: Tender) -> Iterator[str]:
    """Yield what may be counted twice: services of the problem, and services of the bid."""
    asked = [line.sku for line in lines if line.section == "Services" and line.priced_by == "book"]
    own = [charge for charge in tender.charges if charge.kind in ("service", "freight")]
    if asked and own:
        cells = ", ".join(cell for charge in own for cell in charge.cells)
        yield (
            f"{cells}: its own services count, and {', '.join(asked)} of the problem at the book's "
            "rate: name them in a mapping where they are the same"
        )


def _break_even(judge: Judge, bid: Standing, ranked: Sequence[Standing]) -> BreakEven:
    assert bid.judged is not None
    others = [_score(judge, other) for other in ranked if other is not bid]
    return break_even(
        judge, bid.judged, bid.tender.quoted_usd, others, lambda share: _at(judge, bid, share)
    )


def _remedy(judge: Judge, bid: Standing) -> Remedy | None:
    """Return quantities of a bid's products with which it meets every limit, if there are any."""
    assert bid.judged is not None
    bundled = any(goods.included for lot in LOTS for goods in bid.tender.lot(lot).values())
    if judge.quantities == "free" or bundled or money_alone(bid.judged):
        return None
    found = _at(judge, bid, 1.0, free=True)
    if not found.meets or found.plan is None:
        return None
    bought = {line.sku: line.purchased for line in found.plan.lines if line.parent is None}
    mine = [sku for lot in LOTS for sku in bid.tender.lot(lot)]
    return Remedy(
        counts={sku: bought[sku] for sku in mine if bought.get(sku)},
        measured=judge.value(found.plan),
    )
