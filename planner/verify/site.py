"""What the plan repeats of the problem: its name, the site, the term."""

from __future__ import annotations

from planner.schema.plan import Plan
from planner.verify.basis import Basis
from planner.verify.ledger import Ledger
from planner.verify.plant_limits import facility_limit_kw


def check_site(ledger: Ledger, basis: Basis, plan: Plan) -> None:
    """Compare what the plan repeats of the problem.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        plan: the plan to check.
    """
    problem, site = basis.problem, plan.site
    term = problem.term
    ledger.equal("problem", plan.problem, problem.name)
    ledger.equal("description", plan.description, problem.description)
    expected = {
        "pue": problem.site.pue_air,
        "pue_liquid": problem.site.pue_liquid,
        "it_power_limit_kw": problem.site.it_power_kw,
        "facility_power_limit_kw": facility_limit_kw(problem.site),
        "racks_limit": problem.site.racks,
        "years": None if term is None else term.years,
        "electricity_usd_per_kwh": None if term is None else term.electricity_usd_per_kwh,
        "colocation_usd_per_kw_month": 0.0 if term is None else term.colocation_usd_per_kw_month,
        "discount_rate": 0.0 if term is None else term.discount_rate,
        "delivered_fraction_read": problem.storage.delivered_fraction.read,
        "delivered_fraction_write": problem.storage.delivered_fraction.write,
        "fill_limit": problem.storage.fill_limit,
    }
    for field, value in expected.items():
        ledger.same(f"site.{field}", getattr(site, field), value)
    energy_basis = "maximum" if term is None else term.energy_basis
    ledger.equal("site.energy_basis", site.energy_basis, energy_basis)
