"""The same problem by the demand law, by each vendor's rule, and with other storage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planner.analysis.compare import total
from planner.analysis.pool import Progress, ignore
from planner.analysis.request import PROBLEMS, Request
from planner.analysis.variants import NO_PLAN, Variants, confirmed, error_text
from planner.api import Options, solve_with
from planner.errors import Finding, InputError
from planner.figures import FIGURES, OBJECTIVES
from planner.inputs import Change, Inputs
from planner.loader.overrides import checked
from planner.paths import job_path
from planner.report import edition
from planner.report.words import product
from planner.schema.analysis import Bought, Measure, Outcome, RowGroup, RuleRow, RulesTable
from planner.schema.catalog import Family
from planner.schema.plan import Line, ObjectiveReport, Plan
from planner.schema.problem import CustomRule
from planner.sizing.demand import VENDOR_RULES

_RULE, _MODE, _FAMILIES = "storage.rule", job_path("checkpoint.mode"), "consider.storage_families"
LATE = "not decided, as it takes too long"
_VENDORS = {"ddn_per_gpu": "DDN", "nvidia_superpod_h100": "NVIDIA"}


class Question(NamedTuple):
    """A row to fill: changes of the problem."""

    group: RowGroup
    name: str
    label: str
    asks: str
    changes: tuple[Change, ...] = ()


def row_questions(inputs: Inputs) -> Iterator[Question]:
    """Yield the rows of the table, the demand law first.

    Every row but those of the rules sizes storage by the demand law, whatever the problem asks
    for, so that it differs from the first in one thing only.
    """
    checkpoint, own = inputs.problem.job.checkpoint, inputs.problem.storage.rule
    demand = Change(_RULE, "demand", "demand")
    by_demand = () if own == "demand" else (demand,)
    drain = f"A checkpoint is on storage within {100 * checkpoint.max_overlap:g} % of the interval"
    wait = f"GPUs wait for checkpoints {100 * checkpoint.max_blocking:g} % of the time at most"
    asked = {"async": drain, "sync": wait, "open": f"{drain}, or {wait}"}[checkpoint.mode]
    yield Question("demand", "demand", "what the job needs", asked, (demand,))
    if isinstance(own, CustomRule):
        asked = f"{_bandwidth(own.read, own.write, 1)} (the problem's own)"
        yield Question("rule", own.name, f"'{own.name}'", asked)
    for rule in VENDOR_RULES.values():
        label = f"{_VENDORS[rule.family]} {rule.name}"
        asked = _bandwidth(
            rule.nameplate_read_gb_per_s, rule.nameplate_write_gb_per_s, rule.per_gpus
        )
        yield Question("rule", rule.name, label, asked, (Change(_RULE, rule.name, rule.name),))
    for mode, label, asked in (
        ("async", "asynchronous", "Storage takes the checkpoint while GPUs go on"),
        ("sync", "synchronous", "GPUs wait until storage has the whole checkpoint"),
    ):
        if mode != checkpoint.mode:
            yield Question("mode", mode, label, asked, (*by_demand, Change(_MODE, mode, mode)))
    for group, name, label, asked, families in _storage(inputs):
        only = Change(_FAMILIES, families, f"[{', '.join(families)}]")
        yield Question(group, name, label, asked, (*by_demand, only))


def _bandwidth(read: float, write: float, gpus: int) -> str:
    each = "each GPU" if gpus == 1 else f"every {gpus} GPUs"
    return f"{read:g} GB/s read and {write:g} GB/s write for {each}"


def _storage(inputs: Inputs) -> Iterator[tuple[RowGroup, str, str, str, tuple[str, ...]]]:
    """Yield each family of vendors with several file systems for clients, and each vendor."""
    considered = inputs.problem.consider.storage_families
    named = {item.family for item in inputs.items if item.category == "storage"}
    named = named if considered is None else named & {*considered}
    vendors: dict[str, list[Family]] = {}
    for family in sorted(inputs.families, key=lambda each: (each.vendor.casefold(), each.id)):
        if family.id in named:
            vendors.setdefault(family.vendor, []).append(family)
    for families in vendors.values():
        if any(family.client_factor is not None for family in families):
            for family in families:
                named_too = family.name.casefold().startswith(family.vendor.casefold())
                label = family.name if named_too else f"{family.vendor} {family.name}"
                yield "variant", family.id, label, _software(family), (family.id,)
    if len(vendors) > 1:
        for vendor, families in vendors.items():
            ids = tuple(family.id for family in families)
            yield "vendor", vendor, f"{vendor} only", f"Storage of {vendor} alone", ids


def _software(family: Family) -> str:
    factor = family.client_factor
    if factor is None:
        return "This file system alone, its usual clients"
    return (
        f"This file system alone: each client writes {factor.write.value:g} and reads "
        f"{factor.read.value:g} times as fast"
    )


# The table


def rules_table(
    inputs: Inputs, base: Plan, options: Options, progress: Progress = ignore
) -> RulesTable:
    """Table of a problem; each row is the plan that `solve` takes, verified on its own.

    Args:
        base: the plan of the problem itself.
        progress: called with the number of rows solved and of all.
    """
    options = options.started()
    asked, answers = tuple(row_questions(inputs)), list[tuple[RuleRow, Plan | None]]()
    for place, ask in enumerate(asked):
        progress(place, len(asked))
        answers.append(_answer(ask, inputs, base, options.turn(len(asked) - place)))
    jobs = [plan.jobs[0] for _, plan in answers if plan is not None]
    measure = measure_of(base.objective, flops=any(job.useful_pflops is not None for job in jobs))
    demand = answers[0][1]
    reference = None if demand is None else value_in(demand, measure)
    rows = tuple(
        row.model_copy(update={"outcome": plan and outcome(plan, measure, reference)})
        for row, plan in answers
    )
    return RulesTable(
        currency=base.currency,
        problem=base.problem,
        problem_file=base.provenance.problem_file,
        scenario=base.provenance.scenario,
        overrides=base.provenance.overrides,
        input_sha256=base.provenance.input_sha256,
        objective=base.objective.name,
        measure=measure,
        rows=rows,
    )


def _answer(
    ask: Question, inputs: Inputs, base: Plan, options: Options
) -> tuple[RuleRow, Plan | None]:
    """A row without its outcome, and its plan."""
    settings = tuple(change.setting for change in ask.changes)
    row = RuleRow(
        group=ask.group,
        name=ask.name,
        label=ask.label,
        asks=ask.asks,
        own=False,
        settings=settings,
        status=None,
    )
    try:
        new = checked(inputs, ask.changes, recorded=True)
    except InputError as error:
        return row.model_copy(update={"reason": error_text(error)}), None
    if new.problem == inputs.problem:
        known = {"own": True, "status": base.status, "reason": base.message}
        return row.model_copy(update=known), base if base.jobs else None
    best = Variants(new, options).best(ties=True)
    if best.case is None or best.proof is None or best.run is None:
        status = "infeasible" if best.impossible else "no_solution"
        reason = best.reason or (NO_PLAN if best.impossible else LATE)
        return row.model_copy(update={"status": status, "reason": reason}), None
    plan = confirmed(new, best.case, best.proof, options.gap)
    return row.model_copy(update={"status": plan.status}), plan


def run(request: Request) -> RulesTable:
    """Compare the plan of a problem with those by other rules, modes and storage.

    Raises:
        InputError: the problem is wrong, or several are given.
    """
    if len(request.paths) != 1 or request.path.suffix.lower() not in PROBLEMS:
        message = "--rules takes one problem file (.yaml)"
        raise InputError(Finding("files", message, fix="planner compare --rules 10MW.yaml"))
    options = request.options()
    base = solve_with(request.inputs, options)
    return rules_table(request.inputs, base, options, request.progress)


# Outcome of a plan


def measure_of(objective: ObjectiveReport, *, flops: bool) -> Measure:
    """Measure of plans for an objective: useful work, or the minimised figure.

    Args:
        flops: whether useful work is known in PFLOP/s.
    """
    if objective.sense == "minimize":
        values = {"name": objective.name, "label": OBJECTIVES[objective.name].label}
        return Measure.model_validate(values | {"unit": objective.unit, "sense": "minimize"})
    figure = FIGURES["useful_gpus"]
    if flops and objective.name != figure.name:
        figure = FIGURES["useful_pflops"]
    values = {"name": figure.name, "label": figure.label, "unit": figure.unit}
    return Measure.model_validate(values | {"sense": "maximize"})


def value_in(plan: Plan, measure: Measure) -> float | None:
    """Value of a plan in a measure; None where it is not known."""
    if measure.sense == "minimize":
        return plan.objective.value
    return plan.jobs[0].useful_pflops if measure.unit == "PFLOP/s" else plan.jobs[0].useful_gpus


def outcome(plan: Plan, measure: Measure, reference: float | None) -> Outcome:
    """Purchase and operation of a plan.

    Args:
        reference: the value in that measure to tell the difference from, where there is one.
    """
    job, totals, value = plan.jobs[0], plan.totals, value_in(plan, measure)
    assert totals is not None
    storage = _of_section(plan, "Storage")
    return Outcome(
        systems=_bought(_of_section(plan, "Compute")),
        storage=_bought(storage),
        storage_it_power_kw=total(line.it_power_kw for line in storage),
        it_power_kw=totals.it_power_kw,
        capex_usd=totals.capex_usd,
        gpus=totals.gpus,
        gpus_used=job.gpus_used,
        useful_pflops=job.useful_pflops,
        days_to_train=job.days_to_train,
        interval_s=job.interval_s,
        goodput=job.goodput,
        objective_value=plan.objective.value,
        gap=plan.objective.gap,
        measured=value,
        difference=value / reference - 1.0 if value is not None and reference else None,
    )


def _of_section(plan: Plan, section: str) -> list[Line]:
    return [line for line in edition.own_lines(plan) if line.section == section]


def _bought(lines: list[Line]) -> tuple[Bought, ...]:
    return tuple(
        Bought(sku=line.sku, model=line.model, product=product(line), quantity=line.working)
        for line in lines
        if line.working
    )
