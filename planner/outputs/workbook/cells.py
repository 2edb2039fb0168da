"""What a cell is: its look, a role with a number format; and what a reader may put into it."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from xlsxwriter import Workbook
from xlsxwriter.format import Format

from planner import currency
from planner.outputs.words import clean

Role = Literal[
    "text", "line", "code", "input", "formula", "cross", "part", "part code", "total", "fixed",
    "title", "subtitle", "heading", "header", "band", "banner", "flag",
]  # fmt: skip

INTEGER = "#,##0"
DECIMAL_1 = "#,##0.0"
DECIMAL_2 = "#,##0.00"
DECIMAL_2_TO_4 = "#,##0.00##"
DECIMAL_3 = "#,##0.000"
GENERAL = "General"
INTEGER_OR_DASH = '#,##0;-#,##0;"–"'
DECIMAL_2_OR_DASH = '#,##0.00;-#,##0.00;"–"'
DECIMAL_3_OR_DASH = '#,##0.000;-#,##0.000;"–"'
PERCENT_OR_DASH = '0.0%;-0.0%;"–"'
DECIMAL_1_OR_DASH = '#,##0.0;-#,##0.0;"–"'
PERCENT = "0.0%"
DISCOUNT = '0.0##%;-0.0##%;"–"'
"""With all digits that a quote has: list, discount and net of a printed line are to agree."""
PERCENT_2 = "0.00%"
SMALL = "0.000E+00"

_CENTS = re.compile(r"0\.00(?!0)")


def paid(number: str) -> str:
    """Return the format of an amount in cents with the decimals of the currency shown."""
    money = currency.current()
    plain = number.partition(";")[0]  # a format has two conditions: none is left for a dash
    if money.code == "INR" and plain in (DECIMAL_2, INTEGER):
        cents = plain.removeprefix(INTEGER)
        groups = (rf"[>=10000000]##\,##\,##\,##0{cents}", rf"[>=100000]##\,##\,##0{cents}", plain)
        return ";".join(groups)
    decimals = money.decimals
    return _CENTS.sub("0." + "0" * decimals if decimals else "0", number)


def millions() -> str:
    """Return the format of an amount in millions, or in the large unit of the currency shown."""
    money = currency.current()
    if money.code == "INR":  # no format divides by a crore
        groups = (r"[>=1000000000]##\,##\,##\,##\,##0", r"[>=10000000]##\,##\,##\,##0", INTEGER)
        return ";".join(f'{group}" INR"' for group in groups)
    size, unit = money.large
    return f'#,##0.0{",,," if size > 1e6 else ",,"}" {unit}"'


def in_large() -> tuple[str, str]:
    """Return the format of a chart's amounts in millions, or thousands of them, and their unit."""
    money = currency.current()
    if money.large[0] > 1e8:
        return "#,##0.0,,,", money.named("billion USD")
    return "#,##0.0,,", money.named("million USD")


_INK = "#1A1A1A"
_BLUE, _GREEN, _GREY, _NAVY = "#0000FF", "#00703C", "#6B6B6B", "#1F3A5F"
_RULE = {"bottom": 4, "bottom_color": "#BFBFBF"}

_ROLES: dict[Role, dict[str, Any]] = {
    "text": {"text_wrap": True, "align": "left", "indent": 1, **_RULE},
    "line": {"align": "left", "indent": 1, **_RULE},
    "code": {"align": "left", "indent": 1, "shrink": True, **_RULE},
    "input": {"font_color": _BLUE, "bg_color": "#FFFBE6", "locked": False, **_RULE},
    "formula": {**_RULE},
    "cross": {"font_color": _GREEN, **_RULE},
    "part": {"font_color": _GREY, "italic": True, **_RULE},
    "part code": {"font_color": _GREY, "italic": True, "shrink": True, **_RULE},
    "fixed": {"font_color": _GREY, **_RULE},
    "total": {"bold": True, "top": 1, "bg_color": "#EEF2F7"},
    "title": {"bold": True, "font_size": 16, "font_color": _NAVY},
    "subtitle": {"font_color": _GREY},
    "heading": {"bold": True, "font_color": _NAVY, "bg_color": "#DCE6F1"},
    "header": {
        "bold": True,
        "font_color": "#FFFFFF",
        "bg_color": _NAVY,
        "text_wrap": True,
        "align": "center",
        "valign": "vcenter",
    },
    "band": {"bold": True, "font_color": _NAVY, "align": "center", "bottom": 2},
    "banner": {"bold": True, "font_color": "#1B5E20", "bg_color": "#E8F5E9"},
    "flag": {"font_color": _GREY, "italic": True, "align": "right"},
}

_FONT_KEYS = ("font_color", "italic", "bold")


class Formats:
    """Formats of one workbook, each made once."""

    def __init__(self, workbook: Workbook) -> None:
        self._workbook = workbook
        self._made: dict[tuple[Role, str, str], Format] = {}

    def get(self, role: Role, number: str = GENERAL, align: str = "") -> Format:
        """Return the format of a role.

        Args:
            role: what the cell is.
            number: number format.
            align: horizontal alignment, empty for the role's own.
        """
        key = (role, number, align)
        if key not in self._made:
            look = {"font_name": "Arial", "font_size": 10, "font_color": _INK, "valign": "top"}
            look |= _ROLES[role] | {"num_format": number}
            if align:
                look["align"] = align
                look.pop("indent", None)
            self._made[key] = self._workbook.add_format(look)
        return self._made[key]

    def pen(self, role: Role) -> Format:
        """Return the font alone of a role, for a part of a cell's text."""
        font = {key: value for key, value in _ROLES[role].items() if key in _FONT_KEYS}
        look = {"font_name": "Arial", "font_size": 10, "font_color": _INK} | font
        return self._workbook.add_format(look)

    def condition(self, kind: Literal["bad", "good", "grey", "unseen"]) -> Format:
        """Return the format that a conditional format lays over a cell."""
        look = {
            "bad": {"bold": True, "font_color": "#9C0006", "bg_color": "#FFC7CE"},
            "good": {"font_color": "#1B5E20", "bg_color": "#E8F5E9"},
            "grey": {"italic": True, "font_color": _GREY},
            "unseen": {"font_color": "#FFFFFF"},
        }[kind]
        return self._workbook.add_format(look)


Scalar = float | str | None
"""What a reader may write into a cell."""

Kind = Literal[
    "quantity", "discount", "unit_list", "installed", "spares", "lead_time", "remark", "own_line",
    "figure", "limit", "local",
]  # fmt: skip
"""What an input is of: a line of the bill (by catalog id), a line of one's own (by place and
column), the model (by name), a limit (by name), or nothing but its own sheet."""

_LONGEST_PROMPT = 255


class Range(NamedTuple):
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
