"""One HTML report of the results of earlier commands."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from planner.commands.report import Report
from planner.currency import shown_in
from planner.errors import Finding, InputError
from planner.foreign_files import contents
from planner.outputs.blocks import printable
from planner.outputs.charts.scenarios import beside
from planner.outputs.charts.studies import AnyStudy, heading, headline
from planner.outputs.sweep_rows import Rows
from planner.outputs.words import INDENT, wrapped
from planner.schema.plan import SCHEMA_VERSION, Plan
from planner.schema.sensitivity import SENSITIVITY_SCHEMA_VERSION, Sweep
from planner.studies.registry import RESULTS, load
from planner.whole_files import write_all

_STUDIES = {each.name: each for each in RESULTS if each.reported}
_MOST_BYTES = 50_000_000
ModelT = TypeVar("ModelT", bound=BaseModel)
_PLAN_KEYS = frozenset(("provenance", "objective", "site", "lines"))
_KINDS = [f".{name}.json" for name in _STUDIES]
_TAKES = f"give what planner wrote: PROBLEM.plan.json, {', '.join(_KINDS[:-1])} or {_KINDS[-1]}"


def report(
    inputs: Sequence[Path], output: Path, *, title: str | None = None, folder: Path | None = None
) -> Report:
    """Write one HTML file that shows results of earlier commands.

    Args:
        inputs: plans and studies, in the order in which they are to be shown.
        output: the HTML file.
        title: its heading; by default the problem's name.
        folder: what -o gave, which names a folder in every command; refused here.

    Raises:
        InputError: a file is missing or no such result, or the report cannot be written.
    """
    from planner.outputs.charts.html import report as page

    if folder is not None:
        message = "-o names a folder in every command, and a report is one file"
        raise InputError(Finding("option", message, fix=f"write --file {folder}"))
    plans, studies = _read(inputs)
    _not_an_input(inputs, output)
    name = title or _title(plans, studies)
    named = list(zip(_names([path for path, _ in plans]), (plan for _, plan in plans), strict=True))
    first = plans[0][1] if plans else studies[0][0]
    with shown_in(first.shown_in):  # one currency for the whole page
        write_all({output: page(name, named, studies).encode()})
        return Report(_text(name, studies), (output,), 0)


def _title(plans: Sequence[tuple[Path, Plan]], studies: Sequence[tuple[AnyStudy, Any]]) -> str:
    """Return the problems that a report is about."""
    problems = [plan.problem for _, plan in plans] or [studies[0][0].problem]
    return " and ".join(dict.fromkeys(problems))


def _names(paths: Sequence[Path]) -> list[str]:
    """Return what plans go by: their files' names, whole paths where two have the same."""
    names = [path.name.removesuffix(".json").removesuffix(".plan") for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def _read(
    inputs: Sequence[Path],
) -> tuple[list[tuple[Path, Plan]], list[tuple[AnyStudy, Rows | None]]]:
    if not inputs:
        raise InputError(Finding("files", "there is nothing to report", fix=_TAKES))
    plans: list[tuple[Path, Plan]] = []
    studies: list[tuple[AnyStudy, Rows | None]] = []
    for path in inputs:
        found = _result(path)
        if isinstance(found, Plan):
            plans.append((path, found))
        else:
            studies.append((found, beside(path, found) if isinstance(found, Sweep) else None))
    return plans, studies


def _result(path: Path) -> Plan | AnyStudy:
    """Return the plan or the study that a file holds, told by what stands in it."""
    data = _json(path)
    kind = data.get("kind") if isinstance(data, dict) else None
    model: type[AnyStudy] | None = None
    if isinstance(kind, str):
        model = load(_STUDIES[kind].record) if kind in _STUDIES else None
    elif isinstance(data, dict) and data.keys() >= _PLAN_KEYS:
        _same_version(path, data, SCHEMA_VERSION)
        return _plan(path, data)
    if model is None:
        raise InputError(Finding("result", "this is no result of planner", str(path), fix=_TAKES))
    _same_version(path, data, SENSITIVITY_SCHEMA_VERSION)
    return _validated(path, data, model)


def _plan(path: Path, data: dict[str, Any]) -> Plan:
    from planner.studies.verification import read_plan

    _validated(path, data, Plan)  # names the key that is wrong
    return read_plan(path)


def _json(path: Path) -> Any:
    try:
        return json.loads(contents(path, most_bytes=_MOST_BYTES, what="result"))
    except json.JSONDecodeError as error:
        message = f"this is no JSON: {error.msg.lower()}"
        raise InputError(Finding("json", message, str(path), error.lineno, fix=_TAKES)) from None
    except (ValueError, RecursionError):  # bytes that are no text, or brackets without end
        raise InputError(Finding("json", "this is no JSON", str(path), fix=_TAKES)) from None


def _same_version(path: Path, data: dict[str, Any], version: int) -> None:
    written = data.get("schema_version")
    if written != version:
        message = f"a result of version {written}, this planner reads {version}"
        fix = "run the command that wrote it again"
        raise InputError(Finding("version", message, str(path), fix=fix))


def _validated(path: Path, data: dict[str, Any], model: type[ModelT]) -> ModelT:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        what = model.__name__.lower()
        message = f"this is no {what} as planner writes it: {first['msg'].lower()}"
        fix = "run the command that wrote it again"
        raise InputError(Finding("result", message, str(path), path=place, fix=fix)) from None


def _not_an_input(inputs: Sequence[Path], output: Path) -> None:
    if os.path.realpath(output) in map(os.path.realpath, inputs):
        message = "the report would overwrite what it is made of"
        raise InputError(
            Finding("output", message, str(output), fix="choose another name with --file")
        )


def _text(name: str, studies: Sequence[tuple[AnyStudy, Rows | None]]) -> str:
    lines = [name]
    for study, table in studies:
        said = f"{heading(study)}: {headline(study, table)}"
        lines += wrapped(said, f"{INDENT}- ", f"{INDENT}  ")
    return printable("\n".join(lines))
