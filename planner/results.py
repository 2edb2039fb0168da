"""Results of every kind: exit code, screen, notebook page, tables.

Every part of a record that is a list of records is a table: its columns are their fields, of those
within them as ``loss.stall``. A field with a value for each plan has a column for each plan.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from planner.report.blocks import Block, Heading
from planner.report.edition import restated, restated_columns
from planner.report.page import fragment, plan_sections
from planner.report.screen import show
from planner.report.views import (
    checks,
    comparison,
    explain,
    sensitivity,
    sweep,
    telemetry,
)
from planner.report.views import plan as plan_view
from planner.report.words import clean
from planner.schema import Record
from planner.schema.analysis import (
    Alternatives,
    Audit,
    Comparison,
    Explanation,
    Frontier,
    RulesTable,
    Series,
    Sweep,
    Tornado,
    Uncertain,
    Verification,
)
from planner.schema.bill import Bids
from planner.schema.operation import Characterization, Simulation, SizeReport
from planner.schema.plan import Plan

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


def _failed(statuses: Collection[str], otherwise: str) -> str:
    return "failed" if "failed" in statuses else otherwise


def _rows_ended(found: Sweep) -> str:
    worst = ("failed", "no_solution", "feasible")
    return next((name for name in worst if found.statuses.get(name)), "optimal")


def _sides_ended(found: Comparison) -> str:
    planned = any(side.status in ("optimal", "feasible") for side in found.sides)
    return "optimal" if planned else "infeasible"


VIEWS: dict[type[Any], View] = {
    Comparison: View("comparison", comparison.view, None, _sides_ended, "figures"),
    RulesTable: View(
        "rules",
        comparison.rules,
        None,
        lambda found: next(
            (row.status or "infeasible" for row in found.rows if row.own), "optimal"
        ),
    ),
    Alternatives: View("alternatives", comparison.alternatives),
    Audit: View(
        "audit",
        checks.audit,
        None,
        lambda found: "infeasible" if found.breaches or found.edited is None else "optimal",
    ),
    Verification: View(
        "verification",
        checks.verification,
        None,
        lambda found: "infeasible" if found.result == "fails" else "optimal",
    ),
    Explanation: View("explanation", explain.view, None, lambda found: found.plan.status),
    Sweep: View("sweep", sweep.view, sweep.charts, _rows_ended, "table"),
    Frontier: View("frontier", sensitivity.frontier, sensitivity.frontier_charts),
    Tornado: View(
        "tornado",
        sensitivity.tornado,
        sensitivity.tornado_charts,
        lambda found: _failed(
            [end.status for swing in found.swings for end in (swing.low, swing.high)], found.status
        ),
    ),
    Uncertain: View(
        "uncertain",
        sensitivity.uncertain,
        None,
        lambda found: _failed(
            [name for name, count in found.statuses.items() if count], found.status
        ),
        "outcomes",
    ),
    Bids: View("bids", comparison.bids, table="bids"),
    Characterization: View(
        "characterization",
        telemetry.view,
        None,
        lambda found: "optimal" if found.jobs else "no_solution",
        "jobs",
    ),
    Simulation: View("simulation", checks.simulation, None, _always),
    SizeReport: View("size", checks.size, None, _always, "rules"),
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
    return json.dumps(asdict(record), indent=2, ensure_ascii=False)


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
        return plan_view.render(result, parts, styled=styled).rstrip("\n")
    return show(blocks_of(result, **options), full=full, styled=styled).rstrip("\n")


# Notebooks


def html(result: Any) -> str:
    """A result as a page of a notebook: title, tables, charts; no script."""
    if isinstance(result, Plan):
        title = plan_view.headline(result)
        blocks = [each for _, _, part in plan_sections(restated(result)) for each in part]
    else:
        blocks = blocks_of(result)
        title = next((each.text for each in blocks if isinstance(each, Heading)), "")
        blocks = [each for each in blocks if not isinstance(each, Heading)]
    head = f"<h3>{escape(clean(title, limit=None))}</h3>"
    return "\n".join([head, fragment(blocks), *map(_picture, charts_of(result))])


def charts_of(record: Any, rows: int | None = None) -> list[Any]:
    """The charts of a record; of a sweep the first rows."""
    charts = view_of(record).charts
    if charts is None:
        return []
    stated, beside = shown_in_currency(record, rows)
    return list(charts(stated, **beside))


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

    names = parts(result)
    chosen = part or view_of(result).table or "".join(names[:1])
    if chosen not in names:
        known = ", ".join(names) or "none; rows of a sweep are in what planner.sweep returns"
        raise ValueError(f"{type(result).__name__} has no table '{chosen}'; it has {known}")
    if isinstance(result, Sweep):
        return pd.DataFrame(dict(_columns(result)))
    rows = getattr(result, chosen)
    if isinstance(result, Plan) and chosen == "racks":  # a row for each device
        rows = [
            group.model_dump(include={"first", "count", "rack_class"}) | device.model_dump()
            for group in rows
            for device in group.devices
        ]
    keys = [side.key for side in result.sides] if isinstance(result, Comparison) else []
    found = pd.DataFrame.from_records([dict(_cells(row, keys)) for row in rows])
    # A record that some rows lack: its fields are NaN there.
    groups = {name.rpartition(".")[0] for name in found.columns}
    return found[[name for name in found.columns if name not in groups]]


def parts(result: Any) -> list[str]:
    """The names of a result's tables: of a record its lists of records."""
    if isinstance(result, Sweep):
        return ["table"] if hasattr(result, "table") else []
    kinds = get_type_hints(type(result))
    if isinstance(result, BaseModel):
        kinds = {name: info.annotation for name, info in type(result).model_fields.items()}
    lists = {name: get_args(kind) for name, kind in kinds.items() if get_origin(kind) is tuple}
    return [name for name, inside in lists.items() if any(map(_is_record, inside))]


def _is_record(kind: object) -> bool:
    return isinstance(kind, type) and (issubclass(kind, BaseModel) or is_dataclass(kind))


def _cells(record: Any, keys: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield the values of a row by column; ``keys`` name the plans compared."""
    for name, value in (record if isinstance(record, Mapping) else vars(record)).items():
        if isinstance(value, Series):
            yield from ((f"{name}.{key}", v) for key, v in zip(keys, value.values, strict=True))
        elif isinstance(value, Mapping) or _is_record(type(value)):
            yield from ((f"{name}.{below}", inside) for below, inside in _cells(value, keys))
        elif not (isinstance(value, tuple) and any(_is_record(type(each)) for each in value)):
            yield name, value


def _columns(study: Any) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the columns of a sweep; a name that does not end in its unit gets it in brackets."""
    for column in study.columns:
        plain = column.kind in ("input", "total", "job", "text", "count") or not column.unit
        yield (
            column.name if plain else f"{column.name} [{column.unit}]",
            study.table[column.name],
        )
