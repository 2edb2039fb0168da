"""Whether values that are put in together may be together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from pydantic import ValidationError

from planner.errors import Finding, InputError
from planner.loader import locate
from planner.loader.catalog_checks import Fault, check_family, check_item
from planner.loader.change import Change
from planner.loader.checks import check_problem
from planner.loader.inputs import Inputs
from planner.loader.vary.apply import applied
from planner.loader.vary.place import CATALOG
from planner.loader.yaml12 import Document
from planner.schema.base import CANONICAL
from planner.schema.problem import Problem

_CLIP = 160


def checked(inputs: Inputs, changes: Iterable[Change], *, told: bool = False) -> Inputs:
    """Return the inputs with changes made, as reading them from files would check them.

    Args:
        inputs: validated inputs.
        changes: what to change, in this order, each value as its own field takes it.
        told: whether plans made of them tell the changes in their provenance.

    Raises:
        InputError: the values do not go together.
    """
    changes = tuple(changes)
    new = applied(inputs, changes, told=told)
    _refuse(_mismatches(new), changes)
    _refuse(_catalog_faults(inputs, new), changes)
    findings = check_problem(new)
    _refuse((finding for finding in findings if finding.severity == "error"), changes)
    doubts = tuple(f"{f.path}: {f.message}" for f in findings if f.severity == "warning")
    return replace(new, warnings=doubts)


def needs_checking(path: str) -> bool:
    """Say whether a value may contradict another one, so that it has to be checked with them.

    A plain limit or figure contradicts nothing: only whether it is given matters.
    """
    return not _is_plain(path)


def check_key(changes: Iterable[Change]) -> tuple[tuple[str, str], ...]:
    """Return what decides whether changes go together: where it is equal, one check will do."""
    return tuple(
        (change.path, repr(change.value is None if _is_plain(change.path) else change.value))
        for change in changes
    )


_PLAIN = (
    "site.facility_power", "site.it_power", "site.racks", "site.pue", "site.pue.*",
    "site.feeds.power", "site.rack.power", "site.rack.weight", "site.rack.whole_rack_power",
    "site.rack_classes.*", "site.cooling.*_limit", "budget.*", "term.*",
    "storage.delivered_fraction.*", "storage.fill_limit", "storage.tolerate_down",
    "storage.client_limit.*", "storage.rule", "storage.rule.*", "items.*.support_years",
    "jobs.*.checkpoint.max_overlap", "jobs.*.checkpoint.max_blocking",
    "jobs.*.checkpoint.drain_slowdown", "jobs.*.checkpoint.keep_last",
    "jobs.*.checkpoint.milestones", "jobs.*.restore.max_time", "jobs.*.restore.restart",
    "jobs.*.failures", "jobs.*.failures.*", "jobs.*.gpus.hot_spares", "jobs.*.dataset",
    "jobs.*.ingest_per_gpu", "network.*.oversubscription", "spares.*", "policy.split.*.max_share",
    "objective.indifference", "targets.min_useful_pflops", "targets.max_lead_time",
    "catalog.*.consumes.*", "catalog.*.provides.read", "catalog.*.provides.write",
    "catalog.*.provides.usable", "catalog.*.provides.endurance", "catalog.*.client.*",
    "catalog.*.client_factor.*", "catalog.*.gpu.failures_per_day", "prices.*.list",
    "prices.*.per_year", "prices.*.support_*", "prices.*.pack", "prices.*.min_order",
    "prices.*.lead_time",
)  # fmt: skip


@lru_cache(maxsize=4096)
def _is_plain(path: str) -> bool:
    from fnmatch import fnmatchcase

    return any(fnmatchcase(path, pattern) for pattern in _PLAIN)


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
    for item in new.items:
        if item is not old_items[item.id]:
            faults = check_item(item, {}, items, families)
            known = set(check_item(old_items[item.id], {}, old_items, old_families))
            yield from _brought(item.id, faults, known)
    for family in new.families:
        if family is not old_families[family.id]:
            known = set(check_family(old_families[family.id], {}, old_items))
            yield from _brought(family.id, check_family(family, {}, items), known)


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
    """Return a finding at the changes it is about, where it is about any, not at a line."""
    path = f"{finding.path}."
    about = [c for c in changes if f"{c.path}.".startswith(path) or path.startswith(f"{c.path}.")]
    if not about:
        return finding
    text = ", ".join(change.setting for change in about)
    shown = text if len(text) <= _CLIP else text[: _CLIP - 3] + "..."
    return replace(finding, file=f"with {shown}", line=None)
