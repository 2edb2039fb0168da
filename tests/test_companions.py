"""What comes with the systems, rule by rule.

All counts are those of the request of ``tests.optimizer.cases.furnish``: a GPU system of 10 kW,
half of it to liquid, with 4 compute ports on 4 rails, 2 storage ports and one of each management
network; a box of 5 kW with 2 storage ports of half the speed and one out of band.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planner.case import resolve
from planner.errors import VerificationError
from planner.loader import load
from planner.verifier import faults, verify
from tests.optimizer.cases import furnish, ports
from tests.optimizer.counted import companion_counts
from tests.test_exactness import faults as enumerated_faults
from tests.world.random_cases import inputs_of, random_case
from tests.world.requests import Request, gpu_system, price
from tests.world.solved import solve

PROBLEMS = Path(__file__).parent.parent / "problems"


def counts(request: Request, gpu: int = 3, box: int = 2, **more: int) -> dict[str, float]:
    """Return everything that comes with so many systems and boxes."""
    case = resolve(inputs_of(request.case()))
    units = {offer.id: 0 for offer in case.offers()} | {"gpu": gpu, "box": box} | more
    return companion_counts(case, units)


def furnished(**objective: str) -> Request:
    request = furnish(Request(**(objective or {"minimize": "cost"})))
    request.site["it_power"] = "900 kW"
    return request


def test_everything_that_comes_with_three_systems() -> None:
    found = counts(furnished())
    # Compute: one unit of 4 leaves and 2 spines holds 3 systems and the manager; 12 + 1 cables to
    # systems, 16 between switches, fitted by the pair: 4 x (2 + 2) at leaves, 2 x 4 at spines.
    # Storage: 3 x 2 + 2 x 2 / 2 ports of 200 Gb/s on a pair joined by 4 cables: 2 x 2 and 3 twins.
    # In-band: 3 + 3 x 2 half ports on a pair joined by 2 cables: 2 twins.
    expected = {
        "spider": 6,
        "edge": 2 + 2,
        "fibre": (13 + 16) + (6 + 4) + 2,
        "twin": 24 + (4 + 3) + 2,
        "optic": 12 + 6,
        "thin": 4 + (3 + 6) + 22 + (2 + 3 + 6),
        "tick": 3,
        "suite": 24,
        "server": 2,
        "pump": 3,
    }
    # Out of band: 3 + 2 devices, 6 + 2 switches and 9 PDUs of the 3 racks, on 8 of 12 ports each;
    # cables besides to the 2 in-band switches, its own 3, and 6 PDUs of the racks these stand in.
    assert {name: found[name] for name in expected} == expected
    assert found["out_of_band.switches"] == 3


def test_a_type_that_no_switch_fits_is_left_out() -> None:
    request = furnished()
    wrong = {
        "blind": None,
        "fast": ports(4, 800),
        "ether": ports(4, 400, protocol="ethernet"),
    }
    for name, given in wrong.items():
        request.items.append(gpu_system(name, 8, "10 kW"))
        request.prices[name] = price("1")
        if given is not None:
            request.items[-1]["ports"] = {"compute": given}
    case = resolve(inputs_of(request.case()))
    reasons = dict(case.not_considered)
    assert set(reasons) == set(wrong)
    assert reasons["blind"] == "not known: compute ports, for network.compute"
    assert reasons["fast"] == "no switch of network.compute has ports of 800 Gb/s"
    assert reasons["ether"] == "no switch of network.compute has ethernet ports of 400 Gb/s"


def test_xdr_modules_do_not_link_ndr_ports() -> None:
    """NVIDIA: transceivers with lanes of 200 Gb/s cannot go down to 100 Gb/s."""
    inputs = load(PROBLEMS / "10MW.yaml", settings=("network.compute.switches=[nvidia_q3400]",))
    left_out = dict(resolve(inputs).not_considered)
    for name, speed in (("nvidia_dgx_b200", 400), ("nvidia_gb200_nvl72", 400)):
        assert left_out[name] == f"no switch of network.compute has ports of {speed} Gb/s"
    assert "nvidia_gb300_nvl72" not in left_out
    first = "network.compute.switches=[nvidia_q3400, nvidia_qm9700]"
    fabrics = resolve(load(PROBLEMS / "10MW.yaml", settings=(first,))).companions.fabrics
    served = {name: fabric.switch for fabric in fabrics for name in fabric.serves if fabric.design}
    assert served["nvidia_dgx_b200"] == served["nvidia_gb200_nvl72"] == "nvidia_qm9700"
    assert served["nvidia_dgx_b300"] == "nvidia_q3400"


def test_a_fabric_has_an_end() -> None:
    request = furnished(minimize="cost")
    request.site["it_power"] = "90 MW"
    # Radix 8 in three tiers holds 128 ports, 4 to a system: 32 systems, one of them the manager.
    request.job["gpus"] = {"min": 31 * 8}
    inputs = inputs_of(request.case())
    full = solve(inputs)
    assert full.status == "optimal"
    at = next(n for n, each in enumerate(full.limits) if each.name == "fabric.compute")
    row = full.limits[at]
    assert (row.value, row.limit, row.unit, row.binding) == (31 * 4, 31 * 4, "ports", True)
    wider = row.model_copy(update={"limit": 32.0 * 4, "slack": 4.0, "binding": False})
    limits = (*full.limits[:at], wider, *full.limits[at + 1 :])
    wrong = faults(inputs, full.model_copy(update={"limits": limits}))
    assert any(text.startswith("limits.fabric.compute") for text in wrong)
    request.job["gpus"] = {"min": 31 * 8 + 1}
    plan = solve(inputs_of(request.case()), explain=False)
    assert plan.status == "infeasible"
    with pytest.raises(ValueError, match="more than any size holds"):
        counts(request, gpu=32)


# Which compute fabric is built is decided with the plan: switches are a set, other lists too.


SEVERAL = (5484, 7069, 7621, 8793)
"""Random problems with several switches; the job of some runs on two types at once."""


@pytest.mark.parametrize("seed", [*SEVERAL, 10595])
def test_enumeration_chooses_the_fabric_too(seed: int) -> None:
    """Of types that stand idle some have other ports, and a fabric of the job's switches."""
    assert not enumerated_faults(random_case(seed))


def test_a_plan_with_a_switch_that_is_not_allowed_is_refused() -> None:
    case = random_case(SEVERAL[0])
    inputs = inputs_of(case)
    plan = solve(inputs, explain=False)
    compute = next(f for f in plan.fabrics if f.network == "compute")
    assert case.problem.network.compute is not None
    others = tuple(n for n in case.problem.network.compute.switches if n != compute.switch_sku)
    network = case.problem.network
    left = network.compute.model_copy(update={"switches": others})  # type: ignore[union-attr]
    problem = case.problem.model_copy(
        update={"network": network.model_copy(update={"compute": left})}
    )
    with pytest.raises(VerificationError, match=r"fabrics\.compute\.fabric_\d\.switch_sku"):
        verify(inputs_of(replace(case, problem=problem)), plan)
    assert not [text for text in faults(inputs, plan) if text.startswith("fabrics")]
