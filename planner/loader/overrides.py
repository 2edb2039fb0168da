"""Overrides: ``--set`` and scenarios over a file, and checked changes of validated inputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner.errors import Finding, InputError, clip, did_you_mean
from planner.inputs import Change, Document, Inputs, applied, root_of
from planner.loader import documents, yaml12
from planner.loader.catalogs import check_family, check_item
from planner.loader.checks import check_problem
from planner.loader.places import NoPlaceError, list_position
from planner.paths import CATALOG, PRICES, DataPath
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
    parts = scenarios.items() if isinstance(scenarios, dict) else [("", None)]
    for key, part in parts:
        place = document.place(("scenarios", key))
        if not isinstance(part, dict):
            message = "expected names, each with a mapping of overrides"
            fix = "write for example half_power: {site: {facility_power: 5 MW}}"
            path = f"scenarios.{key}".rstrip(".")
            raise InputError(Finding("type", message, *place, path, fix))
        if not SCENARIO_NAME.match(key):
            message = f"the name {key[:40]!r} cannot be part of a file name"
            fix = "use letters, digits, '_', '-' and '.'"
            raise InputError(Finding("scenario", message, *place, "scenarios", fix))
    if name is None:
        return
    if name not in scenarios:
        hint = did_you_mean(name, list(scenarios))
        message = f"no scenario '{name}' (known: {', '.join(scenarios) or 'none'})"
        raise InputError(Finding("scenario", message, document.file, None, "scenarios", hint))
    _lay(document, scenarios[name], document, ("scenarios", name))


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


def _lay(document: Document, data: Mapping[str, Any], source: Document, prefix: DataPath) -> None:
    """Lay a mapping over the document; each value keeps the line of its own file."""
    for path, value in _leaves(data, ()):
        line = source.line((*prefix, *path)) or 1
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


def _depth(data: Any, path: DataPath) -> int:
    """Number of first steps of a path that lead through mappings and lists."""
    for depth, step in enumerate(path[:-1]):
        data = data.get(step) if isinstance(data, dict) else data[step]
        if not isinstance(data, (dict, tuple)):
            return depth
    return len(path) - 1


def _put(document: Document, steps: list[str], value: Any, origin: str) -> DataPath:
    """Replace the value at steps; return them with positions in lists as numbers."""
    whole = ".".join(steps)
    if not all(steps) or len(steps) > yaml12.MAX_DEPTH:
        raise InputError(Finding("set", f"'{whole[:80]}' is not a path", origin, fix=SET_FIX))
    if len(steps) > 2 and steps[0] in ELSEWHERE:
        message = f"'{whole[:80]}' belongs to {ELSEWHERE[steps[0]]}, not to the problem"
        fix = "change a copy and name that, or try values: planner sweep --vary"
        raise InputError(Finding("set", message, origin, fix=fix))
    try:
        document.data, path = _replaced(document.data, steps, value, whole)
    except NoPlaceError as error:
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


# Changes of validated inputs.


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
    findings = _field_faults(new) or _catalog_faults(changes, new) or check_problem(new)
    if wrong := [_blamed(f, changes) for f in findings if f.severity == "error"]:
        raise InputError(wrong)
    return replace(new, warnings=tuple(f"{f.path}: {f.message}" for f in findings))


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
    names = {name for root, name in (root_of(change.path) for change in changes) if root == CATALOG}
    items, found = inputs.by_id, []
    for family in (each for each in inputs.families if each.id in names):
        found += [(family.id, *fault) for fault in check_family(family, None, items)]
    families = {family.id: family for family in inputs.families}
    for name in sorted(names & {*items}):
        found += [(name, *fault) for fault in check_item(items[name], None, items, families)]
    return [
        Finding("catalog", message, path=f"{CATALOG}.{name}.{part}", fix=fix)
        for name, message, fix, part in found
    ]


def _blamed(finding: Finding, changes: tuple[Change, ...]) -> Finding:
    """A finding at the changes that caused it, if any did, instead of at a line."""
    path = f"{finding.path}."
    about = [c for c in changes if f"{c.path}.".startswith(path) or path.startswith(f"{c.path}.")]
    if not about:
        return finding
    text = clip(", ".join(change.setting for change in about), 160)
    return replace(finding, file=f"with {text}", line=None)
