"""Which compute fabric is built is decided with the plan: switches are a set, other lists too."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from planner.errors import VerificationError
from planner.schema.plan import Plan
from planner.verifier import faults, verify
from tests.test_exactness import faults as enumerated_faults
from tests.world.random_cases import Case, inputs_of, random_case
from tests.world.solved import solve

SEVERAL = (5484, 7069, 7621, 8793)
"""Random problems with several switches; the job of some runs on two types at once."""


def solved(case: Case, **compute: object) -> Plan:
    """Return the plan of a case whose compute fabric is asked for otherwise."""
    network = case.problem.network
    assert network.compute is not None
    changed = network.compute.model_copy(update=compute)
    problem = case.problem.model_copy(
        update={"network": network.model_copy(update={"compute": changed})}
    )
    return solve(inputs_of(replace(case, problem=problem)), explain=False)


def decided(plan: Plan) -> tuple[object, ...]:
    """Return all that a plan decides and what that comes to."""
    lines = [(line.sku, line.quantity, line.extended_net_usd) for line in plan.lines]
    built = [(f.network, f.switch_sku, f.planes, f.oversubscription) for f in plan.fabrics]
    return plan.status, plan.objective.value, lines, built


@pytest.mark.parametrize("seed", SEVERAL)
def test_the_order_of_switches_changes_no_plan(seed: int) -> None:
    case = random_case(seed)
    assert case.problem.network.compute is not None
    names = case.problem.network.compute.switches
    assert len(names) > 1
    plans = [solved(case, switches=each) for each in itertools.permutations(names)]
    assert all(decided(plan) == decided(plans[0]) for plan in plans)


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
