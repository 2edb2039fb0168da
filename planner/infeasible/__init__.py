"""Why a problem has no plan, and the least change that gives it one; all in whole numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from planner.case.resolve import why_excluded, why_not_wanted
from planner.infeasible.oracle import (
    Oracle,
    Threshold,
    UndecidedError,
    conflicts,
    given_up,
    minimal,
    move_together,
    off,
    share_of,
    threshold,
)
from planner.inputs import Inputs, applied
from planner.levers import Lever, levers
from planner.limits import BY_NAME
from planner.loader.checks import check_problem
from planner.optimizer.search import CONFLICT_WORK, REASONS_WORK, Effort
from planner.paths import job_path
from planner.schema.plan import Combined, Conflict, Infeasibility, Named, Step

__all__ = ["clash", "explain"]

_FACTS = (
    *("site.rack.", "storage.client_limit", "storage.fill_limit", "storage.max_families"),
    *map(job_path, ("checkpoint.stall", "checkpoint.local", "checkpoint.interval", "dataset")),
    *map(job_path, ("checkpoint.keep_last", "checkpoint.milestones", "checkpoint.exports")),
    *map(job_path, ("restore.restart", "repair.time", "repair.swap")),
)
"""Demands of the job and facts of the plant: blamed only where nothing else will do."""

_TOLD = 4
"""Changes of which it is told what asks for them."""
_SUPPLY = ("items.", "policy.", "consider.")
_BUDGETS = ("site.", "budget.")


def explain(
    inputs: Inputs,
    *,
    weights: Mapping[str, float] | None = None,
    keep: Sequence[str] = (),
    effort: Effort | None = None,
) -> Infeasibility:
    """Conflicting limits of a problem without a plan, and its least relaxations.

    Args:
        inputs: a problem that is known to have none.
        weights: cost of relaxing a limit among several, by path; 1 unless given.
        keep: paths that must not be changed.
        effort: work and time limit; ``REASONS_WORK`` holds in any case.
    """
    oracle = Oracle(inputs, (effort or Effort()).part(REASONS_WORK))
    everything = sorted(levers(inputs), key=_blame)
    free = [lever for lever in everything if lever.path not in keep]
    helped, undecided = _singles(oracle, free)
    clashes: list[tuple[Lever, ...]] = []
    combined = None
    try:
        clashes = conflicts(oracle, everything, free) if not undecided else []
    except UndecidedError:
        undecided.append("which limits cannot hold together")
    try:
        combined = _combined(oracle, free, clashes, weights or {}, helped)
    except UndecidedError:
        undecided.append("several limits together")
    because = [_blockers(oracle, everything, *each, undecided) for each in helped[:_TOLD]]
    because += [()] * len(helped[_TOLD:])
    changes = tuple(_step(*each, why) for each, why in zip(helped, because, strict=True))
    return Infeasibility(
        reasons=_reasons(oracle, everything),
        conflicts=tuple(Conflict(limits=tuple(map(_lever_name, each))) for each in clashes),
        changes=changes,
        combined=combined,
        undecided=tuple(undecided),
    )


def clash(inputs: Inputs) -> tuple[Lever, ...] | None:
    """Limits that cannot hold together, while all but any one can; None where cut."""
    oracle = Oracle(inputs, Effort(most_work=CONFLICT_WORK))
    try:
        return minimal(oracle, sorted(levers(inputs), key=_blame), ())
    except UndecidedError:
        return None


def _blockers(
    oracle: Oracle,
    everything: Sequence[Lever],
    lever: Lever,
    found: Threshold | None,
    undecided: list[str],
) -> tuple[Lever, ...]:
    """Limits that bind against a slightly smaller change."""
    if found is None or found.short is None:
        return ()
    others = [other for other in everything if other.path != lever.path]
    try:
        return minimal(oracle, others, lever.to(found.short))
    except UndecidedError:
        undecided.append(f"what asks for no smaller change of {lever.path}")
        return ()


def _blame(lever: Lever) -> int:
    """The key by which levers are sorted: those to blame last come first."""
    if not lever.stated:
        return 0
    ranks = ((_SUPPLY, 1), (_FACTS, 2), (_BUDGETS, 3))
    return next((rank for starts, rank in ranks if lever.path.startswith(starts)), 4)


def _singles(
    oracle: Oracle, everything: Sequence[Lever]
) -> tuple[list[tuple[Lever, Threshold | None]], list[str]]:
    """The levers that help alone, and the paths that were not decided."""
    helped: list[tuple[Lever, Threshold | None]] = []
    undecided: list[str] = []
    for lever in everything:
        possible = oracle.possible(lever.off)
        if possible is None:
            undecided.append(lever.path)
        if not possible or _is_endless(oracle.inputs, lever):
            continue
        try:
            found = threshold(oracle, lever) if lever.value is not None else None
        except UndecidedError:
            undecided.append(lever.path)
            continue
        if found is not None or lever.value is None:
            helped.append((lever, found))
    helped.sort(key=lambda entry: (_blame(entry[0]) < 3, share_of(*entry)))
    return helped, undecided


def _is_endless(inputs: Inputs, lever: Lever) -> bool:
    """True if nothing would limit the purchase without a choice: no problem to propose."""
    if lever.value is not None:
        return False
    found = check_problem(applied(inputs, lever.off))
    return any(finding.code == "unbounded" for finding in found)


def _combined(
    oracle: Oracle,
    free: Sequence[Lever],
    clashes: Sequence[Sequence[Lever]],
    weights: Mapping[str, float],
    helped: Sequence[tuple[Lever, Threshold | None]],
) -> Combined | None:
    """The change of several that is smaller than every change of one, if there is one."""
    singles = (weights.get(entry[0].path, 1.0) * share_of(*entry) for entry in helped)
    blamed = [] if helped else [given_up(each, free) for each in clashes]
    choices = [lever for lever in blamed if lever is not None and lever.value is None]
    found = move_together(oracle, free, weights, min(singles, default=math.inf), choices)
    if found is None or len(found.moved) < 2:
        return None
    return Combined(
        steps=tuple(_step(lever, limit) for lever, limit in found.moved),
        weighted=found.weighted,
        bound=found.bound,
    )


def _lever_name(lever: Lever) -> Named:
    text = "" if lever.value is None else lever.text(lever.value)
    limit = BY_NAME.get(lever.limit)
    if limit is not None and limit.file_unit == "number" and limit.unit not in lever.label:
        text = f"{text} {limit.unit}"  # the file has it in the name of the key
    return Named(
        path=lever.path, label=lever.label, text=text, source=lever.place, stated=lever.stated
    )


def _step(lever: Lever, found: Threshold | None, because: Sequence[Lever] = ()) -> Step:
    """A lever moved to its threshold, or a choice given up, and the limits that ask for no less."""
    least, short = (None, None) if found is None else found
    return Step(
        path=lever.path,
        label=lever.label,
        source=lever.place,
        unit="" if least is None else lever.unit,
        value=None if least is None else lever.value,
        least=least,
        not_enough=short,
        from_text="" if least is None or lever.value is None else lever.text(lever.value),
        to_text="" if least is None else lever.text(least),
        not_enough_text="" if short is None else lever.text(short),
        what=lever.choice if least is None else "",
        settings=tuple(c.setting for c in (lever.off if least is None else lever.to(least))),
        because=tuple(_lever_name(other) for other in because),
    )


def _reasons(oracle: Oracle, everything: Sequence[Lever]) -> tuple[str, ...]:
    """Causes that no limit can remove, such as no product on offer."""
    reasons: list[str] = []
    case = oracle.case(())
    if case is None:
        return ()
    for offers, kind, what in (
        (case.systems, "gpu_system", "GPU system"),
        (case.storage, "storage", "storage item"),
    ):
        if not offers:
            reasons.append(f"no {what} is on offer: {_reason_left_out(oracle.inputs, kind)}")
    if oracle.possible(off(everything)) is False:
        reasons.append("even without any of its limits the problem has no plan")
    return tuple(reasons)


def _reason_left_out(inputs: Inputs, kind: str) -> str:
    """Reasons why products of a kind are left out, those with the same reason together.

    Those that the problem does not want come last.
    """
    names: dict[str, list[str]] = {}
    for item in sorted(inputs.items, key=lambda i: why_not_wanted(i, inputs.problem) or ""):
        reason = why_excluded(item, inputs) if item.category == kind else None
        if reason is not None:
            names.setdefault(reason, []).append(item.id)
    reasons = (f"{', '.join(skus)}: {reason}" for reason, skus in names.items())
    return "; ".join(reasons) or "the catalogs hold none"
