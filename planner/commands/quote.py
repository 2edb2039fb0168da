"""Requests to vendors, and their quotes read into price books and catalogs."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from planner import shipped
from planner.analysis.offers import read_options
from planner.api import Options, solve_with
from planner.errors import Finding, InputError
from planner.files import write_all
from planner.inputs import Inputs
from planner.limits import SUPPLIES
from planner.loader.catalogs import load_catalogs
from planner.loader.documents import dump
from planner.loader.prices import load_prices
from planner.quotes import read_quote
from planner.quotes.products import (
    ANSWER_COLUMNS,
    QUESTIONS,
    one_line,
    unlikely_prices,
    yaml_text,
)
from planner.report.blocks import Facts, Text
from planner.report.exports import stem_of
from planner.report.formats import clean, duration, join_words, significant, years
from planner.report.plan import limit_text
from planner.results import created_today
from planner.schema.bill import Asked as Product
from planner.schema.bill import Quote, Quoted, QuoteMap
from planner.schema.catalog import Item
from planner.schema.operation import JobPlan
from planner.schema.plan import Plan
from planner.schema.prices import Price
from planner.sources import load
from planner.terminal import Progress, ignore
from planner.workbook import write_request

VALID_DAYS = 60
"""Validity of quotes that a request asks for."""
_BY_RULE = {"rule_write": "Writes", "rule_read": "Reads"}


def import_quote(
    path: Path,
    folder: Path,
    *,
    problem: Path | None = None,
    progress: Progress = ignore,
    **reading: Any,
) -> Quote:
    """Read a vendor's quote; write its prices, its mapping, its record and unknown products.

    Args:
        problem: problem whose catalogs apply; without one all shipped ones.
        reading: vendor, mapping, date, currency and rates, as of `options_of`.

    Raises:
        InputError: the file or an option is wrong, or a file cannot be written.
    """
    if problem is None:
        known: Mapping[str, Item] = load_catalogs(list(shipped.catalog_files().values())).items
        book: Mapping[str, Price] = load_prices([*shipped.price_files().values()], known).prices
    else:
        inputs = load(problem)
        known, book = inputs.by_id, inputs.prices
    options = read_options(known, **reading)
    quote = read_quote(path, options, known)
    remarks = (*_off_the_whole(quote), *unlikely_prices(quote.prices, book))
    quote = quote.model_copy(update={"findings": (*quote.findings, *remarks)})
    record = quote.model_dump_json(indent=2) + "\n"
    texts = {"map.yaml": map_text(quote, options.mapping), "quote.json": record}
    if quote.prices:
        texts["prices.yaml"] = price_text(quote)
    if any(each.category for each in quote.asked):
        texts["catalog.yaml"] = catalog_text(quote)
    write_all({folder / f"{quote.stem}.{end}": text.encode() for end, text in texts.items()})
    return quote


def _off_the_whole(quote: Quote) -> Iterator[str]:
    """Yield discounts on the whole quote, which are in no product's price."""
    for line in quote.lines:
        if line.kind == "discount" and line.amount:
            yield (
                f"{line.cells.get('amount', f'row {line.row}')}: "
                f"{one_line(line.description or line.part_number)}, {line.amount:,.2f} "
                f"{quote.currency}, is taken off no price of the book; planner quote bid takes it "
                "off every price"
            )


# The files


def price_text(quote: Quote) -> str:
    """A price book of a quote; the book below it keeps the terms that it does not state."""
    rate = "" if quote.currency == "USD" else f", 1 {quote.currency} = {quote.usd_per_unit:.6g} USD"
    title = f"Quote of {quote.vendor}, {quote.date}, file {quote.file}{rate}"
    data = {
        "price_book": one_line(f"{quote.vendor}, quote of {quote.date}"),
        "currency": "USD",
        "sources": {"quote": {"title": one_line(title)}},
        "prices": {each.item: _entry(each, quote) for each in quote.prices},
        "discounts": [{"item": each.item, "discount": "0 %"} for each in quote.prices],
    }
    head = (
        f"# Net prices per unit, as quoted by {one_line(quote.vendor)}; laid over other books:\n"
        "#   prices: [estimates_2026, this file]\n"
        "# The prices are net: no discount of another book comes off them. Support, subscription\n"
        "# and lead time that are not quoted stay as in the other books.\n"
    )
    return head + dump(data)


def _entry(price: Quoted, quote: Quote) -> dict[str, Any]:
    """The price of a product."""
    listed = "" if price.list_usd is None else f"; list {price.list_usd:,.2f} USD"
    fields: dict[str, Any] = {
        "list": f"{price.net_usd:.2f} USD",
        "date": quote.date,
        "valid_until": quote.valid_until or None,
        "source": "quote",
        "confidence": "high",
        "support_included_years": price.support_included_years,
        "lead_time": price.lead_time,
        "note": one_line(f"{price.quantity:g} quoted, cells {', '.join(price.cells)}{listed}"),
    }
    if price.support_usd_per_year is not None:
        yearly = f"{price.support_usd_per_year:.2f} USD"
        fields |= {"support_per_year": yearly, "support_source": "quote"}
        fields["support_confidence"] = "high"
    return {name: value for name, value in fields.items() if value is not None}


def map_text(quote: Quote, mapping: QuoteMap) -> str:
    """The layout that was used, for the vendor's next quote."""
    items = dict(mapping.items)
    for line in quote.lines:
        if line.item is not None and (line.part_number or line.description):
            items.setdefault(line.part_number or line.description, line.item)
    fields = {
        "quote_map": one_line(f"{quote.vendor}, as in {quote.file}"),
        "currency": quote.currency,
        "decimal": quote.decimal,
        "columns": dict(quote.columns),
        "quantities": dict(mapping.quantities),
        "items": items,
    }
    unknown = "".join(
        "# not known; name the item here: items: "
        f"{{{yaml_text(each.part_number or each.description)}: ...}}\n"
        for each in quote.asked
    )
    return dump({name: value for name, value in fields.items() if value}) + unknown


def catalog_text(quote: Quote) -> str:
    """A catalog of a quote's unknown products, with the missing figures as comments on top."""
    products = [product for product in quote.asked if product.category is not None]
    title = f"Quote of {quote.vendor}, {quote.date}, file {quote.file}"
    families = [
        {"id": f"{each.id}_fs", "vendor": one_line(quote.vendor), "name": _model(each)}
        for each in products
        if each.category == "storage"
    ]
    data = {
        "catalog": one_line(f"{quote.vendor}, products of a quote of {quote.date}"),
        "sources": {"quote": {"title": one_line(title)}},
        **({"families": families} if families else {}),
        "items": [_catalog_item(each, quote.vendor) for each in products],
    }
    head = "# Add these figures with their source; until then the planner leaves the product out:\n"
    missing = (f"#   {each.id}: {', '.join(each.figures)}\n" for each in products if each.figures)
    return head + "".join(missing) + dump(data)


def _model(product: Product) -> str:
    return one_line(product.description or product.part_number)


def _catalog_item(product: Product, vendor: str) -> dict[str, Any]:
    item: dict[str, Any] = {"id": product.id, "vendor": one_line(vendor), "model": _model(product)}
    if product.part_number:
        item["part_number"] = one_line(product.part_number)
    item["category"] = product.category
    if product.category == "storage":
        item["family"] = f"{product.id}_fs"
    basis = product.known.get("basis", "")
    for path in sorted(product.known.keys() - {"basis"}):
        section, _, name = path.rpartition(".")
        figure: dict[str, Any] = {"value": product.known[path]}
        if section == "ports":
            count, speed = product.known[path].split(" x ")
            figure = {"count": int(count), "speed": speed}
        note = one_line(f"as quoted, cell {product.cells[path]}")
        figure |= {"source": "quote", "confidence": "medium", "note": note}
        if basis and path in ("provides.read", "provides.write"):
            stated = re.fullmatch(r"(nameplate|data ?sheet|specified|spec)", basis.strip().lower())
            measured = {"basis": "measured", "benchmark": one_line(basis)}
            figure |= {"basis": "nameplate"} if stated else measured
        (item.setdefault(section, {}) if section else item)[name] = figure
    return item


# The request


_TERMS = (
    "Answer on the sheet Quote: one line per product, each with its part number, quantity, list "
    "and net price per unit. Lines may be added; a heading stands alone in its row.",
    "Describe each product on the sheet Products, once per part number: maximum and typical power, "
    "height, weight, ports; of storage read and write bandwidth and usable capacity.",
    "Bandwidth is that of clients, writes sustained; state how it was measured. A missing figure "
    "is requested again: nothing is assumed in its place.",
    "Prices are net of taxes. Support and subscriptions are lines of their own, right under their "
    "product, with their term in months.",
)


def write_rfq(
    problem: Path,
    settings: tuple[str, ...],
    scenario: str | None,
    folder: Path,
) -> Path:
    """Write the request for quotes of a problem; return its path.

    Amounts are the demands of the best plan's job, rounded up to two figures, not a product's.

    Raises:
        InputError: the problem is wrong, or has no plan.
    """
    inputs = load(problem, settings=settings, scenario=scenario)
    plan = solve_with(inputs, Options())
    if not plan.jobs:
        message = "there is no plan, so the demands are not known"
        raise InputError(Finding("rfq", message, str(problem), fix="see planner explain"))
    stream = io.BytesIO()
    facts, parts = inquiry(inputs, plan, plan.jobs[0])
    write_request(
        stream,
        clean(f"Request for quotes: {plan.problem}", 200),
        [facts, *(Text(needs, name) for name, needs in parts.items()), Text(_TERMS, "Answers")],
        [*parts],
        ANSWER_COLUMNS,
        [(question.label, question.width) for question in QUESTIONS],
        created=created_today(),
    )
    path = folder / f"{stem_of(problem, plan.provenance.scenario)}.rfq.xlsx"
    write_all({path: stream.getvalue()})
    return path


def inquiry(inputs: Inputs, plan: Plan, job: JobPlan) -> tuple[Facts, dict[str, tuple[str, ...]]]:
    """The facts of a request for quotes, and the needs of the best plan by part."""
    term = inputs.problem.term
    supported = None if term is None else term.support_years or term.years
    services = ["Freight, installation, commissioning and acceptance test, each on its own line."]
    if supported:
        words = f"Support for {years(supported)}, per product: response time, parts, software."
        services.insert(0, words)
    parts = {
        "GPU systems": [*_systems(inputs, job)],
        "Storage": [*_storage(inputs, plan, job)],
        "Network, optics and cables": [*_fabrics(inputs)],
        "Racks, power and cooling": [*_hall(inputs)],
        "Services": services,
    }
    facts = [
        *_facts(inputs, plan, job),
        ("Answer by", "(date)"),
        ("Validity", f"prices hold for {VALID_DAYS} days from the date of the quote"),
    ]
    return Facts(tuple(facts)), {name: tuple(needs) for name, needs in parts.items() if needs}


def two_figures(value: float) -> str:
    """A need rounded up to two figures."""
    if value <= 0.0:
        return "0"
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.ceil(value / step - 1e-9) * step:,.6g}"


def _facts(inputs: Inputs, plan: Plan, job: JobPlan) -> Iterator[tuple[str, str]]:
    asked, site = inputs.problem.job, inputs.problem.site
    if asked.parameters:
        words = f"training of a model of {asked.parameters / 1e9:,.4g} billion parameters"
        if asked.training.tokens:
            words += f" on {asked.training.tokens / 1e12:,.4g} trillion tokens"
        yield "What it is for", f"{words}, in {_precisions(inputs)}"
    waits = "written while the job goes on" if job.mode == "async" else "the job waits"
    each = significant(job.checkpoint_gb, "GB")
    each += f" each, to storage about every {duration(job.to_storage_s)}"
    yield "Checkpoints", f"{each}; {waits}"
    of_site = {row.name for row in SUPPLIES if row.path.startswith("site.") and row.name != "racks"}
    limits = [limit_text(limit) for limit in plan.limits if limit.name in of_site]
    if limits:
        yield "Limits", f"{join_words(limits)} for everything together"
    if site.rack is not None and site.racks is not None:
        draw = "" if site.rack.power_kw is None else f" and {site.rack.power_kw:,.4g} kW each"
        yield "Racks", f"{site.racks:,} positions of {site.rack.height_ru:g} RU{draw}"
    days = inputs.problem.targets.max_lead_time_days
    if days is not None:
        yield "Delivery", f"within {days:,.4g} days from the order"


def _precisions(inputs: Inputs) -> str:
    return " or ".join(each.upper() for each in inputs.problem.job.training.precisions)


def _systems(inputs: Inputs, job: JobPlan) -> Iterator[str]:
    yield (
        f"GPU systems for one job of about {two_figures(job.gpus_used)} GPUs or as many as do the "
        "same work; type and number are open. Say the price of one, and from how many on it falls."
    )
    if job.replica_gpus:
        groups = f", of which groups of {job.tensor_gpus} exchange data within one NVLink domain"
        yield f"{job.replica_gpus} GPUs hold a replica{groups if job.tensor_gpus else ''}."
    yield f"Dense {_precisions(inputs)} FLOP/s and memory of each GPU."


def _storage(inputs: Inputs, plan: Plan, job: JobPlan) -> Iterator[str]:
    share = job.max_overlap if job.mode == "async" else job.max_blocking
    if share:
        write = job.checkpoint_gb / (share * job.to_storage_s)
        yield f"Writes of {two_figures(write)} GB/s as clients see them, sustained."
    for limit in plan.limits:  # those of a rule, in place of what the job needs
        if limit.name in _BY_RULE and limit.limit > 0.0:
            yield f"{_BY_RULE[limit.name]} of {two_figures(limit.limit)} GB/s by nameplate."
    most_s = inputs.problem.job.restore.max_time_s
    if most_s is not None:
        read = job.fan_out * job.checkpoint_gb / most_s
        yield f"Reads of {two_figures(read)} GB/s, so that a restore ends in {duration(most_s)}."
    if data := job.ingest_demand_gb_per_s:
        yield f"Reads of {two_figures(data)} GB/s of training data, sustained."
    yield f"{two_figures(job.capacity_needed_tb)} TB usable in one namespace."
    if job.tolerate_down:
        yield f"All of it with {job.tolerate_down} of its units down."
    yield "Raw capacity, type of flash, smallest order and step of growth of what is offered."


def _fabrics(inputs: Inputs) -> Iterator[str]:
    network = inputs.problem.network
    if network.compute is not None:
        ratio = min(network.compute.oversubscriptions)
        yield f"Compute fabric between all GPUs at {ratio:g}:1, with the ports of the systems."
    for name, fabric in (("Storage", network.storage), ("In-band", network.in_band)):
        if fabric is not None:
            ratio, least = fabric.oversubscription, fabric.min_switches
            yield f"{name} fabric at {ratio:g}:1, at least {least} switches."
    if network.out_of_band is not None:
        yield "Out-of-band network for every management port."
    if network.compute or network.storage or network.in_band or network.out_of_band:
        yield "Transceivers and cables for every link, with their lengths left open."


def _hall(inputs: Inputs) -> Iterator[str]:
    site = inputs.problem.site
    if site.rack is not None and site.rack.item is not None:
        yield "Racks as stated on top, with rack PDUs."
    if site.cooling.cdu is not None:
        yield f"Coolant distribution units, redundancy {site.cooling.redundancy}."
