"""The bill as files: the same bytes again, CSV by the book, texts that no program runs."""

from __future__ import annotations

import csv
import io
import re

import pytest

from planner.report.exports import bill, bill_csv, harmless
from planner.schema.plan import Plan
from tests.world.shown import CASES, plan
from tests.world.tampering import put


def rows(document: Plan) -> list[dict[str, str]]:
    text = bill_csv(bill(document)).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_the_csv_is_rfc_4180_with_a_byte_order_mark() -> None:
    content = bill_csv(bill(plan(CASES["async"])))
    assert content.startswith(b"\xef\xbb\xbfline,section,")
    assert content.endswith(b"\r\n")
    records = content.removeprefix(b"\xef\xbb\xbf").decode().removesuffix("\r\n").split("\r\n")
    assert len(records) == 1 + len(plan(CASES["async"]).lines)
    assert "\n" not in "".join(records) and "\r" not in "".join(records)


@pytest.mark.parametrize(
    "number", ["0012", "1E5", "2026-11", "00965-0010", "1.10", "12345678901234"]
)
def test_part_numbers_are_quoted_text(number: str) -> None:
    whole = put(plan(CASES["minimal"]), ("lines", 0, "part_number"), number)
    content = bill_csv(bill(whole)).decode("utf-8-sig")
    assert f',"{number}",' in content
    assert rows(whole)[0]["part_number"] == number


# Formulas.

SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\u2212")
BEFORE = ("", " ", "\t", "\r", "\n", "\r\n", "\u00a0", "\u3000", "\u200b", "\ufeff", "'", '"')


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("before", BEFORE, ids=[repr(text) for text in BEFORE])
def test_a_cell_never_begins_like_a_formula(before: str, sign: str) -> None:
    shown = harmless(f"{before}{sign}1+1")
    assert shown.startswith("'")
    after = harmless(f"pack of 4;{before}{sign}1+1")  # where semicolons separate
    assert re.search(rf";[^;]*'{re.escape(sign)}", after)


def test_numbers_stay_numbers() -> None:
    whole = plan(CASES["minimal"])
    odd = whole.lines[0].model_copy(update={"weight_kg": -5.5, "racks": -1})
    (row, *_) = rows(whole.model_copy(update={"lines": (odd, *whole.lines[1:])}))
    assert (row["weight_kg"], row["racks"]) == ("-5.5", "-1")
