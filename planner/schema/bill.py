"""The bill of materials as other programs read it, and a vendor's quote as it was read.

Additive changes only, as with the plan.

Money is in ``currency``. None is not known, never zero. The customer's edition has none of the
fields named in `MONEY_OF_LINES` and `MONEY_OF_TOTALS`.
"""

from typing import Annotated, Literal

from pydantic import Field

from planner.schema.base import (
    Day,
    Identifier,
    Model,
    PositiveWhole,
    Record,
    Text,
)
from planner.schema.plan import Section

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


class QuoteLine(Record):
    """One row of a quote.

    Amounts are in the quote's currency; ``cells`` names the cell that each figure was read from.
    ``currency`` is that of the line itself where it names one, and ``remarks`` its text.
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
    """Sum of the lines read, against a total of the quote."""

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

    ``valid_until`` is the last day on which its prices hold, empty where nothing is said of it.
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
    valid_until: str = ""


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
    date: Day | None = None
    sheets: tuple[Text, ...] = ()
    items: dict[Text, Identifier] = {}
    leave_out: tuple[Text, ...] = ()
    quantities: dict[Text, PositiveWhole] = {}


SCHEMA_VERSION = 1


class BillLine(Record):
    """One line; power, height, weight and money of a ``parent_line`` hold those of its parts."""

    line: str = Field(
        description="number, 3.0 (3 on the sheet Quote), its components 3.1, 3.2, …; text"
    )
    section: Section = Field(
        description="Compute, Storage, Network, Optics & cables, Racks & power, "
        "Software, Services, Components"
    )
    site: str = Field(description="where; `site` where the problem has one")
    period: int = Field(description="when; 0 where the problem has one")
    parent_line: str | None = Field(
        description="line of the bundle that this is a part of, or that counts what is ordered here"
    )
    sku: str = Field(description="id in the catalogs")
    manufacturer: str = Field(description="as in the catalog; text")
    part_number: str | None = Field(description="as in the catalog; text")
    model: str = Field(description="as in the catalog; text")
    description: str | None = Field(description="as in the catalog; text")
    unit: str = Field(description="what is counted: each, licence")
    quantity: int = Field(
        description="units in place, installed ones included, idle ones too (a note says how many)"
    )
    spares: int = Field(description="cold spares on the shelf")
    installed: int = Field(description="units that are there already")
    pack: int = Field(description="units in a pack")
    purchased: int = Field(
        description="units to buy: quantity and spares less what is installed, in whole packs"
    )
    currency: str | None = Field(
        default=None, description="of all money: that of the problem, USD by default"
    )
    unit_list: float | None = Field(default=None, description="list price")
    discount: float | None = Field(default=None, description="share of the list price, from 0 to 1")
    unit_net: float | None = Field(default=None, description="net price")
    extended_list: float | None = Field(
        default=None, description="for what is purchased, to the cent"
    )
    extended_net: float | None = Field(
        default=None, description="for what is purchased, to the cent"
    )
    support_per_year: float | None = Field(default=None, description="for what is purchased")
    subscription_per_year: float | None = Field(default=None, description="for what is purchased")
    support_years: float | None = Field(
        default=None, description="years of the term for which support is paid, where there is any"
    )
    price_source: str | None = Field(default=None, description="of the list price")
    price_date: str | None = Field(default=None, description="of the list price")
    price_confidence: str | None = Field(default=None, description="of the list price")
    lead_time: str | None = Field(description="as stated")
    lead_time_days: float | None = Field(description="its upper end, days")
    unit_it_power_kw: float | None = Field(description="largest draw of one")
    it_power_kw: float | None = Field(description="largest draw of all in place")
    heat_btu_per_h: float | None = Field(description="heat of all in place")
    unit_rack_units: float | None = Field(description="height of one")
    rack_units: float | None = Field(description="height of all in place")
    racks: int | None = Field(
        description="racks that the line fills; those that several lines share are in the grand "
        "total alone"
    )
    unit_weight_kg: float | None = Field(description="weight of one")
    weight_kg: float | None = Field(description="weight of all in place")
    role: str | None = Field(description="what a companion is for")
    notes: tuple[str, ...] = Field(description="remarks of catalog and price book")
    length_m: float | None = Field(description="length as it is ordered, of cables by length")
    unit_list_low: float | None = Field(
        default=None, description="least it is expected to come in at"
    )
    unit_list_high: float | None = Field(
        default=None, description="most that it is expected to come in at"
    )
    subscription_per_year_low: float | None = Field(
        default=None, description="least it is expected to be, for what is purchased"
    )
    subscription_per_year_high: float | None = Field(
        default=None, description="most it is expected to be, for what is purchased"
    )
    support_level: str | None = Field(
        default=None, description="the kind of support, where price book or problem name one"
    )
    support_from_years: float | None = Field(
        default=None,
        description="when support begins to be paid, in years of the term: after what the price "
        "includes",
    )
    price_book: str | None = Field(default=None, description="where the price stands")
    price_valid_until: str | None = Field(default=None, description="how long a quote is good")
    category: str | None = Field(description="as in the catalog")
    lifecycle: str | None = Field(description="`announced`, `available`, `end_of_sale`")
    min_order: int | None = Field(description="the least that is sold, where there is one")
    typical_power_kw: float | None = Field(description="typical draw of all in place")
    country_of_origin: str | None = Field(description="as the catalog states them under `trade`")
    hs_code: str | None = Field(description="as the catalog states them under `trade`")
    export_class: str | None = Field(description="as the catalog states them under `trade`")
    warranty_years: float | None = Field(description="as the catalog states them under `trade`")


class BillTotals(Record):
    """Sums over the lines without a ``parent_line``; None where a line's figure is not known."""

    extended_list: float | None = None
    extended_net: float | None = None
    support_per_year: float | None = None
    subscription_per_year: float | None = None
    it_power_kw: float | None
    heat_btu_per_h: float | None
    rack_units: float | None
    racks: int | None
    weight_kg: float | None


class BillSums(Record):
    """The sums by section, and over all of them with the racks that sections share."""

    sections: dict[Section, BillTotals]
    grand: BillTotals


class Bill(Record):
    """A bill of materials."""

    schema_version: int = SCHEMA_VERSION
    problem: str
    currency: str | None = None
    audience: Literal["internal", "customer", "partner"]
    lines: tuple[BillLine, ...]
    totals: BillSums


MONEY_OF_LINES = frozenset(
    {
        "currency",
        "unit_list",
        "discount",
        "unit_net",
        "extended_list",
        "extended_net",
        "support_per_year",
        "subscription_per_year",
        "support_years",
        "price_source",
        "price_date",
        "price_confidence",
        "unit_list_low",
        "unit_list_high",
        "subscription_per_year_low",
        "subscription_per_year_high",
        "support_level",
        "support_from_years",
        "price_book",
        "price_valid_until",
    }
)
"""Fields of a line that the customer's edition does not have."""

MONEY_OF_TOTALS = frozenset(
    {"extended_list", "extended_net", "support_per_year", "subscription_per_year"}
)
"""Fields of a sum that the customer's edition does not have."""
