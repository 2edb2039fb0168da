"""What must come with the systems and the storage: companions, and the counts they follow from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from planner.case.model import Good
from planner.case.quantities import Packed, Quantity, Terms, evaluate, total
from planner.sizing.fabric import FabricSize

NetworkName = Literal["compute", "storage", "in_band", "out_of_band"]


@dataclass(frozen=True)
class Companion(Good):
    """Something the plan needs of itself; its count is the sum of its terms.

    ``roles`` says of each term what it is for. Of what is ``stored`` nothing is in place: its count
    are spare parts in store.
    """

    terms: Terms
    roles: tuple[str, ...]
    racks_each: int
    stored: bool = False


@dataclass(frozen=True)
class Fabric:
    """One fabric as the model sees it, with what a report of it needs.

    ``amount`` are the endpoints as terms: systems (compute) or port parts. ``ports`` are terms of
    the links to devices. ``planes`` copies of each size are built; ``ports_per_amount`` are the
    ports that one of ``amount`` stands for (out of band: the ports one switch can serve).
    """

    network: NetworkName
    switch: str
    serves: tuple[str, ...]
    prefix: str
    amount: Terms
    links: Terms
    sizes: tuple[FabricSize, ...]
    planes: int
    radix: int
    parts_per_port: int
    ports_per_amount: int
    oversubscription: float


@dataclass(frozen=True)
class Kit:
    """All companions of a problem, and the counts they follow from in working order.

    ``racks`` are terms of every rack in the room; ``shared`` are the racks that network devices
    share, where there are any.
    """

    quantities: tuple[Quantity, ...] = ()
    companions: tuple[Companion, ...] = ()
    racks: Terms = ()
    shared: Packed | None = None
    shared_pdus_per_rack: int = 0
    pdus_per_rack: tuple[tuple[str, int], ...] = ()
    fabrics: tuple[Fabric, ...] = ()
    missing: tuple[str, ...] = ()

    def values(self, units: Mapping[str, int]) -> dict[str, float]:
        """Return every count that follows from the units of GPU systems and storage.

        Raises:
            ValueError: a fabric would have to be larger than three tiers can be.
        """
        values = evaluate(self.quantities, units)
        for companion in self.companions:
            values[companion.id] = round(total(companion.terms, values))
        return values
