"""The charts of any sensitivity study."""

from __future__ import annotations

from planner.outputs.charts.frontier import frontier
from planner.outputs.charts.model import Chart
from planner.outputs.charts.sweep import sweep
from planner.outputs.charts.tornado import tornado
from planner.outputs.charts.uncertain import uncertain
from planner.outputs.sweep_rows import Rows
from planner.schema.sensitivity import Frontier, Sweep, Tornado, Uncertain

AnyStudy = Frontier | Sweep | Tornado | Uncertain


def charts(study: AnyStudy, rows: Rows | None = None) -> tuple[Chart, ...]:
    """Return the charts of a study.

    Args:
        study: its record.
        rows: the table of a sweep, by column; other studies have none.
    """
    if isinstance(study, Uncertain):
        return uncertain(study)
    if isinstance(study, Sweep):
        return (sweep(study, rows or {}),)
    return (frontier(study) if isinstance(study, Frontier) else tornado(study),)
