"""A workbook in another currency: in cells and labels, in three engines, edited and audited."""

from __future__ import annotations

import io
import re
from datetime import datetime
from pathlib import Path

import openpyxl
import pytest

from planner.api import load, solve
from planner.assemble.ways import live
from planner.auditor import audit
from planner.inputs import inputs_to_text
from planner.outputs.audience import Audience
from planner.outputs.verification_text import render_audit
from planner.outputs.workbook import write
from planner.outputs.workbook.book import RATE
from planner.outputs.workbook.own_lines import key
from tests.audit.books import Book, Edits, edited
from tests.workbook.excel import saved_with, unlike
from tests.workbook.office import convert, named, needs_office, values
from tests.world.commands import ran
from tests.world.files import BOOK, CATALOG, PROBLEM, changed

EUR = "exchange: {EUR: {usd: 1.25, on: 2026-11-20, source: ECB}}\ncurrency: EUR\n"
JPY = "exchange: {JPY: {usd: 0.0064, on: 2026-11-20, source: BOJ}}\ncurrency: JPY\n"
QUOTED = changed(BOOK, "list: 200000 USD", "list: 160000 EUR\n    support_per_year: 12345.67 USD")
QUOTED = changed(QUOTED, "support_per_year: 8 %", "support_per_year: 23456.78 USD")
"""The storage is quoted in euros, the GPU systems in dollars; support of both is an amount."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("currency")


def book(
    folder: Path,
    money: str = EUR,
    prices: str = QUOTED,
    audience: Audience = "internal",
    problem: str = PROBLEM,
) -> Book:
    (folder / "own.yaml").write_text(CATALOG)
    (folder / "book.yaml").write_text(prices)
    exclude = changed(
        problem, "gpu_box: {max: 64}", "gpu_box: {max: 64}\n  slow_store: {exclude: true}"
    )
    path = folder / "problem.yaml"
    path.write_text(exclude + money)
    inputs, plan, stream = load(path), solve(path), io.BytesIO()
    inside = audience == "internal"
    cells = write(
        plan, stream, created=datetime(2026, 3, 1), audience=audience, live=live(inputs, plan),
        inputs=inputs_to_text(inputs) if inside else None,
    )  # fmt: skip
    return Book(plan, stream.getvalue(), cells)


_TOLD = re.compile(r"1 EUR = 1.25 USD on 2026-11-20 \(ECB\)|USD/EUR|EUR: what one is in USD")


@pytest.mark.parametrize("audience", ["internal", "partner", "customer"])
def test_no_dollar_stands_in_it_but_in_the_rate(folder: Path, audience: Audience) -> None:
    """Neither in a label, a format, a chart's title nor a prompt; outside not even in the rate."""
    source = book(folder, audience=audience)
    document, told = openpyxl.load_workbook(io.BytesIO(source.content)), 0
    for sheet in document:
        if sheet.title in ("Data", "Fingerprint"):
            continue
        for row in sheet.iter_rows():
            for cell in row:
                shown = cell.value if isinstance(cell.value, str) else ""
                told += len(_TOLD.findall(shown))
                shown = _TOLD.sub("", shown)
                assert "USD" not in shown + cell.number_format, (sheet.title, cell.coordinate)
                assert "ollar" not in shown
        for rule in sheet.data_validations.dataValidation:
            assert "USD" not in _TOLD.sub("", f"{rule.prompt} {rule.promptTitle}")
    assert bool(told) is (audience == "internal")
    texts = re.findall(rb"<a:t>([^<]*)", _parts(source.content))
    assert not [text for text in texts if b"USD" in text]


def _parts(content: bytes) -> bytes:
    import zipfile

    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return b"".join(file.read(name) for name in file.namelist() if "chart" in name)


def test_every_formula_shows_in_excel_what_was_written(folder: Path) -> None:
    """In the currency shown, in cents of it and in whole yen."""
    assert unlike(book(folder).content) == []
    assert unlike(book(folder, JPY, BOOK).content) == []


def _list_cell(source: Book, sku: str) -> object:
    cell = source.cell("unit_list", sku)
    return source.opened()[cell.sheet][cell.cell].value


def test_prices_in_dollars_follow_the_rate_and_others_do_not(folder: Path) -> None:
    source = book(folder)
    assert _list_cell(source, "gpu_box") == f"=ROUND(300000.0/{RATE},2)"
    assert _list_cell(source, "quick_store") == 160_000
    outside = book(folder, audience="partner")
    assert _list_cell(outside, "gpu_box") == 240_000
    assert RATE not in openpyxl.load_workbook(io.BytesIO(outside.content)).defined_names


EDITS: dict[str, Edits] = {
    "the_rate": {("figure", RATE): 1.1},
    "a_list_price": {("unit_list", "gpu_box"): 250_000.0},
    "a_price_in_euros": {("unit_list", "quick_store"): 150_000.0, ("figure", RATE): 1.3},
    "a_discount_and_the_rate": {("discount", "gpu_box"): 0.123, ("figure", RATE): 1.1111},
    "a_budget": {("limit", "capex"): 20e6},
    "electricity": {("figure", "electricity_usd_per_kwh"): 0.11},
    "a_line": {
        ("own_line", key("Services", 1, "model")): "Installation",
        ("own_line", key("Services", 1, "unit_list")): 12_345.67,
        ("own_line", key("Services", 1, "per_year")): 1_234.56,
        ("figure", RATE): 1.2,
    },
}


IN_OFFICE = ("a_price_in_euros", "a_line")
"""LibreOffice recalculates these; the others are as an engine that follows Excel saves them."""


@pytest.fixture(scope="module")
def recalculated(folder: Path) -> dict[str, Path]:
    source, saved = book(folder), {}
    for name in EDITS.keys() - set(IN_OFFICE):
        cells = {source.cell(*which): value for which, value in EDITS[name].items()}
        typed = {(cell.sheet, cell.cell): value for cell, value in cells.items()}
        saved[name] = saved_with(source.content, folder / f"{name}.xlsx", typed)
    files = [edited(source, folder / f"{name}.xlsx", EDITS[name]) for name in IN_OFFICE]
    return saved | dict(zip(IN_OFFICE, convert(folder, files), strict=True))


@needs_office
@pytest.mark.parametrize("name", EDITS)
def test_an_audit_takes_back_what_a_spreadsheet_program_shows(
    folder: Path, recalculated: dict[str, Path], name: str
) -> None:
    """The edited plan costs what the sheet says, at the rate of the sheet."""
    path = recalculated[name]
    found = audit(path, solve_again=False)
    assert found.stale == ()
    assert len(found.edits) == len(EDITS[name])
    assert found.edited is not None
    assert found.edited.totals is not None
    cells = values(path)
    shown = named(path, cells)
    rate = shown[RATE]
    assert isinstance(rate, (int, float))
    assert found.edited.shown_in.usd == rate
    for total in ("capex_usd", "tco_usd", "support_usd_per_year", "energy_usd_per_year"):
        stated, cell = getattr(found.edited.totals, total), shown[total]
        assert isinstance(cell, (int, float))
        assert cell * rate == pytest.approx(stated, rel=1e-9)
    assert found.sheet_capex_usd == pytest.approx(found.edited.totals.capex_usd, rel=1e-9)
    text = render_audit(found)
    assert "USD" not in text.replace("USD/EUR", "").replace("EUR: what one is in USD", "")


def test_what_was_typed_in_euros_is_told_in_euros(folder: Path) -> None:
    """The record is in USD, the screen in euros; a budget stays what it is in euros."""
    source = book(folder)
    path = edited(source, folder / "typed.xlsx", EDITS["a_list_price"])
    found = audit(path, solve_again=False)
    assert found.edits[0].before == 300_000
    assert found.edits[0].after == 312_500
    assert "240.00 kEUR" in render_audit(found)
    assert "250.00 kEUR" in render_audit(found)
    moved = audit(edited(source, folder / "moved.xlsx", EDITS["the_rate"]), solve_again=False)
    assert moved.edited is not None
    limit = next(limit for limit in moved.edited.limits if limit.name == "capex")
    assert limit.limit == pytest.approx(60e6 / 1.25 * 1.1)


DISCOUNTED = changed(
    PROBLEM, "term: {years: 4,", "term: {years: 3.5, discount_rate: 8 %, support_years: 2,"
)
"""What is paid later counts less, and products have support for two years."""


@needs_office
def test_a_yearly_charge_of_ones_own_counts_over_the_whole_term(folder: Path) -> None:
    """In opex, in the TCO and in its table by year, where support of products ends earlier."""
    source = book(folder, problem=DISCOUNTED)
    parts: Edits = {("own_line", key("Services", 2, "model")): "Remote hands",
                    ("own_line", key("Services", 2, "quantity")): 3.0,
                    ("own_line", key("Services", 2, "per_year")): 10_000.005}  # fmt: skip
    (path,) = convert(folder, [edited(source, folder / "charged.xlsx", parts)])
    shown = named(path, values(path))
    before = source.plan.totals
    assert before is not None and before.tco_usd is not None
    assert before.opex_usd_per_year is not None
    opex, tco = shown["opex_usd_per_year"], shown["tco_usd"]
    assert isinstance(opex, (int, float)) and isinstance(tco, (int, float))
    paid = 3 * 10_000.01  # to the cent
    assert opex == pytest.approx(before.opex_usd_per_year / 1.25 + paid)
    factor = sum(1 / 1.08**year for year in (1, 2, 3)) + 0.5 / 1.08**4
    assert tco == pytest.approx(before.tco_usd / 1.25 + paid * factor)
    assert shown["tco_difference_usd"] == 0
    found = audit(path, solve_again=False)
    assert found.stale == ()
    assert found.edited is not None and found.edited.totals is not None
    assert found.edited.totals.tco_usd == pytest.approx(tco * 1.25, rel=1e-9)


COSTS = changed(PROBLEM, "{maximize: goodput}", "{minimize: tco}")
COSTS = changed(COSTS, "    failures: llama3\n", "    failures: llama3\n    gpus: {min: 256}\n")
HALF = "exchange: {EUR: {usd: 2, on: 2026-11-20, source: ECB}}\n"
STUDIES = {
    "compare --rules": (),
    "compare": ("dearer.yaml",),
    "alternatives": (),
    "explain": (),
    "sweep": ("--vary", "prices.gpu_box.list=x0.9:x1.1:x0.1", "--jobs", "1"),
    "frontier": ("--against", "cost", "--points", "3"),
    "tornado": ("--vary", "prices.gpu_box.list=x0.9:x1.1", "--jobs", "1"),
    "uncertain": ("--samples", "8", "--dist", "prices.gpu_box.list=uniform(125kEUR,150kEUR)",
                  "--jobs", "1"),
}  # fmt: skip


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("study", STUDIES)
def test_sheets_of_studies_are_in_the_currency_shown(
    study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a rate of two every amount is half of what it is in dollars, and nothing else moves."""
    made = {}
    for code in ("USD", "EUR"):
        folder = tmp_path / code
        folder.mkdir()
        monkeypatch.chdir(folder)
        (folder / "own.yaml").write_text(CATALOG)
        (folder / "book.yaml").write_text(BOOK)
        (folder / "problem.yaml").write_text(f"{COSTS}{HALF}currency: {code}\n")
        (folder / "dearer.yaml").write_text(changed(COSTS, "0.08 USD", "0.2 USD"))
        command, *options = study.split()
        found = ran(command, "problem.yaml", *options, *STUDIES[study], "-o", "out")
        assert found.code == 0, found.err
        assert ("EUR" in found.out, "USD" in found.out) == (code == "EUR", code == "USD")
        content = next((folder / "out").glob("*.xlsx")).read_bytes()
        made[code] = openpyxl.load_workbook(io.BytesIO(content), data_only=True)
    halves = 0
    for sheet in made["USD"]:
        for row in sheet.iter_rows():
            for cell in row:
                one, other = cell.value, made["EUR"][sheet.title][cell.coordinate].value
                where = f"{sheet.title}!{cell.coordinate}: {one} and {other}"
                if isinstance(one, (int, float)) and not isinstance(one, bool) and one:
                    same, half = (other == pytest.approx(one / by, rel=1e-5) for by in (1, 2))
                    assert same or half, where
                    halves += half
                elif isinstance(other, str) and "in the files" not in other:
                    assert "USD" not in re.sub(r"\[USD\]|\d USD on", "", other), where
    assert halves > 3


INR = "exchange: {INR: {usd: 0.0125, on: 2026-11-20, source: RBI}}\ncurrency: INR\n"


def test_rupees_are_grouped_alike_on_every_sheet(folder: Path) -> None:
    """On the bill 2,60,50,420.17 a unit stood beside 208,403,361.36 for eight of them."""
    source = book(folder, INR, BOOK)
    shown = openpyxl.load_workbook(io.BytesIO(source.content), data_only=True)
    totals = source.plan.totals
    assert totals is not None and totals.tco_usd is not None
    amounts = [usd / 0.0125 for usd in (totals.capex_usd, totals.tco_usd)]
    looks = {
        (sheet.title, cell.number_format)
        for sheet in shown
        if sheet.title in ("Summary", "BOM", "TCO", "Checkpoint")
        for row in sheet.iter_rows()
        for cell in row
        if isinstance(cell.value, int | float) and round(cell.value) in map(round, amounts)
    }  # fmt: skip
    assert {sheet for sheet, _ in looks} == {"Summary", "BOM", "TCO", "Checkpoint"}
    assert not [look for look in looks if r"\," not in look[1]]


LEAST_COST = changed(
    PROBLEM, "objective: {maximize: goodput}",
    "objective: {minimize: cost}\ntargets: {min_gpus: 64}",
)  # fmt: skip


def test_what_is_proven_of_money_is_in_the_currency_shown(folder: Path) -> None:
    """A bound of so many rupees was called dollars, and written as 2.5011e+08."""
    source = book(folder, INR, BOOK, problem=LEAST_COST)
    assert source.plan.objective.bound is not None
    crore = f"{source.plan.objective.bound / 0.0125 / 1e7:,.2f} crore INR"
    texts = [
        str(cell.value)
        for sheet in source.opened()
        if sheet.title not in ("Data", "Fingerprint")
        for row in sheet.iter_rows()
        for cell in row
        if isinstance(cell.value, str)
    ]
    (said,) = [text for text in texts if "no plan within these limits" in text]
    assert said.startswith(f"As solved: no plan within these limits has less than {crore} (capex)")
    assert said.count(" crore INR") == 2
    assert not [text for text in texts if re.search(r"\de\+\d", text)]
    tiles = [cell.value for cell in source.opened()["Summary"][10]]
    assert len(set(tiles)) == len(tiles) > 5, "each figure once"
