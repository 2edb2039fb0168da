"""Why this plan: what holds it, what one more unit is worth, why nothing else; or why none."""

from __future__ import annotations

from collections.abc import Iterator

from planner.figures import OBJECTIVES, RATIOS
from planner.outputs import console, rivals_text, why_not_text
from planner.outputs.blocks import joined
from planner.outputs.words import INDENT, money, ratio, wrapped
from planner.outputs.worth_words import holds, signed, worth
from planner.schema.explanation import Explanation, Marginal
from planner.schema.infeasibility import UNDECIDED
from planner.terminal import STANDARD, width

SAME = 5e-6
"""A share of the objective that counts as no change."""
_LABEL, _NOW, _CELL = 24, 9, 30


def render(found: Explanation) -> str:
    """Return the whole text, at most as many columns as the terminal has wide."""
    if not found.plan.jobs:
        return console.render(found.plan)
    parts = [_title(found), _table(found), _without(found), console.standing_idle(found.plan)]
    parts += [*_next(found), _idle(found), rivals_text.whose_quote(found.plan)]
    if found.why_not is not None:
        parts.append(why_not_text.render(found.why_not).rstrip("\n"))
    if found.undecided:
        parts.append("\n".join(wrapped(f"{UNDECIDED}: {', '.join(found.undecided)}", "")))
    return joined(parts)


def _without(found: Explanation) -> str:
    """Return what the objective is without each lever of the problem."""
    if not found.without:
        return ""
    lines = ["What its levers are worth: the best plan with each left out or moved"]
    for row in found.without:
        said = "no plan"
        if row.change is not None:
            small = abs(row.change) <= SAME * abs(found.value or 1.0)
            said = "no change" if small else signed(found, row.change)
        lines.append(f"{INDENT}{row.label:<32}{said:<24}--set '{row.setting}'")
    return "\n".join(lines)


def _title(found: Explanation) -> str:
    plan = found.plan
    name = plan.problem
    if plan.provenance.scenario is not None:
        name = f"{name}, scenario {plan.provenance.scenario}"
    counts = ", ".join(
        f"{line.working:,} {line.model}"
        for line in plan.lines
        if line.parent is None and line.section in ("Compute", "Storage") and line.working
    )
    goal = plan.objective
    assert goal.value is not None
    lines = [f"Why this plan: {name}", *wrapped(f"{counts}: {_amount(found, goal.value)}")]
    if goal.bound is not None:
        better = "more than" if goal.sense == "maximize" else "less than"
        lines += wrapped(f"no plan has {better} {_amount(found, goal.bound)}")
    return "\n".join(lines)


def _amount(found: Explanation, value: float) -> str:
    """Return a value of the objective with its unit."""
    name = found.plan.objective.name
    if name in RATIOS:
        return f"{ratio(value)} as the {OBJECTIVES[name].label}"
    if found.plan.objective.unit == "USD":
        return f"{money(value)} of {OBJECTIVES[name].counted}"
    return f"{value:,.2f} {OBJECTIVES[name].counted}"


def _table(found: Explanation) -> str:
    rows = [row for row in found.marginals if holds(found, row) or row.binding]
    if found.value is None:
        return ""
    if not rows:
        return "What holds it\n" + f"{INDENT}no limit: a step of any of them changes nothing"
    counted = OBJECTIVES[found.plan.objective.name].counted
    title = f"What holds it, and what one step of it is worth in {counted}"
    lines = [title, _row("", "now", "a step looser", "a step tighter")]
    for row in rows:
        mark = "* " if row.binding else "  "
        lines.append(_row(mark + row.label, row.text, _move(found, row, 1), _move(found, row, -1)))
    if any(row.binding for row in rows):
        lines.append(
            f"{INDENT}* binds: no room is left there, though a step may be too small to pay"
        )
    return "\n".join(lines)


def _move(found: Explanation, row: Marginal, way: int) -> str:
    moved = row.looser if way > 0 else row.tighter
    if moved.known == "at_its_end":
        return "-"
    return f"{moved.to_text}: {worth(found, moved, unit=False)}"


def _row(label: str, now: str, looser: str, tighter: str) -> str:
    cells = f"{_cut(label, _LABEL):<{_LABEL}} {now:>{_NOW}}  {looser:<{_CELL}} {tighter}"
    return (INDENT + cells).rstrip()[: max(STANDARD, width())]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _next(found: Explanation) -> Iterator[str]:
    """Yield where loosening what binds begins to pay."""
    lines = []
    for row in found.marginals:
        step = row.next_step
        if step is not None:
            asked = OBJECTIVES[found.plan.objective.name]
            better = "better" if asked.sense == "maximize" else "cheaper"
            if asked.sense == "minimize" and not asked.figure.money:
                better = "more frugal"
            gain = signed(found, step.gain).lstrip("+")
            text = (
                f"{row.label}: a plan {better} by {gain} or more begins at {step.to_text}; at "
                f"{step.short_text} there is none"
            )
            lines += wrapped(text)
    if lines:
        yield "\n".join(["Where it begins to pay", *lines])


def _idle(found: Explanation) -> str:
    rows = [row for row in found.marginals if not holds(found, row) and not row.binding]
    if not rows:
        return ""
    names = ", ".join(f"{row.label} {row.text}" for row in rows)
    title = "What does not hold it: a step either way changes nothing"
    return "\n".join([title, *wrapped(names)])
