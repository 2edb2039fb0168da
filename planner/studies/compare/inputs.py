"""The inputs of a plan that are compared: site, objective, job, limits, prices, what was set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from planner.outputs import scope
from planner.outputs.words import product
from planner.schema.plan import Assumption, LimitReport, Line, Plan
from planner.studies.compare.figures import Figure, Scalar, of_job

_ORIGIN, _SITE, _JOB = "Where it comes from", "Site and objective", "Job and assumptions"
_LIMITS, _PRICES = "What is allowed", "Prices"

_COMPUTED = frozenset({"drain_fits", "capacity", "ingest", "endurance", "rule_read", "rule_write",
                       "facility_power", "it_power", "racks"})  # fmt: skip
"""Limits whose bound follows from the plan, or is one of the site."""

_OF_PRODUCTS = ("min_units.", "max_units.", "family_max_units.", "stock.", "hot_spares.")
"""How limits begin that a plan has because of what it buys."""

_OF_SITE = frozenset({"pue", "pue.air", "pue.liquid", "electricity", "years",
                      "delivered_fraction.write", "delivered_fraction.read"})  # fmt: skip
"""Assumptions that the site states too, also where there is no plan."""


def _of_site(name: str, label: str, unit: str) -> Figure:
    def read(plan: Plan) -> Any:
        return getattr(plan.site, name)

    return Figure(f"site.{name}", _SITE, label, unit, read)


def _rule(plan: Plan) -> str | None:
    """Return which rule sizes storage, as the plan's limits say."""
    rules = [limit.label for limit in plan.limits if limit.name == "rule_read"]
    sized_by = rules[0].removesuffix(", read") if rules else "what the job needs"
    return sized_by if plan.jobs else None


def _objective(plan: Plan) -> str:
    return f"{plan.objective.sense} {plan.objective.name.replace('_', ' ')}"


_FIXED: tuple[Figure, ...] = (
    Figure("problem", _ORIGIN, "problem", "", lambda plan: plan.problem),
    Figure("scenario", _ORIGIN, "scenario", "", lambda plan: plan.provenance.scenario or "none"),
    Figure("overrides", _ORIGIN, "set for the run", "",
           lambda plan: ", ".join(plan.provenance.overrides) or "nothing"),
    Figure("catalogs", _ORIGIN, "catalogs", "", lambda plan: ", ".join(plan.provenance.catalogs)),
    Figure("price_books", _ORIGIN, "price books", "",
           lambda plan: ", ".join(plan.provenance.price_books)),
    Figure("objective", _SITE, "objective", "", _objective),
    _of_site("facility_power_limit_kw", "power at the meter, at most", "kW"),
    _of_site("it_power_limit_kw", "IT power, at most", "kW"),
    _of_site("racks_limit", "racks, at most", ""),
    _of_site("pue", "PUE", ""),
    _of_site("pue_liquid", "PUE of what heats a liquid", ""),
    _of_site("years", "term in years", ""),
    _of_site("electricity_usd_per_kwh", "price of electricity", "USD/kWh"),
    _of_site("colocation_usd_per_kw_month", "colocation", "USD/kW and month"),
    _of_site("discount_rate", "discount rate", "share"),
    _of_site("energy_basis", "energy counted at which draw", ""),
    _of_site("delivered_fraction_read", "delivered share of nameplate read", "share"),
    _of_site("delivered_fraction_write", "delivered share of nameplate write", "share"),
    _of_site("fill_limit", "storage filled, at most", "share"),
    Figure("rule", _JOB, "storage sized by", "", _rule),
    of_job("mode", _JOB, "checkpoints", ""),
    of_job("interval_policy", _JOB, "interval chosen", ""),
    of_job("writers", _JOB, "who writes checkpoints", ""),
    of_job("readers", _JOB, "who reads restores", ""),
    of_job("fan_out_kind", _JOB, "how restores are read", ""),
    of_job("replica_gpus", _JOB, "GPUs that hold one replica", ""),
    of_job("bytes_per_parameter", _JOB, "bytes per parameter", ""),
    of_job("active_parameters", _JOB, "active parameters", ""),
    of_job("tokens", _JOB, "tokens", ""),
    of_job("mfu", _JOB, "model FLOP/s utilisation", "share"),
    of_job("drain_slowdown", _JOB, "slower while storage drains, by", "share"),
    of_job("checkpoints_held", _JOB, "checkpoints held", ""),
    of_job("other_data_tb", _JOB, "data besides checkpoints", "TB"),
    of_job("hot_spare_systems", _JOB, "hot spares", "systems"),
    of_job("tolerate_down", _JOB, "appliances that may be down", ""),
)  # fmt: skip


def input_figures(plans: Sequence[Plan]) -> tuple[Figure, ...]:
    """Return every input that one of these plans has.

    Args:
        plans: the plans to compare; of those that have no bill only the site is known.
    """
    return (*_FIXED, *_assumptions(plans), *_limits(plans), *_prices(plans))


def _assumptions(plans: Sequence[Plan]) -> Iterator[Figure]:
    """Yield the assumptions: of the problem all, of products those that every bill has.

    What is assumed of a product that only one plan buys differs because of the purchase.
    """
    planned = [{entry.name: entry for entry in plan.assumptions} for plan in plans if plan.jobs]
    products = {line.sku for plan in plans for line in plan.lines}
    for name, entry in {name: e for each in planned for name, e in each.items()}.items():
        everywhere = all(name in each for each in planned)
        if name not in _OF_SITE and (everywhere or name.split(".")[0] not in products):
            yield Figure(f"assumptions.{name}", _JOB, entry.label, entry.unit, _assumed(name))


def _assumed(name: str) -> Any:
    def read(plan: Plan) -> Scalar:
        found: Assumption | None = next((e for e in plan.assumptions if e.name == name), None)
        return None if found is None else found.value

    return read


def _limits(plans: Sequence[Plan]) -> Iterator[Figure]:
    """Yield what the limits of the problem allow."""
    reports = {limit.name: limit for plan in plans for limit in plan.limits}
    for name, limit in reports.items():
        if name not in _COMPUTED and not name.startswith(_OF_PRODUCTS):
            yield Figure(f"limits.{name}", _LIMITS, _bound(limit), limit.unit, _allowed(name))


def _bound(limit: LimitReport) -> str:
    """Return what a limit asks, in words; that of an item says so itself."""
    if limit.name.startswith("items."):
        return limit.label
    words = "exactly" if limit.exact else "at most" if limit.sense == "<=" else "at least"
    return f"{limit.label}, {words}"


def _allowed(name: str) -> Any:
    def read(plan: Plan) -> Scalar:
        return next((limit.limit for limit in plan.limits if limit.name == name), None)

    return read


def _prices(plans: Sequence[Plan]) -> Iterator[Figure]:
    """Yield the net prices of what every bill holds."""
    bills = [{line.sku: line for line in scope.own_lines(plan)} for plan in plans if plan.jobs]
    shared = set.intersection(*(set(bill) for bill in bills)) if bills else set()
    for sku, line in bills[0].items() if bills else ():
        if sku in shared:
            yield Figure(f"prices.{sku}", _PRICES, f"net price of {product(line)}", "USD",
                         _price(sku))  # fmt: skip


def _price(sku: str) -> Any:
    def read(plan: Plan) -> Scalar:
        found: Line | None = next((e for e in scope.own_lines(plan) if e.sku == sku), None)
        return None if found is None else found.unit_net_usd

    return read
