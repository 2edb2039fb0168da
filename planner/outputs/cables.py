"""The cable schedule for other programs, as CSV: one row per link, with stable columns.

Like the bill it has a byte order mark, CRLF line ends, and text that no spreadsheet takes for a
formula. Cables are numbered by network and kind; two rows of a number share a splitter.
"""

from __future__ import annotations

from planner.outputs.bill import harmless
from planner.schema.cables import Cable, CableSchedule

COLUMNS = (
    "cable", "network", "from_device", "from_rack", "from_ru", "from_port", "to_device", "to_rack",
    "to_ru", "to_port", "sku", "model", "part_number", "medium", "length_m", "ordered_m",
    "from_position", "to_position",
)  # fmt: skip
"""The columns, in order."""

Value = str | int | float | None


def cells(cable: Cable) -> tuple[Value, ...]:
    """Return one link as the values of the columns."""
    lower, upper = cable.lower, cable.upper
    return (
        cable.number,
        cable.network,
        lower.device,
        lower.rack,
        lower.position_ru,
        lower.port,
        upper.device,
        upper.rack,
        upper.position_ru,
        upper.port,
        cable.sku,
        cable.model,
        cable.part_number,
        cable.medium,
        cable.length_m,
        cable.ordered_m,
        lower.position,
        upper.position,
    )


def csv_bytes(schedule: CableSchedule) -> bytes:
    """Return the schedule as CSV in UTF-8; what is not known is an empty cell."""
    records = [",".join(COLUMNS)]
    records += [",".join(map(_cell, cells(cable))) for cable in schedule.cables]
    return ("\ufeff" + "".join(f"{record}\r\n" for record in records)).encode()


def _cell(value: Value) -> str:
    if isinstance(value, str):
        return '"' + harmless(value).replace('"', '""') + '"' if value else ""
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
