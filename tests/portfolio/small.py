"""Small portfolios as problem files: two GPU systems, one kind of storage, a few jobs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from planner.portfolio.inputs import load
from planner.portfolio.instance import Instance

YEAR = 8766.0 / 8760.0
"""The known answers count years of 365.25 days."""


CITED = {"source": "x", "confidence": "high"}


class Gpu(NamedTuple):
    """A GPU system of 8 GPUs."""

    name: str
    pflops: float
    per_gpu_s: float
    kw: float
    ru: float
    musd: float
    most: int = 4


class Store(NamedTuple):
    """A storage item."""

    name: str
    write: float
    read: float
    kw: float
    ru: float
    musd: float
    most: int = 3
    family: str = "files"


A = Gpu("a", 1.0, 5e-6, 10.0, 8.0, 0.30)
B = Gpu("b", 2.25, 8e-6, 14.3, 10.0, 0.50)
S = Store("s", 40.0, 80.0, 2.0, 2.0, 0.20)


def training(
    name: str, size_gb: float, stall_s: float, restart_s: float, **more: Any
) -> dict[str, Any]:
    """Return a training job of the known answers."""
    return {
        "name": name,
        "checkpoint": {
            "size": f"{size_gb} GB",
            "stall": f"{stall_s} s",
            "max_overlap": 0.1,
            "interval": {"policy": "optimal", "min": "30 s", "max": "3600 s"},
        },
        "restore": {"max_time": "300 s", "restart": f"{restart_s} s"},
        "training": {"mfu": 1.0},
        "lost_time": "none",
        **more,
    }


ONE = training("one", 2000, 5, 300)
TWO = training("two", 500, 2, 120, weight=1.5)
SITE: dict[str, Any] = {"facility_power": "100 kW", "pue": 1.25, "weight_limit": "100 kg"}


def files(
    gpus: Sequence[Gpu], stores: Sequence[Store], problem: Mapping[str, Any]
) -> dict[str, str]:
    """Return a problem with its catalog and price book as files; JSON is YAML."""

    def figure(value: float, unit: str = "") -> dict[str, Any]:
        return {"value": f"{value} {unit}" if unit else value, **CITED}

    def item(each: Gpu | Store, category: str, **more: Any) -> dict[str, Any]:
        uses = {"it_power": figure(each.kw, "kW"), "weight": figure(each.ru, "kg")}
        named = {"id": each.name, "vendor": "V", "model": each.name, "category": category}
        return {**named, "consumes": uses, **more}

    items = []
    for g in gpus:
        gpu = {"bf16_dense": figure(g.pflops * 1000, "TFLOP/s"), "memory": figure(80, "GB")}
        gpu["failures_per_day"] = figure(g.per_gpu_s * 86400)
        items.append(item(g, "gpu_system", provides={"gpus": figure(8)}, gpu=gpu))
    for s in stores:
        rates = {"read": figure(s.read, "GB/s"), "write": figure(s.write, "GB/s")}
        provides = {**rates, "usable": figure(5000, "TB")}
        items.append(item(s, "storage", family=s.family, provides=provides))
    families = sorted({s.family for s in stores})
    catalog = {
        "catalog": "Small",
        "sources": {"x": {"title": "Own figures"}},
        "families": [{"id": name, "vendor": "V", "name": name} for name in families],
        "items": items,
    }
    both: tuple[Gpu | Store, ...] = (*gpus, *stores)
    prices = {each.name: {"list": f"{each.musd} MUSD", "date": "2026-01", **CITED} for each in both}
    sources = {"x": {"title": "Own"}}
    book = {"price_book": "Small", "currency": "USD", "sources": sources, "prices": prices}
    whole = {
        "name": "Small portfolio",
        "sites": {"site": SITE},
        "term": {"electricity": f"{0.08 * YEAR} USD/kWh"},
        "catalogs": ["own.yaml"],
        "prices": ["book.yaml"],
        "items": {each.name: {"max": each.most} for each in both},
        "storage": {
            "delivered_fraction": {"read": 0.8, "write": 0.8},
            "endurance": "off",
            "client_limit": {"write": "40 GB/s", "read": "40 GB/s"},
        },
        "jobs": [ONE, TWO],
        "objective": {"maximize": "goodput", "indifference": 0},
        **problem,
    }
    return {
        "problem.yaml": json.dumps(whole),
        "own.yaml": json.dumps(catalog),
        "book.yaml": json.dumps(book),
    }


def written(folder: Path, contents: Mapping[str, str]) -> Path:
    """Write files; return the problem."""
    for name, text in contents.items():
        (folder / name).write_text(text, "utf-8")
    return folder / "problem.yaml"


def instance(
    folder: Path,
    problem: Mapping[str, Any],
    gpus: Sequence[Gpu] = (A, B),
    stores: Sequence[Store] = (S,),
) -> Instance:
    """Return the instance of a small portfolio."""
    return load(written(folder, files(gpus, stores, problem)))
