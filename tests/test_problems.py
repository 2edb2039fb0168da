"""Every shipped problem and scenario solves to its proven answer, from a fresh folder too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner import shipped
from planner.commands.init import write_problem
from planner.loader import load
from planner.loader.documents import read
from planner.schema.operation import JobPlan
from planner.schema.plan import LimitReport, Plan, Totals
from planner.verifier import verify
from planner.verifier.job import FAILURES_PER_GPU_DAY
from tests.world.solved import solved as solved_once

PROBLEMS = shipped.problem_files()
EXPECTED = {
    "10MW": "optimal",
    "enterprise_1MW": "optimal",
    "full_bill": "optimal",
    "gpt3_octet": "optimal",
    "infeasible_restore": "infeasible",
    "light_rule": "optimal",
    "local_level": "optimal",
    "megatron_1t": "optimal",
    "space_limited": "optimal",
}
SCENARIOS = [
    (name, scenario)
    for name, path in PROBLEMS.items()
    for scenario in read(path).data.get("scenarios", {})
]
LARGEST_GAP = 1e-4


def solved(name: str, scenario: str | None = None, *settings: str) -> Plan:
    return solved_once(name, *settings, scenario=scenario)


def job(name: str, scenario: str | None = None) -> JobPlan:
    return solved(name, scenario).jobs[0]


def totals(plan: Plan) -> Totals:
    assert plan.totals is not None
    return plan.totals


def limit(plan: Plan, name: str) -> LimitReport:
    (found,) = [limit for limit in plan.limits if limit.name == name]
    return found


def assert_proven(name: str, scenario: str | None, plan: Plan) -> None:
    assert plan.status == "optimal", plan.message
    assert plan.objective.gap is not None
    inputs = load(PROBLEMS[name], scenario=scenario)
    prefer = inputs.problem.policy.prefer
    near_optimal_loss = prefer.within if prefer else 0.0
    assert 0 <= plan.objective.gap <= LARGEST_GAP + near_optimal_loss
    verify(inputs, plan)


@pytest.mark.parametrize("name", PROBLEMS)
def test_solves_to_the_expected_status(name: str) -> None:
    plan = solved(name)
    if EXPECTED[name] == "optimal":
        assert_proven(name, None, plan)
    assert plan.status == EXPECTED[name]


USUAL = {
    "pue": (1.1, 1.6), "usd_per_kwh": (0.03, 0.4), "mfu": (0.2, 0.6), "delivered": (0.3, 1.0),
    "failures": (5e-5, 1e-2), "repair_h": (1.0, 500.0), "restart_s": (60.0, 1800.0),
}  # fmt: skip


@pytest.mark.parametrize("name", [*PROBLEMS, "init"])
def test_a_figure_far_from_the_usual_is_found(name: str, tmp_path: Path) -> None:
    """Electricity for 0.009 USD/kWh, and what `planner init` proposes."""
    answers = {"power": "3 MW", "racks": "24", "rack-power": "45 kW", "model": "70 B"}
    made = PROBLEMS.get(name) or write_problem(answers, tmp_path, force=False)
    problem = load(made).problem
    job, rate = problem.job, problem.job.failure_rate
    figures = {
        "pue": problem.site.pue_air,
        "usd_per_kwh": problem.term and problem.term.electricity_usd_per_kwh,
        "mfu": job.training.mfu,
        "delivered": problem.storage.delivered_fraction.write,
        "failures": FAILURES_PER_GPU_DAY[rate] if isinstance(rate, str) else rate,
        "repair_h": job.repair and job.repair.time_s / 3600.0,
        "restart_s": job.restart_s,
    }
    for key, value in figures.items():
        low, high = USUAL[key]
        assert value is None or low <= value <= high, key


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize(("name", "scenario"), SCENARIOS)
def test_every_scenario_is_proven(name: str, scenario: str) -> None:
    assert_proven(name, scenario, solved(name, scenario))


# The figures of arXiv 2104.04473 section 5.10 and of S. Kartik and C. Tartow, VAST Data,
# "A Checkpoint on Checkpoints in LLMs", 2024-01-10.


def test_megatron_checkpoint_takes_51_s_and_a_third_of_a_percent() -> None:
    run_ = job("megatron_1t")
    assert (run_.gpus_used, run_.systems_used, run_.replicas) == (3072, 384, 6)
    assert run_.delivered_write_gb_per_s == pytest.approx(273)
    assert run_.stall_s == pytest.approx(50.55, abs=0.005)
    assert run_.blocking == pytest.approx(0.00351, abs=5e-6)
    assert run_.writing_systems == 64
    assert run_.replica_gpus == 512
    assert run_.delivered_write_gb_per_s / run_.replica_gpus == pytest.approx(0.533, abs=5e-4)
    assert run_.delivered_write_gb_per_s / run_.writing_systems == pytest.approx(4.27, abs=5e-3)


@pytest.mark.parametrize(
    ("scenario", "fan_out", "read_gb_per_s", "restore_s"),
    [
        (None, 1, 1000, 13.8),
        ("every_replica", 6, 1000, 82.8),
        ("restore_parity", 6, 1638, 50.55),
    ],
)
def test_megatron_restore_time_follows_fan_out_and_bandwidth(
    scenario: str | None, fan_out: float, read_gb_per_s: float, restore_s: float
) -> None:
    run_ = job("megatron_1t", scenario)
    assert run_.fan_out == pytest.approx(fan_out)
    assert run_.delivered_read_gb_per_s == pytest.approx(read_gb_per_s)
    assert run_.restore_s == pytest.approx(restore_s, abs=0.005)


def test_megatron_trains_in_the_papers_84_days_but_for_the_goodput() -> None:
    run_ = job("megatron_1t")
    assert run_.days_to_train is not None
    assert run_.days_to_train * run_.goodput == pytest.approx(84, rel=0.005)


def test_gpt3_hybrid_io_relieves_the_octet_for_the_same_money() -> None:
    plan, relieved = solved("gpt3_octet"), solved("gpt3_octet", "hybrid_io")
    assert relieved.jobs[0].delivered_write_gb_per_s == pytest.approx(1.7 * 64)
    assert relieved.jobs[0].stall_s == pytest.approx(37.7 / 1.7, abs=0.05)
    assert relieved.jobs[0].goodput > plan.jobs[0].goodput
    assert totals(relieved).capex_usd == totals(plan).capex_usd


def test_space_limited_runs_out_of_racks_and_not_of_power() -> None:
    plan = solved("space_limited")
    racks = limit(plan, "racks")
    assert racks.binding and racks.limit - racks.value < 4  # a replica of 16 systems takes four
    power = limit(plan, "facility_power")
    assert not power.binding
    assert power.value < 0.6 * power.limit
    # Of equally good plans the cheapest one holds just the capacity that is needed, and drains into
    # it just in time: one cluster of a vendor whose sizes do not add up.
    assert {limit.name for limit in plan.limits if limit.binding} == {
        "racks",
        "capacity",
        "overlap",
        "family_max_units.vast_ceres",
    }


def test_infeasible_restore_names_the_limit_and_its_line() -> None:
    plan = solved("infeasible_restore")
    assert plan.lines == ()
    path = PROBLEMS["infeasible_restore"]
    lines = path.read_text("utf-8").splitlines()
    (number,) = [index for index, line in enumerate(lines, 1) if "max_time:" in line]
    assert plan.message is not None
    assert re.search(rf"restore time 60 s \([^)]*infeasible_restore.yaml:{number}\)", plan.message)
    assert plan.infeasibility is not None
    (conflict,) = plan.infeasibility.conflicts
    assert {limit.path for limit in conflict} == {
        "jobs.0.restore.max_time",
        "jobs.0.restore.fan_out",
        "storage.client_limit.read",
    }, "no other limit is to blame"
