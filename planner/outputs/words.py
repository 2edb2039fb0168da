"""Numbers as people read them."""

from __future__ import annotations

import textwrap

from planner import currency
from planner.figures import OBJECTIVES
from planner.schema.plan import Line, ObjectiveReport, Plan
from planner.terminal import width

INDENT = "  "

NETWORKS = {
    "compute": "compute fabric",
    "storage": "storage fabric",
    "converged": "storage and in-band fabric",
    "in_band": "in-band network",
    "out_of_band": "out-of-band network",
}
"""What a plan's networks are called."""

DAY_S, HOUR_S, MINUTE_S = 86_400.0, 3600.0, 60.0


def wrapped(text: str, first: str = INDENT, rest: str = INDENT) -> list[str]:
    """Return a text in lines that fit the screen; a number stays with its percent sign."""
    whole = text.replace(" %", "\u00a0%")  # which the wrapper does not take for a space
    lines = textwrap.wrap(whole, width(), initial_indent=first, subsequent_indent=rest)
    return [line.replace("\u00a0", " ") for line in lines]


def number(value: float | None, digits: int = 0) -> str:
    """Return a number with thousands separators, or 'not known'."""
    return "not known" if value is None else f"{value:,.{digits}f}"


def ratio(usd: float) -> str:
    """Return money per useful work, which is small, with digits that tell plans apart."""
    return f"{currency.shown().of(usd):.4g} {currency.shown().code}"


def money(usd: float | None) -> str:
    """Return an amount of USD in the currency shown, in thousands or millions of it."""
    return currency.short(usd)


def in_money(unit: str) -> str:
    """Return a unit of money, such as MUSD or USD/year, in the currency shown."""
    return currency.shown().named(unit)


def millions(usd: float | None) -> str:
    """Return an amount in millions, or the large unit of its currency, for tables that say so."""
    money = currency.shown()
    return "" if usd is None else money.written(money.of(usd) / money.large[0], 2)


def in_millions(text: str) -> str:
    """Return the head of a column of `millions`, written with MUSD, in the currency shown."""
    return text.replace("MUSD", currency.shown().large[1])


def duration(seconds: float) -> str:
    """Return a time span in the unit that suits it."""
    for size, unit in ((DAY_S, "days"), (HOUR_S, "h"), (MINUTE_S, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.1f} s"


def too_low(understated: float, by: str = "by") -> str | None:
    """Return the note on a goodput that a slowdown makes too low by so much, None where no digit
    that is shown would change."""
    if understated < 5e-5:
        return None
    return (
        f"goodput is too low {by} {100 * understated:.2g} points: drains slow the GPUs, but not in "
        "the first interval after a restart"
    )


def days(count: float) -> str:
    """Return a number of days, whole weeks as weeks."""
    return f"{count / 7:,.0f} weeks" if count >= 14 and count % 7 == 0 else f"{count:,.0f} days"


def product(line: Line) -> str:
    """Return manufacturer and model, without naming the manufacturer twice."""
    named = line.model.casefold().startswith(line.vendor.casefold())
    return line.model if named else f"{line.vendor} {line.model}"


def so_many(count: int, name: str) -> str:
    """Return units with their name, set apart where that begins with a number itself."""
    return f"{count:,}{' x' if name[:1].isdigit() else ''} {name}"


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent."""
    return f"{100 * share:.{digits}f} %"


def gap(share: float | None) -> str:
    """Return a gap, or what is given away, as percent; small ones by their power of ten."""
    if share is None:
        return "no bound"
    return "0 %" if share == 0 else f"{100 * share:.2g} %"


def small_share(share: float) -> str:
    """Return a share in percent as a person writes it: never with a power of ten."""
    if share == 0:
        return "0 %"
    if abs(share) < 1e-5:
        return "less than 0.001 %"
    digits = 1 if abs(share) >= 0.01 else 2 if abs(share) >= 1e-3 else 3
    return f"{100 * share:.{digits}f} %"


def size(gigabytes: float) -> str:
    """Return a data size in GB, TB or PB."""
    for scale, unit in ((1e6, "PB"), (1e3, "TB")):
        if gigabytes >= scale:
            return f"{gigabytes / scale:,.2f} {unit}"
    return f"{gigabytes:,.1f} GB"


COUNTED = {
    "systems": "system",
    "units": "unit",
    "racks": "rack",
    "families": "family",
    "types": "type",
}


def quantity(value: float, unit: str) -> str:
    """Return a value with a plan's unit."""
    if unit == "share":
        return percent(value)
    if unit in ("USD", "USD/year"):
        return money(value) + ("/year" if unit == "USD/year" else "")
    if unit == "s":
        return duration(value)
    if value == 1 and unit in COUNTED:
        unit = COUNTED[unit]
    if "USD" in unit:
        value, unit = currency.shown().of(value), in_money(unit)
    digits = 0 if float(value).is_integer() else 1 if abs(value) >= 100 else 2
    return f"{currency.grouped(value, digits, unit)} {unit}"


STATUS_WORDS = {
    "optimal": "proven best",
    "feasible": "best found so far, not proven",
    "infeasible": "no plan is possible",
    "unbounded": "nothing limits the plan",
    "no_solution": "no plan found in time",
}

LEAST_GIVEN_AWAY = 5e-6
"""A share of the objective that is not worth telling: what breaking ties takes."""


def gives_away(goal: ObjectiveReport) -> bool:
    """Return whether a plan is knowingly worse than the best that was found."""
    return goal.given_away is not None and goal.given_away > LEAST_GIVEN_AWAY


def status(plan: Plan) -> str:
    """Return how good a plan is: proven, and how far below the best on purpose."""
    words, goal = STATUS_WORDS[plan.status], plan.objective
    if plan.status != "optimal" or not gives_away(goal) or goal.given_away is None:
        return words
    side = "below" if goal.sense == "maximize" else "above"
    return f"{gap(goal.given_away)} {side} the {words}"


def amount_of(goal: ObjectiveReport, value: float) -> str:
    """Return a value of an objective with its unit."""
    return money(value) if goal.unit == "USD" else f"{value:,.2f} {goal.unit}"


def proof(goal: ObjectiveReport) -> str:
    """Return what is proven: the best value found, and how much better any plan could be."""
    name, best = OBJECTIVES[goal.name].label, goal.value if goal.best is None else goal.best
    assert best is not None
    if goal.bound is None:
        unknown = "nothing is proven about how much better a plan could be"
        return f"{name} {amount_of(goal, best)}; {unknown}"
    better = "more than" if goal.sense == "maximize" else "less than"
    text = (
        f"the best found has {amount_of(goal, best)}"
        if gives_away(goal)
        else (f"{name} {amount_of(goal, best)}")
    )
    return f"{text}; no plan has {better} {amount_of(goal, goal.bound)} (gap {gap(goal.gap)})"


def given_away(plan: Plan) -> str | None:
    """Return what a plan gives away of its objective and what that saves, None where nothing."""
    goal = plan.objective
    if not gives_away(goal) or goal.given_away is None:
        return None
    less = "less" if goal.sense == "maximize" else "more"
    text = f"{gap(goal.given_away)} {less} {OBJECTIVES[goal.name].label} than the best plan"
    capex = None if plan.totals is None else plan.totals.capex_usd
    if goal.best_capex_usd is not None and capex is not None:
        saved = goal.best_capex_usd - capex
        text += f" saves {money(saved)}" if saved >= 0 else f" costs {money(-saved)} more"
    if goal.given_away <= goal.indifference * 1.001:
        return f"{text}; `indifference: 0` takes the last of it"
    return f"{text} (policy.prefer, objective.indifference)"
