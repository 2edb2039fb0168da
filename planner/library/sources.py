"""Arguments of `import planner`: files, models and pandas frames by path, settings as texts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from planner.analysis.request import Found, Request, request_for
from planner.errors import Finding, InputError, NoPlanError, clip
from planner.inputs import Inputs
from planner.loader import completed, from_data, with_settings
from planner.schema.plan import Plan
from planner.schema.problem import Problem

if TYPE_CHECKING:
    import pandas as pd

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

_FRAME = "DataFrame"
_SINGLE = (str, bytes, os.PathLike, Mapping, Inputs, Problem, Plan)
_KINDS = {
    "str": "a text",
    "dict": "a dict",
    "list": "a list",
    "tuple": "a tuple",
    "NoneType": "None",
}


# Requests.


def request_of(
    sources: Sequence[PlanSource | ProblemSource],
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str | None = None,
    time_limit: str | None = None,
    workers: int | str = 0,
    solver: str = "highs",
) -> Request:
    """The request of a study: files and models by path, options as on the command line.

    Raises:
        InputError: nothing is given, or an option is wrong.
    """
    paths, models = by_path(sources, settings, scenario)
    of_files = len(models) < len(paths)  # models have the settings laid over them already
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
    """The one record of a study.

    Raises:
        NoPlanError: there is no plan to study.
    """
    if not found.records:
        raise NoPlanError(found.text)
    (record,) = found.records
    assert isinstance(record, kind)
    return record


def by_path(
    sources: Sequence[PlanSource | ProblemSource], settings: Settings, scenario: str | None
) -> tuple[list[Path], dict[Path, Inputs | Plan]]:
    """Files and models by the path that each goes by; models have settings laid over them.

    Raises:
        InputError: nothing is given.
    """
    if not sources:
        raise InputError(Finding("files", "nothing is given", fix="give a file or a model"))
    scenario = text(scenario, "the name of a scenario")
    taken = {Path(each) for each in sources if isinstance(each, (str, os.PathLike))}
    paths: list[Path] = []
    models: dict[Path, Inputs | Plan] = {}
    for source in sources:
        if isinstance(source, (str, os.PathLike)):
            paths.append(Path(source))
            continue
        if isinstance(source, Plan):
            model: Inputs | Plan = source
            stem, suffix = source.provenance.problem_file or source.problem, ".plan.json"
        else:
            model = in_memory(source, settings, scenario)
            stem, suffix = model.problem_file or model.problem.name, ".yaml"
        marks = ("", *(f" ({number})" for number in range(2, 99)))
        names = (Path(f"{Path(stem).stem}{mark}{suffix}") for mark in marks)
        path = next(name for name in names if name not in taken)
        taken.add(path)
        paths.append(path)
        models[path] = model
    return paths, models


def in_memory(
    problem: Inputs | Problem | Mapping[str, Any], settings: Settings, scenario: str | None
) -> Inputs:
    """A problem that is no file, checked, with settings laid over it.

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


# Values.


def flat(sources: Iterable[object]) -> list[Any]:
    """Sources one by one: of a list of them each."""
    found: list[Any] = []
    for source in sources:
        single = isinstance(source, _SINGLE) or hasattr(source, "to_frame") or is_frame(source)
        found += flat(source) if isinstance(source, Iterable) and not single else [source]
    return found


def is_frame(source: object) -> bool:
    """Whether a source is a frame of pandas, which is not imported for it."""
    return hasattr(source, "to_parquet") and hasattr(source, "columns")


def file_path(value: object, what: str) -> Path:
    """A path; an InputError where the value is none."""
    if isinstance(value, (str, os.PathLike)) and isinstance(os.fspath(value), str):
        return Path(value)
    raise InputError(Finding("type", f"expected {what}, found {kind(value)}", fix="give its path"))


def text(value: object, what: str) -> str | None:
    """A text or None; an InputError where the value is neither."""
    if value is None or isinstance(value, str):
        return value
    message = f"expected {what}, found {kind(value)}"
    raise InputError(Finding("type", message, fix="write it as a text"))


def kind(value: object) -> str:
    """The kind of a value, for a message."""
    if is_frame(value):
        return "a DataFrame"
    name = type(value).__name__
    shown = isinstance(value, (int, float, bytes))
    return _KINDS.get(name, f"{name} {clip(repr(value), 40)}" if shown else f"a value of {name}")


def as_json(value: object, what: str) -> str:
    """A value as JSON, which is YAML, too; an InputError where no file can have it."""
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        fix = "use texts, numbers, lists and dicts, as in a problem file"
        message = f"the {what} cannot be read: {clip(str(error), 100)}"
        raise InputError(Finding("type", message, fix=fix)) from None


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "item"):  # a number of numpy
        return value.item()
    raise TypeError(f"found {kind(value)}")


def as_texts(settings: Settings) -> tuple[str, ...]:
    """Settings as the command line has them.

    Raises:
        InputError: they are one text, which would be taken apart, or no settings.
    """
    if settings is None:
        return ()
    fix = "write a list of them, or {path: value}"
    if isinstance(settings, str):
        raise InputError(Finding("set", f"'{settings[:80]}' is one text", fix=fix))
    if isinstance(settings, Mapping):
        return tuple(
            f"{path}={value if isinstance(value, str) else as_json(value, 'setting')}"
            for path, value in settings.items()
        )
    listed: list[object] = list(settings) if isinstance(settings, Iterable) else [settings]
    texts = tuple(each for each in listed if isinstance(each, str))
    if len(texts) == len(listed):
        return texts
    wrong = next(each for each in listed if not isinstance(each, str))
    raise InputError(Finding("set", f"expected texts PATH=VALUE, found {kind(wrong)}", fix=fix))


def varied(vary: Settings) -> tuple[str, ...]:
    """Varied inputs as PATH=VALUES texts, lists of values joined by commas."""
    if not isinstance(vary, Mapping):
        return as_texts(vary)
    lists = {p: v for p, v in vary.items() if isinstance(v, Iterable) and not isinstance(v, str)}
    return as_texts({**vary, **{path: ",".join(map(str, each)) for path, each in lists.items()}})


# Frames of pandas, read as the files that they are written to.


@contextmanager
def in_files(sources: Sequence[Any]) -> Iterator[list[Any]]:
    """Have frames as files meanwhile; errors name the frame, not the file.

    Raises:
        InputError: a frame cannot be written, or what is done with the files fails so.
    """
    if any(isinstance(source, Mapping) for source in sources):
        fix = "give a file, or pandas.DataFrame(...) of it"
        raise InputError(Finding("type", "a dict is no trace", fix=fix))
    if not any(map(is_frame, sources)):
        yield list(sources)
        return
    with TemporaryDirectory(prefix="planner-") as folder:
        files = []
        for number, source in enumerate(sources, 1):
            path = Path(folder, f"{_FRAME}{f' {number}' if number > 1 else ''}.parquet")
            files.append(_written(source, path) if is_frame(source) else source)
        try:
            yield files
        except InputError as error:
            raise InputError([_of_frame(finding, folder) for finding in error.findings]) from None


@contextmanager
def as_csv(table: object) -> Iterator[Path | None]:
    """Have a table of scenarios as a file meanwhile, None where there is none.

    Raises:
        InputError: it is neither a file nor a frame, or is wrong.
    """
    if not is_frame(table):
        yield None if table is None else file_path(table, "a CSV file of scenarios")
        return
    with TemporaryDirectory(prefix="planner-") as folder:
        path = Path(folder, f"{_FRAME}.csv")
        table.to_csv(path, index=False)  # type: ignore[attr-defined]
        try:
            yield path
        except InputError as error:
            raise InputError([_of_frame(finding, folder) for finding in error.findings]) from None


def _written(frame: pd.DataFrame, path: Path) -> Path:
    """The file of a frame; an index that is no mere number is a column.

    Raises:
        InputError: its columns have no names of one line, or values of several kinds.
    """
    try:
        if frame.index.nlevels > 1 or type(frame.index).__name__ != "RangeIndex":
            frame = frame.reset_index(names=[name or "time" for name in frame.index.names])
        named = frame.set_axis([str(name) for name in frame.columns], axis=1)
        named.to_parquet(path, index=False)
    except (ValueError, TypeError, OSError, AttributeError) as error:
        message = f"the DataFrame cannot be read: {clip(' '.join(str(error).split()), 120)}"
        fix = "give it columns of numbers or times, each with a name"
        raise InputError(Finding("frame", message, fix=fix)) from None
    return path


def _of_frame(finding: Finding, folder: str) -> Finding:
    file = finding.file
    if file is not None and (folder in file or Path(folder).name in file):
        file = Path(file).stem
    return replace(finding, file=file, message=finding.message.replace(f"{folder}/", ""))
