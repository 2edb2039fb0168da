"""Sources of the analyses: problems and plans as files or models; changes, options, portfolios."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from planner import removed
from planner.api import Options
from planner.errors import Finding, InputError, clip
from planner.inputs import Inputs
from planner.loader import documents, from_data, with_settings
from planner.loader import load as load_file
from planner.schema.plan import DEFAULT_GAP, Plan
from planner.terminal import Progress, ignore
from planner.units import one_of, seconds, share, whole

File = str | os.PathLike[str]
ProblemSource = File | Inputs | Mapping[str, Any]
"""A problem file, inputs that `load` returned, or a dict as the file has it."""
PlanSource = File | Plan
"""A PROBLEM.plan.json, or a plan in memory."""
Settings = Mapping[str, object] | Sequence[str] | None
"""``{"site.facility_power": "12 MW"}`` or ``["site.facility_power=12 MW"]``."""
Solver = Literal["highs", "cbc"]
PATHS = (str, os.PathLike)


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


def prepare(
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
    options = options_of(usual_gap, **solving)
    options = options.started() if timed else options
    return load(problem, settings=settings, scenario=scenario), options, progress


def options_of(
    usual_gap: float,
    *,
    gap: float | str | None = None,
    time_limit: str | None = None,
    workers: int | str = 0,
    solver: str = "highs",
    **unknown: object,
) -> Options:
    """Options of solving from those of the command line."""
    for name in unknown:
        fix = f"use {removed.KEYWORDS[name]}" if name in removed.KEYWORDS else None
        raise InputError(Finding("option", f"there is no keyword '{name}'", fix=fix))
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


def source_of(
    source: PlanSource | ProblemSource, settings: Settings = None, scenario: str | None = None
) -> Path | Plan | Inputs:
    """A plan or problem in memory, with the settings, or the path of a file.

    Raises:
        InputError: the source is wrong, or a portfolio.
    """
    check_files((source,), Inputs, Plan, Mapping)
    if isinstance(source, PATHS):
        require_single(source)
        return Path(source)
    if isinstance(source, Plan):
        return source
    return load(source, settings=settings, scenario=scenario)


def plan_source(plan: PlanSource) -> Path | Plan:
    """A plan in memory, or the path of a file."""
    check_files((plan,), Plan)
    found = source_of(plan)
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
