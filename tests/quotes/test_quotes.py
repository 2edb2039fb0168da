"""Quotes of the shapes that vendors send: every figure from its cell, and what is wrong in them."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import openpyxl
import pytest
from typer.testing import CliRunner

from planner.case.figures import discount
from planner.cli import app
from planner.errors import InputError
from planner.loader import load
from planner.quotes import QuoteOptions, read_quote
from planner.quotes.cells import number
from planner.schema.bill import Quote, QuoteMap
from planner.schema.catalog import Item
from planner.schema.prices import Discount
from tests.bids.material import xlsx
from tests.world.files import FILES
from tests.world.solved import solve

TEN_PERCENT_OF_ALL = (Discount(discount="10 %", category="storage"),)


def item(name: str, model: str, part: str | None = None) -> Item:
    return Item.model_validate(
        {"id": name, "vendor": "V", "model": model, "category": "storage", "part_number": part}
    )


KNOWN = {
    one.id: one
    for one in (
        item("box_small", "Store Box 100", "SB-100-A"),
        item("box_turbo", "Store Box 100 Turbo", "SB-100-T"),
        item("leaf", "QM9700", "920-9B210-00FN-0M0"),
    )
}


def quoted(path: Path, mapping: dict[str, object] | None = None, **said: object) -> Quote:
    laid_out = QuoteMap.model_validate({"quote_map": "test"} | (mapping or {}))
    given = {"date": "2026-11-01", "currency": "USD"} | said
    return read_quote(path, QuoteOptions("V", laid_out, **given), KNOWN)  # type: ignore[arg-type]


HEAD = ["Line", "Part Number", "Description", "Qty", "Unit Price", "Ext. Price"]


def test_products_are_told_by_part_number_and_by_whole_names(tmp_path: Path) -> None:
    rows = [
        HEAD,
        [1, "SB100A", "a box", 2, 10.0, 20.0],
        [2, "", "V Store Box 100 Turbo, 250 TB", 1, 30.0, 30.0],
        [3, "", "a QM9700 920-9B210-00FN-0M0 switch", 4, 5.0, 20.0],
        [4, "ZZ-9", "Store Box 200", 1, 7.0, 7.0],
        ["", "", "Total", None, None, 77.0],
    ]
    quote = quoted(xlsx(tmp_path / "q.xlsx", rows))
    items = [(line.item, line.matched_by) for line in quote.lines if line.kind == "item"]
    assert items == [("box_small", "part_number"), ("box_turbo", "name"), ("leaf", "part_number"),
                     (None, None)]  # fmt: skip
    assert [(each.part_number, each.category) for each in quote.asked] == [("ZZ-9", None)]
    assert [each.agrees for each in quote.sums] == [True]
    assert not quote.findings
    assert {each.item: each.net_usd for each in quote.prices} == {
        "box_small": 10.0, "box_turbo": 30.0, "leaf": 5.0,
    }  # fmt: skip
    assert quote.lines[0].cells["amount"] == "Sheet!F2"


def test_wrong_products_and_totals_are_said_with_their_cells(tmp_path: Path) -> None:
    rows = [
        HEAD,
        [1, "SB-100-A", "box", 8, 12_000.0, 69_000.0],
        ["", "", "Grand total", None, None, 70_000.0],
    ]
    quote = quoted(xlsx(tmp_path / "q.xlsx", rows))
    assert quote.findings == (
        "Sheet!F3: 'Grand total' is 70,000.00, and the lines that were read come to 69,000.00",
        "Sheet!F2: box: 8 x 12,000.00 is 96,000.00, and 69,000.00 stands there",
    )


def test_two_header_rows_merged_heads_and_hidden_rows(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["Quote date", datetime.datetime(2026, 11, 2)])
    sheet.append(["Product", None, "Quantity", "Price (EUR)", None])
    sheet.append(["Number", "Text", None, "Unit", "Total"])
    sheet.merge_cells("A2:B2")
    sheet.merge_cells("D2:E2")
    sheet.append(["SB-100-A", "box", 2, 10.0, 20.0])
    sheet.append(["SB-100-T", "old box", 1, 30.0, 30.0])
    sheet.append([None, "Total", None, None, 20.0])
    sheet.row_dimensions[5].hidden = True
    book.save(tmp_path / "q.xlsx")
    quote = quoted(
        tmp_path / "q.xlsx", date=None, currency=None, rates={"EUR": 1.1},
        mapping={"columns": {"part": "Product Number", "description": "Product Text",
                             "quantity": "Quantity", "unit_net": "Price (EUR) Unit",
                             "amount": "Price (EUR) Total"}},
    )  # fmt: skip
    assert (quote.date, quote.currency) == ("2026-11-02", "EUR")
    assert [(line.item, line.kind, line.hidden) for line in quote.lines[:2]] == [
        ("box_small", "item", False), ("box_turbo", "option", True),
    ]  # fmt: skip
    assert quote.prices[0].net_usd == pytest.approx(11.0)
    assert any("row 5 is hidden" in finding for finding in quote.findings)
    assert quote.sums[0].agrees  # without the hidden row


def test_subtotals_hold_their_own_section_and_taxes_the_last_total(tmp_path: Path) -> None:
    rows = [
        HEAD,
        [1, "SB-100-A", "box", 1, 10.0, 10.0],
        ["", "", "Subtotal", None, None, 10.0],
        [2, "", "Installation", 1, 7.0, 7.0],
        [3, "", "Special discount", None, None, -2.0],
        ["", "", "Subtotal services", None, None, 5.0],
        ["", "", "VAT 20 %", None, None, 3.0],
        ["", "", "Total", None, None, 18.0],
    ]
    quote = quoted(xlsx(tmp_path / "q.xlsx", rows))
    assert [each.agrees for each in quote.sums] == [True, True, True]
    assert not quote.findings


def test_support_goes_to_the_item_it_stands_under(tmp_path: Path) -> None:
    rows = [
        [*HEAD, "Term (months)", "Lead Time"],
        [1, "SB-100-A", "box", 4, 100.0, 400.0, None, "8 - 12 weeks"],
        [1.1, "", "Support 24x7", 4, 30.0, 120.0, 36, None],
        [2, "SB-100-T", "box", 1, 100.0, 100.0, None, "6 weeks"],
        [2.1, "", "Warranty 2 years", 1, "incl.", "incl.", None, None],
        [3, "", "Maintenance", 1, 9.0, 9.0, None, None],
    ]
    small, turbo = quoted(xlsx(tmp_path / "q.xlsx", rows)).prices
    assert small.support_usd_per_year == pytest.approx(10.0)
    assert small.lead_time == "8-12 weeks"
    assert turbo.support_included_years == 2.0
    assert turbo.lead_time == "6 weeks"
    found = quoted(xlsx(tmp_path / "q.xlsx", rows)).findings
    assert any("support of box_turbo has no term" in each for each in found)


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [
        ("1,234.50", "point", 1234.5), ("1.234,50", "point", 1234.5), ("US$ 12", "point", 12.0),
        ("(1,200.00)", "point", -1200.0), ("1'234.5", "point", 1234.5),
        ("1 234,5", "comma", 1234.5),
        ("1.200,-", "comma", 1200.0), ("15 %", "point", 15.0), ("-3", "point", -3.0),
        ("1.234", "comma", 1234.0), ("1.234", "point", 1.234), ("2 boxes", "point", None),
        ("", "point", None), ("1.2.3", "comma", 123.0), ("€", "point", None),
    ],
)  # fmt: skip
def test_numbers(text: str, decimal: str, value: float | None) -> None:
    assert number(text, decimal) == value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "said", "words"),
    [
        ([["hello"]], {}, "no table of a quote was found"),
        ([HEAD, [1, "a", "b", 1, 1.0, 1.0]], {"currency": None}, "names no currency"),
        ([HEAD, [1, "a", "b", 1, 1.0, 1.0]], {"currency": "EUR"}, "no rate is given; say what one"),
        (
            [HEAD, [1, "a", "b", 1, 1.0, 1.0]],
            {"date": None},
            "no clear date of the quote in the file; say it: --date",
        ),
        ([HEAD], {"mapping": {"columns": {"part": "Teil"}}}, "no row has the columns"),
    ],
)
def test_what_cannot_be_known_is_asked_for(
    tmp_path: Path, rows: list[list[object]], said: dict[str, object], words: str
) -> None:
    with pytest.raises(InputError) as caught:
        quoted(xlsx(tmp_path / "q.xlsx", rows), **said)  # type: ignore[arg-type]
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "raw", "words"),
    [
        ("q.docx", b"PK", "no kind of quote"),
        ("q.xlsx", b"no zip", "no .xlsx workbook"),
        ("q.csv", b"", "the file is empty"),
        ("q.csv", b"x" * 200_000, "cannot be read as rows: field larger"),
    ],
)
def test_files_that_are_none(tmp_path: Path, name: str, raw: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(InputError) as caught:
        quoted(tmp_path / name)
    assert words in str(caught.value)


def test_from_a_quote_to_a_plan(tmp_path: Path) -> None:
    """The files that an import writes are what a problem takes."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    problem, book = tmp_path / "problem.yaml", tmp_path / "book.yaml"
    yearly = "    list: 200000 USD\n    support_per_year: 8 %\n"
    yearly += "    support_source: quote\n    support_confidence: low\n    per_year: 4000 USD\n"
    book.write_text(book.read_text("utf-8").replace("    list: 200000 USD\n", yearly), "utf-8")
    inputs = load(problem)
    storage = next(each for each in inputs.items if each.category == "storage")
    (tmp_path / "map.yaml").write_text(
        f'quote_map: of this test\nitems: {{"THE-BOX": {storage.id}}}\n', "utf-8"
    )
    rows = [
        ["Quote Date: 2026-11-05"],
        ["Valid until 2026-12-05"],
        HEAD,
        [1, "THE-BOX", "a box", 2, "$123,456.00", "$246,912.00"],
        [2, "NEW-1", "Storage appliance of tomorrow", 1, "$5.00", "$5.00"],
        [3, "", "Project discount", None, None, "-$1,917.00"],
        ["", "", "Total", None, None, "$245,000.00"],
    ]
    xlsx(tmp_path / "acme.xlsx", rows)
    mapped = str(tmp_path / "map.yaml")
    words = ["quote", "import", str(tmp_path / "acme.xlsx"), "--vendor", "ACME", "--map", mapped]
    words += ["--problem", str(problem), "-o", str(tmp_path)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "1 of 1 totals agree with the lines" in result.output
    said = " ".join(result.output.split())
    assert "Sheet!F6: Project discount, -1,917.00 USD, is taken off no price of the book" in said
    assert "is far from" not in said  # the book's 200,000 is less than three times as much
    text = problem.read_text("utf-8")
    problem.write_text(text.replace("  - book.yaml\n", "  - book.yaml\n  - acme.prices.yaml\n"))
    again = load(problem)
    assert again.prices[storage.id].list_usd == 123_456.0
    assert again.prices[storage.id].valid_until == "2026-12-05"
    # what it does not quote is not free: it stays as in the book that it is laid over
    for name in ("support_per_year", "support_confidence", "per_year_usd"):
        assert getattr(again.prices[storage.id], name) == getattr(inputs.prices[storage.id], name)
    assert again.prices[storage.id].per_year_usd == 4_000.0
    assert discount(storage, (*again.discounts, *TEN_PERCENT_OF_ALL)) == 0.0
    assert solve(problem).status == "optimal"
    kept = json.loads((tmp_path / "acme.quote.json").read_text("utf-8"))
    assert kept["lines"][0]["cells"]["unit_net"] == "Sheet!E4"
    assert "NEW-1" in (tmp_path / "acme.catalog.yaml").read_text("utf-8")
    # the mapping that it wrote reads the next one in the same way
    words[words.index("--map") + 1] = str(tmp_path / "acme.map.yaml")
    assert CliRunner().invoke(app, [*words, "--json"]).output.count('"matched_by": "mapping"') == 1


TIERS: list[list[object]] = [
    ["Quotation", "Date", "2026-10-02"],
    ["Item", "Part number", "Description", "Qty from", "Qty to", "Unit price USD"],
    [1, "GB-8", "Box 8", 1, 15, 515_000],
    [2, "GB-8", "Box 8", 16, 63, 498_000],
    [3, "GB-8", "Box 8", 64, None, 472_000],
]  # fmt: skip


def test_price_breaks_take_the_price_of_the_quantity(tmp_path: Path) -> None:
    """None of three prices is picked by itself; of 15, 16, 63 and 64 units each has its own."""
    path = xlsx(tmp_path / "tiers.xlsx", TIERS)
    asked = quoted(path)
    assert asked.prices == ()
    assert [line.kind for line in asked.lines] == ["not_understood"] * 3
    assert all("quantities: {GB-8: ...}" in " ".join(line.remarks) for line in asked.lines)
    for many, row, price in ((15, 3, 515e3), (16, 4, 498e3), (63, 4, 498e3), (64, 5, 472e3)):
        quote = quoted(path, mapping={"quantities": {"GB-8": many}})
        (line,) = [line for line in quote.lines if line.kind == "item"]
        assert (line.quantity, line.unit_net, line.amount) == (many, price, many * price)
        assert line.cells["unit_net"] == f"Sheet!F{row}"
        assert "quantity" not in line.cells  # it stands in no cell
