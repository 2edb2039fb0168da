"""Overrides: ``--set`` and scenarios over a file, and checked changes of validated inputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner.errors import Finding, InputError, clip, did_you_mean
from planner.inputs import Change, Document, Inputs, applied, root_of
from planner.loader import documents, yaml12
from planner.loader.catalogs import check_family, check_item
from planner.loader.checks import check_problem
from planner.paths import CATALOG, PRICES, DataPath, dotted
from planner.schema.base import CANONICAL
from planner.schema.problem import Problem

CHOICES = {"policy", "maximize", "minimize"}
"""A mapping with one of these replaces the old one whole, whose rest belongs to its choice."""
SCENARIO_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
FILE_MARK = "@"
"""First letter of a setting that names a file of overrides."""

ELSEWHERE = {PRICES: "price books", CATALOG: "catalogs"}
"""Files with the values of paths that only sweeps and draws take."""

SET_FIX = "write for example --set site.facility_power='12 MW'"


def apply_scenario(document: Document, name: str | None) -> None:
    """Lay the named scenario over the document and remove the ``scenarios`` section.

    Raises:
        InputError: there is no such scenario, or one of them is malformed.
    """
    scenarios = document.data.pop("scenarios", {})
    _check_scenarios(document, scenarios)
    if name is None:
        return
    if name not in scenarios:
        hint = did_you_mean(name, list(scenarios))
        message = f"no scenario '{name}' (known: {', '.join(scenarios) or 'none'})"
        raise InputError(Finding("scenario", message, document.file, None, "scenarios", hint))
    _lay(document, scenarios[name], document, ("scenarios", name))


def _check_scenarios(document: Document, scenarios: Any) -> None:
    names = list(scenarios) if isinstance(scenarios, dict) else [None]
    for name in names:
        path: DataPath = ("scenarios",) if name is None else ("scenarios", name)
        place = document.file, document.line(path), dotted(path[: 1 + (name is not None)])
        if name is None or not isinstance(scenarios[name], dict):
            message = "expected names, each with a mapping of overrides"
            fix = "write for example half_power: {site: {facility_power: 5 MW}}"
            raise InputError(Finding("type", message, *place, fix))
        if not SCENARIO_NAME.match(name):
            message = f"the name {name[:40]!r} cannot be part of a file name"
            fix = "use letters, digits, '_', '-' and '.'"
            raise InputError(Finding("scenario", message, *place[:2], "scenarios", fix))


def _lay(document: Document, data: Mapping[str, Any], source: Document, prefix: DataPath) -> None:
    """Lay a mapping over the document; each value keeps the line of its own file."""
    for path, value in _leaves(data, ()):
        line = source.line((*prefix, *path)) or source.line(prefix) or 1
        steps = [part for step in path for part in str(step).split(".")]
        origin = f"{source.file}:{line}"
        typed = _put(document, steps, value, origin)
        if source is document:
            document.lines[typed] = line
        else:
            document.origins[typed] = origin


def _leaves(data: Mapping[str, Any], path: DataPath) -> Iterator[tuple[DataPath, Any]]:
    for key, value in data.items():
        if isinstance(value, dict) and not CHOICES & value.keys():
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


def apply_settings(document: Document, settings: tuple[str, ...]) -> None:
    """Apply ``path=value`` settings of the command line, and files of them, in their order.

    Raises:
        InputError: a setting is no ``path=value``, or its path leads nowhere.
    """
    for setting in settings:
        if setting.startswith(FILE_MARK):
            source = yaml12.read(Path(setting.removeprefix(FILE_MARK)), yaml12.OVERRIDES)
            _lay(document, source.data, source, ())
            continue
        origin = f"--set {clip(setting, 80)}"
        path, separator, text = setting.partition("=")
        if not separator or not path.strip():
            raise InputError(Finding("set", "not PATH=VALUE", origin, fix=SET_FIX))
        before = document.data
        typed = _put(document, path.strip().split("."), yaml12.scalar(text, origin), origin)
        typed = typed[: _depth(before, typed) + 1]  # parts made for the value come from it, too
        document.lines = {p: n for p, n in document.lines.items() if p[: len(typed)] != typed}
        document.origins[typed] = origin


def _depth(data: Any, path: DataPath) -> int:
    """Number of first steps of a path that lead through mappings and lists."""
    for depth, step in enumerate(path[:-1]):
        data = data.get(step) if isinstance(data, dict) else data[step]
        if not isinstance(data, (dict, tuple)):
            return depth
    return len(path) - 1


def _put(document: Document, steps: list[str], value: Any, origin: str) -> DataPath:
    """Replace the value at steps; return them with positions in lists as numbers."""
    dotted_path = ".".join(steps)
    if not all(steps) or len(steps) > yaml12.MAX_DEPTH:
        raise InputError(Finding("set", f"'{dotted_path[:80]}' is not a path", origin, fix=SET_FIX))
    if len(steps) > 2 and steps[0] in ELSEWHERE:
        message = f"'{dotted_path[:80]}' belongs to {ELSEWHERE[steps[0]]}, not to the problem"
        fix = "change a copy and name that, or try values: planner sweep --vary"
        raise InputError(Finding("set", message, origin, fix=fix))
    path: list[str | int] = []

    def replaced(here: Any, rest: list[str]) -> Any:
        if not rest:
            return value
        if isinstance(here, tuple):
            index = _index(here, rest[0], dotted_path, origin)
            path.append(index)
            return (*here[:index], replaced(here[index], rest[1:]), *here[index + 1 :])
        path.append(rest[0])
        # A mapping replaces a single value; the schema refuses it where it makes no sense.
        below = dict(here) if isinstance(here, dict) else {}
        below[rest[0]] = replaced(below.get(rest[0]), rest[1:])
        return below

    document.data = replaced(document.data, steps)
    return tuple(path)


def _index(items: tuple[Any, ...], step: str, dotted_path: str, origin: str) -> int:
    """The position of ``step``: a number, or the name of a list's entry."""
    names = [item.get("name") if isinstance(item, dict) else None for item in items]
    if step.isascii() and step.isdigit() and len(step) < 9 and int(step) < len(items):
        return int(step)
    if step in names:
        return names.index(step)
    known = [f"{index} ({name})" if name else f"{index}" for index, name in enumerate(names[:9])]
    message = f"'{dotted_path}': the list has no entry '{step}'"
    fix = "its entries: " + (", ".join(known) or "none")
    raise InputError(Finding("set", message, origin, fix=fix))


# Changes of validated inputs.

_CLIP = 160
"""Characters of the changes in a message."""


def checked(inputs: Inputs, changes: Iterable[Change], *, recorded: bool = False) -> Inputs:
    """Inputs with changes made, checked as if read from files.

    Args:
        inputs: validated inputs.
        changes: in this order, each value as its field takes it.
        recorded: whether plans record the changes in their provenance.

    Raises:
        InputError: the values do not go together.
    """
    changes = tuple(changes)
    new = applied(inputs, changes, recorded=recorded)
    findings: list[Finding] = []
    for check in (_field_faults, partial(_catalog_faults, changes), check_problem):
        findings = check(new)
        if wrong := [_blamed(f, changes) for f in findings if f.severity == "error"]:
            raise InputError(wrong)
    doubts = tuple(f"{f.path}: {f.message}" for f in findings)
    return replace(new, warnings=doubts)


def _field_faults(inputs: Inputs) -> list[Finding]:
    """Findings of the rules between the fields of a problem."""
    document = inputs.document or Document("", {})
    data = inputs.problem.model_dump(exclude_unset=True, by_alias=True)
    try:
        Problem.model_validate(data, context=CANONICAL)
    except ValidationError as error:
        return documents.findings(error, replace(document, data=data), Problem)
    return []


def _catalog_faults(changes: tuple[Change, ...], inputs: Inputs) -> list[Finding]:
    """Faults of changed items and families; changes are of values, never of sources."""
    roots = [root_of(change.path) for change in changes]
    names = {name for root, name in roots if root == CATALOG}
    items, families = inputs.by_id, {family.id: family for family in inputs.families}
    faults = [(n, check_family(families[n], None, items)) for n in sorted(names & {*families})]
    faults += [(n, check_item(items[n], None, items, families)) for n in sorted(names & {*items})]
    return [
        Finding("catalog", message, None, None, f"{CATALOG}.{name}.{part}", fix)
        for name, found in faults
        for message, fix, part in found
    ]


def _blamed(finding: Finding, changes: tuple[Change, ...]) -> Finding:
    """A finding at the changes that caused it, if any did, instead of at a line."""
    path = f"{finding.path}."
    about = [c for c in changes if f"{c.path}.".startswith(path) or path.startswith(f"{c.path}.")]
    if not about:
        return finding
    text = clip(", ".join(change.setting for change in about), _CLIP)
    return replace(finding, file=f"with {text}", line=None)
