"""Files of results: workbook sheets, pictures, pages and their editions; exit codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from planner.errors import Finding, InputError, did_you_mean
from planner.loader.prices import today
from planner.report.audience import Audience, for_audience
from planner.report.blocks import Block, Heading
from planner.report.restated import restated_view
from planner.report.words import listed
from planner.schema.base import Prices
from planner.schema.plan import Plan
from planner.shipped import portfolio_files, problem_files
from planner.terminal import say

if TYPE_CHECKING:
    from planner.report.charts.model import Chart
    from planner.report.page import ShownStudy
    from planner.workbook.book import Book

EXIT_CODES = {
    "optimal": 0,
    "feasible": 5,
    "infeasible": 3,
    "no_solution": 4,
    "unbounded": 2,
    "failed": 1,
}
"""By how a problem ended; wrong input ends with 2."""

Sheet = Callable[["Book"], None]
"""Adds a sheet to a workbook."""


class View(NamedTuple):
    """What is made of one kind of record.

    Attributes:
        name: of its JSON Schema; files end in it unless ``suffix`` says otherwise.
        blocks: the record as blocks; takes the rows of a sweep besides.
        charts: its charts.
        table: what `to_frame` gives by default, where that is not the first table.
        files: of json, page, workbook those that ``-o`` writes; a workbook where there is a plan.
        suffix: of the names of files.
    """

    name: str
    blocks: Callable[..., list[Block]]
    charts: Callable[..., Any] | None = None
    table: str = ""
    files: tuple[str, ...] = ("workbook",)
    suffix: str | None = None

    def file_stem(self, stem: str) -> str:
        """The stem of a result's files."""
        suffix = self.name if self.suffix is None else self.suffix
        return f"{stem}.{suffix}" if suffix else stem


def list_written(written: Sequence[Path], *, quiet: bool) -> None:
    """Print which files were written."""
    if written and not quiet:
        say(f"wrote {list_files(written)}", err=True)


def list_files(paths: Sequence[Path]) -> str:
    """File names as a sentence lists them; nothing in them steers the terminal."""
    return listed(["".join(c if c.isprintable() else "?" for c in str(path)) for path in paths])


def created_today() -> datetime:
    """Today, or the day SOURCE_DATE_EPOCH asks for, so that bytes can be reproduced."""
    return datetime.combine(today(), time())


def draw(chart: Chart, folder: Path, stem: str) -> dict[Path, bytes]:
    """A chart as PNG and SVG, by path."""
    from planner.report.charts.picture import png, svg

    return {folder / f"{stem}.png": png(chart), folder / f"{stem}.svg": svg(chart)}


def study_sheet(view: View, record: Any, pictures: Sequence[bytes] = (), **shown: Any) -> Sheet:
    """The sheet of a record, with money in its currency; ``shown`` goes to its view."""
    from planner.workbook import tables

    stated, shown = restated_view(record, shown)
    name = view.name.replace("-", " ").capitalize()

    def add(book: Book) -> None:
        tables.add(book, name, view.blocks(stated, **shown), pictures)
        if "rows" in shown:
            data: list[Block] = [tables.sweep_table(stated, shown["rows"])]
        else:
            keys = [side.key for side in getattr(record, "sides", ())]
            data = [*tables.tables_of(stated, keys)]
        if data:
            tables.add(book, f"{name} data", [Heading(f"{name}: every figure"), *data])

    return add


# Editions and pages.


class Edition(NamedTuple):
    """Readers of files, and the prices that these show; None for those of the audience."""

    audience: Audience = "internal"
    prices: Prices | None = None


_INTERNAL = Edition()
EDITIONS = {
    "internal": _INTERNAL,
    "customer": Edition("customer"),
    "customer-list": Edition("customer", "list+net"),
    "customer-no-prices": Edition("customer", "none"),
    "partner": Edition("partner"),
}
"""Editions by the word that asks for them."""


def page_of(
    path: Path,
    plans: Sequence[tuple[str, Plan]],
    studies: Sequence[ShownStudy],
    edition: Edition = _INTERNAL,
) -> dict[Path, bytes]:
    """One page that opens offline, by its path; several plans are shown side by side."""
    from planner.report.page import ShownPlan, report

    shown = [
        ShownPlan(name, for_audience(plan, edition.audience, edition.prices))
        for name, plan in plans
    ]
    problems = [each.plan.problem for each in shown] or [studies[0].record.problem]
    title = " and ".join(dict.fromkeys(problems))
    return {path: report(title, shown, studies).encode()}


def example_file(name: str) -> Path:
    """The file of a shipped problem.

    Raises:
        InputError: there is no such example.
    """
    known = problem_files() | portfolio_files()
    if name not in known:
        hint = did_you_mean(name, list(known)) or "examples: " + ", ".join(known)
        raise InputError(Finding("not-found", f"no example named '{name}'", fix=hint))
    return known[name]
