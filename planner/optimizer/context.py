"""What constraint families share while a model is built: variables, counts, ranges, logarithms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from planner.case import Case, Storage, System, Way
from planner.case.bounds import Bounds
from planner.case.model import BillItem, Key, Mode, Segment
from planner.case.money import weights
from planner.case.quantities import ROUNDING, AtLeast, Ceil, Packed, Quantity, Ramp, Steps
from planner.limits import MILLION
from planner.optimizer.model import (
    Linear,
    Log,
    Model,
    NegativeExp,
    Variable,
    combination,
    highest,
    total,
)

SMALLEST_INTERVAL_S = 1e-3

LEAST_RUNNING = 1e-4
"""A job whose replicas run less than this share of the time is no plan."""
MOST_SPARED = math.log(4.0)
"""Restarts see at least a quarter of the failures that work sees: after one that takes a unit out
a third or more of what ran goes on, or the job waits."""

LEAST_TCO_MUSD = 1e-6
"""The logarithm of money begins at one dollar."""

STRICT = 1e-7
"""A count may fall short of one more than its argument by this: fractions below it are noise."""


@dataclass
class Build:
    """A model under construction and the expressions families share.

    ``counts`` are of each item at each site in each period; ``units`` and ``purchased`` are
    their totals, and those of the companions that follow from them.
    ``used`` and ``type_used`` are of each GPU type, ``systems_of`` and ``way_used`` of each way in
    which the job may run on it: the same variables where a type has one way.
    ``spares`` stand by, of each type in spare units.
    ``gpus`` is N; ``write`` and ``read`` are delivered GB/s, ``safe_write`` and ``safe_read`` the
    same with appliances down, where the problem wants limits to hold then. The logarithms ``n``,
    ``b``, ``q`` and ``i`` of N, write, read and interval come into being, with their links, when
    first used. ``scale`` is the log of what N leaves of a GPU's rate by the law of scale. ``every``
    are the flags of k where each k-th local checkpoint goes to storage. ``log_running`` is the log
    of the GPUs that run on average where a job goes on with fewer replicas, ``log_failing`` that of
    those whose failures its work sees, ``log_resting`` its restarts; None where it waits.
    """

    case: Case
    mode: Mode
    model: Model
    counts: dict[Key, Variable] = field(default_factory=dict)
    used: dict[str, Variable] = field(default_factory=dict)
    type_used: dict[str, Variable] = field(default_factory=dict)
    way_used: dict[str, Variable] = field(default_factory=dict)
    systems_of: dict[str, Variable] = field(default_factory=dict)
    gpus_of: dict[str, Linear] = field(default_factory=dict)
    spares: dict[str, Linear] = field(default_factory=dict)
    serves: dict[str, Variable] = field(default_factory=dict)
    caps: dict[str, int] = field(default_factory=dict)
    nameplate_read: dict[str, Linear] = field(default_factory=dict)
    nameplate_write: dict[str, Linear] = field(default_factory=dict)
    losses: dict[str, dict[str, Linear]] = field(default_factory=dict)
    gpus: Variable = None
    write: Variable = None
    read: Variable = None
    safe_write: Variable = None
    safe_read: Variable = None
    interval: Variable = None
    goodput: Linear = None
    scale: Linear = 0.0
    log_running: Linear = None
    log_failing: Linear = None
    log_resting: Linear = None
    by_way: dict[str, Linear] = field(default_factory=dict)
    every: dict[int, Variable] = field(default_factory=dict)

    def gpus_in(self, system: System, way: Way) -> Linear:
        """Return the GPUs in use in a way: whole replicas on the fewest systems, or systems."""
        if way.id not in self.gpus_of:
            usable = float(way.usable_gpus) * self.systems_of[way.id]
            self.gpus_of[way.id] = usable
            if self.case.job.whole_replicas:
                self.gpus_of[way.id] = self._whole_replicas(system, way, usable)
        return self.gpus_of[way.id]

    def _whole_replicas(self, system: System, way: Way, usable: Linear) -> Linear:
        most = way.most_gpus(max(self.caps[system.id], system.low)) // way.step_gpus
        replicas = self.model.var(f"replicas__{way.id}", 0.0, float(most), True)
        held = float(way.step_gpus) * replicas
        self.model.row(f"replicas_{way.id}", held - usable, "<=", 0.0)
        spare = float(way.usable_gpus - 1) * self.way_used[way.id]
        self.model.row(f"fewest_{way.id}", usable - held - spare, "<=", 0.0)
        return held

    @cached_property
    def decided_by(self) -> dict[str, tuple[str, str]]:
        """What a plan decides, by its variable: a way, a family or a count, and whose."""
        found = {variable.name: ("count", key.sku) for key, variable in self.counts.items()}
        found |= {variable.name: ("family", name) for name, variable in self.serves.items()}
        return found | {variable.name: ("way", name) for name, variable in self.way_used.items()}

    @cached_property
    def fabrics(self) -> dict[int, Linear]:
        """Whether the job is in each compute fabric; of several types the rows say in which."""
        fabrics = sorted({way.fabric for way in self.case.ways if way.fabric is not None})
        if self.case.job.max_types > 1:
            return {f: self.model.var(f"fabric__{f}", 0.0, 1.0, True) for f in fabrics}
        return {
            fabric: total(self.way_used[w.id] for w in self.case.ways if w.fabric == fabric)
            for fabric in fabrics
        }

    def is_built(self, design: str) -> Linear:
        """Return whether the job's compute fabric is of a design."""
        known = self.case.design_of
        return total(flag for fabric, flag in self.fabrics.items() if known[fabric] == design)

    @cached_property
    def tops(self) -> dict[str, int]:
        """The most units of each offer, demanded ones included."""
        return {offer.id: max(self.caps[offer.id], offer.low) for offer in self.case.offers()}

    @cached_property
    def sizes_fall(self) -> bool:
        """Whether a larger size of some fabric has less of something than a smaller one."""
        return any(
            after < before
            for quantity in self.case.companions.quantities
            if isinstance(quantity, Steps)
            for one, other in itertools.pairwise(quantity.sizes)
            for before, after in zip(one.outputs, other.outputs, strict=True)
        )

    def may_idle(self, system: System) -> bool:
        """Say whether a GPU system may be bought although no job uses it.

        Where the policy names it, or where one more may make a fabric smaller.
        """
        policy = self.case.policy
        named = {item_id for ids in policy.required for item_id in ids}
        split = {item_id for split in policy.splits for item_id, _ in split.weights}
        return system.low > 0 or system.id in named | split or self.sizes_fall

    @cached_property
    def units(self) -> Counts:
        """Units in place of everything in the bill."""
        return Counts(self)

    @cached_property
    def purchased(self) -> Purchases:
        """Units bought of everything in the bill."""
        return Purchases(self)

    def sum(self, figure: str, scale: float = 1.0) -> Linear:
        """Return a sum over the bill, in so many of its unit."""
        terms = weights(self.case, figure, self.units, self.purchased)
        return total((factor / scale) * count for factor, count in terms)

    @cached_property
    def gpus_range(self) -> tuple[float, float]:
        """Least and most GPUs in use."""
        sizes = [
            max(way.usable_gpus for way in system.ways) * self.caps[system.id]
            for system in self.case.systems
        ]
        high = max(sizes, default=0) if self.case.job.max_types == 1 else sum(sizes)
        limits = (self.case.job.gpus_max_in(way) for way in self.case.ways)
        limit = max((math.inf if most is None else most for most in limits), default=math.inf)
        low = self.case.job.gpus_min
        return float(low), float(max(low, min(high, limit)))

    @property
    def running_range(self) -> tuple[float, float]:
        """Least and most GPUs that fail: those in use, unless fewer replicas may run."""
        low, high = self.gpus_range
        repair = self.case.job.repair
        return (LEAST_RUNNING * low, high) if repair is not None and repair.shrinks else (low, high)

    @cached_property
    def write_range(self) -> tuple[float, float]:
        """Least and most delivered write bandwidth a plan can have, GB/s.

        A drain (or a synchronous write) must end within the longest interval.
        """
        least = self.case.job.checkpoint_gb / self.longest_interval_s / self.most_every
        appliances = self.case.delivered_write * self._most(self._write_of)
        clients = self._most_clients(
            [s.client_write_gb_per_s for s in self.case.systems],
            [f.write_factor for f in self.case.families],
        )
        return _range(least, min(appliances, clients))

    @cached_property
    def read_range(self) -> tuple[float, float]:
        """Least and most delivered read bandwidth a plan can have, GB/s."""
        job = self.case.job
        appliances = self.case.delivered_read * self._most(self._read_of)
        clients = self._most_clients(
            [s.client_read_gb_per_s for s in self.case.systems],
            [f.read_factor for f in self.case.families],
        )
        most = min(appliances, clients)
        least = self._least_read()
        if job.max_restore_s is not None:
            least = min(
                a + c * self.gpus_range[0]
                for a, c in (job.fan_out_terms(way.replica_gpus) for way in self.case.ways)
            )
            least = least * job.checkpoint_gb / job.max_restore_s
        return _range(least, most)

    def _most_clients(self, limits: list[float], factors: list[float]) -> float:
        """Return at least what the GPU systems of any plan can move, GB/s."""
        systems = zip(limits, self.case.systems, strict=True)
        moved = [limit * max(self.caps[s.id], s.low) for limit, s in systems]
        return sum(moved) * max(factors, default=1.0)

    def _least_read(self) -> float:
        """Return less than any plan with storage and a GPU system can read, GB/s."""
        reads = [
            min((_least_of(piece) for piece in item.segments), default=item.read_gb_per_s)
            for item in self.case.storage
        ]
        factors = [family.read_factor for family in self.case.families]
        clients = [system.client_read_gb_per_s for system in self.case.systems]
        appliances = self.case.delivered_read * min(reads, default=1.0)
        return min(appliances, min(factors, default=1.0) * min(clients, default=1.0)) / 2.0

    @property
    def longest_interval_s(self) -> float:
        """The longest interval a plan can have, s."""
        return self.interval_range_s[1]

    @cached_property
    def interval_range_s(self) -> tuple[float, float]:
        """Shortest and longest interval a plan can have, s."""
        rule = self.case.job.interval
        if rule.policy != "lost_work":
            return max(rule.low_s, SMALLEST_INTERVAL_S), max(rule.high_s, SMALLEST_INTERVAL_S)
        rates = [way.failures_per_gpu_day for way in self.case.ways] or [1.0]
        low, high = self.gpus_range
        per_gpu_s = rule.kappa * 86_400.0
        return per_gpu_s / (max(rates) * high), per_gpu_s / (min(rates) * low)

    def _write_of(self, item: Storage) -> float:
        return max((_most_of(s.write_at_low, s.write_slope, s.high - s.low) for s in item.segments),
                   default=item.write_gb_per_s * self.caps[item.id])  # fmt: skip

    def _read_of(self, item: Storage) -> float:
        return max((_most_of(s.read_at_low, s.read_slope, s.high - s.low) for s in item.segments),
                   default=item.read_gb_per_s * self.caps[item.id])  # fmt: skip

    def _most(self, of: Callable[[Storage], float]) -> float:
        per_family: dict[str, float] = {}
        for item in self.case.storage:
            per_family[item.family] = per_family.get(item.family, 0.0) + of(item)
        best = sorted(per_family.values(), reverse=True)[: self.case.max_families]
        return sum(best)

    @cached_property
    def tco_musd(self) -> Linear:
        """TCO in millions of USD."""
        return self.sum("tco_usd", MILLION)

    @cached_property
    def log_tco(self) -> Linear:
        """At least log(TCO in millions of USD), once the search has divided the TCO far enough."""
        most = max(highest(self.tco_musd), 2 * LEAST_TCO_MUSD)
        return self.model.log_money("tco", self.tco_musd, (LEAST_TCO_MUSD, most))

    @cached_property
    def n(self) -> Linear:
        """log N."""
        low, high = self.gpus_range
        n = self.model.var("log_gpus", math.log(low), math.log(high))
        self.model.link("log_gpus", n, self.gpus + 0, Log(), (low, high))
        if high > low:  # the chord: fewer GPUs than are in use cannot be pretended at will
            slope = math.log(high / low) / (high - low)
            right = math.log(low) - slope * low
            self.model.row("log_gpus_chord", n - slope * self.gpus, ">=", right)
        return n

    @cached_property
    def b(self) -> Linear:
        """log of the delivered write bandwidth."""
        low, high = self.write_range
        b = self.model.var("log_write", math.log(low), math.log(high))
        self.model.link("log_write", b, self.write + 0, Log(), (low, high))
        return b

    @cached_property
    def safe_b(self) -> Linear:
        """log of the delivered write bandwidth that limits count on."""
        if self.safe_write is self.write:
            return self.b
        low, high = self.write_range
        b = self.model.var("log_safe_write", math.log(low), math.log(high))
        self.model.link("log_safe_write", b, self.safe_write + 0, Log(), (low, high))
        return b

    @cached_property
    def q(self) -> Linear:
        """log of the delivered read bandwidth."""
        low, high = self.read_range
        q = self.model.var("log_read", math.log(low), math.log(high))
        self.model.link("log_read", q, self.read + 0, Log(), (low, high))
        return q

    @cached_property
    def safe_q(self) -> Linear:
        """log of the delivered read bandwidth that limits count on."""
        if self.safe_read is self.read:
            return self.q
        low, high = self.read_range
        q = self.model.var("log_safe_read", math.log(low), math.log(high))
        self.model.link("log_safe_read", q, self.safe_read + 0, Log(), (low, high))
        return q

    @cached_property
    def i(self) -> Linear:
        """log of the interval."""
        low, high = self.interval_range_s
        rule = self.case.job.interval
        if rule.policy == "lost_work":
            return math.log(rule.kappa) - self.mu
        return self.model.var("log_interval", math.log(low), math.log(high))

    @property
    def most_every(self) -> int:
        """The most local checkpoints to a remote one; 1 without a local level."""
        levels = self.case.job.levels
        return 1 if self.mode != "local" or levels is None else max(levels.every)

    @cached_property
    def remote_i(self) -> Linear:
        """log of the interval at which checkpoints go to storage: of each one, or each k-th."""
        levels = self.case.job.levels
        if self.mode != "local" or levels is None:
            return self.i
        if len(levels.every) == 1:
            return self.i + math.log(levels.every[0])
        for k in levels.every:
            self.every[k] = self.model.var(f"every__{k}", 0.0, 1.0, True)
        self.model.row("one_every", total(self.every.values()), "==", 1.0)
        return self.i + combination((math.log(k), flag) for k, flag in self.every.items())

    @cached_property
    def mu(self) -> Linear:
        """log of the job's failures per second, log(1/M)."""
        return self._rate(self.log_failing)

    @cached_property
    def nu(self) -> Linear:
        """log of the failures per second that restarts see: fewer where fewer replicas restart."""
        return self.mu if self.log_resting is None else self._rate(self.log_resting)

    def _rate(self, failing: Linear) -> Linear:
        gpus = self.n if failing is None else failing
        return gpus + self.of_way("failure_rate", lambda w: w.failures_per_gpu_day / 86_400.0, 1)

    def share_of_interval(self, name: str, log_share: Linear) -> Linear:
        """Return a new variable that is at least exp(log_share) and at most 1."""
        share = self.model.var(name, 0.0, 1.0)
        domain = (math.log(1e-7), 0.0)
        self.model.link(name, -1 * share, log_share, NegativeExp(), domain)
        return share

    def of_way(self, name: str, value: Callable[[Way], float], worst: int) -> Linear:
        """Return log(value) of the way in use; of several types' the largest (1) or least (-1)."""
        if name not in self.by_way:
            logs = {way.id: math.log(value(way)) for way in self.case.ways}
            self.by_way[name] = self._of_way(name, logs, worst)
        return self.by_way[name]

    def _of_way(self, name: str, logs: Mapping[str, float], worst: int) -> Linear:
        if len(set(logs.values())) == 1:
            return combination([], next(iter(logs.values())))
        if self.case.job.max_types == 1:
            return combination((logs[k], self.way_used[k]) for k in logs)
        return self._worst(name, logs, worst)

    def _worst(self, name: str, logs: Mapping[str, float], worst: int) -> Variable:
        low, high = min(logs.values()), max(logs.values())
        result = self.model.var(f"log_{name}", low, high)
        for key, log in logs.items():
            if worst > 0:  # result >= log where the type is used
                slack = log - low
                right = log - slack
                self.model.row(f"{name}_of_{key}", result - slack * self.way_used[key], ">=", right)
            else:
                slack = high - log
                right = log + slack
                self.model.row(f"{name}_of_{key}", result + slack * self.way_used[key], "<=", right)
        return result


def _least_of(piece: Segment) -> float:
    span = piece.high - piece.low
    return min(piece.read_at_low, piece.read_at_low + piece.read_slope * span)


def _most_of(at_low: float, slope: float, span: int) -> float:
    return max(at_low, at_low + slope * span)


def _range(least: float, most: float) -> tuple[float, float]:
    """Return a usable range; an empty one is left to the rows to refuse."""
    low = max(least, 1e-9)
    return low, max(most, low)


@dataclass
class Sizes:
    """The sizes of one fabric in a model: what they hold, and each ramp with its flag."""

    amount: Linear
    ramps: list[tuple[Ramp, Linear]]


class Counts:
    """The counts of a build by name; what follows from others is added to the model when asked."""

    def __init__(self, build: Build) -> None:
        self.build = build
        self.known: dict[str, Linear] = {}
        self.steps: dict[str, Sizes] = {}
        self.makers: dict[str, Quantity] = {}
        for quantity in build.case.companions.quantities:
            names = quantity.outputs if isinstance(quantity, Steps) else (quantity.name,)
            self.makers |= dict.fromkeys(names, quantity)
        self.companions = {companion.id: companion for companion in build.case.companions.items}
        self.bounds = Bounds.of(build.case, build.tops)
        self.bounds.follow(build.case.rewired)
        self.bounds.add(build.case.companions.quantities)
        self.exact = _feeding_steps(build.case.companions.quantities)

    def __getitem__(self, name: str) -> Linear:
        """Return a count as a linear expression."""
        if name not in self.known:
            if name in self.companions:
                self.known[name] = self._sum(self.companions[name].terms)
            else:
                self._make(self.makers[name])
        return self.known[name]

    def __setitem__(self, name: str, count: Linear) -> None:
        self.known[name] = count

    def top(self, name: str) -> float:
        """Return an upper bound of a count."""
        companion = self.companions.get(name)
        return self.bounds.most(companion.terms if companion else ((1.0, name),))

    def _sum(self, terms: tuple[tuple[float, str], ...], constant: float = 0.0) -> Linear:
        return total(factor * self[name] for factor, name in terms) + constant

    def _make(self, quantity: Quantity) -> None:
        if isinstance(quantity, Steps):
            self._make_steps(quantity)
        elif isinstance(quantity, AtLeast):
            self.known[quantity.name] = self._at_least(quantity)
        elif isinstance(quantity, Ceil):
            self.known[quantity.name] = self._ceil(quantity)
        elif isinstance(quantity, Packed):
            self.known[quantity.name] = self._packed(quantity)
        else:
            self.known[quantity.name] = self._sum(quantity.terms, quantity.constant)

    def _at_least(self, quantity: AtLeast) -> Linear:
        model, name = self.build.model, quantity.name
        argument, least = self._sum(quantity.terms), float(quantity.least)
        top = float(math.ceil(self.top(name)))
        count = model.var(f"count__{name}", least, top, True)
        model.row(f"count_{name}", count - argument, ">=", 0.0)
        if name in self.exact:
            more = model.var(f"more__{name}", 0.0, 1.0, True)
            model.row(f"count_{name}_all", count - argument + least * more, "<=", least)
            model.row(f"count_{name}_least", count - top * more, "<=", least)
        return count

    def _ceil(self, quantity: Ceil) -> Linear:
        model, name, exact = self.build.model, quantity.name, quantity.name in self.exact
        argument = self._sum(quantity.terms, quantity.constant)
        top = float(math.ceil(self.top(name)))
        count = model.var(f"count__{name}", 0.0, top, True)
        model.row(f"count_{name}", count - argument, ">=", 0.0)
        if exact:
            model.row(f"count_{name}_least", count - argument, "<=", 1.0 - STRICT)
        if quantity.if_any == 0:
            return count
        some = model.var(f"any__{name}", 0.0, 1.0, True)
        model.row(f"any_{name}", count - top * some, "<=", 0.0)
        return count + quantity.if_any * some

    def _packed(self, quantity: Packed) -> Linear:
        """Add racks that kinds share; each kind's count is a variable, so that it can be split."""
        model, name, kinds = self.build.model, quantity.name, []
        for _, kind in quantity.terms:
            standing = model.var(f"in__{kind}", 0.0, float(math.ceil(self.top(kind))))
            model.row(f"in_{kind}", standing - self[kind], "==", 0.0)
            kinds.append(standing)
        racks = model.var(f"count__{name}", 0.0, float(math.ceil(self.top(name))), True)
        model.share(name, racks, tuple(kinds), quantity.packing)
        return racks

    def _make_steps(self, quantity: Steps) -> None:
        build, name = self.build, quantity.name
        amount = self._sum(quantity.terms)
        most = self.bounds.most(quantity.terms)
        flags, amounts, ramps = [], [], []
        outputs: list[list[tuple[float, Linear]]] = [[] for _ in quantity.outputs]
        for number, ramp in enumerate(quantity.ramps):
            if ramp.low >= most + ROUNDING:
                break
            flag, step, part = self._add_ramp(f"{name}__{number}", ramp)
            flags.append(flag)
            ramps.append((ramp, flag))
            amounts.append(part)
            for index, terms in enumerate(outputs):
                terms.append((float(ramp.outputs[index]), flag))
                if step is not None:
                    terms.append((float(ramp.slopes[index]), step))
        build.model.row(f"{name}_one_size", total(flags), "<=", 1.0)
        build.model.row(f"{name}_amount", amount - total(amounts), "==", 0.0)
        self.steps[name] = Sizes(amount, ramps)
        for output, terms in zip(quantity.outputs, outputs, strict=True):
            self.known[output] = combination(pair for pair in terms if pair[0] != 0.0)

    def _add_ramp(self, name: str, ramp: Ramp) -> tuple[Linear, Linear | None, Linear]:
        """Add one ramp of sizes; return its flag, its step (None for one size), its part."""
        model = self.build.model
        flag = model.var(f"size__{name}", 0.0, 1.0, True)
        part = model.var(f"amount__{name}", 0.0, float(ramp.high + ramp.steps * ramp.stride))
        low, high = part - float(ramp.low + 1) * flag, part - float(ramp.high) * flag
        step = None
        if ramp.steps:
            step = model.var(f"step__{name}", 0.0, float(ramp.steps), True)
            model.row(f"step_{name}", step - float(ramp.steps) * flag, "<=", 0.0)
            low, high = low - float(ramp.stride) * step, high - float(ramp.stride) * step
        model.row(f"size_{name}_low", low, ">=", 0.0)
        model.row(f"size_{name}_high", high, "<=", 0.0)
        return flag, step, part


def _feeding_steps(quantities: tuple[Quantity, ...]) -> frozenset[str]:
    """Return the counts that the size of a fabric follows from."""
    feeding: set[str] = set()
    for quantity in reversed(quantities):
        names = quantity.outputs if isinstance(quantity, Steps) else (quantity.name,)
        if isinstance(quantity, Steps) or feeding & set(names):
            feeding |= {name for _, name in quantity.terms}
    return frozenset(feeding)


def purchased(build: Build, item: BillItem) -> Linear:
    """Return what is bought of an item: with its spares, less what is installed, in packs.

    ``p >= n + s - installed``, ``s >= share n``, ``p = pack k``, and none or the least order.
    """
    model, count = build.model, build.units[item.id]
    if item.sold_plainly:
        if item.stock is not None and item.id in build.units.companions:
            model.row(f"stock_{item.id}", count, "<=", float(item.stock))
        return count
    top = build.units.top(item.id)
    most = float(item.purchased(math.ceil(top)))
    buy = model.var(f"buy__{item.id}", 0.0, most, item.pack > 1 or item.spare_share > 0)
    need = buy - count
    if item.spare_share > 0:
        highest = float(math.ceil(item.spare_share * top + 1))
        spares = model.var(f"spares__{item.id}", 0.0, highest, True)
        model.row(f"spares_{item.id}", spares - item.spare_share * count, ">=", 0.0)
        need = need - spares
    model.row(f"buy_{item.id}", need, ">=", -item.installed)
    if item.pack > 1:
        packs = model.var(f"packs__{item.id}", 0.0, most / item.pack, True)
        model.row(f"packs_{item.id}", buy - float(item.pack) * packs, "==", 0.0)
    if item.min_order > 1:
        least = float(-(-item.min_order // item.pack) * item.pack)
        some = model.var(f"ordered__{item.id}", 0.0, 1.0, True)
        model.row(f"least_order_{item.id}", buy - least * some, ">=", 0.0)
        model.row(f"no_order_{item.id}", buy - most * some, "<=", 0.0)
    if item.stock is not None:
        model.row(f"stock_{item.id}", buy, "<=", float(item.stock))
    return buy


class Purchases:
    """What is bought of everything, by id; rows come into being when asked for."""

    def __init__(self, build: Build) -> None:
        self.build = build
        self.items = {item.id: item for item in build.case.bill_items()}
        self.known: dict[str, Linear] = {}

    def __getitem__(self, name: str) -> Linear:
        if name not in self.known:
            self.known[name] = purchased(self.build, self.items[name])
        return self.known[name]
