"""The lines of the bill of materials: what for, what stands idle, and the fabrics they make."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from planner.assemble.ways import chosen
from planner.case import Case, Storage, System, figures, suitability
from planner.case.bandwidth import nameplate
from planner.case.fabrics import WORDS
from planner.case.model import BillItem, Companion, Fabric, Offer
from planner.case.money import discount, support_span
from planner.case.quantities import ceil, total
from planner.currency import Currency
from planner.figures import STATED
from planner.inputs import Inputs, once_for_each, support_level
from planner.optimizer.bill import Bill, bill
from planner.optimizer.operate import Run, most_gpus_by
from planner.paths import of_job
from planner.schema.catalog import Item
from planner.schema.plan import FabricReport, IdleUnits, Line, PriceNote, Section
from planner.schema.prices import SupportShare
from planner.sizing.fabric import Tree, smallest
from planner.sizing.facility import heat_btu_per_h

# The fabrics of a plan: switches by tier, links, and how far they are filled.


def fabric_reports(case: Case, spent: Bill) -> Iterator[FabricReport]:
    """Yield a report of every fabric that the plan has."""
    for fabric in case.companions.fabrics:
        amount = round(total(fabric.amount, spent.counts))
        if amount == 0:
            continue
        if fabric.kinds:
            yield _kinds(fabric, amount, spent)
            continue
        report = _flat if fabric.network == "out_of_band" else _tree
        yield report(fabric, amount, spent)


def _tree(fabric: Fabric, amount: int, spent: Bill) -> FabricReport:
    size = smallest(fabric.sizes, amount)
    assert size is not None
    tree, planes = size.tree, fabric.planes
    each = fabric.ports_per_amount
    return _report(
        fabric,
        spent,
        tree,
        planes=planes,
        units=size.units,
        leaf_switches=planes * tree.leaves,
        endpoints=amount * each,
        capacity=size.capacity * each,
        uplinks_per_leaf=tree.uplinks_per_leaf,
    )


def _kinds(fabric: Fabric, amount: int, spent: Bill) -> FabricReport:
    """Return the report of a fabric in which storage has leaves of its own."""
    size = smallest(fabric.sizes, round(total(fabric.bundles, spent.counts)))
    assert size is not None
    leaves = [(round(spent.counts[kind.name]), kind) for kind in fabric.kinds]
    held = sum(count * kind.down for count, kind in leaves)
    count = sum(count for count, _ in leaves)
    return _report(
        fabric,
        spent,
        size.tree,
        planes=1,
        units=count,
        leaf_switches=count,
        endpoints=amount,
        capacity=held * fabric.parts_per_port,
        uplinks_per_leaf=max(kind.up for count, kind in leaves if count),
    )


def _report(fabric: Fabric, spent: Bill, tree: Tree, *, planes: int, **more: int) -> FabricReport:
    """Return the report of a fabric whose spines and cores are those of a tree, in each plane."""
    return FabricReport(
        network=fabric.network,
        switch_sku=fabric.switch,
        serves=_serves(fabric, spent),
        planes=planes,
        tiers=tree.tiers,
        radix=fabric.radix,
        spine_switches=planes * tree.spines,
        core_switches=planes * tree.cores,
        parts_per_port=fabric.parts_per_port,
        oversubscription=fabric.oversubscription,
        system_links=round(total(fabric.links, spent.counts)),
        leaf_spine_links=planes * tree.leaf_spine_links,
        spine_core_links=planes * tree.spine_core_links,
        **more,
    )


def _flat(fabric: Fabric, amount: int, spent: Bill) -> FabricReport:
    switches = round(spent.counts["out_of_band.switches"])
    return FabricReport(
        network=fabric.network,
        switch_sku=fabric.switch,
        serves=_serves(fabric, spent),
        planes=1,
        tiers=1,
        units=0,
        radix=fabric.radix,
        leaf_switches=switches,
        spine_switches=0,
        core_switches=0,
        endpoints=amount,
        parts_per_port=1,
        capacity=switches * fabric.ports_per_amount,
        uplinks_per_leaf=0,
        oversubscription=1.0,
        system_links=amount,
        leaf_spine_links=0,
        spine_core_links=0,
    )


def _serves(fabric: Fabric, spent: Bill) -> tuple[str, ...]:
    if fabric.design is None:
        return tuple(sorted(name for name in fabric.serves if spent.counts[name]))
    joined = zip(fabric.serves, fabric.amount, strict=True)
    return tuple(sorted(name for name, (_, count) in joined if spent.counts[count]))


# What each companion is for, in words.


def roles(case: Case, spent: Bill, fabrics: Iterable[FabricReport]) -> dict[str, str]:
    """Return what each companion of a plan is for, by item id."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for report in fabrics:
        texts[report.switch_sku].append(_switches(report))
    for companion in case.companions.items:
        pairs = zip(companion.terms, companion.roles, strict=True)
        known = texts[companion.id]
        for role in dict.fromkeys(role for (_, name), role in pairs if spent.counts[name]):
            if not any(text.startswith(role) for text in known):
                known.append(role)
    return {item_id: "; ".join(parts) for item_id, parts in texts.items() if parts}


def _switches(report: FabricReport) -> str:
    tiers = (
        (report.leaf_switches, "leaf"),
        (report.spine_switches, "spine"),
        (report.core_switches, "core"),
    )
    parts = [f"{count} {name}" for count, name in tiers if count]
    return f"{WORDS[report.network]}: {', '.join(parts)}"


# What is owned and stands idle in a plan: why, what would use it, and what letting it go frees.


Why = tuple[str, str]
"""Why units are not used, and what would use them; the latter may be nothing."""


def idle_units(inputs: Inputs, case: Case, operation: Run) -> tuple[IdleUnits, ...]:
    """Return the owned units that the plan keeps in place and does not use."""
    known = inputs.by_id
    counts = bill(case, operation.units, operation.ways).counts
    return tuple(_idle(inputs, case, operation, known, counts))


def _idle(
    inputs: Inputs,
    case: Case,
    operation: Run,
    known: Mapping[str, Item],
    counts: Mapping[str, float],
) -> Iterator[IdleUnits]:
    for offer in case.offers():
        units = round(counts[offer.place]) - operation.units[offer.id]
        if units == 0:
            continue
        if isinstance(offer, System):
            reason, use = _system(case, operation, offer, known)
        elif isinstance(offer, Storage):
            reason, use = _storage(case, operation, offer, known)
        else:
            reason, use = _kept_out(inputs, case, known[offer.id])
        fix = f"items.{offer.id}.retire: true {_freed(offer, operation.units[offer.id], units)}"
        yield IdleUnits(
            sku=offer.id, units=units, reason=reason, fix=f"{use}; {fix}" if use else fix
        )


def _freed(offer: Offer, working: int, idle: int) -> str:
    """Return in words what is free once the units are gone."""
    parts = [f"{offer.it_power_kw * idle:,.1f} kW"] if offer.it_power_kw else []
    use = offer.rack_use
    if use is not None:
        racks = use.racks(working + idle) - use.racks(working)
        parts += [f"{racks:,} rack{'' if racks == 1 else 's'}"] if racks else []
    return f"frees {' and '.join(parts)}" if parts else "takes them out"


def _system(case: Case, operation: Run, system: System, known: Mapping[str, Item]) -> Why:
    job, used = case.job, operation.used
    if system.id in used:
        return _more_of(case, operation, system)
    names = " and ".join(known[name].model for name in used)
    alone = f"consider.gpu_systems: [{system.id}] plans the job on them alone"
    fabrics = {way.fabric for _, way in case.in_use(used, operation.ways)}
    fits = fabrics <= {*system.fabrics, *([] if system.fabrics else [None])}
    elsewhere = f"they do not fit into the compute fabric of {names}"
    if len(used) < job.max_types:
        if not fits:
            return elsewhere, alone
        return f"the plan is no better with them beside {names}, at the pace of the slowest", ""
    reason = f"{of_job('gpus.max_types', job.name)} is {job.max_types} and the job runs on {names}"
    if not fits:
        return f"{reason}; {elsewhere}", alone
    more = f"max_types: {job.max_types + 1} lets the job use them too, at the pace of the slowest"
    return reason, f"{more}; {alone}"


_MOST = {
    "gpus_max": ("gpus.max", "is {:,}"),
    "micro_batches": ("training.scale.micro_batches", "fills no more than {:,} GPUs"),
}
"""Where the limits on the GPUs in use stand in a job, and what each says with their number."""


def _more_of(case: Case, operation: Run, system: System) -> Why:
    """Return why the job uses no more systems of a type that it uses."""
    job, way = case.job, system.way(operation.ways)
    step = way.step_gpus
    for name, most in most_gpus_by(case, operation).items():
        if most is not None and operation.gpus + step > most:
            key, says = _MOST[name]
            place = of_job(key, job.name)
            spares = "" if job.repair is None else ", and more spares make the plan no better"
            return f"{place} {says.format(most)}{spares}", f"a larger {place}"
    if step > way.usable_gpus:
        return f"they do not make up another replica of {step:,} GPUs", ""
    return "the plan is no better with more of them in use", ""


def _storage(case: Case, operation: Run, item: Storage, known: Mapping[str, Item]) -> Why:
    serving = {other.family for other in case.flash if operation.units[other.id]}
    if item.family in serving or item.is_bulk:
        return "the job needs no more of them", ""
    names = " and ".join(known[other.id].model for other in case.flash if operation.units[other.id])
    if len(serving) < case.max_families:
        return f"the plan is no better with them beside {names}", ""
    key = "max_families" if case.exact_families is None else "exact_families"
    reason = f"storage.{key} is {case.max_families} and the job is served by {names}"
    alone = f"consider.storage_families: [{item.family}] plans with them alone"
    return reason, f"storage.{key}: {case.max_families + 1} lets the job use both; {alone}"


def _kept_out(inputs: Inputs, case: Case, item: Item) -> Why:
    """Return why the problem or the catalogs keep owned units out of the cluster."""
    reason = dict(case.not_considered)[item.id]
    return reason, suitability.let_in(item, inputs.problem) or ""


# The lines of the bill of materials.


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
ORDER: tuple[Section, ...] = (
    "Network", "Optics & cables", "Racks & power", "Software", "Services", "Components"
)  # fmt: skip
SERVICE_UNITS = {
    "order": "order", "gpu_system": "GPU system", "gpu": "GPU", "storage_unit": "storage unit",
    "switch": "switch", "cable": "cable", "pdu": "PDU", "rack": "rack", "liquid_kw": "kW to liquid",
    "hardware": "100 USD of hardware",
}  # fmt: skip
"""What one unit of a service is for, by what it is counted by."""


def lines(
    inputs: Inputs,
    case: Case,
    operation: Run,
    fabrics: Iterable[FabricReport],
    idle: Iterable[IdleUnits],
) -> tuple[Line, ...]:
    """Return a line for everything in the plan: GPU systems, storage, what comes with them.

    Args:
        fabrics: those of the plan, which say what switches are for.
        idle: what is owned and stands idle.
    """
    known = inputs.by_id
    spent = bill(case, operation.units, operation.ways)
    why_idle = {each.sku: each.reason for each in idle}
    result: list[Line] = []
    for offer in case.offers():
        count = round(spent.counts[offer.place])
        if count:
            item = known[offer.id]
            line = _chosen(inputs, offer, item, operation.units[offer.id], count, spent)
            if isinstance(offer, System) and offer.id in operation.used:
                line = _provisioned(inputs, case, operation, line)
            if line.idle:
                note = f"{line.idle:,} owned stand idle: {why_idle[offer.id]}"
                line = line.model_copy(update={"notes": (note, *line.notes)})
            result.append(line)
            for part, quantity in figures.parts(item, inputs) if item.components else ():
                result.append(_component(inputs, line, item, part, quantity))
    chosen = (_with_public_notes(inputs, line) for line in result)
    return (*chosen, *_companions(inputs, case, known, spent, fabrics))


def _with_public_notes(inputs: Inputs, line: Line) -> Line:
    """Return a line with what problem and price book say of it to everybody."""
    if line.parent is not None:
        return line
    rule, price = inputs.problem.items.get(line.sku), inputs.prices.get(line.sku)
    texts = (each.public_note for each in (rule, price) if each is not None)
    notes = tuple(dict.fromkeys(note for note in texts if note))
    return line.model_copy(update={"public_notes": notes}) if notes else line


def _companions(
    inputs: Inputs,
    case: Case,
    known: Mapping[str, Item],
    spent: Bill,
    fabrics: Iterable[FabricReport],
) -> Iterator[Line]:
    why = roles(case, spent, fabrics)

    def place(companion: Companion) -> tuple[int, str]:
        return ORDER.index(SECTIONS[known[companion.id].category]), companion.id

    for companion in sorted(case.companions.items, key=place):
        item, count = known[companion.id], round(spent.counts[companion.id])
        if count:
            # Plans of neighbouring scenarios have most of their companions in the same numbers.
            alike = count, spent.purchased[item.id], spent.counts.get(f"racks.{item.id}")
            yield inputs.once(
                ("line", item.id, *alike, why.get(item.id)),
                companion,
                partial(_companion, inputs, companion, item, count, spent, why.get(item.id)),
            )


def _companion(
    inputs: Inputs, part: Companion, item: Item, count: int, spent: Bill, role: str | None
) -> Line:
    """Return the line of a companion; of spare parts none is in place, so many are in store."""
    if part.stored:
        fields = _shared(inputs, part, item, 0, spent) | {"spares": count, "racks": None}
    else:
        racked = (figures.rack_units(item, inputs) or 0.0) > 0 or part.racks_each > 0
        alone = spent.counts.get(f"racks.{item.id}")
        fields = _shared(inputs, part, item, count, spent) | {
            "racks": None if alone is None else round(alone),
            "rack_class": "network" if racked and inputs.problem.site.rack else None,
        }
    return _with_public_notes(inputs, Line.model_validate({**fields, "role": role}))


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
            "bulk_tb": offer.bulk_tb * working if isinstance(offer, Storage) else 0.0,
        }
    )


def _provisioned(inputs: Inputs, case: Case, operation: Run, line: Line) -> Line:
    """Return the line of a type as it is provisioned for at the set point of its job."""
    points = {system.id: each.point for system, each in chosen(inputs, case, operation)}
    point = points[line.sku]
    share = point.power
    if share == 1.0 or line.unit_it_power_kw is None:
        return line
    most = share * line.unit_it_power_kw
    typical = most if line.unit_typical_power_kw is None else min(line.unit_typical_power_kw, most)
    each = {
        "it_power_kw": most,
        "heat_btu_per_h": heat_btu_per_h(most),
        "typical_power_kw": typical,
        **{
            name: share * rated
            for name, row in STATED.items()
            if row.follows_draw and (rated := getattr(line, row.of_one)) is not None
        },
    }
    lines = {name: value * line.quantity for name, value in each.items()}
    meter_kw = None if line.facility_power_kw is None else share * line.facility_power_kw
    units = {f"unit_{name}": value for name, value in each.items()}
    note = (
        f"configure: cap the GPUs at {100.0 * point.gpu_cap:.4g} % of their power; provisioned for "
        f"{most:,.1f} of its rated {line.unit_it_power_kw:,.1f} kW, in racks of the rated power"
    )
    notes = {"notes": (note, *line.notes), "facility_power_kw": meter_kw}
    return line.model_copy(update={**units, **lines, **notes})


def _usable_tb(offer: Offer, item: Item, working: int) -> float | None:
    """Return the capacity of a storage line; what only stands there gives none."""
    if isinstance(offer, Storage):
        return offer.usable_tb * working
    return 0.0 if item.category == "storage" else None


def _shared(
    inputs: Inputs, billed: BillItem, item: Item, count: int, spent: Bill
) -> dict[str, object]:
    """Return the fields of any line that is bought."""
    purchased = spent.purchased[billed.id]
    return {
        **_of_unit(item, inputs),
        "unit": _unit(item),
        "quantity": count,
        "installed": billed.installed,
        "spares": ceil(billed.spare_share * count),
        "pack": billed.pack,
        "purchased": purchased,
        **_price(item, inputs),
        **_money(inputs, billed, item, purchased),
        **_consumption(inputs, item, count),
    }


def _unit(item: Item) -> str:
    """Return what one unit of an item is called in a bill."""
    if item.service is not None:
        return SERVICE_UNITS[item.service.per]
    return "licence" if item.category == "software" else "each"


@once_for_each
def _of_unit(item: Item, inputs: Inputs) -> dict[str, object]:
    """Return the fields of a line that no count changes: the product and one unit of it."""
    power, liquid = figures.it_power_kw(item, inputs), figures.liquid_kw(item, inputs)
    return {
        "sku": item.id,
        "vendor": item.vendor,
        "model": item.model,
        "part_number": item.part_number,
        "description": item.description,
        "category": item.category,
        **_trade(item),
        "section": SECTIONS[item.category],
        **{f"unit_{name}": value for name, value in _consumes(item, inputs).items()},
        "liquid_share": liquid / power if power else 0.0,
        "notes": item.notes,
    }


@once_for_each
def _consumes(item: Item, inputs: Inputs) -> dict[str, float | None]:
    """Return what one unit draws, gives off and takes up, by figure; None is not known."""
    power = figures.it_power_kw(item, inputs)
    return {
        "it_power_kw": power,
        "heat_btu_per_h": None if power is None else heat_btu_per_h(power),
        "typical_power_kw": figures.typical_power_kw(item, inputs),
        **{name: figures.stated(item, inputs, row) for name, row in STATED.items()},
    }


def _trade(item: Item) -> dict[str, object]:
    """Return what is told of a product beside what it is, as far as its catalog states it."""
    trade = item.trade
    stated = {
        "country_of_origin": trade.origin,
        "hs_code": trade.hs_code,
        "export_class": trade.export_class,
        "warranty_years": trade.warranty_years,
    }
    known: dict[str, object] = {
        name: figure.value for name, figure in stated.items() if figure is not None
    }
    return known if item.lifecycle == "available" else known | {"lifecycle": item.lifecycle}


def _component(inputs: Inputs, parent: Line, bundle: Item, part: Item, quantity: int) -> Line:
    count = quantity * parent.quantity
    nothing = dict.fromkeys(
        ("unit_list_usd", "unit_net_usd", "extended_list_usd", "extended_net_usd",
         "support_usd_per_year", "price", "racks")
    )  # fmt: skip
    return Line.model_validate(
        {
            **_of_unit(part, inputs),
            "parent": bundle.id,
            "section": "Components",
            "quantity": count,
            "purchased": quantity * parent.purchased,
            "discount": 0.0,
            **nothing,
            **_consumption(inputs, part, count),
        }
    )


@once_for_each
def _price(item: Item, inputs: Inputs) -> dict[str, object]:
    """Return the fields of a line on its price that its count does not change."""
    price = inputs.prices.get(item.id)
    if price is None:
        empty = ("unit_list_usd", "unit_net_usd", "extended_list_usd", "extended_net_usd")
        return {**dict.fromkeys((*empty, "support_usd_per_year", "price")), "discount": 0.0}
    sources = inputs.price_sources.get(item.id, {})
    title = sources[price.source].title if price.source in sources else price.source
    start, end = support_span(item, inputs)
    per_year = price.support_per_year
    return {
        "unit_list_usd": price.list_usd,
        "discount": discount(item, inputs.discounts),
        "support_years": max(0.0, end - start) if inputs.problem.term else None,
        "support_from_years": min(start, end),
        "price": PriceNote(
            source=title,
            date=price.date,
            confidence=price.confidence,
            book=inputs.price_books.get(item.id, ""),
            note=price.note,
            low_usd=price.low_usd,
            high_usd=price.high_usd,
            valid_until=price.valid_until,
            currency=price.currency,
            per_year_low_usd=price.per_year_low_usd,
            per_year_high_usd=price.per_year_high_usd,
        ),
        "min_order": price.min_order or None,
        "support_level": support_level(inputs.problem, item.id, price),
        "support_share": per_year.share if isinstance(per_year, SupportShare) else None,
        "unit_subscription_list_usd": price.per_year_usd,
        "lead_time": price.lead_time,
        "lead_time_days": price.lead_time_days,
    }


def _extended(
    item: Item, list_usd: float, net_usd: float, purchased: int, shown_in: Currency
) -> dict[str, float]:
    """Return what all units of a line cost: in cents, unless it is a percentage."""
    ends = {"extended_list_usd": list_usd, "extended_net_usd": net_usd}
    if item.is_percentage:
        return {name: each * purchased for name, each in ends.items()}
    ends["extended_list_usd"] = shown_in.listed_usd(list_usd)
    return {name: shown_in.rounded_usd(each * purchased) for name, each in ends.items()}


def _money(inputs: Inputs, billed: BillItem, item: Item, purchased: int) -> dict[str, object]:
    """Return the money of a line whose item has a price."""
    price = inputs.prices.get(item.id)
    if price is None:
        return {}
    shown_in = inputs.problem.shown_in
    cents, net = shown_in.rounded_usd, billed.unit_net_usd
    assert net is not None
    yearly_usd = cents(billed.subscription_usd_per_year * purchased)
    return {
        "unit_net_usd": net,
        **_extended(item, price.list_usd, net, purchased, shown_in),
        "support_usd_per_year": cents(billed.support_usd_per_year * purchased),
        "subscription_usd_per_year": None if price.per_year_usd is None else yearly_usd,
    }


def _consumption(inputs: Inputs, item: Item, count: int) -> dict[str, object]:
    """Return what all units of a line draw, give off and take up."""
    of_unit = _consumes(item, inputs)
    known = of_unit["it_power_kw"] is not None
    return {
        **{name: None if each is None else each * count for name, each in of_unit.items()},
        "facility_power_kw": figures.meter_kw(item, inputs) * count if known else None,
    }
