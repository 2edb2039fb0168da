"""The bill as the workbook lists it, against what the edited cluster needs."""

from __future__ import annotations

import math

from planner.audit.draft import Draft
from planner.case import Case
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


def sheet_capex_usd(draft: Draft, case: Case) -> float:
    """Return what the bill costs with the counts in the workbook, cold spares as solved, USD.

    Args:
        draft: the workbook's quantities.
        case: the edited problem.
    """
    items = {item.id: item for item in case.bill_items()}
    costs = []
    for line in draft.plan.lines:
        count = draft.working(line.sku) if line.parent is None else 0
        parts = line.quantity == 0 and line.parent is None  # in store, whatever is in place
        if (count or parts) and line.sku in items:  # without the thing itself no spares are bought
            item = items[line.sku]
            bought = item.ordered(count + line.spares - item.installed)
            costs.append((item.unit_net_usd or 0.0) * bought)
    return math.fsum(costs)
