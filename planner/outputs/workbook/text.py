"""Strings from users and catalogs, made safe for a cell."""

from __future__ import annotations

import re

from planner.outputs.words import product
from planner.schema.plan import Plan

CELL_LIMIT = 32_767
"""Characters a cell can hold."""

_CUT = " … [cut]"
# Control characters (line feeds apart), lone surrogates and noncharacters: XML refuses them.
_FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def clean(text: str, limit: int = CELL_LIMIT) -> str:
    """Return ``text`` without control characters, cut to what fits.

    Args:
        text: anything a user or a catalog wrote.
        limit: longest result, in characters as the spreadsheet counts them (UTF-16).
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    text = _FORBIDDEN.sub("", text)
    if _utf16_length(text) <= limit:
        return text
    kept = text[: limit - len(_CUT)]
    while _utf16_length(kept) > limit - len(_CUT):
        kept = kept[: -max(1, (_utf16_length(kept) - limit + len(_CUT)) // 2)]
    return kept + _CUT


def footer(text: str) -> str:
    """Return ``text`` for a page footer, where an ampersand starts a code."""
    return clean(text, 60).replace("\n", " ").replace("&", "&&")


def names(plan: Plan) -> dict[str, str]:
    """Return manufacturer and model of everything in a plan, by catalog id."""
    return {line.sku: product(line) for line in plan.lines}


def _utf16_length(text: str) -> int:
    return len(text) + sum(1 for character in text if ord(character) > 0xFFFF)
