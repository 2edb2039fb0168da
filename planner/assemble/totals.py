"""Sums over the lines; what one line does not know, the sum does not know."""

from __future__ import annotations

from collections.abc import Iterable

from planner.case import Case
from planner.inputs import Inputs
from planner.optimizer.operate import Operation
from planner.optimizer.purchase import bill as bill_of
from planner.schema.plan import JobPlan, Line, Totals
from planner.sizing.facility import HOURS_PER_YEAR, heat_btu_per_h

TOKENS = 1e6
FLOPS_PER_PFLOPS = 1e15


def totals(
    inputs: Inputs, case: Case, operation: Operation, bill: Iterable[Line], job: JobPlan
) -> Totals:
    """Return the totals of a bill."""
    lines = [line for line in bill if line.parent is None]
    power = _sum(line.it_power_kw for line in lines)
    days, critical = _lead_time(lines)
    sections: dict[str, float] = {}
    for line in lines:
        spent = line.extended_net_usd or 0.0
        sections[line.section] = sections.get(line.section, 0.0) + spent
    money = _money(inputs, case, operation, lines, job, known=power is not None)
    return Totals(
        gpus=sum(line.gpus for line in lines),
        gpus_used=operation.gpus,
        it_power_kw=power,
        facility_power_kw=_sum(line.facility_power_kw for line in lines),
        typical_power_kw=_sum(line.typical_power_kw for line in lines),
        **_heat(lines, power),
        rack_units=_sum(line.rack_units for line in lines),
        racks=_racks(case, operation, lines),
        weight_kg=_sum(line.weight_kg for line in lines),
        read_gb_per_s=sum(line.read_gb_per_s for line in lines),
        write_gb_per_s=sum(line.write_gb_per_s for line in lines),
        usable_tb=_sum(line.usable_tb for line in lines if line.section == "Storage"),
        lead_time_days=days,
        critical_skus=critical,
        capex_by_section_usd=sections,
        **money,
    )


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
    operation: Operation,
    lines: list[Line],
    job: JobPlan,
    *,
    known: bool,
) -> dict[str, float | None]:
    """Return the money over the term; what needs the draw of a line that is not known is None."""
    capex = sum(line.extended_net_usd or 0.0 for line in lines)
    support = sum(line.support_usd_per_year or 0.0 for line in lines)
    subscriptions = sum(line.subscription_usd_per_year or 0.0 for line in lines)
    result: dict[str, float | None] = {
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
    if term is None or not known:
        return result
    spent = bill_of(case, operation.units)
    factors = {item.id: item.support_factor for item in case.bill_items()}
    over_term = sum((line.support_usd_per_year or 0.0) * factors[line.sku] for line in lines)
    running = subscriptions + spent["energy_usd_per_year"] + spent["colocation_usd_per_year"]
    tco = capex + over_term + running * case.rates.factor
    tokens = _tokens(case, job, term.years)
    return result | {
        "energy_usd_per_year": spent["energy_usd_per_year"],
        "colocation_usd_per_year": spent["colocation_usd_per_year"],
        "opex_usd_per_year": support + running,
        "tco_usd": tco,
        "usd_per_useful_gpu_hour": tco / (job.useful_gpus * HOURS_PER_YEAR * term.years),
        "usd_per_million_tokens": None if tokens is None else tco / (tokens / TOKENS),
    }


def _tokens(case: Case, job: JobPlan, years: float) -> float | None:
    """Return the tokens trained in the term, None where the model or its rate is not known."""
    if job.useful_pflops is None or case.job.active_parameters is None:
        return None
    seconds = years * HOURS_PER_YEAR * 3600.0
    return job.useful_pflops * FLOPS_PER_PFLOPS * seconds / (6.0 * case.job.active_parameters)


def _racks(case: Case, operation: Operation, lines: list[Line]) -> int | None:
    chosen = [line for line in lines if line.section in ("Compute", "Storage")]
    if any(line.racks is None for line in chosen):
        return None
    if case.companions.shared is None and any(_stands_somewhere(line) for line in lines):
        return None
    return round(bill_of(case, operation.units)["racks"])


def _stands_somewhere(line: Line) -> bool:
    """Say whether a companion stands in a rack that is not counted: the problem knows no racks."""
    companion = line.section not in ("Compute", "Storage")
    return companion and line.racks is None and (line.rack_units or 0.0) > 0


def _lead_time(lines: list[Line]) -> tuple[float | None, tuple[str, ...]]:
    """Return the longest lead time of what is purchased, and the items that have it."""
    times = {
        line.sku: line.lead_time_days
        for line in lines
        if line.purchased and line.lead_time_days is not None
    }
    longest = max(times.values(), default=None)
    return longest, tuple(sku for sku, days in times.items() if days == longest)


def _sum(values: Iterable[float | None]) -> float | None:
    result = 0.0
    for value in values:
        if value is None:
            return None
        result += value
    return result
