"""The command that makes storage telemetry up."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from planner.cli_options import Output, Quiet, Scenario, Settings, amount, count, seconds, tell
from planner.terminal import say


class TraceFormat(StrEnum):
    """The formats of a trace."""

    csv = "csv"
    parquet = "parquet"


def synthesize(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Plans (.plan.json), problem files (.yaml; solved first), workbooks (.xlsx): a "
            "job each, on the storage of the first.",
            show_default=False,
        ),
    ],
    length: Annotated[str, typer.Option(help="How long the trace is.")] = "14 d",
    sample: Annotated[str, typer.Option(help="Time between two samples.")] = "10 s",
    start: Annotated[
        str, typer.Option(help="When the trace begins, UTC.", metavar="TIME")
    ] = "2026-01-01T00:00:00Z",
    clusters: Annotated[
        int, typer.Option(help="So many clusters run the same, each with its own failures.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="The same seed makes the same trace.")] = 1,
    format_: Annotated[
        TraceFormat, typer.Option("--format", help="CSV or Parquet.")
    ] = TraceFormat.csv,
    background: Annotated[
        str, typer.Option(help="Mean of other traffic, written and read alike.")
    ] = "0 GB/s",
    noise: Annotated[str, typer.Option(help="Noise of each sample, as a share of its rate.")] = (
        "0 %"
    ),
    missing: Annotated[str, typer.Option(help="Share of samples that got lost.")] = "0 %",
    jitter: Annotated[
        str, typer.Option(help="How far sampling times may lie off, to either side.")
    ] = "0 s",
    counter: Annotated[
        bool, typer.Option("--counter", help="Write counters of bytes instead of rates.")
    ] = False,
    resets: Annotated[int, typer.Option(help="How often counters start again at 0.")] = 0,
    clock_steps: Annotated[
        int, typer.Option(help="How often the clock is set, forward or back by up to a minute.")
    ] = 0,
    set_: Settings = None,
    scenario: Scenario = None,
    output: Output = Path(),
    quiet: Quiet = False,
) -> None:
    """Make up the storage telemetry of a cluster that runs a plan; write PROBLEM.trace.csv (or
    .parquet), PROBLEM.truth.json with all that happened, and PROBLEM.log.csv, the jobs' log.
    """
    from planner import units
    from planner.commands.synthesize import Request, report
    from planner.synthesis.quality import Quality, start_of

    quality = Quality(
        start=start_of(start),
        length_s=seconds("--length", length) or 0.0,
        sample_s=seconds("--sample", sample) or 0.0,
        background_gb_per_s=amount("--background", background, units.BANDWIDTH),
        noise=amount("--noise", noise, units.SHARE),
        missing=amount("--missing", missing, units.SHARE),
        jitter_s=amount("--jitter", jitter, units.TIME),
        counter=counter,
        resets=count("--resets", resets, 0),
        clock_steps=count("--clock-steps", clock_steps, 0),
    )
    request = Request(
        clusters=count("--clusters", clusters),
        kind=format_.value,
        seed=count("--seed", seed, 0),
        settings=tuple(set_ or ()),
        scenario=scenario,
        folder=output,
        quiet=quiet,
    )
    found = report(files, quality, request)
    say(found.text)
    tell(found.written, quiet)
    raise typer.Exit(found.code)


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(synthesize)
