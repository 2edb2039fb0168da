"""The integer program of a plan, in PuLP.

The search decides the way (GPU types, set point, parallelism, mode) and the number of spares; of
these the program decides every whole number of the bill, and with them bandwidth and useful work:

    maximise    useful work, or minimise money, power, units
    subject to  power, space, money, stock, policy        the bill within every limit
                overlap, restore, ingest, capacity        storage meets the job's demands
                useful work <= its tangents               work is no more than it can be

It reads from top to bottom: sets and parameters, variables, then a method for each constraint.
Counts of companions follow from the purchase by rounding up, so they are variables too. Everything
is in plain units; money is in millions of USD. docs/optimisation.md has the mathematics.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from pulp import LpAffineExpression, LpMaximize, LpMinimize, LpProblem, lpSum

from planner.case import Case, Storage
from planner.case.figures import has_falling_sizes, max_units, max_units_in_use, weights
from planner.case.items import Offer
from planner.case.job import ROUNDING
from planner.figures import OBJECTIVES, RATIOS
from planner.limits import MILLION, SUPPLIES
from planner.optimizer.counts import Bandwidth, Counts, Expression, Purchases, Rows, value_of
from planner.optimizer.useful_work import MEASURES, Measure, Point, Tangent, Team, UsefulWork
from planner.optimizer.work import TOLERANCE

CLEAN = 1e-8
"""A slope that can change work by less than this share is none: its range goes into the constant.
Coefficients of 1e-15 beside 1 lead solvers astray."""
TINY = 1e-9
PIECES = 8
"""Tangents that hold a demand which is convex in the GPUs in use."""


class Program(Rows):
    """The program of a case and a team.

    Attributes:
        problem: the PuLP problem.
        units: x_k, units in the cluster of each offer, whole; 0 where no plan of the team buys any.
        used: u_k, systems in use of each type, whole and at least one.
        gpus: GPUs in use, N: whole replicas, or all that whole systems hold.
        write, read: delivered bandwidth, GB/s; ``safe_write`` and ``safe_read`` with appliances
            down, where the problem asks for it; ``data`` that of training data.
        endured: TB a day that the flash bought endures; None where no item states it.
        work: useful work by measure, where the problem asks for it.
    """

    def __init__(self, case: Case, team: Team) -> None:
        # Sets and parameters
        if case.multi_fabric_systems:  # the way names the compute fabric
            case = replace(case, companions=case.companions_for([way.id for way in team.ways]))
        self.case, self.job, self.team = case, case.job, team
        self.useful = UsefulWork(case, team)
        self.sizes_fall = has_falling_sizes(case)
        self.systems, self.ways = [system for system, _ in team.running], team.ways
        policy = case.policy
        self.named = {name for ids in policy.required for name in ids}
        self.named |= {n for split in policy.splits for ids in split.vendors for n in ids}
        self.offers = [offer for offer in case.offers() if self._may_be_bought(offer)]
        self.storage = [item for item in self.offers if isinstance(item, Storage)]
        stored = {item.family for item in self.storage}
        self.families = [family for family in case.families if family.id in stored]
        self.tops = {offer.id: self._highest_count(offer) for offer in self.offers}
        super().__init__(LpProblem("planner", LpMaximize if case.maximise else LpMinimize))
        self.count = Counts(self, case, self.tops)
        self.bought = Purchases(self, case, self.count)
        self.tangents = 0

        # Variables
        self.units = {
            offer.id: self.whole(f"x_{offer.id}", self.tops[offer.id], float(offer.low))
            for offer in self.offers
        }
        self.count.set_counts(self.units)
        self.used = {
            each.id: self.whole(f"used_{each.id}", max(1, self.tops[each.id]), 1.0)
            for each in self.systems
        }
        self.gpus_of = {way.id: self._gpus_in_use(system.id, way) for system, way in team.running}
        self.gpus = lpSum(self.gpus_of.values())
        most = sum(float(way.usable_gpus * self.tops[s.id]) for s, way in team.running)
        self.most_gpus = min(most, self.useful.gpus_range[1])
        self.serves = {family.id: self.whole(f"family_{family.id}", 1) for family in self.families}
        self.bandwidth = Bandwidth(self, case, self.storage, self.units, self.tops)
        self.write = self.safe_write = self.number("write_gb_per_s")
        self.read = self.safe_read = self.number("read_gb_per_s")
        if case.tolerate_down:
            self.safe_write = self.number("safe_write_gb_per_s")
            self.safe_read = self.number("safe_read_gb_per_s")
        rated = any(item.endurance_tb_per_day is not None for item in self.storage)
        self.endured = self.number("endured_tb_per_day") if rated else None
        self.work: dict[Measure, Expression] = {}
        self.ceilings: dict[str, list[Expression]] = {}

        # Constraints
        self.standing_at_the_set_point()
        self.systems_in_use()
        self.spare_units()
        self.gpus_in_use()
        self.storage_families()
        self.least_orders()
        self.demanded_items()
        self.bandwidth_of_appliances()
        self.bandwidth_with_appliances_down()
        self.bandwidth_of_clients()
        self.write_endurance()
        self.checkpoints_fit()
        self.restore_time()
        self.ingest()
        self.capacity()
        self.bulk_tier()
        self.vendor_rule()
        self.held_write()
        self.vendor_policy()
        self.count.limit_largest_sizes()
        self.supplies()
        self.stock()

    # Sets and parameters

    def _may_be_bought(self, offer: Offer) -> bool:
        """True if a plan of the team buys an offer: no GPU systems of idle types but those that are
        demanded or named by the policy, and none on which a replica as it is spread finds no place.
        """
        if any(offer.id in self.case.unplaced.get(way.id, ()) for way in self.ways):
            return False
        if max_units(self.case, offer) == 0 == offer.low:
            return False
        idle = {each.id for each in self.case.systems} - {each.id for each in self.systems}
        return offer.id not in idle or offer.low > 0 or offer.id in self.named

    def _highest_count(self, offer: Offer) -> int:
        """The most units of an offer that any plan can hold."""
        most = max_units(self.case, offer)
        in_use = next((system for system in self.systems if system.id == offer.id), None)
        may_stand_idle = offer.low > 0 or self.sizes_fall or offer.id in self.named
        if in_use is not None and not may_stand_idle:
            most = min(most, max_units_in_use(self.case, in_use))
        return max(most, offer.low)

    # Variables

    def _gpus_in_use(self, system_id: str, way: Any) -> Expression:
        """N_k = g_k u_k, or whole replicas: m v <= g u <= m v + g - 1, the fewest systems."""
        usable = float(way.usable_gpus) * self.used[system_id]
        if not self.job.whole_replicas:
            return usable
        most = way.most_gpus(max(1, self.tops[system_id])) // way.step_gpus
        held = float(way.step_gpus) * self.whole(f"replicas_{way.id}", most)
        self.row(f"replicas_{way.id}", held - usable <= 0.0)
        self.row(f"fewest_{way.id}", usable - held <= float(way.usable_gpus - 1))
        return held

    # Constraints

    def _at_most(self, delivered: Expression, limit: Expression, name: str) -> None:
        """Add ``delivered <= limit``; keep the limit, as a purchase delivers the least of all."""
        self.ceilings.setdefault(delivered.name, []).append(limit)
        self.row(name, delivered - limit <= 0.0)

    def standing_at_the_set_point(self) -> None:
        """Systems provisioned for another power than their own: all of the way in use."""
        chosen = {way.id for way in self.ways}
        for name, (system, way) in self.case.capped.items():
            place = self.count[system.place] if name in chosen else 0.0
            self.count.set_counts({way.count_name: place})

    def systems_in_use(self) -> None:
        """u_k <= x_k: systems in use are bought."""
        for system in self.systems:
            self.row(f"used_{system.id}", self.used[system.id] <= self.units[system.id])

    def spare_units(self) -> None:
        """h + units in use <= units bought, where spares are of a pool: systems, or their trays."""
        if self.job.repair is None:
            return
        for system, way in self.team.running:
            unit = way.spare_unit
            if unit.in_rack:
                continue
            in_use = self.used[system.id]
            if unit.per_system > 1:
                in_use = (1.0 / unit.gpus) * self.gpus_of[way.id]
            bought = float(unit.per_system) * self.units[system.id]
            self.row(f"spares_{system.id}", in_use - bought <= -float(self.team.spares))

    def gpus_in_use(self) -> None:
        """least <= N <= most: the job's limits, replicas that memory holds, swaps
        that are short beside the time between failures, local copies that fit."""
        low, high = self.useful.gpus_range
        self.row("least_gpus", self.gpus >= min(low, 1e9))
        if high < self.most_gpus + 1.0:
            self.row("most_gpus", self.gpus <= max(high, -1.0))

    def storage_families(self) -> None:
        """z_f: families that serve; at most `most`, none beyond its largest system.

        x_k <= top_k z_f,   sum_{k of f} x_k >= z_f
        """
        serving = lpSum(self.serves.values())
        self.row("storage_families", serving <= self.case.max_families)
        self.row("some_storage", serving >= 1.0)
        for item in self.storage:
            if item.is_bulk:
                continue
            most = float(self.tops[item.id]) * self.serves[item.family]
            self.row(f"family_of_{item.id}", self.units[item.id] - most <= 0.0)
        for family in self.families:
            members = lpSum(self.units[i.id] for i in self.storage if i.family == family.id)
            self.row(f"served_by_{family.id}", members - self.serves[family.id] >= 0.0)
            if family.forced:
                self.row(f"forced_{family.id}", self.serves[family.id] >= 1.0)
            if family.max_units is not None:
                self.row(f"family_max_units_{family.id}", members <= family.max_units)

    def least_orders(self) -> None:
        """x_k = 0, or at least the minimum order."""
        for offer in self.offers:
            if offer.min_units > 1:
                some = self.whole(f"some_{offer.id}", 1)
                units, most = self.units[offer.id], float(self.tops[offer.id])
                self.row(f"least_{offer.id}", units - float(offer.min_units) * some >= 0.0)
                self.row(f"none_or_{offer.id}", units - most * some <= 0.0)

    def demanded_items(self) -> None:
        """No plan where more is demanded than there may be; at least one unit of storage that a
        question is about, and its MOQ."""
        for offer in self.offers:
            if offer.high is not None and offer.low > offer.high:
                self.row(f"demanded_{offer.id}", self.units[offer.id] <= offer.high)
        for item in self.storage:
            if item.id in self.case.must_use:
                least = float(max(1, item.min_units))
                self.row(f"must_use_{item.id}", self.units[item.id] >= least)

    def bandwidth_of_appliances(self) -> None:
        """B <= eta_w sum_k write_k,  Q <= eta_r sum_k read_k: delivered share of the nameplate."""
        read, write = self.bandwidth.delivered(self.bandwidth.total)
        if not self.case.bursts:  # `bursts` holds them at the operating point
            self._at_most(self.write, write, "appliance_write")
        self._at_most(self.read, read, "appliance_read")

    def bandwidth_with_appliances_down(self) -> None:
        """B' <= B,  B' <= eta (sum_k write_k - loss_j) for every item j; the same of reads."""
        if not self.case.tolerate_down:
            return
        self._at_most(self.safe_write, self.write, "safe_write")
        self._at_most(self.safe_read, self.read, "safe_read")
        read, write = self.bandwidth.delivered(self.bandwidth.total)
        for item in self.storage:
            lost_read, lost_write = self.bandwidth.delivered(self.bandwidth.loss[item.id])
            self._at_most(self.safe_write, write - lost_write, f"safe_write_{item.id}")
            self._at_most(self.safe_read, read - lost_read, f"safe_read_{item.id}")

    def bandwidth_of_clients(self) -> None:
        """B <= f C for every family that serves, C the client bandwidth of the systems in use.

        f is the factor of the family's clients. Where one replica writes, C is that of its systems.
        """
        self._clients("write", self.write, one_replica=self.job.one_replica_writes)
        self._clients("read", self.read, one_replica=False)

    def _clients(self, side: str, moved: Expression, *, one_replica: bool) -> None:
        factors = {each.id: getattr(each, f"{side}_factor") for each in self.families}
        # A system that moves more than all appliances together is never the limit.
        every = [f for each in self.families for f in (each.write_factor, each.read_factor)]
        enough = max(*self.bandwidth.most, 1.0) / min(1.0, *every)
        limits = {s.id: min(getattr(s, f"client_{side}_gb_per_s"), enough) for s in self.systems}
        if one_replica:
            most = min(
                math.ceil((way.replica_gpus or 0) / way.usable_gpus) * limits[system.id]
                for system, way in self.team.running
            )
            clients: Expression = LpAffineExpression(constant=most)
        else:
            most = sum(limit * max(1, self.tops[name]) for name, limit in limits.items())
            clients = lpSum(limit * self.used[name] for name, limit in limits.items())
        least, highest = min(factors.values(), default=1.0), max(factors.values(), default=1.0)
        if least == highest:
            self._at_most(moved, least * clients, f"client_{side}")
            return
        for family, factor in factors.items():
            room = (highest - factor) * most  # where the family does not serve
            limit = factor * clients + room - room * self.serves[family]
            self._at_most(moved, limit, f"client_{side}_{family}")

    def write_endurance(self) -> None:
        """V <= sum_k endurance_k x_k, TB a day; a unit of an item that states none lifts it."""
        if self.endured is None:
            return
        least, rule = self.useful.volume_demand_tb_per_day, self.job.interval
        most = least * rule.high_s / max(rule.low_s, 1.0)
        endured = lpSum(
            (most if item.endurance_tb_per_day is None else item.endurance_tb_per_day)
            * self.units[item.id]
            for item in self.storage
        )
        self.endured.upBound = most
        self._at_most(self.endured, endured, "endurance")
        self.row("volume", self.endured >= least)

    def checkpoints_fit(self) -> None:
        """B' >= S / (share of the longest interval): a checkpoint drains within the allowed
        overlap and before the next one begins, or blocks no more than is allowed.

        Async: S / (B I) <= overlap and s + S / B <= I.  Sync: S / (B I) <= blocking.
        With two levels I is that of checkpoints that go to storage. A vendor's rule replaces the
        overlap limit.
        """
        demand, (low, high) = self.useful.write_demand_gb_per_s, self.useful.gpus_range
        low, high = max(1.0, low), min(high, self.most_gpus)
        if high <= low or demand(high) >= demand(low) * (1.0 - ROUNDING):
            self.row("checkpoint", self.safe_write >= min(demand(high), 1e12))
            return
        for number in range(PIECES + 1):  # convex in N: its tangents
            gpus = low + (high - low) * number / PIECES
            step = 1e-4 * gpus
            below, here, above = (demand(n) for n in (gpus - step, gpus, gpus + step))
            if math.isfinite(below):
                slope = (above - below) / (2.0 * step)
                row = self.safe_write - slope * self.gpus
                self.row(f"checkpoint_{number}", row >= (here - slope * gpus) * (1.0 - ROUNDING))

    def restore_time(self) -> None:
        """F(N) S <= T Q',  F = a + c N: a restore reads the checkpoint F times within T."""
        if self.job.max_restore_s is not None:
            fixed, each = self.useful.fan_out
            per_gb = self.job.checkpoint_gb / self.job.max_restore_s
            copies = (each * per_gb) * self.gpus
            self.row("restore_time", self.safe_read - copies >= fixed * per_gb)

    def ingest(self) -> None:
        """g N <= Q: all systems in use read training data."""
        if self.job.ingest_per_gpu_gb_per_s > 0:
            need = self.job.ingest_per_gpu_gb_per_s * self.gpus
            self.row("ingest", self.read - need >= 0.0)

    def capacity(self) -> None:
        """sum_k usable_k x_k >= TB needed."""
        usable = lpSum(item.usable_tb * self.units[item.id] for item in self.storage)
        self.row("capacity", usable >= self.job.capacity_needed_tb)

    def bulk_tier(self) -> None:
        """sum_k bulk_k x_k >= TB of data set and archives;  g N <= eta_r sum_k read_k x_k,
        g N <= (1 - overlap) eta_w sum_k write_k x_k: data leaves bulk and is staged on flash."""
        needed, each = self.job.bulk_needed_tb, self.job.ingest_per_gpu_gb_per_s
        if needed == 0.0:
            return
        bulk = [item for item in self.storage if item.is_bulk]
        held = lpSum(item.bulk_tb / needed * self.units[item.id] for item in bulk)
        self.row("bulk_capacity", held >= 1.0)
        if each > 0.0:
            read = lpSum(item.bulk_nameplate_read_gb_per_s * self.units[item.id] for item in bulk)
            self.row("bulk_read", self.case.delivered_read_share * read - each * self.gpus >= 0.0)
            _, write = self.bandwidth.delivered(self.bandwidth.total)
            self.row("staging", self.job.staged_share * write - each * self.gpus >= 0.0)

    def vendor_rule(self) -> None:
        """sum_k read_k x_k >= r U,  sum_k write_k x_k >= w U,  unit U >= GPUs bought, U whole."""
        rule = self.case.rule
        if rule is None:
            return
        systems = [s for s in self.case.systems if s.id in self.units]
        gpus = lpSum(float(s.gpus) * self.units[s.id] for s in systems)
        groups = gpus
        if rule.per_gpus != 1:
            most = sum(s.gpus * self.tops[s.id] for s in systems) // rule.per_gpus + 1
            groups = self.whole("rule_units", most)
            self.row("rule_units", float(rule.per_gpus) * groups - gpus >= 0.0)
        read, write = self.bandwidth.total
        self.row("rule_read", read - rule.nameplate_read_gb_per_s * groups >= 0.0)
        self.row("rule_write", write - rule.nameplate_write_gb_per_s * groups >= 0.0)

    def held_write(self) -> None:
        """least <= eta_w sum_k write_k <= most, where a question holds the bandwidth bought."""
        limits = self.case.limits
        least, most = limits["least_write_gb_per_s"], limits["most_write_gb_per_s"]
        _, write = self.bandwidth.delivered(self.bandwidth.total)
        if least is not None:
            self.row("least_write", write >= least)
        if most is not None:
            self.row("most_write", write <= most)

    def vendor_policy(self) -> None:
        """sum_{k of vendor} x_k >= 1;  sum_{k of vendor} w_k x_k <= share sum_k w_k x_k."""
        policy, units = self.case.policy, self.units
        for number, ids in enumerate(policy.required):
            some = lpSum(units[name] for name in ids if name in units)
            self.row(f"require_vendor_{number}", some >= 1.0)
        for number, split in enumerate(policy.splits):
            parts = [lpSum(units[name] for name in ids if name in units) for ids in split.vendors]
            whole = lpSum(parts)
            for place, part in enumerate(parts):
                self.row(f"split_{number}_{place}", part - split.max_share * whole <= 0.0)

    def supplies(self) -> None:
        """sum_k w_k n_k <= limit, of everything in place or bought: power at the IT load and at
        the meter, heat to air and to liquid, racks, weight; capex, TCO and yearly budgets."""
        for limit in SUPPLIES:
            most = self.case.limits[limit.field]
            if most is not None:
                spent = self.sum(limit.figure, limit.scale)
                self.row(limit.name, spent <= most / limit.scale)

    def stock(self) -> None:
        """No more is bought of anything than can be had."""
        for item in self.case.bill_items():
            if item.stock is not None:
                self.bought.hold_stock(item)

    # Useful work: variables below tangents, and its floors

    def measure_work(self) -> None:
        """Add useful work in the measures that the problem asks for, and its floors:

        N E >= U,  N E >= E_min N,  PFLOP/s >= F,  TCO <= c h N E,  TCO <= c t PFLOP/s

        Floors have the slack of the search, beyond the tolerance of solvers.
        """
        limits, case, most = self.case.limits, self.case, 1.0 - TOLERANCE
        share, least = limits["min_goodput"], limits["min_useful_gpus"]
        if share is not None:
            self.row("min_goodput", self.useful_work("gpus") - share * most * self.gpus >= 0.0)
        if least is not None:
            self.row("min_useful_gpus", self.useful_work("gpus") >= least * most)
        floor = case.useful_pflops_floor()
        if floor is not None:
            self.row("min_useful_pflops", self.useful_work("pflops") >= floor * most)
        for name, measure, each in self.ratios():
            limit = limits[name]
            if limit is not None:
                worth = (limit * each / MILLION) * self.useful_work(measure)
                self.row(name, self.sum("tco_usd", MILLION) - worth <= 0.0)
        if case.objective in MEASURES:
            self.useful_work(MEASURES[case.objective])

    def ratios(self) -> Iterable[tuple[str, Measure, float]]:
        """Each ratio of money to work: measure, GPU-hours or million tokens of one unit."""
        yield "per_useful_gpu_hour", "gpus", self.case.rates.hours
        if self.job.active_parameters is not None:
            yield "per_million_tokens", "pflops", self.case.million_tokens_per_pflops()

    def useful_work(self, measure: Measure) -> Expression:
        """Useful work; without a law of scale one measure is a multiple of the other."""
        if measure == "pflops" and self.job.scale is None:
            return self.useful.pflops_per_gpu(1.0) * self.useful_work("gpus")
        if measure not in self.work:
            self.work[measure] = self.number(f"useful_{measure}")
        return self.work[measure]

    @property
    def coordinates(self) -> dict[str, Expression]:
        """Arguments of useful work, by the names of a `Point`, as variables."""
        found = {"gpus": self.gpus, "write": self.write, "read": self.read}
        if self.case.tolerate_down:
            found["safe_write"] = self.safe_write
        if self.endured is not None:
            found["endured"] = self.endured
        return found

    def delivered(self, values: Mapping[str, float], *, whole: bool = True) -> Point:
        """The operating point of a solution: all that its purchase delivers."""
        found, known = {}, dict(values)
        for name, variable in self.coordinates.items():
            if name == "gpus":
                gpus = max(value_of(variable, values), 1.0)
                found[name] = float(round(gpus)) if whole else gpus
                continue
            high = [] if variable.upBound is None else [float(variable.upBound)]
            high += [value_of(limit, known) for limit in self.ceilings[variable.name]]
            known[variable.name] = found[name] = max(min(high), TINY)
        found.setdefault("safe_write", found["write"])
        return Point(**found)

    def below(self, measure: Measure, tangent: Tangent) -> None:
        """work <= value + slopes (p - at), clean: a slope whose whole range changes work by less
        than a share of 1e-8 goes into the constant, and the row is divided by its largest
        coefficient. Writes and safe writes are one where no appliance may be down."""
        slopes, most = tangent.slopes._asdict(), self.most._asdict()
        if not self.case.tolerate_down:
            slopes["write"] += slopes.pop("safe_write")
        right, kept = tangent.value, {}
        for name in self.coordinates:
            slope, at = slopes[name], getattr(tangent.at, name)
            if abs(slope) * most[name] < CLEAN * tangent.value:
                right += max(0.0, slope) * (most[name] - at)
            else:
                kept[name] = slope
                right -= slope * at
        largest = max([1.0, *map(abs, kept.values())])
        sloped = lpSum((s / largest) * self.coordinates[name] for name, s in kept.items())
        self.tangents += 1
        row = (1.0 / largest) * self.work[measure] - sloped
        self.row(f"work_{measure}_{self.tangents}", row <= right / largest)

    @cached_property
    def most(self) -> Point:
        """The most of everything that useful work depends on."""
        read, write = self.bandwidth.most
        endured = math.inf if self.endured is None else float(self.endured.upBound)
        return Point(self.most_gpus, write, read, write, endured)

    def bursts(self, at: Point, remote_interval_s: float) -> None:
        """With D = S/B*:  eta D sum_k burst_k x_k >= S,  eta sum_k (buffer_k + D write_k) x_k >= S,
        eta I sum_k write_k x_k >= S: buffers take a checkpoint, and are empty by the next."""
        share, size_gb = self.case.delivered_write_share, self.job.checkpoint_gb
        sustained = self.bandwidth.total[1]
        buffers = lpSum(i.buffer_gb * at.write / size_gb * self.units[i.id] for i in self.storage)
        burst = lpSum(
            item.burst_nameplate_gb_per_s * self.units[item.id]
            if item.burst_nameplate_gb_per_s
            else self.bandwidth.nameplate[item.id][1]
            for item in self.storage
        )
        self.row("burst", share * burst >= at.write)
        self.row("buffer", share * (buffers + sustained) >= at.write)
        less = size_gb / remote_interval_s * (1.0 - ROUNDING)
        self.row("burst_recovery", share * sustained >= less)

    def operate_at(self, at: Point) -> None:
        """N = N*, B >= B*, Q >= Q*, V >= V*: an operating point at least."""
        self.row("at_gpus", self.gpus == at.gpus)
        self.row("at_write", self.write >= at.write)
        self.row("at_read", self.read >= at.read)
        if self.case.tolerate_down:
            self.row("at_safe_write", self.safe_write >= at.safe_write)
        if self.endured is not None:
            self.row("at_endured", self.endured >= min(at.endured, self.endured.upBound))

    # Objectives

    def sum(self, figure: str, scale: float = 1.0) -> Expression:
        """A sum over the bill, in a scale."""
        terms = weights(self.case, figure, self.count, self.bought)
        return lpSum((factor / scale) * count for factor, count in terms)

    def objective(
        self, ratio: float = 0.0, done: Mapping[Measure, float] | None = None
    ) -> tuple[Expression, float]:
        """The objective, and its scale.

        Money per useful work: ``TCO - ratio c work``; it is not below 0 at a ratio that no plan
        passes.

        Args:
            ratio: USD per unit of work.
            done: useful work, where it is given by the operating point.
        """
        name = self.case.objective
        if name == "gpus":
            return self.gpus, 1.0
        measure = MEASURES.get(name)
        if measure is None:
            figure = OBJECTIVES[name].figure
            scale = MILLION if figure.money else 1.0
            return self.sum(figure.name, scale), scale
        work = self.useful_work(measure) if done is None else done[measure]
        if name not in RATIOS:
            return work, 1.0
        each = {f"usd_{ratio_name}": one for ratio_name, _, one in self.ratios()}[name]
        return self.sum("tco_usd", MILLION) - (ratio * each / MILLION) * work, MILLION

    def disliked(self) -> Expression:
        """Units from vendors that are not preferred."""
        ids = self.case.policy.disliked
        return lpSum(self.units[name] for name in ids if name in self.units)
