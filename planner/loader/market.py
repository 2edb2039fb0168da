"""Catalogs and price books: found by name or path, included, extended, merged, cross-checked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from planner import currency, shipped, units
from planner.currency import Currency
from planner.errors import Finding, InputError, clip, did_you_mean
from planner.foreign_files import contents
from planner.inputs import Document
from planner.loader import exchange, locate, price_layers, yaml12
from planner.loader.catalog_checks import LIST_IT
from planner.loader.price_building import NoQuantityError, build_price, with_range
from planner.paths import steps_of
from planner.schema.catalog import Catalog, Family, Item, Source
from planner.schema.prices import Discount, ExchangeRate, Price, PriceBook, Rate

MAX_EXTENDS = 20
ModelT = TypeVar("ModelT", bound=BaseModel)


@dataclass
class Catalogs:
    """All items and families of the catalogs in use, by id; ``files`` have their digests."""

    items: dict[str, Item] = field(default_factory=dict)
    families: dict[str, Family] = field(default_factory=dict)
    sources: dict[str, dict[str, Source]] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    files: list[tuple[Path, str]] = field(default_factory=list)


@dataclass
class Prices:
    """The prices of all books in use; later books override earlier ones.

    ``rate_sources`` are the sources that each of the ``rates`` may cite; ``exchange`` is what
    currencies are in USD, ``currency`` the one that the last book that names one shows money in.
    ``below`` are the prices that others override, the first first; ``kept`` the terms that these
    leave to them.
    """

    prices: dict[str, Price] = field(default_factory=dict)
    rates: dict[str, Rate] = field(default_factory=dict)
    rate_sources: dict[str, dict[str, Source]] = field(default_factory=dict)
    discounts: list[Discount] = field(default_factory=list)
    sources: dict[str, dict[str, Source]] = field(default_factory=dict)
    books: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    files: list[tuple[Path, str]] = field(default_factory=list)
    exchange: dict[str, ExchangeRate] = field(default_factory=dict)
    currency: str | None = None
    currency_place: tuple[str, int | None] = ("", None)
    below: dict[str, list[price_layers.Layer]] = field(default_factory=dict)
    kept: dict[str, price_layers.Kept] = field(default_factory=dict)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    return hashlib.sha256(contents(path, most_bytes=yaml12.MAX_BYTES, what="file")).hexdigest()


def find(name: str, known: Mapping[str, Path], base: Path, what: str, origin: Finding) -> Path:
    """Return the file meant by ``name``: a shipped name, or a path relative to ``base``."""
    if name in known:
        return known[name]
    if "/" not in name and not name.endswith((".yaml", ".yml")):
        hint = did_you_mean(name, list(known)) or "shipped: " + ", ".join(known)
        message = f"no {what} named '{name[:60]}'"
        raise InputError(Finding("not-found", message, origin.file, origin.line, origin.path, hint))
    if not name.endswith((".yaml", ".yml")):
        message = f"a {what} is a .yaml file, found '{name[:60]}'"
        raise InputError(Finding("not-found", message, origin.file, origin.line, origin.path))
    return _existing(base / name, base, what, origin)


def _existing(path: Path, base: Path, what: str, origin: Finding) -> Path:
    """Return ``path``; raise InputError at the place that names it where it is not there."""
    try:
        there = path.exists()
    except (OSError, ValueError):
        there = True  # reading it says what is the matter
    if there:
        return path
    near = did_you_mean(path.stem, [other.stem for other in path.parent.glob("*.y*ml")])
    folder = yaml12.shorten_path(base)
    fix = near or f"the path counts from {'this folder' if folder == '.' else folder}"
    message = f"no such {what}: '{clip(str(path), 120)}'"
    raise InputError(Finding("not-found", message, origin.file, origin.line, origin.path, fix))


def validated(
    model: type[ModelT], document: Document, rates: units.Rates = units.NO_RATES
) -> ModelT:
    """The document as a model, amounts at the rates given; raises InputError with all findings."""
    _refuse_other_kind(model, document)
    try:
        return model.model_validate(document.data, context={"rates": rates})
    except ValidationError as error:
        raise InputError(locate.findings(error, document, model)) from None


_KINDS = {"catalog": "a catalog", "price_book": "a price book", "jobs": "a problem file"}
_RESULTS = {"provenance": "a plan", "kind": "what a study found"}
"""By which key one knows what planner writes; a plan has jobs as well."""


def _refuse_other_kind(model: type[BaseModel], document: Document) -> None:
    """Raise where a file is plainly one of another kind: one line instead of one per key."""
    own = next(key for key in _KINDS if key in model.model_fields)
    if "schema_version" in document.data:
        _refuse_results(own, document)
    others = [key for key in _KINDS if key in document.data and key != own]
    if own in document.data or not others:
        return
    place = document.place((others[0],))
    message = f"expected {_KINDS[own]}, found {_KINDS[others[0]]}"
    fix = f"{_KINDS[own]} begins with '{own}: '" if own != "jobs" else "a problem file has jobs"
    raise InputError(Finding("kind", message, *place, fix=fix))


def _refuse_results(own: str, document: Document) -> None:
    """Raise where a file is what planner writes; name the problem that a plan was made from."""
    for key in _RESULTS.keys() & document.data:
        message = f"expected {_KINDS[own]}, found {_RESULTS[key]}, as planner writes it"
        fix = f"give {_KINDS[own]}"
        made = document.data[key]
        if own == "jobs" and isinstance(made, dict) and made.get("problem_file"):
            fix = f"give the problem that it was made from: {clip(str(made['problem_file']), 120)}"
        raise InputError(Finding("kind", message, *document.place((key,)), fix=fix))


def load_catalogs(files: list[Path]) -> Catalogs:
    """Return the merged catalogs of ``files`` and of what they include."""
    documents = _with_includes(files, "catalog", shipped.catalog_files())
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
    """Return the sources that an item and those it extends may cite."""
    merged: dict[str, Source] = {}
    for ancestor in chain:
        file = homes[ancestor].file
        for name, source in result.sources.get(file, {}).items():
            if merged.setdefault(name, source) != source:
                message = f"the source '{name}' means something else where '{chain[0]}' stands"
                place = file_and_line(result.places[item_id])
                fix = f"rename it in {file}"
                raise InputError(Finding("source-clash", message, *place, item_id, fix))
    return merged


def _with_includes(
    files: list[Path], what: str, known: Mapping[str, Path]
) -> list[tuple[Path, Document]]:
    """Read the files and what they include, each once; a circle is an error."""
    seen: dict[Path, Document] = {}

    def visit(path: Path, open_files: tuple[Path, ...], place: tuple[str, int | None]) -> None:
        real = Path(os.path.realpath(path))  # of links in a circle, too
        if real in open_files:
            circle = " -> ".join(yaml12.shorten_path(p) for p in (*open_files, real))
            message, fix = f"circular include: {circle}", "remove one of these includes"
            raise InputError(Finding("circular-include", message, *place, fix=fix))
        if real in seen:
            return
        document = yaml12.read(path, what)
        names = document.data.get("include", ())
        for index, name in enumerate(names if isinstance(names, tuple) else ()):
            below = document.place(("include", index))
            origin = Finding("include", "", *below, f"include.{index}")
            visit(find(str(name), known, path.parent, what, origin), (*open_files, real), below)
        seen[real] = document

    for path in files:
        visit(path, (), (yaml12.shorten_path(path), None))
    return list(seen.items())


class _Written(NamedTuple):
    """An item as its file has it."""

    data: dict[str, Any]
    document: Document
    at: int

    def place(self, *steps: str) -> tuple[str, int | None]:
        """File and line of a part."""
        return self.document.file, self.document.line(("items", self.at, *steps))


Resolved = tuple[dict[str, Any], tuple[str, ...]]
"""An item's data with what it extends, and the ids of these, the oldest first, itself the last."""


def _written_items(documents: list[tuple[Path, Document]]) -> dict[str, _Written]:
    """Return every item by id; what has none is left to the schema."""
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
    """Return an item laid over those that it extends."""
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
        place = f"{document.file}:{document.line(('families', index))}"
        if family.id in result.families:
            message = (
                f"the family '{family.id}' is defined twice (first in {result.places[family.id]})"
            )
            fix = "rename one of them"
            raise InputError(Finding("duplicate-id", message, *file_and_line(place), fix=fix))
        result.families[family.id] = family
        result.places[family.id] = place
    for index, item in enumerate(catalog.items):
        result.items[item.id] = item
        result.places[item.id] = f"{document.file}:{document.line(('items', index))}"


def file_and_line(place: str) -> tuple[str, int | None]:
    """Return the two parts of a place in a file."""
    file, _, line = place.rpartition(":")
    return file, int(line) if line.isdigit() else None


def _cross_check(result: Catalogs, written: Mapping[str, _Written]) -> None:
    from planner.loader.catalog_checks import check_family, check_item

    problems: list[Finding] = []
    for item in result.items.values():
        known = result.sources[item.id]
        for message, hint, part in check_item(item, known, result.items, result.families):
            home = written[item.id]
            place = home.document.place(("items", home.at, *steps_of(part)))
            problems.append(Finding("catalog", message, *place, item.id, hint))
    for family in result.families.values():
        file, line = file_and_line(result.places[family.id])
        for message, hint, _ in check_family(family, result.sources.get(file, {}), result.items):
            problems.append(Finding("catalog", message, file, line, family.id, hint))
    if problems:
        raise InputError(problems)


def price_documents(files: list[Path]) -> list[tuple[Path, Document]]:
    """Return the price books of ``files`` and those they include, as they are written."""
    return _with_includes(files, "price book", shipped.price_files())


def load_prices(
    files: list[Path],
    items: Mapping[str, Item] | None = None,
    rates: Mapping[str, Currency] | None = None,
) -> Prices:
    """Return the merged price books of ``files``, later ones on top of earlier ones.

    Args:
        files: the price books.
        items: all items by id, of which prices with parts are built; without them these stay as
            they are written. The price of an item that no catalog holds is left out then.
        rates: rates of exchange that count before those of the books.
    """
    result = Prices()
    documents = price_documents(files)
    read = {**exchange.of_books(documents), **(rates or {})}
    books = [(path, document, validated(PriceBook, document, read)) for path, document in documents]
    for path, document, book in books:
        result.exchange |= book.exchange
        if book.currency != currency.USD.code:
            result.currency = book.currency
            result.currency_place = document.place(("currency",))
        result.names.append(book.price_book)
        result.files.append((path, document.digest))
        result.discounts += book.discounts
        for name, rate in book.rates.items():
            _check_source(rate.source, book, document, f"rates.{name}")
            result.rates[name] = rate
            result.rate_sources[name] = dict(book.sources)
        for name, price in book.prices.items():
            rent = None if price.rent is None else price.rent.source
            for source in (price.source, price.support_source, rent):
                if source is not None and not (price.parts and source is price.source):
                    _check_source(source, book, document, f"prices.{name}")
            if name in result.prices:
                result.below.setdefault(name, []).append(_layer(result, name))
            result.prices[name] = price if price.parts else with_range(price, book.ranges)
            result.sources[name] = dict(book.sources)
            result.books[name] = book.price_book
            result.places[name] = f"{document.file}:{document.line(('prices', name))}"
    if items is not None:
        _build(result, items)
    _keep_terms(result, items)
    return result


def _layer(result: Prices, name: str) -> price_layers.Layer:
    return price_layers.Layer(result.prices[name], result.books[name], result.sources[name])


def _keep_terms(result: Prices, items: Mapping[str, Item] | None) -> None:
    """Give each price the terms that it leaves to the books below."""
    for name, below in result.below.items():
        if name not in result.prices:
            continue
        item = None if items is None else items.get(name)
        layers = [price_layers.built(layer, item, items, result.rates) for layer in below]
        kept = price_layers.merge([*layers, _layer(result, name)])
        if (fault := price_layers.unknown_level(kept)) is not None:
            place = (*place_of(result, name), f"prices.{name}.support_level")
            raise InputError(Finding("support-level", fault, *place, "choose one of them"))
        result.prices[name], result.sources[name] = kept.price, kept.sources
        result.kept[name] = kept


def place_of(prices: Prices, sku: str) -> tuple[str, int | None]:
    """Return the file and line of an item's price."""
    return file_and_line(prices.places[sku])


def _check_source(name: str, book: PriceBook, document: Document, path: str) -> None:
    """Raise where a price or a rate cites what its book does not list."""
    if name not in book.sources:
        message = f"the source '{name}' is not listed under sources"
        hint = did_you_mean(name, list(book.sources)) or LIST_IT
        line = document.line(tuple(path.split(".")))
        raise InputError(Finding("source", message, document.file, line, path, hint))


def _build(result: Prices, items: Mapping[str, Item]) -> None:
    """Add up the prices that have parts; raise InputError where a part cannot be."""
    problems: list[Finding] = []
    for name, price in [(name, price) for name, price in result.prices.items() if price.parts]:
        item = items.get(name)
        place = (*place_of(result, name), f"prices.{name}.parts")
        unknown = [part.rate for part in price.parts if part.rate not in result.rates]
        if unknown:
            fix = did_you_mean(unknown[0], list(result.rates)) or "list it under rates"
            problems.append(Finding("rate", f"no rate '{unknown[0]}'", *place, fix))
        elif item is None:
            del result.prices[name]
        else:
            try:
                whole = build_price(price, item, items, result.rates)
            except NoQuantityError as error:
                fix = "state it in the catalog, or give list, date, source and confidence"
                problems.append(Finding("rate", f"'{name}': {error}", *place, fix))
                continue
            main = next(part.rate for part in price.parts
                        if result.rates[part.rate].source == whole.source)  # fmt: skip
            result.prices[name] = whole
            result.sources[name] = {**result.sources[name], **result.rate_sources[main]}
    if problems:
        raise InputError(problems)
