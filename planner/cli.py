"""The command line: words in, calls of the library, words out; no logic of its own."""

from __future__ import annotations

import gc
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from copy import copy
from datetime import datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from planner import __version__
from planner.cli_options import (
    AsJson,
    ChosenSolver,
    Full,
    Gap,
    Notes,
    Output,
    ProblemFile,
    Quiet,
    Scenario,
    Settings,
    Solver,
    TimeLimit,
    complete_examples,
    complete_items,
    complete_owned,
    running_options,
)
from planner.commands import EXIT_CODES, running
from planner.errors import Finding, InputError, PlannerError, StoppedError
from planner.studies.registry import BESIDE_PLANS, SCHEMAS, STUDIES
from planner.studies.study import Study
from planner.terminal import discard, follow, open_closed_streams, say

if TYPE_CHECKING:
    from typer.models import CommandInfo

app = typer.Typer(
    name="planner",
    help="Decide what to buy for an AI training cluster, to a proven gap.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
catalog_app = typer.Typer(help="Look at the catalogs.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(catalog_app, name="catalog")
quote_app = typer.Typer(help="Read vendors' quotes.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(quote_app, name="quote")


class BillFormat(StrEnum):
    """The formats of a bill for other programs."""

    csv = "csv"
    json = "json"


class AudienceName(StrEnum):
    """Whom files are for."""

    internal = "internal"
    customer = "customer"
    partner = "partner"


class PricesName(StrEnum):
    """Which prices a customer's files show."""

    none = "none"
    net = "net"
    list_and_net = "list+net"


# Choices that the registry names; only a literal would tell mypy which they are.
StudyKind = StrEnum("StudyKind", {kind: kind for kind in BESIDE_PLANS})  # type: ignore[misc]
SchemaName = StrEnum("SchemaName", {name: name for name in SCHEMAS})  # type: ignore[misc]


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
        Path | None,
        typer.Option(help="Write the integer program as MPS, or as LP where it ends in .lp."),
    ] = None,
    bill: Annotated[
        list[BillFormat] | None,
        typer.Option(
            help="Write the bill for quoting tools too: csv or json. Repeatable.", metavar="FORMAT"
        ),
    ] = None,
    cables: Annotated[
        bool,
        typer.Option(
            "--cables", help="Write PROBLEM.cables.csv, every link with its ends, and its sheet."
        ),
    ] = False,
    netbox: Annotated[
        bool,
        typer.Option(
            "--netbox", help="Write PROBLEM.netbox-*.csv: racks, devices and cables for NetBox."
        ),
    ] = False,
    audience: Annotated[
        AudienceName,
        typer.Option(
            help="Whom the files are for: all of it, net prices, or net prices and discounts. "
            "The screen is internal."
        ),
    ] = AudienceName.internal,
    prices: Annotated[
        PricesName | None,
        typer.Option(help="Which prices a customer's files show; net ones by default."),
    ] = None,
    study: Annotated[
        list[StudyKind] | None,
        typer.Option(
            help="Add sheets to the workbook: why, rules or alternatives. Repeatable.",
            metavar="STUDY",
        ),
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="Tell the bill line by line.")] = False,
    run: Annotated[bool, typer.Option("--run", help="Tell how the job runs, and limits.")] = False,
    network: Annotated[bool, typer.Option("--network", help="Tell the fabrics.")] = False,
    notes: Notes = False,
    proof: Annotated[bool, typer.Option("--proof", help="Tell bound, gap and solver.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Tell all of these.")] = False,
    quiet: Quiet = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the time taken; implies --proof.")
    ] = False,
) -> None:
    """Find the best plan; print it, and write PROBLEM.xlsx and PROBLEM.plan.json.
    With --audience customer: PROBLEM.customer.xlsx alone, with net prices and nothing internal.
    """
    options = running_options(solver, gap, time_limit, save_model=save_model, state_seconds=verbose)
    from planner import api
    from planner.commands.report import tell
    from planner.commands.solve import FOR_THE_PLAN, check_edition, deliver, sheets

    check_edition(audience.value, None if prices is None else prices.value)

    asked = {"lines": lines, "run": run, "network": network, "notes": notes}
    asked["proof"] = proof or verbose
    with running.show_progress("solve", quiet=quiet, deadline=options.deadline):
        inputs = api.load(problem, settings=tuple(set_ or ()), scenario=scenario)
        search = FOR_THE_PLAN if study else api.FOR_THE_SEARCH
        plan = api.solve_with(inputs, options, search=search, read_back=True)
        written = deliver(
            plan,
            inputs,
            problem,
            output,
            as_json=as_json,
            parts=[part for part, wanted in asked.items() if wanted or full],
            bills=tuple(kind.value for kind in bill or ()),
            cables=cables,
            netbox=netbox,
            audience=audience.value,
            prices=None if prices is None else prices.value,
            studies=list(sheets(inputs, plan, options, [kind.value for kind in study or ()])),
        )
    tell(written, quiet=quiet)
    raise typer.Exit(EXIT_CODES[plan.status])


@app.command()
def check(
    problem: ProblemFile,
    set_: Settings = None,
    scenario: Scenario = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="An example: list the settings that are still as it has them.", metavar="EXAMPLE"
        ),
    ] = None,
    as_json: AsJson = False,
    full: Full = False,
) -> None:
    """Validate a problem with its catalogs and prices; list every finding."""
    from planner.commands.problem import report_findings

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
            min=1, max=10_000_000, help="GPUs to size for; default: what the site can hold."
        ),
    ] = None,
    as_json: AsJson = False,
    notes: Notes = False,
    full: Full = False,
) -> None:
    """Show the sizing model without solving: sizes, intervals, what each rule would ask for."""
    from planner.commands.problem import report_sizes

    asked = {"notes": notes, "full": full}
    parts = tuple(part for part, wanted in asked.items() if wanted)
    text, strong = report_sizes(
        problem, tuple(set_ or ()), scenario, gpus, as_json=as_json, parts=parts
    )
    say(text, strong=strong)


def _register(study: Study) -> None:
    """Add the command of a study: its parameters are the study's options."""

    def run(**given: Any) -> None:
        from planner.commands.report import command

        raise typer.Exit(command(study, given))

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, kind, default, *_ in study.options
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    app.command(study.name, help=f"{study.help} {study.also}".rstrip())(run)


for each in STUDIES.values():
    _register(each)


@app.command()
def report(
    results: Annotated[
        list[Path],
        typer.Argument(
            help="What other commands wrote: PROBLEM.plan.json, PROBLEM.sweep.json, ...",
            show_default=False,
        ),
    ],
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", "-f", help="The HTML file to write; default: report.html.", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The HTML file, or a folder for report.html."),
    ] = None,
    audience: Annotated[
        AudienceName,
        typer.Option(help="Whom it is for: all of it, net prices, or net prices and discounts."),
    ] = AudienceName.internal,
    prices: Annotated[
        PricesName | None,
        typer.Option(help="Which prices a customer's report shows; net ones by default."),
    ] = None,
    curve: Annotated[
        bool,
        typer.Option("--curve", help="Compute the curve of work against storage: a minute a plan."),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Put plans, side by side, and studies into one HTML file that opens offline."""
    from planner.commands.report import tell
    from planner.commands.report_html import report as write_report

    with running.show_progress("report", "points at most", quiet=quiet) as progress:
        found = write_report(
            tuple(results),
            file,
            folder=output,
            audience=audience.value,
            prices=None if prices is None else prices.value,
            curve=curve,
            progress=progress,
        )
    say(found.text)
    tell(found.written, quiet=quiet)
    raise typer.Exit(found.code)


@app.command()
def explore(
    problem: ProblemFile,
    set_: Settings = None,
    scenario: Scenario = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; 0 for any that is free.")
    ] = 8400,
) -> None:
    """Explore a problem in a browser: sliders of its inputs, solved again at each move.
    Listens on this machine alone. Needs the extra 'web'.
    """
    from planner.commands.explore import serve

    serve(problem, tuple(set_ or ()), scenario, port, lambda url: say(f"{url}  (Ctrl-C ends it)"))


@app.command()
def schema(
    name: Annotated[SchemaName, typer.Argument(help="Which file.", show_default=False)],
) -> None:
    """Print the JSON Schema of a file, for editors."""
    from planner.studies.registry import json_schema

    say(json_schema(name.value), nl=False)


def _asked(words: str, **more: Any) -> Any:
    return typer.Option(help=words, show_default=False, **more)


@app.command()
def init(
    example: Annotated[
        str | None,
        typer.Argument(
            help="A shipped example to copy.",
            show_default=False,
            autocompletion=complete_examples,
        ),
    ] = None,
    name: Annotated[str | None, _asked("Name of the problem and its file.")] = None,
    power: Annotated[str | None, _asked("Power at the meter: '3 MW'.")] = None,
    pue: Annotated[str | None, _asked("Power at the meter by IT power; 1.25.")] = None,
    racks: Annotated[str | None, _asked("Racks that the room takes.")] = None,
    rack_power: Annotated[str | None, _asked("Power of a rack: '130 kW'.")] = None,
    budget: Annotated[str | None, _asked("What may be spent at once: '60 MUSD'.")] = None,
    model: Annotated[str | None, _asked("Parameters of the model to train: '405 B'.")] = None,
    tokens: Annotated[str | None, _asked("Tokens to train it on: '15 T'.")] = None,
    vendors: Annotated[str | None, _asked("Who may sell: 'DDN, VAST'.")] = None,
    own: Annotated[
        list[str] | None,
        _asked("ITEM=UNITS that is owned. Repeatable.", autocompletion=complete_owned),
    ] = None,
    prices: Annotated[str | None, _asked("Price book: a file, or a shipped one.")] = None,
    output: Output = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a problem to start from: your own, of a few answers, or a shipped example.

    Without any of them it asks on a terminal, and copies 10MW elsewhere.
    """
    from planner.commands.new_problem import Answers, ask_all, write_example, write_problem

    answers = Answers(name, power, pue, racks, rack_power, budget, model, tokens, vendors,
                      tuple(own or ()), prices)  # fmt: skip
    if example is not None and answers.any:
        message = f"an example ({example}) is copied as it is; answers make a problem of your own"
        raise InputError(Finding("usage", message, fix="give one or the other"))
    asks = sys.stdin.isatty() and sys.stdout.isatty()
    if example is None and (answers.any or asks):
        if asks:
            path = ask_all(answers, output, _prompt, partial(say, err=True), force=force)
        else:
            path = write_problem(answers, output, force=force)
    else:
        path = write_example(example or "10MW", output, force=force)
    say(f"wrote {path}; next: planner solve {path}", err=True)


def _prompt(words: str, otherwise: str) -> str:
    return str(typer.prompt(words, default=otherwise, show_default=bool(otherwise)))


CatalogFiles = Annotated[
    list[Path] | None,
    typer.Argument(help="Catalog files or names of shipped ones; default: all shipped."),
]


@catalog_app.command("list")
def catalog_list(
    files: CatalogFiles = None,
    unplannable: Annotated[
        bool,
        typer.Option(
            "--unplannable", help="Only what is known but cannot be planned, with what it lacks."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the items of the catalogs with their prices."""
    from planner.commands.catalog import listing

    say(listing(tuple(files or ()), as_json=as_json, unplannable=unplannable))


@catalog_app.command("show")
def catalog_show(
    item: Annotated[
        str,
        typer.Argument(help="Item id.", show_default=False, autocompletion=complete_items),
    ],
    files: CatalogFiles = None,
    as_json: AsJson = False,
) -> None:
    """Show every figure of an item with its source and confidence."""
    from planner.commands.catalog import details

    say(details(item, tuple(files or ()), as_json=as_json))


@catalog_app.command("check")
def catalog_check(
    files: CatalogFiles = None,
    prices: Annotated[
        list[Path] | None,
        typer.Option(
            help="Price book to check with them, a file or shipped name. Repeatable.",
            metavar="BOOK",
        ),
    ] = None,
    as_of: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"],
            help="The day on which prices are old or not; default: today.",
            metavar="DATE",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Validate catalogs and prices: shapes, sources, what hardware cannot be, prices below the bare
    drives; warn of prices older than six months.
    """
    from planner.commands.catalog import check as check_catalogs

    day = as_of.date() if as_of else None
    text, faulty = check_catalogs(tuple(files or ()), tuple(prices or ()), day, as_json=as_json)
    say(text)
    raise typer.Exit(2 if faulty else 0)


@app.command()
def rfq(
    problem: ProblemFile,
    set_: Settings = None,
    scenario: Scenario = None,
    answer_by: Annotated[str | None, typer.Option(help="When answers are due, as text.")] = None,
    valid_days: Annotated[
        int, typer.Option(min=1, max=3650, help="How long prices are to hold, days.")
    ] = 60,
    output: Output = Path(),
) -> None:
    """Write a neutral request for quotes, PROBLEM.rfq.xlsx: what the job needs, no product, no
    budget. Answers in it come back through planner quote import.
    """
    from planner.commands.quote import write_rfq

    with running.show_progress("rfq"):
        path = write_rfq(
            problem, tuple(set_ or ()), scenario, output, answer_by=answer_by, valid_days=valid_days
        )
    say(f"wrote {path}; answers come back with: planner quote import FILE --vendor NAME", err=True)


@quote_app.command("import")
def quote_import(
    file: Annotated[
        Path, typer.Argument(help="The vendor's file: .xlsx or .csv.", show_default=False)
    ],
    vendor: Annotated[str, typer.Option(help="Who quotes.", show_default=False)],
    map_: Annotated[
        Path | None, typer.Option("--map", help="How its files are laid out (.map.yaml).")
    ] = None,
    problem: Annotated[
        Path | None,
        typer.Option(help="The problem whose catalogs are meant; default: all shipped."),
    ] = None,
    date: Annotated[str | None, typer.Option(help="The quote's date, YYYY-MM-DD.")] = None,
    currency: Annotated[str | None, typer.Option(help="The quote's currency.")] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(help="USD for one of a currency, such as EUR=1.08.", metavar="CUR=USD"),
    ] = None,
    output: Output = Path(),
    as_json: AsJson = False,
) -> None:
    """Read a vendor's quote into a price book; say what was not understood and what is wrong in it.

    Writes FILE.prices.yaml, FILE.map.yaml for the next one, FILE.quote.json with every cell, and
    FILE.catalog.yaml for products that no catalog has.
    """
    from planner.commands.quote import Asking, import_quote, json_text
    from planner.outputs.bids_text import render_quote

    asking = Asking(vendor, map_, problem, date, currency, tuple(rate or ()))
    with running.show_progress("quote import"):
        quote, written = import_quote(file, asking, output)
    say(json_text(quote).rstrip("\n") if as_json else render_quote(quote))
    say("wrote " + ", ".join(str(path) for path in written), err=True)


def main() -> None:
    """Run the command line; expected failures are one line each, the rest exit code 1."""
    open_closed_streams()
    _settle_in()
    follow()
    running.catch_interrupts()
    _leave(_run(_as_asked(sys.argv[1:])))


def _as_asked(words: Sequence[str]) -> typer.Typer:
    """Return the application with the one command that is asked for, where words begin with one.

    The options of all twenty take 20 ms to make. Words that begin otherwise meet all: their help
    lists them, what is nearly one of them is suggested, and shells are offered their names.
    """
    commands = [each for each in app.registered_commands if words[:1] == [_name(each)]]
    groups = [each for each in app.registered_groups if words[:1] == [each.name]]
    if not commands and not groups:
        return app
    narrow = copy(app)
    narrow.registered_commands, narrow.registered_groups = commands, groups
    return narrow


def _leave(code: int) -> NoReturn:
    """End the process at once: taking the interpreter apart costs a tenth of a run, for nothing."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            reader_left = isinstance(error, BrokenPipeError)  # as with `| head`
            code = code if reader_left else 2
    os._exit(code)


EXAMPLES = {
    "solve": "planner solve 10MW.yaml --set budget.capex='150 MUSD' --lines",
    "check": "planner check 10MW.yaml --against 10MW",
    "size": "planner size 10MW.yaml --gpus 4096",
    "report": "planner report 10MW.plan.json 10MW.sweep.json --file 10MW.html",
    "explore": "planner explore 10MW.yaml",
    "schema": "planner schema problem",
    "init": "planner init --power '3 MW' --racks 24 --rack-power '130 kW' --model '405 B'",
    "rfq": "planner rfq 10MW.yaml",
    "catalog list": "planner catalog list --unplannable",
    "catalog show": "planner catalog show ddn_ai400x2_turbo",
    "catalog check": "planner catalog check my_storage.yaml",
    "quote import": "planner quote import acme.xlsx --vendor ACME",
}
"""A command as it is mostly given, which ends its help; that of a study is in its row."""


def _name(command: CommandInfo) -> str:
    """Return the word that asks for a command."""
    assert command.callback is not None
    return command.name or command.callback.__name__.replace("_", "-")


def _help_in_full() -> None:
    """Have lists of commands tell their first sentence whole, and commands end in an example."""
    for name, application in (("", app), ("catalog ", catalog_app), ("quote ", quote_app)):
        for command in application.registered_commands:
            assert command.callback is not None
            own = _name(command)
            said = " ".join((command.help or inspect.getdoc(command.callback) or "").split())
            command.short_help = said.split(". ")[0].rstrip(".") + "."
            study = STUDIES.get(own) if not name else None
            example = EXAMPLES[f"{name}{own}"] if study is None else study.example
            command.epilog = f"Example: {example}"


_help_in_full()


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
    """Say what is there of a command that was interrupted, and how to go on."""
    running.interrupt_handled()
    from planner.commands.solve import list_files
    from planner.whole_files import put_in_place

    written = list_files(put_in_place)
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
