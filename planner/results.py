"""Results delivered: screen or JSON, files, notebook page, tables, exit code.

Every part of a record that is a list of records is a table: its columns are their fields, of those
within them as ``loss.stall``. A field with a value for each plan has a column for each plan.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime, time
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from planner import files
from planner.errors import Finding, InputError, StoppedError
from planner.files import write_all
from planner.loader.prices import today
from planner.process import list_files
from planner.report import plan as plan_view
from planner.report.blocks import Block, Heading
from planner.report.edition import Audience, for_audience, in_currency
from planner.report.exports import stem_of
from planner.report.formats import clean
from planner.report.screen import show
from planner.schema import Prices, Record
from planner.schema.analysis import (
    Alternatives,
    Audit,
    Comparison,
    Explanation,
    Frontier,
    RulesTable,
    Series,
    Sweep,
    SweepTable,
    Tornado,
    Uncertain,
    Verification,
)
from planner.schema.bill import Bids, Quote
from planner.schema.operation import Characterization, Simulation, SizeReport
from planner.schema.plan import Plan
from planner.terminal import coloured, say, show_progress
from planner.units import one_of

if TYPE_CHECKING:
    import pandas as pd

    from planner.report.page import ShownStudy
    from planner.workbook.book import Book

EXIT_CODES = {
    "optimal": 0,
    "failed": 1,
    "unbounded": 2,
    "infeasible": 3,
    "no_solution": 4,
    "feasible": 5,
}
"""By how a problem ended; wrong input ends with 2."""
MOST_ROWS = 20_000
"""Most rows of a sweep in its workbook, pictures and page."""


class View(NamedTuple):
    """The forms of one kind of record.

    Attributes:
        name: of its JSON Schema; names of its files end in it.
        blocks: the record as blocks; of a sweep with its rows.
        charts: its charts.
        ended: how it ended, a key of ``EXIT_CODES``; by default its status, if any.
        table: its main table, where that is not the first.
        by_full: whether its blocks differ with ``full``.
    """

    name: str
    blocks: Callable[..., list[Block]]
    charts: Callable[..., Any] | None = None
    ended: Callable[[Any], str] = lambda record: str(getattr(record, "status", "optimal"))
    table: str = ""
    by_full: bool = False


class Printed(NamedTuple):
    """A result of a portfolio as blocks, as data of its JSON, and its files by ending."""

    blocks: Sequence[Block]
    data: Any
    files: Mapping[str, bytes] = {}


Study = Callable[..., Any]
"""Function of the library with its arguments but ``progress``; it returns a record, or several."""
Writer = Callable[..., None]
"""Writes the files of a record: called with the target and the record."""
_PLAN = View("plan", plan_view.no_plan, table="lines")


def _ended_if(holds: object) -> str:
    return "optimal" if holds else "infeasible"


def _sweep_ended(found: Sweep) -> str:
    worst = ("failed", "no_solution", "feasible")
    return next((name for name in worst if found.statuses.get(name)), "optimal")


def _tornado_ended(found: Tornado) -> str:
    ends = [end.status for swing in found.swings for end in (swing.low, swing.high)]
    return "failed" if "failed" in ends else found.status


def _portfolio_ended(found: Any) -> str:
    limit = "feasible" if found.runs else "no_solution"
    return limit if found.status == "limit" else str(found.status)


@cache
def views() -> dict[type[Any], View]:
    """The view of every kind of record; imported here, since solving shows plans alone."""
    from planner.portfolio import views as portfolio
    from planner.portfolio.schema import PortfolioPlan
    from planner.report import checks, comparison, explain, sensitivity, sweep, telemetry

    return {
        Comparison: View(
            "comparison",
            comparison.view,
            ended=lambda found: _ended_if(
                {s.status for s in found.sides} & {"optimal", "feasible"}
            ),
            table="figures",
            by_full=True,
        ),
        RulesTable: View(
            "rules",
            comparison.rules,
            ended=lambda found: next(
                (r.status or "infeasible" for r in found.rows if r.own), "optimal"
            ),
        ),
        Alternatives: View("alternatives", comparison.alternatives),
        Audit: View(
            "audit",
            checks.audit,
            ended=lambda found: _ended_if(found.edited and not found.breaches),
        ),
        Verification: View(
            "verification",
            checks.verification,
            ended=lambda found: _ended_if(found.result != "fails"),
        ),
        Explanation: View("explanation", explain.view, ended=lambda found: found.plan.status),
        Sweep: View("sweep", sweep.view, sweep.charts, _sweep_ended, "table"),
        Frontier: View("frontier", sensitivity.frontier, sensitivity.frontier_charts),
        Tornado: View("tornado", sensitivity.tornado, sensitivity.tornado_charts, _tornado_ended),
        Uncertain: View(
            "uncertain",
            sensitivity.uncertain,
            ended=lambda found: "failed" if found.statuses.get("failed") else found.status,
            table="outcomes",
        ),
        Bids: View("bids", comparison.bids, table="bids"),
        Characterization: View(
            "characterization",
            telemetry.view,
            ended=lambda found: "optimal" if found.jobs else "no_solution",
            table="jobs",
        ),
        Simulation: View("simulation", checks.simulation),
        SizeReport: View("size", checks.size, table="rules"),
        Quote: View("quote", comparison.quote),
        PortfolioPlan: View(
            "portfolio-plan", portfolio.view, ended=_portfolio_ended, table="orders", by_full=True
        ),
    }


def view_of(record: object) -> View:
    """The view of a record."""
    if isinstance(record, (Plan, Printed)):
        return _PLAN
    known = views()
    return next(known[kind] for kind in type(record).__mro__ if kind in known)


def as_json(record: Any) -> str:
    """A record as JSON."""
    if isinstance(record, BaseModel):
        return record.model_dump_json(indent=2)
    if isinstance(record, Printed):
        return json.dumps(record.data, indent=2)
    return json.dumps(asdict(record), indent=2, ensure_ascii=False)


def _shown(record: Any, rows: int | None = None) -> tuple[Any, dict[str, Any]]:
    """A record with amounts in its currency, and the rows of a sweep, at most some."""
    shown = in_currency(record) if isinstance(record, Record) else record
    if not isinstance(record, Sweep):
        return shown, {}
    units = {column.name: column.unit for column in record.columns}
    table = {name: values[:rows] for name, values in getattr(record, "table", {}).items()}
    for name in (name for name in table if "USD" in units.get(name, "")):
        table[name] = in_currency(tuple(table[name]), record.shown_in, paid=True)
    return shown, {"rows": table}


def blocks_of(record: Any, rows: int | None = None, **options: Any) -> list[Block]:
    """A record as blocks; of a sweep the first rows."""
    shown, beside = _shown(record, rows)
    return view_of(record).blocks(shown, **beside, **options)


def charts_of(record: Any, rows: int | None = None) -> list[Any]:
    """The charts of a record; of a sweep the first rows."""
    charts = view_of(record).charts
    if charts is None:
        return []
    shown, beside = _shown(record, rows)
    return list(charts(shown, **beside))


def text(
    result: Any, *, full: bool = False, styled: bool = False, parts: Sequence[str] = ()
) -> str:
    """A result as the screen of its command shows it; a plan with more parts."""
    if isinstance(result, Plan):
        parts = plan_view.PARTS if full else parts
        return plan_view.render(result, parts, styled=styled).rstrip("\n")
    if isinstance(result, Printed):
        return show(result.blocks, full=True, styled=styled).rstrip("\n")
    by_full = {"full": full} if view_of(result).by_full else {}
    return show(blocks_of(result, **by_full), full=full, styled=styled).rstrip("\n")


# Notebooks: a page without a script, tables for pandas.


def html(result: Any) -> str:
    """A result as a page of a notebook: title, tables, charts; no script."""
    from planner.report.page import fragment, plan_sections

    if isinstance(result, Plan):
        title = plan_view.headline(result)
        blocks = [each for _, _, part in plan_sections(in_currency(result)) for each in part]
    else:
        blocks = blocks_of(result)
        title = next((each.text for each in blocks if isinstance(each, Heading)), "")
        blocks = [each for each in blocks if not isinstance(each, Heading)]
    found = [f"<h3>{escape(clean(title, limit=None))}</h3>", fragment(blocks)]
    for chart in charts_of(result):
        if chart.panel:
            from planner.report.charts import png

            data = base64.b64encode(png(chart)).decode()
            words = escape(clean(f"{chart.title}. {chart.subtitle}", limit=None))
            found.append(f'<img alt="{words}" src="data:image/png;base64,{data}" width="800">')
    return "\n".join(found)


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
        name = column.name if plain else f"{column.name} [{column.unit}]"
        yield name, study.table[column.name]


# A command's result: screen or JSON, files, messages, exit code.


class Target(NamedTuple):
    """Where and how results go.

    Attributes:
        command: name of the command, for its progress.
        problem: file that names the files written.
        scenario: scenario that names them, too.
        folder: folder for files, None for none.
        as_json: JSON in place of the screen.
        full: all tables and notes.
        quiet: no messages.
        counts: unit of its progress.
        parts: parts of a plan's screen.
    """

    command: str
    problem: Path
    scenario: str | None = None
    folder: Path | None = None
    as_json: bool = False
    full: bool = False
    quiet: bool = False
    counts: str = "parts"
    parts: tuple[str, ...] = ()

    def file(self, ending: str) -> Path:
        """A file named after the problem and its scenario."""
        named = self.problem.with_name(self.problem.name.replace(".plan.json", ".json"))
        return (self.folder or Path()) / f"{stem_of(named, self.scenario)}.{ending}"


def deliver(study: Study, target: Target, write: Writer | None = None) -> int:
    """Run an analysis, print its record, write its files; return the exit code.

    Args:
        study: the analysis; of several records each is printed.
        target: where and how.
        write: writes the files of a record, in place of the files of its view.

    Raises:
        StoppedError: interrupted; the results until then are printed and written.
    """
    stopped: StoppedError | None = None
    before = len(files.put_in_place)
    with show_progress(target.command, target.counts, quiet=target.quiet) as progress:
        try:
            found = study(progress=progress)
        except StoppedError as error:
            if error.record is None:
                raise
            stopped, found = error, error.record
        records = found if type(found) is tuple else (found,)
        if target.folder is not None:
            (write or write_files)(target, *records)
    if target.as_json:
        texts = [as_json(record) for record in records]
        say(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    else:
        styled = coloured()
        for record in records:
            shown = text(record, full=target.full, styled=styled, parts=target.parts)
            say(shown, styled=styled)
    written = files.put_in_place[before:]
    if written and not target.quiet:
        say(f"wrote {list_files(written)}", err=True)
    if stopped is not None:
        raise StoppedError(f"{stopped}{'; they are written' if target.folder else ''}")
    return max(EXIT_CODES[view_of(record).ended(record)] for record in records)


def created_today() -> datetime:
    """Today, or the day SOURCE_DATE_EPOCH asks for, so that bytes can be reproduced."""
    return datetime.combine(today(), time())


# Files of analyses: STEM.NAME.json, .html, .xlsx, .png.


def write_files(target: Target, *records: Any, page_only: bool = False) -> None:
    """Write JSON, pictures, page and workbook of the records of one study, or its page alone."""
    if isinstance(records[0], Printed):
        write_all({target.file(end): data for end, data in records[0].files.items()})
        return
    contents = _page_of(target, records)
    if page_only:
        write_all(contents)
        return
    from planner import workbook
    from planner.report.exports import write_files as write_rows

    sheets = list[Any]()
    for record in records:
        name = view_of(record).name
        if isinstance(record, Frontier):  # one for each axis
            name = f"{name}-{record.x_name}"
        if isinstance(record, SweepTable):
            rows = target.file("sweep.parquet"), target.file("sweep.csv")
            write_rows(*rows, record.columns, record.types, record.table)
        contents[target.file(f"{name}.json")] = f"{as_json(record)}\n".encode()
        contents |= draw(charts_of(record, MOST_ROWS), target.file(name))
        sheets.append(partial(_add_sheets, record))
    first, stream = records[0], io.BytesIO()
    workbook.write_study(stream, first, sheets, created=created_today(), title=_title(first))
    contents[target.file(f"{view_of(first).name}.xlsx")] = stream.getvalue()
    write_all(contents)


def _title(record: Any) -> str:
    plan = getattr(record, "plan", None)
    problem = getattr(record, "problem", None) or getattr(plan, "problem", None)
    return str(problem or "Plans compared")


def _page_of(target: Target, records: Sequence[Any]) -> dict[Path, bytes]:
    """The page of a study by its path; of a sweep with sliders, and none if it is too large."""
    from planner.report.page import render_page
    from planner.report.sweep import page

    first = records[0]
    path = target.file(f"{view_of(first).name}.html")
    if not isinstance(first, SweepTable):
        studies = [shown_study(record) for record in records]
        return {path: render_page(_title(first), None, studies).encode()}
    shown, beside = _shown(first, MOST_ROWS)
    try:
        return {path: page(shown, beside["rows"], first.start)}
    except InputError as error:
        say(f"planner: no page with sliders: {error}", err=True)
        return {}


def draw(charts: Sequence[Any], stem: Path) -> dict[Path, bytes]:
    """Charts with something drawn as PNG by path, named by ``stem`` and the chart."""
    from planner.report.charts import png

    found = {}
    for chart in (each for each in charts if each.panel):
        own = "" if f".{chart.name}" in stem.name else f".{chart.name}"
        found[stem.with_name(f"{stem.name}{own}.png")] = png(chart)
    return found


def _add_sheets(record: Any, book: Book) -> None:
    """Add the sheet of a record, and of a sweep one with all its rows."""
    from planner import workbook

    name = view_of(record).name.capitalize()
    workbook.add_sheet(book, name, blocks_of(record, MOST_ROWS))
    if isinstance(record, Sweep):
        shown, beside = _shown(record, MOST_ROWS)
        rows = workbook.sweep_table(shown, beside["rows"])
        workbook.add_sheet(book, f"{name} data", (Heading("Every scenario"), rows))


def shown_study(record: Any) -> ShownStudy:
    """A record with its blocks and charts, for a page."""
    from planner.report.page import ShownStudy

    return ShownStudy(tuple(blocks_of(record)), tuple(charts_of(record)))


# Files of a plan: workbook, plan JSON, page, bill, cables, NetBox tables, by edition.

Also = Literal["cables", "netbox", "bill.csv", "bill.json"]
Part = Literal["lines", "notes", "proof"]


class Edition(NamedTuple):
    """Readers of files, and the prices shown; None for those of the audience."""

    audience: Audience = "internal"
    prices: Prices | None = None


EDITIONS = {
    "internal": Edition(),
    "customer": Edition("customer"),
    "customer-list": Edition("customer", "list+net"),
    "customer-no-prices": Edition("customer", "none"),
    "partner": Edition("partner"),
}
"""Editions by the word of --audience."""


def words_of(option: str, given: Sequence[str] | None, choices: object) -> tuple[str, ...]:
    """The words of an option that takes several, with commas or repeated.

    Raises:
        InputError: one is none of the choices, a ``Literal``.
    """
    words = (word.strip() for text in given or () for word in text.split(","))
    return tuple(dict.fromkeys(one_of(option, word, get_args(choices)) for word in words))


def write_plan(
    target: Target, plan: Plan, *, also: Collection[str], html: bool, edition: Edition
) -> None:
    """Write the files of a plan; only the internal edition carries the plan and its inputs.

    A plan without lines (infeasible, no solution) leaves no files.

    Raises:
        InputError: NetBox files of a plan without racks, or a file cannot be written.
    """
    from planner.report.exports import bill, bill_csv, bill_json
    from planner.workbook import write

    if not plan.lines:
        return
    inside, prices, stream = edition.audience == "internal", edition.prices, io.BytesIO()
    contents, sheets = _cable_files(plan, also)
    shown = plan if inside else plan.model_copy(update={"inputs": None, "checksums": None})
    write(
        shown,
        stream,
        created=created_today(),
        audience=edition.audience,
        prices=prices,
        more=sheets,
    )
    contents["xlsx"] = stream.getvalue()
    if inside:
        contents["plan.json"] = f"{as_json(plan)}\n".encode()
    for kind, as_bytes in (("bill.csv", bill_csv), ("bill.json", bill_json)):
        if kind in also:
            contents[kind] = as_bytes(bill(shown, edition.audience, prices), prices)
    if html:
        contents["html"] = plan_page(shown, edition)
    mark = "" if inside else f"{edition.audience}."
    write_all({target.file(f"{mark}{ending}"): data for ending, data in contents.items()})


def plan_page(plan: Plan, edition: Edition) -> bytes:
    """The page of a plan in an edition."""
    from planner.report.page import render_page

    shown = for_audience(plan, edition.audience, edition.prices)
    return render_page(shown.problem, shown, ()).encode()


def _cable_files(plan: Plan, also: Collection[str]) -> tuple[dict[str, bytes], list[Any]]:
    """The cable schedule as CSV and sheet, and the tables for NetBox, by the end of their name."""
    if not {"cables", "netbox"} & {*also}:
        return {}, []
    from planner import workbook
    from planner.analysis.verification import open_plan
    from planner.plan.hall import cable_schedule
    from planner.report.exports import cables_csv, netbox_files

    if "netbox" in also and not plan.racks:
        message = "--also netbox: the plan has no racks"
        raise InputError(Finding("netbox", message, fix="give site.rack: {height: 48 RU}"))
    schedule = cable_schedule(open_plan(plan).inputs, plan)
    contents, sheets = dict[str, bytes](), list[Any]()
    if "cables" in also:
        blocks = workbook.cable_blocks(schedule)
        sheets = [partial(workbook.add_sheet, name="Cables", blocks=blocks)]
        contents["cables.csv"] = cables_csv(schedule)
    if "netbox" in also:
        found = netbox_files(plan, schedule)
        contents |= {f"netbox-{key}.csv": data for key, data in found.items()}
    return contents, sheets
