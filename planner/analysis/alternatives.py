"""Other plans of a problem: storage by vendors' rules, and plans nearly as good as the best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from planner.analysis.pool import Progress, ignore
from planner.analysis.request import PROBLEMS, Request
from planner.analysis.variants import (
    FOR_THE_PLAN,
    NO_PLAN,
    Variants,
    confirmed,
    error_text,
    no_worse,
    others,
    value_of,
)
from planner.api import Options, solve_with
from planner.case import Case, resolve
from planner.errors import Finding, InputError
from planner.figures import FIGURES, OBJECTIVES
from planner.inputs import Change, Inputs
from planner.loader.overrides import checked
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Certificate, optimise, share
from planner.paths import job_path
from planner.plan import assemble
from planner.schema.analysis import Alternative, Alternatives, Measure, RuleRow, RulesTable, Way
from planner.schema.plan import ObjectiveReport, Plan
from planner.schema.problem import CustomRule, Objective
from planner.sizing.checkpoint import VENDOR_RULES
from planner.verifier import verify

LATE = "not decided, as it takes too long"

# Storage by vendors' rules

_RULE, _MODE = "storage.rule", job_path("checkpoint.mode")
_VENDORS = {"ddn_per_gpu": "DDN", "nvidia_superpod_h100": "NVIDIA"}
_MODES = {"async": "asynchronous", "sync": "synchronous"}


class Question(NamedTuple):
    """A row to fill: changes of the problem."""

    group: Literal["demand", "rule", "mode"]
    name: str
    label: str
    changes: tuple[Change, ...] = ()


def row_questions(inputs: Inputs) -> Iterator[Question]:
    """Yield the rows of the table, the demand law first; checkpoint modes by the demand law."""
    mode, own = inputs.problem.job.checkpoint.mode, inputs.problem.storage.rule
    demand = Change(_RULE, "demand", "demand")
    yield Question("demand", "demand", "what the job needs", (demand,))
    if isinstance(own, CustomRule):
        yield Question("rule", own.name, f"'{own.name}'")
    for rule in VENDOR_RULES.values():
        label = f"{_VENDORS[rule.family]} {rule.name}"
        yield Question("rule", rule.name, label, (Change(_RULE, rule.name, rule.name),))
    by_demand = () if own == "demand" else (demand,)
    for name, label in _MODES.items():
        if name != mode:
            yield Question("mode", name, label, (*by_demand, Change(_MODE, name, name)))


def rules_table(
    inputs: Inputs, base: Plan, options: Options, progress: Progress = ignore
) -> RulesTable:
    """Table of a problem; each row is the plan that `solve` takes, verified on its own.

    Args:
        base: the plan of the problem itself.
        progress: called with the number of rows solved and of all.
    """
    options = options.started()
    asked, rows = tuple(row_questions(inputs)), list[RuleRow]()
    for place, ask in enumerate(asked):
        progress(place, len(asked))
        rows.append(_row(ask, inputs, base, options.turn(len(asked) - place)))
    jobs = [row.plan.jobs[0] for row in rows if row.plan is not None]
    measure = measure_of(base.objective, flops=any(job.useful_pflops is not None for job in jobs))
    values = [None if row.plan is None else value_in(row.plan, measure) for row in rows]
    return RulesTable(
        currency=base.currency,
        problem=base.problem,
        problem_file=base.provenance.problem_file,
        scenario=base.provenance.scenario,
        overrides=base.provenance.overrides,
        input_sha256=base.provenance.input_sha256,
        objective=base.objective.name,
        measure=measure,
        rows=tuple(
            row.model_copy(update={"measured": value, "difference": _difference(value, values[0])})
            for row, value in zip(rows, values, strict=True)
        ),
    )


def _difference(value: float | None, reference: float | None) -> float | None:
    return value / reference - 1.0 if value is not None and reference else None


def _row(ask: Question, inputs: Inputs, base: Plan, options: Options) -> RuleRow:
    """A row with its plan, not yet measured."""
    settings = tuple(change.setting for change in ask.changes)
    row = RuleRow(group=ask.group, name=ask.name, label=ask.label, own=False, settings=settings)
    try:
        new = checked(inputs, ask.changes, recorded=True)
    except InputError as error:
        return row.model_copy(update={"reason": error_text(error)})
    if new.problem == inputs.problem:
        known = {"own": True, "status": base.status, "reason": base.message}
        return row.model_copy(update={**known, "plan": base if base.jobs else None})
    best = Variants(new, options).best(ties=True)
    if best.case is None or best.proof is None or best.run is None:
        status = "infeasible" if best.impossible else "no_solution"
        reason = best.reason or (NO_PLAN if best.impossible else LATE)
        return row.model_copy(update={"status": status, "reason": reason})
    plan = confirmed(new, best.case, best.proof, options.gap)
    return row.model_copy(update={"status": plan.status, "plan": plan})


def run_rules(request: Request) -> RulesTable:
    """Compare the plan of a problem with those by vendors' rules and the other checkpoint mode.

    Raises:
        InputError: the problem is wrong, or several are given.
    """
    if len(request.paths) != 1 or request.path.suffix.lower() not in PROBLEMS:
        message = "--rules takes one problem file (.yaml)"
        raise InputError(Finding("files", message, fix="planner compare --rules 10MW.yaml"))
    options = request.options()
    base = solve_with(request.inputs, options)
    return rules_table(request.inputs, base, options, request.progress)


def measure_of(objective: ObjectiveReport, *, flops: bool) -> Measure:
    """Measure of plans for an objective: useful work, or the minimised figure.

    Args:
        flops: whether useful work is known in PFLOP/s.
    """
    name, label, unit = objective.name, OBJECTIVES[objective.name].label, objective.unit
    if objective.sense == "maximize":
        known = flops and name != "useful_gpus"
        figure = FIGURES["useful_pflops" if known else "useful_gpus"]
        name, label, unit = figure.name, figure.label, figure.unit
    named = {"name": name, "label": label, "unit": unit, "sense": objective.sense}
    return Measure.model_validate(named)


def value_in(plan: Plan, measure: Measure) -> float | None:
    """Value of a plan in a measure; None where it is not known."""
    if measure.sense == "minimize":
        return plan.objective.value
    return plan.jobs[0].useful_pflops if measure.unit == "PFLOP/s" else plan.jobs[0].useful_gpus


# Plans near the best: other storage vendors and GPU types, extremes of money and power

LABELS: Mapping[str, str] = {
    "storage_vendor": "another storage vendor",
    "gpu_type": "another GPU system",
    "least_capex": "least capex",
    "least_tco": "least TCO",
    "least_power": "least power",
}
_MONEY = {
    "least_capex": ("cost", "{minimize: cost}"),
    "least_tco": ("tco", "{minimize: tco}"),
    "least_power": ("power", "{minimize: power, indifference: 0}"),
}
FLOOR_MARGIN, FLOOR_NOISE = 2e-7, 1e-9
"""Relative tightening of floors, which plans may miss by less; and how far plans may miss them."""
UNPROVEN = "the search ended before anything was proven about how good a plan can be"


def alternatives(
    inputs: Inputs, options: Options, *, within: float = 0.01, progress: Progress = ignore
) -> Alternatives:
    """The best plan and plans nearly as good that differ from it, each verified.

    Args:
        within: how far behind the bound a plan may be, as a share of the objective.
        progress: called with the numbers of directions searched and of all.

    Raises:
        VerificationError: a plan does not agree with its re-computation.
    """
    options = options.started()
    case = resolve(inputs)
    best = solve_with(inputs, options, search=FOR_THE_PLAN)
    base = Alternatives(
        currency=best.currency,
        problem=best.problem,
        problem_file=inputs.problem_file,
        scenario=inputs.scenario,
        overrides=inputs.overrides,
        status=best.status,
        objective=case.objective,
        sense="maximize" if case.maximise else "minimize",
        unit=best.objective.unit,
        within=within,
    )
    if not best.jobs:
        return base.model_copy(update={"message": best.message})
    answer = optimise(case, gap=options.gap, effort=options.effort)
    if answer.operation is None or answer.bound is None:
        return base.model_copy(update={"message": UNPROVEN})
    found = Near(Variants(inputs, options), case, answer, within)
    found.keep(answer.operation, Way(name="best", label="the best plan"))
    ends = list(found.ends(answer.operation))
    for place, end in enumerate(ends):
        progress(place, len(ends))
        found.search(end)
    plans = [best, *(found.plan(run) for run, _ in found.kept[1:])]
    return base.model_copy(
        update={
            "bound": found.bound,
            "worst": found.worst,
            "alternatives": tuple(
                Alternative(
                    ways=tuple(ways),
                    plan=plan,
                    value=value_of(case, run),
                    shortfall=found.shortfall(value_of(case, run)),
                )
                for plan, (run, ways) in zip(plans, found.kept, strict=True)
            ),
            "undecided": tuple(found.undecided),
        }
    )


class End(NamedTuple):
    """A direction: changes of the problem, and the vendor or type left."""

    name: str
    changes: tuple[Change, ...]
    detail: str = ""


@dataclass
class Near:
    """Plans within a share of the bound of the best, each once with the ways that led to it."""

    variants: Variants
    case: Case
    best: Certificate
    within: float
    kept: list[tuple[Run, list[Way]]] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)

    @property
    def bound(self) -> float:
        """Bound of the objective in its own unit."""
        assert self.best.bound is not None
        return natural(self.case.objective, self.best.bound)

    @property
    def worst(self) -> float:
        """The worst value of the objective within the tolerance."""
        return self.bound * (1.0 + (-self.within if self.case.maximise else self.within))

    def shortfall(self, value: float) -> float:
        """Distance of a value behind the bound, as a share of the bound."""
        behind = self.bound - value if self.case.maximise else value - self.bound
        return max(0.0, behind) / max(abs(self.bound), 1e-12)

    def keep(self, run: Run, way: Way) -> None:
        """Keep a plan, once for each purchase, configuration and use of GPUs."""
        for known, ways in self.kept:
            same = (known.gpus, known.mode, known.ways) == (run.gpus, run.mode, run.ways)
            if same and known.units == run.units:
                ways.append(way)
                return
        self.kept.append((run, [way]))

    def ends(self, held: Run) -> Iterator[End]:
        """Yield every direction: other vendors and types alone, then extremes."""
        inputs, case = self.variants.inputs, self.case
        for other in others(inputs, case, held.units):
            yield End(other.kind, other.changes, other.label)
        floor = no_worse(inputs, case.objective, self.worst, FLOOR_MARGIN)
        for name, (objective, text) in _MONEY.items():
            if objective == case.objective or (objective == "tco" and inputs.problem.term is None):
                continue
            least = Objective.model_validate({"minimize": objective, "indifference": 0})
            yield End(name, (floor, Change("objective", least, text)))

    def search(self, end: End) -> None:
        """Keep the best plan of a direction where it is within the tolerance."""
        found, label = self.variants.best(end.changes, ties=True), LABELS[end.name]
        run = found.run
        if found.case is None or found.proof is None or run is None:
            self.undecided += [] if found.impossible else [" ".join((label, end.detail)).strip()]
            return
        untouched = found.proof.untouched
        if self._beyond(run) and untouched is not None:
            run = untouched  # the near-optimal tolerance goes beyond
        if self._beyond(run):
            return
        units = {offer.id: run.units.get(offer.id, 0) for offer in self.case.offers()}
        setting = tuple(change.setting for change in end.changes)
        way = Way(name=end.name, label=label, detail=end.detail, setting=setting)
        self.keep(replace(run, units=units), way)

    def _beyond(self, run: Run) -> bool:
        units = {offer.id: run.units.get(offer.id, 0) for offer in self.case.offers()}
        value = value_of(self.case, replace(run, units=units))
        return self.shortfall(value) > self.within + FLOOR_NOISE

    def plan(self, run: Run) -> Plan:
        """A complete plan under the bound of the best, verified."""
        case, inputs, options = self.case, self.variants.inputs, self.variants.options
        assert self.best.bound is not None
        value = measure(case, case.objective)(run)
        bound = (max if case.maximise else min)(self.best.bound, value)
        gap = share(case, value, bound)
        # The tolerance is a share of the bound, a gap one of the value.
        asked = max(gap, self.within / (1.0 - self.within))
        proven = Certificate("optimal", run, value, bound, gap, 0, 0.0, late=False)
        plan = assemble(inputs, case, proven, solver=options.solver, gap=asked)
        verify(inputs, plan)
        return plan
