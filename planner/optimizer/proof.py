"""A plan proven by the integer program: first its objective, then its bill.

    stage 1   the best objective of the way and spares that the search took, with the solver's bound
    stage 2   the cheapest bill that is as good as the problem asks (`indifference`, `prefer`)

Useful work is bounded by tangents where it is concave in the operating point (form ``tangents``);
elsewhere the program requires the plan's own operating point (form ``demands``) and proves the
bill that provides it. Where program and search disagree there is no plan: an error says which
figure. A solver's bound that a known plan passes is computed again, without presolve.

`prove_again` leaves GPU types, way, mode and spares free: a proof independent of the search.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from planner.case import Case
from planner.case.figures import max_units
from planner.errors import SolverError, VerificationError
from planner.figures import OBJECTIVES, RATIOS
from planner.limits import MILLION
from planner.optimizer import solvers
from planner.optimizer.bill import bill
from planner.optimizer.objective import (
    measure,
    natural,
    operating_point,
    plan_team,
    useful_work,
    without_idle_bursts,
)
from planner.optimizer.operate import Run
from planner.optimizer.program import Program
from planner.optimizer.solvers import Solved, SolverName
from planner.optimizer.useful_work import MEASURES, Measure, Point, Tangent, Team, UsefulWork
from planner.optimizer.work import list_teams

if TYPE_CHECKING:
    from planner.optimizer import Certificate

Form = Literal["tangents", "demands", "linear"]
"""Useful work by tangents, by the demands of an operating point, or not needed."""

GAP = 5e-7
"""Gap at which a solver stops, as a share of the objective."""
EXACT = 5e-8
"""Share by which work in a solution may pass that of its operating point."""
TIES = 1e-6
"""Share up to which plans count as equally good (docs/model.md)."""
NEAR = 1e-9
"""Slack of rows at a plan's own figures, against rounding."""
ROUNDS = 60
LARGE, RELAXED_ROUNDS = 1_000, 6
"""Programs of more variables are solved in fractions first, at most this often."""
AGREED = 3e-6
"""Share by which the values of program and search may differ."""
WITHIN = 3e-7
"""Share by which a bill has to be better than the search requires: one that the search
refused by a rounding is none that it missed."""
_FAR = (0.5, 0.9, 1.1, 2.0)
SPREAD = {"gpus": (0.9, 0.99, 1.01, 1.1), "write": _FAR, "read": _FAR, "endured": _FAR}
"""First tangents: at a plan's operating point, and at these multiples of each of its figures."""


class Proof(NamedTuple):
    """Proof of a plan by the integer program: ``optimal`` unless a time limit ended it.

    ``value`` and ``bound`` are of stage 1, in the unit of the objective: None where it was asked
    for the plan's operating point, and so proves no bound of useful work. ``capex_usd`` is the
    least bill, ``capex_bound_usd`` the bound of the bill.
    """

    form: Form
    solver: SolverName
    status: Literal["optimal", "limit"]
    value: float | None
    bound: float | None
    gap: float | None
    capex_usd: float | None
    capex_bound_usd: float | None
    capex_gap: float | None
    variables: int
    rows: int


def _refuse(better: float, value: float, known: float, label: str, unit: str) -> None:
    """Raise VerificationError where the program has a plan that is clearly better."""
    if better > AGREED * max(abs(known), NEAR):
        text = f"{label}: the integer program says {value:,.9g} {unit}, the search {known:,.9g}"
        raise VerificationError((text,))


# A program solved until its solution overstates nothing: work below tangents, racks enough.


class OverstatedError(Exception):
    """No tangent holds useful work where a solution has it."""


@dataclass
class Stage:
    """A program and how it is solved.

    A ``deadline`` is one of ``time.monotonic``; a stage that it ends is ``cut``.
    """

    program: Program
    solver: SolverName = "highs"
    deadline: float = math.inf
    form: Form = "linear"
    cut: bool = False

    def bound_work(self, points: Sequence[Point], *, partly: bool = False) -> bool:
        """Hold useful work below tangents at points; False, and nothing held, where a measure has
        none, or one cuts off the work at a point (``partly``: whatever there is)."""
        program, useful = self.program, self.program.useful
        drawn = list[tuple[Measure, Tangent]]()
        for counted in program.work:
            tangents = (useful.tangent(at, counted, program.most) for at in points)
            own = [tangent for tangent in tangents if tangent is not None]
            if not own and not partly:
                return False
            for at, true in zip(points, useful.values(points, counted), strict=True):
                least = min((tangent.evaluate(at) for tangent in own), default=-math.inf)
                if least < true * (1.0 - EXACT) and not partly:
                    return False
            drawn += [(counted, tangent) for tangent in own]
        self.form = "tangents"
        for counted, tangent in drawn:
            program.below(counted, tangent)
        return True

    def optimum(
        self, objective: Any, *, maximise: bool, known: float, label: str, unit: str = ""
    ) -> Solved:
        """The optimum of an objective in which nothing is overstated, with its bound.

        Args:
            known: value of a known plan; a bound that it passes is no bound.
            label: name of the objective, for an error.

        Raises:
            SolverError: the solver insists on a bound that a known plan passes.
            OverstatedError: no tangent holds useful work where a solution has it.
        """
        self.program.set_objective(objective, maximise=maximise)
        sign = 1.0 if maximise else -1.0

        def refuted(found: Solved) -> bool:
            if found.bound is None:
                return found.status != "limit"
            return sign * (known - found.bound) > TIES * max(abs(known), NEAR)

        def ask() -> Solved:
            found = self.ask(known)
            if refuted(found):
                found = self.ask(known, presolve=False)
            if refuted(found):
                end = found.status if found.bound is None else f"no better than {found.bound:,.9g}"
                text = f"{label}: {solvers.NAMES[self.solver]} says {end} {unit}"
                raise SolverError(f"{text}, yet a plan has {known:,.9g}")
            return found

        if self.program.problem.numVariables() > LARGE:  # tangents that save a long solve
            relaxed = partial(solvers.solve, self.program.problem, relaxed=True)
            self.solve_rounds(relaxed, whole=False, rounds=RELAXED_ROUNDS)
        found = self.solve_rounds(ask)
        self.cut = self.cut or found.status == "limit"
        return Solved("limit", bound=found.bound) if found.status == "limit" else found

    def ask(self, known: float | None = None, *, presolve: bool = True) -> Solved:
        """The solver's answer to the program as it is."""
        return solvers.solve(
            self.program.problem,
            self.solver,
            gap=GAP,
            time_limit_s=min(solvers.LONGEST_S, self.deadline - time.monotonic()),
            presolve=presolve,
            known=known,
        )

    def solve_rounds(
        self, ask: Callable[[], Solved], *, whole: bool = True, rounds: int = ROUNDS
    ) -> Solved:
        """Ask again, with more rows, until a solution breaks none; "limit" after many rounds."""
        for _ in range(rounds):
            found = ask()
            if found.status == "limit" or not found.values:
                return found
            if not self._tighten(found.values, whole=whole):
                return found
        return Solved("limit", bound=found.bound)

    def _tighten(self, values: dict[str, float], *, whole: bool) -> bool:
        """Add the tangents and rows of racks that a solution breaks; False for none.

        Raises:
            OverstatedError: no tangent holds useful work where the solution has it.
        """
        program = self.program
        broken = whole and program.count.add_racks(values)
        for counted, work in program.work.items() if self.form == "tangents" else ():
            if work.name not in values:
                continue
            at = program.delivered(values, whole=whole)
            true = program.useful.value(at, counted)
            if true is None or values[work.name] <= true * (1.0 + EXACT):
                continue
            tangent = program.useful.tangent(at, counted, program.most)
            if tangent is None or tangent.evaluate(at) > values[work.name] * (1.0 - NEAR):
                raise OverstatedError
            program.below(counted, tangent)
            broken = True
        return broken


# Both stages of the proof of a plan.


def prove(
    case: Case,
    answer: Certificate,
    *,
    solver: SolverName = "highs",
    time_limit_s: float | None = None,
    save_model: Path | None = None,
) -> Proof:
    """Prove the plan of a search by the integer program.

    Args:
        case: the problem in numbers.
        answer: a plan, its best value, and the best plan where the plan gives something away.
        solver: HiGHS in process, or CBC as a cross-check.
        time_limit_s: time for all of it.
        save_model: file for the program with the tangents that it ended with.

    Raises:
        VerificationError: program and search disagree.
        SolverError: the solver is missing, or insists on a bound that a plan passes.
    """
    case = without_idle_bursts(case, answer.operation, answer.untouched)
    deadline = math.inf if time_limit_s is None else time.monotonic() + time_limit_s
    prover = _Prover(case, answer, solver, deadline, save_model)
    try:
        return prover.proof()
    except OverstatedError:
        return replace(prover, demands=True).proof()


@dataclass
class _Prover:
    """Both stages of one proof.

    Attributes:
        demands: the plan's operating point is demanded whatever the form could be.
    """

    case: Case
    answer: Certificate
    solver: SolverName
    deadline: float
    save_model: Path | None
    demands: bool = False

    def proof(self) -> Proof:
        """Both stages solved."""
        case, plan = self.case, self.answer.operation
        assert plan is not None
        best = self.answer.untouched or plan
        stage = self.stage_of(best)
        value, bound = (None, None) if self.is_given_work(stage) else self.first_stage(stage, best)
        form, cut, first = stage.form, stage.cut, stage.program.problem
        if best is not plan and (
            form == "demands" or plan_team(case, best) != plan_team(case, plan)
        ):
            stage = self.stage_of(plan)
        if self.save_model is not None and value is not None:
            solvers.write_model(first, self.save_model)
        capex, problem = self.second_stage(stage, plan), stage.program.problem
        if self.save_model is not None and value is None:
            solvers.write_model(problem, self.save_model)
        gap = None
        if value is not None and bound is not None:
            gap = abs(bound - value) / max(abs(value), NEAR)
        return Proof(
            form=form,
            solver=self.solver,
            status="limit" if cut or stage.cut or capex.status != "optimal" else "optimal",
            value=value,
            bound=bound,
            gap=gap,
            capex_usd=None if capex.objective is None else capex.objective * MILLION,
            capex_bound_usd=None if capex.bound is None else capex.bound * MILLION,
            capex_gap=capex.gap,
            variables=problem.numVariables(),
            rows=problem.numConstraints(),
        )

    def stage_of(self, run: Run) -> Stage:
        """The program of a plan's way and spares, its useful work bounded."""
        case, team = self.case, plan_team(self.case, run)
        stage = Stage(Program(case, team), self.solver, self.deadline)
        repair = case.job.repair
        if not case.needs_goodput and not (repair is not None and repair.shrinks):
            return stage  # a job that goes on with fewer replicas may keep no work at all
        if stage.program.useful.concave and not self.demands:
            stage.program.measure_work()
            plans = [
                run,
                *(p for p in (self.answer.operation,) if p and plan_team(case, p) == team),
            ]
            if stage.bound_work(
                points_around(stage.program, [operating_point(case, p) for p in plans])
            ):
                return stage
            stage.program = Program(case, team)
        stage.form = "demands"
        less = {
            name: each * (1.0 - NEAR) for name, each in operating_point(case, run)._asdict().items()
        }
        at = Point(**less)._replace(gpus=float(run.gpus))
        stage.program.operate_at(at)
        if case.bursts:
            stage.program.bursts(at, run.remote_interval_s)
        done = useful_work(case, run)
        for name, counted, each in stage.program.ratios():
            limit = case.limits[name]
            if limit is not None:  # at the operating point work is at least the plan's
                most = limit * each * done[counted] * (1.0 + NEAR) / MILLION
                stage.program.row(name, stage.program.sum("tco_usd", MILLION) <= most)
        return stage

    def objective(self, stage: Stage, run: Run, ratio: float = 0.0) -> tuple[Any, float]:
        """The objective and its scale; work at a plan's operating point is that of the plan."""
        done = useful_work(self.case, run) if stage.form == "demands" else None
        return stage.program.objective(ratio, done)

    def value_of(self, run: Run) -> float:
        """The objective of a plan, in the unit of its figure."""
        name = self.case.objective
        return natural(name, measure(self.case, name)(run))

    def is_given_work(self, stage: Stage) -> bool:
        """True if the objective is work that the operating point demands: nothing to prove."""
        return stage.form == "demands" and self.case.maximise and self.case.objective in MEASURES

    def first_stage(self, stage: Stage, best: Run) -> tuple[float | None, float | None]:
        """The best value of the objective that the program finds, and its bound.

        Money per work: ``TCO - ratio c work`` is not below 0 at a ratio that no plan passes. The
        money of the plan is added, so that the solver's relative gap is one of it.
        """
        case, row = self.case, OBJECTIVES[self.case.objective]
        known, ratio, sign = self.value_of(best), case.objective in RATIOS, -1.0
        below, unit, asked, found_for = known * (1.0 - TIES), row.unit, known, known
        objective, scale = self.objective(stage, best, below if ratio else 0.0)
        if ratio:
            found_for, unit = bill(case, best.units, best.ways)["tco_usd"], "USD"
            objective, asked = objective + found_for / scale, found_for * (1.0 + TIES)
        elif case.maximise:
            sign = 1.0
        found = stage.optimum(
            objective, maximise=case.maximise, known=asked / scale, label=row.label, unit=unit
        )
        bound = None if found.bound is None else found.bound * scale
        value = None if found.objective is None else found.objective * scale
        if value is not None:
            _refuse(sign * (value - found_for), value, found_for, row.label, unit)
        if ratio:
            loose = bound is None or bound < found_for * (1.0 - GAP - NEAR)
            return (None, None) if loose or stage.form == "demands" else (known, below)
        return value, bound

    def second_stage(self, stage: Stage, plan: Run) -> Solved:
        """The cheapest bill that is as good as the problem asks."""
        case, program = self.case, stage.program
        if not self.is_given_work(stage):
            self.hold_objective(stage, plan)
        if case.policy.disliked:
            label, units = "units from other vendors", 0.0
            units += sum(plan.units[name] for name in case.policy.disliked)
            fewest = stage.optimum(program.disliked(), known=units, maximise=False, label=label)
            if fewest.objective is not None and fewest.objective < units - 0.5:
                _refuse(math.inf, fewest.objective, units, label, "units")
            program.row("fewest_disliked", program.disliked() <= units)
        known = bill(case, plan.units, plan.ways)["capex_usd"]
        capex = program.sum("capex_usd", MILLION)
        found = stage.optimum(
            capex, maximise=False, known=known / MILLION, label="capex", unit="MUSD"
        )
        if found.objective is not None:
            value = found.objective * MILLION
            _refuse(known - value, value, known, "capex", "USD")
        return found

    def hold_objective(self, stage: Stage, plan: Run) -> None:
        """Keep the objective as good as the plan's, or as good as `indifference` asks."""
        case, own, ratio = self.case, self.value_of(plan), self.case.objective in RATIOS
        assert self.answer.best is not None
        share = max(TIES, case.indifference) - WITHIN
        top = natural(case.objective, self.answer.best)
        if case.policy.disliked:  # the best with so few of other vendors' units is not known here
            top, share = own, 0.0
        if case.maximise:
            objective, scale = self.objective(stage, plan)
            row = objective >= min(top * (1.0 - share), own) / scale  # tangents are a bit above
        else:
            ceiling = max(top * (1.0 + share), own) * (1.0 + NEAR)
            objective, scale = self.objective(stage, plan, ceiling if ratio else 0.0)
            row = objective <= (0.0 if ratio else ceiling / scale)
        stage.program.row("hold_objective", row)


def points_around(program: Program, plans: Sequence[Point]) -> list[Point]:
    """The points at and around plans where tangents are drawn."""
    low, high = program.useful.gpus_range
    ceiling = program.most.endured
    points: list[Point] = []
    for at in plans:
        points.append(here := at._replace(endured=min(at.endured, ceiling)))
        for name, factors in SPREAD.items():
            for factor in factors if name in program.coordinates else ():
                changed = {name: getattr(here, name) * factor}
                if name == "write":
                    changed["safe_write"] = here.safe_write * factor
                if name == "gpus":
                    changed["gpus"] = min(max(changed["gpus"], low), high)
                points.append(here._replace(**changed))
    return points


# A second proof, with GPU types, way, mode and spares free.
#
# The problem is divided into parts: a set of GPU types with a way each, a mode, how often local
# checkpoints go on to storage, and a range of spares. A part buys the fewest spares of its
# range and counts the most, so its program is a bound. Each is searched for a plan better than
# the best one known, by more than a gap. A part that has none is closed; another is divided until
# its range is a single number.

BETTER = 2e-6
"""A plan has to be better by this share to count as better."""
MOST_COUNTS = 4_000
"""Numbers of GPUs that are computed where useful work is not concave."""
MOST_TEAMS = 400
"""Sets of types and ways beyond which nothing is proven a second time."""
SEEDS = tuple(itertools.product((0.25, 0.5, 0.9), (0.05, 0.3)))
"""First tangents of a part stand at these shares of its most GPUs and of the most bandwidth."""


class SecondProof(NamedTuple):
    """Result of the proof: ``bound`` of every plan, None where parts are ``open``; ``better``
    is the value of a plan that is better than the best known one."""

    bound: float | None
    better: float | None
    open: tuple[str, ...]
    parts: int


def prove_again(
    case: Case,
    best: float | None,
    *,
    solver: SolverName = "cbc",
    time_limit_s: float | None = None,
) -> SecondProof:
    """Prove that no plan is better than the best one known, or that there is none at all.

    Args:
        case: the problem in numbers.
        best: its best value, in the unit of the objective; None for a problem without a plan.
        solver: who is asked in the end; where tangents stand HiGHS finds out.
        time_limit_s: how long it may take.

    Raises:
        SolverError: the solver is missing, or broke off.
    """
    deadline = math.inf if time_limit_s is None else time.monotonic() + time_limit_s
    floor = None if best is None else best * (1.0 + BETTER if case.maximise else 1.0 - BETTER)
    teams = list(itertools.islice(_teams(case), MOST_TEAMS + 1)) if case.storage else []
    if len(teams) > MOST_TEAMS:
        return SecondProof(None, None, (f"more than {MOST_TEAMS} sets of types and ways",), 0)
    left, parts, opened = teams[::-1], 0, list[Team]()
    while left and time.monotonic() < deadline:
        team, parts = left.pop(), parts + 1
        closed, better = _search_part(case, team, floor, solver, deadline)
        if better is not None:
            return SecondProof(None, best if case.objective in RATIOS else better, (), parts)
        if closed:
            continue
        if team.spares < team.spares_counted:
            middle = (team.spares + team.spares_counted) // 2
            left += [replace(team, spares_counted=middle), replace(team, spares=middle + 1)]
        else:
            opened.append(team)
    names = (f"{' and '.join(w.id for w in t.ways)} ({t.mode})" for t in (*opened, *left[::-1]))
    still = tuple(dict.fromkeys(names))
    return SecondProof(None if still else floor, None, still, parts)


def _search_part(
    case: Case, team: Team, floor: float | None, solver: SolverName, deadline: float
) -> tuple[bool, float | None]:
    """Whether a part has no plan that reaches a floor, and the value of one that does.

    The relaxation is solved first: a part of several numbers of spares is divided at once where
    those reach the floor.
    """
    low, high = UsefulWork(case, team).gpus_range
    program = Program(case, team)
    if low > min(high, program.most_gpus) or math.isinf(low):
        return True, None
    stage = Stage(program, solver, deadline)
    exact = not case.needs_goodput or _bound_work(stage)
    ratio = case.objective in RATIOS
    objective, scale = program.objective((floor or 0.0) if ratio else 0.0)
    if floor is not None:
        least = 0.0 if ratio else floor / scale
        program.row("better", objective >= least if case.maximise else objective <= least)
    program.set_objective(objective, maximise=case.maximise)
    try:
        found = stage.solve_rounds(
            partial(solvers.solve, program.problem, relaxed=True), whole=False
        )
        if found.status == "infeasible":
            return stage.ask().status == "infeasible", None
    except OverstatedError:
        pass
    if team.spares < team.spares_counted:
        return False, None
    try:
        found = stage.solve_rounds(stage.ask)
    except OverstatedError:
        return False, None
    better = exact and found.status == "optimal" and found.objective is not None
    return found.status == "infeasible", (found.objective or 0.0) * scale if better else None


def _bound_work(stage: Stage) -> bool:
    """Bound useful work by tangents; where it is not concave by N GPUs that never stop, and by the
    most that any number of GPUs does with all the bandwidth and endurance there can be. True if
    these are exact."""
    program, useful = stage.program, stage.program.useful
    program.measure_work()
    low = max(useful.gpus_range[0], 1.0)
    if useful.concave:
        top = program.most
        seeds = ((max(low, n * top.gpus), s * top.write, s * top.read) for n, s in SEEDS)
        points = [Point(gpus, write, read, write, top.endured) for gpus, write, read in seeds]
        return stage.bound_work(points, partly=True)
    step, repair = math.gcd(*(way.step_gpus for way in program.ways)), program.job.repair
    counts = range(math.ceil(low / step) * step, int(program.most_gpus) + 1, step)
    most: dict[str, float] | None = None
    if len(counts) <= MOST_COUNTS and not (repair is not None and repair.shrinks):
        most = {}  # of everything that work depends on, of fractions of units
        for name, variable in program.coordinates.items():
            program.set_objective(variable, maximise=True)
            solved = solvers.solve(program.problem, "highs", relaxed=True)
            most[name] = math.nan if solved.bound is None else max(solved.bound, 1e-9)
        most.setdefault("safe_write", most["write"])
    for counted, work in program.work.items():
        rate = 1.0 if counted == "gpus" else useful.pflops_per_gpu(low)
        program.row(f"all_{counted}", work - rate * program.gpus <= 0.0)
        if most is not None and not any(map(math.isnan, most.values())):
            points = [Point(**most)._replace(gpus=float(n)) for n in counts]
            each = useful.values(points, counted)
            peak = max((value for value in each.tolist() if not math.isnan(value)), default=0.0)
            program.row(f"peak_{counted}", work <= peak * (1.0 + BETTER / 2.0))
    return False


def _teams(case: Case) -> Iterator[Team]:
    """Yield the sets of types with a way each, in every mode, with all their ranges of spares."""
    repair, levels = case.job.repair, case.job.levels
    if not any(max_units(case, item) for item in case.flash):
        return  # checkpoints have no place
    pairs = [(system, way) for system in case.systems for way in system.ways]
    for team in list_teams(case):
        running = tuple(pairs[place] for place in team)
        if any(max_units(case, system) == 0 for system, _ in running):
            continue
        (system, way), most = running[0], 0
        if repair is not None and not way.spare_unit.in_rack:  # more are of no use
            units = max_units(case, system)
            gpus = max(1, way.most_gpus(units))
            most = repair.useful_spares(way.failures_per_gpu_day, gpus)
            most = min(units * way.spare_unit.per_system, most)
        least = most if repair is not None and repair.spares is not None else 0
        for mode in case.job.modes:
            for k in levels.every if mode == "local" and levels is not None else (1,):
                yield Team(running, mode, k, least, most)
