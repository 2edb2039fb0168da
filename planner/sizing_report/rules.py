"""What each rule asks for: the job's own law on delivered, vendors' rules on rated bandwidth."""

from __future__ import annotations

from collections.abc import Iterator

from planner.case import Case
from planner.case.model import BandwidthRule, Mode
from planner.inputs import Inputs
from planner.schema.problem import CustomRule
from planner.sizing.demand import write_volume_tb_per_day
from planner.sizing.rules import VENDOR_RULES, VendorRule, rule_demand
from planner.sizing_report.appliances import Need, appliance_rows
from planner.sizing_report.intervals import policy_interval_s, read_demand
from planner.sizing_report.model import Cluster, ModeReport, RuleGroup, RuleRow, Running
from planner.sizing_report.running import interval_at, running


def rule_rows(
    inputs: Inputs, case: Case, cluster: Cluster, modes: tuple[ModeReport, ...]
) -> tuple[RuleRow, ...]:
    """Return the rows of all rules: the job's law, DDN's, NVIDIA's, and the user's own."""
    rows = [_law_row(inputs, case, cluster, mode) for mode in modes]
    rows += [
        _vendor_row(inputs, case, cluster, rule.family, rule.note, rule.source,
                    BandwidthRule(rule.name, *_figures(rule)))
        for rule in VENDOR_RULES.values()
    ]  # fmt: skip
    if case.rule is not None and isinstance(inputs.problem.storage.rule, CustomRule):
        note = f"given in the problem, per {case.rule.per_gpus:,} GPUs"
        rows.append(_vendor_row(inputs, case, cluster, "custom", note, "the problem", case.rule))
    return tuple(rows)


def _figures(rule: VendorRule) -> tuple[float, float, int]:
    return rule.read_gb_per_s, rule.write_gb_per_s, rule.per_gpus


def _law_row(inputs: Inputs, case: Case, cluster: Cluster, mode: ModeReport) -> RuleRow:
    row = next(row for row in mode.rows if row.by_policy)
    read = read_demand(case.job, cluster.gpus)
    write = row.write_gb_per_s
    need = Need(
        delivered_read_gb_per_s=read,
        delivered_write_gb_per_s=write or 0.0,
        usable_tb=case.job.capacity_needed_tb,
        write_tb_per_day=row.write_volume_tb_per_day,
    )
    how = "blocked" if mode.mode == "sync" else "of it draining"
    return RuleRow(
        rule=mode.law,
        group="demand_law",
        chosen=case.rule is None,
        basis="delivered",
        note=f"at most {100 * mode.limit_share:g} % {how}; read for restore and ingest",
        source="checkpoint size, interval and limits of the job",
        read_gb_per_s=read,
        write_gb_per_s=write,
        delivered_read_gb_per_s=read,
        delivered_write_gb_per_s=write,
        mode=mode.mode,
        interval_s=mode.interval_s,
        running=row.running,
        appliances=() if write is None else appliance_rows(inputs, case, cluster, need),
    )


def _vendor_row(
    inputs: Inputs,
    case: Case,
    cluster: Cluster,
    group: RuleGroup,
    note: str,
    source: str,
    rule: BandwidthRule,
) -> RuleRow:
    read, write = vendor_demand(rule, cluster.gpus_bought)
    delivered_read = min(case.delivered_read * read, cluster.client_read_gb_per_s)
    delivered_write = min(case.delivered_write * write, cluster.client_write_gb_per_s)
    mode, interval_s, runs = _best_run(case, cluster, delivered_read, delivered_write)
    lasting_s = interval_s or policy_interval_s(case.job, case.job.modes[0], cluster.mtti_s)
    need = Need(
        rated_read_gb_per_s=read,
        rated_write_gb_per_s=write,
        delivered_read_gb_per_s=read_demand(case.job, cluster.gpus),
        usable_tb=case.job.capacity_needed_tb,
        write_tb_per_day=write_volume_tb_per_day(case.job.checkpoint_gb, lasting_s),
    )
    return RuleRow(
        rule=rule.name,
        group=group,
        chosen=case.rule == rule,
        basis="nameplate",
        note=note,
        source=source,
        read_gb_per_s=read,
        write_gb_per_s=write,
        delivered_read_gb_per_s=delivered_read,
        delivered_write_gb_per_s=delivered_write,
        mode=mode,
        interval_s=interval_s,
        running=runs,
        appliances=appliance_rows(inputs, case, cluster, need),
    )


def vendor_demand(rule: BandwidthRule, gpus: int) -> tuple[float, float]:
    """Return the rated (read, write) bandwidth of a vendor's or the user's rule, GB/s.

    Args:
        rule: bandwidth per so many GPUs.
        gpus: GPUs bought; a part of a unit of them counts as a whole.
    """
    return rule_demand(
        VendorRule(rule.name, "ddn_per_gpu", rule.read_gb_per_s, rule.write_gb_per_s,
                   rule.per_gpus, "", ""),
        gpus,
    )  # fmt: skip


def _best_run(
    case: Case, cluster: Cluster, read_gb_per_s: float, write_gb_per_s: float
) -> tuple[Mode | None, float | None, Running | None]:
    runs = list(_runs(case, cluster, read_gb_per_s, write_gb_per_s))
    return max(runs, key=lambda run: run[2].goodput_share) if runs else (None, None, None)


def _runs(
    case: Case, cluster: Cluster, read_gb_per_s: float, write_gb_per_s: float
) -> Iterator[tuple[Mode, float, Running]]:
    if read_gb_per_s <= 0 or write_gb_per_s <= 0:
        return
    for mode in case.job.modes:
        interval_s = interval_at(case.job, mode, write_gb_per_s, cluster.mtti_s)
        if interval_s is not None:
            runs = running(
                case.job, mode, interval_s, write_gb_per_s, read_gb_per_s, cluster.gpus,
                cluster.mtti_s,
            )  # fmt: skip
            yield mode, interval_s, runs
