"""Deliver results: screen or JSON on standard output, files, messages, exit code."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from planner import atomic_files
from planner.analysis.request import one_of, stem_of
from planner.atomic_files import write_all
from planner.errors import Finding, InputError, StoppedError
from planner.loader.prices import today
from planner.report.blocks import Heading
from planner.report.edition import Audience, for_audience
from planner.report.words import listed
from planner.results import as_json, charts_of, exit_code, shown_in_currency, text, view_of
from planner.schema import Prices
from planner.schema.analysis import Comparison, Frontier, Sweep
from planner.schema.plan import Plan
from planner.terminal import coloured, say, show_progress

if TYPE_CHECKING:
    from planner.analysis.verification import PlanFile
    from planner.workbook.book import Book

Sheet = Callable[["Book"], None]
"""Adds a sheet to a workbook."""
MOST_ROWS = 20_000
"""Most rows of a sweep in its workbook, pictures and page."""


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

    @property
    def stem(self) -> str:
        """Beginning of the names of the files."""
        named = self.problem.with_name(self.problem.name.replace(".plan.json", ".json"))
        return stem_of(named, self.scenario)


def deliver(
    study: Callable[..., Any], target: Target, write: Callable[..., None] | None = None
) -> int:
    """Run an analysis, print its record, write its files; return the exit code.

    Args:
        study: function of the library with all arguments but ``progress``; or several, whose
            records are printed one after the other.
        target: where and how.
        write: writes the files of a record, in place of the files of its view.

    Raises:
        StoppedError: interrupted; the results until then are printed and written.
    """
    stopped: StoppedError | None = None
    before = len(atomic_files.put_in_place)
    with show_progress(target.command, target.counts, quiet=target.quiet) as progress:
        try:
            found = study(progress=progress)
        except StoppedError as error:
            if error.record is None:
                raise
            stopped, found = error, error.record
        records = found if isinstance(found, tuple) else (found,)
        if target.folder is not None:
            (write or write_files)(target, *records)
    print_records(records, target)
    list_written(before, quiet=target.quiet)
    if stopped is not None:
        raise StoppedError(f"{stopped}{'; they are written' if target.folder else ''}")
    return max(map(exit_code, records))


def print_records(records: Sequence[Any], target: Target) -> None:
    """Print records as JSON, or as screens."""
    if target.as_json:
        texts = [as_json(record) for record in records]
        say(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
        return
    styled = coloured()
    for record in records:
        more: dict[str, Any] = {}
        if isinstance(record, Comparison):
            more = {"everything": target.full}
        elif isinstance(record, Plan):
            more = {"parts": target.parts}
        say(text(record, full=target.full, styled=styled, **more), styled=styled)


def list_written(before: int, *, quiet: bool) -> None:
    """Print the files written since there were ``before``."""
    written = atomic_files.put_in_place[before:]
    if written and not quiet:
        say(f"wrote {list_files(written)}", err=True)


def list_files(paths: Sequence[Path]) -> str:
    """File names as a sentence lists them; nothing in them steers the terminal."""
    return listed(["".join(c if c.isprintable() else "?" for c in str(path)) for path in paths])


def created_today() -> datetime:
    """Today, or the day SOURCE_DATE_EPOCH asks for, so that bytes can be reproduced."""
    return datetime.combine(today(), time())


# Files: STEM.NAME.json, .html, .xlsx, .png.


def write_files(target: Target, *records: Any) -> None:
    """Write JSON, pictures, page and workbook of the records of one study."""
    from planner.report.page import report
    from planner.workbook.tables import write_study

    folder, contents = target.folder or Path(), dict[Path, bytes]()
    sheets: list[Sheet] = []
    for record in records:
        name = f"{target.stem}.{view_of(record).name}"
        if isinstance(record, Frontier):  # one for each axis
            name = f"{name}-{record.x_name}"
        contents[folder / f"{name}.json"] = f"{as_json(record)}\n".encode()
        contents |= draw(charts_of(record, MOST_ROWS), folder / name)
        sheets.append(_study_sheet(record))
    first, stem = records[0], folder / f"{target.stem}.{view_of(records[0]).name}"
    plan = getattr(first, "plan", None)
    title = str(getattr(first, "problem", None) or getattr(plan, "problem", "Plans compared"))
    if isinstance(first, Sweep):
        contents |= _sweep_files(first, stem)
    else:
        page = report(title, None, [shown_study(record) for record in records])
        contents[_named(stem, "html")] = page.encode()
    stream = io.BytesIO()
    write_study(stream, first, sheets, created=created_today(), title=title)
    contents[_named(stem, "xlsx")] = stream.getvalue()
    write_all(contents)


def _named(stem: Path, ending: str) -> Path:
    return stem.with_name(f"{stem.name}.{ending}")


def _sweep_files(record: Any, stem: Path) -> dict[Path, bytes]:
    """Write the rows of a sweep as Parquet and CSV; its page with sliders, if not too large."""
    from planner.report.exports import write_files as write_rows
    from planner.report.views.sweep import page

    files = _named(stem, "parquet"), _named(stem, "csv")
    write_rows(*files, record.columns, record.types, record.table)
    stated, beside = shown_in_currency(record, MOST_ROWS)
    try:
        return {_named(stem, "html"): page(stated, beside["rows"], record.start)}
    except InputError as error:
        say(f"planner: no page with sliders: {error}", err=True)
        return {}


def draw(charts: Sequence[Any], stem: Path) -> dict[Path, bytes]:
    """Charts with something drawn as PNG by path, named by ``stem`` and the chart."""
    from planner.report.picture import png

    found = {}
    for chart in (each for each in charts if each.panels):
        own = "" if f".{chart.name}" in stem.name else f".{chart.name}"
        found[stem.with_name(f"{stem.name}{own}.png")] = png(chart)
    return found


def _study_sheet(record: Any) -> Sheet:
    """The sheet of a record, and of a sweep one with all its rows."""
    from planner.workbook import tables

    stated, beside = shown_in_currency(record, MOST_ROWS)
    name = view_of(record).name.capitalize()

    def add(book: Book) -> None:
        tables.add(book, name, view_of(record).blocks(stated, **beside))
        if "rows" in beside:
            rows = tables.sweep_table(stated, beside["rows"])
            tables.add(book, f"{name} data", (Heading("Every scenario"), rows))

    return add


def shown_study(record: Any) -> Any:
    """A record with its blocks and charts, for a page."""
    from planner.report.page import ShownStudy

    stated, beside = shown_in_currency(record)
    blocks = view_of(record).blocks(stated, **beside)
    return ShownStudy(tuple(blocks), tuple(charts_of(record)))


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
    from planner.analysis.verification import open_plan
    from planner.report.exports import bill, bill_csv, bill_json
    from planner.workbook import write

    if not plan.lines:
        return
    opened, inside = open_plan(target.problem, plan), edition.audience == "internal"
    stem = target.stem if inside else f"{target.stem}.{edition.audience}"

    def file(ending: str) -> Path:
        return (target.folder or Path()) / f"{stem}.{ending}"

    cables, sheets = _cable_files(opened, also, file)
    stream, prices = io.BytesIO(), edition.prices
    carried = opened.carried if inside else None
    write(
        opened.plan, stream, created=created_today(), audience=edition.audience, prices=prices,
        inputs=carried, more=sheets,
    )  # fmt: skip
    contents = {file("xlsx"): stream.getvalue()}
    if inside:
        contents[file("plan.json")] = f"{as_json(plan)}\n".encode()
    for kind, as_bytes in (("bill.csv", bill_csv), ("bill.json", bill_json)):
        if kind in also:
            made = bill(opened.plan, edition.audience, prices)
            contents[file(kind)] = as_bytes(made, prices)
    if html:
        contents[file("html")] = plan_page(opened.plan, edition)
    write_all(contents | cables)


def plan_page(plan: Plan, edition: Edition) -> bytes:
    """The page of a plan in an edition."""
    from planner.report.page import report

    shown = for_audience(plan, edition.audience, edition.prices)
    return report(shown.problem, shown, ()).encode()


def _cable_files(
    opened: PlanFile, also: Collection[str], file: Callable[[str], Path]
) -> tuple[dict[Path, bytes], list[Sheet]]:
    """The cable schedule as CSV and sheet, and the tables for NetBox."""
    if not {"cables", "netbox"} & {*also}:
        return {}, []
    from planner.plan.cables import cable_schedule
    from planner.report.exports import cables_csv, netbox_files
    from planner.workbook import tables

    if "netbox" in also and not opened.plan.racks:
        message = "--also netbox: the plan has no racks"
        raise InputError(Finding("netbox", message, fix="give site.rack: {height: 48 RU}"))
    schedule = cable_schedule(opened.inputs, opened.plan)
    contents: dict[Path, bytes] = {}
    sheets: list[Sheet] = []
    if "cables" in also:
        sheets = [partial(tables.add, name="Cables", blocks=tables.cable_blocks(schedule))]
        contents[file("cables.csv")] = cables_csv(schedule)
    if "netbox" in also:
        found = netbox_files(opened.plan, schedule)
        contents |= {file(f"netbox-{key}.csv"): data for key, data in found.items()}
    return contents, sheets
