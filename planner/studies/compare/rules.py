"""The argument as a table: the same problem by the demand law, by each rule, by other storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from planner.api import Options, solve_with
from planner.errors import Finding, InputError
from planner.inputs import Change, Inputs, applied
from planner.loader.checks import check_problem
from planner.outputs.words import counted, decimals, listed, relative, write_figure
from planner.paths import job_path
from planner.schema.catalog import Family
from planner.schema.comparison import Measure, Outcome, RowGroup, RuleRow, RulesTable
from planner.schema.plan import Plan
from planner.schema.problem import CustomRule, Problem
from planner.sizing.demand import VENDOR_RULES
from planner.studies.compare import side_by_side as families
from planner.studies.compare.differences import measure_of, outcome, value_in
from planner.studies.compare.side_by_side import (
    compare,
    proven_alike,
    read_sides,
    worse_by,
    write_loss,
)
from planner.studies.pool import Progress, ignore
from planner.studies.request import PROBLEMS, Found, Request

_RULE, _MODE, _FAMILIES = "storage.rule", job_path("checkpoint.mode"), "consider.storage_families"
_VENDORS = {"ddn_per_gpu": "DDN", "nvidia_superpod_h100": "NVIDIA"}


@dataclass(frozen=True)
class RowQuestion:
    """A row to fill: what changes against the problem, or why there is nothing to solve."""

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

    def applied(self, inputs: Inputs) -> Inputs:
        """Return the inputs with the changes."""
        return applied(inputs, self.changes, recorded=True)


def row_questions(inputs: Inputs) -> tuple[RowQuestion, ...]:
    """Return the rows of the table in their order; the demand law is the first.

    Every row but those of the rules sizes storage by the demand law, whatever the problem asks
    for, so that it differs from the first in one thing only.
    """
    return (_demand(inputs), *_by_rules(inputs), *_modes(inputs), *_variants(inputs),
            *_one_vendor(inputs))  # fmt: skip


def by_demand(inputs: Inputs) -> tuple[Change, ...]:
    """Return what makes storage be sized by the demand law; nothing where it already is."""
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
        asked = _bandwidth(own.read, own.write, own.per_gpus)
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
    for pair in families.variants(inputs):
        for family in pair:
            yield _storage(inputs, "variant", family.id, _named_family(family), _software(family),
                           (family.id,))  # fmt: skip


def _named_family(family: Family) -> str:
    """Return a family's name with its vendor's, once."""
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
    vendors = families.by_vendor(inputs)
    if len(vendors) < 2:
        return
    for vendor, names in vendors.items():
        yield _storage(inputs, "vendor", vendor, f"{vendor} only", f"Storage of {vendor} alone",
                       names)  # fmt: skip


def _storage(
    inputs: Inputs, group: RowGroup, name: str, label: str, asked: str, names: tuple[str, ...]
) -> RowQuestion:
    """Return a row with storage of these families alone."""
    reason = families.why_none(inputs, names)
    if reason is not None:
        return RowQuestion(group, name, label, asked, reason=reason)
    kept = families.considered_families(inputs, names)
    only = Change(_FAMILIES, kept, f"[{', '.join(kept)}]")
    return RowQuestion(group, name, label, asked, (*by_demand(inputs), only))


_Found = tuple[RuleRow, Outcome]


def on_storage(rows: Sequence[RuleRow], measure: Measure) -> Iterator[str]:
    """Yield clauses; nothing where there is no choice."""
    vendors = [(row, row.outcome) for row in rows if row.group == "vendor" and row.outcome]
    if len(vendors) > 1:
        yield _vendors(vendors, measure)
    pairs = [row for row in rows if row.group == "variant"]
    for plain, variant in zip(pairs[::2], pairs[1::2], strict=True):
        if plain.outcome is not None and variant.outcome is not None:
            yield _variant((plain, plain.outcome), (variant, variant.outcome), measure)


def _worse(plan: Outcome, than: Outcome, measure: Measure) -> float:
    if plan.measured is None or not than.measured:
        return 0.0
    return worse_by(plan.measured / than.measured - 1.0, measure)


def _vendors(vendors: Sequence[_Found], measure: Measure) -> str:
    """Return whose storage alone does best, whose worst, and how far they are apart."""
    ranked = sorted(vendors, key=lambda found: worse_by(found[1].difference or 0.0, measure))
    best, worst = ranked[0][1], ranked[-1][1]
    apart = _worse(worst, best, measure)
    start = f"with storage of one vendor alone, {measure.label} is"
    if proven_alike(apart, best.gap, worst.gap):
        return f"{start} the same whoever it is, within what is proven"
    ends = ("highest", "lowest") if measure.sense == "maximize" else ("lowest", "highest")
    return (
        f"{start} {ends[0]} with {_alike(best, vendors, measure)} and {ends[1]} with "
        f"{_alike(worst, vendors, measure)}, {relative(apart)} apart"
    )


def _alike(plan: Outcome, vendors: Sequence[_Found], measure: Measure) -> str:
    """Return the vendors whose plans are as good as this one, within what is proven."""
    return listed(
        [
            row.name
            for row, other in vendors
            if proven_alike(_worse(other, plan, measure), other.gap, plan.gap)
        ]
    )


def _variant(plain: _Found, variant: _Found, measure: Measure) -> str:
    """Return what the same hardware with faster clients brings."""
    worse = _worse(variant[1], plain[1], measure)
    if proven_alike(worse, plain[1].gap, variant[1].gap):
        return f"{variant[0].label} does as well as {plain[0].label}, within what is proven"
    return f"{variant[0].label} {write_loss(worse, measure)} than {plain[0].label}"


@dataclass(frozen=True)
class _ComparedRow:
    """A row that has a plan, next to the plan by the demand law."""

    row: RuleRow
    plan: Outcome
    demand: Outcome
    measure: Measure

    @property
    def worse(self) -> float:
        """Share by which the row is worse; negative where it is better."""
        return worse_by(self.plan.difference or 0.0, self.measure)

    @property
    def alike(self) -> bool:
        """Whether the difference is no larger than what is proven of the two."""
        return proven_alike(self.worse, self.plan.gap, self.demand.gap)


def argument(rows: Sequence[RuleRow], measure: Measure, max_overlap: float) -> tuple[str, ...]:
    """Return the sentences.

    Args:
        rows: the table, the demand law first.
        max_overlap: the share of the interval that the demand law lets a drain take.
    """
    demand = rows[0].outcome
    if demand is None:
        return (f"There is no plan by the demand law: {rows[0].reason or 'none was found'}.",)
    compared = [_ComparedRow(row, row.outcome, demand, measure) for row in rows[1:] if row.outcome]
    rules = [each for each in compared if each.row.group == "rule"]
    worst = max((each for each in rules if not each.alike), key=lambda e: e.worse, default=None)
    sentences = []
    if worst is not None and worst.worse > 0:
        sentences.append(_worst(worst))
        rules.remove(worst)
    clauses = [*_rules(rules, max_overlap), *_without([row for row in rows if row.group == "rule"])]
    if clauses:
        sentences.append(_sentence("; ".join(clauses)))
    sentences += [_sentence(_mode(each)) for each in compared if each.row.group == "mode"]
    storage = "; ".join(on_storage(rows, measure))
    return (*sentences, *([_sentence(storage)] if storage else []))


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _worst(worst: _ComparedRow) -> str:
    """Return what the rule that does worst costs."""
    plan, demand, measure = worst.plan, worst.demand, worst.measure
    what = write_loss(worst.worse, measure)
    if measure.sense == "minimize":
        what += f" ({write_figure(plan.measured, measure.unit)} instead of " \
                f"{write_figure(demand.measured, measure.unit)})"  # fmt: skip
    text = f"sized by the {worst.row.label} rule, the same job {listed([*_gpus(worst), what])}"
    kw, needed_kw = plan.storage_it_power_kw, demand.storage_it_power_kw
    if kw is not None and needed_kw is not None and kw != needed_kw:
        text += f"; its storage draws {kw:,.0f} kW instead of {needed_kw:,.0f} kW"
    return _sentence(text)


def _gpus(compared: _ComparedRow) -> Iterator[str]:
    """Yield what differs in the GPUs in use."""
    plan, demand = compared.plan, compared.demand
    if {each.sku for each in plan.systems} != {each.sku for each in demand.systems}:
        bought = listed([f"{each.quantity:,} {each.product}" for each in plan.systems])
        yield f"runs on other GPU systems ({bought})"
    elif plan.gpus_used != demand.gpus_used:
        more = plan.gpus_used - demand.gpus_used
        word = "more" if more > 0 else "fewer"
        yield (
            f"runs on {counted(abs(more), 'GPU')} {word} "
            f"({plan.gpus_used:,} instead of {demand.gpus_used:,})"
        )


def _rules(rules: Sequence[_ComparedRow], max_overlap: float) -> Iterator[str]:
    """Yield clauses on rules that are worse, as good, and better."""
    worse = [each for each in rules if not each.alike and each.worse > 0]
    alike = [each for each in rules if each.alike]
    if worse:
        least, most = min(each.worse for each in worse), max(each.worse for each in worse)
        ends = dict.fromkeys((relative(least), relative(most)))
        does = write_loss(most, worse[0].measure, " to ".join(ends), many=len(worse) > 1)
        yield f"{_named([each.row for each in worse])} {does}"
    if alike:
        subject = _named([each.row for each in alike])
        plans = "gives a plan" if len(alike) == 1 else "give plans"
        yield f"{subject} {plans} as good as the demand law's, within what is proven"
    for each in rules:
        if not each.alike and each.worse < 0:
            loss = write_loss(each.worse, each.measure)
            yield f"{_named([each.row])} {loss}{_why(each, max_overlap)}"


def _named(rows: Sequence[RuleRow]) -> str:
    """Return rules as the subject of a clause."""
    return f"the {listed([row.label for row in rows])} {'rule' if len(rows) == 1 else 'rules'}"


def _why(better: _ComparedRow, max_overlap: float) -> str:
    """Return the limit on overlap that the plan of a better rule passes, as a clause."""
    overlap = better.plan.overlap
    if better.plan.mode == "sync" or overlap <= max_overlap:
        return ""
    shares = [100 * overlap, 100 * max_overlap]
    digits = decimals(shares)
    takes, allowed = (f"{share:.{digits}f} %" for share in shares)
    return (
        f", but a checkpoint then takes {takes} of the interval to reach storage, "
        f"where this problem allows {allowed}"
    )


def _without(rules: Sequence[RuleRow]) -> Iterator[str]:
    """Yield a clause on the rules that have no plan, reason by reason."""
    missing = [row for row in rules if row.outcome is None]
    for reason in dict.fromkeys(row.reason for row in missing):
        names = _named([row for row in missing if row.reason == reason])
        why = reason or "none was found"
        yield f"with {names} {why if why.startswith('no plan') else f'there is no plan: {why}'}"


def _mode(compared: _ComparedRow) -> str:
    """Return what writing checkpoints the other way does."""
    units, needed = compared.plan.storage_units, compared.demand.storage_units
    storage = ""
    if compared.plan.storage != compared.demand.storage:
        bought = listed([f"{each.quantity:,} {each.product}" for each in compared.plan.storage])
        storage = f" and buys {bought} for storage"
        if [e.sku for e in compared.plan.storage] == [e.sku for e in compared.demand.storage]:
            storage = f" and takes {counted(units, 'storage unit')} instead of {needed:,}"
    does = (
        "does as well, within what is proven"
        if compared.alike
        else write_loss(compared.worse, compared.measure)
    )
    return f"with {compared.row.label} checkpoints the same job {does}{storage}"


@dataclass(frozen=True)
class _Answer:
    """A row's plan, or why there is none."""

    ask: RowQuestion
    own: bool
    plan: Plan | None
    reason: str | None


def rules_table(
    inputs: Inputs, base: Plan, options: Options, progress: Progress = ignore
) -> RulesTable:
    """Return the table of a problem; each row is a plan solved and verified on its own.

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
    plans = [answer.plan for answer in answers if answer.plan is not None]
    flops = any(plan.jobs and plan.jobs[0].useful_pflops is not None for plan in plans)
    measure = measure_of(base.objective, flops=flops)
    demand = answers[0].plan
    reference = value_in(demand, measure) if demand is not None else None
    rows = tuple(_row(answer, measure, reference) for answer in answers)
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
        argument=argument(rows, measure, inputs.problem.job.checkpoint.max_overlap),
    )


def _answer(
    ask: RowQuestion, inputs: Inputs, solved: list[tuple[Problem, Plan]], options: Options
) -> _Answer:
    """Return the plan of a row; problems that are the same are solved once.

    Args:
        ask: the row.
        solved: problems with their plans; a new one is added.
    """
    if ask.reason is not None:
        return _Answer(ask, False, None, ask.reason)
    new = ask.applied(inputs)
    own = new.problem == inputs.problem
    known = next((plan for problem, plan in solved if problem == new.problem), None)
    if known is not None:
        return _Answer(ask, own, known, _why_not(ask, known))
    try:
        _check(new)
        plan = solve_with(new, options)
    except InputError as error:
        return _Answer(ask, own, None, "; ".join(found.message for found in error.findings))
    solved.append((new.problem, plan))
    return _Answer(ask, own, plan, _why_not(ask, plan))


def _check(inputs: Inputs) -> None:
    """Raise where a change does not go with the rest, as reading it from a file would."""
    errors = [finding for finding in check_problem(inputs) if finding.severity == "error"]
    if errors:
        raise InputError(errors)


def _why_not(ask: RowQuestion, plan: Plan) -> str | None:
    """Return why there is no plan in a few words; solving tells more of it.

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


def _row(answer: _Answer, measure: Measure, reference: float | None) -> RuleRow:
    ask, plan = answer.ask, answer.plan
    return RuleRow(
        group=ask.group,
        name=ask.name,
        label=ask.label,
        asks=ask.asks,
        own=answer.own,
        settings=ask.settings,
        status=plan.status if plan is not None else None,
        reason=answer.reason,
        outcome=outcome(plan, measure, reference) if plan is not None else None,
    )


def run(request: Request, *, rules: bool, everything: bool) -> Found:
    """Compare plans, problem files and workbooks with the first, or a problem's plan by rules.

    Args:
        rules: whether to compare one problem's plan with those by other rules, modes and storage.
        everything: whether to list what is the same in all, too.

    Raises:
        InputError: a file is wrong or of another kind.
    """
    if rules:
        return _by_other_rules(request)
    read = read_sides(
        request.paths,
        settings=request.settings,
        scenario=request.scenario,
        options=request.options(),
        models=request.models,
    )
    return Found(
        (compare(read),),
        ("optimal" if any(side.there for side in read) else "infeasible",),
        stem="compare",
        plan=lambda: read[0].plan,
        shown={"everything": everything},
        plans=tuple((side.source, side.plan) for side in read if side.there),
    )


def _by_other_rules(request: Request) -> Found:
    if len(request.paths) != 1 or request.path.suffix.lower() not in PROBLEMS:
        message = "--rules takes one problem file (.yaml)"
        raise InputError(Finding("files", message, fix="planner compare --rules 10MW.yaml"))
    options = request.options()
    base = solve_with(request.inputs, options)
    found = rules_table(request.inputs, base, options, request.progress)
    return Found((found,), ("optimal" if base.jobs else "infeasible",), plan=lambda: base)
