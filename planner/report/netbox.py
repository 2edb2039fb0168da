"""What is installed, for other programs: files for NetBox, the cable schedule as CSV.

One CSV for each of NetBox' import forms, numbered in the order in which they must go in: what a row
refers to, by name as the forms ask, stands in a file before it. Columns are fields of the forms in
``netbox/dcim/forms/bulk_import.py`` (netbox-community/netbox @016a533, 2025), values those that the
forms choose from. Everything is ``planned``. No money is in it.

Like the bill it has a byte order mark, CRLF line ends, and text that no spreadsheet takes for a
formula. Cables are numbered by network and kind; two rows of a number share a splitter.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from planner.report.bill import harmless
from planner.schema.catalog import NO_PART_NUMBER
from planner.schema.plan import Cable, CableSchedule, Line, Plan, RackGroup

SITE = "planned hall"
PLANNED = "planned"
INTERFACE = "dcim.interface"
FIELDS: Mapping[str, tuple[str, ...]] = {
    "1-sites": ("name", "slug", "status", "description"),
    "2-manufacturers": ("name", "slug"),
    "3-rack-roles": ("name", "slug", "color"),
    "4-device-roles": ("name", "slug", "color", "vm_role"),
    "5-device-types": (
        "manufacturer", "model", "slug", "part_number", "u_height", "is_full_depth", "description",
        "weight", "weight_unit",
    ),
    "6-racks": (
        "site", "name", "status", "role", "width", "u_height", "max_weight", "weight_unit",
        "description",
    ),
    "7-devices": (
        "name", "role", "manufacturer", "device_type", "status", "site", "rack", "position", "face",
        "description",
    ),
    "8-interfaces": ("device", "name", "type", "mgmt_only", "description"),
    "9-cables": (
        "side_a_device", "side_a_type", "side_a_name", "side_b_device", "side_b_type",
        "side_b_name", "status", "label", "length", "length_unit", "description",
    ),
}  # fmt: skip
"""The columns of each file; every one is a field of its form."""

COLORS = {"gpu_system": "4caf50", "storage": "2196f3", "switch": "ff9800", "pdu": "9e9e9e"}
"""Colours of roles in NetBox; others are grey."""
_CLASSES = {"gpu": "4caf50", "storage": "2196f3", "network": "ff9800"}
_MOST_NAME = 64

Row = dict[str, object]


class _Kind(NamedTuple):
    """A type of device: an item in racks, or an end that is no item."""

    vendor: str
    model: str
    category: str
    part_number: str = ""
    height_ru: float = 0.0
    weight_kg: float | None = None


class _Placed(NamedTuple):
    """A device as it is imported."""

    name: str
    kind: _Kind
    rack: int | None
    position: float | None
    note: str = ""


def files(plan: Plan, schedule: CableSchedule) -> dict[str, bytes]:
    """The files of a plan, by the end of their names, such as ``6-racks``."""
    # A link for which no port is free connects nothing.
    cables = tuple(cable for cable in schedule.cables if cable.lower.port and cable.upper.port)
    devices = list(_devices(plan, cables))
    kinds = list(dict.fromkeys(device.kind for device in devices))
    categories = sorted({kind.category for kind in kinds})
    site: Row = {"name": SITE, "slug": _slug(SITE), "status": PLANNED, "description": plan.problem}
    vendors = sorted({kind.vendor for kind in kinds})
    classes = sorted({group.rack_class for group in plan.racks})
    rows: dict[str, Iterable[Row]] = {
        "1-sites": [site],
        "2-manufacturers": [{"name": name, "slug": _slug(name)} for name in vendors],
        "3-rack-roles": [{"name": c, "slug": _slug(c), "color": _CLASSES[c]} for c in classes],
        "4-device-roles": [
            {"name": _role(c), "slug": _slug(c), "color": COLORS.get(c, "607d8b"), "vm_role": False}
            for c in categories
        ],
        "5-device-types": _types(kinds),
        "6-racks": [row for group in plan.racks for row in _racks(group)],
        "7-devices": [_device(device) for device in devices],
        "8-interfaces": _interfaces(cables),
        "9-cables": _cables(cables),
    }
    return {name: _csv(FIELDS[name], rows[name]) for name in FIELDS}


def _devices(plan: Plan, cables: Sequence[Cable]) -> Iterator[_Placed]:
    """Yield devices in racks, named as in the cable schedule, and other connected ends."""
    ends = {end.device: end for cable in cables for end in (cable.lower, cable.upper)}
    named = {(e.rack, e.position_ru): e.device for e in ends.values() if e.position_ru is not None}
    kinds = {line.sku: _kind_of(line) for line in plan.lines}
    placed = set()
    for group in plan.racks:
        for rack in range(group.first, group.first + group.count):
            for device in group.devices:
                name = named.get((rack, device.position_ru))
                name = name or f"{device.sku}-r{rack:03d}-u{device.position_ru:g}"
                kind = kinds[device.sku]
                high = math.ceil(2 * device.rack_units - 1e-9) / 2
                kind = kind._replace(height_ru=high, weight_kg=device.weight_kg)
                placed.add(name)
                yield _Placed(name, kind, rack, device.position_ru if high else None)
    pdu = next((kinds[line.sku] for line in plan.lines if line.category == "pdu"), None)
    for name, end in ends.items():
        if name in placed:  # others have no height: PDUs, devices without rack, customer's ends
            continue
        known = kinds.get(name.rpartition("-")[0]) or (pdu if name.startswith("pdu-") else None)
        note = "" if known is not None else "an end that is not part of the bill"
        kind = known or _Kind("generic", "end of a cable", "other")
        yield _Placed(name, kind._replace(height_ru=0.0), end.rack, None, note)


def _kind_of(line: Line) -> _Kind:
    number = line.part_number if line.part_number not in (None, NO_PART_NUMBER) else ""
    return _Kind(line.vendor, line.model, line.category, number or "")


def _types(kinds: Sequence[_Kind]) -> Iterator[Row]:
    for kind in {(kind.vendor, kind.model): kind for kind in reversed(kinds)}.values():
        yield {
            "manufacturer": kind.vendor,
            "model": kind.model,
            "slug": _slug(f"{kind.vendor}-{kind.model}"),
            "part_number": kind.part_number[:50],
            "u_height": kind.height_ru,
            "is_full_depth": True,
            "description": "",
            "weight": None if kind.weight_kg is None else round(kind.weight_kg, 2),
            "weight_unit": None if kind.weight_kg is None else "kg",
        }


def _racks(group: RackGroup) -> Iterator[Row]:
    for rack in range(group.first, group.first + group.count):
        limit = group.weight_limit_kg
        power = group.power_limit_kw
        yield {
            "site": SITE,
            "name": _rack(rack),
            "status": PLANNED,
            "role": group.rack_class,
            "width": 19,
            "u_height": math.ceil(group.height_ru - 1e-9),
            "max_weight": None if limit is None else math.ceil(limit),
            "weight_unit": None if limit is None else "kg",
            "description": f"{group.it_power_kw:.4g} kW"
            + ("" if power is None else f" of at most {power:.4g} kW"),
        }


def _device(device: _Placed) -> Row:
    return {
        "name": device.name[:_MOST_NAME],
        "role": _role(device.kind.category),
        "manufacturer": device.kind.vendor,
        "device_type": device.kind.model,
        "status": PLANNED,
        "site": SITE,
        "rack": None if device.rack is None else _rack(device.rack),
        "position": device.position,
        "face": None if device.position is None else "front",
        "description": device.note,
    }


def _interfaces(cables: Sequence[Cable]) -> Iterator[Row]:
    """Yield every port that a cable ends at; of type ``other``, as NetBox lacks some speeds."""
    ports: dict[tuple[str, str], str] = {}
    for cable in cables:
        for end in (cable.lower, cable.upper):
            ports.setdefault((end.device, end.port), cable.network)
    for (device, port), network in ports.items():
        copper = network == "out_of_band"
        yield {
            "device": device[:_MOST_NAME],
            "name": port,
            "type": "1000base-t" if copper else "other",
            "mgmt_only": copper and port.startswith("console"),
            "description": network.replace("_", "-"),
        }


def _cables(cables: Sequence[Cable]) -> Iterator[Row]:
    for cable in cables:
        sides = zip("ab", (cable.lower, cable.upper), strict=True)
        row: Row = {}
        for side, end in sides:
            row |= {
                f"side_{side}_device": end.device[:_MOST_NAME],
                f"side_{side}_type": INTERFACE,
                f"side_{side}_name": end.port,
            }
        words = [text for text in (cable.model, cable.part_number, cable.medium) if text]
        yield row | {
            "status": PLANNED,
            "label": f"{cable.network.replace('_', '-')} {cable.number}",
            "length": cable.length_m,
            "length_unit": None if cable.length_m is None else "m",
            "description": ", ".join(words)[:200],
        }


def _rack(number: int) -> str:
    return f"rack-{number:03d}"


def _role(category: str) -> str:
    return category.replace("_", " ") or "other"


def _slug(text: str) -> str:
    """A name as NetBox has it in addresses: letters, digits, ``-`` and ``_``."""
    return re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-")[:100] or "none"


def _csv(fields: tuple[str, ...], rows: Iterable[Row]) -> bytes:
    """Rows as NetBox reads them: UTF-8 without a mark, what is not known left empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(fields)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in fields])
    return stream.getvalue().encode()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else harmless(str(value))


# The cable schedule.

_END = ("device", "rack", "ru", "port")
COLUMNS = (
    *("cable", "network", *(f"from_{name}" for name in _END), *(f"to_{name}" for name in _END)),
    *("sku", "model", "part_number", "medium", "length_m"),
)
"""The columns of the schedule, in order."""

Value = str | int | float | None


def cells(cable: Cable) -> tuple[Value, ...]:
    """One link as the values of the columns."""
    ends = ((end.device, end.rack, end.position_ru, end.port) for end in (cable.lower, cable.upper))
    low, high = ends
    rest = (cable.sku, cable.model, cable.part_number, cable.medium)
    return (cable.number, cable.network, *low, *high, *rest, cable.length_m)


def schedule_csv(schedule: CableSchedule) -> bytes:
    """The schedule as CSV in UTF-8; what is not known is an empty cell."""
    records = [",".join(COLUMNS)]
    records += [",".join(map(_schedule_cell, cells(cable))) for cable in schedule.cables]
    return ("\ufeff" + "".join(f"{record}\r\n" for record in records)).encode()


def _schedule_cell(value: Value) -> str:
    if isinstance(value, str):
        return '"' + harmless(value).replace('"', '""') + '"' if value else ""
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
