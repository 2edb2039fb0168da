"""Check a plan file: the screen or JSON on standard output."""

from __future__ import annotations

from pathlib import Path

from planner.errors import Finding, InputError

FAILS = 3
"""Exit code where a figure or a limit of the plan does not hold."""


def report(
    path: Path, *, as_json: bool, solve_again: bool, time_limit_s: float | None
) -> tuple[str, int]:
    """Return the text to print and the exit code.

    Raises:
        InputError: the file is no plan's, or lacks what it takes to check it.
    """
    from planner.outputs import verification_text
    from planner.studies.verification import verify_file

    if path.suffix.lower() == ".xlsx":
        message = "a workbook is checked by planner audit"
        fix = f"planner audit {path}, or give its PROBLEM.plan.json"
        raise InputError(Finding("file-kind", message, str(path), fix=fix))
    found = verify_file(path, solve_again=solve_again, time_limit_s=time_limit_s)
    text = found.model_dump_json(indent=2) if as_json else verification_text.render(found)
    return text, FAILS if found.result == "fails" else 0
