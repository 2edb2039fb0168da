"""A problem without a solve: every finding, the schemas of its files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from planner.analysis.request import one_of
from planner.case import resolve
from planner.case.resolve import why_not_wanted
from planner.errors import Finding, InputError, listed
from planner.inputs import Inputs
from planner.loader import load_with_findings, scenario_names
from planner.loader.catalogs import FAILURES, implausible
from planner.paths import job_path
from planner.schema import Model
from planner.schema.problem import Problem

_MOST_SHOWN = 20


def report_findings(
    path: Path,
    settings: tuple[str, ...],
    scenario: str | None,
    *,
    as_json: bool,
    full: bool = False,
) -> tuple[str, bool]:
    """All errors and a page of the other findings (``full``: all), and whether one is an error."""
    items, findings = _findings(path, settings, scenario)
    if scenario is None and not any(map(_is_error, findings)):
        for name in scenario_names(path):
            more = filter(_is_error, _findings(path, settings, name)[1])
            findings += [replace(f, message=f"scenario {name}: {f.message}") for f in more]
    wrong = [finding for finding in findings if _is_error(finding)]
    if as_json:
        return json.dumps([asdict(finding) for finding in findings], indent=2), bool(wrong)
    rest = listed([finding for finding in findings if not _is_error(finding)])
    shown = rest if full else rest[:_MOST_SHOWN]
    lines = [*listed(wrong), *shown]
    if len(shown) < len(rest):
        lines.append(f"{len(rest) - len(shown)} more with --full")
    warnings = _count(len(findings) - len(wrong), "warning")
    state = _count(len(wrong), "error") if wrong else f"valid; {items} catalog items"
    lines.append(f"{path}: {state}{', ' if wrong else '; '}{warnings}")
    return "\n".join(lines), bool(wrong)


def _is_error(finding: Finding) -> bool:
    return finding.severity == "error"


def _findings(
    path: Path, settings: tuple[str, ...], scenario: str | None
) -> tuple[int, list[Finding]]:
    """The number of items and every finding, left-out items among them."""
    try:
        inputs, findings = load_with_findings(path, settings=settings, scenario=scenario)
        if not any(map(_is_error, findings)):
            for sku, reason in resolve(inputs).not_considered:
                if why_not_wanted(inputs.by_id[sku], inputs.problem) is None:
                    message = f"{sku} is left out: {reason}"
                    findings.append(Finding("left-out", message, severity="warning"))
            findings += _doubts(inputs)
        return len(inputs.items), findings
    except InputError as error:
        return 0, list(error.findings)


def _doubts(inputs: Inputs) -> Iterator[Finding]:
    """Yield figures of the items to consider, and a failure rate, outside plausibility bands."""
    for sku, text in implausible(inputs.by_id, inputs.prices):
        item = inputs.by_id[sku]
        companion = item.category not in ("gpu_system", "storage")
        if companion or why_not_wanted(item, inputs.problem) is None:
            yield Finding("implausible", text, severity="warning")
    if inputs.problem.storage.tolerate_down and inputs.problem.job.in_bulk:
        text = "units down are those of the flash tier; the bulk tier is planned with none down"
        fix = "raise the data set's size where the bulk tier needs a unit to spare"
        yield Finding("left-out", text, path="storage.tolerate_down", fix=fix, severity="warning")
    rate = inputs.problem.job.failure_rate
    if isinstance(rate, float) and not FAILURES[0] <= rate <= FAILURES[1]:
        text = (
            f"{rate:.3g} failures per GPU and day, published are {FAILURES[0]:g} to {FAILURES[1]:g}"
        )
        yield Finding("implausible", text, path=job_path("failures"), severity="warning")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# JSON Schemas of the files that users write or read.

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(name: str) -> str:
    """The JSON Schema of a kind of file.

    Raises:
        InputError: there is no such kind.
    """
    schemas = _schemas()
    model = schemas[one_of("--schema", name, list(schemas))]
    _build_parts(Model)
    schema = model.model_json_schema(mode="validation", by_alias=True)
    if name in ("problem", "portfolio"):
        schema["properties"]["scenarios"] = {
            "type": "object",
            "description": "Named overrides, laid over the problem by --scenario NAME.",
            "additionalProperties": {"type": "object"},
        }
    whole = {"$schema": DRAFT, **_with_plain_names(schema), "title": f"planner {name} file"}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _with_plain_names(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema whose generic parts (``Figure[...]``) are numbered as they are first referred to.

    Pydantic numbers them in the order in which they were built, which depends on imports.
    """
    parts = schema.get("$defs", {})
    waiting, names = [{key: part for key, part in schema.items() if key != "$defs"}], list[str]()
    while waiting:
        for name in re.findall(r'"#/\$defs/([^"]+)"', json.dumps(waiting.pop(0))):
            if name not in names:
                names.append(name)
                waiting.append(parts[name])
    generic = [name for name in names if "__" in name]
    plain = {name: f"Figure{number}" for number, name in enumerate(generic, start=1)}
    text = re.sub(
        r'"#/\$defs/([^"]+)"',
        lambda ref: f'"#/$defs/{plain.get(ref[1], ref[1])}"',
        json.dumps(schema),
    )
    named = json.loads(text)
    if parts:
        renamed = {plain.get(name, name): part for name, part in named["$defs"].items()}
        named["$defs"] = dict(sorted(renamed.items()))
    return dict(named)


def _build_parts(model: type[Model]) -> None:
    """Build all kinds of a model: pydantic below 2.14 cannot write defaults that are not built."""
    for part in model.__subclasses__():
        part.model_rebuild()
        _build_parts(part)


def _schemas() -> dict[str, type[BaseModel]]:
    """The records by their name, imported when a schema is asked for."""
    from planner.portfolio.schema import Portfolio, PortfolioPlan
    from planner.results import VIEWS
    from planner.schema.bill import Bill, Quote, QuoteMap
    from planner.schema.catalog import Catalog
    from planner.schema.plan import Plan
    from planner.schema.prices import PriceBook

    return {
        "problem": Problem,
        "portfolio": Portfolio,
        "portfolio-plan": PortfolioPlan,
        "catalog": Catalog,
        "prices": PriceBook,
        "plan": Plan,
        "bill": Bill,
        "quote": Quote,
        "quote-map": QuoteMap,
        **{view.name: record for record, view in VIEWS.items()},
    }
