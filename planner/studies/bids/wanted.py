"""Objections to offers beyond the limits of a plan, and the problem with its limits lifted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from planner.case import suitability
from planner.inputs import Inputs, applied
from planner.levers import Lever, levers
from planner.paths import job_path
from planner.schema.catalog import Item
from planner.schema.problem import Objective, Quantity
from planner.studies.bids.tenders import LOTS, Counts

_FACTS = (
    *("storage.client_limit", "storage.tolerate_down"),
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
"""Levers that are no limits but what figures follow from: a plan without them is another job's."""

# What an offer goes against that is no limit of a plan: it is let in, and said.


def objections(inputs: Inputs, lots: Counts) -> Iterator[str]:
    """Yield why the problem, or a vendor, rules out products of the offers or their counts."""
    problem = inputs.problem
    for category, lot in lots.items():
        for sku, count in lot.items():
            item = inputs.item(sku)
            unwanted = suitability.not_wanted(item, problem)
            if unwanted is not None:
                yield f"{item.model}: {unwanted}"
            if count is not None:
                spares = " beside spares" if problem.spare_share(sku, item.category) else ""
                rule = problem.items.get(sku, Quantity())
                yield from _out_of_bounds(item, f"{count:,} {item.model}{spares}", count, rule)
        for other in inputs.items:
            rule = problem.items.get(other.id, Quantity())
            if other.category == category and other.id not in lot and rule.least > rule.in_place:
                yield f"items.{other.id} asks for at least {rule.least}, none is offered"
    yield from _families(inputs, lots.get("storage", {}))


def _families(inputs: Inputs, lot: Mapping[str, int | None]) -> Iterator[str]:
    """Yield where a lot of storage has more file systems, or more units in one, than can be."""
    counts: dict[str | None, int] = {}
    for sku, count in lot.items():
        if count is not None:
            family = inputs.item(sku).family
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
    for words, value, wrong in (
        ("the vendor sells at least", None if least is None else least.value, -1),
        ("the vendor's limit is", None if most is None else most.value, 1),
        (f"items.{item.id}.min asks for", rule.min, -1),
        (f"items.{item.id}.max allows", rule.max, 1),
        (f"items.{item.id}.fixed asks for", rule.fixed, 0),
    ):
        if value is not None and (count != value if wrong == 0 else wrong * (count - value) > 0):
            yield f"{offered}, and {words} {value:,}"


def allow_products(inputs: Inputs, lots: Counts) -> Inputs:
    """Return the problem with the offered products allowed in any number."""
    problem = inputs.problem
    consider, policy = problem.consider, problem.policy
    rules = dict(problem.items)
    mine = {sku for lot in lots.values() for sku in lot}
    fixed = {sku for lot in lots.values() for sku, count in lot.items() if count is not None}
    offers = [item for item in inputs.items if item.id in mine]
    systems = [item.id for item in offers if item.category == "gpu_system"]
    families = [item.family for item in offers if item.family is not None]
    vendors = [item.vendor for item in offers]
    lifecycles = [item.lifecycle for item in offers]
    consider = consider.model_copy(update={
        "gpu_systems": _with(consider.gpu_systems, systems),
        "storage_families": _with(consider.storage_families, families),
        "vendors": _with(consider.vendors, vendors),
        "lifecycle": _with(consider.lifecycle, lifecycles),
    })  # fmt: skip
    forbidden = tuple(vendor for vendor in policy.forbid_vendors if vendor not in vendors)
    policy = policy.model_copy(update={"forbid_vendors": forbidden})
    for sku in mine & rules.keys():
        rules[sku] = rules[sku].model_copy(update={"exclude": False})
    storage = problem.storage
    if fixed & lots.get("storage", {}).keys():
        most = max(storage.max_families, len(set(families)))
        storage = storage.model_copy(update={"max_families": most})
    changes = {"consider": consider, "policy": policy, "items": rules, "storage": storage}
    free = {"min_units": None, "max_units": None}
    items = tuple(item.model_copy(update=free) if item.id in fixed else item
                  for item in inputs.items)  # fmt: skip
    mine_too = {item.family for item in offers if item.id in fixed}
    held = tuple(family.model_copy(update={"max_units": None}) if family.id in mine_too else family
                 for family in inputs.families)  # fmt: skip
    changed = problem.model_copy(update=changes)
    return replace(inputs, problem=changed, items=items, families=held)


def _with(names: tuple[str, ...] | None, more: Sequence[str]) -> tuple[str, ...] | None:
    return None if names is None else tuple(dict.fromkeys((*names, *more)))


def missing_figures(inputs: Inputs, lot: Mapping[str, int | None]) -> Iterator[str]:
    """Yield what is not known of products that are offered."""
    for sku in lot:
        item = inputs.item(sku)
        missing = suitability.missing_figure(item, inputs)
        if missing is not None:
            yield f"{item.model}: {missing}"


# Limits that are broken: a plan without them, held against them.


def movable(inputs: Inputs) -> list[Lever]:
    """Return every limit of a problem but the counts of lots, which are given.

    What figures of the job follow from is none.
    """
    lots = {item.id for item in inputs.items if item.category in LOTS}
    return [lever for lever in levers(inputs)
            if not is_of(lever, lots) and not lever.path.startswith(_FACTS)]  # fmt: skip


def is_of(lever: Lever, skus: Collection[str]) -> bool:
    """Say whether a limit is one on the count of some products."""
    return lever.path.startswith("items.") and lever.path.split(".")[1] in skus


def loosened(inputs: Inputs, given_up: Sequence[Lever]) -> Inputs:
    """Return the problem without some limits, for as much useful work as there can be.

    Args:
        inputs: the problem with every count of a lot given.
    """
    loose = applied(inputs, [change for lever in given_up for change in lever.off])
    goal = loose.problem.objective
    if goal.maximize is None:
        goal = Objective(maximize="useful_gpus")
    most = goal.model_copy(update={"indifference": 0.0})
    return replace(loose, problem=loose.problem.model_copy(update={"objective": most}))
