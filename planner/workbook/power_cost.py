"""The sheet Power & cost: IT load and facility power by line, and cost of the term by year."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.figures import BTU_PER_H_PER_KW
from planner.report import edition
from planner.report.words import product
from planner.schema.plan import Plan
from planner.sizing.facility import HOURS_PER_YEAR, discounted_years
from planner.workbook.book import (
    Allowed,
    Book,
    Fact,
    Given,
    Sheet,
    write_figures,
)
from planner.workbook.live import Term, V, constant, if_, join, max_, min_, sum_, sum_of
from planner.workbook.quote import Bill, Row

NAME = "Power & cost"
_WIDTHS = (46, 16, 16, 16, 16, 16, 16)
_CHART_ROWS = 14
_FILLS = ("#16324F", "#2F6DB5", "#7FB2E5", "#D9822B", "#8A97A5")
_GRID = {"visible": True, "line": {"color": "#E6ECF2"}}
_PAYMENTS = {
    "Capex": "capex_usd",
    "Support": "support_usd_per_year",
    "Subscriptions": "subscriptions_usd_per_year",
    "Energy": "energy_usd_per_year",
    "Colocation": "colocation_usd_per_year",
}
"""Figures of money by their heading; all but the first are paid every year."""


class PowerCost(dict[str, V]):
    """The sheet, and its cells by the name they have in a plan."""

    def __init__(self, book: Book, plan: Plan, bill: Bill) -> None:
        super().__init__()
        self.book, self.plan, self.bill, self.totals = book, plan, bill, plan.totals
        self.sheet = Sheet(book, NAME, _WIDTHS)
        self.money = bill.prices == "all"
        self.term = self.money and plan.totals is not None and plan.totals.tco_usd is not None
        """True if there is a cost over the term to show."""
        self.liquid = edition.cooled_by_liquid(plan)

    def write(self, job: dict[str, V]) -> None:
        """Write inputs, power, cost and spending by year.

        Args:
            job: cells of the sheet Performance by name.
        """
        what = "Power and cost over the term" if self.money else "Power and cooling"
        self.sheet.head(what, "Yellow cells may be edited, everything follows.")
        self._part("Inputs", self._inputs())
        self._lines()
        self._part("Power and heat", self._power())
        if self.money and self.totals is not None:
            self._part("Cost", self._cost(job))
        if self.term and not edition.over_time(self.plan):
            self._years()
        self.sheet.area(0, self.sheet.at)

    def _part(self, title: str, rows: Iterator[Fact | Given]) -> None:
        self.sheet.heading(title)
        write_figures(self.sheet, rows, self)
        self.sheet.at += 1

    def _inputs(self) -> Iterator[Fact | Given]:
        site, ratio = self.plan.site, Allowed(1, 10)
        yield Given("pue", site.pue, "", ratio)
        if edition.two_pues(self.plan):
            yield Given("pue_liquid", site.pue_liquid, "", ratio)
        if not self.money or site.electricity_usd_per_kwh is None or site.years is None:
            return
        yield Given("electricity_usd_per_kwh", site.electricity_usd_per_kwh)
        if edition.over_time(self.plan):
            how = "as planned: payments are discounted or end before the term"
            yield Fact("years", site.years, how)
            yield Fact("discount_rate", site.discount_rate)
        else:
            yield Given("years", site.years, "", Allowed(1e-6, 50))
        if site.colocation_usd_per_kw_month:
            yield Given("colocation_usd_per_kw_month", site.colocation_usd_per_kw_month)

    def _lines(self) -> None:
        """Write the power of each line, and the sums."""
        sheet, book = self.sheet, self.book
        titles = ["Quantity", "kW each", "IT load kW", "Typical kW"]
        titles += ["Liquid-cooled kW"] if self.liquid else []
        sheet.heading("Power by line", len(titles), dict(enumerate(titles, start=1)))
        first = sheet.at
        rows = [r for r in self.bill.rows if r.line.it_power_kw and r.line.quantity]
        shown = [self._line(row)[: len(titles) - 2] for row in rows]
        sheet.fill(sheet.at, book.look("text", "sum"), 0, 2)
        sheet.put(sheet.at, 0, "Total", book.look("text", "sum"))
        known = rows and self.totals is not None and self.totals.it_power_kw is not None
        for at, key in enumerate(("it_kw", "typical_kw", "liquid_kw")[: len(titles) - 2]):
            span = sheet.span(first, max(first, sheet.at - 1), 3 + at)
            total: Term = sum_([cells[at].value for cells in shown], span) if known else "n/a"
            look = book.look("n1", "sum", align="right")
            self[key] = sheet.put(sheet.at, 3 + at, total, look, key)
        sheet.at += 2

    def _line(self, row: Row) -> list[V]:
        """Write the power of a line; return its cells: IT load, typical, to liquid."""
        sheet, line, at = self.sheet, row.line, self.sheet.at
        sheet.put(at, 0, f"{row.number}  {product(line)}", self.book.look("text", "line"))
        quantity = sheet.put(at, 1, row.cells["quantity"], self.book.look("n0", "line"))
        power = (line.it_power_kw or 0.0) / line.quantity
        each = sheet.put(at, 2, power, self.book.look("n2", "line"))
        loads: list[Term] = [quantity * each, quantity * constant(_typical(row))]
        if self.liquid:
            loads.append(loads[0] * constant(line.liquid_share) if line.liquid_share else None)
        look = self.book.look("n1", "line")
        sheet.at += 1
        return [sheet.put(at, 3 + place, load, look) for place, load in enumerate(loads)]

    def _power(self) -> Iterator[Fact]:
        it_kw = self["it_kw"]
        yield Fact("it_power_kw", it_kw, "at the nameplate draw")
        how = "IT load x PUE"
        if "pue_liquid" in self:
            how = "air-cooled load x PUE + liquid-cooled load x its PUE"
        yield Fact("facility_power_kw", self._metered(it_kw, self.get("liquid_kw")), how)
        how = "nameplate where a typical draw is not stated"
        yield Fact("typical_power_kw", self["typical_kw"], how)
        if "liquid_kw" in self:
            yield Fact("heat_liquid_kw", self["liquid_kw"])
        air = it_kw - self["liquid_kw"] if "liquid_kw" in self else it_kw
        yield Fact("heat_air_kw", air)
        yield Fact("heat_btu_per_h", it_kw * BTU_PER_H_PER_KW, "1 kW is 3,412.14 BTU/h")

    def _metered(self, load: V, liquid: V | None) -> V:
        """The facility power of an IT load, part of it cooled by liquid."""
        if "pue_liquid" not in self or liquid is None:
            return load * self["pue"]
        return (load - liquid) * self["pue"] + liquid * self["pue_liquid"]

    def _cost(self, job: dict[str, V]) -> Iterator[Fact]:
        bill = self.bill.totals
        yield Fact("capex_usd", bill["amount"], "total of the sheet Quote")
        yield Fact("support_usd_per_year", bill["support"])
        if "subscription" in bill:
            yield Fact("subscriptions_usd_per_year", bill["subscription"])
        if not self.term:
            return
        yield self._energy()
        if "colocation_usd_per_kw_month" in self:
            rent = self["it_power_kw"] * 12 * self["colocation_usd_per_kw_month"]
            yield Fact("colocation_usd_per_year", rent, "IT load x 12 months x price")
        yearly = [self[name] for name in [*_PAYMENTS.values()][1:] if name in self]
        yield Fact("opex_usd_per_year", sum_of(yearly))
        yield self._tco(yearly)
        yield from self._ratios(job)

    def _energy(self) -> Fact:
        power, how = self["facility_power_kw"], f"facility power x {HOURS_PER_YEAR:,.0f} h x price"
        if self.plan.site.energy_basis == "typical":
            rows = [row for row in self.bill.rows if row.line.it_power_kw and row.line.liquid_share]
            wet = [
                row.cells["quantity"] * constant(_typical(row) * row.line.liquid_share)
                for row in rows
            ]
            power, how = self._metered(self["typical_kw"], sum_of(wet)), f"typical {how}"
        energy = power * constant(HOURS_PER_YEAR) * self["electricity_usd_per_kwh"]
        return Fact("energy_usd_per_year", energy, how)

    def _tco(self, yearly: list[V]) -> Fact:
        site, totals = self.plan.site, self.totals
        if not edition.over_time(self.plan):
            total = self["capex_usd"] + self["years"] * self["opex_usd_per_year"]
            return Fact("tco_usd", total, "capex + term x opex")
        assert totals is not None and totals.tco_usd is not None
        years = discounted_years(0.0, site.years or 0.0, site.discount_rate)
        support, opex = totals.support_usd_per_year or 0.0, totals.opex_usd_per_year or 0.0
        left = totals.tco_usd - (totals.capex_usd or 0.0) - years * (opex - support)
        paid = left / support if support else 0.0
        how = f"capex + {paid:,.4g} years of support, as planned, + {years:,.4g} of the rest"
        rest = constant(paid) * yearly[0] + constant(years) * sum_of(yearly[1:])
        return Fact("tco_usd", self["capex_usd"] + rest, how)

    def _ratios(self, job: dict[str, V]) -> Iterator[Fact]:
        totals = self.totals
        assert totals is not None
        if totals.usd_per_useful_gpu_hour is not None:
            hours = job["useful_gpus"] * constant(HOURS_PER_YEAR) * self["years"]
            how = "TCO / (effective GPUs x hours)"
            yield Fact("usd_per_useful_gpu_hour", self["tco_usd"] / hours, how)
        if totals.usd_per_million_tokens is not None and "active_parameters_billion" in job:
            tokens = job["useful_pflops"] * constant(HOURS_PER_YEAR * 3600) / 6
            tokens = tokens / job["active_parameters_billion"] * self["years"]
            how = "TCO / tokens trained in the term"
            yield Fact("usd_per_million_tokens", self["tco_usd"] / tokens, how)

    def _years(self) -> None:
        """Write the payments by year of the term, with a chart; the last year has the rest."""
        sheet, years, money = self.sheet, self["years"], self.book.look("usd", "line")
        strong = self.book.look("usd", "line", bold=True)
        kinds = {title: self[name] for title, name in _PAYMENTS.items() if name in self}
        titles = dict(enumerate([*kinds, "Together"], start=1))
        sheet.heading(
            f"Spending by year, {self.book.currency.code}, not discounted", len(titles), titles
        )
        first, last = sheet.at, math.ceil(self.plan.site.years or 0.0)
        for year in range(last + 1):
            later = if_(years > last, " and later", "") if year == last else ""
            name: Term = join(f"Year {year}", later) if year else "Purchase"
            sheet.put(sheet.at, 0, name, self.book.look("text", "line"))
            share = max_(0, years - (year - 1) if year == last else min_(1, years - (year - 1)))
            paid: list[V] = []
            for title, amount in kinds.items():
                due: Term = amount * share if year else 0
                if title == "Capex":
                    due = 0 if year else amount
                paid.append(sheet.put(sheet.at, len(paid) + 1, due, money))
            sheet.put(sheet.at, len(titles), sum_of(paid), strong)
            sheet.at += 1
        self._chart(first, sheet.at - 1, list(kinds))

    def _chart(self, first: int, last: int, kinds: list[str]) -> None:
        chart = self.book.file.add_chart({"type": "column", "subtype": "stacked"})
        for column, (title, fill) in enumerate(zip(kinds, _FILLS, strict=False), start=1):
            places = {"categories": [NAME, first, 0, last, 0]}
            places["values"] = [NAME, first, column, last, column]
            chart.add_series({"name": title, **places, "gap": 60, "fill": {"color": fill}})
        chart.set_title({"none": True})
        chart.set_y_axis({"num_format": '#,##0,," M"', "major_gridlines": _GRID})
        chart.set_legend({"position": "bottom"})
        chart.set_chartarea({"border": {"none": True}})
        chart.set_size({"width": 900, "height": 20 * _CHART_ROWS})
        self.sheet.page.insert_chart(self.sheet.at + 1, 0, chart, {"object_position": 2})
        self.sheet.at += _CHART_ROWS + 2


def _typical(row: Row) -> float:
    """The typical draw of one unit, kW."""
    line = row.line
    total = line.it_power_kw if line.typical_power_kw is None else line.typical_power_kw
    return (total or 0.0) / line.quantity
