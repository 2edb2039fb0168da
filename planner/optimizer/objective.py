"""The objectives: one function each, on the model. Values are scaled as ``SCALE`` says.

Goodput and useful GPUs are maximised by their logarithm, which is where they are concave.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from hashlib import sha256

from planner.case.money import SUMS
from planner.figures import FIGURES, OBJECTIVES, Figure
from planner.limits import MILLION
from planner.optimizer.context import Build
from planner.optimizer.model import Linear, total


def log_useful_gpus(build: Build) -> Linear:
    """Return log(N E)."""
    return build.n + build.goodput


def log_useful_pflops(build: Build) -> Linear:
    """Return log(useful PFLOP/s) = log(N f mfu E / 1000)."""
    assert build.case.job.mfu is not None
    rate = build.of_type("flops", lambda system: system.tflops_per_gpu, -1)
    return build.n + rate + build.goodput + math.log(build.case.job.mfu / 1000.0)


def gpus(build: Build) -> Linear:
    """Return N."""
    return build.gpus + 0


def tco_musd(build: Build) -> Linear:
    """Return TCO in millions of USD."""
    return build.sum("tco_usd", MILLION)


def count(build: Build) -> Linear:
    """Return the number of units."""
    return total(build.units[offer.id] for offer in build.case.offers())


def storage_units(build: Build) -> Linear:
    """Return the units of storage."""
    return total(build.units[item.id] for item in build.case.storage)


def gpu_systems(build: Build) -> Linear:
    """Return the units of GPU systems."""
    return total(build.units[system.id] for system in build.case.systems)


def systems_in_use(build: Build) -> Linear:
    """Return the GPU systems in use: idle ones are easily many."""
    return total(build.used.values())


def bought_write(build: Build) -> Linear:
    """Return what the storage bought would deliver in writing, GB/s, whatever clients can move."""
    return build.case.delivered_write * total(build.nameplate_write.values())


def disliked(build: Build) -> Linear:
    """Return the units from vendors that are not preferred."""
    return total(build.units[name] for name in build.case.policy.disliked)


def name_weight(item_id: str) -> float:
    """Return a fixed number between 1 and 2 for an item id.

    It orders plans that nothing else tells apart, in the same way whatever else is in the catalogs.
    """
    return 1.0 + int.from_bytes(sha256(item_id.encode()).digest()[:2], "big") / 65_536.0


def named(build: Build) -> Linear:
    """Return the units weighted by their names."""
    offers = build.case.offers()
    return total(name_weight(offer.id) * build.units[offer.id] for offer in offers)


def scale(figure: Figure) -> float:
    """Return how many of a figure's unit the model counts as one."""
    return MILLION if figure.money else 1.0


def _sum(figure: Figure) -> Callable[[Build], Linear]:
    return lambda build: build.sum(figure.name, scale(figure))


EXPRESSIONS: dict[str, Callable[[Build], Linear]] = {
    **{name: _sum(asked.figure) for name, asked in OBJECTIVES.items() if asked.figure.name in SUMS},
    "goodput": log_useful_pflops,
    "useful_gpus": log_useful_gpus,
    "gpus": gpus,
    "fewest_storage": storage_units,
    "most_storage": lambda build: -1 * storage_units(build),
    "fewest_systems": gpu_systems,
    "most_systems": lambda build: -1 * systems_in_use(build),
    "least_meter": _sum(FIGURES["facility_power_kw"]),
    "least_write": bought_write,
    "most_write": lambda build: -1 * bought_write(build),
}
TIE_BREAKS: dict[str, Callable[[Build], Linear]] = {
    "capex": _sum(FIGURES["capex_usd"]),
    "power": _sum(FIGURES["it_power_kw"]),
    "units": count,
    "name": named,
}
LOGARITHMIC = frozenset({"goodput", "useful_gpus"})


def natural(name: str, value: float) -> float:
    """Return an objective's value as the model scales it in the objective's own unit."""
    if name in LOGARITHMIC:
        return math.exp(value)
    return value * scale(OBJECTIVES[name].figure) if name in OBJECTIVES else value
