"""Arguments of `import planner`: files and models by path, settings as texts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from planner.errors import Finding, InputError, NoPlanError
from planner.inputs import Inputs
from planner.library.sources import as_json, as_setting, is_frame, kind, text
from planner.loader import completed, from_data, with_settings
from planner.schema.plan import Plan
from planner.schema.problem import Problem
from planner.studies.request import Found, Request, request_for

File = str | os.PathLike[str]
ProblemSource = File | Inputs | Problem | Mapping[str, Any]
"""A problem file, a problem in memory, or a dict as the file has it."""
TraceSource = Any
"""A trace file or a pandas DataFrame, or a list of these."""
PlanSource = File | Plan
"""A PROBLEM.plan.json, or a plan in memory."""
Settings = Mapping[str, object] | Sequence[str]
"""``{"site.facility_power": "12 MW"}`` or ``["site.facility_power=12 MW"]``."""
RecordT = TypeVar("RecordT", bound=BaseModel)


def request_of(
    sources: Sequence[PlanSource | ProblemSource],
    settings: Settings = (),
    scenario: str | None = None,
    *,
    gap: float | str | None = None,
    time_limit: str | None = None,
    solver: str = "highs",
    workers: int | str = 0,
) -> Request:
    """Return the request of a study: files and models by path, options as on the command line.

    Raises:
        InputError: nothing is given, or an option is wrong.
    """
    paths, models = by_path(sources, settings, scenario)
    of_files = len(models) < len(paths)
    return request_for(
        paths,
        as_texts(settings) if of_files else (),
        scenario if of_files else None,
        gap=gap,
        time_limit=time_limit,
        solver=solver,
        workers=workers,
        models=models,
    )


def record_of(found: Found, kind: type[RecordT]) -> RecordT:
    """Return the one record of a study.

    Raises:
        NoPlanError: there is no plan to study.
    """
    if not found.records:
        raise NoPlanError(found.text)
    (record,) = found.records
    assert isinstance(record, kind)
    return record


def in_memory(
    problem: Inputs | Problem | Mapping[str, Any], settings: Settings, scenario: str | None
) -> Inputs:
    """Return a problem that is no file, checked, with settings laid over it.

    Raises:
        InputError: it is no problem, or a scenario is asked for, which only files and dicts have.
    """
    if isinstance(problem, Mapping):
        data = as_json(dict(problem), "problem")
        return from_data(data, settings=as_texts(settings), scenario=text(scenario, "a scenario"))
    if not isinstance(problem, (Inputs, Problem)):
        message = f"expected a file, Inputs, a Problem or a dict, found {kind(problem)}"
        fix = "give one by one what this function takes one of"
        if is_frame(problem):
            fix = "a DataFrame can be a trace of characterize, or scenarios of sweep"
        raise InputError(Finding("type", message, fix=fix))
    if scenario is not None:
        message = f"a problem in memory has no scenario '{scenario}'"
        raise InputError(Finding("scenario", message, fix="load the file with it"))
    inputs = completed(problem) if isinstance(problem, Problem) else problem
    return with_settings(inputs, as_texts(settings))


def by_path(
    sources: Sequence[PlanSource | ProblemSource], settings: Settings, scenario: str | None
) -> tuple[list[Path], dict[Path, Inputs | Plan]]:
    """Return files and models by the path that each goes by; models have settings laid over them.

    Raises:
        InputError: nothing is given.
    """
    if not sources:
        raise InputError(Finding("files", "nothing is given", fix="give a file or a model"))
    files = [Path(each) for each in sources if isinstance(each, (str, os.PathLike))]
    scenario = text(scenario, "the name of a scenario")
    paths: list[Path] = []
    models: dict[Path, Inputs | Plan] = {}
    for source in sources:
        if isinstance(source, (str, os.PathLike)):
            paths.append(Path(source))
            continue
        if isinstance(source, Plan):
            model: Inputs | Plan = source
            stem = Path(source.provenance.problem_file or source.problem).stem
            suffix = ".plan.json"
        else:
            model = in_memory(source, settings, scenario)
            stem = Path(model.problem_file or model.problem.name).stem
            suffix = ".yaml"
        names = (f"{stem}{mark}{suffix}" for mark in ("", *(f" ({n})" for n in range(2, 99))))
        path = next(p for p in map(Path, names) if p not in models and p not in files)
        paths.append(path)
        models[path] = model
    return paths, models


def as_texts(settings: Settings) -> tuple[str, ...]:
    """Return settings as the command line has them.

    Raises:
        InputError: they are one text, which would be taken apart, or no settings.
    """
    if settings is None:
        return ()
    if isinstance(settings, str):
        fix = "write a list of them, or {path: value}"
        raise InputError(Finding("set", f"'{settings[:80]}' is one text", fix=fix))
    if isinstance(settings, Mapping):
        return tuple(f"{path}={as_setting(value)}" for path, value in settings.items())
    wrong = [settings]
    if isinstance(settings, Iterable):
        listed = list(settings)
        wrong = [each for each in listed if not isinstance(each, str)]
        if not wrong:
            return tuple(listed)
    message = f"expected texts PATH=VALUE, found {kind(wrong[0])}"
    raise InputError(Finding("set", message, fix="write a list of them, or {path: value}"))


def varied(vary: Settings) -> tuple[str, ...]:
    """Return what varies as the command line has it: a list of values with commas."""
    if not isinstance(vary, Mapping):
        return as_texts(vary)
    return as_texts({path: _joined(value) for path, value in vary.items()})


def _joined(value: object) -> object:
    if isinstance(value, str) or not isinstance(value, Iterable):
        return value
    return ",".join(map(str, value))
