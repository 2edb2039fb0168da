"""From files to validated inputs: the one door through which data comes in."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from planner import currency, shipped
from planner.errors import Finding, InputError
from planner.inputs import Document, Inputs, shown, with_support
from planner.loader import exchange, market, overrides, yaml12
from planner.loader.checks import check_problem
from planner.loader.price_building import below_drives
from planner.schema.problem import Problem

__all__ = ["Inputs", "load", "load_with_findings", "scenario_names"]


def load(path: Path, *, settings: tuple[str, ...] = (), scenario: str | None = None) -> Inputs:
    """Return the inputs of a problem file; raise InputError on the first faulty layer.

    Args:
        path: the problem file.
        settings: ``path=value`` changes, applied last, in their order.
        scenario: the name of a scenario of the file to lay over it.
    """
    inputs, findings = load_with_findings(path, settings=settings, scenario=scenario)
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        raise InputError(errors)
    return inputs


def load_with_findings(
    path: Path, *, settings: tuple[str, ...] = (), scenario: str | None = None
) -> tuple[Inputs, list[Finding]]:
    """Return the inputs and every finding about how their parts fit together."""
    document = yaml12.read(path)
    overrides.apply_scenario(document, scenario)
    overrides.apply_settings(document, settings)
    with currency.known(_rates(document, path.parent)):
        problem = market.validated(Problem, document)
    problem, offered, digests, cheap = _offered(problem, path.parent, document)
    read = [_read_setting(setting) for setting in settings]
    parts = [market.digest(path), *digests, scenario or "", *read]
    inputs = Inputs(
        problem=problem,
        **offered,
        document=document,
        scenario=scenario,
        overrides=settings,
        sha256=hashlib.sha256("\n".join(parts).encode()).hexdigest(),
    )
    inputs = shown(with_support(inputs))
    findings = [*check_problem(inputs), *cheap, *exchange.doubts(inputs)]
    doubts = tuple(f"{f.path}: {f.message}" for f in findings if f.severity == "warning")
    return replace(inputs, warnings=doubts), findings


def renewed(inputs: Inputs, base: Path) -> Inputs:
    """Return inputs with the catalogs and prices that the files they name hold now.

    Args:
        inputs: a problem, as a plan carries it.
        base: the folder that its paths count from.

    Raises:
        InputError: a file is not there, or wrong.
    """
    problem, offered, _, _ = _offered(inputs.problem, base, Document("", {}))
    return with_support(replace(inputs, problem=problem, **offered, sha256=""))


def _rates(document: Document, base: Path) -> exchange.Rates:
    """Return the rates of a problem; those of its price books too where it has amounts in them."""
    rates = exchange.stated(document)
    if not exchange.lacks(document, rates):
        return rates
    try:
        paths = _price_paths(exchange.price_names(document), base, document)
        return {**exchange.of_books(market.price_documents(paths)), **rates}
    except InputError:  # it is told where the books are read
        return rates


def _offered(
    problem: Problem, base: Path, document: Document
) -> tuple[Problem, dict[str, Any], list[str], list[Finding]]:
    """Return the problem with the rates of its books, what catalogs and price books hold, by field
    of the inputs; their digests; doubts."""
    catalogs = market.load_catalogs(_catalog_paths(problem, base, document))
    paths = _price_paths(problem.prices, base, document)
    prices = market.load_prices(paths, catalogs.items, exchange.read_as(problem))
    place = document.place(("currency",)) if problem.currency else prices.currency_place
    problem = exchange.settled(problem, prices.exchange, prices.currency, place)
    fields = {
        "items": tuple(catalogs.items.values()),
        "families": tuple(catalogs.families.values()),
        "prices": prices.prices,
        "discounts": tuple(prices.discounts),
        # By item alone: the same files read from another folder are the same inputs.
        "item_sources": {name: catalogs.sources[name] for name in catalogs.items},
        "price_sources": prices.sources,
        "price_books": prices.books,
        "catalog_names": tuple(catalogs.names),
        "price_book_names": tuple(prices.names),
    }
    cheap = [
        Finding("below-drives", message, *market.place_of(prices, sku), "prices", fix, "warning")
        for sku, message, fix in below_drives(prices.prices, catalogs.items, prices.rates)
    ]
    return problem, fields, [*catalogs.digests, *prices.digests], cheap


def _read_setting(setting: str) -> str:
    """Return what a setting says; of a file of them its contents."""
    mark = overrides.FILE_MARK
    return market.digest(Path(setting.removeprefix(mark))) if setting.startswith(mark) else setting


def scenario_names(path: Path) -> tuple[str, ...]:
    """Return the names of a problem file's scenarios."""
    scenarios = yaml12.read(path).data.get("scenarios", {})
    return tuple(scenarios) if isinstance(scenarios, dict) else ()


def _catalog_paths(problem: Problem, base: Path, document: Document) -> list[Path]:
    known = shipped.catalog_files()
    if problem.catalogs is None:
        return list(known.values())
    if not problem.catalogs:
        fix = "leave it out to use all shipped ones"
        place = document.place(("catalogs",))
        raise InputError(Finding("catalog", "the list is empty", *place, "catalogs", fix))
    return [
        market.find(name, known, base, "catalog", _origin(document, "catalogs", index))
        for index, name in enumerate(problem.catalogs)
    ]


def _price_paths(names: str | tuple[str, ...] | None, base: Path, document: Document) -> list[Path]:
    known = shipped.price_files()
    if names is None:
        names = (shipped.DEFAULT_PRICES,)
    elif isinstance(names, str):
        names = (names,)
    return [
        market.find(name, known, base, "price book", _origin(document, "prices", index))
        for index, name in enumerate(names)
    ]


def _origin(document: Document, key: str, index: int) -> Finding:
    file, line = document.place((key, index))
    return Finding("origin", "", file, line, f"{key}.{index}")
