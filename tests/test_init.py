"""`planner init`: a problem of one's own from a few answers, complete and ready to solve."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from planner.case import resolve
from planner.commands.init import (
    pipeline_of,
    write_problem,
)
from planner.errors import InputError
from planner.inputs import Inputs
from planner.loader import load
from planner.optimizer import optimise
from tests.world.commands import Ran, ran
from tests.world.solved import solve

Runner = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runner:
    """Run commands in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return ran


ASKED = (
    "name=Three MW", "power=3 MW", "racks=24", "rack-power=130 kW", "budget=60 MUSD",
    "model=405 B", "tokens=15 T", "vendors=ddn, VAST",
)  # fmt: skip
LEAST = {"power": "3 MW", "racks": "24", "rack-power": "45 kW", "model": "70 B"}


def test_answers_become_a_problem_that_is_solved(run: Runner, tmp_path: Path) -> None:
    said = run("init", *ASKED)
    assert said.code == 0, said.err
    assert said.err == "wrote Three-MW.yaml; next: planner solve Three-MW.yaml\n"
    assert [path.name for path in tmp_path.iterdir()] == ["Three-MW.yaml"]
    problem = load(tmp_path / "Three-MW.yaml").problem
    assert problem.name == "Three MW"
    assert problem.site.facility_limit_kw == 3000.0
    assert problem.site.racks == 24
    assert problem.site.rack is not None and problem.site.rack.power_kw == 130.0
    assert problem.budget.capex_usd == 60e6
    assert problem.job.parameters == 405e9
    assert problem.job.training.tokens == 15e12
    families = problem.consider.storage_families
    assert families and {name.split("_")[0] for name in families} == {"ddn", "vast"}
    plan = solve(tmp_path / "Three-MW.yaml", explain=False)
    assert plan.status == "optimal"
    assert {line.vendor for line in plan.lines if line.section == "Storage"} <= {"DDN", "VAST Data"}


def test_a_large_hall_has_the_cheapest_of_the_best_plans(tmp_path: Path) -> None:
    """A hall of 1 GW bought 9,215 storage systems in place of 18: the search ended before."""
    large = {"power": "1 GW", "racks": "20000", "rack-power": "130 kW", "cooling": "liquid"}
    path = write_problem(large | {"model": "405 B"}, tmp_path, force=False)
    answer = optimise(resolve(load(path)))
    assert answer.status == "optimal"
    assert not answer.ties_cut
    assert answer.operation is not None
    assert answer.operation.goodput > 0.7


@pytest.mark.parametrize(
    ("tokens", "dataset_tb"), [("15 T", 60.0), ("366 B", 1.464), ("20 M", 8e-5), (None, 60.0)]
)
def test_the_data_set_follows_from_the_tokens(
    tokens: str | None, dataset_tb: float, tmp_path: Path
) -> None:
    path = write_problem(LEAST | ({"tokens": tokens} if tokens else {}), tmp_path, force=False)
    assert load(path).problem.job.dataset_tb == pytest.approx(dataset_tb)


@pytest.mark.parametrize(
    ("parameters", "stages"), [(8e9, 1), (64e9, 1), (70e9, 2), (405e9, 8), (1e12, 16), (1e15, 64)]
)
def test_a_replica_has_room_for_its_state(parameters: float, stages: int) -> None:
    assert pipeline_of(parameters) == stages


def test_a_file_is_not_replaced_unasked(tmp_path: Path) -> None:
    path = write_problem(LEAST, tmp_path, force=False)
    with pytest.raises(InputError, match="there already"):
        write_problem(LEAST, tmp_path, force=False)
    assert write_problem(LEAST, tmp_path, force=True) == path


def written(folder: Path, **answers: str) -> Inputs:
    """Return the problem of the least answers and these."""
    given = {name.replace("_", "-"): answer for name, answer in answers.items()}
    return load(write_problem(LEAST | given, folder, force=True))


def test_an_air_cooled_hall_is_offered_nothing_liquid_cooled(tmp_path: Path) -> None:
    air, liquid = written(tmp_path, cooling="air"), written(tmp_path, cooling="liquid")
    assert air.problem.site.cooling.cdu is None and liquid.problem.site.cooling.cdu is not None
    for name in air.problem.consider.gpu_systems or ():
        assert air.by_id[name].consumes.liquid_share is None, name
    assert written(tmp_path, rack_power="17 kW").problem.site.cooling.cdu is None
    assert written(tmp_path, rack_power="132 kW").problem.site.cooling.cdu is not None


def test_an_unmeasured_type_is_offered_only_where_its_vendor_is_named(tmp_path: Path) -> None:
    silent, named = written(tmp_path), written(tmp_path, vendors="AMD, NVIDIA")
    assert not any("amd" in name for name in silent.problem.consider.gpu_systems or ())
    assert silent.problem.job.training.assumed_mfu is None
    assert any("amd" in name for name in named.problem.consider.gpu_systems or ())
    assert named.problem.job.training.assumed_mfu == pytest.approx(0.31, abs=0.1)


def test_active_parameters_make_the_model_a_mixture_of_experts(tmp_path: Path) -> None:
    training = written(tmp_path, active="13 B", precision="bf16").problem.job.training
    assert (training.model, training.active_parameters) == ("moe", 13e9)
    assert training.precisions == ("bf16",)


def test_a_large_hall_may_save_on_its_own_drives(tmp_path: Path) -> None:
    large, small = written(tmp_path, power="60 MW").problem, written(tmp_path).problem
    assert large.job.levels is not None and large.job.levels.use == "open"
    assert small.job.levels is None


@pytest.mark.parametrize(("answer", "in_bulk"), [("4.9 PB", False), ("5 PB", True)])
def test_a_large_data_set_goes_to_the_bulk_tier(answer: str, in_bulk: bool, tmp_path: Path) -> None:
    path = write_problem(LEAST | {"dataset": answer, "vendors": "DDN"}, tmp_path, force=False)
    inputs = load(path)
    assert inputs.problem.job.in_bulk is in_bulk
    assert inputs.problem.job.tiered.size_tb == float(answer.split()[0]) * 1000
    families = inputs.problem.consider.storage_families
    assert families and all(name.startswith("ddn_") for name in families)
    assert any(item.is_bulk for item in resolve(inputs).storage) is in_bulk
