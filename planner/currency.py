"""Currencies: what one is worth, to what its amounts are rounded, and in which one money is shown.

Everything is computed in USD, and every field named ``usd`` holds USD. Money becomes another
currency where it becomes words, cells or columns, and there alone. Which one that is holds for as
long as one problem, plan or record is shown (`shown_in`), like the width of the terminal: nearly
every text that people read has money in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cache

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

_SMALL, _NO_HALF = 1e9, 0.49
"""Of amounts below the one, what is nearer to a whole number of cents than the other is no half,
whatever the floats say: it needs no decimals to be rounded."""
_WHOLE = {*"BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF".split()}  # noqa: SIM905
_THOUSANDTHS = {*"BHD IQD JOD KWD LYD OMR TND".split()}  # noqa: SIM905

_BY_BILLIONS = {*"CLP COP HUF IDR IRR ISK JPY KHR KRW KZT LAK LBP MMK MNT NGN PYG UZS VND".split()}  # noqa: SIM905
"""One is so little that what others count in millions is told in thousands of millions."""

NAMES = {
    "USD": "US dollars", "EUR": "euros", "GBP": "pounds sterling", "JPY": "Japanese yen",
    "KRW": "Korean won", "CNY": "Chinese yuan", "INR": "Indian rupees", "CHF": "Swiss francs",
    "CAD": "Canadian dollars", "AUD": "Australian dollars", "SGD": "Singapore dollars",
    "SEK": "Swedish kronor", "NOK": "Norwegian kroner", "DKK": "Danish kroner",
}  # fmt: skip

OLD_DAYS = 90
"""After so many days a rate is pointed out."""

_IN_UNIT = re.compile(r"(?<![A-Za-z])(?P<size>k|M|B|bn|G|T)?(?P<code>[A-Z]{3})(?=/|\Z)")


@cache
def _unit(decimals: int) -> Decimal:
    """Return what has so many decimals and is least."""
    return Decimal(1).scaleb(-decimals)


@dataclass(frozen=True)
class Currency:
    """A currency: its code, what one of it is in USD, since when and by whom.

    ``decimals`` are those of its smallest unit: two, but for those that have none, or three.
    """

    code: str = "USD"
    usd: float = 1.0
    on: str = ""
    source: str = ""

    @property
    def decimals(self) -> int:
        """The decimals of an amount."""
        return 0 if self.code in _WHOLE else 3 if self.code in _THOUSANDTHS else 2

    @property
    def name(self) -> str:
        """What it is called, as a sentence begins with it: US dollars, euros; else its code."""
        called = NAMES.get(self.code, self.code)
        return called[0].upper() + called[1:]

    @property
    def large(self) -> tuple[float, str]:
        """The unit in which a bill of a cluster is told, as people do: its size and its name."""
        return (1e9, f"B{self.code}") if self.code in _BY_BILLIONS else (1e6, f"M{self.code}")

    @property
    def sizes(self) -> tuple[tuple[float, str], ...]:
        """The larger units of this currency and their names, the largest first."""
        return tuple((size, f"{prefix}{self.code}") for size, prefix in _SIZES)

    def written(self, value: float, digits: int) -> str:
        """Return an amount of this currency with its digits in groups."""
        return f"{value:,.{digits}f}"

    def of(self, usd: float) -> float:
        """Return an amount of USD in this currency."""
        return usd if self.usd == 1.0 else usd / self.usd

    def rounded_usd(self, usd: float) -> float:
        """Return an amount of USD rounded to the smallest unit of this currency, in USD.

        Halves go away from zero, as in spreadsheets.
        """
        amount, size = float(self.of(usd)), 10.0**self.decimals
        if abs(amount) < _SMALL and abs(amount * size - round(amount * size)) < _NO_HALF:
            whole = round(amount * size) / size
        else:
            exact = Decimal(f"{amount:.15g}")  # 15 digits: what was written, not its float
            whole = float(exact.quantize(_unit(self.decimals), rounding=ROUND_HALF_UP))
        return whole if self.usd == 1.0 else whole * self.usd

    def listed_usd(self, usd: float) -> float:
        """Return a list price of USD as a bill in this currency lists it: of USD as it stands."""
        return usd if self.code == "USD" else self.rounded_usd(usd)

    def named(self, unit: str) -> str:
        """Return a unit of money with the code of this currency: MUSD, USD/kWh, USD per token."""
        return unit.replace("USD", self.code) if self.code != "USD" else unit

    def rate_text(self) -> str:
        """Return its rate in words, empty of USD."""
        if self.code == "USD":
            return ""
        return f"1 {self.code} = {self.usd:.6g} USD on {self.on} ({self.source})"


USD = Currency()

_SHOWN: ContextVar[Currency] = ContextVar("shown", default=USD)
_RATES: ContextVar[Mapping[str, Currency]] = ContextVar("rates", default={})  # noqa: B039


def current() -> Currency:
    """Return the currency in which money is shown."""
    return _SHOWN.get()


def show(currency: Currency) -> None:
    """Show money in a currency from now on."""
    _SHOWN.set(currency)


@contextmanager
def shown_in(currency: Currency) -> Iterator[Currency]:
    """Show money in a currency meanwhile."""
    token = _SHOWN.set(currency)
    try:
        yield currency
    finally:
        _SHOWN.reset(token)


def rates() -> Mapping[str, Currency]:
    """Return the currencies in which amounts are read."""
    return _RATES.get()


def know(rates: Mapping[str, Currency]) -> None:
    """Have amounts in these currencies read from now on."""
    _RATES.set(dict(rates))


@contextmanager
def known(rates: Mapping[str, Currency]) -> Iterator[None]:
    """Have amounts in these currencies read meanwhile."""
    token = _RATES.set(dict(rates))
    try:
        yield
    finally:
        _RATES.reset(token)


class NoRateError(ValueError):
    """An amount is in a currency whose rate nobody gave; the text is its code."""


def in_usd(unit: str) -> tuple[str, float] | None:
    """Return a unit of money in USD, and how many of it one unit is; None where it has no code.

    Args:
        unit: as it is written, such as ``MEUR`` or ``EUR/kWh``.

    Raises:
        NoRateError: the rate of its currency is not known.
    """
    unit = unit.strip()
    match = _IN_UNIT.match(unit)
    if match is None or match["code"] not in CODES or match["code"] == "USD":
        return None
    rate = _RATES.get().get(match["code"])
    if rate is None:
        raise NoRateError(match["code"])
    return f"{match['size'] or ''}USD{unit[match.end() :]}", rate.usd


def code_of(text: str) -> str | None:
    """Return the currency of an amount as it is written, None of USD and of what is no amount."""
    match = _IN_UNIT.search(text.strip())
    if match is None or match["code"] not in CODES or match["code"] == "USD":
        return None
    return match["code"]


def amount(usd: float | None, digits: int | None = None) -> str:
    """Return an amount in full with its currency, by default with the decimals that it has."""
    if usd is None:
        return "not known"
    money = current()
    written = money.written(money.of(usd), money.decimals if digits is None else digits)
    return f"{written} {money.code}"


def bare(usd: float | None, digits: int | None = 0) -> str:
    """Return an amount in full where its currency stands elsewhere, by default in whole units.

    Args:
        usd: the amount, USD; None is not known.
        digits: decimals; None for those that the currency has.
    """
    return amount(usd, digits).removesuffix(f" {current().code}")


_SIZES = ((1e9, "B"), (1e6, "M"), (1e3, "k"))


def short(usd: float | None) -> str:
    """Return an amount in thousands, millions or thousands of millions of its currency."""
    if usd is None:
        return "not known"
    money = current()
    value = money.of(usd)
    for size, unit in money.sizes:
        if abs(value) >= size:
            return f"{money.written(value / size, 2)} {unit}"
    return f"{money.written(value, money.decimals)} {money.code}"
