"""What the plan costs over the term: capital, yearly payments, and both on one scale."""

from __future__ import annotations

from dataclasses import dataclass

from planner.schema.catalog import Item
from planner.schema.plan import Line, Plan, Totals
from planner.schema.problem import Term
from planner.verify.basis import Basis
from planner.verify.figures import JobFigures
from planner.verify.ledger import Ledger
from planner.verify.money import present_years, support_years

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


def running_costs(
    basis: Basis, lines: list[Line], everything: list[tuple[Item, int]], power_kw: float | None
) -> RunningCosts:
    """Return what the plan costs; energy and all that includes it only with a term.

    Args:
        basis: the problem and the prices.
        lines: the lines of the bill without components, verified.
        everything: each item in place with its count.
        power_kw: the maximum draw of it all, None where it is not known.
    """
    capex_usd = sum(line.extended_net_usd or 0.0 for line in lines)
    support_usd = sum(line.support_usd_per_year or 0.0 for line in lines)
    yearly_usd = sum(line.subscription_usd_per_year or 0.0 for line in lines)
    term, energy_usd = basis.problem.term, _energy_usd(basis, everything)
    if term is None or power_kw is None or energy_usd is None:
        return RunningCosts(capex_usd, support_usd, yearly_usd, None, None, None, None)
    colocation_usd = power_kw * MONTHS_PER_YEAR * term.colocation_usd_per_kw_month
    always_usd = yearly_usd + energy_usd + colocation_usd
    tco_usd = capex_usd + always_usd * present_years(0.0, term.years, term.discount_rate)
    for line in lines:
        tco_usd += (line.support_usd_per_year or 0.0) * _support_counts(basis, term, line.sku)
    return RunningCosts(
        capex_usd=capex_usd,
        support_usd_per_year=support_usd,
        subscriptions_usd_per_year=yearly_usd,
        energy_usd_per_year=energy_usd,
        colocation_usd_per_year=colocation_usd,
        opex_usd_per_year=support_usd + always_usd,
        tco_usd=tco_usd,
    )


def _support_counts(basis: Basis, term: Term, sku: str) -> float:
    start, end = support_years(basis, sku)
    return 0.0 if end is None else present_years(start, end, term.discount_rate)


def _energy_usd(basis: Basis, everything: list[tuple[Item, int]]) -> float | None:
    """Return energy per year at the meter, USD, None where a draw is not known."""
    term = basis.problem.term
    if term is None:
        return None
    typical = term.energy_basis == "typical"
    meter_kw = 0.0
    for item, count in everything:
        unit_kw = basis.unit_typical_power_kw(item) if typical else basis.unit_it_power_kw(item)
        if unit_kw is None:
            return None
        meter_kw += unit_kw * basis.pue(item) * count
    return meter_kw * HOURS_PER_YEAR * term.electricity_usd_per_kwh


@dataclass(frozen=True)
class Ratios:
    """What the cluster's work costs, USD; None without a term or without what is trained."""

    usd_per_useful_gpu_hour: float | None
    usd_per_million_tokens: float | None


def check_ratios(
    ledger: Ledger, basis: Basis, plan: Plan, tco_usd: float | None, figures: JobFigures
) -> Ratios:
    """Re-compute what a useful GPU-hour and a million tokens cost, compare and return them.

    Args:
        ledger: takes the disagreements.
        basis: the problem.
        plan: the plan to check.
        tco_usd: the total cost as re-computed.
        figures: the job as re-computed.
    """
    ratios = _ratios(basis, tco_usd, figures)
    stated: Totals | None = plan.totals
    if stated is not None:
        for field in ("usd_per_useful_gpu_hour", "usd_per_million_tokens"):
            ledger.same(f"totals.{field}", getattr(stated, field), getattr(ratios, field))
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
