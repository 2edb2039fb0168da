"""What each limit on the sheet ``Checks`` means in the problem file."""

from __future__ import annotations

from planner.audit.draft import Draft, EditError
from planner.inputs import changed
from planner.limits import COUNTED_IN, named, path_of


def set_limit(draft: Draft, name: str, value: float | None) -> None:
    """Set a limit of the problem; None removes it.

    Args:
        draft: the problem with edits.
        name: the limit's name in the plan.
        value: what is allowed now, in the limit's unit.

    Raises:
        EditError: the problem has no such limit, or it cannot be removed.
    """
    row = named(name)
    if not row.editable:
        raise EditError("this limit follows from a product or a rule and is no input")
    kind, path = name.partition(".")[0], path_of(name)
    if value is not None and row.file_unit in COUNTED_IN:
        value = round(value)
    if kind == "split" and value is None:
        value = 1.0
    draft.inputs = changed(draft.inputs, path, value)
    if name == "facility_power":  # what the feeds leave is the same limit
        draft.change("site", feeds=None)
    if row.name == "items.*.min" and value is None:
        draft.inputs = changed(draft.inputs, path.removesuffix("min") + "required", False)
    sku = name.partition(".")[2]
    price = draft.inputs.prices.get(sku)
    if kind == "stock" and value is None and price is not None:
        draft.set_price(sku, price.model_copy(update={"stock": None}))
