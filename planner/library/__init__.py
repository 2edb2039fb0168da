"""planner from Python: each function is the command of its name, without a screen and files.

A problem is a file, ``Inputs`` that ``load`` returned, or a ``Problem`` made in Python; a plan is a
file, or a ``Plan`` that ``solve`` returned. Results are the records that the commands print with
``--json``; ``print`` shows them as the screen does, a notebook as a page, and ``to_frame`` gives
their tables to pandas.

Options have the names, the defaults and the spelling of the command line: ``time_limit="30 s"``,
``gap="0.1 %"``. These are the same everywhere:

    settings: changes of the problem, as ``--set``: ``{path: value}`` or texts ``path=value``
    scenario: a named scenario of the problem file
    gap: largest gap to prove, as a share
    time_limit: of each solve, such as "30 s"; of explain and alternatives in all
    workers: number of processes, 0 for one per core; or the address of a Dask scheduler

Every function raises ``InputError`` where a file, a model or an option is wrong, and
``VerificationError`` where a plan does not agree with its independent re-computation.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from planner import api
from planner.analysis.request import bandwidth, one_of, seconds, share, whole
from planner.atomic_files import write_all
from planner.commands.files import created_today, example_file
from planner.commands.portfolio import is_portfolio, solved
from planner.errors import Finding, InputError
from planner.inputs import Inputs, inputs_to_text
from planner.library.sources import (
    File,
    PlanSource,
    ProblemSource,
    Settings,
    TraceSource,
    as_csv,
    as_texts,
    by_path,
    file_path,
    flat,
    in_files,
    in_memory,
    kind,
    record_of,
    request_of,
    text,
    varied,
)
from planner.report.plan_json import carrying
from planner.schema.bids import Bids
from planner.schema.comparison import Alternatives, Comparison, RulesTable
from planner.schema.explanation import Explanation
from planner.schema.plan import Plan
from planner.schema.sensitivity import Frontier, Sweep, Tornado, Uncertain
from planner.schema.simulation import Simulation
from planner.schema.size import SizeReport
from planner.schema.telemetry import Characterization
from planner.schema.verification import Audit, Verification
from planner.size import size_report

if TYPE_CHECKING:
    import pandas as pd

    from planner.portfolio.schema import PortfolioPlan

Solver = Literal["highs", "cbc"]
Against = Literal["storage", "cost", "power"]


class SweepTable(Sweep):
    """The record of a sweep with its rows: ``table`` has the columns by name, as the files do."""

    table: Mapping[str, tuple[Any, ...]] = Field(exclude=True, repr=False)


def load(problem: ProblemSource, *, settings: Settings = (), scenario: str | None = None) -> Inputs:
    """A problem with its catalogs and prices, validated, to use many times."""
    scenario = text(scenario, "the name of a scenario")
    if isinstance(problem, (str, os.PathLike)):
        path = file_path(problem, "a problem file")
        if is_portfolio(path):
            message = "several jobs, sites or periods are a portfolio"
            fix = "use planner.solve_portfolio(path)"
            raise InputError(Finding("portfolio", message, str(path), fix=fix))
        return api.load(path, settings=as_texts(settings), scenario=scenario)
    return in_memory(problem, settings, scenario)


def example(name: str = "10MW") -> Path:
    """The file of a problem that planner ships, to try things with.

    Args:
        name: such as ``10MW`` or ``enterprise_1MW``; ``planner init`` copies the same.
    """
    return example_file(text(name, "the name of an example") or "")


def solve(
    problem: ProblemSource,
    *,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    solver: Solver = "highs",
    explain_none: bool = True,
) -> Plan:
    """The best plan of a problem, verified, with its inputs as in the plan file.

    Args:
        solver: which solver proves it.
        explain_none: where there is no plan, whether to find out why, which takes longer.
    """
    inputs = load(problem, settings=settings, scenario=scenario)
    request = request_of((inputs,), gap=gap, time_limit=time_limit, solver=solver)
    options = request.running(explain=explain_none)
    return carrying(api.solve_with(inputs, options), inputs_to_text(inputs))


def solve_portfolio(
    problem: File,
    *,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    solver: Solver = "highs",
) -> PortfolioPlan:
    """The best plan for several jobs, sites or periods, verified.

    Without a plan its ``status`` is ``infeasible``, and ``relaxations`` has the least ones; or
    ``limit`` where the time limit came first.

    Args:
        solver: HiGHS, or CBC as a cross-check.
    """
    path = file_path(problem, "a problem file")
    return solved(request_of((path,), settings, scenario, gap, time_limit, solver=solver))[1]


def size(
    problem: ProblemSource,
    *,
    gpus: int | None = None,
    settings: Settings = (),
    scenario: str | None = None,
) -> SizeReport:
    """The sizing of a problem without solving: sizes, intervals, demands of each rule.

    Args:
        gpus: for so many GPUs; by default for the most that the site can hold.
    """
    if gpus is not None and (isinstance(gpus, bool) or not isinstance(gpus, int)):
        message = f"expected a whole number of GPUs, found {kind(gpus)}"
        raise InputError(Finding("option", message, fix="write for example gpus=4096"))
    return size_report(load(problem, settings=settings, scenario=scenario), gpus)


def write_workbook(plan: PlanSource, path: File) -> Path:
    """Write the workbook of a plan and return its path; it carries what ``audit`` reads.

    Args:
        plan: a plan file, or what ``solve`` returned.
        path: where it goes.
    """
    from planner.analysis.verification import open_plan
    from planner.workbook import write

    target = file_path(path, "the file of the workbook")
    paths, models = by_path((plan,), (), None)
    model = models.get(paths[0])
    opened = open_plan(paths[0], model if isinstance(model, Plan) else None)
    stream = io.BytesIO()
    write(opened.plan, stream, created=created_today(), inputs=opened.carried)
    write_all({target: stream.getvalue()})
    return target


def sweep(
    problem: ProblemSource,
    vary: Mapping[str, str | Sequence[object]] | Sequence[str] = (),
    *,
    scenarios: File | pd.DataFrame | None = None,
    named: Sequence[str] = (),
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    workers: int | str = 0,
) -> SweepTable:
    """The best plan of every scenario of a grid, each to a proven gap, as rows of a table.

    Args:
        vary: values by path: ``{"site.facility_power": "5MW:20MW:1MW"}``, or a list of values; of
            several the grid of all.
        scenarios: a CSV file or a DataFrame of scenarios, one a row.
        named: named scenarios of the problem file, or ``["all"]``.
    """
    from planner.commands.sweep import solve_grid

    request = request_of((problem,), settings, scenario, gap, time_limit, workers)
    if named and request.models:
        message = "named scenarios are read from the problem file, and this problem is in memory"
        raise InputError(Finding("scenario", message, fix="give the file"))
    named = (named,) if isinstance(named, str) else named
    with as_csv(scenarios) as path:
        found, _ = solve_grid(request, varied(vary), path, named)
    return SweepTable(
        **dict(found.record), table={name: tuple(column) for name, column in found.values.items()}
    )


def frontier(
    problem: ProblemSource,
    against: Against = "storage",
    *,
    points: int = 50,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    workers: int | str = 0,
) -> Frontier:
    """The Pareto frontier of useful work against storage bandwidth, cost or power.

    Args:
        against: the axis.
        points: most points.
    """
    from planner.analysis.frontier import AGAINST, run

    request = request_of((problem,), settings, scenario, gap, time_limit, workers)
    axis = one_of("against", against, tuple(AGAINST))
    return record_of(run(request, against=(axis,), points=whole("--points", points, 3)), Frontier)


def tornado(
    problem: ProblemSource,
    vary: Settings = (),
    *,
    by: float | str = "20 %",
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    workers: int | str = 0,
) -> Tornado:
    """The effect of each input, low and high, on the best plan, the largest first.

    Args:
        vary: ``{"site.pue": "1.1:1.4"}``; by default every number that matters.
        by: step of inputs without ends, as a share.
    """
    from planner.analysis.tornado import run

    request = request_of((problem,), settings, scenario, gap, time_limit, workers)
    return record_of(run(request, vary=varied(vary), by=share("--by", by)), Tornado)


def uncertain(
    problem: ProblemSource,
    dist: Settings = (),
    *,
    samples: int = 256,
    method: Literal["lhs", "sobol"] = "lhs",
    seed: int = 1,
    indices: bool = False,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    workers: int | str = 0,
) -> Uncertain:
    """The best plan and its figures under random draws of the inputs.

    Args:
        dist: ``{"site.pue": "uniform(1.1, 1.4)"}``; by default the inputs that are uncertain.
        samples: number of draws.
        method: Latin hypercube or Sobol.
        seed: of the draws.
        indices: Sobol indices of the inputs; more draws.
    """
    from planner.analysis.uncertain import run

    request = request_of((problem,), settings, scenario, gap, time_limit, workers)
    found = run(
        request,
        dist=varied(dist),
        samples=whole("--samples", samples, 2),
        method=one_of("method", method, ("lhs", "sobol")),
        seed=whole("--seed", seed, 0),
        indices=indices,
    )
    return record_of(found, Uncertain)


def explain(
    problem: ProblemSource,
    *,
    settings: Settings = (),
    scenario: str | None = None,
    step: Settings = (),
    why_not: Sequence[str] = (),
    weight: Settings = (),
    keep: Sequence[str] = (),
    gap: float | str | None = None,
    time_limit: str | None = None,
) -> Explanation:
    """The explanation of the best plan, or a minimal set of conflicting limits without one.

    Args:
        step: steps of limits for their marginal values: ``{"site.facility_power": "1 kW"}``.
        why_not: items whose absence to explain exactly.
        weight: without a plan, cost of relaxing a limit relative to others, by path.
        keep: without a plan, limits that must not be relaxed.
    """
    from planner.analysis.explain import run

    request = request_of((problem,), settings, scenario, gap, time_limit)
    found = run(
        request,
        step=as_texts(step),
        why_not=as_texts(why_not),
        weight=as_texts(weight),
        keep=as_texts(keep),
    )
    return record_of(found, Explanation)


def compare(
    *files: PlanSource | ProblemSource,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
) -> Comparison:
    """Plans side by side; the first is the baseline, problems are solved first.

    Args:
        files: plans, problems, workbooks, or lists of them.
    """
    from planner.analysis.compare import run

    request = request_of(flat(files), settings, scenario, gap, time_limit)
    return record_of(run(request, everything=False), Comparison)


def compare_rules(
    problem: ProblemSource,
    *,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
) -> RulesTable:
    """Storage sized by the job, by vendors' rules and otherwise: `compare --rules`."""
    from planner.analysis.rules import run

    request = request_of((problem,), settings, scenario, gap, time_limit)
    return record_of(run(request), RulesTable)


def alternatives(
    problem: ProblemSource,
    *,
    within: float | str = "1 %",
    most: int = 8,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
) -> Alternatives:
    """Plans near the optimum that differ from it: `compare --near`.

    Args:
        within: distance from the optimum, as a share.
        most: most plans, the best included.
    """
    from planner.analysis.alternatives import run

    request = request_of((problem,), settings, scenario, gap, time_limit)
    return record_of(run(request, within=share("--near", within), most=most), Alternatives)


def bid(
    *files: ProblemSource,
    vendor: Settings = (),
    mapping: Settings = (),
    date: Settings = (),
    currency: Settings = (),
    rate: Settings = (),
    settings: Settings = (),
    scenario: str | None = None,
    time_limit: str | None = None,
) -> Bids:
    """Vendors' quotes evaluated as bids on a problem: `quote bid`.

    Args:
        files: the problem, then files of bids, or lists of them.
        vendor, mapping, date, currency: vendor, layout, date and currency of a bid, by its file.
        rate: USD for one unit of a currency, by its code.
    """
    from planner.analysis.bids import run

    problem, *quotes = flat(files) or [None]
    request = request_of((problem,), settings, scenario, time_limit=time_limit)
    found = run(
        request,
        quotes=tuple(file_path(each, "a file of a bid") for each in quotes),
        vendor=as_texts(vendor),
        mapping=as_texts(mapping),
        date=as_texts(date),
        currency=as_texts(currency),
        rate=as_texts(rate),
    )
    return record_of(found, Bids)


def verify(
    plan: PlanSource, *, solve_again: bool = True, time_limit: str | None = None
) -> Verification:
    """The checks of a plan by independent arithmetic.

    Args:
        plan: a plan file, or a plan in memory.
        solve_again: whether to prove the bound by the other solver.
    """
    from planner.analysis.verification import run

    request = request_of((plan,), time_limit=time_limit)
    return record_of(run(request, solve_again=solve_again), Verification)


def audit(
    workbook: File,
    *,
    gap: float | str | None = None,
    time_limit: str | None = None,
    solve_again: bool = True,
) -> Audit:
    """The edits of a workbook and their effects: `verify WORKBOOK.xlsx`.

    Args:
        workbook: a workbook of planner.
        solve_again: whether to compare with the optimum under the edited inputs.
    """
    from planner.analysis.verification import run_audit

    path = file_path(workbook, "a workbook")
    request = request_of((path,), gap=gap, time_limit=time_limit)
    return record_of(run_audit(request, solve_again=solve_again), Audit)


def characterize(
    *traces: TraceSource,
    time: str | None = None,
    write: str | None = None,
    read: str | None = None,
    cluster: str | None = None,
    sum_: bool = False,
    unit: str | None = None,
    decimal: str | None = None,
    time_format: str | None = None,
    read_as: Literal["rate", "bytes", "counter"] | None = None,
    stamp: Literal["start", "end"] = "start",
    window: str | None = None,
    bytes_per_parameter: float = 14.0,
    jobs: File | None = None,
    problem: File | None = None,
    job: str | None = None,
    plan: File | None = None,
    gpus: int | None = None,
    nameplate: str | None = None,
    nameplate_read: str | None = None,
    log: File | None = None,
    log_job: str | None = None,
) -> Characterization:
    """The checkpoints and training jobs in storage telemetry.

    Args:
        traces: CSV, Excel, JSON or Parquet files, DataFrames, or lists of them.
        time, write, read, cluster: columns.
        sum_: add up the columns of writes and of reads, and rows of one time.
        unit: of the figures, such as "MiB/s".
        decimal: decimal mark.
        time_format: as strptime has it.
        read_as: bandwidth, bytes per sample, or counters of bytes.
        stamp: whether a time is the start or the end of its sample.
        window: averaging window of each sample.
        bytes_per_parameter: bytes of a checkpoint per parameter.
        jobs: table of jobs, for the study of a fleet.
        problem: problem file to calibrate.
        job: job found to calibrate by.
        plan: plan file that ran.
        gpus: GPUs of the job.
        nameplate, nameplate_read: nameplate bandwidth of the storage.
        log, log_job: the job's log, and its name there.
    """
    from planner.commands.traces import Target, run_characterize
    from planner.telemetry import ReadOptions

    def file(name: str, given: File | None) -> Path | None:
        return None if given is None else file_path(given, f"a file for {name}")

    options = ReadOptions(
        time=time,
        write=write,
        read=read,
        cluster=cluster,
        sum=sum_,
        unit=unit,
        decimal=decimal,
        time_format=time_format,
        read_as=read_as,
        stamp=stamp,
        window_s=None if window is None else seconds("--window", window),
        bytes_per_parameter=bytes_per_parameter,
    )
    target = Target(
        file("problem", problem),
        job,
        file("plan", plan),
        None if gpus is None else whole("--gpus", gpus),
        None if nameplate is None else bandwidth("--nameplate", nameplate),
        None if nameplate_read is None else bandwidth("nameplate_read", nameplate_read),
        file("log", log),
        log_job,
    )
    with in_files(flat(traces)) as files:
        request = request_of(files)
        found = run_characterize(request, options=options, target=target, listed=file("jobs", jobs))
    return record_of(found, Characterization)


def simulate(
    plan: PlanSource | ProblemSource,
    *,
    failures: str = "exponential",
    column: str | None = None,
    time_format: str | None = None,
    scaled: bool = False,
    interval: str | None = None,
    intervals: bool = True,
    replications: int = 1000,
    length: str = "1 year",
    seed: int = 1,
) -> Simulation:
    """A plan's job simulated failure by failure.

    Args:
        plan: a plan or a problem, which is solved first.
        failures: "exponential", "weibull:SHAPE", or a file of failures.
        column, time_format: of that file.
        scaled: scale the file's times to the plan's mean.
        interval: checkpoint interval; by default the plan's.
        intervals: whether to try other intervals under the same failures.
        replications: number of runs.
        length: of each run.
        seed: of the runs.
    """
    from planner.analysis.simulation import run

    found = run(
        request_of((plan,)),
        failures=failures,
        column=column,
        time_format=time_format,
        scaled=scaled,
        interval_s=None if interval is None else seconds("--interval", interval),
        intervals=intervals,
        replications=replications,
        length_s=seconds("--length", length),
        seed=whole("--seed", seed, 0),
    )
    return record_of(found, Simulation)
