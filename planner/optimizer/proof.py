"""A plan proven by the integer program: first its objective, then its bill.

    stage 1   the best objective of the way and spares that the search took, with the solver's bound
    stage 2   the cheapest bill that is as good as the problem asks (`indifference`, `prefer`)

Useful work is bounded by tangents where it is concave in the operating point (form ``tangents``);
elsewhere the program is asked for the plan's own operating point (form ``demands``) and proves the
bill that provides it. Where program and search disagree there is no plan: an error says which
figure. A solver's bound that a known plan passes is asked for again, without presolve.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from planner.case import Case
from planner.errors import VerificationError
from planner.figures import OBJECTIVES, RATIOS
from planner.limits import MILLION
from planner.optimizer import solvers
from planner.optimizer.bill import bill
from planner.optimizer.dominance import without_dominated
from planner.optimizer.objective import natural
from planner.optimizer.operate import Run
from planner.optimizer.program import Program
from planner.optimizer.solvers import Solved, SolverName
from planner.optimizer.stage import EXACT, GAP, NEAR, TIES, Form, OverstatedError, Stage
from planner.optimizer.useful_work import MEASURES, Measure, Point, Tangent, Team

if TYPE_CHECKING:
    from planner.optimizer.optimise import Certificate

AGREED = 3e-6
"""Share by which the values of program and search may differ."""
WITHIN = 3e-7
"""Share by which a bill is asked to be clearly as good as the search asks: one that the search
refused by a rounding is none that it missed."""
SPREAD = {"gpus": (0.9, 1.1), "write": (0.5, 2.0), "read": (0.5, 2.0), "endured": (0.5, 2.0)}
"""First tangents: at the plan's operating point, and at these multiples of each of its figures."""


class Proof(NamedTuple):
    """What the integer program proved of a plan: ``optimal`` unless a time limit ended it.

    ``value`` and ``bound`` are of stage 1, in the unit of the objective: None where it was asked
    for the plan's operating point, and so proves no bound of useful work. ``capex_usd`` is the
    least bill, ``capex_bound_usd`` what no bill passes.
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


class DisagreementError(VerificationError):
    """Program and search came to different answers: one of them is wrong."""

    def __init__(self, label: str, program: float, search: float, unit: str) -> None:
        text = f"{label}: the integer program says {program:,.9g} {unit}, the search {search:,.9g}"
        super().__init__((text,))


def team_of(case: Case, run: Run) -> Team:
    """The team of a plan: types, ways, mode and spares."""
    running = tuple(case.in_use(run.used, run.ways))
    return Team(running, run.mode, run.every, run.spares, run.spares)


def point_of(case: Case, run: Run) -> Point:
    """The operating point of a plan."""
    endured = 0.0
    for item in case.bought(run.units):
        each = item.endurance_tb_per_day
        endured += math.inf if each is None else each * run.units[item.id]
    bandwidth = run.write_gb_per_s, run.read_gb_per_s, run.degraded_write_gb_per_s
    return Point(float(run.gpus), *bandwidth, endured or math.inf)


def prove(
    case: Case,
    answer: Certificate,
    *,
    solver: SolverName = "highs",
    time_limit_s: float | None = None,
    tolerance: float = solvers.TOLERANCE,
    save_model: Path | None = None,
) -> Proof:
    """Prove the plan of a search by the integer program.

    Args:
        case: the problem in numbers.
        answer: a plan, its best value, and the best plan where the plan gives something away.
        solver: HiGHS in process, or CBC as a cross-check.
        time_limit_s: time for all of it.
        tolerance: the solver's feasibility tolerance.
        save_model: file for the program with the tangents that it ended with.

    Raises:
        VerificationError: program and search disagree.
        SolverError: the solver is missing, or insists on a bound that a plan passes.
    """
    case = needed_products(case, answer)
    deadline = math.inf if time_limit_s is None else time.monotonic() + time_limit_s
    try:
        return _Prover(case, answer, solver, deadline, tolerance, save_model, False).proof()
    except OverstatedError:
        return _Prover(case, answer, solver, deadline, tolerance, save_model, True).proof()


def needed_products(case: Case, answer: Certificate) -> Case:
    """The case without products that another covers, of a long price list, and without bursts
    where the plan's storage has none: useful work is not concave with them."""
    runs = [run for run in (answer.operation, answer.untouched) if run is not None]
    bursting = {item.id for item in case.storage if item.burst_gb_per_s}
    if case.bursts and not any(run.units[name] for run in runs for name in bursting):
        plain = (replace(item, burst_gb_per_s=0.0, buffer_gb=0.0) for item in case.storage)
        case = replace(case, storage=tuple(plain))
    few = without_dominated(case)
    known = {offer.id for offer in few.offers()}
    lost = any(count and name not in known for run in runs for name, count in run.units.items())
    return case if lost else few


class _Prover(NamedTuple):
    """Both stages of one proof.

    Attributes:
        demands: the plan's operating point is demanded whatever the form could be.
    """

    case: Case
    answer: Certificate
    solver: SolverName
    deadline: float
    tolerance: float
    save_model: Path | None
    demands: bool

    def proof(self) -> Proof:
        """Both stages solved."""
        case, plan = self.case, self.answer.operation
        assert plan is not None
        best = self.answer.untouched or plan
        stage = self.stage_of(best)
        value, bound = self.first_stage(stage, best)
        form, cut = stage.form, stage.cut
        if self.save_model is not None and value is not None:
            solvers.write_model(stage.program.problem, self.save_model)
        if best is not plan and (form == "demands" or team_of(case, best) != team_of(case, plan)):
            stage = self.stage_of(plan)
        capex = self.second_stage(stage, plan)
        problem = stage.program.problem
        if self.save_model is not None and value is None:
            solvers.write_model(problem, self.save_model)
        gap = None if value is None or bound is None else abs(bound - value)
        return Proof(
            form=form,
            solver=self.solver,
            status="optimal" if capex.status == "optimal" and not (cut or stage.cut) else "limit",
            value=value,
            bound=bound,
            gap=None if gap is None or value is None else gap / max(abs(value), NEAR),
            capex_usd=None if capex.objective is None else capex.objective * MILLION,
            capex_bound_usd=None if capex.bound is None else capex.bound * MILLION,
            capex_gap=capex.gap,
            variables=problem.numVariables(),
            rows=problem.numConstraints(),
        )

    def stage_of(self, run: Run) -> Stage:
        """The program of a plan's way and spares, its useful work bounded."""
        case, team = self.case, team_of(self.case, run)
        stage = Stage(Program(case, team), self.solver, self.deadline, self.tolerance)
        if not case.needs_goodput:
            return stage
        if stage.program.useful.concave and not self.demands:
            stage.program.measure_work()
            tangents = first_tangents(stage, point_of(case, run))
            if tangents is not None:
                stage.bound_work(tangents)
                return stage
            stage.program = Program(case, team)
        stage.form = "demands"
        less = {name: each * (1.0 - NEAR) for name, each in point_of(case, run)._asdict().items()}
        at = Point(**less)._replace(gpus=float(run.gpus))
        stage.program.operate_at(at)
        if case.bursts:
            stage.program.bursts(at, run.remote_interval_s)
        done = work_of(case, run)
        for name, measure, each in stage.program.ratios():
            limit = case.limits[name]
            if limit is not None:  # at the operating point work is at least the plan's
                most = limit * each * done[measure] * (1.0 + NEAR) / MILLION
                stage.program.row(name, stage.program.sum("tco_usd", MILLION) <= most)
        return stage

    def objective(self, stage: Stage, run: Run, ratio: float = 0.0) -> tuple[Any, float]:
        """The objective and its scale; work at a plan's operating point is that of the plan."""
        done = work_of(self.case, run) if stage.form == "demands" else None
        return stage.program.objective(ratio, done)

    def optimum(
        self, stage: Stage, run: Run, objective: Any, *, known: float, **named: Any
    ) -> Solved:
        """The optimum of an objective, with the rows of racks that hold at a plan's counts."""
        stage.price_racks(bill(self.case, run.units, run.ways).counts)
        return stage.optimum(objective, known=known, **named)

    def first_stage(self, stage: Stage, best: Run) -> tuple[float | None, float | None]:
        """The best value of the objective that the program finds, and its bound."""
        case = self.case
        if self.is_demanded(stage):
            return None, None
        known, row = worth_of(case, best), OBJECTIVES[case.objective]
        if case.objective in RATIOS:
            return self.first_stage_of_ratio(stage, best, known, row.label)
        objective, scale = self.objective(stage, best)
        found = self.optimum(
            stage,
            best,
            objective,
            known=known / scale,
            maximise=case.maximise,
            label=row.label,
            unit=row.unit,
        )
        bound = None if found.bound is None else found.bound * scale
        if found.objective is None:
            return None, bound
        value = found.objective * scale
        better = value - known if case.maximise else known - value
        _refuse_better(better, value, known, row.label, row.unit)
        return value, bound

    def is_demanded(self, stage: Stage) -> bool:
        """Whether the objective is work that the operating point demands: nothing to prove."""
        return stage.form == "demands" and self.case.maximise and self.case.objective in MEASURES

    def first_stage_of_ratio(
        self, stage: Stage, best: Run, known: float, label: str
    ) -> tuple[float | None, float | None]:
        """Money per work: ``TCO - ratio c work`` is not below 0 at a ratio that no plan passes."""
        below = known * (1.0 - TIES)
        objective, scale = self.objective(stage, best, below)
        spent = bill(self.case, best.units, best.ways)["tco_usd"] / scale
        # The money of the plan is added, so that the solver's relative gap is one of it.
        at_best = spent * (1.0 + TIES)
        found = self.optimum(
            stage,
            best,
            objective + spent,
            known=at_best,
            maximise=False,
            label=label,
            unit="MUSD",
        )
        if found.objective is not None and found.objective < spent * (1.0 - AGREED):
            raise DisagreementError(label, found.objective, at_best, "MUSD")
        loose = found.bound is None or found.bound < spent * (1.0 - GAP - NEAR)
        return (None, None) if loose or stage.form == "demands" else (known, below)

    def second_stage(self, stage: Stage, plan: Run) -> Solved:
        """The cheapest bill that is as good as the problem asks."""
        case, program, label = self.case, stage.program, "units from other vendors"
        if not self.is_demanded(stage):
            self.hold_objective(stage, plan)
        if case.policy.disliked:
            units = float(sum(plan.units[name] for name in case.policy.disliked))
            fewest = self.optimum(
                stage, plan, program.disliked(), known=units, maximise=False, label=label
            )
            if fewest.objective is not None and fewest.objective < units - 0.5:
                raise DisagreementError(label, fewest.objective, units, "units")
            program.row("fewest_disliked", program.disliked() <= units)
        capex_usd = bill(case, plan.units, plan.ways)["capex_usd"]
        found = self.optimum(
            stage,
            plan,
            program.sum("capex_usd", MILLION),
            known=capex_usd / MILLION,
            maximise=False,
            label="capex",
            unit="MUSD",
        )
        if found.objective is not None:
            value = found.objective * MILLION
            _refuse_better(capex_usd - value, value, capex_usd, "capex", "USD")
        return found

    def hold_objective(self, stage: Stage, plan: Run) -> None:
        """Keep the objective as good as the plan's, or as good as `indifference` asks."""
        case, program, own = self.case, stage.program, worth_of(self.case, plan)
        assert self.answer.best is not None
        share, top = (
            max(TIES, case.indifference) - WITHIN,
            natural(case.objective, self.answer.best),
        )
        if case.policy.disliked:  # the best with so few of other vendors' units is not known here
            top, share = own, 0.0
        floor = min(top * (1.0 - share), own) * (1.0 - NEAR)
        ceiling = max(top * (1.0 + share), own) * (1.0 + NEAR)
        ratio = ceiling if case.objective in RATIOS else 0.0
        objective, scale = self.objective(stage, plan, ratio)
        if case.maximise:
            row = objective >= floor / scale
        else:
            row = objective <= (0.0 if case.objective in RATIOS else ceiling / scale)
        program.row("hold_objective", row)


def first_tangents(stage: Stage, at: Point) -> list[tuple[Measure, Tangent]] | None:
    """Tangents around a plan; None where one cuts off a point that was worked out."""
    program = stage.program
    ceiling = math.inf if program.endured is None else float(program.endured.upBound)
    at = at._replace(endured=min(at.endured, ceiling) if program.endured is not None else math.inf)
    points = [at]
    for name, factors in SPREAD.items():
        if name in program.coordinates:
            points += [_scaled(stage, at, name, factor) for factor in factors]
    tangents = stage.tangents_at(points)
    for measure in program.work:
        own = [tangent for other, tangent in tangents if other == measure]
        if not own:
            return None
        for point in points:
            true = program.useful.value(point, measure)
            if true is not None and min(t.of(point) for t in own) < true * (1.0 - EXACT):
                return None
    return tangents


def _scaled(stage: Stage, at: Point, name: str, factor: float) -> Point:
    """A point with one of its figures changed, and with writes also safe writes."""
    changed = {name: getattr(at, name) * factor}
    if name == "write":
        changed["safe_write"] = at.safe_write * factor
    if name == "gpus":
        low, high = stage.program.useful.gpus_range
        changed["gpus"] = min(max(changed["gpus"], low), high)
    return at._replace(**changed)


def work_of(case: Case, run: Run) -> dict[Measure, float]:
    """Useful work of a plan in each measure."""
    return {"gpus": run.useful_gpus, "pflops": run.useful_pflops(case.job.mfu or 0.0)}


def worth_of(case: Case, run: Run) -> float:
    """Value of a plan, in the unit of the objective's figure."""
    if case.objective == "gpus":
        return float(run.gpus)
    done, measure = work_of(case, run), MEASURES.get(case.objective)
    if measure is not None and case.objective not in RATIOS:
        return done[measure]
    spent = bill(case, run.units, run.ways)
    if measure is None:
        return spent[OBJECTIVES[case.objective].figure.name]
    hours = case.objective == "usd_per_useful_gpu_hour"
    each = case.rates.hours if hours else case.million_tokens_per_pflops()
    return spent["tco_usd"] / (each * done[measure])


def _refuse_better(better: float, value: float, known: float, label: str, unit: str) -> None:
    """Raise where the program has a better plan than the search found."""
    if better > AGREED * max(abs(known), NEAR):
        raise DisagreementError(label, value, known, unit)
