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
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, get_args

from planner import api, shipped
from planner.api import Options
from planner.errors import Finding, InputError, StoppedError, clip, did_you_mean
from planner.files import write_all
from planner.inputs import Inputs, inputs_to_text
from planner.loader import documents, from_data, with_settings
from planner.loader import load as load_file
from planner.loader.prices import today
from planner.report.exports import attach_inputs
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
from planner.schema.operation import Simulation, SizeReport
from planner.schema.plan import DEFAULT_GAP, Plan
from planner.terminal import Progress, ignore, interrupt_handled
from planner.units import one_of, seconds, share, whole

if TYPE_CHECKING:
    from planner.portfolio.schema import PortfolioPlan

File = str | os.PathLike[str]
ProblemSource = File | Inputs | Mapping[str, Any]
"""A problem file, inputs that `load` returned, or a dict as the file has it."""
PlanSource = File | Plan
"""A PROBLEM.plan.json, or a plan in memory."""
Settings = Mapping[str, object] | Sequence[str] | None
"""``{"site.facility_power": "12 MW"}`` or ``["site.facility_power=12 MW"]``."""
Solver = Literal["highs", "cbc"]
Against = Literal["storage", "cost", "power"]
_PATHS = (str, os.PathLike)
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


def load(
    problem: ProblemSource, *, settings: Settings = None, scenario: str | None = None
) -> Inputs:
    """A problem with its catalogs and prices, validated, to use many times."""
    texts = as_texts(settings)
    check_files((problem,), Inputs, Mapping)
    if isinstance(problem, (str, os.PathLike)):
        require_single(problem)
        return load_file(Path(problem), settings=texts, scenario=scenario)
    if isinstance(problem, Mapping):
        return from_data(_as_json(dict(problem)), settings=texts, scenario=scenario)
    if scenario is not None:
        message = f"a problem in memory has no scenario '{scenario}'"
        raise InputError(Finding("scenario", message, fix="load the file with it"))
    return with_settings(problem, texts)


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
    inputs, options, _ = _prepare(problem, timed=True, solver=solver, **solving)
    options, is_file = replace(options, save_model=save_model), isinstance(problem, _PATHS)
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
    from planner.portfolio import analysis
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
        plan = plan.model_copy(update={"relaxations": analysis.relaxations(instance)})
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

    target, opened, stream = Path(path), open_plan(_plan_source(plan)), io.BytesIO()
    created = datetime.combine(today(), datetime.min.time())
    write(opened.plan, stream, created=created, inputs=opened.carried.encode())
    write_all({target: stream.getvalue()})
    return target


def sweep(
    problem: ProblemSource,
    vary: Settings = None,
    *,
    scenarios: File | None = None,
    named: Sequence[str] | None = None,
    **solving: Unpack[Solving],
) -> SweepTable:
    """The best plan of every scenario of a grid, each to a proven gap, as rows of a table.

    Args:
        vary: values by path: ``{"site.facility_power": "5MW:20MW:1MW"}``, or a list of values; of
            several the grid of all.
        scenarios: a CSV file of scenarios, one a row.
        named: named scenarios of the problem file, or ``["all"]``.

    Raises:
        StoppedError: interrupted; its ``record`` is the table of the scenarios solved.
    """
    from planner.analysis.sweep import Row, rows_of, sweep_table
    from planner.analysis.sweep import scenarios as scenarios_of
    from planner.analysis.variants import solve_many
    from planner.schema.analysis import EXACT_GAP

    inputs, options, progress = _prepare(problem, EXACT_GAP, **solving)
    if named and not isinstance(problem, _PATHS):
        message = "named scenarios are read from the problem file, and this problem is in memory"
        raise InputError(Finding("scenario", message, fix="give the file"))
    check_files(() if scenarios is None else (scenarios,))
    chosen = scenarios_of(
        inputs,
        vary=as_texts(vary, joined=True),
        table=None if scenarios is None else Path(scenarios),
        named=None if named is None else tuple(n.strip() for n in named if n.strip() != "all"),
        problem=Path(problem) if isinstance(problem, _PATHS) else None,
    )
    if len(chosen) > EXACT_ROWS and solving.get("gap") is None:
        options = replace(options, gap=EACH_GAP)
    options, rows = replace(options, ties=options.gap <= EXACT_GAP), dict[int, Row]()
    try:
        rows.update(solve_many(chosen.bases, chosen, options, rows_of, progress))
    except KeyboardInterrupt:
        if not rows:
            raise
        interrupt_handled()
    base = api.solve_with(inputs, Options(gap=options.gap, explain=False))
    record = sweep_table(inputs, chosen, options, rows, base)
    if record.rows < record.asked:
        done = f"interrupted after {record.rows:,} of {record.asked:,} scenarios"
        raise StoppedError(done, record)
    return record


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
        points: most points.
    """
    from planner.analysis.frontier import AGAINST, study

    axis, most = one_of("--against", against, tuple(AGAINST)), whole("--points", points, 3)
    inputs, options, progress = _prepare(problem, EACH_GAP, **solving)
    return study(inputs, options, axis, points=most, progress=progress)


def tornado(problem: ProblemSource, vary: Settings = None, **solving: Unpack[Solving]) -> Tornado:
    """The effect of each input, low and high, on the best plan, the largest first.

    Args:
        vary: ``{"site.pue": "1.1:1.4"}``; by default every number that matters.
    """
    from planner.analysis.tornado import study

    inputs, options, progress = _prepare(problem, EACH_GAP, **solving)
    return study(inputs, as_texts(vary, joined=True), options, progress=progress)


def uncertain(
    problem: ProblemSource,
    vary: Settings = None,
    *,
    samples: int = 256,
    seed: int = 1,
    indices: bool = False,
    **solving: Unpack[Solving],
) -> Uncertain:
    """The best plan and its figures under random draws of the inputs.

    Args:
        vary: ``{"site.pue": "uniform(1.1, 1.4)"}``; by default the inputs that are uncertain.
        samples: number of draws.
        seed: of the draws.
        indices: Sobol indices of the inputs; more draws.
    """
    from planner.analysis.uncertain import study

    inputs, options, progress = _prepare(problem, EACH_GAP, **solving)
    return study(
        inputs,
        as_texts(vary),
        options,
        samples=whole("--samples", samples, 2),
        seed=whole("--seed", seed, 0),
        sobol=indices,
        progress=progress,
    )


def explain(
    problem: ProblemSource,
    *,
    why_not: Sequence[str] | None = None,
    weight: Settings = None,
    keep: Sequence[str] | None = None,
    **solving: Unpack[Solving],
) -> Explanation:
    """The explanation of the best plan, or a minimal set of conflicting limits without one.

    Args:
        why_not: items whose absence to explain exactly.
        weight: without a plan, cost of relaxing a limit relative to others, by path.
        keep: without a plan, limits that must not be relaxed.
    """
    from planner.analysis import explain as analysis

    inputs, options, progress = _prepare(problem, timed=True, **solving)
    relaxing = analysis.relaxation(inputs, as_texts(weight), as_texts(keep))
    options, asked = replace(options, **relaxing), as_texts(why_not)
    return analysis.explain(inputs, options, asked=asked, progress=progress)


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

    options = _options(DEFAULT_GAP, gap=gap, time_limit=time_limit)
    sources = [_source(each, settings, scenario) for each in files]
    return compare(read_sides(sources, options, as_texts(settings), scenario))


def compare_rules(problem: ProblemSource, **solving: Unpack[Solving]) -> RulesTable:
    """Storage sized by the job, by vendors' rules and otherwise: `compare --rules`."""
    from planner.analysis.compare import rules_table

    if isinstance(problem, _PATHS) and Path(problem).suffix.lower() not in PROBLEMS:
        message = "--rules takes one problem file (.yaml)"
        raise InputError(Finding("files", message, fix="planner compare --rules 10MW.yaml"))
    inputs, options, progress = _prepare(problem, **solving)
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
    inputs, options, progress = _prepare(problem, timed=True, **solving)
    return near(inputs, options, within=within, progress=progress)


def bid(
    problem: ProblemSource,
    *quotes: File,
    vendor: Settings = None,
    mapping: Settings = None,
    date: Settings = None,
    currency: Settings = None,
    rate: Settings = None,
    **solving: Unpack[Solving],
) -> Bids:
    """Vendors' quotes evaluated as bids on a problem: `quote bid`.

    Args:
        problem: the problem.
        quotes: files of bids.
        vendor, mapping, date, currency: vendor, layout, date and currency of a bid, by its file.
        rate: USD for one unit of a currency, by its code.
    """
    from planner.analysis.bids import evaluate
    from planner.analysis.offers import read_bids

    if isinstance(problem, _PATHS) and Path(problem).suffix.lower() not in PROBLEMS:
        fix = "planner quote bid PROBLEM.yaml a.xlsx b.csv"
        raise InputError(Finding("files", f"'{problem}' is no problem file", fix=fix))
    check_files(quotes)
    inputs, options, progress = _prepare(problem, **solving)
    read = read_bids(
        tuple(map(Path, quotes)),
        inputs,
        vendor=as_texts(vendor),
        mapping=as_texts(mapping),
        date=as_texts(date),
        currency=as_texts(currency),
        rate=as_texts(rate),
    )
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
    return verify(_plan_source(plan), solve_again=solve_again, time_limit_s=limit_s)


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
    ((_, found),) = read_sides([_source(plan)], Options(explain=False), least=1)
    return study(found, options, progress)


# Arguments: problems, plans and options as the analyses take them.


def _prepare(
    problem: ProblemSource,
    usual_gap: float = DEFAULT_GAP,
    *,
    timed: bool = False,
    settings: Settings = None,
    scenario: str | None = None,
    progress: Progress = ignore,
    **solving: Any,
) -> tuple[Inputs, Options, Progress]:
    """Inputs, options and progress of an analysis.

    Args:
        usual_gap: where no gap is given.
        timed: the time limit is one for all, reading included.
    """
    options = _options(usual_gap, **solving)
    options = options.started() if timed else options
    return load(problem, settings=settings, scenario=scenario), options, progress


def _options(
    usual_gap: float,
    *,
    gap: float | str | None = None,
    time_limit: str | None = None,
    workers: int | str = 0,
    solver: str = "highs",
) -> Options:
    dask = str(workers) if "://" in str(workers) else None
    try:
        jobs = 0 if dask else int(workers)
    except ValueError:
        fix = "give a number of processes, or tcp://HOST:PORT of a Dask scheduler"
        message = f"--workers '{str(workers)[:80]}' is no number"
        raise InputError(Finding("option", message, fix=fix)) from None
    return Options(
        solver=one_of("--solver", solver, get_args(Solver)),
        gap=usual_gap if gap is None else share("--gap", gap),
        time_limit_s=None if time_limit is None else seconds("--time-limit", time_limit),
        jobs=whole("--workers", jobs, 0),
        dask=dask,
    )


def _source(
    source: PlanSource | ProblemSource, settings: Settings = None, scenario: str | None = None
) -> Path | Plan | Inputs:
    """A plan or problem in memory, with the settings, or the path of a file.

    Raises:
        InputError: the source is wrong, or a portfolio.
    """
    check_files((source,), Inputs, Plan, Mapping)
    if isinstance(source, _PATHS):
        require_single(source)
        return Path(source)
    if isinstance(source, Plan):
        return source
    return load(source, settings=settings, scenario=scenario)


def _plan_source(plan: PlanSource) -> Path | Plan:
    """A plan in memory, or the path of a file."""
    check_files((plan,), Plan)
    found = _source(plan)
    assert not isinstance(found, Inputs)
    return found


def check_files(sources: Sequence[object], *kinds: type) -> None:
    """Refuse a source that is neither a file nor of other kinds.

    Raises:
        InputError: with the way to give it.
    """
    for source in sources:
        if isinstance(source, (str, os.PathLike, *kinds)):
            continue
        fix = "give the path of a file, or a model that planner returned"
        if isinstance(source, (list, tuple)):
            fix = "give each file as an argument of its own: *files"
        elif hasattr(source, "to_csv"):
            fix = "write it to a file first, with to_csv or to_parquet, and give its path"
        message = f"a {type(source).__name__} is no file"
        raise InputError(Finding("argument", message, fix=fix))


def as_texts(settings: Settings, *, joined: bool = False) -> tuple[str, ...]:
    """Settings ``{path: value}`` or a list of texts as texts ``path=value``.

    Args:
        joined: a list is the values to vary, joined by commas.
    """
    if settings is None:
        return ()
    if isinstance(settings, str) or not isinstance(settings, Iterable):
        fix = "write a list of them, or {path: value}"
        raise InputError(Finding("set", f"'{clip(str(settings))}' is one value", fix=fix))
    if not isinstance(settings, Mapping):
        return tuple(settings)
    texts = []
    for path, value in settings.items():
        text = value if isinstance(value, str) else _as_json(value)
        if joined and isinstance(value, Iterable) and not isinstance(value, str):
            text = ",".join(map(str, value))
        texts.append(f"{path}={text}")
    return tuple(texts)


def _as_json(value: object) -> str:
    """A value as JSON, which is YAML, too; numpy's numbers and paths as those of Python."""

    def plain(value: Any) -> Any:
        return value.tolist() if hasattr(value, "tolist") else os.fspath(value)

    return json.dumps(value, ensure_ascii=False, default=plain)


# Portfolios: problems of several jobs, sites or periods.

_PLAN, _READ_BYTES = b'"kind": "portfolio"', 200


def is_portfolio(source: object) -> bool:
    """True of a file that is a portfolio problem, or the plan of one."""
    if not isinstance(source, (str, os.PathLike)) or not Path(source).is_file():
        return False
    path = Path(source)
    try:
        if path.suffix == ".json":
            with path.open("rb") as stream:
                return _PLAN in stream.read(_READ_BYTES)
        data = documents.read(path).data if path.suffix in (".yaml", ".yml") else {}
    except (OSError, InputError):
        return False  # the loader names the fault
    jobs = data.get("jobs")
    return bool({"sites", "periods"} & data.keys()) or (isinstance(jobs, tuple) and len(jobs) > 1)


def require_single(source: object) -> None:
    """Refuse a portfolio where one job at one site is analysed.

    Raises:
        InputError: the file is a portfolio.
    """
    if is_portfolio(source):
        message = "several jobs, sites or periods, and this analysis is of one job at one site"
        fix = (
            "of a portfolio there are solve (planner.solve_portfolio), check, verify, explain, "
            "sweep (a grid), simulate and explore"
        )
        raise InputError(Finding("portfolio", message, str(source), fix=fix))
