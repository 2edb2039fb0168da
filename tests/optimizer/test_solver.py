"""Our reading of HiGHS and CBC: status, best values, bound."""

from __future__ import annotations

import math
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import highspy
import pytest

from planner import api
from planner.case import resolve
from planner.errors import InputError
from planner.loader import load
from planner.optimizer import highs as highs_file
from planner.optimizer import model as model_file
from planner.optimizer.build import build
from planner.optimizer.highs import LONGEST_S, HighsSession
from planner.optimizer.master import session
from planner.optimizer.model import Model, evaluate
from planner.optimizer.objective import EXPRESSIONS
from planner.optimizer.solver import ITERATIONS_OF_NODE, Effort, Session
from tests.optimizer.cases import market_split, solve

SOLVERS: tuple[Literal["highs", "cbc"], ...] = ("highs", "cbc")
either = pytest.mark.parametrize("name", SOLVERS)
relaxed_or_not = pytest.mark.parametrize("relaxed", [True, False])
TRAP = Path(__file__).parent / "trap" / "problem.yaml"
TRAP_MUSD = 1.72536477
LOST_OPTIMUM = Path(__file__).parent / "trap" / "lost_optimum.mps"
LOST = 38_521.911610
NO_BOUND = Path(__file__).parent / "trap" / "no_bound" / "problem.yaml"
SOME_WORK = 0.5


def small(name: Literal["highs", "cbc"]) -> tuple[Model, Session]:
    """Return max 5a + 4b + 1, 6a + 4b <= 24, a + 2b <= 6: 22 at (3, 1.5), 21 in whole numbers."""
    model = Model("small", True)
    a, b = model.var("a", 0.0, None, True), model.var("b", 0.0, None, True)
    model.row("one", 6 * a + 4 * b, "<=", 24.0)
    model.row("two", a + 2 * b, "<=", 6.0)
    opened = session(name, model)
    opened.objective(5 * a + 4 * b + 1, True)
    return model, opened


@either
@relaxed_or_not
def test_bounds_that_cross_leave_nothing(name: Literal["highs", "cbc"], relaxed: bool) -> None:
    model, opened = small(name)
    opened.bounds(model.variables[0], 3.0, 2.5)
    assert solve(opened, relaxed=relaxed).status == "infeasible"
    opened.bounds(model.variables[0], 3.0 + 1e-9, 3.0)  # by rounding alone
    assert solve(opened, relaxed=relaxed).status == "optimal"


@either
def test_optimum_bound_and_values(name: Literal["highs", "cbc"]) -> None:
    _, opened = small(name)
    relaxed, whole = solve(opened, relaxed=True), solve(opened)
    assert (relaxed.status, whole.status) == ("optimal", "optimal")
    assert relaxed.objective == pytest.approx(22.0)
    assert relaxed.bound == pytest.approx(22.0)
    assert relaxed.values == pytest.approx({"a": 3.0, "b": 1.5})
    assert whole.objective == pytest.approx(21.0)
    assert whole.values == pytest.approx({"a": 4.0, "b": 0.0})
    assert whole.bound == pytest.approx(21.0, rel=1e-6)
    assert whole.bound is not None
    assert whole.bound >= 21.0 - 1e-9


@either
def test_rows_bounds_and_objective_change_in_place(name: Literal["highs", "cbc"]) -> None:
    model, opened = small(name)
    a, b = model.variables
    assert solve(opened).objective == pytest.approx(21.0)
    opened.add(model.row("three", a + 0, "<=", 3.0))
    assert solve(opened).objective == pytest.approx(20.0)
    opened.bounds(b, 0.0, 0.0)
    assert solve(opened).objective == pytest.approx(16.0)
    opened.bounds(b, 0.0, None)
    opened.objective(a - b, False)
    outcome = solve(opened)
    assert outcome.objective == pytest.approx(-3.0)
    assert outcome.values == pytest.approx({"a": 0.0, "b": 3.0})


@either
@relaxed_or_not
def test_infeasible(name: Literal["highs", "cbc"], relaxed: bool) -> None:
    model, opened = small(name)
    opened.add(model.row("three", model.variables[0] + 0, ">=", 5.0))
    outcome = solve(opened, relaxed=relaxed)
    assert (outcome.status, outcome.objective, outcome.values) == ("infeasible", None, {})


@either
def test_infeasible_in_whole_numbers_only(name: Literal["highs", "cbc"]) -> None:
    model, opened = small(name)
    a, b = model.variables
    opened.add(model.row("odd", 2 * a + 2 * b, "==", 3.0))
    assert solve(opened, relaxed=True).status == "optimal"
    assert solve(opened).status == "infeasible"


def open_ended(name: Literal["highs", "cbc"], feasible: bool) -> tuple[Model, Session]:
    """Return max a + b, a - b <= 1, b - a <= 1 without end; or empty by a whole-number clash."""
    model = Model("open_ended", True)
    a, b = model.var("a", 0.0, None, True), model.var("b", 0.0, None, True)
    model.row("one", a - b, "<=", 1.0)
    model.row("two", b - a, "<=", 1.0 if feasible else -2.0)
    opened = session(name, model)
    opened.objective(a + b, True)
    return model, opened


@either
@relaxed_or_not
def test_unbounded_and_infeasible_are_told_apart(
    name: Literal["highs", "cbc"], relaxed: bool
) -> None:
    assert solve(open_ended(name, True)[1], relaxed=relaxed).status == "unbounded"
    assert solve(open_ended(name, False)[1], relaxed=relaxed).status == "infeasible"


@pytest.mark.parametrize("feasible", [True, False])
def test_highs_undecided_is_decided(monkeypatch: pytest.MonkeyPatch, feasible: bool) -> None:
    model, opened = open_ended("highs", feasible)
    told = highspy.HighsModelStatus.kUnboundedOrInfeasible
    run = highs_file._run

    def undecided(highs: Any) -> Any:
        verdict = run(highs)
        return told if any(highs.getLp().col_cost_) else verdict

    monkeypatch.setattr(highs_file, "_run", undecided)
    expected = "unbounded" if feasible else "infeasible"
    assert solve(opened).status == expected
    assert solve(opened, relaxed=True).status == expected
    monkeypatch.undo()
    if feasible:  # the objective is back: with an end, the model has its optimum
        opened.add(model.row("end", model.variables[0] + 0, "<=", 7.0))
        assert solve(opened).objective == pytest.approx(15.0)


@either
@relaxed_or_not
def test_no_time_left(name: Literal["highs", "cbc"], relaxed: bool) -> None:
    outcome = solve(small(name)[1], relaxed=relaxed, effort=Effort(time.monotonic() - 1.0))
    assert (outcome.status, outcome.objective, outcome.bound) == ("limit", None, None)


@either
@relaxed_or_not
def test_no_work_left(name: Literal["highs", "cbc"], relaxed: bool) -> None:
    outcome = solve(small(name)[1], relaxed=relaxed, effort=Effort(most_work=0.0))
    assert (outcome.status, outcome.objective, outcome.bound) == ("limit", None, None)


@either
def test_work_ends_with_a_solution(name: Literal["highs", "cbc"]) -> None:
    model, objective = market_split(slack=True)
    opened = session(name, model)
    opened.objective(objective, False)
    outcome = solve(opened, effort=Effort(most_work=SOME_WORK))
    assert outcome.status == "limit"
    assert outcome.objective is not None
    assert outcome.bound is not None
    assert outcome.bound < outcome.objective - 0.5
    assert evaluate(objective, outcome.values) == pytest.approx(outcome.objective)
    assert all(
        abs(outcome.values[f"x{j}"] - round(outcome.values[f"x{j}"])) < 1e-6 for j in range(40)
    )


@either
def test_work_ends_without_a_solution(name: Literal["highs", "cbc"]) -> None:
    model, objective = market_split(slack=False)
    opened = session(name, model)
    opened.objective(objective, False)
    outcome = solve(opened, effort=Effort(most_work=SOME_WORK))
    assert (outcome.status, outcome.objective, outcome.values) == ("limit", None, {})


@either
def test_work_is_counted_alike_however_often(name: Literal["highs", "cbc"]) -> None:
    counted = []
    for _ in range(2):
        model, objective = market_split(slack=True)
        opened = session(name, model)
        opened.objective(objective, False)
        whole = Effort()
        part = whole.part(SOME_WORK)
        outcome = solve(opened, effort=part)
        assert whole.work == part.work > 0.0
        counted.append((part.work, outcome.objective, outcome.bound))
    assert counted[0] == counted[1]


def test_what_a_part_may_do_is_what_the_whole_has_left() -> None:
    whole = Effort(most_work=10.0)
    part = whole.part(6.0)
    part.spend(int(4e6) - 200, 1)
    assert (part.left_work, whole.left_work) == pytest.approx((2.0, 6.0))
    assert whole.part(100.0).left_work == pytest.approx(6.0)
    assert part.most_iterations(1000) == 2000
    assert part.most_nodes(1000) == 2000 // ITERATIONS_OF_NODE
    part.spend(int(2e6), 1)
    assert part.over
    assert not whole.over


@either
def test_a_search_whose_nodes_take_no_iterations_is_counted(name: Literal["highs", "cbc"]) -> None:
    """Whole numbers meet an equation of cents by chance alone: half the money for each vendor."""
    model = Model("half", False)
    one, two, other = (model.var(f"x{n}", 1.0, 20_000.0, True) for n in range(3))
    shares = 138_388.33 / 4_205_623.65 * one + 145_639.25 / 4_205_623.65 * two
    model.row("half", shares - other, "==", 0.0)
    opened = session(name, model)
    opened.objective(one + two + other, False)
    effort = Effort(most_work=0.05)
    assert solve(opened, effort=effort).status == "limit"
    assert effort.work == pytest.approx(0.05, rel=0.1)


def test_nodes_are_work_though_they_take_no_iterations() -> None:
    effort = Effort(most_work=1.0)
    effort.spend(0, 1000, nodes=1)
    assert effort.most_nodes(1000) == 3
    effort.spend(0, 1000, nodes=4)
    assert effort.over


def test_a_time_limit_moves_along_with_the_run_time_of_the_solver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """HiGHS counts its run time over all solves of an instance."""
    left: list[float] = []
    run = highs_file._run

    def noting(highs: Any) -> Any:
        left.append(highs.getOptionValue("time_limit")[1] - highs.getRunTime())
        return run(highs)

    monkeypatch.setattr(highs_file, "_run", noting)
    opened = small("highs")[1]
    for _ in range(3):
        assert solve(opened, effort=Effort.within(1000.0)).status == "optimal"
    assert left == pytest.approx([1000.0] * 3, abs=100.0)
    assert solve(opened).status == "optimal"  # and without a limit there is none left over
    assert left[3] == pytest.approx(LONGEST_S, abs=100.0)


def test_a_solver_that_runs_over_its_time_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS looks at its clock only now and then; here it never does."""
    end = threading.Event()
    monkeypatch.setattr(highs_file, "_run", lambda highs: end.wait())
    opened = small("highs")[1]
    outcome = solve(opened, effort=Effort.within(0.01))
    assert (outcome.status, outcome.objective, outcome.bound) == ("limit", None, None)
    monkeypatch.undo()
    assert solve(opened).status == "limit"  # its instances are still at work
    end.set()


@pytest.mark.parametrize("sense", ["kMaximize", "kMinimize"])
@pytest.mark.parametrize(("relative", "width"), [(False, 0.25), (True, 0.25 * 21.0)])
def test_optimal_without_a_bound_is_bounded_by_the_gap_allowed(
    sense: str, relative: bool, width: float
) -> None:
    """HiGHS 1.15.1 where presolve rules out all that beats the solution it was handed."""
    opened = HighsSession(small("highs")[0])
    info = SimpleNamespace(
        mip_dual_bound=math.inf, objective_function_value=21.0, primal_solution_status=2
    )
    highs = SimpleNamespace(
        getInfo=lambda: info,
        getSolution=lambda: SimpleNamespace(col_value=[4.0, 0.0]),
        getObjectiveSense=lambda: (None, getattr(highspy.ObjSense, sense)),
    )
    outcome = opened._read(highs, "optimal", False, 0.25, relative=relative)
    sign = 1.0 if sense == "kMaximize" else -1.0
    assert (outcome.objective, outcome.bound) == pytest.approx((21.0, 21.0 + sign * width))


def test_a_search_that_met_such_an_answer_ends_with_a_proof() -> None:
    plan = api.solve(NO_BOUND)
    assert plan.status == "optimal"
    assert plan.objective.gap is not None
    assert plan.objective.gap <= 2e-6
    assert plan.objective.log_value == pytest.approx(2.3668651336803403, abs=1e-6)


def test_options_find_an_optimum_that_presolve_loses() -> None:
    """At 1e-7 HiGHS 1.15.1 calls 38,516.07 optimal, gap 0; without presolve it finds 38,521.91."""
    reader: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    reader.setOptionValue("output_flag", False)
    reader.readModel(str(LOST_OPTIMUM))
    opened = highs_file._instance(reader.getLp())
    opened.setOptionValue("mip_rel_gap", 0.0)
    opened.run()
    info = opened.getInfo()
    assert info.objective_function_value == pytest.approx(LOST, rel=1e-7)
    assert info.mip_dual_bound == pytest.approx(LOST, rel=1e-7)


def test_milp_after_its_relaxation_is_optimal() -> None:
    """A case whose MILP, solved in the relaxation's HiGHS instance, was called optimal wrongly."""
    case = resolve(load(TRAP))
    master = build(case, "sync")
    opened = HighsSession(master.model)
    opened.objective(EXPRESSIONS[case.objective](master), case.maximise)
    relaxed = [solve(opened, relaxed=True).objective for _ in range(3)]
    outcome = solve(opened)
    assert relaxed == pytest.approx([relaxed[0]] * 3)
    assert outcome.status == "optimal"
    assert outcome.objective == pytest.approx(TRAP_MUSD, rel=1e-9)
    assert outcome.bound == pytest.approx(TRAP_MUSD, rel=1e-7)


def test_the_whole_optimisation_avoids_the_trap() -> None:
    plan = api.solve(TRAP)
    assert plan.status == "optimal"
    assert plan.objective.value == pytest.approx(TRAP_MUSD * 1e6, rel=1e-9)


def test_saved_model_has_the_same_optimum(tmp_path: Path) -> None:
    model, _ = small("highs")
    a, b = model.variables
    target = tmp_path / "model.mps"
    target.write_text("old")
    model_file.save_mps(model, 5 * a + 4 * b + 1, True, target)
    assert [path.name for path in tmp_path.iterdir()] == ["model.mps"]
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(target)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getInfo().objective_function_value == pytest.approx(21.0)


def test_no_model_is_left_half_written(tmp_path: Path) -> None:
    model, _ = small("highs")
    (tmp_path / "model.mps").mkdir()
    with pytest.raises(InputError, match=r"model\.mps: cannot write"):
        model_file.save_mps(model, model.variables[0], True, tmp_path / "model.mps")
    assert [path.name for path in tmp_path.iterdir()] == ["model.mps"]


def test_output_is_off_before_highs_can_print(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS 1.16.0 prints its name into standard output as soon as callbacks are enabled."""
    flags = []

    def enable(highs: highspy.Highs) -> None:
        flags.append(highs.getOptionValue("output_flag")[1])

    monkeypatch.setattr(highspy.Highs, "enableCallbacks", enable)
    highs_file.QuietHighs()
    assert flags == [False]


def test_infinite_bounds_are_no_bounds() -> None:
    assert highs_file._finite(highspy.kHighsInf) is None
    assert highs_file._finite(-math.inf) is None
    assert highs_file._finite(2.0) == 2.0
