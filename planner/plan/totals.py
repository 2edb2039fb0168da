"""Totals of a bill; a sum over a line whose figure is not known is not known."""

from __future__ import annotations

from collections.abc import Iterable

from planner.case import Case
from planner.figures import STATED
from planner.inputs import Inputs
from planner.optimizer.bill import Bill, bill
from planner.optimizer.operate import Run
from planner.schema.operation import JobPlan
from planner.schema.plan import Line, Totals
from planner.sizing.facility import HOURS_PER_YEAR, heat_btu_per_h
from planner.sizing.goodput import FLOP_PER_PARAMETER_TOKEN


def totals(
    inputs: Inputs, case: Case, run: Run, plan_lines: Iterable[Line], job: JobPlan
) -> Totals:
    """Sum the lines of a plan."""
    lines = [line for line in plan_lines if line.parent is None]
    spent = bill(case, run.units, run.ways)
    power = _sum(line.it_power_kw for line in lines)
    times = [(line.sku, line.lead_time_days) for line in lines if line.purchased]
    known_days = [days for _, days in times if days is not None]
    longest_days = max(known_days, default=None)
    sections: dict[str, float] = {}
    for line in lines:
        net_usd = line.extended_net_usd or 0.0
        sections[line.section] = sections.get(line.section, 0.0) + net_usd
    return Totals(
        gpus=sum(line.gpus for line in lines),
        gpus_used=run.gpus,
        it_power_kw=power,
        facility_power_kw=_sum(line.facility_power_kw for line in lines),
        typical_power_kw=_sum(line.typical_power_kw for line in lines),
        **_heat(lines, power),
        racks=_racks(case, spent, lines),
        **{name: _sum(getattr(line, name) for line in lines) for name in STATED},
        read_gb_per_s=sum(line.read_gb_per_s for line in lines),
        write_gb_per_s=sum(line.write_gb_per_s for line in lines),
        usable_tb=_sum(line.usable_tb for line in lines if line.section == "Storage"),
        lead_time_days=longest_days,
        critical_skus=tuple(
            dict.fromkeys(sku for sku, days in times if days is not None and days == longest_days)
        ),
        capex_by_section_usd=sections,
        **_money(inputs, case, spent, lines, job, power_known=power is not None),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    result = 0.0
    for value in values:
        if value is None:
            return None
        result += value
    return result


def _heat(lines: list[Line], power: float | None) -> dict[str, float | None]:
    if power is None:
        names = ("heat_btu_per_h", "heat_air_kw", "heat_liquid_kw")
        return dict.fromkeys((*names, "heat_air_btu_per_h", "heat_liquid_btu_per_h"))
    liquid = sum((line.it_power_kw or 0.0) * line.liquid_share for line in lines)
    return {
        "heat_btu_per_h": heat_btu_per_h(power),
        "heat_air_kw": power - liquid,
        "heat_liquid_kw": liquid,
        "heat_air_btu_per_h": heat_btu_per_h(max(0.0, power - liquid)),
        "heat_liquid_btu_per_h": heat_btu_per_h(liquid),
    }


def _money(
    inputs: Inputs,
    case: Case,
    spent: Bill,
    lines: list[Line],
    job: JobPlan,
    *,
    power_known: bool,
) -> dict[str, float | None]:
    """Capex, opex and TCO; None for sums that need an unknown draw, or a term."""
    capex = sum(line.extended_net_usd or 0.0 for line in lines)
    support = sum(line.support_usd_per_year or 0.0 for line in lines)
    subscriptions = sum(line.subscription_usd_per_year or 0.0 for line in lines)
    money: dict[str, float | None] = {
        "capex_usd": capex,
        "support_usd_per_year": support,
        "subscriptions_usd_per_year": subscriptions,
        "energy_usd_per_year": None,
        "colocation_usd_per_year": None,
        "opex_usd_per_year": None,
        "tco_usd": None,
        "usd_per_useful_gpu_hour": None,
        "usd_per_million_tokens": None,
    }
    term = inputs.problem.term
    if term is None or not power_known:
        return money
    factors = inputs.once("support", case, lambda: _support_factors(case))
    support_paid = sum((line.support_usd_per_year or 0.0) * factors[line.sku] for line in lines)
    running = subscriptions + spent["energy_usd_per_year"] + spent["colocation_usd_per_year"]
    tco, hours = capex + support_paid + running * case.rates.factor, HOURS_PER_YEAR * term.years
    money |= {
        "energy_usd_per_year": spent["energy_usd_per_year"],
        "colocation_usd_per_year": spent["colocation_usd_per_year"],
        "opex_usd_per_year": support + running,
        "tco_usd": tco,
        "usd_per_useful_gpu_hour": tco / (job.useful_gpus * hours),
    }
    parameters = case.job.active_parameters
    if job.useful_pflops is not None and parameters is not None:
        flop = job.useful_pflops * 1e15 * hours * 3600.0
        tokens = flop / (FLOP_PER_PARAMETER_TOKEN * parameters)
        money["usd_per_million_tokens"] = tco / (tokens / 1e6)
    return money


def _support_factors(case: Case) -> dict[str, float]:
    return {item.id: item.support_factor for item in case.bill_items()}


def _racks(case: Case, spent: Bill, lines: list[Line]) -> int | None:
    """Racks of a plan; None where a device stands in a rack that the problem does not state."""
    for line in lines:
        own = line.section in ("Compute", "Storage")
        if line.racks is None and (own or _is_unracked(case, line)):
            return None
    return round(spent["racks"])


def _is_unracked(case: Case, companion: Line) -> bool:
    return case.companions.shared is None and (companion.rack_units or 0.0) > 0
