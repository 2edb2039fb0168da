"""Analyses of problems of several jobs, sites or periods, and the files of their plans."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from planner.errors import Finding, InputError, NoPlanError, NoSystemError
from planner.files import write_all
from planner.library import solve_portfolio
from planner.report import formats
from planner.report.blocks import Column, Heading, Table, Text, figures, words
from planner.results import Printed, Target, Writer, created_today
from planner.schema.analysis import Check, Verification
from planner.shipped import __version__
from planner.sources import Settings, as_texts
from planner.terminal import Progress, ignore
from planner.units import seconds, whole

if TYPE_CHECKING:
    from planner.portfolio.instance import Instance
    from planner.portfolio.schema import JobRun, PortfolioPlan, TrainingJob, Use
    from planner.portfolio.totals import Totals
    from planner.simulation.shared import SharingJob

STEPS = {"MUSD": 1.0, "kW": 100.0, "racks": 1.0, "kg": 1000.0, "PFLOP/s": 1.0, "T": 0.1}
"""Step of a limit, by its unit; at least a hundredth of it."""


def describe(problem: Path, settings: Sequence[str], scenario: str | None) -> str:
    """The parts of a valid portfolio, counted.

    Raises:
        InputError: something in it is wrong.
    """
    from planner.portfolio.inputs import load

    found = load(problem, tuple(settings), scenario)
    parts = (found.places, "site"), (found.portfolio.jobs, "job"), (found.periods, "period")
    counts = ", ".join(formats.count_noun(len(each), noun) for each, noun in parts)
    return f"{counts}; {len(found.columns)} ways to place the jobs"


# Plans and their files


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


def _opened(
    path: Path,
    settings: Settings = None,
    scenario: str | None = None,
    time_limit: str | None = None,
) -> tuple[Instance, PortfolioPlan]:
    """The instance of a plan file, or of a problem file that is solved, and its plan."""
    from planner.portfolio.inputs import load
    from planner.portfolio.plan import read_plan

    if path.suffix != ".json":
        solving: dict[str, Any] = {"settings": settings, "scenario": scenario}
        plan = solve_portfolio(path, time_limit=time_limit, **solving)
        return load(path, as_texts(settings), scenario), plan
    plan = read_plan(path)
    named = Path(plan.problem_file)
    problem = next(filter(Path.is_file, (path.with_name(named.name), named)), None)
    if problem is None:
        message = f"the problem file {named.name} is not beside the plan"
        fix = "put the plan beside its problem"
        raise InputError(Finding("plan", message, str(path), fix=fix))
    return load(problem, plan.settings, plan.scenario), plan


def verify(path: Path, *, progress: Progress = ignore) -> Verification:
    """The check of a saved plan by its problem file, which has to be beside it."""
    from planner.portfolio.check import faults

    instance, plan = _opened(path)
    wrong, what = tuple(faults(instance, plan)), f"{len(plan.orders)} orders, {len(plan.runs)} runs"
    text = f"{what}: {'figures or limits are wrong' if wrong else 'everything agrees'}"
    result: Literal["fails", "holds"] = "fails" if wrong else "holds"
    check = Check(name="figures", result=result, text=text, findings=wrong)
    return Verification(plan=str(path), problem=plan.problem, result=result, checks=(check,))


# Marginal values


class Marginal(NamedTuple):
    """Marginal value of a limit: effect of moving it by a step."""

    limit: str
    step: float
    unit: str
    change: float | None
    text: str


def explain(
    path: Path,
    *,
    settings: Settings = None,
    scenario: str | None = None,
    time_limit: str | None = None,
    progress: Progress = ignore,
) -> Printed | PortfolioPlan:
    """The marginal value of each binding limit, or the plan with the least relaxations."""
    instance, plan = _opened(path, settings, scenario, time_limit)
    if not plan.runs:
        return plan
    found = marginal_values(instance, plan)
    idle = len([use for use in plan.uses if not use.binding])
    texts = [each.text for each in found] or ["no limit binds: whole numbers alone decide"]
    notes = (f"Non-binding: {idle} limits.", *(f"{j.job}: {j.note}" for j in plan.jobs if j.note))
    binding = Text(tuple(texts), "Binding limits, each moved a step and solved again", points=True)
    heading = Heading(f"{plan.problem}: binding limits")
    return Printed([heading, binding, Text(notes)], [each._asdict() for each in found])


def marginal_values(
    instance: Instance, plan: PortfolioPlan, *, limit_s: float = 30.0
) -> list[Marginal]:
    """The marginal value of each binding limit, by solving again with it moved a step.

    Limits of a site, and floors of a job, are moved over all periods together. Large problems are
    solved with fractions of units, without and with the step.
    """
    from planner.portfolio.model import Program
    from planner.portfolio.search import Search
    from planner.portfolio.views import UNITS

    def best(use: Use, step: float) -> float | None:
        def moved(limit: Use) -> float:
            return limit.limit + step * (_group(limit) == _group(use))

        return Search(Program(instance, moved=moved), time_limit_s=limit_s).first_goal()

    found, groups = [], {_group(use): use for use in reversed(plan.uses) if use.binding}
    before = best(next(iter(groups.values())), 0.0) if groups else None
    for use in reversed(groups.values()):
        step = max(STEPS.get(use.unit, 1.0), 0.01 * use.limit)
        after = best(use, -step if use.is_floor else step)
        name, change = use.label(dated=_group(use)[2] is not None), None
        amount = f"{name} binds: {step:,.4g} {use.unit} {'less' if use.is_floor else 'more'}"
        text = f"{amount} gave no plan in time"
        if before is not None and after is not None:
            share = (after - before) / max(abs(before), 1e-9)
            change = (after - before) * (1e6 if plan.objective in ("cost", "tco") else 1.0)
            text = f"{amount} gives {change:+,.4g} {UNITS[plan.objective]} ({100 * share:+.2f} %)"
            text = text if abs(share) > 1e-4 else f"{amount} changes next to nothing"
        found.append(Marginal(name, step, use.unit, change, text))
    return sorted(found, key=lambda each: -abs(each.change or 0.0))


def _group(use: Use) -> tuple[str, str | None, int | None]:
    return use.name, use.site, None if use.site or use.is_floor else use.period


# Sweeps


def sweep(
    path: Path,
    vary: Sequence[str],
    *,
    settings: Settings = None,
    gap: str | None = None,
    time_limit: str | None = None,
    progress: Progress = ignore,
) -> Printed:
    """The plan of every point of a grid over inputs of the file, as a table.

    Args:
        vary: ``PATH=a,b,c`` with units, each an axis of the grid.

    Raises:
        InputError: nothing is varied, or an axis is not of that form or does not fit the file.
    """
    from planner.portfolio.views import UNITS
    from planner.report.exports import csv_text

    axes = []
    for text in vary:
        name, equals, values = text.partition("=")
        if not equals or not values or ":" in values:
            fix = "write --vary budget.capex.total=100MUSD,150MUSD,200MUSD"
            raise InputError(Finding("vary", f"'{text}' is no PATH=a,b,c", fix=fix))
        axes.append([f"{name}={value.strip()}" for value in values.split(",")])
    if not axes:
        raise InputError(Finding("vary", "nothing is varied", fix="give --vary"))
    points = list(itertools.product(*axes))
    plans: list[PortfolioPlan] = []
    for number, point in enumerate(points, start=1):
        options: dict[str, Any] = {"settings": (*as_texts(settings), *point), "gap": gap}
        try:
            plans.append(solve_portfolio(path, time_limit=time_limit, **options))
        except NoSystemError as error:
            plans.append(_infeasible(path, error))
        progress(number, len(points))
    columns = tuple(_sweep_columns(plans, points))
    notes = tuple(
        f"{', '.join(point)}: {'; '.join(plan.relaxations) or plan.message}"
        for point, plan in zip(points, plans, strict=True)
        if not plan.runs
    )
    goal = max(plan.objective for plan in plans)
    table = Table(f"Sweep: {UNITS.get(goal, 'no plan')}", columns, notes=notes)
    csv = csv_text({column.label: column.values for column in columns}).encode()
    rows = [plan.model_dump(mode="json") for plan in plans]
    return Printed([Heading("Portfolio sweep"), table], rows, {"sweep.csv": csv})


def _infeasible(path: Path, error: InputError) -> PortfolioPlan:
    """The plan of a point at which a job can run nowhere."""
    from planner.portfolio.schema import PortfolioPlan

    text, named = error.findings[0].message, {"problem": path.stem, "problem_file": path.name}
    none: dict[str, Any] = {"status": "infeasible", "objective": "", "solver": "", "message": text}
    return PortfolioPlan(version=__version__, **named, **none)


def _sweep_columns(
    plans: Sequence[PortfolioPlan], points: Sequence[Sequence[str]]
) -> Iterator[Column]:
    """Yield the inputs varied, the figures, units of GPU systems and storage."""
    from planner.portfolio.views import MAIN

    for axis in zip(*points, strict=True):
        yield words(axis[0].partition("=")[0], (each.partition("=")[2] for each in axis))
    yield words("status", (plan.status for plan in plans))
    units = {"value": "", "bound": "", "gap": "share", "capex_usd": "USD", "tco_usd": "USD"}
    for name, unit in units.items():
        yield figures(name, (getattr(plan, name) for plan in plans), unit)
    for sku in sorted({o.item for plan in plans for o in plan.orders if o.category in MAIN}):
        bought = (sum(o.quantity for o in p.orders if o.item == sku) for p in plans)
        yield figures(sku, (n if p.runs else None for n, p in zip(bought, plans, strict=True)))


# Simulation


class Simulated(NamedTuple):
    """Goodput of a job as planned, and as simulated ± ``margin`` (95 %).

    ``lent`` is the part of ``simulated`` that idle bandwidth of others brings; ``periods`` are
    those in which all jobs of the site run like this.
    """

    run: JobRun
    periods: tuple[int, ...]
    planned: float
    simulated: float
    margin: float
    lent: float


def simulate(
    path: Path, *, length: str, replications: int, seed: int, progress: Progress = ignore
) -> Printed:
    """The goodput of each job, the jobs of a site simulated together from failure to failure."""
    length_s, seed = seconds("--length", length), whole("--seed", seed, 0)
    runs, (instance, plan) = whole("--replications", replications, 2), _opened(path)
    made = simulated(instance, plan, length_s=length_s, replications=runs, seed=seed)
    found = sorted(made, key=lambda each: (each.run.job, each.periods))
    if not found:
        raise NoPlanError(f"{plan.problem}: no training job runs, so nothing to simulate")
    points = [100 * (each.simulated - each.planned) for each in found]
    columns = (
        words("job", (each.run.job for each in found)),
        words("periods", (formats.spans(each.periods) for each in found)),
        words("site", (each.run.site for each in found)),
        figures("GPUs", (each.run.gpus for each in found)),
        figures("plan %", (100 * each.planned for each in found), 3),
        figures("simulated %", (100 * each.simulated for each in found), 3),
        figures("± 95 %", (100 * each.margin for each in found), 3),
        words("difference", (f"{round(each, 3) + 0.0:+.3f}" for each in points)),
        words("by lending", (f"{100 * each.lent:+.3f}" for each in found)),
    )
    note = "The plan counts on guaranteed shares of write bandwidth; a simulation lends idle ones."
    table = Table("Goodput, all jobs of a site together", columns, notes=(note,))
    rows = [each._asdict() | {"run": each.run.model_dump(mode="json")} for each in found]
    return Printed([Heading(f"{plan.problem}: simulation"), table], rows)


def simulated(
    instance: Instance, plan: PortfolioPlan, *, length_s: float, replications: int, seed: int = 1
) -> Iterator[Simulated]:
    """Yield the training jobs of each site, simulated together once for periods like each other."""
    from planner.portfolio.check import delivered
    from planner.portfolio.totals import Totals
    from planner.simulation.shared import simulate_together

    totals = Totals(instance, plan)
    sites: dict[tuple[object, ...], list[list[JobRun]]] = {}
    for site, period in totals.halls:
        here = [run for run in plan.runs if (run.site, run.period) == (site, period)]
        runs = [run for run in here if run.goodput is not None]
        same = ((run.job, run.item, run.gpus, f"{run.goodput:.4f}") for run in runs)
        sites.setdefault((site, *same), []).append(runs)
    for runs, *others in filter(lambda same: same[0], sites.values()):
        site, period = runs[0].site, runs[0].period
        read, write = delivered(totals.basis[site], totals.halls[site, period].cluster)
        jobs, owns = zip(*(_sharing(totals, run) for run in runs), strict=True)
        read -= math.fsum(own.ingest_demand_gb_per_s for own in owns)
        read = max(read, *(job.read for job in jobs))
        kept = simulate_together(jobs, write, read, length_s, replications, seed)
        periods = (period, *(other[0].period for other in others))
        for run, own, lent, fixed in zip(runs, owns, *kept, strict=True):
            share = (1.0 - own.lost_time) / length_s
            margin = 1.96 * share * float(lent.std(ddof=1)) / math.sqrt(replications)
            means = share * float(lent.mean()), margin, share * float((lent - fixed).mean())
            yield Simulated(run, periods, run.goodput or 0.0, *means)


def _sharing(totals: Totals, run: JobRun) -> tuple[SharingJob, Any]:
    """A training job of a plan as it is simulated, and the figures of its operation."""
    from planner.portfolio.check import operation
    from planner.simulation.job import Law, job_of
    from planner.simulation.shared import SharingJob
    from planner.verifier.basis import Findings
    from planner.verifier.physics import usable_gpus

    own = operation(totals, run, cast("TrainingJob", totals.jobs[run.job]), Findings())
    f, fixed = own.f, {"name": run.job, "drain_slowdown": 0.0, "mode": "async"}
    job: Any = SimpleNamespace(**fixed, **vars(f), interval_s=run.interval_s, gpus_used=run.gpus)
    job.usable_gpus_by_type = {run.item: usable_gpus(own.job, own.types[0])}
    job.repair = None if f.repair is None else SimpleNamespace(**f.repair, shrunk=None)
    rates = f.delivered_write_gb_per_s, f.client_write_limit_gb_per_s, f.delivered_read_gb_per_s
    return SharingJob(job_of(job, Law(f.mtti_s)), *rates), f
