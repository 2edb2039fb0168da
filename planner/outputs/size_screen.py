"""The screen of `planner size`: sizes, intervals, what each rule asks for and takes in units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from planner.outputs.blocks import Column, FirstScreen, Table, aligned, narrow_column, titled_text
from planner.outputs.words import (
    INDENT,
    duration,
    listed,
    money,
    number,
    percent,
    size,
    titled_points,
    wrapped,
)
from planner.schema.size import (
    ApplianceRow,
    Cluster,
    IntervalRow,
    ModeReport,
    RestoreDemand,
    RuleRow,
    SizeReport,
)

_FAN_OUTS = {
    "broadcast": "broadcast: one reader, then the GPU fabric",
    "sharded_optimizer": "sharded optimizer: replicas read only the weights",
    "every_replica": "every replica reads all of it",
}
_POLICIES = {
    "optimal": "the best within the problem's bounds",
    "fixed": "as given",
    "lost_work": "as a given part of the time between interruptions",
}

Lines = Sequence[Sequence[str]]


_MOST_CHOICES = 3


def first(report: SizeReport) -> FirstScreen:
    """Return what one page says: GPUs, checkpoint, the bandwidth it asks for, the rules."""
    report = _restated(report)
    held, saved = report.cluster, report.checkpoint
    mode = report.modes[0]
    row = next((row for row in mode.rows if row.by_policy), mode.rows[0])
    used = next((way for way in report.restore if way.used), report.restore[0])
    own = next((rule for rule in report.rules if rule.chosen), report.rules[0])
    by_need = own.group == "demand_law"
    runs = row.running if by_need else own.running
    nameplate = f"GB/s of nameplate, as the {own.rule} rule asks for whatever the job needs"
    answer = [
        ("Cluster", f"{held.gpus:,} GPUs in {held.systems:,} {held.name}: an interruption every "
         f"{duration(held.mtti_s)}"),
        ("Checkpoint", f"{size(saved.size_gb)} every {duration(mode.interval_s)}; "
         f"{number(saved.capacity_needed_tb)} TB of usable capacity with the dataset"),
        ("Write", _write(mode, row) if by_need else f"{_rate(own.write_gb_per_s)} {nameplate}"),
        ("Read", _read(used) if by_need else f"{_rate(own.read_gb_per_s)} {nameplate}"),
        ("Goodput", "" if runs is None else f"{percent(runs.goodput_share, 2)} with just that "
         "bandwidth"),
        ("Takes", _takes(own)),
    ]  # fmt: skip
    return FirstScreen(
        _heading(report),
        tuple(answer),
        below=(_rules(report),),
        notes=(*report.notes, _BASES.format(
            write=percent(report.delivered_write_share, 0),
            read=percent(report.delivered_read_share, 0),
        )),
        full="other intervals, ways to restore, what each rule takes in appliances",
    )  # fmt: skip


def _write(mode: ModeReport, row: IntervalRow) -> str:
    """Return the bandwidth that the interval asks for, and what it keeps to."""
    each = (
        ""
        if row.write_mb_per_s_per_gpu is None
        else (f", {_rate(row.write_mb_per_s_per_gpu)} MB/s per GPU")
    )
    keeps = "the drain takes" if mode.mode == "async" else "GPUs wait"
    return (
        f"{_rate(row.write_gb_per_s)} GB/s{each}: so {keeps} {_limit(mode)} of the interval at most"
    )


def _read(way: RestoreDemand) -> str:
    if way.max_restore_s is None or way.read_gb_per_s is None:
        return "any speed: nothing limits the time to restore"
    return f"{_rate(way.read_gb_per_s)} GB/s to restore within {duration(way.max_restore_s)}"


def _takes(rule: RuleRow) -> str:
    """Return the appliances of a rule that draw least."""
    fitting = [row for row in rule.appliances if row.best_of_family and row.units is not None]
    fitting.sort(key=lambda row: row.it_power_kw or float("inf"))
    texts = [f"{row.units:,} {row.name} ({money(row.net_usd)})" for row in fitting[:_MOST_CHOICES]]
    left = len(fitting) - len(texts)
    return listed([*texts, *([f"{left} more"] if left > 0 else [])])


def _rules(report: SizeReport) -> Table:
    """Return what each rule asks for, and what the job keeps with just that."""
    rules = report.rules
    families = [_FAMILIES.get(rule.group, "") for rule in rules]
    names = [f"{family} {rule.rule}".strip() + (" *" if rule.chosen else "")
             for family, rule in zip(families, rules, strict=True)]  # fmt: skip
    runs = [rule.running for rule in rules]
    return Table(
        "What each rule asks for  (* the rule of this problem)",
        (
            Column("", tuple(names), words=True, gives_way=True),
            Column("read GB/s", tuple(_rate(rule.read_gb_per_s) for rule in rules)),
            Column("write GB/s", tuple(_rate(rule.write_gb_per_s) for rule in rules)),
            Column("drain", tuple("" if r is None else duration(r.drain_s) for r in runs), spare=1),
            Column("goodput", tuple(
                "not reached" if r is None else percent(r.goodput_share, 2) for r in runs
            )),
        ),
    )  # fmt: skip


_FAMILIES = {"ddn_per_gpu": "DDN", "nvidia_superpod_h100": "NVIDIA"}


def _heading(report: SizeReport) -> str:
    return f"{report.problem}  (sizing only, nothing is optimised)"


def _restated(report: SizeReport) -> SizeReport:
    """The report with prices of appliances in its currency."""

    def priced(row: ApplianceRow) -> ApplianceRow:
        return row if row.net_usd is None else replace(row, net_usd=report.currency.of(row.net_usd))

    rules = (replace(rule, appliances=tuple(map(priced, rule.appliances))) for rule in report.rules)
    return replace(report, rules=tuple(rules))


def render(report: SizeReport) -> str:
    """Return the whole screen, at most as many columns as the terminal has wide."""
    report = _restated(report)
    parts = [_heading(report), _gpus(report)]
    parts += [_checkpoint(report), _restore(report)]
    parts += [_mode(mode) for mode in report.modes]
    parts += [_asked(report), *appliance_blocks(report), _notes(report)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _gpus(report: SizeReport) -> str:
    held = report.cluster
    texts = [
        f"{held.gpus:,} GPUs in {held.systems:,} {held.name} ({held.count}); it is {held.choice}",
        f"an interruption every {duration(held.mtti_s)}: {held.failures_per_gpu_day:.3g} failures "
        f"per GPU and day ({held.failures_reason})",
        _layout(held),
    ]
    if held.gpus_bought != held.gpus:
        texts.append(f"vendor rules count the {held.gpus_bought:,} GPUs bought")
    lines = [titled_text("GPUs", *texts)]
    if len(report.gpu_types) > 1:
        lines.append(f"{INDENT}the most of each type on offer:")
        lines += aligned(_type_rows(report), (0,))
    return "\n".join(lines)


def _layout(held: Cluster) -> str:
    clients = (
        f"{held.writing_systems:,} systems write a checkpoint (at most "
        f"{held.client_write_gb_per_s:,.0f} GB/s), {held.reading_systems:,} read it back (at most "
        f"{held.client_read_gb_per_s:,.0f} GB/s)"
    )
    if held.replicas is None or held.replica_gpus is None:
        return clients
    return f"{held.replicas:,} whole replicas of {held.replica_gpus:,} GPUs; {clients}"


def _type_rows(report: SizeReport) -> Lines:
    rows = [["  type", "systems", "GPUs", "peak PFLOP/s"]]
    for kind in report.gpu_types:
        counts = [f"{kind.systems:,}", f"{kind.gpus:,}"] if kind.limited else ["no limit", ""]
        peak = number(kind.peak_pflops) if kind.limited else ""
        rows.append([f"  {kind.name[:48]}", *counts, peak])
    return rows


def _checkpoint(report: SizeReport) -> str:
    saved = report.checkpoint
    parts = [f"dataset {number(saved.dataset_tb)}", f"checkpoints {number(saved.checkpoints_tb)}"]
    if saved.exports_tb:
        parts.append(f"exports {number(saved.exports_tb)}")
    texts = [
        f"{size(saved.size_gb)}: {saved.size_reason}",
        f"usable capacity {number(saved.capacity_needed_tb)} TB: {', '.join(parts)} TB, filled to "
        f"at most {percent(saved.fill_limit_share, 0)}",
    ]
    if saved.ingest_gb_per_s:
        texts.append(f"training data {number(saved.ingest_gb_per_s, 1)} GB/s")
    return titled_text("Checkpoint", *texts)


def _restore(report: SizeReport) -> str:
    rows = [["", "how", "checkpoints read", "together", "asks for"]]
    for way in report.restore:
        asks = "any speed" if way.read_gb_per_s is None else f"{_rate(way.read_gb_per_s)}"
        asks += "" if way.read_gb_per_s is None else " GB/s"
        mark = "*" if way.used else ""
        times = f"{way.reads_of_checkpoint:,.2f} x"
        rows.append([mark, _FAN_OUTS[way.fan_out], times, size(way.read_gb), asks])
    within = report.restore[0].max_restore_s
    title = "Restore" if within is None else f"Restore within {duration(within)}"
    return "\n".join([f"{title}  (* this problem)", *aligned(rows, (0, 1))])


def _rate(gb_per_s: float | None) -> str:
    if gb_per_s is None:
        return "impossible"
    return f"{gb_per_s:,.0f}" if gb_per_s >= 1000 else f"{gb_per_s:,.3g}"


def _mode(mode: ModeReport) -> str:
    title = {
        "async": f"Asynchronous checkpoints: the demand law, at most {_limit(mode)} of the "
        "interval draining",
        "sync": f"Synchronous checkpoints: the blocking law, at most {_limit(mode)} of the "
        "interval stalled",
    }[mode.mode]
    return "\n".join([titled_text(title, *_mode_texts(mode)), *aligned(_interval_rows(mode), (0,))])


def _limit(mode: ModeReport) -> str:
    return f"{100 * mode.limit_share:g} %"


def _mode_texts(mode: ModeReport) -> Iterator[str]:
    yield f"interval {duration(mode.interval_s)} ({_POLICIES[mode.policy]})"


def _interval_rows(mode: ModeReport) -> Lines:
    share = "waiting" if mode.mode == "sync" else "overlap"
    head = ["", "every", "write GB/s", "MB/s per GPU", "TB a day", "stall", "drain", share]
    rows = [[*head, "goodput"]]
    for row in mode.rows:
        rows.append([*_interval_cells(row), *_running_cells(row, mode.mode)])
    return rows


def _interval_cells(row: IntervalRow) -> list[str]:
    per_gpu = "" if row.write_mb_per_s_per_gpu is None else _rate(row.write_mb_per_s_per_gpu)
    mark = "*" if row.by_policy else ""
    volume = number(row.write_volume_tb_per_day)
    return [mark, duration(row.interval_s), _rate(row.write_gb_per_s), per_gpu, volume]


def _running_cells(row: IntervalRow, mode: str) -> list[str]:
    runs = row.running
    if runs is None:
        return [""] * 4
    share = runs.blocking_share if mode == "sync" else runs.overlap_share
    return [
        duration(runs.stall_s),
        duration(runs.drain_s),
        percent(share),
        percent(runs.goodput_share, 2),
    ]


def _asked(report: SizeReport) -> str:
    lines = ["What each rule asks for  (* the rule of this problem)"]
    rows = [
        [
            "",
            "rule",
            "read GB/s",
            "write GB/s",
            "saves every",
            "stall",
            "drain",
            "overlap",
            "goodput",
        ]
    ]
    groups: list[tuple[int, str]] = []
    for group, members in groupby(report.rules, lambda rule: rule.group):
        groups.append((len(rows), GROUPS[group]))
        rows += [_rule_cells(rule) for rule in members]

    starts = dict(groups)
    for index, line in enumerate(aligned(rows, (0, 1))):
        if index in starts:
            lines.append(f"{INDENT}{starts[index]}")
        lines.append(line)
    return "\n".join([*lines, *_rule_texts(report)])


def _rule_texts(report: SizeReport) -> list[str]:
    read, write = report.delivered_read_share, report.delivered_write_share
    return wrapped(_BASES.format(write=percent(write, 0), read=percent(read, 0)))


_BASES = (
    "The two families do not compare directly: the job's law is met by what appliances deliver "
    "({write} of nameplate in writing, {read} in reading), a vendor's rule by their nameplate. "
    "Goodput is what the job reaches with just that bandwidth, as far as the GPU systems can move "
    "it."
)


def _rule_cells(rule: RuleRow) -> list[str]:
    cells = ["*" if rule.chosen else "", rule.rule[:20]]
    cells += [_rate(rule.read_gb_per_s), _rate(rule.write_gb_per_s)]
    runs = rule.running
    if runs is None or rule.interval_s is None:
        return [*cells, "", "", "", "", "not reached"]
    share = percent(runs.overlap_share)
    if rule.mode == "sync":
        share = f"{percent(runs.blocking_share)} wait"
    return [
        *cells,
        duration(rule.interval_s),
        duration(runs.stall_s),
        duration(runs.drain_s),
        share,
        percent(runs.goodput_share, 2),
    ]


def _notes(report: SizeReport) -> str:
    return titled_points("Notes", report.notes)


GROUPS = {
    "demand_law": "The job's own law (delivered bandwidth)",
    "ddn_per_gpu": "Vendor rules: DDN, per GPU (nameplate bandwidth)",
    "nvidia_superpod_h100": "Vendor rules: NVIDIA SuperPOD, per 256 GPUs (nameplate bandwidth)",
    "custom": "The problem's own rule (nameplate bandwidth)",
}


def appliance_blocks(report: SizeReport) -> Iterator[str]:
    """Yield what the rules take in appliances, a block per family of rules."""
    if not any(rule.appliances for rule in report.rules):
        return
    yield _intro(report)
    for group, members in groupby(report.rules, lambda rule: rule.group):
        yield "\n".join([GROUPS[group], *_appliance_lines(list(members))])


def _appliance_lines(rules: list[RuleRow]) -> list[str]:
    rows = [["rule", "units", "appliance", "kW", "racks", "net price", "feeds GPUs", "set by"]]
    below: dict[int, list[str]] = {}
    for rule in rules:
        label = rule.rule[:20]
        best = [row for row in rule.appliances if row.best_of_family]
        fitting = [row for row in best if row.units is not None]
        for index, row in enumerate(fitting):
            rows.append([label if index == 0 else "", *_appliance_cells(row)])
        if not fitting:
            rows.append([label, "-", "none", "", "", "", "", ""])
        below[len(rows) - 1] = _failing([row for row in best if row.units is None])
    lines = aligned(narrow_column(rows, 2), (0, 2, 7))
    return [line for index, row in enumerate(lines) for line in (row, *below.get(index, []))]


def _failing(rows: list[ApplianceRow]) -> list[str]:
    if not rows:
        return []
    text = "cannot: " + ", ".join(f"{row.family_name} ({row.reason})" for row in rows)
    margin = INDENT * 3
    return wrapped(text, margin, margin)


def _intro(report: SizeReport) -> str:
    held = report.cluster
    each = held.system_it_power_kw
    power = "not known" if each is None else f"{each:g} kW per {held.gpus_per_system}"
    return titled_text(
        "What that takes in appliances",
        "The item of each storage family that draws least, alone. Capacity and the limit on "
        "restore hold under every rule; 'set by' names what decides the number, 'feeds GPUs' how "
        f"many GPUs the same power would feed ({held.name}, {power}).",
    )


def _appliance_cells(row: ApplianceRow) -> list[str]:
    gpus = "" if row.power_equivalent_gpus is None else f"{row.power_equivalent_gpus:,}"
    racks = "" if row.racks is None else f"{row.racks:,}"
    return [
        number(row.units),
        row.name,
        number(row.it_power_kw, 1),
        racks,
        money(row.net_usd),
        gpus,
        row.decided_by or "",
    ]
