"""Currencies as files name them: rates of exchange, and in which currency a result shows money."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from planner import currency
from planner.currency import USD, Currency
from planner.schema.base import Model, Number, PlanModel, Record, Text


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
Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$", examples=["2026-11-20"])]


class ExchangeRate(Model):
    """What one unit of a currency is in USD, on which day, and who says so."""

    usd: Number
    on: Day
    source: Text

    def of(self, code: str) -> currency.Currency:
        """Return the currency of this rate."""
        return currency.Currency(code, self.usd, self.on, self.source)


Exchange = dict[ForeignCode, ExchangeRate]


class ShownIn(PlanModel):
    """The currency in which a result shows money: what one is in USD, since when, who says so.

    Figures whose names have ``usd`` are in USD all the same; texts are in this currency.
    """

    code: str
    usd: float
    on: str
    source: str

    @classmethod
    def of(cls, money: currency.Currency) -> ShownIn | None:
        """Return a currency as results hold it, None of USD."""
        if money == currency.USD:
            return None
        return cls(code=money.code, usd=money.usd, on=money.on, source=money.source)

    @property
    def currency(self) -> currency.Currency:
        """The currency, to show money in."""
        return currency.Currency(self.code, self.usd, self.on, self.source)


class InCurrency(Record):
    """A result that says in which currency it is shown; its figures are in USD, as in a plan.

    ``currency`` is None where that is USD.
    """

    currency: ShownIn | None = Field(default=None, exclude_if=lambda money: money is None)

    @property
    def shown_in(self) -> Currency:
        """The currency in which money is shown."""
        return USD if self.currency is None else self.currency.currency
