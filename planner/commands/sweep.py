"""The modes of `planner sweep`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from planner import library
from planner.errors import Finding, InputError

_MODES = {
    "grid": ("vary", "scenarios"),
    "frontier": ("against", "points"),
    "tornado": ("vary",),
    "uncertain": ("vary", "samples", "seed", "indices"),
}
"""The options of each mode."""


def study_of(mode: str, problem: Path, options: Mapping[str, Any]) -> Callable[..., Any]:
    """The function of a mode with its options, those not given left out.

    Raises:
        InputError: an option is of another mode.
    """
    given = {name: value for name, value in options.items() if value not in (None, [])}
    given = {name: value for name, value in given.items() if value is not False}
    for name in given:
        if name not in _MODES[mode]:
            others = " or ".join(each for each, names in _MODES.items() if name in names)
            message = f"--{name} is of --mode {others}, and this is --mode {mode}"
            raise InputError(Finding("option", message, fix="leave it out"))
    if mode == "tornado":
        return partial(library.tornado, problem, **given)
    if mode == "uncertain":
        return partial(library.uncertain, problem, **given)
    if mode == "frontier":
        axes = given.pop("against", ("storage", "cost", "power"))
        return partial(_frontiers, problem, tuple(dict.fromkeys(axes)), **given)
    scenarios = given.pop("scenarios", None)
    if scenarios is not None and (scenarios.lower().endswith(".csv") or os.path.lexists(scenarios)):
        given["scenarios"] = Path(scenarios)
    elif scenarios is not None:
        given["named"] = [name.strip() for name in scenarios.split(",")]
    return partial(library.sweep, problem, **given)


def _frontiers(problem: Path, axes: tuple[Any, ...], **options: Any) -> tuple[Any, ...]:
    return tuple(library.frontier(problem, axis, **options) for axis in axes)
