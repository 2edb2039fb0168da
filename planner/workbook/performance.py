"""The live sheets Performance (job on the purchase, limits) and Power & cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from planner.currency import discounted_years
from planner.figures import BTU_PER_H_PER_KW, capital
from planner.limits import COUNTED_IN, known
from planner.report import edition
from planner.report.formats import product
from planner.schema.operation import JobPlan
from planner.schema.plan import LimitReport, Plan
from planner.units import HOURS_PER_YEAR
from planner.workbook.book import (
    ANY,
    CHART_ROWS,
    COUNT,
    LABEL,
    SHARE,
    Allowed,
    Book,
    Figure,
    Meaning,
    Sheet,
    height,
    properties,
    write_figures,
)
from planner.workbook.formulas import (
    Term,
    V,
    as_value,
    constant,
    exp,
    if_,
    int_,
    is_number,
    max_,
    min_,
    or_na,
    sum_,
    sum_of,
)
from planner.workbook.quote import Bill, Row

NAME = "Performance"
_WIDTHS = (42, 17, 17, 62)
_POSITIVE, _PART = Allowed(1e-12), Allowed(1e-6, 1)
_SERIES_BELOW = 1e-4
"""Below this z = interval / MTTI the closed form of the rework factor loses its digits."""
_NO_LIMIT = 1e9
"""GB/s: clients that can take as much limit nothing."""
_POLICIES = {"optimal": "best interval, as planned", "fixed": "given by the problem"}
_GOODPUT = "(1 - stall/interval) x exp(-(drain + restart + restore)/MTTI) x rework(interval/MTTI)"


class Performance(dict[str, V]):
    """The sheet, and its cells by name; it is filled in steps, as other sheets need its cells."""

    def __init__(self, book: Book, plan: Plan, bill: Bill) -> None:
        super().__init__()
        self.book, self.plan, self.bill = book, plan, bill
        self.job: JobPlan = plan.jobs[0]
        self.sheet = Sheet(book, NAME, _WIDTHS)
        rows = [row for row in bill.rows if row.line.working]
        self.types = [r for r in rows if r.line.sku in self.job.gpu_types and r.line.gpus]
        """The lines of the GPU systems that the job uses."""
        self.stores = [row for row in rows if row.line.section == "Storage"]

    def write(self) -> None:
        """Write the inputs of the job and its operation."""
        title = " ".join(f"How the job {self.job.name} runs".split())
        self.sheet.head(title, "Yellow cells may be edited, everything follows.")
        self._part("Inputs", self._inputs(), self._training())
        self._part("GPUs and bandwidth", self._gpus(), self._bandwidth())
        self._part("Checkpoint and restore", self._checkpoint(), self._restore())
        self._part("Goodput", self._goodput(), self._work())

    def _part(self, title: str, *rows: Iterable[Figure]) -> None:
        self.sheet.heading(title)
        for each in rows:
            write_figures(self.sheet, each, self)
        self.sheet.at += 1

    def _inputs(self) -> Iterator[Figure]:
        job, site = self.job, self.plan.site
        yield Figure("checkpoint_gb", job.checkpoint_gb, "", _POSITIVE)
        yield Figure("interval_s", job.interval_s, _POLICIES[job.interval_policy], _POSITIVE)
        if job.mode == "async":
            if job.derived_stall:
                yield Figure("stall_s", job.stall_s, "overhead and copy to the host, as planned")
            else:
                yield Figure("async_stall_s", job.stall_s, "", ANY)
            yield Figure("drain_slowdown", job.drain_slowdown, "", SHARE)
        rate = job.failures_per_gpu_day
        yield Figure("failures_per_gpu_day", rate, "interruptions of the job", _POSITIVE)
        yield Figure("restart_s", job.restart_s, "", ANY)
        if job.lost_time:
            how = "of the time between restarts: evaluation, people, network, slow starts"
            yield Figure("lost_time", job.lost_time, how, SHARE)
        if job.repair is not None:
            yield Figure("repair.hardware_share", job.repair.hardware_share, "", SHARE)
            yield Figure("repair.swap_s", job.repair.swap_s, "on top of the restart", ANY)
        for row in self.types:
            sku, idle = row.line.sku, row.line.working - self._systems(row.line.sku)
            how = "in place, not used by the job"
            yield Figure(f"hot_spares.{sku}", idle, how, COUNT, product(row.line))
        yield Figure("delivered_fraction_write", site.delivered_fraction_write, "derating", _PART)
        yield Figure("delivered_fraction_read", site.delivered_fraction_read, "derating", _PART)
        for kind, limit, systems in (
            ("write", job.client_write_limit_gb_per_s, job.writing_systems),
            ("read", job.client_read_limit_gb_per_s, job.reading_systems),
        ):
            if limit < _NO_LIMIT and systems:
                yield Figure(f"client_{kind}_gb_per_s", limit / systems, "per GPU system")
        yield Figure("fill_limit", site.fill_limit, "", _PART)

    def _systems(self, sku: str) -> int:
        """The systems of a type that the job uses, as planned."""
        alone = {self.job.gpu_type: self.job.systems_used}  # a plan made by hand may not say
        return (self.job.systems_by_type or alone).get(sku, 0)

    def _training(self) -> Iterator[Figure]:
        job = self.job
        if job.useful_pflops is None or job.mfu is None:
            return
        yield Figure("mfu", job.mfu, "", _PART)
        if job.tokens is not None and job.active_parameters is not None:
            yield Figure("tokens_trillion", job.tokens / 1e12, "", _POSITIVE)
            yield Figure("active_parameters_billion", job.active_parameters / 1e9, "", _POSITIVE)

    def _gpus(self) -> Iterator[Figure]:
        job, used, gpus, most = self.job, [], [], 0
        for row in self.types:
            sku = row.line.sku
            systems = max_(0, row.working - self[f"hot_spares.{sku}"])
            used.append(systems)
            gpus.append(systems * job.usable_gpus_by_type[sku])
            most += self._systems(sku) * job.usable_gpus_by_type[sku]
        yield Figure("systems_ready", sum_of(used), "in place, less hot spares")
        total, how = sum_of(gpus), "systems in use x GPUs that a replica can fill"
        if job.whole_replicas and job.replica_gpus:
            total = int_(total / job.replica_gpus) * job.replica_gpus
            most = most // job.replica_gpus * job.replica_gpus
            how = f"in whole replicas of {job.replica_gpus} GPUs"
        rest = most - job.gpus_used
        yield Figure("gpus_used", max_(0, total - rest) if rest else total, how)

    def _bandwidth(self) -> Iterator[Figure]:
        job, gain = self.job, 1.0
        if job.burst is not None:
            gain = job.delivered_write_gb_per_s / job.burst.delivered_sustained_gb_per_s
        for kind, acting, role in (
            ("write", job.writing_systems, job.writers),
            ("read", job.reading_systems, "all"),
        ):
            nameplate = self._per_unit(f"nameplate_{kind}_gb_per_s")
            yield Figure(f"nameplate_{kind}_gb_per_s", nameplate, "units x nameplate of one")
            reached = self[f"nameplate_{kind}_gb_per_s"] * self[f"delivered_fraction_{kind}"]
            how = "nameplate x delivered share"
            if kind == "write" and gain != 1.0:
                reached, how = reached * constant(gain), f"{how}, and bursts as planned"
            if f"client_{kind}_gb_per_s" in self:
                systems: Term = self["systems_ready"] if role == "all" else acting
                reached = min_(reached, as_value(systems) * self[f"client_{kind}_gb_per_s"])
            most = getattr(job, f"client_{kind}_limit_gb_per_s")
            how = how if getattr(job, f"delivered_{kind}_gb_per_s") < most else "client limit"
            yield Figure(f"delivered_{kind}_gb_per_s", reached, how)

    def _per_unit(self, figure: str) -> V:
        """A figure of the storage in place, by units."""
        rated = [(row, getattr(row.line, figure) / row.line.working) for row in self.stores]
        return sum_of([row.working * constant(each) for row, each in rated])

    def _checkpoint(self) -> Iterator[Figure]:
        job, how = self.job, "checkpoint size / delivered write bandwidth"
        transfer = self["checkpoint_gb"] / self["delivered_write_gb_per_s"]
        if job.mode == "sync":
            yield Figure("stall_s", transfer, how)
            yield Figure("drain_s", 0, "part of the stall")
        else:
            self.setdefault("stall_s", self.get("async_stall_s", as_value(0)))
            yield Figure("drain_s", transfer, how)
        every = 1 if job.local is None else job.local.every
        self["to_storage_s"] = self["interval_s"] * every if every > 1 else self["interval_s"]
        yield Figure("overlap", self["drain_s"] / self["to_storage_s"], "drain / interval")
        yield Figure("blocking", self["stall_s"] / self["interval_s"], "stall / interval")

    def _restore(self) -> Iterator[Figure]:
        job, read = self.job, self["checkpoint_gb"]
        how = "checkpoint size / delivered read bandwidth"
        if job.fan_out != 1.0:
            read = constant(job.fan_out) * read
            how = f"{job.fan_out:.4g} x {how}: restore fan-out as planned"
        yield Figure("restore_s", read / self["delivered_read_gb_per_s"], how)
        shrunk = None if job.repair is None else job.repair.shrunk
        per_day = self["failures_per_gpu_day"] * self["gpus_used"]
        per_day = per_day if shrunk is None else per_day * constant(shrunk.failing)
        how = "86,400 s / (failures per GPU and day x GPUs in use)"
        yield Figure("mtti_s", 86400 / per_day, how)
        held = constant(job.other_data_tb) + self["checkpoint_gb"] * job.checkpoints_held / 1000
        how = f"{job.checkpoints_held:g} checkpoints and {job.other_data_tb:,.4g} TB of other data"
        yield Figure("capacity_needed_tb", held / self["fill_limit"], f"{how} / share in use")
        if self.stores and all(row.line.usable_tb is not None for row in self.stores):
            how = "storage units x usable capacity of one"
            yield Figure("usable_tb", self._per_unit("usable_tb"), how)

    def _goodput(self) -> Iterator[Figure]:
        job = self.job
        if job.repair is not None:
            how = "as planned: spares, failures and repair time"
            yield Figure("waiting", 1.0 - job.repair.availability, how)
        kept, how = as_value(job.goodput / (1 - job.lost_time)), "as planned: two checkpoint levels"
        if job.local is None:
            more = "" if job.repair is None else ", x replacements x (1 - waiting)"
            kept, how = self._one_level_goodput(), f"{_GOODPUT}{more}"
        if "lost_time" in self:
            kept, how = kept * (1 - self["lost_time"]), f"{how}, x (1 - lost time)"
        yield Figure("goodput", kept, how)

    def _one_level_goodput(self) -> V:
        """The goodput of one level of checkpoints, without lost time besides failures."""
        stopped, z = self["stall_s"], self["interval_s"] / self["mtti_s"]
        if self.job.mode == "async":
            stopped = stopped + self["drain_slowdown"] * self["drain_s"]
        left = max_(0, 1 - stopped / self["interval_s"])
        lost = -(self["drain_s"] + self["restart_s"] + self["restore_s"]) / self["mtti_s"]
        result = left * exp(lost) * _rework(z)
        if self.job.repair is not None:
            share = self["repair.hardware_share"]
            swaps = 1 - share + share * exp(-self["repair.swap_s"] / self["mtti_s"])
            result = result * swaps * (1 - self["waiting"])
        return result

    def _work(self) -> Iterator[Figure]:
        job = self.job
        yield Figure("useful_gpus", self["gpus_used"] * self["goodput"], "GPUs in use x goodput")
        if "mfu" not in self:
            return
        rate = constant(job.tflops_per_gpu * job.rate_share)
        how = f"useful GPUs x {rate.number:,.5g} TFLOP/s x MFU"
        how += ", scaling efficiency as planned" if job.scale_share != 1.0 else ""
        yield Figure("useful_pflops", self["useful_gpus"] * rate * self["mfu"] / 1000, how)
        if "tokens_trillion" in self:
            run = 6 * self["active_parameters_billion"] * self["tokens_trillion"] * 1e6 / 86400
            how = "6 x active parameters x tokens / useful work"
            yield Figure("days_to_train", run / self["useful_pflops"], how)


def _rework(z: V) -> V:
    """Z / (exp(z) - 1), by its series for small z."""
    series = exp(-(z / 2) - z**2 / 24)
    return if_(z < _SERIES_BELOW, series, z * exp(-z) / (1 - exp(-z)))


# Power & cost: IT load and facility power by line, cost over the term.

POWER_COST = "Power & cost"
_POWER_WIDTHS = (46, 16, 16, 16, 16, 16, 16)
_CHARTS = ((0, 440), (2, 580))
"""Column and width of the charts side by side, px."""
_YEARLY = (
    "support_usd_per_year",
    "subscriptions_usd_per_year",
    "energy_usd_per_year",
    "colocation_usd_per_year",
)
"""Figures of money that are paid every year."""


class PowerCost(dict[str, V]):
    """The sheet, and its cells by the name they have in a plan."""

    def __init__(self, book: Book, plan: Plan, bill: Bill) -> None:
        super().__init__()
        self.book, self.plan, self.bill, self.totals = book, plan, bill, plan.totals
        self.sheet = Sheet(book, POWER_COST, _POWER_WIDTHS)
        self.money = bill.prices == "all"
        self.term = self.money and plan.totals is not None and plan.totals.tco_usd is not None
        """True if there is a cost over the term to show."""
        self.usual_wet: list[V] = []
        """Typical draw of liquid-cooled parts, by line."""
        self.liquid = edition.cooled_by_liquid(plan)

    def write(self, job: dict[str, V]) -> None:
        """Write inputs, sections with their charts, power, and cost.

        Args:
            job: cells of the sheet Performance by name.
        """
        what = "Power and cost over the term" if self.money else "Power and cooling"
        self.sheet.head(what, "Yellow cells may be edited, everything follows.")
        self._part("Inputs", self._inputs())
        self._sections()
        self._typical_loads()
        self._part("Power and heat", self._power())
        if self.money and self.totals is not None:
            self._part("Cost", self._cost(job))
        self.sheet.area(0, self.sheet.at)

    def _part(self, title: str, rows: Iterator[Figure]) -> None:
        self.sheet.heading(title)
        write_figures(self.sheet, rows, self)
        self.sheet.at += 1

    def _inputs(self) -> Iterator[Figure]:
        site, ratio = self.plan.site, Allowed(1, 10)
        yield Figure("pue", site.pue, "", ratio)
        if self.liquid and site.pue_liquid != site.pue:
            yield Figure("pue_liquid", site.pue_liquid, "", ratio)
        if not self.money or site.electricity_usd_per_kwh is None or site.years is None:
            return
        yield Figure("electricity_usd_per_kwh", site.electricity_usd_per_kwh, "", ANY)
        if edition.over_time(self.plan):
            how = "as planned: payments are discounted or end before the term"
            yield Figure("years", site.years, how)
            yield Figure("discount_rate", site.discount_rate)
        else:
            yield Figure("years", site.years, "", Allowed(1e-6, 50))
        if site.colocation_usd_per_kw_month:
            yield Figure("colocation_usd_per_kw_month", site.colocation_usd_per_kw_month, "", ANY)

    def _sections(self) -> None:
        """Write power and amount of each section of the bill, each with a chart."""
        sheet, look, titles = self.sheet, self.book.look, {"it_kw": "IT load kW"}
        if "amount" in self.bill.totals:
            titles |= {"amount": f"Amount {self.book.currency.code}"}
        sheet.heading("By section", len(titles), dict(enumerate(titles.values(), start=1)))
        first = sheet.at
        for title, cells in self.bill.sections:
            sheet.put(sheet.at, 0, title.partition(" (")[0], look("text", "line"))
            for at, key in enumerate(titles, start=1):
                form = look("usd" if key == "amount" else "n1", "line")
                sheet.put(sheet.at, at, cells[key], form)
            sheet.at += 1
        last = sheet.at - 1
        sheet.at += 1
        for at, title in enumerate(titles.values(), start=1):
            place, wide = _CHARTS[at - 1]
            sheet.bar_chart(title, (first, last, at), place, wide)
        sheet.at += CHART_ROWS + 1

    def _typical_loads(self) -> None:
        """Write the lines with a typical draw or a liquid-cooled part, and the sums."""
        sheet, look, load = self.sheet, self.book.look, self.bill.totals["it_kw"]
        rows = [row for row in self.bill.rows if row.line.it_power_kw and row.line.quantity]
        rows = [r for r in rows if r.line.liquid_share or _typical(r) is not None]
        titles = ["IT load kW", "Typical kW", *(["Liquid-cooled kW"] if self.liquid else [])]
        if rows:
            heads = dict(enumerate(titles, start=1))
            sheet.heading("Typical and liquid-cooled load", len(titles), heads)
        first, found = sheet.at, []
        for row in rows:
            wet, typical = row.line.liquid_share, _typical(row)
            it_kw = row.cells["it_kw"]
            usual = it_kw if typical is None else row.cells["quantity"] * constant(typical)
            terms = (it_kw, usual, it_kw * constant(wet) if wet else None)[: len(titles)]
            sheet.put(sheet.at, 0, f"{row.number}  {product(row.line)}", look("text", "line"))
            cells = [
                sheet.put(sheet.at, at, term, look("n1", "line"))
                for at, term in enumerate(terms, start=1)
            ]
            found.append([cell.value for cell in cells])
            self.usual_wet += [cells[1] * constant(wet)] if wet else []
            sheet.at += 1
        sums = [
            sum_(values, sheet.span(first, sheet.at - 1, at))
            for at, values in enumerate(zip(*found, strict=True), start=1)
        ]
        self["typical_kw"] = load - sums[0] + sums[1] if sums else load
        if self.liquid:
            self["liquid_kw"] = sums[2] if sums else as_value(0)
        sheet.at += bool(rows)

    def _power(self) -> Iterator[Figure]:
        it_kw = self.bill.totals["it_kw"]
        yield Figure("it_power_kw", it_kw, "at the nameplate draw")
        how = "IT load x PUE"
        if "pue_liquid" in self:
            how = "air-cooled load x PUE + liquid-cooled load x its PUE"
        yield Figure("facility_power_kw", self._metered(it_kw, self.get("liquid_kw")), how)
        how = "nameplate where a typical draw is not stated"
        yield Figure("typical_power_kw", self["typical_kw"], how)
        if "liquid_kw" in self:
            yield Figure("heat_liquid_kw", self["liquid_kw"])
        air = it_kw - self["liquid_kw"] if "liquid_kw" in self else it_kw
        yield Figure("heat_air_kw", air)
        yield Figure("heat_btu_per_h", it_kw * BTU_PER_H_PER_KW, "1 kW is 3,412.14 BTU/h")

    def _metered(self, load: V, liquid: V | None) -> V:
        """The facility power of an IT load, part of it cooled by liquid."""
        if "pue_liquid" not in self or liquid is None:
            return load * self["pue"]
        return (load - liquid) * self["pue"] + liquid * self["pue_liquid"]

    def _cost(self, job: dict[str, V]) -> Iterator[Figure]:
        bill = self.bill.totals
        yield Figure("capex_usd", bill["amount"], "total of the sheet Quote")
        yield Figure("support_usd_per_year", bill["support"])
        if "subscription" in bill:
            yield Figure("subscriptions_usd_per_year", bill["subscription"])
        if not self.term:
            return
        yield self._energy()
        if "colocation_usd_per_kw_month" in self:
            rent = self["it_power_kw"] * 12 * self["colocation_usd_per_kw_month"]
            yield Figure("colocation_usd_per_year", rent, "IT load x 12 months x price")
        yearly = [self[name] for name in _YEARLY if name in self]
        yield Figure("opex_usd_per_year", sum_of(yearly))
        yield self._tco(yearly)
        yield from self._ratios(job)

    def _energy(self) -> Figure:
        power, how = self["facility_power_kw"], f"facility power x {HOURS_PER_YEAR:,.0f} h x price"
        if self.plan.site.energy_basis == "typical":
            wet = sum_of(self.usual_wet)
            power, how = self._metered(self["typical_power_kw"], wet), f"typical {how}"
        energy = power * constant(HOURS_PER_YEAR) * self["electricity_usd_per_kwh"]
        return Figure("energy_usd_per_year", energy, how)

    def _tco(self, yearly: list[V]) -> Figure:
        site, totals = self.plan.site, self.totals
        if not edition.over_time(self.plan):
            total = self["capex_usd"] + self["years"] * self["opex_usd_per_year"]
            return Figure("tco_usd", total, "capex + term x opex")
        assert totals is not None and totals.tco_usd is not None
        years = discounted_years(0.0, site.years or 0.0, site.discount_rate)
        support, opex = totals.support_usd_per_year or 0.0, totals.opex_usd_per_year or 0.0
        left = totals.tco_usd - (totals.capex_usd or 0.0) - years * (opex - support)
        paid = left / support if support else 0.0
        how = f"capex + {paid:,.4g} years of support, as planned, + {years:,.4g} of the rest"
        rest = constant(paid) * yearly[0] + constant(years) * sum_of(yearly[1:])
        return Figure("tco_usd", self["capex_usd"] + rest, how)

    def _ratios(self, job: dict[str, V]) -> Iterator[Figure]:
        totals = self.totals
        assert totals is not None
        if totals.usd_per_useful_gpu_hour is not None:
            hours = job["useful_gpus"] * constant(HOURS_PER_YEAR) * self["years"]
            how = "TCO / (useful GPUs x hours)"
            yield Figure("usd_per_useful_gpu_hour", self["tco_usd"] / hours, how)
        if totals.usd_per_million_tokens is not None and "active_parameters_billion" in job:
            tokens = job["useful_pflops"] * constant(HOURS_PER_YEAR * 3600) / 6
            tokens = tokens / job["active_parameters_billion"] * self["years"]
            how = "TCO / tokens trained in the term"
            yield Figure("usd_per_million_tokens", self["tco_usd"] / tokens, how)


def _typical(row: Row) -> float | None:
    """The typical draw of one unit, kW; None where it is the nameplate draw."""
    typical = row.line.typical_power_kw
    is_nameplate = typical is None or typical == row.line.it_power_kw
    return None if is_nameplate or typical is None else typical / row.line.quantity


# The limits: reached and allowed, with bars of the share used.

_REACHED, _ALLOWED, _USED = range(1, 4)
_OVER = 1 + 1e-6
_OF_JOB = {"overlap": "max_overlap", "blocking": "max_blocking", "restore_time": "max_restore_s"}
"""Limits that are fields of the job, by the key of their edit."""
_FOLLOWS = {"capacity": "capacity_needed_tb", "drain_fits": "to_storage_s"}
"""The cells of the allowed values that follow from the job."""

_BY_DRAIN = ("overlap", "blocking", "drain_fits", "restore_time")
"""Limits as planned with storage units down; with two levels of checkpoints, the first three."""


def write_limits(found: Performance, totals: Mapping[str, V]) -> None:
    """Write the limits below the figures of the job; ``totals`` are sums over the bill by name."""
    sheet, limits, book = found.sheet, found.plan.limits, found.book
    if limits:
        sheet.heading("Limits", titles={_REACHED: "Reached", _ALLOWED: "Allowed"})
        style = book.look("text", "under", "note")
        sheet.put(sheet.at - 1, _USED, "Used", style)
        first = sheet.at
        for limit in limits:
            _write_limit(found, limit, reached(found, totals, limit))
        page, last = sheet.page, sheet.at - 1
        bold = book.file.add_format(properties("mark") | {"bold": True})
        over = {"type": "cell", "criteria": ">", "value": _OVER, "format": bold}
        page.conditional_format(first, _USED, last, _USED, over)
        sheet.bars(first, last, _USED, 1.0)
    sheet.area(0, sheet.at - 1)
    sheet.page.fit_to_pages(1, 1)


def _write_limit(found: Performance, limit: LimitReport, cell: V | None) -> None:
    sheet, book, at = found.sheet, found.book, found.sheet.at
    look, label = _look(limit), capital(limit.label)
    right = book.look(look, "line", align="right")
    shown = "" if limit.unit in ("share", "1") else book.currency.named(limit.unit)
    sense = "exactly" if limit.exact else {"<=": "at most", ">=": "at least"}[limit.sense]
    parts = ["" if shown.casefold() in label.casefold().split() else shown, sense]
    parts += ["as planned"] if cell is None else []
    label = ", ".join(filter(None, (label, *parts)))
    sheet.put(at, LABEL, label, book.look("wrap", "line"))
    sheet.page.set_row(at, height(label, sheet.widths[LABEL]))
    cell = as_value(limit.value) if cell is None else or_na(cell)
    value = sheet.put(at, _REACHED, cell, right)
    follows, opened = found.get(_FOLLOWS.get(limit.name, "")), _opened(limit)
    if follows is not None or opened is None:
        allowed = sheet.put(at, _ALLOWED, limit.limit if follows is None else follows, right)
    else:
        allowed = sheet.input(at, _ALLOWED, limit.limit, look, opened, f"limit.{limit.name}")
    used = value / allowed if limit.sense == "<=" else allowed / value
    share = or_na(if_(is_number(allowed), used, "no limit"))
    sheet.put(at, _USED, share, book.look("pct2", "line", align="left", indent=1))
    sheet.at += 1


def _look(limit: LimitReport) -> str:
    if limit.name.startswith("per_"):
        return "n4"
    looks = {"share": "pct2", "1": "pct2", "USD": "usd", "USD/year": "usd"}
    return looks.get(limit.unit, "n0" if limit.unit in COUNTED_IN else "n1")


def _opened(limit: LimitReport) -> Meaning | None:
    """As which input a limit may be edited, None where it follows from something else."""
    row, label = known(limit.name), f"limit on {limit.label}"
    highest = 1.0 if limit.unit == "share" else 1e15
    if limit.name in _OF_JOB:
        return Meaning("figure", _OF_JOB[limit.name], label, limit.unit, Allowed(1e-9, highest))
    if row is None or not row.editable:
        return None
    whole = limit.unit in COUNTED_IN and float(limit.limit).is_integer()
    least = 0.0 if whole or row.group == "supply" else 1e-9
    allowed = Allowed(least, highest, whole, blank=True)
    return Meaning("limit", limit.name, label, limit.unit, allowed)


def reached(found: Performance, totals: Mapping[str, V], limit: LimitReport) -> V | None:
    """The cell of a limit's value; None where it stays as planned."""
    row, name, job = known(limit.name), limit.name, found.job
    if row is None:
        return None
    if row.group in ("supply", "ratio"):
        return totals.get(row.figure)
    if row.group == "count":
        return _performance_value(found, name.split("."), row.figure)
    if name in _BY_DRAIN and (job.tolerate_down or (job.local and name != "restore_time")):
        return None
    return {**found, "stall_and_drain_s": found["stall_s"] + found["drain_s"]}.get(row.figure)


def _performance_value(found: Performance, parts: Sequence[str], figure: str) -> V | None:
    row = {row.line.sku: row for row in found.bill.rows}.get(parts[1]) if parts[1:] else None
    if row is None:
        return None
    return {**row.cells, "purchased": row.cells["order"], "working": row.working}.get(figure)
