"""The products that a vendor describes and no catalog has, as a catalog has them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from planner.schema.quote import Asked, Quote


def catalog_text(quote: Quote) -> str:
    """Return a catalog of the products that are not known, with what a plan needs of them."""
    products = [product for product in quote.asked if product.category is not None]
    lines = [
        "# What a plan needs of these products, as far as the vendor says it. Fill in what stands",
        "# behind each '#', with its source; until then the planner leaves them out and says why.",
        f"catalog: {yaml_text(f'{quote.vendor}, products of a quote of {quote.date}')}",
        "sources:",
        "  quote:",
        f"    title: {yaml_text(f'Quote of {quote.vendor}, {quote.date}, file {quote.file}')}",
    ]
    storage = [product for product in products if product.category == "storage"]
    if storage:
        lines.append("families:   # one file system each: join those that serve one together")
        lines += [
            f"  - {{id: {product.id}_fs, vendor: {yaml_text(quote.vendor)}, "
            f"name: {yaml_text(product.description or product.part_number)}}}"
            for product in storage
        ]
    lines.append("items:")
    for product in products:
        lines += _product(product, quote.vendor)
    return "\n".join(lines) + "\n"


def _product(product: Asked, vendor: str) -> Iterator[str]:
    yield f"  - id: {product.id}"
    yield f"    vendor: {yaml_text(vendor)}"
    yield f"    model: {yaml_text(product.description or product.part_number)}"
    if product.part_number:
        yield f"    part_number: {yaml_text(product.part_number)}"
    yield f"    category: {product.category}   # {product.cell}"
    if product.category == "storage":
        yield f"    family: {product.id}_fs"
    basis = _basis(product.known.get("basis", ""))
    group = ""
    for path in sorted(product.known.keys() - {"basis"}):
        section, _, name = path.rpartition(".")
        if section and section != group:
            yield f"    {section}:"
        group = section
        yield f"    {'  ' if section else ''}{name}: {_figure(product, path, basis)}"
    yield from (f"    # {figure}: " for figure in product.figures)


def _figure(product: Asked, path: str, basis: str) -> str:
    text, cell = product.known[path], product.cells[path]
    source = f"source: quote, confidence: medium, note: {yaml_text(f'as quoted, cell {cell}')}"
    if path.startswith("ports."):
        return f"{{{text}, {source}}}"
    return f"{{value: {text}, {source}{basis if path in _BANDWIDTHS else ''}}}"


_BANDWIDTHS = ("provides.read", "provides.write")


def _basis(text: str) -> str:
    """Return on which basis a vendor says that its bandwidth stands, as catalogs write it."""
    if not text:
        return ""
    if re.fullmatch(r"(nameplate|data ?sheet|specified|spec)", text.strip().lower()):
        return ", basis: nameplate"
    return f", basis: measured, benchmark: {yaml_text(text)}"


def yaml_text(text: str) -> str:
    """Return a text as YAML takes it, whatever stands in it."""
    return json.dumps(one_line(text), ensure_ascii=False)


def one_line(text: str) -> str:
    """Return a text in one line without what steers a terminal."""
    return "".join(each if each.isprintable() else " " for each in text)
