"""A request that goes out, and its answer: read without a mapping, and planned with."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from openpyxl.worksheet.worksheet import Worksheet
from typer.testing import CliRunner

from planner import api
from planner.cli import app
from planner.commands.quote import inquiry, two_figures
from planner.loader import load
from planner.quotes.products import QUESTIONS
from planner.schema.plan import Plan
from tests.world.files import FILES
from tests.world.solved import solve


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rfq")
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    words = ["quote", "rfq", str(folder / "problem.yaml"), "-o", str(folder)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="module")
def plan(folder: Path) -> Plan:
    return solve(folder / "problem.yaml")


def cells(sheet: Worksheet) -> list[str]:
    return [str(cell.value) for row in sheet.iter_rows() for cell in row if cell.value is not None]


def test_it_says_what_is_needed_and_nothing_else(folder: Path, plan: Plan) -> None:
    book = openpyxl.load_workbook(folder / "problem.rfq.xlsx")
    assert book.sheetnames == ["Request", "Quote", "Products"]
    text = "\n".join(line for sheet in book.worksheets for line in cells(sheet))
    job = plan.jobs[0]
    assert job.max_overlap is not None
    write = job.checkpoint_gb / (job.max_overlap * job.interval_s)
    assert f"Writes of {two_figures(write)} GB/s" in text
    assert f"{two_figures(job.capacity_needed_tb)} TB usable" in text
    assert "60 days" in text
    assert "2,000 kW facility power" in text
    for line in plan.lines:  # no product, no vendor, no budget
        assert line.model not in text
        assert line.vendor not in text
    assert "60 MUSD" not in text
    assert "60,000,000" not in text


def asked_for(folder: Path, *settings: str) -> str:
    """Return what a request says of the small problem with other settings."""
    inputs = load(folder / "problem.yaml", settings=settings)
    plan = api.solve_with(inputs, api.Options())
    facts, parts = inquiry(inputs, plan, plan.jobs[0])
    lines = [f"{name}: {value}" for name, value in facts.rows]
    return "\n".join([*lines, *(line for needs in parts.values() for line in needs)])


def test_every_limit_of_the_hall_is_told(folder: Path) -> None:
    text = asked_for(
        folder, "site.racks=40", "site.it_power=1.5 MW", "site.weight_limit=50 t",
        "site.rack.power=22 kW", "site.cooling={air_limit: 1.4 MW, liquid_limit: 300 kW}",
    )  # fmt: skip
    limits = "2,000 kW facility power, 1,400 kW air-cooled load, 300 kW liquid-cooled load"
    for said in ("1,500 kW IT load", limits, "50,000 kg weight for everything together"):
        assert said in text
    assert "40 positions of 48 RU and 22 kW each" in text


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
    # with its mapping the product is known by its number, and has its price
    mapping = folder / "answer.map.yaml"
    text = mapping.read_text("utf-8")
    mapping.write_text(text + "items: {FAST-7: fast_fast_7}\n", "utf-8")
    text = problem.read_text("utf-8").replace(
        "  - own.yaml\n", "  - own.yaml\n  - answer.catalog.yaml\n"
    )
    (folder / "again.yaml").write_text(text, "utf-8")
    words = [
        "quote",
        "import",
        str(path),
        "--vendor",
        "Fast",
        "--problem",
        str(folder / "again.yaml"),
    ]
    result = CliRunner().invoke(app, [*words, "--map", str(mapping), "-o", str(folder)])
    assert result.exit_code == 0, result.output
    text = text.replace("  - book.yaml\n", "  - book.yaml\n  - answer.prices.yaml\n")
    (folder / "again.yaml").write_text(text, "utf-8")
    best = solve(folder / "again.yaml")
    fast = [line for line in best.lines if line.sku == "fast_fast_7"]
    assert best.status == "optimal"
    assert [line.unit_list_usd for line in fast] == [80_000.0]


def test_no_plan_no_request(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text.replace("facility_power: 2 MW", "facility_power: 1 W"))
    words = ["quote", "rfq", str(tmp_path / "problem.yaml"), "-o", str(tmp_path)]
    result = CliRunner().invoke(app, words)
    assert "there is no plan, so the demands are not known" in str(result.exception)
    assert not list(tmp_path.glob("*.xlsx"))
