"""A plan in a report: what was asked, its proof, figures and bill, and bars that need no script."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from planner.currency import bare
from planner.figures import FIGURES, objective_label
from planner.outputs.alternatives_text import bought
from planner.outputs.audience import HIDDEN_OBJECTIVE
from planner.outputs.charts.markup import Cells, Table, paragraph, render_table, tag, text, words
from planner.outputs.charts.model import TONES
from planner.outputs.charts.words import capital, gap, short
from planner.outputs.scope import own_lines
from planner.outputs.sensitivity_words import STATUS
from planner.outputs.words import (
    amount_of,
    duration,
    in_money,
    money,
    number,
    percent,
    product,
    proof,
    quantity,
    size,
)
from planner.schema.plan import JobPlan, LimitReport, ObjectiveReport, Plan
from planner.schema.sensitivity import Study


def asked(plan: Plan | None, studies: Sequence[Study]) -> str:
    """Return what was asked: the problem, its objective, and what was laid over it.

    Args:
        plan: the plan, where it is at hand.
        studies: the studies; the first speaks for the problem where there is no plan.
    """
    rows = list(_of_plan(plan)) if plan is not None else list(_of_studies(studies))
    entries = "".join(tag("div", tag("dt", text(name)) + tag("dd", said)) for name, said in rows)
    return tag("dl", entries, {"class": "asked"}) if rows else ""


def _of_plan(plan: Plan) -> Iterator[tuple[str, str]]:
    made = plan.provenance
    yield "Problem", text(plan.problem) + _file(made.problem_file)
    if plan.description:
        yield "About", text(plan.description)
    yield from _laid_over(made.scenario, made.overrides)
    goal = plan.objective
    if goal.name != HIDDEN_OBJECTIVE:
        yield "Asked for", text(_goal(goal.name, goal.sense, goal.gap_asked))


def _of_studies(studies: Sequence[Study]) -> Iterator[tuple[str, str]]:
    if studies:
        first = studies[0]
        yield "Problem", text(first.problem) + _file(first.problem_file)
        yield from _laid_over(first.scenario, first.overrides)
        yield "Asked for", text(_goal(first.objective, first.sense, first.gap_asked))


def _file(name: str) -> str:
    return f" ({tag('code', text(name))})" if name else ""


def _laid_over(scenario: str | None, overrides: Sequence[str]) -> Iterator[tuple[str, str]]:
    if scenario is not None:
        yield "Scenario", text(scenario)
    if overrides:
        yield "Changed", ", ".join(tag("code", text(one)) for one in overrides)


def _goal(name: str, sense: str, gap_asked: float) -> str:
    most = "the most" if sense == "maximize" else "the least"
    return f"{most} {objective_label(name)}, proven to {gap(gap_asked)}"


def plan_summary(plan: Plan) -> str:
    """Return a plan: what to buy, its proof, its figures, its charts, its bill."""
    parts: list[str] = []
    if plan.totals is None or not plan.jobs:
        said = capital(plan.message or STATUS[plan.status])
        return "\n".join([*parts, paragraph(said, "note")])
    job = plan.jobs[0]
    parts.append(paragraph(f"{bought(plan)}. {_proof(plan.objective)}", "note"))
    tiles = "".join(
        tag("li", tag("b", text(value)) + tag("span", text(name)))
        for value, name in _tiles(plan, job)
    )
    parts.append(tag("ul", tiles, {"class": "tiles"}))
    parts += [paragraph(_running(each)) for each in plan.jobs]
    binding = [
        limit.label for limit in plan.limits if limit.binding and not limit.name.endswith(".fixed")
    ]
    parts.append(paragraph(f"What holds it: {', '.join(binding) or 'no limit'}."))
    return "\n".join([*parts, plan_charts(plan), _bill(plan)])


def side_by_side(plans: Sequence[tuple[str, Plan]]) -> str:
    """Return the figures of several plans in a table, a column for each.

    Args:
        plans: by the names they go by.
    """
    columns = [_figures(plan) for _, plan in plans]
    rows = list(dict.fromkeys(name for column in columns for name in column))
    table = Table(
        "Figures",
        (
            words("figure", [capital(row) for row in rows]),
            *(
                Cells(name, tuple(column.get(row, "") for row in rows))
                for (name, _), column in zip(plans, columns, strict=True)
            ),
        ),
        len(rows),
    )
    return tag("h2", "The plans side by side") + render_table(table)


def _figures(plan: Plan) -> dict[str, str]:
    """Return what a plan is compared by, in words."""
    goal = plan.objective
    found = {"problem": plan.problem, "status": STATUS[plan.status]}
    if goal.name != HIDDEN_OBJECTIVE and goal.value is not None:
        name = f"{goal.sense} {objective_label(goal.name)}"
        found[name] = f"{amount_of(goal, goal.value)} (gap {gap(goal.gap)})"
    if plan.totals is None or not plan.jobs:
        return found
    job = plan.jobs[0]
    found["buys"] = bought(plan)
    found |= {name: value for value, name in _tiles(plan, job)}
    found[FIGURES["interval_s"].label] = duration(job.interval_s)
    return found


def _proof(goal: ObjectiveReport) -> str:
    if goal.name == HIDDEN_OBJECTIVE or goal.value is None:
        return f"Proven to a gap of {gap(goal.gap)}." if goal.gap is not None else ""
    return f"{capital(proof(goal))}."


def _tiles(plan: Plan, job: JobPlan) -> Iterator[tuple[str, str]]:
    """Yield the figures that a plan is known by, those that it has, each with its label."""
    totals = plan.totals
    assert totals is not None
    values: dict[str, tuple[float | None, Callable[[float], str]]] = {
        "gpus_used": (job.gpus_used, lambda gpus: f"{gpus:,}"),
        "useful_pflops": (job.useful_pflops, lambda rate: f"{rate:,.0f} PFLOP/s"),
        "goodput": (job.goodput, lambda share: percent(share, 2)),
        "delivered_write_gb_per_s": (
            job.delivered_write_gb_per_s,
            lambda rate: f"{rate:,.0f} GB/s",
        ),
        "facility_power_kw": (totals.facility_power_kw, lambda kw: f"{number(kw)} kW"),
        "racks": (totals.racks, lambda racks: f"{racks:,}"),
        "capex_usd": (totals.capex_usd, money),
        "tco_usd": (totals.tco_usd, money),
        "days_to_train": (job.days_to_train, lambda days: f"{days:,.1f}"),
    }
    for name, (value, write) in values.items():
        if value is not None:
            yield write(value), FIGURES[name].label


def _running(job: JobPlan) -> str:
    return (
        f"{job.name}: a checkpoint of {size(job.checkpoint_gb)} every {duration(job.interval_s)}, "
        f"an interruption every {duration(job.mtti_s)}."
    )


def _bill(plan: Plan) -> str:
    """Return the whole bill, with its sums; money has no column where the edition shows none."""
    lines = own_lines(plan)
    columns = [
        (words("item", [product(line) for line in lines]), "Together"),
        (words("part number, else id", [line.part_number or line.sku for line in lines]), ""),
        (words("section", [line.section for line in lines]), ""),
        (Cells("quantity", tuple(f"{line.quantity:,}" for line in lines)), ""),
    ]
    if any(line.unit_net_usd is not None for line in lines):
        code = in_money("USD")
        columns += [
            (Cells("bought", tuple(f"{line.purchased:,}" for line in lines)), ""),
            (Cells(f"unit net, {code}", tuple(_usd(line.unit_net_usd) for line in lines)), ""),
            _summed(f"net, {code}", [line.extended_net_usd for line in lines], _usd),
        ]
    columns.append(_summed("IT power, kW", [line.it_power_kw for line in lines], _kw))
    heads = tuple(column for column, _ in columns)
    table = Table("Bill", heads, len(lines))
    return render_table(table, [total for _, total in columns])


def _summed(
    head: str, values: Sequence[float | None], said: Callable[[float | None], str]
) -> tuple[Cells, str]:
    """Return a column with its sum, which says so where a line's figure is not known."""
    known = [value for value in values if value is not None]
    total = said(math.fsum(known)) + (", known part" if len(known) < len(values) else "")
    return Cells(head, tuple(said(value) for value in values)), total


def _usd(usd: float | None) -> str:
    return bare(usd, None)


def _kw(kw: float | None) -> str:
    return "not known" if kw is None else f"{kw:,.2f}"


_LABEL = 60
_MOST_LIMITS = 12
_LEAST_SHARE = 0.002
"""A bar of less is drawn this long, so that it is seen."""
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
        _chart(
            "How far the limits are used",
            "What binds is drawn in another colour.",
            _limits(plan.limits),
        ),
        _chart(
            "Where the money goes",
            "Capex by section of the bill, shares of all of it.",
            _parts(plan.totals.capex_by_section_usd, money),
        ),
        _chart(
            "Where the power goes",
            "IT power by section of the bill, shares of all of it.",
            _parts(_power_kw(plan), lambda kw: f"{number(kw, 1)} kW"),
        ),
        *(
            _chart(
                f"Where the time of {job.name} goes",
                f"{percent(job.goodput, 2)} of it is useful work; the rest, minutes of a day:",
                _losses(job),
            )
            for job in plan.jobs
        ),
    ]
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
    lost = job.losses
    most = max(lost.values())
    if most <= 0:
        return []
    return [
        Bar(
            FIGURES[f"loss.{name}"].label,
            share / most,
            f"{share * _MINUTES_PER_DAY:,.1f} min, {percent(share, 2)}",
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
