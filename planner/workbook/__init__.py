"""The workbook of a plan: five live sheets, four of them for the customer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import BinaryIO

from planner.figures import FIGURES
from planner.report.edition import PRICES, Audience, for_audience, in_currency
from planner.report.words import MW_FROM_KW
from planner.schema import Prices
from planner.schema.operation import JobPlan
from planner.schema.plan import Plan
from planner.workbook import performance, quote, tables
from planner.workbook.book import Book, Place, Sheet
from planner.workbook.live import Scalar, Term, V, differs, grouped, if_, join, round_, sum_of
from planner.workbook.performance import Performance, PowerCost, write_limits
from planner.workbook.quote import Bill, Tile

OPERATION = ("figure", performance.NAME)
"""Kind and sheet of inputs on which the checkpoint interval and repairs rest."""
More = Callable[[Book], None]
"""Adds a further sheet."""


def write(
    plan: Plan,
    stream: BinaryIO,
    *,
    created: datetime,
    audience: Audience = "internal",
    prices: Prices | None = None,
    inputs: bytes | None = None,
    more: Sequence[More] = (),
    typed: Mapping[Place, Scalar] | None = None,
    keep: bool = False,
) -> Book:
    """Write ``plan`` as a workbook; the same plan and date give the same bytes.

    Returns the cells as written.

    Args:
        plan: one without lines gives the reason why there is no plan.
        stream: where the bytes go, open for writing.
        audience: whom it is for; outside there is no sheet `Basis` and nothing is carried.
        prices: which prices it shows, by default those of the audience.
        inputs: the text of the plan's inputs; the internal edition carries it, or what the plan
            holds.
        more: further sheets of the internal edition.
        typed: values of cells that were edited, by their place, to compute with.
        keep: whether the cells returned hold what was written.

    Raises:
        ValueError: the plan holds more than one job.
        OSError: the folder of temporary files is full or closed.
    """
    if len(plan.jobs) > 1:
        raise ValueError(f"a workbook shows one job, the plan holds {len(plan.jobs)}")
    inside, edition = audience == "internal", prices or PRICES[audience]
    carried = None
    if inside and (inputs or plan.inputs):  # first, as it takes memory for a moment
        carried = tables.pack(plan, inputs, created)
    plan = in_currency(for_audience(plan, audience, prices))
    book = Book(stream, plan.problem, created, plan.shown_in, typed, keep=keep)
    if plan.jobs and plan.lines:
        bill = quote.begin(book, plan, edition)
        job, power = Performance(book, plan, bill), PowerCost(book, plan, bill)
        job.write()
        power.write(job)
        write_limits(job, power)
        quote.finish(
            bill, _tiles(bill, job, power), _sentence(bill, job), _banner(bill, plan.jobs[0])
        )
        tables.write_racks(book, plan)
    else:
        sheet = Sheet(book, quote.NAME, (100,))
        sheet.head(plan.problem, f"No plan: {plan.status}")
        sheet.text(plan.message or "There is no plan.")
    if inside:
        tables.write_basis(book, plan, carried)
        for add in more:
            add(book)
    book.close()
    return book


def _tiles(bill: Bill, job: Performance, power: PowerCost) -> list[Tile]:
    """The headline figures, as far as the plan and the edition have them."""
    code, found = bill.book.currency.code, [(FIGURES["gpus_used"].label, job["gpus_used"], "n0")]
    if "useful_pflops" in job:
        found.append(("PFLOP/s useful work", job["useful_pflops"], "n0"))
    else:
        found.append(("goodput", job["goodput"], "pct2"))
    if "amount" in bill.totals:
        look = "large" if bill.totals["amount"].number >= 1e6 else "usd"
        found.append((f"{code} capex", bill.totals["amount"], look))
        if "tco_usd" in power:
            found.append((f"{code} TCO", power["tco_usd"], look))
    facility = power["facility_power_kw"]
    unit, look = ("MW", "mega") if facility.number > MW_FROM_KW else ("kW", "n0")
    return [*found, (f"{unit} facility power", facility, look)]


def _sentence(bill: Bill, job: Performance) -> Term:
    """Purchase and work in a sentence that follows edits."""
    stores = quote.bought(bill, "Storage")
    parts = [*quote.bought(bill, "Compute"), *([" with ", *stores] if stores else [])]
    parts += [": goodput ", round_(100 * job["goodput"], 1), " %"]
    if "days_to_train" in job:
        parts += [", days to train: ", grouped(job["days_to_train"])]
    return join(*parts, ".")


def _banner(bill: Bill, job: JobPlan) -> V:
    """Cell that counts edits and names the figures that stay as planned."""
    book, lines = bill.book, bill.edited
    own = [each for each in book.inputs if each.place[0] != quote.NAME]
    changed = {each.place: 1 * differs(each.cell, each.value) for each in own}
    inputs, counts = sum_of([*changed.values()]), quote.changed_quantities(bill)
    operation = [changed[each.place] for each in own if (each.of.kind, each.place[0]) == OPERATION]
    companions = if_(counts > 0, "counts of switches, optics, cables and racks; ", "")
    scale = ", scaling efficiency" if job.scale_share != 1.0 else ""
    rest = f"checkpoint interval, waiting for repairs{scale}."
    stale = join(" Stays as planned until a new plan: ", companions, rest)
    edits = join("EDITED: lines ", grouped(lines), ", inputs ", grouped(inputs), ".")
    edited = join(edits, if_(sum_of(operation) + counts > 0, stale, ""))
    return if_(lines + inputs <= 0, "As planned: nothing in this workbook has been edited.", edited)
