"""The plan's sums, from the catalogs and the line quantities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields

from planner.schema.catalog import Item
from planner.schema.plan import Line, Plan, Totals
from planner.verify.bandwidth import gpus, total_nameplate_gb_per_s, usable_tb
from planner.verify.basis import Basis
from planner.verify.companions import Companions
from planner.verify.consumption import BTU_PER_H_PER_KW
from planner.verify.decisions import Decisions
from planner.verify.ledger import Ledger
from planner.verify.running import running_costs


@dataclass(frozen=True)
class TotalFigures:
    """The sums as re-computed, under the names the plan gives them; None is not known."""

    gpus: int
    gpus_used: int
    it_power_kw: float | None
    facility_power_kw: float | None
    typical_power_kw: float | None
    heat_btu_per_h: float | None
    heat_air_kw: float | None
    heat_liquid_kw: float | None
    heat_air_btu_per_h: float | None
    heat_liquid_btu_per_h: float | None
    rack_units: float | None
    racks: float | None
    weight_kg: float | None
    capex_usd: float
    support_usd_per_year: float
    subscriptions_usd_per_year: float
    energy_usd_per_year: float | None
    colocation_usd_per_year: float | None
    opex_usd_per_year: float | None
    tco_usd: float | None
    read_gb_per_s: float
    write_gb_per_s: float
    usable_tb: float | None
    lead_time_days: float | None


def check_totals(
    ledger: Ledger, basis: Basis, decisions: Decisions, companions: Companions, plan: Plan
) -> TotalFigures:
    """Re-compute the totals, compare them, and return them.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        decisions: what the plan decided.
        companions: what must come with it.
        plan: the plan to check.
    """
    # The lines' money is verified line by line; it knows which way half a cent went.
    lines = [line for line in plan.lines if line.parent is None]
    figures = _totals(basis, decisions, companions, lines)
    if plan.totals is None:
        ledger.fail("totals: missing")
        return figures
    for field in fields(TotalFigures):
        stated, computed = getattr(plan.totals, field.name), getattr(figures, field.name)
        ledger.same(f"totals.{field.name}", stated, computed)
    _check_sections(ledger, plan.totals, lines)
    critical = [line.sku for line in lines if _is_critical(line, figures.lead_time_days)]
    ledger.equal("totals.critical_skus", sorted(plan.totals.critical_skus), sorted(critical))
    return figures


def _is_critical(line: Line, longest_days: float | None) -> bool:
    return line.purchased > 0 and longest_days is not None and line.lead_time_days == longest_days


def _check_sections(ledger: Ledger, stated: Totals, lines: Iterable[Line]) -> None:
    sums: dict[str, float] = {}
    for line in lines:
        sums[line.section] = sums.get(line.section, 0.0) + (line.extended_net_usd or 0.0)
    name = "totals.capex_by_section_usd"
    ledger.equal(name, sorted(stated.capex_by_section_usd), sorted(sums))
    for section, amount_usd in sums.items():
        ledger.same(f"{name}.{section}", stated.capex_by_section_usd.get(section), amount_usd)


def _totals(
    basis: Basis, decisions: Decisions, companions: Companions, lines: list[Line]
) -> TotalFigures:
    counts: Mapping[str, int] = {**decisions.standing, **companions.counts}
    everything = [(basis.items[sku], count) for sku, count in counts.items() if count > 0]
    cluster = [(basis.items[sku], count) for sku, count in decisions.counts.items() if count > 0]
    storage = [(item, count) for item, count in cluster if item.category == "storage"]

    def total(unit: Callable[[Item], float | None], share: Callable[[Item], float]) -> float | None:
        return _sum_known(_times(unit(item), n * share(item)) for item, n in everything)

    power_kw = total(basis.unit_it_power_kw, _all)
    air_kw = total(basis.unit_it_power_kw, lambda item: 1 - basis.liquid_share(item))
    liquid_kw = total(basis.unit_it_power_kw, basis.liquid_share)
    money = running_costs(basis, lines, everything, power_kw)
    read, write = total_nameplate_gb_per_s(basis, decisions.counts)
    lead_times = [
        price.lead_time_days
        for line in lines
        if line.purchased > 0 and (price := basis.prices.get(line.sku)) is not None
    ]
    return TotalFigures(
        gpus=sum(gpus(item, count) for item, count in cluster),
        gpus_used=decisions.gpus_used,
        it_power_kw=power_kw,
        facility_power_kw=total(basis.unit_it_power_kw, basis.pue),
        typical_power_kw=total(basis.unit_typical_power_kw, _all),
        heat_btu_per_h=_times(power_kw, BTU_PER_H_PER_KW),
        heat_air_kw=air_kw,
        heat_liquid_kw=liquid_kw,
        heat_air_btu_per_h=_times(air_kw, BTU_PER_H_PER_KW),
        heat_liquid_btu_per_h=_times(liquid_kw, BTU_PER_H_PER_KW),
        rack_units=total(basis.unit_rack_units, _all),
        racks=_racks(companions),
        weight_kg=total(basis.unit_weight_kg, _all),
        **vars(money),
        read_gb_per_s=read,
        write_gb_per_s=write,
        usable_tb=_sum_known(usable_tb(item, count) for item, count in storage),
        lead_time_days=max((days for days in lead_times if days is not None), default=None),
    )


def _all(_item: Item) -> float:
    return 1.0


def _racks(companions: Companions) -> int | None:
    if not companions.room.complete:
        return None
    return sum(each.racks for each in companions.room.sets)


def _times(figure: float | None, factor: float) -> float | None:
    return None if figure is None else figure * factor


def _sum_known(parts: Iterable[float | None]) -> float | None:
    total = 0.0
    for part in parts:
        if part is None:
            return None
        total += part
    return total
