"""The random cases: loadable as files, unchanged on the way, and of every kind."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from planner import loader
from tests.oracle.enumerate import best
from tests.world.random_cases import Case, random_case, write_case

SEEDS = (*range(60), 87)


@pytest.mark.parametrize("seed", SEEDS)
def test_files_hold_the_same_case(seed: int, tmp_path: Path) -> None:
    case = random_case(seed)
    inputs = loader.load(write_case(case, tmp_path))
    places = {"catalogs": None, "prices": None}
    assert inputs.problem.model_copy(update=places) == case.problem
    assert sorted(inputs.items, key=lambda item: item.id) == sorted(
        case.items, key=lambda item: item.id
    )
    assert inputs.families == case.families
    assert inputs.prices == case.prices
    assert inputs.discounts == case.discounts


def test_a_seed_is_always_the_same_case() -> None:
    assert random_case(7) == random_case(7)
    assert random_case(7) != random_case(8)


def features(case: Case) -> set[str]:
    job, objective = case.problem.job, case.problem.objective
    return {
        job.checkpoint.mode,
        job.checkpoint.interval.policy,
        job.restore.fan_out,
        job.gpus.whole,
        objective.maximize or objective.minimize or "",
        f"{case.problem.storage.max_families} families",
        f"{job.gpus.max_types} types",
        *_sections(case),
    }


def _sections(case: Case) -> set[str]:
    """Return which parts of a complete bill a case has."""
    problem, network = case.problem, case.problem.network
    given = {
        "compute": network.compute,
        "storage": network.storage,
        "in_band": network.in_band,
        "out_of_band": network.out_of_band,
        "rack": problem.site.rack and problem.site.rack.item,
        "pdu": problem.site.rack and problem.site.rack.pdu,
        "cdu": problem.site.cooling.cdu,
        "software": problem.software,
        "services": problem.services,
        "extras": problem.extras,
        "cold spares": problem.spares,
        "hot spares": problem.job.gpus.hot != (0, 0.0),
        "prefer": problem.policy.prefer,
        "rate": problem.term and problem.term.discount_rate,
        "down": problem.storage.tolerate_down,
    }
    return {name for name, value in given.items() if value}


@pytest.mark.exhaustive(keep=0)
def test_every_kind_of_case_occurs() -> None:
    seen: Counter[str] = Counter()
    solved = 0
    for seed in SEEDS:
        case = random_case(seed)
        plan = best(case.problem, case.items, case.families, case.prices, case.discounts)
        solved += plan is not None
        seen.update(features(case) if plan is not None else ())
    assert len(SEEDS) * 0.6 < solved < len(SEEDS) * 0.95
    modes, policies = {"async", "sync", "open"}, {"fixed", "lost_work", "optimal"}
    fan_outs = {"broadcast", "sharded_optimizer", "every_replica"}
    goals = {"goodput", "useful_gpus", "gpus", "cost", "tco", "power"}
    rest = {"systems", "replicas", "1 families", "2 families", "1 types", "2 types"}
    bill = {"compute", "storage", "in_band", "out_of_band", "rack", "pdu", "cdu", "software"}
    bill |= {"services", "extras", "cold spares", "hot spares", "prefer", "rate", "down"}
    assert modes | policies | fan_outs | goals | rest | bill <= seen.keys()
