"""HiGHS in process and CBC behind one door, with our own reading of status, bound and gap.

PuLP's status is never trusted: it says Optimal on a time limit and Infeasible where HiGHS says
"unbounded or infeasible". HiGHS keeps one model that is changed in place; CBC gets the PuLP model.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import highspy
import numpy as np
import pulp

from planner.errors import SolverError
from planner.optimizer.model import Linear, Model, Row, Variable

Status = Literal["optimal", "infeasible", "unbounded", "limit"]
FEASIBILITY = 1e-8
"""Within the range (1e-6 to 1e-8) in which HiGHS was measured to tell the truth."""


@dataclass(frozen=True)
class Outcome:
    """How a solve ended: status, best values found, proven bound."""

    status: Status
    objective: float | None
    bound: float | None
    values: dict[str, float] = field(default_factory=dict)


class Session(Protocol):
    """One model in a solver, changed in place."""

    name: str

    def add(self, row: Row) -> None:
        """Add a row that the model has gained."""

    def objective(self, expression: Linear, maximise: bool) -> None:
        """Replace the objective."""

    def bounds(self, variable: Variable, low: float, high: float | None) -> None:
        """Replace a variable's bounds."""

    def solve(self, *, relaxed: bool, gap: float, relative: bool, deadline: float) -> Outcome:
        """Solve the model, or its linear relaxation, to a gap."""


def session(name: Literal["highs", "cbc"], model: Model) -> Session:
    """Return a session of the named solver for ``model``."""
    return HighsSession(model) if name == "highs" else CbcSession(model)


class HighsSession:
    """The model as arrays, handed to HiGHS once."""

    name = "highs"

    def __init__(self, model: Model) -> None:
        self.names = [variable.name for variable in model.variables]
        self.index = {name: position for position, name in enumerate(self.names)}
        self.highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("random_seed", 0),
            ("mip_heuristic_run_feasibility_jump", False),
            ("mip_feasibility_tolerance", FEASIBILITY),
            ("primal_feasibility_tolerance", FEASIBILITY),
            ("dual_feasibility_tolerance", FEASIBILITY),
        ):
            _ok(self.highs.setOptionValue(option, value), option)
        _ok(self.highs.passModel(self._arrays(model)), "passModel")

    def _arrays(self, model: Model) -> Any:
        lp = highspy.HighsLp()
        lp.num_col_ = len(model.variables)
        lp.num_row_ = len(model.rows)
        lp.col_cost_ = np.zeros(lp.num_col_)
        lp.col_lower_ = np.array([_low(v.lowBound) for v in model.variables])
        lp.col_upper_ = np.array([_high(v.upBound) for v in model.variables])
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[v.cat == pulp.LpInteger] for v in model.variables]
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
        columns, factors, low, high = self._row(row)
        count = len(columns)
        indices, values = np.array(columns, dtype=np.int32), np.array(factors)
        _ok(self.highs.addRow(low, high, count, indices, values), "addRow")

    def objective(self, expression: Linear, maximise: bool) -> None:
        """Replace the objective."""
        expression = expression + 0
        costs = np.zeros(len(self.names))
        for variable, factor in expression.items():
            costs[self.index[variable.name]] = factor
        columns = np.arange(len(costs), dtype=np.int32)
        _ok(self.highs.changeColsCost(len(costs), columns, costs), "changeColsCost")
        _ok(self.highs.changeObjectiveOffset(expression.constant), "changeObjectiveOffset")
        sense = highspy.ObjSense.kMaximize if maximise else highspy.ObjSense.kMinimize
        _ok(self.highs.changeObjectiveSense(sense), "changeObjectiveSense")

    def bounds(self, variable: Variable, low: float, high: float | None) -> None:
        """Replace a variable's bounds."""
        position = self.index[variable.name]
        _ok(self.highs.changeColBounds(position, low, _high(high)), "changeColBounds")

    def solve(self, *, relaxed: bool, gap: float, relative: bool, deadline: float) -> Outcome:
        """Solve the model, or its linear relaxation, to a gap."""
        left = deadline - time.monotonic()
        if left <= 0:
            return Outcome("limit", None, None)
        set_option = self.highs.setOptionValue
        set_option("solve_relaxation", relaxed)
        set_option("time_limit", self.highs.getRunTime() + min(left, 1e7))
        set_option("mip_rel_gap", gap if relative else 0.0)
        set_option("mip_abs_gap", 0.0 if relative else gap)
        self.highs.run()
        status = self.highs.getModelStatus()
        kinds = highspy.HighsModelStatus
        if status == kinds.kUnboundedOrInfeasible:
            return self._tell_apart(relaxed, deadline)
        if status == kinds.kInfeasible:
            return Outcome("infeasible", None, None)
        if status == kinds.kUnbounded:
            return Outcome("unbounded", None, None)
        if status in (kinds.kOptimal, kinds.kTimeLimit, kinds.kInterrupt, kinds.kSolutionLimit):
            return self._read("optimal" if status == kinds.kOptimal else "limit", relaxed)
        raise SolverError(f"HiGHS ended with {self.highs.modelStatusToString(status)}")

    def _read(self, status: Status, relaxed: bool) -> Outcome:
        info = self.highs.getInfo()
        feasible = info.primal_solution_status == int(
            highspy.SolutionStatus.kSolutionStatusFeasible
        )
        bound = info.objective_function_value if relaxed else info.mip_dual_bound
        if not feasible:
            return Outcome(status, None, _finite(bound))
        solution = list(self.highs.getSolution().col_value)
        values = dict(zip(self.names, solution, strict=True))
        return Outcome(status, info.objective_function_value, _finite(bound), values)

    def _tell_apart(self, relaxed: bool, deadline: float) -> Outcome:
        """Solve once with a zero objective: infeasible stays infeasible, else it was unbounded."""
        count = len(self.names)
        columns = np.arange(count, dtype=np.int32)
        costs = np.array(self.highs.getLp().col_cost_)
        self.highs.changeColsCost(count, columns, np.zeros(count))
        outcome = self.solve(relaxed=relaxed, gap=1.0, relative=True, deadline=deadline)
        self.highs.changeColsCost(count, columns, costs)
        if outcome.status == "optimal":
            return Outcome("unbounded", None, None)
        return outcome


class CbcSession:
    """The PuLP model solved by the CBC that PuLP bundles: slower, independent, the cross-check."""

    name = "cbc"

    def __init__(self, model: Model) -> None:
        self.model = model
        self.sense = 1

    def add(self, row: Row) -> None:
        """Do nothing: the PuLP model has the row already."""

    def objective(self, expression: Linear, maximise: bool) -> None:
        """Replace the objective."""
        self.model.problem.sense = pulp.LpMaximize if maximise else pulp.LpMinimize
        self.model.problem.setObjective(expression + 0)

    def bounds(self, variable: Variable, low: float, high: float | None) -> None:
        """Replace a variable's bounds."""
        variable.lowBound, variable.upBound = low, high

    def solve(self, *, relaxed: bool, gap: float, relative: bool, deadline: float) -> Outcome:
        """Solve the model, or its linear relaxation, to a gap."""
        left = deadline - time.monotonic()
        if left <= 0:
            return Outcome("limit", None, None)
        with tempfile.TemporaryDirectory() as folder:
            log = str(Path(folder) / "cbc.log")
            command = pulp.PULP_CBC_CMD(
                msg=False,
                mip=not relaxed,
                threads=1,
                timeLimit=None if left > 1e6 else max(left, 0.1),
                gapRel=gap if relative else 0.0,
                gapAbs=0.0 if relative else gap,
                logPath=log,
                options=[
                    f"primalTolerance {FEASIBILITY}",
                    "integerTolerance 1e-8",
                    "increment 1e-9",
                ],
            )
            command.tmpDir = folder
            self.model.problem.solve(command)
            text = Path(log).read_text("utf-8") if Path(log).exists() else ""
        outcome = self._read(text, relaxed)
        if outcome.status != "optimal" or relaxed or outcome.bound is None:
            return outcome
        # CBC prints no bound when it is done: the truth may be as far off as it was allowed.
        width = gap * abs(outcome.bound) if relative else gap
        sign = 1.0 if self.model.problem.sense == pulp.LpMaximize else -1.0
        return replace(outcome, bound=outcome.bound + sign * width)

    def _read(self, log: str, relaxed: bool) -> Outcome:
        problem = self.model.problem
        if problem.status == pulp.LpStatusInfeasible:
            return Outcome("infeasible", None, None)
        if problem.status == pulp.LpStatusUnbounded:
            return Outcome("unbounded", None, None)
        values = {v.name: v.varValue for v in self.model.variables if v.varValue is not None}
        for variable in self.model.variables:
            values.setdefault(variable.name, _low(variable.lowBound))
        found = problem.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
        stopped = "Stopped on" in log or problem.sol_status != pulp.LpSolutionOptimal
        objective = float(pulp.value(problem.objective)) if found else None
        bound = (
            objective if relaxed and not stopped else _cbc_bound(log, objective, stopped, problem)
        )
        return Outcome("limit" if stopped else "optimal", objective, bound, values if found else {})


def _cbc_bound(log: str, objective: float | None, stopped: bool, problem: Any) -> float | None:
    """Return the bound CBC printed (of the minimised form), or the objective it proved."""
    printed = re.findall(r"(?:Lower bound|best possible|best bound):?\s+([-+0-9.eE]+)", log)
    if stopped and printed:
        sign = -1.0 if problem.sense == pulp.LpMaximize else 1.0
        return sign * float(printed[-1]) + float(problem.objective.constant)
    return None if stopped else objective


def save_mps(model: Model, path: Path) -> None:
    """Write the model as an MPS file, whole or not at all."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".mps")
    os.close(handle)
    try:
        model.problem.writeMPS(temporary)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _ok(status: Any, what: str) -> None:
    if status == highspy.HighsStatus.kError:
        raise SolverError(f"HiGHS refused {what}")


def _low(bound: float | None) -> float:
    return -highspy.kHighsInf if bound is None else float(bound)


def _high(bound: float | None) -> float:
    return highspy.kHighsInf if bound is None else float(bound)


def _finite(value: float) -> float | None:
    return value if abs(value) < 1e300 else None
