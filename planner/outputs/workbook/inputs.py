"""The cells a reader may change: where they are, what they mean, what they may hold."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from planner.outputs.text_safety import clean

Scalar = float | str | None
"""What a reader may write into a cell."""

Kind = Literal[
    "quantity", "discount", "unit_list", "installed", "spares", "lead_time", "remark", "own_line",
    "figure", "limit", "local",
]  # fmt: skip
"""What an input is of: a line of the bill (by catalog id), a line of one's own (by place and
column), the model (by name), a limit (by name), or nothing but its own sheet."""

_LONGEST_PROMPT = 255


@dataclass(frozen=True)
class Range:
    """What a number may be, or the words allowed instead of numbers.

    ``blank`` says that the cell means something when it holds nothing: no limit, not given. A text
    of a ``pattern`` reads like its ``example``. ``listed`` is the range of cells in which choices
    stand, where they are too long for a rule.
    """

    low: float = 0.0
    high: float = 1e15
    whole: bool = False
    choices: tuple[str, ...] = ()
    free_text: bool = False
    blank: bool = False
    pattern: str = ""
    example: str = ""
    listed: str = ""

    def validation(self, prompt: str = "", title: str = "") -> dict[str, object]:
        """Return the rule for the spreadsheet, with what it says when the cell is selected.

        Args:
            prompt: what may be written and what it does; what is allowed is added.
            title: what the cell holds, at most 32 characters of it.
        """
        allowed = self.expected()
        allowed += "; blank is allowed" if self.blank and not self.free_text else ""
        text = f"{prompt}\n{allowed[0].upper()}{allowed[1:]}." if prompt else f"{allowed}."
        shown = {"input_title": clean(title, 32), "input_message": clean(text, _LONGEST_PROMPT)}
        return {**self._rule(), **{key: said for key, said in shown.items() if said}}

    def _rule(self) -> dict[str, object]:
        """Return the rule without its prompt."""
        if self.free_text or self.pattern:
            return {"validate": "any"}
        if self.choices:
            return {"validate": "list", "source": self.listed or list(self.choices)}
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
        if self.pattern:
            return f"a text such as {self.example}"
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
        if self.pattern:
            return isinstance(value, str) and re.fullmatch(self.pattern, value) is not None
        if isinstance(value, str) or not self.low <= value <= self.high:
            return False
        return not self.whole or float(value).is_integer()


class InputCell(NamedTuple):
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
