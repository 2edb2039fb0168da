"""Deliver results: screen or JSON on standard output, files, messages, exit code."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from datetime import datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from planner import atomic_files
from planner.analysis.request import stem_of
from planner.atomic_files import write_all
from planner.errors import InputError, StoppedError
from planner.loader.prices import today
from planner.report.blocks import Heading
from planner.report.words import listed
from planner.results import as_json, charts_of, exit_code, shown_in_currency, text, view_of
from planner.schema.analysis import Comparison, Frontier, Sweep
from planner.schema.plan import Plan
from planner.terminal import coloured, say, show_progress

if TYPE_CHECKING:
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


# Files: STEM.NAME.json, .html, .xlsx, .png, .svg.


def write_files(target: Target, *records: Any) -> None:
    """Write JSON, pictures, page and workbook of the records of one study."""
    folder = target.folder or Path()
    contents: dict[Path, bytes] = {}
    sheets: list[Sheet] = []
    for record in records:
        name = f"{target.stem}.{view_of(record).name}"
        if isinstance(record, Frontier):  # one for each axis
            name = f"{name}-{record.x_name}"
        contents[folder / f"{name}.json"] = f"{as_json(record)}\n".encode()
        drawn = draw(charts_of(record, MOST_ROWS), folder / name)
        contents |= drawn
        pictures = [data for path, data in drawn.items() if path.suffix == ".png"]
        sheets.append(study_sheet(record, pictures))
    if isinstance(records[0], Sweep):
        _write_table(records[0], folder / f"{target.stem}.sweep")
    stem = folder / f"{target.stem}.{view_of(records[0]).name}"
    contents |= _page(stem.with_name(f"{stem.name}.html"), records)
    contents[stem.with_name(f"{stem.name}.xlsx")] = _workbook(records, sheets)
    write_all(contents)


def draw(charts: Sequence[Any], stem: Path) -> dict[Path, bytes]:
    """Charts with something drawn as PNG and SVG by path, named by ``stem`` and the chart."""
    from planner.report.charts.picture import png, svg

    found = {}
    for chart in (each for each in charts if each.panels):
        own = "" if f".{chart.name}" in stem.name else f".{chart.name}"
        found[stem.with_name(f"{stem.name}{own}.png")] = png(chart)
        found[stem.with_name(f"{stem.name}{own}.svg")] = svg(chart)
    return found


def study_sheet(record: Any, pictures: Sequence[bytes] = ()) -> Sheet:
    """The sheet of a record, and of a sweep one with all its rows."""
    from planner.workbook import tables

    stated, beside = shown_in_currency(record, MOST_ROWS)
    view = view_of(record)
    name = view.name.replace("-", " ").capitalize()

    def add(book: Book) -> None:
        tables.add(book, name, view.blocks(stated, **beside), pictures)
        if "rows" in beside:
            rows = tables.sweep_table(stated, beside["rows"])
            tables.add(book, f"{name} data", (Heading("Every scenario"), rows))

    return add


def _workbook(records: Sequence[Any], sheets: Sequence[Sheet]) -> bytes:
    from planner.workbook.tables import write_study

    stream = io.BytesIO()
    write_study(stream, records[0], sheets, created=created_today(), title=_title(records[0]))
    return stream.getvalue()


def _title(record: Any) -> str:
    plan = getattr(record, "plan", None)
    return str(getattr(record, "problem", None) or getattr(plan, "problem", "Plans compared"))


def _page(path: Path, records: Sequence[Any]) -> dict[Path, bytes]:
    """The page of records; of a sweep the page with sliders, none where it is too large."""
    from planner.report.page import report
    from planner.report.sweep_page import page

    if isinstance(records[0], Sweep):
        stated, beside = shown_in_currency(records[0], MOST_ROWS)
        try:
            return {path: page(stated, beside["rows"], getattr(records[0], "start", {}))}
        except InputError as error:
            say(f"planner: no page with sliders: {error}", err=True)
        return {}
    return {path: report(_title(records[0]), None, [shown_study(r) for r in records]).encode()}


def shown_study(record: Any) -> Any:
    """A record with its blocks and charts, for a page."""
    from planner.report.page import ShownStudy

    stated, beside = shown_in_currency(record)
    blocks = view_of(record).blocks(stated, **beside)
    return ShownStudy(record, tuple(blocks), tuple(charts_of(record)))


def _write_table(record: Any, stem: Path) -> None:
    """Write the rows of a sweep as Parquet and CSV."""
    from planner.report import table_files

    parquet, csv = (stem.with_name(f"{stem.name}{suffix}") for suffix in (".parquet", ".csv"))
    table_files.write_files(parquet, csv, record.columns, record.types, record.table)
