"""Looks for money in finished files: every part of them, every usual way to write an amount."""

from __future__ import annotations

import csv
import html
import io
import re
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

import openpyxl
from openpyxl.workbook import Workbook

from planner.schema.plan import Plan

WORDS = re.compile(
    r"(?<![A-Za-z])(?:discount(?:s|ed)?|margins?|[kM]?USD|prices?|priced|capex|opex|tco|"
    r"budget(?:s|ary)?|costs?)(?![A-Za-z])|(?:[€£]|(?<=\s)\$)\s?\d",
    re.IGNORECASE,
)
_INDICES = re.compile(r'(<c [^>]*t="s"[^>]*>)<v>\d+</v>')
"""A cell with text holds the number of its string."""

_PLACES = re.compile(r"<(?:row|col) [^>]*>|(?<=<c )[^>]*(?=>)")
"""Where rows and cells are and how wide columns are."""

Amounts = dict[str, re.Pattern[str]]


def money(plan: Plan) -> set[float]:
    """Return every amount and rate of money in a plan, found by the names of its fields."""
    found: set[float] = set()
    for path, value in _numbers(plan.model_dump()):
        if any(
            "usd" in step or step in ("discount", "discount_rate", "support_share") for step in path
        ):
            found.add(abs(value))
    for limit in plan.limits:
        if "USD" in limit.unit:
            found |= {limit.value, limit.limit, limit.slack}
    for entry in plan.assumptions:
        if "USD" in entry.unit and isinstance(entry.value, (int, float)):
            found.add(entry.value)
    if "USD" in plan.objective.unit:
        found |= {plan.objective.value or 0.0, plan.objective.bound or 0.0}
    return found - {0.0}


def _numbers(part: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    if isinstance(part, dict):
        for key, value in part.items():
            yield from _numbers(value, (*path, key))
    elif isinstance(part, (list, tuple)):
        for value in part:
            yield from _numbers(value, path)
    elif isinstance(part, (int, float)) and not isinstance(part, bool):
        yield path, float(part)


def spellings(amount: float) -> Iterator[str]:
    """Yield the usual ways to write an amount, those with 4 digits that tell it apart."""
    written = {repr(amount), f"{amount:.0f}", f"{amount:.1f}", f"{amount:.2f}"}
    for digits in (0, 2):
        grouped = f"{amount:,.{digits}f}"
        written |= {grouped, grouped.replace(",", " "), grouped.replace(",", "\u202f")}
        written |= {grouped.replace(",", "'"), re.sub("[,.]", _swapped, grouped)}
    for digits in (0, 1, 2, 3):
        written.add(f"{amount / 1e3:,.{digits}f} k")
        written.add(f"{amount / 1e6:,.{digits}f} M")
    if amount < 1:
        written |= {f"{100 * amount:.{digits}f} %" for digits in (1, 2, 3)}
    for text in written:
        if len(re.sub(r"\D", "", text).strip("0")) >= 4:
            yield text


def _swapped(found: re.Match[str]) -> str:
    return "." if found[0] == "," else ","


def patterns(amounts: set[float], kept: set[float]) -> Amounts:
    """Return what to look for, by spelling; a spelling of a number that is kept is no leak.

    Args:
        amounts: what must not be there.
        kept: what may be there.
    """
    innocent = {text for number in kept for text in spellings(abs(number))}
    return {
        text: re.compile(rf"(?<![\w.,]){_loose(text)}(?!\d|[.,]\d)")
        for amount in amounts
        for text in spellings(amount)
        if text not in innocent
    }


def _loose(text: str) -> str:
    """Return a pattern that takes the unit with or without a blank, short or in words."""
    number, _, unit = text.partition(" ")
    units = {"k": r"\s?(?:k|thousand)", "M": r"\s?(?:M|million)", "%": r"\s?%"}
    return re.escape(number) + units[unit] if unit in units else re.escape(text)


def kept_numbers(plan: Plan) -> set[float]:
    """Return every number of a plan."""
    return {value for _, value in _numbers(plan.model_dump())}


def parts(name: str, content: bytes) -> Iterator[tuple[str, str]]:
    """Yield the parts of a file as text: of a workbook all its files, and each sheet as shown."""
    if not name.endswith(".xlsx"):
        text = content.decode("utf-8-sig")
        if name.endswith(".csv"):
            text = "\n".join(cell for row in csv.reader(io.StringIO(text)) for cell in row)
        yield name, text
        return
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for part in archive.namelist():
            text = archive.read(part).decode("utf-8")
            yield part, html.unescape(_PLACES.sub("", _INDICES.sub(r"\1", text)))
            if part == "xl/sharedStrings.xml":  # words that run over differently formatted parts
                strings = re.findall("<si>.*?</si>", text, re.DOTALL)
                plain = "\n".join(re.sub("<[^>]+>", "", entry) for entry in strings)
                yield f"{part} (plain)", html.unescape(plain)
    for values in (False, True):
        for sheet in opened(content, data_only=values, cells_alone=True):
            cells = (cell for row in sheet.iter_rows() for cell in row if cell.value is not None)
            shown = "\n".join(f"{cell.coordinate}: {cell.value}" for cell in cells)
            yield f"sheet {sheet.title}", shown


def opened(content: bytes, *, data_only: bool = False, cells_alone: bool = False) -> Workbook:
    """Return a workbook as openpyxl reads it, which does not know every extension in it.

    Cells alone take it half the time.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        stream = io.BytesIO(content)
        return openpyxl.load_workbook(stream, data_only=data_only, read_only=cells_alone)


def leaks(name: str, content: bytes, amounts: Amounts) -> list[tuple[str, str]]:
    """Return (part, what leaks) of a file, sorted.

    Args:
        name: its name.
        content: its bytes.
        amounts: what to look for, from `patterns`.
    """
    found: set[tuple[str, str]] = set()
    for part, text in parts(name, content):
        for word in WORDS.finditer(text):
            line = text[max(0, word.start() - 40) : word.end() + 30]
            found.add((part, " ".join(line.split())))
        # A number is searched by its digits first: thousands of patterns on every part take long.
        known = set(re.findall(r"\d+", text))
        for spelling, pattern in amounts.items():
            if set(re.findall(r"\d+", spelling)) <= known and pattern.search(text):
                found.add((part, f"amount {spelling}"))
    return sorted(found)
