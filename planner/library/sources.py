"""What stands in place of a file in a call: a list of files, a mapping, a pandas frame."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from planner.errors import Finding, InputError, clip
from planner.inputs import Inputs
from planner.schema.plan import Plan
from planner.schema.problem import Problem

if TYPE_CHECKING:
    import pandas as pd

_FRAME = "DataFrame"
_SINGLE = (str, bytes, os.PathLike, Mapping, Inputs, Problem, Plan)


def flat(sources: Iterable[object]) -> list[Any]:
    """Return sources one by one: of a list of them each."""
    found: list[Any] = []
    for source in sources:
        single = isinstance(source, _SINGLE) or hasattr(source, "to_frame") or is_frame(source)
        if isinstance(source, Iterable) and not single:
            found += flat(source)
        else:
            found.append(source)
    return found


def is_frame(source: object) -> bool:
    """Whether a source is a frame of pandas, which is not imported for it."""
    return hasattr(source, "to_parquet") and hasattr(source, "columns")


def file_path(value: object, what: str) -> Path:
    """Return a path.

    Raises:
        InputError: the value is none.
    """
    if isinstance(value, str) or (
        isinstance(value, os.PathLike) and isinstance(os.fspath(value), str)
    ):
        return Path(value)
    raise InputError(Finding("type", f"expected {what}, found {kind(value)}", fix="give its path"))


def text(value: object, what: str) -> str | None:
    """Return a text or None.

    Raises:
        InputError: the value is neither.
    """
    if value is None or isinstance(value, str):
        return value
    message = f"expected {what}, found {kind(value)}"
    raise InputError(Finding("type", message, fix="write it as a text"))


def kind(value: object) -> str:
    """Return what a value is, for a message."""
    if is_frame(value):
        return "a DataFrame"
    names = {
        "str": "a text",
        "dict": "a dict",
        "list": "a list",
        "tuple": "a tuple",
        "NoneType": "None",
    }
    name = type(value).__name__
    shown = isinstance(value, (int, float, bytes))
    return names.get(name, f"{name} {clip(repr(value), 40)}" if shown else f"a value of {name}")


def as_setting(value: object) -> str:
    """Return a value as ``--set`` takes it.

    Raises:
        InputError: no file can have such a value.
    """
    return value if isinstance(value, str) else as_json(value, "setting")


def as_json(value: object, what: str) -> str:
    """Return a value as JSON, which is YAML, too.

    Raises:
        InputError: it holds what no file can have.
    """
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


@contextmanager
def in_files(sources: Sequence[Any]) -> Iterator[list[Any]]:
    """Have frames as files meanwhile; errors name the frame, not the file.

    Raises:
        InputError: a frame cannot be written, or what is done with the files fails so.
    """
    if any(isinstance(source, Mapping) for source in sources):
        message = "a dict is no trace"
        raise InputError(
            Finding("type", message, fix="give a file, or pandas.DataFrame(...) of it")
        )
    if not any(is_frame(source) for source in sources):
        yield list(sources)
        return
    with TemporaryDirectory(prefix="planner-") as folder:
        paths = [Path(folder, f"{_FRAME}{mark}.parquet") for mark in _marks(len(sources))]
        files = [
            _written(source, path) if is_frame(source) else source
            for source, path in zip(sources, paths, strict=True)
        ]
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


def _marks(count: int) -> list[str]:
    return ["", *(f" {number}" for number in range(2, count + 1))][:count]


def _written(frame: pd.DataFrame, path: Path) -> Path:
    """Return the file of a frame; an index that is no mere number is a column.

    Raises:
        InputError: its columns have no names of one line, or values of several kinds.
    """
    try:
        if frame.index.nlevels > 1 or type(frame.index).__name__ != "RangeIndex":
            names = [name or "time" for name in frame.index.names]
            frame = frame.reset_index(names=names)
        named = frame.set_axis([str(name) for name in frame.columns], axis=1)
        named.to_parquet(path, index=False)
    except (ValueError, TypeError, OSError, AttributeError) as error:
        said = clip(" ".join(str(error).split()), 120)
        message = f"the DataFrame cannot be read: {said}"
        fix = "give it columns of numbers or times, each with a name"
        raise InputError(Finding("frame", message, fix=fix)) from None
    return path


def _of_frame(finding: Finding, folder: str) -> Finding:
    file = finding.file
    if file is not None and (folder in file or Path(folder).name in file):
        file = Path(file).stem
    return replace(finding, file=file, message=finding.message.replace(f"{folder}/", ""))
