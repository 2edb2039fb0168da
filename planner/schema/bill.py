"""Bills of materials as other programs read them, quotes as read, and bids evaluated.

Additive changes only, as with the plan. None is not known, never zero. The customer's edition of a
bill has none of the fields in `MONEY_OF_LINES` and `MONEY_OF_TOTALS`.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import Field

from planner.schema import (
    Day,
    Discounted,
    Identifier,
    Listed,
    Model,
    Net,
    PositiveWhole,
    Record,
    Text,
)
from planner.schema.analysis import InMeasure, Measure, Study
from planner.schema.plan import Section

LineKind = Literal[
    "item",
    "service",
    "support",
    "freight",
    "tax",
    "discount",
    "option",
    "included",
    "subtotal",
    "total",
    "not_understood",
]
QuoteField = Literal[
    "line",
    "part",
    "description",
    "quantity",
    "from_quantity",
    "unit_list",
    "discount",
    "unit_net",
    "amount",
    "currency",
    "lead_time",
    "term",
    "note",
]
MatchedBy = Literal["mapping", "part_number", "name"]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", examples=["EUR"])]


class QuoteLine(Record):
    """One row of a quote, in its currency, with the cell of each figure and remarks."""

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
    """A product that no catalog has: figures that the vendor states, and those still missing."""

    part_number: str
    description: str
    cell: str
    id: str
    category: str | None
    figures: tuple[str, ...]
    known: dict[str, str] = {}
    cells: dict[str, str] = {}


class Quoted(Record):
    """Quoted price of one catalog item, USD per unit; ``support_cells`` of included support."""

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
    """A quote read from a vendor's file; dates are empty where they are not clear."""

    schema_version: int = 1
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

    @property
    def stem(self) -> str:
        """Begin of the names of the files that are written of it."""
        return re.sub(r"[^A-Za-z0-9_.-]+", "_", self.file.rpartition(".")[0])


class QuoteMap(Model):
    """Layout of a vendor's quotes: headers by figure, items by part number or description."""

    quote_map: Text
    columns: dict[QuoteField, Text] = {}
    currency: Currency | None = None
    decimal: Literal["point", "comma"] | None = None
    date: Day | None = None
    items: dict[Text, Identifier] = {}
    quantities: dict[Text, PositiveWhole] = {}


SCHEMA_VERSION = 1


def _column(text: str) -> Any:
    return Field(description=text)


def _price(text: str) -> Any:
    """A column of the internal edition, and of those that its mark names."""
    return Field(default=None, description=text)


class BillLine(Record):
    """One line; power, height, weight and money of a ``parent_line`` include its parts."""

    line: str = _column("number, 3.0 (3 on the sheet Quote), its components 3.1, 3.2, …; text")
    section: Section = _column("Compute, Storage, Network, Racks & power, Software, …")
    site: str = _column("where; `site` where the problem has one")
    period: int = _column("when; 0 where the problem has one")
    parent_line: str | None = _column("line of the bundle, or that counts what is ordered")
    sku: str = _column("id in the catalogs")
    manufacturer: str = _column("as in the catalog; text")
    part_number: str | None = _column("as in the catalog; text")
    model: str = _column("as in the catalog; text")
    description: str | None = _column("as in the catalog; text")
    unit: str = _column("unit that is counted: each, licence")
    quantity: int = _column("units in place, installed and idle ones included")
    spares: int = _column("cold spares on the shelf")
    installed: int = _column("units that are there already")
    pack: int = _column("units in a pack")
    purchased: int = _column("units to buy: quantity and spares less installed, in packs")
    currency: Net[str | None] = _price("of all money: that of the problem, USD by default")
    unit_list: Listed[float | None] = _price("list price")
    discount: Discounted[float | None] = _price("share of the list price, from 0 to 1")
    unit_net: Net[float | None] = _price("net price")
    extended_list: Listed[float | None] = _price("for what is purchased, to the cent")
    extended_net: Net[float | None] = _price("for what is purchased, to the cent")
    support_per_year: Net[float | None] = _price("for what is purchased")
    subscription_per_year: Net[float | None] = _price("for what is purchased")
    support_years: float | None = _price("years of the term for which support is paid")
    price_source: str | None = _price("of the list price")
    price_date: str | None = _price("of the list price")
    price_confidence: str | None = _price("of the list price")
    lead_time: str | None = _column("as stated")
    lead_time_days: float | None = _column("its upper end, days")
    unit_it_power_kw: float | None = _column("largest draw of one")
    it_power_kw: float | None = _column("largest draw of all in place")
    heat_btu_per_h: float | None = _column("heat of all in place")
    unit_rack_units: float | None = _column("height of one")
    rack_units: float | None = _column("height of all in place")
    racks: int | None = _column("racks that it fills; shared ones: grand total alone")
    unit_weight_kg: float | None = _column("weight of one")
    weight_kg: float | None = _column("weight of all in place")
    role: str | None = _column("purpose of a companion")
    notes: tuple[str, ...] = _column("remarks of catalog and price book")
    unit_list_low: float | None = _price("least it is expected to be")
    unit_list_high: float | None = _price("most it is expected to be")
    subscription_per_year_low: float | None = _price("least expected, of the purchase")
    subscription_per_year_high: float | None = _price("most expected, of the purchase")
    support_from_years: float | None = _price("begin of paid support, in years of the term")
    price_book: str | None = _price("title of the price book")
    price_valid_until: str | None = _price("last day of a quote")
    category: str | None = _column("as in the catalog")
    lifecycle: str | None = _column("`announced`, `available`, `end_of_sale`")
    min_order: int | None = _column("minimum order quantity, where there is one")
    typical_power_kw: float | None = _column("typical draw of all in place")


class BillTotals(Record):
    """Sums over the lines without a ``parent_line``; None where a line's figure is not known."""

    extended_list: Listed[float | None] = None
    extended_net: Net[float | None] = None
    support_per_year: Net[float | None] = None
    subscription_per_year: Net[float | None] = None
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


MONEY_OF_LINES, MONEY_OF_TOTALS = (
    frozenset(name for name, field in record.model_fields.items() if not field.is_required())
    for record in (BillLine, BillTotals)
)
"""Fields of a line and of a sum that the customer's edition does not have."""
ChargeKind = Literal["service", "support", "freight", "other", "unknown", "surplus"]


class BidFigures(Record):
    """Figures of a bid's plan on the problem; None where not known."""

    capex_usd: float
    tco_usd: float | None
    useful_gpus: float
    useful_pflops: float | None
    goodput: float
    usd_per_useful_gpu_hour: float | None


class BidCharge(Record):
    """A payment that is no product of the bill; USD, once."""

    kind: ChargeKind
    label: str
    usd: float
    cells: tuple[str, ...]


class Lack(Record):
    """An item that the cluster needs and a bid lacks, and its cost."""

    sku: str
    product: str
    kind: Literal["units", "support"]
    units: float
    usd: float


class Bid(Record):
    """One bid, evaluated; ``state`` is "open", with reasons, where it is not known well enough."""

    key: str
    vendor: str
    file: str
    sha256: str
    date: str
    currency: str
    usd_per_unit: float
    quoted_usd: float
    rebate: float
    state: Literal["meets", "breaks", "open"]
    rank: int | None = None
    measured: InMeasure | None = None
    figures: BidFigures | None = None
    against: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    charges: tuple[BidCharge, ...] = ()
    lacks: tuple[Lack, ...] = ()
    lacks_usd: float = 0.0
    unread: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


class Award(Record):
    """Whose offer is taken for a lot; no bid where it is bought at the book's prices."""

    lot: Literal["gpu_system", "storage", "others"]
    bids: tuple[str, ...]
    counts: dict[str, int]


class Mix(Record):
    """The best award of lots among the bids; ``proven``: each award to its end."""

    awards: tuple[Award, ...]
    bids: tuple[str, ...]
    measured: InMeasure
    proven: bool
    figures: BidFigures
    tried: int


class Bids(Study):
    """Bids evaluated on one problem, ranked."""

    kind: Literal["bids"] = "bids"
    measure: Measure
    money: Literal["tco", "capex"]
    bids: tuple[Bid, ...]
    mix: Mix | None = None
    mix_reason: str = ""
    message: str | None = None
    status: str = "optimal"
