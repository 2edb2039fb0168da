"""The CBC that PuLP bundles, run on the PuLP model: slower, independent, the cross-check."""

from __future__ import annotations

import math
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pulp

from planner.errors import SolverError
from planner.optimizer.model import Linear, Model, Row, Variable
from planner.optimizer.solver import FEASIBILITY, Effort, Outcome, crosses_by_rounding


class CbcError(SolverError):
    """CBC gave no answer (exit code 2): on this machine it cannot run, or has no room for files."""

    exit_code = 2

    def __init__(self, error: Exception) -> None:
        reason = getattr(error, "strerror", None) or "no answer"
        fix = "is TMPDIR full? free some space there, or use --solver highs"
        super().__init__(f"CBC failed: {reason.lower()}; {fix} [solver]")


class CbcSession:
    """A session that writes and solves the whole model each time."""

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
        """Replace a variable's bounds; those that cross by rounding alone change places."""
        if high is not None and crosses_by_rounding(low, high):
            low, high = high, low
        variable.lowBound, variable.upBound = low, high

    def change(self, row: Row, factors: dict[str, float], right: float) -> None:
        """Replace factors of a ``<=`` row, by variable name, and its right-hand side."""
        known = {variable.name: variable for variable in self.model.variables}
        for name, factor in factors.items():
            row.constraint.expr[known[name]] = factor
        row.constraint.constant = -right

    def solve(
        self, *, relaxed: bool, gap: float, relative: bool, effort: Effort, careful: bool = False
    ) -> Outcome:
        """Solve the model, or its linear relaxation, to a gap; ``careful``: without presolve."""
        if effort.over:
            return Outcome("limit", None, None)
        if any(map(_is_empty, self.model.variables)):  # CBC would refuse to read the model
            return Outcome("infeasible", None, None)
        left = effort.left_s
        entries = sum(len(row.constraint.expr) for row in self.model.rows)
        text = self._run(
            mip=not relaxed,
            timeLimit=None if left > 1e6 else max(left, 0.1),
            maxNodes=effort.most_nodes(entries),
            gapRel=gap if relative else 0.0,
            gapAbs=0.0 if relative else gap,
            options=["presolve off", "preprocess off"] if careful else [],
        )
        effort.spend(_counted(text), entries, _nodes(text))
        outcome = self._read(text, relaxed)
        if outcome.status != "optimal" or relaxed or outcome.bound is None:
            return outcome
        # CBC prints no bound when it is done: the truth may be as far off as it was allowed.
        width = gap * abs(outcome.bound) if relative else gap
        sign = 1.0 if self.model.problem.sense == pulp.LpMaximize else -1.0
        return replace(outcome, bound=outcome.bound + sign * width)

    def _run(self, *, options: list[str], **settings: Any) -> str:
        """Run CBC on the model in a folder of its own; return its log.

        Raises:
            CbcError: CBC or its files failed.
        """
        options = [
            f"primalTolerance {FEASIBILITY}",
            f"integerTolerance {FEASIBILITY}",
            "increment 1e-9",
            *options,
        ]
        try:
            with tempfile.TemporaryDirectory(prefix="planner-") as folder:
                log = Path(folder) / "cbc.log"
                command = pulp.COIN_CMD(
                    path=pulp.PULP_CBC_CMD.pulp_cbc_path,
                    msg=False,
                    threads=1,
                    logPath=str(log),
                    options=options,
                    **settings,
                )
                command.tmpDir = folder
                self.model.problem.solve(command)
                return log.read_text("utf-8") if log.exists() else ""
        except Exception as error:  # on a full disk PuLP reads files that were cut short
            raise CbcError(error) from error

    def _read(self, log: str, relaxed: bool) -> Outcome:
        problem = self.model.problem
        if problem.status == pulp.LpStatusInfeasible:
            return Outcome("infeasible", None, None)
        if problem.status == pulp.LpStatusUnbounded:
            return Outcome("unbounded", None, None)
        values = {v.name: v.varValue for v in self.model.variables if v.varValue is not None}
        for variable in self.model.variables:
            values.setdefault(
                variable.name, -math.inf if variable.lowBound is None else variable.lowBound
            )
        found = problem.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
        stopped = "Stopped on" in log or problem.sol_status != pulp.LpSolutionOptimal
        objective = _objective_value(problem, values) if found else None
        bound = (
            objective if relaxed and not stopped else _cbc_bound(log, objective, stopped, problem)
        )
        return Outcome("limit" if stopped else "optimal", objective, bound, values if found else {})


def _is_empty(variable: Variable) -> bool:
    """Say whether no value lies within a variable's bounds."""
    low, high = variable.lowBound, variable.upBound
    return low is not None and high is not None and low > high


def _counted(log: str) -> int:
    """Return the iterations that CBC printed."""
    counts = re.findall(r"Total iterations:\s+(\d+)", log)
    counts += re.findall(r"after (\d+) iterations", log)
    return sum(int(count) for count in counts)


def _nodes(log: str) -> int:
    """Return the nodes that CBC printed."""
    return sum(int(count) for count in re.findall(r"Enumerated nodes:\s+(\d+)", log))


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
