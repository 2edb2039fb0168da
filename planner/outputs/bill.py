"""The bill of materials for other programs: one row per line, with stable columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from planner.outputs.audience import Audience, for_audience
from planner.outputs.numbering import Entry, blocks
from planner.outputs.scope import CORE_SECTIONS
from planner.outputs.text_safety import clean
from planner.schema.bill import (
    MONEY_OF_LINES,
    Bill,
    BillLine,
    BillSums,
    BillTotals,
)
from planner.schema.plan import Line, Plan

CURRENCY = "USD"
COLUMNS = tuple(BillLine.model_fields)
"""The columns of the internal edition, in order."""

CUSTOMER_COLUMNS = tuple(name for name in COLUMNS if name not in MONEY_OF_LINES)
"""The columns of the customer's edition, in the same order."""


def bill(plan: Plan, audience: Audience = "internal") -> Bill:
    """Return the bill of a plan.

    Args:
        plan: the plan as solved.
        audience: whom it is for; the customer's edition holds no money.
    """
    plan = for_audience(plan, audience)
    money = audience == "internal"
    listed = [(block.section, block.entries) for block in blocks(plan)]
    rows = {section: list(_rows(entries, money)) for section, entries in listed}
    own = {
        section: [row for row in known if row.parent_line is None]
        for section, known in rows.items()
    }
    grand = _totals([row for known in own.values() for row in known])
    racks = None if plan.totals is None else plan.totals.racks
    return Bill(
        problem=_text(plan.problem),
        currency=CURRENCY if money else None,
        audience=audience,
        lines=tuple(row for known in rows.values() for row in known),
        totals=BillSums(
            sections={section: _totals(known) for section, known in own.items()},
            grand=grand.model_copy(update={"racks": racks}),
        ),
    )


def _rows(entries: Sequence[Entry], money: bool) -> Iterator[BillLine]:
    for entry in entries:
        line = entry.line
        yield _row(line, entry.label, None, _money(line) if money else {})
        for index, part in enumerate(entry.parts):
            currency = {"currency": CURRENCY} if money else {}
            yield _row(part, entry.part_label(index), entry.label, currency)


def _row(line: Line, number: str, parent: str | None, money: Mapping[str, object]) -> BillLine:
    price_note = line.price.note if line.price is not None else None
    notes = (*line.notes, *([price_note] if price_note and money else []))
    return BillLine.model_validate(
        {
            "line": number,
            "section": line.section,
            "site": _text(line.site),
            "period": line.period,
            "parent_line": parent,
            "sku": _text(line.sku),
            "manufacturer": _text(line.vendor),
            "part_number": _known(line.part_number),
            "model": _text(line.model),
            "description": _known(line.description),
            "unit": _text(line.unit),
            "quantity": line.quantity,
            "spares": line.spares,
            "installed": line.installed,
            "pack": line.pack,
            "purchased": line.purchased,
            **money,
            "lead_time": _known(line.lead_time),
            "lead_time_days": line.lead_time_days,
            "unit_it_power_kw": line.unit_it_power_kw,
            "it_power_kw": line.it_power_kw,
            "heat_btu_per_h": line.heat_btu_per_h,
            "unit_rack_units": line.unit_rack_units,
            "rack_units": line.rack_units,
            "racks": line.racks,
            "unit_weight_kg": line.unit_weight_kg,
            "weight_kg": line.weight_kg,
            "role": _known(line.role),
            "notes": tuple(text for note in notes if (text := _text(note))),
        }
    )


def _money(line: Line) -> dict[str, object]:
    """Return the money of a line; nothing purchased costs nothing, priced or not."""
    bought, price = line.purchased > 0, line.price
    return {
        "currency": CURRENCY,
        "unit_list": line.unit_list_usd,
        "discount": None if line.unit_list_usd is None else line.discount,
        "unit_net": line.unit_net_usd,
        "extended_list": line.extended_list_usd if bought else 0.0,
        "extended_net": line.extended_net_usd if bought else 0.0,
        "support_per_year": line.support_usd_per_year if bought else 0.0,
        "subscription_per_year": line.subscription_usd_per_year,
        "support_years": line.support_years if line.support_usd_per_year else None,
        "price_source": None if price is None else _known(price.source),
        "price_date": None if price is None else _known(price.date),
        "price_confidence": None if price is None else _known(price.confidence),
    }


def _totals(rows: Sequence[BillLine]) -> BillTotals:
    """Return the sums over lines; a companion without racks of its own takes none here."""
    racks = [
        0 if row.racks is None and row.section not in CORE_SECTIONS else row.racks for row in rows
    ]
    return BillTotals(
        extended_list=_sum(row.extended_list for row in rows),
        extended_net=_sum(row.extended_net for row in rows),
        support_per_year=_sum(row.support_per_year for row in rows),
        subscription_per_year=_sum(row.subscription_per_year or 0.0 for row in rows),
        it_power_kw=_sum(row.it_power_kw for row in rows),
        heat_btu_per_h=_sum(row.heat_btu_per_h for row in rows),
        rack_units=_sum(row.rack_units for row in rows),
        racks=None if None in racks else sum(count for count in racks if count is not None),
        weight_kg=_sum(row.weight_kg for row in rows),
    )


def _sum(figures: Iterable[float | None]) -> float | None:
    known = list(figures)
    return None if None in known else math.fsum(figure for figure in known if figure is not None)


def _text(text: str) -> str:
    return clean(text, limit=None)


def _known(text: str | None) -> str | None:
    """Return a text without what no file can hold, None where nothing is left."""
    return _text(text) or None if text is not None else None
