"""The command line: each command reads its options, calls one function and prints the result."""

from __future__ import annotations

import gc
import inspect
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from planner import library, removed, shipped
from planner.analysis.request import request_for
from planner.cli_data import characterize, quotes, simulate
from planner.cli_options import (
    AsJson,
    Audience,
    ChosenSolver,
    EachGap,
    Full,
    Gap,
    GridOutput,
    Html,
    Mode,
    Output,
    ProblemFile,
    Quiet,
    Scenario,
    Settings,
    StudyOutput,
    Text,
    Texts,
    TimeLimit,
    Workers,
    argument,
    complete_examples,
    complete_items,
    option,
    run_command,
)
from planner.errors import Finding, InputError, PlannerError, StoppedError
from planner.terminal import (
    catch_interrupts,
    coloured,
    discard,
    follow,
    interrupt_handled,
    open_closed_streams,
    say,
)
from planner.version import __version__

if TYPE_CHECKING:
    from planner.commands.results import Study

_HELP = """\
Decide what to buy for an AI training cluster, to a proven gap.

Start with planner init, then planner check and planner solve. Exit codes: 0 done; 2 wrong input;
3 no plan, or a check fails; 4 nothing found; 5 a plan without proof; 130 interrupted."""

app = typer.Typer(
    name="planner",
    help=_HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"planner {__version__}")
        raise typer.Exit


@app.callback(help=_HELP)
def _root(
    version: Annotated[
        bool, option("Print the version.", "--version", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command()
def solve(
    problem: ProblemFile,
    set_: Settings = None,
    scenario: Scenario = None,
    output: Output = Path(),
    as_json: AsJson = False,
    gap: Gap = None,
    time_limit: TimeLimit = None,
    solver: ChosenSolver = "highs",
    save_model: Annotated[
        Path | None, option("Write the integer program as MPS, or LP (FILE.lp).")
    ] = None,
    also: Annotated[
        Texts,
        option(
            "Write more: bill.csv, bill.json, cables (schedule and sheet), netbox (CSV for "
            "NetBox); sheets why, rules, alternatives. Commas or repeated.",
            metavar="NAMES",
        ),
    ] = None,
    html: Html = False,
    audience: Annotated[
        Audience,
        option(
            "Readers of the files: internal sees all; customer net prices, customer-list list and "
            "net prices, customer-no-prices none; partner net prices and discounts. The screen is "
            "internal."
        ),
    ] = "internal",
    show: Annotated[
        Texts,
        option(
            "Show more: lines (the bill), run (operation and limits), network, notes, proof. "
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
    from planner.commands import portfolio
    from planner.commands.solve import run

    request = request_for(
        problem, set_, scenario, gap=gap, time_limit=time_limit, solver=solver, folder=output
    )
    shown = {"as_json": as_json, "quiet": quiet}
    if portfolio.is_portfolio(problem):
        given = {"--also": also, "--html": html, "--save-model": save_model}
        given["--audience"] = audience != "internal"
        portfolio.refuse_options(given)
        code = portfolio.solve(request, output, full=full or bool(show), **shown)
    else:
        code = run(
            request,
            save_model=save_model,
            also=also or (),
            html=html,
            audience=audience,
            show=show or (),
            full=full,
            **shown,
        )
    raise typer.Exit(code)


@app.command()
def check(
    problem: Annotated[Path | None, argument("Problem file (YAML).")] = None,
    set_: Settings = None,
    scenario: Scenario = None,
    against: Annotated[
        Text, option("List settings that are still as in this example.", metavar="EXAMPLE")
    ] = None,
    schema: Annotated[
        Text,
        option(
            "Print the JSON Schema of a kind of file instead, for editors: problem, catalog, "
            "prices, plan, ...",
            metavar="KIND",
        ),
    ] = None,
    as_json: AsJson = False,
    full: Full = False,
) -> None:
    """Validate a problem with its catalogs and prices; list every finding."""
    from planner.commands import portfolio
    from planner.commands.check import report_findings

    if schema is not None:
        from planner.commands.check import json_schema

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
        option("Number of GPUs.", min=1, max=10_000_000, show_default="the most the site holds"),
    ] = None,
    as_json: AsJson = False,
    full: Full = False,
) -> None:
    """Show the sizing without solving: sizes, intervals, requirements of each storage rule."""
    from planner.commands import portfolio
    from planner.report.screen import show
    from planner.report.views.size import view

    portfolio.refuse("size", problem)
    report = library.size(problem, gpus=gpus, settings=set_ or (), scenario=scenario)
    if as_json:
        say(json.dumps(asdict(report), indent=2, ensure_ascii=False))
    else:
        styled = coloured()
        say(show(view(report), full=full, styled=styled).rstrip("\n"), styled=styled)


@app.command()
def explain(
    problem: ProblemFile,
    set_: Settings = None,
    scenario: Scenario = None,
    step: Annotated[
        Texts,
        option(
            "Step of a limit for its marginal value: --step site.facility_power='1 kW'. "
            "Repeatable.",
            metavar="PATH=VALUE",
        ),
    ] = None,
    why_not: Annotated[
        Texts, option("Explain exactly why this item is not bought. Repeatable.", metavar="ITEM")
    ] = None,
    weight: Annotated[
        Texts,
        option(
            "Without a plan: cost of relaxing a limit, relative to others. Repeatable.",
            metavar="PATH=NUMBER",
        ),
    ] = None,
    keep: Annotated[
        Texts,
        option("Without a plan: a limit that must not be relaxed. Repeatable.", metavar="PATH"),
    ] = None,
    output: StudyOutput = None,
    as_json: AsJson = False,
    full: Full = False,
    time_limit: TimeLimit = None,
    quiet: Quiet = False,
) -> None:
    """Explain the best plan: binding constraints, marginal values, why nothing else is bought.

    Without a plan: a minimal set of conflicting limits and the smallest relaxation.
    """
    from planner.analysis.explain import run
    from planner.commands import portfolio

    request = request_for(problem, set_, scenario, time_limit=time_limit, folder=output)
    if portfolio.is_portfolio(problem):
        given = {"--step": step, "--why-not": why_not, "--weight": weight, "--keep": keep}
        portfolio.refuse_options({**given, "--output": output})
        raise typer.Exit(portfolio.explain(request, as_json=as_json, quiet=quiet))
    study = partial(
        run, step=step or (), why_not=why_not or (), weight=weight or (), keep=keep or ()
    )
    run_command("explain", "questions", study, request, as_json, full, quiet)


@app.command()
def sweep(
    problem: ProblemFile,
    mode: Annotated[
        Mode,
        option(
            "grid: all combinations; frontier: useful work against storage, cost, power; "
            "tornado: one input at a time, low and high; uncertain: random draws."
        ),
    ] = "grid",
    vary: Annotated[
        Texts,
        option(
            "grid: site.facility_power=5MW:20MW:0.1MW, a,b,c, LOW:HIGH:log:COUNT or "
            "x0.8:x1.2:x0.1; also catalog.ITEM..., prices.ITEM.list. tornado: 1.1:1.4, x0.8:x1.2 "
            "or +-20%. uncertain: uniform(LOW, HIGH), triangular, normal, lognormal, loguniform, "
            "discrete. Repeatable; default of tornado and uncertain: the inputs that matter.",
            metavar="PATH=VALUES",
        ),
    ] = None,
    scenarios: Annotated[
        Text,
        option(
            "grid: scenarios of a CSV file, one a row; or named ones of the problem, with "
            "commas, or all.",
            metavar="FILE",
        ),
    ] = None,
    against: Annotated[
        Texts,
        option(
            "frontier: its axis, storage, cost or power. Repeatable.",
            metavar="AXIS",
            show_default="all three",
        ),
    ] = None,
    points: Annotated[int | None, option("frontier: most points.", show_default="50")] = None,
    samples: Annotated[
        int | None, option("uncertain: number of draws.", show_default="256")
    ] = None,
    seed: Annotated[int | None, option("uncertain: seed of the draws.", show_default="1")] = None,
    indices: Annotated[
        bool, option("uncertain: Sobol indices of the inputs; more draws.", "--indices")
    ] = False,
    set_: Settings = None,
    scenario: Scenario = None,
    output: GridOutput = None,
    as_json: AsJson = False,
    full: Full = False,
    gap: EachGap = None,
    time_limit: TimeLimit = None,
    workers: Workers = "0",
    quiet: Quiet = False,
) -> None:
    """Solve many scenarios, each to a proven gap; a grid writes its table, workbook and picture."""
    from planner.commands import portfolio
    from planner.commands.sweep import Sweeping, sweeping

    request = request_for(
        problem,
        set_,
        scenario,
        gap=gap,
        time_limit=time_limit,
        workers=workers,
        folder=output or (Path() if mode == "grid" else None),
    )
    if portfolio.is_portfolio(problem):
        modes = {f"--mode {mode}": mode != "grid", "--indices": indices}
        texts = {"--scenarios": scenarios, "--against": against, "--points": points}
        more = {"--samples": samples, "--seed": seed, "--json": as_json}
        portfolio.refuse_options({**modes, **texts, **more})
        raise typer.Exit(portfolio.sweep(request, vary or (), quiet=quiet))
    given = Sweeping(
        tuple(vary or ()), scenarios, tuple(against or ()), points, samples, seed, indices
    )
    counts, study = sweeping(mode, given)
    run_command(f"sweep, {mode}", counts, study, request, as_json, full, quiet)


@app.command()
def compare(
    files: Annotated[
        list[Path],
        argument(
            "Plans (.plan.json), problem files (.yaml) and workbooks (.xlsx), the first is the "
            "baseline; with --rules or --near one problem file."
        ),
    ],
    by_rules: Annotated[
        bool, option("Compare storage sized by the job and by vendors' rules.", "--rules")
    ] = False,
    near: Annotated[
        Text,
        option(
            "Find plans within this share of the optimum that differ from it: '1 %'.",
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
    from planner.analysis import alternatives, compare, rules
    from planner.analysis.request import share

    if by_rules and near is not None:
        message = "--rules and --near are different comparisons"
        raise InputError(Finding("option", message, fix="give one of them"))
    study: Study = rules.run if by_rules else partial(compare.run, everything=full)
    if near is not None:
        study = partial(alternatives.run, within=share("--near", near), most=alternatives.SEVERAL)
    request = request_for(files, set_, scenario, folder=output)
    run_command("compare", "plans", study, request, as_json, full, quiet)


@app.command()
def verify(
    plan: Annotated[
        Path, argument("PROBLEM.plan.json, or an edited PROBLEM.xlsx, of planner solve.")
    ],
    solve_again: Annotated[
        bool,
        option(
            "Solve again: a plan's bound by the other solver, an edited workbook's optimum.",
            "--solve/--no-solve",
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
    from planner.analysis.verification import run
    from planner.commands import portfolio

    request = request_for(plan, time_limit=time_limit)
    if portfolio.is_portfolio(plan):
        raise typer.Exit(portfolio.verify(request, as_json=as_json))
    run_command("verify", "", partial(run, solve_again=solve_again), request, as_json, full)


@app.command()
def explore(
    problem: ProblemFile,
    set_: Settings = None,
    scenario: Scenario = None,
    port: Annotated[int, option("Port; 0 for a free one.", min=0, max=65535)] = 8400,
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
        Texts,
        argument(
            "A shipped example to copy, or answers of your own.",
            metavar="[EXAMPLE | NAME=ANSWER...]",
            autocompletion=complete_examples,
        ),
    ] = None,
    output: Output = Path(),
    force: Annotated[bool, option("Replace an existing file.", "--force")] = False,
) -> None:
    """Write a problem to start from: your own from a few answers, or a shipped example.

    On a terminal it asks for each missing answer; elsewhere the four with a star are needed.
    """
    from planner.commands.new_problem import ask_all, read_answers, write_example, write_problem

    example, given = read_answers(answers or ())
    if example is not None:
        path = write_example(example, output, force=force)
    elif sys.stdin.isatty() and sys.stdout.isatty():
        path = ask_all(given, output, _prompt, partial(say, err=True), force=force)
    elif given:
        path = write_problem(given, output, force=force)
    else:
        path = write_example("10MW", output, force=force)
    say(f"wrote {path}; next: planner solve {path}", err=True)


_ANSWERS = """\
\b
Answers:
  name=my-cluster     problem and file
* power='3 MW'        facility power
  pue=1.25            facility power / IT load
* racks=24            rack positions of the room
* rack-power='130 kW' power of a rack
  cooling=liquid      air or liquid; without it liquid from 60 kW a rack
  budget='60 MUSD'    capital budget
* model='405 B'       parameters of the model to train
  active='32 B'       parameters active per token, of a mixture of experts
  tokens='15 T'       tokens to train on
  dataset='50 PB'     training data; from 5 PB on a bulk tier beside flash
  precision=fp8       bf16, fp8 or nvfp4
  goal=most           most work, cheapest work, '1024 GPUs' or '60 days'
  vendors=DDN,VAST    vendors that may sell; without it any
  own=ITEM=UNITS      units owned, own=nvidia_dgx_h100=8; repeatable
  prices=BOOK         price book, a file or a shipped one
"""


def _prompt(words: str, otherwise: str) -> str:
    return str(typer.prompt(words, default=otherwise, show_default=bool(otherwise)))


@app.command()
def catalog(
    names: Annotated[
        Texts,
        argument(
            "Items to show in full; vendors, categories (gpu_system, storage, switch, ...) and "
            "catalogs to list, by file or shipped name.",
            show_default="the list of all shipped items",
            autocompletion=complete_items,
        ),
    ] = None,
    check: Annotated[
        bool,
        option(
            "Validate: structure, sources, plausibility, prices below the bare drives, prices "
            "over six months old.",
            "--check",
        ),
    ] = False,
    incomplete: Annotated[
        bool, option("List only incomplete items, with missing fields.", "--incomplete")
    ] = False,
    prices: Annotated[
        list[Path] | None,
        option("Price book, a file or a shipped one. Repeatable.", metavar="BOOK"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the items of the catalogs with prices, show items in full, or validate catalogs."""
    from planner.commands import catalog as command

    books = tuple(prices or ())
    if check:
        text, faulty = command.check(tuple(map(Path, names or ())), books, as_json=as_json)
        say(text)
        raise typer.Exit(2 if faulty else 0)
    say(command.show(names or (), books, as_json=as_json, incomplete=incomplete))


app.command()(characterize)
app.command()(simulate)
app.add_typer(quotes, name="quote")

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


def _add_examples() -> None:
    """End each help in an example; lists of commands show whole first sentences."""
    for prefix, application in (("", app), ("quote ", quotes)):
        for command in application.registered_commands:
            assert command.callback is not None
            name = f"{prefix}{command.name or command.callback.__name__}"
            words = " ".join((inspect.getdoc(command.callback) or "").split())
            command.short_help = words.split(". ")[0].rstrip(".") + "."
            command.epilog = f"Example: {EXAMPLES[name]}"
            if name == "init":
                known = ", ".join((*shipped.problem_files(), *shipped.portfolio_files()))
                command.epilog = f"{_ANSWERS}\n\nShipped: {known}\n\n{command.epilog}"


_add_examples()


# The process.


def main() -> None:
    """Run the command line; expected failures are one line each, the rest exit code 1."""
    open_closed_streams()
    # A short process needs no thread pools, plug-ins and frequent collections.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.set_threshold(2_000_000, 50, 50)
    follow()
    catch_interrupts()
    _leave(_run(app))


def _leave(code: int) -> NoReturn:
    """End the process at once: taking the interpreter apart costs a tenth of a run."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            reader_left = isinstance(error, BrokenPipeError)  # as with `| head`
            code = code if reader_left else 2
    os._exit(code)


def _run(application: Callable[..., Any]) -> int:
    """Run a command and return its exit code."""
    try:
        result = application(standalone_mode=False)
        if result == StoppedError.exit_code:  # typer's word for Ctrl-C
            return _report_interruption()
        return result if isinstance(result, int) else 0
    except PlannerError as error:
        for line in str(error).splitlines():
            say(f"planner: {line}", err=True)
        return error.exit_code
    except typer.Exit as ended:
        return int(ended.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _report_interruption()
    except (BrokenPipeError, SystemExit):  # click's own end where the reader of a pipe has left
        discard()
        return 0
    except Exception as error:
        return _report_error(error)


def _report_interruption() -> int:
    interrupt_handled()
    from planner.atomic_files import put_in_place
    from planner.commands.files import list_files

    written = list_files(put_in_place)
    kept = f"{written} had been written" if written else "nothing was written or changed"
    say(f"planner: interrupted: {kept}", err=True)
    return StoppedError.exit_code


def _report_error(error: Exception) -> int:
    usage = getattr(error, "format_message", None)  # click's own, which typer may bring along
    if usage is not None:
        return _report_usage(error, str(usage()))
    if os.environ.get("PLANNER_DEBUG"):
        raise error
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        what = f"{place}{(error.strerror or str(error)).lower()}"
        fix = "is a disk, or the folder that TMPDIR names, full or read-only?"
    elif isinstance(error, MemoryError):
        what, fix = "out of memory", "free some, or ask for less at once"
    elif isinstance(error, RecursionError):
        what, fix = "folders or values nested too deeply", "nest fewer in one another"
    else:
        say(f"planner: internal error: {type(error).__name__}: {error}", err=True)
        say("planner: set PLANNER_DEBUG=1 for the traceback, and please report it", err=True)
        return 1
    say(f"planner: {what}; {fix} [system]", err=True)
    return 2


def _report_usage(error: Exception, text: str) -> int:
    """Print an error of click in one line, or the successor of a removed command or option."""
    if text.startswith("Usage:"):  # no command: the whole help
        say(text, err=True)
        return 2
    text = text.replace("Value error, ", "").rstrip(".").replace("\n", " ")
    command = re.match(r"No such command '(.+?)'", text)
    now = removed.successor(command[1] if command else "", getattr(error, "option_name", ""))
    command_path = getattr(getattr(error, "ctx", None), "command_path", "planner")
    fix = f"it is now {now}" if now else f"see {command_path} --help"
    say(f"planner: {text}; {fix} [usage]", err=True)
    return 2
