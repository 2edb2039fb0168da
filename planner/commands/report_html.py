"""One HTML report of the results of earlier commands."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from planner.commands.report import Report
from planner.commands.solve import blocks_of, check_edition
from planner.currency import shown_in
from planner.errors import Finding, InputError
from planner.foreign_files import contents, json_of
from planner.outputs.audience import Audience, for_audience
from planner.outputs.blocks import printable
from planner.outputs.charts.scenarios import beside
from planner.outputs.page import AnyStudy, ShownPlan, ShownStudy
from planner.outputs.page import report as page
from planner.outputs.sweep_rows import Rows
from planner.outputs.words import points
from planner.schema.base import Prices
from planner.schema.plan import Plan
from planner.schema.sensitivity import Frontier, Sweep
from planner.studies.pool import Progress, ignore
from planner.studies.registry import RESULTS
from planner.studies.study import load
from planner.studies.verification import PlanFile, open_sound_plan
from planner.whole_files import write_all

_STUDIES = {each.name: each for each in RESULTS if each.reported}
_BY_RECORD = {each.record.partition(":")[2]: each for each in RESULTS}
_MOST_BYTES = 50_000_000
ModelT = TypeVar("ModelT", bound=BaseModel)
_PLAN_KEYS = frozenset(("provenance", "objective", "site", "lines"))
_KINDS = [f".{name}.json" for name in _STUDIES]
_TAKES = f"give what planner wrote: PROBLEM.plan.json, {', '.join(_KINDS[:-1])} or {_KINDS[-1]}"


POINTS = 12
"""Plans on a curve that is computed for a report."""


def report(
    inputs: Sequence[Path],
    output: Path | None = None,
    *,
    title: str | None = None,
    folder: Path | None = None,
    audience: Audience = "internal",
    prices: Prices | None = None,
    curve: bool = False,
    progress: Progress = ignore,
) -> Report:
    """Write one HTML file that shows results of earlier commands.

    Args:
        inputs: plans and studies, in the order in which they are to be shown.
        output: the HTML file, by default report.html.
        title: its heading; by default the problem's name.
        folder: what -o gave: the HTML file, or a folder for report.html.
        audience: whom it is for; outside it shows plans alone.
        prices: which prices it shows, by default those of the audience.
        curve: whether to compute the curve of work against storage for plans that come without.
        progress: is called with how many of how many points of curves, at most, are found.

    Raises:
        InputError: a file is missing or no such result, or the report cannot be written.
    """
    check_edition(audience, prices)
    file = _file(output, folder)
    plans, studies = _read(inputs)
    _not_an_input(inputs, file)
    _for_outside(audience, studies, curve=curve)
    if curve:
        studies = [*_curves(plans, studies, progress), *studies]
    shown = [
        ShownPlan(name, for_audience(each.plan, audience, prices))
        for name, each in zip(
            _names([path for path, _ in plans]), (p for _, p in plans), strict=True
        )
    ]
    name = title or _title([each.plan for each in shown], studies)
    told = [shown_study(study, rows) for study, rows in studies]
    write_all({file: page(name, shown, told).encode()})
    return Report(_text(name, told), (file,), 0)


def shown_study(study: AnyStudy, rows: Rows | None) -> ShownStudy:
    """Return a study with what its view says and its charts."""
    name = next(kind.__name__ for kind in type(study).__mro__ if kind.__name__ in _BY_RECORD)
    result, beside = _BY_RECORD[name], {} if rows is None else {"rows": rows}
    with shown_in(study.shown_in):
        blocks = tuple(blocks_of(result, study, beside))
        charts = load(result.charts)(study, **beside) if result.charts else ()
    return ShownStudy(study, blocks, tuple(charts))


def _file(output: Path | None, folder: Path | None) -> Path:
    """Return the file that --file or -o names; a folder gets report.html."""
    if output is not None and folder is not None:
        message = "--file and -o both say where the report goes"
        raise InputError(Finding("option", message, fix=f"leave one out: --file {output}"))
    if folder is None:
        return output or Path("report.html")
    return folder if folder.suffix.lower() in (".html", ".htm") else folder / "report.html"


def _for_outside(
    audience: Audience, studies: Sequence[tuple[AnyStudy, Rows | None]], *, curve: bool
) -> None:
    """Refuse studies in an edition for the outside: they tell what else was looked at."""
    if audience == "internal" or not (studies or curve):
        return
    message = f"studies stay inside, and this is the {audience} edition"
    raise InputError(Finding("audience", message, fix="give plans alone, without --curve"))


def _curves(
    plans: Sequence[tuple[Path, PlanFile]],
    studies: Sequence[tuple[AnyStudy, Rows | None]],
    progress: Progress,
) -> list[tuple[AnyStudy, None]]:
    """Return the curve of work against storage of each problem that comes without one."""
    from planner.studies.frontier import study
    from planner.studies.request import Request

    def key(name: str, scenario: str | None, overrides: Sequence[str]) -> tuple[object, ...]:
        return name, scenario, tuple(overrides)

    known = {  # by what it was made from; a record of an older planner by name
        each.input_sha256 or key(each.problem, each.scenario, each.overrides)
        for each, _ in studies
        if isinstance(each, Frontier) and each.x_name == "storage"
    }
    missing = {
        each.inputs.sha256: each.inputs
        for _, each in plans
        if each.plan.totals is not None
        and known.isdisjoint(
            (
                each.inputs.sha256,
                key(each.plan.problem, each.inputs.scenario, each.inputs.overrides),
            )
        )
    }
    options = Request(paths=()).each()
    found = list[tuple[AnyStudy, None]]()
    for inputs in missing.values():
        progress(len(found), len(missing))
        (curve,) = study(inputs, options, against=("storage",), points=POINTS)
        found.append((curve, None))
    return found


def _title(plans: Sequence[Plan], studies: Sequence[tuple[AnyStudy, Any]]) -> str:
    """Return the problems that a report is about."""
    problems = [plan.problem for plan in plans] or [studies[0][0].problem]
    return " and ".join(dict.fromkeys(problems))


def _names(paths: Sequence[Path]) -> list[str]:
    """Return what plans go by: their files' names, whole paths where two have the same."""
    names = [path.name.removesuffix(".json").removesuffix(".plan") for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def _read(
    inputs: Sequence[Path],
) -> tuple[list[tuple[Path, PlanFile]], list[tuple[AnyStudy, Rows | None]]]:
    if not inputs:
        raise InputError(Finding("files", "there is nothing to report", fix=_TAKES))
    plans: list[tuple[Path, PlanFile]] = []
    studies: list[tuple[AnyStudy, Rows | None]] = []
    for path in inputs:
        found = _result(path)
        if isinstance(found, PlanFile):
            plans.append((path, found))
        else:
            studies.append((found, beside(path, found) if isinstance(found, Sweep) else None))
    return plans, studies


def _result(path: Path) -> PlanFile | AnyStudy:
    """Return the plan or the study that a file holds, told by what stands in it."""
    data = json_of(contents(path, most_bytes=_MOST_BYTES, what="result"), str(path), _TAKES)
    kind = data.get("kind") if isinstance(data, dict) else None
    model: type[AnyStudy] | None = None
    if isinstance(kind, str):
        result = _STUDIES.get(kind)
        model = load(result.record) if result is not None else None
    elif isinstance(data, dict) and data.keys() >= _PLAN_KEYS:
        return open_sound_plan(path)
    if model is None:
        raise InputError(Finding("result", "this is no result of planner", str(path), fix=_TAKES))
    _same_version(path, data, model.model_fields["schema_version"].default)
    return _validated(path, data, model)


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


def _text(name: str, studies: Sequence[ShownStudy]) -> str:
    return printable("\n".join([name, *points(*(study.title for study in studies))]))
