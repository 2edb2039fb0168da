"""Commands that read or write others' data: quotes, traces, failures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from planner.analysis.request import request_for
from planner.cli_options import (
    AsJson,
    Full,
    Output,
    ProblemFile,
    Quiet,
    Rates,
    ReadAs,
    Scenario,
    Settings,
    Stamp,
    StudyOutput,
    Text,
    Texts,
    argument,
    option,
    run_command,
)
from planner.terminal import say, show_progress

quotes = typer.Typer(
    help="Read, request and compare vendors' quotes.", no_args_is_help=True, rich_markup_mode=None
)


def characterize(
    traces: Annotated[
        list[Path],
        argument(
            "Traces: CSV, Excel, JSON (objects) or Parquet. Several clusters in one file by a "
            "column, or a file each."
        ),
    ],
    time: Annotated[
        Text,
        option(
            "Column of times; DATE+TIME for two columns.", metavar="COLUMN", show_default="by name"
        ),
    ] = None,
    write: Annotated[
        Text, option("Column of writes.", metavar="COLUMN", show_default="by name")
    ] = None,
    read: Annotated[
        Text, option("Column of reads.", metavar="COLUMN", show_default="by name")
    ] = None,
    cluster: Annotated[Text, option("Column of the clusters' names.", metavar="COLUMN")] = None,
    sum_: Annotated[
        bool,
        option(
            "Add up the columns of writes and of reads (--write 'ost*'), and rows of a time.",
            "--sum",
        ),
    ] = False,
    unit: Annotated[
        Text, option("Unit of the figures: GB/s, MiB/s, B.", show_default="as named")
    ] = None,
    decimal: Annotated[
        Text, option("Decimal mark, . or ,; the other one groups thousands.", metavar="MARK")
    ] = None,
    time_format: Annotated[
        Text,
        option(
            "Format of times: '%d/%m/%Y %H:%M'.",
            show_default="ISO 8601, or the one that fits",
            metavar="FORMAT",
        ),
    ] = None,
    read_as: Annotated[
        ReadAs | None,
        option("Kind of figures: bandwidth, bytes per sample, counters of bytes."),
    ] = None,
    stamp: Annotated[Stamp, option("A time is the start or the end of its sample.")] = "start",
    window: Annotated[
        Text,
        option(
            "Averaging window of each sample: '5 min' of rate(...[5m]).",
            show_default="estimated",
            metavar="TIME",
        ),
    ] = None,
    jobs: Annotated[
        Path | None,
        option(
            "Table of jobs (job, cluster, gpus, parameters): adds the study of the fleet.",
            metavar="FILE",
        ),
    ] = None,
    problem: Annotated[
        Path | None,
        option("Problem to calibrate by a job; with --jobs: catalogs for sufficient storage."),
    ] = None,
    job: Annotated[
        Text, option("Job found to calibrate by.", show_default="largest writer")
    ] = None,
    plan: Annotated[
        Path | None, option("Plan that ran: GPUs and nameplate of the storage.")
    ] = None,
    gpus: Annotated[int | None, option("GPUs of the job.")] = None,
    nameplate: Annotated[
        Text,
        option(
            "Nameplate bandwidth of the storage: '200 GB/s', or write and read, with a comma.",
            metavar="WRITE[,READ]",
        ),
    ] = None,
    log: Annotated[
        Text, option("The job's log (CSV: time, job, event).", metavar="FILE[=JOB]")
    ] = None,
    output: StudyOutput = None,
    as_json: AsJson = False,
    full: Full = False,
    quiet: Quiet = False,
) -> None:
    """Find checkpoints and training jobs in storage telemetry: sizes, intervals, drains, restarts.

    With --problem: overrides of it by the measurements. With --jobs: bandwidth against model size
    and interval. Exit code 4 where no job is found.
    """
    from planner.analysis.request import seconds
    from planner.commands.traces import Target, run_characterize
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
        read_as=read_as,
        stamp=stamp,
        window_s=None if window is None else seconds("--window", window),
    )
    target = Target.of(problem, job, plan, gpus, nameplate, log)
    study = partial(run_characterize, options=options, target=target, listed=jobs)
    request = request_for(traces, folder=output)
    run_command("characterize", "clusters", study, request, as_json, full, quiet)


def simulate(
    plan: Annotated[
        Path, argument("PROBLEM.plan.json of planner solve; also a problem file or a workbook.")
    ],
    failures: Annotated[
        str,
        option(
            "Failures: exponential, weibull:SHAPE, or a file of times between interruptions or of "
            "dates, such as the output of sacct -P; FILE=COLUMN for one of its columns.",
            metavar="KIND",
        ),
    ] = "exponential",
    time_format: Annotated[
        Text, option("Format of its dates: '%m/%d/%Y %H:%M'.", metavar="FORMAT")
    ] = None,
    scaled: Annotated[
        bool, option("Scale the file's times to the plan's mean.", "--scaled")
    ] = False,
    interval: Annotated[
        Text, option("Checkpoint interval.", show_default="the plan's", metavar="TIME")
    ] = None,
    replications: Annotated[int, option("Number of runs.")] = 1000,
    length: Annotated[str, option("Length of each run.", metavar="TIME")] = "1 year",
    seed: Annotated[int, option("Seed of the runs.")] = 1,
    output: StudyOutput = None,
    as_json: AsJson = False,
    full: Full = False,
    quiet: Quiet = False,
) -> None:
    """Simulate a plan's job failure by failure: goodput against the predicted, lost time by cause.

    Other checkpoint intervals are tried under the same failures.
    """
    from planner.analysis.request import seconds, whole
    from planner.analysis.simulation import run
    from planner.commands import portfolio

    request = request_for(plan, folder=output)
    if portfolio.is_portfolio(plan):
        laws = {"--failures": failures != "exponential", "--scaled": scaled, "--json": as_json}
        more = {"--time-format": time_format, "--interval": interval, "--output": output}
        portfolio.refuse_options({**laws, **more})
        length_s, runs = seconds("--length", length), whole("--replications", replications, 2)
        seed = whole("--seed", seed, 0)
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
    run_command("simulate", "runs", study, request, as_json, full, quiet)


@quotes.command("import")
def quote_import(
    file: Annotated[Path, argument("The vendor's file: .xlsx or .csv.")],
    vendor: Annotated[str, option("Name of the vendor.", show_default=False)],
    map_: Annotated[
        Path | None, option("Layout of its files (.map.yaml).", "--map", metavar="FILE")
    ] = None,
    problem: Annotated[
        Path | None, option("Problem whose catalogs apply.", show_default="all shipped catalogs")
    ] = None,
    date: Annotated[Text, option("Date of the quote.", metavar="YYYY-MM-DD")] = None,
    currency: Annotated[Text, option("Currency of the quote.", metavar="CODE")] = None,
    rate: Rates = None,
    output: Output = Path(),
    as_json: AsJson = False,
) -> None:
    """Read a vendor's quote into a price book; list unread lines and errors.

    Writes FILE.prices.yaml, FILE.map.yaml for the next quote, FILE.quote.json with every cell, and
    FILE.catalog.yaml for products that no catalog has.
    """
    from planner.commands.quote import import_quote, json_text
    from planner.report.views.bids import render_quote

    with show_progress("quote import"):
        quote, written = import_quote(
            file, output, vendor=vendor, mapping=map_, problem=problem, date=date,
            currency=currency, rates=rate or (),
        )  # fmt: skip
    say(json_text(quote).rstrip("\n") if as_json else render_quote(quote))
    say(f"wrote {', '.join(map(str, written))}{_next_step(written)}", err=True)


def _next_step(written: Sequence[Path]) -> str:
    book = next((path for path in written if path.name.endswith(".prices.yaml")), None)
    return "" if book is None else f"; next: add {book.name} to `prices` of the problem"


@quotes.command("rfq")
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

    with show_progress("quote rfq"):
        path = write_rfq(problem, tuple(set_ or ()), scenario, output)
    say(f"wrote {path}; read answers with: planner quote import FILE --vendor NAME", err=True)


@quotes.command("bid")
def quote_bid(
    files: Annotated[
        list[Path],
        argument("Problem file (YAML), then bids: .xlsx or .csv, as vendors send them."),
    ],
    vendor: Annotated[
        Texts, option("Vendor of a bid. Repeatable.", show_default="file name", metavar="FILE=NAME")
    ] = None,
    map_: Annotated[
        Texts,
        option(
            "Layout of a file, of planner quote import. Repeatable.", "--map", metavar="FILE=MAP"
        ),
    ] = None,
    date: Annotated[
        Texts, option("Date of a quote whose file states none.", metavar="FILE=DATE")
    ] = None,
    currency: Annotated[
        Texts, option("Currency of a quote whose file states none.", metavar="FILE=CODE")
    ] = None,
    rate: Rates = None,
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
    from planner.analysis.bids import run

    study = partial(
        run,
        quotes=(),
        vendor=vendor or (),
        mapping=map_ or (),
        date=date or (),
        currency=currency or (),
        rate=rate or (),
    )
    request = request_for(files, set_, scenario, folder=output)
    run_command("quote bid", "parts", study, request, as_json, full, quiet)
