"""Units proven: quantities read from the raw files once more, by a parser of a few lines.

Of every line of a plan the catalog entry and the price are read as text; of the problem every
quantity. What is written otherwise than in the usual form (`key: {value: 14.3 kW, ...}`) is left
out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner import shipped
from planner.figures import ITEM_UNITS
from planner.paths import field_of
from planner.schema.plan import Plan
from planner.verifier.basis import Findings

if TYPE_CHECKING:
    from planner.inputs import Inputs

QUANTITY = re.compile(r"([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?) ?([A-Za-z%][A-Za-z/%]*)?$")
FIGURE = re.compile(r"^( +)([a-z0-9_]+):(?: \{value: (\"?)([^,}\"]+)\3[,}])?")
ALIASES = {"local.copy": "local.host_copy"}
UNITS = """W 1 kW 1e3 MW 1e6 GW 1e9
    GB/s 1 TB/s 1e3 MB/s 1e-3 GB 1 TB 1e3 PB 1e6 MB 1e-3 GiB 1.073741824 TiB 1099.511627776
    s 1 ms 1e-3 min 60 h 3600 day 86400 days 86400 week 604800 weeks 604800
    USD 1 kUSD 1e3 MUSD 1e6 BUSD 1e9 USD/kWh 1 USD/MWh 1e-3 USD/kW/month 1
    RU 1 U 1 kg 1 t 1e3 lb 0.45359237 m 1 cm 1e-2 mm 1e-3 ft 0.3048
    TFLOP/s 1 PFLOP/s 1e3 Gb/s 1 Tb/s 1e3 TB/day 1 PB/day 1e3 % 0.01 k 1e3 M 1e6 B 1e9 T 1e12"""
BASE = {u: float(factor) for u, factor in zip(UNITS.split()[::2], UNITS.split()[1::2], strict=True)}
"""Each unit in a base unit of its kind."""
ENDS = """usd_per_kwh USD/kWh usd_per_kw_month USD/kW/month usd_per_year USD gb_per_s GB/s
    gbit_per_s Gb/s usd USD kw kW gb GB tb TB days day ru RU kg kg s s m m"""
SUFFIXES = dict(zip(ENDS.split()[::2], ENDS.split()[1::2], strict=True))
"""The unit of a field of the problem by the end of its name, longer ends first."""


def read_quantity(text: str, unit: str) -> float | None:
    """Return a quantity in a unit; None where it is none, or in a unit that is not read here."""
    found = QUANTITY.match(text.strip())
    if found is None or (found[2] and found[2] not in BASE):
        return None
    plain = unit if unit in BASE else ""
    if bool(plain) != bool(found[2]) and found[2] not in ("%", "k", "M", "B", "T"):
        return float(found[1]) if not plain and not found[2] else None
    return float(found[1]) * BASE.get(found[2] or "", 1.0) / BASE.get(plain, 1.0)


def unit_faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Return quantities of the plan's files that were read otherwise than they are written.

    Args:
        inputs: as they were loaded from files, without later changes.
        plan: whose items are read back.
    """
    found, document = Findings(), inputs.document
    if document is None:
        return ()
    _check_problem(found, document.data, inputs.problem, "")
    skus = {line.sku for line in plan.lines}
    for text in _texts(inputs.problem.catalogs, shipped.catalog_files(), document.folder):
        for sku, path, quantity in _figures(text, skus):
            unit = ITEM_UNITS.get(path)
            own = None if unit is None else read_quantity(quantity, unit)
            figure = attrgetter(ALIASES.get(path, path))(inputs.by_id[sku]) if own else None
            if figure is not None:
                name = f"{sku}: {path} read back from '{quantity}', {unit}"
                found.expect(name, figure.value, own)
    named = inputs.problem.prices or (shipped.DEFAULT_PRICES,)
    books = (named,) if isinstance(named, str) else named
    for text in _texts(books, shipped.price_files(), document.folder) if len(books) == 1 else ():
        for sku, usd in _listed(text, skus):
            price = inputs.prices.get(sku)
            if price is not None and not price.parts:
                found.expect(f"{sku}: list price read back, USD", price.list_usd, usd)
    return tuple(found.disagreements)


def _texts(names: Any, known: Mapping[str, Path], folder: Path) -> Iterator[str]:
    for name in known if names is None else names:
        path = known.get(name, folder / name)
        if path.is_file():
            yield path.read_text("utf-8")


def _blocks(text: str, start: str, skus: set[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines of each item's entry, which begins with ``start`` and its id."""
    sku, block = "", list[str]()
    for line in (*text.splitlines(), "end"):
        match = re.match(start, line)
        if match or (line and not line.startswith(" ")):
            if sku in skus:
                yield sku, block
            sku, block = (match[1] if match else ""), []
        block.append(line)


def _figures(text: str, skus: set[str]) -> Iterator[tuple[str, str, str]]:
    """Yield (item, dotted figure, quantity as written) of a catalog."""
    for sku, block in _blocks(text, r"  - id: ([a-z0-9_]+)\s*$", skus):
        section = ""
        for match in filter(None, map(FIGURE.match, block)):
            if match[4] is None and len(match[1]) == 4:
                section = f"{match[2]}."
            elif match[4] is not None:
                yield sku, f"{section if len(match[1]) > 4 else ''}{match[2]}", match[4]


def _listed(text: str, skus: set[str]) -> Iterator[tuple[str, float]]:
    """Yield (item, list price in USD) of a price book."""
    for sku, block in _blocks(text, r"  ([a-z0-9_]+):", skus):
        match = re.search(r"\blist: ([\d.]+ [kMB]?USD)\b", "\n".join(block))
        usd = None if match is None else read_quantity(match[1], "USD")
        if usd is not None:
            yield sku, usd


def _check_problem(found: Findings, data: Any, model: Any, path: str) -> None:
    """Compare every quantity of the problem's raw data with the model's field."""
    for key, raw in data.items() if isinstance(data, dict) else ():
        place = f"{path}.{key}" if path else str(key)
        try:
            kind: Any = type(model)
            name = field_of(kind, key, place)
        except (KeyError, AttributeError):
            continue
        value = getattr(model, name)
        if isinstance(raw, dict):
            _check_problem(found, raw, value, place)
        elif isinstance(raw, list | tuple) and isinstance(value, tuple):
            for number, (entry, one) in enumerate(zip(raw, value, strict=False)):
                _check_problem(found, entry, one, f"{place}.{number}")
        elif isinstance(raw, str) and isinstance(value, float):
            unit = next((unit for end, unit in SUFFIXES.items() if name.endswith(f"_{end}")), "")
            own = read_quantity(raw, unit)
            if own is not None:
                found.expect(f"{place} read back from '{raw}'", value, own)
