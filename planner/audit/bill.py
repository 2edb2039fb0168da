"""The bill as the workbook lists it, against what the edited cluster needs."""

from __future__ import annotations

import math

from planner.audit.draft import Draft
from planner.case import Case, resolve
from planner.schema.audit import Shortage
from planner.schema.plan import Plan


def shortages(draft: Draft, edited: Plan) -> tuple[Shortage, ...]:
    """Return the lines whose count in the workbook is not what the edited cluster needs.

    Args:
        draft: the workbook's quantities.
        edited: the edited plan with the companions it needs.
    """
    needed = {line.sku: line.quantity for line in edited.lines if line.parent is None}
    models = {item.id: item.model for item in draft.inputs.items}
    return tuple(
        Shortage(
            sku=sku,
            model=models[sku],
            listed=draft.quantities.get(sku, 0),
            needed=needed.get(sku, 0),
        )
        for sku in dict.fromkeys((*draft.quantities, *needed))
        if draft.quantities.get(sku, 0) != needed.get(sku, 0)
    )


def sheet_capex_usd(draft: Draft) -> float:
    """Return what the bill costs with the counts in the workbook, cold spares as solved, USD."""
    case = resolve(draft.inputs)
    spares = {line.sku: line.spares for line in draft.plan.lines if line.parent is None}
    return math.fsum(_cost_usd(case, draft, sku, spares[sku]) for sku in draft.quantities)


def _cost_usd(case: Case, draft: Draft, sku: str, spares: int) -> float:
    good = next((good for good in case.goods() if good.id == sku), None)
    if good is None or good.unit_net_usd is None:
        return 0.0
    count = draft.quantities[sku]
    need = max(0, count + (spares if count else 0) - good.installed)
    packs = -(-need // good.pack) * good.pack
    return good.unit_net_usd * (max(packs, _least(good.min_order, good.pack)) if packs else 0)


def _least(order: int, pack: int) -> int:
    return -(-order // pack) * pack
