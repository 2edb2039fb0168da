"""A report of studies in one HTML file, which needs nothing else and fetches nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, TypeAlias

from planner.outputs.charts.markup import data, paragraph, render_table, tag, text
from planner.outputs.charts.model import Chart, Panel
from planner.outputs.charts.plan_page import asked, plan_summary, side_by_side
from planner.outputs.charts.studies import AnyStudy, charts, heading, headline, tables
from planner.outputs.sensitivity_words import as_it_stands, named
from planner.outputs.sweep_rows import Rows
from planner.outputs.text_safety import clean
from planner.schema.plan import Plan
from planner.schema.sensitivity import Sweep

Shown: TypeAlias = tuple[AnyStudy, Rows | None]
"""A study, and the rows of a sweep by column."""


def report(title: str, plans: Sequence[tuple[str, Plan]], studies: Sequence[Shown]) -> str:
    """Return the report as one HTML text; without a chart that needs a script it has none.

    Args:
        title: its heading.
        plans: by the names they go by; a single one is what the studies are about.
        studies: what to show, in this order.
    """
    page = _Page()
    parts = [_section(page, number, study, rows) for number, (study, rows) in enumerate(studies, 1)]
    body = "\n".join((_top(title, plans, studies), *parts))
    script = _own("report.js") if page.figures else ""
    head = "\n".join(
        (
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            tag("title", text(title)),
            f"<style>\n{_own('report.css')}</style>",
        )
    )
    without = told = ""
    if script:
        without = (
            "<noscript><p>Values under the pointer need JavaScript; charts and tables do not.</p>"
            "</noscript>\n"
        )
        figures = f'<script type="application/json" id="charts">{data(page.content())}</script>'
        told = f"{figures}\n<script>{script}</script>\n"
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n<main>\n{without}'
        f"{body}\n</main>\n{told}</body>\n</html>\n"
    )


class _Page:
    """What the script knows: things by the id of their chart, texts that several share once."""

    def __init__(self) -> None:
        self.figures: list[dict[str, Any]] = []
        self._hovers: dict[tuple[str, ...], int] = {}

    def draw(self, name: str, chart: Chart, panel: Panel) -> str:
        """Return a panel of a chart as HTML, and keep what the pointer finds on it.

        A panel by itself is drawn twice, for wide and for narrow windows; the page shows one.
        """
        from planner.outputs.charts import picture

        place = f"plot-{len(self.figures) + 1}"
        forms = {"wide": picture.WIDE, "narrow": picture.NARROW}
        if len(chart.panels) > 1:
            forms = {"part": picture.PART}
        drawings = {kind: picture.draw_panel(chart, panel, form) for kind, form in forms.items()}
        things = {
            kind: [
                {"hovers": self._shared(layer.hovers), "places": picture.places(layer)}
                for layer in drawing.found
            ]
            for kind, drawing in drawings.items()
        }
        # The arrow keys go down the rows of a list, else from left to right.
        along = "y" if panel.rows else "x"
        self.figures.append({"id": place, "name": name, "along": along, "drawings": things})
        inside = "".join(
            picture.svg_element(drawing, f"{place}-{kind}", kind)
            for kind, drawing in drawings.items()
        )
        words = f"{chart.title}. {chart.subtitle}"
        return tag(
            "div", inside, {"id": place, "class": "plot", "role": "img", "aria-label": words}
        )

    def _shared(self, hovers: tuple[str, ...]) -> int:
        return self._hovers.setdefault(hovers, len(self._hovers))

    def content(self) -> dict[str, Any]:
        """Return all of it."""
        shown = [[clean(hover, limit=None) for hover in hovers] for hovers in self._hovers]
        return {"figures": self.figures, "hovers": shown}


def _policy(script: str) -> str:
    """Return what a browser may run and load: this script, and nothing from anywhere."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f"'sha256-{digest}'" if script else "'none'"
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:"


def _own(name: str) -> str:
    return files("planner.outputs.charts").joinpath(name).read_text("utf-8")


def _top(title: str, plans: Sequence[tuple[str, Plan]], studies: Sequence[Shown]) -> str:
    found = "".join(
        tag(
            "li",
            tag("a", text(heading(study)), {"href": f"#study-{number}"})
            + ": "
            + text(headline(study, rows)),
        )
        for number, (study, rows) in enumerate(studies, 1)
    )
    return "\n".join(
        (
            tag("h1", text(title)),
            _plans(plans, studies),
            tag("h2", "What was found") + tag("ul", found, {"class": "found"}) if found else "",
        )
    )


def _plans(plans: Sequence[tuple[str, Plan]], studies: Sequence[Shown]) -> str:
    """Return what was asked and what to buy; several plans first side by side."""
    if not plans:
        return asked(None, [study for study, _ in studies])
    if len(plans) == 1:
        ((_, plan),) = plans
        return "\n".join((asked(plan, ()), tag("h2", "The plan"), plan_summary(plan)))
    parts = [
        tag("section", "\n".join((tag("h2", text(name)), asked(plan, ()), plan_summary(plan))))
        for name, plan in plans
    ]
    return "\n".join((side_by_side(plans), *parts))


def _section(page: _Page, number: int, study: AnyStudy, rows: Rows | None) -> str:
    after = tables(study, rows)
    parts = [tag("h2", text(heading(study))), _about(study)]
    found = charts(study, rows)
    for chart in found:
        parts.append(_chart(page, f"{chart.name}-{number}", chart, titled=len(found) > 1))
        parts += [render_table(table) for table in after.get(chart.name, ())]
    return tag("section", "\n".join(part for part in parts if part), {"id": f"study-{number}"})


def _about(study: AnyStudy) -> str:
    laid_over = "".join(f", --set {setting}" for setting in study.overrides)
    # A sweep need not have been asked for the problem as it stands.
    unasked = isinstance(study, Sweep) and study.base is None
    stands = "" if unasked else f"; {as_it_stands(study)}"
    return paragraph(f"{named(study)}{laid_over}{stands}.", "muted")


def _chart(page: _Page, name: str, chart: Chart, *, titled: bool) -> str:
    caption = (tag("h3", text(chart.title)) if titled else "") + paragraph(chart.subtitle)
    panels = [page.draw(name, chart, panel) for panel in chart.panels]
    inside = "".join(tag("div", panel, {"class": "panel"}) for panel in panels)
    if panels:
        inside = tag("div", inside, {"class": "panels one" if len(panels) == 1 else "panels"})
    return tag("figure", tag("figcaption", caption) + inside)
