"""Options that commands share, with their completions; an option means the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from planner.errors import Finding, InputError


def option(text: str, *names: str, **more: Any) -> Any:
    """An option with its help."""
    return typer.Option(*names, help=text, **more)


def argument(text: str, **more: Any) -> Any:
    """An argument with its help and without a default on the screen."""
    return typer.Argument(help=text, **({"show_default": False} | more))


def column(text: str) -> Any:
    """An option that names a column of a file."""
    return option(text, metavar="COLUMN", show_default="by name")


_OF_FILES = frozenset((".xlsx", ".json", ".csv", ".html", ".yaml", ".yml", ".pdf"))


def a_folder(value: Path | None) -> Path | None:
    """The folder; refuse the name of a file."""
    if value is not None and value.suffix.lower() in _OF_FILES and not value.is_dir():
        message = f"--output is the folder for the files, and '{value}' is named like a file"
        fix = f"give its folder, '{value.parent}': files are named after the problem"
        raise InputError(Finding("usage", message, fix=fix))
    return value


def _output(default: str) -> Any:
    text = "Folder for the files."
    return option(text, "--output", "-o", show_default=default, callback=a_folder)


Solver = Literal["highs", "cbc"]
Audience = Literal["internal", "customer", "customer-list", "customer-no-prices", "partner"]
Mode = Literal["grid", "frontier", "tornado", "uncertain"]
ReadAs = Literal["rate", "bytes", "counter"]
Stamp = Literal["start", "end"]

Text = str | None
Texts = list[str] | None
ProblemFile = Annotated[Path, argument("Problem file (YAML).")]
Settings = Annotated[
    Texts,
    option(
        "Change a value: --set site.facility_power='12 MW'; @FILE for a file of changes.",
        "--set",
        metavar="PATH=VALUE",
    ),
]
Scenario = Annotated[Text, option("Apply a named scenario of the problem file.")]
AsJson = Annotated[bool, option("Print JSON on standard output.", "--json")]
Full = Annotated[bool, option("Show everything: all tables and notes.", "--full")]
Quiet = Annotated[bool, option("Print no messages.", "--quiet", "-q")]
Output = Annotated[Path, _output(".")]
StudyOutput = Annotated[Path | None, _output("write no files")]
GridOutput = Annotated[Path | None, _output("of a grid ., otherwise write no files")]
Gap = Annotated[
    Text,
    option(
        "Largest MIP gap to prove, as a share or in percent.",
        show_default="2e-6; of sweep 0.1 %, of a grid up to 500 rows 2e-6",
    ),
]
TimeLimit = Annotated[
    Text, option("Time limit of each solve, e.g. '30 s'; keeps the best so far.", metavar="TIME")
]
ChosenSolver = Annotated[Solver, option("Solver of the integer program.", "--solver")]
Workers = Annotated[
    str,
    option(
        "Number of processes; or a Dask scheduler of several machines, tcp://HOST:PORT, in a "
        "trusted network.",
        show_default="one per core",
        metavar="N",
    ),
]
Rates = Annotated[Texts, option("USD for one unit of a currency: EUR=1.08.", metavar="CODE=USD")]
TimeFormat = Annotated[
    Text, option("Format of times or dates: '%d/%m/%Y %H:%M'.", metavar="FORMAT")
]
