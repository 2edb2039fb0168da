"""Why this plan: what holds it, what one more unit is worth, why nothing else; or why none."""

from __future__ import annotations

from collections.abc import Iterator

from planner.figures import OBJECTIVES, RATIOS
from planner.outputs import console, why_text
from planner.outputs.blocks import FirstScreen, join_parts
from planner.outputs.scope import decided_lines
from planner.outputs.why_text import holds, signed, small, worth
from planner.outputs.words import (
    INDENT,
    counted,
    gives_away,
    listed,
    money,
    product,
    ratio,
    so_many,
    wrapped,
)
from planner.schema.explanation import Explanation, Marginal
from planner.schema.infeasibility import UNDECIDED
from planner.terminal import STANDARD, width

_LABEL, _NOW, _CELL = 24, 9, 30


def render(found: Explanation) -> str:
    """Return the whole text, at most as many columns as the terminal has wide."""
    if not found.plan.jobs:
        return console.render(found.plan)
    parts = [_title(found), _table(found), _without(found), console.standing_idle(found.plan)]
    parts += [*_next(found), _idle(found), why_text.whose_quote(found.plan)]
    if found.why_not is not None:
        parts.append(why_text.render(found.why_not).rstrip("\n"))
    if found.undecided:
        parts.append("\n".join(wrapped(f"{UNDECIDED}: {', '.join(found.undecided)}", "")))
    return join_parts(parts)


_MOST_HELD, _MOST_MORE, _MOST_LEVERS, _MOST_FREE = 3, 3, 3, 5


def first(found: Explanation) -> FirstScreen:
    """Return what one page says: the plan, what holds it, what else counts, what was not taken."""
    if not found.plan.jobs or found.value is None:
        return FirstScreen(entire=True)
    binding = [row for row in found.marginals if row.binding]
    also = [row for row in found.marginals if holds(found, row) and not row.binding]
    also.sort(key=lambda row: -_weight(row))
    idle = len(found.marginals) - len(binding) - len(also)
    why = found.why_not
    asked = [item for item in why.items if item.asked] if why is not None else []
    options = found.plan.storage_options
    answer = [
        ("Plan", _bought(found)),
        ("Binds", _binds(found, binding)),
        ("Counts", "; ".join(_gains(found, row) for row in also[:_MOST_MORE])),
        ("Levers", _levers(found)),
        ("Instead", _instead(found)),
        ("Prices", "" if options is None else why_text.decided(found.plan, options)),
        ("Idle", f"{counted(idle, 'limit')} could move a step and nothing would change: "
         f"{listed(_idle_names(found))}" if idle else ""),
    ]  # fmt: skip
    if why is not None:
        answer[1:1] = [
            ("Why not", f"{item.model}: {' '.join(why_text.details(why, item))}") for item in asked
        ]
    notes = [f"{UNDECIDED}: {', '.join(found.undecided)}"] if found.undecided else []
    bound = found.plan.objective.bound
    better = "more than" if found.plan.objective.sense == "maximize" else "less than"
    proof = () if bound is None else (f"no plan has {better} {_amount(found, bound)}",)
    many = 0 if why is None else len(why.items)
    full = (
        f"every limit, {counted(len(found.without), 'lever')}, "
        if found.without
        else ("every limit, ")
    )
    full += f"plans side by side, why not each of {counted(many, 'item')}"
    return FirstScreen(_named(found), tuple(answer), notes=tuple(notes), proof=proof, full=full)


def _named(found: Explanation) -> str:
    plan = found.plan
    scenario = plan.provenance.scenario
    return f"Why this plan: {plan.problem}" + (f", scenario {scenario}" if scenario else "")


def _bought(found: Explanation) -> str:
    """Return GPU systems and storage by name, and what they are worth."""
    value = found.plan.objective.value
    assert value is not None
    units = [so_many(line.working, product(line)) for line in decided_lines(found.plan)]
    text, goal = f"{listed(units)}: {_amount(found, value)}", found.plan.objective
    if gives_away(goal) and goal.best is not None:
        text += f"; all below is against the best, {_amount(found, goal.best)}"
    return text


def _weight(row: Marginal) -> float:
    """Return how much the larger of the two steps changes; where no plan is left, without end."""
    moves = (row.looser, row.tighter)
    if any(moved.known == "no_plan" for moved in moves):
        return float("inf")
    return max(abs(moved.change or 0.0) for moved in moves)


def _binds(found: Explanation, binding: list[Marginal]) -> str:
    """Return what binds with what a step of it does, and where more of it begins to pay."""
    held = [row for row in binding if holds(found, row)]
    idle = [row.label for row in binding if not holds(found, row)]
    left = len(held) - _MOST_HELD
    texts = [_held(found, row) for row in held[:_MOST_HELD]]
    texts += [f"{left} more"] if left > 0 else []
    if idle:
        one = len(idle) == 1
        also = f" {'binds' if one else 'bind'}, too" if texts else ""
        step = f"a step of {'it' if one else 'them'} changes nothing"
        texts.append(f"{listed(idle)}{also}, but {step}")
    return "; ".join(texts) or "no limit"


def _held(found: Explanation, row: Marginal) -> str:
    moves = [f"{m.to_text}: {worth(found, m)}" for m in (row.looser, row.tighter)
             if m.known != "at_its_end"]  # fmt: skip
    words = ", ".join(moves)
    text = f"{row.label} at {row.text}" + (f" ({words})" if words else "")
    step = row.next_step
    return text if step is None else f"{text}; a better plan begins at {step.to_text}"


def _gains(found: Explanation, row: Marginal) -> str:
    """Return what a step of a limit gives; what it takes where it cannot give."""
    gives = row.looser.known in ("at_its_end", "no_limit_helps") or not row.looser.change
    moved = row.tighter if gives else row.looser
    return f"{row.label} {moved.to_text} instead of {row.text}: {worth(found, moved)}"


def _levers(found: Explanation) -> str:
    changes = sorted(
        (row for row in found.without if row.change is None or not small(found, row.change)),
        key=lambda row: -(float("inf") if row.change is None else abs(row.change)),
    )
    texts = [
        f"{row.label}: {'no plan' if row.change is None else signed(found, row.change)}"
        for row in changes[:_MOST_LEVERS]
    ]
    return "; ".join(texts) or ("none is worth anything" if found.without else "")


def _instead(found: Explanation) -> str:
    """Return what else does as well, and how far the rest is behind."""
    why = found.why_not
    if why is None or why.plan is None:
        return ""
    rows = [row for row in why.forced if row.figures is not None and row.loss is not None]
    alike = [row for row in rows if (row.loss or 0.0) <= why.tie]
    worse = sorted((row for row in rows if row not in alike), key=lambda row: row.loss or 0.0)
    texts = [f"as good: {listed([row.label for row in alike])}"] if alike else []
    shown = worse[:_MOST_MORE] + worse[_MOST_MORE:][-1:]
    rivals = [f"{row.label} {why_text.difference(why, row)}" for row in shown]
    return "; ".join([*texts, *([f"behind: {', '.join(rivals)}"] if rivals else [])])


def _idle_names(found: Explanation) -> list[str]:
    names = [row.label for row in found.marginals if not holds(found, row) and not row.binding]
    left = len(names) - _MOST_FREE
    return [*names[:_MOST_FREE], *([f"{left} more"] if left > 0 else [])]


def _without(found: Explanation) -> str:
    """Return what the objective is without each lever of the problem."""
    if not found.without:
        return ""
    lines = ["What its levers are worth: the best plan with each left out or moved"]
    for row in found.without:
        text = "no plan"
        if row.change is not None:
            text = "no change" if small(found, row.change) else signed(found, row.change)
        lines.append(f"{INDENT}{row.label:<32}{text:<24}--set '{row.setting}'")
    return "\n".join(lines)


def _title(found: Explanation) -> str:
    plan = found.plan
    counts = ", ".join(f"{line.working:,} {line.model}" for line in decided_lines(plan))
    goal = plan.objective
    assert goal.value is not None
    lines = [_named(found), *wrapped(f"{counts}: {_amount(found, goal.value)}")]
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
