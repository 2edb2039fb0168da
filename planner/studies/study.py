"""What a study is, and what its records are: the two kinds of rows of the registry.

Modules are named and not imported, as ``module:name``: that of a study is loaded when its command
runs, so that the help of all of them stays fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from planner.cli_options import FULL, NOTES, PROOF, Option

if TYPE_CHECKING:
    from planner.outputs.blocks import Block


@dataclass(frozen=True)
class Result:
    """A record that studies make, and everything that is made of it.

    Attributes:
        name: of its JSON Schema.
        record: its class.
        view: takes a record and returns all of it, as blocks or as a text.
        first: takes a record and returns its first screen; without one the whole is it.
        charts: takes a record and returns its charts; without it a report has the blocks.
        table: what `to_frame` gives where no table is asked for and that is not the first.
        kept: the name of the JSON file that ``-o`` writes, such as ``{stem}.tornado``; empty for
            none. ``{record.NAME}`` is a field of the record.
        book: the name of the workbook, empty for none; it is written where the study's ``Found``
            has a ``plan``.
        picture: the name of each picture; ``{chart}`` is the chart's own.
        kind: what ``planner solve --study`` calls it, empty where a workbook cannot hold it.
        beside: makes it of a problem, its plan and how to solve, for the workbook of the plan.
        reported: whether ``planner report`` takes it.
    """

    name: str
    record: str
    view: str = ""
    first: str = ""
    charts: str = ""
    table: str = ""
    kept: str = ""
    book: str = ""
    picture: str = ""
    kind: str = ""
    beside: str = ""
    reported: bool = False


@dataclass(frozen=True)
class Function:
    """A function of `import planner` that is a study with some of its options settled.

    Attributes:
        name: of the function.
        result: what it returns.
        settled: options that it does not have, with their values.
        defaults: options that it has another default of than the command.
        says: what it does, where that is not what the command does.
    """

    name: str
    result: Result
    settled: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    says: str = ""


@dataclass(frozen=True)
class Study:
    """A command that studies something, and the function of its name.

    Attributes:
        name: of the command.
        help: what it does.
        also: what of that is the command's alone, such as files and exit codes.
        example: the command as it is mostly given, which ends its help.
        run: takes a ``Request`` and its own options by name, and returns what it ``Found``.
        options: its parameters, in the order in which its help lists them.
        results: the records it can make.
        counts: what its progress counts, empty where nothing tells how much there is to do.
        functions: of `import planner`, None for the one of its name; empty where `planner.library`
            has it written out.
    """

    name: str
    help: str
    example: str
    run: str
    options: tuple[Option, ...]
    results: tuple[Result, ...]
    counts: str = ""
    also: str = ""
    functions: tuple[Function, ...] | None = None


def load(name: str) -> Any:
    """Return what a row names as ``module:name``."""
    module, _, inside = name.partition(":")
    return getattr(import_module(module), inside)


def whole_text(result: Result, record: Any, shown: Mapping[str, Any]) -> str:
    """Return all of a record as a screen shows it.

    Args:
        result: what is made of such records.
        shown: what its view takes besides.
    """
    from planner.outputs.blocks import screen

    found: list[Block] | str = load(result.view)(record, **shown)
    return found if isinstance(found, str) else screen(found)


TOLD = (NOTES, PROOF, FULL)
"""What of a result is printed besides its first screen."""
