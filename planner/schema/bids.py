"""Bids on one problem side by side: value, exclusions, break-even.

Additive changes only, as with the plan.
"""

from typing import Literal

from planner.schema.base import Record
from planner.schema.comparison import InMeasure
from planner.schema.sensitivity import Study
from planner.schema.verification import Breach

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
    """Figures of a bid's plan on the problem; None where not known."""

    capex_usd: float
    tco_usd: float | None
    useful_gpus: float
    useful_pflops: float | None
    goodput: float
    usd_per_useful_gpu_hour: float | None


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


class BreakEven(Record):
    """Break-even price of a whole bid: share of its quote, and USD.

    At ``share`` of its prices the bid was planned again and is first, at ``not_at`` it is not. Both
    are None where no price does it, or any; ``reason`` then says why.
    """

    share: float | None
    usd: float | None
    not_at: float | None
    reason: str = ""


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
    """Bids evaluated on one problem, ranked."""

    kind: Literal["bids"] = "bids"
    measure: BidMeasure
    money: Literal["tco", "capex"]
    bids: tuple[Bid, ...]
    mix: Mix | None = None
    mix_reason: str = ""
    message: str | None = None
    status: str = "optimal"
