"""A vendor's quote as it was read: every line with the cells that it stands in.

Additive changes only, as with the plan.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.schema.base import Identifier, Model, PositiveWhole, Record, Text

QUOTE_SCHEMA_VERSION = 1

LineKind = Literal[
    "item", "service", "support", "freight", "tax", "discount", "option", "included", "subtotal",
    "total", "not_understood",
]  # fmt: skip
QuoteField = Literal[
    "line", "part", "description", "quantity", "from_quantity", "unit_list", "discount",
    "unit_net", "amount", "currency", "lead_time", "term", "note",
]  # fmt: skip
MatchedBy = Literal["mapping", "part_number", "name"]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", examples=["EUR"])]
IsoDate = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$", examples=["2026-11-20"])]


class QuoteLine(Record):
    """One row of a quote.

    Amounts are in the quote's currency; ``cells`` names the cell that each figure was read from.
    ``currency`` is that of the line itself where it names one, and ``remarks`` what it says there.
    ``hidden`` rows are not seen by who opens the file. ``remarks`` say what is odd about it.
    """

    sheet: str
    row: int
    kind: LineKind
    line: str
    part_number: str
    description: str
    section: str
    quantity: float | None
    unit_list: float | None
    discount: float | None
    unit_net: float | None
    amount: float | None
    term_years: float | None
    lead_time: str
    item: str | None
    matched_by: MatchedBy | None
    hidden: bool
    cells: dict[str, str]
    remarks: tuple[str, ...]
    currency: str = ""


class QuoteSum(Record):
    """What was read, added up, against a total of the quote's own."""

    label: str
    cell: str
    stated: float
    read: float
    agrees: bool


class Asked(Record):
    """A product that no catalog has, and the figures that a plan needs of it.

    ``known`` are figures that the vendor states, by where they stand in a catalog; ``cells`` says
    where in the file; ``figures`` are those that are still asked for.
    """

    part_number: str
    description: str
    cell: str
    id: str
    category: str | None
    figures: tuple[str, ...]
    known: dict[str, str] = {}
    cells: dict[str, str] = {}


class Quoted(Record):
    """The price of one item of the catalogs as quoted, in USD per unit.

    ``support_cells`` are those of the support that is counted in it.
    """

    item: str
    quantity: float
    net_usd: float
    list_usd: float | None
    support_usd_per_year: float | None
    support_included_years: float | None
    lead_time: str | None
    cells: tuple[str, ...]
    support_cells: tuple[str, ...] = ()


class Quote(Record):
    """A quote read from a vendor's file; its ``date`` is empty where it is not clear.

    ``usd_per_unit`` is the rate that amounts were multiplied by; ``columns`` says which column was
    taken for what; ``decimal`` how numbers that are texts are written.
    """

    schema_version: int = QUOTE_SCHEMA_VERSION
    vendor: str
    file: str
    sha256: str
    date: str
    currency: str
    usd_per_unit: float
    decimal: Literal["point", "comma"]
    columns: dict[str, str]
    lines: tuple[QuoteLine, ...]
    sums: tuple[QuoteSum, ...]
    prices: tuple[Quoted, ...]
    asked: tuple[Asked, ...]
    findings: tuple[str, ...]


class QuoteMap(Model):
    """How a vendor's quotes are laid out, as somebody says or as an import found it.

    ``columns`` names headers as they stand in the file; ``items`` says which product of the
    catalogs a part number or a description is; ``leave_out`` names rows that are no lines;
    ``quantities`` says how many are wanted of what a file prices without a quantity.
    """

    quote_map: Text
    columns: dict[QuoteField, Text] = {}
    currency: Currency | None = None
    decimal: Literal["point", "comma"] | None = None
    date: IsoDate | None = None
    sheets: tuple[Text, ...] = ()
    items: dict[Text, Identifier] = {}
    leave_out: tuple[Text, ...] = ()
    quantities: dict[Text, PositiveWhole] = {}
