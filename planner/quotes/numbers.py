"""Numbers, currencies and dates as people write them in quotes."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from typing import Literal

Decimal = Literal["point", "comma"]

SIGNS = {
    "US$": "USD", "USD": "USD", "$": "USD", "€": "EUR", "EUR": "EUR", "£": "GBP", "GBP": "GBP",
    "JPY": "JPY", "¥": "JPY", "CNY": "CNY", "RMB": "CNY", "KRW": "KRW", "₩": "KRW", "INR": "INR",
    "₹": "INR", "CHF": "CHF", "CAD": "CAD", "AUD": "AUD", "SGD": "SGD", "SEK": "SEK", "NOK": "NOK",
    "DKK": "DKK", "PLN": "PLN",
}  # fmt: skip
"""How a currency is written, the longest spelling of each first where one holds another."""

NOTHING = {"-", "--", "–", "—"}
INCLUDED = {
    "included", "incl", "incl.", "inkl", "inkl.", "inklusive", "n/c", "no charge", "free",
    "bundled", "inclus",
}  # fmt: skip
_MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan january januar", "feb february februar", "mar march märz", "apr april",
         "may mai", "jun june juni", "jul july juli", "aug august", "sep sept september",
         "oct october okt oktober", "nov november", "dec december dez dezember"), 1)
    for name in names.split()
}  # fmt: skip
_SIGN = re.compile("|".join(re.escape(sign) for sign in sorted(SIGNS, key=len, reverse=True)), re.I)
_BARE = r"(?:US\$|[$€£¥₩₹]|USD|EUR|GBP|JPY|CNY|KRW|INR|CHF)"
_CODE = rf"{_BARE}(?![^\W\d_])"
_LARGE = (
    (1e3, rf"(?<![^\W\d_])[kT] ?{_CODE}|{_BARE} ?[kT]\b|\b(thousands?|tausend|milliers|000s)\b|"
          r"['’]000\b|千"),
    (1e6, rf"(?<![^\W\d_])M ?{_CODE}|{_BARE} ?M\b|\b(millions?|millionen|mio|mn)\b|百万"),
    (1e5, r"\blakhs?\b"),
    (1e7, r"\bcrores?\b"),
)  # fmt: skip
"""How people say that amounts are in thousands, lakhs, millions or crores."""

_SPACES = str.maketrans("", "", " \u00a0\u202f\u2009'’")
_PLAIN = re.compile(r"-?\d+")
_TERM = re.compile(
    r"(\d+(?:[.,]\d+)?)\s*-?\s*(years?|yrs?|yr|y|jahre?|months?|mths?|mo|monate?)\b", re.I
)


def currency_of(text: str) -> str | None:
    """Return the currency that a text names, None for none or several."""
    found = {SIGNS[match.group().upper()] for match in _SIGN.finditer(text) if _alone(text, match)}
    return found.pop() if len(found) == 1 else None


def _alone(text: str, match: re.Match[str]) -> bool:
    """Say whether a code is a word of its own, as in "kEUR" too: the EUR of "EUROPE" is none."""
    if not match.group().isalpha():
        return True
    begins = re.search(r"(?<![^\W\d_])[kKMT]?$", text[: match.start()])
    return begins is not None and not text[match.end() :][:1].isalpha()


def size_of(text: str) -> float:
    """Return how many of its currency one of a column's amounts is: 1,000 in "Price (k€)"."""
    return next((size for size, word in _LARGE if re.search(word, text, re.I)), 1.0)


def style(texts: Iterable[str]) -> Decimal | None:
    """Return how the numbers among texts are written, None where none of them tells."""
    votes = {"point": 0, "comma": 0}
    for text in texts:
        mark = _decimal_mark(_bare(text)[0])
        if mark is not None:
            votes[mark] += 1
    if votes["point"] == votes["comma"]:
        return None
    return "point" if votes["point"] > votes["comma"] else "comma"


def _decimal_mark(text: str) -> Decimal | None:
    """Return what the decimal mark of a number must be, None where both may be."""
    points, commas = text.count("."), text.count(",")
    if points and commas:
        return "point" if text.rindex(".") > text.rindex(",") else "comma"
    if points > 1 or commas > 1:
        return "comma" if points > 1 else "point"
    for mark, name in ((".", "point"), (",", "comma")):
        if mark in text and not re.fullmatch(rf"\d{{1,3}}{re.escape(mark)}\d{{3}}", text):
            return "point" if name == "point" else "comma"
    return None


def number(text: str, decimal: Decimal) -> float | None:
    """Return the number that a text is; None where it is none.

    Currencies, spaces and signs of percent are left out; brackets are a minus. A share is returned
    as its number of percent.
    """
    bare, negative = _bare(text)
    if not bare:
        return None
    own = _decimal_mark(bare) or decimal
    thousands, mark = (",", ".") if own == "point" else (".", ",")
    plain = bare.replace(thousands, "").replace(mark, ".")
    if not re.fullmatch(r"\d+(\.\d+)?|\.\d+", plain):
        return None
    return -float(plain) if negative else float(plain)


def _bare(text: str) -> tuple[str, bool]:
    """Return a number without what stands around it, and whether it is negative."""
    plain = _SIGN.sub("", text).translate(_SPACES).removesuffix("%")
    plain = re.sub(r"(,|\.)-+$", "", plain)  # 1.200,-
    negative = plain.startswith(("-", "−")) or plain.endswith("-")
    negative = negative or (plain.startswith("(") and plain.endswith(")"))
    return plain.strip("()-−+"), negative


def term_years(text: str) -> float | None:
    """Return the term that a text names, years."""
    match = _TERM.search(text)
    if match is None:
        return None
    length = float(match[1].replace(",", "."))
    return length / 12.0 if match[2].lower().startswith(("mo", "mt")) else length


def date_of(text: str) -> datetime.date | None:
    """Return the date that a text names, None where it names none or could be two."""
    text = text.strip()
    match = re.search(r"\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\b", text)
    if match:
        return _date(int(match[1]), int(match[2]), int(match[3]))
    match = re.search(r"\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b", text)
    if match:
        return _date(int(match[3]), int(match[2]), int(match[1]))
    match = re.search(r"\b(\d{1,2})[/-](\d{1,2})[/-](\d{4})\b", text)
    if match:
        one, two, year = int(match[1]), int(match[2]), int(match[3])
        both = {_date(year, one, two), _date(year, two, one)} - {None}
        return both.pop() if len(both) == 1 else None
    words = re.findall(r"[^\W\d_]+|\d+", text.lower())
    month = next((_MONTHS[word] for word in words if word in _MONTHS), None)
    digits = [int(word) for word in words if _PLAIN.fullmatch(word)]
    years = [each for each in digits if 1990 <= each <= 2100]
    days = [each for each in digits if 1 <= each <= 31]
    if month is None or len(years) != 1 or len(days) != 1:
        return None
    return _date(years[0], month, days[0])


def _date(year: int, month: int, day: int) -> datetime.date | None:
    try:
        return datetime.date(year, month, day)
    except ValueError:
        return None
