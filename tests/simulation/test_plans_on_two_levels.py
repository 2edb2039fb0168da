"""Plans that keep checkpoints locally, with repair or without: the simulation finds the goodput
that they state."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import pytest

from planner import api
from planner.errors import InputError
from planner.outputs import simulation_text
from planner.outputs.blocks import screen as shown
from planner.schema.plan import Plan
from planner.schema.simulation import LocalSeen, Simulation
from planner.sizing.two_levels import TwoLevels, goodput
from planner.studies.simulation import SimulationOptions, study
from tests.test_local_level import with_levels
from tests.world.random_cases import Case, inputs_of, read

DAY_S = 86_400.0
SEEDS = (
    0, 4, 6, 9, 10, 21, 27, 31, 46, 62, 66, 104, 109, 112, 116, 117, 127, 134, 149, 168, 172, 173,
    178, 183, 202, 209, 210, 211, 216, 227, 231, 239, 244, 248, 249, 261, 262, 265, 267, 280, 282,
    285, 286, 294, 303, 304, 306, 318, 320, 321, 324, 325, 329, 336, 338, 341, 350, 354, 361, 371,
    372, 376, 386,
)  # fmt: skip
"""Of the first 400, those whose best plan keeps checkpoints locally, and not 300,000 in a run."""


def mended(case: Case, seed: int) -> Case:
    """Return a case whose hardware is repaired, too."""
    random, documents = Random(f"mended {seed}"), copy.deepcopy(dict(case.documents))
    (job,) = documents["problem"]["jobs"]
    gpus: dict[str, Any] = job.setdefault("gpus", {})
    gpus.pop("hot_spares", None)
    gpus.pop("max_types", None)
    hours = random.choice((0.2, 3, 12, 48))
    job["repair"] = {"share": round(random.uniform(0.1, 1.0), 2), "time": f"{hours} h"}
    if random.random() < 0.5:
        job["repair"]["swap"] = f"{random.uniform(1, 60):.3g} s"
    return read(documents)


def planned(seed: int) -> Plan | None:
    """Return the plan of a seed where it keeps checkpoints locally."""
    case = with_levels(seed)
    case = mended(case, seed) if seed % 2 else case
    try:
        plan = api.solve_inputs(inputs_of(case), explain=False)
    except InputError:  # what was added contradicts the rest
        return None
    return plan if plan.jobs and plan.jobs[0].local is not None else None


def first() -> Plan:
    return next(plan for seed in SEEDS if seed % 2 == 0 and (plan := planned(seed)) is not None)


def simulated(plan: Plan, **options: object) -> Simulation:
    job = plan.jobs[0]  # where little is kept, the fresh start of a short run would count
    length_s = 300 * job.mtti_s / (job.goodput if job.goodput < 0.1 else 1.0)
    length_s = min(length_s, 900 * 365.25 * DAY_S)  # the longest that is simulated is 1,000 years
    plain = {"replications": 200, "length_s": length_s, "intervals": False}
    return study(plan, SimulationOptions(**(plain | options)))  # type: ignore[arg-type]


def seen(found: Simulation) -> LocalSeen:
    local = found.jobs[0].local
    assert local is not None
    return local


@pytest.mark.exhaustive(keep=1, most=7)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_plans_keep_what_they_state(seed: int) -> None:
    plan = planned(seed)
    assert plan is not None
    job = plan.jobs[0]
    found = simulated(plan).jobs[0]
    assert found.predicted == pytest.approx(job.goodput, rel=1e-6)
    for name, share in job.losses.items():
        parts = found.predicted_loss
        told = parts.stall + parts.slowdown if name == "stall" else getattr(parts, name)
        assert told == pytest.approx(share, rel=1e-4, abs=1e-8), name
    room = 2.0 * (found.goodput.high - found.goodput.mean) + 2e-3 * found.predicted
    room += 0.1 * found.loss.slowdown  # what a drain slows is charged to restarts, too
    assert found.goodput.mean > found.predicted - room
    in_rack = job.repair is not None and job.repair.in_rack
    assert in_rack or found.goodput.mean < found.predicted + room


def test_what_is_assumed_is_told() -> None:
    plan = first()
    local = plan.jobs[0].local
    assert local is not None
    found = simulated(plan, replications=4)
    told = seen(found)
    assert (told.every, told.restart_s) == (local.every, local.restart_s)
    assert told.remote_share == pytest.approx(local.remote_share)
    assert told.remote_per_year > 0
    screen = " ".join(shown(simulation_text.render(found)).split())
    assert "kept locally" in screen
    assert "restores from shared storage" in screen


@pytest.mark.exhaustive(keep=0)
def test_another_interval_is_predicted_by_the_same_formula() -> None:
    plan = first()
    job = plan.jobs[0]
    assert job.local is not None
    interval_s = 2.0 * job.interval_s
    found = simulated(plan, interval_s=interval_s).jobs[0]
    levels = TwoLevels(
        interval_s, job.local.every, job.stall_s, job.local.drain_s, job.drain_s,
        job.local.restart_s, job.restart_s, job.restore_s, job.mtti_s, job.local.remote_share,
        job.drain_slowdown, job.local.remote_drain == "restarts",
    )  # fmt: skip
    assert found.predicted == pytest.approx(goodput(levels), rel=1e-6)


def test_an_interval_too_short_for_a_local_copy_has_its_line() -> None:
    plan = first()
    job = plan.jobs[0]
    assert job.local is not None
    short_s = job.stall_s + 0.5 * job.local.drain_s
    with pytest.raises(InputError, match=r"a local copy is safe .* after its capture begins"):
        simulated(plan, interval_s=short_s)
