"""Inputs without a solve: findings of a problem, items and findings of catalogs, JSON Schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from planner import shipped, units
from planner.case import resolve, why_not_wanted
from planner.commands import portfolio
from planner.errors import Finding, InputError, did_you_mean
from planner.figures import ITEM_UNITS
from planner.inputs import Inputs
from planner.loader import documents, load_with_findings, scenario_names
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
from planner.report.formats import count_noun, money
from planner.schema import Model
from planner.schema.catalog import Item
from planner.sources import is_portfolio

_MOST_SHOWN = 20


def report_findings(
    path: Path,
    settings: tuple[str, ...],
    scenario: str | None,
    *,
    as_json: bool,
    full: bool = False,
) -> tuple[str, int]:
    """A page of the findings on a problem (``full``: all), and the exit code."""
    parts, findings = _findings(path, settings, scenario)
    if scenario is None and not is_portfolio(path) and not any(map(_is_error, findings)):
        for name in scenario_names(path):
            more = filter(_is_error, _findings(path, settings, name)[1])
            findings += [replace(f, message=f"scenario {name}: {f.message}") for f in more]
    return _listed(findings, f"{path}: ", f"valid; {parts}", as_json=as_json, full=full)


def _listed(
    findings: list[Finding], start: str, valid: str, *, as_json: bool, full: bool = True
) -> tuple[str, int]:
    """Findings as lines, errors first, or as JSON; and the exit code."""
    findings = sorted(findings, key=lambda finding: not _is_error(finding))
    errors = sum(map(_is_error, findings))
    if as_json:
        return json.dumps([asdict(finding) for finding in findings], indent=2), 2 * bool(errors)
    lines = [f"{each.severity}: {each.text()}" for each in findings]
    if not full and len(lines) > _MOST_SHOWN:
        lines[_MOST_SHOWN:] = [f"{len(lines) - _MOST_SHOWN} more with --full"]
    state = f"{count_noun(errors, 'error')}," if errors else f"{valid};"
    lines.append(f"{start}{state} {count_noun(len(findings) - errors, 'warning')}")
    return "\n".join(lines), 2 * bool(errors)


def _is_error(finding: Finding) -> bool:
    return finding.severity == "error"


def _findings(
    path: Path, settings: tuple[str, ...], scenario: str | None
) -> tuple[str, list[Finding]]:
    """The parts of a problem and every finding, left-out items among them."""
    try:
        if is_portfolio(path):
            return portfolio.describe(path, settings, scenario), []
        inputs, findings = load_with_findings(path, settings=settings, scenario=scenario)
        if not any(map(_is_error, findings)):
            for sku, reason in resolve(inputs).not_considered:
                if why_not_wanted(inputs.by_id[sku], inputs.problem) is None:
                    message = f"{sku} is left out: {reason}"
                    findings.append(Finding("left-out", message, severity="warning"))
            findings += _doubts(inputs)
        return f"{len(inputs.items)} catalog items", findings
    except InputError as error:
        return "", list(error.findings)


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
    rate, (low, high) = inputs.problem.job.failure_rate, FAILURES
    if isinstance(rate, float) and not low <= rate <= high:
        text = f"{rate:.3g} failures per GPU and day, published are {low:g} to {high:g}"
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
    catalogs, prices = _load_catalogs(files, books)
    items = list(catalogs.items.values())
    if words:
        items = [item for word in words for item in _items_named(word, catalogs)]
    if words and all(word in catalogs.items for word in words):
        if not as_json:
            return "\n\n".join(_item_text(item, catalogs, prices) for item in items)
        full = [_stated(item, prices) for item in items]
        return json.dumps(full[0] if len(full) == 1 else full, indent=2)
    items.sort(key=lambda item: (item.category, item.id))
    rows = [_row(item, prices) for item in items]
    if as_json:
        return json.dumps(rows, indent=2)
    table = [[key.replace("_", " ") for key in rows[0]], *(list(row.values()) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in table)
    return "\n".join(lines)


def _load_catalogs(files: Sequence[str], books: Sequence[Path]) -> tuple[Catalogs, Prices]:
    known, priced = shipped.catalog_files(), shipped.price_files()
    catalogs = load_catalogs([known.get(f, Path(f)) for f in files] or list(known.values()))
    chosen = [priced.get(str(f), f) for f in books] or [priced[shipped.DEFAULT_PRICES]]
    return catalogs, load_prices(chosen, catalogs.items)


def _items_named(word: str, catalogs: Catalogs) -> list[Item]:
    """The item of an id, or the items of a category, of a vendor, or with a word in their name."""
    if word in catalogs.items:
        return [catalogs.items[word]]
    every, small = catalogs.items.values(), word.casefold()
    found = [each for each in every if each.category == word]
    found = found or [each for each in every if each.vendor.casefold().startswith(small)]
    found = found or [each for each in every if small in f"{each.id} {each.model}".casefold()]
    if found:
        return found
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


def _stated(item: Item, prices: Prices) -> dict[str, Any]:
    """Every stated field of an item, and its price."""
    price = prices.prices.get(item.id)
    fields = item.model_dump(mode="json", exclude_defaults=True)
    return fields | {"price": price and price.model_dump(mode="json", exclude_defaults=True)}


_HEAD = ("id", "category", "vendor", "model", "lifecycle", "description")


def _item_text(item: Item, catalogs: Catalogs, prices: Prices) -> str:
    """An item with every figure by its path, as ``--vary catalog.ID.PATH`` takes it."""
    fields = {key: value for key, value in _stated(item, prices).items() if key not in _HEAD}
    sources = catalogs.sources[item.id] | prices.sources.get(item.id, {})
    titles = {name: source.title for name, source in sources.items()}
    head = f"{item.vendor} {item.model}  ({item.id}, {item.category}, {item.lifecycle})"
    return "\n".join([head, *filter(None, [item.description]), *_field_lines(fields, "", titles)])


def _field_lines(value: Any, path: str, titles: Mapping[str, str]) -> Iterator[str]:
    """Yield the stated fields: path, value, unit; confidence and source of a figure."""
    if isinstance(value, dict) and "source" in value:
        rest = dict(value)
        title, confidence = titles[rest.pop("source")], rest.pop("confidence")
        number = f"{_plain(rest.pop('value', ''))} {ITEM_UNITS.get(path, '')}".strip()
        note = rest.pop("note", "")
        parts = [number, *(f"{name} {_plain(each)}" for name, each in rest.items()), note]
        yield f"  {path}: {'; '.join(filter(None, parts))}  [{confidence}] {title}"
    elif isinstance(value, dict):
        for name, inside in value.items():
            yield from _field_lines(inside, f"{path}.{name}".removeprefix("."), titles)
    elif isinstance(value, list):
        for inside in value:
            yield from _field_lines(inside, path, titles)
    else:
        yield f"  {path}: {_plain(value)}"


def _plain(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, (dict, list)):
        return documents.in_line(value)
    return f"{value:,.12g}" if isinstance(value, float) else str(value)


def check_catalogs(
    files: Sequence[str], books: Sequence[Path], *, as_json: bool
) -> tuple[str, int]:
    """The findings of catalogs and prices as text or JSON, and the exit code.

    Catalogs and price books go by file or shipped name; without any the shipped ones.
    """
    try:
        catalogs, prices = _load_catalogs(files, books)
        findings = [*_of_figures(catalogs, prices), *_of_prices(catalogs, prices)]
    except InputError as error:
        findings, catalogs = list(error.findings), Catalogs()
    count = sum(1 for item in catalogs.items.values() for _ in catalog_figures(item))
    valid = f"valid: {len(catalogs.items)} items, {count} figures, each with its source"
    return _listed(findings, "", valid, as_json=as_json)


def _of_figures(catalogs: Catalogs, prices: Prices) -> Iterator[Finding]:
    """Yield figures outside their bands, and bandwidths without a basis."""
    fix = "check value and unit against the source"
    for id_, text in implausible(catalogs.items, prices.prices):
        yield Finding("implausible", text, *catalogs.places[id_], id_, fix, "warning")
    fix = "add basis: nameplate, certified or measured (with its benchmark)"
    for item in catalogs.items.values():
        figures = item.provides.read, item.provides.write
        silent = any(figure is not None and figure.basis is None for figure in figures)
        if item.category == "storage" and silent:
            message = f"'{item.id}' does not state the basis of its bandwidth"
            yield Finding("basis", message, *catalogs.places[item.id], item.id, fix, "warning")


def _of_prices(catalogs: Catalogs, prices: Prices) -> Iterator[Finding]:
    """Yield stale prices by their date."""
    dated: dict[tuple[str, str], list[str]] = {}
    for id_, entry in prices.entries.items():
        if id_ in catalogs.items and is_old(entry.price.date, today()):
            dated.setdefault((entry.place[0], entry.price.date), []).append(id_)
    for (file, text), ids in sorted(dated.items()):
        message = f"older than {OLD_MONTHS} months on {today()}, prices of {text}: {', '.join(ids)}"
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
    model = schemas[units.one_of("--schema", name, list(schemas))]
    _build_parts(Model)
    schema = model.model_json_schema(mode="validation", by_alias=True)
    if name in ("problem", "portfolio"):
        schema["properties"]["scenarios"] = {
            "type": "object",
            "description": "Named overrides, laid over the problem by --scenario NAME.",
            "additionalProperties": {"type": "object"},
        }
    # Pydantic names generic parts by the order of imports: here they are numbered by their content.
    parts = schema.get("$defs", {})
    generic = (part for part in parts if "__" in part)
    text = json.dumps(schema)
    for number, part in enumerate(sorted(generic, key=lambda part: json.dumps(parts[part])), 1):
        text = re.sub(rf'(["/]){re.escape(part)}"', rf'\1Figure{number}"', text)
    schema = json.loads(text)
    if parts:
        schema["$defs"] = dict(sorted(schema["$defs"].items()))
    whole = {"$schema": DRAFT, **schema, "title": f"planner {name} file"}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _build_parts(model: type[Model]) -> None:
    """Build all kinds of a model: pydantic below 2.14 cannot write defaults that are not built."""
    for part in model.__subclasses__():
        part.model_rebuild()
        _build_parts(part)


def _schemas() -> dict[str, type[BaseModel]]:
    """The records by their name, imported when a schema is asked for."""
    from planner.portfolio.schema import Portfolio
    from planner.results import views
    from planner.schema.bill import Bill, QuoteMap
    from planner.schema.catalog import Catalog
    from planner.schema.plan import Plan
    from planner.schema.prices import PriceBook
    from planner.schema.problem import Problem

    return {
        "problem": Problem,
        "portfolio": Portfolio,
        "catalog": Catalog,
        "prices": PriceBook,
        "plan": Plan,
        "bill": Bill,
        "quote-map": QuoteMap,
        **{view.name: record for record, view in views().items()},
    }
