"""What formulas are made of: values, the cells they read, operators and functions.

The rules are Excel's: ``TRUE=1`` is FALSE, a text is no number, a blank cell is 0 or nothing by
what it is taken for, texts compare without case, and an error passes through everything but
``IFERROR`` and the ``IS`` functions. Only functions that some sheet uses are there; a further one
is an entry of `FUNCTIONS`.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_HALF_UP, ROUND_UP, Decimal
from functools import partial
from typing import NamedTuple, Protocol

Scalar = float | str | bool | None
"""What a cell holds: every number is a float, None is a blank cell."""


class FormulaError(ArithmeticError):
    """What a spreadsheet shows as an error, such as ``#VALUE!``."""


_FAILS = (ArithmeticError, ValueError)
"""What is raised where a spreadsheet shows an error."""


class Grid(Protocol):
    """The cells that formulas read."""

    def at(self, sheet: str, row: int, column: int) -> Scalar:
        """Return what a cell shows; raise where that is an error."""

    def area(self, sheet: str, top: int, left: int, bottom: int, right: int) -> list[Scalar]:
        """Return what the cells of a range show, row by row."""

    def formulas(self, sheet: str, top: int, left: int, bottom: int, right: int) -> list[bool]:
        """Return which cells of a range hold a formula, row by row."""

    def address(self, name: str) -> str:
        """Return where the cell of a defined name is, such as ``BOM!$A$1``."""


class Array(NamedTuple):
    """The values of a range, or of a formula over ranges, row by row."""

    rows: int
    columns: int
    cells: list[Scalar]


Value = Scalar | Array


class Place(NamedTuple):
    """A cell or a range that a formula reads, by zero-based rows and columns."""

    grid: Grid
    sheet: str
    top: int
    left: int
    bottom: int
    right: int

    def value(self) -> Value:
        """Return what the cell shows, or the values of the range."""
        grid, sheet, top, left, bottom, right = self
        if top == bottom and left == right:
            return grid.at(sheet, top, left)
        return Array(bottom - top + 1, right - left + 1, grid.area(*self[1:]))

    def cells(self) -> list[Scalar]:
        """Return what each of its cells shows."""
        return self.grid.area(*self[1:])


class InOwnRow(NamedTuple):
    """A cell that a formula reads in whatever row it is in."""

    sheet: str
    column: int


class Places:
    """What a formula of some row reads, by number."""

    __slots__ = ("grid", "listed", "row")

    def __init__(self, grid: Grid, row: int, listed: Sequence[Place | InOwnRow]) -> None:
        self.grid, self.row, self.listed = grid, row, listed

    def __getitem__(self, number: int) -> Place:
        place = self.listed[number]
        if type(place) is InOwnRow:
            return Place(self.grid, place[0], self.row, place[1], self.row, place[1])
        return place  # type: ignore[return-value]  # of the two that there are


Node = Callable[[Places], Value]
"""A compiled part of a formula: what it comes to where the places are what it reads."""


class Reads:
    """Part of a formula that is a cell or a range; some functions look at its cells one by one."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, places: Places) -> Value:
        """Return what it holds."""
        place = places.listed[self.number]
        if type(place) is InOwnRow:
            return places.grid.at(place[0], places.row, place[1])
        return place.value()  # type: ignore[union-attr]


# ---- operators ----


def to_number(value: Scalar) -> float:
    """Return a value as arithmetic takes it: a blank is 0, TRUE 1, a text no number."""
    if type(value) is float:
        return value
    if value is None:
        return 0.0
    if isinstance(value, str):
        raise FormulaError("#VALUE!")
    return float(value)


def to_text(value: Scalar) -> str:
    """Return a value as a spreadsheet joins it to a text."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    return f"{value + 0.0:.15g}"


def _calculation(calculate: Callable[[float, float], float]) -> Callable[[Scalar, Scalar], Scalar]:
    def apply(left: Scalar, right: Scalar) -> float:
        if type(left) is float and type(right) is float:
            return calculate(left, right)
        return calculate(to_number(left), to_number(right))

    return apply


def _power(base: float, exponent: float) -> float:
    result = base**exponent
    if isinstance(result, complex) or (base == 0 and exponent == 0):
        raise FormulaError("#NUM!")
    return float(result)


def _rank(value: float | str | bool) -> tuple[int, float | str]:
    """Return where a value stands: numbers before texts before truth values."""
    if isinstance(value, bool):
        return 2, float(value)
    return (1, value.casefold()) if isinstance(value, str) else (0, value)


_BLANKS: dict[type, float | str | bool] = {float: 0.0, str: "", bool: False, type(None): 0.0}
"""What a blank cell is when it is compared with something of a type."""


def _comparison(holds: Callable[[object, object], bool]) -> Callable[[Scalar, Scalar], Scalar]:
    def apply(left: Scalar, right: Scalar) -> bool:
        kind = type(left)
        if kind is type(right):  # what is compared most is alike
            if kind is str:
                return holds(left.casefold(), right.casefold())  # type: ignore[union-attr]
            return holds(0.0, 0.0) if left is None else holds(left, right)
        one = _BLANKS[type(right)] if left is None else left
        other = _BLANKS[type(left)] if right is None else right
        if type(one) is float and type(other) is float:
            return holds(one, other)
        return holds(_rank(one), _rank(other))

    return apply


OPERATIONS: dict[str | None, Callable[[Scalar, Scalar], Scalar]] = {
    "+": _calculation(operator.add),
    "-": _calculation(operator.sub),
    "*": _calculation(operator.mul),
    "/": _calculation(operator.truediv),
    "^": _calculation(_power),
    "&": lambda left, right: to_text(left) + to_text(right),
    "=": _comparison(operator.eq),
    "<>": _comparison(operator.ne),
    "<": _comparison(operator.lt),  # type: ignore[arg-type]  # values of one rank have an order
    ">": _comparison(operator.gt),  # type: ignore[arg-type]
    "<=": _comparison(operator.le),  # type: ignore[arg-type]
    ">=": _comparison(operator.ge),  # type: ignore[arg-type]
}


def joined(operation: Callable[[Scalar, Scalar], Scalar], left: Node, right: Node) -> Node:
    """Return an operation on two operands, cell by cell where one is a range."""

    def run(places: Places) -> Value:
        one, other = left(places), right(places)
        if type(one) is not Array and type(other) is not Array:  # most are
            return operation(one, other)  # type: ignore[arg-type]
        if isinstance(one, Array):
            if not isinstance(other, Array):
                return Array(*one[:2], [operation(cell, other) for cell in one.cells])
            if one[:2] != other[:2]:
                raise FormulaError("#N/A")
            pairs = zip(one.cells, other.cells, strict=True)
            return Array(*one[:2], [operation(*pair) for pair in pairs])
        assert isinstance(other, Array)
        return Array(*other[:2], [operation(one, cell) for cell in other.cells])

    return run


# ---- functions ----


def _scalar(value: Value) -> Scalar:
    if isinstance(value, Array):
        raise FormulaError("#VALUE!")
    return value


def _is_number(value: Scalar) -> bool:
    return type(value) is float


def _truth(value: Scalar) -> bool:
    if isinstance(value, str):
        raise FormulaError("#VALUE!")
    return bool(value)


def _cells(node: Node, places: Places) -> list[Scalar]:
    """Return the values of an argument of a function that adds up ranges.

    Of cells only numbers count; what is worked out in the argument itself must be a number.
    """
    value = node(places)
    if isinstance(value, Array):
        return value.cells
    if isinstance(node, Reads):
        return [value]
    return [to_number(value)]


def _over_numbers(combine: Callable[[list[float]], float]) -> Callable[..., Node]:
    """Return a function of the numbers in its arguments."""

    def make(*arguments: Node) -> Node:
        def run(places: Places) -> float:
            return combine(
                [
                    value
                    for node in arguments
                    for value in _cells(node, places)
                    if type(value) is float
                ]
            )

        return run

    return make


def _of_number(calculate: Callable[..., float]) -> Callable[..., Node]:
    """Return a function of arguments that are numbers."""

    def make(*arguments: Node) -> Node:
        def run(places: Places) -> float:
            return float(calculate(*[to_number(_scalar(node(places))) for node in arguments]))

        return run

    return make


def _of_text(calculate: Callable[..., str | float]) -> Callable[..., Node]:
    """Return a function of arguments that are whatever they are, with a text or what it spells."""

    def make(*arguments: Node) -> Node:
        return lambda places: calculate(*(_scalar(node(places)) for node in arguments))

    return make


def _if(condition: Node, then: Node, other: Node) -> Node:
    def run(places: Places) -> Value:
        met = condition(places)
        if met is not True and met is not False:  # most are
            met = _truth(_scalar(met))
        return then(places) if met else other(places)

    return run


def _if_error(node: Node, other: Node) -> Node:
    def run(places: Places) -> Value:
        try:
            value = node(places)
        except _FAILS:
            return other(places)
        if type(value) is float and not math.isfinite(value):
            return other(places)
        return value

    return run


def _logical(combine: Callable[[Iterable[bool]], bool]) -> Callable[..., Node]:
    def make(*arguments: Node) -> Node:
        # Excel evaluates all of them: an error in one is an error of the whole.
        return lambda places: combine([_truth(_scalar(node(places))) for node in arguments])

    return make


def _is(test: Callable[[Scalar], bool], of_error: bool = False) -> Callable[..., Node]:
    def make(node: Node) -> Node:
        def run(places: Places) -> bool:
            try:
                return test(_scalar(node(places)))
            except _FAILS:
                return of_error

        return run

    return make


def _place(node: Node, places: Places) -> Place:
    if not isinstance(node, Reads):
        raise FormulaError("#VALUE!")
    return places[node.number]


def _is_formula(node: Node) -> Node:
    def run(places: Places) -> Value:
        place = _place(node, places)
        found: list[Scalar] = list(place.grid.formulas(*place[1:]))
        if len(found) == 1:
            return found[0]
        return Array(place.bottom - place.top + 1, place.right - place.left + 1, found)

    return run


def _size(last: str, first: str) -> Callable[[Node], Node]:
    def make(node: Node) -> Node:
        def run(places: Places) -> float:
            place = _place(node, places)
            return float(getattr(place, last) - getattr(place, first) + 1)

        return run

    return make


def _counted(counts: Callable[[Scalar], bool]) -> Callable[..., Node]:
    """Return a function that counts cells."""

    def make(*arguments: Node) -> Node:
        def run(places: Places) -> float:
            found = (_place(node, places).cells() for node in arguments)
            return float(sum(counts(value) for cells in found for value in cells))

        return run

    return make


_CRITERION = re.compile(r"(<=|>=|<>|[<>=])?(.*)", re.DOTALL)


def _meets(criterion: Scalar) -> Callable[[Scalar], bool]:
    """Return the test that a criterion such as ``>=5`` or a text stands for."""
    match = _CRITERION.fullmatch(to_text(criterion))
    assert match is not None
    symbol, text = match[1] or "=", match[2]
    if set("*?~") & set(text):
        raise FormulaError("#N/A")  # wildcards: no sheet uses any
    try:
        wanted: Scalar = float(text)
    except ValueError:
        wanted = text
    compare = OPERATIONS[symbol]
    # A criterion speaks of values of its own kind: no text is above a number.
    return lambda cell: type(cell) is type(wanted) and bool(compare(cell, wanted))


def _chosen(pairs: Sequence[Node], places: Places) -> list[bool]:
    """Return which cells meet all criteria, given as ranges with a criterion each."""
    fits = []
    for cells, criterion in zip(pairs[::2], pairs[1::2], strict=True):
        test = _meets(_scalar(criterion(places)))
        fits.append([test(cell) for cell in _place(cells, places).cells()])
    return [all(each) for each in zip(*fits, strict=True)]


def _count_ifs(*pairs: Node) -> Node:
    return lambda places: float(sum(_chosen(pairs, places)))


def _sum_if(cells: Node, criterion: Node, summed: Node) -> Node:
    def run(places: Places) -> float:
        values = _place(summed, places).cells()
        chosen = zip(_chosen((cells, criterion), places), values, strict=True)
        return math.fsum(value for fits, value in chosen if fits and type(value) is float)

    return run


def _sum_product(*arguments: Node) -> Node:
    def run(places: Places) -> float:
        factors: list[list[float]] = []
        for node in arguments:
            value = node(places)
            cells = value.cells if isinstance(value, Array) else [value]
            # What is no number counts as 0.
            factors.append([cell if type(cell) is float else 0.0 for cell in cells])
        if len(set(map(len, factors))) > 1:
            raise FormulaError("#VALUE!")
        products, *more = factors
        for column in more:
            products = list(map(operator.mul, products, column))
        return math.fsum(products)

    return run


def _round(number: float, digits: float, how: str = ROUND_HALF_UP) -> float:
    """Return a number rounded as written: a spreadsheet keeps 15 digits of it."""
    if digits >= 0 and abs(number) < 1e15 and number.is_integer():
        return number + 0.0
    if not math.isfinite(number):
        raise FormulaError("#NUM!")
    return float(Decimal(f"{number:.15g}").quantize(Decimal(1).scaleb(-int(digits)), how)) + 0.0


def _present_value(rate: float, periods: float, payment: float) -> float:
    worth = periods if rate == 0 else -math.expm1(-periods * math.log1p(rate)) / rate
    return -payment * worth


def _poisson(count: float, mean: float, cumulative: float) -> float:
    first = 0 if cumulative else int(count)
    logs = (k * math.log(mean) - mean - math.lgamma(k + 1.0) for k in range(first, int(count) + 1))
    return math.fsum(map(math.exp, logs))


def _number_of(value: Scalar) -> float:
    return 0.0 if isinstance(value, str) else to_number(value)


def _last(text: str, count: int) -> str:
    return text[len(text) - count :] if count < len(text) else text


def _read_number(value: Scalar) -> float:
    """Return the number that a text spells; what spells none is an error."""
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d+(\.\d*)?\s*", value):
        return float(value)
    return to_number(value)


FUNCTIONS: dict[str, Callable[..., Node]] = {
    "ABS": _of_number(abs),
    "AND": _logical(all),
    "COLUMNS": _size("right", "left"),
    "COUNT": _counted(_is_number),
    "COUNTA": _counted(lambda value: value is not None),
    "COUNTIF": _count_ifs,
    "COUNTIFS": _count_ifs,
    "EXP": _of_number(math.exp),
    "IF": _if,
    "IFERROR": _if_error,
    "INT": _of_number(math.floor),
    "ISBLANK": _is(lambda value: value is None),
    "ISERROR": _is(lambda _: False, of_error=True),
    "ISFORMULA": _is_formula,
    "ISNUMBER": _is(_is_number),
    "LEFT": _of_text(lambda text, count: to_text(text)[: int(to_number(count))]),
    "LN": _of_number(math.log),
    "MAX": _over_numbers(partial(max, default=0.0)),
    "MIN": _over_numbers(partial(min, default=0.0)),
    "N": lambda node: lambda places: _number_of(_scalar(node(places))),
    "NOT": lambda node: lambda places: not _truth(_scalar(node(places))),
    "OR": _logical(any),
    "POISSON": _of_number(_poisson),
    "PV": _of_number(_present_value),
    "REPT": _of_text(lambda text, count: to_text(text) * int(to_number(count))),
    "RIGHT": _of_text(lambda text, count: _last(to_text(text), int(to_number(count)))),
    "ROUND": _of_number(_round),
    "ROUNDUP": _of_number(partial(_round, how=ROUND_UP)),
    "ROWS": _size("bottom", "top"),
    "SQRT": _of_number(math.sqrt),
    "SUBSTITUTE": _of_text(
        lambda text, old, new: to_text(text).replace(to_text(old), to_text(new))
    ),
    "SUM": _over_numbers(math.fsum),
    "SUMIF": _sum_if,
    "SUMPRODUCT": _sum_product,
    "TRIM": _of_text(lambda text: " ".join(filter(None, to_text(text).split(" ")))),
    "VALUE": _of_text(_read_number),
}
"""What each function makes of its arguments, which it evaluates itself."""
