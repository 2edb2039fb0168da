"""An uncertainty study: outcomes, broken limits, candidate plans, sensitivity indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.figures import capital
from planner.outputs.charts.model import (
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
    powers,
)
from planner.outputs.charts.words import (
    amount,
    counted_lines,
    plain,
    short,
)
from planner.outputs.sensitivity_words import amount as objective
from planner.outputs.sensitivity_words import goal
from planner.outputs.uncertain_text import describe_draw, proof
from planner.outputs.words import counted, percent, results, scale
from planner.schema.sensitivity import (
    BreakRate,
    CandidatePlan,
    Index,
    Percentiles,
    Uncertain,
)

MOST_ROWS = 20
_LABEL = 52
_AT, _BOX = 0.14, 0.2


def charts(study: Uncertain) -> tuple[Chart, ...]:
    """Return the charts of an uncertainty study, those for which there is something to draw."""
    if not any((study.outcomes, study.breaks, study.candidates, study.indices)):
        words = study.message or "There is nothing to draw."
        return (Chart("outcomes", "What the plans become", words),)
    makers = (
        (_outcomes, study.outcomes),
        (_breaks, study.breaks),
        (_candidates, study.candidates),
        (_indices, study.indices),
    )
    return tuple(make(study) for make, there in makers if there)


def _outcomes(study: Uncertain) -> Chart:
    parts = [
        f"{capital(describe_draw(study))}.",
        "Box: the middle half of the scenarios; line in it: the median; diamond: the mean; thin "
        "line: from 5 to 95 %; squares: least and most.",
    ]
    if study.nominal_outcomes:
        parts.append("The nominal plan is bought as it is, whatever limits it breaks.")
    parts += [proof(study), study.message or ""]
    nominal = {outcome.name: outcome for outcome in study.nominal_outcomes}
    panels = tuple(_boxes(study, outcome, nominal.get(outcome.name)) for outcome in study.outcomes)
    words = " ".join(part for part in parts if part)
    return Chart("outcomes", "What the plans become", words, panels, legend=False)


def _boxes(study: Uncertain, best: Percentiles, nominal: Percentiles | None) -> Panel:
    """Return the panel of an outcome: the best plans, and below them the nominal plan."""
    both = [best] if nominal is None else [best, nominal]
    known = [value for outcome in both for value in (outcome.least, outcome.most)]
    unit = scale(known, best.unit)
    layers = [layer for row, outcome in enumerate(both) for layer in _box(outcome, row, unit.size)]
    names = ("best plans", "nominal plan")
    rows = tuple(
        f"{name}: median {amount(outcome.p50, outcome.unit)}"
        for name, outcome in zip(names, both, strict=False)
    )
    title = capital(short(goal(study) if best.name == "objective" else best.label, _LABEL))
    return Panel(Axis("", unit.unit), Axis(""), tuple(layers), title=title, rows=rows)


def _box(outcome: Percentiles, row: int, size: float) -> Iterator[Layer]:
    least, p5, p25, p50, p75, p95, most, mean = (
        value / size
        for value in (
            outcome.least,
            outcome.p5,
            outcome.p25,
            outcome.p50,
            outcome.p75,
            outcome.p95,
            outcome.most,
            outcome.mean,
        )
    )
    hover = _percentiles(outcome)
    at = row + _AT
    yield Line("5 to 95 %", (p5, p95), (at, at), "quiet")
    yield Bars("middle half", (at,), (p25,), (p75,), (hover,), ("",), "pale", False, 2 * _BOX)
    yield Line("median", (p50, p50), (at - _BOX, at + _BOX), "second")
    ends = (least, most), (at, at), (hover, hover)
    yield Points("least and most", *ends, tone="quiet", shape="square", hollow=True)
    yield Points("mean", (mean,), (at,), (hover,), "second", "diamond")


def _percentiles(outcome: Percentiles) -> str:
    known = (
        outcome.least,
        outcome.p5,
        outcome.p25,
        outcome.p50,
        outcome.mean,
        outcome.p75,
        outcome.p95,
        outcome.most,
    )
    written = results(known, outcome.unit)
    least, p5, p25, p50, mean, p75, p95, most = (written.text(value) for value in known)
    return "\n".join(
        (
            f"{counted(outcome.count, 'scenario')}, {written.unit}".rstrip(", "),
            f"median {p50}, mean {mean}",
            f"middle half {p25} to {p75}",
            f"5 to 95 %: {p5} to {p95}",
            f"least {least}, most {most}",
        )
    )


def _breaks(study: Uncertain) -> Chart:
    rates = sorted(study.breaks, key=lambda rate: -rate.share)
    shown = rates[:MOST_ROWS]
    never = sum(rate.breaks == 0 for rate in rates)
    words = "The nominal plan, bought as it is: the share of scenarios in which it breaks a limit."
    if never:
        words += f" {counted(never, 'limit is', 'limits are')} never broken."
    if len(rates) > len(shown):
        words += f" The {len(shown)} broken most often are shown."
    bars = Bars(
        "share of scenarios",
        tuple(row + _AT for row in range(len(shown))),
        (0.0,) * len(shown),
        tuple(100.0 * rate.share for rate in shown),
        tuple(_broken(rate) for rate in shown),
        tuple(f"{percent(rate.share)} ({rate.breaks:,})" for rate in shown),
        tone="bad",
        hatched=True,
    )
    rows = tuple(short(capital(rate.label), _LABEL) for rate in shown)
    panel = Panel(Axis("share of scenarios", "%"), Axis(""), (bars,), rows=rows)
    return Chart("breaks", "How often the nominal plan breaks a limit", words, (panel,), False)


def _broken(rate: BreakRate) -> str:
    lines = [
        capital(short(rate.label, 60)),
        f"broken in {counted(rate.breaks, 'scenario')} ({percent(rate.share)})",
    ]
    if rate.worst is not None:
        lines.append(f"passed by {percent(rate.worst)} of it at worst")
    return "\n".join(lines)


_WIDE = 8.0
_LOOKS: tuple[tuple[Tone, Shape], ...] = (
    ("second", "star"), ("third", "diamond"), ("bad", "triangle"),
)  # fmt: skip


def _candidates(study: Uncertain) -> Chart:
    """Return the chart of the candidate plans."""
    words = (
        f"{counted(len(study.candidates), 'plan')}, each best in some scenario and kept as it is "
        "in all. Regret is how far behind the best plan of a scenario it stays; a scenario in "
        "which it breaks a limit counts as 100 %. Nearer to the lower left is better. Hollow: "
        "breaks a limit in some scenario."
    )
    panel = Panel(
        _axis("mean regret", [plan.mean_regret for plan in study.candidates]),
        _axis("regret in its worst scenario", [plan.most_regret for plan in study.candidates]),
        tuple(_layers(study)),
    )
    return Chart("candidates", "Which plan to regret least", words, (panel,))


def _axis(label: str, shares: Sequence[float]) -> Axis:
    percents = [100.0 * share for share in shares]
    log = is_wide(percents, _WIDE)
    return Axis(label, "%", log, powers(percents) if log else ())


def _names_of(study: Uncertain) -> dict[int, str]:
    """Return the candidates that have a name of their own, by place."""
    names: dict[int, list[str]] = {}
    for place, plan in enumerate(study.candidates):
        if plan.nominal:
            names.setdefault(place, []).append("nominal plan")
    if study.least_regret is not None:
        names.setdefault(study.least_regret, []).append("least regret")
    if study.best_worst_case is not None:
        names.setdefault(study.best_worst_case, []).append("best worst case")
    return {place: " and ".join(said) for place, said in names.items()}


def _layers(study: Uncertain) -> Iterator[Layer]:
    names = _names_of(study)
    others = [plan for place, plan in enumerate(study.candidates) if place not in names]
    for name, plans in (
        ("breaks a limit in some scenario", [plan for plan in others if plan.feasible < 1]),
        ("meets every limit in all", [plan for plan in others if plan.feasible >= 1]),
    ):
        if plans:
            yield _plans(study, name, plans, ("main", "circle"), 7.0)
    for (place, name), look in zip(names.items(), _LOOKS, strict=False):
        plan = study.candidates[place]
        yield _plans(study, f"{name} ({short(plan.name, 30)})", [plan], look, 12.0)


def _plans(
    study: Uncertain,
    name: str,
    plans: Sequence[CandidatePlan],
    look: tuple[Tone, Shape],
    size: float,
) -> Points:
    return Points(
        name,
        tuple(100.0 * plan.mean_regret for plan in plans),
        tuple(100.0 * plan.most_regret for plan in plans),
        tuple(_hover(study, plan) for plan in plans),
        *look,
        any(plan.feasible < 1 for plan in plans),
        size,
    )


def _hover(study: Uncertain, plan: CandidatePlan) -> str:
    lines = [
        short(plan.name, 60),
        *counted_lines(plan.counts),
        f"mean regret {percent(plan.mean_regret, 2)}, at worst {percent(plan.most_regret, 2)}",
        f"best in {counted(plan.best_in, 'scenario')}",
        f"meets every limit in {percent(plan.feasible)}",
    ]
    if plan.mean is not None:
        lines.append(f"mean {goal(study)}: {objective(study, plan.mean)}")
    if plan.worst is not None:
        lines.append(f"worst {goal(study)}: {objective(study, plan.worst)}")
    return "\n".join(lines)


_PAIR = 0.15


def _indices(study: Uncertain) -> Chart:
    """Return the chart of first-order and total indices."""
    order = sorted(study.indices, key=lambda index: -index.total)
    shown = order[:MOST_ROWS]
    words = (
        f"Share of the variance of {goal(study)} that an input explains alone (first order) and "
        "with all its interactions (total). Thin lines: 95 % confidence."
    )
    if len(order) > len(shown):
        words += f" The {len(shown)} largest of {len(order)}."
    if study.indices_note:
        words += f" {capital(study.indices_note).rstrip('.')}."
    rows = tuple(short(index.label, _LABEL) for index in shown)
    layers: tuple[Layer, ...] = (
        *_index_layers(shown, "alone", -_PAIR),
        *_index_layers(shown, "in all", _PAIR),
    )
    panel = Panel(Axis("share of the variance"), Axis(""), layers, rows=rows)
    return Chart("indices", f"What makes {goal(study)} uncertain", words, (panel,))


def _index_layers(shown: Sequence[Index], which: str, offset: float) -> tuple[Bars, Whiskers]:
    total = which == "in all"
    values = [index.total if total else index.first for index in shown]
    halves = [index.total_confidence if total else index.first_confidence for index in shown]
    places = tuple(row + _AT + offset for row in range(len(shown)))
    bars = Bars(
        f"explains {which}",
        places,
        (0.0,) * len(values),
        tuple(values),
        tuple(_index(index) for index in shown),
        ("",) * len(values),
        "second" if total else "main",
        total,
        0.26,
    )
    lows = tuple(value - half for value, half in zip(values, halves, strict=True))
    highs = tuple(value + half for value, half in zip(values, halves, strict=True))
    return bars, Whiskers("95 % confidence", places, lows, highs)


def _index(index: Index) -> str:
    return "\n".join(
        (
            short(index.label, 60),
            f"alone: {plain(index.first)} ± {plain(index.first_confidence)}",
            f"in all: {plain(index.total)} ± {plain(index.total_confidence)}",
        )
    )


def heading(_study: Uncertain) -> str:
    """Return the title of an uncertainty study."""
    return "Where inputs are not known exactly"
