"""An uncertainty study: the screen or JSON on standard output, everything as files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from planner.api import Options, load, solve_with
from planner.commands import EXIT_CODES
from planner.commands.progress import progress
from planner.commands.report import Report, drawn, write_workbook
from planner.commands.solve import stem
from planner.whole_files import write_all

if TYPE_CHECKING:
    from planner.schema.plan import Plan
    from planner.schema.sensitivity import Uncertain
    from planner.studies.sensitivity.solve import SweepOptions


def report(
    problem: Path,
    options: SweepOptions,
    *,
    dists: tuple[str, ...] = (),
    method: Literal["lhs", "sobol"] = "lhs",
    samples: int = 256,
    seed: int = 1,
    indices: bool = False,
    settings: tuple[str, ...] = (),
    scenario: str | None = None,
    folder: Path | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> Report:
    """Tell what becomes of a problem's plan where inputs are not known exactly.

    Args:
        problem: the problem file.
        options: how exactly to solve each scenario.
        dists: ``PATH=DISTRIBUTION`` of each input; none for what is usually not known.
        method: how scenarios are drawn.
        samples: how many.
        seed: the same one draws the same.
        indices: whether to explain the spread by inputs, which takes more scenarios.
        settings: changes laid over the problem.
        scenario: a named scenario of the file.
        folder: where files go, None for none.
        as_json: print JSON.
        quiet: show no progress.

    Raises:
        InputError: the problem, a distribution or an option is wrong, or a file cannot be written.
    """
    from planner.outputs import uncertain_text
    from planner.studies.sensitivity.uncertain import Draw, study, unknowns

    inputs = load(problem, settings=settings, scenario=scenario)
    draw = Draw(method, samples, seed, indices)
    asked = draw.scenarios(len(unknowns(inputs, dists, draw)))  # refused before anything is solved
    plan = solve_with(inputs, Options(time_limit_s=options.time_limit_s, explain=False))
    with progress("scenarios", quiet=quiet) as told:
        found = study(inputs, dists, options, draw, plan=plan, told=lambda done: told(done, asked))
    record = found.model_dump_json(indent=2)
    text = record if as_json else uncertain_text.render(found).rstrip("\n")
    written = () if folder is None else _write(found, plan, record, folder, problem)
    code = EXIT_CODES["failed"] if found.statuses.get("failed") else EXIT_CODES[found.status]
    return Report(text, written, code)


def _write(
    found: Uncertain, plan: Plan, record: str, folder: Path, problem: Path
) -> tuple[Path, ...]:
    from planner.outputs.charts.studies import charts
    from planner.outputs.workbook.studies import uncertain

    name = f"{stem(plan, problem)}.uncertain"
    contents = {folder / f"{name}.json": f"{record}\n".encode()}
    for chart in charts(found):
        contents |= drawn(chart, folder, f"{name}.{chart.name}")
    write_all(contents)
    book = write_workbook(folder, f"{name}.xlsx", plan, [partial(uncertain.add, study=found)])
    return (*contents, *book)
