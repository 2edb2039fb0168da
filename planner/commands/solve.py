"""Deliver a plan: the screen or JSON on standard output; workbook, JSON, bill and page as files."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime, time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import BaseModel

from planner.api import Options
from planner.commands.page import Edition, page_of
from planner.errors import Finding, InputError
from planner.inputs import Inputs, inputs_to_text
from planner.loader.price_building import today
from planner.outputs import answer, plan_json
from planner.outputs.blocks import Block, Heading
from planner.outputs.restated import restated_view
from planner.outputs.words import listed as listed_words
from planner.schema.plan import Plan
from planner.studies.request import one_of, stem_of
from planner.terminal import coloured, say
from planner.whole_files import write_all

if TYPE_CHECKING:
    from planner.commands.views import View
    from planner.workbook.book import Book

Also = Literal["cables", "netbox", "bill.csv", "bill.json", "why", "rules", "alternatives"]
Part = Literal["lines", "run", "network", "notes", "proof"]
BillFormat = Literal["csv", "json"]
Sheet = Callable[["Book"], None]
"""What adds a sheet."""
Studies = Sequence[Sheet]

FOR_THE_PLAN = 0.5
"""The share of a time limit that finding the plan may take where studies of it follow."""


def words_of(option: str, given: Sequence[str], choices: Sequence[str]) -> tuple[str, ...]:
    """Return the words of an option that takes several, with commas or repeated.

    Raises:
        InputError: one is none of the choices.
    """
    words = (word.strip() for text in given for word in text.split(","))
    return tuple(dict.fromkeys(one_of(option, word, choices) for word in words))


def deliver(
    plan: Plan,
    inputs: Inputs,
    problem: Path,
    folder: Path,
    *,
    as_json: bool,
    parts: Collection[str] = (),
    also: Collection[str] = (),
    html: bool = False,
    edition: Edition | None = None,
    studies: Studies = (),
) -> list[Path]:
    """Print ``plan`` and write its files; return what was written.

    A plan without lines (infeasible, no solution) leaves no files. The screen is internal, whoever
    the files are for.

    Args:
        plan: what to deliver.
        inputs: what it was made from; the internal workbook and the plan as JSON carry it.
        problem: the problem file, after which the files are named.
        folder: where they go.
        as_json: print the plan as JSON.
        parts: parts of the screen after the first.
        also: further files: cables, netbox, bill.csv, bill.json.
        html: write the page.
        edition: of the files; outside there is no plan as JSON.
        studies: what adds further sheets of the internal workbook.

    Raises:
        InputError: a file cannot be written.
    """
    carried = inputs_to_text(inputs)
    edition = edition or Edition()
    written: list[Path] = []
    if plan.lines:
        name = stem_of(problem, plan.provenance.scenario)
        path = folder / (name if edition.audience == "internal" else f"{name}.{edition.audience}")
        extra: dict[Path, bytes] = {}
        if "cables" in also:
            sheet, extra = _cables(inputs, plan, path)
            studies = (*studies, sheet)
        if "netbox" in also:
            extra |= _netbox(inputs, plan, path)
        if html:
            extra |= page_of(_file(path, "html"), [(name, plan)], (), edition)
        contents = _contents(plan, carried, path, also, edition, studies) | extra
        write_all(contents)
        written = list(contents)
    if as_json:
        say(plan_json.to_bytes(plan, carried).decode(), nl=False)
    else:
        styled = coloured()
        say(answer.render(plan, parts, styled=styled), nl=False, styled=styled)
    return written


def list_files(paths: Sequence[Path]) -> str:
    """Return file names as a sentence lists them; nothing in them steers the terminal."""
    names = ["".join(c if c.isprintable() else "?" for c in str(path)) for path in paths]
    return listed_words(names)


def _contents(
    plan: Plan,
    carried: str,
    path: Path,
    also: Collection[str],
    edition: Edition,
    studies: Studies,
) -> dict[Path, bytes]:
    contents = {_file(path, "xlsx"): _workbook(plan, carried, edition, studies)}
    if edition.audience == "internal":
        contents[_file(path, "plan.json")] = plan_json.to_bytes(plan, carried)
    for kind in get_args(BillFormat):
        if f"bill.{kind}" in also:
            contents[_file(path, f"bill.{kind}")] = _bill(plan, kind, edition)
    return contents


def _file(path: Path, ending: str) -> Path:
    return path.parent / f"{path.name}.{ending}"


def _cables(inputs: Inputs, plan: Plan, path: Path) -> tuple[Sheet, dict[Path, bytes]]:
    """Return the cable schedule as a sheet and as a file: no money is in it."""
    from planner.assemble.cables import cable_schedule
    from planner.outputs import netbox
    from planner.workbook import tables

    schedule = cable_schedule(inputs, plan)
    return (
        partial(tables.add, name="Cables", blocks=tables.cable_blocks(schedule)),
        {_file(path, "cables.csv"): netbox.schedule_csv(schedule)},
    )


def _netbox(inputs: Inputs, plan: Plan, path: Path) -> dict[Path, bytes]:
    """Return the files for NetBox: no money is in them.

    Raises:
        InputError: nothing stands in racks, so there is nothing to import.
    """
    from planner.assemble.cables import cable_schedule
    from planner.outputs import netbox

    if not plan.racks:
        message = "--also netbox: the plan has no racks"
        raise InputError(Finding("netbox", message, fix="give site.rack: {height: 48 RU}"))
    contents = netbox.files(plan, cable_schedule(inputs, plan))
    return {_file(path, f"netbox-{key}.csv"): data for key, data in contents.items()}


def _bill(plan: Plan, kind: BillFormat, edition: Edition) -> bytes:
    from planner.outputs.bill import bill, csv_bytes, json_bytes

    to_bytes = {"csv": csv_bytes, "json": json_bytes}[kind]
    return to_bytes(bill(plan, edition.audience, edition.prices), edition.prices)


def _workbook(plan: Plan, carried: str, edition: Edition, studies: Studies) -> bytes:
    from planner.workbook import write

    stream, inside = io.BytesIO(), edition.audience == "internal"
    write(
        plan,
        stream,
        created=created_today(),
        audience=edition.audience,
        prices=edition.prices,
        inputs=carried if inside else None,
        more=studies,
    )
    return stream.getvalue()


def created_today() -> datetime:
    """Return today, or the day SOURCE_DATE_EPOCH asks for, so that bytes can be reproduced."""
    return datetime.combine(today(), time())


def sheets(inputs: Inputs, plan: Plan, options: Options, names: Collection[str]) -> Iterator[Sheet]:
    """Yield what adds the sheet of each study.

    Args:
        inputs: the problem.
        plan: its best plan; without one there is nothing to study.
        options: how to solve.
        names: which studies: why, rules, alternatives.
    """
    from planner.commands.views import VIEWS
    from planner.studies import alternatives, explain
    from planner.studies.compare.rules import rules_table

    def near() -> BaseModel | None:
        found = alternatives.alternatives(inputs, options)
        return found if found.alternatives else None

    studies: dict[str, Callable[[], BaseModel | None]] = {
        "why": lambda: explain.explain(inputs, options, plan=plan),
        "rules": lambda: rules_table(inputs, plan, options),
        "alternatives": near,
    }
    for name, study in studies.items():
        if name in names and plan.lines:
            record = study()
            if record is not None:
                yield study_sheet(VIEWS[type(record)], record)


def study_sheet(view: View, record: Any, pictures: Sequence[bytes] = (), **shown: Any) -> Sheet:
    """Return what adds the sheet of a record, with money as the record shows it.

    Args:
        view: of such records.
        record: the record.
        pictures: its charts as PNG.
        shown: what its view takes besides.
    """
    from planner.workbook import tables

    stated, shown = restated_view(record, shown)
    name = view.name.replace("-", " ").capitalize()

    def add(book: Book) -> None:
        tables.add(book, name, view.blocks(stated, shown), pictures)
        if "rows" in shown:
            data: list[Block] = [tables.sweep_table(stated, shown["rows"])]
        else:
            keys = [side.key for side in getattr(record, "sides", ())]
            data = [*tables.tables_of(stated, keys)]
        if data:
            tables.add(book, f"{name} data", [Heading(f"{name}: every figure"), *data])

    return add
