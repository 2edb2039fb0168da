"""The plan's sums, from the catalogs and the line quantities."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from planner.schema.catalog import Item
from planner.schema.plan import Plan
from planner.verify.bandwidth import gpus, total_nameplate_gb_per_s, usable_tb
from planner.verify.basis import Basis
from planner.verify.decisions import Decisions
from planner.verify.ledger import Ledger
from planner.verify.lines import BTU_PER_H_PER_KW
from planner.verify.racks import place

HOURS_PER_YEAR = 8760


@dataclass(frozen=True)
class TotalFigures:
    """The sums as re-computed, under the names the plan gives them; None is not known."""

    gpus: int
    gpus_used: int
    it_power_kw: float | None
    facility_power_kw: float | None
    heat_btu_per_h: float | None
    rack_units: float | None
    racks: float | None
    weight_kg: float | None
    capex_usd: float
    support_usd_per_year: float
    energy_usd_per_year: float | None
    opex_usd_per_year: float | None
    tco_usd: float | None
    read_gb_per_s: float
    write_gb_per_s: float
    usable_tb: float | None


def check_totals(ledger: Ledger, basis: Basis, decisions: Decisions, plan: Plan) -> TotalFigures:
    """Re-compute the totals, compare them, and return them.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        decisions: what the plan decided.
        plan: the plan to check.
    """
    figures = _totals(basis, decisions, plan)
    if plan.totals is None:
        ledger.fail("totals: missing")
        return figures
    for field in fields(TotalFigures):
        stated, computed = getattr(plan.totals, field.name), getattr(figures, field.name)
        ledger.same(f"totals.{field.name}", stated, computed)
    return figures


def _totals(basis: Basis, decisions: Decisions, plan: Plan) -> TotalFigures:
    counts = {sku: count for sku, count in decisions.counts.items() if count > 0}
    bought = [(basis.items[sku], count) for sku, count in counts.items()]
    storage = [(item, count) for item, count in bought if item.category == "storage"]
    # The lines' money is verified line by line; it knows which way half a cent went.
    lines = [line for line in plan.lines if line.parent is None]
    capex_usd = sum(line.extended_net_usd or 0.0 for line in lines)
    support_usd = sum(line.support_usd_per_year or 0.0 for line in lines)
    power_kw = _sum_known(_times(basis.unit_it_power_kw(item), n) for item, n in bought)
    energy_usd, opex_usd, tco_usd = _running_costs(basis, power_kw, capex_usd, support_usd)
    read, write = total_nameplate_gb_per_s(basis, counts)
    return TotalFigures(
        gpus=sum(gpus(item, count) for item, count in bought),
        gpus_used=decisions.gpus_used,
        it_power_kw=power_kw,
        facility_power_kw=_times(power_kw, basis.problem.site.pue),
        heat_btu_per_h=_times(power_kw, BTU_PER_H_PER_KW),
        rack_units=_sum_known(_times(basis.unit_rack_units(item), n) for item, n in bought),
        racks=_sum_known(_racks(basis, item, count) for item, count in bought),
        weight_kg=_sum_known(_times(basis.unit_weight_kg(item), n) for item, n in bought),
        capex_usd=capex_usd,
        support_usd_per_year=support_usd,
        energy_usd_per_year=energy_usd,
        opex_usd_per_year=opex_usd,
        tco_usd=tco_usd,
        read_gb_per_s=read,
        write_gb_per_s=write,
        usable_tb=_sum_known(usable_tb(item, count) for item, count in storage),
    )


def _running_costs(
    basis: Basis, power_kw: float | None, capex_usd: float, support_usd: float
) -> tuple[float | None, float | None, float | None]:
    """Return energy per year, opex per year and TCO in USD; without a term none is known."""
    term = basis.problem.term
    if term is None or power_kw is None:
        return None, None, None
    energy_kwh = power_kw * basis.problem.site.pue * HOURS_PER_YEAR
    energy_usd = energy_kwh * term.electricity_usd_per_kwh
    opex_usd = support_usd + energy_usd
    return energy_usd, opex_usd, capex_usd + term.years * opex_usd


def _racks(basis: Basis, item: Item, count: int) -> int | None:
    placement = place(basis, item)
    return None if placement is None else placement.racks_for(count)


def _times(figure: float | None, factor: float) -> float | None:
    return None if figure is None else figure * factor


def _sum_known(parts: Iterable[float | None]) -> float | None:
    total = 0.0
    for part in parts:
        if part is None:
            return None
        total += part
    return total
