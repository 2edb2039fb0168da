"""Figures, changes and lists as the texts of comparisons state them."""

from __future__ import annotations

from collections.abc import Sequence

from planner import currency
from planner.outputs.words import duration, in_money, money, product, quantity
from planner.schema.plan import NextStep, Plan, StepNeed
from planner.schema.verification import Breach

_BY_ITSELF = ("USD", "USD/year", "s", "share", "")
"""Units that a figure brings along; all others stand with the label."""


def titled(label: str, unit: str) -> str:
    """Return a label with its unit, where neither the figures nor the label tell it."""
    told = unit in _BY_ITSELF or unit.casefold() in label.casefold()
    return label if told else f"{label}, {in_money(unit)}"


def valued(value: float | str, unit: str) -> str:
    """Return a figure with its unit, as a sentence states it."""
    text = write_figure(value, unit)
    return text if isinstance(value, str) or unit in _BY_ITSELF else f"{text} {in_money(unit)}"


def write_figure(value: float | str | None, unit: str) -> str:
    """Return a figure as a table shows it, a dash where there is none."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value or "-"
    if unit in ("USD", "USD/year"):
        return money(value)
    if unit == "s":
        return duration(value)
    if unit == "share":
        return f"{100 * value:,.2f} %" if abs(value) >= 1e-3 else f"{100 * value:.2g} %"
    return plain(currency.shown().of(value), in_money(unit)) if "USD" in unit else plain(value)


def plain(value: float, unit: str = "") -> str:
    """Return a number with as many digits as its size asks for, grouped as its unit has it."""
    size = abs(value)
    if 0 < size < 0.01:
        return f"{value:.3g}"
    digits = 0 if float(value).is_integer() or size >= 10_000 else 1 if size >= 100 else 2
    return currency.grouped(value, digits, unit)


def changed_by(change: float | None, unit: str) -> str:
    """Return a change with its sign, a dash where there is none to tell; shares in points."""
    if change is None:
        return "-"
    if change == 0:
        return "="
    size = write_figure(abs(change), unit)
    if unit == "share":
        size = size.removesuffix(" %") + " pt"
    return f"{'+' if change > 0 else '-'}{size}"


def relative(share: float) -> str:
    """Return the size of a relative difference, with more digits the smaller it is."""
    size = abs(share)
    digits = 1 if size >= 0.01 else 2 if size >= 0.001 else 3 if size >= 5e-6 else 4
    return f"{100 * size:,.{digits}f} %"


def signed(share: float | None) -> str:
    """Return a relative difference with its sign, a dash where there is none to tell."""
    if share is None:
        return "-"
    return "0 %" if abs(share) < 5e-7 else f"{'+' if share > 0 else '-'}{relative(share)}"


def listed(words: Sequence[str]) -> str:
    """Return words as a sentence lists them."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def breach_text(breach: Breach) -> str:
    """Return what a plan reaches of a limit that it breaks, and by how much that is too far."""
    value = "not known" if breach.value is None else quantity(breach.value, breach.unit)
    bound, far = ("at most", "much") if breach.sense == "<=" else ("at least", "little")
    over = "" if breach.over is None else f", {quantity(breach.over, breach.unit)} too {far}"
    return f"{breach.label}: {value}, allowed {bound} {quantity(breach.limit, breach.unit)}{over}"


def fitted(text: str, width: int) -> str:
    """Return a text cut to a width."""
    return text if len(text) <= width else text[: width - 1] + "…"


def next_step(plan: Plan, step: NextStep) -> str:
    """Return what the fewest GPU systems more that the job can use would need and give."""
    goal = plan.objective
    models = {line.sku: product(line) for line in plan.lines}
    gain = step.value - (goal.value or 0.0)
    amount = money(gain) if goal.unit == "USD" else f"{gain:,.3g} {goal.unit}"
    needs = listed([_need(need) for need in step.needs])
    return f"{step.systems:,} {models[step.sku]} more would need {needs} and give {amount}"


def _need(need: StepNeed) -> str:
    value = quantity(need.value, need.unit)
    return value if need.unit == "racks" else f"{value} of {need.label}"
