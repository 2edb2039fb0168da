"""The screen of a quote that was read: how, what it says, whether it adds up, what is asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from planner.outputs.blocks import Block, Column, Heading, Table, Text, screen
from planner.schema.bill import LineKind, Quote, QuoteLine

_MOST_LINES, _MOST_FINDINGS = 60, 20
_KINDS: dict[LineKind, str] = {
    "service": "services", "support": "support", "freight": "freight", "tax": "taxes",
    "discount": "discounts", "option": "options, not counted", "included": "included in others",
    "not_understood": "not understood",
}  # fmt: skip


def render(quote: Quote) -> str:
    """Return the screen of a quote."""
    return screen(view(quote))


def view(quote: Quote) -> Iterator[Block]:
    """Yield what a quote says as blocks."""
    yield Heading(f"Quote of {quote.vendor}, {quote.date}: {quote.file}")
    yield Text(tuple(_answer(quote)))
    yield _prices(quote)
    if quote.asked:
        texts = (
            f"{each.cell}: {each.description or each.part_number}: "
            + (f"a {each.category.replace('_', ' ')}? " if each.category else "what is it? ")
            + (f"needed: {', '.join(each.figures)}" if each.figures else "name it in the mapping")
            for each in quote.asked
        )
        yield Text(tuple(texts), title="Not in the catalogs", points=True, most=_MOST_FINDINGS)
    if quote.findings:
        yield Text(quote.findings, title="Look at this", points=True, most=_MOST_FINDINGS)
    columns = ", ".join(f"{text} = {field}" for field, text in quote.columns.items())
    yield Text(
        (
            f"columns: {columns}; decimal {quote.decimal}",
            "The mapping says so for the next quote; mend it there and give it with --map.",
        ),
        title="How it was read",
    )


def _answer(quote: Quote) -> Iterator[str]:
    kinds = Counter(line.kind for line in quote.lines)
    items = [line for line in quote.lines if line.kind == "item"]
    known = [line for line in items if line.item is not None]
    paid = sum(line.amount or 0.0 for line in items)
    yield (
        f"{len(quote.lines)} lines: {len(items)} products for {_amount(paid, quote)}, "
        f"{len(known)} of them in the catalogs"
    )
    others = [f"{kinds[kind]} {words}" for kind, words in _KINDS.items() if kinds.get(kind)]
    if others:
        yield "besides: " + ", ".join(others)
    right = [each for each in quote.sums if each.agrees]
    if quote.sums:
        yield (
            f"{len(right)} of {len(quote.sums)} totals of the quote are what its lines come to"
            + (f"; {quote.sums[-1].label}: {_amount(quote.sums[-1].stated, quote)}")
        )
    if quote.currency != "USD":
        yield f"1 {quote.currency} = {quote.usd_per_unit:.6g} USD, as given"


def _amount(amount: float, quote: Quote) -> str:
    return f"{amount:,.2f} {quote.currency}"


def _prices(quote: Quote) -> Table:
    lines = [line for line in quote.lines if line.kind == "item"]
    by = {"mapping": "mapping", "part_number": "part number", "name": "name", None: "not known"}
    columns = (
        Column("cell", tuple(_cell(line) for line in lines), words=True),
        Column("what the quote calls it", tuple(_called(line) for line in lines), words=True,
               gives_way=True),
        Column("item", tuple(line.item or "-" for line in lines), words=True),
        Column("told by", tuple(by[line.matched_by] for line in lines), words=True),
        Column("units", tuple(f"{line.quantity or 0.0:,.6g}" for line in lines)),
        Column(f"net {quote.currency}", tuple(f"{line.unit_net or 0.0:,.2f}" for line in lines)),
    )  # fmt: skip
    return Table("Products", columns, most=_MOST_LINES, rows="products")


def _called(line: QuoteLine) -> str:
    return line.description or line.part_number


def _cell(line: QuoteLine) -> str:
    return line.cells.get("unit_net") or line.cells.get("amount") or f"row {line.row}"
