"""Files for other programs: bill, sweep tables, cables, NetBox tables, plan JSON.

An unknown value is an empty cell, or null. A bill as CSV (RFC 4180) begins with a byte order mark,
without which Excel garbles letters beyond ASCII. Text is quoted and numbers are not; Excel guesses
all the same where a file is opened by a double click: import it with the columns as text, or take
the JSON.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from planner.currency import currency_of
from planner.figures import STATED
from planner.files import whole
from planner.report.edition import (
    CORE_SECTIONS,
    PRICES,
    Audience,
    Entry,
    bill_sections,
    for_audience,
    in_currency,
    list_price,
    may_show,
    visible_fields,
)
from planner.report.formats import clean
from planner.schema import Prices
from planner.schema.analysis import Column as SweepColumn
from planner.schema.bill import (
    MONEY_OF_LINES,
    MONEY_OF_TOTALS,
    Bill,
    BillLine,
    BillSums,
    BillTotals,
)
from planner.schema.catalog import NO_PART_NUMBER
from planner.schema.plan import Cable, CableSchedule, Line, Plan


def stem_of(problem: Path, scenario: str | None) -> str:
    """Beginning of the names of a problem's files, without characters that a system refuses."""
    stem = problem.stem if scenario is None else f"{problem.stem}.{scenario}"
    return re.sub(r'[\x00-\x1f\x7f<>:"/\\|?*]', "_", clean(stem, limit=None))


# Cells of a CSV.

_SIGN = "[=+\\-@\uff1d\uff0b\uff0d\uff20\u2212\ufe62\ufe63\ufe66\ufe6b]"
"""Characters that start a formula, in full width and small form too."""

_UNSEEN = "[\\s\"'\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*"
"""Characters allowed before it."""

_AT_START = re.compile(_UNSEEN + _SIGN)
# Excel splits at semicolons in many countries, and then takes a cell to start there.
_AFTER_SEMICOLON = re.compile(f"(;{_UNSEEN})({_SIGN})")


def defuse_formula(text: str) -> str:
    """A text that no spreadsheet takes for a formula, in one line.

    An apostrophe goes before ``=``, ``+``, ``-`` and ``@`` where a cell may start with them.
    Whoever reads such a cell by program finds the text as it was in the JSON.
    """
    line = _AFTER_SEMICOLON.sub(r"\1'\2", clean(text, limit=None).replace("\n", " "))
    return clean(f"'{line}" if _AT_START.match(line) else line)


@lru_cache(maxsize=4096)
def quote_text(text: str) -> str:
    """A text between quotes, empty for none."""
    return '"' + defuse_formula(text).replace('"', '""') + '"' if text else ""


def cell(value: Any) -> str:
    """A value as a cell: numbers are read back the same, nothing, NaN and infinity are empty."""
    if value is None or isinstance(value, str | tuple):
        return quote_text("; ".join(value) if isinstance(value, tuple) else value or "")
    if type(value).__name__ in ("bool", "bool_"):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    return repr(float(value)) if math.isfinite(value) else ""


def _csv(heads: Sequence[str], rows: Iterable[Iterable[Any]], *, mark: bool = True) -> bytes:
    records = [",".join(heads), *(",".join(map(cell, row)) for row in rows)]
    return (("\ufeff" if mark else "") + "".join(f"{each}\r\n" for each in records)).encode()


# Tables of sweeps and telemetry, as Parquet and CSV.

_PLAIN = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
"""Names that need no quotes."""
COMPRESSION = "zstd"

Values = Mapping[str, Sequence[Any]]
"""Columns of a table by their names, of as many rows each."""


def csv_text(values: Values) -> str:
    """A table as CSV."""
    heads = ",".join(name if _PLAIN.fullmatch(name) else quote_text(name) for name in values)
    rows = zip(*(list(map(cell, column)) for column in values.values()), strict=True)
    return "\n".join([heads, *map(",".join, rows), ""])


def write_files(
    parquet: Path,
    csv: Path,
    columns: Sequence[SweepColumn],
    types: Mapping[str, str],
    values: Values,
) -> None:
    """Write the table of a sweep in both forms, whole or not at all.

    Args:
        columns: in this order; Parquet fields have their label, unit, kind and path as metadata.
        types: "int", "float" or "str" by column.

    Raises:
        InputError: a file cannot be written, or the disk is full; the former files then stay.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"int": pa.int64(), "float": pa.float64(), "str": pa.string()}
    fields = []
    for column in columns:
        metadata = {key: str(value) for key, value in column.model_dump().items() if value}
        fields.append(pa.field(column.name, kinds[types[column.name]], metadata=metadata))
    names = [column.name for column in columns]
    schema = pa.schema(fields, metadata={"columns": json.dumps(names)})
    arrays = [pa.array(values[field.name], field.type) for field in fields]
    with whole((parquet, csv)) as (one, other):
        table = pa.Table.from_arrays(arrays, schema=schema)
        pq.write_table(table, one, compression=COMPRESSION, row_group_size=20_000)
        with other.open("w", encoding="utf-8", newline="") as stream:
            stream.write(csv_text({name: values[name] for name in names}))
            stream.flush()
            os.fsync(stream.fileno())


# The bill: one row per line, with stable columns.

COLUMNS = tuple(BillLine.model_fields)
"""The columns of the internal edition, in order."""


def _hidden(money: frozenset[str], record: type[BillLine | BillTotals], prices: Prices) -> set[str]:
    """The fields of money that an edition does not show."""
    return {name for name in money if not may_show(visible_fields(record).get(name, "all"), prices)}


def bill_columns(prices: Prices) -> tuple[str, ...]:
    """The columns of an edition, in the order of the internal one."""
    hidden = _hidden(MONEY_OF_LINES, BillLine, prices)
    return tuple(name for name in COLUMNS if name not in hidden)


def bill_csv(bill: Bill, prices: Prices | None = None) -> bytes:
    """The bill as CSV in UTF-8 with CRLF line ends; an unknown value is an empty cell."""
    columns = bill_columns(prices or PRICES[bill.audience])
    return _csv(columns, ([getattr(line, name) for name in columns] for line in bill.lines))


def bill_json(bill: Bill, prices: Prices | None = None) -> bytes:
    """The bill as indented UTF-8 JSON with a final newline.

    Texts are as the catalogs have them, without control characters and without what turns text
    round (see `planner.report.formats`); outside there are no keys of money but the prices
    asked for.
    """
    shown = prices or PRICES[bill.audience]
    lines = dict.fromkeys(_hidden(MONEY_OF_LINES, BillLine, shown), True)
    totals = dict.fromkeys(_hidden(MONEY_OF_TOTALS, BillTotals, shown), True)
    hidden = {
        "lines": {"__all__": lines},
        "totals": {"sections": {"__all__": totals}, "grand": totals},
    }
    exclude: Any = hidden | ({"currency": True} if shown == "none" else {})
    return (bill.model_dump_json(indent=2, exclude=exclude) + "\n").encode()


def bill(plan: Plan, audience: Audience = "internal", prices: Prices | None = None) -> Bill:
    """The bill of a plan.

    Args:
        prices: which prices it shows, by default those of the audience.
    """
    code, plan = plan.shown_in.code, in_currency(for_audience(plan, audience, prices))
    shown = code if (prices or PRICES[audience]) != "none" else None
    rows = {
        section: [row for entry in entries for row in _rows(entry, shown)]
        for section, entries in bill_sections(plan)
    }
    own = {
        section: [row for row in known if row.parent_line is None]
        for section, known in rows.items()
    }
    grand = _totals([row for known in own.values() for row in known])
    racks = None if plan.totals is None else plan.totals.racks
    return Bill(
        problem=clean(plan.problem, limit=None),
        currency=shown,
        audience=audience,
        lines=tuple(_without_noise(row) for known in rows.values() for row in known),
        totals=BillSums(
            sections={section: _without_noise(_totals(known)) for section, known in own.items()},
            grand=_without_noise(grand.model_copy(update={"racks": racks})),
        ),
    )


RowT = TypeVar("RowT", BillLine, BillTotals)


def _without_noise(row: RowT) -> RowT:
    """A row with figures of 15 digits: 6.6, not the 6.6000000000000005 of 3 x 2.2."""
    figures = {name: value for name, value in row if isinstance(value, float)}
    return row.model_copy(update={name: float(f"{each:.15g}") for name, each in figures.items()})


def _rows(entry: Entry, code: str | None) -> Iterator[BillLine]:
    label = f"{entry.number}.0"
    yield _row(entry.line, label, None, _money(entry.line, code) if code else {})
    for at, part in enumerate(entry.parts, 1):
        yield _row(part, f"{entry.number}.{at}", label, {"currency": code} if code else {})


def _row(line: Line, number: str, parent: str | None, money: Mapping[str, object]) -> BillLine:
    notes = [*line.notes]
    if line.price is not None and line.price.note and money:
        notes.append(line.price.note)
    same = {name: getattr(line, name) for name in COLUMNS if hasattr(line, name)}
    same |= {name: clean(text, limit=None) for name, text in same.items() if isinstance(text, str)}
    known = ("part_number", "description", "lead_time", "role")
    changes = {
        "line": number,
        "parent_line": parent,
        "manufacturer": clean(line.vendor, limit=None),
        "notes": tuple(text for note in notes if (text := clean(note, limit=None))),
        "category": line.category or None,
        "lifecycle": line.lifecycle or "available",
        **{name: same[name] or None for name in known},
    }
    none = dict.fromkeys(MONEY_OF_LINES & same.keys())
    return BillLine.model_validate(same | none | changes | dict(money))


def _money(line: Line, code: str) -> dict[str, object]:
    """The money of a line; nothing purchased costs nothing, priced or not."""
    bought, price = line.purchased > 0, line.price
    supported = bool(line.support_usd_per_year)

    def of_price(name: str) -> Any:
        value = None if price is None else getattr(price, name)
        return clean(value, limit=None) or None if isinstance(value, str) else value

    money: dict[str, object] = {
        "currency": code,
        "unit_list": list_price(line),
        "discount": None if line.unit_list_usd is None else line.discount,
        "unit_net": line.unit_net_usd if line.is_percentage else _in_cents(line.unit_net_usd),
        "extended_list": _in_cents(line.extended_list_usd) if bought else 0.0,
        "extended_net": _in_cents(line.extended_net_usd) if bought else 0.0,
        "support_per_year": line.support_usd_per_year if bought else 0.0,
        "subscription_per_year": line.subscription_usd_per_year,
        "support_years": line.support_years if supported else None,
        "support_from_years": line.support_from_years if supported else None,
    }
    for name in ("source", "date", "confidence", "book", "valid_until"):
        money[f"price_{name}"] = of_price(name)
    for end in ("low", "high"):  # by default the list price
        price_end, yearly = of_price(f"{end}_usd"), of_price(f"per_year_{end}_usd")
        money[f"unit_list_{end}"] = line.unit_list_usd if price_end is None else price_end
        yearly = line.unit_subscription_list_usd if yearly is None else yearly
        net = None if yearly is None else round(yearly * (1.0 - line.discount), 2) * line.purchased
        money[f"subscription_per_year_{end}"] = net
    return money


def _in_cents(amount: float | None) -> float | None:
    return None if amount is None else round(amount, currency_of(amount).decimals)


_PAID = ("extended_list", "extended_net", "support_per_year")
_PHYSICAL = ("heat_btu_per_h", "it_power_kw", *(name for name in STATED if name in COLUMNS))
"""Columns with a total, not known where one of their figures is not."""


def _totals(rows: Sequence[BillLine]) -> BillTotals:
    """The sums over lines; a companion without racks of its own takes none here."""
    racks = [
        0 if row.racks is None and row.section not in CORE_SECTIONS else row.racks for row in rows
    ]
    yearly = _sum(row.subscription_per_year or 0.0 for row in rows)
    sums = {name: _sum(getattr(row, name) for row in rows) for name in (*_PAID, *_PHYSICAL)}
    total = None if None in racks else sum(racks)  # type: ignore[arg-type]
    return BillTotals(subscription_per_year=yearly, racks=total, **sums)


def _sum(figures: Iterable[float | None]) -> float | None:
    known = list(figures)
    return None if None in known else math.fsum(known)  # type: ignore[arg-type]


# The cable schedule, numbered by network and kind; two rows of a number share a splitter.

_END = ("device", "rack", "ru", "port")
CABLE_COLUMNS = (
    *("cable", "network", *(f"from_{name}" for name in _END), *(f"to_{name}" for name in _END)),
    *("sku", "model", "part_number", "medium", "length_m"),
)
"""The columns of the schedule, in order."""


def cable_cells(cable: Cable) -> tuple[str | int | float | None, ...]:
    """One link as the values of the columns."""
    low, high = (
        (end.device, end.rack, end.position_ru, end.port) for end in (cable.lower, cable.upper)
    )
    rest = (cable.sku, cable.model, cable.part_number, cable.medium)
    return (cable.number, cable.network, *low, *high, *rest, cable.length_m)


def cables_csv(schedule: CableSchedule) -> bytes:
    """The schedule as CSV in UTF-8; an unknown value is an empty cell."""
    return _csv(CABLE_COLUMNS, map(cable_cells, schedule.cables))


# NetBox: one CSV for each of its import forms, numbered in the order in which they must go in. What
# a row refers to, by name as the forms ask, stands in a file before it. Columns are fields of the
# forms in netbox/dcim/forms/bulk_import.py (netbox-community/netbox @016a533, 2025), values those
# that the forms choose from. Everything is planned. No money is in it.

_SITE, _PLANNED = "planned hall", "planned"
_COLORS = {"gpu_system": "4caf50", "storage": "2196f3", "switch": "ff9800", "pdu": "9e9e9e"}
"""Colours of roles; others are grey."""
_RACK_COLORS = {"gpu": "4caf50", "storage": "2196f3", "network": "ff9800"}
_MOST_NAME = 64


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


def netbox_files(plan: Plan, schedule: CableSchedule) -> dict[str, bytes]:
    """The files of a plan, by the end of their names, such as ``6-racks``."""
    # A link for which no port is free connects nothing.
    cables = [cable for cable in schedule.cables if cable.lower.port and cable.upper.port]
    devices = list(_devices(plan, cables))
    kinds = {(each.kind.vendor, each.kind.model): each.kind for each in reversed(devices)}
    vendors = sorted({vendor for vendor, _ in kinds})
    categories = sorted({device.kind.category for device in devices})
    classes = sorted({group.rack_class for group in plan.racks})
    site = (_SITE, _slug(_SITE), _PLANNED, plan.problem)
    roles = [(_role(each), _slug(each), _COLORS.get(each, "607d8b"), False) for each in categories]
    tables: dict[str, tuple[str, Iterable[Sequence[object]]]] = {
        "1-sites": ("name slug status description", [site]),
        "2-manufacturers": ("name slug", [(name, _slug(name)) for name in vendors]),
        "3-rack-roles": ("name slug color", [(c, _slug(c), _RACK_COLORS[c]) for c in classes]),
        "4-device-roles": ("name slug color vm_role", roles),
        "5-device-types": (
            "manufacturer model slug part_number u_height is_full_depth weight weight_unit",
            map(_type_row, kinds.values()),
        ),
        "6-racks": (
            "site name status role width u_height max_weight weight_unit description",
            _rack_rows(plan),
        ),
        "7-devices": (
            "name role manufacturer device_type status site rack position face description",
            map(_device_row, devices),
        ),
        "8-interfaces": ("device name type mgmt_only description", _interface_rows(cables)),
        "9-cables": (
            "side_a_device side_a_type side_a_name side_b_device side_b_type side_b_name status "
            "label length length_unit description",
            map(_cable_row, cables),
        ),
    }
    return {name: _csv(fields.split(), rows, mark=False) for name, (fields, rows) in tables.items()}


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
                high = math.ceil(2 * device.rack_units - 1e-9) / 2
                kind = kinds[device.sku]._replace(height_ru=high, weight_kg=device.weight_kg)
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


def _with_unit(value: float | None, unit: str) -> tuple[float | None, str | None]:
    return (None, None) if value is None else (value, unit)


def _type_row(kind: _Kind) -> tuple[object, ...]:
    weight = None if kind.weight_kg is None else round(kind.weight_kg, 2)
    slug = _slug(f"{kind.vendor}-{kind.model}")
    head = (kind.vendor, kind.model, slug, kind.part_number[:50], kind.height_ru, True)
    return (*head, *_with_unit(weight, "kg"))


def _rack_rows(plan: Plan) -> Iterator[tuple[object, ...]]:
    for group in plan.racks:
        limit, power = group.weight_limit_kg, group.power_limit_kw
        most = "" if power is None else f" of at most {power:.4g} kW"
        weight = _with_unit(None if limit is None else math.ceil(limit), "kg")
        high = math.ceil(group.height_ru - 1e-9)
        rest = (_PLANNED, group.rack_class, 19, high, *weight, f"{group.it_power_kw:.4g} kW{most}")
        for rack in range(group.first, group.first + group.count):
            yield (_SITE, _rack(rack), *rest)


def _device_row(device: _Placed) -> tuple[object, ...]:
    rack = None if device.rack is None else _rack(device.rack)
    place = (rack, device.position, None if device.position is None else "front")
    kind = (_role(device.kind.category), device.kind.vendor, device.kind.model)
    return (device.name[:_MOST_NAME], *kind, _PLANNED, _SITE, *place, device.note)


def _interface_rows(cables: Sequence[Cable]) -> Iterator[tuple[object, ...]]:
    """Yield every port that a cable ends at; of type ``other``, as NetBox lacks some speeds."""
    ports: dict[tuple[str, str], str] = {}
    for cable in cables:
        for end in (cable.lower, cable.upper):
            ports.setdefault((end.device, end.port), cable.network)
    for (device, port), network in ports.items():
        copper = network == "out_of_band"
        kind = "1000base-t" if copper else "other"
        managed = copper and port.startswith("console")
        yield device[:_MOST_NAME], port, kind, managed, network.replace("_", "-")


def _cable_row(cable: Cable) -> tuple[object, ...]:
    sides = [
        part
        for end in (cable.lower, cable.upper)
        for part in (end.device[:_MOST_NAME], "dcim.interface", end.port)
    ]
    label = f"{cable.network.replace('_', '-')} {cable.number}"
    words = [text for text in (cable.model, cable.part_number, cable.medium) if text]
    length = _with_unit(cable.length_m, "m")
    return (*sides, _PLANNED, label, *length, ", ".join(words)[:200])


def _rack(number: int) -> str:
    return f"rack-{number:03d}"


def _role(category: str) -> str:
    return category.replace("_", " ") or "other"


def _slug(text: str) -> str:
    """A name as NetBox has it in addresses: letters, digits, ``-`` and ``_``."""
    return re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-")[:100] or "none"


# The plan as JSON, with its inputs, so that every figure can be computed again, and a checksum of
# each part.

MOST_PLAN_BYTES = 20_000_000
"""A plan has far fewer."""
MOST_INPUTS_BYTES = 200_000_000
"""Bound of unpacked inputs of a plan: of 10,000 products they have some 30 MB."""

_DIGITS = 16


def attach_inputs(plan: Plan, inputs: bytes | None) -> Plan:
    """The plan with its inputs and the checksums of its file."""
    held = None if inputs is None else pack_text(inputs)
    whole = plan.model_copy(update={"inputs": held, "checksums": None})
    return whole.model_copy(update={"checksums": _checksums(whole.model_dump_json().encode())})


class Written(NamedTuple):
    """A plan as a file holds it.

    ``inputs`` is the text of its inputs, None where the file carries none that can be
    read. ``changed`` names the parts that are not as they were written.
    """

    plan: Plan
    inputs: str | None
    changed: tuple[str, ...]


def read_plan(data: bytes) -> Written:
    """The plan in a file; raises pydantic's ValidationError where there is none."""
    whole = Plan.model_validate_json(data)
    plan = whole.model_copy(update={"inputs": None, "checksums": None})
    now, written = _checksums(data), whole.checksums or {}
    names = (*now, *(name for name in written if name not in now))
    changed = tuple(name for name in names if written.get(name) != now.get(name))
    return Written(plan, None if whole.inputs is None else unpack_text(whole.inputs), changed)


def pack_text(text: bytes) -> str:
    """A text as compressed letters."""
    return base64.b64encode(zlib.compress(text, 6)).decode()


def unpack_text(letters: str) -> str | None:
    """The text in compressed letters; None where they were changed or cut, or hold too much."""
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(base64.b64decode(letters, validate=True), MOST_INPUTS_BYTES)
        return text.decode() if reader.eof else None
    except (binascii.Error, zlib.error, ValueError):
        return None


def _checksums(data: bytes) -> dict[str, str]:
    """The checksum of each part but the checksums, however its numbers are written."""
    parts: dict[str, Any] = json.loads(data, parse_float=_number)
    return {name: _checksum(part) for name, part in parts.items() if name != "checksums"}


def _number(text: str) -> float | int:
    value = float(text)
    return int(value) if value.is_integer() else value


def _checksum(part: object) -> str:
    text = json.dumps(part, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
