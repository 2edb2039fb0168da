"""The charts of a plan in a report: bars that are part of the page and need no script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from planner.outputs.charts.amounts import capital, short
from planner.outputs.charts.markup import paragraph, tag, text
from planner.outputs.charts.model import TONES
from planner.outputs.scope import own_lines
from planner.outputs.words import money, number, percent, quantity
from planner.schema.plan import JobPlan, LimitReport, Loss, Plan

_LABEL = 60
_MOST_LIMITS = 12
_LEAST_SHARE = 0.002
"""A bar of less is drawn this long, so that it is seen."""
_LOSSES = {
    "stall": "standing still while a checkpoint is taken",
    "rework": "work done again after an interruption",
    "drain": "slower while a checkpoint is written out",
    "restart": "starting again",
    "restore": "reading the checkpoint back",
}
_MINUTES_PER_DAY = 1440


@dataclass(frozen=True)
class Bar:
    """A labelled bar: ``share`` of the full length, and what is said beside it."""

    label: str
    share: float
    said: str
    full: bool = False


def plan_charts(plan: Plan) -> str:
    """Return the charts of a plan: limits, money, power, time.

    Args:
        plan: a plan with totals and a job.
    """
    assert plan.totals is not None
    charts = [
        _chart("How far the limits are used", "What binds is drawn in another colour.",
               _limits(plan.limits)),
        _chart("Where the money goes", "Capex by section of the bill, shares of all of it.",
               _parts(plan.totals.capex_by_section_usd, money)),
        _chart("Where the power goes", "IT power by section of the bill, shares of all of it.",
               _parts(_power_kw(plan), lambda kw: f"{number(kw, 1)} kW")),
        *(_chart(f"Where the time of {job.name} goes",
                 f"{percent(job.goodput, 2)} of it is useful work; the rest, minutes of a day:",
                 _losses(job)) for job in plan.jobs),
    ]  # fmt: skip
    drawn = "".join(chart for chart in charts if chart)
    return tag("div", drawn, {"class": "panels"}) if drawn else ""


def _limits(limits: Sequence[LimitReport]) -> list[Bar]:
    """Return the limits nearest to what they allow; those that fix a count say nothing."""
    bars = [
        Bar(limit.label, used, _of(limit), limit.binding)
        for limit in limits
        if not limit.exact and (used := _used(limit)) is not None
    ]
    return sorted(bars, key=lambda bar: -bar.share)[:_MOST_LIMITS]


def _used(limit: LimitReport) -> float | None:
    """Return how near a limit is, 1 where nothing is left; None where that is no share."""
    part, whole = limit.value, limit.limit
    if limit.sense == ">=":
        part, whole = whole, part
    return min(1.0, part / whole) if whole > 0 and part >= 0 else None


def _of(limit: LimitReport) -> str:
    word = "at most" if limit.sense == "<=" else "at least"
    said = f"{quantity(limit.value, limit.unit)}, {word} {quantity(limit.limit, limit.unit)}"
    return said + (" (binds)" if limit.binding else "")


def _parts(amounts: dict[str, float], said: Callable[[float], str]) -> list[Bar]:
    whole = sum(amounts.values())
    if whole <= 0:
        return []
    ranked = sorted(amounts.items(), key=lambda pair: -pair[1])
    return [
        Bar(name, value / whole, f"{said(value)}, {percent(value / whole)}")
        for name, value in ranked
        if value > 0
    ]


def _power_kw(plan: Plan) -> dict[str, float]:
    found: dict[str, float] = {}
    for line in own_lines(plan):
        found[line.section] = found.get(line.section, 0.0) + (line.it_power_kw or 0.0)
    return found


def _losses(job: JobPlan) -> list[Bar]:
    lost = {name: getattr(job.loss, name) for name in Loss.model_fields}
    most = max(lost.values())
    if most <= 0:
        return []
    return [
        Bar(
            _LOSSES[name], share / most, f"{share * _MINUTES_PER_DAY:,.1f} min, {percent(share, 2)}"
        )
        for name, share in sorted(lost.items(), key=lambda pair: -pair[1])
    ]


def _chart(title: str, subtitle: str, bars: Sequence[Bar]) -> str:
    if not bars:
        return ""
    caption = tag("figcaption", tag("h3", text(title)) + paragraph(subtitle))
    rows = "".join(_rows(bars))
    return tag("figure", caption + tag("table", tag("tbody", rows)), {"class": "bars"})


def _rows(bars: Sequence[Bar]) -> Iterator[str]:
    for bar in bars:
        label = tag(
            "th", text(capital(short(bar.label, _LABEL))), {"scope": "row", "class": "word"}
        )
        colour = TONES["second" if bar.full else "main"]
        width = f"{100 * max(bar.share, _LEAST_SHARE):.2f}%"
        rect = tag("rect", "", {"width": width, "height": "100%", "fill": colour})
        drawn = tag("svg", rect, {"class": "bar", "aria-hidden": "true"})
        yield tag("tr", label + tag("td", drawn, {"class": "drawn"}) + tag("td", text(bar.said)))
