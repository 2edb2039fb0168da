"""What a workbook carries beside a plan so that its figures follow an edit.

How many switches, cables, racks and the like a plan needs with more or fewer units than it has:
exact at the steps that are worked out, each with a bill of its own; what lies between them is left
to whoever reads them. And what each way of running the job draws and does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Literal, TypeVar

from planner.assemble.ways import way_table
from planner.case import Case, resolve
from planner.case.model import Offer
from planner.case.resolve import with_companions
from planner.errors import InputError
from planner.inputs import Inputs
from planner.optimizer.purchase import PurchaseSums, bill
from planner.schema.live import SHARED_RACKS, Growth, Live
from planner.schema.plan import Line, Plan

_SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
_CLOSE = (1, 2, 4, 8, 16)
"""Steps that are worked out, to either side: so many units, and these shares of the units there."""

OfferT = TypeVar("OfferT", bound=Offer)


def enlarged(inputs: Inputs, counts: Mapping[str, int]) -> Case:
    """Return a case without limits on sums, its fabrics as large as these counts need.

    Fabrics are worked out only as far as limits let a plan grow; an edited one may go further.

    Args:
        inputs: the problem.
        counts: the units in the cluster, by item.
    """
    case = resolve(inputs)

    def grown(offer: OfferT) -> OfferT:
        return replace(offer, low=counts.get(offer.id, 0), high=counts.get(offer.id, 0))

    def there(offer: Offer) -> bool:
        return offer.id in counts or offer.installed > 0

    larger = replace(
        case,
        limits=replace(case.limits, **dict.fromkeys(f.name for f in fields(case.limits))),
        systems=tuple(grown(system) for system in case.systems if there(system)),
        storage=tuple(grown(item) for item in case.storage if there(item)),
    )
    return replace(case, companions=with_companions(inputs, larger).companions)


def live(inputs: Inputs, plan: Plan) -> Live:
    """Return what the workbook of a plan carries for its figures to follow."""
    return Live(growth=growth(inputs, plan), ways=way_table(inputs, plan))


def growth(inputs: Inputs, plan: Plan) -> tuple[Growth, ...]:
    """Return how a plan's companions grow with its GPU systems and with its storage.

    Nothing where the plan has no companions.

    Args:
        inputs: what the plan was made from.
        plan: the plan.
    """
    lines = [line for line in plan.lines if line.parent is None]
    core = {line.sku: line.working for line in lines if line.section in ("Compute", "Storage")}
    others = [line for line in lines if line.sku not in core]
    if not plan.jobs or not others:
        return ()
    try:
        case = enlarged(inputs, {sku: 2 * count + max(_CLOSE) for sku, count in core.items()})
    except InputError:  # a fabric cannot be that large: as far as the plan goes
        case = enlarged(inputs, core)
    solved = {offer.id: core.get(offer.id, 0) for offer in case.offers()}
    ways = plan.jobs[0].way_ids
    found = (
        _growth(case, ways, solved, "gpu_systems", case.systems, others),
        _growth(case, ways, solved, "storage", case.storage, others),
    )
    return tuple(each for each in found if each is not None)


def _growth(
    case: Case,
    ways: tuple[str, ...],
    solved: Mapping[str, int],
    kind: Literal["gpu_systems", "storage"],
    offers: Sequence[Offer],
    lines: list[Line],
) -> Growth | None:
    """Return how companions grow with one kind of offers, None where none of it is there."""
    there = [offer.id for offer in offers if solved[offer.id]]
    if not there:
        return None
    largest = max(there, key=lambda sku: (solved[sku], sku))
    found: dict[int, Mapping[str, int]] = {}
    for step in _steps(solved[largest]):
        counts = _counts(case, ways, {**solved, largest: solved[largest] + step}, lines)
        if counts is not None:
            found[step] = counts
    names = [name for name in found[0] if len({found[step][name] for step in found}) > 1]
    if len(found) < 2 or not names:
        return None
    return Growth(
        of=kind,
        skus=tuple(there),
        units=sum(solved[sku] for sku in there),
        steps=tuple(sorted(found)),
        counts={name: tuple(found[step][name] for step in sorted(found)) for name in names},
    )


def _steps(units: int) -> list[int]:
    """Return the steps to try: each way so many units or such a share, and down to none at all."""
    each = {*_CLOSE, *(round(share * units) for share in _SHARES)} - {0}
    return sorted({0, -units, *each, *(-step for step in each if step < units)})


def _counts(
    case: Case, ways: tuple[str, ...], units: Mapping[str, int], lines: list[Line]
) -> dict[str, int] | None:
    """Return the count of every companion, None where a fabric cannot be that large."""
    try:
        spent = bill(case, units, ways)
    except ValueError:
        return None
    counts = {line.sku: round(spent.counts[line.sku]) for line in lines}
    return {**counts, SHARED_RACKS: round(spent["racks"]) - sum(_own_racks(case, spent, lines))}


def _own_racks(case: Case, spent: PurchaseSums, lines: list[Line]) -> Iterator[int]:
    """Yield the racks that stand in lines of the bill."""
    for offer in case.offers():
        if offer.rack_use is not None:
            yield offer.rack_use.racks(round(spent.counts[offer.place]))
    for line in lines:
        yield round(spent.counts.get(f"racks.{line.sku}", 0.0))


__all__ = ["enlarged", "growth", "live"]
