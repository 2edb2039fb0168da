"""Studies from the command line: what is printed, which files are written, the exit code."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel

from planner.commands import EXIT_CODES
from planner.commands.running import show_progress
from planner.commands.solve import Sheet, created_today, list_files, study_sheet
from planner.currency import shown_in
from planner.errors import StoppedError
from planner.outputs.blocks import PARTS, render
from planner.outputs.restated import currency_of
from planner.schema.plan import Plan
from planner.studies.request import Found, Request
from planner.studies.study import Result, Study, load, whole_text
from planner.terminal import say
from planner.whole_files import write_all

if TYPE_CHECKING:
    from planner.outputs.charts.model import Chart

_OF_REQUESTS = {
    "set_": "settings",
    "scenario": "scenario",
    "gap": "gap",
    "time_limit": "time_limit_s",
    "solver": "solver",
    "jobs": "jobs",
    "dask": "dask",
    "output": "folder",
    "quiet": "quiet",
    "as_json": "as_json",
}
"""Options that every study may have, by what a request calls them."""


class Report(NamedTuple):
    """What to print, the files written, and the exit code.

    Where the user stopped it half-way, ``stopped`` says what is kept and how to go on. ``strong``
    are the words of its lines that a terminal may show bold.
    """

    text: str
    written: tuple[Path, ...]
    code: int
    stopped: str = ""
    strong: tuple[str, ...] = ()


def command(study: Study, given: Mapping[str, Any]) -> int:
    """Run a study as it is asked for on the command line; print it and return the exit code.

    Args:
        study: the study.
        given: the values of its options by name, as the command line read them.

    Raises:
        InputError: an option or a file is wrong, or a file cannot be written.
        StoppedError: the user stopped it half-way.
    """
    request, own = parse_options(study, given)
    found = report(study, request, own)
    if found.text:
        say(found.text, strong=found.strong)
    tell(found.written, quiet=request.quiet)
    if found.stopped:
        raise StoppedError(found.stopped)
    return found.code


def parse_options(study: Study, given: Mapping[str, Any]) -> tuple[Request, dict[str, Any]]:
    """Return what a study is asked, and the values of its own options.

    Raises:
        InputError: the text of an option is wrong.
    """
    own: dict[str, Any] = {}
    first, *options = study.options
    paths = given[first.name]
    values: dict[str, Any] = {"paths": tuple(paths) if isinstance(paths, list) else (paths,)}
    for option in options:
        value = _plain(given[option.name])
        value = () if value is None and option.several else value
        value = value if option.read is None else option.read(value)
        if option.target in _OF_REQUESTS:
            values[_OF_REQUESTS[option.target]] = value
        else:
            own[option.target] = value
    values["settings"] = tuple(values.get("settings") or ())
    values["parts"] = tuple(part for part in PARTS if own.pop(part, False))
    return Request(**values), own


def _plain(value: Any) -> Any:
    """Return a value without what is of the command line alone: names of choices, and lists."""
    if isinstance(value, Enum):
        return value.value
    return tuple(map(_plain, value)) if isinstance(value, list) else value


def report(study: Study, request: Request, own: Mapping[str, Any]) -> Report:
    """Run a study and write its files.

    Args:
        study: the study.
        request: what it is asked.
        own: its own options by name.

    Raises:
        InputError: an option or a file is wrong, or a file cannot be written.
    """
    with show_progress(study.name, study.counts, quiet=request.quiet) as progress:
        return _reported(study, replace(request, progress=progress), own)


def _reported(study: Study, request: Request, own: Mapping[str, Any]) -> Report:
    """Run a study and write its files."""
    found: Found = load(study.run)(request, **own)
    results = [_result(study, record) for record in found.records]
    text = found.text
    strong: tuple[str, ...] = ()
    if not text and request.as_json:
        text = _json(found.records)
    elif not text:
        text, strong = _screens(found, results, request.parts)
    written = found.written
    if request.folder is not None and found.records and not written:
        written = _write(found, results, request.folder, found.stem or request.stem)
    return Report(
        text, written, max(EXIT_CODES[each] for each in found.ended), found.stopped, strong
    )


def _result(study: Study, record: BaseModel) -> Result:
    name = type(record).__name__
    return next(each for each in study.results if each.record.endswith(f":{name}"))


def _json(records: Sequence[BaseModel]) -> str:
    """Return records as JSON, several as a list."""
    texts = [record.model_dump_json(indent=2) for record in records]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _screens(
    found: Found, results: Sequence[Result], parts: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    """Return records as people read them, and the words that their lines begin with."""
    screens, labels = [], []
    for result, record in zip(results, found.records, strict=True):
        with shown_in(currency_of(record)):
            whole = partial(whole_text, result, record, found.shown)
            if result.first:
                first = load(result.first)(record, **found.shown)
                if len(results) > 1:  # one page for all of them
                    first = replace(first, below=())
                labels += first.labels
                screens.append(render(first, parts, whole))
            else:
                screens.append(whole())
    return "\n\n".join(screen.rstrip("\n") for screen in screens), tuple(labels)


def _write(found: Found, results: Sequence[Result], folder: Path, stem: str) -> tuple[Path, ...]:
    """Write records, pictures and the workbook of a study; return their names."""
    contents: dict[Path, bytes] = {}
    sheets: list[Sheet] = []
    for result, record in zip(results, found.records, strict=True):
        if result.kept:
            name = result.kept.format(stem=stem, record=record)
            contents[folder / f"{name}.json"] = f"{record.model_dump_json(indent=2)}\n".encode()
        drawn = pictures(result, record, found.shown, folder, stem)
        contents |= drawn
        if result.book and found.plan is not None and (drawn or not result.charts):
            sheets.append(study_sheet(result, record, as_png(drawn), **found.shown))
    plan = found.plan() if sheets and found.plan is not None else None
    if contents:
        write_all(contents)
    if plan is None:
        return tuple(contents)
    book = f"{results[0].book.format(stem=stem)}.xlsx"
    return (*contents, *write_workbook(folder, book, plan, sheets, found.title))


def pictures(
    result: Result, record: BaseModel, shown: Mapping[str, Any], folder: Path, stem: str
) -> dict[Path, bytes]:
    """Return the pictures of a record, by where they go; charts without anything drawn have none.

    Args:
        result: what is made of such records.
        record: the record.
        shown: what its charts take besides.
        folder: where files go.
        stem: how their names begin.
    """
    found: dict[Path, bytes] = {}
    with shown_in(currency_of(record)):
        charts = load(result.charts)(record, **shown) if result.charts else ()
    for chart in charts:
        if not chart.panels:
            continue
        name = result.picture.format(stem=stem, record=record, chart=chart.name)
        found |= draw(chart, folder, name)
    return found


def as_png(drawn: Mapping[Path, bytes]) -> list[bytes]:
    """Return those of some pictures that a workbook can hold."""
    return [data for path, data in drawn.items() if path.suffix == ".png"]


def write_workbook(
    folder: Path, name: str, plan: Plan, sheets: Sequence[Sheet], title: str = ""
) -> tuple[Path, ...]:
    """Write a study's workbook; return what was written.

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
    """Return a chart as the two pictures of it, by where they go."""
    from planner.outputs.charts.picture import png, svg

    return {folder / f"{stem}.png": png(chart), folder / f"{stem}.svg": svg(chart)}


def tell(written: Sequence[Path], *, quiet: bool) -> None:
    """Say which files were written."""
    if written and not quiet:
        say(f"wrote {list_files(written)}", err=True)
