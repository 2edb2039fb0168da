"""A small valid problem with its own catalog and price book, and ways to break them."""

from __future__ import annotations

from collections.abc import Mapping

PROBLEM = """\
name: Small hall
site:
  facility_power: 2 MW
  pue: 1.25
  racks: 40
  rack: {height: 48 RU, power: 45 kW}
budget:
  capex: 60 MUSD
term: {years: 4, electricity: 0.08 USD/kWh}
catalogs:
  - own.yaml
prices:
  - book.yaml
storage:
  delivered_fraction: {read: 0.8, write: 0.8}
  max_families: 1
items:
  gpu_box: {max: 64}
jobs:
  - name: seventy
    parameters: 70 B
    bytes_per_parameter: 14
    parallelism: {tensor: 8, pipeline: 4}
    checkpoint:
      mode: async
      stall: 5 s
      interval: {policy: optimal, min: 1 min, max: 4 h}
      keep_last: 3
    training:
      mfu: 40 %
    failures: llama3
    lost_time: none
objective: {maximize: goodput}
scenarios:
  half_power: {site: {facility_power: 1 MW}}
"""

CATALOG = """\
catalog: Own hardware
sources:
  sheet: {title: Data sheet of 2026}
families:
  - {id: quick_fs, vendor: Quick, name: QuickFS}
  - {id: slow_fs, vendor: Slow, name: SlowFS}
items:
  - id: gpu_box
    vendor: Boxes
    model: Box 8
    category: gpu_system
    provides:
      gpus: {value: 8, source: sheet, confidence: high}
    consumes:
      it_power: {value: 10 kW, source: sheet, confidence: high}
      rack_units: {value: 8 RU, source: sheet, confidence: high}
    gpu:
      bf16_dense: {value: 989 TFLOP/s, source: sheet, confidence: high}
  - id: quick_store
    vendor: Quick
    model: Quick 1
    category: storage
    family: quick_fs
    provides: &gives
      read: {value: 90 GB/s, source: sheet, confidence: high}
      write: {value: 65 GB/s, source: sheet, confidence: high}
      usable: {value: 250 TB, source: sheet, confidence: high}
    consumes: &takes
      it_power: {value: 2.2 kW, source: sheet, confidence: high}
      rack_units: {value: 2 RU, source: sheet, confidence: high}
  - id: slow_store
    vendor: Slow
    model: Slow 1
    category: storage
    family: slow_fs
    provides: *gives
    consumes: *takes
  - id: tray
    vendor: Boxes
    model: Tray
    category: component
    consumes:
      weight: {value: 20 kg, source: sheet, confidence: high}
"""

BOOK = """\
price_book: Own prices
currency: USD
sources:
  quote: {title: Quote of 2026}
prices:
  gpu_box:
    list: 300000 USD
    date: "2026-01"
    source: quote
    confidence: high
    support_per_year: 8 %
  quick_store:
    list: 200000 USD
    date: "2026-01"
    source: quote
    confidence: high
  slow_store: {list: 100000 USD, date: "2026-01", source: quote, confidence: low}
discounts:
  - {vendor: Boxes, discount: 5 %}
"""

FILES: Mapping[str, str] = {"problem.yaml": PROBLEM, "own.yaml": CATALOG, "book.yaml": BOOK}
SOLVE = "solve problem.yaml"


def changed(text: str, old: str, new: str) -> str:
    """Return ``text`` with its only ``old`` replaced."""
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
    return text.replace(old, new)


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
    - {category: storage, max_share: 100 %}
""",
    )
    .replace(
        "items:\n  gpu_box: {max: 64}\n",
        """\
items:
  gpu_box: {max: 64, installed: 1, stock: 63}
  weave: {installed: 2}
""",
    )
    .replace("  max_families: 1\n", "  max_families: 1\n  tolerate_down: 1\n")
    .replace("    training:\n", "    repair: {share: 78 %, time: 24 h, spares: 1}\n    training:\n")
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
BILL_FILES = {
    "problem.yaml": BILL,
    "own.yaml": OWN,
    "net.yaml": NET,
    "book.yaml": BOOK,
    "net_book.yaml": BILL_BOOK,
}
