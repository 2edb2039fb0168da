"""The lines of a quote: what each row is, its figures, and whether the quote adds up.

Nothing is invented: a figure is one of the file's cells, or follows from two of them; what is not
understood is kept as that, with its row.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from planner.foreign_workbooks import NO_VALUE
from planner.quotes.columns import Header
from planner.quotes.grid import (
    INCLUDED,
    NOTHING,
    Cell,
    Decimal,
    Grid,
    Row,
    currency_of,
    number,
    style,
    term_years,
)
from planner.schema.bill import LineKind, QuoteField, QuoteLine, QuoteSum

CENT = 0.011
"""Sums of rounded amounts may differ by a cent for each of them."""
_CLOSE = 1e-9

_FIGURES: tuple[QuoteField, ...] = ("quantity", "unit_list", "discount", "unit_net", "amount")
_ALL = (
    r"prices?|amounts?|costs?|values?|sums?|due|payable|net|gross|incl\w*|excl\w*|ex|before|after|"
    r"in|of|for (this|the) (quote|offer|order)|quote|quotation|offer|order|project|contract|"
    r"invoice|ht|ttc|g[ée]n[ée]ral|netto|brutto"
)
"""Words that leave a total one of the whole quote; any other word names a part of it."""
_PATTERNS: tuple[tuple[LineKind, str], ...] = (
    ("subtotal", r"^(sub-? ?total|zwischensumme|sous-total)\b|"
                 rf"^total (for )?(?!({_ALL}|[a-z]{{3}})\b)[a-z]|"
                 r"^(?!(grand|net|overall|quote|quotation|offer|order|final|project|contract|"
                 r"invoice|total)\b)[a-zé&/-]+( [a-zé&/-]+){0,3} (sub-?)?totals?\b"),
    ("total", r"^(grand |net |overall |quote |quotation |offer |order |final |project |contract |"
              r"invoice )?(total|gesamtsumme|gesamtbetrag|gesamt|endsumme|summe|[üu]bertrag|"
              r"carried (over|forward))\b"),
    ("tax", r"^((zzgl|plus|add|zuz[üu]glich|incl|inkl)\.? )?(\d+([.,]\d+)? ?% )?"
            r"(vat|sales tax|tax(es)?|mwst|ust|gst|tva|import duty|"
            r"dut(y|ies)|customs)\b"),
    ("discount", r"^(less:? |minus |your )?([\w-]+ ){0,3}"
                 r"(discounts?|rebates?|rabatt|\w*nachlass|remise|credit|skonto|escompte|"
                 r"trade-?in|savings?)( |:|$|\()"),
    ("freight", r"\b(freight|shipping|shipment|delivery (charge|fee|cost)|transport|fracht|"
                r"versand|lieferung frei|insurance in transit|ddp|dap)\b"),
    ("service", r"\b(installation|install|commissioning|integration|professional services?|"
                r"deployment|training|consulting|on-?site engineer|project management|labou?r|"
                r"rack (and|&) stack|cabling service|acceptance test|inbetriebnahme)\b"),
    ("support", r"\b(support|maintenance|warranty|\w*nbd|next business day|(\w+ )?care( ?pack)?|"
                r"sntc|smartnet|prosupport|pointnext|onsite service|4-?hour response|"
                r"subscriptions?|sla|wartung|gew[äa]hrleistung)\b"),
)  # fmt: skip
_CONTRACT = re.compile(r"^CON-[A-Z0-9]", re.I)
"""Part numbers of service contracts: Cisco's begin with CON-."""
_WORDS = tuple((kind, re.compile(pattern, re.I)) for kind, pattern in _PATTERNS)
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
"""What is paid for by the month: its amount is no price of what is bought."""
_COUNTED_IN = re.compile(
    r"^x\s*(?=\d)|(?<=\d)\s*(x|ea|each|pcs?|pieces?|units?|stk|st|stück|nos?|sets?|lots?)\.?$", re.I
)
"""What people write beside a quantity: "2 ea", "x 4"."""
_COUNTED = frozenset({"item", "service", "support", "freight", "discount"})


@dataclass
class _Line:
    """A row as it is being read."""

    row: Row
    section: str
    texts: dict[QuoteField, str] = field(default_factory=dict)
    figures: dict[QuoteField, float] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)
    odd: dict[QuoteField, str] = field(default_factory=dict)
    included: bool = False
    optional: bool = False
    superseded: bool = False
    told_in_percent: bool = False
    beyond: bool = False
    kind: LineKind = "not_understood"
    remarks: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What it is called."""
        return self.texts.get("description") or self.texts.get("part") or ""

    @property
    def amount(self) -> float | None:
        """What it costs together."""
        return self.figures.get("amount")


def decimal_of(grid: Grid, tables: Sequence[Header]) -> Decimal:
    """Return how numbers that are texts are written; what could be both is settled by arithmetic.

    Of "1.234" alone nobody can tell. Both ways are tried: the one in which more lines multiply out
    is right, and where none does, groups of three digits are thousands.
    """
    texts = [
        cell.text
        for row, header in _body(grid, tables)
        for name in _FIGURES
        if name != "discount" and (cell := row.cells.get(header.fields.get(name, -1))) is not None
        and isinstance(cell.value, str)
    ]  # fmt: skip
    mark = style(texts)
    if mark is not None:
        return mark
    ways: tuple[Decimal, Decimal] = ("point", "comma")
    right = [sum(_multiplies(line) for line in _lines(grid, tables, way)) for way in ways]
    if right[0] != right[1]:
        return "point" if right[0] > right[1] else "comma"
    return "comma" if texts and all("." in text or "," not in text for text in texts) and any(
        "." in text for text in texts
    ) else "point"  # fmt: skip


def _multiplies(line: _Line) -> bool:
    known = line.figures
    if not {"quantity", "unit_net", "amount"} <= known.keys():
        return False
    return math.isclose(known["quantity"] * known["unit_net"], known["amount"], rel_tol=1e-6)


def read_lines(
    grid: Grid,
    tables: Sequence[Header],
    decimal: Decimal,
    quantities: Mapping[str, int] | None = None,
) -> tuple[QuoteLine, ...]:
    """Return every row of the tables that says something, each with what it is.

    Args:
        decimal: how numbers that are texts are written.
        quantities: how many are wanted of what is priced without a quantity, by part number or
            description.
    """
    lines = list(_lines(grid, tables, decimal))
    _discounts_as_shares(lines)
    _by_quantity(lines, quantities or {})
    for line in lines:
        _complete(line)
        line.kind = "option" if line.superseded else _kind(line)
    _service_terms(lines)
    _last_total(lines)
    _bundles(lines)
    return tuple(_record(line) for line in lines)


def _body(grid: Grid, tables: Sequence[Header]) -> Iterator[tuple[Row, Header]]:
    """Yield the rows under each header, down to the next."""
    heads = {(header.sheet, header.row): header for header in tables}
    within = {
        (header.sheet, number)
        for header in tables
        for number in range(header.row, header.last_row + 1)
    }
    for sheet, rows in grid.sheets.items():
        header: Header | None = None
        for row in rows:
            header = heads.get((sheet, row.number), header)
            if header is not None and (sheet, row.number) not in within and row.cells:
                yield row, header


def _lines(grid: Grid, tables: Sequence[Header], decimal: Decimal) -> Iterator[_Line]:
    section, sheet = "", None
    for row, header in _body(grid, tables):
        if row.sheet != sheet:
            section, sheet = "", row.sheet
        line = _line(row, header, section, decimal)
        if not line.figures and not line.odd and not line.included:
            heading = " ".join(row.texts)
            if len(row.cells) <= 2 and not is_total(heading):
                section = heading
                continue
        yield line
        if is_total(line.label):  # what follows, such as freight, is of no section
            section = ""


def is_total(text: str) -> bool:
    """Whether a label is that of a total or subtotal."""
    return any(kind in ("total", "subtotal") and word.search(text) for kind, word in _WORDS)


def _line(row: Row, header: Header, section: str, decimal: Decimal) -> _Line:
    line = _Line(row, section)
    line.beyond = max(row.cells, default=0) > max(header.columns, default=0)
    for name, column in header.fields.items():
        cell = row.cells.get(column)
        if cell is None:
            continue
        if name not in _FIGURES:
            line.texts[name] = cell.text
            if name in ("lead_time", "term") and re.fullmatch(r"\d+([.-]\d+)?", cell.text):
                line.texts[name] += _time_unit(header.texts[name])
            line.cells[name] = cell.name
            continue
        _take(line, name, cell, decimal, header.sizes.get(name, 1.0))
    if not line.figures and set(line.odd.values()) == {NO_VALUE}:  # a row that waits to be filled
        line.odd.clear()
    if not line.label:  # a total's label may stand in any column
        line.texts["description"] = next(
            (cell.text for cell in row.cells.values() if isinstance(cell.value, str)
             and number(cell.text, decimal) is None), "")  # fmt: skip
    line.optional = bool(_OPTIONAL.search(f"{row.sheet} | {section} | {' '.join(row.texts)}"))
    return line


def _time_unit(header: str) -> str:
    """Return the unit of times that a header names, empty where it names none."""
    unit = re.search(r"\b(days?|tagen?|months?|monaten?|mths?|years?|yrs?|jahren?)\b", header, re.I)
    return f" {unit[1].lower()}" if unit else ""


def _take(line: _Line, name: QuoteField, cell: Cell, decimal: Decimal, size: float) -> None:
    """Take a figure from a cell, or keep what stands there instead."""
    text = cell.text
    if isinstance(cell.value, datetime.date):
        line.odd[name] = text
        return
    bare = _COUNTED_IN.sub("", text) if name == "quantity" else text
    value = cell.value if isinstance(cell.value, float) else number(bare, decimal)
    if value is not None and name == "discount" and "%" in text:
        value /= 100.0
        line.told_in_percent = True
    if value is not None:
        line.figures[name] = value * size
        line.cells[name] = cell.name
    elif text.lower().strip(" .") in INCLUDED or text in NOTHING:
        line.included = True
        line.cells[name] = cell.name
    else:
        line.odd[name] = text


def _discounts_as_shares(lines: Sequence[_Line]) -> None:
    """Have discounts be shares: a column with one above 1 is in percent, its 0.5 is 0.5 %.

    Of one without, prices tell: 1 is 1 % where 99 stands beside 100. Where nothing tells, that is
    said.
    """
    plain = [line for line in lines if line.figures.get("discount") and not line.told_in_percent]
    for sheet in {line.row.sheet for line in plain}:
        column = [line for line in plain if line.row.sheet == sheet]
        shares = [sum(_discounted(line, size) for line in column) for size in (1.0, 100.0)]
        if any(abs(line.figures["discount"]) > 1.0 for line in column) or shares[1] > shares[0]:
            for line in column:
                line.figures["discount"] /= 100.0
        elif not any(shares):
            for line in column:
                share = line.figures["discount"]
                taken = f"is taken as {100.0 * share:.6g} %"
                if share == 1.0:
                    del line.figures["discount"]
                    taken = "is 1 % or 100 %, and not taken off"
                line.remarks.append(f"a discount of {share:g} {taken}")


def _discounted(line: _Line, size: float) -> bool:
    """Say whether a line's own figures bear out its discount, counted in so many to the whole."""
    known = line.figures
    share, listed = 1.0 - known["discount"] / size, known.get("unit_list", known.get("unit_net"))
    quantity, amount = known.get("quantity"), known.get("amount")
    if listed is None:
        return False
    if "unit_list" in known and "unit_net" in known:
        return abs(listed * share - known["unit_net"]) <= CENT
    if not quantity or amount is None:
        return False
    return abs(quantity * listed * share - amount) <= CENT * max(1.0, abs(quantity))


def _by_quantity(lines: Sequence[_Line], wanted: Mapping[str, int]) -> None:
    """Take of prices without a quantity the one that holds for how many are wanted, or ask."""
    priced: dict[str, list[tuple[float, _Line]]] = {}
    for line in lines:
        known, tier = line.figures, line.texts.get("from_quantity", "")
        priced_alone = known.keys() & {"unit_list", "unit_net"} and "quantity" not in known
        if not line.label or not priced_alone or line.odd or ("amount" in known and not tier):
            continue
        known.pop("amount", None)  # the extended price of a tier is no amount to pay
        first = re.search(r"\d+", tier)
        key = line.texts.get("part") or line.label
        priced.setdefault(key, []).append((float(first[0]) if first else 0.0, line))
    for key, tiers in priced.items():
        many = wanted.get(key, wanted.get(tiers[0][1].label))
        fitting = [each for each in tiers if many is not None and each[0] <= many]
        chosen = max(fitting, key=lambda each: each[0])[1] if fitting else None
        for first_unit, line in tiers:
            if line is chosen and many is not None:
                line.figures["quantity"] = float(many)
                line.remarks.append("its quantity is that of the mapping")
            elif chosen is not None:
                line.superseded = True
                line.remarks.append(f"the price from {first_unit:g} units on, not of {many:,}")
            else:
                several = f"its {len(tiers)} prices depend on the quantity" if tiers[1:] else (
                    "no quantity stands there")  # fmt: skip
                line.remarks.append(
                    f"{several}: say in the mapping how many, quantities: {{{key}: ...}}"
                )


def _complete(line: _Line) -> None:
    """Fill in what follows from what stands there, and say where the quote's own figures differ."""
    known = line.figures
    quantity, share = known.get("quantity"), known.get("discount")
    if line.odd.get("amount") == NO_VALUE and quantity and known.keys() & {"unit_net", "unit_list"}:
        del line.odd["amount"]  # quantity times unit price, below
    _before_discount(line)
    if "unit_net" not in known and "unit_list" in known and share is not None:
        known["unit_net"] = known["unit_list"] * (1.0 - share)
    if "unit_net" not in known and quantity and "amount" in known:
        known["unit_net"] = known["amount"] / quantity
    asked = line.odd.keys() & {"unit_net", "discount"}  # a price on request is not the list price
    if "unit_net" not in known and "unit_list" in known and share is None and not asked:
        known["unit_net"] = known["unit_list"]
    if "amount" not in known and quantity is not None and "unit_net" in known:
        known["amount"] = quantity * known["unit_net"]
        line.remarks.append("amount missing; computed as quantity x unit price")
    if quantity and "unit_net" in known and "amount" in known:
        product = quantity * known["unit_net"]
        if abs(product - known["amount"]) > CENT * max(1.0, abs(quantity)) + _CLOSE * abs(product):
            line.remarks.append(
                f"{quantity:,.12g} x {known['unit_net']:,.2f} is {product:,.2f}, "
                f"and {known['amount']:,.2f} stands there"
            )


def _before_discount(line: _Line) -> None:
    """Take a unit price for the list price where only so the line's amount is right.

    Where both are there, say if they differ by another discount than the one that stands there.
    """
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
        line.remarks.append(f"{price:,.2f} is taken as what it costs after {100 * share:.6g} % off")
        return
    room = CENT * max(1.0, abs(quantity)) + _CLOSE * abs(amount)
    if abs(quantity * price - amount) > room >= abs(quantity * price * (1.0 - share) - amount):
        known["unit_list"], line.cells["unit_list"] = price, line.cells.pop("unit_net")
        del known["unit_net"]


def _kind(line: _Line) -> LineKind:
    named = _named_kind(line)
    if named is not None:
        return named
    if _is_no_price(line):
        return "not_understood"
    if line.optional:
        return "option"
    if line.included or (line.amount in (None, 0.0) and line.figures.get("quantity")):
        return "included"
    if line.figures.get("quantity") and line.amount is not None:
        return "item"
    if line.amount is not None and line.amount < 0.0:
        line.remarks.append("a negative amount is a discount")
        return "discount"
    if not line.remarks:
        line.remarks.append(_reason(line))
    return "not_understood"


def _named_kind(line: _Line) -> LineKind | None:
    """The kind that a line's words name, None where they name none."""
    nothing_to_buy = "quantity" not in line.figures and "unit_net" not in line.figures
    for kind, word in _WORDS:
        contract = kind == "support" and _CONTRACT.search(line.texts.get("part", ""))
        if not contract and not word.search(line.label):
            continue
        if kind in ("total", "subtotal", "tax", "discount"):
            if nothing_to_buy or (kind == "discount" and (line.amount or 0.0) <= 0.0):
                return "not_understood" if line.amount is None else kind
            continue
        if line.optional:
            return "option"
        if line.amount is None and line.odd:
            return None  # such as a price on request
        return "included" if line.amount is None and line.included else kind
    return None


def _reason(line: _Line) -> str:
    """The missing figure that keeps a line from being priced."""
    if line.beyond:
        return "more cells than the header has columns; a comma in a text needs quotes"
    if "quantity" in line.odd:
        return f"'{line.odd['quantity']}' is no quantity"
    if line.amount is not None or "unit_net" in line.figures:
        return "no quantity"
    return "no price"


def _is_no_price(line: _Line) -> bool:
    """Whether a line has no price at which something is bought; its remarks say why."""
    if line.odd and not line.amount:
        line.remarks += (
            f"'{text}' is no {name.replace('_', ' ')}" for name, text in line.odd.items()
        )
        return True
    if line.amount and _LEASED.search(line.label):
        line.remarks.append("a lease or a rent, and no price at which it is bought")
        return True
    return False


def _service_terms(lines: Sequence[_Line]) -> None:
    """Take priced lines with a service term for support where a product beside them has none."""
    for line in lines:
        beside = (each for each in lines if each.row.sheet == line.row.sheet)
        if (
            line.kind == "item"
            and re.search(r"\d", line.texts.get("term", ""))
            and not re.search(r"\b(licen[cs]es?|software)\b", line.label, re.I)
            and any(each.kind == "item" and not re.search(r"\d", each.texts.get("term", ""))
                    for each in beside)
        ):  # fmt: skip
            line.kind = "support"


def _last_total(lines: Sequence[_Line]) -> None:
    """Take the last subtotal for the total where no line is called one."""
    if any(line.kind == "total" for line in lines):
        return
    for line in reversed(lines):
        if line.kind == "subtotal":
            line.kind = "total"
        if line.kind in _COUNTED or line.kind == "total":
            return


def _bundles(lines: Sequence[_Line]) -> None:
    """Count the parts of a bundle once: where they are numbered under it and add up to it."""
    for at, line in enumerate(lines):
        prefix = line.texts.get("line", "")
        if line.kind != "item" or not re.fullmatch(r"\d+(\.\d+)*\.?", prefix):
            continue
        under = prefix.rstrip(".").removesuffix(".0") + "."
        parts = []
        for part in lines[at + 1 :]:
            if not _is_under(part, under):
                break
            parts.append(part)
        priced = [part for part in parts if part.kind == "item" and part.amount]
        if not priced or line.amount is None:
            continue
        together = math.fsum(part.amount or 0.0 for part in priced)
        if abs(together - line.amount) <= CENT * len(priced) + 1e-9 * abs(together):
            line.remarks.append(f"the price of its {len(priced)} parts, which are not added again")
            for part in priced:
                part.kind = "included"
                part.remarks.append(f"a part of line {prefix}, whose price holds it")


def _is_under(line: _Line, prefix: str) -> bool:
    place = line.texts.get("line", "")
    return place.startswith(prefix) and place.rstrip(".") != prefix[:-1]


def _record(line: _Line) -> QuoteLine:
    known = line.figures
    term = line.texts.get("term", "")
    if re.fullmatch(r"\d+(\.\d+)?", term):  # neither cell nor header names a unit
        term += " months" if float(term) >= 12 else " years"
    return QuoteLine(
        sheet=line.row.sheet,
        row=line.row.number,
        kind=line.kind,
        line=line.texts.get("line", ""),
        part_number=line.texts.get("part", ""),
        description=line.texts.get("description", ""),
        section=line.section,
        quantity=known.get("quantity"),
        unit_list=known.get("unit_list"),
        discount=known.get("discount"),
        unit_net=known.get("unit_net"),
        amount=known.get("amount"),
        term_years=term_years(f"{term} {line.label}"),
        lead_time=line.texts.get("lead_time", ""),
        item=None,
        matched_by=None,
        hidden=line.row.hidden,
        cells=dict(sorted(line.cells.items())),
        remarks=tuple(line.remarks),
        currency=currency_of(line.texts.get("currency", "")) or "",
    )


# What was read against the quote's own totals.


def check_sums(lines: Sequence[QuoteLine]) -> tuple[tuple[QuoteSum, ...], tuple[str, ...]]:
    """Return each total of the quote beside what was read, and what is to be said of them.

    A subtotal holds the lines since the last one. A total holds all lines before it, with taxes
    where a tax line stands before it and the sum needs it.
    """
    sums: list[QuoteSum] = []
    said: list[str] = []
    since: list[QuoteLine] = []
    before: list[QuoteLine] = []
    for line in lines:
        if line.kind in ("subtotal", "total") and line.amount is not None:
            held = _subtotalled(line, since, before) if line.kind == "subtotal" else before
            alternative = _OPTIONAL.search(f"{line.description} {line.part_number}")
            if alternative:  # the sum of a section that the quote's total leaves out
                held = [_as_counted(each) for each in before if each.section == line.section]
            sums.append(_compare(line, held))
            if not sums[-1].agrees:
                said.append(
                    f"{sums[-1].cell}: '{sums[-1].label}' is {sums[-1].stated:,.2f}, and the lines "
                    f"that were read come to {sums[-1].read:,.2f}"
                )
            since = [] if line.kind == "subtotal" else since
            continue
        since.append(line)
        before.append(line)
    if not any(line.kind == "total" for line in lines):
        said.append("the quote has no total to hold what was read against")
    return tuple(sums), tuple(said)


def _subtotalled(
    line: QuoteLine, since: Sequence[QuoteLine], before: Sequence[QuoteLine]
) -> Sequence[QuoteLine]:
    """Return what a subtotal holds: the lines since the last one, or all so far of one sort."""
    bought = [each for each in before if each.kind == "item"]
    done = [each for each in before if each.kind in ("service", "support", "freight")]
    sorts = re.findall(r"[^\W\d_]{4,}", f"{line.description} {line.part_number}".lower())
    named = [each for each in before
             if any(sort.rstrip("s") in f"{each.section} {each.description}".lower()
                    for sort in sorts)]  # fmt: skip
    ways = (since, bought, done, named)
    return next((held for held in ways if _compare(line, held).agrees), since)


def _as_counted(line: QuoteLine) -> QuoteLine:
    return line.model_copy(update={"kind": "item"}) if line.kind == "option" else line


def _compare(line: QuoteLine, held: Sequence[QuoteLine]) -> QuoteSum:
    stated = line.amount or 0.0
    sums = [_sum(held)]
    if any(each.kind == "tax" for each in held):
        sums.append(_sum(held, taxed=True))
    if line.currency:  # of all lines in this currency, or of those that are in it
        sums.append(_sum(each for each in held if each.currency == line.currency))
    room = CENT * max(1, len(held)) + 1e-9 * abs(stated)
    read = min(sums, key=lambda each: abs(each - stated))
    cell = line.cells.get("amount", f"row {line.row}")
    return QuoteSum(
        label=line.description or line.part_number,
        cell=cell,
        stated=stated,
        read=read if abs(read - stated) <= room else sums[0],
        agrees=abs(read - stated) <= room,
    )


def _sum(lines: Iterable[QuoteLine], *, taxed: bool = False) -> float:
    kinds = _COUNTED | ({"tax"} if taxed else set())
    seen = {(each.sheet, each.row): each for each in lines}.values()
    return math.fsum(each.amount or 0.0 for each in seen if each.kind in kinds)


def settle_lines(lines: Sequence[QuoteLine]) -> tuple[QuoteLine, ...]:
    """Return the lines counted as the quote's last total counts them, where it tells.

    Where it is right only with the options, or only without the rows that are hidden, that is how
    the vendor adds up.
    """
    totals = {line.currency: line for line in lines
              if line.kind == "total" and line.amount is not None}  # fmt: skip
    ways = (tuple(lines), tuple(map(_counted, lines)), tuple(map(_left_out, lines)))
    for way in ways if totals else ():
        if all(_compare(total, way).agrees for total in totals.values()):
            return way
    return tuple(lines)


def _counted(line: QuoteLine) -> QuoteLine:
    if line.kind != "option":
        return line
    remark = "called an option, and the quote's total holds it"
    return line.model_copy(update={"kind": "item", "remarks": (*line.remarks, remark)})


def _left_out(line: QuoteLine) -> QuoteLine:
    if not line.hidden or line.kind not in _COUNTED:
        return line
    remark = "a hidden row, which the quote's total leaves out"
    return line.model_copy(update={"kind": "option", "remarks": (*line.remarks, remark)})
