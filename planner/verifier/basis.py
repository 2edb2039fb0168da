"""Problem, catalogs and prices as the verifier reads them: figures of one unit, and comparison.

Of every line of a plan the catalog entry and the price are read as text once more, by a parser of
a few lines. Text in any other than the usual form (`key: {value: 14.3 kW, ...}`) is
left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel

from planner import shipped
from planner.currency import Currency
from planner.figures import ITEM_UNITS, STATED
from planner.schema.catalog import Item
from planner.schema.job import Job
from planner.schema.plan import Plan
from planner.schema.prices import Price
from planner.schema.problem import Network, Problem, Quantity

if TYPE_CHECKING:
    from planner.inputs import Inputs

RELATIVE = 1e-9
"""Above the noise of summing floats in another order, below any real difference."""
NEARLY_ZERO = 1e-12
QUANTITY = re.compile(r"([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?) ?([A-Za-z%][A-Za-z/%]*)?$")
ENTRY = re.compile(r"  (?:- id: )?([a-z0-9_]+):?\s*$")
"""First line of an item in a catalog or a price book."""
FIGURE = re.compile(r'^( {4,})([a-z0-9_]+):(?: (?:\{value: )?"?([^,{}"#]+))?')
COUNTED = ("%", "k", "M", "B", "T")
"""Units of plain numbers."""
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
DECIDED = ("gpu_system", "storage")
"""Categories whose counts a plan decides; all other counts follow."""
DRAWLESS = ("cable", "rack", "pdu", "software", "service")


class Either(tuple[Any, ...]):
    """Values of which each is right."""

    __slots__ = ()


NONE = Either((None, 0, False, "", (), {}))
"""Values of a figure that is not there."""


class Near(NamedTuple):
    """A value that rounding leaves open by ``noise``."""

    value: float
    noise: float


class Recheck(NamedTuple):
    """Wrong figures, and broken limits as (name, text)."""

    disagreements: tuple[str, ...]
    breaches: tuple[tuple[str, str], ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Every finding as one text."""
        return (*self.disagreements, *(f"{name}: {text}" for name, text in self.breaches))


class Findings:
    """Every difference and every broken limit of one plan."""

    def __init__(self) -> None:
        self.disagreements: list[str] = []
        self.breaches: list[tuple[str, str]] = []

    def require(self, holds: bool, text: str) -> bool:
        """Add a difference unless ``holds``."""
        if not holds:
            self.disagreements.append(text)
        return holds

    def breach(self, name: str, text: str) -> None:
        """Add a broken limit."""
        self.breaches.append((name, text))

    def expect(self, path: str, stated: Any, own: Any) -> None:
        """Compare a value of the plan with its recomputation.

        ``own`` may be a mapping: of fields of a record, or of the keys of a mapping.
        """
        if isinstance(own, dict) and stated is not None:
            if isinstance(stated, dict) and stated.keys() != own.keys():
                text = f"plan says {sorted(stated)}, recomputed {sorted(own)}"
                self.disagreements.append(f"{path}: {text}")
                return
            values = stated if isinstance(stated, dict) else vars(stated)
            for name, value in own.items():
                self.expect(f"{path}.{name}", values[name], value)
        elif not agrees(stated, own):
            self.disagreements.append(f"{path}: plan says {write(stated)}, recomputed {write(own)}")

    def at_most(self, path: str, stated: float, most: float | None) -> None:
        """Require that a value is at most another one, within ``RELATIVE``."""
        if most is not None and not stated <= most + RELATIVE * max(abs(stated), abs(most)):
            text = f"plan says {write(stated)}, at most {write(most)} possible"
            self.disagreements.append(f"{path}: {text}")


def agrees(stated: Any, own: Any) -> bool:
    """True if two values are the same; an unknown figure (None) equals an unknown one only."""
    if isinstance(own, Either):
        return any(agrees(stated, each) for each in own)
    if isinstance(own, Near):
        near = isinstance(stated, float | int) and abs(stated - own.value) <= own.noise
        return near or agrees(stated, own.value)
    if isinstance(stated, float | int) and isinstance(own, float | int):
        if isinstance(stated, int) and isinstance(own, int):
            return stated == own
        return math.isclose(stated, own, rel_tol=RELATIVE, abs_tol=NEARLY_ZERO)
    return bool(stated == own)


def write(value: Any) -> str:
    """A value as messages show it."""
    if isinstance(value, Either):
        return "nothing" if value is NONE else " or ".join(map(write, value))
    if isinstance(value, Near):
        return write(value.value)
    if value is None:
        return "not known"
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


def cent_usd(money: Currency) -> float:
    """The smallest amount of a currency, USD."""
    return money.usd / float(10**money.decimals)


def present_years(start: float, end: float, rate: float) -> float:
    """Present value of 1 per year from ``start`` to ``end``, each paid at its end."""
    years = range(1, math.ceil(end) + 1)
    return sum(max(0.0, min(y, end) - max(y - 1, start)) / (1 + rate) ** y for y in years)


class Sale(NamedTuple):
    """Terms of buying an item; support is paid from ``start`` to ``end`` years of the term.

    ``net_usd`` is before it is rounded to cents, None without a price.
    """

    price: Price | None
    discount: float
    net_usd: float | None
    owned: int
    spare_share: float
    pack: int
    min_order: int
    start: float
    end: float | None

    def order(self, count: int) -> int:
        """Units to buy so that ``count`` are there, owned ones included."""
        wanted = count - self.owned
        return 0 if wanted <= 0 else -(-max(wanted, self.min_order) // self.pack) * self.pack


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
    def of(cls, inputs: Inputs) -> Basis:
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

    def of_kind(self, counts: Mapping[str, int], category: str) -> dict[str, int]:
        """Counts of one category."""
        return {s: n for s, n in counts.items() if n and self.items[s].category == category}

    def flash(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Counts of storage that checkpoints may be on."""
        stored = self.of_kind(counts, "storage")
        return {sku: count for sku, count in stored.items() if not self.items[sku].is_bulk}

    # Power, heat, size of one unit.

    def of_unit(self, item: Item, own: Callable[[Item], float | None]) -> float | None:
        """A figure of one unit; of a bundle the sum over its components."""
        if not item.components:
            return own(item)
        parts = ((self.of_unit(self.items[c.id], own), c.quantity) for c in item.components)
        return total(times(each, quantity) for each, quantity in parts)

    def rated_kw(self, item: Item) -> float | None:
        """Maximum draw of one unit at full power, kW; None if not known."""
        if item.category in DRAWLESS:
            return 0.0
        return self.of_unit(item, lambda part: value(part.consumes.it_power))

    def draw_kw(self, item: Item) -> float | None:
        """Draw of one unit at its set point, kW; None if not known."""
        return times(self.rated_kw(item), self.power_share.get(item.id, 1.0))

    def typical_kw(self, item: Item) -> float | None:
        """Typical draw of one unit, kW; the maximum where no typical one is known."""
        if item.category in DRAWLESS:
            return 0.0

        def own(part: Item) -> float | None:
            typical: float | None = value(part.consumes.typical_power or part.consumes.it_power)
            return typical

        typical, most = self.of_unit(item, own), self.draw_kw(item)
        if item.id in self.power_share and typical is not None and most is not None:
            return min(typical, most)
        return typical

    def liquid_share(self, item: Item) -> float:
        """Share of a unit's heat that goes to liquid, by its components' draw."""
        if not self.rated_kw(item):
            return 0.0
        if not item.components:
            return value(item.consumes.liquid_share) or 0.0
        parts = [(self.items[c.id], c.quantity) for c in item.components]
        draws = [quantity * (self.rated_kw(part) or 0.0) for part, quantity in parts]
        each = zip(parts, draws, strict=True)
        return sum(self.liquid_share(part) * kw for (part, _), kw in each) / sum(draws)

    def pue(self, item: Item) -> float:
        """Facility power per IT power of a unit, by where its heat goes."""
        liquid, site = self.liquid_share(item), self.problem.site
        return liquid * site.pue_liquid + (1 - liquid) * site.pue_air

    def stated(self, item: Item, figure: str) -> float | None:
        """A figure of the table ``STATED`` for one unit."""
        (path,), none_of = STATED[figure].paths, STATED[figure].none_of
        if item.category in none_of:
            return 0.0
        known: Callable[[Item], Any] = attrgetter(path)
        return self.of_unit(item, lambda part: value(known(part)))

    def in_rack_kw(self, item: Item) -> float | None:
        """Draw of one device in its rack, kW: a switch with every transceiver."""
        fitted = 0.0
        for group in item.switch.ports if item.switch else ():
            end = group.link.switch_end if group.link else None
            if end is not None:
                each = self.rated_kw(self.items[end.item]) or 0.0
                fitted = max(fitted, -(-group.count // end.links) * each)
        return total((self.rated_kw(item), fitted))

    # Bandwidth and endurance.

    def nameplate(self, sku: str, count: float) -> tuple[float, float]:
        """(Read, write) nameplate bandwidth of ``count`` units, GB/s.

        A table of sizes is linear between rows, proportional below its first one.
        """
        item = self.items[sku]
        if item.category != "storage" or item.is_bulk or count == 0:
            return 0.0, 0.0
        if item.sizes is None:
            each = value(item.provides.read), value(item.provides.write)
            return (each[0] or 0.0) * count, (each[1] or 0.0) * count
        rows = item.sizes.rows
        if count < rows[0].units:
            share = count / rows[0].units
            return rows[0].read * share, rows[0].write * share
        for low, high in pairwise(rows):
            if low.units <= count < high.units:
                part = (count - low.units) / (high.units - low.units)
                read_gb = low.read + part * (high.read - low.read)
                return read_gb, low.write + part * (high.write - low.write)
        last = rows[-1]
        return (last.read, last.write) if count == last.units else (0.0, 0.0)

    def unit_endurance(self, sku: str) -> float | None:
        """Write endurance of one unit, TB per day: as stated, or by the flash in it."""
        item, asked = self.items[sku], self.problem.storage
        stated: float | None = value(item.provides.endurance)
        if asked.endurance == "off" or stated is not None or asked.endurance == "stated":
            return None if asked.endurance == "off" else stated
        parts = [(self.items[part.id], part.quantity) for part in item.components] or [(item, 1)]
        endured = []
        for kind in ("tlc", "qlc", "scm"):
            raw_tb = sum(n * m.raw_tb for part, n in parts for m in part.media if m.type == kind)
            if raw_tb > 0:
                endured.append(getattr(asked.dwpd, kind) * raw_tb)
        return min(endured, default=None)

    # Money.

    def net(self, item: Item) -> Near | None:
        """Net price of one unit, USD; in whole cents but for a percentage."""
        net_usd, money = self.sale(item).net_usd, self.problem.shown_in
        cents = 0.0 if item.is_percentage else 0.5 if money.code == "USD" else 1.0
        return None if net_usd is None else Near(net_usd, (1 + 1e-6) * cents * cent_usd(money))

    def sale(self, item: Item) -> Sale:
        """Terms of buying the item."""
        price, asked, term = self.inputs.prices.get(item.id), self.rule(item.id), self.problem.term
        discount, end = 0.0, None
        for key in ("category", "vendor", "item"):
            wanted = item.id if key == "item" else getattr(item, key)
            for entry in self.inputs.discounts:  # the most specific entry counts, then the last
                discount = entry.discount if getattr(entry, key) == wanted else discount
        if term is not None:
            years = term.support_years
            end = term.years if years is None else min(years, term.years)
        return Sale(
            price=price,
            discount=discount,
            net_usd=price.list_usd * (1 - discount) if price else None,
            owned=asked.in_place,
            spare_share=self.problem.spare_share(item.id, item.category),
            pack=price.pack if price else 1,
            min_order=price.min_order if price else 0,
            start=price.support_included_years if price else 0.0,
            end=end,
        )

    def spares(self, item: Item, count: int) -> int:
        """Cold spares beside ``count`` units; of a bundle components lie in store."""
        return 0 if item.components else round_up(self.sale(item).spare_share * count)

    def bought(self, item: Item, count: int) -> int:
        """Units to buy so that ``count`` are in the cluster."""
        return self.sale(item).order(count + self.spares(item, count))


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
    catalogs, folder = inputs.problem.catalogs, document.folder
    for sku, path, quantity in _written(catalogs, shipped.catalog_files(), folder, skus):
        unit = ITEM_UNITS.get(path)
        own = None if unit is None else _read_quantity(quantity, unit)
        figure = attrgetter(ALIASES.get(path, path))(inputs.by_id[sku]) if own else None
        if figure is not None:
            name = f"{sku}: {path} read back from '{quantity}', {unit}"
            found.expect(name, figure.value, own)
    named = inputs.problem.prices or (shipped.DEFAULT_PRICES,)
    books = (named,) if isinstance(named, str) else named
    if len(books) == 1:  # of several, which one counts is not read here
        for sku, path, quantity in _written(books, shipped.price_files(), folder, skus):
            usd, price = _read_quantity(quantity, "USD"), inputs.prices.get(sku)
            if path == "list" and usd is not None and price is not None and not price.parts:
                found.expect(f"{sku}: list price read back, USD", price.list_usd, usd)
    return tuple(found.disagreements)


def _read_problem(found: Findings, data: Any, model: Any, path: str) -> None:
    """Compare the quantities of the problem's raw data with the model's fields."""
    for key, raw in data.items() if isinstance(data, dict) else ():
        fields = type(model).model_fields if isinstance(model, BaseModel) else {}
        name = next((n for n, field in fields.items() if key in (n, field.alias)), "")
        field, place = getattr(model, name, None), f"{path}.{key}".strip(".")
        unit = ENDS.get(name.rpartition("_")[2])
        own = _read_quantity(raw, unit) if isinstance(raw, str) and unit else None
        if own is not None and isinstance(field, float):
            found.expect(f"{place} read back from '{raw}'", field, own)
        pairs = zip(raw, field, strict=False) if isinstance(field, tuple) else [(raw, field)]
        for one, part in pairs:
            _read_problem(found, one, part, place)


def _read_quantity(text: str, unit: str) -> float | None:
    """A quantity in a unit; None where it is none, or in a unit that is not read here."""
    found, plain = QUANTITY.match(text.strip()), unit in BASE
    if found is None or (found[2] and found[2] not in BASE):
        return None
    if plain != bool(found[2]) and found[2] not in COUNTED:
        return None if plain or found[2] else float(found[1])
    return float(found[1]) * BASE.get(found[2] or "", 1.0) / BASE.get(unit, 1.0)


def _written(
    names: Any, known: Mapping[str, Path], folder: Path, skus: set[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield (item, dotted key, quantity as written) of entries in catalogs or price books."""
    for name in known if names is None else names:
        path, sku, section = known.get(name, folder / name), "", ""
        for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
            if match := ENTRY.match(line):
                sku, section = match[1], ""
            elif (match := FIGURE.match(line)) and sku in skus:
                if not match[3]:
                    section = f"{match[2]}." if len(match[1]) == 4 else section
                else:
                    yield sku, f"{section if len(match[1]) > 4 else ''}{match[2]}", match[3]
