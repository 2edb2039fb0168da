"""What each limit on the sheet ``Checks`` means in the problem file."""

from __future__ import annotations

from planner.audit.draft import Draft, EditError
from planner.schema.problem import Quantity

_PARTS = {
    "it_power": ("site", "it_power_kw"),
    "racks": ("site", "racks"),
    "capex": ("budget", "capex_usd"),
    "opex": ("budget", "opex_usd_per_year"),
    "tco": ("budget", "tco_usd"),
    "support": ("budget", "support_usd_per_year"),
    "subscriptions": ("budget", "subscriptions_usd_per_year"),
    "energy": ("budget", "energy_usd_per_year"),
    "colocation": ("budget", "colocation_usd_per_year"),
    "per_useful_gpu_hour": ("budget", "per_useful_gpu_hour_usd"),
    "per_million_tokens": ("budget", "per_million_tokens_usd"),
    "lead_time": ("targets", "max_lead_time_days"),
    "min_gpus": ("targets", "min_gpus"),
    "min_goodput": ("targets", "min_goodput"),
    "min_useful_gpus": ("targets", "min_useful_gpus"),
    "min_useful_pflops": ("targets", "min_useful_pflops"),
    "max_days_to_train": ("targets", "max_days_to_train"),
}
_COUNTS = ("racks", "min_gpus")


def set_limit(draft: Draft, name: str, value: float | None) -> None:
    """Set a limit of the problem; None removes it.

    Args:
        draft: the problem with edits.
        name: the limit's name in the plan.
        value: what is allowed now, in the limit's unit.

    Raises:
        EditError: the problem has no such limit, or it cannot be removed.
    """
    kind, _, rest = name.partition(".")
    whole = None if value is None else round(value)
    if name in _PARTS:
        part, field = _PARTS[name]
        draft.change(part, **{field: whole if name in _COUNTS else value})
    elif name == "facility_power":
        draft.change("site", facility_power_kw=value, feeds=None)
    elif name in ("heat_air", "heat_liquid"):
        field = "air_limit_kw" if name == "heat_air" else "liquid_limit_kw"
        cooling = draft.problem.site.cooling.model_copy(update={field: value})
        draft.change("site", cooling=cooling)
    elif name in ("gpus_min", "gpus_max"):
        draft.change_job("gpus", **{name.removeprefix("gpus_"): whole})
    elif kind == "items":
        sku, _, field = rest.rpartition(".")
        _set_item(draft, sku, **{field: whole})
        if field == "min" and whole is None:
            _set_item(draft, sku, required=False)
    elif kind == "stock":
        _set_item(draft, rest, stock=whole)
        price = draft.inputs.prices.get(rest)
        if whole is None and price is not None:
            draft.set_price(rest, price.model_copy(update={"stock": None}))
    elif kind == "split":
        _set_split(draft, int(rest), 1.0 if value is None else value)
    else:
        raise EditError("this limit follows from a product or a rule and is no input")


def _set_item(draft: Draft, sku: str, **changes: object) -> None:
    own = draft.problem.items.get(sku, Quantity()).model_copy(update=changes)
    draft.change_problem(items={**draft.problem.items, sku: own})


def _set_split(draft: Draft, place: int, share: float) -> None:
    splits = list(draft.problem.policy.split)
    splits[place] = splits[place].model_copy(update={"max_share": share})
    draft.change("policy", split=tuple(splits))
