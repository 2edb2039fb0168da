"""Five quotes laid out as vendors do it, each with something that was once read wrongly."""

from __future__ import annotations

import datetime
from collections import Counter
from pathlib import Path

import openpyxl
import pytest
from xlsxwriter import Workbook

from planner import shipped
from planner.errors import InputError
from planner.loader.catalogs import load_catalogs
from planner.quotes import QuoteOptions, read_quote
from planner.quotes.cells import currency_of, is_multiple
from planner.quotes.products import lead_time
from planner.schema.bill import Quote, QuoteMap
from tests.bids.material import xlsx

Rows = list[list[object]]
ITEMS = load_catalogs(list(shipped.catalog_files().values())).items
SYSTEM, SWITCH, STORE = "nvidia_dgx_b200", "nvidia_qm9700", "vast_ceres_4cn_2x3015"
HEAD = "Quote date: 2026-11-02\nCurrency: USD\n"
COLUMNS = "Part Number,Description,Qty,Unit Price,Total\n"


def quoted(path: Path, text: str = "", **said: object) -> Quote:
    """Return a quote as it is read, its text written first where one is given."""
    if text:
        path.write_text(text, encoding="utf-8")
    laid_out = QuoteMap.model_validate({"quote_map": "test"})
    rates = {"EUR": 1.08, "CHF": 1.12} | said.pop("rates", {})  # type: ignore[operator]
    return read_quote(path, QuoteOptions("V", laid_out, rates=rates, **said), ITEMS)  # type: ignore[arg-type]


def kinds(quote: Quote) -> dict[str, int]:
    return dict(Counter(line.kind for line in quote.lines))


def net_of(quote: Quote) -> dict[str, float]:
    return {price.item: price.net_usd for price in quote.prices}


def agreed(quote: Quote) -> dict[str, bool]:
    return {each.label: each.agrees for each in quote.sums}


def test_a_configurator_with_a_cover_days_and_percent_without_a_sign(tmp_path: Path) -> None:
    """0.5 among percents is 0.5 %, 84 days are 12 weeks; totals are of products and services."""
    cover: Rows = [["Quote Date", "11/17/2026"], ["All prices in US Dollars (USD)"], [],
                   ["Category", "", "", "List Price", "Discount", "Net Price"],
                   ["Hardware", None, None, None, None, 15_520_250.0]]  # fmt: skip
    book = openpyxl.load_workbook(xlsx(tmp_path / "q.xlsx", cover))
    detail = book.create_sheet("Configuration Detail")
    for row in (
        ["Config Name: POD 33"],
        ["Line Number", "Part Number", "Product Description", "Service Duration (Months)",
         "Est. Lead Time (Days)", "Unit List Price", "Qty", "Disc (%)", "Unit Net Price",
         "Extended Net Price"],
        ["1.0", "DGXB-G1440+P1CMI36", "DGX B200 System", "---", 84, 515_000, 33, 13.0, 448_050,
         14_785_650],
        ["1.0.1", "SUP-36", "Business Support, 36 months", 36, "---", 92_000, 33, 10.0, 82_800,
         2_732_400],
        ["2.0", "920-9B210-00FN-0M0", "NDR switch", "---", "70-80", 39_500, 24, 22.5, 30_612.5,
         734_700],
        ["3.0", "V-1", "VAST Data 4 CNodes + 2 x DF-3015", "---", "---", 560_000, 1, 0.5, 557_200,
         557_200],
        [None] * 8 + ["Product Total", 16_077_550],
        [None] * 8 + ["Service Total", 2_732_400],
        [None] * 8 + ["Total Price", 18_809_950],
    ):  # fmt: skip
        detail.append(row)
    book.save(tmp_path / "q.xlsx")
    quote = quoted(tmp_path / "q.xlsx")
    assert (quote.date, quote.currency) == ("2026-11-17", "USD")
    assert net_of(quote) == {SYSTEM: 448_050.0, SWITCH: 30_612.5, STORE: 557_200.0}
    assert agreed(quote) == {"Product Total": True, "Service Total": True, "Total Price": True}
    assert quote.findings == ()
    told = {price.item: price.lead_time for price in quote.prices}
    assert told == {SYSTEM: "12 weeks", SWITCH: "10-12 weeks", STORE: None}
    assert [line.discount for line in quote.lines if line.item == STORE] == [0.005]
    detail["I3"], detail["J3"] = 450_000, 14_850_000
    book.save(tmp_path / "other.xlsx")
    wrong = quoted(tmp_path / "other.xlsx").findings
    assert any(
        "515,000.00 less 13 % is 448,050.00, and 450,000.00 stands there" in w for w in wrong
    )
    assert any("'Product Total' is 16,077,550.00" in text for text in wrong)


def test_german_offer_with_discounts_and_carried_sums(tmp_path: Path) -> None:
    """The price of a unit stands before its discount: only so the lines multiply out."""
    text = """Angebotsdatum: 18.11.2026
Pos.;Menge;ME;Artikel-Nr.;Bezeichnung;Einzelpreis €;Rabatt %;Gesamtpreis €
;;;;Los 1: Rechensysteme;;;
10;34;Stk;DGXB-G1440+P1CMI36;NVIDIA DGX B200;432.000,00;8,5;13.439.520,00
;;;;Lieferzeit ca. 14 Wochen;;;
;;;;Zwischensumme Los 1;;;13.439.520,00
;;;;Übertrag;;;13.439.520,00
30;24;Stk;920-9B210-00FN-0M0;Quantum-2 QM9700;33.100,00;12,5;695.100,00
50;1;Stk;;VAST Data 4 CNodes + 2 x DF-3015;498.000,00;0;498.000,00
50a;1;Stk;;Alternativ: VAST Data 6 CNodes + 2 x DF-3015 (nicht in der Summe);612.000,00;0;612.000,00
60;1;psch;;Lieferung frei Verwendungsstelle;85.000,00;0;85.000,00
;;;;Gesamtsumme netto;;;14.717.620,00
;;;;zzgl. 19 % MwSt.;;;2.796.347,80
;;;;Gesamtsumme brutto;;;17.513.967,80
"""
    path = tmp_path / "q.csv"
    path.write_text(text.replace("\n", "\r\n"), "cp1252")
    quote = quoted(path)
    assert (quote.currency, quote.date) == ("EUR", "2026-11-18")
    assert net_of(quote) == pytest.approx(
        {SYSTEM: 395_280 * 1.08, SWITCH: 28_962.5 * 1.08, STORE: 498_000 * 1.08}
    )
    assert set(agreed(quote).values()) == {True} and len(quote.sums) == 4
    assert quote.findings == ()
    first = next(line for line in quote.lines if line.item == SYSTEM)
    assert (first.unit_list, first.discount) == (432_000.0, 0.085)
    assert (first.cells["unit_list"], first.cells["part"]) == ("F4", "D4")
    assert [kinds(quote)[each] for each in ("option", "tax", "freight")] == [1, 1, 1]
    path.write_text("Menge;Bezeichnung;Einzelpreis €;Rabatt %\n2;Kiste;100,00;5\n", "cp1252")
    said = quoted(path, date="2026-11-18").findings
    assert any("100.00 is taken as the price after 5 % off" in each for each in said)


def test_a_swiss_file_with_a_bundle_and_a_total_that_is_wrong(tmp_path: Path) -> None:
    text = """"Alpen AG","Datum","2026-11-19"
"Pos","Anz.","Beschreibung","Preis/Stück CHF","Total CHF"
"1","4","GPU Rack Bundle (8 x DGX B200)
fully cabled","3'360'000.00","13'440'000.00"
"1.1","32","DGX B200 [DGXB-G1440+P1CMI36]","inkl.","inkl."
"2","1","DGX B200 [DGXB-G1440+P1CMI36]","418'000.00","418'000.00"
"3","1","VAST Data 4 CNodes + 2 x DF-3015","455'000.00","455'000.00"
"4","1","Speicher-Wartung 4 Jahre","96'000.00","96'000.00"
"","","Skonto 2%","","-288'180.00"
"","","Total exkl. MWST","","14'130'820.00"
"""
    path = tmp_path / "q.csv"
    path.write_text(text, "utf-8-sig")
    quote = quoted(path)
    assert net_of(quote) == pytest.approx({SYSTEM: 418_000 * 1.12, STORE: 455_000 * 1.12})
    assert [line.amount for line in quote.lines if line.kind == "discount"] == [-288_180.0]
    assert [line.quantity for line in quote.lines if line.kind == "included"] == [32.0]
    stated = "E9: 'Total exkl. MWST' is 14,130,820.00, and the lines that were read come to "
    assert f"{stated}14,120,820.00" in quote.findings
    support = next(price for price in quote.prices if price.item == STORE)
    assert support.support_usd_per_year == pytest.approx(24_000 * 1.12)


@pytest.mark.parametrize(
    ("text", "multiple", "currency"),
    [
        ("Price (k€)", True, "EUR"), ("USD '000", True, "USD"), ("Betrag (Mio. CHF)", True, "CHF"),
        ("Rank", False, None), ("Price, MEUROPE", False, None), ("Unit price (CA$)", False, "CAD"),
        ("A$ 4,000", False, "AUD"), ("NT$ 9", False, "TWD"), ("US$", False, "USD"),
        ("S$", False, "SGD"), ("PRICES$", False, "USD"), ("AED", False, "AED"),
    ],
)  # fmt: skip
def test_currencies_and_multiples_in_words(text: str, multiple: bool, currency: str | None) -> None:
    """Not every dollar is that of the United States."""
    assert (is_multiple(text), currency_of(text)) == (multiple, currency)


@pytest.mark.parametrize("note", [["Prices in k€"], ["Amounts in thousands of USD"]])
def test_amounts_in_thousands_are_refused(tmp_path: Path, note: list[object]) -> None:
    with pytest.raises(InputError, match="in thousands or millions; write them in full"):
        read_rows(tmp_path, offer(note))


@pytest.mark.parametrize(
    ("text", "weeks"),
    [
        ("84 days", "12 weeks"), ("30-45 Tage", "5-7 weeks"), ("18 bis 22 Wochen", "18-22 weeks"),
        ("90 calendar days", "13 weeks"), ("20 business days", None), ("12", "12 weeks"),
    ],
)  # fmt: skip
def test_times_to_deliver(text: str, weeks: str | None) -> None:
    assert lead_time(text) == weeks


PRICED: list[object] = ["Part Number", "Description", "Qty", "Unit Price", "Amount", "Lead time"]


def offer(*above: list[object], rows: Rows | None = None) -> Rows:
    """Return a quote in USD of one system, below what else it says."""
    one: list[object] = ["DGXB-G1440+P1CMI36", "DGX B200", 10, 400_000, 4_000_000, "8 weeks"]
    return [["Quote date", "2026-11-02"], *above, PRICED, *([one] if rows is None else rows)]


def read_rows(tmp_path: Path, rows: Rows, **said: object) -> Quote:
    return quoted(xlsx(tmp_path / "quote.xlsx", rows), **({"currency": "USD"} | said))


def test_formulas_that_no_program_worked_out_are_no_prices(tmp_path: Path) -> None:
    """The list price would be taken for the net price: what stands in its cell is not seen."""
    rows: Rows = [
        ["Part Number", "Description", "Qty", "List Price", "Net Price", "Amount"],
        ["DGXB-G1440+P1CMI36", "DGX B200", 10, 500_000, "=D2*0.8", "=C2*E2"],
        ["920-9B210-00FN-0M0", "Switch", 2, 40_000, 30_000, "=C3*E3"],
        [None, None, None, None, None, "=C4*E4"],
    ]
    quote = read_rows(tmp_path, rows, date="2026-11-02")
    assert net_of(quote) == {SWITCH: 30_000.0}
    said = "Sheet!B2: not understood: 'DGX B200': 'a formula without a value' is no unit net"
    assert said in " ".join(quote.findings)
    assert "row 4" not in " ".join(quote.findings)


@pytest.mark.parametrize(
    ("above", "day"),
    [
        (["Valid until", "2026-11-30"], "2026-11-30"),
        (["This offer is valid for 30 days"], "2026-12-02"),
        (["Quote expires on 15 December 2026"], "2026-12-15"),
        (["Angebot gültig bis 31.12.2026"], "2026-12-31"),
        (["Validity:", "6 weeks"], "2026-12-14"),
        (["A valid licence is needed"], ""),
    ],
)
def test_until_when_prices_hold(tmp_path: Path, above: list[object], day: str) -> None:
    quote = read_rows(tmp_path, offer(above))
    assert quote.valid_until == day
    assert not [each for each in quote.findings if "until when" in each]


def test_prices_with_tax_are_said_and_a_total_with_tax_is_none(tmp_path: Path) -> None:
    quote = read_rows(tmp_path, offer(["All prices incl. 19 % VAT"]))
    assert "with the tax in them" in " ".join(quote.findings)
    system: list[object] = ["DGXB-G1440+P1CMI36", "DGX B200", 10, 400_000, 4_000_000]
    taxed: Rows = [
        system,
        [None, "VAT", None, None, 760_000],
        [None, "Total incl. VAT", None, None, 4_760_000],
    ]
    assert "tax" not in " ".join(read_rows(tmp_path, offer(rows=taxed)).findings)


def test_a_lease_is_no_price_to_buy_at(tmp_path: Path) -> None:
    rent: list[object] = ["DGXB-G1440+P1CMI36", "DGX B200, monthly rental", 10, 11_000, 110_000]
    quote = read_rows(tmp_path, offer(rows=[rent]))
    assert quote.prices == ()
    assert "no price at which it is bought" in " ".join(quote.findings)


# Layouts from public reports that were read wrongly: each with the figures it should give.


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
    [
        ("145 000,00 zł", "870 000,00 zł", "PLN", 145_000.0),
        ("345 000,00 kr", "2 070 000,00 kr", "SEK", 345_000.0),
        ("Fr. 33'500.–", "Fr. 201'000.–", "CHF", 33_500.0),
        ("33 500,- Kč", "201 000,- Kč", "CZK", 33_500.0),
        ("Rs. 33500.00", "Rs. 201000.00", "INR", 33_500.0),
    ],
)
def test_currency_signs(tmp_path: Path, price: str, total: str, currency: str, unit: float) -> None:
    text = (
        "Quote date: 2026-11-02;;;;\nPart Number;Description;Qty;Unit Price;Total\n"
        f"920-9B210-00FN-0M0;QM9700;6;{price};{total}\n;Total;;;{total}\n"
    )
    quote = quoted(tmp_path / "q.csv", text, currency=currency, rates={currency: 1.0})
    assert quote.prices[0].net_usd == unit
    assert [each.agrees for each in quote.sums] == [True]


@pytest.mark.parametrize(
    ("label", "amount", "kind"),
    [("Customer discount (10%)", -50_000, "discount"),
     ("Less: loyalty discount", -50_000, "discount"), ("Your saving", -50_000, "discount"),
     ("Goodwill", -50_000, "discount"), ("Installation Total", 50_000, "subtotal"),
     ("Service Total", 50_000, "subtotal"), ("Professional Services Total", 50_000, "subtotal"),
     ("Nettosumme", 1_850_000, "total"), ("Amount due", 1_850_000, "total"),
     ("Total Installation", 50_000, "subtotal"), ("Installations subtotal", 50_000, "subtotal")],
)  # fmt: skip
def test_kind_of_a_line_by_its_label(tmp_path: Path, label: str, amount: int, kind: str) -> None:
    """A subtotal of a service is no service; a discount has any name."""
    total = 1_850_000 + min(amount, 0)
    text = (
        f"{HEAD}{COLUMNS},DGX B200,4,450000,1800000\n,Installation,1,50000,50000\n"
        f",{label},,,{amount}\n,Total,,,{total}\n"
    )
    quote = quoted(tmp_path / "q.csv", text)
    assert kinds(quote) == Counter(["item", "service", kind, "total"])
    assert all(each.agrees for each in quote.sums)


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
    dated: list[object] = ["", "DGX B200", datetime.date(2026, 4, 3), 400_000.0, 1_600_000.0]
    found = [
        each
        for each in read_rows(tmp_path, offer(rows=[dated])).findings
        if "not understood" in each
    ]
    assert "is no quantity" in " ".join(found)
    text = f"{HEAD}{COLUMNS},DGX B200, 8 GPUs,4,450000,1800000\n,DGX H200,,,300000\n"
    text += ",Spacer,8,12000,69000\n"
    findings = " ".join(quoted(tmp_path / "q.csv", text).findings)
    assert "more cells than the header" in findings
    assert "no quantity" in findings
    assert "8 x 12,000.00 is 96,000.00, and 69,000.00 stands there" in findings


def test_file_longer_than_is_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="more than 20,000 rows"):
        quoted(tmp_path / "q.csv", HEAD + COLUMNS + ",Spacer,1,1,1\n" * 20_001)


@pytest.mark.parametrize(
    ("header", "above"),
    [
        ("Part,Description,Qty,Unit Price,Total", "Currency,USD"),
        ("SKU,Product,Q'ty,Price,Total", "Prices in US Dollars"),
        ("Material Number,Nomenclature,Qty,Unit price USD,Price USD", ""),
        ("Artikel,Material Description,Menge,E-Preis,G-Preis", "$"),
        ("Part,Description,Qty,Unit,Total USD", ""),
    ],
)
def test_words_of_a_header(tmp_path: Path, header: str, above: str) -> None:
    text = f"Quote date: 2026-11-02\n{above}\n{header}\nQM9700,NDR switch,2,30000,60000\n"
    quote = quoted(tmp_path / "q.csv", f"{text},Sum,,,60000\n")
    assert net_of(quote) == {SWITCH: 30_000.0}
    assert agreed(quote) == {"Sum": True}


@pytest.mark.parametrize(
    "service",
    ["SupportEdge Advisor 36M", "3Yr Premier 24x7 4Hr Resp", "Keep your drive 3 years, DGX B200"],
)
def test_service_without_a_word_for_support(tmp_path: Path, service: str) -> None:
    text = f'{HEAD}{COLUMNS},DGX B200,4,400000,1600000\n,"{service}",4,30000,120000\n'
    (price,) = quoted(tmp_path / "q.csv", text).prices
    assert (price.net_usd, price.support_usd_per_year) == (400_000.0, pytest.approx(10_000.0))


def test_support_is_of_the_product_that_it_names(tmp_path: Path) -> None:
    """Support of all systems, at the end of a quote, was that of the switch above it."""
    text = f"{HEAD}{COLUMNS},DGX B200,4,400000,1600000\n,QM9700,2,30000,60000\n"
    text += ",incl. 2 years support,,,\n"  # a remark on the price above
    found = quoted(tmp_path / "q.csv", f"{text},Support DGX B200 3 years,4,30000,120000\n").prices
    yearly = {price.item: price.support_usd_per_year for price in found}
    assert yearly == {"nvidia_dgx_b200": pytest.approx(10_000.0), SWITCH: None}
    assert {price.support_included_years for price in found} == {None, 2.0}


def test_total_that_was_never_computed_is_no_unread_line(tmp_path: Path) -> None:
    rows: Rows = [
        [None, "QM9700", 2, 30_000, "=C4*D4", None],
        [None, "Total", None, None, "=E4", None],
    ]
    quote = read_rows(tmp_path, offer(rows=rows))
    assert kinds(quote) == {"item": 1, "total": 1}
    assert "no total to compare" in " ".join(quote.findings)


@pytest.mark.parametrize(
    ("text", "item"),
    [("MQM9700-NS2F NDR switch", "nvidia_qm9700"), ("quantum 2 qm-9700", "nvidia_qm9700"),
     ("AI400X2T", "ddn_ai400x2_turbo"), ("DDN AI400X2 Turbo 500TB", "ddn_ai400x2_turbo"),
     ("AI400X2 500 TB", "ddn_ai400x2_500tb"), ("AI400X2, 250 TB", "ddn_ai400x2"),
     ("MSN5600-CS2FC", "nvidia_sn5600"), ("SN2201", "nvidia_sn2201"),
     ("SN5610 switch", "nvidia_sn5610"), ("VAST EBox", "vast_ebox"), ("EBox", None),
     ("ThinkSystem SR680a V4 8x B200", "lenovo_sr680a_v4_b200"), ("MMS4X00-NS", None),
     ("Optics for SN5600", None), ("Power cord for SN2201", None), ("MQM9790-NS2F", None),
     ("Store 500 TB", None)],
)  # fmt: skip
def test_product_by_description_and_sku(tmp_path: Path, text: str, item: str | None) -> None:
    quote = quoted(tmp_path / "q.csv", f'{HEAD}{COLUMNS},"{text}",2,1000,2000\n')
    assert quote.lines[0].item == item
