"""An uncertainty study in words: inputs, outcomes, broken limits, candidates, indices."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.comparison_words import counted, fitted, titled
from planner.outputs.scales import Scale, results, scale
from planner.outputs.sensitivity_words import (
    amount,
    ended,
    goal,
    named,
    narrowed,
    printable,
    scenarios,
    units,
)
from planner.outputs.size_text import table
from planner.outputs.words import INDENT, gap, number, percent, wrapped
from planner.schema.sensitivity import CandidatePlan, Index, Percentiles, Uncertain, UncertainInput

METHODS = {"lhs": "Latin hypercube", "sobol": "Sobol sequence"}
"""What the ways to draw are called."""


def drawn(study: Uncertain) -> str:
    """Return how the scenarios were drawn."""
    method = METHODS[study.method]
    return f"{counted(study.samples, 'sample')}, {method}, seed {study.seed}"


def findings(study: Uncertain) -> list[str]:
    """Return what the study shows, a sentence each."""
    count = sum(study.statuses.values())
    said = [f"{scenarios(count)}: {ended(study.statuses)}."] if count else []
    main = objective(study)
    if main is not None:
        written = results([main.p5, main.p50, main.p95], main.unit)
        said.append(
            f"Best plans: {goal(study)} of {written.with_unit(main.p50)} or less in half of the "
            f"scenarios that have one, between {written.text(main.p5)} and "
            f"{written.with_unit(main.p95)} in nine of ten."
        )
    return [
        *said,
        *_most_broken(study),
        *_choices(study),
        *([proof(study)] if proof(study) else []),
    ]


def objective(study: Uncertain) -> Percentiles | None:
    """Return the distribution of the objective, None where it was not drawn."""
    return next((each for each in study.outcomes if each.name == "objective"), None)


def _most_broken(study: Uncertain) -> list[str]:
    """Return which limit the nominal plan breaks most often."""
    most = max(study.breaks, key=lambda each: each.share, default=None)
    if most is None:
        return []
    if not most.breaks:
        return ["Bought as it is, the nominal plan breaks no limit in any scenario."]
    return [
        f"Bought as it is, the nominal plan most often breaks {most.label}: in "
        f"{percent(most.share)} of the scenarios ({most.breaks:,})."
    ]


def _choices(study: Uncertain) -> list[str]:
    """Return the candidates with least regret and the best worst case."""
    said = []
    if study.least_regret is not None:
        each = study.candidates[study.least_regret]
        said.append(
            f"Least regret: {called(each)}, never more than {percent(each.most_regret, 2)} behind "
            f"the best plan of a scenario, {percent(each.mean_regret, 2)} on average."
        )
    if study.best_worst_case is not None:
        each = study.candidates[study.best_worst_case]
        worst = "" if each.worst is None else f", {amount(study, each.worst)} in the worst"
        said.append(f"Best worst case: {called(each)}, within every limit in all scenarios{worst}.")
    return said


def called(candidate: CandidatePlan) -> str:
    """Return a candidate's name with what it buys."""
    return f"{candidate.name} ({units(candidate.counts)})"


def outcomes(study: Uncertain) -> list[tuple[str, Sequence[Percentiles]]]:
    """Return the distributions to show, each with its title, the objective by its name."""
    named = [
        ("The best plan of each scenario: so many of them stay below", study.outcomes),
        (
            "The nominal plan, bought as it is, whatever limits it breaks: so many stay below",
            study.nominal_outcomes,
        ),
    ]
    return [
        (title, [_called(study, each) for each in several]) for title, several in named if several
    ]


def _called(study: Uncertain, each: Percentiles) -> Percentiles:
    return each.model_copy(update={"label": goal(study)}) if each.name == "objective" else each


def proof(study: Uncertain) -> str:
    """Return how far the scenarios' plans are proven; empty where none has a bound."""
    if study.largest_gap is None:
        return ""
    return f"Every scenario's plan is within {gap(study.largest_gap)} of its bound."


def marks(study: Uncertain, place: int) -> str:
    """Return what sets a candidate apart."""
    each = study.candidates[place]
    names = [
        ("nominal", each.nominal and each.name != "nominal"),
        ("least regret", study.least_regret == place),
        ("best worst case", study.best_worst_case == place),
    ]
    return ", ".join(name for name, holds in names if holds)


_LABEL = 34
_BAR = 20


def render(study: Uncertain) -> str:
    """Return the whole screen, at most 100 columns wide."""
    parts = [f"{named(study)}  (uncertain inputs: {drawn(study)})"]
    if study.message:
        parts.append("\n".join(wrapped(study.message)))
    said = [line for text in findings(study) for line in wrapped(text)]
    parts += ["\n".join(said), _inputs(study.inputs)]
    parts += [_outcomes(title, several) for title, several in outcomes(study)]
    parts += [_breaks(study), _candidates(study), _indices(study)]
    return printable("\n\n".join(part for part in parts if part) + "\n")


def _inputs(inputs: Sequence[UncertainInput]) -> str:
    """Return what was drawn of each input, and of which distribution."""
    if not inputs:
        return ""
    lines = [["", "low", "median", "high"]]
    for each in inputs:
        figures = (each.low, each.median, each.high)
        written = scale(figures, each.unit)
        lines.append([titled(fitted(each.label, _LABEL), written.unit), *_texts(written, figures)])
    head, *rows = table(lines, left=(0,))
    told = [
        line
        for row, each in zip(rows, inputs, strict=True)
        for line in (row, *wrapped(each.distribution, f"{INDENT}  ", f"{INDENT}  "))
    ]
    return "\n".join(["Not known exactly", head, *told])


def _texts(written: Scale, figures: Sequence[float | None]) -> list[str]:
    return [written.text(figure) for figure in figures]


def _outcomes(title: str, several: Sequence[Percentiles]) -> str:
    """Return the percentiles of every outcome, in the unit that suits it."""
    lines = [["", "5 %", "25 %", "50 %", "75 %", "95 %", "mean", "of"]]
    for each in several:
        figures = (each.p5, each.p25, each.p50, each.p75, each.p95, each.mean)
        written = results(figures, each.unit)
        label = titled(fitted(each.label, _LABEL), written.unit)
        lines.append([label, *_texts(written, figures), f"{each.count:,}"])
    return "\n".join([title, *table(narrowed(lines, 0), left=(0,))])


def _breaks(study: Uncertain) -> str:
    if not study.breaks:
        return ""
    lines = [["", "breaks", "share", "passed by at worst"]]
    for each in sorted(study.breaks, key=lambda each: -each.share):
        worst = "-" if each.worst is None else percent(each.worst)
        lines.append([fitted(each.label, 48), f"{each.breaks:,}", percent(each.share), worst])
    title = "Limits that the nominal plan breaks where inputs turn out so"
    return "\n".join([title, *table(lines, left=(0,))])


def _candidates(study: Uncertain) -> str:
    if not study.candidates:
        return ""
    there = [v for each in study.candidates for v in (each.mean, each.worst)]
    worth = results(there, study.unit)
    lines = [
        ["", "best", "within", "mean", "worst", "mean", "most", ""],
        ["", "in", "limits", worth.unit, worth.unit, "regret", "regret", ""],
    ]
    for place, each in enumerate(study.candidates):
        lines.append(_candidate(each, marks(study, place), worth))
    body = table(narrowed(lines, 7), left=(0, 7))
    buys = [
        line
        for each in study.candidates
        for line in wrapped(f"{each.name}: {units(each.counts, 6)}", INDENT, f"{INDENT}  ")
    ]
    return "\n".join(["Plans kept as they are in every scenario", *body, *buys])


def _candidate(each: CandidatePlan, mark: str, worth: Scale) -> list[str]:
    return [
        fitted(each.name, 24),
        f"{each.best_in:,}",
        percent(each.feasible),
        worth.text(each.mean),
        worth.text(each.worst),
        percent(each.mean_regret, 2),
        percent(each.most_regret, 2),
        mark,
    ]


def _indices(study: Uncertain) -> str:
    """Return what share of the variance each input explains, and a bar of the whole of it."""
    lines = [["", "alone", "", "in all", "", ""]]
    for each in sorted(study.indices, key=lambda each: -each.total):
        lines.append(_index(each))
    notes = wrapped(study.indices_note) if study.indices_note else []
    if not study.indices:
        return "\n".join(["What explains the spread", *notes]) if notes else ""
    title = "What explains the spread: share of the variance, with its 95 % confidence"
    return "\n".join([title, *table(lines, left=(0, 5)), *notes])


def _index(each: Index) -> list[str]:
    return [
        fitted(each.label, 40),
        number(each.first, 3),
        f"± {number(each.first_confidence, 3)}",
        number(each.total, 3),
        f"± {number(each.total_confidence, 3)}",
        "#" * max(0, min(_BAR, round(_BAR * each.total))),
    ]
