"""A tornado: the screen or JSON on standard output, record, workbook and picture as files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from planner.api import Options, load, solve_with
from planner.commands import EXIT_CODES
from planner.commands.progress import progress
from planner.commands.report import Report, drawn, write_workbook
from planner.commands.solve import stem
from planner.whole_files import write_all

if TYPE_CHECKING:
    from planner.inputs import Inputs
    from planner.schema.sensitivity import Tornado
    from planner.studies.sensitivity.solve import SweepOptions


def report(
    problem: Path,
    options: SweepOptions,
    *,
    ranges: Sequence[str] = (),
    by: float = 0.2,
    settings: tuple[str, ...] = (),
    scenario: str | None = None,
    folder: Path | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> Report:
    """Tell which inputs the best plan of a problem depends on most.

    Args:
        problem: the problem file.
        options: how exactly to solve, and how long at most for each end.
        ranges: what to vary, each as ``PATH=LOW:HIGH`` or ``PATH=+-20%``; none for every number
            that may matter.
        by: how far those go to either side, as a share.
        settings: changes laid over the problem.
        scenario: a named scenario of the file.
        folder: where files go, None for none.
        as_json: print the record as JSON.
        quiet: show no progress.

    Raises:
        InputError: the problem or a range is wrong, or a file cannot be written.
    """
    from planner.outputs import tornado_text
    from planner.studies.sensitivity.tornado import study

    inputs = load(problem, settings=settings, scenario=scenario)
    with progress("ends", quiet=quiet) as told:
        found = study(inputs, ranges, options, by=by, told=told)
    record = found.model_dump_json(indent=2)
    text = record if as_json else tornado_text.render(found).rstrip("\n")
    written = () if folder is None else _write(inputs, options, found, record, folder, problem)
    ends = {end.status for swing in found.swings for end in (swing.low, swing.high)}
    return Report(
        text, written, EXIT_CODES["failed"] if "failed" in ends else EXIT_CODES[found.status]
    )


def _write(
    inputs: Inputs,
    options: SweepOptions,
    found: Tornado,
    record: str,
    folder: Path,
    problem: Path,
) -> tuple[Path, ...]:
    from planner.outputs.charts.studies import charts
    from planner.outputs.workbook.studies import tornado

    plan = solve_with(inputs, Options(time_limit_s=options.time_limit_s, explain=False))
    name = f"{stem(plan, problem)}.tornado"
    contents = {folder / f"{name}.json": f"{record}\n".encode()}
    for chart in charts(found):
        contents |= drawn(chart, folder, name)
    write_all(contents)
    book = write_workbook(folder, f"{name}.xlsx", plan, [partial(tornado.add, study=found)])
    return (*contents, *book)
