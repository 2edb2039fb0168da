"""The commands for problems of several jobs, sites or periods."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.atomic_files import write_all
from planner.commands.files import EXIT_CODES, created_today, list_written
from planner.errors import Finding, InputError
from planner.terminal import say, show_progress

if TYPE_CHECKING:
    from planner.analysis.request import Request
    from planner.portfolio.schema import PortfolioPlan

_MAYBE = re.compile(rb"\b(sites|periods)\b|\bjobs\b(?:[\s\S]*?\bname\b){2}")
_PLAN = b'"kind": "portfolio"'
_READ_BYTES, _MOST_BYTES = 200, 5_000_000


def is_portfolio(path: Path) -> bool:
    """Whether a file is a problem of several jobs, sites or periods, or its plan."""
    if path.suffix not in (".json", ".yaml", ".yml") or not path.is_file():
        return False
    try:
        with path.open("rb") as stream:
            raw = stream.read(_READ_BYTES if path.suffix == ".json" else _MOST_BYTES)
    except OSError:
        return False  # reading it again says what is the matter
    if path.suffix == ".json":
        return _PLAN in raw
    if not _MAYBE.search(raw):
        return False
    from planner.loader import yaml12

    try:
        data = yaml12.read(path).data
    except InputError:
        return False
    jobs = data.get("jobs") if isinstance(data, dict) else None
    several = isinstance(jobs, tuple) and len(jobs) > 1
    return isinstance(data, dict) and (bool({"sites", "periods"} & data.keys()) or several)


def refuse(command: str, path: Path) -> None:
    """Refuse a command that is for one job at one site.

    Raises:
        InputError: the file is a portfolio.
    """
    if is_portfolio(path):
        message = f"planner {command} is for one job at one site"
        fix = "of a portfolio there are solve, check, verify, explain, sweep (a grid) and simulate"
        raise InputError(Finding("portfolio", message, str(path), fix=fix))


def refuse_options(given: Mapping[str, object]) -> None:
    """Refuse options that a command does not have for a portfolio.

    Raises:
        InputError: one has a value.
    """
    names = [name for name, value in given.items() if value]
    if names:
        message = f"{', '.join(names)}: not for several jobs, sites or periods"
        fix = "leave it out; docs/portfolio.md says what there is"
        raise InputError(Finding("portfolio", message, fix=fix))


def check(problem: Path, settings: tuple[str, ...], scenario: str | None) -> str:
    """One line about a valid portfolio.

    Raises:
        InputError: something in it is wrong.
    """
    from planner.portfolio import api

    instance = api.load(problem, settings, scenario)
    counts = (
        (len(instance.places), "site"),
        (len(instance.portfolio.jobs), "job"),
        (len(instance.periods), "period"),
    )
    parts = [f"{number} {name}{'' if number == 1 else 's'}" for number, name in counts]
    return f"{problem}: valid; {', '.join(parts)}; {len(instance.columns)} ways to place the jobs"


def solve(request: Request, folder: Path, *, as_json: bool, full: bool, quiet: bool) -> int:
    """Solve a portfolio; print its plan and write workbook, JSON and page; return the exit code."""
    from planner.portfolio import api, views

    with show_progress("solve", quiet=quiet):
        _, plan = solved(request)
    written: list[Path] = []
    if plan.runs:
        stream, stem = io.BytesIO(), request.stem
        views.workbook(plan, stream, created_today())
        contents = {
            folder / f"{stem}.xlsx": stream.getvalue(),
            folder / f"{stem}.plan.json": api.to_json(plan),
            folder / f"{stem}.html": views.page(plan),
        }
        write_all(contents)
        written = list(contents)
    text = api.to_json(plan).decode() if as_json else views.screen(plan, full=full)
    say(text, nl=False)
    list_written(written, quiet=quiet)
    return _code(plan)


def _code(plan: PortfolioPlan) -> int:
    if plan.status == "limit":
        return EXIT_CODES["feasible" if plan.runs else "no_solution"]
    return EXIT_CODES[plan.status]


def verify(request: Request, *, as_json: bool) -> int:
    """Check a saved plan against its problem file, which has to stand beside it."""
    from planner.portfolio import api
    from planner.portfolio.check import faults

    path = request.paths[0]
    plan, problem = api.read_plan(path), _problem_of(path)
    wrong = faults(api.load(problem, plan.settings), plan)
    if as_json:
        say(json.dumps({"plan": str(path), "faults": list(wrong)}, indent=1))
    else:
        say(f"{plan.problem}: {len(plan.orders)} orders, {len(plan.runs)} runs, {problem.name}")
        say("\n".join(f"  wrong: {fault}" for fault in wrong) or "  everything agrees")
    return 3 if wrong else 0


def _problem_of(path: Path) -> Path:
    stem = path.name.removesuffix(".plan.json")
    for ending in (".yaml", ".yml"):
        problem = path.parent / f"{stem}{ending}"
        if problem.exists():
            return problem
    message = f"no problem file {stem}.yaml beside the plan"
    raise InputError(Finding("plan", message, str(path), fix="put the plan beside its problem"))


def solved(request: Request) -> tuple[Any, PortfolioPlan]:
    """The instance of a request and its plan: saved, or solved now."""
    from planner.portfolio import api
    from planner.portfolio.analysis import relaxations

    path = request.paths[0]
    if path.suffix == ".json":
        plan = api.read_plan(path)
        return api.load(_problem_of(path), plan.settings), plan
    instance = api.load(path, request.settings, request.scenario)
    plan = api.solve(
        instance, solver=request.solver, gap=request.gap, time_limit_s=request.time_limit_s
    )
    if plan.status == "infeasible":
        plan = plan.model_copy(update={"relaxations": relaxations(instance)})
    return instance, plan


def explain(request: Request, *, as_json: bool, quiet: bool) -> int:
    """Print the marginal value of each binding limit, or the least relaxation without a plan."""
    from planner.portfolio import analysis, views

    with show_progress("explain", quiet=quiet):
        instance, plan = solved(request)
        found = analysis.explain(instance, plan, gap=request.gap) if plan.runs else []
    if not plan.runs:
        say(views.screen(plan), nl=False)
        return _code(plan)
    if as_json:
        say(json.dumps([each._asdict() for each in found], indent=1))
    else:
        say(analysis.explanation(instance, plan, found), nl=False)
    return 0


def sweep(request: Request, vary: Sequence[str], *, quiet: bool) -> int:
    """Solve every point of a grid over inputs of the file; print a table and write it as CSV."""
    from planner.portfolio import analysis

    path = request.paths[0]
    with show_progress("sweep", "scenarios", quiet=quiet) as progress:
        points = analysis.sweep(
            path,
            vary,
            request.settings,
            gap=request.gap,
            time_limit_s=request.time_limit_s,
            progress=progress,
        )
    say(analysis.sweep_screen(points), nl=False)
    file = (request.folder or Path()) / f"{request.stem}.sweep.csv"
    write_all({file: analysis.sweep_csv(points)})
    list_written([file], quiet=quiet)
    return 0


def simulate(request: Request, *, length_s: float, runs: int, seed: int, quiet: bool) -> int:
    """Simulate each different run of a plan from failure to failure; print goodput beside it."""
    from planner.portfolio import analysis

    with show_progress("simulate", quiet=quiet):
        instance, plan = solved(request)
        found = list(
            analysis.simulate(instance, plan, length_s=length_s, replications=runs, seed=seed)
        )
    say(analysis.simulation_screen(plan, found), nl=False)
    return 0
