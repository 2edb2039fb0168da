"""Bids against figures by hand, against the same written as a problem, and what is said of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import openpyxl
import pytest

from planner.analysis.bids import evaluate, measure_of, money_of
from planner.analysis.offers import read_bids
from planner.api import Options
from planner.inputs import Inputs
from planner.schema.bill import Bids
from tests.bids.material import HEAD, four, plain, problem, write_problem, xlsx
from tests.world.commands import ran

HOURS = 8760.0
RATE = ("EUR=1.1",)


def judged(inputs: Inputs, files: list[Path]) -> Bids:
    quotes = read_bids(files, inputs, RATE)
    return evaluate(inputs, Options(), quotes)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Bids:
    folder = tmp_path_factory.mktemp("four")
    return judged(problem(folder), four(folder))


def test_a_bid_by_hand(tmp_path: Path) -> None:
    """40 boxes, 4 stores and freight; three helpers and the boxes' support are the book's."""
    inputs = problem(tmp_path)
    lines = (("BX-8-100", 40, 250_000.0), ("QK-1-PRO", 4, 150_000.0))
    bid = judged(inputs, [plain(tmp_path / "a.xlsx", *lines, on_top=70_000.0)]).bids[0]
    figures = bid.figures
    assert figures is not None
    assert bid.state == "meets"
    assert figures.capex_usd == 10_000_000.0 + 600_000.0 + 70_000.0 + 3 * 9_500.0
    energy = (40 * 10.0 + 4 * 2.2 + 3 * 0.5) * 1.25 * HOURS * 0.08 * 4
    support = 40 * 20_000.0 * 4
    assert figures.tco_usd == pytest.approx(figures.capex_usd + energy + support, rel=1e-12)
    assert bid.quoted_usd == 10_670_000.0
    lacks = {(lack.sku, lack.kind): (lack.units, lack.usd) for lack in bid.lacks}
    assert lacks == {
        ("gpu_box", "support"): (40, support),
        ("helper", "units"): (3, 28_500.0),
    }
    assert figures.useful_pflops is not None
    assert bid.measured == pytest.approx(figures.tco_usd / figures.useful_pflops)
    assert [charge.kind for charge in bid.charges] == ["freight"]


def test_quotes_are_read_ranked_and_traced(shown: Bids) -> None:
    assert [(bid.vendor, bid.state, bid.rank) for bid in shown.bids] == [
        ("anvil", "meets", 1),
        ("bolt", "meets", 2),
        ("crate", "meets", 3),
        ("ember", "open", None),
    ]
    anvil, bolt, crate, ember = shown.bids
    assert anvil.quoted_usd == 58 * 245_000.0 + 6 * 180_000.0
    assert not anvil.findings
    assert bolt.quoted_usd == pytest.approx(572_004.0 * 1.1)
    assert {lack.sku for lack in bolt.lacks if lack.kind == "units"} == {"gpu_box", "helper"}
    assert crate.rebate == pytest.approx(901_000.0 / 18_020_000.0)
    assert [charge.label for charge in crate.charges] == ["AI cluster, complete"]
    assert crate.charges[0].usd == pytest.approx(18e6 * (1.0 - crate.rebate))
    assert "Ember flash storage appliance, 300 TB (Sheet!C4)" in ember.open[0]
    assert any("'on request'" in text for text in ember.findings)


def test_units_beyond_those_included_cost_the_books_price(tmp_path: Path) -> None:
    """Two of the three helpers are held in the price of the stores."""
    rows: list[tuple[object, ...]] = [
        ("Quote date: 2026-11-12, USD",),
        HEAD,
        ("1", "BX-8-100", "Box 8", 40, 250_000.0, 10_000_000.0),
        ("2", "QK-1-PRO", "Quick 1", 4, 150_000.0, 600_000.0),
        ("2.1", "HP-220-X", "Helper node", 2, "included", "included"),
        ("", "", "Total", None, None, 10_600_000.0),
    ]
    bid = judged(problem(tmp_path), [xlsx(tmp_path / "a.xlsx", rows)]).bids[0]
    assert bid.figures is not None
    assert bid.figures.capex_usd == 10_600_000.0 + 9_500.0
    assert [(charge.kind, charge.usd) for charge in bid.charges] == [("surplus", 9_500.0)]


Change = Mapping[str, str]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"facility_power: 2 MW": "facility_power: 500 kW"},
            "facility power 500 kW, 512.88 kW needed",
        ),
        ({"capex: 60 MUSD": "capex: 10 MUSD"}, "capital budget 10 MUSD, 10.6285 MUSD needed"),
        ({"racks: 40": "racks: 9"}, "racks 9, 12 needed"),
        ({"keep_last: 3": "keep_last: 900"}, "checkpoints kept 900, 866 needed"),
    ],
)
def test_a_bid_without_a_plan_names_what_to_change(
    tmp_path: Path, changes: Change, said: str
) -> None:
    lines = (("BX-8-100", 40, 250_000.0), ("QK-1-PRO", 4, 150_000.0))
    found = judged(problem(tmp_path, changes), [plain(tmp_path / "a.xlsx", *lines)])
    bid = found.bids[0]
    assert (bid.state, bid.rank, found.status) == ("breaks", None, "infeasible")
    (text,) = bid.against
    assert said in text


# Measure and order


TERM = "term: {years: 4, electricity: 0.08 USD/kWh}\n"


@pytest.mark.parametrize(
    ("changes", "name", "money"),
    [
        ({}, "tco_per_useful_pflops", "tco"),
        ({"{maximize: goodput}": "{maximize: useful_gpus}"}, "tco_per_useful_gpu", "tco"),
        ({TERM: ""}, "capex_per_useful_pflops", "capex"),
        ({"{maximize: goodput}": "{minimize: cost}"}, "cost", "capex"),
    ],
)
def test_measure_of_the_ranking(tmp_path: Path, changes: Change, name: str, money: str) -> None:
    inputs = problem(tmp_path, changes)
    assert (measure_of(inputs).name, money_of(inputs)) == (name, money)


# `planner bid` as it is used: its screen, its files, and what it says of wrong input.


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("bids")
    write_problem(where)
    four(where)
    return where


def test_without_a_bid_that_keeps_every_limit_the_exit_code_is_3(folder: Path) -> None:
    words = ["quote", "bid", str(folder / "problem.yaml"), str(folder / "crate.xlsx"), "--set",
             "site.facility_power=100 kW"]  # fmt: skip
    shown = ran(*words)
    assert shown.code == 3
    assert "no bid meets every limit" in shown.out
    assert "facility power" in shown.out


def wrong(folder: Path, *words: str) -> str:
    shown = ran("quote", "bid", *words)
    assert shown.code == 2
    assert shown.err.count("\n") == 1
    return shown.err


def test_what_is_wrong_is_said(folder: Path, tmp_path: Path) -> None:
    problem, crate, bolt = (str(folder / n) for n in ("problem.yaml", "crate.xlsx", "bolt.csv"))
    assert "there is no bid to evaluate" in wrong(folder, problem)
    assert "is no problem file" in wrong(folder, crate, problem)
    assert "is given twice" in wrong(folder, problem, crate, crate)
    assert "no rate is given" in wrong(folder, problem, bolt)
    assert "'EUR:1' is no rate" in wrong(folder, problem, crate, "--rate", "EUR:1")
    bare = xlsx(tmp_path / "u.xlsx", [("Part Number", "Qty", "Unit Price"), ("BX-8-100", 1, 1.0)])
    assert f"quote import {bare} --currency EUR, then" in wrong(folder, problem, str(bare))
    assert ran("quote", "import", crate, "--problem", problem, "-o", str(tmp_path)).code == 0
    record, text = tmp_path / "crate.quote.json", (tmp_path / "crate.quote.json").read_text("utf-8")
    clash = "two bids are called 'crate'; name one: planner quote import crate.xlsx --vendor NAME"
    assert clash in wrong(folder, problem, crate, str(record))
    for figure, other in (
        ("net_usd", "Infinity"),
        ("quantity", "0.0"),
        ("usd_per_unit", "NaN"),
        ("date", '"soon"'),
    ):
        record.write_text(re.sub(rf'"{figure}": [^,]+', f'"{figure}": {other}', text), "utf-8")
        assert "no quote as read" in wrong(folder, problem, str(record))
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
    named = ("--vendor", f"V{nasty}", "--problem", problem, "-o", str(tmp_path))
    assert ran("quote", "import", str(path), *named).code == 0
    words = ["quote", "bid", problem, str(tmp_path / "a.quote.json")]
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
