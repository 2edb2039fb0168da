"""What results look like: as the command's screen, as a page of a notebook, as pandas frames.

Every part of a record that is a list of records is a table: its columns are their fields, of those
within them as ``loss.stall``. Records that are whole results, and lists below, have tables of their
own or none. What is a value per plan has a column for each plan.
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from planner import terminal
from planner.commands.results import view_of
from planner.report.blocks import MOST_NOTES, Block, Facts, Heading, Text
from planner.report.page import fragment
from planner.report.restated import restated, restated_columns
from planner.report.screen import show
from planner.report.views import plan as plan_view
from planner.report.views import size
from planner.report.words import clean
from planner.schema.analysis import Comparison, Series, Sweep
from planner.schema.base import Record, Shown
from planner.schema.operation import SizeReport
from planner.schema.plan import Plan, Totals

if TYPE_CHECKING:
    import pandas as pd


_ABOUT = {"Plan": "lines", "SizeReport": "rules"}
"""The table that a result of no study is about."""


def frame(result: Shown, part: str = "") -> pd.DataFrame:
    """A table of a result; see ``Shown.to_frame``.

    Args:
        result: a plan, or the record of a study.
        part: the table's name, by default of the one that the result is about.

    Raises:
        ValueError: the result has no such table.
    """
    import pandas as pd

    name = type(result).__name__
    there = list(parts(result))
    of = view_of(result)
    about = _ABOUT.get(name, "") if of is None else of.table
    asked = part or about or (there[0] if there else "")
    if asked not in there:
        known = ", ".join(there) or "none; rows of a sweep are in what planner.sweep returns"
        raise ValueError(f"{name} has no table '{asked}'; it has {known}")
    if isinstance(result, Sweep):
        return pd.DataFrame(dict(_columns(result)))
    rows = (
        _racks(result) if isinstance(result, Plan) and asked == "racks" else getattr(result, asked)
    )
    keys = [side.key for side in result.sides] if isinstance(result, Comparison) else []
    found = pd.DataFrame.from_records([dict(_cells(row, keys)) for row in rows])
    # A record that some rows have and others do not: where it lacks, its fields are NaN.
    groups = {name.rpartition(".")[0] for name in found.columns}
    return found[[name for name in found.columns if name not in groups]]


def parts(result: Shown) -> Iterator[str]:
    """Yield the names of a result's tables."""
    if isinstance(result, Sweep):
        yield from ("table",) if hasattr(result, "table") else ()
        return
    if isinstance(result, BaseModel):
        kinds = {name: info.annotation for name, info in type(result).model_fields.items()}
    else:
        kinds = get_type_hints(type(result))
    for name, kind in kinds.items():
        if get_origin(kind) is tuple and any(map(_is_record, get_args(kind))):
            yield name


def _is_record(kind: object) -> bool:
    return isinstance(kind, type) and (
        issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind)
    )


def _fields(record: object) -> Iterator[tuple[str, Any]]:
    if isinstance(record, BaseModel):
        yield from record
    elif dataclasses.is_dataclass(record):
        yield from ((each.name, getattr(record, each.name)) for each in dataclasses.fields(record))


def _cells(record: object, keys: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield a row's values by column; ``keys`` are what plans side by side go by."""
    for name, value in _fields(record) if not isinstance(record, Mapping) else record.items():
        if isinstance(value, Series):
            yield from ((f"{name}.{key}", v) for key, v in zip(keys, value.values, strict=True))
        elif isinstance(value, Shown):
            continue
        elif isinstance(value, Mapping) or _is_record(type(value)):
            yield from ((f"{name}.{below}", inner) for below, inner in _cells(value, keys))
        elif isinstance(value, tuple) and any(_is_record(type(each)) for each in value):
            continue
        else:
            yield name, value


def _columns(study: Sweep) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the columns of a sweep; a name that does not end in its unit gets it in brackets."""
    table: Mapping[str, Sequence[Any]] = study.table  # type: ignore[attr-defined]
    for column in study.columns:
        unit = column.unit
        plain = column.kind in ("input", "total", "job", "text", "count") or not unit
        yield (column.name if plain else f"{column.name} [{unit}]"), table[column.name]


def _racks(plan: Plan) -> list[dict[str, object]]:
    """A row per device; ``first`` and ``count`` say in which racks it stands."""
    rows: list[dict[str, object]] = []
    for group in plan.racks:
        place = {"first": group.first, "count": group.count, "rack_class": group.rack_class}
        rows += [place | device.model_dump() for device in group.devices]
    return rows


__all__ = ["fitted", "frame", "html", "parts", "text"]


def text(result: Shown) -> str:
    """A result as the screen of its command shows it."""
    if isinstance(result, Plan):
        return plan_view.render(result).rstrip("\n")
    blocks = _blocks(_stated(result))
    return repr(result) if blocks is None else show(blocks).rstrip("\n")


def _blocks(result: Shown) -> list[Block] | None:
    """A result as blocks, None where it is none or a sweep without its rows."""
    if isinstance(result, Plan):
        return plan_view.no_plan(result)
    if isinstance(result, SizeReport):
        return size.view(result)
    of, beside = view_of(result), _rows(result)
    return None if of is None or beside is None else of.blocks(result, **beside)


def fitted(result: Shown, columns: int) -> str:
    """The same as wide as so many columns."""
    with terminal.as_wide(columns):
        return text(result)


def html(result: Shown) -> str:
    """A result as a page of a notebook: its first screen, its charts, the rest folded away.

    It has no script and takes nothing from elsewhere.
    """
    result = _stated(result)
    if isinstance(result, Plan) and result.totals is not None and result.jobs:
        return "\n".join(_plan(result, result.totals))
    of, beside, blocks = view_of(result), _rows(result) or {}, _blocks(result)
    if blocks is None:
        return tag("pre", escaped(repr(result)))
    drawn = of.charts(result, **beside) if of is not None and of.charts else ()
    title = next((each.text for each in blocks if isinstance(each, Heading)), "")
    parts = [
        tag("h3", escaped(title)),
        fragment(each for each in blocks if isinstance(each, Heading) or not each.detail),
        *map(_picture, drawn),
        _folded("In full", tag("pre", escaped(show(blocks, full=True)))),
    ]
    return "\n".join(filter(None, parts))


def _stated(result: Shown) -> Any:
    return restated(result) if isinstance(result, Record) else result


def _rows(result: Shown) -> dict[str, Any] | None:
    """The rows of a sweep by name, empty for other records, None for a sweep without its rows."""
    if not isinstance(result, Sweep):
        return {}
    table: Mapping[str, Sequence[Any]] | None = getattr(result, "table", None)
    if table is None:
        return None
    return {"rows": restated_columns(result.columns, table, result.shown_in)}


def _plan(plan: Plan, totals: Totals) -> Iterator[str]:
    """Yield the first screen as a table, the notes that matter most, and the bill."""
    yield tag("h3", escaped(plan_view.headline(plan)))
    answer = Facts(tuple(plan_view.answer_lines(plan, totals, plan.jobs[0])))
    notes = (*plan_view.idle_texts(plan), *plan.warnings)[:MOST_NOTES]
    yield fragment((answer, Text(notes, points=True)))
    bill = frame(plan)[list(_BILL)]
    money = f" {plan.shown_in.code}"
    heads = {name: head + (money if "usd" in name else "") for name, head in _BILL.items()}
    yield _folded(
        "The bill",
        bill.rename(columns=heads).to_html(
            index=False, na_rep="", float_format="{:,.2f}".format, border=0
        ),
    )


_BILL = {
    "model": "product", "quantity": "units", "purchased": "bought",
    "unit_net_usd": "each,", "extended_net_usd": "in all,",
}  # fmt: skip


def escaped(text: str) -> str:
    """A text as HTML."""
    return escape(clean(text, limit=None))


def tag(name: str, content: str) -> str:
    """An element of HTML."""
    return f"<{name}>{content}</{name}>"


def _folded(head: str, content: str) -> str:
    return tag("details", tag("summary", escaped(head)) + content)


def _picture(chart: Any) -> str:
    from planner.report.charts.picture import png

    if not chart.panels:
        return ""
    data = base64.b64encode(png(chart)).decode()
    words = f"{chart.title}. {chart.subtitle}"
    return f'<img alt="{escaped(words)}" src="data:image/png;base64,{data}" width="800">'
