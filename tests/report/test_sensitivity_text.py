"""Sensitivity studies on the screen: what they say, how wide they are, what they survive."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from planner.report.screen import show
from planner.report.views import sweep
from planner.report.views.sweep import best, stretches
from planner.results import view_of
from planner.schema.analysis import Sweep
from planner.terminal import STANDARD
from tests.report import samples_sensitivity as samples
from tests.report.hostile import TEXTS
from tests.report.samples_sensitivity import POWER, everything, saying


def shown(study: Any) -> str:
    rows = {"rows": samples.power_sweep()[1]} if isinstance(study, Sweep) else {}
    return show(view_of(study).blocks(study, **rows), full=True)


def line_of(text: str, word: str) -> str:
    return next(line for line in text.splitlines() if word in line)


# A sweep.


def test_stretches_cover_every_row_once() -> None:
    study, rows = samples.power_sweep()
    found = stretches(study, rows, POWER)
    assert sum(each.rows for each in found) == study.rows
    assert [each.first for each in found[1:]] == [each.last + 1 for each in found[:-1]]
    systems = rows["units.nvidia_gb200_nvl72"]
    assert all(systems[each.first] == systems[each.last] for each in found)
    assert all(systems[one.first] != systems[other.first] for one, other in pairwise(found))


def test_the_best_row_follows_the_sense_of_the_objective() -> None:
    study, rows = samples.power_sweep()
    assert best(study, rows) == 100
    assert best(study.model_copy(update={"sense": "minimize"}), rows) == 7


def test_a_sweep_without_rows_or_without_a_plan() -> None:
    study, rows = samples.power_sweep(21)
    none = study.model_copy(update={"rows": 0, "asked": 0, "statuses": {}})
    assert "Ended   no scenario" in show(sweep.view(none, {name: [] for name in rows}))
    broke, without = samples.sweep(
        (POWER,), [(float(at),) for at in range(5)], lambda at: samples.answer(at)
    )
    assert "5 scenarios: " in show(sweep.view(broke, without))


# A frontier.


def test_a_frontier_marks_its_knee_and_its_best() -> None:
    text = shown(samples.storage_frontier())
    assert line_of(text, " knee  ").split()[:2] == ["knee", "102.4"]
    assert line_of(text, " best  ").split()[:2] == ["best", "614.4"]
    said = " ".join(text.split())
    assert "Knee 102.4 GB/s of delivered write bandwidth: " in said
    assert "96.0 % of the best" in said
    assert "light rule: 2,483.2 GB/s, 3,988 PFLOP/s" in said
    assert "best rule: no plan: no plan meets every limit" in said


def test_many_points_keep_the_knee_the_best_and_the_ends() -> None:
    points = tuple(samples.point(10.0 * at, 1000.0 + at) for at in range(1, 301))
    study = samples.storage_frontier().model_copy(update={"points": points, "knee": 3, "best": 77})
    text = shown(study)
    assert "of 300 points; the files have all" in text
    for place in ("10 ", "knee ", "best ", "3,000 "):
        assert any(line.lstrip().startswith(place) for line in text.splitlines())


# An uncertainty study.


def test_inputs_are_ranked_by_their_share_of_the_variance() -> None:
    part = shown(samples.uncertain()).split("Sensitivity indices")[1].splitlines()[2:6]
    places = [" ".join(part).index(name) for name in ("failures per GPU", "price of", "delivered")]
    assert places == sorted(places)


# All of them.


@pytest.mark.parametrize("name", everything())
def test_no_line_is_wider_than_the_screen(name: str) -> None:
    assert max(map(len, shown(everything()[name]).splitlines())) <= STANDARD


@pytest.mark.parametrize("name", everything())
@pytest.mark.parametrize("hostile", ["control", "lines", "override", "long", "escape", "hebrew"])
def test_no_name_steers_the_terminal_or_breaks_the_table(name: str, hostile: str) -> None:
    text = shown(saying(everything()[name], TEXTS[hostile]))
    assert all(c.isprintable() or c == "\n" for c in text)
    _, *lines = text.splitlines()  # the title is the problem's name, as long as it is
    assert max(map(len, lines)) <= STANDARD
