"""The sheets that explain: ``Notes``; ``Terms``, ``Assumptions``, ``Left out`` of the appendix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from planner import currency
from planner.outputs import scope
from planner.outputs.scope import blocks
from planner.outputs.words import NETWORKS, in_money, number, percent, product, small_share
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import GENERAL
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.schema.plan import JobPlan, Plan

_COLUMNS = (("Topic", 34), ("Note", 42), ("", 42), ("", 42), ("", 42))
_LAST = len(_COLUMNS) - 1


def add(book: Book) -> None:
    """Add the sheet: what is counted, and inside what to know of it and how the plan was made."""
    _add(book, "Notes", "Notes", _sections(book))


def add_terms(book: Book) -> None:
    """Add the sheet of the terms that the others use, and of how their figures are meant."""
    _add(book, "Terms", "Terms, and how figures are meant", _meaning(book))


def _add(
    book: Book, name: str, title: str, sections: Iterable[tuple[str, Sequence[Entry]]]
) -> None:
    page = Page(book, name, title)
    page.banner()
    page.headers(FIRST_ROW, _COLUMNS, 20)
    page.sheet.merge_range(FIRST_ROW, 1, FIRST_ROW, _LAST, "", book.formats.get("header"))
    page.text(FIRST_ROW, 1, "Note", "header")
    row = FIRST_ROW + 1
    for heading, entries in sections:
        row = _section(page, row, heading, entries)
    page.finish(_LAST, (FIRST_ROW + 1, 1))


def _sections(book: Book) -> Iterator[tuple[str, Sequence[Entry]]]:
    """Yield heading and entries: terms outside, where there is no appendix to look them up."""
    plan, money = book.plan, book.money
    lines = [
        (entry.label, f"{product(entry.line)}: {note}")
        for block in blocks(plan)
        for entry in block.entries
        for note in entry.line.public_notes
    ]
    texts = [*((str(at), note) for at, note in enumerate(plan.public_notes, 1)), *lines]
    if texts:
        yield "Notes in every edition" if book.inside else "Notes on this offer", texts
    yield "What the plan counts and what it does not", _counted(plan, money=money)
    if book.inside:
        yield "Warnings", [(str(place), text) for place, text in enumerate(plan.warnings, start=1)]
        yield "How this plan was made", _provenance(book)
    else:
        yield from _meaning(book)


def _meaning(book: Book) -> Iterator[tuple[str, Sequence[Entry]]]:
    yield "Terms", _glossary(book.plan, money=book.money)
    yield "How figures are meant", _conventions(book.plan, money=book.money)


def _section(page: Page, row: int, heading: str, entries: Sequence[Entry]) -> int:
    """Write a heading and lines of two strings; return the next free row."""
    page.fill(row, (heading,), "heading", _LAST + 1)
    style = page.book.formats.get("text")
    for key, text in entries or (("none", ""),):
        row += 1
        page.text(row, 0, key)
        page.sheet.merge_range(row, 1, row, _LAST, "", style)
        page.text(row, 1, text)
        page.grow(row, [(text, sum(width for _, width in _COLUMNS[1:])), (key, _COLUMNS[0][1])])
    return row + 2


def nine_digits(value: float, unit: str) -> str:
    """Return a figure with nine digits that count, grouped as its unit has it."""
    shown = Decimal(f"{value:.9g}")
    places = max(0, -int(shown.as_tuple().exponent))
    return f"{currency.grouped(float(shown), places, unit)} {unit}".strip()


def _provenance(book: Book) -> list[Entry]:
    """Return how the plan was made; what is empty is left out."""
    plan, made, goal = book.plan, book.plan.provenance, book.plan.objective
    versions = ", ".join(f"{name} {version}" for name, version in sorted(made.versions.items()))
    bound = "" if goal.bound is None else nine_digits(goal.bound, in_money(goal.unit))
    entries = [
        ("Problem", plan.problem),
        ("Description", plan.description or ""),
        ("Message", plan.message or ""),
        ("Objective", f"{goal.sense} {goal.name.replace('_', ' ')}"),
        ("Proven bound", bound),
        ("Proven gap", "" if goal.gap is None else small_share(goal.gap)),
        ("Gap asked for", small_share(goal.gap_asked)),
        ("Problem file", made.problem_file),
        ("Scenario", made.scenario or ""),
        ("Overrides", ", ".join(made.overrides)),
        ("Catalogs", ", ".join(made.catalogs)),
        ("Price books", ", ".join(made.price_books) if book.money else ""),
        ("Input SHA-256", made.input_sha256),
        ("Tool", made.tool),
        ("Solver", f"{made.solver}, {made.iterations} iterations"),
        ("Versions", versions),
    ]
    return [(label, text) for label, text in entries if text]


Entry = tuple[str, str]
"""A topic and what there is to say of it."""

_COMPANION_SECTIONS = ("Network", "Optics & cables", "Racks & power", "Software", "Services")


def _counted(plan: Plan, *, money: bool) -> list[Entry]:
    """Return what the plan counts and leaves out, topic by topic."""
    result = [*_about_scope(money), *_about_bill(plan, money), *_about_site(plan)]
    if plan.jobs:
        result += [
            *_about_network(plan),
            *_about_storage(plan, plan.jobs[0]),
            *_about_job(plan.jobs[0]),
        ]
    if money:
        result += _about_money(plan)
    return result


def _about_scope(money: bool) -> Iterator[Entry]:
    yield (
        "Scope",
        "One job on one site, and one purchase at once. Growth over time, further sites and other "
        "work on the same cluster are not planned.",
    )
    more = ", freight, duties and taxes" if money else ""
    yield (
        "Not in any bill",
        "The building: feeds, UPS, generators, chillers, floor, cable trays, fire protection. "
        f"Services: installation, commissioning, training of staff{more}.",
    )


def _about_bill(plan: Plan, money: bool) -> Iterator[Entry]:
    present = {line.section for line in scope.own_lines(plan)}
    counted = [section for section in _COMPANION_SECTIONS if section in present]
    absent = [section for section in _COMPANION_SECTIONS if section not in present]
    if counted:
        text = f"Beside GPU systems and storage the bill counts: {', '.join(counted)}."
        if absent:
            text += f" It has no lines for: {', '.join(absent)}."
        yield "The bill", text
        again = "solve again for" if money else "ask for"
        yield (
            "Edited quantities",
            "Lines of these sections keep their counts when the quantities of GPU systems or "
            f"storage are edited: {again} what a changed cluster needs.",
        )
    elif present:
        takes = "draw power, take room and have a price" if money else "draw power and take room"
        yield (
            "The bill",
            "GPU systems and storage only. Switches, optics, cables, racks, PDUs, cooling and "
            f"licences {takes} as well; none of that is counted here.",
        )


def _about_site(plan: Plan) -> Iterator[Entry]:
    yield (
        "Power",
        "IT power is the maximum draw of everything in place, at the same time. Cables, racks, "
        "PDUs and software draw nothing. Power at the meter is IT power x PUE, whatever the load "
        "and the weather.",
    )
    if scope.cooled_by_liquid(plan):
        yield (
            "Heat",
            "A fixed share of each item's heat goes to liquid, as its catalog says; the rest goes "
            "to the air of the room. Flow rates, temperatures and pumps are not modelled.",
        )
    if plan.racks:
        yield (
            "Racks",
            "Every device has a position within the height and the power of its rack, and its "
            "weight where both are known. GPU systems and storage stand in racks of their own "
            "item; network and management devices share the fewest racks that hold them all. "
            "Floor load and cable lengths are not checked.",
        )
    yield (
        "Weight",
        "Known weights only; transceivers, cables and software are not weighed.",
    )


def _about_network(plan: Plan) -> Iterator[Entry]:
    if not plan.fabrics:
        yield (
            "Network",
            "No fabric is planned: the job is taken to run at its MFU whatever connects the "
            "systems.",
        )
        return
    present = {fabric.network for fabric in plan.fabrics}
    if "converged" in present:
        present |= {"storage", "in_band"}
    absent = [
        name
        for network, name in NETWORKS.items()
        if network not in present and network != "converged"
    ]
    text = (
        "Fabrics are fat trees, spread evenly and built for whole units; optics and cables follow "
        "from their links. Congestion, routing and latency are not modelled: the MFU stands for "
        "them. Cables have the length their catalog names; no routes are planned."
    )
    if absent:
        text += f" Not planned: {', '.join(absent)}."
    yield "Network", text


def _about_storage(plan: Plan, job: JobPlan) -> Iterator[Entry]:
    site = plan.site
    yield (
        "Storage bandwidth",
        f"{percent(site.delivered_fraction_write, 0)} of the rated bandwidth for writing and "
        f"{percent(site.delivered_fraction_read, 0)} for reading, or what the GPU systems can "
        "take, if that is less. Production systems have delivered far less than rated. Small "
        "files, metadata and other users of the storage are not modelled.",
    )
    if job.tolerate_down:
        noun = "appliance" if job.tolerate_down == 1 else "appliances"
        text = (
            f"The limits on checkpoint and restore hold with {job.tolerate_down} storage {noun} "
            "down; goodput counts all of them."
        )
    else:
        text = "All storage appliances are taken to be up; none is planned for one that is down."
    yield "Storage that fails", text


def _about_job(job: JobPlan) -> Iterator[Entry]:
    spares = ""
    if job.hot_spare_systems == 1:
        spares = " One system runs idle, ready to step in."
    elif job.hot_spare_systems:
        spares = f" {job.hot_spare_systems:,} systems run idle, ready to step in."
    rate = number(job.failures_per_gpu_day * 1000 * 30, 1)
    yield (
        "Failures",
        f"They strike at random and at a constant rate, {rate} a month per 1,000 GPUs, whatever "
        "their cause; published rates differ tenfold. Failures of many parts at once are not "
        "modelled. The job is taken to run on as many GPUs after each restart as before; how long "
        f"repairs take is not modelled.{spares}",
    )
    held = ""
    if job.mode == "async":
        held = " The systems' own drives are taken to hold it while it drains."
    yield (
        "Checkpoints",
        f"Every checkpoint has the same size and is written in full.{held} The interval does not "
        "follow edited quantities; Checkpoint shows the best one beside it.",
    )
    yield (
        "Training rate",
        "GPUs in use x peak rate x MFU x goodput. The MFU is an input and the same for any number "
        "of GPUs.",
    )


def _about_money(plan: Plan) -> Iterator[Entry]:
    yield (
        "Prices",
        "Those of the price books, with the confidence they state; none is an offer. A price that "
        "is not known is blank and flagged, and a sum without it says that it is a known part.",
    )
    if plan.site.years is None:
        return
    basis = "typical" if plan.site.energy_basis == "typical" else "maximum"
    yield (
        "Cost over the term",
        f"Purchase, support, subscriptions, colocation, and energy on {basis} draw in every hour "
        "of the year. Inflation, financing, staff, taxes and what the equipment is worth at the "
        "end are not counted.",
    )


_CHECKPOINT_TERMS = (
    ("Blocking", "Share of the checkpoint interval in which the GPUs stand still: stall / "
     "interval."),
    ("Drain", "The time in which storage takes up a checkpoint while the GPUs go on."),
    ("Fan-out", "How many times a checkpoint is read in a restore: 1 where one reader passes it "
     "on, more where several replicas read it."),
    ("Goodput", "Share of the wall-clock time that becomes progress that is kept."),
    ("Interval", "From the start of one checkpoint to the start of the next."),
    ("MFU", "Model FLOP/s utilisation: share of a GPU's peak rate that the job turns into work "
     "on the model."),
    ("MTTI", "Mean time to interruption of the job; the more GPUs, the shorter."),
    ("Overlap", "Share of the interval in which storage drains: drain / interval."),
    ("Replica", "A copy of the model, over as many GPUs as tensor and pipeline parallelism take."),
    ("Restart, restore", "After a failure: detecting, replacing and starting again; then reading "
     "the newest checkpoint."),
    ("Rework", "Work since the newest checkpoint, lost in a failure and computed again."),
    ("Stall", "The time the GPUs stop for each checkpoint."),
    ("Useful GPUs", "GPUs in use x goodput: as many that never stop would do the same work."),
)  # fmt: skip
_PROOF_TERMS = (
    ("Binding limit", "One that leaves no room for one more unit: what stops a better plan."),
    ("Gap", "How much better, relative to the value, any other plan could be at most: proven, "
     "not estimated."),
)  # fmt: skip
_SITE_TERMS = (
    ("IT power", "What the equipment draws, before cooling and losses of the site."),
    ("PUE", "Power usage effectiveness: power at the meter / IT power."),
    ("RU", "Rack unit, a height of 44.45 mm."),
)
_FABRIC_TERMS = (
    ("Leaf, spine, core", "Switches of a fabric: at the systems, between leaves, between groups."),
    ("Oversubscription", "Downlinks per uplink of a leaf; 1:1 has as much up as down."),
)
_RACK_TERMS = (
    ("CDU", "Coolant distribution unit: moves heat from the systems' liquid to the site's."),
    ("PDU", "Power distribution unit of a rack. N: as many as feed it, N+1: one more, 2N: twice "
     "as many."),
)  # fmt: skip
_SPARE_TERMS = (
    ("Cold spares", "Units bought and kept on a shelf: no power, no rack."),
    ("Hot spares", "Idle systems ready to step in: they draw power and take ports."),
)
_MONEY_TERMS = (
    ("Capex", "What is paid once, for the purchase."),
    ("List, net", "The price before and after the discount."),
    ("Opex", "What is paid by the year: support, subscriptions, energy, colocation."),
    ("TCO", "Total cost of ownership: capex, and what is paid over the term, discounted where "
     "there is a rate."),
)  # fmt: skip


def _glossary(plan: Plan, *, money: bool) -> list[Entry]:
    """Return the terms that this plan's sheets use, in alphabetical order."""
    terms = [*_SITE_TERMS, *(_CHECKPOINT_TERMS if plan.jobs else ())]
    if plan.jobs and money:
        terms += _PROOF_TERMS
    if plan.fabrics:
        terms += _FABRIC_TERMS
    categories = {line.category for line in plan.lines}
    terms += [entry for entry in _RACK_TERMS if entry[0].lower() in categories]
    if any(line.spares for line in plan.lines) or any(job.hot_spare_systems for job in plan.jobs):
        terms += _SPARE_TERMS
    if money:
        terms += _MONEY_TERMS
    return sorted(terms, key=lambda entry: entry[0].casefold())


def _conventions(plan: Plan, *, money: bool) -> list[Entry]:
    """Return how figures are meant."""
    result = [
        ("Units", "Decimal: 1 TB is 1,000 GB or 10^12 bytes. A year has 8,760 hours."),
        ("As solved", "What the plan was when it was made. All else is live: it follows edited "
         "quantities and inputs, and the banner under each title says when something is edited."),
        ("Not known", "A figure that is not known is blank, never 0. n/a: cannot be worked out "
         "from what is given. A dash: none."),
        ("Protection", "Sheets are protected without a password, so that formulas are not "
         "overwritten by accident; inputs are open."),
    ]  # fmt: skip
    if money:
        result.append(
            ("Money", f"{currency.current().name}, net of discounts, {scope.taxes(plan)}. Every "
             "line is rounded to cents, so that sums foot.")
        )  # fmt: skip
        if scope.over_time(plan) and plan.site.discount_rate:
            result.append(
                ("Discounting", "What is paid later counts less: each year's payments as at its "
                 "end, a last part year in proportion.")
            )  # fmt: skip
    return result


def add_left_out(book: Book) -> None:
    """Add the sheet of what the catalogs have and the plan could not hold, each with the reason."""
    page = Page(book, "Left out", "Catalog items that could not enter the plan")
    page.banner()
    columns = (("Catalog id", 40.0), ("Reason", 110.0))
    page.headers(FIRST_ROW, columns, 20)
    row = FIRST_ROW + 1
    for entry in book.plan.not_considered:
        page.text(row, 0, entry.sku)
        page.text(row, 1, entry.reason)
        page.grow(row, [(entry.sku, columns[0][1]), (entry.reason, columns[1][1])])
        row += 1
    if not book.plan.not_considered:
        page.text(row, 0, "None.", "subtitle")
    page.finish(1, (FIRST_ROW + 1, 1))


_ASSUMPTION_COLUMNS = (
    ("Input", 40),
    ("Value", 18),
    ("Unit", 13),
    ("Source", 42),
    ("Date", 12),
    ("Confidence", 12),
    ("Note", 44),
    ("Id", 40),
)
_LAST_ASSUMPTION = len(_ASSUMPTION_COLUMNS) - 1


def add_assumptions(book: Book) -> None:
    """Add the sheet."""
    page = Page(book, "Assumptions", "Assumptions")
    page.banner()
    page.headers(FIRST_ROW, _ASSUMPTION_COLUMNS, 20)
    row = _assumptions(page, FIRST_ROW + 1)
    if book.plan.assumptions:
        page.sheet.autofilter(FIRST_ROW, 0, row - 1, _LAST_ASSUMPTION)
    else:
        page.text(row, 0, "The plan states none.", "subtitle")
    page.finish(_LAST_ASSUMPTION, (FIRST_ROW + 1, 1))


def _assumptions(page: Page, row: int) -> int:
    for entry in page.book.plan.assumptions:
        page.text(row, 0, entry.label)
        if isinstance(entry.value, str):
            page.text(row, 1, entry.value, align="right")
        else:
            page.number(row, 1, entry.value, GENERAL)
        unit = in_money(entry.unit)
        texts = (unit, entry.source, entry.date, entry.confidence, entry.note, entry.name)
        for column, text in enumerate(texts, start=2):
            page.text(row, column, text or "")
        shown = (entry.label, str(entry.value), *(text or "" for text in texts))
        page.grow(row, zip(shown, (width for _, width in _ASSUMPTION_COLUMNS), strict=True))
        row += 1
    return row
