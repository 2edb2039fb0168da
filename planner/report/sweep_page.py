"""A sweep as one HTML file with sliders: every position is a scenario that was solved.

The file needs no network: it holds the rows, its script and its style, and its policy allows
nothing else. Nothing is interpolated.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from planner.errors import Finding, InputError
from planner.figures import FIGURES, capital, objective_label
from planner.report.views.sweep import Rows, bought, cell, length, numeric, varied, write_value
from planner.report.words import STATUS_WORDS, named, results, scale
from planner.schema.analysis import PLANNED, Column, Sweep

MOST_BYTES = 1_000_000
_DIGITS = 6
_TILES = {
    "gpus_in_use": "gpus_used",
    "capex_usd": "capex_usd",
    "goodput": "goodput",
    "days_to_train": "days_to_train",
    "facility_power_kw": "facility_power_kw",
}
"""Columns of a sweep that the page shows besides the objective, with their figures."""


def page(study: Sweep, rows: Rows, now: Mapping[str, Any]) -> bytes:
    """The page of a sweep.

    Args:
        study: what the columns are, and how the scenarios ended.
        rows: the scenarios by column.
        now: values of the problem as it is, by path: where the sliders begin.

    Raises:
        InputError: the file would be larger than 1 MB, or there is no scenario.
    """
    if not length(rows):
        raise InputError(Finding("html", "there is no scenario to show", fix="vary an input"))
    data = json.dumps(_data(study, rows, now), ensure_ascii=False, separators=(",", ":"))
    template = resources.files("planner.report").joinpath("sweep_page.html").read_text("utf-8")
    found = template.replace("{{data}}", data.replace("<", "\\u003c")).encode()
    if len(found) > MOST_BYTES:
        message = f"the page of {length(rows):,} scenarios takes {len(found) / 1e6:.1f} MB"
        raise InputError(Finding("html", message, fix="take larger steps: a page holds 1 MB"))
    return found


def _data(study: Sweep, rows: Rows, now: Mapping[str, Any]) -> dict[str, Any]:
    """Data of the script: axes, and columns of rows in the order of the grid."""
    axes, order = _axes(study, rows, now)
    texts: dict[str, int] = {}  # many rows share them
    reasons: dict[str, int] = {}
    buys, ends = [], []
    for at in order:
        status, reason = str(cell(rows, "status", at)), cell(rows, "reason", at)
        text = bought(study, rows, at) if status in PLANNED else ""
        buys.append(texts.setdefault(text, len(texts)) if text else -1)
        ended = STATUS_WORDS[status] + (f": {reason}" if reason else "")
        ends.append(reasons.setdefault(ended, len(reasons)))
    tiles = [_tile(rows, order, "objective", capital(objective_label(study.objective)), study.unit)]
    for name, figure in _TILES.items():
        known = [cell(rows, name, at) for at in order]
        if any(value is not None for value in known):
            of = FIGURES[figure]
            tiles.append(_tile(rows, order, name, capital(of.label), of.unit))
    return {
        "title": f"{named(study)}: what if",
        "about": f"{length(rows):,} scenarios, each solved; nothing is interpolated",
        "axes": axes,
        "tiles": tiles,
        "buys": buys,
        "texts": list(texts),
        "ends": ends,
        "reasons": list(reasons),
    }


def _tile(rows: Rows, order: Sequence[int], name: str, label: str, unit: str) -> dict[str, Any]:
    """A column in the unit in which it is shown, with that unit and its decimals."""
    values = [cell(rows, name, at) for at in order]
    shown = results(values, unit)
    large = any(value is not None and abs(value / shown.size) >= 1000 for value in values)
    digits = 0 if large else min(shown.digits, 2)
    sized = [None if v is None else _rounded(v / shown.size) for v in values]
    return {"label": label, "unit": shown.unit, "digits": digits, "values": sized}


def _rounded(value: float) -> float:
    found = float(f"{value:.{_DIGITS}g}")
    return int(found) if found.is_integer() and math.isfinite(found) else found


def _axes(
    study: Sweep, rows: Rows, now: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[int]]:
    """The sliders, and the places of rows in their order; one of all rows without a grid."""
    inputs = varied(study, rows)
    places = range(length(rows))
    values = {column.name: _values(rows, column) for column in inputs}
    keys = {
        tuple(values[c.name].index(cell(rows, c.name, at)) for c in inputs): at for at in places
    }
    if len(keys) == len(places) == math.prod(len(each) for each in values.values()):
        axes = [_axis(rows, column, values[column.name], now) for column in inputs]
        return axes, [keys[key] for key in sorted(keys)]
    texts = [str(cell(rows, "name", at) or _scenario(rows, inputs, at)) for at in places]
    axis = {"label": "Scenario", "unit": "", "texts": texts, "at": list(places), "now": 0}
    return [axis], list(places)


def _values(rows: Rows, column: Column) -> list[Any]:
    found = dict.fromkeys(cell(rows, column.name, at) for at in range(length(rows)))
    return sorted(found) if numeric(rows, column) else list(found)


def _axis(
    rows: Rows, column: Column, values: Sequence[Any], now: Mapping[str, Any]
) -> dict[str, Any]:
    """A slider; it begins at the value that is nearest to the problem's own."""
    label, own = capital(column.label), now.get(column.path)
    if not numeric(rows, column):
        texts = [write_value(value) for value in values]
        start = values.index(own) if own in values else 0
        places = list(range(len(values)))
        return {"label": label, "unit": "", "texts": texts, "at": places, "now": start}
    shown = scale(values, column.unit)
    near = own if isinstance(own, (int, float)) else values[0]
    return {
        "label": label,
        "unit": shown.unit,
        "texts": [shown.text(value) for value in values],
        "at": [_rounded(value / shown.size) for value in values],
        "now": min(range(len(values)), key=lambda place: abs(values[place] - near)),
    }


def _scenario(rows: Rows, inputs: Sequence[Column], at: int) -> str:
    return ", ".join(f"{c.label} {write_value(cell(rows, c.name, at))}" for c in inputs)
