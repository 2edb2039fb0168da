"""Drawn racks: several side by side, every device over the RUs it takes."""

from __future__ import annotations

from collections.abc import Sequence

from xlsxwriter.utility import xl_rowcol_to_cell

from planner.outputs.workbook.formats import DECIMAL_1, DECIMAL_2, INTEGER, PERCENT
from planner.outputs.workbook.page import Page
from planner.outputs.workbook.racks.grid import (
    BODY_COLUMNS,
    BODY_WIDTH,
    FIGURE_HEIGHT,
    FIGURE_ROWS,
    HEADING_HEIGHT,
    RACK_COLUMNS,
    SPACER_HEIGHT,
)
from planner.outputs.workbook.racks.layout import Block, blocks, highest_ru, rows, used_ru
from planner.outputs.workbook.racks.look import KINDS, Kind, Looks, fitted, kind_in, kinds, room
from planner.outputs.workbook.text import names
from planner.schema.plan import RackGroup

_CLASSES = {"gpu": "GPU", "storage": "storage", "network": "network"}
_BODY_WIDTH_PT = BODY_COLUMNS * BODY_WIDTH * 5.25
_FONT_SHARE, _SMALLEST_FONT, _LARGEST_FONT = 0.75, 4.5, 7.5


class Drawing:
    """Draws racks on a page, all with rows of the same height."""

    def __init__(self, page: Page, row_height: float) -> None:
        self._page = page
        self._row_height = row_height
        self._font = min(max(row_height * _FONT_SHARE, _SMALLEST_FONT), _LARGEST_FONT)
        self._looks = Looks(page.book.workbook, self._font)
        self._names = names(page.book.plan)
        self._kinds = kinds(page.book.plan)

    def legend(self, groups: Sequence[RackGroup], row: int) -> None:
        """Write what the colours of these racks stand for, each word in its colour.

        Args:
            groups: the racks drawn.
            row: where to write it.
        """
        there = {
            kind_in(group, device.sku, self._kinds) for group in groups for device in group.devices
        }
        shown = [kind for kind in KINDS if kind in there]
        for index, kind in enumerate(shown):
            self._merge(row, 2 * index, row, 2 * index + 1, KINDS[kind], kind, wrapped=False)

    def band(self, groups: Sequence[RackGroup], row: int) -> int:
        """Draw racks side by side, all on one floor, and return the next free row.

        Args:
            groups: the racks.
            row: the first row.
        """
        tallest = max(rows(group) for group in groups)
        sheet = self._page.sheet
        for offset in range(2):
            sheet.set_row(row + offset, HEADING_HEIGHT)
        for offset in range(tallest):
            sheet.set_row(row + 2 + offset, self._row_height)
        floor = row + 2 + tallest
        for offset in range(FIGURE_ROWS):
            sheet.set_row(floor + offset, FIGURE_HEIGHT)
        sheet.set_row(floor + FIGURE_ROWS, SPACER_HEIGHT)
        for index, group in enumerate(groups):
            side = index * RACK_COLUMNS
            sheet.write_string(row, side, _title(group), self._looks.heading())
            self._rack(group, floor, side)
            lid = tallest == rows(group)
            sheet.write_string(row + 1, side + 1, _content(group), self._looks.line(lid))
        return floor + FIGURE_ROWS + 1

    def _rack(self, group: RackGroup, floor: int, side: int) -> None:
        """Draw one rack that stands on a row, its numbers in the column ``side``."""
        sheet, looks = self._page.sheet, self._looks
        height = rows(group)
        for column in range(side + 1, side + RACK_COLUMNS):
            sheet.write_blank(floor - height - 1, column, None, looks.line(True))
        for ru in range(1, height + 1):
            sheet.write_number(floor - ru, side, ru, looks.side())
        taken: set[int] = set()
        for block in blocks(group):
            taken.update(range(block.lowest, block.highest + 1))
            self._block(group, block, floor, side + 1)
        for ru in range(1, height + 1):
            if ru not in taken:
                self._free(floor - ru, side + 1)
        self._figures(group, floor, side)

    def _block(self, group: RackGroup, block: Block, floor: int, first: int) -> None:
        height = block.highest - block.lowest + 1
        space = room(_BODY_WIDTH_PT - 6, height * self._row_height, self._font)
        kind = kind_in(group, block.devices[0].sku, self._kinds)
        word = "" if kind == group.rack_class else KINDS[kind]
        text = fitted(self._contents(block), word, _place(group, block), space)
        last = first + BODY_COLUMNS - 1
        wrapped = space.lines > 1
        self._merge(floor - block.highest, first, floor - block.lowest, last, text, kind, wrapped)

    def _contents(self, block: Block) -> str:
        """Return the name of what stands in a block, of several things with their counts."""
        counts: dict[str, int] = {}
        for device in block.devices:
            name = self._names.get(device.sku, device.sku)
            counts[name] = counts.get(name, 0) + 1
        return " + ".join(
            name if count == 1 else f"{count} × {name}" for name, count in counts.items()
        )

    def _merge(
        self, top: int, first: int, bottom: int, last: int, text: str, kind: Kind, wrapped: bool
    ) -> None:
        style = self._looks.block(kind, wrapped)
        sheet = self._page.sheet
        sheet.merge_range(top, first, bottom, last, "", style)
        sheet.write_string(top, first, text, style)

    def _free(self, row: int, first: int) -> None:
        for offset in range(BODY_COLUMNS):
            style = self._looks.free(offset == 0, offset == BODY_COLUMNS - 1)
            self._page.sheet.write_blank(row, first + offset, None, style)

    def _figures(self, group: RackGroup, floor: int, side: int) -> None:
        """Write power and weight of the rack, each of its limit, and its PDUs."""
        power = ("kW", group.it_power_kw, group.power_limit_kw, DECIMAL_2)
        weight = ("kg", group.weight_kg, group.weight_limit_kg, DECIMAL_1)
        for offset, (unit, value, limit, number) in enumerate((power, weight)):
            self._held_against(floor + offset, side, unit, value, limit, number)
        sheet, looks = self._page.sheet, self._looks
        sheet.write_string(floor + 2, side, "PDUs", looks.figure(quiet=True))
        sheet.write_number(floor + 2, side + 1, group.pdus, looks.figure(INTEGER))

    def _held_against(
        self, row: int, side: int, unit: str, value: float | None, limit: float | None, number: str
    ) -> None:
        sheet, looks = self._page.sheet, self._looks
        floor = unit == "kW"
        sheet.write_string(row, side, unit, looks.figure(quiet=True))
        if value is None:
            sheet.write_string(row, side + 1, "not known", looks.figure(floor=floor))
        else:
            sheet.write_number(row, side + 1, value, looks.figure(number, floor=floor))
        if limit is None:
            style = looks.figure(floor=floor, quiet=True)
            sheet.write_string(row, side + 2, "no limit", style)
            sheet.write_blank(row, side + 3, None, style)
            return
        style = looks.figure(f'"of "{DECIMAL_1}', floor=floor, quiet=True)
        sheet.write_number(row, side + 2, limit, style)
        share, allowed = (xl_rowcol_to_cell(row, side + column) for column in (1, 2))
        style = looks.figure(PERCENT, floor=floor, quiet=True)
        if value is None or limit <= 0:
            sheet.write_blank(row, side + 3, None, style)
        else:
            sheet.write_formula(row, side + 3, f"={share}/{allowed}", style, value / limit)


def _title(group: RackGroup) -> str:
    kind = _CLASSES[group.rack_class]
    if group.count == 1:
        return f"Rack {group.first:,} · {kind}"
    last = group.first + group.count - 1
    return f"Racks {group.first:,}–{last:,} ({group.count:,}) · {kind}"


def _content(group: RackGroup) -> str:
    if group.product:
        return f"a product that is a rack, {group.height_ru:g} RU"
    return f"{used_ru(group):g} of {group.height_ru:g} RU in use"


def _place(group: RackGroup, block: Block) -> str:
    lowest = min(device.position_ru for device in block.devices)
    highest = max(highest_ru(group, device) for device in block.devices)
    return f"RU {lowest:g}" if highest <= lowest else f"RU {lowest:g}–{highest:g}"
