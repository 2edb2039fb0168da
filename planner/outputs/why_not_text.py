"""Why not something else, on the screen: plans side by side, and every item left aside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.figures import OBJECTIVES
from planner.outputs.why_not_words import (
    details,
    difference,
    enters,
    price_today,
    verdict,
)
from planner.outputs.words import (
    INDENT,
    UNDECIDED,
    millions,
    number,
    percent,
    wrapped,
)
from planner.schema.why_not import Figures, Forced, Item, WhyNot
from planner.terminal import STANDARD, width

_GROUPS = {
    "storage_vendor": "Another storage vendor",
    "gpu_type": "Another GPU system",
    "storage_rule": "Storage sized by another rule",
}
_LABEL, _NAME, _VERDICT = 26, 28, 43
_HEADERS = ("against", "GPUs", "storage", "capex M", "TCO M", "IT kW", "days")
_WIDTHS = (_LABEL, 8, 9, 8, 8, 8, 8, 9, 7)
_KINDS = ("as_good", "open", "worse", "no_plan", "left_out")


def render(why: WhyNot) -> str:
    """Return the whole text, at most 100 columns wide."""
    if why.message or why.plan is None:
        parts = ["\n".join(wrapped(why.message or "", ""))]
    else:
        parts = [*_asked(why), _side_by_side(why, why.plan), _items(why), *_notes(why)]
    text = "\n\n".join(part for part in parts if part) + "\n"
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


def _asked(why: WhyNot) -> Iterator[str]:
    """Yield each answer to what was asked for."""
    for item in why.items:
        if item.asked:
            lines = [line for text in details(why, item) for line in wrapped(text)]
            yield "\n".join([f"Why not {item.model} ({item.sku})", *lines])


def _side_by_side(why: WhyNot, plan: Figures) -> str:
    title = (
        f"Side by side with the plan; 'against' is the change in {OBJECTIVES[why.objective].label}"
    )
    work = "useful" if plan.useful_pflops is None else "PFLOP/s"
    lines = [title, _row(("", work, *_HEADERS)), _row(("this plan", *_cells(plan, "")))]
    group = ""
    for row in why.forced:
        if row.kind != group:
            group = row.kind
            lines.append(f"{INDENT}{_GROUPS[group]}")
        lines.append(_forced(why, row))
    return "\n".join(lines)


def _forced(why: WhyNot, row: Forced) -> str:
    if row.outcome == "as_is":
        return f"{INDENT}  {_cut(row.label, _LABEL - 2):<{_LABEL - 2}}  the plan as it is"
    if row.figures is None:
        reason = row.reason or UNDECIDED
        text = f"{INDENT}  {_cut(row.label, _LABEL - 2):<{_LABEL - 2}}  {reason}"
        return _cut(text, max(STANDARD, width()))
    return _row((f"  {row.label}", *_cells(row.figures, difference(why, row))))


def _cells(figures: Figures, against: str) -> tuple[str, ...]:
    """Return the figures of a plan: useful PFLOP/s where known, else useful GPUs."""
    work = figures.useful_gpus if figures.useful_pflops is None else figures.useful_pflops
    return (
        number(work, 1 if work < 1000 else 0),
        against,
        number(figures.gpus_used),
        number(figures.appliances),
        millions(figures.capex_usd),
        millions(figures.tco_usd),
        "" if figures.it_power_kw is None else number(figures.it_power_kw, 1),
        "" if figures.days_to_train is None else number(figures.days_to_train, 1),
    )


def _row(cells: Sequence[str]) -> str:
    first = f"{_cut(cells[0], _LABEL):<{_LABEL}}"
    rest = (cell.rjust(width) for cell, width in zip(cells[1:], _WIDTHS[1:], strict=True))
    return f"{INDENT}{first}{' '.join(rest)}".rstrip()


def _items(why: WhyNot) -> str:
    if not why.items:
        return ""
    lines = ["Not in the plan", _entry("", "the best plan with it", "price today", "enters at")]
    order = sorted(why.items, key=lambda item: (_KINDS.index(item.kind), item.at_least or 0.0))
    lines += [
        _entry(item.sku, verdict(why, item), price_today(item), enters(item)) for item in order
    ]
    return "\n".join(lines)


def _entry(name: str, text: str, price: str, entering: str) -> str:
    left = f"{_cut(name, _NAME):<{_NAME}} "
    if not price and not entering:
        return (
            f"{INDENT}{left}{_cut(text, max(STANDARD, width()) - len(INDENT) - len(left))}".rstrip()
        )
    return f"{INDENT}{left}{_cut(text, _VERDICT):<{_VERDICT}} {price:>11} {entering:>13}".rstrip()


def _notes(why: WhyNot) -> Iterator[str]:
    notes = [
        "'At least' is a bound that no plan passes; the other figures belong to plans that were "
        "found and proven. Prices are for one unit after discount, in USD: at 'enters at' a plan "
        "with the item is as good as this one, and half a percent above that none is.",
    ]
    if why.tie > 1e-5:
        notes.append(
            f"Plans within {percent(why.tie, 3)} of the best count as equally good "
            "(objective.indifference): then the cheaper one is taken."
        )
    if any(_waits(item) for item in why.items):
        notes.append("What is not told or not computed: ask for it with --why-not ITEM.")
    yield "\n".join(line for note in notes for line in wrapped(note))


def _waits(item: Item) -> bool:
    price = item.break_even
    open_price = (
        price is not None
        and price.outcome == "not_computed"
        and "--why-not" in (price.reason or "")
    )
    return item.kind == "open" or open_price


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
