"""The rows of studies of a running cluster: its telemetry read, made up, and its job simulated."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal

from planner.cli_options import (
    FILES,
    JOBS,
    JSON,
    QUIET,
    SCENARIO,
    SET,
    a_folder,
    amount,
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
TRUTH = Result("truth", record="planner.schema.telemetry:Truth")
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
        also="With -o tables, pictures and a jobs: section; with --problem overrides for it. Exit "
        "code 4 where no job shows.",
        example="planner characterize hall.csv --problem 10MW.yaml --gpus 4096",
        run="planner.commands.traces:run_characterize",
        options=(
            argument(
                "traces", list[Path],
                "Traces: CSV, Excel, JSON (objects) or Parquet. Several clusters in one file by a "
                "column, or a file each.",
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
            option("problem", Path | None, "Problem to calibrate by a job.", metavar="PROBLEM"),
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
        "synthesize",
        "Make up the storage telemetry of a cluster that runs a plan; write PROBLEM.trace.csv (or "
        ".parquet), PROBLEM.truth.json with all that happened, and PROBLEM.log.csv, the jobs' log.",
        example="planner synthesize 10MW.plan.json --length '3 d'",
        run="planner.commands.traces:run_synthesize",
        options=(
            argument(
                "files", list[Path],
                "Plans (.plan.json), problem files (.yaml; solved first), workbooks (.xlsx): a "
                "job each, on the storage of the first.",
            ),
            option(
                "length", str, "How long the trace is.",
                default="14 d", read=partial(seconds, "--length"), to="length_s",
            ),
            option(
                "sample", str, "Time between two samples.",
                default="10 s", read=partial(seconds, "--sample"), to="sample_s",
            ),
            option(
                "start", str, "When the trace begins, UTC.",
                default="2026-01-01T00:00:00Z", metavar="TIME",
            ),
            option(
                "clusters", int, "So many clusters run the same, each with its own failures.",
                default=1, read=least("--clusters", 1),
            ),
            option(
                "seed", int, "The same seed makes the same trace.",
                default=1, read=least("--seed", 0),
            ),
            option(
                "format_", Literal["csv", "parquet"], "CSV or Parquet.", "--format", default="csv",
            ),
            option(
                "background", str, "Mean of other traffic, written and read alike.",
                default="0 GB/s", read=partial(amount, "--background", "BANDWIDTH"),
                to="background_gb_per_s",
            ),
            option(
                "noise", str, "Noise of each sample, as a share of its rate.",
                default="0 %", read=partial(amount, "--noise", "SHARE"),
            ),
            option(
                "missing", str, "Share of samples that got lost.",
                default="0 %", read=partial(amount, "--missing", "SHARE"),
            ),
            option(
                "jitter", str, "How far sampling times may lie off, to either side.",
                default="0 s", read=partial(amount, "--jitter", "TIME"), to="jitter_s",
            ),
            option(
                "counter", bool, "Write counters of bytes instead of rates.",
                "--counter", default=False,
            ),
            option(
                "resets", int, "How often counters start again at 0.",
                default=0, read=least("--resets", 0),
            ),
            option(
                "clock_steps", int,
                "How often the clock is set, forward or back by up to a minute.",
                default=0, read=least("--clock-steps", 0),
            ),
            SET, SCENARIO, FILES, QUIET,
        ),
        results=(TRUTH,),
        counts="samples",
        functions=(),
    ),
    Study(
        "simulate",
        "Run a plan's job event by event, many times: goodput beside the predicted one, where "
        "time is lost, and whether another interval would have been better.",
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
                "When the job fails: exponential, weibull:SHAPE, or a CSV file of times between "
                "interruptions or of dates.",
                default="exponential", metavar="KIND",
            ),
            option("column", str | None, "The column of that file.", metavar="NAME"),
            option(
                "scaled", bool, "Stretch the file's times to the plan's mean.",
                "--scaled", default=False,
            ),
            option(
                "planned", str | None, "Planned stops: '30 days,4 h', how often, how long.",
                metavar="TIMES",
            ),
            option(
                "outages", str | None,
                "Outages of appliances: '2 years,8 h', how long one runs and is repaired.",
                metavar="TIMES",
            ),
            option(
                "beside", list[Path] | None,
                "Jobs on the same storage: another plan, or a YAML file with jobs. Repeatable.",
                metavar="FILE",
            ),
            option(
                "interval", str | None, "Another interval than the plan's, e.g. '10 min'.",
                metavar="TIME", read=partial(seconds, "--interval"), to="interval_s",
            ),
            option(
                "intervals", bool | None,
                "Try other intervals under the same failures; default: where the job is alone.",
                show_default=False,
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
            JOBS, SET, SCENARIO,
            option(
                "output", Path | None, "Folder for the record and the pictures; without it none.",
                "--output", "-o", callback=a_folder,
            ),
            JSON, *TOLD, QUIET,
        ),
        results=(SIMULATION,),
        counts="runs",
    ),
)  # fmt: skip
"""These studies, in the order in which ``planner --help`` lists them."""
