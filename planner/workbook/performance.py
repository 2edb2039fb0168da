"""The sheet Performance: how the job runs on the purchase, live, and where its time goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.report import scope
from planner.schema.plan import JobPlan, Plan
from planner.workbook import facts
from planner.workbook.book import BAR, COUNT, SHARE, Allowed, Book, Sheet, constant
from planner.workbook.columns import Row, named
from planner.workbook.facts import Fact, Given
from planner.workbook.live import Term, V, exp, if_, int_, ln, max_, min_, of
from planner.workbook.quote import Bill

NAME = "Performance"
_WIDTHS = (42, 17, 17, 62)
_POSITIVE, _PART = Allowed(1e-12), Allowed(1e-6, 1)
_SERIES_BELOW = 1e-4
"""Below this z = interval / MTTI the closed form of the rework factor loses its digits."""
_NO_LIMIT = 1e9
"""GB/s: clients that can take as much limit nothing."""
_POLICIES = {
    "optimal": "best interval, as planned",
    "fixed": "given by the problem",
}
_GOODPUT = (
    "(1 - stall / interval) x exp(-(drain + restart + restore) / MTTI) x z / (exp(z) - 1), "
    "z = interval / MTTI"
)


class Performance(dict[str, V]):
    """The sheet, and its cells by name; it is filled in steps, as other sheets need its cells."""

    def __init__(self, book: Book, plan: Plan, bill: Bill) -> None:
        super().__init__()
        self.book, self.plan, self.bill = book, plan, bill
        self.job: JobPlan = plan.jobs[0]
        self.sheet = Sheet(book, NAME, _WIDTHS)
        self.factors: dict[str, V] = {}

    @property
    def types(self) -> list[Row]:
        """The lines of the GPU systems that the job uses."""
        types, rows = self.job.gpu_types, self.bill.rows
        return [row for row in rows if row.line.sku in types and row.line.working and row.line.gpus]

    def systems(self, sku: str) -> int:
        """The systems of a type that the job uses, as planned."""
        alone = {self.job.gpu_type: self.job.systems_used}  # a plan made by hand may not say
        return (self.job.systems_by_type or alone).get(sku, 0)

    @property
    def stores(self) -> list[Row]:
        """The lines of storage that serves the job."""
        return [row for row in self.bill.rows if row.line.section == "Storage" and row.line.working]

    def write_inputs(self) -> None:
        """Write the inputs of the job."""
        self.sheet.head(
            f"How the job {self.job.name} runs".replace("  ", " "),
            "Yellow cells may be edited, everything follows.",
        )
        self.sheet.heading("Inputs")
        self.update(facts.write(self.sheet, self._inputs()))
        self.sheet.at += 1

    def _inputs(self) -> Iterator[Given | Fact]:
        job, site = self.job, self.plan.site
        yield Given("checkpoint_gb", job.checkpoint_gb, "", _POSITIVE)
        yield Given("interval_s", job.interval_s, _POLICIES[job.interval_policy], _POSITIVE)
        if job.mode == "async":
            if job.derived_stall is not None:
                yield Fact("stall_s", job.stall_s, "overhead and copy to the host, as planned")
            else:
                yield Given("async_stall_s", job.stall_s)
            yield Given("drain_slowdown", job.drain_slowdown, "", SHARE)
        rate = job.failures_per_gpu_day
        yield Given("failures_per_gpu_day", rate, "interruptions of the job", _POSITIVE)
        yield Given("restart_s", job.restart_s)
        if job.lost_time:
            how = "of the time between restarts: evaluation, people, network, slow starts"
            yield Given("lost_time", job.lost_time, how, SHARE)
        if job.repair is not None:
            yield Given("hardware_share", job.repair.hardware_share, "", SHARE)
            yield Given("swap_s", job.repair.swap_s, "on top of the restart")
        for row in self.types:
            sku, how = row.line.sku, "in place, not used by the job"
            idle = row.line.working - self.systems(sku)
            yield Given(f"hot_spares.{sku}", idle, how, COUNT, named(row.line))
        yield Given("delivered_fraction_write", site.delivered_fraction_write, "derating", _PART)
        yield Given("delivered_fraction_read", site.delivered_fraction_read, "derating", _PART)
        for kind, limit, systems in (
            ("write", job.client_write_limit_gb_per_s, job.writing_systems),
            ("read", job.client_read_limit_gb_per_s, job.reading_systems),
        ):
            if limit < _NO_LIMIT and systems:
                name = f"client_{kind}_gb_per_s"
                yield Given(name, limit / systems, "per GPU system", _POSITIVE)
        yield Given("fill_limit", site.fill_limit, "", _PART)
        yield from self._training()

    def _training(self) -> Iterator[Given]:
        job = self.job
        if job.useful_pflops is None or job.mfu is None:
            return
        if job.rate_share == 1.0 and not job.ways:
            yield Given("tflops_per_gpu", job.tflops_per_gpu, "", _POSITIVE)
        yield Given("mfu", job.mfu, "", _PART)
        if job.tokens is not None and job.active_parameters is not None:
            yield Given("tokens_trillion", job.tokens / 1e12, "", _POSITIVE)
            yield Given("active_parameters_billion", job.active_parameters / 1e9, "", _POSITIVE)

    def write_results(self) -> None:
        """Write the operation of the job, and its lost time."""
        self.sheet.heading("GPUs and bandwidth")
        self._take(self._gpus())
        self._take(self._bandwidth())
        self.sheet.at += 1
        self.sheet.heading("Checkpoint and restore")
        self._take(self._checkpoint())
        self._take(self._restore())
        self._take(self._degraded())
        self.sheet.at += 1
        self.sheet.heading("Goodput")
        self._take(self._goodput())
        self._take(self._work())
        self.sheet.at += 1
        self.sheet.heading("Lost time (1 - goodput), by cause")
        first = self.sheet.at
        self._take(self._losses())
        self._chart(first, self.sheet.at - 1)
        self.sheet.at += 1

    def _take(self, rows: Iterator[Fact]) -> None:
        """Write figures one by one, so that each may rest on the one before."""
        for row in rows:
            self.update(facts.write(self.sheet, [row]))

    def _gpus(self) -> Iterator[Fact]:
        job, used, gpus = self.job, [], []
        for row in self.types:
            systems = max_(0, row.working - self[f"hot_spares.{row.line.sku}"])
            used.append(systems)
            gpus.append(systems * job.usable_gpus_by_type[row.line.sku])
        yield Fact("systems_used", sum_of(used), "in place, less hot spares")
        total, how = sum_of(gpus), "systems in use x GPUs that a replica can fill"
        if job.whole_replicas and job.replica_gpus:
            total = int_(total / job.replica_gpus) * job.replica_gpus
            how = f"in whole replicas of {job.replica_gpus} GPUs"
        rest = self._most_gpus() - job.gpus_used
        yield Fact("gpus_used", max_(0, total - rest) if rest else total, how)

    def _most_gpus(self) -> int:
        """The GPUs that the systems in use, as planned, could hold of the job."""
        job = self.job
        counts = {row.line.sku: self.systems(row.line.sku) for row in self.types}
        total = sum(count * job.usable_gpus_by_type[sku] for sku, count in counts.items())
        step = job.replica_gpus if job.whole_replicas and job.replica_gpus else 1
        return total // step * step

    def _bandwidth(self) -> Iterator[Fact]:
        job = self.job
        for kind, acting, role, limited in (
            ("write", job.writing_systems, job.writers, job.write_limited_by),
            ("read", job.reading_systems, job.readers, job.read_limited_by),
        ):
            rated = {row: getattr(row.line, f"{kind}_gb_per_s") for row in self.stores}
            each = [row.working * constant(all_ / row.line.working) for row, all_ in rated.items()]
            yield Fact(f"nameplate_{kind}", sum_of(each), "storage units x nameplate of one")
            reached, how = self._delivered(kind, self[f"nameplate_{kind}"]), "client limit"
            if kind == "write" and job.burst is not None:
                gain = job.delivered_write_gb_per_s / job.burst.sustained_gb_per_s
                reached = reached * constant(gain)
            if f"client_{kind}_gb_per_s" in self:
                systems: Term = self["systems_used"] if role == "all" else acting
                self[f"clients_{kind}"] = of(systems) * self[f"client_{kind}_gb_per_s"]
                reached = min_(reached, self[f"clients_{kind}"])
            if limited == "appliances":
                how = "nameplate x delivered share"
                if kind == "write" and job.burst is not None:
                    how += ", and what bursts add as planned"
            yield Fact(f"delivered_{kind}_gb_per_s", reached, how)

    def _delivered(self, kind: str, nameplate: V) -> V:
        return nameplate * self[f"delivered_fraction_{kind}"]

    def _checkpoint(self) -> Iterator[Fact]:
        job, how = self.job, "checkpoint size / delivered write bandwidth"
        transfer = self["checkpoint_gb"] / self["delivered_write_gb_per_s"]
        if job.mode == "sync":
            yield Fact("stall_s", transfer, how)
            yield Fact("drain_s", 0, "part of the stall")
        else:
            self.setdefault("stall_s", self.get("async_stall_s", of(0)))
            yield Fact("drain_s", transfer, how)
        every = 1 if job.local is None else job.local.every
        interval = self["interval_s"] * every if every > 1 else self["interval_s"]
        self["to_storage_s"] = interval
        yield Fact("overlap", self["drain_s"] / interval, "drain / interval")
        yield Fact("blocking", self["stall_s"] / self["interval_s"], "stall / interval")

    def _restore(self) -> Iterator[Fact]:
        job, read, how = (
            self.job,
            self["checkpoint_gb"],
            "checkpoint size / delivered read bandwidth",
        )
        if job.fan_out != 1.0:
            read = constant(job.fan_out) * read
            how = f"{job.fan_out:.4g} x {how}: restore fan-out as planned"
        yield Fact("restore_s", read / self["delivered_read_gb_per_s"], how)
        shrunk = None if job.repair is None else job.repair.shrunk
        per_day = self["failures_per_gpu_day"] * self["gpus_used"]
        per_day = per_day if shrunk is None else per_day * constant(shrunk.failing)
        how = "86,400 s / (failures per GPU and day x GPUs in use)"
        yield Fact("mtti_s", 86400 / per_day, how)
        held = constant(job.other_data_tb) + self["checkpoint_gb"] * job.checkpoints_held / 1000
        how = f"{job.checkpoints_held:g} checkpoints and {job.other_data_tb:,.4g} TB of other data"
        yield Fact("capacity_needed_tb", held / self["fill_limit"], f"{how} / share in use")
        sizes = [(row, row.line.usable_tb) for row in self.stores]
        known = [
            row.working * constant(size / row.line.working)
            for row, size in sizes
            if size is not None
        ]
        if known and len(known) == len(sizes):
            yield Fact("usable_tb", sum_of(known), "storage units x usable capacity of one")

    def _degraded(self) -> Iterator[Fact]:
        """Yield bandwidth and times with storage units down, as the limits count them."""
        job, down = self.job, f"with {self.job.tolerate_down} storage units down"
        if not job.tolerate_down:
            return
        for kind in ("write", "read"):
            left = max_(0, self[f"nameplate_{kind}"] - constant(lost_nameplate(self.plan, kind)))
            reached = self._delivered(kind, left)
            if f"clients_{kind}" in self:
                reached = min_(reached, self[f"clients_{kind}"])
            yield Fact(f"degraded_{kind}_gb_per_s", reached, down)
        yield Fact(
            "degraded_drain_s", self["checkpoint_gb"] / self["degraded_write_gb_per_s"], down
        )
        read = self["checkpoint_gb"] * constant(job.fan_out)
        yield Fact("degraded_restore_s", read / self["degraded_read_gb_per_s"], down)

    def _goodput(self) -> Iterator[Fact]:
        job = self.job
        if job.repair is not None:
            how = "as planned: spares, failures and repair time"
            yield Fact("waiting", 1.0 - job.repair.availability, how)
        if job.local is not None:
            how = "as planned: two checkpoint levels are not worked out here"
            yield Fact("goodput", *self._with_lost_time(of(job.goodput / (1 - job.lost_time)), how))
            return
        stopped, z = self["stall_s"], self["interval_s"] / self["mtti_s"]
        if job.mode == "async":
            stopped = stopped + self["drain_slowdown"] * self["drain_s"]
        left = max_(0, 1 - stopped / self["interval_s"])
        lost = -(self["drain_s"] + self["restart_s"] + self["restore_s"]) / self["mtti_s"]
        self.factors |= {"stall": left, "rework": _rework(z)}
        result, how = left * exp(lost) * _rework(z), _GOODPUT
        if job.repair is not None:
            share = self["hardware_share"]
            swaps = 1 - share + share * exp(-self["swap_s"] / self["mtti_s"])
            self.factors["swaps"] = swaps
            result = result * swaps * (1 - self["waiting"])
            how += ", x replacements x (1 - waiting)"
        yield Fact("goodput", *self._with_lost_time(result, how))

    def _with_lost_time(self, kept: V, how: str) -> tuple[V, str]:
        """Goodput less the lost time besides failures, and how it follows."""
        if "lost_time" not in self:
            return kept, how
        return kept * (1 - self["lost_time"]), f"{how}, x (1 - lost time)"

    def _work(self) -> Iterator[Fact]:
        job = self.job
        yield Fact("useful_gpus", self["gpus_used"] * self["goodput"], "GPUs in use x goodput")
        if job.useful_pflops is None or job.mfu is None:
            return
        rate = self.get("tflops_per_gpu", constant(job.tflops_per_gpu * job.rate_share))
        how = "effective GPUs x dense peak x MFU"
        if "tflops_per_gpu" not in self:
            how = f"effective GPUs x {rate.number:,.5g} TFLOP/s x MFU"
        yield Fact("useful_pflops", self["useful_gpus"] * rate * self["mfu"] / 1000, how)
        if "tokens_trillion" in self:
            run = 6 * self["active_parameters_billion"] * self["tokens_trillion"] * 1e6 / 86400
            how = "6 x active parameters x tokens / useful work"
            yield Fact("days_to_train", run / self["useful_pflops"], how)

    def _losses(self) -> Iterator[Fact]:
        for name, share in self.job.losses.items():
            if name == "other":
                yield Fact("loss.other", self._kept_otherwise() - self["goodput"])
                continue
            yield Fact(f"loss.{name}", share if self.job.local is not None else self._loss(name))

    def _loss(self, name: str) -> V:
        """A cause's share of the lost time: by the logarithm of its factor of goodput."""
        mtti, factors = self["mtti_s"], self.factors
        if name in factors:
            log = -ln(factors[name])
        elif name == "waiting":
            log = -ln(1 - self["waiting"])
        else:
            log = self[f"{name}_s"] / mtti
            log = log - ln(factors["swaps"]) if name == "restart" and "swaps" in factors else log
        kept = self._kept_otherwise()
        return log * ((1 - kept) / -ln(kept))

    def _kept_otherwise(self) -> V:
        """The goodput without lost time besides failures."""
        return self["goodput"] / (1 - self["lost_time"]) if "lost_time" in self else self["goodput"]

    def _chart(self, first: int, last: int) -> None:
        """Draw the lost time as bars beside its figures."""
        chart = self.book.file.add_chart({"type": "bar"})
        chart.add_series(
            {
                "name": "Lost time",
                "categories": [NAME, first, facts.LABEL, last, facts.LABEL],
                "values": [NAME, first, facts.VALUE, last, facts.VALUE],
                "fill": {"color": BAR},
                "gap": 40,
                "data_labels": {"value": True, "num_format": "0.00%", "font": {"size": 8}},
            }
        )
        chart.set_title({"none": True})
        chart.set_legend({"none": True})
        chart.set_y_axis({"reverse": True, "visible": False})
        chart.set_x_axis({"visible": False, "major_gridlines": {"visible": False}, "min": 0})
        chart.set_plotarea({"layout": {"x": 0, "y": 0, "width": 0.9, "height": 1}})
        chart.set_chartarea({"border": {"none": True}})
        chart.set_size({"width": 420, "height": 20 * (last - first + 1)})
        self.sheet.page.insert_chart(first, facts.NOTE, chart, {"object_position": 2})

    def finish(self) -> None:
        """End the sheet: what is printed, on one page."""
        self.sheet.area(0, self.sheet.at - 1)
        self.sheet.page.fit_to_pages(1, 1)


def sum_of(parts: Sequence[V]) -> V:
    """The sum of some cells, term by term."""
    return sum(parts[1:], parts[0]) if parts else of(0)


def _rework(z: V) -> V:
    """Z / (exp(z) - 1), by its series for small z."""
    series = exp(-(z / 2) - z**2 / 24)
    return if_(z < _SERIES_BELOW, series, z * exp(-z) / (1 - exp(-z)))


def lost_nameplate(plan: Plan, kind: str) -> float:
    """The nameplate bandwidth, GB/s, behind the plan's degraded one.

    Where the clients limit it even so, the plan does not say what is lost: then it is that of whole
    units, or the most that leaves the clients the limit.
    """
    job, stores = plan.jobs[0], scope.decided_lines(plan, "Storage")
    rates = [(getattr(line, f"{kind}_gb_per_s"), line.working) for line in stores]
    left = getattr(job, f"degraded_{kind}_gb_per_s") or 0.0
    clients = getattr(job, f"client_{kind}_limit_gb_per_s")
    share = getattr(plan.site, f"delivered_fraction_{kind}")
    most: float = sum(rate for rate, _ in rates) - left / share
    if left < clients * (1 - 1e-12):
        return most
    units = [rate / count * min(job.tolerate_down, count) for rate, count in rates]
    return max(0.0, min(most, max(units, default=0.0)))
