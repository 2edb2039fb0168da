"""How drawn racks look: a calm colour for every kind of device, and text that fits its block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from xlsxwriter import Workbook
from xlsxwriter.format import Format

from planner.outputs.workbook.text import clean
from planner.schema.plan import Line, Plan, RackGroup

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
            kind: what it is.
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


@dataclass(frozen=True)
class Room:
    """The room of a block: its lines of text, and their length in parts of the font's size."""

    lines: int
    length: float


def room(width_pt: float, height_pt: float, font_size: float) -> Room:
    """Return what text fits into a block.

    Args:
        width_pt: its width, points.
        height_pt: its height, points.
        font_size: size of the font, points.
    """
    lines = max(1, int(height_pt / (font_size * _LINE_SPACING)))
    return Room(lines, width_pt / font_size)


def fitted(name: str, kind: str, place: str, space: Room) -> str:
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
