"""The sheets Racks & fabric, and Basis for the inside: sources, exclusions, notes, the plan."""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from planner.report import edition
from planner.report.blocks import Column, Table, Value
from planner.report.words import NETWORKS, product, proof
from planner.schema.plan import FabricReport, Line, Plan, RackGroup
from planner.workbook.book import GREY, THIN, Book, Sheet
from planner.workbook.tables import write_table

NAME = "Basis"
_WIDTHS = (40, 20, 13, 44, 11, 12, 60)
CARRIED = "Carried plan"
"""What a row of the plan that the workbook carries begins with."""
FORMAT = 2
_CHUNK, _MOST_BYTES = 30_000, 100_000_000

_ASSUMPTIONS = ("Assumption", "Value", "Unit", "Source", "Date", "Confidence", "Note")
_PRICES = ("Price of", "List", "Range", "Source", "Date", "Confidence", "Note")


class UnreadableError(ValueError):
    """What a workbook carries is not there, incomplete, or of another version; the text says so."""


class Carried(NamedTuple):
    """What an internal workbook carries: the plan as JSON, what it was made from, when, by what."""

    plan: str
    inputs: str
    created: datetime
    tool: str


def write(book: Book, plan: Plan, solved: Plan, inputs: str | None) -> None:
    """Write the sheet.

    Args:
        plan: in the currency shown.
        solved: the plan as solved, which the workbook carries.
        inputs: the text of what it was made from; without it nothing is carried.
    """
    sheet = Sheet(book, NAME, _WIDTHS, landscape=True)
    sheet.head(
        "Basis of the plan", "Internal: sources, assumptions and notes are not for the customer."
    )
    for title, texts in _parts(plan):
        _list(sheet, title, texts)
    table_of(sheet, "Assumptions and inputs", _ASSUMPTIONS, [*_assumptions(plan)], "None.")
    table_of(sheet, "Prices", _PRICES, [*_prices(plan)], "No line has a price.")
    others = [f"{each.sku}: {each.reason}" for each in plan.not_considered]
    _list(sheet, "Not considered", others)
    sheet.area(0, sheet.at)
    if inputs is not None:
        _carry(
            sheet, Carried(solved.model_dump_json(), inputs, book.created, solved.provenance.tool)
        )


def _parts(plan: Plan) -> Iterator[tuple[str, Sequence[str]]]:
    made, goal = plan.provenance, plan.objective
    yield (
        "How it was made",
        [
            f"Status: {plan.status}; {goal.sense} {goal.name.replace('_', ' ')}",
            *([proof(goal)] if goal.bound is not None else []),
            f"{made.tool}, solver {made.solver}; problem {made.problem_file}"
            + (f", scenario {made.scenario}" if made.scenario else ""),
            f"Catalogs: {', '.join(made.catalogs)}. Price books: {', '.join(made.price_books)}",
            *([f"Overrides: {', '.join(made.overrides)}"] if made.overrides else []),
            f"Input SHA-256: {made.input_sha256}",
            *([plan.message] if plan.message else []),
        ],
    )
    if plan.currency is not None and plan.shown_in.code != "USD":
        yield "Exchange rate", [plan.shown_in.rate_text()]
    yield "Exclusions", [*plan.not_counted] or ["none"]
    yield "Notes", [*plan.warnings]
    idle = [
        f"{each.units:,} x {each.sku}, owned, idle: {each.reason}; {each.fix}" for each in plan.idle
    ]
    yield "Installed units that stay idle", idle
    yield (
        "Notes on lines",
        [f"{product(line)}: {note}" for line in edition.own_lines(plan) for note in line.notes],
    )


def _list(sheet: Sheet, title: str, texts: Sequence[str]) -> None:
    if not texts:
        return
    sheet.heading(title)
    for text in texts:
        sheet.text(text, font_size=9)
    sheet.at += 1


def _assumptions(plan: Plan) -> Iterator[tuple[Value, ...]]:
    for each in plan.assumptions:
        unit = plan.shown_in.named(each.unit)
        rest = (each.source, each.date, each.confidence, each.note)
        yield each.label, each.value, unit, *rest


def _prices(plan: Plan) -> Iterator[tuple[Value, ...]]:
    for line in edition.own_lines(plan):
        if (price := line.price) is not None:
            source = f"{price.source} ({price.book})" if price.book else price.source
            rest = (source, price.date, price.confidence, price.note)
            yield product(line), line.unit_list_usd, _range(line), *rest


def _range(line: Line) -> str:
    price = line.price
    if price is None or (price.low_usd is None and price.high_usd is None):
        return ""
    ends = (line.unit_list_usd if end is None else end for end in (price.low_usd, price.high_usd))
    return " – ".join("" if end is None else f"{end:,.0f}" for end in ends)


def _carry(sheet: Sheet, carried: Carried) -> None:
    """Write the plan below what is printed, in cells of compressed text."""
    sheet.heading("Data for `planner verify`: the plan and its inputs. Do not change.")
    text = pack(carried)
    chunks = [text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK)]
    small = sheet.book.look(font_color=GREY, font_size=8, **THIN)
    filled = sheet.book.look(font_color=GREY, font_size=8, align="fill", indent=0, **THIN)
    for number, chunk in enumerate(chunks, start=1):
        sheet.put(sheet.at, 0, f"{CARRIED}, {number} of {len(chunks)}", small)
        sheet.put(sheet.at, 1, chunk, filled)
        sheet.at += 1


def pack(carried: Carried) -> str:
    """The text that `unpack` reads."""
    whole = {**carried._asdict(), "created": carried.created.isoformat(), "format": FORMAT}
    return base64.b64encode(zlib.compress(json.dumps(whole).encode(), 6)).decode()


def unpack(text: str) -> Carried:
    """The plan and inputs in a workbook.

    Raises:
        UnreadableError: it was changed, or another version wrote it.
    """
    try:
        reader = zlib.decompressobj()
        data = reader.decompress(base64.b64decode(text, validate=True), _MOST_BYTES)
        if not reader.eof:
            raise UnreadableError("it is cut off")
        whole = json.loads(data)
        if whole.pop("format") != FORMAT:
            raise UnreadableError("another version of planner wrote it")
        created = datetime.fromisoformat(whole.pop("created"))
        if not all(isinstance(value, str) for value in whole.values()):
            raise UnreadableError("it was changed")
        return Carried(created=created, **whole)
    except UnreadableError:
        raise
    except Exception:  # somebody else's data may break a reader in any way
        raise UnreadableError("it was changed") from None


# Racks & fabric.

RACKS = "Racks & fabric"
_RACK_WIDTHS = (30, 60, 10, 11, 11, 11, 12, 12, 15)
_FABRIC = (
    "Network", "Switch", "Planes", "Leaf", "Spine", "Core", "Ports used", "Links",
    "Oversubscription",
)  # fmt: skip
_RACKS = (
    "Racks", "Content of each", "Count", "Power each, kW", "Power limit, kW", "Weight each, kg",
    "Height, RU", "PDUs", "Used, RU",
)  # fmt: skip


def write_racks(book: Book, plan: Plan) -> None:
    """Write both tables; they stand as planned, as only a new plan can tell them."""
    sheet = Sheet(book, RACKS, _RACK_WIDTHS, landscape=True)
    under = "As planned: counts of switches, links and racks follow a new plan, not an edit here."
    sheet.head("Racks and fabric", under)
    names = {line.sku: product(line) for line in plan.lines}
    fabrics = [_fabric(report, names) for report in plan.fabrics]
    table_of(sheet, "Fabric", _FABRIC, fabrics, "No network is part of this plan.")
    racks = [_racks(group, names) for group in plan.racks]
    table_of(sheet, "Racks", _RACKS, racks, "No racks are part of this plan.")
    if plan.totals is not None and plan.totals.racks is not None:
        weight = plan.totals.weight_kg
        total = f"{plan.totals.racks:,} racks in all"
        total += f", {weight:,.0f} kg of equipment" if weight is not None else ""
        sheet.text(f"{total}.", font_color=GREY)
    sheet.area(0, sheet.at)


def table_of(
    sheet: Sheet, title: str, heads: Sequence[str], rows: Sequence[Sequence[Value]], empty: str
) -> None:
    """Write rows under heads, or a text where there are none."""
    if rows:
        columns = map(Column, heads, zip(*rows, strict=True))
        write_table(sheet, Table(title, tuple(columns)))
        return
    sheet.heading(title)
    sheet.text(empty, font_color=GREY)
    sheet.at += 1


def _fabric(report: FabricReport, names: Mapping[str, str]) -> tuple[Value, ...]:
    network = NETWORKS[report.network]
    return (
        network[:1].upper() + network[1:],
        names.get(report.switch_sku, report.switch_sku),
        report.planes,
        report.leaf_switches,
        report.spine_switches,
        report.core_switches,
        report.endpoints / report.parts_per_port,
        report.system_links + report.leaf_spine_links + report.spine_core_links,
        report.oversubscription,
    )


def _racks(group: RackGroup, names: Mapping[str, str]) -> tuple[Value, ...]:
    last = group.first + group.count - 1
    counts = Counter(device.sku for device in group.devices)
    where = f"{group.first}" if last == group.first else f"{group.first} to {last}"
    return (
        f"{where} ({group.rack_class})",
        ", ".join(f"{count} x {names.get(sku, sku)}" for sku, count in counts.items()),
        group.count,
        group.it_power_kw,
        group.power_limit_kw,
        group.weight_kg,
        group.height_ru,
        group.pdus,
        sum(device.rack_units for device in group.devices),
    )
