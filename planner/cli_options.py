"""Options that several commands share, each with one meaning, and what a shell completes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from planner import shipped
from planner.errors import Finding, InputError

_ITEM = re.compile(r"^  - id: ([a-z][a-z0-9_]*)", re.MULTILINE)


def complete_examples(incomplete: str) -> list[str]:
    """Return the shipped problems that begin so."""
    return _beginning(shipped.problem_files(), incomplete)


def complete_items(incomplete: str) -> list[str]:
    """Return the items of the shipped catalogs that begin so."""
    return _beginning(_items(), incomplete)


def complete_owned(incomplete: str) -> list[str]:
    """Return the items that begin so, for a number of units to follow."""
    return [f"{name}=" for name in complete_items(incomplete)]


def complete_settings(ctx: Any, incomplete: str) -> list[str]:
    """Return the settings of a problem that begin so, one step deeper at a time.

    Args:
        ctx: the command so far.
        incomplete: what is typed of ``PATH=VALUE``; of a value nothing is known.
    """
    from planner.loader.locate import field_names
    from planner.paths import steps_of
    from planner.schema.problem import Problem

    if "=" in incomplete:
        return []
    head, _, tail = incomplete.rpartition(".")
    steps = steps_of(head) if head else ()
    known = all(
        isinstance(step, int)
        or steps[:at] == ("items",)
        or step in field_names(Problem, steps[:at])
        for at, step in enumerate(steps)
    )
    if not known:
        return []
    if steps == ("jobs",):
        names: Iterable[str] = ("0",)
    elif steps == ("items",):
        names = _items()
    else:
        names = field_names(Problem, steps)
    begun = f"{head}." if head else ""
    found = []
    for name in _beginning(names, tail):
        path = f"{begun}{name}"
        deeper = name == "jobs" or (name == "items" and not head)
        deeper = (
            deeper
            or steps == ("jobs",)
            or (steps != ("items",) and bool(_below(Problem, steps_of(path))))
        )
        found += [f"{path}." if deeper or steps == ("items",) else f"{path}="]
    return found


def _below(model: Any, path: Any) -> set[str]:
    from planner.loader.locate import models_at

    here = models_at(model, path[:-1])
    return {
        name
        for one in models_at(model, path)
        if all(one is not above for above in here)
        for name in one.model_fields
    }


def _items() -> list[str]:
    files = shipped.catalog_files().values()
    return [name for path in files for name in _ITEM.findall(path.read_text("utf-8"))]


def complete_scenarios(ctx: Any, incomplete: str) -> list[str]:
    """Return the scenarios of the problem file that the command names."""
    from planner.errors import InputError
    from planner.loader import scenario_names

    problem = ctx.params.get("problem")
    if problem is None:
        return []
    try:
        return _beginning(scenario_names(Path(problem)), incomplete)
    except (InputError, OSError):
        return []


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))


class Solver(StrEnum):
    """The solvers."""

    highs = "highs"
    cbc = "cbc"


ProblemFile = Annotated[Path, typer.Argument(help="Problem file (YAML).", show_default=False)]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Change a value: --set site.facility_power='12 MW'; @FILE for a file of changes. "
        "Repeatable.",
        metavar="PATH=VALUE",
        autocompletion=complete_settings,
    ),
]
Scenario = Annotated[
    str | None,
    typer.Option(
        help="Apply a named scenario of the problem file.", autocompletion=complete_scenarios
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Full = Annotated[bool, typer.Option("--full", help="Show everything: all tables and notes.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no messages.")]
Html = Annotated[bool, typer.Option("--html", help="Write an HTML page that opens offline.")]
_OF_FILES = frozenset((".xlsx", ".json", ".csv", ".html", ".yaml", ".yml", ".pdf"))


def a_folder(value: Path | None) -> Path | None:
    """Return the folder; refuse the name of a file."""
    if value is not None and value.suffix.lower() in _OF_FILES and not value.is_dir():
        message = f"--output is the folder for the files, and '{value}' is named like a file"
        fix = f"give its folder, '{value.parent}': files are named after the problem"
        raise InputError(Finding("usage", message, fix=fix))
    return value


_FOLDER = "Folder for the files."
Output = Annotated[
    Path,
    typer.Option("--output", "-o", help=_FOLDER, show_default=".", callback=a_folder),
]
StudyOutput = Annotated[
    Path | None,
    typer.Option("--output", "-o", help=_FOLDER, show_default="write no files", callback=a_folder),
]
_GAP = "Largest MIP gap to prove, as a share or in percent."
Gap = Annotated[str | None, typer.Option(help=_GAP, show_default="2e-6")]
EachGap = Annotated[
    str | None,
    typer.Option(
        help=_GAP, show_default="0.1 %; of a grid up to 500 rows 2e-6, with the plan of solve"
    ),
]
TimeLimit = Annotated[
    str | None, typer.Option(help="Time limit of each solve, e.g. '30 s'; keeps the best so far.")
]
ChosenSolver = Annotated[Solver, typer.Option("--solver", help="Solver of the integer program.")]
Workers = Annotated[
    str,
    typer.Option(
        help="Number of processes; or a Dask scheduler, tcp://HOST:PORT.",
        show_default="one per core",
    ),
]
