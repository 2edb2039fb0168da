"""The lines of a quote: kind and figures of each row, and its totals compared with its lines.

A figure is one of the file's cells or follows from two of them; a row that is not understood stays
a line with its reason.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from planner.files import NO_VALUE
from planner.quotes.cells import (
    INCLUDED,
    NOTHING,
    Cell,
    Decimal,
    Grid,
    Row,
    Table,
    body,
    currency_of,
    decimal_mark,
    number,
    term_years,
)
from planner.schema.bill import LineKind, MatchedBy, QuoteField, QuoteLine, QuoteSum

CENT = 0.011
"""Sums of rounded amounts may differ by a cent for each of them."""
COUNTED = frozenset({"item", "service", "support", "freight", "discount"})
"""Kinds of lines whose amounts a quote asks for, taxes apart."""

_FIGURES: tuple[QuoteField, ...] = ("quantity", "unit_list", "discount", "unit_net", "amount")
_OF_ALL = (
    r"prices?|amounts?|costs?|values?|sums?|due|payable|net|gross|in[ck]l\w*|ex[ck]l\w*|ex|before|after|"
    r"in|of|for (this|the) (quote|offer|order)|quote|quotation|offer|order|project|contract|"
    r"invoice|netto|brutto"
)
"""Words that leave a total one of the whole quote; any other word names a part of it."""
_PATTERNS: tuple[tuple[LineKind, str], ...] = (
    (
        "subtotal",
        r"^(sub-? ?total|zwischensumme)\b|"
        rf"^total (for )?(?!({_OF_ALL}|[a-z]{{3}})\b)[a-z]|"
        r"^(?!(grand|net|overall|quote|quotation|offer|order|final|project|contract|"
        r"invoice|total)\b)[a-z&/-]+( [a-z&/-]+){0,3} (sub-?)?totals?\b",
    ),
    (
        "total",
        r"^(grand |net |overall |quote |quotation |offer |order |final |project |"
        r"contract |invoice )?(total|sum|gesamt(summe|betrag)?|[üu]bertrag|"
        r"((netto|brutto|end|auftrags)(gesamt)?)?(summe|betrag)|"
        r"carried (over|forward)|(amount|balance) (due|payable))\b",
    ),
    (
        "tax",
        r"^((zzgl|plus|add|zuz[üu]glich|incl|inkl)\.? )?(\d+([.,]\d+)? ?% )?"
        r"(vat|sales tax|tax(es)?|mwst|ust|gst|import duty|dut(y|ies)|customs)\b",
    ),
    (
        "discount",
        r"^(less:? |minus |your )?([\w-]+ ){0,3}(discounts?|rebates?|rabatt|"
        r"\w*nachlass|credit|skonto|trade-?in|savings?)( |:|$|\()",
    ),
    (
        "freight",
        r"\b(freight|shipping|shipment|delivery (charge|fee|cost)|transport|fracht|"
        r"versand|lieferung frei|insurance in transit|ddp|dap)\b",
    ),
    (
        "service",
        r"\b(installation|install|commissioning|integration|professional services?|"
        r"deployment|training|consulting|on-?site engineer|project management|"
        r"labou?r|rack (and|&) stack|cabling service|acceptance test|"
        r"inbetriebnahme)\b",
    ),
    (
        "support",
        r"\b(support\w*|maintenance|24x7|warranty|\w*nbd|next business day|"
        r"(\w+ )?care( ?pack)?|sntc|smartnet|prosupport|pointnext|onsite service|"
        r"4[ -]?(hours?|hrs?)( on-?site)? resp(onse)?|subscriptions?|sla|\w*-?wartung|"
        r"gew[äa]hrleistung)\b",
    ),
)
_WORDS = tuple((kind, re.compile(pattern, re.I)) for kind, pattern in _PATTERNS)
_CONTRACT = re.compile(r"^CON-[A-Z0-9]", re.I)
"""Part numbers of service contracts: Cisco's begin with CON-."""
_OPTIONAL = re.compile(
    r"\b(option(s|al|nel|en)?|alternativ(e|es|ely|position)?|eventual(position)?|bedarfsposition|"
    r"not included in (the )?total|nicht in (der )?(gesamt)?summe)\b",
    re.I,
)
_LEASED = re.compile(
    r"\b(leas(e|ed|ing)|rent(al|ed|s)?|hire|miet(e|kauf|preis)|monthly|per month|/ ?month|"
    r"pro monat|monatlich\w*|as[- ]a[- ]service)\b",
    re.I,
)
_SHORT_TERM = re.compile(r"\b(12|24|36|48|60|84)M\b")
"""A term in months; of other lines than support it is a length in metres."""
_COUNTED_IN = re.compile(
    r"^x\s*(?=\d)|(?<=\d)\s*(x|ea|each|pcs?|pieces?|units?|stk|st|stück|nos?|sets?|lots?)\.?$", re.I
)
"""Units beside a quantity: "2 ea", "x 4"."""


@dataclass
class Line:
    """A row of a quote while it is read.

    ``odd`` are texts in place of a figure, ``cells`` names of cells by content. ``in_percent``: its
    discount has a percent sign; ``beyond``: it has more cells than its header.
    """

    row: Row
    section: str = ""
    texts: dict[QuoteField, str] = field(default_factory=dict)
    figures: dict[QuoteField, float] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)
    odd: dict[QuoteField, str] = field(default_factory=dict)
    included: bool = False
    optional: bool = False
    in_percent: bool = False
    beyond: bool = False
    kind: LineKind = "not_understood"
    currency: str = ""
    item: str | None = None
    matched_by: MatchedBy | None = None
    remarks: list[str] = field(default_factory=list)

    @property
    def part(self) -> str:
        """The part number."""
        return self.texts.get("part", "")

    @property
    def label(self) -> str:
        """The description, or the part number."""
        return self.texts.get("description") or self.part

    @property
    def amount(self) -> float | None:
        """The extended price."""
        return self.figures.get("amount")

    @property
    def number(self) -> str:
        """The line's number in the quote."""
        return self.texts.get("line", "")

    @property
    def term_years(self) -> float | None:
        """The term of a service; without a unit 12 and more are months."""
        term = self.texts.get("term", "")
        if re.fullmatch(r"\d+(\.\d+)?", term):
            term += " months" if float(term) >= 12 else " years"
        if self.kind == "support" and (short := _SHORT_TERM.search(self.label)):
            term = term or f"{short[1]} months"
        return term_years(f"{term} {self.label}")

    def under(self) -> Callable[[Line], bool]:
        """True if another line is numbered under this one: 2.1 under 2."""
        begins = self.number.rstrip(".").removesuffix(".0") + "."
        return lambda other: (
            other.number.startswith(begins) and other.number.rstrip(".") != begins[:-1]
        )

    def record(self) -> QuoteLine:
        """The line as a record."""
        figures = {name: self.figures.get(name) for name in _FIGURES}
        return QuoteLine(
            sheet=self.row.sheet,
            row=self.row.number,
            kind=self.kind,
            line=self.number,
            part_number=self.part,
            description=self.texts.get("description", ""),
            section=self.section,
            **figures,
            term_years=self.term_years,
            lead_time=self.texts.get("lead_time", ""),
            item=self.item,
            matched_by=self.matched_by,
            hidden=self.row.hidden,
            cells=dict(sorted(self.cells.items())),
            remarks=tuple(self.remarks),
            currency=self.currency,
        )


def read_lines(
    grid: Grid, tables: Sequence[Table], decimal: Decimal, quantities: Mapping[str, int]
) -> list[Line]:
    """Every row of the tables with its kind and figures.

    Args:
        grid: the file.
        tables: its tables.
        decimal: the decimal mark of numbers that are texts.
        quantities: units to buy of lines without a quantity, by part number or description.
    """
    lines = list(_rows(grid, tables, decimal))
    _scale_discounts(lines)
    _choose_price_breaks(lines, quantities)
    for line in lines:
        _complete_figures(line)
        if line.kind != "option":  # another price break
            line.kind = _kind(line)
    _mark_services_by_term(lines)
    _include_bundle_parts(lines)
    return lines


def find_decimal(grid: Grid, tables: Sequence[Table]) -> Decimal:
    """Decimal mark of numbers that are texts.

    "1.234" alone may be either: groups of three digits are thousands.
    """
    texts = [
        cell.text
        for row, table in body(grid, tables)
        for name in _FIGURES
        if name != "discount" and (cell := row.cells.get(table.fields.get(name, -1))) is not None
        if isinstance(cell.value, str)
    ]
    mark = decimal_mark(texts)
    if mark is not None:
        return mark
    only_points = any("." in text for text in texts) and not any("," in text for text in texts)
    return "comma" if only_points else "point"


def _rows(grid: Grid, tables: Sequence[Table], decimal: Decimal) -> Iterator[Line]:
    """Yield the rows with figures; a row of one or two texts is the heading of a section."""
    section, sheet = "", None
    for row, table in body(grid, tables):
        section, sheet = section if row.sheet == sheet else "", row.sheet
        line = _line(row, table, section, decimal)
        if not line.figures and not line.odd and not line.included:
            heading = " ".join(cell.text for cell in row.in_order)
            if len(row.cells) <= 2 and not is_total(heading):
                section = heading
                continue
        yield line
        if is_total(line.label):  # the lines after it, such as freight, belong to no section
            section = ""


def is_total(text: str) -> bool:
    """True if a label is that of a total or subtotal."""
    return any(kind in ("total", "subtotal") and word.search(text) for kind, word in _WORDS)


def _line(row: Row, table: Table, section: str, decimal: Decimal) -> Line:
    line = Line(row, section, beyond=max(row.cells, default=0) > table.width)
    for name, column in table.fields.items():
        cell = row.cells.get(column)
        if cell is not None and name in _FIGURES:
            _take_figure(line, name, cell, decimal)
        elif cell is not None:
            line.texts[name] = cell.text
            line.cells[name] = cell.name
            if name in ("lead_time", "term") and re.fullmatch(r"\d+([.-]\d+)?", cell.text):
                unit = _TIME_UNIT.search(table.texts[name])
                line.texts[name] += f" {unit[1].lower()}" if unit else ""
    if not line.label:  # a total's label may stand in any column
        texts = (cell.text for cell in row.cells.values() if isinstance(cell.value, str))
        line.texts["description"] = next((t for t in texts if number(t, decimal) is None), "")
    if not line.figures and set(line.odd.values()) == {NO_VALUE} and not is_total(line.label):
        line.odd.clear()  # an empty row of a form
    if not line.figures and not line.odd:
        line.included = line.included or bool(_HELD.match(line.label))
    words = " ".join(cell.text for cell in row.in_order)
    line.optional = bool(_OPTIONAL.search(f"{row.sheet} | {section} | {words}"))
    line.currency = currency_of(line.texts.get("currency", "")) or ""
    return line


_HELD = re.compile(
    r"(incl\.?|including|includes?|inkl\.?) .*(support|maintenance|warranty|wartung)", re.I
)
"""A remark on support in the price above."""
_TIME_UNIT = re.compile(r"\b(days?|tagen?|months?|monaten?|mths?|years?|yrs?|jahren?)\b", re.I)


def _take_figure(line: Line, name: QuoteField, cell: Cell, decimal: Decimal) -> None:
    text = _COUNTED_IN.sub("", cell.text) if name == "quantity" else cell.text
    value = number(text, decimal) if isinstance(cell.value, str) else cell.value
    if isinstance(value, datetime.date):
        line.odd[name] = text
    elif value is not None:
        if name == "discount" and "%" in text:
            value /= 100.0
            line.in_percent = True
        line.figures[name] = value
        line.cells[name] = cell.name
    elif text.lower().strip(" .") in INCLUDED or text in NOTHING:
        line.included = True
        line.cells[name] = cell.name
    else:
        line.odd[name] = text


def _scale_discounts(lines: Sequence[Line]) -> None:
    """Turn discounts into shares: a column with one above 1 is in percent, its 0.5 is 0.5 %."""
    plain = [line for line in lines if line.figures.get("discount") and not line.in_percent]
    for sheet in {line.row.sheet for line in plain}:
        column = [line for line in plain if line.row.sheet == sheet]
        if any(abs(line.figures["discount"]) >= 1.0 for line in column):
            for line in column:
                line.figures["discount"] /= 100.0


def _choose_price_breaks(lines: Sequence[Line], quantities: Mapping[str, int]) -> None:
    """Give prices without a quantity the mapped one, or a remark; other breaks are options."""
    priced: dict[str, list[tuple[float, Line]]] = {}
    for line in lines:
        known, first = line.figures, line.texts.get("from_quantity", "")
        priced_alone = known.keys() & {"unit_list", "unit_net"} and "quantity" not in known
        if not line.label or not priced_alone or line.odd or ("amount" in known and not first):
            continue
        known.pop("amount", None)  # the extended price of a break is no amount to pay
        digits = re.search(r"\d+", first)
        tiers = priced.setdefault(line.part or line.label, [])
        tiers.append((float(digits[0]) if digits else 0.0, line))
    for key, tiers in priced.items():
        many = quantities.get(key, quantities.get(tiers[0][1].label))
        fitting = [each for each in tiers if many is not None and each[0] <= many]
        chosen = max(fitting, key=lambda each: each[0])[1] if fitting else None
        reason = f"its {len(tiers)} prices depend on the quantity" if tiers[1:] else "no quantity"
        for first_unit, line in tiers:
            if chosen is None or many is None:
                line.remarks.append(f"{reason}: add to the mapping quantities: {{{key}: ...}}")
            elif line is chosen:
                line.figures["quantity"] = float(many)
                line.remarks.append("its quantity is that of the mapping")
            else:
                line.kind = "option"
                line.remarks.append(f"the price from {first_unit:g} units on, not of {many:,}")


def _complete_figures(line: Line) -> None:
    """Add figures that follow from others; remark where the quote's own figures differ."""
    known = line.figures
    quantity, share = known.get("quantity"), known.get("discount")
    if line.odd.get("amount") == NO_VALUE and quantity and known.keys() & {"unit_net", "unit_list"}:
        del line.odd["amount"]  # quantity times unit price, below
    _apply_discount(line)
    if "unit_net" not in known and "unit_list" in known and share is not None:
        known["unit_net"] = known["unit_list"] * (1.0 - share)
    if "unit_net" not in known and quantity and "amount" in known:
        known["unit_net"] = known["amount"] / quantity
    on_request = line.odd.keys() & {"unit_net", "discount"}  # then the list price is not asked
    if "unit_net" not in known and "unit_list" in known and share is None and not on_request:
        known["unit_net"] = known["unit_list"]
    if "amount" not in known and quantity is not None and "unit_net" in known:
        known["amount"] = quantity * known["unit_net"]
        line.remarks.append("amount missing; computed as quantity x unit price")
    if quantity and "unit_net" in known and "amount" in known:
        product = quantity * known["unit_net"]
        if abs(product - known["amount"]) > CENT * max(1.0, abs(quantity)) + 1e-9 * abs(product):
            line.remarks.append(
                f"{quantity:,.12g} x {known['unit_net']:,.2f} is {product:,.2f}, "
                f"and {known['amount']:,.2f} stands there"
            )


def _apply_discount(line: Line) -> None:
    """Take a unit price for the list price where only that gives the line's amount."""
    known = line.figures
    share, price = known.get("discount"), known.get("unit_net")
    if not share or price is None:
        return
    if "unit_list" in known:
        net = known["unit_list"] * (1.0 - share)
        if abs(net - price) > 0.0006 * abs(known["unit_list"]) + CENT:  # percent are rounded
            line.remarks.append(
                f"{known['unit_list']:,.2f} less {100 * share:.6g} % is {net:,.2f}, and "
                f"{price:,.2f} stands there"
            )
        return
    quantity, amount = known.get("quantity"), known.get("amount")
    if not quantity or amount is None:
        line.remarks.append(f"{price:,.2f} is taken as the price after {100 * share:.6g} % off")
        return
    room = CENT * max(1.0, abs(quantity)) + 1e-9 * abs(amount)
    if abs(quantity * price - amount) > room >= abs(quantity * price * (1.0 - share) - amount):
        known["unit_list"], line.cells["unit_list"] = price, line.cells.pop("unit_net")
        del known["unit_net"]


def _kind(line: Line) -> LineKind:
    """The kind by a line's words, otherwise by its figures, with a remark on missing ones."""
    bare = not line.figures.keys() & {"quantity", "unit_net"}
    for kind, word in _WORDS:
        if not word.search(line.label) and not (kind == "support" and _CONTRACT.search(line.part)):
            continue
        if kind in ("total", "subtotal", "tax", "discount"):
            if bare or (kind == "discount" and (line.amount or 0.0) <= 0.0):
                computed = line.amount is not None or line.odd.get("amount") == NO_VALUE
                return kind if computed else "not_understood"
        elif line.optional:
            return "option"
        elif line.amount is not None or not line.odd:
            return "included" if line.amount is None and line.included else kind
    return _kind_by_figures(line)


def _kind_by_figures(line: Line) -> LineKind:
    if line.odd and not line.amount:
        line.remarks += (
            f"'{text}' is no {name.replace('_', ' ')}" for name, text in line.odd.items()
        )
        return "not_understood"
    if line.amount and _LEASED.search(line.label):
        line.remarks.append("a lease or a rent, and no price at which it is bought")
        return "not_understood"
    if line.optional:
        return "option"
    if line.figures.get("quantity"):
        return "item" if line.amount and not line.included else "included"
    if line.included:
        return "included"
    if line.amount is not None and line.amount < 0.0:
        line.remarks.append("a negative amount is a discount")
        return "discount"
    if not line.remarks:
        priced = line.amount is not None or "unit_net" in line.figures
        reason = "no quantity" if priced else "no price"
        if "quantity" in line.odd:
            reason = f"'{line.odd['quantity']}' is no quantity"
        if line.beyond:
            reason = "more cells than the header has columns; a comma in a text needs quotes"
        line.remarks.append(reason)
    return "not_understood"


def _mark_services_by_term(lines: Sequence[Line]) -> None:
    """Products with a term are support where products beside them have none; licences are not."""

    def has_term(line: Line) -> bool:
        return bool(re.search(r"\d", line.texts.get("term", "")))

    without = {line.row.sheet for line in lines if line.kind == "item" and not has_term(line)}
    for line in lines:
        licence = re.search(r"\b(licen[cs]es?|software)\b", line.label, re.I)
        if line.kind == "item" and has_term(line) and line.row.sheet in without and not licence:
            line.kind = "support"


def _include_bundle_parts(lines: Sequence[Line]) -> None:
    """Count a bundle once: parts numbered under it that add up to its price are included in it."""
    for at, line in enumerate(lines):
        if line.kind != "item" or not re.fullmatch(r"\d+(\.\d+)*\.?", line.number):
            continue
        parts = takewhile(line.under(), lines[at + 1 :])
        priced = [part for part in parts if part.kind == "item" and part.amount]
        if not priced or line.amount is None:
            continue
        total = math.fsum(part.amount or 0.0 for part in priced)
        if abs(total - line.amount) <= CENT * len(priced) + 1e-9 * abs(total):
            line.remarks.append(f"the price of its {len(priced)} parts, which are not added again")
            for part in priced:
                part.kind = "included"
                part.remarks.append(f"a part of line {line.number}, whose price holds it")


# Totals.


def leave_out_hidden(lines: Sequence[Line]) -> None:
    """Leave out hidden rows where only that gives the quote's last total."""
    totals = [line for line in lines if line.kind == "total" and line.amount is not None]
    hidden = [line for line in lines if line.row.hidden and line.kind in COUNTED]
    if not hidden or not totals or _compare(totals[-1], lines).agrees:
        return
    shown = [line for line in lines if line not in hidden]
    if _compare(totals[-1], shown).agrees:
        for line in hidden:
            line.kind = "option"
            line.remarks.append("a hidden row, which the quote's total leaves out")


def check_sums(lines: Sequence[Line]) -> tuple[tuple[QuoteSum, ...], tuple[str, ...]]:
    """Each total of the quote beside its lines' sum, and findings where they differ.

    A subtotal holds the lines since the last one, or all before it of one sort; a total all lines
    before it, with taxes where a tax line stands before it and the sum needs it.
    """
    sums: list[QuoteSum] = []
    findings: list[str] = []
    since: list[Line] = []
    before: list[Line] = []
    for line in lines:
        if line.kind not in ("subtotal", "total") or line.amount is None:
            since.append(line)
            before.append(line)
            continue
        held = _subtotalled(line, since, before) if line.kind == "subtotal" else before
        found = _compare(line, held)
        sums.append(found)
        if not found.agrees:
            findings.append(
                f"{found.cell}: '{found.label}' is {found.stated:,.2f}, and the lines "
                f"that were read come to {found.read:,.2f}"
            )
        since = [] if line.kind == "subtotal" else since
    if not any(line.kind == "total" and line.amount is not None for line in lines):
        findings.append("the quote has no total to compare with its lines")
    return tuple(sums), tuple(findings)


def _subtotalled(line: Line, since: Sequence[Line], before: Sequence[Line]) -> Sequence[Line]:
    """The lines in a subtotal: those since the last one, or all before it of one sort."""
    bought = [each for each in before if each.kind == "item"]
    done = [each for each in before if each.kind in ("service", "support", "freight")]
    sorts = re.findall(r"[^\W\d_]{4,}", f"{line.texts.get('description')} {line.part}".lower())
    named = [
        each
        for each in before
        if any(sort.rstrip("s") in f"{each.section} {each.label}".lower() for sort in sorts)
    ]
    ways = (since, bought, done, named)
    return next((held for held in ways if _compare(line, held).agrees), since)


def _compare(line: Line, held: Sequence[Line]) -> QuoteSum:
    """A total beside the sum of lines, without taxes or with them."""
    stated = line.amount or 0.0
    counted = math.fsum(each.amount or 0.0 for each in held if each.kind in COUNTED)
    taxed = counted + math.fsum(each.amount or 0.0 for each in held if each.kind == "tax")
    read = min(counted, taxed, key=lambda each: abs(each - stated))
    agrees = abs(read - stated) <= CENT * max(1, len(held)) + 1e-9 * abs(stated)
    return QuoteSum(
        label=line.label,
        cell=line.cells.get("amount", f"row {line.row.number}"),
        stated=stated,
        read=read if agrees else counted,
        agrees=agrees,
    )
