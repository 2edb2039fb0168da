"""Levers of the whole cluster: site, budgets, targets, storage."""

from __future__ import annotations

from collections.abc import Iterator

from planner.inputs import Inputs
from planner.levers.make import Row, bounded, optional
from planner.levers.model import Lever

_SITE: tuple[Row, ...] = (
    ("site.facility_power", "power at the meter", "kW", 1, "facility_power"),
    ("site.it_power", "IT power", "kW", 1, "it_power"),
    ("site.racks", "racks", "racks", 1, "racks"),
    ("site.cooling.air_limit", "heat to air", "kW", 1, "heat_air"),
    ("site.cooling.liquid_limit", "heat to liquid", "kW", 1, "heat_liquid"),
)
_RACK: tuple[Row, ...] = (("site.rack.power", "power of a rack", "kW", 1, ""),)
_BUDGET: tuple[Row, ...] = (
    ("budget.capex", "capital budget", "USD", 1, "capex"),
    ("budget.opex_per_year", "operating budget", "USD", 1, "opex"),
    ("budget.tco", "TCO budget", "USD", 1, "tco"),
    ("budget.support_per_year", "support budget", "USD", 1, "support"),
    ("budget.subscriptions_per_year", "subscription budget", "USD", 1, "subscriptions"),
    ("budget.energy_per_year", "energy budget", "USD", 1, "energy"),
    ("budget.colocation_per_year", "colocation budget", "USD", 1, "colocation"),
    ("budget.per_useful_gpu_hour", "money per useful GPU-hour", "USD", 1, "per_useful_gpu_hour"),
    ("budget.per_million_tokens", "money per million tokens", "USD", 1, "per_million_tokens"),
)
_TARGETS: tuple[Row, ...] = (
    ("targets.min_gpus", "least GPUs in use", "GPUs", -1, "min_gpus"),
    ("targets.min_goodput", "least goodput", "share", -1, "min_goodput"),
    ("targets.min_useful_gpus", "least useful GPUs", "number", -1, "min_useful_gpus"),
    ("targets.min_useful_pflops", "least useful PFLOP/s", "number", -1, "min_useful_pflops"),
    ("targets.max_days_to_train", "days to train", "days", 1, "max_days_to_train"),
    ("targets.max_lead_time", "longest lead time", "days", 1, "lead_time"),
)
_ANY_POWER_KW = 1e9


def cluster_levers(inputs: Inputs) -> Iterator[Lever]:
    """Yield the levers of site, budgets, targets and storage that the problem has."""
    yield from optional(inputs, _SITE)
    site, storage = inputs.problem.site, inputs.problem.storage
    if site.feeds is not None:
        yield bounded(inputs, "site.feeds.power", "power of a feed", "kW", 1, _ANY_POWER_KW,
                      limit="facility_power")  # fmt: skip
    if site.rack is not None:
        yield from optional(inputs, _RACK)
        if site.rack.whole_rack_power_kw is not None:
            path, label = "site.rack.whole_rack_power", "power of a product that is a rack"
            yield bounded(inputs, path, label, "kW", 1, _ANY_POWER_KW)
    yield from optional(inputs, _BUDGET)
    yield from optional(inputs, _TARGETS)
    if storage.fill_limit < 1.0:
        yield bounded(inputs, "storage.fill_limit", "storage fill limit", "share", 1, 1.0,
                      limit="capacity")  # fmt: skip
    if storage.tolerate_down:
        path, label = "storage.tolerate_down", "appliances that may be down"
        yield bounded(inputs, path, label, "appliances", -1, 0)
    families = {item.family for item in inputs.items if item.category == "storage"}
    if storage.exact_families is None and storage.max_families < len(families):
        path, label = "storage.max_families", "storage families"
        yield bounded(inputs, path, label, "families", 1, len(families), least=1.0)
