"""Storage alternatives by vendor: every family that carries the plan's operation, and break-evens.

Each is a whole plan that the verifier has computed again. Prices are no quotes: each has a low and
a high, and a family is the choice only where it stays the cheapest wherever the quotes come in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from planner.case import Case, Storage
from planner.case.figures import discount, support_factor, support_usd_per_year, unit_net_usd
from planner.figures import OBJECTIVES, RATIOS
from planner.inputs import Inputs
from planner.optimizer import Certificate
from planner.optimizer.bill import Counts, Flags, bill, least_order, sum_storage, unmet_needs
from planner.optimizer.objective import measure, natural, work_paid
from planner.optimizer.operate import (
    Run,
    broken_limits,
    goodput_with,
    is_orderable,
    meets_floors,
    operate,
)
from planner.optimizer.work import most_gpus
from planner.plan import assemble
from planner.schema.catalog import Item
from planner.schema.plan import OptionItem, Plan, StorageOption, StorageOptions
from planner.schema.prices import Price
from planner.sizing.checkpoint import write_demand_gb_per_s

WITHIN = 0.005
"""Share by which a plan with other storage may be behind the best; indifference if more."""
CENT, SPAN_USD = 0.01, 1e6


def add_storage_options(
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
            figure = getattr(item.provides, side)
            basis = "nameplate" if figure is None else str(figure.basis or "nameplate")
            if basis == "measured" and figure is not None and figure.benchmark:
                basis = f"measured ({figure.benchmark})"
            models.setdefault(basis, []).append(item.model)
        if len(models) > 1:
            parts = "; ".join(f"{basis}: {', '.join(names)}" for basis, names in models.items())
            sides.setdefault(parts, []).append(side)
    for parts, names in sides.items():
        yield f"{' and '.join(names)} bandwidths of storage are compared across bases: {parts}"


# Other storage for the operation of a plan.

MOST_UNITS = 4096
"""No more units than these of one item are proposed."""
MOST_DROPPED = 4
"""GPU systems that may make room for a storage that draws or takes more."""


class Alternative(NamedTuple):
    """Units of one item and the run they serve; ``shortfall`` is the share it is worse by the
    objective, ``dropped`` are GPU systems of the plan that make room."""

    item: Storage
    operation: Run
    shortfall: float
    dropped: int

    @property
    def units(self) -> int:
        """The units of the item."""
        return self.operation.units[self.item.id]


@dataclass(frozen=True)
class OtherStorage:
    """Other storage for the chosen plan.

    It is not solved: GPU systems, GPUs in use and way are those of the plan, so counts are compared
    by running them, all items at once. More units of an item never do less work, and take more of
    every limited sum: the fewest are found by halving.

    Attributes:
        chosen: the plan's run.
        bound: the bound of the objective, in its own unit; None where nothing is proven.
        within: the share of it that another plan may be worse.
    """

    case: Case
    chosen: Run
    bound: float | None
    within: float

    def found(self, priced: Callable[[Storage, int], float]) -> Iterator[Alternative]:
        """Yield the cheapest alternative of each storage family that the plan does not hold.

        Beside the plan's own GPU systems; if limits leave no room, beside a few systems less.

        Args:
            priced: the cost of units of an item.
        """
        held = {item.family for item in self.case.flash if self.chosen.units[item.id]}
        left = [family.id for family in self.case.families if family.id not in held]
        for dropped, like in self._uses():
            items = [item for item in self.case.flash if item.family in left]
            counts = list(zip(items, self._fewest(items, like).tolist(), strict=True))
            for family in list(left):
                sized = [(item, n) for item, n in counts if item.family == family and n]
                for item, count in sorted(sized, key=lambda pair: priced(*pair)):
                    run = self._run(item, count, like)
                    if run is not None:
                        yield Alternative(item, run, self.shortfall(run), dropped)
                        left.remove(family)
                        break

    def shortfall(self, run: Run) -> float:
        """The share by which a run is worse than the bound.

        An objective in money is for prices to decide: by it nothing is worse here, but for the
        work that money is paid for, which is compared with the plan's.
        """
        case = self.case
        if case.objective in RATIOS:
            return max(0.0, 1.0 - work_paid(case, run) / work_paid(case, self.chosen))
        if OBJECTIVES[case.objective].figure.money or self.bound is None:
            return 0.0
        value = natural(case.objective, measure(case, case.objective)(run))
        behind = self.bound - value if case.maximise else value - self.bound
        return max(0.0, behind) / max(abs(self.bound), 1e-12)

    def _uses(self) -> Iterator[tuple[int, Run]]:
        """Yield the plan without storage that need not be, then with a few systems less."""
        storage = {item.id: item.low for item in self.case.flash}
        units = {**self.chosen.units, **storage}
        yield 0, replace(self.chosen, units=units)
        running = self.case.in_use(self.chosen.used, self.chosen.ways)
        if len(running) != 1:
            return
        ((system, way),) = running
        for dropped in range(1, MOST_DROPPED + 1):
            left = units[system.id] - dropped
            if left < system.low or left < 1:
                return
            most = int(most_gpus(self.case.job, way, np.array([left]))[0])
            gpus = min(self.chosen.gpus, most)
            if gpus < self.chosen.gpus * (1.0 - 2.0 * self.within) or gpus < 1:
                return
            used = {system.id: way.systems_for(gpus)}
            less = {**units, system.id: left}
            yield dropped, replace(self.chosen, units=less, used=used, gpus=gpus)

    def _fewest(self, items: Sequence[Storage], like: Run) -> Counts:
        """The fewest units of each item that serve the job, whatever they take; 0: none."""
        few = np.array([max(least_order(item), item.low) for item in items], dtype=np.int64)
        most = [min(item.high or MOST_UNITS, MOST_UNITS) for item in items]
        many = np.array(most, dtype=np.int64)
        found = np.zeros(len(items), dtype=np.int64)
        open_ = np.flatnonzero(few <= many)
        open_ = open_[self._serves([items[n] for n in open_.tolist()], many[open_], like)]
        few, many, some = few[open_], many[open_], [items[n] for n in open_.tolist()]
        while (few < many).any():
            middle = (few + many) // 2
            fine = self._serves(some, middle, like)
            few, many = np.where(fine, few, middle + 1), np.where(fine, middle, many)
        found[open_] = few
        return found

    def _serves(self, items: Sequence[Storage], counts: Counts, like: Run) -> Flags:
        """True if units of each item serve the job, whatever they take or cost."""
        case, rows = self.case, {item.id: n for n, item in enumerate(self.case.storage)}
        units = np.array([like.units.get(o.id, 0) for o in (*case.systems, *case.storage)])
        columns = np.tile(units[:, None], (1, len(items)))
        storage = columns[len(case.systems) :]
        for place, item in enumerate(items):
            storage[rows[item.id], place] = max(int(counts[place]), item.low)
        stores = sum_storage(case, storage)
        goodput = goodput_with(case, like, stores)
        fine: Flags = goodput > 0.0
        for _, unmet in unmet_needs(case, columns, stores):
            fine &= ~unmet
        least = self._least_goodput(like)
        return fine if least is None else fine & (goodput >= least)

    def _least_goodput(self, like: Run) -> float | None:
        """The least goodput with which the GPUs of a run do enough work, if that counts."""
        case, share = self.case, 1.0 - self.within - 1e-9
        if case.objective in RATIOS:
            hours = case.objective == "usd_per_useful_gpu_hour"
            rate = 1.0 if hours else self.chosen.tflops_per_gpu / like.tflops_per_gpu
            return share * self.chosen.useful_gpus / like.gpus * rate
        if not case.maximise or self.bound is None or case.objective == "gpus":
            return None
        pflops = like.tflops_per_gpu * (case.job.mfu or 0.0) / 1000.0
        return share * self.bound / like.gpus / (pflops if case.objective == "goodput" else 1.0)

    def _run(self, item: Storage, count: int, like: Run) -> Run | None:
        """The run on such a purchase if it serves the job and may be ordered."""
        case = self.case
        units = {**like.units, item.id: max(count, item.low)}
        if not is_orderable(case, units):
            return None
        named = {offer.id: units[offer.id] for offer in case.offers()}
        run = operate(case, like.mode, named, like.used, like.gpus, like.ways)
        if run is None or broken_limits(case, named, run.ways):
            return None
        return (
            run if meets_floors(case, run) and self.shortfall(run) <= self.within + 1e-9 else None
        )
