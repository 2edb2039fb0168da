"""The argument as a table: the same problem by the demand law, by each rule, by other storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from planner.analysis.compare import total
from planner.analysis.pool import Progress, ignore
from planner.analysis.request import PROBLEMS, Found, Request
from planner.api import Options, solve_with
from planner.case.suitability import why_not
from planner.currency import Currency
from planner.errors import Finding, InputError
from planner.figures import FIGURES, OBJECTIVES
from planner.inputs import Change, Inputs, applied, demanded
from planner.loader.checks import check_problem
from planner.paths import job_path
from planner.report import scope
from planner.report.words import listed, product, relative, write_in
from planner.schema.catalog import Family, Item
from planner.schema.comparison import (
    Bought,
    Measure,
    Outcome,
    RowGroup,
    RuleRow,
    RulesTable,
)
from planner.schema.plan import Line, ObjectiveReport, Plan
from planner.schema.problem import CustomRule, Problem
from planner.sizing.demand import VENDOR_RULES

_RULE, _MODE, _FAMILIES = "storage.rule", job_path("checkpoint.mode"), "consider.storage_families"
_VENDORS = {"ddn_per_gpu": "DDN", "nvidia_superpod_h100": "NVIDIA"}


@dataclass(frozen=True)
class RowQuestion:
    """A row to fill: changes of the problem, or the reason why there is nothing to solve."""

    group: RowGroup
    name: str
    label: str
    asks: str
    changes: tuple[Change, ...] = ()
    reason: str | None = None

    @property
    def settings(self) -> tuple[str, ...]:
        """The changes as ``--set`` takes them."""
        return tuple(change.setting for change in self.changes)


def row_questions(inputs: Inputs) -> tuple[RowQuestion, ...]:
    """Rows of the table in their order; the demand law is the first.

    Every row but those of the rules sizes storage by the demand law, whatever the problem asks
    for, so that it differs from the first in one thing only.
    """
    return (
        _demand(inputs),
        *_by_rules(inputs),
        *_modes(inputs),
        *_variants(inputs),
        *_one_vendor(inputs),
    )


def by_demand(inputs: Inputs) -> tuple[Change, ...]:
    """Changes after which the demand law sizes storage; none where it already does."""
    if inputs.problem.storage.rule == "demand":
        return ()
    return (Change(_RULE, "demand", "demand"),)


def _demand(inputs: Inputs) -> RowQuestion:
    checkpoint = inputs.problem.job.checkpoint
    drain = f"a checkpoint is on storage within {100 * checkpoint.max_overlap:g} % of the interval"
    wait = f"GPUs wait for checkpoints {100 * checkpoint.max_blocking:g} % of the time at most"
    asked = {"async": drain, "sync": wait, "open": f"{drain}, or {wait}"}[checkpoint.mode]
    change = Change(_RULE, "demand", "demand")
    return RowQuestion(
        "demand", "demand", "what the job needs", f"{asked[0].upper()}{asked[1:]}", (change,)
    )


def _by_rules(inputs: Inputs) -> Iterator[RowQuestion]:
    own = inputs.problem.storage.rule
    if isinstance(own, CustomRule):
        asked = _bandwidth(own.read, own.write, 1)
        yield RowQuestion("rule", own.name, f"'{own.name}'", f"{asked} (the problem's own)")
    for rule in VENDOR_RULES.values():
        label = f"{_VENDORS[rule.family]} {rule.name}"
        asked = _bandwidth(rule.read_gb_per_s, rule.write_gb_per_s, rule.per_gpus)
        yield RowQuestion("rule", rule.name, label, asked, (Change(_RULE, rule.name, rule.name),))


def _bandwidth(read: float, write: float, gpus: int) -> str:
    each = "each GPU" if gpus == 1 else f"every {gpus} GPUs"
    return f"{read:g} GB/s read and {write:g} GB/s write for {each}"


def _modes(inputs: Inputs) -> Iterator[RowQuestion]:
    """Yield the ways to write checkpoints that the problem does not ask for, or both."""
    own = inputs.problem.job.checkpoint.mode
    for mode, label, asked in (
        ("async", "asynchronous", "Storage takes the checkpoint while GPUs go on"),
        ("sync", "synchronous", "GPUs wait until storage has the whole checkpoint"),
    ):
        if mode != own:
            changes = (*by_demand(inputs), Change(_MODE, mode, mode))
            yield RowQuestion("mode", mode, label, asked, changes)


def _variants(inputs: Inputs) -> Iterator[RowQuestion]:
    for pair in variants(inputs):
        for family in pair:
            label, asked = _named_family(family), _software(family)
            yield _storage(inputs, "variant", family.id, label, asked, (family.id,))


def _named_family(family: Family) -> str:
    """Name of a family with its vendor's, once."""
    known = family.name.casefold().startswith(family.vendor.casefold())
    return family.name if known else f"{family.vendor} {family.name}"


def _software(family: Family) -> str:
    factor = family.client_factor
    if factor is None:
        return "This file system alone, its usual clients"
    return (
        f"This file system alone: each client writes {factor.write.value:g} and reads "
        f"{factor.read.value:g} times as fast"
    )


def _one_vendor(inputs: Inputs) -> Iterator[RowQuestion]:
    """Yield each vendor alone, where there is a choice."""
    vendors = by_vendor(inputs)
    if len(vendors) < 2:
        return
    for vendor, names in vendors.items():
        label, asked = f"{vendor} only", f"Storage of {vendor} alone"
        yield _storage(inputs, "vendor", vendor, label, asked, names)


def _storage(
    inputs: Inputs, group: RowGroup, name: str, label: str, asked: str, names: tuple[str, ...]
) -> RowQuestion:
    """A row with storage of some families alone."""
    reason = why_none(inputs, names)
    if reason is not None:
        return RowQuestion(group, name, label, asked, reason=reason)
    kept = considered_families(inputs, names)
    only = Change(_FAMILIES, kept, f"[{', '.join(kept)}]")
    return RowQuestion(group, name, label, asked, (*by_demand(inputs), only))


# Outcome of a plan


def measure_of(objective: ObjectiveReport, *, flops: bool) -> Measure:
    """Measure of plans for an objective: useful work, or the minimised figure.

    Args:
        objective: the objective of the problem.
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
    """Value of a plan in a measure; None where there is no plan or it is not known."""
    if not plan.jobs:
        return None
    if measure.sense == "minimize":
        return plan.objective.value
    return plan.jobs[0].useful_pflops if measure.unit == "PFLOP/s" else plan.jobs[0].useful_gpus


def outcome(plan: Plan, measure: Measure, reference: float | None) -> Outcome | None:
    """Purchase and operation of a plan; None where there is no plan.

    Args:
        reference: the value in that measure to tell the difference from, where there is one.
    """
    if plan.totals is None or not plan.jobs:
        return None
    job, totals, value = plan.jobs[0], plan.totals, value_in(plan, measure)
    storage = _of_section(plan, "Storage")
    return Outcome(
        systems=_bought(_of_section(plan, "Compute")),
        storage=_bought(storage),
        storage_units=sum(line.working for line in storage),
        storage_it_power_kw=total(line.it_power_kw for line in storage),
        storage_capex_usd=total(line.extended_net_usd for line in storage),
        it_power_kw=totals.it_power_kw,
        facility_power_kw=totals.facility_power_kw,
        capex_usd=totals.capex_usd,
        gpus=totals.gpus,
        gpus_used=job.gpus_used,
        useful_gpus=job.useful_gpus,
        useful_pflops=job.useful_pflops,
        days_to_train=job.days_to_train,
        mode=job.mode,
        interval_s=job.interval_s,
        overlap=job.overlap,
        goodput=job.goodput,
        objective_value=plan.objective.value,
        gap=plan.objective.gap,
        measured=value,
        difference=value / reference - 1.0 if value is not None and reference else None,
    )


def _of_section(plan: Plan, section: str) -> list[Line]:
    return [line for line in scope.own_lines(plan) if line.section == section]


def _bought(lines: list[Line]) -> tuple[Bought, ...]:
    return tuple(
        Bought(sku=line.sku, model=line.model, product=product(line), quantity=line.working)
        for line in lines
        if line.working
    )


# The argument

NOTHING = 1e-6
"""Smallest difference where nothing is known of a proof, as a share."""


def worse_by(row: RuleRow, measure: Measure) -> float:
    """Share by which a row is worse than the demand law; negative where better."""
    difference = 0.0 if row.outcome is None else row.outcome.difference or 0.0
    return difference if measure.sense == "minimize" else -difference


def argument(rows: Sequence[RuleRow], measure: Measure, money: Currency) -> tuple[str, ...]:
    """Decisive rows in a line each: the worst rule, the best and worst vendor.

    Args:
        rows: the table, the demand law first.
        money: the currency of amounts in the lines.
    """
    demand = rows[0].outcome
    if demand is None:
        return (f"There is no plan by the demand law: {rows[0].reason or 'none was found'}.",)
    lines = []
    rules = [row for row in rows if row.group == "rule" and row.outcome]
    if rules:
        lines.append(
            _against(max(rules, key=lambda row: worse_by(row, measure)), demand, measure, money)
        )
    vendors = [row for row in rows if row.group == "vendor" and row.outcome]
    if len(vendors) > 1:
        vendors.sort(key=lambda row: worse_by(row, measure))
        ends = (vendors[0], vendors[-1])
        lines += [_against(row, demand, measure, money) for row in ends]
    return tuple(lines)


def _against(row: RuleRow, demand: Outcome, measure: Measure, money: Currency) -> str:
    """A row beside the demand law: its measure, GPUs in use and power of storage."""
    plan, worse = row.outcome, worse_by(row, measure)
    assert plan is not None
    if abs(worse) <= max(NOTHING, plan.gap or 0.0, demand.gap or 0.0):
        parts = [f"{measure.label} equal within the gap"]
    else:
        more = (worse > 0) == (measure.sense == "minimize")
        values = (write_in(money, each.measured, measure.unit) for each in (plan, demand))
        parts = [
            f"{relative(worse)} {'more' if more else 'less'} {measure.label} "
            f"({' instead of '.join(values)})"
        ]
    if plan.gpus_used != demand.gpus_used:
        parts.append(f"{plan.gpus_used:,} GPUs in use instead of {demand.gpus_used:,}")
    kw, needed_kw = plan.storage_it_power_kw, demand.storage_it_power_kw
    if kw is not None and needed_kw is not None and kw != needed_kw:
        parts.append(f"storage {kw:,.0f} kW instead of {needed_kw:,.0f} kW")
    return f"{row.label}{' rule' if row.group == 'rule' else ''}: {', '.join(parts)}"


# Storage families


_MOST_REASONS = 2


def families_in_use(inputs: Inputs) -> tuple[Family, ...]:
    """Families that have products in the catalogs, by id."""
    named = {item.family for item in inputs.items if item.category == "storage"}
    families = (family for family in inputs.families if family.id in named)
    return tuple(sorted(families, key=lambda family: family.id))


def by_vendor(inputs: Inputs) -> dict[str, tuple[str, ...]]:
    """Ids of the families of each vendor, by the vendor's name."""
    families = families_in_use(inputs)
    vendors = sorted({family.vendor for family in families}, key=str.casefold)
    return {
        vendor: tuple(family.id for family in families if family.vendor == vendor)
        for vendor in vendors
    }


def variants(inputs: Inputs) -> tuple[tuple[Family, Family], ...]:
    """Pairs of families of one vendor: plain, and the same hardware with faster clients.

    What a client can move is a matter of software. A family is a variant of a plain one where each
    of its products gives and takes what some product of the plain family does.
    """
    families = families_in_use(inputs)
    return tuple(
        (plain, variant)
        for variant in families
        for plain in families
        if variant.client_factor is not None
        and plain.client_factor is None
        and plain.vendor == variant.vendor
        and _hardware(inputs, variant) <= _hardware(inputs, plain)
    )


def _hardware(inputs: Inputs, family: Family) -> frozenset[str]:
    """Figures of each product of a family, as texts that can be compared."""
    return frozenset(_figures(item) for item in inputs.items if item.family == family.id)


def _figures(item: Item) -> str:
    parts = {"provides", "consumes", "sizes", "components"}
    return item.model_dump_json(include=parts, exclude_none=True)


def considered_families(inputs: Inputs, families: tuple[str, ...]) -> tuple[str, ...]:
    """Families that the problem considers."""
    considered = inputs.problem.consider.storage_families
    return tuple(name for name in families if considered is None or name in considered)


def why_none(inputs: Inputs, families: tuple[str, ...]) -> str | None:
    """Reason why no plan can have storage of some families alone; None where one may."""
    kept = considered_families(inputs, families)
    if not kept:
        return "the problem does not consider it (consider.storage_families)"
    storage = [item for item in inputs.items if item.category == "storage"]
    for item in storage:
        if demanded(inputs.problem, item.id) and item.family not in kept:
            return f"the problem asks for {item.model}, which is other storage"
    reasons = [why_not(item, inputs) for item in storage if item.family in kept]
    if None not in reasons:
        distinct = sorted({reason for reason in reasons if reason is not None})
        return f"none of it can be planned: {'; '.join(distinct[:_MOST_REASONS])}"
    return None


def rules_table(
    inputs: Inputs, base: Plan, options: Options, progress: Progress = ignore
) -> RulesTable:
    """Table of a problem; each row is a plan solved and verified on its own.

    Args:
        progress: is called with how many rows of how many are solved.
    """
    solved = [(inputs.problem, base)]
    asked = tuple(row_questions(inputs))
    options = replace(options, rivals=False)  # a row shows what a plan buys, not what else could do
    answers = []
    for place, ask in enumerate(asked):
        progress(place, len(asked))
        answers.append(_answer(ask, inputs, solved, options.turn(len(asked) - place)))
    jobs = [plan.jobs[0] for _, plan in answers if plan is not None and plan.jobs]
    flops = any(job.useful_pflops is not None for job in jobs)
    measure = measure_of(base.objective, flops=flops)
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
        argument=argument(rows, measure, base.shown_in),
    )


def _answer(
    ask: RowQuestion, inputs: Inputs, solved: list[tuple[Problem, Plan]], options: Options
) -> tuple[RuleRow, Plan | None]:
    """A row without its outcome, and its plan; equal problems are solved once.

    Args:
        solved: problems with their plans; a new one is added.
    """
    row = RuleRow(
        group=ask.group,
        name=ask.name,
        label=ask.label,
        asks=ask.asks,
        own=False,
        settings=ask.settings,
        status=None,
        reason=ask.reason,
    )
    if ask.reason is not None:
        return row, None
    new = applied(inputs, ask.changes, recorded=True)
    own = new.problem == inputs.problem
    plan = next((plan for problem, plan in solved if problem == new.problem), None)
    if plan is None:
        try:
            _check(new)
            plan = solve_with(new, options)
        except InputError as error:
            why = "; ".join(found.message for found in error.findings)
            return row.model_copy(update={"own": own, "reason": why}), None
        solved.append((new.problem, plan))
    known = {"own": own, "status": plan.status, "reason": _why_not(ask, plan)}
    return row.model_copy(update=known), plan


def _check(inputs: Inputs) -> None:
    """Raise where a change does not go with the rest, as reading it from a file would."""
    errors = [finding for finding in check_problem(inputs) if finding.severity == "error"]
    if errors:
        raise InputError(errors)


def _why_not(ask: RowQuestion, plan: Plan) -> str | None:
    """Reason why there is no plan in a few words.

    What the row itself changes is left out: that it stands in the way is what the row shows.
    """
    if plan.jobs or plan.message is None:
        return None
    conflicts = plan.infeasibility.conflicts if plan.infeasibility is not None else ()
    own = {change.path for change in ask.changes}
    limits = conflicts[0].limits if conflicts else ()
    names = [limit.label for limit in limits if limit.path not in own]
    if names:
        return f"{listed(names)} {'does' if len(names) == 1 else 'do'} not allow it"
    return plan.message.split(";")[0].split(":")[0]


def run(request: Request) -> Found:
    """Compare the plan of a problem with those by other rules, modes and storage.

    Raises:
        InputError: the problem is wrong, or several are given.
    """
    if len(request.paths) != 1 or request.path.suffix.lower() not in PROBLEMS:
        message = "--rules takes one problem file (.yaml)"
        raise InputError(Finding("files", message, fix="planner compare --rules 10MW.yaml"))
    options = request.options()
    base = solve_with(request.inputs, options)
    found = rules_table(request.inputs, base, options, request.progress)
    return Found((found,), ("optimal" if base.jobs else "infeasible",), plan=lambda: base)
