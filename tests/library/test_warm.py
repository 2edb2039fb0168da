"""What is asked again in one process, after changes, is what a first question would be told."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

import planner

CHANGES = (
    {"site.facility_power": "8.7 MW"},
    {"site.facility_power": "10.2 MW"},
    {"budget.capex": "395 MUSD"},
    {"storage.delivered_fraction.write": "0.35"},
    {"jobs.0.failures.per_gpu_day": "1e-4"},
    {"jobs.0.checkpoint.max_overlap": "4 %"},
    {"objective": "{minimize: tco}", "targets.max_days_to_train": "130 days"},
    {"site.facility_power": "60 kW"},
)


def plans(order: Sequence[int]) -> dict[int, str]:
    """Return the plan of each change as text, asked in an order of one problem that is loaded."""
    inputs = planner.load(planner.example("10MW"))
    return {
        place: planner.solve(inputs, settings=CHANGES[place], explain_none=False).model_dump_json()
        for place in order
    }


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("seed", range(1, 9))
def test_a_plan_does_not_depend_on_what_was_asked_before(seed: int) -> None:
    order = list(range(len(CHANGES)))
    random.Random(seed).shuffle(order)
    first = plans(order)
    assert plans([*reversed(order)]) == first
    alone = order[0]
    inputs = planner.load(planner.example("10MW"), settings=CHANGES[alone])
    assert planner.solve(inputs, explain_none=False).model_dump_json() == first[alone]
