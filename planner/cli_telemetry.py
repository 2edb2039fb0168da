"""The command that reads storage telemetry."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from planner.cli_options import (
    AsJson,
    Quiet,
    Scenario,
    Settings,
    bandwidth,
    count,
    seconds,
    tell,
)
from planner.terminal import say


class ReadAsName(StrEnum):
    """What the figures of a trace are."""

    rate = "rate"
    bytes = "bytes"
    counter = "counter"


class Stamp(StrEnum):
    """Which end of its sample a time is."""

    start = "start"
    end = "end"


def characterize(
    traces: Annotated[
        list[Path],
        typer.Argument(
            help="Traces: CSV, Parquet, Excel, JSON (also of Prometheus), or HDF5 of TOKIO or LMT. "
            "Several clusters in one file by a column, or a file each.",
            show_default=False,
        ),
    ],
    time: Annotated[
        str | None,
        typer.Option(help="Column of times; DATE+TIME for two columns.", metavar="COLUMN"),
    ] = None,
    write: Annotated[str | None, typer.Option(help="Column of writes.", metavar="COLUMN")] = None,
    read: Annotated[str | None, typer.Option(help="Column of reads.", metavar="COLUMN")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Column of the clusters' names.", metavar="COLUMN")
    ] = None,
    sum_: Annotated[
        bool,
        typer.Option(
            "--sum",
            help="Add up the columns of writes and of reads (--write 'ost*': such as these), and "
            "the rows of one time.",
        ),
    ] = False,
    unit: Annotated[
        str | None,
        typer.Option(help="Unit of the figures, e.g. GB/s, MiB/s, B; default: by names and cells."),
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(help="Decimal mark of figures, . or ,; default: found out.")
    ] = None,
    time_format: Annotated[
        str | None,
        typer.Option(
            help="How times are written, e.g. '%d/%m/%Y %H:%M:%S'; default: ISO 8601 and its kin.",
            metavar="FORMAT",
        ),
    ] = None,
    read_as: Annotated[
        ReadAsName | None,
        typer.Option(help="Bandwidth, bytes per sample, or counters of bytes; default: found out."),
    ] = None,
    stamp: Annotated[
        Stamp, typer.Option(help="Whether a time is the start or the end of its sample.")
    ] = Stamp.start,
    window: Annotated[
        str | None,
        typer.Option(
            help="Time over which each sample is a mean, e.g. '5 min' of rate(...[5m]); default: "
            "found out.",
            metavar="TIME",
        ),
    ] = None,
    bytes_per_parameter: Annotated[
        float, typer.Option(help="Bytes of a checkpoint per parameter, for the parameters implied.")
    ] = 14.0,
    problem: Annotated[
        Path | None, typer.Option(help="Problem to calibrate by a job.", metavar="PROBLEM")
    ] = None,
    job: Annotated[
        str | None, typer.Option(help="Which job found; default: the one that wrote most.")
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="Plan that ran: GPUs and nameplate of the storage.", metavar="PLAN"),
    ] = None,
    gpus: Annotated[int | None, typer.Option(help="GPUs that the job ran on.")] = None,
    nameplate: Annotated[
        str | None, typer.Option(help="Write bandwidth of the storage by its nameplate.")
    ] = None,
    nameplate_read: Annotated[
        str | None, typer.Option(help="Read bandwidth of the storage by its nameplate.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option(help="The job's log (CSV: time, job, event).", metavar="FILE")
    ] = None,
    log_job: Annotated[str | None, typer.Option(help="The job's name in the log.")] = None,
    set_: Settings = None,
    scenario: Scenario = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for tables, pictures, jobs; else none."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find checkpoints and training jobs in storage telemetry: sizes, intervals, drains, overlaps,
    restarts. With -o tables, pictures and a jobs: section; with --problem overrides for it.
    Exit code 4 where no job shows.
    """
    from planner.commands.characterize import Target, report
    from planner.telemetry.raw import ReadOptions, require

    options = ReadOptions(
        time=time,
        write=write,
        read=read,
        cluster=cluster,
        sum=sum_,
        unit=unit,
        decimal=decimal,
        time_format=time_format,
        read_as=None if read_as is None else read_as.value,
        stamp=stamp.value,
        window_s=seconds("--window", window),
        bytes_per_parameter=bytes_per_parameter,
    )
    require(options)
    target = Target(
        problem=problem,
        job=job,
        plan=plan,
        gpus=None if gpus is None else count("--gpus", gpus),
        write_gb_per_s=bandwidth("--nameplate", nameplate),
        read_gb_per_s=bandwidth("--nameplate-read", nameplate_read),
        log=log,
        log_job=log_job,
        settings=tuple(set_ or ()),
        scenario=scenario,
    )
    found = report(traces, options, target, folder=output, as_json=as_json, quiet=quiet)
    say(found.text)
    tell(found.written, quiet)
    raise typer.Exit(found.code)


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(characterize)
