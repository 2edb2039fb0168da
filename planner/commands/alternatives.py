"""Plans nearly as good as the best: the screen or JSON on standard output, a workbook as a file."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from planner.api import Options, load
from planner.commands import EXIT_CODES
from planner.commands.report import Report, write_workbook
from planner.commands.solve import stem
from planner.outputs import alternatives_text
from planner.schema.alternatives import Alternatives
from planner.studies.alternatives import alternatives


def report(
    problem: Path,
    options: Options,
    *,
    within: float,
    most: int,
    settings: tuple[str, ...] = (),
    scenario: str | None = None,
    folder: Path | None = None,
    as_json: bool = False,
) -> Report:
    """Find plans of a problem that are nearly as good as the best and differ from it.

    Args:
        problem: the problem file.
        options: how to solve.
        within: how far behind the best a plan may be, as a share of the objective.
        most: how many plans to show.
        settings: changes laid over the problem.
        scenario: a named scenario of the file.
        folder: where the workbook goes, None for no workbook.
        as_json: print JSON.

    Raises:
        InputError: the problem is wrong, or the workbook cannot be written.
    """
    inputs = load(problem, settings=settings, scenario=scenario)
    found = alternatives(inputs, options, within=within, most=most)
    text = alternatives_text.render(found).rstrip("\n")
    if as_json:
        text = found.model_dump_json(indent=2)
    written = () if folder is None or not found.alternatives else _write(found, folder, problem)
    return Report(text, written, EXIT_CODES[found.status])


def _write(found: Alternatives, folder: Path, problem: Path) -> tuple[Path, ...]:
    from planner.outputs.workbook.studies import near

    plan = found.alternatives[0].plan
    name = f"{stem(plan, problem)}.alternatives.xlsx"
    return write_workbook(folder, name, plan, [partial(near.add, study=found)])
