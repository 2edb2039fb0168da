"""The command: screen, JSON, files, what may stand beside, and every way to be wrong."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from planner.analysis.simulation import SimulationOptions, study
from planner.report import exports
from planner.schema.operation import LossBudget, Simulation
from planner.schema.plan import Plan
from tests.world.commands import ran
from tests.world.files import FILES
from tests.world.solved import write_plan

DAY_S = 86_400.0
FEW = ("--replications", "20", "--length", "60 days")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small problem, its plan, and a job to run beside it."""
    folder = tmp_path_factory.mktemp("simulate")
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    write_plan(folder / "small.plan.json", folder / "problem.yaml")
    (folder / "gaps.csv").write_text("gap_h\n" + "\n".join("123456789") + "\n", "utf-8")
    return folder


@pytest.fixture(scope="module")
def plan(folder: Path) -> Plan:
    return exports.read_plan((folder / "small.plan.json").read_bytes()).plan


def simulated(plan: Plan, **options: object) -> Simulation:
    plain = {"replications": 40, "length_s": 120 * DAY_S}
    return study(plan, SimulationOptions(**(plain | options)))  # type: ignore[arg-type]


def total(loss: LossBudget) -> float:
    return math.fsum(loss.model_dump().values())


def test_the_plan_is_what_is_simulated(plan: Plan) -> None:
    job = plan.jobs[0]
    found = simulated(plan).jobs[0]
    assert found.predicted == pytest.approx(job.goodput)
    for name, value in job.loss.model_dump().items():
        assert getattr(found.predicted_loss, name) == pytest.approx(value), name
    assert found.goodput.low <= job.goodput <= found.goodput.high
    assert found.goodput.p5 < found.goodput.mean < found.goodput.p95
    assert found.goodput.mean + total(found.loss) == pytest.approx(1.0, abs=1e-12)
    assert found.interruptions_per_year == pytest.approx(365 * DAY_S / job.mtti_s, rel=0.05)


def test_other_intervals_are_ranked_and_their_limits_named(plan: Plan) -> None:
    job = plan.jobs[0]
    found = simulated(plan, interval_s=4 * job.interval_s)
    assert [round(each.factor, 2) for each in found.intervals] == [
        0.25, 0.5, 0.71, 1.0, 1.41, 2.0, 4.0,
    ]  # fmt: skip
    assert found.better
    assert found.best is not None
    best = found.intervals[found.best]
    assert best.low > 0
    assert best.factor < 0.6
    own = next(each for each in found.intervals if each.factor == 1.0)
    assert (own.difference, own.low, own.high) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("limit", ["max_overlap", "endurance"])
def test_intervals_that_break_a_limit_are_never_best(plan: Plan, limit: str) -> None:
    job, volume = plan.jobs[0], plan.jobs[0].write_volume_tb_per_day
    tight = job.model_copy(update={"max_overlap": job.drain_s / job.interval_s})
    worn = plan.limits[0].model_copy(update={"name": limit, "value": volume, "limit": volume})
    change = {"jobs": (tight,)} if limit == "max_overlap" else {"limits": (*plan.limits, worn)}
    found = simulated(plan.model_copy(update=change))
    for each in found.intervals:
        assert (limit in each.breaks) == (each.factor < 0.99)
    assert found.best is not None and found.intervals[found.best].factor >= 1.0


def test_measured_failures_are_taken_as_they_are_or_stretched(plan: Plan, folder: Path) -> None:
    file = str(folder / "gaps.csv")
    plain, scaled = (
        simulated(plan, failures=file, scaled=stretch, replications=2, intervals=False).jobs[0]
        for stretch in (False, True)
    )
    assert plain.failures.mean_s == 5 * 3600
    assert plain.failures.times == 9
    assert scaled.failures.mean_s == pytest.approx(plan.jobs[0].mtti_s)
    assert plain.predicted != plan.jobs[0].goodput
    assert plain.interruptions_per_year == pytest.approx(24 * 365 / 5, rel=0.05)


def test_the_same_seed_gives_the_same_files(folder: Path, tmp_path: Path) -> None:
    plan = str(folder / "small.plan.json")
    one = ran("simulate", plan, *FEW, "--json", "-q", "-o", str(tmp_path / "one"))
    two = ran("simulate", plan, *FEW, "--json", "-q", "-o", str(tmp_path / "two"))
    assert (one.code, one.err) == (0, "")
    assert one == two
    for end in ("html", "json"):
        first, second = (tmp_path / each / f"small.simulation.{end}" for each in ("one", "two"))
        assert first.read_bytes() == second.read_bytes()
    assert (tmp_path / "one" / "small.simulation.xlsx").stat().st_size
    other = ran("simulate", plan, *FEW, "--json", "--seed", "2")
    assert json.loads(other.out)["jobs"][0]["goodput"] != json.loads(one.out)["jobs"][0]["goodput"]
