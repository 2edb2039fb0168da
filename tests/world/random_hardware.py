"""Random catalogs and prices: small, plausible, and full of the rules an item may carry."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

Raw = dict[str, Any]

GOOD_VENDOR, SHUNNED_VENDOR = "Alpha", "Omega"
VENDORS = (GOOD_VENDOR, "Beta", "Gamma")

UNCOUNTABLE = frozenset({"no_power", "no_height", "too_tall"})
"""Flaws of decoys that cannot even stand there: owned units of them are an input error."""


@dataclass
class Hardware:
    """Raw catalog entries and prices; ``ordinary`` items surely enter, decoys may not."""

    items: list[Raw] = field(default_factory=list)
    families: list[Raw] = field(default_factory=list)
    prices: dict[str, Raw] = field(default_factory=dict)
    discounts: list[Raw] = field(default_factory=list)
    ordinary: list[str] = field(default_factory=list)
    decoys: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, dict[str, float]] = field(default_factory=dict)

    def of(self, category: str) -> list[str]:
        """Return the ordinary items of a category."""
        kinds = {item["id"]: item["category"] for item in self.items}
        return [name for name in self.ordinary if kinds[name] == category]


def spread(random: Random, low: float, high: float) -> float:
    """Return a number between the bounds, every factor as likely."""
    return math.exp(random.uniform(math.log(low), math.log(high)))


def figure(value: object) -> Raw:
    """Return a catalog figure."""
    return {"value": value, "source": "made_up", "confidence": "low"}


def text(value: float, unit: str) -> str:
    """Return a quantity with five significant digits."""
    return f"{value:.5g} {unit}"


def random_hardware(random: Random) -> Hardware:
    """Return one to three GPU systems and up to five storage items in up to three families."""
    hardware = Hardware()
    own_rates = random.random() < 0.35
    for index in range(random.choice((1, 2, 2, 3))):
        _add(hardware, random, gpu_system(random, f"gpu_{index}", own_rates))
    endurance = random.random() < 0.25
    for index in range(random.choice((1, 2, 2, 3))):
        family = f"family_{index}"
        hardware.families.append(_family(random, family))
        for number in range(random.choice((1, 1, 2))):
            _add(hardware, random, store(random, f"store_{index}_{number}", family, endurance))
    if random.random() < 0.35:
        _add_decoy(hardware, random, own_rates, endurance)
    if random.random() < 0.35:
        hardware.discounts = _discounts(random, hardware)
    return hardware


def gpu_system(random: Random, name: str, own_rate: bool) -> Raw:
    """Return a GPU system of 4 to 72 GPUs."""
    gpus = random.choice((4, 8, 8, 16, 32, 72))
    item = _item(random, name, "gpu_system", gpus * random.uniform(0.8, 1.8))
    bf16 = spread(random, 300, 2500)
    item["provides"] = {"gpus": figure(gpus)}
    item["gpu"] = {
        "bf16_dense": figure(text(bf16, "TFLOP/s")),
        "fp8_dense": figure(text(bf16 * random.uniform(1.5, 2), "TFLOP/s")),
    }
    if own_rate and random.random() < 0.8:
        item["gpu"]["failures_per_day"] = figure(round(spread(random, 1e-3, 1e-1), 6))
    item["client"] = {
        direction: figure(text(gpus * spread(random, 0.2, 3), "GB/s"))
        for direction in ("write", "read")
        if random.random() < 0.5
    }
    return item


def store(random: Random, name: str, family: str, endurance: bool) -> Raw:
    """Return a storage appliance."""
    item = _item(random, name, "storage", random.uniform(0.8, 6))
    write = spread(random, 2, 60)
    read = write * random.uniform(1, 4)
    item["family"] = family
    item["provides"] = {
        "usable": figure(text(spread(random, 30, 600), "TB")),
        "read": figure(text(read, "GB/s")),
        "write": figure(text(write, "GB/s")),
    }
    if random.random() < 0.15:
        item["min_units"] = figure(random.randint(1, 6))
    if endurance:
        item["provides"]["endurance"] = figure(text(spread(random, 30, 3000), "TB/day"))
    drives = Random(repr(item))
    if drives.random() < 0.3:
        for kind in drives.sample(("tlc", "qlc", "hdd"), drives.randint(1, 2)):
            raw = text(spread(drives, 30, 3000), "TB")
            item.setdefault("media", []).append(
                {"type": kind, "raw": raw, "source": "made_up", "confidence": "low"}
            )
    return item


def _item(random: Random, name: str, category: str, draw_kw: float) -> Raw:
    item: Raw = {
        "id": name,
        "vendor": random.choice(VENDORS),
        "model": name.replace("_", " "),
        "category": category,
        "consumes": {
            "it_power": figure(text(draw_kw, "kW")),
            "rack_units": figure(f"{random.randint(2, 10)} RU"),
        },
    }
    if random.random() < 0.1:
        item["min_units"] = figure(random.randint(2, 3))
    if random.random() < 0.1:
        item["max_units"] = figure(random.randint(3, 6))
    if random.random() < 0.08:
        item["consumes"]["racks"] = figure(random.randint(1, 2))
    return item


def _family(random: Random, name: str) -> Raw:
    family: Raw = {"id": name, "vendor": random.choice(VENDORS), "name": name.replace("_", " ")}
    if random.random() < 0.4:
        family["client_factor"] = {
            direction: figure(round(random.uniform(0.7, 2), 3)) for direction in ("write", "read")
        }
    if random.random() < 0.2:
        family["max_units"] = figure(random.randint(3, 7))
    return family


def _add(hardware: Hardware, random: Random, item: Raw, priced: bool = True) -> None:
    name, gpus = item["id"], item["provides"].get("gpus", {"value": 0})["value"]
    draw_kw = float(item["consumes"]["it_power"]["value"].split()[0])
    list_usd = round(gpus * random.uniform(20e3, 60e3) or spread(random, 40e3, 600e3), 2)
    numbers = {"gpus": float(gpus), "kw": draw_kw, "usd": list_usd}
    numbers["ru"] = float(item["consumes"]["rack_units"]["value"].split()[0])
    for key in ("read", "write", "usable"):
        value = item["provides"].get(key, {"value": "0 GB/s"})["value"]
        numbers[key] = float(value.split()[0])
    if random.random() < 0.12 and "racks" not in item["consumes"]:
        _make_bundle(hardware, random, item, draw_kw, int(numbers["ru"]))
    hardware.items.append(item)
    hardware.ordinary.append(name)
    hardware.numbers[name] = numbers
    if priced:
        hardware.prices[name] = _price(random, list_usd)


def _make_bundle(hardware: Hardware, random: Random, item: Raw, draw_kw: float, ru: int) -> None:
    """Turn an item into a bundle of two kinds of components, at times taller than a rack."""
    split, quantity = random.uniform(0.2, 0.8), random.randint(2, 5)
    tall = random.random() < 0.4
    kinds = (
        (f"{item['id']}_head", 1, split * draw_kw, 20 if tall else 1),
        (f"{item['id']}_shelf", quantity, (1 - split) * draw_kw / quantity, 11 if tall else ru),
    )
    for name, _, kw, height in kinds:
        part: Raw = {"id": name, "vendor": item["vendor"], "model": name, "category": "component"}
        part["consumes"] = {
            "it_power": figure(text(kw, "kW")),
            "rack_units": figure(f"{height} RU"),
        }
        hardware.items.append(part)
    item["consumes"] = {}
    item["components"] = [{"id": name, "quantity": count} for name, count, _, _ in kinds]


def _price(random: Random, list_usd: float) -> Raw:
    price: Raw = {"list": f"{list_usd:.2f} USD", "date": "2026-01", "source": "made_up"}
    price["confidence"] = "low"
    kind = random.random()
    if kind < 0.4:
        price["support_per_year"] = f"{random.uniform(2, 18):.1f} %"
    elif kind < 0.7:
        price["support_per_year"] = f"{list_usd * random.uniform(0.02, 0.15):.2f} USD"
    return price


def _discounts(random: Random, hardware: Hardware) -> list[Raw]:
    wanted = [
        {"category": random.choice(("gpu_system", "storage"))},
        {"vendor": random.choice(VENDORS)},
        {"item": random.choice(hardware.ordinary)},
    ]
    random.shuffle(wanted)
    chosen = wanted[: random.randint(1, 3)]
    return [{"discount": f"{random.uniform(3, 40):.1f} %", **key} for key in chosen]


def _add_decoy(hardware: Hardware, random: Random, own_rates: bool, endurance: bool) -> None:
    """Add an item that would win every time, were there not a reason to leave it out."""
    flaws: dict[str, Callable[[Raw], object]] = {
        "no_price": lambda item: hardware.prices.pop(item["id"]),
        "end_of_sale": lambda item: item.update(lifecycle="end_of_sale"),
        "vendor": lambda item: item.update(vendor=SHUNNED_VENDOR),
        "too_tall": lambda item: item["consumes"].update(rack_units=figure("61 RU")),
        "no_power": lambda item: item["consumes"].pop("it_power", None),
        "no_height": lambda item: item["consumes"].pop("rack_units", None),
        "excluded": lambda item: None,
        "not_listed": lambda item: None,
    }
    if random.random() < 0.5:
        item = gpu_system(random, "gpu_decoy", own_rates)
        item["gpu"] |= {key: figure("9 PFLOP/s") for key in ("bf16_dense", "fp8_dense")}
        flaws["no_flops"] = lambda item: item["gpu"].update(bf16_dense=None, fp8_dense=None)
    else:
        family = random.choice(hardware.families)["id"]
        item = store(random, "store_decoy", family, endurance)
        item["provides"] |= {"read": figure("900 GB/s"), "write": figure("700 GB/s")}
        flaws["no_usable"] = lambda item: item["provides"].pop("usable")
    item["consumes"].pop("racks", None)
    flaw = random.choice(sorted(flaws))
    _add(hardware, Random(0), item)
    hardware.ordinary.remove(item["id"])
    hardware.prices[item["id"]]["list"] = "30000.01 USD"
    flaws[flaw](item)
    hardware.decoys[item["id"]] = flaw


# The purchase that a random problem is drawn around.


@dataclass(frozen=True)
class Reference:
    """A purchase that budgets, job and targets are drawn around."""

    system: str
    systems: int
    store: str
    stores: int
    gpus: int
    replica: int
    write_gb_per_s: float
    read_gb_per_s: float
    power_kw: float
    capex_usd: float
    usable_tb: float


def random_reference(random: Random, hardware: Hardware, share: Raw) -> Reference:
    """Return a purchase of one GPU system and one storage item, and a replica that fits."""
    system = random.choice(hardware.of("gpu_system"))
    store = random.choice(hardware.of("storage"))
    systems, stores = random.randint(3, 9), random.randint(2, 5)
    gpu, box = hardware.numbers[system], hardware.numbers[store]
    gpus = systems * int(gpu["gpus"])
    return Reference(
        system,
        systems,
        store,
        stores,
        gpus,
        random.choice([m for m in (2, 4, 6, 8, 12, 16, 32) if m <= gpus / 2]),
        box["write"] * stores * share["write"],
        box["read"] * stores * share["read"],
        gpu["kw"] * systems + box["kw"] * stores,
        gpu["usd"] * systems + box["usd"] * stores,
        box["usable"] * stores,
    )
