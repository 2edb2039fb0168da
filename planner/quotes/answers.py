"""What a request asks of products, and the answers read back: the headers stand here alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from planner.quotes.grid import Cell, Grid, Row, number

ANSWER_COLUMNS = (
    ("Line", 6), ("Part Number", 22), ("Description", 46), ("Qty", 8), ("Unit List Price", 16),
    ("Discount %", 11), ("Unit Net Price", 16), ("Ext. Net Price", 18), ("Lead Time", 14),
    ("Term (months)", 12), ("Notes", 30),
)  # fmt: skip
"""Columns of the sheet in which a vendor quotes, and how wide they are."""


@dataclass(frozen=True)
class Question:
    """One figure of a product: its column, where it stands in a catalog, and its unit there."""

    label: str
    width: int
    path: str
    unit: str = ""


QUESTIONS = (
    Question("Part Number", 22, ""),
    Question("Model", 34, ""),
    Question("Category", 14, ""),
    Question("Power max kW", 13, "consumes.it_power", "kW"),
    Question("Power typical kW", 15, "consumes.typical_power", "kW"),
    Question("Liquid %", 9, "consumes.liquid_share", "%"),
    Question("Rack Units", 11, "consumes.rack_units", "RU"),
    Question("Weight kg", 10, "consumes.weight", "kg"),
    Question("GPUs", 7, "provides.gpus"),
    Question("GPU memory GB", 14, "gpu.memory", "GB"),
    Question("Dense BF16 TFLOP/s per GPU", 24, "gpu.bf16_dense", "TFLOP/s"),
    Question("Read GB/s", 10, "provides.read", "GB/s"),
    Question("Write GB/s", 11, "provides.write", "GB/s"),
    Question("Usable TB", 10, "provides.usable", "TB"),
    Question("Least units", 11, "min_units"),
    Question("Ports", 38, "ports"),
    Question("Basis of bandwidth", 26, "basis"),
)
"""Columns of the sheet in which a vendor describes products."""

_PORTS = re.compile(
    r"(\d+)\s*x\s*(\d+(?:\.\d+)?)\s*(?:G|Gb/?s|Gbps|Gbit/s)?\s+(compute|storage|in[- ]band|"
    r"out[- ]of[- ]band|management)",
    re.I,
)
_NETWORKS = {"in-band": "in_band", "out-of-band": "out_of_band", "management": "out_of_band"}


@dataclass(frozen=True)
class Told:
    """A figure as a vendor tells it: its text with its unit, and its cell."""

    text: str
    cell: str


@dataclass(frozen=True)
class Described:
    """A product as its vendor describes it: its category where told, figures by their paths."""

    part_number: str
    model: str
    category: str
    figures: dict[str, Told]


def described(grid: Grid) -> dict[str, Described]:
    """Return the products that a vendor describes in a request's answer, by part number.

    A figure that is no number is left out; it is asked for again.
    """
    found = {}
    for rows in grid.sheets.values():
        for product in _products(rows):
            found[product.part_number] = product
    return found


def _products(rows: Iterable[Row]) -> Iterator[Described]:
    columns: dict[int, Question] = {}
    for row in rows:
        if not columns:
            labels = {question.label: question for question in QUESTIONS}
            heads = {column: labels.get(cell.text) for column, cell in row.cells.items()}
            named = {column: each for column, each in heads.items() if each is not None}
            if len(named) > len(ANSWER_COLUMNS) // 2 and "Model" in row.texts:
                columns = named
            continue
        cells = {columns[column].label: cell for column, cell in row.cells.items()
                 if column in columns}  # fmt: skip
        part = cells.get("Part Number")
        if part is None:
            continue
        yield Described(
            part.text,
            cells["Model"].text if "Model" in cells else part.text,
            cells["Category"].text.lower().replace(" ", "_") if "Category" in cells else "",
            dict(_figures(cells)),
        )


def _figures(cells: dict[str, Cell]) -> Iterator[tuple[str, Told]]:
    for question in QUESTIONS:
        cell = cells.get(question.label)
        if cell is None or not question.path:
            continue
        if question.path == "ports":
            for count, speed, network in _PORTS.findall(cell.text):
                plain = network.lower().replace(" ", "-")
                yield (f"ports.{_NETWORKS.get(plain, plain)}",
                       Told(f"count: {count}, speed: {speed} Gb/s", cell.name))  # fmt: skip
        elif question.path == "basis":
            yield "basis", Told(cell.text, cell.name)
        else:
            value = cell.value if isinstance(cell.value, float) else number(cell.text, "point")
            if value is not None:
                yield question.path, Told(f"{value:.12g} {question.unit}".strip(), cell.name)
