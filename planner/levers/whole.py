"""Levers of the whole cluster: site, budgets, targets, storage."""

from __future__ import annotations

from collections.abc import Iterator

from planner.inputs import Change, Inputs
from planner.levers.make import amount, bounded, given
from planner.levers.model import Lever
from planner.limits import BY_NAME, LIMITS, SUPPLIES, Limit, of_group
from planner.schema.problem import Site

_ANY_POWER_KW = 1e9


def cluster_levers(inputs: Inputs) -> Iterator[Lever]:
    """Yield the levers of site, budgets, targets and storage that the problem has."""
    site, storage = inputs.problem.site, inputs.problem.storage
    of_site = (each for each in SUPPLIES if each.path.startswith("site."))
    yield from given(inputs, *sorted(of_site, key=_place_in_file))
    if site.feeds is not None:
        path, label = "site.feeds.power", "power of a feed"
        yield bounded(inputs, path, label, "kW", 1, _ANY_POWER_KW, limit="facility_power")
    yield from _rack(inputs)
    yield from given(inputs, *(each for each in LIMITS if each.path.startswith("budget.")))
    yield from given(inputs, *of_group("target"), BY_NAME["lead_time"])
    if storage.fill_limit < 1.0:
        path, label = "storage.fill_limit", "storage fill limit"
        yield bounded(inputs, path, label, "share", 1, 1.0, limit="capacity")
    if storage.tolerate_down:
        path, label = "storage.tolerate_down", "appliances that may be down"
        yield bounded(inputs, path, label, "appliances", -1, 0)
    families = {item.family for item in inputs.items if item.category == "storage"}
    if storage.exact_families is None and storage.max_families < len(families):
        path, label = "storage.max_families", "storage families"
        yield bounded(inputs, path, label, "families", 1, len(families), least=1.0)


def _place_in_file(limit: Limit) -> int:
    """Return where the schema of a site has a limit."""
    keys = [field.alias or name for name, field in Site.model_fields.items()]
    return keys.index(limit.path.split(".")[1])


def _rack(inputs: Inputs) -> Iterator[Lever]:
    """Yield what a rack, and a product that is one, may draw."""
    rack, path = inputs.problem.site.rack, "site.rack.power"
    if rack is not None and rack.power_kw is not None:
        off = (Change(path, None, "null"),)
        yield amount(inputs, path, "power of a rack", "kW", 1, rack.power_kw, off)
    if rack is not None and rack.whole_rack_power_kw is not None:
        path, label = "site.rack.whole_rack_power", "power of a product that is a rack"
        yield bounded(inputs, path, label, "kW", 1, _ANY_POWER_KW)
