"""The sheet ``Data``: the plan and its inputs for `planner audit`, packed into text cells.

A workbook travels without its problem file and its catalogs. With them inside, whoever gets it back
can tell what was edited, re-compute it and solve it again.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.schema.live import Live
from planner.schema.plan import Plan

SHEET = "Data"
FORMAT = 1
"""Counts up when what is packed changes its meaning."""

_CHUNK = 32_000
_MOST_BYTES = 500_000_000
_SAYS = (
    "The solved plan and its inputs (problem, catalogs, prices), compressed, for planner audit.",
    "Nothing here is for reading, and nothing may be changed. It holds prices: this file is for "
    "the inside.",
)


class UnreadableError(ValueError):
    """The packed text is not there, incomplete, or of another format."""


@dataclass(frozen=True)
class Packed:
    """What a workbook carries of itself: JSON texts of plan and inputs, and when it was written.

    ``studies`` names the sheets that are records of studies, which it does not carry; ``live`` is
    what figures follow an edit by, as JSON (`live_of`).
    """

    tool: str
    created: datetime
    plan: str
    inputs: str
    studies: tuple[str, ...] = ()
    live: str = "{}"


def add(book: Book, plan: Plan, inputs: str, studies: tuple[str, ...] = ()) -> None:
    """Add the sheet.

    Args:
        book: the workbook.
        plan: the plan, whole.
        inputs: the plan's inputs as JSON.
        studies: the names of sheets that are records of studies.
    """
    text = plan.model_dump_json()
    live = book.live.model_dump_json()
    packed = Packed(plan.provenance.tool, book.created, text, inputs, studies, live)
    page = Page(book, SHEET, "Data for planner audit")
    for row, text in enumerate(_SAYS, start=2):
        page.text(row, 0, text, "subtitle")
    page.sheet.set_column(0, 0, 110)
    for row, chunk in enumerate(_chunks(pack(packed)), start=FIRST_ROW):
        page.text(row, 0, chunk, "fixed", align="fill")
    page.finish(0, (FIRST_ROW, 0))
    page.sheet.print_area(0, 0, FIRST_ROW - 1, 0)


def live_of(packed: Packed) -> Live:
    """Return what the figures of a workbook follow an edit by."""
    return Live.model_validate_json(packed.live)


def pack(packed: Packed) -> str:
    """Return the text that `unpack` reads."""
    whole = {
        "format": FORMAT,
        "tool": packed.tool,
        "created": packed.created.isoformat(),
        "plan": packed.plan,
        "inputs": packed.inputs,
        "studies": packed.studies,
        "live": packed.live,
    }
    return base64.b64encode(zlib.compress(json.dumps(whole).encode(), 6)).decode()


def unpack(chunks: Iterable[str]) -> Packed:
    """Return what the text cells of the sheet hold.

    Raises:
        UnreadableError: a part is missing or changed, or another version packed it.
    """
    try:
        data = base64.b64decode("".join(chunks), validate=True)
        reader = zlib.decompressobj()
        text = reader.decompress(data, _MOST_BYTES)
        if not reader.eof:
            raise UnreadableError("it is cut off")
        whole = json.loads(text)
        if whole["format"] != FORMAT:
            raise UnreadableError(f"its format is {whole['format']}, this planner reads {FORMAT}")
        created = datetime.fromisoformat(whole["created"])
        studies = tuple(map(str, whole.get("studies", ())))
        live = Live.model_validate_json(whole.get("live", "{}")).model_dump_json()
        return Packed(whole["tool"], created, whole["plan"], whole["inputs"], studies, live)
    except (binascii.Error, zlib.error, ValueError, KeyError, TypeError) as error:
        if isinstance(error, UnreadableError):
            raise
        raise UnreadableError("it was changed") from None


def _chunks(text: str) -> list[str]:
    return [text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK)]
