"""A problem without a solve: every finding about it, its catalogs and prices; its sizing model."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

from planner.case import figures, resolve
from planner.errors import Finding, InputError, listed
from planner.loader import load, load_with_findings, scenario_names
from planner.outputs.size_screen import render
from planner.sizing_report import size_report


def report_findings(
    path: Path, settings: tuple[str, ...], scenario: str | None, *, as_json: bool
) -> tuple[str, bool]:
    """Return the findings as text or JSON, and whether any of them is an error."""
    items, findings = _findings(path, settings, scenario)
    if scenario is None and not any(finding.severity == "error" for finding in findings):
        for name in scenario_names(path):
            _, more = _findings(path, settings, name)
            wrong = [finding for finding in more if finding.severity == "error"]
            findings += [replace(f, message=f"scenario {name}: {f.message}") for f in wrong]
    faulty = any(finding.severity == "error" for finding in findings)
    if as_json:
        return json.dumps([asdict(finding) for finding in findings], indent=2), faulty
    lines = listed(findings)
    errors = sum(finding.severity == "error" for finding in findings)
    if not faulty:
        lines.append(f"{path}: valid; {items} catalog items; {_count(len(findings), 'warning')}")
    else:
        lines.append(
            f"{path}: {_count(errors, 'error')}, {_count(len(findings) - errors, 'warning')}"
        )
    return "\n".join(lines), faulty


def _findings(
    path: Path, settings: tuple[str, ...], scenario: str | None
) -> tuple[int, list[Finding]]:
    """Return how many items are on hand and every finding, with what had to be left out."""
    try:
        inputs, findings = load_with_findings(path, settings=settings, scenario=scenario)
        if any(finding.severity == "error" for finding in findings):
            return len(inputs.items), findings
        known = {item.id: item for item in inputs.items}
        for sku, reason in resolve(inputs).not_considered:
            if figures.not_wanted(known[sku], inputs.problem) is None:
                message = f"{sku} is left out: {reason}"
                findings.append(Finding("left-out", message, severity="warning"))
        return len(inputs.items), findings
    except InputError as error:
        return 0, list(error.findings)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def report_sizes(
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
