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
from datetime import datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from planner import api, shipped
from planner.analysis.request import SOLVERS, Request, one_of, seconds, share, whole
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
from planner.schema.plan import Plan
from planner.terminal import Progress, ignore, interrupt_handled

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
    request = request_of(problem, solver=solver, **solving)
    options = request.running(save_model=save_model)
    plan = api.solve_with(request.inputs, options, read_back=not request.models)
    return attach_inputs(plan, inputs_to_text(request.inputs))


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

    target, request = Path(path), request_of(plan)
    opened = open_plan(request.path, request.models.get(request.path))
    stream = io.BytesIO()
    created = datetime.combine(today(), time())
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
    from planner.analysis.variants import solve_variants

    request = request_of(problem, **solving)
    if named and request.models:
        message = "named scenarios are read from the problem file, and this problem is in memory"
        raise InputError(Finding("scenario", message, fix="give the file"))
    check_files(() if scenarios is None else (scenarios,))
    chosen = scenarios_of(
        request.inputs,
        vary=as_texts(vary, joined=True),
        table=None if scenarios is None else Path(scenarios),
        named=None if named is None else tuple(n.strip() for n in named if n.strip() != "all"),
        problem=request.path,
    )
    options, rows = request.rows(len(chosen)), dict[int, Row]()
    try:
        solve_variants(chosen.bases, chosen, options, rows_of, rows, request.progress)
    except KeyboardInterrupt:
        if not rows:
            raise
        interrupt_handled()
    base = api.solve_with(request.inputs, api.Options(gap=options.gap, explain=False))
    record = sweep_table(request.inputs, chosen, options, rows, base)
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
    request = request_of(problem, **solving)
    return study(request.inputs, request.each(), axis, points=most, progress=request.progress)


def tornado(problem: ProblemSource, vary: Settings = None, **solving: Unpack[Solving]) -> Tornado:
    """The effect of each input, low and high, on the best plan, the largest first.

    Args:
        vary: ``{"site.pue": "1.1:1.4"}``; by default every number that matters.
    """
    from planner.analysis.tornado import study

    request, texts = request_of(problem, **solving), as_texts(vary, joined=True)
    return study(request.inputs, texts, request.each(), progress=request.progress)


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
    from planner.analysis.uncertain import run

    return run(
        request_of(problem, **solving),
        dist=as_texts(vary),
        samples=whole("--samples", samples, 2),
        seed=whole("--seed", seed, 0),
        indices=indices,
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
    from planner.analysis.explain import run

    return run(
        request_of(problem, **solving),
        why_not=as_texts(why_not),
        weight=as_texts(weight),
        keep=as_texts(keep),
    )


def compare(*files: PlanSource | ProblemSource, **solving: Unpack[Solving]) -> Comparison:
    """Plans side by side; the first is the baseline, problems are solved first.

    Args:
        files: plans, problems, workbooks.
    """
    from planner.analysis.compare import run

    return run(request_of(*files, **solving))


def compare_rules(problem: ProblemSource, **solving: Unpack[Solving]) -> RulesTable:
    """Storage sized by the job, by vendors' rules and otherwise: `compare --rules`."""
    from planner.analysis.compare import run_rules

    return run_rules(request_of(problem, **solving))


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

    request, within = request_of(problem, **solving), share("--near", within)
    options, progress = request.running(), request.progress
    return near(request.inputs, options, within=within, progress=progress)


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
    from planner.analysis.bids import run

    check_files(quotes)
    return run(
        request_of(problem, **solving),
        quotes=tuple(map(Path, quotes)),
        vendor=as_texts(vendor),
        mapping=as_texts(mapping),
        date=as_texts(date),
        currency=as_texts(currency),
        rate=as_texts(rate),
    )


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
    from planner.analysis.verification import run

    return run(request_of(plan, time_limit=time_limit), solve_again=solve_again)


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
    from planner.analysis.simulation import run

    return run(
        request_of(plan, progress=progress),
        failures=failures,
        column=column,
        time_format=time_format,
        scaled=scaled,
        interval_s=None if interval is None else seconds("--interval", interval),
        intervals=True,
        replications=whole("--replications", replications, 2),
        length_s=seconds("--length", length),
        seed=whole("--seed", seed, 0),
    )


# Arguments: problems, plans and options as the analyses take them.


def request_of(
    *sources: PlanSource | ProblemSource,
    settings: Settings = None,
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    workers: int | str = 0,
    solver: str = "highs",
    progress: Progress = ignore,
) -> Request:
    """The request of an analysis: models by the path that stands for them, options as numbers.

    Settings and scenario are laid over models here; files are read with them later.

    Raises:
        InputError: a source or an option is wrong, or the first source is a portfolio.
    """
    if not sources:
        raise InputError(Finding("files", "nothing is given", fix="give a file or a model"))
    check_files(sources, Inputs, Plan, Mapping)
    taken = [Path(each) for each in sources if isinstance(each, (str, os.PathLike))]
    for path in taken:
        require_single(path)
    paths, models = list[Path](), dict[Path, Inputs | Plan]()
    for number, source in enumerate(sources, start=1):
        if isinstance(source, (str, os.PathLike)):
            paths.append(Path(source))
            continue
        if isinstance(source, Plan):
            model: Inputs | Plan = source
            name, suffix = source.provenance.problem_file or source.problem, ".plan.json"
        else:
            model = inputs = load(source, settings=settings, scenario=scenario)
            name, suffix = inputs.problem_file or inputs.problem.name, ".yaml"
        path = Path(f"{Path(name).stem}{suffix}")
        if path in {*taken, *models}:
            path = Path(f"{Path(name).stem} ({number}){suffix}")
        paths.append(path)
        models[path] = model
    dask = str(workers) if "://" in str(workers) else None
    try:
        jobs = 0 if dask else int(workers)
    except ValueError:
        fix = "give a number of processes, or tcp://HOST:PORT of a Dask scheduler"
        message = f"--workers '{str(workers)[:80]}' is no number"
        raise InputError(Finding("option", message, fix=fix)) from None
    solving = api.Options(
        solver=one_of("--solver", solver, SOLVERS),
        time_limit_s=None if time_limit is None else seconds("--time-limit", time_limit),
        jobs=whole("--workers", jobs, 0),
        dask=dask,
    )
    return Request(
        tuple(paths),
        as_texts(settings) if taken else (),
        scenario if taken else None,
        None if gap is None else share("--gap", gap),
        solving,
        progress,
        models=models,
    )


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
