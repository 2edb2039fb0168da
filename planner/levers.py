"""The limits, demands and choices of a problem, each with its place, its unit and how to move it.

Explanations of infeasible problems and moves of binding limits use them: the one list of decisions
open to the owner of a problem.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from planner.currency import USD, Currency
from planner.figures import FIGURES
from planner.inputs import Change, Inputs
from planner.limits import BY_NAME, LIMITS
from planner.paths import job_path, value_at
from planner.schema.job import MOST_EVERY, OPEN_EVERY, DataSet, FixedInterval, OptimalInterval

DIGITS = 4
"""Digits of a proposed change: enough to be exact for a buyer, few enough to be said aloud."""
FINEST = 1e-6
"""No proposal is finer than this share of a value: solvers see no further."""

_WRITTEN: dict[str, tuple[tuple[float, str, float], ...]] = {
    "kW": ((1e3, "MW", 1e3), (0.0, "kW", 1.0)),
    "USD": ((1e6, "MUSD", 1e6), (1e5, "kUSD", 1e3), (0.0, "USD", 1.0)),
    "s": ((7200.0, "h", 3600.0), (120.0, "min", 60.0), (0.0, "s", 1.0)),
    "TB": ((1e3, "PB", 1e3), (0.0, "TB", 1.0)),
    "kg": ((1e3, "t", 1e3), (0.0, "kg", 1.0)),
    "share": ((0.0, "%", 0.01),),
    "number": ((0.0, "", 1.0),),
}
"""Per unit: from which size on it is written in which unit, and the size of that.

Any other unit that a file can have is written as it is.
"""


def write_value(value: float, unit: str, money: Currency = USD) -> str:
    """A value as the problem file has it, exact to 12 digits; USD in the currency given."""
    amount = value / unit_in_usd(unit, money)
    symbol, size = _symbol(amount, unit)
    return f"{_plain(amount / size)} {money.named(symbol)}".rstrip()


def unit_in_usd(unit: str, money: Currency) -> float:
    """USD for one of a currency; 1 of a unit that is no money."""
    return money.usd if "USD" in unit else 1.0


def proposal_step(change: float, value: float, unit: str, money: Currency) -> float:
    """The step of proposals: so fine that a change has ``DIGITS`` digits, and no finer.

    It is a power of ten in the unit the value is written in.
    """
    one = unit_in_usd(unit, money)
    size = _symbol(value / one, unit)[1] * one
    finest = max(abs(value / size) * FINEST, 1e-12)
    digit = math.floor(math.log10(max(abs(change / size), finest))) - DIGITS + 1
    return float(10.0 ** max(digit, math.ceil(math.log10(finest)))) * size


def _symbol(value: float, unit: str) -> tuple[str, float]:
    """The largest unit that suits a value, of times one that keeps it short, and its size."""
    scales = _WRITTEN.get(unit, ((0.0, unit, 1.0),))
    fitting = [(name, size) for least, name, size in scales if abs(value) >= least]
    if unit == "s":
        tenths = [(value / size * 1e4, (name, size)) for name, size in fitting]
        fitting = [each for n, each in tenths if abs(n - round(n)) < 1e-6] or fitting
    return fitting[0]


def _plain(number: float) -> str:
    """A number without exponent and without digits that are noise."""
    text = format(Decimal(f"{number:.12g}"), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


# A limit of the problem as something its owner may move: its place, and which way is looser.


Direction = Literal[1, -1]


@dataclass(frozen=True)
class Lever:
    """A limit, demand or choice of the problem that its owner could decide otherwise.

    A lever with a ``value`` can be moved: ``looser`` says whether up (1) or down (-1) lets more
    plans in, ``least`` and ``most`` how far. One without is a choice: kept or given up.
    ``limit`` is its name among the limits of a plan, where it has one. ``stated`` says whether the
    user gave it; else it is a default.
    """

    path: str
    label: str
    off: tuple[Change, ...]
    value: float | None = None
    unit: str = ""
    looser: Direction = 1
    whole: bool = False
    least: float = 0.0
    most: float = math.inf
    limit: str = ""
    stated: bool = True
    place: str | None = None
    choice: str = ""
    money: Currency = USD

    @property
    def loosest(self) -> float:
        """Its loosest possible value."""
        return self.most if self.looser > 0 else self.least

    def looser_than(self, one: float, other: float) -> bool:
        """True if one value lets more plans in than another."""
        return (one - other) * self.looser > 0

    def text(self, value: float) -> str:
        """A value as the problem file has it."""
        return f"{round(value)}" if self.whole else write_value(value, self.unit, self.money)

    def to(self, value: float) -> tuple[Change, ...]:
        """The changes that give the lever a value, as a user would make them."""
        stored: Any = round(value) if self.whole else value
        return (Change(self.path, stored, self.text(value)),)


def is_stated(inputs: Inputs, path: str) -> bool:
    """True if the user wrote a value; of inputs without a file always."""
    return inputs.document is None or inputs.where(path) is not None


# Levers of a problem.


_ANY_POWER_KW = 1e7
"""10 GW, more than any feed or rack. A hundred times as much buys counts of 10^10, whose bounds
HiGHS (1.15.1) tightens without end."""
_ANY_PORT_GB_PER_S = 1e6
_LONGEST_S = 30 * 86_400.0
"""No interval is longer: a month of work at risk."""
_SHORTEST_S = 1.0
_MOST_BLOCKED = 0.99
_FEWEST_LOCAL = 2
"""Local checkpoints: the last one, and the one being written."""
_MOST_UNITS = 10_000_000

_JOB = job_path()
_CHECKPOINT = f"{_JOB}.checkpoint"
_REMOVED = ("supply", "ratio", "target")
"""Groups of limits that may be left out; and single ones."""
_ALSO_REMOVED = ("lead_time", "restore_time", "gpus_min", "gpus_max")


class Row(NamedTuple):
    """A value that can be moved: looser up (1) or down (-1), as far as ``end``, which is what
    giving it up means; of one without an end, that it is left out. ``value`` is what counts where
    the problem has none."""

    path: str
    label: str
    unit: str
    looser: Direction
    end: float | None = None
    limit: str = ""
    least: float = 0.0
    value: int | None = None


class Choice(NamedTuple):
    """A choice that can be given up: in words, and as a value of the problem, with its text; a
    rule with other changes, too."""

    path: str
    label: str
    choice: str
    value: Any
    text: str
    limit: str = ""
    also: tuple[Change, ...] = ()


def levers(inputs: Inputs) -> tuple[Lever, ...]:
    """Every lever of a problem: site, budgets and targets, storage, job, items, then choices."""
    rows = [*_cluster(inputs), *_job(inputs), *_items(inputs)]
    found = [lever for row in rows if (lever := _movable(inputs, row)) is not None]
    for choice in (*_storage_choices(inputs), *_job_choices(inputs), *_offer_choices(inputs)):
        path, label, words, value, text, limit, also = choice
        stated, place, off = is_stated(inputs, path), inputs.where(path), Change(path, value, text)
        found.append(
            Lever(path, label, (off, *also), limit=limit, stated=stated, place=place, choice=words)
        )
    return tuple(found)


def _movable(inputs: Inputs, row: Row) -> Lever | None:
    """The lever of a row; None where the problem has no such value, or it is at its end."""
    try:
        value = value_at(inputs.problem, row.path)
    except KeyError:
        value = None
    value = row.value if value is None else value
    if not isinstance(value, int | float):
        return None
    if row.end is not None and (row.end - value) * row.looser <= 0:
        return None
    end: Any = round(row.end) if row.end is not None and isinstance(value, int) else row.end
    up = math.inf if row.end is None else float(row.end)
    least, most = (row.least, up) if row.looser > 0 else (row.end or 0.0, math.inf)
    return Lever(
        path=row.path,
        label=row.label,
        off=(Change(row.path, end, "null" if end is None else ""),),
        value=float(value),
        unit=row.unit,
        looser=row.looser,
        whole=isinstance(value, int),
        limit=row.limit,
        stated=is_stated(inputs, row.path),
        place=inputs.where(row.path),
        money=inputs.problem.shown_in,
        least=least,
        most=most,
    )


def _limit(name: str, end: float | None = None) -> Row:
    """The row of a limit of the table."""
    row = BY_NAME[name]
    return Row(row.path, row.demand, row.file_unit, row.looser, end, row.name)


# Values.


def _cluster(inputs: Inputs) -> Iterator[Row]:
    """Yield site, budgets, targets and storage."""
    for each in LIMITS:
        if each.group in _REMOVED or each.name in _ALSO_REMOVED:
            yield _limit(each.name)
    families = {item.family for item in inputs.items if item.category == "storage"}
    power, port, client = _ANY_POWER_KW, _ANY_PORT_GB_PER_S, "storage.client_limit"
    fill, down = FIGURES["fill_limit"].label, FIGURES["tolerate_down"].label
    own_rack = "power of a product that is a rack"
    yield from (
        Row("site.feeds.power", "power of a feed", "kW", 1, power, "facility_power"),
        Row("site.rack.power", "power of a rack", "kW", 1),
        Row("site.rack.whole_rack_power", own_rack, "kW", 1, power),
        Row("storage.fill_limit", fill, "share", 1, 1.0, "capacity"),
        Row("storage.tolerate_down", down, "appliances", -1, 0),
        Row("storage.max_families", "storage families", "families", 1, len(families), least=1.0),
        Row(f"{client}.read", "client read limit per GPU system", "GB/s", 1, port),
        Row(f"{client}.write", "client write limit per GPU system", "GB/s", 1, port),
    )
    for number, split in enumerate(inputs.problem.policy.split):
        path = f"policy.split.{number}.max_share"
        label = f"largest share of one vendor in {split.category.replace('_', ' ')}"
        yield Row(path, label, "share", 1, 1.0, f"split.{number}")


def _job(inputs: Inputs) -> Iterator[Row]:
    """Yield checkpoints, capacity, reading, spares, and times in which the job stands still."""
    job, local = inputs.problem.job, f"{_CHECKPOINT}.local"
    checkpoint = job.checkpoint
    if checkpoint.mode != "sync":
        yield _limit("overlap", 1.0)
    if checkpoint.mode != "async":
        yield _limit("blocking", _MOST_BLOCKED)
    if isinstance(checkpoint.interval, OptimalInterval):
        yield _limit("interval_max", _LONGEST_S)
        yield _limit("interval_min", _SHORTEST_S)
    yield Row(f"{_CHECKPOINT}.keep_last", "checkpoints kept", "checkpoints", -1, 0, "capacity")
    if job.tiered.size_tb:
        path = f"{_JOB}.dataset" + (".size" if isinstance(job.dataset, DataSet) else "")
        limit = "bulk_capacity" if job.in_bulk else "capacity"
        yield Row(path, "data set", "TB", -1, 0.0, limit)
    yield Row(f"{_JOB}.ingest_per_gpu", "ingest per GPU", "GB/s", -1, 0.0, "ingest")
    # Of a derived stall the copy to the hosts follows from the systems; the rest is stated.
    stall, label = f"{_CHECKPOINT}.stall", "stall time"
    if checkpoint.stall_s == "derived":
        stall, label = f"{_CHECKPOINT}.stall_overhead", "stall beside the copy to the hosts"
    for path, words in ((stall, label), (f"{_JOB}.restore.restart", "restart time")):
        if is_stated(inputs, path):
            yield Row(path, words, "s", -1, 0.0)
    repair, restart = FIGURES["repair.repair_s"].label, "restart time from the local level"
    kept = "local checkpoints kept"
    yield Row(f"{_JOB}.repair.time", repair, "s", -1, _SHORTEST_S)
    yield Row(f"{_JOB}.repair.swap", "swap time", "s", -1, 0.0)
    yield Row(f"{local}.restart", restart, "s", -1, _SHORTEST_S, "local_lag")
    yield Row(f"{local}.keep", kept, "checkpoints", -1, _FEWEST_LOCAL, "local_room")


def _items(inputs: Inputs) -> Iterator[Row]:
    """Yield required counts, and stock."""
    for item in sorted(inputs.items, key=lambda item: item.id):
        path, rule = f"items.{item.id}", inputs.problem.items.get(item.id)
        least, most, stock = f"{path}.min", f"{path}.max", f"stock of {item.model}"
        if rule is not None and rule.min:
            yield Row(least, f"minimum {item.model}", "units", -1, None, least)
        if rule is not None and rule.max is not None:
            yield Row(most, f"maximum {item.model}", "units", 1, None, most, float(rule.in_place))
        if (price := inputs.prices.get(item.id)) is not None:
            ends = _MOST_UNITS, f"stock.{item.id}"
            yield Row(f"{path}.stock", stock, "units", 1, *ends, value=price.stock)


# Choices: rules, vendors, considered items.


def _storage_choices(inputs: Inputs) -> Iterator[Choice]:
    storage, checkpoint = inputs.problem.storage, inputs.problem.job.checkpoint
    if storage.rule != "demand":
        name = storage.rule if isinstance(storage.rule, str) else storage.rule.name
        label, what = f"storage sized by the {name} rule", "size storage by the job's demand"
        also: tuple[Change, ...] = ()
        if checkpoint.mode != "sync" and checkpoint.max_overlap < 1.0:
            # No limit under a rule, which asks for drains short enough in its own way.
            also = (Change(f"{_CHECKPOINT}.max_overlap", 1.0, "100 %"),)
        yield Choice("storage.rule", label, what, "demand", "demand", also=also)
    derived = storage.endurance == "derived"
    flash = {name for name, item in inputs.by_id.items() if {m.type for m in item.media} - {"hdd"}}
    worn = (
        item.provides.endurance is not None
        or (derived and not flash.isdisjoint({item.id, *(part.id for part in item.components)}))
        for item in inputs.items
        if item.category == "storage"
    )
    if storage.endurance != "off" and any(worn):
        label = "write endurance of drives"
        yield Choice("storage.endurance", label, "ignore it", "off", "off")


def _job_choices(inputs: Inputs) -> Iterator[Choice]:
    job, repair = inputs.problem.job, inputs.problem.job.repair
    rule, levels, decided = job.checkpoint.interval, job.levels, "let their number be decided"
    if isinstance(rule, FixedInterval):
        low_s, high_s = min(rule.every_s, _SHORTEST_S), max(rule.every_s, _LONGEST_S)
        free = OptimalInterval.model_construct(policy="optimal", min_s=low_s, max_s=high_s)
        text = f"{{policy: optimal, min: {low_s:g} s, max: {high_s:g} s}}"
        path, what = f"{_CHECKPOINT}.interval", "let the best interval be chosen"
        yield Choice(path, "fixed interval", what, free, text)
    if repair is not None and repair.spares != "open":
        path, label = f"{_JOB}.repair.spares", f"{repair.spares} hot spares"
        yield Choice(path, label, decided, "open", "open")
    if job.gpus.per_system is not None and repair is not None and repair.unit == "tray":
        # Fewer are used only where that leaves spare trays in each system.
        path, label = f"{_JOB}.gpus.per_system", "maximum GPUs used per system"
        yield Choice(path, label, decided, None, "null")
    if job.restore.fan_out != "broadcast":
        path, what = (
            f"{_JOB}.restore.fan_out",
            "read the checkpoint once, broadcast between the GPUs",
        )
        yield Choice(path, "restore fan-out above 1", what, "broadcast", "broadcast")
    if job.checkpoint.writers == "one_replica":
        path, label = f"{_CHECKPOINT}.writers", "one replica alone writes"
        yield Choice(path, label, "every GPU system writes", "all", "all")
    if levels is not None and levels.use == "yes":
        path, label = f"{_CHECKPOINT}.local.use", "checkpoints go to local drives first"
        yield Choice(path, label, "let the plan do without", "open", "open")
    more = tuple(sorted({*levels.every, *OPEN_EVERY})) if levels is not None else ()
    if levels is not None and levels.k != "open" and len(levels.every) < len(more) <= MOST_EVERY:
        label = f"local checkpoints on to storage: k = {', '.join(map(str, levels.every))}"
        path, value, text = f"{_CHECKPOINT}.local.k", more, f"[{', '.join(map(str, more))}]"
        opened = more == OPEN_EVERY
        yield Choice(
            path, label, "let k be decided", "open" if opened else value, "open" if opened else text
        )


def _offer_choices(inputs: Inputs) -> Iterator[Choice]:
    """Yield vendors, considered items, and single items."""
    policy, consider = inputs.problem.policy, inputs.problem.consider
    if names := " and ".join(policy.require_vendors):
        label = f"something from {names} is required"
        yield Choice("policy.require_vendors", label, "require nothing", (), "[]")
    if names := " or ".join(policy.forbid_vendors):
        yield Choice("policy.forbid_vendors", f"nothing from {names}", "forbid nobody", (), "[]")
    for key, kinds, kind in (
        ("gpu_systems", "GPU systems", "GPU system"),
        ("storage_families", "storage families", "storage family"),
        ("vendors", "vendors", "vendor"),
    ):
        if (chosen := getattr(consider, key)) is not None:
            label = f"only these {kinds}: {', '.join(chosen)}"
            yield Choice(f"consider.{key}", label, f"consider every {kind}", None, "null")
    models = {item.id: item.model for item in inputs.items}
    for name, rule in sorted(inputs.problem.items.items()):
        model, path = models.get(name, name), f"items.{name}"
        if rule.fixed is not None:
            fixed, what = f"{path}.fixed", "let their number be decided"
            yield Choice(fixed, f"{rule.fixed} {model}", what, None, "null", fixed)
        if rule.exclude:
            yield Choice(f"{path}.exclude", f"no {model}", "allow it", False, "false")
