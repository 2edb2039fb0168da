"""What a user asks to vary: paths and values, read and checked as the files' own are."""

from planner.loader.vary.apply import applied
from planner.loader.vary.axis import Axis, Input, Missing, Point, refuse_overlap, values
from planner.loader.vary.checking import check_key, checked, needs_checking
from planner.loader.vary.place import NoPlaceError, Place, places
from planner.loader.vary.rows import Rows, of_samples, of_table
from planner.loader.vary.slot import Cell
from planner.loader.vary.spec import MOST
from planner.loader.vary.table import Table, read_table
from planner.loader.vary.variable import Shown, Variable

__all__ = [
    "MOST",
    "Axis",
    "Cell",
    "Input",
    "Missing",
    "NoPlaceError",
    "Place",
    "Point",
    "Rows",
    "Shown",
    "Table",
    "Variable",
    "applied",
    "check_key",
    "checked",
    "needs_checking",
    "of_samples",
    "of_table",
    "places",
    "read_table",
    "refuse_overlap",
    "values",
]
