"""Axes of the charts of studies: titles that are text alone, units that suit the figures."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from planner.outputs.comparison_words import titled
from planner.outputs.workbook.sensitivity.charts import GRID, axis
from planner.outputs.workbook.text import clean

_LONGEST = 120
_ADDRESS = re.compile(r"!(?=\$?[A-Za-z]+\$?\d)")
"""What makes the writer take a text such as ``Sheet!A1`` for the place of one."""

_FAR = 0.5
"""From which share of the largest figure on the least one is far from zero."""

_MILLION, _THOUSAND = 1e6, 1e3


def caption(text: str) -> str:
    """Return a text for a chart: one line that the writer does not take for a cell's address."""
    line = clean(text, _LONGEST).replace("\n", " ")
    return _ADDRESS.sub("! ", line)


def title(text: str) -> str:
    """Return a text for a chart that begins with a capital letter."""
    return caption(f"{text[:1].upper()}{text[1:]}")


def beginning(values: Iterable[float | None]) -> dict[str, float]:
    """Return where an axis begins that need not show zero, as figures far from it would be flat."""
    there = [value for value in values if value is not None]
    least, most = min(there, default=0.0), max(there, default=0.0)
    if not 0 < least < most or least < _FAR * most:
        return {}
    step = 10.0 ** math.floor(math.log10(most - least))
    return {"min": step * math.floor(least / step)}


def figures(label: str, unit: str, values: Iterable[float | None], **more: Any) -> dict[str, Any]:
    """Return the settings of an axis of figures.

    Args:
        label: what they are.
        unit: their unit; money is told in thousands or millions.
        values: the figures.
        more: further settings.
    """
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    number = "General"
    if unit == "share":
        number = "0%" if largest >= 0.1 else "0.0%"
    elif unit in ("USD", "USD/year"):
        number, unit = "#,##0", unit
        if largest >= _THOUSAND:
            size, number = ("million", "#,##0.#,,") if largest >= _MILLION else ("1,000", "#,##0,")
            unit = f"{size} {unit}"
        label = f"{label}, {unit}"
    elif largest >= _THOUSAND:
        number = "#,##0"
    return axis(title(titled(label, unit)), num_format=number, major_gridlines=GRID, **more)
