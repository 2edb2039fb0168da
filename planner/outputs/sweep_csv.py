"""The table of a sweep as CSV: one record per line, the columns as the record names them.

Text is quoted and no program takes it for a formula; numbers are written as short as they can be
to be read back the same. The caller opens the stream: UTF-8, ``newline=""``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, TextIO

from planner.outputs.bill_csv import harmless
from planner.schema.sensitivity import Column

_PLAIN = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
"""Names that need no quotes."""


def write(columns: Sequence[Column], rows: Iterable[Mapping[str, Any]], stream: TextIO) -> int:
    """Write a table row by row, as they come; return how many there were.

    Args:
        columns: what stands in a row, in this order.
        rows: values by the names of columns; what is missing or None is an empty cell.
        stream: where the text goes.
    """
    count = -1  # the heads are no row
    for record in _records([column.name for column in columns], rows):
        stream.write(record)
        count += 1
    return count


def _records(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    yield _record(name if _PLAIN.fullmatch(name) else _quoted(name) for name in names)
    for row in rows:
        yield _record(_cell(row.get(name)) for name in names)


def _record(cells: Iterable[str]) -> str:
    return ",".join(cells) + "\n"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        # As a plain float: those of numpy would name their type.
        return float.__repr__(value) if math.isfinite(value) else ""
    if isinstance(value, str):
        return _quoted(value) if value else ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    return "" if value is None else _cell(float(value) if isinstance(value, Real) else str(value))


@lru_cache(maxsize=4096)
def _quoted(text: str) -> str:
    return '"' + harmless(text).replace('"', '""') + '"'
