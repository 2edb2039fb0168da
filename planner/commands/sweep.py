"""Sweeps: their modes, and the files of a grid: table, workbook, pictures, record."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from planner.api import Options, solve_with
from planner.commands.results import Study, as_png, pictures, write_workbook
from planner.commands.solve import study_sheet
from planner.commands.views import VIEWS
from planner.currency import shown_in
from planner.errors import Finding, InputError
from planner.inputs import Inputs
from planner.loader.vary import NoPlaceError
from planner.schema.plan import Plan
from planner.schema.sensitivity import Sweep
from planner.studies.request import Found, Request, whole
from planner.studies.sensitivity import frontier, tornado
from planner.studies.sensitivity.frontier import Against
from planner.studies.sensitivity.journal import Journal
from planner.studies.sensitivity.scenarios import scenarios as scenarios_of
from planner.studies.sensitivity.sweep import RunningSweep, SweptRows, beside
from planner.studies.sensitivity.uncertain import uncertainty
from planner.studies.sensitivity.uncertain.distributions import Field
from planner.studies.sensitivity.workers import Workers
from planner.whole_files import write_all

SHOWN = 20_000
"""Rows of a table that workbook, picture and screen are made of, at most."""


class Sweeping(NamedTuple):
    """Options of a sweep that some modes have; None for their default."""

    vary: tuple[str, ...] = ()
    scenarios: str | None = None
    against: tuple[Against, ...] = ()
    points: int | None = None
    samples: int | None = None
    seed: int | None = None
    indices: bool = False


_MODES = {
    "grid": {"vary", "scenarios"},
    "frontier": {"against", "points"},
    "tornado": {"vary"},
    "uncertain": {"vary", "samples", "seed", "indices"},
}
"""The options of each mode."""


def sweeping(mode: str, given: Sweeping) -> tuple[str, Study]:
    """Return the unit of progress and the study of a mode.

    Raises:
        InputError: an option is of another mode, or is wrong.
    """
    for name, value in given._asdict().items():
        if value and name not in _MODES[mode]:
            others = " or ".join(each for each, options in _MODES.items() if name in options)
            message = f"--{name} is of --mode {others}, and this is --mode {mode}"
            raise InputError(Finding("option", message, fix="leave it out"))
    vary = given.vary
    if mode == "frontier":
        points = whole("--points", 50 if given.points is None else given.points, 3)
        return "points at most", partial(frontier.run, against=given.against, points=points)
    if mode == "tornado":
        return "ends", partial(tornado.run, vary=vary, by=tornado.BY)
    if mode == "uncertain":
        samples = whole("--samples", 256 if given.samples is None else given.samples, 2)
        seed = whole("--seed", 1 if given.seed is None else given.seed, 0)
        study = partial(uncertainty.run, dist=vary, method="lhs", samples=samples, seed=seed)
        return "scenarios", partial(study, indices=given.indices)
    return "scenarios", partial(run, vary=vary, scenarios=given.scenarios)


@contextmanager
def swept(
    request: Request, vary: Sequence[str], scenarios: Path | None, named: Sequence[str]
) -> Iterator[SweptRows]:
    """Solve the scenarios of a problem and yield their table; nothing is left on disk.

    Args:
        request: the problem, and how to solve each scenario.
        vary: what to vary, each as ``PATH=VALUES``.
        scenarios: a table of scenarios.
        named: scenarios of the problem by name, or ``all``.

    Raises:
        InputError: the problem or what to vary is wrong.
    """
    every = tuple(name for name in named if name != "all") if named else None
    chosen = scenarios_of(
        request.inputs, vary=tuple(vary), table=scenarios, named=every, problem=request.path
    )
    with closing(Journal()) as journal:
        options = request.rows(len(chosen))
        course = RunningSweep(request.inputs, chosen, options, journal, request.progress)
        with Workers(course.work, course.pieces) as workers:
            course.run(workers)
        yield course.table()


def base_plan(request: Request) -> Plan:
    """Return the plan of the problem itself, with which a sweep is compared."""
    return solve_with(request.inputs, Options(gap=request.each().gap, explain=False))


def run(request: Request, *, vary: Sequence[str], scenarios: str | None) -> Found:
    """Solve the scenarios of a problem and write the table of them.

    Args:
        request: the problem, how to solve each scenario, and where files go.
        vary: what to vary, each as ``PATH=VALUES``.
        scenarios: a CSV file of scenarios, names of the problem's own with commas, or ``all``.

    Raises:
        InputError: the problem or what to vary is wrong, or a file cannot be written.
    """
    folder = request.folder or Path()
    table, named = _table_or_names(scenarios)
    with swept(request, vary, table, named) as rows:
        base = base_plan(request)
        study, shown, written = _write(rows, folder / f"{request.stem}.sweep", base)
    found = Found((study,), (_status(study),), plan=lambda: base, shown={"rows": shown})
    if study.rows:
        written += _write_shown(base, study, shown, folder, request.stem)
        written += _write_page(folder / f"{request.stem}.sweep.html", study, shown, request.inputs)
    return replace(found, written=written)


def _table_or_names(scenarios: str | None) -> tuple[Path | None, list[str]]:
    """Return the file of scenarios, or the names of scenarios."""
    if scenarios is None:
        return None, []
    if scenarios.lower().endswith(".csv") or os.path.lexists(scenarios):
        return Path(scenarios), []
    return None, [name.strip() for name in scenarios.split(",")]


def _write(
    table: SweptRows, stem: Path, base: Plan
) -> tuple[Sweep, dict[str, Sequence[Any]], tuple[Path, ...]]:
    from planner.outputs import sweep_files

    names = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".parquet", ".csv", ".json")]
    counted = sweep_files.write_files(
        names[0], names[1], table.columns, table.types, table.blocks(), SHOWN
    )
    study = beside(table.record(counted.statuses, counted.proofs), base)
    write_all({names[2]: (study.model_dump_json(indent=2) + "\n").encode()})
    return study, dict(counted.first), tuple(names)


def _write_shown(
    base: Plan, study: Sweep, rows: dict[str, Sequence[Any]], folder: Path, stem: str
) -> tuple[Path, ...]:
    """Write the pictures and the workbook of a sweep; return their names."""
    view, shown = VIEWS[Sweep], {"rows": rows}
    drawn = pictures(view, study, shown, folder, view.file_stem(stem))
    if drawn:  # where no scenario has a plan there is nothing to draw
        write_all(drawn)
    sheets = [study_sheet(view, study, as_png(drawn), **shown)]
    return (*drawn, *write_workbook(folder, f"{view.file_stem(stem)}.xlsx", base, sheets))


def _write_page(
    path: Path, study: Sweep, rows: dict[str, Sequence[Any]], inputs: Inputs
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


def _status(study: Sweep) -> str:
    worst = ("failed", "no_solution", "feasible")
    return next((name for name in worst if study.statuses.get(name)), "optimal")
