"""The sheets ``Bids``, ``Bid lines``, ``Audit trail``: side by side, by line, and by cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from planner.currency import amount
from planner.figures import FIGURES, RATIOS, capital
from planner.outputs.bids_text import (
    CHARGE_WORDS,
    LACK_WORDS,
    LOT_WORDS,
    STATE_WORDS,
    answer,
    bidders_of,
    name_of,
)
from planner.outputs.words import breach_text, in_money
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_2, GENERAL, INTEGER, PERCENT_2
from planner.outputs.workbook.functions import Scalar
from planner.outputs.workbook.studies import Sheet
from planner.outputs.workbook.studies.stack import RECORD, Cell, Stack, number_format
from planner.schema.bids import Bid, BidFigures, BidLine, Bids, TraceRow

SHEET, LINES, TRAIL = "Bids", "Bid lines", "Audit trail"
_FROZEN = 2
_LABEL, _UNIT, _EACH = 40.0, 20.0, 24.0
_PRICED = {"quote": "quoted", "more": "quoted, and more", "book": "book"}
_FIGURES = (
    "capex_usd", "tco_usd", "useful_pflops", "useful_gpus", "gpus_used", "goodput",
    "usd_per_useful_gpu_hour", "usd_per_million_tokens", "days_to_train", "facility_power_kw",
    "racks", "restore_s", "interval_s", "lead_time_days",
)  # fmt: skip


def sheets(found: Bids) -> dict[str, Sheet]:
    """Return what adds each sheet, by its name."""
    return {
        SHEET: partial(add, found=found),
        LINES: partial(add_lines, found=found),
        TRAIL: partial(add_trail, found=found),
    }


def add(book: Book, found: Bids) -> None:
    """Add the sheet of the bids side by side."""
    mixed = 0 if found.mix is None else 1
    widths = [_LABEL, _UNIT, *[_EACH] * (len(found.bids) + mixed)]
    page = Stack(book, SHEET, f"{found.problem}: bids side by side", widths)
    page.introduction([RECORD])
    page.row += 1
    page.sentences(f"{capital(text)}." for text in answer(found))
    page.row += 1
    page.heads(["", "", *(name_of(bid) for bid in found.bids), *["best mix"] * mixed])
    _standing(page, found)
    page.heading("What each comes to on the problem")
    figures = [bid.figures for bid in found.bids]
    for name in _FIGURES:
        _figure(page, figures if found.mix is None else [*figures, found.mix.figures], name)
    if found.mix is not None:
        page.heading("The best mix")
        for award in found.mix.awards:
            counts = (f"{count:,} {sku}" for sku, count in award.counts.items())
            page.line([LOT_WORDS[award.lot], bidders_of(award), *counts][: len(widths)])
    page.heading("Limits that are broken, and what else is against it")
    _texts(page, found.bids, lambda bid: [*map(breach_text, bid.breaches), *bid.against,
                                          *bid.open])  # fmt: skip
    page.heading("What is wrong in the file")
    _texts(page, found.bids, lambda bid: list(bid.findings))
    page.heading("On top of products")
    _texts(page, found.bids, lambda bid: [
        f"{charge.label}: {CHARGE_WORDS[charge.kind]}, {amount(charge.usd, 2)} "
        f"({', '.join(charge.cells)})" for charge in bid.charges])  # fmt: skip
    page.finish_stack((_FROZEN, 2))


def _standing(page: Stack, found: Bids) -> None:
    bids = found.bids
    measured: list[Scalar] = [bid.measured for bid in bids]
    measured += [] if found.mix is None else [found.mix.measured]
    money = in_money("USD")
    rows: tuple[tuple[str, str, list[Scalar], str], ...] = (
        ("rank", "", [bid.rank for bid in bids], INTEGER),
        ("limits", "", [STATE_WORDS[bid.state] for bid in bids], GENERAL),
        (found.measure.label, in_money(found.measure.unit), measured, number_format("", measured)),
        ("file", "", [bid.file for bid in bids], GENERAL),
        ("date", "", [bid.date or "not clear" for bid in bids], GENERAL),
        ("currency", "", [bid.currency for bid in bids], GENERAL),
        ("USD for one unit of it", "USD", [bid.usd_per_unit for bid in bids], "0.0000"),
        ("the file's own last total, with taxes where it has them", money,
         [bid.stated_usd for bid in bids], INTEGER),
        ("what its lines come to", money, [bid.quoted_usd for bid in bids], INTEGER),
        ("what it lacks, at the book's rates", money, [bid.lacks_usd for bid in bids], INTEGER),
        ("discounts on the whole", "", [bid.rebate or None for bid in bids], PERCENT_2),
        ("first at this share of its prices", "",
         [None if bid.break_even is None else bid.break_even.share
          if bid.break_even.share is not None else bid.break_even.reason for bid in bids],
         PERCENT_2),
        ("the bid then asks for", money,
         [bid.break_even.usd if bid.break_even else None for bid in bids], INTEGER),
        ("first in so many draws of what is not quoted", "",
         [bid.holding.first if bid.holding else None for bid in bids], PERCENT_2),
        ("best rank in them", "", [bid.holding.best_rank if bid.holding else None
                                   for bid in bids], INTEGER),
        ("worst rank in them", "", [bid.holding.worst_rank if bid.holding else None
                                    for bid in bids], INTEGER),
    )  # fmt: skip
    for label, unit, values, number in rows:
        page.line([label, unit, *((value, number) for value in values)])


def _figure(page: Stack, figures: Sequence[BidFigures | None], name: str) -> None:
    row = FIGURES[name]
    values: list[Scalar] = [None if each is None else getattr(each, name) for each in figures]
    if any(value is not None for value in values):
        unit = "" if row.unit == "share" else in_money(row.unit)
        number = row.excel if row.unit != "USD" else "0.0000" if name in RATIOS else INTEGER
        page.line([row.label, unit, *((v, number) for v in values)])


def _texts(page: Stack, bids: Sequence[Bid], read: Callable[[Bid], list[str]]) -> None:
    columns = [read(bid) for bid in bids]
    for at in range(max((len(texts) for texts in columns), default=0)):
        cells: list[Cell] = ["", ""]
        cells += [texts[at] if at < len(texts) else "" for texts in columns]
        page.line(cells)


def add_lines(book: Book, found: Bids) -> None:
    """Add the sheet of differences line by line."""
    bids = [bid for bid in found.bids if bid.lines]
    widths = [17.0, 46.0, *[11.0, 11.0, 15.0, 17.0, 16.0] * len(bids)]
    money = in_money("USD")
    page = Stack(book, LINES, f"{found.problem}: bids line by line", widths)
    page.introduction(
        [
            f"What the cluster needs to buy, what is quoted of it and what counts, {money}. "
            f"'book' is not quoted and counted at the book's price. {RECORD}",
        ]
    )
    page.row += 1
    heads = ["Section", "Product"]
    for bid in bids:
        heads += [f"{name_of(bid)}\n{text}" for text in
                  ("needed", "quoted", "net per unit", "at once", "price of")]  # fmt: skip
    known: dict[str, BidLine] = {line.sku: line for bid in bids for line in bid.lines}
    rows: list[list[Cell]] = []
    for sku, line in known.items():
        rows.append([line.section, line.product])
        for bid in bids:
            rows[-1] += _line(next((each for each in bid.lines if each.sku == sku), None))
    page.table(heads, rows)
    page.heading("What bids lack, counted at the book's rates")
    for bid in bids:
        for lack in bid.lacks:
            page.line([
                name_of(bid), f"{lack.product}: {LACK_WORDS[lack.kind]}",
                (lack.units, INTEGER), None, (lack.usd, INTEGER),
                (lack.low_usd, INTEGER), (lack.high_usd, INTEGER),
            ])  # fmt: skip
    page.finish_stack((_FROZEN, 2))


def _line(line: BidLine | None) -> list[Cell]:
    if line is None:
        return [None] * 5
    return [
        (line.needed, INTEGER), (line.quoted or None, "#,##0.###"), (line.unit_usd, DECIMAL_2),
        (line.usd, DECIMAL_2), _PRICED[line.priced_by],
    ]  # fmt: skip


_TRAIL = (
    ("Bid", 6.0), ("File", 26.0), ("Row", 7.0), ("What the file calls it", 46.0), ("Read as", 15.0),
    ("Quantity", 11.0), ("in cell", 16.0), ("Net per unit", 15.0), ("in cell", 16.0),
    ("Amount", 17.0), ("in cell", 16.0), ("Currency", 9.0), ("USD for 1", 10.0), ("USD", 17.0),
    ("Became", 60.0),
)  # fmt: skip


def add_trail(book: Book, found: Bids) -> None:
    """Add the sheet of which cell became which figure."""
    page = Stack(book, TRAIL, f"{found.problem}: from cells to figures", [w for _, w in _TRAIL])
    hashes = "; ".join(f"{bid.key}: {bid.file}, SHA-256 {bid.sha256}" for bid in found.bids)
    page.introduction([f"Every line of every file, and which figure it became. {hashes}. {RECORD}"])
    page.row += 1
    heads = [*(title for title, _ in _TRAIL[:-2]), in_money("USD"), "Became"]
    page.table(heads, map(_traced, found.trace))
    page.finish_stack((_FROZEN, 3))


def _traced(row: TraceRow) -> list[Cell]:
    cells = row.cells
    return [
        row.bid, row.file, (row.row, INTEGER), row.description, row.kind.replace("_", " "),
        (row.quantity, "#,##0.###"), cells.get("quantity", ""),
        (row.unit_net, DECIMAL_2), cells.get("unit_net", cells.get("unit_list", "")),
        (row.amount, DECIMAL_2), cells.get("amount", ""),
        row.currency, (row.usd_per_unit, "0.0000"), (row.usd, DECIMAL_2), row.became,
    ]  # fmt: skip
