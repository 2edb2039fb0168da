"""Storage alternatives by vendor: every family that carries the plan's operation, and break-evens.

Each is a whole plan that the verifier has computed again. Prices are no quotes: each has a low and
a high, and a family is the choice only where it stays the cheapest wherever the quotes come in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from planner.case import Case, Storage
from planner.case.figures import discount, support_factor, support_usd_per_year, unit_net_usd
from planner.case.items import bought_nameplate
from planner.case.job import write_needed_gb_per_s
from planner.figures import RATIOS
from planner.inputs import Inputs
from planner.optimizer.bill import bill
from planner.optimizer.dominance import without_dominated
from planner.optimizer.objective import measure, natural, work_of_ratio
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Certificate, of_whole
from planner.optimizer.other_storage import OtherStorage
from planner.plan import assemble
from planner.schema.catalog import Item
from planner.schema.plan import OptionItem, Plan, StorageOption, StorageOptions
from planner.schema.prices import Price

WITHIN = 0.005
"""Share by which a plan with other storage may be behind the best; indifference if more."""
CENT, SPAN_USD = 0.01, 1e6


def with_options(
    inputs: Inputs,
    case: Case,
    answer: Certificate,
    plan: Plan,
    *,
    solver: str,
    check: Callable[[Plan], None],
) -> Plan:
    """A plan with its storage alternatives; as it is where it buys no storage.

    Args:
        plan: the plan of the answer.
        check: computes a plan with other storage again, and raises where that does not agree.
    """
    run = answer.operation
    if run is None or not any(item.purchased(run.units[item.id]) for item in case.flash):
        return plan
    costs = _Costs(inputs, case)
    options = _distinct(_options(costs, answer, run, solver, check))
    options = [_with_break_even(costs, each, options) for each in options]
    job = case.job
    read = run.gpus * job.ingest_per_gpu_gb_per_s
    if job.max_restore_s is not None:
        read = max(read, run.fan_out * job.checkpoint_gb / job.max_restore_s)
    choice = _choice(options)
    report = StorageOptions(
        read_demand_gb_per_s=read,
        usable_tb=job.capacity_needed_tb,
        within=max(WITHIN, case.indifference),
        counted="term" if costs.whole_term else "purchase",
        options=tuple(options),
        choice=choice,
        settled_by=_settled_by(options) if choice is None else (),
    )
    warnings = (*plan.warnings, *_mixed_bases(options))
    return plan.model_copy(update={"storage_options": report, "warnings": warnings})


def _options(
    costs: _Costs, answer: Certificate, chosen: Run, solver: str, check: Callable[[Plan], None]
) -> Iterator[StorageOption]:
    """Yield the plan's own storage, then each other family that carries its operation."""
    inputs, case = costs.inputs, costs.case
    bound = None if answer.bound is None else natural(case.objective, answer.bound)
    few = without_dominated(case)
    others = OtherStorage(few, chosen, bound, max(WITHIN, case.indifference))
    yield _option(costs, chosen, 0, others.shortfall(chosen), None)
    for other in others.found(costs.at_list):
        run = of_whole(case, other.operation)
        assert run is not None
        value = measure(case, case.objective)(run)
        shown = Certificate("feasible", run, value, None, None, 0, 0.0, late=False)
        check(assemble(inputs, case, shown, solver=solver, gap=0.0))
        beside_usd = costs.beside_usd(run) - costs.beside_usd(chosen)
        beside_usd += costs.missing_work_usd(run, chosen)
        yield _option(costs, run, other.dropped, other.shortfall, beside_usd)


# Money.


class _Costs(NamedTuple):
    """Money by which storage is compared: over the term where there is one, but for capex."""

    inputs: Inputs
    case: Case

    @property
    def whole_term(self) -> bool:
        """True if support and subscriptions count."""
        return self.inputs.problem.term is not None and self.case.objective != "cost"

    def unit_usd(self, sku: str, at: Callable[[Price], Price]) -> float:
        """Cost of a unit at a variant of its price, with support and subscription if they count."""
        item, price = self.inputs.item(sku), self.inputs.prices.get(sku)
        if price is None:
            return 0.0
        asked, off, shown_in = at(price), self.inputs.discounts, self.inputs.problem.shown_in
        net = unit_net_usd(item, asked, off, shown_in)
        if not self.whole_term:
            return net
        support = support_usd_per_year(item, asked, off, shown_in)
        support *= support_factor(item, self.inputs)
        each_year = (asked.per_year_usd or 0.0) * (1.0 - discount(item, off))
        return net + support + round(each_year, 2) * self.case.rates.factor

    def at_list(self, item: Storage, units: int) -> float:
        """List cost of a purchase of storage."""
        return item.purchased(units) * self.unit_usd(item.id, _list)

    def beside_usd(self, run: Run) -> float:
        """Cost of a plan without its purchases of storage, at list prices."""
        figure = "tco_usd" if self.whole_term else "capex_usd"
        storage = sum(self.at_list(item, run.units[item.id]) for item in self.case.flash)
        return bill(self.case, run.units, run.ways)[figure] - storage

    def missing_work_usd(self, run: Run, chosen: Run) -> float:
        """Additional money of a plan at the work of the chosen one, where money per work counts."""
        if self.case.objective not in RATIOS:
            return 0.0
        share = work_of_ratio(self.case, chosen) / work_of_ratio(self.case, run)
        return bill(self.case, run.units, run.ways)["tco_usd"] * (share - 1.0)

    def break_even_usd(self, option: StorageOption, most_usd: float) -> float | None:
        """Highest list price of a unit at which an option costs ``most_usd`` at most.

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

        free = unit(0.0)
        span = unit(SPAN_USD) - free
        if free > each_usd or span <= 0.0:
            return None
        cents = math.floor((each_usd - free) / span * SPAN_USD / CENT)
        while cents > 0 and unit(cents * CENT) > each_usd:  # net prices are rounded to cents
            cents -= 1
        return round(cents * CENT, 2)


def _list(price: Price) -> Price:
    return price


def _low(price: Price) -> Price:
    ends = {"list_usd": price.range_usd[0], "per_year_usd": price.per_year_range_usd[0]}
    return price.model_copy(update=ends)


def _high(price: Price) -> Price:
    ends = {"list_usd": price.range_usd[1], "per_year_usd": price.per_year_range_usd[1]}
    return price.model_copy(update=ends)


# Options.


def _option(
    costs: _Costs, run: Run, dropped: int, shortfall: float, beside_usd: float | None
) -> StorageOption:
    """Storage of a run; ``beside_usd`` is None for the plan's own."""
    case = costs.case
    bought = [(item, run.units[item.id]) for item in case.flash if run.units[item.id]]
    read, write = bought_nameplate([item for item, _ in bought], run.units)
    low, listed, high = (
        sum(item.purchased(units) * costs.unit_usd(item.id, at) for item, units in bought)
        for at in (_low, _list, _high)
    )
    by_rule = case.rule is not None
    needed = write_needed_gb_per_s(case.job, run.mode, run.remote_interval_s, by_rule=by_rule)
    return StorageOption(
        family=" and ".join(sorted({item.family for item, _ in bought})),
        chosen=beside_usd is None,
        items=tuple(_item(costs, item, units) for item, units in bought),
        fewer_systems=dropped,
        shortfall=shortfall,
        interval_s=run.interval_s,
        every=run.every if run.mode == "local" else 0,
        write_demand_gb_per_s=needed,
        nameplate_read_gb_per_s=read,
        nameplate_write_gb_per_s=write,
        usable_tb=sum(item.usable_tb * units for item, units in bought),
        low_usd=low,
        list_usd=listed,
        high_usd=high,
        beside_usd=beside_usd or 0.0,
        even_usd=None,
        sure_usd=None,
    )


def _item(costs: _Costs, offer: Storage, units: int) -> OptionItem:
    item, price = costs.inputs.item(offer.id), costs.inputs.prices.get(offer.id)
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
        read_basis=_basis(item, "read"),
        write_basis=_basis(item, "write"),
    )


def _basis(item: Item, side: str) -> str:
    """Basis of an item's bandwidth, and the benchmark of a measured one."""
    figure = item.sizes or getattr(item.provides, side)
    if figure is None or figure.basis is None:
        return "nameplate"
    bench = figure.benchmark if figure.basis == "measured" else None
    return f"measured ({bench})" if bench else str(figure.basis)


def _distinct(options: Iterator[StorageOption]) -> list[StorageOption]:
    """Options by cost, without those that differ from an earlier one of their vendor by name."""
    by_key: dict[tuple[object, ...], StorageOption] = {}
    for option in options:
        units = tuple(item.units for item in option.items)
        key = (vendors(option), units, option.low_usd, option.list_usd, option.high_usd)
        by_key.setdefault(key, option)
    return sorted(by_key.values(), key=lambda option: option.list_usd + option.beside_usd)


# Whose quote decides.


def vendors(option: StorageOption) -> tuple[str, ...]:
    """Vendors of an option's items."""
    return tuple(sorted({item.vendor for item in option.items}))


def _with_break_even(
    costs: _Costs, option: StorageOption, options: Sequence[StorageOption]
) -> StorageOption:
    """An option with the prices at which it is cheaper than those of all other vendors."""
    others = [each for each in options if vendors(each) != vendors(option)]
    if not others:
        return option
    even = costs.break_even_usd(option, min(o.list_usd + o.beside_usd for o in others))
    sure = costs.break_even_usd(option, min(o.low_usd + o.beside_usd for o in others))
    return option.model_copy(update={"even_usd": even, "sure_usd": sure})


def _choice(options: Sequence[StorageOption]) -> str | None:
    """The vendor who is cheapest wherever the quotes come in, None if prices decide."""
    for option in options:
        highest = option.high_usd + option.beside_usd
        others = [each for each in options if vendors(each) != vendors(option)]
        if others and all(highest <= each.low_usd + each.beside_usd for each in others):
            return " and ".join(vendors(option))
    return None


def _settled_by(options: Sequence[StorageOption]) -> tuple[str, ...]:
    """Items of which a quote within its range decides, the likeliest first."""
    deciding = []
    for option in options:
        item, sure = option.items[0], option.sure_usd
        low, high = item.unit_low_usd, item.unit_high_usd
        if sure is not None and low is not None and high is not None and low <= sure:
            deciding.append(((sure - low) / max(high - low, CENT), item.sku))
    return tuple(sku for _, sku in sorted(deciding, key=lambda each: -each[0]))


def _mixed_bases(options: Sequence[StorageOption]) -> Iterator[str]:
    """Comparisons across bases of bandwidth: one vendor's word, another's benchmark."""
    sides: dict[str, list[str]] = {}
    for side in ("write", "read"):
        models: dict[str, list[str]] = {}
        for item in (item for option in options for item in option.items):
            models.setdefault(getattr(item, f"{side}_basis"), []).append(item.model)
        if len(models) > 1:
            parts = "; ".join(f"{basis}: {', '.join(names)}" for basis, names in models.items())
            sides.setdefault(parts, []).append(side)
    for parts, names in sides.items():
        yield f"{' and '.join(names)} bandwidths of storage are compared across bases: {parts}"
