"""A program with fewer periods, whose optimum bounds that of the whole program.

Between two starts of a block of periods no job, limit or item begins or ends. Its program sums the
rows of each block: of any plan the sums of systems in use, shares and work over a block meet the
summed rows, and, because useful work is concave, the tangents as well. Purchases keep their periods
and whole numbers; units that depend on purchases are counted at the end of each block, where they
are most. The optimum of that program passes no plan of the whole one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pulp import LpAffineExpression, LpContinuous, LpInteger, LpMinimize, LpProblem

from planner.portfolio.model import Program, Run

KEPT = frozenset({"new", "old", "some", "buy", "ordered", "spares", "moved", "y"})
"""Variables of single periods."""
OF_JOBS = frozenset({"v", "replicas", "hot", "b", "r", "e", "u"})
WHOLE = frozenset({"v", "replicas", "hot"})


def kind_of(variable: Any) -> str:
    """The first part of a variable's name."""
    return str(variable.name).partition(".")[0]


def block_starts(program: Program) -> tuple[int, ...]:
    """Periods in which a job, limit or item begins or ends, or money of its own comes."""
    instance, portfolio = program.instance, program.portfolio
    starts = {0, *range(len(portfolio.budget.capex.per_period_usd))}
    for number in range(len(portfolio.jobs)):
        window = instance.window(number)
        starts |= {window.start, window.stop}
    for _, job in program.training():
        starts |= {job.tokens.by or 0} if job.tokens else set()
    for site in portfolio.sites.values():
        starts |= {first - 1 for first in site.facility_power_from}
    for place in instance.places:
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
        self.money = money
        self.problem = LpProblem("averaged", LpMinimize)
        self.whole, self.starts, self.rows = program.problem, starts, 0
        ends = [*starts[1:], len(program.periods)]
        self.ends = dict(zip(starts, ends, strict=True))
        self.known: dict[str, Any] = {}
        self._add_rows()
        for run in program.runs:
            if run.period + 1 in self.ends.values():
                self._hold_whole(program, run)
        goal = self._terms([self.whole.objective], least=True) or {}
        constant = self.whole.objective.constant
        self.problem.setObjective(LpAffineExpression([*goal.items()]) + constant)

    def _add_rows(self) -> None:
        """Add the rows of single purchases, those at the ends of blocks, and sums over blocks."""
        blocks: dict[tuple[str, int], list[Any]] = {}
        tangents: dict[tuple[tuple[str, float], ...], Any] = {}
        for row in self.whole.constraints():
            base, _ = _split(row.name)
            periods = {int(_split(v.name)[1] or 0) for v in row if _is_summed(v)}
            if len(periods) > 1:
                self._sum([row])
            elif base.startswith("tangent."):
                tangents[tuple((self._of_block(v).name, c) for v, c in row.items())] = row
            else:
                period = max(periods, default=-1)
                if periods:
                    blocks.setdefault((base, _start(self.starts, period)), []).append(row)
                at_end = period + 1 in self.ends.values() and not _of_jobs(row)
                if at_end or not periods:
                    self._add(
                        {self._shared_variable(v): c for v, c in row.items()},
                        row.getLb(),
                        row.getUb(),
                    )
        for row in tangents.values():
            terms = {self._of_block(v): c / self._length(v) for v, c in row.items()}
            self._add(terms, row.getLb(), row.getUb())
        for (_, start), rows in blocks.items():
            whole = len(rows) == self.ends[start] - start
            for together in [rows] if whole else [[row] for row in rows]:
                if self.money or _of_jobs(together[0]):
                    self._sum(together)

    def _hold_whole(self, program: Program, run: Run) -> None:
        """GPUs of a block <= periods x those of whole units that are in place at its end.

        Other jobs have their fewest GPUs there at least.
        """
        column, way = run.column, run.column.way
        here = column.site, column.system.id, run.period
        if here in program.old:
            return
        terms = {
            self._shared_variable(v): -c * way.usable_gpus for v, c in program.units[here].items()
        }
        for other in program.runs:
            there, job = (other.column.site, other.column.system.id, other.period), other.column.job
            if there == here and job != column.job and not program.portfolio.jobs[job].moves:
                fewest = math.ceil(other.fewest_gpus / other.column.way.usable_gpus)
                placed = self._shared_variable(other.runs)
                terms[placed] = terms.get(placed, 0.0) + fewest * way.usable_gpus
        name, step = f"most.{column.name}@{run.period}", float(way.step_gpus)
        most = self.problem.add_variable(name, 0.0, None, LpInteger)
        self._add(terms | {most: step}, None, float(way.usable_gpus) * program.units[here].constant)
        ((used, each),) = run.gpus.items()
        self._add({self._of_block(used): each, most: -step * self._length(used)}, None, 0.0)

    def values(self, found: Mapping[str, float]) -> dict[str, float]:
        """The values of the whole program's variables, sums spread evenly over their blocks."""
        return {
            v.name: found.get(self._of_block(v).name, 0.0) / self._length(v)
            for v in self.whole.variables()
        }

    def _shared_variable(self, variable: Any) -> Any:
        """The one variable of this program by the name that all periods share."""
        name = variable.name
        if name not in self.known:
            bounds = variable.lowBound, variable.upBound
            self.known[name] = self.problem.add_variable(name, *bounds, variable.cat)
        return self.known[name]

    def _of_block(self, variable: Any) -> Any:
        """The sum of a variable over its block; a variable of purchases itself."""
        if not _is_summed(variable):
            return self._shared_variable(variable)
        base, period = _split(variable.name)
        name, length = f"sum.{base}@{_start(self.starts, period or 0)}", self._length(variable)
        if name not in self.known:
            low, high = variable.lowBound * length, variable.upBound
            high = None if high is None else high * length
            whole = self.money and kind_of(variable) in WHOLE
            category = LpInteger if whole else LpContinuous
            self.known[name] = self.problem.add_variable(name, low, high, category)
        return self.known[name]

    def _length(self, variable: Any) -> float:
        if not _is_summed(variable):
            return 1.0
        start = _start(self.starts, _split(variable.name)[1] or 0)
        return float(self.ends[start] - start)

    def _sum(self, rows: Sequence[Any]) -> None:
        """Add the sum of rows; none where no coefficient is valid in all periods of a block."""
        low = math.fsum(_end(row.getLb(), -math.inf) for row in rows)
        high = math.fsum(_end(row.getUb(), math.inf) for row in rows)
        least = None if math.isfinite(low) and math.isfinite(high) else math.isfinite(high)
        terms = self._terms(rows, least=least)
        if terms is not None:
            self._add(terms, low, high)

    def _terms(self, rows: Iterable[Any], *, least: bool | None) -> dict[Any, float] | None:
        """Coefficients of sums over blocks, the least or the largest of all periods."""
        each: dict[Any, list[float]] = {}
        summed: dict[Any, float] = {}
        for row in rows:
            for variable, factor in row.items():
                if _is_summed(variable):
                    each.setdefault(self._of_block(variable), []).append(factor)
                    summed[self._of_block(variable)] = self._length(variable)
                else:
                    each.setdefault(self._shared_variable(variable), []).append(factor)
        found = {}
        for variable, factors in each.items():
            if variable not in summed:
                found[variable] = math.fsum(factors)
                continue
            ends = [*factors, 0.0] if len(factors) < summed[variable] else factors
            low, high = min(ends), max(ends)
            if least is None and high - low > 1e-12 * max(abs(low), abs(high)):
                return None
            found[variable] = high if least is False else low
        return found

    def _add(self, terms: Mapping[Any, float], low: float | None, high: float | None) -> None:
        self.rows += 1
        name, total = f"r{self.rows}", LpAffineExpression([*terms.items()])
        low, high = _end(low, -math.inf), _end(high, math.inf)
        if low == high:
            self.problem.addConstraint(total == low, name)
        elif math.isfinite(high):
            self.problem.addConstraint(total <= high, name)
        else:
            self.problem.addConstraint(total >= low, name)


def _split(name: str) -> tuple[str, int | None]:
    base, at, period = name.rpartition("@")
    return (base, int(period)) if at else (name, None)


def _start(starts: Sequence[int], period: int) -> int:
    return max(each for each in starts if each <= period)


def _end(bound: float | None, none: float) -> float:
    return none if bound is None else float(bound)


def _is_summed(variable: Any) -> bool:
    return "@" in variable.name and kind_of(variable) not in KEPT


def _of_jobs(row: Any) -> bool:
    return any(kind_of(variable) in OF_JOBS for variable in row)


__all__ = ["Averaged", "block_starts", "kind_of"]
