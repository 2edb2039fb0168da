"""The plan's fabrics, compared with those that follow from the counts."""

from __future__ import annotations

from planner.schema.plan import FabricReport, Plan
from planner.verify.basis import Basis
from planner.verify.companions import Companions
from planner.verify.ledger import Ledger, close
from planner.verify.wiring import Fabric

_EXACT = (
    "planes",
    "tiers",
    "units",
    "radix",
    "leaf_switches",
    "spine_switches",
    "core_switches",
    "endpoints",
    "parts_per_port",
    "capacity",
    "uplinks_per_leaf",
    "system_links",
    "leaf_spine_links",
    "spine_core_links",
)


def check_fabrics(ledger: Ledger, basis: Basis, companions: Companions, plan: Plan) -> None:
    """Require a report of every fabric, with the right figures, and of no other.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        companions: what must come with the systems, the fabrics included.
        plan: the plan to check.
    """
    left = list(companions.fabrics)
    for report in plan.fabrics:
        name = f"fabrics.{report.network}.{report.switch_sku}"
        fabric = next((each for each in left if _is(each, report)), None)
        if fabric is None:
            ledger.fail(f"{name}: the plan's systems have no such fabric, or it is listed twice")
        else:
            left.remove(fabric)
            _check_report(ledger, name, report, fabric)
            _check_oversubscription(ledger, basis, name, report, fabric)
    for fabric in left:
        ledger.fail(f"fabrics.{fabric.network}.{fabric.switch_sku}: missing")


def _is(fabric: Fabric, report: FabricReport) -> bool:
    """Compute fabrics may share a switch model; what they serve tells them apart."""
    if (fabric.network, fabric.switch_sku) != (report.network, report.switch_sku):
        return False
    return fabric.network != "compute" or fabric.serves == set(report.serves)


def _check_report(ledger: Ledger, name: str, report: FabricReport, fabric: Fabric) -> None:
    for field in _EXACT:
        ledger.equal(f"{name}.{field}", getattr(report, field), getattr(fabric, field))
    ledger.equal(f"{name}.serves", sorted(report.serves), sorted(fabric.serves))


def _check_oversubscription(
    ledger: Ledger, basis: Basis, name: str, report: FabricReport, fabric: Fabric
) -> None:
    asked = getattr(basis.problem.network, fabric.network)
    wanted = getattr(asked, "oversubscription", 1.0)
    ledger.require(
        close(report.oversubscription, wanted),
        f"{name}.oversubscription: the plan says {report.oversubscription!r}, asked is {wanted!r}",
    )
