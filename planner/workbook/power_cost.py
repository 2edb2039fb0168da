"""The sheet Power & cost: IT load and facility power by line, and what the term costs, by year."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from planner.figures import BTU_PER_H_PER_KW
from planner.report import edition
from planner.report.words import product
from planner.schema.plan import Line, Plan
from planner.sizing.facility import HOURS_PER_YEAR, discounted_years
from planner.workbook.book import (
    GREY,
    INK,
    THIN,
    Allowed,
    Book,
    Fact,
    Given,
    Sheet,
    constant,
    write_figures,
)
from planner.workbook.live import Term, V, if_, join, max_, min_, sum_
from planner.workbook.performance import Performance, sum_of
from planner.workbook.quote import Bill, Row, support_span

NAME = "Power & cost"
_WIDTHS = (46, 16, 16, 16, 16, 16, 16)
_MONTHS = 12
_CHART_ROWS = 14


class PowerCost:
    """The sheet; ``cells`` holds its totals by the name they have in a plan."""

    def __init__(self, book: Book, plan: Plan, bill: Bill) -> None:
        self.book, self.plan, self.bill = book, plan, bill
        self.sheet = Sheet(book, NAME, _WIDTHS)
        self.cells: dict[str, V] = {}
        self.money = bill.prices == "all"
        self._liquid = edition.cooled_by_liquid(plan)

    @property
    def known(self) -> bool:
        """Whether the draw of every line is known."""
        return self.plan.totals is not None and self.plan.totals.it_power_kw is not None

    @property
    def has_term(self) -> bool:
        """Whether there is a cost over the term to show."""
        totals = self.plan.totals
        return self.money and totals is not None and totals.tco_usd is not None

    def write(self, job: Performance) -> None:
        """Write inputs, power, cost and spending by year."""
        what = "Power and cost over the term" if self.money else "Power and cooling"
        self.sheet.head(what, "Yellow cells may be edited, everything follows.")
        self._part("Inputs", self._inputs())
        self._lines()
        self.sheet.at += 1
        self._part("Power and heat", self._power())
        if self.money and self.plan.totals is not None:
            self._part("Cost", self._cost(job))
        if self.has_term:
            self._years()
        self.sheet.area(0, self.sheet.at)

    def _part(self, title: str, rows: Iterator[Fact | Given]) -> None:
        self.sheet.heading(title)
        write_figures(self.sheet, rows, self.cells)
        self.sheet.at += 1

    def _inputs(self) -> Iterator[Fact | Given]:
        site, ratio = self.plan.site, Allowed(1, 10)
        yield Given("pue", site.pue, "", ratio)
        if edition.two_pues(self.plan):
            yield Given("pue_liquid", site.pue_liquid, "", ratio)
        if self.money and site.electricity_usd_per_kwh is not None and site.years is not None:
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
        sheet, titles = self.sheet, ["Quantity", "kW each", "IT load kW", "Typical kW"]
        titles += ["Liquid-cooled kW"] if self._liquid else []
        sheet.heading("Power by line", len(titles), dict(enumerate(titles, start=1)))
        first = sheet.at
        columns: dict[str, list[V]] = {"it": [], "typical": [], "liquid": []}
        for row in self.bill.rows:
            if row.line.it_power_kw and row.line.quantity:
                self._line(row, columns)
        strong: dict[str, Any] = {"bold": True, "top": 2, "top_color": INK}
        sheet.put(sheet.at, 0, "Total", self.book.look(**strong))
        sheet.fill(sheet.at, self.book.look(**strong), 1, 2)
        for column, key in enumerate(columns, start=3):
            if key == "liquid" and not self._liquid:
                continue
            span = sheet.span(first, max(first, sheet.at - 1), column)
            total: Term = sum_(columns[key], span) if self.known and columns[key] else "n/a"
            look = self.book.look("n1", align="right", **strong)
            self.cells[f"{key}_kw"] = sheet.put(sheet.at, column, total, look, f"{key}_kw")
        sheet.at += 1

    def _line(self, row: Row, columns: dict[str, list[V]]) -> None:
        sheet, line, at = self.sheet, row.line, self.sheet.at
        sheet.put(at, 0, f"{row.label}  {product(line)}", self.book.look(**THIN))
        quantity = sheet.put(at, 1, row.cells["quantity"], self.book.look("n0", **THIN))
        power = (line.it_power_kw or 0.0) / line.quantity
        look = self.book.look("n1", **THIN)
        each = sheet.put(at, 2, power, self.book.look("n2", **THIN))
        total = sheet.put(at, 3, quantity * each, look)
        columns["it"].append(total)
        typical = line.typical_power_kw
        share = power if typical is None else typical / line.quantity
        columns["typical"].append(sheet.put(at, 4, quantity * constant(share), look))
        if self._liquid:
            liquid = total * constant(line.liquid_share) if line.liquid_share else None
            columns["liquid"].append(sheet.put(at, 5, liquid, look))
        sheet.at += 1

    def _power(self) -> Iterator[Fact]:
        cells, it_kw = self.cells, self.cells["it_kw"]
        yield Fact("it_power_kw", it_kw, "at the nameplate draw")
        meter, how = it_kw * cells["pue"], "IT load x PUE"
        liquid = cells.get("liquid_kw")
        if "pue_liquid" in cells and liquid is not None:
            meter = (it_kw - liquid) * cells["pue"] + liquid * cells["pue_liquid"]
            how = "air-cooled load x PUE + liquid-cooled load x its PUE"
        yield Fact("facility_power_kw", meter, how)
        how = "nameplate where a typical draw is not stated"
        yield Fact("typical_power_kw", cells["typical_kw"], how)
        if liquid is not None:
            yield Fact("heat_liquid_kw", liquid)
        yield Fact("heat_air_kw", it_kw - liquid if liquid is not None else it_kw)
        yield Fact("heat_btu_per_h", it_kw * BTU_PER_H_PER_KW, "1 kW is 3,412.14 BTU/h")

    def _cost(self, job: Performance) -> Iterator[Fact]:
        cells, bill = self.cells, self.bill.totals
        yield Fact("capex_usd", bill["amount"], "total of the sheet Quote")
        yield Fact("support_usd_per_year", bill["support"])
        parts = ["support_usd_per_year"]
        if "subscription" in bill:
            parts.append("subscriptions_usd_per_year")
            yield Fact(parts[-1], bill["subscription"])
        if not self.has_term:
            return
        parts.append("energy_usd_per_year")
        yield self._energy()
        if "colocation_usd_per_kw_month" in cells:
            parts.append("colocation_usd_per_year")
            rent = cells["it_power_kw"] * _MONTHS * cells["colocation_usd_per_kw_month"]
            yield Fact(parts[-1], rent, "IT load x 12 months x price")
        yield Fact("opex_usd_per_year", sum_of([cells[name] for name in parts]))
        yield from self._term(parts)
        yield from self._ratios(job)

    def _energy(self) -> Fact:
        cells = self.cells
        power, how = cells["facility_power_kw"], f"facility power x {HOURS_PER_YEAR:,.0f} h x price"
        if self.plan.site.energy_basis == "typical":
            power, how = self._typical_meter(), "typical " + how
        energy = power * constant(HOURS_PER_YEAR) * cells["electricity_usd_per_kwh"]
        return Fact("energy_usd_per_year", energy, how)

    def _typical_meter(self) -> V:
        """The facility power at the typical draw."""
        cells = self.cells
        if "pue_liquid" not in cells:
            return cells["typical_kw"] * cells["pue"]
        rows = [row for row in self.bill.rows if row.line.it_power_kw and row.line.liquid_share]
        each = [constant(_typical(row.line) * row.line.liquid_share) for row in rows]
        wet = sum_of([row.cells["quantity"] * kw for row, kw in zip(rows, each, strict=True)])
        return (cells["typical_kw"] - wet) * cells["pue"] + wet * cells["pue_liquid"]

    def _term(self, parts: list[str]) -> Iterator[Fact]:
        cells = self.cells
        if not edition.over_time(self.plan):
            total = cells["capex_usd"] + cells["years"] * cells["opex_usd_per_year"]
            yield Fact("tco_usd", total, "capex + term x opex")
            return
        years = discounted_years(0.0, self.plan.site.years or 0.0, self.plan.site.discount_rate)
        how = "sum of the sheet Quote: by the years each line pays it, discounted"
        yield Fact("support_over_term", self.bill.totals["over_term"], how)
        rest = constant(years) * sum_of([cells[name] for name in parts[1:]])
        how = f"capex + support over the term + {years:,.4g} discounted years x the rest"
        total = cells["capex_usd"] + cells["support_over_term"] + rest
        yield Fact("tco_usd", total, how)

    def _ratios(self, job: Performance) -> Iterator[Fact]:
        cells, totals = self.cells, self.plan.totals
        assert totals is not None
        if totals.usd_per_useful_gpu_hour is not None:
            hours = job["useful_gpus"] * constant(HOURS_PER_YEAR) * cells["years"]
            how = "TCO / (effective GPUs x hours)"
            yield Fact("usd_per_useful_gpu_hour", cells["tco_usd"] / hours, how)
        if totals.usd_per_million_tokens is not None and "active_parameters_billion" in job:
            tokens = job["useful_pflops"] * constant(HOURS_PER_YEAR * 3600) / 6
            tokens = tokens / job["active_parameters_billion"] * cells["years"]
            how = "TCO / tokens trained in the term"
            yield Fact("usd_per_million_tokens", cells["tco_usd"] / tokens, how)

    def _years(self) -> None:
        """Write the payments by year of the term, with a chart."""
        sheet, cells, money = self.sheet, self.cells, self.book.look("usd", **THIN)
        kinds = {"Capex": "capex_usd", "Support": "support_usd_per_year"}
        names = {
            "Subscriptions": "subscriptions_usd_per_year",
            "Energy": "energy_usd_per_year",
            "Colocation": "colocation_usd_per_year",
        }
        kinds |= {title: name for title, name in names.items() if name in cells}
        titles = dict(enumerate([*kinds, "Together"], start=1))
        sheet.heading(f"Spending by year, {self.book.code}, not discounted", len(titles), titles)
        first, last_year = sheet.at, math.ceil(self.plan.site.years or 0.0)
        for year in range(last_year + 1):
            sheet.put(sheet.at, 0, self._year_name(year, last_year), self.book.look(**THIN))
            paid = [self._paid(name, year, last_year) for name in kinds.values()]
            found = [sheet.put(sheet.at, at, value, money) for at, value in enumerate(paid, 1)]
            sheet.put(
                sheet.at,
                len(found) + 1,
                sum_of(found),
                self.book.look("usd", bold=True, **THIN),
            )
            sheet.at += 1
        self._chart(first, sheet.at - 1, list(kinds))

    def _year_name(self, year: int, last: int) -> Term:
        if year == 0:
            return "Purchase"
        later = if_(self.cells["years"] > last, " and later", "")
        return join(f"Year {year}", later) if year == last else f"Year {year}"

    def _paid(self, name: str, year: int, last: int) -> Term:
        """A payment of a year; the last year has the rest of the term."""
        cells = self.cells
        if name == "capex_usd" or year == 0:
            return cells[name] if name == "capex_usd" and year == 0 else 0
        if name == "support_usd_per_year" and edition.over_time(self.plan):
            return cells[name] * constant(self._supported(year))
        left = cells["years"] - (year - 1)
        return cells[name] * max_(0, left if year == last else min_(1, left))

    def _supported(self, year: int) -> float:
        """The share of the support per year that is paid in a year, as planned."""
        lines = [line for line in edition.own_lines(self.plan) if line.support_usd_per_year]
        paid = whole = 0.0
        for line in lines:
            since, until = support_span(line, self.plan.site.years or 0.0)
            whole += line.support_usd_per_year or 0.0
            paid += (line.support_usd_per_year or 0.0) * max(
                0.0, min(year, until) - max(year - 1, since)
            )
        return paid / whole if whole else 0.0

    def _chart(self, first: int, last: int, kinds: list[str]) -> None:
        chart = self.book.file.add_chart({"type": "column", "subtype": "stacked"})
        fills = ("#16324F", "#2F6DB5", "#7FB2E5", "#D9822B", "#8A97A5")
        for column, (title, fill) in enumerate(zip(kinds, fills, strict=False), start=1):
            chart.add_series(
                {
                    "name": title,
                    "categories": [NAME, first, 0, last, 0],
                    "values": [NAME, first, column, last, column],
                    "fill": {"color": fill},
                    "gap": 60,
                }
            )
        font = {"size": 9, "color": GREY}
        title = f"Spending by year, million {self.book.code}"
        chart.set_title({"name": title, "name_font": {"size": 11, "color": INK}})
        chart.set_x_axis({"num_font": font, "line": {"color": GREY}})
        grid = {"visible": True, "line": {"color": "#E6ECF2"}}
        chart.set_y_axis(
            {
                "num_font": font,
                "num_format": "#,##0,,",
                "major_gridlines": grid,
                "line": {"none": True},
            }
        )
        chart.set_legend({"position": "bottom", "font": font})
        chart.set_chartarea({"border": {"none": True}})
        chart.set_size({"width": 900, "height": 20 * _CHART_ROWS})
        self.sheet.at += 1
        self.sheet.page.insert_chart(self.sheet.at, 0, chart, {"object_position": 2})
        self.sheet.at += _CHART_ROWS + 1


def _typical(line: Line) -> float:
    """The typical draw of one unit, kW."""
    total = line.it_power_kw if line.typical_power_kw is None else line.typical_power_kw
    return (total or 0.0) / line.quantity
