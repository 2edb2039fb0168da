"""Frontiers: the screen or JSON on standard output, records, workbook and pictures as files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from planner.api import Options, load, solve_with
from planner.commands import EXIT_CODES
from planner.commands.report import Report, drawn, write_workbook
from planner.commands.solve import stem
from planner.whole_files import write_all

if TYPE_CHECKING:
    from planner.inputs import Inputs
    from planner.schema.sensitivity import Frontier
    from planner.studies.sensitivity.frontier import Against
    from planner.studies.sensitivity.solve import SweepOptions


def report(
    problem: Path,
    options: SweepOptions,
    *,
    against: Sequence[Against] = ("storage",),
    points: int = 50,
    settings: tuple[str, ...] = (),
    scenario: str | None = None,
    folder: Path | None = None,
    as_json: bool = False,
) -> Report:
    """Tell the most useful work of a problem against storage bandwidth, money or power.

    Args:
        problem: the problem file.
        options: how exactly to solve, and how long at most for each plan.
        against: what work is held against, each once; a frontier for each.
        points: how many plans to find at most for each.
        settings: changes laid over the problem.
        scenario: a named scenario of the file.
        folder: where files go, None for none.
        as_json: print the record as JSON, of several frontiers a list.

    Raises:
        InputError: the problem is wrong, or a file cannot be written.
    """
    from planner.outputs import frontier_text
    from planner.studies.sensitivity.frontier import at_once, study

    inputs = load(problem, settings=settings, scenario=scenario)
    names = dict.fromkeys(against)
    tasks = [partial(study, inputs, options, against=name, points=points) for name in names]
    found: list[Frontier] = at_once(tasks, options.jobs)
    records = [each.model_dump_json(indent=2) for each in found]
    text = "\n\n".join(frontier_text.render(each).rstrip("\n") for each in found)
    if as_json:
        text = records[0] if len(records) == 1 else f"[{', '.join(records)}]"
    written = () if folder is None else _write(inputs, options, found, folder, problem)
    return Report(text, written, max(EXIT_CODES[each.status] for each in found))


def _write(
    inputs: Inputs, options: SweepOptions, found: Sequence[Frontier], folder: Path, problem: Path
) -> tuple[Path, ...]:
    from planner.outputs.charts.studies import charts
    from planner.outputs.workbook.studies import frontier

    plan = solve_with(inputs, Options(time_limit_s=options.time_limit_s, explain=False))
    name = f"{stem(plan, problem)}.frontier"
    contents: dict[Path, bytes] = {}
    for each in found:
        path = f"{name}-{each.x_name}"
        contents[folder / f"{path}.json"] = f"{each.model_dump_json(indent=2)}\n".encode()
        for chart in charts(each) if each.points else ():
            contents |= drawn(chart, folder, path)
    write_all(contents)
    sheets = [partial(frontier.add, study=each) for each in found if each.points]
    if not sheets:
        return tuple(contents)
    return (*contents, *write_workbook(folder, f"{name}.xlsx", plan, sheets))
