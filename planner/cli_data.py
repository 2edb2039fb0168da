"""Commands that read or write others' data: quotes, traces, failures."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from planner.cli_options import (
    AsJson,
    Full,
    Output,
    ProblemFile,
    Quiet,
    Scenario,
    Settings,
    StudyOutput,
)
from planner.commands import running
from planner.terminal import say

quote_app = typer.Typer(
    help="Read, request and compare vendors' quotes.", no_args_is_help=True, rich_markup_mode=None
)


class ReadAs(StrEnum):
    """Kinds of figures of a trace."""

    rate = "rate"
    bytes = "bytes"
    counter = "counter"


class Stamp(StrEnum):
    """Times of samples."""

    start = "start"
    end = "end"


class Quantities(StrEnum):
    """Quantities of a bid."""

    quoted = "quoted"
    free = "free"


def characterize(
    traces: Annotated[
        list[Path],
        typer.Argument(
            help="Traces: CSV, Excel, JSON (objects) or Parquet. Several clusters in one file by a "
            "column, or a file each.",
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
            help="Add up the columns of writes and of reads (--write 'ost*'), and rows of a time.",
        ),
    ] = False,
    unit: Annotated[
        str | None,
        typer.Option(help="Unit of the figures: GB/s, MiB/s, B.", show_default="as named"),
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(help="Decimal mark, . or ,; the other one groups thousands."),
    ] = None,
    time_format: Annotated[
        str | None,
        typer.Option(
            help="Format of times: '%d/%m/%Y %H:%M'.",
            show_default="ISO 8601, or the one that fits",
            metavar="FORMAT",
        ),
    ] = None,
    read_as: Annotated[
        ReadAs | None,
        typer.Option(help="Kind of figures: bandwidth, bytes per sample, counters of bytes."),
    ] = None,
    stamp: Annotated[
        Stamp, typer.Option(help="A time is the start or the end of its sample.")
    ] = Stamp.start,
    window: Annotated[
        str | None,
        typer.Option(
            help="Averaging window of each sample: '5 min' of rate(...[5m]).",
            show_default="estimated",
            metavar="TIME",
        ),
    ] = None,
    jobs: Annotated[
        Path | None,
        typer.Option(
            help="Table of jobs (job, cluster, gpus, parameters): adds the study of the fleet.",
            metavar="FILE",
        ),
    ] = None,
    problem: Annotated[
        Path | None,
        typer.Option(
            help="Problem to calibrate by a job; with --jobs: catalogs for sufficient storage."
        ),
    ] = None,
    job: Annotated[
        str | None, typer.Option(help="Job found to calibrate by.", show_default="largest writer")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="Plan that ran: GPUs and nameplate of the storage.")
    ] = None,
    gpus: Annotated[int | None, typer.Option(help="GPUs of the job.")] = None,
    nameplate: Annotated[
        str | None,
        typer.Option(
            help="Nameplate bandwidth of the storage: '200 GB/s', or write and read, with a comma.",
            metavar="WRITE[,READ]",
        ),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(help="The job's log (CSV: time, job, event).", metavar="FILE[=JOB]"),
    ] = None,
    output: StudyOutput = None,
    as_json: AsJson = False,
    full: Full = False,
    quiet: Quiet = False,
) -> None:
    """Find checkpoints and training jobs in storage telemetry: sizes, intervals, drains, restarts.

    With --problem overrides for it; with --jobs bandwidth against model size and interval. Exit
    code 4 where no job is found.
    """
    from planner.commands.results import run_study
    from planner.commands.traces import Target, run_characterize
    from planner.studies.request import request_for, seconds
    from planner.telemetry import ReadOptions

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
        window_s=None if window is None else seconds("--window", window),
    )
    target = Target.of(problem, job, plan, gpus, nameplate, log)
    request = request_for(traces, folder=output)
    study = partial(run_characterize, options=options, target=target, listed=jobs)
    shown = {"as_json": as_json, "full": full, "quiet": quiet}
    raise typer.Exit(run_study("characterize", "clusters", study, request, **shown))


def simulate(
    plan: Annotated[
        Path,
        typer.Argument(
            help="PROBLEM.plan.json of planner solve; also a problem file or a workbook.",
            show_default=False,
        ),
    ],
    failures: Annotated[
        str,
        typer.Option(
            help="Failures: exponential, weibull:SHAPE, or a file of times between interruptions "
            "or of dates, such as the output of sacct -P; FILE=COLUMN for one of its columns.",
            metavar="KIND",
        ),
    ] = "exponential",
    time_format: Annotated[
        str | None,
        typer.Option(help="Format of its dates: '%m/%d/%Y %H:%M'.", metavar="FORMAT"),
    ] = None,
    scaled: Annotated[
        bool, typer.Option("--scaled", help="Scale the file's times to the plan's mean.")
    ] = False,
    interval: Annotated[
        str | None,
        typer.Option(help="Checkpoint interval.", show_default="the plan's", metavar="TIME"),
    ] = None,
    replications: Annotated[int, typer.Option(help="Number of runs.")] = 1000,
    length: Annotated[str, typer.Option(help="Length of each run.", metavar="TIME")] = "1 year",
    seed: Annotated[int, typer.Option(help="Seed of the runs.")] = 1,
    output: StudyOutput = None,
    as_json: AsJson = False,
    full: Full = False,
    quiet: Quiet = False,
) -> None:
    """Simulate a plan's job failure by failure: goodput against the predicted, lost time by cause.

    Other checkpoint intervals are tried under the same failures.
    """
    from planner.commands import portfolio
    from planner.commands.results import run_study
    from planner.studies.request import request_for, seconds, whole
    from planner.studies.simulation import run

    if portfolio.is_portfolio(plan):
        laws = {"--failures": failures != "exponential", "--scaled": scaled, "--json": as_json}
        more = {"--time-format": time_format, "--interval": interval, "--output": output}
        portfolio.refuse_options({**laws, **more})
        length_s, runs = seconds("--length", length), whole("--replications", replications, 2)
        seed, request = whole("--seed", seed, 0), request_for([plan])
        code = portfolio.simulate(request, length_s=length_s, runs=runs, seed=seed, quiet=quiet)
        raise typer.Exit(code)
    law, _, column = failures.partition("=")
    study = partial(
        run,
        failures=law,
        column=column or None,
        time_format=time_format,
        scaled=scaled,
        replications=replications,
        length_s=seconds("--length", length),
        seed=whole("--seed", seed, 0),
        interval_s=None if interval is None else seconds("--interval", interval),
        intervals=True,
    )
    request = request_for([plan], folder=output)
    shown = {"as_json": as_json, "full": full, "quiet": quiet}
    raise typer.Exit(run_study("simulate", "runs", study, request, **shown))


@quote_app.command("import")
def quote_import(
    file: Annotated[
        Path, typer.Argument(help="The vendor's file: .xlsx or .csv.", show_default=False)
    ],
    vendor: Annotated[str, typer.Option(help="Name of the vendor.", show_default=False)],
    map_: Annotated[
        Path | None, typer.Option("--map", help="Layout of its files (.map.yaml).")
    ] = None,
    problem: Annotated[
        Path | None,
        typer.Option(help="Problem whose catalogs apply.", show_default="all shipped catalogs"),
    ] = None,
    date: Annotated[str | None, typer.Option(help="Date of the quote, YYYY-MM-DD.")] = None,
    currency: Annotated[str | None, typer.Option(help="Currency of the quote.")] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(help="USD for one unit of a currency: EUR=1.08.", metavar="CODE=USD"),
    ] = None,
    output: Output = Path(),
    as_json: AsJson = False,
) -> None:
    """Read a vendor's quote into a price book; list unread lines and errors.

    Writes FILE.prices.yaml, FILE.map.yaml for the next quote, FILE.quote.json with every cell, and
    FILE.catalog.yaml for products that no catalog has.
    """
    from planner.commands.quote import Asking, import_quote, json_text
    from planner.outputs.bids_text import render_quote

    asking = Asking(vendor, map_, problem, date, currency, tuple(rate or ()))
    with running.show_progress("quote import"):
        quote, written = import_quote(file, asking, output)
    say(json_text(quote).rstrip("\n") if as_json else render_quote(quote))
    say("wrote " + ", ".join(str(path) for path in written), err=True)


@quote_app.command("rfq")
def quote_rfq(
    problem: ProblemFile,
    set_: Settings = None,
    scenario: Scenario = None,
    output: Output = Path(),
) -> None:
    """Write a neutral request for quotes, PROBLEM.rfq.xlsx: requirements, no product, no budget.

    Vendors' answers in it are read by planner quote import.
    """
    from planner.commands.quote import write_rfq

    with running.show_progress("quote rfq"):
        path = write_rfq(problem, tuple(set_ or ()), scenario, output)
    say(f"wrote {path}; read answers with: planner quote import FILE --vendor NAME", err=True)


@quote_app.command("bid")
def quote_bid(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Problem file (YAML), then bids: .xlsx or .csv, as vendors send them.",
            show_default=False,
        ),
    ],
    quantities: Annotated[
        Quantities, typer.Option(help="Quantities as quoted, or optimised at the quoted prices.")
    ] = Quantities.quoted,
    vendor: Annotated[
        list[str] | None,
        typer.Option(
            help="Vendor of a bid. Repeatable.", show_default="file name", metavar="FILE=NAME"
        ),
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            help="Layout of a file, of planner quote import. Repeatable.",
            metavar="FILE=MAP",
        ),
    ] = None,
    date: Annotated[
        list[str] | None,
        typer.Option(help="Date of a quote whose file states none.", metavar="FILE=DATE"),
    ] = None,
    currency: Annotated[
        list[str] | None,
        typer.Option(help="Currency of a quote whose file states none.", metavar="FILE=CODE"),
    ] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(help="USD for one unit of a currency. Repeatable.", metavar="CODE=USD"),
    ] = None,
    set_: Settings = None,
    scenario: Scenario = None,
    output: StudyOutput = None,
    as_json: AsJson = False,
    full: Full = False,
    quiet: Quiet = False,
) -> None:
    """Evaluate vendors' quotes as bids on a problem.

    Limits met, useful work and cost over the term, gaps, the best mix with proof, and each bid's
    break-even price. Exit code 3 where no bid meets every limit.
    """
    from planner.commands.results import run_study
    from planner.studies.bids import run
    from planner.studies.request import request_for

    request = request_for(files, set_ or (), scenario, folder=output)
    study = partial(
        run,
        quotes=(),
        quantities=quantities.value,
        vendor=vendor or (),
        mapping=map_ or (),
        date=date or (),
        currency=currency or (),
        rate=rate or (),
    )
    shown = {"as_json": as_json, "full": full, "quiet": quiet}
    raise typer.Exit(run_study("quote bid", "parts", study, request, **shown))
