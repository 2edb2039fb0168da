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
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from planner.case import Case
from planner.errors import SolverError, VerificationError
from planner.figures import OBJECTIVES, RATIOS
from planner.limits import MILLION
from planner.optimizer import solvers
from planner.optimizer.bill import bill
from planner.optimizer.counts import value_of
from planner.optimizer.dominance import without_dominated
from planner.optimizer.operate import Run
from planner.optimizer.program import Program
from planner.optimizer.solvers import Solved, SolverName
from planner.optimizer.useful_work import Measure, Point, Tangent, Team, UsefulWork

if TYPE_CHECKING:
    from planner.optimizer.optimise import Certificate

Form = Literal["tangents", "demands", "linear"]

GAP = 5e-7
"""How far a solver may stop from its bound, as a share of the objective."""
EXACT = 5e-8
"""Work in a solution may pass what its operating point does by this share."""
TIES = 1e-6
"""Plans that differ by no more count as equally good (docs/model.md)."""
AGREED = 3e-6
"""What the program's and the search's value of one objective may differ by, as a share."""
NEAR = 1e-9
"""Rows at a plan's own figures stand so much aside, against rounding."""
WITHIN = 3e-7
"""A bill is asked for that is clearly as good as the search asks: what the search refused by a
rounding is none that it missed."""
ROUNDS = 40
SPREAD = {"gpus": (0.9, 1.1), "write": (0.5, 2.0), "read": (0.5, 2.0), "endured": (0.5, 2.0)}
"""First tangents stand at the plan's operating point, and at so many times each of its figures."""


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

    def __init__(self, what: str, program: float, search: float, unit: str) -> None:
        text = f"{what}: the integer program says {program:,.9g} {unit}, the search {search:,.9g}"
        super().__init__((text,))


class OverstatedError(Exception):
    """No tangent holds useful work where a solution has it."""


def team_of(case: Case, run: Run) -> Team:
    """Return how a plan runs its job."""
    running = tuple(case.in_use(run.used, run.ways))
    batches = [way.gpus_max and max(1, way.gpus_max // run.gpus) for _, way in running]
    even = case.job.scale is not None and case.job.scale.even
    shared = tuple(None if each is None else (each, each) for each in batches if even)
    return Team(running, run.mode, run.every, run.spares, run.spares, shared)


def point_of(case: Case, run: Run) -> Point:
    """Return the operating point of a plan."""
    endured = 0.0
    for item in case.bought(run.units):
        each = item.endurance_tb_per_day
        endured += math.inf if each is None else each * run.units[item.id]
    bandwidth = run.write_gb_per_s, run.read_gb_per_s, run.degraded_write_gb_per_s
    return Point(float(run.gpus), *bandwidth, endured or math.inf)


@dataclass
class Stage:
    """The program of one plan with its work bounded, and how it is solved.

    A ``deadline`` is one of ``time.monotonic``; a stage that it ends is ``cut``.
    """

    case: Case
    run: Run | None
    program: Program
    form: Form
    solver: SolverName = "highs"
    deadline: float = math.inf
    tolerance: float = solvers.TOLERANCE
    cut: bool = False
    racked: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, case: Case, run: Run, *, demands: bool, **options: Any) -> Stage:
        """Return the program of a plan's way and spares, its useful work bounded.

        Args:
            case: the problem in numbers.
            run: the plan.
            demands: whether to ask for the plan's operating point whatever the form could be.
            options: solver, deadline and tolerance.
        """
        stage = cls(case, run, Program(case, team_of(case, run)), "linear", **options)
        if case.needs_goodput:
            stage.form = "demands" if demands else stage._bound_work()
            if stage.form == "demands":
                stage._ask_for_point()
        return stage

    @property
    def plan(self) -> Run:
        """The plan that is proven."""
        assert self.run is not None
        return self.run

    @property
    def done(self) -> dict[Measure, float]:
        """The useful work of the plan."""
        pflops = self.plan.useful_pflops(self.case.job.mfu or 0.0)
        return {"gpus": self.plan.useful_gpus, "pflops": pflops}

    def _bound_work(self) -> Form:
        """Bound useful work by tangents, where none cuts off what is done."""
        if not self.program.useful.concave:
            return "demands"
        self.program.measure_work()
        if self.case.objective in MEASURES:
            self.program.useful_work(MEASURES[self.case.objective])
        tangents = self.first_tangents()
        if tangents is None:
            self.program = Program(self.case, self.program.team)
            return "demands"
        for measure, tangent in tangents:
            self.program.below(measure, tangent)
        return "tangents"

    def _ask_for_point(self) -> None:
        at = _shrunk(point_of(self.case, self.plan))
        self.program.operate_at(at)
        if self.case.bursts:
            self.program.bursts(at, self.plan.remote_interval_s)
        self._hold_ratios()

    def _hold_ratios(self) -> None:
        """TCO <= limit c work: at the operating point work is at least the plan's."""
        for name, measure, each in self.program.ratios():
            limit = self.case.limits[name]
            if limit is not None:
                most = limit * each * self.done[measure] * (1.0 + NEAR) / MILLION
                self.program.row(name, self.program.sum("tco_usd", MILLION) <= most)

    def first_tangents(self) -> list[tuple[Measure, Tangent]] | None:
        """Return tangents around the plan; None where one cuts off a point that was worked out."""
        at, names = self.clipped(point_of(self.case, self.plan)), self.program.coordinates
        points = [at]
        for name, factors in SPREAD.items():
            if name in names:
                points += [self.scaled(at, name, factor) for factor in factors]
        found = []
        for measure in self.program.work:
            useful, most = self.program.useful, self.program.most
            each = [t for p in points if (t := useful.tangent(p, measure, most)) is not None]
            if not each or not _above(useful, measure, each, points):
                return None
            found += [(measure, tangent) for tangent in each]
        return found

    def clipped(self, at: Point) -> Point:
        """Return a point whose endurance is one that the program knows."""
        if self.program.endured is None:
            return at._replace(endured=math.inf)
        return at._replace(endured=min(at.endured, self.program.endured.upBound))

    def scaled(self, at: Point, name: str, factor: float) -> Point:
        """Return a point with one of its figures changed, and with writes also safe writes."""
        changed = {name: getattr(at, name) * factor}
        if name == "write":
            changed["safe_write"] = at.safe_write * factor
        if name == "gpus":
            low, high = self.program.useful.gpus_range
            changed["gpus"] = min(max(changed["gpus"], low), high)
        return at._replace(**changed)

    def solve(
        self, objective: Any, *, maximise: bool, known: float, what: str, unit: str = ""
    ) -> Solved:
        """Return the optimum of an objective in which nothing is overstated, with its bound.

        Args:
            known: what a known plan comes to; a bound that it passes is no bound.
            what: the objective in words, for an error.

        Raises:
            SolverError: the solver insists on a bound that a known plan passes.
        """
        self.program.ask_for(objective, maximise=maximise)
        sign = 1.0 if maximise else -1.0
        self._racks_of_plan()
        for _ in range(ROUNDS):
            found = self._ask(known)
            if self._refuted(found, sign, known):
                found = self._ask(known, presolve=False)
            if self._refuted(found, sign, known):
                said = found.status if found.bound is None else f"no better than {found.bound:,.9g}"
                text = f"{what}: {solvers.NAMES[self.solver]} says {said} {unit}"
                raise SolverError(f"{text}, yet a plan has {known:,.9g}")
            if found.status == "limit":
                self.cut = True
                return Solved("limit", bound=found.bound)
            if not found.values or not self.tighten(found.values):
                return found
        return found

    def _ask(self, known: float | None = None, *, presolve: bool = True) -> Solved:
        return solvers.solve(
            self.program.problem,
            self.solver,
            gap=GAP,
            time_limit_s=min(solvers.LONGEST_S, self.deadline - time.monotonic()),
            presolve=presolve,
            tolerance=self.tolerance,
            known=known,
        )

    def _refuted(self, found: Solved, sign: float, known: float) -> bool:
        """Say whether a known plan passes what the solver says that none does."""
        if found.status == "limit" and found.bound is None:
            return False
        if found.bound is None:
            return True
        return sign * (known - found.bound) > TIES * max(abs(known), NEAR)

    def tighten(self, values: dict[str, float], *, whole: bool = True) -> bool:
        """Add tangents and rows of racks that a solution breaks; say whether there were any.

        Args:
            values: the solution.
            whole: whether its units are whole numbers.

        Raises:
            OverstatedError: no tangent holds useful work where the solution has it.
        """
        broken = self._racks(values) if whole else False
        for measure, work in self.program.work.items():
            if work.name not in values:
                continue
            at = self.program.delivered(values, whole=whole)
            true = self.program.useful.value(at, measure)
            if true is None or values[work.name] <= true * (1.0 + EXACT):
                continue
            tangent = self.program.useful.tangent(at, measure, self.program.most)
            if tangent is None or tangent.of(at) > values[work.name] * (1.0 - NEAR):
                raise OverstatedError
            self.program.below(measure, tangent)
            broken = True
        return broken

    def _racks_of_plan(self) -> None:
        """Add rows of racks that hold what the plan's racks are worth, before any solution."""
        counts = bill(self.case, self.plan.units, self.plan.ways).counts
        for name, (quantity, _, _) in self.program.count.packed.items():
            if name not in self.racked:
                self.racked.add(name)
                contents = quantity.counts(counts)
                self.program.count.price(name, quantity.packing.prices_of(contents).each)

    def _racks(self, values: dict[str, float]) -> bool:
        """Add rows of racks that network devices share, where a solution has too few of them."""
        broken = False
        for name, (quantity, racks, kinds) in list(self.program.count.packed.items()):
            contents = tuple(round(value_of(kind, values)) for kind in kinds)
            least = quantity.packing.least(contents)
            if racks.name not in values or values[racks.name] >= least - 0.5:
                continue
            prices = quantity.packing.prices_of(contents)
            if prices.of(contents) > values[racks.name] + 1e-6:
                self.program.count.price(name, prices.each)
            else:
                self.program.count.fill(name, contents, least)
            broken = True
        return broken


MEASURES: dict[str, Measure] = {
    "goodput": "pflops",
    "useful_gpus": "gpus",
    "usd_per_useful_gpu_hour": "gpus",
    "usd_per_million_tokens": "pflops",
}
"""The useful work that an objective counts."""


def _shrunk(at: Point) -> Point:
    """Return an operating point with its bandwidth less by rounding."""
    less = {name: getattr(at, name) * (1.0 - NEAR) for name in Point._fields if name != "gpus"}
    return at._replace(**less)


def _above(
    useful: UsefulWork, measure: Measure, tangents: list[Tangent], points: list[Point]
) -> bool:
    """Say whether every tangent is above the work at every point."""
    for at in points:
        true = useful.value(at, measure)
        for tangent in tangents if true is not None else ():
            if true is not None and tangent.of(at) < true * (1.0 - EXACT):
                return False
    return True


def worth_of(case: Case, run: Run) -> float:
    """Return what a plan is worth, in the unit of the objective's figure."""
    pflops = run.useful_pflops(case.job.mfu or 0.0)
    work = {"goodput": pflops, "useful_gpus": run.useful_gpus, "gpus": float(run.gpus)}
    if case.objective in work:
        return work[case.objective]
    spent = bill(case, run.units, run.ways)
    if case.objective not in RATIOS:
        return spent[OBJECTIVES[case.objective].figure.name]
    hours = case.objective == "usd_per_useful_gpu_hour"
    each = case.rates.hours if hours else case.million_tokens_per_pflops()
    return spent["tco_usd"] / (each * (run.useful_gpus if hours else pflops))


def objective_of(stage: Stage, ratio: float) -> tuple[Any, float]:
    """Return the objective of a program, and how many of its unit are one there.

    Money per useful work: the least of ``TCO - ratio c work`` is not below 0 where ``ratio`` is
    what no plan passes. At the plan's operating point work is that of the plan.
    """
    case, program = stage.case, stage.program
    if case.objective in RATIOS:
        measure = MEASURES[case.objective]
        each = {f"usd_{name}": one for name, _, one in program.ratios()}[case.objective]
        done = stage.done[measure] if stage.form == "demands" else program.useful_work(measure)
        return program.sum("tco_usd", MILLION) - (ratio * each / MILLION) * done, MILLION
    if case.objective in MEASURES:
        return program.useful_work(MEASURES[case.objective]), 1.0
    if case.objective == "gpus":
        return program.gpus, 1.0
    figure = OBJECTIVES[case.objective].figure
    scale = MILLION if figure.money else 1.0
    return program.sum(figure.name, scale), scale


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
        answer: what the search found: a plan, its best value, and the best plan where the plan
            taken gives something away.
        solver: HiGHS in process, or CBC as a cross-check.
        time_limit_s: how long all of it may take.
        tolerance: the solver's feasibility tolerance.
        save_model: where to write the program, with the tangents that it ended with.

    Raises:
        VerificationError: program and search disagree.
        SolverError: the solver is missing, or insists on a bound that a plan passes.
    """
    case = needed_products(case, answer)
    deadline = math.inf if time_limit_s is None else time.monotonic() + time_limit_s
    options = {"solver": solver, "deadline": deadline, "tolerance": tolerance}
    try:
        return _proven(case, answer, save_model, demands=False, **options)
    except OverstatedError:
        return _proven(case, answer, save_model, demands=True, **options)


def needed_products(case: Case, answer: Certificate) -> Case:
    """Return the case without products that another covers, of a long price list, and without
    bursts where the plan's storage has none: useful work is not concave with them."""
    found = (answer.operation, answer.untouched)
    case = _sustained(case, [run for run in found if run is not None])
    few = without_dominated(case)
    known = {offer.id for offer in few.offers()}
    runs = [run for run in found if run is not None]
    lost = any(count and name not in known for run in runs for name, count in run.units.items())
    return case if lost else few


def _sustained(case: Case, runs: Sequence[Run]) -> Case:
    """Return a case whose storage takes checkpoints at its sustained rate, unless a plan bursts."""
    bursting = {item.id for item in case.storage if item.burst_gb_per_s}
    if not case.bursts or any(run.units[name] for run in runs for name in bursting):
        return case
    plain = (replace(item, burst_gb_per_s=0.0, buffer_gb=0.0) for item in case.storage)
    return replace(case, storage=tuple(plain))


def _proven(
    case: Case, answer: Certificate, save_model: Path | None, *, demands: bool, **options: Any
) -> Proof:
    plan = answer.operation
    assert plan is not None
    best = answer.untouched or plan
    stage = Stage.of(case, best, demands=demands, **options)
    value, bound = _first_stage(stage, best)
    form, cut = stage.form, stage.cut
    if save_model is not None and value is not None:
        solvers.write_model(stage.program.problem, save_model)
    if best is not plan and (stage.form == "demands" or team_of(case, best) != team_of(case, plan)):
        stage = Stage.of(case, plan, demands=demands, **options)
    capex = _second_stage(stage, plan, _best_value(case, answer))
    problem = stage.program.problem
    if save_model is not None and value is None:
        solvers.write_model(problem, save_model)
    return Proof(
        form=form,
        solver=stage.solver,
        status="optimal" if capex.status == "optimal" and not (cut or stage.cut) else "limit",
        value=value,
        bound=bound,
        gap=None if value is None or bound is None else abs(bound - value) / max(abs(value), NEAR),
        capex_usd=None if capex.objective is None else capex.objective * MILLION,
        capex_bound_usd=None if capex.bound is None else capex.bound * MILLION,
        capex_gap=capex.gap,
        variables=problem.numVariables(),
        rows=problem.numConstraints(),
    )


def _best_value(case: Case, answer: Certificate) -> float:
    """Return the best value that the search found, in the unit of the objective."""
    assert answer.best is not None
    if case.objective in MEASURES:
        return math.exp(answer.best)
    return answer.best * (MILLION if OBJECTIVES[case.objective].figure.money else 1.0)


def _first_stage(stage: Stage, best: Run) -> tuple[float | None, float | None]:
    """Return the best value of the objective that the program finds, and its bound."""
    case = stage.case
    if stage.form == "demands" and case.maximise and case.objective in MEASURES:
        return None, None
    known, row = worth_of(case, best), OBJECTIVES[case.objective]
    if case.objective in RATIOS:
        return _first_stage_of_ratio(stage, best, known, row.label)
    objective, scale = objective_of(stage, 0.0)
    found = stage.solve(
        objective, maximise=case.maximise, known=known / scale, what=row.label, unit=row.unit
    )
    if found.objective is None:
        return None, None if found.bound is None else found.bound * scale
    value = found.objective * scale
    better = value - known if case.maximise else known - value
    _refuse_better(better, value, known, row.label, row.unit)
    bound = None if found.bound is None else found.bound * scale
    return value, bound


def _first_stage_of_ratio(
    stage: Stage, best: Run, known: float, label: str
) -> tuple[float | None, float | None]:
    below = known * (1.0 - TIES)
    tco_usd = bill(stage.case, best.units, best.ways)["tco_usd"]
    objective, scale = objective_of(stage, below)
    at_best = tco_usd * (1.0 + TIES) / scale
    # The money of the plan is added, so that the solver's relative gap is one of it.
    found = stage.solve(
        objective + tco_usd / scale, maximise=False, known=at_best, what=label, unit="MUSD"
    )
    if found.objective is not None and found.objective < tco_usd / scale * (1.0 - AGREED):
        raise DisagreementError(label, found.objective, at_best, "MUSD")
    loose = found.bound is None or found.bound < tco_usd / scale * (1.0 - GAP - NEAR)
    if loose or stage.form == "demands":
        return None, None
    return known, below


def _refuse_better(better: float, value: float, known: float, what: str, unit: str) -> None:
    """Raise where the program has a better plan than the search found."""
    if better > AGREED * max(abs(known), NEAR):
        raise DisagreementError(what, value, known, unit)


def _second_stage(stage: Stage, plan: Run, top: float) -> Solved:
    """Return the cheapest bill that is as good as the problem asks."""
    case, program = stage.case, stage.program
    if stage.form != "demands" or not (case.maximise and case.objective in MEASURES):
        _hold(stage, plan, top)
    if case.policy.disliked:
        units = float(sum(plan.units[name] for name in case.policy.disliked))
        fewest = stage.solve(
            program.disliked(), maximise=False, known=units, what="units from other vendors"
        )
        if fewest.objective is not None and fewest.objective < units - 0.5:
            raise DisagreementError("units from other vendors", fewest.objective, units, "units")
        program.row("fewest_disliked", program.disliked() <= units)
    capex_usd = bill(case, plan.units, plan.ways)["capex_usd"]
    found = stage.solve(
        program.capex_musd(),
        maximise=False,
        known=capex_usd / MILLION,
        what="capex",
        unit="MUSD",
    )
    if found.objective is not None:
        value = found.objective * MILLION
        _refuse_better(capex_usd - value, value, capex_usd, "capex", "USD")
    return found


def _hold(stage: Stage, plan: Run, top: float) -> None:
    """Keep the objective as good as the plan's, or as good as `indifference` asks."""
    case, program = stage.case, stage.program
    share, own = max(TIES, case.indifference) - WITHIN, worth_of(case, plan)
    if case.policy.disliked:  # the best with so few of other vendors' units is not known here
        top, share = own, 0.0
    objective, scale = objective_of(stage, 0.0)
    if case.maximise:
        floor = min(top * (1.0 - share), own) * (1.0 - NEAR)
        program.row("hold_objective", objective >= floor / scale)
        return
    ceiling = max(top * (1.0 + share), own) * (1.0 + NEAR)
    if case.objective in RATIOS:
        objective, scale = objective_of(stage, ceiling)
        program.row("hold_objective", objective <= 0.0)
        return
    program.row("hold_objective", objective <= ceiling / scale)
