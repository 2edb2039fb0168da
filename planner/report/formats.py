"""Numbers, changes and lists as people read them; texts of users fit for files that others open.

What reorders letters (U+200E, U+200F, U+061C, U+202A to U+202E, U+2066 to U+2069) is stripped like
control characters: a part number or an amount could read otherwise than it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from planner import currency
from planner.currency import Currency, currency_among, currency_of
from planner.figures import OBJECTIVES, RATIOS, objective_label, objective_unit
from planner.schema.plan import Line, ObjectiveReport

if TYPE_CHECKING:
    from planner.schema.analysis import Study
    from planner.schema.operation import Measured
    from planner.schema.plan import LimitReport

CELL_LIMIT = 32_767
"""Characters a cell can hold."""

_CUT = " … [cut]"
_LINE_BREAK = re.compile("\r\n|[\r\u2028\u2029]")
# Control characters (line feeds apart), what reorders text, lone surrogates and noncharacters: XML
# refuses some of them, and UTF-8 the surrogates.
_FORBIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


def clean(text: str, limit: int | None = CELL_LIMIT) -> str:
    """``text`` without control characters, cut to the width.

    Args:
        text: anything a user or a catalog wrote.
        limit: longest result, in characters as a spreadsheet counts them (UTF-16); None for any.
    """
    if text.isascii() and text.isprintable() and (limit is None or len(text) <= limit):
        return text
    text = _FORBIDDEN.sub("", _LINE_BREAK.sub("\n", text).replace("\t", " "))
    units = b"" if limit is None else text.encode("utf-16-le")
    if limit is None or len(units) <= 2 * limit:
        return text
    return units[: 2 * (limit - len(_CUT))].decode("utf-16-le", "ignore") + _CUT


NETWORKS = {
    "compute": "compute fabric",
    "storage": "storage fabric",
    "converged": "storage and in-band fabric",
    "in_band": "in-band network",
    "out_of_band": "out-of-band network",
}
"""Names of a plan's networks."""

DAY_S, HOUR_S, MINUTE_S = 86_400.0, 3600.0, 60.0

# Numbers.


def number(value: float | None, digits: int = 0) -> str:
    """A number with thousands separators, or 'not known'."""
    return "not known" if value is None else f"{value:,.{digits}f}"


def round_number(value: float) -> str:
    """A number in whole units from 10 on, with two digits below: never 0 for a little."""
    return f"{value:,.0f}" if abs(value) >= 9.95 else f"{value:.2g}"


def plain(value: float, unit: str = "") -> str:
    """A number with as many digits as its size needs."""
    size = abs(value)
    digits = 0 if size >= 10_000 else 1 if size >= 100 else 2
    text = f"{value:.3g}" if 0 < size < 0.01 else f"{value:,.{digits}f}"
    return f"{_without_zeros(text)} {unit}".rstrip()


def _without_zeros(text: str) -> str:
    """A decimal number without zeros at its end."""
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def years(count: float) -> str:
    """A number of years."""
    return "1 year" if count == 1 else f"{count:g} years"


def days(count: float) -> str:
    """A number of days, whole weeks as weeks."""
    return f"{count / 7:,.0f} weeks" if count >= 14 and count % 7 == 0 else f"{count:,.0f} days"


def duration(seconds: float) -> str:
    """A time span in the unit that suits it."""
    return significant(seconds, "s")


MW_FROM_KW = 10_000
"""kW above which power is written in MW."""


def ratio(amount: float) -> str:
    """Money per useful work, which is small, with the digits in which plans differ."""
    return f"{amount:.4g} {currency_of(amount).code}"


def money(amount: float | None) -> str:
    """An amount in thousands or millions of its currency."""
    return currency.short(amount)


_COUNTED = ("systems", "units", "racks", "types")
"""Units that have a singular."""


def quantity(value: float, unit: str) -> str:
    """A figure with its unit."""
    if unit == "share":
        return f"{100 * value:,.4g} %"
    if unit == "USD" and 0.0 < abs(value) < 1.0:
        return ratio(value)
    if unit in ("USD", "USD/year"):
        return money(value) + ("/year" if unit == "USD/year" else "")
    if unit in ("s", "GB"):
        return significant(value, unit)
    if unit == "kW" and value > MW_FROM_KW:
        return plain(value / 1000.0, "MW")
    one = value == 1 and unit in _COUNTED
    return plain(value, unit.removesuffix("s") if one else currency_of(value).named(unit))


def tile_text(value: float, unit: str) -> str:
    """A figure with its unit, short enough for a tile."""
    if unit == "share":
        return percent(value, 2)
    if unit == "kW" and abs(value) >= 1e3:
        return f"{value / 1e3:,.2f} MW"
    if "USD" in unit:
        return money(value)
    return f"{value:,.0f} {unit}" if unit != "s" and abs(value) >= 1e3 else quantity(value, unit)


# Shares and changes.


def percent(share: float, digits: int = 1) -> str:
    """A share in percent."""
    return f"{100 * share:.{digits}f} %"


def gap(share: float | None) -> str:
    """A gap in percent."""
    if share is None:
        return "no bound"
    if 0 < share < 1e-6:
        return "< 0.0001 %"
    return "0 %" if share == 0 else f"{100 * share:.2g} %"


def relative(share: float | None, *, signed: bool = False) -> str:
    """A relative difference, with more digits the smaller it is; a dash where it is unknown."""
    if share is None:
        return "-"
    size = abs(share)
    if size < 5e-7:
        return "0 %"
    digits = 1 if size >= 0.01 else 2 if size >= 0.001 else 3 if size >= 5e-6 else 4
    sign = ("+" if share > 0 else "-") if signed else ""
    return f"{sign}{100 * size:,.{digits}f} %"


# Figures of records.


def write_in(money: Currency, value: float | str | None, unit: str) -> str:
    """An input with its unit, amounts of USD in a currency."""
    if value is None or isinstance(value, str):
        return value or "blank"
    if unit == f"USD/{money.code}":  # a rate of exchange
        return f"{value:,.6g} {unit}"
    return quantity(money.convert(value) if "USD" in unit else value, unit)


def write_row(
    label: str, unit: str, values: Sequence[float | str | None]
) -> tuple[str, Scale, list[str]]:
    """A label with its unit, and figures in it side by side with their scale."""
    shown = result_scale([each for each in values if isinstance(each, (int, float))], unit)
    texts = [each if isinstance(each, str) else shown.text(each) for each in values]
    clear = shown.unit.casefold() in label.casefold()
    return label if clear else column_head(label, shown.unit), shown, texts


def breach_text(breach: LimitReport) -> str:
    """The value of a broken limit, its bound and the excess, power all in kW."""
    write = plain if breach.unit == "kW" else quantity
    bound, far = ("at most", "much") if breach.sense == "<=" else ("at least", "little")
    over = f"{write(abs(breach.value - breach.limit), breach.unit)} too {far}"
    value, limit = write(breach.value, breach.unit), write(breach.limit, breach.unit)
    return f"{breach.label}: {value}, allowed {bound} {limit}, {over}"


# Lists and names.


def join_words(words: Sequence[str]) -> str:
    """Words as a sentence lists them."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def spans(numbers: Iterable[int], one: str = "") -> str:
    """Whole numbers in their order, neighbours together: "1, 4-6", "period 3", "periods 1, 4-6"."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][-1] == number - 1:
            found[-1].append(number)
        else:
            found.append([number])
    texts = [f"{each[0]}-{each[-1]}" if each[1:] else f"{each[0]}" for each in found]
    name = one + "s" * (one != "" and sum(map(len, found)) > 1)
    return f"{name} {', '.join(texts)}".lstrip() if found else ""


def column_head(label: str, unit: str) -> str:
    """The head of a column: its label, and its unit where it has one."""
    return f"{label}, {unit}" if unit else label


def list_first(words: Sequence[str], most: int) -> str:
    """The first words of a list, and the number of the others."""
    more = len(words) - most
    return join_words([*words[:most], *([f"{more:,} more"] if more > 0 else [])])


def count_noun(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count:,} {noun if count == 1 else noun + 's'}"


def purchase_text(counts: Mapping[str, int], names: Mapping[str, str]) -> str:
    """A purchase by its first three items, ``counts`` and ``names`` by id."""
    there = [f"{count:,.0f} × {names.get(sku, sku)}" for sku, count in counts.items() if count]
    more = [f"+{len(there) - 3} more"] if len(there) > 3 else []
    return ", ".join([*there[:3], *more]) or "nothing"


def cut_text(text: str, width: int) -> str:
    """A text cut to a width."""
    return text if len(text) <= width else text[: width - 1] + "…"


def one_line(text: str, most: int) -> str:
    """A text from a file on one line, cut to a number of characters."""
    return cut_text(" ".join(clean(text, limit=None).split()), most)


def product(line: Line) -> str:
    """Manufacturer and model; of a generic product the model."""
    generic = line.vendor.casefold() == "generic"
    return line.model if generic else with_vendor(line.vendor, line.model)


def with_vendor(vendor: str, name: str) -> str:
    """A name after its vendor's, unless it begins with it."""
    return name if name.casefold().startswith(vendor.casefold()) else f"{vendor} {name}"


# The quality of a plan.

STATUS_WORDS = {
    "optimal": "proven best",
    "feasible": "not proven",
    "infeasible": "no plan",
    "unbounded": "no limit",
    "no_solution": "none found",
    "invalid": "refused",
    "failed": "failed",
}
"""Outcome of a problem or a scenario."""

LEAST_LOSS = 5e-6
"""Share of the objective that counts as none: breaking ties takes it."""


def has_near_optimal_loss(goal: ObjectiveReport) -> bool:
    """True if a plan is knowingly worse than the best that was found."""
    return goal.near_optimal_loss is not None and goal.near_optimal_loss > LEAST_LOSS


def amount_of(name: str, value: float) -> str:
    """A value of the objective of that name with its unit."""
    if name in RATIOS:
        return ratio(value)
    unit = objective_unit(name)
    return money(value) if unit == "USD" else f"{value:,.2f} {unit}".rstrip()


def proof(goal: ObjectiveReport) -> str:
    """Incumbent, bound and gap of the objective."""
    name, best = OBJECTIVES[goal.name].label, goal.value if goal.best is None else goal.best
    assert best is not None
    bound = "no bound"
    if goal.bound is not None:
        bound = f"bound {amount_of(goal.name, goal.bound)}, gap {gap(goal.gap)}"
    return f"{name}: incumbent {amount_of(goal.name, best)}, {bound}"


# Studies.


def study_name(study: Study) -> str:
    """The problem's name with its scenario."""
    return study.problem + ("" if study.scenario is None else f", scenario {study.scenario}")


def goal(study: Study) -> str:
    """The label of the objective."""
    return objective_label(study.objective)


def objective_amount(study: Study, value: float) -> str:
    """A value of the objective with its unit."""
    return amount_of(study.objective, value)


def base_objective(study: Study) -> str:
    """The objective of the unchanged problem with its name; nothing where it has no plan."""
    return "" if study.base is None else f"{goal(study)} {objective_amount(study, study.base)}"


def unchanged_objective(study: Study) -> str:
    """The objective of the unchanged problem with its bound, as a sentence."""
    if study.base is None:
        return "The unchanged problem is infeasible."
    limit = study.base_bound
    bound = "no bound" if limit is None else f"bound {objective_amount(study, limit)}"
    return f"Unchanged problem: {base_objective(study)}; {bound}."


def count_statuses(statuses: Mapping[str, int]) -> str:
    """Scenarios by status."""
    parts = [f"{statuses[k]:,} {text}" for k, text in STATUS_WORDS.items() if statuses.get(k)]
    return join_words(parts) if parts else "no scenario"


# Figures of one kind, written alike.

_SIZES: dict[str, tuple[tuple[float, float, str], ...]] = {
    "s": ((2 * DAY_S, DAY_S, "days"), (2 * HOUR_S, HOUR_S, "h"), (2 * MINUTE_S, MINUTE_S, "min")),
    "GB": ((1e6, 1e6, "PB"), (1e3, 1e3, "TB")),
    "parameters": ((1e12, 1e12, "T"), (1e9, 1e9, "B"), (1e6, 1e6, "M")),
    "share": ((0.0, 0.01, "%"),),
}
"""By unit: least figure from which a larger unit is used, its size and name."""

BARE = ("", "1", "number", "parameters")
"""Units of figures that are not written."""

_EXACT_DIGITS, _MOST_DIGITS = 4, 9
_RESULT_DIGITS = 5
_EXACT, _NEAR = 1e-12, 2e-4


class Scale(NamedTuple):
    """Format of figures of one kind: the size and name of their unit, their decimals."""

    size: float
    unit: str
    digits: int

    def text(self, value: float | None, sign: str = "") -> str:
        """A figure without its unit, a dash where there is none; of ``sign`` "+" with its sign."""
        if value is None:
            return "-"
        return f"{value / self.size:{sign},.{self.digits}f}"

    def with_unit(self, value: float | None) -> str:
        """A figure with its unit."""
        return f"{self.text(value)} {self.unit}".rstrip()


def scale(values: Iterable[float | None], unit: str) -> Scale:
    """The unit and decimals that keep different figures apart.

    Args:
        values: the figures; those that are not known do not count.
    """
    there = [value for value in values if value is not None]
    shown = currency_among(there)
    sizes = _SIZES.get(unit, ())
    if unit in ("USD", "USD/year"):
        per = unit.removeprefix("USD")
        sizes = tuple((size, size, f"{name}{per}") for size, name in shown.sizes)
    largest = max((abs(value) for value in there), default=0.0)
    size, name = next(
        ((size, name) for least, size, name in sizes if largest >= least), (1.0, _unit_name(unit))
    )
    return Scale(size, shown.named(name), decimals([value / size for value in there]))


def result_scale(values: Iterable[float | None], unit: str) -> Scale:
    """The unit and decimals of computed figures: at most five or six digits.

    Args:
        values: the figures; those that are not known do not count.
    """
    there = [value for value in values if value is not None]
    written = scale(there, unit)
    largest = max((abs(value) / written.size for value in there), default=0.0)
    most = max(0, _RESULT_DIGITS - len(f"{largest:.0f}"))
    most = min(most, 2) if unit.startswith("USD") and largest >= 1.0 else most
    return written._replace(digits=min(most, written.digits))


def _unit_name(unit: str) -> str:
    return "" if unit in BARE else unit


def decimals(values: Sequence[float]) -> int:
    """The fewest decimals that give the figures exactly, or near enough and all apart."""
    distinct = {value for value in values if math.isfinite(value)}

    def within(digits: int, share: float) -> bool:
        return all(abs(round(value, digits) - value) <= share * abs(value) for value in distinct)

    exact = (digits for digits in range(_EXACT_DIGITS + 1) if within(digits, _EXACT))
    near = (
        digits
        for digits in range(_MOST_DIGITS)
        if within(digits, _NEAR) and len({round(v, digits) for v in distinct}) == len(distinct)
    )
    return next(exact, next(near, _MOST_DIGITS))


# Measured figures of telemetry.


def _sized(value: float, unit: str) -> tuple[float, str]:
    """The unit that suits a figure: its size and name."""
    for least, size, name in _SIZES.get(unit, ()):
        if abs(value) >= least:
            return size, name
    return 1.0, _unit_name(unit)


def significant(value: float | None, unit: str) -> str:
    """A figure to three digits, with the unit that suits it."""
    if value is None or not math.isfinite(value):
        return "not known"
    size, name = _sized(value, unit)
    value /= size
    digits = max(0, 2 - math.floor(math.log10(abs(value)) + 1e-9)) if value else 0
    return f"{_without_zeros(f'{value:,.{digits}f}')} {name}".rstrip()


def as_setting(found: Measured | float, unit: str) -> str:
    """A figure to four digits as a problem file takes it: times in seconds, no separators."""
    value = found if isinstance(found, float) else found.value
    size, name = (1.0, "s") if unit == "s" else _sized(value, unit)
    return f"{float(f'{value / size:.4g}'):.10g} {name}".rstrip()


def with_range(found: Measured | None, unit: str) -> str:
    """A figure with its range: ``13.8 TB ±0.3 %``, or its ends where wide; a dash for none."""
    if found is None or not math.isfinite(found.value):
        return "-"
    text, (low, high) = significant(found.value, unit), _ends(found)
    if low is None or high is None:
        end = f" (≥ {significant(low, unit)})" if low is not None else ""
        return text + (f" (≤ {significant(high, unit)})" if high is not None else end)
    half = (high - low) / 2
    if half > 0.1 * abs(found.value):
        return f"{text} ({significant(low, unit)} to {significant(high, unit)})"
    if unit == "share":
        return f"{100 * found.value:.1f} ±{max(100 * half, 0.1):.1g} %"
    return f"{text} ±{max(100 * half / found.value, 0.1):.2g} %" if half > 0 else text


def upper_end(found: Measured, unit: str) -> str:
    """A figure that is only known to be no more than this."""
    high = found.value if found.high is None else max(found.value, found.high)
    return f"< {significant(high, unit)}"


def range_text(found: Measured, unit: str) -> str:
    """The range of a figure, as `stated`."""
    low, high = _ends(found)
    if low is not None and high is not None:
        return f"{as_setting(low, unit)} to {as_setting(high, unit)}"
    if high is not None:
        return f"at most {as_setting(high, unit)}"
    return "range not known" if low is None else f"at least {as_setting(low, unit)}"


def _ends(found: Measured) -> tuple[float | None, float | None]:
    low, high = (
        end if end is not None and math.isfinite(end) else None for end in (found.low, found.high)
    )
    return low, high


def clock_time(seconds: float, clock: str, *, day: bool = False) -> str:
    """A time on a trace's clock: the minute or the day in UTC, or the time after its zero."""
    with suppress(OverflowError, ValueError, OSError):
        if clock == "unix":
            return datetime.fromtimestamp(seconds, UTC).isoformat(" ")[: 10 if day else 16]
    return f"{duration(seconds)} after zero"
