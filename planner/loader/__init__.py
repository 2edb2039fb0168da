"""From files to validated inputs: the only place where files become data."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner import shipped
from planner.currency import Currency
from planner.errors import Finding, InputError
from planner.inputs import Document, Inputs
from planner.loader import documents, overrides, prices
from planner.loader.catalogs import load_catalogs
from planner.loader.checks import check_problem
from planner.loader.documents import ModelT
from planner.schema.prices import ExchangeRate
from planner.schema.problem import Problem

__all__ = [
    "Inputs",
    "from_data",
    "joined",
    "load",
    "load_with_findings",
    "read_document",
    "renewed",
    "scenario_names",
    "validated",
    "with_settings",
]


def load(
    path: Path,
    *,
    settings: tuple[str, ...] = (),
    scenario: str | None = None,
    text: str | None = None,
) -> Inputs:
    """The inputs of a problem file; see `load_with_findings`.

    Raises:
        InputError: all findings of the first faulty layer.
    """
    return _faultless(*load_with_findings(path, settings=settings, scenario=scenario, text=text))


def load_with_findings(
    path: Path,
    *,
    settings: tuple[str, ...] = (),
    scenario: str | None = None,
    text: str | None = None,
) -> tuple[Inputs, list[Finding]]:
    """The inputs and every finding about how their parts fit together.

    Args:
        path: the problem file.
        settings: ``path=value`` changes, applied last, in their order.
        scenario: the name of a scenario of the file to apply.
        text: content of the file, where it is not written yet.
    """
    document = read_document(path, settings, scenario, text=text)
    return joined(validated(Problem, document), document, settings, scenario)


def read_document(
    path: Path, settings: tuple[str, ...], scenario: str | None, *, text: str | None = None
) -> Document:
    """The data of a problem file with a scenario and ``path=value`` changes laid over it."""
    document = documents.read(path, text=text)
    overrides.apply_scenario(document, scenario)
    overrides.apply_settings(document, settings)
    return document


def with_settings(inputs: Inputs, settings: tuple[str, ...]) -> Inputs:
    """Inputs with ``path=value`` changes applied, as loading with them returns.

    Raises:
        InputError: a change is wrong, or the inputs were read from no file.
    """
    if not settings:
        return inputs
    if inputs.document is None:
        message = "settings are laid over a problem file, and these inputs have none"
        raise InputError(Finding("set", message, fix="change the Problem itself"))
    now = inputs.document
    document = replace(now, lines=dict(now.lines), origins=dict(now.origins))
    overrides.apply_settings(document, settings)
    problem, settings = validated(Problem, document), (*inputs.overrides, *settings)
    return _faultless(*joined(problem, document, settings, inputs.scenario))


def from_data(
    text: str,
    *,
    path: Path = Path("problem.yaml"),
    settings: tuple[str, ...] = (),
    scenario: str | None = None,
) -> Inputs:
    """The inputs of a problem given as the text of a file at ``path`` that does not exist.

    Raises:
        InputError: something is wrong with it; findings name no line of that file.
    """
    try:
        return replace(load(path, settings=settings, scenario=scenario, text=text), document=None)
    except InputError as error:
        file = documents.shorten_path(path)
        raise InputError([
            replace(each, file=None, line=None) if each.file == file else each
            for each in error.findings
        ]) from None  # fmt: skip


def renewed(inputs: Inputs, base: Path) -> Inputs:
    """Inputs with the catalogs and prices that the files they name hold now.

    Args:
        inputs: a problem, as a plan carries it.
        base: the folder that its paths count from.

    Raises:
        InputError: a file is not there, or wrong.
    """
    offered, _ = _offered(inputs.problem, Document("", {}, folder=base))
    return replace(inputs, **offered, sha256="")


def scenario_names(path: Path) -> tuple[str, ...]:
    """The names of a problem file's scenarios."""
    scenarios = documents.read(path).data.get("scenarios", {})
    return tuple(scenarios) if isinstance(scenarios, dict) else ()


def validated(model: type[ModelT], document: Document) -> ModelT:
    """The document as a model, its amounts at its rates of exchange: those that are right."""
    rates, data = dict[str, Currency](), document.data.get("exchange")
    for code, rate in data.items() if isinstance(data, dict) else ():
        with suppress(ValidationError):
            rates[str(code)] = ExchangeRate.model_validate(rate).of(str(code))
    return documents.validated(model, document, rates)


def joined(
    problem: Problem,
    document: Document,
    settings: tuple[str, ...] = (),
    scenario: str | None = None,
) -> tuple[Inputs, list[Finding]]:
    """A problem with the catalogs and prices it names, and every finding about them."""
    offered, digests = _offered(problem, document)
    files = [each.removeprefix(overrides.FILE_MARK) for each in settings]
    read = [
        setting if file == setting else documents.read(Path(file), documents.OVERRIDES).digest
        for setting, file in zip(settings, files, strict=True)
    ]
    parts = [document.digest, *digests, scenario or "", *read]
    inputs = Inputs(
        problem=problem,
        **offered,
        document=document,
        scenario=scenario,
        overrides=settings,
        sha256=hashlib.sha256("\n".join(parts).encode()).hexdigest(),
    )
    findings = check_problem(inputs)
    warnings = tuple(f"{f.path}: {f.message}" for f in findings if f.severity == "warning")
    return replace(inputs, warnings=warnings), findings


def _faultless(inputs: Inputs, findings: list[Finding]) -> Inputs:
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        raise InputError(errors)
    return inputs


def _offered(problem: Problem, document: Document) -> tuple[dict[str, Any], list[str]]:
    """The fields of the inputs that catalogs and books fill; digests of these files."""
    known = shipped.catalog_files()
    if problem.catalogs is not None and not problem.catalogs:
        fix = "leave it out to use all shipped ones"
        place = document.place(("catalogs",))
        raise InputError(Finding("catalog", "the list is empty", *place, "catalogs", fix))
    named = [
        documents.find(name, known, document, ("catalogs", at), "catalog")
        for at, name in enumerate(problem.catalogs or ())
    ]
    catalogs = load_catalogs(named or list(known.values()))
    paths = _price_paths(problem.prices, document)
    books = prices.load_prices(paths, catalogs.items, problem.currencies)
    fields = {
        "items": tuple(catalogs.items.values()),
        "families": tuple(catalogs.families.values()),
        "prices": books.prices,
        "discounts": tuple(books.discounts),
        # By item alone: the same files read from another folder are the same inputs.
        "item_sources": {name: catalogs.sources[name] for name in catalogs.items},
        "price_sources": books.sources,
        "price_books": {name: entry.book for name, entry in books.entries.items()},
        "catalog_names": tuple(catalogs.names),
        "price_book_names": tuple(books.names),
    }
    return fields, [*catalogs.digests, *books.digests]


def _price_paths(names: str | tuple[str, ...] | None, document: Document) -> list[Path]:
    """The price books that a problem names."""
    each = (names or shipped.DEFAULT_PRICES,) if not isinstance(names, tuple) else names
    known = shipped.price_files()
    return [
        documents.find(name, known, document, ("prices", at), "price book")
        for at, name in enumerate(each)
    ]
