"""The lines of the bill of materials."""

from __future__ import annotations

from planner.case import Case, Storage, System, figures
from planner.case.bandwidth import nameplate
from planner.case.model import Offer
from planner.case.money import cents, discount, support_usd_per_year, unit_net_usd
from planner.loader.inputs import Inputs
from planner.optimizer.operate import Operation
from planner.schema.catalog import Item
from planner.schema.plan import Line, PriceNote
from planner.schema.prices import Price
from planner.sizing.facility import heat_btu_per_h


def lines(inputs: Inputs, case: Case, operation: Operation) -> tuple[Line, ...]:
    """Return a line for everything in the plan: GPU systems, storage, each with its components."""
    known = {item.id: item for item in inputs.items}
    result: list[Line] = []
    for offer in case.offers():
        count = operation.units[offer.id]
        if count:
            item = known[offer.id]
            line = _line(inputs, offer, item, count)
            result.append(line)
            for part, quantity in figures.parts(item, inputs) if item.components else ():
                result.append(_component(inputs, line, item, part, quantity))
    return tuple(result)


def _line(inputs: Inputs, offer: Offer, item: Item, count: int) -> Line:
    price = inputs.prices.get(item.id)
    purchased = max(0, count - offer.installed)
    read = write = 0.0
    if isinstance(offer, Storage):
        read, write = nameplate(offer, count)
    racks = offer.rack_use.racks(count) if offer.rack_use is not None else None
    return Line.model_validate(
        {
            **_identity(item),
            "section": "Compute" if isinstance(offer, System) else "Storage",
            "quantity": count,
            "installed": offer.installed,
            "purchased": purchased,
            **_money(inputs, item, price, purchased),
            **_consumption(inputs, item, count),
            "racks": racks,
            "gpus": offer.gpus * count if isinstance(offer, System) else 0,
            "read_gb_per_s": read,
            "write_gb_per_s": write,
            "usable_tb": offer.usable_tb * count if isinstance(offer, Storage) else None,
            "notes": item.notes,
        }
    )


def _identity(item: Item) -> dict[str, object]:
    return {
        "sku": item.id,
        "vendor": item.vendor,
        "model": item.model,
        "part_number": item.part_number,
        "description": item.description,
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
    return {
        "unit_list_usd": price.list_usd,
        "discount": discount(item, inputs.discounts),
        "unit_net_usd": net,
        "extended_list_usd": cents(price.list_usd * purchased),
        "extended_net_usd": cents(net * purchased),
        "support_usd_per_year": cents(support * purchased),
        "price": PriceNote(
            source=title,
            date=price.date,
            confidence=price.confidence,
            book=inputs.price_books.get(item.id, ""),
            note=price.note,
        ),
        "lead_time": price.lead_time,
    }


def _consumption(inputs: Inputs, item: Item, count: int) -> dict[str, object]:
    power = figures.it_power_kw(item, inputs)
    units = {
        "it_power_kw": power,
        "heat_btu_per_h": None if power is None else heat_btu_per_h(power),
        "rack_units": figures.rack_units(item, inputs),
        "weight_kg": figures.weight_kg(item, inputs),
    }
    result: dict[str, object] = {f"unit_{name}": value for name, value in units.items()}
    return result | {name: None if v is None else v * count for name, v in units.items()}
