"""Checks across the parts of a problem: references, required values, counts, prices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from planner import shipped
from planner.errors import Finding, Severity, did_you_mean
from planner.figures import OBJECTIVES, RATIOS
from planner.inputs import Inputs, asked_figures, demanded, job_size, named_items, needs
from planner.loader.contradictions import Fault, contradictions, level_faults
from planner.loader.network_checks import network_faults
from planner.paths import job_path, steps_of
from planner.schema.catalog import Item
from planner.schema.prices import NO_SUPPORT
from planner.schema.problem import FixedInterval, OptimalInterval, Problem, Quantity
from planner.sizing.checkpoint import BYTES_PER_PARAMETER

CHOSEN = frozenset({"gpu_system", "storage"})
EXTRAS = frozenset({"management", "switch", "transceiver", "cable", "rack", "pdu", "cdu"})
COUNTED = ("exclude", "fixed", "max", "min", "required")
"""Keys of ``items`` that a dependent item cannot have."""

SIZE_TOLERANCE = 0.005
MOST_RACK_UNITS = 60
WEIGHT_BYTES = 2.0
"""Bytes per parameter of the weights, which every replica of a sharded optimizer reads."""


def check_problem(inputs: Inputs) -> list[Finding]:
    """Findings on how problem, catalogs and prices fit together."""
    checks = (
        _names,
        _required,
        _required_by_job,
        _unbounded,
        _job,
        level_faults,
        _families,
        _companions,
        network_faults,
        _counts,
        _support,
        contradictions,
        _prices,
    )
    document = inputs.document
    found = []
    for code, path, message, fix, *severity in (row for check in checks for row in check(inputs)):
        file, line = document.place(steps_of(path)) if document else (None, None)
        how_bad = severity[0] if severity else "error"
        found.append(Finding(code, message, file, line, path, fix, how_bad))
    return found


def _suggest(name: str, choices: Iterable[str]) -> str:
    known = list(choices)
    return did_you_mean(name, known) or "known: " + (", ".join(known) or "none in these catalogs")


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
    per_system = problem.job.gpus.per_system
    by_type = tuple(per_system) if isinstance(per_system, dict) else ()
    lists = (
        ("consider.gpu_systems", consider.gpu_systems, systems, "GPU system"),
        ("consider.storage_families", consider.storage_families, families, "storage family"),
        ("consider.vendors", consider.vendors, vendors, "vendor"),
        (job_path("gpus.per_system"), by_type, systems, "GPU system"),
        ("policy.require_vendors", policy.require_vendors, sellers, "vendor"),
        ("policy.forbid_vendors", policy.forbid_vendors, vendors, "vendor"),
        ("policy.prefer.vendors", preferred, sellers, "vendor"),
    )
    for path, names, choices, kind in lists:
        for index, name in enumerate(names or ()):
            if name not in choices:
                place = f"{path}.{name if names is by_type else index}"
                yield "unknown-id", place, f"no {kind} '{name}'", _suggest(name, choices)
    for name in problem.items:
        if name not in by_id:
            fix = _suggest(name, (item.id for item in chosen))
            yield "unknown-id", f"items.{name}", f"no item '{name}'", fix
        elif by_id[name].category == "component":
            message = f"'{name}' is a component and cannot be bought alone"
            yield "component", f"items.{name}", message, "name the item it is part of"


def _required(inputs: Inputs) -> Iterator[Fault]:
    """Values that the objective or a limit requires."""
    problem, job = inputs.problem, inputs.problem.job
    training = job.training
    if needs(problem, "term") and problem.term is None:
        message = "TCO, opex, energy and colocation need a term"
        if problem.objective.minimize in RATIOS:
            message = f"the {OBJECTIVES[problem.objective.minimize].label} needs a term"
        fix = "add term: {years: 4, electricity: 0.08 USD/kWh}"
        yield "missing-term", "term", message, fix
    if needs(problem, "rate") and training.mfu is None and training.model is None:
        message = "useful FLOP/s and days to train need the model FLOP/s utilisation"
        yield "missing-mfu", job_path("training"), message, "add training.mfu: 40 %"
    if training.tokens is None:
        for figure in asked_figures(problem, "tokens"):
            message, fix = f"{figure.label} needs the tokens", "add training.tokens: 15 T"
            yield "missing-tokens", job_path("training"), message, fix
    if job.parameters is None and training.active_parameters is None:
        for figure in asked_figures(problem, "parameters"):
            message = f"{figure.label} needs the parameters"
            yield "missing-parameters", job_path(), message, "add parameters: 70 B"


def _required_by_job(inputs: Inputs) -> Iterator[Fault]:
    job = inputs.problem.job
    sharded = job.restore.fan_out == "sharded_optimizer"
    if sharded and job.parameters is None:
        message = "sharded_optimizer needs parameters: every replica reads 2 bytes of each"
        fix = "add parameters, or choose another fan_out"
        yield "missing-parameters", job_path("restore.fan_out"), message, fix
    elif sharded and job_size(job)[1] < WEIGHT_BYTES:
        message = "sharded_optimizer needs at least 2 bytes per parameter: the weights"
        yield "bytes", job_path("restore.fan_out"), message, None
    if job.checkpoint.exports and job.parameters is None:
        message = "weights-only exports need parameters: 2 bytes of each are written"
        fix = "add parameters: 70 B, or leave out exports"
        yield "missing-parameters", job_path("checkpoint.exports"), message, fix


def _unbounded(inputs: Inputs) -> Iterator[Fault]:
    problem = inputs.problem
    site, budget, chosen = problem.site, problem.budget, problem.consider.gpu_systems
    limits = (
        problem.objective.minimize,
        problem.job.gpus.max,
        site.facility_limit_kw,
        site.it_power_kw,
        site.racks,
        budget.capex_usd,
        budget.opex_usd_per_year,
        budget.tco_usd,
    )
    systems = [
        item
        for item in inputs.items
        if item.category == "gpu_system" and (chosen is None or item.id in chosen)
    ]
    if all(limit is None for limit in limits) and not all(_is_capped(i, problem) for i in systems):
        message = "nothing limits the purchase, so the best plan is infinitely large"
        fix = "give site.facility_power, site.racks or a budget"
        yield "unbounded", "objective.maximize", message, fix


def _is_capped(item: Item, problem: Problem) -> bool:
    rule = problem.items.get(item.id, Quantity())
    counts = (item.max_units, rule.max, rule.fixed)
    return rule.exclude or any(count is not None for count in counts)


def _job(inputs: Inputs) -> Iterator[Fault]:
    """Two sizes of one checkpoint; stalls longer than the interval; racks of unusual height."""
    job, rack = inputs.problem.job, inputs.problem.site.rack
    size_gb, bytes_each, checkpoint = (
        job.checkpoint.size_gb,
        job.bytes_per_parameter,
        job.checkpoint,
    )
    both = size_gb is not None and "bytes_per_parameter" in job.model_fields_set
    if both and size_gb and job.parameters is not None:
        if isinstance(bytes_each, str):
            bytes_each = BYTES_PER_PARAMETER[bytes_each].value
        computed_gb = job.parameters * bytes_each / 1e9
        if abs(computed_gb / size_gb - 1) > SIZE_TOLERANCE:
            message = (
                f"size is {size_gb / 1000:.4g} TB, but parameters times bytes_per_parameter is "
                f"{computed_gb / 1000:.4g} TB{_binary_hint(size_gb / computed_gb)}"
            )
            fix = "give only one of the two"
            yield "size-mismatch", job_path("checkpoint.size"), message, fix
    interval, stall_s = checkpoint.interval, checkpoint.known_stall_s
    bound: tuple[str, float] | None = None
    if isinstance(interval, FixedInterval):
        bound = "the interval", interval.every_s
    elif isinstance(interval, OptimalInterval):
        bound = "interval.max", interval.max_s
    if checkpoint.mode != "sync" and bound and bound[1] <= stall_s:
        severity: Severity = "error" if checkpoint.mode == "async" else "warning"
        message = f"the stall of {stall_s:g} s is not shorter than {bound[0]} of {bound[1]:g} s"
        fix = "shorten the stall or lengthen the interval"
        yield "stall-too-long", job_path("checkpoint.stall"), message, fix, severity
    if rack is not None and rack.height_ru > MOST_RACK_UNITS:
        message = f"a rack of {rack.height_ru:g} RU is unusually high"
        yield "rack-height", "site.rack.height", message, None, "warning"


def _binary_hint(ratio: float) -> str:
    for unit, factor in (("GiB", 1.073741824), ("TiB", 1.099511627776)):
        if any(abs(side / factor - 1) < 0.01 for side in (ratio, 1 / ratio)):
            return f" (the ratio is that of {unit} to {unit.replace('i', '')}: units mixed?)"
    return ""


def _families(inputs: Inputs) -> Iterator[Fault]:
    problem, storage = inputs.problem, inputs.problem.storage
    items = [item for item in inputs.items if item.category == "storage"]
    forced = sorted({str(item.family) for item in items if demanded(problem, item.id)})
    key, limit = "storage.max_families", storage.max_families
    if len(forced) > limit:
        message = f"items demands {len(forced)} storage families ({', '.join(forced)})"
        yield "families", key, message, f"raise {key} from {limit} to {len(forced)}"


STATES = {"pdu": ("feed", "what it feeds"), "cdu": ("cooling", "what it cools")}
"""Figure under ``provides`` that an item of a category must have where a problem names it."""


def _companions(inputs: Inputs) -> Iterator[Fault]:
    """Named items that are missing, of another category, or without a required figure."""
    named = [(path, name, {str(kind)}) for path, name, kind in named_items(inputs)]
    named += [(f"extras.{name}", name, set(EXTRAS)) for name in inputs.problem.extras]
    for path, name, categories in named:
        item = inputs.by_id.get(name)
        fitting = [other.id for other in inputs.items if other.category in categories]
        what = "companion" if len(categories) > 1 else min(categories)
        known = "known: " + ", ".join(fitting)
        if not fitting:
            known = "the catalogs in use hold none: add network, facility or software to catalogs"
        figure, meaning = STATES.get(what, ("", ""))
        if item is None:
            hint = did_you_mean(name, fitting) or known
            yield "unknown-id", path, f"no {what} '{name}' in the catalogs in use", hint
        elif item.category not in categories:
            message = f"'{name}' is of category {item.category}, expected {what}"
            yield "category", path, message, known
        elif figure and not getattr(item.provides, figure):
            message = f"'{name}' does not say {meaning} (provides.{figure})"
            yield "figure", path, message, "name another item, or add the figure"


def _counts(inputs: Inputs) -> Iterator[Fault]:
    """Counts of dependent items, counts above the stock, vendors both required and forbidden."""
    policy = inputs.problem.policy
    for name, rule in inputs.problem.items.items():
        item, price = inputs.by_id.get(name), inputs.prices.get(name)
        key = next((key for key in COUNTED if key in rule.model_fields_set), None)
        if item and key and item.category not in (*CHOSEN, "component"):
            message = f"the count of '{name}' follows from the systems and cannot be set"
            fix = (
                "give only installed, retire, stock, spares, support_years or support_level; or "
                "name it under extras"
            )
            yield "companion", f"items.{name}.{key}", message, fix
        stock = rule.stock if rule.stock is not None else price.stock if price else None
        if stock is not None and rule.least > stock + rule.in_place:
            message = f"{rule.least} of '{name}' are demanded, but only {stock} can be had"
            if rule.in_place:
                message += f" beside {rule.in_place} installed"
            key = "stock" if rule.stock is not None else "fixed"
            yield "stock", f"items.{name}.{key}", message, "demand fewer, or raise the stock"
    for name in sorted(set(policy.require_vendors) & set(policy.forbid_vendors)):
        message = f"vendor {name} is required and forbidden"
        yield "policy", "policy.require_vendors", message, "leave out the one or the other"


def _support(inputs: Inputs) -> Iterator[Fault]:
    """Levels of support that no price has."""
    term, offered = inputs.problem.term, {name: p.levels for name, p in inputs.prices.items()}
    every = {level for levels in offered.values() for level in levels}
    asked: list[tuple[str, str | None, Iterable[str], str]] = [
        (
            f"items.{name}",
            rule.support_level,
            offered.get(name, ()),
            f"the price of '{name}' has no",
        )
        for name, rule in inputs.problem.items.items()
    ]
    asked.append(("term", term.support_level if term else None, every, "no price has a"))
    for path, level, known, subject in asked:
        if level not in (None, NO_SUPPORT, *known):
            message = f"{subject} level of support '{level}'"
            fix = f"expected {' or '.join([*sorted(known), NO_SUPPORT])}"
            yield "support", f"{path}.support_level", message, fix


def _prices(inputs: Inputs) -> Iterator[Fault]:
    """Prices and discounts of unknown items, and prices of 0."""
    known, vendors = set(inputs.by_id), {item.vendor for item in inputs.items}
    for name, price in inputs.prices.items():
        book = inputs.price_books.get(name, "")
        if name not in known and name not in _shipped_ids():
            message = (
                f"{book or 'a price book'} has a price for '{name}', which no catalog in use holds"
            )
            yield "unused-price", "prices", message, did_you_mean(name, sorted(known)), "warning"
        elif name in known and price.list_usd == 0 and not price.per_year_usd:
            message = f"the price of '{name}' is 0{f' in {book!r}' if book else ''}"
            fix = "leave it out if it is not known"
            yield "zero-price", "prices", message, fix, "warning"
    for entry in inputs.discounts:
        for named, choices in ((entry.item, known), (entry.vendor, vendors)):
            if named is not None and named not in choices:
                message = f"a discount names '{named}', which no catalog in use holds"
                hint = did_you_mean(named, sorted(choices))
                yield "unused-discount", "prices", message, hint, "warning"
        if entry.discount == 1.0:
            message = (
                f"a discount of 100 % makes '{entry.item or entry.vendor or entry.category}' free"
            )
            fix = "write 0.5 % for half a percent, or leave it out if it is not known"
            yield "zero-price", "prices", message, fix, "warning"


@cache
def _shipped_ids() -> frozenset[str]:
    """Items priced by the shipped books, whose catalogs need not all be in use."""
    texts = [path.read_text("utf-8") for path in shipped.price_files().values()]
    found = (re.findall(r"^  ([a-z][a-z0-9_]*):", text, re.MULTILINE) for text in texts)
    return frozenset(name for names in found for name in names)
