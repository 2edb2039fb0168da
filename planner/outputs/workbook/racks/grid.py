"""The columns of the sheet ``Racks``, which its drawings and its table share, and its page.

Each drawn rack takes a narrow column for the numbers of its RUs and three more for its body; the
table under the drawings fills the same columns, some of its cells over several of them.
"""

from __future__ import annotations

import math

from planner.outputs.workbook.racks.layout import ACROSS

SIDE_WIDTH, BODY_WIDTH = 7.5, 9.3
BODY_COLUMNS = 3
RACK_COLUMNS = 1 + BODY_COLUMNS
LAST_COLUMN = ACROSS * RACK_COLUMNS - 1

HEADING_HEIGHT, FIGURE_HEIGHT, SPACER_HEIGHT = 15.0, 12.0, 6.0
FIGURE_ROWS = 3
"""Rows under a drawn rack: power, weight, PDUs."""

SCALE_PERCENT = 72
# Landscape A4 less its margins, 516 pt, at this scale; a little is kept for other printers.
_PAGE_HEIGHT = 516 / (SCALE_PERCENT / 100) * 0.97
_BAND_HEIGHT = 2 * HEADING_HEIGHT + FIGURE_ROWS * FIGURE_HEIGHT + SPACER_HEIGHT
_LOWEST_ROW, _HIGHEST_ROW, _LEGIBLE_ROW = 5.25, 12.0, 7.5
_PIXEL = 0.75


def widths() -> list[float]:
    """Return the width of every column, in characters."""
    return [SIDE_WIDTH, *[BODY_WIDTH] * BODY_COLUMNS] * ACROSS


def row_height(tallest_ru: int, above: float) -> tuple[float, bool]:
    """Return how high a drawn RU is in points, and whether the first band needs a page of its own.

    Args:
        tallest_ru: rows of the tallest rack drawn.
        above: height of what stands over the first band on its page, points.
    """
    height = _height(tallest_ru, above)
    if height >= _LEGIBLE_ROW:
        return height, False
    return _height(tallest_ru, 0.0), True


def _height(tallest_ru: int, above: float) -> float:
    free = (_PAGE_HEIGHT - above - _BAND_HEIGHT) / tallest_ru
    return min(max(math.floor(free / _PIXEL) * _PIXEL, _LOWEST_ROW), _HIGHEST_ROW)
