"""Why there is no plan, and what would give one: the screen."""

from __future__ import annotations

from collections.abc import Iterator

from planner.outputs.comparison_words import listed
from planner.outputs.words import INDENT, percent, wrapped
from planner.schema.infeasibility import UNDECIDED, Combined, Conflict, Infeasibility, Step

_MORE = f"{INDENT}{INDENT}"


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
