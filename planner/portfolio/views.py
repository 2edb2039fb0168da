"""A portfolio plan as screen, page, workbook and timeline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import BinaryIO

from planner.currency import USD
from planner.figures import capital
from planner.portfolio.schema import JobRun, Order, PortfolioPlan, Use
from planner.report.blocks import (
    ROW_MIDDLE,
    Axis,
    Bars,
    Block,
    Chart,
    Heading,
    Panel,
    Table,
    Text,
    figures,
    words,
)
from planner.report.formats import gap as relative_gap
from planner.report.page import ShownStudy, fragment, render_page
from planner.report.screen import show
from planner.workbook import add_sheet
from planner.workbook.book import Book, Sheet
from planner.workbook.formulas import V, as_value, constant

TIGHT = 0.995
"""A limit binds where at least this share of it is used."""
MAIN = ("gpu_system", "storage")
UNITS = {
    "goodput": "PFLOP/s mean useful work, weighted",
    "fairness": "PFLOP/s per weight, the least job",
    "cost": "USD capex",
    "tco": "USD TCO",
    "power": "kW mean facility power",
}
LABELS = {
    "facility_power": "facility power",
    "it_power": "IT load",
    "capex": "capital budget",
    "tco": "TCO budget",
    "heat_air": "air-cooled load",
    "heat_liquid": "liquid-cooled load",
}


def label(use: Use) -> str:
    """The name of a limit with its site and period."""
    kind, _, job = use.name.partition("_of_")
    name = f"{'tokens' if kind == 'tokens' else 'useful work'} of {job}" if job else use.name
    name = LABELS.get(name, name)
    name += f" at {use.site}" if use.site else ""
    return name + (f" in period {use.period}" if use.period is not None else "")


def binds(use: Use) -> bool:
    """True if a plan uses up a limit."""
    if "_of_" in use.name:
        return use.used <= use.limit * (2.0 - TIGHT)
    return use.used >= use.limit * TIGHT


# Blocks, for screen, page and sheets


def view(plan: PortfolioPlan, *, full: bool = False) -> list[Block]:
    """Blocks of a plan; ``full`` adds all orders."""
    found: list[Block] = [Heading(_title(plan)), Text(tuple(_answer(plan)))]
    if not plan.runs:
        return [*found, Text(plan.relaxations, "Smallest relaxation that is feasible", points=True)]
    found += [_jobs(plan), _runs(plan), _periods(plan), _orders(plan, full=full), _limits(plan)]
    found.append(Text(plan.notes, "Notes", points=True))
    return found


def screen(plan: PortfolioPlan, *, full: bool = False) -> str:
    """The screen of a plan."""
    return show(view(plan, full=full), full=full)


def _title(plan: PortfolioPlan) -> str:
    gap = f", gap {relative_gap(plan.gap)}" if plan.gap is not None else ""
    return f"{plan.problem}: {plan.status}{gap}"


def _answer(plan: PortfolioPlan) -> Iterator[str]:
    if plan.message:
        yield plan.message
    if plan.value is None or plan.best is None:
        return
    unit = UNITS[plan.objective]
    bound = "no bound in time" if plan.bound is None else f"bound {plan.bound:,.6g}"
    yield f"Objective: {plan.value:,.6g} {unit}; {bound} ({plan.solver})"
    share = 1.0 - plan.value / plan.best if plan.best else 0.0
    if plan.tolerance and share > 1e-5:
        yield f"Near-optimal: {100 * share:.2g} % below the best ({plan.best:,.6g}) for less money"
    capex, tco = (plan.capex_usd or 0.0) / 1e6, (plan.tco_usd or 0.0) / 1e6
    yield f"Cost: capex {capex:,.2f} MUSD, TCO {tco:,.2f} MUSD over {len(plan.money)} periods"
    tight = dict.fromkeys(_grouped(use) for use in plan.uses if binds(use))
    yield f"Binding: {', '.join(tight) or 'nothing but whole numbers'}"
    starved = [job.job for job in plan.jobs if job.starved]
    if starved:
        yield f"Starved: {', '.join(starved)}"


def _grouped(use: Use) -> str:
    return label(use.model_copy(update={"period": None}) if use.site else use)


def _jobs(plan: PortfolioPlan) -> Table:
    rows = plan.jobs
    asked = (
        None
        if j.tokens_demand is None
        else f"{(j.tokens or 0) / 1e12:,.2f} of {j.tokens_demand / 1e12:,.2f} T by {j.tokens_by}"
        for j in rows
    )
    columns = (
        words("job", (j.job for j in rows)),
        words("site", (j.site for j in rows)),
        figures("mean PFLOP/s", (j.mean_useful_pflops for j in rows), 1),
        words("tokens", asked),
    )
    return Table("Jobs", columns, notes=tuple(f"{j.job}: {j.note}" for j in rows if j.note))


def _spans(plan: PortfolioPlan) -> list[list[JobRun]]:
    """Runs by job; periods in which a job runs the same are together."""
    rows: list[list[JobRun]] = []
    for run in sorted(plan.runs, key=lambda r: (r.job, r.period)):
        if rows and _goes_on(rows[-1][-1], run):
            rows[-1].append(run)
        else:
            rows.append([run])
    return rows


def _type(plan: PortfolioPlan, run: JobRun) -> str:
    return plan.models[run.item].split(maxsplit=1)[-1]


def _runs(plan: PortfolioPlan) -> Table:
    """Runs by job, a row for periods in which it runs the same."""
    rows = _spans(plan)
    last = [row[-1] for row in rows]
    ends = [(row[0].period, row[-1].period) for row in rows]
    spares = [figures("spares", (r.spares for r in last))] if any(r.spares for r in last) else []
    columns = (
        words("job", (r.job for r in last)),
        words("periods", (f"{a}" if a == b else f"{a}-{b}" for a, b in ends)),
        words("site", (r.site for r in last)),
        words("on", (_type(plan, r) for r in last)),
        figures("GPUs", (r.gpus for r in last)),
        *spares,
        figures("goodput %", (None if r.goodput is None else 100 * r.goodput for r in last), 2),
        figures("PFLOP/s", (r.useful_pflops for r in last), 1),
        figures("tokens T", (None if r.tokens is None else r.tokens / 1e12 for r in last), 2),
        figures("delivered write GB/s", (r.delivered_write_gb_per_s for r in last), 1, detail=True),
        figures("interval s", (r.interval_s for r in last), detail=True),
    )
    notes = ("Tokens are those trained by the end of the last period of a row.",)
    return Table("Jobs by period", columns, notes=notes, rows="runs")


def _goes_on(before: JobRun, run: JobRun) -> bool:
    """True if a job runs as in the period before, its work within 0.1 %."""
    same = (before.job, before.item, before.site, before.gpus, before.period + 1)
    work, then = run.useful_pflops or 0.0, before.useful_pflops or 0.0
    near = math.isclose(work, then, rel_tol=1e-3)
    return near and same == (run.job, run.item, run.site, run.gpus, run.period)


def _periods(plan: PortfolioPlan) -> Table:
    """By period: date, money, budget left, power used of each site."""
    columns = [
        figures("period", (m.period for m in plan.money)),
        words("from", (m.start for m in plan.money)),
        figures("capex MUSD", (m.capex_usd / 1e6 for m in plan.money), 2),
    ]
    left = {u.period: u.limit - u.used for u in plan.uses if u.name == "capex"}
    if left.keys() - {None}:
        columns.append(figures("left MUSD", (left.get(m.period) for m in plan.money), 2))
    columns.append(figures("energy MUSD", (m.energy_usd / 1e6 for m in plan.money), 2))
    powers = [use for use in plan.uses if use.name == "facility_power"]
    for site in dict.fromkeys(use.site for use in powers):
        texts = (f"{u.used:,.0f} of {u.limit:,.0f}" for u in powers if u.site == site)
        columns.append(words(f"{site} kW", texts))
    notes = [f"Left of the total capital budget: {left[None]:,.2f} MUSD."] if None in left else []
    return Table("By period", tuple(columns), notes=tuple(notes))


def _orders(plan: PortfolioPlan, *, full: bool) -> Table:
    rows = [o for o in plan.orders if full or o.category in MAIN]
    others = [o for o in plan.orders if o not in rows]
    worth = sum(o.extended_usd for o in others) / 1e6
    note = f"{len(others)} more orders for {worth:,.2f} MUSD: fabrics, racks, spare parts."
    columns = (
        figures("period", (o.period for o in rows)),
        words("date", (o.date for o in rows)),
        words("site", (o.site for o in rows)),
        words("item", (o.model for o in rows)),
        figures("units", (o.quantity for o in rows)),
        figures("USD each", (o.unit_net_usd for o in rows)),
        figures("MUSD", (o.extended_usd / 1e6 for o in rows), 2),
        figures("in use from", (o.in_use_from for o in rows)),
    )
    return Table("Orders", columns, notes=(note,) if others else (), rows="orders")


def _limits(plan: PortfolioPlan) -> Table:
    rows = [use for use in plan.uses if binds(use)]
    columns = (
        words("limit", (label(u) for u in rows)),
        figures("used", (u.used for u in rows), 2),
        figures("of", (u.limit for u in rows), 2),
        words("unit", (u.unit for u in rows)),
    )
    return Table("Binding limits", columns, most=12, rows="limits")


# Timeline and page


def timeline(plan: PortfolioPlan) -> tuple[Chart, Chart]:
    """Where each job runs in which periods, and the money of each order date."""
    rows, paid = _spans(plan), [m for m in plan.money if m.capex_usd]
    texts = [f"{r[-1].gpus:,} GPUs, {_type(plan, r[-1])}" for r in rows]
    runs = [(r[0].period - 0.5, r[-1].period + 0.5) for r in rows]
    ticks = tuple((float(m.period), str(m.period)) for m in plan.money)
    money = [(0.0, m.capex_usd / 1e6) for m in paid]
    names = [f"{r[0].job}, {r[0].site}" for r in rows]
    dates = [m.start or f"period {m.period}" for m in paid]
    amounts = [f"{high:,.2f} MUSD" for _, high in money]
    jobs = _list(Axis("Period", ticks=ticks), names, runs, texts)
    orders = _list(Axis("Orders", "MUSD"), dates, money, amounts)
    return Chart("timeline", "Jobs by period", "", jobs), Chart("orders", "Orders", "", orders)


def _list(
    axis: Axis, names: Sequence[str], ends: Sequence[tuple[float, float]], texts: Sequence[str]
) -> Panel:
    rows = tuple(number + ROW_MIDDLE for number in range(len(names)))
    starts, stops = ([*zip(*ends, strict=True)]) or ((), ())
    bars = Bars("", rows, starts, stops, tuple(texts))
    return Panel(axis, Axis(""), (bars,), tuple(names))


def page(plan: PortfolioPlan) -> bytes:
    """A plan as one HTML page without scripts, with its timeline."""
    charts = timeline(plan) if plan.runs else ()
    shown = ShownStudy(tuple(view(plan, full=True)), charts)
    return render_page(_title(plan), None, [shown]).encode()


def explored(plan: PortfolioPlan) -> str:
    """The timeline, the jobs by period and the orders as HTML, for `planner explore`."""
    from planner.report.charts import svg_element

    drawn = (svg_element(chart, chart.name) for chart in timeline(plan))
    return "".join(drawn) + fragment([_runs(plan), _orders(plan, full=False)])


# Workbook

_WIDTHS = (46.0, 16.0, 10.0, 16.0, 18.0, 18.0)


def workbook(
    plan: PortfolioPlan, stream: BinaryIO, created: datetime, *, inside: bool = True
) -> None:
    """Write a plan as a workbook: the plan, a live quote for each order date."""
    book = Book(stream, plan.problem, created, USD)
    if inside:
        add_sheet(book, "Plan", view(plan))
    totals = {}
    for period in sorted({order.period for order in plan.orders}):
        totals[period] = _quote(book, plan, period)
    if totals:
        _summary(book, plan, totals)
    book.close()


def _quote(book: Book, plan: PortfolioPlan, period: int) -> tuple[V, V]:
    """Write the quote of one order; return its amount and its support a year, as live sums."""
    money = next(m for m in plan.money if m.period == period)
    sheet = Sheet(book, f"Quote {period}", _WIDTHS, landscape=True, locked=False)
    date = f" · order of {money.start}" if money.start else ""
    terms = "Budgetary quotation · USD, without taxes · estimates, not an offer"
    sheet.head(f"{plan.problem}: order of period {period}", f"{terms}{date}")
    total, support = as_value(0.0), as_value(0.0)
    for site in dict.fromkeys(o.site for o in plan.orders if o.period == period):
        titles = ("Category", "Units", "Net price USD", "Amount USD", "Support USD/year")
        sheet.heading(site, titles=dict(enumerate(titles, 1)), left=(1,))
        for order in sorted(plan.orders, key=_section):
            if (order.period, order.site) == (period, site):
                paid, yearly = _line(sheet, order)
                total, support = total + paid, support + yearly
        sheet.at += 1
    _sum(sheet, "Total of the order", {4: total, 5: support})
    sheet.area(0, sheet.at - 1)
    return total, support


def _sum(sheet: Sheet, label: str, sums: Mapping[int, V]) -> None:
    sheet.fill(sheet.at, sheet.book.look("text", "sum"))
    sheet.put(sheet.at, 0, label, sheet.book.look("text", "sum"))
    for column, value in sums.items():
        sheet.put(sheet.at, column, value, sheet.book.look("cents", "sum"))
    sheet.at += 1


def _section(order: Order) -> int:
    kinds = (*MAIN, "switch", "transceiver", "cable")
    return kinds.index(order.category) if order.category in kinds else len(kinds)


def kind(category: str) -> str:
    """The name of a category of items."""
    return capital(category.replace("_", " ").replace("gpu", "GPU"))


def _line(sheet: Sheet, order: Order) -> tuple[V, V]:
    look, row = sheet.book.look, sheet.at
    sheet.put(row, 0, order.model, look("text", "line"))
    sheet.put(row, 1, kind(order.category), look("text", "line"))
    units = sheet.put(row, 2, order.quantity, look("n0", "line"))
    each = sheet.put(row, 3, order.unit_net_usd, look("cents", "line"))
    extended = sheet.put(row, 4, units * each, look("cents", "line"))
    yearly = constant(order.support_usd_per_year / order.quantity if order.quantity else 0.0)
    sheet.at += 1
    return extended, sheet.put(row, 5, units * yearly, look("cents", "line"))


def _summary(book: Book, plan: PortfolioPlan, totals: Mapping[int, tuple[V, V]]) -> None:
    sheet = Sheet(book, "Orders", (14.0, 16.0, 20.0, 20.0), locked=False)
    sheet.head("Orders", plan.problem)
    titles = {1: "Date", 2: "Amount USD", 3: "Support USD/year"}
    sheet.heading("Period", titles=titles, left=(1,))
    sums = {2: as_value(0.0), 3: as_value(0.0)}
    for period, order in totals.items():
        money = next(m for m in plan.money if m.period == period)
        sheet.put(sheet.at, 0, f"{period}", book.look("text", "line"))
        sheet.put(sheet.at, 1, money.start or "", book.look("text", "line"))
        for column, value in enumerate(order, 2):
            cell = sheet.put(sheet.at, column, value, book.look("cents", "line"))
            sums[column] = sums[column] + cell
        sheet.at += 1
    _sum(sheet, "Total", sums)
