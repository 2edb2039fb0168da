"""Whose quote decides: what the plan's operation needs of storage, and who could supply it.

Every storage family that carries the operation stands beside the plan's own, each as a whole plan
that the verifier has computed again. Prices are no quotes: each has a low and a high, and a family
is the choice only where it stays the cheapest wherever the quotes come in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from planner.assemble import assemble
from planner.case import Case, Storage
from planner.case.bandwidth import bought_nameplate, write_needed_gb_per_s
from planner.case.money import discount, support_factor, support_usd_per_year, unit_net_usd
from planner.figures import RATIOS
from planner.inputs import Inputs
from planner.optimizer.bill import bill
from planner.optimizer.objective import measure, natural, work_of_ratio
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Certificate
from planner.optimizer.other_storage import OtherStorage
from planner.schema.beside import OptionItem, StorageOption, StorageOptions
from planner.schema.catalog import Item
from planner.schema.plan import Plan
from planner.schema.prices import Price

WITHIN = 0.005
"""How far behind the best, as a share, a plan with other storage may be; indifference if more."""
CENT, SPAN_USD = 0.01, 1e6


@dataclass(frozen=True)
class RivalSearch:
    """A plan and the money by which what could stand in its place is weighed."""

    inputs: Inputs
    case: Case
    answer: Certificate
    plan: Plan
    solver: str
    check: Callable[[Plan], None]

    @property
    def whole_term(self) -> bool:
        """Say whether support and subscriptions count: where there is a term, but for capex."""
        return self.inputs.problem.term is not None and self.case.objective != "cost"

    @property
    def within(self) -> float:
        """The share of the bound by which another plan may be worse."""
        return max(WITHIN, self.case.indifference)

    def options(self) -> Iterator[StorageOption]:
        """Yield the plan's own storage, then what carries its operation of each other family."""
        chosen = self.answer.operation
        assert chosen is not None
        bound = (
            None if self.answer.bound is None else natural(self.case.objective, self.answer.bound)
        )
        others = OtherStorage(self.case, chosen, bound, self.within)
        yield self._option(chosen, 0, others.shortfall(chosen), 0.0)
        for other in others.found(self._at_list):
            rival = self._plan(other.operation)
            beside = self._beside_usd(other.operation) - self._beside_usd(chosen)
            beside += self._dearer_work_usd(other.operation, chosen)
            self.check(rival)
            yield self._option(other.operation, other.dropped, other.shortfall, beside)

    def _plan(self, operation: Run) -> Plan:
        """Return the whole plan of an operation; its gap is of no account here."""
        value = measure(self.case, self.case.objective)(operation)
        shown = Certificate("feasible", operation, value, None, None, 0, 0.0, late=False)
        return assemble(self.inputs, self.case, shown, solver=self.solver, gap=0.0)

    def _beside_usd(self, operation: Run) -> float:
        """Return what a plan costs without its purchases of storage, at list prices."""
        figure = "tco_usd" if self.whole_term else "capex_usd"
        return bill(self.case, operation.units, operation.ways)[figure] - sum(
            self._at_list(item, operation.units[item.id]) for item in self.case.flash
        )

    def _dearer_work_usd(self, operation: Run, chosen: Run) -> float:
        """Return what less work than the plan's is worth where the objective is money per work: at
        the plan's work, its money would be so much more."""
        if self.case.objective not in RATIOS:
            return 0.0
        share = work_of_ratio(self.case, chosen) / work_of_ratio(self.case, operation)
        return bill(self.case, operation.units, operation.ways)["tco_usd"] * (share - 1.0)

    def _at_list(self, item: Storage, units: int) -> float:
        return item.purchased(units) * self.unit_usd(item.id, _list)

    def unit_usd(self, sku: str, at: Callable[[Price], Price]) -> float:
        """Return what a unit costs, with support and subscription where they count.

        Args:
            sku: the item.
            at: what makes its price that at which it is asked for.
        """
        item, price = self._sold(sku)
        if price is None:
            return 0.0
        asked, off = at(price), self.inputs.discounts
        shown_in = self.inputs.problem.shown_in
        net = unit_net_usd(item, asked, off, shown_in)
        if not self.whole_term:
            return net
        support = support_usd_per_year(item, asked, off, shown_in) * support_factor(
            item, self.inputs
        )
        each_year = (asked.per_year_usd or 0.0) * (1.0 - discount(item, off))
        return net + support + round(each_year, 2) * self.case.rates.factor

    def _sold(self, sku: str) -> tuple[Item, Price | None]:
        return self.inputs.item(sku), self.inputs.prices.get(sku)

    def _option(self, run: Run, dropped: int, behind: float, beside: float) -> StorageOption:
        bought = [item for item in self.case.flash if run.units[item.id]]
        read_gb_per_s, write_gb_per_s = bought_nameplate(bought, run.units)

        def money(at: Callable[[Price], Price]) -> float:
            counts = ((item.id, item.purchased(run.units[item.id])) for item in bought)
            return sum(count * self.unit_usd(sku, at) for sku, count in counts)

        return StorageOption(
            family=" and ".join(sorted({item.family for item in bought})),
            chosen=run is self.answer.operation,
            items=tuple(self._item(item, run.units[item.id]) for item in bought),
            fewer_systems=dropped,
            shortfall=behind,
            interval_s=run.interval_s,
            every=run.every if run.mode == "local" else 0,
            write_needed_gb_per_s=write_needed_gb_per_s(
                self.case.job, run.mode, run.remote_interval_s, by_rule=self.case.rule is not None
            ),
            read_gb_per_s=read_gb_per_s,
            write_gb_per_s=write_gb_per_s,
            usable_tb=sum(item.usable_tb * run.units[item.id] for item in bought),
            low_usd=money(_low),
            list_usd=money(_list),
            high_usd=money(_high),
            beside_usd=beside,
            even_usd=None,
            sure_usd=None,
        )

    def _item(self, offer: Storage, units: int) -> OptionItem:
        item, price = self._sold(offer.id)
        low, high = price.range_usd if price else (None, None)
        return OptionItem(
            sku=item.id,
            model=item.model,
            vendor=item.vendor,
            units=units,
            purchased=offer.purchased(units),
            unit_list_usd=price.list_usd if price else None,
            unit_low_usd=low,
            unit_high_usd=high,
            read_basis=basis_of(item, "read"),
            write_basis=basis_of(item, "write"),
        )

    def price_below(self, option: StorageOption, most_usd: float) -> float | None:
        """Return the highest list price of a unit at which an option comes to so much at most.

        Args:
            most_usd: the most that its purchases and everything else may come to.

        None where several items make it up, nothing of it is bought, or no price is low enough.
        """
        if len(option.items) != 1 or option.items[0].purchased == 0:
            return None
        item = option.items[0]
        each_usd = (most_usd - option.beside_usd) / item.purchased

        def unit(list_usd: float) -> float:
            return self.unit_usd(
                item.sku, lambda price: price.model_copy(update={"list_usd": list_usd})
            )

        free, span = unit(0.0), unit(SPAN_USD) - unit(0.0)
        if free > each_usd or span <= 0.0:
            return None
        cents = math.floor((each_usd - free) / span * SPAN_USD / CENT)
        while cents > 0 and unit(cents * CENT) > each_usd:  # net prices are rounded to cents
            cents -= 1
        return round(cents * CENT, 2)


def _list(price: Price) -> Price:
    return price


def _low(price: Price) -> Price:
    return price.model_copy(
        update={"list_usd": price.range_usd[0], "per_year_usd": price.per_year_range_usd[0]}
    )


def _high(price: Price) -> Price:
    return price.model_copy(
        update={"list_usd": price.range_usd[1], "per_year_usd": price.per_year_range_usd[1]}
    )


def basis_of(item: Item, side: str) -> str:
    """Return what an item's bandwidth is: its basis, and of a measured one by what.

    Args:
        side: read or write.
    """
    figure = item.sizes or getattr(item.provides, side)
    if figure is None or figure.basis is None:
        return "nameplate"
    bench = figure.benchmark if figure.basis == "measured" else None
    return f"measured ({bench})" if bench else str(figure.basis)


def with_options(
    inputs: Inputs,
    case: Case,
    answer: Certificate,
    plan: Plan,
    *,
    solver: str,
    check: Callable[[Plan], None],
) -> Plan:
    """Return a plan with what else could be its storage, and whose quote decides.

    Nothing is added where the plan buys no storage.

    Args:
        plan: the plan of it.
        check: computes a plan with other storage again, and raises where that does not agree.
    """
    run = answer.operation
    if run is None or not any(item.purchased(run.units[item.id]) for item in case.flash):
        return plan
    search = RivalSearch(inputs, case, answer, plan, solver, check)
    options = sorted(_unlike(search.options()), key=_total)
    priced = [_priced(search, each, options) for each in options]
    found = StorageOptions(
        read_gb_per_s=_read_needed(case, run),
        usable_tb=case.job.capacity_needed_tb,
        within=search.within,
        counted="term" if search.whole_term else "purchase",
        options=tuple(priced),
        choice=_choice(priced),
        settled_by=_settled_by(priced),
    )
    warnings = (*plan.warnings, *_across(priced))
    return plan.model_copy(update={"storage_options": found, "warnings": warnings})


def _read_needed(case: Case, run: Run) -> float:
    """Return the read bandwidth that it needs at least: to restore in time, and to be fed."""
    job = case.job
    read = run.gpus * job.ingest_per_gpu_gb_per_s
    if job.max_restore_s is not None:
        read = max(read, run.fan_out * job.checkpoint_gb / job.max_restore_s)
    return read


def _total(option: StorageOption) -> float:
    return option.list_usd + option.beside_usd


def _unlike(options: Iterable[StorageOption]) -> Iterator[StorageOption]:
    """Yield options without those that differ from an earlier one of their vendor by name alone."""
    seen = set()
    for option in options:
        units = tuple(item.units for item in option.items)
        key = (vendors(option), units, option.low_usd, option.list_usd, option.high_usd)
        if key not in seen:
            seen.add(key)
            yield option


def vendors(option: StorageOption) -> tuple[str, ...]:
    """Return whose items an option is made of."""
    return tuple(sorted({item.vendor for item in option.items}))


def _rivals(own: StorageOption, options: Sequence[StorageOption]) -> list[StorageOption]:
    return [each for each in options if vendors(each) != vendors(own)]


def _priced(
    search: RivalSearch, own: StorageOption, options: Sequence[StorageOption]
) -> StorageOption:
    """Return an option with the prices at which it is cheaper than those of all other vendors."""
    rivals = _rivals(own, options)
    if not rivals:
        return own
    even = search.price_below(own, min(map(_total, rivals)))
    sure = search.price_below(own, min(each.low_usd + each.beside_usd for each in rivals))
    return own.model_copy(update={"even_usd": even, "sure_usd": sure})


def _choice(options: Sequence[StorageOption]) -> str | None:
    """Return the vendor who is cheapest wherever the quotes come in, None if prices decide."""
    for own in options:
        highest = own.high_usd + own.beside_usd
        rivals = _rivals(own, options)
        if rivals and all(highest <= each.low_usd + each.beside_usd for each in rivals):
            return " and ".join(vendors(own))
    return None


def _settled_by(options: Sequence[StorageOption]) -> tuple[str, ...]:
    """Return the items of which a quote within its range settles it, the likeliest first."""
    if _choice(options) is not None:
        return ()
    ways = []
    for option in options:
        item, sure = option.items[0], option.sure_usd
        low, high = item.unit_low_usd, item.unit_high_usd
        if sure is not None and low is not None and high is not None and low <= sure:
            ways.append(((sure - low) / max(high - low, CENT), item.sku))
    return tuple(sku for _, sku in sorted(ways, key=lambda way: -way[0]))


def _across(options: Sequence[StorageOption]) -> Iterator[str]:
    """Say where bandwidths of unlike basis are compared: one vendor's word, another's benchmark."""
    sides_of: dict[str, list[str]] = {}
    for side in ("write", "read"):
        kinds: dict[str, list[str]] = {}
        for option in options:
            for item in option.items:
                kinds.setdefault(getattr(item, f"{side}_basis"), []).append(item.model)
        if len(kinds) > 1:
            parts = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items())
            sides_of.setdefault(parts, []).append(side)
    for parts, sides in sides_of.items():
        yield f"{' and '.join(sides)} bandwidths of storage are compared across bases: {parts}"
