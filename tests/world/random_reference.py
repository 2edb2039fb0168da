"""The purchase that a random problem is drawn around."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.world.random_hardware import Hardware, Raw


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
