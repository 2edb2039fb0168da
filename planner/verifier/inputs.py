"""What a plan was made from: items that may be bought, searched ones, quantities read as written.

Of every line of a plan the catalog entry and the price are read as text once more, by a parser of
a few lines. What is written otherwise than in the usual form (`key: {value: 14.3 kW, ...}`) is
left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from planner import shipped
from planner.figures import ITEM_UNITS
from planner.schema.catalog import Item
from planner.schema.plan import Plan
from planner.verifier.basis import DECIDED, Basis, Findings
from planner.verifier.job import measured_rate, peak_tflops

if TYPE_CHECKING:
    from planner.inputs import Inputs

QUANTITY = re.compile(r"([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?) ?([A-Za-z%][A-Za-z/%]*)?$")
FIGURE = re.compile(r"^( +)([a-z0-9_]+):(?: \{value: (\"?)([^,}\"]+)\3[,}])?")
ALIASES = {"local.copy": "local.host_copy"}
UNITS = """W 1 kW 1e3 MW 1e6 GW 1e9
    GB/s 1 TB/s 1e3 MB/s 1e-3 GB 1 TB 1e3 PB 1e6 MB 1e-3 GiB 1.073741824 TiB 1099.511627776
    s 1 ms 1e-3 min 60 h 3600 day 86400 days 86400 week 604800 weeks 604800
    USD 1 kUSD 1e3 MUSD 1e6 BUSD 1e9 RU 1 U 1 kg 1 t 1e3 lb 0.45359237
    m 1 cm 1e-2 mm 1e-3 ft 0.3048 TFLOP/s 1 PFLOP/s 1e3 Gb/s 1 Tb/s 1e3 TB/day 1 PB/day 1e3 % 0.01
    k 1e3 M 1e6 B 1e9 T 1e12"""
BASE = {u: float(factor) for u, factor in zip(UNITS.split()[::2], UNITS.split()[1::2], strict=True)}
"""Each unit in a base unit of its kind."""
ENDS = {
    "s": "s",
    "kw": "kW",
    "gb": "GB",
    "tb": "TB",
    "ru": "RU",
    "kg": "kg",
    "m": "m",
    "usd": "USD",
}
"""Unit of a field of the problem by the end of its name."""


# Items that may be bought.


def check_allowed(found: Findings, basis: Basis, plan: Plan, counts: Mapping[str, int]) -> None:
    """Require that the problem allows every item in the cluster, and that none was left out."""
    left_out = {entry.sku for entry in plan.not_considered}
    for sku, count in counts.items():
        item = basis.items[sku]
        reason = _excluded(basis, item, basis.bought(item, count)) if count else None
        if reason is None and count and item.sizes is not None:
            low, high = item.sizes.rows[0].units, item.sizes.rows[-1].units
            reason = None if low <= count <= high else f"sizes go from {low} to {high} units"
        found.require(reason is None, f"lines.{sku}: {reason}")
        found.require(not count or sku not in left_out, f"lines.{sku}: listed as not considered")


def check_searched(found: Findings, basis: Basis, plan: Plan) -> None:
    """Require that each item that may be bought was searched, or is listed with a reason."""
    left_out = {entry.sku: entry.reason for entry in plan.not_considered}
    for sku, item in basis.items.items():
        if item.category in DECIDED:
            reason = _excluded(basis, item, 0 if basis.sale(item).owned else 1)
            real = reason is not None or _may_be(basis, item, left_out.get(sku, ""))
            once = (sku in plan.searched) != (sku in left_out) and (real or sku in plan.searched)
            found.require(once, f"searched: {sku} was not, and nothing excludes it")
            right = reason is None or sku in left_out
            found.require(right, f"not_considered: {sku} is missing, {reason}")


def _may_be(basis: Basis, item: Item, reason: str) -> bool:
    """Whether a reason to leave an item out can be true."""
    if reason.startswith("no price"):
        return item.id not in basis.inputs.prices
    if not reason.startswith("not known"):
        return True
    facts: list[Any] = [basis.rated_kw(item), basis.stated(item, "rack_units")]
    if item.category == "storage":
        read, write = item.provides.read, item.provides.write
        facts += [item.sizes or (read and (item.is_bulk or write)) or None, item.provides.usable]
    else:
        local, precisions = item.local, basis.job.training.precisions
        rates = [measured_rate(item, basis.job, p) or peak_tflops(item, p) for p in precisions]
        facts += [item.provides.gpus, local.host_copy, local.write, local.capacity, *rates]
    return None in facts


def _excluded(basis: Basis, item: Item, bought: int) -> str | None:
    """Why the problem or the price book keeps an item out of the cluster; None if neither does."""
    problem, consider = basis.problem, basis.problem.consider
    system, decided = item.category == "gpu_system", item.category in DECIDED
    names = consider.gpu_systems if system else consider.storage_families
    named = names is None or item.is_bulk or (item.id if system else item.family) in names
    named = named and (consider.vendors is None or item.vendor in consider.vendors)
    clusters = [family.cluster for family in basis.inputs.families if family.cluster]
    priced = {part.item for cluster in clusters for part in cluster.parts} | {*basis.inputs.prices}
    reasons = {
        "a component is not bought alone": item.category == "component",
        "excluded by the problem": basis.rule(item.id).exclude,
        "no data set is on the bulk tier": item.is_bulk and not problem.job.in_bulk,
        f"vendor {item.vendor} is forbidden": item.vendor in problem.policy.forbid_vendors,
        "not to be considered": decided and not named,
        f"lifecycle is {item.lifecycle}": decided
        and bought > 0
        and item.lifecycle not in consider.lifecycle,
        "no price": bought > 0 and item.id not in priced,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


# Quantities read back.


def unit_faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Quantities of the plan's files that were read otherwise than they are written.

    Args:
        inputs: as they were loaded from files, without later changes.
        plan: whose items are read back.
    """
    found, document = Findings(), inputs.document
    if document is None:
        return ()
    _read_problem(found, document.data, inputs.problem, "")
    skus = {line.sku for line in plan.lines}
    for text in _texts(inputs.problem.catalogs, shipped.catalog_files(), document.folder):
        for sku, path, quantity in _figures(text, skus):
            unit = ITEM_UNITS.get(path)
            own = None if unit is None else _read_quantity(quantity, unit)
            figure = attrgetter(ALIASES.get(path, path))(inputs.by_id[sku]) if own else None
            if figure is not None:
                name = f"{sku}: {path} read back from '{quantity}', {unit}"
                found.expect(name, figure.value, own)
    named = inputs.problem.prices or (shipped.DEFAULT_PRICES,)
    books = (named,) if isinstance(named, str) else named
    for text in _texts(books, shipped.price_files(), document.folder) if len(books) == 1 else ():
        for sku, block in _blocks(text, r"  ([a-z0-9_]+):", skus):
            match = re.search(r"\blist: ([\d.]+ [kMB]?USD)\b", "\n".join(block))
            usd = None if match is None else _read_quantity(match[1], "USD")
            price = inputs.prices.get(sku)
            if usd is not None and price is not None and not price.parts:
                found.expect(f"{sku}: list price read back, USD", price.list_usd, usd)
    return tuple(found.disagreements)


def _read_problem(found: Findings, data: Any, model: Any, path: str) -> None:
    """Compare the quantities of the problem's raw data with the model's fields."""
    for key, raw in data.items() if isinstance(data, dict) else ():
        fields = type(model).model_fields if isinstance(model, BaseModel) else {}
        name = next((n for n, field in fields.items() if key in (n, field.alias)), "")
        field, place = getattr(model, name, None), f"{path}.{key}".strip(".")
        unit = ENDS.get(name.rpartition("_")[2], "")
        if isinstance(raw, str) and isinstance(field, float) and unit:
            own = _read_quantity(raw, unit)
            found.expect(f"{place} read back from '{raw}'", field, field if own is None else own)
        pairs = zip(raw, field, strict=False) if isinstance(field, tuple) else [(raw, field)]
        for one, part in pairs:
            _read_problem(found, one, part, place)


def _read_quantity(text: str, unit: str) -> float | None:
    """A quantity in a unit; None where it is none, or in a unit that is not read here."""
    found = QUANTITY.match(text.strip())
    if found is None or (found[2] and found[2] not in BASE):
        return None
    plain = unit if unit in BASE else ""
    if bool(plain) != bool(found[2]) and found[2] not in ("%", "k", "M", "B", "T"):
        return float(found[1]) if not plain and not found[2] else None
    return float(found[1]) * BASE.get(found[2] or "", 1.0) / BASE.get(plain, 1.0)


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
