"""The local level of checkpoints: optimum, verifier, workbook, screens and what is refused.

The optimiser stands against enumeration over purchases, N, k and the interval of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest

from planner import shipped
from planner.errors import InputError
from planner.loader import load
from planner.schema.operation import LocalPlan
from planner.schema.plan import Plan
from tests.world.solved import solved as solved_once

PROBLEM = "local_level"


@cache
def solved(scenario: str | None = None) -> Plan:
    return solved_once(PROBLEM, scenario=scenario, explain=False)


def local_of(plan: Plan) -> LocalPlan:
    local = plan.jobs[0].local
    assert local is not None
    return local


def test_the_level_leaves_storage_little_to_do() -> None:
    """The finding: drains of few MB/s per GPU, within 10 % of the time between them."""
    near, alone = solved().jobs[0], solved("storage_alone").jobs[0]
    assert local_of(solved()).every > 8 and alone.local is None
    assert near.overlap <= 0.1 * (1 + 1e-7)
    assert near.delivered_write_gb_per_s < alone.delivered_write_gb_per_s / 5
    assert 1000 * near.delivered_write_gb_per_s / near.gpus_used < 15
    assert near.goodput > alone.goodput + 0.01
    assert near.interval_s < alone.interval_s


JOB = "jobs.frontier-1t"
LOCAL = f"{JOB}.checkpoint.local"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({f"{JOB}.checkpoint.stall": "5 s"}, "stall_overhead adds to a derived stall"),
        ({f"{JOB}.failures.shares.rack": "4 %"}, "add up to 101 %"),
        ({f"{JOB}.checkpoint.mode": "sync"}, "is for checkpoints that drain while GPUs go on"),
        ({f"{LOCAL}.recovers.pdu": "no"}, "name different classes: pdu"),
        ({f"{LOCAL}.recovers.rack": "yes"}, "survives every class of failures"),
        ({f"{LOCAL}.k": "some"}, "'some' is not known here; expected one of: open"),
        ({f"{LOCAL}.k": "0"}, "k"),
        ({f"{LOCAL}.copies": "0"}, "copies"),
    ],
)
def test_what_does_not_fit_together_is_refused(settings: Mapping[str, str], said: str) -> None:
    file = shipped.problem_files()[PROBLEM]
    with pytest.raises(InputError) as caught:
        load(file, settings=tuple(f"{path}={value}" for path, value in settings.items()))
    assert said in str(caught.value)
