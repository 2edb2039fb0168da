"""Files of a plan: workbook, plan JSON, page, bill, cables, NetBox tables, by edition."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from planner.analysis.request import one_of
from planner.analysis.verification import PlanFile, open_plan
from planner.atomic_files import write_all
from planner.commands.deliver import Sheet, Target, created_today
from planner.errors import Finding, InputError
from planner.report.audience import Audience, for_audience
from planner.results import as_json
from planner.schema.base import Prices
from planner.schema.plan import Plan

Also = Literal["cables", "netbox", "bill.csv", "bill.json"]
Part = Literal["lines", "run", "network", "notes", "proof"]


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
    if not plan.lines:
        return
    opened, inside = open_plan(target.problem, plan), edition.audience == "internal"
    stem = target.stem if inside else f"{target.stem}.{edition.audience}"

    def file(ending: str) -> Path:
        return (target.folder or Path()) / f"{stem}.{ending}"

    cables, sheets = _cable_files(opened, also, file)
    contents = {file("xlsx"): _workbook(opened, edition, sheets)}
    if inside:
        contents[file("plan.json")] = f"{as_json(plan)}\n".encode()
    contents |= {
        file(kind): _bill(opened.plan, edition, kind)
        for kind in ("bill.csv", "bill.json")
        if kind in also
    }
    if html:
        contents[file("html")] = page(opened.plan, edition)
    write_all(contents | cables)


def page(plan: Plan, edition: Edition) -> bytes:
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
    from planner.report import netbox
    from planner.workbook import tables

    if "netbox" in also and not opened.plan.racks:
        message = "--also netbox: the plan has no racks"
        raise InputError(Finding("netbox", message, fix="give site.rack: {height: 48 RU}"))
    schedule = cable_schedule(opened.inputs, opened.plan)
    contents: dict[Path, bytes] = {}
    sheets: list[Sheet] = []
    if "cables" in also:
        sheets = [partial(tables.add, name="Cables", blocks=tables.cable_blocks(schedule))]
        contents[file("cables.csv")] = netbox.schedule_csv(schedule)
    if "netbox" in also:
        found = netbox.files(opened.plan, schedule)
        contents |= {file(f"netbox-{key}.csv"): data for key, data in found.items()}
    return contents, sheets


def _bill(plan: Plan, edition: Edition, kind: str) -> bytes:
    from planner.report.bill import bill, csv_bytes, json_bytes

    made = bill(plan, edition.audience, edition.prices)
    return (csv_bytes if kind == "bill.csv" else json_bytes)(made, edition.prices)


def _workbook(opened: PlanFile, edition: Edition, sheets: Sequence[Sheet]) -> bytes:
    from planner.workbook import write

    stream = io.BytesIO()
    write(
        opened.plan,
        stream,
        created=created_today(),
        audience=edition.audience,
        prices=edition.prices,
        inputs=opened.carried if edition.audience == "internal" else None,
        more=sheets,
    )
    return stream.getvalue()
