"""The command that runs a plan event by event."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planner.cli_options import AsJson, Quiet, Scenario, Settings, count, seconds, tell
from planner.terminal import say


def simulate(
    plan: Annotated[
        Path,
        typer.Argument(
            help="PROBLEM.plan.json that planner solve wrote; also a problem file or a workbook.",
            show_default=False,
        ),
    ],
    failures: Annotated[
        str,
        typer.Option(
            help="When the job fails: exponential, weibull:SHAPE, or a CSV file of times between "
            "interruptions or of dates.",
            metavar="KIND",
        ),
    ] = "exponential",
    column: Annotated[
        str | None, typer.Option(help="The column of that file.", metavar="NAME")
    ] = None,
    scaled: Annotated[
        bool, typer.Option("--scaled", help="Stretch the file's times to the plan's mean.")
    ] = False,
    planned: Annotated[
        str | None,
        typer.Option(help="Planned stops: '30 days,4 h', how often, how long.", metavar="TIMES"),
    ] = None,
    outages: Annotated[
        str | None,
        typer.Option(
            help="Outages of appliances: '2 years,8 h', how long one runs and is repaired.",
            metavar="TIMES",
        ),
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            help="Jobs on the same storage: another plan, or a YAML file with jobs. Repeatable.",
            metavar="FILE",
        ),
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(help="Another interval than the plan's, e.g. '10 min'.", metavar="TIME"),
    ] = None,
    intervals: Annotated[
        bool | None,
        typer.Option(
            help="Try other intervals under the same failures; default: where the job is alone.",
            show_default=False,
        ),
    ] = None,
    replications: Annotated[int, typer.Option(help="How many runs.")] = 1000,
    length: Annotated[str, typer.Option(help="How long each run is.", metavar="TIME")] = "1 year",
    seed: Annotated[int, typer.Option(help="The same seed draws the same runs.")] = 1,
    jobs: Annotated[
        int,
        typer.Option(help="How many processes to use; 0 for as many as there are cores."),
    ] = 0,
    set_: Settings = None,
    scenario: Scenario = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for the record and the pictures; without it none."
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run a plan's job event by event, many times: goodput beside the predicted one, where time is
    lost, and whether another interval would have been better.
    """
    from planner.commands.simulate import report
    from planner.studies.simulation.options import SimulationOptions

    options = SimulationOptions(
        failures=failures,
        column=column,
        scaled=scaled,
        planned=planned,
        outages=outages,
        beside=tuple(beside or ()),
        replications=replications,
        length_s=seconds("--length", length) or 0.0,
        seed=count("--seed", seed, 0),
        interval_s=seconds("--interval", interval),
        intervals=intervals,
        processes=count("--jobs", jobs, 0),
    )
    found = report(
        plan,
        options,
        settings=tuple(set_ or ()),
        scenario=scenario,
        folder=output,
        as_json=as_json,
        quiet=quiet,
    )
    say(found.text)
    tell(found.written, quiet)
    raise typer.Exit(found.code)


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(simulate)
