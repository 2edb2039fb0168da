"""Results of studies on the command line: what is printed, which files are written, exit codes."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from planner.commands import EXIT_CODES
from planner.commands.page import page_of
from planner.commands.portfolio import refuse
from planner.commands.running import show_progress
from planner.commands.solve import Sheet, created_today, list_written, study_sheet
from planner.commands.views import VIEWS, View
from planner.errors import StoppedError
from planner.outputs.blocks import Table
from planner.outputs.restated import restated_view
from planner.outputs.screen import show
from planner.schema.plan import Plan
from planner.schema.sensitivity import Frontier
from planner.studies.request import Found, Request
from planner.terminal import coloured, say
from planner.whole_files import write_all

if TYPE_CHECKING:
    from planner.outputs.charts.model import Chart

Study = Callable[[Request], Found]


def run_study(
    command: str,
    counts: str,
    study: Study,
    request: Request,
    *,
    as_json: bool,
    full: bool,
    quiet: bool = False,
) -> int:
    """Run a study, print its result, write its files and return the exit code.

    Args:
        command: its name, for the progress line.
        counts: the unit of its progress.
        study: what to run.
        request: its inputs.
        as_json: print records as JSON.
        full: print everything.
        quiet: print no messages.

    Raises:
        InputError: an option or a file is wrong, or a file cannot be written.
        StoppedError: the user interrupted it; rows solved until then are written.
    """
    refuse(command, request.paths[0])
    with show_progress(command, counts, quiet=quiet) as progress:
        found = study(replace(request, progress=progress))
        text, styled = found.text, False
        if not text and as_json:
            text = _json(found.records)
        elif not text:
            text, styled = _screens(found, full=full), coloured()
        written = found.written
        if request.folder is not None and found.records and not written:
            written = _write(found, request.folder, found.stem or request.stem)
    if text:
        say(text, styled=styled)
    list_written(written, quiet=quiet)
    if found.stopped:
        raise StoppedError(found.stopped)
    return max(EXIT_CODES[each] for each in found.ended)


def _json(records: Sequence[BaseModel]) -> str:
    """Return records as JSON, several as a list."""
    texts = [record.model_dump_json(indent=2) for record in records]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _screens(found: Found, *, full: bool) -> str:
    """Return records as people read them; of several records the first screens have no tables."""
    screens: list[str] = []
    for record in found.records:
        stated, shown = restated_view(record, found.shown)
        blocks = VIEWS[type(record)].blocks(stated, **shown)
        if len(found.records) > 1 and not full:
            blocks = [each for each in blocks if not isinstance(each, Table)]
        screens.append(show(blocks, full=full, styled=coloured()))
    return "\n\n".join(screen.rstrip("\n") for screen in screens)


def _write(found: Found, folder: Path, stem: str) -> tuple[Path, ...]:
    """Write records, pictures and the workbook of a study; return their names."""
    contents: dict[Path, bytes] = {}
    sheets: list[Sheet] = []
    for record in found.records:
        view = VIEWS[type(record)]
        name = _record_stem(view, record, stem)
        if view.has_json:
            contents[folder / f"{name}.json"] = f"{record.model_dump_json(indent=2)}\n".encode()
        drawn = pictures(view, record, found.shown, folder, name)
        contents |= drawn
        if view.has_workbook and found.plan is not None and (drawn or view.charts is None):
            sheets.append(study_sheet(view, record, as_png(drawn), **found.shown))
    plan = found.plan() if sheets and found.plan is not None else None
    contents |= page_of_study(found, folder, stem, plan)
    if contents:
        write_all(contents)
    if plan is None:
        return tuple(contents)
    book = f"{VIEWS[type(found.records[0])].file_stem(stem)}.xlsx"
    return (*contents, *write_workbook(folder, book, plan, sheets, found.title))


def page_of_study(found: Found, folder: Path, stem: str, plan: Plan | None) -> dict[Path, bytes]:
    """Return the page of a study with its plan, or of the plans it compares; empty without either.

    Args:
        found: the study.
        folder: folder for files.
        stem: how their names begin.
        plan: the plan that the study is about.
    """
    view = VIEWS[type(found.records[0])]
    path = folder / f"{view.file_stem(stem)}.html"
    if found.plans:
        return page_of(path, found.plans, ())
    if not view.has_page:
        return {}
    plans = [] if plan is None or plan.totals is None else [(plan.problem, plan)]
    rows = found.shown.get("rows")
    return page_of(path, plans, [(record, rows) for record in found.records])


def _record_stem(view: View, record: BaseModel, stem: str) -> str:
    """The stem of a record's files; a study may have several frontiers."""
    name = view.file_stem(stem)
    return f"{name}-{record.x_name}" if isinstance(record, Frontier) else name


def pictures(
    view: View, record: BaseModel, shown: Mapping[str, Any], folder: Path, stem: str
) -> dict[Path, bytes]:
    """Return the pictures of a record, by path; charts without anything drawn have none.

    Args:
        view: of such records.
        record: the record.
        shown: what its charts take besides.
        folder: folder for files.
        stem: how their names begin; a chart that is not named as the view adds its own name.
    """
    found: dict[Path, bytes] = {}
    if view.charts is None:
        return found
    stated, beside = restated_view(record, shown)
    charts = [chart for chart in view.charts(stated, **beside) if chart.panels]
    for chart in charts:
        own = "" if chart.name == view.name else f".{chart.name}"
        found |= draw(chart, folder, f"{stem}{own}")
    return found


def as_png(drawn: Mapping[Path, bytes]) -> list[bytes]:
    """Return those pictures that a workbook can hold."""
    return [data for path, data in drawn.items() if path.suffix == ".png"]


def write_workbook(
    folder: Path, name: str, plan: Plan, sheets: Sequence[Sheet], title: str = ""
) -> tuple[Path, ...]:
    """Write a study's workbook; return its path.

    Args:
        folder: where it goes.
        name: its name there.
        plan: the plan that its sheets are about.
        sheets: what adds each sheet.
        title: the document's title, by default the problem's name.

    Raises:
        InputError: it cannot be written.
    """
    from planner.workbook.tables import write_study

    stream = io.BytesIO()
    write_study(stream, plan, sheets, created=created_today(), title=title)
    path = folder / name
    write_all({path: stream.getvalue()})
    return (path,)


def draw(chart: Chart, folder: Path, stem: str) -> dict[Path, bytes]:
    """Return a chart as PNG and SVG, by path."""
    from planner.outputs.charts.picture import png, svg

    return {folder / f"{stem}.png": png(chart), folder / f"{stem}.svg": svg(chart)}
