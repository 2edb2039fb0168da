"""What a user asks to vary: paths and values, read and checked as the files' own are."""

from planner.loader.vary.apply import applied, checked
from planner.loader.vary.axis import (
    MOST,
    Axis,
    Display,
    Input,
    Missing,
    Point,
    Variable,
    refuse_overlap,
    values,
)
from planner.loader.vary.place import Cell, NoPlaceError, Place, places
from planner.loader.vary.scenario_rows import Rows, ScenarioTable, of_table, read_table

__all__ = [
    "MOST",
    "Axis",
    "Cell",
    "Display",
    "Input",
    "Missing",
    "NoPlaceError",
    "Place",
    "Point",
    "Rows",
    "ScenarioTable",
    "Variable",
    "applied",
    "checked",
    "of_table",
    "places",
    "read_table",
    "refuse_overlap",
    "values",
]
