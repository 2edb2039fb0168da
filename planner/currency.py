"""Currencies, amounts in them, and texts with a currency code that are read as USD.

Everything is computed in USD, and every field named ``usd`` of a plan or a record holds USD. Before
a result is shown, `planner.report.edition.in_currency` makes its amounts `Money`, which knows its
currency. A bare number is an amount of USD.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

_CODES = """
AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF
CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ
GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP
LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR
PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC
SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XOF XPF YER
ZAR ZMW ZWG
"""
CODES = frozenset(_CODES.split())
"""The codes of ISO 4217 that people pay in."""

_WHOLE = {*"BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF".split()}  # noqa: SIM905
_THOUSANDTHS = {*"BHD IQD JOD KWD LYD OMR TND".split()}  # noqa: SIM905
_SIZES = ((1e9, "B"), (1e6, "M"), (1e3, "k"))
_UNITS = {decimals: Decimal(1).scaleb(-decimals) for decimals in (0, 2, 3)}

_IN_UNIT = re.compile(r"(?<![A-Za-z])(?P<size>k|M|B|bn|G|T)?(?P<code>[A-Z]{3})(?=/|\Z)")


@dataclass(frozen=True)
class Currency:
    """A currency: its code, rate to USD, date and source."""

    code: str = "USD"
    usd: float = 1.0
    on: str = ""
    source: str = ""

    @property
    def decimals(self) -> int:
        """The decimals of its smallest unit."""
        return 0 if self.code in _WHOLE else 3 if self.code in _THOUSANDTHS else 2

    @property
    def sizes(self) -> tuple[tuple[float, str], ...]:
        """The larger units of this currency and their names, the largest first."""
        return tuple((size, f"{prefix}{self.code}") for size, prefix in _SIZES)

    def convert(self, usd: float) -> Money:
        """An amount of USD in this currency; `Money` stays as it is."""
        return usd if isinstance(usd, Money) else Money(usd / self.usd, self)

    def rounded_usd(self, usd: float) -> float:
        """An amount of USD rounded to the smallest unit of this currency, in USD.

        Halves go away from zero, as in spreadsheets.
        """
        exact = Decimal(f"{usd / self.usd:.15g}")  # 15 digits: as written, not its float
        whole = float(exact.quantize(_UNITS[self.decimals], rounding=ROUND_HALF_UP))
        return whole if self.usd == 1.0 else whole * self.usd

    def listed_usd(self, usd: float) -> float:
        """A list price in USD as a bill in this currency lists it: of USD as stated."""
        return usd if self.code == "USD" else self.rounded_usd(usd)

    def named(self, unit: str) -> str:
        """A unit of money with the code of this currency: MUSD, USD/kWh, USD per token."""
        return unit.replace("USD", self.code) if self.code != "USD" else unit

    def rate_text(self) -> str:
        """Its rate in words, empty of USD."""
        if self.code == "USD":
            return ""
        return f"1 {self.code} = {self.usd:.6g} USD on {self.on} ({self.source})"


USD = Currency()


class Money(float):
    """An amount in its currency. Sums and multiples keep the currency; a ratio is a number."""

    __slots__ = ("currency",)
    currency: Currency

    def __new__(cls, amount: float, currency: Currency = USD) -> Money:
        """Make an amount of a currency."""
        made = super().__new__(cls, amount)
        made.currency = currency
        return made

    def __getnewargs__(self) -> tuple[float, Currency]:  # type: ignore[override]
        return float(self), self.currency

    def __add__(self, other: float) -> Money:
        return Money(float(self) + float(other), self.currency)

    __radd__ = __add__

    def __sub__(self, other: float) -> Money:
        return Money(float(self) - float(other), self.currency)

    def __rsub__(self, other: float) -> Money:
        return Money(float(other) - float(self), self.currency)

    def __mul__(self, other: float) -> Money:
        return Money(float(self) * float(other), self.currency)

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> float:
        quotient = float(self) / float(other)
        return quotient if isinstance(other, Money) else Money(quotient, self.currency)

    def __neg__(self) -> Money:
        return Money(-float(self), self.currency)

    def __abs__(self) -> Money:
        return Money(abs(float(self)), self.currency)


def currency_of(amount: float | None) -> Currency:
    """The currency of an amount: USD of a bare number."""
    return amount.currency if isinstance(amount, Money) else USD


def currency_among(amounts: Iterable[object]) -> Currency:
    """The currency of the first amount that has one, else USD."""
    return next((each.currency for each in amounts if isinstance(each, Money)), USD)


class NoRateError(ValueError):
    """An amount is in a currency without a rate; the text is its code."""


def in_usd(unit: str, rates: Mapping[str, Currency]) -> tuple[str, float] | None:
    """A unit of money in USD, and the USD of one unit; None without a foreign code.

    Args:
        unit: as it is written, such as ``MEUR`` or ``EUR/kWh``.
        rates: the currencies that can be read, by code.

    Raises:
        NoRateError: the rate of its currency is not known.
    """
    unit = unit.strip()
    code, match = code_of(unit), _IN_UNIT.match(unit)
    if code is None or match is None:
        return None
    if code not in rates:
        raise NoRateError(code)
    return f"{match['size'] or ''}USD{unit[match.end() :]}", rates[code].usd


def code_of(text: str) -> str | None:
    """The currency of an amount as it is written, None for USD and for no amount."""
    match = _IN_UNIT.search(text.strip())
    known = match is not None and match["code"] in CODES and match["code"] != "USD"
    return match["code"] if match is not None and known else None


def amount(value: float | None, digits: int | None = None) -> str:
    """An amount in full with its currency, by default with the decimals of the currency."""
    return "not known" if value is None else f"{bare(value, digits)} {currency_of(value).code}"


def bare(value: float | None, digits: int | None = 0) -> str:
    """An amount in full without its currency; ``digits`` None: decimals of the currency."""
    if value is None:
        return "not known"
    decimals = currency_of(value).decimals if digits is None else digits
    return f"{value:,.{decimals}f}"


def short(value: float | None) -> str:
    """An amount in thousands, millions or billions of its currency."""
    if value is None:
        return "not known"
    money = currency_of(value)
    for size, unit in money.sizes:
        if abs(value) >= size:
            return f"{value / size:,.2f} {unit}"
    return f"{value:,.{money.decimals}f} {money.code}"


@lru_cache(maxsize=1024)
def discounted_years(start_years: float, end_years: float, discount_rate: float) -> float:
    """Present value of one unit of money per year, paid from ``start_years`` to ``end_years``.

    Each year's share is paid at the end of that year of the term, so without a discount rate this
    is ``end - start``. An annuity in arrears, with part years in proportion.

    Nothing is paid where the end is not later; ``discount_rate``: interest per year, a share.
    """
    worth = 0.0
    for year in range(1, math.ceil(end_years) + 1):
        paid = min(end_years, float(year)) - max(start_years, year - 1.0)
        if paid > 0:
            worth += paid / (1.0 + discount_rate) ** year
    return worth
