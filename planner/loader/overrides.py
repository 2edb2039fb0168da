"""Overrides: ``--set`` and scenarios over a file, and checked changes of validated inputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner.errors import Finding, InputError, clip, did_you_mean
from planner.inputs import Change, Document, Inputs, applied
from planner.loader import locate, yaml12
from planner.loader.catalog_checks import check_family, check_item
from planner.loader.checks import check_problem
from planner.paths import CATALOG, PRICES, DataPath, dotted
from planner.schema.base import CANONICAL
from planner.schema.catalog import Source
from planner.schema.problem import Problem

CHOICES = {"policy", "maximize", "minimize"}
"""A mapping with one of these replaces the old one whole, whose rest belongs to its choice."""
SCENARIO_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
FILE_MARK = "@"
"""A setting that begins with it names a file of overrides."""

ELSEWHERE = {PRICES: "price books", CATALOG: "catalogs"}
"""Files with the values of paths that only sweeps and draws take."""

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
        origin = f"--set {clip(setting, 80)}"
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
    """The position meant by ``step``: a number, or the name of a list's entry."""
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
    """Number of steps through mappings and lists that stay."""
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
    """Steps as a data path: positions in lists are numbers."""
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
    _refuse(_field_faults(new), changes)
    _refuse(_catalog_faults(inputs, new), changes)
    findings = check_problem(new)
    _refuse((finding for finding in findings if finding.severity == "error"), changes)
    doubts = tuple(f"{f.path}: {f.message}" for f in findings if f.severity == "warning")
    return replace(new, warnings=doubts)


def _field_faults(inputs: Inputs) -> list[Finding]:
    """Findings of the rules between the fields of a problem."""
    document = inputs.document or Document("", {})
    data = inputs.problem.model_dump(exclude_unset=True, by_alias=True)
    try:
        Problem.model_validate(data, context=CANONICAL)
    except ValidationError as error:
        return locate.findings(error, replace(document, data=data), Problem)
    return []


def _catalog_faults(old: Inputs, new: Inputs) -> Iterator[Finding]:
    """Faults of items and families that the changes brought in."""
    cited = _Cited()  # changes are of values, never of sources
    before, after = _faults_of(old, new, cited), _faults_of(new, old, cited)
    for name, faults in after.items():
        for message, fix, part in faults:
            if (message, fix, part) not in before[name]:
                yield Finding("catalog", message, None, None, f"{CATALOG}.{name}.{part}", fix)


def _faults_of(
    inputs: Inputs, other: Inputs, cited: Mapping[str, Source]
) -> dict[str, list[tuple[str, str | None, str]]]:
    """Faults by id of the items and families that are not the same in other inputs."""
    items, families = inputs.by_id, {family.id: family for family in inputs.families}
    same = {id(part) for part in (*other.items, *other.families)}
    found = {
        family.id: list(check_family(family, cited, items))
        for family in inputs.families
        if id(family) not in same
    }
    found |= {
        item.id: list(check_item(item, cited, items, families))
        for item in inputs.items
        if id(item) not in same
    }
    return found


class _Cited(dict[str, Source]):
    """Sources of which every one is listed."""

    def __contains__(self, name: object) -> bool:
        return True


def _refuse(findings: Iterable[Finding], changes: Sequence[Change]) -> None:
    if blamed := [_blamed(finding, changes) for finding in findings]:
        raise InputError(blamed)


def _blamed(finding: Finding, changes: Sequence[Change]) -> Finding:
    """A finding at the changes that caused it, if any did, instead of at a line."""
    path = f"{finding.path}."
    about = [c for c in changes if f"{c.path}.".startswith(path) or path.startswith(f"{c.path}.")]
    if not about:
        return finding
    text = clip(", ".join(change.setting for change in about), _CLIP)
    return replace(finding, file=f"with {text}", line=None)
