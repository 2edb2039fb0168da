"""The cells a reader may change: where they are, what they mean, what they may hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Scalar = float | str | None
"""What a reader may write into a cell."""

Kind = Literal["quantity", "discount", "unit_list", "figure", "limit", "local"]
"""What an input is of: a line of the bill (by catalog id), the model (by name), a limit (by name),
or nothing but its own sheet."""


@dataclass(frozen=True)
class Range:
    """What a number may be, or the words allowed instead of numbers.

    ``blank`` says that the cell means something when it holds nothing: no limit, not given.
    """

    low: float = 0.0
    high: float = 1e15
    whole: bool = False
    choices: tuple[str, ...] = ()
    free_text: bool = False
    blank: bool = False

    def validation(self) -> dict[str, object] | None:
        """Return the rule for the spreadsheet, None where anything goes."""
        if self.free_text:
            return None
        if self.choices:
            return {"validate": "list", "source": list(self.choices)}
        return {
            "validate": "integer" if self.whole else "decimal",
            "criteria": "between",
            "minimum": self.low,
            "maximum": self.high,
            "error_title": "Out of range",
            "error_message": f"{self.expected().capitalize()}.",
        }

    def expected(self) -> str:
        """Return what is allowed, in words."""
        if self.free_text:
            return "any text"
        if self.choices:
            return "one of " + ", ".join(self.choices)
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} between {self.low:,g} and {self.high:,g}"

    def allows(self, value: Scalar) -> bool:
        """Return whether a cell may hold this."""
        if value is None or self.free_text:
            return self.blank or self.free_text
        if self.choices:
            return value in self.choices
        if isinstance(value, str) or not self.low <= value <= self.high:
            return False
        return not self.whole or float(value).is_integer()


@dataclass(frozen=True)
class InputCell:
    """An input of a workbook, with what the solved plan had there.

    ``key`` is the catalog id, the defined name or the limit's name; ``cell`` an address such as
    ``F9``.
    """

    sheet: str
    cell: str
    kind: Kind
    key: str
    label: str
    unit: str
    value: Scalar
    range: Range
