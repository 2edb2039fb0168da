"""planner from Python: each function is the command of its name, without a screen and files.

Those of studies are made of the rows of `planner.studies.registry`; written out here is what is no
study, or takes and returns something else than its command.

A problem is a file, ``Inputs`` that ``load`` returned, or a ``Problem`` made in Python; a plan is a
file, or a ``Plan`` that ``solve`` returned. Results are the records that the commands print with
``--json``; ``print`` shows them as the screen does, a notebook as a page, and ``to_frame`` gives
their tables to pandas.

Options have the names, the defaults and the spelling of the command line: ``time_limit="30 s"``,
``gap="0.1 %"``; what is not given is as the command has it. ``settings`` are ``--set``, as
``{path: value}`` or as texts ``path=value``.

Every function raises ``InputError`` where a file, a model or an option is wrong, and
``VerificationError`` where a plan does not agree with its independent re-computation.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from planner import api
from planner.errors import Finding, InputError, did_you_mean
from planner.inputs import Inputs, inputs_to_text
from planner.library.asking import (
    File,
    PlanSource,
    ProblemSource,
    Settings,
    as_texts,
    by_path,
    in_memory,
    request_of,
    varied,
)
from planner.library.functions import study_functions
from planner.library.sources import as_csv, file_path, kind, text
from planner.outputs.plan_json import carrying
from planner.schema.plan import Plan
from planner.schema.sensitivity import Sweep
from planner.shipped import problem_files
from planner.sizing_report import SizeReport, size_report
from planner.studies.registry import STUDIES

if TYPE_CHECKING:
    import pandas as pd

Solver = Literal["highs", "cbc"]


class SweepTable(Sweep):
    """The record of a sweep with its rows: ``table`` has the columns by name, as the files do."""

    table: Mapping[str, tuple[Any, ...]] = Field(exclude=True, repr=False)


def load(problem: ProblemSource, *, settings: Settings = (), scenario: str | None = None) -> Inputs:
    """Return a problem with the catalogs and prices it names, checked; whatever asks of it many
    times reads files once.

    Args:
        problem: a file, a problem made in Python, or inputs to change.
        settings: changes laid over it.
        scenario: a named scenario of the file.
    """
    scenario = text(scenario, "the name of a scenario")
    if isinstance(problem, (str, os.PathLike)):
        path = file_path(problem, "a problem file")
        return api.load(path, settings=as_texts(settings), scenario=scenario)
    return in_memory(problem, settings, scenario)


def example(name: str = "10MW") -> Path:
    """Return the file of a problem that planner ships, to try things with.

    Args:
        name: such as ``10MW`` or ``enterprise_1MW``; ``planner init`` copies the same.
    """
    known = problem_files()
    name = text(name, "the name of an example") or ""
    if name not in known:
        hint = did_you_mean(name, list(known)) or "examples: " + ", ".join(known)
        raise InputError(Finding("not-found", f"no example named '{name}'", fix=hint))
    return known[name]


def solve(
    problem: ProblemSource,
    *,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    solver: Solver = "highs",
    explain_none: bool = True,
) -> Plan:
    """Return the best plan of a problem, verified; it carries what it was made from, as its file.

    Args:
        problem: what to plan.
        settings: changes laid over it.
        scenario: a named scenario of the file.
        gap: the largest gap to prove, as a share.
        time_limit: when to stop with the best plan so far, such as "30 s".
        solver: which solver proves it.
        explain_none: where there is no plan, whether to find out why, which takes longer.
    """
    inputs = load(problem, settings=settings, scenario=scenario)
    given = {"gap": gap, "time_limit": time_limit, "solver": solver}
    request, _ = request_of(STUDIES["alternatives"], (inputs,), given)
    options = request.running(explain=explain_none)
    return carrying(api.solve_with(inputs, options), inputs_to_text(inputs))


def size(
    problem: ProblemSource,
    *,
    gpus: int | None = None,
    settings: Settings = (),
    scenario: str | None = None,
) -> SizeReport:
    """Return the sizing model of a problem, without solving: sizes, intervals, what rules ask for.

    Args:
        problem: what to size.
        gpus: for so many GPUs; by default for the most that the site can hold.
        settings: changes laid over it.
        scenario: a named scenario of the file.
    """
    if gpus is not None and (isinstance(gpus, bool) or not isinstance(gpus, int)):
        message = f"expected a whole number of GPUs, found {kind(gpus)}"
        raise InputError(Finding("option", message, fix="write for example gpus=4096"))
    return size_report(load(problem, settings=settings, scenario=scenario), gpus)


def write_workbook(plan: PlanSource, path: File) -> Path:
    """Write the workbook of a plan and return its path; it carries what ``audit`` reads.

    Args:
        plan: a plan file, or what ``solve`` returned.
        path: where it goes.
    """
    from planner.commands.solve import created_today
    from planner.studies.verification import open_plan
    from planner.whole_files import write_all
    from planner.workbook import write

    target = file_path(path, "the file of the workbook")
    paths, models = by_path((plan,), (), None)
    model = models.get(paths[0])
    opened = open_plan(paths[0], model if isinstance(model, Plan) else None)
    stream = io.BytesIO()
    write(opened.plan, stream, created=created_today(), inputs=opened.carried)
    write_all({target: stream.getvalue()})
    return target


def sweep(
    problem: ProblemSource,
    vary: Mapping[str, str | Sequence[object]] | Sequence[str] = (),
    *,
    scenarios: File | pd.DataFrame | None = None,
    named: Sequence[str] = (),
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    jobs: int | None = None,
) -> SweepTable:
    """Return the best plan of every scenario of a grid, each to a proven gap, as rows of a table.

    Args:
        problem: what to vary.
        vary: values by path: ``{"site.facility_power": "5MW:20MW:1MW"}``, or a list of values; of
            several the grid of all.
        scenarios: a CSV file or a DataFrame of scenarios, one a row.
        named: named scenarios of the problem file, or ``["all"]``.
        settings, scenario: what is laid over it.
        gap: the largest gap to prove for each, as a share.
        time_limit: how long each may take.
        jobs: how many processes to use, 0 for as many as there are cores.
    """
    from planner.studies.scenario_plans import table_rows
    from planner.studies.scenarios import scenarios as scenarios_of
    from planner.studies.sweep import sweep_table

    given = {"gap": gap, "time_limit": time_limit, "jobs": jobs}
    request, _ = request_of(STUDIES["sweep"], (problem,), given, settings, scenario)
    if named and request.models:
        message = "named scenarios are read from the problem file, and this problem is in memory"
        raise InputError(Finding("scenario", message, fix="give the file"))
    inputs = request.inputs
    named = (named,) if isinstance(named, str) else named
    with as_csv(scenarios) as path:
        chosen = scenarios_of(
            inputs,
            vary=varied(vary),
            table=path,
            named=tuple(name for name in named if name != "all") if named else None,
            problem=request.path,
        )
    options = request.rows(len(chosen))
    rows: dict[int, dict[str, Any]] = {}
    table_rows(chosen.bases, chosen, options, rows, request.progress)
    base = api.solve_with(inputs, api.Options(gap=options.gap, explain=False))
    found = sweep_table(inputs, chosen, options, rows, base)
    table = {name: tuple(column) for name, column in found.values.items()}
    return SweepTable(**dict(found.record), table=table)


WRITTEN_OUT = ("example", "load", "size", "solve", "sweep", "write_workbook")
_OF_STUDIES = study_functions()
globals().update(_OF_STUDIES)

__all__ = sorted([*WRITTEN_OUT, *_OF_STUDIES])
