"""From inputs to numbers: which items are on offer, with what figures, and why others are not."""

from __future__ import annotations

import itertools

from planner.case import figures
from planner.case.jobs import job_numbers
from planner.case.model import (
    BandwidthRule,
    Case,
    FamilyOffer,
    Limits,
    Offer,
    Segment,
    Storage,
    System,
)
from planner.case.money import support_usd_per_year, unit_net_usd
from planner.errors import Finding, InputError
from planner.loader.checks import demanded
from planner.loader.inputs import Inputs
from planner.schema.catalog import Item, Sizes
from planner.schema.problem import CustomRule, Problem, Quantity
from planner.sizing.rules import VENDOR_RULES

HOURS_PER_YEAR = 8760.0


def resolve(inputs: Inputs) -> Case:
    """Return the case of validated inputs.

    Raises:
        InputError: an item the problem demands lacks a figure, a price or room in a rack.
    """
    problem = inputs.problem
    systems: list[System] = []
    storage: list[Storage] = []
    left_out: list[tuple[str, str]] = []
    for item in sorted(inputs.items, key=lambda item: item.id):
        if item.category == "component":
            continue
        reason = figures.why_not(item, inputs)
        if reason is not None:
            _refuse_if_demanded(inputs, item, reason)
            left_out.append((item.id, reason))
        elif item.category == "gpu_system":
            systems.append(_system(item, inputs))
        else:
            storage.append(_storage(item, inputs))
    return Case(
        systems=tuple(systems),
        storage=tuple(storage),
        families=_families(inputs, storage),
        job=job_numbers(problem),
        limits=_limits(problem),
        objective=problem.objective.maximize or problem.objective.minimize or "goodput",
        delivered_read=problem.storage.delivered_fraction.read,
        delivered_write=problem.storage.delivered_fraction.write,
        max_families=problem.storage.max_families,
        rule=_rule(problem),
        energy_usd_per_kw_year=_energy(problem),
        years=problem.term.years if problem.term else 0.0,
        indifference=problem.objective.indifference,
        not_considered=tuple(left_out),
    )


def _refuse_if_demanded(inputs: Inputs, item: Item, reason: str) -> None:
    if not demanded(inputs.problem, item.id):
        return
    document = inputs.document
    file, line = document.place(("items", item.id)) if document else (None, None)
    message = f"'{item.id}' is demanded but cannot be planned: {reason}"
    fix = "give the figure in a catalog or price book of your own"
    raise InputError(Finding("demanded", message, file, line, f"items.{item.id}", fix))


def _base(item: Item, inputs: Inputs) -> Offer:
    problem = inputs.problem
    rule = problem.items.get(item.id, Quantity())
    price = inputs.prices.get(item.id)
    low = rule.fixed if rule.fixed is not None else max(rule.min or 0, int(rule.required))
    highs = [rule.fixed, rule.max, item.max_units.value if item.max_units else None]
    if price is None or item.lifecycle not in problem.consider.lifecycle:
        highs.append(rule.installed)
    bounds = [high for high in highs if high is not None]
    return Offer(
        id=item.id,
        vendor=item.vendor,
        low=low,
        high=min(bounds) if bounds else None,
        min_units=item.min_units.value if item.min_units else 0,
        installed=rule.installed,
        unit_net_usd=unit_net_usd(item, price, inputs.discounts) if price else None,
        support_usd_per_year=support_usd_per_year(item, price, inputs.discounts) if price else 0.0,
        it_power_kw=figures.it_power_kw(item, inputs) or 0.0,
        rack_use=figures.rack_use(item, inputs),
        forced=demanded(problem, item.id),
    )


def _system(item: Item, inputs: Inputs) -> System:
    assert item.provides.gpus is not None
    job, limit = inputs.problem.job, inputs.problem.storage.client_limit
    gpus = item.provides.gpus.value
    rate = figures.failures_per_gpu_day(item, job)
    return System(
        **vars(_base(item, inputs)),
        gpus=gpus,
        tflops_per_gpu=figures.tflops_per_gpu(item, job) or 0.0,
        failures_per_gpu_day=rate,
        client_write_gb_per_s=limit.write or figures.client_gb_per_s(item.client.write, gpus),
        client_read_gb_per_s=limit.read or figures.client_gb_per_s(item.client.read, gpus),
    )


def _storage(item: Item, inputs: Inputs) -> Storage:
    assert item.family is not None
    provides = item.provides
    return Storage(
        **vars(_base(item, inputs)),
        family=item.family,
        read_gb_per_s=provides.read.value if provides.read else 0.0,
        write_gb_per_s=provides.write.value if provides.write else 0.0,
        usable_tb=provides.usable.value if provides.usable else 0.0,
        endurance_tb_per_day=provides.endurance.value if provides.endurance else None,
        segments=segments(item.sizes) if item.sizes else (),
    )


def segments(sizes: Sizes) -> tuple[Segment, ...]:
    """Return the straight pieces between neighbouring rows; a single row is a piece of itself."""
    rows = sizes.rows
    if len(rows) == 1:
        row = rows[0]
        return (Segment(row.units, row.units, row.read, 0.0, row.write, 0.0),)
    pieces = []
    for low, high in itertools.pairwise(rows):
        span = high.units - low.units
        read_slope = (high.read - low.read) / span
        write_slope = (high.write - low.write) / span
        pieces.append(Segment(low.units, high.units, low.read, read_slope, low.write, write_slope))
    return tuple(pieces)


def _families(inputs: Inputs, storage: list[Storage]) -> tuple[FamilyOffer, ...]:
    on_offer = {item.family for item in storage}
    forced = {item.family for item in storage if item.forced}
    result = []
    for family in sorted(inputs.families, key=lambda family: family.id):
        if family.id not in on_offer:
            continue
        factor = family.client_factor
        result.append(
            FamilyOffer(
                id=family.id,
                write_factor=factor.write.value if factor else 1.0,
                read_factor=factor.read.value if factor else 1.0,
                max_units=family.max_units.value if family.max_units else None,
                forced=family.id in forced,
            )
        )
    return tuple(result)


def _limits(problem: Problem) -> Limits:
    site, budget, targets = problem.site, problem.budget, problem.targets
    powers = []
    if site.facility_power_kw is not None:
        powers.append(site.facility_power_kw / site.pue)
    if site.it_power_kw is not None:
        powers.append(site.it_power_kw)
    return Limits(
        it_power_kw=min(powers) if powers else None,
        racks=site.racks,
        capex_usd=budget.capex_usd,
        opex_usd_per_year=budget.opex_usd_per_year,
        tco_usd=budget.tco_usd,
        min_gpus=targets.min_gpus,
        min_goodput=targets.min_goodput,
        min_useful_gpus=targets.min_useful_gpus,
        min_useful_pflops=targets.min_useful_pflops,
        max_days_to_train=targets.max_days_to_train,
    )


def _rule(problem: Problem) -> BandwidthRule | None:
    rule = problem.storage.rule
    if isinstance(rule, CustomRule):
        return BandwidthRule(rule.name, rule.read, rule.write, rule.per_gpus)
    if rule == "demand":
        return None
    vendor = VENDOR_RULES[rule]
    return BandwidthRule(vendor.name, vendor.read_gb_per_s, vendor.write_gb_per_s, vendor.per_gpus)


def _energy(problem: Problem) -> float:
    if problem.term is None:
        return 0.0
    return problem.site.pue * HOURS_PER_YEAR * problem.term.electricity_usd_per_kwh
