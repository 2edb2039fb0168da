"""A purchase in whole numbers: read from the solver's values and checked against its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.case import Case
from planner.case.bandwidth import nameplate
from planner.optimizer import costs
from planner.optimizer.context import Build

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Purchase:
    """Whole units bought, systems in use by type, and GPUs in use."""

    units: dict[str, int]
    used: dict[str, int]
    gpus: int


def read(build: Build, values: Mapping[str, float]) -> Purchase:
    """Return the purchase in the solver's values; whole numbers are rounded, never cut off."""
    units: dict[str, int] = {}
    for (item, _, _), variable in build.counts.items():
        units[item] = units.get(item, 0) + round(values[variable.name])
    used = {k: round(values[v.name]) for k, v in build.used.items() if round(values[v.name]) > 0}
    gpus = sum(system.gpus * used.get(system.id, 0) for system in build.case.systems)
    if build.case.job.whole_replicas:
        assert build.case.job.replica_gpus is not None
        gpus = round(values[build.gpus.name] / build.case.job.replica_gpus)
        gpus *= build.case.job.replica_gpus
    return Purchase(units, used, gpus)


def purchased(case: Case, units: Mapping[str, int]) -> dict[str, int]:
    """Return what must be bought beyond what is installed."""
    return {offer.id: max(0, units[offer.id] - offer.installed) for offer in case.offers()}


def capex_usd(case: Case, units: Mapping[str, int]) -> float:
    """Return the money spent, USD."""
    return costs.amount(costs.capex_usd(case, purchased(case, units)))


def tco_usd(case: Case, units: Mapping[str, int]) -> float:
    """Return the money spent over the term, USD."""
    return costs.amount(costs.tco_usd(case, units, purchased(case, units)))


def opex_usd_per_year(case: Case, units: Mapping[str, int]) -> float:
    """Return support and energy, USD per year."""
    return costs.amount(costs.opex_usd_per_year(case, units, purchased(case, units)))


def it_power_kw(case: Case, units: Mapping[str, int]) -> float:
    """Return the IT power, kW."""
    return costs.amount(costs.it_power_kw(case, units))


def racks(case: Case, units: Mapping[str, int]) -> int:
    """Return the racks taken; items without rack data take none."""
    return sum(o.rack_use.racks(units[o.id]) for o in case.offers() if o.rack_use is not None)


def broken_rows(case: Case, units: Mapping[str, int]) -> list[str]:
    """Return the names of the model's rows that the whole numbers break."""
    limits = case.limits
    checks = (
        ("it_power", it_power_kw, limits.it_power_kw),
        ("racks", racks, limits.racks),
        ("capex", capex_usd, limits.capex_usd),
        ("opex_per_year", opex_usd_per_year, limits.opex_usd_per_year),
        ("tco", tco_usd, limits.tco_usd),
    )
    broken = [
        name
        for name, measure, limit in checks
        if limit is not None and measure(case, units) > limit * (1 + TOLERANCE)
    ]
    usable = sum(item.usable_tb * units[item.id] for item in case.storage)
    if usable < case.job.capacity_needed_tb * (1 - TOLERANCE):
        broken.append("capacity")
    return broken + _broken_rules(case, units)


def _broken_rules(case: Case, units: Mapping[str, int]) -> list[str]:
    rule = case.rule
    if rule is None:
        return []
    gpus = sum(system.gpus * units[system.id] for system in case.systems)
    groups = gpus if rule.per_gpus == 1 else -(-gpus // rule.per_gpus)
    plates = [nameplate(item, units[item.id]) for item in case.storage if units[item.id]]
    read_gb_per_s, write_gb_per_s = (sum(plate[side] for plate in plates) for side in (0, 1))
    broken = []
    if read_gb_per_s < groups * rule.read_gb_per_s * (1 - TOLERANCE):
        broken.append("rule_read")
    if write_gb_per_s < groups * rule.write_gb_per_s * (1 - TOLERANCE):
        broken.append("rule_write")
    return broken
