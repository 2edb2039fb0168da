"""Pieces of HTML whose texts are escaped."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any

from planner.outputs.text_safety import clean

_NOT_IN_SCRIPTS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def text(words: str) -> str:
    """Return words as HTML."""
    return html.escape(clean(words, limit=None))


def tag(name: str, content: str, attributes: Mapping[str, str] | None = None) -> str:
    """Return an element.

    Args:
        name: of the element.
        content: HTML.
        attributes: their values as plain text.
    """
    said = "".join(f' {key}="{text(value)}"' for key, value in (attributes or {}).items())
    return f"<{name}{said}>{content}</{name}>"


def paragraph(words: str, kind: str = "") -> str:
    """Return a paragraph of plain text, nothing where there is none."""
    return tag("p", text(words), {"class": kind} if kind else None) if words else ""


def data(value: Any) -> str:
    """Return JSON that no browser takes for the end of the script it stands in."""
    said = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return said.translate(_NOT_IN_SCRIPTS)
