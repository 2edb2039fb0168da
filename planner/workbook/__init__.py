"""The workbook of a plan: five live sheets, four of them for the customer; sheets of blocks.

Quote, Performance and Power & cost follow edits (`planner.workbook.quote`, `.performance`);
studies, racks, the basis of a plan and requests to vendors are blocks as sheets, which follow none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, BinaryIO

from pydantic import BaseModel
from xlsxwriter.format import Format

from planner.currency import USD, currency_among
from planner.figures import FIGURES, capital
from planner.report import edition
from planner.report.blocks import (
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    Value,
    figures,
    words,
)
from planner.report.edition import PRICES, Audience, currency_of, for_audience, in_currency
from planner.report.exports import CABLE_COLUMNS, cable_cells, pack_text, unpack_text
from planner.report.formats import MW_FROM_KW, NETWORKS, product, proof
from planner.report.plan import idle_texts
from planner.schema import Prices
from planner.schema.operation import JobPlan
from planner.schema.plan import CableSchedule, Line, Plan, RackGroup
from planner.workbook import performance, quote
from planner.workbook.book import Book, Place, Sheet, height
from planner.workbook.formulas import (
    Scalar,
    Term,
    V,
    differs,
    grouped,
    if_,
    is_number,
    join,
    round_,
    sum_,
    sum_of,
)
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
        inputs: the text of the plan's inputs; the internal edition carries it, or the plan's
            own.
        more: further sheets of the internal edition.
        typed: values of cells that were edited, by their place, to compute with.
        keep: whether the cells returned keep their content.

    Raises:
        ValueError: the plan holds more than one job.
        OSError: the folder of temporary files is full or closed.
    """
    if len(plan.jobs) > 1:
        raise ValueError(f"a workbook shows one job, the plan holds {len(plan.jobs)}")
    inside, edition = audience == "internal", prices or PRICES[audience]
    carried = None
    if inside and (inputs or plan.inputs):  # first, as it takes memory for a moment
        carried = pack(plan, inputs, created)
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
        write_racks(book, plan)
    else:
        sheet = Sheet(book, quote.NAME, (100,))
        sheet.head(plan.problem, f"No plan: {plan.status}")
        sheet.text(plan.message or "There is no plan.")
    if inside:
        write_basis(book, plan, carried)
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


# Blocks as sheets.

_FIRST, _FIGURE, _WIDEST, _MOST_COLUMNS = 34.0, 15.0, 60.0, 60
_MOST_ROWS = 1_000_000
"""A sheet has a few more."""


def add_sheet(book: Book, name: str, blocks: Iterable[Block]) -> None:
    """Add a sheet of blocks.

    Args:
        name: of the sheet.
        blocks: of a record in the currency of the workbook.
    """
    found = list(blocks)
    taken = [each.get_name() for each in book.file.worksheets()]
    several = sum(each.rstrip(" 0123456789") == name for each in taken)
    name = f"{name} {several + 1}" if several else name
    sheet = Sheet(book, name, _widths(found), landscape=True, locked=False)
    title = next((each.text for each in found if isinstance(each, Heading)), name)
    sheet.head(title, "A record of a study: it follows no edit.")
    write_blocks(sheet, found)


def _widths(blocks: Sequence[Block]) -> list[float]:
    """The widths of the columns that all tables of a sheet share."""
    tables = [block.columns for block in blocks if isinstance(block, Table) and block.columns]
    wordy = not tables or any(columns[0].words for columns in tables)
    found = [_FIRST if wordy else _FIGURE, *[_FIGURE] * 5]
    for columns in (each[:_MOST_COLUMNS] for each in tables):
        found += [_FIGURE] * (len(columns) - len(found))
        for at, column in enumerate(columns):
            texts = [len(each) for each in column.values if isinstance(each, str)]
            found[at] = min(_WIDEST, max([found[at], *(1.1 * length + 2 for length in texts)]))
    return found


def write_blocks(sheet: Sheet, blocks: Iterable[Block]) -> None:
    """Write texts and tables one below the other."""
    found = [each for each in blocks if not isinstance(each, Table) or each.count]
    alone = sum(isinstance(each, Table) for each in found) == 1
    for block in found:
        if isinstance(block, Facts):
            shown = tuple(f"{a}: {b}" if a else b for a, b in block.shown)
            block = Text(shown, block.title)
        if isinstance(block, Text) and any(block.texts):
            _texts(sheet, block)
        elif isinstance(block, Table):
            _table(sheet, block, alone=alone)
    sheet.area(0, sheet.at)


def _texts(sheet: Sheet, block: Text) -> None:
    if block.title:
        sheet.heading(block.title)
    for text in filter(None, block.texts):
        sheet.text(text)
    sheet.at += 1


def _table(sheet: Sheet, table: Table, *, alone: bool) -> None:
    """Write a table; one that is alone on its sheet has a filter."""
    columns = table.columns
    if table.title:
        sheet.heading(table.title)
    top, heads = sheet.at, [_head(column) for column in columns]
    sheet.page.set_row(top, max(height(text, _width(sheet, at)) for at, text in enumerate(heads)))
    for at, (column, text) in enumerate(zip(columns, heads, strict=True)):
        left = column.words or any(isinstance(value, str) for value in column.values)
        side: dict[str, Any] = (
            {"align": "left", "indent": 1} if left else {"align": "right", "indent": 0}
        )
        sheet.put(top, at, text, sheet.book.look("wrap", "under", **side))
    sheet.at += 1
    looks = [sheet.book.look(_look(column), "line") for column in columns]
    for row in zip(*(column.values for column in columns), strict=True):
        if sheet.at >= _MOST_ROWS:
            break
        _row(sheet, row, looks)
    if alone and sheet.at > top + 1:
        sheet.page.autofilter(top, 0, sheet.at - 1, len(columns) - 1)
    for text in filter(None, table.notes):
        sheet.text(text, "note")
    sheet.at += 1


def _row(sheet: Sheet, row: Sequence[Value], looks: Sequence[Format]) -> None:
    tall, wrapped = 15.0, sheet.book.look("wrap", "line")
    for at, (value, look) in enumerate(zip(row, looks, strict=True)):
        if isinstance(value, str):
            tall, look = max(tall, height(value, _width(sheet, at))), wrapped
        sheet.write(sheet.at, at, value, look)
    if tall > 15.0:
        sheet.page.set_row(sheet.at, tall)
    sheet.at += 1


def _width(sheet: Sheet, column: int) -> float:
    return sheet.widths[column] if column < len(sheet.widths) else _FIGURE


def _head(column: Column) -> str:
    unit = currency_among(column.values).named(column.unit)
    clear = unit in ("", "share") or unit.casefold() in column.label.casefold()
    return capital(column.label if clear else f"{column.label}, {unit}")


def _look(column: Column) -> str:
    """The look of the figures of a column."""
    numbers = [abs(each) for each in column.values if isinstance(each, (int, float))]
    if column.unit == "share":
        return "pct2"
    if column.unit.startswith("USD") and max(numbers, default=0.0) >= 10_000:
        return "usd"
    if all(float(number).is_integer() for number in numbers):
        return "n0"
    least = min((each for each in numbers if each), default=1.0)
    return "n1" if least >= 100 else "n2" if least >= 0.1 or column.texts is not None else "any"


def cable_blocks(schedule: CableSchedule) -> Iterator[Block]:
    """Yield the cable schedule: its notes, and a row for each link."""
    yield Heading("Cable schedule")
    yield Text(("As planned: an edited quantity changes nothing here.", *schedule.notes))
    rows = [cable_cells(cable) for cable in schedule.cables]
    columns = (
        Column(capital(name.replace("_", " ")), tuple(row[at] for row in rows))
        for at, name in enumerate(CABLE_COLUMNS)
    )
    yield Table("", tuple(columns))


def sweep_table(study: Any, rows: Mapping[str, Sequence[Value]]) -> Table:
    """The scenarios of a sweep, a row each."""
    columns = (Column(each.label, tuple(rows[each.name]), each.unit) for each in study.columns)
    return Table("Scenarios", tuple(columns))


def write_study(
    stream: BinaryIO, record: BaseModel, sheets: Iterable[Any], *, created: datetime, title: str
) -> None:
    """Write a workbook of the sheets of studies; the same input and date give the same bytes.

    Args:
        record: the record of the first sheet, whose currency the workbook has.
        sheets: what adds each sheet, in reading order.
    """
    book = Book(stream, title, created, currency_of(record))
    for add in sheets:
        add(book)
    book.close()


# Racks & fabric; Basis for the inside: sources, exclusions, notes, the carried plan.

BASIS, RACKS = "Basis", "Racks & fabric"
CARRIED = "Carried plan"
"""First words of a row of the plan that the workbook carries."""
_CHUNK = 30_000


def write_basis(book: Book, plan: Plan, carried: str | None) -> None:
    """Write the sheet Basis.

    Args:
        plan: in the currency shown.
        carried: the plan as solved with its inputs, as `pack` gives them.
    """
    sheet = Sheet(book, BASIS, (40, 20, 13, 44, 11, 12, 60), landscape=True)
    under = "Internal: sources, assumptions and notes are not for the customer."
    sheet.head("Basis of the plan", under)
    write_blocks(sheet, _blocks(plan))
    if carried is not None:
        _carry(sheet, carried)


def _blocks(plan: Plan) -> Iterator[Block]:
    yield Text(tuple(_made(plan)), "How it was made")
    if plan.currency is not None and plan.shown_in.code != "USD":
        yield Text((plan.shown_in.rate_text(),), "Exchange rate")
    yield Text(plan.not_counted or ("none",), "Exclusions")
    yield Text(plan.warnings, "Notes")
    yield Text(tuple(idle_texts(plan)), "Installed units that stay idle")
    lines = edition.own_lines(plan)
    notes = (f"{product(line)}: {note}" for line in lines for note in line.notes)
    yield Text(tuple(notes), "Notes on lines")
    yield _assumptions(plan)
    yield _prices(lines)
    others = (f"{sku}: {reason}" for sku, reason in plan.not_considered.items())
    yield Text(tuple(others), "Not considered")


def _made(plan: Plan) -> Iterator[str]:
    made, goal = plan.provenance, plan.objective
    yield f"Status: {plan.status}; {goal.sense} {goal.name.replace('_', ' ')}"
    if goal.bound is not None:
        yield proof(goal)
    scenario = f", scenario {made.scenario}" if made.scenario else ""
    yield f"{made.tool}, solver {made.solver}; problem {made.problem_file}{scenario}"
    yield f"Catalogs: {', '.join(made.catalogs)}. Price books: {', '.join(made.price_books)}"
    if made.overrides:
        yield f"Overrides: {', '.join(made.overrides)}"
    yield f"Input SHA-256: {made.input_sha256}"
    yield plan.message or ""


def _assumptions(plan: Plan) -> Table:
    rows = plan.assumptions
    columns = (
        words("Assumption", (each.label for each in rows)),
        figures("Value", (each.value for each in rows)),
        words("Unit", (plan.shown_in.named(each.unit) for each in rows)),
        words("Source", (each.source for each in rows)),
        words("Date", (each.date for each in rows)),
        words("Confidence", (each.confidence for each in rows)),
        words("Note", (each.note for each in rows)),
    )
    return Table("Assumptions and inputs", columns)


def _prices(lines: list[Line]) -> Table:
    found = [(line, line.price) for line in lines if line.price is not None]
    rows = [price for _, price in found]
    columns = (
        words("Price of", (product(line) for line, _ in found)),
        figures("List", (line.unit_list_usd for line, _ in found)),
        words("Range", (_range(line) for line, _ in found)),
        words("Source", (f"{p.source} ({p.book})" if p.book else p.source for p in rows)),
        words("Date", (price.date for price in rows)),
        words("Confidence", (price.confidence for price in rows)),
        words("Note", (price.note for price in rows)),
    )
    return Table("Prices", columns)


def _range(line: Line) -> str:
    price = line.price
    if price is None or (price.low_usd is None and price.high_usd is None):
        return ""
    ends = (line.unit_list_usd if end is None else end for end in (price.low_usd, price.high_usd))
    return " – ".join("" if end is None else f"{end:,.0f}" for end in ends)


def _carry(sheet: Sheet, text: str) -> None:
    """Write the plan below the printed area, in cells of compressed text."""
    sheet.heading("Data for `planner verify`: the plan and its inputs. Do not change.")
    chunks = [text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK)]
    small = sheet.book.look("text", "note", "line")
    filled = sheet.book.look("text", "note", "line", align="fill", indent=0)
    for number, chunk in enumerate(chunks, start=1):
        sheet.put(sheet.at, 0, f"{CARRIED}, {number} of {len(chunks)}", small)
        sheet.put(sheet.at, 1, chunk, filled)
        sheet.at += 1


def pack(plan: Plan, inputs: bytes | None, created: datetime) -> str:
    """A plan with its inputs, or a text of them, and the date of its workbook, as `unpack` reads
    them."""
    held = plan.inputs if inputs is None else pack_text(inputs)
    whole = plan.model_copy(update={"inputs": held, "checksums": None})
    return pack_text(f"{created.isoformat()}\n{whole.model_dump_json()}".encode())


def unpack(text: str) -> tuple[Plan, str, datetime]:
    """The plan in a workbook, its inputs and its date; raises ValueError where it was changed."""
    created, _, data = (unpack_text(text) or "").partition("\n")
    plan = Plan.model_validate_json(data)
    inputs = unpack_text(plan.inputs or "")
    if inputs is None:
        raise ValueError("no inputs")
    return plan.model_copy(update={"inputs": None}), inputs, datetime.fromisoformat(created)


def write_racks(book: Book, plan: Plan) -> None:
    """Write the sheet Racks & fabric: both follow a new plan alone."""
    sheet = Sheet(book, RACKS, (30, 60, 10, 11, 11, 11, 12, 12, 18), landscape=True)
    under = "As planned: counts of switches, links and racks follow a new plan, not an edit here."
    sheet.head("Racks and fabric", under)
    names = {line.sku: product(line) for line in plan.lines}
    fabrics, racks, total = plan.fabrics, plan.racks, ""
    if plan.totals is not None and plan.totals.racks is not None:
        weight = plan.totals.weight_kg
        total = f"{plan.totals.racks:,} racks in all"
        total += f", {weight:,.0f} kg of equipment." if weight is not None else "."
    networks = (NETWORKS[each.network] for each in fabrics)
    links = (f.system_links + f.leaf_spine_links + f.spine_core_links for f in fabrics)
    fabric_columns = (
        words("Network", (name[:1].upper() + name[1:] for name in networks)),
        words("Switch", (names.get(each.switch_sku, each.switch_sku) for each in fabrics)),
        figures("Planes", (each.planes for each in fabrics)),
        figures("Leaf", (each.leaf_switches for each in fabrics)),
        figures("Spine", (each.spine_switches for each in fabrics)),
        figures("Core", (each.core_switches for each in fabrics)),
        figures("Ports used", (each.endpoints / each.parts_per_port for each in fabrics)),
        figures("Links", links),
        figures("Oversubscription", (each.oversubscription for each in fabrics)),
    )
    rack_columns = (
        words("Racks", (_where(each) for each in racks)),
        words("Content of each", (_content(each, names) for each in racks)),
        figures("Count", (each.count for each in racks)),
        figures("Power each, kW", (each.it_power_kw for each in racks)),
        figures("Power limit, kW", (each.power_limit_kw for each in racks)),
        figures("Weight each, kg", (each.weight_kg for each in racks)),
        figures("Height, RU", (each.height_ru for each in racks)),
        figures("PDUs", (each.pdus for each in racks)),
        figures("Used, RU", (sum(d.rack_units for d in each.devices) for each in racks)),
    )
    tables = Table("Fabric", fabric_columns), Table("Racks", rack_columns, notes=(total,))
    write_blocks(sheet, tables)


def _where(group: RackGroup) -> str:
    last = group.first + group.count - 1
    return f"{group.first}{'' if last == group.first else f' to {last}'} ({group.rack_class})"


def _content(group: RackGroup, names: dict[str, str]) -> str:
    counts = Counter(device.sku for device in group.devices)
    return ", ".join(f"{count} x {names.get(sku, sku)}" for sku, count in counts.items())


# A request to vendors: its needs, and sheets with the headers that `planner quote import` reads.

_HEAD, _LINES = 5, 6
"""Row of the headers of the answer, and empty lines to answer in for each part."""
Heads = Sequence[tuple[str, float]]
"""The headers of a sheet to fill in, with the width of each column."""


def write_request(
    stream: BinaryIO,
    title: str,
    needs: Iterable[Block],
    parts: Sequence[str],
    columns: Heads,
    questions: Heads,
    *,
    created: datetime,
) -> None:
    """Write a request for quotes; the same input and date give the same bytes.

    Args:
        needs: all that vendors must know; no product, no budget and no other vendor.
        parts: names of the things to offer, under which lines are open.
        columns: of the sheet of prices.
        questions: columns of the sheet of products.
    """
    book = Book(stream, title, created, USD)
    sheet = Sheet(book, "Request", (100,), locked=False)
    sheet.head(title, "Answer on the sheets Quote and Products.")
    write_blocks(sheet, needs)
    _answers(_form(book, "Quote", columns, _HEAD), parts, [label for label, _ in columns])
    products = _form(book, "Products", questions, 0)
    for row in range(1, 1 + 4 * _LINES):
        products.fill(row, book.look("text", "open", "line"))
    book.close()


def _form(book: Book, name: str, heads: Heads, row: int) -> Sheet:
    sheet = Sheet(book, name, [width for _, width in heads], landscape=True, locked=False)
    look = book.look("wrap", "section")
    for column, (label, _) in enumerate(heads):
        sheet.put(row, column, label, look)
    sheet.page.freeze_panes(row + 1, 0)
    sheet.at = row + 1
    return sheet


def _answers(sheet: Sheet, parts: Sequence[str], labels: Sequence[str]) -> None:
    """Write the open lines of each part, with the amount of each and their sum."""
    book, bold = sheet.book, sheet.book.look(bold=True)
    opened, money = book.look("text", "open", "line"), book.look("cents", "open", "line")
    for row, label in enumerate(("Vendor", "Quote Date", "Valid until", "Currency")):
        sheet.put(row, 0, label, bold)
        sheet.put(row, 2, None, opened)
    names = ("Qty", "Unit List Price", "Discount %", "Unit Net Price", "Ext. Net Price")
    at, first = [labels.index(name) for name in names], sheet.at
    for number, part in enumerate(parts, 1):
        sheet.put(sheet.at, 0, f"{number} {part}", bold)
        for row in range(sheet.at + 1, sheet.at + 1 + _LINES):
            sheet.fill(row, opened)
            quantity, off = (sheet.put(row, column, None, opened) for column in (at[0], at[2]))
            price = sheet.put(row, at[1], None, money)
            paid = if_(is_number(price), price * (1 - off / 100), "")
            net = sheet.put(row, at[3], paid, money)
            both = if_(is_number(net), quantity * net, "")
            sheet.put(row, at[4], if_(is_number(quantity), both, ""), money)
        sheet.at += _LINES + 1
    sheet.put(sheet.at, 2, "Total", bold)
    span = sheet.span(first, sheet.at - 1, at[4])
    sheet.put(sheet.at, at[4], sum_([], span), book.look("cents", bold=True))
