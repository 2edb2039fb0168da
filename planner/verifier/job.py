"""A job's decisions, and every figure of its operation that follows from them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from planner.schema.catalog import Item
from planner.schema.job import Job, Repair
from planner.schema.operation import JobPlan, LocalPlan
from planner.verifier import goodput as physics
from planner.verifier.basis import Basis, Difference, Findings, agrees, round_up, value
from planner.verifier.goodput import DAY_S, States, Times
from planner.verifier.rates import (
    Pace,
    gpus_of,
    least_replicas,
    replica_gpus,
    tensor_gpus,
    usable_gpus,
    whole_replica,
)

HOURS_PER_YEAR = 8760
CLIENT_GB_PER_S_PER_GPU = 1.0
"""One buffered thread per GPU (S. Kartik, C. Tartow, VAST Data, 2024-01-10)."""
FAILURES_PER_GPU_DAY = {
    "rsc1": 8.13e-4,  # 6.50 failures per 1,000 node-days of 8 GPUs, arXiv 2410.21680 (HPCA'25)
    "rsc2": 2.93e-4,  # 2.34 failures per 1,000 node-days of 8 GPUs, the same paper
    "llama3": 4.74e-4,  # 419 interruptions in 54 days on 16,384 GPUs, arXiv 2407.21783 table 5
    "mlcommons": 4.8e-4,  # 50,000 h per accelerator, MLPerf Storage v2.0 press release
    "shared_research": 2.97e-3,  # 7.9 h per job of 1,024 GPUs, arXiv 2410.21680
}
DEFAULT_FAILURES = "llama3"
BYTES_PER_PARAMETER = {
    "mixed_adam": 14.0,  # bf16 weights 2, fp32 master 4, fp32 moments 4 + 4 (BLOOM-176B)
    "fp32_adam": 12.0,  # fp32 weights 4, fp32 moments 4 + 4
    "bf16_moments": 10.0,  # bf16 weights 2, fp32 master 4, bf16 moments 2 + 2, arXiv 2412.19437
    "weights_only": 2.0,
    "megatron_1t": 13.8,  # 13.8 TB of 1e12 parameters, arXiv 2104.04473 section 5.10
}


class Drive(NamedTuple):
    """Local drives of a system: GB per checkpoint, write GB/s, capacity TB, endurance TB/day."""

    part_gb: float
    write_gb_per_s: float
    capacity_tb: float
    endurance: float | None


@dataclass(frozen=True)
class Run:
    """A job's decisions: storage counts; systems in use by type, GPUs, interval, mode."""

    basis: Basis
    job: Job
    counts: Mapping[str, int]
    systems: Mapping[str, int]
    gpus: int
    interval_s: float
    every: int
    mode: str
    families: tuple[str, ...]
    paces: Mapping[str, Pace]

    @cached_property
    def types(self) -> list[Item]:
        """GPU types in use."""
        return [self.basis.items[sku] for sku in self.systems]

    @property
    def bytes_per_parameter(self) -> float:
        """Bytes per parameter; where only a size is given, those that it implies."""
        job, given = self.job, self.job.bytes_per_parameter
        if job.checkpoint.size_gb is not None and job.parameters:
            if "bytes_per_parameter" not in job.model_fields_set:
                return job.checkpoint.size_gb * 1e9 / job.parameters
        return BYTES_PER_PARAMETER[given] if isinstance(given, str) else given

    @cached_property
    def size_gb(self) -> float:
        """Size of a checkpoint."""
        job = self.job
        implied = (job.parameters or 0) * self.bytes_per_parameter / 1e9
        return implied if job.checkpoint.size_gb is None else job.checkpoint.size_gb

    @property
    def writers(self) -> int:
        """GPUs that write a checkpoint."""
        option, one = self.job.parallelism, self.job.checkpoint.writers == "one_replica"
        return replica_gpus(option) if one and option is not None else self.gpus

    @property
    def failures(self) -> float:
        """Failures per GPU and day: the problem's rate, else the worst type's."""
        asked = self.job.failure_rate
        preset = DEFAULT_FAILURES if asked is None else asked
        rate = FAILURES_PER_GPU_DAY[preset] if isinstance(preset, str) else preset
        own = [item.gpu.failures_per_day for item in self.types] if asked is None else []
        return max((rate if figure is None else figure.value for figure in own), default=rate)

    @property
    def remote_s(self) -> float:
        """Interval of the checkpoints that go to storage."""
        return self.interval_s * max(1, self.every)

    @property
    def fan_out(self) -> float:
        """How many times a restore reads the checkpoint."""
        option, kind = self.job.parallelism, self.job.restore.fan_out
        if option is None or kind == "broadcast":
            return 1.0
        replicas = self.gpus / replica_gpus(option)
        sharded = 1.0 + 2.0 * (replicas - 1.0) / self.bytes_per_parameter
        return replicas if kind == "every_replica" else sharded

    # Storage.

    def clients(self, side: str) -> tuple[float, float, set[int]]:
        """Return the client limits (GB/s) of the systems at work and of all in use, and how many
        systems may be at work. One replica's systems are of the least favourable type.

        Args:
            side: ``read`` or ``write``.
        """
        known = {family.id: family.client_factor for family in self.basis.inputs.families}
        factors = [getattr(known.get(name), side, None) for name in self.families]
        factor = min(1.0 if each is None else each.value for each in factors)
        given, each = getattr(self.basis.problem.storage.client_limit, side), {}
        for item in self.types:
            own = value(getattr(item.client, side))
            own = gpus_of(item) * CLIENT_GB_PER_S_PER_GPU if own is None else own
            each[item.id] = (own if given is None else given) * factor
        whole = math.fsum(self.systems[sku] * gb for sku, gb in each.items())
        option, job = self.job.parallelism, self.job
        one = job.checkpoint.writers if side == "write" else "all"
        if one == "all" or option is None:
            return whole, whole, {sum(self.systems.values())}
        replica = replica_gpus(option)
        held = [(-(-replica // usable_gpus(job, i)), each[i.id]) for i in self.types]
        least = min(n * gb for n, gb in held)
        return least, whole, {n for n, gb in held if n * gb <= least * (1 + 1e-9)}

    @cached_property
    def sustained(self) -> tuple[float, float]:
        """The (read, write) bandwidth that all storage delivers without bursts, GB/s."""
        share = self.basis.problem.storage.delivered_fraction
        plates = [self.basis.nameplate(sku, count) for sku, count in self.counts.items()]
        return share.read * sum(p[0] for p in plates), share.write * sum(p[1] for p in plates)

    @property
    def delivered(self) -> tuple[float, float]:
        """The (read, write) bandwidth that all storage delivers to a checkpoint, GB/s."""
        (read, write), burst = self.sustained, self.burst
        if burst is not None:
            late_s = (self.size_gb - burst["buffer_gb"]) / write
            write = self.size_gb / max(self.size_gb / burst["write_gb_per_s"], late_s)
        return read, write

    @cached_property
    def burst(self) -> dict[str, float] | None:
        """How storage takes bursts, delivered; None where none does, or units may be down."""
        share, basis = self.basis.problem.storage.delivered_fraction.write, self.basis
        rates, buffers = 0.0, []
        for sku, count in basis.flash(self.counts).items():
            item, rate = basis.items[sku], basis.nameplate(sku, count)[1]
            burst, window = value(item.provides.burst_write), value(item.provides.burst_window)
            rows = item.sizes.rows if item.sizes else ()
            each = max((row.write / row.units for row in rows), default=rate / count)
            if burst is None or window is None or burst <= each:
                rates += rate
            else:
                rates += burst * count
                buffers.append((burst - each) * window * count)
        if not buffers or basis.problem.storage.tolerate_down:
            return None
        sustained = self.sustained[1]
        return {
            "write_gb_per_s": share * rates,
            "sustained_gb_per_s": sustained,
            "buffer_gb": share * sum(buffers),
            "recovery_s": self.size_gb / sustained,
        }

    def lost(self, down: int) -> tuple[float, float]:
        """Return the largest delivered (read, write) bandwidth that one item loses, GB/s."""
        share, basis, worst = self.basis.problem.storage.delivered_fraction, self.basis, (0.0, 0.0)
        for sku, count in basis.of_kind(self.counts, "storage").items():
            left = count - down / (value(basis.items[sku].fail_units) or 1)
            now, after = basis.nameplate(sku, count), basis.nameplate(sku, left)
            worst = max(worst[0], now[0] - after[0]), max(worst[1], now[1] - after[1])
        return share.read * worst[0], share.write * worst[1]

    # The local level.

    @cached_property
    def drives(self) -> list[Drive]:
        """The local drives of each type in use."""
        asked, saved, found = self.job.checkpoint.local, self.job.checkpoint, []
        for item in self.types:
            local, gpus = item.local, usable_gpus(self.job, item)
            if asked is not None and local.write is not None and local.capacity is not None:
                held = min(gpus, self.writers) if saved.writers == "one_replica" else gpus
                part_gb = self.size_gb / self.writers * held * asked.copies
                rated = local.write.value, local.capacity.value, value(local.endurance)
                found.append(Drive(part_gb, *rated))
        return found

    def local_limits(self) -> dict[str, Any]:
        """Return room and write volume of the drives, of the fullest and the most worn type."""
        asked, drives = self.job.checkpoint.local, self.drives
        fullest = max(drives, key=lambda drive: drive.part_gb / drive.capacity_tb)
        worn = [(drive.part_gb, drive.endurance) for drive in drives if drive.endurance is not None]
        unrated = max(drive.part_gb for drive in drives), None
        written_gb, endured = max(worn, key=lambda each: each[0] / each[1], default=unrated)
        return {
            "room_tb": (asked.keep if asked else 0) * fullest.part_gb / 1000,
            "capacity_tb": fullest.capacity_tb,
            "volume_tb_per_day": written_gb / 1000 * DAY_S / self.interval_s,
            "endurance_tb_per_day": endured,
        }

    def classes(self) -> list[dict[str, Any]]:
        """Return the classes of interruptions, each with the level a job comes back from."""
        asked = self.job.checkpoint.local
        if asked is None:
            return []
        local = {"yes"} | ({"peer"} if asked.copies > 1 else set())
        return [
            {"name": name, "share": share, "recovers": asked.recovers[name]}
            | {"level": "local" if asked.recovers[name] in local else "remote"}
            for name, share in self.job.failure_shares.items()
        ]

    # Times.

    def stall(self) -> dict[str, float] | None:
        """Return the parts of a derived stall, of the slowest type; None where it is given."""
        saved = self.job.checkpoint
        if saved.stall_s != "derived" or self.mode == "sync":
            return None
        held_gb = self.size_gb / self.writers
        slowest = min(value(item.local.host_copy) or 0.0 for item in self.types)
        copy_s = held_gb / slowest if slowest else math.inf
        own = {"overhead_s": saved.stall_overhead_s or 0.0, "copy_s": copy_s}
        return own | {"gpu_gb": held_gb, "copy_gb_per_s": slowest}

    def times(self) -> tuple[float, Times]:
        """Return the stall (s) and the times that goodput follows from, repairs aside."""
        job, (read, write), saved = self.job, self.delivered, self.job.checkpoint
        write_s = self.size_gb / min(write, self.clients("write")[0])
        restore_s = self.fan_out * self.size_gb / min(read, self.clients("read")[0])
        stall_s, drain_s, slowed_s, derived = write_s, 0.0, 0.0, self.stall()
        if self.mode != "sync":
            given = derived["overhead_s"] + derived["copy_s"] if derived else saved.stall_s
            stall_s, drain_s = float(given), write_s
            slowed_s = saved.drain_slowdown * write_s / max(1, self.every)
        found = Times(
            interval_s=self.interval_s,
            stopped_s=stall_s + slowed_s,
            drain_s=drain_s,
            restart_s=job.restart_s,
            restore_s=restore_s,
            mtti_s=DAY_S / (self.failures * self.gpus),
            idle=job.lost_share,
        )
        if self.every and saved.local is not None and job.restart.local_s is not None:
            found = replace(
                found,
                every=self.every,
                far=sum(c["share"] for c in self.classes() if c["level"] == "remote"),
                near_restart_s=job.restart.local_s,
                near_drain_s=max(drive.part_gb / drive.write_gb_per_s for drive in self.drives),
                drain_restarts=saved.local.drain == "restarts",
            )
        return stall_s, found


# Repairs.


class Unit(NamedTuple):
    """The unit of repair: its GPUs, units per system, usable GPUs of a system, spares in racks."""

    gpus: int
    per_system: int
    usable: int
    in_rack: bool

    @property
    def in_each(self) -> int:
        """Spares in each system, where they stay in their rack."""
        return self.per_system - math.ceil(self.usable / self.gpus)

    @property
    def name(self) -> str:
        """Its name in a plan."""
        return "tray" if self.per_system > 1 else "system"


@dataclass(frozen=True)
class Repairs:
    """Repairs of a run: unit, share of interruptions that take one out, mean repair time."""

    run: Run
    repair: Repair
    share: float
    repair_s: float

    @classmethod
    def of(cls, run: Run) -> Repairs | None:
        """Return the repairs, None where the problem states none."""
        repair = run.job.repair
        if repair is None:
            return None
        kinds = [(each.share, each.time_s) for each in repair.classes]
        if repair.share is not None and repair.time_s is not None:
            kinds = [(repair.share, repair.time_s)]
        share = math.fsum(each for each, _ in kinds)
        return cls(run, repair, share, math.fsum(each * time_s for each, time_s in kinds) / share)

    def unit_of(self, *, tray: bool) -> Unit:
        """Return the unit of repair of the type in use: its trays where known, or the system."""
        (item,) = self.run.types
        whole = gpus_of(item)
        gpus = item.spare_unit.tray.value if tray and item.spare_unit is not None else whole
        in_rack = gpus < whole and gpus % tensor_gpus(self.run.job) != 0
        return Unit(gpus, whole // gpus, usable_gpus(self.run.job, item), in_rack)

    @cached_property
    def unit(self) -> Unit:
        """The unit that the problem asks for."""
        return self.unit_of(tray=self.repair.unit == "tray")

    @cached_property
    def states(self) -> States | None:
        """States of a job that goes on with fewer replicas, None of one that waits."""
        shrinks = self.repair.when_short == "shrink"
        return self.states_with(max(0, self.spares(self.unit))) if shrinks else None

    @property
    def per_gpu(self) -> float:
        """Units out on average per GPU, if the job never waited."""
        return self.run.failures / DAY_S * self.share * self.repair_s

    @property
    def full_s(self) -> float:
        """Mean time between interruptions with all replicas running, s."""
        return DAY_S / (self.run.failures * self.run.gpus)

    def spares(self, unit: Unit) -> int:
        """Return the spare units; negative where fewer than the problem asks for are there."""
        run, asked = self.run, self.repair.spares
        (sku,), (used,) = run.systems, run.systems.values()
        if unit.in_rack:
            return unit.in_each * used
        used = math.ceil(run.gpus / unit.gpus) if unit.per_system > 1 else used
        left = run.counts[sku] * unit.per_system - used
        if isinstance(asked, int):
            return asked if left >= asked else left - asked
        return left

    def waits(self, unit: Unit, spares: int) -> float:
        """Return the share of time waiting for repairs."""
        if not unit.in_rack:
            return physics.waiting_share(max(0, spares), self.per_gpu * self.run.gpus)
        each = physics.waiting_share(unit.in_each, self.per_gpu * unit.usable)
        odds = self.run.gpus / unit.usable * each / (1.0 - each)
        return odds / (1.0 + odds)

    def states_with(self, spares: int) -> States:
        """Return the states of a job that goes on with fewer replicas."""
        run, replica = self.run, whole_replica(self.run.job) or 1
        holds = self.unit.usable if self.unit.per_system == 1 else self.unit.gpus
        units, most = math.ceil(run.gpus / holds) + spares, run.gpus // replica
        replicas = [most]
        while replicas[-1] > 0:
            left = max(0, units - len(replicas)) * holds // replica
            replicas.append(min(most, left) if left >= self.least else 0)
        return States.of([self.per_gpu * replica * d for d in replicas], replicas, self.repair_s)

    @property
    def least(self) -> int:
        """Fewest replicas whose memory holds their state."""
        return least_replicas(self.run.types[0], self.run.job) or 1

    def added(self, times: Times) -> Times:
        """Return the times with swaps, waiting, and the failures that running replicas see."""
        times = replace(times, swapped=self.share, swap_s=self.repair.swap_s)
        if self.states is None:
            return replace(times, waits=self.waits(self.unit, self.spares(self.unit)))
        lost = self.states.lost(times, self.share, self.full_s)[0]
        return replace(times, mtti_s=self.full_s / self.states.seen, waits=lost)

    def figures(self, times: Times) -> dict[str, Any]:
        """Return the plan's figures of repairs."""
        unit, states, spares = self.unit, self.states, max(0, self.spares(self.unit))
        load = self.per_gpu * self.run.gpus
        decided = not isinstance(self.repair.spares, int)
        other = self.unit_of(tray=unit.per_system == 1)
        known = decided and other != unit and states is None
        if states is None:
            waits, odds = self.waits(unit, spares), physics.running_odds(spares, load)
            out, wider = load * odds / (1.0 + odds), physics.waiting_share(spares + 1, load)
        else:
            waits, out = states.lost(times, self.share, self.full_s)[0], states.mean(lambda j, _: j)
            wider = self.states_with(spares + 1).lost(times, self.share, self.full_s)[0]
        gained = math.exp(physics.log_goodput(times) or 0.0) * (1.0 - times.idle) * (waits - wider)
        elsewhere = self.waits(other, self.spares(other)) if known else 0.0
        return {
            "unit": unit.name,
            "unit_gpus": unit.gpus,
            "in_rack": unit.in_rack,
            "spares": self.spares(unit),
            "decided": decided,
            "hardware_share": self.share,
            "load": load,
            "repair_s": self.repair_s,
            "swap_s": self.repair.swap_s,
            "availability": 1.0 - waits,
            "waiting_h_per_year": Difference.of(waits, HOURS_PER_YEAR),
            "other_unit": other.name if known else None,
            "other_waiting_h_per_year": Difference.of(elsewhere, HOURS_PER_YEAR) if known else None,
            "units_out": None if unit.in_rack else out,
            "next_spare_gpus": None if unit.in_rack else Difference.of(gained, self.run.gpus),
            "shrunk": states and self._shrunk(states, times),
        }

    def _shrunk(self, states: States, times: Times) -> dict[str, Any]:
        _, late, grows = states.lost(times, self.share, self.full_s)
        restart_s = times.restart_s + times.restore_s + times.drain_s
        if times.every:
            restart_s = times.near_restart_s + times.near_drain_s
        most = states.replicas[0]
        return {
            "running": states.running,
            "failing": states.seen,
            "least_replicas": self.least,
            "restarts_per_year": DAY_S * 365 * grows,
            "restart_s": restart_s,
            "short_h_per_year": HOURS_PER_YEAR * states.mean(lambda _, d: d < most),
            "stopped_h_per_year": HOURS_PER_YEAR * states.mean(lambda _, d: d == 0),
            "late": late,
        }


# Every figure of the plan's job.


@dataclass(frozen=True)
class Operation:
    """The job's operation as recomputed: figures under the plan's names, times, repairs."""

    run: Run
    stall_s: float
    times: Times
    repairs: Repairs | None
    figures: Mapping[str, Any]

    def goodput_at(self, interval_s: float, every: int) -> float:
        """Return the goodput at another interval and local multiple."""
        if every not in self._known:
            self._known[every] = replace(self.run, every=every).times()[1]
        times = replace(self._known[every], interval_s=interval_s)
        return physics.goodput(times if self.repairs is None else self.repairs.added(times))

    @cached_property
    def _known(self) -> dict[int, Times]:
        """Times by local multiple."""
        return {}

    @property
    def worst_times(self) -> tuple[float, float, float]:
        """Stall, drain and restore (s), with appliances down where the problem asks for it."""
        down_s, sync = self.figures["degraded_drain_s"], self.run.mode == "sync"
        if down_s is None:
            return self.stall_s, self.times.drain_s, self.times.restore_s
        stall_s, drain_s = (down_s, 0.0) if sync else (self.stall_s, down_s)
        return stall_s, drain_s, self.figures["degraded_restore_s"]


def operate(run: Run) -> Operation:
    """Return every figure of the job."""
    stall_s, times = run.times()
    repairs = Repairs.of(run)
    times = times if repairs is None else repairs.added(times)
    own = _work(run, physics.goodput(times)) | _storage(run) | _rhythm(run, times, stall_s)
    own |= _asked(run) | {"loss": physics.losses(times), "derived_stall": run.stall()}
    own |= {"repair": repairs and repairs.figures(times), "local": _local(run, times)}
    return Operation(run, stall_s, times, repairs, own | _degraded(run, own))


def _work(run: Run, goodput: float) -> dict[str, Any]:
    """Return rates and the useful work, by the pace of the slowest type."""
    job, gpus, training = run.job, run.gpus, run.job.training

    def rate(pace: Pace) -> float:
        known = pace.useful_tflops(job, gpus)
        return (pace.tflops or 0.0) * pace.throughput if known is None else known

    pace = min(run.paces.values(), key=rate)
    each, active = pace.useful_tflops(job, gpus), training.active_parameters or job.parameters
    scale = 1.0 if each is None else pace.scale(job, gpus)
    pflops, tokens, days = (
        None if each is None else gpus * goodput * each / 1000,
        training.tokens,
        None,
    )
    if active and tokens and pflops:
        days = 6 * active * tokens / (pflops * 1e15) / DAY_S
    replica = None if job.parallelism is None else replica_gpus(job.parallelism)
    return {
        "goodput": goodput,
        "useful_gpus": gpus * goodput,
        "tflops_per_gpu": pace.tflops or 0.0,
        "mfu": pace.mfu,
        "scale_share": scale,
        "rate_share": pace.throughput * scale,
        "useful_pflops": pflops,
        "days_to_train": days,
        "tokens": tokens,
        "active_parameters": active,
        "replica_gpus": replica,
        "replicas": None if replica is None else gpus / replica,
    }


def _storage(run: Run) -> dict[str, Any]:
    """Return bandwidth, capacity and the demand of a checkpoint on storage."""
    job, saved, data = run.job, run.job.checkpoint, run.job.tiered
    (read, write), (read_limit, _, _) = run.delivered, run.clients("read")
    write_limit, ingest = run.clients("write")[0], job.ingest_per_gpu_gb_per_s
    exports_tb = saved.exports * 2 * (job.parameters or 0.0) / 1e12  # two bytes per parameter
    held = saved.keep_last + 1 + (0 if job.in_bulk else saved.milestones)
    other_tb = data.staged_tb if job.in_bulk else data.size_tb + exports_tb
    archives_tb = exports_tb + saved.milestones * run.size_gb / 1000
    fill_limit = run.basis.problem.storage.fill_limit
    return {
        "checkpoint_gb": run.size_gb,
        "bytes_per_parameter": run.bytes_per_parameter,
        "fan_out": run.fan_out,
        "delivered_read_gb_per_s": min(read, read_limit),
        "delivered_write_gb_per_s": min(write, write_limit),
        "client_read_limit_gb_per_s": read_limit,
        "client_write_limit_gb_per_s": write_limit,
        "ingest_gb_per_s": run.gpus * ingest,
        "checkpoints_held": held,
        "other_data_tb": other_tb,
        "capacity_needed_tb": (held * run.size_gb / 1000 + other_tb) / fill_limit,
        "burst": run.burst,
        "bulk": _bulk(run, archives_tb) if job.in_bulk else None,
        "write_volume_tb_per_day": run.size_gb / 1000 * DAY_S / run.remote_s,
    }


def _bulk(run: Run, archives_tb: float) -> dict[str, float]:
    """Return the plan's figures of the bulk tier, which holds the data set and archives."""
    storage, data = run.basis.problem.storage, run.job.tiered
    items = [(run.basis.items[sku], count) for sku, count in run.counts.items()]
    own = [(item.provides, count) for item, count in items if item.is_bulk]
    read_gb_per_s = sum((value(each.read) or 0.0) * count for each, count in own)
    return {
        "dataset_tb": data.size_tb,
        "archives_tb": archives_tb,
        "staged_tb": data.staged_tb,
        "needed_tb": (data.size_tb + archives_tb) / storage.fill_limit,
        "usable_tb": sum((value(each.usable) or 0.0) * count for each, count in own),
        "read_gb_per_s": storage.delivered_fraction.read * read_gb_per_s,
        "staging_gb_per_s": (1.0 - run.job.checkpoint.max_overlap) * run.sustained[1],
    }


def _rhythm(run: Run, times: Times, stall_s: float) -> dict[str, Any]:
    """Return the times of checkpoints and restarts."""
    mtti_s, stopped_s = times.mtti_s, times.stopped_s
    slowed_s = stopped_s - stall_s if run.mode == "async" and not times.every else 0.0
    return {
        "stall_s": stall_s,
        "drain_s": times.drain_s,
        "overlap": times.drain_s / run.remote_s,
        "blocking": stall_s / run.interval_s,
        "restore_s": times.restore_s,
        "restart_s": times.restart_s,
        "mtti_s": mtti_s,
        "failures_per_gpu_day": run.failures,
        "young_s": math.sqrt(2 * stopped_s * mtti_s),
        "daly_s": physics.daly_s(stopped_s, mtti_s),
        "exact_s": physics.exact_s(stopped_s, mtti_s),
        "goodput_first_order": physics.first_order(times),
        "goodput_understated": physics.understated(times, slowed_s),
    }


def _asked(run: Run) -> dict[str, Any]:
    """Return what the plan repeats of the problem's job."""
    job, saved, storage = run.job, run.job.checkpoint, run.basis.problem.storage
    asked, one = job.gpus.per_system, next(iter(run.systems))
    idle = sum(gpus_of(item) * run.systems[item.id] for item in run.types) - run.gpus
    return {
        "name": job.name,
        "fan_out_kind": job.restore.fan_out,
        "writers": saved.writers,
        "readers": "all",
        "interval_policy": saved.interval.policy,
        "max_overlap": saved.max_overlap if storage.rule == "demand" else None,
        "max_blocking": saved.max_blocking,
        "tolerate_down": storage.tolerate_down,
        "lost_time": job.lost_share,
        "whole_replicas": whole_replica(job) is not None,
        "tensor_gpus": job.parallelism and job.parallelism.tensor,
        "per_system_gpus": asked.get(one) if isinstance(asked, dict) else asked,
        "usable_gpus_by_type": {item.id: usable_gpus(job, item) for item in run.types},
        "idle_gpus": idle,
        "hot_spare_systems": sum(hot_spares(run).values()),
    }


def _local(run: Run, times: Times) -> dict[str, Any] | None:
    """Return the plan's figures of the local level, None without one."""
    asked = run.job.checkpoint.local
    if not run.every or asked is None:
        return None
    return {
        "every": run.every,
        "remote_interval_s": run.remote_s,
        "drain_s": times.near_drain_s,
        "restart_s": times.near_restart_s,
        "remote_share": times.far,
        "copies": asked.copies,
        "keep": asked.keep,
        "remote_drain": asked.drain,
        "write_gb_per_s": min(drive.write_gb_per_s for drive in run.drives),
        "part_gb": max(drive.part_gb for drive in run.drives),
        **run.local_limits(),
    }


def _degraded(run: Run, figures: Mapping[str, Any]) -> dict[str, float | None]:
    """Return bandwidth, drain and restore with appliances down; None where that is not asked."""
    names = ("write_gb_per_s", "read_gb_per_s", "drain_s", "overlap", "restore_s")
    found: dict[str, float | None] = dict.fromkeys(f"degraded_{name}" for name in names)
    down = run.basis.problem.storage.tolerate_down
    if not down:
        return found
    (read, write), (read_lost, write_lost) = run.delivered, run.lost(down)
    write = min(write - write_lost, figures["client_write_limit_gb_per_s"])
    read = min(read - read_lost, figures["client_read_limit_gb_per_s"])
    write_s = run.size_gb / write if write > 0 else math.inf
    restore_s = run.fan_out * run.size_gb / read if read > 0 else math.inf
    overlap = write_s / run.remote_s if run.mode == "async" else None
    return dict(zip(found, (write, read, write_s, overlap, restore_s), strict=True))


def hot_spares(run: Run) -> dict[str, int]:
    """Return the systems of each type that must stand ready."""
    systems, share = run.job.gpus.hot
    return {sku: max(systems, round_up(share * count)) for sku, count in run.systems.items()}


def check_job(found: Findings, operation: Operation, stated: JobPlan) -> None:
    """Compare every figure of the plan's job."""
    run, job, figures = operation.run, operation.run.job, operation.figures
    found.expect("jobs", stated, dict(figures))
    for side, field in (("read", "reading_systems"), ("write", "writing_systems")):
        limit, stored = figures[f"client_{side}_limit_gb_per_s"], run.delivered[side == "write"]
        if not agrees(limit, stored):
            by = "appliances" if stored < limit else "clients"
            found.expect(f"jobs.{side}_limited_by", getattr(stated, f"{side}_limited_by"), by)
        among = run.clients(side)[2]
        found.require(getattr(stated, field) in among, f"jobs.{field}: not among {sorted(among)}")
    if not (stated.mode == "sync" and stated.drain_slowdown == 0):
        found.expect("jobs.drain_slowdown", stated.drain_slowdown, job.checkpoint.drain_slowdown)
    if isinstance(stated.local, LocalPlan) and run.every:
        classes = [dict(each) for each in stated.local.classes]
        found.expect("jobs.local.classes: number", len(classes), len(run.classes()))
        for each, own in zip(classes, run.classes(), strict=False):
            found.expect(f"jobs.local.classes.{own['name']}", each, own)
    _check_replicas(found, run)
    left = figures["degraded_restore_s"] is None or math.isfinite(figures["degraded_restore_s"])
    found.require(left, "jobs.degraded_restore_s: nothing is left with appliances down")
    found.require(figures["goodput"] > 0, "jobs.goodput: the job makes no progress")
    repairs = operation.repairs
    if repairs is None:
        return
    enough = repairs.spares(repairs.unit) >= 0
    found.require(enough, "jobs.repair.spares: fewer than the problem asks for")
    longest_s = physics.longest_swap_share(repairs.share) * operation.times.mtti_s
    if repairs.repair.swap_s > longest_s * (1 + 1e-7):
        text = f"a swap of {repairs.repair.swap_s:.6g} s exceeds {longest_s:.6g} s, the most proven"
        found.breach("jobs.repair.swap_s", text)


def _check_replicas(found: Findings, run: Run) -> None:
    """Require whole replicas, and the fewest systems that hold the GPUs in use."""
    replica = whole_replica(run.job)
    usable = {item.id: usable_gpus(run.job, item) for item in run.types}
    most = sum(usable[sku] * n // (replica or 1) for sku, n in run.systems.items())
    if replica is None:
        found.expect("jobs.gpus_used", run.gpus, most)
        return
    least = sum(usable[sku] * (n - 1) // replica + 1 for sku, n in run.systems.items())
    right = run.gpus % replica == 0 and least <= run.gpus // replica <= most
    text = f"{run.gpus} are not {least} to {most} whole replicas of {replica}"
    found.require(right, f"jobs.gpus_used: {text}, which these systems hold")
