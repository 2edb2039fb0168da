"""A bid planned on the problem: the best it can do, the limits it breaks, what it lacks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from planner.api import Options
from planner.assemble import assemble
from planner.case import Case, resolve
from planner.case.money import discount, support_factor, support_usd_per_year, unit_net_usd
from planner.currency import Currency
from planner.errors import InputError, VerificationError
from planner.figures import OBJECTIVES
from planner.infeasible import clash
from planner.inputs import Inputs
from planner.levers import Lever
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import run_at
from planner.optimizer.optimise import Certificate, optimise
from planner.outputs.words import product
from planner.schema.bids import (
    BidCharge,
    BidFigures,
    BidLine,
    BidMeasure,
    Lack,
    PricedBy,
    Quantities,
)
from planner.schema.catalog import Item
from planner.schema.plan import Line, Plan
from planner.schema.prices import Discount, Price
from planner.schema.problem import Objective, Quantity
from planner.schema.verification import Breach, breaches_of
from planner.sizing.facility import discounted_years
from planner.studies.bids.tenders import LOTS, Counts, Tender, laid_over, price_of
from planner.studies.bids.wanted import (
    allow_products,
    is_of,
    loosened,
    missing_figures,
    movable,
    objections,
)
from planner.verifier import recheck, verify
from planner.workbook.edits import Draft, case_of

Money = Literal["tco", "capex"]
_OF_JOB = ("jobs.", "storage.")
_WORK = 1500.0
"""How much work it may take to find which limits clash."""
LATE = "the search ended before a plan was found"


@dataclass(frozen=True)
class Judged:
    """What came of offers on the problem.

    ``plan`` is the best there is on them; where it breaks limits these are its ``breaches``, and
    ``against`` says what else they go against. Without a plan ``why`` says why. ``proven``: it is
    the best to the gap asked for, or there is proven to be none.
    """

    inputs: Inputs
    lots: Counts
    charges: tuple[tuple[Tender, BidCharge], ...]
    plan: Plan | None = None
    case: Case | None = None
    bound: float | None = None
    breaches: tuple[Breach, ...] = ()
    against: tuple[str, ...] = ()
    why: str = ""
    proven: bool = True

    @property
    def meets(self) -> bool:
        """Whether every limit is kept."""
        return self.plan is not None and not self.breaches and not self.against


@dataclass
class Judge:
    """Judges offers: the problem at the book's prices, how to solve it, how offers are ranked."""

    inputs: Inputs
    options: Options
    quantities: Quantities
    solved: int = field(default=0)

    @cached_property
    def base(self) -> tuple[Plan | None, float | None]:
        """The best plan at the book's prices, and what no plan passes."""
        plan, bound, _, _ = self._planned(self.inputs)
        return plan, bound

    @property
    def shown_in(self) -> Currency:
        """The currency in which money is shown, to whose smallest unit prices are rounded."""
        return self.inputs.problem.shown_in

    @property
    def money(self) -> Money:
        """The money that counts: over the term where there is one, but for capex alone."""
        problem = self.inputs.problem
        capex = problem.term is None or problem.objective.minimize == "cost"
        return "capex" if capex else "tco"

    @cached_property
    def measure(self) -> BidMeasure:
        """What offers are ranked by.

        Where work is to be most and quantities are as quoted, money per work: a larger bid is no
        better one. Else the problem's own objective.
        """
        goal = self.inputs.problem.objective
        if self.quantities == "free" or goal.maximize is None:
            return own_measure(goal)
        what = "TCO" if self.money == "tco" else "capex"
        flops = goal.maximize == "goodput"
        name = f"{self.money}_per_useful_{'pflops' if flops else 'gpu'}"
        work = "useful PFLOP/s" if flops else "useful GPU"
        return BidMeasure(name=name, label=f"{what} per {work}", unit=f"USD per {work}",
                          sense="minimize")  # fmt: skip

    @property
    def in_money(self) -> bool:
        """Whether the measure is money, or money per work."""
        own = OBJECTIVES.get(self.measure.name)
        return own is None or own.figure.money

    @property
    def indifferent(self) -> float:
        """The share within which values count as equal, and money decides."""
        return 0.0 if self.in_money else self.inputs.problem.objective.indifferent

    def usd(self, plan: Plan) -> float:
        """Return the money of a plan that counts."""
        assert plan.totals is not None
        usd = plan.totals.tco_usd if self.money == "tco" else plan.totals.capex_usd
        return usd or 0.0

    def value(self, plan: Plan) -> float:
        """Return a plan's value in the measure."""
        if self.measure.name in OBJECTIVES:
            assert plan.objective.value is not None
            return plan.objective.value
        job, flops = plan.jobs[0], self.measure.name.endswith("pflops")
        return self.usd(plan) / ((job.useful_pflops if flops else job.useful_gpus) or math.nan)

    def assess(
        self,
        tenders: Sequence[Tender],
        prices: Mapping[str, tuple[Price, Tender]],
        lots: Counts,
        *,
        whole: bool,
        broken: bool = True,
    ) -> Judged:
        """Return what comes of offers: planned, with every limit that is broken.

        Args:
            tenders: the bids that are taken, whose charges count.
            prices: what is asked for products, and by whom.
            lots: the counts of the lots that they have.
            whole: whether everything quoted is paid for, needed or not.
            broken: whether to tell which limits are broken; without, there is no plan then.
        """
        charges = [(tender, charge) for tender in tenders for charge in tender.charges]
        found = self._judged(tenders, prices, lots, charges, broken=broken)
        if found.plan is None:
            return found
        priced, surplus = self._settled(found, prices, whole=whole)
        if priced == prices and not surplus:
            return found
        return self._judged(tenders, priced, lots, [*charges, *surplus], broken=broken)

    def _settled(
        self, found: Judged, prices: Mapping[str, tuple[Price, Tender]], *, whole: bool
    ) -> tuple[dict[str, tuple[Price, Tender]], list[tuple[Tender, BidCharge]]]:
        """Return prices that hold for the counts of a plan, and charges for what it does not need.

        Units that are held in another price cost nothing; those beyond them are the book's.
        """
        assert found.plan is not None
        bought = {line.sku: line.purchased for line in found.plan.lines if line.parent is None}
        priced, surplus = dict(prices), []
        for sku, (price, tender) in prices.items():
            goods, need = tender.goods[sku], bought.get(sku, 0)
            book = self.inputs.prices.get(sku)
            if goods.included and need > goods.units and book is not None:
                off = self.inputs.discounts
                net = unit_net_usd(goods.item, book, off, self.shown_in)
                each = net * (need - goods.units) / need
                priced[sku] = price.model_copy(update={"list_usd": each}), tender
            over = goods.units - need
            if whole and over > 1e-9 and goods.unit_usd:
                label = f"{over:g} {goods.item.model} more than are needed"
                charge = BidCharge(kind="surplus", label=label, usd=over * goods.unit_usd,
                                   cells=goods.cells)  # fmt: skip
                surplus.append((tender, charge))
        return priced, surplus

    def _judged(
        self,
        tenders: Sequence[Tender],
        prices: Mapping[str, tuple[Price, Tender]],
        lots: Counts,
        charges: Sequence[tuple[Tender, BidCharge]],
        *,
        broken: bool,
    ) -> Judged:
        refused = tuple(objections(self.inputs, lots))
        asked = laid_over(allow_products(self.inputs, lots), prices, lots, charges)
        bare = Judged(asked, lots, tuple(charges), against=refused)
        missing = [text for lot in lots.values() for text in missing_figures(asked, lot)]
        if missing:
            return replace(bare, why="; ".join(missing))
        plan, bound, case, why = self._planned(asked)
        if plan is not None:
            proven = plan.status == "optimal"
            return replace(bare, plan=plan, bound=bound, case=case, proven=proven)
        if why == LATE or not broken:
            return replace(bare, why=why, proven=why != LATE)
        return self._broken(bare, why)

    def _planned(self, inputs: Inputs) -> tuple[Plan | None, float | None, Case | None, str]:
        """Return the best plan of inputs, what no plan passes, the case, or why there is none."""
        self.solved += 1
        try:
            case = resolve(inputs)
            answer = self._solve(case)
            if answer.operation is None:
                late = answer.status == "no_solution"
                return None, None, None, LATE if late else "no plan meets every limit"
            plan = assemble(inputs, case, answer, solver=self.options.solver, gap=self.options.gap)
        except InputError as error:
            return None, None, None, error.findings[0].message
        verify(inputs, plan)
        bound = None if answer.bound is None else natural(case.objective, answer.bound)
        return plan, bound, case, ""

    def _solve(self, case: Case) -> Certificate:
        options = self.options
        return optimise(case, gap=options.gap, effort=options.effort)

    def _broken(self, bare: Judged, why: str) -> Judged:
        """Return offers that break limits: the most useful work they can do, and which limits.

        Limits of site, money and targets are given up first; of the rest no more than must be. A
        lot that nobody has is bought as at the book's prices.
        """
        pinned = self._pinned(bare)
        if pinned is None:
            return replace(bare, against=(*bare.against, self._clashing(bare, why)))
        every = movable(pinned.inputs)
        given_up = [lever for lever in every if not lever.path.startswith(_OF_JOB)]
        found = self._without(pinned, given_up)
        if found is None:
            given_up, found = every, self._without(pinned, every)
            for lever in [each for each in every if each.path.startswith(_OF_JOB)]:
                fewer = [each for each in given_up if each is not lever]
                again = None if found is None else self._without(pinned, fewer)
                given_up, found = (given_up, found) if again is None else (fewer, again)
        if found is not None:
            return found
        return replace(bare, why=why, against=(*bare.against, "the job cannot run on it as quoted"))

    def _clashing(self, bare: Judged, why: str) -> str:
        """Return which limits cannot hold together with products whose counts are free."""
        lots = {item.id for item in bare.inputs.items if item.category in LOTS}
        clashing = [
            lever
            for lever in clash(bare.inputs, work=_WORK)
            if not is_of(lever, lots)  # that others are not on offer
        ]
        if not clashing:
            return f"{why} with its products in any numbers"
        labels = ", ".join(f"{lever.label} ({lever.path})" for lever in clashing)
        return f"with its products in any numbers these limits cannot hold together: {labels}"

    def _without(self, pinned: Judged, given_up: Sequence[Lever]) -> Judged | None:
        """Return the most useful work without some limits, held against all; None for none."""
        self.solved += 1
        loose = loosened(pinned.inputs, given_up)
        options = self.options
        try:
            case = resolve(loose)
            answer = self._solve(case)
            if answer.operation is None:
                return None
            plan = assemble(loose, case, answer, solver=options.solver, gap=options.gap)
            return _evaluated(pinned, answer, plan, options)
        except InputError:
            return None

    def _pinned(self, bare: Judged) -> Judged | None:
        """Return offers with every count fixed, of lots without a bid as in the book's plan."""
        free = [category for category in LOTS
                if None in bare.lots.get(category, {"": None}).values()]  # fmt: skip
        if not free:
            return bare
        base, _ = self.base
        if base is None or any(category in bare.lots for category in free):
            return None
        rules = dict(bare.inputs.problem.items)
        counts = {line.sku: line.quantity for line in base.lines if line.parent is None}
        for item in bare.inputs.items:
            if item.category in free:
                rule = rules.get(item.id, Quantity())
                given = {"fixed": counts.get(item.id, rule.in_place), "min": None, "max": None}
                rules[item.id] = rule.model_copy(update=given)
        problem = bare.inputs.problem.model_copy(update={"items": rules})
        return replace(bare, inputs=replace(bare.inputs, problem=problem))

    # The bill of what was judged.

    def lines(self, found: Judged, prices: Mapping[str, tuple[Price, Tender]]) -> list[BidLine]:
        """Return the bill: every product that is bought, by whose price, charges left out."""
        assert found.plan is not None
        own = {item.id for item in self.inputs.items}
        return [
            self._line(found, line, prices.get(line.sku))
            for line in found.plan.lines
            if line.parent is None and line.purchased and line.sku in own
        ]

    def _line(self, found: Judged, line: Line, offered: tuple[Price, Tender] | None) -> BidLine:
        goods = None if offered is None else offered[1].goods[line.sku]
        usd, price = line.extended_net_usd or 0.0, found.inputs.prices.get(line.sku)
        item, off = found.inputs.item(line.sku), found.inputs.discounts
        years = 0.0 if price is None else self._years_usd(item, price, off) * line.purchased
        low, high = self._range(found, line, book=goods is None)
        by: PricedBy = "book" if goods is None else "quote"
        lot = self.quantities == "free" and line.category in LOTS
        if goods is not None and not lot and line.purchased > goods.units + 1e-9:
            by = "more"
        return BidLine(
            sku=line.sku,
            section=line.section,
            product=product(line),
            needed=line.purchased,
            quoted=0.0 if goods is None else goods.units,
            unit_usd=line.unit_net_usd,
            usd=usd,
            years_usd=years,
            priced_by=by,
            cells=() if goods is None else goods.cells,
            low_usd=low,
            high_usd=high,
        )

    def unit_usd(self, item: Item, price: Price, *, discounted: bool = True) -> float:
        """Return what a unit costs with its support and subscription where they count, USD.

        Args:
            price: what is asked for it.
            discounted: whether the book's discounts are off it.
        """
        off = self.inputs.discounts if discounted else ()
        net_usd = unit_net_usd(item, price, off, self.shown_in)
        return net_usd + self._years_usd(item, price, off)

    def _years_usd(self, item: Item, price: Price, off: Sequence[Discount]) -> float:
        """Return support and subscription of a unit over the term where that counts, USD."""
        term = self.inputs.problem.term
        if term is None or self.money == "capex":
            return 0.0
        sold = replace(self.inputs, prices={item.id: price})
        support = support_usd_per_year(item, price, off, self.shown_in)
        support *= support_factor(item, sold)
        yearly_usd = (price.per_year_usd or 0.0) * (1.0 - discount(item, off))
        yearly = self.shown_in.rounded_usd(yearly_usd)
        return support + yearly * discounted_years(0.0, term.years, term.discount_rate)

    def _range(self, found: Judged, line: Line, *, book: bool) -> tuple[float, float]:
        """Return what a line comes to at the ends of what the book says of it."""
        price = found.inputs.prices.get(line.sku)
        if price is None:
            return 0.0, 0.0
        item, off = found.inputs.item(line.sku), found.inputs.discounts
        ends = []
        for at in (0, 1):
            yearly = price.per_year_range_usd[at] if price.per_year_usd is not None else None
            listed = price.range_usd[at] if book else price.list_usd
            moved = price.model_copy(update={"list_usd": listed, "per_year_usd": yearly})
            net_usd = unit_net_usd(item, moved, off, self.shown_in)
            each = net_usd + self._years_usd(item, moved, off)
            ends.append(each * line.purchased)
        return ends[0], ends[1]

    def lacks(self, found: Judged, lines: Sequence[BidLine]) -> Iterator[Lack]:
        """Yield what is needed and not quoted, and what it is counted at."""
        for line in lines:
            whole = line.usd + line.years_usd
            if line.priced_by == "book":
                yield Lack(sku=line.sku, product=line.product, kind="units", units=line.needed,
                           usd=whole, low_usd=line.low_usd, high_usd=line.high_usd)  # fmt: skip
                continue
            if line.priced_by == "more":
                more = line.needed - line.quoted
                usd = line.usd if line.unit_usd is None else more * line.unit_usd
                yield Lack(sku=line.sku, product=line.product, kind="more_units", units=more,
                           usd=usd, low_usd=usd, high_usd=usd)  # fmt: skip
            yield from self._keeping(found, line)

    def _keeping(self, found: Judged, line: BidLine) -> Iterator[Lack]:
        """Yield support and subscription of a quoted product that are the book's."""
        price = found.inputs.prices[line.sku]
        without = price.model_copy(update={"per_year_usd": None})
        item, off = found.inputs.item(line.sku), found.inputs.discounts
        support = self._years_usd(item, without, off) * line.needed
        if support and price.support_source != "quote":
            yield Lack(sku=line.sku, product=line.product, kind="support", units=line.needed,
                       usd=support, low_usd=support, high_usd=support)  # fmt: skip
        if price.per_year_usd is not None and line.years_usd > support:
            usd = line.usd + line.years_usd
            other = usd - (line.years_usd - support)
            yield Lack(sku=line.sku, product=line.product, kind="subscription", units=line.needed,
                       usd=usd - other, low_usd=line.low_usd - other,
                       high_usd=line.high_usd - other)  # fmt: skip


def own_measure(goal: Objective) -> BidMeasure:
    """Return the problem's objective as a measure."""
    row = OBJECTIVES[goal.name]
    return BidMeasure(name=goal.name, label=row.label, unit=row.unit, sense=goal.sense)


def offered_prices(
    judge: Judge, tenders: Sequence[Tender], lots: Counts, owners: Mapping[str, Tender]
) -> dict[str, tuple[Price, Tender]]:
    """Return what bids ask for products: of a lot its owner, of anything else the cheapest.

    Args:
        judge: the problem, and which money counts.
        tenders: the bids that are taken.
        lots: the counts of the lots that they have.
        owners: whose a lot is, by category, where several bids are taken.
    """
    found: dict[str, tuple[Price, Tender]] = {}
    for tender in tenders:
        for sku, goods in tender.goods.items():
            category = goods.item.category
            if category in LOTS and sku not in lots.get(category, {}):
                continue
            if category in owners and owners[category] is not tender:
                continue
            price = price_of(goods, tender, judge.inputs)
            known = found.get(sku)
            each = judge.unit_usd(goods.item, price, discounted=False)
            if known is None or each < judge.unit_usd(goods.item, known[0], discounted=False):
                found[sku] = price, tender
    return found


def figures_of(plan: Plan) -> BidFigures:
    """Return the figures of a plan that bids are compared by."""
    totals, job = plan.totals, plan.jobs[0]
    assert totals is not None
    capex = totals.capex_usd or 0.0
    return BidFigures(
        capex_usd=capex,
        tco_usd=totals.tco_usd,
        years_usd=None if totals.tco_usd is None else totals.tco_usd - capex,
        gpus_used=job.gpus_used,
        useful_gpus=job.useful_gpus,
        useful_pflops=job.useful_pflops,
        goodput=job.goodput,
        usd_per_useful_gpu_hour=totals.usd_per_useful_gpu_hour,
        usd_per_million_tokens=totals.usd_per_million_tokens,
        days_to_train=job.days_to_train,
        facility_power_kw=totals.facility_power_kw,
        racks=totals.racks,
        restore_s=job.restore_s,
        interval_s=job.interval_s,
        lead_time_days=totals.lead_time_days,
    )


def _evaluated(bare: Judged, answer: Certificate, plan: Plan, options: Options) -> Judged | None:
    """Return the plan of an operation that breaks limits, with these; None where nothing runs."""
    run = answer.operation
    assert run is not None
    counts = {line.sku: line.quantity for line in plan.lines if line.parent is None}
    case = case_of(Draft(bare.inputs, plan, counts))
    units = {offer.id: run.units.get(offer.id, 0) for offer in case.offers()}
    run = run_at(case, run.mode, units, run.used, run.gpus, run.interval_s, run.ways, run.every)
    if run is None:
        return None
    value = measure(case, case.objective)(run)
    shown = Certificate("feasible", run, value, None, None, 0, 0.0, late=False)
    broken = assemble(bare.inputs, case, shown, solver=options.solver, gap=options.gap)
    checked = recheck(bare.inputs, broken)
    if checked.disagreements:
        raise VerificationError(checked.disagreements)
    names = {name for name, _ in checked.breaches}
    reported = {limit.name for limit in broken.limits}
    others = tuple(text for name, text in checked.breaches if name not in reported)
    breaches = breaches_of(broken.limits, names)
    more = (*bare.against, *others)
    return replace(bare, plan=broken, case=case, breaches=breaches, against=more)
