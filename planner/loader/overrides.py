"""Changes laid over a problem before it is validated: ``--set`` and named scenarios."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.errors import Finding, InputError, did_you_mean
from planner.inputs import Document
from planner.loader import yaml12
from planner.paths import DataPath, dotted

CHOICES = {"policy", "maximize", "minimize"}
"""A mapping with one of these replaces the old one whole, whose rest belongs to its choice."""
SCENARIO_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
FILE_MARK = "@"
"""A setting that begins with it names a file of overrides."""

ELSEWHERE = {"prices": "price books", "catalog": "catalogs"}
"""Where the values stand whose paths, of three steps at least, sweeps and draws take."""

SET_FIX = "write for example --set site.facility_power='12 MW'"


def apply_scenario(document: Document, name: str | None) -> None:
    """Lay the named scenario over the document and remove the ``scenarios`` section."""
    scenarios = document.data.pop("scenarios", {})
    _check_shape(document, scenarios)
    if name is None:
        return
    if name not in scenarios:
        hint = did_you_mean(name, list(scenarios))
        known = ", ".join(scenarios) or "none"
        message = f"no scenario '{name}' (known: {known})"
        raise InputError(Finding("scenario", message, document.file, None, "scenarios", hint))
    _lay(document, scenarios[name], document, ("scenarios", name))


def _lay(document: Document, data: Mapping[str, Any], source: Document, prefix: DataPath) -> None:
    """Lay a mapping over the document; every value remembers the line it stands in."""
    for path, value in _leaves(data, ()):
        line = source.line((*prefix, *path)) or source.line(prefix)
        steps = [part for step in path for part in str(step).split(".")]
        _must_be_path(steps, f"{source.file}:{line}")
        _put(document, steps, value, f"{source.file}:{line}")
        typed = tuple(_typed(steps, document.data))
        if source is document:
            document.lines[typed] = line or 1
        else:
            document.origins[typed] = f"{source.file}:{line or 1}"


def _check_shape(document: Document, scenarios: Any) -> None:
    wrong: list[DataPath] = [("scenarios",)]
    if isinstance(scenarios, dict):
        wrong = [("scenarios", name) for name in scenarios if not isinstance(scenarios[name], dict)]
    for path in wrong:
        message = "expected names, each with a mapping of overrides"
        fix = "write for example half_power: {site: {facility_power: 5 MW}}"
        place = document.file, document.line(path), dotted(path)
        raise InputError(Finding("type", message, *place, fix))
    for name in scenarios:
        if not SCENARIO_NAME.match(name):
            message = f"the name {name[:40]!r} would not do as part of a file name"
            fix = "use letters, digits, '_', '-' and '.'"
            place = document.file, document.line(("scenarios", name)), "scenarios"
            raise InputError(Finding("scenario", message, *place, fix))


def _leaves(data: Mapping[str, Any], path: DataPath) -> list[tuple[DataPath, Any]]:
    result: list[tuple[DataPath, Any]] = []
    for key, value in data.items():
        below = (*path, key)
        merges = isinstance(value, dict) and not CHOICES & value.keys()
        result += _leaves(value, below) if merges else [(below, value)]
    return result


def apply_settings(document: Document, settings: tuple[str, ...]) -> None:
    """Apply ``path=value`` settings of the command line, and files of them, in their order."""
    for setting in settings:
        if setting.startswith(FILE_MARK):
            source = yaml12.read(Path(setting.removeprefix(FILE_MARK)), yaml12.OVERRIDES)
            _lay(document, source.data, source, ())
            continue
        origin = f"--set {setting if len(setting) <= 80 else setting[:77] + '...'}"
        path, separator, text = setting.partition("=")
        if not separator or not path.strip():
            raise InputError(Finding("set", "not PATH=VALUE", origin, fix=SET_FIX))
        steps = path.strip().split(".")
        _must_be_path(steps, origin)
        kept = _kept(steps, document.data, origin)
        _put(document, steps, yaml12.scalar(text, origin), origin)
        typed = _typed(steps, document.data)[: kept + 1]
        for known in [p for p in document.lines if p[: len(typed)] == typed]:
            del document.lines[known]
        document.origins[typed] = origin


def _must_be_path(steps: list[str], origin: str) -> None:
    dotted = ".".join(steps)[:80]
    if not all(steps) or len(steps) > yaml12.MAX_DEPTH:
        raise InputError(Finding("set", f"'{dotted}' is not a path", origin, fix=SET_FIX))
    if len(steps) > 2 and steps[0] in ELSEWHERE:
        message = f"'{dotted}' stands in {ELSEWHERE[steps[0]]}, not in the problem"
        fix = "change a copy and name that, or try values: planner sweep --vary"
        raise InputError(Finding("set", message, origin, fix=fix))


def _put(document: Document, steps: list[str], value: Any, origin: str) -> None:
    """Replace the value at ``steps``; lists are copied so that nothing is shared."""
    document.data = _replaced(document.data, steps, value, ".".join(steps), origin)


def _replaced(here: Any, steps: list[str], value: Any, dotted: str, origin: str) -> Any:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(here, tuple):
        index = _index(here, step, dotted, origin)
        return (
            *here[:index],
            _replaced(here[index], rest, value, dotted, origin),
            *here[index + 1 :],
        )
    # A single value gives way to a mapping; the schema says where that makes no sense.
    below = dict(here) if isinstance(here, dict) else {}
    below[step] = _replaced(below.get(step), rest, value, dotted, origin)
    return below


def _index(items: tuple[Any, ...], step: str, dotted: str, origin: str) -> int:
    """Return the position meant by ``step``: a number, or the name of a list's entry."""
    if step.isascii() and step.isdigit() and len(step) < 9 and int(step) < len(items):
        return int(step)
    for index, item in enumerate(items):
        if isinstance(item, dict) and item.get("name") == step:
            return index
    names = [item.get("name") if isinstance(item, dict) else None for item in items]
    known = [f"{index} ({name})" if name else f"{index}" for index, name in enumerate(names[:9])]
    message = f"'{dotted}': the list has no entry '{step}'"
    fix = "its entries: " + (", ".join(known) or "none")
    raise InputError(Finding("set", message, origin, fix=fix))


def _kept(steps: list[str], data: Any, origin: str) -> int:
    """Return how many steps lead through mappings and lists that stay what they are."""
    here = data
    for count, step in enumerate(steps[:-1]):
        if isinstance(here, tuple):
            here = here[_index(here, step, ".".join(steps), origin)]
        elif isinstance(here, dict):
            here = here.get(step)
        if not isinstance(here, (dict, tuple)):
            return count
    return len(steps) - 1


def _typed(steps: list[str], data: Any) -> DataPath:
    """Return ``steps`` as a data path: positions in lists become numbers."""
    path: list[str | int] = []
    here = data
    for step in steps:
        if isinstance(here, tuple):
            index = _index(here, step, ".".join(steps), "")
            path.append(index)
            here = here[index]
        else:
            path.append(step)
            here = here.get(step) if isinstance(here, dict) else None
    return tuple(path)
