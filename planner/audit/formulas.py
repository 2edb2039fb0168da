"""Whether two formulas are the same, whatever spelling a spreadsheet program gave them."""

from __future__ import annotations

import re

from openpyxl.formula import Tokenizer
from openpyxl.formula.tokenizer import Token

_QUOTED = re.compile(r"^'([A-Za-z_][A-Za-z0-9_.]*)'!")


def same(one: str, other: str) -> bool:
    """Return whether two formulas are the same token by token.

    Spreadsheet programs change spaces, the spelling of numbers and functions, and quotes around the
    names of sheets when they save a file.
    """
    return one == other or canonical(one) == canonical(other)


def canonical(formula: str) -> tuple[str, ...]:
    """Return the tokens of a formula in one spelling."""
    text = formula if formula.startswith("=") else f"={formula}"
    tokens = Tokenizer(text).items
    return tuple(_spelled(token) for token in tokens if token.type != Token.WSPACE)


def _spelled(token: Token) -> str:
    value = str(token.value)
    if token.type == Token.OPERAND and token.subtype == Token.NUMBER:
        return repr(float(value))
    if token.type == Token.OPERAND and token.subtype == Token.TEXT:
        return value
    if token.type == Token.OPERAND:
        return _QUOTED.sub(r"\1!", value).removeprefix("$").lower()
    return value.upper().removeprefix("_XLFN.")
