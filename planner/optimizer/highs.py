"""HiGHS in process: the model as arrays, handed over once and changed in place."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import highspy
import numpy as np
from numpy.typing import NDArray

from planner.errors import SolverError
from planner.optimizer.model import Linear, Model, Row, Variable, is_whole
from planner.optimizer.solver import (
    FEASIBILITY,
    LEAST_PATIENCE_S,
    PATIENCE,
    Effort,
    Outcome,
    Status,
    crosses_by_rounding,
)
from planner.optimizer.tightening import Rows

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Relaxed:
    """How a relaxation ended: its objective and values, or none, with one multiplier per row.

    "unknown": the solver came to no verdict, or found no bound.
    """

    status: Literal["optimal", "infeasible", "unknown"]
    objective: float = 0.0
    values: Floats | None = None
    multipliers: Floats | None = None


class HighsSession:
    """The model as arrays in two HiGHS instances, one for the relaxation and one for the MILP.

    In one instance (HiGHS 1.15.1, option ``solve_relaxation``) a MILP solved after its relaxation
    was reported optimal with gap 0 and was not: tests/optimizer/test_solver.py holds the case. The
    relaxation keeps its basis between solves; the MILP starts afresh each time.

    A ``kept`` session is used again after a time limit, so a solve that runs over it is waited for.
    """

    name = "highs"

    def __init__(self, model: Model, *, kept: bool = False) -> None:
        self.kept = kept
        self.names = [variable.name for variable in model.variables]
        self.index = {name: position for position, name in enumerate(self.names)}
        self.integers = [is_whole(variable) for variable in model.variables]
        arrays = self._arrays(model)
        self.relaxation = _instance(arrays)
        arrays.integrality_ = [
            highspy.HighsVarType.kInteger if whole else highspy.HighsVarType.kContinuous
            for whole in self.integers
        ]
        self.milp = _instance(arrays)
        self.scale = 1.0
        self.last: list[float] = []
        self.abandoned = False
        self.rows = {row.name: position for position, row in enumerate(model.rows)}

    def _arrays(self, model: Model) -> Any:
        lp = highspy.HighsLp()
        lp.num_col_ = len(model.variables)
        lp.num_row_ = len(model.rows)
        lp.col_cost_ = np.zeros(lp.num_col_)
        lp.col_lower_ = np.array([_low(v.lowBound) for v in model.variables])
        lp.col_upper_ = np.array([_high(v.upBound) for v in model.variables])
        starts, index, value, lower, upper = [0], [], [], [], []
        for row in model.rows:
            columns, factors, low, high = self._row(row)
            index += columns
            value += factors
            starts.append(len(index))
            lower.append(low)
            upper.append(high)
        lp.row_lower_, lp.row_upper_ = np.array(lower), np.array(upper)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.array(starts, dtype=np.int32)
        lp.a_matrix_.index_ = np.array(index, dtype=np.int32)
        lp.a_matrix_.value_ = np.array(value, dtype=np.float64)
        return lp

    def _row(self, row: Row) -> tuple[list[int], list[float], float, float]:
        terms, right, sense = row.terms()
        kept = [(self.index[v.name], factor) for v, factor in terms if factor]
        low = right if sense >= 0 else -highspy.kHighsInf
        high = right if sense <= 0 else highspy.kHighsInf
        return [column for column, _ in kept], [factor for _, factor in kept], low, high

    def add(self, row: Row) -> None:
        """Add a row that the model has gained."""
        self.rows[row.name] = len(self.rows)
        columns, factors, low, high = self._row(row)
        indices, values = np.array(columns, dtype=np.int32), np.array(factors)
        for highs in (self.relaxation, self.milp):
            _ok(highs.addRow(low, high, len(columns), indices, values), "addRow")

    def objective(self, expression: Linear, maximise: bool) -> None:
        """Replace the objective."""
        expression = expression + 0
        costs = np.zeros(len(self.names))
        for variable, factor in expression.items():
            costs[self.index[variable.name]] = factor
        most = float(np.abs(costs).max(initial=0.0))
        self.scale = COST / most if most > 0 else 1.0
        costs *= self.scale
        columns = np.arange(len(costs), dtype=np.int32)
        sense = highspy.ObjSense.kMaximize if maximise else highspy.ObjSense.kMinimize
        for highs in (self.relaxation, self.milp):
            _ok(highs.changeColsCost(len(costs), columns, costs), "changeColsCost")
            offset = expression.constant * self.scale
            _ok(highs.changeObjectiveOffset(offset), "changeObjectiveOffset")
            _ok(highs.changeObjectiveSense(sense), "changeObjectiveSense")

    def bounds(self, variable: Variable, low: float, high: float | None) -> None:
        """Replace a variable's bounds; those that cross by rounding alone meet."""
        position = self.index[variable.name]
        most = _high(high)
        if crosses_by_rounding(low, most):
            most = low
        for highs in (self.relaxation, self.milp):
            _ok(highs.changeColBounds(position, low, most), "changeColBounds")

    def change(self, row: Row, factors: dict[str, float], right: float) -> None:
        """Replace factors of a ``<=`` row, by variable name, and its right-hand side."""
        position = self.rows[row.name]
        for highs in (self.relaxation, self.milp):
            for name, factor in factors.items():
                _ok(highs.changeCoeff(position, self.index[name], factor), "changeCoeff")
            _ok(highs.changeRowBounds(position, -highspy.kHighsInf, right), "changeRowBounds")

    def limit_rows(self, names: Sequence[str], lows: Floats, highs: Floats) -> None:
        """Replace both ends of rows by name; infinite where there is none."""
        places = np.array([self.rows[name] for name in names], dtype=np.int32)
        for solver in (self.relaxation, self.milp):
            _ok(solver.changeRowsBounds(len(places), places, lows, highs), "changeRowsBounds")

    def limit_columns(self, lows: Floats, highs: Floats, *, relaxed: bool) -> None:
        """Replace the bounds of every column, of the relaxation or of the whole problem."""
        columns = np.arange(len(lows), dtype=np.int32)
        for column in np.flatnonzero(highs < lows):
            if crosses_by_rounding(lows[column], highs[column]):
                highs = np.where(columns == column, lows, highs)
        solver = self.relaxation if relaxed else self.milp
        _ok(solver.changeColsBounds(len(columns), columns, lows, highs), "changeColsBounds")

    def current_rows(self) -> tuple[Rows, Floats, Floats]:
        """Return the rows as they stand now, and both ends of the columns."""
        lp = self.relaxation.getLp()
        matrix = lp.a_matrix_
        starts = np.array(matrix.start_)
        outer = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        inner = np.array(matrix.index_).astype(np.int64)
        by_row = matrix.format_ == highspy.MatrixFormat.kRowwise
        row, column = (outer, inner) if by_row else (inner, outer)
        ends = np.array(lp.row_lower_), np.array(lp.row_upper_)
        rows = Rows(self.index, row, column, np.array(matrix.value_), *ends)
        return rows, np.array(lp.col_lower_), np.array(lp.col_upper_)

    def reduced_costs(self) -> Floats:
        """Return what one more of each column changes the last relaxation's objective by."""
        return np.array(self.relaxation.getSolution().col_dual) / self.scale

    def relax(self) -> Relaxed:
        """Solve the relaxation as it stands, with multipliers that prove the outcome."""
        highs, kinds = self.relaxation, highspy.HighsModelStatus
        highs.setOptionValue("presolve", "off")  # a dual ray is asked for where nothing is feasible
        _limit(highs, MOST_LP_ITERATIONS, LONGEST_S)
        status = _run(highs)
        if status == kinds.kInfeasible:
            _, has_ray, ray = highs.getDualRay()
            return Relaxed("infeasible", multipliers=np.array(ray) if has_ray else None)
        if status != kinds.kOptimal:
            return Relaxed("unknown")
        solution = highs.getSolution()
        return Relaxed(
            "optimal",
            highs.getInfo().objective_function_value / self.scale,
            np.array(solution.col_value),
            np.array(solution.row_dual) / self.scale,
        )

    def solve(
        self, *, relaxed: bool, gap: float, relative: bool, effort: Effort, careful: bool = False
    ) -> Outcome:
        """Solve the model, or its linear relaxation, to a gap; ``careful``: in another way.

        Presolve (HiGHS 1.15.1) can lose the optimum of a MILP and report gap 0: it is off for a
        MILP, and on where another way is asked for.
        """
        if effort.over or self.abandoned:
            return Outcome("limit", None, None)
        highs = self.relaxation if relaxed else self.milp
        if not relaxed:
            highs.clearSolver()
            self._begin_at_last(highs)
        highs.setOptionValue("mip_rel_gap", gap if relative else 0.0)
        highs.setOptionValue("mip_abs_gap", 0.0 if relative else gap * self.scale)
        highs.setOptionValue("presolve", "choose" if careful != relaxed else "off")
        status = self._run_within(highs, effort)
        kinds = highspy.HighsModelStatus
        if status is None:
            return Outcome("limit", None, None)
        if status == kinds.kUnboundedOrInfeasible:
            return self._tell_apart(highs, effort)
        if status == kinds.kInfeasible:
            return Outcome("infeasible", None, None)
        if status == kinds.kUnbounded:
            return Outcome("unbounded", None, None)
        if relaxed and status in UNDECIDED:
            return Outcome("optimal", None, None)  # the relaxation only helps; the MILP decides
        if status == kinds.kOptimal:
            return self._read(highs, "optimal", relaxed, gap, relative=relative)
        if status in STOPPED:
            return self._read(highs, "limit", relaxed)
        raise SolverError(f"HiGHS ended with {highs.modelStatusToString(status)}")

    def _run_within(self, highs: Any, effort: Effort) -> Any:
        """Run HiGHS within an effort and count it; None where it had to be left behind.

        HiGHS (1.15.1) looks at its clock only between its steps, which take seconds on large
        models; presolve may not end at all. So a MILP, and all under a time limit, runs in a thread
        of its own, which is waited for a little longer; the session is of no use afterwards.

        Raises:
            SolverError: without a time limit it went on for ``LONGEST_S``.
        """
        entries = highs.getNumNz()
        highs.setOptionValue("mip_max_nodes", effort.most_nodes(entries))
        left_s = min(effort.left_s, LONGEST_S)
        _limit(highs, effort.most_iterations(entries), left_s)
        aside = not self.kept if math.isfinite(effort.left_s) else highs is self.milp
        patience_s = left_s + max(LEAST_PATIENCE_S, PATIENCE * left_s)
        status = _run_aside(highs, patience_s) if aside else _run(highs)
        self.abandoned = status is None
        if status in (None, highspy.HighsModelStatus.kTimeLimit) and math.isinf(effort.left_s):
            raise SolverError(f"HiGHS has worked on one model for {LONGEST_S / 60:g} min")
        if status is None:
            return None
        info = highs.getInfo()
        effort.spend(max(0, info.simplex_iteration_count), entries, info.mip_node_count)
        return status

    def _begin_at_last(self, highs: Any) -> None:
        """Hand over the last whole solution: with another objective it is often still feasible."""
        if self.last:
            start = highspy.HighsSolution()
            start.col_value = self.last
            _ok(highs.setSolution(start), "setSolution")

    def _read(
        self, highs: Any, status: Status, relaxed: bool, gap: float = 0.0, *, relative: bool = False
    ) -> Outcome:
        info = highs.getInfo()
        feasible = int(highspy.SolutionStatus.kSolutionStatusFeasible)
        if relaxed and status == "limit":
            return Outcome(status, None, None)
        bound = _finite(info.objective_function_value if relaxed else info.mip_dual_bound)
        bound = None if bound is None else bound / self.scale
        if info.primal_solution_status != feasible:
            return Outcome(status, None, bound)
        found = list(highs.getSolution().col_value)
        if not relaxed:
            self.last = found
        values = dict(zip(self.names, found, strict=True))
        objective = info.objective_function_value / self.scale
        if bound is None and status == "optimal":
            # Where presolve rules out everything better than the solution it was handed, HiGHS
            # (1.15.1) says "optimal" and leaves its bound at infinity: what it ruled out is all
            # that is better by more than the gap.
            width = gap * abs(objective) if relative else gap
            maximised = highs.getObjectiveSense()[1] == highspy.ObjSense.kMaximize
            bound = objective + width if maximised else objective - width
        return Outcome(status, objective, bound, values)

    def _tell_apart(self, highs: Any, effort: Effort) -> Outcome:
        """Solve once with a zero objective: infeasible stays infeasible, else it was unbounded."""
        count = len(self.names)
        columns = np.arange(count, dtype=np.int32)
        costs = np.array(highs.getLp().col_cost_)
        _ok(highs.changeColsCost(count, columns, np.zeros(count)), "changeColsCost")
        status = self._run_within(highs, effort)
        if status is None:
            return Outcome("limit", None, None)
        _ok(highs.changeColsCost(count, columns, costs), "changeColsCost")
        if status == highspy.HighsModelStatus.kInfeasible:
            return Outcome("infeasible", None, None)
        stopped = status != highspy.HighsModelStatus.kOptimal
        return Outcome("limit" if stopped else "unbounded", None, None)


COST = 1e4
"""The largest cost HiGHS sees. Its tolerance on reduced costs (1e-7) is per unit bought: with costs
of 1 a hundred thousand units of next to no use each could hide a hundredth of the objective."""
MOST_LP_ITERATIONS = 1_000_000
"""What no linear program of ours takes: hundreds of iterations are usual. One that goes round in
circles ends there, without a verdict."""
LONGEST_S = 1800.0
"""The last safeguard, where nothing that is counted has ended HiGHS: no answer follows from it."""
STOPPED = (
    highspy.HighsModelStatus.kTimeLimit,
    highspy.HighsModelStatus.kIterationLimit,
    highspy.HighsModelStatus.kInterrupt,
    highspy.HighsModelStatus.kSolutionLimit,
)
UNDECIDED = (
    highspy.HighsModelStatus.kUnknown,
    highspy.HighsModelStatus.kSolveError,
    highspy.HighsModelStatus.kNotset,
)
FALLBACKS = (("simplex_scale_strategy", 0), ("presolve", "off"), ("solver", "ipm"))


def _run(highs: Any) -> Any:
    """Run HiGHS; where numerics leave it without a verdict, start afresh in another way."""
    highs.run()
    status = highs.getModelStatus()
    for option, value in FALLBACKS:
        if status not in UNDECIDED:
            break
        _, usual = highs.getOptionValue(option)
        highs.clearSolver()
        highs.setOptionValue(option, value)
        highs.run()
        highs.setOptionValue(option, usual)
        status = highs.getModelStatus()
    return status


def _limit(highs: Any, iterations: int, left_s: float) -> None:
    """Limit the next run: its iterations, and its time from now on."""
    highs.setOptionValue("simplex_iteration_limit", min(iterations, MOST_LP_ITERATIONS))
    highs.setOptionValue("time_limit", highs.getRunTime() + left_s)


def _run_aside(highs: Any, patience_s: float) -> Any:
    """Run HiGHS in a thread that is left behind when patience ends; None where it was."""
    ended: list[Any] = []
    thread = threading.Thread(target=lambda: ended.append(_run(highs)), daemon=True)
    thread.start()
    thread.join(patience_s)
    return ended[0] if ended else None


class QuietHighs(highspy.Highs):
    """HiGHS that prints nothing: 1.16.0 prints its name as soon as callbacks are enabled."""

    def enableCallbacks(self) -> None:  # noqa: N802
        """Enable callbacks, which the constructor does before an option can be set."""
        self.setOptionValue("output_flag", False)
        super().enableCallbacks()  # type: ignore[no-untyped-call]


def _instance(arrays: Any) -> Any:
    """Return HiGHS with the model and the options that keep it deterministic."""
    highs: Any = QuietHighs()  # type: ignore[no-untyped-call]
    for option, value in (
        ("presolve", "off"),
        ("threads", 1),
        ("random_seed", 0),
        ("mip_heuristic_run_feasibility_jump", False),
        ("mip_feasibility_tolerance", FEASIBILITY),
        ("primal_feasibility_tolerance", FEASIBILITY),
        ("dual_feasibility_tolerance", FEASIBILITY),
    ):
        _ok(highs.setOptionValue(option, value), option)
    _ok(highs.passModel(arrays), "passModel")
    return highs


def _ok(status: Any, what: str) -> None:
    if status == highspy.HighsStatus.kError:
        raise SolverError(f"HiGHS refused {what}")


def _low(bound: float | None) -> float:
    return -highspy.kHighsInf if bound is None else float(bound)


def _high(bound: float | None) -> float:
    return highspy.kHighsInf if bound is None else float(bound)


def _finite(value: float) -> float | None:
    return value if abs(value) < 1e300 else None
