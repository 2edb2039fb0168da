"""What results look like: as text, which is the command's screen; as a page of a notebook."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from planner.outputs import answer, blocks, console, size_screen
from planner.outputs.charts.markup import paragraph, render_table, table_of, tag
from planner.outputs.charts.markup import text as escaped
from planner.outputs.frame import frame, parts
from planner.schema.base import Shown
from planner.schema.plan import Plan, Totals
from planner.schema.sensitivity import Sweep
from planner.sizing_report import SizeReport
from planner.studies.registry import RESULTS, Result, load

__all__ = ["frame", "html", "parts", "text"]

_BY_RECORD = {each.record.partition(":")[2]: each for each in RESULTS}


def text(result: Shown) -> str:
    """Return a result as the screen of its command shows it."""
    if isinstance(result, Plan):
        return answer.render(result).rstrip("\n")
    if isinstance(result, SizeReport):
        return size_screen.render(result).rstrip("\n")
    of, beside = _kind(result), _rows(result)
    if of is None or beside is None:
        return repr(result)
    return str(load(of.view)(result, **beside)).rstrip("\n")


def html(result: Shown) -> str:
    """Return a result as a page of a notebook: headed, with tables and charts, no script."""
    if isinstance(result, Plan) and result.totals is not None and result.jobs:
        return "\n".join(_plan(result, result.totals))
    of, beside = _kind(result), _rows(result)
    view = None
    if of is not None and beside is not None:
        view = getattr(import_module(of.view.partition(":")[0]), "view", None)
    if of is None or view is None:
        return _as_printed(text(result))
    parts = [_block(block) for block in view(result, **beside or {})]
    charts = load(of.charts)(result, **beside or {}) if of.charts else ()
    return "\n".join((*filter(None, parts), *map(_picture, charts)))


def _kind(result: Shown) -> Result | None:
    names = (kind.__name__ for kind in type(result).__mro__)
    return next((_BY_RECORD[name] for name in names if name in _BY_RECORD), None)


def _rows(result: Shown) -> dict[str, Any] | None:
    """Return what views take besides the record, None where a sweep is without its rows."""
    if not isinstance(result, Sweep):
        return {}
    table: Mapping[str, Sequence[Any]] | None = getattr(result, "table", None)
    return None if table is None else {"rows": table}


def _plan(plan: Plan, totals: Totals) -> Iterator[str]:
    """Yield the first screen as a table, the notes that matter most, and the bill."""
    yield tag("h3", escaped(console.headline(plan)))
    rows = "".join(
        tag("tr", tag("th", escaped(label)) + tag("td", escaped(said), _LEFT))
        for label, said in answer.told(plan, totals, plan.jobs[0])
    )
    yield tag("table", tag("tbody", rows))
    notes = [*console.idle_texts(plan), *plan.warnings]
    if notes:
        yield tag("ul", "".join(tag("li", escaped(note)) for note in notes[:_MOST_NOTES]))
    bill = frame(plan)[list(_BILL)].rename(columns=_BILL)
    as_page = bill.to_html(index=False, na_rep="", float_format="{:,.2f}".format)
    yield tag("details", tag("summary", "The bill") + str(as_page))


_MOST_NOTES = 5
_LEFT = {"style": "text-align:left"}
_BILL = {
    "model": "product", "quantity": "units", "purchased": "bought",
    "unit_net_usd": "USD each", "extended_net_usd": "USD",
}  # fmt: skip


def _block(block: blocks.Block) -> str:
    """Return what a view says as HTML; tables are whole, as on a page."""
    if isinstance(block, blocks.Heading):
        return tag("h3", escaped(block.text))
    if isinstance(block, blocks.Table):
        return render_table(table_of(block)) if block.count and block.on("page") else ""
    texts = [each for each in block.texts if each]
    if "page" not in block.on or not texts:
        return ""
    title = tag("h4", escaped(block.title)) if block.title else ""
    if block.points:
        return title + tag("ul", "".join(tag("li", escaped(each)) for each in texts))
    return title + "".join(map(paragraph, texts))


def _picture(chart: Any) -> str:
    from planner.outputs.charts.picture import png

    if not chart.panels:
        return ""
    data = base64.b64encode(png(chart)).decode()
    words = f"{chart.title}. {chart.subtitle}"
    return f'<img alt="{escaped(words)}" src="data:image/png;base64,{data}" width="800">'


def _as_printed(said: str) -> str:
    heading, _, rest = said.partition("\n")
    return tag("h3", escaped(heading)) + tag("pre", escaped(rest.strip("\n")))
