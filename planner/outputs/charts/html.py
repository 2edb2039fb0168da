"""A report of plans and studies in one HTML file, which needs nothing else and fetches nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from typing import NamedTuple, TypeAlias

from planner.currency import shown_in
from planner.outputs.charts.model import Chart
from planner.outputs.charts.plan_page import (
    answer,
    bill,
    plan_charts,
    question_table,
    running,
    side_by_side,
    storage,
)
from planner.outputs.charts.studies import AnyStudy, charts, heading, headline, tables
from planner.outputs.charts.words import paragraph, render_table, tag, text
from planner.outputs.sensitivity_words import as_it_stands, named
from planner.outputs.sweep_rows import Rows
from planner.schema.comparison import RulesTable
from planner.schema.plan import Plan
from planner.schema.sensitivity import Frontier, Sweep

Shown: TypeAlias = tuple[AnyStudy, Rows | None]
"""A study, and the rows of a sweep by column."""


class ShownPlan(NamedTuple):
    """A plan and its name."""

    name: str
    plan: Plan


class _Section(NamedTuple):
    """A part of the page: its place, its heading, and what is in it as HTML."""

    place: str
    title: str
    content: str


def report(title: str, plans: Sequence[ShownPlan], studies: Sequence[Shown]) -> str:
    """Return the report as one HTML text without scripts.

    Args:
        plans: a single one is what the studies are about; several stand side by side first.
        studies: what to show, in this order.
    """
    page = _Page([shown.plan.provenance.input_sha256 for shown in plans])
    sections = _sections(page, plans, studies)
    links = "".join(
        tag("li", tag("a", text(each.title), {"href": f"#{each.place}"})) for each in sections
    )
    parts = "\n".join(
        tag("section", f"{tag('h2', text(each.title))}\n{each.content}", {"id": each.place})
        for each in sections
    )
    contents = tag("nav", tag("ul", links, {"class": "parts"}), {"aria-label": "What is here"})
    head = "\n".join(
        (
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            tag("title", text(title)),
            f"<style>\n{_style()}</style>",
        )
    )
    skip = tag("a", "Skip to the content", {"class": "skip", "href": f"#{sections[0].place}"})
    top = f"{skip}\n<header>\n{tag('h1', text(title))}\n{contents}\n</header>"
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{top}\n<main>\n'
        f"{parts}\n</main>\n</body>\n</html>\n"
    )


def _sections(page: _Page, plans: Sequence[ShownPlan], studies: Sequence[Shown]) -> list[_Section]:
    """Return the parts: the plan with the curve of its storage among them, then the studies."""
    numbered = list(enumerate(studies, 1))
    if not plans:
        about = question_table(None, [study for study, _ in studies])
        return [*_studies(page, numbered), _Section("asked", "What was asked", about)]
    if len(plans) == 1:
        curves = [each for each in numbered if _is_curve(each[1][0])]
        parts, money = _plan_parts(page, plans[0], "", 3), plans[0].plan.shown_in
        with shown_in(money):
            first = next(parts)
        about_storage = _studies(page, curves)
        with shown_in(money):
            rest = list(parts)
        others = _studies(page, [each for each in numbered if each not in curves])
        # The bill and what was asked stand at the end.
        return [first, *about_storage, *rest[:-2], *others, *rest[-2:]]
    with shown_in(plans[0].plan.shown_in):
        side = side_by_side([(shown.name, shown.plan) for shown in plans])
    whole = [_Section("plans", "The plans side by side", side + _currencies(plans))]
    for number, shown in enumerate(plans, 1):
        with shown_in(shown.plan.shown_in):
            inside = "\n".join(
                tag("section", f"{tag('h3', text(part.title))}\n{part.content}", {"id": part.place})
                for part in _plan_parts(page, shown, f"plan-{number}-", 4)
            )
        whole.append(_Section(f"plan-{number}", shown.name, inside))
    return [*whole, *_studies(page, numbered)]


def _currencies(plans: Sequence[ShownPlan]) -> str:
    """Return in which currency several plans are compared, and each is shown; empty for just one.

    Outside nobody is told at whose rate.
    """
    first, *others = (shown.plan.shown_in for shown in plans)
    if all(money.code == first.code for money in others):
        return ""
    rates = {
        money.rate_text() for money in (first, *others) if money.source and money.code != "USD"
    }
    words = f"Amounts side by side are in {first.code}, the currency of the first plan"
    words += f" ({', '.join(sorted(rates))})" if rates else ""
    each = ", ".join(f"{shown.name} in {shown.plan.shown_in.code}" for shown in plans)
    return paragraph(f"{words}. Below, each plan is in its own: {each}.", "muted")


def _is_curve(study: AnyStudy) -> bool:
    return isinstance(study, Frontier) and study.x_name == "storage"


def _studies(page: _Page, numbered: Sequence[tuple[int, Shown]]) -> list[_Section]:
    sections = []
    for number, (study, rows) in numbered:
        with shown_in(study.shown_in):
            sections.append(_study(page, number, study, rows))
    return sections


def _plan_parts(page: _Page, shown: ShownPlan, before: str, level: int) -> Iterator[_Section]:
    """Yield the parts of a plan: the answer first, the bill and what was asked last."""
    plan, of = shown.plan, shown.name if before else ""

    def part(place: str, title: str, *content: str) -> _Section:
        return _Section(before + place, title, "\n".join(filter(None, content)))

    yield part("answer", "The plan", answer(plan, level))
    if plan.totals is not None and plan.jobs:
        spent = running(plan), plan_charts(plan, level)
        yield part("shares", "Where money, power and time go", *spent)
        if plan.storage_options is not None:
            yield part("storage", "Storage, whoever sells it", storage(plan, of))
        yield part("bill", "The bill", bill(plan, of))
    yield part("asked", "What was asked", question_table(plan, ()))


class _Page:
    """The page as it grows: how many charts it has, and the hashes of its plans' inputs."""

    def __init__(self, inputs: Iterable[str]) -> None:
        self.inputs = frozenset(inputs)
        self.drawn = 0

    def draw(self, chart: Chart) -> str:
        """Return the panels of a chart as HTML; values are tooltips of their markers and bars."""
        from planner.outputs.charts.picture import svg_element

        panels = []
        for panel in chart.panels:
            self.drawn += 1
            place = f"plot-{self.drawn}"
            words = {"aria-label": f"{panel.title or chart.title}. {chart.subtitle}"}
            attributes = {"id": place, "class": "plot", "role": "img"} | words
            panels.append(tag("div", svg_element(chart, panel, place), attributes))
        kind = "panels one" if len(panels) == 1 else "panels"
        return tag("div", "".join(panels), {"class": kind}) if panels else ""


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What a browser may load: nothing from anywhere."""


def _style() -> str:
    return files("planner.outputs.charts").joinpath("report.css").read_text("utf-8")


def _study(page: _Page, number: int, study: AnyStudy, rows: Rows | None) -> _Section:
    after = tables(study, rows)
    parts = [paragraph(headline(study, rows), "note"), _about(page, study)]
    found = charts(study, rows)
    for chart in found:
        level = 3 if len(found) > 1 else 0
        parts.append(_chart(page, f"{chart.name}-{number}", chart, level))
        parts += [render_table(table, of=f"study {number}") for table in after.get(chart.name, ())]
    content = "\n".join(part for part in parts if part)
    return _Section(f"study-{number}", heading(study), content)


def _about(page: _Page, study: AnyStudy) -> str:
    laid_over = "".join(f", --set {setting}" for setting in study.overrides)
    # A sweep need not have been asked for the problem as it stands.
    stands = ""
    if not isinstance(study, RulesTable) and not (isinstance(study, Sweep) and study.base is None):
        stands = f"; {as_it_stands(study)}"
    made_of = getattr(study, "input_sha256", None)
    if made_of and page.inputs and made_of not in page.inputs:
        stands += "; made from other inputs than " + (
            "the plan's" if len(page.inputs) == 1 else "those of any plan here"
        )
    return paragraph(f"{named(study)}{laid_over}{stands}.", "muted")


def _chart(page: _Page, name: str, chart: Chart, level: int = 0) -> str:
    """Return a chart with its words, and with its title where it has a heading of some level."""
    titled = tag(f"h{level}", text(chart.title)) if level else ""
    caption = tag("figcaption", titled + paragraph(chart.subtitle))
    return tag("figure", caption + page.draw(chart), {"id": name})
