"""From files to validated inputs: the only place where files become data.

Scenarios, ``--set`` and files of overrides are laid over the data of a problem file first.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from planner import shipped
from planner.errors import Finding, FixableError, InputError, clip, did_you_mean
from planner.inputs import Document, Inputs
from planner.loader import documents, prices
from planner.loader.catalogs import load_catalogs
from planner.loader.checks import check_problem, warnings_of
from planner.paths import CATALOG, PRICES, DataPath
from planner.removed import setting_successor
from planner.schema.problem import Problem

Settings = tuple[str, ...]
"""Changes of a problem as ``path=value``, or files of them as ``@FILE``."""


def load(path: Path, *, settings: Settings = (), scenario: str | None = None) -> Inputs:
    """The inputs of a problem file; see `load_with_findings`.

    Raises:
        InputError: all findings of the first faulty layer.
    """
    return _faultless(*load_with_findings(path, settings=settings, scenario=scenario))


def load_with_findings(
    path: Path, *, settings: Settings = (), scenario: str | None = None
) -> tuple[Inputs, list[Finding]]:
    """The inputs and every finding about how their parts fit together.

    Args:
        path: the problem file.
        settings: ``path=value`` changes, applied last, in their order.
        scenario: the name of a scenario of the file to apply.
    """
    document = read_document(path, settings, scenario)
    return joined(documents.validated(Problem, document), document, settings, scenario)


def read_document(path: Path, settings: Settings, scenario: str | None) -> Document:
    """The data of a problem file with a scenario and ``path=value`` changes laid over it."""
    document = documents.read(path)
    _apply_scenario(document, scenario)
    _apply_settings(document, settings)
    return document


def with_settings(inputs: Inputs, settings: Settings) -> Inputs:
    """Inputs with ``path=value`` changes applied, as loading with them returns.

    Raises:
        InputError: a change is wrong, or the inputs were read from no file.
    """
    if not settings:
        return inputs
    if inputs.document is None:
        message = "settings are laid over a problem file, and these inputs have none"
        raise InputError(Finding("set", message, fix="change the dict or file itself"))
    now = inputs.document
    document = replace(now, marks=dict(now.marks))
    _apply_settings(document, settings)
    problem, settings = documents.validated(Problem, document), (*inputs.overrides, *settings)
    return _faultless(*joined(problem, document, settings, inputs.scenario))


def from_data(
    text: str, *, folder: Path = Path(), settings: Settings = (), scenario: str | None = None
) -> Inputs:
    """The inputs of a problem given as the text of a file in ``folder`` that does not exist.

    Raises:
        InputError: something is wrong with it; findings name no line of that file.
    """
    try:
        document = replace(documents.parse(text, ""), folder=folder)
        _apply_scenario(document, scenario)
        _apply_settings(document, settings)
        problem = documents.validated(Problem, document)
        inputs = _faultless(*joined(problem, document, settings, scenario))
    except InputError as error:
        nowhere = (replace(f, file=None, line=None) if not f.file else f for f in error.findings)
        raise InputError([*nowhere]) from None
    return replace(inputs, document=None)


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


def joined(
    problem: Problem,
    document: Document,
    settings: Settings = (),
    scenario: str | None = None,
) -> tuple[Inputs, list[Finding]]:
    """A problem with the catalogs and prices it names, and every finding about them."""
    offered, digests = _offered(problem, document)
    parts = [document.digest, *digests, scenario or "", *settings]
    inputs = Inputs(
        problem=problem,
        **offered,
        document=document,
        scenario=scenario,
        overrides=settings,
        sha256=hashlib.sha256("\n".join(parts).encode()).hexdigest(),
    )
    findings = check_problem(inputs)
    return replace(inputs, warnings=warnings_of(findings)), findings


def _faultless(inputs: Inputs, findings: list[Finding]) -> Inputs:
    if errors := [finding for finding in findings if finding.severity == "error"]:
        raise InputError(errors)
    return inputs


def _offered(problem: Problem, document: Document) -> tuple[dict[str, Any], list[str]]:
    """The fields of the inputs that catalogs and books fill; digests of these files."""
    known = shipped.catalog_files()
    if problem.catalogs is not None and not problem.catalogs:
        fix = "leave it out to use all shipped ones"
        place = document.place(("catalogs",))
        raise InputError(Finding("catalog", "the list is empty", *place, "catalogs", fix))
    named = _files(problem.catalogs or (), known, document, "catalogs", "catalog")
    catalogs = load_catalogs(named or list(known.values()))
    chosen = problem.prices or shipped.DEFAULT_PRICES
    chosen = chosen if isinstance(chosen, tuple) else (chosen,)
    paths = _files(chosen, shipped.price_files(), document, "prices", "price book")
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


def _files(
    names: Sequence[str], known: Mapping[str, Path], document: Document, key: str, what: str
) -> list[Path]:
    each = enumerate(names)
    return [documents.find(name, known, document, (key, at), what) for at, name in each]


# Scenarios and settings, laid over the data of a problem file.

CHOICES = {"policy", "maximize", "minimize"}
"""A mapping with one of these replaces the old one whole, whose rest belongs to its choice."""
_SCENARIO_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
_FILE_MARK = "@"
"""First letter of a setting that names a file of overrides."""
_ELSEWHERE = {PRICES: "price books", CATALOG: "catalogs"}
"""Files with the values of paths that only sweeps and draws take."""
_SET_FIX = "write for example --set site.facility_power='12 MW'"


class NoPathError(FixableError):
    """A path that leads nowhere."""


def _apply_scenario(document: Document, name: str | None) -> None:
    """Lay the named scenario over the document and remove the ``scenarios`` section.

    Raises:
        InputError: there is no such scenario, or one of them is malformed.
    """
    scenarios = document.data.pop("scenarios", {})
    parts = scenarios.items() if isinstance(scenarios, dict) else [("", None)]
    for key, part in parts:
        if not (isinstance(part, dict) and _SCENARIO_NAME.match(key)):
            message = "expected names of letters, digits, '_', '-', '.', each with a mapping"
            fix = "write for example half_power: {site: {facility_power: 5 MW}}"
            place = document.place(("scenarios", key))
            path = f"scenarios.{key}".rstrip(".")
            raise InputError(Finding("type", message, *place, path, fix))
    if name is None:
        return
    if name not in scenarios:
        hint = did_you_mean(name, list(scenarios))
        message = f"no scenario '{name}' (known: {', '.join(scenarios) or 'none'})"
        raise InputError(Finding("scenario", message, document.file, None, "scenarios", hint))
    _lay(document, scenarios[name], document, ("scenarios", name))


def _apply_settings(document: Document, settings: Settings) -> None:
    """Apply ``path=value`` settings of the command line, and files of them, in their order.

    Raises:
        InputError: a setting is no ``path=value``, or its path leads nowhere.
    """
    document.bare = document.data
    for setting in settings:
        if setting.startswith(_FILE_MARK):
            source = documents.read(Path(setting.removeprefix(_FILE_MARK)), "file of overrides")
            document.digest += source.digest
            _lay(document, source.data, source, ())
            continue
        origin = f"--set {clip(setting, 80)}"
        path, separator, text = setting.partition("=")
        if not separator or not path.strip():
            raise InputError(Finding("set", "not PATH=VALUE", origin, fix=_SET_FIX))
        value, before = documents.scalar(text, origin), document.data
        typed = _replace_value(document, path.strip().split("."), value, origin)
        for depth, step in enumerate(typed[:-1], start=1):
            before = before.get(step) if isinstance(before, dict) else before[step]
            if not isinstance(before, (dict, tuple)):
                typed = typed[:depth]  # parts made for the value come from it, too
                break
        document.replace_mark(typed, origin)


def _lay(document: Document, data: Mapping[str, Any], source: Document, prefix: DataPath) -> None:
    """Lay a mapping over the document; each value keeps the line of its own file."""
    for path, value in _leaves(data, ()):
        line = source.mark((*prefix, *path)) or 1
        steps = [part for step in path for part in str(step).split(".")]
        origin = f"{source.file}:{line}"
        typed = _replace_value(document, steps, value, origin)
        document.replace_mark(typed, line if source is document else origin)


def _leaves(data: Mapping[str, Any], path: DataPath) -> Iterator[tuple[DataPath, Any]]:
    for key, value in data.items():
        if isinstance(value, dict) and not CHOICES & value.keys():
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


def _replace_value(document: Document, steps: list[str], value: Any, origin: str) -> DataPath:
    """Replace the value at steps; return them with positions in lists as numbers."""
    whole = ".".join(steps)
    if not all(steps) or len(steps) > documents.MAX_DEPTH:
        raise InputError(Finding("set", f"'{whole[:80]}' is not a path", origin, fix=_SET_FIX))
    if len(steps) > 2 and steps[0] in _ELSEWHERE:
        message = f"'{whole[:80]}' belongs to {_ELSEWHERE[steps[0]]}, not to the problem"
        fix = "change a copy and name that, or try values: planner sweep --vary"
        raise InputError(Finding("set", message, origin, fix=fix))
    if len(steps) > 1 and (successor := setting_successor(steps)) is not None:
        message = f"the setting '{steps[-1]}' is gone"
        raise InputError(Finding("removed-setting", message, origin, None, whole, successor))
    try:
        document.data, path = _replaced(document.data, steps, value, whole)
    except NoPathError as error:
        raise InputError(Finding("set", str(error), origin, fix=error.fix)) from None
    return path


def _replaced(here: Any, steps: list[str], value: Any, whole: str) -> tuple[Any, DataPath]:
    """Data with the value at the steps, and these with positions in lists as numbers."""
    if not steps:
        return value, ()
    step, rest = steps[0], steps[1:]
    if isinstance(here, tuple):
        index = list_position(here, step, whole)
        new, path = _replaced(here[index], rest, value, whole)
        return (*here[:index], new, *here[index + 1 :]), (index, *path)
    # A mapping replaces a single value; the schema refuses it where it makes no sense.
    below = here if isinstance(here, dict) else {}
    new, path = _replaced(below.get(step), rest, value, whole)
    return {**below, step: new}, (step, *path)


def list_position(entries: Sequence[object], step: str, path: str) -> int:
    """The position of an entry of a list: a number, or the name of the entry.

    Raises:
        NoPathError: there is none.
    """
    names = [e.get("name") if isinstance(e, dict) else getattr(e, "name", None) for e in entries]
    if step.isascii() and step.isdigit() and len(step) < 9 and int(step) < len(entries):
        return int(step)
    if step in names:
        return names.index(step)
    known = [f"{index} ({name})" if name else f"{index}" for index, name in enumerate(names[:9])]
    fix = "its entries: " + (", ".join(known) or "none")
    raise NoPathError(f"'{path}': the list has no entry '{step[:60]}'", fix)
