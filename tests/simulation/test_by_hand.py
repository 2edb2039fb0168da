"""Simulated jobs: runs by hand, times between failures, agreement with the formula."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planner import api
from planner.analysis.simulation import SimulationOptions, read_failures, study
from planner.errors import InputError
from planner.schema.operation import JobSimulated
from planner.schema.plan import Plan
from planner.simulation.job import Array, JobRun, Law, LocalCopies, RepairUnits, empirical
from planner.simulation.run import COUNTS, TIMES, Failures, Runs, mark_failures
from planner.sizing.goodput import goodput
from tests.world.random_cases import inputs_of
from tests.world.random_jobs import together
from tests.world.solved import solve

# Small jobs for the simulation, with round numbers, and their runs under given failures.


def job(**changes: Any) -> JobRun:
    """Every 100 s a checkpoint: 10 s of stall, 20 s of drain; 30 s of restart, 10 s of restore."""
    plain: dict[str, Any] = {
        "name": "job",
        "interval_s": 100.0,
        "stall_s": 10.0,
        "drain_s": 20.0,
        "restart_s": 30.0,
        "restore_s": 10.0,
        "failures": Law(1e9),
    }
    return JobRun(**(plain | changes))


def sync(**changes: Any) -> JobRun:
    """The same, standing still for 20 s until each checkpoint is written."""
    return job(**{"stall_s": 20.0, "drain_s": 0.0, "sync": True} | changes)


def given(
    times: Sequence[float],
    local: Sequence[bool] = (),
    out_s: Sequence[float] = (),
    luck: Sequence[float] = (),
) -> Failures:
    """Return failures of one run at given times, with their effects."""
    count = len(times) + 1

    def filled(values: Sequence[Any], kind: Any) -> Any:
        return np.array([[*values, *[0] * (count - len(values))]], kind)

    at_s = np.array([[*times, math.inf]])
    nought = np.zeros((1, count), np.intp)
    return Failures(at_s, filled(local, bool), filled(out_s, float), nought, filled(luck, float))


def budget(of: JobRun, length_s: float, failures: Failures) -> dict[str, float]:
    """Return seconds and counts of one run that are not 0; the seconds make up its length."""
    found = Runs(of, failures, 0.0, length_s).run()
    values = {name: float(found[name][0]) for name in (*TIMES, *COUNTS)}
    assert math.isclose(sum(values[name] for name in TIMES), length_s, rel_tol=1e-9)
    return {name: value for name, value in values.items() if abs(value) > 1e-7}


RUNS: dict[str, tuple[JobRun, float, Failures, dict[str, float]]] = {
    # 510 s apart: first 5 captures, the last of which has drained 10 of 20 s: 360 s kept, 10 lost
    # since the capture and 90 before it. Then 470 s are left: 360 kept, 70 lost.
    "failures at equal times": (job(), 1545.0, given((510.0, 1020.0, 1530.0)), {
        "kept": 1080.0, "rework": 150.0, "drain": 90.0, "capture": 130.0, "restart": 75.0,
        "restore": 20.0, "failures": 3.0}),
    "failure during restart or restore": (job(), 300.0, given((50.0, 70.0, 105.0)), {
        "rework": 50.0, "restart": 20.0 + 30.0 + 30.0, "restore": 5.0 + 10.0, "kept": 145.0,
        "capture": 10.0, "failures": 3.0}),
    "synchronous checkpoints are safe when written": (sync(), 1025.0, given((510.0, 1020.0)), {
        "kept": 720.0, "rework": 80.0, "capture": 180.0, "restart": 35.0, "restore": 10.0,
        "failures": 2.0}),
    "failure while writing loses the checkpoint": (sync(), 200.0, given((190.0,)), {
        "kept": 80.0, "capture": 30.0, "rework": 80.0, "restart": 10.0, "failures": 1.0}),
    "computing slows during a drain": (job(drain_slowdown=0.5), 360.0, given((350.0,)), {
        "kept": 250.0, "rework": 40.0, "slowdown": 30.0, "capture": 30.0, "restart": 10.0,
        "failures": 1.0}),
    # A drain of 120 s after 90 s of computing: each interval is 130 s.
    "drain longer than the interval": (job(drain_s=120.0), 1140.0, given(()), {
        "kept": 9 * 90.0, "capture": 90.0, "wait": 8 * 30.0}),
    # The second failure takes the spare's successor: out until 50 + 400 s, then a restart.
    "more units out than spares": (
        job(units=RepairUnits((1.0, 1.0), swap_s=5.0)), 500.0,
        given((50.0, 60.0), out_s=(400.0, 700.0)), {
        "rework": 50.0, "restart": 10.0 + 35.0, "repair": 390.0, "restore": 10.0, "kept": 5.0,
        "failures": 2.0, "taken": 2.0, "short_of_units": 1.0}),
    # At 50 s one of 4 replicas is out until 300 s. Restart to 90 s, captures end at 190 and 290 s,
    # the first after 300 s at 390 s; safe at 410 s, then a restart with all of them to 450 s.
    "shrinks and grows with its units": (
        job(units=RepairUnits((1.0, 0.75))), 460.0, given((50.0,), out_s=(250.0,)), {
        "rework": 50.0, "restart": 60.0, "restore": 20.0, "kept": 0.75 * 270.0 + 10.0,
        "short": 0.25 * 270.0, "capture": 30.0, "wait": 20.0, "failures": 1.0, "taken": 1.0,
        "grown": 1.0}),
}  # fmt: skip


@pytest.mark.parametrize("run", RUNS)
def test_seconds_of_a_run_by_hand(run: str) -> None:
    of, length_s, failures, expected = RUNS[run]
    assert budget(of, length_s, failures) == pytest.approx(expected)


LOCAL = LocalCopies(settle_s=15.0, every=3, restart_s=12.0)
"""Captures end at 100, 200, 300 s; the third drains from 315 to 335 s."""


@pytest.mark.parametrize(
    ("at_s", "near", "expected"),
    [
        (250.0, True, {"kept": 180.0, "rework": 50.0, "restart": 12.0}),
        (205.0, True, {"kept": 90.0, "rework": 5.0, "drain": 90.0, "restart": 12.0}),
        (250.0, False, {"rework": 50.0, "drain": 180.0, "restart": 30.0, "restore": 10.0}),
        (330.0, False, {"rework": 30.0, "drain": 270.0, "restart": 30.0, "restore": 10.0}),
        (340.0, False, {"kept": 270.0, "rework": 40.0, "restart": 30.0, "restore": 10.0}),
    ],
)
def test_a_failure_goes_back_to_the_level_that_survives(
    at_s: float, near: bool, expected: dict[str, float]
) -> None:
    length_s = at_s + (12.0 if near else 40.0)
    found = budget(job(local=LOCAL), length_s, given((at_s,), (near,)))
    captures = 10.0 * (at_s // 100)
    others = {"capture": captures, "failures": 1.0} | ({} if near else {"far": 1.0})
    assert found == pytest.approx(expected | others)


def test_a_drain_begins_anew_at_a_local_restart() -> None:
    """Struck at 320 s, 5 s into the drain: it would end anew at 332 + 20 s; at 340 s the local
    copies are lost as well."""
    found = budget(job(local=LOCAL), 380.0, given((320.0, 340.0), (True, False)))
    assert found.get("kept", 0.0) == 0.0
    assert found["far"] == 1.0


# Failure times: their distributions, and files of measured ones with every way to be wrong.


MEASURED = empirical((10.0, 20.0, 30.0, 100.0))


@pytest.mark.parametrize(
    ("law", "variation"),
    [
        (Law(40.0), 1.0),
        (Law(40.0, "weibull", 0.7), 1.462),
        (Law(40.0, "weibull", 3.0), 0.3634),
        (MEASURED, 0.883),
    ],
)
def test_times_have_the_mean_and_variation_of_their_law(law: Law, variation: float) -> None:
    gaps = law.draw(np.random.default_rng(1), (400, 500))
    assert gaps.mean() == pytest.approx(40.0, rel=0.01)
    assert gaps.std() / gaps.mean() == pytest.approx(variation, rel=0.03)
    twice = replace(law, mean_s=80.0).draw(np.random.default_rng(1), (400, 500))
    assert twice.mean() == pytest.approx(2 * gaps.mean())


GOOD = {
    "gap_h\n1\n2.5\n": (3600.0, 9000.0),
    "node,time between failures (min)\na,2\nb,\nc,3e0\n": (120.0, 180.0),
    "tbf\n90 s\n2 min\n": (90.0, 120.0),
    "hours\n1\n\n2\n": (3600.0, 7200.0),
    "gap_s;node\n5;a\n6;b\n": (5.0, 6.0),
    "when\n2026-03-01T10:00:00\n2026-03-01T12:00:00Z\n2026-03-01 11:00\n": (3600.0, 3600.0),
    "when\n2026-03-01\n2026-03-02\n2026-03-02\n2026-03-05\n": (86_400.0, 259_200.0),
    "Prob Started (mm/dd/yy hh:mm)\n6/1/2003 9:38\n6/13/2003 9:38\n6/2/2003 9:38\n": (
        86_400.0,
        950_400.0,
    ),
}


@pytest.mark.parametrize("text", GOOD)
def test_files_of_measured_times(text: str, tmp_path: Path) -> None:
    path = tmp_path / "failures.csv"
    path.write_text(text, "utf-8")
    names = text.partition("\n")[0].replace(";", ",").split(",")
    column = names[1] if "between" in text else names[0]
    assert read_failures(path, column).measured_s == pytest.approx(GOOD[text])
    if len(names) == 1:
        assert read_failures(path, None) == read_failures(path, column)


BAD = {
    ("", None): "the file is empty",
    ("a_h,b_h\n1,2\n", None): "columns: a_h, b_h; choose one: --failures FILE=COLUMN",
    ("gap_h\n1\n2\n", "gap_s"): "there is no column 'gap_s'; columns: gap_h; did you mean 'gap_h'?",
    ("gap\n1\n2\n", None): "failures.csv:2: column 'gap': '1' has no unit; name the column",
    ("gap_h\n1\n-2\n", None): "failures.csv:3: column 'gap_h': a time between interruptions must",
    ("gap_h\n1\nten\n", None): "failures.csv:3: column 'gap_h': cannot read 'ten' as time",
    ("gap_h\n1\n", None): "column 'gap_h' has 1 times between interruptions; 2 or more",
    ("when\n2026-03-01\n2026-13-01\n", None): "failures.csv:3: '2026-13-01' is not a time",
}


@pytest.mark.parametrize(("text", "column"), BAD)
def test_what_is_wrong_with_a_file_is_one_line(
    text: str, column: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "failures.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        read_failures(path, column)
    assert BAD[text, column] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_jobs_that_slurm_calls_failed(tmp_path: Path) -> None:
    """Neither steps, nor jobs that completed, were cancelled or still run."""
    path = tmp_path / "sacct.txt"
    rows = (
        "1|FAILED|2026-01-01T05:00:00",
        "1.batch|FAILED|2026-01-01T05:00:01",
        "2|COMPLETED|2026-01-01T06:00:00",
        "3|NODE_FAIL|2026-01-01T09:00:00",
        "4|CANCELLED by 1000|2026-01-01T10:00:00",
        "5|RUNNING|Unknown",
        "6|OUT_OF_MEMORY|2026-01-01T12:00:00",
    )
    path.write_text("\n".join(("JobID|State|End", *rows)) + "\n", "utf-8")
    assert read_failures(path).measured_s == pytest.approx((4 * 3600.0, 3 * 3600.0))


# Simulated and predicted goodput agree within 0.5 % where failures have no memory.


MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
MEANS = (15 * MINUTE, 12 * HOUR)
LANES, GAPS = 8, 1000


def cases(mean_s: float) -> list[tuple[JobRun, float]]:
    """Return jobs that are interrupted so often, with what the formula gives each."""
    found = []
    shares = [*product((0.02, 0.5), (0.002, 0.2), (0.05, 0.6), (10.0, 600.0))]
    for share, stall, drain, restart in shares[::3]:  # each value with each of the others
        interval = share * mean_s
        found.append((interval, stall * interval, drain * interval, restart, False))
    found += [(share * mean_s, 0.1 * share * mean_s, 0.0, 300.0, True) for share in (0.03, 0.3)]
    made = []
    for interval, stall, drain, restart, sync in found:
        read = (stall if sync else drain) / 2  # twice as fast as writing
        made.append((
            job(interval_s=interval, stall_s=stall, drain_s=drain, restore_s=read, sync=sync,
                restart_s=restart, failures=Law(mean_s)),
            goodput(interval, stall, drain, restart + read, mean_s),
        ))  # fmt: skip
    return made


def struck(mean_s: float, length_s: float) -> Failures:
    """Return failures whose gaps are drawn one from each of as many equally likely parts of the
    exponential distribution, so that hardly any of the noise of random draws is left.

    Runs begin and end with a failure: nothing is under way at their ends.
    """
    draws = np.random.default_rng(1)
    places = draws.permuted(np.tile(np.arange(GAPS), (LANES, 1)), axis=1)
    gaps = -mean_s * np.log1p(-(places + draws.random((LANES, GAPS))) / GAPS)
    times = np.hstack([np.full((LANES, 1), 1e-6), np.cumsum(gaps, 1)])
    times[times >= length_s] = math.inf
    last = np.full((LANES, 1), length_s * (1 - 1e-12))
    times = np.hstack([np.sort(np.hstack([times, last]), 1), np.full((LANES, 1), math.inf)])
    return mark_failures(job(), times, draws)


def simulated(jobs: Sequence[JobRun], mean_s: float) -> Array:
    """Return the goodput of jobs under the same failures."""
    length_s = GAPS * mean_s
    given = struck(mean_s, length_s)
    runs = [Runs(each, given, 0.0, length_s).run()["kept"] for each in jobs]
    return np.array([each.mean() / length_s for each in runs])


@pytest.mark.parametrize("mean_s", MEANS)
def test_formula_and_simulation_agree_within_half_a_percent(mean_s: float) -> None:
    jobs, formula = zip(*cases(mean_s), strict=True)
    kept = simulated(jobs, mean_s)
    off = np.abs(kept / np.array(formula) - 1.0)
    worst = int(off.argmax())
    assert off[worst] < 0.005, (jobs[worst], kept[worst], formula[worst])
    assert off.mean() < 0.001


# All levers at once: set points, options, spares, fewer replicas, two levels, money per work.


def studied(plan: Plan, replications: int = 60) -> JobSimulated:
    """Return how the plan's job does over 400 failures or more, so many times."""
    length_s = min(max(60.0 * DAY, 400.0 * plan.jobs[0].mtti_s), 3000.0 * DAY)
    options = SimulationOptions(replications=replications, length_s=length_s, intervals=False)
    return study(plan, options).jobs[0]


def agrees(plan: Plan, found: JobSimulated) -> bool:
    """Say whether a simulation keeps what a plan states, to 0.3 % and the noise."""
    job = plan.jobs[0]
    expected = found.predicted
    if job.local is None:  # the formula charges a slowed drain to the interval after a restart, too
        slowed = job.drain_slowdown * job.drain_s / job.mtti_s
        back_s = job.restart_s + job.restore_s + job.interval_s + job.drain_s
        expected += slowed * math.exp(-back_s / job.mtti_s)
    room = 0.003 * expected + 2.0 * (found.goodput.high - found.goodput.mean)
    most = expected
    if job.repair is not None and job.repair.in_rack:  # a lower bound, and told as one
        most /= job.repair.availability
    return expected - room < found.goodput.mean < most + room


@pytest.mark.exhaustive(keep=2, most=10)
@pytest.mark.parametrize("seed", range(9_300_000, 9_300_040))
def test_random_plans_keep_what_they_state(seed: int) -> None:
    try:
        plan = solve(inputs_of(together(seed)), explain=False)
    except InputError:
        return
    if not plan.jobs or plan.jobs[0].mode == "sync":
        return
    assert agrees(plan, studied(plan))


def test_a_right_plan_is_not_refused_for_rounding() -> None:
    """Of 6e-5 h of waiting in a year, a difference of shares near 1, rounding leaves 1e-11 h."""
    options = api.Options(gap=1e-3, explain=False)
    repair = api.solve_with(inputs_of(together(9_800_536)), options).jobs[0].repair
    assert repair is not None and 1e-5 < 8760 * (1.0 - repair.availability) < 1e-4
