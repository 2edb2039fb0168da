"""What a command that studies a problem gives back: a text, a workbook, an exit code."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from planner.commands.solve import created_today
from planner.schema.plan import Plan
from planner.whole_files import write_all

if TYPE_CHECKING:
    from planner.outputs.charts.model import Chart
    from planner.outputs.workbook.studies import Sheet


@dataclass(frozen=True)
class Report:
    """What to print, the files written, and the exit code.

    Where the user stopped it half-way, ``stopped`` says what is kept and how to go on.
    """

    text: str
    written: tuple[Path, ...]
    code: int
    stopped: str = ""


def write_workbook(
    folder: Path, name: str, plan: Plan, sheets: Sequence[Sheet], title: str = ""
) -> tuple[Path, ...]:
    """Write a study's workbook; return what was written.

    Args:
        folder: where it goes.
        name: its name there.
        plan: the plan that its sheets are about.
        sheets: what adds each sheet.
        title: the document's title, by default the problem's name.

    Raises:
        InputError: it cannot be written.
    """
    from planner.outputs.workbook.studies import write_study

    stream = io.BytesIO()
    write_study(stream, plan, sheets, created=created_today(), title=title)
    path = folder / name
    write_all({path: stream.getvalue()})
    return (path,)


def drawn(chart: Chart, folder: Path, stem: str) -> dict[Path, bytes]:
    """Return a chart as the two pictures of it, by where they go."""
    from planner.outputs.charts.picture import png, svg

    return {folder / f"{stem}.png": png(chart), folder / f"{stem}.svg": svg(chart)}
