"""Storage alternatives by vendor: every family that carries the plan's operation, and break-evens.

Each is a whole plan that the verifier has computed again. Prices are no quotes: each has a low and
a high, and a family is the choice only where it stays the cheapest wherever the quotes come in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from planner.case import Case, Storage
from planner.case.figures import discount, support_factor, support_usd_per_year, unit_net_usd
from planner.figures import RATIOS
from planner.inputs import Inputs
from planner.optimizer.alternatives import OtherStorage
from planner.optimizer.bill import bill
from planner.optimizer.objective import measure, natural, work_paid
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Certificate
from planner.plan import assemble
from planner.schema.catalog import Item
from planner.schema.plan import OptionItem, Plan, StorageOption, StorageOptions
from planner.schema.prices import Price
from planner.sizing.checkpoint import write_demand_gb_per_s

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
    found: dict[tuple[object, ...], StorageOption] = {}
    for option in _options(costs, answer, run, solver, check):
        # Models of a vendor that differ by name alone are one option.
        units = tuple(item.units for item in option.items)
        money = option.low_usd, option.list_usd, option.high_usd
        found.setdefault((_vendors(option), units, money), option)
    options = sorted(found.values(), key=lambda option: option.list_usd + option.beside_usd)
    choice, deciding, priced = None, [], []
    for option in options:
        others = (each for each in options if _vendors(each) != _vendors(option))
        lowest = min((each.low_usd + each.beside_usd for each in others), default=None)
        if lowest is None:
            priced.append(option)
            continue
        sure, item = costs.break_even_usd(option, lowest), option.items[0]
        priced.append(option.model_copy(update={"sure_usd": sure}))
        if choice is None and option.high_usd + option.beside_usd <= lowest:
            choice = " and ".join(_vendors(option))
        low, high = item.unit_low_usd, item.unit_high_usd
        if sure is not None and low is not None and high is not None and low <= sure:
            deciding.append(((sure - low) / max(high - low, CENT), item.sku))
    settled_by = (sku for _, sku in sorted(deciding, key=lambda each: -each[0]))
    job = case.job
    read = run.gpus * job.ingest_per_gpu_gb_per_s
    if job.max_restore_s is not None:
        read = max(read, run.fan_out * job.checkpoint_gb / job.max_restore_s)
    report = StorageOptions(
        read_demand_gb_per_s=read,
        usable_tb=job.capacity_needed_tb,
        within=max(WITHIN, case.indifference),
        counted="term" if costs.whole_term else "purchase",
        options=tuple(priced),
        choice=choice,
        settled_by=tuple(settled_by) if choice is None else (),
    )
    warnings = (*plan.warnings, *_mixed_bases(inputs, options))
    return plan.model_copy(update={"storage_options": report, "warnings": warnings})


def _vendors(option: StorageOption) -> tuple[str, ...]:
    return tuple(sorted({item.vendor for item in option.items}))


def _options(
    costs: _Costs, answer: Certificate, chosen: Run, solver: str, check: Callable[[Plan], None]
) -> Iterator[StorageOption]:
    """Yield the plan's own storage, then each other family that carries its operation."""
    inputs, case = costs.inputs, costs.case
    bound = None if answer.bound is None else natural(case.objective, answer.bound)
    others = OtherStorage(case, chosen, bound, max(WITHIN, case.indifference))
    yield _option(costs, chosen, 0, others.shortfall(chosen), None)
    for other in others.found(costs.at_list_usd):
        run = other.operation
        value = measure(case, case.objective)(run)
        shown = Certificate("feasible", run, value)
        check(assemble(inputs, case, shown, solver=solver, gap=0.0))
        beside_usd = costs.beside_usd(run) - costs.beside_usd(chosen)
        if case.objective in RATIOS:  # at the work of the chosen plan
            share = work_paid(case, chosen) / work_paid(case, run)
            beside_usd += bill(case, run.units, run.ways)["tco_usd"] * (share - 1.0)
        yield _option(costs, run, other.dropped, other.shortfall, beside_usd)


def _option(
    costs: _Costs, run: Run, dropped: int, shortfall: float, beside_usd: float | None
) -> StorageOption:
    """Storage of a run; ``beside_usd`` is None for the plan's own."""
    case, prices = costs.case, costs.inputs.prices
    items, ends_usd = [], [0.0, 0.0, 0.0]
    for offer in case.flash:
        if not (units := run.units[offer.id]):
            continue
        item, purchased = costs.inputs.item(offer.id), offer.purchased(units)
        price = prices.get(offer.id)
        low, high = price.range_usd if price is not None else (None, None)
        if price is not None:
            low_price, high_price = (
                price.model_copy(update={"list_usd": list_usd, "per_year_usd": per_year_usd})
                for list_usd, per_year_usd in zip(
                    price.range_usd, price.per_year_range_usd, strict=True
                )
            )
            for end, at in enumerate((low_price, price, high_price)):
                ends_usd[end] += purchased * costs.unit_usd(item, at)
        items.append(
            OptionItem(
                sku=item.id,
                model=item.model,
                vendor=item.vendor,
                units=units,
                purchased=purchased,
                unit_list_usd=price.list_usd if price else None,
                unit_low_usd=low,
                unit_high_usd=high,
            )
        )
    share = case.job.max_blocking
    if run.mode != "sync":  # where a rule sizes storage, a drain may take the whole interval
        share = 1.0 if case.rule is not None else case.job.max_overlap
    return StorageOption(
        chosen=beside_usd is None,
        items=tuple(items),
        fewer_systems=dropped,
        shortfall=shortfall,
        write_demand_gb_per_s=write_demand_gb_per_s(
            case.job.checkpoint_gb, share, run.remote_interval_s
        ),
        low_usd=ends_usd[0],
        list_usd=ends_usd[1],
        high_usd=ends_usd[2],
        beside_usd=beside_usd or 0.0,
        sure_usd=None,
    )


# Money.


class _Costs(NamedTuple):
    """Money by which storage is compared: over the term where there is one, but for capex."""

    inputs: Inputs
    case: Case

    @property
    def whole_term(self) -> bool:
        """True if support and subscriptions count."""
        return self.inputs.problem.term is not None and self.case.objective != "cost"

    def unit_usd(self, item: Item, price: Price) -> float:
        """Cost of a unit at a price, with support and subscription if they count."""
        off, shown_in = self.inputs.discounts, self.inputs.problem.shown_in
        net = unit_net_usd(item, price, off, shown_in)
        if not self.whole_term:
            return net
        support = support_usd_per_year(item, price, off, shown_in)
        support *= support_factor(item, self.inputs)
        each_year = (price.per_year_usd or 0.0) * (1.0 - discount(item, off))
        return net + support + round(each_year, 2) * self.case.rates.discounted_years

    def at_list_usd(self, offer: Storage, units: int) -> float:
        """List cost of a purchase of storage."""
        price = self.inputs.prices.get(offer.id)
        each = 0.0 if price is None else self.unit_usd(self.inputs.item(offer.id), price)
        return offer.purchased(units) * each

    def beside_usd(self, run: Run) -> float:
        """Cost of a plan without its purchases of storage, at list prices."""
        figure = "tco_usd" if self.whole_term else "capex_usd"
        held = [(item, n) for item in self.case.flash if (n := run.units[item.id])]
        storage = sum(self.at_list_usd(item, units) for item, units in held)
        return bill(self.case, run.units, run.ways)[figure] - storage

    def break_even_usd(self, option: StorageOption, most_usd: float) -> float | None:
        """Highest list price of a unit at which an option costs ``most_usd`` at most.

        None where several items make it up, nothing of it is bought, or no price is low enough.
        """
        if len(option.items) != 1 or option.items[0].purchased == 0:
            return None
        item = self.inputs.item(option.items[0].sku)
        price = self.inputs.prices.get(item.id)
        if price is None:
            return None
        each_usd = (most_usd - option.beside_usd) / option.items[0].purchased

        def unit(list_usd: float) -> float:
            return self.unit_usd(item, price.model_copy(update={"list_usd": list_usd}))

        free = unit(0.0)
        span = unit(SPAN_USD) - free
        if free > each_usd or span <= 0.0:
            return None
        cents = math.floor((each_usd - free) / span * SPAN_USD / CENT)
        while cents > 0 and unit(cents * CENT) > each_usd:  # net prices are rounded to cents
            cents -= 1
        return round(cents * CENT, 2)


def _mixed_bases(inputs: Inputs, options: Iterable[StorageOption]) -> Iterator[str]:
    """Comparisons across bases of bandwidth: one vendor's word, another's benchmark."""
    sides: dict[str, list[str]] = {}
    for side in ("write", "read"):
        models: dict[str, list[str]] = {}
        for item in (inputs.item(each.sku) for option in options for each in option.items):
            figure = item.sizes or getattr(item.provides, side)
            basis = "nameplate" if figure is None else str(figure.basis or "nameplate")
            if basis == "measured" and figure is not None and figure.benchmark:
                basis = f"measured ({figure.benchmark})"
            models.setdefault(basis, []).append(item.model)
        if len(models) > 1:
            parts = "; ".join(f"{basis}: {', '.join(names)}" for basis, names in models.items())
            sides.setdefault(parts, []).append(side)
    for parts, names in sides.items():
        yield f"{' and '.join(names)} bandwidths of storage are compared across bases: {parts}"
