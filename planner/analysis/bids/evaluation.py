"""Offers planned on the problem: the best plan, the limits that they break, their bill and gaps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from planner.analysis.bids.offers import LOTS, Offer, price_of
from planner.analysis.bids.overlay import (
    Charges,
    Counts,
    Prices,
    counts_one_of,
    limits_of,
    missing_figures,
    objections,
    with_offers,
    without_limits,
)
from planner.api import Options
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
from planner.plan import assemble
from planner.report.words import product as product_name
from planner.schema.bill import (
    BidCharge,
    BidFigures,
    BidLine,
    BidMeasure,
    Lack,
    PricedBy,
    Quantities,
)
from planner.schema.catalog import Item
from planner.schema.explanation import Breach, breaches_of
from planner.schema.plan import Line, Plan
from planner.schema.prices import Discount, Price
from planner.schema.problem import Quantity
from planner.sizing.facility import discounted_years
from planner.verifier import recheck, verify
from planner.workbook.audit import Draft, case_of

_OF_JOB = ("jobs.", "storage.")
LATE = "the search ended before a plan was found"


@dataclass(frozen=True)
class Evaluated:
    """The result of offers on the problem.

    Attributes:
        inputs: the problem with the offers.
        lots: counts of the offered lots.
        charges: charges on the order.
        plan: the best plan, or one that breaks limits.
        bound: bound of its objective.
        breaches: broken limits.
        against: violated rules beside the limits.
        why: the reason where there is no plan.
        proven: to the gap asked for, or proven to have no plan.
    """

    inputs: Inputs
    lots: Counts
    charges: Charges
    plan: Plan | None = None
    bound: float | None = None
    breaches: tuple[Breach, ...] = ()
    against: tuple[str, ...] = ()
    why: str = ""
    proven: bool = True

    @property
    def meets(self) -> bool:
        """Whether every limit and rule holds."""
        return self.plan is not None and not self.breaches and not self.against

    @property
    def bought(self) -> dict[str, int]:
        """Purchased units by product."""
        assert self.plan is not None
        return {line.sku: line.purchased for line in self.plan.lines if line.parent is None}


@dataclass
class Evaluator:
    """Evaluates offers on a problem, with quantities as quoted or free."""

    inputs: Inputs
    options: Options
    quantities: Quantities

    @property
    def free(self) -> bool:
        """Whether quantities are optimised."""
        return self.quantities == "free"

    @cached_property
    def base(self) -> tuple[Plan | None, float | None]:
        """The best plan at the book's prices, and its bound."""
        return self._plan(self.inputs)[:2]

    @property
    def shown_in(self) -> Currency:
        """The problem's currency; prices are rounded to its smallest unit."""
        return self.inputs.problem.shown_in

    @property
    def money(self) -> Literal["tco", "capex"]:
        """The money that counts: over the term where there is one and capex is not the goal."""
        problem = self.inputs.problem
        capex = problem.term is None or problem.objective.minimize == "cost"
        return "capex" if capex else "tco"

    @cached_property
    def measure(self) -> BidMeasure:
        """The measure of the ranking: the problem's objective.

        Most work with quantities as quoted is ranked by money per work: a larger bid is no better.
        """
        goal = self.inputs.problem.objective
        if self.free or goal.maximize is None:
            row = OBJECTIVES[goal.name]
            return BidMeasure(name=goal.name, label=row.label, unit=row.unit, sense=goal.sense)
        money = "TCO" if self.money == "tco" else "capex"
        flops = goal.maximize == "goodput"
        work = "useful PFLOP/s" if flops else "useful GPU"
        return BidMeasure(
            name=f"{self.money}_per_useful_{'pflops' if flops else 'gpu'}",
            label=f"{money} per {work}",
            unit=f"USD per {work}",
            sense="minimize",
        )

    @property
    def in_money(self) -> bool:
        """Whether the measure is money, or money per work."""
        own = OBJECTIVES.get(self.measure.name)
        return own is None or own.figure.money

    @property
    def tolerance(self) -> float:
        """Share within which values are equal and money decides."""
        return 0.0 if self.in_money else self.inputs.problem.objective.indifferent

    def usd(self, plan: Plan) -> float:
        """Return the money of a plan that counts."""
        assert plan.totals is not None
        return (plan.totals.tco_usd if self.money == "tco" else plan.totals.capex_usd) or 0.0

    def value(self, plan: Plan) -> float:
        """Return a plan's value in the measure."""
        if self.measure.name in OBJECTIVES:
            assert plan.objective.value is not None
            return plan.objective.value
        job, flops = plan.jobs[0], self.measure.name.endswith("pflops")
        return self.usd(plan) / ((job.useful_pflops if flops else job.useful_gpus) or math.nan)

    # Plans.

    def evaluate(
        self, offers: Sequence[Offer], prices: Prices, lots: Counts,
        *, pay_surplus: bool, show_broken: bool = True,
    ) -> Evaluated:  # fmt: skip
        """Return the best plan of offers, or the limits that they break.

        Args:
            offers: bids that are awarded, whose charges count.
            prices: offered prices.
            lots: counts of the offered lots.
            pay_surplus: whether everything quoted is paid for, needed or not.
            show_broken: whether to plan with broken limits where there is no plan.
        """
        charges = [(offer, charge) for offer in offers for charge in offer.charges]
        found = self._evaluate(prices, lots, charges, show_broken=show_broken)
        if found.plan is None:
            return found
        settled, surplus = self._settle(found, prices, pay_surplus=pay_surplus)
        if settled == prices and not surplus:
            return found
        return self._evaluate(settled, lots, [*charges, *surplus], show_broken=show_broken)

    def _settle(
        self, found: Evaluated, prices: Prices, *, pay_surplus: bool
    ) -> tuple[dict[str, tuple[Price, Offer]], list[tuple[Offer, BidCharge]]]:
        """Prices for the counts of a plan, and charges for surplus units.

        Units included in another price are free; those beyond them cost as in the book.
        """
        settled, surplus = dict(prices), []
        for id_, (price, offer) in prices.items():
            product, need = offer.products[id_], found.bought.get(id_, 0)
            book = self.inputs.prices.get(id_)
            if product.included and need > product.units and book is not None:
                net = unit_net_usd(product.item, book, self.inputs.discounts, self.shown_in)
                each = net * (need - product.units) / need
                settled[id_] = price.model_copy(update={"list_usd": each}), offer
            over = product.units - need
            if pay_surplus and over > 1e-9 and product.unit_usd:
                charge = BidCharge(
                    kind="surplus",
                    label=f"{over:g} {product.item.model} more than are needed",
                    usd=over * product.unit_usd,
                    cells=product.cells,
                )
                surplus.append((offer, charge))
        return settled, surplus

    def _evaluate(
        self, prices: Prices, lots: Counts, charges: Charges, *, show_broken: bool
    ) -> Evaluated:
        inputs = with_offers(self.inputs, prices, lots, charges)
        bare = Evaluated(inputs, lots, charges, against=tuple(objections(self.inputs, lots)))
        missing = "; ".join(missing_figures(inputs, lots))
        if missing:
            return replace(bare, why=missing)
        plan, bound, why = self._plan(inputs)
        if plan is not None:
            return replace(bare, plan=plan, bound=bound, proven=plan.status == "optimal")
        if why == LATE or not show_broken:
            return replace(bare, why=why, proven=why != LATE)
        return self._broken(bare, why)

    def _plan(self, inputs: Inputs) -> tuple[Plan | None, float | None, str]:
        """The best plan of inputs with its bound, or the reason why there is none."""
        try:
            case = resolve(inputs)
            answer = self._optimise(case)
            if answer.operation is None:
                late = answer.status == "no_solution"
                return None, None, LATE if late else "no plan meets every limit"
            plan = self._assemble(inputs, case, answer)
        except InputError as error:
            return None, None, error.findings[0].message
        verify(inputs, plan)
        return plan, None if answer.bound is None else natural(case.objective, answer.bound), ""

    def _optimise(self, case: Case) -> Certificate:
        return optimise(case, gap=self.options.gap, effort=self.options.effort)

    def _assemble(self, inputs: Inputs, case: Case, answer: Certificate) -> Plan:
        options = self.options
        return assemble(inputs, case, answer, solver=options.solver, gap=options.gap)

    # Broken limits.

    def _broken(self, bare: Evaluated, why: str) -> Evaluated:
        """The most useful work of offers without a plan, and the limits that it breaks.

        Limits of site, money and targets are lifted first; of the others as few as possible.
        """
        pinned = self._pin_counts(bare)
        if pinned is None:
            return replace(bare, against=(*bare.against, self._conflict(bare, why)))
        every = limits_of(pinned.inputs)
        lifted = [lever for lever in every if not lever.path.startswith(_OF_JOB)]
        found = self._without(pinned, lifted)
        if found is None:
            lifted, found = every, self._without(pinned, every)
            for lever in [each for each in every if each.path.startswith(_OF_JOB)]:
                fewer = [each for each in lifted if each is not lever]
                again = None if found is None else self._without(pinned, fewer)
                lifted, found = (lifted, found) if again is None else (fewer, again)
        if found is not None:
            return found
        return replace(bare, why=why, against=(*bare.against, "the job cannot run on it as quoted"))

    def _conflict(self, bare: Evaluated, why: str) -> str:
        """The conflicting limits of products whose counts are free."""
        lots = {item.id for item in bare.inputs.items if item.category in LOTS}
        found = clash(bare.inputs)
        if found is None:
            return f"{why} with its products in any numbers; the search for the limits was cut"
        conflict = [lever for lever in found if not counts_one_of(lever, lots)]
        if not conflict:
            return f"{why} with its products in any numbers"
        labels = ", ".join(f"{lever.label} ({lever.path})" for lever in conflict)
        return f"with its products in any numbers these limits conflict: {labels}"

    def _without(self, pinned: Evaluated, lifted: Sequence[Lever]) -> Evaluated | None:
        """The most useful work without some limits, compared with all of them."""
        loose = without_limits(pinned.inputs, lifted)
        try:
            case = resolve(loose)
            answer = self._optimise(case)
            if answer.operation is None:
                return None
            return self._compare(pinned, answer, self._assemble(loose, case, answer))
        except InputError:
            return None

    def _compare(self, bare: Evaluated, answer: Certificate, plan: Plan) -> Evaluated | None:
        """An operation under all limits, with those that it breaks; None where nothing runs."""
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
        broken = self._assemble(bare.inputs, case, shown)
        checked = recheck(bare.inputs, broken)
        if checked.disagreements:
            raise VerificationError(checked.disagreements)
        reported = {limit.name for limit in broken.limits}
        others = (text for name, text in checked.breaches if name not in reported)
        return replace(
            bare,
            plan=broken,
            breaches=breaches_of(broken.limits, {name for name, _ in checked.breaches}),
            against=(*bare.against, *others),
        )

    def _pin_counts(self, bare: Evaluated) -> Evaluated | None:
        """The offers with every count fixed; lots without a bid as in the plan at book prices."""
        free = [lot for lot in LOTS if None in bare.lots.get(lot, {"": None}).values()]
        if not free:
            return bare
        base, _ = self.base
        if base is None or any(lot in bare.lots for lot in free):
            return None
        rules = dict(bare.inputs.problem.items)
        counts = {line.sku: line.quantity for line in base.lines if line.parent is None}
        for item in bare.inputs.items:
            if item.category in free:
                rule = rules.get(item.id, Quantity())
                fixed = {"fixed": counts.get(item.id, rule.in_place), "min": None, "max": None}
                rules[item.id] = rule.model_copy(update=fixed)
        problem = bare.inputs.problem.model_copy(update={"items": rules})
        return replace(bare, inputs=replace(bare.inputs, problem=problem))

    # The bill.

    def lines(self, found: Evaluated, prices: Prices) -> list[BidLine]:
        """Return every product of the plan with its price, charges left out."""
        assert found.plan is not None
        own = {item.id for item in self.inputs.items}
        return [
            self._line(found, line, prices)
            for line in found.plan.lines
            if line.parent is None and line.purchased and line.sku in own
        ]

    def _line(self, found: Evaluated, line: Line, prices: Prices) -> BidLine:
        offered = prices[line.sku][1].products[line.sku] if line.sku in prices else None
        price = found.inputs.prices.get(line.sku)
        item, off = found.inputs.item(line.sku), found.inputs.discounts
        low, high = self._range_usd(found, line, book=offered is None)
        by: PricedBy = "book" if offered is None else "quote"
        free_lot = self.free and line.category in LOTS
        if offered is not None and not free_lot and line.purchased > offered.units + 1e-9:
            by = "more"
        yearly = 0.0 if price is None else self._term_usd(item, price, off)
        return BidLine(
            sku=line.sku,
            section=line.section,
            product=product_name(line),
            needed=line.purchased,
            quoted=0.0 if offered is None else offered.units,
            unit_usd=line.unit_net_usd,
            usd=line.extended_net_usd or 0.0,
            years_usd=yearly * line.purchased,
            priced_by=by,
            cells=() if offered is None else offered.cells,
            low_usd=low,
            high_usd=high,
        )

    def unit_usd(self, item: Item, price: Price, *, discounted: bool = True) -> float:
        """Return the cost of a unit with support and subscription where they count.

        Args:
            item: the product.
            price: its price.
            discounted: whether the book's discounts apply.
        """
        off = self.inputs.discounts if discounted else ()
        return unit_net_usd(item, price, off, self.shown_in) + self._term_usd(item, price, off)

    def _term_usd(self, item: Item, price: Price, off: Sequence[Discount]) -> float:
        """Support and subscription of a unit over the term, where that counts."""
        term = self.inputs.problem.term
        if term is None or self.money == "capex":
            return 0.0
        support = support_usd_per_year(item, price, off, self.shown_in)
        support *= support_factor(item, replace(self.inputs, prices={item.id: price}))
        yearly = self.shown_in.rounded_usd(
            (price.per_year_usd or 0.0) * (1.0 - discount(item, off))
        )
        return support + yearly * discounted_years(0.0, term.years, term.discount_rate)

    def _range_usd(self, found: Evaluated, line: Line, *, book: bool) -> tuple[float, float]:
        """The cost of a line at both ends of the book's prices."""
        price = found.inputs.prices.get(line.sku)
        if price is None:
            return 0.0, 0.0
        item, off = found.inputs.item(line.sku), found.inputs.discounts
        ends = []
        for at in (0, 1):
            yearly = price.per_year_range_usd[at] if price.per_year_usd is not None else None
            listed = price.range_usd[at] if book else price.list_usd
            moved = price.model_copy(update={"list_usd": listed, "per_year_usd": yearly})
            net = unit_net_usd(item, moved, off, self.shown_in)
            ends.append((net + self._term_usd(item, moved, off)) * line.purchased)
        return ends[0], ends[1]

    def lacks(self, found: Evaluated, lines: Sequence[BidLine]) -> Iterator[Lack]:
        """Yield needed products and services that are not quoted, at their cost."""
        for line in lines:
            if line.priced_by == "book":
                yield Lack(sku=line.sku, product=line.product, kind="units", units=line.needed,
                           usd=line.usd + line.years_usd, low_usd=line.low_usd,
                           high_usd=line.high_usd)  # fmt: skip
                continue
            if line.priced_by == "more":
                more = line.needed - line.quoted
                usd = line.usd if line.unit_usd is None else more * line.unit_usd
                yield Lack(sku=line.sku, product=line.product, kind="more_units", units=more,
                           usd=usd, low_usd=usd, high_usd=usd)  # fmt: skip
            yield from self._yearly_lacks(found, line)

    def _yearly_lacks(self, found: Evaluated, line: BidLine) -> Iterator[Lack]:
        """Yield support and subscription of a quoted product at the book's rates."""
        price = found.inputs.prices[line.sku]
        without = price.model_copy(update={"per_year_usd": None})
        item, off = found.inputs.item(line.sku), found.inputs.discounts
        support = self._term_usd(item, without, off) * line.needed
        if support and price.support_source != "quote":
            yield Lack(sku=line.sku, product=line.product, kind="support", units=line.needed,
                       usd=support, low_usd=support, high_usd=support)  # fmt: skip
        if price.per_year_usd is not None and line.years_usd > support:
            other = line.usd + support
            yield Lack(sku=line.sku, product=line.product, kind="subscription", units=line.needed,
                       usd=line.years_usd - support, low_usd=line.low_usd - other,
                       high_usd=line.high_usd - other)  # fmt: skip


def offered_prices(
    evaluator: Evaluator, offers: Sequence[Offer], lots: Counts, owners: Mapping[str, Offer]
) -> dict[str, tuple[Price, Offer]]:
    """Return the offered price of each product: of a lot its owner's, of others the lowest.

    Args:
        evaluator: the problem, and the money that counts.
        offers: bids that are awarded.
        lots: counts of the offered lots.
        owners: the bid of each lot, by category, where there are several bids.
    """
    found: dict[str, tuple[Price, Offer]] = {}
    for offer in offers:
        for id_, product in offer.products.items():
            category = product.item.category
            if category in LOTS and id_ not in lots.get(category, {}):
                continue
            if category in owners and owners[category] is not offer:
                continue
            price = price_of(product, offer, evaluator.inputs)
            each = evaluator.unit_usd(product.item, price, discounted=False)
            known = found.get(id_)
            if known is None or each < evaluator.unit_usd(product.item, known[0], discounted=False):
                found[id_] = price, offer
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
