"""Products of a quote: catalog items with their prices, and those that no catalog has."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from planner.quotes.cells import Cell, Grid, Row, number
from planner.quotes.lines import Line
from planner.schema.bill import Asked, Quoted
from planner.schema.catalog import Category, Item
from planner.schema.prices import Price

_LEAST_CODE = 5
"""Characters that make a part number."""
_ACCESSORY = re.compile(
    r"\b(cables?|cords?|transceivers?|optics?|rail kit|rack kit|mounting|bezel|fan (module|tray)|"
    r"psu|power supply|spare part|licen[cs]es?) .*\b(for|of)\b|"
    r"\b(rail|rack|accessory|power) (kit|supply|cord)\b",
    re.I,
)
"""Parts that carry the name of their product."""
_FAMILIES = frozenset({"quantum", "spectrum", "2", "3", "4", "x800"})
"""Words of names that are not in a vendor's own numbers."""
_FILLERS = frozenset({"with", "and", "of", "x", "the", "for", "hgx"})


def recognise_items(
    lines: Sequence[Line], items: Mapping[str, Item], mapped: Mapping[str, str]
) -> None:
    """Set the item of each line: by mapping, by part number or id, or by name.

    A line has a name where all words of exactly one product's name are in it. A part number or name
    of several items decides nothing.

    Args:
        lines: the lines of a quote.
        items: the known items by id.
        mapped: ids by part number or description.
    """
    by_part: dict[str, set[str]] = defaultdict(set)
    for item in items.values():
        if item.part_number is not None:
            by_part[_bare(item.part_number)].add(item.id)
    names = {item.id: _name(item) for item in items.values()}
    ids = {_bare(key): value for key, value in mapped.items()}
    for line in lines:
        _recognise(line, by_part, names, ids)
    for at, line in enumerate(lines):
        _clear_bundle(line, lines[at + 1 :])
    without_term = {line.item for line in lines if line.term_years is None}
    for line in lines:  # "Keep Your Drive 5 years for F910" is a service of the F910
        if line.kind == "item" and line.matched_by == "name" and line.term_years:
            if line.item in without_term:
                line.kind, line.item, line.matched_by = "support", None, None


def _name(item: Item) -> frozenset[str]:
    """The words of an item's name; one word that is no code needs its vendor's name, too."""
    words = _words(item.model)
    alone = len(words) == 1 and not any(map(_is_code, words))
    return words | _words(item.vendor.split()[0]) if alone else words


def _recognise(
    line: Line,
    by_part: Mapping[str, set[str]],
    names: Mapping[str, frozenset[str]],
    mapped: Mapping[str, str],
) -> None:
    if line.kind in ("subtotal", "total", "tax", "discount", "freight", "not_understood"):
        return
    description = line.texts.get("description", "")
    for text in (line.part, description):
        if text and _bare(text) in mapped:
            line.item, line.matched_by = mapped[_bare(text)], "mapping"
    if line.item is None and line.part in names:  # an export of a plan's own bill
        line.item, line.matched_by = line.part, "part_number"
    if line.item is None:
        parts = {_bare(word) for word in (line.part, *description.split())}
        found = {id_ for part in parts if len(part) >= _LEAST_CODE for id_ in by_part.get(part, ())}
        if len(found) == 1:
            line.item, line.matched_by = found.pop(), "part_number"
        elif not found and line.kind in ("item", "option", "included"):
            line.item = find_by_name(f"{line.part} {description}", names)
            line.matched_by = "name" if line.item is not None else None
    if line.item is not None and line.kind not in ("option", "included"):
        line.kind = "item"


def _clear_bundle(line: Line, after: Sequence[Line]) -> None:
    """Clear the item of a bundle that is called after a part numbered under it.

    A "DGX B200 rack bundle" of four systems costs as four.
    """
    if line.item is None or line.matched_by == "mapping" or not line.number:
        return
    parts = takewhile(line.under(), after)
    if any(part.item == line.item and part.kind == "included" for part in parts):
        line.remarks.append(f"the name is that of a part, so its price is not that of {line.item}")
        line.item = line.matched_by = None


def find_by_name(text: str, names: Mapping[str, frozenset[str]]) -> str | None:
    """The one item with its name in a text, None for none or several.

    Hyphens separate no words, and a capacity decides only between items that are equal otherwise.
    A vendor's number may hold the name: MQM9700-NS2F is a QM9700, AI400X2T an AI400X2 Turbo.

    Args:
        text: part number and description.
        names: the words of each item's name, by id.
    """
    if _ACCESSORY.search(text):
        return None
    plain = re.findall(r"[a-z0-9]+", _joined_units(text.lower()))
    there = _words(text) | {a + b for a, b in pairwise(plain)}
    there |= {a + b + c for a, b, c in zip(plain, plain[1:], plain[2:], strict=False)}
    heads = {_bare(word.split("-")[0]) for word in text.split()}
    found = {item: name for item, name in names.items() if _is_named(name, there, heads)}
    for capacities in (False, True):
        kept = {
            item: name if capacities else _without_capacity(name) for item, name in found.items()
        }
        found = {
            item: found[item]
            for item, name in kept.items()
            if not any(name < other for other in kept.values())
        }
    return next(iter(found)) if len(found) == 1 else None


def _is_named(name: frozenset[str], there: set[str] | frozenset[str], heads: set[str]) -> bool:
    codes = {word for word in name if _is_code(word)}
    if name <= there and (len(name) > 1 or codes):
        return True
    if len(name - codes) <= len(_FAMILIES & name):  # its number says all: QM9700, MQM9700-NS2F
        return bool(codes) and (codes <= there or bool({f"m{code}" for code in codes} & heads))
    letters = {word[0] for word in name - codes if word.isalpha()}
    lettered = {code + letter for code in codes for letter in letters}
    return len(name) == len(codes) + 1 and bool(lettered & heads)


def _is_code(word: str) -> bool:
    mixed = re.search(r"\d", word) and re.search(r"[a-z]", word)
    unit = re.fullmatch(r"\d+(tb|pb|gb|gpus?|ru|kw)", word)
    return len(word) >= _LEAST_CODE and bool(mixed) and not unit


def _without_capacity(name: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in name if not re.fullmatch(r"\d+(tb|pb)", word))


def _bare(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _joined_units(text: str) -> str:
    return re.sub(r"(\d) (tb|pb|gb|gpus?|ru|kw)\b", r"\1\2", text)


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", _joined_units(text.lower()))) - _FILLERS


# Prices.


def item_prices(
    lines: Sequence[Line], items: Mapping[str, Item], usd_per_unit: float
) -> tuple[tuple[Quoted, ...], tuple[str, ...]]:
    """The net price of each quoted item, and findings about the prices.

    Several lines of an item give the average by quantity. Support belongs to the item above it,
    unless it names another one.
    """
    quoted = {line.item for line in lines if line.kind == "item"}
    names = {id_: _name(item) for id_, item in items.items() if id_ in quoted}
    bought: dict[str, list[Line]] = defaultdict(list)
    support: dict[str, list[Line]] = defaultdict(list)
    last: str | None = None
    for line in lines:
        priced = line.amount is not None and line.figures.get("quantity")
        if line.kind == "item" and line.item is not None and priced:
            bought[line.item].append(line)
            last = line.item
        elif line.kind == "support" or (line.kind == "included" and line.term_years is not None):
            named = find_by_name(f"{line.part} {line.label}", names)
            if named is not None and not names[named] <= names.get(last or "", frozenset()):
                support[named].append(line)
            elif last is not None:
                support[last].append(line)
        elif line.kind not in ("service", "option", "included"):
            last = None
    prices, findings = [], []
    for item, own in sorted(bought.items()):
        prices.append(_quoted(item, own, support[item], usd_per_unit))
        if len({round(line.figures.get("unit_net", 0.0), 2) for line in own}) > 1:
            cells = ", ".join(place_of(line, "unit_net") for line in own)
            findings.append(
                f"{item} has several prices ({cells}); the average by quantity is taken"
            )
        findings += [
            f"{place_of(line, 'amount', 'description')}: support of {item} has no term, so it is "
            "in no price"
            for line in support[item]
            if line.term_years is None
        ]
    return tuple(prices), tuple(findings)


def place_of(line: Line, *names: str) -> str:
    """The first of some cells of a line, otherwise its row."""
    cells = (line.cells[name] for name in names or ("amount",) if name in line.cells)
    return next(cells, f"row {line.row.number}")


def _quoted(item: str, bought: Sequence[Line], support: Sequence[Line], rate: float) -> Quoted:
    quantity = math.fsum(line.figures.get("quantity", 0.0) for line in bought)
    lists = {line.figures.get("unit_list") for line in bought}
    listed = lists.pop() if len(lists) == 1 else None
    termed = [(line, line.term_years) for line in support if line.term_years is not None]
    paid = [(line, (line.amount or 0.0) / term) for line, term in termed if line.amount]
    times = filter(None, (lead_time(line.texts.get("lead_time", "")) for line in bought))
    return Quoted(
        item=item,
        quantity=quantity,
        net_usd=math.fsum(line.amount or 0.0 for line in bought) / quantity * rate,
        list_usd=None if listed is None else listed * rate,
        support_usd_per_year=sum(each for _, each in paid) / quantity * rate if paid else None,
        support_included_years=max((t for line, t in termed if not line.amount), default=None),
        lead_time=max(times, key=lambda text: float(re.split("[- ]", text)[-2]), default=None),
        cells=tuple(map(place_of, bought)),
        support_cells=tuple(place_of(line, "amount", "description") for line, _ in paid),
    )


_FAR = 3.0
"""A price so far outside the book's range is rather read wrongly than offered."""


def unlikely_prices(found: Iterable[Quoted], book: Mapping[str, Price]) -> Iterator[str]:
    """Yield prices far from those of a price book: other units, or another currency."""
    for quoted in found:
        price = book.get(quoted.item)
        if price is None or not price.list_usd:
            continue
        low, high = price.low_usd or price.list_usd, price.high_usd or price.list_usd
        if not low / _FAR <= quoted.net_usd <= high * _FAR:
            yield (
                f"{', '.join(quoted.cells)}: {quoted.net_usd:,.2f} USD for one {quoted.item} is "
                f"far from the {price.list_usd:,.2f} USD of the price book: is it the price of one "
                "unit, and in this currency?"
            )


_SORTS = (
    (("storage",), r"storage|speicher|file ?systems?|appliances?"),
    (("gpu_system",), r"gpus?|dgx|hgx|servers?|compute|nvl ?\d+|rechen\w*"),
    (("switch", "transceiver", "cable"), r"networks?|netz\w*|switch(es)?|fabrics?|infiniband"),
    (("software",), r"software|licen[cs]es?|ai enterprise"),
)


def supported_categories(label: str) -> frozenset[str]:
    """The categories of products that a line of support names, none for support of all."""
    label = re.sub(r"\bper \w+", "", label)  # "per GPU" is the quantity
    named = (sorts for sorts, words in _SORTS if re.search(rf"\b({words})\b", label, re.I))
    return frozenset(category for sorts in named for category in sorts)


_TIME = re.compile(
    r"(\d+(?:[.,]\d+)?)(?:\s*(?:-|–|to|bis)\s*(\d+(?:[.,]\d+)?))?\s*"
    r"(weeks?|wks?|wochen|months?|monate|(?:calendar )?days?|tage?)",
    re.I,
)


def lead_time(text: str) -> str | None:
    """A lead time in weeks as price books have it, rounded up.

    None where a text has none, or a sum: "12 weeks + 2 weeks for transport".
    """
    match = _TIME.search(text)
    if match is None or "+" in text:
        return f"{text} weeks" if re.fullmatch(r"\d+(-\d+)?", text) else None
    unit = match[3].lower()
    weeks = 365.25 / 84.0 if unit.startswith("mo") else 1.0 if unit.startswith("w") else 1.0 / 7.0
    ends = [float(end.replace(",", ".")) * weeks for end in match.groups()[:2] if end]
    return f"{'-'.join(dict.fromkeys(str(math.ceil(end - 1e-9)) for end in ends))} weeks"


# Products that no catalog has

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

_NEEDED: dict[Category, str] = {
    "gpu_system": "provides.gpus consumes.it_power consumes.rack_units gpu.bf16_dense gpu.memory "
    "ports",
    "storage": "provides.read provides.write provides.usable consumes.it_power "
    "consumes.rack_units ports",
    "switch": "switch consumes.it_power consumes.rack_units",
    "transceiver": "consumes.it_power",
    "cable": "",
    "rack": "",
    "pdu": "provides.feed",
    "cdu": "provides.cooling consumes.it_power consumes.racks",
    "management": "consumes.it_power consumes.rack_units",
    "software": "licence",
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


class _Described(NamedTuple):
    """A product as its vendor describes it; texts with units, and their cells, by catalog path."""

    model: str
    category: str
    figures: dict[str, str]
    cells: dict[str, str]


def unknown_products(lines: Iterable[Line], vendor: str, grid: Grid) -> tuple[Asked, ...]:
    """Products of a quote that no catalog has, with known and missing figures."""
    described = {part: each for rows in grid.sheets.values() for part, each in _descriptions(rows)}
    found: dict[str, Asked] = {}
    for line in lines:
        if line.kind not in ("item", "option") or line.item is not None:
            continue
        description = line.texts.get("description", "")
        words = re.findall(r"[a-z0-9]+", f"{vendor} {line.part or description}".lower())
        name = "_".join(words)[:60].rstrip("_")
        name = name if name[:1].isalpha() else f"x_{name}"
        text = f"{description} {line.part}".lower()
        category = next((kind for kind, word in _CATEGORIES if re.search(word, text)), None)
        own = described.get(line.part, _Described("", "", {}, {}))
        category = next((kind for kind in _NEEDED if kind == own.category), category)
        needed = _NEEDED[category].split() if category else []
        product = Asked(
            part_number=line.part,
            description=own.model or description,
            cell=place_of(line, "description", "part"),
            id=name,
            category=category,
            figures=tuple(
                path for path in needed if not any(known.startswith(path) for known in own.figures)
            ),
            known=own.figures,
            cells=own.cells,
        )
        found.setdefault(name, product)
    return tuple(found.values())


def _descriptions(rows: Iterable[Row]) -> Iterator[tuple[str, _Described]]:
    """Yield the products described on the sheet of a request, by part number."""
    columns: dict[int, str] = {}
    for row in rows:
        if not columns:
            named = {at: cell.text for at, cell in row.cells.items() if cell.text in _LABELS}
            if len(named) > len(ANSWER_COLUMNS) // 2 and "Model" in named.values():
                columns = named
            continue
        cells = {columns[at]: cell for at, cell in row.cells.items() if at in columns}
        texts = {label: cell.text for label, cell in cells.items()}
        if "Part Number" in texts:
            part, found = texts["Part Number"], list(_figures(cells))
            category = texts.get("Category", "").lower().replace(" ", "_")
            figures = {path: text for path, text, _ in found}
            places = {path: cell for path, _, cell in found}
            yield part, _Described(texts.get("Model", part), category, figures, places)


def _figures(cells: Mapping[str, Cell]) -> Iterator[tuple[str, str, str]]:
    """Yield catalog path, text and cell of each figure; texts without a number are left out."""
    for label, cell in cells.items():
        path, unit = _LABELS[label].path, _LABELS[label].unit
        if path == "ports":
            for count, speed, network in _PORTS.findall(cell.text):
                plain = network.lower().replace(" ", "-")
                where = f"ports.{_NETWORKS.get(plain, plain)}"
                yield where, f"{count} x {speed} Gb/s", cell.name
        elif path == "basis":
            yield path, cell.text, cell.name
        elif path:
            value = cell.value if isinstance(cell.value, float) else number(cell.text, "point")
            if value is not None:
                yield path, f"{value:.12g} {unit}".strip(), cell.name


def yaml_text(text: str) -> str:
    """Any text as YAML, in one line."""
    return json.dumps(one_line(text), ensure_ascii=False)


def one_line(text: str) -> str:
    """A text in one line without control characters."""
    return "".join(each if each.isprintable() else " " for each in text)
