"""Studies and their results, each in one row: command, help, options, schema, view, sheets, charts.

Modules are named and not imported, as ``module:name``: that of a study is loaded when its command
runs, so that the help of all of them stays fast. A study that is not here does not exist: the
command line, ``planner schema``, ``planner solve --study``, ``planner report`` and what `-o` writes
all follow from these rows.

A new one is a ``Result``, listed in ``RESULTS``, and a ``Study`` in ``_STUDIES``. What is generated
of them is written by ``docs/make_commands.py`` and ``planner schema NAME > schemas/NAME.json``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from planner.cli_options import (
    EACH_GAP,
    EACH_LIMIT,
    FILES,
    FOLDER,
    FULL,
    GAP,
    JOBS,
    JSON,
    LIMIT,
    NOTES,
    PROBLEM,
    PROOF,
    QUIET,
    SCENARIO,
    SET,
    SOLVER,
    AgainstName,
    MethodName,
    Option,
    QuantitiesName,
    ReadAsName,
    Stamp,
    TraceFormat,
    amount,
    argument,
    bandwidth,
    least,
    option,
    seconds,
    share,
)


@dataclass(frozen=True)
class Result:
    """A record that studies make, and everything that is made of it.

    Attributes:
        name: of its JSON Schema.
        record: its class.
        view: takes a record and returns all of it as a text.
        first: takes a record and returns its first screen; without one the whole text is it.
        sheets: takes a record and returns what adds each sheet to a workbook, by the sheet's name;
            the workbook is written where the study's ``Found`` has a ``plan``.
        charts: takes a record and returns its charts.
        kept: the name of the JSON file that ``-o`` writes, such as ``{stem}.tornado``; empty for
            none. ``{record.NAME}`` is a field of the record.
        book: the name of the workbook, empty for none.
        picture: the name of each picture; ``{chart}`` is the chart's own.
        kind: what ``planner solve --study`` calls it, empty where a workbook cannot hold it.
        beside: makes it of a problem, its plan and how to solve, for the workbook of the plan.
        reported: whether ``planner report`` takes it.
    """

    name: str
    record: str
    view: str = ""
    first: str = ""
    sheets: str = ""
    charts: str = ""
    kept: str = ""
    book: str = ""
    picture: str = ""
    kind: str = ""
    beside: str = ""
    reported: bool = False


@dataclass(frozen=True)
class Study:
    """A command that studies something.

    Attributes:
        name: of the command.
        help: what it does.
        example: the command as it is mostly given, which ends its help.
        run: takes a ``Request`` and its own options by name, and returns what it ``Found``.
        options: its parameters, in the order in which its help lists them.
        results: the records it can make.
        counts: what its progress counts, empty where nothing tells how much there is to do.
    """

    name: str
    help: str
    example: str
    run: str
    options: tuple[Option, ...]
    results: tuple[Result, ...]
    counts: str = ""


def load(name: str) -> Any:
    """Return what a row names as ``module:name``."""
    module, _, inside = name.partition(":")
    return getattr(import_module(module), inside)


_SHEETS, _SENSITIVITY = "planner.outputs.workbook.studies", "planner.schema.sensitivity"

COMPARISON = Result(
    "comparison",
    record="planner.schema.comparison:Comparison",
    view="planner.outputs.compare_text:render_comparison",
    first="planner.outputs.compare_text:first_comparison",
    sheets=f"{_SHEETS}.compare:sheets",
    book="{stem}",
)
RULES = Result(
    "rules",
    record="planner.schema.comparison:RulesTable",
    view="planner.outputs.compare_text:render_rules",
    first="planner.outputs.compare_text:first_rules",
    sheets=f"{_SHEETS}.rules:sheets",
    charts="planner.outputs.charts.studies:charts",
    kept="{stem}.rules",
    book="{stem}.rules",
    picture="{stem}.rules",
    kind="rules",
    beside="planner.studies.compare.rules:rules_table",
    reported=True,
)
ALTERNATIVES = Result(
    "alternatives",
    record="planner.schema.comparison:Alternatives",
    view="planner.outputs.alternatives_text:render",
    first="planner.outputs.alternatives_text:first",
    sheets=f"{_SHEETS}.near:sheets",
    book="{stem}.alternatives",
    kind="alternatives",
    beside="planner.studies.alternatives:beside",
)
AUDIT = Result(
    "audit",
    record="planner.schema.verification:Audit",
    view="planner.outputs.verification_text:render_audit",
    first="planner.outputs.verification_text:first_audit",
)
VERIFICATION = Result(
    "verification",
    record="planner.schema.verification:Verification",
    view="planner.outputs.verification_text:render_verification",
)
EXPLANATION = Result(
    "explanation",
    record="planner.schema.explanation:Explanation",
    view="planner.outputs.explain_text:render",
    first="planner.outputs.explain_text:first",
    sheets=f"{_SHEETS}.why:sheets",
    book="{stem}.explain",
    kind="why",
    beside="planner.studies.explain:beside",
)
CHARACTERIZATION = Result(
    "characterization",
    record="planner.schema.telemetry:Characterization",
    view="planner.outputs.telemetry_text:render",
    first="planner.outputs.telemetry_text:first",
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
SWEEP = Result(
    "sweep",
    record=f"{_SENSITIVITY}:Sweep",
    view="planner.outputs.sweep_text:render",
    first="planner.outputs.sweep_text:first",
    sheets=f"{_SHEETS}.sweep:sheets",
    charts="planner.outputs.charts.studies:charts",
    book="{stem}.sweep",
    picture="{stem}.sweep",
    reported=True,
)
FRONTIER = Result(
    "frontier",
    record=f"{_SENSITIVITY}:Frontier",
    view="planner.outputs.frontier_text:render",
    first="planner.outputs.frontier_text:first",
    sheets=f"{_SHEETS}.frontier:sheets",
    charts="planner.outputs.charts.studies:charts",
    kept="{stem}.frontier-{record.x_name}",
    book="{stem}.frontier",
    picture="{stem}.frontier-{record.x_name}",
    reported=True,
)
TORNADO = Result(
    "tornado",
    record=f"{_SENSITIVITY}:Tornado",
    view="planner.outputs.tornado_text:render",
    first="planner.outputs.tornado_text:first",
    sheets=f"{_SHEETS}.tornado:sheets",
    charts="planner.outputs.charts.studies:charts",
    kept="{stem}.tornado",
    book="{stem}.tornado",
    picture="{stem}.tornado",
    reported=True,
)
UNCERTAIN = Result(
    "uncertain",
    record=f"{_SENSITIVITY}:Uncertain",
    view="planner.outputs.uncertain_text:render",
    first="planner.outputs.uncertain_text:first",
    sheets=f"{_SHEETS}.uncertain:sheets",
    charts="planner.outputs.charts.studies:charts",
    kept="{stem}.uncertain",
    book="{stem}.uncertain",
    picture="{stem}.uncertain.{chart}",
    reported=True,
)
BIDS = Result(
    "bids",
    record="planner.schema.bids:Bids",
    view="planner.outputs.bids_text:render",
    first="planner.outputs.bids_text:first",
    sheets=f"{_SHEETS}.bids:sheets",
    charts="planner.outputs.charts.studies:charts",
    kept="{stem}.bids",
    book="{stem}.bids",
    picture="{stem}.bids",
    reported=True,
)

RESULTS = (
    AUDIT,
    BIDS,
    EXPLANATION,
    ALTERNATIVES,
    COMPARISON,
    RULES,
    SWEEP,
    FRONTIER,
    TORNADO,
    UNCERTAIN,
    CHARACTERIZATION,
    SIMULATION,
    TRUTH,
    VERIFICATION,
)
"""All of them, in the order in which ``planner schema`` lists them."""

BESIDE_PLANS = {each.kind: each for each in (EXPLANATION, RULES, ALTERNATIVES)}
"""Those that the workbook of a plan may hold, by what ``planner solve --study`` calls them."""

SCHEMAS = {
    "problem": "planner.schema.problem:Problem",
    "catalog": "planner.schema.catalog:Catalog",
    "prices": "planner.schema.prices:PriceBook",
    "plan": "planner.schema.plan:Plan",
    "bill": "planner.schema.bill:Bill",
    "quote": "planner.schema.quote:Quote",
    "quote-map": "planner.schema.quote:QuoteMap",
} | {each.name: each.record for each in RESULTS}
"""The files that have a JSON Schema."""


TOLD = (NOTES, PROOF, FULL)
"""What of a result is printed besides its first screen."""


_STUDIES = (
    Study(
        "compare",
        "Compare plans side by side: what differs, by how much, and why it matters. Problem files "
        "are solved first; --set and --scenario apply to each of them. Exit code 3 where there is "
        "no plan to compare.",
        example="planner compare 10MW.yaml --rules",
        run="planner.studies.compare.rules:run",
        options=(
            argument(
                "files", list[Path],
                "Plans (.plan.json), problem files (.yaml) and workbooks (.xlsx), the first to "
                "tell the others from. With --rules: one problem file.",
            ),
            option(
                "rules", bool,
                "Compare storage sized by what the job needs, by vendors' rules and otherwise.",
                "--rules", default=False,
            ),
            option(
                "everything", bool, "List what is the same in all plans, too.",
                "--all", default=False,
            ),
            SET, SCENARIO, FOLDER, JSON, *TOLD, GAP, EACH_LIMIT, SOLVER, QUIET,
        ),
        results=(COMPARISON, RULES),
        counts="plans",
    ),
    Study(
        "alternatives",
        "Find plans nearly as good as the best that differ from it: in vendors, GPUs, counts, "
        "money. With -o it writes PROBLEM.alternatives.xlsx.",
        example="planner alternatives 10MW.yaml --within '1 %'",
        run="planner.studies.alternatives:run",
        options=(
            PROBLEM,
            option(
                "within", str, "How far behind the best a plan may be, as a share or in percent.",
                default="1 %", read=partial(share, "--within"),
            ),
            option(
                "most", int, "How many plans to show, the best included.",
                default=8, min=1, max=100,
            ),
            SET, SCENARIO, FOLDER, JSON, *TOLD, GAP, LIMIT, SOLVER, QUIET,
        ),
        results=(ALTERNATIVES,),
    ),
    Study(
        "bid",
        "Evaluate vendors' quotes as bids on a problem: which limits each keeps, useful work and "
        "cost over the term, what it lacks, the best mix with proof, and the price at which each "
        "would win. Exit code 3 where no bid meets every limit.",
        example="planner bid 10MW.yaml --quotes acme.xlsx --quotes beta.csv",
        run="planner.studies.bids:run",
        options=(
            argument("files", list[Path], "Problem file (YAML); files after it are bids, too."),
            option(
                "quotes", list[Path] | None, "Bids: .xlsx or .csv, as vendors send them.",
                metavar="FILES",
            ),
            option(
                "quantities", QuantitiesName,
                "Take quantities as quoted, or plan with the prices alone.",
                default=QuantitiesName.quoted,
            ),
            option(
                "vendor", list[str] | None, "Who bids; default: the file's name. Repeatable.",
                metavar="FILE=NAME",
            ),
            option(
                "mapping", list[str] | None,
                "How a file is laid out, as `planner quote import` writes it. Repeatable.",
                "--map", metavar="FILE=MAP",
            ),
            option(
                "date", list[str] | None, "Date of a quote where its file does not tell it.",
                metavar="FILE=DATE",
            ),
            option(
                "currency", list[str] | None,
                "Currency of a quote where its file does not tell it.", metavar="FILE=CODE",
            ),
            option(
                "rate", list[str] | None, "USD for one unit of a currency. Repeatable.",
                metavar="CODE=USD",
            ),
            SET, SCENARIO, FOLDER, JSON, *TOLD, GAP, EACH_LIMIT, SOLVER, QUIET,
        ),
        results=(BIDS,),
        counts="parts",
    ),
    Study(
        "audit",
        "Read an edited workbook back: what changed, which limits break, how far from the best "
        "plan. Exit code 3 where the edited plan breaks a limit.",
        example="planner audit 10MW.xlsx",
        run="planner.studies.verification:run_audit",
        options=(
            argument("workbook", Path, "Workbook that planner wrote."),
            JSON, *TOLD,
            option(
                "gap", str, "Largest gap to prove of the plan compared with.",
                default="2e-6", read=partial(share, "--gap"),
            ),
            option(
                "time_limit", str | None, "Stop solving with the best plan so far, e.g. '30 s'.",
                read=partial(seconds, "--time-limit"),
            ),
            SOLVER,
            option(
                "solve_again", bool, "Compare with the best plan under the edited inputs.",
                "--solve/--no-solve", default=True,
            ),
        ),
        results=(AUDIT,),
    ),
    Study(
        "verify",
        "Check a plan file: every figure and limit computed again, prices against the catalogs it "
        "names, the bound proven again by the other solver. What could not be checked is said. "
        "Exit code 3 where anything does not hold.",
        example="planner verify 10MW.plan.json",
        run="planner.studies.verification:run",
        options=(
            argument("plan", Path, "PROBLEM.plan.json that planner solve wrote."),
            option(
                "solve_again", bool, "Solve for the bound again with the other solver.",
                "--solve/--no-solve", default=True,
            ),
            option(
                "time_limit", str | None, "Stop solving with the bound so far, e.g. '2 min'.",
                read=partial(seconds, "--time-limit"),
            ),
            JSON,
        ),
        results=(VERIFICATION,),
    ),
    Study(
        "explain",
        "Explain the best plan: what binds, what one more unit is worth, why nothing else. "
        "Without a plan: which limits cannot hold together, and the least changes that help.",
        example="planner explain 10MW.yaml --why-not ddn_ai400x2",
        run="planner.studies.explain:run",
        options=(
            PROBLEM, SET, SCENARIO,
            option(
                "step", list[str] | None,
                "How far to move a limit: --step site.facility_power='1 kW'. Repeatable.",
                metavar="PATH=VALUE",
            ),
            option(
                "why_not", list[str] | None,
                "Explain exactly why this item is not bought. Repeatable.",
                metavar="ITEM",
            ),
            option(
                "weight", list[str] | None,
                "Without a plan: what changing a limit counts beside others. Repeatable.",
                metavar="PATH=NUMBER",
            ),
            option(
                "keep", list[str] | None, "Without a plan: a limit that must stay. Repeatable.",
                metavar="PATH",
            ),
            FOLDER, JSON, *TOLD, GAP, LIMIT, SOLVER, QUIET,
        ),
        results=(EXPLANATION,),
        counts="questions",
    ),
    Study(
        "characterize",
        "Find checkpoints and training jobs in storage telemetry: sizes, intervals, drains, "
        "overlaps, restarts. With -o tables, pictures and a jobs: section; with --problem "
        "overrides for it. Exit code 4 where no job shows.",
        example="planner characterize hall.csv --problem 10MW.yaml --gpus 4096",
        run="planner.commands.traces:run_characterize",
        options=(
            argument(
                "traces", list[Path],
                "Traces: CSV, Parquet, Excel, JSON (also of Prometheus), or HDF5 of TOKIO or LMT. "
                "Several clusters in one file by a column, or a file each.",
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
                "Unit of the figures, e.g. GB/s, MiB/s, B; default: by names and cells.",
            ),
            option("decimal", str | None, "Decimal mark of figures, . or ,; default: found out."),
            option(
                "time_format", str | None,
                "How times are written, e.g. '%d/%m/%Y %H:%M:%S'; default: ISO 8601 and its kin.",
                metavar="FORMAT",
            ),
            option(
                "read_as", ReadAsName | None,
                "Bandwidth, bytes per sample, or counters of bytes; default: found out.",
            ),
            option(
                "stamp", Stamp, "Whether a time is the start or the end of its sample.",
                default=Stamp.start,
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
                "--output", "-o",
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
            option("format_", TraceFormat, "CSV or Parquet.", "--format", default=TraceFormat.csv),
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
                "--output", "-o",
            ),
            JSON, *TOLD, QUIET,
        ),
        results=(SIMULATION,),
        counts="runs",
    ),
    Study(
        "sweep",
        "Solve many scenarios, each to a proven gap; write PROBLEM.sweep.parquet and .csv, a "
        "workbook and a picture. What was interrupted goes on where it stopped.",
        example="planner sweep 10MW.yaml --vary site.facility_power=5MW:15MW:0.5MW",
        run="planner.commands.sweep:run",
        options=(
            PROBLEM,
            option(
                "vary", list[str] | None,
                "What to vary: site.facility_power=5MW:20MW:0.1MW, a,b,c or LOW:HIGH:log:COUNT; "
                "also catalog.ITEM..., prices.ITEM.list, x0.8:x1.2:x0.1. Repeatable: a grid.",
                metavar="PATH=VALUES",
            ),
            option("scenarios", Path | None, "Scenarios in a CSV file, one a row.", metavar="FILE"),
            option(
                "named", list[str] | None, "A named scenario of the problem, or all. Repeatable.",
                metavar="NAME",
            ),
            SET, SCENARIO, EACH_GAP, EACH_LIMIT, JOBS,
            option(
                "dask", str | None, "Let the workers of this Dask scheduler do the work.",
                metavar="ADDRESS",
            ),
            FILES, JSON, *TOLD,
            option(
                "workbook", bool, "Write the workbook and the picture as well as the table.",
                default=True,
            ),
            QUIET,
        ),
        results=(SWEEP,),
        counts="scenarios",
    ),
    Study(
        "frontier",
        "Show the most useful work against storage bandwidth, cost and power, and where it bends.",
        example="planner frontier 10MW.yaml --against power",
        run="planner.studies.sensitivity.frontier:run",
        options=(
            PROBLEM,
            option(
                "against", list[AgainstName] | None,
                "Against what: storage, cost or power. Repeatable; default: all three.",
            ),
            option(
                "points", int, "How many points to find at most.",
                default=50, read=least("--points", 3),
            ),
            SET, SCENARIO, EACH_GAP, EACH_LIMIT, JOBS, FOLDER, JSON, *TOLD, QUIET,
        ),
        results=(FRONTIER,),
        counts="points at most",
    ),
    Study(
        "tornado",
        "Vary one input at a time, low and high, and rank them by what they do to the best plan.",
        example="planner tornado 10MW.yaml",
        run="planner.studies.sensitivity.tornado:run",
        options=(
            PROBLEM,
            option(
                "vary", list[str] | None,
                "An input and its two ends: site.pue=1.1:1.4, x0.8:x1.2 or +-20%. Repeatable; "
                "default: every number that may matter.",
                metavar="PATH=LOW:HIGH",
            ),
            option(
                "by", str, "How far to move each input where no ends are given.",
                default="20 %", read=partial(share, "--by"),
            ),
            SET, SCENARIO, EACH_GAP, EACH_LIMIT, JOBS, FOLDER, JSON, *TOLD, QUIET,
        ),
        results=(TORNADO,),
        counts="ends",
    ),
    Study(
        "uncertain",
        "Draw inputs that are not known: what the best plan becomes, how often the planned one "
        "breaks a limit, and which plan is regretted least.",
        example="planner uncertain 10MW.yaml --samples 64",
        run="planner.studies.sensitivity.uncertain.uncertainty:run",
        options=(
            PROBLEM,
            option(
                "dist", list[str] | None,
                "What is not known: PATH='uniform(LOW, HIGH)', triangular, normal, lognormal, "
                "loguniform or discrete. Repeatable; default: prices, power draw, failures, "
                "delivered write bandwidth, checkpoint size.",
                metavar="PATH=DISTRIBUTION",
            ),
            option(
                "samples", int, "How many scenarios to draw.",
                default=256, read=least("--samples", 2),
            ),
            option("method", MethodName, "How: Latin hypercube or Sobol.", default=MethodName.lhs),
            option(
                "seed", int, "The same seed draws the same scenarios.",
                default=1, read=least("--seed", 0),
            ),
            option(
                "indices", bool, "Explain the spread by inputs; more scenarios.",
                "--indices", default=False,
            ),
            SET, SCENARIO, EACH_GAP, EACH_LIMIT, JOBS, FOLDER, JSON, *TOLD, QUIET,
        ),
        results=(UNCERTAIN,),
        counts="scenarios",
    ),
)  # fmt: skip

STUDIES = {each.name: each for each in _STUDIES}
"""Every study by the name of its command, in the order in which ``planner --help`` lists them."""
