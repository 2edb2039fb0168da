"""The command line: words in, calls of the library, words out; no logic of its own."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from planner import __version__, cli_sensitivity, cli_simulation, cli_synthesis, cli_telemetry
from planner.cli_options import (
    AsJson,
    ChosenSolver,
    EachTimeLimit,
    Gap,
    Output,
    ProblemFile,
    Quiet,
    Scenario,
    Settings,
    Solver,
    StudyFolder,
    StudyTimeLimit,
    TimeLimit,
    running_options,
    seconds,
    share,
    solver_options,
    tell,
)
from planner.commands import EXIT_CODES, interrupts
from planner.errors import PlannerError, StoppedError
from planner.terminal import discard, follow, open_closed_streams, say

app = typer.Typer(
    name="planner",
    help="Decide what to buy for an AI training cluster, to a proven gap.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
catalog_app = typer.Typer(help="Look at the catalogs.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(catalog_app, name="catalog")


class BillFormat(StrEnum):
    """The formats of a bill for other programs."""

    csv = "csv"
    json = "json"


class AudienceName(StrEnum):
    """Whom files are for."""

    internal = "internal"
    customer = "customer"


class StudyKind(StrEnum):
    """Studies that the workbook may hold."""

    why = "why"
    rules = "rules"
    alternatives = "alternatives"


class SchemaName(StrEnum):
    """The files that have a schema."""

    problem = "problem"
    catalog = "catalog"
    prices = "prices"
    plan = "plan"
    bill = "bill"
    audit = "audit"
    explanation = "explanation"
    alternatives = "alternatives"
    comparison = "comparison"
    rules = "rules"
    sweep = "sweep"
    frontier = "frontier"
    tornado = "tornado"
    uncertain = "uncertain"
    characterization = "characterization"
    simulation = "simulation"
    truth = "truth"
    verification = "verification"


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
    gap: Gap = "2e-6",
    time_limit: TimeLimit = None,
    solver: ChosenSolver = Solver.highs,
    save_model: Annotated[
        Path | None, typer.Option(help="Write the last master problem as MPS.")
    ] = None,
    bill: Annotated[
        list[BillFormat] | None,
        typer.Option(
            help="Write the bill for quoting tools too: csv or json. Repeatable.", metavar="FORMAT"
        ),
    ] = None,
    audience: Annotated[
        AudienceName,
        typer.Option(
            help="Whom the files are for; the customer's hold no money. The screen is internal."
        ),
    ] = AudienceName.internal,
    study: Annotated[
        list[StudyKind] | None,
        typer.Option(
            help="Add sheets to the workbook: why, rules or alternatives. Repeatable.",
            metavar="STUDY",
        ),
    ] = None,
    quiet: Quiet = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print the time taken.")] = False,
) -> None:
    """Find the best plan; print it, and write PROBLEM.xlsx and PROBLEM.plan.json.
    With --audience customer: PROBLEM.customer.xlsx alone, without money.
    """
    options = running_options(solver, gap, time_limit, save_model=save_model, state_seconds=verbose)
    from planner import api
    from planner.commands import studies
    from planner.commands.solve import deliver

    inputs = api.load(problem, settings=tuple(set_ or ()), scenario=scenario)
    search = studies.FOR_THE_PLAN if study else api.FOR_THE_SEARCH
    plan = api.solve_with(inputs, options, search=search)
    written = deliver(
        plan,
        inputs,
        problem,
        output,
        as_json=as_json,
        bills=tuple(kind.value for kind in bill or ()),
        audience=audience.value,
        studies=list(studies.sheets(inputs, plan, options, [kind.value for kind in study or ()])),
    )
    tell(written, quiet)
    raise typer.Exit(EXIT_CODES[plan.status])


@app.command()
def check(
    problem: ProblemFile,
    set_: Settings = None,
    scenario: Scenario = None,
    as_json: AsJson = False,
) -> None:
    """Validate a problem with its catalogs and prices; list every finding."""
    from planner.commands.check import report

    text, faulty = report(problem, tuple(set_ or ()), scenario, as_json=as_json)
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
            min=1, max=10_000_000, help="GPUs to size for; default: what the site can hold."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the sizing model without solving: sizes, intervals, what each rule would ask for."""
    from planner.commands.size import report

    say(report(problem, tuple(set_ or ()), scenario, gpus, as_json=as_json))


@app.command()
def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Plans (.plan.json), problem files (.yaml) and workbooks (.xlsx), the first to "
            "tell the others from. With --rules: one problem file.",
            show_default=False,
        ),
    ],
    rules: Annotated[
        bool,
        typer.Option(
            "--rules",
            help="Compare storage sized by what the job needs, by vendors' rules and otherwise.",
        ),
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="List what is the same in all plans, too.")
    ] = False,
    set_: Settings = None,
    scenario: Scenario = None,
    output: StudyFolder = None,
    as_json: AsJson = False,
    gap: Gap = "2e-6",
    time_limit: EachTimeLimit = None,
    solver: ChosenSolver = Solver.highs,
    quiet: Quiet = False,
) -> None:
    """Compare plans side by side: what differs, by how much, and why it matters.
    Problem files are solved first; --set and --scenario apply to each of them.
    Exit code 3 where there is no plan to compare.
    """
    from planner.commands import compare as command

    options = solver_options(solver, gap, time_limit)
    request = command.Request(tuple(set_ or ()), scenario, options, as_json, everything, output)
    report = (command.rules if rules else command.sides)(files, request)
    say(report.text)
    tell(report.written, quiet)
    raise typer.Exit(report.code)


@app.command()
def alternatives(
    problem: ProblemFile,
    within: Annotated[
        str, typer.Option(help="How far behind the best a plan may be, as a share or in percent.")
    ] = "1 %",
    most: Annotated[
        int, typer.Option(min=1, max=100, help="How many plans to show, the best included.")
    ] = 8,
    set_: Settings = None,
    scenario: Scenario = None,
    output: StudyFolder = None,
    as_json: AsJson = False,
    gap: Gap = "2e-6",
    time_limit: StudyTimeLimit = None,
    solver: ChosenSolver = Solver.highs,
    quiet: Quiet = False,
) -> None:
    """Find plans nearly as good as the best that differ from it: in vendors, GPUs, counts, money.
    With -o it writes PROBLEM.alternatives.xlsx.
    """
    from planner.commands.alternatives import report

    options = running_options(solver, gap, time_limit)
    found = report(
        problem,
        options,
        within=share("--within", within),
        most=most,
        settings=tuple(set_ or ()),
        scenario=scenario,
        folder=output,
        as_json=as_json,
    )
    say(found.text)
    tell(found.written, quiet)
    raise typer.Exit(found.code)


@app.command()
def audit(
    workbook: Annotated[
        Path, typer.Argument(help="Workbook that planner wrote.", show_default=False)
    ],
    as_json: AsJson = False,
    gap: Annotated[
        str, typer.Option(help="Largest gap to prove of the plan compared with.")
    ] = "2e-6",
    time_limit: Annotated[
        str | None, typer.Option(help="Stop solving with the best plan so far, e.g. '30 s'.")
    ] = None,
    solver: ChosenSolver = Solver.highs,
    solve_again: Annotated[
        bool,
        typer.Option(
            "--solve/--no-solve", help="Compare with the best plan under the edited inputs."
        ),
    ] = True,
) -> None:
    """Read an edited workbook back: what changed, which limits break, how far from the best plan.
    Exit code 3 where the edited plan breaks a limit.
    """
    from planner.commands.audit import report

    options = solver_options(solver, gap, time_limit)
    text, code = report(workbook, options, as_json=as_json, solve_again=solve_again)
    say(text)
    raise typer.Exit(code)


@app.command()
def verify(
    plan: Annotated[
        Path,
        typer.Argument(help="PROBLEM.plan.json that planner solve wrote.", show_default=False),
    ],
    solve_again: Annotated[
        bool,
        typer.Option("--solve/--no-solve", help="Solve for the bound again with the other solver."),
    ] = True,
    time_limit: Annotated[
        str | None, typer.Option(help="Stop solving with the bound so far, e.g. '2 min'.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a plan file: every figure and limit computed again, prices against the catalogs it
    names, the bound proven again by the other solver. What could not be checked is said.
    Exit code 3 where anything does not hold.
    """
    from planner.commands.verify import report

    text, code = report(
        plan,
        as_json=as_json,
        solve_again=solve_again,
        time_limit_s=seconds("--time-limit", time_limit),
    )
    say(text)
    raise typer.Exit(code)


@app.command()
def explain(
    problem: ProblemFile,
    set_: Settings = None,
    scenario: Scenario = None,
    step: Annotated[
        list[str] | None,
        typer.Option(
            help="How far to move a limit: --step site.facility_power='1 kW'. Repeatable.",
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
            help="Without a plan: what changing a limit counts beside others. Repeatable.",
            metavar="PATH=NUMBER",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Without a plan: a limit that must stay. Repeatable.", metavar="PATH"),
    ] = None,
    output: StudyFolder = None,
    as_json: AsJson = False,
    gap: Gap = "2e-6",
    time_limit: StudyTimeLimit = None,
    solver: ChosenSolver = Solver.highs,
    quiet: Quiet = False,
) -> None:
    """Explain the best plan: what binds, what one more unit is worth, why nothing else.
    Without a plan: which limits cannot hold together, and the least changes that help.
    """
    from planner.commands.explain import report, weights

    options = running_options(
        solver, gap, time_limit, weights=weights(weight or ()), keep=tuple(keep or ())
    )
    found = report(
        problem,
        options,
        settings=tuple(set_ or ()),
        scenario=scenario,
        steps=step or (),
        asked=why_not or (),
        folder=output,
        as_json=as_json,
    )
    say(found.text)
    tell(found.written, quiet)
    raise typer.Exit(found.code)


cli_telemetry.register(app)
cli_synthesis.register(app)
cli_simulation.register(app)
cli_sensitivity.register(app)


@app.command()
def schema(
    name: Annotated[SchemaName, typer.Argument(help="Which file.", show_default=False)],
) -> None:
    """Print the JSON Schema of a file, for editors."""
    from planner.commands.schema import document

    say(document(name.value), nl=False)


@app.command()
def init(
    example: Annotated[str, typer.Argument(help="A shipped example problem.")] = "10MW",
    output: Output = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a shipped example problem to start from."""
    from planner.commands.init import write_example

    path = write_example(example, output, force=force)
    say(f"wrote {path}; next: planner solve {path}", err=True)


CatalogFiles = Annotated[
    list[Path] | None,
    typer.Argument(help="Catalog files or names of shipped ones; default: all shipped."),
]


@catalog_app.command("list")
def catalog_list(files: CatalogFiles = None, as_json: AsJson = False) -> None:
    """List the items of the catalogs with their prices."""
    from planner.commands.catalog import listing

    say(listing(tuple(files or ()), as_json=as_json))


@catalog_app.command("show")
def catalog_show(
    item: Annotated[str, typer.Argument(help="Item id.", show_default=False)],
    files: CatalogFiles = None,
    as_json: AsJson = False,
) -> None:
    """Show every figure of an item with its source and confidence."""
    from planner.commands.catalog import details

    say(details(item, tuple(files or ()), as_json=as_json))


@catalog_app.command("check")
def catalog_check(files: CatalogFiles = None, as_json: AsJson = False) -> None:
    """Validate catalogs: shapes, sources, and what hardware cannot be."""
    from planner.commands.catalog import check as check_catalogs

    text, faulty = check_catalogs(tuple(files or ()), as_json=as_json)
    say(text)
    raise typer.Exit(2 if faulty else 0)


def main() -> None:
    """Run the command line; expected failures are one line each, the rest exit code 1."""
    open_closed_streams()
    _settle_in()
    follow()
    interrupts.heed()
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


def _settle_in() -> None:
    """Spare a short process what it does not need: thread pools, plug-ins, frequent collections."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.set_threshold(100_000, 50, 50)


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
    except Exception as error:
        return _unexpected(error)


def _interrupted() -> int:
    """Say what is there of a command that was interrupted, and how to go on."""
    interrupts.heard()
    from planner.commands.solve import listed
    from planner.whole_files import put_in_place

    written = listed(put_in_place)
    kept = f"{written} had been written" if written else "nothing was written or changed"
    again = "the same command starts from the beginning"
    say(f"planner: interrupted: {kept}; {again}", err=True)
    return StoppedError.exit_code


def _unexpected(error: Exception) -> int:
    usage = getattr(error, "format_message", None)  # click's own, which typer may bring along
    if usage is not None:
        text = str(usage())
        if text.startswith("Usage:"):  # nothing was asked for: the whole help
            say(text, err=True)
            return 2
        text = text.replace("Value error, ", "").rstrip(".").replace("\n", " ")
        say(f"planner: {text}; see planner --help [usage]", err=True)
        return 2
    if os.environ.get("PLANNER_DEBUG"):
        raise error
    say(f"planner: internal error: {type(error).__name__}: {error}", err=True)
    say("planner: set PLANNER_DEBUG=1 for the traceback, and please report it", err=True)
    return 1
