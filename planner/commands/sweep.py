"""Sweeps: their modes, and the table and slider page of a grid."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from planner.analysis import frontier, tornado, uncertain
from planner.analysis.distributions import Field
from planner.analysis.request import Found, Request, one_of, whole
from planner.analysis.scenarios import scenarios as scenarios_of
from planner.analysis.sweep import Row, SweepTable, sweep_table, table_rows
from planner.api import Options, solve_with
from planner.atomic_files import write_all
from planner.commands.results import Study
from planner.errors import Finding, InputError
from planner.inputs import Inputs
from planner.loader.places import NoPlaceError
from planner.report.restated import restated_view
from planner.schema.analysis import Sweep
from planner.schema.plan import Plan
from planner.terminal import interrupt_handled, say

SHOWN = 20_000
"""Rows of a table that workbook, picture and screen are made of, at most."""


class Sweeping(NamedTuple):
    """Options of a sweep that some modes have; None for their default."""

    vary: tuple[str, ...] = ()
    scenarios: str | None = None
    against: tuple[str, ...] = ()
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
    """The unit of progress and the study of a mode.

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
        axes = tuple(one_of("--against", each, tuple(frontier.AGAINST)) for each in given.against)
        return "parts", partial(frontier.run, against=axes, points=points)
    if mode == "tornado":
        return "ends", partial(tornado.run, vary=vary, by=tornado.BY)
    if mode == "uncertain":
        samples = whole("--samples", 256 if given.samples is None else given.samples, 2)
        seed = whole("--seed", 1 if given.seed is None else given.seed, 0)
        study = partial(uncertain.run, dist=vary, method="lhs", samples=samples, seed=seed)
        return "scenarios", partial(study, indices=given.indices)
    return "scenarios", partial(run, vary=vary, scenarios=given.scenarios)


def solve_grid(
    request: Request,
    vary: Sequence[str],
    scenarios: Path | None,
    named: Sequence[str],
    *,
    interrupted: bool = False,
) -> tuple[SweepTable, Plan]:
    """The table of a problem's scenarios and the plan of the problem itself.

    Args:
        vary: inputs as ``PATH=VALUES``.
        named: scenarios of the problem by name, or ``all``.
        interrupted: whether an interruption returns the rows solved so far.

    Raises:
        InputError: the problem or what to vary is wrong.
    """
    names = tuple(name for name in named if name != "all") if named else None
    inputs = request.inputs
    chosen = scenarios_of(
        inputs, vary=tuple(vary), table=scenarios, named=names, problem=request.path
    )
    options = request.rows(len(chosen))
    rows: dict[int, Row] = {}
    try:
        table_rows(chosen.bases, chosen, options, rows, request.progress)
    except KeyboardInterrupt:
        if not rows or not interrupted:
            raise
        interrupt_handled()
    base = solve_with(inputs, Options(gap=options.gap, explain=False))
    return sweep_table(inputs, chosen, options, rows, base), base


def run(request: Request, *, vary: Sequence[str], scenarios: str | None) -> Found:
    """Solve the scenarios of a problem and write the table of them.

    ``scenarios`` is a CSV file, names of the problem's own with commas, or ``all``.

    Raises:
        InputError: the problem or what to vary is wrong, or a file cannot be written.
    """
    file, named = _table_or_names(scenarios)
    table, base = solve_grid(request, vary, file, named, interrupted=True)
    study = table.record
    shown = {name: column[:SHOWN] for name, column in table.values.items()}
    stem = (request.folder or Path()) / f"{request.stem}.sweep"
    written = _write_table(table, stem)
    if study.rows:
        written += _write_sliders(stem, study, shown, request.inputs)
    stopped = ""
    if study.rows < study.asked:
        done = f"{study.rows:,} of {study.asked:,} scenarios"
        stopped = f"interrupted after {done}; they are written"
    return Found(
        (study,),
        (_status(study),),
        plan=(lambda: base) if study.rows else None,
        shown={"rows": shown},
        written=written,
        stopped=stopped,
    )


def _table_or_names(scenarios: str | None) -> tuple[Path | None, list[str]]:
    """The file of scenarios, or the names of scenarios."""
    if scenarios is None:
        return None, []
    if scenarios.lower().endswith(".csv") or os.path.lexists(scenarios):
        return Path(scenarios), []
    return None, [name.strip() for name in scenarios.split(",")]


def _write_table(table: SweepTable, stem: Path) -> tuple[Path, ...]:
    from planner.report import sweep_files

    parquet, csv, json = (
        stem.with_name(f"{stem.name}{suffix}") for suffix in (".parquet", ".csv", ".json")
    )
    sweep_files.write_files(parquet, csv, table.record.columns, table.types, table.values)
    write_all({json: (table.record.model_dump_json(indent=2) + "\n").encode()})
    return parquet, csv, json


def _write_sliders(
    stem: Path, study: Sweep, rows: Mapping[str, Sequence[Any]], inputs: Inputs
) -> tuple[Path, ...]:
    """Write the page with sliders, which begin where the problem is; none of too large a sweep."""
    from planner.report.sweep_page import page

    now = {}
    for column in study.columns:
        if column.kind == "input":
            with suppress(NoPlaceError):
                base = Field(inputs, column.path).base
                paid = base is not None and "USD" in column.unit
                now[column.path] = study.shown_in.of(base or 0.0) if paid else base
    stated, beside = restated_view(study, {"rows": rows})
    try:
        content = page(stated, beside["rows"], now)
    except InputError as error:
        say(f"planner: no page with sliders: {error}", err=True)
        return ()
    path = stem.with_name(f"{stem.name}.html")
    write_all({path: content})
    return (path,)


def _status(study: Sweep) -> str:
    worst = ("failed", "no_solution", "feasible")
    return next((name for name in worst if study.statuses.get(name)), "optimal")
