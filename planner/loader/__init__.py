"""From files to validated inputs: the one door through which data comes in."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from planner import shipped
from planner.errors import Finding, InputError
from planner.inputs import Document, Inputs, with_support
from planner.loader import documents, exchange, overrides, yaml12
from planner.loader.catalogs import Catalogs, load_catalogs
from planner.loader.checks import check_problem
from planner.loader.documents import ModelT
from planner.loader.prices import Prices, below_drives, kept_terms, load_prices, price_documents
from planner.schema.problem import Problem

__all__ = [
    "Inputs",
    "completed",
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


def load(path: Path, *, settings: tuple[str, ...] = (), scenario: str | None = None) -> Inputs:
    """The inputs of a problem file; raise InputError on the first faulty layer.

    Args:
        path: the problem file.
        settings: ``path=value`` changes, applied last, in their order.
        scenario: the name of a scenario of the file to lay over it.
    """
    return _faultless(*load_with_findings(path, settings=settings, scenario=scenario))


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
        scenario: the name of a scenario of the file to lay over it.
        text: what the file will hold, where it is not written yet.
    """
    document = yaml12.read(path) if text is None else yaml12.parse(text, yaml12.shorten_path(path))
    document.folder = path.parent
    overrides.apply_scenario(document, scenario)
    overrides.apply_settings(document, settings)
    problem = _validated(document)
    if text is not None:
        document.digest = hashlib.sha256(text.encode()).hexdigest()
    return _joined(problem, document, settings, scenario)


def with_settings(inputs: Inputs, settings: tuple[str, ...]) -> Inputs:
    """Inputs with ``path=value`` changes laid over them: what loading them so would give.

    Raises:
        InputError: a change is wrong, or the inputs were read from no file that it is laid over.
    """
    if not settings:
        return inputs
    if inputs.document is None:
        message = "settings are laid over a problem file, and these inputs have none"
        raise InputError(Finding("set", message, fix="change the Problem itself"))
    now = inputs.document
    document = replace(now, lines=dict(now.lines), origins=dict(now.origins))
    overrides.apply_settings(document, settings)
    problem = _validated(document)
    return _faultless(*_joined(problem, document, (*inputs.overrides, *settings), inputs.scenario))


def completed(problem: Problem) -> Inputs:
    """A problem made in memory with the catalogs and prices that it names.

    Paths in it count from the folder that planner runs in.

    Raises:
        InputError: a file is not there, or the parts do not go together.
    """
    digest = hashlib.sha256(problem.model_dump_json().encode()).hexdigest()
    nowhere = Document("", {}, folder=Path(), digest=digest)
    inputs, findings = _joined(problem, nowhere, (), None)
    return _faultless(replace(inputs, document=None), findings)


def from_data(data: str, *, settings: tuple[str, ...] = (), scenario: str | None = None) -> Inputs:
    """The inputs of a problem given as the text of its file, which is no file.

    Paths in it count from the folder that planner runs in; findings have no lines.

    Raises:
        InputError: something is wrong with it.
    """
    nowhere = Path("problem.yaml")
    try:
        inputs = _faultless(
            *load_with_findings(nowhere, settings=settings, scenario=scenario, text=data)
        )
    except InputError as error:
        raise InputError(
            [
                replace(each, file=None, line=None) if each.file == str(nowhere) else each
                for each in error.findings
            ]
        ) from None
    return replace(inputs, document=None)


def _joined(
    problem: Problem, document: Document, settings: tuple[str, ...], scenario: str | None
) -> tuple[Inputs, list[Finding]]:
    """A problem with what it names, and every finding about how the parts fit together."""
    problem, offered, digests, cheap = _offered(problem, document)
    read = [_read_setting(setting) for setting in settings]
    parts = [document.digest, *digests, scenario or "", *read]
    inputs = Inputs(
        problem=problem,
        **offered,
        document=document,
        scenario=scenario,
        overrides=settings,
        sha256=hashlib.sha256("\n".join(parts).encode()).hexdigest(),
    )
    inputs = with_support(inputs)
    findings = [*check_problem(inputs), *cheap, *exchange.doubtful_rates(inputs)]
    doubts = tuple(f"{f.path}: {f.message}" for f in findings if f.severity == "warning")
    return replace(inputs, warnings=doubts), findings


def _faultless(inputs: Inputs, findings: list[Finding]) -> Inputs:
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        raise InputError(errors)
    return inputs


def renewed(inputs: Inputs, base: Path) -> Inputs:
    """Inputs with the catalogs and prices that the files they name hold now.

    Args:
        inputs: a problem, as a plan carries it.
        base: the folder that its paths count from.

    Raises:
        InputError: a file is not there, or wrong.
    """
    problem, offered, _, _ = _offered(inputs.problem, Document("", {}, folder=base))
    return with_support(replace(inputs, problem=problem, **offered, sha256=""))


def read_document(path: Path, settings: tuple[str, ...], scenario: str | None) -> Document:
    """The data of a problem file with a scenario and ``path=value`` changes laid over it."""
    document = yaml12.read(path)
    document.folder = path.parent
    overrides.apply_scenario(document, scenario)
    overrides.apply_settings(document, settings)
    return document


def validated(model: type[ModelT], document: Document) -> ModelT:
    """Return a document as a model, its amounts of money at its rates of exchange."""
    return documents.validated(model, document, _rates(document, document.folder))


def joined(
    problem: Problem, document: Document, settings: tuple[str, ...] = ()
) -> tuple[Inputs, list[Finding]]:
    """A problem with the catalogs and prices it names, and every finding about them."""
    return _joined(problem, document, settings, None)


def _validated(document: Document) -> Problem:
    return validated(Problem, document)


def _rates(document: Document, base: Path) -> exchange.Rates:
    """The rates of a problem; those of its price books too where it has amounts in them."""
    rates = exchange.stated_rates(document)
    if not exchange.lacks_rate(document, rates):
        return rates
    try:
        paths = _price_paths(exchange.price_names(document), base, document)
        return {**exchange.of_books(price_documents(paths)), **rates}
    except InputError:  # it is told where the books are read
        return rates


Offered = tuple[dict[str, Any], list[str], list[Finding]]
"""What catalogs and price books hold, by field of the inputs; their digests; doubts."""


def _offered(
    problem: Problem, document: Document
) -> tuple[Problem, dict[str, Any], list[str], list[Finding]]:
    """The problem with the rates of its books, and what its catalogs and books hold."""
    catalogs = load_catalogs(_catalog_paths(problem, document.folder, document))
    paths = _price_paths(problem.prices, document.folder, document)
    prices = load_prices(paths, catalogs.items, problem.currencies)
    place = document.place(("currency",)) if problem.currency else prices.currency_place
    settled = exchange.settle_rates(problem, prices.exchange, prices.currency, place)
    return settled, *_read_offered(catalogs, prices)


def _read_offered(catalogs: Catalogs, prices: Prices) -> Offered:
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
        Finding("below-drives", message, *prices.entries[sku].place, "prices", fix, "warning")
        for sku, message, fix in below_drives(prices.prices, catalogs.items, prices.rates)
    ]
    cheap += kept_terms(prices.entries)
    return fields, [digest for _, digest in (*catalogs.files, *prices.files)], cheap


def _read_setting(setting: str) -> str:
    """A setting, or the digest of a file of settings."""
    file = setting.removeprefix(overrides.FILE_MARK)
    return setting if file == setting else documents.digest(Path(file))


def scenario_names(path: Path) -> tuple[str, ...]:
    """The names of a problem file's scenarios."""
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
        documents.find(name, known, base, "catalog", _origin(document, "catalogs", index))
        for index, name in enumerate(problem.catalogs)
    ]


def _price_paths(names: str | tuple[str, ...] | None, base: Path, document: Document) -> list[Path]:
    known = shipped.price_files()
    if names is None:
        names = (shipped.DEFAULT_PRICES,)
    elif isinstance(names, str):
        names = (names,)
    return [
        documents.find(name, known, base, "price book", _origin(document, "prices", index))
        for index, name in enumerate(names)
    ]


def _origin(document: Document, key: str, index: int) -> Finding:
    file, line = document.place((key, index))
    return Finding("origin", "", file, line, f"{key}.{index}")
