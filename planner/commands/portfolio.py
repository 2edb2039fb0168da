"""The commands for problems of several jobs, sites or periods."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner import atomic_files, library
from planner.analysis.request import seconds, share, whole
from planner.atomic_files import write_all
from planner.errors import Finding, InputError
from planner.results import EXIT_CODES, Target, created_today, list_written
from planner.terminal import say, show_progress

if TYPE_CHECKING:
    from planner.portfolio.schema import PortfolioPlan


def check(problem: Path, settings: Sequence[str], scenario: str | None) -> str:
    """One line about a valid portfolio.

    Raises:
        InputError: something in it is wrong.
    """
    from planner.portfolio.inputs import load

    instance = load(problem, tuple(settings), scenario)
    counts = (
        (len(instance.places), "site"),
        (len(instance.portfolio.jobs), "job"),
        (len(instance.periods), "period"),
    )
    parts = [f"{number} {name}{'' if number == 1 else 's'}" for number, name in counts]
    return f"{problem}: valid; {', '.join(parts)}; {len(instance.columns)} ways to place the jobs"


def solve(target: Target, audience: str = "internal", **solving: Any) -> int:
    """Solve a portfolio; print its plan, write its files; return the exit code.

    Raises:
        InputError: an audience other than internal and customer.
    """
    if audience not in ("internal", "customer"):
        message, fix = f"--audience {audience}: not for a portfolio", "--audience customer"
        raise InputError(Finding("portfolio", message, fix=fix))
    from planner.portfolio import views
    from planner.portfolio.plan import to_json

    before = len(atomic_files.put_in_place)
    with show_progress("solve", quiet=target.quiet):
        plan = library.solve_portfolio(target.problem, scenario=target.scenario, **solving)
    if plan.runs:
        stream = io.BytesIO()
        inside = audience == "internal"
        views.workbook(plan, stream, created_today(), inside=inside)
        contents = {"xlsx" if inside else "customer.xlsx": stream.getvalue()}
        if inside:
            contents |= {"plan.json": to_json(plan), "html": views.page(plan)}
        write_all({target.file(end): data for end, data in contents.items()})
    text = to_json(plan).decode() if target.as_json else views.screen(plan, full=target.full)
    say(text, nl=False)
    list_written(before, quiet=target.quiet)
    return _code(plan)


def _code(plan: PortfolioPlan) -> int:
    if plan.status == "limit":
        return EXIT_CODES["feasible" if plan.runs else "no_solution"]
    return EXIT_CODES[plan.status]


def verify(target: Target) -> int:
    """Check a saved plan against its problem file, which has to be beside it."""
    from planner.portfolio.check import faults
    from planner.portfolio.inputs import load
    from planner.portfolio.plan import read_plan

    plan, problem = read_plan(target.problem), _problem_of(target.problem)
    wrong = faults(load(problem, plan.settings), plan)
    if target.as_json:
        say(json.dumps({"plan": str(target.problem), "faults": list(wrong)}, indent=1))
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


def _solved(target: Target, settings: Sequence[str] = (), **solving: Any) -> tuple[Any, Any]:
    """The instance of a problem or plan file, and its plan."""
    from planner.portfolio.inputs import load
    from planner.portfolio.plan import read_plan

    path = target.problem
    if path.suffix == ".json":
        plan = read_plan(path)
        return load(_problem_of(path), plan.settings), plan
    scenario = target.scenario
    plan = library.solve_portfolio(path, settings=settings, scenario=scenario, **solving)
    return load(path, tuple(settings), scenario), plan


def explain(target: Target, **solving: Any) -> int:
    """Print the marginal value of each binding limit, or the least relaxation without a plan."""
    from planner.portfolio import analysis, views

    with show_progress("explain", quiet=target.quiet):
        instance, plan = _solved(target, **solving)
        found = analysis.explain(instance, plan) if plan.runs else []
    if not plan.runs:
        say(views.screen(plan), nl=False)
        return _code(plan)
    if target.as_json:
        say(json.dumps([each._asdict() for each in found], indent=1))
    else:
        say(analysis.explanation(plan, found), nl=False)
    return 0


def sweep(
    target: Target,
    vary: Sequence[str],
    settings: Sequence[str],
    gap: str | None,
    time_limit: str | None,
) -> int:
    """Solve every point of a grid over inputs of the file; print a table and write it as CSV."""
    from planner.portfolio import analysis

    before = len(atomic_files.put_in_place)
    with show_progress("sweep", target.counts, quiet=target.quiet) as progress:
        points = analysis.sweep(
            target.problem,
            vary,
            tuple(settings),
            gap=None if gap is None else share("--gap", gap),
            time_limit_s=None if time_limit is None else seconds("--time-limit", time_limit),
            progress=progress,
        )
    say(analysis.sweep_screen(points), nl=False)
    write_all({target.file("sweep.csv"): analysis.sweep_csv(points)})
    list_written(before, quiet=target.quiet)
    return 0


def simulate(target: Target, *, length: str, replications: int, seed: int) -> int:
    """Simulate each different run of a plan from failure to failure; print its goodput."""
    from planner.portfolio import analysis

    length_s, runs = seconds("--length", length), whole("--replications", replications, 2)
    seed = whole("--seed", seed, 0)
    with show_progress("simulate", quiet=target.quiet):
        instance, plan = _solved(target)
        made = analysis.simulate(instance, plan, length_s=length_s, replications=runs, seed=seed)
        found = list(made)
    say(analysis.simulation_screen(plan, found), nl=False)
    return 0
