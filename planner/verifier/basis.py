"""Problem, catalogs and prices as the verifier reads them: figures of one unit, terms of buying.

`unit_faults` reads the quantities of a plan's files once more, by a parser of a few lines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel

from planner import shipped
from planner.figures import ITEM_UNITS
from planner.loader.documents import parse
from planner.schema.catalog import Item
from planner.schema.job import Job
from planner.schema.plan import Plan
from planner.schema.prices import Price
from planner.schema.problem import Network, Problem, Pue, Quantity

if TYPE_CHECKING:
    from planner.inputs import Inputs

RELATIVE = 1e-9
"""Above the noise of summing floats in another order, below any real difference."""
DECIDED = ("gpu_system", "storage")
"""Categories whose counts a plan decides; all other counts follow."""
DRAWLESS = {"cable", "rack", "pdu", "software", "service"}
OF_UNIT: dict[str, tuple[set[str], Callable[[Item], Any]]] = {
    "it_power_kw": (DRAWLESS, lambda part: part.consumes.it_power),
    "typical_kw": (DRAWLESS, lambda part: part.consumes.typical_power or part.consumes.it_power),
    "rack_units": (DRAWLESS | {"transceiver"}, lambda part: part.consumes.rack_units),
    "weight_kg": (DRAWLESS - {"rack", "pdu"} | {"transceiver"}, lambda part: part.consumes.weight),
}
"""Categories without a figure, and its entry in a catalog."""


class Near(NamedTuple):
    """A value that rounding leaves open by ``noise``."""

    value: float
    noise: float


class Findings:
    """Differences of a plan from its recomputation, and broken limits as (name, text)."""

    def __init__(self) -> None:
        self.disagreements: tuple[str, ...] = ()
        self.breaches: tuple[tuple[str, str], ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Every finding as one text."""
        return (*self.disagreements, *(f"{name}: {text}" for name, text in self.breaches))

    def require(self, holds: bool, text: str) -> bool:
        """Add a difference unless ``holds``."""
        self.disagreements += () if holds else (text,)
        return holds

    def expect(self, path: str, stated: Any, own: Any) -> None:
        """Compare a value of the plan, or fields of a record, with the recomputation."""
        if isinstance(own, dict) and isinstance(stated, BaseModel):
            for name, value in own.items():
                self.expect(f"{path}.{name}", getattr(stated, name), value)
        elif not agrees(stated, own):
            self.require(False, f"{path}: plan says {write(stated)}, recomputed {write(own)}")

    def at_most(self, path: str, stated: float, most: float) -> None:
        """Require that a value is at most another one, within ``RELATIVE``."""
        text = f"{path}: plan says {write(stated)}, at most {write(most)} possible"
        self.require(stated <= most + RELATIVE * max(abs(stated), abs(most)), text)


def agrees(stated: Any, own: Any) -> bool:
    """True if two values are the same; an unknown figure (None) equals an unknown one only."""
    if isinstance(own, Near):
        noise = own.noise + RELATIVE * abs(own.value)
        return stated is not None and abs(stated - own.value) <= noise
    if isinstance(stated, float) or isinstance(own, float):
        if not isinstance(stated, float | int) or not isinstance(own, float | int):
            return False
        return math.isclose(stated, own, rel_tol=RELATIVE, abs_tol=1e-12)
    return bool(stated == own)


def write(value: Any) -> str:
    """A value as messages show it."""
    if value is None:
        return "not known"
    value = value.value if isinstance(value, Near) else value
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def round_up(amount: float) -> int:
    """The least whole number that is not less, but for float noise."""
    return math.ceil(amount - RELATIVE * max(1.0, abs(amount)))


def value(figure: Any) -> Any:
    """Value of a catalog figure, None where it is not stated."""
    return None if figure is None else figure.value


def times(figure: float | None, factor: float | None) -> float | None:
    """A product, None where a factor is not known."""
    return None if figure is None or factor is None else figure * factor


def total(parts: Iterable[float | None]) -> float | None:
    """A sum, None where a part is not known."""
    found = list(parts)
    return None if None in found else sum(each for each in found if each is not None)


def present_years(start: float, end: float, rate: float) -> float:
    """Present value of 1 per year from ``start`` to ``end``, each paid at its end."""
    years = range(1, math.ceil(end) + 1)
    return sum(max(0.0, min(y, end) - max(y - 1, start)) / (1 + rate) ** y for y in years)


class Sale(NamedTuple):
    """Terms of buying an item; support is paid from ``start`` to ``end`` years of the term."""

    price: Price | None
    discount: float
    owned: int
    spare_share: float
    pack: int
    min_order: int
    start: float
    end: float | None

    @property
    def net_usd(self) -> float | None:
        """Net price of one unit before it is rounded to cents, None without a price."""
        return None if self.price is None else self.price.list_usd * (1 - self.discount)

    def order(self, count: int) -> int:
        """Units to buy so that ``count`` are there, owned ones included."""
        wanted = count - self.owned
        return 0 if wanted <= 0 else -(-max(wanted, self.min_order) // self.pack) * self.pack

    def support_usd_per_year(self, net_usd: float) -> float:
        """Support of one unit bought at a price."""
        given = self.price.support_per_year if self.price else None
        if given is None:
            return 0.0
        return given.usd if given.share is None else given.share * net_usd

    @property
    def lead_time_days(self) -> float | None:
        """The upper end of the lead time, such as of ``8-12 weeks``."""
        if self.price is None or self.price.lead_time is None:
            return None
        most, unit = self.price.lead_time.rpartition("-")[2].split()
        return float(most) * (7 if unit == "weeks" else 365.25 / 12)


@dataclass(frozen=True)
class Basis:
    """Problem, items and prices that a plan is judged by.

    ``job`` and ``network`` have the options that the plan chose; ``power_share`` is the share of
    its rated power at which a GPU system of the job is provisioned.
    """

    inputs: Inputs
    job: Job
    network: Network
    power_share: Mapping[str, float]

    @classmethod
    def from_inputs(cls, inputs: Inputs) -> Basis:
        """The basis of inputs, no option chosen."""
        return cls(inputs, inputs.problem.jobs[0], inputs.problem.network, {})

    @property
    def problem(self) -> Problem:
        """The problem."""
        return self.inputs.problem

    @property
    def items(self) -> Mapping[str, Item]:
        """Items of the catalogs by SKU."""
        return self.inputs.by_id

    def rule(self, sku: str) -> Quantity:
        """The problem's rule for the count of an item."""
        return self.problem.items.get(sku, Quantity())

    def owned(self, sku: str) -> int:
        """Units of an item that are installed and stay."""
        rule = self.rule(sku)
        return 0 if rule.retire else rule.installed

    def of_kind(self, counts: Mapping[str, int], category: str) -> dict[str, int]:
        """Counts of one category."""
        return {s: n for s, n in counts.items() if n and self.items[s].category == category}

    def flash(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Counts of storage that checkpoints may be on."""
        stored = self.of_kind(counts, "storage")
        return {sku: count for sku, count in stored.items() if not self.items[sku].is_bulk}

    # Power, heat, size of one unit.

    def parts(self, item: Item) -> list[tuple[Item, int]]:
        """Components of a bundle with their numbers, or the item itself."""
        return [(self.items[c.id], c.quantity) for c in item.components] or [(item, 1)]

    def of_unit(self, item: Item, figure: str) -> float | None:
        """A figure of the table ``OF_UNIT``: of a bundle the sum over its components."""
        none_of, known = OF_UNIT[figure]
        if item.category in none_of:
            return 0.0
        return total(times(value(known(part)), n) for part, n in self.parts(item))

    def rated_kw(self, item: Item) -> float | None:
        """Maximum draw of one unit at full power, kW; None if not known."""
        return self.of_unit(item, "it_power_kw")

    def draw_kw(self, item: Item) -> float | None:
        """Draw of one unit at its set point, kW; None if not known."""
        return times(self.rated_kw(item), self.power_share.get(item.id, 1.0))

    def typical_kw(self, item: Item) -> float | None:
        """Typical draw of one unit, kW; the maximum where no typical one is known."""
        typical, most = self.of_unit(item, "typical_kw"), self.draw_kw(item)
        if item.id in self.power_share and typical is not None and most is not None:
            return min(typical, most)
        return typical

    def liquid_kw(self, item: Item) -> float:
        """Heat of one unit to liquid at full power, kW; 0 where its draw is not known."""
        parts = [(part.consumes, n) for part, n in self.parts(item)] if self.rated_kw(item) else []
        drawn = ((value(p.liquid_share) or 0.0, n * value(p.it_power)) for p, n in parts)
        return math.fsum(share * kw for share, kw in drawn)

    def liquid_share(self, item: Item) -> float:
        """Share of a unit's heat that goes to liquid, by its components' draw."""
        return self.liquid_kw(item) / (self.rated_kw(item) or 1.0)

    def pue(self, item: Item) -> float:
        """Facility power per IT power of a unit, by where its heat goes."""
        liquid, pue = self.liquid_share(item), self.problem.site.pue
        by_air, by_liquid = (pue.air, pue.liquid) if isinstance(pue, Pue) else (pue, pue)
        return liquid * by_liquid + (1 - liquid) * by_air

    # Bandwidth and endurance.

    def nameplate(self, sku: str, count: float) -> tuple[float, float]:
        """(Read, write) nameplate bandwidth of ``count`` units, GB/s."""
        item = self.items[sku]
        if item.category != "storage" or item.is_bulk or count == 0:
            return 0.0, 0.0
        each = value(item.provides.read), value(item.provides.write)
        return (each[0] or 0.0) * count, (each[1] or 0.0) * count

    def unit_endurance(self, sku: str) -> float | None:
        """Write endurance of one unit, TB per day: as stated, or by the flash in it."""
        item, asked = self.items[sku], self.problem.storage
        stated: float | None = value(item.provides.endurance)
        if asked.endurance == "off" or stated is not None or asked.endurance == "stated":
            return None if asked.endurance == "off" else stated
        media = [(m.type, n * m.raw_tb) for part, n in self.parts(item) for m in part.media]
        rated = asked.dwpd.model_dump()
        raw_tb = {kind: sum(tb for of, tb in media if of == kind) for kind in rated}
        return min((rated[kind] * tb for kind, tb in raw_tb.items() if tb), default=None)

    # Money.

    def cent(self, halves: float) -> float:
        """Rounding to half a cent (USD) of the currency in which prices are shown, or more."""
        money = self.problem.shown_in
        return halves / 2 * (1 + 1e-6) * money.usd / float(10**money.decimals)

    def sale(self, item: Item) -> Sale:
        """Terms of buying the item."""
        price, asked, term = self.inputs.prices.get(item.id), self.rule(item.id), self.problem.term
        discount, end = 0.0, None
        for key, own in ("category", item.category), ("vendor", item.vendor), ("item", item.id):
            for entry in self.inputs.discounts:  # the most specific entry counts, then the last
                discount = entry.discount if getattr(entry, key) == own else discount
        if term is not None:
            end = min(term.years if term.support_years is None else term.support_years, term.years)
        pack, least, start = 1, 0, 0.0
        if price is not None:
            pack, least, start = price.pack, price.min_order, price.support_included_years
        share = self.problem.spares.get(item.category, 0.0)
        share = share if asked.spares is None else asked.spares
        return Sale(price, discount, self.owned(item.id), share, pack, least, start, end)

    def spares(self, item: Item, count: int) -> int:
        """Cold spares beside ``count`` units; of a bundle components lie in store."""
        return 0 if item.components else round_up(self.sale(item).spare_share * count)

    def bought(self, item: Item, count: int) -> int:
        """Units to buy so that ``count`` are in the cluster."""
        return self.sale(item).order(count + self.spares(item, count))


# Quantities read back.

QUANTITY = re.compile(r"([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?) ?([A-Za-z%][A-Za-z/%]*)?$")
UNITS = """W 1 kW 1e3 MW 1e6 GW 1e9
    GB/s 1 TB/s 1e3 MB/s 1e-3 GB 1 TB 1e3 PB 1e6 MB 1e-3 GiB 1.073741824 TiB 1099.511627776
    s 1 ms 1e-3 min 60 h 3600 day 86400 days 86400 week 604800 weeks 604800
    USD 1 kUSD 1e3 MUSD 1e6 BUSD 1e9 RU 1 U 1 kg 1 t 1e3 lb 0.45359237
    m 1 cm 1e-2 mm 1e-3 ft 0.3048 TFLOP/s 1 PFLOP/s 1e3 Gb/s 1 Tb/s 1e3 TB/day 1 PB/day 1e3 % 0.01
    k 1e3 M 1e6 B 1e9 T 1e12"""
BASE = {u: float(factor) for u, factor in zip(UNITS.split()[::2], UNITS.split()[1::2], strict=True)}
"""Each unit in a base unit of its kind; the last five are of plain numbers."""
PLAIN = frozenset([*BASE][-5:])
ENDS = {unit.lower(): unit for unit in ("s", "kW", "GB", "TB", "RU", "kg", "m", "USD")}
"""Unit of a field by the end of its name."""


def unit_faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Quantities of the plan's files that were read otherwise than they are written.

    Text in any other than the usual form (`key: {value: 14.3 kW, ...}`) is left out.

    Args:
        inputs: as they were loaded from files, without later changes.
        plan: whose items are read back.
    """
    found, document = Findings(), inputs.document
    if document is None:
        return ()
    skus, named = {line.sku for line in plan.lines}, inputs.problem.prices
    books = (named,) if isinstance(named, str) else named or (shipped.DEFAULT_PRICES,)
    _read_back(found, document.data, inputs.problem, "")
    for data in _files(inputs.problem.catalogs, shipped.catalog_files(), document.folder, skus):
        items = {item.get("id"): item for item in data.get("items", ())}
        for sku in skus & items.keys():
            _read_back(found, items[sku], inputs.by_id[sku], sku)
    if len(books) == 1:
        for data in _files(books, shipped.price_files(), document.folder, skus):
            for sku in skus & inputs.prices.keys() & data.get("prices", {}).keys():
                price, name = inputs.prices[sku], f"prices.{sku}"
                if price.parts:
                    own = _sum_parts(Basis.from_inputs(inputs), sku, data)
                    found.expect(f"{name} of its parts", price, own)
                else:
                    _read_back(found, data["prices"][sku], price, name)
    return found.disagreements


def _sum_parts(basis: Basis, sku: str, data: Any) -> dict[str, Near]:
    """List price and subscription of an item as the sums of the parts in a price book."""
    item, usd = basis.items[sku], {"once": 0.0, "year": 0.0}
    media = [(m.type, n * m.raw_tb) for part, n in basis.parts(item) for m in part.media]
    for part in data["prices"][sku]["parts"]:
        rate = data["rates"][part["rate"]]
        count, per = float(part.get("count", 1)), rate.get("per", "unit")
        if per == "raw_tb":
            count *= sum(tb for kind, tb in media if kind == rate.get("flash", kind))
        elif per != "unit":
            count *= value(item.provides.usable)
        each_usd = _number(str(rate["usd"]), "USD")
        if each_usd is None:
            return {}
        usd[rate.get("every", "once")] += count * each_usd
    names = {"list_usd": usd["once"]} | ({"per_year_usd": usd["year"]} if usd["year"] else {})
    return {name: Near(total_usd, 0.01) for name, total_usd in names.items()}


def _files(
    names: Any, known: Mapping[str, Path], folder: Path, skus: Iterable[str]
) -> Iterator[Any]:
    """Yield the raw data of catalogs or price books by name that mention one of ``skus``.

    Without names all known ones.
    """
    for path in (known.get(name, folder / name) for name in (known if names is None else names)):
        text = path.read_text("utf-8") if path.is_file() else ""
        if any(sku in text for sku in skus):
            yield parse(text, str(path)).data


def _read_back(found: Findings, raw: Any, model: Any, path: str) -> None:
    """Compare the quantities in raw data with the same fields of models."""
    fields = type(model).model_fields if isinstance(model, BaseModel) else {}
    if isinstance(raw, dict):
        for key, each in raw.items():
            part, name = model.get(key) if isinstance(model, Mapping) else None, key
            for field, about in fields.items():
                if key in (field, about.alias):
                    part, name = getattr(model, field), field
            _read_back(found, each, part, f"{path}.{name}".strip("."))
    elif isinstance(raw, tuple) and isinstance(model, tuple):
        for each, part in zip(raw, model, strict=False):
            _read_back(found, each, part, path)
    elif isinstance(raw, str | float | int) and isinstance(model, float | int):
        path, text = path.removesuffix(".value"), str(raw).strip()
        unit = ITEM_UNITS.get(path.partition(".")[2]) or ENDS.get(path.rpartition("_")[2])
        own = _number(text, unit)
        if own is not None:
            found.expect(f"{path} read back from '{text}', {unit}", model, own)


def _number(text: str, unit: str | None) -> float | None:
    """A quantity in a unit, or a plain number; None where it is not read here."""
    match = QUANTITY.match(text)
    of_text = (match and match[2]) or ""
    unit = "1" if of_text in PLAIN else unit
    if match is None or unit is None or (of_text and of_text not in BASE):
        return None
    if of_text not in PLAIN and (unit in BASE) != bool(of_text):
        return None
    return float(match[1]) * BASE.get(of_text, 1.0) / BASE.get(unit, 1.0)
