"""What a plan file was found to be worth, on the screen."""

from __future__ import annotations

from collections.abc import Iterator

from planner.outputs.blocks import printable
from planner.outputs.words import INDENT, wrapped
from planner.schema.verification import Check, Verification

_MOST_FINDINGS = 10
_RESULTS = {"holds": "holds", "fails": "FAILS", "not_checked": "not checked"}


def render(found: Verification) -> str:
    """Return the screen: the result, then what was checked, each with its findings."""
    lines = list(_title(found))
    for check in found.checks:
        lines += _lines(check)
    return printable("\n".join(lines))


def _title(found: Verification) -> Iterator[str]:
    left = sum(check.result == "not_checked" for check in found.checks)
    said = "the plan holds" if found.result == "holds" else "the plan DOES NOT HOLD"
    if left:
        said += f"; {left} of {len(found.checks)} checks could not be made"
    yield f"{found.problem}: {said}"


def _lines(check: Check) -> Iterator[str]:
    head = f"{check.name:<9} {_RESULTS[check.result]:<12}"
    yield from wrapped(check.text, f"{INDENT}{head}", INDENT + " " * len(head))
    for finding in check.findings[:_MOST_FINDINGS]:
        yield from wrapped(finding, f"{INDENT * 2}- ", INDENT * 3)
    more = len(check.findings) - _MOST_FINDINGS
    if more > 0:
        yield f"{INDENT * 2}- and {more:,} more"
