"""What a text gives away: money, and what is said inside the house only."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from planner.outputs.text_safety import clean

_CURRENCIES = "usd|eur|gbp|chf|jpy|cny|inr|dollars?|euros?"
_STEMS = (
    "prices?|priced|pricing|costs?|costing|costly|discounts?|discounted|discounting|margins?|"
    "mark-?ups?|rebates?|budgets?|budgeted|budgetary|capex|opex|tco|npv|roi|money|monetary|"
    "quotes?|quoted|quotations?|fees?|tariffs?|surcharges?|invoices?|invoiced|expenses?|expensive|"
    "cheap|cheaper|cheapest|spend|spent|spending|pay|pays|paid|payments?|payable|msrp|lease|leased|"
    "leasing|finance|financed|financing|financial"
)
# A word may touch digits and underscores, as in 150MUSD or capex_usd, but no other letter.
_WORDS = re.compile(
    rf"(?<![^\W\d_])(?:[kmb]?(?:{_CURRENCIES})|{_STEMS})(?![^\W\d_])|[$€£¥₹]", re.IGNORECASE
)
_NUMBER = re.compile(
    r"(?<![\w.,])(?:\d{1,3}(?:[,.'’ ]\d{3})+|\d+)(?:[.,]\d+)?(?![\d])"
    r"(?P<scale>\s?(?:thousand|millions?|billions?|mn|bn|[kKMB])(?![^\W\d_]))?"
)
_SCALES = {"t": 1e3, "k": 1e3, "m": 1e6, "b": 1e9}
_PERCENT = re.compile(r"\s?(?:%|per ?cent)")
# A number right before one of these is a measure or a count of things, whatever its value.
_UNIT = re.compile(
    r"\s?(?:[kMGTPE]?i?(?:Wh?|VA|B|b|B/s|b/s|FLOP/s)|[VA]|RU|U|kg|mm?|s|min|h|BTU/h|GPUs?|"
    r"systems?|units?|racks?|nodes?|servers?|switches|ports?|links?|cables?|drives?|seconds?|"
    r"hours?|days?|weeks?|months?|years?|tokens?|parameters?)(?![^\W\d_])"
)
_CONVENTIONS = ((r"[,'’ ]", r"\."), (r"[.'’ ]", ","))
"""Separators of thousands, and of decimals, in the two usual ways to write a number."""

_LARGE = 1000.0
_DIGITS = 3
_ROUNDED = 5e-4
_CENT = 0.005


class MoneyWords:
    """Tells texts that speak of money from those that do not.

    An amount counts however it is written: with or without thousands separators and decimals,
    rounded, in thousands or millions, as a percentage where it is a share. Numbers below 1,000 with
    fewer than 3 digits are not distinctive and left to the words around them.

    Args:
        amounts: what no text may state: amounts of money, and shares such as discounts.
    """

    def __init__(self, amounts: Iterable[float]) -> None:
        self._amounts = sorted({abs(amount) for amount in amounts if amount})

    def __call__(self, text: str) -> bool:
        """Return whether ``text`` has a word of money in it, or an amount."""
        plain = unicodedata.normalize("NFKC", clean(text, limit=None))
        return _WORDS.search(plain) is not None or self._states_an_amount(plain)

    def _states_an_amount(self, text: str) -> bool:
        for found in _NUMBER.finditer(text):
            scale = _SCALES[found["scale"].strip()[0].lower()] if found["scale"] else 1.0
            written = found[0].removesuffix(found["scale"] or "")
            percent = _PERCENT.match(text, found.end())
            if not percent and _UNIT.match(text, found.end()):
                continue
            for value, step in _readings(written):
                if percent and self._near(value / 100, step / 200):
                    return True
                if not percent and self._is_amount(value * scale, step * scale, written):
                    return True
        return False

    def _is_amount(self, value: float, step: float, written: str) -> bool:
        if value >= _LARGE:
            return self._near(value, max(step / 2, _ROUNDED * value))
        distinctive = len(re.sub(r"\D", "", written).strip("0")) >= _DIGITS
        return distinctive and self._near(value, min(step / 2, _CENT))

    def _near(self, value: float, tolerance: float) -> bool:
        low = value - tolerance * (1 + 1e-9)
        index = bisect_left(self._amounts, low)
        return index < len(self._amounts) and self._amounts[index] <= value + tolerance * (1 + 1e-9)


def _readings(written: str) -> Iterator[tuple[float, float]]:
    """Yield what a written number can mean, each with the worth of its last digit."""
    for text in {written, *written.split(" ")}:
        for thousands, point in _CONVENTIONS:
            grouped = rf"(\d+|\d{{1,3}}(?:{thousands}\d{{3}})+)(?:{point}(\d+))?"
            if found := re.fullmatch(grouped, text):
                whole, decimals = re.sub(r"\D", "", found[1]), found[2] or ""
                yield float(f"{whole}.{decimals or 0}"), 10.0 ** -len(decimals)


# Words of the solver, of where a figure is from and how sure it is, of rivals, of tone, and of
# files: no text with one of them leaves the house.
_SOLVER = (
    r"solvers?|highs|cbc|milp|optimi[sz]\w*|optimal\w*|optimum|infeasib\w*|heuristic\w*|"
    r"incumbent|gaps?|indifference|verifier|verified|given away|iterations?"
)
_PROVENANCE = (
    r"estimat\w*|guess\w*|assum\w*|placeholder|midpoint|unverified|unconfirmed|confidence|"
    r"rumou?rs?|hearsay|analysts?|trackers?|brokers?|resellers?|third[- ]part(?:y|ies)|from memory|"
    r"according to|price books?|planning range|restates?|sourced?|sources|prints?|printed|"
    r"found elsewhere|not stated|nobody states"
)
_RIVALS = (
    r"rivals?|rivalry|compet\w+|competing|alternatives?|instead of|lost|losers?|losing|los(?:es|e)|"
    r"beats?|beaten|outperforms?|undercuts?|undercutting|rejected|inferior|worse|better than"
)
_TONE = (
    r"internal\w*|confidential\w*|secrets?|nda|private|do not (?:tell|show|share|send|forward|"
    r"mention)|not for (?:the )?(?:customers?|clients?|buyers?)|never tell|negotiat\w*|leverage|"
    r"bluff\w*|walk[- ]away|desperate|naive|stupid|lousy|junk|crap|poor|sloppy|pushy|overpriced|"
    r"to-?do|fixme|tbd|xxx|careful|beware|risky|doubt\w*|suspicious|unreliable"
)
_FILES = (
    r"\S+\.(?:ya?ml|csv|json|xlsx?|py|md|txt|pdf|parquet|h5|lp|mps)\b|--\w+|https?://\S*|www\.\S+|"
    r"\b[a-z_]+\.[a-z_]+\.[a-z_0-9]+|(?:^|\s)(?:~|\.{1,2})?/[\w.-]+/\S*|\b[A-Za-z]:\\\S*"
)
_INSIDE = re.compile(
    rf"(?<![^\W\d_])(?:{_SOLVER}|{_PROVENANCE}|{_RIVALS}|{_TONE})(?![^\W\d_])|{_FILES}",
    re.IGNORECASE,
)


class OutsideWords:
    """Tells texts that must stay inside: of money, of the solver, of sources, rivals and files.

    Args:
        amounts: what no text may state, as for `MoneyWords`.
    """

    def __init__(self, amounts: Iterable[float]) -> None:
        self._of_money = MoneyWords(amounts)

    def __call__(self, text: str) -> bool:
        """Return whether ``text`` has to stay inside."""
        seen = "".join(c for c in clean(text, limit=None) if unicodedata.category(c) != "Cf")
        plain = unicodedata.normalize("NFKC", seen)
        return _INSIDE.search(plain) is not None or self._of_money(plain)
