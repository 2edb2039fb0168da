"""A plan and studies in one HTML file: blocks laid out by Jinja2; it fetches nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from planner.figures import FIGURES, capital
from planner.report import formats as fmt
from planner.report.blocks import (
    Bar,
    BarList,
    Block,
    Chart,
    Facts,
    Heading,
    Table,
    Text,
    Tiles,
    choose_rows,
)
from planner.report.edition import HIDDEN_OBJECTIVE, bought_text, in_currency, own_lines
from planner.report.plan import (
    answer_lines,
    bill,
    limit_bars,
    near_optimal_loss,
    storage_alternatives,
    tiles,
)
from planner.schema.operation import JobPlan
from planner.schema.plan import Plan, Totals

Part = dict[str, Any]
"""A block, or a section of the page, as the template takes it."""
_LONGEST, _MOST_ROWS = 240, 200
_TILES, _MOST_LIMITS, _MOST_NAMED = 9, 12, 4
_MINUTES_PER_DAY = 1440


class ShownStudy(NamedTuple):
    """A study as blocks and charts."""

    blocks: tuple[Block, ...]
    charts: tuple[Chart, ...]


def render_page(title: str, plan: Plan | None, studies: Sequence[ShownStudy]) -> str:
    """The page as one HTML text without scripts.

    Args:
        title: its heading.
        plan: subject of the studies; None for a page of studies alone.
        studies: in the order in which they are shown.
    """
    css = files("planner.report").joinpath("page.css").read_text("utf-8")
    sections = _sections(plan, studies)
    return str(_template().render(title=title, css=css, sections=sections, fragment=False))


def fragment(blocks: Iterable[Block]) -> str:
    """Blocks as a piece of HTML, for a notebook."""
    return str(_template().render(parts=list(_parts(blocks)), fragment=True))


@cache
def _template() -> Any:
    from jinja2 import Environment
    from markupsafe import Markup

    def cleaned(value: Any) -> Any:
        is_text = isinstance(value, str) and not isinstance(value, Markup)
        return fmt.clean(value, limit=None) if is_text else value

    found = Environment(autoescape=True, finalize=cleaned, trim_blocks=True)
    found.filters["one_line"] = lambda text: fmt.cut_text(" ".join(text.split()), _LONGEST)
    return found.from_string(files("planner.report").joinpath("page.html").read_text("utf-8"))


# Sections.


def _sections(plan: Plan | None, studies: Sequence[ShownStudy]) -> list[Part]:
    found = [_study(at, each) for at, each in enumerate(studies, 1)]
    if plan is None:
        return found
    first, *rest = (
        {"place": place, "title": title, "parts": tuple(_parts(blocks))}
        for place, title, blocks in plan_sections(in_currency(plan))
    )
    return [first, *rest[:-2], *found, *rest[-2:]]


def _study(number: int, shown: ShownStudy) -> Part:
    """A study: its facts, its charts, then its tables."""
    place = f"study-{number}"
    title = next((each.text for each in shown.blocks if isinstance(each, Heading)), "Study")
    title = shown.charts[0].title if shown.charts else title
    parts = list(_parts(shown.blocks))
    several = len(shown.charts) > 1
    drawn = [_chart(f"{place}-{chart.name}", chart, several) for chart in shown.charts]
    found = (*parts[:1], *drawn, *parts[1:])
    return {"place": place, "title": title, "parts": found, "of": f"study {number}"}


def _chart(place: str, chart: Chart, titled: bool) -> Part:
    from planner.report.charts import svg_element

    label, title = f"{chart.title}. {chart.subtitle}", chart.title if titled else ""
    words = {"title": title, "subtitle": chart.subtitle, "label": label}
    svg = "" if chart.panel is None else svg_element(chart, f"{place}-plot")
    return {"kind": "chart", "place": place, "svg": svg, **words}


def _parts(blocks: Iterable[Block]) -> Iterator[Part]:
    for block in blocks:
        if isinstance(block, Facts) and block.shown:
            yield {"kind": "facts", "rows": block.shown}
        elif isinstance(block, Text) and block.shown:
            yield {"kind": "text", "texts": block.shown, "block": block}
        elif isinstance(block, Tiles):
            yield {"kind": "tiles", "figures": block.figures}
        elif isinstance(block, BarList) and block.bars:
            yield {"kind": "bars", "block": block}
        elif isinstance(block, Table) and block.count:
            yield _table(block)


def _table(block: Table) -> Part:
    most = _MOST_ROWS if block.most is None else min(block.most, _MOST_ROWS)
    places = choose_rows(block.count, most, block.kept)
    columns = block.select_rows(places).columns
    cut = f": {len(places)} of {fmt.count_noun(block.count, 'row')}"
    return {
        "kind": "table",
        "title": block.title,
        "which": cut if len(places) < block.count else "",
        "heads": [fmt.column_head(c.label, c.shown_unit) for c in columns],
        "words": [column.words for column in columns],
        "rows": list(zip(*(column.written for column in columns), strict=True)),
        "foot": [column.foot for column in columns] if any(c.foot for c in columns) else [],
        "notes": [note for note in block.notes if note],
    }


# A plan: the blocks of its screen, shares of money, power and time, the whole bill.


def plan_sections(plan: Plan) -> Iterator[tuple[str, str, list[Block]]]:
    """Place, title and blocks of each part: the answer first, the bill and the problem last."""
    totals = plan.totals
    if totals is None or not plan.jobs:
        text = capital(plan.message or fmt.STATUS_WORDS[plan.status])
        yield "answer", "The plan", [Text((text,), style="note")]
    else:
        yield "answer", "The plan", _answer(plan, totals)
        yield "shares", "Money, power and time", _shares(plan, totals)
        for block in storage_alternatives(plan):
            yield "storage", "Storage alternatives", [replace(block, title="")]
        yield "bill", "Bill of materials", [bill(plan)]
    yield "asked", "Problem", [Facts(tuple(_facts_of_plan(plan)))]


def _answer(plan: Plan, totals: Totals) -> list[Block]:
    job, goal = plan.jobs[0], plan.objective
    shown = goal.name != HIDDEN_OBJECTIVE and goal.value is not None and goal.bound is not None
    rows = [
        *answer_lines(plan, totals, job),
        ("Tolerance", near_optimal_loss(plan)),
        ("Proof", fmt.proof(goal) if shown else ""),
    ]
    return [
        Text((bought_text(plan),), style="answer"),
        Tiles(tuple(tiles(totals, job, _TILES))),
        Facts(tuple(rows)),
        limit_bars(plan, _MOST_LIMITS),
    ]


def _shares(plan: Plan, totals: Totals) -> list[Block]:
    kw: dict[str, float] = {}
    for line in own_lines(plan):
        kw[line.section] = kw.get(line.section, 0.0) + (line.it_power_kw or 0.0)
    found: list[Block] = [
        BarList("Capex by section", _by_section(totals.capex_by_section_usd, "USD")),
        BarList("IT load by section", _by_section(kw, "kW")),
    ]
    for job in plan.jobs:
        under = f"Goodput {fmt.percent(job.goodput, 2)}, an interruption every "
        under += f"{fmt.duration(job.mtti_s)}; minutes of a day lost to:"
        found.append(BarList(f"Lost time of {job.name or 'the job'}", _losses(job), under))
    return found


def _by_section(amounts: dict[str, float], unit: str) -> tuple[Bar, ...]:
    whole = sum(amounts.values())
    ranked = sorted(amounts.items(), key=lambda pair: -pair[1])
    return tuple(
        Bar(name, value / whole, f"{fmt.quantity(value, unit)}, {fmt.percent(value / whole)}")
        for name, value in ranked
        if value > 0
    )


def _losses(job: JobPlan) -> tuple[Bar, ...]:
    ranked = sorted(job.losses.items(), key=lambda pair: -pair[1])
    most = ranked[0][1] if ranked else 0.0
    return tuple(
        Bar(
            FIGURES[f"loss.{name}"].label,
            share / most,
            f"{share * _MINUTES_PER_DAY:,.1f} min, {fmt.percent(share, 2)}",
        )
        for name, share in ranked
        if most > 0
    )


def _facts_of_plan(plan: Plan) -> Iterator[tuple[str, str]]:
    made = plan.provenance
    yield "Problem", plan.problem + (f" ({made.problem_file})" if made.problem_file else "")
    yield "About", plan.description or ""
    yield "Scenario", made.scenario or ""
    yield "Changed", ", ".join(made.overrides)
    if plan.shown_in.source:  # other editions have no source of the rate
        yield "Currency", plan.shown_in.rate_text()
