"""Requests for quotes and quotes read back: prices, terms, findings."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import openpyxl
import pytest
from typer.testing import CliRunner

from planner.case.figures import discount
from planner.cli import app
from planner.commands.quote import two_figures
from planner.errors import InputError
from planner.loader import load
from planner.quotes import QuoteOptions, read_quote
from planner.quotes.cells import number
from planner.quotes.products import QUESTIONS
from planner.schema.bill import Quote, QuoteMap
from planner.schema.catalog import Item
from planner.schema.prices import Discount
from tests.bids.material import xlsx
from tests.world.files import FILES
from tests.world.solved import solve

TEN_PERCENT_OF_ALL = (Discount(discount="10 %", category="storage"),)


KNOWN = {
    name: Item.model_validate(
        {"id": name, "vendor": "V", "model": model, "category": "storage", "part_number": part}
    )
    for name, model, part in (
        ("box_small", "Store Box 100", "SB-100-A"),
        ("box_turbo", "Store Box 100 Turbo", "SB-100-T"),
    )
}


def quoted(path: Path, mapping: dict[str, object] | None = None, **said: object) -> Quote:
    laid_out = QuoteMap.model_validate({"quote_map": "test"} | (mapping or {}))
    given = {"date": "2026-11-01", "currency": "USD"} | said
    return read_quote(path, QuoteOptions("V", laid_out, **given), KNOWN)  # type: ignore[arg-type]


HEAD = ["Line", "Part Number", "Description", "Qty", "Unit Price", "Ext. Price"]


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
        ("box_small", "item", False),
        ("box_turbo", "option", True),
    ]
    assert quote.prices[0].net_usd == pytest.approx(11.0)
    assert any("row 5 is hidden" in finding for finding in quote.findings)
    assert quote.sums[0].agrees  # without the hidden row


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
        (
            [HEAD, [1, "a", "b", 1, 1.0, 1.0]],
            {"currency": "EUR"},
            "no rate is given; give USD",
        ),
        (
            [HEAD, [1, "a", "b", 1, 1.0, 1.0]],
            {"date": None},
            "no clear date of the quote in the file; state it: --date",
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
    xlsx(tmp_path / "acme.xlsx", [row for row in rows if "until" not in str(row[0])])
    assert CliRunner().invoke(app, words).exit_code == 0
    assert not load(problem).prices[storage.id].valid_until


TIERS: list[list[object]] = [
    ["Quotation", "Date", "2026-10-02"],
    ["Item", "Part number", "Description", "Qty from", "Qty to", "Unit price USD"],
    [1, "GB-8", "Box 8", 1, 15, 515_000],
    [2, "GB-8", "Box 8", 16, 63, 498_000],
    [3, "GB-8", "Box 8", 64, None, 472_000],
]


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


# A request that goes out, and its answer: read without a mapping, and planned with.


LIMITS = (
    "site.racks=40",
    "site.it_power=1.5 MW",
    "site.weight_limit=50 t",
    "site.rack.power=22 kW",
    "site.cooling={air_limit: 1.4 MW, liquid_limit: 300 kW}",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rfq")
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    words = ["quote", "rfq", str(folder / "problem.yaml"), "-o", str(folder)]
    result = CliRunner().invoke(app, [*words, *(f"--set={limit}" for limit in LIMITS)])
    assert result.exit_code == 0, result.output
    return folder


def test_it_says_what_is_needed_and_nothing_else(folder: Path) -> None:
    book = openpyxl.load_workbook(folder / "problem.rfq.xlsx")
    assert book.sheetnames == ["Request", "Quote", "Products"]
    cells = [cell for sheet in book.worksheets for row in sheet.iter_rows() for cell in row]
    text = "\n".join(str(cell.value) for cell in cells)
    plan = solve(folder / "problem.yaml", settings=LIMITS)
    job = plan.jobs[0]
    assert job.max_overlap is not None
    write = job.checkpoint_gb / (job.max_overlap * job.interval_s)
    assert f"Writes of {two_figures(write)} GB/s" in text
    assert f"{two_figures(job.capacity_needed_tb)} TB usable" in text
    assert "60 days" in text
    limits = "2,000 kW facility power, 1,400 kW air-cooled load, 300 kW liquid-cooled load"
    for said in ("1,500 kW IT load", limits, "50,000 kg weight for everything together"):
        assert said in text
    assert "40 positions of 48 RU and 22 kW each" in text
    for line in plan.lines:  # no product, no vendor, no budget
        assert line.model not in text
        assert line.vendor not in text
    assert "60 MUSD" not in text
    assert "60,000,000" not in text


def test_needs_are_never_rounded_down() -> None:
    for value in (0.0123, 1.0, 9.99, 10.0, 195.2, 1234.5, 99.9):
        assert float(two_figures(value).replace(",", "")) >= value * (1 - 1e-12)
        assert float(two_figures(value).replace(",", "")) <= value * 1.1
    assert two_figures(195.2) == "200"
    assert two_figures(0.0) == "0"


def answered(folder: Path, name: str) -> Path:
    """Fill the request in as a vendor would, with the values that formulas would show."""
    book = openpyxl.load_workbook(folder / "problem.rfq.xlsx")
    quote, products = book["Quote"], book["Products"]
    quote["C2"], quote["C4"] = "5 Nov 2026", "USD"
    heads = {quote.cell(6, column).value: column for column in range(1, 20)}
    rows = {str(quote.cell(row, 1).value): row for row in range(7, 60)}
    at = next(row for text, row in rows.items() if text.endswith("Storage")) + 1
    line = {"Line": "2.1", "Part Number": "FAST-7", "Description": "Fast storage appliance",
            "Qty": 2, "Unit List Price": 100_000, "Discount %": 20, "Unit Net Price": 80_000,
            "Ext. Net Price": 160_000, "Lead Time": "9 weeks"}  # fmt: skip
    for label, value in line.items():
        quote.cell(at, heads[label]).value = value
    total = next(row for row in range(7, 60) if quote.cell(row, 3).value == "Total")
    quote.cell(total, heads["Ext. Net Price"]).value = 160_000
    told = {"Part Number": "FAST-7", "Model": "Fast 7", "Category": "storage", "Power max kW": 2.5,
            "Power typical kW": 2, "Rack Units": 2, "Weight kg": 50, "Read GB/s": 120,
            "Write GB/s": 90, "Usable TB": 400, "Ports": "4 x 200 Gb/s storage; 1 x 1G management",
            "Basis of bandwidth": "IOR, 8 clients"}  # fmt: skip
    for column, question in enumerate(QUESTIONS, 1):
        products.cell(2, column).value = told.get(question.label)
    book.save(folder / name)
    return folder / name


def test_an_answer_comes_back_without_a_mapping(folder: Path) -> None:
    path = answered(folder, "answer.xlsx")
    problem = folder / "problem.yaml"
    words = ["quote", "import", str(path), "--vendor", "Fast", "--problem", str(problem)]
    result = CliRunner().invoke(app, [*words, "-o", str(folder)])
    assert result.exit_code == 0, result.output
    assert "1 of 1 totals agree with the lines" in result.output
    assert "needed:" not in result.output  # everything that a plan needs is told
    catalog = (folder / "answer.catalog.yaml").read_text("utf-8")
    assert "it_power: {value: 2.5 kW, source: quote, confidence: medium" in catalog
    assert "benchmark: 'IOR, 8 clients'" in catalog
    checked = CliRunner().invoke(app, ["catalog", "--check", str(folder / "answer.catalog.yaml")])
    assert checked.exit_code == 0, checked.output


def test_no_plan_no_request(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text.replace("facility_power: 2 MW", "facility_power: 1 W"))
    words = ["quote", "rfq", str(tmp_path / "problem.yaml"), "-o", str(tmp_path)]
    result = CliRunner().invoke(app, words)
    assert "there is no plan, so the demands are not known" in str(result.exception)
    assert not list(tmp_path.glob("*.xlsx"))
