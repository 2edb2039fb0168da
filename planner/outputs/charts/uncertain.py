"""The pictures of an uncertainty study: outcomes, broken limits, candidate plans, indices."""

from __future__ import annotations

from collections.abc import Iterator

from planner.outputs.charts.amounts import amount, capital, short
from planner.outputs.charts.indices import indices
from planner.outputs.charts.model import Axis, Bars, Chart, Layer, Line, Panel, Points
from planner.outputs.charts.regret import candidates
from planner.outputs.comparison_words import counted
from planner.outputs.scales import results, scale
from planner.outputs.sensitivity_words import goal
from planner.outputs.uncertain_text import drawn, proof
from planner.outputs.words import percent
from planner.schema.sensitivity import BreakRate, Percentiles, Uncertain

MOST_ROWS = 20
_LABEL = 52
_AT, _BOX = 0.14, 0.2


def uncertain(study: Uncertain) -> tuple[Chart, ...]:
    """Return the charts of an uncertainty study, those for which there is something to draw."""
    if not any((study.outcomes, study.breaks, study.candidates, study.indices)):
        words = study.message or "There is nothing to draw."
        return (Chart("outcomes", "What the plans become", words),)
    makers = (
        (_outcomes, study.outcomes), (_breaks, study.breaks), (candidates, study.candidates),
        (indices, study.indices),
    )  # fmt: skip
    return tuple(make(study) for make, there in makers if there)


def _outcomes(study: Uncertain) -> Chart:
    parts = [
        f"{capital(drawn(study))}.",
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


def _label(study: Uncertain, outcome: Percentiles) -> str:
    return goal(study) if outcome.name == "objective" else outcome.label


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
    title = capital(short(_label(study, best), _LABEL))
    return Panel(Axis("", unit.unit), Axis(""), tuple(layers), title=title, rows=rows)


def _box(outcome: Percentiles, row: int, size: float) -> Iterator[Layer]:
    least, p5, p25, p50, p75, p95, most, mean = (
        value / size
        for value in (outcome.least, outcome.p5, outcome.p25, outcome.p50, outcome.p75,
                      outcome.p95, outcome.most, outcome.mean)
    )  # fmt: skip
    hover = _percentiles(outcome)
    at = row + _AT
    yield Line("5 to 95 %", (p5, p95), (at, at), "quiet")
    yield Bars("middle half", (at,), (p25,), (p75,), (hover,), ("",), "pale", False, 2 * _BOX)
    yield Line("median", (p50, p50), (at - _BOX, at + _BOX), "second")
    ends = (least, most), (at, at), (hover, hover)
    yield Points("least and most", *ends, tone="quiet", shape="square", hollow=True)
    yield Points("mean", (mean,), (at,), (hover,), "second", "diamond")


def _percentiles(outcome: Percentiles) -> str:
    known = (outcome.least, outcome.p5, outcome.p25, outcome.p50, outcome.mean, outcome.p75,
             outcome.p95, outcome.most)  # fmt: skip
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
