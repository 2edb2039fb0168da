"""A small catalog by hand, with companions for everything, and a problem that asks for them all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.inputs import Inputs
from planner.schema.catalog import Family, Item
from planner.schema.prices import Discount, Price
from planner.schema.problem import Problem


def figure(value: object) -> dict[str, object]:
    return {"value": value, "source": "sheet", "confidence": "high"}


def figures(**values: object) -> dict[str, object]:
    return {name: figure(value) for name, value in values.items()}


ITEMS: dict[str, dict[str, Any]] = {
    "gpu_a": {
        "vendor": "Anvil",
        "model": "A8",
        "part_number": "A-8",
        "description": "8 GPUs",
        "category": "gpu_system",
        "provides": figures(gpus=8),
        "consumes": figures(it_power="10.2 kW", rack_units="8 RU", weight="130 kg"),
        "gpu": figures(bf16_dense="989 TFLOP/s", fp8_dense="1979 TFLOP/s"),
        "min_units": figure(2),
        "max_units": figure(400),
    },
    "gpu_b": {
        "vendor": "Bellows",
        "model": "B4",
        "category": "gpu_system",
        "provides": figures(gpus=4),
        "consumes": figures(it_power="5.5 kW", rack_units="4 RU"),
        "gpu": figures(bf16_dense="700 TFLOP/s", failures_per_day=8e-4),
        "client": figures(write="6 GB/s", read="12 GB/s"),
    },
    "gpu_c": {
        "vendor": "Crane",
        "model": "C8",
        "category": "gpu_system",
        "provides": figures(gpus=8),
        "consumes": figures(it_power="9 kW", rack_units="8 RU"),
        "gpu": figures(bf16_dense="800 TFLOP/s"),
        "client": figures(write="3 GB/s", read="5 GB/s"),
    },
    "box": {
        "vendor": "Cask",
        "model": "Box",
        "category": "storage",
        "family": "cask_fs",
        "provides": figures(
            read="90 GB/s", write="65 GB/s", usable="250 TB", endurance="700 TB/day"
        ),
        "consumes": figures(it_power="2.2 kW", rack_units="2 RU", weight="40 kg"),
    },
    "shelf": {
        "vendor": "Drum",
        "model": "Shelf",
        "category": "storage",
        "family": "drum_fs",
        "provides": figures(read="40 GB/s", write="20 GB/s", usable="300 TB"),
        "consumes": figures(it_power="1.5 kW", rack_units="1 RU"),
        "min_units": figure(4),
    },
    "bundle": {
        "vendor": "Ewer",
        "model": "Bundle",
        "category": "storage",
        "family": "ewer_fs",
        "provides": figures(read="400 GB/s", write="200 GB/s", usable="2000 TB"),
        "components": ({"id": "node", "quantity": 3}, {"id": "drawer", "quantity": 30}),
    },
    "node": {
        "vendor": "Ewer",
        "model": "Node",
        "category": "component",
        "consumes": figures(it_power="0.8 kW", rack_units="1 RU", weight="20 kg"),
    },
    "drawer": {
        "vendor": "Ewer",
        "model": "Drawer",
        "category": "component",
        "consumes": figures(it_power="1.1 kW", rack_units="3 RU", weight="60 kg"),
    },
}
FAMILIES: dict[str, dict[str, Any]] = {
    "cask_fs": {
        "vendor": "Cask",
        "name": "CaskFS",
        "client_factor": {"write": figure(1.7), "read": figure(1.6)},
    },
    "drum_fs": {"vendor": "Drum", "name": "DrumFS"},
    "ewer_fs": {"vendor": "Ewer", "name": "EwerFS", "max_units": figure(1)},
}
PRICES: dict[str, dict[str, Any]] = {
    "gpu_a": {"list": "310000.55 USD", "support_per_year": "8 %", "lead_time": "12 weeks"},
    "gpu_b": {"list": "150000 USD"},
    "gpu_c": {"list": "200000 USD"},
    "box": {"list": "400000.99 USD", "support_per_year": "39800.25 USD"},
    "shelf": {"list": "90000.10 USD", "support_per_year": "10 %"},
    "bundle": {"list": "2500000 USD"},
}

# What goes with them: ports, switches, cables, racks, cooling, software.

SOURCED = {"source": "sheet", "confidence": "high"}


def port(count: int, speed: str, **more: Any) -> dict[str, Any]:
    return {"count": count, "speed": speed, **SOURCED, **more}


def switch(
    protocol: str, *groups: tuple[str, int, Mapping[str, Any] | None], **more: Any
) -> dict[str, Any]:
    ports = tuple({"speed": s, "count": n} | ({"link": k} if k else {}) for s, n, k in groups)
    return {
        "vendor": "Weft",
        "model": "Switch",
        "category": "switch",
        "switch": {"protocol": protocol, "ports": ports, **SOURCED},
        **more,
    }


def part(category: str, vendor: str = "Weft", **more: Any) -> dict[str, Any]:
    return {"vendor": vendor, "model": category.title(), "category": category, **more}


FIBRE = {
    "cable": "fibre",
    "links": 1,
    "switch_end": {"item": "twin_optic", "links": 2},
    "system_end": {"item": "optic", "links": 1},
}
THIN = {"cable": "thin_fibre", "switch_end": {"item": "thin_optic", "links": 4}}
COPPER = {"cable": "copper"}

GPU_PORTS = {
    "compute": port(8, "400 Gbit/s", rails=4, protocol="infiniband"),
    "storage": port(2, "200 Gbit/s"),
    "in_band": port(2, "100 Gbit/s"),
    "out_of_band": port(1, "1 Gbit/s"),
}
BOX_PORTS = {
    "storage": port(4, "100 Gbit/s"),
    "in_band": port(1, "25 Gbit/s"),
    "out_of_band": port(2, "1 Gbit/s"),
}
COMPANIONS: dict[str, dict[str, Any]] = {
    "weave": switch(
        "infiniband", ("400 Gbit/s", 16, FIBRE),
        consumes=figures(it_power="1.1 kW", rack_units="1 RU", weight="13 kg"),
    ),
    "mesh": switch(
        "ethernet", ("200 Gbit/s", 8, FIBRE), ("100 Gbit/s", 16, THIN),
        consumes=figures(it_power="0.5 kW", rack_units="2 RU", weight="11 kg"),
    ),
    "tick": switch(
        "ethernet", ("1 Gbit/s", 12, COPPER), ("100 Gbit/s", 4, None),
        consumes=figures(it_power="0.1 kW", rack_units="1 RU"),
    ),
    "fibre": part("cable"),
    "thin_fibre": part("cable"),
    "copper": part("cable"),
    "optic": part("transceiver", consumes=figures(it_power="0.01 kW")),
    "twin_optic": part("transceiver", consumes=figures(it_power="0.017 kW", weight="0.1 kg")),
    "thin_optic": part("transceiver", consumes=figures(it_power="0.005 kW")),
    "frame": part("rack", vendor="Rig", consumes=figures(weight="150 kg", rack_units="48 RU")),
    "strip": part("pdu", vendor="Rig", provides=figures(feed="17.3 kW")),
    "pump": part(
        "cdu", vendor="Rig", provides=figures(cooling="60 kW"),
        consumes=figures(it_power="2.5 kW", rack_units="30 RU", weight="300 kg"),
    ),
    "keeper": part(
        "management", ports={
            "in_band": port(2, "100 Gbit/s"), "out_of_band": port(1, "1 Gbit/s"),
        },
        consumes=figures(it_power="0.7 kW", rack_units="2 RU", weight="25 kg"),
    ),
    "suite": part("software", vendor="Anvil", licence={"per": "gpu", "vendors": ("Anvil",)}),
    "pool": part("software", vendor="Cask", licence={"per": "usable_tb"}),
}  # fmt: skip
COMPANION_PRICES: dict[str, dict[str, Any]] = {
    "weave": {"list": "20000.5 USD", "support_per_year": "10 %", "lead_time": "2-5 months",
              "support_included_years": 1.0},
    "mesh": {"list": "15000 USD", "support_per_year": "700 USD"},
    "tick": {"list": "2000 USD"},
    "fibre": {"list": "180.1 USD", "pack": 10},
    "thin_fibre": {"list": "90 USD", "min_order": 150},
    "copper": {"list": "8.33 USD"},
    "optic": {"list": "700 USD"},
    "twin_optic": {"list": "1100 USD", "pack": 4, "min_order": 9},
    "thin_optic": {"list": "300 USD"},
    "frame": {"list": "3000 USD"},
    "strip": {"list": "2100 USD"},
    "pump": {"list": "90000 USD", "support_per_year": "5 %"},
    "keeper": {"list": "12000 USD"},
    "suite": {"list": "0 USD", "per_year": "4500 USD"},
    "pool": {"list": "11 USD", "per_year": "3.339 USD"},
}  # fmt: skip


def hardware() -> dict[str, dict[str, Any]]:
    """Return the catalog of the factory, with ports and liquid, and the companions."""
    items = {sku: dict(entry) for sku, entry in (ITEMS | COMPANIONS).items()}
    items["gpu_a"] |= {
        "ports": GPU_PORTS,
        "consumes": {
            **items["gpu_a"]["consumes"],
            **figures(typical_power="8.1 kW", liquid_share=0.6),
        },
    }
    items["gpu_b"] |= {"ports": {**GPU_PORTS, "compute": port(4, "400 Gbit/s", rails=4)}}
    items["box"] |= {"ports": BOX_PORTS, "fail_units": figure(2)}
    items["bundle"] |= {"ports": BOX_PORTS}
    return items


def problem(**changes: Any) -> dict[str, Any]:
    """Return a problem that asks for every kind of companion."""
    return {
        "name": "everything",
        "site": {
            "facility_power": "1 MW",
            "it_power": "800 kW",
            "pue": {"air": 1.4, "liquid": 1.1},
            "feeds": {"count": 4, "power": "250 kW", "redundancy": "N+1"},
            "racks": 60,
            "rack": {
                "height": "48 RU", "power": "45 kW", "weight": "1400 kg", "item": "frame",
                "pdu": {"item": "strip", "redundancy": "N+1"},
            },
            "rack_classes": {"network": {"height": "42 RU", "power": "20 kW"}},
            "cooling": {"cdu": "pump", "redundancy": "N+1", "air_limit": "500 kW",
                        "liquid_limit": "500 kW"},
        },
        "term": {
            "years": 4.5, "electricity": "0.08 USD/kWh", "energy_basis": "typical",
            "colocation": "100 USD/kW/month", "discount_rate": "7 %", "support_years": 3.0,
        },
        "items": {
            "weave": {"installed": 3},
            "box": {"installed": 1, "stock": 90},
            "gpu_a": {"max": 40},
        },
        "network": {
            "compute": {"switches": ("weave",), "manager": {"slots": 1, "ports": 2}},
            "storage": {"switch": "mesh"},
            "in_band": {"switch": "mesh", "oversubscription": 3.0},
            "out_of_band": {"switch": "tick", "reserve_ports": 2, "uplinks": 2},
        },
        "software": ("suite", "pool"),
        "extras": {"keeper": {"per": "rack", "every": 4}},
        "spares": {"gpu_system": "2 %", "transceiver": "10 %", "cable": "5 %"},
        "storage": {"delivered_fraction": {"read": 0.8, "write": 0.8}, "tolerate_down": 1},
        "policy": {"require_vendors": ("Cask",), "split": (
            {"category": "storage", "max_share": 1.0},)},
        "jobs": (
            {
                "name": "train",
                "lost_time": "none",
                "parameters": "70 B",
                "restore": {"max_time": "5 min"},
                "training": {"tokens": "2 T", "mfu": 0.4},
                "repair": {"share": 0.78, "time": "24 h", "spares": 1},
                "dataset": "100 TB",
            },
        ),
        "budget": {
            "tco": "90 MUSD",
            "per_useful_gpu_hour": "90 USD", "per_million_tokens": "90 USD",
        },
        "targets": {"max_lead_time": "200 day"},
        "objective": {"maximize": "useful_gpus"},
        **changes,
    }  # fmt: skip


def inputs_of(
    asked: Mapping[str, Any] | None = None,
    items: Mapping[str, Mapping[str, Any]] | None = None,
    discounts: tuple[Mapping[str, Any], ...] = ({"vendor": "Weft", "discount": "12 %"},),
) -> Inputs:
    """Return the inputs of a problem, by default of everything, over the catalog."""
    entries = hardware() if items is None else items
    dated = {"date": "2026-03", "source": "sheet", "confidence": "medium"}
    prices = {**PRICES, **COMPANION_PRICES}
    return Inputs(
        problem=Problem.model_validate(problem() if asked is None else asked),
        items=tuple(Item.model_validate({"id": sku, **entry}) for sku, entry in entries.items()),
        families=tuple(Family.model_validate({"id": name, **f}) for name, f in FAMILIES.items()),
        prices={sku: Price.model_validate(dated | entry) for sku, entry in prices.items()},
        discounts=tuple(Discount.model_validate(entry) for entry in discounts),
    )
