"""planner from Python: each function is the command of its name, without a screen and files.

A problem is a file, ``Inputs`` that ``load`` returned, or a ``Problem`` made in Python; a plan is a
file, or a ``Plan`` that ``solve`` returned. Results are the records that the commands print with
``--json``; ``print`` shows them as the screen does, a notebook as a page, and ``to_frame`` gives
their tables to pandas.

Options have the names, the defaults and the spelling of the command line: ``time_limit="30 s"``,
``gap="0.1 %"``; what is not given is as the command has it. ``settings`` are ``--set``, as
``{path: value}`` or as texts ``path=value``.

Every function raises ``InputError`` where a file, a model or an option is wrong, and
``VerificationError`` where a plan does not agree with its independent re-computation.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from pydantic import Field

from planner import api
from planner.errors import Finding, InputError, NoPlanError, did_you_mean
from planner.inputs import Inputs, inputs_to_text
from planner.library.asking import (
    File,
    PlanSource,
    ProblemSource,
    Settings,
    as_texts,
    by_path,
    found_by,
    in_memory,
    record_of,
    request_of,
    varied,
)
from planner.outputs.plan_json import carrying
from planner.schema.bids import Bids
from planner.schema.comparison import Alternatives, Comparison, RulesTable
from planner.schema.explanation import Explanation
from planner.schema.plan import Plan
from planner.schema.problem import Problem
from planner.schema.sensitivity import Frontier, Sweep, Tornado, Uncertain
from planner.schema.simulation import Simulation
from planner.schema.telemetry import Characterization
from planner.schema.verification import Audit, Verification
from planner.shipped import problem_files
from planner.sizing_report import SizeReport, size_report
from planner.studies.registry import STUDIES

Solver = Literal["highs", "cbc"]


class SweepTable(Sweep):
    """The record of a sweep with its rows: ``table`` has the columns by name, as the files do."""

    table: Mapping[str, tuple[Any, ...]] = Field(exclude=True, repr=False)


def load(problem: ProblemSource, *, settings: Settings = (), scenario: str | None = None) -> Inputs:
    """Return a problem with the catalogs and prices it names, checked; whatever asks of it many
    times reads files once.

    Args:
        problem: a file, a problem made in Python, or inputs to change.
        settings: changes laid over it.
        scenario: a named scenario of the file.
    """
    if isinstance(problem, (Inputs, Problem)):
        return in_memory(problem, settings, scenario)
    return api.load(Path(problem), settings=as_texts(settings), scenario=scenario)


def example(name: str = "10MW") -> Path:
    """Return the file of a problem that planner ships, to try things with.

    Args:
        name: such as ``10MW`` or ``enterprise_1MW``; ``planner init`` copies the same.
    """
    known = problem_files()
    if name not in known:
        hint = did_you_mean(name, list(known)) or "examples: " + ", ".join(known)
        raise InputError(Finding("not-found", f"no example named '{name}'", fix=hint))
    return known[name]


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
    """Return the best plan of a problem, verified; it carries what it was made from, as its file.

    Args:
        problem: what to plan.
        settings: changes laid over it.
        scenario: a named scenario of the file.
        gap: the largest gap to prove, as a share.
        time_limit: when to stop with the best plan so far, such as "30 s".
        solver: which solver proves it.
        explain_none: where there is no plan, whether to find out why, which takes longer.
    """
    inputs = load(problem, settings=settings, scenario=scenario)
    given = {"gap": gap, "time_limit": time_limit, "solver": solver}
    request, _ = request_of(STUDIES["alternatives"], (inputs,), given)
    options = request.running(explain=explain_none)
    return carrying(api.solve_with(inputs, options), inputs_to_text(inputs))


def size(
    problem: ProblemSource,
    *,
    gpus: int | None = None,
    settings: Settings = (),
    scenario: str | None = None,
) -> SizeReport:
    """Return the sizing model of a problem, without solving: sizes, intervals, what rules ask for.

    Args:
        problem: what to size.
        gpus: for so many GPUs; by default for the most that the site can hold.
        settings: changes laid over it.
        scenario: a named scenario of the file.
    """
    return size_report(load(problem, settings=settings, scenario=scenario), gpus)


def verify(
    plan: PlanSource, *, solve_again: bool = True, time_limit: str | None = None
) -> Verification:
    """Return what holds of a plan: every figure and limit computed again, the bound proven again.

    Args:
        plan: a plan file, or what ``solve`` returned.
        solve_again: whether to solve for the bound with the other solver.
        time_limit: how long that may take.
    """
    given = {"solve_again": solve_again, "time_limit": time_limit}
    return record_of("verify", (plan,), Verification, given)


def workbook(plan: PlanSource, path: File) -> Path:
    """Write the workbook of a plan and return its path; it carries what ``audit`` reads.

    Args:
        plan: a plan file, or what ``solve`` returned.
        path: where it goes.
    """
    from planner.assemble.ways import live
    from planner.commands.solve import created_today
    from planner.outputs.workbook import write
    from planner.studies.verification import open_plan
    from planner.whole_files import write_all

    paths, models = by_path((plan,), (), None)
    model = models.get(paths[0])
    opened = open_plan(paths[0], model if isinstance(model, Plan) else None)
    stream = io.BytesIO()
    made = live(opened.inputs, opened.plan)
    write(opened.plan, stream, created=created_today(), inputs=opened.carried, live=made)
    write_all({Path(path): stream.getvalue()})
    return Path(path)


def audit(
    workbook: File,
    *,
    solve_again: bool = True,
    gap: float | str | None = None,
    time_limit: str | None = None,
    solver: Solver = "highs",
) -> Audit:
    """Return what was edited in a workbook, which limits break, and how far it is from the best.

    Args:
        workbook: a file that planner wrote.
        solve_again: whether to compare with the best plan under the edited inputs.
        gap, time_limit, solver: how to solve that.
    """
    given = {"solve_again": solve_again, "gap": gap, "time_limit": time_limit, "solver": solver}
    return record_of("audit", (workbook,), Audit, given)


def bid(
    problem: ProblemSource,
    *quotes: File,
    quantities: Literal["quoted", "free"] = "quoted",
    settings: Settings = (),
    scenario: str | None = None,
    **options: Any,
) -> Bids:
    """Return vendors' quotes evaluated as bids on a problem, with the best mix of them.

    Args:
        problem: what is asked for.
        quotes: files as vendors send them.
        quantities: whether quantities hold as quoted, or are planned with the prices.
        settings, scenario: what is laid over the problem.
        options: those of ``planner bid``, by name: ``vendor``, ``date``, ``currency``, ``rate``,
            each ``{file or code: value}``; ``mapping``, ``gap``, ``time_limit``, ``solver``.
    """
    named = {k: as_texts(v) if isinstance(v, Mapping) else v for k, v in options.items()}
    given = named | {"quotes": tuple(map(Path, quotes)), "quantities": quantities}
    return record_of("bid", (problem,), Bids, given, settings, scenario)


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
    solver: Solver = "highs",
) -> Explanation:
    """Return why the best plan is what it is: what binds, what more is worth, why nothing else.

    Args:
        problem: what to explain; without a plan, why there is none.
        settings, scenario: what is laid over it.
        step: how far to move limits, by path.
        why_not: items whose absence to explain exactly.
        weight: without a plan, what changing a limit counts beside others, by path.
        keep: without a plan, limits that must stay.
        gap, time_limit, solver: how to solve.
    """
    given = {
        "step": as_texts(step), "why_not": tuple(why_not), "weight": as_texts(weight),
        "keep": tuple(keep), "gap": gap, "time_limit": time_limit, "solver": solver,
    }  # fmt: skip
    return record_of("explain", (problem,), Explanation, given, settings, scenario)


def compare(
    *plans: PlanSource | ProblemSource,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    solver: Solver = "highs",
) -> Comparison:
    """Return plans side by side: what differs from the first, by how much, and why it matters.

    Args:
        plans: plans, problems (solved first) and files of workbooks, two or more.
        settings, scenario: what is laid over problems.
        gap, time_limit, solver: how to solve problems.
    """
    given = {"gap": gap, "time_limit": time_limit, "solver": solver}
    return record_of("compare", plans, Comparison, given, settings, scenario)


def compare_rules(
    problem: ProblemSource,
    *,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    solver: Solver = "highs",
) -> RulesTable:
    """Return what storage costs by what the job needs, by vendors' rules and otherwise.

    It is ``planner compare --rules``.

    Args:
        problem: what to plan.
        settings, scenario: what is laid over it.
        gap, time_limit, solver: how to solve each row.
    """
    given = {"rules": True, "gap": gap, "time_limit": time_limit, "solver": solver}
    return record_of("compare", (problem,), RulesTable, given, settings, scenario)


def alternatives(
    problem: ProblemSource,
    *,
    within: float | str | None = None,
    most: int | None = None,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    solver: Solver = "highs",
) -> Alternatives:
    """Return plans nearly as good as the best that differ from it.

    Args:
        problem: what to plan.
        within: how far behind the best a plan may be, as a share.
        most: how many plans to return, the best included.
        settings, scenario: what is laid over it.
        gap, time_limit, solver: how to solve.
    """
    given = {
        "within": within, "most": most, "gap": gap, "time_limit": time_limit, "solver": solver,
    }  # fmt: skip
    return record_of("alternatives", (problem,), Alternatives, given, settings, scenario)


def sweep(
    problem: ProblemSource,
    vary: Mapping[str, str | Sequence[object]] | Sequence[str] = (),
    *,
    scenarios: File | None = None,
    named: Sequence[str] = (),
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    jobs: int | None = None,
) -> SweepTable:
    """Return the best plan of every scenario of a grid, each to a proven gap, as rows of a table.

    Args:
        problem: what to vary.
        vary: values by path: ``{"site.facility_power": "5MW:20MW:1MW"}``, or a list of values; of
            several the grid of all.
        scenarios: a CSV file of scenarios, one a row.
        named: named scenarios of the problem file, or ``["all"]``.
        settings, scenario: what is laid over it.
        gap: the largest gap to prove for each, as a share.
        time_limit: how long each may take.
        jobs: how many processes to use, 0 for as many as there are cores.
    """
    from planner.studies.sensitivity.journal import Journal
    from planner.studies.sensitivity.scenarios import scenarios as scenarios_of
    from planner.studies.sensitivity.sweep import Course, beside
    from planner.studies.sensitivity.workers import Workers

    given = {"gap": gap, "time_limit": time_limit, "jobs": jobs}
    request, _ = request_of(STUDIES["sweep"], (problem,), given, settings, scenario)
    if named and request.models:
        message = "named scenarios are read from the problem file, and this problem is in memory"
        raise InputError(Finding("scenario", message, fix="give the file"))
    inputs, options = request.inputs, request.each()
    chosen = scenarios_of(
        inputs,
        vary=varied(vary),
        table=None if scenarios is None else Path(scenarios),
        named=tuple(name for name in named if name != "all") if named else None,
        problem=request.path,
    )
    with TemporaryDirectory(prefix="planner-") as folder:
        course = Course(inputs, chosen, options, Journal(Path(folder), "library"), request.progress)
        try:
            with Workers(course.work, options.jobs, course.pieces) as workers:
                course.run(workers)
            done = course.table()
            blocks = list(done.blocks())
        finally:
            course.journal.close()
    table = {c.name: tuple(chain(*(block[c.name] for block in blocks))) for c in done.columns}
    statuses, proofs = Counter(table["status"]), Counter(c or "" for c in table["certificate"])
    base = api.solve_with(inputs, api.Options(gap=options.gap, explain=False))
    study = beside(done.record(statuses, proofs), base)
    return SweepTable(**dict(study), table=table)


def frontier(
    problem: ProblemSource,
    against: Literal["storage", "cost", "power"] = "storage",
    *,
    points: int | None = None,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    jobs: int | None = None,
) -> Frontier:
    """Return the most useful work against storage bandwidth, cost or power, and where it bends.

    Args:
        problem: what to plan.
        against: what work is held against.
        points: how many points to find at most.
        settings, scenario: what is laid over it.
        gap, time_limit: how to solve each.
        jobs: how many processes to use, 0 for as many as there are cores.
    """
    given = {
        "against": (against,), "points": points, "gap": gap, "time_limit": time_limit,
        "jobs": jobs,
    }  # fmt: skip
    return record_of("frontier", (problem,), Frontier, given, settings, scenario)


def tornado(
    problem: ProblemSource,
    vary: Mapping[str, str] | Sequence[str] = (),
    *,
    by: float | str | None = None,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    jobs: int | None = None,
) -> Tornado:
    """Return what the best plan becomes when one input at a time goes low and high.

    Args:
        problem: what to vary.
        vary: both ends by path: ``{"site.pue": "1.1:1.4"}``; by default every number that may
            matter.
        by: how far those go to either side, as a share.
        settings, scenario: what is laid over it.
        gap, time_limit: how to solve each.
        jobs: how many processes to use, 0 for as many as there are cores.
    """
    given = {
        "vary": varied(vary), "by": by, "gap": gap, "time_limit": time_limit, "jobs": jobs,
    }  # fmt: skip
    return record_of("tornado", (problem,), Tornado, given, settings, scenario)


def uncertain(
    problem: ProblemSource,
    dist: Mapping[str, str] | Sequence[str] = (),
    *,
    samples: int | None = None,
    method: Literal["lhs", "sobol"] = "lhs",
    seed: int | None = None,
    indices: bool = False,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    jobs: int | None = None,
) -> Uncertain:
    """Return what the best plan becomes where inputs are not known, and which is regretted least.

    Args:
        problem: what to plan.
        dist: distributions by path: ``{"site.pue": "uniform(1.1, 1.4)"}``; by default what is
            usually not known.
        samples: how many scenarios to draw.
        method: how they are drawn, Latin hypercube or Sobol.
        seed: the same one draws the same.
        indices: whether to explain the spread by inputs, which takes more scenarios.
        settings, scenario: what is laid over it.
        gap, time_limit: how to solve each.
        jobs: how many processes to use, 0 for as many as there are cores.
    """
    given = {
        "dist": varied(dist), "samples": samples, "method": method, "seed": seed,
        "indices": indices, "gap": gap, "time_limit": time_limit, "jobs": jobs,
    }  # fmt: skip
    return record_of("uncertain", (problem,), Uncertain, given, settings, scenario)


def simulate(
    plan: PlanSource | ProblemSource,
    *,
    failures: str | None = None,
    column: str | None = None,
    scaled: bool = False,
    planned: str | None = None,
    outages: str | None = None,
    beside: Sequence[File] = (),
    interval: str | None = None,
    intervals: bool | None = None,
    repairs: str | None = None,
    when_short: str | None = None,
    replications: int | None = None,
    length: str | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    settings: Settings = (),
    scenario: str | None = None,
) -> Simulation:
    """Return a plan's job run event by event, many times, beside what the formula predicts.

    Args:
        plan: a plan, or a problem, which is solved first.
        failures: "exponential", "weibull:SHAPE" or a CSV file; ``column`` is the column of that
            file, ``scaled`` stretches its times to the plan's mean.
        planned: planned stops, "30 days,4 h"; outages: of appliances, "2 years,8 h".
        beside: files of other jobs on the same storage.
        interval: another one than the plan's; intervals: whether to try other ones.
        repairs, when_short: how times of repair spread, what the job does while units are short.
        replications, length, seed: how many runs, how long each is, and which draw.
        jobs: how many processes to use, 0 for as many as there are cores.
        settings, scenario: what is laid over a problem.

    Raises:
        NoPlanError: there is no plan to simulate.
    """
    given = {
        "failures": failures, "column": column, "scaled": scaled, "planned": planned,
        "outages": outages, "beside": tuple(map(Path, beside)), "interval": interval,
        "intervals": intervals, "repairs": repairs, "when_short": when_short,
        "replications": replications, "length": length, "seed": seed, "jobs": jobs,
    }  # fmt: skip
    return record_of("simulate", (plan,), Simulation, given, settings, scenario)


def characterize(*traces: File, problem: File | None = None, **options: Any) -> Characterization:
    """Return the checkpoints and training jobs that storage telemetry shows.

    Args:
        traces: CSV, Parquet, Excel, JSON or HDF5 files.
        problem: a problem file to calibrate by a job.
        options: those of ``planner characterize``, by name: how to read the traces (``time``,
            ``write``, ``read``, ``cluster``, ``sum_``, ``unit``, ``window`` ...) and what is known
            of the job (``job``, ``plan``, ``gpus``, ``nameplate``, ``log`` ...).
    """
    given = options | {"problem": None if problem is None else Path(problem)}
    return record_of("characterize", traces, Characterization, given)


def synthesize(
    *plans: PlanSource | ProblemSource, folder: File, **options: Any
) -> tuple[Path, Path, Path]:
    """Write the storage telemetry of a cluster that runs plans; return trace, truth and log.

    Args:
        plans: a job each, on the storage of the first; problems are solved first.
        folder: where the files go.
        options: those of ``planner synthesize``, by name: ``length``, ``sample``, ``seed``, ...

    Raises:
        NoPlanError: there is no plan to run.
    """
    found = found_by("synthesize", plans, options | {"output": Path(folder)})
    if not found.written:
        raise NoPlanError(found.text)
    trace, truth, log = found.written
    return trace, truth, log
