"""The command line: each command reads its options, calls one function and prints the result."""

from __future__ import annotations

import gc
import inspect
import os
import re
import sys
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from planner import removed
from planner.cli_data import characterize, quote_app, simulate
from planner.cli_options import (
    AsJson,
    ChosenSolver,
    EachGap,
    Full,
    Gap,
    Html,
    Output,
    ProblemFile,
    Quiet,
    Scenario,
    Settings,
    Solver,
    StudyOutput,
    TimeLimit,
    Workers,
    a_folder,
    complete_examples,
    complete_items,
)
from planner.commands import EXIT_CODES, running
from planner.errors import Finding, InputError, PlannerError, StoppedError
from planner.terminal import discard, follow, open_closed_streams, say
from planner.version import __version__

if TYPE_CHECKING:
    from typer.models import CommandInfo

    from planner.studies.request import Request

app = typer.Typer(
    name="planner",
    help="Decide what to buy for an AI training cluster, to a proven gap.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class AudienceName(StrEnum):
    """Readers of the files."""

    internal = "internal"
    customer = "customer"
    customer_list = "customer-list"
    customer_no_prices = "customer-no-prices"
    partner = "partner"


class Mode(StrEnum):
    """Kinds of sweeps."""

    grid = "grid"
    frontier = "frontier"
    tornado = "tornado"
    uncertain = "uncertain"


class AgainstName(StrEnum):
    """Axes of a frontier."""

    storage = "storage"
    cost = "cost"
    power = "power"


def _version(wanted: bool) -> None:
    if wanted:
        say(f"planner {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Decide what to buy for an AI training cluster, to a proven gap."""


@app.command()
def solve(
    problem: ProblemFile,
    set_: Settings = None,
    scenario: Scenario = None,
    output: Output = Path(),
    as_json: AsJson = False,
    gap: Gap = None,
    time_limit: TimeLimit = None,
    solver: ChosenSolver = Solver.highs,
    save_model: Annotated[
        Path | None, typer.Option(help="Write the integer program as MPS, or LP (FILE.lp).")
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            help="Write more: bill.csv, bill.json, cables (schedule and sheet), netbox (CSV for "
            "NetBox); sheets why, rules, alternatives. Commas or repeated.",
            metavar="NAMES",
        ),
    ] = None,
    html: Html = False,
    audience: Annotated[
        AudienceName,
        typer.Option(
            help="Readers of the files: internal sees all; customer net prices, customer-list "
            "list and net prices, customer-no-prices none; partner net prices and discounts. "
            "The screen is internal."
        ),
    ] = AudienceName.internal,
    show: Annotated[
        list[str] | None,
        typer.Option(
            help="Show more: lines (the bill), run (operation and limits), network, notes, proof. "
            "Commas or repeated.",
            metavar="NAMES",
        ),
    ] = None,
    full: Full = False,
    quiet: Quiet = False,
) -> None:
    """Find the best plan; print it and write PROBLEM.xlsx and PROBLEM.plan.json.

    With --audience customer: PROBLEM.customer.xlsx alone, without anything internal.
    """
    from typing import get_args

    from planner import api
    from planner.commands import portfolio
    from planner.commands import solve as command
    from planner.commands.page import EDITIONS
    from planner.commands.results import list_written

    request = _request(problem, set_, scenario, gap, time_limit, solver=solver.value)
    if portfolio.is_portfolio(problem):
        given = {"--also": also, "--html": html, "--save-model": save_model}
        given["--audience"] = audience is not AudienceName.internal
        portfolio.refuse_options(given)
        shown = {"as_json": as_json, "full": full or bool(show), "quiet": quiet}
        raise typer.Exit(portfolio.solve(request, output, **shown))
    options = request.running(save_model=save_model)
    more = command.words_of("--also", also or (), get_args(command.Also))
    parts = command.words_of("--show", show or (), get_args(command.Part))
    studies = {*more} & {"why", "rules", "alternatives"}
    with running.show_progress("solve", quiet=quiet, deadline=options.deadline):
        inputs = request.inputs
        search = command.FOR_THE_PLAN if studies else api.FOR_THE_SEARCH
        plan = api.solve_with(inputs, options, search=search, read_back=True)
        written = command.deliver(
            plan,
            inputs,
            problem,
            output,
            as_json=as_json,
            parts=get_args(command.Part) if full else parts,
            also=more,
            html=html,
            edition=EDITIONS[audience.value],
            studies=list(command.sheets(inputs, plan, options, studies)),
        )
    list_written(written, quiet=quiet)
    raise typer.Exit(EXIT_CODES[plan.status])


@app.command()
def check(
    problem: Annotated[
        Path | None, typer.Argument(help="Problem file (YAML).", show_default=False)
    ] = None,
    set_: Settings = None,
    scenario: Scenario = None,
    against: Annotated[
        str | None,
        typer.Option(help="List settings that are still as in this example.", metavar="EXAMPLE"),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            help="Print the JSON Schema of a kind of file instead, for editors.", metavar="NAME"
        ),
    ] = None,
    as_json: AsJson = False,
    full: Full = False,
) -> None:
    """Validate a problem with its catalogs and prices; list every finding."""
    from planner.commands import portfolio
    from planner.commands.problem import report_findings

    if schema is not None:
        from planner.commands.schemas import json_schema

        say(json_schema(schema), nl=False)
        return
    if problem is None:
        raise InputError(Finding("usage", "Missing argument 'PROBLEM'", fix="name a problem file"))
    if portfolio.is_portfolio(problem):
        say(portfolio.check(problem, tuple(set_ or ()), scenario))
        return
    text, faulty = report_findings(
        problem, tuple(set_ or ()), scenario, against=against, as_json=as_json, full=full
    )
    say(text)
    raise typer.Exit(2 if faulty else 0)


@app.command()
def size(
    problem: ProblemFile,
    set_: Settings = None,
    scenario: Scenario = None,
    gpus: Annotated[
        int | None,
        typer.Option(
            min=1, max=10_000_000, help="Number of GPUs.", show_default="the most the site holds"
        ),
    ] = None,
    as_json: AsJson = False,
    full: Full = False,
) -> None:
    """Show the sizing without solving: sizes, intervals, requirements of each storage rule."""
    from planner.commands import portfolio
    from planner.commands.problem import report_sizes

    portfolio.refuse("size", problem)
    text, strong = report_sizes(
        problem, tuple(set_ or ()), scenario, gpus, as_json=as_json, full=full
    )
    say(text, strong=strong)


@app.command()
def explain(
    problem: ProblemFile,
    set_: Settings = None,
    scenario: Scenario = None,
    step: Annotated[
        list[str] | None,
        typer.Option(
            help="Step of a limit for its marginal value: --step site.facility_power='1 kW'. "
            "Repeatable.",
            metavar="PATH=VALUE",
        ),
    ] = None,
    why_not: Annotated[
        list[str] | None,
        typer.Option(
            help="Explain exactly why this item is not bought. Repeatable.", metavar="ITEM"
        ),
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            help="Without a plan: cost of relaxing a limit, relative to others. Repeatable.",
            metavar="PATH=NUMBER",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Without a plan: a limit that must not be relaxed. Repeatable.", metavar="PATH"
        ),
    ] = None,
    output: StudyOutput = None,
    as_json: AsJson = False,
    full: Full = False,
    time_limit: TimeLimit = None,
    workers: Workers = "0",
    quiet: Quiet = False,
) -> None:
    """Explain the best plan: binding constraints, marginal values, why nothing else is bought.

    Without a plan: a minimal set of conflicting limits and the smallest relaxation.
    """
    from planner.commands import portfolio
    from planner.commands.results import run_study
    from planner.studies.explain import run

    request = _request(problem, set_, scenario, None, time_limit, workers=workers, output=output)
    if portfolio.is_portfolio(problem):
        given = {"--step": step, "--why-not": why_not, "--weight": weight, "--keep": keep}
        portfolio.refuse_options({**given, "--output": output})
        raise typer.Exit(portfolio.explain(request, as_json=as_json, quiet=quiet))
    study = partial(
        run, step=step or (), why_not=why_not or (), weight=weight or (), keep=keep or ()
    )
    shown = {"as_json": as_json, "full": full, "quiet": quiet}
    raise typer.Exit(run_study("explain", "questions", study, request, **shown))


@app.command()
def sweep(
    problem: ProblemFile,
    mode: Annotated[
        Mode,
        typer.Option(
            help="grid: all combinations; frontier: useful work against storage, cost, power; "
            "tornado: one input at a time, low and high; uncertain: random draws."
        ),
    ] = Mode.grid,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="grid: site.facility_power=5MW:20MW:0.1MW, a,b,c, LOW:HIGH:log:COUNT or "
            "x0.8:x1.2:x0.1; also catalog.ITEM..., prices.ITEM.list. tornado: 1.1:1.4, x0.8:x1.2 "
            "or +-20%. uncertain: uniform(LOW, HIGH), triangular, normal, lognormal, loguniform, "
            "discrete. Repeatable; default of tornado and uncertain: the inputs that matter.",
            metavar="PATH=VALUES",
        ),
    ] = None,
    scenarios: Annotated[
        str | None,
        typer.Option(
            help="grid: scenarios of a CSV file, one a row; or named ones of the problem, with "
            "commas, or all.",
            metavar="FILE",
        ),
    ] = None,
    against: Annotated[
        list[AgainstName] | None,
        typer.Option(help="frontier: its axis. Repeatable.", show_default="all three"),
    ] = None,
    points: Annotated[
        int | None, typer.Option(help="frontier: most points.", show_default="50")
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="uncertain: number of draws.", show_default="256")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="uncertain: seed of the draws.", show_default="1")
    ] = None,
    indices: Annotated[
        bool, typer.Option("--indices", help="uncertain: Sobol indices of the inputs; more draws.")
    ] = False,
    set_: Settings = None,
    scenario: Scenario = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for the files.",
            show_default="of a grid ., otherwise write no files",
            callback=a_folder,
        ),
    ] = None,
    as_json: AsJson = False,
    full: Full = False,
    gap: EachGap = None,
    time_limit: TimeLimit = None,
    workers: Workers = "0",
    quiet: Quiet = False,
) -> None:
    """Solve many scenarios, each to a proven gap; a grid writes its table, workbook and picture."""
    from planner.commands import portfolio
    from planner.commands.results import run_study
    from planner.commands.sweep import Sweeping, sweeping

    request = _request(problem, set_, scenario, gap, time_limit, workers=workers, output=output)
    if portfolio.is_portfolio(problem):
        modes = {f"--mode {mode.value}": mode is not Mode.grid, "--indices": indices}
        texts = {"--scenarios": scenarios, "--against": against, "--points": points}
        more = {"--samples": samples, "--seed": seed, "--json": as_json}
        portfolio.refuse_options({**modes, **texts, **more})
        raise typer.Exit(portfolio.sweep(request, vary or (), quiet=quiet))
    asked = Sweeping(
        tuple(vary or ()), scenarios, tuple(each.value for each in against or ()),
        points, samples, seed, indices,
    )  # fmt: skip
    counts, study = sweeping(mode.value, asked)
    shown = {"as_json": as_json, "full": full, "quiet": quiet}
    raise typer.Exit(run_study(f"sweep, {mode.value}", counts, study, request, **shown))


@app.command()
def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Plans (.plan.json), problem files (.yaml) and workbooks (.xlsx), the first is "
            "the baseline; with --rules or --near one problem file.",
            show_default=False,
        ),
    ],
    by_rules: Annotated[
        bool,
        typer.Option("--rules", help="Compare storage sized by the job and by vendors' rules."),
    ] = False,
    near: Annotated[
        str | None,
        typer.Option(
            help="Find plans within this share of the optimum that differ from it: '1 %'.",
            metavar="SHARE",
        ),
    ] = None,
    set_: Settings = None,
    scenario: Scenario = None,
    output: StudyOutput = None,
    as_json: AsJson = False,
    full: Full = False,
    quiet: Quiet = False,
) -> None:
    """Compare plans side by side: differences, their amounts and effects.

    Problem files are solved first. Exit code 3 where there is no plan to compare.
    """
    from planner.commands.results import Study, run_study
    from planner.studies import alternatives, compare, rules
    from planner.studies.request import share

    if by_rules and near is not None:
        message = "--rules and --near are different comparisons"
        raise InputError(Finding("option", message, fix="give one of them"))
    request = _request(files, set_, scenario, None, None, output=output)
    study: Study = partial(compare.run, everything=full)
    if by_rules:
        study = rules.run
    if near is not None:
        study = partial(alternatives.run, within=share("--near", near), most=alternatives.SEVERAL)
    shown = {"as_json": as_json, "full": full, "quiet": quiet}
    raise typer.Exit(run_study("compare", "plans", study, request, **shown))


@app.command()
def verify(
    plan: Annotated[
        Path,
        typer.Argument(
            help="PROBLEM.plan.json, or an edited PROBLEM.xlsx, of planner solve.",
            show_default=False,
        ),
    ],
    solve_again: Annotated[
        bool,
        typer.Option(
            "--solve/--no-solve",
            help="Solve again: a plan's bound by the other solver, an edited workbook's optimum.",
        ),
    ] = True,
    time_limit: TimeLimit = None,
    as_json: AsJson = False,
    full: Full = False,
) -> None:
    """Check a plan file or an edited workbook by independent arithmetic.

    Plan file: every figure and limit, prices against the catalogs, the bound by the other solver.
    Workbook: edits, violated limits, distance from the optimum. Exit code 3 where a check fails.
    """
    from planner.commands import portfolio
    from planner.commands.results import run_study
    from planner.studies.verification import run

    request = _request(plan, None, None, None, time_limit)
    if portfolio.is_portfolio(plan):
        raise typer.Exit(portfolio.verify(request, as_json=as_json))
    study = partial(run, solve_again=solve_again)
    raise typer.Exit(run_study("verify", "", study, request, as_json=as_json, full=full))


@app.command()
def explore(
    problem: ProblemFile,
    set_: Settings = None,
    scenario: Scenario = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for a free one.")] = 8400,
) -> None:
    """Explore a problem in a browser: sliders of its inputs, solved again at each move.

    Listens on this machine alone. Needs the extra 'web'.
    """
    from planner.commands import explore_portfolio, portfolio
    from planner.commands.explore import explorer_of, serve

    of = explore_portfolio.explorer_of if portfolio.is_portfolio(problem) else explorer_of
    make = partial(of, problem, tuple(set_ or ()), scenario)
    serve(make, port, lambda url: say(f"{url}  (Ctrl-C ends it)"))


@app.command()
def init(
    answers: Annotated[
        list[str] | None,
        typer.Argument(
            help="A shipped example to copy; or answers of your own: name, power, pue, racks, "
            "rack-power, cooling, budget, model, active, tokens, precision, goal, vendors, own, "
            "prices, such as power='3 MW'.",
            metavar="[EXAMPLE | NAME=ANSWER...]",
            show_default=False,
            autocompletion=complete_examples,
        ),
    ] = None,
    output: Output = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a problem to start from: your own from a few answers, or a shipped example.

    Without arguments it asks on a terminal, and copies 10MW elsewhere.
    """
    from planner.commands.new_problem import ask_all, read_answers, write_example, write_problem

    example, given = read_answers(answers or ())
    if example is not None:
        path = write_example(example, output, force=force)
    elif sys.stdin.isatty() and sys.stdout.isatty():
        path = ask_all(given, output, _prompt, partial(say, err=True), force=force)
    elif given.any:
        path = write_problem(given, output, force=force)
    else:
        path = write_example("10MW", output, force=force)
    say(f"wrote {path}; next: planner solve {path}", err=True)


def _prompt(words: str, otherwise: str) -> str:
    return str(typer.prompt(words, default=otherwise, show_default=bool(otherwise)))


@app.command()
def catalog(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Items to show in full; catalog files or names of shipped catalogs.",
            show_default="the list of all shipped items",
            autocompletion=complete_items,
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Validate: structure, sources, plausibility, prices below the bare drives, prices "
            "over six months old.",
        ),
    ] = False,
    incomplete: Annotated[
        bool, typer.Option("--incomplete", help="List only incomplete items, with missing fields.")
    ] = False,
    prices: Annotated[
        list[Path] | None,
        typer.Option(help="Price book, a file or a shipped one. Repeatable.", metavar="BOOK"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the items of the catalogs with prices, show items in full, or validate catalogs."""
    from planner.commands import catalog as command

    books = tuple(prices or ())
    items, files = command.items_and_files(names or ())
    if check:
        text, faulty = command.check(files, books, as_json=as_json)
        say(text)
        raise typer.Exit(2 if faulty else 0)
    if items:
        say(command.details(items, files, books, as_json=as_json))
    else:
        say(command.listing(files, books, as_json=as_json, incomplete=incomplete))


def _request(
    paths: Path | list[Path],
    settings: list[str] | None,
    scenario: str | None,
    gap: str | None,
    time_limit: str | None,
    *,
    solver: str = "highs",
    workers: str = "0",
    output: Path | None = None,
) -> Request:
    """Return the request of a command."""
    from planner.studies.request import request_for

    return request_for(
        paths if isinstance(paths, list) else [paths], settings or (), scenario, gap=gap,
        time_limit=time_limit, solver=solver, workers=workers, folder=output,
    )  # fmt: skip


def main() -> None:
    """Run the command line; expected failures are one line each, the rest exit code 1."""
    open_closed_streams()
    _settle_in()
    follow()
    running.catch_interrupts()
    _leave(_run(app))


def _leave(code: int) -> NoReturn:
    """End the process at once: taking the interpreter apart costs a tenth of a run, for nothing."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            reader_left = isinstance(error, BrokenPipeError)  # as with `| head`
            code = code if reader_left else 2
    os._exit(code)


app.command()(characterize)
app.command()(simulate)
app.add_typer(quote_app, name="quote")

EXAMPLES = {
    "catalog": "planner catalog ddn_ai400x2_turbo",
    "characterize": "planner characterize hall.csv --problem 10MW.yaml --gpus 4096",
    "check": "planner check 10MW.yaml --against 10MW",
    "compare": "planner compare 10MW.yaml --rules",
    "explain": "planner explain 10MW.yaml --why-not ddn_ai400x2",
    "explore": "planner explore 10MW.yaml",
    "init": "planner init power='3 MW' racks=24 rack-power='130 kW' model='405 B'",
    "quote bid": "planner quote bid 10MW.yaml acme.xlsx beta.csv",
    "quote import": "planner quote import acme.xlsx --vendor ACME",
    "quote rfq": "planner quote rfq 10MW.yaml",
    "simulate": "planner simulate 10MW.plan.json --replications 100",
    "size": "planner size 10MW.yaml --gpus 4096",
    "solve": "planner solve 10MW.yaml --set budget.capex='150 MUSD' --show lines",
    "sweep": "planner sweep 10MW.yaml --vary site.facility_power=5MW:15MW:0.5MW",
    "verify": "planner verify 10MW.plan.json",
}
"""A typical use of each command, which ends its help."""


def _name(command: CommandInfo) -> str:
    """Return the word of a command."""
    assert command.callback is not None
    return command.name or command.callback.__name__.replace("_", "-")


def _add_examples() -> None:
    """Have lists of commands show whole first sentences, and each help end in an example."""
    for prefix, application in (("", app), ("quote ", quote_app)):
        for command in application.registered_commands:
            words = " ".join((inspect.getdoc(command.callback) or "").split())
            command.short_help = words.split(". ")[0].rstrip(".") + "."
            command.epilog = f"Example: {EXAMPLES[prefix + _name(command)]}"


_add_examples()


def _settle_in() -> None:
    """Spare a short process what it does not need: thread pools, plug-ins, frequent collections."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.set_threshold(2_000_000, 50, 50)


def _run(application: Callable[..., Any]) -> int:
    try:
        result = application(standalone_mode=False)
        if result == StoppedError.exit_code:  # typer's word for Ctrl-C
            return _interrupted()
        return result if isinstance(result, int) else 0
    except PlannerError as error:
        for line in str(error).splitlines():
            say(f"planner: {line}", err=True)
        return error.exit_code
    except typer.Exit as ended:
        return int(ended.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _interrupted()
    except (BrokenPipeError, SystemExit):  # click's own end where the reader of a pipe has left
        discard()
        return 0
    except (OSError, MemoryError, RecursionError) as error:
        return _refused_by_system(error)
    except Exception as error:
        return _unexpected(error)


def _refused_by_system(error: OSError | MemoryError | RecursionError) -> int:
    """Say in one line what this machine cannot do: a full disk, no memory, a path of 2,000 folders.

    Files that a command names are reported with their fix before; this is for all others.
    """
    if os.environ.get("PLANNER_DEBUG"):
        raise error
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        what = f"{place}{(error.strerror or str(error)).lower()}"
        fix = "is a disk, or the folder that TMPDIR names, full or read-only?"
    elif isinstance(error, MemoryError):
        what, fix = "out of memory", "free some, or ask for less at once"
    else:
        what, fix = "folders or values nested too deeply", "nest fewer in one another"
    say(f"planner: {what}; {fix} [system]", err=True)
    return 2


def _interrupted() -> int:
    """Name the files that an interrupted command has written."""
    running.interrupt_handled()
    from planner.commands.solve import list_files
    from planner.whole_files import put_in_place

    written = list_files(put_in_place)
    kept = f"{written} had been written" if written else "nothing was written or changed"
    say(f"planner: interrupted: {kept}", err=True)
    return StoppedError.exit_code


def _successor(error: Exception, text: str) -> str | None:
    """Return the successor of the removed command or option that an error of click is about."""
    command = re.match(r"No such command '(.+?)'", text)
    option = getattr(error, "option_name", "")
    found = removed.successor(command[1] if command else "", option)
    return None if found is None else f"it is now {found}"


def _unexpected(error: Exception) -> int:
    usage = getattr(error, "format_message", None)  # click's own, which typer may bring along
    if usage is not None:
        text = str(usage())
        if text.startswith("Usage:"):  # no command: the whole help
            say(text, err=True)
            return 2
        text = text.replace("Value error, ", "").rstrip(".").replace("\n", " ")
        fix = _successor(error, text) or "see planner --help"
        say(f"planner: {text}; {fix} [usage]", err=True)
        return 2
    if os.environ.get("PLANNER_DEBUG"):
        raise error
    say(f"planner: internal error: {type(error).__name__}: {error}", err=True)
    say("planner: set PLANNER_DEBUG=1 for the traceback, and please report it", err=True)
    return 1
