"""Audit an edited workbook: the screen or JSON on standard output."""

from __future__ import annotations

from pathlib import Path

from planner.api import Options
from planner.audit import audit
from planner.outputs import audit_text

BROKEN = 3
"""Exit code where the edited plan breaks a limit or would not run."""


def report(
    workbook: Path, options: Options, *, as_json: bool, solve_again: bool
) -> tuple[str, int]:
    """Return the text to print and the exit code."""
    found = audit(workbook, options, solve_again=solve_again)
    text = found.model_dump_json(indent=2) if as_json else audit_text.render(found).rstrip("\n")
    return text, BROKEN if found.breaches or found.edited is None else 0
