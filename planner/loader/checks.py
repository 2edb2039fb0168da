"""Whether the parts of a problem fit together: cross-references, and what is needed and missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from planner.errors import Finding, Severity, did_you_mean
from planner.figures import OBJECTIVES, RATIOS
from planner.inputs import (
    Inputs,
    Usable,
    accept_any,
    asked_figures,
    demanded,
    job_size,
    named_fabrics,
    named_facilities,
    needs,
)
from planner.loader.contradictions import contradictions, level_faults
from planner.paths import job_path, steps_of
from planner.schema.catalog import Category, Item, Switch
from planner.schema.prices import NO_SUPPORT
from planner.schema.problem import FixedInterval, OptimalInterval, Problem, Quantity

Fault = tuple[str, str, str, str | None]
"""(code, path in the problem file, what is wrong, what would be right)"""
MOST_COPPER_GBIT_PER_S = 10.0
CHOSEN = frozenset({"gpu_system", "storage"})
EXTRAS = frozenset({"management", "switch", "transceiver", "cable", "rack", "pdu", "cdu"})

SIZE_TOLERANCE = 0.005
WEIGHT_BYTES = 2.0
"""Bytes per parameter of the weights, which every replica of a sharded optimizer reads."""
STALL_FIX = "shorten the stall or lengthen the interval"


def companion_faults(inputs: Inputs) -> Iterator[Fault]:
    """Yield what is wrong with the companions and policies a problem names."""
    for path, name, category, usable in (*named_fabrics(inputs), *named_facilities(inputs)):
        yield from _reference(inputs, path, name, {category}, usable)
    for name in inputs.problem.extras:
        yield from _reference(inputs, f"extras.{name}", name, EXTRAS, accept_any)
    yield from _network(inputs)
    yield from _items(inputs)
    yield from _stock(inputs)
    yield from _support(inputs)
    yield from _policy(inputs)


def _reference(
    inputs: Inputs, path: str, name: str, categories: set[Category] | frozenset[str], usable: Usable
) -> Iterator[Fault]:
    item = next((item for item in inputs.items if item.id == name), None)
    fitting = [other.id for other in inputs.items if other.category in categories]
    what = " or ".join(sorted(categories)) if len(categories) == 1 else "companion"
    if item is None:
        hint = did_you_mean(name, fitting) or _known_companions(fitting)
        yield "unknown-id", path, f"no {what} '{name}' in the catalogs in use", hint
    elif item.category not in categories:
        message = f"'{name}' is of category {item.category}, expected {what}"
        yield "category", path, message, _known_companions(fitting)
    elif (fault := usable(item)) is not None:
        yield "figure", path, f"'{name}' {fault}", "name another item, or add the figure"


def _known_companions(names: list[str]) -> str:
    if not names:
        return "the catalogs in use hold none: add network, facility or software to catalogs"
    return "known: " + ", ".join(names)


def _network(inputs: Inputs) -> Iterator[Fault]:
    network = inputs.problem.network
    known = inputs.by_id
    compute, managing = network.compute, network.out_of_band
    if compute is not None:
        if len(set(compute.switches)) < len(compute.switches):
            message = "a switch is listed twice"
            yield "twice", "network.compute.switches", message, "list each switch once"
        if compute.manager.ports and not compute.manager.slots:
            message = "manager ports need a system position: a full unit has no port left"
            fix = "give manager: {slots: 1, ports: 4}"
            yield "manager", "network.compute.manager", message, fix
    yield from _transceivers(inputs, known)
    yield from _edges(inputs, known)
    yield from _extras(inputs, known)
    if managing is not None and managing.switch in known:
        switch = known[managing.switch].switch
        ports = 0
        if switch is not None:
            ports = min(switch.ports, key=lambda group: group.speed_gbit_per_s).count
        speed = min((g.speed_gbit_per_s for g in switch.ports), default=0.0) if switch else 0.0
        if speed > MOST_COPPER_GBIT_PER_S:
            message = (
                f"'{managing.switch}' has no copper ports for consoles: {speed:g} Gb/s at least"
            )
            fix = "name a management switch, such as nvidia_sn2201"
            yield "ports", "network.out_of_band.switch", message, fix
        if managing.reserve_ports >= ports > 0:
            message = f"reserve_ports {managing.reserve_ports} leaves none of its {ports} ports"
            yield "ports", "network.out_of_band.reserve_ports", message, "reserve fewer"
        yield from _uplinks(inputs, known)


def _transceivers(inputs: Inputs, known: Mapping[str, Item]) -> Iterator[Fault]:
    """Yield what ports take that no catalog in use holds."""
    network = inputs.problem.network
    fabrics = {
        "compute": network.compute,
        "storage": network.storage,
        "in_band": network.in_band or network.converged,
    }
    for key, fabric in fabrics.items():
        if fabric is None:
            continue
        ports = {item.id: getattr(item.ports, key) for item in inputs.items}
        ends = [
            (name, end)
            for name, port in ports.items()
            if port is not None
            for end in (port.transceiver, port.split.transceiver if port.split else None)
        ]
        missing = {end.item: name for name, end in ends if end and end.item not in known}
        for transceiver, name in sorted(missing.items()):
            message = f"the ports of '{name}' take '{transceiver}', which no catalog in use holds"
            place = "storage" if fabric is network.converged else key
            yield "unknown-id", f"network.{place}", message, "add network to catalogs"


def _uplinks(inputs: Inputs, known: Mapping[str, Item]) -> Iterator[Fault]:
    network = inputs.problem.network
    in_band = network.in_band or network.converged
    if in_band is None or network.out_of_band is None or not network.out_of_band.uplinks:
        return
    upper = known.get(in_band.switch)
    lower = known.get(network.out_of_band.switch)
    if upper is None or lower is None or upper.switch is None or lower.switch is None:
        return
    top = max(lower.switch.ports, key=lambda group: group.speed_gbit_per_s)
    uplink, asked = top.speed_gbit_per_s, network.out_of_band.uplinks
    if asked > top.count:
        message = f"{lower.id} has {top.count} uplinks of {uplink:g} Gb/s, not {asked}"
        yield "ports", "network.out_of_band.uplinks", message, f"give {top.count} or fewer"
    place = f"network.{'storage' if in_band is network.converged else 'in_band'}.switch"
    if not _takes(upper.switch, uplink):
        message = f"no port of {upper.id} takes the {uplink:g} Gb/s uplinks of {lower.id}"
        yield "ports", place, message, "choose another switch"
    spoken, heard = lower.switch.protocol, upper.switch.protocol
    if spoken != heard:
        message = f"the {spoken} uplinks of {lower.id} fit no {heard} port of {upper.id}"
        fix = f"choose an {spoken} switch, or out_of_band.uplinks: 0"
        yield "ports", place, message, fix


def _edges(inputs: Inputs, known: Mapping[str, Item]) -> Iterator[Fault]:
    """Yield what is wrong with a converged fabric and with the links to the customer's edge."""
    network = inputs.problem.network
    if network.converged is not None and network.in_band is not None:
        message = "network.storage carries in-band management, so it has no fabric of its own"
        fix = "leave out network.in_band, or storage.carries_in_band"
        yield "converged", "network.in_band", message, fix
    for key, fabric in (("storage", network.storage), ("in_band", network.in_band)):
        item = known.get(fabric.switch) if fabric is not None else None
        if fabric is None or fabric.edge is None or item is None or item.switch is None:
            continue
        speed = fabric.edge.speed_gbit_per_s
        if not _takes(item.switch, speed):
            speeds = ", ".join(f"{group.speed_gbit_per_s:g}" for group in item.switch.ports)
            message = f"no port of {item.id} takes {speed:g} Gb/s: its ports have {speeds} Gb/s"
            yield (
                "ports",
                f"network.{key}.edge.speed",
                message,
                "give one of these, or another switch",
            )


def _extras(inputs: Inputs, known: Mapping[str, Item]) -> Iterator[Fault]:
    """Yield in-band ports of extras that no port of the fabric takes."""
    network = inputs.problem.network
    fabric = network.in_band or network.converged
    item = known.get(fabric.switch) if fabric is not None else None
    if item is None or item.switch is None:
        return
    for name in inputs.problem.extras:
        port = known[name].ports.in_band if name in known else None
        if port is None or (
            port.protocol in (None, item.switch.protocol)
            and _takes(item.switch, port.speed_gbit_per_s)
        ):
            continue
        kind = f"{port.protocol} " if port.protocol else ""
        message = (
            f"no port of {item.id} takes its {kind}in-band ports of {port.speed_gbit_per_s:g} Gb/s"
        )
        yield "ports", f"extras.{name}", message, "choose another switch for that fabric"


def _takes(switch: Switch, speed_gbit_per_s: float) -> bool:
    return any(group.takes(speed_gbit_per_s) for group in switch.ports)


def _items(inputs: Inputs) -> Iterator[Fault]:
    known = inputs.by_id
    for name, rule in inputs.problem.items.items():
        item = known.get(name)
        if item is None or item.category in CHOSEN or item.category == "component":
            continue
        counted = {"fixed", "min", "max", "required", "exclude"} & rule.model_fields_set
        if counted:
            key = sorted(counted)[0]
            message = f"the count of '{name}' follows from the systems and cannot be set"
            fix = (
                "give only installed, retire, stock, spares, support_years or support_level; or "
                "name it under extras"
            )
            yield "companion", f"items.{name}.{key}", message, fix


def _support(inputs: Inputs) -> Iterator[Fault]:
    """Yield levels of support that nobody sells."""
    known = {name: price.levels for name, price in inputs.prices.items() if price.levels}
    for name, rule in inputs.problem.items.items():
        level, offered = rule.support_level, known.get(name, {})
        if level is not None and level != NO_SUPPORT and level not in offered:
            message = f"the price of '{name}' has no level of support '{level}'"
            fix = f"expected {' or '.join([*sorted(offered), NO_SUPPORT])}"
            yield "support", f"items.{name}.support_level", message, fix
    term = inputs.problem.term
    level = term.support_level if term is not None else None
    every = sorted({each for levels in known.values() for each in levels})
    if level is not None and level != NO_SUPPORT and level not in every:
        message = f"no price has a level of support '{level}'"
        fix = f"expected {' or '.join([*every, NO_SUPPORT])}"
        yield "support", "term.support_level", message, fix


def _stock(inputs: Inputs) -> Iterator[Fault]:
    """Yield counts that are demanded but cannot be had."""
    for name, rule in inputs.problem.items.items():
        price = inputs.prices.get(name)
        stock = rule.stock if rule.stock is not None else price.stock if price else None
        if stock is not None and rule.least > stock + rule.in_place:
            message = f"{rule.least} of '{name}' are demanded, but only {stock} can be had"
            if rule.in_place:
                message += f" beside {rule.in_place} installed"
            key = "stock" if rule.stock is not None else "fixed"
            yield "stock", f"items.{name}.{key}", message, "demand fewer, or raise the stock"


def _policy(inputs: Inputs) -> Iterator[Fault]:
    problem = inputs.problem
    policy, storage = problem.policy, problem.storage
    vendors = sorted({item.vendor for item in inputs.items})
    sellers = sorted({item.vendor for item in inputs.items if item.category in CHOSEN})
    named = (
        ("require_vendors", policy.require_vendors, sellers),
        ("forbid_vendors", policy.forbid_vendors, vendors),
        ("prefer.vendors", policy.prefer.vendors if policy.prefer else (), sellers),
    )
    for key, names, choices in named:
        for index, name in enumerate(names):
            if name not in choices:
                hint = did_you_mean(name, choices) or "known: " + ", ".join(choices)
                yield "unknown-id", f"policy.{key}.{index}", f"no vendor '{name}'", hint
    for name in sorted(set(policy.require_vendors) & set(policy.forbid_vendors)):
        message = f"vendor {name} is required and forbidden"
        yield "policy", "policy.require_vendors", message, "leave out the one or the other"
    exact = storage.exact_families
    if exact is not None and "max_families" in storage.model_fields_set:
        if storage.max_families != exact:
            message = f"exact_families {exact} does not go with max_families {storage.max_families}"
            yield "families", "storage.exact_families", message, "leave out max_families"


def check_problem(inputs: Inputs) -> list[Finding]:
    """Return the findings on how problem, catalogs and prices fit together."""
    checks = (
        _references,
        _needs_term,
        _needs,
        _bounded,
        _job_size,
        _intervals,
        _levels,
        _rack,
        _families,
        _companions,
        _contradictions,
        _prices,
    )
    return [finding for check in checks for finding in check(inputs)]


def _companions(inputs: Inputs) -> Iterator[Finding]:
    for code, path, message, fix in companion_faults(inputs):
        yield _finding(inputs, code, path, message, fix)


def _levels(inputs: Inputs) -> Iterator[Finding]:
    for code, path, message, fix in level_faults(inputs):
        yield _finding(inputs, code, path, message, fix)


def _contradictions(inputs: Inputs) -> Iterator[Finding]:
    for path, message, fix in contradictions(inputs):
        yield _finding(inputs, "contradiction", path, message, fix)


def _finding(
    inputs: Inputs,
    code: str,
    path: str,
    message: str,
    fix: str | None = None,
    severity: Severity = "error",
) -> Finding:
    document = inputs.document
    steps = steps_of(path)
    file, line = document.place(steps) if document else (None, None)
    return Finding(code, message, file, line, path, fix, severity)


def _references(inputs: Inputs) -> Iterator[Finding]:
    known = inputs.by_id
    purchasable = [item.id for item in inputs.items if item.category in CHOSEN]
    for name in inputs.problem.items:
        if name not in known:
            hint = did_you_mean(name, purchasable) or _known(purchasable)
            yield _finding(inputs, "unknown-id", f"items.{name}", f"no item '{name}'", hint)
        elif known[name].category == "component":
            message = f"'{name}' is a component and cannot be bought alone"
            fix = "name the item it is part of"
            yield _finding(inputs, "component", f"items.{name}", message, fix)
    consider = inputs.problem.consider
    systems = [item.id for item in inputs.items if item.category == "gpu_system"]
    families = [family.id for family in inputs.families]
    vendors = sorted({item.vendor for item in inputs.items})
    named = (
        ("gpu_systems", consider.gpu_systems, systems, "GPU system"),
        ("storage_families", consider.storage_families, families, "storage family"),
        ("vendors", consider.vendors, vendors, "vendor"),
    )
    for key, names, choices, what in named:
        for index, name in enumerate(names or ()):
            if name not in choices:
                hint = did_you_mean(name, choices) or _known(choices)
                path = f"consider.{key}.{index}"
                yield _finding(inputs, "unknown-id", path, f"no {what} '{name}'", hint)
    by_type = inputs.problem.job.gpus.per_system
    for name in by_type if isinstance(by_type, dict) else ():
        if name not in systems:
            hint = did_you_mean(name, systems) or _known(systems)
            path = job_path(f"gpus.per_system.{name}")
            yield _finding(inputs, "unknown-id", path, f"no GPU system '{name}'", hint)


def _known(names: list[str]) -> str:
    return "known: " + (", ".join(names) or "none, as the catalogs in use hold none")


def _needs_term(inputs: Inputs) -> Iterator[Finding]:
    problem = inputs.problem
    if needs(problem, "term") and problem.term is None:
        fix = "add term: {years: 4, electricity: 0.08 USD/kWh}"
        message = "TCO, opex, energy and colocation need a term"
        if problem.objective.minimize in RATIOS:
            message = f"the {OBJECTIVES[problem.objective.minimize].label} needs a term"
        yield _finding(inputs, "missing-term", "term", message, fix)


def _needs(inputs: Inputs) -> Iterator[Finding]:
    problem, job = inputs.problem, inputs.problem.job
    if needs(problem, "rate") and job.training.mfu is None and job.training.model is None:
        message = "useful FLOP/s and days to train need the model FLOP/s utilisation"
        yield _finding(
            inputs, "missing-mfu", job_path("training"), message, "add training.mfu: 40 %"
        )
    for figure in asked_figures(problem, "tokens") if job.training.tokens is None else ():
        message, fix = f"{figure.label} needs the tokens", "add training.tokens: 15 T"
        yield _finding(inputs, "missing-tokens", job_path("training"), message, fix)
    sized = job.parameters is not None or job.training.active_parameters is not None
    for figure in () if sized else asked_figures(problem, "parameters"):
        message, fix = f"{figure.label} needs the parameters", "add parameters: 70 B"
        yield _finding(inputs, "missing-parameters", job_path(), message, fix)
    if job.restore.fan_out == "sharded_optimizer" and job.parameters is None:
        message = (
            "sharded_optimizer needs parameters: only 2 bytes of each are read by every replica"
        )
        fix = "add parameters, or choose another fan_out"
        yield _finding(inputs, "missing-parameters", job_path("restore.fan_out"), message, fix)
    elif job.restore.fan_out == "sharded_optimizer" and job_size(job)[1] < WEIGHT_BYTES:
        message = "sharded_optimizer needs at least 2 bytes per parameter: those are the weights"
        yield _finding(inputs, "bytes", job_path("restore.fan_out"), message)
    if job.checkpoint.exports and job.parameters is None:
        message = "weights-only exports need parameters: 2 bytes of each are written"
        fix = "add parameters: 70 B, or leave out exports"
        yield _finding(inputs, "missing-parameters", job_path("checkpoint.exports"), message, fix)


def _bounded(inputs: Inputs) -> Iterator[Finding]:
    problem = inputs.problem
    if problem.objective.maximize is None or problem.job.gpus.max is not None:
        return
    site, budget = problem.site, problem.budget
    limits = (
        site.facility_limit_kw,
        site.it_power_kw,
        site.racks,
        budget.energy_usd_per_year,
        budget.capex_usd,
        budget.opex_usd_per_year,
        budget.tco_usd,
    )
    bounded = any(limit is not None for limit in limits)
    systems = [item for item in inputs.items if item.category == "gpu_system"]
    if problem.consider.gpu_systems is not None:
        systems = [item for item in systems if item.id in problem.consider.gpu_systems]
    capped = all(_capped(item, problem) for item in systems)
    if not bounded and not capped:
        message = "nothing limits the purchase, so the best plan is infinitely large"
        fix = "give site.facility_power, site.racks or a budget"
        yield _finding(inputs, "unbounded", "objective.maximize", message, fix)


def _capped(item: Item, problem: Problem) -> bool:
    """Say whether the catalog or the problem limits an item's count."""
    rule = problem.items.get(item.id, Quantity())
    counts = (item.max_units, rule.max, rule.fixed)
    return rule.exclude or any(count is not None for count in counts)


def _job_size(inputs: Inputs) -> Iterator[Finding]:
    job = inputs.problem.job
    size, parameters = job.checkpoint.size_gb, job.parameters
    given = "bytes_per_parameter" in job.model_fields_set
    if size is None or parameters is None or not given:
        return
    from planner.sizing.checkpoint import BYTES_PER_PARAMETER

    each = job.bytes_per_parameter
    each = BYTES_PER_PARAMETER[each].value if isinstance(each, str) else each
    computed = parameters * each * job.trained_share / 1e9
    if abs(computed / size - 1) > SIZE_TOLERANCE:
        message = (
            f"size is {size / 1000:.4g} TB, but parameters times bytes_per_parameter is "
            f"{computed / 1000:.4g} TB{_binary_hint(size / computed)}"
        )
        path = job_path("checkpoint.size")
        yield _finding(inputs, "size-mismatch", path, message, "give only one of the two")


def _binary_hint(ratio: float) -> str:
    for unit, factor in (("GiB", 1.073741824), ("TiB", 1.099511627776)):
        for side in (ratio, 1 / ratio):
            if abs(side / factor - 1) < 0.01:
                return f" (the ratio is that of {unit} to {unit.replace('i', '')}: units mixed?)"
    return ""


def _intervals(inputs: Inputs) -> Iterator[Finding]:
    checkpoint = inputs.problem.job.checkpoint
    interval, stall = checkpoint.interval, checkpoint.known_stall_s
    if checkpoint.mode == "sync":
        return
    severity: Severity = "error" if checkpoint.mode == "async" else "warning"
    path = job_path("checkpoint.stall")
    if isinstance(interval, FixedInterval) and interval.every_s <= stall:
        message = (
            f"the stall of {stall:g} s is not shorter than the interval of {interval.every_s:g} s"
        )
        yield _finding(inputs, "stall-too-long", path, message, STALL_FIX, severity)
    if isinstance(interval, OptimalInterval) and interval.max_s <= stall:
        message = (
            f"the stall of {stall:g} s is not shorter than interval.max of {interval.max_s:g} s"
        )
        yield _finding(inputs, "stall-too-long", path, message, STALL_FIX, severity)


def _rack(inputs: Inputs) -> Iterator[Finding]:
    site = inputs.problem.site
    if site.rack is not None and site.rack.height_ru > 60:
        message = f"a rack of {site.rack.height_ru:g} RU is unusually high"
        yield _finding(inputs, "rack-height", "site.rack.height", message, severity="warning")


def _families(inputs: Inputs) -> Iterator[Finding]:
    problem = inputs.problem
    storage = [item for item in inputs.items if item.category == "storage"]
    forced = sorted({str(i.family) for i in storage if demanded(problem, i.id)})
    limit = problem.storage.exact_families or problem.storage.max_families
    if len(forced) > limit:
        message = f"items demands {len(forced)} storage families ({', '.join(forced)})"
        key = "exact_families" if problem.storage.exact_families else "max_families"
        fix = f"raise storage.{key} from {limit} to {len(forced)}"
        yield _finding(inputs, "families", f"storage.{key}", message, fix)


def _prices(inputs: Inputs) -> Iterator[Finding]:
    known = {item.id for item in inputs.items}
    shipped = _shipped_ids()
    for name in inputs.prices:
        if name not in known and name not in shipped:
            book = inputs.price_books.get(name, "a price book")
            message = f"{book} has a price for '{name}', which no catalog in use holds"
            fix = did_you_mean(name, sorted(known))
            yield _finding(inputs, "unused-price", "prices", message, fix, severity="warning")
    yield from _discounts(inputs, known)
    for name, price in inputs.prices.items():
        if name in known and price.list_usd == 0 and not price.per_year_usd:
            book = inputs.price_books.get(name, "")
            message = f"the price of '{name}' is 0{f' in {book!r}' if book else ''}"
            unknown = "leave it out if it is not known"
            yield _finding(inputs, "zero-price", "prices", message, unknown, severity="warning")


def _discounts(inputs: Inputs, known: set[str]) -> Iterator[Finding]:
    vendors = {item.vendor for item in inputs.items}
    named = [(entry.item, known) for entry in inputs.discounts]
    named += [(entry.vendor, vendors) for entry in inputs.discounts]
    for name, choices in named:
        if name is not None and name not in choices:
            message = f"a discount names '{name}', which no catalog in use holds"
            fix = did_you_mean(name, sorted(choices))
            yield _finding(inputs, "unused-discount", "prices", message, fix, severity="warning")
    for entry in inputs.discounts:
        if entry.discount == 1.0:
            whose = entry.item or entry.vendor or entry.category
            message = f"a discount of 100 % makes '{whose}' free"
            fix = "write 0.5 % for half a percent, or leave it out if it is not known"
            yield _finding(inputs, "zero-price", "prices", message, fix, severity="warning")


@cache
def _shipped_ids() -> frozenset[str]:
    """Return the ids priced by the shipped books, whose catalogs need not all be in use."""
    import re

    from planner import shipped

    ids: set[str] = set()
    for path in shipped.price_files().values():
        ids |= set(re.findall(r"^  ([a-z][a-z0-9_]*):", path.read_text("utf-8"), re.MULTILINE))
    return frozenset(ids)
