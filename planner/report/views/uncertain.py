"""An uncertainty analysis: outcomes, candidate plans, sensitivity indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.figures import capital
from planner.report.blocks import (
    Block,
    Facts,
    Heading,
    Table,
    Text,
    figures,
    proof_block,
    words,
)
from planner.report.charts.model import (
    ROW_MIDDLE,
    Axis,
    Bars,
    Chart,
    Layer,
    Line,
    Panel,
    Points,
    sized_axis,
)
from planner.report.words import (
    counted,
    ended,
    exact_amount,
    gap,
    goal,
    listed,
    named,
    percent,
    results,
    scale,
    short,
    some,
    titled,
    units,
)
from planner.schema.analysis import CandidatePlan, Percentiles, Uncertain

_PERCENTILES = {
    "least": "least",
    "p5": "5 %",
    "p25": "25 %",
    "p50": "50 %",
    "p75": "75 %",
    "p95": "95 %",
    "most": "most",
    "mean": "mean",
}
_ON_FIRST = ("p5", "p50", "p95")
_MAIN = ("objective", "goodput", "capex_usd", "tco_usd", "days_to_train")
_MOST, _MOST_DRAWN, _MOST_ROWS = 3, 5, 20


def view(study: Uncertain) -> list[Block]:
    """An uncertainty analysis as blocks."""
    draw = f"{counted(study.samples, 'sample')}, seed {study.seed}"
    title = Heading(f"{named(study)}  (uncertain inputs: {draw})")
    if not (study.outcomes or study.candidates or study.indices):
        return [title, Text((study.message or "no scenario has a plan",))]
    within = "" if study.largest_gap is None else gap(study.largest_gap)
    return [
        title,
        Facts(tuple(_facts(study))),
        _outcomes(study, "Best plan of each scenario, percentiles", study.outcomes),
        _candidates(study),
        *_indices(study),
        _inputs(study),
        proof_block((f"Every plan is within {within} of its bound." if within else "",)),
    ]


def _facts(study: Uncertain) -> Iterator[tuple[str, str]]:
    main = next((each for each in study.outcomes if each.name == "objective"), None)
    if main is not None:
        written = results([main.p5, main.p50, main.p95], main.unit)
        text = f"{goal(study)} {written.with_unit(main.p50)} (median), {written.text(main.p5)} to "
        yield "Best plans", f"{text}{written.with_unit(main.p95)} in 90 % of scenarios"
    if study.least_regret is not None:
        regret = study.candidates[study.least_regret]
        text = f"least for {_called(study, regret)}: {percent(regret.most_regret, 2)} at most, "
        yield "Regret", f"{text}{percent(regret.mean_regret, 2)} on average"
    ranked = sorted(study.indices, key=lambda each: -each.total)[:_MOST]
    yield "Cause", f"spread by {listed([each.label for each in ranked])}" if ranked else ""
    drawn = some([each.label for each in study.inputs], _MOST_DRAWN)
    count = counted(sum(study.statuses.values()), "scenario")
    yield "Drawn", f"{drawn}; {count}: {ended(study.statuses)}"
    yield "", study.message or ""


def _called(study: Uncertain, candidate: CandidatePlan) -> str:
    return f"{candidate.name} ({units(candidate.counts, study.products)})"


def _label(study: Uncertain, outcome: Percentiles) -> str:
    return goal(study) if outcome.name == "objective" else outcome.label


def _outcomes(
    study: Uncertain, title: str, found: Sequence[Percentiles], *, detail: bool = False
) -> Table:
    """Percentiles of the outcomes; main ones first."""
    rows = sorted(found, key=lambda each: each.name not in _MAIN)
    scales = [results([getattr(each, step) for step in _PERCENTILES], each.unit) for each in rows]
    pairs = list(zip(rows, scales, strict=True))
    columns = [words("outcome", (titled(_label(study, each), s.unit) for each, s in pairs))]
    for step, label in _PERCENTILES.items():
        texts = (s.text(getattr(each, step)) for each, s in pairs)
        columns.append(figures(label, texts, str, detail=step not in _ON_FIRST))
    columns.append(figures("scenarios", (each.count for each in rows), 0, detail=True))
    main = sum(each.name in _MAIN for each in rows)
    return Table(title, tuple(columns), first=max(1, main), rows="outcomes", detail=detail)


def _candidates(study: Uncertain) -> Table:
    rows = study.candidates
    worth = results([v for each in rows for v in (each.mean, each.worst)], study.unit)
    marks = (_mark(study, place) for place in range(len(rows)))
    columns = (
        words("plan", (each.name for each in rows)),
        words("", marks),
        figures("best in", (each.best_in for each in rows), 0),
        figures("within limits", (each.feasible for each in rows), percent),
        figures(f"mean, {worth.unit}", (each.mean for each in rows), worth.text),
        figures(f"worst, {worth.unit}", (each.worst for each in rows), worth.text),
        figures("mean regret", (p.mean_regret for p in rows), lambda share: percent(share, 2)),
        figures("worst regret", (p.most_regret for p in rows), lambda share: percent(share, 2)),
        words("buys", (units(p.counts, study.products, 6) for p in rows)),
    )
    return Table("Candidate plans, each kept in every scenario", columns, detail=True)


def _mark(study: Uncertain, place: int) -> str:
    """The title of a candidate: nominal, least regret."""
    each = study.candidates[place]
    names = (
        ("nominal", each.nominal and each.name != "nominal"),
        ("least regret", study.least_regret == place),
    )
    return ", ".join(name for name, holds in names if holds)


def _indices(study: Uncertain) -> Iterator[Block]:
    """Yield the share of the variance that each input explains."""
    rows = sorted(study.indices, key=lambda each: -each.total)
    if not rows:
        yield Text((study.indices_note,), "Sensitivity indices", detail=True)
        return
    columns = (
        words("input", (each.label for each in rows)),
        figures("first order", (each.first for each in rows), 3),
        figures("±", (each.first_confidence for each in rows), 3),
        figures("total", (each.total for each in rows), 3),
        figures("±", (each.total_confidence for each in rows), 3),
    )
    title = "Sensitivity indices: share of the variance, ± 95 % confidence"
    yield Table(title, columns, (study.indices_note,), detail=True)


def _inputs(study: Uncertain) -> Table:
    rows = study.inputs
    written = [scale((each.low, each.median, each.high), each.unit) for each in rows]
    pairs = list(zip(rows, written, strict=True))
    columns = (
        words("input", (titled(each.label, s.unit) for each, s in pairs)),
        *(
            figures(name, (s.text(getattr(each, name)) for each, s in pairs), str)
            for name in ("low", "median", "high")
        ),
        words("distribution", (each.distribution for each in rows)),
    )
    return Table("Uncertain inputs", columns, detail=True)


# Charts.


def charts(study: Uncertain) -> tuple[Chart, ...]:
    """Boxes of the outcomes, of the best plans and of the nominal plan."""
    if not study.outcomes:
        return (Chart("outcomes", "Outcomes", study.message or "No scenario has a plan."),)
    return (_outcome_chart(study),)


def _outcome_chart(study: Uncertain) -> Chart:
    panels = []
    for best in study.outcomes:
        axis, size = sized_axis("", [best.least, best.most], best.unit)
        layers = tuple(_box(best, 0, size))
        rows = (f"median {exact_amount(best.p50, best.unit)}",)
        title = capital(short(_label(study, best), 52))
        panels.append(Panel(axis, Axis(""), layers, title, rows))
    text = (
        "Box: 25 to 75 % of scenarios, with the median; line: 5 to 95 %; squares: least and most; "
        "diamond: mean."
    )
    return Chart("outcomes", "Outcomes", text, tuple(panels), legend=False)


def _box(outcome: Percentiles, row: int, size: float) -> Iterator[Layer]:
    v = {name: getattr(outcome, name) / size for name in _PERCENTILES}
    written = results([getattr(outcome, name) for name in _PERCENTILES], outcome.unit)
    hover = "\n".join(
        f"{label}: {written.with_unit(getattr(outcome, name))}"
        for name, label in _PERCENTILES.items()
    )
    at = row + ROW_MIDDLE
    yield Line("", (v["p5"], v["p95"]), (at, at), "quiet")
    yield Bars("", (at,), (v["p25"],), (v["p75"],), (hover,), (), "pale", thickness=0.4)
    yield Line("", (v["p50"], v["p50"]), (at - 0.2, at + 0.2), "second")
    yield Points("", (v["least"], v["most"]), (at, at), (hover, hover), "quiet", "square", True)
    yield Points("", (v["mean"],), (at,), (hover,), "second", "diamond")
