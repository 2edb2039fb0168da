"""`planner bid` as it is used: its screen, its files, and what it says of wrong input."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from planner.quotes.answers import QUESTIONS
from planner.schema.bill import Bids
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
    assert all(f"\n{label} " in done.out for label in ("Next", "Mix", "Robustness"))
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
    many = [str(plain(tmp_path / f"b{n}.xlsx", ("BX-8-100", 1, 1.0))) for n in range(27)]
    assert "27 bids, and 26 are compared at most" in wrong(folder, problem, *many)


def test_a_bid_may_have_a_product_of_no_catalog(folder: Path, tmp_path: Path) -> None:
    """The request goes out, is filled in, and is planned with what the vendor tells of it."""
    problem = str(folder / "problem.yaml")
    assert ran("quote", "rfq", problem, "-o", str(tmp_path)).code == 0
    path = tmp_path / "problem.rfq.xlsx"
    book = openpyxl.load_workbook(path)
    quote, products = book["Quote"], book["Products"]
    quote["C2"], quote["C4"] = "5 Nov 2026", "USD"
    rows = {str(quote.cell(row, 1).value): row for row in range(7, 60)}
    at = next(row for text, row in rows.items() if text.endswith("Storage")) + 1
    heads = {quote.cell(6, column).value: column for column in range(1, 20)}
    line = {"Line": "2.1", "Part Number": "F7", "Description": "Fast storage appliance", "Qty": 2,
            "Unit Net Price": 80_000, "Ext. Net Price": 160_000}  # fmt: skip
    for label, value in line.items():
        quote.cell(at, heads[label]).value = value
    total = next(row for row in range(7, 60) if quote.cell(row, 3).value == "Total")
    quote.cell(total, heads["Ext. Net Price"]).value = 160_000
    told = {"Part Number": "F7", "Model": "Fast 7", "Category": "storage", "Power max kW": 2.5,
            "Rack Units": 2, "Read GB/s": 120, "Write GB/s": 90, "Usable TB": 400,
            "Ports": "4 x 200 Gb/s storage"}  # fmt: skip
    for column, question in enumerate(QUESTIONS, 1):
        products.cell(2, column).value = told.get(question.label)
    answer = tmp_path / "fast.xlsx"
    book.save(answer)
    bids = (str(answer), str(folder / "anvil.xlsx"))
    shown = ran("quote", "bid", problem, *bids, "-o", str(tmp_path))
    assert shown.code == 0
    assert "it is planned with the figures that its vendor states" in " ".join(shown.out.split())
    found = Bids.model_validate_json((tmp_path / "problem.bids.json").read_text("utf-8"))
    fast = next(line for line in found.bids[0].lines if line.section == "Storage")
    assert (fast.sku, fast.needed, fast.usd) == ("fast_f7", 2, 160_000.0)
    products.cell(2, [q.label for q in QUESTIONS].index("Usable TB") + 1).value = None
    book.save(answer)
    shown = ran("quote", "bid", problem, str(answer))
    assert shown.code == 3
    assert "which has to tell provides.usable" in " ".join(shown.out.split())


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
