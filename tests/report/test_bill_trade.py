"""What a buyer's checklist asks besides: origin, tariff code, warranty, how long prices hold."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from planner.loader import load
from planner.report.exports import bill
from tests.world.files import BOOK, CATALOG, PROBLEM
from tests.world.files import changed as edited
from tests.world.solved import solve

TRADE = """\
    lifecycle: end_of_sale
    trade:
      origin: {value: TW, source: sheet, confidence: high}
      hs_code: {value: "8471.80", source: sheet, confidence: medium}
      export_class: {value: 3A090.a, source: sheet, confidence: low}
      warranty: {value: 3, source: sheet, confidence: high}
"""


def written(tmp_path: Path, trade: str = TRADE, until: str = "2026-06-30") -> Path:
    head = "  - id: gpu_box\n"
    problem = PROBLEM.replace("consider:\n", "consider:\n  lifecycle: [available, end_of_sale]\n")
    if "lifecycle:" not in problem:
        problem += "consider: {lifecycle: [available, end_of_sale]}\n"
    (tmp_path / "problem.yaml").write_text(problem, "utf-8")
    (tmp_path / "own.yaml").write_text(edited(CATALOG, head, head + trade), "utf-8")
    price = edited(
        BOOK, "  quick_store:", f'    valid_until: "{until}"\n    min_order: 2\n  quick_store:'
    )
    (tmp_path / "book.yaml").write_text(price, "utf-8")
    return tmp_path / "problem.yaml"


def test_the_bill_tells_what_catalog_and_price_book_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1782777600")  # 2026-06-30
    inputs = load(written(tmp_path))
    inputs = pickle.loads(pickle.dumps(inputs))
    plan = solve(inputs)
    row = next(row for row in bill(plan).lines if row.sku == "gpu_box")
    assert (row.country_of_origin, row.hs_code, row.export_class) == ("TW", "8471.80", "3A090.a")
    assert (row.warranty_years, row.lifecycle, row.min_order) == (3.0, "end_of_sale", 2)
    assert (row.price_valid_until, row.price_book, row.category) == (
        "2026-06-30", "Own prices", "gpu_system",
    )  # fmt: skip
    assert row.unit_list_low is not None
    assert not [text for text in plan.warnings if "expired quotes" in text]
    other = next(row for row in bill(plan).lines if row.sku != "gpu_box")
    assert (other.country_of_origin, other.lifecycle, other.min_order) == (None, "available", None)
    outside = next(row for row in bill(plan, "customer").lines if row.sku == "gpu_box")
    assert (outside.hs_code, outside.price_valid_until, outside.price_book) == (
        "8471.80", None, None,
    )  # fmt: skip
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1782864000")  # the day after
    late = solve(inputs)
    assert "expired quotes: Box 8 (until 2026-06-30)" in late.warnings
