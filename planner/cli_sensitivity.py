"""The commands of the command line that study how an answer depends on what goes in."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli_options import (
    AsJson,
    EachTimeLimit,
    ProblemFile,
    Quiet,
    Scenario,
    Settings,
    StudyFolder,
    count,
    seconds,
    share,
    tell,
)
from planner.errors import StoppedError
from planner.terminal import say

if TYPE_CHECKING:
    from planner.commands.report import Report
    from planner.studies.sensitivity.solve import SweepOptions

EachGap = Annotated[
    str, typer.Option("--gap", help="Largest gap to prove for each plan, as a share or in percent.")
]
Jobs = Annotated[
    int, typer.Option("--jobs", help="How many processes to use; 0 for as many as there are cores.")
]
TableFolder = Annotated[
    Path, typer.Option("--output", "-o", help="Folder for the files.", show_default=".")
]


class AgainstName(StrEnum):
    """What useful work may be held against."""

    storage = "storage"
    cost = "cost"
    power = "power"


class MethodName(StrEnum):
    """How scenarios are drawn."""

    lhs = "lhs"
    sobol = "sobol"


def sweep(
    problem: ProblemFile,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="What to vary: site.facility_power=5MW:20MW:0.1MW, a,b,c or LOW:HIGH:log:COUNT; "
            "also catalog.ITEM..., prices.ITEM.list, x0.8:x1.2:x0.1. Repeatable: a grid.",
            metavar="PATH=VALUES",
        ),
    ] = None,
    scenarios: Annotated[
        Path | None, typer.Option(help="Scenarios in a CSV file, one a row.", metavar="FILE")
    ] = None,
    named: Annotated[
        list[str] | None,
        typer.Option(help="A named scenario of the problem, or all. Repeatable.", metavar="NAME"),
    ] = None,
    set_: Settings = None,
    scenario: Scenario = None,
    gap: EachGap = "0.1 %",
    time_limit: EachTimeLimit = None,
    jobs: Jobs = 0,
    dask: Annotated[
        str | None,
        typer.Option(help="Let the workers of this Dask scheduler do the work.", metavar="ADDRESS"),
    ] = None,
    output: TableFolder = Path(),
    as_json: AsJson = False,
    workbook: Annotated[
        bool, typer.Option(help="Write the workbook and the picture as well as the table.")
    ] = True,
    quiet: Quiet = False,
) -> None:
    """Solve many scenarios, each to a proven gap; write PROBLEM.sweep.parquet and .csv, a workbook
    and a picture. What was interrupted goes on where it stopped.
    """
    from planner.commands.sweep import Asked, report

    every = None if named is None else tuple(name for name in named if name != "all")
    found = report(
        problem,
        _options(gap, time_limit, jobs),
        Asked(tuple(vary or ()), scenarios, every),
        settings=tuple(set_ or ()),
        scenario=scenario,
        folder=output,
        dask=dask,
        as_json=as_json,
        quiet=quiet,
        workbook=workbook,
    )
    _end(found, quiet)


def frontier(
    problem: ProblemFile,
    against: Annotated[
        list[AgainstName] | None,
        typer.Option(help="Against what: storage, cost or power. Repeatable; default: all three."),
    ] = None,
    points: Annotated[int, typer.Option(help="How many points to find at most.")] = 50,
    set_: Settings = None,
    scenario: Scenario = None,
    gap: EachGap = "0.1 %",
    time_limit: EachTimeLimit = None,
    jobs: Jobs = 0,
    output: StudyFolder = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show the most useful work against storage bandwidth, cost and power, and where it bends."""
    from planner.commands.frontier import report

    found = report(
        problem,
        _options(gap, time_limit, jobs),
        against=tuple(name.value for name in against or AgainstName),
        points=count("--points", points, 3),
        settings=tuple(set_ or ()),
        scenario=scenario,
        folder=output,
        as_json=as_json,
    )
    _end(found, quiet)


def tornado(
    problem: ProblemFile,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="An input and its two ends: site.pue=1.1:1.4, x0.8:x1.2 or +-20%. Repeatable; "
            "default: every number that may matter.",
            metavar="PATH=LOW:HIGH",
        ),
    ] = None,
    by: Annotated[
        str, typer.Option(help="How far to move each input where no ends are given.")
    ] = "20 %",
    set_: Settings = None,
    scenario: Scenario = None,
    gap: EachGap = "0.1 %",
    time_limit: EachTimeLimit = None,
    jobs: Jobs = 0,
    output: StudyFolder = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Vary one input at a time, low and high, and rank them by what they do to the best plan."""
    from planner.commands.tornado import report

    found = report(
        problem,
        _options(gap, time_limit, jobs),
        ranges=tuple(vary or ()),
        by=share("--by", by),
        settings=tuple(set_ or ()),
        scenario=scenario,
        folder=output,
        as_json=as_json,
        quiet=quiet,
    )
    _end(found, quiet)


def uncertain(
    problem: ProblemFile,
    dist: Annotated[
        list[str] | None,
        typer.Option(
            help="What is not known: PATH='uniform(LOW, HIGH)', triangular, normal, lognormal, "
            "loguniform or discrete. Repeatable; default: prices, power draw, failures, delivered "
            "write bandwidth, checkpoint size.",
            metavar="PATH=DISTRIBUTION",
        ),
    ] = None,
    samples: Annotated[int, typer.Option(help="How many scenarios to draw.")] = 256,
    method: Annotated[
        MethodName, typer.Option(help="How: Latin hypercube or Sobol.")
    ] = MethodName.lhs,
    seed: Annotated[int, typer.Option(help="The same seed draws the same scenarios.")] = 1,
    indices: Annotated[
        bool, typer.Option("--indices", help="Explain the spread by inputs; more scenarios.")
    ] = False,
    set_: Settings = None,
    scenario: Scenario = None,
    gap: EachGap = "0.1 %",
    time_limit: EachTimeLimit = None,
    jobs: Jobs = 0,
    output: StudyFolder = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Draw inputs that are not known: what the best plan becomes, how often the planned one breaks
    a limit, and which plan is regretted least.
    """
    from planner.commands.uncertain import report

    found = report(
        problem,
        _options(gap, time_limit, jobs),
        dists=tuple(dist or ()),
        method=method.value,
        samples=count("--samples", samples, 2),
        seed=count("--seed", seed, 0),
        indices=indices,
        settings=tuple(set_ or ()),
        scenario=scenario,
        folder=output,
        as_json=as_json,
        quiet=quiet,
    )
    _end(found, quiet)


def report_(
    results: Annotated[
        list[Path],
        typer.Argument(
            help="What other commands wrote: PROBLEM.plan.json, PROBLEM.sweep.json, ...",
            show_default=False,
        ),
    ],
    file: Annotated[Path, typer.Option("--file", "-f", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", hidden=True, help="Refused: a report is one file."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Put plans, side by side, and studies into one HTML file that opens offline."""
    from planner.commands.report_html import report

    _end(report(tuple(results), file, folder=output), quiet)


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (sweep, frontier, tornado, uncertain):
        app.command()(command)
    app.command("report")(report_)


def _options(gap: str, time_limit: str | None, jobs: int) -> SweepOptions:
    from planner.studies.sensitivity.solve import SweepOptions

    return SweepOptions(
        gap=share("--gap", gap),
        time_limit_s=seconds("--time-limit", time_limit),
        jobs=count("--jobs", jobs, 0),
    )


def _end(found: Report, quiet: bool) -> None:
    if found.text:
        say(found.text)
    tell(found.written, quiet)
    if found.stopped:
        raise StoppedError(found.stopped)
    raise typer.Exit(found.code)
