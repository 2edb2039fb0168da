"""An uncertainty analysis: outcomes, broken limits, candidate plans, sensitivity indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.figures import capital
from planner.report.blocks import (
    EVERYWHERE,
    PAGE,
    SCREEN,
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    proof_block,
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
    Shape,
    Tone,
    Whiskers,
    is_wide,
)
from planner.report.charts.words import amount as axis_amount
from planner.report.charts.words import plain as plain_axis
from planner.report.charts.words import short
from planner.report.sensitivity_words import amount, ended, goal, named, scenarios, units
from planner.report.words import (
    Scale,
    counted,
    fitted,
    gap,
    listed,
    number,
    percent,
    plain,
    results,
    scale,
    titled,
)
from planner.schema.analysis import (
    CandidatePlan,
    Percentiles,
    Uncertain,
    UncertainInput,
)

METHODS = {"lhs": "Latin hypercube", "sobol": "Sobol sequence"}
"""Names of the sampling methods."""

_PERCENTILES = {"least": "least", "p5": "5 %", "p25": "25 %", "p50": "50 %", "p75": "75 %",
                "p95": "95 %", "most": "most", "mean": "mean"}  # fmt: skip
_ON_SCREEN, _ON_FIRST = ("p5", "p25", "p50", "p75", "p95", "mean"), ("p5", "p50", "p95")
_MAIN = ("objective", "goodput", "capex_usd", "tco_usd", "days_to_train")
_MOST, _MOST_DRAWN, _MOST_ROWS, _LABEL = 3, 5, 20, 34


def view(study: Uncertain) -> list[Block]:
    """Return an uncertainty analysis as blocks."""
    title = Heading(f"{named(study)}  (uncertain inputs: {_draw(study)})")
    if not (study.outcomes or study.breaks or study.candidates or study.indices):
        return [title, Text((study.message or "no scenario has a plan",))]
    return [
        title,
        Facts(tuple(_facts(study))),
        *_outcomes(study),
        _breaks(study),
        _candidates(study),
        *_indices(study),
        _inputs(study.inputs),
        proof_block((_proof(study),)),
    ]


def _facts(study: Uncertain) -> Iterator[tuple[str, str]]:
    main = next((each for each in study.outcomes if each.name == "objective"), None)
    if main is not None:
        written = results([main.p5, main.p50, main.p95], main.unit)
        yield (
            "Best plans",
            (
                f"{goal(study)} {written.with_unit(main.p50)} (median), {written.text(main.p5)} to "
                f"{written.with_unit(main.p95)} in 90 % of scenarios"
            ),
        )
    broken = sorted((each for each in study.breaks if each.breaks), key=lambda each: -each.share)
    breaks = [f"{each.label} in {percent(each.share)}" for each in broken[:_MOST]]
    if breaks:
        yield "This plan", f"breaks {listed(breaks)} of scenarios"
    elif study.breaks:
        yield "This plan", "breaks no limit in any scenario"
    regret = None if study.least_regret is None else study.candidates[study.least_regret]
    if regret is not None:
        yield (
            "Regret",
            (
                f"least for {_called(study, regret)}: {percent(regret.most_regret, 2)} at most, "
                f"{percent(regret.mean_regret, 2)} on average"
            ),
        )
    safe = None if study.best_worst_case is None else study.candidates[study.best_worst_case]
    if safe is not None:
        worst = "" if safe.worst is None else f", worst {amount(study, safe.worst)}"
        yield "Safest", f"{_called(study, safe)} meets all limits in all scenarios{worst}"
    ranked = sorted(study.indices, key=lambda each: -each.total)[:_MOST]
    yield "Cause", f"spread by {listed([each.label for each in ranked])}" if ranked else ""
    drawn = [each.label for each in study.inputs]
    more = [f"{len(drawn) - _MOST_DRAWN} more"] if len(drawn) > _MOST_DRAWN else []
    count = scenarios(sum(study.statuses.values()))
    inputs = listed([*drawn[:_MOST_DRAWN], *more])
    yield "Drawn", f"{inputs}; {count}: {ended(study.statuses)}"
    yield "", study.message or ""


def _draw(study: Uncertain) -> str:
    return f"{counted(study.samples, 'sample')}, {METHODS[study.method]}, seed {study.seed}"


def _called(study: Uncertain, candidate: CandidatePlan) -> str:
    return f"{candidate.name} ({units(candidate.counts, study.products)})"


def _proof(study: Uncertain) -> str:
    if study.largest_gap is None:
        return ""
    return f"Every plan is within {gap(study.largest_gap)} of its bound."


def _outcomes(study: Uncertain) -> Iterator[Table]:
    """Yield percentiles of the outcomes, of the best plans and of the nominal plan."""
    parts = (
        ("Best plan of each scenario, percentiles", study.outcomes, False),
        ("Nominal plan as bought, whatever limits it breaks, percentiles",
         study.nominal_outcomes, True),
    )  # fmt: skip
    for title, found, detail in parts:
        several = sorted(found, key=lambda each: each.name not in _MAIN)
        if not several:
            continue
        scales = [
            results([getattr(each, step) for step in _ON_SCREEN], each.unit) for each in several
        ]
        whole = [
            results([getattr(each, step) for step in _PERCENTILES], each.unit) for each in several
        ]
        labels = [goal(study) if each.name == "objective" else each.label for each in several]
        columns = [
            Column("outcome", tuple(labels), texts=_titled(labels, scales), head=("",), words=True),
            Column("unit", tuple(one.unit for one in scales), words=True, on=PAGE),
        ]
        for step, label in _PERCENTILES.items():
            values = [getattr(each, step) for each in several]
            columns.append(
                Column(
                    label,
                    tuple(one.text(v) for one, v in zip(whole, values, strict=True)),
                    texts=tuple(one.text(v) for one, v in zip(scales, values, strict=True)),
                    on=EVERYWHERE if step in _ON_SCREEN else PAGE,
                    detail=step not in _ON_FIRST,
                )
            )
        counts = tuple(each.count for each in several)
        texts = tuple(f"{each:,}" for each in counts)
        columns.append(Column("scenarios", counts, texts=texts, head=("of",), detail=True))
        main = tuple(at for at, each in enumerate(several) if each.name in _MAIN)
        first = max(1, len(main))
        yield Table(title, tuple(columns), first=first, kept=main, rows="outcomes", detail=detail)


def _titled(labels: Sequence[str], scales: Sequence[Scale]) -> tuple[str, ...]:
    pairs = zip(labels, scales, strict=True)
    return tuple(titled(fitted(label, _LABEL), one.unit) for label, one in pairs)


def _breaks(study: Uncertain) -> Table:
    ranked = sorted(study.breaks, key=lambda each: -each.share)
    worst = tuple("-" if each.worst is None else percent(each.worst) for each in ranked)
    columns = (
        Column("limit", tuple(each.label for each in ranked), head=("",), words=True),
        Column("breaks", tuple(each.breaks for each in ranked)),
        Column("share", tuple(percent(each.share) for each in ranked)),
        Column("excess at worst", worst),
    )
    return Table("Limits broken by the nominal plan", columns, detail=True)


def _candidates(study: Uncertain) -> Table:
    plans = study.candidates
    worth = results([v for each in plans for v in (each.mean, each.worst)], study.unit)
    unit = f", {worth.unit}" if worth.unit else ""
    worsts = tuple("breaks a limit" if p.worst is None else worth.text(p.worst) for p in plans)
    feasible = tuple(percent(each.feasible) for each in plans)
    regrets = [
        Column(f"{which} regret", tuple(percent(getattr(p, f"{which}_regret"), 2) for p in plans),
               head=(which, "regret"))
        for which in ("mean", "most")
    ]  # fmt: skip
    columns = (
        Column("plan", tuple(each.name for each in plans), head=("",), words=True),
        Column("best in", tuple(f"{each.best_in:,}" for each in plans), head=("best", "in")),
        Column("within limits", feasible, head=("within", "limits")),
        Column(f"mean {goal(study)}{unit}", tuple(worth.text(each.mean) for each in plans),
               head=("mean", worth.unit)),
        Column(f"worst {goal(study)}{unit}", worsts,
               texts=tuple(worth.text(each.worst) for each in plans), head=("worst", worth.unit)),
        *regrets,
        Column("", tuple(_mark(study, place) for place in range(len(plans))), words=True),
        Column("buys", tuple(units(p.counts, study.products, len(p.counts)) for p in plans),
               words=True, on=PAGE),
    )  # fmt: skip
    bought = tuple(f"{each.name}: {units(each.counts, study.products, 6)}" for each in plans)
    title = "Candidate plans, each kept in every scenario"
    return Table(title, columns, items=bought, detail=True)


def _mark(study: Uncertain, place: int) -> str:
    """Return the title of a candidate: nominal, least regret, best worst case."""
    each = study.candidates[place]
    names = (
        ("nominal", each.nominal and each.name != "nominal"),
        ("least regret", study.least_regret == place),
        ("best worst case", study.best_worst_case == place),
    )
    return ", ".join(name for name, holds in names if holds)


def _indices(study: Uncertain) -> Iterator[Block]:
    """Yield the share of the variance that each input explains."""
    ranked = sorted(study.indices, key=lambda each: -each.total)
    if not ranked:
        yield Text((study.indices_note,), "Sensitivity indices")
        return
    columns = (
        Column("input", tuple(each.label for each in ranked), head=("",), words=True),
        Column("first order", tuple(number(each.first, 3) for each in ranked)),
        Column("±", tuple(number(e.first_confidence, 3) for e in ranked)),
        Column("total", tuple(number(each.total, 3) for each in ranked)),
        Column("±", tuple(number(e.total_confidence, 3) for e in ranked)),
        Column("", tuple("#" * max(0, min(20, round(20 * each.total))) for each in ranked),
               words=True, on=SCREEN),
    )  # fmt: skip
    title = "Sensitivity indices: share of the variance, ± 95 % confidence"
    yield Table(title, columns, (study.indices_note,), detail=True)


def _inputs(inputs: Sequence[UncertainInput]) -> Table:
    written = [scale((each.low, each.median, each.high), each.unit) for each in inputs]
    labels = [each.label for each in inputs]
    columns = [
        Column("input", tuple(labels), texts=_titled(labels, written), head=("",), words=True),
        Column("distribution", tuple(each.distribution for each in inputs), words=True, under=True),
    ]
    for name in ("low", "median", "high"):
        values = [getattr(each, name) for each in inputs]
        shown = tuple(_drawn(each, value) for each, value in zip(inputs, values, strict=True))
        texts = tuple(one.text(value) for one, value in zip(written, values, strict=True))
        columns.append(Column(name, shown, texts=texts))
    return Table("Uncertain inputs", tuple(columns), detail=True)


def _drawn(each: UncertainInput, value: float) -> str:
    if each.unit == "choice":
        return f"choice {plain(value)}"
    return results([value], each.unit).with_unit(value)


def charts(study: Uncertain) -> tuple[Chart, ...]:
    """Return the charts of an uncertainty analysis that have something to draw."""
    makers = (
        (_outcome_chart, study.outcomes),
        (_break_chart, study.breaks),
        (_candidate_chart, study.candidates),
        (_index_chart, study.indices),
    )
    found = tuple(make(study) for make, there in makers if there)
    return found or (Chart("outcomes", "Outcomes", study.message or "No scenario has a plan."),)


def _outcome_chart(study: Uncertain) -> Chart:
    nominal = {outcome.name: outcome for outcome in study.nominal_outcomes}
    panels = []
    for best in study.outcomes:
        both = [best, nominal[best.name]] if best.name in nominal else [best]
        unit = scale([v for each in both for v in (each.least, each.most)], best.unit)
        layers = [layer for row, each in enumerate(both) for layer in _box(each, row, unit.size)]
        rows = tuple(
            f"{name}: median {axis_amount(each.p50, each.unit)}"
            for name, each in zip(("best plans", "nominal plan"), both, strict=False)
        )
        title = capital(short(goal(study) if best.name == "objective" else best.label, 52))
        panels.append(Panel(Axis("", unit.unit), Axis(""), tuple(layers), title=title, rows=rows))
    words = (
        "Box: 25 to 75 % of scenarios, with the median; line: 5 to 95 %; squares: least and most; "
        "diamond: mean."
    )
    return Chart("outcomes", "Outcomes", words, tuple(panels), legend=False)


def _box(outcome: Percentiles, row: int, size: float) -> Iterator[Layer]:
    v = {name: getattr(outcome, name) / size for name in _PERCENTILES}
    written = results([getattr(outcome, name) for name in _PERCENTILES], outcome.unit)
    hover = "\n".join(
        f"{label}: {written.with_unit(getattr(outcome, name))}"
        for name, label in _PERCENTILES.items()
    )
    at = row + ROW_MIDDLE
    yield Line("", (v["p5"], v["p95"]), (at, at), "quiet")
    yield Bars("", (at,), (v["p25"],), (v["p75"],), (hover,), ("",), "pale", False, 0.4)
    yield Line("", (v["p50"], v["p50"]), (at - 0.2, at + 0.2), "second")
    yield Points("", (v["least"], v["most"]), (at, at), (hover, hover), "quiet", "square", True)
    yield Points("", (v["mean"],), (at,), (hover,), "second", "diamond")


def _break_chart(study: Uncertain) -> Chart:
    rates = sorted(study.breaks, key=lambda rate: -rate.share)[:_MOST_ROWS]
    bars = Bars(
        "share of scenarios",
        tuple(row + ROW_MIDDLE for row in range(len(rates))),
        (0.0,) * len(rates),
        tuple(100.0 * rate.share for rate in rates),
        tuple(f"{short(rate.label, 60)}: {counted(rate.breaks, 'scenario')}" for rate in rates),
        tuple(f"{percent(rate.share)} ({rate.breaks:,})" for rate in rates),
        "bad",
        True,
    )
    rows = tuple(short(capital(rate.label), 52) for rate in rates)
    panel = Panel(Axis("share of scenarios", "%"), Axis(""), (bars,), rows=rows)
    words = "Share of scenarios in which the nominal plan, as bought, breaks a limit."
    return Chart("breaks", "Limits broken by the nominal plan", words, (panel,), False)


_LOOKS: tuple[tuple[Tone, Shape], ...] = (
    ("second", "star"), ("third", "diamond"), ("bad", "triangle"),
)  # fmt: skip


def _candidate_chart(study: Uncertain) -> Chart:
    named_ = {at: _mark(study, at) or "nominal" for at, plan in enumerate(study.candidates)
              if plan.nominal or _mark(study, at)}  # fmt: skip
    others = [plan for at, plan in enumerate(study.candidates) if at not in named_]
    layers = [
        _plans(study, name, plans, ("main", "circle"), 7.0)
        for name, plans in (
            ("breaks a limit in some scenario", [plan for plan in others if plan.feasible < 1]),
            ("meets every limit in all", [plan for plan in others if plan.feasible >= 1]),
        )
        if plans
    ]
    for (at, name), look in zip(named_.items(), _LOOKS, strict=False):
        plan = study.candidates[at]
        own = "" if plan.name == name else f" ({short(plan.name, 30)})"
        layers.append(_plans(study, f"{name}{own}", [plan], look, 12.0))
    panel = Panel(
        _regret_axis("mean regret", [plan.mean_regret for plan in study.candidates]),
        _regret_axis("worst regret", [plan.most_regret for plan in study.candidates]),
        tuple(layers),
    )
    words = (
        "Regret: loss against the best plan of a scenario; a broken limit counts as 100 %. Lower "
        "left is better. Hollow: breaks a limit in some scenario."
    )
    return Chart("candidates", "Regret of the candidate plans", words, (panel,))


def _regret_axis(label: str, shares: Sequence[float]) -> Axis:
    percents = [100.0 * share for share in shares]
    log = is_wide(percents, 8.0)
    return Axis(label, "%", log)


def _plans(
    study: Uncertain,
    name: str,
    plans: Sequence[CandidatePlan],
    look: tuple[Tone, Shape],
    size: float,
) -> Points:
    hovers = tuple(
        f"{short(plan.name, 60)}: {units(plan.counts, study.products)}\nregret "
        f"{percent(plan.mean_regret, 2)} mean, {percent(plan.most_regret, 2)} worst; meets every "
        f"limit in {percent(plan.feasible)}"
        for plan in plans
    )
    mean = tuple(100.0 * plan.mean_regret for plan in plans)
    worst = tuple(100.0 * plan.most_regret for plan in plans)
    return Points(name, mean, worst, hovers, *look, any(p.feasible < 1 for p in plans), size)


def _index_chart(study: Uncertain) -> Chart:
    shown = sorted(study.indices, key=lambda index: -index.total)[:_MOST_ROWS]
    layers: list[Layer] = []
    kinds: tuple[tuple[str, str, float, Tone], ...] = (
        ("first order", "first", -0.15, "main"), ("total", "total", 0.15, "second"),
    )  # fmt: skip
    for name, field, offset, tone in kinds:
        at = tuple(row + ROW_MIDDLE + offset for row in range(len(shown)))
        values = [getattr(index, field) for index in shown]
        halves = [getattr(index, f"{field}_confidence") for index in shown]
        pairs = list(zip(values, halves, strict=True))
        hovers = tuple(f"{name}: {plain_axis(v)} ± {plain_axis(half)}" for v, half in pairs)
        blank = ("",) * len(at)
        layers += [
            Bars(name, at, (0.0,) * len(at), tuple(values), hovers, blank, tone, offset > 0, 0.26),
            Whiskers("95 % confidence", at, tuple(v - half for v, half in pairs),
                     tuple(v + half for v, half in pairs)),
        ]  # fmt: skip
    rows = tuple(short(index.label, 52) for index in shown)
    panel = Panel(Axis("share of the variance"), Axis(""), tuple(layers), rows=rows)
    words = f"Share of the variance of {goal(study)} by input alone and with its interactions."
    if study.indices_note:
        words += f" {capital(study.indices_note).rstrip('.')}."
    return Chart("indices", f"Sensitivity indices of {goal(study)}", words, (panel,))
