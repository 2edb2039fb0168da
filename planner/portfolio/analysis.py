"""Questions about a portfolio: marginal values, least relaxations, sweeps, simulation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from planner.errors import Finding, InputError
from planner.optimizer.counts import value_of
from planner.portfolio.inputs import Instance, TrainingColumn, load
from planner.portfolio.model import Program
from planner.portfolio.plan import solve
from planner.portfolio.purchases import Limit
from planner.portfolio.schema import JobRun, PortfolioPlan, Use
from planner.portfolio.search import Search
from planner.portfolio.views import MAIN, UNITS, binds, label
from planner.report import formats
from planner.report.blocks import Heading, Table, Text, figures, words
from planner.report.exports import csv_text
from planner.report.screen import show
from planner.simulation.job import JobRun as SimulatedJob
from planner.simulation.job import Law
from planner.simulation.run import simulate as simulate_job

STEPS = {"MUSD": 1.0, "kW": 100.0, "racks": 1.0, "kg": 1000.0, "PFLOP/s": 1.0, "T": 0.1}
"""Step of a limit, by its unit; at least a hundredth of it."""
MISSED = 1e-6
YEAR_S = 365.0 * 86_400.0


class Marginal(NamedTuple):
    """Marginal value of a limit: effect of moving it by a step."""

    limit: str
    step: float
    unit: str
    change: float | None
    text: str


# Explain


def explain(
    instance: Instance, plan: PortfolioPlan, *, gap: float | None = None, limit_s: float = 30.0
) -> list[Marginal]:
    """The marginal value of each binding limit, by solving again with it moved a step.

    Limits of a site over all periods are moved together.
    """
    groups = {_group(use): use for use in reversed(plan.uses) if binds(use)}
    found = [_marginal(instance, plan, use, gap, limit_s) for use in reversed(groups.values())]
    return sorted(found, key=lambda each: -abs(each.change or 0.0))


def _group(use: Use) -> tuple[str, str | None, int | None]:
    return use.name, use.site, None if use.site else use.period


def _marginal(
    instance: Instance, plan: PortfolioPlan, use: Use, gap: float | None, limit_s: float
) -> Marginal:
    floor = "_of_" in use.name
    step = max(STEPS.get(use.unit, 1.0), 0.01 * use.limit)

    def moved(limit: Limit) -> float:
        same = _group(limit.use(0.0)) == _group(use)
        return limit.most + (-step if floor else step) * same

    program = Program(instance, moved=moved)
    answer = Search(program, gap=gap, time_limit_s=limit_s).solve(cheapest=False)
    name = label(use.model_copy(update={"period": _group(use)[2]}))
    amount = f"{name} binds: {step:,.4g} {use.unit} {'less' if floor else 'more'}"
    if not answer.worth or plan.best is None:
        return Marginal(name, step, use.unit, None, f"{amount} gave no plan in time")
    scale = 1e6 if plan.objective in ("cost", "tco") else 1.0
    change = answer.worth[0] * scale - plan.best
    share = 100.0 * change / max(abs(plan.best), 1e-9)
    text = f"{amount} gives {change:+,.4g} {UNITS[plan.objective]} ({share:+.2f} %)"
    if abs(share) < 100 * (plan.gap or 0.0) + 1e-6:
        text = f"{amount} changes nothing beyond the gap"
    return Marginal(name, step, use.unit, change, text)


def explanation(plan: PortfolioPlan, found: Sequence[Marginal]) -> str:
    """The screen of an explanation."""
    idle = len([use for use in plan.uses if not binds(use)])
    texts = [each.text for each in found] or ["no limit binds: whole numbers alone decide"]
    notes = (f"Non-binding: {idle} limits.", *(f"{j.job}: {j.note}" for j in plan.jobs if j.note))
    binding = Text(tuple(texts), "Binding limits, each moved a step and solved again", points=True)
    return show([Heading(f"{plan.problem}: binding limits"), binding, Text(notes)], full=True)


# No plan


def relaxations(instance: Instance, *, limit_s: float = 60.0) -> tuple[str, ...]:
    """The least changes of limits that together give a plan, as sentences."""
    program = Program(instance, elastic=True)
    found = Search(program, gap=1e-3, time_limit_s=limit_s).least_missed()
    if not found:
        return (
            "no change of budgets, power, racks, floors or tokens alone gives a plan: see "
            "storage capacity, restore time, what a replica needs, and windows",
        )
    texts = []
    for limit in program.limits:
        missed = value_of(program.missed[limit.key], found) * max(abs(limit.most), 1e-9)
        if missed > MISSED * max(abs(limit.most), 1e-9):
            most = limit.most - missed if limit.floor else limit.most + missed
            name, sense = label(limit.use(most)), "at most" if limit.floor else "at least"
            texts.append(f"{name}: {sense} {most:,.6g} {limit.unit}, now {limit.most:,.6g}")
    return tuple(texts)


# Sweeps


def sweep(
    path: Path,
    vary: Sequence[str],
    settings: tuple[str, ...] = (),
    *,
    gap: float | None = None,
    time_limit_s: float | None = None,
    progress: Callable[[int, int], None] = lambda done, asked: None,
) -> list[PortfolioPlan]:
    """The plan of each point of a grid over any inputs of the problem file.

    Args:
        path: the problem file.
        vary: ``PATH=a,b,c`` with units, each an axis of the grid.
        settings: changes of all points.
        gap: where to stop, as a share.
        time_limit_s: how long to search for each plan.
        progress: called with the numbers of plans done and of all.

    Raises:
        InputError: a setting is not of that form, or does not fit the file.
    """
    axes = []
    for text in vary:
        name, equals, values = text.partition("=")
        if not equals or not values or ":" in values:
            fix = "write --vary budget.capex.total=100MUSD,150MUSD,200MUSD"
            raise InputError(Finding("vary", f"'{text}' is no PATH=a,b,c", fix=fix))
        axes.append([f"{name}={value.strip()}" for value in values.split(",")])
    points, found = list(itertools.product(*axes)), []
    for number, point in enumerate(points):
        instance = load(path, (*settings, *point))
        found.append(solve(instance, gap=gap, time_limit_s=time_limit_s))
        progress(number + 1, len(points))
    return found


def sweep_csv(plans: Sequence[PortfolioPlan], axes: int) -> bytes:
    """A sweep as CSV: the inputs varied, the figures, units of GPU systems and storage."""
    items = sorted({o.item for plan in plans for o in plan.orders if o.category in MAIN})
    values: dict[str, Sequence[Any]] = {}
    for column in range(-axes, 0):
        settings = [plan.settings[column].partition("=") for plan in plans]
        values[settings[0][0]] = [value for _, _, value in settings]
    for name in ("status", "value", "bound", "gap", "capex_usd", "tco_usd"):
        values[name] = [getattr(plan, name) for plan in plans]
    for sku in items:
        values[sku] = [sum(o.quantity for o in p.orders if o.item == sku) for p in plans]
    return csv_text(values).encode()


def sweep_screen(plans: Sequence[PortfolioPlan], axes: int) -> str:
    """A sweep as a table."""
    columns = (
        words("scenario", (", ".join(plan.settings[-axes:]) for plan in plans)),
        words("status", (plan.status for plan in plans)),
        figures("value", (plan.value for plan in plans), 2),
        figures("capex MUSD", ((plan.capex_usd or 0.0) / 1e6 for plan in plans), 2),
        words("gap", (formats.gap(plan.gap) for plan in plans)),
    )
    table = Table(f"Sweep: {UNITS[plans[0].objective]}", columns)
    return show([Heading("Portfolio sweep"), table], full=True)


# Simulation


class Simulated(NamedTuple):
    """Goodput of a run as planned and as simulated, ± 95 %."""

    run: JobRun
    planned: float
    simulated: float
    margin: float


def simulate(
    instance: Instance,
    plan: PortfolioPlan,
    *,
    length_s: float = 2.0 * YEAR_S,
    replications: int = 20,
    seed: int = 1,
) -> Iterator[Simulated]:
    """Yield each different run of a training job, from failure to failure with its own share.

    Shares are hard: a job waits for its own bandwidth alone, which lending idle shares betters.
    """
    seen: set[tuple[object, ...]] = set()
    columns: dict[tuple[str, str], TrainingColumn] = {}
    for column in instance.columns:
        if isinstance(column, TrainingColumn):
            columns[instance.portfolio.jobs[column.job].name, column.way.id] = column
    for run in plan.runs:
        shares = (run.interval_s, run.delivered_write_gb_per_s, run.delivered_read_gb_per_s)
        key = run.job, run.item, run.gpus, *(round(each or 0.0, 3) for each in shares)
        there = columns.get((run.job, run.way))
        if there is not None and there.case.job.repair is None and key not in seen:
            seen.add(key)
            yield _simulated(there, run, length_s, replications, seed)


def _simulated(
    column: TrainingColumn, run: JobRun, length_s: float, replications: int, seed: int
) -> Simulated:
    assert run.interval_s and run.goodput
    assert run.delivered_write_gb_per_s and run.delivered_read_gb_per_s
    work, job, gpus = column.work, column.case.job, float(run.gpus)
    copies = work.fan_out[0] + work.fan_out[1] * gpus
    simulated = SimulatedJob(
        name=run.job,
        interval_s=run.interval_s,
        stall_s=work.stall_s(gpus),
        drain_s=job.checkpoint_gb / run.delivered_write_gb_per_s,
        restart_s=job.restart_s,
        restore_s=copies * job.checkpoint_gb / run.delivered_read_gb_per_s,
        failures=Law(86_400.0 / (work.failures_per_gpu_day * gpus)),
    )
    found = simulate_job([simulated], length_s, replications, seed)
    kept = np.asarray(found["kept"][0]) / length_s * job.progress
    margin = 1.96 * float(kept.std(ddof=1)) / math.sqrt(replications)
    return Simulated(run, run.goodput, float(kept.mean()), margin)


def simulation_screen(plan: PortfolioPlan, found: Sequence[Simulated]) -> str:
    """Simulated goodput beside the plan's."""
    columns = (
        words("job", (each.run.job for each in found)),
        words("site", (each.run.site for each in found)),
        figures("GPUs", (each.run.gpus for each in found)),
        figures("plan %", (100 * each.planned for each in found), 3),
        figures("simulated %", (100 * each.simulated for each in found), 3),
        figures("± 95 %", (100 * each.margin for each in found), 3),
    )
    note = "Lending idle shares betters this by up to a point; jobs with repair are left out."
    table = Table("Goodput, each job with its guaranteed share", columns, notes=(note,))
    return show([Heading(f"{plan.problem}: simulation"), table], full=True)
