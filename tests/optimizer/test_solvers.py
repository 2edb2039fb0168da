"""Integer programs of PuLP in HiGHS and CBC: status, values and bounds as the solvers tell them."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import threading
from pathlib import Path
from random import Random
from typing import Any

import highspy
import pulp
import pytest

from planner.errors import InputError, SolverError
from planner.optimizer import solvers
from planner.optimizer.solvers import SolverName, silenced, solve, write_model

either = pytest.mark.parametrize("solver", ["highs", "cbc"])


def small() -> Any:
    """Return max 5a + 4b + 1, 6a + 4b <= 24, a + 2b <= 6: 22 at (3, 1.5), 21 in whole numbers."""
    problem = pulp.LpProblem("small", pulp.LpMaximize)
    a, b = (problem.add_variable(name, 0.0, None, pulp.LpInteger) for name in "ab")
    problem.setObjective(5 * a + 4 * b + 1)
    problem.addConstraint(6 * a + 4 * b <= 24.0, "one")
    problem.addConstraint(a + 2 * b <= 6.0, "two")
    return problem


@either
def test_infeasible_and_unbounded_are_two_things(solver: SolverName) -> None:
    problem = small()
    problem.addConstraint(2 * problem.variables()[0] + 2 * problem.variables()[1] == 3.0, "odd")
    assert solve(problem, solver, relaxed=True).status == "optimal"
    assert solve(problem, solver).status == "infeasible"
    endless = pulp.LpProblem("endless", pulp.LpMaximize)
    a, b = (endless.add_variable(name, 0.0, None, pulp.LpInteger) for name in "ab")
    endless.setObjective(a + b)
    endless.addConstraint(a - b <= 1.0, "one")
    assert solve(endless, solver).status == "unbounded"
    endless.addConstraint(2 * a + 2 * b == 3.0, "odd")
    assert solve(endless, solver).status == "infeasible"


def split_market() -> Any:
    """Return a small problem that takes long: five sums of forty whole numbers must come out."""
    problem = pulp.LpProblem("market", pulp.LpMinimize)
    x = [problem.add_variable(f"x{j:02d}", 0.0, 1.0, pulp.LpInteger) for j in range(40)]
    missed, random = [], Random(1)
    for i in range(5):
        each = [random.randrange(100) for _ in range(40)]
        over, under = (problem.add_variable(f"{name}{i}", 0.0) for name in ("over", "under"))
        both = pulp.lpSum(c * v for c, v in zip(each, x, strict=True)) + under - over
        problem.addConstraint(both == sum(each) // 2, f"sum{i}")
        missed += [over, under]
    problem.setObjective(pulp.lpSum(missed) + 1.0)
    return problem


@either
def test_a_time_limit_is_no_optimum(solver: SolverName) -> None:
    """PuLP calls what either solver has then found optimal."""
    found = solve(split_market(), solver, time_limit_s=0.5)
    assert found.status == "limit"
    assert found.bound is not None and found.bound < 1.5
    assert solve(split_market(), solver, time_limit_s=0.0).status == "limit"


def test_cutoff_counts_the_constant_of_the_objective() -> None:
    problem = pulp.LpProblem("cut", pulp.LpMinimize)
    x = problem.add_variable("x", 0, 9, pulp.LpInteger)
    problem.setObjective(3 * x - 50.0)
    problem.addConstraint(2 * x >= 11.0)  # 6, at -32
    assert solvers.solve(problem, cutoff=-31.9).objective == pytest.approx(-32.0)
    assert solvers.solve(problem, cutoff=-32.1).status == "infeasible"


def test_relaxations_before_do_not_change_the_integer_optimum() -> None:
    """An instance of HiGHS that solved relaxations keeps a basis, and was wrong by 8 %."""
    model = small()
    for _ in range(3):
        assert solve(model, relaxed=True).objective == pytest.approx(22.0)
        assert solve(model).objective == pytest.approx(21.0)


def test_a_missing_cbc_and_a_full_disk_are_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(solvers.tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(SolverError, match="CBC failed: no such file or directory"):
        solve(small(), "cbc")
    monkeypatch.setattr(solvers.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(pulp.PULP_CBC_CMD, "pulp_cbc_path", str(tmp_path / "cbc"))
    with pytest.raises(SolverError, match="CBC failed") as raised:
        solve(small(), "cbc")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["model.mps", "model.lp"])
def test_a_written_model_has_the_same_optimum(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("old")
    write_model(small(), tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(tmp_path / name)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getInfo().objective_function_value == pytest.approx(21.0)


def test_no_model_is_left_half_written(tmp_path: Path) -> None:
    (tmp_path / "model.mps").mkdir()
    with pytest.raises(InputError, match=r"model\.mps: cannot write"):
        write_model(small(), tmp_path / "model.mps")
    assert [path.name for path in tmp_path.iterdir()] == ["model.mps"]


def chatter() -> None:
    """Print from C inside the guard, by stdio and by the descriptor, and a line after it."""
    with silenced():
        ctypes.CDLL(None).printf(b"HiGHS says more than it should\n")
        os.write(1, b"and more\n")
    print("the answer", flush=True)


def test_what_c_prints_while_it_solves_stays_off_standard_output(
    capfd: pytest.CaptureFixture[str],
) -> None:
    ctypes.CDLL(None).printf(b"before\n")
    threads = [threading.Thread(target=chatter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    worker = multiprocessing.get_context("spawn").Process(target=chatter)
    worker.start()
    worker.join()
    chatter()
    out = capfd.readouterr().out
    assert out.startswith("before\n") and out.count("the answer") >= 2  # others may be silenced
    assert "HiGHS" not in out and "more" not in out


def test_a_solve_without_standard_output_leaves_none(capfd: pytest.CaptureFixture[str]) -> None:
    kept = os.dup(1)
    os.close(1)
    try:
        assert solve(small()).objective == 21.0
        with pytest.raises(OSError):
            os.fstat(1)
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    assert capfd.readouterr().out == ""
