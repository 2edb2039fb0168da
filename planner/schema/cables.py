"""The cable schedule of a plan: every link with its two ends, its part and its length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NetworkOfCable = Literal["compute", "storage", "converged", "in_band", "out_of_band"]


@dataclass(frozen=True, slots=True)
class CableEnd:
    """A device, where it stands and its port; a place is None where nobody gives racks.

    ``position_ru`` is the lowest rack unit of the device, None for what has no height; ``position``
    where its rack stands, in a hall of several groups of positions.
    """

    device: str
    port: str
    rack: int | None = None
    position_ru: float | None = None
    position: str | None = None


@dataclass(frozen=True, slots=True)
class Cable:
    """One link. Links with the same ``number`` and ``sku`` share a cable, as a splitter's do.

    ``sku`` is None where no cable is listed for such ports. ``length_m`` is the run in whole
    metres, None where the problem gives no ``site.floor``; ``medium`` says what such a length asks
    for, or where parts are bought by length what they are. ``ordered_m`` is then the length as it
    is sold, and ``counted_as`` the item that the bill counts for it.
    """

    number: int
    network: NetworkOfCable
    lower: CableEnd
    upper: CableEnd
    sku: str | None
    model: str | None
    part_number: str | None
    length_m: int | None
    medium: str
    ordered_m: float | None = None
    counted_as: str | None = None
    in_place_of: int = 1
    spares: str | None = None


@dataclass(frozen=True)
class CableSchedule:
    """All cables of a plan, and what should be known of them."""

    cables: tuple[Cable, ...]
    notes: tuple[str, ...]
