"""Which storage families the catalogs hold: of which vendor, and which differ in software alone."""

from __future__ import annotations

from planner.case.figures import why_not
from planner.inputs import Inputs, demanded
from planner.schema.catalog import Family, Item

_MOST_REASONS = 2


def families_in_use(inputs: Inputs) -> tuple[Family, ...]:
    """Return the families that have products in the catalogs, by id."""
    named = {item.family for item in inputs.items if item.category == "storage"}
    families = (family for family in inputs.families if family.id in named)
    return tuple(sorted(families, key=lambda family: family.id))


def by_vendor(inputs: Inputs) -> dict[str, tuple[str, ...]]:
    """Return the ids of the families of each vendor, by the vendor's name."""
    families = families_in_use(inputs)
    vendors = sorted({family.vendor for family in families}, key=str.casefold)
    return {
        vendor: tuple(family.id for family in families if family.vendor == vendor)
        for vendor in vendors
    }


def variants(inputs: Inputs) -> tuple[tuple[Family, Family], ...]:
    """Return pairs of families of one vendor: plain, and the same hardware with faster clients.

    What a client can move is a matter of software. A family is a variant of a plain one where each
    of its products gives and takes what some product of the plain family does.
    """
    families = families_in_use(inputs)
    return tuple(
        (plain, variant)
        for variant in families
        for plain in families
        if variant.client_factor is not None
        and plain.client_factor is None
        and plain.vendor == variant.vendor
        and _hardware(inputs, variant) <= _hardware(inputs, plain)
    )


def _hardware(inputs: Inputs, family: Family) -> frozenset[str]:
    """Return what each product of a family gives and takes, as texts that can be compared."""
    return frozenset(_figures(item) for item in inputs.items if item.family == family.id)


def _figures(item: Item) -> str:
    parts = {"provides", "consumes", "sizes", "components"}
    return item.model_dump_json(include=parts, exclude_none=True)


def allowed(inputs: Inputs, families: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of the families that the problem considers."""
    considered = inputs.problem.consider.storage_families
    return tuple(name for name in families if considered is None or name in considered)


def why_none(inputs: Inputs, families: tuple[str, ...]) -> str | None:
    """Return why no plan can have storage of these families alone, or None where one may."""
    kept = allowed(inputs, families)
    if not kept:
        return "the problem does not consider it (consider.storage_families)"
    storage = [item for item in inputs.items if item.category == "storage"]
    for item in storage:
        if demanded(inputs.problem, item.id) and item.family not in kept:
            return f"the problem asks for {item.model}, which is other storage"
    reasons = [why_not(item, inputs) for item in storage if item.family in kept]
    if None not in reasons:
        told = sorted({reason for reason in reasons if reason is not None})
        return f"none of it can be planned: {'; '.join(told[:_MOST_REASONS])}"
    return None
