"""Two levels of checkpoints in the model: what they leave of the work, and what they need.

With mu = log(1/M), nu the same of failures that restarts see (mu unless fewer replicas may run),
i = log of the local interval and k whole, the logarithm of goodput is a sum of

    log(1 - s/I - a D2/(k I))                                      (see `build`)
    log{k I q2 C0 / [(1 + y)^k - 1]}   of mu + i, nu and mu + log D1, for each k by itself
    log P(drained)                     of mu + log D2, and of nu where a restart begins it anew
    -log[1 + q2 (e^(R2/M) - 1)]        of the sum of what R2 consists of

each concave where (R1 + w + D1)/M <= 1 (`planner.sizing.two_levels`): a row, linear in N because D1
is as long for one GPU as for all. Where a swap w follows a share p of failures, e^(-R1/M) and
e^(-R2/M) are means over it: functions of nu, of which the same holds, because log of a sum of
exponentials of -g is concave where each g is a sum of exponentials of the logarithms and at most 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from planner.case import Way
from planner.case.bandwidth import copy_s, local_drain_s, local_room_tb, worn_interval_s
from planner.case.model import Levels
from planner.case.repair import Repair
from planner.optimizer import surfaces
from planner.optimizer.context import MOST_SPARED, Build
from planner.optimizer.model import Linear, NegativeExp, Point, Surface
from planner.sizing import two_levels
from planner.units import DAY_S

SMALLEST = math.log(1e-9)
LONGEST = math.log(300.0)
"""An interval of more MTTIs leaves nothing of the work."""
MOST_LOST = math.log(60.0)
LEAST_LOST = math.log(1e-7)
SLACK = 1e-6


@dataclass(frozen=True)
class Swaps:
    """What swaps add to local restarts: after a share of failures ``longer`` as long as these."""

    share: float = 0.0
    longer: float = 0.0

    def added(self, log_restart: float) -> float:
        """Return a restart over the MTTI with what swaps add, of the logarithm of one without."""
        restart = math.exp(log_restart)
        swapped = self.share * math.exp(-self.longer * restart)
        return restart - math.log(1.0 - self.share + swapped)

    def slope(self, log_restart: float) -> float:
        """Return the slope of the logarithm of that."""
        restart = math.exp(log_restart)
        swapped = self.share * math.exp(-self.longer * restart)
        grows = restart * (1.0 + self.longer * swapped / (1.0 - self.share + swapped))
        return grows / self.added(log_restart)


@dataclass(frozen=True)
class Kept:
    """`two_levels.kept` over log interval, log restart and log lag, each over the MTTI."""

    every: int
    remote_share: float
    swaps: Swaps = Swaps()

    def value(self, at: Point) -> float:
        """Return f(at)."""
        interval, restart, lag = math.exp(at[0]), self.swaps.added(at[1]), math.exp(at[2])
        return two_levels.kept(interval, restart, lag, self.every, self.remote_share)

    def slopes(self, at: Point) -> Point:
        """Return the gradient of f."""
        interval, restart, lag = math.exp(at[0]), self.swaps.added(at[1]), math.exp(at[2])
        slopes = two_levels.kept_slopes(interval, restart, lag, self.every, self.remote_share)
        return slopes[0], slopes[1] * self.swaps.slope(at[1]), slopes[2]

    def nearest(self, at: Point) -> Point:
        """Return the point with restart and lag so much shorter that f is concave there."""
        interval, restart, lag = at
        over = math.log(math.exp(restart) * (1.0 + self.swaps.longer) + math.exp(lag))
        return at if over <= 0.0 else (interval, restart - over, lag - over)


@dataclass(frozen=True)
class Drained:
    """`two_levels.drained`, begun anew, over log drain and log restart, each over the MTTI."""

    remote_share: float
    swaps: Swaps = Swaps()

    def value(self, at: Point) -> float:
        """Return f(at)."""
        drain, restart = math.exp(at[0]), self.swaps.added(at[1])
        return two_levels.drained(drain, restart, self.remote_share, True)

    def slopes(self, at: Point) -> Point:
        """Return the gradient of f."""
        drain, restart = math.exp(at[0]), self.swaps.added(at[1])
        slopes = two_levels.drained_slopes(drain, restart, self.remote_share)
        return slopes[0], slopes[1] * self.swaps.slope(at[1])

    def nearest(self, at: Point) -> Point:
        """Return the point with a restart, swap included, of at most the MTTI."""
        return at[0], min(at[1], -math.log1p(self.swaps.longer))


@dataclass(frozen=True)
class LogRestarted:
    """-log(1 + q2 (e^u - 1)), u >= 0: what restarts from the remote level leave."""

    remote_share: float

    def value(self, at: float) -> float:
        """Return f(at)."""
        return two_levels.restarted(at, self.remote_share)

    def slope(self, at: float) -> float:
        """Return f'(at)."""
        q2 = self.remote_share
        return -q2 / (q2 + (1.0 - q2) * math.exp(-at))

    def top(self, high: float) -> float:
        """Return 0."""
        return 0.0


@dataclass(frozen=True)
class LogKeptBySwaps:
    """log(1 - psi + psi exp(-swap e^u)), u the logarithm of interruptions per second."""

    repair: Repair

    def value(self, at: float) -> float:
        """Return the logarithm of what swaps leave."""
        return math.log(self.repair.swap_factor(math.exp(-at)))

    def slope(self, at: float) -> float:
        """Return the derivative at ``at``."""
        swaps = self.repair.swap_s * math.exp(at)
        kept = self.repair.hardware_share * math.exp(-swaps)
        return -swaps * kept / (1.0 - self.repair.hardware_share + kept)

    def top(self, high: float) -> float:
        """Return 0."""
        return 0.0


def _levels(build: Build) -> Levels:
    levels = build.case.job.levels
    assert levels is not None
    return levels


def _swaps(build: Build) -> Swaps:
    repair, levels = build.case.job.repair, _levels(build)
    if repair is None:
        return Swaps()
    return Swaps(repair.hardware_share, repair.swap_s / levels.local_restart_s)


def goodput(build: Build, productive: Linear) -> Linear:
    """Return an expression that is at most log E, with the links that keep it so.

    Args:
        productive: at most the logarithm of the share of time that nothing stops.
    """
    return sum((_kept(build), _drained(build), _restarted(build)), productive)


def _kept(build: Build) -> Linear:
    levels = _levels(build)
    interval = build.mu + build.i
    restart = build.nu + math.log(levels.local_restart_s)
    lag = build.mu + log_local_drain(build)
    low_s, high_s = build.interval_range_s
    rates, local_s = _rates(build), _local_drains_s(build)
    top = max(min(math.log(rates[1] * high_s), LONGEST), SMALLEST)
    bottom = max(min(math.log(rates[0] * low_s), top), SMALLEST)
    if build.case.job.interval.policy == "lost_work":
        bottom = top = math.log(build.case.job.interval.kappa)
    shares = (levels.local_restart_s, levels.local_restart_s), local_s
    ends = [
        (min(math.log(rates[0] * least), 0.0) - SLACK, min(math.log(rates[1] * most), 0.0) + SLACK)
        for least, most in shares
    ]
    domain = ((bottom - SLACK, top + SLACK), *ends)
    middle = [(low + high) / 2.0 for low, high in domain]
    steps = [bottom + (top - bottom) * share for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    seeds = [(step, middle[1], middle[2]) for step in steps]
    build.remote_i  # noqa: B018  (makes the flags of k)
    choices: list[tuple[Linear, Surface]] = [
        (build.every.get(k), Kept(k, levels.remote_share, _swaps(build))) for k in levels.every
    ]
    return surfaces.link(build.model, "kept", (interval, restart, lag), choices, domain, seeds)


def _drained(build: Build) -> Linear:
    levels = _levels(build)
    drain = build.mu + math.log(build.case.job.checkpoint_gb) - build.b
    if not levels.drain_restarts:
        return _lost(build, "drain", drain + math.log(levels.remote_share))
    restart = build.nu + math.log(levels.local_restart_s)
    rates = _rates(build)
    end = min(math.log(rates[1] * levels.local_restart_s), 0.0) + SLACK
    start = min(math.log(rates[0] * levels.local_restart_s), 0.0) - SLACK
    domain = ((LEAST_LOST, MOST_LOST), (start, end))
    seeds = [(at, (start + end) / 2.0) for at in (-8.0, -5.0, -3.0, -1.0, 1.0)]
    drained = Drained(levels.remote_share, _swaps(build))
    surface: list[tuple[Linear, Surface]] = [(None, drained)]
    return surfaces.link(build.model, "drained", (drain, restart), surface, domain, seeds)


def _restarted(build: Build) -> Linear:
    job, levels = build.case.job, _levels(build)
    parts = []
    if job.restart_s > 0.0:
        parts.append(_lost(build, "restart", build.nu + math.log(job.restart_s)))
    log_size = math.log(job.checkpoint_gb)
    a, c = job.fan_out_terms(build.case.ways[0].replica_gpus)
    if a > 0.0:
        parts.append(_lost(build, "restore", build.nu + math.log(a) + log_size - build.q))
    if c > 0.0:
        each = build.of_way("fan_out", lambda way: job.fan_out_terms(way.replica_gpus)[1], 1)
        argument = build.nu + build.n + each + log_size - build.q
        parts.append(_lost(build, "restore_replicas", argument))
    if job.repair is not None and job.repair.swap_s > 0.0:
        parts.append(log_kept_by_swaps(build, job.repair, build.nu))
    restarted = build.model.var("log_restarted", None, 0.0)
    whole = -1 * sum(parts[1:], parts[0])
    curve = LogRestarted(levels.remote_share)
    build.model.link("restarted", restarted, whole, curve, (0.0, math.exp(MOST_LOST)))
    return restarted + 0


def _lost(build: Build, name: str, log_lost: Linear) -> Linear:
    """Return an expression that is at most -exp(log_lost)."""
    lost = build.model.var(f"lost_{name}", 0.0, None)
    domain = (LEAST_LOST, MOST_LOST)
    build.model.link(f"lost_{name}", -1 * lost, log_lost, NegativeExp(), domain)
    return -1 * lost


def log_kept_by_swaps(build: Build, repair: Repair, rate: Linear) -> Linear:
    """Return at most the logarithm of what swaps leave, over that of failures per second."""
    kept = build.model.var("log_kept_by_swaps", None, 0.0)
    low, high = map(math.log, _rates(build))
    high = min(high, -math.log(repair.shortest_mtti_s()))
    domain = (min(low, high), high)
    build.model.link("kept_by_swaps", kept, rate, LogKeptBySwaps(repair), domain)
    return kept + 0


def _rates(build: Build) -> tuple[float, float]:
    """Return the least and the most failures per second of a job."""
    rates = [way.failures_per_gpu_day / DAY_S for way in build.case.ways]
    low, high = build.running_range
    spared = 1.0 if build.log_resting is None else math.exp(-MOST_SPARED)
    return spared * min(rates) * low, max(rates) * high


# Times that follow from the state per GPU.


def log_copy(build: Build) -> Linear:
    """Return the log of what all GPUs that write copy to their hosts together, GB/s."""
    job = build.case.job

    each = build.of_way("host_copy", lambda way: job.checkpoint_gb / copy_s(job, way, 1), -1)
    return each if job.one_replica_writes else build.n + each


def log_drain(build: Build) -> Linear:
    """Return the log of how long storage drains a checkpoint, as limits count on it, s."""
    return math.log(build.case.job.checkpoint_gb) - build.safe_b


def stalled(build: Build) -> Linear:
    """Return at least the share of an interval for which GPUs stand still."""
    job = build.case.job
    parts: list[Linear] = []
    if job.stall_s > 0.0:
        parts.append(build.share_of_interval("stall_share", math.log(job.stall_s) - build.i))
    if job.derived_stall:
        log_share = math.log(job.checkpoint_gb) - log_copy(build) - build.i
        parts.append(build.share_of_interval("copy_share", log_share))
    return sum(parts[1:], parts[0]) if parts else 0.0


def log_local_drain(build: Build) -> Linear:
    """Return the log of how long a local checkpoint takes to be safe, s."""
    each = build.of_way("local_drain", lambda way: _local_gpu_s(build, way), 1)
    return each if build.case.job.one_replica_writes else each - build.n


def _local_gpu_s(build: Build, way: Way) -> float:
    """Return D1 N, or D1 where one replica writes; of a way without drives that of another."""
    known = next(each for each in build.case.ways if each.drives is not None)
    return local_drain_s(build.case.job, known if way.drives is None else way, 1)


def _local_drains_s(build: Build) -> tuple[float, float]:
    """Return the least and the most time that a local checkpoint takes to be safe."""
    each = [_local_gpu_s(build, way) for way in build.case.ways]
    if build.case.job.one_replica_writes:
        return min(each), max(each)
    low, high = build.gpus_range
    return min(each) / high, max(each) / low


# What the levels need.
#
#     S/Bw <= overlap k I,  S/Bw <= k I,  s + D1 <= I,  (R1 + w + D1)/M <= 1
#     keep * part <= capacity,  86400 part / I <= endurance      part: of a system per checkpoint
#
# With all GPUs writing, part = copies S g/N: room is a floor on N, wear linear in the logarithms.


def add_levels(build: Build) -> None:
    """Add the rows of a job with a local level of checkpoints."""
    case, job = build.case, build.case.job
    log_size = math.log(job.checkpoint_gb)
    share = 1.0 if case.rule is not None else job.max_overlap
    # A drain ends before the next begins; under the overlap limit it does so anyway.
    name = "overlap" if case.rule is None else "drain_fits"
    left = build.safe_b + build.remote_i
    build.model.row(name, left, ">=", log_size - math.log(share))
    local = build.share_of_interval("local_drain_share", log_local_drain(build) - build.i)
    build.model.row("local_fits", local + stalled(build), "<=", 1.0)
    for way in case.ways:
        if way.drives is None:
            build.model.row(f"no_drives_{way.id}", build.way_used[way.id] + 0, "<=", 0.0)
        else:
            _add_room(build, way, way.drives.capacity_tb)
            _add_wear(build, way)
    _add_lag(build)


def _add_room(build: Build, way: Way, capacity_tb: float) -> None:
    need, used = local_room_tb(build.case.job, way, 1) / capacity_tb, build.way_used[way.id]
    name = f"local_room_{way.id}"
    if not build.case.job.one_replica_writes:
        build.model.row(name, build.gpus - need * used, ">=", 0.0)
    elif need > 1.0 + 1e-9:
        build.model.row(name, used + 0, "<=", 0.0)


def _add_wear(build: Build, way: Way) -> None:
    worn_s = worn_interval_s(build.case.job, way, 1)
    if worn_s == 0.0:
        return
    rate, least = build.i, math.log(build.interval_range_s[0])
    if not build.case.job.one_replica_writes:
        rate, least = build.i + build.n, least + math.log(build.gpus_range[0])
    slack = max(0.0, math.log(worn_s) - least)
    row = rate - slack * build.way_used[way.id]
    build.model.row(f"local_endurance_{way.id}", row, ">=", math.log(worn_s) - slack)


def _add_lag(build: Build) -> None:
    """Add (R1 + w + D1)/M <= 1: of several types the worst rate and the longest drain count."""
    most = build.gpus_range[1]
    for one, other in _pairs(build):
        gpus = max(_most_gpus(build, one, other), 0.0)
        if gpus >= most:
            continue
        flags = {build.way_used[one.id], build.way_used[other.id]}
        slack = most - gpus
        row = build.gpus + sum(slack * flag for flag in flags)
        build.model.row(f"local_lag_{one.id}_{other.id}", row, "<=", gpus + slack * len(flags))


def _pairs(build: Build) -> Iterator[tuple[Way, Way]]:
    """Yield the rates and drains that may come together: of one way, or of ways of two types."""
    yield from ((way, way) for way in build.case.ways)
    if build.case.job.max_types > 1:
        yield from itertools.permutations(build.case.ways, 2)


def _most_gpus(build: Build, failing: Way, draining: Way) -> float:
    """Return the most GPUs whose MTTI holds a local restart, with its swap, and drain."""
    rate, drain_s = failing.failures_per_gpu_day / DAY_S, _local_gpu_s(build, draining)
    restart_s = build.case.job.longest_local_restart_s
    if build.case.job.one_replica_writes:
        return 1.0 / (rate * (restart_s + drain_s))
    return (1.0 / rate - drain_s) / restart_s
