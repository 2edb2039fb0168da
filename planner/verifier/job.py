"""A job's decisions, and the bandwidth, stall, drains and restores that follow from them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from planner.schema.catalog import Item
from planner.schema.plan import FailureClass, StallPlan
from planner.schema.problem import Job
from planner.verifier.basis import Basis
from planner.verifier.goodput import DAY_S, Times
from planner.verifier.published import BYTES_PER_PARAMETER, DEFAULT_FAILURES, FAILURES_PER_GPU_DAY
from planner.verifier.rates import Pace, gpus_of, replica_gpus, usable_gpus

CLIENT_GB_PER_S_PER_GPU = 1.0
"""One buffered thread per GPU (S. Kartik, C. Tartow, VAST Data, 2024-01-10)."""
HOURS_PER_YEAR = 8760


class Drive(NamedTuple):
    """Local drives of a system: GB per checkpoint, write GB/s, capacity TB, endurance TB/day."""

    part_gb: float
    write_gb_per_s: float
    capacity_tb: float
    endurance: float | None


@dataclass(frozen=True)
class Run:
    """A job's decisions: GPUs and systems in use by type, interval, mode, storage counts."""

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

    @property
    def types(self) -> list[Item]:
        """GPU types in use."""
        return [self.basis.items[sku] for sku in self.systems]

    @property
    def size_gb(self) -> float:
        """Size of a checkpoint."""
        given, job = self.job.checkpoint.size_gb, self.job
        return (
            (job.parameters or 0) * _bytes(job) * job.trained_share / 1e9
            if given is None
            else given
        )

    @property
    def writers(self) -> int:
        """GPUs that write a checkpoint."""
        option, one = self.job.parallelism, self.job.checkpoint.writers == "one_replica"
        return replica_gpus(option) if one and option is not None else self.gpus

    @property
    def failures(self) -> float:
        """Failures per GPU and day: the problem's rate, else the worst type's."""
        asked = self.job.failure_rate
        given = DEFAULT_FAILURES if asked is None else asked
        rate = FAILURES_PER_GPU_DAY[given] if isinstance(given, str) else given
        own = [item.gpu.failures_per_day for item in self.types] if asked is None else []
        return max((rate if figure is None else figure.value for figure in own), default=rate)

    @property
    def remote_s(self) -> float:
        """Interval of the checkpoints that go to storage."""
        return self.interval_s * max(1, self.every)

    def clients(self, side: str) -> tuple[float, float, set[int]]:
        """Return the client limits (GB/s) of the systems at work and of all in use, and how many
        systems may be said to be at work. One replica's systems are of the least favourable type.

        Args:
            side: ``read`` or ``write``.
        """
        families = {family.id: family.client_factor for family in self.basis.inputs.families}
        factors = [families.get(name) for name in self.families]
        factor = min(1.0 if f is None else getattr(f, side).value for f in factors)
        given, each = getattr(self.basis.problem.storage.client_limit, side), {}
        for item in self.types:
            figure = getattr(item.client, side)
            own = gpus_of(item) * CLIENT_GB_PER_S_PER_GPU if figure is None else figure.value
            each[item.id] = (own if given is None else given) * factor
        whole = math.fsum(self.systems[sku] * gb for sku, gb in each.items())
        option = self.job.parallelism
        one = self.job.checkpoint.writers if side == "write" else self.job.restore.readers
        if one == "all" or option is None:
            return whole, whole, {sum(self.systems.values())}
        held = [
            (-(-replica_gpus(option) // usable_gpus(self.job, i)), each[i.id]) for i in self.types
        ]
        least = min(n * gb for n, gb in held)
        return least, whole, {n for n, gb in held if n * gb <= least * (1 + 1e-9)}

    def drives(self) -> Iterator[Drive]:
        """Yield the local drives of each type in use."""
        asked, saved = self.job.checkpoint.local, self.job.checkpoint
        for item in self.types:
            local, gpus = item.local, usable_gpus(self.job, item)
            if asked is not None and local.write is not None and local.capacity is not None:
                held = min(gpus, self.writers) if saved.writers == "one_replica" else gpus
                part_gb = self.size_gb / self.writers * held * asked.copies
                endured = None if local.endurance is None else local.endurance.value
                yield Drive(part_gb, local.write.value, local.capacity.value, endured)

    def local_limits(self) -> dict[str, Any]:
        """Return room and write volume of the drives, of the fullest and the most worn type."""
        asked, drives = self.job.checkpoint.local, list(self.drives())
        fullest = max(drives, key=lambda drive: drive.part_gb / drive.capacity_tb)
        worn = [(drive.part_gb, drive.endurance) for drive in drives if drive.endurance is not None]
        unrated = max(drive.part_gb for drive in drives), None
        written_gb, endured = max(worn, key=lambda each: each[0] / each[1], default=unrated)
        room_tb = (asked.keep if asked else 0) * fullest.part_gb / 1000
        volume_tb = written_gb / 1000 * DAY_S / self.interval_s
        found = {"room_tb": room_tb, "capacity_tb": fullest.capacity_tb}
        return found | {"volume_tb_per_day": volume_tb, "endurance_tb_per_day": endured}

    def stall(self) -> StallPlan | None:
        """Return the parts of a derived stall, of the slowest type; None where it is given."""
        checkpoint = self.job.checkpoint
        if checkpoint.stall_s != "derived" or self.mode == "sync":
            return None
        held_gb, rates = self.size_gb / self.writers, [item.local.host_copy for item in self.types]
        slowest = min(0.0 if rate is None else rate.value for rate in rates)
        return StallPlan(
            overhead_s=checkpoint.stall_overhead_s or 0.0,
            gpu_gb=held_gb,
            copy_gb_per_s=slowest,
            copy_s=held_gb / slowest if slowest else math.inf,
        )

    @property
    def delivered(self) -> tuple[float, float]:
        """The (read, write) bandwidth that all storage delivers, GB/s."""
        share = self.basis.problem.storage.delivered_fraction
        plates = [self.basis.nameplate(sku, count) for sku, count in self.counts.items()]
        read, write = (
            share.read * sum(p[0] for p in plates),
            share.write * sum(p[1] for p in plates),
        )
        burst = self.burst
        if burst is not None:
            late_s = (self.size_gb - burst["buffer_gb"]) / write
            write = self.size_gb / max(self.size_gb / burst["write_gb_per_s"], late_s)
        return read, write

    @property
    def burst(self) -> dict[str, float] | None:
        """How storage takes bursts, delivered; None where none does, or units may be down."""
        share, basis = self.basis.problem.storage.delivered_fraction.write, self.basis
        rates, buffers, some = [0.0], [0.0], False
        for sku, count in basis.flash(self.counts).items():
            item, sustained = basis.items[sku], basis.nameplate(sku, count)[1]
            burst, window = item.provides.burst_write, item.provides.burst_window
            rows = item.sizes.rows if item.sizes else ()
            each = max((row.write / row.units for row in rows), default=sustained / count)
            if burst is None or window is None or burst.value <= each:
                rates.append(sustained)
                continue
            rates.append(burst.value * count)
            buffers.append((burst.value - each) * window.value * count)
            some = True
        if not some or basis.problem.storage.tolerate_down:
            return None
        plates = [basis.nameplate(sku, count)[1] for sku, count in self.counts.items()]
        return {
            "write_gb_per_s": share * sum(rates),
            "sustained_gb_per_s": share * sum(plates),
            "buffer_gb": share * sum(buffers),
            "recovery_s": self.size_gb / (share * sum(plates)),
        }

    @property
    def bulk(self) -> tuple[float, float]:
        """Capacity (TB) and delivered read bandwidth (GB/s) of the bulk tier."""
        items = self.basis.items
        counts = [(items[sku].provides, n) for sku, n in self.counts.items() if items[sku].is_bulk]
        usable_tb = sum(own.usable.value * n for own, n in counts if own.usable is not None)
        read = sum(own.read.value * n for own, n in counts if own.read is not None)
        return usable_tb, self.basis.problem.storage.delivered_fraction.read * read

    def lost(self, down: int) -> tuple[float, float]:
        """Return the largest delivered (read, write) bandwidth that one item loses, GB/s."""
        share, basis, worst = self.basis.problem.storage.delivered_fraction, self.basis, [0.0, 0.0]
        for sku, count in basis.of_kind(self.counts, "storage").items():
            fail = basis.items[sku].fail_units
            left = count - down / (1 if fail is None else fail.value)
            now, after = basis.nameplate(sku, count), basis.nameplate(sku, max(0.0, left))
            if basis.items[sku].sizes is None:
                after = left * basis.nameplate(sku, 1)[0], left * basis.nameplate(sku, 1)[1]
            worst = [max(w, a - b) for w, a, b in zip(worst, now, after, strict=True)]
        return share.read * worst[0], share.write * worst[1]

    @property
    def bytes_per_parameter(self) -> float:
        """Bytes per parameter; where only a size is given, those that it implies."""
        job = self.job
        implied = job.checkpoint.size_gb is not None and job.parameters
        if implied and "bytes_per_parameter" not in job.model_fields_set:
            return self.size_gb * 1e9 / ((job.parameters or 1) * job.trained_share)
        return _bytes(job)

    @property
    def fan_out(self) -> float:
        """How many times a restore reads the checkpoint."""
        option, kind = self.job.parallelism, self.job.restore.fan_out
        if option is None or kind == "broadcast":
            return 1.0
        replicas = self.gpus / replica_gpus(option)
        sharded = 1.0 + 2.0 * (replicas - 1.0) / self.bytes_per_parameter
        return replicas if kind == "every_replica" else sharded

    def times(self) -> tuple[float, Times]:
        """Return the stall (s) and the times that goodput follows from, repairs aside."""
        job, (read, write) = self.job, self.delivered
        write_s = self.size_gb / min(write, self.clients("write")[0])
        restore_s = self.fan_out * self.size_gb / min(read, self.clients("read")[0])
        stall_s, drain_s, slowed_s, derived = write_s, 0.0, 0.0, self.stall()
        if self.mode != "sync":
            given = job.checkpoint.stall_s
            stall_s = derived.overhead_s + derived.copy_s if derived else float(given)
            drain_s, slowed_s = (
                write_s,
                job.checkpoint.drain_slowdown * write_s / max(1, self.every),
            )
        mtti_s = DAY_S / (self.failures * self.gpus)
        stopped_s = stall_s + slowed_s
        found = Times(self.interval_s, stopped_s, drain_s, job.restart_s, restore_s, mtti_s)
        found = replace(found, idle=job.lost_share)
        local = job.checkpoint.local
        if self.every and local is not None and job.restart.local_s is not None:
            found = replace(
                found,
                every=self.every,
                far=sum(c.share for c in failure_classes(job) if c.level == "remote"),
                near_restart_s=job.restart.local_s,
                near_drain_s=max(drive.part_gb / drive.write_gb_per_s for drive in self.drives()),
                drain_restarts=local.drain == "restarts",
            )
        return stall_s, found


def _bytes(job: Job) -> float:
    each = job.bytes_per_parameter
    return BYTES_PER_PARAMETER[each] if isinstance(each, str) else each


def failure_classes(job: Job) -> tuple[FailureClass, ...]:
    """Return the classes of interruptions, each with the level a job comes back from."""
    asked, found = job.checkpoint.local, []
    for name, share in job.failure_shares.items() if asked else ():
        recovers = asked.recovers[name] if asked else "no"
        left = recovers == "yes" or (recovers == "peer" and asked is not None and asked.copies > 1)
        level: Any = "local" if left else "remote"
        found.append(FailureClass(name=name, share=share, recovers=recovers, level=level))
    return tuple(found)
