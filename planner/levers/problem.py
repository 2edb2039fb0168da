"""Every lever of a problem: of the whole cluster, of the job, of single items, and choices."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.figures import FIGURES
from planner.inputs import Change, Inputs, weights_gb_per_gpu
from planner.levers.model import Direction, Lever, amount, bounded, choice, given, moved
from planner.limits import BY_NAME, LIMITS, SUPPLIES, Limit, of_group
from planner.paths import job_path
from planner.schema.catalog import Item
from planner.schema.job import (
    MOST_EVERY,
    OPEN_EVERY,
    DataSet,
    FixedInterval,
    Job,
    OptimalInterval,
)
from planner.schema.problem import Quantity, Site

# Levers of the whole cluster: site, budgets, targets, storage.


_ANY_POWER_KW = 1e7
"""10 GW, more than any feed or rack. A hundred times as much buys counts of 10^10, whose bounds
HiGHS (1.15.1) tightens without end."""


def cluster_levers(inputs: Inputs) -> Iterator[Lever]:
    """Yield the levers of site, budgets, targets and storage that the problem has."""
    site, storage = inputs.problem.site, inputs.problem.storage
    of_site = (each for each in SUPPLIES if each.path.startswith("site."))
    yield from given(inputs, *sorted(of_site, key=_place_in_file))
    if site.feeds is not None:
        path, label = "site.feeds.power", "power of a feed"
        most_kw = max(_ANY_POWER_KW, site.feeds.power_kw)
        yield bounded(inputs, path, label, "kW", 1, most_kw, limit="facility_power")
    yield from _rack(inputs)
    yield from given(inputs, *(each for each in LIMITS if each.path.startswith("budget.")))
    yield from given(inputs, *of_group("target"), BY_NAME["lead_time"])
    if storage.fill_limit < 1.0:
        path, label = "storage.fill_limit", FIGURES["fill_limit"].label
        yield bounded(inputs, path, label, "share", 1, 1.0, limit="capacity")
    if storage.tolerate_down:
        path, label = "storage.tolerate_down", FIGURES["tolerate_down"].label
        yield bounded(inputs, path, label, "appliances", -1, 0)
    families = {item.family for item in inputs.items if item.category == "storage"}
    if storage.max_families < len(families):
        path, label = "storage.max_families", "storage families"
        yield bounded(inputs, path, label, "families", 1, len(families), least=1.0)


def _place_in_file(limit: Limit) -> int:
    """Path of a limit in the schema of a site."""
    keys = [field.alias or name for name, field in Site.model_fields.items()]
    return keys.index(limit.path.split(".")[1])


def _rack(inputs: Inputs) -> Iterator[Lever]:
    """Yield what a rack, and a product that is one, may draw."""
    rack, path = inputs.problem.site.rack, "site.rack.power"
    if rack is not None and rack.power_kw is not None:
        off = (Change(path, None, "null"),)
        yield amount(inputs, path, "power of a rack", "kW", 1, rack.power_kw, off)
    if rack is not None and rack.whole_rack_power_kw is not None:
        path, label = "site.rack.whole_rack_power", "power of a product that is a rack"
        yield bounded(inputs, path, label, "kW", 1, max(_ANY_POWER_KW, rack.whole_rack_power_kw))


# Levers of the job: checkpoints, restore, GPUs in use, what it keeps and reads.


_JOB = job_path()
_CHECKPOINT = f"{_JOB}.checkpoint"
_LONGEST_S = 30 * 86_400.0
"""No interval is longer: a month of work at risk."""
_SHORTEST_S = 1.0
_MOST_BLOCKED = 0.99
_FEWEST_LOCAL = 2
"""Local checkpoints: the last one, and the one being written."""
_ROUNDING = 1e-9

_ANY_PORT_GB_PER_S = 1e6


def job_levers(inputs: Inputs) -> Iterator[Lever]:
    """Yield the levers of the job that the problem has."""
    job = inputs.problem.job
    yield from given(inputs, *(BY_NAME[name] for name in ("restore_time", "gpus_min", "gpus_max")))
    if job.checkpoint.mode != "sync":
        yield from _below(inputs, BY_NAME["overlap"], 1.0)
    if job.checkpoint.mode != "async":
        yield from _below(inputs, BY_NAME["blocking"], _MOST_BLOCKED)
    yield from _interval(inputs)
    yield from _data(inputs)
    yield from _pauses(inputs)
    yield from _local_level(inputs)
    limit = inputs.problem.storage.client_limit
    for key in ("read", "write"):
        if getattr(limit, key) is not None:
            path, label = f"storage.client_limit.{key}", f"client {key} limit per GPU system"
            yield bounded(inputs, path, label, "GB/s", 1, _ANY_PORT_GB_PER_S)
    hot = job.gpus.hot
    if hot[0]:
        yield bounded(
            inputs, f"{_JOB}.gpus.hot_spares", FIGURES["hot_spare_systems"].label, "systems", -1, 0
        )
    yield from _types(inputs)
    if job.parallelism is not None and len(job.options) == 1 and _replicas_matter_not(job):
        least = _fewest_stages(inputs)
        if least < job.parallelism.pipeline:
            yield bounded(inputs, f"{_JOB}.parallelism.pipeline", "pipeline stages of one replica",
                          "stages", -1, least, limit="replica_fits")  # fmt: skip


def _types(inputs: Inputs) -> Iterator[Lever]:
    """Yield how many GPU types one job may use, where the user says so or owns some, and nothing
    that is asked for goes with one type alone."""
    job = inputs.problem.job
    gpus, caps = job.gpus, None if job.power is None else job.power.asked
    ways = len(job.options) > 1 or len(job.training.precisions) > 1
    ways = ways or (job.power is not None and (caps is None or len(caps) > 1))
    if ways or job.repair is not None or isinstance(gpus.per_system, dict):
        return
    systems = [item.id for item in inputs.items if item.category == "gpu_system"]
    owned = any(rule.in_place for name, rule in inputs.problem.items.items() if name in systems)
    asked = "max_types" in gpus.model_fields_set or owned
    if asked and gpus.max_types < len(systems):
        yield moved(inputs, BY_NAME["gpu_types"], len(systems), least=1.0)


def _replicas_matter_not(job: Job) -> bool:
    """True if a smaller replica allows every plan that a larger one does."""
    alike = job.restore.fan_out == "broadcast" and not job.whole_replicas
    return alike and job.checkpoint.writers == "all"


def _fewest_stages(inputs: Inputs) -> int:
    """Fewest pipeline stages that hold the weights in every GPU type that holds them now."""
    job = inputs.problem.job
    need_gb = weights_gb_per_gpu(job)
    if need_gb is None or job.parallelism is None:
        return 1
    sizes = (item.gpu.memory for item in inputs.items if item.category == "gpu_system")
    enough = [size.value for size in sizes if size is not None and size.value >= need_gb]
    most = job.parallelism.pipeline * need_gb / min(enough, default=math.inf)
    return max(1, math.ceil(most * (1.0 - _ROUNDING)))


def _pauses(inputs: Inputs) -> Iterator[Lever]:
    """Yield how long the job stands still, where the user says so."""
    job = inputs.problem.job
    # Of a derived stall the copy to the hosts follows from the systems; the rest is stated.
    stall = ("stall", "stall time")
    if job.checkpoint.stall_s == "derived":
        stall = ("stall_overhead", "stall beside the copy to the hosts")
    restart = "restore.restart" if job.restart.remote_s is None else "restart.remote"
    paths = ((f"{_CHECKPOINT}.{stall[0]}", stall[1]), (f"{_JOB}.{restart}", "restart time"))
    for path, label in paths:
        lever = bounded(inputs, path, label, "s", -1, 0.0)
        if lever.stated and lever.value:
            yield lever
    repair = job.repair
    if repair is not None and repair.time_s is not None:
        least = min(repair.time_s, _SHORTEST_S)
        yield bounded(
            inputs, f"{_JOB}.repair.time", FIGURES["repair.repair_s"].label, "s", -1, least
        )
    if repair is not None and repair.swap_s:
        yield bounded(inputs, f"{_JOB}.repair.swap", "swap time", "s", -1, 0.0)


def _local_level(inputs: Inputs) -> Iterator[Lever]:
    """Yield what a restart from the local level takes, and how much it keeps."""
    job, local = inputs.problem.job, inputs.problem.job.levels
    if local is None:
        return
    if job.restart.local_s is not None:
        path, label = f"{_JOB}.restart.local", "restart time from the local level"
        least = min(job.restart.local_s, _SHORTEST_S)
        yield bounded(inputs, path, label, "s", -1, least, limit="local_lag")
    if local.keep > _FEWEST_LOCAL:
        path, label = f"{_CHECKPOINT}.local.keep", "local checkpoints kept"
        yield bounded(inputs, path, label, "checkpoints", -1, _FEWEST_LOCAL,
                      limit="local_room")  # fmt: skip


def _below(inputs: Inputs, row: Limit, most: float) -> Iterator[Lever]:
    lever = moved(inputs, row, most)
    if lever.value is not None and lever.value < most:
        yield lever


def _data(inputs: Inputs) -> Iterator[Lever]:
    """Yield what asks for capacity and for reading."""
    job = inputs.problem.job
    counts = (("keep_last", "checkpoints kept"), ("milestones", "milestones kept"),
              ("exports", "exports kept"))  # fmt: skip
    for key, label in counts[:1] if job.in_bulk else counts:
        if getattr(job.checkpoint, key):
            yield bounded(inputs, f"{_CHECKPOINT}.{key}", label, "checkpoints", -1, 0,
                          limit="capacity")  # fmt: skip
    path, limit = f"{_JOB}.dataset", "bulk_capacity" if job.in_bulk else "capacity"
    path += ".size" if isinstance(job.dataset, DataSet) else ""
    if job.tiered.size_tb:
        yield bounded(inputs, path, "data set", "TB", -1, 0.0, limit=limit)
    if job.ingest_per_gpu_gb_per_s:
        path, label = f"{_JOB}.ingest_per_gpu", "ingest per GPU"
        yield bounded(inputs, path, label, "GB/s", -1, 0.0, limit="ingest")


def _interval(inputs: Inputs) -> Iterator[Lever]:
    """Yield how far the interval between checkpoints may be moved."""
    rule, path = inputs.problem.job.checkpoint.interval, f"{_CHECKPOINT}.interval"
    if isinstance(rule, OptimalInterval):
        yield moved(inputs, BY_NAME["interval_max"], _LONGEST_S)
        yield moved(inputs, BY_NAME["interval_min"], _SHORTEST_S)
    elif isinstance(rule, FixedInterval):
        every = rule.every_s
        off = (Change(path, _free(every), ""),)
        ways: tuple[tuple[Direction, float, float], ...] = (
            (1, every, _LONGEST_S),
            (-1, _SHORTEST_S, every),
        )
        for looser, low, high in ways:
            more = {"most": high} if looser > 0 else {"least": low}
            yield amount(inputs, f"{path}.every", "fixed interval", "s", looser, every, off,
                         between=True, **more)  # fmt: skip


def _free(every_s: float = 60.0) -> OptimalInterval:
    """Return the rule under which every sensible interval may be chosen, the given one too."""
    return OptimalInterval.model_construct(
        policy="optimal", min_s=min(every_s, _SHORTEST_S), max_s=max(every_s, _LONGEST_S)
    )


# Levers of single items: counts that are asked for, stock.


_MOST_UNITS = 10_000_000


def supply_levers(inputs: Inputs) -> Iterator[Lever]:
    """Yield the levers of what the problem and the price books say of single items."""
    for item in sorted(inputs.items, key=lambda item: item.id):
        rule = inputs.problem.items.get(item.id, Quantity())
        yield from _counts(inputs, item, rule)
        yield from _stock(inputs, item, rule)


def _counts(inputs: Inputs, item: Item, rule: Quantity) -> Iterator[Lever]:
    path = f"items.{item.id}"
    if rule.fixed is not None:
        off = (Change(f"{path}.fixed", None, "null"),)
        label, limit = f"fixed count of {item.model}", f"{path}.fixed"
        if rule.fixed > rule.in_place:  # what is owned stays, so it cannot be moved below
            yield amount(inputs, f"{path}.fixed", label, "units", -1, rule.fixed, off,
                         limit=limit, between=True, least=float(rule.in_place))  # fmt: skip
        yield amount(inputs, f"{path}.fixed", label, "units", 1, rule.fixed, off,
                     limit=limit, between=True, least=float(rule.in_place),
                     most=_MOST_UNITS)  # fmt: skip
    if rule.min:
        off = (Change(f"{path}.min", None, "null"),)
        label = f"minimum {item.model}"
        yield amount(inputs, f"{path}.min", label, "units", -1, rule.min, off, limit=f"{path}.min")
    if rule.max is not None:
        off = (Change(f"{path}.max", None, "null"),)
        label = f"maximum {item.model}"
        yield amount(inputs, f"{path}.max", label, "units", 1, rule.max, off, limit=f"{path}.max",
                     least=float(rule.in_place), most=_MOST_UNITS)  # fmt: skip


def _stock(inputs: Inputs, item: Item, rule: Quantity) -> Iterator[Lever]:
    price = inputs.prices.get(item.id)
    stock = rule.stock if rule.stock is not None or price is None else price.stock
    if price is None or stock is None:
        return
    path = f"items.{item.id}.stock"
    off = (Change(path, _MOST_UNITS, str(_MOST_UNITS)),)
    yield amount(inputs, path, f"stock of {item.model}", "units", 1, stock, off,
                 limit=f"stock.{item.id}", most=_MOST_UNITS)  # fmt: skip


# Levers that stand or fall: rules, vendors, what is considered.


def choices(inputs: Inputs) -> Iterator[Lever]:
    """Yield the choices of the problem that could be given up."""
    yield from _storage(inputs)
    yield from _job(inputs)
    yield from _policy(inputs)
    yield from _considered(inputs)
    yield from _items(inputs)


def _storage(inputs: Inputs) -> Iterator[Lever]:
    storage = inputs.problem.storage
    if storage.rule != "demand":
        name = storage.rule if isinstance(storage.rule, str) else storage.rule.name
        off = [Change("storage.rule", "demand", "demand")]
        what = "size storage by the job's demand"
        checkpoint = inputs.problem.job.checkpoint
        if checkpoint.mode != "sync" and checkpoint.max_overlap < 1.0:
            # No limit under a rule, which asks for drains short enough in its own way.
            off.append(Change(job_path("checkpoint.max_overlap"), 1.0, "100 %"))
        yield choice(inputs, "storage.rule", f"storage sized by the {name} rule", what, *off)
    if storage.endurance != "off" and _worn(inputs):
        off = [Change("storage.endurance", "off", "off")]
        label, what = "write endurance of drives", "ignore it"
        yield choice(inputs, "storage.endurance", label, what, *off)


def _worn(inputs: Inputs) -> bool:
    """Say whether the endurance of some storage on offer is known, by its figure or its flash."""
    derived = inputs.problem.storage.endurance == "derived"
    flash = {name for name, item in inputs.by_id.items() if {m.type for m in item.media} - {"hdd"}}
    return any(
        item.provides.endurance is not None
        or (derived and not flash.isdisjoint({item.id, *(part.id for part in item.components)}))
        for item in inputs.items
        if item.category == "storage"
    )


def _job(inputs: Inputs) -> Iterator[Lever]:
    job = inputs.problem.job
    if job.gpus.hot[1]:
        off, label = Change(job_path("gpus.hot_spares"), 0, "0"), "share of hot spares"
        yield choice(inputs, job_path("gpus.hot_spares"), label, "keep none", off)
    if job.repair is not None and job.repair.spares != "open":
        path, label = job_path("repair.spares"), f"{job.repair.spares} hot spares"
        what, off = "let their number be decided", Change(path, "open", "open")
        yield choice(inputs, path, label, what, off)
    if job.gpus.per_system is not None and job.repair is not None and job.repair.unit == "tray":
        # Fewer are used only where that leaves spare trays in each system.
        path, label = job_path("gpus.per_system"), "maximum GPUs used per system"
        yield choice(inputs, path, label, "let their number be decided", Change(path, None, "null"))
    if job.levels is not None and job.levels.use == "yes":
        path, label = job_path("checkpoint.local.use"), "checkpoints go to local drives first"
        what, off = "let the plan do without", Change(path, "open", "open")
        yield choice(inputs, path, label, what, off)
    if job.levels is not None and job.levels.k != "open":
        yield from _every(inputs, job.levels.every)
    if job.restore.fan_out != "broadcast":
        path = job_path("restore.fan_out")
        label = "restore fan-out above 1"
        what = "read the checkpoint once, broadcast between the GPUs"
        yield choice(inputs, path, label, what, Change(path, "broadcast", "broadcast"))
    if job.checkpoint.writers == "one_replica":
        path = job_path("checkpoint.writers")
        label, what = "one replica alone writes", "every GPU system writes"
        yield choice(inputs, path, label, what, Change(path, "all", "all"))


def _every(inputs: Inputs, given: tuple[int, ...]) -> Iterator[Lever]:
    """Yield which local checkpoints go on to storage, where the user says so: the numbers that are
    given may always be tried with those that would be."""
    more = tuple(sorted({*given, *OPEN_EVERY}))
    if set(given) < set(more) and len(more) <= MOST_EVERY:
        path, said = job_path("checkpoint.local.k"), ", ".join(map(str, given))
        label, text = f"local checkpoints on to storage: k = {said}", ", ".join(map(str, more))
        what, off = "let k be decided", Change(path, more, f"[{text}]")
        if more == OPEN_EVERY:
            off = Change(path, "open", "open")
        yield choice(inputs, path, label, what, off)


def _policy(inputs: Inputs) -> Iterator[Lever]:
    policy = inputs.problem.policy
    if policy.require_vendors:
        names = " and ".join(policy.require_vendors)
        label, what = f"something from {names} is required", "require nothing"
        off = Change("policy.require_vendors", (), "[]")
        yield choice(inputs, "policy.require_vendors", label, what, off)
    if policy.forbid_vendors:
        label, what = f"nothing from {' or '.join(policy.forbid_vendors)}", "forbid nobody"
        off = Change("policy.forbid_vendors", (), "[]")
        yield choice(inputs, "policy.forbid_vendors", label, what, off)
    for number, split in enumerate(policy.split):
        if split.max_share < 1.0:
            path = f"policy.split.{number}.max_share"
            label = f"largest share of one vendor in {split.category.replace('_', ' ')}"
            yield bounded(inputs, path, label, "share", 1, 1.0, limit=f"split.{number}")


def _considered(inputs: Inputs) -> Iterator[Lever]:
    consider = inputs.problem.consider
    named = (
        ("gpu_systems", consider.gpu_systems, "only these GPU systems",
         "consider every GPU system"),
        ("storage_families", consider.storage_families, "only these storage families",
         "consider every storage family"),
        ("vendors", consider.vendors, "only these vendors", "consider every vendor"),
    )  # fmt: skip
    for key, names, label, what in named:
        if names is not None:
            path = f"consider.{key}"
            text = f"{label}: {', '.join(names)}"
            yield choice(inputs, path, text, what, Change(path, None, "null"))


def _items(inputs: Inputs) -> Iterator[Lever]:
    models = {item.id: item.model for item in inputs.items}
    for name, rule in sorted(inputs.problem.items.items()):
        model, path = models.get(name, name), f"items.{name}"
        if rule.exclude:
            off = Change(f"{path}.exclude", False, "false")
            yield choice(inputs, f"{path}.exclude", f"no {model}", "allow it", off)
        if rule.required and not rule.min:
            off = Change(f"{path}.required", False, "false")
            yield choice(inputs, f"{path}.required", f"at least one {model}", "require none", off)
