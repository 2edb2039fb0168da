"""Arguments of `import planner`: a problem or plan as a file, a dict or an object; settings."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from planner.analysis.request import SOLVERS, Request, one_of, seconds, share, whole
from planner.errors import Finding, InputError, clip
from planner.inputs import Inputs
from planner.loader import documents, from_data, with_settings
from planner.schema.plan import Plan
from planner.terminal import Progress, ignore

File = str | os.PathLike[str]
ProblemSource = File | Inputs | Mapping[str, Any]
"""A problem file, inputs that `load` returned, or a dict as the file has it."""
PlanSource = File | Plan
"""A PROBLEM.plan.json, or a plan in memory."""
Settings = Mapping[str, object] | Sequence[str]
"""``{"site.facility_power": "12 MW"}`` or ``["site.facility_power=12 MW"]``."""
_FILE = (str, os.PathLike)


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


def request_of(
    *sources: object,
    settings: Settings = (),
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
    require_single(sources[0])
    paths = [Path(each) if isinstance(each, _FILE) else None for each in sources]
    models: dict[Path, Inputs | Plan] = {}
    for place, source in enumerate(sources):
        if paths[place] is None:
            model = source if isinstance(source, Plan) else problem_of(source, settings, scenario)
            paths[place] = path = _free_name(model, paths)
            models[path] = model
    in_files = len(models) < len(paths)
    dask = str(workers) if "://" in str(workers) else None
    if dask is None and not re.fullmatch("-?[0-9]+", str(workers)):
        fix = "give a number of processes, or tcp://HOST:PORT of a Dask scheduler"
        message = f"--workers '{str(workers)[:80]}' is no number"
        raise InputError(Finding("option", message, fix=fix))
    return Request(
        tuple(filter(None, paths)),
        as_texts(settings) if in_files else (),
        scenario if in_files else None,
        None if gap is None else share("--gap", gap),
        None if time_limit is None else seconds("--time-limit", time_limit),
        one_of("--solver", solver, SOLVERS),
        whole("--workers", 0 if dask else int(workers), 0),
        dask,
        progress,
        models=models,
    )


def _free_name(model: Inputs | Plan, taken: Sequence[Path | None]) -> Path:
    """A name for a model in memory, as that of its file, that no other source has."""
    if isinstance(model, Plan):
        name, suffix = model.provenance.problem_file or model.problem, ".plan.json"
    else:
        name, suffix = model.problem_file or model.problem.name, ".yaml"
    marks = ("", *(f" ({number})" for number in range(2, len(taken) + 2)))
    names = (Path(f"{Path(name).stem}{mark}{suffix}") for mark in marks)
    return next(each for each in names if each not in taken)


def problem_of(source: object, settings: Settings, scenario: str | None) -> Inputs:
    """A problem in memory, checked, with settings laid over it.

    Raises:
        InputError: it is no problem, or a scenario is asked for, which only files and dicts have.
    """
    if isinstance(source, Mapping):
        data = as_json(dict(source), "problem")
        return from_data(data, settings=as_texts(settings), scenario=scenario)
    if not isinstance(source, Inputs):
        raise wrong_type(source, "a file, Inputs or a dict")
    if scenario is not None:
        message = f"a problem in memory has no scenario '{scenario}'"
        raise InputError(Finding("scenario", message, fix="load the file with it"))
    return with_settings(source, as_texts(settings))


def file_path(value: object) -> Path:
    """The path of a file; an InputError where the value is none."""
    if isinstance(value, _FILE):
        return Path(value)
    raise wrong_type(value, "the path of a file")


def as_texts(settings: object, *, joined: bool = False) -> tuple[str, ...]:
    """Settings ``{path: value}`` or a list of texts as texts ``path=value``.

    Args:
        joined: a list is the values to vary, joined by commas.
    """
    if isinstance(settings, str):
        fix = "write a list of them, or {path: value}"
        raise InputError(Finding("set", f"'{clip(settings)}' is one text", fix=fix))
    if isinstance(settings, Mapping):
        return tuple(f"{path}={_text(value, joined)}" for path, value in settings.items())
    listed: list[Any] = list(settings) if isinstance(settings, Iterable) else [settings]
    for each in listed:
        if not isinstance(each, str):
            raise wrong_type(each, "texts PATH=VALUE, or a dict of them")
    return tuple(listed)


def _text(value: object, joined: bool) -> str:
    if isinstance(value, str):
        return value
    if joined and isinstance(value, Iterable):
        return ",".join(map(str, value))
    return as_json(value, "setting")


def as_json(value: object, name: str) -> str:
    """A value as JSON, which is YAML, too; an InputError where no file can hold it."""

    def plain(value: Any) -> Any:
        is_number = hasattr(value, "tolist") and not getattr(value, "ndim", 1)  # of numpy
        return value.tolist() if is_number else os.fspath(value)

    try:
        return json.dumps(value, ensure_ascii=False, default=plain)
    except (TypeError, ValueError, RecursionError) as error:
        fix = "use texts, numbers, lists and dicts, as in a problem file"
        message = f"the {name} cannot be read: {clip(str(error), 100)}"
        raise InputError(Finding("type", message, fix=fix)) from None


def wrong_type(value: object, expected: str) -> InputError:
    """The error of an argument of another type."""
    shown = f" {clip(repr(value))}" if isinstance(value, (int, float, str, bytes)) else ""
    return InputError(Finding("type", f"expected {expected}, found {type(value).__name__}{shown}"))


# Portfolios: problems of several jobs, sites or periods.

_MAYBE = re.compile(rb"\b(sites|periods)\b|\bjobs\b(?:[\s\S]*?\bname\b){2}")
_PLAN = b'"kind": "portfolio"'
_READ_BYTES, _MOST_BYTES = 200, 5_000_000


def is_portfolio(source: object) -> bool:
    """True of a file that is a portfolio problem, or the plan of one."""
    if not isinstance(source, _FILE) or not Path(source).is_file():
        return False
    path = Path(source)
    is_json = path.suffix == ".json"
    if not is_json and path.suffix not in (".yaml", ".yml"):
        return False
    try:
        with path.open("rb") as stream:
            raw = stream.read(_READ_BYTES if is_json else _MOST_BYTES)
        if is_json or not _MAYBE.search(raw):
            return is_json and _PLAN in raw
        data = documents.read(path).data
    except (OSError, InputError):
        return False  # the loader names the fault
    if not isinstance(data, dict):
        return False
    jobs = data.get("jobs")
    return bool({"sites", "periods"} & data.keys()) or (isinstance(jobs, tuple) and len(jobs) > 1)


def require_single(source: object, name: str = "this function") -> None:
    """Refuse a portfolio where one job at one site is analysed.

    Raises:
        InputError: the file is a portfolio.
    """
    if is_portfolio(source):
        message = f"{name} is for one job at one site"
        fix = (
            "of a portfolio there are solve (planner.solve_portfolio), check, verify, explain, "
            "sweep (a grid), simulate and explore"
        )
        raise InputError(Finding("portfolio", message, str(source), fix=fix))
