"""What appliances are rated for."""

from __future__ import annotations

from planner.case.model import Storage


def nameplate(item: Storage, units: int) -> tuple[float, float]:
    """Return the (read, write) nameplate bandwidth of so many units, GB/s."""
    if not item.segments:
        return item.read_gb_per_s * units, item.write_gb_per_s * units
    for piece in item.segments:
        if piece.low <= units <= piece.high:
            over = units - piece.low
            read = piece.read_at_low + piece.read_slope * over
            return read, piece.write_at_low + piece.write_slope * over
    return 0.0, 0.0
