"""A small valid problem that asks for a whole bill, and ways to break it."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.bad_input.world import BOOK, CATALOG, PROBLEM, Row, changed

BILL = (
    PROBLEM.replace("  - own.yaml\n", "  - own.yaml\n  - net.yaml\n")
    .replace("  - book.yaml\n", "  - book.yaml\n  - net_book.yaml\n")
    .replace(
        "  pue: 1.25\n  racks: 40\n  rack: {height: 48 RU, power: 45 kW}\n",
        """\
  feeds: {count: 4, power: 600 kW, redundancy: N+1}
  pue: {air: 1.4, liquid: 1.1}
  racks: 40
  rack:
    height: 48 RU
    power: 45 kW
    weight: 1400 kg
    whole_rack_power: 130 kW
    item: frame
    pdu: {item: strip, redundancy: 2N}
  rack_classes: {network: {height: 42 RU, power: 20 kW, weight: 900 kg}}
  cooling:
    cdu: pump
    redundancy: N+1
    air_limit: 1800 kW
    liquid_limit: 1900 kW
""",
    )
    .replace(
        "  capex: 60 MUSD\nterm: {years: 4, electricity: 0.08 USD/kWh}\n",
        """\
  capex: 60 MUSD
  support_per_year: 9 MUSD
  subscriptions_per_year: 8 MUSD
  energy_per_year: 7 MUSD
  colocation_per_year: 6 MUSD
  per_useful_gpu_hour: 50 USD
  per_million_tokens: 40 USD
term:
  years: 4
  electricity: 0.08 USD/kWh
  energy_basis: typical
  colocation: 150 USD/kW/month
  discount_rate: 7 %
  support_years: 3
network:
  compute:
    switches: [weave]
    oversubscription: 1.5
    planes: 2
    single_switch: true
    manager: {slots: 1, ports: 2}
  storage: {switch: mesh, oversubscription: 1.25, min_switches: 2}
  in_band:
    switch: mesh
  out_of_band: {switch: tick, reserve_ports: 3, uplinks: 2}
software: [suite]
extras:
  keeper: {per: rack, every: 8}
spares: {cable: 5 %}
policy:
  require_vendors: [Boxes]
  forbid_vendors: [Slow]
  prefer: {vendors: [Quick], within: 2 %}
  split:
    - {category: storage, max_share: 100 %, measure: money}
""",
    )
    .replace(
        "items:\n  gpu_box: {max: 64}\n",
        """\
items:
  gpu_box: {max: 64, installed: 1, stock: 63, support_years: 2.5}
  weave: {installed: 2}
""",
    )
    .replace("  max_families: 1\n", "  exact_families: 1\n  tolerate_down: 1\n")
    .replace("    training:\n", "    gpus: {hot_spares: 2 %}\n    training:\n")
    .replace("objective:", "targets: {max_lead_time: 200 days}\nobjective:")
)

NET = """\
catalog: Own network
sources:
  sheet: {title: Data sheet of 2026}
items:
  - id: weave
    vendor: Weft
    model: Weave 64
    category: switch
    switch:
      protocol: infiniband
      source: sheet
      confidence: high
      ports:
        - speed: 400 Gb/s
          count: 64
          link:
            {cable: fibre, switch_end: {item: twin, links: 2}, system_end: {item: optic}}
    consumes: &takes
      it_power: {value: 1 kW, source: sheet, confidence: high}
      rack_units: {value: 1 RU, source: sheet, confidence: high}
  - id: mesh
    vendor: Weft
    model: Mesh 32
    category: switch
    switch:
      protocol: ethernet
      source: sheet
      confidence: high
      ports: [{speed: 200 Gb/s, count: 32}, {speed: 100 Gb/s, count: 64}]
    consumes: *takes
  - id: tick
    vendor: Weft
    model: Tick 48
    category: switch
    switch:
      protocol: ethernet
      source: sheet
      confidence: high
      ports: [{speed: 1 Gb/s, count: 48}, {speed: 100 Gb/s, count: 4}]
    consumes: *takes
  - {id: fibre, vendor: Weft, model: Fibre, category: cable}
  - id: optic
    vendor: Weft
    model: Optic
    category: transceiver
    consumes: &light
      it_power: {value: 10 W, source: sheet, confidence: high}
  - {id: twin, vendor: Weft, model: Twin, category: transceiver, consumes: *light}
  - {id: frame, vendor: Rig, model: Frame, category: rack}
  - id: strip
    vendor: Rig
    model: Strip
    category: pdu
    provides: {feed: {value: 30 kW, source: sheet, confidence: high}}
  - id: pump
    vendor: Rig
    model: Pump
    category: cdu
    provides: {cooling: {value: 60 kW, source: sheet, confidence: high}}
    consumes: *takes
  - id: keeper
    vendor: Rig
    model: Keeper
    category: management
    consumes:
      it_power: {value: 0.7 kW, source: sheet, confidence: high}
      rack_units: {value: 2 RU, source: sheet, confidence: high}
  - id: suite
    vendor: Boxes
    model: Suite
    category: software
    licence: {per: gpu}
"""
PORTS = """\
    ports:
      compute: {count: 8, speed: 400 Gb/s, rails: 4, protocol: infiniband, source: sheet,
        confidence: high}
      storage: {count: 2, speed: 200 Gb/s, source: sheet, confidence: high}
"""
OWN = changed(CATALOG, "    gpu:\n", PORTS + "    gpu:\n")
NET_BOOK = """\
price_book: Own network prices
sources:
  quote: {title: Quote of 2026}
prices:
""" + "".join(
    f'  {name}: {{list: {usd} USD, date: "2026-01", source: quote, confidence: high}}\n'
    for name, usd in (
        ("weave", 20000), ("mesh", 15000), ("tick", 2000), ("fibre", 180), ("twin", 1100),
        ("optic", 700), ("frame", 3000), ("strip", 2000), ("pump", 60000), ("keeper", 9000),
    )
)  # fmt: skip
SUITE = """\
  suite:
    list: 1 USD
    per_year: 4500 USD
    support_included_years: 1
    pack: 2
    min_order: 4
    stock: 5000
    lead_time: 4-8 weeks
    date: "2026-01"
    source: quote
    confidence: high
"""
BILL_BOOK = NET_BOOK + SUITE
FILES = {
    "problem.yaml": BILL, "own.yaml": OWN, "net.yaml": NET, "book.yaml": BOOK,
    "net_book.yaml": BILL_BOOK,
}  # fmt: skip


Place = str | tuple[str, str] | None
"""Words of the line that is pointed at, or of another file's; by default the first new line."""


def bill(name: str, old: str, new: str, wrong: str, right: str, at: Place = None) -> Row:
    """Return a row that breaks the problem file; ``wrong`` and ``right`` are taken literally."""
    return _broken("problem.yaml", name, (old, new), wrong, right, at)


def net(name: str, old: str, new: str, wrong: str, right: str, at: Place = None) -> Row:
    """Return a row that breaks the catalog of the network."""
    return _broken("net.yaml", name, (old, new), wrong, right, at)


def own(name: str, old: str, new: str, wrong: str, right: str, at: Place = None) -> Row:
    """Return a row that breaks the catalog of systems and storage."""
    return _broken("own.yaml", name, (old, new), wrong, right, at)


def sold(name: str, old: str, new: str, wrong: str, right: str, at: Place = None) -> Row:
    """Return a row that breaks the price book of the network."""
    return _broken("net_book.yaml", name, (old, new), wrong, right, at)


def _broken(file: str, name: str, edit: tuple[str, str], wrong: str, right: str, at: Place) -> Row:
    words = edit[1].strip("\n").split("\n")[0] if at is None else at
    place = words if isinstance(words, tuple) else (file, words)
    files = FILES | {file: changed(FILES[file], *edit)}
    return Row(name, re.escape(wrong), re.escape(right), at=place, files=files)


Edit = tuple[str, str, str]
"""A row's name, what stands there instead, and what is said of it: wrong; right."""


def edits(make: Callable[..., Row], old: str, *changes: Edit) -> tuple[Row, ...]:
    """Return rows that put something else in one place, on a line of its own."""
    rows = []
    for name, new, says in changes:
        cut = next((mark for mark in ("; ", ": expected") if mark in says), ", found")
        wrong, _, right = says.rpartition(cut)
        rows.append(make(name, old, new, wrong or says, right))
    return tuple(rows)
