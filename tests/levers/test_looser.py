"""Looser is looser: no plan is lost where a limit gives way, and the best gets no worse.

Whether there is a plan, and how good the best is, is asked of the exhaustive enumeration.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from planner import shipped
from planner.infeasible.oracle import Oracle, off
from planner.inputs import Inputs
from planner.levers import Change, Lever, levers
from planner.loader import load
from planner.optimizer.effort import Effort
from tests.oracle.enumerate import Best, best
from tests.world.random_cases import inputs_of
from tests.world.requests import two_systems

SLOW = frozenset(
    {4, 8, 17, 18, 22, 28, 29, 32, 51, 54, 58, 59, 73, 80, 82, 86, 88, 97, 102, 106, 107, 109}
    | {110, 112, 116, 117, 126, 129, 130, 135}
)
"""Seeds whose problems take long to enumerate without a limit."""
SEEDS = [seed for seed in range(56) if seed not in SLOW]
CHUNKS = 6
PROBLEMS = shipped.problem_files()
SMALL_MEMORY = ("consider.gpu_systems=[nvidia_dgx_h100]",)
WITH_PLAN: list[tuple[str, tuple[str, ...]]] = [
    *((name, ()) for name in PROBLEMS if name != "infeasible_restore"),
    ("10MW", SMALL_MEMORY),
    ("space_limited", SMALL_MEMORY),
]
FARTHER = (1.07, 1.5, 4.0)
SAME = 1e-9


def enumerated(inputs: Inputs) -> Best | None:
    parts = (inputs.items, inputs.families, inputs.prices, inputs.discounts)
    return best(inputs.problem, *parts)


def looser(lever: Lever, random: Random) -> Iterator[tuple[Change, ...]]:
    """Yield changes that let more plans in: a lever given up, and moved a bit or far."""
    yield lever.off
    if lever.value is None:
        return
    factor = random.choice(FARTHER)
    value = lever.value * factor if lever.looser > 0 else lever.value / factor
    value = float(round(value)) if lever.whole else value
    value = min(max(value, lever.least), lever.most)
    if value != lever.value:
        yield lever.reaching(value)


# The shipped catalogs know more of their items than drawn ones do: memory above all.


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize(("name", "settings"), WITH_PLAN)
def test_no_shipped_problem_loses_its_plan(name: str, settings: tuple[str, ...]) -> None:
    inputs = load(PROBLEMS[name], settings=settings)
    oracle, everything, random = Oracle(inputs, Effort()), levers(inputs), Random(1)
    assert oracle.possible(()) is True
    lost = [lever.path for lever in everything if oracle.possible(lever.off) is not True]
    assert lost == []
    for share in (1.0, 0.7, 0.5, 0.3):
        some = [lever for lever in everything if random.random() < share]
        assert oracle.possible(off(some)) is True, [lever.path for lever in some]


@pytest.mark.parametrize(
    ("pipeline", "least"),
    [(8, 2), (3, 2), (2, None), (1, None)],  # 400 B over 8 x 2 GPUs: 50 GB each, of 80 GB
)
def test_fewer_stages_hold_the_weights_wherever_they_are_held(
    pipeline: int, least: int | None
) -> None:
    request = two_systems("400 B", tensor=8, pipeline=pipeline)
    request.job["gpus"] = {"whole": "systems"}
    known = {lever.path: lever for lever in levers(inputs_of(request.case()))}
    lever = known.get("jobs.0.parallelism.pipeline")
    assert (None if lever is None else lever.least) == least
