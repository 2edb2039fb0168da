"""What a study is, and what its records are: the two kinds of rows of the registry.

Modules are named and not imported, as ``module:name``: that of a study is loaded when its command
runs, so that the help of all of them stays fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from planner.cli_options import FULL, NOTES, PROOF, Option


@dataclass(frozen=True)
class Result:
    """A record that studies make, and everything that is made of it.

    Attributes:
        name: of its JSON Schema.
        record: its class.
        view: takes a record and returns all of it as a text.
        first: takes a record and returns its first screen; without one the whole text is it.
        sheets: takes a record and returns what adds each sheet to a workbook, by the sheet's name;
            the workbook is written where the study's ``Found`` has a ``plan``.
        charts: takes a record and returns its charts.
        kept: the name of the JSON file that ``-o`` writes, such as ``{stem}.tornado``; empty for
            none. ``{record.NAME}`` is a field of the record.
        book: the name of the workbook, empty for none.
        picture: the name of each picture; ``{chart}`` is the chart's own.
        kind: what ``planner solve --study`` calls it, empty where a workbook cannot hold it.
        beside: makes it of a problem, its plan and how to solve, for the workbook of the plan.
        reported: whether ``planner report`` takes it.
    """

    name: str
    record: str
    view: str = ""
    first: str = ""
    sheets: str = ""
    charts: str = ""
    kept: str = ""
    book: str = ""
    picture: str = ""
    kind: str = ""
    beside: str = ""
    reported: bool = False


@dataclass(frozen=True)
class Study:
    """A command that studies something.

    Attributes:
        name: of the command.
        help: what it does.
        example: the command as it is mostly given, which ends its help.
        run: takes a ``Request`` and its own options by name, and returns what it ``Found``.
        options: its parameters, in the order in which its help lists them.
        results: the records it can make.
        counts: what its progress counts, empty where nothing tells how much there is to do.
    """

    name: str
    help: str
    example: str
    run: str
    options: tuple[Option, ...]
    results: tuple[Result, ...]
    counts: str = ""


def load(name: str) -> Any:
    """Return what a row names as ``module:name``."""
    module, _, inside = name.partition(":")
    return getattr(import_module(module), inside)


TOLD = (NOTES, PROOF, FULL)
"""What of a result is printed besides its first screen."""
