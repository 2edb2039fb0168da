"""The request of an analysis: problems and plans, changes, how to solve; options read from text."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from planner import units
from planner.api import Options
from planner.currency import USD
from planner.errors import Finding, InputError, clip
from planner.inputs import Inputs
from planner.loader import documents, from_data, with_settings
from planner.loader import load as load_file
from planner.report.words import clean
from planner.schema.analysis import EXACT_GAP
from planner.schema.plan import Plan
from planner.terminal import Progress, ignore

if TYPE_CHECKING:
    from planner.optimizer.solvers import SolverName

PROBLEMS = (".yaml", ".yml")
"""Suffixes of problem files."""
SOLVERS: tuple[SolverName, ...] = ("highs", "cbc")
EACH_GAP = 1e-3
"""Gap of each of many scenarios."""
EXACT_ROWS = 500
"""Up to this number of rows a sweep without a gap states the plans that `solve` gives."""
File = str | os.PathLike[str]
ProblemSource = File | Inputs | Mapping[str, Any]
"""A problem file, inputs that `load` returned, or a dict as the file has it."""
PlanSource = File | Plan
"""A PROBLEM.plan.json, or a plan in memory."""
Settings = Mapping[str, object] | Sequence[str] | None
"""``{"site.facility_power": "12 MW"}`` or ``["site.facility_power=12 MW"]``."""
ChoiceT = TypeVar("ChoiceT", bound=str)


@dataclass(frozen=True)
class Request:
    """Files of an analysis, changes, how to solve.

    Attributes:
        paths: the files, the first the one that is studied.
        settings, scenario: changes laid over a problem file.
        gap: largest MIP gap to prove; None for the one of the analysis.
        solving: how to solve; its gap does not count.
        begun_s: start of the command by ``time.monotonic``.
        models: problems and plans in memory by the path that stands for them; settings and the
            scenario are of files alone.
    """

    paths: tuple[Path, ...]
    settings: tuple[str, ...] = ()
    scenario: str | None = None
    gap: float | None = None
    solving: Options = field(default_factory=Options)
    progress: Progress = ignore
    begun_s: float = field(default_factory=time.monotonic)
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
        given = self.models.get(self.path)
        if isinstance(given, Inputs):
            return given
        return load_file(self.path, settings=self.settings, scenario=self.scenario)

    def each(self) -> Options:
        """Options of solving each of many scenarios."""
        return replace(self.solving, gap=EACH_GAP if self.gap is None else self.gap)

    def rows(self, scenarios: int) -> Options:
        """Options for rows of a sweep: few rows, and exact ones, are solved as by `solve`."""
        exact = EXACT_GAP if scenarios <= EXACT_ROWS else EACH_GAP
        gap = exact if self.gap is None else self.gap
        return replace(self.solving, gap=gap, ties=gap <= EXACT_GAP)

    def options(self, **more: Any) -> Options:
        """Options of solving, with the time limit for each solve."""
        gap = self.solving.gap if self.gap is None else self.gap
        return replace(self.solving, gap=gap, **more)

    def running(self, **more: Any) -> Options:
        """Options of solving, with one clock for the whole command."""
        return self.options(**more).started(self.begun_s)


# Sources: problems and plans, as files or models.


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
    solving = Options(
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


# Options read from text; each raises an InputError


def _wrong(message: str, fix: str | None = None) -> InputError:
    return InputError(Finding("option", message, fix=fix))


def one_of(option: str, value: str, choices: Sequence[ChoiceT]) -> ChoiceT:
    """A word that is one of the choices."""
    for choice in choices:
        if value == choice:
            return choice
    raise _wrong(f"{option} {value!r} is not known", f"one of {', '.join(choices)}")


def whole(option: str, number: int, least: int = 1) -> int:
    """A whole number of at least ``least``."""
    if not isinstance(number, int) or number < least:
        raise _wrong(f"{option} {number} must be {least} or more")
    return number


def share(option: str, given: float | str) -> float:
    """A share between 0 and 1; texts may be in percent."""
    text = given if isinstance(given, str) else repr(given)
    value = _quantity(option, text, units.SHARE)
    if not 0 < value < 1:
        raise _wrong(f"{option} {text} must be more than 0 and less than 1")
    return value


def seconds(option: str, text: str) -> float:
    """A time in s, more than 0."""
    return _quantity(option, text, units.TIME)


def bandwidth(option: str, text: str) -> float:
    """A bandwidth in GB/s, more than 0."""
    return _quantity(option, text, units.BANDWIDTH)


def _quantity(option: str, text: str, dimension: units.Dimension) -> float:
    try:
        value = units.parse(text, dimension)
    except units.QuantityError as error:
        raise _wrong(f"{option}: {error}", error.fix) from None
    if value <= 0:
        raise _wrong(f"{option} {text} must be more than 0")
    return value


# Records and files


def head_of(inputs: Inputs, gap_asked: float) -> dict[str, Any]:
    """Fields of every record that describe its problem; ``gap_asked`` is a share."""
    from planner.figures import objective_unit

    problem = inputs.problem
    sold = [item for item in inputs.items if item.category in ("gpu_system", "storage")]
    return {
        "problem": problem.name,
        "problem_file": inputs.problem_file,
        "scenario": inputs.scenario,
        "overrides": inputs.overrides,
        "input_sha256": inputs.sha256,
        "currency": None if problem.shown_in == USD else problem.shown_in,
        "objective": problem.objective.name,
        "sense": problem.objective.sense,
        "unit": objective_unit(problem.objective.name),
        "gap_asked": gap_asked,
        "products": {item.id: item.product for item in sold},
    }


def stem_of(problem: Path, scenario: str | None) -> str:
    """Beginning of the names of a problem's files, without characters that a system refuses."""
    stem = problem.stem if scenario is None else f"{problem.stem}.{scenario}"
    return re.sub(r'[\x00-\x1f\x7f<>:"/\\|?*]', "_", clean(stem, limit=None))
