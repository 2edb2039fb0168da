"""Which product of the catalogs a line is; what a request asks of products, and the answers."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from planner.quotes.grid import Cell, Grid, Row, number
from planner.schema.bill import Asked, MatchedBy, Quote, Quoted, QuoteLine
from planner.schema.catalog import Category, Item
from planner.schema.prices import Price

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
class StatedFigure:
    """A figure as a vendor tells it: its text with its unit, and its cell."""

    text: str
    cell: str


@dataclass(frozen=True)
class Described:
    """A product as its vendor describes it: its category where told, figures by their paths."""

    part_number: str
    model: str
    category: str
    figures: dict[str, StatedFigure]


def read_descriptions(grid: Grid) -> dict[str, Described]:
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


def _figures(cells: dict[str, Cell]) -> Iterator[tuple[str, StatedFigure]]:
    for question in QUESTIONS:
        cell = cells.get(question.label)
        if cell is None or not question.path:
            continue
        if question.path == "ports":
            for count, speed, network in _PORTS.findall(cell.text):
                plain = network.lower().replace(" ", "-")
                yield (f"ports.{_NETWORKS.get(plain, plain)}",
                       StatedFigure(f"count: {count}, speed: {speed} Gb/s", cell.name))  # fmt: skip
        elif question.path == "basis":
            yield "basis", StatedFigure(cell.text, cell.name)
        else:
            value = cell.value if isinstance(cell.value, float) else number(cell.text, "point")
            if value is not None:
                yield (
                    question.path,
                    StatedFigure(f"{value:.12g} {question.unit}".strip(), cell.name),
                )


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


_LEAST_PART = 5
"""Characters of a part number that is told from a word."""

_NEEDED: dict[Category, tuple[str, ...]] = {
    "gpu_system": (
        "provides.gpus", "consumes.it_power", "consumes.rack_units", "gpu.bf16_dense",
        "gpu.memory", "ports",
    ),
    "storage": (
        "provides.read", "provides.write", "provides.usable", "consumes.it_power",
        "consumes.rack_units", "ports",
    ),
    "switch": ("switch", "consumes.it_power", "consumes.rack_units"),
    "transceiver": ("consumes.it_power",),
    "cable": (),
    "rack": (),
    "pdu": ("provides.feed",),
    "cdu": ("provides.cooling", "consumes.it_power", "consumes.racks"),
    "management": ("consumes.it_power", "consumes.rack_units"),
    "software": ("licence",),
}  # fmt: skip
"""What a plan needs to know of a product of each category."""

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


def match(
    lines: Iterable[QuoteLine], items: Mapping[str, Item], said: Mapping[str, str]
) -> tuple[QuoteLine, ...]:
    """Return the lines, each with the item of the catalogs that it is.

    By what the mapping says of its part number or description; by its part number, which may be
    the id in the catalogs; or by name: all words of exactly one product's name stand in the line. A
    part number or name of several items decides nothing.

    Args:
        lines: the lines as read.
        said: ids by part number or description, as a mapping gives them.
    """
    by_part: dict[str, set[str]] = defaultdict(set)
    for item in items.values():
        if item.part_number is not None:
            by_part[_bare(item.part_number)].add(item.id)
    words = {item.id: _words(item.model) for item in items.values()}
    mapped = {_bare(key): value for key, value in said.items()}
    matched = [_matched(line, by_part, words, mapped) for line in lines]
    return tuple(_unless_bundle(line, matched[at + 1 :]) for at, line in enumerate(matched))


def _unless_bundle(line: QuoteLine, after: Sequence[QuoteLine]) -> QuoteLine:
    """Return a line without its item where a part numbered under it is that item.

    A "DGX B200 rack bundle" that holds four systems is called by their name and costs as four.
    """
    if line.item is None or line.matched_by == "mapping" or not line.line:
        return line
    under = f"{line.line.rstrip('.').removesuffix('.0')}."
    parts = takewhile(lambda each: each.line.startswith(under), after)
    if all(part.item != line.item or part.kind != "included" for part in parts):
        return line
    remark = f"what it is called is a part of it, so its price is not that of {line.item}"
    return line.model_copy(
        update={"item": None, "matched_by": None, "remarks": (*line.remarks, remark)}
    )


def _matched(
    line: QuoteLine,
    by_part: Mapping[str, set[str]],
    words: Mapping[str, frozenset[str]],
    mapped: Mapping[str, str],
) -> QuoteLine:
    if line.kind in ("subtotal", "total", "tax", "discount", "freight", "not_understood"):
        return line
    for text in (line.part_number, line.description):
        if text and _bare(text) in mapped:
            return _is(line, mapped[_bare(text)], "mapping")
    if line.part_number in words:  # an export of a plan's own bill
        return _is(line, line.part_number, "part_number")
    parts = {_bare(word) for word in (line.part_number, *line.description.split())}
    found = {item for part in parts if len(part) >= _LEAST_PART for item in by_part.get(part, ())}
    if len(found) == 1:
        return _is(line, found.pop(), "part_number")
    if found or line.kind not in ("item", "option", "included"):
        return line
    named = _named(f"{line.part_number} {line.description}", words)
    return _is(line, named, "name") if named is not None else line


def _named(text: str, words: Mapping[str, frozenset[str]]) -> str | None:
    """The one item whose name stands in a text, None for none or several.

    Hyphens part no name, a capacity decides between items only where nothing else does, and a
    vendor's own number may hold the name: MQM9700-NS2F is a QM9700, AI400X2T an AI400X2 Turbo.
    """
    if _ACCESSORY.search(text):
        return None
    plain = re.findall(r"[a-z0-9]+", _units_joined(text.lower()))
    there = _words(text) | {a + b for a, b in pairwise(plain)}
    there |= {a + b + c for a, b, c in zip(plain, plain[1:], plain[2:], strict=False)}
    heads = {_bare(word.split("-")[0]) for word in text.split()}
    found = {}
    for item, name in words.items():
        codes = {word for word in name if _is_code(word)}
        more = {word[0] for word in name if not _is_code(word) and word.isalpha()}
        sold_as = {f"m{code}" for code in codes if len(name - codes) <= len(_FAMILIES & name)}
        sold_as |= {
            code + letter for code in codes for letter in more if len(name) == len(codes) + 1
        }
        if (name <= there and (len(name) > 1 or codes)) or sold_as & heads:
            found[item] = name
    for sizes in (False, True):
        kept = {item: name if sizes else _without_capacity(name) for item, name in found.items()}
        found = {item: found[item] for item, name in kept.items()
                 if not any(name < other for other in kept.values())}  # fmt: skip
    return next(iter(found)) if len(found) == 1 else None


_ACCESSORY = re.compile(
    r"\b(cables?|cords?|rail kit|rack kit|mounting|bezel|fan (module|tray)|psu|power supply|"
    r"spare part|licen[cs]es?) .*\b(for|of)\b|\b(rail|rack|accessory|power) (kit|supply|cord)\b",
    re.I,
)
"""Parts that are named after the product that they belong to."""
_FAMILIES = frozenset({"quantum", "spectrum", "2", "3", "4", "x800"})
"""Words of names that a vendor's own numbers leave out."""


def _is_code(word: str) -> bool:
    return (
        len(word) >= _LEAST_PART
        and bool(re.search(r"\d", word) and re.search(r"[a-z]", word))
        and (not re.fullmatch(r"\d+(tb|pb|gb|gpus?|ru|kw)", word))
    )


def _without_capacity(name: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in name if not re.fullmatch(r"\d+(tb|pb)", word))


def _is(line: QuoteLine, item: str, by: MatchedBy) -> QuoteLine:
    kind = line.kind if line.kind in ("option", "included") else "item"
    return line.model_copy(update={"item": item, "matched_by": by, "kind": kind})


def _bare(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _units_joined(text: str) -> str:
    return re.sub(r"(\d) (tb|pb|gb|gpus?|ru|kw)\b", r"\1\2", text)


def _words(text: str) -> frozenset[str]:
    """Return the words of a name, in which a number and its unit are one."""
    return frozenset(re.findall(r"[a-z0-9]+", _units_joined(text.lower()))) - {
        "with",
        "and",
        "of",
        "x",
        "the",
        "for",
    }


def prices(
    lines: Sequence[QuoteLine], usd_per_unit: float, items: Mapping[str, Item]
) -> tuple[tuple[Quoted, ...], tuple[str, ...]]:
    """Return what each item of the catalogs costs by a quote, and what is to be said of it.

    The price is what is asked for after discounts, per unit. Of several lines of one item it is
    the average by quantity, which is said. Support is an item's where its line stands right under
    the item's, for as many units or one, with a term.
    """
    by_item: dict[str, list[QuoteLine]] = defaultdict(list)
    support: dict[str, list[QuoteLine]] = defaultdict(list)
    last: QuoteLine | None = None
    said = []
    for line in lines:
        if line.kind == "item" and line.item is not None and line.amount is not None:
            by_item[line.item].append(line)
            last = line
        elif line.kind in ("support", "included") and last is not None and last.item is not None:
            if line.kind == "support" or line.term_years is not None:
                support[last.item].append(line)
        elif line.kind not in ("service", "option", "included"):
            last = None
    found = []
    for item in sorted(by_item):
        bought = by_item[item]
        if len({round(line.unit_net or 0.0, 2) for line in bought}) > 1:
            cells = ", ".join(line.cells.get("unit_net", f"row {line.row}") for line in bought)
            said.append(f"{item} has several prices ({cells}); the average by quantity is taken")
        for line in bought if item in items and items[item].category == "software" else ():
            if line.term_years is not None:
                where = line.cells.get("amount", f"row {line.row}")
                said.append(
                    f"{where}: {item} for {line.term_years:g} years is taken as paid once; what is "
                    "paid each year belongs in a price book: per_year"
                )
        quoted, more = _quoted(item, bought, support[item], usd_per_unit)
        found.append(quoted)
        said += more
    return tuple(found), tuple(said)


def _quoted(
    item: str, bought: Sequence[QuoteLine], support: Sequence[QuoteLine], rate: float
) -> tuple[Quoted, list[str]]:
    quantity = math.fsum(line.quantity or 0.0 for line in bought)
    paid = math.fsum(line.amount or 0.0 for line in bought)
    lists = [line.unit_list for line in bought]
    per_year, included, said = None, None, []
    cells: list[str] = []
    for line in support:
        where = line.cells.get("amount") or line.cells.get("description") or f"row {line.row}"
        if line.term_years is None:
            said.append(f"{where}: support of {item} has no term, so it is in no price")
        elif line.amount:
            per_year = (per_year or 0.0) + line.amount / line.term_years / quantity * rate
            cells.append(where)
        else:
            included = max(included or 0.0, line.term_years)
    lead_times = {
        line.lead_time: lead_time(line.lead_time) for line in bought if line.lead_time.strip()
    }
    said += (
        f"{item}: lead time '{text}' is not understood: the book's counts"
        for text, time in lead_times.items()
        if time is None and not re.fullmatch(r"\W*|tb[ac]|n/?a", text, re.I)
    )
    said += (
        f"{line.cells.get('quantity', f'row {line.row}')}: {line.quantity:g} units of {item} are "
        "no number of units to buy"
        for line in bought
        if line.quantity is not None and (line.quantity < 0.5 or line.quantity % 1.0)
    )
    return Quoted(
        item=item,
        quantity=quantity,
        net_usd=paid / quantity * rate,
        list_usd=lists[0] * rate if lists[0] is not None and len(set(lists)) == 1 else None,
        support_usd_per_year=per_year,
        support_included_years=included,
        lead_time=max(filter(None, lead_times.values()), key=_longest, default=None),
        cells=tuple(line.cells.get("amount", f"row {line.row}") for line in bought),
        support_cells=tuple(cells),
    ), said


_FAR = 3.0
"""A price so many times off the range of the book is more likely read wrongly than offered."""


def unlikely(found: Iterable[Quoted], book: Mapping[str, Price]) -> Iterator[str]:
    """Yield prices that are far from those of a price book: of other units, or another currency."""
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
    (("storage",), r"storage|speicher|stockage|file ?systems?|appliances?"),
    (("gpu_system",), r"gpus?|dgx|hgx|servers?|compute|nvl ?\d+|rechen\w*"),
    (("switch", "transceiver", "cable"), r"networks?|netz\w*|switch(es)?|fabrics?|infiniband"),
    (("software",), r"software|licen[cs]es?|ai enterprise"),
)
"""What support is called by the products that it is for."""


def supports(label: str) -> frozenset[str]:
    """Return the categories of products that a line of support names."""
    label = re.sub(r"\bper \w+", "", label)  # "per GPU" says how many, not of what
    named = (sorts for sorts, words in _SORTS if re.search(rf"\b({words})\b", label, re.I))
    return frozenset(category for sorts in named for category in sorts)


_TIME = re.compile(
    r"(\d+(?:[.,]\d+)?)(?:\s*(?:-|–|to|bis)\s*(\d+(?:[.,]\d+)?))?\s*"
    r"(weeks?|wks?|wochen|months?|monate|(?:calendar )?days?|tage?)",
    re.I,
)


def lead_time(text: str) -> str | None:
    """Return a lead time as price books have it, rounded up; the longest of several.

    None where a text names none, or a sum: "12 weeks + 2 weeks for transport".
    """
    found = [_time(match) for match in _TIME.finditer(text)]
    if not found and re.fullmatch(r"\d+(-\d+)?", text):
        return f"{text} weeks"
    return max(found, key=_longest, default=None) if "+" not in text else None


def _time(match: re.Match[str]) -> str:
    parts = [float(end.replace(",", ".")) for end in match.groups()[:2] if end]
    unit, days = match[3].lower(), 1.0
    if unit.endswith(("day", "days", "tag", "tage")):
        unit, days = "weeks", 7.0
    ends = [math.ceil(part / days - 1e-9) for part in parts]
    shown = "-".join(map(str, dict.fromkeys(ends)))
    return f"{shown} {'months' if unit.startswith('mo') else 'weeks'}"


def _longest(lead_time: str) -> float:
    """Return the upper end of a lead time, weeks."""
    number, unit = lead_time.split()
    return float(number.split("-")[-1]) * (1.0 if unit == "weeks" else 365.25 / 12.0 / 7.0)


def products_to_ask_for(
    lines: Iterable[QuoteLine], vendor: str, described: Mapping[str, Described]
) -> tuple[Asked, ...]:
    """Return the products that no catalog has, with the figures that a plan needs of them.

    Args:
        lines: the lines, matched with the catalogs.
        vendor: who quotes.
        described: what the vendor says of products, by part number.
    """
    found: dict[str, Asked] = {}
    for line in lines:
        if line.kind not in ("item", "option") or line.item is not None:
            continue
        product = _asked(line, vendor, described.get(line.part_number))
        found.setdefault(product.id, product)
    return tuple(found.values())


def _asked(line: QuoteLine, vendor: str, described: Described | None) -> Asked:
    words = re.findall(r"[a-z0-9]+", f"{vendor} {line.part_number or line.description}".lower())
    name = "_".join(words)[:60].rstrip("_")
    text = f"{line.description} {line.part_number}".lower()
    category = next((kind for kind, word in _CATEGORIES if re.search(word, text)), None)
    figures = {} if described is None else described.figures
    if described is not None:
        category = next((kind for kind in _NEEDED if kind == described.category), category)
    needed = _NEEDED[category] if category else ()
    return Asked(
        part_number=line.part_number,
        description=(described.model if described is not None else "") or line.description,
        cell=line.cells.get("description") or line.cells.get("part") or f"row {line.row}",
        id=name if name[:1].isalpha() else f"x_{name}",
        category=category,
        figures=tuple(
            path for path in needed if not any(known.startswith(path) for known in figures)
        ),
        known={path: figure.text for path, figure in figures.items()},
        cells={path: figure.cell for path, figure in figures.items()},
    )
