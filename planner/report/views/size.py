"""Sizing: checkpoint, intervals, demand of the job and of vendor rules, appliances for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from planner.report.blocks import Block, Column, Facts, Heading, Table, Text, notes_block
from planner.report.words import duration, listed, money, number, percent, size
from planner.schema.size import (
    ApplianceRow,
    Checkpoint,
    IntervalRow,
    ModeReport,
    RuleRow,
    SizeReport,
)

_FAN_OUTS = {
    "broadcast": "broadcast: one reader, then the GPU fabric",
    "sharded_optimizer": "sharded optimizer: replicas read only the weights",
    "every_replica": "every replica reads all of it",
}
_POLICIES = {
    "optimal": "optimal within the bounds of the problem",
    "fixed": "as set",
}
_FAMILIES = {"ddn_per_gpu": "DDN", "nvidia_superpod_h100": "NVIDIA"}
_GROUPS = {
    "demand_law": "demand of the job, delivered",
    "ddn_per_gpu": "DDN rules per GPU, nameplate",
    "nvidia_superpod_h100": "NVIDIA SuperPOD rules per 256 GPUs, nameplate",
    "custom": "rule of the problem, nameplate",
}
_MOST_CHOICES = 3
_BASES = (
    "not comparable: demand is in delivered bandwidth ({write} of nameplate in writing, {read} in "
    "reading), vendor rules in nameplate; goodput is that of the job with just that bandwidth"
)


def view(report: SizeReport) -> list[Block]:
    """Return a sizing report as blocks."""
    report = _restated(report)
    bases = _BASES.format(
        write=percent(report.delivered_write_share, 0), read=percent(report.delivered_read_share, 0)
    )
    return [
        Heading(f"{report.problem}  (sizing only, no optimisation)"),
        Facts(tuple(_facts(report))),
        _rules(report),
        Facts(tuple(_details(report)), "Basis", detail=True),
        _types(report),
        _restore(report),
        *(_intervals(mode) for mode in report.modes),
        *_appliances(report),
        notes_block((*report.notes, bases)),
    ]


def _restated(report: SizeReport) -> SizeReport:
    """Return the report with prices of appliances in its currency."""

    def priced(row: ApplianceRow) -> ApplianceRow:
        return row if row.net_usd is None else replace(row, net_usd=report.currency.of(row.net_usd))

    rules = (replace(rule, appliances=tuple(map(priced, rule.appliances))) for rule in report.rules)
    return replace(report, rules=tuple(rules))


def _facts(report: SizeReport) -> Iterator[tuple[str, str]]:
    held, saved, mode = report.cluster, report.checkpoint, report.modes[0]
    row = next((row for row in mode.rows if row.by_policy), mode.rows[0])
    used = next((way for way in report.restore if way.used), report.restore[0])
    own = next((rule for rule in report.rules if rule.chosen), report.rules[0])
    by_need = own.group == "demand_law"
    runs = row.running if by_need else own.running
    yield (
        "Cluster",
        (
            f"{held.gpus:,} GPUs in {held.systems:,} {held.name}: an interruption every "
            f"{duration(held.mtti_s)}"
        ),
    )
    yield (
        "Checkpoint",
        (
            f"{size(saved.size_gb)} every {duration(mode.interval_s)}; "
            f"{number(saved.capacity_needed_tb)} TB usable "
            f"{'on flash' if saved.bulk_needed_tb else 'with the data set'}"
        ),
    )
    if by_need:
        yield "Write", _write(mode, row)
        if used.max_restore_s is None or used.read_gb_per_s is None:
            yield "Read", "no limit on the restore time"
        else:
            within = duration(used.max_restore_s)
            yield "Read", f"{_rate(used.read_gb_per_s)} GB/s to restore within {within}"
    else:
        yield "Write", f"{_rate(own.write_gb_per_s)} GB/s nameplate by the {own.rule} rule"
        yield "Read", f"{_rate(own.read_gb_per_s)} GB/s nameplate by the {own.rule} rule"
    if saved.bulk_needed_tb:
        yield "Bulk tier", _bulk(saved)
    if runs is not None:
        yield "Goodput", f"{percent(runs.goodput_share, 2)} with just that bandwidth"
    fitting = [row for row in own.appliances if row.best_of_family and row.units is not None]
    fitting.sort(key=lambda row: row.it_power_kw or float("inf"))
    texts = [f"{row.units:,} {row.name} ({money(row.net_usd)})" for row in fitting[:_MOST_CHOICES]]
    more = len(fitting) - len(texts)
    yield "Storage", listed([*texts, *([f"{more} more"] if more > 0 else [])])


def _bulk(saved: Checkpoint) -> str:
    """Demand for the bulk tier: capacity and read rate."""
    read = f"read {_rate(saved.bulk_read_gb_per_s)} GB/s delivered for training data"
    if not saved.bulk_read_gb_per_s:
        read = "no read rate (ingest_per_gpu is 0)"
    return f"{number(saved.bulk_needed_tb)} TB usable for data set and archives; {read}"


def _write(mode: ModeReport, row: IntervalRow) -> str:
    per_gpu = row.write_mb_per_s_per_gpu
    each = "" if per_gpu is None else f" ({_rate(per_gpu)} MB/s per GPU)"
    busy = "drain" if mode.mode == "async" else "stall"
    return f"{_rate(row.write_gb_per_s)} GB/s{each}, {busy} {_limit(mode)} of the interval at most"


def _limit(mode: ModeReport) -> str:
    return f"{100 * mode.limit_share:g} %"


def _rate(gb_per_s: float | None) -> str:
    if gb_per_s is None:
        return "infeasible"
    return f"{gb_per_s:,.0f}" if gb_per_s >= 1000 else f"{gb_per_s:,.3g}"


def _details(report: SizeReport) -> Iterator[tuple[str, str]]:
    held, saved = report.cluster, report.checkpoint
    yield "GPUs", f"{held.count}; {held.choice}"
    if held.gpus_bought != held.gpus:
        yield "Bought", f"{held.gpus_bought:,} GPUs, the count of vendor rules"
    yield "Failures", f"{held.failures_per_gpu_day:.3g} per GPU and day ({held.failures_reason})"
    if held.replicas is not None and held.replica_gpus is not None:
        yield "Replicas", f"{held.replicas:,} x {held.replica_gpus:,} GPUs"
    yield (
        "Clients",
        (
            f"{held.writing_systems:,} systems write (at most "
            f"{held.client_write_gb_per_s:,.0f} GB/s), {held.reading_systems:,} read (at most "
            f"{held.client_read_gb_per_s:,.0f} GB/s)"
        ),
    )
    yield "Checkpoint", f"{size(saved.size_gb)}: {saved.size_reason}"
    parts = [f"data set {number(saved.dataset_tb)}", f"checkpoints {number(saved.checkpoints_tb)}"]
    parts += [f"exports {number(saved.exports_tb)}"] if saved.exports_tb else []
    fill = percent(saved.fill_limit_share, 0)
    needed = number(saved.capacity_needed_tb)
    yield "Capacity", f"{needed} TB: {', '.join(parts)}, at {fill} fill"
    if saved.ingest_gb_per_s:
        yield "Ingest", f"{number(saved.ingest_gb_per_s, 1)} GB/s"


def _types(report: SizeReport) -> Table:
    types = report.gpu_types if len(report.gpu_types) > 1 else ()
    columns = (
        Column("GPU system", tuple(each.name for each in types), words=True),
        Column("systems", tuple(f"{t.systems:,}" if t.limited else "no limit" for t in types)),
        Column("GPUs", tuple(f"{t.gpus:,}" if t.limited else "" for t in types)),
        Column("peak PFLOP/s", tuple(number(t.peak_pflops) if t.limited else "" for t in types)),
    )
    return Table("Most of each GPU system", columns, detail=True)


def _restore(report: SizeReport) -> Table:
    ways = report.restore
    within = ways[0].max_restore_s
    columns = (
        Column("", tuple("*" if way.used else "" for way in ways)),
        Column("restore", tuple(_FAN_OUTS[way.fan_out] for way in ways), words=True),
        Column("copies read", tuple(f"{way.reads_of_checkpoint:,.2f} x" for way in ways)),
        Column("volume", tuple(size(way.read_gb) for way in ways)),
        Column("read GB/s", tuple(
            "no limit" if way.read_gb_per_s is None else _rate(way.read_gb_per_s) for way in ways
        )),
    )  # fmt: skip
    title = "Restore" if within is None else f"Restore within {duration(within)}"
    return Table(title, columns, ("* this problem",), detail=True)


def _intervals(mode: ModeReport) -> Table:
    is_sync = mode.mode == "sync"
    runs = [row.running for row in mode.rows]
    rows = mode.rows
    share = [None if r is None else r.blocking_share if is_sync else r.overlap_share for r in runs]
    columns = (
        Column("", tuple("*" if row.by_policy else "" for row in rows)),
        Column("interval", tuple(duration(row.interval_s) for row in rows)),
        Column("write GB/s", tuple(_rate(row.write_gb_per_s) for row in rows)),
        Column("MB/s per GPU", tuple(
            "" if row.write_mb_per_s_per_gpu is None else _rate(row.write_mb_per_s_per_gpu)
            for row in rows
        )),
        Column("TB a day", tuple(number(row.write_volume_tb_per_day) for row in rows)),
        Column("stall", tuple("" if r is None else duration(r.stall_s) for r in runs)),
        Column("drain", tuple("" if r is None else duration(r.drain_s) for r in runs)),
        Column("stalled" if is_sync else "overlap",
               tuple("" if each is None else percent(each) for each in share)),
        Column("goodput", tuple("" if r is None else percent(r.goodput_share, 2) for r in runs)),
    )  # fmt: skip
    kind, busy = ("Synchronous", "stalled") if is_sync else ("Asynchronous", "draining")
    title = f"{kind} checkpoints, at most {_limit(mode)} of the interval {busy}"
    note = f"* {duration(mode.interval_s)}: {_POLICIES[mode.policy]}"
    return Table(title, columns, (note,), detail=True)


def _rules(report: SizeReport) -> Table:
    rules = report.rules
    runs = [rule.running for rule in rules]
    names = tuple(
        f"{_FAMILIES.get(rule.group, '')} {rule.rule}".strip() + (" *" if rule.chosen else "")
        for rule in rules
    )
    shares = tuple(
        "" if r is None else f"{percent(r.blocking_share)} stalled" if rule.mode == "sync"
        else percent(r.overlap_share)
        for rule, r in zip(rules, runs, strict=True)
    )  # fmt: skip
    columns = (
        Column("rule", names, head=("",), words=True),
        Column("read GB/s", tuple(_rate(rule.read_gb_per_s) for rule in rules)),
        Column("write GB/s", tuple(_rate(rule.write_gb_per_s) for rule in rules)),
        Column("interval", tuple("" if r.interval_s is None else duration(r.interval_s)
                                 for r in rules), detail=True),
        Column("stall", tuple("" if r is None else duration(r.stall_s) for r in runs), detail=True),
        Column("drain", tuple("" if r is None else duration(r.drain_s) for r in runs), spare=1),
        Column("overlap", shares, detail=True),
        Column("goodput", tuple("not reached" if r is None else percent(r.goodput_share, 2)
                                for r in runs)),
    )  # fmt: skip
    return Table("Demand by rule", columns, ("* the rule of this problem",))


def _appliances(report: SizeReport) -> Iterator[Block]:
    """Yield a table of appliances for each family of rules."""
    if not any(rule.appliances for rule in report.rules):
        return
    held = report.cluster
    each = held.system_it_power_kw
    power = "power not known" if each is None else f"{each:g} kW per {held.gpus_per_system} GPUs"
    texts = (
        "The item of each storage family that draws least, alone; capacity and restore time hold "
        f"under every rule. 'GPUs': as many draw the same power ({held.name}, {power}).",
    )
    yield Text(texts, "Appliances by rule", detail=True)
    for group, members in groupby(report.rules, lambda rule: rule.group):
        rules = list(members)
        yield _appliance_table(_GROUPS[group], rules)
        failing = [
            f"{rule.rule}: {row.family_name}, {row.reason}"
            for rule in rules
            for row in rule.appliances
            if row.best_of_family and row.units is None
        ]
        yield Text(tuple(failing), "Not possible", points=True, detail=True)


def _appliance_table(title: str, rules: Sequence[RuleRow]) -> Table:
    rows: list[tuple[str, ApplianceRow]] = [
        (rule.rule, row)
        for rule in rules
        for row in rule.appliances
        if row.best_of_family and row.units is not None
    ]
    items = [row for _, row in rows]
    columns = (
        Column("rule", tuple(name for name, _ in rows), words=True),
        Column("units", tuple(number(row.units) for row in items)),
        Column("appliance", tuple(row.name for row in items), words=True),
        Column("kW", tuple(number(row.it_power_kw, 1) for row in items)),
        Column("racks", tuple("" if row.racks is None else f"{row.racks:,}" for row in items)),
        Column("net price", tuple(money(row.net_usd) for row in items)),
        Column("GPUs", tuple(
            "" if row.power_equivalent_gpus is None else f"{row.power_equivalent_gpus:,}"
            for row in items
        )),
        Column("binding", tuple(row.decided_by or "" for row in items), words=True),
    )  # fmt: skip
    return Table(f"Appliances: {title}", columns, detail=True)
