"""Terms of sale in the bill: life cycle, minimum order, how long prices hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.loader import load
from planner.report.exports import bill
from planner.verifier import recheck
from tests.world.files import BOOK, CATALOG, PROBLEM
from tests.world.files import changed as edited
from tests.world.solved import solve


def written(tmp_path: Path) -> Path:
    head = "  - id: gpu_box\n"
    problem = PROBLEM + "consider: {lifecycle: [available, end_of_sale]}\n"
    (tmp_path / "problem.yaml").write_text(problem, "utf-8")
    sold = head + "    lifecycle: end_of_sale\n"
    (tmp_path / "own.yaml").write_text(edited(CATALOG, head, sold), "utf-8")
    price = edited(
        BOOK, "  quick_store:", '    valid_until: "2026-06-30"\n    min_order: 2\n  quick_store:'
    )
    (tmp_path / "book.yaml").write_text(price, "utf-8")
    return tmp_path / "problem.yaml"


def test_the_bill_tells_what_catalog_and_price_book_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1782777600")  # 2026-06-30
    inputs = load(written(tmp_path))
    plan = solve(inputs)
    row = next(row for row in bill(plan).lines if row.sku == "gpu_box")
    assert (row.lifecycle, row.min_order) == ("end_of_sale", 2)
    assert (row.price_valid_until, row.price_book, row.category) == (
        "2026-06-30", "Own prices", "gpu_system",
    )  # fmt: skip
    assert row.unit_list_low is not None
    assert not [text for text in plan.warnings if "expired quotes" in text]
    other = next(row for row in bill(plan).lines if row.sku != "gpu_box")
    assert (other.lifecycle, other.min_order) == ("available", None)
    outside = next(row for row in bill(plan, "customer").lines if row.sku == "gpu_box")
    assert (outside.price_valid_until, outside.price_book) == (None, None)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1782864000")  # the day after
    late = solve(inputs)
    assert "expired quotes: Box 8 (until 2026-06-30)" in late.warnings


@pytest.mark.parametrize("change", [{"lifecycle": None}, {"min_order": None}])
def test_other_words_than_the_catalogs_are_caught(
    tmp_path: Path, change: dict[str, object]
) -> None:
    inputs = load(written(tmp_path))
    plan = solve(inputs)
    lines = tuple(
        line.model_copy(update=change) if line.sku == "gpu_box" else line for line in plan.lines
    )
    found = recheck(inputs, plan.model_copy(update={"lines": lines})).disagreements
    assert any(f"lines.gpu_box.{next(iter(change))}" in text for text in found), found
