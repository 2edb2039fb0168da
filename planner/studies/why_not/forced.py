"""The best plan with another storage vendor, GPU type or sizing rule forced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import get_args

from planner.case import Case, resolve
from planner.case.model import BandwidthRule
from planner.errors import InputError
from planner.loader.change import Change
from planner.optimizer.joint import Certificate as Answer
from planner.optimizer.joint import share
from planner.optimizer.measure import measure
from planner.optimizer.objective import natural
from planner.optimizer.operate import Operation
from planner.optimizer.purchase import bill, broken_rows
from planner.schema.problem import RuleName
from planner.schema.why_not import Certificate, Forced, ForcedKind
from planner.studies.changes import apply, storage_of, systems_of
from planner.studies.why_not import figures
from planner.studies.why_not.floors import keeping
from planner.studies.why_not.study import ENOUGH, Study

LITTLE = 0.01
"""The share of capex below which storage is not worth a search for less of it."""
LATE = "not computed, as it takes too long"
LABELS = {"demand": "what the job needs"}


@dataclass(frozen=True)
class Question:
    """Something to force, and the changes that do."""

    kind: ForcedKind
    key: str
    label: str
    changes: tuple[Change, ...]

    @property
    def setting(self) -> tuple[str, ...]:
        """The changes as ``--set`` would take them."""
        return tuple(change.setting for change in self.changes)


def forced(study: Study) -> tuple[Forced, ...]:
    """Return the plan beside the best ones with something else forced."""
    chosen = [*_vendors(study), *_types(study)]
    rows = [_answer(study, question) for question in chosen]
    return (*rows, *_rules(study))


def _vendors(study: Study) -> Iterator[Question]:
    """Yield each storage vendor on offer that the plan does not buy from alone."""
    held = {item.vendor for item in study.case.storage if study.units[item.id]}
    for vendor in sorted({item.vendor for item in study.case.storage} - _alone(held)):
        yield Question("storage_vendor", vendor, vendor, storage_of(study.case, {vendor}))


def _types(study: Study) -> Iterator[Question]:
    held = {system.id for system in study.case.systems if study.units[system.id]}
    for system in study.case.systems:
        if {system.id} != held:
            model = study.catalog[system.id].model
            yield Question("gpu_type", system.id, model, systems_of({system.id}))


def _alone(held: set[str]) -> set[str]:
    return held if len(held) == 1 else set()


def _rules(study: Study) -> Iterator[Forced]:
    """Yield each other sizing rule; one that the plan meets as it is needs no plan of its own."""
    free_bound: float | None = None
    for name in get_args(RuleName):
        if name == study.inputs.problem.storage.rule:
            continue
        question = Question(
            "storage_rule", name, LABELS.get(name, name), (Change("storage.rule", name, name),)
        )
        if study.out_of_patience:
            yield _answer(study, question)
            continue
        case = resolve(apply(study.inputs, question.changes))
        if case.rule is not None and not broken_rows(case, study.units):
            if free_bound is None:
                free_bound = _bound_without_rule(study, case.rule)
            if abs(study.loss(free_bound)) <= study.tied_loss + study.tie + 1e-6:
                yield _as_is(study, question, free_bound)
                continue
        yield _answer(study, question)


def _bound_without_rule(study: Study, rule: BandwidthRule) -> float:
    """Return a bound on the plans of any rule: those whose storage may be as slow as it will."""
    loosest = replace(rule, name="none", read_gb_per_s=0.0, write_gb_per_s=0.0)
    answer = study.prove(replace(study.case, rule=loosest), gap=max(ENOUGH, study.tie))
    found = answer.bound if answer.bound is not None else answer.value
    if found is None:
        return study.bound
    return natural(study.case.objective, found)


def _as_is(study: Study, question: Question, bound: float) -> Forced:
    """Return the row of a rule that the plan meets as it is, and under which it is as good."""
    pick = max if study.case.maximise else min
    bound = pick(bound, study.value)
    gap = abs(bound - study.value) / max(abs(study.value), 1e-12)
    return Forced(
        kind=question.kind,
        key=question.key,
        label=question.label,
        setting=question.setting,
        outcome="as_is",
        figures=figures.of_plan(study.plan),
        bought=figures.bought_in(study.plan),
        certificate=Certificate(value=study.value, bound=bound, gap=gap),
        loss=0.0,
    )


def _answer(study: Study, question: Question) -> Forced:
    """Return the best plan of a question beside the plan."""
    row = Forced(
        kind=question.kind,
        key=question.key,
        label=question.label,
        setting=question.setting,
        outcome="no_plan",
    )
    if study.out_of_patience:
        return row.model_copy(update={"outcome": "not_found", "reason": LATE})
    inputs = apply(study.inputs, question.changes)
    try:
        case = resolve(inputs)
    except InputError as error:
        return row.model_copy(update={"reason": _refusal(error)})
    answer = study.prove(case)
    if answer.operation is None:
        if answer.status != "infeasible":
            return row.model_copy(update={"outcome": "not_found"})
        return row.model_copy(update={"reason": "no plan meets every limit"})
    operation = cheap(study, case, answer)
    if question.kind != "storage_rule":  # a plan of the problem itself, for other questions
        study.remember(operation)
    certificate = certified(case, answer, operation)
    return row.model_copy(
        update={
            "outcome": "plan",
            "figures": figures.of_operation(inputs, case, operation),
            "bought": figures.bought_by(inputs, case, operation),
            "certificate": certificate,
            "loss": study.loss(certificate.value),
        }
    )


def _refusal(error: InputError) -> str:
    """Return why a changed problem is none: it demands what is no longer on offer."""
    demands = [(f.path or "").removeprefix("items.") for f in error.findings]
    if all(finding.code == "demanded" for finding in error.findings):
        return f"the problem demands {', '.join(demands)}"
    return "; ".join(finding.message for finding in error.findings)


def certified(case: Case, answer: Answer, operation: Operation) -> Certificate:
    """Return the certificate of an operation under the bound of an answer."""
    value = measure(case, case.objective)(operation)
    pick = max if case.maximise else min
    bound = value if answer.bound is None else pick(answer.bound, value)
    return Certificate(
        value=natural(case.objective, value),
        bound=natural(case.objective, bound),
        gap=share(case, value, bound),
    )


def cheap(study: Study, case: Case, answer: Answer) -> Operation:
    """Return a cheap plan among those as good as an answer: its GPU systems, other storage.

    The first plan found may hold far more storage than it needs, which would compare unfairly;
    where storage is next to nothing it stays.
    """
    found = answer.operation
    assert found is not None
    assert answer.value is not None
    if case.objective in ("cost", "tco") or _storage_share(case, found) < LITTLE:
        return found
    value = natural(case.objective, answer.value)
    slack = 1.0 - study.tie if case.maximise else 1.0 + study.tie
    fixed = tuple(
        replace(system, low=found.units[system.id], high=found.units[system.id])
        for system in case.systems
    )
    trimmed = study.prove(replace(keeping(case, value * slack), systems=fixed), gap=1e-3)
    return found if trimmed.operation is None else trimmed.operation


def _storage_share(case: Case, operation: Operation) -> float:
    """Return what share of capex is for storage."""
    spent = bill(case, operation.units)
    storage = (spent.purchased[item.id] * (item.unit_net_usd or 0.0) for item in case.storage)
    return sum(storage) / max(spent["capex_usd"], 1.0)
