"""Every storage purchase, as arrays with one row per purchase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from planner.schema.catalog import Family, Item
from planner.schema.problem import Problem
from planner.verifier.basis import value
from planner.verifier.job import checkpoint_size
from tests.oracle.candidates import Candidate, family_of
from tests.oracle.money import RESOURCES, Array, within


@dataclass(frozen=True)
class Stores:
    """Storage purchases: counts per item, consumption, and what they deliver."""

    counts: npt.NDArray[np.int64]
    consumed: Array
    write_gb_per_s: Array
    read_gb_per_s: Array
    usable_tb: Array
    endurance_tb_per_day: Array
    write_factor: Array
    read_factor: Array
    write_down_gb_per_s: Array
    read_down_gb_per_s: Array

    def __len__(self) -> int:
        return len(self.usable_tb)

    def rows(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> Stores:
        """Return the chosen purchases."""
        return Stores(**{name: column[chosen] for name, column in vars(self).items()})

    def dream(self) -> Stores:
        """Return one row with the best of every column: no purchase does better."""
        worst = ("counts", "consumed")
        return Stores(
            **{
                name: (column.min(axis=0) if name in worst else column.max(axis=0))[None]
                for name, column in vars(self).items()
            }
        )


def capacity_needed_tb(problem: Problem) -> float:
    """Return the usable capacity that data set and checkpoints need."""
    job, kept = problem.job, problem.job.checkpoint
    total_tb = job.dataset_tb + checkpoint_size(job)[0] * (kept.keep_last + 1) / 1000.0
    return total_tb / problem.storage.fill_limit


def choices(
    problem: Problem, stores: Sequence[Candidate], families: Sequence[Family], limits: Array
) -> Stores | None:
    """Return every storage purchase within ``limits`` that holds the data, or None."""
    names = sorted({family_of(store.item) for store in stores})
    forced = {family_of(store.item) for store in stores if store.forced}
    known = {family.id: family for family in families}
    parts = []
    for size in range(1, min(problem.storage.max_families, len(names)) + 1):
        for chosen in combinations(names, size):
            if forced <= set(chosen):
                parts.append(_of_families(problem, chosen, stores, known, limits))
    if not parts:
        return None
    columns = {
        name: np.concatenate([vars(part)[name] for part in parts]) for name in vars(parts[0])
    }
    together = Stores(**columns)
    enough = together.usable_tb >= capacity_needed_tb(problem) * (1.0 - 1e-9)
    return together.rows(enough) if enough.any() else None


def _of_families(
    problem: Problem,
    chosen: Sequence[str],
    stores: Sequence[Candidate],
    families: Mapping[str, Family],
    limits: Array,
) -> Stores:
    counts, consumed = _purchases(chosen, stores, limits)
    kept = np.ones(len(counts), dtype=bool)
    for name in chosen:
        units = counts[:, [family_of(store.item) == name for store in stores]].sum(axis=1)
        # A family without units could only lower the client factor: the smaller set has the rest.
        kept &= units > 0
        family = families.get(name)
        if family is not None and family.max_units is not None:
            kept &= units <= family.max_units.value
    counts, consumed = counts[kept], consumed[kept]
    factors = [family.client_factor for name in chosen if (family := families.get(name))]
    write = min((f.write.value for f in factors if f is not None), default=1.0)
    read = min((f.read.value for f in factors if f is not None), default=1.0)
    if len([f for f in factors if f is not None]) < len(chosen):
        write, read = min(write, 1.0), min(read, 1.0)
    items = [store.item for store in stores]
    return _deliver(counts, consumed, items, problem.storage.tolerate_down, (write, read))


def _purchases(
    chosen: Sequence[str], stores: Sequence[Candidate], limits: Array
) -> tuple[npt.NDArray[np.int64], Array]:
    """Return all counts of the families' items (zero for the rest) that the limits allow."""
    counts, consumed = np.zeros((1, 0), dtype=np.int64), np.zeros((1, RESOURCES))
    for store in stores:
        options = store.counts if family_of(store.item) in chosen else (0,)
        added = np.array([store.consumed[n] for n in options]).reshape(-1, RESOURCES)
        consumed = (consumed[:, None] + added[None]).reshape(-1, RESOURCES)
        column = np.tile(np.array(options, dtype=np.int64), len(counts))[:, None]
        counts = np.hstack([np.repeat(counts, len(options), axis=0), column])
        # Consumption never falls as items are added, so what is over stays over.
        keep = within(consumed, limits)
        counts, consumed = counts[keep], consumed[keep]
    return counts, consumed


def _deliver(
    counts: npt.NDArray[np.int64],
    consumed: Array,
    items: Sequence[Item],
    down: int,
    factors: tuple[float, float],
) -> Stores:
    plates = np.array(
        [[value(getattr(i.provides, side)) or 0.0 for i in items] for side in ("write", "read")]
    )
    usable = counts @ np.array([value(i.provides.usable) or 0.0 for i in items])
    # One item in use that does not state its endurance lifts the limit.
    worn = np.array([value(i.provides.endurance) or np.inf for i in items])
    endured = np.multiply(counts, worn, where=counts > 0, out=np.zeros(counts.shape)).sum(axis=1)
    lost = plates * [down / (value(i.fail_units) or 1) for i in items]
    lost_write, lost_read = (np.where(counts > 0, side, 0.0).max(axis=1) for side in lost)
    write, read = plates @ counts.T
    by_write, by_read = (np.full(len(counts), factor) for factor in factors)
    left = write - lost_write, read - lost_read
    return Stores(counts, consumed, write, read, usable, endured, by_write, by_read, *left)
