"""What GPUs do: rates by class of model, measured or assumed; time that a job loses besides."""

from __future__ import annotations

from pathlib import Path

import pytest

import planner
from planner import shipped
from planner.loader.catalogs import load_catalogs
from planner.schema.job import DEFAULT_LOST_TIME
from planner.schema.plan import Plan
from planner.sizing.availability import LOST_TIME
from tests.world.catalog import inputs_of
from tests.world.commands import script
from tests.world.solved import solved

PROBLEM = Path(__file__).resolve().parents[1] / "problems" / "enterprise_1MW.yaml"


def trained(training: str, systems: str) -> Plan:
    return planner.solve(
        PROBLEM,
        settings=(
            f"jobs.0.training={training}",
            f"consider.gpu_systems=[{systems}]",
            "network.compute.switches=[nvidia_qm9700, nvidia_sn5600]",
            "targets={}",
            "budget.capex=20 MUSD",
            "objective={maximize: goodput}",
        ),
    )


def test_a_class_has_a_planning_value_within_what_is_published() -> None:
    items = load_catalogs(list(shipped.catalog_files().values())).items
    rows = [row for item in items.values() for row in item.achieved]
    classes = [row for row in rows if row.model in ("dense", "moe")]
    assert {row.precision for row in classes} == {"bf16", "fp8", "nvfp4"}
    for row in classes:
        assert row.low_tflops is not None and row.high_tflops is not None and row.note
        assert row.low_tflops < row.rate_tflops < row.high_tflops


def test_a_plan_counts_the_rate_of_its_class_and_carries_the_range() -> None:
    plan = trained("{tokens: 1.4 T, model: dense, precision: fp8}", "nvidia_dgx_b200")
    (way,) = plan.jobs[0].ways
    assert way.rate_tflops == 1310
    job = plan.jobs[0]
    assert job.useful_pflops == pytest.approx(job.gpus_used * job.goodput * 1.310, rel=1e-9)


def test_unmeasured_type_enters_only_with_an_assumed_rate() -> None:
    both = "amd_mi300x_8x, nvidia_dgx_h100"
    measured = trained("{tokens: 1.4 T, model: dense, precision: fp8}", both)
    assert measured.jobs[0].gpu_types == ("nvidia_dgx_h100",)
    left_out = measured.not_considered
    assert "a measured rate of dense in fp8" in left_out["amd_mi300x_8x"]
    training = "{tokens: 1.4 T, model: dense, precision: fp8, assumed_mfu: 40 %}"
    assumed = trained(training, "amd_mi300x_8x")
    (way,) = assumed.jobs[0].ways
    assert way.rate_tflops == pytest.approx(0.4 * 2614.9)
    assert any("is assumed: 40 % of the dense peak" in warning for warning in assumed.warnings)
    assert planner.verify(assumed, solve_again=False).result == "holds"


def test_an_assumption_for_unmeasured_types_needs_a_class_of_models() -> None:
    with pytest.raises(planner.InputError, match="give model: dense"):
        trained("{mfu: 40 %, assumed_mfu: 30 %}", "nvidia_dgx_h100")


# The page of predictions beside what is published: kept in step, blind, with its misses.


truth = script("make_truth")
RUNS = {f"{run.system}-{run.precision}-{run.gpus}": run for run in truth.RUNS}


def test_the_page_is_what_is_computed() -> None:
    page = Path(truth.PAGE).read_text("utf-8")
    assert page == truth.page(), "run python scripts/make_truth.py"


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_not_predicted_from_itself(name: str) -> None:
    run = RUNS[name]
    basis = truth.basis_of(run)
    assert (basis.system, basis.precision) == (run.system, run.precision)
    assert not basis.in_mlperf or basis.gpus != run.gpus
    assert all(rate.system != run.system for rate in truth.others(run.system))


# Lost time besides failures: known answers, its parts, and the same in every reckoning of it.


MAIN = "10MW"
LOCAL = "local_level"
NONE, SOME = "jobs.0.lost_time=none", "jobs.0.lost_time=8 %"


@pytest.mark.parametrize("problem", [MAIN, LOCAL])
def test_goodput_falls_by_the_share_and_the_purchase_stays(problem: str) -> None:
    free, lossy = (solved(problem, setting, explain=False) for setting in (NONE, SOME))
    before, after = free.jobs[0], lossy.jobs[0]
    assert after.goodput == pytest.approx(0.92 * before.goodput, rel=1e-9)
    assert after.useful_pflops == pytest.approx(0.92 * (before.useful_pflops or 0.0), rel=1e-9)
    assert after.interval_s == pytest.approx(before.interval_s, rel=1e-6)
    counts = [[(line.sku, line.quantity) for line in plan.lines] for plan in (free, lossy)]
    assert counts[0] == counts[1]
    assert sum(after.losses.values()) == pytest.approx(1.0 - after.goodput, abs=1e-12)
    assert after.loss.other == pytest.approx(0.08 * before.goodput, rel=1e-9)
    assert "other" not in before.losses


def test_default_lost_time_is_on_and_as_published() -> None:
    asked = inputs_of().problem.job
    assert asked.lost_share == 0.0  # "none" in this problem

    usual = type(asked).model_validate({"name": "any", "parameters": "70 B"})
    assert usual.lost_share == DEFAULT_LOST_TIME
    assert LOST_TIME.low < DEFAULT_LOST_TIME < LOST_TIME.high
