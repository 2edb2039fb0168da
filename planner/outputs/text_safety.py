"""Strings from users and catalogs, made fit for files that other programs open.

Bidirectional embeddings, overrides and isolates (U+202A to U+202E, U+2066 to U+2069) are stripped
like control characters: they change the order in which letters are shown, so that a part number or
an amount can read otherwise than it is. Marks (U+200E, U+200F, U+061C) can do that to digits; they
stay where there are letters of Arabic or Hebrew, which need them.
"""

from __future__ import annotations

import re
import unicodedata

CELL_LIMIT = 32_767
"""Characters a cell can hold."""

_CUT = " … [cut]"
_LINE_BREAK = re.compile("\r\n|[\r\u2028\u2029]")
# Control characters (line feeds apart), what reorders text, lone surrogates and noncharacters: XML
# refuses some of them, and UTF-8 the surrogates.
_FORBIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_MARKS = re.compile("[\u200e\u200f\u061c]")


def clean(text: str, limit: int | None = CELL_LIMIT) -> str:
    """Return ``text`` without control characters, cut to what fits.

    Args:
        text: anything a user or a catalog wrote.
        limit: longest result, in characters as a spreadsheet counts them (UTF-16); None for any.
    """
    if text.isascii() and text.isprintable() and (limit is None or len(text) <= limit):
        return text
    text = _FORBIDDEN.sub("", _LINE_BREAK.sub("\n", text).replace("\t", " "))
    if _MARKS.search(text) and not _runs_to_the_left(text):
        text = _MARKS.sub("", text)
    if limit is None or 2 * len(text) <= limit or _utf16_length(text) <= limit:
        return text
    kept = text[: limit - len(_CUT)]
    while _utf16_length(kept) > limit - len(_CUT):
        kept = kept[: -max(1, (_utf16_length(kept) - limit + len(_CUT)) // 2)]
    return kept + _CUT


def _runs_to_the_left(text: str) -> bool:
    """Return whether there are letters that are written from right to left."""
    letters = _MARKS.sub("", text)
    return any(unicodedata.bidirectional(character) in ("R", "AL") for character in letters)


def _utf16_length(text: str) -> int:
    return len(text) + sum(1 for character in text if ord(character) > 0xFFFF)
