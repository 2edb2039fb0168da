"""Bids on one problem side by side: value, exclusions, break-even.

Additive changes only, as with the plan.
"""

from typing import Literal

from planner.schema.base import Record
from planner.schema.comparison import InMeasure
from planner.schema.sensitivity import Study
from planner.schema.verification import Breach

Quantities = Literal["quoted", "free"]
BidState = Literal["meets", "breaks", "open"]
PricedBy = Literal["quote", "more", "book"]
LackKind = Literal["units", "more_units", "support", "subscription"]
ChargeKind = Literal["service", "support", "freight", "other", "unknown", "surplus"]
BidLot = Literal["gpu_system", "storage", "others"]


class BidMeasure(Record):
    """Ranking criterion of bids; ``sense`` is maximize or minimize."""

    name: str
    label: str
    unit: str
    sense: Literal["maximize", "minimize"]


class BidFigures(Record):
    """Figures of a bid's plan on the problem; None where not known.

    ``years_usd`` is ``tco_usd`` less ``capex_usd``: support, subscriptions, energy and
    colocation over the term, discounted.
    """

    capex_usd: float
    tco_usd: float | None
    years_usd: float | None
    gpus_used: int
    useful_gpus: float
    useful_pflops: float | None
    goodput: float
    usd_per_useful_gpu_hour: float | None
    usd_per_million_tokens: float | None
    days_to_train: float | None
    facility_power_kw: float | None
    racks: int | None
    restore_s: float
    interval_s: float
    lead_time_days: float | None


class BidLine(Record):
    """A product of a bid's bill: demand, quote, cost.

    ``priced_by`` is "quote", "book", or "more": units beyond those that are quoted, at the quoted
    price. ``usd`` is paid at once, ``years_usd`` for support and subscriptions over the term. At
    the ends of the book's prices both together come to ``low_usd`` and ``high_usd``.
    """

    sku: str
    section: str
    product: str
    needed: int
    quoted: float
    unit_usd: float | None
    usd: float
    years_usd: float
    priced_by: PricedBy
    cells: tuple[str, ...]
    low_usd: float
    high_usd: float


class BidCharge(Record):
    """Something that is paid for with a bid and is no product of the bill; USD, once."""

    kind: ChargeKind
    label: str
    usd: float
    cells: tuple[str, ...]


class Lack(Record):
    """An item that the cluster needs and a bid lacks, and its cost.

    ``usd`` is its whole cost, over the term where the ranking is by TCO.
    """

    sku: str
    product: str
    kind: LackKind
    units: float
    usd: float
    low_usd: float
    high_usd: float


class TraceRow(Record):
    """A line of a bid's file, and which figure it became.

    Amounts are in the currency of the quote; ``usd`` is ``amount`` times the rate.
    """

    bid: str
    file: str
    row: int
    cells: dict[str, str]
    kind: str
    description: str
    item: str | None
    quantity: float | None
    unit_net: float | None
    amount: float | None
    currency: str
    usd_per_unit: float
    usd: float | None
    became: str


class BreakEven(Record):
    """Break-even price of a whole bid: share of its quote, and USD.

    At ``share`` of its prices the bid was planned again and is first, at ``not_at`` it is not. Both
    are None where no price does it, or any; ``reason`` then says why.
    """

    share: float | None
    usd: float | None
    not_at: float | None
    reason: str = ""


class Remedy(Record):
    """Quantities of a bid's own products with which it meets every limit."""

    counts: dict[str, int]
    measured: InMeasure | None


class Holding(Record):
    """Robustness of a bid's rank to unquoted items: share of draws ranked first."""

    first: float
    best_rank: int
    worst_rank: int


class Bid(Record):
    """One bid, evaluated on the problem.

    ``quoted_usd`` is the total of its file without taxes, ``stated_usd`` the file's own last
    total. ``state`` is "open" where its offer is not known well enough for evaluation; ``open``
    then says why. ``breaches`` are the limits it breaks, ``against`` other rules it breaks.
    ``lacks_usd`` is the cost of missing items at the book's rates.
    ``unread`` are cells of lines that were not understood, and of totals that the lines read do
    not add up to: money that is in no figure of the bid.
    """

    key: str
    vendor: str
    file: str
    sha256: str
    date: str
    currency: str
    usd_per_unit: float
    quoted_usd: float
    stated_usd: float | None
    rebate: float
    state: BidState
    rank: int | None = None
    measured: InMeasure | None = None
    figures: BidFigures | None = None
    breaches: tuple[Breach, ...] = ()
    against: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    lines: tuple[BidLine, ...] = ()
    charges: tuple[BidCharge, ...] = ()
    lacks: tuple[Lack, ...] = ()
    lacks_usd: float = 0.0
    break_even: BreakEven | None = None
    remedy: Remedy | None = None
    holding: Holding | None = None
    unread: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


class Award(Record):
    """Whose offer is taken for a lot; no bid where it is bought at the book's prices."""

    lot: BidLot
    bids: tuple[str, ...]
    counts: dict[str, int]


class Mix(Record):
    """The best award of lots among the bids, and its proof.

    ``tried`` awards were planned, ``possible`` of them meet every limit. ``proven`` says that each
    was planned to its best by the problem's objective, or proven to have no plan; ``bound`` is what
    no award passes, where the measure is that objective. ``saves_usd`` is how much less is paid
    than for the best bid by itself, ``better`` how much better the measure is, as a share.
    """

    awards: tuple[Award, ...]
    bids: tuple[str, ...]
    measured: InMeasure
    bound: InMeasure | None
    proven: bool
    figures: BidFigures
    tried: int
    possible: int
    saves_usd: float | None
    better: float | None


class Bids(Study):
    """Bids evaluated on one problem, ranked.

    ``settled`` says whether the first stays first wherever the book's prices come in within their
    ranges; ``draws`` are the draws of these that ranks were counted in.
    """

    kind: Literal["bids"] = "bids"
    quantities: Quantities
    measure: BidMeasure
    money: Literal["tco", "capex"]
    bids: tuple[Bid, ...]
    trace: tuple[TraceRow, ...]
    mix: Mix | None = None
    mix_reason: str = ""
    settled: bool | None = None
    draws: int = 0
    message: str | None = None
    status: str = "optimal"
