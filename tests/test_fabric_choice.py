"""Which compute fabric is built is decided with the plan: switches are a set, other lists too."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from planner import api
from planner.case import resolve
from planner.case.chosen import ways_of
from planner.errors import VerificationError
from planner.optimizer.purchase import bill
from planner.schema.plan import Plan
from planner.verifier import faults, verify
from tests.test_exactness import faults as enumerated_faults
from tests.world.random_cases import Case, inputs_of, random_case
from tests.world.solved import DENSE_HALL

PROBLEMS = Path(__file__).parents[1] / "problems"
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
    return api.solve_inputs(inputs_of(replace(case, problem=problem)), explain=False)


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


def test_the_order_of_switches_changes_no_plan_of_a_hall() -> None:
    plans = []
    for names in ("nvidia_qm9700, nvidia_q3400, nvidia_sn5600", "nvidia_sn5600, nvidia_qm9700"):
        text = f"network.compute.switches=[{names}]"
        plans.append(api.solve_inputs(api.load(DENSE_HALL, settings=(text,))))
    assert decided(plans[0]) == decided(plans[1])
    compute = next(f for f in plans[0].fabrics if f.network == "compute")
    assert compute.switch_sku == "nvidia_sn5600"


@pytest.mark.parametrize("seed", [*SEVERAL, 10595, 10995, 12824])
def test_enumeration_chooses_the_fabric_too(seed: int) -> None:
    """Of types that stand idle some have other ports, and a fabric of the job's switches."""
    assert not enumerated_faults(random_case(seed))


@pytest.mark.parametrize(("seed", "key"), [(5484, "oversubscription"), (8793, "planes")])
def test_a_list_is_as_good_as_its_best_entry(seed: int, key: str) -> None:
    case = random_case(seed)
    entries = (1.0, 2.0) if key == "oversubscription" else (1, 2)
    alone = [solved(case, **{key: entry}) for entry in entries]
    known = [plan for plan in alone if plan.objective.value is not None]
    assert known
    goal = known[0].objective
    best = (max if goal.sense == "maximize" else min)(p.objective.best or 0.0 for p in known)
    for listed in (entries, entries[::-1]):
        together = solved(case, **{key: listed}).objective
        assert together.best == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("seed", SEVERAL)
def test_companions_of_a_way_are_those_that_its_bill_counts(seed: int) -> None:
    case = resolve(inputs_of(random_case(seed)))
    units = {offer.id: 1 for offer in case.offers()}
    for way in case.ways:
        counts = bill(case, units, (way.id,)).counts
        alone = case.companions_in((way.id,))
        values = alone.values(units)
        assert not any(name.startswith("on.") for name in values)
        for item in case.companions.items:
            assert values.get(item.id, 0) == counts[item.id], (way.id, item.id)


def test_the_ways_of_a_plan_are_found_again() -> None:
    inputs = api.load(DENSE_HALL)
    plan = api.solve_inputs(inputs)
    case = resolve(inputs)
    assert ways_of(case, plan) == ("nvidia_dgx_b200__nvidia_sn5600",)


def test_a_plan_with_a_switch_that_is_not_allowed_is_refused() -> None:
    case = random_case(SEVERAL[0])
    inputs = inputs_of(case)
    plan = api.solve_inputs(inputs, explain=False)
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
