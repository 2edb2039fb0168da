"""The plan's sums, from the catalogs and the line quantities, and what it costs over the term."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planner.figures import STATED
from planner.schema.catalog import Item
from planner.schema.plan import Line, Plan, Totals
from planner.verifier.basis import Basis, Ledger, gpus, total_nameplate_gb_per_s, usable_tb
from planner.verifier.companions import Companions
from planner.verifier.decisions import Decisions
from planner.verifier.job import JobFigures
from planner.verifier.money import present_years, sale

BTU_PER_H_PER_KW = 3412.14

HOURS_PER_YEAR = 8760
MONTHS_PER_YEAR = 12


@dataclass(frozen=True)
class RunningCosts:
    """Money under the names that the totals give it; None is not known."""

    capex_usd: float
    support_usd_per_year: float
    subscriptions_usd_per_year: float
    energy_usd_per_year: float | None
    colocation_usd_per_year: float | None
    opex_usd_per_year: float | None
    tco_usd: float | None


@dataclass(frozen=True)
class Ratios:
    """What the cluster's work costs, USD; None without a term or without what is trained."""

    usd_per_useful_gpu_hour: float | None
    usd_per_million_tokens: float | None


@dataclass(frozen=True)
class TotalFigures:
    """The sums as re-computed, under the names the plan gives them; None is not known.

    ``stated`` are those of what catalogs state of a unit, by figure; ``money`` has what is paid.
    """

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
    racks: float | None
    stated: Mapping[str, float | None]
    money: RunningCosts
    read_gb_per_s: float
    write_gb_per_s: float
    usable_tb: float | None
    lead_time_days: float | None

    def by_name(self) -> dict[str, float | None]:
        """Return every sum by the name the plan gives it."""
        of_several = ("stated", "money")
        own = {name: value for name, value in vars(self).items() if name not in of_several}
        return own | dict(self.stated) | vars(self.money)


def check_totals(
    ledger: Ledger, basis: Basis, decisions: Decisions, companions: Companions, plan: Plan
) -> TotalFigures:
    """Re-compute the totals, compare them, and return them."""
    # The lines' money is verified line by line; it knows which way half a cent went.
    lines = [line for line in plan.lines if line.parent is None]
    figures = _totals(basis, decisions, companions, lines)
    if plan.totals is None:
        ledger.fail("totals: missing")
        return figures
    ledger.all_same("totals", vars(plan.totals), figures.by_name())
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
    sums = _sums(basis, everything)
    power_kw, air_kw, liquid_kw = (
        sums[f] for f in ("it_power_kw", "heat_air_kw", "heat_liquid_kw")
    )
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
        facility_power_kw=sums["facility_power_kw"],
        typical_power_kw=sums["typical_power_kw"],
        heat_btu_per_h=_times(power_kw, BTU_PER_H_PER_KW),
        heat_air_kw=air_kw,
        heat_liquid_kw=liquid_kw,
        heat_air_btu_per_h=_times(air_kw, BTU_PER_H_PER_KW),
        heat_liquid_btu_per_h=_times(liquid_kw, BTU_PER_H_PER_KW),
        racks=_racks(companions),
        stated={name: sums[name] for name in STATED},
        money=running_costs(basis, lines, sums),
        read_gb_per_s=read,
        write_gb_per_s=write,
        usable_tb=_sum_known(usable_tb(item, count) for item, count in storage),
        lead_time_days=max((days for days in lead_times if days is not None), default=None),
    )


_SUMMED = (
    *("it_power_kw", "facility_power_kw", "heat_air_kw", "heat_liquid_kw"),
    *("typical_power_kw", "typical_at_the_meter_kw", *STATED),
)


def _sums(basis: Basis, everything: list[tuple[Item, int]]) -> dict[str, float | None]:
    """Return sums over items in place by figure, None where one of them does not know it."""
    each = [(_of_each(basis, item), count) for item, count in everything]
    found = (sum(figures[n] * count for figures, count in each) for n in range(len(_SUMMED)))
    return {
        name: None if math.isnan(value) else value
        for name, value in zip(_SUMMED, found, strict=True)
    }


def _of_each(basis: Basis, item: Item) -> tuple[float, ...]:
    """Return what one unit adds to each sum, NaN where that is not known."""
    if item.id in basis.provisioned:
        return _worked_out(basis, item)
    return basis.known.kept("each", item.id, (item,), lambda: _worked_out(basis, item))


def _worked_out(basis: Basis, item: Item) -> tuple[float, ...]:
    unit, most_kw = basis.of_unit(item), basis.drawn_kw(item)
    typical_kw = basis.typically_drawn_kw(item)
    shares = 1.0, unit.pue, 1.0 - unit.liquid_share, unit.liquid_share
    figures = (
        *(_times(most_kw, share) for share in shares),
        *(typical_kw, _times(typical_kw, unit.pue)),
        *(basis.unit_stated(item, name) for name in STATED),
    )
    return tuple(math.nan if figure is None else figure for figure in figures)


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


def running_costs(
    basis: Basis, lines: list[Line], sums: Mapping[str, float | None]
) -> RunningCosts:
    """Return what the plan costs; energy and all that includes it only with a term.

    Args:
        lines: the lines of the bill without components, verified.
        sums: those of all items in place, by figure.
    """
    capex_usd = sum(line.extended_net_usd or 0.0 for line in lines)
    support_usd = sum(line.support_usd_per_year or 0.0 for line in lines)
    yearly_usd = sum(line.subscription_usd_per_year or 0.0 for line in lines)
    term, power_kw, energy_usd = basis.problem.term, sums["it_power_kw"], _energy_usd(basis, sums)
    if term is None or power_kw is None or energy_usd is None:
        return RunningCosts(capex_usd, support_usd, yearly_usd, None, None, None, None)
    colocation_usd = power_kw * MONTHS_PER_YEAR * term.colocation_usd_per_kw_month
    always_usd = yearly_usd + energy_usd + colocation_usd
    tco_usd = capex_usd + always_usd * present_years(0.0, term.years, term.discount_rate)
    for line in lines:
        counts = sale(basis, basis.items[line.sku]).support_counts
        tco_usd += (line.support_usd_per_year or 0.0) * counts
    return RunningCosts(
        capex_usd=capex_usd,
        support_usd_per_year=support_usd,
        subscriptions_usd_per_year=yearly_usd,
        energy_usd_per_year=energy_usd,
        colocation_usd_per_year=colocation_usd,
        opex_usd_per_year=support_usd + always_usd,
        tco_usd=tco_usd,
    )


def _energy_usd(basis: Basis, sums: Mapping[str, float | None]) -> float | None:
    """Return energy per year at the meter, USD, None where a draw is not known."""
    term = basis.problem.term
    if term is None:
        return None
    typical = term.energy_basis == "typical"
    meter_kw = sums["typical_at_the_meter_kw" if typical else "facility_power_kw"]
    return _times(meter_kw, HOURS_PER_YEAR * term.electricity_usd_per_kwh)


def check_ratios(
    ledger: Ledger, basis: Basis, plan: Plan, tco_usd: float | None, figures: JobFigures
) -> Ratios:
    """Re-compute what a useful GPU-hour and a million tokens cost, compare and return them."""
    ratios = _ratios(basis, tco_usd, figures)
    stated: Totals | None = plan.totals
    if stated is not None:
        ledger.all_same("totals", vars(stated), vars(ratios))
    return ratios


def _ratios(basis: Basis, tco_usd: float | None, figures: JobFigures) -> Ratios:
    term, job = basis.problem.term, basis.problem.job
    if term is None or tco_usd is None or figures.useful_gpus <= 0:
        return Ratios(None, None)
    hours = term.years * HOURS_PER_YEAR
    per_hour_usd = tco_usd / (figures.useful_gpus * hours)
    active = job.training.active_parameters or job.parameters
    if not active or not figures.useful_pflops:
        return Ratios(per_hour_usd, None)
    tokens = figures.useful_pflops * 1e15 * hours * 3600 / (6 * active)
    return Ratios(per_hour_usd, tco_usd / (tokens / 1e6))
