"""Bids on one problem: each planned and ranked, the best mix, and each bid's break-even price.

A lot is the GPU systems or the storage of one bid. All other products come from the awarded bid
with the lowest price, or from a further bid that is lower still. An awarded bid is paid all its
charges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice, product
from pathlib import Path
from typing import Any, Literal, NamedTuple

from planner.analysis.bids.offers import (
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
from planner.api import Options
from planner.case import resolve
from planner.case.figures import unit_net_usd
from planner.errors import Finding, InputError
from planner.figures import OBJECTIVES
from planner.inputs import Inputs, applied
from planner.levers import Lever, levers
from planner.optimizer.optimise import optimise
from planner.paths import job_path
from planner.plan import assemble
from planner.quotes.lines import is_total
from planner.schema.analysis import Measure
from planner.schema.bill import (
    Award,
    Bid,
    BidCharge,
    BidFigures,
    Bids,
    BidState,
    BreakEven,
    Mix,
    Quote,
)
from planner.schema.explanation import Breach, breaches_of
from planner.schema.plan import Line, Plan
from planner.schema.prices import Price
from planner.schema.problem import Objective
from planner.verifier import verify
from planner.workbook.audit import Draft, NothingRunsError, evaluate_draft


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
    evaluator = Evaluator(request.inputs, request.options())
    return evaluate(evaluator, read, progress=request.progress)


def evaluate(
    evaluator: Evaluator,
    quotes: Sequence[Quote],
    *,
    progress: Callable[[int, int], None] = lambda done, asked: None,
) -> Bids:
    """Plan quotes, rank them, and find the best mix and the break-even prices.

    ``progress`` takes the parts that are done, and their total.
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
    mix, remark = None, "no bid can be evaluated"
    closed = [entry.offer for entry in entries if entry.evaluated is not None]
    if closed:
        mix, remark = best_mix(evaluator, closed)
    records = []
    for done, entry in enumerate(entries, len(entries) + 2):
        records.append(_record(evaluator, entry, ranked))
        progress(done, parts)
    return Bids(
        **head_of(evaluator.inputs, evaluator.options.gap),
        measure=evaluator.measure,
        money=evaluator.money,
        bids=tuple(records),
        mix=mix,
        mix_reason=remark,
        message=None if ranked else "no bid meets every limit",
        status="optimal" if ranked else "infeasible",
    )


# Offers planned on the problem

_OF_JOB = ("jobs.", "storage.")
_FACTS = (
    "storage.client_limit",
    "storage.tolerate_down",
    *map(job_path, ("checkpoint.stall", "checkpoint.local", "restore.restart")),
    *map(job_path, ("repair", "parallelism", "gpus.hot_spares", "gpus.per_system")),
    job_path("gpus.max_types"),
)
"""Levers that define the job rather than limit it."""
_LATE = "the search ended before a plan was found"


@dataclass(frozen=True)
class Evaluated:
    """The result of offers on the problem, ``inputs`` with them.

    ``plan`` is the best one, or one that breaks limits (``breaches``) or rules (``against``);
    ``why``: there is none; ``proven``: to the gap asked for, or to have no plan.
    """

    inputs: Inputs
    prices: Prices
    charges: Charges
    plan: Plan | None = None
    breaches: tuple[Breach, ...] = ()
    against: tuple[str, ...] = ()
    why: str = ""
    proven: bool = True

    @property
    def meets(self) -> bool:
        """True if every limit and rule holds."""
        return self.plan is not None and not self.breaches and not self.against

    @property
    def lines(self) -> list[Line]:
        """Purchased products of the plan, without parts of others."""
        lines = () if self.plan is None else self.plan.lines
        return [line for line in lines if line.parent is None and line.purchased]


@dataclass
class Evaluator:
    """Plans offers on a problem, and values their plans."""

    inputs: Inputs
    options: Options

    @property
    def money(self) -> Literal["tco", "capex"]:
        """The money that counts."""
        return money_of(self.inputs)

    @property
    def measure(self) -> Measure:
        """The measure of the ranking: the problem's objective.

        Most work is ranked by money per work: a larger bid is no better.
        """
        goal = self.inputs.problem.objective
        if goal.maximize is None:
            row = OBJECTIVES[goal.name]
            return Measure(name=goal.name, label=row.label, unit=row.unit, sense=goal.sense)
        money = "TCO" if self.money == "tco" else "capex"
        flops = goal.maximize == "goodput"
        work = "useful PFLOP/s" if flops else "useful GPU"
        return Measure(
            name=f"{self.money}_per_useful_{'pflops' if flops else 'gpu'}",
            label=f"{money} per {work}",
            unit=f"USD per {work}",
            sense="minimize",
        )

    @property
    def in_money(self) -> bool:
        """True if the measure is money, or money per work."""
        own = OBJECTIVES.get(self.measure.name)
        return own is None or own.figure.money

    def score(self, plan: Plan) -> Score:
        """A plan's value in the measure, and its money that counts."""
        totals, job = plan.totals, plan.jobs[0]
        assert totals is not None
        usd = (totals.tco_usd if self.money == "tco" else totals.capex_usd) or 0.0
        if self.measure.name in OBJECTIVES:
            assert plan.objective.value is not None
            return Score(plan.objective.value, usd)
        flops = self.measure.name.endswith("pflops")
        return Score(usd / ((job.useful_pflops if flops else job.useful_gpus) or math.nan), usd)

    def evaluate(
        self,
        offers: Sequence[Offer],
        owners: Mapping[str, Offer],
        *,
        whole: bool,
    ) -> Evaluated:
        """The best plan of offers, or the limits that they break.

        ``owners`` are the bids of each lot, by category; ``whole``: all quoted units are paid, and
        broken limits are looked for.
        """
        lots = {lot: lot_counts(offer, lot, self.inputs) for lot, offer in owners.items()}
        prices = self._lowest_prices(offers, owners)
        charges = [(offer, charge) for offer in offers for charge in offer.charges]
        found = self._evaluate(prices, lots, charges, show_broken=whole)
        if found.plan is None:
            return found
        settled, surplus = self._settle(found, pay_surplus=whole)
        if settled == prices and not surplus:
            return found
        return self._evaluate(settled, lots, [*charges, *surplus], show_broken=whole)

    def _lowest_prices(self, offers: Sequence[Offer], owners: Mapping[str, Offer]) -> Prices:
        """The offered price of each product: of a lot its owner's, of others the lowest."""
        found: dict[str, tuple[Price, Offer]] = {}
        for offer in offers:
            for id_, each in offer.products.items():
                category = each.item.category
                if category in LOTS and owners.get(category) is not offer:
                    continue
                usd = unit_usd(self.inputs, each.item, each.price, ())
                if id_ not in found or usd < unit_usd(self.inputs, each.item, found[id_][0], ()):
                    found[id_] = each.price, offer
        return found

    def _settle(self, found: Evaluated, *, pay_surplus: bool) -> tuple[Prices, Charges]:
        """Prices for the counts of a plan, and charges for surplus units.

        Units included in another price are free; those beyond them cost as in the book.
        """
        settled, surplus = dict(found.prices), []
        bought = {line.sku: line.purchased for line in found.lines}
        for id_, (price, offer) in found.prices.items():
            each, need = offer.products[id_], bought.get(id_, 0)
            book = self.inputs.prices.get(id_)
            if each.included and need > each.units and book is not None:
                net = unit_net_usd(
                    each.item, book, self.inputs.discounts, self.inputs.problem.shown_in
                )
                usd = net * (need - each.units) / need
                settled[id_] = price.model_copy(update={"list_usd": usd}), offer
            over = each.units - need
            if pay_surplus and over > 1e-9 and each.price.list_usd:
                label = f"{over:g} {each.item.model} more than are needed"
                usd = over * each.price.list_usd
                charge = BidCharge(kind="surplus", label=label, usd=usd, cells=each.cells)
                surplus.append((offer, charge))
        return settled, surplus

    def _evaluate(
        self, prices: Prices, lots: Counts, charges: Charges, *, show_broken: bool
    ) -> Evaluated:
        inputs = with_offers(self.inputs, prices, lots, charges)
        bare = Evaluated(inputs, prices, charges, against=tuple(objections(self.inputs, lots)))
        if bare.against:
            return bare
        plan, why = self._plan(inputs)
        if plan is not None:
            return replace(bare, plan=plan, proven=plan.status == "optimal")
        if why == _LATE or not show_broken:
            return replace(bare, why=why, proven=why != _LATE)
        return self._broken(bare, lots, why)

    def _plan(self, inputs: Inputs) -> tuple[Plan | None, str]:
        """The best plan of inputs, or the reason why there is none."""
        try:
            case = resolve(inputs)
            answer = optimise(case, gap=self.options.gap, effort=self.options.effort)
            if answer.operation is None:
                late = answer.status == "no_solution"
                return None, _LATE if late else "no plan meets every limit"
            solver, gap = self.options.solver, self.options.gap
            plan = assemble(inputs, case, answer, solver=solver, gap=gap)
        except InputError as error:
            return None, error.findings[0].message
        verify(inputs, plan)
        return plan, ""

    def _broken(self, bare: Evaluated, lots: Counts, why: str) -> Evaluated:
        """The most useful work of offers without a plan, and the limits that it breaks.

        Limits of site, money and targets are lifted first, then those of the job.
        """
        if any(lot not in lots for lot in LOTS):
            # without a bid on a lot, its count decides which limits break
            return replace(bare, against=(f"{why} with its products in any numbers",))
        sold = {item.id for item in bare.inputs.items if item.category in LOTS}
        every = [
            lever
            for lever in levers(bare.inputs)
            if not lever.path.startswith(_FACTS)
            and not (lever.path.startswith("items.") and lever.path.split(".")[1] in sold)
        ]
        outer = [lever for lever in every if not lever.path.startswith(_OF_JOB)]
        compared = self._best_without(bare, outer) or self._best_without(bare, every)
        return compared or replace(bare, why=why, against=("the job cannot run on it as quoted",))

    def _best_without(self, bare: Evaluated, lifted: Sequence[Lever]) -> Evaluated | None:
        """The most useful work without some limits, compared with all of them; None where nothing
        runs."""
        loose = applied(bare.inputs, [change for lever in lifted for change in lever.off])
        goal = loose.problem.objective
        goal = Objective(maximize="useful_gpus") if goal.maximize is None else goal
        most = {"objective": goal.model_copy(update={"indifference": 0.0})}
        loose = replace(loose, problem=loose.problem.model_copy(update=most))
        plan, _ = self._plan(loose)
        if plan is None:
            return None
        counts = {line.sku: line.quantity for line in plan.lines if line.parent is None}
        draft = Draft(bare.inputs, plan, counts, interval_s=plan.jobs[0].interval_s)
        try:
            broken, checked = evaluate_draft(draft)
        except (InputError, NothingRunsError):
            return None
        reported = {limit.name for limit in broken.limits}
        return replace(
            bare,
            plan=broken,
            breaches=breaches_of(broken.limits, {name for name, _ in checked.breaches}),
            against=tuple(text for name, text in checked.breaches if name not in reported),
        )


class Score(NamedTuple):
    """A plan's value in the measure, and its money."""

    value: float
    usd: float


# Records


@dataclass
class Entry:
    """A bid while it is evaluated; ``at`` keeps its plans by share of its prices."""

    offer: Offer
    evaluated: Evaluated | None = None
    rank: int | None = None
    at: dict[float, Evaluated] = field(default_factory=dict)

    def plan_at(self, evaluator: Evaluator, share: float) -> Evaluated:
        """The bid planned at a share of its prices."""
        if share not in self.at:
            offer = self.offer.at(share)
            owners = {lot: offer for lot in LOTS if offer.lot(lot)}
            self.at[share] = evaluator.evaluate((offer,), owners, whole=True)
        return self.at[share]


def _record(evaluator: Evaluator, entry: Entry, ranked: Sequence[Entry]) -> Bid:
    offer, evaluated, quote = entry.offer, entry.evaluated, entry.offer.quote
    found = Bid(
        key=offer.key,
        vendor=quote.vendor,
        file=quote.file,
        sha256=quote.sha256,
        date=quote.date,
        currency=quote.currency,
        usd_per_unit=quote.usd_per_unit,
        quoted_usd=offer.quoted_usd,
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
        lacks = tuple(
            lacks_of(evaluator.inputs, evaluated.inputs, evaluated.lines, evaluated.prices)
        )
        update |= {
            "measured": evaluator.score(evaluated.plan).value,
            "figures": _figures(evaluated.plan),
            "charges": tuple(charge for _, charge in evaluated.charges),
            "lacks": lacks,
            "lacks_usd": math.fsum(lack.usd for lack in lacks),
            "break_even": break_even(evaluator, entry, ranked),
        }
    return found.model_copy(update=update)


def _figures(plan: Plan) -> BidFigures:
    totals, job = plan.totals, plan.jobs[0]
    assert totals is not None
    return BidFigures(
        capex_usd=totals.capex_usd or 0.0,
        tco_usd=totals.tco_usd,
        useful_gpus=job.useful_gpus,
        useful_pflops=job.useful_pflops,
        goodput=job.goodput,
        usd_per_useful_gpu_hour=totals.usd_per_useful_gpu_hour,
    )


def _unread_cells(quote: Quote) -> Iterator[str]:
    """Yield the cells of lines and totals whose money is in no figure of a bid."""
    for line in quote.lines:
        if line.kind == "not_understood" and not is_total(line.description):
            yield next(iter(line.cells.values()), f"row {line.row}")
    yield from (each.cell for each in quote.sums if not each.agrees)


# Ranks


def order_scores(evaluator: Evaluator, scores: Sequence[Score]) -> list[int]:
    """Places of scores, the best first; within the tolerance the cheapest is first.

    In money there is no tolerance.
    """
    sign = 1.0 if evaluator.measure.sense == "minimize" else -1.0
    tolerance = 0.0 if evaluator.in_money else evaluator.inputs.problem.objective.indifferent
    left, found = list(range(len(scores))), []
    while left:
        best = min(left, key=lambda at: sign * scores[at].value)
        room = tolerance * abs(scores[best].value)
        near = [at for at in left if sign * (scores[at].value - scores[best].value) <= room]
        found.append(min(near, key=lambda at: scores[at].usd) if tolerance else best)
        left.remove(found[-1])
    return found


def _rank(evaluator: Evaluator, entries: Sequence[Entry]) -> list[Entry]:
    """The bids that meet every limit, the best first."""
    meeting = [
        (entry, evaluator.score(entry.evaluated.plan))
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
"""Of more awards the first are planned, those of the fewest bids."""


class Choice(NamedTuple):
    """An award to plan: the bids, and the owner of each lot."""

    bids: tuple[Offer, ...]
    owners: Mapping[str, Offer]


def best_mix(evaluator: Evaluator, offers: Sequence[Offer]) -> tuple[Mix | None, str]:
    """The best award of lots, or the reason why there is none."""
    found: list[tuple[Choice, Plan]] = []
    tried = 0
    for book in (False, True):  # a lot may have to be bought at the book's prices
        choices = list(islice(_choices(evaluator, offers, book=book), _MOST_AWARDS + 1))
        proven, tried = len(choices) <= _MOST_AWARDS, min(len(choices), _MOST_AWARDS)
        for choice in choices[:_MOST_AWARDS]:
            each = evaluator.evaluate(choice.bids, choice.owners, whole=False)
            proven = proven and each.proven
            if each.plan is not None and each.meets:
                found.append((choice, each.plan))
        if found:
            break
    else:
        return None, f"none of {tried} awards of lots meets every limit"
    scores = [evaluator.score(plan) for _, plan in found]
    at = order_scores(evaluator, scores)[0]
    choice, plan = found[at]
    return Mix(
        awards=tuple(_awards(choice, plan)),
        bids=tuple(offer.key for offer in choice.bids),
        measured=scores[at].value,
        proven=proven,
        figures=_figures(plan),
        tried=tried,
    ), ""


def _choices(evaluator: Evaluator, offers: Sequence[Offer], *, book: bool) -> Iterator[Choice]:
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
        cheaper = [each for each in offers if _is_cheaper(evaluator, each, main)]
        for beside in combinations(cheaper, count):
            if main or beside:
                yield Choice(tuple(each for each in offers if each in (*main, *beside)), owners)


def _is_cheaper(evaluator: Evaluator, offer: Offer, main: Sequence[Offer]) -> bool:
    """True if a bid is cheaper in any product outside the lots than the main bids, or the book."""
    inputs, off = evaluator.inputs, evaluator.inputs.discounts
    for id_, own in offer.products.items():
        if offer in main or own.item.category in LOTS or own.included:
            continue
        price, *others = (
            unit_usd(inputs, own.item, bid.products[id_].price, ())
            for bid in (offer, *main)
            if id_ in bid.products
        )
        if not others and id_ in inputs.prices:
            others = [unit_usd(inputs, own.item, inputs.prices[id_], off)]
        if price < min(others, default=math.inf):
            return True
    return False


def _awards(choice: Choice, plan: Plan) -> Iterator[Award]:
    """Yield an award for each lot and one for all else, with its bids and purchased units."""
    lines = [line for line in plan.lines if line.parent is None and line.purchased]
    for lot in LOTS:
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
    others = [evaluator.score(plan) for plan in plans if plan is not None]

    def score(share: float) -> Score | None:
        at = entry.plan_at(evaluator, share)
        return evaluator.score(at.plan) if at.meets and at.plan is not None else None

    def is_first(share: float) -> bool:
        own = score(share)
        return own is not None and order_scores(evaluator, [*others, own])[0] == len(others)

    def none(reason: str) -> BreakEven:
        return BreakEven(share=None, usd=None, not_at=None, reason=reason)

    if found is None or found.plan is None or not others:
        return none("no other bid meets every limit")
    first = is_first(1.0)
    wins, loses = (1.0, _MOST) if first else (_LEAST, 1.0)
    if first and is_first(_MOST):
        return none("at any price up to four times its own")
    if not first and not is_first(_LEAST):
        return none("at no price")
    while loses - wins > _STEP:
        ends = (wins, score(wins)), (loses, score(loses))
        tried = _shares_at_target(ends, others[0].value) if evaluator.in_money else ()
        for share in (*tried, 0.5 * (wins + loses)):
            if wins < share < loses and loses - wins > _STEP:
                wins, loses = (share, loses) if is_first(share) else (wins, share)
    return BreakEven(share=wins, usd=entry.offer.quoted_usd * wins, not_at=loses)


def _shares_at_target(
    ends: Sequence[tuple[float, Score | None]], target: float
) -> tuple[float, ...]:
    """Shares just below and above the one at which a line through two scores meets a value."""
    (low, first), (high, last) = ends
    if first is None or last is None or first.value == last.value:
        return ()
    share = low + (target - first.value) / (last.value - first.value) * (high - low)
    return share - 0.45 * _STEP, share + 0.45 * _STEP
