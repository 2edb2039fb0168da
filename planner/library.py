"""planner from Python: a function for each analysis, which its command calls, too.

A problem is a file, ``Inputs`` that ``load`` returned, or a dict; a plan is a file, or a ``Plan``
that ``solve`` returned. Results are the records that the commands print with
``--json``; ``print`` shows them as the screen does, a notebook as a page, and ``to_frame`` gives
their tables to pandas. Options have the names, defaults and spelling of the command line; those of
every function are in ``Solving``.

Every function raises ``InputError`` where a file, a model or an option is wrong,
``VerificationError`` where a plan does not agree with its independent re-computation, and an
analysis ``NoPlanError`` where there is no plan to analyse.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from planner import api, shipped
from planner.api import Options
from planner.errors import Finding, InputError, did_you_mean
from planner.files import remove, write_all
from planner.inputs import inputs_to_text
from planner.loader.prices import today
from planner.report.exports import attach_inputs, stem_of
from planner.schema.analysis import (
    Alternatives,
    Audit,
    Comparison,
    Explanation,
    Frontier,
    RulesTable,
    SweepTable,
    Tornado,
    Uncertain,
    Verification,
)
from planner.schema.bill import Bids
from planner.schema.operation import Characterization, Simulation, SizeReport
from planner.schema.plan import DEFAULT_GAP, Plan
from planner.sources import (
    PATHS,
    File,
    PlanSource,
    ProblemSource,
    Settings,
    Solver,
    as_texts,
    check_files,
    load,
    options_of,
    plan_source,
    prepare,
    source_of,
)
from planner.terminal import Progress, ignore
from planner.units import one_of, seconds, share, whole

if TYPE_CHECKING:
    from planner.portfolio.schema import PortfolioPlan
    from planner.telemetry import CheckpointColumns

Against = Literal["storage", "cost", "power"]
PROBLEMS = (".yaml", ".yml")
"""Suffixes of problem files."""
EACH_GAP = 1e-3
"""Gap of each of many scenarios."""
EXACT_ROWS = 500
"""Up to this number of rows a sweep without a gap states the plans that `solve` gives."""


class Solving(TypedDict, total=False):
    """Keywords of every function that solves; each is spelled as on the command line.

    Attributes:
        settings: changes of the problem, as ``--set``.
        scenario: a named scenario of the problem file.
        gap: largest gap to prove, as a share.
        time_limit: of each solve, such as "30 s"; of explain and alternatives in all.
        workers: number of processes, 0 for one per core; or the address of a Dask scheduler.
        progress: called with the numbers of parts done and of all.
    """

    settings: Settings
    scenario: str | None
    gap: float | str | None
    time_limit: str | None
    workers: int | str
    progress: Progress


def example(name: str = "10MW") -> Path:
    """The file of a problem that planner ships; ``planner init NAME`` copies it."""
    known = shipped.problem_files() | shipped.portfolio_files()
    if str(name) not in known:
        hint = did_you_mean(str(name), list(known)) or "examples: " + ", ".join(known)
        raise InputError(Finding("not-found", f"no example named '{name}'", fix=hint))
    return known[name]


def solve(
    problem: ProblemSource,
    *,
    solver: Solver = "highs",
    save_model: Path | None = None,
    **solving: Unpack[Solving],
) -> Plan:
    """The best plan of a problem, verified, with its inputs as in the plan file.

    Args:
        solver: solver of the integer program, the proof.
        save_model: file for the integer program, as MPS or LP.
    """
    inputs, options, _ = prepare(problem, timed=True, solver=solver, **solving)
    options, is_file = replace(options, save_model=save_model), isinstance(problem, PATHS)
    plan = api.solve_with(inputs, options, read_back=is_file)
    return attach_inputs(plan, inputs_to_text(inputs))


def solve_portfolio(
    problem: File,
    *,
    settings: Settings = None,
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    solver: Solver = "highs",
    progress: Progress = ignore,
) -> PortfolioPlan:
    """The best plan for several jobs, sites or periods, verified.

    Without a plan its ``status`` is ``infeasible``, and ``relaxations`` has the least ones; or
    ``limit`` where the time limit came first.
    """
    from planner.portfolio import plan as plans
    from planner.portfolio.inputs import load

    instance = load(Path(problem), as_texts(settings), scenario)
    plan = plans.solve(
        instance,
        gap=None if gap is None else share("--gap", gap),
        time_limit_s=None if time_limit is None else seconds("--time-limit", time_limit),
        solver=solver,
    )
    if plan.status == "infeasible":
        plan = plan.model_copy(update={"relaxations": plans.relaxations(instance)})
    return plan


def size(
    problem: ProblemSource,
    *,
    gpus: int | None = None,
    settings: Settings = None,
    scenario: str | None = None,
    progress: Progress = ignore,
) -> SizeReport:
    """The sizing of a problem without solving: sizes, intervals, demands of each rule.

    Args:
        gpus: number of GPUs; by default the most that the site can hold.
    """
    from planner.size_report import size_report

    inputs = load(problem, settings=settings, scenario=scenario)
    return size_report(inputs, None if gpus is None else whole("--gpus", gpus))


def write_workbook(plan: PlanSource, path: File) -> Path:
    """Write the workbook of a plan, which carries the inputs of ``verify``, and return its path.

    Args:
        plan: a plan file, or the result of ``solve``.
        path: the file to write.
    """
    from planner.analysis.verification import open_plan
    from planner.workbook import write

    target, opened, stream = Path(path), open_plan(plan_source(plan)), io.BytesIO()
    created = datetime.combine(today(), datetime.min.time())
    write(opened.plan, stream, created=created, inputs=opened.carried.encode())
    write_all({target: stream.getvalue()})
    return target


def sweep(
    problem: ProblemSource,
    vary: Settings = None,
    *,
    scenarios: Sequence[str] | None = None,
    **solving: Unpack[Solving],
) -> SweepTable:
    """The best plan of every scenario of a grid, each to a proven gap, as rows of a table.

    Args:
        vary: values by path: ``{"site.facility_power": "5MW:20MW:1MW"}``, or a list of values; of
            several the grid of all.
        scenarios: named scenarios of the problem file, as "a,b" too, or ``["all"]``.

    Raises:
        StoppedError: interrupted; its ``record`` is the table of the scenarios solved.
    """
    from planner.analysis.sweep import read_scenarios, study

    inputs, options, progress = prepare(problem, **solving)
    if scenarios and not isinstance(problem, PATHS):
        message = "named scenarios are read from the problem file, and this problem is in memory"
        raise InputError(Finding("scenario", message, fix="give the file"))
    names = str(scenarios).split(",") if isinstance(scenarios, PATHS) else scenarios
    chosen = read_scenarios(
        inputs,
        vary=as_texts(vary, joined=True),
        named=None if names is None else [n for n in map(str.strip, map(str, names)) if n != "all"],
        problem=Path(problem) if isinstance(problem, PATHS) else None,
    )
    if len(chosen) > EXACT_ROWS and solving.get("gap") is None:
        options = replace(options, gap=EACH_GAP)
    return study(inputs, chosen, options, progress)


def frontier(
    problem: ProblemSource,
    against: Against = "storage",
    *,
    points: int = 50,
    **solving: Unpack[Solving],
) -> Frontier:
    """The Pareto frontier of useful work against storage bandwidth, cost or power.

    Args:
        against: the axis.
        points: most points; along storage 5 where fewer are given.
    """
    from planner.analysis.frontier import AGAINST, study

    axis, most = one_of("--against", against, tuple(AGAINST)), whole("--points", points, 3)
    inputs, options, progress = prepare(problem, EACH_GAP, **solving)
    return study(inputs, options, axis, points=most, progress=progress)


def tornado(problem: ProblemSource, vary: Settings = None, **solving: Unpack[Solving]) -> Tornado:
    """The effect of each input, low and high, on the best plan, the largest first.

    Args:
        vary: ``{"site.pue": "1.1:1.4"}``; by default every number that matters.
    """
    from planner.analysis.tornado import study

    inputs, options, progress = prepare(problem, EACH_GAP, **solving)
    return study(inputs, as_texts(vary, joined=True), options, progress=progress)


def uncertain(
    problem: ProblemSource,
    vary: Settings = None,
    *,
    samples: int = 256,
    seed: int = 1,
    **solving: Unpack[Solving],
) -> Uncertain:
    """The best plan and its figures under random draws of the inputs.

    Args:
        vary: ``{"site.pue": "uniform(1.1, 1.4)"}``; by default the inputs that are uncertain.
        samples: number of draws.
        seed: of the draws.
    """
    from planner.analysis.uncertain import study

    inputs, options, progress = prepare(problem, EACH_GAP, **solving)
    return study(
        inputs,
        as_texts(vary),
        options,
        samples=whole("--samples", samples, 2),
        seed=whole("--seed", seed, 0),
        progress=progress,
    )


def explain(
    problem: ProblemSource,
    *,
    why_not: Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
    **solving: Unpack[Solving],
) -> Explanation:
    """The explanation of the best plan, or a minimal set of conflicting limits without one.

    Args:
        why_not: items whose absence to explain exactly.
        keep: without a plan, limits that must not be relaxed.
    """
    from planner.analysis import explain as analysis

    inputs, options, progress = prepare(problem, timed=True, **solving)
    options = replace(options, keep=analysis.limits_kept(inputs, as_texts(keep)))
    return analysis.explain(inputs, options, asked=as_texts(why_not), progress=progress)


def compare(
    *files: PlanSource | ProblemSource,
    settings: Settings = None,
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    progress: Progress = ignore,
) -> Comparison:
    """Plans side by side; the first is the baseline, problems are solved first.

    Args:
        files: plans, problems, workbooks.
    """
    from planner.analysis.compare import compare, read_sides

    options = options_of(DEFAULT_GAP, gap=gap, time_limit=time_limit)
    sources = [source_of(each, settings, scenario) for each in files]
    return compare(read_sides(sources, options, as_texts(settings), scenario))


def compare_rules(problem: ProblemSource, **solving: Unpack[Solving]) -> RulesTable:
    """Storage sized by the job, by vendors' rules and otherwise: `compare --rules`."""
    from planner.analysis.compare import rules_table

    if isinstance(problem, PATHS) and Path(problem).suffix.lower() not in PROBLEMS:
        message = "--rules takes one problem file (.yaml)"
        raise InputError(Finding("files", message, fix="planner compare --rules 10MW.yaml"))
    inputs, options, progress = prepare(problem, **solving)
    return rules_table(inputs, api.solve_with(inputs, options), options, progress)


def alternatives(
    problem: ProblemSource,
    *,
    within: float | str = "1 %",
    **solving: Unpack[Solving],
) -> Alternatives:
    """Plans near the optimum that differ from it: `compare --near`.

    Args:
        within: distance from the optimum, as a share.
    """
    from planner.analysis.compare import alternatives as near

    within = share("--near", within)
    inputs, options, progress = prepare(problem, timed=True, **solving)
    return near(inputs, options, within=within, progress=progress)


def bid(
    problem: ProblemSource,
    *quotes: File,
    rate: Settings = None,
    **solving: Unpack[Solving],
) -> Bids:
    """Vendors' quotes evaluated as bids on a problem: `quote bid`.

    Args:
        problem: the problem.
        quotes: XLSX and CSV files of vendors, or what `quote import` read of them.
        rate: USD for one unit of a currency, by its code.
    """
    from planner.analysis.bids import evaluate
    from planner.analysis.offers import read_bids

    if isinstance(problem, PATHS) and Path(problem).suffix.lower() not in PROBLEMS:
        fix = "planner quote bid PROBLEM.yaml a.xlsx b.csv"
        raise InputError(Finding("files", f"'{problem}' is no problem file", fix=fix))
    check_files(quotes)
    inputs, options, progress = prepare(problem, **solving)
    read = read_bids(tuple(map(Path, quotes)), inputs, as_texts(rate))
    return evaluate(inputs, options, read, progress=progress)


def verify(
    plan: PlanSource,
    *,
    solve_again: bool = True,
    time_limit: str | None = None,
    progress: Progress = ignore,
) -> Verification | Audit:
    """The checks of a plan by independent arithmetic; of a workbook its edits and their effects.

    Args:
        plan: a plan file, a plan in memory, or a workbook.
        solve_again: prove the bound by the other solver; of a workbook, compare with the optimum
            under the edited inputs.
    """
    from planner.analysis.verification import verify

    limit_s = None if time_limit is None else seconds("--time-limit", time_limit)
    return verify(plan_source(plan), solve_again=solve_again, time_limit_s=limit_s)


def simulate(
    plan: PlanSource | ProblemSource,
    *,
    failures: str = "exponential",
    column: str | None = None,
    time_format: str | None = None,
    scaled: bool = False,
    interval: str | None = None,
    replications: int = 1000,
    length: str = "1 year",
    seed: int = 1,
    progress: Progress = ignore,
) -> Simulation:
    """A plan's job simulated failure by failure, and again at other checkpoint intervals.

    Args:
        plan: a plan or a problem, which is solved first.
        failures: "exponential", "weibull:SHAPE", or a file of failures.
        column, time_format: of that file.
        scaled: scale the file's times to the plan's mean.
        interval: checkpoint interval; by default the plan's.
        replications: number of runs.
        length: of each run.
        seed: of the runs.
    """
    from planner.analysis.compare import read_sides
    from planner.analysis.simulation import SimulationOptions, study

    options = SimulationOptions(
        failures=failures,
        column=column,
        time_format=time_format,
        scaled=scaled,
        interval_s=None if interval is None else seconds("--interval", interval),
        replications=whole("--replications", replications, 2),
        length_s=seconds("--length", length),
        seed=whole("--seed", seed, 0),
    )
    ((_, found),) = read_sides([source_of(plan)], Options(explain=False), least=1)
    return study(found, options, progress)


def characterize(
    *traces: File,
    window: str | None = None,
    jobs: File | None = None,
    problem: File | None = None,
    job: str | None = None,
    gpus: int | None = None,
    nameplate: str | None = None,
    output: File | None = None,
    progress: Progress = ignore,
    **reading: Any,
) -> Characterization:
    """The checkpoints and training jobs in storage telemetry.

    Args:
        traces: CSV, Excel, JSON or Parquet files.
        window: averaging window of each sample, such as "5 min".
        jobs: table of jobs, for the study of a fleet.
        problem: problem file to calibrate; with ``jobs`` its catalogs have the storage.
        job: job found to calibrate by; by default the largest writer.
        gpus: GPUs of the job.
        nameplate: nameplate bandwidth of the storage, or "WRITE,READ".
        output: folder for files; without it none are written.
        reading: columns, units and times of the traces, as in ``planner.telemetry.ReadOptions``.
    """
    from planner.analysis.fleet import run
    from planner.telemetry import ReadOptions

    check_files(traces)
    if not traces:
        raise InputError(Finding("files", "nothing is given", fix="give a trace"))
    window_s = None if window is None else seconds("--window", window)
    record, table = run(
        [Path(each) for each in traces],
        ReadOptions(**reading, window_s=window_s),
        jobs=None if jobs is None else Path(jobs),
        inputs=None if problem is None else load(problem),
        job=job,
        gpus=gpus,
        nameplate=nameplate,
        progress=progress,
    )
    if output is not None:
        _write_traces(record, table, Path(output), Path(traces[0]))
    return record


def _write_traces(
    record: Characterization, table: CheckpointColumns, folder: Path, trace: Path
) -> None:
    """Write record, checkpoints, overrides and pictures of traces, named after the first."""
    from planner.report import telemetry
    from planner.results import draw

    stem = stem_of(trace, None).removesuffix(".trace")
    contents = {
        "characterization.json": f"{record.model_dump_json(indent=2)}\n".encode(),
        "checkpoints.parquet": telemetry.checkpoints_parquet(record, table),
    }
    if record.calibration is not None and record.calibration.overrides:
        contents["overrides.yaml"] = telemetry.overrides_yaml(record.calibration).encode()
    pictures: dict[Path, bytes] = {}
    if record.study is not None and record.study.jobs:
        pictures |= draw(telemetry.charts(record.study), folder / stem)
    write_all({folder / f"{stem}.{end}": data for end, data in contents.items()} | pictures)
    if "overrides.yaml" not in contents:  # of an earlier run that calibrated a problem
        remove(folder / f"{stem}.overrides.yaml")
