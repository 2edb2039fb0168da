"""Analyses of problems of several jobs, sites or periods, and the files of their plans."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from planner import units
from planner.errors import Finding, InputError
from planner.files import write_all
from planner.library import solve_portfolio
from planner.results import Printed, Target, Writer, created_today
from planner.sources import Settings, as_texts
from planner.terminal import Progress, ignore

if TYPE_CHECKING:
    from planner.portfolio.inputs import Instance
    from planner.portfolio.schema import PortfolioPlan


def describe(problem: Path, settings: Sequence[str], scenario: str | None) -> str:
    """The parts of a valid portfolio, counted.

    Raises:
        InputError: something in it is wrong.
    """
    from planner.portfolio.inputs import load
    from planner.report.formats import count_noun

    found = load(problem, tuple(settings), scenario)
    jobs = count_noun(len(found.portfolio.jobs), "job")
    sites, periods = (
        count_noun(len(each), noun)
        for each, noun in ((found.places, "site"), (found.periods, "period"))
    )
    parts = f"{sites}, {jobs}, {periods}"
    return f"{parts}; {len(found.columns)} ways to place the jobs"


def writer(audience: str) -> Writer:
    """The function that writes workbook, plan file and page; for customers the quotes alone.

    Raises:
        InputError: another audience.
    """
    if audience not in ("internal", "customer"):
        message, fix = f"--audience {audience}: not for a portfolio", "--audience customer"
        raise InputError(Finding("portfolio", message, fix=fix))
    return partial(_write_plan, inside=audience == "internal")


def _write_plan(target: Target, plan: PortfolioPlan, *, inside: bool) -> None:
    from planner.portfolio import views
    from planner.portfolio.plan import to_json

    if not plan.runs:
        return
    stream = io.BytesIO()
    views.workbook(plan, stream, created_today(), inside=inside)
    contents = {"xlsx" if inside else "customer.xlsx": stream.getvalue()}
    if inside:
        contents |= {"plan.json": to_json(plan), "html": views.page(plan)}
    write_all({target.file(end): data for end, data in contents.items()})


def _problem_of(plan: Path) -> Path:
    """The problem file beside a plan."""
    stem = plan.name.removesuffix(".plan.json")
    found = (plan.with_name(f"{stem}{ending}") for ending in (".yaml", ".yml"))
    if (problem := next(filter(Path.exists, found), None)) is not None:
        return problem
    message = f"no problem file {stem}.yaml beside the plan"
    raise InputError(Finding("plan", message, str(plan), fix="put the plan beside its problem"))


def _opened(
    path: Path,
    settings: Settings = None,
    scenario: str | None = None,
    time_limit: str | None = None,
) -> tuple[Instance, PortfolioPlan]:
    """The instance of a plan file, or of a problem file that is solved, and its plan."""
    from planner.portfolio.inputs import load
    from planner.portfolio.plan import read_plan

    if path.suffix == ".json":
        plan = read_plan(path)
        return load(_problem_of(path), plan.settings), plan
    plan = solve_portfolio(path, settings=settings, scenario=scenario, time_limit=time_limit)
    return load(path, as_texts(settings), scenario), plan


def verify(path: Path, *, progress: Progress = ignore) -> Printed:
    """The faults of a saved plan by its problem file, which has to be beside it."""
    from planner.portfolio.check import faults

    instance, plan = _opened(path)
    wrong = list(faults(instance, plan))
    lines = [
        f"{plan.problem}: {len(plan.orders)} orders, {len(plan.runs)} runs",
        *([f"  wrong: {fault}" for fault in wrong] or ["  everything agrees"]),
    ]
    data = {"plan": str(path), "faults": wrong}
    return Printed("\n".join(lines), data, "infeasible" if wrong else "optimal")


def explain(
    path: Path,
    *,
    settings: Settings = None,
    scenario: str | None = None,
    time_limit: str | None = None,
    progress: Progress = ignore,
) -> Printed | PortfolioPlan:
    """The marginal value of each binding limit, or the plan with the least relaxations."""
    from planner.portfolio import analysis

    instance, plan = _opened(path, settings, scenario, time_limit)
    if not plan.runs:
        return plan
    found = analysis.explain(instance, plan)
    return Printed(analysis.explanation(plan, found), [each._asdict() for each in found])


def sweep(
    path: Path,
    vary: Sequence[str],
    *,
    settings: Settings = None,
    gap: str | None = None,
    time_limit: str | None = None,
    progress: Progress = ignore,
) -> Printed:
    """The plan of every point of a grid over inputs of the file, as a table."""
    from planner.portfolio import analysis

    if not vary:
        raise InputError(Finding("vary", "nothing is varied", fix="give --vary"))
    plans = analysis.sweep(
        path,
        vary,
        as_texts(settings),
        gap=None if gap is None else units.share("--gap", gap),
        time_limit_s=None if time_limit is None else units.seconds("--time-limit", time_limit),
        progress=progress,
    )
    rows = [plan.model_dump(mode="json") for plan in plans]
    files = {"sweep.csv": analysis.sweep_csv(plans, len(vary))}
    return Printed(analysis.sweep_screen(plans, len(vary)), rows, files=files)


def simulate(
    path: Path, *, length: str, replications: int, seed: int, progress: Progress = ignore
) -> Printed:
    """The goodput of each different run of a plan, simulated from failure to failure."""
    from planner.portfolio import analysis

    length_s, runs = (
        units.seconds("--length", length),
        units.whole("--replications", replications, 2),
    )
    instance, plan = _opened(path)
    made = analysis.simulate(
        instance, plan, length_s=length_s, replications=runs, seed=units.whole("--seed", seed, 0)
    )
    found = list(made)
    rows = [each._asdict() | {"run": each.run.model_dump(mode="json")} for each in found]
    return Printed(analysis.simulation_screen(plan, found), rows)
