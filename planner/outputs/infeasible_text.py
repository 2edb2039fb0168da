"""Why there is no plan, and what would give one: the screen, and one line of it."""

from __future__ import annotations

from collections.abc import Iterator

from planner.outputs.comparison_words import listed
from planner.outputs.words import INDENT, UNDECIDED, percent, wrapped
from planner.schema.infeasibility import Combined, Conflict, Infeasibility, Step

_MOST_NAMED = 3
"""Changes named in one line; the screen has them all."""

_MORE = f"{INDENT}{INDENT}"


def message(found: Infeasibility) -> str:
    """Return an explanation as one line."""
    parts = list(found.reasons) or ["no plan meets every limit"]
    for conflict in found.conflicts:
        names = [limit.said for limit in conflict.limits]
        if len(names) == 1:
            parts.append(f"{names[0]} cannot be met")
        else:
            parts.append(f"{listed(names)} cannot hold together")
    if found.changes:
        more = len(found.changes) - _MOST_NAMED
        told = ", or ".join(_short(step) for step in found.changes[:_MOST_NAMED])
        rest = f" ({more} more ways)" if more > 0 else ""
        parts.append(f"there is a plan if you {told}{rest}")
    elif found.combined is not None:
        told = " and ".join(_short(step) for step in found.combined.steps)
        parts.append(f"there is a plan if you {told}")
    if found.undecided:
        parts.append(f"{UNDECIDED}: {', '.join(found.undecided)}")
    return "; ".join(parts)


def _short(step: Step) -> str:
    return step.said.removeprefix(f"{step.label}: ").split("; ")[0]


def explanation(found: Infeasibility) -> str:
    """Return the explanation in paragraphs."""
    parts = [_reasons(found), *(_conflict(one) for one in found.conflicts)]
    parts += [_changes(found.changes), _combined(found), _undecided(found)]
    return "\n\n".join(part for part in parts if part)


def _reasons(found: Infeasibility) -> str:
    return "\n".join(line for reason in found.reasons for line in wrapped(reason, ""))


def conflict_title(count: int) -> str:
    """Return what is said of so many limits that cannot hold together."""
    if count == 1:
        return "Cannot be met, whatever is bought"
    if count == 2:
        return "Cannot hold together, though either could be met without the other"
    return "Cannot hold together, though any of them could be met without the others"


def _conflict(conflict: Conflict) -> str:
    names = [limit.said for limit in conflict.limits]
    return "\n".join(
        [conflict_title(len(names)), *(line for name in names for line in _item(name))]
    )


def _item(text: str) -> list[str]:
    return wrapped(text, f"{INDENT}- ", f"{INDENT}  ")


def _changes(changes: tuple[Step, ...]) -> str:
    if not changes:
        return ""
    title = "Any one of these changes gives a plan"
    if len(changes) == 1:
        title = "This change gives a plan"
    return "\n".join([title, *(line for step in changes for line in _change(step))])


def _change(step: Step) -> Iterator[str]:
    yield from _item(step.said)
    if step.because:
        asks = listed([f"{limit.label} {limit.text}".rstrip() for limit in step.because])
        yield from wrapped(f"no smaller change, because of {asks}", _MORE, _MORE)
    if step.value is None:
        settings = " ".join(f"--set {setting!r}" for setting in step.settings)
        yield from wrapped(settings, _MORE, _MORE)


def _combined(found: Infeasibility) -> str:
    combined = found.combined
    if combined is None:
        return ""
    title = "These changes together give a plan"
    if found.changes:
        title = "A smaller change of several limits together gives a plan, too"
    lines = [title, *(line for step in combined.steps for line in _change(step))]
    return "\n".join([*lines, *wrapped(combined_proof(combined))])


def combined_proof(combined: Combined) -> str:
    """Return how small a change of several is proven to be."""
    if combined.weighted is None or combined.bound is None:
        return "each is as small as it can be with the others; another choice may be smaller in sum"
    return (
        f"together {percent(combined.weighted)} of change, each counted as a share of its limit; "
        f"proven: no changes of limits add up to less than {percent(combined.bound)}"
    )


def _undecided(found: Infeasibility) -> str:
    if not found.undecided:
        return ""
    return "\n".join(wrapped(f"{UNDECIDED}: {', '.join(found.undecided)}", ""))
