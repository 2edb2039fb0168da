"""A small problem, and quotes on it as vendors send them: XLSX and CSV, in USD and EUR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import openpyxl

from planner.inputs import Inputs
from planner.loader import load
from tests.world.files import BOOK, CATALOG, PROBLEM

_PARTS = {"Box 8": "BX-8-100", "Quick 1": "QK-1-PRO", "Slow 1": "SL-1-ECO"}
_HELPER = """\
  - id: helper
    vendor: Boxes
    model: Helper node
    part_number: HP-220-X
    category: management
    consumes:
      it_power: {value: 0.5 kW, source: sheet, confidence: high}
      rack_units: {value: 1 RU, source: sheet, confidence: high}
"""
_PRICE = """\
  helper:
    list: 10000 USD
    low: 8000 USD
    high: 14000 USD
    date: "2026-01"
    source: quote
    confidence: low
"""

HEAD = ("Line", "Part Number", "Description", "Qty", "Unit Price", "Ext. Price")


def write_problem(folder: Path, changes: Mapping[str, str] | None = None) -> Path:
    """Write the problem with its catalog and book; ``changes`` replace texts of the problem."""
    catalog = CATALOG + _HELPER
    for model, part in _PARTS.items():
        catalog = catalog.replace(f"model: {model}\n", f"model: {model}\n    part_number: {part}\n")
    problem = PROBLEM.replace("items:\n", "extras: {helper: {count: 3}}\nitems:\n")
    for old, new in (changes or {}).items():
        assert old in problem, old
        problem = problem.replace(old, new)
    book = BOOK.replace("discounts:\n", _PRICE + "discounts:\n")
    for name, text in (("problem", problem), ("own", catalog), ("book", book)):
        (folder / f"{name}.yaml").write_text(text, "utf-8")
    return folder / "problem.yaml"


def problem(folder: Path, changes: Mapping[str, str] | None = None) -> Inputs:
    """Return the problem."""
    return load(write_problem(folder, changes))


def xlsx(path: Path, rows: Sequence[Sequence[object]]) -> Path:
    """Write rows as a sheet."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in rows:
        sheet.append(list(row))
    book.save(path)
    return path


def plain(path: Path, *lines: tuple[str, float, float], on_top: float = 0.0) -> Path:
    """Write a quote of products: part number, units, net price of a unit; freight on top."""
    rows: list[Sequence[object]] = [("Quote date: 2026-11-10, prices in USD",), HEAD]
    for number, (part, units, price) in enumerate(lines, 1):
        rows.append((number, part, "as offered", units, price, units * price))
    if on_top:
        rows.append((len(lines) + 1, "", "Freight", 1, on_top, on_top))
    total = on_top + sum(units * price for _, units, price in lines)
    rows.append(("", "", "Total", None, None, total))
    return xlsx(path, rows)


def four(folder: Path) -> list[Path]:
    """Write four quotes, of which one is in EUR and one cannot be built; return their files."""
    boxes = ("BX-8-100", 58, 245_000.0), ("QK-1-PRO", 6, 180_000.0)
    return [plain(folder / "anvil.xlsx", *boxes), _bolt(folder), _crate(folder), _ember(folder)]


def _bolt(folder: Path) -> Path:
    """A CSV of a German vendor in EUR, storage alone, with freight."""
    text = (
        "Angebot;B-77;;;;\nAngebotsdatum;03.11.2026;;;;\n"
        "Pos;Artikel;Bezeichnung;Menge;Einzelpreis (€);Gesamtpreis (€)\n"
        "1;SL-1-ECO;Slow 1;8;70.000,50;560.004,00\n2;;Fracht und Versand;1;12.000,-;12.000,-\n"
        ";;Gesamtbetrag;;;572.004,00\n"
    )
    path = folder / "bolt.csv"
    path.write_bytes(text.encode("cp1252"))
    return path


def _crate(folder: Path) -> Path:
    """A bundle with its parts under it, and a discount on the whole."""
    rows: list[Sequence[object]] = [
        ("Date of issue: 12 November 2026", "", "all amounts in USD"),
        HEAD,
        ("1", "CR-AI-56", "AI cluster, complete", 1, 18_000_000.0, 18_000_000.0),
        ("1.1", "BX-8-100", "Box 8", 56, "included", "included"),
        ("1.2", "QK-1-PRO", "Quick 1", 5, "included", "included"),
        ("2", "HP-220-X", "Helper node", 2, 10_000.0, 20_000.0),
        ("", "", "Special project discount", None, None, -901_000.0),
        ("", "", "Grand total", None, None, 17_119_000.0),
    ]
    return xlsx(folder / "crate.xlsx", rows)


def _ember(folder: Path) -> Path:
    """Too much power, storage that no catalog has, and a line on request."""
    rows: list[Sequence[object]] = [
        ("Quotation date", "2026-11-15", "", "EUR"),
        HEAD,
        (1, "BX-8-100", "Box 8", 64, 230_000.0, 14_720_000.0),
        (2, "EM-ST-9", "Ember flash storage appliance, 300 TB", 4, 110_000.0, 440_000.0),
        (3, "", "Training", 1, "on request", None),
        ("", "", "Total", None, None, 15_160_000.0),
    ]
    return xlsx(folder / "ember.xlsx", rows)
