"""A portfolio plan as screen, page, workbook and timeline."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import BinaryIO

from planner.case.fabrics import WORDS
from planner.currency import USD
from planner.figures import capital
from planner.portfolio.schema import JobRun, Order, PortfolioPlan
from planner.report.blocks import (
    ROW_MIDDLE,
    Axis,
    Bars,
    Block,
    Chart,
    Column,
    Heading,
    Panel,
    Table,
    Text,
    figures,
    words,
)
from planner.report.formats import gap as relative_gap
from planner.report.formats import spans
from planner.report.page import ShownStudy, fragment, render_page
from planner.workbook import add_sheet
from planner.workbook.book import Book, Sheet
from planner.workbook.formulas import Shown, Term, V, constant, sum_

MAIN = ("gpu_system", "storage")
UNITS = {
    "goodput": "PFLOP/s mean useful work, weighted",
    "fairness": "PFLOP/s per weight, the least job",
    "cost": "USD capex",
    "tco": "USD TCO",
    "power": "kW mean facility power",
}
MOST_TICKS = 12


# Blocks, for screen, page and sheets


def view(plan: PortfolioPlan, *, full: bool = False) -> list[Block]:
    """Blocks of a plan; ``full`` adds all orders."""
    gap = f", gap {relative_gap(plan.gap)}" if plan.gap is not None else ""
    heading = Heading(f"{plan.problem}: {plan.status}{gap}")
    found: list[Block] = [heading, Text(tuple(_answer(plan)))]
    if not plan.runs:
        return [*found, Text(plan.relaxations, "Smallest relaxation that is feasible", points=True)]
    tables = [_jobs(plan), _runs(plan), _periods(plan), _in_place(plan), _orders(plan, full=full)]
    notes = Text(plan.notes, "Notes", points=True)
    return [*found, *tables, *_changes(plan), _limits(plan, full=full), notes]


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
    tight = defaultdict[str, list[int]](list)
    for use in plan.uses:
        if use.binding:
            tight[use.label(dated=False)] += [] if use.period is None else [use.period]
    texts = (f"{name} ({spans(when, 'period')})" if when else name for name, when in tight.items())
    yield f"Binding: {', '.join(texts) or 'nothing but whole numbers'}"
    starved = [job.job for job in plan.jobs if job.starved]
    if starved:
        yield f"Starved: {', '.join(starved)}"


def _jobs(plan: PortfolioPlan) -> Table:
    """Jobs with their work and sites, tokens against the deadline."""
    rows, sites = plan.jobs, defaultdict[str, dict[str, None]](dict)
    for run in plan.runs:
        sites[run.job][run.site] = None
    columns = (
        words("job", (job.job for job in rows)),
        words("site", (", ".join(sites[job.job]) for job in rows)),
        figures("mean PFLOP/s", (job.mean_useful_pflops for job in rows), 1),
        figures("tokens T", (_trillions(job.tokens) for job in rows), 2),
        figures("demand T", (_trillions(job.tokens_demand) for job in rows), 2),
        figures("by period", (job.tokens_by for job in rows)),
        figures("reached in", (job.tokens_in for job in rows)),
    )
    return Table("Jobs", columns, notes=tuple(f"{j.job}: {j.note}" for j in rows if j.note))


def _trillions(tokens: float | None) -> float | None:
    return None if tokens is None else tokens / 1e12


def _spans(plan: PortfolioPlan) -> list[list[JobRun]]:
    """Runs by job; periods in which a job runs the same are together."""
    rows: list[list[JobRun]] = []
    for run in sorted(plan.runs, key=lambda r: (r.job, r.period)):
        if rows and _goes_on(rows[-1][-1], run):
            rows[-1].append(run)
        else:
            rows.append([run])
    return rows


def _goes_on(before: JobRun, run: JobRun) -> bool:
    """True if a job runs as in the period before, its work within 0.1 %."""
    same = (before.job, before.item, before.site, before.gpus, before.period + 1)
    work, then = run.useful_pflops or 0.0, before.useful_pflops or 0.0
    near = math.isclose(work, then, rel_tol=1e-3)
    return near and same == (run.job, run.item, run.site, run.gpus, run.period)


def _type(plan: PortfolioPlan, item: str) -> str:
    """The model of an item without its vendor."""
    return plan.models[item].split(maxsplit=1)[-1]


def _runs(plan: PortfolioPlan) -> Table:
    """Runs by job, a row for periods in which it runs the same."""
    rows = _spans(plan)
    last = [row[-1] for row in rows]
    spares = [figures("spares", (r.spares for r in last))] if any(r.spares for r in last) else []
    columns = (
        words("job", (r.job for r in last)),
        words("periods", (spans(r.period for r in row) for row in rows)),
        words("site", (r.site for r in last)),
        words("on", (_type(plan, r.item) for r in last)),
        figures("GPUs", (r.gpus for r in last)),
        *spares,
        figures("goodput", (r.goodput for r in last), "share"),
        figures("PFLOP/s", (r.useful_pflops for r in last), 1),
        figures("tokens T", (_trillions(r.tokens) for r in last), 2),
        figures("write", (r.delivered_write_gb_per_s for r in last), "GB/s", detail=True),
        figures("interval", (r.interval_s for r in last), "s", detail=True),
    )
    notes = ("Tokens are those trained by the end of the last period of a row.",)
    return Table("Jobs by period", columns, notes=notes, rows="runs")


def _periods(plan: PortfolioPlan) -> Table:
    """By period: date, money, budget left, power used of each site."""
    money, left = plan.money, {u.period: u.limit - u.used for u in plan.uses if u.name == "capex"}
    columns = [
        figures("period", (m.period for m in money), foot="total"),
        words("from", (m.start for m in money)),
        _paid("capex", [m.capex_usd for m in money]),
    ]
    if left.keys() - {None}:
        columns.append(figures("left MUSD", (left.get(m.period) for m in money), 2))
    powers = [use for use in plan.uses if use.name == "facility_power"]
    for site in dict.fromkeys(use.site for use in powers):
        texts = (f"{u.used:,.0f}/{u.limit:,.0f}" for u in powers if u.site == site)
        columns.append(words(f"{site} kW", texts))
    for name in ("energy", "support", "resale"):
        paid = [getattr(m, f"{name}_usd") for m in money]
        columns += [_paid(name, paid, detail=True)] if any(paid) else []
    notes = [f"Left of the total capital budget: {left[None]:,.2f} MUSD."] if None in left else []
    return Table("By period", tuple(columns), notes=tuple(notes))


def _paid(name: str, usd: Sequence[float], *, detail: bool = False) -> Column:
    paid, total = [each / 1e6 for each in usd], f"{sum(usd) / 1e6:,.2f}"
    return figures(f"{name} MUSD", paid, 2, detail=detail, foot=total)


def _in_place(plan: PortfolioPlan) -> Table:
    """GPU systems and storage at each site in each period, with those in use and retired."""
    used = Counter[tuple[str, str, int]]()
    for run in plan.runs:
        used[run.site, run.item, run.period] += run.systems
    main = (each for each in plan.standing if each.category in MAIN)
    there = {(each.site, each.item, each.period): each for each in main}

    def text(site: str, item: str, period: int) -> str:
        each = there.get((site, item, period))
        if each is None:
            return ""
        working = used[site, item, period] if each.category == "gpu_system" else each.held
        parts = [f"{each.held:,}", f"{working:,} in use" if working != each.held else ""]
        parts.append(f"{each.retired:,} retired" if each.retired else "")
        return ", ".join(filter(None, parts))

    rows = sorted({key[:2] for key in there}, key=lambda row: (row[0], plan.models[row[1]]))
    periods: dict[tuple[str, ...], list[int]] = {}
    for money in plan.money:  # those with the same units are one column
        texts = tuple(text(*row, money.period) for row in rows)
        periods.setdefault(texts, []).append(money.period)
    columns = (
        words("site", (site for site, _ in rows)),
        words("item", (_type(plan, item) for _, item in rows)),
        *(words(spans(when, "period"), texts) for texts, when in periods.items()),
    )
    return Table("GPU systems and storage in place", columns)


def _orders(plan: PortfolioPlan, *, full: bool) -> Table:
    rows = [o for o in plan.orders if full or o.category in MAIN]
    others = [o for o in plan.orders if not (full or o.category in MAIN)]
    paid = sum(o.extended_usd for o in others) / 1e6
    total, dates = sum(o.extended_usd for o in rows) / 1e6, {m.period: m.start for m in plan.money}
    note = f"{len(others)} more orders for {paid:,.2f} MUSD: fabrics, racks, spare parts."
    columns = (
        figures("period", (o.period for o in rows), foot="total"),
        words("date", (o.date for o in rows)),
        words("site", (o.site for o in rows)),
        words("item", (o.model for o in rows)),
        figures("units", (o.quantity for o in rows)),
        figures("USD each", (o.unit_net_usd for o in rows)),
        figures("MUSD", (o.extended_usd / 1e6 for o in rows), 2, foot=f"{total:,.2f}"),
        words("in place", (dates[o.arrives] or f"period {o.arrives}" for o in rows)),
    )
    return Table("Orders", columns, notes=(note,) if others else (), rows="orders")


def _changes(plan: PortfolioPlan) -> Iterator[Table]:
    """Yield the units that are retired, and the fabrics that are laid anew."""
    gone, anew = sorted(plan.retired, key=lambda each: each.period), plan.rewired
    if any(each.arrived for each in gone):
        yield Table(
            "Retired",
            (
                figures("period", (each.period for each in gone)),
                words("site", (each.site for each in gone)),
                words("item", (_type(plan, each.item) for each in gone)),
                figures("units", (each.quantity for each in gone)),
                words("there since", (f"period {r.arrived}" if r.arrived else "-" for r in gone)),
            ),
        )
    if anew:
        note = "Links between switches of fabrics whose spines or cores change"
        note += "." if any(each.usd for each in anew) else ", at no stated cost."
        yield Table(
            "Rewired",
            (
                figures("period", (each.period for each in anew)),
                words("site", (each.site for each in anew)),
                words("fabric", (WORDS[each.network] for each in anew)),
                words("of", (_type(plan, each.switch) for each in anew)),
                figures("links", (each.links for each in anew)),
                figures("USD", (each.usd for each in anew)),
            ),
            notes=(note,),
        )


def _limits(plan: PortfolioPlan, *, full: bool) -> Table:
    rows = [use for use in plan.uses if full or use.binding]
    columns = (
        words("limit", (u.label() for u in rows)),
        figures("used", (u.used for u in rows), 2),
        figures("of", (u.limit for u in rows), 2),
        words("unit", (u.unit for u in rows)),
        *([words("", ("binds" if u.binding else "" for u in rows))] if full else []),
    )
    notes = ("A limit binds without room for one more replica or system of a job that runs there.",)
    name = "Limits" if full else "Binding limits"
    return Table(name, columns, most=None if full else 12, rows="limits", notes=notes)


# Timeline and page


def timeline(plan: PortfolioPlan) -> Chart:
    """Where each job runs in which periods, and each order from its date until it is in place."""
    names, ends, texts, dates = list[str](), list[tuple[float, float]](), list[str](), plan.money
    for row in _spans(plan):
        names.append(f"{row[-1].job}, {row[-1].site}")
        ends.append((row[0].period - 0.5, row[-1].period + 0.5))
        texts.append(f"{row[-1].gpus:,} GPUs, {_type(plan, row[-1].item)}")
    jobs = len(names)
    for money in dates:
        orders = [o for o in plan.orders if o.period == money.period]
        if not orders:
            continue
        units = Counter[str]()
        for order in orders:
            units[_type(plan, order.item)] += order.quantity if order.category in MAIN else 0
        bought = ", ".join(f"{count:,} x {name}" for name, count in (+units).items())
        names.append(f"order of {money.start or f'period {money.period}'}")
        ends.append((money.period - 0.5, max(o.arrives for o in orders) - 0.5 + 0.05))
        texts.append(f"{money.capex_usd / 1e6:,.2f} MUSD: {bought or 'fabrics, racks'}")
    step = -(-len(dates) // MOST_TICKS)
    ticks = tuple((m.period - 0.5, (m.start or f"{m.period}")[:7]) for m in dates[::step])
    at = tuple(number + ROW_MIDDLE for number in range(len(names)))
    starts, stops = zip(*ends, strict=True)
    layers = (
        Bars("", at[:jobs], starts[:jobs], stops[:jobs], tuple(texts[:jobs])),
        Bars("", at[jobs:], starts[jobs:], stops[jobs:], tuple(texts[jobs:]), tone="second"),
    )
    panel = Panel(Axis("Beginning of a period", ticks=ticks), Axis(""), layers, tuple(names))
    return Chart("timeline", "Timeline", "", panel)


def page(plan: PortfolioPlan) -> bytes:
    """A plan as one HTML page without scripts, with its timeline."""
    heading, *blocks = view(plan, full=True)
    shown = ShownStudy(tuple(blocks), (timeline(plan),) if plan.runs else ())
    return render_page(getattr(heading, "text", plan.problem), None, [shown]).encode()


def explored(plan: PortfolioPlan) -> str:
    """The timeline, the jobs by period and the orders as HTML, for `planner explore`."""
    from planner.report.charts import svg_element

    tables = fragment([_runs(plan), _orders(plan, full=False)])
    return svg_element(timeline(plan), "timeline") + tables


# Workbook

_LINE = (
    *(("", 46.0, "text"), ("Part number", 22.0, "text"), ("Category", 16.0, "text")),
    *(("Units", 10.0, "n0"), ("Net price USD", 16.0, "cents")),
    *(("Amount USD", 18.0, "cents"), ("Support USD/year", 18.0, "cents")),
)
"""Columns of a quote: their titles, widths and looks; the last two are summed."""
_ORDER = (("", 14.0, "text"), ("Date", 16.0, "text"), *_LINE[-2:])


class _Rows(Sheet):
    """A sheet of rows, the last two columns summed below."""

    def __init__(self, book: Book, name: str, columns: Sequence[tuple[str, float, str]]) -> None:
        super().__init__(book, name, [each[1] for each in columns], landscape=True, locked=False)
        self.looks = [look for _, _, look in columns]
        self.titles = {at: title for at, (title, _, _) in enumerate(columns) if title}
        self.sums: list[list[Shown]] = [[], []]

    def begin(self, part: str) -> None:
        """Write the heading of a part with the titles of its columns."""
        self.heading(
            part, None, self.titles, [at for at, k in enumerate(self.looks) if k == "text"]
        )

    def add(self, values: Iterable[Term], style: str = "line") -> list[V]:
        """Write the next row; return its sums."""
        looks = [self.book.look(look, style) for look in self.looks]
        row = [self.put(self.at, at, each, looks[at]) for at, each in enumerate(values)]
        for found, cell in zip(self.sums, row[-2:], strict=True):
            found.append(cell.value)
        self.at += 1
        return row[-2:]

    def total(self, label: str) -> list[V]:
        """Write the sums of all rows; return their cells."""
        spans = [self.span(3, self.at - 1, self.last - 1), self.span(3, self.at - 1, self.last)]
        sums = [sum_(values, span) for values, span in zip(self.sums, spans, strict=True)]
        row = self.add((label, *[""] * (self.last - 2), *sums), "sum")
        self.area(0, self.at - 1)
        return row


def workbook(
    plan: PortfolioPlan, stream: BinaryIO, created: datetime, *, inside: bool = True
) -> None:
    """Write a plan as a workbook: the plan, the sums of all orders, a live quote for each."""
    book = Book(stream, plan.problem, created, USD)
    if inside:
        add_sheet(book, "Plan", view(plan))
    dates, periods = {m.period: m.start for m in plan.money}, {o.period for o in plan.orders}
    if periods:
        orders = _Rows(book, "Orders", _ORDER)
        orders.head("Orders", plan.problem)
        orders.begin("Period")
        for period in sorted(periods):
            date = dates.get(period)
            orders.add((f"{period}", date, *_quote(book, plan, period, date)))
        orders.total("Total")
    book.close()


def _quote(book: Book, plan: PortfolioPlan, period: int, date: str | None) -> list[V]:
    """Write the quote of one order; return its amount and its support a year, as live sums."""
    quote, orders = _Rows(book, f"Quote {period}", _LINE), defaultdict[str, list[Order]](list)
    for order in (each for each in plan.orders if each.period == period):
        orders[order.site].append(order)
    terms = "Budgetary quotation · USD, without taxes · estimates, not an offer"
    dated = f" · order of {date}" if date else ""
    quote.head(f"{plan.problem}: order of period {period}", f"{terms}{dated}")
    for site, lines in sorted(orders.items()):
        quote.begin(site)
        for order in sorted(lines, key=_section):
            units, each = (
                V(value, quote.place(quote.at, column)[1])
                for column, value in ((3, order.quantity), (4, order.unit_net_usd))
            )
            yearly = constant(order.support_usd_per_year / order.quantity)
            named = order.model, order.part_number, kind(order.category)
            figures = order.quantity, order.unit_net_usd, units * each, units * yearly
            quote.add((*named, *figures))
        quote.at += 1
    return quote.total("Total of the order")


def _section(order: Order) -> int:
    kinds = (*MAIN, "switch", "transceiver", "cable")
    return kinds.index(order.category) if order.category in kinds else len(kinds)


def kind(category: str) -> str:
    """The name of a category of items."""
    return capital(category.replace("_", " ").replace("gpu", "GPU"))
