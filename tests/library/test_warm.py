"""What is asked again in one process, after changes, is what a first question would be told."""

from __future__ import annotations

import random
from functools import cache

import pytest

import planner

CHANGES = (
    {"site.facility_power": "8.7 MW"},
    {"storage.delivered_fraction.write": "0.35"},
    {"jobs.0.checkpoint.max_overlap": "4 %"},
    {"objective": "{minimize: tco}", "targets.max_days_to_train": "130 days"},
    {"site.facility_power": "60 kW"},
)


@cache
def alone(place: int) -> str:
    """Return the plan of a change, asked of a problem that is loaded with it."""
    inputs = planner.load(planner.example("10MW"), settings=CHANGES[place])
    return planner.solve(inputs, explain_none=False).model_dump_json()


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("seed", range(1, 9))
def test_a_plan_does_not_depend_on_what_was_asked_before(seed: int) -> None:
    order = list(range(len(CHANGES)))
    random.Random(seed).shuffle(order)
    inputs = planner.load(planner.example("10MW"))
    for place in order:
        plan = planner.solve(inputs, settings=CHANGES[place], explain_none=False)
        assert plan.model_dump_json() == alone(place), CHANGES[place]
