"""The rows of studies of a running cluster: its telemetry, and its job simulated."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal

from planner.cli_options import (
    JSON,
    QUIET,
    SCENARIO,
    SET,
    a_folder,
    argument,
    bandwidth,
    least,
    option,
    seconds,
)
from planner.studies.study import TOLD, Result, Study

CHARACTERIZATION = Result(
    "characterization",
    record="planner.schema.telemetry:Characterization",
    view="planner.outputs.telemetry_text:render",
    first="planner.outputs.telemetry_text:first",
    table="jobs",
)
SIMULATION = Result(
    "simulation",
    record="planner.schema.simulation:Simulation",
    view="planner.outputs.simulation_text:render",
    first="planner.outputs.simulation_text:first",
    charts="planner.outputs.charts.simulation:charts",
    kept="{stem}.simulation",
    picture="{stem}.{chart}",
)

TRACES = (
    Study(
        "characterize",
        "Find checkpoints and training jobs in storage telemetry: sizes, intervals, drains, "
        "overlaps, restarts.",
        also="With -o tables, pictures and a jobs: section; with --problem overrides for it; with "
        "--jobs bandwidth against model size and interval. Exit code 4 where no job shows.",
        example="planner characterize hall.csv --problem 10MW.yaml --gpus 4096",
        run="planner.commands.traces:run_characterize",
        options=(
            argument(
                "traces", list[Path],
                "Traces: CSV, Excel, JSON (objects) or Parquet. Several clusters in one file by a "
                "column, or a file each.",
                takes="TraceSource",
            ),
            option(
                "time", str | None, "Column of times; DATE+TIME for two columns.",
                metavar="COLUMN",
            ),
            option("write", str | None, "Column of writes.", metavar="COLUMN"),
            option("read", str | None, "Column of reads.", metavar="COLUMN"),
            option("cluster", str | None, "Column of the clusters' names.", metavar="COLUMN"),
            option(
                "sum_", bool,
                "Add up the columns of writes and of reads (--write 'ost*': such as these), and "
                "the rows of one time.",
                "--sum", default=False, to="sum",
            ),
            option(
                "unit", str | None,
                "Unit of the figures, e.g. GB/s, MiB/s, B; default: from names and cells.",
            ),
            option(
                "decimal", str | None,
                "Decimal mark, . or ,; the other one groups thousands. Default: . and no groups.",
            ),
            option(
                "time_format", str | None,
                "Format of times, e.g. '%d/%m/%Y %H:%M'; default: ISO 8601, or the one that fits.",
                metavar="FORMAT",
            ),
            option(
                "read_as", Literal["rate", "bytes", "counter"] | None,
                "Bandwidth, bytes per sample, or counters of bytes; default: found out.",
            ),
            option(
                "stamp", Literal["start", "end"],
                "Whether a time is the start or the end of its sample.", default="start",
            ),
            option(
                "window", str | None,
                "Time over which each sample is a mean, e.g. '5 min' of rate(...[5m]); default: "
                "found out.",
                metavar="TIME", read=partial(seconds, "--window"), to="window_s",
            ),
            option(
                "bytes_per_parameter", float,
                "Bytes of a checkpoint per parameter, for the parameters implied.",
                default=14.0,
            ),
            option(
                "jobs", Path | None,
                "Table of jobs (job, cluster, gpus, parameters): adds the study of the fleet.",
                metavar="FILE", to="listed",
            ),
            option(
                "problem", Path | None,
                "Problem to calibrate by a job; with --jobs: catalogs for the storage that "
                "suffices.",
                metavar="PROBLEM",
            ),
            option("job", str | None, "Which job found; default: the one that wrote most."),
            option(
                "plan", Path | None, "Plan that ran: GPUs and nameplate of the storage.",
                metavar="PLAN",
            ),
            option("gpus", int | None, "GPUs that the job ran on.", read=least("--gpus", 1)),
            option(
                "nameplate", str | None, "Write bandwidth of the storage by its nameplate.",
                read=partial(bandwidth, "--nameplate"), to="write_gb_per_s",
            ),
            option(
                "nameplate_read", str | None, "Read bandwidth of the storage by its nameplate.",
                read=partial(bandwidth, "--nameplate-read"), to="read_gb_per_s",
            ),
            option("log", Path | None, "The job's log (CSV: time, job, event).", metavar="FILE"),
            option("log_job", str | None, "The job's name in the log."),
            SET, SCENARIO,
            option(
                "output", Path | None, "Folder for tables, pictures, jobs; else none.",
                "--output", "-o", callback=a_folder,
            ),
            JSON, *TOLD, QUIET,
        ),
        results=(CHARACTERIZATION,),
        counts="clusters",
    ),
    Study(
        "simulate",
        "Simulate a plan's job failure by failure, many times: goodput beside the predicted one, "
        "lost time by cause, and whether another interval would have been better.",
        example="planner simulate 10MW.plan.json --replications 100",
        run="planner.studies.simulation:run",
        options=(
            argument(
                "plan", Path,
                "PROBLEM.plan.json that planner solve wrote; also a problem file or a workbook.",
                "PlanSource | ProblemSource",
            ),
            option(
                "failures", str,
                "When the job fails: exponential, weibull:SHAPE, or a file of times between "
                "interruptions or of dates, such as the answer of sacct -P.",
                default="exponential", metavar="KIND",
            ),
            option("column", str | None, "The column of that file.", metavar="NAME"),
            option(
                "time_format", str | None, "Format of its dates, e.g. '%m/%d/%Y %H:%M'.",
                metavar="FORMAT",
            ),
            option(
                "scaled", bool, "Stretch the file's times to the plan's mean.",
                "--scaled", default=False,
            ),
            option(
                "interval", str | None, "Another interval than the plan's, e.g. '10 min'.",
                metavar="TIME", read=partial(seconds, "--interval"), to="interval_s",
            ),
            option(
                "intervals", bool, "Try other intervals under the same failures.",
                "--intervals/--no-intervals", default=True,
            ),
            option(
                "repairs", str,
                "How times of repair are spread about the plan's mean: exponential, constant or "
                "lognormal:SIGMA.",
                default="exponential", metavar="KIND",
            ),
            option(
                "when_short", str,
                "Whether the job waits while units are short, or goes on with fewer replicas: "
                "wait or shrink, or as the plan has it.",
                default="plan", metavar="HOW",
            ),
            option("replications", int, "How many runs.", default=1000),
            option(
                "length", str, "How long each run is.",
                default="1 year", metavar="TIME", read=partial(seconds, "--length"), to="length_s",
            ),
            option(
                "seed", int, "The same seed draws the same runs.",
                default=1, read=least("--seed", 0),
            ),
            SET, SCENARIO,
            option(
                "output", Path | None, "Folder for the record and the picture; without it none.",
                "--output", "-o", callback=a_folder,
            ),
            JSON, *TOLD, QUIET,
        ),
        results=(SIMULATION,),
        counts="runs",
    ),
)  # fmt: skip
"""These studies, in the order in which ``planner --help`` lists them."""
