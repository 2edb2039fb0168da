"""Sweeps: the table as Parquet and CSV, its workbook and picture, a summary on the screen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner import __version__
from planner.api import Options, load, solve_with
from planner.commands import EXIT_CODES, interrupts
from planner.commands.progress import progress
from planner.commands.report import Report, drawn, write_workbook
from planner.commands.solve import listed, stem_of
from planner.errors import StoppedError
from planner.inputs import Inputs
from planner.schema.plan import Plan
from planner.schema.sensitivity import Sweep
from planner.studies.sensitivity.journal import Journal
from planner.studies.sensitivity.scenarios import scenarios
from planner.studies.sensitivity.solve import SweepOptions
from planner.studies.sensitivity.sweep import Course, Table, Workforce
from planner.studies.sensitivity.workers import Workers

SHOWN = 20_000
"""So many rows of a table are looked at for the workbook, the picture and the screen."""


@dataclass(frozen=True)
class Asked:
    """What to vary: ``--vary``, a table of scenarios, named scenarios (None; all where empty)."""

    vary: tuple[str, ...] = ()
    table: Path | None = None
    named: tuple[str, ...] | None = None


def report(
    problem: Path,
    options: SweepOptions,
    asked: Asked,
    *,
    settings: tuple[str, ...] = (),
    scenario: str | None = None,
    folder: Path = Path(),
    dask: str | None = None,
    as_json: bool = False,
    quiet: bool = False,
    workbook: bool = True,
) -> Report:
    """Solve the scenarios of a problem and write the table of them.

    Args:
        problem: the problem file.
        options: how to solve each scenario.
        asked: what to vary.
        settings: changes laid over the problem.
        scenario: a named scenario of the file that all others are laid over.
        folder: where the files go.
        dask: the address of a Dask scheduler whose workers do the work.
        as_json: print the record as JSON.
        quiet: show no progress.
        workbook: whether to write the workbook and the picture, too.

    Raises:
        InputError: the problem or what to vary is wrong, or a file cannot be written.
    """
    inputs = load(problem, settings=settings, scenario=scenario)
    chosen = scenarios(
        inputs, vary=asked.vary, table=asked.table, named=asked.named, problem=problem
    )
    stem = stem_of(problem, scenario)
    partial = folder / f".{stem}.sweep.partial"
    with _journal(partial, _key(inputs, asked, options)) as journal:
        with progress("scenarios", quiet=quiet) as told:
            course = Course(inputs, chosen, options, journal, told)
            stopped = _run(course, dask)
        base = solve_with(inputs, Options(gap=options.gap, explain=False)) if workbook else None
        study, rows, written = _write(course.table(), folder / f"{stem}.sweep", base)
        if base is not None and study.rows:
            written += _shown(base, study, rows, folder, stem)
        if not stopped:
            journal.forget()
    text = study.model_dump_json(indent=2) if as_json else _text(study, rows)
    return Report(text, written, _code(study), _kept(study, partial) if stopped else "")


@contextmanager
def _journal(folder: Path, key: str) -> Iterator[Journal]:
    """Yield the journal; however the sweep ends, nobody else is kept out and nothing idle stays."""
    with closing(Journal(folder, key)) as journal:
        try:
            yield journal
        except KeyboardInterrupt:
            if journal.empty:
                raise
            interrupts.heard()
            kept = f"what is done is kept in {listed([folder])}"
            said = f"interrupted: {kept}; the same command goes on from there"
            raise StoppedError(said) from None
        finally:
            if journal.empty:
                journal.forget()


def _run(course: Course, dask: str | None) -> bool:
    """Work on every piece; say whether the user stopped it before its end."""
    try:
        with _workforce(course, dask) as workforce:
            course.run(workforce)
    except KeyboardInterrupt:
        if not course.done:
            raise
        interrupts.heard()
        return True
    return False


@contextmanager
def _workforce(course: Course, dask: str | None) -> Iterator[Workforce]:
    if dask is not None:
        from planner.studies.sensitivity.workers import Cluster

        with closing(Cluster(course.work, dask)) as cluster:
            yield cluster
        return
    with Workers(course.work, course.options.jobs, course.pieces) as workers:
        yield workers


def _key(inputs: Inputs, asked: Asked, options: SweepOptions) -> str:
    """Return what tells one sweep from another: its inputs, what is varied, how it is solved."""
    table = asked.table.read_bytes() if asked.table is not None else b""
    parts = [
        __version__, inputs.sha256, inputs.scenario, inputs.overrides, asked.vary, asked.named,
        hashlib.sha256(table).hexdigest(), options.gap, options.time_limit_s,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _write(
    table: Table, stem: Path, base: Plan | None
) -> tuple[Sweep, dict[str, Sequence[Any]], tuple[Path, ...]]:
    from planner.outputs import sweep_files
    from planner.whole_files import write_all

    names = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".parquet", ".csv", ".json")]
    counted = sweep_files.write(
        names[0], names[1], table.columns, table.types, table.blocks(), SHOWN
    )
    study = table.record(counted.statuses, counted.proofs)
    if base is not None and study.objective == base.objective.name:
        worth = {"base": base.objective.value, "base_bound": base.objective.bound}
        study = study.model_copy(update=worth)
    write_all({names[2]: (study.model_dump_json(indent=2) + "\n").encode()})
    return study, dict(counted.first), tuple(names)


def _shown(
    base: Plan, study: Sweep, rows: dict[str, Sequence[Any]], folder: Path, stem: str
) -> tuple[Path, ...]:
    from functools import partial

    from planner.outputs.charts.studies import charts
    from planner.outputs.workbook.studies import sweep as sheet
    from planner.whole_files import write_all

    pictures: dict[Path, bytes] = {}
    for chart in charts(study, rows):
        pictures |= drawn(chart, folder, f"{stem}.sweep")
    write_all(pictures)
    add = partial(sheet.add, study=study, rows=rows)
    book = write_workbook(folder, f"{stem}.sweep.xlsx", base, [add])
    return (*pictures, *book)


def _text(study: Sweep, rows: dict[str, Sequence[Any]]) -> str:
    from planner.outputs.sweep_text import render

    return render(study, rows).rstrip("\n")


def _kept(study: Sweep, folder: Path) -> str:
    done = f"{study.rows:,} of {study.asked:,} scenarios"
    kept = f"which are in the files and kept in {listed([folder])}"
    return f"interrupted after {done}, {kept}; the same command goes on from there"


def _code(study: Sweep) -> int:
    worst = ("failed", "no_solution", "feasible")
    return next((EXIT_CODES[name] for name in worst if study.statuses.get(name)), 0)
