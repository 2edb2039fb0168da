"""Bill of materials: a line for everything in the plan, idle installed units, totals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from planner.case import Case, Storage, System, figures
from planner.case.companions import SERVICE_UNITS
from planner.case.figures import discount, support_span
from planner.case.items import BillItem, Offer
from planner.case.job import ceil
from planner.case.model import SHARED_RACKS, Companion
from planner.figures import BTU_PER_H_PER_KW, STATED
from planner.inputs import Inputs, once_for_each
from planner.optimizer.bill import Bill, bill
from planner.optimizer.operate import Run
from planner.paths import of_job
from planner.plan.hall import switches_text
from planner.plan.job import ways_in_use
from planner.schema.catalog import Item
from planner.schema.operation import JobPlan
from planner.schema.plan import FabricReport, Line, PriceNote, Section, Totals

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
    "service": "Services",
}
ORDER = ("Network", "Optics & cables", "Racks & power", "Software", "Services", "Components")


def lines(
    inputs: Inputs, case: Case, run: Run, fabrics: Iterable[FabricReport]
) -> tuple[Line, ...]:
    """A line for everything in the plan: GPU systems and storage, components, companions.

    Args:
        fabrics: those of the plan, which say the role of switches.
    """
    spent = bill(case, run.units, run.ways)
    result: list[Line] = []
    for offer in case.offers():
        count = round(spent.counts[offer.place])
        if not count:
            continue
        item = inputs.by_id[offer.id]
        line = _offer_line(inputs, offer, item, run.units[offer.id], count, spent)
        if isinstance(offer, System) and offer.id in run.used:
            line = _line_at_set_point(inputs, case, run, line)
        if line.idle:
            note = f"{line.idle:,} owned, idle: {_why_idle(case, run, offer)}"
            line = line.model_copy(update={"notes": (note, *line.notes)})
        result.append(line)
        for part, quantity in figures.bundle_parts(item, inputs) if item.components else ():
            result.append(_component_line(inputs, line, item, part, quantity))
    return (*result, *_companion_lines(inputs, case, spent, fabrics))


def _offer_line(
    inputs: Inputs, offer: Offer, item: Item, working: int, count: int, spent: Bill
) -> Line:
    """The line of a GPU system or storage item: ``count`` in place, ``working`` in the cluster."""
    use, fields = offer.rack_use, _bought(inputs, offer, item, count, spent)
    fields |= {
        "spares": ceil(offer.spare_share * working),
        "idle": count - working,
        "racks": None if use is None else use.racks(count),
        "rack_class": figures.rack_class(item),
        "gpus": offer.gpus * working if isinstance(offer, System) else 0,
        "usable_tb": 0.0 if item.category == "storage" else None,
    }
    if isinstance(offer, Storage):
        fields |= {
            name: getattr(offer, name) * working
            for name in ("nameplate_read_gb_per_s", "nameplate_write_gb_per_s")
        }
        fields |= {"usable_tb": offer.usable_tb * working, "bulk_tb": offer.bulk_tb * working}
    return Line.model_validate(fields)


def _line_at_set_point(inputs: Inputs, case: Case, run: Run, line: Line) -> Line:
    """The line of a GPU system as it is provisioned for at the power set point of its job."""
    points = {system.id: each.point for system, each in ways_in_use(inputs, case, run)}
    point = points[line.sku]
    share, rated_kw = point.power, line.unit_it_power_kw
    if share == 1.0 or rated_kw is None:
        return line
    most_kw, typical_kw = share * rated_kw, line.unit_typical_power_kw
    one = {
        "it_power_kw": most_kw,
        "heat_btu_per_h": most_kw * BTU_PER_H_PER_KW,
        "typical_power_kw": most_kw if typical_kw is None else min(typical_kw, most_kw),
    }
    for name, row in STATED.items():
        stated = getattr(line, f"unit_{name}")
        if row.follows_draw and stated is not None:
            one[name] = share * stated
    note = (
        f"configure: cap the GPUs at {100.0 * point.gpu_cap:.4g} % of their power; provisioned for "
        f"{most_kw:,.1f} of its rated {rated_kw:,.1f} kW, in racks of the rated power"
    )
    meter_kw = None if line.facility_power_kw is None else share * line.facility_power_kw
    update: dict[str, Any] = {f"unit_{name}": value for name, value in one.items()}
    update |= {name: value * line.quantity for name, value in one.items()}
    update |= {"notes": (note, *line.notes), "facility_power_kw": meter_kw}
    return line.model_copy(update=update)


def _component_line(inputs: Inputs, parent: Line, bundle: Item, part: Item, quantity: int) -> Line:
    """The line of a component of a bundle, which has no price of its own."""
    count = quantity * parent.quantity
    own = {
        "parent": bundle.id,
        "section": "Components",
        "quantity": count,
        "purchased": quantity * parent.purchased,
        "racks": None,
    }
    fields = _product(part, inputs) | own | _consumption(inputs, part, count)
    return Line.model_validate(fields)


def _companion_lines(
    inputs: Inputs, case: Case, spent: Bill, fabrics: Iterable[FabricReport]
) -> Iterator[Line]:
    known, roles = inputs.by_id, _companion_roles(case, spent, fabrics)

    def place(companion: Companion) -> tuple[int, str]:
        return ORDER.index(SECTIONS[known[companion.id].category]), companion.id

    for part in sorted(case.companions.items, key=place):
        item, count = known[part.id], round(spent.counts[part.id])
        if count:
            # Plans of neighbouring scenarios have most of their companions in the same numbers.
            role, racks = roles.get(item.id), spent.counts.get(f"racks.{item.id}")
            key = ("line", item.id, count, spent.purchased[item.id], racks, role)
            line = partial(_companion_line, inputs, part, item, count, spent, role)
            yield inputs.once(key, part, line)


def _companion_line(
    inputs: Inputs, part: Companion, item: Item, count: int, spent: Bill, role: str | None
) -> Line:
    """The line of a companion; stored spare parts have none in place."""
    fields = _bought(inputs, part, item, 0 if part.stored else count, spent)
    if part.stored:
        fields |= {"spares": count, "racks": None}
    else:
        racked = (figures.rack_units(item, inputs) or 0.0) > 0 or item.consumes.racks is not None
        racks = spent.counts.get(f"racks.{item.id}")
        fields["racks"] = None if racks is None else round(racks)
        fields["rack_class"] = "network" if racked and inputs.problem.site.rack else None
    return Line.model_validate({**fields, "role": role})


def _companion_roles(case: Case, spent: Bill, fabrics: Iterable[FabricReport]) -> dict[str, str]:
    """The role of each companion of a plan in words, by item id."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for report in fabrics:
        texts[report.switch_sku].append(switches_text(report))
    for companion in case.companions.items:
        pairs = zip(companion.terms, companion.roles, strict=True)
        known = texts[companion.id]
        for role in dict.fromkeys(role for (_, name), role in pairs if spent.counts[name]):
            if not any(text.startswith(role) for text in known):
                known.append(role)
    return {item_id: "; ".join(parts) for item_id, parts in texts.items() if parts}


# Fields of a line: the product, its price, and what its units draw and take.


def _bought(
    inputs: Inputs, billed: BillItem, item: Item, count: int, spent: Bill
) -> dict[str, Any]:
    """Fields of any line that is bought."""
    purchased, unit = spent.purchased[billed.id], "each"
    if item.service is not None:
        unit = SERVICE_UNITS[item.service.per]
    elif item.category == "software":
        unit = "licence"
    return {
        **_product(item, inputs),
        "unit": unit,
        "quantity": count,
        "installed": billed.installed,
        "spares": ceil(billed.spare_share * count),
        "pack": billed.pack,
        "purchased": purchased,
        **_price(item, inputs),
        **_money(inputs, billed, item, purchased),
        **_consumption(inputs, item, count),
    }


@once_for_each
def _product(item: Item, inputs: Inputs) -> dict[str, Any]:
    """Fields that no count changes: the product and one unit of it."""
    power, liquid = figures.it_power_kw(item, inputs), figures.liquid_kw(item, inputs)
    fields: dict[str, Any] = {
        "sku": item.id,
        "vendor": item.vendor,
        "model": item.model,
        "part_number": item.part_number,
        "description": item.description,
        "category": item.category,
        "section": SECTIONS[item.category],
        "liquid_share": liquid / power if power else 0.0,
        "notes": item.notes,
    }
    fields |= {f"unit_{name}": value for name, value in _unit_figures(item, inputs).items()}
    return fields if item.lifecycle == "available" else fields | {"lifecycle": item.lifecycle}


@once_for_each
def _unit_figures(item: Item, inputs: Inputs) -> dict[str, float | None]:
    """Draw, heat and size of one unit by figure; None is not known."""
    power = figures.it_power_kw(item, inputs)
    return {
        "it_power_kw": power,
        "heat_btu_per_h": None if power is None else power * BTU_PER_H_PER_KW,
        "typical_power_kw": figures.typical_power_kw(item, inputs),
        **{name: figures.catalog_figure(item, inputs, row) for name, row in STATED.items()},
    }


def _consumption(inputs: Inputs, item: Item, count: int) -> dict[str, float | None]:
    one = _unit_figures(item, inputs)
    fields = {name: None if each is None else each * count for name, each in one.items()}
    meter_kw = None if one["it_power_kw"] is None else figures.meter_kw(item, inputs) * count
    return fields | {"facility_power_kw": meter_kw}


@once_for_each
def _price(item: Item, inputs: Inputs) -> dict[str, Any]:
    """Fields on the price that the count does not change."""
    price = inputs.prices.get(item.id)
    if price is None:
        return {}
    sources = inputs.price_sources.get(item.id, {})
    start, end = support_span(item, inputs)
    per_year, source = price.support_per_year, sources.get(price.source)
    stated = {name: getattr(price, name, None) for name in PriceNote.model_fields}
    stated |= {"source": source.title if source is not None else price.source}
    stated |= {"book": inputs.price_books.get(item.id, "")}
    return {
        "unit_list_usd": price.list_usd,
        "discount": discount(item, inputs.discounts),
        "support_years": max(0.0, end - start) if inputs.problem.term else None,
        "support_from_years": min(start, end),
        "price": PriceNote(**stated),
        "min_order": price.min_order or None,
        "support_share": None if per_year is None else per_year.share,
        "unit_subscription_list_usd": price.per_year_usd,
        "lead_time": price.lead_time,
        "lead_time_days": price.lead_time_days,
    }


def _money(inputs: Inputs, billed: BillItem, item: Item, purchased: int) -> dict[str, Any]:
    """Money of all units of a line: in cents, unless its price is a percentage."""
    price, net_usd = inputs.prices.get(item.id), billed.unit_net_usd
    if price is None:
        return {}
    assert net_usd is not None
    shown_in = inputs.problem.shown_in
    cents = shown_in.rounded_usd
    listed, net = price.list_usd * purchased, net_usd * purchased
    if not item.is_percentage:
        listed, net = cents(shown_in.listed_usd(price.list_usd) * purchased), cents(net)
    yearly = cents(billed.subscription_usd_per_year * purchased)
    return {
        "unit_net_usd": net_usd,
        "extended_list_usd": listed,
        "extended_net_usd": net,
        "support_usd_per_year": cents(billed.support_usd_per_year * purchased),
        "subscription_usd_per_year": None if price.per_year_usd is None else yearly,
    }


def _why_idle(case: Case, run: Run, offer: Offer) -> str:
    """Reason why installed units are idle."""
    job, used = case.job, run.used
    if isinstance(offer, System):
        if offer.id not in used and len(used) >= job.max_types:
            return f"{of_job('gpus.max_types', job.name)} is {job.max_types}"
        step = offer.way(run.ways).step_gpus
        if offer.id in used and job.gpus_max is not None and run.gpus + step > job.gpus_max:
            return f"{of_job('gpus.max', job.name)} is {job.gpus_max:,}"
    elif isinstance(offer, Storage):
        families = {each.family for each in case.flash if run.units[each.id]}
        if (
            not offer.is_bulk
            and offer.family not in families
            and len(families) >= case.max_families
        ):
            return f"storage.max_families is {case.max_families}"
    else:
        return dict(case.not_considered)[offer.id]
    return f"the plan is no better with {'more of ' * (offer.id in used)}them in use"


# Totals; a sum over a line whose figure is not known is not known.


def totals(
    inputs: Inputs, case: Case, run: Run, plan_lines: Iterable[Line], job: JobPlan
) -> Totals:
    """Sum the lines of a plan."""
    lines = [line for line in plan_lines if line.parent is None]
    spent = bill(case, run.units, run.ways)
    power = _sum(line.it_power_kw for line in lines)
    liquid = sum((line.it_power_kw or 0.0) * line.liquid_share for line in lines)
    times = [(line.sku, line.lead_time_days) for line in lines if line.purchased]
    longest_days = max((days for _, days in times if days is not None), default=None)
    slowest = (sku for sku, days in times if days is not None and days == longest_days)
    sections: dict[str, float] = {}
    for line in lines:
        net_usd = line.extended_net_usd or 0.0
        sections[line.section] = sections.get(line.section, 0.0) + net_usd
    # A device without a rack of its own is in one that the problem does not state.
    unracked = SHARED_RACKS not in {name for _, name in case.companions.racks}
    placed = all(
        line.racks is not None
        or (
            line.section not in ("Compute", "Storage")
            and not (unracked and (line.rack_units or 0.0) > 0)
        )
        for line in lines
    )
    return Totals(
        gpus=sum(line.gpus for line in lines),
        gpus_used=run.gpus,
        it_power_kw=power,
        facility_power_kw=_sum(line.facility_power_kw for line in lines),
        typical_power_kw=_sum(line.typical_power_kw for line in lines),
        heat_btu_per_h=None if power is None else power * BTU_PER_H_PER_KW,
        heat_air_kw=None if power is None else power - liquid,
        heat_liquid_kw=None if power is None else liquid,
        racks=round(spent["racks"]) if placed else None,
        **{name: _sum(getattr(line, name) for line in lines) for name in STATED},
        nameplate_read_gb_per_s=sum(line.nameplate_read_gb_per_s for line in lines),
        nameplate_write_gb_per_s=sum(line.nameplate_write_gb_per_s for line in lines),
        usable_tb=_sum(line.usable_tb for line in lines if line.section == "Storage"),
        lead_time_days=longest_days,
        critical_skus=tuple(dict.fromkeys(slowest)),
        capex_by_section_usd=sections,
        **_sums_of_money(inputs, case, spent, lines, job, power_known=power is not None),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    """Sum of figures, None where any is not known."""
    known = list(values)
    return None if None in known else sum((each or 0.0 for each in known), 0.0)


def _sums_of_money(
    inputs: Inputs,
    case: Case,
    spent: Bill,
    lines: list[Line],
    job: JobPlan,
    *,
    power_known: bool,
) -> dict[str, float | None]:
    """Capex, opex and TCO; None for sums that need an unknown draw, or a term."""
    capex = sum(line.extended_net_usd or 0.0 for line in lines)
    support = sum(line.support_usd_per_year or 0.0 for line in lines)
    subscriptions = sum(line.subscription_usd_per_year or 0.0 for line in lines)
    money: dict[str, float | None] = {
        "capex_usd": capex,
        "support_usd_per_year": support,
        "subscriptions_usd_per_year": subscriptions,
    }
    names = ("energy_usd_per_year", "colocation_usd_per_year", "opex_usd_per_year", "tco_usd")
    money |= dict.fromkeys((*names, "usd_per_useful_gpu_hour", "usd_per_million_tokens"))
    if inputs.problem.term is None or not power_known:
        return money
    items = inputs.once("support", case, lambda: {i.id: i for i in case.bill_items()})
    paid = ((line.support_usd_per_year or 0.0) * items[line.sku].support_factor for line in lines)
    running = subscriptions + spent["energy_usd_per_year"] + spent["colocation_usd_per_year"]
    tco = capex + sum(paid) + running * case.rates.discounted_years
    money |= {
        "energy_usd_per_year": spent["energy_usd_per_year"],
        "colocation_usd_per_year": spent["colocation_usd_per_year"],
        "opex_usd_per_year": support + running,
        "tco_usd": tco,
        "usd_per_useful_gpu_hour": tco / (job.useful_gpus * case.rates.hours),
    }
    if job.useful_pflops is not None and case.job.active_parameters is not None:
        each = case.million_tokens_per_pflops()
        money["usd_per_million_tokens"] = tco / (job.useful_pflops * each)
    return money
