"""Integer programs of PuLP solved: HiGHS in process, CBC of PuLP as the cross-check.

Status, bound and gap are those of the solver itself. PuLP's status is never trusted: it says
Optimal on a time limit, and Infeasible where HiGHS says "unbounded or infeasible". Plans that are
known are not handed over as a start: a solver that then finds nothing better would prove nothing.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import highspy
import numpy as np
import pulp
from numpy.typing import NDArray

from planner.errors import SolverError
from planner.files import OTHER_NAME, whole

SolverName = Literal["highs", "cbc"]
Status = Literal["optimal", "infeasible", "unbounded", "limit"]
NAMES: dict[SolverName, str] = {"highs": "HiGHS", "cbc": "CBC"}

TOLERANCE = 1e-7
"""Feasibility tolerance. HiGHS is right from 1e-6 to 1e-7; below that its presolve lost
optima and called the rest "Optimal" (tests/optimizer/test_solvers.py)."""
LARGEST_COST = 1e4
"""The largest cost that HiGHS sees. Its tolerance on reduced costs is per unit bought: beside
costs of 1 a hundred thousand units of next to no use could hide a hundredth of the objective."""
WORSE = 1e-5
LEAST_OBJECTIVE = 1e-6
"""Gaps of smaller objectives are shares of this: of bills in MUSD, a dollar."""
LONGEST_S = 600.0
"""No program of a plan takes so long; a solver that does has lost its way."""


@dataclass(frozen=True)
class Solved:
    """Result of a solve: its status, the best solution found, the bound that no solution passes.

    Without an ``objective`` no solution was found, without a ``bound`` none was proven. ``duals``
    of a relaxed problem are those of its rows by name: change of the objective per unit of their
    right side; HiGHS alone states them.
    """

    status: Status
    objective: float | None = None
    bound: float | None = None
    values: dict[str, float] = field(default_factory=dict)
    duals: dict[str, float] = field(default_factory=dict)

    @property
    def gap(self) -> float | None:
        """The distance from solution to bound, as a share of the solution."""
        if self.objective is None or self.bound is None:
            return None
        return abs(self.bound - self.objective) / max(abs(self.objective), LEAST_OBJECTIVE)


def solve(
    problem: Any,
    solver: SolverName = "highs",
    *,
    gap: float = 1e-7,
    time_limit_s: float | None = None,
    presolve: bool = True,
    relaxed: bool = False,
    known: float | None = None,
    start: Mapping[str, float] | None = None,
    stop: Callable[[], bool] | None = None,
    cutoff: float = math.inf,
) -> Solved:
    """Solve a PuLP problem to a relative gap.

    Args:
        problem: the `pulp.LpProblem`; its variables are left as they are.
        gap: how far the solver may stop from its bound, as a share of the objective.
        time_limit_s: without one `LONGEST_S`.
        presolve: whether the solver may simplify the problem first.
        relaxed: whether fractions will do in place of whole numbers.
        known: value that a solution is known to reach; HiGHS may skip solutions worse by more than
            a share of 1e-5. It gets the value alone, and has to find a solution itself.
        start: a solution that HiGHS begins with, by variable; CBC does without.
        stop: whether to end as at a time limit; HiGHS calls it again and again.
        cutoff: of a minimum, the value that solutions have to be below; CBC does without.

    Raises:
        SolverError: the solver is missing, cannot write its files, or ended without an answer.
    """
    limit_s = LONGEST_S if time_limit_s is None else time_limit_s
    if limit_s <= 0.0:
        return Solved("limit")
    if solver == "cbc":
        return _cbc(problem, gap, limit_s, presolve=presolve, relaxed=relaxed)
    arrays = _Arrays(problem, known, relaxed=relaxed)
    highs: Any = _QuietHighs()  # type: ignore[no-untyped-call]
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("random_seed", 0),
        ("mip_rel_gap", gap),
        ("mip_abs_gap", 0.0),
        ("mip_feasibility_tolerance", TOLERANCE),
        ("primal_feasibility_tolerance", TOLERANCE),
        ("dual_feasibility_tolerance", TOLERANCE),
        ("mip_heuristic_run_feasibility_jump", False),
        ("presolve", "choose" if presolve else "off"),
        ("time_limit", limit_s),
    ):
        _accepted(highs.setOptionValue(option, value), option)
    if math.isfinite(cutoff):
        _accepted(highs.setOptionValue("objective_bound", cutoff * arrays.scale), "the cutoff")
    _accepted(highs.passModel(arrays.lp), "the model")
    if start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = [start.get(variable.name, 0.0) for variable in arrays.variables]
        highs.setSolution(solution)
    if stop is not None:
        for event in (highs.cbMipInterrupt, highs.cbSimplexInterrupt):
            event.subscribe(lambda now: now.interrupt() if stop() else None)
    with silenced():
        highs.run()
    return arrays.solved(highs)


def write_model(problem: Any, path: Path) -> None:
    """Write a problem as MPS or, by the ending .lp, as LP.

    Neither format has a place for a constant in the objective: it becomes a column fixed at 1.

    Raises:
        InputError: the file cannot be written.
    """
    objective = problem.objective
    if objective.constant:
        one = problem.add_variable("one", 1.0, 1.0)
        problem.setObjective(objective - objective.constant + objective.constant * one)
    with whole((path,), OTHER_NAME) as (temporary,):
        if path.suffix.lower() == ".lp":
            problem.writeLP(str(temporary))
        else:
            problem.writeMPS(str(temporary), with_objsense=True)
    problem.setObjective(objective)


# HiGHS in process: the problem as arrays.


class _QuietHighs(highspy.Highs):
    """HiGHS without the banner that it prints from 1.16 on when an instance is made."""

    def enableCallbacks(self) -> None:  # noqa: N802 (the name is highspy's)
        """Silence the instance before the first thing that it prints."""
        self.setOptionValue("output_flag", False)
        super().enableCallbacks()  # type: ignore[no-untyped-call]


_C_LIBRARY = ctypes.CDLL(None if os.name == "posix" else "ucrtbase")
_ONE_AT_A_TIME = threading.Lock()


@contextmanager
def silenced() -> Iterator[None]:
    """Send standard output of C code to nowhere, for one thread at a time.

    HiGHS prints a line of its own once in about 10,000 problems, whatever its options.
    """
    with _ONE_AT_A_TIME, Path(os.devnull).open("wb") as nowhere:
        _C_LIBRARY.fflush(None)
        kept = None
        with suppress(OSError):  # there may be no standard output
            kept = os.dup(1)
            os.dup2(nowhere.fileno(), 1)
        try:
            yield
        finally:
            if kept is not None:
                _C_LIBRARY.fflush(None)
                os.dup2(kept, 1)
                os.close(kept)


STOPPED = (
    highspy.HighsModelStatus.kTimeLimit,
    highspy.HighsModelStatus.kIterationLimit,
    highspy.HighsModelStatus.kInterrupt,
    highspy.HighsModelStatus.kSolutionLimit,
)


class _Arrays:
    """A PuLP problem as HiGHS takes it; its costs are scaled.

    Args:
        known: an objective that solutions reach nearly, as a row.
        relaxed: whether fractions will do.
    """

    def __init__(self, problem: Any, known: float | None, *, relaxed: bool) -> None:
        self.variables = variables = problem.variables()
        index, rows = {v: column for column, v in enumerate(variables)}, problem.constraints()
        costs = np.zeros(len(variables))
        for variable, factor in problem.objective.items():
            costs[index[variable]] += factor
        most, constant = float(np.abs(costs).max(initial=0.0)), problem.objective.constant
        self.scale = LARGEST_COST / most if most > 0.0 else 1.0
        self.lp = lp = highspy.HighsLp()
        lp.num_col_ = len(variables)
        lp.col_cost_ = costs * self.scale
        lp.offset_ = constant * self.scale
        maximise = problem.sense == pulp.LpMaximize
        lp.sense_ = highspy.ObjSense.kMaximize if maximise else highspy.ObjSense.kMinimize
        lp.col_lower_ = np.array([_end(variable.lowBound, -1) for variable in variables])
        lp.col_upper_ = np.array([_end(variable.upBound, 1) for variable in variables])
        whole = [variable.cat == pulp.LpInteger and not relaxed for variable in variables]
        self.whole = any(whole)
        if self.whole:
            kinds = highspy.HighsVarType
            lp.integrality_ = [kinds.kInteger if each else kinds.kContinuous for each in whole]
        starts, columns, factors = [0], list[int](), list[float]()
        self.rows = [row.name for row in rows]
        for row in rows:
            columns += [index[variable] for variable in row]
            factors += row.values()
            starts.append(len(columns))
        lows = [_end(row.getLb(), -1) for row in rows]
        highs = [_end(row.getUb(), 1) for row in rows]
        if known is not None and most > 0.0:  # the objective as a row, no worse than known
            there = np.flatnonzero(costs)
            columns += there.tolist()
            factors += costs[there].tolist()
            starts.append(len(columns))
            worse, right = WORSE * max(abs(known), 1.0), known - constant
            lows.append(right - worse if maximise else -highspy.kHighsInf)
            highs.append(highspy.kHighsInf if maximise else right + worse)
        lp.num_row_ = len(lows)
        lp.row_lower_, lp.row_upper_ = np.array(lows), np.array(highs)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.array(starts, dtype=np.int32)
        lp.a_matrix_.index_ = np.array(columns, dtype=np.int32)
        lp.a_matrix_.value_ = np.array(factors, dtype=np.float64)

    def solved(self, highs: Any) -> Solved:
        """The result of a run.

        Raises:
            SolverError: HiGHS ended without an answer.
        """
        kinds, status = highspy.HighsModelStatus, highs.getModelStatus()
        if status == kinds.kUnboundedOrInfeasible:
            # With no objective an infeasible program stays so; the rest was unbounded.
            self.lp.col_cost_ = np.zeros(self.lp.num_col_)
            _accepted(highs.passModel(self.lp), "the model")
            with silenced():
                highs.run()
            infeasible = highs.getModelStatus() == kinds.kInfeasible
            return Solved("infeasible" if infeasible else "unbounded")
        if status in (kinds.kInfeasible, kinds.kUnbounded):
            return Solved("infeasible" if status == kinds.kInfeasible else "unbounded")
        if status != kinds.kOptimal and status not in STOPPED:
            raise SolverError(f"HiGHS ended with {highs.modelStatusToString(status)}")
        info, ended = highs.getInfo(), status == kinds.kOptimal
        bound = info.mip_dual_bound if self.whole else info.objective_function_value
        proven = bound / self.scale if abs(bound) < 1e300 else None
        if info.primal_solution_status != int(highspy.SolutionStatus.kSolutionStatusFeasible):
            return Solved("optimal" if ended else "limit", bound=proven)
        found: NDArray[np.float64] = np.array(highs.getSolution().col_value)
        values = {v.name: n for v, n in zip(self.variables, found.tolist(), strict=True)}
        objective, duals = info.objective_function_value / self.scale, dict[str, float]()
        if not self.whole and ended:
            found_duals = zip(self.rows, highs.getSolution().row_dual, strict=True)
            duals = {name: dual / self.scale for name, dual in found_duals}
        return Solved("optimal" if ended else "limit", objective, proven, values, duals)


def _accepted(status: Any, what: str) -> None:
    if status == highspy.HighsStatus.kError:
        raise SolverError(f"HiGHS refused {what}")


def _end(bound: float | None, side: int) -> float:
    return side * highspy.kHighsInf if bound is None else float(bound)


# CBC: a file of the problem, a log to read.


class CbcError(SolverError):
    """CBC gave no answer (exit code 2): on this machine it cannot run, or has no room for files."""

    exit_code = 2

    def __init__(self, error: Exception) -> None:
        reason = getattr(error, "strerror", None) or "no answer"
        fix = "is TMPDIR full? free some space there, or use --solver highs"
        super().__init__(f"CBC failed: {reason.lower()}; {fix} [solver]")


def _cbc(problem: Any, gap: float, limit_s: float, *, presolve: bool, relaxed: bool) -> Solved:
    variables = problem.variables()
    ends = ((v.lowBound, v.upBound) for v in variables)
    if any(low is not None and high is not None and low > high for low, high in ends):
        return Solved("infeasible")  # CBC refuses to read such a file
    try:
        with tempfile.TemporaryDirectory(prefix="planner-") as folder:
            log = Path(folder) / "cbc.log"
            command = pulp.COIN_CMD(
                path=pulp.PULP_CBC_CMD.pulp_cbc_path,
                msg=False,
                mip=not relaxed,
                threads=1,
                timeLimit=limit_s,
                gapRel=gap,
                logPath=str(log),
                options=[
                    f"primalTolerance {TOLERANCE}",
                    "integerTolerance 1e-7",
                    *([] if presolve else ["presolve off", "preprocess off"]),
                ],
            )
            command.tmpDir = folder
            problem.solve(command)
            text = log.read_text("utf-8") if log.exists() else ""
    except Exception as error:  # on a full disk PuLP reads files that were cut short
        raise CbcError(error) from error
    return _read_log(problem, text, variables)


def _read_log(problem: Any, log: str, variables: list[Any]) -> Solved:
    """The answer of CBC; where it ended it proved its solution to the gap."""
    if problem.status == pulp.LpStatusInfeasible:
        return Solved("infeasible")
    if problem.status == pulp.LpStatusUnbounded:
        return Solved("unbounded")
    found = problem.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    stopped = "Stopped on" in log or problem.sol_status != pulp.LpSolutionOptimal
    values = {v.name: 0.0 if v.varValue is None else v.varValue for v in variables}
    objective = problem.objective.constant + sum(
        factor * values[variable.name] for variable, factor in problem.objective.items()
    )
    sign = -1.0 if problem.sense == pulp.LpMaximize else 1.0
    bound: float | None = None
    if not stopped:  # bounds in the log are those on the way
        bound = objective
    elif printed := re.findall(r"(?:Lower bound|best possible|best bound):?\s+([-+0-9.eE]+)", log):
        bound = sign * float(printed[-1]) + problem.objective.constant
    if not found:
        return Solved("limit", bound=bound)
    if bound is not None and math.isfinite(bound) and sign * (bound - objective) > 0.0:
        bound = objective  # printed with fewer digits than the solution
    return Solved("limit" if stopped else "optimal", objective, bound, values)
