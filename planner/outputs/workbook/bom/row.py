"""One row of the bill of materials: text, inputs and formulas of a line or a component."""

from __future__ import annotations

from planner.outputs import scope
from planner.outputs.numbering import Entry
from planner.outputs.workbook.bom import money as bom_money
from planner.outputs.workbook.bom.lines import PER_UNIT, least_order, note, without_idle
from planner.outputs.workbook.bom.page import BomPage, BomRow
from planner.schema.plan import Line
from planner.sizing.facility import BTU_PER_H_PER_KW

PART_OF = "in line "
"""What the section of a component begins with; sums over a section leave it out."""

_WRAPPED = ("vendor", "part_number", "model", "unit", "price_source", "lead_time", "note")


def add_line(page: BomPage, number: int, entry: Entry) -> None:
    """Write a line that counts: quantity and discount are inputs, the rest follows.

    Args:
        page: the sheet.
        number: zero-based row.
        entry: the line.
    """
    plan, line = page.book.plan, entry.line
    known = page.known(line)
    row = BomRow(page, number)
    _identity(row, line, f"{entry.number}.0", line.section, _note(page, line, None))
    _counts(row, line)
    bom_money.add(row, plan, line, known)
    row.put("lead_days", known["lead_days"])
    _physical(row, known)
    _heat_and_meter(row, known, scope.two_pues(plan))
    _racks(row, line)
    for key, unit_key in PER_UNIT.items():
        _per_unit(row, line, key, unit_key, known)
    row.put("solved_quantity", line.quantity, "fixed")
    row.put("solved_unit_list", line.unit_list_usd, "fixed")
    row.put("solved_discount", line.discount, "fixed")
    row.fill()


def add_part(page: BomPage, number: int, entry: Entry, index: int, bundle_row: int) -> None:
    """Write a component: its count follows its bundle, its figures are informative.

    Args:
        page: the sheet.
        number: zero-based row.
        entry: the bundle.
        index: which of its components.
        bundle_row: the bundle's row.
    """
    line = entry.parts[index]
    known = page.known(line)
    row = BomRow(page, number, "part")
    place, of = f"{entry.number}.{index + 1}", f"{PART_OF}{entry.number}.0"
    _identity(row, line, place, of, _note(page, line, entry.number))
    for key in ("quantity", "purchased"):
        value = line.quantity if key == "quantity" else line.purchased
        _part_count(row, key, value, entry.line, bundle_row)
    _physical(row, known)
    for key, unit_key in PER_UNIT.items():
        _per_unit(row, line, key, unit_key, known)
    row.fill()


def _note(page: BomPage, line: Line, bundle: int | None) -> str:
    return note(page.book.plan, line, bundle, page.known(line), money=page.book.money)


def _identity(row: BomRow, line: Line, number: str, section: str, text: str) -> None:
    """Write the texts of a row."""
    price = line.price
    described = f"{line.model} — {line.description}" if line.description else line.model
    cells = {
        "line": number,
        "section": section,
        "vendor": line.vendor,
        "part_number": line.part_number or "",
        "model": described,
        "unit": line.unit,
        "price_source": "" if price is None else price.source,
        "price_date": "" if price is None else price.date,
        "confidence": "" if price is None else price.confidence,
        "lead_time": line.lead_time or "",
        "note": text,
        "sku": line.sku,
    }
    for key, shown in cells.items():
        row.text(key, shown)
    width = row.page.columns.width
    row.page.grow(row.row, [(cells[key], width[key]) for key in _WRAPPED if row.has(key)])


def _counts(row: BomRow, line: Line) -> None:
    """Write what is in place, what is spare, and what that means for what is bought."""
    row.input("quantity", line)
    quantity = without_idle(line, row.at("quantity"))
    row.put("spares", line.spares)
    row.put("installed", line.installed)
    row.put("pack", line.pack)
    # Spares are as solved; without the thing itself none are bought. Spare parts are all there is.
    spares = f"+IF({quantity}>0,{row.at('spares')},0)" if row.has("spares") else ""
    if line.quantity == 0 and line.spares:
        spares = f"+{row.at('spares')}"
    text = f"MAX(0,{quantity}{spares}-{row.at('installed')})"
    if line.pack > 1:
        text = f"{row.at('pack')}*ROUNDUP({text}/{row.at('pack')},0)"
    least = least_order(line)
    if least:
        text = f"IF({text}=0,0,MAX({text},{least}))"
    row.work_out("purchased", f"={text}", line.purchased)


def _physical(row: BomRow, known: dict[str, float | None]) -> None:
    """Write power, heat, height and weight, each per unit and for the line."""
    for key, unit_key in (
        ("power", "unit_power"),
        ("rack_units", "unit_rack_units"),
        ("weight", "unit_weight"),
    ):
        _each_and_all(row, key, unit_key, known)
    power = row.at("power")
    row.work_out("heat", f'=IF(ISNUMBER({power}),{power}*{BTU_PER_H_PER_KW},"")', known["heat"])


def _each_and_all(row: BomRow, key: str, unit_key: str, known: dict[str, float | None]) -> None:
    row.put(unit_key, known[unit_key])
    unit = row.at(unit_key)
    row.work_out(key, f'=IF(ISNUMBER({unit}),{row.at("quantity")}*{unit},"")', known.get(key))


def _heat_and_meter(row: BomRow, known: dict[str, float | None], two_pues: bool) -> None:
    """Write the typical draw, where the heat goes, and the draw at the meter."""
    power = row.at("power")
    if row.has("typical"):
        _each_and_all(row, "typical", "unit_typical", known)
    factor = "pue"
    if row.has("liquid"):
        share = row.at("liquid_share")
        row.put("liquid_share", known["liquid_share"])
        text = f'=IF(ISNUMBER({power}),{power}*{share},"")'
        row.work_out("liquid", text)
        factor = f"({share}*pue_liquid+(1-{share})*pue)" if two_pues else "pue"
    row.work_out("facility", f'=IF(ISNUMBER({power}),{power}*{factor},"")')
    if row.has("metered"):
        drawn = row.at("typical")
        text = f'=IF(ISNUMBER({drawn}),{drawn}*{factor},"")'
        row.work_out("metered", text)


def _racks(row: BomRow, line: Line) -> None:
    """Write the racks of a line, which follow its quantity where it has racks of its own."""
    quantity = row.at("quantity")
    if line.racks is not None and line.units_per_rack is not None:
        text = f"=ROUNDUP({quantity}/{line.units_per_rack},0)"
        row.work_out("racks", text, line.racks)
    elif line.racks and line.quantity and line.racks % line.quantity == 0:
        row.work_out("racks", f"={quantity}*{line.racks // line.quantity}", line.racks)
    else:
        row.put("racks", line.racks)


def _per_unit(
    row: BomRow, line: Line, key: str, unit_key: str, known: dict[str, float | None]
) -> None:
    row.put(unit_key, known[unit_key])
    if known[unit_key] is None:
        row.put(key, known[key])
    else:
        working = without_idle(line, row.at("quantity"))
        row.work_out(key, f"={working}*{row.at(unit_key)}", known[key])


def _part_count(row: BomRow, key: str, value: int, bundle: Line, bundle_row: int) -> None:
    count = bundle.quantity if key == "quantity" else bundle.purchased
    if count == 0 or value % count:
        row.put(key, value)
    else:
        bundles = row.page.columns.at(key, bundle_row)
        row.work_out(key, f"={bundles}*{value // count}", value)
