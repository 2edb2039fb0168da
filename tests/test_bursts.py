"""Bursts: a checkpoint that fits the buffers drains at burst rate, and they recover in time."""

from __future__ import annotations

import itertools
from functools import cache, cached_property
from random import Random
from typing import Any

import numpy as np
import pytest

from planner import api
from planner.case import resolve
from planner.inputs import Inputs
from planner.schema.catalog import Family, Item
from planner.schema.plan import Plan
from planner.schema.problem import Problem
from planner.verifier import recheck
from tests.oracle.operation import best_interval_s, goodput
from tests.test_edges import FILES, STORE, priced, system
from tests.world.catalog import figure

SLOW, WINDOW_S = 8.0, 30.0
QUICK = Family.model_validate({"id": "quick", "vendor": "Q", "name": "quick"})


def buffered(fast: float) -> Item:
    fields: dict[str, Any] = {"id": "buffered", "vendor": "Q", "model": "buffered"}
    fields |= {"category": "storage", "family": "quick"}
    fields["provides"] = {
        "read": figure("60 GB/s"), "write": figure(f"{SLOW} GB/s"), "usable": figure("200 TB"),
        "burst_write": figure(f"{fast} GB/s"), "burst_window": figure(f"{WINDOW_S} s"),
    }  # fmt: skip
    fields["consumes"] = {"it_power": figure("2 kW"), "rack_units": figure("2 RU")}
    return Item.model_validate(fields)


class Draw:
    """A random hall whose storage is one that bursts or one that does not."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.size_gb = random.choice((300.0, 1200.0, 2500.0, 6000.0))
        self.fast = random.choice((20.0, 40.0, 160.0))
        self.usd = {"gpu": 300_000.0, "store": 500_000.0}
        self.usd["buffered"] = random.choice((60_000.0, 200_000.0))
        self.capex_usd = random.uniform(1.5e6, 5e6)
        self.mode = random.choice(("async", "async", "sync"))
        self.families = random.choice((1, 2))
        self.stall_s = random.choice((0.1, 5.0))
        self.overlap = random.choice((0.1, 0.5))

    def inputs(self) -> Inputs:
        problem = {
            "name": "bursts",
            "site": {"pue": 1.0},
            "storage": {
                "delivered_fraction": {"read": 1.0, "write": 0.8}, "max_families": self.families
            },
            "jobs": (
                {
                    "name": "job",
                    "lost_time": "none",
                    "failures": {"per_gpu_day": 0.02},
                    "checkpoint": {
                        "size": f"{self.size_gb} GB", "mode": self.mode, "keep_last": 0,
                        "stall": f"{self.stall_s} s", "max_overlap": self.overlap,
                        "interval": {"policy": "optimal", "min": "10 s", "max": "2 h"},
                    },
                    "training": {"mfu": 0.4},
                },
            ),
            "budget": {"capex": f"{self.capex_usd} USD"},
            "objective": {"maximize": "useful_gpus", "indifference": 0},
        }  # fmt: skip
        return Inputs(
            problem=Problem.model_validate(problem),
            items=(system("gpu", 8), STORE, buffered(self.fast)),
            families=(FILES, QUICK),
            prices=priced(**self.usd),
        )

    @cached_property
    def plan(self) -> Plan:
        return api.solve_with(self.inputs(), api.Options(explain=False))

    def best(self) -> float:
        """Return the most useful GPUs of any purchase, by trying each."""
        best = 0.0
        for gpu, store, fast in itertools.product(range(1, 17), range(7), range(40)):
            if (not store and not fast) or (self.families == 1 and store and fast):
                continue
            units = {"gpu": gpu, "store": store, "buffered": fast}
            if sum(self.usd[name] * count for name, count in units.items()) > self.capex_usd:
                continue
            best = max(best, *(self.useful(used, store, fast) for used in range(1, gpu + 1)))
        return best

    def useful(self, used: int, store: int, fast: int) -> float:
        gpus, ports = 8 * used, 8.0 * used
        if 250 * store + 200 * fast < self.size_gb / 1000 / 0.85:
            return 0.0
        sustained, burst = 0.8 * (65 * store + SLOW * fast), 0.8 * (65 * store + self.fast * fast)
        buffers = 0.8 * (self.fast - SLOW) * WINDOW_S * fast
        drain_s = max(self.size_gb / burst, (self.size_gb - buffers) / sustained)
        drain_s = max(drain_s, self.size_gb / ports)
        empty_s = self.size_gb / sustained
        mtti_s = 86_400 / (0.02 * gpus)
        read = min(90 * store + 60 * fast, ports)
        stall_s, lag_s = (drain_s, 0.0) if self.mode == "sync" else (self.stall_s, drain_s)
        share = 0.05 if self.mode == "sync" else self.overlap
        low = max(drain_s / share, empty_s, 10.0, stall_s + lag_s)
        if low > 7200.0:
            return 0.0
        stall, lag = np.array([stall_s]), np.array([lag_s])
        every = best_interval_s(stall, mtti_s, np.array([low]), 7200.0)
        back = np.array([600 + self.size_gb / read])
        return float(gpus * goodput(every, stall, lag, back, mtti_s)[0])


@cache
def drawn(seed: int) -> Draw:
    return Draw(seed)


@pytest.mark.parametrize("seed", range(30))
def test_the_optimum_with_bursts_is_the_enumerated_one(seed: int) -> None:
    draw = drawn(seed)
    plan, best = draw.plan, draw.best()
    assert plan.status == ("optimal" if best else "infeasible")
    if best:
        assert plan.jobs[0].useful_gpus == pytest.approx(best, rel=5e-6)


def test_draws_fill_buffers_recover_late_and_mix() -> None:
    plans = [drawn(seed).plan for seed in range(30)]
    bursts = [plan.jobs[0] for plan in plans if plan.jobs and plan.jobs[0].burst is not None]
    fits = [job.delivered_write_gb_per_s > 0.99 * job.burst.delivered_write_gb_per_s  # type: ignore[union-attr]
            for job in bursts]  # fmt: skip
    assert True in fits and False in fits
    tight = {limit.name for plan in plans for limit in plan.limits if limit.binding}
    assert "burst_recovery" in tight


def test_units_that_may_be_down_leave_no_bursts() -> None:
    inputs = Draw(1).inputs()
    storage = inputs.problem.storage.model_copy(update={"tolerate_down": 1})
    problem = inputs.problem.model_copy(update={"storage": storage})
    case = resolve(
        Inputs(problem=problem, items=inputs.items, families=inputs.families, prices=inputs.prices)
    )
    assert not case.bursts


def test_a_window_that_is_overstated_fails_verification() -> None:
    draw = next(d for d in map(drawn, range(30)) if (p := d.plan).jobs and p.jobs[0].burst)
    plan = draw.plan
    job = plan.jobs[0]
    assert job.burst is not None
    wrong = job.burst.model_copy(update={"buffer_gb": 2 * job.burst.buffer_gb})
    told = plan.model_copy(update={"jobs": (job.model_copy(update={"burst": wrong}),)})
    assert any("burst" in text for text in recheck(draw.inputs(), told).disagreements)
