"""Every finding about a problem, its catalogs and prices."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from planner.case import figures, resolve
from planner.errors import Finding, InputError
from planner.loader import load_with_findings


def report(
    path: Path, settings: tuple[str, ...], scenario: str | None, *, as_json: bool
) -> tuple[str, bool]:
    """Return the findings as text or JSON, and whether any of them is an error."""
    items = 0
    try:
        inputs, findings = load_with_findings(path, settings=settings, scenario=scenario)
        items = len(inputs.items)
        if not any(finding.severity == "error" for finding in findings):
            case = resolve(inputs)
            known = {item.id: item for item in inputs.items}

            def unwanted(sku: str) -> bool:
                return figures.not_wanted(known[sku], inputs.problem) is not None

            findings += [
                Finding("left-out", f"{sku} is left out: {reason}", severity="warning")
                for sku, reason in case.not_considered
                if not unwanted(sku)
            ]
    except InputError as error:
        findings = list(error.findings)
    faulty = any(finding.severity == "error" for finding in findings)
    if as_json:
        return json.dumps([asdict(finding) for finding in findings], indent=2), faulty
    lines = [f"{finding.severity}: {finding.text()}" for finding in findings]
    errors = sum(finding.severity == "error" for finding in findings)
    if not faulty:
        lines.append(f"{path}: valid; {items} catalog items; {_count(len(findings), 'warning')}")
    else:
        lines.append(
            f"{path}: {_count(errors, 'error')}, {_count(len(findings) - errors, 'warning')}"
        )
    return "\n".join(lines), faulty


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
