"""`planner bid` as it is used: its screen, its files, and what it says of wrong input."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from tests.bids.material import five, plain, write_problem, xlsx
from tests.world.commands import Ran, ran


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("bids")
    write_problem(where)
    five(where)
    return where


@pytest.fixture(scope="module")
def done(folder: Path) -> Ran:
    first, *others = ("anvil.xlsx", "bolt.csv", "crate.xlsx", "dray.csv", "ember.xlsx")
    words = ["quote", "bid", str(folder / "problem.yaml"), str(folder / first)]
    words += [str(folder / name) for name in others]
    named = ["--vendor", "anvil.xlsx=ANVIL Systems", "--rate", "EUR=1.1"]
    return ran(*words, *named, "-o", str(folder / "out"), "-q", "--full")


def test_five_files_become_a_ranked_report(done: Ran) -> None:
    assert done.code == 0
    assert "A ANVIL Systems is first" in done.out
    assert all(f"\n{label} " in done.out for label in ("Next", "Mix"))
    assert "C: discounts on the whole take 5.000 % off every price" in done.out
    assert "1 EUR = 1.1 USD as given" in done.out


def test_without_a_bid_that_keeps_every_limit_the_exit_code_is_3(folder: Path) -> None:
    words = ["quote", "bid", str(folder / "problem.yaml"), str(folder / "dray.csv"), "--set",
             "site.facility_power=100 kW"]  # fmt: skip
    shown = ran(*words)
    assert shown.code == 3
    assert "no bid meets every limit" in shown.out
    assert "facility power: 746" in shown.out


def wrong(folder: Path, *words: str) -> str:
    shown = ran("quote", "bid", *words)
    assert shown.code == 2
    assert shown.err.count("\n") == 1
    return shown.err


def test_what_is_wrong_is_said(folder: Path, tmp_path: Path) -> None:
    problem, dray, bolt = (str(folder / n) for n in ("problem.yaml", "dray.csv", "bolt.csv"))
    assert "there is no bid to evaluate" in wrong(folder, problem)
    assert "is no problem file" in wrong(folder, dray, problem)
    assert "is given twice" in wrong(folder, problem, dray, dray)
    assert "no rate is given" in wrong(folder, problem, bolt)
    assert "'x.csv' is none of the bids' files" in wrong(
        folder, problem, dray, "--vendor", "x.csv=ACME"
    )
    assert "two bids are called 'ACME'" in wrong(
        folder, problem, dray, bolt, "--vendor", "ACME", "--rate", "EUR=1.1"
    )
    assert "--date is given twice without a file" in wrong(
        folder, problem, dray, "--date", "2026-11-01", "--date", "2026-11-02"
    )
    assert "'soon' is no date" in wrong(folder, problem, dray, "--date", "dray.csv=soon")
    assert "'EUR:1' is no rate" in wrong(folder, problem, dray, "--rate", "EUR:1")
    undated = str(
        xlsx(tmp_path / "u.xlsx", [("Part Number", "Qty", "Unit Price"), ("BX-8-100", 1, 1.0)])
    )
    assert "no clear date" in wrong(folder, problem, undated, "--currency", "USD")
    many = [str(plain(tmp_path / f"b{n}.xlsx", ("BX-8-100", 1, 1.0))) for n in range(27)]
    assert "27 bids, and 26 are compared at most" in wrong(folder, problem, *many)


def test_nothing_in_a_file_steers_who_reads_it(folder: Path, tmp_path: Path) -> None:
    """Texts of quotes are text: no formula, no markup, nothing that turns what follows around."""
    nasty = '=HYPERLINK("x")<script>a</script>\u202e'
    rows = [
        ("Quote date: 2026-11-10, USD",),
        ("Line", "Part Number", "Description", "Qty", "Unit Price", "Ext. Price"),
        (1, "BX-8-100", f"box {nasty}", 40, 250_000.0, 10_000_000.0),
        (2, "QK-1-PRO", "Quick 1", 4, 150_000.0, 600_000.0),
        (3, "ZZ-1", nasty, 1, 5_000.0, 5_000.0),
        ("", "", "Total", None, None, 1.0),
    ]
    path = xlsx(tmp_path / "a.xlsx", rows)
    problem = str(folder / "problem.yaml")
    words = ["quote", "bid", problem, str(path), "--vendor", f"a.xlsx=V{nasty}"]
    shown = ran(*words, "-o", str(tmp_path))
    assert shown.code == 0
    assert "\u202e" not in shown.out
    book = openpyxl.load_workbook(tmp_path / "problem.bids.xlsx")
    cells = [cell for sheet in book.worksheets for row in sheet.rows for cell in row]
    assert not [cell for cell in cells if cell.data_type == "f"]
    assert not [cell for cell in cells if "\u202e" in str(cell.value)]
    text = (tmp_path / "problem.bids.html").read_text("utf-8")
    assert "<script>a" not in text
    assert "\u202e" not in text
