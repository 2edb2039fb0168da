"""Results as pandas frames, for notebooks and for tables that leave planner.

Every part of a record that is a list of records is a table: its columns are their fields, of those
within them as ``loss.stall``. Records that are whole results, and lists below, have tables of their
own or none. What is a value per plan has a column for each plan.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from planner.schema.base import Shown
from planner.schema.comparison import Comparison, Series
from planner.schema.plan import Plan
from planner.schema.sensitivity import Sweep

if TYPE_CHECKING:
    import pandas as pd

_ABOUT = {
    "Bids": "bids",
    "Characterization": "jobs",
    "Comparison": "figures",
    "Plan": "lines",
    "SizeReport": "rules",
    "Uncertain": "outcomes",
}
"""The table that a result is about, where it is not its first."""


def frame(result: Shown, part: str = "") -> pd.DataFrame:
    """Return a table of a result; see ``Shown.to_frame``.

    Args:
        result: a plan, or the record of a study.
        part: the table's name, by default of the one that the result is about.

    Raises:
        ValueError: the result has no such table.
    """
    import pandas as pd

    name = type(result).__name__
    there = list(parts(result))
    asked = part or _ABOUT.get(name, there[0] if there else "")
    if asked not in there:
        known = ", ".join(there) or "none; rows of a sweep are in what planner.sweep returns"
        raise ValueError(f"{name} has no table '{asked}'; it has {known}")
    if isinstance(result, Sweep):
        return pd.DataFrame(dict(_columns(result)))
    rows = (
        _racks(result) if isinstance(result, Plan) and asked == "racks" else getattr(result, asked)
    )
    keys = [side.key for side in result.sides] if isinstance(result, Comparison) else []
    found = pd.DataFrame.from_records([dict(_cells(row, keys)) for row in rows])
    # A record that some rows have and others do not: where it lacks, its fields are NaN.
    groups = {name.rpartition(".")[0] for name in found.columns}
    return found[[name for name in found.columns if name not in groups]]


def parts(result: Shown) -> Iterator[str]:
    """Yield the names of a result's tables."""
    if isinstance(result, Sweep):
        yield from ("table",) if hasattr(result, "table") else ()
        return
    if isinstance(result, BaseModel):
        kinds = {name: info.annotation for name, info in type(result).model_fields.items()}
    else:
        kinds = get_type_hints(type(result))
    for name, kind in kinds.items():
        if get_origin(kind) is tuple and any(map(_is_record, get_args(kind))):
            yield name


def _is_record(kind: object) -> bool:
    return isinstance(kind, type) and (
        issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind)
    )


def _fields(record: object) -> Iterator[tuple[str, Any]]:
    if isinstance(record, BaseModel):
        yield from record
    elif dataclasses.is_dataclass(record):
        yield from ((each.name, getattr(record, each.name)) for each in dataclasses.fields(record))


def _cells(record: object, keys: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield a row's values by column; ``keys`` are what plans side by side go by."""
    for name, value in _fields(record) if not isinstance(record, Mapping) else record.items():
        if isinstance(value, Series):
            yield from ((f"{name}.{key}", v) for key, v in zip(keys, value.values, strict=True))
        elif isinstance(value, Shown):
            continue
        elif isinstance(value, Mapping) or _is_record(type(value)):
            yield from ((f"{name}.{below}", inner) for below, inner in _cells(value, keys))
        elif isinstance(value, tuple) and any(_is_record(type(each)) for each in value):
            continue
        else:
            yield name, value


def _columns(study: Sweep) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the columns of a sweep; a name that does not end in its unit gets it in brackets."""
    table: Mapping[str, Sequence[Any]] = study.table  # type: ignore[attr-defined]
    for column in study.columns:
        unit = column.unit
        plain = column.kind in ("input", "total", "job", "text", "count") or not unit
        yield (column.name if plain else f"{column.name} [{unit}]"), table[column.name]


def _racks(plan: Plan) -> list[dict[str, object]]:
    """Return a row per device; ``first`` and ``count`` say in which racks it stands."""
    rows: list[dict[str, object]] = []
    for group in plan.racks:
        place = {"first": group.first, "count": group.count, "rack_class": group.rack_class}
        rows += [place | device.model_dump() for device in group.devices]
    return rows
