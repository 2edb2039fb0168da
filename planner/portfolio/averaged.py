"""A program with fewer periods, whose optimum bounds that of the whole program.

Between two starts of a block of periods no job, limit or item begins or ends. Its program sums the
rows of each block: of any plan the sums of systems in use, shares and work over a block meet the
summed rows, and, because useful work is concave, the tangents as well. Purchases keep their periods
and whole numbers; units that depend on purchases are counted at the end of each block, where they
are most. The optimum of that program passes no plan of the whole one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from pulp import LpAffineExpression, LpContinuous, LpInteger, LpMinimize, LpProblem

from planner.portfolio.model import Program, Run

KEPT = frozenset({"here", "new", "gone", "some", "buy", "ordered", "spares", "moved", "y"})
KEPT |= {"anew", "rewired"}
"""Variables of single periods."""
OF_JOBS = frozenset({"v", "replicas", "hot", "b", "r", "e", "u"})
WHOLE = frozenset({"v", "replicas", "hot"})
"""Those of them that are whole numbers."""


def kind_of(variable: Any) -> str:
    """The first part of a variable's name."""
    return str(variable.name).partition(".")[0]


def block_starts(program: Program, jobs: Collection[int]) -> tuple[int, ...]:
    """Periods in which one of the jobs, a limit or an item begins or ends, or money comes."""
    instance, portfolio = program.instance, program.portfolio
    starts = {0, *range(len(portfolio.budget.capex.per_period_usd))}
    for number in jobs:
        window = instance.window(number)
        starts |= {window.start, window.stop}
    for number, job in program.training():
        if number in jobs:
            starts |= {job.tokens.by or 0} if job.tokens else set()
    for place in program.places.values():
        starts |= {first - 1 for first in place.site.facility_power_from}
        starts |= {instance.first_arrival(place, sku) for sku in place.offers}
    return tuple(sorted(starts & {*instance.periods}))


class Averaged:
    """The program with the rows of each block of periods summed; to be minimised.

    Args:
        program: the whole program, with its objective and tangents.
        starts: the first period of each block.
        money: whether money or power is least: energy of dependent items counts, so they are
            averaged too, and sums of systems in use stay whole, as few are bought.
    """

    def __init__(self, program: Program, starts: Sequence[int], *, money: bool) -> None:
        self.program, self.whole, self.money = program, program.problem, money
        self.problem, self.rows = LpProblem("averaged", LpMinimize), 0
        self.block = {p: max(each for each in starts if each <= p) for p in program.periods}
        self.length = Counter(self.block.values())
        self.last = {start + length - 1 for start, length in self.length.items()}
        self.known: dict[str, Any] = {}
        self._add_rows()
        for run in program.runs:
            if run.period in self.last:
                self._hold_whole(run)
        self.refresh()

    def refresh(self) -> None:
        """Take the objective of the whole program, and which jobs are here, as they are now."""
        goal = self._terms([self.whole.objective], least=True) or {}
        constant = self.whole.objective.constant
        self.problem.setObjective(LpAffineExpression([*goal.items()]) + constant)
        for variable in self.program.here.values():
            column, _ = self._column(variable)
            column.lowBound, column.upBound = variable.lowBound, variable.upBound

    def values(self, found: Mapping[str, float]) -> dict[str, float]:
        """The values of the whole program's variables, sums spread evenly over their blocks."""
        columns = {v.name: self._column(v) for v in self.whole.variables()}
        return {name: found.get(v.name, 0.0) / length for name, (v, length) in columns.items()}

    def _add_rows(self) -> None:
        """Add the rows of single purchases, those at the ends of blocks, and sums over blocks."""
        blocks: dict[tuple[str, int], list[Any]] = {}
        tangents: dict[tuple[tuple[str, float], ...], Any] = {}
        for row in self.whole.constraints():
            base, _ = _split(row.name)
            periods = {_split(v.name)[1] for v in row if _is_summed(v)}
            if len(periods) > 1:
                self._sum([row])
            elif base.startswith("tangent."):
                tangents[tuple((self._column(v)[0].name, c) for v, c in row.items())] = row
            else:
                for period in periods:
                    blocks.setdefault((base, self.block[period]), []).append(row)
                if not periods or (periods <= self.last and not _has_jobs(row)):
                    terms = {self._column(v, own=True)[0]: c for v, c in row.items()}
                    self._add(terms, row.getLb(), row.getUb(), row.name)
        for row in tangents.values():
            columns = [(self._column(v), c) for v, c in row.items()]
            self._add({v: c / n for (v, n), c in columns}, row.getLb(), row.getUb())
        for (_, start), rows in blocks.items():
            for together in [rows] if len(rows) == self.length[start] else [[row] for row in rows]:
                if self.money or _has_jobs(together[0]):
                    self._sum(together)

    def _hold_whole(self, run: Run) -> None:
        """GPUs of a block <= periods x those of whole units that are in place at its end.

        Other jobs have their fewest GPUs there at least.
        """
        program, column, gpus = self.program, run.column, float(run.column.way.usable_gpus)
        here = column.site, column.system.id, run.period
        if any(key[:2] == here[:2] for key in program.gone):
            return
        terms = {v: -c * gpus for v, c in program.units[here].items()}
        for other in program.runs:
            there, job = (other.column.site, other.column.system.id, other.period), other.column.job
            if there == here and job != column.job and not program.portfolio.jobs[job].moves:
                fewest = math.ceil(other.fewest_gpus / other.column.way.usable_gpus)
                terms[other.runs] = terms.get(other.runs, 0.0) + fewest * gpus
        name, step = f"most.{column.name}@{run.period}", float(column.way.step_gpus)
        most = self.problem.add_variable(name, 0.0, None, LpInteger)
        known = {self._column(v, own=True)[0]: c for v, c in terms.items()}
        self._add(known | {most: step}, None, gpus * program.units[here].constant)
        ((used, each),) = run.gpus.items()
        total, length = self._column(used)
        self._add({total: each, most: -step * length}, None, 0.0)

    def _column(self, variable: Any, *, own: bool = False) -> tuple[Any, int]:
        """The sum of a variable over its block and the block's length; itself of purchases."""
        summed = not own and _is_summed(variable)
        name, length, category = variable.name, 1, variable.cat
        if summed:
            base, period = _split(name)
            name, length = f"sum.{base}@{self.block[period]}", self.length[self.block[period]]
            whole = self.money and kind_of(variable) in WHOLE
            category = LpInteger if whole else LpContinuous
        if name not in self.known:
            low, high = variable.lowBound * length, variable.upBound
            high = None if high is None else high * length
            self.known[name] = self.problem.add_variable(name, low, high, category)
        return self.known[name], length

    def _sum(self, rows: Sequence[Any]) -> None:
        """Add the sum of rows; none where no coefficient is valid in all periods of a block."""
        low = math.fsum(_end(row.getLb(), -math.inf) for row in rows)
        high = math.fsum(_end(row.getUb(), math.inf) for row in rows)
        least = None if math.isfinite(low) and math.isfinite(high) else math.isfinite(high)
        terms = self._terms(rows, least=least)
        if terms is not None:
            self._add(terms, low, high, rows[0].name if len(rows) == 1 else "")

    def _terms(self, rows: Iterable[Any], *, least: bool | None) -> dict[Any, float] | None:
        """Coefficients of sums over blocks, the least or the largest of all periods."""
        each: dict[Any, list[float]] = {}
        found: dict[Any, float] = {}
        lengths: dict[Any, int] = {}
        for row in rows:
            for variable, factor in row.items():
                column, length = self._column(variable)
                if _is_summed(variable):
                    each.setdefault(column, []).append(factor)
                    lengths[column] = length
                else:
                    found[column] = found.get(column, 0.0) + factor
        for column, factors in each.items():
            ends = [*factors, 0.0] if len(factors) < lengths[column] else factors
            low, high = min(ends), max(ends)
            if least is None and high - low > 1e-12 * max(abs(low), abs(high)):
                return None
            found[column] = high if least is False else low
        return found

    def _add(
        self, terms: Mapping[Any, float], low: float | None, high: float | None, name: str = ""
    ) -> None:
        self.rows += 1
        name, total = f"r{self.rows}.{name}", LpAffineExpression([*terms.items()])
        low, high = _end(low, -math.inf), _end(high, math.inf)
        if low == high:
            self.problem.addConstraint(total == low, name)
        elif math.isfinite(high):
            self.problem.addConstraint(total <= high, name)
        else:
            self.problem.addConstraint(total >= low, name)


def _split(name: str) -> tuple[str, int]:
    base, _, period = name.rpartition("@")
    return (base, int(period)) if base else (name, 0)


def _end(bound: float | None, none: float) -> float:
    return none if bound is None else float(bound)


def _is_summed(variable: Any) -> bool:
    return "@" in variable.name and kind_of(variable) not in KEPT


def _has_jobs(row: Any) -> bool:
    return any(kind_of(variable) in OF_JOBS for variable in row)


__all__ = ["Averaged", "block_starts", "kind_of"]
