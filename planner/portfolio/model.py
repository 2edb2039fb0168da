"""The integer program of a portfolio, in PuLP.

    maximise    weighted useful work, or the least work per weight, or minimise money or power
    subject to  each job runs at one site on one type, within its window
                systems in use <= in place,  shares of bandwidth <= delivered
                useful work <= its tangents, in the form that holds for jobs that run elsewhere
                units in place, dependent items, limits and money (`planner.portfolio.purchases`)

docs/portfolio.md has the mathematics.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pulp import lpSum

from planner.case.job import ROUNDING
from planner.case.model import Steps
from planner.optimizer.counts import Expression, value_of
from planner.optimizer.program import PIECES
from planner.optimizer.useful_work import Point, Tangent
from planner.portfolio.instance import (
    SECONDS_PER_YEAR,
    Column,
    Instance,
    Place,
    TrainingColumn,
)
from planner.portfolio.purchases import Purchases
from planner.portfolio.schema import TrainingJob

FLAT = 1e-10
"""A slope whose whole range is less than this share of the work goes into the constant."""


@dataclass(frozen=True)
class Run:
    """Variables of a job on a column in a period.

    ``runs`` is the column's 0/1; ``systems`` in use; ``gpus`` in use; ``shares`` are write, read
    and endurance; ``work`` useful PFLOP/s. ``least`` is the least write share.
    """

    column: TrainingColumn
    period: int
    runs: Expression
    systems: Expression
    gpus: Expression
    write: Expression
    read: Expression
    endured: Expression | None
    work: Expression
    least: float
    fewest_gpus: float
    most: Point

    @property
    def name(self) -> str:
        """Of its variables and rows."""
        return f"{self.column.name}@{self.period}"

    def point(self, values: Mapping[str, float]) -> tuple[float, Point]:
        """The share of the column that runs in a solution, and its operating point."""
        share = value_of(self.runs, values)
        if share < 1e-3:
            return share, self.most
        gpus = max(value_of(self.gpus, values) / share, 1.0)
        write = max(value_of(self.write, values) / share, self.least * (1.0 + 1e-9))
        read = max(value_of(self.read, values) / share, 1e-6)
        endured = math.inf
        if self.endured is not None:
            endured = max(value_of(self.endured, values) / share, 1e-9)
        return share, Point(gpus, write, read, write, endured)


class Program(Purchases):
    """The program of an instance; arguments are those of `Purchases`."""

    def __init__(self, instance: Instance, **options: Any) -> None:
        super().__init__(instance, **options)
        self.tangents = 0
        self.runs: list[Run] = []
        self.placed: dict[tuple[Column, int], Expression] = {}
        self.columns = [column for column in instance.columns if column.site in self.places]
        self.here: dict[int, Expression] = {}
        self.assignment()
        self.types_in_use()
        self.fabrics_in_use()
        for column in self.columns:
            if isinstance(column, TrainingColumn):
                self.runs += [self._run(column, p) for p in instance.window(column.job)]
        for at, place in self.places.items():
            for period in self.periods:
                self.systems_in_use(at, place, period)
                self.shared_storage(at, place, period)
        self.floors()

    # Who runs where

    def assignment(self) -> None:
        """Each job runs in one column over its window; an optional one in none, or one.

        One that may move has a column for each period: sum_p [column changes] <= moves.
        """
        for number, job in enumerate(self.portfolio.jobs):
            columns = [column for column in self.columns if column.job == number]
            if self.part:
                self.here[number] = self.whole(f"here.{number}", 1.0 if columns else 0.0)
            window = self.instance.window(number)
            for column in columns:
                stays = None if job.moves else self.whole(f"y.{column.name}", 1)
                for period in window:
                    here = self.whole(f"y.{column.name}@{period}", 1) if stays is None else stays
                    self.placed[column, period] = here
            self._place_once(number, columns, window if job.moves else window[:1])

    def _place_once(self, number: int, columns: Sequence[Column], window: range) -> None:
        job, moves, before = self.portfolio.jobs[number], [], None
        for period in window:
            chosen = lpSum(self.placed[column, period] for column in columns)
            self.row(
                f"placed.{number}@{period}",
                chosen <= 1.0
                if job.optional and not self.part
                else chosen - self.here.get(number, 1.0) == 0.0,
            )
            if before is not None:
                moved = self.number(f"moved.{number}@{period}", 1.0)
                moves.append(moved)
                for at, column in enumerate(columns):
                    change = self.placed[column, period] - self.placed[column, period - 1]
                    self.row(f"moved.{number}.{at}@{period}", change - moved <= 0.0)
                self.row(f"goes_on.{number}@{period}", chosen - before == 0.0)
            before = chosen
        if moves:
            self.row(f"moves.{number}", lpSum(moves) <= float(job.moves))

    def sets_of_jobs(self) -> Iterator[tuple[int, ...]]:
        """Yield the sets of jobs that can run at the sites of the program."""
        here = [number for number, runs in self.here.items() if runs.upBound]
        for count in range(len(here) + 1):
            yield from itertools.combinations(here, count)

    def types_in_use(self) -> None:
        """No GPU system is bought at a site where no job ever runs on its type.

        It would be idle; without it the program of an assignment has no fabric of that type.
        """
        for at, place in self.places.items():
            for system in place.case.systems:
                sku = system.id
                new = [self.new[at, sku, p] for p in self.periods if (at, sku, p) in self.new]
                runs: dict[Any, None] = {}
                for (column, _), placed in self.placed.items():
                    if (column.site, column.system.id) == (at, sku):
                        runs[placed] = None
                if new:
                    most = float(place.tops[sku] * len(new)) * lpSum([*runs])
                    self.row(f"type.{at}.{sku}", lpSum(new) - most <= 0.0)

    def fabrics_in_use(self) -> None:
        """Add any fabric >= y: systems that a job runs on have a fabric of some size.

        Every plan passes them; a program with fractions would have a share of a large one.
        """
        jobs: dict[tuple[str, int, int, str], list[Expression]] = {}
        for (column, period), placed in self.placed.items():
            for quantity in self.instance.places[column.site].case.companions.quantities:
                known = isinstance(quantity, Steps) and quantity.name + ".any" in quantity.outputs
                if known and column.system.id in [name for _, name in quantity.terms]:
                    key = quantity.name, column.site, period, str(column.job)
                    jobs.setdefault(key, []).append(placed)
        for (name, at, period, job), placed in jobs.items():
            some = self.counts[at, period][f"{name}.any"]
            self.row(f"fabric.{at}.{name}.{job}@{period}", some - lpSum(placed) >= 0.0)

    def _run(self, column: TrainingColumn, period: int) -> Run:
        work, way, job = column.work, column.way, column.case.job
        place, runs = self.instance.places[column.site], self.placed[column, period]
        name, top = f"{column.name}@{period}", float(place.tops[column.system.id])
        step, (low, high) = float(way.step_gpus), work.gpus_range
        low = step * math.ceil(max(low, self._floor_gpus(column)) / step - ROUNDING)
        most = min(high, top * way.usable_gpus)
        systems = self.whole(f"v.{name}", top)
        self.row(f"v.{name}", systems - top * runs <= 0.0)
        gpus: Expression = float(way.usable_gpus) * systems
        if job.whole_replicas:
            replicas = self.whole(f"replicas.{name}", most // step)
            held = step * replicas
            self.row(f"replicas.{name}", held - gpus <= 0.0)
            self.row(f"fewest.{name}", gpus - held - float(way.usable_gpus - 1) * runs <= 0.0)
            self.row(f"no_replicas.{name}", held - most * runs <= 0.0)
            gpus = held
        self.row(f"least_gpus.{name}", gpus - low * runs >= 0.0)
        self.row(f"most_gpus.{name}", gpus - most * runs <= 0.0)
        highs = _most_delivered(place)
        write, read = (self.number(f"{k}.{name}", h) for k, h in zip("br", highs, strict=True))
        volume, interval = work.volume_demand_tb_per_day, work.job.interval
        most_volume, endured = volume * interval.high_s / max(interval.low_s, 1.0), None
        if any(item.endurance_tb_per_day is not None for item in place.case.storage):
            endured = self.number(f"e.{name}", most_volume)
        useful = self.number(f"u.{name}", max(0.0, work.pflops_per_gpu(1.0) * most * 1.01))
        ends = max(1.0, low), max(1.0, low, most)
        least = min(map(work.write_demand_gb_per_s, ends))
        volumes = math.inf if endured is None else max(most_volume, 1e-9)
        point = Point(most, max(highs[0], least), highs[1], max(highs[0], least), volumes)
        run = Run(
            column, period, runs, systems, gpus, write, read, endured, useful, least, low, point
        )
        self.row(f"b.{name}", write - highs[0] * runs <= 0.0)
        self.row(f"r.{name}", read - highs[1] * runs <= 0.0)
        self._write_demand(run, *ends)
        if job.max_restore_s is not None:
            once, each = work.fan_out
            per_gb = job.checkpoint_gb / job.max_restore_s
            self.row(f"restore.{name}", read - once * per_gb * runs - each * per_gb * gpus >= 0.0)
        self._clients(run)
        if endured is not None:
            self.row(f"e.{name}", endured - most_volume * runs <= 0.0)
            self.row(f"least.volume.{name}", endured - volume * runs >= 0.0)
        return run

    def _floor_gpus(self, column: TrainingColumn) -> float:
        """The fewest GPUs that reach the job's floor on useful work without any loss."""
        asked = self.portfolio.jobs[column.job]
        assert isinstance(asked, TrainingJob)
        rate = column.work.pflops_per_gpu(1.0)
        known = rate > 0.0 and self.moved is None and not self.elastic
        return (asked.min_useful_pflops or 0.0) / rate if known else 0.0

    def _write_demand(self, run: Run, low: float, high: float) -> None:
        """Add share >= demand(N), convex in N, by tangents that hold where the column runs."""
        demand, least, name = run.column.work.write_demand_gb_per_s, run.least, run.name
        if high <= low or abs(demand(low) - demand(high)) <= ROUNDING * abs(least):
            self.row(f"least.{name}", run.write - min(least, 1e12) * run.runs >= 0.0)
            return
        for number in range(PIECES + 1):
            at = low + (high - low) * number / PIECES
            step = 1e-4 * at
            below, here, above = (demand(n) for n in (at - step, at, at + step))
            if math.isfinite(above) and math.isfinite(below):
                slope = (above - below) / (2.0 * step)
                rest = (here - slope * at) * (1.0 - ROUNDING)
                row = run.write - slope * run.gpus - rest * run.runs >= 0.0
                self.row(f"least.{number}.{name}", row)

    def _clients(self, run: Run) -> None:
        """Shares are at most the client bandwidth of the systems in use."""
        column, system, way = run.column, run.column.system, run.column.way
        replica = float(math.ceil((way.replica_gpus or 0) / way.usable_gpus))
        writers = replica if column.case.job.one_replica_writes else run.systems
        for side, share, each, systems in (
            ("write", run.write, system.client_write_gb_per_s, writers),
            ("read", run.read, system.client_read_gb_per_s, run.systems),
        ):
            if not math.isfinite(each):
                continue
            families = self.instance.places[column.site].case.families
            factors = {family.id: getattr(family, f"{side}_factor") for family in families}
            most, high = max(factors.values()), share.upBound
            moved = min(each, high) * systems
            self.row(f"client_{side}.{run.name}", share - most * moved <= 0.0)
            for family, factor in factors.items():
                if factor != most:
                    free = high - high * self.family[column.site, family]
                    row = share - factor * moved - free <= 0.0
                    self.row(f"client_{side}.{family}.{run.name}", row)

    # What a site has in a period

    def systems_in_use(self, at: int, place: Place, period: int) -> None:
        """Systems in use, and with spare units of a pool, <= in place; those of inference alike."""
        for system in place.case.systems:
            mine = [run for run in self.runs_at(at, period) if run.column.system.id == system.id]
            served = [
                float(column.systems) * runs
                for (column, when), runs in self.placed.items()
                if (column.site, column.system.id, when) == (at, system.id, period)
                and not isinstance(column, TrainingColumn)
            ]
            units = self.units[at, system.id, period]
            for name, parts in (
                ("used", [run.systems for run in mine]),
                ("pool", [self._pool(run) for run in mine]),
            ):
                if parts or served:
                    row = lpSum([*parts, *served]) - units <= 0.0
                    self.row(f"{name}.{at}.{system.id}@{period}", row)

    def runs_at(self, at: int, period: int) -> list[Run]:
        """The runs that training jobs may have at a site in a period."""
        return [run for run in self.runs if (run.column.site, run.period) == (at, period)]

    def _pool(self, run: Run) -> Expression:
        """Systems that units in use and spare units take together, where spares are of a pool."""
        case, way, work = run.column.case, run.column.way, run.column.work
        if case.job.repair is None or way.spare_unit.in_rack:
            return run.systems
        unit = way.spare_unit
        spares = float(work.team.spares) * run.runs
        if unit.per_system == 1:
            return run.systems + spares
        return (1.0 / unit.per_system) * ((1.0 / unit.gpus) * run.gpus + spares)

    def shared_storage(self, at: int, place: Place, period: int) -> None:
        """Guaranteed shares add up to the delivered bandwidth; one or all restore at a time."""
        case, key, here = place.case, f"{at}@{period}", self.runs_at(at, period)
        write, read = self.delivered(at, period)
        if here:
            self.row(f"write.{key}", lpSum(run.write for run in here) - write <= 0.0)
        ingest = [(run, run.column.case.job.ingest_per_gpu_gb_per_s * run.gpus) for run in here]
        total = lpSum(each for _, each in ingest)
        if self.portfolio.restores == "together" and here:
            together = lpSum(run.read for run in here)
            self.row(f"read.{key}", together + total - read <= 0.0)
        else:
            for run, own in ingest:
                row = run.read + total - own - read <= 0.0
                self.row(f"read.{at}.{run.column.name}@{period}", row)
            self.row(f"ingest.{key}", total - read <= 0.0)
        for run in here:
            asked = self.portfolio.jobs[run.column.job]
            if isinstance(asked, TrainingJob) and asked.storage_share is not None:
                most = (1.0 - run.runs) * run.most.write
                row = run.write - asked.storage_share * write + most >= 0.0
                self.row(f"share.{at}.{run.column.name}@{period}", row)
        needed = [
            (column.case.job.capacity_needed_tb, runs)
            for (column, when), runs in self.placed.items()
            if isinstance(column, TrainingColumn) and (column.site, when) == (at, period)
        ]
        self._least_storage(at, period)
        usable = lpSum(i.usable_tb * self.units[at, i.id, period] for i in case.storage)
        if needed:
            row = lpSum(tb * runs for tb, runs in needed) - usable <= 0.0
            self.row(f"capacity.{key}", row)
        self._endured(at, place, period, here)

    def _least_storage(self, at: int, period: int) -> None:
        """Add sum_i X_i / least_i >= y: a job has the least number of units of one item at least.

        Every plan passes them; they lift the bound of programs with fractions.
        """
        place, there = self.instance.places[at], dict[int, list[Expression]]()
        for (column, when), runs in self.placed.items():
            if isinstance(column, TrainingColumn) and (column.site, when) == (at, period):
                if column.case.job.capacity_needed_tb > 0.0:
                    there.setdefault(column.job, []).append(runs)
        units = []
        for item in place.case.storage:
            least = max(1, min(item.min_units, place.owned.get(item.id, 0) or item.min_units))
            units.append((1.0 / least) * self.units[at, item.id, period])
        for job, runs in there.items():
            self.row(f"some_storage.{at}.{job}@{period}", lpSum(units) - lpSum(runs) >= 0.0)

    def _endured(self, at: int, place: Place, period: int, here: Sequence[Run]) -> None:
        shares = [run.endured for run in here if run.endured is not None]
        if not shares:
            return
        most = sum(share.upBound for share in shares)
        endured = lpSum(
            (most if i.endurance_tb_per_day is None else i.endurance_tb_per_day)
            * self.units[at, i.id, period]
            for i in place.case.storage
        )
        self.row(f"endurance.{at}@{period}", lpSum(shares) - endured <= 0.0)

    def delivered(self, at: int, period: int) -> tuple[Expression, Expression]:
        """The delivered write and read bandwidth of a site in a period, GB/s."""
        case = self.instance.places[at].case
        units = [(item, self.units[at, item.id, period]) for item in case.storage]
        write, read = case.delivered_write_share, case.delivered_read_share
        return (
            lpSum(write * item.nameplate_write_gb_per_s * count for item, count in units),
            lpSum(read * item.nameplate_read_gb_per_s * count for item, count in units),
        )

    # What jobs ask for

    def work_of(self, job: int, period: int) -> Expression:
        """The useful PFLOP/s of a job in a period."""
        return lpSum(r.work for r in self.runs if (r.column.job, r.period) == (job, period))

    def training(self) -> Iterator[tuple[int, TrainingJob]]:
        """Yield the training jobs with their numbers."""
        for number, job in enumerate(self.portfolio.jobs):
            if isinstance(job, TrainingJob):
                yield number, job

    def floors(self) -> None:
        """Floors on useful work in each period of the window, and tokens by a period."""
        numbers = {job.name: number for number, job in self.training()}
        for use in (each for each in self.instance.limits() if each.is_floor):
            name, by = use.name.partition("_of_")[2], use.period or 0
            number, periods, each = numbers[name], [by - 1], 1.0
            if use.name.startswith("tokens"):
                periods = [p for p in self.instance.window(number) if p < by]
                each = (tokens_per_pflops(self.instance, number) or 0.0) / 1e12
            done = lpSum(each * self.work_of(number, period) for period in periods)
            self.hold(use, done + use.limit * (1.0 - self.here.get(number, 1.0)))
        least = self.portfolio.objective.minimize is not None
        if least and not self.elastic and self.moved is None:
            self._systems_for_tokens()

    def _systems_for_tokens(self) -> None:
        """Add sum_p v >= n y and sum_p X >= sum_j n_j y_j, over the periods before a deadline.

        A job's tokens take n systems times periods at least, at its best goodput: a whole number.
        Every plan passes these rows; they lift the bound of least money by several per cent, and
        only slow the search down where work is most.
        """
        least: dict[tuple[int, str], list[tuple[int, float, list[Run]]]] = {}
        runs: dict[TrainingColumn, list[Run]] = {}
        for run in self.runs:
            runs.setdefault(run.column, []).append(run)
        for column, each in runs.items():
            job = self.portfolio.jobs[column.job]
            assert isinstance(job, TrainingJob)
            if job.tokens is None or job.moves:
                continue
            by = job.tokens.by or self.portfolio.last_of(job)
            mine = [run for run in each if run.period < by]
            fewest = max(mine[0].fewest_gpus, 1.0)
            best = column.work.value(mine[0].most._replace(gpus=fewest), "pflops") or 0.0
            pflops = job.tokens.count / (tokens_per_pflops(self.instance, column.job) or math.inf)
            systems = math.ceil(pflops * fewest / max(best, 1e-9) / column.way.usable_gpus - 1e-6)
            used = lpSum(run.systems for run in mine)
            self.row(f"for_tokens.{column.name}", used - float(systems) * mine[0].runs >= 0.0)
            key = column.site, column.system.id
            least.setdefault(key, []).append((by, float(systems), mine))
        for (at, sku), jobs in least.items():
            for last in sorted({by for by, _, _ in jobs}):
                until = [(systems, mine[0]) for by, systems, mine in jobs if by <= last]
                first = min(run.period for _, run in until)
                units = lpSum(self.units[at, sku, period] for period in range(first, last))
                taken = lpSum(systems * run.runs for systems, run in until)
                self.row(f"for_tokens.{at}.{sku}.{last}", units - taken >= 0.0)

    def classes(self) -> list[int]:
        """The priorities of training jobs, the first served first."""
        return sorted({job.priority for _, job in self.training()})

    def goal(self, priority: int | None = None) -> tuple[Expression, Literal["max", "min"]]:
        """The objective of a priority class, or of the problem where money is least."""
        name = self.portfolio.objective.name
        if name == "cost":
            return self.total_capex, "min"
        if name == "tco":
            return self.tco, "min"
        if name == "power":
            parts = [
                self.sum_of(at, period, "facility_power_kw") * (1.0 / len(self.periods))
                for at in self.places
                for period in self.periods
            ]
            return lpSum(parts), "min"
        jobs = [(n, job) for n, job in self.training() if job.priority == priority]
        if name == "fairness":
            least = self.number(f"fairness.{priority}")
            for number, job in jobs:
                for period in self.instance.window(number):
                    row = self.work_of(number, period) - job.weight * least >= 0.0
                    self.row(f"fair.{priority}.{number}@{period}", row)
            return least, "max"
        mean = 1.0 / len(self.periods)
        parts = [
            (job.weight * mean) * self.work_of(number, period)
            for number, job in jobs
            for period in self.instance.window(number)
        ]
        return lpSum(parts), "max"

    # Tangents

    def below(self, run: Run, tangent: Tangent) -> None:
        """Add u <= c y + slopes (N, b, r, e), exact where the column runs and where it does not."""
        at, slopes = tangent.at, tangent.slopes
        sides: list[tuple[float, float, Expression, float]] = [
            (slopes.gpus, at.gpus, run.gpus, run.most.gpus),
            (slopes.write + slopes.safe_write, at.write, run.write, run.most.write),
            (slopes.read, at.read, run.read, run.most.read),
        ]
        if run.endured is not None:
            sides.append((slopes.endured, at.endured, run.endured, run.most.endured))
        rest, parts = tangent.value, []
        for slope, x, variable, most in sides:
            if abs(slope) * most <= FLAT * max(tangent.value, 1e-9):
                rest += max(slope * (most - x), -slope * x)
                continue
            rest -= slope * x
            parts.append(slope * variable)
        scale = 1.0 / max(1.0, abs(rest))
        self.tangents += 1
        row = scale * run.work - (scale * rest) * run.runs - scale * lpSum(parts) <= 0.0
        self.row(f"tangent.{self.tangents}@{run.period}", row)


def tokens_per_pflops(instance: Instance, job: int) -> float | None:
    """Tokens that a useful PFLOP/s trains in a period: 6 FLOP per active parameter and token."""
    training = (c for c in instance.columns if isinstance(c, TrainingColumn))
    active = next(c.case for c in training if c.job == job).job.active_parameters
    return None if active is None else 1e15 * instance.years * SECONDS_PER_YEAR / (6.0 * active)


def _most_delivered(place: Place) -> tuple[float, float]:
    """The most write and read bandwidth that storage at a site can deliver, GB/s."""

    def most(side: str, share: float) -> float:
        families: dict[str, float] = {}
        for item in place.case.storage:
            units = place.tops[item.id]
            each = getattr(item, side) * units
            families[item.family] = families.get(item.family, 0.0) + each
        best = sorted(families.values(), reverse=True)[: place.case.max_families]
        return max(share * math.fsum(best), 1e-6)

    case = place.case
    write = most("nameplate_write_gb_per_s", case.delivered_write_share)
    return write, most("nameplate_read_gb_per_s", case.delivered_read_share)


__all__ = ["Program", "Run", "tokens_per_pflops"]
