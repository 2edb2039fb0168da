"""Options that several commands share, how they are read, and what a shell completes.

Names are read out of the files as text where that will do: a shell asks at every key.
"""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args, get_origin

import typer

from planner import shipped
from planner.errors import Finding, InputError

if TYPE_CHECKING:
    from planner.api import Options


_ITEM = re.compile(r"^  - id: ([a-z][a-z0-9_]*)", re.MULTILINE)


def complete_examples(incomplete: str) -> list[str]:
    """Return the shipped problems that begin so."""
    return _beginning(shipped.problem_files() | shipped.portfolio_files(), incomplete)


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


class AgainstName(StrEnum):
    """What useful work may be held against: where several are taken, typer asks for a class."""

    storage = "storage"
    cost = "cost"
    power = "power"


REQUIRED = inspect.Parameter.empty
"""The default of what has none."""


class Option(NamedTuple):
    """A parameter of a command: its name, its type as typer reads it, its default, how it is read.

    What ``read`` returns is what the command gets instead of the text, under the name ``to`` where
    it is not the parameter's own. ``takes`` is what `planner.library` takes for a file.
    """

    name: str
    type: Any
    default: Any = None
    read: Callable[[Any], Any] | None = None
    to: str = ""
    takes: str = "File"

    @property
    def kind(self) -> Any:
        """The type of a value."""
        return get_args(self.type)[0]

    @property
    def choices(self) -> tuple[str, ...]:
        """The words there are, none where it may be anything."""
        return tuple(_choices(self.kind))

    @property
    def help(self) -> str:
        """What it does."""
        return str(get_args(self.type)[1].help)

    @property
    def is_mapping(self) -> bool:
        """Whether each of its values is a name and what it stands for."""
        return self.several and "=" in (get_args(self.type)[1].metavar or "")

    @property
    def several(self) -> bool:
        """Whether it can be given several times."""
        return "list[" in str(self.type)

    @property
    def target(self) -> str:
        """What the command calls the value."""
        return self.to or self.name


def _choices(kind: Any) -> Iterator[str]:
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        yield from kind
    for part in get_args(kind):
        if get_origin(kind) is Literal:
            yield part
        else:
            yield from _choices(part)


def option(
    name: str,
    kind: Any,
    help_: str,
    *flags: str,
    default: Any = None,
    read: Callable[[Any], Any] | None = None,
    to: str = "",
    **more: Any,
) -> Option:
    """Return a parameter that is given by name.

    Args:
        name: of the parameter, after which its flag is named.
        kind: its type.
        help_: what it does.
        flags: how it is given, where not by its name.
        default: what it is where it is not given.
        read: makes of it what the command gets.
        to: what the command calls it, where not by its name.
        more: what else typer takes, such as ``metavar``.
    """
    return Option(
        name, Annotated[kind, typer.Option(*flags, help=help_, **more)], default, read, to
    )


def argument(name: str, kind: Any, help_: str, takes: str = "File") -> Option:
    """Return a parameter that is given by its place, and must be; see ``Option`` for ``takes``."""
    asked = Annotated[kind, typer.Argument(help=help_, show_default=False)]
    return Option(name, asked, REQUIRED, takes=takes)


def least(flag: str, fewest: int) -> Callable[[int | None], int | None]:
    """Return what reads a whole number that may not be smaller."""
    return lambda number: None if number is None else count(flag, number, fewest)


ProblemFile = Annotated[Path, typer.Argument(help="Problem file (YAML).", show_default=False)]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Change a value: --set site.facility_power='12 MW'; @FILE for a file of them. "
        "Repeatable.",
        metavar="PATH=VALUE",
        autocompletion=complete_settings,
    ),
]
Scenario = Annotated[
    str | None,
    typer.Option(
        help="Lay a named scenario of the file over it.", autocompletion=complete_scenarios
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Notes = Annotated[bool, typer.Option("--notes", help="Tell every note in full.")]
Full = Annotated[bool, typer.Option("--full", help="Tell everything: all tables and notes.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no messages.")]
_OF_FILES = frozenset((".xlsx", ".json", ".csv", ".html", ".yaml", ".yml", ".pdf"))


def a_folder(value: Path | None) -> Path | None:
    """Return the folder that is asked for; refuse what is meant as the name of a file."""
    if value is not None and value.suffix.lower() in _OF_FILES and not value.is_dir():
        message = f"--output is the folder for the files, and '{value}' is named like a file"
        fix = f"give its folder, '{value.parent}': files are named after the problem"
        raise InputError(Finding("usage", message, fix=fix))
    return value


Output = Annotated[
    Path,
    typer.Option(
        "--output", "-o", help="Folder for the files.", show_default=".", callback=a_folder
    ),
]


StudyFolder = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Folder for the workbook; without it none.", callback=a_folder
    ),
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


def optional_share(option: str) -> Callable[[str | None], float | None]:
    """Return what reads a share that may be missing."""
    return lambda text: None if text is None else share(option, text)


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


def amount(option: str, dimension: str, text: str) -> float:
    """Return a quantity that may be 0.

    Args:
        option: the option that has it.
        dimension: its dimension, by the name that ``units`` gives it.
        text: what is given.

    Raises:
        InputError: the text is none.
    """
    from planner import units

    value = _quantity(option, text, getattr(units, dimension))
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


PROBLEM = Option("problem", ProblemFile, REQUIRED, takes="ProblemSource")
SET = Option("set_", Settings)
SCENARIO = Option("scenario", Scenario)
GAP = Option("gap", Gap, "2e-6", partial(share, "--gap"))
EACH_GAP = option(
    "gap",
    str,
    "Largest gap to prove for each plan, as a share or in percent.",
    default="0.1 %",
    read=partial(share, "--gap"),
)
ROW_GAP = option(
    "gap",
    str | None,
    "Largest gap to prove for each row, as a share or in percent. Default: 2e-6, with the plan of "
    "`solve`, for up to 500 rows; else 0.1 %.",
    read=optional_share("--gap"),
)
LIMIT = Option("time_limit", StudyTimeLimit, None, partial(seconds, "--time-limit"))
EACH_LIMIT = Option("time_limit", EachTimeLimit, None, partial(seconds, "--time-limit"))
SOLVER = Option("solver", ChosenSolver, Solver.highs)
JOBS = option(
    "jobs",
    int,
    "How many processes to use; 0 for as many as there are cores.",
    default=0,
    read=least("--jobs", 0),
)
DASK = option(
    "dask",
    str | None,
    "Let the workers of this Dask scheduler do the work.",
    metavar="ADDRESS",
)
FOLDER = Option("output", StudyFolder)
FILES = Option("output", Output, Path())
JSON = Option("as_json", AsJson, False)
QUIET = Option("quiet", Quiet, False)
NOTES = Option("notes", Notes, False)
PROOF = option("proof", bool, "Tell how exactly it is known.", "--proof", default=False)
FULL = Option("full", Full, False)
