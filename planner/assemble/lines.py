"""The lines of the bill of materials."""

from __future__ import annotations

from collections.abc import Iterator

from planner.assemble.idle import idle_units
from planner.assemble.roles import roles
from planner.case import Case, Storage, System, figures
from planner.case.model import BillItem, Companion, Offer, nameplate
from planner.case.money import (
    cents,
    discount,
    subscription_usd_per_year,
    support_span,
    support_usd_per_year,
    unit_net_usd,
)
from planner.case.quantities import ceil
from planner.inputs import Inputs
from planner.optimizer.operate import Operation
from planner.optimizer.purchase import Bill, bill
from planner.schema.catalog import Item
from planner.schema.plan import Line, PriceNote, Section
from planner.schema.prices import Price, SupportShare
from planner.sizing.facility import heat_btu_per_h

SECTIONS: dict[str, Section] = {
    "gpu_system": "Compute",
    "storage": "Storage",
    "component": "Components",
    "switch": "Network",
    "management": "Network",
    "transceiver": "Optics & cables",
    "cable": "Optics & cables",
    "rack": "Racks & power",
    "pdu": "Racks & power",
    "cdu": "Racks & power",
    "software": "Software",
}
ORDER: tuple[Section, ...] = (
    "Network", "Optics & cables", "Racks & power", "Software", "Components"
)  # fmt: skip
UNITS_OF = {"software": "licence"}


def lines(inputs: Inputs, case: Case, operation: Operation) -> tuple[Line, ...]:
    """Return a line for everything in the plan: GPU systems, storage, what comes with them."""
    known = {item.id: item for item in inputs.items}
    spent = bill(case, operation.units)
    why_idle = {each.sku: each.reason for each in idle_units(inputs, case, operation)}
    result: list[Line] = []
    for offer in case.offers():
        count = round(spent.counts[offer.place])
        if count:
            item = known[offer.id]
            line = _chosen(inputs, offer, item, operation.units[offer.id], count, spent)
            if line.idle:
                note = f"{line.idle:,} owned stand idle: {why_idle[offer.id]}"
                line = line.model_copy(update={"notes": (note, *line.notes)})
            result.append(line)
            for part, quantity in figures.parts(item, inputs) if item.components else ():
                result.append(_component(inputs, line, item, part, quantity))
    return (*result, *_companions(inputs, case, known, spent))


def _companions(inputs: Inputs, case: Case, known: dict[str, Item], spent: Bill) -> Iterator[Line]:
    why = roles(case, spent)

    def place(companion: Companion) -> tuple[int, str]:
        return ORDER.index(SECTIONS[known[companion.id].category]), companion.id

    for companion in sorted(case.companions.items, key=place):
        count = round(spent.counts[companion.id])
        if count == 0:
            continue
        item = known[companion.id]
        if companion.stored:
            yield _stored(inputs, companion, item, count, spent, why.get(item.id))
            continue
        racked = (figures.rack_units(item, inputs) or 0.0) > 0 or companion.racks_each > 0
        alone = f"racks.{item.id}"
        yield Line.model_validate(
            {
                **_shared(inputs, companion, item, count, spent),
                "racks": round(spent.counts[alone]) if alone in spent.counts else None,
                "rack_class": "network" if racked and inputs.problem.site.rack else None,
                "role": why.get(item.id),
                "notes": item.notes,
            }
        )


def _stored(
    inputs: Inputs, part: Companion, item: Item, count: int, spent: Bill, role: str | None
) -> Line:
    """Return the line of spare parts: none in place, so many in store."""
    fields = _shared(inputs, part, item, 0, spent) | {"spares": count, "racks": None}
    return Line.model_validate({**fields, "role": role, "notes": item.notes})


def _chosen(
    inputs: Inputs, offer: Offer, item: Item, working: int, count: int, spent: Bill
) -> Line:
    """Return the line of an item: so many units in the cluster, so many in place."""
    read = write = 0.0
    if isinstance(offer, Storage) and working:
        read, write = nameplate(offer, working)
    use = offer.rack_use
    return Line.model_validate(
        {
            **_shared(inputs, offer, item, count, spent),
            "spares": ceil(offer.spare_share * working),
            "idle": count - working,
            "racks": None if use is None else use.racks(count),
            "units_per_rack": use.per_rack if use is not None and use.racks_each == 1 else None,
            "rack_class": figures.class_of(item),
            "gpus": offer.gpus * working if isinstance(offer, System) else 0,
            "read_gb_per_s": read,
            "write_gb_per_s": write,
            "usable_tb": _usable_tb(offer, item, working),
            "notes": item.notes,
        }
    )


def _usable_tb(offer: Offer, item: Item, working: int) -> float | None:
    """Return the capacity of a storage line; what only stands there gives none."""
    if isinstance(offer, Storage):
        return offer.usable_tb * working
    return 0.0 if item.category == "storage" else None


def _shared(
    inputs: Inputs, bill_item: BillItem, item: Item, count: int, spent: Bill
) -> dict[str, object]:
    """Return what every line that is bought has."""
    price, purchased = inputs.prices.get(item.id), spent.purchased[bill_item.id]
    return {
        **_identity(item),
        "section": SECTIONS[item.category],
        "unit": UNITS_OF.get(item.category, "each"),
        "quantity": count,
        "installed": bill_item.installed,
        "spares": ceil(bill_item.spare_share * count),
        "pack": bill_item.pack,
        "purchased": purchased,
        **_money(inputs, item, price, purchased),
        **_consumption(inputs, item, count),
    }


def _identity(item: Item) -> dict[str, object]:
    return {
        "sku": item.id,
        "vendor": item.vendor,
        "model": item.model,
        "part_number": item.part_number,
        "description": item.description,
        "category": item.category,
    }


def _component(inputs: Inputs, parent: Line, bundle: Item, part: Item, quantity: int) -> Line:
    count = quantity * parent.quantity
    nothing = dict.fromkeys(
        ("unit_list_usd", "unit_net_usd", "extended_list_usd", "extended_net_usd",
         "support_usd_per_year", "price", "racks")
    )  # fmt: skip
    return Line.model_validate(
        {
            **_identity(part),
            "parent": bundle.id,
            "section": "Components",
            "quantity": count,
            "purchased": quantity * parent.purchased,
            "discount": 0.0,
            **nothing,
            **_consumption(inputs, part, count),
            "notes": part.notes,
        }
    )


def _money(inputs: Inputs, item: Item, price: Price | None, purchased: int) -> dict[str, object]:
    if price is None:
        empty = ("unit_list_usd", "unit_net_usd", "extended_list_usd", "extended_net_usd")
        return {**dict.fromkeys((*empty, "support_usd_per_year", "price")), "discount": 0.0}
    net = unit_net_usd(item, price, inputs.discounts)
    support = support_usd_per_year(item, price, inputs.discounts)
    sources = inputs.price_sources.get(item.id, {})
    title = sources[price.source].title if price.source in sources else price.source
    start, end = support_span(item, inputs)
    per_year = price.support_per_year
    each_year = subscription_usd_per_year(item, inputs)
    return {
        "unit_list_usd": price.list_usd,
        "discount": discount(item, inputs.discounts),
        "unit_net_usd": net,
        "extended_list_usd": cents(price.list_usd * purchased),
        "extended_net_usd": cents(net * purchased),
        "support_usd_per_year": cents(support * purchased),
        "support_years": max(0.0, end - start) if inputs.problem.term else None,
        "support_from_years": min(start, end),
        "subscription_usd_per_year": (
            None if price.per_year_usd is None else cents(each_year * purchased)
        ),
        "price": PriceNote(
            source=title,
            date=price.date,
            confidence=price.confidence,
            book=inputs.price_books.get(item.id, ""),
            note=price.note,
        ),
        "support_share": per_year.share if isinstance(per_year, SupportShare) else None,
        "unit_subscription_list_usd": price.per_year_usd,
        "lead_time": price.lead_time,
        "lead_time_days": price.lead_time_days,
    }


def _consumption(inputs: Inputs, item: Item, count: int) -> dict[str, object]:
    power = figures.it_power_kw(item, inputs)
    units = {
        "it_power_kw": power,
        "heat_btu_per_h": None if power is None else heat_btu_per_h(power),
        "rack_units": figures.rack_units(item, inputs),
        "weight_kg": figures.weight_kg(item, inputs),
        "typical_power_kw": figures.typical_power_kw(item, inputs),
    }
    result: dict[str, object] = {f"unit_{name}": value for name, value in units.items()}
    liquid = figures.liquid_kw(item, inputs)
    return (
        result
        | {name: None if v is None else v * count for name, v in units.items()}
        | {
            "liquid_share": liquid / power if power else 0.0,
            "facility_power_kw": (
                None if power is None else figures.meter_kw(item, inputs) * count
            ),
        }
    )
