"""Deliver a plan: the screen or JSON on standard output; workbook, JSON, bill and page as files."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel

from planner.analysis.request import Request, one_of, stem_of
from planner.api import FOR_THE_SEARCH, Options, solve_with
from planner.atomic_files import write_all
from planner.commands.files import (
    EDITIONS,
    EXIT_CODES,
    Edition,
    Sheet,
    created_today,
    list_written,
    page_of,
    study_sheet,
)
from planner.errors import Finding, InputError
from planner.inputs import Inputs, inputs_to_text
from planner.report import plan_json
from planner.report.views import plan as plan_view
from planner.schema.plan import Plan
from planner.terminal import coloured, say, show_progress

Also = Literal["cables", "netbox", "bill.csv", "bill.json", "why", "rules", "alternatives"]
Part = Literal["lines", "run", "network", "notes", "proof"]

_SOLVING = 0.5
"""Share of a time limit for finding the plan where studies of it follow."""


def run(
    request: Request,
    *,
    save_model: Path | None,
    also: Sequence[str],
    html: bool,
    audience: str,
    show: Sequence[str],
    full: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Solve a problem, print the plan and write its files; return the exit code.

    A plan without lines (infeasible, no solution) leaves no files.

    Raises:
        InputError: a file or an option is wrong, or a file cannot be written.
    """
    more = words_of("--also", also, get_args(Also))
    parts = get_args(Part) if full else words_of("--show", show, get_args(Part))
    studies = {*more} & {"why", "rules", "alternatives"}
    options = request.running(save_model=save_model)
    with show_progress("solve", quiet=quiet):
        inputs = request.inputs
        share = _SOLVING if studies else FOR_THE_SEARCH
        plan = solve_with(inputs, options, search=share, read_back=True)
        files: dict[Path, bytes] = {}
        if plan.lines:
            sheets = list(_study_sheets(inputs, plan, options, studies))
            files = _files(plan, inputs, request, more, EDITIONS[audience], sheets, html=html)
            write_all(files)
    if as_json:
        say(plan_json.to_bytes(plan, inputs_to_text(inputs)).decode(), nl=False)
    else:
        styled = coloured()
        say(plan_view.render(plan, parts, styled=styled), nl=False, styled=styled)
    list_written([*files], quiet=quiet)
    return EXIT_CODES[plan.status]


def words_of(option: str, given: Sequence[str], choices: Sequence[str]) -> tuple[str, ...]:
    """The words of an option that takes several, with commas or repeated.

    Raises:
        InputError: one is none of the choices.
    """
    words = (word.strip() for text in given for word in text.split(","))
    return tuple(dict.fromkeys(one_of(option, word, choices) for word in words))


def _files(
    plan: Plan,
    inputs: Inputs,
    request: Request,
    also: Collection[str],
    edition: Edition,
    sheets: Sequence[Sheet],
    *,
    html: bool,
) -> dict[Path, bytes]:
    """The files of a plan; only the internal edition carries the plan and its inputs.

    Raises:
        InputError: NetBox files of a plan without racks.
    """
    carried, inside = inputs_to_text(inputs), edition.audience == "internal"
    name = stem_of(request.path, plan.provenance.scenario)
    stem = f"{name}" if inside else f"{name}.{edition.audience}"

    def file(ending: str) -> Path:
        return (request.folder or Path()) / f"{stem}.{ending}"

    extra: dict[Path, bytes] = {}
    if {"cables", "netbox"} & {*also}:
        from planner.plan.cables import cable_schedule
        from planner.report import netbox
        from planner.workbook import tables

        if "netbox" in also and not plan.racks:
            message = "--also netbox: the plan has no racks"
            raise InputError(Finding("netbox", message, fix="give site.rack: {height: 48 RU}"))
        schedule = cable_schedule(inputs, plan)
        if "cables" in also:
            add = partial(tables.add, name="Cables", blocks=tables.cable_blocks(schedule))
            sheets = [*sheets, add]
            extra[file("cables.csv")] = netbox.schedule_csv(schedule)
        if "netbox" in also:
            netbox_files = netbox.files(plan, schedule)
            extra |= {file(f"netbox-{key}.csv"): data for key, data in netbox_files.items()}
    if html:
        extra |= page_of(file("html"), [(name, plan)], (), edition)
    found = {file("xlsx"): _workbook(plan, carried if inside else None, edition, sheets)}
    if inside:
        found[file("plan.json")] = plan_json.to_bytes(plan, carried)
    for ending in sorted({"bill.csv", "bill.json"} & {*also}):
        found[file(ending)] = _bill(plan, edition, ending)
    return found | extra


def _bill(plan: Plan, edition: Edition, ending: str) -> bytes:
    from planner.report.bill import bill, csv_bytes, json_bytes

    made = bill(plan, edition.audience, edition.prices)
    return (csv_bytes if ending == "bill.csv" else json_bytes)(made, edition.prices)


def _workbook(plan: Plan, carried: str | None, edition: Edition, sheets: Sequence[Sheet]) -> bytes:
    from planner.workbook import write

    stream = io.BytesIO()
    write(
        plan,
        stream,
        created=created_today(),
        audience=edition.audience,
        prices=edition.prices,
        inputs=carried,
        more=sheets,
    )
    return stream.getvalue()


def _study_sheets(
    inputs: Inputs, plan: Plan, options: Options, names: Collection[str]
) -> Iterator[Sheet]:
    """Yield the sheets of studies by name: why, rules, alternatives."""
    from planner.analysis import alternatives, explain
    from planner.analysis.rules import rules_table
    from planner.commands.results import VIEWS

    def near() -> BaseModel | None:
        found = alternatives.alternatives(inputs, options)
        return found if found.alternatives else None

    studies: dict[str, Callable[[], BaseModel | None]] = {
        "why": lambda: explain.explain(inputs, options, plan=plan),
        "rules": lambda: rules_table(inputs, plan, options),
        "alternatives": near,
    }
    for name, study in studies.items():
        if name in names:
            record = study()
            if record is not None:
                yield study_sheet(VIEWS[type(record)], record)
