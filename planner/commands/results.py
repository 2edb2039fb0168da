"""Results of studies on the command line: screen or JSON, and the files that go with each."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from planner.analysis.request import Found, Request
from planner.atomic_files import write_all
from planner.commands.files import (
    EXIT_CODES,
    Sheet,
    View,
    created_today,
    draw,
    list_written,
    page_of,
    study_sheet,
)
from planner.errors import StoppedError
from planner.report.blocks import Table
from planner.report.restated import restated_view
from planner.report.screen import show
from planner.report.views import (
    alternatives,
    bids,
    comparison,
    explain,
    frontier,
    rules,
    simulation,
    sweep,
    telemetry,
    tornado,
    uncertain,
    verification,
)
from planner.schema.analysis import (
    Alternatives,
    Comparison,
    Frontier,
    RulesTable,
    Sweep,
    Tornado,
    Uncertain,
)
from planner.schema.bill import Bids
from planner.schema.explanation import Audit, Explanation, Verification
from planner.schema.plan import Plan
from planner.schema.telemetry import Characterization, Simulation
from planner.terminal import coloured, say, show_progress

if TYPE_CHECKING:
    from planner.report.page import ShownStudy

Study = Callable[[Request], Found]


_ALL = ("json", "page", "workbook")
VIEWS: dict[type[BaseModel], View] = {
    Comparison: View("comparison", comparison.view, table="figures", suffix=""),
    RulesTable: View("rules", rules.view, rules.charts, files=_ALL),
    Alternatives: View("alternatives", alternatives.view),
    Audit: View("audit", verification.audit),
    Verification: View("verification", verification.verification),
    Explanation: View("explanation", explain.view, suffix="explain"),
    Sweep: View("sweep", sweep.view, sweep.charts),
    Frontier: View("frontier", frontier.view, frontier.charts, files=_ALL),
    Tornado: View("tornado", tornado.view, tornado.charts, files=_ALL),
    Uncertain: View("uncertain", uncertain.view, uncertain.charts, "outcomes", _ALL),
    Bids: View("bids", bids.view, bids.charts, "bids", _ALL),
    Characterization: View("characterization", telemetry.view, table="jobs"),
    Simulation: View("simulation", simulation.view, simulation.charts, files=("json",)),
}


def view_of(record: object) -> View | None:
    """The view of a result, None where it is no study's."""
    return next((VIEWS[kind] for kind in type(record).__mro__ if kind in VIEWS), None)


# Studies.


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

    ``counts`` is the unit of its progress.

    Raises:
        InputError: an option or a file is wrong, or a file cannot be written.
        StoppedError: the user interrupted it; rows solved until then are written.
    """
    with show_progress(command, counts, quiet=quiet) as progress:
        found = study(replace(request, progress=progress))
        text, styled, written = found.text, False, found.written
        if not text and as_json:
            texts = [record.model_dump_json(indent=2) for record in found.records]
            text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        elif not text:
            text, styled = _screens(found, full=full), coloured()
        if request.folder is not None and found.records:
            written += _write(found, request.folder, found.stem or request.stem)
    if text:
        say(text, styled=styled)
    list_written(written, quiet=quiet)
    if found.stopped:
        raise StoppedError(found.stopped)
    return max(EXIT_CODES[each] for each in found.ended)


def _screens(found: Found, *, full: bool) -> str:
    """Records as people read them; of several records the first screens have no tables."""
    screens: list[str] = []
    for record in found.records:
        stated, shown = restated_view(record, found.shown)
        blocks = VIEWS[type(record)].blocks(stated, **shown)
        if len(found.records) > 1 and not full:
            blocks = [each for each in blocks if not isinstance(each, Table)]
        screens.append(show(blocks, full=full, styled=coloured()))
    return "\n\n".join(screen.rstrip("\n") for screen in screens)


def _write(found: Found, folder: Path, stem: str) -> tuple[Path, ...]:
    """Write records, pictures, page and workbook of a study; return their names."""
    contents: dict[Path, bytes] = {}
    sheets: list[Sheet] = []
    for record in found.records:
        view = VIEWS[type(record)]
        name = view.file_stem(stem)
        if isinstance(record, Frontier):  # a study may have several
            name = f"{name}-{record.x_name}"
        if "json" in view.files:
            contents[folder / f"{name}.json"] = f"{record.model_dump_json(indent=2)}\n".encode()
        drawn = _pictures(view, record, found.shown, folder / name)
        contents |= drawn
        shown = drawn or view.charts is None or isinstance(record, Sweep)
        if "workbook" in view.files and found.plan is not None and shown:
            images = [data for path, data in drawn.items() if path.suffix == ".png"]
            sheets.append(study_sheet(view, record, images, **found.shown))
    plan = found.plan() if sheets and found.plan is not None else None
    named = folder / VIEWS[type(found.records[0])].file_stem(stem)
    contents |= _page_of_study(found, named.with_name(f"{named.name}.html"), plan)
    if plan is not None:
        from planner.workbook.tables import write_study

        stream = io.BytesIO()
        write_study(stream, plan, sheets, created=created_today(), title=found.title)
        contents[named.with_name(f"{named.name}.xlsx")] = stream.getvalue()
    if contents:
        write_all(contents)
    return tuple(contents)


def _pictures(
    view: View, record: BaseModel, shown: Mapping[str, Any], stem: Path
) -> dict[Path, bytes]:
    """The charts of a record as PNG and SVG, by path; none of a chart without anything drawn."""
    if view.charts is None:
        return {}
    stated, beside = restated_view(record, shown)
    found: dict[Path, bytes] = {}
    for chart in view.charts(stated, **beside):
        if chart.panels:
            own = "" if chart.name == view.name else f".{chart.name}"
            found |= draw(chart, stem.parent, f"{stem.name}{own}")
    return found


def shown_study(record: Any, rows: Mapping[str, Sequence[Any]] | None) -> ShownStudy:
    """A study with the blocks of its view and its charts."""
    from planner.report.page import ShownStudy

    view = view_of(record)
    assert view is not None
    stated, beside = restated_view(record, {} if rows is None else {"rows": rows})
    charts = view.charts(stated, **beside) if view.charts is not None else ()
    return ShownStudy(record, tuple(view.blocks(stated, **beside)), tuple(charts))


def _page_of_study(found: Found, path: Path, plan: Plan | None) -> dict[Path, bytes]:
    """The page of a study with its plan, or of the plans it compares; empty without either."""
    if found.plans:
        return page_of(path, found.plans, ())
    if "page" not in VIEWS[type(found.records[0])].files:
        return {}
    plans = [] if plan is None or plan.totals is None else [(plan.problem, plan)]
    rows = found.shown.get("rows")
    return page_of(path, plans, [shown_study(record, rows) for record in found.records])
