"""Best plans of changed problems: one at a time, or many scenarios at once.

Scenarios that differ in supplies alone (power, money, space) share one search. Groups of scenarios
are spread over processes; the pieces are the same for any number of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.analysis.pool import Lost, run_tasks
from planner.api import NO_PLAN, Options
from planner.case import Case, limit_after_change, resolve
from planner.case.model import ObjectiveName
from planner.case.ways import ways_in_plan
from planner.currency import USD
from planner.errors import InputError, PlannerError
from planner.figures import OBJECTIVES, objective_unit
from planner.inputs import Change, Inputs, applied, changed
from planner.levers import write_value
from planner.limits import BY_NAME, COUNTED_IN, SUPPLIES, Limit
from planner.loader.axes import Cell
from planner.loader.checks import checked
from planner.optimizer import Certificate, optimise, relative_distance
from planner.optimizer import bill as bills
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import Run, run_at
from planner.optimizer.search import QUESTION_WORK
from planner.optimizer.sweep import Sweep, SweepAnswer
from planner.paths import job_path, value_at
from planner.plan import assemble
from planner.plan.hall import rack_groups
from planner.schema.analysis import RowStatus
from planner.schema.plan import UNDECIDED, Plan, Status
from planner.terminal import Progress, ignore
from planner.verifier import confirms, verify

Numbers = NDArray[np.float64]
ResultT = TypeVar("ResultT")

FIELDS: Mapping[str, str] = {limit.path: limit.field for limit in SUPPLIES}
"""Limits of a case that follow from one place of the problem alone, by that place."""
COUNTED = frozenset(limit.path for limit in SUPPLIES if limit.unit in COUNTED_IN)
"""Limits in whole numbers."""
LEAST_SPLIT, HALVED, PIECE = 64, 512, 2500
"""Scenarios of a group that is a piece of its own, that is halved for two cores, of a piece."""
TOGETHER = 16
"""Most small groups in one piece."""
FOR_THE_PLAN = 0.5
"""Share of a time limit that finding the best plan may take."""


# Records


def study_head(inputs: Inputs, gap_asked: float) -> dict[str, Any]:
    """Fields of every record that describe its problem; ``gap_asked`` is a share."""
    problem = inputs.problem
    sold = [item for item in inputs.items if item.category in ("gpu_system", "storage")]
    return {
        "problem": problem.name,
        "problem_file": inputs.problem_file,
        "scenario": inputs.scenario,
        "overrides": inputs.overrides,
        "input_sha256": inputs.sha256,
        "currency": None if problem.shown_in == USD else problem.shown_in,
        "objective": problem.objective.name,
        "sense": problem.objective.sense,
        "unit": objective_unit(problem.objective.name),
        "gap_asked": gap_asked,
        "products": {item.id: item.product for item in sold},
    }


# One changed problem


class Best(NamedTuple):
    """Best plan of a problem with its proof; without a case its changes contradict (``reason``)."""

    case: Case | None
    proof: Certificate | None
    reason: str = ""

    @property
    def run(self) -> Run | None:
        """Operation of the plan."""
        return None if self.proof is None else self.proof.operation

    @property
    def value(self) -> float | None:
        """Objective of the plan in its own unit."""
        return self._natural(None if self.proof is None else self.proof.value)

    @property
    def bound(self) -> float | None:
        """Bound of the objective in its own unit; None where nothing is proven."""
        return self._natural(None if self.proof is None else self.proof.bound)

    @property
    def impossible(self) -> bool:
        """True if it is proven that there is no plan."""
        return self.case is None or (self.proof is not None and self.proof.status == "infeasible")

    def _natural(self, score: float | None) -> float | None:
        if score is None or self.case is None:
            return None
        return natural(self.case.objective, score)


MOST_KNOWN = 8
"""Plans of earlier questions that a question begins with, at most."""


@dataclass
class Variants:
    """Best plans of changes of one problem, each begun with the plans found before (``runs``)."""

    inputs: Inputs
    options: Options
    runs: list[Run] = field(default_factory=list)

    def best(self, changes: Sequence[Change] = (), *, ties: bool = False) -> Best:
        """Best plan of the changed problem; with ``ties`` the plan that `solve` takes."""
        try:
            case = resolve(applied(self.inputs, changes, recorded=True))
        except InputError as error:
            return Best(None, None, error_text(error))
        return self.best_of(case, ties=ties)

    def best_of(self, case: Case, *, ties: bool = False, gap: float = 0.0) -> Best:
        """Best plan of a case; without proof when the time is over."""
        effort = self.options.effort.part(QUESTION_WORK)
        if effort.late:
            return Best(case, None)
        gap, known = max(gap, self.options.gap), self.runs[-MOST_KNOWN:]
        proof = optimise(case, gap=gap, effort=effort, ties=ties, known=known)
        if proof.operation is not None:
            self.runs.append(proof.operation)
        return Best(case, proof)


class Solved(NamedTuple):
    """The confirmed best plan of a problem, or the reason of none."""

    plan: Plan | None
    status: Status
    reason: str | None = None


def solve_confirmed(inputs: Inputs, options: Options) -> Solved:
    """The plan that `solve` takes, without its program, confirmed by independent arithmetic.

    Raises:
        VerificationError: the verifier disagrees.
    """
    best = Variants(inputs, options).best(ties=True)
    if best.case is None or best.proof is None or best.run is None:
        if best.impossible:
            return Solved(None, "infeasible", best.reason or NO_PLAN)
        return Solved(None, "no_solution", UNDECIDED)
    plan = confirm_plan(inputs, best.case, best.proof, options.gap)
    return Solved(plan, plan.status)


class Other(NamedTuple):
    """Changes that leave only one storage vendor, or one GPU system, on offer."""

    kind: Literal["storage_vendor", "gpu_type"]
    label: str
    changes: tuple[Change, ...]


def list_others(inputs: Inputs, case: Case, units: Mapping[str, int]) -> Iterator[Other]:
    """Yield each storage vendor and each GPU system that a purchase does not hold alone."""
    held = {item.vendor for item in case.flash if units[item.id]}
    for vendor in sorted(
        {item.vendor for item in case.flash} - (held if len(held) == 1 else set())
    ):
        members = [item for item in case.flash if item.vendor == vendor]
        families, ids = tuple(sorted({i.family for i in members})), {i.id for i in members}
        only = Change("consider.storage_families", families, f"[{', '.join(families)}]")
        excluded = (
            Change(f"items.{item.id}.exclude", True, "true")
            for item in case.storage
            if item.family in families and item.id not in ids
        )
        yield Other("storage_vendor", vendor, (only, *excluded))
    bought = {system.id for system in case.systems if units[system.id]}
    for system in case.systems:
        if {system.id} != bought:
            only = Change("consider.gpu_systems", (system.id,), f"[{system.id}]")
            yield Other("gpu_type", inputs.item(system.id).model, (only,))


Fixed = tuple[str, str, object, str]
"""Label, path, value and text of a lever; the text of a number is empty."""


def fix_open_levers(inputs: Inputs, plan: Plan) -> Iterator[tuple[str, Change]]:
    """Yield the problem's open levers, each fixed as if nobody had thought of it; spares by one."""
    job, fixed = inputs.problem.job, [*_fabrics(inputs, plan)]
    precision = job.training.precision
    if job.power is not None and job.power.allowed_caps != (1.0,):
        fixed.append(("GPUs at full power", job_path("power.points"), 1.0, "100 %"))
    if isinstance(precision, tuple) and len(precision) > 1:
        path = job_path("training.precision")
        fixed.append((f"{precision[0]} alone", path, precision[0], ""))
    if job.levels is not None:
        path = job_path("checkpoint.local.use")
        fixed.append(("checkpoints on storage alone", path, "no", ""))
    if job.repair is not None and job.repair.when_short == "shrink":
        path = job_path("repair.when_short")
        fixed.append(("waiting where units are short", path, "wait", ""))
    if any(limit.name == "endurance" for limit in plan.limits):
        fixed.append(("drives written without limit", "storage.endurance", "off", ""))
    for label, path, value, text in (*fixed, *_spares(inputs, plan)):
        yield label, Change(path, value, text or f"{value}")


def _spares(inputs: Inputs, plan: Plan) -> Iterator[Fixed]:
    """Yield other numbers of spares; of trays in their racks, all GPUs of a system used."""
    job = inputs.problem.job
    repair, path = plan.jobs[0].repair, job_path("repair.spares")
    if repair is not None and repair.in_rack:
        gpus = inputs.item(plan.jobs[0].gpu_type).provides.gpus
        if gpus is not None and job.gpus.most_of(plan.jobs[0].gpu_type) is None:
            yield "every GPU of each system used", job_path("gpus.per_system"), gpus.value, ""
    elif repair is not None and job.repair is not None and job.repair.spares == "open":
        less = (0, "no spares"), (repair.spares - 1, f"one spare less ({repair.spares - 1})")
        for spares, label in less[: repair.spares]:
            yield label, path, spares, ""
        yield f"one spare more ({repair.spares + 1})", path, repair.spares + 1, ""


def _fabrics(inputs: Inputs, plan: Plan) -> Iterator[Fixed]:
    """Yield the compute fabrics that the plan could have chosen instead."""
    asked, path = inputs.problem.network.compute, "network.compute"
    built = [fabric for fabric in plan.fabrics if fabric.network == "compute"]
    if asked is None or not built:
        return
    for name in sorted(set(asked.switches) - {fabric.switch_sku for fabric in built}):
        label = f"a compute fabric of {inputs.item(name).model}"
        yield label, f"{path}.switches", (name,), f"[{name}]"
    for planes in sorted(set(asked.planes_allowed) - {fabric.planes for fabric in built}):
        yield f"a compute fabric of {planes} planes", f"{path}.planes", planes, ""
    ratios = set(asked.oversubscriptions) - {fabric.oversubscription for fabric in built}
    for ratio in sorted(ratios):
        yield f"a compute fabric at {ratio:g}:1", f"{path}.oversubscription", ratio, f"{ratio:g}"


def floor_change(
    inputs: Inputs, objective: ObjectiveName, worst: float, margin: float = 0.0
) -> Change:
    """Change that lets no plan be worse than a value of an objective, or than the problem asks.

    Args:
        worst: in the objective's own unit.
        margin: how much tighter to ask, as a share.
    """
    asked = OBJECTIVES[objective]
    row = BY_NAME[asked.limit]
    own, worst, least = value_at(inputs.problem, row.path), worst / asked.per, row.sense == ">="
    if row.file_unit in COUNTED_IN:
        value: float = math.ceil(worst - 1e-6) if least else math.floor(worst + 1e-6)
        own = 1 if own is None and least else own
    else:
        value = worst * (1.0 + (margin if least else -margin))
    if own is not None:
        value = max(value, own) if least else min(value, own)
    unit = "number" if row.file_unit in COUNTED_IN else row.file_unit
    return Change(row.path, value, write_value(value, unit, inputs.problem.shown_in))


def floored_case(case: Case, worst: float, objective: ObjectiveName) -> Case:
    """Case of another objective whose plans are no worse than a value in the case's own.

    Args:
        worst: in the case's objective's own unit.
    """
    limits, job, asked = case.limits, case.job, OBJECTIVES[case.objective]
    if case.objective == "gpus":
        job = replace(job, gpus_min=max(job.gpus_min, math.ceil(worst * (1.0 - 1e-9))))
    else:
        row, value = BY_NAME[asked.limit], worst / asked.per
        own: float | None = limits[row.field]
        pick = max if row.sense == ">=" else min
        kept: dict[str, Any] = {row.field: value if own is None else pick(own, value)}
        limits = limits.replace_values(**kept)
    least = replace(case, limits=limits, job=job, objective=objective, indifference=0.0)
    return least.share_bills_of(case)


def read_operation(case: Case, plan: Plan) -> Run | None:
    """Operation that a plan describes; None where there is none."""
    if not plan.jobs:
        return None
    job = plan.jobs[0]
    bought = {line.sku: line.working for line in plan.lines if line.parent is None}
    units = {offer.id: bought.get(offer.id, 0) for offer in case.offers()}
    use = job.systems_by_type, job.gpus_used, job.interval_s, ways_in_plan(case, plan)
    if job.local is not None:
        return run_at(case, "local", units, *use, job.local.every)
    return run_at(case, job.mode, units, *use)


def objective_value(case: Case, run: Run) -> float:
    """Value of an operation in the problem's objective, in its own unit."""
    return natural(case.objective, measure(case, case.objective)(run))


def certify_operation(case: Case, run: Run, bound: float) -> Certificate:
    """Certificate of an operation under a bound, a score."""
    value = measure(case, case.objective)(run)
    bound = (max if case.maximise else min)(bound, value)
    apart = relative_distance(case, value, bound)
    return Certificate("optimal", run, value, bound, apart)


def confirm_plan(inputs: Inputs, case: Case, proven: Certificate, gap: float) -> Plan:
    """Assemble a plan in figures, confirmed by independent arithmetic.

    Racks are packed only where the verifier needs them, cables where that does not suffice.

    Raises:
        VerificationError: the verifier disagrees.
    """
    assert proven.operation is not None
    plan = assemble(inputs, case, proven, solver="highs", gap=gap, drawn=False)
    if confirms(inputs, plan):
        return plan
    plan = plan.model_copy(update={"racks": rack_groups(inputs, case, proven.operation)})
    if not confirms(inputs, plan):
        plan = assemble(inputs, case, proven, solver="highs", gap=gap)
        verify(inputs, plan)
    return plan


# Many scenarios


@dataclass(frozen=True)
class Scenario:
    """A variant of a problem by its place among all.

    Attributes:
        changes: values replaced in the problem, in catalogs (``catalog.ITEM.GROUP.FIGURE``) or in
            prices (``prices.ITEM.list``).
        base: the scenario of the problem file that is changed, empty for the problem itself.
        cells: values of the columns of inputs.
    """

    index: int
    changes: tuple[Change, ...]
    base: str = ""
    cells: tuple[Cell, ...] = ()


class Answer(NamedTuple):
    """Best plan of a scenario with its proof.

    ``value`` and ``bound`` are in the objective's own unit; ``gap`` is a share, from the best known
    to the bound. ``certificate``: proven by a "search" of this scenario, or "reused" from others.
    ``proof`` is the certificate as ``optimise`` gives it.
    """

    scenario: Scenario
    status: RowStatus
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    operation: Run | None = None
    certificate: str = ""
    reason: str = ""
    proof: Certificate | None = None


class Group(NamedTuple):
    """Scenarios that differ in supplies alone: ``paths`` are the supplies that all of them change,
    ``shared`` the other changes."""

    base: str
    shared: tuple[Change, ...]
    paths: tuple[str, ...]
    scenarios: list[Scenario]

    @property
    def values(self) -> Numbers:
        """Supplies: a row for each scenario, a column for each path."""
        last = [{change.path: change.value for change in each.changes} for each in self.scenarios]
        rows = [[float(values[path]) for path in self.paths] for values in last]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(self.paths))


def group_scenarios(scenarios: Iterable[Scenario]) -> list[Group]:
    """Group scenarios in the order of the first of each group."""
    found: dict[tuple[object, ...], Group] = {}
    for scenario in scenarios:
        supplies = [c for c in scenario.changes if c.path in FIELDS and c.value is not None]
        paths = tuple(sorted({change.path for change in supplies}))
        shared = tuple(c for c in scenario.changes if c not in supplies)
        key = (scenario.base, tuple((c.path, repr(c.value)) for c in shared), paths)
        group = found.setdefault(key, Group(scenario.base, shared, paths, []))
        group.scenarios.append(scenario)
    return list(found.values())


def split_scenarios(scenarios: Sequence[Scenario]) -> list[list[Scenario]]:
    """Split scenarios into tasks: neighbours of a large group, and several small groups."""
    found, small = list[list[Scenario]](), list[list[Scenario]]()
    for group in group_scenarios(scenarios):
        size = len(group.scenarios)
        if size < LEAST_SPLIT:
            small.append(group.scenarios)
            continue
        order = np.lexsort(group.values.T[::-1]) if group.paths else np.arange(size)
        parts = np.array_split(order, max(2, -(-size // PIECE)) if size >= HALVED else 1)
        found += [[group.scenarios[place] for place in part] for part in parts]
    firsts = range(0, len(small), TOGETHER)
    return found + [[one for each in small[n : n + TOGETHER] for one in each] for n in firsts]


class Prepared(NamedTuple):
    """A group with inputs and case under its loosest limits.

    ``allowed`` has a row for each scenario and a column for each of the ``supplies``.
    """

    group: Group
    inputs: Inputs
    case: Case
    supplies: tuple[Limit, ...]
    allowed: Numbers
    options: Options

    def inputs_of(self, place: int) -> Inputs:
        """Inputs of one scenario."""
        inputs = self.inputs
        for change in self.group.scenarios[place].changes:
            if change.path in self.group.paths:
                inputs = changed(inputs, change.path, change.value)
        return inputs


def prepare_group(base: Inputs, group: Group, options: Options) -> Prepared:
    """Resolve a group under its loosest limits.

    Raises:
        InputError: the changes that the scenarios share, or the loosest limits, contradict.
    """
    points, paths = group.values, group.paths
    loosest = [
        Change(path, round(column.max()) if path in COUNTED else float(column.max()), "")
        for path, column in zip(paths, points.T, strict=True)
    ]
    alone = group.scenarios[0].changes if len(points) == 1 else None
    top = checked(base, alone or (*group.shared, *loosest))
    case = resolve(top)
    supplies = bills.given_supplies(case.limits)
    allowed = np.tile(bills.supply_limits(supplies, case.limits), (len(points), 1))
    for path, column in zip(paths, points.T, strict=True):
        at = next(n for n, each in enumerate(supplies) if each.field == FIELDS[path])
        limits = [limit_after_change(top.problem, path, value) for value in column.tolist()]
        allowed[:, at] = np.array(limits) / supplies[at].scale
    return Prepared(group, top, case, supplies, allowed, options)


def solve_group(asked: Prepared) -> list[Answer]:
    """Solve the scenarios of a group, in order."""
    how, case = asked.options, asked.case
    sweep = Sweep(
        case, asked.allowed, asked.supplies, how.gap, how.time_limit_s, how.ties, how.known
    )
    pairs = zip(asked.group.scenarios, sweep.answers(), strict=True)
    return [_answer(case, how.gap, scenario, each) for scenario, each in pairs]


def _answer(case: Case, gap_asked: float, scenario: Scenario, found: SweepAnswer) -> Answer:
    run, how = found.operation, found.certificate
    if found.endless:
        return Answer(scenario, "unbounded", certificate=how)
    if run is None:
        is_open = math.isfinite(found.bound) or found.bound > 0
        return Answer(scenario, "no_solution" if is_open else "infeasible", certificate=how)
    sign = 1.0 if case.maximise else -1.0
    score, best = sign * found.score, sign * found.best
    bound = sign * found.bound if math.isfinite(found.bound) else None
    gap = None if bound is None else relative_distance(case, best, bound)
    status: RowStatus = "optimal" if gap is not None and gap <= gap_asked + 1e-9 else "feasible"
    proof = Certificate(
        "optimal" if status == "optimal" else "feasible",
        run,
        score,
        bound,
        gap,
        best=best,
        near_optimal_loss=relative_distance(case, best, score, -1.0),
    )
    value = natural(case.objective, score)
    most = None if bound is None else natural(case.objective, bound)
    return Answer(scenario, status, value, most, gap, run, how, proof=proof)


def failed_answer(scenario: Scenario, error: Exception) -> Answer:
    """Answer of a scenario that ended in an error."""
    if isinstance(error, InputError):
        return Answer(scenario, "invalid", reason=error_text(error))
    text = str(error)
    if not isinstance(error, PlannerError):
        text = f"internal error: {type(error).__name__}: {text}"
    return Answer(scenario, "failed", reason=text)


def error_text(error: InputError) -> str:
    """Findings of an error on one line."""
    return "; ".join(finding.text() for finding in error.findings)


View = Callable[[Prepared | None, list[Answer]], list[ResultT]]
"""Turns the answers of a group into results; without ``Prepared`` none of them has a plan."""


def _solve_piece(
    bases: Mapping[str, Inputs],
    options: Options,
    view: View[ResultT],
    piece: Sequence[Scenario],
) -> dict[int, ResultT]:
    """Results by index; a group in which a scenario cannot be solved is halved."""
    found, left = dict[int, ResultT](), group_scenarios(piece)
    while left:
        group = left.pop()
        try:
            asked = prepare_group(bases[group.base], group, options)
            made = view(asked, solve_group(asked))
        except Exception as error:
            if (half := len(group.scenarios) // 2) > 0:
                parts = group.scenarios[:half], group.scenarios[half:]
                left += [group._replace(scenarios=part) for part in parts]
                continue
            made = view(None, [failed_answer(group.scenarios[0], error)])
        found.update(zip((each.index for each in group.scenarios), made, strict=True))
    return found


def solve_many(
    bases: Mapping[str, Inputs],
    scenarios: Sequence[Scenario],
    options: Options,
    view: View[ResultT],
    progress: Progress = ignore,
) -> Iterator[tuple[int, ResultT]]:
    """Yield the result of each scenario with its index, as they end, from all cores.

    Args:
        bases: problems by the name that scenarios give as their base.
        view: makes the results; it is pickled.
    """
    tasks: dict[Hashable, list[Scenario]] = dict(enumerate(split_scenarios(scenarios)))
    do, done = partial(_solve_piece, bases, options, view), 0
    for key, made in run_tasks(do, tasks.items(), jobs=options.jobs, dask=options.dask):
        if isinstance(made, Lost):
            lost = [Answer(each, "failed", reason=made.reason) for each in tasks[key]]
            made = dict(zip((each.index for each in tasks[key]), view(None, lost), strict=True))
        yield from made.items()
        done += len(made)
        progress(done, len(scenarios))


def solve_scenarios(
    inputs: Inputs,
    scenarios: Sequence[Scenario],
    options: Options,
    progress: Progress = ignore,
) -> list[Answer]:
    """Solve the scenarios of one problem, in order."""
    found = dict(solve_many({"": inputs}, scenarios, options, _unchanged, progress))
    return [found[scenario.index] for scenario in scenarios]


def _unchanged(_: Prepared | None, answers: list[Answer]) -> list[Answer]:
    return answers
