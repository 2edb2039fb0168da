"""A portfolio plan as screen, page, workbook and timeline."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from datetime import datetime
from html import escape
from typing import Any, BinaryIO

from planner.currency import USD
from planner.outputs.blocks import Block, Column, Facts, Heading, Table, Text
from planner.outputs.screen import show
from planner.portfolio.schema import JobRun, Order, PortfolioPlan, Use
from planner.workbook import tables
from planner.workbook.book import Book, Sheet
from planner.workbook.live import V, of

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
    "it_power": "IT power",
    "capex": "capital budget",
    "tco": "TCO budget",
    "heat_air": "air-cooled load",
    "heat_liquid": "liquid-cooled load",
}


def label(use: Use) -> str:
    """Return the name of a limit with its site and period."""
    kind, _, job = use.name.partition("_of_")
    name = f"{'tokens' if kind == 'tokens' else 'useful work'} of {job}" if job else use.name
    name = LABELS.get(name, name)
    name += f" at {use.site}" if use.site else ""
    return name + (f" in period {use.period}" if use.period is not None else "")


def binds(use: Use) -> bool:
    """Return whether a plan uses up a limit."""
    if "_of_" in use.name:
        return use.used <= use.limit * (2.0 - TIGHT)
    return use.used >= use.limit * TIGHT


# Blocks, for screen, page and sheets


def view(plan: PortfolioPlan, *, full: bool = False) -> list[Block]:
    """Return what a plan says; ``full`` adds all orders and units in place."""
    found: list[Block] = [Heading(_title(plan)), Text(tuple(_answer(plan)))]
    if not plan.runs:
        return [*found, Text(plan.relaxations, "Smallest relaxation that is feasible", points=True)]
    found += [_jobs(plan), _runs(plan), _periods(plan), _orders(plan, full=full), _limits(plan)]
    if full:
        found.append(_standing(plan))
    found.append(Text(plan.notes, "Notes", points=True))
    return found


def screen(plan: PortfolioPlan, *, full: bool = False) -> str:
    """Return the screen of a plan."""
    return show(view(plan, full=full), full=True)


def _title(plan: PortfolioPlan) -> str:
    gap = f", gap {100 * plan.gap:.2g} %" if plan.gap is not None else ""
    return f"{plan.problem}: {plan.status}{gap}"


def _answer(plan: PortfolioPlan) -> Iterator[str]:
    if plan.message:
        yield plan.message
    if plan.value is None or plan.bound is None or plan.best is None:
        return
    unit = UNITS[plan.objective]
    yield f"Objective: {plan.value:,.6g} {unit}; bound {plan.bound:,.6g} ({plan.solver})"
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


def _number(values: list[Any], digits: int = 0) -> tuple[str, ...]:
    return tuple("-" if v is None else f"{v:,.{digits}f}" for v in values)


def _jobs(plan: PortfolioPlan) -> Table:
    rows = plan.jobs
    asked = [
        "-"
        if j.tokens_asked is None
        else f"{(j.tokens or 0) / 1e12:,.2f} of {j.tokens_asked / 1e12:,.2f} T by {j.tokens_by}"
        for j in rows
    ]
    mean = [j.mean_useful_pflops for j in rows]
    return Table(
        "Jobs",
        (
            Column("job", tuple(j.job for j in rows), words=True),
            Column("kind", tuple(j.kind for j in rows), words=True),
            Column("site", tuple(j.site or "-" for j in rows), words=True),
            Column(
                "priority",
                tuple(j.priority for j in rows),
                texts=_number([j.priority for j in rows]),
            ),
            Column(
                "weight", tuple(j.weight for j in rows), texts=_number([j.weight for j in rows], 1)
            ),
            Column("mean PFLOP/s", tuple(mean), texts=_number(mean, 1)),
            Column("tokens", tuple(asked), words=True),
        ),
        notes=tuple(f"{j.job}: {j.note}" for j in rows if j.note),
    )


def _runs(plan: PortfolioPlan) -> Table:
    """Runs by job; periods in which a job runs the same are one row."""
    rows: list[list[JobRun]] = []
    for run in sorted(plan.runs, key=lambda r: (r.job, r.period)):
        if rows and _same(rows[-1][-1], run):
            rows[-1].append(run)
        else:
            rows.append([run])
    last = [row[-1] for row in rows]
    spans = [(row[0].period, row[-1].period) for row in rows]
    periods = tuple(f"{a}" if a == b else f"{a}-{b}" for a, b in spans)
    goodput = [None if r.goodput is None else 100 * r.goodput for r in last]
    tokens = [None if r.tokens is None else r.tokens / 1e12 for r in last]
    figures: list[tuple[str, list[Any], int]] = [
        ("GPUs", [r.gpus for r in last], 0),
        *([("spares", [r.spares for r in last], 0)] if any(r.spares for r in last) else []),
        ("goodput %", goodput, 2),
        ("PFLOP/s", [r.useful_pflops for r in last], 1),
        ("tokens T", tokens, 2),
        ("write GB/s", [r.write_gb_per_s for r in last], 1),
        ("interval s", [r.interval_s for r in last], 0),
    ]
    return Table(
        "Jobs by period",
        (
            Column("job", tuple(r.job for r in last), words=True),
            Column("periods", periods, texts=periods),
            Column("site", tuple(r.site for r in last), words=True),
            Column("on", tuple(_short(plan, r.item) for r in last), words=True, gives_way=True),
            *(Column(h, tuple(values), texts=_number(values, d)) for h, values, d in figures),
        ),
        notes=("Tokens are those trained by the end of the last period of a row.",),
        rows="runs",
    )


def _same(one: JobRun, other: JobRun) -> bool:
    """Return whether a job goes on as in the period before."""

    def what(run: JobRun) -> tuple[Any, ...]:
        figures = (run.useful_pflops, run.write_gb_per_s, run.interval_s)
        return (run.job, run.item, run.site, run.gpus, *_number([*figures], 1))

    return what(one) == what(other) and other.period == one.period + 1


def _short(plan: PortfolioPlan, item: str) -> str:
    return model(plan, item).split(maxsplit=1)[-1]


def model(plan: PortfolioPlan, item: str) -> str:
    """Return vendor and model of an item."""
    return plan.models.get(item, item)


def _periods(plan: PortfolioPlan) -> Table:
    """By period: date, money, budget left, power used of each site."""
    periods = [m.period for m in plan.money]
    columns = [
        Column("period", tuple(periods), texts=_number(list(periods))),
        Column("from", tuple(m.start or "-" for m in plan.money), words=True),
    ]
    capex = [m.capex_usd / 1e6 for m in plan.money]
    columns.append(Column("capex MUSD", tuple(capex), texts=_number(capex, 2)))
    left = {u.period: u.limit - u.used for u in plan.uses if u.name == "capex"}
    if any(p in left for p in periods):
        values = [left.get(p) for p in periods]
        columns.append(Column("left MUSD", tuple(values), texts=_number(values, 2)))
    energy = [m.energy_usd / 1e6 for m in plan.money]
    columns.append(Column("energy MUSD", tuple(energy), texts=_number(energy, 2)))
    for site in dict.fromkeys(u.site for u in plan.uses if u.name == "facility_power"):
        used = {u.period: u for u in plan.uses if (u.name, u.site) == ("facility_power", site)}
        texts = tuple(f"{used[p].used:,.0f} of {used[p].limit:,.0f}" for p in periods)
        columns.append(Column(f"{site} kW", texts, texts=texts))
    notes = []
    if None in left:
        notes.append(f"Left of the total capital budget: {left[None]:,.2f} MUSD.")
    return Table("By period", tuple(columns), notes=tuple(notes))


def _orders(plan: PortfolioPlan, *, full: bool) -> Table:
    rows = [o for o in plan.orders if full or o.category in MAIN]
    others = [o for o in plan.orders if o not in rows]
    worth = sum(o.extended_usd for o in others) / 1e6
    notes = [f"{len(others)} more orders for {worth:,.2f} MUSD: fabrics, racks, spare parts."]
    money = [o.extended_usd / 1e6 for o in rows]
    each = [o.unit_net_usd for o in rows]
    return Table(
        "Orders",
        (
            Column(
                "period", tuple(o.period for o in rows), texts=_number([o.period for o in rows])
            ),
            Column("date", tuple(o.date or "-" for o in rows), words=True),
            Column("site", tuple(o.site for o in rows), words=True),
            Column("item", tuple(o.model for o in rows), words=True, gives_way=True),
            Column(
                "units", tuple(o.quantity for o in rows), texts=_number([o.quantity for o in rows])
            ),
            Column("USD each", tuple(each), texts=_number(each)),
            Column("MUSD", tuple(money), texts=_number(money, 2)),
            Column(
                "in use from",
                tuple(o.in_use_from for o in rows),
                texts=_number([o.in_use_from for o in rows]),
            ),
        ),
        notes=tuple(notes if others else ()),
        rows="orders",
    )


def _limits(plan: PortfolioPlan) -> Table:
    rows = [use for use in plan.uses if binds(use)]
    return Table(
        "Binding limits",
        (
            Column("limit", tuple(label(u) for u in rows), words=True),
            Column("used", tuple(u.used for u in rows), texts=_number([u.used for u in rows], 2)),
            Column("of", tuple(u.limit for u in rows), texts=_number([u.limit for u in rows], 2)),
            Column("unit", tuple(u.unit for u in rows), words=True),
        ),
        most=12,
        rows="limits",
    )


def _standing(plan: PortfolioPlan) -> Table:
    rows = plan.standing
    counts: list[tuple[str, list[Any]]] = [
        ("in service", [s.needed for s in rows]),
        ("held", [s.held for s in rows]),
        ("retired", [s.retired for s in rows]),
    ]
    return Table(
        "In place",
        (
            Column(
                "period", tuple(s.period for s in rows), texts=_number([s.period for s in rows])
            ),
            Column("site", tuple(s.site for s in rows), words=True),
            Column("item", tuple(model(plan, s.item) for s in rows), words=True, gives_way=True),
            *(Column(h, tuple(values), texts=_number(values)) for h, values in counts),
        ),
        rows="lines",
    )


# Timeline


def timeline(plan: PortfolioPlan, kind: str = "svg") -> bytes:
    """Return a chart of GPUs by job and period, orders below it, as SVG or PNG."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: Any = {"svg.hashsalt": "planner", "svg.fonttype": "path", "font.size": 9}
    periods = [m.period for m in plan.money]
    jobs = [job.job for job in plan.jobs]
    with mpl.rc_context(style):
        figure = Figure(figsize=(10, 5.2), layout="constrained")
        (FigureCanvasAgg if kind == "png" else FigureCanvasSVG)(figure)
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        base = [0.0] * len(periods)
        for job in jobs:
            gpus = [_gpus(plan.runs, job, period) for period in periods]
            top.bar(periods, gpus, bottom=base, width=0.85, label=job)
            base = [low + more for low, more in zip(base, gpus, strict=True)]
        top.set_ylabel("GPUs in use")
        _legend(top)
        base = [0.0] * len(periods)
        for site in dict.fromkeys(order.site for order in plan.orders):
            paid = [_paid(plan.orders, site, period) for period in periods]
            bottom.bar(periods, paid, bottom=base, width=0.85, label=f"orders for {site}")
            base = [low + more for low, more in zip(base, paid, strict=True)]
        bottom.set_ylabel("MUSD")
        bottom.set_xticks(periods, [m.start or f"period {m.period}" for m in plan.money])
        _legend(bottom)
        for axes in (top, bottom):
            axes.spines[["top", "right"]].set_visible(False)
        stream = io.BytesIO()
        metadata = {"Software": None} if kind == "png" else {"Date": None}
        figure.savefig(stream, format=kind, dpi=100, metadata=metadata)
    return stream.getvalue()


def _legend(axes: Any) -> None:
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)


def _gpus(runs: tuple[JobRun, ...], job: str, period: int) -> float:
    return float(sum(r.gpus for r in runs if (r.job, r.period) == (job, period)))


def _paid(orders: tuple[Order, ...], site: str, period: int) -> float:
    return sum(o.extended_usd for o in orders if (o.site, o.period) == (site, period)) / 1e6


# Page

_STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;max-width:76em;margin:2em auto;padding:0 1em;"
    "color:#1f2933}table{border-collapse:collapse;margin:.5em 0 1.5em;font-size:13px}"
    "th,td{padding:.25em .7em;border-bottom:1px solid #d5dde6;text-align:right}"
    "th.w,td.w{text-align:left}th{color:#16324f}svg{max-width:100%;height:auto}"
)


def page(plan: PortfolioPlan) -> bytes:
    """Return a plan as one HTML page without scripts, with its timeline."""
    title = escape(_title(plan))
    head = '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    parts = [f"{head}<title>{title}</title><style>{_STYLE}</style></head><body>"]
    for block in view(plan, full=True):
        parts.append(_html(block))
        if isinstance(block, Text) and plan.runs and "Objective" in " ".join(block.texts):
            parts.append(timeline(plan).decode().partition("<svg")[2].join(("<svg", "")))
    return ("\n".join([*parts, "</body></html>"]) + "\n").encode()


def explored(plan: PortfolioPlan) -> str:
    """Return the timeline, the jobs by period and the orders as HTML, for `planner explore`."""
    svg = "<svg" + timeline(plan).decode().partition("<svg")[2]
    return svg + "".join(_html(table) for table in (_runs(plan), _orders(plan, full=False)))


def _html(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h1>{escape(block.text)}</h1>"
    if isinstance(block, Text):
        head = f"<h2>{escape(block.title)}</h2>" if block.title else ""
        return head + "".join(f"<p>{escape(text)}</p>" for text in block.texts)
    if isinstance(block, Facts):
        return "".join(f"<p>{escape(label)}: {escape(text)}</p>" for label, text in block.shown)
    head = "".join(
        f'<th class="{"w" if c.words else ""}">{escape(c.label)}</th>' for c in block.columns
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td class="{"w" if c.words else ""}">{escape(str(cell))}</td>'
            for c, cell in zip(block.columns, row, strict=True)
        )
        + "</tr>"
        for row in zip(*(c.written for c in block.columns), strict=True)
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in block.notes)
    return f"<h2>{escape(block.title)}</h2><table><tr>{head}</tr>{rows}</table>{notes}"


# Workbook

_WIDTHS = (46.0, 16.0, 10.0, 16.0, 18.0, 18.0)


def workbook(plan: PortfolioPlan, stream: BinaryIO, created: datetime) -> None:
    """Write a plan as a workbook: the plan, a live quote for each order date, the timeline."""
    book = Book(stream, plan.problem, created, USD)
    pictures = [timeline(plan, "png")] if plan.runs else []
    tables.add(book, "Plan", view(plan), pictures)
    totals = {}
    for period in sorted({order.period for order in plan.orders}):
        totals[period] = _quote(book, plan, period)
    if totals:
        _summary(book, plan, totals)
    if plan.standing:
        tables.add(book, "In place", [Heading("Units in place"), _standing(plan)])
    book.close()


def _quote(book: Book, plan: PortfolioPlan, period: int) -> V:
    """Write the quote of one order; quantities and prices are inputs of its sums."""
    money = next(m for m in plan.money if m.period == period)
    sheet = Sheet(book, f"Quote {period}", _WIDTHS, landscape=True, locked=False)
    sheet.head(f"Order of period {period}", f"{plan.problem}; date {money.start or 'not given'}")
    total: V = of(0.0)
    for site in dict.fromkeys(o.site for o in plan.orders if o.period == period):
        titles = ("item", "category", "units", "USD each", "USD", "support USD a year")
        sheet.heading(site, titles=dict(enumerate(titles[1:], 1)))
        for order in plan.orders:
            if (order.period, order.site) == (period, site):
                total = total + _line(sheet, order)
        sheet.at += 1
    sheet.put(sheet.at, 0, "Total of the order", book.look(bold=True))
    cell = sheet.put(sheet.at, 4, total, book.look("cents", bold=True))
    sheet.area(0, sheet.at)
    return cell


def _line(sheet: Sheet, order: Order) -> V:
    book, row = sheet.book, sheet.at
    sheet.put(row, 0, order.model, book.look())
    sheet.put(row, 1, order.category.replace("_", " "), book.look())
    units = sheet.put(row, 2, order.quantity, book.look("n0"))
    each = sheet.put(row, 3, order.unit_net_usd, book.look("cents"))
    extended = sheet.put(row, 4, units * each, book.look("cents"))
    sheet.put(row, 5, order.support_usd_per_year, book.look("cents"))
    sheet.at += 1
    return extended


def _summary(book: Book, plan: PortfolioPlan, totals: Mapping[int, V]) -> None:
    sheet = Sheet(book, "Orders", (14.0, 16.0, 20.0), locked=False)
    sheet.head("Orders", plan.problem)
    sheet.heading("period", titles={1: "date", 2: "USD"})
    whole: V = of(0.0)
    for period, total in totals.items():
        money = next(m for m in plan.money if m.period == period)
        sheet.put(sheet.at, 0, period, book.look("n0"))
        sheet.put(sheet.at, 1, money.start or "", book.look())
        whole = whole + sheet.put(sheet.at, 2, total, book.look("cents"))
        sheet.at += 1
    sheet.put(sheet.at, 0, "Total", book.look(bold=True))
    sheet.put(sheet.at, 2, whole, book.look("cents", bold=True))
