"""Sums over the lines; what one line does not know, the sum does not know."""

from __future__ import annotations

from collections.abc import Iterable

from planner.case import Case
from planner.loader.inputs import Inputs
from planner.optimizer.operate import Operation
from planner.schema.plan import Line, Totals
from planner.sizing.facility import annual_energy_kwh, heat_btu_per_h


def totals(inputs: Inputs, case: Case, operation: Operation, bill: Iterable[Line]) -> Totals:
    """Return the totals of a bill."""
    lines = [line for line in bill if line.parent is None]
    power = _sum(line.it_power_kw for line in lines)
    facility = None if power is None else power * inputs.problem.site.pue
    capex = sum(line.extended_net_usd or 0.0 for line in lines)
    support = sum(line.support_usd_per_year or 0.0 for line in lines)
    term = inputs.problem.term
    energy = opex = tco = None
    if term is not None and facility is not None:
        energy = annual_energy_kwh(facility) * term.electricity_usd_per_kwh
        opex = support + energy
        tco = capex + term.years * opex
    racks = [line.racks for line in lines]
    return Totals(
        gpus=sum(line.gpus for line in lines),
        gpus_used=operation.gpus,
        it_power_kw=power,
        facility_power_kw=facility,
        heat_btu_per_h=None if power is None else heat_btu_per_h(power),
        rack_units=_sum(line.rack_units for line in lines),
        racks=None if None in racks else sum(count or 0 for count in racks),
        weight_kg=_sum(line.weight_kg for line in lines),
        capex_usd=capex,
        support_usd_per_year=support,
        energy_usd_per_year=energy,
        opex_usd_per_year=opex,
        tco_usd=tco,
        read_gb_per_s=sum(line.read_gb_per_s for line in lines),
        write_gb_per_s=sum(line.write_gb_per_s for line in lines),
        usable_tb=_sum(line.usable_tb for line in lines if line.section == "Storage"),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total
