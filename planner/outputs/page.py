"""Plans and studies in one HTML file: blocks laid out by Jinja2; it fetches nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from planner.figures import capital
from planner.outputs import plan_page
from planner.outputs.blocks import Block, Facts, Heading, Table, Text
from planner.outputs.charts.model import Chart
from planner.outputs.parts import Part, facts, table_part, text_part
from planner.outputs.restated import restated
from planner.outputs.sensitivity_words import STATUS, as_it_stands, named
from planner.outputs.words import clean, fitted
from planner.schema.comparison import RulesTable
from planner.schema.plan import Plan
from planner.schema.sensitivity import Frontier, Study, Sweep

if TYPE_CHECKING:
    from jinja2 import Environment

AnyStudy = Study | RulesTable
_LONGEST = 240
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
    """Return the page as one HTML text without scripts.

    Args:
        title: its heading.
        plans: a single one is what the studies are about; several stand side by side first.
        studies: in the order in which they are shown.
    """
    css = files("planner.outputs").joinpath("page.css").read_text("utf-8")
    sections = _sections(plans, studies)
    text = str(_template().render(title=title, css=css, sections=sections, fragment=False))
    return _shared_styles(text)


def _shared_styles(text: str) -> str:
    """Return a page whose drawings share their styles: written once each, they take a third less.

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
    """Return blocks as a piece of HTML, for a notebook."""
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
        files("planner.outputs").joinpath("page.html").read_text("utf-8")
    )


def _sections(plans: Sequence[ShownPlan], studies: Sequence[ShownStudy]) -> list[Section]:
    inputs = frozenset(shown.plan.provenance.input_sha256 for shown in plans)
    told = [_study(at, each, inputs) for at, each in enumerate(studies, 1)]
    if not plans:
        rows = plan_page.facts_of_study(studies[0].record) if studies else ()
        return [*told, Section("asked", "Problem", (facts(rows),))]
    if len(plans) == 1:
        first, *rest = _plan(plans[0])
        curve = [one for one, each in zip(told, studies, strict=True) if _is_curve(each.record)]
        others = [one for one in told if one not in curve]
        return [first, *curve, *rest[:-2], *others, *rest[-2:]]
    money = plans[0].plan.shown_in
    side = plan_page.side_by_side([(each.name, restated(each.plan, money)) for each in plans])
    whole = [Section("plans", "Plans side by side", (side, *_currencies(plans)))]
    for number, shown in enumerate(plans, 1):
        place = f"plan-{number}"
        whole.append(Section(place, shown.name, (), tuple(_plan(shown, f"{place}-"))))
    return [*whole, *told]


def _is_curve(study: AnyStudy) -> bool:
    return isinstance(study, Frontier) and study.x_name == "storage"


def _plan(shown: ShownPlan, before: str = "") -> list[Section]:
    """Return the parts of a plan: the answer first, the bill and the problem last."""
    plan, of = restated(shown.plan), shown.name if before else ""
    parts = [("answer", "The plan", plan_page.answer(plan))]
    if plan.totals is not None and plan.jobs:
        parts.append(("shares", "Money, power and time", plan_page.shares(plan)))
        if plan.storage_options is not None:
            parts.append(("storage", "Storage alternatives", plan_page.storage(plan)))
        parts.append(("bill", "Bill of materials", plan_page.bill(plan)))
    parts.append(("asked", "Problem", [facts(plan_page.facts_of_plan(plan))]))
    return [Section(before + place, title, tuple(found), of=of) for place, title, found in parts]


def _currencies(plans: Sequence[ShownPlan]) -> Iterator[Part]:
    """Yield the currencies of plans side by side."""
    first, *others = (shown.plan.shown_in for shown in plans)
    if all(money.code == first.code for money in others):
        return
    rates = {
        money.rate_text() for money in (first, *others) if money.source and money.code != "USD"
    }
    words = f"Amounts side by side are in {first.code}, the currency of the first plan"
    words += f" ({', '.join(sorted(rates))})" if rates else ""
    each = ", ".join(f"{shown.name} in {shown.plan.shown_in.code}" for shown in plans)
    yield text_part(f"{words}. Below, each plan is in its own: {each}.", "muted")


def _study(number: int, shown: ShownStudy, inputs: frozenset[str]) -> Section:
    """Return a study: its finding, its charts, then its blocks."""
    study, place = restated(shown.record), f"study-{number}"
    parts = list(_parts(shown.blocks))
    finding = _finding(parts) or _ended(study)
    drawn = [_chart(f"{place}-{chart.name}", chart, len(shown.charts) > 1)
             for chart in shown.charts]  # fmt: skip
    about = text_part(_about(study, inputs), "muted")
    found = (text_part(finding, "note"), about, *drawn, *parts)
    return Section(place, shown.title, found, of=f"study {number}")


def _finding(parts: Sequence[Part]) -> str:
    """Return the first fact or paragraph, and take it out."""
    for part in parts:
        if part["kind"] == "facts" and part["rows"]:
            label, text = part["rows"].pop(0)
            return f"{label}: {text}" if label else str(text)
        if part["kind"] == "text" and not part["points"] and part["texts"]:
            return str(part["texts"].pop(0))
    return ""


def _ended(study: AnyStudy) -> str:
    """The status of a study without blocks."""
    message = getattr(study, "message", None)
    return message or capital(STATUS.get(getattr(study, "status", ""), "No result"))


def _about(study: AnyStudy, inputs: frozenset[str]) -> str:
    """The problem of a study; a note where the plan beside it has other inputs."""
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
    """Return the panels of a chart; values are tooltips of their markers and bars."""
    from planner.outputs.charts.picture import svg_element

    panels = []
    for at, panel in enumerate(chart.panels):
        inner = f"{place}-plot-{at}"
        label = f"{panel.title or chart.title}. {chart.subtitle}"
        panels.append({"place": inner, "label": label, "svg": svg_element(chart, panel, inner)})
    title = chart.title if titled else ""
    return {"kind": "chart", "place": place, "title": title, "subtitle": chart.subtitle,
            "panels": panels}  # fmt: skip


def _parts(blocks: Iterable[Block]) -> Iterator[Part]:
    """Yield blocks as parts of a page."""
    for block in blocks:
        if isinstance(block, Facts) and block.shown:
            yield facts(block.shown)
        elif isinstance(block, Text) and "page" in block.on and any(block.texts):
            texts = [text for text in block.texts if text]
            yield {"kind": "text", "title": block.title, "texts": texts, "points": block.points,
                   "style": ""}  # fmt: skip
        elif isinstance(block, Table) and block.count and block.on("page"):
            yield table_part(block)
