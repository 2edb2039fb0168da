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

from planner.errors import Finding, InputError, SolverError
from planner.optimizer.model import Linear, Model, Row, Variable

Status = Literal["optimal", "infeasible", "unbounded", "limit"]
FEASIBILITY = 1e-7
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
    """The model as arrays in two HiGHS instances, one for the relaxation and one for the MILP.

    In one instance (HiGHS 1.15.1, option ``solve_relaxation``) a MILP solved after its relaxation
    was reported optimal with gap 0 and was not: tests/optimizer/test_solver.py holds the case. The
    relaxation keeps its basis between solves; the MILP starts afresh each time.
    """

    name = "highs"

    def __init__(self, model: Model) -> None:
        self.names = [variable.name for variable in model.variables]
        self.index = {name: position for position, name in enumerate(self.names)}
        self.integers = [variable.cat == pulp.LpInteger for variable in model.variables]
        arrays = self._arrays(model)
        self.relaxation = _instance(arrays)
        arrays.integrality_ = [
            highspy.HighsVarType.kInteger if whole else highspy.HighsVarType.kContinuous
            for whole in self.integers
        ]
        self.milp = _instance(arrays)

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
        columns = np.arange(len(costs), dtype=np.int32)
        sense = highspy.ObjSense.kMaximize if maximise else highspy.ObjSense.kMinimize
        for highs in (self.relaxation, self.milp):
            _ok(highs.changeColsCost(len(costs), columns, costs), "changeColsCost")
            _ok(highs.changeObjectiveOffset(expression.constant), "changeObjectiveOffset")
            _ok(highs.changeObjectiveSense(sense), "changeObjectiveSense")

    def bounds(self, variable: Variable, low: float, high: float | None) -> None:
        """Replace a variable's bounds."""
        position = self.index[variable.name]
        for highs in (self.relaxation, self.milp):
            _ok(highs.changeColBounds(position, low, _high(high)), "changeColBounds")

    def solve(self, *, relaxed: bool, gap: float, relative: bool, deadline: float) -> Outcome:
        """Solve the model, or its linear relaxation, to a gap."""
        left = deadline - time.monotonic()
        if left <= 0:
            return Outcome("limit", None, None)
        highs = self.relaxation if relaxed else self.milp
        if not relaxed:
            highs.clearSolver()
        highs.setOptionValue("time_limit", highs.getRunTime() + min(left, 1e7))
        highs.setOptionValue("mip_rel_gap", gap if relative else 0.0)
        highs.setOptionValue("mip_abs_gap", 0.0 if relative else gap)
        status = _run(highs)
        kinds = highspy.HighsModelStatus
        if status == kinds.kUnboundedOrInfeasible:
            return self._tell_apart(highs)
        if status == kinds.kInfeasible:
            return Outcome("infeasible", None, None)
        if status == kinds.kUnbounded:
            return Outcome("unbounded", None, None)
        if relaxed and status in UNDECIDED:
            return Outcome("optimal", None, None)  # the relaxation only helps; the MILP decides
        if status in (kinds.kOptimal, kinds.kTimeLimit, kinds.kInterrupt, kinds.kSolutionLimit):
            return self._read(highs, "optimal" if status == kinds.kOptimal else "limit", relaxed)
        raise SolverError(f"HiGHS ended with {highs.modelStatusToString(status)}")

    def _read(self, highs: Any, status: Status, relaxed: bool) -> Outcome:
        info = highs.getInfo()
        feasible = int(highspy.SolutionStatus.kSolutionStatusFeasible)
        if relaxed and status == "limit":
            return Outcome(status, None, None)
        bound = info.objective_function_value if relaxed else info.mip_dual_bound
        if info.primal_solution_status != feasible:
            return Outcome(status, None, _finite(bound))
        values = dict(zip(self.names, highs.getSolution().col_value, strict=True))
        return Outcome(status, info.objective_function_value, _finite(bound), values)

    def _tell_apart(self, highs: Any) -> Outcome:
        """Solve once with a zero objective: infeasible stays infeasible, else it was unbounded."""
        count = len(self.names)
        columns = np.arange(count, dtype=np.int32)
        costs = np.array(highs.getLp().col_cost_)
        _ok(highs.changeColsCost(count, columns, np.zeros(count)), "changeColsCost")
        highs.run()
        status = highs.getModelStatus()
        _ok(highs.changeColsCost(count, columns, costs), "changeColsCost")
        infeasible = status == highspy.HighsModelStatus.kInfeasible
        return Outcome("infeasible" if infeasible else "unbounded", None, None)


UNDECIDED = (highspy.HighsModelStatus.kUnknown, highspy.HighsModelStatus.kSolveError)
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


def _instance(arrays: Any) -> Any:
    """Return HiGHS with the model and the options that keep it deterministic."""
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in (
        ("output_flag", False),
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
        expression = expression + 0
        if len(expression) == 0:
            # PuLP would add a dummy variable, which has no column in the next model it writes.
            expression.addterm(self.model.variables[0], 0.0)
        self.model.problem.setObjective(expression)

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
            command = pulp.COIN_CMD(
                path=pulp.PULP_CBC_CMD.pulp_cbc_path,
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
        objective = _objective_value(problem, values) if found else None
        bound = (
            objective if relaxed and not stopped else _cbc_bound(log, objective, stopped, problem)
        )
        return Outcome("limit" if stopped else "optimal", objective, bound, values if found else {})


def _objective_value(problem: Any, values: dict[str, float]) -> float:
    """Return the objective at ``values``, which know variables that PuLP left without one."""
    terms = ((factor, values[v.name]) for v, factor in problem.objective.items())
    return float(problem.objective.constant + sum(factor * value for factor, value in terms))


def _cbc_bound(log: str, objective: float | None, stopped: bool, problem: Any) -> float | None:
    """Return the bound CBC printed (of the minimised form), or the objective it proved."""
    printed = re.findall(r"(?:Lower bound|best possible|best bound):?\s+([-+0-9.eE]+)", log)
    if stopped and printed:
        sign = -1.0 if problem.sense == pulp.LpMaximize else 1.0
        return sign * float(printed[-1]) + float(problem.objective.constant)
    return None if stopped else objective


def save_mps(model: Model, expression: Linear, maximise: bool, path: Path) -> None:
    """Write the model with an objective as an MPS file, whole or not at all.

    Raises:
        InputError: the file cannot be written.
    """
    if path.is_dir():
        message, fix = "cannot write: there is a folder of this name", "give the name of a file"
        raise InputError(Finding("unwritable", message, str(path), fix=fix))
    expression = expression + 0
    if expression.constant:  # MPS as PuLP writes it has no place for a constant
        one = model.var("one", 1.0, 1.0)
        expression = expression - expression.constant + expression.constant * one
    model.problem.sense = pulp.LpMaximize if maximise else pulp.LpMinimize
    model.problem.setObjective(expression)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        model.problem.writeMPS(str(temporary), with_objsense=True)
        temporary.replace(path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(Finding("unwritable", f"cannot write: {reason}", str(path))) from None
    finally:
        if path.parent.is_dir():
            temporary.unlink(missing_ok=True)


def _ok(status: Any, what: str) -> None:
    if status == highspy.HighsStatus.kError:
        raise SolverError(f"HiGHS refused {what}")


def _low(bound: float | None) -> float:
    return -highspy.kHighsInf if bound is None else float(bound)


def _high(bound: float | None) -> float:
    return highspy.kHighsInf if bound is None else float(bound)


def _finite(value: float) -> float | None:
    return value if abs(value) < 1e300 else None
