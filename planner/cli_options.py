"""Options that several commands of the command line share, and how they are read."""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.errors import Finding, InputError
from planner.terminal import say

if TYPE_CHECKING:
    from planner.api import Options


class Solver(StrEnum):
    """The solvers."""

    highs = "highs"
    cbc = "cbc"


ProblemFile = Annotated[Path, typer.Argument(help="Problem file (YAML).", show_default=False)]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Change a value: --set site.facility_power='12 MW'; @FILE for a file of them. "
        "Repeatable.",
        metavar="PATH=VALUE",
    ),
]
Scenario = Annotated[str | None, typer.Option(help="Lay a named scenario of the file over it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no messages.")]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="Folder for the files.", show_default=".")
]


StudyFolder = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Folder for the workbook; without it none."),
]
Gap = Annotated[str, typer.Option(help="Largest gap to prove, as a share or in percent.")]
TimeLimit = Annotated[str | None, typer.Option(help="Stop with the best plan so far, e.g. '30 s'.")]
EachTimeLimit = Annotated[
    str | None, typer.Option(help="Stop each solve with the best plan so far, e.g. '30 s'.")
]
StudyTimeLimit = Annotated[
    str | None,
    typer.Option(help="Stop then with the best plan and what is known of it so far, e.g. '5 min'."),
]
ChosenSolver = Annotated[Solver, typer.Option(help="Solver.")]


def running_options(solver: Solver, gap: str, time_limit: str | None, **more: Any) -> Options:
    """Return how to solve, with one clock for the whole command, which runs from now on."""
    begun = time.monotonic(), time.process_time()
    return solver_options(solver, gap, time_limit, **more).started(begun)


def solver_options(solver: Solver, gap: str, time_limit: str | None, **more: Any) -> Options:
    """Return how to solve, from the options that every solving command has."""
    from planner import api  # takes a good part of a second on a busy machine

    return api.Options(
        solver=solver.value,
        gap=share("--gap", gap),
        time_limit_s=seconds("--time-limit", time_limit),
        **more,
    )


def tell(written: Sequence[Path], quiet: bool) -> None:
    """Say which files were written."""
    if written and not quiet:
        from planner.commands.solve import listed

        say(f"wrote {listed(written)}", err=True)


def share(option: str, text: str) -> float:
    """Return a share between 0 and 1.

    Raises:
        InputError: the text is none.
    """
    from planner import units

    value = _quantity(option, text, units.SHARE)
    if not 0 < value < 1:
        raise InputError(Finding("option", f"{option} {text} must lie between 0 and 1"))
    return value


def seconds(option: str, text: str | None) -> float | None:
    """Return a time in seconds, None where none is given.

    Raises:
        InputError: the text is none.
    """
    from planner import units

    return None if text is None else _more_than_0(option, text, units.TIME)


def bandwidth(option: str, text: str | None) -> float | None:
    """Return a bandwidth in GB/s, None where none is given.

    Raises:
        InputError: the text is none.
    """
    from planner import units

    return None if text is None else _more_than_0(option, text, units.BANDWIDTH)


def amount(option: str, text: str, dimension: Any) -> float:
    """Return a quantity that may be 0.

    Raises:
        InputError: the text is none.
    """
    value = _quantity(option, text, dimension)
    if value < 0:
        raise InputError(Finding("option", f"{option} {text} must be 0 or more"))
    return value


def _more_than_0(option: str, text: str, dimension: Any) -> float:
    value = _quantity(option, text, dimension)
    if value <= 0:
        raise InputError(Finding("option", f"{option} {text} must be more than 0"))
    return value


def _quantity(option: str, text: str, dimension: Any) -> float:
    from planner import units

    try:
        return units.parse(text, dimension)
    except units.QuantityError as error:
        raise InputError(Finding("option", f"{option}: {error}", fix=error.fix)) from None


def count(option: str, number: int, least: int = 1) -> int:
    """Return a whole number that is not too small.

    Raises:
        InputError: it is.
    """
    if number < least:
        raise InputError(Finding("option", f"{option} {number} must be {least} or more"))
    return number
