"""An uncertainty study on the screen: inputs, outcomes, broken limits, candidates, indices."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.comparison_words import fitted, titled
from planner.outputs.scales import Scale, results, scale
from planner.outputs.sensitivity_words import named, narrowed, printable, units
from planner.outputs.size_text import table
from planner.outputs.uncertain_words import drawn, findings, marks, outcomes
from planner.outputs.words import INDENT, number, percent, wrapped
from planner.schema.sensitivity import CandidatePlan, Index, Percentiles, Uncertain, UncertainInput

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
