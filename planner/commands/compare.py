"""Compare plans, or a problem's plan with those by vendors' rules: the screen, JSON, a workbook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from planner.api import Options, load, solve_with
from planner.commands import EXIT_CODES
from planner.commands.report import Report, write_workbook
from planner.commands.solve import stem
from planner.errors import Finding, InputError

if TYPE_CHECKING:
    from planner.schema.comparison import Comparison, RulesTable
    from planner.schema.plan import Plan

NO_PLAN = EXIT_CODES["infeasible"]
"""Where there is no plan to compare with."""


@dataclass(frozen=True)
class Request:
    """How to compare: what to lay over problem files, how to solve, what to print and write."""

    settings: tuple[str, ...] = ()
    scenario: str | None = None
    options: Options = field(default_factory=Options)
    as_json: bool = False
    everything: bool = False
    folder: Path | None = None


def rules(files: Sequence[Path], request: Request) -> Report:
    """Compare a problem's plan with those by other rules, modes and storage.

    Args:
        files: the problem file, and no other.
        request: how to.

    Raises:
        InputError: it is not one problem file, or it is wrong.
    """
    from planner.outputs import rules_text
    from planner.studies.compare.rules import rules_table

    problem = _only_problem(files, request)
    inputs = load(problem, settings=request.settings, scenario=request.scenario)
    base = solve_with(inputs, request.options)
    found = rules_table(inputs, base, request.options)
    text = _text(found, rules_text.render(found), request)
    folder = request.folder
    written = () if folder is None else _write_rules(found, base, folder, problem)
    return Report(text, written, 0 if base.jobs else NO_PLAN)


def sides(files: Sequence[Path], request: Request) -> Report:
    """Compare plans, problem files and workbooks with the first of them.

    Args:
        files: two or more of them.
        request: how to.

    Raises:
        InputError: a file is wrong or of another kind.
    """
    from planner.outputs import compare_text
    from planner.studies.compare.side_by_side import compare
    from planner.studies.compare.sides import read_sides

    read = read_sides(
        files, settings=request.settings, scenario=request.scenario, options=request.options
    )
    found = compare(read)
    text = _text(found, compare_text.render(found, everything=request.everything), request)
    folder = request.folder
    written = () if folder is None else _write_sides(found, read[0].plan, folder, request)
    return Report(text, written, 0 if any(side.there for side in read) else NO_PLAN)


def _write_rules(found: RulesTable, base: Plan, folder: Path, problem: Path) -> tuple[Path, ...]:
    from planner.outputs.workbook.studies import rules as sheet

    name = f"{stem(base, problem)}.rules.xlsx"
    return write_workbook(folder, name, base, [partial(sheet.add, table=found)])


def _write_sides(
    found: Comparison, first: Plan, folder: Path, request: Request
) -> tuple[Path, ...]:
    from planner.outputs.workbook.studies import compare as sheet

    sheets = [
        partial(each, found=found, everything=request.everything)
        for each in (sheet.add, sheet.add_bill)
    ]
    return write_workbook(folder, "compare.xlsx", first, sheets)


def _only_problem(files: Sequence[Path], request: Request) -> Path:
    if len(files) != 1 or files[0].suffix.lower() not in (".yaml", ".yml"):
        message = "--rules takes one problem file (.yaml)"
        raise InputError(Finding("files", message, fix="planner compare --rules 10MW.yaml"))
    if request.everything:
        message = "--all lists what plans have in common, and --rules compares no files"
        raise InputError(Finding("option", message, fix="leave out --all"))
    return files[0]


def _text(found: BaseModel, screen: str, request: Request) -> str:
    return found.model_dump_json(indent=2) if request.as_json else screen.rstrip("\n")
