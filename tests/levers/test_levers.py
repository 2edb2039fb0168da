"""Levers: moved in memory they give what the file gives with the same change by `--set`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import shipped, units
from planner.currency import USD
from planner.infeasible import Oracle, removing_changes
from planner.inputs import Change, Inputs, applied
from planner.levers import Lever, levers, write_value
from planner.loader import documents, load, read_document
from planner.optimizer.search import Effort
from planner.paths import value_at
from planner.schema.problem import Problem
from tests.world.random_cases import random_case, write_case

PROBLEMS = shipped.problem_files()
SEEDS = range(40)
EXACT = 1e-11
"""Texts are exact to 12 digits."""
SHARES = (1.0, 1.07, 1 / 1.07, 0.93, 1.0123456789012345, 0.98765432109876)
RARE = (
    "policy.require_vendors=[DDN]",
    "policy.split=[{category: gpu_system, max_share: 67 %}]",
    "jobs.0.gpus.whole=systems",
    "jobs.0.restore.fan_out=broadcast",
    "site.weight_limit=900 t",
)
"""Limits that neither a shipped problem nor a drawn one has, as changes of `full_bill`."""
RARE_LEVELS = (
    "jobs.0.checkpoint.local.use=yes",
    "jobs.0.checkpoint.local.keep=3",
    "jobs.0.repair.spares=4",
    "jobs.0.checkpoint.local.k=5",
)
"""The same for jobs with a local level and repair, as changes of `local_level`."""


@cache
def inputs_of(name: str) -> Inputs:
    return load(PROBLEMS[name])


def problem_of(path: Path, settings: tuple[str, ...]) -> Problem:
    """Return the problem of a file with settings, without its catalogs: quick."""
    document = read_document(path, settings, None)
    return documents.validated(Problem, document)


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Yield where two dumped problems differ by more than the digits of a text."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            yield from differences(one.get(key), other.get(key), f"{path}.{key}")
    elif isinstance(one, tuple | list) and isinstance(other, tuple | list):
        if len(one) != len(other):
            yield f"{path}: {one} and {other}"
        for place, pair in enumerate(zip(one, other, strict=False)):
            yield from differences(*pair, f"{path}.{place}")
    elif isinstance(one, float) and isinstance(other, float):
        if not math.isclose(one, other, rel_tol=EXACT):
            yield f"{path}: {one!r} and {other!r}"
    elif (type(one), one) != (type(other), other):
        yield f"{path}: {one!r} and {other!r}"


def values_of(lever: Lever) -> Iterator[float]:
    """Yield where a lever stands, and places to either side of it."""
    assert lever.value is not None
    for share in SHARES:
        value = lever.value * share
        value = float(round(value)) if lever.whole else value
        if value > 0 or (lever.whole and value == 0):
            yield min(max(value, lever.least), lever.most)


def changes_of(lever: Lever) -> Iterator[tuple[Change, ...]]:
    if lever.value is not None:
        yield from (lever.to(value) for value in values_of(lever))
    if all(change.text for change in lever.off):
        yield lever.off


def faults(inputs: Inputs, path: Path, made: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield where a change in memory is another than by ``--set``, beside settings made before."""
    for lever in levers(inputs):
        for changes in changes_of(lever):
            settings = tuple(change.setting for change in changes)
            here = applied(inputs, changes).problem.model_dump()
            there = problem_of(path, (*made, *settings)).model_dump()
            yield from (f"{settings}: {fault}" for fault in differences(here, there))


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("name", PROBLEMS)
def test_shipped_problems_change_alike_in_memory_and_by_set(name: str) -> None:
    assert list(faults(inputs_of(name), PROBLEMS[name])) == []


@pytest.mark.parametrize(("name", "rare"), [("full_bill", RARE), ("local_level", RARE_LEVELS)])
def test_rare_limits_change_alike_in_memory_and_by_set(name: str, rare: tuple[str, ...]) -> None:
    path = PROBLEMS[name]
    assert list(faults(load(path, settings=rare), path, rare)) == []


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("seeds", [SEEDS[start::8] for start in range(8)], ids=str)
def test_random_problems_change_alike_in_memory_and_by_set(
    seeds: tuple[int, ...], tmp_path: Path
) -> None:
    for seed in seeds:
        path = write_case(random_case(seed), tmp_path)
        assert list(faults(load(path), path)) == [], f"seed {seed}"


@pytest.mark.parametrize("name", PROBLEMS)
def test_where_a_lever_stands_is_what_the_file_says(name: str) -> None:
    inputs = inputs_of(name)
    for lever in levers(inputs):
        if lever.value is not None:
            assert applied(inputs, lever.to(lever.value)).problem == inputs.problem, lever.path
            assert value_at(inputs.problem, lever.path) == lever.value


def test_the_loader_takes_a_lever_as_set(tmp_path: Path) -> None:
    """With its catalogs and checks, and the plan tells of it."""
    inputs = inputs_of("space_limited")
    for lever in levers(inputs):
        changes = lever.off if lever.value is None else lever.to(lever.value)
        settings = tuple(change.setting for change in changes)
        loaded = load(PROBLEMS["space_limited"], settings=settings)
        told = applied(inputs, changes, recorded=True)
        assert loaded.problem == told.problem, settings
        assert loaded.overrides == told.overrides == settings


# Looser is looser: no plan is lost where limits give way.

SMALL_MEMORY = ("consider.gpu_systems=[nvidia_dgx_h100]",)
WITH_PLAN: list[tuple[str, tuple[str, ...]]] = [
    *((name, ()) for name in PROBLEMS if name != "infeasible_restore"),
    ("10MW", SMALL_MEMORY),
    ("space_limited", SMALL_MEMORY),
]


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
        assert oracle.possible(removing_changes(some)) is True, [lever.path for lever in some]


# Values as a problem file has them: read back the same, short, and without noise.


RANGES = {
    "kW": (1e-3, 1e9), "USD": (1e-2, 1e15), "s": (1e-3, 1e9), "days": (1e-3, 1e6),
    "GB/s": (1e-6, 1e6), "TB": (1e-6, 1e9), "share": (1e-6, 1.0), "number": (1e-6, 1e9),
}  # fmt: skip
"""What values of a unit may be."""
PLAIN = re.compile(r"-?\d+(\.\d*[1-9])?( [A-Za-z%/]+)?\Z")
RATES = {"USD": USD}
DIMENSIONS = {each.unit: each for each in vars(units).values() if isinstance(each, units.Dimension)}
DIMENSIONS |= {
    "kW": units.POWER, "USD": units.MONEY, "s": units.TIME, "days": units.DAYS,
    "GB/s": units.BANDWIDTH, "TB": units.CAPACITY, "kg": units.WEIGHT, "share": units.SHARE,
    "number": units.NUMBER,
}  # fmt: skip


def read(text: str, unit: str, rates: units.Rates) -> float:
    return units.parse(text, DIMENSIONS[unit], rates)


def values(unit: str) -> st.SearchStrategy[float]:
    low, high = RANGES[unit]
    return st.floats(low, high, allow_nan=False)


@pytest.mark.parametrize("unit", RANGES)
@given(data=st.data())
def test_read_gives_back_what_was_written(unit: str, data: st.DataObject) -> None:
    value = data.draw(values(unit))
    text = write_value(value, unit)
    assert PLAIN.match(text), text
    assert read(text, unit, RATES) == pytest.approx(value, rel=EXACT)
    again = write_value(read(text, unit, RATES), unit)
    assert read(again, unit, RATES) == pytest.approx(value, rel=EXACT)
