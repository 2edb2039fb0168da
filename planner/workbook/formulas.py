"""Values that carry their formula: arithmetic on cells gives the number and the Excel text at once.

A ``V`` holds the value of a cell and the text that computes it. The text of a cell is its address
or its defined name, so formulas stay short. Excel's rules hold for the value, too: a blank cell
counts as 0, text in arithmetic is an error, and an error passes on until `or_na` catches it.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

from planner.report.formats import clean


class Fault:
    """The error of a formula, such as a division by zero."""


FAULT: Final = Fault()
NOT_AVAILABLE = "n/a"
"""Shown in place of a figure that cannot be computed."""

Scalar = float | int | str | bool | None
"""Value of a cell; None is blank."""
Shown = Scalar | Fault

_LONGEST = 250
"""Characters of a text in a formula: Excel takes a few more."""

_TEXT, _COMPARED, _ADDED, _MULTIPLIED, _RAISED, WHOLE = 1, 2, 3, 4, 5, 9
"""Precedence of the last operator of a text."""


def _operator(
    sign: str, binds: int, work: Callable[[float, float], float], *, turned: bool = False
) -> Callable[[V, Term], V]:
    """A method for an operator; of ``turned`` the V is the right operand."""

    def method(one: V, other: Term) -> V:
        a, b = (as_value(other), one) if turned else (one, as_value(other))
        value = (_compared if binds == _COMPARED else _computed)(work, a, b)
        return V(value, _texts(a, sign, b, binds), binds)

    return method


class V:
    """A value with the formula that gives it."""

    __slots__ = ("binds", "text", "value")

    def __init__(self, value: Shown, text: str, binds: int = WHOLE) -> None:
        self.value, self.text, self.binds = value, text, binds

    def __repr__(self) -> str:
        return f"V({self.value!r}, {self.text!r})"

    def __bool__(self) -> bool:
        raise TypeError("a cell decides nothing in Python; use if_(...)")

    @property
    def number(self) -> float:
        """The value as a number; 0 where it is none."""
        return float(self.value) if isinstance(self.value, (int, float)) else 0.0

    __add__ = _operator("+", _ADDED, operator.add)
    __radd__ = _operator("+", _ADDED, operator.add, turned=True)
    __sub__ = _operator("-", _ADDED, operator.sub)
    __rsub__ = _operator("-", _ADDED, operator.sub, turned=True)
    __mul__ = _operator("*", _MULTIPLIED, operator.mul)
    __rmul__ = _operator("*", _MULTIPLIED, operator.mul, turned=True)
    __truediv__ = _operator("/", _MULTIPLIED, operator.truediv)
    __rtruediv__ = _operator("/", _MULTIPLIED, operator.truediv, turned=True)
    __pow__ = _operator("^", _RAISED, operator.pow)
    __lt__ = _operator("<", _COMPARED, operator.lt)
    __le__ = _operator("<=", _COMPARED, operator.le)
    __gt__ = _operator(">", _COMPARED, operator.gt)
    __ge__ = _operator(">=", _COMPARED, operator.ge)

    def __neg__(self) -> V:
        text = self.text if self.binds in (_MULTIPLIED, WHOLE) else f"({self.text})"
        return V(_computed(operator.neg, self), f"-{text}", _ADDED)


Term = V | Scalar
"""Operand of a formula: a cell or a constant."""


def as_value(value: Term) -> V:
    """A constant as a value; a V as it is."""
    if isinstance(value, V):
        return value
    if isinstance(value, bool):
        return V(value, str(value).upper())
    if isinstance(value, str):
        value = clean(value, _LONGEST)
        escaped = value.replace('"', '""')
        return V(value, f'"{escaped}"')
    if value is None:
        return V("", '""')
    return V(value, f"{value:.15g}", WHOLE if value >= 0 else _ADDED)


def constant(value: float) -> V:
    """A number as a term of a formula, as a cell keeps it."""
    return as_value(float(f"{value:.15g}"))


def _computed(work: Callable[..., float], *parts: V) -> float | Fault:
    """The result of a calculation; a fault where a part is missing."""
    numbers: list[float] = []
    for part in parts:
        if isinstance(part.value, (str, Fault)):
            return FAULT
        numbers.append(0.0 if part.value is None else part.value)
    try:
        result = work(*numbers)
    except (ZeroDivisionError, OverflowError, ValueError):
        return FAULT
    return FAULT if isinstance(result, complex) or not math.isfinite(result) else result


def _compared(work: Callable[..., float], one: V, other: V) -> float | Fault:
    """A comparison; Excel takes a text for greater than any number."""
    if isinstance(one.value, Fault) or isinstance(other.value, Fault):
        return FAULT
    return work(
        *(
            (isinstance(part.value, str), 0.0 if part.value is None else part.value)
            for part in (one, other)
        )
    )


def _texts(one: V, sign: str, other: V, binds: int) -> str:
    left = one.text if one.binds >= binds else f"({one.text})"
    right = other.text if other.binds > binds else f"({other.text})"
    return f"{left}{sign}{right}"


def differs(one: Term, other: Term) -> V:
    """True if two cells hold something else; a blank one holds 0 and the empty text."""
    a, b = as_value(one), as_value(other)
    text = _texts(a, "<>", b, _COMPARED)
    if isinstance(a.value, Fault) or isinstance(b.value, Fault):
        return V(FAULT, text, _COMPARED)
    empty = ("", 0, None)
    blank = None in (a.value, b.value) and a.value in empty and b.value in empty
    return V(not blank and a.value != b.value, text, _COMPARED)


def if_(test: V, yes: Term, no: Term) -> V:
    """One of two values by a test."""
    a, b = as_value(yes), as_value(no)
    text = f"IF({test.text},{a.text},{b.text})"
    if isinstance(test.value, (str, Fault)):
        return V(FAULT, text)
    return V((a if test.value else b).value, text)


def any_of(tests: Sequence[V]) -> V:
    """True if one of some comparisons holds."""
    values = [test.value for test in tests]
    fault = next((value for value in values if isinstance(value, Fault)), None)
    return V(any(values) if fault is None else fault, f"OR({','.join(t.text for t in tests)})")


def or_na(cell: V) -> V:
    """A value, or that it is not available where its formula has no result."""
    value = NOT_AVAILABLE if isinstance(cell.value, Fault) else cell.value
    return V(value, f'IFERROR({cell.text},"{NOT_AVAILABLE}")')


def is_number(cell: V) -> V:
    """True if a cell holds a number."""
    number = isinstance(cell.value, (int, float)) and not isinstance(cell.value, bool)
    return V(number, f"ISNUMBER({cell.text})")


def _call(name: str, work: Callable[..., float], *terms: Term) -> V:
    parts = [as_value(term) for term in terms]
    return V(_computed(work, *parts), f"{name}({','.join(part.text for part in parts)})")


def round_(value: Term, digits: int) -> V:
    """A value rounded half away from zero."""
    return _call("ROUND", _half_up, value, digits)


def _half_up(value: float, digits: float) -> float:
    exact = Decimal(f"{value:.15g}")
    return float(exact.quantize(Decimal(1).scaleb(-int(digits)), ROUND_HALF_UP))


def round_up(value: V) -> V:
    """The next whole number; a value up to a billionth above one counts as that one."""
    return _call("ROUNDUP", lambda x, _: math.copysign(math.ceil(abs(x)), x), value - 1e-9, 0)


def int_(value: V) -> V:
    """The whole part; a value up to a billionth below a whole number counts as that one."""
    return _call("INT", math.floor, value + 1e-9)


def min_(*values: Term) -> V:
    """The least of some values."""
    return _call("MIN", min, *map(_counting, values))


def max_(*values: Term) -> V:
    """The greatest of some values."""
    return _call("MAX", max, *map(_counting, values))


def _counting(value: Term) -> Term:
    """A term that counts in any case: MIN and MAX pass over cells without a number."""
    return value + 0 if isinstance(value, V) and value.binds == WHOLE else value


def exp(value: V) -> V:
    """E to the power of a value."""
    return _call("EXP", math.exp, value)


def sum_(values: Iterable[Shown], span: str) -> V:
    """The sum of the values in a range; texts among them count for nothing."""
    return V(math.fsum(v for v in values if isinstance(v, (int, float))), f"SUM({span})")


def sum_of(parts: Sequence[V]) -> V:
    """The sum of some cells, term by term."""
    return sum(parts[1:], parts[0]) if parts else as_value(0)


def join(*parts: Term) -> V:
    """Texts one after the other; a number in a text is a whole one."""
    made = [as_value(part) for part in parts]
    text = "&".join(part.text if part.binds > _COMPARED else f"({part.text})" for part in made)
    if any(isinstance(part.value, Fault) for part in made):
        return V(FAULT, text, _TEXT)
    values = ("" if part.value is None else part.value for part in made)
    return V("".join(f"{v:.15g}" if isinstance(v, float) else str(v) for v in values), text, _TEXT)


def grouped(value: V) -> V:
    """A whole number as text with its thousands in groups."""
    text = f'TEXT({value.text},"#,##0")'
    if not isinstance(value.value, (int, float)):
        return V(FAULT if isinstance(value.value, Fault) else value.value or "", text)
    return V(f"{_half_up(value.value, 0):,.0f}", text)


_TOKEN = re.compile(r"""("(?:[^"]|"")*"|'[^']*'|[A-Za-z_$][\w.$]*|[\d.]+(?:E[+-]?\d+)?|\S)""", re.I)


def spelled(value: Any) -> object:
    """The content of a cell in one spelling.

    Spreadsheet programs change spaces, the spelling of numbers and functions, and quotes around the
    names of sheets when they save a file.
    """
    if isinstance(value, (int, float)):
        return float(f"{value:.12g}")
    text = str(getattr(value, "text", value) or "").replace("\r\n", "\n").strip()
    return [_token(token) for token in _TOKEN.findall(text)] if text.startswith("=") else text


def _token(text: str) -> str:
    if text.startswith('"'):
        return text
    try:
        return f"{float(text):.15g}"
    except ValueError:
        return text.lower().removeprefix("_xlfn.").strip("'").removeprefix("$")
