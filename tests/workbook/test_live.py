"""Values that carry their formula: the number in Python is the number that Excel computes."""

from __future__ import annotations

import io
import math
import random
from collections.abc import Callable
from datetime import datetime

import pytest

from planner.currency import USD
from planner.workbook.book import Book, Sheet
from planner.workbook.live import (
    FAULT,
    V,
    differs,
    exp,
    grouped,
    if_,
    int_,
    is_number,
    join,
    ln,
    max_,
    min_,
    of,
    or_na,
    round_,
    round_up,
)
from tests.workbook.excel import Excel, cached

NUMBERS = (0.0, 1.0, -2.5, 0.125, 1e-7, 3.0, 1234.5, 100000.0)


def tree(draw: random.Random, cells: list[V], depth: int) -> V:
    """Return an expression over cells."""
    if depth == 0:
        return draw.choice(cells) if draw.random() < 0.8 else of(draw.choice(NUMBERS))
    one, two = (tree(draw, cells, depth - 1) for _ in range(2))
    kinds: list[Callable[[], V]] = [
        lambda: one + two,
        lambda: one - two,
        lambda: one * two,
        lambda: one / two,
        lambda: -one,
        lambda: one**2,
        lambda: 3 - one,
        lambda: 2 / one,
        lambda: if_(one < two, one, two),
        lambda: if_(one >= two, 1, two),
        lambda: min_(one, two),
        lambda: max_(one, two, 1),
        lambda: round_(one, 2),
        lambda: int_(one),
        lambda: round_up(one),
        lambda: exp(one / 1e6),
        lambda: or_na(ln(one)),
        lambda: if_(differs(one, two), one, -two),
        lambda: if_(is_number(one), one, 0),
    ]
    return draw.choice(kinds)()


@pytest.mark.parametrize("seed", range(4))
def test_random_formulas_have_the_value_that_excel_computes(seed: int) -> None:
    draw, stream = random.Random(seed), io.BytesIO()
    book = Book(stream, "random", datetime(2026, 3, 1), USD)
    sheet = Sheet(book, "A", [10] * 12)
    look = book.look("any")
    cells = [sheet.put(0, at, value, look) for at, value in enumerate(NUMBERS)]
    cells.append(sheet.put(0, len(NUMBERS), None, look))
    for row in range(1, 120):
        sheet.put(row, 0, or_na(tree(draw, cells, draw.randint(1, 4))), look)
    book.close()
    content = stream.getvalue()
    engine = Excel(content)
    wrong = [
        (engine.formula_of(*place), shown, engine.value(*place))
        for place, shown in cached(content).items()
        if not alike(shown, engine.value(*place))
    ]
    assert wrong == []


def alike(one: object, other: object) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return (one or 0) == (other or 0)


def test_an_error_passes_on_until_it_is_caught() -> None:
    broken = of(1) / of(0) + 1
    assert broken.value is FAULT
    assert or_na(broken).value == "n/a"
    assert (or_na(broken) * 2).value is FAULT
    assert if_(of(1) > 0, 5, broken).value == 5


def test_a_cell_decides_nothing_in_python() -> None:
    with pytest.raises(TypeError):
        bool(of(1) > 0)


def test_text_of_numbers_is_as_excel_writes_it() -> None:
    assert join("a ", of(3), ", ", grouped(of(1234567.4))).value == "a 3, 1,234,567"
