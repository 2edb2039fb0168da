"""What results look like: as text, which is the command's screen; as a page of a notebook."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, wraps
from typing import Any

from planner import currency, terminal
from planner.outputs import answer, blocks, console, size_screen
from planner.outputs.charts.markup import paragraph, render_table, table_of, tag
from planner.outputs.charts.markup import text as escaped
from planner.outputs.first_screen import MOST_NOTES, FirstScreen, render
from planner.outputs.frame import frame, parts
from planner.outputs.restated import currency_of, restated
from planner.schema.base import Shown
from planner.schema.plan import Plan, Totals
from planner.schema.sensitivity import Sweep
from planner.sizing_report import SizeReport
from planner.studies.registry import RESULTS
from planner.studies.study import Result, load

__all__ = ["fitted", "frame", "html", "parts", "text"]

_BY_RECORD = {each.record.partition(":")[2]: each for each in RESULTS}


def _in_its_currency(show: Callable[[Shown], str]) -> Callable[[Shown], str]:
    """Have money shown in the currency of the result, whatever was loaded since it was made."""

    @wraps(show)
    def shown(result: Shown) -> str:
        with currency.shown_in(currency_of(result)):
            return show(result)

    return shown


@_in_its_currency
def text(result: Shown) -> str:
    """Return a result as the screen of its command shows it."""
    if isinstance(result, Plan):
        return answer.render(result).rstrip("\n")
    page, whole = _first(result)
    return (whole() if page is None else render(page, (), whole)).rstrip("\n")


def fitted(result: Shown, columns: int) -> str:
    """Return the same as wide as so many columns."""
    with terminal.as_wide(columns):
        return text(result)


@_in_its_currency
def html(result: Shown) -> str:
    """Return a result as a page of a notebook: its first screen, its charts, the rest folded away.

    It has no script and takes nothing from elsewhere.
    """
    if isinstance(result, Plan) and result.totals is not None and result.jobs:
        return "\n".join(_plan(result, result.totals))
    page, whole = _first(result) if not isinstance(result, Plan) else (None, partial(text, result))
    if page is None or page.entire:
        heading, _, rest = whole().partition("\n")
        return tag("h3", escaped(heading)) + tag("pre", escaped(rest.strip("\n")))
    of, beside = _kind(result), _rows(result) or {}
    charts = load(of.charts)(result, **beside) if of is not None and of.charts else ()
    parts = [
        tag("h3", escaped(page.title)),
        _answer(page.answer),
        *map(_block, page.below),
        _notes(page.notes),
        *map(_picture, charts),
        _folded("In full", tag("pre", escaped(whole()))),
    ]
    return "\n".join(filter(None, parts))


def _first(result: Shown) -> tuple[FirstScreen | None, Callable[[], str]]:
    """Return the first screen of a result, None where there is no such thing, and all of it."""
    if isinstance(result, SizeReport):
        return size_screen.first(result), partial(size_screen.render, result)
    of, beside = _kind(result), _rows(result)
    if of is None or beside is None:
        return None, partial(repr, result)
    whole = partial(load(of.view), result, **beside)
    return (load(of.first)(result, **beside) if of.first else None), whole


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
    yield _answer(answer.told(plan, totals, plan.jobs[0]))
    yield _notes([*console.idle_texts(plan), *plan.warnings])
    bill = frame(restated(plan))[list(_BILL)]
    money = f" {plan.shown_in.code}"
    heads = {name: head + (money if "usd" in name else "") for name, head in _BILL.items()}
    yield _folded(
        "The bill",
        bill.rename(columns=heads).to_html(
            index=False, na_rep="", float_format="{:,.2f}".format, border=0
        ),
    )


_LEFT = {"style": "text-align:left"}
_BILL = {
    "model": "product", "quantity": "units", "purchased": "bought",
    "unit_net_usd": "each,", "extended_net_usd": "in all,",
}  # fmt: skip


def _answer(lines: Iterable[tuple[str, str]]) -> str:
    rows = "".join(
        tag("tr", tag("th", escaped(label), _LEFT) + tag("td", escaped(said), _LEFT))
        for label, said in lines
        if said
    )
    return tag("table", tag("tbody", rows)) if rows else ""


def _notes(notes: Sequence[str]) -> str:
    listed = "".join(tag("li", escaped(note)) for note in notes[:MOST_NOTES])
    return tag("ul", listed) if listed else ""


def _folded(head: str, content: str) -> str:
    return tag("details", tag("summary", escaped(head)) + content)


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
