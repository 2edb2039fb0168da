"""Sweeps: the table as Parquet and CSV, its workbook and picture, a summary on the screen."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from planner.api import Options, solve_with
from planner.commands import running
from planner.commands.report import as_png, pictures, write_workbook
from planner.commands.solve import study_sheet
from planner.currency import shown_in
from planner.inputs import Inputs
from planner.loader.vary import NoPlaceError
from planner.schema.plan import Plan
from planner.schema.sensitivity import Sweep
from planner.studies.distributions import Field
from planner.studies.registry import SWEEP
from planner.studies.request import Found, Request
from planner.studies.scenario_plans import table_rows
from planner.studies.scenarios import Row
from planner.studies.scenarios import scenarios as scenarios_of
from planner.studies.sweep import SweepTable, sweep_table
from planner.whole_files import write_all

SHOWN = 20_000
"""Rows of a table that workbook, picture and screen take into account."""


def run(
    request: Request,
    *,
    vary: tuple[str, ...],
    scenarios: Path | None,
    named: tuple[str, ...],
    workbook: bool,
    html: Path | None,
) -> Found:
    """Solve the scenarios of a problem and write the table of them.

    Args:
        request: the problem, how to solve each scenario, and where files go.
        vary: what to vary, each as ``PATH=VALUES``.
        scenarios: a table of scenarios.
        named: scenarios of the problem by name, or ``all``.
        workbook: whether to write the workbook and the picture, too.
        html: where the page with sliders goes, None for none.

    Raises:
        InputError: the problem or what to vary is wrong, or a file cannot be written.
    """
    inputs, folder = request.inputs, request.folder or Path()
    names = tuple(name for name in named if name != "all") if named else None
    chosen = scenarios_of(inputs, vary=vary, table=scenarios, named=names, problem=request.path)
    options = request.rows(len(chosen))
    rows: dict[int, Row] = {}
    stopped = ""
    try:
        table_rows(chosen.bases, chosen, options, rows, request.progress)
    except KeyboardInterrupt:
        if not rows:
            raise
        running.interrupt_handled()
        stopped = f"interrupted after {len(rows):,} of {len(chosen):,} scenarios; they are written"
    base = solve_with(inputs, Options(gap=options.gap, explain=False)) if workbook else None
    table = sweep_table(inputs, chosen, options, rows, base)
    written = _write(table, folder / f"{request.stem}.sweep")
    first = {name: column[:SHOWN] for name, column in table.values.items()}
    if base is not None and rows:
        written += _write_shown(base, table.record, first, folder, request.stem)
    if html is not None:
        written += _write_page(html, table.record, first, inputs)
    return Found(
        (table.record,), (_ended(table.record),), shown={"rows": first}, written=written,
        stopped=stopped,
    )  # fmt: skip


def _write(table: SweepTable, stem: Path) -> tuple[Path, ...]:
    from planner.outputs import sweep_files

    parquet, csv, json = (
        stem.with_name(f"{stem.name}{suffix}") for suffix in (".parquet", ".csv", ".json")
    )
    sweep_files.write_files(parquet, csv, table.record.columns, table.types, table.values)
    write_all({json: (table.record.model_dump_json(indent=2) + "\n").encode()})
    return parquet, csv, json


def _write_shown(
    base: Plan, study: Sweep, rows: dict[str, list[Any]], folder: Path, stem: str
) -> tuple[Path, ...]:
    """Write the pictures and the workbook of a sweep; return their names."""
    shown = {"rows": rows}
    drawn = pictures(SWEEP, study, shown, folder, stem)
    if drawn:  # where no scenario has a plan there is nothing to draw
        write_all(drawn)
    sheets = [study_sheet(SWEEP, study, as_png(drawn), **shown)]
    return (*drawn, *write_workbook(folder, f"{SWEEP.book.format(stem=stem)}.xlsx", base, sheets))


def _write_page(
    path: Path, study: Sweep, rows: dict[str, list[Any]], inputs: Inputs
) -> tuple[Path, ...]:
    """Write the page with sliders, which begin where the problem is; return its name."""
    from planner.outputs.sweep_page import page

    now = {}
    for column in study.columns:
        if column.kind == "input":
            with suppress(NoPlaceError):
                now[column.path] = Field(inputs, column.path).base
    with shown_in(study.shown_in):
        write_all({path: page(study, rows, now)})
    return (path,)


def _ended(study: Sweep) -> str:
    worst = ("failed", "no_solution", "feasible")
    return next((name for name in worst if study.statuses.get(name)), "optimal")
