"""The sheets Racks & fabric, and Basis for the inside: sources, exclusions, notes, the plan."""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from planner.report import edition
from planner.report.blocks import Block, Table, Text, figures, words
from planner.report.views.plan import idle_texts
from planner.report.words import NETWORKS, product, proof
from planner.schema.plan import Line, Plan, RackGroup
from planner.workbook.book import Book, Sheet
from planner.workbook.tables import write_blocks

NAME, RACKS = "Basis", "Racks & fabric"
CARRIED = "Carried plan"
"""First words of a row of the plan that the workbook carries."""
FORMAT = 3
_CHUNK, _MOST_BYTES = 30_000, 100_000_000


class UnreadableError(ValueError):
    """The carried plan is missing, incomplete, or of another version; the text says so."""


class Carried(NamedTuple):
    """Content of an internal workbook: the plan as JSON, its inputs, date and version."""

    plan: str
    inputs: str
    created: datetime
    tool: str


def write(book: Book, plan: Plan, solved: Plan, inputs: str | None) -> None:
    """Write the sheet Basis.

    Args:
        plan: in the currency shown.
        solved: the plan as solved, which the workbook carries.
        inputs: the text of its inputs; without it nothing is carried.
    """
    sheet = Sheet(book, NAME, (40, 20, 13, 44, 11, 12, 60), landscape=True)
    under = "Internal: sources, assumptions and notes are not for the customer."
    sheet.head("Basis of the plan", under)
    write_blocks(sheet, _blocks(plan))
    if inputs is not None:
        made = solved.provenance.tool
        _carry(sheet, Carried(solved.model_dump_json(), inputs, book.created, made))


def _blocks(plan: Plan) -> Iterator[Block]:
    yield Text(tuple(_made(plan)), "How it was made")
    if plan.currency is not None and plan.shown_in.code != "USD":
        yield Text((plan.shown_in.rate_text(),), "Exchange rate")
    yield Text(plan.not_counted or ("none",), "Exclusions")
    yield Text(plan.warnings, "Notes")
    yield Text(tuple(idle_texts(plan, fix=True)), "Installed units that stay idle")
    lines = edition.own_lines(plan)
    notes = (f"{product(line)}: {note}" for line in lines for note in line.notes)
    yield Text(tuple(notes), "Notes on lines")
    yield _assumptions(plan)
    yield _prices(lines)
    others = (f"{each.sku}: {each.reason}" for each in plan.not_considered)
    yield Text(tuple(others), "Not considered")


def _made(plan: Plan) -> Iterator[str]:
    made, goal = plan.provenance, plan.objective
    yield f"Status: {plan.status}; {goal.sense} {goal.name.replace('_', ' ')}"
    if goal.bound is not None:
        yield proof(goal)
    scenario = f", scenario {made.scenario}" if made.scenario else ""
    yield f"{made.tool}, solver {made.solver}; problem {made.problem_file}{scenario}"
    yield f"Catalogs: {', '.join(made.catalogs)}. Price books: {', '.join(made.price_books)}"
    if made.overrides:
        yield f"Overrides: {', '.join(made.overrides)}"
    yield f"Input SHA-256: {made.input_sha256}"
    yield plan.message or ""


def _assumptions(plan: Plan) -> Table:
    rows = plan.assumptions
    columns = (
        words("Assumption", (each.label for each in rows)),
        figures("Value", (each.value for each in rows)),
        words("Unit", (plan.shown_in.named(each.unit) for each in rows)),
        words("Source", (each.source for each in rows)),
        words("Date", (each.date for each in rows)),
        words("Confidence", (each.confidence for each in rows)),
        words("Note", (each.note for each in rows)),
    )
    return Table("Assumptions and inputs", columns)


def _prices(lines: list[Line]) -> Table:
    found = [(line, line.price) for line in lines if line.price is not None]
    rows = [price for _, price in found]
    columns = (
        words("Price of", (product(line) for line, _ in found)),
        figures("List", (line.unit_list_usd for line, _ in found)),
        words("Range", (_range(line) for line, _ in found)),
        words("Source", (f"{p.source} ({p.book})" if p.book else p.source for p in rows)),
        words("Date", (price.date for price in rows)),
        words("Confidence", (price.confidence for price in rows)),
        words("Note", (price.note for price in rows)),
    )
    return Table("Prices", columns)


def _range(line: Line) -> str:
    price = line.price
    if price is None or (price.low_usd is None and price.high_usd is None):
        return ""
    ends = (line.unit_list_usd if end is None else end for end in (price.low_usd, price.high_usd))
    return " – ".join("" if end is None else f"{end:,.0f}" for end in ends)


def _carry(sheet: Sheet, carried: Carried) -> None:
    """Write the plan below the printed area, in cells of compressed text."""
    sheet.heading("Data for `planner verify`: the plan and its inputs. Do not change.")
    text = pack(carried)
    chunks = [text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK)]
    small = sheet.book.look("text", "note", "line")
    filled = sheet.book.look("text", "note", "line", align="fill", indent=0)
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


def write_racks(book: Book, plan: Plan) -> None:
    """Write the sheet Racks & fabric: both stand as planned, as only a new plan can tell them."""
    sheet = Sheet(book, RACKS, (30, 60, 10, 11, 11, 11, 12, 12, 15), landscape=True)
    under = "As planned: counts of switches, links and racks follow a new plan, not an edit here."
    sheet.head("Racks and fabric", under)
    names = {line.sku: product(line) for line in plan.lines}
    fabrics, racks, total = plan.fabrics, plan.racks, ""
    if plan.totals is not None and plan.totals.racks is not None:
        weight = plan.totals.weight_kg
        total = f"{plan.totals.racks:,} racks in all"
        total += f", {weight:,.0f} kg of equipment." if weight is not None else "."
    networks = (NETWORKS[each.network] for each in fabrics)
    links = (f.system_links + f.leaf_spine_links + f.spine_core_links for f in fabrics)
    fabric_columns = (
        words("Network", (name[:1].upper() + name[1:] for name in networks)),
        words("Switch", (names.get(each.switch_sku, each.switch_sku) for each in fabrics)),
        figures("Planes", (each.planes for each in fabrics)),
        figures("Leaf", (each.leaf_switches for each in fabrics)),
        figures("Spine", (each.spine_switches for each in fabrics)),
        figures("Core", (each.core_switches for each in fabrics)),
        figures("Ports used", (each.endpoints / each.parts_per_port for each in fabrics)),
        figures("Links", links),
        figures("Oversubscription", (each.oversubscription for each in fabrics)),
    )
    rack_columns = (
        words("Racks", (_where(each) for each in racks)),
        words("Content of each", (_content(each, names) for each in racks)),
        figures("Count", (each.count for each in racks)),
        figures("Power each, kW", (each.it_power_kw for each in racks)),
        figures("Power limit, kW", (each.power_limit_kw for each in racks)),
        figures("Weight each, kg", (each.weight_kg for each in racks)),
        figures("Height, RU", (each.height_ru for each in racks)),
        figures("PDUs", (each.pdus for each in racks)),
        figures("Used, RU", (sum(d.rack_units for d in each.devices) for each in racks)),
    )
    tables = Table("Fabric", fabric_columns), Table("Racks", rack_columns, notes=(total,))
    write_blocks(sheet, tables)


def _where(group: RackGroup) -> str:
    last = group.first + group.count - 1
    return f"{group.first}{'' if last == group.first else f' to {last}'} ({group.rack_class})"


def _content(group: RackGroup, names: dict[str, str]) -> str:
    counts = Counter(device.sku for device in group.devices)
    return ", ".join(f"{count} x {names.get(sku, sku)}" for sku, count in counts.items())
