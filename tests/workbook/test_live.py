"""Values that carry their formula: the number in Python is the number that Excel computes."""

from __future__ import annotations

import io
import math
import random
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from openpyxl.workbook import Workbook

from planner import workbook
from planner.currency import USD
from planner.errors import InputError
from planner.files import load_bytes
from planner.schema.plan import Plan
from planner.workbook.audit import audit
from planner.workbook.book import Book, Sheet
from planner.workbook.formulas import (
    FAULT,
    V,
    as_value,
    differs,
    exp,
    grouped,
    if_,
    int_,
    is_number,
    join,
    max_,
    min_,
    or_na,
    round_,
    round_up,
)
from tests.workbook.conftest import Made, made, shipped, written
from tests.workbook.excel import Excel, cached
from tests.world.commands import ran

NUMBERS = (0.0, 1.0, -2.5, 0.125, 1e-7, 3.0, 1234.5, 100000.0)


def tree(draw: random.Random, cells: list[V], depth: int) -> V:
    """Return an expression over cells."""
    if depth == 0:
        return draw.choice(cells) if draw.random() < 0.8 else as_value(draw.choice(NUMBERS))
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
        (place, shown, engine.value(*place))
        for place, shown in cached(content).items()
        if not alike(shown, engine.value(*place))
    ]
    assert wrong == []


def alike(one: object, other: object) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return (one or 0) == (other or 0)


def test_an_error_passes_on_until_it_is_caught() -> None:
    broken = as_value(1) / as_value(0) + 1
    assert broken.value is FAULT
    assert or_na(broken).value == "n/a"
    assert (or_na(broken) * 2).value is FAULT
    assert if_(as_value(1) > 0, 5, broken).value == 5


def test_a_cell_decides_nothing_in_python() -> None:
    with pytest.raises(TypeError):
        bool(as_value(1) > 0)


def test_text_of_numbers_is_as_excel_writes_it() -> None:
    assert join("a ", as_value(3), ", ", grouped(as_value(1234567.4))).value == "a 3, 1,234,567"


# Workbooks that the audit refuses: one clear line each, and exit code 2.


Change = Callable[[Made, Workbook], None]


def cell(source: Made, name: str) -> tuple[str, str]:
    return source.book.places[name]


def replace_formula(text: str) -> Change:
    def change(source: Made, book: Workbook) -> None:
        sheet, address = cell(source, "goodput")
        book[sheet][address] = text

    return change


def type_into(kind: str, key: str, value: object) -> Change:
    def change(source: Made, book: Workbook) -> None:
        entry = source.input(kind, key)
        sheet, address = entry.place
        book[sheet][address] = value

    return change


def carried(text: str) -> Change:
    def change(_: Made, book: Workbook) -> None:
        for row in book[workbook.BASIS].iter_rows(min_col=2, max_col=2):
            if isinstance(row[0].value, str) and len(row[0].value) > 1000:
                row[0].value = text

    return change


def delete_sheet(book: Workbook, name: str) -> None:
    del book[name]


def number_under_a_line(source: Made, book: Workbook) -> None:
    """Type a number into a blank cell of a column that is summed."""
    own = source.input("own_line", "Own lines|1|model")
    row = int(re.sub(r"\D", "", own.place[1]))
    column = next(c.column_letter for c in book["Quote"][12] if "Support" in str(c.value))
    book["Quote"][f"{column}{row}"] = 1_000_000


GPUS = "nvidia_dgx_b200"
CHANGES: dict[str, tuple[Change, str]] = {
    "command": (replace_formula("=cmd|'/C calc'!A0"), "held the formula"),
    "number for a formula": (replace_formula("0.99"), "held the formula"),
    "carried data of brackets": (carried("[" * 30_000), "was changed or cut off"),
    "carried data cut off": (carried("eJwrSS0uUUhJLEkEABnvBNo=" * 100), "was changed or cut off"),
    "sheet deleted": (lambda _, book: delete_sheet(book, "Power & cost"), "the sheet is gone"),
    "basis deleted": (lambda _, book: delete_sheet(book, "Basis"), "carries no plan"),
    "text for a number": (type_into("quantity", GPUS, "many"), "holds 'many'"),
    "half a system": (type_into("quantity", GPUS, 509.5), "write a whole number"),
    "discount above one": (type_into("discount", GPUS, 12.5), "write a number from 0 to 1"),
    "blank quantity": (type_into("quantity", GPUS, None), "is blank"),
    "formula that was never computed": (
        type_into("quantity", GPUS, "=500+9"),
        "which was never computed",
    ),
    "number in a summed column": (number_under_a_line, "was empty, now holds"),
    "own line without description": (
        type_into("own_line", "Own lines|2|unit_list", 5.0),
        "it has no description",
    ),
    "own line without price": (
        type_into("own_line", "Own lines|2|quantity", 5),
        "own line 2",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_that_is_no_edit_is_one_line(name: str, tmp_path: Path) -> None:
    change, words = CHANGES[name]
    source, path = shipped("hall_10MW"), tmp_path / "edited.xlsx"
    book = load_bytes(io.BytesIO(source.content))
    change(source, book)
    book.save(path)
    ended = ran("verify", str(path), "--no-solve")
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err
    assert len(ended.err.splitlines()) == 1


@pytest.mark.parametrize("audience", ["customer", "partner"])
def test_an_edition_for_the_outside_carries_no_plan(audience: str, tmp_path: Path) -> None:
    path = tmp_path / "outside.xlsx"
    path.write_bytes(written(shipped("hall_10MW").plan, audience))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="carries no plan"):
        audit(path)


def test_a_plan_that_was_tampered_with_is_refused(tmp_path: Path) -> None:
    source = shipped("hall_10MW")
    line = source.plan.lines[0].model_copy(update={"unit_net_usd": 1.0})
    changed: Plan = source.plan.model_copy(update={"lines": (line, *source.plan.lines[1:])})
    path = tmp_path / "x.xlsx"
    _, inputs, _ = workbook.unpack(carried_text(source.content))
    path.write_bytes(made(changed, inputs=inputs.encode()).content)
    with pytest.raises(InputError, match="does not hold"):
        audit(path)


def carried_text(content: bytes) -> str:
    sheet = load_bytes(io.BytesIO(content))[workbook.BASIS]
    texts = [row[1] for row in sheet.iter_rows(values_only=True)]
    return "".join(text for text in texts if isinstance(text, str) and len(text) > 1000)


def test_workbooks_of_others_are_refused(tmp_path: Path) -> None:
    book = Workbook()
    book.active["A1"] = "hello"
    book.save(tmp_path / "theirs.xlsx")
    with pytest.raises(InputError, match="planner did not write this workbook"):
        audit(tmp_path / "theirs.xlsx")


def test_a_sheet_of_ones_own_is_no_edit(tmp_path: Path) -> None:
    source, path = shipped("hall_10MW"), tmp_path / "edited.xlsx"
    book = load_bytes(io.BytesIO(source.content))
    book.create_sheet("Mine")["A1"] = "notes"
    book["Quote"]["C9"] = "A customer"
    book.save(path)
    found = audit(path, solve_again=False)
    assert (found.edits, found.added_sheets) == ((), ("Mine",))
