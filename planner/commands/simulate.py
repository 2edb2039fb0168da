"""A simulation: the screen or JSON on standard output, record and pictures as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from planner.api import Options
from planner.commands import EXIT_CODES
from planner.commands.progress import progress
from planner.commands.report import Report, drawn
from planner.commands.solve import stem_of_side
from planner.whole_files import write_all

if TYPE_CHECKING:
    from planner.schema.plan import Plan
    from planner.schema.simulation import Simulation
    from planner.studies.simulation import SimulationOptions


def report(
    path: Path,
    options: SimulationOptions,
    *,
    settings: tuple[str, ...] = (),
    scenario: str | None = None,
    folder: Path | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> Report:
    """Run a plan's job event by event, many times.

    Args:
        path: the plan; a problem file is solved first, a workbook read as it stands.
        options: what to simulate, and how often.
        settings: changes laid over a problem file.
        scenario: a named scenario of a problem file.
        folder: where files go, None for none.
        as_json: print JSON.
        quiet: show no progress.

    Raises:
        InputError: a file or an option is wrong, or a file cannot be written.
    """
    from planner.outputs import simulation_text
    from planner.studies.compare.sides import read_side
    from planner.studies.simulation import study
    from planner.studies.simulation.options import require_numbers

    require_numbers(options)
    read = read_side(path, settings=settings, scenario=scenario, options=Options(explain=False))
    if not read.there:
        said = f"{path}: no plan, so nothing to simulate: {read.reason or read.plan.status}"
        return Report(said, (), EXIT_CODES[read.plan.status])
    with progress("runs", quiet=quiet) as told:
        found = study(read.plan, options, told)
    record = found.model_dump_json(indent=2)
    text = record if as_json else simulation_text.render(found).rstrip("\n")
    written = () if folder is None else _write(found, read.plan, record, folder, path)
    return Report(text, written, 0)


def _write(
    found: Simulation, plan: Plan, record: str, folder: Path, path: Path
) -> tuple[Path, ...]:
    from planner.outputs.charts.simulation import loss, timeline

    name = stem_of_side(path, plan)
    contents = {folder / f"{name}.simulation.json": f"{record}\n".encode()}
    contents |= drawn(timeline(found), folder, f"{name}.timeline")
    contents |= drawn(loss(found), folder, f"{name}.loss")
    write_all(contents)
    return tuple(contents)
