"""What the table of rules shows, in a few sentences made of its figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner.outputs.comparison_words import counted, listed, relative, shown
from planner.schema.comparison import Measure, Outcome, RuleRow
from planner.studies.compare.phrases import proven_alike, said, worse_by
from planner.studies.compare.storage_argument import on_storage


@dataclass(frozen=True)
class _Told:
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
        measure: what the rows are measured by.
        max_overlap: the share of the interval that the demand law lets a drain take.
    """
    demand = rows[0].outcome
    if demand is None:
        return (f"There is no plan by the demand law: {rows[0].reason or 'none was found'}.",)
    told = [_Told(row, row.outcome, demand, measure) for row in rows[1:] if row.outcome]
    rules = [each for each in told if each.row.group == "rule"]
    worst = max((each for each in rules if not each.alike), key=lambda e: e.worse, default=None)
    sentences = []
    if worst is not None and worst.worse > 0:
        sentences.append(_worst(worst))
        rules.remove(worst)
    clauses = [*_rules(rules, max_overlap), *_without([row for row in rows if row.group == "rule"])]
    if clauses:
        sentences.append(_sentence("; ".join(clauses)))
    sentences += [_sentence(_mode(each)) for each in told if each.row.group == "mode"]
    storage = "; ".join(on_storage(rows, measure))
    return (*sentences, *([_sentence(storage)] if storage else []))


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _worst(worst: _Told) -> str:
    """Return what the rule that does worst costs."""
    plan, demand, measure = worst.plan, worst.demand, worst.measure
    what = said(worst.worse, measure)
    if measure.sense == "minimize":
        what += f" ({shown(plan.measured, measure.unit)} instead of " \
                f"{shown(demand.measured, measure.unit)})"  # fmt: skip
    text = f"sized by the {worst.row.label} rule, the same job {listed([*_gpus(worst), what])}"
    kw, needed_kw = plan.storage_it_power_kw, demand.storage_it_power_kw
    if kw is not None and needed_kw is not None and kw != needed_kw:
        text += f"; its storage draws {kw:,.0f} kW instead of {needed_kw:,.0f} kW"
    return _sentence(text)


def _gpus(told: _Told) -> Iterator[str]:
    """Yield what differs in the GPUs in use."""
    plan, demand = told.plan, told.demand
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


def _rules(rules: Sequence[_Told], max_overlap: float) -> Iterator[str]:
    """Yield clauses on rules that are worse, as good, and better."""
    worse = [each for each in rules if not each.alike and each.worse > 0]
    alike = [each for each in rules if each.alike]
    if worse:
        least, most = min(each.worse for each in worse), max(each.worse for each in worse)
        ends = dict.fromkeys((relative(least), relative(most)))
        does = said(most, worse[0].measure, " to ".join(ends), many=len(worse) > 1)
        yield f"{_named([each.row for each in worse])} {does}"
    if alike:
        subject = _named([each.row for each in alike])
        plans = "gives a plan" if len(alike) == 1 else "give plans"
        yield f"{subject} {plans} as good as the demand law's, within what is proven"
    for each in rules:
        if not each.alike and each.worse < 0:
            yield f"{_named([each.row])} {said(each.worse, each.measure)}{_why(each, max_overlap)}"


def _named(rows: Sequence[RuleRow]) -> str:
    """Return rules as the subject of a clause."""
    return f"the {listed([row.label for row in rows])} {'rule' if len(rows) == 1 else 'rules'}"


def _why(better: _Told, max_overlap: float) -> str:
    """Return what a rule that does better lets pass: it takes the place of a limit."""
    overlap = better.plan.overlap
    if better.plan.mode == "sync" or overlap <= max_overlap:
        return ""
    return (
        f", but a checkpoint then takes {100 * overlap:.0f} % of the interval to reach storage, "
        f"where this problem allows {100 * max_overlap:g} %"
    )


def _without(rules: Sequence[RuleRow]) -> Iterator[str]:
    """Yield a clause on the rules that have no plan, reason by reason."""
    missing = [row for row in rules if row.outcome is None]
    for reason in dict.fromkeys(row.reason for row in missing):
        names = _named([row for row in missing if row.reason == reason])
        told = reason or "none was found"
        yield f"with {names} {told if told.startswith('no plan') else f'there is no plan: {told}'}"


def _mode(told: _Told) -> str:
    """Return what writing checkpoints the other way does."""
    units, needed = told.plan.storage_units, told.demand.storage_units
    storage = ""
    if told.plan.storage != told.demand.storage:
        bought = listed([f"{each.quantity:,} {each.product}" for each in told.plan.storage])
        storage = f" and buys {bought} for storage"
        if [e.sku for e in told.plan.storage] == [e.sku for e in told.demand.storage]:
            storage = f" and takes {counted(units, 'storage unit')} instead of {needed:,}"
    does = "does as well, within what is proven" if told.alike else said(told.worse, told.measure)
    return f"with {told.row.label} checkpoints the same job {does}{storage}"
