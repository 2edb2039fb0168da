"""Demands that contradict one another: refused before solving, with what would be right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from planner.api import load, solve_inputs
from planner.errors import InputError
from planner.inputs import Inputs
from planner.levers import applied, levers
from planner.loader.checks import check_problem
from tests.infeasible.plant import drawn, has_plan
from tests.levers.test_looser import SEEDS
from tests.world.files import CATALOG, FILES, PROBLEM, changed
from tests.world.random_cases import inputs_of
from tests.world.requests import two_systems

FASTEST = "bf16_dense: {value: 989 TFLOP/s, source: sheet, confidence: high}"
MOST = "jobs.0.gpus={max: 64}"
EVERY = "jobs.0.checkpoint.interval={policy: fixed, every: 100 s}"
FASTER = ("jobs.0.training={mfu: 40 %, precision: fp8}", "objective.maximize=useful_gpus")
# settings | the one that contradicts them | the least that does not | refused place | part of it
CASES = [
    ((), "jobs.0.gpus={max: 31}", "jobs.0.gpus={max: 32}", "gpus.max", "replica takes 32 GPUs"),
    ((MOST,), "targets={min_gpus: 65}", "targets={min_gpus: 64}", "gpus.max", "min_gpus is 65"),
    ((MOST,), "targets={min_useful_gpus: 64}", "targets={min_useful_gpus: 63.9}", "gpus.max", ""),
    ((EVERY,), "targets={min_goodput: 95.1 %}", "targets={min_goodput: 95 %}", "goodput", "95 %"),
    ((), "targets={min_goodput: 99.99 %}", "targets={min_goodput: 99.96 %}", "goodput", "99.97 %"),
    (
        (),
        "jobs.0.parallelism={tensor: 16, pipeline: 2}",
        "jobs.0.parallelism={tensor: 8, pipeline: 4}",
        "parallelism",
        "at most 8",
    ),
]
# 140 GB of weights, half of it in FP8: memory | settings | too few GPUs | enough
MEMORY = [
    ("4.1 GB", (), "{tensor: 2, pipeline: 17}", "{tensor: 5, pipeline: 7}"),
    ("4 GB", FASTER, "{tensor: 2, pipeline: 8}", "{tensor: 2, pipeline: 9}"),
]
NO_CONTRADICTION = [
    ("targets={min_goodput: 99.99 %}", "jobs.0.checkpoint.mode=sync"),
    ("targets={min_goodput: 99.99 %}", "jobs.0.checkpoint.mode=open"),
    ("targets={min_goodput: 100 %}", "jobs.0.checkpoint.stall=0 s"),
    ("jobs.0.parallelism={tensor: 1, pipeline: 1}",),
    ("storage.max_families=9",),
]


def contradictions(inputs: Inputs) -> list[str]:
    return [each.message for each in check_problem(inputs) if each.code == "contradiction"]


def lay_out(folder: Path, memory: str | None = None) -> Path:
    """Write the files of a small hall, whose GPUs have a memory."""
    files = {**FILES, "problem.yaml": changed(PROBLEM, "  max_families: 1\n", "")}
    if memory is not None:
        figure = f"memory: {{value: {memory}, source: sheet, confidence: high}}"
        files["own.yaml"] = changed(CATALOG, FASTEST, f"{FASTEST}\n      {figure}")
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    return folder / "problem.yaml"


@pytest.mark.parametrize(("others", "wrong", "near", "path", "says"), CASES)
def test_a_contradiction_is_refused_and_the_least_right_is_not(
    others: tuple[str, ...], wrong: str, near: str, path: str, says: str, tmp_path: Path
) -> None:
    problem = lay_out(tmp_path)
    with pytest.raises(InputError) as refused:
        load(problem, settings=(*others, wrong))
    (fault,) = [each for each in refused.value.findings if each.code == "contradiction"]
    assert path in (fault.path or "") and says in fault.message
    assert contradictions(load(problem, settings=(*others, near))) == []


@pytest.mark.parametrize(("memory", "others", "wrong", "near"), MEMORY)
def test_weights_that_no_gpu_holds_are_refused(
    memory: str, others: tuple[str, ...], wrong: str, near: str, tmp_path: Path
) -> None:
    problem = lay_out(tmp_path, memory)
    with pytest.raises(InputError, match="the weights take 4"):
        load(problem, settings=(*others, f"jobs.0.parallelism={wrong}"))
    assert load(problem, settings=(*others, f"jobs.0.parallelism={near}"))


@pytest.mark.parametrize("settings", NO_CONTRADICTION)
def test_what_only_looks_like_a_contradiction(settings: tuple[str, ...], tmp_path: Path) -> None:
    assert contradictions(load(lay_out(tmp_path), settings=settings)) == []


# No plan is ever refused.


def tighter(inputs: Inputs, random: Random) -> Iterator[Inputs]:
    """Yield a problem with each limit tighter in turn."""
    for lever in levers(inputs):
        if lever.value is None or lever.between:
            continue
        share = random.choice((0.9, 0.5, 0.2))
        value = lever.value * share if lever.looser > 0 else lever.value / share
        value = min(value, 1.0) if lever.unit == "share" else value
        value = float(round(value)) if lever.whole else value
        if value > 0:
            yield applied(inputs, lever.to(value))


def test_no_problem_that_has_a_plan_is_contradictory() -> None:
    refused = 0
    for seed in SEEDS:
        inputs = drawn(seed)
        for one in (inputs, *tighter(inputs, Random(seed))):
            if found := contradictions(one):
                refused += 1
                assert not has_plan(one), (seed, found)
    assert refused > 0


# Memory: the weights of a replica have to fit into its GPUs.


@pytest.mark.parametrize(
    ("parameters", "precision", "taken"),
    [
        ("320 B", "bf16", "small"),  # 80 GB each: it just fits
        ("320.001 B", "bf16", "large"),
        ("640 B", "fp8", "small"),
        ("640.001 B", "fp8", "large"),
        ("769 B", "bf16", "silent"),  # whose memory nobody states
    ],
)
def test_weights_fit_to_the_last_byte_or_not(parameters: str, precision: str, taken: str) -> None:
    request = two_systems(parameters, tensor=8, pipeline=1)
    request.job["training"] = {"mfu": 0.5, "precision": precision}
    plan = solve_inputs(inputs_of(request.case()))
    assert {line.sku for line in plan.lines if line.section == "Compute"} == {taken}
