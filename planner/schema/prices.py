"""Price books: money apart from specifications, dated and sourced, never edited in place."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, model_validator

from planner.schema.base import (
    CANONICAL,
    Identifier,
    Model,
    Money,
    PositiveWhole,
    Share,
    Text,
    Whole,
    Years,
)
from planner.schema.catalog import Category, Confidence, Source

DAYS_PER_MONTH = 30.4375


class SupportShare(Model):
    """Support per year as a share of the price paid."""

    share: Share


class SupportMoney(Model):
    """Support per unit and year as an amount."""

    usd: Money


def _support(value: object, info: ValidationInfo) -> object:
    if info.context is CANONICAL:
        return value
    if isinstance(value, str) and "%" in value:
        return {"share": value}
    return {"usd": value}


Support = Annotated[
    SupportShare | SupportMoney,
    BeforeValidator(_support),
    WithJsonSchema({"type": "string", "examples": ["8 %", "39800 USD"]}),
]
Weeks = Annotated[
    str, Field(pattern=r"^\d+(-\d+)? (weeks|months)$", examples=["12 weeks", "8-16 weeks"])
]


class Price(Model):
    """The list price of one item, what it costs to keep, and how it is sold.

    ``per_year`` is a subscription; ``support_included_years`` are paid with the list price;
    ``pack`` and ``min_order`` are what one must buy at least, ``stock`` what there is.
    """

    list_usd: Money = Field(alias="list")
    date: Annotated[str, Field(pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")]
    source: Identifier
    confidence: Confidence
    support_per_year: Support | None = None
    support_source: Identifier | None = None
    support_confidence: Confidence | None = None
    support_included_years: Years = 0.0
    per_year_usd: Money | None = Field(default=None, alias="per_year")
    pack: PositiveWhole = 1
    min_order: Whole = 0
    stock: Whole | None = None
    lead_time: Weeks | None = None
    note: Text | None = None

    @property
    def lead_time_days(self) -> float | None:
        """The upper end of the lead time in days."""
        if self.lead_time is None:
            return None
        number, unit = self.lead_time.split()
        return float(number.split("-")[-1]) * (7.0 if unit == "weeks" else DAYS_PER_MONTH)

    def support_usd_per_year(self, unit_net_usd: float) -> float:
        """Return support per unit and year for a unit bought at ``unit_net_usd``."""
        if self.support_per_year is None:
            return 0.0
        if isinstance(self.support_per_year, SupportShare):
            return self.support_per_year.share * unit_net_usd
        return self.support_per_year.usd


class Discount(Model):
    """A discount on one item, one vendor or one category; the most specific one counts."""

    discount: Share
    item: Identifier | None = None
    vendor: Text | None = None
    category: Category | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Discount:
        if sum(key is not None for key in (self.item, self.vendor, self.category)) != 1:
            raise ValueError("give exactly one of item, vendor or category")
        return self


class PriceBook(Model):
    """A file of prices; later books override earlier ones, item by item."""

    price_book: Text
    currency: Literal["USD"] = "USD"
    include: tuple[Text, ...] = ()
    notes: tuple[Text, ...] = ()
    sources: dict[Identifier, Source] = {}
    prices: dict[Identifier, Price] = {}
    discounts: tuple[Discount, ...] = ()
