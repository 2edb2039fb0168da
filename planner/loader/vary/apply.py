"""Making inputs of changes, and whether values that are put in together may be together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ValidationError

from planner.errors import Finding, InputError
from planner.inputs import Change, Document, Inputs, changed, with_support
from planner.loader import locate
from planner.loader.catalog_checks import Fault, check_family, check_item
from planner.loader.checks import check_problem
from planner.loader.vary.place import CATALOG, PRICES
from planner.schema.base import CANONICAL, with_field
from planner.schema.catalog import Figure, Source
from planner.schema.prices import Price
from planner.schema.problem import Problem

Parts = dict[str, list[Change]]


def applied(inputs: Inputs, changes: Iterable[Change], *, recorded: bool = False) -> Inputs:
    """Return the inputs with changes made, to the problem, to catalogs and to prices.

    Nothing is checked: see ``checked``. A figure of a catalog keeps its source and confidence.

    Args:
        recorded: whether plans made of them record the changes in their provenance.
    """
    changes = tuple(changes)
    items: Parts = defaultdict(list)
    prices: Parts = defaultdict(list)
    for change in changes:
        root, name = _outside(change.path)
        if root:
            (items if root == CATALOG else prices)[name].append(change)
        else:
            inputs = changed(inputs, change.path, change.value)
    if items:
        inputs = _with_figures(inputs, items)
    if prices:
        new = {name: _priced(inputs.prices[name], made) for name, made in prices.items()}
        inputs = replace(inputs, prices={**inputs.prices, **new})
        if any("support_level" in change.path for change in changes):
            inputs = with_support(inputs)
    settings = tuple(change.setting for change in changes) if recorded else ()
    return replace(inputs, overrides=(*inputs.overrides, *settings))


def _priced(price: Price, changes: Iterable[Change]) -> Price:
    """Return a price with values replaced; a sum that is stated is no sum of parts any more."""
    changed_price: Price = _with_all(price, changes)
    sums = [each.path.split(".")[2] for each in changes if each.path.count(".") == 2]
    stated = [name for name in sums if name in _SUMS]
    if not price.parts or not stated or vars(changed_price) == vars(price):
        return changed_price
    note = f"{' and '.join(stated).replace('_', ' ')} set for this run, not built of parts"
    return with_field(with_field(changed_price, "parts", ()), "note", note)


_SUMS = ("list", "low", "high", "per_year", "per_year_low", "per_year_high")
"""What is added up where a price has parts."""


@lru_cache(maxsize=4096)
def _outside(path: str) -> tuple[str, str]:
    """Return whether a path is one of a catalog or of prices, and of what; else nothing.

    The problem's own have two steps.
    """
    steps = path.split(".", 2)
    inside = len(steps) < 3 or steps[0] not in (CATALOG, PRICES)
    return ("", "") if inside else (steps[0], steps[1])


def _with_figures(inputs: Inputs, changes: Parts) -> Inputs:
    """Return the inputs with items and families changed; an item goes before a family."""
    items = {item.id: item for item in inputs.items}
    families = {family.id: family for family in inputs.families}
    for name, made in changes.items():
        if name in items:
            items[name] = _with_all(items[name], made)
        else:
            families[name] = _with_all(families[name], made)
    alike = changes.keys() <= items.keys()  # then families stay the same object, which tells so
    of_families = inputs.families if alike else tuple(families.values())
    return replace(inputs, items=tuple(items.values()), families=of_families)


def _with_all(part: Any, changes: Iterable[Change]) -> Any:
    for change in changes:
        part = _with(part, change.path.split(".")[2:], change)
    return part


def _with(here: Any, steps: list[str], change: Change) -> Any:
    """Return a part of a catalog or price with the value at ``steps`` replaced."""
    if not steps:
        return with_field(here, "value", change.value) if isinstance(here, Figure) else change.value
    step, rest = steps[0], steps[1:]
    if isinstance(here, tuple) and step.isdigit() and int(step) < len(here):
        index = int(step)
        return (*here[:index], _with(here[index], rest, change), *here[index + 1 :])
    if isinstance(here, Mapping) and step in here:
        return {**here, step: _with(here[step], rest, change)}
    name = _field_of(type(here), step) if isinstance(here, BaseModel) else None
    if name is None:
        raise KeyError(change.path)
    return with_field(here, name, _with(getattr(here, name), rest, change))


@lru_cache(maxsize=4096)
def _field_of(model: type[BaseModel], step: str) -> str | None:
    """Return the field of a model that a step of a path names, None where it has none."""
    fields = model.model_fields.items()
    return next((name for name, field in fields if step in (field.alias, name)), None)


_CLIP = 160


def checked(inputs: Inputs, changes: Iterable[Change], *, recorded: bool = False) -> Inputs:
    """Return the inputs with changes made, as reading them from files would check them.

    Args:
        changes: what to change, in this order, each value as its own field takes it.
        recorded: whether plans made of them record the changes in their provenance.

    Raises:
        InputError: the values do not go together.
    """
    changes = tuple(changes)
    new = applied(inputs, changes, recorded=recorded)
    _refuse(_mismatches(new), changes)
    _refuse(_catalog_faults(inputs, new), changes)
    findings = check_problem(new)
    _refuse((finding for finding in findings if finding.severity == "error"), changes)
    doubts = tuple(f"{f.path}: {f.message}" for f in findings if f.severity == "warning")
    return replace(new, warnings=doubts)


def _mismatches(inputs: Inputs) -> list[Finding]:
    """Return what is wrong with a problem by the rules between its fields."""
    document = inputs.document or Document("", {})
    data = inputs.problem.model_dump(exclude_unset=True, by_alias=True)
    try:
        Problem.model_validate(data, context=CANONICAL)
    except ValidationError as error:
        return locate.findings(error, replace(document, data=data), Problem)
    return []


def _catalog_faults(old: Inputs, new: Inputs) -> Iterable[Finding]:
    """Yield what is wrong with items and families that was not wrong before."""
    items, old_items = ({item.id: item for item in each.items} for each in (new, old))
    families, old_families = ({part.id: part for part in each.families} for each in (new, old))
    cited = _Cited()  # a change is of a value, never of what it is cited from
    for item in new.items:
        if item is old_items[item.id]:
            continue
        if faults := list(check_item(item, cited, items, families)):
            known = set(check_item(old_items[item.id], cited, old_items, old_families))
            yield from _brought(item.id, faults, known)
    for family in new.families:
        if family is old_families[family.id]:
            continue
        if faults := list(check_family(family, cited, items)):
            known = set(check_family(old_families[family.id], cited, old_items))
            yield from _brought(family.id, faults, known)


class _Cited(dict[str, Source]):
    """Sources of which every one is listed."""

    def __contains__(self, name: object) -> bool:
        return True


def _brought(name: str, faults: Iterable[Fault], known: set[Fault]) -> Iterable[Finding]:
    for fault in faults:
        message, fix, part = fault
        if fault not in known:
            yield Finding("catalog", message, None, None, f"{CATALOG}.{name}.{part}", fix)


def _refuse(findings: Iterable[Finding], changes: Sequence[Change]) -> None:
    blamed = [_blamed(finding, changes) for finding in findings]
    if blamed:
        raise InputError(blamed)


def _blamed(finding: Finding, changes: Sequence[Change]) -> Finding:
    """Return a finding at the changes that caused it, if any did, instead of at a line."""
    path = f"{finding.path}."
    about = [c for c in changes if f"{c.path}.".startswith(path) or path.startswith(f"{c.path}.")]
    if not about:
        return finding
    text = ", ".join(change.setting for change in about)
    clipped = text if len(text) <= _CLIP else text[: _CLIP - 3] + "..."
    return replace(finding, file=f"with {clipped}", line=None)
