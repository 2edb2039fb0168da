"""No answer depends on a clock; a time limit, where there is one, holds for all that is done."""

from __future__ import annotations

import random
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import planner
from planner import api, shipped
from planner.analysis.compare import rules_table
from planner.analysis.explain import explain
from planner.api import Options
from planner.loader import load
from planner.optimizer.search import Answer, Search
from planner.report.explain import view
from planner.report.screen import show
from tests.world.commands import once, ran

OCTET = str(shipped.problem_files()["gpt3_octet"])
RESTORE = str(shipped.problem_files()["infeasible_restore"])
OVER = Options(time_limit_s=1.0, deadline=0.0)
"""Options whose time is over."""


@pytest.fixture
def hasty_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock by which a thousand seconds pass whenever somebody looks."""
    now = iter(range(10**9, 2 * 10**9, 1000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("problem", ["small", OCTET, RESTORE])
@pytest.mark.usefixtures("hasty_clock")
def test_explanations_are_the_same_however_fast_the_clock(problem: str, small: str) -> None:
    file = small if problem == "small" else problem
    assert ran("explain", file, "--json") == once("explain", file, "--json")


def test_after_the_time_no_question_is_begun_and_all_are_named(
    small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = load(Path(small))
    plan = api.solve_with(inputs, Options())
    built: list[str] = []
    monkeypatch.setattr(Search, "look_at", lambda *_: built.append("box"))
    found = explain(inputs, OVER, plan=plan)
    rules = rules_table(inputs, plan, OVER)
    assert built == []
    assert found.plan == plan
    assert found.marginals == ()
    assert found.undecided == ("the worth of each limit",)
    assert found.why_not is not None
    assert all(row.value is None and row.reason for row in found.why_not.forced)
    assert all(
        item.break_even is None or item.break_even.outcome != "found"
        for item in found.why_not.items
    )
    screen = show(view(found), full=True)
    assert "not decided, as it takes too long: the worth of each limit" in screen
    assert "a step of any of them changes nothing" not in screen
    others = [row for row in rules.rows if not row.own]
    assert others
    assert all(row.reason for row in others)


def test_no_time_for_a_problem_without_a_plan_claims_nothing() -> None:
    found = api.why_infeasible(load(Path(RESTORE)), OVER)
    assert (found.conflicts, found.changes, found.combined) == ((), (), None)
    assert "jobs.0.restore.max_time" in found.undecided


def test_a_choice_among_equals_that_is_cut_short_is_told(
    small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Search.run

    def proof_alone(self: Search, *given: Any) -> list[Answer]:
        answers = run(self, *given)
        return [answer._replace(ended=self.goal.kind == "work") for answer in answers]

    inputs = load(Path(small))
    chosen = api.solve_with(inputs, Options())
    monkeypatch.setattr(Search, "run", proof_alone)
    plan = api.solve_with(inputs, Options())
    assert plan.status == "optimal"
    assert plan.verdict["search"].startswith("the end of the search came before the cheapest")
    assert "search" not in chosen.verdict


# The best plan of a problem has one value, whichever command states it.


def test_one_clock_runs_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    options = Options(time_limit_s=40.0).started()
    now[0] = 110.0
    assert options.started().deadline == options.effort.deadline == 140.0
    assert options.turn(3).deadline == 120.0
    assert options.for_search(0.95).deadline == pytest.approx(138.5)
    assert options.for_search(0.5).deadline == options.part(0.5).deadline == 125.0
    assert Options(time_limit_s=40.0).turn(3).deadline == Options().deadline  # each has all of it


# What is asked again in one process, after changes, is what a first question would be told.


CHANGES = (
    {"site.facility_power": "8.7 MW"},
    {"objective": "{minimize: tco}", "targets.max_days_to_train": "130 days"},
    {"consider.vendors": "[NVIDIA]"},
)


@cache
def alone(place: int) -> str:
    """Return the plan of a change, asked of a problem that is loaded with it."""
    inputs = planner.load(planner.example("10MW"), settings=CHANGES[place])
    return planner.solve(inputs).model_dump_json()


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("seed", range(1, 9))
def test_a_plan_does_not_depend_on_what_was_asked_before(seed: int) -> None:
    order = list(range(len(CHANGES)))
    random.Random(seed).shuffle(order)
    inputs = planner.load(planner.example("10MW"))
    for place in order:
        plan = planner.solve(inputs, settings=CHANGES[place])
        assert plan.model_dump_json() == alone(place), CHANGES[place]
