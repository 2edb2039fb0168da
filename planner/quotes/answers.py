"""Products that no catalog has: figures asked of them in a request, and a catalog of answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from planner.quotes.cells import Cell, Grid, Row, number
from planner.quotes.lines import Line
from planner.quotes.products import place_of
from planner.schema.bill import Asked, Quote
from planner.schema.catalog import Category

ANSWER_COLUMNS = (
    ("Line", 6),
    ("Part Number", 22),
    ("Description", 46),
    ("Qty", 8),
    ("Unit List Price", 16),
    ("Discount %", 11),
    ("Unit Net Price", 16),
    ("Ext. Net Price", 18),
    ("Lead Time", 14),
    ("Term (months)", 12),
    ("Notes", 30),
)
"""Columns of the sheet of prices in a request, with their widths."""


class Question(NamedTuple):
    """A figure of a product: its column and width, its place in a catalog, its unit there."""

    label: str
    width: int
    path: str = ""
    unit: str = ""


QUESTIONS = (
    Question("Part Number", 22),
    Question("Model", 34),
    Question("Category", 14),
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
"""Columns of the sheet of products in a request."""
_LABELS = {question.label: question for question in QUESTIONS}

_PORTS = re.compile(
    r"(\d+)\s*x\s*(\d+(?:\.\d+)?)\s*(?:G|Gb/?s|Gbps|Gbit/s)?\s+(compute|storage|in[- ]band|"
    r"out[- ]of[- ]band|management)",
    re.I,
)
_NETWORKS = {"in-band": "in_band", "out-of-band": "out_of_band", "management": "out_of_band"}

_NEEDED: dict[Category, tuple[str, ...]] = {
    "gpu_system": (
        "provides.gpus",
        "consumes.it_power",
        "consumes.rack_units",
        "gpu.bf16_dense",
        "gpu.memory",
        "ports",
    ),
    "storage": (
        "provides.read",
        "provides.write",
        "provides.usable",
        "consumes.it_power",
        "consumes.rack_units",
        "ports",
    ),
    "switch": ("switch", "consumes.it_power", "consumes.rack_units"),
    "transceiver": ("consumes.it_power",),
    "cable": (),
    "rack": (),
    "pdu": ("provides.feed",),
    "cdu": ("provides.cooling", "consumes.it_power", "consumes.racks"),
    "management": ("consumes.it_power", "consumes.rack_units"),
    "software": ("licence",),
}
"""Figures that a plan needs of a product, by category."""

_CATEGORIES: tuple[tuple[Category, str], ...] = (
    ("cable", r"\b(cable|dac|aoc|acc|fib(re|er)|patch ?cord|splitter)\b"),
    ("transceiver", r"\b(transceiver|optic(s|al module)?|osfp|qsfp\w*|sfp\w*)\b"),
    ("gpu_system", r"\b(dgx|hgx|gpu (server|system)|nvl\d+|mi3\d\dx|b200|b300|h200|h100|gaudi)\b"),
    ("storage", r"\b(storage|appliance|nvme|flash|\d+ ?(tb|pb)|ssd|jbof|file ?system)\b"),
    ("switch", r"\b(switch|leaf|spine|quantum|spectrum|infiniband)\b"),
    ("pdu", r"\b(pdu|power distribution)\b"),
    ("cdu", r"\b(cdu|coolant distribution)\b"),
    ("rack", r"\b(rack|cabinet|enclosure)\b"),
    ("software", r"\b(licen[cs]e|software)\b"),
    ("management", r"\b(server|node|appliance)\b"),
)


class Described(NamedTuple):
    """A product as its vendor describes it; texts with units, and their cells, by catalog path."""

    model: str
    category: str
    figures: dict[str, str]
    cells: dict[str, str]


def unknown_products(lines: Iterable[Line], vendor: str, grid: Grid) -> tuple[Asked, ...]:
    """Return the products of a quote that no catalog has, with known and missing figures."""
    described = {part: each for rows in grid.sheets.values() for part, each in _descriptions(rows)}
    found: dict[str, Asked] = {}
    for line in lines:
        if line.kind in ("item", "option") and line.item is None:
            product = _unknown_product(line, vendor, described.get(line.part))
            found.setdefault(product.id, product)
    return tuple(found.values())


def _unknown_product(line: Line, vendor: str, described: Described | None) -> Asked:
    description = line.texts.get("description", "")
    words = re.findall(r"[a-z0-9]+", f"{vendor} {line.part or description}".lower())
    name = "_".join(words)[:60].rstrip("_")
    text = f"{description} {line.part}".lower()
    category = next((kind for kind, word in _CATEGORIES if re.search(word, text)), None)
    figures: Mapping[str, str] = {}
    cells: Mapping[str, str] = {}
    if described is not None:
        figures, cells = described.figures, described.cells
        category = next((kind for kind in _NEEDED if kind == described.category), category)
    needed = _NEEDED[category] if category else ()
    return Asked(
        part_number=line.part,
        description=(described.model if described is not None else "") or description,
        cell=place_of(line, "description", "part"),
        id=name if name[:1].isalpha() else f"x_{name}",
        category=category,
        figures=tuple(
            path for path in needed if not any(known.startswith(path) for known in figures)
        ),
        known=dict(figures),
        cells=dict(cells),
    )


def _descriptions(rows: Iterable[Row]) -> Iterator[tuple[str, Described]]:
    """Yield the products described on the sheet of a request, by part number."""
    columns: dict[int, str] = {}
    for row in rows:
        if not columns:
            named = {at: cell.text for at, cell in row.cells.items() if cell.text in _LABELS}
            if len(named) > len(ANSWER_COLUMNS) // 2 and "Model" in named.values():
                columns = named
            continue
        cells = {columns[at]: cell for at, cell in row.cells.items() if at in columns}
        if "Part Number" not in cells:
            continue
        part = cells["Part Number"].text
        found = list(_figures(cells))
        yield (
            part,
            Described(
                cells["Model"].text if "Model" in cells else part,
                cells["Category"].text.lower().replace(" ", "_") if "Category" in cells else "",
                {path: text for path, text, _ in found},
                {path: cell for path, _, cell in found},
            ),
        )


def _figures(cells: Mapping[str, Cell]) -> Iterator[tuple[str, str, str]]:
    """Yield catalog path, text and cell of each figure; texts without a number are left out."""
    for label, cell in cells.items():
        path, unit = _LABELS[label].path, _LABELS[label].unit
        if path == "ports":
            for count, speed, network in _PORTS.findall(cell.text):
                plain = network.lower().replace(" ", "-")
                where = f"ports.{_NETWORKS.get(plain, plain)}"
                yield where, f"count: {count}, speed: {speed} Gb/s", cell.name
        elif path == "basis":
            yield path, cell.text, cell.name
        elif path:
            value = cell.value if isinstance(cell.value, float) else number(cell.text, "point")
            if value is not None:
                yield path, f"{value:.12g} {unit}".strip(), cell.name


def catalog_text(quote: Quote) -> str:
    """Return a catalog of a quote's unknown products, with the missing figures as comments."""
    products = [product for product in quote.asked if product.category is not None]
    storage = [product for product in products if product.category == "storage"]
    lines = [
        "# Figures that a plan needs of these products, as stated by the vendor. Add those behind",
        "# each '#', with their source; until then the planner leaves the product out.",
        f"catalog: {yaml_text(f'{quote.vendor}, products of a quote of {quote.date}')}",
        "sources:",
        "  quote:",
        f"    title: {yaml_text(f'Quote of {quote.vendor}, {quote.date}, file {quote.file}')}",
        *(["families:   # a file system each: join those that serve one together"] * bool(storage)),
        *(
            f"  - {{id: {product.id}_fs, vendor: {yaml_text(quote.vendor)}, "
            f"name: {yaml_text(product.description or product.part_number)}}}"
            for product in storage
        ),
        "items:",
        *(line for product in products for line in _catalog_item(product, quote.vendor)),
    ]
    return "\n".join(lines) + "\n"


def _catalog_item(product: Asked, vendor: str) -> Iterator[str]:
    yield f"  - id: {product.id}"
    yield f"    vendor: {yaml_text(vendor)}"
    yield f"    model: {yaml_text(product.description or product.part_number)}"
    if product.part_number:
        yield f"    part_number: {yaml_text(product.part_number)}"
    yield f"    category: {product.category}   # {product.cell}"
    if product.category == "storage":
        yield f"    family: {product.id}_fs"
    group = ""
    for path in sorted(product.known.keys() - {"basis"}):
        section, _, name = path.rpartition(".")
        if section and section != group:
            yield f"    {section}:"
        group = section
        yield f"    {'  ' if section else ''}{name}: {_catalog_figure(product, path)}"
    yield from (f"    # {figure}: " for figure in product.figures)


def _catalog_figure(product: Asked, path: str) -> str:
    text, note = product.known[path], yaml_text(f"as quoted, cell {product.cells[path]}")
    source = f"source: quote, confidence: medium, note: {note}"
    if path.startswith("ports."):
        return f"{{{text}, {source}}}"
    basis = product.known.get("basis", "") if path in ("provides.read", "provides.write") else ""
    if re.fullmatch(r"(nameplate|data ?sheet|specified|spec)", basis.strip().lower()):
        source += ", basis: nameplate"
    elif basis:
        source += f", basis: measured, benchmark: {yaml_text(basis)}"
    return f"{{value: {text}, {source}}}"


def yaml_text(text: str) -> str:
    """Return any text as YAML, in one line."""
    return json.dumps(one_line(text), ensure_ascii=False)


def one_line(text: str) -> str:
    """Return a text in one line without control characters."""
    return "".join(each if each.isprintable() else " " for each in text)
