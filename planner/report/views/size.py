"""Sizing: checkpoint, intervals, demand of the job and of vendor rules, appliances."""

from __future__ import annotations

from collections.abc import Iterator

from planner.report.blocks import (
    Block,
    Facts,
    Heading,
    Table,
    figures,
    notes_block,
    values_of,
    words,
)
from planner.report.words import duration, number, percent, significant
from planner.schema.operation import ApplianceRow, ModeReport, RuleRow, SizeReport

_FAMILIES = {"ddn_per_gpu": "DDN", "nvidia_superpod_h100": "NVIDIA"}


def view(report: SizeReport) -> list[Block]:
    """A sizing report as blocks."""
    write, read = report.delivered_write_share, report.delivered_read_share
    bases = (
        f"not comparable: demand is in delivered bandwidth ({percent(write, 0)} of nameplate in "
        f"writing, {percent(read, 0)} in reading), vendor rules in nameplate; goodput is that of "
        "the job with just that bandwidth"
    )
    return [
        Heading(f"{report.problem}  (sizing only, no optimisation)"),
        Facts(tuple(_facts(report))),
        _rules(report),
        _appliances(report),
        Facts(tuple(_details(report)), "Basis", detail=True),
        *(_intervals(mode) for mode in report.modes),
        notes_block((*report.notes, bases)),
    ]


def _chosen(report: SizeReport) -> RuleRow:
    return next((rule for rule in report.rules if rule.chosen), report.rules[0])


def _fitting(rule: RuleRow) -> list[ApplianceRow]:
    """The item of each family that fits with the least power, the least of all first."""
    found = [row for row in rule.appliances if row.best_of_family and row.units is not None]
    return sorted(found, key=lambda row: row.it_power_kw or float("inf"))


def _facts(report: SizeReport) -> Iterator[tuple[str, str]]:
    held, saved, mode = report.cluster, report.checkpoint, report.modes[0]
    row = next((row for row in mode.rows if row.by_policy), mode.rows[0])
    own = _chosen(report)
    by_need = own.group == "demand_law"
    text = f"{held.gpus:,} GPUs in {held.systems:,} {held.name}: an interruption every "
    yield "Cluster", text + duration(held.mtti_s)
    text = f"{significant(saved.size_gb, 'GB')} every {duration(mode.interval_s)}; "
    place = "on flash" if saved.bulk_needed_tb else "with the data set"
    yield "Checkpoint", f"{text}{number(saved.capacity_needed_tb)} TB usable {place}"
    if by_need:
        per_gpu = row.write_mb_per_s_per_gpu
        each = "" if per_gpu is None else f" ({_rate(per_gpu)} MB/s per GPU)"
        busy = "drain" if mode.mode == "async" else "stall"
        limit = f"{busy} {100 * mode.limit_share:g} % of the interval at most"
        yield "Write", f"{_rate(row.write_demand_gb_per_s)} GB/s{each}, {limit}"
        read = "no limit on the restore time"
        if saved.max_restore_s is not None:
            within = duration(saved.max_restore_s)
            read = f"{_rate(saved.restore_gb_per_s)} GB/s to restore within {within}"
        yield "Read", read
    else:
        yield "Write", f"{_rate(own.write_demand_gb_per_s)} GB/s nameplate by the {own.rule} rule"
        yield "Read", f"{_rate(own.read_demand_gb_per_s)} GB/s nameplate by the {own.rule} rule"
    if saved.bulk_needed_tb:
        text = f"read {_rate(saved.bulk_read_gb_per_s)} GB/s delivered for training data"
        if not saved.bulk_read_gb_per_s:
            text = "no read rate (ingest_per_gpu is 0)"
        usable = f"{number(saved.bulk_needed_tb)} TB usable for data set and archives"
        yield "Bulk tier", f"{usable}; {text}"
    runs = row.running if by_need else own.running
    if runs is not None:
        yield "Goodput", f"{percent(runs.goodput_share, 2)} with just that bandwidth"


def _rate(gb_per_s: float | None) -> str:
    if gb_per_s is None:
        return "infeasible"
    return f"{gb_per_s:,.0f}" if gb_per_s >= 1000 else f"{gb_per_s:,.3g}"


def _details(report: SizeReport) -> Iterator[tuple[str, str]]:
    held, saved = report.cluster, report.checkpoint
    yield "GPUs", held.reason
    yield "Failures", f"{held.failures_per_gpu_day:.3g} per GPU and day ({held.failures_reason})"
    text = f"{held.writing_systems:,} systems write (at most {held.client_write_gb_per_s:,.0f} "
    text += f"GB/s), {held.systems:,} read (at most {held.client_read_gb_per_s:,.0f} GB/s)"
    yield "Clients", text
    yield "Checkpoint", f"{significant(saved.size_gb, 'GB')}: {saved.size_reason}"
    parts = f"data set {number(saved.dataset_tb)}, checkpoints {number(saved.checkpoints_tb)}"
    parts += f", exports {number(saved.exports_tb)}" if saved.exports_tb else ""
    needed, fill = number(saved.capacity_needed_tb), percent(saved.fill_limit_share, 0)
    yield "Capacity", f"{needed} TB: {parts}, at {fill} fill"
    reads = saved.ingest_demand_gb_per_s
    yield "Ingest", f"{number(reads, 1)} GB/s" if reads else ""


def _intervals(mode: ModeReport) -> Table:
    is_sync, rows = mode.mode == "sync", mode.rows
    runs = [row.running for row in rows]
    share = values_of(runs, lambda r: r.blocking_share if is_sync else r.overlap_share)
    names = (f"{duration(row.interval_s)}{' *' if row.by_policy else ''}" for row in rows)
    columns = (
        words("interval", names),
        figures("write GB/s", (_rate(row.write_demand_gb_per_s) for row in rows), str),
        figures("MB/s per GPU", (row.write_mb_per_s_per_gpu for row in rows), _rate),
        figures("TB a day", (row.write_volume_tb_per_day for row in rows), 0),
        figures("drain", values_of(runs, lambda r: r.drain_s), duration),
        figures("stalled" if is_sync else "overlap", share, percent),
        figures("goodput", values_of(runs, lambda r: r.goodput_share), lambda v: percent(v, 2)),
    )
    kind, busy = ("Synchronous", "stalled") if is_sync else ("Asynchronous", "draining")
    title = f"{kind} checkpoints, at most {100 * mode.limit_share:g} % of the interval {busy}"
    note = "* as set" if mode.policy == "fixed" else "* optimal within the bounds of the problem"
    return Table(title, columns, (note,), detail=True)


def _rules(report: SizeReport) -> Table:
    """Demand of the job and of vendors' rules, each with the appliance of least power."""
    rows = report.rules
    runs = [rule.running for rule in rows]
    names = (f"{_FAMILIES.get(r.group, '')} {r.rule}{' *' if r.chosen else ''}" for r in rows)
    best = [next(iter(_fitting(rule)), None) for rule in rows]
    columns = (
        words("rule", (name.strip() for name in names)),
        figures("read GB/s", (_rate(rule.read_demand_gb_per_s) for rule in rows), str),
        figures("write GB/s", (_rate(rule.write_demand_gb_per_s) for rule in rows), str),
        figures("goodput", values_of(runs, lambda r: r.goodput_share), lambda v: percent(v, 2)),
        words("least power", (f"{b.units:,} {b.name}" if b else "not possible" for b in best)),
    )
    return Table("Demand by rule", columns, ("* the rule of this problem",))


def _appliances(report: SizeReport) -> Table:
    """The appliances that meet the problem's own rule."""
    rows = _fitting(_chosen(report))
    prices = (None if r.net_usd is None else report.currency.of(r.net_usd) for r in rows)
    columns = (
        figures("units", (row.units for row in rows), 0),
        words("appliance", (row.name for row in rows)),
        figures("kW", (row.it_power_kw for row in rows), 1),
        figures("racks", (row.racks for row in rows), 0),
        figures("net price", prices, "USD"),
        words("binding", (row.decided_by for row in rows)),
    )
    note = "the item of each storage family that draws least, alone"
    return Table("Appliances", columns, (note,), first=4, rows="appliances")
