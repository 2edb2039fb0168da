"""The best plan of a small problem by trying every purchase, in the verifier's arithmetic.

Independent of the optimiser: every purchase, use and way is tried unless a bound that is plain to
see excludes it. Bounds are without companions and, of goodput, without limits on the interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import combinations, count, product
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from planner.figures import OBJECTIVES
from planner.inputs import Inputs
from planner.schema.catalog import Family, Item
from planner.schema.prices import Discount, Price
from planner.schema.problem import Job, Problem
from planner.verifier.allowed import WEIGHT_BYTES, excluded
from planner.verifier.basis import Basis, cents, value
from planner.verifier.bill import Bill, Paid, build_bill, spare_parts, totals_of
from planner.verifier.fabric import UnbuildableError, plug_of, port_group, with_fabric
from planner.verifier.goodput import longest_swap_share, peak
from planner.verifier.job import Operation, Run, hot_spares, operate
from planner.verifier.limits import (
    Found,
    best_interval_s,
    given,
    job_limits,
    reached_limits,
    shortest_interval_s,
)
from planner.verifier.rates import (
    Pace,
    batch_gpus,
    gpus_of,
    least_replicas,
    measured_rate,
    parameters_share,
    peak_tflops,
    replica_gpus,
    set_point,
    tensor_gpus,
    usable_gpus,
    whole_replica,
)
from tests.oracle.trees import fewest_racks, fewest_switches

TIE = 1e-6
"""Objectives and tie-breakers this close (relative) count as equal."""
EDGE = 0.2
"""Values that are apart by a tie, give or take this share of it, count as equal or not: the check
of a tie in the optimiser is so much looser than its row."""
MOST_UNITS = 400
NEAR = 1e-9
Mode = Literal["async", "sync", "local"]
Array = npt.NDArray[np.float64]
COLUMNS = ("it_power_kw", "facility_power_kw", "heat_liquid_kw", "heat_air_kw", "racks")
COLUMNS += ("weight_kg", "capex_usd", "tco_usd")
"""What purchases of GPU systems and storage use up, bounds of a plan's totals."""


@dataclass(frozen=True)
class Best:
    """A plan as enumerated: the objective, its tie-breakers, and how it is reached.

    Of the best plan ``top`` is the best value there is, ``top_capex_usd`` the least and the most
    that the cheapest plan so good costs; ``value`` is worse where preferred vendors or money are
    worth it. ``others`` counts the units from vendors that are not preferred.
    """

    value: float
    capex_usd: float
    it_power_kw: float
    units: int
    storage_units: int
    counts: dict[str, int]
    gpus_used: int
    mode: Mode
    interval_s: float
    goodput: float
    others: int
    found: Found
    top: float = 0.0
    top_capex_usd: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Use:
    """GPU systems bought, those in use by type, GPUs in use and the pace of each type."""

    bought: Mapping[str, int]
    systems: Mapping[str, int]
    gpus: int
    paces: Mapping[str, Pace]

    def tflops(self, job: Job) -> float | None:
        """Return the useful rate of the slowest type."""
        rates = [pace.useful_tflops(job, self.gpus) for pace in self.paces.values()]
        return None if None in rates else min(rate for rate in rates if rate is not None)


def best(
    problem: Problem,
    items: Sequence[Item],
    families: Sequence[Family],
    prices: Mapping[str, Price],
    discounts: Sequence[Discount] = (),
) -> Best | None:
    """Return the best plan by exhaustive enumeration, None where no plan is feasible."""
    inputs = Inputs.from_parts(
        problem=problem, items=items, families=families, prices=prices, discounts=discounts
    )
    return Search(inputs).best()


def worlds(inputs: Inputs) -> Iterator[Basis]:
    """Yield the problem for each spread of a replica, fabric and number of GPUs of a system."""
    start = Basis.of(inputs)
    job, asked = start.job, start.problem.network.compute
    for option in job.options or (None,):
        one = job.model_copy(update={"parallelisms": option})
        for use in (one, *_fewer_gpus(start, one)):
            basis = start.with_job(use, {})
            if asked is None:
                yield basis
                continue
            for switch in asked.switches:
                others = sorted(set(asked.switches) - {switch})
                first = asked.model_copy(update={"switches": (switch, *others)})
                network = basis.problem.network.model_copy(update={"compute": first})
                turned = basis.problem.model_copy(update={"network": network})
                for each in product(asked.planes_allowed, asked.oversubscriptions):
                    yield with_fabric(replace(basis, problem=turned), *each)


def _fewer_gpus(basis: Basis, job: Job) -> Iterator[Job]:
    """Yield the job with fewer GPUs of a system whose left-over trays are its spares."""
    asked, given_gpus = dict[str, int](), job.gpus.per_system
    if job.repair is None or job.repair.unit != "tray" or isinstance(given_gpus, int):
        return
    asked |= given_gpus or {}
    for item in basis.items.values():
        tray = value(item.spare_unit.tray) if item.spare_unit else None
        spans = tray and tray < gpus_of(item) and tray % tensor_gpus(job)
        if not spans or item.id in asked:
            continue
        known = {usable_gpus(job, item)}
        for most in range(gpus_of(item) - 1, tensor_gpus(job) - 1, -1):
            gpus = job.gpus.model_copy(update={"per_system": {**asked, item.id: most}})
            one = job.model_copy(update={"gpus": gpus})
            if usable_gpus(one, item) not in known:
                known.add(usable_gpus(one, item))
                yield one


class World:
    """Candidates of one world, what they use up, and exact plans."""

    def __init__(self, basis: Basis) -> None:
        self.basis, self.job = basis, basis.job
        self.decided = {
            category: [item for item in basis.items.values() if item.category == category]
            for category in ("gpu_system", "storage")
        }
        self.limits = self._limits()
        self.counts = {
            item.id: self._counts(item) for kind in self.decided.values() for item in kind
        }
        self.bandwidth: Array | None = None
        self.barred: dict[str, str | None] = {}
        self.bills: dict[tuple[tuple[str, int], ...], Bill | None] = {}

    def _limits(self) -> Array:
        rows = {row.figure: limit for row, limit in given(self.basis.problem, "supply")}
        return np.array([rows.get(name, math.inf) * (1 + 1e-6) for name in COLUMNS])

    # Counts and what they use up.

    def used_up(self, item: Item, units: int, share: float = 1.0) -> Array:
        """Return what so many units use up at least, in ``COLUMNS``, a share of power alone."""
        basis, term = self.basis, self.basis.problem.term
        sale = basis.sale(item)
        there = max(units, sale.owned)
        capex = min(sale.net_usd, default=0.0) * basis.bought(item, units)
        kw = (basis.rated_kw(item) or 0.0) * share * there
        liquid, tco = basis.liquid_share(item) * kw, capex
        if term is not None:
            drawn = min(basis.typical_kw(item) or 0.0, kw / max(1, there)) * there
            usd = drawn * basis.pue(item) * 8760 * term.electricity_usd_per_kwh
            tco += usd * sum(
                max(0.0, min(1.0, term.years - y)) / (1 + term.discount_rate) ** (y + 1)
                for y in range(math.ceil(term.years))
            )
        weight = (basis.weight_kg(item) or 0.0) * there
        return np.array([kw, kw * basis.pue(item), liquid, kw - liquid, 0.0, weight, capex, tco])

    def _counts(self, item: Item) -> list[int]:
        """Return the counts of an item that its own limits allow."""
        basis, rule = self.basis, self.basis.rule(item.id)
        owned, most = basis.sale(item).owned, MOST_UNITS
        if excluded(basis, item, 1) is not None:
            most = owned if owned and excluded(basis, item, 0) is None else 0
        ends = [rule.max, rule.fixed, value(item.max_units)]
        ends += [item.sizes.rows[-1].units] if item.sizes else []
        ends += [value(f.max_units) for f in basis.inputs.families if f.id == item.family]
        most = min([most, *(max(end, owned) for end in ends if end is not None)])
        least = max(value(item.min_units) or 1, item.sizes.rows[0].units if item.sizes else 1)
        power = min((pace.power_share for pace in self.paces(item)), default=1.0)
        counts = []
        for units in range(most + 1):
            if (self.used_up(item, units, power) > self.limits).any():
                break
            there = max(units, owned)
            wrong = rule.fixed is not None and there != rule.fixed
            wrong |= there < max(rule.min or 0, int(rule.required))
            if not wrong and (units == 0 or units >= least):
                counts.append(units)
        else:
            assert most < MOST_UNITS, f"{item.id}: nothing limits its count"
        return counts

    # GPU systems.

    def paces(self, item: Item) -> list[Pace]:
        """Return every way to run on a type."""
        job, training, found = self.job, self.job.training, []
        if item.category != "gpu_system" or least_replicas(item, job) is None:
            return []
        power, option, rated_kw = job.power, job.parallelism, self.basis.rated_kw(item)
        caps: set[float] = {1.0}
        if power is not None:
            caps |= {row.gpu_cap for row in (*item.power_points, *power.curve)}
            caps = set(power.asked) if power.asked is not None else {c for c in caps if c <= 1.0}
        for precision in training.precisions:
            each_gb = (job.parameters or 0.0) * parameters_share(job) / 1e9
            memory = value(item.gpu.memory)
            if option and memory and each_gb * WEIGHT_BYTES[precision] > memory * (1 + 1e-8):
                continue
            row, rate = measured_rate(item, job, precision), peak_tflops(item, precision)
            for cap in sorted(caps):
                point = set_point(job, item, precision, cap, rated_kw)
                if point is None:
                    continue
                left = getattr(point, "middle" if power is None else power.reading)
                left *= option.factor if option else 1.0
                pace = Pace(point.power, left, rate, training.mfu, training.scale_reference)
                if training.model is not None:
                    share = None if row is None else row.rate_tflops / (rate or row.rate_tflops)
                    rate_of = rate or (row.rate_tflops if row else None)
                    pace = Pace(point.power, left, rate_of, share, row.gpus if row else None)
                    pace = pace if row else pace._replace(tflops=None)
                found.append(pace)
        rated = [pace for pace in found if pace.tflops is not None and pace.mfu is not None]
        return rated or found

    def fabric_of(self, sku: str) -> tuple[Any, ...] | None:
        """Return the first switch that fits a type and what tells one fabric from another."""
        asked = self.basis.problem.network.compute
        plug = None if asked is None else plug_of(self.basis, sku, asked.planes_allowed[0])
        for switch in asked.switches if asked and plug else ():
            group = port_group(self.basis, plug, switch) if plug else None
            if group is not None and plug is not None:
                return switch, group.speed_gbit_per_s, plug.ports, plug.rails, plug.rail_group
        return None

    def uses(self) -> Iterator[Use]:
        """Yield every purchase and use of GPU systems within the limits."""
        items, job, asked = self.decided["gpu_system"], self.job, self.basis.problem.network.compute
        paces = {item.id: self.paces(item) for item in items}
        fabrics = {item.id: self.fabric_of(item.id) for item in items}
        power = {sku: min((p.power_share for p in own), default=1.0) for sku, own in paces.items()}
        if asked is not None:  # a type without a fabric is not bought
            self.counts |= {
                sku: [0] for sku, own in fabrics.items() if own is None and 0 in self.counts[sku]
            }
        for counts in product(*(self.counts[item.id] for item in items)):
            bought = {item.id: n for item, n in zip(items, counts, strict=True)}
            least = sum(self.used_up(item, bought[item.id], power[item.id]) for item in items)
            if (np.asarray(least) > self.limits).any():
                continue
            there = [sku for sku, n in bought.items() if n and paces[sku]]
            for size in range(1, min(job.gpus.max_types, len(there)) + 1):
                for types in combinations(there, size):
                    if asked is not None:
                        own = {fabrics[sku] for sku in types}
                        if len(own) > 1 or next(iter(own), ("",))[0] != asked.switches[0]:  # type: ignore[index]
                            continue
                    for systems, gpus in self._systems(types, bought):
                        for chosen in product(*(paces[sku] for sku in types)):
                            yield Use(bought, systems, gpus, dict(zip(types, chosen, strict=True)))

    def _systems(
        self, types: Sequence[str], bought: Mapping[str, int]
    ) -> Iterator[tuple[dict[str, int], int]]:
        """Yield systems in use by type and GPUs in use, within the bounds on GPUs."""
        job, items, option = self.job, self.basis.items, self.job.parallelism
        sizes, replica = [usable_gpus(job, items[sku]) for sku in types], whole_replica(job)
        targets, law = self.basis.problem.targets, job.training.scale
        each = 1 if option is None else replica_gpus(option)
        replicas = max(least_replicas(items[sku], job) or 1 for sku in types)
        low = max(each * replicas, job.gpus.min or 1, targets.min_gpus or 1)
        high = math.inf if job.gpus.max is None else job.gpus.max
        if law is not None and law.micro_batches is not None and option is not None:
            high = min(high, law.micro_batches * batch_gpus(option))
        if 0 in sizes:
            return
        most = [size * bought[sku] for size, sku in zip(sizes, types, strict=True)]
        steps = sizes if replica is None else [replica] * len(sizes)
        for parts in product(*(range(s, m + 1, s) for s, m in zip(steps, most, strict=True))):
            used = [-(-part // size) for part, size in zip(parts, sizes, strict=True)]
            systems, gpus = dict(zip(types, used, strict=True)), sum(parts)
            if low <= gpus <= high:
                yield systems, gpus

    # Storage.

    @cached_property
    def stores(self) -> list[dict[str, int]]:
        """Every purchase of storage within the limits that holds the data."""
        items, storage = self.decided["storage"], self.basis.problem.storage
        most = storage.exact_families or storage.max_families
        found, spent = [dict[str, int]()], [np.zeros(len(COLUMNS))]
        for item in items:
            pairs = [
                ({**have, item.id: n} if n else have, so_far + self.used_up(item, n))
                for have, so_far in zip(found, spent, strict=True)
                for n in self.counts[item.id]
            ]
            pairs = [
                (h, s)
                for h, s in pairs
                if (s <= self.limits).all() and len(self.families(h)) <= most
            ]
            found, spent = [h for h, _ in pairs], [s for _, s in pairs]
        self.spent = np.array(spent).reshape(-1, len(COLUMNS))
        exact = storage.exact_families
        run = Run(self.basis, self.job, {}, {}, 1, 1.0, 0, "async", (), {})
        needed_tb, kept = run.capacity_needed_tb * (1 - 1e-6), []
        for n, have in enumerate(found):
            tb = sum(
                (value(self.basis.items[s].provides.usable) or 0.0) * k
                for s, k in self.basis.flash(have).items()
            )
            number = len(self.families(have))
            if number == (exact or max(1, number)) and tb >= needed_tb:
                kept.append(n)
        kept.sort(key=lambda n: sum(found[n].values()))
        self.spent = self.spent[kept]
        self.units = np.array([sum(found[n].values()) for n in kept])
        return [found[n] for n in kept]

    def families(self, counts: Mapping[str, int]) -> tuple[str, ...]:
        """Return the families of flash storage."""
        flash = self.basis.flash(counts)
        return tuple(sorted({self.basis.items[sku].family or sku for sku in flash}))

    # Exact plans.

    def bill(self, cluster: Mapping[str, int]) -> Bill | None:
        """Return what a cluster brings along, None where it cannot be built."""
        key = tuple(sorted(cluster.items()))
        if key not in self.bills:
            compute: dict[tuple[Any, ...], list[str]] = {}
            if self.basis.problem.network.compute is not None:
                for sku in self.basis.of_kind(cluster, "gpu_system"):
                    compute.setdefault(self.fabric_of(sku) or ("",), []).append(sku)
            pairs = [(key[0], skus) for key, skus in compute.items()]
            choose = fewest_switches(self.basis)
            try:
                bill = build_bill(
                    self.basis, cluster, pairs, choose, lambda n: fewest_racks(self.basis, n)
                )
            except UnbuildableError:
                self.bills[key] = None
            else:
                self.bills[key] = bill if self._to_be_had(bill) else None
        return self.bills[key]

    def paid(self, basis: Basis, bill: Bill) -> list[Paid]:
        """Return what is paid for everything bought."""
        bought = {
            sku: basis.bought(
                basis.items[sku], bill.cluster.get(sku, 0) if sku in bill.standing else n
            )
            for sku, n in bill.in_place.items()
        }
        for sku, n in spare_parts(basis, bill.cluster).items():
            bought[sku] = basis.sale(basis.items[sku]).order(n)
        found, money = [], basis.problem.shown_in
        for sku, n in bought.items():
            sale, price = basis.sale(basis.items[sku]), basis.inputs.prices.get(sku)
            net = sale.net_usd[0] if sale.net_usd else 0.0
            support = getattr(sale.support, "usd", None)
            support = getattr(sale.support, "share", 0.0) * net if support is None else support
            yearly = (price.per_year_usd or 0.0) * (1 - sale.discount) if price else 0.0
            usd = net * n, cents(support, money)[0] * n, cents(yearly, money)[0] * n
            days = price.lead_time_days if price and n else None
            found.append(Paid(basis.items[sku], *usd, days))
        return found

    def plans(self, use: Use, store: Mapping[str, int], mode: Mode) -> Iterator[Found]:
        """Yield the feasible plans of a use of GPUs with a purchase of storage in a mode."""
        job, cluster = self.job, {sku: n for sku, n in {**use.bought, **store}.items() if n}
        families, local = self.families(store), job.checkpoint.local
        if not families or any(use.bought[s] < 1 for s in use.systems):
            return
        capped = {s: p.power_share for s, p in use.paces.items() if p.power_share != 1.0}
        basis = replace(self.basis, power_share=capped)
        for every in local.every if mode == "local" and local else (0,):
            mode_of = "async" if mode == "local" else mode
            args = cluster, use.systems, use.gpus, 3600.0, every, mode_of, families, use.paces
            run = Run(basis, job, *args)
            nothing = cast("Bill", None)
            try:
                plan = Found(basis, nothing, {"gpus_used": use.gpus}, operate(run))
                plan = self._at_best(plan, every)
            except (ZeroDivisionError, OverflowError, ValueError):
                continue
            if plan is None or not self._runs(plan):
                continue
            bill = self.bill(cluster)
            if bill is None:
                return
            paid = self.paid(basis, bill)
            totals = totals_of(basis, bill, paid, plan.operation.figures, use.gpus)
            plan = replace(plan, bill=bill, totals=totals)
            known = OBJECTIVES[self.basis.problem.objective.name].figure.name
            if plan.values[known] is not None and all(x.holds for x in reached_limits(plan)):
                yield plan

    def _to_be_had(self, bill: Bill) -> bool:
        """Whether every item may be bought, and fits into a rack."""
        basis, racked = self.basis, self.basis.problem.site.rack is not None
        for sku, n in {**bill.companions, **bill.cluster}.items():
            item = basis.items[sku]
            bought = basis.bought(item, n)
            if bought and sku not in self.barred:
                self.barred[sku] = excluded(basis, item, 1)
            if bought and (sku not in basis.inputs.prices or self.barred[sku]):
                return False
        return bill.room.complete or not (racked and basis.problem.site.racks is not None)

    def _at_best(self, found: Found, every: int) -> Found | None:
        """Return the plan at the interval of the highest goodput that limits allow."""
        run, policy = found.run, self.job.checkpoint.interval
        interval_s = best_interval_s(found, every)
        repairs = found.operation.repairs
        if policy.policy == "optimal" and interval_s is not None and repairs and repairs.states:
            low = max(policy.min_s, shortest_interval_s(found, every))
            at = found.operation.goodput_at
            interval_s = peak(lambda i: at(i, every), low, max(low, policy.max_s))
        if interval_s is None:
            return None
        if policy.policy == "optimal" and interval_s > policy.max_s * (1 + 1e-7):
            return None
        again = operate(replace(run, interval_s=interval_s))
        return replace(found, operation=again)

    def _runs(self, found: Found) -> bool:
        """Whether the job runs within its own limits."""
        operation, run = found.operation, found.run
        if operation.figures["goodput"] <= 0 or not self._mends(operation):
            return False
        hot = hot_spares(run)
        enough = all(run.counts[s] >= run.systems[s] + n for s, n in hot.items())
        down = operation.figures["degraded_drain_s"], operation.figures["degraded_restore_s"]
        enough &= all(each is None or math.isfinite(each) for each in down)
        return enough and all(limit.holds for limit in job_limits(found))

    def _mends(self, operation: Operation) -> bool:
        repairs = operation.repairs
        if repairs is None:
            return True
        longest_s = longest_swap_share(repairs.share) * operation.times.mtti_s
        short = repairs.spares(repairs.unit) < 0
        return not short and repairs.repair.swap_s <= longest_s * (1 + 1e-7)


class Rows(NamedTuple):
    """A use of GPUs with purchases of storage: bounds on the signed value, what is used up at
    least, and units of storage."""

    use: Use
    hopes: Array
    spent: Array
    units: npt.NDArray[np.int64]


class Order(NamedTuple):
    """How plans are sorted: a bound for rows of purchases, and a plan's own place."""

    bound: Callable[[Rows], Array]
    own: Callable[[Best, float], float]


BY_VALUE = Order(lambda rows: -rows.hopes, lambda plan, sign: -sign * plan.value)
BY_CAPEX = Order(lambda r: r.spent[:, COLUMNS.index("capex_usd")], lambda plan, _: plan.capex_usd)


class Search:
    """Every plan of a problem, the best hopes first."""

    def __init__(self, inputs: Inputs) -> None:
        self.problem = inputs.problem
        self.worlds = [World(basis) for basis in worlds(inputs)]
        goal = self.problem.objective
        self.sign = 1.0 if goal.maximize is not None else -1.0
        self.figure = OBJECTIVES[goal.name].figure.name
        wanted, local = self.problem.job.checkpoint.mode, self.problem.job.checkpoint.local
        self.modes: list[Mode] = ["async", "sync"] if wanted == "open" else [wanted]
        if local is not None and local.use != "no":
            self.modes = ["local"] if local.use == "yes" else [*self.modes, "local"]
        self.known: dict[Any, list[Best]] = {}

    # Bounds.

    def _value(self, use: Use, world: World, kept: Array, spent: Array) -> Array:
        """Return the signed objective of a goodput and of what is used up; no plan does better."""
        rate, term, job = use.tflops(world.job), self.problem.term, world.job
        useful, spent = use.gpus * np.maximum(kept, 1e-300), np.atleast_2d(spent)
        pflops = useful * (rate or math.inf) / 1000
        columns = {"heat_btu_per_h": spent[:, 0] * 3412.14} | {
            name: spent[:, n] for n, name in enumerate(COLUMNS)
        }
        columns |= {"useful_gpus": useful, "useful_pflops": pflops}
        columns["gpus_used"] = use.gpus + 0.0 * kept
        if term is not None:
            hours = term.years * 8760
            active = job.training.active_parameters or job.parameters or math.inf
            tco = spent[:, COLUMNS.index("tco_usd")]
            columns["usd_per_useful_gpu_hour"] = tco / (useful * hours)
            tokens = pflops * 1e15 * hours * 3600 / (6 * active) / 1e6
            columns["usd_per_million_tokens"] = tco / tokens
        known = columns.get(self.figure, np.zeros(1))
        return np.where(kept > 0.0, self.sign * known + np.zeros(len(spent)), -math.inf)

    def _kept(self, world: World, use: Use, mode: Mode) -> Array:
        """Return the goodput of each purchase of storage at the best interval, no limit on it."""
        job, basis = world.job, world.basis
        if not world.stores:
            return np.zeros(0)
        run = Run(basis, job, {}, use.systems, use.gpus, 1.0, 0, mode, (), use.paces)
        clients = {}
        for families in {world.families(store) for store in world.stores} - {()}:
            served = replace(run, families=families)
            clients[families] = served.clients("read")[0], served.clients("write")[0]
        most = np.array([clients.get(world.families(s), (NEAR, NEAR)) for s in world.stores])
        (read, write), down = np.minimum(self._bandwidth(world), most[None]).transpose(0, 2, 1)
        drain_s, restore_s = run.size_gb / write, run.fan_out * run.size_gb / read
        down_s, again_s = run.size_gb / down[1], run.fan_out * run.size_gb / down[0]
        stall, mtti_s = run.stall(), 86400 / (run.failures * use.gpus)
        stall_s = (
            drain_s
            if mode == "sync"
            else 0.0 * drain_s
            + (stall["overhead_s"] + stall["copy_s"] if stall else float(job.checkpoint.stall_s))
        )
        lag_s, slow = (0.0, 0.0) if mode == "sync" else (drain_s, job.checkpoint.drain_slowdown)
        share = (stall_s + slow * drain_s) / mtti_s
        z = (share + np.sqrt(share**2 + 8.0 * share)) / 2.0 + 1e-12
        for _ in range(6):
            rest = np.expm1(-z)
            z = np.maximum(z + (z + rest - share) / rest, 1e-12)
        low, high = self._interval(job, mtti_s)
        least = down_s / job.checkpoint.max_blocking
        local, far_s = job.checkpoint.local, lag_s + job.restart_s + restore_s
        if mode == "local" and local is not None:  # a failure costs what it costs nearby at least
            demand = basis.problem.storage.rule == "demand"
            overlap = job.checkpoint.max_overlap if demand else 1.0
            least = down_s / overlap / max(local.every)
            share, far_s, z = 0.0 * share + stall_s / mtti_s, 0.0 * far_s, 0.0 * z + 1e-12
            z = np.maximum(z, np.sqrt(2 * share))
            for _ in range(6):
                rest = np.minimum(np.expm1(-z), -1e-15)
                z = np.maximum(z + (z + rest - share) / rest, 1e-12)
        elif mode != "sync":
            demand = basis.problem.storage.rule == "demand"
            overlap = job.checkpoint.max_overlap if demand else 1.0
            least = np.maximum(down_s / overlap, stall_s + down_s)
        possible = least <= high * (1 + 1e-6)
        if job.restore.max_time_s is not None:
            possible &= again_s <= job.restore.max_time_s * (1 + 1e-6)
        if job.repair is not None and job.repair.when_short == "shrink":
            return np.where(possible, 1.0 - job.lost_share, 0.0)
        z = np.clip(z, np.maximum(low, least) / mtti_s, max(high, low) / mtti_s * (1 + 1e-6))
        kept = np.maximum(1.0 - share / z, 0.0) * z * np.exp(-z) / -np.expm1(-z)
        kept = kept * np.exp(-far_s / mtti_s)
        kept = np.minimum(1.0, kept * (1 + 1e-11)) * (1.0 - job.lost_share)
        return np.where(possible & (kept >= self.least_kept(use)), kept, 0.0)

    def _interval(self, job: Job, mtti_s: float) -> tuple[float, float]:
        """Return the shortest and the longest interval that the policy allows, s."""
        policy = job.checkpoint.interval
        if policy.policy == "optimal":
            return policy.min_s, policy.max_s
        fixed_s = policy.every_s if policy.policy == "fixed" else policy.kappa * mtti_s
        return fixed_s, fixed_s

    def least_kept(self, use: Use) -> float:
        """Return the goodput that targets ask for."""
        targets = self.problem.targets
        least = [targets.min_goodput or 0.0, (targets.min_useful_gpus or 0.0) / use.gpus]
        rate = use.tflops(self.worlds[0].job)
        if rate and targets.min_useful_pflops:
            least.append(targets.min_useful_pflops * 1000 / (rate * use.gpus))
        return max(least) * (1 - 1e-6)

    def _bandwidth(self, world: World) -> Array:
        """Return delivered bandwidth, now and with appliances down: of each purchase (read, write),
        bursts included, clients not."""
        if world.bandwidth is None:
            rows, basis = [], world.basis
            for store in world.stores:
                run = Run(basis, world.job, store, {}, 1, 1.0, 0, "async", (), {})
                now = np.maximum(run.delivered if basis.flash(store) else (0.0, 0.0), NEAR)
                rows.append(
                    (now, np.maximum(now - run.lost(basis.problem.storage.tolerate_down), NEAR))
                )
            world.bandwidth = np.array(rows).reshape(-1, 2, 2).transpose(1, 0, 2)
        return world.bandwidth

    # The search.

    def plans(self, least: float = -math.inf, order: Order = BY_VALUE) -> Iterator[Best]:
        """Yield feasible plans no worse than ``least`` (signed), the first of an order first.

        Args:
            least: of the signed value.
            order: how plans are sorted, and a bound of it. A plan follows once no bound is before.
        """
        ticket, heap = count(), list[tuple[Any, ...]]()
        for world, use, spent in self._all_uses():
            everything = spent + (world.spent.min(axis=0) if len(world.stores) else 0.0)
            kept = np.array([1.0 - world.job.lost_share])
            hope = float(self._value(use, world, kept, everything)[0])
            if hope >= least and world.stores and (everything <= world.limits).all():
                rows = Rows(use, np.array([hope]), everything[None], world.units[[0, -1]])
                heap.append(
                    (float(order.bound(rows).min()), next(ticket), "use", world, use, spent)
                )
        heapify(heap)
        while heap:
            _, _, kind, *rest = heappop(heap)
            if kind == "plan":
                yield rest[0]
            elif kind == "use":
                for row in self._rows(*rest, least, order):
                    heappush(heap, (row[0], next(ticket), "row", *row[1:]))
            else:
                entries, place, world, use, mode = rest
                index = entries[place][1]
                for plan in self._exact(world, use, index, mode):
                    if self.sign * plan.value >= least:
                        own = order.own(plan, self.sign)
                        early = own - 10 * NEAR * abs(own)  # before all that tie with it
                        heappush(heap, (early, next(ticket), "plan", plan))
                if place + 1 < len(entries):
                    row = entries, place + 1, world, use, mode
                    heappush(heap, (entries[place + 1][0], next(ticket), "row", *row))

    def _all_uses(self) -> list[tuple[World, Use, Array]]:
        if not hasattr(self, "_uses"):
            self._uses = []
            for world in self.worlds:
                for use in world.uses():
                    each = (
                        world.used_up(
                            world.basis.items[s],
                            n,
                            use.paces[s].power_share if s in use.paces else 1.0,
                        )
                        for s, n in use.bought.items()
                    )
                    self._uses.append((world, use, np.sum(list(each), axis=0)))
        return self._uses

    def _rows(
        self, world: World, use: Use, spent: Array, least: float, order: Order
    ) -> Iterator[tuple[Any, ...]]:
        """Yield, of each mode, the purchases of storage by their bounds, as one entry of a heap."""
        everything = world.spent + spent
        within = (everything <= world.limits).all(axis=1)
        for mode in self.modes:
            hopes = self._value(use, world, self._kept(world, use, mode), everything)
            hopes = hopes + np.abs(np.where(hopes > -math.inf, hopes, 0.0)) * NEAR
            keys = order.bound(Rows(use, hopes, everything, world.units))
            chosen = np.flatnonzero(within & (hopes >= least) & (hopes > -math.inf))
            entries = [(float(keys[n]), int(n)) for n in chosen[np.argsort(keys[chosen])]]
            if entries:
                yield entries[0][0], entries, 0, world, use, mode

    def _exact(self, world: World, use: Use, index: int, mode: Mode) -> list[Best]:
        key = id(world), id(use), index, mode
        if key not in self.known:
            store = world.stores[index]
            self.known[key] = [
                self._told(world, use, store, mode, found)
                for found in world.plans(use, store, mode)
            ]
        return self.known[key]

    def _told(
        self, world: World, use: Use, store: Mapping[str, int], mode: Mode, found: Found
    ) -> Best:
        counts, run = {s: n for s, n in {**use.bought, **store}.items() if n}, found.run
        prefer, items = self.problem.policy.prefer, world.basis.items
        others = 0
        if prefer is not None:
            mine = {
                i.category
                for w in self.worlds
                for i in items.values()
                if i.vendor in prefer.vendors and any(w.counts.get(i.id, ()))
            }
            others = sum(
                n
                for s, n in counts.items()
                if items[s].category in mine and items[s].vendor not in prefer.vendors
            )
        values = found.values
        return Best(
            value=values[self.figure],
            capex_usd=values["capex_usd"],
            it_power_kw=values["it_power_kw"] or 0.0,
            units=sum(counts.values()),
            storage_units=sum(store.values()),
            counts=counts,
            gpus_used=run.gpus,
            mode=mode,
            interval_s=run.interval_s,
            goodput=values["goodput"],
            others=others,
            found=found,
        )

    def best(self) -> Best | None:
        """Return the plan that objective, capex, IT power, units and goodput put first, in order.

        Before them, among plans good enough, come the fewest units from vendors not preferred.
        """
        top = next(self.plans(), None)
        if top is None:
            return None
        most, scale = self.sign * top.value, abs(top.value)
        prefer, indifferent = self.problem.policy.prefer, self.problem.objective.indifferent
        ends = [self._cheapest(most - TIE * w * scale, None) for w in (1 + EDGE, 1 - EDGE)]
        others = None
        if prefer is not None:
            near = most - (TIE + prefer.within) * scale
            known = list(self.plans(near))
            others = min(plan.others for plan in known)
            most = max(self.sign * plan.value for plan in known if plan.others == others)
        floor = most - max(TIE, indifferent) * abs(most)
        cheapest = self._cheapest(floor, others)
        tied = [p for p in self._up_to(floor, cheapest * (1 + TIE)) if others in (None, p.others)]
        owned = any(rule.in_place for rule in self.problem.items.values())
        for name in ("it_power_kw", *(("value",) if owned else ()), "units", "goodput"):
            turn = -1.0 if name == "goodput" or (name == "value" and self.sign > 0) else 1.0
            least = min(turn * getattr(p, name) for p in tied)
            tied = [p for p in tied if turn * getattr(p, name) <= least + TIE * abs(least)]
        return replace(tied[0], top=top.value, top_capex_usd=(ends[0], ends[1]))

    def _up_to(self, least: float, capex_usd: float) -> list[Best]:
        found = []
        for plan in self.plans(least, BY_CAPEX):
            if plan.capex_usd > capex_usd:
                break
            found.append(plan)
        return found

    def _cheapest(self, least: float, others: int | None) -> float:
        """Return the least capex of plans that are good enough."""
        plans = self.plans(least, BY_CAPEX)
        return next(plan.capex_usd for plan in plans if others in (None, plan.others))
