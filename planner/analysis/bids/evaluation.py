"""Offers planned on the problem: the best plan, the limits that they break, their bill and gaps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from planner.analysis.bids.offers import (
    LOTS,
    Charges,
    Counts,
    Offer,
    Prices,
    objections,
    price_of,
    with_offers,
)
from planner.api import Options
from planner.case import Case, resolve
from planner.case.figures import discount, support_factor, support_usd_per_year, unit_net_usd
from planner.case.resolve import missing_figure
from planner.currency import Currency
from planner.errors import InputError, VerificationError
from planner.figures import OBJECTIVES
from planner.inputs import Inputs, applied
from planner.levers import Lever, levers
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import run_at
from planner.optimizer.optimise import Certificate, optimise
from planner.paths import job_path
from planner.plan import assemble
from planner.report.words import product as product_name
from planner.schema.bill import BidCharge, BidFigures, BidLine, BidMeasure, Lack, LackKind, PricedBy
from planner.schema.catalog import Item
from planner.schema.explanation import Breach, breaches_of
from planner.schema.plan import Line, Plan
from planner.schema.prices import Discount, Price
from planner.schema.problem import Objective
from planner.sizing.facility import discounted_years
from planner.verifier import recheck, verify
from planner.workbook.audit import Draft, case_of

_OF_JOB = ("jobs.", "storage.")
_FACTS = (
    "storage.client_limit",
    "storage.tolerate_down",
    *map(job_path, ("checkpoint.stall", "checkpoint.local", "restore.restart", "restart.")),
    *map(job_path, ("repair", "parallelism", "gpus.hot_spares", "gpus.per_system")),
    job_path("gpus.max_types"),
)
"""Levers that define the job rather than limit it."""
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
        lines = () if self.plan is None else self.plan.lines
        return {line.sku: line.purchased for line in lines if line.parent is None}


@dataclass
class Evaluator:
    """Evaluates offers on a problem."""

    inputs: Inputs
    options: Options

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

        Most work is ranked by money per work: a larger bid is no better.
        """
        goal = self.inputs.problem.objective
        if goal.maximize is None:
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
        """Money of a plan that counts."""
        assert plan.totals is not None
        return (plan.totals.tco_usd if self.money == "tco" else plan.totals.capex_usd) or 0.0

    def value(self, plan: Plan) -> float:
        """A plan's value in the measure."""
        if self.measure.name in OBJECTIVES:
            assert plan.objective.value is not None
            return plan.objective.value
        job, flops = plan.jobs[0], self.measure.name.endswith("pflops")
        return self.usd(plan) / ((job.useful_pflops if flops else job.useful_gpus) or math.nan)

    # Plans

    def evaluate(
        self,
        offers: Sequence[Offer],
        prices: Prices,
        lots: Counts,
        *,
        pay_surplus: bool,
        show_broken: bool = True,
    ) -> Evaluated:
        """The best plan of offers, or the limits that they break.

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
    ) -> tuple[Prices, Charges]:
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
        lotted = [inputs.item(id_) for lot in lots.values() for id_ in lot]
        lacking = [(item, missing_figure(item, inputs)) for item in lotted]
        missing = [f"{item.model}: {figure}" for item, figure in lacking if figure is not None]
        if bare.against or missing:
            return replace(bare, why="; ".join(missing))
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

    # Broken limits

    def _broken(self, bare: Evaluated, why: str) -> Evaluated:
        """The most useful work of offers without a plan, and the limits that it breaks.

        Limits of site, money and targets are lifted first, then those of the job.
        """
        lots = {item.id for item in bare.inputs.items if item.category in LOTS}
        if any(
            lot not in bare.lots for lot in LOTS
        ):  # no bid on a lot, whose count decides which limits break
            return replace(bare, against=(f"{why} with its products in any numbers",))
        every = [
            lever
            for lever in levers(bare.inputs)
            if not _counts_one_of(lever, lots) and not lever.path.startswith(_FACTS)
        ]
        outer = [lever for lever in every if not lever.path.startswith(_OF_JOB)]
        compared = self._without(bare, outer) or self._without(bare, every)
        return compared or replace(bare, why=why, against=("the job cannot run on it as quoted",))

    def _without(self, bare: Evaluated, lifted: Sequence[Lever]) -> Evaluated | None:
        """The most useful work without some limits, compared with all of them; None where nothing
        runs."""
        loose = applied(bare.inputs, [change for lever in lifted for change in lever.off])
        goal = loose.problem.objective
        goal = Objective(maximize="useful_gpus") if goal.maximize is None else goal
        most = goal.model_copy(update={"indifference": 0.0})
        problem = loose.problem.model_copy(update={"objective": most})
        loose = replace(loose, problem=problem)
        try:
            case = resolve(loose)
            answer = self._optimise(case)
            run = answer.operation
            if run is None:
                return None
            plan = self._assemble(loose, case, answer)
            counts = {line.sku: line.quantity for line in plan.lines if line.parent is None}
            case = case_of(Draft(bare.inputs, plan, counts))
            units = {offer.id: run.units.get(offer.id, 0) for offer in case.offers()}
            run = run_at(
                case, run.mode, units, run.used, run.gpus, run.interval_s, run.ways, run.every
            )
        except InputError:
            return None
        if run is None:
            return None
        value = measure(case, case.objective)(run)
        shown = Certificate("feasible", run, value, None, None, 0, 0.0, late=False)
        broken = self._assemble(bare.inputs, case, shown)
        checked = recheck(bare.inputs, broken)
        if checked.disagreements:
            raise VerificationError(checked.disagreements)
        reported = {limit.name for limit in broken.limits}
        return replace(
            bare,
            plan=broken,
            breaches=breaches_of(broken.limits, {name for name, _ in checked.breaches}),
            against=tuple(text for name, text in checked.breaches if name not in reported),
        )

    # The bill

    def lines(self, found: Evaluated, prices: Prices) -> list[BidLine]:
        """Every product of the plan with its price, charges left out."""
        assert found.plan is not None
        own = {item.id for item in self.inputs.items}
        return [
            self._line(found, line, prices)
            for line in found.plan.lines
            if line.parent is None and line.purchased and line.sku in own
        ]

    def _line(self, found: Evaluated, line: Line, prices: Prices) -> BidLine:
        offered = prices[line.sku][1].products[line.sku] if line.sku in prices else None
        price, off = found.inputs.prices.get(line.sku), found.inputs.discounts
        item = found.inputs.item(line.sku)
        by: PricedBy = "book" if offered is None else "quote"
        if offered is not None and line.purchased > offered.units + 1e-9:
            by = "more"
        ends = [0.0, 0.0] if price is None else self._ends_usd(item, price, off, offered is None)
        yearly_usd = 0.0 if price is None else self._term_usd(item, price, off)
        return BidLine(
            sku=line.sku,
            section=line.section,
            product=product_name(line),
            needed=line.purchased,
            quoted=0.0 if offered is None else offered.units,
            unit_usd=line.unit_net_usd,
            usd=line.extended_net_usd or 0.0,
            years_usd=yearly_usd * line.purchased,
            priced_by=by,
            cells=() if offered is None else offered.cells,
            low_usd=ends[0] * line.purchased,
            high_usd=ends[1] * line.purchased,
        )

    def _ends_usd(
        self, item: Item, price: Price, off: Sequence[Discount], from_book: bool
    ) -> list[float]:
        """Cost of a unit at both ends of the book's prices."""
        ends = []
        for at in (0, 1):
            yearly = None if price.per_year_usd is None else price.per_year_range_usd[at]
            listed = price.range_usd[at] if from_book else price.list_usd
            moved = price.model_copy(update={"list_usd": listed, "per_year_usd": yearly})
            ends.append(self._unit_usd(item, moved, off))
        return ends

    def unit_usd(self, item: Item, price: Price, *, discounted: bool = True) -> float:
        """Cost of a unit with support and subscription where they count.

        Args:
            item: the product.
            price: its price.
            discounted: whether the book's discounts apply.
        """
        return self._unit_usd(item, price, self.inputs.discounts if discounted else ())

    def _unit_usd(self, item: Item, price: Price, off: Sequence[Discount]) -> float:
        return unit_net_usd(item, price, off, self.shown_in) + self._term_usd(item, price, off)

    def _term_usd(self, item: Item, price: Price, off: Sequence[Discount]) -> float:
        """Support and subscription of a unit over the term, where that counts."""
        term = self.inputs.problem.term
        if term is None or self.money == "capex":
            return 0.0
        support = support_usd_per_year(item, price, off, self.shown_in)
        support *= support_factor(item, replace(self.inputs, prices={item.id: price}))
        yearly = (price.per_year_usd or 0.0) * (1.0 - discount(item, off))
        years = discounted_years(0.0, term.years, term.discount_rate)
        return support + self.shown_in.rounded_usd(yearly) * years

    def lacks(self, found: Evaluated, lines: Sequence[BidLine]) -> Iterator[Lack]:
        """Yield needed products and services that are not quoted, at their cost."""

        def lack(kind: LackKind, units: float, usd: float, low: float, high: float) -> Lack:
            fields = {"kind": kind, "units": units, "usd": usd, "low_usd": low, "high_usd": high}
            return Lack(sku=line.sku, product=line.product, **fields)

        for line in lines:
            if line.priced_by == "book":
                yield lack(
                    "units", line.needed, line.usd + line.years_usd, line.low_usd, line.high_usd
                )
                continue
            if line.priced_by == "more":
                more = line.needed - line.quoted
                usd = line.usd if line.unit_usd is None else more * line.unit_usd
                yield lack("more_units", more, usd, usd, usd)
            price, item = found.inputs.prices[line.sku], found.inputs.item(line.sku)
            without = price.model_copy(update={"per_year_usd": None})
            support = self._term_usd(item, without, found.inputs.discounts) * line.needed
            if support and price.support_source != "quote":
                yield lack("support", line.needed, support, support, support)
            if price.per_year_usd is not None and line.years_usd > support:
                usd, other = line.years_usd - support, line.usd + support
                low, high = line.low_usd - other, line.high_usd - other
                yield lack("subscription", line.needed, usd, low, high)


def _counts_one_of(lever: Lever, items: set[str]) -> bool:
    return lever.path.startswith("items.") and lever.path.split(".")[1] in items


def offered_prices(
    evaluator: Evaluator, offers: Sequence[Offer], lots: Counts, owners: Mapping[str, Offer]
) -> dict[str, tuple[Price, Offer]]:
    """The offered price of each product: of a lot its owner's, of others the lowest.

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
    """Figures of a plan that bids are compared by."""
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
