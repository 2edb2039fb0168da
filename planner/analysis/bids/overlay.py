"""The problem with offers as its supply: their products, counts and charges, its limits lifted."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from planner.analysis.bids.offers import LOTS, Offer
from planner.case import suitability
from planner.inputs import Inputs, applied
from planner.levers import Lever, levers
from planner.paths import job_path
from planner.schema.bill import BidCharge
from planner.schema.catalog import Item, Source
from planner.schema.prices import Discount, Price
from planner.schema.problem import Objective, Quantity

Counts = Mapping[str, Mapping[str, int | None]]
"""By lot: units of each product, None where free; other products of the lot are not bought."""
Prices = Mapping[str, tuple[Price, Offer]]
"""Offered prices by product, each with its bid."""
Charges = Sequence[tuple[Offer, BidCharge]]

_NO_LIMITS = (
    "storage.client_limit",
    "storage.tolerate_down",
    *map(
        job_path,
        (
            "checkpoint.stall",
            "checkpoint.local",
            "restore.restart",
            "restart.",
            "repair",
            "parallelism",
            "gpus.hot_spares",
            "gpus.per_system",
            "gpus.max_types",
        ),
    ),
)
"""Levers that define the job rather than limit it."""


def lot_counts(offer: Offer, category: str, inputs: Inputs, *, free: bool) -> dict[str, int | None]:
    """Return the units of a lot in place; with their cold spares they are the quoted units."""
    problem = inputs.problem
    found: dict[str, int | None] = {}
    for id_, product in offer.lot(category).items():
        owned = problem.items.get(id_, Quantity()).in_place
        share = 0.0 if product.item.components else problem.spares.get(product.item.category, 0.0)
        quoted = round(product.units)
        count = quoted + owned
        while count > owned and count + math.ceil(share * count - 1e-9) - owned > quoted:
            count -= 1
        found[id_] = None if free else count if count > owned else quoted + owned
    return found


def all_lots(offer: Offer, inputs: Inputs, *, free: bool) -> dict[str, dict[str, int | None]]:
    """Return the units of the lots that an offer has."""
    found = {category: lot_counts(offer, category, inputs, free=free) for category in LOTS}
    return {category: lot for category, lot in found.items() if lot}


def with_offers(inputs: Inputs, prices: Prices, lots: Counts, charges: Charges) -> Inputs:
    """Return the problem with offers as its supply.

    Args:
        inputs: the problem.
        prices: offered prices.
        lots: counts of the offered lots; other lots stay as they are.
        charges: charges on the order, each a service.
    """
    allowed = _allow_products(inputs, lots)
    problem = allowed.problem
    rules = dict(problem.items)
    for item in inputs.items:
        if item.category in lots:
            rules[item.id] = _rule(rules.get(item.id, Quantity()), item.id, lots[item.category])
    services = [_service(number, *each) for number, each in enumerate(charges, 1)]
    sold = {id_: price for id_, (price, _) in prices.items()}
    titles = {id_: offer.title for id_, (_, offer) in prices.items()}
    for item, (offer, charge) in zip(services, charges, strict=True):
        date = offer.quote.date or "0000"
        sold[item.id] = Price.model_construct(
            list_usd=charge.usd, date=date, source="quote", confidence="high"
        )
        titles[item.id] = offer.title
    net = (
        Discount.model_construct(discount=0.0, item=id_, vendor=None, category=None) for id_ in sold
    )
    quoted = {
        id_: {**inputs.price_sources.get(id_, {}), "quote": Source(title=title)}
        for id_, title in titles.items()
    }
    wanted = (*problem.services, *(item.id for item in services))
    return replace(
        allowed,
        problem=problem.model_copy(update={"items": rules, "services": wanted}),
        items=(*allowed.items, *services),
        prices={**inputs.prices, **sold},
        discounts=(*inputs.discounts, *net),
        price_sources={**inputs.price_sources, **quoted},
        price_books={**inputs.price_books, **titles},
    )


def _rule(rule: Quantity, id_: str, lot: Mapping[str, int | None]) -> Quantity:
    """The problem's rule of an item under a lot: its count fixed, or none bought."""
    if id_ not in lot:
        none = {"fixed": None, "min": None, "max": rule.in_place, "required": False}
        return rule.model_copy(update=none)
    if lot[id_] is None:
        return rule
    fixed = {"fixed": lot[id_], "min": None, "max": None, "required": False, "stock": None}
    return rule.model_copy(update=fixed)


def _service(number: int, offer: Offer, charge: BidCharge) -> Item:
    return Item.model_validate(
        {
            "id": f"bid_{offer.key.lower()}_{number}",
            "vendor": offer.quote.vendor,
            "model": charge.label or charge.kind,
            "category": "service",
            "service": {"per": "order"},
        }
    )


def _allow_products(inputs: Inputs, lots: Counts) -> Inputs:
    """The problem with offered products allowed in any number, whatever `objections` lists."""
    problem = inputs.problem
    offered = {id_ for lot in lots.values() for id_ in lot}
    fixed = {id_ for lot in lots.values() for id_, count in lot.items() if count is not None}
    items = [item for item in inputs.items if item.id in offered]
    families = [item.family for item in items if item.family is not None]
    vendors = [item.vendor for item in items]
    systems = [item.id for item in items if item.category == "gpu_system"]
    consider = problem.consider
    consider = consider.model_copy(
        update={
            "gpu_systems": _with(consider.gpu_systems, systems),
            "storage_families": _with(consider.storage_families, families),
            "vendors": _with(consider.vendors, vendors),
            "lifecycle": _with(consider.lifecycle, [item.lifecycle for item in items]),
        }
    )
    forbidden = tuple(each for each in problem.policy.forbid_vendors if each not in vendors)
    rules = {
        id_: rule.model_copy(update={"exclude": False}) if id_ in offered else rule
        for id_, rule in problem.items.items()
    }
    storage = problem.storage
    if fixed & lots.get("storage", {}).keys():
        most = max(storage.max_families, len(set(families)))
        storage = storage.model_copy(update={"max_families": most})
    policy = problem.policy.model_copy(update={"forbid_vendors": forbidden})
    changes = {"consider": consider, "policy": policy, "items": rules, "storage": storage}
    any_count = {"min_units": None, "max_units": None}
    held = {item.family for item in items if item.id in fixed}
    return replace(
        inputs,
        problem=problem.model_copy(update=changes),
        items=tuple(
            item.model_copy(update=any_count) if item.id in fixed else item for item in inputs.items
        ),
        families=tuple(
            family.model_copy(update={"max_units": None}) if family.id in held else family
            for family in inputs.families
        ),
    )


def _with(names: tuple[str, ...] | None, more: Sequence[str]) -> tuple[str, ...] | None:
    return None if names is None else tuple(dict.fromkeys((*names, *more)))


# Rules of the problem and vendors that an offer violates beside the limits of a plan.


def objections(inputs: Inputs, lots: Counts) -> Iterator[str]:
    """Yield why the problem, or a vendor, rules out offered products or counts."""
    problem = inputs.problem
    for category, lot in lots.items():
        for id_, count in lot.items():
            item = inputs.item(id_)
            unwanted = suitability.not_wanted(item, problem)
            if unwanted is not None:
                yield f"{item.model}: {unwanted}"
            if count is not None:
                spares = " beside spares" if problem.spare_share(id_, item.category) else ""
                rule = problem.items.get(id_, Quantity())
                yield from _out_of_bounds(item, f"{count:,} {item.model}{spares}", count, rule)
        for other in inputs.items:
            rule = problem.items.get(other.id, Quantity())
            if other.category == category and other.id not in lot and rule.least > rule.in_place:
                yield f"items.{other.id} asks for at least {rule.least}, none is offered"
    yield from _family_objections(inputs, lots.get("storage", {}))


def _family_objections(inputs: Inputs, lot: Mapping[str, int | None]) -> Iterator[str]:
    counts: dict[str | None, int] = {}
    for id_, count in lot.items():
        if count is not None:
            family = inputs.item(id_).family
            counts[family] = counts.get(family, 0) + count
    most = inputs.problem.storage.max_families
    if len(counts) > most:
        yield f"{len(counts)} storage families, at most {most} (storage.max_families)"
    for one in inputs.families:
        largest, units = one.max_units, counts.get(one.id, 0)
        if largest is not None and units > largest.value:
            yield f"{units:,} units in one {one.name}, and the vendor's limit is {largest.value:,}"


def _out_of_bounds(item: Item, offered: str, count: int, rule: Quantity) -> Iterator[str]:
    least, most = item.min_units, item.max_units
    bounds = (
        ("the vendor sells at least", None if least is None else least.value, operator.lt),
        ("the vendor's limit is", None if most is None else most.value, operator.gt),
        (f"items.{item.id}.min asks for", rule.min, operator.lt),
        (f"items.{item.id}.max allows", rule.max, operator.gt),
        (f"items.{item.id}.fixed asks for", rule.fixed, operator.ne),
    )
    for words, value, violates in bounds:
        if value is not None and violates(count, value):
            yield f"{offered}, and {words} {value:,}"


def missing_figures(inputs: Inputs, lots: Counts) -> Iterator[str]:
    """Yield the unknown figures of offered products."""
    for id_ in (id_ for lot in lots.values() for id_ in lot):
        item = inputs.item(id_)
        missing = suitability.missing_figure(item, inputs)
        if missing is not None:
            yield f"{item.model}: {missing}"


# Limits.


def limits_of(inputs: Inputs) -> list[Lever]:
    """Return the limits of a problem, counts of lots and the job's own facts excepted."""
    lots = {item.id for item in inputs.items if item.category in LOTS}
    return [
        lever
        for lever in levers(inputs)
        if not counts_one_of(lever, lots) and not lever.path.startswith(_NO_LIMITS)
    ]


def counts_one_of(lever: Lever, items: Collection[str]) -> bool:
    """Whether a lever is a limit on the count of one of some items."""
    return lever.path.startswith("items.") and lever.path.split(".")[1] in items


def without_limits(inputs: Inputs, lifted: Sequence[Lever]) -> Inputs:
    """Return the problem without some limits, with useful work as its objective."""
    loose = applied(inputs, [change for lever in lifted for change in lever.off])
    goal = loose.problem.objective
    if goal.maximize is None:
        goal = Objective(maximize="useful_gpus")
    most = goal.model_copy(update={"indifference": 0.0})
    return replace(loose, problem=loose.problem.model_copy(update={"objective": most}))
