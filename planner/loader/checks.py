"""Checks across the parts of a problem: references, required values, counts, ports, prices.

Faults are those that would let a wrong plan or a meaningless search through; limits that exclude
each other are explained where the search finds no plan.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

from pydantic import ValidationError

from planner import shipped
from planner.errors import Finding, InputError, Severity, clip, did_you_mean, suggest
from planner.figures import OBJECTIVES, RATIOS
from planner.inputs import (
    NOTHING_ASKED,
    Change,
    Document,
    Inputs,
    applied,
    asked_figures,
    job_size,
    named_items,
    needs,
    root_of,
)
from planner.loader import documents
from planner.loader.catalogs import catalog_faults
from planner.paths import CATALOG, job_path
from planner.schema import CANONICAL
from planner.schema.catalog import PortGroup, Switch
from planner.schema.job import Job, LocalLevel
from planner.schema.problem import OutOfBand, Problem
from planner.sizing.availability import remote_share
from planner.sizing.checkpoint import BYTES_PER_PARAMETER
from planner.units import rate_wanted

Fault = tuple[str, str, str, str | None, *tuple[Severity, ...]]
"""(code, path in the problem file, cause, fix, severity where it is no error)"""

CHOSEN = frozenset({"gpu_system", "storage"})
EXTRAS = frozenset({"management", "switch", "transceiver", "cable", "rack", "pdu", "cdu"})
COUNTED = ("exclude", "fixed", "max", "min")
"""Keys of ``items`` that a dependent item cannot have."""
STATES = {"pdu": "feed", "cdu": "cooling"}
"""Figure under ``provides`` that an item of a category must have where a problem names it."""

SIZE_TOLERANCE = 0.005
WEIGHT_BYTES = 2.0
"""Bytes per parameter of the weights, which every replica of a sharded optimizer reads."""
MOST_COPPER_GBIT_PER_S = 10.0


def check_problem(inputs: Inputs) -> list[Finding]:
    """Findings on how problem, catalogs and prices fit together."""
    checks = (
        _names,
        _required,
        _unbounded,
        _levels,
        _companions,
        _fabrics,
        _ports,
        _counts,
        _prices,
    )
    return [inputs.finding(*fault) for check in checks for fault in check(inputs)]


def checked(inputs: Inputs, changes: Iterable[Change], *, recorded: bool = False) -> Inputs:
    """Inputs with changes made, checked as if read from files.

    Args:
        inputs: validated inputs.
        changes: in this order, each value as its field takes it.
        recorded: whether plans record the changes in their provenance.

    Raises:
        InputError: the values do not go together; findings are at the changes.
    """
    changes = tuple(changes)
    new = applied(inputs, changes, recorded=recorded)
    data = new.problem.model_dump(exclude_unset=True, by_alias=True)
    try:  # rules between the fields
        Problem.model_validate(data, context=CANONICAL)
        findings = _catalog_faults(changes, new) or check_problem(new)
    except ValidationError as error:
        findings = documents.findings(error, Document("", data), Problem)
    origin = f"with {clip(', '.join(change.setting for change in changes), 160)}"
    errors = [replace(f, file=origin, line=None) for f in findings if f.severity == "error"]
    if errors:
        raise InputError(errors)
    return replace(new, warnings=warnings_of(findings))


def _catalog_faults(changes: Iterable[Change], inputs: Inputs) -> list[Finding]:
    """Faults of changed items and families; changes are of values, never of sources."""
    families = {family.id: family for family in inputs.families}
    changed = dict.fromkeys(root_of(change.path) for change in changes)
    return [
        Finding("catalog", message, path=f"{CATALOG}.{name}.{part}", fix=fix)
        for name in (name for root, name in changed if root == CATALOG)
        for each in [inputs.by_id.get(name) or families[name]]
        for message, fix, part in catalog_faults(each, None, inputs.by_id, families)
    ]


def warnings_of(findings: Iterable[Finding]) -> tuple[str, ...]:
    """The texts of warnings, as a plan carries them."""
    return tuple(f"{f.path}: {f.message}" for f in findings if f.severity == "warning")


def _names(inputs: Inputs) -> Iterator[Fault]:
    """Items, families and vendors that no catalog in use has."""
    problem, by_id = inputs.problem, inputs.by_id
    consider, policy = problem.consider, problem.policy
    systems = [item.id for item in inputs.items if item.category == "gpu_system"]
    vendors = sorted({item.vendor for item in inputs.items})
    chosen = [item for item in inputs.items if item.category in CHOSEN]
    sellers = sorted({item.vendor for item in chosen})
    families = [family.id for family in inputs.families]
    preferred = policy.prefer.vendors if policy.prefer else ()
    for path, names, choices, kind in (
        ("consider.gpu_systems", consider.gpu_systems, systems, "GPU system"),
        ("consider.storage_families", consider.storage_families, families, "storage family"),
        ("consider.vendors", consider.vendors, vendors, "vendor"),
        ("policy.require_vendors", policy.require_vendors, sellers, "vendor"),
        ("policy.forbid_vendors", policy.forbid_vendors, vendors, "vendor"),
        ("policy.prefer.vendors", preferred, sellers, "vendor"),
    ):
        for index, name in enumerate(names or ()):
            if name not in choices:
                message, fix = f"no {kind} '{name}'", suggest(name, choices, "known")
                yield "unknown-id", f"{path}.{index}", message, fix
    for name in problem.items:
        if name not in by_id:
            fix = suggest(name, [item.id for item in chosen], "known")
            yield "unknown-id", f"items.{name}", f"no item '{name}'", fix
        elif by_id[name].category == "component":
            message = f"'{name}' is a component and cannot be bought alone"
            yield "component", f"items.{name}", message, "name the item it is part of"
    for name in sorted(set(policy.require_vendors) & set(policy.forbid_vendors)):
        message = f"vendor {name} is required and forbidden"
        yield "policy", "policy.require_vendors", message, "leave out the one or the other"


def _required(inputs: Inputs) -> Iterator[Fault]:
    """Values that the objective, a limit or the job requires."""
    problem, job = inputs.problem, inputs.problem.job
    training, code = job.training, problem.currency
    if code not in (None, "USD", *problem.exchange):
        message = f"money is to be shown in {code}, and no rate of {code} is known"
        yield "exchange", "currency", message, rate_wanted(str(code))
    if needs(problem, "term") and problem.term is None:
        minimized = problem.objective.minimize
        who = "TCO, opex, energy or colocation"
        who = f"the {OBJECTIVES[minimized].label}" if minimized in RATIOS else who
        fix = "add term: {years: 4, electricity: 0.08 USD/kWh}"
        yield "missing-term", "term", f"{who} needs a term", fix
    if needs(problem, "rate") and training.mfu is None and training.model is None:
        message = "useful FLOP/s and days to train need the model FLOP/s utilisation"
        yield "missing-mfu", job_path("training"), message, "add training.mfu: 40 %"
    for figure in asked_figures(problem, "tokens") if training.tokens is None else ():
        fix = "add training.tokens: 15 T"
        yield "missing-tokens", job_path("training"), f"{figure.label} needs the tokens", fix
    if job.parameters is not None:
        yield from _sizes(job)
        return
    figures = () if training.active_parameters else asked_figures(problem, "parameters")
    users = [(job_path(), figure.label) for figure in figures]
    if job.restore.fan_out == "sharded_optimizer":
        users.append((job_path("restore.fan_out"), "sharded_optimizer"))
    for path, who in users:
        yield "missing-parameters", path, f"{who} needs the parameters", "add parameters: 70 B"


def _sizes(job: Job) -> Iterator[Fault]:
    """Two sizes of one checkpoint, and checkpoints smaller than the weights."""
    size_gb, each = job.checkpoint.size_gb, job.bytes_per_parameter
    if job.restore.fan_out == "sharded_optimizer" and job_size(job)[1] < WEIGHT_BYTES:
        message = "sharded_optimizer needs at least 2 bytes per parameter: the weights"
        yield "bytes", job_path("restore.fan_out"), message, None
    if size_gb and "bytes_per_parameter" in job.model_fields_set:
        each = BYTES_PER_PARAMETER[each].value if isinstance(each, str) else each
        computed_gb = (job.parameters or 0.0) * each / 1e9
        if abs(computed_gb / size_gb - 1) > SIZE_TOLERANCE:
            message = (
                f"size is {size_gb / 1000:.4g} TB, but parameters times bytes_per_parameter is "
                f"{computed_gb / 1000:.4g} TB"
            )
            yield "size-mismatch", job_path("checkpoint.size"), message, "give only one of the two"


def _unbounded(inputs: Inputs) -> Iterator[Fault]:
    """A purchase that nothing limits."""
    problem = inputs.problem
    site, budget, chosen = problem.site, problem.budget, problem.consider.gpu_systems
    limits = (
        *(problem.objective.minimize, problem.job.gpus.max, site.facility_limit_kw),
        *(site.it_power_kw, site.racks, budget.capex_usd, budget.opex_usd_per_year, budget.tco_usd),
    )
    systems = (item for item in inputs.items if item.category == "gpu_system")
    counted = all(
        rule.exclude or any(most is not None for most in (item.max_units, rule.max, rule.fixed))
        for item in systems
        if chosen is None or item.id in chosen
        for rule in [problem.items.get(item.id, NOTHING_ASKED)]
    )
    if all(limit is None for limit in limits) and not counted:
        message = "nothing limits the purchase, so the best plan is infinitely large"
        fix = "give site.facility_power, site.racks or a budget"
        yield "unbounded", "objective.maximize", message, fix


def _levels(inputs: Inputs) -> Iterator[Fault]:
    """Gaps and contradictions of a derived stall, restarts, failure classes and the local level."""
    job = inputs.problem.job
    checkpoint, stall = job.checkpoint, job_path("checkpoint.stall")
    derived, given = checkpoint.stall_s == "derived", checkpoint.stall_overhead_s is not None
    if given and not derived:
        message = "stall_overhead adds to a derived stall, and the stall is a time"
        yield "stall", f"{stall}_overhead", message, "write stall: derived, or leave it out"
    if derived and not given:
        message = "a derived stall needs stall_overhead"
        yield "stall", stall, message, "add stall_overhead: 0.5 s"
    if derived and checkpoint.mode == "sync":
        message = "a synchronous checkpoint stalls for as long as it is written: nothing is derived"
        yield "stall", stall, message, "leave out stall, or mode: sync"
    total = math.fsum(job.failure_shares.values())
    if job.failure_shares and abs(total - 1.0) > 1e-6:
        message = f"the shares of the classes of failures add up to {100 * total:.6g} %"
        yield "shares", job_path("failures.shares"), message, "let them add up to 100 %"
    if job.levels is not None:
        yield from _local_level(job, job.levels)


def _local_level(job: Job, local: LocalLevel) -> Iterator[Fault]:
    shares, path = job.failure_shares, job_path("checkpoint.local")
    if job.checkpoint.mode == "sync":
        message = "a local level is for checkpoints that drain while GPUs go on"
        yield "local", path, message, "write mode: async or open, or leave out local"
    if not shares:
        message = "a local level needs the shares of the classes of failures that it recovers from"
        fix = "add to the job failures: {per_gpu_day: llama3, shares: {software: 22 %, node: 78 %}}"
        yield "local", path, message, fix
        return
    wrong = sorted(set(shares) ^ set(local.recovers))
    total = math.fsum(shares.values())
    whole = {name: share / total for name, share in shares.items()}
    if wrong:
        message = f"recovers and failures.shares name different classes: {', '.join(wrong)}"
        fix = f"give yes, peer or no for each of {', '.join(shares)}"
        yield "recovers", f"{path}.recovers", message, fix
    elif remote_share(whole, local.recovers, local.copies) <= 0.0:
        message = "a local copy survives every class of failures, so storage would not be needed"
        fix = "name the class of failures that takes all copies, such as rack: no"
        yield "recovers", f"{path}.recovers", message, fix


def _companions(inputs: Inputs) -> Iterator[Fault]:
    """Named items that are missing, of another category, or without a required figure."""
    named = [(path, name, {str(kind)}) for path, name, kind in named_items(inputs)]
    named += [(f"extras.{name}", name, set(EXTRAS)) for name in inputs.problem.extras]
    for path, name, categories in named:
        item = inputs.by_id.get(name)
        fitting = [other.id for other in inputs.items if other.category in categories]
        kind = "companion" if len(categories) > 1 else min(categories)
        known = "known: " + ", ".join(fitting)
        if not fitting:
            known = "the catalogs in use hold none: add network, facility or software to catalogs"
        figure = STATES.get(kind, "")
        if item is None:
            hint = did_you_mean(name, fitting) or known
            yield "unknown-id", path, f"no {kind} '{name}' in the catalogs in use", hint
        elif item.category not in categories:
            message = f"'{name}' is of category {item.category}, expected {kind}"
            yield "category", path, message, known
        elif figure and not getattr(item.provides, figure):
            message = f"'{name}' lacks provides.{figure}"
            yield "figure", path, message, "name another item, or add the figure"


# Fabrics: every port that a problem needs exists, at its speed and protocol.


def _fabrics(inputs: Inputs) -> Iterator[Fault]:
    """Contradictions inside ``network``, and transceivers that no catalog in use holds."""
    network = inputs.problem.network
    compute, in_band = network.compute, "storage" if network.in_band is None else "in_band"
    if compute is not None and len(set(compute.switches)) < len(compute.switches):
        message = "a switch is listed twice"
        yield "twice", "network.compute.switches", message, "list each switch once"
    if compute is not None and compute.manager.ports and not compute.manager.slots:
        message = "manager ports need a system position: a full unit has no port left"
        yield "manager", "network.compute.manager", message, "give manager: {slots: 1, ports: 4}"
    if network.converged is not None and network.in_band is not None:
        message = "network.storage carries in-band management, so it has no fabric of its own"
        fix = "leave out network.in_band, or storage.carries_in_band"
        yield "converged", "network.in_band", message, fix
    fabrics = (
        ("compute", "compute", network.compute),
        ("storage", "storage", network.storage),
        ("in_band", in_band, network.in_band or network.converged),
    )
    for key, place, fabric in fabrics:
        missing: dict[str, str] = {}
        for item in inputs.items if fabric else ():
            port = getattr(item.ports, key)
            ends = (port.transceiver, port.split and port.split.transceiver) if port else ()
            missing |= {end.item: item.id for end in ends if end and end.item not in inputs.by_id}
        for transceiver, name in sorted(missing.items()):
            message = f"the ports of '{name}' take '{transceiver}', which no catalog in use holds"
            yield "unknown-id", f"network.{place}", message, "add network to catalogs"


def _ports(inputs: Inputs) -> Iterator[Fault]:
    """In-band links of extras and of management switches that no port of the fabric takes."""
    network = inputs.problem.network
    in_band, managing = network.in_band or network.converged, network.out_of_band
    upper = _switch(inputs, in_band.switch) if in_band is not None else None
    lower = _switch(inputs, managing.switch) if managing is not None else None
    extras = (inputs.by_id.get(extra) for extra in inputs.problem.extras)
    wanted = [
        (f"extras.{item.id}", port.protocol, port.speed_gbit_per_s, f"in-band ports of '{item.id}'")
        for item in extras
        if item is not None and (port := item.ports.in_band) is not None
    ]
    if managing is not None and lower is not None:
        yield from _consoles(managing, lower)
        if managing.uplinks:
            path = f"network.{'storage' if network.in_band is None else 'in_band'}.switch"
            speed, what = _fastest(lower).speed_gbit_per_s, f"uplinks of {managing.switch}"
            wanted.append((path, lower.protocol, speed, what))
    if in_band is None or upper is None:
        return
    for path, protocol, speed, what in wanted:
        speaks = protocol in (None, upper.protocol)
        if not (speaks and any(group.takes(speed) for group in upper.ports)):
            kind = f"{protocol} " if protocol else ""
            message = f"no port of {in_band.switch} takes the {kind}{what} ({speed:g} Gb/s)"
            yield "ports", path, message, "choose another switch for that fabric, or fewer links"


def _consoles(managing: OutOfBand, switch: Switch) -> Iterator[Fault]:
    """Out-of-band switches without copper or free ports."""
    name, path, fast = managing.switch, "network.out_of_band", _fastest(switch)
    slow = min(switch.ports, key=lambda group: group.speed_gbit_per_s)
    if slow.speed_gbit_per_s > MOST_COPPER_GBIT_PER_S:
        message = f"'{name}' has no copper ports for consoles"
        yield "ports", f"{path}.switch", message, "name a management switch, such as nvidia_sn2201"
    if managing.reserve_ports >= slow.count:
        message = f"reserve_ports {managing.reserve_ports} leaves none of its {slow.count} ports"
        yield "ports", f"{path}.reserve_ports", message, "reserve fewer"
    if managing.uplinks > fast.count:
        message = f"{name} has {fast.count} uplinks, not {managing.uplinks}"
        yield "ports", f"{path}.uplinks", message, f"give {fast.count} or fewer"


def _fastest(switch: Switch) -> PortGroup:
    return max(switch.ports, key=lambda group: group.speed_gbit_per_s)


def _switch(inputs: Inputs, name: str) -> Switch | None:
    item = inputs.by_id.get(name)
    return None if item is None else item.switch


# Counts, prices.


def _counts(inputs: Inputs) -> Iterator[Fault]:
    """Counts of dependent items, counts above the stock."""
    for name, rule in inputs.problem.items.items():
        item, price = inputs.by_id.get(name), inputs.prices.get(name)
        key = next((key for key in COUNTED if key in rule.model_fields_set), None)
        if item and key and item.category not in (*CHOSEN, "component"):
            message = f"the count of '{name}' follows from the systems and cannot be set"
            fix = "give only installed, retire, stock or spares; or name it under extras"
            yield "companion", f"items.{name}.{key}", message, fix
        stock = rule.stock if rule.stock is not None else price.stock if price else None
        if stock is not None and rule.least > stock + rule.in_place:
            message = f"{rule.least} of '{name}' are demanded, but the stock is {stock}"
            if rule.in_place:
                message += f" beside {rule.in_place} installed"
            key = "stock" if rule.stock is not None else "fixed"
            yield "stock", f"items.{name}.{key}", message, "demand fewer, or raise the stock"


def _prices(inputs: Inputs) -> Iterator[Fault]:
    """Prices and discounts of unknown items, and prices of 0."""
    known, vendors = set(inputs.by_id), {item.vendor for item in inputs.items}
    for name, price in inputs.prices.items():
        book = inputs.price_books.get(name, "a price book")
        if name not in known and name not in _shipped_ids():
            message = f"{book} has a price for '{name}', which no catalog in use holds"
            yield "unused-price", "prices", message, did_you_mean(name, sorted(known)), "warning"
        elif name in known and price.list_usd == 0 and not price.per_year_usd:
            message = f"the price of '{name}' is 0 in '{book}'"
            yield "zero-price", "prices", message, "leave it out if it is not known", "warning"
    for entry in inputs.discounts:
        for named, choices in ((entry.item, known), (entry.vendor, vendors)):
            if named is not None and named not in choices:
                message = f"a discount names '{named}', which no catalog in use holds"
                hint = did_you_mean(named, sorted(choices))
                yield "unused-discount", "prices", message, hint, "warning"
        if entry.discount == 1.0:
            goods = entry.item or entry.vendor or entry.category
            message = f"a discount of 100 % makes '{goods}' free"
            fix = "write 0.5 % for half a percent, or leave it out if it is not known"
            yield "zero-price", "prices", message, fix, "warning"


@cache
def _shipped_ids() -> frozenset[str]:
    """Items priced by the shipped books, whose catalogs need not all be in use."""
    texts = [path.read_text("utf-8") for path in shipped.price_files().values()]
    found = (re.findall(r"^  ([a-z][a-z0-9_]*):", text, re.MULTILINE) for text in texts)
    return frozenset(name for names in found for name in names)
