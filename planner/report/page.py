"""Plans and studies in one HTML file: blocks laid out by Jinja2; it fetches nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from planner.figures import capital
from planner.report import plan_page
from planner.report.blocks import (
    Bars,
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    Tiles,
    choose_rows,
)
from planner.report.charts.model import Chart
from planner.report.restated import restated
from planner.report.sensitivity_words import STATUS, as_it_stands, named
from planner.report.words import clean, counted, fitted, results
from planner.schema.comparison import RulesTable
from planner.schema.plan import Plan
from planner.schema.sensitivity import Frontier, Study, Sweep

if TYPE_CHECKING:
    from jinja2 import Environment

AnyStudy = Study | RulesTable
Part = dict[str, Any]
"""A block as the template takes it."""
_LONGEST, _MOST_ROWS = 240, 25
_STYLED = re.compile(' style="([^"]*)"')


class ShownPlan(NamedTuple):
    """A plan and its name."""

    name: str
    plan: Plan


class ShownStudy(NamedTuple):
    """The record of a study, what its view says, and its charts."""

    record: AnyStudy
    blocks: tuple[Block, ...]
    charts: tuple[Chart, ...]

    @property
    def title(self) -> str:
        """The title of its part of the page."""
        if self.charts:
            return self.charts[0].title
        return next((each.text for each in self.blocks if isinstance(each, Heading)), "Study")


class Section(NamedTuple):
    """A part of the page: its place, title and parts; ``of`` tells its tables from others'."""

    place: str
    title: str
    parts: tuple[Part, ...]
    inside: tuple[Section, ...] = ()
    of: str = ""


def report(title: str, plans: Sequence[ShownPlan], studies: Sequence[ShownStudy]) -> str:
    """The page as one HTML text without scripts.

    Args:
        title: its heading.
        plans: a single one is what the studies are about; several stand side by side first.
        studies: in the order in which they are shown.
    """
    css = files("planner.report").joinpath("page.css").read_text("utf-8")
    sections = _sections(plans, studies)
    text = str(_template().render(title=title, css=css, sections=sections, fragment=False))
    return _shared_styles(text)


def _shared_styles(text: str) -> str:
    """A page whose drawings share their styles: written once each, they take a third less.

    Elements of drawings have no class of their own.
    """
    counts = Counter(_STYLED.findall(text))
    shared = [style for style, n in counts.items() if n > 2 and "url(" not in style]
    names = {style: f"s{at}" for at, style in enumerate(shared)}
    rules = "".join(f".{name}{{{style}}}\n" for style, name in names.items())
    text = _STYLED.sub(
        lambda found: f' class="{names[found[1]]}"' if found[1] in names else found[0], text
    )
    return text.replace("</style>", f"{rules}</style>", 1)


def fragment(blocks: Iterable[Block]) -> str:
    """Blocks as a piece of HTML, for a notebook."""
    return str(_template().render(parts=list(_parts(blocks)), fragment=True))


@cache
def _environment() -> Environment:
    from jinja2 import Environment
    from markupsafe import Markup

    def cleaned(value: Any) -> Any:
        is_text = isinstance(value, str) and not isinstance(value, Markup)
        return clean(value, limit=None) if is_text else value

    found = Environment(autoescape=True, finalize=cleaned, trim_blocks=True)
    found.filters["one_line"] = lambda text: fitted(" ".join(text.split()), _LONGEST)
    return found


@cache
def _template() -> Any:
    return _environment().from_string(
        files("planner.report").joinpath("page.html").read_text("utf-8")
    )


def _sections(plans: Sequence[ShownPlan], studies: Sequence[ShownStudy]) -> list[Section]:
    inputs = frozenset(shown.plan.provenance.input_sha256 for shown in plans)
    told = [_study(at, each, inputs) for at, each in enumerate(studies, 1)]
    if not plans:
        about = studies[0].record if studies else None
        if not isinstance(about, AnyStudy):  # of no single problem, or with its plan
            return told
        rows = plan_page.facts_of_study(about)
        return [*told, Section("asked", "Problem", tuple(_parts([Facts(tuple(rows))])))]
    if len(plans) == 1:
        first, *rest = _plan(plans[0])
        curve = [one for one, each in zip(told, studies, strict=True) if _is_curve(each.record)]
        others = [one for one in told if one not in curve]
        return [first, *curve, *rest[:-2], *others, *rest[-2:]]
    money = plans[0].plan.shown_in
    side = plan_page.side_by_side([(each.name, restated(each.plan, money)) for each in plans])
    currencies = Text((_currencies(plans),), style="muted")
    whole = [Section("plans", "Plans side by side", tuple(_parts([side, currencies])))]
    for number, shown in enumerate(plans, 1):
        place = f"plan-{number}"
        whole.append(Section(place, shown.name, (), tuple(_plan(shown, f"{place}-"))))
    return [*whole, *told]


def _is_curve(study: AnyStudy) -> bool:
    return isinstance(study, Frontier) and study.x_name == "storage"


def _plan(shown: ShownPlan, before: str = "") -> list[Section]:
    of = shown.name if before else ""
    return [
        Section(before + place, title, tuple(_parts(blocks)), of=of)
        for place, title, blocks in plan_page.sections(restated(shown.plan))
    ]


def _currencies(plans: Sequence[ShownPlan]) -> str:
    """The currencies of plans side by side; empty where they share one."""
    first, *others = (shown.plan.shown_in for shown in plans)
    if all(money.code == first.code for money in others):
        return ""
    rates = {
        money.rate_text() for money in (first, *others) if money.source and money.code != "USD"
    }
    words = f"Amounts side by side are in {first.code}, the currency of the first plan"
    words += f" ({', '.join(sorted(rates))})" if rates else ""
    each = ", ".join(f"{shown.name} in {shown.plan.shown_in.code}" for shown in plans)
    return f"{words}. Below, each plan is in its own: {each}."


def _study(number: int, shown: ShownStudy, inputs: frozenset[str]) -> Section:
    """A study: its finding, its charts, then its blocks."""
    study, place = restated(shown.record), f"study-{number}"
    parts = list(_parts(shown.blocks))
    finding = Text((_finding(parts) or _ended(study),), style="note")
    about = Text((_about(study, inputs),), style="muted")
    several = len(shown.charts) > 1
    drawn = [_chart(f"{place}-{chart.name}", chart, several) for chart in shown.charts]
    found = (*_parts([finding, about]), *drawn, *parts)
    return Section(place, shown.title, found, of=f"study {number}")


def _finding(parts: Sequence[Part]) -> str:
    """The first fact or paragraph, and take it out."""
    for part in parts:
        if part["kind"] == "facts" and part["rows"]:
            label, text = part["rows"].pop(0)
            return f"{label}: {text}" if label else str(text)
        if part["kind"] == "text" and not part["block"].points and part["texts"]:
            return str(part["texts"].pop(0))
    return ""


def _ended(study: AnyStudy) -> str:
    """The status of a study without blocks."""
    message = getattr(study, "message", None)
    return message or capital(STATUS.get(getattr(study, "status", ""), "No result"))


def _about(study: AnyStudy, inputs: frozenset[str]) -> str:
    """The problem of a study; a note where the plan beside it has other inputs."""
    if not isinstance(study, AnyStudy):
        return ""
    laid_over = "".join(f", --set {setting}" for setting in study.overrides)
    # A sweep need not have been asked for the problem as it stands.
    stands = ""
    if not isinstance(study, RulesTable) and not (isinstance(study, Sweep) and study.base is None):
        stands = f"; {as_it_stands(study)}"
    made_of = getattr(study, "input_sha256", None)
    if made_of and inputs and made_of not in inputs:
        stands += "; made from other inputs than " + (
            "the plan's" if len(inputs) == 1 else "those of any plan here"
        )
    return f"{named(study)}{laid_over}{stands}."


def _chart(place: str, chart: Chart, titled: bool) -> Part:
    """The panels of a chart; values are tooltips of their markers and bars."""
    from planner.report.charts.picture import svg_element

    panels = []
    for at, panel in enumerate(chart.panels):
        inner = f"{place}-plot-{at}"
        label = f"{panel.title or chart.title}. {chart.subtitle}"
        panels.append({"place": inner, "label": label, "svg": svg_element(chart, panel, inner)})
    title = chart.title if titled else ""
    return {
        "kind": "chart",
        "place": place,
        "title": title,
        "subtitle": chart.subtitle,
        "panels": panels,
    }


def _parts(blocks: Iterable[Block]) -> Iterator[Part]:
    for block in blocks:
        if isinstance(block, Facts) and block.shown:
            yield {"kind": "facts", "rows": block.shown}
        elif isinstance(block, Text) and "page" in block.on and any(block.texts):
            texts = [text for text in block.texts if text]
            yield {"kind": "text", "texts": texts, "block": block}
        elif isinstance(block, Tiles):
            yield {"kind": "tiles", "figures": block.figures}
        elif isinstance(block, Bars) and block.bars:
            yield {"kind": "bars", "block": block}
        elif isinstance(block, Table) and block.count and block.on("page"):
            yield _table(block)


def _table(block: Table) -> Part:
    """A table; of many rows the first ones, or evenly chosen where its screen cuts it so."""
    which, places = "the first", list(range(min(block.count, _MOST_ROWS)))
    if block.whole:
        places = list(range(block.count))
    elif block.most is not None:
        which, places = "evenly chosen", choose_rows(block.count, _MOST_ROWS, block.kept)
    columns = block.of(places).on("page")
    heads, texts = zip(*map(_column, columns), strict=True)
    cut = f": {which} {len(places)} of {counted(block.count, 'row')}"
    return {
        "kind": "table",
        "title": block.title,
        "which": cut if len(places) < block.count else "",
        "heads": heads,
        "words": [column.words for column in columns],
        "rows": list(zip(*texts, strict=True)),
        "foot": [column.foot for column in columns] if any(c.foot for c in columns) else [],
        "notes": [note for note in block.notes if note],
    }


def _column(column: Column) -> tuple[str, tuple[str, ...]]:
    """The head and the texts of a column; figures are in one unit, which the head names."""
    texts = tuple(value for value in column.values if isinstance(value, str))
    if len(texts) == len(column.values):
        return column.label, texts
    figures = [None if isinstance(value, str) else value for value in column.values]
    scale = results(figures, column.unit)
    named = scale.unit.casefold() in column.label.casefold()
    head = column.label if named else f"{column.label}, {scale.unit}"
    return head, tuple("" if value is None else scale.text(value) for value in figures)
