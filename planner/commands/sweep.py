"""Sweeps: the table as Parquet and CSV, its workbook and picture, a summary on the screen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner import __version__
from planner.api import Options, solve_with
from planner.commands import running
from planner.commands.report import as_png, pictures, write_workbook
from planner.commands.solve import list_files, study_sheet
from planner.currency import shown_in
from planner.errors import StoppedError
from planner.inputs import Inputs
from planner.loader.vary import NoPlaceError
from planner.schema.plan import Plan
from planner.schema.sensitivity import Sweep
from planner.studies.registry import SWEEP
from planner.studies.request import Found, Request, SweepOptions
from planner.studies.sensitivity.journal import Journal
from planner.studies.sensitivity.scenarios import scenarios as scenarios_of
from planner.studies.sensitivity.sweep import RunningSweep, SweptRows, beside
from planner.studies.sensitivity.uncertain.distributions import Field
from planner.studies.sensitivity.workers import Workers
from planner.whole_files import write_all

SHOWN = 20_000
"""So many rows of a table are looked at for the workbook, the picture and the screen."""


@dataclass(frozen=True)
class Variation:
    """What to vary: ``--vary``, a table of scenarios, named scenarios (None; all where empty)."""

    vary: tuple[str, ...] = ()
    table: Path | None = None
    named: tuple[str, ...] | None = None


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
    every = tuple(name for name in named if name != "all") if named else None
    asked = Variation(vary, scenarios, every)
    inputs, folder = request.inputs, request.folder or Path()
    chosen = scenarios_of(
        inputs, vary=asked.vary, table=asked.table, named=asked.named, problem=request.path
    )
    options = request.rows(len(chosen))
    partial = folder / f".{request.stem}.sweep.partial"
    with _journal(partial, _key(inputs, asked, options)) as journal:
        course = RunningSweep(inputs, chosen, options, journal, request.progress)
        stopped = _run(course)
        base = solve_with(inputs, Options(gap=options.gap, explain=False)) if workbook else None
        study, rows, written = _write(course.table(), folder / f"{request.stem}.sweep", base)
        if base is not None and study.rows:
            written += _write_shown(base, study, rows, folder, request.stem)
        if html is not None:
            written += _write_page(html, study, rows, inputs)
        if not stopped:
            journal.forget()
    kept = _kept(study, partial) if stopped else ""
    return Found((study,), (_ended(study),), shown={"rows": rows}, written=written, stopped=kept)


@contextmanager
def _journal(folder: Path, key: str) -> Iterator[Journal]:
    """Yield the journal; however the sweep ends, nobody else is kept out and nothing idle stays."""
    with closing(Journal(folder, key)) as journal:
        try:
            yield journal
        except KeyboardInterrupt:
            if journal.empty:
                raise
            running.interrupt_handled()
            kept = f"what is done is kept in {list_files([folder])}"
            text = f"interrupted: {kept}; the same command goes on from there"
            raise StoppedError(text) from None
        finally:
            if journal.empty:
                journal.forget()


def _run(course: RunningSweep) -> bool:
    """Work on every piece; say whether the user stopped it before its end."""
    try:
        with Workers(course.work, course.pieces, kept=True) as workers:
            course.run(workers)
    except KeyboardInterrupt:
        if not course.done:
            raise
        running.interrupt_handled()
        return True
    return False


def _key(inputs: Inputs, asked: Variation, options: SweepOptions) -> str:
    """Return what tells one sweep from another: its inputs, what is varied, how it is solved."""
    table = asked.table.read_bytes() if asked.table is not None else b""
    parts = [
        __version__, inputs.sha256, inputs.scenario, inputs.overrides, asked.vary, asked.named,
        hashlib.sha256(table).hexdigest(), options.gap, options.time_limit_s,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _write(
    table: SweptRows, stem: Path, base: Plan | None
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
    shown = {"rows": rows}
    drawn = pictures(SWEEP, study, shown, folder, stem)
    if drawn:  # where no scenario has a plan there is nothing to draw
        write_all(drawn)
    sheets = [study_sheet(SWEEP, study, as_png(drawn), **shown)]
    return (*drawn, *write_workbook(folder, f"{SWEEP.book.format(stem=stem)}.xlsx", base, sheets))


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


def _kept(study: Sweep, folder: Path) -> str:
    done = f"{study.rows:,} of {study.asked:,} scenarios"
    kept = f"which are in the files and kept in {list_files([folder])}"
    return f"interrupted after {done}, {kept}; the same command goes on from there"


def _ended(study: Sweep) -> str:
    worst = ("failed", "no_solution", "feasible")
    return next((name for name in worst if study.statuses.get(name)), "optimal")
