"""Catalogs: merged with their includes, items laid over those that they extend, cross-checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from planner import shipped
from planner.errors import Finding, InputError, did_you_mean
from planner.inputs import Document
from planner.loader.catalog_checks import check_family, check_item
from planner.loader.documents import FileLine, read_with_includes, validated
from planner.paths import steps_of
from planner.schema.catalog import Catalog, Family, Item, Source

MAX_EXTENDS = 20


@dataclass
class Catalogs:
    """All items and families of the catalogs in use, by id; ``files`` have their digests."""

    items: dict[str, Item] = field(default_factory=dict)
    families: dict[str, Family] = field(default_factory=dict)
    sources: dict[str, dict[str, Source]] = field(default_factory=dict)
    places: dict[str, FileLine] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    files: list[tuple[Path, str]] = field(default_factory=list)


def load_catalogs(files: list[Path]) -> Catalogs:
    """The merged catalogs of ``files`` and of what they include."""
    documents = read_with_includes(files, "catalog", shipped.catalog_files())
    written = _written_items(documents)
    resolved = {name: _resolved(name, written) for name in written}
    result = Catalogs()
    for path, document in documents:
        if isinstance(document.data.get("items"), tuple):
            items = enumerate(document.data["items"])
            whole = tuple(_whole(item, document, at, written, resolved) for at, item in items)
            document.data = {**document.data, "items": whole}
        catalog = validated(Catalog, document)
        result.names.append(catalog.catalog)
        result.files.append((path, document.digest))
        _add(result, catalog, document)
    homes = {name: item.document for name, item in written.items()}
    merged: dict[tuple[str, ...], dict[str, Source]] = {}  # near-clones extend the same few items
    for item_id, (_, chain) in resolved.items():
        homes_of = tuple(homes[ancestor].file for ancestor in chain)
        if homes_of not in merged:
            merged[homes_of] = _sources(item_id, chain, homes, result)
        result.sources[item_id] = merged[homes_of]
    _cross_check(result, written)
    return result


def _sources(
    item_id: str, chain: Sequence[str], homes: Mapping[str, Document], result: Catalogs
) -> dict[str, Source]:
    """The sources that an item and those it extends may cite."""
    merged: dict[str, Source] = {}
    for ancestor in chain:
        file = homes[ancestor].file
        for name, source in result.sources.get(file, {}).items():
            if merged.setdefault(name, source) != source:
                message = f"the source '{name}' means something else where '{chain[0]}' stands"
                place = result.places[item_id]
                fix = f"rename it in {file}"
                raise InputError(Finding("source-clash", message, *place, item_id, fix))
    return merged


class _Written(NamedTuple):
    """An item as its file has it."""

    data: dict[str, Any]
    document: Document
    at: int

    def place(self, *steps: str) -> FileLine:
        """File and line of a part."""
        return self.document.file, self.document.line(("items", self.at, *steps))


Resolved = tuple[dict[str, Any], tuple[str, ...]]
"""An item's data with what it extends, and the ids of these, the oldest first, itself the last."""


def _written_items(documents: list[tuple[Path, Document]]) -> dict[str, _Written]:
    """Every item by id; the schema refuses items without one."""
    found: dict[str, _Written] = {}
    for _, document in documents:
        items = document.data.get("items", ())
        for index, item in enumerate(items if isinstance(items, tuple) else ()):
            if not isinstance(item, dict) or not isinstance(item.get("id"), str):
                continue
            here = _Written(item, document, index)
            first = found.setdefault(item["id"], here)
            if first is not here:
                file, line = first.place()
                message = f"the id '{item['id']}' is used twice (first in {file}:{line})"
                path, fix = f"items.{index}.id", "rename one of them"
                raise InputError(Finding("duplicate-id", message, *here.place(), path, fix))
    return found


def _resolved(name: str, written: Mapping[str, _Written], below: tuple[str, ...] = ()) -> Resolved:
    """An item laid over those that it extends."""
    item, chain = written[name], (*below, name)
    parent = item.data.get("extends")
    if not isinstance(parent, str):
        return item.data, (name,)
    if parent not in written:
        path, hint = f"items.{item.at}.extends", did_you_mean(parent, list(written))
        place = item.place("extends")
        raise InputError(Finding("unknown-id", f"no item '{parent}'", *place, path, hint))
    place = written[chain[0]].place("extends")
    if parent in chain:
        message = f"circular extends: {' -> '.join((*chain, parent))}"
        raise InputError(
            Finding("circular-extends", message, *place, fix="remove one of these extends")
        )
    if len(chain) > MAX_EXTENDS:
        message, fix = f"extends is more than {MAX_EXTENDS} deep", "extend the first item directly"
        raise InputError(Finding("deep-extends", message, *place, fix=fix))
    base, ancestors = _resolved(parent, written, chain)
    return _merged(base, item.data), (*ancestors, name)


def _whole(
    item: Any,
    document: Document,
    index: int,
    written: Mapping[str, _Written],
    resolved: Mapping[str, Resolved],
) -> Any:
    name = item.get("id") if isinstance(item, dict) else None
    known = written.get(name) if isinstance(name, str) else None
    mine = known is not None and known.document is document and known.at == index
    return resolved[name][0] if mine and name else item


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Lay ``over`` on ``base``: groups are merged, figures and lists are replaced whole."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        result[key] = _merged(old, value) if both and "value" not in value else value  # type: ignore[arg-type]
    return result


def _add(result: Catalogs, catalog: Catalog, document: Document) -> None:
    result.sources[document.file] = catalog.sources
    for index, family in enumerate(catalog.families):
        place = document.file, document.line(("families", index))
        if family.id in result.families:
            file, line = result.places[family.id]
            message = f"the family '{family.id}' is defined twice (first in {file}:{line})"
            raise InputError(Finding("duplicate-id", message, *place, fix="rename one of them"))
        result.families[family.id] = family
        result.places[family.id] = place
    for index, item in enumerate(catalog.items):
        result.items[item.id] = item
        result.places[item.id] = document.file, document.line(("items", index))


def _cross_check(result: Catalogs, written: Mapping[str, _Written]) -> None:
    problems: list[Finding] = []
    for item in result.items.values():
        known = result.sources[item.id]
        for message, hint, part in check_item(item, known, result.items, result.families):
            home = written[item.id]
            place = home.document.place(("items", home.at, *steps_of(part)))
            problems.append(Finding("catalog", message, *place, item.id, hint))
    for family in result.families.values():
        file, line = result.places[family.id]
        for message, hint, _ in check_family(family, result.sources.get(file, {}), result.items):
            problems.append(Finding("catalog", message, file, line, family.id, hint))
    if problems:
        raise InputError(problems)
