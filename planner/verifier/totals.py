"""Sums over the bill, money over the term, and cost per useful work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.figures import STATED
from planner.schema.catalog import Item
from planner.schema.plan import Line, Plan
from planner.verifier.basis import BTU_PER_H_PER_KW, Basis, present_years
from planner.verifier.bill import Bill, gpus
from planner.verifier.job import HOURS_PER_YEAR
from planner.verifier.ledger import Ledger


def check_totals(
    ledger: Ledger, basis: Basis, plan: Plan, bill: Bill, figures: Mapping[str, Any], used: int
) -> dict[str, Any]:
    """Recompute and compare the totals; return them by name."""
    lines = [line for line in plan.lines if line.parent is None]
    own = _sums(basis, bill) | {"gpus_used": used}
    own |= _money(basis, lines, own)
    own |= _ratios(basis, own["tco_usd"], figures)
    days = [line.lead_time_days for line in lines if line.purchased > 0]
    longest = max((each for each in days if each is not None), default=None)
    own["lead_time_days"] = longest
    sections: dict[str, float] = {}
    for line in lines:
        paid = line.extended_net_usd or 0.0
        sections[line.section] = sections.get(line.section, 0.0) + paid
    if plan.totals is None:
        ledger.fail("totals: missing")
        return own
    names = type(plan.totals).model_fields
    ledger.all_same("totals", plan.totals, {n: value for n, value in own.items() if n in names})
    stated = plan.totals.capex_by_section_usd
    ledger.same("totals.capex_by_section_usd", sorted(stated), sorted(sections))
    for section, usd in sections.items():
        ledger.same(f"totals.capex_by_section_usd.{section}", stated.get(section), usd)
    slowest = [line for line in lines if line.purchased and line.lead_time_days == longest]
    late = [line.sku for line in slowest if longest is not None]
    ledger.same("totals.critical_skus", sorted(plan.totals.critical_skus), sorted(late))
    return own


def _sums(basis: Basis, bill: Bill) -> dict[str, Any]:
    """Return sums over everything in place; None where a part is not known."""
    units = [(_of_unit(basis, basis.items[sku]), n) for sku, n in bill.in_place.items()]
    sums: dict[str, Any] = {}
    for name in (*FIGURES, *STATED):
        parts = [(unit[name], count) for unit, count in units]
        known = [each * count for each, count in parts if each is not None]
        sums[name] = sum(known) if len(known) == len(parts) else None
    sums["heat_btu_per_h"] = _times(sums["it_power_kw"], BTU_PER_H_PER_KW)
    for side in ("heat_air", "heat_liquid"):
        sums[f"{side}_btu_per_h"] = _times(sums[f"{side}_kw"], BTU_PER_H_PER_KW)
    plates = [basis.nameplate(sku, count) for sku, count in bill.cluster.items()]
    usable = basis.flash(bill.cluster).items()
    tb = [_times(_value(basis.items[sku]), count) for sku, count in usable]
    sums["gpus"] = sum(gpus(basis.items[sku], count) for sku, count in bill.cluster.items())
    sums["read_gb_per_s"] = sum(read for read, _ in plates)
    sums["write_gb_per_s"] = sum(write for _, write in plates)
    sums["usable_tb"] = None if None in tb else sum(each for each in tb if each is not None)
    return sums | {"racks": bill.room.racks if bill.room.complete else None}


FIGURES = (
    *("it_power_kw", "facility_power_kw", "typical_power_kw"),
    *("typical_facility_kw", "heat_liquid_kw", "heat_air_kw"),
)


def _of_unit(basis: Basis, item: Item) -> dict[str, float | None]:
    """Return what one unit adds to each sum."""
    draw, typical, liquid = basis.draw_kw(item), basis.typical_kw(item), basis.liquid_share(item)
    figures = (
        *(draw, _times(draw, basis.pue(item)), typical, _times(typical, basis.pue(item))),
        *(_times(draw, liquid), _times(draw, 1 - liquid)),
    )
    stated = {figure: basis.stated(item, figure) for figure in STATED}
    return dict(zip(FIGURES, figures, strict=True)) | stated


def _value(item: Item) -> float | None:
    return None if item.provides.usable is None else item.provides.usable.value


def _times(figure: float | None, factor: float) -> float | None:
    return None if figure is None else figure * factor


def _money(basis: Basis, lines: list[Line], sums: Mapping[str, Any]) -> dict[str, Any]:
    """Return capex, yearly costs and TCO; energy and TCO only with a term and known draw."""
    capex = sum(line.extended_net_usd or 0.0 for line in lines)
    support = sum(line.support_usd_per_year or 0.0 for line in lines)
    yearly = sum(line.subscription_usd_per_year or 0.0 for line in lines)
    names = ("energy_usd_per_year", "colocation_usd_per_year", "opex_usd_per_year", "tco_usd")
    found: dict[str, Any] = dict.fromkeys(names)
    found |= {
        "capex_usd": capex,
        "support_usd_per_year": support,
        "subscriptions_usd_per_year": yearly,
    }
    term = basis.problem.term
    meter_kw = None
    if term is not None:
        typical = term.energy_basis == "typical"
        meter_kw = sums["typical_facility_kw" if typical else "facility_power_kw"]
    if term is None or meter_kw is None or sums["it_power_kw"] is None:
        return found
    energy = meter_kw * HOURS_PER_YEAR * term.electricity_usd_per_kwh
    colocation = sums["it_power_kw"] * 12 * term.colocation_usd_per_kw_month
    running, rate = yearly + energy + colocation, term.discount_rate
    tco = capex + running * present_years(0.0, term.years, rate)
    for line in lines:
        sale = basis.sale(basis.items[line.sku])
        paid = line.support_usd_per_year or 0.0
        tco += paid * present_years(sale.start, sale.end or 0.0, rate) if paid else 0.0
    return found | dict(zip(names, (energy, colocation, support + running, tco), strict=True))


def _ratios(basis: Basis, tco_usd: float | None, figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return USD per useful GPU-hour and per million tokens over the term."""
    found: dict[str, Any] = {"usd_per_useful_gpu_hour": None, "usd_per_million_tokens": None}
    term, active = basis.problem.term, figures["active_parameters"]
    if term is None or tco_usd is None or figures["useful_gpus"] <= 0:
        return found
    hours = term.years * HOURS_PER_YEAR
    found["usd_per_useful_gpu_hour"] = tco_usd / (figures["useful_gpus"] * hours)
    if active and figures["useful_pflops"]:
        tokens = figures["useful_pflops"] * 1e15 * hours * 3600 / (6 * active)
        found["usd_per_million_tokens"] = tco_usd / (tokens / 1e6)
    return found
