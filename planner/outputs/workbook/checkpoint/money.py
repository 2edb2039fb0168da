"""The totals of the whole plan: power, heat, space, and what it costs."""

from __future__ import annotations

from planner.figures import FIGURES
from planner.outputs import scope
from planner.outputs.workbook import formulas
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import (
    DECIMAL_1,
    DECIMAL_1_OR_DASH,
    DECIMAL_2,
    DECIMAL_3,
    INTEGER,
    INTEGER_OR_DASH,
)
from planner.outputs.workbook.rows import Result, Results, from_bom
from planner.sizing.facility import HOURS_PER_YEAR


def totals(book: Book) -> Results:
    """Return the totals; a sum that lacks a line's figure carries its flag."""
    money = _money(book) if book.money else ()
    return ("Totals", (*_power(book), *_heat(book), *_space(book), *money))


def _power(book: Book) -> tuple[Result, ...]:
    rows = [from_bom(book, "it_power_kw")]
    if book.has("bom_typical_power_kw"):
        rows.append(from_bom(book, "typical_power_kw"))
    rows.append(_facility(book))
    if book.has("bom_energy_kw"):
        label = "Typical power at the meter"
        label += ", what energy is charged on" if book.money else ""
        rows.append(from_bom(book, "energy_kw", label=label, unit="kW"))
    return tuple(rows)


def _facility(book: Book) -> Result:
    if book.has("bom_facility_power_kw"):
        how = "total of BOM: every line's IT power x its PUE"
        return from_bom(book, "facility_power_kw", how=how)
    return Result.of("facility_power_kw", "it_power_kw*pue", "IT power x PUE", DECIMAL_1,
                     flag="bom_it_power_kw_flag", plan=book.total("facility_power_kw"))  # fmt: skip


def _heat(book: Book) -> tuple[Result, ...]:
    rows = [from_bom(book, "heat_btu_per_h", INTEGER)]
    liquid = book.has("bom_heat_liquid_kw")
    if liquid:
        rows.append(from_bom(book, "heat_liquid_kw"))
    if liquid or scope.limited(book.plan, "heat_air"):
        rows.append(
            Result.of("heat_air_kw", "it_power_kw-heat_liquid_kw" if liquid else "it_power_kw",
                      "IT power less what goes to liquid; 1 kW is 3,412.14 BTU/h", DECIMAL_1,
                      flag="bom_it_power_kw_flag", plan=book.total("heat_air_kw"))
        )  # fmt: skip
    return tuple(rows)


def _space(book: Book) -> tuple[Result, ...]:
    rows = [
        from_bom(book, "racks", INTEGER_OR_DASH),
        from_bom(book, "weight_kg", INTEGER),
        from_bom(book, "usable_tb", DECIMAL_1_OR_DASH),
    ]
    if book.has("bom_lead_time_days"):
        how = "the upper end of what the suppliers say, on BOM"
        rows.append(from_bom(book, "lead_time_days", how=how))
    return tuple(rows)


MONTHS_PER_YEAR = 12
# Million tokens that a useful PFLOP/s trains in a year of 8,760 h, times billions of parameters.
_TOKENS = f"{HOURS_PER_YEAR * 3600:.0f}/6"
_YEARLY_FLAG = "bom_it_power_kw_flag&bom_support_usd_per_year_flag"
TCO_FLAG = f"{_YEARLY_FLAG}&bom_capex_usd_flag"


def _money(book: Book) -> tuple[Result, ...]:
    """Return the money of the plan, each figure after what it rests on."""
    yearly = _yearly(book)
    return (
        from_bom(book, "capex_usd", DECIMAL_2),
        *yearly,
        _opex(book, yearly),
        *_term(book, yearly),
        *_ratios(book),
    )


def _yearly(book: Book) -> tuple[Result, ...]:
    """Return what is paid every year: support, subscriptions, energy, colocation."""
    result = [from_bom(book, "support_usd_per_year", DECIMAL_2)]
    if book.has("bom_subscriptions_usd_per_year"):
        result.append(from_bom(book, "subscriptions_usd_per_year", DECIMAL_2))
    power, what = "facility_power_kw", FIGURES["facility_power_kw"].label
    if book.has("bom_energy_kw"):
        power, what = "energy_kw", "typical power at the meter"
    result.append(
        Result.of("energy_usd_per_year", f"{power}*{HOURS_PER_YEAR:g}*electricity_usd_per_kwh",
                  f"{what} x {HOURS_PER_YEAR:,.0f} h x price of electricity", DECIMAL_2,
                  ("electricity_usd_per_kwh",), "bom_it_power_kw_flag",
                  plan=book.total("energy_usd_per_year"))
    )  # fmt: skip
    if book.has("colocation_usd_per_kw_month"):
        result.append(
            Result.of("colocation_usd_per_year",
                      f"it_power_kw*{MONTHS_PER_YEAR}*colocation_usd_per_kw_month",
                      f"IT power x {MONTHS_PER_YEAR} months x price of colocation", DECIMAL_2,
                      ("colocation_usd_per_kw_month",), "bom_it_power_kw_flag",
                      plan=book.total("colocation_usd_per_year"))
        )  # fmt: skip
    return tuple(result)


def _opex(book: Book, yearly: tuple[Result, ...]) -> Result:
    names = [row.name for row in yearly]
    return Result.of(
        "opex_usd_per_year",
        "+".join(names),
        " + ".join(name.removesuffix("_usd_per_year") for name in names),
        DECIMAL_2,
        ("energy_usd_per_year",),
        _YEARLY_FLAG,
        plan=book.total("opex_usd_per_year"),
    )


def _term(book: Book, yearly: tuple[Result, ...]) -> tuple[Result, ...]:
    """Return the money of the term; what is paid later counts less where there is a rate."""
    tco = book.total("tco_usd")
    if not book.has("bom_support_usd_over_term"):
        return (_tco(tco, "capex_usd+years*opex_usd_per_year", "capex + years x opex per year"),)
    names = "+".join(row.name for row in yearly[1:])
    how = "total of BOM: support per year x the years it is paid, discounted"
    return (
        Result("discounted_years", "Years of a yearly payment over the term, discounted", "years",
               formulas.years("years"),
               "paid at the end of each year: (1 - (1 + rate)^-years) / rate, a last part year in "
               "proportion", DECIMAL_3, ("years", "discount_rate")),
        from_bom(book, "support_usd_over_term", DECIMAL_2, label="Support over the term",
                 unit="USD", how=how),
        _tco(
            tco,
            f"capex_usd+support_usd_over_term+discounted_years*({names})",
            "capex + support over the term + discounted years x what else is paid per year",
        ),
    )  # fmt: skip


def _tco(value: float | None, formula: str, how: str) -> Result:
    needs = ("years", "opex_usd_per_year")
    return Result.of("tco_usd", formula, how, DECIMAL_2, needs, TCO_FLAG, plan=value)


def _ratios(book: Book) -> tuple[Result, ...]:
    """Return what useful work costs, where the bill is complete or a limit asks for it."""
    plan, job = book.plan, book.job
    if plan.totals is None or job is None or plan.site.years is None:
        return ()
    result = []
    for name, limit, value, formula, how in (
        (
            "usd_per_useful_gpu_hour",
            "per_useful_gpu_hour",
            plan.totals.usd_per_useful_gpu_hour,
            f"tco_usd/(useful_gpus*{HOURS_PER_YEAR:g}*years)",
            "TCO / (useful GPUs x hours of the term)",
        ),
        (
            "usd_per_million_tokens",
            "per_million_tokens",
            plan.totals.usd_per_million_tokens,
            f"tco_usd/(useful_pflops*{_TOKENS}/active_parameters_billion*years)",
            "TCO / tokens trained in the term at this rate of useful work",
        ),
    ):
        if value is not None and scope.tells_ratio(plan, limit):
            needs: tuple[str, ...] = ("tco_usd", "years")
            if name.endswith("tokens"):
                needs = (*needs, "useful_pflops", "active_parameters_billion")
            number = "#,##0.0000"
            result.append(Result.of(name, formula, how, number, needs, TCO_FLAG, plan=value))
    return tuple(result)
