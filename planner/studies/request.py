"""The request and the result of a study: one form for all of them; options read from text."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from planner import units
from planner.errors import Finding, InputError
from planner.outputs.words import clean
from planner.studies.pool import Progress, ignore

if TYPE_CHECKING:
    from pydantic import BaseModel

    from planner.api import Options
    from planner.inputs import Inputs
    from planner.optimizer.effort import Effort
    from planner.optimizer.operate import Run
    from planner.optimizer.solvers import SolverName
    from planner.schema.plan import Plan

PROBLEMS = (".yaml", ".yml")
"""How names of problem files end."""

_NOT_IN_NAMES = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]')
"""What a system does not take in the name of a file, or takes for a folder."""


def _now() -> tuple[float, float]:
    return time.monotonic(), time.process_time()


DEFAULT_GAP = 1e-3
EXACT_ROWS = 500
"""Up to this number of rows a sweep without a gap states the plans that `solve` gives."""


@dataclass(frozen=True)
class SweepOptions:
    """How exactly to solve each scenario (a share), how long at most, in how many processes.

    0 of them: as many as there are cores. ``dask`` is the address of a Dask scheduler whose workers
    do the work instead.
    ``ties``: of equally good plans rows state the one that `solve` takes.
    ``known``: plans to begin with.
    """

    gap: float = DEFAULT_GAP
    time_limit_s: float | None = None
    jobs: int = 0
    dask: str | None = None
    ties: bool = False
    known: tuple[Run, ...] = ()

    @property
    def effort(self) -> Effort:
        """How far to go from now on, for one scenario."""
        from planner.optimizer.effort import Effort

        return Effort.within(self.time_limit_s)


@dataclass(frozen=True)
class Request:
    """Of which files a study is, what is laid over them, how to solve, whom to tell.

    Attributes:
        paths: the files it is about, the first the one that is studied.
        settings, scenario: changes laid over a problem file.
        gap, time_limit_s, solver: how to solve.
        jobs: how many processes to use, 0 for as many as there are cores.
        dask: the address of a Dask scheduler whose workers do the work instead.
        folder: where files go, None for none.
        progress: is told how far the study has come.
        begun: when the command began, by ``time.monotonic`` and ``time.process_time``.
        models: what is in memory under the name of a path, instead of a file there; settings and
            the scenario are of files alone.
    """

    paths: tuple[Path, ...]
    settings: tuple[str, ...] = ()
    scenario: str | None = None
    gap: float | None = None
    time_limit_s: float | None = None
    solver: SolverName = "highs"
    jobs: int = 0
    dask: str | None = None
    folder: Path | None = None
    progress: Progress = ignore
    begun: tuple[float, float] = field(default_factory=_now)
    models: Mapping[Path, Inputs | Plan] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The file that is studied."""
        return self.paths[0]

    @cached_property
    def inputs(self) -> Inputs:
        """The problem with its catalogs and prices.

        Raises:
            InputError: a file is wrong.
        """
        from planner.api import Inputs, load

        given = self.models.get(self.path)
        if isinstance(given, Inputs):
            return given
        return load(self.path, settings=self.settings, scenario=self.scenario)

    @property
    def stem(self) -> str:
        """How the names of the problem's files begin."""
        return stem_of(self.path, self.scenario)

    def each(self) -> SweepOptions:
        """Return how each of many scenarios is solved."""
        gap = DEFAULT_GAP if self.gap is None else self.gap
        return SweepOptions(gap, self.time_limit_s, self.jobs, self.dask)

    def rows(self, scenarios: int) -> SweepOptions:
        """Return how the rows of a sweep are solved: few, and those asked for exactly, as `solve`
        does."""
        from planner.schema.sensitivity import EXACT_GAP

        gap = self.gap
        if gap is None:
            gap = EXACT_GAP if scenarios <= EXACT_ROWS else DEFAULT_GAP
        return replace(self.each(), gap=gap, ties=gap <= EXACT_GAP)

    def options(self, **more: Any) -> Options:
        """Return how to solve, with the time limit for each solve."""
        from planner.api import Options

        exact = {} if self.gap is None else {"gap": self.gap}
        given: dict[str, Any] = exact | {"time_limit_s": self.time_limit_s, "solver": self.solver}
        return Options(**given, **more)

    def running(self, **more: Any) -> Options:
        """Return how to solve, with one clock for the whole command."""
        return self.options(**more).started(self.begun)

    def plan(self) -> Plan:
        """Return the best plan of the problem, for the workbook of a study of scenarios."""
        from planner.api import Options, solve_with

        return solve_with(self.inputs, Options(time_limit_s=self.time_limit_s, explain=False))


@dataclass(frozen=True)
class Found:
    """The outcome of a study, for the code that shows it and writes its files.

    Attributes:
        records: the results, as ``--json`` prints them.
        ended: the statuses they ended with; the exit code is the highest of theirs.
        stem: how the names of its files begin, by default as the problem's.
        plan: makes the plan that its workbook is about; without it there is no workbook.
        shown: what views, sheets and charts take besides the record, by name.
        title: of the workbook, by default the problem's name.
        text: what to print where there is no record.
        written: files that are there already.
        plans: the plans that it compares, by name.
        stopped: message of a study that the user interrupted, with the files written.
    """

    records: tuple[BaseModel, ...] = ()
    ended: tuple[str, ...] = ("optimal",)
    stem: str = ""
    plan: Callable[[], Plan] | None = None
    shown: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    text: str = ""
    written: tuple[Path, ...] = ()
    plans: tuple[tuple[str, Plan], ...] = ()
    stopped: str = ""


def request_for(
    paths: Sequence[Path],
    settings: Sequence[str] = (),
    scenario: str | None = None,
    *,
    gap: float | str | None = None,
    time_limit: str | None = None,
    solver: str = "highs",
    workers: int | str = 0,
    folder: Path | None = None,
    models: Mapping[Path, Inputs | Plan] | None = None,
) -> Request:
    """Return the request of a study; options are as on the command line.

    Args:
        paths: problem, plan or trace files, the studied one first.
        settings: ``PATH=VALUE`` changes of the problem.
        scenario: a named scenario of the problem file.
        gap: largest gap to prove, as a share or in percent; None for the study's own.
        time_limit: such as ``30 s``.
        solver: ``highs`` or ``cbc``.
        workers: number of processes, 0 for one per core; or the address of a Dask scheduler.
        folder: folder for files, None for none.
        models: problems and plans in memory, by the path that stands for them.

    Raises:
        InputError: an option cannot be read.
    """
    jobs, dask = workers_of(workers)
    return Request(
        tuple(paths),
        tuple(settings),
        scenario,
        None if gap is None else share("--gap", gap),
        None if time_limit is None else seconds("--time-limit", time_limit),
        one_of("--solver", solver, SOLVERS),
        jobs,
        dask,
        folder,
        models=models or {},
    )


SOLVERS: tuple[SolverName, ...] = ("highs", "cbc")
ChoiceT = TypeVar("ChoiceT", bound=str)


def one_of(option: str, value: str, choices: Sequence[ChoiceT]) -> ChoiceT:
    """Return a word that is one of the choices.

    Raises:
        InputError: it is none of them.
    """
    for choice in choices:
        if value == choice:
            return choice
    message = f"{option} {value!r} is not known"
    raise InputError(Finding("option", message, fix=f"one of {', '.join(choices)}"))


def workers_of(workers: int | str) -> tuple[int, str | None]:
    """Return a number of processes and the address of a Dask scheduler, None without one.

    Raises:
        InputError: it is neither.
    """
    text = str(workers)
    if "://" in text:
        return 0, text
    try:
        return whole("--workers", int(text), 0), None
    except ValueError:
        message = f"--workers '{text[:80]}' is no number"
        fix = "give a number of processes, or tcp://HOST:PORT of a Dask scheduler"
        raise InputError(Finding("option", message, fix=fix)) from None


def whole(option: str, number: int, least: int = 1) -> int:
    """Return a whole number.

    Raises:
        InputError: it is below ``least``.
    """
    if number < least:
        raise InputError(Finding("option", f"{option} {number} must be {least} or more"))
    return number


def share(option: str, given: float | str) -> float:
    """Return a share between 0 and 1; texts may be in percent.

    Raises:
        InputError: it is none.
    """
    text = given if isinstance(given, str) else repr(given)
    value = quantity(option, text, units.SHARE)
    if not 0 < value < 1:
        raise InputError(Finding("option", f"{option} {text} must lie between 0 and 1"))
    return value


def seconds(option: str, text: str) -> float:
    """Return a time in seconds, more than 0.

    Raises:
        InputError: the text is none.
    """
    return _above_0(option, text, units.TIME)


def bandwidth(option: str, text: str) -> float:
    """Return a bandwidth in GB/s, more than 0.

    Raises:
        InputError: the text is none.
    """
    return _above_0(option, text, units.BANDWIDTH)


def _above_0(option: str, text: str, dimension: units.Dimension) -> float:
    value = quantity(option, text, dimension)
    if value <= 0:
        raise InputError(Finding("option", f"{option} {text} must be more than 0"))
    return value


def quantity(option: str, text: str, dimension: units.Dimension) -> float:
    """Return a quantity in the unit of its dimension.

    Raises:
        InputError: the text is none.
    """
    try:
        return units.parse(text, dimension)
    except units.QuantityError as error:
        raise InputError(Finding("option", f"{option}: {error}", fix=error.fix)) from None


def head_of(inputs: Inputs, gap_asked: float) -> dict[str, Any]:
    """Return what every record of a study says of its problem: its objective, its currency, ...

    Args:
        gap_asked: how exactly each plan is asked for.
    """
    from planner.figures import objective_unit
    from planner.schema.prices import ShownIn

    problem = inputs.problem
    return {
        "problem": problem.name,
        "problem_file": inputs.problem_file,
        "scenario": inputs.scenario,
        "overrides": inputs.overrides,
        "input_sha256": inputs.sha256,
        "currency": ShownIn.of(problem.shown_in),
        "objective": problem.objective.name,
        "sense": problem.objective.sense,
        "unit": objective_unit(problem.objective.name),
        "gap_asked": gap_asked,
        "products": {
            item.id: item.product
            for item in inputs.items
            if item.category in ("gpu_system", "storage")
        },
    }


def stem_of(problem: Path, scenario: str | None) -> str:
    """Return how the names of a problem's files begin under one of its scenarios."""
    stem = problem.stem if scenario is None else f"{problem.stem}.{scenario}"
    return _NOT_IN_NAMES.sub("_", clean(stem, limit=None))


def stem_of_side(path: Path, plan: Plan) -> str:
    """Return how the names of files begin that are made of a plan's file, a workbook or a problem.

    A plan's own file names its scenario already.
    """
    solved = path.suffix.lower() in PROBLEMS
    named = path.with_name(path.stem.removesuffix(".plan") + path.suffix)
    return stem_of(named, plan.provenance.scenario if solved else None)
