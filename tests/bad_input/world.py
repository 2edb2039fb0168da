"""A small valid problem with its own catalog and price book, and ways to break them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROBLEM = """\
name: Small hall
site:
  facility_power: 2 MW
  pue: 1.25
  racks: 40
  rack: {height: 48 RU, power: 45 kW}
budget:
  capex: 60 MUSD
term: {years: 4, electricity: 0.08 USD/kWh}
catalogs:
  - own.yaml
prices:
  - book.yaml
storage:
  delivered_fraction: {read: 0.8, write: 0.8}
  max_families: 1
items:
  gpu_box: {max: 64}
jobs:
  - name: seventy
    parameters: 70 B
    bytes_per_parameter: 14
    parallelism: {tensor: 8, pipeline: 4}
    checkpoint:
      mode: async
      stall: 5 s
      interval: {policy: optimal, min: 1 min, max: 4 h}
      keep_last: 3
    training:
      mfu: 40 %
    failures: llama3
objective: {maximize: goodput}
scenarios:
  half_power: {site: {facility_power: 1 MW}}
"""

CATALOG = """\
catalog: Own hardware
sources:
  sheet: {title: Data sheet of 2026}
families:
  - {id: quick_fs, vendor: Quick, name: QuickFS}
  - {id: slow_fs, vendor: Slow, name: SlowFS}
items:
  - id: gpu_box
    vendor: Boxes
    model: Box 8
    category: gpu_system
    provides:
      gpus: {value: 8, source: sheet, confidence: high}
    consumes:
      it_power: {value: 10 kW, source: sheet, confidence: high}
      rack_units: {value: 8 RU, source: sheet, confidence: high}
    gpu:
      bf16_dense: {value: 989 TFLOP/s, source: sheet, confidence: high}
  - id: quick_store
    vendor: Quick
    model: Quick 1
    category: storage
    family: quick_fs
    provides: &gives
      read: {value: 90 GB/s, source: sheet, confidence: high}
      write: {value: 65 GB/s, source: sheet, confidence: high}
      usable: {value: 250 TB, source: sheet, confidence: high}
    consumes: &takes
      it_power: {value: 2.2 kW, source: sheet, confidence: high}
      rack_units: {value: 2 RU, source: sheet, confidence: high}
  - id: slow_store
    vendor: Slow
    model: Slow 1
    category: storage
    family: slow_fs
    provides: *gives
    consumes: *takes
  - id: tray
    vendor: Boxes
    model: Tray
    category: component
    consumes:
      weight: {value: 20 kg, source: sheet, confidence: high}
"""

BOOK = """\
price_book: Own prices
currency: USD
sources:
  quote: {title: Quote of 2026}
prices:
  gpu_box:
    list: 300000 USD
    date: "2026-01"
    source: quote
    confidence: high
    support_per_year: 8 %
  quick_store:
    list: 200000 USD
    date: "2026-01"
    source: quote
    confidence: high
  slow_store: {list: 100000 USD, date: "2026-01", source: quote, confidence: low}
discounts:
  - {vendor: Boxes, discount: 5 %}
"""

FILES: Mapping[str, str] = {"problem.yaml": PROBLEM, "own.yaml": CATALOG, "book.yaml": BOOK}
SOLVE = "solve problem.yaml"


@dataclass(frozen=True)
class Row:
    """One broken input: what is run on which files, and what must be said about it.

    ``at`` is a file and words of the line the message must point to, or only a file;
    ``wrong`` and ``right`` are regular expressions of the message.
    """

    name: str
    wrong: str
    right: str
    at: tuple[str, str] | str | None = None
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    command: str = SOLVE
    lines: int = 1

    def arguments(self) -> list[str]:
        """Return the words of the command line."""
        return shlex.split(self.command)

    def place(self) -> str:
        """Return how the message names the place: ``file:line: `` or ``file: `` or nothing."""
        if self.at is None:
            return ""
        if isinstance(self.at, str):
            return f"{self.at}: "
        file, words = self.at
        return f"{file}:{line_of(self.contents()[file], words)}: "

    def contents(self) -> dict[str, str | bytes]:
        """Return the files of this row: the valid ones, and the broken ones over them."""
        return {**FILES, **self.files}

    def lay_out(self, folder: Path) -> None:
        """Write the files into ``folder``."""
        for name, content in self.contents().items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())


def line_of(text: str | bytes, words: str) -> int:
    """Return the number of the only line that is ``words``, or holds them."""
    assert isinstance(text, str)
    lines = list(enumerate(text.split("\n"), 1))
    whole = [number for number, line in lines if line == words]
    found = whole or [number for number, line in lines if words in line]
    assert len(found) == 1, f"{words!r} stands in lines {found}"
    return found[0]


def changed(text: str, old: str, new: str) -> str:
    """Return ``text`` with its only ``old`` replaced."""
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
    return text.replace(old, new)


def problem(
    name: str, old: str, new: str, *, wrong: str, right: str, at: str | None = None, lines: int = 1
) -> Row:
    """Return a row that breaks the problem file; ``at`` defaults to the first new line."""
    return _edited("problem.yaml", PROBLEM, name, (old, new), wrong, right, at, lines)


def catalog(
    name: str, old: str, new: str, *, wrong: str, right: str, at: str | None = None, lines: int = 1
) -> Row:
    """Return a row that breaks the catalog."""
    return _edited("own.yaml", CATALOG, name, (old, new), wrong, right, at, lines)


def book(
    name: str, old: str, new: str, *, wrong: str, right: str, at: str | None = None, lines: int = 1
) -> Row:
    """Return a row that breaks the price book."""
    return _edited("book.yaml", BOOK, name, (old, new), wrong, right, at, lines)


def _edited(
    file: str,
    text: str,
    name: str,
    edit: tuple[str, str],
    wrong: str,
    right: str,
    at: str | None,
    lines: int,
) -> Row:
    words = at if at is not None else edit[1].strip("\n").split("\n")[0]
    content = {file: changed(text, *edit)}
    return Row(name, wrong, right, at=(file, words), files=content, lines=lines)
