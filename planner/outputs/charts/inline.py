"""Drawings as part of a page: few bytes, letters of the page's font, places for the pointer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.etree import ElementTree

from planner.outputs.charts.markup import tag, text
from planner.outputs.charts.panel import Found
from planner.outputs.charts.picture import Drawing

Element = ElementTree.Element

_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_REFERENCE = re.compile(r"url\(#([\w.-]+)\)")
_LINK = "{http://www.w3.org/1999/xlink}href"
_LEFT_OUT = frozenset(("metadata", "style", "title"))
_NOT_TURNED = re.compile(r"rotate\(-?0 ")
_PAGE_FONT = re.compile(r"font-family: [^;]*;? ?")
_DIGITS = 4


def svg(drawing: Drawing, place: str, kind: str) -> str:
    """Return a drawing as an element of a page.

    What Matplotlib writes for machines goes, and with it 2/3 of the bytes: the ids of groups,
    digits that no screen shows, and styles that every point repeats.

    Args:
        drawing: what was drawn.
        place: an id of this page, of which the drawing makes its own.
        kind: its class.
    """
    root = ElementTree.fromstring(drawing.svg)
    names: dict[str, str] = {}
    inside = "".join(_elements(list(root), place, names))
    box = root.get("viewBox", "")
    return tag("svg", inside, {"class": kind, "viewBox": box, "aria-hidden": "true"})


def places(found: Found) -> list[list[float]]:
    """Return where the pointer finds things, with the digits that a screen shows."""
    return [[round(share, _DIGITS) for share in place] for place in found.places]


def _elements(elements: Sequence[Element], place: str, names: dict[str, str]) -> Iterator[str]:
    """Yield elements; those of one style that follow each other share it in a group."""
    for style, group in groupby(elements, key=_shared_style):
        several = list(group)
        if style is None or len(several) == 1:
            yield from (_element(each, place, names) for each in several)
        else:
            inside = "".join(_element(each, place, names, styled=True) for each in several)
            yield tag("g", inside, {"style": style})


def _shared_style(element: Element) -> str | None:
    return element.get("style") if _name(element) == "use" else None


def _element(element: Element, place: str, names: dict[str, str], *, styled: bool = False) -> str:
    name = _name(element)
    if name in _LEFT_OUT:
        return ""
    attributes = dict(_attributes(element, place, names))
    if styled:
        del attributes["style"]
    inside = "".join(_elements(list(element), place, names))
    if (name == "g" and not attributes) or (name in ("g", "defs") and not inside):
        return inside
    return tag(name, text((element.text or "").strip("\n ")) + inside, attributes)


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _attributes(element: Element, place: str, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    for key, value in element.items():
        if key == "id":
            if _name(element) != "g":
                yield key, _own(value, place, names)
        elif key == _LINK and value.startswith("data:"):
            yield "href", "".join(value.split())
        elif key == _LINK:
            yield "href", f"#{_own(value[1:], place, names)}"
        elif key == "style":
            yield key, _short_style(value, place, names)
        elif not (key == "transform" and _NOT_TURNED.match(value)):
            yield key, _numbers(_referring(value, place, names))


def _short_style(style: str, place: str, names: dict[str, str]) -> str:
    short = _PAGE_FONT.sub("", style).replace(": ", ":").replace("; ", ";")
    return _numbers(_referring(short, place, names))


def _own(name: str, place: str, names: dict[str, str]) -> str:
    """Return the id that stands for one of a drawing: no two drawings of a page share one."""
    return names.setdefault(name, f"{place}-{len(names)}")


def _referring(value: str, place: str, names: dict[str, str]) -> str:
    return _REFERENCE.sub(lambda found: f"url(#{_own(found[1], place, names)})", value)


def _numbers(value: str) -> str:
    """Return a value of an attribute without digits that no screen shows."""
    value = _NUMBER.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), value)
    return " ".join(value.split())
