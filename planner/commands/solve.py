"""Deliver a plan: the screen or JSON on standard output, workbook, JSON and bill as files.

Studies that were asked for become further sheets of its workbook.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from planner.api import Options
from planner.errors import Finding, InputError
from planner.inputs import Inputs, inputs_to_text
from planner.loader.price_building import today
from planner.outputs import answer, plan_json
from planner.outputs.audience import Audience
from planner.outputs.blocks import Block, Heading, Text
from planner.outputs.restated import currency_of, restated, restated_columns
from planner.outputs.words import listed as listed_words
from planner.schema.base import Prices
from planner.schema.plan import Plan
from planner.studies.registry import BESIDE_PLANS
from planner.studies.request import stem_of
from planner.studies.study import Result, load
from planner.terminal import coloured, say
from planner.whole_files import write_all

if TYPE_CHECKING:
    from planner.workbook.book import Book

BillFormat = Literal["csv", "json"]
Sheet = Callable[["Book"], None]
"""What adds a sheet."""
Studies = Sequence[Sheet]

FOR_THE_PLAN = 0.5
"""The share of a time limit that finding the plan may take where studies of it follow."""


def deliver(
    plan: Plan,
    inputs: Inputs,
    problem: Path,
    folder: Path,
    *,
    as_json: bool,
    parts: Collection[str] = (),
    bills: Collection[BillFormat] = (),
    cables: bool = False,
    netbox: bool = False,
    audience: Audience = "internal",
    prices: Prices | None = None,
    studies: Studies = (),
) -> list[Path]:
    """Print ``plan`` and write its files; return what was written.

    A plan without lines (infeasible, no solution) leaves no files. What is printed is the
    engineer's own, whoever the files are for.

    Args:
        plan: what to deliver.
        inputs: what it was made from; the internal workbook carries it for `planner audit`, the
            plan as JSON for whoever reads it.
        problem: the problem file, after which the files are named.
        folder: where they go.
        as_json: print the plan as JSON.
        parts: what to print besides the first screen: lines, run, network, notes, proof.
        bills: formats of the bill to write beside the workbook.
        netbox: write the files that NetBox imports.
        cables: write the cable schedule, too, and its sheet into the internal workbook.
        audience: whom the files are for; outside there is no plan as JSON.
        prices: which prices they show, by default those of the audience.
        studies: what adds further sheets of the internal workbook.

    Raises:
        InputError: a file cannot be written.
    """

    carried = inputs_to_text(inputs)
    written: list[Path] = []
    if plan.lines:
        name = stem_of(problem, plan.provenance.scenario)
        path = folder / (name if audience == "internal" else f"{name}.{audience}")
        extra: dict[Path, bytes] = {}
        if cables:
            sheet, extra = _cables(inputs, plan, path)
            studies = (*studies, sheet)
        if netbox:
            extra |= _netbox(inputs, plan, path)
        edition = Edition(audience, prices)
        contents = _contents(plan, carried, path, bills, edition, studies) | extra
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


def check_edition(audience: Audience, prices: Prices | None) -> None:
    """Refuse options that do not go together.

    Raises:
        InputError: prices are asked for where an edition shows its own.
    """
    if prices is not None and audience != "customer":
        message = f"--prices is for --audience customer, this is the {audience} edition"
        fix = "leave it out; internal shows everything, partner net prices and discounts"
        raise InputError(Finding("audience", message, fix=fix))


class Edition(NamedTuple):
    """Whom files are for, and which prices they show."""

    audience: Audience
    prices: Prices | None


def _contents(
    plan: Plan,
    carried: str,
    path: Path,
    bills: Collection[BillFormat],
    edition: Edition,
    studies: Studies,
) -> dict[Path, bytes]:
    contents = {_file(path, "xlsx"): _workbook(plan, carried, edition, studies)}
    if edition.audience == "internal":
        contents[_file(path, "plan.json")] = plan_json.to_bytes(plan, carried)
    for kind in sorted(set(bills)):
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
        message = "--netbox: the plan has no racks"
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


def sheets(inputs: Inputs, plan: Plan, options: Options, names: Sequence[str]) -> Iterator[Sheet]:
    """Yield what adds the sheet of each study.

    Args:
        inputs: the problem.
        plan: its best plan; without one there is nothing to study.
        options: how to solve.
        names: which studies.
    """
    for name, result in BESIDE_PLANS.items():
        if name in names and plan.lines:
            record = load(result.beside)(inputs, plan, options)
            if record is not None:
                yield study_sheet(result, record)


def study_sheet(result: Result, record: Any, pictures: Sequence[bytes] = (), **shown: Any) -> Sheet:
    """Return what adds the sheet of a record, with money as the record shows it.

    Args:
        result: what is made of such records.
        record: the record.
        pictures: its charts as PNG.
        shown: what its view takes besides.
    """
    from planner.workbook import tables

    if "rows" in shown:
        shown["rows"] = restated_columns(record.columns, shown["rows"], currency_of(record))
    name = result.name.replace("-", " ").capitalize()

    def add(book: Book) -> None:
        stated = restated(record)
        tables.add(book, name, blocks_of(result, stated, shown), pictures)
        if "rows" in shown:
            data: list[Block] = [tables.sweep_table(stated, shown["rows"])]
        else:
            keys = [side.key for side in getattr(record, "sides", ())]
            data = [*tables.tables_of(stated, keys)]
        if data:
            tables.add(book, f"{name} data", [Heading(f"{name}: every figure"), *data])

    return add


def blocks_of(result: Result, record: Any, shown: Mapping[str, Any]) -> Iterator[Block]:
    """Yield the blocks of a record: those of its view, or of its first screen.

    Args:
        result: what is made of such records.
        record: the record, in the currency shown.
        shown: what its view takes besides.
    """
    found = load(result.view)(record, **shown)
    page = load(result.first)(record, **shown) if result.first else None
    if not isinstance(found, str):
        yield from found
    elif page is None or page.entire:
        heading, _, rest = found.partition("\n")
        yield Heading(heading)
        yield Text(tuple(" ".join(part.split()) for part in rest.split("\n\n")))
    else:
        yield Heading(page.title)
        yield Text(tuple(f"{label}: {text}" for label, text in page.answer if text))
        yield from page.below
