"""Near-optimal plans on the screen: their figures, what they are, what was looked for."""

from __future__ import annotations

from collections.abc import Iterator

from planner.figures import OBJECTIVES
from planner.outputs.alternatives_words import (
    behind,
    bought,
    command,
    sentences,
    tolerance,
    units,
    what_it_is,
)
from planner.outputs.size_text import table
from planner.outputs.words import INDENT, millions, money, number, wrapped
from planner.schema.alternatives import Alternative, Alternatives

_FIRST = ("", "useful", "behind", "GPUs", "GPU", "storage", "capex", "TCO", "IT", "days to")
_SECOND = ("", "", "at most", "in use", "systems", "units", "MUSD", "MUSD", "kW", "train")


def render(found: Alternatives) -> str:
    """Return the whole screen, at most 100 columns wide."""
    title = f"{found.problem}  (plans within {tolerance(found)} of the best)"
    parts = [title]
    if found.message:
        parts.append("\n".join(wrapped(found.message)))
    if found.alternatives:
        parts += [_figures(found), _plans(found), _looked_for(found), _proof(found)]
    text = "\n\n".join(part for part in parts if part) + "\n"
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


def _figures(found: Alternatives) -> str:
    rows = [_FIRST, _second(found)]
    rows += [_row(place, each) for place, each in enumerate(found.alternatives, start=1)]
    shown = [index for index in range(len(_FIRST)) if _says_something(rows, index)]
    return "\n".join(table([[row[index] for index in shown] for row in rows], left=()))


def _says_something(rows: list[tuple[str, ...]], index: int) -> bool:
    return any(row[index] for row in rows[2:])


def _second(found: Alternatives) -> tuple[str, ...]:
    work = "PFLOP/s" if _pflops(found.alternatives[0]) is not None else "GPUs"
    return (_SECOND[0], work, *_SECOND[2:])


def _pflops(alternative: Alternative) -> float | None:
    return alternative.plan.jobs[0].useful_pflops


def _row(place: int, alternative: Alternative) -> tuple[str, ...]:
    plan, job = alternative.plan, alternative.plan.jobs[0]
    totals = plan.totals
    assert totals is not None
    work = job.useful_gpus if job.useful_pflops is None else job.useful_pflops
    return (
        f"{place}",
        number(work, 1),
        behind(alternative.shortfall),
        number(job.gpus_used),
        number(units(plan, "Compute")),
        number(units(plan, "Storage")),
        millions(totals.capex_usd),
        millions(totals.tco_usd),
        "" if totals.it_power_kw is None else number(totals.it_power_kw, 1),
        "" if job.days_to_train is None else number(job.days_to_train, 1),
    )


def _plans(found: Alternatives) -> str:
    lines: list[str] = []
    for place, each in enumerate(found.alternatives, start=1):
        text = f"{what_it_is(each)}: {bought(each.plan)}"
        lines += wrapped(text, f"{INDENT}{place}  ", f"{INDENT}   ")
        lines += _again(found, each) if place > 1 else []
    return "\n".join(["What they are", *lines])


def _again(found: Alternatives, alternative: Alternative) -> Iterator[str]:
    """Yield the command that shows a plan in full, whole, so that it can be copied."""
    text = command(found, alternative)
    if text is not None:
        yield f"{INDENT}     {text}"


def _looked_for(found: Alternatives) -> str:
    lines = [
        line for text in sentences(found) for line in wrapped(text, f"{INDENT}- ", f"{INDENT}  ")
    ]
    return "\n".join(["What was looked for", *lines]) if lines else ""


def _proof(found: Alternatives) -> str:
    assert found.bound is not None
    amount = money(found.bound) if found.unit == "USD" else f"{found.bound:,.2f} {found.unit}"
    better = "more" if found.sense == "maximize" else "less"
    text = (
        f"no plan has {OBJECTIVES[found.objective].label} of {better} than {amount}; 'behind' is "
        "measured from there. Every plan is verified by independent arithmetic. What is least or "
        "most is so among all plans within the tolerance."
    )
    return "\n".join(["Proof", *wrapped(text)])
