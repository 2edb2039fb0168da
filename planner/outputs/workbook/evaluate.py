"""What a formula of the workbook comes to: the values that a file carries.

A spreadsheet file holds, beside each formula, what it showed when it was saved, and programs that
do not calculate show that. The workbook states a formula once, as text; its value follows from the
text here.

A formula is compiled once for its shape, which is its text without the cells and names it reads.
The rows of a table share theirs, and its text is not even read again where it differs from one
that was read in the number of its row alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from planner.outputs.workbook.functions import (
    FUNCTIONS,
    OPERATIONS,
    Array,
    FormulaError,
    Grid,
    InOwnRow,
    Node,
    Place,
    Places,
    Reads,
    Scalar,
    joined,
)

_READ = "§"
"""Stands in a shape for what is read."""
_OWN = "\0"
"""Stands in a formula for the number of the row that it is in; it counts as a digit."""

_NUMBER = r"\d+\.?\d*(?:[eE][+-]?\d+)?"
_STRING = r'"(?:[^"]|"")*"'
_PIECE = re.compile(
    rf"({_STRING}|\b(?:TRUE|FALSE)\b)"
    rf"|((?:(?<![\w{_OWN}.$])[A-Za-z_$]|'(?:[^']|'')+'!)[\w{_OWN}.$!:]*+(?!\())"
)
"""A text or truth value, which stays in a shape, or a reference."""
_TOKEN = re.compile(
    rf"({_STRING})|({_NUMBER})|({_READ})|([A-Za-z_][\w.]*)|(<=|>=|<>|[-+*/^&=<>(),])"
)
_ROW = rf"\$?(\d+|{_OWN})"
_ADDRESS = re.compile(rf"(?:(?:'((?:[^']|'')+)'|(\w+))!)?\$?([A-Z]+){_ROW}(?::\$?([A-Z]+){_ROW})?")


class _Reading(NamedTuple):
    """A formula as read: what it does with places, and the places."""

    run: Node
    places: Sequence[Place | InOwnRow]


class Evaluator:
    """Evaluates formulas over a grid.

    The formulas of a column differ in the number of their row: they are read once.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._places: dict[tuple[str, str], Place] = {}
        self._readings: dict[tuple[str, str], _Reading | None] = {}

    def value(self, formula: str, sheet: str, row: int = 0) -> Scalar:
        """Return what a formula comes to; raise an error of `ArithmeticError` where it has none.

        Args:
            formula: its text, with or without the equals sign.
            sheet: the sheet it stands on.
            row: its zero-based row there.
        """
        key = sheet, formula.replace(str(row + 1), _OWN)
        try:
            reading = self._readings[key]
        except KeyError:
            reading = self._readings[key] = self._read(key[1], sheet)
        if reading is None:
            reading = self._read(formula, sheet)
            assert reading is not None
        try:
            value = reading.run(Places(self._grid, row, reading.places))
        except ValueError as error:
            raise FormulaError("#NUM!") from error
        if type(value) is float:
            if not math.isfinite(value):
                raise FormulaError("#NUM!")
            return value
        if isinstance(value, Array):
            raise FormulaError("#VALUE!")
        return 0.0 if value is None else value

    def _read(self, formula: str, sheet: str) -> _Reading | None:
        """Return a formula as read, None where its row is the number of something else as well."""
        # Between, a text or truth value or None, a reference or None; and so on.
        pieces = _PIECE.split(formula.removeprefix("="))
        references = list(filter(None, pieces[2::3]))
        pieces[2::3] = [reference and _READ for reference in pieces[2::3]]
        shape = "".join(filter(None, pieces))
        if _OWN in shape:
            return None
        places: list[Place | InOwnRow] = []
        for reference in references:
            if _OWN not in reference:
                places.append(self.place(reference, sheet))
                continue
            match = _ADDRESS.fullmatch(reference)
            if match is None or match[4] != _OWN or match[5] is not None:
                return None
            places.append(InOwnRow(_sheet_of(match, sheet), _column(match[3])))
        return _Reading(_compile(shape), places)

    def place(self, text: str, sheet: str) -> Place:
        """Return the cell or range that a reference on a sheet means."""
        found = self._places.get((sheet, text))
        if found is None:
            match = _ADDRESS.fullmatch(text)
            if match is None:
                found = self.place(self._grid.address(text), sheet)
            else:
                left, top, right, bottom = match.groups()[2:]
                first = (int(top) - 1, _column(left))
                last = first if right is None else (int(bottom) - 1, _column(right))
                found = Place(self._grid, _sheet_of(match, sheet), *first, *last)
            self._places[sheet, text] = found
        return found


def _sheet_of(address: re.Match[str], own: str) -> str:
    """Return the sheet that an address names, the formula's own where it names none."""
    quoted: str | None = address[1]
    return quoted.replace("''", "'") if quoted else address[2] or own


@lru_cache
def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


@lru_cache(maxsize=4096)
def _compile(shape: str) -> Node:
    """Return the formula of a shape, ready to be evaluated."""
    return _Parser(shape).formula()


# How closely operators bind; a sign binds closer than any of them, as Excel has it.
_LEVELS = (("=", "<>", "<", ">", "<=", ">="), ("&",), ("+", "-"), ("*", "/"), ("^",))
_BINDS = {symbol: level for level, symbols in enumerate(_LEVELS) for symbol in symbols}


class _Parser:
    """Turns the shape of a formula into functions, once."""

    def __init__(self, shape: str) -> None:
        self._shape = shape
        self._tokens = [match.groups() for match in _TOKEN.finditer(shape)]
        if sum(len(next(filter(None, groups), "")) for groups in self._tokens) != len(shape):
            raise self._unreadable()
        self._next = self._read = 0

    def formula(self) -> Node:
        """Return the whole formula."""
        node = self._operation(0)
        if self._next < len(self._tokens):
            raise self._unreadable()
        return node

    def _unreadable(self) -> SyntaxError:
        return SyntaxError(f"the evaluator cannot read the formula {self._shape}")

    def _symbol(self) -> str | None:
        """Return the operator that comes next, None where something else does."""
        return self._tokens[self._next][4] if self._next < len(self._tokens) else None

    def _operation(self, level: int) -> Node:
        """Return operands of one level and all that bind closer, joined from the left."""
        left = self._signed()
        while (binds := _BINDS.get(symbol := self._symbol() or "", -1)) >= level:
            self._next += 1
            left = joined(OPERATIONS[symbol], left, self._operation(binds + 1))
        return left

    def _signed(self) -> Node:
        symbol = self._symbol()
        if symbol not in ("-", "+"):
            return self._operand()
        self._next += 1
        node = self._signed()
        return node if symbol == "+" else joined(OPERATIONS["-"], _constant(0.0), node)

    def _operand(self) -> Node:
        if self._next == len(self._tokens):
            raise self._unreadable()
        string, number, read, word, symbol = self._tokens[self._next]
        self._next += 1
        if read:
            self._read += 1
            return Reads(self._read - 1)
        if string:
            return _constant(string[1:-1].replace('""', '"'))
        if number:
            return _constant(float(number))
        if word in ("TRUE", "FALSE"):
            return _constant(word == "TRUE")
        if word:
            arguments = self._arguments()
            function = FUNCTIONS.get(word.removeprefix("_xlfn."))
            if function is None:
                raise SyntaxError(f"the evaluator has no function {word}: {self._shape}")
            return function(*arguments)
        if symbol != "(":
            raise self._unreadable()
        node = self._operation(0)
        self._close()
        return node

    def _arguments(self) -> list[Node]:
        self._next += 1
        arguments: list[Node] = []
        while self._symbol() != ")":
            arguments.append(self._operation(0))
            if self._symbol() != ",":
                break
            self._next += 1
        self._close()
        return arguments

    def _close(self) -> None:
        if self._symbol() != ")":
            raise self._unreadable()
        self._next += 1


def _constant(value: Scalar) -> Node:
    return lambda _: value
