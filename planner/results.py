"""Results of every kind: exit code, screen, notebook page, tables.

Every part of a record that is a list of records is a table: its columns are their fields, of those
within them as ``loss.stall``. A field with a value for each plan has a column for each plan.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from planner import terminal
from planner.report.blocks import Block, Heading
from planner.report.edition import restated, restated_columns
from planner.report.page import fragment, plan_sections
from planner.report.screen import show
from planner.report.views import (
    bids,
    checks,
    comparison,
    explain,
    sensitivity,
    size,
    sweep,
    telemetry,
)
from planner.report.views import plan as plan_view
from planner.report.words import clean
from planner.schema.analysis import (
    Alternatives,
    Comparison,
    Frontier,
    RulesTable,
    Series,
    Sweep,
    Tornado,
    Uncertain,
)
from planner.schema.base import Record
from planner.schema.bill import Bids
from planner.schema.explanation import Audit, Explanation, Verification
from planner.schema.operation import SizeReport
from planner.schema.plan import Plan
from planner.schema.telemetry import Characterization, Simulation

if TYPE_CHECKING:
    import pandas as pd

EXIT_CODES = {
    "optimal": 0,
    "failed": 1,
    "unbounded": 2,
    "infeasible": 3,
    "no_solution": 4,
    "feasible": 5,
}
"""By how a problem ended; wrong input ends with 2."""


class View(NamedTuple):
    """The forms of one kind of record.

    Attributes:
        name: of its JSON Schema; names of its files end in it.
        blocks: the record as blocks; of a sweep with its rows.
        charts: its charts.
        ended: how it ended, a key of ``EXIT_CODES``.
        table: its main table, where that is not the first.
    """

    name: str
    blocks: Callable[..., list[Block]]
    charts: Callable[..., Any] | None = None
    ended: Callable[[Any], str] = lambda record: str(record.status)
    table: str = ""


def _always(_: object) -> str:
    return "optimal"


def _swings_ended(found: Tornado) -> str:
    ends = {end.status for swing in found.swings for end in (swing.low, swing.high)}
    return "failed" if "failed" in ends else found.status


def _rows_ended(found: Sweep) -> str:
    worst = ("failed", "no_solution", "feasible")
    return next((name for name in worst if found.statuses.get(name)), "optimal")


def _draws_ended(found: Uncertain) -> str:
    return "failed" if found.statuses.get("failed") else found.status


def _sides_ended(found: Comparison) -> str:
    planned = any(side.status in ("optimal", "feasible") for side in found.sides)
    return "optimal" if planned else "infeasible"


def _own_row_ended(found: RulesTable) -> str:
    """Status of the problem by its own rule."""
    return next((row.status or "infeasible" for row in found.rows if row.own), "optimal")


def _audit_ended(found: Audit) -> str:
    return "infeasible" if found.breaches or found.edited is None else "optimal"


VIEWS: dict[type[Any], View] = {
    Comparison: View("comparison", comparison.view, None, _sides_ended, "figures"),
    RulesTable: View("rules", comparison.rules, None, _own_row_ended),
    Alternatives: View("alternatives", comparison.alternatives),
    Audit: View("audit", checks.audit, None, _audit_ended),
    Verification: View(
        "verification",
        checks.verification,
        None,
        lambda found: "infeasible" if found.result == "fails" else "optimal",
    ),
    Explanation: View("explanation", explain.view, None, lambda found: found.plan.status),
    Sweep: View("sweep", sweep.view, sweep.charts, _rows_ended, "table"),
    Frontier: View("frontier", sensitivity.frontier, sensitivity.frontier_charts),
    Tornado: View("tornado", sensitivity.tornado, sensitivity.tornado_charts, _swings_ended),
    Uncertain: View("uncertain", sensitivity.uncertain, None, _draws_ended, "outcomes"),
    Bids: View("bids", bids.view, table="bids"),
    Characterization: View(
        "characterization",
        telemetry.view,
        None,
        lambda found: "optimal" if found.jobs else "no_solution",
        "jobs",
    ),
    Simulation: View("simulation", checks.simulation, None, _always),
    SizeReport: View("size", size.view, None, _always, "rules"),
    Plan: View("plan", plan_view.no_plan, table="lines"),
}


def view_of(record: object) -> View:
    """The view of a record."""
    return next(VIEWS[kind] for kind in type(record).__mro__ if kind in VIEWS)


def exit_code(record: object) -> int:
    """The exit code of the command that prints a record."""
    return EXIT_CODES[view_of(record).ended(record)]


def as_json(record: Any) -> str:
    """A record as JSON."""
    if isinstance(record, BaseModel):
        return record.model_dump_json(indent=2)
    return json.dumps(dataclasses.asdict(record), indent=2, ensure_ascii=False)


def shown_in_currency(record: Any, rows: int | None = None) -> tuple[Any, dict[str, Any]]:
    """A record with its amounts as money of its currency, and the rows that a sweep's view takes.

    Args:
        rows: most rows.
    """
    stated = restated(record) if isinstance(record, Record) else record
    if not isinstance(record, Sweep):
        return stated, {}
    table: Mapping[str, Sequence[Any]] = getattr(record, "table", {})
    columns = {name: values[:rows] for name, values in table.items()}
    return stated, {"rows": restated_columns(record.columns, columns, record.shown_in)}


def blocks_of(record: Any, **options: Any) -> list[Block]:
    """A record as blocks."""
    stated, beside = shown_in_currency(record)
    return view_of(record).blocks(stated, **beside, **options)


def text(result: Any, *, full: bool = False, styled: bool = False, **options: Any) -> str:
    """A result as the screen of its command shows it."""
    if isinstance(result, Plan):
        parts = plan_view.PARTS if full else options.get("parts", ())
        shown = plan_view.render(result, parts, styled=styled)
    elif isinstance(result, Sweep) and not hasattr(result, "table"):
        return repr(result)  # read from a file, without its rows
    else:
        shown = show(blocks_of(result, **options), full=full, styled=styled)
    return shown.rstrip("\n")


def fitted(result: Any, columns: int) -> str:
    """A result on a screen of some columns."""
    with terminal.as_wide(columns):
        return text(result)


# Notebooks


def html(result: Any) -> str:
    """A result as a page of a notebook: first screen, charts, the rest folded away; no script."""
    if isinstance(result, Plan):
        first, *rest = plan_sections(restated(result))
        parts = [fragment(first[2]), *(_folded(title, fragment(b)) for _, title, b in rest)]
        return "\n".join([_tag("h3", plan_view.headline(result)), *parts])
    if isinstance(result, Sweep) and not hasattr(result, "table"):
        return _tag("pre", repr(result))
    blocks = blocks_of(result)
    title = next((each.text for each in blocks if isinstance(each, Heading)), "")
    first_screen = [
        each
        for each in blocks
        if not isinstance(each, Heading) and not getattr(each, "detail", False)
    ]
    parts = [_tag("h3", title), fragment(first_screen), *map(_picture, charts_of(result))]
    return "\n".join([*parts, _folded("In full", _tag("pre", show(blocks, full=True)))])


def charts_of(record: Any, rows: int | None = None) -> list[Any]:
    """The charts of a record; of a sweep the first rows."""
    charts = view_of(record).charts
    if charts is None:
        return []
    stated, beside = shown_in_currency(record, rows)
    return list(charts(stated, **beside))


def _tag(name: str, content: str) -> str:
    return f"<{name}>{escape(clean(content, limit=None))}</{name}>"


def _folded(head: str, content: str) -> str:
    return f"<details>{_tag('summary', head)}{content}</details>"


def _picture(chart: Any) -> str:
    from planner.report.picture import png

    if not chart.panels:
        return ""
    data = base64.b64encode(png(chart)).decode()
    words = escape(clean(f"{chart.title}. {chart.subtitle}", limit=None))
    return f'<img alt="{words}" src="data:image/png;base64,{data}" width="800">'


# Tables


def frame(result: Any, part: str = "") -> pd.DataFrame:
    """A table of a result; see ``Shown.to_frame``."""
    import pandas as pd

    names = list(parts(result))
    asked = part or view_of(result).table or (names[0] if names else "")
    if asked not in names:
        known = ", ".join(names) or "none; rows of a sweep are in what planner.sweep returns"
        raise ValueError(f"{type(result).__name__} has no table '{asked}'; it has {known}")
    if isinstance(result, Sweep):
        return pd.DataFrame(dict(_columns(result)))
    rows = getattr(result, asked)
    if isinstance(result, Plan) and asked == "racks":
        rows = _devices(result)
    keys = [side.key for side in result.sides] if isinstance(result, Comparison) else []
    found = pd.DataFrame.from_records([dict(_cells(row, keys)) for row in rows])
    # A record that some rows lack: its fields are NaN there.
    groups = {name.rpartition(".")[0] for name in found.columns}
    return found[[name for name in found.columns if name not in groups]]


def parts(result: Any) -> Iterator[str]:
    """Yield the names of a result's tables."""
    if isinstance(result, Sweep):
        yield from ("table",) if hasattr(result, "table") else ()
        return
    kinds = get_type_hints(type(result))
    if isinstance(result, BaseModel):
        kinds = {name: info.annotation for name, info in type(result).model_fields.items()}
    for name, kind in kinds.items():
        if get_origin(kind) is tuple and any(map(_is_record, get_args(kind))):
            yield name


def _is_record(kind: object) -> bool:
    return isinstance(kind, type) and (
        issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind)
    )


def _cells(record: Any, keys: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield the values of a row by column; ``keys`` name the plans compared."""
    whole_results = (Plan, SizeReport)
    fields = record if isinstance(record, Mapping) else vars(record)
    for name, value in fields.items():
        if isinstance(value, Series):
            yield from ((f"{name}.{key}", v) for key, v in zip(keys, value.values, strict=True))
        elif isinstance(value, Mapping) or _is_record(type(value)):
            if not isinstance(value, whole_results):
                yield from ((f"{name}.{below}", inner) for below, inner in _cells(value, keys))
        elif not (isinstance(value, tuple) and any(_is_record(type(each)) for each in value)):
            yield name, value


def _columns(study: Any) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the columns of a sweep; a name that does not end in its unit gets it in brackets."""
    for column in study.columns:
        plain = column.kind in ("input", "total", "job", "text", "count") or not column.unit
        name = column.name if plain else f"{column.name} [{column.unit}]"
        yield name, study.table[column.name]


def _devices(plan: Plan) -> list[dict[str, object]]:
    """A row per device; ``first`` and ``count`` are its racks."""
    return [
        {"first": group.first, "count": group.count, "rack_class": group.rack_class}
        | device.model_dump()
        for group in plan.racks
        for device in group.devices
    ]
