"""The command line: each command reads its options and delivers what one function returns."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import typer

from planner import library, shipped
from planner.commands import portfolio
from planner.commands.init import QUESTIONS, write_start
from planner.errors import Finding, InputError
from planner.library import Against
from planner.process import run_process
from planner.results import (
    EDITIONS,
    Also,
    Part,
    Study,
    Target,
    Writer,
    deliver,
    words_of,
    write_files,
    write_plan,
)
from planner.shipped import __version__
from planner.sources import is_portfolio
from planner.terminal import say, show_progress

_HELP = """\
Decide what to buy for an AI training cluster, to a proven gap.

Start with planner init, then planner check and planner solve. A PATH is a place in the problem
file: site.facility_power, jobs.0.parameters of the first job; planner sweep --mode tornado --full
lists those of numbers. Options with a PATH, FILE or NAMES may be repeated.
Exit codes: 0 done; 2 wrong input; 3 no plan, or a check fails; 4 nothing found;
5 a plan without proof; 130 interrupted."""

app = typer.Typer(
    name="planner",
    help=_HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
quotes = typer.Typer(
    help="Read, request and compare vendors' quotes.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(quotes, name="quote")
CommandT = TypeVar("CommandT", bound=Callable[..., Any])


# Options; one that several commands have means the same in each.


def _option(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, **more)


def _argument(text: str, **more: Any) -> Any:
    return typer.Argument(help=text, **({"show_default": False} | more))


def _column(text: str) -> Any:
    return _option(text, metavar="COLUMN", show_default="by name")


_FILES = (".xlsx", ".json", ".csv", ".html", ".yaml", ".yml", ".pdf", ".parquet")


def _a_folder(value: Path | None) -> Path | None:
    if value is not None and value.suffix.lower() in _FILES and not value.is_dir():
        message = f"--output is the folder for the files, and '{value}' is named like a file"
        fix = f"give its folder, '{value.parent}': files are named after the problem"
        raise InputError(Finding("usage", message, fix=fix))
    return value


def _a_model(value: Path | None) -> Path | None:
    if value is not None and value.suffix.lower() in _FILES:
        message = f"--save-model writes an integer program, and '{value}' is named otherwise"
        raise InputError(Finding("usage", message, fix="name it *.mps or *.lp"))
    return value


def _output(default: str | bool) -> Any:
    text = "Folder for the files."
    return _option(text, "--output", "-o", show_default=default, callback=_a_folder)


ReadAs = Literal["rate", "bytes", "counter"]
Mode = Literal["grid", "frontier", "tornado", "uncertain"]
Text = str | None
Texts = list[str] | None
ProblemFile = Annotated[Path, _argument("Problem file (YAML).", metavar="PROBLEM")]
_SET = "Change a value: --set site.facility_power='12 MW'; @FILE for a file of changes."
Settings = Annotated[Texts, _option(_SET, "--set", metavar="PATH=VALUE")]
Scenario = Annotated[Text, _option("Apply a named scenario of the problem file.", metavar="NAME")]
AsJson = Annotated[bool, _option("Print JSON on standard output.", "--json")]
Full = Annotated[bool, _option("Show everything: all tables and notes.", "--full")]
Quiet = Annotated[bool, _option("Print no messages.", "--quiet", "-q")]
Output = Annotated[Path, _output(True)]
StudyOutput = Annotated[Path | None, _output("write no files")]
_GAP = "Largest MIP gap to prove, as a share or in percent."
_LIMIT = "Time limit of each solve, e.g. '30 s'; keeps the best so far."
_ALSO = f"Write more: {', '.join(get_args(Also))}."
TimeLimit = Annotated[Text, _option(_LIMIT, metavar="TIME")]
Rates = Annotated[Texts, _option("USD for one unit of a currency: EUR=1.08.", metavar="CODE=USD")]
_FORMAT = "Format of times or dates: '%d/%m/%Y %H:%M'."
TimeFormat = Annotated[Text, _option(_FORMAT, metavar="FORMAT")]


def command(
    example: str, group: typer.Typer = app, name: str | None = None, more: str = ""
) -> Callable[[CommandT], CommandT]:
    """Register a command; its help ends in an example, lists show its whole first sentence."""

    def register(function: CommandT) -> CommandT:
        words = " ".join((inspect.getdoc(function) or "").split())
        short, end = words.split(". ")[0].rstrip(".") + ".", f"{more}\b\nExample: planner {example}"
        group.command(name, short_help=short, epilog=end)(function)
        return function

    return register


def _given(ctx: typer.Context, names: Collection[str]) -> list[str]:
    """Those of the options that are on the command line, as they are spelled there."""
    known = (each for each in ctx.command.params if each.name in names)
    sources = ((max(each.opts, key=len), ctx.get_parameter_source(each.name)) for each in known)
    return [option for option, source in sources if source and source.name == "COMMANDLINE"]


def _portfolio(ctx: typer.Context, file: Path, *refused: str) -> bool:
    """True of a file of several jobs, sites or periods.

    Raises:
        InputError: an option is given that its command does not have for them.
    """
    several = is_portfolio(file)
    if several and (given := _given(ctx, refused)):
        message = f"{', '.join(given)}: not for several jobs, sites or periods"
        fix = "leave it out; docs/portfolio.md lists the options"
        raise InputError(Finding("portfolio", message, fix=fix))
    return several


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"planner {__version__}")
        raise typer.Exit


@app.callback(help=_HELP)
def _root(
    version: Annotated[
        bool, _option("Print the version.", "--version", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


# Commands, in the order of `planner --help`.


_SHIPPED = sorted(shipped.problem_files() | shipped.portfolio_files())
_ANSWERS = "\n".join(
    f"{'*' if each.needed else ' '} {f'{key}={shlex.quote(each.like)}':<26}{each.words}"
    for key, each in QUESTIONS.items()
)


@command(
    "init power='3 MW' racks=24 rack-power='130 kW' model='405 B'",
    more=f"\b\nAnswers:\n{_ANSWERS}\n\nShipped: {', '.join(_SHIPPED)}\n\n",
)
def init(
    answers: Annotated[
        Texts, _argument("A shipped example, or answers.", metavar="EXAMPLE | NAME=ANSWER")
    ] = None,
    output: Output = Path(),
    force: Annotated[bool, _option("Replace an existing file.", "--force")] = False,
) -> None:
    """Write a problem to start from: your own from a few answers, or a shipped example.

    The four answers with a star are needed.
    """
    path = write_start(answers or (), output, force=force)
    say(f"wrote {path}; next: planner solve {path}", err=True)


@command("catalog ddn_ai400x2_turbo")
def catalog(
    names: Annotated[Texts, _argument("Items, vendors or categories.", metavar="NAME")] = None,
    check: Annotated[bool, _option("Validate figures, sources and prices.", "--check")] = False,
    prices: Annotated[list[Path] | None, _option("Price book.", metavar="BOOK")] = None,
    as_json: AsJson = False,
) -> int:
    """List the items of the catalogs with prices, show items in full, or validate catalogs."""
    from planner.commands.check import check_catalogs, show_catalog

    if check:
        text, code = check_catalogs(names or (), prices or (), as_json=as_json)
    else:
        text, code = show_catalog(names or (), prices or (), as_json=as_json), 0
    say(text)
    return code


@command("check 10MW.yaml --full")
def check(
    problem: Annotated[Path | None, _argument("Problem file (YAML).", metavar="PROBLEM")] = None,
    set_: Settings = None,
    scenario: Scenario = None,
    schema: Annotated[
        Text, _option("Print a JSON Schema: problem, catalog, plan, ...", metavar="KIND")
    ] = None,
    as_json: AsJson = False,
    full: Full = False,
) -> int:
    """Validate a problem with its catalogs and prices; list every finding."""
    from planner.commands.check import json_schema, report_findings

    if schema is not None:
        say(json_schema(schema), nl=False)
        return 0
    if problem is None:
        raise InputError(Finding("usage", "Missing argument 'PROBLEM'", fix="name a problem file"))
    settings = tuple(set_ or ())
    text, code = report_findings(problem, settings, scenario, as_json=as_json, full=full)
    say(text)
    return code


@command("size 10MW.yaml --gpus 4096")
def size(
    problem: ProblemFile,
    set_: Settings = None,
    scenario: Scenario = None,
    gpus: Annotated[int | None, _option("GPUs; else the most that fit.", min=1, max=10**7)] = None,
    as_json: AsJson = False,
    full: Full = False,
) -> int:
    """Show the sizing without solving: sizes, intervals, requirements of each storage rule."""
    study = partial(library.size, problem, gpus=gpus, settings=set_, scenario=scenario)
    return deliver(study, Target("size", problem, as_json=as_json, full=full))


@command("solve 10MW.yaml --set budget.capex='150 MUSD' --show lines")
def solve(
    ctx: typer.Context,
    problem: ProblemFile,
    set_: Settings = None,
    scenario: Scenario = None,
    output: Output = Path(),
    as_json: AsJson = False,
    gap: Annotated[Text, _option(_GAP, metavar="SHARE", show_default="2e-6")] = None,
    time_limit: TimeLimit = None,
    solver: Annotated[Literal["highs", "cbc"], _option("Solver of the integer program.")] = "highs",
    save_model: Annotated[
        Path | None, _option("Write the integer program, *.mps or *.lp.", callback=_a_model)
    ] = None,
    also: Annotated[Texts, _option(_ALSO, metavar="NAMES")] = None,
    html: Annotated[bool, _option("Write an HTML page that opens offline.", "--html")] = False,
    audience: Annotated[
        Literal["internal", "customer", "customer-list", "customer-no-prices", "partner"],
        _option("Readers of the files; partners see net prices and discounts."),
    ] = "internal",
    show: Annotated[Texts, _option(f"Show: {', '.join(get_args(Part))}.", metavar="NAMES")] = None,
    full: Full = False,
    quiet: Quiet = False,
) -> int:
    """Find the best plan; print it and write PROBLEM.xlsx and PROBLEM.plan.json.

    With --audience customer: PROBLEM.customer.xlsx alone, without anything internal.
    """
    parts, more = words_of("--show", show, Part), words_of("--also", also, Also)
    target = Target("solve", problem, scenario, output, as_json, full, quiet, parts=parts)
    study: Study = partial(library.solve, problem, save_model=save_model)
    write: Writer = partial(write_plan, also=more, html=html, edition=EDITIONS[audience])
    if _portfolio(ctx, problem, "also", "save_model"):  # its page is always written
        study = partial(library.solve_portfolio, problem)
        write = portfolio.writer(audience)
    options = {"settings": set_, "scenario": scenario, "gap": gap, "time_limit": time_limit}
    return deliver(partial(study, solver=solver, **options), target, write)


@command("explain 10MW.yaml --why-not ddn_ai400x2")
def explain(
    ctx: typer.Context,
    problem: ProblemFile,
    set_: Settings = None,
    scenario: Scenario = None,
    why_not: Annotated[Texts, _option("Explain why an item is not bought.", metavar="ITEM")] = None,
    keep: Annotated[Texts, _option("No plan: a limit that stays.", metavar="PATH")] = None,
    output: StudyOutput = None,
    as_json: AsJson = False,
    full: Full = False,
    time_limit: TimeLimit = None,
    quiet: Quiet = False,
) -> int:
    """Explain the best plan: binding constraints, marginal values, why nothing else is bought.

    Without a plan: a minimal set of conflicting limits and the smallest relaxation.
    """
    study: Study = partial(library.explain, why_not=why_not, keep=keep)
    if _portfolio(ctx, problem, "why_not", "keep", "output"):
        study = portfolio.explain
    options = {"settings": set_, "scenario": scenario, "time_limit": time_limit}
    target = Target("explain", problem, scenario, output, as_json, full, quiet)
    return deliver(partial(study, problem, **options), target)


@command("compare 10MW.plan.json 12MW.plan.json")
def compare(
    files: Annotated[list[Path], _argument("Plans, problems, workbooks.", metavar="FILE")],
    by_rules: Annotated[bool, _option("Storage by the job, by vendors' rules.", "--rules")] = False,
    near: Annotated[Text, _option("List plans near the optimum: '1 %'.", metavar="SHARE")] = None,
    set_: Settings = None,
    scenario: Scenario = None,
    output: StudyOutput = None,
    as_json: AsJson = False,
    full: Full = False,
    quiet: Quiet = False,
) -> int:
    """Compare plans side by side with the first: differences, their amounts and effects.

    Problem files are solved first. Exit code 3 where there is no plan to compare.
    """
    if (by_rules or near is not None) and (len(files) > 1 or (by_rules and near is not None)):
        message = "--rules and --near are comparisons of one problem file each"
        raise InputError(Finding("option", message, fix="planner compare --rules 10MW.yaml"))
    study: Study = library.compare_rules if by_rules else library.compare
    if near is not None:
        study = partial(library.alternatives, within=near)
    target = Target("compare", files[0], scenario, output, as_json, full, quiet, "plans")
    return deliver(partial(study, *files, settings=set_, scenario=scenario), target)


_OF_MODES: dict[str, tuple[Mode, ...]] = {
    "vary": ("grid", "tornado", "uncertain"),
    "scenarios": ("grid",),
    **dict.fromkeys(("against", "points"), ("frontier",)),
    **dict.fromkeys(("samples", "seed"), ("uncertain",)),
}
"""Modes of an option of sweep."""
_WORKERS = (
    "Number of processes; or a Dask scheduler of several machines, tcp://HOST:PORT, in a trusted "
    "network."
)
_MODE = (
    "grid: all combinations; frontier: useful work against an axis; tornado: one input at a time; "
    "uncertain: random draws."
)
_VARY = (
    "grid: site.facility_power=5MW:20MW:0.1MW, a,b,c, LOW:HIGH:log:COUNT or x0.8:x1.2; tornado: "
    "1.1:1.4, x0.8:x1.2 or +-20%; uncertain: uniform(LOW, HIGH), triangular, loguniform. Default "
    "of these: the inputs that matter."
)


@command("sweep 10MW.yaml --vary site.facility_power=5MW:15MW:0.5MW")
def sweep(
    ctx: typer.Context,
    problem: ProblemFile,
    mode: Annotated[Mode, _option(_MODE)] = "grid",
    vary: Annotated[Texts, _option(_VARY, metavar="PATH=VALUES")] = None,
    scenarios: Annotated[Text, _option("grid: names, or all.", metavar="NAMES")] = None,
    against: Annotated[Texts, _option("frontier: storage, cost or power.", metavar="AXIS")] = None,
    points: Annotated[int, _option("frontier: maximum number of points.")] = 50,
    samples: Annotated[int, _option("uncertain: number of draws.")] = 256,
    seed: Annotated[int, _option("uncertain: seed of the draws.")] = 1,
    set_: Settings = None,
    scenario: Scenario = None,
    output: Annotated[Path | None, _output("grid: ., other modes: write no files")] = None,
    html: Annotated[bool, _option("Write the HTML page alone, for mail.", "--html")] = False,
    as_json: AsJson = False,
    full: Full = False,
    gap: Annotated[
        Text, _option(_GAP, metavar="SHARE", show_default="0.1 %; grids up to 500 rows 2e-6")
    ] = None,
    time_limit: TimeLimit = None,
    workers: Annotated[str, _option(_WORKERS, show_default="one per core", metavar="N")] = "0",
    quiet: Quiet = False,
) -> int:
    """Solve many scenarios, each to a proven gap; a grid writes its table, workbook and picture."""
    folder = output or (Path() if mode == "grid" or html else None)
    counts = {"frontier": "parts", "tornado": "ends"}.get(mode, "scenarios")
    target = Target(f"sweep, {mode}", problem, scenario, folder, as_json, full, quiet, counts)
    options: dict[str, Any] = {"settings": set_, "gap": gap, "time_limit": time_limit}
    single = (*(_OF_MODES.keys() - {"vary"}), "mode", "workers", "scenario", "html")
    if _portfolio(ctx, problem, *single):
        study: Study = partial(portfolio.sweep, problem, vary or (), **options)
        return deliver(study, target)
    for name, modes in _OF_MODES.items():
        if mode not in modes and (given := _given(ctx, [name])):
            message = f"{given[0]} is of --mode {' or '.join(modes)}, and this is {mode}"
            raise InputError(Finding("option", message, fix="leave it out"))
    options |= {"scenario": scenario, "workers": workers}
    if mode == "tornado":
        study = partial(library.tornado, problem, vary)
    elif mode == "uncertain":
        study = partial(library.uncertain, problem, vary, samples=samples, seed=seed)
    elif mode == "frontier":
        study = partial(_frontiers, problem, against or get_args(Against), points=points)
    else:
        study = partial(library.sweep, problem, vary, scenarios=scenarios)
    return deliver(partial(study, **options), target, partial(write_files, page_only=html))


def _frontiers(problem: Path, axes: Iterable[Any], **options: Any) -> tuple[Any, ...]:
    return tuple(library.frontier(problem, axis, **options) for axis in dict.fromkeys(axes))


@command("explore 10MW.yaml")
def explore(
    problem: ProblemFile,
    set_: Settings = None,
    scenario: Scenario = None,
    port: Annotated[int, _option("Port; 0 for a free one.", min=0, max=65535)] = 8400,
) -> None:
    """Explore a problem in a browser: sliders of its inputs, solved again at each move.

    Listens on this machine alone. Needs the extra 'web'.
    """
    from planner.explore import explorer, problems

    make = partial(problems.explorer_of, problem, tuple(set_ or ()), scenario)
    explorer.serve(make, port, lambda url: say(f"{url}  (Ctrl-C ends it)"))


@command("verify 10MW.plan.json")
def verify(
    ctx: typer.Context,
    plan: Annotated[Path, _argument("PROBLEM.plan.json or an edited workbook.", metavar="PLAN")],
    solve_again: Annotated[bool, _option("Prove the bound again.", "--solve/--no-solve")] = True,
    time_limit: TimeLimit = None,
    as_json: AsJson = False,
    full: Full = False,
) -> int:
    """Check a plan file or an edited workbook by independent arithmetic.

    Plan file: every figure and limit, prices against the catalogs, the bound by the other solver.
    Workbook: edits, violated limits, distance from the optimum. Exit code 3 where a check fails.
    """
    study: Study = partial(library.verify, solve_again=solve_again, time_limit=time_limit)
    if _portfolio(ctx, plan, "solve_again", "time_limit"):
        study = portfolio.verify
    return deliver(partial(study, plan), Target("verify", plan, as_json=as_json, full=full))


@command("simulate 10MW.plan.json --replications 100")
def simulate(
    ctx: typer.Context,
    plan: Annotated[Path, _argument("PROBLEM.plan.json, problem or workbook.", metavar="PLAN")],
    failures: Annotated[
        str,
        _option("exponential, weibull:SHAPE, or FILE[=COLUMN] of gaps or dates.", metavar="KIND"),
    ] = "exponential",
    time_format: TimeFormat = None,
    scaled: Annotated[bool, _option("Scale the file's times to the plan's.", "--scaled")] = False,
    interval: Annotated[Text, _option("Checkpoint interval.", metavar="TIME")] = None,
    replications: Annotated[int, _option("Number of runs.")] = 1000,
    length: Annotated[str, _option("Length of each run.", metavar="TIME")] = "1 year",
    seed: Annotated[int, _option("Seed of the runs.")] = 1,
    output: StudyOutput = None,
    as_json: AsJson = False,
    full: Full = False,
    quiet: Quiet = False,
) -> int:
    """Simulate a plan's job failure by failure: goodput against the predicted, lost time by cause.

    Other checkpoint intervals are tried under the same failures.
    """
    law, _, column = failures.partition("=")
    study: Study = partial(library.simulate, failures=law, column=column or None)
    study = partial(study, time_format=time_format, scaled=scaled, interval=interval)
    if _portfolio(ctx, plan, "failures", "scaled", "time_format", "interval", "output"):
        study = portfolio.simulate
    target = Target("simulate", plan, None, output, as_json, full, quiet, "runs")
    study = partial(study, plan, replications=replications, length=length, seed=seed)
    return deliver(study, target)


@command("characterize hall.csv --problem 10MW.yaml --gpus 4096")
def characterize(
    traces: Annotated[list[Path], _argument("CSV, Excel, JSON, Parquet.", metavar="TRACE")],
    time: Annotated[Text, _column("Column of times; DATE+TIME for two columns.")] = None,
    write: Annotated[Text, _column("Column of writes.")] = None,
    read: Annotated[Text, _column("Column of reads.")] = None,
    cluster: Annotated[Text, _option("Column of cluster names.", metavar="COLUMN")] = None,
    sum_: Annotated[bool, _option("Add up columns (--write 'ost*') and rows.", "--sum")] = False,
    unit: Annotated[Text, _option("Unit: GB/s, MiB/s, B.", show_default="as named")] = None,
    decimal: Annotated[Text, _option("Decimal mark, . or ,.", metavar="MARK")] = None,
    time_format: TimeFormat = None,
    read_as: Annotated[ReadAs | None, _option("Bandwidth, bytes moved, or counters.")] = None,
    window: Annotated[Text, _option("Averaging window: '5 min'.", metavar="TIME")] = None,
    jobs: Annotated[Path | None, _option("Table: job, cluster, gpus, parameters.")] = None,
    problem: Annotated[Path | None, _option("Problem to calibrate by a job found.")] = None,
    job: Annotated[Text, _option("Job to calibrate by.", show_default="largest writer")] = None,
    gpus: Annotated[int | None, _option("GPUs of the job.")] = None,
    nameplate: Annotated[Text, _option("Bandwidth of the storage.", metavar="WRITE[,READ]")] = None,
    output: StudyOutput = None,
    as_json: AsJson = False,
    full: Full = False,
    quiet: Quiet = False,
) -> int:
    """Find checkpoints and training jobs in storage telemetry: sizes, intervals, drains, restarts.

    With --problem: overrides of it by the measurements. With --jobs: bandwidth against model size
    and interval. Exit code 4 where no job is found.
    """
    found = partial(library.characterize, *traces, time=time, write=write, read=read)
    found = partial(found, cluster=cluster, sum=sum_, unit=unit, decimal=decimal, read_as=read_as)
    found = partial(found, time_format=time_format, window=window)
    found = partial(found, problem=problem, job=job, gpus=gpus, nameplate=nameplate)
    target = Target("characterize", traces[0], None, None, as_json, full, quiet, "clusters")
    return deliver(partial(found, jobs=jobs, output=output), target)


@command("quote import acme.xlsx --vendor ACME", quotes, "import")
def quote_import(
    file: Annotated[Path, _argument("The vendor's file: .xlsx or .csv.", metavar="FILE")],
    vendor: Annotated[Text, _option("Name of the vendor.", show_default="name of FILE")] = None,
    map_: Annotated[Path | None, _option("Layout, a .map.yaml.", "--map", metavar="FILE")] = None,
    problem: Annotated[Path | None, _option("Problem whose catalogs apply.")] = None,
    date: Annotated[Text, _option("Date of the quote.", metavar="YYYY-MM-DD")] = None,
    currency: Annotated[Text, _option("Currency of the quote.", metavar="CODE")] = None,
    rate: Rates = None,
    output: Output = Path(),
    as_json: AsJson = False,
) -> int:
    """Read a vendor's quote into a price book; list unread lines and errors.

    Writes FILE.prices.yaml, FILE.map.yaml for the next quote, FILE.quote.json with every cell, and
    FILE.catalog.yaml for products that no catalog has.
    """
    from planner.commands.quote import import_quote

    named = file.stem if vendor is None else vendor
    study = partial(import_quote, file, output, problem=problem, vendor=named, mapping=map_)
    study = partial(study, date=date, currency=currency, rates=rate or ())
    return deliver(study, Target("quote import", file, as_json=as_json, full=True))


@command("quote rfq 10MW.yaml", quotes, "rfq")
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


@command("quote bid 10MW.yaml acme.xlsx beta.csv", quotes, "bid")
def quote_bid(
    files: Annotated[list[Path], _argument("Problem, then bids.", metavar="PROBLEM BID")],
    rate: Rates = None,
    set_: Settings = None,
    scenario: Scenario = None,
    output: StudyOutput = None,
    as_json: AsJson = False,
    full: Full = False,
    quiet: Quiet = False,
) -> int:
    """Evaluate vendors' quotes as bids on a problem.

    A BID is a vendor's file, or its FILE.quote.json of planner quote import, which takes vendor,
    date, currency and layout. Shown: limits met, useful work and cost over the term, gaps, the best
    mix with proof. Exit code 3 where no bid meets every limit.
    """
    study = partial(library.bid, *files, settings=set_, scenario=scenario, rate=rate)
    return deliver(study, Target("quote bid", files[0], scenario, output, as_json, full, quiet))


def main() -> None:
    """Run the command line and end the process."""
    run_process(app)
