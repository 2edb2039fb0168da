"""Layouts from public reports that were read wrongly: each with the figures it should give."""

from __future__ import annotations

import datetime
from pathlib import Path

import openpyxl
import pytest
from xlsxwriter import Workbook

from planner import shipped
from planner.errors import InputError
from planner.loader.catalogs import load_catalogs
from planner.quotes import QuoteOptions, read_quote
from planner.schema.bill import Quote, QuoteMap

ITEMS = load_catalogs(list(shipped.catalog_files().values())).items
HEAD = "Quote date: 2026-11-02\nCurrency: USD\n"
COLUMNS = "Part Number,Description,Qty,Unit Price,Total\n"


def quoted(path: Path, text: str = "", **options: object) -> Quote:
    if text:
        path.write_text(text, encoding="utf-8")
    laid_out = QuoteMap.model_validate({"quote_map": "test", **options.pop("mapping", {})})  # type: ignore[dict-item]
    return read_quote(path, QuoteOptions("V", laid_out, **options), ITEMS)  # type: ignore[arg-type]


def kinds(quote: Quote) -> dict[str, int]:
    return {kind: sum(line.kind == kind for line in quote.lines)
            for kind in dict.fromkeys(line.kind for line in quote.lines)}  # fmt: skip


@pytest.mark.parametrize(
    "contract",
    ["CON-SNT-N9336,SNTC-8X5XNBD Nexus 9336C-FX2", ",Tech Care for Nexus 9336C-FX2",
     ",Nexus 9336C-FX2 ProSupport Plus", "X-1,Nexus 9336C-FX2 Premium coverage"],
)  # fmt: skip
def test_care_contract_is_support_of_its_product(tmp_path: Path, contract: str) -> None:
    text = (
        f"{HEAD}Part Number,Description,Service Duration (Months),Qty,Unit Net Price,Net Price\n"
        "N9K-C9336C-FX2,Nexus 9336C-FX2 switch,---,4,18000,72000\n"
        f"{contract},36,4,6000,24000\n,Total Price,,,,96000\n"
    )
    (price,) = quoted(tmp_path / "q.csv", text).prices
    assert (price.item, price.net_usd) == ("cisco_9336c_fx2", 18_000.0)
    assert price.support_usd_per_year == pytest.approx(2_000.0)


@pytest.mark.parametrize(
    ("price", "total", "currency", "unit"),
    [("145 000,00 zł", "870 000,00 zł", "PLN", 145_000.0),
     ("345 000,00 kr", "2 070 000,00 kr", "SEK", 345_000.0),
     ("Fr. 33'500.–", "Fr. 201'000.–", "CHF", 33_500.0),
     ("33 500,- Kč", "201 000,- Kč", "CZK", 33_500.0),
     ("Rs. 33500.00", "Rs. 201000.00", "INR", 33_500.0)],
)  # fmt: skip
def test_currency_signs(tmp_path: Path, price: str, total: str, currency: str, unit: float) -> None:
    text = (
        "Quote date: 2026-11-02;;;;\nPart Number;Description;Qty;Unit Price;Total\n"
        f"920-9B210-00FN-0M0;QM9700;6;{price};{total}\n;Total;;;{total}\n"
    )
    quote = quoted(tmp_path / "q.csv", text, currency=currency, rates={currency: 1.0})
    assert quote.prices[0].net_usd == unit
    assert [each.agrees for each in quote.sums] == [True]


@pytest.mark.parametrize(
    "label", ["Customer discount (10%)", "Less: loyalty discount", "Your saving", "Goodwill"]
)
def test_discount_by_any_name(tmp_path: Path, label: str) -> None:
    text = f"{HEAD}{COLUMNS},DGX B200,2,400000,800000\n,{label},,,-80000\n,Total,,,720000\n"
    quote = quoted(tmp_path / "q.csv", text)
    assert kinds(quote) == {"item": 1, "discount": 1, "total": 1}
    assert quote.sums[0].agrees


def test_price_breaks_with_extended_prices_need_a_quantity(tmp_path: Path) -> None:
    text = (
        f"{HEAD}Part Number,Description,Price Break,Unit Price,Extended Price\n"
        "920-9B210-00FN-0M0,QM9700,1,36000,36000\n920-9B210-00FN-0M0,QM9700,10,33000,330000\n"
        "920-9B210-00FN-0M0,QM9700,100,31000,3100000\n"
    )
    asked = quoted(tmp_path / "q.csv", text)
    assert not asked.prices
    assert any("quantities: {920-9B210-00FN-0M0" in each for each in asked.findings)
    mapping = {"quantities": {"920-9B210-00FN-0M0": 32}}
    (price,) = quoted(tmp_path / "q.csv", mapping=mapping).prices
    assert (price.quantity, price.net_usd) == (32, 33_000.0)


@pytest.mark.parametrize(
    "label", ["Installation Total", "Service Total", "Professional Services Total",
              "Total Installation", "Installations subtotal"],
)  # fmt: skip
def test_subtotal_of_a_service_is_no_service(tmp_path: Path, label: str) -> None:
    text = (
        f"{HEAD}{COLUMNS},DGX B200,4,450000,1800000\n,Installation,1,50000,50000\n"
        f",{label},,,50000\n,Total,,,1850000\n"
    )
    quote = quoted(tmp_path / "q.csv", text)
    assert kinds(quote) == {"item": 1, "service": 1, "subtotal": 1, "total": 1}
    assert [each.agrees for each in quote.sums] == [True, True]


@pytest.mark.parametrize(
    ("header", "term", "per_year"),
    [("Term (months)", 6, 60_000.0), ("Term (years)", 12, 2_500.0), ("Term", 36, 10_000.0)],
)
def test_unit_of_a_term_is_its_headers(
    tmp_path: Path, header: str, term: int, per_year: float
) -> None:
    text = (
        f"{HEAD}Part Number,Description,Qty,Unit Price,{header},Total\n"
        f",DGX B200,4,450000,,1800000\n,Support for DGX B200,4,30000,{term},120000\n"
    )
    (price,) = quoted(tmp_path / "q.csv", text).prices
    assert price.support_usd_per_year == pytest.approx(per_year)


def test_formulas_stored_with_zero_are_quantity_times_price(tmp_path: Path) -> None:
    path = tmp_path / "q.xlsx"
    book = Workbook(str(path))
    sheet = book.add_worksheet("Offer")
    rows = ["Quote date: 2026-11-02"], ["Part Number", "Description", "Qty", "Unit Price", "Total"]
    for number, row in enumerate((*rows, ["", "DGX B200", 400, 450_000])):
        sheet.write_row(number, 0, row)
    sheet.write_formula("E3", "=C3*D3")  # stored with the value 0
    sheet.write_formula("D4", "=0.5*9000")
    sheet.write_row("B4", ["WEKApod Nitro 155", 9])
    book.close()
    quote = quoted(path, currency="USD")
    assert [(each.item, each.net_usd) for each in quote.prices] == [("nvidia_dgx_b200", 450_000.0)]
    assert kinds(quote) == {"item": 1, "not_understood": 1}


def test_reason_of_an_unread_line(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["Part Number", "Description", "Qty", "Unit Price", "Total"])
    sheet.append(["", "DGX B200", datetime.date(2026, 4, 3), 400_000.0, 1_600_000.0])
    book.save(tmp_path / "q.xlsx")
    (found,) = [
        each for each in quoted(tmp_path / "q.xlsx", currency="USD", date="2026-11-02").findings
        if "not understood" in each
    ]  # fmt: skip
    assert "is no quantity" in found
    text = f"{HEAD}{COLUMNS},DGX B200, 8 GPUs,4,450000,1800000\n,DGX H200,,,300000\n"
    findings = " ".join(quoted(tmp_path / "q.csv", text).findings)
    assert "more cells than the header" in findings
    assert "no quantity" in findings


def test_file_longer_than_is_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="more than 20,000 rows"):
        quoted(tmp_path / "q.csv", HEAD + COLUMNS + ",Spacer,1,1,1\n" * 20_001)


@pytest.mark.parametrize(
    ("text", "item"),
    [("MQM9700-NS2F NDR switch", "nvidia_qm9700"), ("quantum 2 qm-9700", "nvidia_qm9700"),
     ("AI400X2T", "ddn_ai400x2_turbo"), ("DDN AI400X2 Turbo 500TB", "ddn_ai400x2_turbo"),
     ("AI400X2 500 TB", "ddn_ai400x2_500tb"), ("AI400X2, 250 TB", "ddn_ai400x2"),
     ("MSN5600-CS2FC", "nvidia_sn5600"), ("SN2201", "nvidia_sn2201"),
     ("Power cord for SN2201", None), ("MQM9790-NS2F", None), ("Store 500 TB", None)],
)  # fmt: skip
def test_product_by_description_and_sku(tmp_path: Path, text: str, item: str | None) -> None:
    quote = quoted(tmp_path / "q.csv", f'{HEAD}{COLUMNS},"{text}",2,1000,2000\n')
    assert quote.lines[0].item == item


def test_option_without_a_quantity_that_the_total_holds_has_no_price(tmp_path: Path) -> None:
    text = f"{HEAD}{COLUMNS},DGX B200,option,450000,1800000\n,Total,,,1800000\n"
    quote = quoted(tmp_path / "q.csv", text)
    assert quote.prices == ()
    assert kinds(quote) == {"item": 1, "total": 1}
