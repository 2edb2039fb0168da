"""The sizing model of a problem, without solving it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from planner.loader import load
from planner.outputs.size_screen import render
from planner.sizing_report import size_report


def report(
    problem: Path,
    settings: tuple[str, ...],
    scenario: str | None,
    gpus: int | None,
    *,
    as_json: bool,
) -> str:
    """Return sizes, intervals and what each rule asks for, as text or JSON.

    Args:
        problem: the problem file.
        settings: ``path=value`` changes laid over it.
        scenario: a named scenario of the file.
        gpus: GPUs to size for; None for the most that the site can hold.
        as_json: whether to return the same numbers as JSON.

    Raises:
        InputError: the inputs are wrong, or there is no number of GPUs to size for.
    """
    sized = size_report(load(problem, settings=settings, scenario=scenario), gpus)
    if as_json:
        return json.dumps(asdict(sized), indent=2, ensure_ascii=False)
    return render(sized).rstrip("\n")
