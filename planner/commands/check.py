"""Inputs without a solve: findings of a problem, items and findings of catalogs, JSON Schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from planner import shipped
from planner.analysis.request import one_of
from planner.case import resolve
from planner.case.resolve import why_not_wanted
from planner.errors import Finding, InputError, did_you_mean
from planner.figures import ITEM_UNITS
from planner.inputs import Inputs
from planner.loader import load_with_findings, scenario_names
from planner.loader.catalogs import (
    FAILURES,
    Catalogs,
    catalog_figures,
    implausible,
    load_catalogs,
)
from planner.loader.prices import OLD_MONTHS, Prices, is_old, load_prices, today
from planner.paths import job_path
from planner.removed import COMMANDS
from planner.report.words import money
from planner.schema import Model
from planner.schema.catalog import Item
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
    """A page of the findings on a problem (``full``: all), and whether one is an error."""
    items, findings = _findings(path, settings, scenario)
    if scenario is None and not any(map(_is_error, findings)):
        for name in scenario_names(path):
            more = filter(_is_error, _findings(path, settings, name)[1])
            findings += [replace(f, message=f"scenario {name}: {f.message}") for f in more]
    valid = f"{path}: valid; {items} catalog items"
    return _listed(findings, valid, f"{path}: ", as_json=as_json, full=full)


def _listed(
    findings: list[Finding], valid: str, start: str = "", *, as_json: bool, full: bool = True
) -> tuple[str, bool]:
    """Findings as lines, errors first, or as JSON; and whether one is an error."""
    wrong = [finding for finding in findings if _is_error(finding)]
    ordered = [*wrong, *(finding for finding in findings if not _is_error(finding))]
    if as_json:
        return json.dumps([asdict(finding) for finding in ordered], indent=2), bool(wrong)
    lines = [f"{each.severity}: {each.text()}" for each in ordered]
    left = 0 if full else max(0, len(lines) - _MOST_SHOWN)
    lines = [*lines[: len(lines) - left], *([f"{left} more with --full"] if left else [])]
    errors, warnings = len(wrong), len(findings) - len(wrong)
    state = f"{start}{errors} error{'s' * (errors != 1)}" if wrong else valid
    counted = f"{warnings} warning{'s' * (warnings != 1)}"
    return "\n".join([*lines, f"{state}{', ' if wrong else '; '}{counted}"]), bool(wrong)


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


# Catalogs: the list of items, items in full, findings.


def show_catalog(names: Sequence[str], books: Sequence[Path] = (), *, as_json: bool) -> str:
    """Items in full, or the list of items with category, vendor, price and figures.

    Args:
        names: items to show in full; categories, vendors and catalogs to list.
        books: price books; by default the shipped one.
        as_json: as JSON.

    Raises:
        InputError: a catalog is wrong, or no item, category or vendor has a name.
    """
    known = shipped.catalog_files()
    files = [name for name in names if name in known or name.endswith((".yaml", ".yml"))]
    words = [name for name in names if name not in files]
    catalogs, prices = _load_catalogs([Path(file) for file in files], books)
    items = list(catalogs.items.values())
    if words:
        items = [item for word in words for item in _items_named(word, catalogs)]
    if words and all(word in catalogs.items for word in words):
        if not as_json:
            return "\n\n".join(_item_text(item, catalogs, prices) for item in items)
        full = [_item_fields(item, prices) for item in items]
        return json.dumps(full[0] if len(full) == 1 else full, indent=2)
    items.sort(key=lambda item: (item.category, item.id))
    rows = [_row(item, prices) for item in items]
    if as_json:
        return json.dumps(rows, indent=2)
    table = [[key.replace("_", " ") for key in rows[0]], *(list(row.values()) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in table)
    return "\n".join(lines)


def _load_catalogs(files: Sequence[Path], books: Sequence[Path]) -> tuple[Catalogs, Prices]:
    known, priced = shipped.catalog_files(), shipped.price_files()
    catalogs = load_catalogs([known.get(str(f), f) for f in files] or list(known.values()))
    chosen = [priced.get(str(f), f) for f in books] or [priced[shipped.DEFAULT_PRICES]]
    return catalogs, load_prices(chosen, catalogs.items)


def _items_named(word: str, catalogs: Catalogs) -> list[Item]:
    """The item of an id, or the items of a category or of vendors that begin with a word."""
    every, small = catalogs.items.values(), word.casefold()
    found = [
        each for each in every if each.category == word or each.vendor.casefold().startswith(small)
    ]
    if word in catalogs.items or found:
        return [catalogs.items[word]] if word in catalogs.items else found
    categories = sorted({item.category for item in every})
    fix = did_you_mean(word, [*catalogs.items, *categories])
    fix = fix or f"name an item, a vendor, or one of {', '.join(categories)}"
    now = COMMANDS.get(f"catalog {word}")
    code, fix = ("usage", f"it is now {now}") if now else ("unknown-id", fix)
    raise InputError(Finding(code, f"no item '{word}' in the catalogs", fix=fix))


def _row(item: Item, prices: Prices) -> dict[str, str]:
    price = prices.prices.get(item.id)
    cost = f"{money(price.list_usd)} ({price.confidence})" if price else "not known"
    return {
        "id": item.id,
        "category": item.category,
        "vendor": item.vendor,
        "model": item.model,
        "per_unit": _per_unit(item),
        "list_price": "" if item.category == "component" else cost,
    }


def _per_unit(item: Item) -> str:
    """The main figure of one unit."""
    provides = item.provides
    if provides.gpus is not None:
        return f"{provides.gpus.value} GPUs"
    if item.sizes is not None:
        return f"{item.sizes.rows[0].units} to {item.sizes.rows[-1].units} units by table"
    if provides.read is not None and provides.write is not None:
        return f"{provides.read.value:g}/{provides.write.value:g} GB/s read/write"
    if item.switch is not None:
        ports = (f"{group.count} x {group.speed_gbit_per_s:g}" for group in item.switch.ports)
        return f"{', '.join(ports)} Gb/s"
    if provides.feed is not None:
        return f"feeds {provides.feed.value:g} kW"
    if provides.cooling is not None:
        return f"cools {provides.cooling.value:g} kW"
    return f"per {item.licence.per.replace('_', ' ')}" if item.licence is not None else ""


def _item_fields(item: Item, prices: Prices) -> dict[str, Any]:
    """Every stated field of an item, and its price."""
    price = prices.prices.get(item.id)
    cost = price.model_dump(mode="json", by_alias=True) if price else None
    return item.model_dump(mode="json", exclude_defaults=True) | {"price": cost}


_HEAD = {"id", "category", "vendor", "model", "lifecycle", "description", "notes"}


def _item_text(item: Item, catalogs: Catalogs, prices: Prices) -> str:
    """An item with every figure by its path, as ``--vary catalog.ID.PATH`` takes it."""
    fields = item.model_dump(mode="json", exclude_defaults=True, exclude=_HEAD)
    price = prices.prices.get(item.id)
    if price is not None:
        fields["price"] = price.model_dump(mode="json", exclude_defaults=True, exclude={"item"})
    sources = catalogs.sources[item.id] | prices.sources.get(item.id, {})
    titles = {name: source.title for name, source in sources.items()}
    return "\n".join([
        f"{item.vendor} {item.model}  ({item.id}, {item.category}, {item.lifecycle})",
        *([item.description] if item.description else []),
        *_field_lines(fields, "", titles),
        *(f"  note: {note}" for note in item.notes),
    ])  # fmt: skip


def _field_lines(value: Any, path: str, titles: Mapping[str, str]) -> Iterator[str]:
    """Yield the stated fields: path, value, unit; confidence and source of a figure."""
    if isinstance(value, dict) and "source" in value:
        rest = dict(value)
        title, confidence = titles[rest.pop("source")], rest.pop("confidence")
        number, note = rest.pop("value", ""), rest.pop("note", "")
        parts = [f"{_plain(number)} {ITEM_UNITS.get(path) or ''}".strip()]
        parts += [_stated(name, each) for name, each in rest.items()]
        yield f"  {path}: {'; '.join(filter(None, [*parts, note]))}  [{confidence}] {title}"
    elif isinstance(value, dict):
        for name, inside in value.items():
            yield from _field_lines(inside, f"{path}.{name}".removeprefix("."), titles)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for inside in value:
            yield from _field_lines(inside, path, titles)
    else:
        yield f"  {path}: {_plain(value)}"


_UNITS = {
    "gb_per_s": "GB/s",
    "gbit_per_s": "Gb/s",
    "tflops": "TFLOP/s",
    "kw": "kW",
    "tb": "TB",
    "gb": "GB",
    "usd": "USD",
}
"""Units by the end of a name."""


def _stated(name: str, value: Any) -> str:
    """A part of a figure: label, number, unit."""
    for end, unit in _UNITS.items():
        if name.endswith(f"_{end}"):
            return f"{_stated(name.removesuffix(f'_{end}'), value)} {unit}"
    return f"{name.replace('_', ' ')} {_plain(value)}"


def _plain(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return ", ".join(_stated(name, each) for name, each in value.items())
    if isinstance(value, list):
        return "; ".join(map(_plain, value))
    return f"{value:,.12g}" if isinstance(value, float) else str(value)


def check_catalogs(
    files: Sequence[Path], books: Sequence[Path], *, as_json: bool
) -> tuple[str, bool]:
    """The findings of catalogs and prices as text or JSON, and whether one is an error.

    Catalogs and price books go by file or shipped name; without any the shipped ones.
    """
    try:
        catalogs, prices = _load_catalogs(files, books)
        findings = [*_of_figures(catalogs, prices), *_of_prices(catalogs, prices, today())]
    except InputError as error:
        findings, catalogs = list(error.findings), Catalogs()
    count = sum(1 for item in catalogs.items.values() for _ in catalog_figures(item))
    valid = f"valid: {len(catalogs.items)} items, {count} figures, each with its source"
    return _listed(findings, valid, as_json=as_json)


def _of_figures(catalogs: Catalogs, prices: Prices) -> Iterator[Finding]:
    """Yield figures outside their bands, and bandwidths without a basis."""
    fix = "check value and unit against the source"
    for id_, text in implausible(catalogs.items, prices.prices):
        yield Finding("implausible", text, *catalogs.places[id_], id_, fix, "warning")
    fix = "add basis: nameplate, certified or measured (with its benchmark)"
    for item in catalogs.items.values():
        figures = [item.provides.read, item.provides.write] if item.sizes is None else [item.sizes]
        silent = any(figure is not None and figure.basis is None for figure in figures)
        if item.category == "storage" and silent:
            message = f"'{item.id}' does not state the basis of its bandwidth"
            yield Finding("basis", message, *catalogs.places[item.id], item.id, fix, "warning")


def _of_prices(catalogs: Catalogs, prices: Prices, day: date) -> Iterator[Finding]:
    """Yield old prices by their date."""
    dated: dict[tuple[str, str], list[str]] = {}
    for id_, entry in prices.entries.items():
        if id_ in catalogs.items and is_old(entry.price.date, day):
            dated.setdefault((entry.place[0], entry.price.date), []).append(id_)
    for (file, text), ids in sorted(dated.items()):
        message = f"older than {OLD_MONTHS} months on {day}, prices of {text}: {', '.join(ids)}"
        fix = "request a quote, or date them anew"
        yield Finding("old-price", message, file, None, "prices", fix, "warning")


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
    named: dict[str, Any] = json.loads(
        re.sub(
            r'"(#/\$defs/)?(\w+__\w*)"',
            lambda found: f'"{found[1] or ""}{plain.get(found[2], found[2])}"',
            json.dumps(schema),
        )
    )
    return named | ({"$defs": dict(sorted(named["$defs"].items()))} if parts else {})


def _build_parts(model: type[Model]) -> None:
    """Build all kinds of a model: pydantic below 2.14 cannot write defaults that are not built."""
    for part in model.__subclasses__():
        part.model_rebuild()
        _build_parts(part)


def _schemas() -> dict[str, type[BaseModel]]:
    """The records by their name, imported when a schema is asked for."""
    from planner.portfolio.schema import Portfolio, PortfolioPlan
    from planner.results import views
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
        **{view.name: record for record, view in views().items()},
    }
