"""Price books: money apart from specifications, dated and sourced, never edited in place."""

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from planner import currency
from planner.schema import (
    CANONICAL,
    Date,
    Day,
    Identifier,
    Model,
    Money,
    Number,
    PositiveShare,
    PositiveWhole,
    Share,
    Text,
    Whole,
    Years,
    refuse,
)
from planner.schema.catalog import Category, Confidence, MediaType, Source


def _known_code(code: str) -> str:
    if code not in currency.CODES:
        raise ValueError(f"'{code[:20]}' is no currency: write its code in ISO 4217, such as EUR")
    return code


CurrencyCode = Annotated[
    str,
    AfterValidator(_known_code),
    WithJsonSchema({"type": "string", "pattern": "^[A-Z]{3}$", "examples": ["EUR", "JPY"]}),
]


def _foreign(code: str) -> str:
    if code == "USD":
        raise ValueError("rates of exchange say what other currencies are in USD: leave USD out")
    return code


ForeignCode = Annotated[CurrencyCode, AfterValidator(_foreign)]


class ExchangeRate(Model):
    """Exchange rate of a currency to USD, its day and source."""

    usd: Number
    on: Day
    source: Text

    def as_currency(self, code: str) -> currency.Currency:
        """The currency of results or of a rate."""
        return currency.Currency(code, self.usd, self.on, self.source)


Exchange = dict[ForeignCode, ExchangeRate]


DAYS_PER_MONTH = 30.4375


class YearlySupport(Model):
    """Support of a unit for a year: a share of the price paid, or an amount."""

    share: Share | None = None
    usd: Money = 0.0


def _support(value: object, info: ValidationInfo) -> object:
    if info.context is CANONICAL:
        return value
    is_share = isinstance(value, str) and "%" in value
    return {"share" if is_share else "usd": "0 USD" if value == "none" else value}


Support = Annotated[
    YearlySupport,
    BeforeValidator(_support),
    WithJsonSchema({"type": "string", "examples": ["8 %", "39800 USD", "none"]}),
]
LEAD_TIME = r"^\d+(-\d+)? (weeks|months)$"
Weeks = Annotated[str, Field(pattern=LEAD_TIME, examples=["12 weeks", "8-16 weeks"])]


class RateUse(Model):
    """A rate as a part of a price, ``count`` units of it."""

    rate: Identifier
    count: Number = 1.0


_FOLLOW = ("list", "date", "source", "confidence", "low", "high")
"""Keys that follow from the parts of a price."""
_UNTIL_BUILT = {"list": "0 USD", "date": "0000", "source": "parts", "confidence": "low"}


def _either_way(schema: dict[str, Any]) -> None:
    """JSON Schema: a price is either stated or built."""
    stated = schema.pop("required")
    schema["anyOf"] = [{"required": stated}, {"required": ["parts"]}]


class Rent(Model):
    """Public price of renting one GPU of the type for an hour, with the range of offers."""

    usd: Money = Field(alias="per_gpu_hour")
    low_usd: Money = Field(alias="low")
    high_usd: Money = Field(alias="high")
    date: Date
    source: Identifier
    note: Text | None = None

    @model_validator(mode="after")
    def _within_its_range(self) -> Self:
        wrong = not self.low_usd <= self.usd <= self.high_usd
        refuse((wrong, "a rent lies between its low and its high"))
        return self


class Price(Model):
    """List price of one item, its yearly cost, and terms of sale.

    ``per_year``: a subscription; ``support_included_years``: paid with the list price; ``low`` and
    ``high``: range of quotes. A price with ``parts`` is the sum of their rates.
    """

    model_config = ConfigDict(json_schema_extra=_either_way)

    list_usd: Money = Field(alias="list")
    date: Date
    source: Identifier
    confidence: Confidence
    support_per_year: Support | None = None
    support_source: Identifier | None = None
    support_confidence: Confidence | None = None
    rent: Rent | None = None
    support_included_years: Years = 0.0
    per_year_usd: Money | None = Field(default=None, alias="per_year")
    pack: PositiveWhole = 1
    min_order: Whole = 0
    stock: Whole | None = None
    lead_time: Weeks | None = None
    note: Text | None = None
    low_usd: Money | None = Field(default=None, alias="low")
    high_usd: Money | None = Field(default=None, alias="high")
    per_year_low_usd: Money | None = Field(default=None, alias="per_year_low")
    per_year_high_usd: Money | None = Field(default=None, alias="per_year_high")
    parts: tuple[RateUse, ...] = Field(default=(), max_length=20, strict=False)
    valid_until: Date | None = None
    currency: CurrencyCode | None = None

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, data: Any, info: ValidationInfo) -> Any:
        if info.context is CANONICAL or not isinstance(data, dict):
            return data
        if isinstance(listed := data.get("list"), str):
            code = currency.code_of(listed)
            if data.get("currency") not in (None, code or "USD"):
                raise ValueError(f"currency follows from list, {listed}: leave it out")
            data = data if code is None else {**data, "currency": code}
        if data.get("parts"):
            if both := [key for key in _FOLLOW if key in data]:
                raise ValueError(f"{both[0]} follows from the parts: leave one of them out")
            data = {**data, **_UNTIL_BUILT}
        return data

    @model_validator(mode="after")
    def _within_its_range(self, info: ValidationInfo) -> Self:
        ends = (
            (self.low_usd, self.list_usd, self.high_usd),
            (self.per_year_low_usd, self.per_year_usd or 0.0, self.per_year_high_usd),
        )
        for low, value, high in ends if info.context is not CANONICAL else ():
            if (low is not None and low > value) or (high is not None and high < value):
                raise ValueError("a price lies between its low and its high")
        return self

    @property
    def range_usd(self) -> tuple[float, float]:
        """The lowest and the highest list price to be expected, USD."""
        known = [value for value in (self.low_usd, self.high_usd) if value is not None]
        return min([self.list_usd, *known]), max([self.list_usd, *known])

    @property
    def per_year_range_usd(self) -> tuple[float, float]:
        """The lowest and the highest subscription to be expected, USD a year."""
        each = (self.per_year_usd or 0.0, self.per_year_low_usd, self.per_year_high_usd)
        known = [value for value in each if value is not None]
        return min(known), max(known)

    @property
    def lead_time_days(self) -> float | None:
        """The upper end of the lead time in days."""
        if self.lead_time is None:
            return None
        number, unit = self.lead_time.split()
        return float(number.split("-")[-1]) * (7.0 if unit == "weeks" else DAYS_PER_MONTH)

    def support_usd_per_year(self, unit_net_usd: float) -> float:
        """Support per unit and year for a unit bought at ``unit_net_usd``."""
        each = self.support_per_year
        if each is None or each.share is None:
            return 0.0 if each is None else each.usd
        return each.share * unit_net_usd


class Discount(Model):
    """A discount on one item, one vendor or one category; the most specific one counts."""

    discount: Share
    item: Identifier | None = None
    vendor: Text | None = None
    category: Category | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        named = sum(key is not None for key in (self.item, self.vendor, self.category))
        refuse((named != 1, "give exactly one of item, vendor or category"))
        return self


class Rate(Model):
    """Rates of built prices: per TB or unit, once or per year; ``flash``: of bare drives."""

    label: Text
    usd: Money
    low_usd: Money = Field(alias="low")
    high_usd: Money = Field(alias="high")
    per: Literal["unit", "raw_tb", "usable_tb", "used_tb"] = "unit"
    every: Literal["once", "year"] = "once"
    flash: MediaType | None = None
    date: Date
    source: Identifier
    confidence: Confidence
    note: Text | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        drives = self.flash is None or (self.per, self.every) == ("raw_tb", "once")
        refuse(
            (not self.low_usd <= self.usd <= self.high_usd, "give low <= usd <= high"),
            (not drives, "drives are priced per raw_tb, once"),
        )
        return self


class PriceBook(Model):
    """A file of prices; later books override earlier ones, but for terms that they do not state."""

    price_book: Text
    currency: Literal["USD"] = "USD"
    notes: tuple[Text, ...] = ()
    sources: dict[Identifier, Source] = {}
    prices: dict[Identifier, Price] = {}
    rates: dict[Identifier, Rate] = {}
    ranges: dict[Confidence, PositiveShare] = {}
    discounts: tuple[Discount, ...] = ()
