"""Drawn racks: what stands over which RUs, in which look, several racks side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.utility import xl_rowcol_to_cell

from planner.outputs.words import clean
from planner.outputs.workbook.cells import DECIMAL_1, DECIMAL_2, INTEGER, PERCENT
from planner.outputs.workbook.page import Page, names_by_sku
from planner.schema.plan import Device, Line, Plan, RackGroup

ACROSS = 5
"""Racks drawn side by side, which is what a printed page holds."""

MOST_DRAWN = 40
"""Groups of equal racks that are drawn at most; the table holds all of them."""

# Positions are sums of heights: what is a whole number but for rounding is one.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Block:
    """Devices drawn as one block of whole rows, from RU ``lowest`` to ``highest``, both included.

    More than one device stands in it only where several share a row.
    """

    devices: tuple[Device, ...]
    lowest: int
    highest: int


@dataclass(frozen=True)
class Run:
    """Equal devices one above the other, from RU ``lowest`` to ``highest``."""

    device: Device
    count: int
    lowest: float
    highest: float


def rows(group: RackGroup) -> int:
    """Return the rows a rack is drawn with: its height in RU, rounded up."""
    return max(1, math.ceil(group.height_ru - _ROUNDING))


def height_ru(group: RackGroup, device: Device) -> float:
    """Return a device's height; a product that is a rack and states none fills the rack."""
    return device.rack_units or (group.height_ru if group.product else 0.0)


def highest_ru(group: RackGroup, device: Device) -> float:
    """Return the highest RU a device takes."""
    return device.position_ru + max(height_ru(group, device) - 1, 0.0)


def blocks(group: RackGroup) -> list[Block]:
    """Return what is drawn of a rack, from the bottom up, without overlap.

    A device takes every row it reaches into, but for those that the device under it has already;
    one that has no row of its own then shares the block under it.
    """
    top = rows(group)
    result: list[Block] = []
    for device in sorted(group.devices, key=lambda device: device.position_ru):
        bottom = device.position_ru - 1
        first = min(max(math.floor(bottom + _ROUNDING), 0), top - 1) + 1
        last = math.ceil(bottom + height_ru(group, device) - _ROUNDING)
        last = min(max(last, first), top)
        taken = result[-1].highest if result else 0
        if last <= taken:
            result[-1] = replace(result[-1], devices=(*result[-1].devices, device))
        else:
            result.append(Block((device,), max(first, taken + 1), last))
    return result


def runs(group: RackGroup) -> list[Run]:
    """Return a rack's devices from the bottom up, equal neighbours together."""
    result: list[Run] = []
    for device in group.devices:
        top = highest_ru(group, device)
        if result and _continues(result[-1], device):
            result[-1] = replace(result[-1], count=result[-1].count + 1, highest=top)
        else:
            result.append(Run(device, 1, device.position_ru, top))
    return result


def _continues(run: Run, device: Device) -> bool:
    one = run.device
    same = (one.sku, one.rack_units, one.it_power_kw, one.weight_kg) == (
        device.sku,
        device.rack_units,
        device.it_power_kw,
        device.weight_kg,
    )
    return same and abs(run.highest + 1 - device.position_ru) < _ROUNDING


def choose_drawn(groups: Sequence[RackGroup]) -> list[RackGroup]:
    """Return the groups to draw, in their order: where they are too many, the largest."""
    if len(groups) <= MOST_DRAWN:
        return list(groups)
    largest = sorted(range(len(groups)), key=lambda index: (-groups[index].count, index))
    return [groups[index] for index in sorted(largest[:MOST_DRAWN])]


def bands(groups: Sequence[RackGroup]) -> list[list[RackGroup]]:
    """Return the groups in rows of racks drawn side by side."""
    return [list(groups[first : first + ACROSS]) for first in range(0, len(groups), ACROSS)]


SIDE_WIDTH, BODY_WIDTH = 7.5, 9.3
BODY_COLUMNS = 3
RACK_COLUMNS = 1 + BODY_COLUMNS
LAST_COLUMN = ACROSS * RACK_COLUMNS - 1

HEADING_HEIGHT, FIGURE_HEIGHT, SPACER_HEIGHT = 15.0, 12.0, 6.0
FIGURE_ROWS = 3
"""Rows under a drawn rack: power, weight, PDUs."""

SCALE_PERCENT = 58
# Landscape A4 less its margins, 516 pt, at this scale, at which Letter is wide enough too; a little
# is kept for other printers.
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


Kind = Literal["gpu", "storage", "network", "cooling", "management", "power"]

KINDS: dict[Kind, str] = {
    "gpu": "GPU systems",
    "storage": "Storage",
    "network": "Network",
    "cooling": "Cooling",
    "management": "Management",
    "power": "Power",
}
"""What each colour stands for, in the order of the legend."""

_OF_CATEGORY: dict[str, Kind] = {
    "gpu_system": "gpu",
    "storage": "storage",
    "switch": "network",
    "transceiver": "network",
    "cable": "network",
    "cdu": "cooling",
    "management": "management",
    "pdu": "power",
    "rack": "power",
}
_FILL: dict[Kind, str] = {
    "gpu": "#D9EAD3",
    "storage": "#FCE8CD",
    "network": "#D6E4F5",
    "cooling": "#CDEBEA",
    "management": "#E6DFF0",
    "power": "#F3D9D9",
}
_EDGE, _HAIR, _FRAME = "#8C98A8", "#D9D9D9", "#5F6B7A"
_INK, _GREY, _NAVY = "#1A1A1A", "#6B6B6B", "#1F3A5F"
_THIN, _HAIRLINE, _MEDIUM = 1, 7, 2


def kinds(plan: Plan) -> dict[str, Kind]:
    """Return what kind each catalog id of the plan is, where its line says so."""
    return {line.sku: kind for line in plan.lines if (kind := _kind(line)) is not None}


def kind_in(group: RackGroup, sku: str, known: dict[str, Kind]) -> Kind:
    """Return the kind of a device in a rack, by default what the rack is for."""
    return known.get(sku, group.rack_class)


def _kind(line: Line) -> Kind | None:
    return _OF_CATEGORY.get(line.category, line.rack_class)


class Looks:
    """Formats of drawn racks, each made once."""

    def __init__(self, workbook: Workbook, font_size: float) -> None:
        self._workbook = workbook
        self._font_size = font_size
        self._made: dict[str, Format] = {}

    def block(self, kind: Kind, wrapped: bool) -> Format:
        """Return the look of a device.

        Args:
            wrapped: whether its text may take more than one line.
        """
        fits = {"text_wrap": True} if wrapped else {"shrink": True}
        look = {"bg_color": _FILL[kind], "border": _THIN, "border_color": _EDGE}
        centred = {"align": "center", "valign": "vcenter"}
        return self._get(f"{kind} {wrapped}", look | centred | fits)

    def free(self, first: bool, last: bool) -> Format:
        """Return the look of a cell of a free RU, at the left or the right side of the rack."""
        look: dict[str, Any] = {"bottom": _HAIRLINE, "bottom_color": _HAIR}
        if first:
            look |= {"left": _THIN, "left_color": _EDGE}
        if last:
            look |= {"right": _THIN, "right_color": _EDGE}
        return self._get(f"free {first} {last}", look)

    def side(self) -> Format:
        """Return the look of an RU's number."""
        look = {"font_color": _GREY, "align": "right", "valign": "vcenter", "indent": 1}
        return self._get("side", look)

    def heading(self) -> Format:
        """Return the look of a rack's name."""
        return self._get("heading", {"font_size": 10, "bold": True, "font_color": _NAVY})

    def line(self, lid: bool) -> Format:
        """Return the look of the line over a rack, which may be the rack's upper edge."""
        look: dict[str, Any] = {"font_color": _GREY, "font_size": 8}
        if lid:
            look |= {"bottom": _MEDIUM, "bottom_color": _FRAME}
        return self._get(f"line {lid}", look)

    def figure(
        self, number: str = "General", *, floor: bool = False, quiet: bool = False
    ) -> Format:
        """Return the look of a figure under a rack.

        Args:
            number: number format.
            floor: whether the rack stands on it.
            quiet: whether it says what the figure is held against.
        """
        look: dict[str, Any] = {"num_format": number, "font_size": 8, "align": "right"}
        look["font_color"] = _GREY if quiet else _INK
        if floor:
            look |= {"top": _MEDIUM, "top_color": _FRAME}
        return self._get(f"figure {number} {floor} {quiet}", look)

    def _get(self, key: str, look: dict[str, Any]) -> Format:
        if key not in self._made:
            base = {"font_name": "Arial", "font_size": self._font_size, "font_color": _INK}
            self._made[key] = self._workbook.add_format(base | look)
        return self._made[key]


# Widths of Arial's letters in thousandths of the font's size; a letter of another script is as wide
# as it is high.
_WIDTHS = {
    "'ijl|": 222,
    " !,./:;I[\\]ft·": 278,
    "()-r`": 333,
    "*": 389,
    "Jcksvxyz": 500,
    "0123456789Labdeghnopqu?_$#–": 556,
    "+<=>~×": 584,
    "FTZ": 611,
    "ABEKPSVXY&": 667,
    "CDHNRUw": 722,
    "GOQ": 778,
    "Mm": 833,
    "%W@": 1000,
}
_WIDTH_OF = {letter: width / 1000 for letters, width in _WIDTHS.items() for letter in letters}
_LINE_SPACING = 1.2
# What words that do not break where a line ends leave free.
_WRAPPED_SHARE = 0.85
# A text on a line of its own may be printed a little smaller to fit.
_SHRUNK = 1.1
_LONGEST = 200


class Room(NamedTuple):
    """The room of a block: its lines of text, and their length in parts of the font's size."""

    lines: int
    length: float


def room(width_pt: float, height_pt: float, font_size: float) -> Room:
    """Return what text fits into a block.

    Args:
        font_size: size of the font, points.
    """
    lines = max(1, int(height_pt / (font_size * _LINE_SPACING)))
    return Room(lines, width_pt / font_size)


def fit(name: str, kind: str, place: str, space: Room) -> str:
    """Return what a device's block says, as it can show it; a long name is cut.

    Args:
        name: what stands there, which may come from a catalog.
        kind: the word for its colour, empty where the rack says it already.
        place: the RUs it takes, which are always shown.
        space: the room of the block.
    """
    name = " ".join(clean(name[:_LONGEST]).split())
    if space.lines == 1:
        start, ending = f"{kind}: " if kind else "", f" · {place}"
        return start + _cut(name, _SHRUNK * space.length - _length(start + ending)) + ending
    length = space.length * (1 if space.lines == 2 else _WRAPPED_SHARE * min(space.lines - 1, 4))
    return f"{_cut(name, length)}\n{kind + ' · ' if kind else ''}{place}"


def _cut(name: str, length: float) -> str:
    if _length(name) <= length:
        return name
    kept = name
    while kept and _length(kept) + 1 > length:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def _length(text: str) -> float:
    return sum(_WIDTH_OF.get(letter, 1.0) for letter in text)


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
        self._names = names_by_sku(page.book.plan)
        self._kinds = kinds(page.book.plan)

    def legend(self, groups: Sequence[RackGroup], row: int) -> None:
        """Write what the colours of these racks stand for, each word in its colour.

        Args:
            groups: the racks drawn.
        """
        there = {
            kind_in(group, device.sku, self._kinds) for group in groups for device in group.devices
        }
        shown = [kind for kind in KINDS if kind in there]
        for index, kind in enumerate(shown):
            self._merge(row, 2 * index, row, 2 * index + 1, KINDS[kind], kind, wrapped=False)

    def band(self, groups: Sequence[RackGroup], row: int) -> int:
        """Draw racks side by side, all on one floor, and return the next free row."""
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
        text = fit(self._contents(block), word, _place(group, block), space)
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
    used_ru = math.fsum(height_ru(group, device) for device in group.devices)
    return f"{used_ru:g} of {group.height_ru:g} RU in use"


def _place(group: RackGroup, block: Block) -> str:
    lowest = min(device.position_ru for device in block.devices)
    highest = max(highest_ru(group, device) for device in block.devices)
    return f"RU {lowest:g}" if highest <= lowest else f"RU {lowest:g}–{highest:g}"
